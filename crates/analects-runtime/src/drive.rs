//! Carries out what a [`Turn`] says, from the conversation so far to the answer on disk. It runs on one thread and waits
//! for the network only in [`Network`].
//!
//! Each effect of the turn is one method of [`TurnDriver`] with the same name, which returns the [`TurnInput`] to
//! report back. An error of the store ends the turn at once, while an error of the provider is an ordinary result.

use std::time::{Duration, Instant};

use analects_client::{ClientError, EventStream, cost};
use analects_context::{Counter, FileFreshness, Plan, TooLarge};
use analects_core::{
    ApiError, ApiErrorKind, Chain, CompactTrigger, Content, Delta, Fold, Message, MessageId,
    Problem, StreamEvent,
};
use analects_store::{AnswerDelta, StoreError};
use jiff::Timestamp;

use crate::answer_deadline::AnswerDeadline;
use crate::answer_queue::Scope;
use crate::compaction::{CompactionError, CompactionPlan, CompactionReport, Summariser};
use crate::conversation::{additions, calls_of, single_summary};
use crate::cost_limit::{CostLimit, affordable, least_cost};
use crate::network::Network;
use crate::tools::{RepeatedCalls, results_message, unrun_results};
use crate::turn::{
    AnswerResult, Effect, EndReason, MissingItem, PlanResult, ToolsResult, Turn, TurnInput,
};
use crate::turn_config::TurnSetup;
use crate::{Conversation, Question, Snapshot, files};

/// What happens during a turn, for a caller that shows it.
/// Every text is stored before its event is reported.
#[derive(Debug)]
pub enum TurnEvent {
    /// A part of the answer arrived.
    Stream(StreamEvent),
    /// The answer ended and is about to be recorded.
    Answer(Box<Message>),
    /// The model gets this reminder of a file that changed.
    Reminded(String),
    /// A summary of the message with this name is being requested.
    Summarising(String),
    /// A summary of the conversation is being requested.
    Compacting(CompactTrigger),
    /// The summary replaces the earlier part from now on.
    Compacted(CompactionReport),
    /// The compaction failed and the conversation is unchanged.
    NotCompacted(CompactionError),
    /// The tools that the model called are about to run.
    RunningTools,
    /// The model is asked again: it called tools, or it refused a prompt that is shorter now.
    AskingAgain,
}

/// The result of a turn. The conversation already holds the answer.
#[derive(Debug)]
pub struct Outcome {
    /// The answer, or the error as a message; `None` if the model was not asked.
    pub answer: Option<Message>,
    /// Why the turn ended.
    pub end: TurnEnd,
    /// Problems in the conversation, the request or the answer.
    pub problems: Vec<Problem>,
}

/// Why a turn ended.
#[derive(Debug)]
pub enum TurnEnd {
    /// The model finished its answer.
    Done,
    /// The request failed, or the answer broke off.
    Failed(Box<ClientError>),
    /// The person stopped the turn.
    Stopped,
    /// What must be sent does not fit into the window.
    TooLarge(TooLarge),
    /// Somebody removed the question before the model was asked.
    QuestionRemoved,
    /// Somebody removed or changed a message that was chosen to be sent or to be left out.
    ChoiceRemoved,
    /// The model called tools, and none of them can run.
    ToolsNotRun,
    /// The model makes the same calls again and again, and gets the same results.
    CallsRepeated,
    /// A message may only be sent as a summary, and there is none.
    NoSummary {
        /// The name that a person knows the message by.
        name: String,
        /// Why there is no summary, if that is known.
        why: Option<Box<CompactionError>>,
    },
    /// The turn sent this many requests, and the model is not done.
    TooManyQuestions(u32),
    /// The next answer would exceed the cost limit.
    TooCostly {
        /// What all answers of this turn cost so far, in US dollars.
        spent: f64,
        /// The lowest possible cost of the next answer, in US dollars.
        next: f64,
        /// The limit, in US dollars.
        limit: f64,
    },
    /// There is a cost limit, and the price of the model is unknown.
    PriceUnknown,
}

/// Runs one turn of a conversation.
/// It serves a single turn and is consumed by [`TurnDriver::run`].
pub(crate) struct TurnDriver<'d, 's> {
    setup: &'d TurnSetup,
    conversation: &'d mut dyn Conversation,
    events: &'d mut dyn FnMut(TurnEvent),
    network: Network<'s>,
    scope: &'d Scope,
    counter: Counter<'d>,
    /// The plan of the last request.
    plan: Plan,
    /// The questions that the next answer is for.
    questions: Vec<Question>,
    /// What this turn sends of the conversation, if nothing was written since it was read.
    fresh_snapshot: Option<Snapshot>,
    /// Whether a question was waiting when the next answer was first planned.
    had_question: Option<bool>,
    answer: Option<Message>,
    repeated_calls: RepeatedCalls,
    error: Option<ClientError>,
    summary_error: Option<CompactionError>,
    problems: Vec<Problem>,
}

/// How a stream ended.
/// A stream that ends without a final event counts as complete here; the fold finds out that it broke off.
enum StreamEnd {
    Complete,
    Failed(ClientError),
    Stopped,
}

impl<'d, 's> TurnDriver<'d, 's> {
    pub fn new(
        setup: &'d TurnSetup,
        conversation: &'d mut dyn Conversation,
        scope: &'d Scope,
        events: &'d mut dyn FnMut(TurnEvent),
        network: Network<'s>,
    ) -> TurnDriver<'d, 's> {
        let counter = setup.counter(&conversation.notes().calibration);
        TurnDriver {
            setup,
            conversation,
            events,
            network,
            scope,
            counter,
            plan: Plan::default(),
            questions: Vec::new(),
            fresh_snapshot: None,
            had_question: None,
            answer: None,
            repeated_calls: RepeatedCalls::default(),
            error: None,
            summary_error: None,
            problems: Vec::new(),
        }
    }

    /// Asks the model to continue the conversation, which reads as `snapshot`, and records the answer to the last word
    /// that arrives.
    pub fn run(mut self, snapshot: Snapshot) -> Result<Outcome, StoreError> {
        // From the start, others can see that these questions are being answered.
        self.questions = self.scope.waiting(&snapshot).now;
        self.begin_answer(Timestamp::now())?;
        // If something is missing, planning ends the turn.
        self.fresh_snapshot = self.scope.narrow(snapshot).ok();
        let (mut turn, mut effect) = Turn::begin(self.setup.config.limits);
        loop {
            let limit = CostLimit::new(turn.left_to_spend());
            let input = match effect {
                Effect::Remind => self.remind()?,
                Effect::Plan => self.plan(),
                Effect::Summarise(messages) => self.summarise(&messages, limit)?,
                Effect::Compact(trigger) => self.compact(trigger, limit)?,
                Effect::Ask => self.ask(turn.left_to_spend())?,
                Effect::Record => self.record()?,
                Effect::RunTools => self.run_tools()?,
                Effect::End(reason) => return Ok(self.end(reason)),
            };
            effect = turn.next(input);
        }
    }

    fn begin_answer(&mut self, began: Timestamp) -> Result<(), StoreError> {
        let base = self.setup.answer_base(began, Duration::ZERO);
        self.conversation.begin_answer(&self.questions, &base)
    }

    fn tell(&mut self, event: TurnEvent) {
        (self.events)(event);
    }

    /// What this turn sends of the conversation: what was read last, or else what is there now.
    /// Takes it, because whatever uses it may write to the conversation and so outdate it.
    fn take_snapshot(&mut self) -> Result<Snapshot, MissingItem> {
        match self.fresh_snapshot.take() {
            Some(snapshot) => Ok(snapshot),
            None => self.scope.narrow(self.conversation.snapshot()),
        }
    }

    /// Keeps the snapshot if nothing was written, which spares planning a second read.
    fn remind(&mut self) -> Result<TurnInput, StoreError> {
        // If something is missing, planning ends the turn.
        let Ok(snapshot) = self.take_snapshot() else {
            return Ok(TurnInput::Reminded);
        };
        let texts = remind_of_files_in(&snapshot, self.conversation, self.setup)?;
        if texts.is_empty() {
            self.fresh_snapshot = Some(snapshot);
        }
        for text in texts {
            self.tell(TurnEvent::Reminded(text));
        }
        Ok(TurnInput::Reminded)
    }

    fn plan(&mut self) -> TurnInput {
        let snapshot = match self.take_snapshot() {
            Ok(snapshot) => snapshot,
            Err(missing) => return planned_without(missing),
        };
        self.questions = self.scope.waiting(&snapshot).now;
        if self.is_question_removed() {
            return planned_without(MissingItem::Question);
        }
        let chain = snapshot.chain_with_document();
        let agent = self.setup.agent_with_one_model();
        self.plan = self.setup.planner(&agent).plan(&chain, &mut self.counter);
        let is_full = self.setup.is_full(&self.plan, &chain, &mut self.counter);
        self.problems = self.planning_problems(&snapshot, &chain);
        TurnInput::Planned(PlanResult {
            needs_summary: self.plan.needs_summary.clone(),
            is_full,
            fits: self.plan.ready().is_ok(),
            missing: None,
            least_cost: least_cost(&self.setup.agent.model, self.plan.count),
        })
    }

    /// Whether somebody removed the questions since the next answer was first planned.
    fn is_question_removed(&mut self) -> bool {
        let has_question = !self.questions.is_empty();
        let had_question = *self.had_question.get_or_insert(has_question);
        had_question && !has_question
    }

    /// The problems of the last plan. Those of earlier plans do not count: nothing was sent by them.
    fn planning_problems(&self, snapshot: &Snapshot, chain: &Chain<'_>) -> Vec<Problem> {
        let mut problems = snapshot.problems.clone();
        problems.extend_from_slice(&chain.problems);
        problems.extend_from_slice(&self.plan.notes);
        problems
    }

    /// Stops at the first summary that fails. What was summarised before stays stored.
    fn summarise(
        &mut self,
        messages: &[MessageId],
        mut limit: CostLimit,
    ) -> Result<TurnInput, StoreError> {
        for id in messages {
            let name = self.conversation.name_of(id);
            self.tell(TurnEvent::Summarising(name));
            match self.summarise_one(id, &mut limit) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(CompactionError::Stopped) => return Ok(TurnInput::Stopped),
                Err(CompactionError::Store(error)) if !is_refused(&error) => return Err(error),
                Err(error) => self.summary_error = Some(error),
            }
            let failed = Some(id.clone());
            let cost = limit.spent;
            return Ok(TurnInput::Summarised { failed, cost });
        }
        let cost = limit.spent;
        Ok(TurnInput::Summarised { failed: None, cost })
    }

    /// Requests the summary of a message and stores it. False if the message is gone.
    fn summarise_one(
        &mut self,
        id: &MessageId,
        limit: &mut CostLimit,
    ) -> Result<bool, CompactionError> {
        let mut messages = self.conversation.snapshot().messages.into_iter();
        let Some(message) = messages.find(|message| message.id == *id) else {
            return Ok(false);
        };
        let mut summariser = Summariser {
            setup: self.setup,
            counter: &mut self.counter,
            limit,
            network: &mut self.network,
        };
        let text = summariser.summarise_message(&message)?;
        let changes = additions([single_summary(id, &text)]);
        self.conversation
            .apply(changes, &[message], Timestamp::now())?;
        Ok(true)
    }

    /// Does nothing while messages are chosen for this call: see [`CompactionError::CellsChosen`].
    fn compact(
        &mut self,
        trigger: CompactTrigger,
        mut limit: CostLimit,
    ) -> Result<TurnInput, StoreError> {
        let is_refused = trigger == CompactTrigger::Reactive;
        if !self.scope.chosen.is_empty() {
            // Say so only if the request is refused or trimmed without a compaction.
            if is_refused || self.plan.drops() {
                self.tell(TurnEvent::NotCompacted(CompactionError::CellsChosen));
            }
            return Ok(TurnInput::NotCompacted { cost: 0.0 });
        }
        let Ok(snapshot) = self.scope.narrow(self.conversation.snapshot()) else {
            return Ok(TurnInput::NotCompacted { cost: 0.0 });
        };
        let plan = CompactionPlan::new(
            self.setup,
            snapshot,
            trigger.clone(),
            self.window_of_refusal(&trigger),
            &mut self.counter,
        );
        let plan = match plan {
            Ok(plan) => plan,
            Err(why) => {
                if is_refused {
                    self.tell(TurnEvent::NotCompacted(CompactionError::NotNow(why)));
                }
                return Ok(TurnInput::NotCompacted { cost: 0.0 });
            }
        };
        self.tell(TurnEvent::Compacting(trigger));
        let result = self.compact_by(plan, &mut limit);
        self.after_compaction(result, limit.spent)
    }

    /// The window that the provider named when it refused the prompt.
    fn window_of_refusal(&self, trigger: &CompactTrigger) -> Option<u64> {
        if *trigger != CompactTrigger::Reactive {
            return None;
        }
        self.error.as_ref()?.context_window()
    }

    fn compact_by(
        &mut self,
        plan: CompactionPlan,
        limit: &mut CostLimit,
    ) -> Result<CompactionReport, CompactionError> {
        let mut summariser = Summariser {
            setup: self.setup,
            counter: &mut self.counter,
            limit,
            network: &mut self.network,
        };
        let compaction = plan.summarise(&*self.conversation, &mut summariser)?;
        Ok(compaction.write_to(self.conversation)?)
    }

    /// Reports the result of a compaction to the caller and to the turn.
    fn after_compaction(
        &mut self,
        result: Result<CompactionReport, CompactionError>,
        cost: f64,
    ) -> Result<TurnInput, StoreError> {
        match result {
            Ok(report) => self.tell(TurnEvent::Compacted(report)),
            Err(CompactionError::Stopped) => {
                // What the provider refused before is not an answer worth keeping.
                self.answer = None;
                self.error = None;
                return Ok(TurnInput::Stopped);
            }
            Err(CompactionError::Store(error)) if !is_refused(&error) => return Err(error),
            // Somebody changed the conversation meanwhile, so the turn plans anew.
            Err(error @ CompactionError::Store(_)) => self.tell(TurnEvent::NotCompacted(error)),
            Err(error) => {
                self.after_failed_compaction(error)?;
                return Ok(TurnInput::NotCompacted { cost });
            }
        }
        Ok(TurnInput::Compacted { cost })
    }

    /// Notes a failed attempt in the conversation, so that later turns wait before they try again.
    fn after_failed_compaction(&mut self, error: CompactionError) -> Result<(), StoreError> {
        let failure = error.is_failed_attempt().then(|| error.public_message());
        self.tell(TurnEvent::NotCompacted(error));
        let Some(failure) = failure else {
            return Ok(());
        };
        let note = analects_context::compaction_failed(&failure);
        self.conversation
            .apply(additions([note]), &[], Timestamp::now())
    }

    /// Sends the request, and keeps the answer and its error for [`TurnDriver::record`]. `left_to_spend` is in US
    /// dollars.
    fn ask(&mut self, left_to_spend: Option<f64>) -> Result<TurnInput, StoreError> {
        if self.answer.take().is_some() {
            self.tell(TurnEvent::AskingAgain);
        }
        let began = Timestamp::now();
        let clock = Instant::now();
        self.limit_answer(left_to_spend);
        self.begin_answer(began)?;
        let mut fold = Fold::default();
        let end = self.stream_answer(&mut fold);
        let mut folded = fold.finish(self.setup.answer_base(began, clock.elapsed()));
        self.problems.append(&mut folded.problems);
        let is_stopped = matches!(end, StreamEnd::Stopped);
        let error = match end {
            StreamEnd::Failed(error) => Some(error),
            StreamEnd::Complete if !folded.complete => Some(broke_off(folded.error)),
            StreamEnd::Complete | StreamEnd::Stopped => None,
        };
        let mut answer = folded.message;
        answer.cost_usd = cost(&self.setup.agent.model, answer.usage.as_deref());
        let is_too_long = error.as_ref().is_some_and(ClientError::is_context_overflow);
        let result = AnswerResult {
            is_too_long: is_too_long && is_empty(&answer),
            is_failed: error.is_some(),
            is_stopped,
            has_calls: calls_of(&answer).next().is_some(),
            cost: answer.cost_usd,
        };
        self.tell(TurnEvent::Answer(Box::new(answer.clone())));
        self.answer = Some(as_error_if_empty(answer, error.as_ref()));
        self.error = error;
        Ok(TurnInput::Answered(result))
    }

    /// Limits the length of the answer to what may be spent. The next request gets a new plan, so this changes the
    /// request in place.
    fn limit_answer(&mut self, left_to_spend: Option<f64>) {
        let Some(left) = left_to_spend else { return };
        let model = &self.setup.agent.model;
        let wanted = self.plan.request.max_output_tokens;
        self.plan.request.max_output_tokens = affordable(model, self.plan.count, left, wanted);
    }

    /// Sends the request and takes events until the stream ends.
    fn stream_answer(&mut self, fold: &mut Fold) -> StreamEnd {
        let deadline = self.answer_deadline();
        let client = &self.setup.config.client;
        let sent = client.stream(&self.setup.agent.model, &self.plan.request);
        let mut stream = match self.network.wait(deadline.watch(sent)) {
            None => return StreamEnd::Stopped,
            Some(Err(error) | Ok(Err(error))) => return StreamEnd::Failed(error),
            Some(Ok(Ok(stream))) => stream,
        };
        self.problems.extend_from_slice(stream.left_out());
        self.receive(&mut stream, &deadline, fold)
    }

    /// When the answer must be complete: each question may limit how long it takes, and the shortest limit counts.
    fn answer_deadline(&self) -> AnswerDeadline {
        let timeouts = self
            .questions
            .iter()
            .filter_map(|question| question.timeout);
        let limit = timeouts
            .min()
            .filter(|_| self.setup.config.question_timeouts);
        AnswerDeadline::new(&self.setup.agent.model, limit)
    }

    /// Takes events until the stream ends. Text is stored before it is shown, so that a kill loses nothing that anyone
    /// has seen.
    fn receive(
        &mut self,
        stream: &mut EventStream,
        deadline: &AnswerDeadline,
        fold: &mut Fold,
    ) -> StreamEnd {
        loop {
            let event = match self.network.wait(deadline.watch(stream.next())) {
                None => return StreamEnd::Stopped,
                Some(Ok(None)) => return StreamEnd::Complete,
                Some(Err(error) | Ok(Some(Err(error)))) => return StreamEnd::Failed(error),
                Some(Ok(Some(Ok(event)))) => event,
            };
            fold.push(&event);
            self.store_text(&event);
            self.tell(TurnEvent::Stream(event));
        }
    }

    /// Calls of tools are stored only with the finished answer.
    fn store_text(&mut self, event: &StreamEvent) {
        let StreamEvent::BlockDelta { delta, .. } = event else {
            return;
        };
        match delta {
            Delta::Text(text) => {
                self.conversation.push(AnswerDelta::Text(&text.as_str()));
            }
            Delta::Thinking(text) => {
                self.conversation
                    .push(AnswerDelta::Thinking(&text.as_str()));
            }
            _ => {}
        }
    }

    /// Writes the answer, or the error in its place, to the conversation.
    fn record(&mut self) -> Result<TurnInput, StoreError> {
        self.had_question = None;
        let Some(answer) = self.answer.clone() else {
            return Ok(TurnInput::Recorded);
        };
        self.learn_from(&answer);
        // An answer that was stopped before its first word leaves no trace.
        if self.error.is_some() || !is_empty(&answer) {
            self.conversation.finish(answer)?;
        }
        Ok(TurnInput::Recorded)
    }

    /// Compares the estimated tokens of the request with what the provider counted.
    fn learn_from(&mut self, answer: &Message) {
        let Some(usage) = &answer.usage else { return };
        let mut notes = self.conversation.notes();
        self.plan.learn(usage, &mut notes.calibration);
        self.counter.calibrate(&notes.calibration);
        self.conversation.set_notes(&notes);
    }

    /// Runs the calls of the answer and records a result for each. Without tools, the results say so.
    fn run_tools(&mut self) -> Result<TurnInput, StoreError> {
        self.tell(TurnEvent::RunningTools);
        let Some(answer) = &self.answer else {
            return Ok(TurnInput::ToolsRan(ToolsResult::NoTools));
        };
        let calls: Vec<_> = calls_of(answer).collect();
        let (results, end) = match self.setup.tools() {
            Some(tools) => {
                let results = tools.run(&calls);
                let end = if self.repeated_calls.note(&calls, &results) {
                    ToolsResult::Repeated
                } else {
                    ToolsResult::Ran
                };
                (results, end)
            }
            None => (unrun_results(&calls), ToolsResult::NoTools),
        };
        let message = results_message(&calls, results);
        self.conversation
            .apply(additions([message]), &[], Timestamp::now())?;
        Ok(TurnInput::ToolsRan(end))
    }

    fn end(mut self, reason: EndReason) -> Outcome {
        let is_unasked = matches!(reason, EndReason::Stopped | EndReason::ItemMissing(_));
        if is_unasked && self.answer.is_none() {
            // Problems of a request that was never sent are noise.
            self.problems.clear();
        }
        let end = self.turn_end(reason);
        Outcome {
            answer: self.answer,
            end,
            problems: self.problems,
        }
    }

    /// Adds to the reason what only the driver knows.
    fn turn_end(&mut self, reason: EndReason) -> TurnEnd {
        match reason {
            EndReason::Done => TurnEnd::Done,
            EndReason::Failed => {
                let error = self.error.take().unwrap_or_else(|| broke_off(None));
                TurnEnd::Failed(Box::new(error))
            }
            EndReason::Stopped => TurnEnd::Stopped,
            EndReason::TooLarge => match self.plan.too_large.take() {
                Some(too_large) => TurnEnd::TooLarge(too_large),
                None => TurnEnd::QuestionRemoved,
            },
            EndReason::ItemMissing(MissingItem::Question) => TurnEnd::QuestionRemoved,
            EndReason::ItemMissing(MissingItem::Choice) => TurnEnd::ChoiceRemoved,
            EndReason::ToolsNotRun => TurnEnd::ToolsNotRun,
            EndReason::CallsRepeated => TurnEnd::CallsRepeated,
            EndReason::NoSummary(id) => TurnEnd::NoSummary {
                name: self.conversation.name_of(&id),
                why: self.summary_error.take().map(Box::new),
            },
            EndReason::TooManyQuestions(asked) => TurnEnd::TooManyQuestions(asked),
            EndReason::TooCostly { spent, next } => TurnEnd::TooCostly {
                spent,
                next,
                limit: self.setup.config.limits.cost.unwrap_or_default(),
            },
            EndReason::PriceUnknown => TurnEnd::PriceUnknown,
        }
    }
}

/// Reminds the model of files that changed since it saw them, if this turn sends them. Returns the reminders.
pub(crate) fn remind(
    conversation: &mut dyn Conversation,
    setup: &TurnSetup,
    scope: &Scope,
) -> Result<Vec<String>, StoreError> {
    // Most conversations have no files, so this saves reading them.
    if conversation.notes().files.is_empty() {
        return Ok(Vec::new());
    }
    // If something is missing, planning ends the turn.
    let Ok(snapshot) = scope.narrow(conversation.snapshot()) else {
        return Ok(Vec::new());
    };
    remind_of_files_in(&snapshot, conversation, setup)
}

fn remind_of_files_in(
    snapshot: &Snapshot,
    conversation: &mut dyn Conversation,
    setup: &TurnSetup,
) -> Result<Vec<String>, StoreError> {
    let seen = FileFreshness::recorded(snapshot.chain().messages);
    let grants = setup.config.grants.as_ref();
    files::remind(conversation, &seen, grants, Timestamp::now())
}

/// The input that makes the turn end because something is gone.
fn planned_without(missing: MissingItem) -> TurnInput {
    TurnInput::Planned(PlanResult {
        missing: Some(missing),
        ..PlanResult::default()
    })
}

/// Whether the store refused a change because the conversation is no longer what it was.
fn is_refused(error: &StoreError) -> bool {
    matches!(error, StoreError::Refused { .. })
}

/// The error of an answer that ended early. `error` is what the provider said about it, if anything.
fn broke_off(error: Option<ApiError>) -> ClientError {
    let error = error.unwrap_or_else(|| {
        let text = "the provider stopped in the middle of it";
        ApiError::new(ApiErrorKind::Network, text)
    });
    ClientError::Interrupted(error)
}

/// Turns an empty answer into a message that holds the error. The message names no addresses and no paths, since others
/// may read the conversation.
fn as_error_if_empty(answer: Message, error: Option<&ClientError>) -> Message {
    let Some(error) = error.filter(|_| is_empty(&answer)) else {
        return answer;
    };
    let text = Message::assistant("", error.public_message());
    Message {
        is_api_error_message: true,
        body: text.body,
        // The response of that id does not say this.
        response_id: None,
        ..answer
    }
}

/// Whether an answer has no text, no thought and no call.
fn is_empty(answer: &Message) -> bool {
    answer.body.content().is_none_or(Content::is_empty)
}
