//! Messages, function calls and tools that are added to a draft.

use analects_core::{History, Ids};
use serde_json::Value;

use super::agents::answerer;
use super::naming::call_naming;
use super::outputs::with;
use super::{AddedCell, Change, Draft, Naming, Place, naming, only, unknown_cell};
use crate::msgfile::code::code;
use crate::msgfile::item::check::{self, TEXT, shown};
use crate::msgfile::item::homes::placed;
use crate::msgfile::item::{
    Call, Content, FunctionCallBuilder, Item, ItemError, ItemErrorKind, MessageBuilder,
    MessageItem, Prompt, seconds, tools,
};
use crate::msgfile::{CellKind, MetaKey, NewCell};

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
        message: &Prompt,
        ids: &mut dyn Ids,
    ) -> Result<Prompt, ItemError> {
        message.check()?;
        let name = self.together(|draft| {
            let name = draft.push_message(message)?;
            for output in &message.outputs {
                draft.add_output(&name, output)?;
            }
            for call in &message.function_calls {
                draft.push_call(&name, call, ids)?;
            }
            Ok(name)
        })?;
        self.message(&name)
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
        content: Content,
        name: Option<&str>,
        mime_type: Option<&str>,
        agent_name: Option<&str>,
        timeout: Option<f64>,
    ) -> Result<Prompt, ItemError> {
        let builder = MessageBuilder::new().with_name(name.unwrap_or_default());
        let builder = builder.with_mime_type(mime_type.unwrap_or(TEXT));
        let builder = builder.with_agent_name(agent_name.unwrap_or_default());
        let builder = match content {
            Content::Text(text) => builder.with_content(text),
            Content::Binary(bytes) => builder.with_binary_content(bytes),
        };
        let message = match timeout {
            Some(seconds) => builder.with_timeout(seconds).build()?,
            None => builder.build()?,
        };
        let name = self.push_message(&message)?;
        self.message(&name)
    }

    fn push_message(&mut self, message: &Prompt) -> Result<String, ItemError> {
        if message.tool.is_some() {
            let error = ItemError::invalid("this message defines a tool, and asks nobody");
            return Err(error.hinting("add it with add_tool_with_definition"));
        }
        answerer(self.document(), message.agent_name.as_deref())?;
        self.push_prompt(message)
    }

    fn push_prompt(&mut self, message: &Prompt) -> Result<String, ItemError> {
        let naming = if message.name.is_empty() { Naming::Number } else { Naming::Given };
        let id = naming::name(self.document(), &naming, &message.name)?;
        let cell = message_cell(message, &id);
        self.push(Change::AddCell(AddedCell { cell, naming, place: Place::End }))?;
        Ok(id)
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
    ) -> Result<Call, ItemError> {
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
        call: &Call,
        ids: &mut dyn Ids,
    ) -> Result<Call, ItemError> {
        call.check()?;
        let name = self.together(|draft| draft.push_call(message_name, call, ids))?;
        match self.item(name.as_str()) {
            Some(Item::FunctionCall(call)) => Ok(call),
            _ => Err(unknown_cell(&name)),
        }
    }

    fn push_call(
        &mut self,
        message: &str,
        call: &Call,
        ids: &mut dyn Ids,
    ) -> Result<String, ItemError> {
        let document = self.document();
        let agent = self.asked_agent(message)?;
        answerer(document, agent.as_deref())?;
        let naming = if call.name.is_empty() {
            Naming::Call { of: message.to_string(), nonce: ids.nonce() }
        } else {
            call_naming(&call.name, message)?
        };
        let id = naming::name(document, &naming, &call.name)?;
        let text = call.to_cell().unwrap_or_default();
        let cell = NewCell::new(CellKind::Output, &id, "tool", text);
        let cell = cell.with("name", call.function_name.as_str());
        let cell = with(cell, "timeout", call.timeout.map(seconds::format));
        let mut cell = with_history(cell, call.history);
        cell.level = call.heading_level;
        let place = Place::Message(message.to_string());
        self.push(Change::AddCell(AddedCell { cell, naming, place }))?;
        for output in &call.outputs {
            self.add_output(&id, output)?;
        }
        Ok(id)
    }

    /// Who is asked by the message of that name, or by the message that this reply answers.
    fn asked_agent(&self, name: &str) -> Result<Option<String>, ItemError> {
        let placed = placed(self.document());
        let found = &placed[only(&placed, name)?];
        if !found.is_question() && !found.role().is_reply() {
            let text = format!("cell {} is neither a message nor a reply", shown(name));
            return Err(ItemError::new(ItemErrorKind::UnknownCell, text));
        }
        let root = found.root.map(|at| &placed[at]);
        Ok(root.and_then(|root| root.get(MetaKey::Agent)).map(str::to_string))
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
        definition: &[Prompt],
    ) -> Result<Vec<String>, ItemError> {
        check::function_name(tool_name)?;
        if tools(self.document()).iter().any(|tool| tool.name == tool_name) {
            let text = format!("the file already defines a tool {}", shown(tool_name));
            return Err(ItemError::new(ItemErrorKind::Duplicate, text));
        }
        check_definition(tool_name, definition)?;
        self.together(|draft| {
            let push = |message: &Prompt| {
                let tool = Some(tool_name.to_string());
                let history = match message.history {
                    History::Include => History::Exclude,
                    other => other,
                };
                draft.push_prompt(&Prompt { tool, history, ..message.clone() })
            };
            definition.iter().map(push).collect()
        })
    }

    fn message(&self, name: &str) -> Result<Prompt, ItemError> {
        match self.item(name) {
            Some(Item::Message(message)) => Ok(message),
            _ => Err(unknown_cell(name)),
        }
    }
}

fn check_definition(tool_name: &str, definition: &[Prompt]) -> Result<(), ItemError> {
    definition.iter().try_for_each(Prompt::check)?;
    let has_answers =
        |message: &Prompt| !message.outputs().is_empty() || !message.function_calls.is_empty();
    if definition.iter().any(has_answers) {
        return Err(ItemError::invalid("the definition of a tool has no outputs and no calls"));
    }
    let mut has_code = false;
    for message in definition.iter().filter(|message| message.type_word == "code") {
        has_code = true;
        if let Err(error) = code(message.content.as_text().unwrap_or_default()) {
            let text = format!("the code of the tool {} cannot run: {error}", shown(tool_name));
            return Err(ItemError::invalid(text));
        }
    }
    if !has_code {
        let text = format!("the definition of the tool {} has no code", shown(tool_name));
        let error = ItemError::new(ItemErrorKind::Missing, text);
        return Err(error.hinting("give it a message of the type code"));
    }
    Ok(())
}

fn with_history(cell: NewCell, history: History) -> NewCell {
    let said = Some(history).filter(|history| *history != History::Include);
    with(cell, "history", said.map(|history| history.as_str().to_string()))
}

/// A message as a cell.
fn message_cell(message: &Prompt, id: &str) -> NewCell {
    let cell = NewCell::new(CellKind::Message, id, &message.type_word, message.content.to_cell());
    let cell = with(cell, "agent", message.agent_name.clone());
    let cell = with(cell, "timeout", message.timeout.map(seconds::format));
    let cell = with(cell, "tool", message.tool.clone());
    let cell = with_history(cell, message.history);
    let mime_type = Some(message.mime_type.clone()).filter(|mime_type| mime_type != TEXT);
    let mut cell = with(cell, "mime_type", mime_type);
    cell.level = message.heading_level;
    cell
}
