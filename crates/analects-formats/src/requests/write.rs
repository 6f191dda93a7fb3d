//! Messages in, requests out: an object for each conversation, with what was said and what was lost.

use std::collections::HashSet;
use std::marker::PhantomData;

use analects_core::{
    Body, Content, History, Link, Message, MessageId, Raw, RawMap, SessionId, Tree, User,
};

use super::difference::{blocks, difference};
use super::read::{read_item, read_plain};
use super::{FOREIGN, FileShape, ITEM, RequestApi, RequestInfo, item_id, verbatim_key};
use crate::Loss;
use crate::convert::{FormatWriter, WriteOutput, is_derived_id};
use crate::transcript::OwnedLink;

/// Marks what is read back of a message that became several.
const SEVERAL: &str = "several";

/// Writes a file of requests.
pub(crate) struct RequestWriter<W> {
    /// Whether the file is to have one conversation a line.
    is_lines: bool,
    conversations: Vec<RequestDraft>,
    style: PhantomData<W>,
}

#[derive(Default)]
struct RequestDraft {
    session: SessionId,
    /// Whether others stood between its messages: then it falls into two.
    is_again: bool,
    facts: RequestInfo,
    /// Whether its source says that it was there, whatever is in it.
    is_said: bool,
    top: Option<(&'static str, Raw)>,
    /// What is said, each with the place of the message that says it.
    items: Vec<(usize, Raw)>,
    /// All messages in their order, for the way that leads to the last one.
    names: Vec<OwnedLink>,
    /// How many messages its reader will have found.
    ordinal: usize,
    last: Option<MessageId>,
}

impl<W: RequestApi> RequestWriter<W> {
    pub(crate) fn new(name: &str) -> RequestWriter<W> {
        let is_lines = name.ends_with(".jsonl");
        RequestWriter {
            is_lines,
            conversations: Vec::new(),
            style: PhantomData,
        }
    }

    /// The conversation that a message belongs to.
    fn conversation(&mut self, message: &Message, losses: &mut Vec<Loss>) -> &mut RequestDraft {
        let session = &message.session_id;
        let is_new = self
            .conversations
            .last()
            .is_none_or(|last| last.session != *session);
        if is_new {
            let is_again = self
                .conversations
                .iter()
                .any(|known| known.session == *session);
            let session = session.clone();
            self.conversations.push(RequestDraft {
                session,
                is_again,
                ..RequestDraft::default()
            });
        }
        let last = self.conversations.len() - 1;
        let conversation = &mut self.conversations[last];
        if conversation.is_again || !is_derived_id(session) {
            let why = "a conversation is named by its file and its place in it";
            losses.push(Loss::of(&message.id, "session_id", why));
        }
        conversation
    }
}

impl<W: RequestApi> FormatWriter for RequestWriter<W> {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let conversation = self.conversation(message, &mut out.losses);
        conversation.push::<W>(message, &mut out.losses);
    }

    fn finish(mut self: Box<Self>, out: &mut WriteOutput) {
        for conversation in &mut self.conversations {
            conversation.leave_out_branches(&mut out.losses);
        }
        // One of which nothing could be said.
        self.conversations
            .retain(|c| c.is_said || c.top.is_some() || !c.items.is_empty());
        let shapes: Vec<Option<FileShape>> =
            self.conversations.iter().map(|c| c.facts.shape).collect();
        let shape = match shapes.as_slice() {
            [Some(one)] => Some(*one),
            several => several
                .iter()
                .all(|shape| *shape == Some(FileShape::List))
                .then_some(FileShape::List),
        };
        let shape = shape.filter(|_| !self.conversations.is_empty());
        let fits = |c: &&RequestDraft| match shape {
            Some(FileShape::Array | FileShape::Lines) => {
                c.top.is_none() && c.facts.fields.is_empty()
            }
            _ => true,
        };
        let shape = shape.filter(|_| self.conversations.iter().all(|c| fits(&c)));
        if shapes.iter().any(|said| said.is_some() && *said != shape) {
            let why = "the file holds its messages in another way";
            out.losses.push(Loss::of_session("shape", why));
        }
        out.bytes
            .extend(file(&self.conversations, shape, self.is_lines).into_bytes());
    }
}

/// The text of a file.
fn file(conversations: &[RequestDraft], shape: Option<FileShape>, is_lines: bool) -> String {
    let each = |write: fn(&RequestDraft) -> String| -> Vec<String> {
        conversations.iter().map(write).collect()
    };
    match (shape, conversations) {
        (Some(FileShape::List), _) => format!("[\n{}\n]\n", each(RequestDraft::line).join(",\n")),
        (Some(FileShape::Array), [one]) => format!("{}\n", list(&one.items, "\n")),
        (Some(FileShape::Lines), [one]) => one
            .items
            .iter()
            .map(|(_, item)| format!("{}\n", item.as_str()))
            .collect(),
        (_, []) => "{\"messages\":[]}\n".to_string(),
        (_, [one]) if !is_lines => format!("{}\n", one.object("\n")),
        _ => format!("{}\n", each(RequestDraft::line).join("\n")),
    }
}

/// A list of messages, with `end` after each.
fn list(items: &[(usize, Raw)], end: &str) -> String {
    let items: Vec<&str> = items.iter().map(|(_, item)| item.as_str()).collect();
    if items.is_empty() {
        return "[]".to_string();
    }
    format!("[{end}{}{end}]", items.join(&format!(",{end}")))
}

impl RequestDraft {
    fn line(&self) -> String {
        self.object("")
    }

    fn object(&self, end: &str) -> String {
        let mut fields = RawMap::new();
        for (key, value) in self.facts.fields.iter() {
            fields.push_raw(key.clone(), value.clone());
        }
        if let Some((key, value)) = &self.top {
            fields.push(key, value.clone());
        }
        let mut text = fields.to_raw().as_str().to_string();
        text.pop();
        let comma = if fields.is_empty() { "" } else { "," };
        format!("{text}{comma}\"messages\":{}}}", list(&self.items, end))
    }

    fn push<W: RequestApi>(&mut self, message: &Message, losses: &mut Vec<Loss>) {
        self.names.push(OwnedLink::of(&Link::of(message)));
        let is_first = self.ordinal == 0 && self.last.is_none();
        if is_first && let Some(facts) = RequestInfo::of::<W>(message) {
            (self.facts, self.is_said) = (facts, true);
            self.last = Some(message.id.clone());
            return;
        }
        if message.history == History::Exclude {
            let why = "the model does not see it, so it is left out";
            losses.push(Loss::of(&message.id, "message", why));
            return;
        }
        if message.is_api_error_message {
            let why = "it is an error, which the model does not see, so it is left out";
            losses.push(Loss::of(&message.id, "message", why));
            return;
        }
        let before = self.last.replace(message.id.clone());
        let read = self.write::<W>(message);
        let Some(mut read) = read else {
            let name = Some(message.body.type_name()).filter(|name| !name.is_empty());
            let why = "there is no place for such a message; it is left out";
            losses.push(Loss::of(&message.id, name.unwrap_or("message"), why));
            return;
        };
        read.session_id = message.session_id.clone();
        if message.parent_id == before {
            read.parent_id = before;
        }
        if read.unknown.remove(SEVERAL).is_some() {
            let why = "it becomes several: results of tools are messages of their own";
            losses.push(Loss::of(&message.id, "message", why));
        }
        losses.extend(difference(message, &read));
    }

    /// A request is one conversation: what was dropped, what was abandoned for another branch, and side chains, have
    /// no place in it.
    fn leave_out_branches(&mut self, losses: &mut Vec<Loss>) {
        let tree = Tree::new(self.names.iter().map(OwnedLink::link).collect());
        let Some(leaf) = tree.leaf(None) else { return };
        let path: HashSet<usize> = tree.ancestors(leaf).collect();
        // Where nobody says what follows what, everything is one conversation.
        let has_links = (0..tree.len()).any(|at| tree.parent(at).is_some());
        let why_not = |at: usize| match () {
            () if tree.link(at).agent.is_some() => Some("it is in a side chain, so it is left out"),
            () if tree.is_hidden(at) => Some("it was dropped, so it is left out"),
            () if has_links && !path.contains(&at) => {
                Some("it is on another branch, so it is left out")
            }
            () => None,
        };
        let said = self.items.iter().map(|(at, _)| *at);
        let mut lost: Vec<(usize, &str)> = said
            .filter_map(|at| why_not(at).map(|why| (at, why)))
            .collect();
        lost.dedup();
        self.items.retain(|(at, _)| why_not(*at).is_none());
        for (at, why) in lost {
            losses.push(Loss::of(&tree.link(at).id.into(), "message", why));
        }
    }

    /// Writes a message; gives what is read back of it, if anything is.
    fn write<W: RequestApi>(&mut self, message: &Message) -> Option<Message> {
        if self.ordinal == 0
            && let Some((key, value)) = W::write_top(message)
        {
            let mut map = RawMap::new();
            map.push(key, value.clone());
            let mut fields = crate::chatmd::session_json::FieldReader::of(&map);
            if let Some(read) = W::read_top(&mut fields) {
                self.top = Some((key, value));
                self.ordinal += 1;
                return Some(self.named::<W>(read, message));
            }
        }
        let items = write_item::<W>(message);
        let mut read = read_item::<W>(items.first()?);
        self.ordinal += 1;
        read = self.named::<W>(read, message);
        self.ordinal += items.len() - 1;
        if items.len() > 1 {
            // None of what is read back is this message, but together they may say what it says.
            let said = items.iter().flat_map(|item| blocks(&read_item::<W>(item)));
            let said = Content::Blocks(said.collect());
            read.body = Body::User(User {
                content: said,
                ..User::default()
            });
            read.unknown.push(SEVERAL, Raw::empty_object());
        }
        let at = self.names.len() - 1;
        self.items.extend(items.into_iter().map(|item| (at, item)));
        Some(read)
    }

    /// Gives a message the name that it will have; its own, if that is the same.
    fn named<W: RequestApi>(&self, mut read: Message, message: &Message) -> Message {
        read.id = item_id::<W>(&message.session_id, self.ordinal);
        read
    }
}

/// The messages of the API that say this one.
fn write_item<W: RequestApi>(message: &Message) -> Vec<Raw> {
    if let Some(item) = foreign(message) {
        return vec![item];
    }
    let key = verbatim_key::<W>();
    if let Some(raw) = message.extra.get(&key) {
        let mut plain = read_plain::<W>(raw);
        if let Some(plain) = &mut plain {
            plain.extra.push(&key, raw.clone());
        }
        let is_same = |plain: &Message| plain.body == message.body && plain.extra == message.extra;
        if plain.as_ref().is_some_and(is_same) {
            return vec![raw.clone()];
        }
    }
    write_plain::<W>(message)
}

/// The same, field by field.
pub(super) fn write_plain<W: RequestApi>(message: &Message) -> Vec<Raw> {
    let mut items = W::write(message);
    let extra = message
        .extra
        .get(W::ID)
        .and_then(Raw::as_object)
        .unwrap_or_default();
    if let [one] = items.as_mut_slice() {
        for (key, value) in extra.iter() {
            one.push_raw(key.clone(), value.clone());
        }
    }
    items.iter().map(RawMap::to_raw).collect()
}

/// The message of the API that a message of a role that nobody knows stands for.
fn foreign(message: &Message) -> Option<Raw> {
    let Body::Other(other) = &message.body else {
        return None;
    };
    let is_foreign = other.type_name.as_deref() == Some(FOREIGN);
    message.unknown.get(ITEM).filter(|_| is_foreign).cloned()
}
