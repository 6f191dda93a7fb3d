//! All messages of a conversation and who follows whom: paths, forks, branches. Whatever is written in
//! the records, the tree is one: a circle is cut, a lost parent makes a root.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::link::{Link, LinkKind, Links};
use super::resolve::{Finding, NOBODY, Resolved, Resolver};

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
pub struct Tree {
    links: Links,
    pub(super) resolved: Resolved,
    /// Who follows whom, for those who ask.
    children: OnceLock<Children>,
}

/// Makes a tree of the links of messages that nobody has to hold: it keeps some sixty bytes a message and its name.
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
pub struct TreeBuilder(Resolver);

impl TreeBuilder {
    /// Adds the next message.
    pub fn push(&mut self, link: Link<'_>) {
        self.0.push(link);
    }

    /// How many messages there are so far.
    pub fn len(&self) -> usize {
        self.0.links.len()
    }

    /// Whether there is none so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of the last message so far that has a name; nobody has the empty one.
    pub fn latest(&self, id: &str) -> Option<usize> {
        self.0.latest(id)
    }

    /// There are no more.
    pub fn finish(self) -> Tree {
        let (links, resolved) = self.0.finish();
        Tree {
            links,
            resolved,
            children: OnceLock::new(),
        }
    }
}

/// A branch of a conversation, named by the message at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Its last message.
    pub leaf: usize,
    /// The last message that it shares with another branch; `None` if it shares none.
    pub fork: Option<usize>,
}

impl Tree {
    /// The tree of messages.
    pub fn of(messages: &[crate::Message]) -> Tree {
        let mut builder = TreeBuilder::default();
        messages
            .iter()
            .for_each(|message| builder.push(Link::of(message)));
        builder.finish()
    }

    /// The tree of links.
    pub fn new(links: Vec<Link<'_>>) -> Tree {
        let mut builder = TreeBuilder::default();
        links.into_iter().for_each(|link| builder.push(link));
        builder.finish()
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The link of a message.
    pub fn link(&self, at: usize) -> Link<'_> {
        self.links.get(at)
    }

    /// The number of a name of this conversation, from 0 on: a short form of it.
    pub fn name_number(&self, name: &str) -> Option<usize> {
        Some(self.links.names.get(name)?.place())
    }

    /// What is wrong with the links, each with the position of the message that it is about.
    pub fn findings(&self) -> &[Finding] {
        &self.resolved.findings
    }

    /// The position of a message by its name; of a repeated one, the last.
    pub fn position(&self, id: &str) -> Option<usize> {
        let name = self.links.names.get(id)?;
        (0..self.len())
            .rev()
            .find(|at| self.links.id(*at) == Some(name))
    }

    /// The message that another follows, once progress is left out and circles are cut.
    pub fn parent(&self, at: usize) -> Option<usize> {
        let parent = self
            .resolved
            .parents
            .get(at)
            .filter(|parent| **parent != NOBODY)?;
        Some(*parent as usize)
    }

    /// Those that follow a message, in the order of the record.
    pub fn children(&self, at: usize) -> &[usize] {
        let known = self
            .children
            .get_or_init(|| Children::of(&self.links, &self.resolved.parents));
        let range = known.starts.get(at).zip(known.starts.get(at + 1));
        range.map_or(&[], |(from, to)| {
            &known.children[*from as usize..*to as usize]
        })
    }

    /// Whether a tombstone hides a message.
    pub fn is_hidden(&self, at: usize) -> bool {
        self.resolved.hidden.get(at).copied().unwrap_or(false)
    }

    /// Whether the model does not see a message because the message, or its last revision, says so.
    pub fn is_excluded(&self, at: usize) -> bool {
        self.resolved.excluded.get(at).copied().unwrap_or(false)
    }

    /// Where the summary of a boundary is.
    pub fn summary_of(&self, boundary: usize) -> Option<usize> {
        let summaries = &self.resolved.summaries;
        let listed = summaries
            .binary_search_by_key(&boundary, |(at, _)| *at)
            .ok()?;
        summaries[listed].1
    }

    /// The last message of a chain, which the next one follows.
    pub fn leaf(&self, agent: Option<&str>) -> Option<usize> {
        (0..self.len())
            .rev()
            .find(|at| self.can_be_leaf(*at) && self.link(*at).agent == agent)
    }

    /// All messages of a chain that nobody follows, in the order of the record.
    pub fn leaves(&self, agent: Option<&str>) -> impl Iterator<Item = usize> {
        let ends = (0..self.len()).filter(|at| self.children(*at).is_empty());
        ends.filter(move |at| self.can_be_leaf(*at) && self.link(*at).agent == agent)
    }

    /// Messages that more than one follows.
    pub fn forks(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|at| self.children(*at).len() > 1)
    }

    /// The branches of a chain: one for each of its leaves.
    pub fn branches(&self, agent: Option<&str>) -> Vec<Branch> {
        self.leaves(agent)
            .map(|leaf| Branch {
                leaf,
                fork: self.fork_above(leaf),
            })
            .collect()
    }

    /// What leads to a leaf without a fork is walked for that leaf alone.
    fn fork_above(&self, leaf: usize) -> Option<usize> {
        self.ancestors(leaf)
            .skip(1)
            .find(|at| self.children(*at).len() > 1)
    }

    /// The names of the side chains, in the order of their first messages.
    pub fn side_chains(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let agents = (0..self.len()).filter_map(|at| self.link(at).agent);
        agents.filter(|agent| seen.insert(*agent)).collect()
    }

    /// The last message of every chain that has one: of the main chain, then of the side chains in the order
    /// of their first messages. One pass finds them all, however many chains there are.
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

    /// A message, the one that it follows, and so on to the root.
    pub fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at).filter(|at| *at < self.len()), |at| {
            self.parent(*at)
        })
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

/// The positions by their parents.
#[derive(Debug, Clone)]
struct Children {
    /// The children of all, those of one behind those of the one before.
    children: Vec<usize>,
    /// Where in `children` those of each begin; one more at the end.
    starts: Vec<u32>,
}

impl Children {
    /// Sorts the positions by their parents, in two passes over them.
    fn of(links: &Links, parents: &[u32]) -> Children {
        let follows = |at: usize| !links.is_progress(at) && parents[at] != NOBODY;
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
        Children { children, starts }
    }
}
