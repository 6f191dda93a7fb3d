//! A document in, items out: messages and function calls in the order of the file, with everything
//! that came back.

use super::homes::{Placed, find, placed};
use super::outputs::text_plain;
use super::{Answer, Call, CodeOutput, Content, Item, MessageItem, Output, Prompt, check, seconds};
use crate::msgfile::invoke::{self, Arguments};
use crate::msgfile::role::names_author;
use crate::msgfile::{CellRole, Document, MetaKey, output};

/// Which item is meant: by its place among the items, from 0, or by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexOrName<'a> {
    /// The place, from 0.
    Index(usize),
    /// The id, or the ordinal of a cell without one.
    Name(&'a str),
}

impl From<usize> for IndexOrName<'_> {
    fn from(index: usize) -> Self {
        IndexOrName::Index(index)
    }
}

impl<'a> From<&'a str> for IndexOrName<'a> {
    fn from(name: &'a str) -> Self {
        IndexOrName::Name(name)
    }
}

/// The messages and function calls of a document, in its order.
///
/// ```
/// use analects_formats::msgfile::{decode, item::{MessageItem, items}};
///
/// let document = decode("# %%\n\nHello\n\n# %%% [^2]\n\n[^2]: [coder]\n\nHi.\n\n# %% [^3]\n\nBye\n");
/// let items = items(&document);
/// assert_eq!(items.iter().map(MessageItem::name).collect::<Vec<_>>(), ["1", "3"]);
/// assert_eq!(items[0].outputs()[0].name(), "2");
/// ```
#[doc(alias = "get_items")]
pub fn items(document: &Document) -> Vec<Item> {
    items_of(&placed(document)).into_iter().map(|(item, _)| item).collect()
}

/// One item; `None` if there is none of that place or name. An id counts before a place, and of two
/// cells with one id the first is meant.
///
/// ```
/// use analects_formats::msgfile::{decode, item::{MessageItem, item}};
///
/// let document = decode("# %% [^a]\n\nHello\n\n# %%\n\nBye\n");
/// assert_eq!(item(&document, 1).unwrap().name(), "2");
/// assert_eq!(item(&document, "a").unwrap().name(), "a");
/// assert_eq!(item(&document, "nobody"), None);
/// assert_eq!(item(&document, 2), None);
/// ```
#[doc(alias = "get_item")]
pub fn item<'a>(document: &Document, which: impl Into<IndexOrName<'a>>) -> Option<Item> {
    let placed = placed(document);
    let mut items = items_of(&placed).into_iter();
    match which.into() {
        IndexOrName::Index(index) => items.nth(index).map(|(item, _)| item),
        IndexOrName::Name(name) => {
            let at = find(&placed, name)?;
            items.find(|(_, cell)| *cell == at).map(|(item, _)| item)
        }
    }
}

/// Each item with the place of its cell.
fn items_of(placed: &[Placed<'_>]) -> Vec<(Item, usize)> {
    let mut slots: Vec<Option<Item>> = Vec::with_capacity(placed.len());
    for at in 0..placed.len() {
        let here = &placed[at];
        slots.push(item_of(placed, at));
        if let Some((to, output)) = output_of(placed, here)
            && let Some(item) = slots[to].as_mut()
        {
            item.add_output(output);
        }
    }
    // With all their results in them, calls go to their messages too.
    for at in 0..placed.len() {
        let Some(Item::FunctionCall(call)) = &slots[at] else { continue };
        let call = call.clone();
        if let Some(Item::Message(message)) = placed[at].root.and_then(|to| slots[to].as_mut()) {
            message.function_calls.push(call);
        }
    }
    let numbered = slots.into_iter().zip(0..);
    numbered.filter_map(|(slot, at)| Some((slot?, at))).collect()
}

/// The item that a cell is.
fn item_of(placed: &[Placed<'_>], at: usize) -> Option<Item> {
    let here = &placed[at];
    match here.role() {
        _ if here.is_ready => None,
        CellRole::User | CellRole::Code | CellRole::Raw | CellRole::UserBlock => {
            Some(Item::Message(prompt(here)))
        }
        CellRole::ToolCall => Some(Item::FunctionCall(call(placed, at))),
        CellRole::AgentDefinition
        | CellRole::Reply
        | CellRole::Thinking
        | CellRole::ToolResult
        | CellRole::CodeOutput
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Block
        | CellRole::Details => None,
    }
}

/// The output that a cell is, and the cell of the item that it belongs to.
fn output_of(placed: &[Placed<'_>], here: &Placed<'_>) -> Option<(usize, Output)> {
    match here.role() {
        CellRole::ToolResult => Some((here.home?, answer(here, nonce_of_call(placed, here)))),
        CellRole::Reply | CellRole::Thinking => Some((here.root?, answer(here, None))),
        CellRole::CodeOutput => Some((here.root?, code_output(here))),
        CellRole::User
        | CellRole::Code
        | CellRole::Raw
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::ToolCall
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Block
        | CellRole::Details => None,
    }
}

fn prompt(placed: &Placed<'_>) -> Prompt {
    let type_word = placed.message_type();
    // Of messages, only a raw cell with a media type holds bytes.
    let is_base64 = placed.role() == CellRole::Raw && placed.get(MetaKey::MimeType).is_some();
    let content = Content::of_cell(placed.cell.content(), is_base64);
    Prompt {
        name: placed.name.clone(),
        type_word,
        content,
        mime_type: placed.mime_type(),
        agent_name: placed.get(MetaKey::Agent).map(str::to_string).filter(|name| !name.is_empty()),
        timeout: placed.get(MetaKey::Timeout).and_then(seconds::parse),
        history: placed.cell.history().unwrap_or_default(),
        heading_level: Some(placed.cell.level()),
        tool: placed.get(MetaKey::Tool).map(str::to_string),
        outputs: Vec::new(),
        function_calls: Vec::new(),
    }
}

fn call(placed: &[Placed<'_>], at: usize) -> Call {
    let here = &placed[at];
    let text = here.cell.content();
    let (function_name, args) = match invoke::decode(&text) {
        Ok(invoke) => (invoke.name, invoke.arguments),
        // What cannot be read is kept as text.
        Err(_) => {
            let name = here.get(MetaKey::Name).unwrap_or_default().to_string();
            (name, Arguments::Text(text.into_owned()))
        }
    };
    // A reply's history governs its calls.
    let reply = here.home.map(|home| placed[home].cell).filter(|home| home.role().is_reply());
    let history = here.cell.history().or_else(|| reply?.history()).unwrap_or_default();
    Call {
        name: here.name.clone(),
        function_name,
        args,
        timeout: here.get(MetaKey::Timeout).and_then(seconds::parse),
        history,
        heading_level: Some(here.cell.level()),
        outputs: Vec::new(),
    }
}

/// The nonce of the call that a result belongs to.
fn nonce_of_call(placed: &[Placed<'_>], result: &Placed<'_>) -> Option<String> {
    let call = &placed[result.home?];
    call.name.rsplit_once('.').map(|(_, nonce)| nonce.to_string())
}

fn answer(placed: &Placed<'_>, nonce: Option<String>) -> Output {
    let text = |key| placed.get(key).map(str::to_string);
    let is_base64 = placed.get(MetaKey::Encoding) == Some("base64");
    let content = Content::of_cell(placed.cell.content(), is_base64);
    let is_author = |word: &&str| placed.role().is_reply() && names_author(word);
    Output::Answer(Answer {
        name: placed.name.clone(),
        agent_name: placed.cell.written_type().filter(is_author).map(str::to_string),
        content,
        mime_type: placed.mime_type(),
        nonce: text(MetaKey::Nonce).or(nonce),
        status: text(MetaKey::Status),
        duration: placed.get(MetaKey::Duration).and_then(seconds::parse),
        time: text(MetaKey::Time),
        output_file: text(MetaKey::OutputFile),
    })
}

fn code_output(placed: &Placed<'_>) -> Output {
    let text = |key| placed.get(key).map(str::to_string);
    let content = placed.cell.content();
    let mut mime_type = placed.mime_type();
    let is_text = mime_type == check::TEXT;
    let data = if is_text { None } else { crate::msgfile::base64::decode(&content) };
    let data = data.filter(|data| !data.is_empty());
    if data.is_none() {
        mime_type = text_plain();
    }
    let is_base64 = placed.get(MetaKey::Encoding) == Some("base64");
    let pieces = match data {
        Some(_) => Vec::new(),
        None => output::decode(&content, is_base64).0,
    };
    Output::Code(CodeOutput {
        name: placed.name.clone(),
        lang: placed.cell.written_type().unwrap_or_default().to_string(),
        pieces,
        data,
        mime_type,
        nonce: text(MetaKey::Nonce),
        status: text(MetaKey::Status),
        duration: placed.get(MetaKey::Duration).and_then(seconds::parse),
        time: text(MetaKey::Time),
        output_file: text(MetaKey::OutputFile),
    })
}
