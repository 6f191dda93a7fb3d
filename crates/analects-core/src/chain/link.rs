//! What the chain needs to know of a message: its name, whom it follows, and what it does to others.
//! A store reads these from the heads of its records, so that it can find the way through a
//! conversation without holding it.

use crate::{Body, CompactTrigger, History, Message};

/// The name of a message and of those that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link<'a> {
    /// Its own name; empty if it has none.
    pub id: &'a str,
    /// The message that it follows.
    pub parent: Option<&'a str>,
    /// The side chain that it belongs to; `None` is the main chain.
    pub agent: Option<&'a str>,
    /// Whether it says itself that the model does not see it.
    pub is_excluded: bool,
    /// What it does.
    pub kind: LinkKind<'a>,
}

/// What a message does in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkKind<'a> {
    /// It says something.
    #[default]
    Speech,
    /// It stands for earlier messages.
    Summary,
    /// From here on the model sees the summary instead of what came before.
    Boundary {
        /// The summary.
        summary: Option<&'a str>,
        /// The first of the earlier messages that stay visible.
        kept_from: Option<&'a str>,
        /// Whether it cuts without a summary, as separators of other programs do.
        is_separator: bool,
    },
    /// It hides an earlier message.
    Tombstone {
        /// The message that it hides.
        target: &'a str,
        /// That message's parent.
        target_parent: Option<&'a str>,
    },
    /// It changes an earlier message.
    Revision {
        /// The message that it changes.
        target: &'a str,
        /// How much of all of that message the model sees from now on, if it says so.
        history: Option<History>,
    },
    /// It changes the state of the session.
    State,
    /// A sign of life; nobody's parent.
    Progress,
    /// A type that this version does not know.
    Unknown,
}

impl<'a> Link<'a> {
    /// The link of a message.
    pub fn of(message: &'a Message) -> Link<'a> {
        Link {
            id: &message.id,
            parent: message.parent_id.as_deref(),
            agent: message.agent_id.as_deref(),
            is_excluded: message.history == History::Exclude,
            kind: kind(&message.body),
        }
    }

    /// Whether it can end a chain. A record that says nothing and follows nobody cannot: it would hide
    /// the whole conversation.
    pub fn can_be_leaf(&self) -> bool {
        match self.kind {
            LinkKind::Progress => false,
            LinkKind::State
            | LinkKind::Tombstone { .. }
            | LinkKind::Revision { .. }
            | LinkKind::Unknown => self.parent.is_some_and(|parent| !parent.is_empty()),
            LinkKind::Speech | LinkKind::Summary | LinkKind::Boundary { .. } => true,
        }
    }

    /// Whether a model or a person may read it; the others only shape the chain.
    pub fn is_shown(&self) -> bool {
        matches!(self.kind, LinkKind::Speech | LinkKind::Summary | LinkKind::Unknown)
    }
}

fn kind(body: &Body) -> LinkKind<'_> {
    match body {
        Body::Summary(_) => LinkKind::Summary,
        Body::CompactBoundary(boundary) => LinkKind::Boundary {
            summary: boundary.summary_id.as_deref(),
            kept_from: boundary.kept_from.as_deref(),
            is_separator: boundary.trigger == Some(CompactTrigger::Separator),
        },
        Body::Tombstone(tombstone) => LinkKind::Tombstone {
            target: &tombstone.target,
            target_parent: tombstone.target_parent.as_deref(),
        },
        Body::Revision(revision) => LinkKind::Revision {
            target: &revision.target,
            history: revision.history.filter(|_| revision.call.is_none()),
        },
        Body::State(_) => LinkKind::State,
        Body::Progress(_) => LinkKind::Progress,
        Body::Other(_) => LinkKind::Unknown,
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Attachment(_)
        | Body::Notification(_) => LinkKind::Speech,
    }
}
