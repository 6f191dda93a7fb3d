//! Makes a request fit. The measures, in this order: long results of tools are shortened, the earliest
//! calls go with their results, the earliest turns go. Never gone: instructions, the last message of the
//! user, the last summary, and the results that the model is to read next.
//!
//! More goes than has to, in steps of an eighth of the limit: so the beginning of the conversation stays the
//! same for many turns, and can be cached, instead of losing a little in each.

use std::collections::BTreeMap;

use analects_core::{Block, Content, Problem, Request, Sendable, Turn, sendable};

use super::{Budget, Fate, Row, shorten};
use crate::normalize::{Item, Kind};
use crate::tokens::{Count, Counter};

const WHY_SHORTENED: &str = "a long result, shortened";
const WHY_PAIRS: &str = "its tool calls are not sent: no room";
const WHY_PAIR: &str = "the call of this result is not sent: no room";
const WHY_TURN: &str = "an earlier turn: no room";

/// How many times what fits is counted exactly, from the end. What comes before is not sent in any case, so an
/// estimate will do.
const COUNTED: u64 = 2;

/// More than what is added where a call has no result, or the model speaks first.
const MENDED: u64 = 64;

/// A conversation that is being made to fit.
#[derive(Debug)]
pub(super) struct Work<'c, 't> {
    counter: &'c mut Counter<'t>,
    budget: Budget,
    items: Vec<Item>,
    /// For each item, what it has now.
    counts: Vec<Count>,
    /// The first item that is counted with the vocabulary, if that counts.
    exact_from: usize,
    /// Of each item that did not stay as it was, what became of it and what it had at first.
    changed: BTreeMap<usize, Changed>,
    /// For each item with calls, the items that hold results of them.
    answered_by: AnsweredBy,
    protected: Vec<bool>,
    /// What went so far.
    saved: u64,
    pub system: Count,
    pub tools: Count,
    pub total: Count,
    pub turns: Vec<Turn>,
    pub mended: Vec<Problem>,
}

type AnsweredBy = BTreeMap<usize, Vec<usize>>;

/// What became of an item.
#[derive(Debug)]
struct Changed {
    fate: Fate,
    why: &'static str,
    whole: Count,
}

impl<'c, 't> Work<'c, 't> {
    /// The items of a request, counted.
    pub fn new(
        request: &Request,
        items: Vec<Item>,
        budget: Budget,
        counter: &'c mut Counter<'t>,
    ) -> Work<'c, 't> {
        let mut answered_by = AnsweredBy::new();
        for (at, item) in items.iter().enumerate() {
            for call in &item.answers {
                let holders = answered_by.entry(*call).or_default();
                if holders.last() != Some(&at) {
                    holders.push(at);
                }
            }
        }
        let protected = protected(&items, &answered_by);
        let mut work = Work {
            counter,
            budget,
            counts: Vec::new(),
            exact_from: 0,
            changed: BTreeMap::new(),
            answered_by,
            protected,
            items,
            saved: 0,
            system: Count::default(),
            tools: Count::default(),
            total: Count::default(),
            turns: Vec::new(),
            mended: Vec::new(),
        };
        work.count_frame(request);
        let counter = &mut *work.counter;
        work.counts = work
            .items
            .iter()
            .map(|item| counter.content(&item.content))
            .collect();
        work
    }

    fn count_frame(&mut self, request: &Request) {
        let system = request.system.as_ref();
        self.system = system
            .map(|text| self.counter.text(&text.as_str()))
            .unwrap_or_default();
        self.tools = self.counter.tools(&request.tools);
    }

    /// Counts with the model's vocabulary, if it is at hand, whatever may be sent.
    pub fn count_exactly(&mut self, request: &Request) {
        self.counter.use_vocabulary(true);
        if self.counter.is_exact() {
            self.exact_from = self.last_limits();
            self.count_frame(request);
            for at in self.exact_from..self.items.len() {
                self.counts[at] = self.counter.content(&self.items[at].content);
            }
        }
    }

    /// Where the items begin that are counted exactly. The place is a multiple of the limit from the beginning, so it
    /// stays while the conversation grows, and with it the place from which on everything is sent.
    fn last_limits(&self) -> usize {
        let limit = self.budget.limit().max(1);
        let all: u64 = self.counts.iter().map(|count| count.tokens).sum();
        let skipped = (all / limit).saturating_sub(COUNTED).saturating_mul(limit);
        let mut before = 0;
        let is_within = |count: &Count| {
            before += count.tokens;
            before > skipped
        };
        self.counts.iter().position(is_within).unwrap_or(0)
    }

    /// Counts exactly what stays and was only estimated; whether there was any.
    fn count_the_rest(&mut self) -> bool {
        let estimated = std::mem::take(&mut self.exact_from);
        let mut is_any = false;
        for at in 0..estimated {
            let content = &self.items[at].content;
            if !content.is_empty() {
                self.counts[at] = self.counter.content(content);
                is_any = true;
            }
        }
        is_any
    }

    fn frame(&self) -> Count {
        self.system + self.tools + self.counter.per_request()
    }

    /// What everything takes at most, if each item were a turn of its own.
    pub fn upper(&self) -> Count {
        let per_turn = self.counter.per_turn();
        let items = self.counts.iter().map(|now| *now + per_turn);
        items.fold(self.frame(), |sum, count| sum + count)
    }

    /// Trims until everything fits; false if it cannot.
    pub fn fit(&mut self) -> bool {
        // What is mended on the way is short, and at most one for each call and one at the beginning; with
        // room for all of these, nothing has to go.
        let calls: usize = self.items.iter().map(Item::calls).sum();
        let mended = MENDED.saturating_mul(calls as u64 + 1);
        if self.upper().tokens.saturating_add(mended) <= self.budget.limit() {
            let sendable = turns_moved_from(&mut self.items);
            self.assembled(sendable);
            return true;
        }
        let mut goal = 0;
        loop {
            let sendable = turns_of(&self.items);
            self.assembled(sendable);
            let excess = self.total.tokens.saturating_sub(self.budget.limit());
            let before = self.saved;
            if excess > 0 {
                let step = (self.budget.limit() / 8).max(1);
                goal = (goal.max(before) + excess)
                    .div_ceil(step)
                    .saturating_mul(step);
                self.trim(goal);
            }
            if self.saved == before && !self.count_the_rest() {
                return excess == 0;
            }
        }
    }

    /// Takes the turns, and counts them as they are.
    fn assembled(&mut self, sendable: Sendable) {
        (self.turns, self.mended) = (sendable.turns, sendable.mended);
        let per_turn = self.counter.per_turn();
        let frame = self
            .turns
            .iter()
            .fold(self.frame(), |sum, _| sum + per_turn);
        let said = if self.mended.is_empty() {
            self.counts.iter().copied().sum()
        } else {
            let counter = &mut *self.counter;
            self.turns
                .iter()
                .map(|turn| counter.content(&turn.content))
                .sum::<Count>()
        };
        self.total = frame + said;
    }

    /// Takes the measures in their order until so many tokens are saved.
    fn trim(&mut self, goal: u64) {
        let keep = (self.budget.limit() / 32).clamp(32, 2000);
        for at in 0..self.items.len() {
            if self.saved >= goal {
                return;
            }
            self.shorten_results(at, keep);
        }
        for at in 0..self.items.len() {
            if self.saved >= goal {
                return;
            }
            if !self.protected[at] && self.items[at].has_calls() {
                self.drop_calls(at);
            }
        }
        for group in groups(&self.items) {
            if self.saved >= goal {
                return;
            }
            for at in group {
                if !self.protected[at] {
                    self.drop_item(at);
                }
            }
        }
    }

    fn shorten_results(&mut self, at: usize, keep: u64) {
        let mut changed = false;
        let counter = &mut *self.counter;
        if let Content::Blocks(blocks) = &mut self.items[at].content {
            for block in blocks {
                let Block::ToolResult(result) = block else {
                    continue;
                };
                if let Some(short) = shorten::result(&result.content, keep, counter) {
                    result.content = short;
                    changed = true;
                }
            }
        }
        if changed {
            self.changed(at, WHY_SHORTENED);
        }
    }

    /// Takes the calls of an item out, and their results wherever they are. What was thought on the way to
    /// a call that nobody sees goes with it.
    fn drop_calls(&mut self, at: usize) {
        let is_about_calls = |block: &Block| {
            matches!(
                block,
                Block::ToolUse(_) | Block::Thinking(_) | Block::RedactedThinking(_)
            )
        };
        self.retain(at, WHY_PAIRS, |block| !is_about_calls(block));
        for holder in self.answered_by.remove(&at).unwrap_or_default() {
            let item = &self.items[holder];
            let mut owners = item.answers.clone().into_iter();
            let kept = item
                .answers
                .iter()
                .copied()
                .filter(|owner| *owner != at)
                .collect();
            self.retain(holder, WHY_PAIR, |block| {
                block.as_tool_result().is_none() || owners.next() != Some(at)
            });
            self.items[holder].answers = kept;
        }
    }

    /// Takes an item out as a whole; calls and results that go with it go too.
    fn drop_item(&mut self, at: usize) {
        if self.items[at].has_calls() {
            self.drop_calls(at);
        }
        let mut owners = self.items[at].answers.clone();
        owners.dedup();
        for owner in owners {
            self.drop_calls(owner);
        }
        self.retain(at, WHY_TURN, |_| false);
    }

    fn retain(&mut self, at: usize, why: &'static str, keep: impl FnMut(&Block) -> bool) {
        let content = &mut self.items[at].content;
        let mut blocks = match std::mem::take(content) {
            Content::Empty => return,
            Content::Text(text) => vec![Block::from_text(text)],
            Content::Blocks(blocks) => blocks,
        };
        blocks.retain(keep);
        *content = if blocks.is_empty() {
            Content::Empty
        } else {
            Content::Blocks(blocks)
        };
        self.changed(at, why);
    }

    /// Counts an item again, and notes what became of it.
    fn changed(&mut self, at: usize, why: &'static str) {
        let now = self.counter.content(&self.items[at].content);
        let before = std::mem::replace(&mut self.counts[at], now);
        let gone = self.items[at].content.is_empty();
        self.saved += before.tokens.saturating_sub(now.tokens);
        if gone {
            self.saved += self.counter.per_turn().tokens;
        }
        let fate = if gone { Fate::Dropped } else { Fate::Shortened };
        let first = Changed {
            fate,
            why,
            whole: before,
        };
        let changed = self.changed.entry(at).or_insert(first);
        (changed.fate, changed.why) = (fate, why);
    }

    /// Writes what became of the items into the rows of their messages.
    pub fn tell(&self, rows: &mut [Row]) {
        for (at, (item, now)) in self.items.iter().zip(&self.counts).enumerate() {
            if let Some(row) = rows.get_mut(item.at) {
                let changed = self.changed.get(&at);
                row.fate = changed.map_or(Fate::Sent, |changed| changed.fate);
                row.why = changed.map(|changed| changed.why);
                row.whole = changed.map_or(*now, |changed| changed.whole);
                row.tokens = *now;
            }
        }
    }
}

/// What must not go: instructions, the last words of the user, the last summary, and at the end of the
/// conversation the call whose results the model is to read next.
fn protected(items: &[Item], answered_by: &AnsweredBy) -> Vec<bool> {
    let mut protected: Vec<bool> = items
        .iter()
        .map(|item| item.kind == Kind::Instructions)
        .collect();
    let last = |kind: Kind| items.iter().rposition(|item| item.kind == kind);
    let said = last(Kind::Said).or_else(|| {
        items
            .iter()
            .rposition(|item| item.role == analects_core::Role::User)
    });
    for at in [said, last(Kind::Summary)].into_iter().flatten() {
        protected[at] = true;
    }
    let mut calls = Vec::new();
    for (at, item) in items.iter().enumerate().rev() {
        match item.kind {
            Kind::Attached => {}
            Kind::Results => calls.extend(item.answers.iter().copied()),
            _ if item.has_calls() && calls.is_empty() => calls.push(at),
            _ => break,
        }
    }
    for call in calls {
        protected[call] = true;
        for at in answered_by.get(&call).into_iter().flatten() {
            protected[*at] = true;
        }
    }
    protected
}

/// The turns of a conversation, the earliest first: what the user says and all that follows on it. The last
/// one goes step by step.
fn groups(items: &[Item]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let last = items
        .iter()
        .rposition(|item| item.kind == Kind::Said)
        .unwrap_or(0);
    let mut begins = true;
    for (at, item) in items.iter().enumerate() {
        let is_start = item.kind == Kind::Said || item.with_next;
        let follows_partner = at > 0 && items[at - 1].with_next;
        begins |= (is_start && !follows_partner) || (at > last && item.kind == Kind::Answer);
        match groups.last_mut() {
            Some(group) if !begins => group.push(at),
            _ => groups.push(vec![at]),
        }
        begins = false;
    }
    groups
}

/// The turns of the items that are kept.
fn turns_of(items: &[Item]) -> Sendable {
    let kept = items.iter().filter(|item| !item.content.is_empty());
    sendable(kept.map(Item::to_turn).collect())
}

/// The turns of all items, whose contents move there.
fn turns_moved_from(items: &mut [Item]) -> Sendable {
    sendable(items.iter_mut().map(Item::take_turn).collect())
}
