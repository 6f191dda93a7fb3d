//! Changes one setting in your `config.toml`: which settings there are, what values they take, and the file itself. For
//! the change of its text see `edit.rs`.
//!
//! A change is checked before it reaches the disk: the new text is read as the program will read it. So this cannot
//! leave a file that the next call refuses.

use std::io::Write;
use std::path::{Path, PathBuf};

use analects_core::{Agent, nearest, nearest_names};
use analects_store::{replace_file, vfs};

use super::edit::{self, quoted};
use super::read::{CONTEXT_KEYS, FILES_KEYS, Owner, SECRET_ENDINGS, compact_at, read};
use super::{Config, POINTERS, check_model, read_text};
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::hints::or_list;

/// What a setting takes.
/// Decides how the word on the command line becomes TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// The name of a model.
    Model,
    /// Names of models, with commas between them.
    Models,
    /// A share of the window, or `never`.
    Share,
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Count,
    /// Any number that is not negative.
    Number,
    /// Any text.
    Text,
}

/// Sets a value in your `config.toml`, and returns the file. Keeps every other byte of it.
/// Fails without a change if the key is unknown, the value does not fit, or the file has an error already.
pub fn set(key: &str, value: &str, environment: &Environment) -> Result<PathBuf, Failure> {
    let (path, kind) = parse_key(key).ok_or_else(|| no_such_key(key))?;
    let file = environment.config.join("config.toml");
    if value.is_empty() && kind != ValueKind::Text {
        let message = format!("{key} needs a value");
        let hint = format!(
            "to remove the setting, delete its line in {}",
            file.display()
        );
        return Err(Failure::usage(message, hint));
    }
    let value = as_toml(key, kind, value)?;
    let before = read_text(&file)?;
    let text = before.as_deref().unwrap_or_default();
    // A file with an error is reported with the place of the error.
    read(text, &file, Owner::Person)?;
    let changed = edit::set(text, &path, &value).ok_or_else(|| {
        let message = format!(
            "{}: {key} cannot be set without other changes",
            file.display()
        );
        Failure::input(message).or_hint("set it in the file by hand")
    })?;
    read(&changed, &file, Owner::Person)?;
    match before {
        Some(before) => overwrite(&file, &before, &changed)?,
        None => create(&file, &changed)?,
    }
    Ok(file)
}

/// The path of a key in the file, and what it takes. `None` for an unknown key.
/// The name of an agent may contain dots, since the property is what follows the last.
fn parse_key(key: &str) -> Option<(Vec<String>, ValueKind)> {
    let (table, name) = key.split_once('.')?;
    let kind = match (table, name) {
        ("models", name) if POINTERS.contains(&name) => ValueKind::Model,
        ("context", "compact_at") => ValueKind::Share,
        ("context", "pictures") | ("files", "details") => ValueKind::Switch,
        ("agents", name) => return parse_agent_key(name),
        _ => return None,
    };
    Some((vec![table.to_string(), name.to_string()], kind))
}

/// The path of a property of an agent, and what it takes. `name` is `NAME.PROPERTY`.
fn parse_agent_key(name: &str) -> Option<(Vec<String>, ValueKind)> {
    let (agent, property) = name.rsplit_once('.')?;
    let kind = match property {
        "models" => ValueKind::Models,
        "context_window" | "max_output_tokens" => ValueKind::Count,
        "reasoning" | "use_temperature" => ValueKind::Switch,
        "temperature" => ValueKind::Number,
        "system_prompt" => ValueKind::Text,
        _ => return None,
    };
    let agent = agent.trim_matches('"');
    let path = ["agents", agent, property].map(str::to_string);
    Some((path.to_vec(), kind))
}

/// Every key, as `config show` names it. `agent` is the name in the keys of agents.
/// For suggestions and for the list in the hint.
fn all_keys(agent: &str) -> Vec<String> {
    let tables = [
        ("models".to_string(), &POINTERS[..]),
        ("context".to_string(), &CONTEXT_KEYS[..]),
        ("files".to_string(), &FILES_KEYS[..]),
        (format!("agents.{agent}"), &Agent::PROPERTIES[..]),
    ];
    let mut keys = Vec::new();
    for (table, names) in tables {
        keys.extend(names.iter().map(|name| format!("{table}.{name}")));
    }
    keys
}

/// The failure for a key that no file can set.
/// Up to three similar keys are suggested; without any, all are listed.
fn no_such_key(key: &str) -> Failure {
    if let Some(failure) = set_elsewhere(key) {
        return failure;
    }
    let agent = key
        .strip_prefix("agents.")
        .and_then(|rest| rest.rsplit_once('.'));
    let agent = agent.map_or("NAME", |(agent, _)| agent);
    let keys = all_keys(agent);
    let mut near = nearest_names(key, keys.iter().map(String::as_str), 3);
    if near.is_empty() {
        near = keys_with_name(key.rsplit('.').next().unwrap_or(key), &keys);
    }
    let hint = if near.is_empty() {
        format!("the settings are {}", keys.join(", "))
    } else {
        format!("did you mean {}?", or_list(&near))
    };
    Failure::usage(format!("unknown setting {key}"), hint)
}

/// The keys whose last part is much like this name.
fn keys_with_name<'k>(name: &str, keys: &'k [String]) -> Vec<&'k str> {
    let names = keys.iter().filter_map(|key| key.rsplit('.').next());
    let Some(near) = nearest(name, names) else {
        return Vec::new();
    };
    let keys = keys.iter().map(String::as_str);
    keys.filter(|key| key.rsplit('.').next() == Some(near))
        .collect()
}

/// The failure for a setting that only the environment decides: a key, an address, a folder or a proxy.
/// `None` for a key that nothing knows. Secrets are recognised by their names, even of providers that do not exist.
fn set_elsewhere(key: &str) -> Option<Failure> {
    let last = key.rsplit('.').next().unwrap_or_default().to_lowercase();
    if SECRET_ENDINGS.iter().any(|ending| last.ends_with(ending)) {
        let message = format!("{key} is a secret, and config.toml holds none");
        return Some(Failure::usage(message, secret_hint(key)));
    }
    let settings = Environment::settings().ok()?;
    settings.iter().find(|setting| setting.key == key)?;
    let hint = "set its variable in your shell; analects config show lists the variables";
    let message = format!("{key} comes from the environment, and config.toml cannot set it");
    Some(Failure::usage(message, hint))
}

/// The variable to set in place of a secret.
/// Names the first variable of the provider that the key begins with.
fn secret_hint(key: &str) -> String {
    let provider = key.split('.').next().and_then(analects_providers::vendor);
    match provider.and_then(|provider| provider.key_variables.first()) {
        Some(variable) => format!("set {variable} in your shell"),
        None => "set it in your shell; analects config show lists the variables".to_string(),
    }
}

/// A value as TOML. Fails if the setting does not take it.
/// The result is a whole value, with quotes where it needs them.
fn as_toml(key: &str, kind: ValueKind, value: &str) -> Result<String, Failure> {
    let (is_taken, expected, example) = match kind {
        ValueKind::Model => {
            check_model(value)?;
            return Ok(quoted(value));
        }
        ValueKind::Models => return models_as_toml(value),
        ValueKind::Text => return Ok(quoted(value)),
        ValueKind::Share if compact_at(value).is_some() && !is_plain_number(value) => {
            return Ok(quoted(value));
        }
        ValueKind::Share => (
            compact_at(value).is_some(),
            "a share of the window, or never",
            "0.85",
        ),
        ValueKind::Switch => (matches!(value, "true" | "false"), "true or false", "true"),
        ValueKind::Count => (
            is_plain_number(value) && value.parse::<i64>().is_ok(),
            "a whole number",
            "4096",
        ),
        ValueKind::Number => (is_plain_number(value), "a number", "0.7"),
    };
    if is_taken {
        return Ok(value.to_string());
    }
    let hint = format!("such as analects config set {key} {example}");
    Err(Failure::usage(format!("{key} must be {expected}"), hint))
}

/// Whether TOML reads this text as a number, with digits and at most one point between them.
/// Leading zeros are refused, as TOML refuses them.
fn is_plain_number(value: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let starts_and_ends = value.starts_with(is_digit) && value.ends_with(is_digit);
    let has_leading_zero = value.len() > 1 && value.starts_with('0') && !value.starts_with("0.");
    starts_and_ends
        && !has_leading_zero
        && value.chars().all(|c| is_digit(c) || c == '.')
        && value.parse::<f64>().is_ok()
}

/// Names of models as TOML: a text, or a list if there are several.
/// Blanks around the commas do not count.
fn models_as_toml(value: &str) -> Result<String, Failure> {
    let mut names = Vec::new();
    for name in value.split(',').map(str::trim) {
        check_model(name)?;
        names.push(quoted(name));
    }
    match &names[..] {
        [name] => Ok(name.clone()),
        names => Ok(format!("[{}]", names.join(", "))),
    }
}

/// Replaces the file as a whole. Its mode and its owner stay.
/// Fails if the file has changed since it was read.
fn overwrite(file: &Path, before: &str, changed: &str) -> Result<(), Failure> {
    let real = analects_store::real_path(&vfs::Disk, file)?;
    if replace_file(&real, before.as_bytes(), changed.as_bytes())? {
        return Ok(());
    }
    let message = format!("{}: another program is changing it", file.display());
    Err(Failure::input(message).or_hint("try again"))
}

/// Creates the file, and its folder, so that only you can read them.
/// It may name models and prompts that are nobody else's business.
fn create(file: &Path, text: &str) -> Result<(), Failure> {
    let created = create_private(file, text);
    created.map_err(|error| {
        let reason = io_error_text(&error);
        Failure::input(format!("{}: cannot create: {reason}", file.display()))
    })
}

/// Fails if the file appeared meanwhile.
fn create_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut folder = std::fs::DirBuilder::new();
    folder.recursive(true);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder.mode(0o700);
        options.mode(0o600);
    }
    if let Some(parent) = file.parent() {
        folder.create(parent)?;
    }
    let mut opened = options.open(file)?;
    opened.write_all(text.as_bytes())?;
    opened.sync_all()
}

impl Config {
    /// Where a setting comes from, if that is not this file: what decides it instead.
    /// `None` if the value in the file counts. Call it after [`set`] to warn about a change without effect.
    pub fn overruled(&self, key: &str, file: &Path) -> Result<Option<String>, Failure> {
        let settings = self.settings()?;
        let setting = settings.iter().find(|setting| setting.key == key);
        let origin = setting.map(|setting| &setting.origin);
        Ok(match origin {
            Some(super::Origin::File { path, .. }) if path == file => None,
            Some(origin) => Some(origin.to_string()),
            None => None,
        })
    }
}

#[cfg(test)]
mod tests {
    //! Keys and values, without a file.

    use super::*;

    #[test]
    fn every_key_that_is_listed_can_be_set() {
        for key in all_keys("coder") {
            assert!(parse_key(&key).is_some(), "{key}");
        }
        let (path, _) = parse_key("agents.\"x y\".models").unwrap();
        assert_eq!(path, ["agents", "x y", "models"]);
        for key in [
            "",
            "models",
            "models.",
            "models.defualt",
            "agents.models",
            "a.b.c",
        ] {
            assert!(parse_key(key).is_none(), "{key}");
        }
    }

    #[test]
    fn values_become_toml_of_their_kind() {
        for (kind, value, expected) in [
            (ValueKind::Model, "openai/gpt-5", "\"openai/gpt-5\""),
            (ValueKind::Models, "quick", ""),
            (
                ValueKind::Models,
                "ollama/a, ollama/b",
                "[\"ollama/a\", \"ollama/b\"]",
            ),
            (ValueKind::Share, "0.85", "0.85"),
            (ValueKind::Share, "85", "85"),
            (ValueKind::Share, "85%", "\"85%\""),
            (ValueKind::Share, "never", "\"never\""),
            (ValueKind::Share, "lots", ""),
            (ValueKind::Switch, "true", "true"),
            (ValueKind::Switch, "yes", ""),
            (ValueKind::Count, "4096", "4096"),
            (ValueKind::Count, "-1", ""),
            (ValueKind::Number, "0.7", "0.7"),
            (ValueKind::Number, "inf", ""),
            (ValueKind::Number, "1.", ""),
            (ValueKind::Number, "01", ""),
            (ValueKind::Text, "a\nb", "\"a\\nb\""),
        ] {
            let toml = as_toml("key", kind, value).unwrap_or_default();
            assert_eq!(toml, expected, "{kind:?} {value}");
        }
    }
}
