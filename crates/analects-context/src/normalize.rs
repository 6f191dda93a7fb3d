//! Converts a conversation to the form in which it may be sent: the messages for the model, in the order and shape that
//! every provider accepts. Nothing is counted or trimmed here.

mod viewpoint;

use std::collections::{HashMap, VecDeque};

use analects_core::{
    Agent, AttachmentKind, Block, Body, Chain, Content, History, Message, MessageId, Problem, Raw,
    Role, Text, Turn, sendable,
};

use crate::boundary::{copied_instructions, redundant_copies};
use viewpoint::AgentViewpoint;

/// A conversation that any provider's encoder accepts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NormalizedConversation {
    /// The conversation's own instructions before its first turn.
    pub system: Option<Text>,
    /// The turns, as [`sendable`](analects_core::sendable()) returns them.
    pub turns: Vec<Turn>,
    /// For each message of the chain, why it is not sent; `None` if it is.
    pub left_out: Vec<Option<&'static str>>,
    /// Messages that may only be sent as a summary, and have none yet.
    pub needs_summary: Vec<MessageId>,
    /// What was added or left out so that every provider accepts the turns.
    pub mended: Vec<Problem>,
}

/// Converts the messages of a chain to the form in which they are sent to `agent`. Converting the result again changes
/// nothing.
///
/// The steps, in order:
///
/// 1. Messages that are not for the model are removed, as are errors that no model returned.
/// 2. Messages that may only be sent as a summary are replaced by it.
/// 3. Parts of one response are joined, and reminders move to the message that they were made for.
/// 4. Blank texts are removed, and so is the thinking of another vendor's model.
/// 5. Calls and results are paired.
pub fn normalize_messages_for_api(chain: &Chain<'_>, agent: &Agent) -> NormalizedConversation {
    let draft = draft_items(chain, agent);
    let turns = draft
        .items
        .into_iter()
        .map(OutgoingItem::into_turn)
        .collect();
    let sent = sendable(turns);
    let mut mended = draft.notes;
    mended.extend(sent.mended);
    NormalizedConversation {
        system: join_instructions(&draft.system),
        turns: sent.turns,
        left_out: draft.left_out,
        needs_summary: draft.needs_summary,
        mended,
    }
}

/// Joins instructions to one text.
pub(crate) fn join_instructions(parts: &[String]) -> Option<Text> {
    (!parts.is_empty()).then(|| Text::from(parts.join("\n\n")))
}

/// The kind of an item, by which trimming and compaction choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// A prompt of the user.
    Prompt,
    /// Results of calls, and nothing else.
    Results,
    /// An addition to a prompt, such as a file or a reminder.
    Addition,
    /// An answer of the model.
    Answer,
    /// A summary of earlier messages.
    Summary,
    /// Instructions in the middle of the conversation.
    Instructions,
}

/// A message that is about to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutgoingItem {
    /// The position of the message in the chain.
    pub at: usize,
    pub kind: ItemKind,
    pub role: Role,
    pub content: Content,
    pub model: Option<String>,
    /// Whether it belongs to the next item.
    pub with_next: bool,
    /// For each result in it, the index of the item with the call.
    pub answers: Vec<usize>,
}

impl OutgoingItem {
    fn new(at: usize, message: &Message, role: Role, content: Content) -> OutgoingItem {
        OutgoingItem {
            at,
            kind: item_kind(message, role),
            role,
            content,
            model: message.model.clone(),
            with_next: false,
            answers: Vec::new(),
        }
    }

    pub fn into_turn(mut self) -> Turn {
        self.take_turn()
    }

    /// Moves the content out into a turn.
    pub fn take_turn(&mut self) -> Turn {
        Turn {
            role: self.role,
            content: std::mem::take(&mut self.content),
            model: self.model.take(),
        }
    }

    /// Copies the item into a turn.
    pub fn to_turn(&self) -> Turn {
        Turn {
            role: self.role,
            content: self.content.clone(),
            model: self.model.clone(),
        }
    }

    /// The blocks of the content; empty for plain text.
    pub fn blocks(&self) -> &[Block] {
        if let Content::Blocks(blocks) = &self.content {
            blocks
        } else {
            &[]
        }
    }

    pub fn has_calls(&self) -> bool {
        self.calls() > 0
    }

    /// The number of calls in it.
    pub fn calls(&self) -> usize {
        self.blocks().iter().filter_map(Block::as_tool_use).count()
    }
}

/// The items of a conversation, and what happened to the other messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ConversationDraft {
    /// The instructions before the conversation.
    pub system: Vec<String>,
    pub items: Vec<OutgoingItem>,
    /// For each message of the chain, why it is left out.
    pub left_out: Vec<Option<&'static str>>,
    pub needs_summary: Vec<MessageId>,
    /// Results that are left out although the rest of their message is sent.
    pub notes: Vec<Problem>,
}

/// Returns the items of a chain for an agent.
pub(crate) fn draft_items(chain: &Chain<'_>, agent: &Agent) -> ConversationDraft {
    let mut draft = ConversationDraft {
        left_out: vec![None; chain.messages.len()],
        ..ConversationDraft::default()
    };
    let viewpoint = AgentViewpoint::new(chain, agent);
    let mut order = ItemOrder {
        items: Vec::with_capacity(chain.messages.len()),
        ..ItemOrder::default()
    };
    let copied = copied_instructions(chain);
    let redundant = redundant_copies(chain);
    for (at, message) in chain.messages.iter().enumerate() {
        if message.history == History::Summary && !has_summary(message) {
            draft.needs_summary.push(message.id.clone());
        }
        if let Some(reason) = message.why_not_sent() {
            draft.left_out[at] = Some(reason);
            continue;
        }
        if redundant.contains(&at) {
            draft.left_out[at] = Some("it is among the instructions at the beginning");
            continue;
        }
        let (role, content) = viewpoint.see(message);
        let content = without_blanks(content);
        // Instructions directly behind a compaction lead the conversation, as their originals did.
        let is_leading = order.is_empty() || copied.contains(&at);
        if content.is_empty() {
            draft.left_out[at] = Some("nothing of it is for this model");
        } else if role == Role::System && is_leading {
            draft.system.push(content.text());
        } else {
            order.add(OutgoingItem::new(at, message, role, content), message);
        }
    }
    draft.items = order.finish();
    pair_results(&mut draft);
    draft
}

fn has_summary(message: &Message) -> bool {
    message
        .extra
        .get("summary")
        .and_then(Raw::as_string)
        .is_some()
}

/// Determines the kind of an item from its message and the role in which the agent reads it.
fn item_kind(message: &Message, role: Role) -> ItemKind {
    match role {
        Role::System => return ItemKind::Instructions,
        Role::Assistant => return ItemKind::Answer,
        Role::User => {}
    }
    match &message.body {
        Body::Summary(_) => ItemKind::Summary,
        Body::Attachment(_) | Body::Notification(_) => ItemKind::Addition,
        // The user passes on what another agent said.
        Body::Assistant(_) | Body::ToolUse(_) => ItemKind::Addition,
        Body::ToolResult(_) => ItemKind::Results,
        Body::System(_)
        | Body::User(_)
        | Body::Progress(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => {
            if has_only_results(message) {
                ItemKind::Results
            } else {
                ItemKind::Prompt
            }
        }
    }
}

/// Returns whether the original content consists of results. The agent may see the results of another agent as text.
fn has_only_results(message: &Message) -> bool {
    let Some(Content::Blocks(blocks)) = message.body.content() else {
        return false;
    };
    blocks.iter().all(|block| block.as_tool_result().is_some())
}

/// Removes blank texts. A text with further fields may carry a signature and is kept.
fn without_blanks(content: Content) -> Content {
    match content {
        Content::Text(text) if text.is_blank() => Content::Empty,
        Content::Blocks(mut blocks) => {
            blocks.retain(|block| !block.is_blank());
            Content::Blocks(blocks)
        }
        content => content,
    }
}

/// Puts items in order.
#[derive(Debug, Default)]
struct ItemOrder {
    items: Vec<OutgoingItem>,
    /// The id of the response that the last item is a part of.
    response: Option<String>,
    /// Results since then. Further parts of the response go before them.
    held: Vec<OutgoingItem>,
}

impl ItemOrder {
    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds the item of a message. Results wait while further parts of the same response may follow.
    fn add(&mut self, item: OutgoingItem, message: &Message) {
        match item.kind {
            ItemKind::Results if self.response.is_some() => self.held.push(item),
            ItemKind::Answer => {
                if message.response_id.is_none() || message.response_id != self.response {
                    self.release();
                }
                self.response.clone_from(&message.response_id);
                self.items.push(item);
            }
            ItemKind::Addition if is_reminder(message) => {
                self.release();
                self.add_reminder(item);
            }
            _ => {
                self.release();
                self.items.push(item);
            }
        }
    }

    /// Adds a reminder before the plain prompt that it was made for, or else at the end.
    fn add_reminder(&mut self, mut item: OutgoingItem) {
        match self.items.last() {
            Some(OutgoingItem {
                kind: ItemKind::Prompt,
                content: Content::Text(_),
                ..
            }) => {
                item.with_next = true;
                self.items.insert(self.items.len() - 1, item);
            }
            _ => self.items.push(item),
        }
    }

    /// Adds the held results and closes the response.
    fn release(&mut self) {
        self.items.append(&mut self.held);
        self.response = None;
    }

    /// Returns the items in order.
    fn finish(mut self) -> Vec<OutgoingItem> {
        self.release();
        self.items
    }
}

fn is_reminder(message: &Message) -> bool {
    matches!(&message.body, Body::Attachment(body) if body.kind == AttachmentKind::Reminder)
}

/// The calls with one id that wait for a result, by the indices of their items.
#[derive(Debug, Default)]
struct OpenCalls {
    calls: VecDeque<usize>,
    /// The item of the last call that got a result, if one has arrived since the last call.
    answered: Option<usize>,
    /// The round of the last call.
    round: usize,
}

/// Fills in [`OutgoingItem::answers`] and removes results without a call, so that trimming sees only what can be sent.
fn pair_results(draft: &mut ConversationDraft) {
    let mut open: HashMap<String, OpenCalls> = HashMap::new();
    // A round lasts until somebody speaks after the user.
    let mut round = 0;
    let mut is_after_user = false;
    for (at, item) in draft.items.iter_mut().enumerate() {
        let is_user = item.role == Role::User;
        round += usize::from(is_after_user && !is_user);
        is_after_user = is_user;
        let Content::Blocks(blocks) = &mut item.content else {
            continue;
        };
        let mut answers = Vec::new();
        let mut removed = 0;
        let is_model = item.role == Role::Assistant;
        blocks.retain(|block| match block {
            Block::ToolUse(call) => {
                if is_model {
                    open.entry(call.id.clone()).or_default().add(at, round);
                }
                is_model
            }
            Block::ToolResult(result) => {
                let calls = open.get_mut(&result.tool_use_id);
                let found = calls.and_then(|calls| calls.answer(round));
                answers.extend(found);
                removed += usize::from(found.is_none());
                found.is_some()
            }
            Block::Text(_)
            | Block::Image(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_) => true,
        });
        item.answers = answers;
        if removed > 0 && !blocks.is_empty() {
            let text = format!(
                "message {}: a result is not sent: no call before it waits for one",
                item.at + 1
            );
            draft.notes.push(Problem::warning("not-sent", text));
        }
    }
    remove_empty(draft);
}

impl OpenCalls {
    /// Adds a call. After a result, a call with the same id starts over.
    fn add(&mut self, item: usize, round: usize) {
        if self.answered.is_some() {
            *self = OpenCalls::default();
        }
        self.calls.push_back(item);
        self.round = round;
    }

    /// Returns the item with the call that the next result answers: a call that waits for one or, until somebody else
    /// speaks, the last one that got one.
    fn answer(&mut self, round: usize) -> Option<usize> {
        if let Some(item) = self.calls.pop_front() {
            self.answered = Some(item);
            return Some(item);
        }
        self.answered.filter(|_| self.round == round)
    }
}

/// Removes empty items and adjusts the indices of the others.
fn remove_empty(draft: &mut ConversationDraft) {
    if !draft.items.iter().any(|item| item.content.is_empty()) {
        return;
    }
    let mut moved_to = Vec::with_capacity(draft.items.len());
    let mut kept = Vec::with_capacity(draft.items.len());
    for item in std::mem::take(&mut draft.items) {
        moved_to.push(kept.len());
        if !item.content.is_empty() {
            kept.push(item);
            continue;
        }
        let reason = if item.kind == ItemKind::Answer {
            "empty"
        } else {
            "a result without its call"
        };
        draft.left_out[item.at] = Some(reason);
    }
    for item in &mut kept {
        for call in &mut item.answers {
            *call = moved_to[*call];
        }
    }
    draft.items = kept;
}
