//! Writes requests: one object per conversation. What a message loses is found by reading it back.

use std::collections::HashSet;
use std::marker::PhantomData;

use analects_core::{
    Assistant, Body, Content, History, Link, Message, Raw, RawMap, SessionId, System, Tree, User,
    replace_lone_surrogates,
};

use super::order::in_order;
use super::read::{read_item, read_plain};
use super::{
    FOREIGN_FIELD, FOREIGN_TYPE, FileShape, RequestApi, RequestInfo, message_id, verbatim_key,
};
use crate::chatmd::session_json::FieldReader;
use crate::convert::{FormatWriter, WriteOutput};
use crate::losses::difference::{blocks, difference, is_applied, state_losses};
use crate::losses::facts::answering_agent;
use crate::losses::is_made_up;
use crate::transcript::OwnedLink;
use crate::{Loss, LossKind};

/// Marks what is read back of a message that became several messages of the API.
const SEVERAL: &str = "several";

/// Writes a file of requests.
pub(crate) struct RequestWriter<A> {
    /// Whether the file is to have one conversation per line.
    is_lines: bool,
    /// The requests, in the order of their first messages.
    requests: Vec<RequestDraft>,
    api: PhantomData<A>,
}

/// The request of one conversation.
#[derive(Default)]
struct RequestDraft {
    /// The session of its messages.
    session: SessionId,
    /// What its source says about the request.
    info: RequestInfo,
    /// Whether the source had information about the request, so that the request is written even if it is empty.
    has_info: bool,
    /// The system prompt as a field of the request.
    system: Option<(&'static str, Raw)>,
    /// The messages of the API so far.
    items: Vec<RequestItem>,
    /// The links of all messages so far, to find the branch that leads to the last one.
    links: Vec<OwnedLink>,
    /// How many messages a reader of the request finds.
    count: usize,
    /// Whether any of its messages is not from a file of this API, or stood at another place in it.
    has_foreign: bool,
    /// Whether there was a message that is not a change of state.
    is_begun: bool,
    /// The changes of state, which have no place among the messages.
    states: Vec<Message>,
    /// The author of the last answer.
    last_author: Option<String>,
}

/// A message of the API.
struct RequestItem {
    /// The position of its message in `links`.
    at: usize,
    json: Raw,
}

impl<A: RequestApi> RequestWriter<A> {
    /// Creates a writer. A name that ends with `.jsonl` asks for one conversation per line.
    pub(crate) fn new(name: &str) -> RequestWriter<A> {
        RequestWriter {
            is_lines: name.ends_with(".jsonl"),
            requests: Vec::new(),
            api: PhantomData,
        }
    }

    /// Returns the request that a message belongs to, which is the last one, or a new one.
    fn request(&mut self, message: &Message, losses: &mut Vec<Loss>) -> &mut RequestDraft {
        let session = &message.session_id;
        let last = self.requests.last();
        if last.is_none_or(|last| last.session != *session) {
            let is_continued = self.requests.iter().any(|known| known.session == *session);
            if is_continued || !is_made_up(session) {
                let why = "a conversation is named by its file and its place in it";
                losses.push(Loss::of_session("session_id", why));
            }
            self.requests.push(RequestDraft {
                session: session.clone(),
                ..RequestDraft::default()
            });
        }
        let last = self.requests.len() - 1;
        &mut self.requests[last]
    }

    /// Returns the shape of the file that its conversations came from, if the file can have it.
    fn shape(&self) -> Option<FileShape> {
        let shape = self.stated_shape()?;
        let has_objects = !matches!(shape, FileShape::Array | FileShape::Lines);
        let can_have = has_objects || self.requests.iter().all(RequestDraft::is_bare);
        can_have.then_some(shape)
    }

    /// Returns the shape that all conversations agree on.
    fn stated_shape(&self) -> Option<FileShape> {
        let is_list = |request: &RequestDraft| request.info.shape == Some(FileShape::List);
        match self.requests.as_slice() {
            [] => None,
            [one] => one.info.shape,
            several => several.iter().all(is_list).then_some(FileShape::List),
        }
    }

    /// Returns the text of the file.
    fn encode(&self, shape: Option<FileShape>) -> String {
        let lines = self.requests.iter().map(|request| request.encode(""));
        let lines: Vec<String> = lines.collect();
        match (shape, self.requests.as_slice()) {
            (Some(FileShape::List), _) => format!("[\n{}\n]\n", lines.join(",\n")),
            (Some(FileShape::Array), [one]) => format!("{}\n", one.encode_items("\n")),
            (Some(FileShape::Lines), [one]) => one.encode_lines(),
            (_, []) => "{\"messages\":[]}\n".to_string(),
            (_, [one]) if !self.is_lines => format!("{}\n", one.encode("\n")),
            _ => format!("{}\n", lines.join("\n")),
        }
    }
}

impl<A: RequestApi> FormatWriter for RequestWriter<A> {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let request = self.request(message, &mut out.losses);
        request.push::<A>(message, &mut out.losses);
    }

    fn finish(mut self: Box<Self>, out: &mut WriteOutput) {
        for request in &mut self.requests {
            request.leave_out_branches(&mut out.losses);
            request.put_in_order::<A>(&mut out.losses);
            request.write_states::<A>(&mut out.losses);
        }
        self.requests.retain(|request| !request.is_empty());
        let shape = self.shape();
        let mut stated = self.requests.iter().map(|request| request.info.shape);
        if stated.any(|stated| stated.is_some() && stated != shape) {
            let why = "the file holds its messages in another way";
            out.losses.push(Loss::of_session("shape", why));
        }
        out.bytes.extend(self.encode(shape).into_bytes());
    }
}

impl RequestDraft {
    /// Returns whether nothing of the conversation can be written.
    fn is_empty(&self) -> bool {
        !self.has_info && self.system.is_none() && self.items.is_empty()
    }

    /// Returns whether it has nothing but messages.
    fn is_bare(&self) -> bool {
        self.system.is_none() && self.info.fields.is_empty()
    }

    /// Encodes the request as an object, with `line_end` after each message.
    fn encode(&self, line_end: &str) -> String {
        let mut fields = self.info.fields.clone();
        if let Some((key, value)) = &self.system {
            fields.push(key, value.clone());
        }
        let mut text = fields.to_raw().as_str().to_string();
        text.pop();
        let comma = if fields.is_empty() { "" } else { "," };
        format!(
            "{text}{comma}\"messages\":{}}}",
            self.encode_items(line_end)
        )
    }

    /// Encodes the messages as a list, with `line_end` after each.
    fn encode_items(&self, line_end: &str) -> String {
        if self.items.is_empty() {
            return "[]".to_string();
        }
        let items: Vec<&str> = self.items.iter().map(|item| item.json.as_str()).collect();
        let items = items.join(&format!(",{line_end}"));
        format!("[{line_end}{items}{line_end}]")
    }

    /// Encodes the messages on lines of their own.
    fn encode_lines(&self) -> String {
        let mut lines = String::new();
        for item in &self.items {
            lines.push_str(item.json.as_str());
            lines.push('\n');
        }
        lines
    }

    /// Writes a message, and reports what it loses.
    fn push<A: RequestApi>(&mut self, message: &Message, losses: &mut Vec<Loss>) {
        self.links.push(OwnedLink::of(&Link::of(message)));
        let is_first = !self.is_begun && !self.has_info;
        if is_first && let Some(info) = RequestInfo::from_message::<A>(message) {
            self.info = info;
            self.has_info = true;
            return;
        }
        if matches!(message.body, Body::State(_)) {
            return self.states.push(message.clone());
        }
        self.is_begun = true;
        if matches!(message.body, Body::Assistant(_)) {
            self.last_author.clone_from(&message.author);
        }
        if let Some(why) = why_not_sent(message) {
            losses.push(Loss::of(&message.id, "message", why));
            return;
        }
        let Some(mut read) = self.write::<A>(message) else {
            if !is_applied(message) {
                losses.extend(left_out(message));
            }
            return;
        };
        self.has_foreign |= read.id != message.id;
        read.session_id = message.session_id.clone();
        // Whom it follows is known when all other branches are left out.
        read.parent_id.clone_from(&message.parent_id);
        if read.unknown.remove(SEVERAL).is_some() {
            let why = "results of tools become messages of their own";
            losses.push(Loss::of(&message.id, "grouping", why));
        }
        losses.extend(difference(message, &read));
    }

    /// Writes the system prompt of the agent that answers, and reports what else changes of state say.
    fn write_states<A: RequestApi>(&mut self, losses: &mut Vec<Loss>) {
        for state in std::mem::take(&mut self.states) {
            let count = losses.len();
            losses.extend(state_losses(&state, None));
            if let Body::State(change) = &state.body
                && let Some(agent) = answering_agent(&change.changes, self.last_author.as_deref())
                && let Some(prompt) = &agent.system_prompt
                && self.add_prompt::<A>(prompt)
            {
                let taken = format!("system_prompt {}", agent.name);
                losses
                    .retain(|loss| loss.message.as_ref() != Some(&state.id) || loss.what != taken);
            } else if losses.len() == count && !is_made_up(&state.id) {
                let why = "there is no place for such a message; it is left out";
                losses.push(Loss::of(&state.id, "state", why));
            }
        }
    }

    /// Puts a system prompt before all messages. Returns whether the API has a place for it.
    fn add_prompt<A: RequestApi>(&mut self, prompt: &str) -> bool {
        let body = Body::System(System {
            content: Content::from(prompt),
        });
        let message = Message::new("", body);
        let Some((key, prompt)) = A::write_system(&message) else {
            let items = write_item::<A>(&message);
            let is_written = !items.is_empty();
            let items = items.into_iter().map(|json| RequestItem { at: 0, json });
            self.items.splice(0..0, items);
            return is_written;
        };
        let system = match self.system.take() {
            None => prompt,
            Some((_, other)) => joined_prompts(&prompt, &other),
        };
        self.system = Some((key, system));
        true
    }

    /// Removes what is not on the branch that leads to the last message: a request is one conversation.
    fn leave_out_branches(&mut self, losses: &mut Vec<Loss>) {
        let tree = Tree::new(self.links.iter().map(OwnedLink::link).collect());
        let Some(leaf) = tree.leaf(None) else { return };
        let branch: HashSet<usize> = tree.ancestors(leaf).collect();
        // Without any links, all messages are one conversation.
        let has_links = (0..tree.len()).any(|at| tree.parent(at).is_some());
        let mut last_lost = None;
        for item in std::mem::take(&mut self.items) {
            let is_elsewhere = has_links && !branch.contains(&item.at);
            let Some(why) = why_off_branch(&tree, item.at, is_elsewhere) else {
                self.items.push(item);
                continue;
            };
            // Several items may be of one message.
            if last_lost != Some(item.at) {
                last_lost = Some(item.at);
                losses.push(Loss::of(&tree.link(item.at).id.into(), "message", why));
            }
        }
        self.report_parents(&tree, has_links, losses);
    }

    /// Reports messages that follow another one than the message before them in the request.
    fn report_parents(&self, tree: &Tree, has_links: bool, losses: &mut Vec<Loss>) {
        let mut written: Vec<usize> = self.items.iter().map(|item| item.at).collect();
        written.dedup();
        for at in &written {
            let follows_other = !tree.link(*at).parent.unwrap_or_default().is_empty();
            if follows_other && tree.parent(*at).is_none() {
                let why = "the message that it follows is not in the file";
                losses.push(Loss::of(&tree.link(*at).id.into(), "parent_id", why));
            }
        }
        if !has_links {
            return;
        }
        let is_written: HashSet<usize> = written.iter().copied().collect();
        for pair in written.windows(2) {
            let [before, at] = *pair else { continue };
            let mut ancestors = tree.ancestors(at).skip(1);
            if ancestors.find(|at| is_written.contains(at)) != Some(before) {
                let why = "messages follow one another; branches have no place";
                losses.push(Loss::of(&tree.link(at).id.into(), "parent_id", why));
            }
        }
    }

    /// Puts the messages into an order that the API accepts. What is from a file of this API stays as it was.
    fn put_in_order<A: RequestApi>(&mut self, losses: &mut Vec<Loss>) {
        if !self.has_foreign {
            return;
        }
        let items = std::mem::take(&mut self.items).into_iter();
        let items = items.map(|item| (item.at, item.json.as_object().unwrap_or_default()));
        let (items, changes) = in_order::<A>(items.collect());
        for change in changes {
            losses.push(match change.at.and_then(|at| self.links.get(at)) {
                Some(link) => Loss::of(&link.link().id.into(), change.what, change.why),
                None => Loss::of_session(change.what, change.why),
            });
        }
        let items = items.into_iter().map(|(at, item)| RequestItem {
            at,
            json: item.to_raw(),
        });
        self.items = items.collect();
    }

    /// Writes a message, and returns what is read back. `None` if the API has no place for it.
    fn write<A: RequestApi>(&mut self, message: &Message) -> Option<Message> {
        if self.count == 0
            && let Some(read) = self.write_system::<A>(message)
        {
            return Some(self.add_read::<A>(read, message));
        }
        let items = write_item::<A>(message);
        let read = read_item::<A>(items.first()?);
        let mut read = self.add_read::<A>(read, message);
        if items.len() > 1 {
            self.count += items.len() - 1;
            read.body = joined_body::<A>(&items);
            read.unknown.push(SEVERAL, Raw::empty_object());
        }
        let at = self.links.len() - 1;
        let items = items.into_iter().map(|json| RequestItem { at, json });
        self.items.extend(items);
        Some(read)
    }

    /// Writes the first message as a field of the request, if the API has one for it.
    fn write_system<A: RequestApi>(&mut self, message: &Message) -> Option<Message> {
        let (key, value) = A::write_system(message)?;
        let fields = RawMap::from([(key, value.clone())]);
        let read = A::read_system(&mut FieldReader::of(&fields))?;
        self.system = Some((key, value));
        Some(read)
    }

    /// Counts a message that is read back, and gives it the id that its reader derives.
    fn add_read<A: RequestApi>(&mut self, mut read: Message, message: &Message) -> Message {
        self.count += 1;
        read.id = message_id::<A>(&message.session_id, self.count);
        read
    }
}

/// Joins two system prompts, each a text or a list of blocks, to a list of blocks.
fn joined_prompts(first: &Raw, second: &Raw) -> Raw {
    let mut blocks = Vec::new();
    for prompt in [first, second] {
        match prompt.as_array() {
            Some(list) => blocks.extend(list),
            None => {
                let block = [("type", Raw::string("text")), ("text", prompt.clone())];
                blocks.push(RawMap::from(block).to_raw());
            }
        }
    }
    Raw::array(&blocks)
}

/// Explains why a message is not sent to a model; `None` if it is.
fn why_not_sent(message: &Message) -> Option<&'static str> {
    if message.history == History::Exclude {
        return Some("the model does not see it, so it is left out");
    }
    if message.is_api_error_message {
        return Some("it is an error, which the model does not see, so it is left out");
    }
    None
}

/// Lists what is lost with a message that the API has no place for: everything that it says.
fn left_out(message: &Message) -> Vec<Loss> {
    let empty = match &message.body {
        Body::System(_) => Body::System(System::default()),
        Body::User(_) => Body::User(User::default()),
        Body::Assistant(body) => Body::Assistant(Assistant {
            stop_reason: body.stop_reason.clone(),
            ..Assistant::default()
        }),
        body @ (Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_)) => {
            let name = Some(body.type_name()).filter(|name| !name.is_empty());
            let why = "there is no place for such a message; it is left out";
            return vec![Loss::of(&message.id, name.unwrap_or("message"), why)];
        }
    };
    let nothing = Message {
        parent_id: message.parent_id.clone(),
        session_id: message.session_id.clone(),
        ..Message::new(message.id.clone(), empty)
    };
    let mut losses = difference(message, &nothing);
    let is_said = losses.iter().any(|loss| loss.kind == LossKind::Said);
    if !is_said {
        let why = "nothing is said in it, so it is left out";
        losses.push(Loss::of(&message.id, "grouping", why));
    }
    losses
}

/// Explains why a message is not part of the conversation; `None` if it is.
fn why_off_branch(tree: &Tree, at: usize, is_elsewhere: bool) -> Option<&'static str> {
    if tree.link(at).agent.is_some() {
        return Some("it is in a side chain, so it is left out");
    }
    if tree.is_hidden(at) {
        return Some("it was dropped, so it is left out");
    }
    if is_elsewhere {
        return Some("it is on another branch, so it is left out");
    }
    None
}

/// Joins the blocks of several items. None of them is the whole message, but together they may be.
fn joined_body<A: RequestApi>(items: &[Raw]) -> Body {
    let read = items.iter().map(|item| read_item::<A>(item));
    Body::User(User {
        content: Content::Blocks(read.flat_map(|message| blocks(&message.body)).collect()),
        ..User::default()
    })
}

/// Writes a message as messages of the API. A message that was kept verbatim and has not changed is written verbatim.
fn write_item<A: RequestApi>(message: &Message) -> Vec<Raw> {
    if let Some(item) = foreign_item(message) {
        return vec![item];
    }
    if let Some(raw) = message.extra.get(&verbatim_key::<A>())
        && is_unchanged::<A>(message, raw)
    {
        return vec![raw.clone()];
    }
    write_plain::<A>(message)
}

/// Returns whether a message still says what its verbatim copy says.
fn is_unchanged<A: RequestApi>(message: &Message, raw: &Raw) -> bool {
    let Some(mut plain) = read_plain::<A>(raw) else {
        return false;
    };
    plain.extra.push(&verbatim_key::<A>(), raw.clone());
    plain.body == message.body && plain.extra == message.extra
}

/// Writes a message field by field. Its own fields of this API are added to it.
pub(super) fn write_plain<A: RequestApi>(message: &Message) -> Vec<Raw> {
    let mut items = A::write(message);
    if let [one] = items.as_mut_slice() {
        let extra = message.extra.get(A::ID).and_then(Raw::as_object);
        for (key, value) in extra.unwrap_or_default().iter() {
            let name = key.as_string().unwrap_or_default();
            // A field that the message has by now is not what it was, such as `null` in place of a text.
            if one.get(&name).is_none() {
                one.push_raw(key.clone(), value.clone());
            }
        }
    }
    let items = items.iter();
    items
        .map(|item| replace_lone_surrogates(&item.to_raw()))
        .collect()
}

/// Returns the API's message with an unknown role that a message wraps.
fn foreign_item(message: &Message) -> Option<Raw> {
    let Body::Other(other) = &message.body else {
        return None;
    };
    let is_foreign = other.type_name.as_deref() == Some(FOREIGN_TYPE);
    message
        .unknown
        .get(FOREIGN_FIELD)
        .filter(|_| is_foreign)
        .cloned()
}
