//! The JSON schema of a tool, without what Gemini refuses: it takes a part of OpenAPI's schemas
//! only. What can be said in other words is; the rest is left out, and told.

use std::collections::BTreeSet;

use analects_core::{Raw, RawMap};

use crate::outgoing::mended;

/// Fields that Gemini takes as they are.
const TAKEN: [&str; 14] = [
    "title",
    "description",
    "nullable",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "maxLength",
    "minLength",
    "pattern",
    "example",
    "default",
    "maximum",
    "minimum",
];

/// The only formats that it knows; any other is an error to it.
const FORMATS: [&str; 6] = ["date-time", "enum", "float", "double", "int32", "int64"];

/// Where definitions stand in a schema.
const GROUPS: [&str; 2] = ["$defs", "definitions"];

const DEEPEST: usize = 32;

/// Definitions that refer to each other many times would grow without end.
const LARGEST: usize = 5_000;

/// A schema for Gemini, if there is anything to say, and the names of what was left out.
pub(super) fn clean(schema: &Raw) -> (Option<Raw>, BTreeSet<String>) {
    let schema = mended(schema);
    let root = schema.as_object().unwrap_or_default();
    let group = |name| {
        (
            name,
            root.get(name).and_then(Raw::as_object).unwrap_or_default(),
        )
    };
    let groups = GROUPS.map(group);
    let mut cleaner = Cleaner {
        groups,
        refs: Vec::new(),
        count: 0,
        removed: BTreeSet::new(),
    };
    let mut cleaned = cleaner.schema(&schema, 0);
    // Arguments are an object or, with other words, a choice.
    let kind = cleaned.string("type");
    if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("object")) {
        cleaner.remove("a type that is not object");
        return (None, cleaner.removed);
    }
    let has_properties = cleaned.get("properties").is_some();
    if has_properties && !has_choice(&cleaned) {
        cleaned.set("type", Raw::string("object"));
    }
    // An object without properties is an error to it; no parameters at all are none.
    let says_something = has_properties || has_choice(&cleaned);
    (says_something.then(|| cleaned.to_raw()), cleaner.removed)
}

fn has_choice(schema: &RawMap) -> bool {
    schema.get("anyOf").is_some()
}

struct Cleaner {
    /// The definitions of the schema, by the name of their group.
    groups: [(&'static str, RawMap); 2],
    /// The definitions that are being written out.
    refs: Vec<String>,
    count: usize,
    removed: BTreeSet<String>,
}

impl Cleaner {
    fn schema(&mut self, raw: &Raw, depth: usize) -> RawMap {
        self.count += 1;
        let map = match raw.as_object() {
            Some(map) if depth < DEEPEST && self.count < LARGEST => map,
            Some(_) => {
                self.remove("what is nested too deeply");
                return RawMap::new();
            }
            None => {
                self.remove("a schema that is true or false");
                return RawMap::new();
            }
        };
        let mut out = self.definition(&map, depth);
        let properties = map
            .get("properties")
            .and_then(Raw::as_object)
            .unwrap_or_default();
        for (key, value) in map.iter() {
            let key = key.as_string().unwrap_or_default();
            self.field(&key, value, &properties, depth, &mut out);
        }
        out
    }

    /// What the definition says that the schema refers to, if it refers to one. One that holds
    /// itself cannot be written out.
    fn definition(&mut self, map: &RawMap, depth: usize) -> RawMap {
        let Some(address) = map.string("$ref") else {
            return RawMap::new();
        };
        let found = self
            .find(&address)
            .filter(|_| !self.refs.contains(&address));
        let Some(found) = found else {
            self.remove("$ref");
            return RawMap::new();
        };
        self.refs.push(address);
        let out = self.schema(&found, depth + 1);
        self.refs.pop();
        out
    }

    fn find(&self, address: &str) -> Option<Raw> {
        let (group, name) = address.strip_prefix("#/")?.split_once('/')?;
        let (_, definitions) = self.groups.iter().find(|(known, _)| *known == group)?;
        definitions.get(name).cloned()
    }

    fn field(
        &mut self,
        key: &str,
        value: &Raw,
        properties: &RawMap,
        depth: usize,
        out: &mut RawMap,
    ) {
        match key {
            // Told where it is used, and written out there.
            "$ref" | "$defs" | "definitions" => {}
            "type" => kinds(value, out),
            "properties" => self.properties(properties, depth, out),
            "required" => required(value, properties, out),
            "items" => {
                let items = self.schema(value, depth + 1);
                put(out, "items", items.to_raw());
            }
            "anyOf" | "oneOf" => self.choice(key, value, depth, out),
            "enum" => self.one_of(value, out),
            "const" => match value.as_string() {
                Some(_) => put(out, "enum", Raw::array(std::slice::from_ref(value))),
                None => self.remove(key),
            },
            "format"
                if value
                    .as_string()
                    .is_some_and(|it| FORMATS.contains(&it.as_str())) =>
            {
                put(out, key, value.clone());
            }
            _ if TAKEN.contains(&key) => put(out, key, value.clone()),
            _ => self.remove(key),
        }
    }

    fn remove(&mut self, key: &str) {
        self.removed.insert(key.to_string());
    }

    fn properties(&mut self, properties: &RawMap, depth: usize, out: &mut RawMap) {
        let mut cleaned = RawMap::new();
        for (key, value) in properties.iter() {
            cleaned.push_raw(key.clone(), self.schema(value, depth + 1).to_raw());
        }
        if !cleaned.is_empty() {
            put(out, "properties", cleaned.to_raw());
        }
    }

    /// `oneOf` is stricter than `anyOf`, which is all there is; null among the choices is a field
    /// of its own.
    fn choice(&mut self, key: &str, value: &Raw, depth: usize, out: &mut RawMap) {
        if key == "oneOf" {
            self.remove("oneOf (anyOf instead)");
        }
        let mut choices = Vec::new();
        for choice in value.as_array().unwrap_or_default() {
            if is_null(&choice) {
                put(out, "nullable", true.into());
            } else {
                choices.push(self.schema(&choice, depth + 1).to_raw());
            }
        }
        if !choices.is_empty() {
            put(out, "anyOf", Raw::array(&choices));
        }
    }

    /// Only strings can be listed.
    fn one_of(&mut self, value: &Raw, out: &mut RawMap) {
        let values = value.as_array().unwrap_or_default();
        if values.iter().any(|value| value.as_str() == "null") {
            put(out, "nullable", true.into());
        }
        let values: Vec<_> = values
            .into_iter()
            .filter(|value| value.as_str() != "null")
            .collect();
        if !values.is_empty() && values.iter().all(|value| value.as_str().starts_with('"')) {
            put(out, "enum", Raw::array(&values));
        } else {
            self.remove("enum");
        }
    }
}

fn is_null(schema: &Raw) -> bool {
    schema.kind().is_some_and(|kind| kind == "null")
}

/// One type stays, several become a choice, and null is a field of its own.
fn kinds(value: &Raw, out: &mut RawMap) {
    let Some(kinds) = value.as_array() else {
        if value.as_string().is_some() {
            put(out, "type", value.clone());
        }
        return;
    };
    let (null, kinds): (Vec<_>, Vec<_>) = kinds
        .into_iter()
        .partition(|kind| kind.as_str() == "\"null\"");
    match kinds.as_slice() {
        [] => {}
        [kind] => put(out, "type", kind.clone()),
        kinds => {
            let choice = |kind: &Raw| RawMap::from([("type", kind.clone())]).to_raw();
            let choices: Vec<_> = kinds.iter().map(choice).collect();
            put(out, "anyOf", Raw::array(&choices));
        }
    }
    if !null.is_empty() {
        put(out, "nullable", true.into());
    }
}

/// A name without a property is an error to Gemini.
fn required(value: &Raw, properties: &RawMap, out: &mut RawMap) {
    let names = value.as_array().unwrap_or_default();
    let known = |name: &Raw| {
        name.as_string()
            .is_some_and(|name| properties.get(&name).is_some())
    };
    let names: Vec<_> = names.into_iter().filter(known).collect();
    if !names.is_empty() {
        put(out, "required", Raw::array(&names));
    }
}

/// Sets a field; what a schema says itself wins over its definition.
fn put(out: &mut RawMap, key: &str, value: Raw) {
    out.remove(key);
    out.push(key, value);
}
