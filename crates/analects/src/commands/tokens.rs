//! `tokens`: counts the tokens of a text.
//!
//! A single text is counted, without the overhead of a request: instructions, roles and tools are not in it.

use std::path::{Path, PathBuf};

use analects_client::resolve;
use analects_context::{Count, Counter};
use analects_formats::convert::WHOLE_LIMIT;
use serde::Serialize;

use crate::config::{Config, check_model};
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::input::{open_regular, read_at_most, read_stdin, stdin_is_terminal};
use crate::{local, ui};

/// Count the tokens of a text
///
/// The count is exact for models on this machine and for models whose vocabulary is built in. Otherwise it
/// is an estimate, shown with ~ and with how far off it may be for ordinary text. A message file or
/// transcript is counted as plain text; to see what chat would send, use analects context. Nothing is sent.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects tokens notes.md -m openai/gpt-5-mini
  git diff | analects tokens")]
pub struct TokensArgs {
    /// The file, or - for stdin [default: stdin]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The model to count for [default: the configured default model, else gpt-5]
    #[arg(short, long)]
    model: Option<String>,

    /// Print the count as JSON
    #[arg(long)]
    pub json: bool,
}

/// The model to count for if none is named or configured.
const USUAL: &str = "gpt-5";

/// The count as `--json` prints it.
/// `model` is the name that the count is for, after configured names are resolved.
#[derive(Debug, Serialize)]
struct TokenReport<'a> {
    model: &'a str,
    #[serde(flatten)]
    count: Count,
}

/// Starts the server of a local model if it has to, because only that knows the vocabulary.
pub fn run(args: &TokensArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let config = Config::read_for(args.model.as_deref(), None, &environment)?;
    let named = args
        .model
        .as_deref()
        .map(|model| config.model(model))
        .transpose()?;
    let model = named.or_else(|| config.pointer("default").map(str::to_string));
    let model = model.unwrap_or_else(|| USUAL.to_string());
    check_model(&model)?;
    let text = read(args)?;
    let served = resolve(&model, &environment.models).ok();
    let vocabulary = served.and_then(|model| local::tokenizer(&model, &environment));
    let mut counter = Counter::of_model(model.split_once('/').map_or(&*model, |(_, name)| name));
    if let Some(vocabulary) = &vocabulary {
        counter = counter.with_tokenizer(vocabulary);
    }
    counter.use_vocabulary(true);
    let count = counter.text(&text);
    if args.json {
        ui::print_json(&TokenReport {
            model: &model,
            count,
        })
    } else {
        ui::print_line(&count.to_string())
    }
}

/// Reads the file or stdin as text.
/// Unlike prompts, texts may have up to [`WHOLE_LIMIT`] bytes.
fn read(args: &TokensArgs) -> Result<String, Failure> {
    let file = args.file.as_deref();
    let bytes = match file.filter(|file| *file != Path::new("-")) {
        Some(path) => read_file(path)?,
        None if stdin_is_terminal() => {
            let hint = "name a file, or use a pipe: … | analects tokens";
            return Err(Failure::usage("nothing to count", hint));
        }
        None => read_stdin(WHOLE_LIMIT as u64)?,
    };
    String::from_utf8(bytes).map_err(|_| Failure::input("this is not text: it is not UTF-8"))
}

/// The bytes of a file, up to the limit.
fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    let opened =
        open_regular(path).map_err(|failure| failure.or_hint("for a pipe: … | analects tokens"))?;
    let read = match opened.metadata() {
        Ok(facts) if facts.len() > WHOLE_LIMIT as u64 => Ok(None),
        _ => read_at_most(opened, WHOLE_LIMIT as u64),
    };
    let bytes = read.map_err(|error| {
        Failure::input(format!("{name}: cannot be read: {}", io_error_text(&error)))
    })?;
    bytes.ok_or_else(|| Failure::input(format!("{name}: larger than {} MB", WHOLE_LIMIT >> 20)))
}
