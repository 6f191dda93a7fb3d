//! Messages and function calls as data.

use std::time::Duration;

use analects_core::{History, Raw};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outputs::{from_value, text_plain};
use super::{CellContent, FunctionCall, ItemError, Message, MessageItem, Output, check, seconds};
use crate::msgfile::invoke::{self, Arguments, Invoke};

/// A message or a function call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Item {
    /// A message of a person.
    Message(PromptItem),
    /// A call of a tool or of an agent.
    FunctionCall(CallItem),
}

/// The values that messages and function calls have in common.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ItemFields {
    pub(super) name: String,
    #[serde(with = "seconds::json")]
    pub(super) timeout: Option<Duration>,
    pub(super) history: History,
    pub(super) heading_level: Option<usize>,
    pub(super) outputs: Vec<Output>,
}

/// A message of a person, with its outputs and function calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptItem {
    #[serde(flatten)]
    pub(super) fields: ItemFields,
    #[serde(default = "markdown", rename = "type")]
    pub(super) type_word: String,
    pub(super) content: CellContent,
    #[serde(default = "text_plain")]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) agent_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) function_calls: Vec<CallItem>,
}

/// A call of a tool or of an agent, with its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallItem {
    #[serde(flatten)]
    pub(super) fields: ItemFields,
    #[serde(default = "tool", rename = "type")]
    pub(super) type_word: String,
    pub(super) function_name: String,
    #[serde(flatten, with = "arguments_json")]
    pub(super) args: Arguments,
}

fn markdown() -> String {
    "markdown".to_string()
}

fn tool() -> String {
    "tool".to_string()
}

impl Default for PromptItem {
    fn default() -> PromptItem {
        PromptItem {
            fields: ItemFields::default(),
            type_word: markdown(),
            content: CellContent::default(),
            mime_type: text_plain(),
            agent_name: None,
            tool: None,
            function_calls: Vec::new(),
        }
    }
}

impl Default for CallItem {
    fn default() -> CallItem {
        CallItem {
            fields: ItemFields::default(),
            type_word: tool(),
            function_name: String::new(),
            args: Arguments::Json(Raw::empty_object()),
        }
    }
}

impl ItemFields {
    fn check(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
        self.heading_level.map_or(Ok(()), check::heading_level)?;
        self.outputs.iter().try_for_each(Output::check)
    }
}

/// The methods of [`MessageItem`] for a type with [`ItemFields`] and a type word.
macro_rules! item_methods {
    () => {
        fn name(&self) -> &str {
            &self.fields().name
        }

        fn timeout(&self) -> Option<Duration> {
            self.fields().timeout
        }

        fn outputs(&self) -> &[Output] {
            &self.fields().outputs
        }

        fn history(&self) -> History {
            self.fields().history
        }

        fn heading_level(&self) -> Option<usize> {
            self.fields().heading_level
        }

        fn add_output(&mut self, output: Output) {
            self.fields_mut().outputs.push(output);
        }

        fn to_dict(&self) -> Value {
            serde_json::to_value(self).unwrap_or_default()
        }
    };
}

impl Item {
    /// The message, if it is one.
    pub fn as_message(&self) -> Option<&PromptItem> {
        match self {
            Item::Message(message) => Some(message),
            Item::FunctionCall(_) => None,
        }
    }

    /// The function call, if it is one.
    pub fn as_function_call(&self) -> Option<&CallItem> {
        match self {
            Item::FunctionCall(call) => Some(call),
            Item::Message(_) => None,
        }
    }

    /// Reads what [`MessageItem::to_dict`] writes. What has a `function_name` is a function call.
    pub fn from_dict(dict: Value) -> Result<Item, ItemError> {
        if dict.get("function_name").is_some() {
            return CallItem::from_dict(dict).map(Item::FunctionCall);
        }
        PromptItem::from_dict(dict).map(Item::Message)
    }

    fn fields(&self) -> &ItemFields {
        match self {
            Item::Message(message) => &message.fields,
            Item::FunctionCall(call) => &call.fields,
        }
    }

    fn fields_mut(&mut self) -> &mut ItemFields {
        match self {
            Item::Message(message) => &mut message.fields,
            Item::FunctionCall(call) => &mut call.fields,
        }
    }
}

impl MessageItem for Item {
    item_methods!();

    fn type_word(&self) -> &str {
        match self {
            Item::Message(message) => &message.type_word,
            Item::FunctionCall(call) => &call.type_word,
        }
    }
}

impl PromptItem {
    /// The tool that this code cell defines.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Reads what [`MessageItem::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<PromptItem, ItemError> {
        let prompt: PromptItem = from_value(dict, "a message")?;
        prompt.check()?;
        Ok(prompt)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        self.fields.check()?;
        check::message_type(&self.type_word)?;
        check::mime_type(&self.mime_type)?;
        check::content(&self.content, &self.mime_type)?;
        let is_raw_text = self.type_word == "raw" && self.content.as_text().is_some();
        if is_raw_text && self.mime_type != check::TEXT {
            // The file could not tell it from base64.
            let text = format!("raw text cannot have the media type {}", self.mime_type);
            return Err(
                ItemError::invalid(text).hinting("use with_binary_content, or leave out the type")
            );
        }
        self.agent_name
            .as_deref()
            .map_or(Ok(()), check::agent_name)?;
        self.tool.as_deref().map_or(Ok(()), check::function_name)?;
        self.function_calls.iter().try_for_each(CallItem::check)
    }

    fn fields(&self) -> &ItemFields {
        &self.fields
    }

    fn fields_mut(&mut self) -> &mut ItemFields {
        &mut self.fields
    }
}

impl MessageItem for PromptItem {
    item_methods!();

    fn type_word(&self) -> &str {
        &self.type_word
    }
}

impl Message for PromptItem {
    fn content(&self) -> &CellContent {
        &self.content
    }

    fn mime_type(&self) -> &str {
        &self.mime_type
    }

    fn agent_name(&self) -> Option<&str> {
        self.agent_name.as_deref()
    }

    fn function_calls(&self) -> &[CallItem] {
        &self.function_calls
    }

    fn add_function_call(&mut self, call: CallItem) {
        self.function_calls.push(call);
    }
}

impl CallItem {
    /// Reads what [`MessageItem::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<CallItem, ItemError> {
        let call: CallItem = from_value(dict, "a function call")?;
        call.check()?;
        Ok(call)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        self.fields.check()?;
        if self.type_word != "tool" {
            let text = format!(
                "the type of a function call is tool, not {}",
                self.type_word
            );
            return Err(ItemError::invalid(text));
        }
        check::function_name(&self.function_name)?;
        if self.to_cell().is_none() {
            let text = "the arguments hold a character that a call cannot carry";
            let error = ItemError::invalid(text);
            return Err(error.hinting("write U+FFFE and U+FFFF as \\u escapes in JSON"));
        }
        Ok(())
    }

    /// The text of its cell; `None` where XML cannot carry it.
    pub(super) fn to_cell(&self) -> Option<String> {
        let (name, arguments) = (self.function_name.clone(), self.args.clone());
        invoke::encode(&Invoke { name, arguments })
    }

    fn fields(&self) -> &ItemFields {
        &self.fields
    }

    fn fields_mut(&mut self) -> &mut ItemFields {
        &mut self.fields
    }
}

impl MessageItem for CallItem {
    item_methods!();

    fn type_word(&self) -> &str {
        &self.type_word
    }
}

impl FunctionCall for CallItem {
    fn function_name(&self) -> &str {
        &self.function_name
    }

    fn args(&self) -> &Arguments {
        &self.args
    }
}

/// Arguments in the JSON of a call.
mod arguments_json {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Arguments, Raw, Value, to_raw};

    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct ArgumentsJson {
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<Value>,
        /// The exact JSON where `args` would not give it back, such as for very long numbers.
        #[serde(skip_serializing_if = "Option::is_none")]
        args_json: Option<String>,
        /// Arguments that are no JSON at all.
        #[serde(skip_serializing_if = "Option::is_none")]
        args_text: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(
        args: &Arguments,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut form = ArgumentsJson::default();
        match args {
            Arguments::Text(text) => form.args_text = Some(text.clone()),
            Arguments::Json(raw) => {
                form.args = raw.to();
                let again = form.args.as_ref().map(Value::to_string);
                if again.as_deref() != Some(raw.as_str()) {
                    form.args_json = Some(raw.as_str().to_string());
                }
            }
        }
        form.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arguments, D::Error> {
        let form = ArgumentsJson::deserialize(deserializer)?;
        if let Some(text) = form.args_text {
            return Ok(Arguments::Text(text));
        }
        let json = match (form.args_json, form.args) {
            (Some(json), _) => Raw::parse(&json).map_err(D::Error::custom)?,
            (None, Some(value)) => to_raw(&value),
            (None, None) => Raw::empty_object(),
        };
        Ok(Arguments::Json(json))
    }
}

/// A value as JSON text.
pub(super) fn to_raw(value: &Value) -> Raw {
    Raw::parse(&value.to_string()).unwrap_or_else(|_| Raw::empty_object())
}
