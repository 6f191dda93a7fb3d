//! All messages of a conversation and who follows whom: paths, forks, branches. Whatever is written in
//! the records, the tree is one: a circle is cut, a lost parent makes a root.

use std::collections::{HashMap, HashSet};

use super::link::{Link, LinkKind};
use super::resolve::{self, Finding, NOBODY};

/// The messages of a conversation by their positions, which count from 0 in the order of the record.
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
pub struct Tree<'a> {
    pub(super) links: Vec<Link<'a>>,
    /// Whom each follows; `NOBODY` for a root.
    parents: Vec<u32>,
    /// The children of all, those of one behind those of the one before.
    children: Vec<usize>,
    /// Where in `children` those of each begin; one more at the end.
    starts: Vec<u32>,
    pub(super) hidden: Vec<bool>,
    pub(super) excluded: Vec<bool>,
    /// For each boundary, in order, its position and where its summary is.
    pub(super) summaries: Vec<(usize, Option<usize>)>,
    findings: Vec<Finding>,
}

/// A branch of a conversation, named by the message at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Its last message.
    pub leaf: usize,
    /// The last message that it shares with another branch; `None` if it shares none.
    pub fork: Option<usize>,
}

impl<'a> Tree<'a> {
    /// The tree of messages.
    pub fn of(messages: &'a [crate::Message]) -> Tree<'a> {
        Tree::new(messages.iter().map(Link::of).collect())
    }

    /// The tree of links.
    pub fn new(links: Vec<Link<'a>>) -> Tree<'a> {
        let resolved = resolve::resolve(&links);
        let (children, starts) = by_parent(&links, &resolved.parents);
        Tree {
            links,
            parents: resolved.parents,
            children,
            starts,
            hidden: resolved.hidden,
            excluded: resolved.excluded,
            summaries: resolved.summaries,
            findings: resolved.findings,
        }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The link of a message.
    pub fn link(&self, at: usize) -> Link<'a> {
        self.links.get(at).copied().unwrap_or_default()
    }

    /// What is wrong with the links, each with the position of the message that it is about.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The position of a message by its name; of a repeated one, the last.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.links.iter().rposition(|link| link.id == id)
    }

    /// The message that another follows, once progress is left out and circles are cut.
    pub fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).filter(|parent| **parent != NOBODY).map(|parent| *parent as usize)
    }

    /// Those that follow a message, in the order of the record.
    pub fn children(&self, at: usize) -> &[usize] {
        let range = self.starts.get(at).zip(self.starts.get(at + 1));
        range.map_or(&[], |(from, to)| &self.children[*from as usize..*to as usize])
    }

    /// Whether a tombstone hides a message.
    pub fn is_hidden(&self, at: usize) -> bool {
        self.hidden.get(at).copied().unwrap_or(false)
    }

    /// Whether the model does not see a message because the message, or its last revision, says so.
    pub fn is_excluded(&self, at: usize) -> bool {
        self.excluded.get(at).copied().unwrap_or(false)
    }

    /// Where the summary of a boundary is.
    pub fn summary_of(&self, boundary: usize) -> Option<usize> {
        let listed = self.summaries.binary_search_by_key(&boundary, |(at, _)| *at).ok()?;
        self.summaries[listed].1
    }

    /// The last message of a chain, which the next one follows.
    pub fn leaf(&self, agent: Option<&str>) -> Option<usize> {
        (0..self.len()).rev().find(|at| self.can_be_leaf(*at) && self.links[*at].agent == agent)
    }

    /// All messages of a chain that nobody follows, in the order of the record.
    pub fn leaves(&self, agent: Option<&str>) -> impl Iterator<Item = usize> {
        let ends = (0..self.len()).filter(|at| self.children(*at).is_empty());
        ends.filter(move |at| self.can_be_leaf(*at) && self.links[*at].agent == agent)
    }

    /// Messages that more than one follows.
    pub fn forks(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|at| self.children(*at).len() > 1)
    }

    /// The branches of a chain: one for each of its leaves.
    pub fn branches(&self, agent: Option<&str>) -> Vec<Branch> {
        self.leaves(agent).map(|leaf| Branch { leaf, fork: self.fork_above(leaf) }).collect()
    }

    /// What leads to a leaf without a fork is walked for that leaf alone.
    fn fork_above(&self, leaf: usize) -> Option<usize> {
        self.ancestors(leaf).skip(1).find(|at| self.children(*at).len() > 1)
    }

    /// The names of the side chains, in the order of their first messages.
    pub fn side_chains(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let agents = self.links.iter().filter_map(|link| link.agent);
        agents.filter(|agent| seen.insert(*agent)).collect()
    }

    /// The last message of every chain that has one: of the main chain, then of the side chains in the order
    /// of their first messages. One pass finds them all, however many chains there are.
    pub fn chain_leaves(&self) -> Vec<usize> {
        let mut last: HashMap<Option<&str>, usize> = HashMap::new();
        for at in (0..self.len()).filter(|at| self.can_be_leaf(*at)) {
            last.insert(self.links[at].agent, at);
        }
        let sides = self.side_chains().into_iter().map(Some);
        let chains = std::iter::once(None).chain(sides);
        chains.filter_map(|chain| last.get(&chain).copied()).collect()
    }

    /// A message, the one that it follows, and so on to the root.
    pub fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at).filter(|at| *at < self.len()), |at| self.parent(*at))
    }

    /// The way from the root to a message, both included.
    pub fn path(&self, to: usize) -> Vec<usize> {
        let mut path: Vec<usize> = self.ancestors(to).collect();
        path.reverse();
        path
    }

    /// The last message on the ways to both.
    pub fn common_ancestor(&self, one: usize, other: usize) -> Option<usize> {
        let of_one: HashSet<usize> = self.ancestors(one).collect();
        self.ancestors(other).find(|at| of_one.contains(at))
    }

    fn can_be_leaf(&self, at: usize) -> bool {
        let link = self.link(at);
        // A record that only shapes the chain, and whose parent is lost, would hide all of it.
        link.can_be_leaf()
            && (self.parent(at).is_some()
                || matches!(
                    link.kind,
                    LinkKind::Speech | LinkKind::Summary | LinkKind::Boundary { .. }
                ))
    }
}

/// Sorts the positions by their parents, in two passes over them.
fn by_parent(links: &[Link<'_>], parents: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let follows = |at: usize| links[at].kind != LinkKind::Progress && parents[at] != NOBODY;
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
    (children, starts)
}
