//! Turns in a form that every provider accepts: a view for sending, which leaves the record unchanged. Restrictions of
//! a single API (names, images, foreign thinking) are up to its encoder.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::{Block, Content, Problem, Role, ToolResult, Turn};

/// The content of the result that is sent for a call without one.
const INTERRUPTED_RESULT: &str = "The call was interrupted; there is no result.";
/// Why a result stays out.
const NO_CALL: &str = "a result is not sent: no call before it waits for one";
/// The user turn that is sent before a conversation that starts with the model.
const OPENING_TURN: &str = "(The conversation begins with your words.)";

/// Turns that follow the rules of [`sendable()`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sendable {
    /// The turns.
    pub turns: Vec<Turn>,
    /// For each turn, the index of the given turn that it starts with or answers.
    pub from: Vec<usize>,
    /// What was added or left out. Messages count the given turns from 1.
    pub mended: Vec<Problem>,
}

/// Repairs turns for sending. Turns that follow the rules are returned unchanged.
///
/// The rules:
///
/// - No turn is empty, and no text is blank.
/// - After the instructions, the user speaks first.
/// - A model turn with calls is followed directly by a user turn that starts with one result for each call, in order.
///   There are no other results, and no two calls share an id.
/// - Consecutive turns of one role are one turn. Turns of two models stay apart, since the thinking and the signatures
///   of one model would pass for the other's. An API with strictly alternating roles joins them in its encoder.
///
/// Instructions in the middle stay in place, except that those between a call and its result move behind the result. A
/// late result moves to its call. Further results of a call, such as a text and a picture, are one result with the
/// contents of all, in order; those that come after the model has spoken again are left out. Once a later turn repeats a
/// call id, results belong to the later call.
///
/// ```
/// use analects_core::{Block, Raw, RawMap, Role, ToolUse, Turn, sendable};
///
/// let call = ToolUse {
///     id: "c1".into(),
///     name: "weather".into(),
///     input: Raw::empty_object(),
///     extra: RawMap::new(),
/// };
/// let turn = |role, content| Turn { role, content, model: None };
/// let cut_off = vec![
///     turn(Role::User, "How is the weather?".into()),
///     turn(Role::Assistant, vec![Block::ToolUse(call)].into()),
/// ];
/// let sent = sendable(cut_off);
/// assert_eq!(sent.turns.len(), 3);
/// assert_eq!(sent.mended[0].message, "turn 2: a call has no result; one that says so is sent");
/// ```
pub fn sendable(turns: Vec<Turn>) -> Sendable {
    if is_in_order(&turns) {
        let from = (0..turns.len()).collect();
        return Sendable {
            turns,
            from,
            mended: Vec::new(),
        };
    }
    let mut repairer = TurnRepairer::default();
    repairer.pending.reserve(turns.len());
    for (number, turn) in turns.into_iter().enumerate() {
        repairer.add(number, turn);
    }
    repairer.finish()
}

/// Returns whether turns follow the rules already.
fn is_in_order(turns: &[Turn]) -> bool {
    let mut check = OrderCheck::default();
    turns.iter().all(|turn| check.accepts(turn)) && check.open.is_empty()
}

/// Checks turns against the rules of [`sendable()`], one by one.
#[derive(Debug, Default)]
struct OrderCheck<'a> {
    /// The ids of all calls so far.
    ids: HashSet<&'a str>,
    /// The calls of the previous turn, which this turn must answer.
    open: Vec<&'a str>,
    previous: Option<&'a Turn>,
    /// Whether anyone but the instructions has spoken.
    has_begun: bool,
}

impl<'a> OrderCheck<'a> {
    fn accepts(&mut self, turn: &'a Turn) -> bool {
        let has_valid_start = self.has_begun || turn.role != Role::Assistant;
        let joins_previous = self
            .previous
            .is_some_and(|previous| are_one(previous, turn));
        if is_empty_content(&turn.content) || joins_previous || !has_valid_start {
            return false;
        }
        let open = std::mem::take(&mut self.open);
        if !self.accepts_blocks(turn, &open) {
            return false;
        }
        self.has_begun |= turn.role != Role::System;
        self.previous = Some(turn);
        true
    }

    /// Checks the blocks of a turn, which must start with the results of the open calls.
    fn accepts_blocks(&mut self, turn: &'a Turn, open: &[&str]) -> bool {
        let mut answered = 0;
        let mut has_other_blocks = false;
        for block in blocks(&turn.content) {
            match block {
                Block::ToolUse(call) => {
                    if turn.role != Role::Assistant || !self.ids.insert(&call.id) {
                        return false;
                    }
                    self.open.push(&call.id);
                }
                Block::ToolResult(result) => {
                    let is_next = open.get(answered) == Some(&result.tool_use_id.as_str());
                    if turn.role != Role::User || has_other_blocks || !is_next {
                        return false;
                    }
                    answered += 1;
                }
                Block::Text(_)
                | Block::Image(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {
                    if block.is_blank() {
                        return false;
                    }
                    has_other_blocks = true;
                }
            }
        }
        answered == open.len()
    }
}

/// Returns whether two consecutive turns are one.
fn are_one(left: &Turn, right: &Turn) -> bool {
    left.role == right.role && (left.role != Role::Assistant || left.model == right.model)
}

fn blocks(content: &Content) -> &[Block] {
    if let Content::Blocks(blocks) = content {
        blocks
    } else {
        &[]
    }
}

fn into_blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text)],
        Content::Blocks(blocks) => blocks,
    }
}

fn is_empty_content(content: &Content) -> bool {
    match content {
        Content::Empty => true,
        Content::Text(text) => text.is_blank(),
        Content::Blocks(blocks) => blocks.is_empty(),
    }
}

/// A turn under construction, with its calls. Their results follow it.
#[derive(Debug)]
struct PendingTurn {
    turn: Turn,
    /// The index of the given turn that it starts with.
    number: usize,
    calls: Vec<PendingCall>,
    /// Whether a result has arrived, so that the model's next words are a separate turn.
    answered: bool,
}

/// A call in a [`PendingTurn`], with its result so far.
#[derive(Debug)]
struct PendingCall {
    /// The id to send.
    id: String,
    /// The index of the given turn with the call.
    number: usize,
    result: Option<ToolResult>,
}

/// The calls with one id: their turn, and the indices in it of those without a result. Usually there is one.
#[derive(Debug, Default)]
struct OpenCalls {
    /// The index in `TurnRepairer::pending`.
    turn_index: usize,
    first: Option<usize>,
    more: VecDeque<usize>,
    /// The last call that got a result.
    answered: Option<usize>,
}

impl OpenCalls {
    fn push(&mut self, call: usize) {
        if self.first.is_none() && self.more.is_empty() {
            self.first = Some(call);
        } else {
            self.more.push_back(call);
        }
    }

    /// The next call without a result.
    fn pop(&mut self) -> Option<usize> {
        let next = self.first.take().or_else(|| self.more.pop_front());
        self.answered = next.or(self.answered);
        next
    }
}

/// Rebuilds turns according to the rules of [`sendable()`].
#[derive(Debug, Default)]
struct TurnRepairer {
    pending: Vec<PendingTurn>,
    /// Unanswered calls, by the id in the record.
    open_calls: HashMap<String, OpenCalls>,
    ids: UniqueCallIds,
    mended: Vec<Problem>,
}

impl TurnRepairer {
    fn add(&mut self, number: usize, turn: Turn) {
        let Turn {
            role,
            content,
            model,
        } = turn;
        let content = match content {
            Content::Blocks(blocks) if role == Role::Assistant => {
                return self.add_model_blocks(number, blocks, model);
            }
            Content::Blocks(blocks) => Content::Blocks(self.take_out_tools(number, blocks)),
            content => content,
        };
        let turn = Turn {
            role,
            content,
            model,
        };
        self.push(number, turn);
    }

    /// Adds a turn of the model. Blocks behind a result become a later turn.
    fn add_model_blocks(&mut self, number: usize, blocks: Vec<Block>, model: Option<String>) {
        if !blocks
            .iter()
            .any(|block| matches!(block, Block::ToolResult(_)))
        {
            return self.add_model_turn(number, blocks, model);
        }
        let mut said = Vec::new();
        for block in blocks {
            if let Block::ToolResult(result) = block {
                self.add_model_turn(number, std::mem::take(&mut said), model.clone());
                self.attach_result(number, result);
            } else {
                said.push(block);
            }
        }
        self.add_model_turn(number, said, model);
    }

    /// Returns the blocks of another speaker without calls and results. Results go to their calls.
    fn take_out_tools(&mut self, number: usize, blocks: Vec<Block>) -> Vec<Block> {
        let mut said = Vec::new();
        for block in blocks {
            match block {
                Block::ToolResult(result) => self.attach_result(number, result),
                Block::ToolUse(_) => {
                    self.leave_out(number, "a tool call is not sent: it is not the model's");
                }
                block @ (Block::Text(_)
                | Block::Image(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_)) => said.push(block),
            }
        }
        said
    }

    fn leave_out(&mut self, number: usize, what: &str) {
        let text = format!("turn {}: {what}", number + 1);
        self.mended.push(Problem::warning("not-sent", text));
    }

    /// Joins a turn to the previous one, or adds it as a new one.
    fn push(&mut self, number: usize, mut turn: Turn) {
        if let Content::Blocks(blocks) = &mut turn.content {
            blocks.retain(|block| !block.is_blank());
        }
        if is_empty_content(&turn.content) {
            return;
        }
        match self.pending.last_mut() {
            Some(last) if !last.answered && are_one(&last.turn, &turn) => {
                join(&mut last.turn.content, turn.content);
            }
            _ => self.pending.push(PendingTurn {
                turn,
                number,
                calls: Vec::new(),
                answered: false,
            }),
        }
    }

    /// Adds blocks of the model, with unique call ids.
    fn add_model_turn(&mut self, number: usize, mut blocks: Vec<Block>, model: Option<String>) {
        let mut made = Vec::new();
        for block in &mut blocks {
            if let Block::ToolUse(call) = block {
                let id = self.ids.new_for(&call.id);
                made.push((std::mem::replace(&mut call.id, id.clone()), id));
            }
        }
        let turn = Turn {
            role: Role::Assistant,
            content: Content::Blocks(blocks),
            model,
        };
        self.push(number, turn);
        for (given, id) in made {
            self.await_result(number, given, id);
        }
    }

    /// Notes that a call of the last turn has no result yet.
    fn await_result(&mut self, number: usize, given: String, id: String) {
        let turn_index = self.pending.len() - 1;
        let open_calls = self.open_calls.entry(given).or_default();
        if open_calls.turn_index != turn_index {
            *open_calls = OpenCalls {
                turn_index,
                ..OpenCalls::default()
            };
        }
        let calls = &mut self.pending[turn_index].calls;
        open_calls.push(calls.len());
        calls.push(PendingCall {
            id,
            number,
            result: None,
        });
    }

    /// Attaches a result to the first unanswered call with its id, or adds it to the result of the last answered one.
    fn attach_result(&mut self, number: usize, mut result: ToolResult) {
        let Some(calls) = self.open_calls.get_mut(&result.tool_use_id) else {
            return self.leave_out(number, NO_CALL);
        };
        let turn_index = calls.turn_index;
        let unanswered = calls.pop();
        let Some(call) = unanswered.or(calls.answered) else {
            return self.leave_out(number, NO_CALL);
        };
        // What was sent before must be sent again, so only the last result of the conversation can grow.
        let mut later = self.pending[turn_index + 1..].iter();
        if unanswered.is_none() && later.any(|later| later.turn.role != Role::User) {
            return self.leave_out(number, NO_CALL);
        }
        let pending = &mut self.pending[turn_index];
        pending.answered = true;
        let call = &mut pending.calls[call];
        result.tool_use_id.clone_from(&call.id);
        match &mut call.result {
            None => call.result = Some(result),
            Some(first) if first.content == result.content => {
                self.leave_out(number, "a result is sent once: it is there twice");
            }
            Some(first) => {
                join(&mut first.content, result.content);
                first.is_error = result.is_error.or(first.is_error);
            }
        }
    }

    fn finish(self) -> Sendable {
        let mut sendable = Sendable {
            mended: self.mended,
            ..Sendable::default()
        };
        for pending in self.pending {
            match sendable.turns.last_mut() {
                // Only user turns behind results get here.
                Some(last) if are_one(last, &pending.turn) => {
                    join(&mut last.content, pending.turn.content);
                }
                _ => {
                    sendable.turns.push(pending.turn);
                    sendable.from.push(pending.number);
                }
            }
            if !pending.calls.is_empty() {
                sendable.push_results(pending.number, pending.calls);
            }
        }
        sendable.start_with_user();
        sendable
    }
}

fn join(content: &mut Content, more: Content) {
    let mut blocks = into_blocks(std::mem::take(content));
    match more {
        Content::Empty => {}
        Content::Text(text) => blocks.push(Block::from_text(text)),
        Content::Blocks(more) => blocks.extend(more),
    }
    *content = Content::Blocks(blocks);
}

impl Sendable {
    /// Adds the turn with the results of calls.
    fn push_results(&mut self, number: usize, calls: Vec<PendingCall>) {
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let result = match call.result {
                Some(result) => result,
                None => {
                    let text = format!(
                        "turn {}: a call has no result; one that says so is sent",
                        call.number + 1
                    );
                    self.mended.push(Problem::warning("sent-otherwise", text));
                    interrupted_result(call.id)
                }
            };
            results.push(Block::ToolResult(result));
        }
        self.turns.push(Turn::user(Content::Blocks(results)));
        self.from.push(number);
    }

    /// Adds a user turn before a conversation that starts with the model.
    fn start_with_user(&mut self) {
        let first = self.turns.iter().position(|turn| turn.role != Role::System);
        if let Some(first) = first.filter(|at| self.turns[*at].role == Role::Assistant) {
            let text = "the model spoke first, so a line of the user is sent before it";
            self.mended.push(Problem::warning("sent-otherwise", text));
            self.turns.insert(first, Turn::user(OPENING_TURN));
            self.from.insert(first, self.from[first]);
        }
    }
}

/// The result that is sent for a call without one.
fn interrupted_result(call: String) -> ToolResult {
    ToolResult {
        tool_use_id: call,
        content: INTERRUPTED_RESULT.into(),
        is_error: Some(true),
        ..ToolResult::default()
    }
}

/// Assigns unique call ids. Some vendors restart counting in every answer.
#[derive(Debug, Default)]
struct UniqueCallIds {
    taken: HashSet<String>,
    /// How often each id was requested.
    requested: HashMap<String, usize>,
}

impl UniqueCallIds {
    /// Returns a unique id for a call. It depends only on earlier calls, so that a longer conversation starts with the
    /// same bytes, which providers can cache.
    fn new_for(&mut self, id: &str) -> String {
        let mut candidate = id.to_string();
        while !self.taken.insert(candidate.clone()) {
            let count = self.requested.entry(id.to_string()).or_insert(1);
            *count += 1;
            candidate = format!("{id}_{count}");
        }
        candidate
    }
}
