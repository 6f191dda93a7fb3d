//! A conversation as every provider accepts it: a view for sending, which leaves the record as it is.
//! What a single API refuses beyond that (names, pictures, thoughts of others) is up to its encoder.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::{Block, Content, Problem, Role, ToolResult, Turn};

/// The result of a call that has none.
const INTERRUPTED: &str = "The call was interrupted; there is no result.";
/// What a conversation begins with that the model began.
const BEGINNING: &str = "(The conversation begins with your words.)";

/// A conversation that obeys the law of [`sendable()`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sendable {
    /// The turns.
    pub turns: Vec<Turn>,
    /// For each of them, the place of the given turn with which it began, or that it answers.
    pub from: Vec<usize>,
    /// What was added, and what stays out. Turns are counted as they were given, from 1.
    pub mended: Vec<Problem>,
}

/// Makes a conversation fit for sending; one that is in order comes back as it is.
///
/// The law: nobody's turn is empty, and no text is blank. The first to speak is the user, but for instructions. A turn of the
/// model with calls is followed directly by one of the user that begins with a result for each of them,
/// in their order, and there are no other results. No two calls have the same id. Turns of one role that
/// follow each other are one turn; but what two models said stays apart, since each has thoughts and
/// seals that would pass for the other's. An API in which roles have to alternate joins them when it is
/// known whose is whose.
///
/// Instructions in the middle stay where they are, but for those between a call and its result, which
/// come after it. A result that comes late goes to its call. The first result of a call counts; once a
/// later turn makes a call of the same id, results are that one's.
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
    let mut mender = Mender::default();
    mender.drafts.reserve(turns.len());
    for (number, turn) in turns.into_iter().enumerate() {
        mender.add(number, turn);
    }
    mender.finish()
}

/// Whether the law holds.
fn is_in_order(turns: &[Turn]) -> bool {
    let mut ids = HashSet::new();
    let (mut open, mut made): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut begun = false;
    let mut before: Option<&Turn> = None;
    for turn in turns {
        let first = begun || turn.role != Role::Assistant;
        let joins = before.is_some_and(|before| are_one(before, turn));
        if says_nothing(&turn.content) || joins || !first {
            return false;
        }
        let (mut answered, mut spoken) = (0, false);
        for block in blocks(&turn.content) {
            match block {
                Block::ToolUse(call) => {
                    if turn.role != Role::Assistant || !ids.insert(call.id.as_str()) {
                        return false;
                    }
                    made.push(&call.id);
                }
                Block::ToolResult(result) => {
                    let next = open
                        .get(answered)
                        .is_some_and(|id| **id == result.tool_use_id);
                    if turn.role != Role::User || spoken || !next {
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
                    if is_blank(block) {
                        return false;
                    }
                    spoken = true;
                }
            }
        }
        if answered != open.len() {
            return false;
        }
        open.clear();
        std::mem::swap(&mut open, &mut made);
        begun |= turn.role != Role::System;
        before = Some(turn);
    }
    open.is_empty()
}

/// Whether two turns that follow each other are one.
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

fn says_nothing(content: &Content) -> bool {
    match content {
        Content::Empty => true,
        Content::Text(text) => text.as_str().trim().is_empty(),
        Content::Blocks(blocks) => blocks.is_empty(),
    }
}

/// Whether a block is blank text. One with other fields may carry a seal, and counts.
fn is_blank(block: &Block) -> bool {
    let Block::Text(block) = block else {
        return false;
    };
    block.extra.is_empty() && block.text.as_str().trim().is_empty()
}

/// A turn in the making, and the calls in it. Their results follow it.
#[derive(Debug)]
struct Draft {
    turn: Turn,
    /// The number of the turn with which it began.
    number: usize,
    calls: Vec<Call>,
    /// Whether a result has come, so that the model's next words are a turn of their own.
    answered: bool,
}

#[derive(Debug)]
struct Call {
    /// Its id as it is sent.
    id: String,
    /// The number of the turn in which it was made.
    number: usize,
    result: Option<ToolResult>,
}

/// Calls of one id that wait for their results: the draft in which they are, and their places in it.
/// Mostly there is one.
#[derive(Debug, Default)]
struct Waiting {
    draft: usize,
    first: Option<usize>,
    more: VecDeque<usize>,
}

impl Waiting {
    fn push(&mut self, call: usize) {
        if self.first.is_none() && self.more.is_empty() {
            self.first = Some(call);
        } else {
            self.more.push_back(call);
        }
    }

    fn pop(&mut self) -> Option<usize> {
        self.first.take().or_else(|| self.more.pop_front())
    }
}

#[derive(Debug, Default)]
struct Mender {
    drafts: Vec<Draft>,
    /// By the id that the record has.
    waiting: HashMap<String, Waiting>,
    ids: Ids,
    mended: Vec<Problem>,
}

impl Mender {
    fn add(&mut self, number: usize, turn: Turn) {
        let Turn {
            role,
            content,
            model,
        } = turn;
        match content {
            Content::Blocks(blocks) if role == Role::Assistant => {
                self.of_model(number, blocks, model);
            }
            Content::Blocks(blocks) => {
                let blocks = self.without_tools(number, blocks);
                self.push(
                    number,
                    Turn {
                        role,
                        content: Content::Blocks(blocks),
                        model,
                    },
                );
            }
            content => self.push(
                number,
                Turn {
                    role,
                    content,
                    model,
                },
            ),
        }
    }

    /// Adds a turn of the model. What stands behind a result in it was said later.
    fn of_model(&mut self, number: usize, blocks: Vec<Block>, model: Option<String>) {
        if !blocks
            .iter()
            .any(|block| matches!(block, Block::ToolResult(_)))
        {
            return self.say(number, blocks, model);
        }
        let mut said = Vec::new();
        for block in blocks {
            if let Block::ToolResult(result) = block {
                self.say(number, std::mem::take(&mut said), model.clone());
                self.answer(number, result);
            } else {
                said.push(block);
            }
        }
        self.say(number, said, model);
    }

    /// What somebody else than the model says. Results go to their calls.
    fn without_tools(&mut self, number: usize, blocks: Vec<Block>) -> Vec<Block> {
        let mut said = Vec::new();
        for block in blocks {
            match block {
                Block::ToolResult(result) => self.answer(number, result),
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

    /// Adds what somebody says to the turn before, or as a new one.
    fn push(&mut self, number: usize, mut turn: Turn) {
        if let Content::Blocks(blocks) = &mut turn.content {
            blocks.retain(|block| !is_blank(block));
        }
        if says_nothing(&turn.content) {
            return;
        }
        match self.drafts.last_mut() {
            Some(last) if !last.answered && are_one(&last.turn, &turn) => {
                join(&mut last.turn.content, turn.content);
            }
            _ => self.drafts.push(Draft {
                turn,
                number,
                calls: Vec::new(),
                answered: false,
            }),
        }
    }

    /// Adds words and calls of the model.
    fn say(&mut self, number: usize, mut blocks: Vec<Block>, model: Option<String>) {
        let mut made = Vec::new();
        for block in &mut blocks {
            if let Block::ToolUse(call) = block {
                let id = self.ids.new_for(&call.id);
                made.push((std::mem::replace(&mut call.id, id.clone()), id));
            }
        }
        let (role, content) = (Role::Assistant, Content::Blocks(blocks));
        self.push(
            number,
            Turn {
                role,
                content,
                model,
            },
        );
        for (given, id) in made {
            self.wait(number, given, id);
        }
    }

    /// Notes that a call of the last draft waits for its result.
    fn wait(&mut self, number: usize, given: String, id: String) {
        let draft = self.drafts.len() - 1;
        let waiting = self.waiting.entry(given).or_default();
        if waiting.draft != draft {
            *waiting = Waiting {
                draft,
                ..Waiting::default()
            };
        }
        let calls = &mut self.drafts[draft].calls;
        waiting.push(calls.len());
        calls.push(Call {
            id,
            number,
            result: None,
        });
    }

    fn answer(&mut self, number: usize, mut result: ToolResult) {
        let waiting = self.waiting.get_mut(&result.tool_use_id);
        let found = waiting.and_then(|waiting| Some((waiting.draft, waiting.pop()?)));
        let Some((draft, call)) = found else {
            return self.leave_out(
                number,
                "a result is not sent: no call before it waits for one",
            );
        };
        let draft = &mut self.drafts[draft];
        let call = &mut draft.calls[call];
        result.tool_use_id.clone_from(&call.id);
        call.result = Some(result);
        draft.answered = true;
    }

    fn finish(self) -> Sendable {
        let Mender {
            drafts, mut mended, ..
        } = self;
        let mut turns: Vec<Turn> = Vec::with_capacity(drafts.len());
        let mut from = Vec::with_capacity(drafts.len());
        for Draft {
            turn,
            number,
            calls,
            ..
        } in drafts
        {
            match turns.last_mut() {
                // Only words of the user that follow on results come here.
                Some(last) if are_one(last, &turn) => join(&mut last.content, turn.content),
                _ => {
                    turns.push(turn);
                    from.push(number);
                }
            }
            if !calls.is_empty() {
                let results = calls
                    .into_iter()
                    .map(|call| result_of(call, &mut mended))
                    .collect();
                let content = Content::Blocks(results);
                turns.push(Turn::user(content));
                from.push(number);
            }
        }
        let first = turns.iter().position(|turn| turn.role != Role::System);
        if let Some(first) = first.filter(|at| turns[*at].role == Role::Assistant) {
            let text = "the model spoke first, so a line of the user is sent before it";
            mended.push(Problem::warning("sent-otherwise", text));
            let (role, content) = (Role::User, BEGINNING.into());
            turns.insert(
                first,
                Turn {
                    role,
                    content,
                    model: None,
                },
            );
            from.insert(first, from[first]);
        }
        Sendable {
            turns,
            from,
            mended,
        }
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

fn result_of(call: Call, mended: &mut Vec<Problem>) -> Block {
    let Call { id, number, result } = call;
    Block::ToolResult(result.unwrap_or_else(|| {
        let text = format!(
            "turn {}: a call has no result; one that says so is sent",
            number + 1
        );
        mended.push(Problem::warning("sent-otherwise", text));
        let (content, is_error) = (INTERRUPTED.into(), Some(true));
        ToolResult {
            tool_use_id: id,
            content,
            is_error,
            ..ToolResult::default()
        }
    }))
}

/// Ids in use. Some vendors begin to count anew in every answer.
#[derive(Debug, Default)]
struct Ids {
    taken: HashSet<String>,
    /// How often each was asked for.
    asked: HashMap<String, usize>,
}

impl Ids {
    /// The id to send for a call that has this one. What stands before it decides alone, so that a
    /// longer conversation begins with the same bytes, and can be cached.
    fn new_for(&mut self, id: &str) -> String {
        let mut candidate = id.to_string();
        while !self.taken.insert(candidate.clone()) {
            let count = self.asked.entry(id.to_string()).or_insert(1);
            *count += 1;
            candidate = format!("{id}_{count}");
        }
        candidate
    }
}
