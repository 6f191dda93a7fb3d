//! Messages and function calls as data.

use std::time::Duration;

use analects_core::{History, Raw};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outputs::{from_value, text_plain};
use super::{Content, FunctionCall, ItemError, Message, MessageItem, Output, check, seconds};
use crate::msgfile::invoke::{self, Arguments, Invoke};

/// A message or a function call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Item {
    /// What a person wrote.
    Message(Prompt),
    /// A call of a tool or of an agent.
    FunctionCall(Call),
}

/// What a person wrote, with everything that came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default = "markdown", rename = "type")]
    pub(super) type_word: String,
    pub(super) content: Content,
    #[serde(default = "text_plain")]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) agent_name: Option<String>,
    #[serde(default, with = "seconds::json")]
    pub(super) timeout: Option<Duration>,
    #[serde(default)]
    pub(super) history: History,
    #[serde(default)]
    pub(super) heading_level: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) outputs: Vec<Output>,
    #[serde(default)]
    pub(super) function_calls: Vec<Call>,
}

/// A call of a tool or of an agent, with its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CallForm", into = "CallForm")]
pub struct Call {
    pub(super) name: String,
    pub(super) function_name: String,
    pub(super) args: Arguments,
    pub(super) timeout: Option<Duration>,
    pub(super) history: History,
    pub(super) heading_level: Option<usize>,
    pub(super) outputs: Vec<Output>,
}

fn markdown() -> String {
    "markdown".to_string()
}

impl Default for Prompt {
    fn default() -> Prompt {
        Prompt {
            name: String::new(),
            type_word: markdown(),
            content: Content::default(),
            mime_type: text_plain(),
            agent_name: None,
            timeout: None,
            history: History::Include,
            heading_level: None,
            tool: None,
            outputs: Vec::new(),
            function_calls: Vec::new(),
        }
    }
}

impl Item {
    /// The message, if it is one.
    pub fn as_message(&self) -> Option<&Prompt> {
        match self {
            Item::Message(message) => Some(message),
            Item::FunctionCall(_) => None,
        }
    }

    /// The function call, if it is one.
    pub fn as_function_call(&self) -> Option<&Call> {
        match self {
            Item::FunctionCall(call) => Some(call),
            Item::Message(_) => None,
        }
    }

    /// Reads what [`MessageItem::to_dict`] writes. What has a `function_name` is a function call.
    pub fn from_dict(dict: Value) -> Result<Item, ItemError> {
        if dict.get("function_name").is_some() {
            return Call::from_dict(dict).map(Item::FunctionCall);
        }
        Prompt::from_dict(dict).map(Item::Message)
    }

    fn inner(&self) -> &dyn MessageItem {
        match self {
            Item::Message(message) => message,
            Item::FunctionCall(call) => call,
        }
    }
}

impl MessageItem for Item {
    fn name(&self) -> &str {
        self.inner().name()
    }

    fn timeout(&self) -> Option<Duration> {
        self.inner().timeout()
    }

    fn outputs(&self) -> &[Output] {
        self.inner().outputs()
    }

    fn type_word(&self) -> &str {
        self.inner().type_word()
    }

    fn history(&self) -> History {
        self.inner().history()
    }

    fn heading_level(&self) -> Option<usize> {
        self.inner().heading_level()
    }

    fn add_output(&mut self, output: Output) {
        match self {
            Item::Message(message) => message.add_output(output),
            Item::FunctionCall(call) => call.add_output(output),
        }
    }

    fn to_dict(&self) -> Value {
        self.inner().to_dict()
    }
}

impl Prompt {
    /// The tool that this code cell defines.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Reads what [`MessageItem::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<Prompt, ItemError> {
        let prompt: Prompt = from_value(dict, "a message")?;
        prompt.check()?;
        Ok(prompt)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
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
        self.agent_name.as_deref().map_or(Ok(()), check::agent_name)?;
        self.heading_level.map_or(Ok(()), check::heading_level)?;
        self.tool.as_deref().map_or(Ok(()), check::function_name)?;
        self.outputs.iter().try_for_each(Output::check)?;
        self.function_calls.iter().try_for_each(Call::check)
    }
}

impl MessageItem for Prompt {
    fn name(&self) -> &str {
        &self.name
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    fn type_word(&self) -> &str {
        &self.type_word
    }

    fn history(&self) -> History {
        self.history
    }

    fn heading_level(&self) -> Option<usize> {
        self.heading_level
    }

    fn add_output(&mut self, output: Output) {
        self.outputs.push(output);
    }

    fn to_dict(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Message for Prompt {
    fn content(&self) -> &Content {
        &self.content
    }

    fn mime_type(&self) -> &str {
        &self.mime_type
    }

    fn agent_name(&self) -> Option<&str> {
        self.agent_name.as_deref()
    }

    fn function_calls(&self) -> &[Call] {
        &self.function_calls
    }

    fn add_function_call(&mut self, call: Call) {
        self.function_calls.push(call);
    }
}

impl Call {
    /// Reads what [`MessageItem::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<Call, ItemError> {
        let call: Call = from_value(dict, "a function call")?;
        call.check()?;
        Ok(call)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
        check::function_name(&self.function_name)?;
        self.heading_level.map_or(Ok(()), check::heading_level)?;
        if self.to_cell().is_none() {
            return Err(ItemError::invalid(
                "the arguments hold a character that a call cannot carry",
            )
            .hinting("write U+FFFE and U+FFFF as \\u escapes in JSON"));
        }
        self.outputs.iter().try_for_each(Output::check)
    }

    /// The text of its cell; `None` where XML cannot carry it.
    pub(super) fn to_cell(&self) -> Option<String> {
        let (name, arguments) = (self.function_name.clone(), self.args.clone());
        invoke::encode(&Invoke { name, arguments })
    }
}

impl MessageItem for Call {
    fn name(&self) -> &str {
        &self.name
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    fn type_word(&self) -> &str {
        "tool"
    }

    fn history(&self) -> History {
        self.history
    }

    fn heading_level(&self) -> Option<usize> {
        self.heading_level
    }

    fn add_output(&mut self, output: Output) {
        self.outputs.push(output);
    }

    fn to_dict(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl FunctionCall for Call {
    fn function_name(&self) -> &str {
        &self.function_name
    }

    fn args(&self) -> &Arguments {
        &self.args
    }
}

/// A function call as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallForm {
    #[serde(default)]
    name: String,
    #[serde(default = "tool", rename = "type")]
    type_word: String,
    function_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
    /// The exact JSON where `args` would not give it back, such as for very long numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args_json: Option<String>,
    /// Arguments that are no JSON at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args_text: Option<String>,
    #[serde(default, with = "seconds::json")]
    timeout: Option<Duration>,
    #[serde(default)]
    history: History,
    #[serde(default)]
    heading_level: Option<usize>,
    #[serde(default)]
    outputs: Vec<Output>,
}

fn tool() -> String {
    "tool".to_string()
}

impl From<Call> for CallForm {
    fn from(call: Call) -> CallForm {
        let (args, args_json, args_text) = match &call.args {
            Arguments::Json(raw) => {
                let value: Option<Value> = raw.to();
                let again = value.as_ref().map(Value::to_string);
                let exact = again.as_deref() == Some(raw.as_str());
                (value, (!exact).then(|| raw.as_str().to_string()), None)
            }
            Arguments::Text(text) => (None, None, Some(text.clone())),
        };
        CallForm {
            name: call.name,
            type_word: tool(),
            function_name: call.function_name,
            args,
            args_json,
            args_text,
            timeout: call.timeout,
            history: call.history,
            heading_level: call.heading_level,
            outputs: call.outputs,
        }
    }
}

impl TryFrom<CallForm> for Call {
    type Error = String;

    fn try_from(form: CallForm) -> Result<Call, String> {
        if form.type_word != "tool" {
            return Err(format!("the type of a function call is tool, not {}", form.type_word));
        }
        let args = match (form.args_text, form.args_json, form.args) {
            (Some(text), _, _) => Arguments::Text(text),
            (None, Some(json), _) => {
                Arguments::Json(Raw::parse(&json).map_err(|error| error.to_string())?)
            }
            (None, None, Some(value)) => Arguments::Json(to_raw(&value)),
            (None, None, None) => Arguments::Json(Raw::empty_object()),
        };
        Ok(Call {
            name: form.name,
            function_name: form.function_name,
            args,
            timeout: form.timeout,
            history: form.history,
            heading_level: form.heading_level,
            outputs: form.outputs,
        })
    }
}

/// A value as JSON text.
pub(super) fn to_raw(value: &Value) -> Raw {
    Raw::parse(&value.to_string()).unwrap_or_else(|_| Raw::empty_object())
}
