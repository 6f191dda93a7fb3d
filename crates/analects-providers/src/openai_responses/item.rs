//! An item of the output in the making: a message with its parts, a thought, a call, or one of a
//! type that is kept verbatim. Whatever was told in pieces, the whole item at the end has the last
//! word.

use std::collections::BTreeMap;

use analects_core::{self as core, BlockStart, Json, Raw, RawMap, StreamEvent, Text};

use super::block::{Block, Kind, Piece};
use crate::reading::{Rest, filled, take, word};

/// What an item needs to know of the answer, and what it gives to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// The provider's name for the answer.
    pub id: Option<String>,
    pub next_index: usize,
    /// Whether the model refused, and whether it waits for the results of calls.
    pub refused: bool,
    pub called: bool,
}

/// An item of the output.
#[derive(Debug, Clone)]
pub(super) struct Item {
    form: Form,
    /// Its fields that have no place in a block: kept with its first block.
    rest: RawMap,
    /// Events about it that the whole item says better.
    pub pending: Vec<Raw>,
    /// Texts of the whole that are not what was told.
    pub differing: Vec<Raw>,
    pub done: bool,
}

#[derive(Debug, Clone)]
enum Form {
    Message {
        parts: Parts,
    },
    Thought {
        block: Block,
        part: Option<(Thought, u64)>,
    },
    Call {
        block: Block,
        id: String,
        name: String,
        whole: Option<Text>,
    },
    Other {
        index: usize,
    },
}

/// Parts by their numbers.
type Parts = BTreeMap<u64, Part>;

/// A part of a message; `block` is missing where it is kept verbatim.
#[derive(Debug, Clone)]
struct Part {
    index: usize,
    block: Option<Block>,
    refusal: bool,
    rest: Rest,
}

/// Where the words of a thought come from; of an item that has both, the first is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thought {
    Summary,
    Content,
}

impl Item {
    /// Begins the item. `raw` may be all of it, or no more than its type and its name.
    pub fn start(raw: &Raw, answer: &mut Answer, out: &mut Vec<StreamEvent>) -> Item {
        let map = raw.as_object().unwrap_or_default();
        let kind = word(&map, "type").unwrap_or_default();
        let form = match kind.as_str() {
            "message" => Form::Message {
                parts: Parts::new(),
            },
            "reasoning" => {
                let index = answer.block(BlockStart::Thinking, out);
                Form::Thought {
                    block: Block::new(index, Kind::Thinking),
                    part: None,
                }
            }
            "function_call" => call(&map, answer, out),
            _ => Form::Other {
                index: answer.block(verbatim(raw), out),
            },
        };
        let mut item = Item {
            form,
            rest: RawMap::new(),
            pending: Vec::new(),
            differing: Vec::new(),
            done: false,
        };
        item.keep_rest(&map);
        item
    }

    /// The type of item, as the API names it, where it is one that is read.
    pub fn is_like(&self, raw: &Raw) -> bool {
        match raw.kind().as_deref() {
            Some("message") => matches!(self.form, Form::Message { .. }),
            Some("reasoning") => matches!(self.form, Form::Thought { .. }),
            Some("function_call") => matches!(self.form, Form::Call { .. }),
            _ => matches!(self.form, Form::Other { .. }),
        }
    }

    /// Adds to a text or, if `refusal` says so, to a refusal. `false` if this is no message.
    pub fn add_text(
        &mut self,
        number: Option<u64>,
        refusal: bool,
        piece: &Piece,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let Form::Message { parts } = &mut self.form else {
            return false;
        };
        let part = part(parts, number, Some(refusal), answer, out);
        let Some(block) = &mut part.block else {
            return false;
        };
        block.take(piece, out);
        true
    }

    /// Adds to a thought. `false` if this is none, or if it shows other words.
    pub fn add_thought(
        &mut self,
        source: Thought,
        number: Option<u64>,
        piece: &Text,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let Form::Thought { block, part } = &mut self.form else {
            return false;
        };
        let last = part.map(|(_, number)| number);
        let next = (source, number.or(last).unwrap_or(0));
        if part.is_some_and(|(shown, _)| shown != source) {
            return false;
        }
        if part.is_some_and(|part| part != next) {
            block.add(&GAP.into(), out);
        }
        *part = Some(next);
        block.add(piece, out);
        true
    }

    /// Adds to the arguments of a call. `false` if this is none.
    pub fn add_arguments(&mut self, piece: &Piece, out: &mut Vec<StreamEvent>) -> bool {
        let Form::Call { block, .. } = &mut self.form else {
            return false;
        };
        block.take(piece, out);
        true
    }

    /// Takes the whole item and ends it.
    pub fn finish(&mut self, raw: &Raw, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        let map = raw.as_object().unwrap_or_default();
        self.keep_rest(&map);
        self.pending.clear();
        match &mut self.form {
            Form::Message { parts } => {
                let content = map
                    .get("content")
                    .and_then(Raw::as_array)
                    .unwrap_or_default();
                for (number, raw) in (0..).zip(&content) {
                    self.differing
                        .extend(finish_part(parts, number, raw, answer, out));
                }
            }
            Form::Thought { block, part } => {
                let shown = part.map(|(source, _)| source);
                if let Some(words) = words(&map, shown) {
                    self.differing.extend(block.complete(&words, out));
                }
                if let Some(seal) = word(&map, "encrypted_content") {
                    let delta = core::Delta::Signature(seal);
                    out.push(StreamEvent::BlockDelta {
                        index: block.index,
                        delta,
                    });
                }
            }
            Form::Call {
                block, name, whole, ..
            } => {
                if let Some(arguments) = map.get("arguments").and_then(Text::from_raw) {
                    // If a piece got lost on the way, the whole arguments are still the right ones.
                    *whole = block.complete(&arguments, out).map(|_| arguments);
                }
                if let Some(told) = word(&map, "name") {
                    *name = told;
                }
            }
            Form::Other { index } => {
                let block = verbatim(raw);
                out.push(StreamEvent::BlockStart {
                    index: *index,
                    block,
                });
            }
        }
        let cut = word(&map, "status").is_some_and(|status| status != "completed");
        self.close(!cut, answer, out);
    }

    /// Ends the item without having seen the whole. A call that may be cut off stays open: half its
    /// arguments are no call.
    pub fn close(&mut self, whole: bool, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        self.flush(out);
        self.done = true;
        match &mut self.form {
            Form::Message { parts } => {
                for part in parts.values() {
                    answer.refused |= part.refusal;
                    out.push(StreamEvent::BlockStop { index: part.index });
                }
            }
            Form::Call {
                block,
                id,
                name,
                whole: arguments,
            } => {
                if whole {
                    answer.called = true;
                    let arguments = arguments.as_ref().unwrap_or(block.told());
                    end_call(block.index, id, name, arguments, out);
                }
            }
            Form::Thought {
                block: Block { index, .. },
                ..
            }
            | Form::Other { index } => {
                out.push(StreamEvent::BlockStop { index: *index });
            }
        }
    }

    /// Gives everything that was held back; blocks stay open.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        if self.done {
            return;
        }
        match &mut self.form {
            Form::Message { parts } => parts.values_mut().for_each(|part| part.flush(out)),
            Form::Thought { block, .. } | Form::Call { block, .. } => block.flush(out),
            Form::Other { .. } => {}
        }
        let rest = std::mem::take(&mut self.rest);
        if let Some(index) = self.first_block().filter(|_| !rest.is_empty()) {
            let (key, value) = ("item".to_string(), rest.to_raw());
            out.push(StreamEvent::BlockExtra { index, key, value });
        }
    }

    /// Its first block that has a place for fields.
    fn first_block(&self) -> Option<usize> {
        match &self.form {
            Form::Message { parts } => parts
                .values()
                .find(|part| part.block.is_some())
                .map(|part| part.index),
            Form::Thought { block, .. } | Form::Call { block, .. } => Some(block.index),
            Form::Other { .. } => None,
        }
    }

    /// Begins a part of a message, of a type that may be known by now.
    pub fn start_part(
        &mut self,
        number: Option<u64>,
        raw: &Raw,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let parts = match &mut self.form {
            Form::Message { parts } => parts,
            // The summary of a thought and its parts come with their own deltas.
            Form::Thought { .. } => return true,
            Form::Call { .. } | Form::Other { .. } => return false,
        };
        let refusal = match raw.kind().as_deref() {
            Some("output_text" | "text") => false,
            Some("refusal") => true,
            _ => return false,
        };
        part(parts, number, Some(refusal), answer, out);
        true
    }

    /// The fields that have no other place. The last that are told count.
    fn keep_rest(&mut self, map: &RawMap) {
        let mut rest = take(map, |key, value| match (&self.form, key) {
            (Form::Other { .. }, _) | (_, "type") => true,
            (Form::Message { .. }, "role") => value.as_str() == "\"assistant\"",
            (Form::Message { .. }, "content") => value.as_array().is_some(),
            (Form::Thought { .. }, "encrypted_content") => filled(value).is_some(),
            (Form::Thought { .. }, "summary" | "content") => true,
            (Form::Call { id, .. }, "call_id") => filled(value).as_ref() == Some(id),
            (Form::Call { .. }, "name" | "arguments") => Text::from_raw(value).is_some(),
            _ => false,
        });
        if let Form::Thought { .. } = self.form {
            rest.extend(unspoken(map));
        }
        self.rest = rest.into_iter().collect();
    }
}

impl Answer {
    fn block(&mut self, block: BlockStart, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        out.push(StreamEvent::BlockStart { index, block });
        index
    }
}

impl Part {
    /// Gives what was held back, and its fields.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let index = self.index;
        if let Some(block) = &mut self.block {
            block.flush(out);
        }
        let mut extra = |key: &str, value| {
            out.push(StreamEvent::BlockExtra {
                index,
                key: key.to_string(),
                value,
            });
        };
        if self.refusal {
            extra("refusal", true.into());
        }
        let mut more = RawMap::new();
        for (key, value) in std::mem::take(&mut self.rest) {
            match key.as_str() {
                _ if value.as_str() == "[]" => {}
                "annotations" | "logprobs" => extra(&key, value),
                _ => more.push(&key, value),
            }
        }
        if !more.is_empty() {
            extra("part", more.to_raw());
        }
    }
}

/// A block that is kept as it is. What looks like one of the core's blocks and is none is wrapped,
/// or a reader of the record would take it for one.
fn verbatim(raw: &Raw) -> BlockStart {
    if let Ok(core::Block::Other(_)) = core::Block::read(raw, &mut Vec::new()) {
        return BlockStart::Other(raw.clone());
    }
    let wrapped = RawMap::from([("type", Raw::string("openai_item")), ("item", raw.clone())]);
    BlockStart::Other(wrapped.to_raw())
}

/// What stands between the parts of a thought.
const GAP: &str = "\n\n";

fn call(map: &RawMap, answer: &mut Answer, out: &mut Vec<StreamEvent>) -> Form {
    let given = ["call_id", "id"]
        .iter()
        .find_map(|key| filled(map.get(key)?));
    // A call that its server did not name gets a name that no other answer uses.
    let made = || {
        format!(
            "call_{}_{}",
            answer.id.as_deref().unwrap_or_default(),
            answer.next_index
        )
    };
    let id = given.unwrap_or_else(made);
    let name = word(map, "name").unwrap_or_default();
    let index = answer.block(
        BlockStart::ToolUse {
            id: id.clone(),
            name: name.clone(),
        },
        out,
    );
    Form::Call {
        block: Block::new(index, Kind::Arguments),
        id,
        name,
        whole: None,
    }
}

fn end_call(index: usize, id: &str, name: &str, arguments: &Text, out: &mut Vec<StreamEvent>) {
    let json = arguments.as_str();
    let json = if json.trim().is_empty() { "{}" } else { &json };
    // Arguments that are not JSON stay as the text of the deltas; folding marks them.
    if let Ok(input) = Raw::parse(json) {
        let (id, name) = (id.to_string(), name.to_string());
        out.push(StreamEvent::ToolUse {
            index,
            id,
            name,
            input,
        });
    }
    out.push(StreamEvent::BlockStop { index });
}

/// The part of that number; without a number, the last. `refusal` says whether a new one would be a
/// text or a refusal; it is kept verbatim where this is `None`.
fn part<'a>(
    parts: &'a mut Parts,
    number: Option<u64>,
    refusal: Option<bool>,
    answer: &mut Answer,
    out: &mut Vec<StreamEvent>,
) -> &'a mut Part {
    let last = parts.last_key_value().map(|(number, _)| *number);
    parts
        .entry(number.or(last).unwrap_or(0))
        .or_insert_with(|| {
            let index = match refusal {
                Some(_) => answer.block(BlockStart::Text, out),
                None => answer.next_index,
            };
            let block = refusal.map(|_| Block::new(index, Kind::Text));
            Part {
                index,
                block,
                refusal: refusal.unwrap_or_default(),
                rest: Rest::new(),
            }
        })
}

/// Takes a whole part; gives its text back where that is not what was told.
fn finish_part(
    parts: &mut Parts,
    number: u64,
    raw: &Raw,
    answer: &mut Answer,
    out: &mut Vec<StreamEvent>,
) -> Option<Raw> {
    let map = raw.as_object().unwrap_or_default();
    let field = match word(&map, "type").as_deref() {
        Some("output_text" | "text") => Some("text"),
        Some("refusal") => Some("refusal"),
        _ => None,
    };
    let text = field
        .and_then(|field| map.get(field))
        .and_then(Text::from_raw);
    let (Some(field), Some(text)) = (field, text) else {
        let part = part(parts, Some(number), None, answer, out);
        part.index = answer.block(verbatim(raw), out);
        return None;
    };
    let part = part(parts, Some(number), Some(field == "refusal"), answer, out);
    part.rest = take(&map, |key, _| key == "type" || key == field);
    part.block
        .as_mut()
        .and_then(|block| block.complete(&text, out))
}

/// The words of a thought: its summary or, where there is none, what it holds in plain text.
fn words(map: &RawMap, shown: Option<Thought>) -> Option<Text> {
    let texts = |key: &str| {
        let parts = map.get(key).and_then(Raw::as_array).unwrap_or_default();
        let texts = parts
            .iter()
            .filter_map(|part| Text::from_raw(part.as_object()?.get("text")?));
        texts.reduce(|mut all, text| {
            all.push(&GAP.into());
            all.push(&text);
            all
        })
    };
    match shown {
        Some(Thought::Summary) => texts("summary"),
        Some(Thought::Content) => texts("content"),
        None => texts("summary").or_else(|| texts("content")),
    }
}

/// What a thought holds beyond the words that are shown, so that it can go back as it came: see
/// `encode`, which makes a summary of one part out of the words.
fn unspoken(map: &RawMap) -> Rest {
    let mut rest = Rest::new();
    let content = map
        .get("content")
        .filter(|raw| !matches!(raw.as_str(), "null" | "[]"));
    let summary = map.get("summary").filter(|raw| raw.as_str() != "null");
    let plain = summary.and_then(plain_summary);
    if let Some(summary) = summary.filter(|_| plain.is_none() || content.is_some()) {
        rest.push(("summary".to_string(), summary.clone()));
    }
    if let Some(content) = content {
        let summary = summary
            .is_none()
            .then(|| ("summary".to_string(), Raw::array(&[])));
        rest.extend(summary);
        rest.push(("content".to_string(), content.clone()));
    }
    rest
}

/// Nothing, or one part with a text and nothing else.
fn plain_summary(summary: &Raw) -> Option<()> {
    let parts = summary.as_array()?;
    let [part] = parts.as_slice() else {
        return parts.is_empty().then_some(());
    };
    let map = part.as_object()?;
    let kind = word(&map, "type")?;
    let text = Text::from_raw(map.get("text")?)?;
    (map.len() == 2 && kind == "summary_text" && !text.is_empty()).then_some(())
}
