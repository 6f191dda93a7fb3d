//! What the chain needs to know of a message: its name, whom it follows, and what it does to others.
//! A store reads these from the heads of its records, so that it can find the way through a
//! conversation without holding it.
//!
//! The links of a whole conversation take some thirty bytes a message beside its name: each name is kept once, and
//! stands for itself as a number.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::num::NonZeroU32;

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
        matches!(
            self.kind,
            LinkKind::Speech | LinkKind::Summary | LinkKind::Unknown
        )
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

/// The links of a conversation, in the order of the record.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    pub(super) names: NameTable,
    rows: Vec<Row>,
    /// What the few that act on others name, by their positions, which grow.
    acts: Vec<(u32, Act)>,
}

/// The link of one message.
#[derive(Debug, Clone, Copy)]
struct Row {
    id: NameId,
    parent: Option<NameId>,
    agent: Option<NameId>,
    kind: Kind,
    is_excluded: bool,
}

/// What a message does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Speech,
    Summary,
    State,
    Progress,
    Unknown,
    /// It is among the acts.
    Act,
}

/// What a message does to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Boundary {
        summary: Option<NameId>,
        kept_from: Option<NameId>,
        is_separator: bool,
    },
    Tombstone {
        target: NameId,
        target_parent: Option<NameId>,
    },
    Revision {
        target: NameId,
        history: Option<History>,
    },
}

impl Links {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Keeps a link; gives its name and that of its parent.
    pub(super) fn push(&mut self, link: &Link<'_>) -> (NameId, Option<NameId>) {
        let names = &mut self.names;
        let id = names.keep(link.id);
        let parent = link.parent.map(|name| names.keep(name));
        let agent = link.agent.map(|name| names.keep(name));
        let act = match link.kind {
            LinkKind::Boundary {
                summary,
                kept_from,
                is_separator,
            } => Some(Act::Boundary {
                summary: summary.map(|name| names.keep(name)),
                kept_from: kept_from.map(|name| names.keep(name)),
                is_separator,
            }),
            LinkKind::Tombstone {
                target,
                target_parent,
            } => Some(Act::Tombstone {
                target: names.keep(target),
                target_parent: target_parent.map(|name| names.keep(name)),
            }),
            LinkKind::Revision { target, history } => Some(Act::Revision {
                target: names.keep(target),
                history,
            }),
            LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown => None,
        };
        if let Some(act) = act {
            let at = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
            self.acts.push((at, act));
        }
        let (kind, is_excluded) = (Kind::of(&link.kind), link.is_excluded);
        self.rows.push(Row {
            id,
            parent,
            agent,
            kind,
            is_excluded,
        });
        (id, parent)
    }

    /// The link of a message; that of none beyond the last.
    pub(super) fn get(&self, at: usize) -> Link<'_> {
        let Some(row) = self.rows.get(at) else {
            return Link::default();
        };
        let text = |name: NameId| self.names.text(name);
        Link {
            id: text(row.id),
            parent: row.parent.map(text),
            agent: row.agent.map(text),
            is_excluded: row.is_excluded,
            kind: match row.kind {
                Kind::Speech => LinkKind::Speech,
                Kind::Summary => LinkKind::Summary,
                Kind::State => LinkKind::State,
                Kind::Progress => LinkKind::Progress,
                Kind::Unknown => LinkKind::Unknown,
                Kind::Act => self
                    .act(at)
                    .map_or(LinkKind::Unknown, |act| self.named(act)),
            },
        }
    }

    /// What a message does to others.
    fn act(&self, at: usize) -> Option<Act> {
        let place = self
            .acts
            .binary_search_by_key(&at, |(at, _)| *at as usize)
            .ok()?;
        Some(self.acts[place].1)
    }

    fn named(&self, act: Act) -> LinkKind<'_> {
        let text = |name: NameId| self.names.text(name);
        match act {
            Act::Boundary {
                summary,
                kept_from,
                is_separator,
            } => {
                let (summary, kept_from) = (summary.map(text), kept_from.map(text));
                LinkKind::Boundary {
                    summary,
                    kept_from,
                    is_separator,
                }
            }
            Act::Tombstone {
                target,
                target_parent,
            } => LinkKind::Tombstone {
                target: text(target),
                target_parent: target_parent.map(text),
            },
            Act::Revision { target, history } => LinkKind::Revision {
                target: text(target),
                history,
            },
        }
    }

    /// What all messages that do it do to others, in their order.
    pub(super) fn acts(&self) -> impl Iterator<Item = (usize, Act)> {
        self.acts.iter().map(|(at, act)| (*at as usize, *act))
    }

    pub(super) fn id(&self, at: usize) -> Option<NameId> {
        self.rows.get(at).map(|row| row.id)
    }

    /// The name of the parent that a message states.
    pub(super) fn stated_parent(&self, at: usize) -> Option<NameId> {
        self.rows.get(at)?.parent
    }

    pub(super) fn agent(&self, at: usize) -> Option<NameId> {
        self.rows.get(at)?.agent
    }

    pub(super) fn is_progress(&self, at: usize) -> bool {
        self.rows
            .get(at)
            .is_some_and(|row| row.kind == Kind::Progress)
    }

    /// A name as problems show it.
    pub(super) fn shown(&self, at: usize) -> String {
        super::resolve::name(self.get(at).id)
    }
}

impl Kind {
    fn of(kind: &LinkKind<'_>) -> Kind {
        match kind {
            LinkKind::Speech => Kind::Speech,
            LinkKind::Summary => Kind::Summary,
            LinkKind::State => Kind::State,
            LinkKind::Progress => Kind::Progress,
            LinkKind::Unknown => Kind::Unknown,
            LinkKind::Boundary { .. } | LinkKind::Tombstone { .. } | LinkKind::Revision { .. } => {
                Kind::Act
            }
        }
    }
}

/// The number of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(NonZeroU32);

impl NameId {
    /// Its place among all names, from 0.
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Names, each of which is kept once: with some thirty bytes beside the name itself.
///
/// ```
/// use analects_core::NameTable;
///
/// let mut names = NameTable::default();
/// let first = names.keep("0197a3c2");
/// assert_eq!(names.keep("0197a3c2"), first);
/// assert_eq!((names.text(first), names.get("0197a3c3")), ("0197a3c2", None));
/// ```
#[derive(Debug, Clone, Default)]
pub struct NameTable {
    text: String,
    /// Where each name ends in the text; it begins where the one before ends.
    ends: Vec<usize>,
    /// The names by their hashes; of two with the same hash, the later one stands under the next number.
    index: HashMap<u32, NameId>,
}

impl NameTable {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What a number stands for, which must be one of this table.
    pub fn text(&self, name: NameId) -> &str {
        let at = name.place();
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    /// The number of a name that is there.
    pub fn get(&self, text: &str) -> Option<NameId> {
        self.find(text).ok()
    }

    /// The number of a name, which is there from now on.
    pub fn keep(&mut self, text: &str) -> NameId {
        let hash = match self.find(text) {
            Ok(name) => return name,
            Err(hash) => hash,
        };
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        let name = NameId(NonZeroU32::new(number).unwrap_or(NonZeroU32::MAX));
        self.index.insert(hash, name);
        name
    }

    /// The number of a name, or the hash under which it can be put.
    fn find(&self, text: &str) -> Result<NameId, u32> {
        let mut hash = self.index.hasher().hash_one(text) as u32;
        while let Some(name) = self.index.get(&hash).copied() {
            if self.text(name) == text {
                return Ok(name);
            }
            hash = hash.wrapping_add(1);
        }
        Err(hash)
    }
}
