//! One turn as a pure state machine: you report what happened, it says what to do next. It knows no model, file or
//! clock, so tests can take every path through a turn. [`Prepared::ask`](crate::Prepared::ask) carries out what it says.
//!
//! ```text
//! remind → plan → (summarise → plan) → (compact → plan) → ask → record → (run tools → plan …) → end
//!                                            ↑              │
//!                                            └─ too long ───┘
//! ```
//!
//! A turn always ends: each question is preceded by at most one compaction of each kind and one round of summaries, and
//! the number of questions is limited.
//!
//! A turn without tools, whose request fits, takes this path:
//!
//! ```
//! use analects_runtime::turn::{AnswerResult, Effect, EndReason, PlanResult, Turn, TurnInput, TurnLimits};
//!
//! let (mut turn, first) = Turn::begin(TurnLimits::default());
//! assert_eq!(first, Effect::Remind);
//! assert_eq!(turn.next(TurnInput::Reminded), Effect::Plan);
//! let plan = PlanResult { fits: true, ..PlanResult::default() };
//! assert_eq!(turn.next(TurnInput::Planned(plan)), Effect::Ask);
//! let answer = AnswerResult::default();
//! assert_eq!(turn.next(TurnInput::Answered(answer)), Effect::Record);
//! assert_eq!(turn.next(TurnInput::Recorded), Effect::End(EndReason::Done));
//! ```

use analects_core::{CompactTrigger, MessageId};

/// Limits of a turn. A turn that reaches one ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// How many requests a turn may send to the model. Each request but the first carries the results of tools.
    pub questions: u32,
    /// How much all answers may cost together, in US dollars. `None` means no limit.
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

/// What happened: the result of the last [`Effect`].
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// The model was reminded of changed files, if there were any.
    Reminded,
    /// The next request is planned.
    Planned(PlanResult),
    /// Summaries of single messages were requested.
    Summarised {
        /// The message whose summary failed; `None` if all succeeded.
        failed: Option<MessageId>,
        /// What the summaries cost, in US dollars.
        cost: f64,
    },
    /// The conversation was compacted, or somebody else changed it meanwhile. The next plan shows whether it fits.
    Compacted {
        /// What the compaction cost, in US dollars.
        cost: f64,
    },
    /// The compaction failed and the conversation is unchanged.
    NotCompacted {
        /// What the attempt cost, in US dollars.
        cost: f64,
    },
    /// The model answered, or failed to.
    Answered(AnswerResult),
    /// The answer is on disk.
    Recorded,
    /// Every call of the answer has a result.
    ToolsRan(ToolsResult),
    /// The person stopped the turn.
    Stopped,
}

/// What a plan of the next request says.
/// A missing item ends the turn before anything else is looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanResult {
    /// Messages that may only be sent as a summary and have none yet.
    pub needs_summary: Vec<MessageId>,
    /// Whether the context is full enough to be compacted.
    pub is_full: bool,
    /// Whether the request fits into the window, perhaps after trimming.
    pub fits: bool,
    /// What the turn is about but is no longer in the conversation.
    pub missing: Option<MissingItem>,
    /// The lowest possible cost of the next answer, in US dollars; `None` if the price of the model is unknown.
    pub least_cost: Option<f64>,
}

/// What a turn is about and somebody removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingItem {
    /// The question.
    Question,
    /// A message that was chosen to be sent or to be left out.
    Choice,
}

/// How the calls of an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolsResult {
    /// The model gets the results and is asked again.
    Ran,
    /// There are no tools here.
    NoTools,
    /// The model made the same calls several times, and the results are the same.
    Repeated,
}

/// How the model answered.
/// Several may be true at once: an answer that was stopped counts as stopped even if it failed too.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnswerResult {
    /// Whether the provider refused the prompt as too long before it sent anything.
    pub is_too_long: bool,
    /// Whether the request failed or the answer broke off.
    pub is_failed: bool,
    /// Whether the person stopped the answer.
    pub is_stopped: bool,
    /// Whether the answer calls tools.
    pub has_calls: bool,
    /// What the answer cost, in US dollars; `None` if the price or the usage is unknown.
    pub cost: Option<f64>,
}

/// What to do next. Report the result of every effect but [`Effect::End`] as a [`TurnInput`].
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Remind the model of files that changed.
    Remind,
    /// Plan the next request.
    Plan,
    /// Request summaries of these messages and store them.
    Summarise(Vec<MessageId>),
    /// Replace the earlier part of the conversation with a summary.
    Compact(CompactTrigger),
    /// Ask the model.
    Ask,
    /// Write the answer to disk.
    Record,
    /// Give every call of the answer a result.
    RunTools,
    /// Nothing: the turn is over.
    End(EndReason),
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EndReason {
    /// The model finished its answer.
    Done,
    /// The request failed, or the answer broke off.
    Failed,
    /// The person stopped the turn.
    Stopped,
    /// What must be sent does not fit into the window.
    TooLarge,
    /// Somebody removed the question, or a chosen message, before the model was asked.
    ItemMissing(MissingItem),
    /// The model called tools, and none of them can run.
    ToolsNotRun,
    /// The model makes the same calls again and again, and gets the same results.
    CallsRepeated,
    /// This message may only be sent as a summary, and there is none.
    NoSummary(MessageId),
    /// The turn sent this many requests, and the model is not done.
    TooManyQuestions(u32),
    /// The next answer would exceed the cost limit.
    TooCostly {
        /// What all answers of this turn cost so far, in US dollars.
        spent: f64,
        /// The lowest possible cost of the next answer, in US dollars.
        next: f64,
    },
    /// There is a cost limit, and the price of the model is unknown.
    PriceUnknown,
}

/// Which result the turn is waiting for.
/// Every state but the last belongs to one effect, and only the result of that effect leads on.
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

/// What follows once an answer is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterRecording {
    Done,
    Failed,
    Stopped,
    Tools,
}

/// The state of one turn.
#[derive(Debug, Clone)]
pub struct Turn {
    limits: TurnLimits,
    state: State,
    /// How many requests were sent, without those that were refused as too long.
    asked: u32,
    /// What the turn cost so far, in US dollars.
    spent: f64,
    preparation: Preparation,
}

/// What was already tried for the next question. Each is tried at most once.
#[derive(Debug, Clone, Default)]
struct Preparation {
    is_summarised: bool,
    is_compacted: bool,
    is_compacted_after_refusal: bool,
}

impl Turn {
    /// Starts a turn and returns the first effect.
    pub fn begin(limits: TurnLimits) -> (Turn, Effect) {
        let turn = Turn {
            limits,
            state: State::Reminding,
            asked: 0,
            spent: 0.0,
            preparation: Preparation::default(),
        };
        (turn, Effect::Remind)
    }

    /// Returns what to do next. An input that does not belong to the last effect ends the turn as failed.
    pub fn next(&mut self, input: TurnInput) -> Effect {
        match (self.state, input) {
            (State::Over, _) => self.end(EndReason::Failed),
            (_, TurnInput::Stopped) => self.end(EndReason::Stopped),
            (State::Reminding, TurnInput::Reminded) => self.plan(),
            (State::Planning, TurnInput::Planned(plan)) => self.after_plan(plan),
            (State::Summarising, TurnInput::Summarised { failed, cost }) => {
                self.after_summaries(failed, cost)
            }
            (State::Compacting, TurnInput::Compacted { cost }) => {
                self.spent += cost;
                self.plan()
            }
            (State::Compacting, TurnInput::NotCompacted { cost }) => {
                self.after_failed_compaction(cost)
            }
            (State::Asking, TurnInput::Answered(answer)) => self.after_answer(&answer),
            (State::Recording(after), TurnInput::Recorded) => self.after_recording(after),
            (State::RunningTools, TurnInput::ToolsRan(result)) => self.after_tools(result),
            _ => self.end(EndReason::Failed),
        }
    }

    /// How much may still be spent, in US dollars; `None` without a limit.
    /// Never negative: an answer may cost more than was estimated.
    pub fn left_to_spend(&self) -> Option<f64> {
        let limit = self.limits.cost?;
        Some((limit - self.spent).max(0.0))
    }

    fn go(&mut self, state: State, effect: Effect) -> Effect {
        self.state = state;
        effect
    }

    fn end(&mut self, reason: EndReason) -> Effect {
        self.go(State::Over, Effect::End(reason))
    }

    fn plan(&mut self) -> Effect {
        self.go(State::Planning, Effect::Plan)
    }

    fn record(&mut self, after: AfterRecording) -> Effect {
        self.go(State::Recording(after), Effect::Record)
    }

    fn compact(&mut self, trigger: CompactTrigger) -> Effect {
        self.preparation.is_compacted = true;
        self.go(State::Compacting, Effect::Compact(trigger))
    }

    /// Checks in this order: something is missing, a limit is reached, summaries are missing, the context is full, the
    /// request does not fit. If nothing of that holds, the model is asked.
    fn after_plan(&mut self, plan: PlanResult) -> Effect {
        if let Some(missing) = plan.missing {
            return self.end(EndReason::ItemMissing(missing));
        }
        // Summaries cost as much as a question, so the limits apply to them too.
        if let Some(reason) = self.exceeded_limit(plan.least_cost) {
            return self.end(reason);
        }
        if !plan.needs_summary.is_empty() {
            return self.summarise(plan.needs_summary);
        }
        if plan.is_full && !self.preparation.is_compacted {
            return self.compact(CompactTrigger::Auto);
        }
        if !plan.fits {
            return self.end(EndReason::TooLarge);
        }
        self.asked += 1;
        self.go(State::Asking, Effect::Ask)
    }

    /// Requests summaries, unless that was tried for this question before.
    fn summarise(&mut self, mut messages: Vec<MessageId>) -> Effect {
        if self.preparation.is_summarised {
            return self.end(EndReason::NoSummary(messages.swap_remove(0)));
        }
        self.preparation.is_summarised = true;
        self.go(State::Summarising, Effect::Summarise(messages))
    }

    /// Why the next request must not be sent; `None` if it may. Without a cost limit an unknown price does not matter.
    fn exceeded_limit(&self, least_cost: Option<f64>) -> Option<EndReason> {
        if self.asked >= self.limits.questions {
            return Some(EndReason::TooManyQuestions(self.asked));
        }
        let limit = self.limits.cost?;
        let Some(next) = least_cost else {
            return Some(EndReason::PriceUnknown);
        };
        let spent = self.spent;
        (spent + next > limit).then_some(EndReason::TooCostly { spent, next })
    }

    /// What they cost counts even if one failed.
    fn after_summaries(&mut self, failed: Option<MessageId>, cost: f64) -> Effect {
        self.spent += cost;
        match failed {
            Some(id) => self.end(EndReason::NoSummary(id)),
            None => self.plan(),
        }
    }

    fn after_failed_compaction(&mut self, cost: f64) -> Effect {
        self.spent += cost;
        if self.preparation.is_compacted_after_refusal {
            // The provider would refuse the same prompt again.
            self.record(AfterRecording::Failed)
        } else {
            // The plan trims what it sends.
            self.plan()
        }
    }

    /// A prompt that was refused as too long is compacted and sent again, once. Everything else is recorded first, even
    /// a failure, because part of an answer may have arrived.
    fn after_answer(&mut self, answer: &AnswerResult) -> Effect {
        self.spent += answer.cost.unwrap_or(0.0);
        let is_refused = answer.is_too_long && !answer.is_stopped;
        if is_refused && !self.preparation.is_compacted_after_refusal {
            self.preparation.is_compacted_after_refusal = true;
            // A refused request does not count.
            self.asked -= 1;
            return self.compact(CompactTrigger::Reactive);
        }
        if answer.is_stopped {
            self.record(AfterRecording::Stopped)
        } else if answer.is_failed {
            self.record(AfterRecording::Failed)
        } else if answer.has_calls {
            self.record(AfterRecording::Tools)
        } else {
            self.record(AfterRecording::Done)
        }
    }

    fn after_tools(&mut self, result: ToolsResult) -> Effect {
        match result {
            ToolsResult::Ran => self.plan(),
            ToolsResult::NoTools => self.end(EndReason::ToolsNotRun),
            ToolsResult::Repeated => self.end(EndReason::CallsRepeated),
        }
    }

    fn after_recording(&mut self, after: AfterRecording) -> Effect {
        // The next question may be summarised and compacted again.
        self.preparation = Preparation::default();
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
