//! Everything, once for the names of all records and once more for those that are wanted.

use std::ops::ControlFlow;

use analects_core::{Body, Link, Message, Problem, Rebuilding, StateChange, Tree};
use analects_formats::transcript::{Envelope, Names, read_line};

use super::{Loaded, Placed, place, too_long, with_revisions};
use crate::StoreError;
use crate::sessions::{ChainName, Row, TranscriptStore};

/// Loads the effective chain that ends with a message, or with the last one.
pub(super) fn load(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
) -> Result<Loaded, StoreError> {
    let mut all = All::default();
    store.scan(of, 0, &mut |row| {
        all.meet(row);
        ControlFlow::Continue(())
    })?;
    let tree = Tree::new(all.names.iter().map(Names::link).collect());
    let leaf = match leaf {
        Some(id) => Some(tree.position(id).ok_or_else(|| no_message(of, id))?),
        None => tree.leaf(of.agent.as_deref()),
    };
    let effective = leaf.map(|leaf| tree.effective(leaf)).unwrap_or_default();
    let name = |at: usize| tree.link(at).id.into();
    let findings = tree.findings().iter().chain(&effective.findings);
    let mut problems = all.problems;
    problems.extend(findings.map(|finding| finding.problem.clone()));
    let messages = read(store, of, &all.places, &effective.positions)?;
    let places = effective.positions.iter().map(|at| all.places[*at]);
    let messages = places.zip(messages).filter_map(|(place, message)| Some((place, message?)));
    let messages = messages.collect();
    Ok(Loaded {
        messages: with_revisions(messages, all.revisions),
        leaf: leaf.map(name),
        boundary: read(store, of, &all.places, effective.boundary.as_slice())?.pop().flatten(),
        state: all.state.finish(),
        problems,
    })
}

fn no_message(of: &ChainName, id: &str) -> StoreError {
    StoreError::NoMessage { name: of.to_string(), id: id.to_string() }
}

/// The names of all records, and where they are.
#[derive(Debug, Default)]
struct All {
    names: Vec<Names>,
    /// The row, and which of the records in it.
    places: Vec<(u64, usize)>,
    revisions: Vec<Placed>,
    state: Rebuilding,
    problems: Vec<Problem>,
}

impl All {
    fn meet(&mut self, row: Row<'_>) {
        let Some(bytes) = row.bytes else {
            self.problems.push(too_long(row));
            if let Some(names) = row.long_names() {
                self.names.push(names);
                self.places.push((row.at, 0));
            }
            return;
        };
        let text = std::str::from_utf8(bytes).ok();
        if let Some(head) = text.and_then(Envelope::read)
            && !head.needs_body()
        {
            self.names.push(head.names());
            self.places.push((row.at, 0));
            // What a change of state or a revision says is told by the names of nothing else.
            let is_change = matches!(&*head.type_name(), "state" | "revision");
            let message = text.filter(|_| is_change).and_then(|_| first(bytes));
            self.meet_state(message.as_ref(), head.string("session_id").as_deref());
            self.meet_revision(message);
            return;
        }
        let read = read_line(bytes);
        self.problems.extend(read.problems.into_iter().map(|problem| place(problem, row)));
        for (nth, message) in read.messages.iter().enumerate() {
            self.names.push(Names::of(&Link::of(message)));
            self.places.push((row.at, nth));
            self.meet_state(Some(message), Some(&message.session_id));
            self.meet_revision(Some(message.clone()));
        }
    }

    /// Keeps the record that was met last if it is a revision.
    fn meet_revision(&mut self, message: Option<Message>) {
        let is_revision = |message: &Message| matches!(message.body, Body::Revision(_));
        let place = self.places.last().copied().unwrap_or_default();
        self.revisions.extend(message.filter(is_revision).map(|message| (place, message)));
    }

    fn meet_state(&mut self, message: Option<&Message>, session: Option<&str>) {
        if let Some(Message { body: Body::State(change), .. }) = message {
            let change: &StateChange = change;
            self.state.change(change);
        }
        if let Some(session) = session.filter(|session| !session.is_empty()) {
            self.state.name(session);
        }
    }
}

fn first(bytes: &[u8]) -> Option<Message> {
    read_line(bytes).messages.into_iter().next()
}

/// Reads the messages at some positions, in the order in which these are given; `None` for one that cannot be read.
fn read(
    store: &dyn TranscriptStore,
    of: &ChainName,
    places: &[(u64, usize)],
    positions: &[usize],
) -> Result<Vec<Option<Message>>, StoreError> {
    let mut wanted: Vec<(u64, usize, usize)> = positions
        .iter()
        .enumerate()
        .map(|(order, at)| (places[*at].0, places[*at].1, order))
        .collect();
    wanted.sort_unstable();
    let mut found: Vec<Option<Message>> = vec![None; positions.len()];
    let mut next = 0;
    let from = wanted.first().map_or(0, |(at, ..)| *at);
    store.scan(of, from, &mut |row| {
        let here = wanted[next..].iter().take_while(|(at, ..)| *at == row.at).count();
        if here > 0 {
            let read = row.bytes.map(read_line).unwrap_or_default();
            for (_, nth, order) in &wanted[next..next + here] {
                found[*order] = read.messages.get(*nth).cloned();
            }
            next += here;
        }
        if next < wanted.len() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(found)
}
