//! The link of a record in memory of its own, for transcripts whose records are not kept.

use analects_core::{History, Link, LinkKind};

/// A [`Link`] that owns its ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedLink {
    pub(super) id: Box<str>,
    pub(super) parent: Option<Box<str>>,
    pub(super) agent: Option<Box<str>>,
    /// Whether the model does not see the message.
    pub(super) is_excluded: bool,
    pub(super) kind: OwnedLinkKind,
}

/// A [`LinkKind`] that owns its ids. Rare kinds are boxed, to keep the usual ones small.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum OwnedLinkKind {
    #[default]
    Speech,
    Summary,
    Boundary(Box<OwnedBoundary>),
    Tombstone(Box<OwnedTombstone>),
    Revision(Box<OwnedRevision>),
    State,
    Progress,
    Unknown,
}

/// The references of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedBoundary {
    pub(super) summary: Option<Box<str>>,
    pub(super) kept_from: Option<Box<str>>,
    /// Whether a separator of chat Markdown is the cause, which has no summary.
    pub(super) is_separator: bool,
}

/// The references of a tombstone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedTombstone {
    pub(super) target: Box<str>,
    pub(super) target_parent: Option<Box<str>>,
}

/// The reference of a revision, and what it does to the history of its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedRevision {
    pub(super) target: Box<str>,
    /// The new history of the target, unless the revision is about one of its calls.
    pub(super) history: Option<History>,
}

impl OwnedLink {
    /// Copies a link.
    pub fn of(link: &Link<'_>) -> OwnedLink {
        OwnedLink {
            id: link.id.into(),
            parent: link.parent.map(Box::from),
            agent: link.agent.map(Box::from),
            is_excluded: link.is_excluded,
            kind: OwnedLinkKind::of(&link.kind),
        }
    }

    /// Borrows the link.
    pub fn link(&self) -> Link<'_> {
        Link {
            id: &self.id,
            parent: self.parent.as_deref(),
            agent: self.agent.as_deref(),
            is_excluded: self.is_excluded,
            kind: self.kind.kind(),
        }
    }
}

impl OwnedLinkKind {
    /// Copies a kind.
    fn of(kind: &LinkKind<'_>) -> OwnedLinkKind {
        match *kind {
            LinkKind::Speech => OwnedLinkKind::Speech,
            LinkKind::Summary => OwnedLinkKind::Summary,
            LinkKind::Boundary {
                summary,
                kept_from,
                is_separator,
            } => OwnedLinkKind::Boundary(Box::new(OwnedBoundary {
                summary: summary.map(Box::from),
                kept_from: kept_from.map(Box::from),
                is_separator,
            })),
            LinkKind::Tombstone {
                target,
                target_parent,
            } => OwnedLinkKind::Tombstone(Box::new(OwnedTombstone {
                target: target.into(),
                target_parent: target_parent.map(Box::from),
            })),
            LinkKind::Revision { target, history } => {
                OwnedLinkKind::Revision(Box::new(OwnedRevision {
                    target: target.into(),
                    history,
                }))
            }
            LinkKind::State => OwnedLinkKind::State,
            LinkKind::Progress => OwnedLinkKind::Progress,
            LinkKind::Unknown => OwnedLinkKind::Unknown,
        }
    }

    /// Borrows the kind.
    fn kind(&self) -> LinkKind<'_> {
        match self {
            OwnedLinkKind::Speech => LinkKind::Speech,
            OwnedLinkKind::Summary => LinkKind::Summary,
            OwnedLinkKind::Boundary(boundary) => LinkKind::Boundary {
                summary: boundary.summary.as_deref(),
                kept_from: boundary.kept_from.as_deref(),
                is_separator: boundary.is_separator,
            },
            OwnedLinkKind::Tombstone(tombstone) => LinkKind::Tombstone {
                target: &tombstone.target,
                target_parent: tombstone.target_parent.as_deref(),
            },
            OwnedLinkKind::Revision(revision) => LinkKind::Revision {
                target: &revision.target,
                history: revision.history,
            },
            OwnedLinkKind::State => LinkKind::State,
            OwnedLinkKind::Progress => LinkKind::Progress,
            OwnedLinkKind::Unknown => LinkKind::Unknown,
        }
    }
}
