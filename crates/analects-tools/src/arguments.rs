//! The parameters of a tool, described once: the schema for the model and the check of a call both come from here.

use analects_core::{Raw, RawMap, nearest};

use crate::ToolError;
use crate::output::shortened;

/// The most characters of a name or a value that an error repeats.
const LONGEST_SHOWN: usize = 40;

/// One parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    /// Its name, the key in the arguments.
    pub name: &'static str,
    /// The type of its value.
    pub kind: ParameterKind,
    /// Whether a call must have it.
    pub is_required: bool,
    /// What it means, for the model.
    pub about: &'static str,
}

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Text,
    /// A whole number from 1.
    Count,
    Flag,
}

impl ParameterKind {
    /// The name of the type in a JSON schema.
    fn schema_name(self) -> &'static str {
        match self {
            ParameterKind::Text => "string",
            ParameterKind::Count => "integer",
            ParameterKind::Flag => "boolean",
        }
    }

    /// What a value has to be, in an error message.
    fn in_words(self) -> &'static str {
        match self {
            ParameterKind::Text => "a string",
            ParameterKind::Count => "a whole number from 1",
            ParameterKind::Flag => "true or false",
        }
    }
}

/// The JSON schema of these parameters.
pub(crate) fn schema(parameters: &[Parameter]) -> Raw {
    let mut properties = RawMap::new();
    let mut required = Vec::new();
    for parameter in parameters {
        let mut property = RawMap::new();
        property.push("type", Raw::string(parameter.kind.schema_name()));
        property.push("description", Raw::string(parameter.about));
        properties.push(parameter.name, property.to_raw());
        if parameter.is_required {
            required.push(Raw::string(parameter.name));
        }
    }
    let mut schema = RawMap::new();
    schema.push("type", Raw::string("object"));
    schema.push("properties", properties.to_raw());
    // Some providers refuse an empty list.
    if !required.is_empty() {
        schema.push("required", Raw::array(&required));
    }
    schema.to_raw()
}

/// The arguments of one call, checked against the parameters of its tool.
#[derive(Debug)]
pub(crate) struct Arguments {
    values: RawMap,
}

impl Arguments {
    /// Checks the arguments of a call. Every argument must be known and of the right type, and none may be missing, since
    /// a model that misspells `from_line` would otherwise take the beginning of a file for its end. None may be repeated,
    /// since a person who reads the call could take either value for the one that counts.
    pub fn parse(arguments: &Raw, parameters: &[Parameter]) -> Result<Arguments, ToolError> {
        let values = arguments
            .as_object()
            .ok_or_else(|| ToolError::Arguments("the arguments have to be an object".into()))?;
        let mut seen = Vec::new();
        for (key, value) in values.iter() {
            let key = key.as_string().unwrap_or_default();
            let parameter = parameters.iter().find(|parameter| parameter.name == key);
            let parameter = parameter.ok_or_else(|| unknown(&key, parameters))?;
            check(parameter, value)?;
            if seen.contains(&parameter.name) {
                let text = format!("{key} is given twice");
                return Err(ToolError::Arguments(text));
            }
            seen.push(parameter.name);
        }
        for parameter in parameters {
            if parameter.is_required && values.get(parameter.name).is_none() {
                let name = parameter.name;
                let expected = parameter.kind.in_words();
                let text = format!("{name} is missing; expected {expected}");
                return Err(ToolError::Arguments(text));
            }
        }
        Ok(Arguments { values })
    }

    /// The value of a text parameter; `None` if the call leaves it out.
    pub fn text(&self, name: &str) -> Option<String> {
        self.values.string(name)
    }

    /// The value of a required text parameter.
    pub fn required_text(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// The value of a number; `None` if the call leaves it out.
    pub fn count(&self, name: &str) -> Option<usize> {
        self.values.get(name)?.to()
    }

    /// The value of a flag; false if the call leaves it out.
    pub fn flag(&self, name: &str) -> bool {
        let value = self.values.get(name).and_then(Raw::to);
        value.unwrap_or(false)
    }
}

/// Fails if a value does not fit its parameter.
fn check(parameter: &Parameter, value: &Raw) -> Result<(), ToolError> {
    let fits = match parameter.kind {
        ParameterKind::Text => value.as_string().is_some(),
        ParameterKind::Count => value.to::<usize>().is_some_and(|count| count > 0),
        ParameterKind::Flag => value.to::<bool>().is_some(),
    };
    if fits {
        return Ok(());
    }
    let found = shortened(value.as_str(), LONGEST_SHOWN);
    let expected = parameter.kind.in_words();
    let text = format!("{}: expected {expected}, found {found}", parameter.name);
    Err(ToolError::Arguments(text))
}

/// The error for an argument that the tool does not have, with the names that it has.
fn unknown(key: &str, parameters: &[Parameter]) -> ToolError {
    let key = &*shortened(key, LONGEST_SHOWN);
    let names = || parameters.iter().map(|parameter| parameter.name);
    let text = match nearest(key, names()) {
        Some(near) => format!("there is no argument {key:?}; did you mean {near}?"),
        None => {
            let known: Vec<&str> = names().collect();
            format!(
                "there is no argument {key:?}; the arguments are {}",
                known.join(", ")
            )
        }
    };
    ToolError::Arguments(text)
}
