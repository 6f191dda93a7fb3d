//! `model`: which providers and models there are, what is known about one, and those of this machine.

mod own;

use analects_client::{ModelAdapter, provider_of, resolve};
use analects_core::ModelFacts;
use analects_providers::{OWN_SERVER, Vendor, vendor, vendors};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::config::Config;
use crate::connection::{Connection, block_on};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::ui;
use crate::ways::{is_running, on_this_machine};

/// Look at providers and models, and run some on this machine
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    List(List),
    Info(Info),
    Pull(own::Pull),
    Add(own::Add),
    Rm(own::Rm),
    Stop(own::Stop),
}

/// List the providers, or the models that one of them offers
///
/// Without PROVIDER nothing is sent: each provider is shown with the variable that its key is read from, and whether
/// it could be asked now. With PROVIDER, it is asked for its models; with local, the models of this machine are shown, and
/// whether a server runs for them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects model list
  analects model list ollama
  analects model list local")]
struct List {
    /// The provider, such as openai
    provider: Option<String>,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Show what is known about a model
///
/// What fits into it, what it can do, and what it costs, as far as that is known; nothing is sent.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects model info anthropic/claude-sonnet-4-5")]
struct Info {
    /// The model: provider/NAME, a name that only one provider has, or default, task, reasoning, quick or compact
    name: String,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Whether errors too are to be JSON.
    pub fn wants_json(&self) -> bool {
        match &self.what {
            What::List(args) => args.json,
            What::Info(args) => args.json,
            What::Pull(_) | What::Add(_) | What::Rm(_) | What::Stop(_) => false,
        }
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.what {
        What::List(args) => list(args),
        What::Info(args) => info(args),
        What::Pull(args) => own::pull(args),
        What::Add(args) => own::add(args),
        What::Rm(args) => own::rm(args),
        What::Stop(args) => own::stop(args),
    }
}

fn list(args: &List) -> Result<(), Failure> {
    let mut surroundings = Surroundings::of_process()?;
    args.connection.allow(&mut surroundings);
    let Some(name) = &args.provider else { return providers(args, &surroundings) };
    let found = vendor(name).ok_or_else(|| no_such_provider(name))?;
    if found.name == OWN_SERVER {
        return own::list(&surroundings, args.json);
    }
    // Any name will do: the list is the provider's.
    let model = resolve(&format!("{}/-", found.name), &surroundings.models)?;
    let adapter = ModelAdapter::new(model, args.connection.options(&surroundings)?);
    let mut models = block_on(adapter.list_models())??;
    models.sort_by(|one, other| one.name.cmp(&other.name));
    if args.json {
        let models: Vec<Value> = models
            .iter()
            .map(|model| json!({ "name": format!("{}/{}", found.name, model.name) }))
            .collect();
        return ui::print_json(&json!({ "models": models }));
    }
    ui::print_lines(models.iter().map(|model| format!("{}/{}", found.name, model.name)))
}

fn no_such_provider(name: &str) -> Failure {
    let names: Vec<&str> = vendors().iter().map(|vendor| vendor.name).collect();
    let failure = Failure::not_found(format!("there is no provider {name}"));
    failure.or_hint(format!("there are {}", names.join(", ")))
}

fn providers(args: &List, surroundings: &Surroundings) -> Result<(), Failure> {
    if args.json {
        let rows: Vec<Value> = vendors().iter().map(|v| as_json(v, surroundings)).collect();
        return ui::print_json(&json!({ "providers": rows }));
    }
    let row = |vendor: &Vendor| {
        let ready = match is_ready(vendor, surroundings) {
            true => "ready",
            false if vendor.name == OWN_SERVER => "not pulled",
            false if surroundings.models.can_ask(vendor) => "not running",
            false => "no key",
        };
        let key = vendor.key_variables.first().copied().unwrap_or("no key needed");
        let tried = if vendor.tried { "" } else { "not tried yet" };
        [vendor.name, ready, key, tried].map(str::to_string)
    };
    ui::print_rows(vendors().iter().map(row).collect())
}

/// Whether a provider could be asked now. Of this machine's own models, one has to be here, and another server of
/// this machine has to run.
fn is_ready(vendor: &Vendor, surroundings: &Surroundings) -> bool {
    if vendor.name == OWN_SERVER {
        return own::has_models(surroundings);
    }
    let models = &surroundings.models;
    models.can_ask(vendor) && on_this_machine(vendor, models).is_none_or(is_running)
}

fn as_json(vendor: &Vendor, surroundings: &Surroundings) -> Value {
    json!({
        "name": vendor.name,
        "ready": is_ready(vendor, surroundings),
        "needs_key": vendor.needs_key,
        "key_variables": vendor.key_variables,
        "base_url_variables": vendor.base_url_variables,
        "tried": vendor.tried,
    })
}

fn info(args: &Info) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let config = Config::read_for(Some(&args.name), None, &surroundings)?;
    let name = config.model(&args.name)?;
    let catalogue = surroundings.models.catalogue();
    let (vendor, model) = provider_of(&name, catalogue)?;
    let (provider, facts) = (vendor.name, catalogue.facts(vendor.name, model));
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

fn describe(facts: &ModelFacts) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |what: &str, value: Option<String>| {
        lines.push(format!("{what:<16} {}", value.unwrap_or_else(|| "unknown".to_string())));
    };
    let tokens = |count: Option<u64>| count.map(|count| format!("{count} tokens"));
    let can = |yes: Option<bool>| yes.map(|yes| if yes { "yes" } else { "no" }.to_string());
    add("context window", tokens(facts.context_window));
    add("longest answer", tokens(facts.max_output_tokens));
    add("tools", can(facts.tools));
    add("images", can(facts.images));
    add("thinking", can(facts.thinking));
    add("cache", can(facts.cache));
    add("temperature", can(facts.temperature));
    let price = |rate: Option<f64>| rate.map(|rate| format!("${rate} a million tokens"));
    let rates = facts.prices.as_ref().map(|prices| prices.rates).unwrap_or_default();
    add("input", price(rates.input));
    add("output", price(rates.output));
    if let Some(prices) = &facts.prices {
        add("prices of", Some(format!("{} ({})", prices.date, prices.source)));
    }
    lines
}
