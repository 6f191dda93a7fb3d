//! Finds the known models that an unknown name may stand for. Knows the names in the catalogue only: no provider is
//! asked.

use analects_core::{nearest, nearest_names};
use analects_providers::{Catalogue, Vendor, vendor, vendors};

/// How many models are suggested at most.
const LIMIT: usize = 3;

/// The known models that a name may stand for, as `provider/NAME`, the nearest first.
pub(crate) fn nearest_models(name: &str, catalogue: &Catalogue) -> Vec<String> {
    if let Some(vendor) = vendor(name) {
        return models_of(vendor, catalogue);
    }
    let Some((provider, model)) = name.split_once('/') else {
        return nearest_known(name, catalogue);
    };
    match vendor(provider).or_else(|| nearest_vendor(provider)) {
        Some(vendor) if model.is_empty() => models_of(vendor, catalogue),
        Some(vendor) => nearest_of(vendor, model, catalogue),
        None => nearest_known(model, catalogue),
    }
}

/// The known models of a provider that an unknown one of its models may be a wrong spelling of.
pub(crate) fn misspelt_models(provider: &str, model: &str) -> Vec<String> {
    let Some(vendor) = vendor(provider) else {
        return Vec::new();
    };
    let near = nearest_names(model, names_of(vendor, Catalogue::built_in()), LIMIT);
    let near = near.into_iter();
    near.map(|name| format!("{}/{name}", vendor.name)).collect()
}

/// The provider whose name or alias is much like this one.
fn nearest_vendor(name: &str) -> Option<&'static Vendor> {
    let names = vendors().iter().flat_map(|it| {
        let aliases = it.aliases.iter().copied();
        aliases.chain([it.name])
    });
    vendor(nearest(name, names)?)
}

/// The first known models of a provider.
fn models_of(vendor: &Vendor, catalogue: &Catalogue) -> Vec<String> {
    let names = names_of(vendor, catalogue).take(LIMIT);
    names
        .map(|name| format!("{}/{name}", vendor.name))
        .collect()
}

/// The names of the known models of a provider.
fn names_of<'a>(vendor: &Vendor, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a str> {
    let provider = vendor.models_of.unwrap_or(vendor.name);
    let names = catalogue.names();
    names.filter_map(move |(of, name)| (of == provider).then_some(name))
}

/// The models of a provider that a name may stand for. A provider may have models that are not known here, so a name
/// that is like none of those is taken as it is.
fn nearest_of(vendor: &Vendor, model: &str, catalogue: &Catalogue) -> Vec<String> {
    let mut near = nearest_names(model, names_of(vendor, catalogue), LIMIT);
    if near.is_empty() || catalogue.facts(vendor.name, model).is_some() {
        near = vec![model];
    }
    let near = near.into_iter();
    near.map(|name| format!("{}/{name}", vendor.name)).collect()
}

/// The known models of all providers that a name may stand for.
fn nearest_known(name: &str, catalogue: &Catalogue) -> Vec<String> {
    let near = nearest_names(name, catalogue.names().map(|(_, name)| name), LIMIT);
    let mut models = Vec::new();
    for name in near {
        let known = catalogue.names().filter(|(_, known)| *known == name);
        for (provider, name) in known {
            let model = format!("{provider}/{name}");
            if !models.contains(&model) {
                models.push(model);
            }
        }
    }
    models.truncate(LIMIT);
    models
}

#[cfg(test)]
mod tests {
    //! What is suggested for names that people type.

    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &[&str]) {
        assert_eq!(nearest_models(name, Catalogue::built_in()), expected);
    }

    #[test]
    fn bare_names_find_models_of_any_provider() {
        check("gpt5-mini", &["openai/gpt-5-mini"]);
        check("claude-sonnet-4.5", &["anthropic/claude-sonnet-4-5"]);
        check("smolm2", &["local/smollm2"]);
        check("no-such-model", &[]);
    }

    #[test]
    fn a_part_of_a_name_finds_the_models_that_have_it() {
        check(
            "haiku",
            &[
                "anthropic/claude-haiku-4-5",
                "anthropic/claude-3-5-haiku",
                "anthropic/claude-3-haiku",
            ],
        );
        check(
            "gemini-flash",
            &[
                "gemini/gemini-2.5-flash",
                "gemini/gemini-2.5-flash-lite",
                "gemini/gemini-2.0-flash",
            ],
        );
    }

    #[test]
    fn a_misspelt_provider_is_corrected_and_so_is_its_model() {
        check("opnai/gpt-5", &["openai/gpt-5"]);
        check("opnai/gpt5-mini", &["openai/gpt-5-mini"]);
        check("opnai/brand-new", &["openai/brand-new"]);
        check("antropic/claude-opus-4-1", &["anthropic/claude-opus-4-1"]);
        check("googel/gemini-2.5-pro", &["gemini/gemini-2.5-pro"]);
        check("olama/qwen3:4b", &["ollama/qwen3:4b"]);
    }

    #[test]
    fn another_provider_is_suggested_for_a_model_that_it_has() {
        check("azure/gpt-5-mini", &["openai/gpt-5-mini"]);
        check("nobody/x", &[]);
    }

    #[test]
    fn a_provider_alone_finds_its_first_models() {
        let first = ["openai/gpt-5.1", "openai/gpt-5", "openai/gpt-5-codex"];
        for name in ["openai", "openai/", "opnai/"] {
            check(name, &first);
        }
        check("ollama", &[]);
    }
}
