//! Links: what the chain needs to know about a message, which is its id, its parent, and its effect on other messages.
//! A store reads links from the heads of its records, so that it finds the path through a conversation without loading
//! it.
//!
//! A conversation's links take about thirty bytes per message besides its id: ids are interned and stored as numbers.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::num::NonZeroU32;

use crate::{Body, CompactTrigger, History, Message};

/// The id of a message, and the ids that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link<'a> {
    /// Its own id; empty if it has none.
    pub id: &'a str,
    /// The id of the message that it follows.
    pub parent: Option<&'a str>,
    /// The agent whose side chain it belongs to; `None` is the main chain.
    pub agent: Option<&'a str>,
    /// Whether its own `history` excludes it.
    pub is_excluded: bool,
    /// Its role in the chain.
    pub kind: LinkKind<'a>,
}

/// The role of a message in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkKind<'a> {
    /// A message with content.
    #[default]
    Speech,
    /// A summary, which replaces earlier messages.
    Summary,
    /// A boundary: from here on, the model reads the summary in place of the earlier messages.
    Boundary {
        /// The id of the summary.
        summary: Option<&'a str>,
        /// The id of the first earlier message that stays visible.
        kept_from: Option<&'a str>,
        /// Whether it cuts without a summary, as separators of other programs do.
        is_separator: bool,
    },
    /// A tombstone, which hides an earlier message.
    Tombstone {
        /// The id of the message to hide.
        target: &'a str,
        /// The id of that message's parent.
        target_parent: Option<&'a str>,
    },
    /// A revision, which changes an earlier message.
    Revision {
        /// The id of the message to change.
        target: &'a str,
        /// How much of the whole message the model sees from now on, if the revision sets that.
        history: Option<History>,
    },
    /// A change of the session's state.
    State,
    /// A progress report, which is never a parent.
    Progress,
    /// A type that this version does not know.
    Unknown,
}

impl<'a> Link<'a> {
    /// Returns the link of a message.
    pub fn of(message: &'a Message) -> Link<'a> {
        Link {
            id: &message.id,
            parent: message.parent_id.as_deref(),
            agent: message.agent_id.as_deref(),
            is_excluded: message.history == History::Exclude,
            kind: link_kind(&message.body),
        }
    }

    /// Returns whether it can end a chain. A record without content and without a parent cannot, as it would hide the
    /// whole conversation.
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

    /// Returns whether people and models may read it. All other records only shape the chain.
    pub fn is_shown(&self) -> bool {
        matches!(
            self.kind,
            LinkKind::Speech | LinkKind::Summary | LinkKind::Unknown
        )
    }
}

fn link_kind(body: &Body) -> LinkKind<'_> {
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

/// The links of a conversation, in the order of the records.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkTable {
    pub(super) names: NameTable,
    rows: Vec<LinkRow>,
    /// The effects of the few records that act on others, by position in ascending order.
    effects: Vec<(u32, LinkEffect)>,
}

/// The link of one message, with interned ids.
#[derive(Debug, Clone, Copy)]
struct LinkRow {
    id: NameId,
    parent: Option<NameId>,
    agent: Option<NameId>,
    kind: RowKind,
    is_excluded: bool,
}

/// The role of a message, without its references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowKind {
    Speech,
    Summary,
    State,
    Progress,
    Unknown,
    /// Listed in `LinkTable::effects`.
    Effect,
}

/// The effect of a message on others, with interned ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkEffect {
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

impl LinkTable {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Appends a link and returns the numbers of its id and its parent.
    pub(super) fn push(&mut self, link: &Link<'_>) -> (NameId, Option<NameId>) {
        let names = &mut self.names;
        let row = LinkRow {
            id: names.keep(link.id),
            parent: names.keep_some(link.parent),
            agent: names.keep_some(link.agent),
            kind: RowKind::of(&link.kind),
            is_excluded: link.is_excluded,
        };
        if let Some(effect) = LinkEffect::of(&link.kind, names) {
            let at = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
            self.effects.push((at, effect));
        }
        self.rows.push(row);
        (row.id, row.parent)
    }

    /// Returns the link of a message; a default link if the position is past the end.
    pub(super) fn get(&self, at: usize) -> Link<'_> {
        let Some(row) = self.rows.get(at) else {
            return Link::default();
        };
        Link {
            id: self.names.text(row.id),
            parent: self.names.some_text(row.parent),
            agent: self.names.some_text(row.agent),
            is_excluded: row.is_excluded,
            kind: self.kind(at, row.kind),
        }
    }

    fn kind(&self, at: usize, kind: RowKind) -> LinkKind<'_> {
        match kind {
            RowKind::Speech => LinkKind::Speech,
            RowKind::Summary => LinkKind::Summary,
            RowKind::State => LinkKind::State,
            RowKind::Progress => LinkKind::Progress,
            RowKind::Unknown => LinkKind::Unknown,
            RowKind::Effect => match self.effect(at) {
                Some(effect) => effect.to_kind(&self.names),
                None => LinkKind::Unknown,
            },
        }
    }

    /// Returns the effect of a message on others.
    fn effect(&self, at: usize) -> Option<LinkEffect> {
        let found = self
            .effects
            .binary_search_by_key(&at, |(at, _)| *at as usize)
            .ok()?;
        Some(self.effects[found].1)
    }

    /// Iterates over the effects of all messages, in order.
    pub(super) fn effects(&self) -> impl Iterator<Item = (usize, LinkEffect)> {
        self.effects.iter().map(|(at, act)| (*at as usize, *act))
    }

    pub(super) fn id(&self, at: usize) -> Option<NameId> {
        self.rows.get(at).map(|row| row.id)
    }

    /// The id of the parent that a message states.
    pub(super) fn stated_parent(&self, at: usize) -> Option<NameId> {
        self.rows.get(at)?.parent
    }

    pub(super) fn agent(&self, at: usize) -> Option<NameId> {
        self.rows.get(at)?.agent
    }

    pub(super) fn is_progress(&self, at: usize) -> bool {
        self.rows
            .get(at)
            .is_some_and(|row| row.kind == RowKind::Progress)
    }

    /// Returns the id of a message in the form that problems show.
    pub(super) fn display_name(&self, at: usize) -> String {
        super::resolve::display_name(self.get(at).id)
    }
}

impl RowKind {
    fn of(kind: &LinkKind<'_>) -> RowKind {
        match kind {
            LinkKind::Speech => RowKind::Speech,
            LinkKind::Summary => RowKind::Summary,
            LinkKind::State => RowKind::State,
            LinkKind::Progress => RowKind::Progress,
            LinkKind::Unknown => RowKind::Unknown,
            LinkKind::Boundary { .. } | LinkKind::Tombstone { .. } | LinkKind::Revision { .. } => {
                RowKind::Effect
            }
        }
    }
}

impl LinkEffect {
    /// Interns the ids of a link with an effect on others; `None` for any other link.
    fn of(kind: &LinkKind<'_>, names: &mut NameTable) -> Option<LinkEffect> {
        Some(match *kind {
            LinkKind::Boundary {
                summary,
                kept_from,
                is_separator,
            } => LinkEffect::Boundary {
                summary: names.keep_some(summary),
                kept_from: names.keep_some(kept_from),
                is_separator,
            },
            LinkKind::Tombstone {
                target,
                target_parent,
            } => LinkEffect::Tombstone {
                target: names.keep(target),
                target_parent: names.keep_some(target_parent),
            },
            LinkKind::Revision { target, history } => LinkEffect::Revision {
                target: names.keep(target),
                history,
            },
            LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown => return None,
        })
    }

    /// The reverse of [`LinkEffect::of`].
    fn to_kind(self, names: &NameTable) -> LinkKind<'_> {
        match self {
            LinkEffect::Boundary {
                summary,
                kept_from,
                is_separator,
            } => LinkKind::Boundary {
                summary: names.some_text(summary),
                kept_from: names.some_text(kept_from),
                is_separator,
            },
            LinkEffect::Tombstone {
                target,
                target_parent,
            } => LinkKind::Tombstone {
                target: names.text(target),
                target_parent: names.some_text(target_parent),
            },
            LinkEffect::Revision { target, history } => LinkKind::Revision {
                target: names.text(target),
                history,
            },
        }
    }
}

/// The number of an interned id; see [`NameTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(NonZeroU32);

impl NameId {
    /// The index among all names of its table, from 0.
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// An interner: keeps each distinct name once, with about thirty bytes of overhead.
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
    /// The end of each name in `text`; a name starts where the previous one ends.
    ends: Vec<usize>,
    /// The names by hash. On a collision, the later name is stored under the next free hash.
    index: HashMap<u32, NameId>,
}

impl NameTable {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the name behind a number, which must come from this table.
    pub fn text(&self, name: NameId) -> &str {
        let at = name.place();
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    /// Returns the number of a name, if the table has it.
    pub fn get(&self, text: &str) -> Option<NameId> {
        self.find(text).ok()
    }

    /// Interns a name and returns its number.
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

    fn keep_some(&mut self, text: Option<&str>) -> Option<NameId> {
        text.map(|text| self.keep(text))
    }

    fn some_text(&self, name: Option<NameId>) -> Option<&str> {
        name.map(|name| self.text(name))
    }

    /// Returns the number of a name, or the free hash for it.
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
