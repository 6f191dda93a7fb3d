//! `tokens`: how many tokens a text has.

use std::path::PathBuf;

use analects_client::resolve;
use analects_context::{Count, Counter};
use serde::Serialize;

use crate::config::{Config, check_model};
use crate::failure::{Failure, words};
use crate::surroundings::Surroundings;
use crate::{local, ui};

/// Count the tokens of a text
///
/// The count is exact where the model's vocabulary is public and built in, and for a model of this machine; else it is an estimate, shown with ~ and with how
/// far ordinary text may be off. A message file or a transcript is counted as text: analects context shows what of a
/// conversation would be sent. Nothing is sent.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects tokens notes.md -m openai/gpt-5-mini
  git diff | analects tokens")]
pub struct Args {
    /// The file; - or nothing for stdin
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The model to count for [default: the one that is configured as default, or else gpt-5]
    #[arg(short, long)]
    model: Option<String>,

    /// Print the count as JSON
    #[arg(long)]
    pub json: bool,
}

/// The model that is counted for if nobody names one.
const USUAL: &str = "gpt-5";

/// A count, as JSON.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    model: &'a str,
    #[serde(flatten)]
    count: Count,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let config = Config::read_for(args.model.as_deref(), None, &surroundings)?;
    let named = args.model.as_deref().map(|model| config.model(model)).transpose()?;
    let model = named.or_else(|| config.pointer("default").map(str::to_string));
    let model = model.unwrap_or_else(|| USUAL.to_string());
    check_model(&model)?;
    let text = read(args)?;
    let served = resolve(&model, &surroundings.models).ok();
    let serving = served.and_then(|model| local::serving(&model, &surroundings));
    let vocabulary = serving.as_ref().map(local::Vocabulary);
    let mut counter = Counter::of_model(model.split_once('/').map_or(&*model, |(_, name)| name));
    if let Some(vocabulary) = &vocabulary {
        counter = counter.with_tokenizer(vocabulary);
    }
    counter.use_vocabulary(true);
    let count = counter.text(&text);
    match args.json {
        true => ui::print_json(&Shown { model: &model, count }),
        false => ui::print_line(&count.to_string()),
    }
}

fn read(args: &Args) -> Result<String, Failure> {
    let file = args.file.as_deref().filter(|file| *file != std::path::Path::new("-"));
    let bytes = match file {
        Some(path) => std::fs::read(path).map_err(|error| {
            let text = format!("{}: cannot be read: {}", path.display(), words(&error));
            match error.kind() {
                std::io::ErrorKind::NotFound => Failure::not_found(text),
                _ => Failure::input(text),
            }
        })?,
        None => {
            let mut bytes = Vec::new();
            let read = std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes);
            read.map_err(|error| Failure::input(format!("cannot read stdin: {}", words(&error))))?;
            bytes
        }
    };
    String::from_utf8(bytes).map_err(|_| Failure::input("this is no text: it is not UTF-8"))
}
