//! `config`: shows the configuration and where each value comes from, and changes it.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::config::{self, Config, Origin, Setting};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::ui;

/// Show or change your configuration
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Show(ConfigShowArgs),
    Set(ConfigSetArgs),
}

/// Show every configured value and where it comes from
///
/// Each line shows a name, its value, and its source: an environment variable, a line of a file, or the
/// program itself. For keys and proxies, you only see whether they are set.
///
/// The files are config.toml in your configuration folder, and .analects.toml in the current folder or one
/// above it. .analects.toml takes precedence, but may only set models, agents and context.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  analects config show --json")]
struct ConfigShowArgs {
    /// Print the values as JSON
    #[arg(long)]
    json: bool,
}

/// Change a setting in your config.toml
///
/// KEY is a name that config show lists, such as models.default or agents.NAME.system_prompt. Comments and
/// everything else in the file stay as they are. If there is no such file, it is created, and only you can
/// read it.
///
/// set refuses API keys, addresses, folders and proxies, because they come only from the environment.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects config set models.default openai/gpt-5-mini
  analects config set context.compact_at 0.85
  analects config set agents.coder.models openai/gpt-5,anthropic/claude-sonnet-4-5")]
struct ConfigSetArgs {
    /// The name of the setting
    key: String,

    /// The new value; separate several models with commas
    #[arg(allow_hyphen_values = true)]
    value: String,
}

pub fn run(args: &ConfigArgs) -> Result<(), Failure> {
    match &args.command {
        ConfigCommand::Show(args) => show(args),
        ConfigCommand::Set(args) => set(args),
    }
}

/// Changes a setting, and warns if something else decides it anyway.
fn set(args: &ConfigSetArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let file = config::set(&args.key, &args.value, &environment)?;
    let key = &args.key;
    let overruled = Config::read(&environment)?.overruled(key, &file)?;
    ui::remark(&format!("{key} is set in {}", file.display()));
    if let Some(origin) = overruled {
        ui::remark(&format!(
            "warning: {origin} decides {key} here, and not this file"
        ));
    }
    Ok(())
}

/// Settings of the environment come first, then those of the files. Fails if a file is wrong, because a value shown
/// would not be the one that counts.
fn show(args: &ConfigShowArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let mut settings = Environment::settings()?;
    settings.extend(Config::read(&environment)?.settings()?);
    if args.json {
        let settings: Vec<Value> = settings.iter().map(as_json).collect();
        return ui::print_json(&json!({ "settings": settings }));
    }
    ui::print_lines(lines(&settings))
}

/// The widest that the column of values gets, so that most lines fit into 80 columns.
const MAX_VALUE_WIDTH: usize = 32;

/// The settings in three columns: key, value, source.
/// Widths are in characters; a value wider than the column moves its source to the right.
fn lines(settings: &[Setting]) -> Vec<String> {
    let mut key_width = 0;
    let mut value_width = 0;
    for setting in settings {
        key_width = key_width.max(setting.key.chars().count());
        value_width = value_width.max(shown(setting).chars().count());
    }
    // Keep one very long value from pushing the sources out of sight.
    let value_width = value_width.min(MAX_VALUE_WIDTH);
    let mut lines = Vec::new();
    for setting in settings {
        let key = &setting.key;
        let value = shown(setting);
        let source = &setting.origin;
        lines.push(format!("{key:key_width$}  {value:value_width$}  {source}"));
    }
    lines
}

/// A value as text, strings without quotes.
/// A list is joined with commas, as `config set` takes it.
fn shown(setting: &Setting) -> String {
    match &setting.value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_string(),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            texts.join(", ")
        }
        other => other.to_string(),
    }
}

/// A setting as `--json` prints it.
/// The word `kind` tells which of the other keys of `from` are there.
fn as_json(setting: &Setting) -> Value {
    let from = match &setting.origin {
        Origin::Variable(name) | Origin::Unset(name) => {
            json!({ "kind": "environment", "name": name })
        }
        Origin::File { path, line } => {
            json!({ "kind": "file", "path": path.to_string_lossy(), "line": line })
        }
        Origin::BuiltIn => json!({ "kind": "built-in" }),
    };
    json!({ "key": setting.key, "value": setting.value, "from": from })
}
