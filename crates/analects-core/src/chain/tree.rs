//! All messages of a conversation and their parents: paths, forks, branches. Any input yields a tree: a cycle is cut,
//! and a message with a lost parent becomes a root.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::link::{Link, LinkKind, LinkTable};
use super::resolve::{Finding, LinkResolver, NO_MESSAGE, ResolvedLinks};

/// The messages of a conversation. A message is identified by its position, which counts from 0 in the order of the
/// records.
///
/// ```
/// use analects_core::{Message, Tree};
///
/// let reply = |id: &str, to: &str| Message { parent_id: Some(to.into()), ..Message::user(id, id) };
/// let messages = [Message::user("a", "Hello"), reply("b", "a"), reply("c", "a")];
/// let tree = Tree::of(&messages);
/// assert_eq!(tree.children(0), [1, 2]);
/// assert_eq!(tree.path(2), [0, 2]);
/// assert_eq!(tree.common_ancestor(1, 2), Some(0));
/// ```
#[derive(Debug, Clone)]
pub struct Tree {
    links: LinkTable,
    pub(super) resolved: ResolvedLinks,
    /// The children of each message, computed on first use.
    children: OnceLock<ChildIndex>,
}

/// Builds a tree from links, without holding the messages. It takes about sixty bytes per message plus its id.
///
/// ```
/// use analects_core::{Link, Message, TreeBuilder};
///
/// let mut builder = TreeBuilder::default();
/// for message in [Message::user("a", "Hello"), Message::user("b", "Hello?")] {
///     builder.push(Link::of(&message));
/// }
/// assert_eq!(builder.finish().leaf(None), Some(1));
/// ```
#[derive(Debug, Clone, Default)]
pub struct TreeBuilder(LinkResolver);

impl TreeBuilder {
    /// Adds the next link.
    pub fn push(&mut self, link: Link<'_>) {
        self.0.push(link);
    }

    /// The number of messages so far.
    pub fn len(&self) -> usize {
        self.0.links.len()
    }

    /// Returns whether there is no message so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the position of the last message so far with this id; `None` for the empty id.
    pub fn latest(&self, id: &str) -> Option<usize> {
        self.0.latest(id)
    }

    /// Returns the tree.
    pub fn finish(self) -> Tree {
        let (links, resolved) = self.0.finish();
        Tree {
            links,
            resolved,
            children: OnceLock::new(),
        }
    }
}

/// A branch of a conversation, identified by its last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The position of its last message.
    pub leaf: usize,
    /// The position of the last message that it shares with another branch; `None` if it shares none.
    pub fork: Option<usize>,
}

impl Tree {
    /// Builds the tree of some messages.
    pub fn of(messages: &[crate::Message]) -> Tree {
        let mut builder = TreeBuilder::default();
        messages
            .iter()
            .for_each(|message| builder.push(Link::of(message)));
        builder.finish()
    }

    /// Builds the tree of some links.
    pub fn new(links: Vec<Link<'_>>) -> Tree {
        let mut builder = TreeBuilder::default();
        links.into_iter().for_each(|link| builder.push(link));
        builder.finish()
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The link of a message.
    pub fn link(&self, at: usize) -> Link<'_> {
        self.links.get(at)
    }

    /// Returns the number of an id, from 0: a short form that is unique in this tree.
    pub fn name_number(&self, name: &str) -> Option<usize> {
        Some(self.links.names.get(name)?.place())
    }

    /// The problems with links, each with the position of its message.
    pub fn findings(&self) -> &[Finding] {
        &self.resolved.findings
    }

    /// Returns the position of a message; the last one if the id is repeated.
    pub fn position(&self, id: &str) -> Option<usize> {
        let name = self.links.names.get(id)?;
        (0..self.len())
            .rev()
            .find(|at| self.links.id(*at) == Some(name))
    }

    /// Returns the parent of a message, after skipping progress messages and cutting cycles.
    pub fn parent(&self, at: usize) -> Option<usize> {
        let parent = self
            .resolved
            .parents
            .get(at)
            .filter(|parent| **parent != NO_MESSAGE)?;
        Some(*parent as usize)
    }

    /// The children of a message, in the order of the records.
    pub fn children(&self, at: usize) -> &[usize] {
        let known = self
            .children
            .get_or_init(|| ChildIndex::of(&self.links, &self.resolved.parents));
        let range = known.starts.get(at).zip(known.starts.get(at + 1));
        range.map_or(&[], |(from, to)| {
            &known.children[*from as usize..*to as usize]
        })
    }

    /// Returns whether a tombstone hides a message.
    pub fn is_hidden(&self, at: usize) -> bool {
        self.resolved.hidden.get(at).copied().unwrap_or(false)
    }

    /// Returns whether the `history` of a message, or of its last revision, excludes it.
    pub fn is_excluded(&self, at: usize) -> bool {
        self.resolved.excluded.get(at).copied().unwrap_or(false)
    }

    /// Returns the position of a boundary's summary.
    pub fn summary_of(&self, boundary: usize) -> Option<usize> {
        let summaries = &self.resolved.summaries;
        let listed = summaries
            .binary_search_by_key(&boundary, |(at, _)| *at)
            .ok()?;
        summaries[listed].1
    }

    /// Returns the last message of a chain, which the next message follows. `None` for `agent` is the main chain.
    pub fn leaf(&self, agent: Option<&str>) -> Option<usize> {
        (0..self.len())
            .rev()
            .find(|at| self.can_be_leaf(*at) && self.link(*at).agent == agent)
    }

    /// Iterates over the messages of a chain without children, in the order of the records.
    pub fn leaves(&self, agent: Option<&str>) -> impl Iterator<Item = usize> {
        let ends = (0..self.len()).filter(|at| self.children(*at).is_empty());
        ends.filter(move |at| self.can_be_leaf(*at) && self.link(*at).agent == agent)
    }

    /// Iterates over the messages with more than one child.
    pub fn forks(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|at| self.children(*at).len() > 1)
    }

    /// Returns the branches of a chain, one per leaf.
    pub fn branches(&self, agent: Option<&str>) -> Vec<Branch> {
        self.leaves(agent)
            .map(|leaf| Branch {
                leaf,
                fork: self.fork_above(leaf),
            })
            .collect()
    }

    /// Returns the nearest fork above a leaf. The path from the fork to the leaf is walked for this leaf only.
    fn fork_above(&self, leaf: usize) -> Option<usize> {
        self.ancestors(leaf)
            .skip(1)
            .find(|at| self.children(*at).len() > 1)
    }

    /// Returns the agents of all side chains, in the order of their first messages.
    pub fn side_chains(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let agents = (0..self.len()).filter_map(|at| self.link(at).agent);
        agents.filter(|agent| seen.insert(*agent)).collect()
    }

    /// Returns the last message of the main chain, then of each side chain in the order of their first messages. A
    /// single pass finds them all.
    pub fn chain_leaves(&self) -> Vec<usize> {
        let mut last: HashMap<Option<&str>, usize> = HashMap::new();
        for at in (0..self.len()).filter(|at| self.can_be_leaf(*at)) {
            last.insert(self.link(at).agent, at);
        }
        let sides = self.side_chains().into_iter().map(Some);
        let chains = std::iter::once(None).chain(sides);
        chains
            .filter_map(|chain| last.get(&chain).copied())
            .collect()
    }

    /// Iterates over a message, its parent, and so on to the root.
    pub fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at).filter(|at| *at < self.len()), |at| {
            self.parent(*at)
        })
    }

    /// Returns the path from the root to a message, both included.
    pub fn path(&self, to: usize) -> Vec<usize> {
        let mut path: Vec<usize> = self.ancestors(to).collect();
        path.reverse();
        path
    }

    /// Returns the last message that the paths to both messages share.
    pub fn common_ancestor(&self, one: usize, other: usize) -> Option<usize> {
        let of_one: HashSet<usize> = self.ancestors(one).collect();
        self.ancestors(other).find(|at| of_one.contains(at))
    }

    fn can_be_leaf(&self, at: usize) -> bool {
        let link = self.link(at);
        // A record without content whose parent is lost would hide the whole chain.
        link.can_be_leaf()
            && (self.parent(at).is_some()
                || matches!(
                    link.kind,
                    LinkKind::Speech | LinkKind::Summary | LinkKind::Boundary { .. }
                ))
    }
}

/// The children of each message.
#[derive(Debug, Clone)]
struct ChildIndex {
    /// All children, grouped by parent.
    children: Vec<usize>,
    /// The start of each parent's group in `children`, and the end of the last group.
    starts: Vec<u32>,
}

impl ChildIndex {
    /// Groups the positions by parent, in two passes.
    fn of(links: &LinkTable, parents: &[u32]) -> ChildIndex {
        let follows = |at: usize| !links.is_progress(at) && parents[at] != NO_MESSAGE;
        let mut starts = vec![0_u32; links.len() + 1];
        for at in (0..links.len()).filter(|at| follows(*at)) {
            starts[parents[at] as usize + 1] += 1;
        }
        for at in 0..links.len() {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut children = vec![0; starts.last().copied().unwrap_or(0) as usize];
        for at in (0..links.len()).filter(|at| follows(*at)) {
            let slot = &mut next[parents[at] as usize];
            children[*slot as usize] = at;
            *slot += 1;
        }
        ChildIndex { children, starts }
    }
}
