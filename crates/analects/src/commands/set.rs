//! `set`: changes a setting of a message file.

use std::path::{Path, PathBuf};

use analects_core::nearest;
use analects_formats::msgfile::{Document, Splice, frontmatter};
use clap::Subcommand;

use super::reading;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{message_file, ui};

/// Change a setting of a message file
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct SetArgs {
    #[command(subcommand)]
    command: SetCommand,
}

#[derive(Debug, Subcommand)]
enum SetCommand {
    Default(SetDefaultArgs),
}

/// Set the agent that answers by default
///
/// set default changes or adds only the line default_agent in the frontmatter. The file must define the
/// agent.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  analects set default talk.msg.md coder")]
struct SetDefaultArgs {
    /// The message file
    file: PathBuf,

    /// The name of an agent that the file defines
    agent: String,

    /// Print the result and any error as JSON
    #[arg(long)]
    json: bool,
}

/// Prints nothing without `--json`, because the file shows the change.
pub fn run(args: &SetArgs) -> Result<(), Failure> {
    let SetCommand::Default(args) = &args.command;
    let environment = Environment::read()?;
    // Opening to write would create a missing file.
    reading::read(&args.file)?;
    set_default(args, &environment).map_err(|failure| environment.explain(failure))?;
    if !args.json {
        return Ok(());
    }
    ui::print_json(&serde_json::json!({
        "path": args.file.to_string_lossy(),
        "default_agent": args.agent,
    }))
}

/// Works out the change under the lock, from what the file holds then.
fn set_default(args: &SetDefaultArgs, environment: &Environment) -> Result<(), Failure> {
    let mut file = message_file::open(&args.file, &environment.places)?;
    file.try_edit(|document| default_agent(document, &args.file, &args.agent))
}

/// The change that makes an agent the default. Fails if the file does not define it.
/// A session uses it for `/agent`. Changes the frontmatter only.
pub fn default_agent(document: &Document, path: &Path, name: &str) -> Result<Splice, Failure> {
    if document.agents().iter().all(|agent| agent.name != name) {
        return Err(unknown_agent(document, path, name));
    }
    let source = document.source();
    let span = document.frontmatter_span();
    let splice = frontmatter::set_string(source, span, "default_agent", name);
    splice.map_err(|refusal| message_file::frontmatter_refusal(path, refusal))
}

/// The failure for an unknown agent, with the nearest or all known ones.
/// Also used by `add`.
pub fn unknown_agent(document: &Document, path: &Path, name: &str) -> Failure {
    let agents = document.agents();
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None if names.is_empty() => {
            "the file defines no agent; chat -m MODEL adds one, or type one under agents:".into()
        }
        None => format!("the file has {}", names.join(", ")),
    };
    Failure::not_found(format!("{}: there is no agent {name}", path.display())).or_hint(hint)
}
