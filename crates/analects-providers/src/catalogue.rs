//! What is known about models: a dated data file, and a person's own file over it. Looked up by
//! provider and name; what is not listed is unknown, and so is what an entry does not say.

mod cost;
mod entry;

use std::fmt;
use std::sync::LazyLock;

use analects_core::{ModelFacts, Raw, RawMap};

use self::entry::Entry;
use crate::vendor;

pub use self::cost::cost;

const BUILT_IN: &str = include_str!("../data/models.json");

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
    // A test reads the file, so there is nothing here that could be wrong with it.
    entries: read(BUILT_IN).unwrap_or_default(),
    overrides: Vec::new(),
});

/// The models that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    entries: Vec<Entry>,
    overrides: Vec<Entry>,
}

/// What is wrong with a file of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueError {
    /// Which entry, counted from 1, and its name, if it has one; empty for the file as a whole.
    pub entry: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry.as_str() {
            "" => f.write_str(&self.message),
            entry => write!(f, "{entry}: {}", self.message),
        }
    }
}

impl std::error::Error for CatalogueError {}

/// What is known about a model of a provider, by what comes with the program.
pub fn facts(provider: &str, name: &str) -> Option<ModelFacts> {
    Catalogue::built_in().facts(provider, name)
}

impl Catalogue {
    /// What comes with the program.
    pub fn built_in() -> &'static Catalogue {
        &CATALOGUE
    }

    /// What comes with the program, and a person's own file over it: JSON of the same shape. Every
    /// fact that an entry of theirs gives wins over ours; prices win as a whole. A file with an error
    /// is not used at all, since half of a price list is a wrong one; all errors are told.
    pub fn with_overrides(json: &str) -> Result<Catalogue, Vec<CatalogueError>> {
        let mut overrides = read(json)?;
        for entry in &mut overrides {
            if let Some(prices) = entry.facts.prices.as_mut().filter(|own| own.source.is_empty()) {
                prices.source = "user".to_string();
            }
        }
        Ok(Catalogue { entries: CATALOGUE.entries.clone(), overrides })
    }

    /// What is known about a model of a provider, who may be named by an alias.
    pub fn facts(&self, provider: &str, name: &str) -> Option<ModelFacts> {
        let provider = provider_name(provider);
        let name = name.strip_prefix("models/").unwrap_or(name);
        let ours = best(&self.entries, &provider, name);
        let theirs = best(&self.overrides, &provider, name);
        let mut facts = ours.or(theirs)?.facts.clone();
        if let Some(theirs) = theirs {
            facts.update(&theirs.facts);
        }
        Some(facts)
    }
}

fn provider_name(name: &str) -> String {
    match vendor(name) {
        Some(vendor) => vendor.models_of.unwrap_or(vendor.name).to_string(),
        None => name.to_lowercase(),
    }
}

/// The entry with the longest pattern that fits; of equal ones the last.
fn best<'a>(entries: &'a [Entry], provider: &str, name: &str) -> Option<&'a Entry> {
    let of_provider = entries.iter().filter(|entry| entry.provider == provider);
    let fitting = of_provider.filter_map(|entry| Some((entry.fit(name)?, entry)));
    fitting.max_by_key(|(fit, _)| *fit).map(|(_, entry)| entry)
}

fn read(json: &str) -> Result<Vec<Entry>, Vec<CatalogueError>> {
    let whole = |message: String| vec![CatalogueError { entry: String::new(), message }];
    let map = RawMap::parse(json).map_err(|error| whole(error.to_string()))?;
    let known = |key: &Raw| ["\"note\"", "\"models\""].contains(&key.as_str());
    if let Some((key, _)) = map.iter().find(|(key, _)| !known(key)) {
        return Err(whole(format!("unknown field {key}; expected \"models\" or \"note\"")));
    }
    let list = map.get("models").and_then(Raw::as_array);
    let list = list.ok_or_else(|| whole("there is no list \"models\"".to_string()))?;
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for (raw, number) in list.iter().zip(1..) {
        match Entry::read(raw) {
            Ok(entry) => {
                entries.push(Entry { provider: provider_name(&entry.provider), ..entry });
            }
            Err(message) => {
                let entry = format!("model {number}{}", entry::name(raw));
                errors.push(CatalogueError { entry, message });
            }
        }
    }
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
