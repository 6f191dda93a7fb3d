//! Where `add` puts a new cell, and the name and type that follow from that.
//!
//! Ids tell which cell belongs to which: `3.1` is the first execution of the code cell `3`, `3.1-2` its second output,
//! and `4.k3f9` a tool call in answer 4, whose result is `4.k3f9.1`.

use analects_core::nearest;
use analects_formats::msgfile::{Cell, CellKind, CellRole, Document, NewCell, code, is_fixed_word};

use super::AddArgs;
use crate::commands::reading;
use crate::commands::set::unknown_agent;
use crate::failure::Failure;
use crate::shell;

/// What a new cell is, with the name and type it gets.
/// It is worked out before the text is looked at.
pub enum CellPlacement {
    /// A message of yours.
    Message {
        id: String,
        type_word: String,
        agent: Option<String>,
    },
    /// An answer. `parent` is the message it answers, unless that is the last one.
    Reply {
        id: String,
        type_word: String,
        parent: Option<String>,
    },
    /// Output of a code cell.
    /// The language is that of the output's head, such as `python`.
    CodeOutput { id: String, language: String },
    /// A tool call, or its result.
    /// A result differs from a call by its id only.
    Tool { id: String },
}

impl CellPlacement {
    /// Works out from the arguments and the cell named by `--of` what the new cell is. `nonce` is
    /// the random part of a tool call's id.
    /// Fails with a usage error if the arguments do not fit together or to the cell.
    pub fn find(
        document: &Document,
        args: &AddArgs,
        attributes: &[(String, String)],
        nonce: &str,
    ) -> Result<CellPlacement, Failure> {
        if !args.output {
            return message(document, args);
        }
        let Some(of) = &args.of else {
            return reply(document, args, None);
        };
        let Some(cell) = document.cell(of) else {
            return Err(no_such_cell(document, args, of));
        };
        let names_tool = attributes.iter().any(|(key, _)| key == "name");
        let is_call = names_tool && args.type_word.as_deref() == Some("tool");
        match cell.role() {
            CellRole::Code => code_output(document, args, cell),
            CellRole::User | CellRole::Raw | CellRole::UserBlock => {
                reply(document, args, Some(cell))
            }
            CellRole::CodeOutput => further_output(document, args, cell),
            CellRole::ToolCall => tool_result(document, args, cell),
            CellRole::Reply | CellRole::Thinking if is_call => {
                tool_call(document, args, cell, nonce)
            }
            role @ (CellRole::AgentDefinition
            | CellRole::Reply
            | CellRole::Thinking
            | CellRole::ToolResult
            | CellRole::System
            | CellRole::Summary
            | CellRole::CompactBoundary
            | CellRole::Attachment
            | CellRole::Notification
            | CellRole::Progress
            | CellRole::Tombstone
            | CellRole::Block
            | CellRole::Details) => Err(has_no_outputs(of, role)),
        }
    }

    /// The new cell, with an empty text.
    /// The caller adds the title, the text and further attributes.
    pub fn cell(&self) -> NewCell {
        let output = |id: &str, word: &str| NewCell::new(CellKind::Output, id, word, "");
        match self {
            CellPlacement::Message {
                id,
                type_word,
                agent,
            } => {
                let cell = NewCell::new(CellKind::Message, id, type_word, "");
                agent
                    .iter()
                    .fold(cell, |cell, agent| cell.with("agent", agent.as_str()))
            }
            CellPlacement::Reply {
                id,
                type_word,
                parent,
            } => {
                let cell = output(id, type_word);
                parent
                    .iter()
                    .fold(cell, |cell, parent| cell.with("parent", parent.as_str()))
            }
            CellPlacement::CodeOutput { id, language } => output(id, language),
            CellPlacement::Tool { id } => output(id, "tool"),
        }
    }
}

/// A message; `--type` may be `markdown`, `code` or `raw`.
/// An agent that should answer must be defined in the file.
/// Bytes with a MIME type are always `raw`.
fn message(document: &Document, args: &AddArgs) -> Result<CellPlacement, Failure> {
    let usual = if args.mime_type.is_some() {
        "raw"
    } else {
        "markdown"
    };
    let type_word = args.type_word.as_deref().unwrap_or(usual);
    if !["markdown", "code", "raw"].contains(&type_word) {
        let message = format!("{type_word:?} is not a type of message");
        return Err(Failure::usage(
            message,
            "use markdown, code or raw, or add an --output",
        ));
    }
    if args.mime_type.is_some() && type_word != "raw" {
        return Err(Failure::usage(
            "a message with --mime-type is raw",
            "leave out --type",
        ));
    }
    if let Some(agent) = &args.agent
        && document.agents().iter().all(|known| known.name != *agent)
    {
        return Err(unknown_agent(document, &args.file, agent));
    }
    let id = new_id(document, args)?;
    let agent = args.agent.clone();
    Ok(CellPlacement::Message {
        id,
        type_word: type_word.to_string(),
        agent,
    })
}

/// An answer to a message; to the last one if `to` is `None`.
/// An answer to the last message needs no `parent`, because the place in the file says it.
fn reply(
    document: &Document,
    args: &AddArgs,
    to: Option<Cell<'_>>,
) -> Result<CellPlacement, Failure> {
    let type_word = author(document, args)?;
    let last = document
        .cells()
        .rev()
        .find(|cell| cell.is_prompt())
        .map(Cell::ordinal);
    let is_last = |cell: &Cell<'_>| Some(cell.ordinal()) == last;
    let parent = to.filter(|cell| !is_last(cell));
    let parent = parent
        .map(|cell| identified(document, args, cell))
        .transpose()?;
    Ok(CellPlacement::Reply {
        id: new_id(document, args)?,
        type_word,
        parent,
    })
}

/// The author of an answer, which becomes the cell's type: `--type`, `--agent`, or the default
/// agent.
/// Fails if both options are given, or none and the file defines no agent.
fn author(document: &Document, args: &AddArgs) -> Result<String, Failure> {
    match (&args.type_word, &args.agent) {
        (Some(_), Some(_)) => Err(Failure::usage(
            "--type and --agent both name the author",
            "give one of them",
        )),
        (Some(word), None) => author_from_type(word),
        (None, Some(agent)) => author_from_agent(document, args, agent),
        (None, None) => reading::default_agent(document).ok_or_else(|| {
            let message = format!("{}: the file defines no agent", args.file.display());
            Failure::usage(message, "name the agent that it comes from with --agent")
        }),
    }
}

/// `--type` as an author. The types of other cells are refused.
/// An agent whose name is such a word could not be told apart from the type.
fn author_from_type(word: &str) -> Result<String, Failure> {
    match word {
        "tool" => Err(Failure::usage(
            "a tool call belongs to an answer, and a result to a tool call",
            "name the answer or the tool call with --of; a tool call also needs --attr name=TOOL",
        )),
        "markdown" | "code" | "raw" | "agent" | "details" => {
            let message = format!("{word:?} is not a type of output");
            Err(Failure::usage(message, "name an agent"))
        }
        _ => Ok(word.to_string()),
    }
}

/// `--agent` as an author: an agent of the file, or any name if the file defines no agents.
/// So that an answer from elsewhere can be kept in a file without agents.
fn author_from_agent(document: &Document, args: &AddArgs, agent: &str) -> Result<String, Failure> {
    let agents = document.agents();
    let is_known = agents.is_empty() || agents.iter().any(|known| known.name == agent);
    if !is_known || is_fixed_word(agent) {
        return Err(unknown_agent(document, &args.file, agent));
    }
    Ok(agent.to_string())
}

/// The result of a tool call.
/// A call may get several results; each has a number of its own.
fn tool_result(
    document: &Document,
    args: &AddArgs,
    call: Cell<'_>,
) -> Result<CellPlacement, Failure> {
    only_tool(args)?;
    let id = numbered(document, call.id().unwrap_or_default(), '.', 1);
    derived(args, id).map(|id| CellPlacement::Tool { id })
}

/// A tool call in an answer.
/// The random part keeps ids apart that are added on two machines.
/// Fails if the answer has no id, because nothing could refer to it.
fn tool_call(
    document: &Document,
    args: &AddArgs,
    answer: Cell<'_>,
    nonce: &str,
) -> Result<CellPlacement, Failure> {
    let id = format!("{}.{nonce}", identified(document, args, answer)?);
    derived(args, id).map(|id| CellPlacement::Tool { id })
}

/// The first output of a new execution of a code cell.
/// A new execution gets the next number after the dot.
fn code_output(
    document: &Document,
    args: &AddArgs,
    cell: Cell<'_>,
) -> Result<CellPlacement, Failure> {
    let content = cell.content();
    let usual = code::code(&content).ok().and_then(|code| code.language);
    let language = language(args, usual)?;
    let id = numbered(document, cell.id().unwrap_or_default(), '.', 1);
    Ok(CellPlacement::CodeOutput {
        id: derived(args, id)?,
        language,
    })
}

/// The error for a cell that cannot have outputs.
/// The role is named in words, such as "tool result".
fn has_no_outputs(name: &str, role: CellRole) -> Failure {
    let word = role.as_str().replace('_', " ");
    let message = format!("cell {name} is a {word}, which cannot have this output");
    let hint = if role.is_reply() {
        "for a tool call, add --type tool --attr name=TOOL"
    } else {
        "name a message, a code cell, an answer or a tool call"
    };
    Failure::usage(message, hint)
}

/// Another output of an execution that already has one: `1.2-2` after `1.2`.
/// `--of` may name any output of the execution, not just the first.
fn further_output(
    document: &Document,
    args: &AddArgs,
    cell: Cell<'_>,
) -> Result<CellPlacement, Failure> {
    let language = language(args, Some(cell.type_word()))?;
    let id = cell.id().unwrap_or_default();
    // The id of the code cell may contain a hyphen; the number of the execution follows the last
    // dot.
    let dot = id.rfind('.').unwrap_or(0);
    let first = id[dot..].split('-').next().unwrap_or_default();
    let id = numbered(document, &id[..dot + first.len()], '-', 2);
    Ok(CellPlacement::CodeOutput {
        id: derived(args, id)?,
        language,
    })
}

/// The language of code output: `--type`, or the language of the code cell.
/// An agent is no language, so `--agent` is refused.
fn language(args: &AddArgs, usual: Option<&str>) -> Result<String, Failure> {
    let word = args
        .type_word
        .as_deref()
        .or(usual)
        .filter(|_| args.agent.is_none());
    match word {
        Some(word) if !is_fixed_word(word) => Ok(word.to_string()),
        _ => Err(Failure::usage(
            "the output of code needs a language",
            "name it, such as --type python",
        )),
    }
}

/// Refuses `--type` and `--agent` for the result of a tool call.
fn only_tool(args: &AddArgs) -> Result<(), Failure> {
    match (args.type_word.as_deref(), &args.agent) {
        (None | Some("tool"), None) => Ok(()),
        _ => Err(Failure::usage(
            "the result of a call is of type tool",
            "leave out --type and --agent",
        )),
    }
}

/// `base`, `separator` and a number that is larger than every number already used in this form, and
/// at least `from`.
/// Gaps are not filled, so the id of a removed cell is not used again while a later one exists.
fn numbered(document: &Document, base: &str, separator: char, from: u64) -> String {
    let numbers = document.cells().filter_map(|cell| {
        let rest = cell.id()?.strip_prefix(base)?.strip_prefix(separator)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    });
    let next = numbers
        .max()
        .map_or(from, |largest| largest.saturating_add(1).max(from));
    format!("{base}{separator}{next}")
}

/// An id that follows from another cell's. `--id` must not be given, and the id must not be too
/// long.
/// Nested ids grow with each level, hence the check.
fn derived(args: &AddArgs, id: String) -> Result<String, Failure> {
    if args.id.is_some() {
        let message = "the id of this output follows from its cell";
        return Err(Failure::usage(message, "leave out --id"));
    }
    if why_not_an_id(&id).is_some() {
        return Err(Failure::input(format!("{id}: too long for an id")));
    }
    Ok(id)
}

/// The id of a message or an answer: `--id`, or the next number.
/// Fails if the id is taken or has a form that belongs to derived ids.
fn new_id(document: &Document, args: &AddArgs) -> Result<String, Failure> {
    let Some(id) = &args.id else {
        return Ok(document.next_id());
    };
    if let Some(reason) = why_not_an_id(id) {
        let message = format!("{id:?} cannot be an id: {reason}");
        return Err(Failure::usage(message, "such as --id idea"));
    }
    if id.contains('.') {
        let message = format!("{id}: only ids that follow from another cell's contain a dot");
        return Err(Failure::usage(message, "leave out the dot"));
    }
    if document.is_taken(id) {
        let message = format!("{}: there is already a cell {id}", args.file.display());
        return Err(Failure::input(message).or_hint("leave out --id for the next number"));
    }
    Ok(id.clone())
}

/// What is wrong with an id, or `None` if it is valid.
/// The limits are those of the format: 64 characters, and none that a head of a cell uses itself.
fn why_not_an_id(id: &str) -> Option<&'static str> {
    if !(1..=64).contains(&id.chars().count()) {
        return Some("it must have 1 to 64 characters");
    }
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "[]^".contains(c);
    id.contains(is_bad)
        .then_some("it holds a blank, a control character or one of [ ] ^")
}

/// The id of a cell that the new cell refers to. A position would not do, because it changes with
/// the file.
fn identified(document: &Document, args: &AddArgs, cell: Cell<'_>) -> Result<String, Failure> {
    cell.id().map(str::to_string).ok_or_else(|| {
        let path = args.file.display();
        let name = cell.name();
        let failure = Failure::input(format!("{path}: cell {name} has no id to refer to"));
        let id = if name.starts_with('#') {
            document.next_id()
        } else {
            name.into_owned()
        };
        failure.or_hint(format!("end its first line with an id, such as [^{id}]"))
    })
}

/// Suggests a similar name, or else points to the list of all cells.
fn no_such_cell(document: &Document, args: &AddArgs, name: &str) -> Failure {
    let names: Vec<String> = document
        .cells()
        .map(|cell| cell.name().into_owned())
        .collect();
    let hint = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("analects show {} lists the cells", shell::path(&args.file)),
    };
    Failure::not_found(format!("{}: there is no cell {name}", args.file.display())).or_hint(hint)
}
