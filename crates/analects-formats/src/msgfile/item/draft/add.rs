//! Messages, function calls and tools that are added to a draft.

use analects_core::{History, Ids};
use serde_json::Value;

use super::agents::replying_agent;
use super::operation::{the_cell, unknown_cell};
use super::{Draft, DraftOperation};
use crate::msgfile::MetaKey;
use crate::msgfile::code::code;
use crate::msgfile::item::check::{self, TEXT, shown};
use crate::msgfile::item::write::{call_cell, message_cell};
use crate::msgfile::item::{
    CallItem, CellContent, FunctionCallBuilder, Item, ItemError, ItemErrorKind, MessageBuilder,
    MessageItem, PromptItem, tools,
};
use crate::msgfile::owners::owned_cells;

impl Draft {
    /// Adds a message at the end of the file, with its outputs and function calls; gives it as it
    /// then reads. There must be an agent to answer it: the one that it names, or a default.
    ///
    /// ```
    /// use analects_core::CountingIds;
    /// use analects_formats::msgfile::{decode, item::{Draft, ItemErrorKind, MessageBuilder, MessageItem}};
    ///
    /// let mut draft = Draft::new(decode("---\nagents:\n  coder:\n    models: [gpt-5]\n---\n"));
    /// let ids = &mut CountingIds::default();
    /// let message = MessageBuilder::new().with_content("Hello").with_name("q").build()?;
    /// assert_eq!(draft.add_message(&message, ids)?.name(), "q");
    /// let error = draft.add_message(&message, ids).unwrap_err();
    /// assert_eq!(error.kind(), ItemErrorKind::Duplicate);
    ///
    /// let error = Draft::new(decode("")).add_message(&message, ids).unwrap_err();
    /// assert_eq!(error.kind(), ItemErrorKind::NoAgent);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn add_message(
        &mut self,
        message: &PromptItem,
        ids: &mut dyn Ids,
    ) -> Result<PromptItem, ItemError> {
        message.check()?;
        if message.tool.is_some() {
            let error = ItemError::invalid("this message defines a tool, and asks nobody");
            return Err(error.hinting("add it with add_tool_with_definition"));
        }
        let calls = message.function_calls.iter();
        let nonces = calls.map(|call| nonce_for(call, ids)).collect();
        self.push_message(message.clone(), nonces)
    }

    /// Adds a message of which only the most important is said: its content, its name (else the
    /// next number), media type (else `text/plain`), agent (else the default) and timeout in seconds.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{Draft, Message, MessageItem}};
    ///
    /// let mut draft = Draft::new(decode("---\nagents:\n  coder:\n    models: [gpt-5]\n---\n"));
    /// let message = draft.add_message_text("Hello".into(), None, None, Some("coder"), Some(30.0))?;
    /// assert_eq!((message.name(), message.agent_name()), ("1", Some("coder")));
    ///
    /// let picture = vec![0x89, b'P', b'N', b'G'].into();
    /// let message = draft.add_message_text(picture, Some("cat"), Some("image/png"), None, None)?;
    /// assert_eq!(message.content().as_bytes(), b"\x89PNG");
    /// let cell = draft.document().cell("cat").unwrap();
    /// assert_eq!((cell.type_word(), &*cell.content()), ("raw", "iVBORw=="));
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    #[doc(alias = "add_message")]
    pub fn add_message_text(
        &mut self,
        content: CellContent,
        name: Option<&str>,
        mime_type: Option<&str>,
        agent_name: Option<&str>,
        timeout: Option<f64>,
    ) -> Result<PromptItem, ItemError> {
        let builder = MessageBuilder::new().with_name(name.unwrap_or_default());
        let builder = builder.with_mime_type(mime_type.unwrap_or(TEXT));
        let builder = builder.with_agent_name(agent_name.unwrap_or_default());
        let builder = match content {
            CellContent::Text(text) => builder.with_content(text),
            CellContent::Binary(bytes) => builder.with_binary_content(bytes),
        };
        let message = match timeout {
            Some(seconds) => builder.with_timeout(seconds).build()?,
            None => builder.build()?,
        };
        self.push_message(message, Vec::new())
    }

    /// Adds a message; gives it as it then reads.
    fn push_message(
        &mut self,
        message: PromptItem,
        nonces: Vec<String>,
    ) -> Result<PromptItem, ItemError> {
        let cells = self.push(DraftOperation::AddMessage { message, nonces })?;
        let name = cells.first().map_or("", String::as_str);
        match self.item(name) {
            Some(Item::Message(message)) => Ok(message),
            _ => Err(unknown_cell(name)),
        }
    }

    /// Adds a message with its outputs and calls.
    pub(super) fn make_message(
        &mut self,
        message: &mut PromptItem,
        nonces: &[String],
    ) -> Result<Vec<String>, ItemError> {
        replying_agent(self.document(), message.agent_name.as_deref())?;
        let name = self.make_prompt(message)?;
        let mut cells = vec![name.clone()];
        for output in &mut message.fields.outputs {
            cells.push(self.make_output(&name, output, false)?);
        }
        for (call, nonce) in message.function_calls.iter_mut().zip(nonces) {
            cells.extend(self.make_call(&name, call, nonce)?);
        }
        Ok(cells)
    }

    fn make_prompt(&mut self, message: &PromptItem) -> Result<String, ItemError> {
        let name = match message.name() {
            "" => self.document().next_id(),
            name => name.to_string(),
        };
        self.append(&message_cell(message, &name))
    }

    /// Adds a call of a tool, or of an agent, to a message or to one of its replies; gives it as it
    /// then reads. Without a name it is called after the message, with a nonce. `timeout` is in
    /// seconds. The cell goes behind everything that belongs to the message.
    ///
    /// ```
    /// use analects_core::CountingIds;
    /// use analects_formats::msgfile::{decode, item::{Draft, FunctionCall, MessageItem}};
    /// use serde_json::json;
    ///
    /// let front = "---\nagents:\n  coder:\n    models: [gpt-5]\n---\n";
    /// let mut draft = Draft::new(decode(format!("{front}# %% [^1]\n\nOne?\n\n# %% [^2]\n\nTwo?\n")));
    /// let args = json!({"city": "Paris"});
    /// let ids = &mut CountingIds::default();
    /// let call = draft.add_function_call("1", "weather", Some(args), None, Some(10.0), ids)?;
    /// assert_eq!((call.name(), call.function_name()), ("1.n0000001", "weather"));
    /// let names: Vec<String> = draft.items().iter().map(|item| item.name().to_string()).collect();
    /// assert_eq!(names, ["1", "1.n0000001", "2"]);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn add_function_call(
        &mut self,
        message_name: &str,
        function_name: &str,
        args: Option<Value>,
        name: Option<&str>,
        timeout: Option<f64>,
        ids: &mut dyn Ids,
    ) -> Result<CallItem, ItemError> {
        let builder = FunctionCallBuilder::new().with_name(name.unwrap_or_default());
        let mut builder = builder.with_function_name(function_name);
        if let Some(args) = args {
            builder = builder.with_args(args);
        }
        if let Some(seconds) = timeout {
            builder = builder.with_timeout(seconds);
        }
        self.add_call(message_name, &builder.build()?, ids)
    }

    /// Adds a call that was built already, with its outputs; see [`Draft::add_function_call`].
    pub fn add_call(
        &mut self,
        message_name: &str,
        call: &CallItem,
        ids: &mut dyn Ids,
    ) -> Result<CallItem, ItemError> {
        call.check()?;
        let mut call = call.clone();
        let mut nonce = nonce_for(&call, ids);
        // A name that is made of the message's follows it if the message gets another one.
        if let Some((of, own)) = call.name().rsplit_once('.')
            && of == message_name
        {
            nonce = own.to_string();
            call.fields.name.clear();
        }
        let message = message_name.to_string();
        let cells = self.push(DraftOperation::AddCall {
            message,
            call,
            nonce,
        })?;
        let name = cells.first().map_or("", String::as_str);
        match self.item(name) {
            Some(Item::FunctionCall(call)) => Ok(call),
            _ => Err(unknown_cell(name)),
        }
    }

    /// Adds a call with its results below a message or a reply.
    pub(super) fn make_call(
        &mut self,
        message: &str,
        call: &mut CallItem,
        nonce: &str,
    ) -> Result<Vec<String>, ItemError> {
        self.check_takes_calls(message)?;
        let name = match call.name().rsplit_once('.') {
            _ if call.name().is_empty() => format!("{message}.{nonce}"),
            Some((of, _)) if of != message => return Err(name_of_another(call.name(), message)),
            _ => call.name().to_string(),
        };
        let name = self.append_below(message, &call_cell(call, &name))?;
        let mut cells = vec![name.clone()];
        for output in &mut call.fields.outputs {
            cells.push(self.make_output(&name, output, false)?);
        }
        Ok(cells)
    }

    /// Checks that a cell can have calls: it is a message or a reply, and somebody is there to answer.
    fn check_takes_calls(&self, name: &str) -> Result<(), ItemError> {
        let document = self.document();
        let cell = the_cell(document, name)?;
        if !cell.is_for_an_answer() && !cell.role().is_reply() {
            let text = format!("cell {} is neither a message nor a reply", shown(name));
            return Err(ItemError::new(ItemErrorKind::UnknownCell, text));
        }
        let placed = owned_cells(document);
        let message = placed[cell.at].root.map(|at| placed[at].cell);
        replying_agent(
            document,
            message.and_then(|message| message.get(MetaKey::Agent)),
        )?;
        Ok(())
    }

    /// Defines a tool: the messages of the definition become cells at the end of the file that say
    /// `tool="name"`. At least one of them is a code cell with code in it. A model does not see them
    /// as something that was said.
    ///
    /// ````
    /// use analects_formats::msgfile::{decode, item::{Draft, ItemErrorKind, MessageBuilder, tools}};
    ///
    /// let code = MessageBuilder::new().with_type_word("code");
    /// let code = code.with_content("```python\ndef double(x): return 2 * x\n```").build()?;
    /// let mut draft = Draft::new(decode(""));
    /// assert_eq!(draft.add_tool_with_definition("double", &[code.clone()])?, ["1"]);
    /// assert_eq!(tools(draft.document())[0].name, "double");
    /// let error = draft.add_tool_with_definition("double", &[code]).unwrap_err();
    /// assert_eq!(error.kind(), ItemErrorKind::Duplicate);
    /// assert!(draft.add_tool_with_definition("nothing", &[]).is_err());
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ````
    pub fn add_tool_with_definition(
        &mut self,
        tool_name: &str,
        definition: &[PromptItem],
    ) -> Result<Vec<String>, ItemError> {
        check::function_name(tool_name)?;
        check_definition(tool_name, definition)?;
        let mut definition = definition.to_vec();
        for message in &mut definition {
            message.tool = Some(tool_name.to_string());
            if message.fields.history == History::Include {
                message.fields.history = History::Exclude;
            }
        }
        self.push(DraftOperation::DefineTool {
            name: tool_name.to_string(),
            definition,
        })
    }

    /// Adds the cells of a tool, unless the file defines one with this name.
    pub(super) fn make_tool(
        &mut self,
        name: &str,
        definition: &[PromptItem],
    ) -> Result<Vec<String>, ItemError> {
        if tools(self.document()).iter().any(|tool| tool.name == name) {
            let text = format!("the file already defines a tool {}", shown(name));
            return Err(ItemError::new(ItemErrorKind::Duplicate, text));
        }
        definition
            .iter()
            .map(|message| self.make_prompt(message))
            .collect()
    }
}

/// The nonce for a call that has no name.
fn nonce_for(call: &CallItem, ids: &mut dyn Ids) -> String {
    if call.name().is_empty() {
        ids.nonce()
    } else {
        String::new()
    }
}

/// The error for a call whose name extends that of another cell.
fn name_of_another(name: &str, message: &str) -> ItemError {
    let text = format!(
        "{} is not a name for a call of {}",
        shown(name),
        shown(message)
    );
    ItemError::invalid(text).hinting(format!("leave out the dot, or write {message}.NAME"))
}

/// Fails unless the messages can define a tool: at least one has code, and none has outputs or calls.
fn check_definition(tool_name: &str, definition: &[PromptItem]) -> Result<(), ItemError> {
    definition.iter().try_for_each(PromptItem::check)?;
    let has_answers =
        |message: &PromptItem| !message.outputs().is_empty() || !message.function_calls.is_empty();
    if definition.iter().any(has_answers) {
        return Err(ItemError::invalid(
            "the definition of a tool has no outputs and no calls",
        ));
    }
    let mut has_code = false;
    for message in definition
        .iter()
        .filter(|message| message.type_word == "code")
    {
        has_code = true;
        if let Err(error) = code(message.content.as_text().unwrap_or_default()) {
            let text = format!(
                "the code of the tool {} cannot run: {error}",
                shown(tool_name)
            );
            return Err(ItemError::invalid(text));
        }
    }
    if !has_code {
        let text = format!(
            "the definition of the tool {} has no code",
            shown(tool_name)
        );
        let error = ItemError::new(ItemErrorKind::Missing, text);
        return Err(error.hinting("give it a message of the type code"));
    }
    Ok(())
}
