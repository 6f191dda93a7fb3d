//! The model's view of messages after revisions and changes of history.
//!
//! A revision may follow its target at any distance, so there are two passes: the first collects the revisions
//! ([`Survey`]), and the second maps the messages one by one ([`View`]). Neither needs all messages in memory.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::{Change, Target};
use crate::{
    Assistant, AttachmentKind, Block, Body, Content, History, Link, Message, MessageId, Revision,
    Said, Tree, TreeBuilder, User, UserSource,
};

/// Applies revisions: a target gets the content of its last revision, a hidden call disappears with its result, and the
/// output of hidden code is hidden. The revisions themselves stay in place.
///
/// ```
/// use analects_core::verbs::revised;
/// use analects_core::{Body, Message, Revision};
///
/// let content = Some("Good morning".into());
/// let revision = Revision { target: "1".into(), content, ..Revision::default() };
/// let messages = vec![Message::user("1", "Hello"), Message::new("2", Body::Revision(revision))];
/// assert_eq!(revised(messages)[0].text(), "Good morning");
/// ```
pub fn revised(messages: Vec<Message>) -> Vec<Message> {
    let may_hide = |message: &Message| {
        message.history == History::Exclude || matches!(message.body, Body::Revision(_))
    };
    if !messages.iter().any(may_hide) {
        return messages;
    }
    View::of(Survey::of(&messages).edits).all(messages)
}

/// Like [`revised`], for modifying a conversation: hidden calls and their results stay in their messages.
pub fn revised_in_full(mut messages: Vec<Message>) -> Vec<Message> {
    let edits = Survey::of(&messages).edits;
    for (at, message) in messages.iter_mut().enumerate() {
        edits.apply(at, message);
    }
    messages
}

/// The first pass over a conversation: collects parents and revisions. It takes about sixty bytes per message, and the
/// content of each message's last revision.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    tree: TreeBuilder,
    edits: Edits,
    hidden: HashSet<Target>,
    /// The position of the last message without an id.
    unnamed: Option<usize>,
}

impl Survey {
    /// Surveys some messages.
    pub fn of(messages: &[Message]) -> Survey {
        let mut survey = Survey::default();
        messages.iter().for_each(|message| survey.meet(message));
        survey
    }

    /// Adds the next message.
    pub fn meet(&mut self, message: &Message) {
        if let Body::Revision(revision) = &message.body {
            self.add_revision(revision);
        }
        self.meet_link(Link::of(message));
    }

    fn add_revision(&mut self, revision: &Revision) {
        let target = if revision.target.is_empty() {
            self.unnamed
        } else {
            self.tree.latest(&revision.target)
        };
        if let Some(at) = target {
            self.edits.add(at, revision);
        }
        if let (Some(call), Some(history)) = (&revision.call, revision.history) {
            let target = Target::call(revision.target.clone(), call);
            set_hidden(&mut self.hidden, target, history);
        }
    }

    /// Adds the link of the next message, which must not be a revision.
    pub fn meet_link(&mut self, link: Link<'_>) {
        if link.id.is_empty() {
            self.unnamed = Some(self.tree.len());
        }
        self.tree.push(link);
    }

    /// Returns only the revisions.
    pub fn edits(self) -> Edits {
        self.edits
    }

    /// Returns the result of the pass.
    pub fn finish(self) -> Surveyed {
        Surveyed {
            tree: self.tree.finish(),
            edits: self.edits,
            hidden_calls: self.hidden,
        }
    }
}

/// The result of a [`Survey`].
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The tree of the messages.
    pub tree: Tree,
    /// The revisions.
    pub edits: Edits,
    /// The calls that revisions hide.
    pub hidden_calls: HashSet<Target>,
}

/// The effects of revisions, by the positions of their targets.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    messages: HashMap<usize, MessageEdit>,
    hidden_calls: HiddenCalls,
}

/// The content and history of a message after its revisions; `None` where they change nothing.
#[derive(Debug, Clone, Default)]
struct MessageEdit {
    content: Option<Content>,
    history: Option<History>,
}

/// Hidden calls, by the position of their message and the id of the call.
type HiddenCalls = HashSet<(usize, String)>;

impl Edits {
    fn add(&mut self, at: usize, revision: &Revision) {
        if let (Some(call), Some(history)) = (&revision.call, revision.history) {
            set_hidden(&mut self.hidden_calls, (at, call.clone()), history);
        }
        let history = revision.history.filter(|_| revision.call.is_none());
        if revision.content.is_none() && history.is_none() {
            return;
        }
        let edit = self.messages.entry(at).or_default();
        if revision.content.is_some() {
            edit.content.clone_from(&revision.content);
        }
        edit.history = history.or(edit.history);
    }

    /// Returns whether a revision changes the message at a position.
    pub fn is_about(&self, at: usize) -> bool {
        self.messages.contains_key(&at)
    }

    /// Applies the revisions of the message at a position.
    pub fn apply(&self, at: usize, message: &mut Message) {
        let Some(edit) = self.messages.get(&at) else {
            return;
        };
        if let Some(content) = &edit.content {
            message.body.set_content(content.clone());
        }
        message.history = edit.history.unwrap_or(message.history);
    }
}

/// The calls that revisions hide.
pub fn hidden_calls(messages: &[Message]) -> HashSet<Target> {
    Survey::of(messages).hidden
}

/// Applies changes of history. A hidden call disappears with its result. Other changes have no effect.
pub fn with_history(mut messages: Vec<Message>, changes: &[Change]) -> Vec<Message> {
    let mut positions: HashMap<MessageId, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        positions.entry(message.id.clone()).or_default().push(at);
    }
    let mut edits = Edits::default();
    for change in changes {
        let Change::SetHistory { target, history } = change else {
            continue;
        };
        for at in positions.get(&target.message).into_iter().flatten() {
            match &target.call {
                None => messages[*at].history = *history,
                Some(call) => set_hidden(&mut edits.hidden_calls, (*at, call.clone()), *history),
            }
        }
    }
    View::of(edits).all(messages)
}

/// Adds a call to a set of hidden calls, or removes it.
fn set_hidden<T: Eq + Hash>(hidden: &mut HashSet<T>, call: T, history: History) {
    if history == History::Exclude {
        hidden.insert(call);
    } else {
        hidden.remove(&call);
    }
}

/// The second pass: maps each message to the model's view of it. Calls and results that are hidden disappear, and the
/// output of hidden code is hidden.
#[derive(Debug, Clone)]
pub struct View {
    edits: Edits,
    /// The position of the next message.
    at: usize,
    /// The calls whose last caller is hidden. Some providers reuse call ids in every answer.
    hidden: HashSet<String>,
    /// Whether the last code is hidden; `None` if no output can follow.
    is_code_hidden: Option<bool>,
}

impl View {
    /// Creates the view after some revisions.
    pub fn of(edits: Edits) -> View {
        View {
            edits,
            at: 0,
            hidden: HashSet::new(),
            is_code_hidden: None,
        }
    }

    /// Maps the next message.
    pub fn next<'m>(&mut self, mut message: Cow<'m, Message>) -> Cow<'m, Message> {
        let at = self.at;
        self.at += 1;
        if self.edits.is_about(at) {
            self.edits.apply(at, message.to_mut());
        }
        let is_hidden = message.history == History::Exclude;
        self.note_hidden_calls(at, &message, is_hidden);
        if let Body::User(body) = &message.body {
            self.is_code_hidden = (body.source == Some(UserSource::Code)).then_some(is_hidden);
        }
        if let Body::Attachment(body) = &message.body
            && body.kind == AttachmentKind::CodeOutput
            && self.is_code_hidden == Some(true)
        {
            message.to_mut().history = History::Exclude;
        }
        if !self.hidden.is_empty() || !self.edits.hidden_calls.is_empty() {
            self.remove_hidden_calls(at, message.to_mut());
        }
        message
    }

    fn all(mut self, messages: Vec<Message>) -> Vec<Message> {
        messages
            .into_iter()
            .map(|message| self.next(Cow::Owned(message)).into_owned())
            .collect()
    }

    /// Notes which calls of a message are hidden.
    fn note_hidden_calls(&mut self, at: usize, message: &Message, is_hidden: bool) {
        if !is_hidden && self.hidden.is_empty() && self.edits.hidden_calls.is_empty() {
            return;
        }
        for call in Said::of(message).calls {
            if is_hidden || self.edits.hidden_calls.contains(&(at, call.clone())) {
                self.hidden.insert(call);
            } else {
                self.hidden.remove(&call);
            }
        }
    }

    /// Removes the hidden calls of a message, and the results of hidden calls. A message without the rest is hidden.
    fn remove_hidden_calls(&self, at: usize, message: &mut Message) {
        let is_hidden = match &mut message.body {
            Body::User(User {
                content: Content::Blocks(blocks),
                ..
            })
            | Body::Assistant(Assistant {
                content: Content::Blocks(blocks),
                ..
            }) => {
                let had_blocks = !blocks.is_empty();
                blocks.retain(|block| !self.is_block_hidden(at, block));
                had_blocks && blocks.is_empty()
            }
            Body::ToolUse(call) => self.is_call_hidden(at, &call.id),
            Body::ToolResult(result) => self.hidden.contains(&result.tool_use_id),
            Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => false,
        };
        if is_hidden {
            message.history = History::Exclude;
        }
    }

    fn is_block_hidden(&self, at: usize, block: &Block) -> bool {
        match block {
            Block::ToolUse(call) => self.is_call_hidden(at, &call.id),
            Block::ToolResult(result) => self.hidden.contains(&result.tool_use_id),
            Block::Text(_)
            | Block::Image(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_) => false,
        }
    }

    fn is_call_hidden(&self, at: usize, call: &str) -> bool {
        self.edits.hidden_calls.contains(&(at, call.to_string()))
    }
}
