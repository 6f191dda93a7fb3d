//! `new`: creates a message file that is ready to type into.
//!
//! The file is composed and read back in memory before it is created, so it is either right from the start or not
//! there.

use std::fs;
use std::path::{Path, PathBuf};

use analects_core::Agent;
use analects_formats::msgfile::{Document, DocumentKind, Splice, decode_named, frontmatter};
use analects_runtime::agent_name;
use analects_store::create_file;

use crate::config::{Config, check_model, no_such_agent};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::ui;

/// The section of a plain Markdown file without `--section`.
const SECTION: &str = "Discussion";

/// Create a message file that is ready to type into
///
/// A FILE that ends in .msg.md consists of cells. Any other .md file gets a section that holds its cells.
/// The last line is an empty cell where you type. An existing file is never changed.
///
/// The agent that answers is written into the file: the configured agent that --agent names, or a new agent
/// with the model that -m names. Without these options, the configured default model becomes the agent, if
/// there is one.
///
/// new prints the path, so you can pass it to an editor.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects new talk.msg.md -m openai/gpt-5-mini
  analects new talk.msg.md --agent coder
  analects new notes.md --section Questions -m openai/gpt-5-mini -s \"You answer briefly.\"
  $EDITOR \"$(analects new talk.msg.md)\"")]
pub struct NewArgs {
    /// The file to create: talk.msg.md, or notes.md for a file with a message section
    file: PathBuf,

    /// The agent: one from your configuration or, with -m, the name of a new one
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The model that answers, such as openai/gpt-5-mini, or a configured name (default, task, reasoning,
    /// quick or compact)
    #[arg(short, long)]
    model: Option<String>,

    /// The system prompt
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,

    /// The heading of the message section in a plain Markdown file [default: Discussion]
    #[arg(long, value_name = "NAME")]
    section: Option<String>,

    /// Print the path and any error as JSON
    #[arg(long)]
    pub json: bool,
}

/// Even a link that leads nowhere counts as an existing file.
pub fn run(args: &NewArgs) -> Result<(), Failure> {
    let section = section(args)?;
    if fs::symlink_metadata(&args.file).is_ok() {
        return Err(already_exists(&args.file));
    }
    let environment = Environment::read()?;
    let model = args.model.as_deref();
    let name = args.agent.as_deref();
    let agent = agent(args, &Config::read_for(model, name, &environment)?)?;
    let text = text(section.as_deref(), agent.as_ref())?;
    write_new(&args.file, &text)?;
    if args.json {
        return ui::print_json(&serde_json::json!({ "path": args.file.to_string_lossy() }));
    }
    ui::print_path(&args.file)
}

/// The message section of the new file; `None` for a `.msg.md` file.
/// Fails for names that no message file can have.
fn section(args: &NewArgs) -> Result<Option<String>, Failure> {
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    match &args.section {
        Some(_) if name.ends_with(".msg.md") => {
            let message = format!("{}: all of this file is messages", args.file.display());
            Err(Failure::usage(
                message,
                "leave out --section, or name the file notes.md",
            ))
        }
        _ if name.ends_with(".msg.md") => Ok(None),
        Some(section) if section.trim().is_empty() => Err(Failure::usage(
            "the section has no name",
            "such as --section Questions",
        )),
        section if name.ends_with(".md") => Ok(Some(section.as_deref().unwrap_or(SECTION).into())),
        _ => {
            let message = format!("{}: not the name of a message file", args.file.display());
            let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
            let stem = if stem.is_empty() { "talk".into() } else { stem };
            Err(Failure::usage(
                message,
                format!("name it {stem}.msg.md, or {stem}.md"),
            ))
        }
    }
}

/// The failure for an existing file.
fn already_exists(path: &Path) -> Failure {
    let message = format!("{}: this name is already taken", path.display());
    Failure::input(message).or_hint("add adds a message to it, chat continues it")
}

/// The agent to write into the file; `None` if none is named or configured.
/// Without an agent the file is still valid: `chat` adds one when you name a model.
fn agent(args: &NewArgs, config: &Config) -> Result<Option<Agent>, Failure> {
    let model = args.model.as_deref();
    let model = model.map(|model| config.model(model)).transpose()?;
    if let Some(model) = &model {
        check_model(model)?;
    }
    let mut agent = match (&args.agent, model) {
        (Some(name), model) => named_agent(name, model, config)?,
        (None, Some(model)) => Agent::of_model(agent_name(&model), model),
        (None, None) => match config.pointer("default") {
            Some(model) => Agent::of_model(agent_name(model), model),
            None if args.system.is_some() => {
                let message = "a system prompt needs an agent that follows it";
                let hint = "name a model with -m, or an agent with --agent";
                return Err(Failure::usage(message, hint));
            }
            None => return Ok(None),
        },
    };
    if agent.models.is_empty() {
        let message = format!("the agent {} names no models", agent.name);
        return Err(Failure::input(message).or_hint("name a model with -m"));
    }
    agent.system_prompt = args.system.clone().or(agent.system_prompt);
    Ok(Some(agent))
}

/// The configured agent with this name, or a new one if you also name a model. The model overrides
/// the configured ones.
/// Settings of a configured agent are copied, so later changes of the configuration do not affect the file.
fn named_agent(name: &str, model: Option<String>, config: &Config) -> Result<Agent, Failure> {
    let configured = config.agent(name)?;
    if configured.is_none() && model.is_none() {
        let mut known = config.agent_names();
        known.sort();
        known.dedup();
        return Err(no_such_agent(name, &known));
    }
    let mut agent = configured.unwrap_or_else(|| Agent {
        name: name.to_string(),
        ..Agent::default()
    });
    if let Some(model) = model {
        agent.models = vec![model];
    }
    Ok(agent)
}

/// The text of the new file. It is checked by reading it back: a problem means that an argument
/// cannot be used.
/// The frontmatter is written by the same code that edits it later.
fn text(section: Option<&str>, agent: Option<&Agent>) -> Result<Vec<u8>, Failure> {
    let name = if section.is_some() {
        "x.md"
    } else {
        "x.msg.md"
    };
    let mut document = decode_named(*b"", name);
    if let Some(section) = section {
        let splice = frontmatter::set_string(b"", None, "message_section", section);
        document = apply(&document, splice.map_err(|refusal| refusal.message), name)?;
    }
    if let Some(agent) = agent {
        let splice = frontmatter::add_agent(document.source(), document.frontmatter_span(), agent);
        document = apply(&document, splice.map_err(|refusal| refusal.message), name)?;
    }
    let front = std::str::from_utf8(document.source()).unwrap_or_default();
    let blank = if front.is_empty() { "" } else { "\n" };
    let cell = match section {
        Some(section) => format!("## {}\n\n### %%\n\n", section.trim()),
        None => "# %%\n\n".to_string(),
    };
    let text = format!("{front}{blank}{cell}").into_bytes();
    check(&decode_named(text.as_slice(), name), section, agent)?;
    Ok(text)
}

/// Applies a change to the text of the new file.
fn apply(
    document: &Document,
    splice: Result<Splice, String>,
    name: &str,
) -> Result<Document, Failure> {
    let splice = splice.map_err(|message| Failure::usage(message, "choose another name"))?;
    Ok(decode_named(splice.apply(document.source()), name))
}

/// Checks that the new file reads back with its section and agent, and without problems.
/// For example, an agent whose name is a type of cell would be read as something else.
fn check(document: &Document, section: Option<&str>, agent: Option<&Agent>) -> Result<(), Failure> {
    let odd = document.problems();
    let is_right = match section {
        Some(_) => document.kind() == DocumentKind::Section && document.section().is_some(),
        None => document.kind() == DocumentKind::Whole,
    };
    if odd.is_empty() && is_right && document.default_agent().as_ref() == agent {
        return Ok(());
    }
    let message = odd.into_iter().next().map_or_else(
        || "a message file cannot hold these names".to_string(),
        |problem| problem.message,
    );
    Err(Failure::usage(
        message,
        "choose other names for the section and the agent",
    ))
}

/// Writes a file that must not exist yet.
/// Two calls at once cannot both succeed.
fn write_new(path: &Path, text: &[u8]) -> Result<(), Failure> {
    match create_file(path, text) {
        Ok(true) => Ok(()),
        Ok(false) => Err(already_exists(path)),
        Err(error) if error.is_not_found() => {
            Err(Failure::from(error).or_hint("make the folder first"))
        }
        Err(error) => Err(error.into()),
    }
}
