//! Trims a request until it fits, in this order: shorten long tool results, drop the earliest calls with their results,
//! drop the earliest turns. Instructions, the user's last message, the last summary, and the results that the model
//! reads next are never dropped.
//!
//! Trimming removes more than necessary, in steps of an eighth of the limit. The start of the conversation then stays
//! the same for many requests, and providers can cache it.

use std::collections::BTreeMap;

use analects_core::{Block, Content, Problem, Request, Role, Sendable, Turn, sendable};

use super::cut_text::shorten_result;
use super::{Budget, Fate, Row};
use crate::normalize::{ItemKind, OutgoingItem};
use crate::tokens::{Count, Counter};

/// The reasons that a plan gives for what trimming did to a message.
const WHY_SHORTENED: &str = "a long result, shortened";
const WHY_PAIRS: &str = "its tool calls are not sent: no room";
const WHY_PAIR: &str = "the call of this result is not sent: no room";
const WHY_TURN: &str = "an earlier turn: no room";

/// How many times the limit is counted exactly, from the end. Everything before is not sent in any case, so an estimate
/// is enough.
const EXACT_LIMITS: u64 = 2;

/// An upper bound, in tokens, for each result or turn that [`sendable`] may add.
const REPAIR_TOKENS: u64 = 64;

/// Counts and trims the items of a request.
#[derive(Debug)]
pub(super) struct Trimmer<'c, 't> {
    counter: &'c mut Counter<'t>,
    budget: Budget,
    items: Vec<OutgoingItem>,
    /// The current tokens of each item.
    counts: Vec<Count>,
    /// The index of the first item that is counted with the vocabulary.
    exact_from: usize,
    /// The changed items, by index.
    changes: BTreeMap<usize, ItemChange>,
    /// For each item with calls, the items with their results.
    answered_by: AnsweredBy,
    protected: Vec<bool>,
    /// The tokens saved so far.
    saved: u64,
    has_system: bool,
    pub system: Count,
    pub tools: Count,
    pub total: Count,
    pub turns: Vec<Turn>,
    pub mended: Vec<Problem>,
}

/// The items with results, by the item with their calls.
type AnsweredBy = BTreeMap<usize, Vec<usize>>;

/// What trimming did to an item, and its tokens before.
#[derive(Debug)]
struct ItemChange {
    fate: Fate,
    why: &'static str,
    whole: Count,
}

impl<'c, 't> Trimmer<'c, 't> {
    /// Estimates the items of a request.
    pub fn new(
        request: &Request,
        items: Vec<OutgoingItem>,
        budget: Budget,
        counter: &'c mut Counter<'t>,
    ) -> Trimmer<'c, 't> {
        let answered_by = answered_by(&items);
        let protected = protected_items(&items, &answered_by);
        let counts = items
            .iter()
            .map(|item| counter.content(&item.content))
            .collect();
        let mut trimmer = Trimmer {
            counter,
            budget,
            items,
            counts,
            exact_from: 0,
            changes: BTreeMap::new(),
            answered_by,
            protected,
            saved: 0,
            has_system: request.system.is_some(),
            system: Count::default(),
            tools: Count::default(),
            total: Count::default(),
            turns: Vec::new(),
            mended: Vec::new(),
        };
        trimmer.count_overhead(request);
        trimmer
    }

    /// Counts the instructions and the tools.
    fn count_overhead(&mut self, request: &Request) {
        let system = request.system.as_ref();
        self.system = system
            .map(|text| self.counter.text(&text.as_str()))
            .unwrap_or_default();
        self.tools = self.counter.tools(&request.tools);
    }

    /// Counts with the model's vocabulary, if available, everything that may be sent.
    pub fn count_exactly(&mut self, request: &Request) {
        self.counter.use_vocabulary(true);
        if self.counter.is_exact() {
            self.exact_from = self.exact_start();
            self.count_overhead(request);
            for at in self.exact_from..self.items.len() {
                self.counts[at] = self.counter.content(&self.items[at].content);
            }
        }
    }

    /// Returns the index of the first item to count exactly. The position is a multiple of the limit from the start of
    /// the conversation, so it stays the same while the conversation grows, and so does the start of what is sent.
    fn exact_start(&self) -> usize {
        let limit = self.budget.limit().max(1);
        let all: u64 = self.counts.iter().map(|count| count.tokens).sum();
        let skipped = (all / limit)
            .saturating_sub(EXACT_LIMITS)
            .saturating_mul(limit);
        let mut before = 0;
        let is_within = |count: &Count| {
            before += count.tokens;
            before > skipped
        };
        self.counts.iter().position(is_within).unwrap_or(0)
    }

    /// Counts the items exactly that were only estimated. Returns whether there were any.
    fn count_estimated(&mut self) -> bool {
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

    /// The tokens of everything but the turns.
    fn overhead(&self) -> Count {
        self.system + self.tools + self.counter.per_request(self.has_system)
    }

    /// An upper bound for the request: each item counts as a turn of its own.
    pub fn upper_bound(&self) -> Count {
        let per_turn = self.counter.per_turn();
        let items = self.counts.iter().map(|now| *now + per_turn);
        items.fold(self.overhead(), |sum, count| sum + count)
    }

    /// Trims until everything fits. Returns whether it does.
    pub fn fit(&mut self) -> bool {
        if self.surely_fits() {
            let turns = self.items.iter_mut().map(OutgoingItem::take_turn).collect();
            self.set_turns(sendable(turns));
            return true;
        }
        let mut goal = 0;
        loop {
            self.set_turns(turns_of(&self.items));
            let excess = self.total.tokens.saturating_sub(self.budget.limit());
            let before = self.saved;
            if excess > 0 {
                let step = (self.budget.limit() / 8).max(1);
                let needed = goal.max(before) + excess;
                goal = needed.div_ceil(step).saturating_mul(step);
                self.trim(goal);
            }
            if self.saved == before && !self.count_estimated() {
                return excess == 0;
            }
        }
    }

    /// Returns whether the items fit, with room for every result and turn that [`sendable`] may add.
    fn surely_fits(&self) -> bool {
        let calls: usize = self.items.iter().map(OutgoingItem::calls).sum();
        let mended = REPAIR_TOKENS.saturating_mul(calls as u64 + 1);
        self.upper_bound().tokens.saturating_add(mended) <= self.budget.limit()
    }

    /// Takes the turns and counts the request.
    fn set_turns(&mut self, sendable: Sendable) {
        self.turns = sendable.turns;
        self.mended = sendable.mended;
        let per_turn = self.counter.per_turn();
        let overhead = self
            .turns
            .iter()
            .fold(self.overhead(), |sum, _| sum + per_turn);
        let contents: Count = if self.mended.is_empty() {
            self.counts.iter().copied().sum()
        } else {
            let turns = self.turns.iter();
            turns.map(|turn| self.counter.content(&turn.content)).sum()
        };
        self.total = overhead + contents;
    }

    /// Applies the measures in order until `goal` tokens are saved.
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
        for group in turn_groups(&self.items) {
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

    /// Shortens the results in an item to about `keep` tokens each.
    fn shorten_results(&mut self, at: usize, keep: u64) {
        let Content::Blocks(blocks) = &mut self.items[at].content else {
            return;
        };
        let mut is_changed = false;
        for block in blocks {
            let Block::ToolResult(result) = block else {
                continue;
            };
            if let Some(short) = shorten_result(&result.content, keep, self.counter) {
                result.content = short;
                is_changed = true;
            }
        }
        if is_changed {
            self.record_change(at, WHY_SHORTENED);
        }
    }

    /// Drops the calls of an item, and their results in other items. The thinking that led to the calls goes with them.
    fn drop_calls(&mut self, at: usize) {
        self.retain(at, WHY_PAIRS, |block| {
            !matches!(
                block,
                Block::ToolUse(_) | Block::Thinking(_) | Block::RedactedThinking(_)
            )
        });
        for holder in self.answered_by.remove(&at).unwrap_or_default() {
            self.drop_results(holder, at);
        }
    }

    /// Drops the results in `holder` of the calls in `caller`.
    fn drop_results(&mut self, holder: usize, caller: usize) {
        let answers = std::mem::take(&mut self.items[holder].answers);
        let mut owners = answers.iter();
        self.retain(holder, WHY_PAIR, |block| {
            block.as_tool_result().is_none() || owners.next() != Some(&caller)
        });
        let kept = answers.into_iter().filter(|owner| *owner != caller);
        self.items[holder].answers = kept.collect();
    }

    /// Drops an item with its calls and results, and their counterparts.
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

    /// Keeps only the blocks of an item that `keep` accepts.
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
        self.record_change(at, why);
    }

    /// Recounts an item and notes what happened to it.
    fn record_change(&mut self, at: usize, why: &'static str) {
        let now = self.counter.content(&self.items[at].content);
        let before = std::mem::replace(&mut self.counts[at], now);
        self.saved += before.tokens.saturating_sub(now.tokens);
        let fate = if self.items[at].content.is_empty() {
            self.saved += self.counter.per_turn().tokens;
            Fate::Dropped
        } else {
            Fate::Shortened
        };
        // Of several changes, the first one knows the whole size.
        let whole = self.changes.get(&at).map_or(before, |first| first.whole);
        self.changes.insert(at, ItemChange { fate, why, whole });
    }

    /// Updates the rows of the items' messages.
    pub fn update_rows(&self, rows: &mut [Row]) {
        for (at, (item, now)) in self.items.iter().zip(&self.counts).enumerate() {
            let Some(row) = rows.get_mut(item.at) else {
                continue;
            };
            row.tokens = *now;
            row.whole = *now;
            row.fate = Fate::Sent;
            row.why = None;
            if let Some(change) = self.changes.get(&at) {
                row.whole = change.whole;
                row.fate = change.fate;
                row.why = Some(change.why);
            }
        }
    }
}

/// Returns for each item with calls the items with their results, in order.
fn answered_by(items: &[OutgoingItem]) -> AnsweredBy {
    let mut answered_by = AnsweredBy::new();
    for (at, item) in items.iter().enumerate() {
        for call in &item.answers {
            let holders = answered_by.entry(*call).or_default();
            if holders.last() != Some(&at) {
                holders.push(at);
            }
        }
    }
    answered_by
}

/// Returns which items must stay: instructions, the last prompt, the last summary, and the calls at the end of the
/// conversation whose results the model reads next.
fn protected_items(items: &[OutgoingItem], answered_by: &AnsweredBy) -> Vec<bool> {
    let mut protected: Vec<bool> = items
        .iter()
        .map(|item| item.kind == ItemKind::Instructions)
        .collect();
    let last_prompt = last_of(items, ItemKind::Prompt)
        .or_else(|| items.iter().rposition(|it| it.role == Role::User));
    for at in last_prompt
        .into_iter()
        .chain(last_of(items, ItemKind::Summary))
    {
        protected[at] = true;
    }
    for call in last_calls(items) {
        protected[call] = true;
        for at in answered_by.get(&call).into_iter().flatten() {
            protected[*at] = true;
        }
    }
    protected
}

/// Returns the index of the last item of a kind.
fn last_of(items: &[OutgoingItem], kind: ItemKind) -> Option<usize> {
    items.iter().rposition(|item| item.kind == kind)
}

/// Returns the items whose calls or results end the conversation.
fn last_calls(items: &[OutgoingItem]) -> Vec<usize> {
    let mut calls = Vec::new();
    for (at, item) in items.iter().enumerate().rev() {
        match item.kind {
            ItemKind::Addition => {}
            ItemKind::Results => calls.extend(item.answers.iter().copied()),
            _ if item.has_calls() && calls.is_empty() => calls.push(at),
            _ => break,
        }
    }
    calls
}

/// Groups items into turns, the earliest first: a prompt and everything up to the next one. Of the last turn, each
/// answer starts a group of its own.
fn turn_groups(items: &[OutgoingItem]) -> Vec<Vec<usize>> {
    let mut turn_groups: Vec<Vec<usize>> = Vec::new();
    let last = items
        .iter()
        .rposition(|item| item.kind == ItemKind::Prompt)
        .unwrap_or(0);
    let mut begins = true;
    for (at, item) in items.iter().enumerate() {
        let is_start = item.kind == ItemKind::Prompt || item.with_next;
        let follows_partner = at > 0 && items[at - 1].with_next;
        begins |= (is_start && !follows_partner) || (at > last && item.kind == ItemKind::Answer);
        match turn_groups.last_mut() {
            Some(group) if !begins => group.push(at),
            _ => turn_groups.push(vec![at]),
        }
        begins = false;
    }
    turn_groups
}

/// Returns the turns of the items that are not empty.
fn turns_of(items: &[OutgoingItem]) -> Sendable {
    let kept = items.iter().filter(|item| !item.content.is_empty());
    sendable(kept.map(OutgoingItem::to_turn).collect())
}
