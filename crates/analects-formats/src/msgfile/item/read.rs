//! A document in, items out: messages and function calls in the order of the file, with their outputs, and the tools
//! that code cells define by `tool="name"`.

use std::collections::HashMap;

use super::outputs::text_plain;
use super::prompts::ItemFields;
use super::{
    AnswerOutput, CallItem, CellContent, CodeOutput, Item, MessageItem, Output, PromptItem, check,
    seconds,
};
use crate::msgfile::code::code;
use crate::msgfile::invoke::{self, Arguments};
use crate::msgfile::owners::{OwnedCell, owned_cells};
use crate::msgfile::role::names_author;
use crate::msgfile::{Cell, CellRole, Document, MetaKey, base64, output};

/// An item, by its index among the items or by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexOrName<'a> {
    /// The index, from 0.
    Index(usize),
    /// The id, or the number of a cell without an id.
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
    items_and_places(document)
        .into_iter()
        .map(|(item, _)| item)
        .collect()
}

/// One item; `None` if there is no such item. An id takes precedence over a number, and of two cells with the same id
/// the first one counts.
///
/// ```
/// use analects_formats::msgfile::{decode, item::{MessageItem, item}};
///
/// let document = decode("# %% [^a]\n\nHello\n\n# %%\n\nBye\n");
/// assert_eq!(item(&document, 1).unwrap().name(), "1");
/// assert_eq!(item(&document, "a").unwrap().name(), "a");
/// assert_eq!(item(&document, "nobody"), None);
/// assert_eq!(item(&document, 2), None);
/// ```
#[doc(alias = "get_item")]
pub fn item<'a>(document: &Document, which: impl Into<IndexOrName<'a>>) -> Option<Item> {
    let mut items = items_and_places(document).into_iter();
    let found = match which.into() {
        IndexOrName::Index(index) => items.nth(index),
        IndexOrName::Name(name) => {
            let at = document.cell(name)?.at;
            items.find(|(_, place)| *place == at)
        }
    };
    found.map(|(item, _)| item)
}

/// An item or an output, read from a cell.
enum ItemOrOutput {
    Item(Item),
    /// An output of the item whose cell has this index.
    Output(usize, Output),
}

/// Each item with the index of its cell.
fn items_and_places(document: &Document) -> Vec<(Item, usize)> {
    let placed = owned_cells(document);
    let mut slots: Vec<Option<Item>> = Vec::with_capacity(placed.len());
    for here in &placed {
        let mut item = None;
        match read(&placed, here) {
            Some(ItemOrOutput::Item(found)) => item = Some(found),
            Some(ItemOrOutput::Output(of, output)) => {
                if let Some(item) = slots[of].as_mut() {
                    item.add_output(output);
                }
            }
            None => {}
        }
        slots.push(item);
    }
    // Calls are complete now, so their messages get copies of them.
    for at in 0..placed.len() {
        let Some(Item::FunctionCall(call)) = &slots[at] else {
            continue;
        };
        let call = call.clone();
        if let Some(Item::Message(message)) = placed[at].root.and_then(|to| slots[to].as_mut()) {
            message.function_calls.push(call);
        }
    }
    let numbered = slots.into_iter().zip(0..);
    numbered
        .filter_map(|(slot, at)| Some((slot?, at)))
        .collect()
}

/// Reads a cell as an item or an output; `None` for a cell that is neither.
fn read(placed: &[OwnedCell<'_>], here: &OwnedCell<'_>) -> Option<ItemOrOutput> {
    let cell = here.cell;
    let owner = here.owner.map(|at| placed[at].cell);
    if cell.is_ready() {
        return None;
    }
    match cell.role() {
        CellRole::User | CellRole::Code | CellRole::Raw | CellRole::UserBlock => {
            Some(ItemOrOutput::Item(Item::Message(prompt(cell))))
        }
        CellRole::ToolCall => Some(ItemOrOutput::Item(Item::FunctionCall(call(cell, owner)))),
        CellRole::ToolResult => {
            let call = owner?.name();
            let nonce = call.rsplit_once('.').map(|(_, nonce)| nonce.to_string());
            Some(ItemOrOutput::Output(here.owner?, answer(cell, nonce)))
        }
        CellRole::Reply | CellRole::Thinking => {
            Some(ItemOrOutput::Output(here.root?, answer(cell, None)))
        }
        CellRole::CodeOutput => Some(ItemOrOutput::Output(here.root?, code_output(cell))),
        CellRole::AgentDefinition
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

/// The values that messages and function calls have in common.
fn item_fields(cell: Cell<'_>) -> ItemFields {
    ItemFields {
        name: cell.name().into_owned(),
        timeout: cell.get(MetaKey::Timeout).and_then(seconds::parse),
        history: cell.history().unwrap_or_default(),
        heading_level: Some(cell.level()),
        outputs: Vec::new(),
    }
}

/// Reads a cell that a person wrote.
fn prompt(cell: Cell<'_>) -> PromptItem {
    let type_word = if cell.is_misplaced() {
        "markdown"
    } else {
        cell.type_word()
    };
    // Of messages, only a raw cell with a media type holds bytes.
    let is_base64 = cell.role() == CellRole::Raw && cell.get(MetaKey::MimeType).is_some();
    PromptItem {
        fields: item_fields(cell),
        type_word: type_word.to_string(),
        content: CellContent::of_cell(cell.content(), is_base64),
        mime_type: mime_type(cell),
        agent_name: cell
            .get(MetaKey::Agent)
            .filter(|name| !name.is_empty())
            .map(str::to_string),
        tool: cell.get(MetaKey::Tool).map(str::to_string),
        function_calls: Vec::new(),
    }
}

/// Reads the cell of a function call; `owner` is the cell that it belongs to. If the cell holds no valid call, its text
/// becomes the arguments.
fn call(cell: Cell<'_>, owner: Option<Cell<'_>>) -> CallItem {
    let text = cell.content();
    let (function_name, args) = match invoke::decode(&text) {
        Ok(invoke) => (invoke.name, invoke.arguments),
        // What cannot be read is kept as text.
        Err(_) => {
            let name = cell.get(MetaKey::Name).unwrap_or_default().to_string();
            (name, Arguments::Text(text.into_owned()))
        }
    };
    let mut fields = item_fields(cell);
    // A reply's history governs its calls.
    let reply = owner.filter(|owner| owner.role().is_reply());
    fields.history = cell
        .history()
        .or_else(|| reply?.history())
        .unwrap_or_default();
    CallItem {
        fields,
        function_name,
        args,
        ..CallItem::default()
    }
}

/// The media type of a cell, `text/plain` by default.
fn mime_type(cell: Cell<'_>) -> String {
    cell.get(MetaKey::MimeType)
        .unwrap_or(check::TEXT)
        .to_string()
}

/// The values that all outputs have.
fn plain_answer(cell: Cell<'_>) -> AnswerOutput {
    let text = |key| cell.get(key).map(str::to_string);
    let is_author = |word: &&str| cell.role().is_reply() && names_author(word);
    AnswerOutput {
        name: cell.name().into_owned(),
        agent_name: cell.written_type().filter(is_author).map(str::to_string),
        content: CellContent::of_cell(cell.content(), is_base64(cell)),
        mime_type: mime_type(cell),
        nonce: text(MetaKey::Nonce),
        status: text(MetaKey::Status),
        duration: cell.get(MetaKey::Duration).and_then(seconds::parse),
        time: text(MetaKey::Time),
        output_file: text(MetaKey::OutputFile),
    }
}

fn is_base64(cell: Cell<'_>) -> bool {
    cell.get(MetaKey::Encoding) == Some("base64")
}

/// Reads a reply or a result, which has the nonce of its call unless it has one of its own.
fn answer(cell: Cell<'_>, nonce_of_call: Option<String>) -> Output {
    let mut answer = plain_answer(cell);
    answer.nonce = answer.nonce.or(nonce_of_call);
    Output::Answer(answer)
}

/// Reads an output of code: the bytes of a picture, or what was printed.
fn code_output(cell: Cell<'_>) -> Output {
    let mut answer = plain_answer(cell);
    let lang = cell.written_type().unwrap_or_default().to_string();
    let content = cell.content();
    if answer.mime_type != check::TEXT
        && let Some(data) = base64::decode(&content).filter(|data| !data.is_empty())
    {
        answer.content = CellContent::Binary(data);
        return Output::Code(CodeOutput {
            answer,
            lang,
            chunks: Vec::new(),
        });
    }
    answer.mime_type = text_plain();
    let chunks = output::decode(&content, is_base64(cell)).0;
    Output::Code(CodeOutput::printed(answer, lang, &chunks))
}

/// A tool that code cells of a file define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The name of the first code cell that defines it.
    pub cell: String,
    /// The names of all its code cells, in order; they belong together.
    pub cells: Vec<String>,
    /// The language of the first.
    pub language: Option<String>,
}

/// The tools that a document defines, in the order of their first cells.
///
/// ````
/// use analects_formats::msgfile::{decode, item::tools};
///
/// let document = decode("# %% [^1]\n\n[^1]: [code] tool=\"double\"\n\n```python\ndef double(x): return 2 * x\n```\n");
/// let found = tools(&document);
/// assert_eq!((found[0].name.as_str(), found[0].cell.as_str()), ("double", "1"));
/// assert_eq!(found[0].language.as_deref(), Some("python"));
/// ````
pub fn tools(document: &Document) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for cell in document
        .cells()
        .filter(|cell| cell.role() == CellRole::Code)
    {
        let Some(name) = cell.get(MetaKey::Tool).filter(|name| !name.is_empty()) else {
            continue;
        };
        let cell_name = cell.name().into_owned();
        if let Some(at) = by_name.get(name) {
            tools[*at].cells.push(cell_name);
            continue;
        }
        by_name.insert(name.to_string(), tools.len());
        let content = cell.content();
        let language = code(&content)
            .ok()
            .and_then(|code| code.language.map(str::to_string));
        let cells = vec![cell_name.clone()];
        tools.push(Tool {
            name: name.to_string(),
            cell: cell_name,
            cells,
            language,
        });
    }
    tools
}
