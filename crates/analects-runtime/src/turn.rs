//! The turn as a pure state machine: what happened goes in, what is to be done next comes out. It knows no
//! model, no file and no clock, so every way through a turn can be tested; [`Prepared::ask`](crate::Prepared::ask) does
//! what it says.
//!
//! ```text
//! remind → plan → (summarise → plan) → (compact → plan) → ask → record → (run tools → plan …) → end
//!                                            ↑              │
//!                                            └─ too long ───┘
//! ```
//!
//! It cannot go round for ever: before each question there is at most one compaction of each kind and one
//! round of summaries, and the questions are counted.

use analects_core::{CompactTrigger, MessageId};

/// What a turn may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// The most questions to the model, of which each but the first follows results of tools.
    pub questions: u32,
    /// The most that all answers may cost together, in US dollars.
    pub cost: Option<f64>,
}

impl Default for TurnLimits {
    fn default() -> TurnLimits {
        TurnLimits {
            questions: 50,
            cost: None,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// The model was reminded of what changed, if anything did.
    Reminded,
    /// What would be sent is known.
    Planned(PlanResult),
    /// Summaries of single messages were asked for: the message whose summary failed, if one did, and what
    /// they cost.
    Summarised(Option<MessageId>, f64),
    /// The conversation may be another one after a compaction: what it cost. Whether it fits, the next plan shows.
    Compacted(f64),
    /// A compaction came to nothing, and the conversation is as it was: what it cost.
    NotCompacted(f64),
    /// The model answered, as well as it did.
    Answered(AnswerResult),
    /// The answer is on disk.
    Recorded,
    /// Every call of the answer has its result: whether any of them was run.
    ToolsRan(bool),
    /// The person wants it to end here.
    Stopped,
}

/// What would be sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanResult {
    /// Messages of which only a summary may be sent, and that have none.
    pub needs_summary: Vec<MessageId>,
    /// Whether the context is so full that it should be compacted.
    pub is_full: bool,
    /// Whether it fits, perhaps after trimming.
    pub fits: bool,
    /// What is not there any more that the turn is about.
    pub missing: Option<MissingItem>,
    /// The least that the answer costs, for what is sent alone; `None` if the price is not known.
    pub least_cost: Option<f64>,
}

/// What a turn is about and somebody took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingItem {
    /// The question.
    Question,
    /// A message that was chosen to be sent, or not to be.
    Choice,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnswerResult {
    /// Whether the model's side said that the prompt is too long, before any word of an answer.
    pub is_too_long: bool,
    /// Whether it failed, or broke off.
    pub failed: bool,
    /// Whether the person stopped it.
    pub stopped: bool,
    /// Whether it calls tools.
    pub calls: bool,
    /// What it cost, where that is known.
    pub cost: Option<f64>,
}

/// What is to be done next. Each but the last is answered by the input that says how it went.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Remind the model of files that changed.
    Remind,
    /// Plan what is sent.
    Plan,
    /// Ask for summaries of these messages, and keep them.
    Summarise(Vec<MessageId>),
    /// Put a summary in the place of what came before.
    Compact(CompactTrigger),
    /// Ask the model.
    Ask,
    /// Bring the answer to the disk.
    Record,
    /// Give every call of the answer its result.
    RunTools,
    /// Nothing: the turn is over.
    End(EndReason),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EndReason {
    /// The model has said what it had to say.
    Done,
    /// The model's side failed.
    Failed,
    /// The person stopped it.
    Stopped,
    /// What has to be sent does not fit.
    TooLarge,
    /// Somebody took the question, or what was chosen to go with it, away before it was asked.
    ItemMissing(MissingItem),
    /// The model asked for tools that nobody runs.
    ToolsNotRun,
    /// Only a summary of this message may be sent, and there is none to be had.
    NoSummary(MessageId),
    /// So many questions were asked, and the model is not done.
    TooManyQuestions(u32),
    /// The next question would cost more than is allowed.
    TooCostly {
        /// What all answers of this turn cost so far.
        spent: f64,
        /// The least that the next one costs.
        next: f64,
    },
    /// There is a limit for the cost, and the price is not known.
    PriceUnknown,
}

/// Where a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reminding,
    Planning,
    Summarising,
    Compacting,
    Asking,
    Recording(AfterRecording),
    RunningTools,
    Over,
}

/// What follows when an answer is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterRecording {
    Done,
    Failed,
    Stopped,
    Tools,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct Turn {
    limits: TurnLimits,
    state: State,
    asked: u32,
    spent: f64,
    /// What was done already for the question that comes next.
    summarised: bool,
    compacted: bool,
    compacted_after_refusal: bool,
}

impl Turn {
    /// Begins a turn: what to do first.
    pub fn begin(limits: TurnLimits) -> (Turn, Effect) {
        let turn = Turn {
            limits,
            state: State::Reminding,
            asked: 0,
            spent: 0.0,
            summarised: false,
            compacted: false,
            compacted_after_refusal: false,
        };
        (turn, Effect::Remind)
    }

    /// What to do next. An input that answers nothing that was to be done ends the turn as failed.
    pub fn next(&mut self, input: TurnInput) -> Effect {
        match (self.state, input) {
            (State::Over, _) => self.end(EndReason::Failed),
            (_, TurnInput::Stopped) => self.end(EndReason::Stopped),
            (State::Reminding, TurnInput::Reminded) => self.plan(),
            (State::Planning, TurnInput::Planned(planned)) => self.planned(planned),
            (State::Summarising, TurnInput::Summarised(failed, cost)) => {
                self.spent += cost;
                match failed {
                    Some(id) => self.end(EndReason::NoSummary(id)),
                    None => self.plan(),
                }
            }
            (State::Compacting, TurnInput::Compacted(cost)) => {
                self.spent += cost;
                self.plan()
            }
            (State::Compacting, TurnInput::NotCompacted(cost)) => {
                self.spent += cost;
                match self.compacted_after_refusal {
                    // The same prompt would be refused again.
                    true => self.go(State::Recording(AfterRecording::Failed), Effect::Record),
                    // What is sent is trimmed.
                    false => self.plan(),
                }
            }
            (State::Asking, TurnInput::Answered(answered)) => self.answered(&answered),
            (State::Recording(after), TurnInput::Recorded) => self.recorded(after),
            (State::RunningTools, TurnInput::ToolsRan(true)) => self.plan(),
            (State::RunningTools, TurnInput::ToolsRan(false)) => self.end(EndReason::ToolsNotRun),
            _ => self.end(EndReason::Failed),
        }
    }

    fn go(&mut self, state: State, effect: Effect) -> Effect {
        self.state = state;
        effect
    }

    fn end(&mut self, ending: EndReason) -> Effect {
        self.go(State::Over, Effect::End(ending))
    }

    fn plan(&mut self) -> Effect {
        self.go(State::Planning, Effect::Plan)
    }

    fn planned(&mut self, planned: PlanResult) -> Effect {
        let PlanResult {
            needs_summary,
            is_full,
            fits,
            missing,
            least_cost,
        } = planned;
        if let Some(missing) = missing {
            return self.end(EndReason::ItemMissing(missing));
        }
        // Summaries cost as much as a question, and are asked for first.
        if let Some(ending) = self.over_limits(least_cost) {
            return self.end(ending);
        }
        if let Some(first) = needs_summary.first().cloned() {
            if std::mem::replace(&mut self.summarised, true) {
                return self.end(EndReason::NoSummary(first));
            }
            return self.go(State::Summarising, Effect::Summarise(needs_summary));
        }
        if is_full && !std::mem::replace(&mut self.compacted, true) {
            return self.go(State::Compacting, Effect::Compact(CompactTrigger::Auto));
        }
        if !fits {
            return self.end(EndReason::TooLarge);
        }
        self.asked += 1;
        self.go(State::Asking, Effect::Ask)
    }

    /// What may still be spent; `None` if there is no limit.
    pub fn left_to_spend(&self) -> Option<f64> {
        Some((self.limits.cost? - self.spent).max(0.0))
    }

    fn over_limits(&self, least_cost: Option<f64>) -> Option<EndReason> {
        if self.asked >= self.limits.questions {
            return Some(EndReason::TooManyQuestions(self.asked));
        }
        let limit = self.limits.cost?;
        match least_cost {
            None => Some(EndReason::PriceUnknown),
            Some(next) if self.spent + next > limit => Some(EndReason::TooCostly {
                spent: self.spent,
                next,
            }),
            Some(_) => None,
        }
    }

    fn answered(&mut self, answered: &AnswerResult) -> Effect {
        self.spent += answered.cost.unwrap_or(0.0);
        let again = answered.is_too_long && !answered.stopped;
        if again && !std::mem::replace(&mut self.compacted_after_refusal, true) {
            // The refused question was no question.
            self.asked -= 1;
            self.compacted = true;
            return self.go(State::Compacting, Effect::Compact(CompactTrigger::Reactive));
        }
        let after = match answered {
            AnswerResult { stopped: true, .. } => AfterRecording::Stopped,
            AnswerResult { failed: true, .. } => AfterRecording::Failed,
            AnswerResult { calls: true, .. } => AfterRecording::Tools,
            _ => AfterRecording::Done,
        };
        self.go(State::Recording(after), Effect::Record)
    }

    fn recorded(&mut self, after: AfterRecording) -> Effect {
        // The next question is another one.
        (
            self.summarised,
            self.compacted,
            self.compacted_after_refusal,
        ) = (false, false, false);
        match after {
            AfterRecording::Done => self.end(EndReason::Done),
            AfterRecording::Failed => self.end(EndReason::Failed),
            AfterRecording::Stopped => self.end(EndReason::Stopped),
            AfterRecording::Tools => self.go(State::RunningTools, Effect::RunTools),
        }
    }
}

#[cfg(test)]
mod tests;
