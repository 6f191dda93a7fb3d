//! Outputs of a draft: replies, results, what code printed, and places that are kept for them.

use std::time::Duration;

use super::agents::{answerer, check_known};
use super::apply::placeholder;
use super::{AddedCell, Change, Draft, Naming, Place, naming, only, unknown_cell};
use crate::msgfile::item::check::{self, TEXT, shown};
use crate::msgfile::item::homes::{Placed, find, placed};
use crate::msgfile::item::{
    Answer, CodeOutput, Content, ItemError, Output, seconds, why_not_a_path,
};
use crate::msgfile::{CellKind, CellRole, MetaKey, NewCell, base64, output};

/// What an output is added to.
enum Target {
    Message { agent: Option<String>, is_code: bool, is_tool: bool },
    Call { nonce: Option<String> },
}

impl Draft {
    /// Adds an output to a message or to a function call; gives the name of its cell. The reply to a
    /// message goes behind what the message already has, the result of a call behind the call.
    ///
    /// ```
    /// use analects_core::{Agent, CountingIds};
    /// use analects_formats::msgfile::{decode, item::{Draft, MessageItem, MessageOutputBuilder}};
    ///
    /// let mut draft = Draft::new(decode("# %% [^1]\n\nHello\n\n# %% [^2]\n\nBye\n"));
    /// draft.add_agent_with_definition("coder", &Agent::of_model("coder", "gpt-5-mini"))?;
    /// let output = MessageOutputBuilder::new().with_content("Hi.").build()?;
    /// assert_eq!(draft.add_output("1", &output.into())?, "4");
    /// assert_eq!(draft.item("1").unwrap().outputs()[0].name(), "4");
    ///
    /// let call = draft.add_function_call("2", "now", None, None, None, &mut CountingIds::default())?;
    /// let result = MessageOutputBuilder::new().with_content("noon").with_status("success").build()?;
    /// assert_eq!(draft.add_output(call.name(), &result.into())?, format!("{}.1", call.name()));
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn add_output(&mut self, name: &str, output: &Output) -> Result<String, ItemError> {
        let mut names = self.add_outputs(name, std::slice::from_ref(output))?;
        names.pop().ok_or_else(|| ItemError::missing("the output", "add_outputs"))
    }

    /// Adds several outputs at once. Outputs of code become cells of the same run.
    ///
    /// ````
    /// use analects_formats::msgfile::{decode, item::{CodeExecutionOutputBuilder, Draft}};
    ///
    /// let mut draft = Draft::new(decode("# %% [^1]\n\n[^1]: [code]\n\n```python\nplot()\n```\n"));
    /// let printed = CodeExecutionOutputBuilder::new().with_lang("python").with_stdout("done\n");
    /// let picture = CodeExecutionOutputBuilder::new().with_lang("python").with_mime_type("image/png");
    /// let picture = picture.with_binary_content([0x89, b'P', b'N', b'G']);
    /// let run = [printed.build()?.into(), picture.build()?.into()];
    /// assert_eq!(draft.add_outputs("1", &run)?, ["1.1", "1.1-2"]);
    /// assert_eq!(draft.add_outputs("1", &run)?, ["1.2", "1.2-2"]);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ````
    pub fn add_outputs(
        &mut self,
        name: &str,
        outputs: &[Output],
    ) -> Result<Vec<String>, ItemError> {
        self.together(|draft| {
            let mut names: Vec<String> = Vec::new();
            let mut run: Option<String> = None;
            for output in outputs {
                let added = draft.output_cell(name, output, run.as_deref())?;
                let own = added.cell.id.clone();
                if matches!(output, Output::Code(_)) {
                    run.get_or_insert_with(|| own.clone());
                }
                draft.push(Change::AddCell(added))?;
                names.push(own);
            }
            Ok(names)
        })
    }

    /// The cell of an output; `run` is the first cell of the run that it belongs to.
    fn output_cell(
        &self,
        name: &str,
        output: &Output,
        run: Option<&str>,
    ) -> Result<AddedCell, ItemError> {
        output.check()?;
        match (self.target(name)?, output) {
            (Target::Message { is_code: true, .. }, Output::Code(code)) => {
                self.run_cell(name, code, run)
            }
            (_, Output::Code(_)) => {
                let error = ItemError::invalid(format!("cell {} is not a code cell", shown(name)));
                Err(error.hinting("only code cells have outputs of code"))
            }
            (Target::Message { is_tool: true, .. }, Output::Answer(_)) => {
                let text = format!("cell {} defines a tool, and nobody replies to it", shown(name));
                Err(ItemError::invalid(text))
            }
            (Target::Message { agent, .. }, Output::Answer(answer)) => {
                self.reply_cell(name, answer, agent.as_deref())
            }
            (Target::Call { nonce }, Output::Answer(answer)) => {
                self.result_cell(name, answer, nonce.as_deref())
            }
        }
    }

    fn run_cell(
        &self,
        name: &str,
        code: &CodeOutput,
        run: Option<&str>,
    ) -> Result<AddedCell, ItemError> {
        let naming = match run {
            Some(run) => Naming::Further { of: run.to_string() },
            None => Naming::Next { of: name.to_string() },
        };
        let id = naming::name(self.document(), &naming, "")?;
        let place = Place::Message(name.to_string());
        Ok(AddedCell { cell: code_cell(code, &id), naming, place })
    }

    fn reply_cell(
        &self,
        name: &str,
        answer: &Answer,
        asked: Option<&str>,
    ) -> Result<AddedCell, ItemError> {
        let author = answerer(self.document(), answer.agent_name.as_deref().or(asked))?;
        let cell = answer_cell(answer, &self.document().next_id(), &author);
        let place = Place::Message(name.to_string());
        Ok(AddedCell { cell, naming: Naming::Number, place })
    }

    fn result_cell(
        &self,
        name: &str,
        answer: &Answer,
        nonce: Option<&str>,
    ) -> Result<AddedCell, ItemError> {
        check_nonce(answer.nonce.as_deref(), nonce, name)?;
        let naming = Naming::Next { of: name.to_string() };
        let id = naming::name(self.document(), &naming, "")?;
        let mut cell = answer_cell(answer, &id, "tool");
        // The id says it already.
        cell.attributes.retain(|(key, _)| key != "nonce" || nonce.is_none());
        Ok(AddedCell { cell, naming, place: Place::Call(name.to_string()) })
    }

    /// Keeps a place for an output that comes later: a cell that is pending and names the file that
    /// the output will be in. Gives the cell's name, for [`Draft::fill_placeholder`].
    ///
    /// `author` is the agent, else the default one, that will reply; or, for the result of a call,
    /// the function. Then `message_name` is the call's name, or `nonce` says which call of the
    /// message is meant.
    ///
    /// ```
    /// use analects_core::Agent;
    /// use analects_formats::msgfile::{decode, item::{Draft, MessageItem, MessageOutput, MessageOutputBuilder}};
    ///
    /// let mut draft = Draft::new(decode("# %% [^1]\n\nA long question\n"));
    /// draft.add_agent_with_definition("coder", &Agent::of_model("coder", "gpt-5-mini"))?;
    /// let place = draft.add_output_placeholder("1", "answers/1.md", None, None)?;
    /// assert_eq!(draft.item("1").unwrap().outputs()[0].pending_file(), Some("answers/1.md"));
    ///
    /// let output = MessageOutputBuilder::new().with_content("A long answer").build()?;
    /// draft.fill_placeholder(&place, &output.into())?;
    /// let message = draft.item("1").unwrap();
    /// let output = &message.outputs()[0];
    /// assert_eq!((output.text().as_deref(), output.pending_file()), (Some("A long answer"), None));
    ///
    /// assert!(draft.add_output_placeholder("1", "../outside.md", None, None).is_err());
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn add_output_placeholder(
        &mut self,
        message_name: &str,
        placeholder_name: &str,
        author: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<String, ItemError> {
        if let Some(why) = why_not_a_path(placeholder_name) {
            let text = format!("{} cannot be an output file: {why}", shown(placeholder_name));
            return Err(ItemError::invalid(text).hinting("name a file beside the message file"));
        }
        nonce.map_or(Ok(()), check::nonce)?;
        let (name, word) = self.placeholder_target(message_name, author, nonce)?;
        let mut added = match word {
            Some(lang) => self.output_cell(&name, &Output::Code(empty_run(lang)), None)?,
            None => self.output_cell(&name, &Output::Answer(empty_answer(author, nonce)), None)?,
        };
        if added.cell.type_word == "tool" {
            added.cell.attributes.clear();
        }
        added.cell = added.cell.with("status", "pending").with("output_file", placeholder_name);
        let id = added.cell.id.clone();
        self.push(Change::AddCell(added))?;
        Ok(id)
    }

    /// Which cell the placeholder is for, and the language if it is for a run of code.
    fn placeholder_target(
        &self,
        message_name: &str,
        author: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<(String, Option<String>), ItemError> {
        let document = self.document();
        let same = || message_name.to_string();
        let is_agent = author.is_none_or(|name| check_known(document, name).is_ok());
        match self.target(message_name)? {
            Target::Call { .. } => Ok((same(), None)),
            _ if is_agent => Ok((same(), None)),
            Target::Message { is_code, .. } => {
                let function = author.unwrap_or_default();
                if let Some(call) = self.open_call(message_name, function, nonce) {
                    return Ok((call, None));
                }
                let lang = || tool_language(document, message_name);
                if is_code && lang().as_deref() == Some(function) {
                    return Ok((same(), Some(function.to_string())));
                }
                check_known(document, function)?;
                Err(unknown_cell(message_name))
            }
        }
    }

    /// The call of a function by a message: the one of that nonce, else the last without a result.
    fn open_call(&self, message: &str, function: &str, nonce: Option<&str>) -> Option<String> {
        let placed = placed(self.document());
        let root = placed[find(&placed, message)?].root?;
        let fits = |at: &usize| {
            let call = &placed[*at];
            let is_call = call.role() == CellRole::ToolCall && call.root == Some(root);
            let has_result = || placed.iter().any(|other| other.home == Some(*at));
            let named = || match nonce {
                Some(nonce) => call.name.rsplit_once('.').is_some_and(|(_, own)| own == nonce),
                None => !has_result(),
            };
            is_call && call.get(MetaKey::Name) == Some(function) && named()
        };
        (0..placed.len()).rev().find(fits).map(|at| placed[at].name.clone())
    }

    /// Puts an output into the place that was kept for it. `name` is the cell's, or its file's.
    ///
    /// ```
    /// use analects_core::Agent;
    /// use analects_formats::msgfile::{decode, item::{Draft, MessageOutputBuilder}};
    ///
    /// let mut draft = Draft::new(decode("# %% [^1]\n\nA long question\n"));
    /// draft.add_agent_with_definition("coder", &Agent::of_model("coder", "gpt-5-mini"))?;
    /// draft.add_output_placeholder("1", "answer.md", Some("coder"), Some("k3f9qx7a"))?;
    /// let output = MessageOutputBuilder::new().with_content("Yes.").build()?;
    /// assert_eq!(draft.fill_placeholder("answer.md", &output.clone().into())?, "3");
    /// // It is there already.
    /// assert!(draft.fill_placeholder("3", &output.into()).is_err());
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn fill_placeholder(&mut self, name: &str, output: &Output) -> Result<String, ItemError> {
        output.check()?;
        if output.pending_file().is_some() {
            return Err(ItemError::invalid("an output that is pending itself fills no place"));
        }
        let placed = placed(self.document());
        let found = placeholder(&placed, name)?;
        if let (Output::Answer(answer), Some(nonce)) = (output, found.get(MetaKey::Nonce)) {
            check_nonce(answer.nonce.as_deref(), Some(nonce), &found.name)?;
        }
        let name = found.name.clone();
        self.push(Change::Fill { name: name.clone(), output: output.clone() })?;
        Ok(name)
    }

    fn target(&self, name: &str) -> Result<Target, ItemError> {
        let placed = placed(self.document());
        let found = &placed[only(&placed, name)?];
        if found.is_prompt() {
            return Ok(Target::Message {
                agent: found.get(MetaKey::Agent).map(str::to_string),
                is_code: found.role() == CellRole::Code,
                is_tool: found.get(MetaKey::Tool).is_some(),
            });
        }
        if found.role() == CellRole::ToolCall {
            let nonce = nonce_of(&placed, found);
            return Ok(Target::Call { nonce });
        }
        let text = format!("cell {} is neither a message nor a call", shown(name));
        Err(ItemError::new(crate::msgfile::item::ItemErrorKind::UnknownCell, text))
    }
}

/// The nonce of a call whose name was made of another cell's.
fn nonce_of(placed: &[Placed<'_>], call: &Placed<'_>) -> Option<String> {
    let (of, nonce) = call.name.rsplit_once('.')?;
    find(placed, of).map(|_| nonce.to_string())
}

fn tool_language(document: &crate::msgfile::Document, name: &str) -> Option<String> {
    let content = document.cell(name)?.content();
    crate::msgfile::code::code(&content).ok()?.language.map(str::to_string)
}

fn check_nonce(given: Option<&str>, known: Option<&str>, name: &str) -> Result<(), ItemError> {
    match (given, known) {
        (Some(given), Some(known)) if given != known => {
            let text = format!("the nonce {} is not that of {}", shown(given), shown(name));
            Err(ItemError::invalid(text).hinting("leave it out, or name the cell it belongs to"))
        }
        _ => Ok(()),
    }
}

fn empty_answer(author: Option<&str>, nonce: Option<&str>) -> Answer {
    Answer {
        name: String::new(),
        agent_name: author.map(str::to_string),
        content: Content::default(),
        mime_type: TEXT.to_string(),
        nonce: nonce.map(str::to_string),
        status: None,
        duration: None,
        time: None,
        output_file: None,
    }
}

fn empty_run(lang: String) -> CodeOutput {
    CodeOutput {
        name: String::new(),
        lang,
        pieces: Vec::new(),
        data: None,
        mime_type: TEXT.to_string(),
        nonce: None,
        status: None,
        duration: None,
        time: None,
        output_file: None,
    }
}

/// A reply or a result as a cell.
pub(super) fn answer_cell(answer: &Answer, id: &str, word: &str) -> NewCell {
    let cell = NewCell::new(CellKind::Output, id, word, answer.content.to_cell());
    let cell = with(cell, "time", answer.time.clone());
    let cell = with(cell, "status", answer.status.clone());
    let cell = with_duration(cell, answer.duration);
    let cell = with(cell, "nonce", answer.nonce.clone());
    let is_text = answer.content.as_text().is_some();
    let mime_type = Some(answer.mime_type.clone()).filter(|mime_type| mime_type != TEXT);
    let cell = with(cell, "mime_type", mime_type);
    let cell = with(cell, "encoding", (!is_text).then(|| "base64".to_string()));
    with(cell, "output_file", answer.output_file.clone())
}

/// What code printed as a cell.
pub(super) fn code_cell(code: &CodeOutput, id: &str) -> NewCell {
    let (content, encoding) = match &code.data {
        Some(data) => (base64::encode(data), None),
        None => {
            let encoded = output::encode(&code.pieces);
            (encoded.text, encoded.base64.then(|| "base64".to_string()))
        }
    };
    let cell = NewCell::new(CellKind::Output, id, &code.lang, content);
    let cell = with(cell, "time", code.time.clone());
    let cell = with(cell, "status", code.status.clone());
    let cell = with_duration(cell, code.duration);
    let cell = with(cell, "nonce", code.nonce.clone());
    let mime_type = Some(code.mime_type.clone()).filter(|mime_type| mime_type != TEXT);
    let cell = with(cell, "mime_type", mime_type);
    let cell = with(cell, "encoding", encoding);
    with(cell, "output_file", code.output_file.clone())
}

fn with_duration(cell: NewCell, duration: Option<Duration>) -> NewCell {
    with(cell, "duration", duration.map(seconds::format))
}

/// Adds an attribute if there is a value.
pub(super) fn with(cell: NewCell, key: &str, value: Option<String>) -> NewCell {
    match value {
        Some(value) => cell.with(key, value),
        None => cell,
    }
}
