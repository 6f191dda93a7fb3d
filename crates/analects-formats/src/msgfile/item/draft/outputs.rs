//! Outputs of a draft: replies, results, outputs of code, and placeholders for them.

use super::agents::{check_known, replying_agent};
use super::operation::{the_cell, unknown_cell};
use super::{Draft, DraftOperation};
use crate::msgfile::item::check::shown;
use crate::msgfile::item::write::{answer_cell, code_cell};
use crate::msgfile::item::{
    AnswerOutput, CodeOutput, ItemError, ItemErrorKind, MessageOutput, Output,
};
use crate::msgfile::owners::owned_cells;
use crate::msgfile::{Cell, CellRole, Document, MetaKey, NewCell, code, replace};

impl Draft {
    /// Adds an output to a message or to a function call, and returns the name of its cell. A reply goes below everything
    /// that the message has already, a result below its call.
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
        names
            .pop()
            .ok_or_else(|| ItemError::missing("the output", "add_outputs"))
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
        if outputs.is_empty() {
            return Ok(Vec::new());
        }
        outputs.iter().try_for_each(Output::check)?;
        self.push(DraftOperation::AddOutputs {
            to: name.to_string(),
            outputs: outputs.to_vec(),
        })
    }

    /// Adds outputs to a cell; outputs of code after the first one belong to the same run.
    pub(super) fn make_outputs(
        &mut self,
        to: &str,
        outputs: &mut [Output],
    ) -> Result<Vec<String>, ItemError> {
        let mut names = Vec::new();
        let mut is_run = false;
        for output in outputs {
            names.push(self.make_output(to, output, is_run)?);
            is_run |= output.as_code().is_some();
        }
        Ok(names)
    }

    /// Adds an output to a cell. That of code may be one more of the last run.
    pub(super) fn make_output(
        &mut self,
        to: &str,
        output: &mut Output,
        is_of_last_run: bool,
    ) -> Result<String, ItemError> {
        let cell = the_cell(self.document(), to)?;
        let new = match output {
            _ if !cell.is_prompt() && cell.role() != CellRole::ToolCall => {
                let text = format!("cell {} is neither a message nor a call", shown(to));
                return Err(ItemError::new(ItemErrorKind::UnknownCell, text));
            }
            Output::Code(code) => run_cell(cell, to, code, is_of_last_run)?,
            Output::Answer(answer) if cell.role() == CellRole::ToolCall => {
                result_cell(cell, to, answer)?
            }
            Output::Answer(answer) => reply_cell(cell, to, answer)?,
        };
        self.append_below(to, &new)
    }

    /// Adds a placeholder for a later output: a pending cell that names the file that will hold the output. Returns the
    /// name of the cell, for [`Draft::fill_placeholder`].
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
        let (to, lang) = self.placeholder_target(message_name, author, nonce)?;
        let is_call = self.document().cell(&to).map(Cell::role) == Some(CellRole::ToolCall);
        let answer = AnswerOutput {
            agent_name: author
                .filter(|_| !is_call && lang.is_none())
                .map(str::to_string),
            nonce: nonce.map(str::to_string),
            status: Some("pending".to_string()),
            output_file: Some(placeholder_name.to_string()),
            ..AnswerOutput::default()
        };
        let output = match lang {
            Some(lang) => Output::Code(CodeOutput::printed(answer, lang, &[])),
            None => Output::Answer(answer),
        };
        self.add_output(&to, &output)
    }

    /// The cell that a placeholder belongs to, and the language if it is for a run of code.
    fn placeholder_target(
        &self,
        message_name: &str,
        author: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<(String, Option<String>), ItemError> {
        let document = self.document();
        let cell = the_cell(document, message_name)?;
        let same = message_name.to_string();
        let Some(function) = author.filter(|name| check_known(document, name).is_err()) else {
            return Ok((same, None));
        };
        if !cell.is_prompt() {
            return Ok((same, None));
        }
        if let Some(call) = open_call(cell, function, nonce) {
            return Ok((call, None));
        }
        let content = cell.content();
        let lang = code::code(&content).ok().and_then(|code| code.language);
        if cell.role() == CellRole::Code && lang == Some(function) {
            return Ok((same, Some(function.to_string())));
        }
        check_known(document, function)?;
        Err(unknown_cell(message_name))
    }

    /// Replaces a placeholder by its output. `name` is that of the cell or of the file.
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
            return Err(ItemError::invalid(
                "an output that is pending itself fills no place",
            ));
        }
        let name = placeholder(self.document(), name)?.name().into_owned();
        self.push(DraftOperation::Fill {
            name: name.clone(),
            output: output.clone(),
        })?;
        Ok(name)
    }

    /// Replaces a placeholder by its output.
    pub(super) fn make_filling(
        &mut self,
        name: &str,
        output: &Output,
    ) -> Result<Vec<String>, ItemError> {
        let document = self.document();
        let place = placeholder(document, name)?;
        let splice = replace(document, place, &filling(place, output)?);
        self.apply(&splice);
        Ok(Vec::new())
    }
}

/// The cell of an output of code.
fn run_cell(
    cell: Cell<'_>,
    name: &str,
    code: &CodeOutput,
    is_of_last_run: bool,
) -> Result<NewCell, ItemError> {
    if cell.role() != CellRole::Code {
        let error = ItemError::invalid(format!("cell {} is not a code cell", shown(name)));
        return Err(error.hinting("only code cells have outputs of code"));
    }
    let last = cell.document.last_number(&format!("{name}."));
    if !is_of_last_run {
        return Ok(code_cell(code, &format!("{name}.{}", last + 1)));
    }
    let run = format!("{name}.{last}");
    // The first cell of a run is its first without saying so.
    let number = cell.document.last_number(&format!("{run}-")).max(1) + 1;
    Ok(code_cell(code, &format!("{run}-{number}")))
}

/// The cell of a reply. Its author is the agent that the reply names, else the one that was asked.
fn reply_cell(cell: Cell<'_>, name: &str, answer: &mut AnswerOutput) -> Result<NewCell, ItemError> {
    if cell.get(MetaKey::Tool).is_some() {
        let text = format!(
            "cell {} defines a tool, and nobody replies to it",
            shown(name)
        );
        return Err(ItemError::invalid(text));
    }
    let named = answer.agent_name.as_deref().or(cell.get(MetaKey::Agent));
    let author = replying_agent(cell.document, named)?;
    let new = answer_cell(answer, &cell.document.next_id(), &author);
    answer.agent_name = Some(author);
    Ok(new)
}

/// The cell of a call's result.
fn result_cell(call: Cell<'_>, name: &str, answer: &AnswerOutput) -> Result<NewCell, ItemError> {
    let mut answer = answer.clone();
    if let Some(nonce) = nonce_of(call) {
        check_nonce(&answer, &nonce, name)?;
        // The id says it already.
        answer.nonce = None;
    }
    let number = call.document.last_number(&format!("{name}.")) + 1;
    Ok(answer_cell(&answer, &format!("{name}.{number}"), "tool"))
}

/// The nonce of a call whose name extends that of another cell.
fn nonce_of(call: Cell<'_>) -> Option<String> {
    let name = call.name();
    let (of, nonce) = name.rsplit_once('.')?;
    call.document.cell(of).map(|_| nonce.to_string())
}

/// Fails if an output has another nonce than the cell that it belongs to.
fn check_nonce(answer: &AnswerOutput, nonce: &str, name: &str) -> Result<(), ItemError> {
    let Some(given) = answer.nonce().filter(|given| *given != nonce) else {
        return Ok(());
    };
    let text = format!("the nonce {} is not that of {}", shown(given), shown(name));
    Err(ItemError::invalid(text).hinting("leave it out, or name the cell it belongs to"))
}

/// The call of a function by a message: the one of that nonce, else the last without a result.
fn open_call(message: Cell<'_>, function: &str, nonce: Option<&str>) -> Option<String> {
    let placed = owned_cells(message.document);
    let root = Some(placed[message.at].root?);
    let mut calls = placed.iter().rev().filter(|other| {
        let is_call = other.cell.role() == CellRole::ToolCall && other.root == root;
        is_call && other.cell.get(MetaKey::Name) == Some(function)
    });
    let has_result = |call: Cell<'_>| placed.iter().any(|other| other.owner == Some(call.at));
    let found = calls.find(|call| match nonce {
        Some(nonce) => call
            .cell
            .name()
            .rsplit_once('.')
            .is_some_and(|(_, own)| own == nonce),
        None => !has_result(call.cell),
    });
    found.map(|call| call.cell.name().into_owned())
}

/// The placeholder with this name, or for this file.
fn placeholder<'d>(document: &'d Document, name: &str) -> Result<Cell<'d>, ItemError> {
    let is_pending = |cell: Cell<'_>| cell.get(MetaKey::Status) == Some("pending");
    let is_of_file =
        |cell: &Cell<'_>| is_pending(*cell) && cell.get(MetaKey::OutputFile) == Some(name);
    let found = document
        .cell(name)
        .or_else(|| document.cells().find(is_of_file));
    let found = found.ok_or_else(|| unknown_cell(name))?;
    if !is_pending(found) || found.get(MetaKey::OutputFile).is_none() {
        let text = format!("cell {} does not wait for an output", found.name());
        let error = ItemError::new(ItemErrorKind::UnknownCell, text);
        return Err(error.hinting("only a place that add_output_placeholder made can be filled"));
    }
    if !found.is_placeholder() {
        // A person may have typed it, so it is not thrown away.
        let text = format!("cell {} has text already", found.name());
        let error = ItemError::new(ItemErrorKind::Refused, text);
        return Err(error.hinting("remove its text, or its status=\"pending\""));
    }
    Ok(found)
}

/// The cell that replaces a placeholder: the output, with the title and the other attributes of the placeholder.
fn filling(place: Cell<'_>, output: &Output) -> Result<NewCell, ItemError> {
    let name = place.name();
    let word = place.written_type().unwrap_or_default();
    let mut cell = match (output, place.role()) {
        (Output::Code(code), CellRole::CodeOutput) => code_cell(code, &name),
        (Output::Answer(answer), role) if role.is_reply() || role == CellRole::ToolResult => {
            if let Some(nonce) = place.get(MetaKey::Nonce) {
                check_nonce(answer, nonce, &name)?;
            }
            answer_cell(answer, &name, word)
        }
        _ => {
            return Err(ItemError::invalid(format!(
                "cell {name} waits for another kind of output"
            )));
        }
    };
    cell.type_word = word.to_string();
    cell.title = place.title().into_owned();
    let goes = ["status", "output_file", "mime_type", "encoding", "stored"];
    let is_kept =
        |key: &str| !goes.contains(&key) && !cell.attributes.iter().any(|(other, _)| other == key);
    let kept = place.attributes().filter(|(key, _)| is_kept(key));
    let kept = kept.map(|(key, value)| (key.to_string(), value.to_string()));
    let kept: Vec<(String, String)> = kept.collect();
    cell.attributes.splice(0..0, kept);
    Ok(cell)
}
