//! A conversation as it may be sent: what is for the model, in the order and the shape that every provider
//! takes. Nothing is counted or trimmed here.

mod heard;

use std::collections::{HashMap, VecDeque};

use analects_core::{
    Agent, AttachmentKind, Block, Body, Chain, Content, History, Message, MessageId, Problem, Raw,
    Role, Sendable, Text, Turn, sendable,
};

use crate::boundary::{leading, repeated};

/// A conversation ready for any provider's encoder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Normalized {
    /// Instructions of the conversation's own that come before it.
    pub system: Option<Text>,
    /// The turns, as [`sendable`](analects_core::sendable()) leaves them.
    pub turns: Vec<Turn>,
    /// For each message of the chain, why it is not sent; `None` if it is.
    pub left_out: Vec<Option<&'static str>>,
    /// Messages of which only a summary may be sent, and that have none yet.
    pub needs_summary: Vec<MessageId>,
    /// What was added or left out so that every provider accepts the turns.
    pub mended: Vec<Problem>,
}

/// Brings the messages of a chain into the form in which they are sent to `agent`. Doing it to what came
/// out of it changes nothing.
///
/// In order: what is not for the model goes, and so do errors that no model returned; what may only be
/// sent as a summary is; parts of one response come together, and reminders go to the message that they
/// were made for; blank texts go, and thoughts of models of another maker; calls and results are
/// paired.
pub fn normalize_messages_for_api(chain: &Chain<'_>, agent: &Agent) -> Normalized {
    let Draft {
        system,
        items,
        left_out,
        needs_summary,
    } = draft(chain, agent);
    let turns = items.into_iter().map(Item::into_turn).collect();
    let Sendable { turns, mended, .. } = sendable(turns);
    Normalized {
        system: joined(&system),
        turns,
        left_out,
        needs_summary,
        mended,
    }
}

/// Instructions as one text.
pub(crate) fn joined(parts: &[String]) -> Option<Text> {
    (!parts.is_empty()).then(|| Text::from(parts.join("\n\n")))
}

/// What an item is to those who have to choose among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The user says something.
    Said,
    /// Results of calls and nothing else.
    Results,
    /// Something that came along with what the user said.
    Attached,
    /// The model answers.
    Answer,
    /// A summary that stands for what came before.
    Summary,
    /// Instructions in the middle.
    Instructions,
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// The position of the message in the chain.
    pub at: usize,
    pub kind: Kind,
    pub role: Role,
    pub content: Content,
    pub model: Option<String>,
    /// Whether it came with the item behind it.
    pub with_next: bool,
    /// For each result in it, the place of the item that made the call.
    pub answers: Vec<usize>,
}

impl Item {
    pub fn into_turn(self) -> Turn {
        Turn {
            role: self.role,
            content: self.content,
            model: self.model,
        }
    }

    pub fn take_turn(&mut self) -> Turn {
        let content = std::mem::take(&mut self.content);
        Turn {
            role: self.role,
            content,
            model: self.model.take(),
        }
    }

    pub fn to_turn(&self) -> Turn {
        Turn {
            role: self.role,
            content: self.content.clone(),
            model: self.model.clone(),
        }
    }

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

    /// How many calls it makes.
    pub fn calls(&self) -> usize {
        self.blocks()
            .iter()
            .filter(|block| matches!(block, Block::ToolUse(_)))
            .count()
    }
}

/// All items of a conversation, and what became of the other messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Draft {
    /// Instructions that come before the conversation.
    pub system: Vec<String>,
    pub items: Vec<Item>,
    /// By the position in the chain.
    pub left_out: Vec<Option<&'static str>>,
    pub needs_summary: Vec<MessageId>,
}

/// Makes the items of a chain for an agent.
pub(crate) fn draft(chain: &Chain<'_>, agent: &Agent) -> Draft {
    let mut draft = Draft {
        left_out: vec![None; chain.messages.len()],
        ..Draft::default()
    };
    let listener = heard::Listener::new(chain, agent);
    let mut order = Order {
        items: Vec::with_capacity(chain.messages.len()),
        ..Order::default()
    };
    // Instructions that follow a compaction directly are those of before, and lead as they did.
    let (led, repeated) = (leading(chain), repeated(chain));
    for (at, message) in chain.messages.iter().enumerate() {
        if message.history == History::Summary && !has_summary(message) {
            draft.needs_summary.push(message.id.clone());
        }
        if let Some(reason) = message.why_not_sent() {
            draft.left_out[at] = Some(reason);
            continue;
        }
        if repeated.contains(&at) {
            draft.left_out[at] = Some("it is among the instructions at the beginning");
            continue;
        }
        let (role, content) = listener.hear(message);
        let content = without_blanks(content);
        let leads = led.contains(&at) && role == Role::System;
        if content.is_empty() {
            draft.left_out[at] = Some("nothing of it is for this model");
        } else if role == Role::System && (leads || order.is_empty()) {
            draft.system.push(content.text());
        } else {
            let kind = kind(message, role);
            let (model, with_next, answers) = (message.model.clone(), false, Vec::new());
            let item = Item {
                at,
                kind,
                role,
                content,
                model,
                with_next,
                answers,
            };
            order.add(item, message);
        }
    }
    draft.items = order.finish();
    pair(&mut draft);
    draft
}

fn has_summary(message: &Message) -> bool {
    message
        .extra
        .get("summary")
        .and_then(Raw::as_string)
        .is_some()
}

fn kind(message: &Message, role: Role) -> Kind {
    // As it was said, not as it is heard: another agent's results are passed on as text.
    let only_results = matches!(message.body.content(), Some(Content::Blocks(blocks))
        if blocks.iter().all(|block| matches!(block, Block::ToolResult(_))));
    match role {
        Role::System => return Kind::Instructions,
        Role::Assistant => return Kind::Answer,
        Role::User => {}
    }
    match &message.body {
        Body::Summary(_) => Kind::Summary,
        Body::Attachment(_) | Body::Notification(_) => Kind::Attached,
        // What another agent said is passed on.
        Body::Assistant(_) | Body::ToolUse(_) => Kind::Attached,
        Body::ToolResult(_) => Kind::Results,
        Body::System(_)
        | Body::User(_)
        | Body::Progress(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => {
            if only_results {
                Kind::Results
            } else {
                Kind::Said
            }
        }
    }
}

/// Drops texts of blanks alone. One with other fields may carry a seal, and counts.
fn without_blanks(content: Content) -> Content {
    match content {
        Content::Text(text) if text.as_str().trim().is_empty() => Content::Empty,
        Content::Blocks(mut blocks) => {
            let is_blank = |block: &Block| {
                matches!(block, Block::Text(block)
                    if block.extra.is_empty() && block.text.as_str().trim().is_empty())
            };
            blocks.retain(|block| !is_blank(block));
            Content::Blocks(blocks)
        }
        content => content,
    }
}

/// Puts items into their order.
#[derive(Debug, Default)]
struct Order {
    items: Vec<Item>,
    /// The response of which the last item is a part.
    response: Option<String>,
    /// Results that came since: more parts of the response go before them.
    held: Vec<Item>,
}

impl Order {
    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn add(&mut self, item: Item, message: &Message) {
        match item.kind {
            Kind::Results if self.response.is_some() => self.held.push(item),
            Kind::Answer => {
                if message.response_id.is_none() || message.response_id != self.response {
                    self.release();
                }
                self.response.clone_from(&message.response_id);
                self.items.push(item);
            }
            Kind::Attached if is_reminder(message) => {
                self.release();
                self.add_reminder(item);
            }
            _ => {
                self.release();
                self.items.push(item);
            }
        }
    }

    /// A reminder goes before the plain words that it was made for, and behind anything else.
    fn add_reminder(&mut self, mut item: Item) {
        match self.items.last() {
            Some(Item {
                kind: Kind::Said,
                content: Content::Text(_),
                ..
            }) => {
                item.with_next = true;
                self.items.insert(self.items.len() - 1, item);
            }
            _ => self.items.push(item),
        }
    }

    fn release(&mut self) {
        self.items.append(&mut self.held);
        self.response = None;
    }

    fn finish(mut self) -> Vec<Item> {
        self.release();
        self.items
    }
}

fn is_reminder(message: &Message) -> bool {
    matches!(&message.body, Body::Attachment(body) if body.kind == AttachmentKind::Reminder)
}

/// Calls of one id that wait for their results, by the places of their items.
#[derive(Debug, Default)]
struct Waiting {
    calls: VecDeque<usize>,
    /// Whether a result came since the last of them.
    answered: bool,
}

/// Fills in who answers whom, and takes out what answers nobody, so that whoever trims sees only what can be sent.
fn pair(draft: &mut Draft) {
    let mut waiting: HashMap<String, Waiting> = HashMap::new();
    for at in 0..draft.items.len() {
        let item = &mut draft.items[at];
        let Content::Blocks(blocks) = &mut item.content else {
            continue;
        };
        let mut answers = Vec::new();
        let role = item.role;
        blocks.retain(|block| match block {
            Block::ToolUse(_) if role != Role::Assistant => false,
            Block::ToolUse(call) => {
                let waiting = waiting.entry(call.id.clone()).or_default();
                if waiting.answered {
                    *waiting = Waiting::default();
                }
                waiting.calls.push_back(at);
                true
            }
            Block::ToolResult(result) => {
                let found = waiting.get_mut(&result.tool_use_id).and_then(|waiting| {
                    waiting.answered = true;
                    waiting.calls.pop_front()
                });
                answers.extend(found);
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
    }
    leave_out_empty(draft);
}

/// Items of which nothing is left go, and the places of the others move.
fn leave_out_empty(draft: &mut Draft) {
    if !draft.items.iter().any(|item| item.content.is_empty()) {
        return;
    }
    let mut places = Vec::with_capacity(draft.items.len());
    let mut kept = Vec::with_capacity(draft.items.len());
    for item in std::mem::take(&mut draft.items) {
        places.push(kept.len());
        if item.content.is_empty() {
            draft.left_out[item.at] = Some(match item.kind {
                Kind::Answer => "empty",
                _ => "a result without its call",
            });
        } else {
            kept.push(item);
        }
    }
    for item in &mut kept {
        for place in &mut item.answers {
            *place = places[*place];
        }
    }
    draft.items = kept;
}
