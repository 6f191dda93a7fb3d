//! What the model reads of messages after changes of what they say, or of what is hidden.
//!
//! A revision comes after the message that it changes, at any distance. So there are two passes: the first one collects
//! the changes ([`Survey`]), and the second one takes the messages again, one by one. Nobody has to hold them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::{Change, Target};
use crate::{
    Assistant, AttachmentKind, Block, Body, Content, History, Link, Message, MessageId, Said, Tree,
    TreeBuilder, User, UserSource,
};

/// The messages as the model is to see them: a target says what its last revision says, a call that is hidden goes with
/// its result, and code with what it printed. The revisions themselves stay where they are.
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
    let mut view = View::of(Survey::of(&messages).edits);
    messages
        .into_iter()
        .map(|message| view.next(Cow::Owned(message)).into_owned())
        .collect()
}

/// The same for those who change a conversation: calls that are hidden, and their results, stay in their messages.
pub fn revised_in_full(mut messages: Vec<Message>) -> Vec<Message> {
    let edits = Survey::of(&messages).edits;
    for (at, message) in messages.iter_mut().enumerate() {
        edits.apply(at, message);
    }
    messages
}

/// The first pass over a conversation: whom each message follows, and what revisions change. It holds some sixty bytes a
/// message, and what the last revision of each message says.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    tree: TreeBuilder,
    edits: Edits,
    hidden: HashSet<Target>,
    /// The last message without a name.
    unnamed: Option<usize>,
}

impl Survey {
    /// A survey of messages.
    pub fn of(messages: &[Message]) -> Survey {
        let mut survey = Survey::default();
        messages.iter().for_each(|message| survey.meet(message));
        survey
    }

    /// The next message.
    pub fn meet(&mut self, message: &Message) {
        if let Body::Revision(revision) = &message.body {
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
                match history {
                    History::Exclude => self.hidden.insert(target),
                    History::Include | History::Summary => self.hidden.remove(&target),
                };
            }
        }
        self.meet_link(Link::of(message));
    }

    /// The next message, which is no revision, by its link alone.
    pub fn meet_link(&mut self, link: Link<'_>) {
        if link.id.is_empty() {
            self.unnamed = Some(self.tree.len());
        }
        self.tree.push(link);
    }

    /// There are no more, and only what revisions change is wanted.
    pub fn edits(self) -> Edits {
        self.edits
    }

    /// There are no more.
    pub fn finish(self) -> Surveyed {
        Surveyed {
            tree: self.tree.finish(),
            edits: self.edits,
            hidden_calls: self.hidden,
        }
    }
}

/// What a survey found.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Whom each message follows.
    pub tree: Tree,
    /// What revisions change.
    pub edits: Edits,
    /// The calls that revisions hide.
    pub hidden_calls: HashSet<Target>,
}

/// What revisions change, by the positions of their targets.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    messages: HashMap<usize, Edit>,
    hidden_calls: HiddenCalls,
}

/// What a message says after its revisions.
#[derive(Debug, Clone, Default)]
struct Edit {
    content: Option<Content>,
    history: Option<History>,
}

/// The calls that are hidden, by the place of their message.
type HiddenCalls = HashSet<(usize, String)>;

impl Edits {
    fn add(&mut self, at: usize, revision: &crate::Revision) {
        if revision.content.is_some() || (revision.history.is_some() && revision.call.is_none()) {
            let edit = self.messages.entry(at).or_default();
            if revision.content.is_some() {
                edit.content.clone_from(&revision.content);
            }
            if revision.call.is_none() {
                edit.history = revision.history.or(edit.history);
            }
        }
        match (revision.history, &revision.call) {
            (Some(History::Exclude), Some(call)) => {
                self.hidden_calls.insert((at, call.clone()));
            }
            (Some(History::Include | History::Summary), Some(call)) => {
                self.hidden_calls.remove(&(at, call.clone()));
            }
            (None, _) | (_, None) => {}
        }
    }

    /// Whether a revision changes the message at a position.
    pub fn is_about(&self, at: usize) -> bool {
        self.messages.contains_key(&at)
    }

    /// Lets the message at a position say what its last revision says.
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

/// The messages as they are seen after changes of what is hidden. A call that is hidden goes with its result.
pub fn with_history(mut messages: Vec<Message>, changes: &[Change]) -> Vec<Message> {
    let mut places: HashMap<MessageId, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        places.entry(message.id.clone()).or_default().push(at);
    }
    let mut edits = Edits::default();
    for change in changes {
        let Change::SetHistory {
            target: Target { message, call },
            history,
        } = change
        else {
            continue;
        };
        for at in places.get(message).into_iter().flatten() {
            match (call, history) {
                (None, history) => messages[*at].history = *history,
                (Some(call), History::Exclude) => {
                    edits.hidden_calls.insert((*at, call.clone()));
                }
                (Some(call), History::Include | History::Summary) => {
                    edits.hidden_calls.remove(&(*at, call.clone()));
                }
            }
        }
    }
    let mut view = View::of(edits);
    messages
        .into_iter()
        .map(|message| view.next(Cow::Owned(message)).into_owned())
        .collect()
}

/// The second pass: gives the messages as they are seen, without what is not seen because something else is hidden, which
/// are calls and their results, and what code printed.
#[derive(Debug, Clone)]
pub struct View {
    edits: Edits,
    /// The position of the next message.
    at: usize,
    /// The calls whose last caller hides them. Some providers give calls the same ids in every answer.
    hidden: HashSet<String>,
    /// Whether the last code is hidden, if what comes next can be what it printed.
    is_code_hidden: Option<bool>,
}

impl View {
    /// The view after these edits.
    pub fn of(edits: Edits) -> View {
        View {
            edits,
            at: 0,
            hidden: HashSet::new(),
            is_code_hidden: None,
        }
    }

    /// The next message, as it is seen.
    pub fn next<'m>(&mut self, mut message: Cow<'m, Message>) -> Cow<'m, Message> {
        let at = self.at;
        self.at += 1;
        if self.edits.is_about(at) {
            self.edits.apply(at, message.to_mut());
        }
        let is_hidden = message.history == History::Exclude;
        if let Body::User(body) = &message.body {
            self.is_code_hidden = (body.source == Some(UserSource::Code)).then_some(is_hidden);
        }
        self.meet_calls(at, &message, is_hidden);
        if let Body::Attachment(body) = &message.body
            && body.kind == AttachmentKind::CodeOutput
            && self.is_code_hidden == Some(true)
        {
            message.to_mut().history = History::Exclude;
        }
        if !self.hidden.is_empty() || !self.edits.hidden_calls.is_empty() {
            self.leave_out_calls(at, message.to_mut());
        }
        message
    }

    /// Notes which calls of a message are hidden.
    fn meet_calls(&mut self, at: usize, message: &Message, is_hidden: bool) {
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

    /// Leaves out the calls of a message that are hidden, and the results of such calls.
    fn leave_out_calls(&self, at: usize, message: &mut Message) {
        let is_call_hidden = |call: &str| self.edits.hidden_calls.contains(&(at, call.to_string()));
        let is_result_hidden = |call: &str| self.hidden.contains(call);
        match &mut message.body {
            Body::User(User {
                content: Content::Blocks(blocks),
                ..
            })
            | Body::Assistant(Assistant {
                content: Content::Blocks(blocks),
                ..
            }) => {
                let before = blocks.len();
                blocks.retain(|block| match block {
                    Block::ToolUse(call) => !is_call_hidden(&call.id),
                    Block::ToolResult(result) => !is_result_hidden(&result.tool_use_id),
                    Block::Text(_)
                    | Block::Image(_)
                    | Block::Thinking(_)
                    | Block::RedactedThinking(_)
                    | Block::Document(_)
                    | Block::Other(_) => true,
                });
                if blocks.is_empty() && before > 0 {
                    message.history = History::Exclude;
                }
            }
            Body::ToolUse(call) => {
                if is_call_hidden(&call.id) {
                    message.history = History::Exclude;
                }
            }
            Body::ToolResult(result) => {
                if is_result_hidden(&result.tool_use_id) {
                    message.history = History::Exclude;
                }
            }
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
            | Body::Other(_) => {}
        }
    }
}
