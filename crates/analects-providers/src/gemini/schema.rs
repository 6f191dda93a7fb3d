//! The JSON schema of a tool in the part of OpenAPI's schemas that Gemini accepts. What can be said
//! in other words is rewritten; the rest is removed and reported.

use std::collections::BTreeSet;

use analects_core::{Raw, RawMap, replace_lone_surrogates};

use crate::decoding::object_member;

/// Fields that Gemini accepts unchanged.
const ACCEPTED_FIELDS: [&str; 14] = [
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

/// The only formats that Gemini knows. It refuses any other.
const ACCEPTED_FORMATS: [&str; 6] = ["date-time", "enum", "float", "double", "int32", "int64"];

/// The members of a schema that contain definitions.
const DEFINITION_GROUPS: [&str; 2] = ["$defs", "definitions"];

/// How deeply schemas may be nested.
const MAX_DEPTH: usize = 32;

/// How many schemas may be written. Definitions that refer to each other several times would grow
/// without end.
const MAX_SCHEMAS: usize = 5_000;

/// A schema for Gemini.
pub(super) struct GeminiSchema {
    /// The schema; `None` if a tool has no arguments, or if they cannot be described.
    pub parameters: Option<Raw>,
    /// The names of the removed fields.
    pub removed: BTreeSet<String>,
}

/// Rewrites the schema of a tool's arguments.
pub(super) fn rewrite(schema: &Raw) -> GeminiSchema {
    let schema = replace_lone_surrogates(schema);
    let mut rewriter = SchemaRewriter::new(&schema.as_object().unwrap_or_default());
    let rewritten = rewriter.schema(&schema, 0);
    let parameters = rewriter.as_parameters(rewritten);
    GeminiSchema {
        parameters: parameters.map(|schema| schema.to_raw()),
        removed: rewriter.removed,
    }
}

/// Whether a rewritten schema is a choice among several.
fn has_choice(schema: &RawMap) -> bool {
    schema.get("anyOf").is_some()
}

/// Rewrites one schema, with everything that is nested in it.
struct SchemaRewriter {
    /// The definitions of the schema, in the order of [`DEFINITION_GROUPS`].
    definitions: [RawMap; 2],
    /// The addresses of the definitions that are being written.
    open_refs: Vec<String>,
    /// How many schemas were written.
    count: usize,
    removed: BTreeSet<String>,
}

impl SchemaRewriter {
    /// Prepares rewriting, with the definitions of the root schema.
    fn new(root: &RawMap) -> SchemaRewriter {
        SchemaRewriter {
            definitions: DEFINITION_GROUPS
                .map(|group| object_member(root, group).unwrap_or_default()),
            open_refs: Vec::new(),
            count: 0,
            removed: BTreeSet::new(),
        }
    }

    /// Makes a schema one of arguments, which are an object or a choice. Gemini refuses objects
    /// without properties, so without any there are no parameters.
    fn as_parameters(&mut self, mut schema: RawMap) -> Option<RawMap> {
        let kind = schema.string("type");
        if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("object")) {
            self.remove("a type that is not object");
            return None;
        }
        if has_choice(&schema) {
            return Some(schema);
        }
        schema.get("properties")?;
        schema.set("type", Raw::string("object"));
        Some(schema)
    }

    /// Writes a schema. One that is too deep, or one too many, becomes an empty schema, which
    /// allows anything.
    fn schema(&mut self, raw: &Raw, depth: usize) -> RawMap {
        self.count += 1;
        let Some(map) = raw.as_object() else {
            self.remove("a schema that is true or false");
            return RawMap::new();
        };
        if depth >= MAX_DEPTH || self.count >= MAX_SCHEMAS {
            self.remove("what is nested too deeply");
            return RawMap::new();
        }
        let mut out = self.definition(&map, depth);
        let properties = object_member(&map, "properties").unwrap_or_default();
        for (key, value) in map.iter() {
            let key = key.as_string().unwrap_or_default();
            match key.as_str() {
                "properties" => self.properties(&properties, depth, &mut out),
                "required" => write_required(value, &properties, &mut out),
                key => self.field(key, value, depth, &mut out),
            }
        }
        out
    }

    /// Writes the definition that a schema refers to, if it refers to one. A definition that
    /// contains itself cannot be written.
    fn definition(&mut self, map: &RawMap, depth: usize) -> RawMap {
        let Some(address) = map.string("$ref") else {
            return RawMap::new();
        };
        let definition = self.find(&address);
        let Some(definition) = definition.filter(|_| !self.open_refs.contains(&address)) else {
            self.remove("$ref");
            return RawMap::new();
        };
        self.open_refs.push(address);
        let out = self.schema(&definition, depth + 1);
        self.open_refs.pop();
        out
    }

    /// Finds the definition at an address such as `#/$defs/color`.
    fn find(&self, address: &str) -> Option<Raw> {
        let (group, name) = address.strip_prefix("#/")?.split_once('/')?;
        let group = DEFINITION_GROUPS.iter().position(|known| *known == group)?;
        self.definitions[group].get(name).cloned()
    }

    /// Writes a field of a schema, if Gemini accepts it in some form.
    fn field(&mut self, key: &str, value: &Raw, depth: usize, out: &mut RawMap) {
        match key {
            // Definitions are written where a schema refers to them.
            "$ref" | "$defs" | "definitions" => {}
            "type" => write_type(value, out),
            "items" => {
                let items = self.schema(value, depth + 1);
                replace(out, "items", items.to_raw());
            }
            "anyOf" => self.choice(value, depth, out),
            "oneOf" => {
                // Stricter than `anyOf`, which is all that Gemini has.
                self.remove("oneOf (anyOf instead)");
                self.choice(value, depth, out);
            }
            "enum" => self.enumeration(value, out),
            "const" if value.as_string().is_some() => {
                replace(out, "enum", Raw::array(std::slice::from_ref(value)));
            }
            "format" if is_accepted_format(value) => replace(out, key, value.clone()),
            _ if ACCEPTED_FIELDS.contains(&key) => replace(out, key, value.clone()),
            _ => self.remove(key),
        }
    }

    /// Notes the name of a removed field.
    fn remove(&mut self, key: &str) {
        self.removed.insert(key.to_string());
    }

    /// Writes the schemas of an object's properties.
    fn properties(&mut self, properties: &RawMap, depth: usize, out: &mut RawMap) {
        let mut written = RawMap::new();
        for (key, value) in properties.iter() {
            let property = self.schema(value, depth + 1);
            written.push_raw(key.clone(), property.to_raw());
        }
        if !written.is_empty() {
            replace(out, "properties", written.to_raw());
        }
    }

    /// Writes a choice. Null among its members becomes a field of its own.
    fn choice(&mut self, value: &Raw, depth: usize, out: &mut RawMap) {
        let mut choices = Vec::new();
        for choice in value.as_array().unwrap_or_default() {
            if is_null_schema(&choice) {
                replace(out, "nullable", true.into());
            } else {
                choices.push(self.schema(&choice, depth + 1).to_raw());
            }
        }
        if !choices.is_empty() {
            replace(out, "anyOf", Raw::array(&choices));
        }
    }

    /// Writes an enumeration, which may contain only strings. Null becomes a field of its own.
    fn enumeration(&mut self, value: &Raw, out: &mut RawMap) {
        let mut values = value.as_array().unwrap_or_default();
        let count = values.len();
        values.retain(|value| value.as_str() != "null");
        if values.len() < count {
            replace(out, "nullable", true.into());
        }
        let are_strings = values.iter().all(|value| value.as_str().starts_with('"'));
        if are_strings && !values.is_empty() {
            replace(out, "enum", Raw::array(&values));
        } else {
            self.remove("enum");
        }
    }
}

/// Whether Gemini knows a string format.
fn is_accepted_format(value: &Raw) -> bool {
    let format = value.as_string().unwrap_or_default();
    ACCEPTED_FORMATS.contains(&format.as_str())
}

/// Whether a schema allows only null.
fn is_null_schema(schema: &Raw) -> bool {
    schema.kind().is_some_and(|kind| kind == "null")
}

/// Writes the type of a schema. Several types become a choice, and null becomes a field of its own.
fn write_type(value: &Raw, out: &mut RawMap) {
    let Some(mut kinds) = value.as_array() else {
        if value.as_string().is_some() {
            replace(out, "type", value.clone());
        }
        return;
    };
    let count = kinds.len();
    kinds.retain(|kind| kind.as_str() != "\"null\"");
    let is_nullable = kinds.len() < count;
    match kinds.as_slice() {
        [] => {}
        [kind] => replace(out, "type", kind.clone()),
        kinds => {
            let choices: Vec<Raw> = kinds.iter().map(type_schema).collect();
            replace(out, "anyOf", Raw::array(&choices));
        }
    }
    if is_nullable {
        replace(out, "nullable", true.into());
    }
}

/// A schema with this type and nothing else.
fn type_schema(kind: &Raw) -> Raw {
    RawMap::from([("type", kind.clone())]).to_raw()
}

/// Writes the names of the required properties. Gemini refuses names without a property.
fn write_required(value: &Raw, properties: &RawMap, out: &mut RawMap) {
    let mut names = value.as_array().unwrap_or_default();
    names.retain(|name| {
        let name = name.as_string();
        name.is_some_and(|name| properties.get(&name).is_some())
    });
    if !names.is_empty() {
        replace(out, "required", Raw::array(&names));
    }
}

/// Writes a field. A field of a schema replaces that of the definition it refers to.
fn replace(out: &mut RawMap, key: &str, value: Raw) {
    out.remove(key);
    out.push(key, value);
}
