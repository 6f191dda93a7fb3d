//! Does what a [`Turn`] says: from the conversation so far to the answer on disk, whatever happens on the way. It runs
//! on one thread, and waits for the network where [`Network`] does.

use std::time::{Duration, Instant};

use analects_client::{ClientError, EventStream, cost};
use analects_context::{Counter, FileFreshness, Plan, TooLarge};
use analects_core::{
    ApiError, ApiErrorKind, CompactTrigger, Content, Delta, Fold, Message, MessageId, Problem,
    StreamEvent,
};
use analects_store::{AnswerDelta, StoreError};
use jiff::Timestamp;

use crate::compaction::{self, CompactionError, CompactionPlan, CompactionReport};
use crate::conversation::{additions, calls_of, results_of_unrun, single_summary};
use crate::cost_limit::{CostLimit, affordable, least_cost};
use crate::network::Network;
use crate::turn::{AnswerResult, Effect, EndReason, MissingItem, PlanResult, Turn, TurnInput};
use crate::turn_config::TurnSetup;
use crate::waiting::Scope;
use crate::{Conversation, Question, Snapshot, files};

/// What a person may want to see of a turn while it goes on.
#[derive(Debug)]
pub enum TurnEvent {
    /// Something of the answer.
    Stream(StreamEvent),
    /// All of an answer, before it is recorded: whatever becomes of that, it was seen.
    Answer(Box<Message>),
    /// The model is told that a file changed.
    Reminded(String),
    /// A message gets its summary.
    Summarising(String),
    /// A summary of the conversation is asked for.
    Compacting(CompactTrigger),
    /// It stands for the earlier part from now on.
    Compacted(CompactionReport),
    /// It came to nothing, and the conversation is as it was.
    NotCompacted(CompactionError),
    /// The model is asked once more, after what it answered or after a refusal that led to a summary.
    AskingAgain,
}

/// What came of a turn. What the model said is in the conversation already.
#[derive(Debug)]
pub struct Outcome {
    /// The answer, or the error as a message; `None` if the model was not asked.
    pub answer: Option<Message>,
    /// How it ended.
    pub end: TurnEnd,
    /// What was odd, in the conversation or in the answer.
    pub problems: Vec<Problem>,
}

/// How a turn ended.
#[derive(Debug)]
pub enum TurnEnd {
    /// The model has said what it had to say.
    Done,
    /// The model's side failed, or the answer broke off.
    Failed(Box<ClientError>),
    /// The person stopped it.
    Stopped,
    /// What has to be sent does not fit.
    TooLarge(TooLarge),
    /// Somebody took the question away before it was asked.
    QuestionRemoved,
    /// Somebody took away, or changed, what was chosen to be sent or to be kept back.
    ChoiceRemoved,
    /// The model asked for tools that nobody runs.
    ToolsNotRun,
    /// Only a summary of a message may be sent, and there is none to be had.
    NoSummary {
        /// What a person would call the message.
        name: String,
        /// Why there is none, where that is known.
        why: Option<Box<CompactionError>>,
    },
    /// So many questions were asked, and the model is not done.
    TooManyQuestions(u32),
    /// The next question would cost more than is allowed.
    TooCostly {
        /// What all answers of this turn cost so far, in US dollars.
        spent: f64,
        /// The least that the next one costs.
        next: f64,
        /// What is allowed.
        limit: f64,
    },
    /// There is a limit for the cost, and the price is not known.
    PriceUnknown,
}

/// A turn at work.
pub(crate) struct TurnDriver<'d, 's> {
    pub(crate) setup: &'d TurnSetup,
    pub(crate) conversation: &'d mut dyn Conversation,
    pub(crate) events: &'d mut dyn FnMut(TurnEvent),
    pub(crate) network: Network<'s>,
    pub(crate) scope: &'d Scope,
    counter: Counter<'d>,
    plan: Plan,
    /// What waits for the next answer.
    asked: Vec<Question>,
    /// What this turn sends of the conversation, if nothing was written since it was read.
    read: Option<Snapshot>,
    /// Whether somebody's words waited for an answer when the next one was first planned.
    had_question: Option<bool>,
    answer: Option<Message>,
    error: Option<ClientError>,
    summary_error: Option<CompactionError>,
    problems: Vec<Problem>,
}

/// How a stream ended.
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
            asked: Vec::new(),
            read: None,
            had_question: None,
            answer: None,
            error: None,
            summary_error: None,
            problems: Vec::new(),
        }
    }

    /// Asks the model to continue the conversation, which reads as `snapshot`, and records the answer to the last word
    /// that arrives.
    pub fn run(mut self, snapshot: Snapshot) -> Result<Outcome, StoreError> {
        // Others are to know from the beginning that this is being answered.
        self.asked = self.scope.waiting(&snapshot).now;
        self.begin_answer(Timestamp::now())?;
        // What is missing ends the turn when it is planned.
        self.read = self.scope.narrow(snapshot).ok();
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
                Effect::End(ending) => return Ok(self.end(ending)),
            };
            effect = turn.next(input);
        }
    }

    fn begin_answer(&mut self, began: Timestamp) -> Result<(), StoreError> {
        self.conversation
            .begin_answer(&self.asked, &self.setup.base(began, Duration::ZERO))
    }

    fn tell(&mut self, event: TurnEvent) {
        (self.events)(event);
    }

    fn remind(&mut self) -> Result<TurnInput, StoreError> {
        let read = self.read.take();
        let snapshot = read.or_else(|| self.scope.narrow(self.conversation.snapshot()).ok());
        let Some(snapshot) = snapshot else {
            return Ok(TurnInput::Reminded);
        };
        let texts = remind_of(self.conversation, self.setup, &snapshot)?;
        if texts.is_empty() {
            self.read = Some(snapshot);
        }
        for text in texts {
            self.tell(TurnEvent::Reminded(text));
        }
        Ok(TurnInput::Reminded)
    }

    fn plan(&mut self) -> TurnInput {
        let read = self.read.take().map(Ok);
        let snapshot = read.unwrap_or_else(|| self.scope.narrow(self.conversation.snapshot()));
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(gone) => return TurnInput::Planned(missing(gone)),
        };
        self.asked = self.scope.waiting(&snapshot).now;
        let has_question = !self.asked.is_empty();
        let had_question = *self.had_question.get_or_insert(has_question);
        if had_question && !has_question {
            return TurnInput::Planned(missing(MissingItem::Question));
        }
        let chain = snapshot.chain();
        let agent = self.setup.asking();
        self.plan = self.setup.planner(&agent).plan(&chain, &mut self.counter);
        let is_full = self.setup.is_full(&self.plan, &chain, &mut self.counter);
        // Those of the last plan count: an earlier one was not sent.
        self.problems = snapshot
            .problems
            .iter()
            .chain(&chain.problems)
            .cloned()
            .collect();
        self.problems.extend(self.plan.notes.iter().cloned());
        TurnInput::Planned(PlanResult {
            needs_summary: self.plan.needs_summary.clone(),
            is_full,
            fits: self.plan.ready().is_ok(),
            missing: None,
            least_cost: least_cost(&self.setup.agent.model, self.plan.count),
        })
    }

    fn summarise(
        &mut self,
        messages: &[MessageId],
        mut limit: CostLimit,
    ) -> Result<TurnInput, StoreError> {
        for id in messages {
            let name = self.conversation.name_of(id);
            self.tell(TurnEvent::Summarising(name));
            match self.summarise_one(id, &mut limit) {
                Ok(true) => {}
                Ok(false) => return Ok(TurnInput::Summarised(Some(id.clone()), limit.spent)),
                Err(CompactionError::Stopped) => return Ok(TurnInput::Stopped),
                Err(CompactionError::Store(error))
                    if !matches!(error, StoreError::Refused { .. }) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    self.summary_error = Some(error);
                    return Ok(TurnInput::Summarised(Some(id.clone()), limit.spent));
                }
            }
        }
        Ok(TurnInput::Summarised(None, limit.spent))
    }

    /// Asks for the summary of a message, and keeps it; `false` if the message is gone.
    fn summarise_one(
        &mut self,
        id: &MessageId,
        limit: &mut CostLimit,
    ) -> Result<bool, CompactionError> {
        let mut all = self.conversation.snapshot().messages.into_iter();
        let Some(message) = all.find(|message| message.id == *id) else {
            return Ok(false);
        };
        let network = &mut self.network;
        let text = compaction::summary_of(self.setup, &message, &mut self.counter, limit, network)?;
        let change = additions([single_summary(id, &text)]);
        self.conversation
            .apply(change, &[message], Timestamp::now())?;
        Ok(true)
    }

    fn compact(
        &mut self,
        trigger: CompactTrigger,
        mut limit: CostLimit,
    ) -> Result<TurnInput, StoreError> {
        let is_refused = trigger == CompactTrigger::Reactive;
        // Nobody asked for it, unless the prompt was refused.
        let is_told = is_refused || self.plan.drops();
        if !self.scope.chosen.is_empty() {
            if is_told {
                self.tell(TurnEvent::NotCompacted(CompactionError::CellsChosen));
            }
            return Ok(TurnInput::NotCompacted(0.0));
        }
        let Ok(snapshot) = self.scope.narrow(self.conversation.snapshot()) else {
            return Ok(TurnInput::NotCompacted(0.0));
        };
        let refusal = self.error.as_ref().filter(|_| is_refused);
        let named = refusal.and_then(ClientError::context_window);
        let plan = CompactionPlan::new(
            self.setup,
            snapshot,
            trigger.clone(),
            named,
            &mut self.counter,
        );
        let plan = match plan {
            Ok(plan) => plan,
            Err(why) => {
                if is_refused {
                    self.tell(TurnEvent::NotCompacted(CompactionError::NotNow(why)));
                }
                return Ok(TurnInput::NotCompacted(0.0));
            }
        };
        self.tell(TurnEvent::Compacting(trigger));
        let network = &mut self.network;
        let conversation = &*self.conversation;
        let made = plan.make(
            self.setup,
            conversation,
            &mut self.counter,
            &mut limit,
            network,
        );
        let kept = made.and_then(|made| Ok(made.keep(self.conversation)?));
        self.compacted(kept, limit.spent)
    }

    /// Tells what came of a compaction.
    fn compacted(
        &mut self,
        kept: Result<CompactionReport, CompactionError>,
        spent: f64,
    ) -> Result<TurnInput, StoreError> {
        match kept {
            Ok(compacted) => self.tell(TurnEvent::Compacted(compacted)),
            // A refusal is no answer that there would be to keep.
            Err(CompactionError::Stopped) => {
                (self.answer, self.error) = (None, None);
                return Ok(TurnInput::Stopped);
            }
            // Somebody has changed it meanwhile.
            Err(error @ CompactionError::Store(StoreError::Refused { .. })) => {
                self.tell(TurnEvent::NotCompacted(error));
            }
            Err(CompactionError::Store(error)) => return Err(error),
            Err(not) => {
                let failed = not.is_failed_attempt().then(|| not.public_message());
                self.tell(TurnEvent::NotCompacted(not));
                if let Some(why) = failed {
                    let failed = analects_context::compaction_failed(&why);
                    self.conversation
                        .apply(additions([failed]), &[], Timestamp::now())?;
                }
                return Ok(TurnInput::NotCompacted(spent));
            }
        }
        Ok(TurnInput::Compacted(spent))
    }

    fn ask(&mut self, left_to_spend: Option<f64>) -> Result<TurnInput, StoreError> {
        if self.answer.take().is_some() {
            self.tell(TurnEvent::AskingAgain);
        }
        let (began, clock) = (Timestamp::now(), Instant::now());
        let model = &self.setup.agent.model;
        // The plan is made anew before anybody is asked again, so its request need not stay as it was.
        if let Some(left) = left_to_spend {
            let wanted = self.plan.request.max_output_tokens;
            self.plan.request.max_output_tokens = affordable(model, self.plan.count, left, wanted);
        }
        self.begin_answer(began)?;
        let mut fold = Fold::default();
        let asking = self.setup.config.client.stream(model, &self.plan.request);
        let end = match self.network.wait(asking) {
            Some(Ok(mut stream)) => {
                self.problems.extend_from_slice(stream.left_out());
                self.receive(&mut stream, &mut fold)
            }
            None => StreamEnd::Stopped,
            Some(Err(error)) => StreamEnd::Failed(error),
        };
        let folded = fold.finish(self.setup.base(began, clock.elapsed()));
        let (error, stopped) = match end {
            StreamEnd::Failed(error) => (Some(error), false),
            StreamEnd::Stopped => (None, true),
            StreamEnd::Complete if folded.complete => (None, false),
            StreamEnd::Complete => (Some(broke_off(folded.error)), false),
        };
        self.problems.extend(folded.problems);
        let mut answer = folded.message;
        answer.cost_usd = cost(model, answer.usage.as_deref());
        let is_too_long = error.as_ref().is_some_and(ClientError::is_context_overflow);
        let answered = AnswerResult {
            is_too_long: is_too_long && is_empty(&answer),
            failed: error.is_some(),
            stopped,
            calls: calls_of(&answer).next().is_some(),
            cost: answer.cost_usd,
        };
        self.tell(TurnEvent::Answer(Box::new(answer.clone())));
        self.answer = Some(as_error_if_empty(answer, error.as_ref()));
        self.error = error;
        Ok(TurnInput::Answered(answered))
    }

    /// Takes events until the stream ends. Words are kept before they are shown, so that a kill costs nothing that
    /// somebody has seen.
    fn receive(&mut self, stream: &mut EventStream, fold: &mut Fold) -> StreamEnd {
        loop {
            let Some(event) = self.network.wait(stream.next()) else {
                return StreamEnd::Stopped;
            };
            match event {
                None => return StreamEnd::Complete,
                Some(Err(error)) => return StreamEnd::Failed(error),
                Some(Ok(event)) => {
                    fold.push(&event);
                    self.keep(&event);
                    self.tell(TurnEvent::Stream(event));
                }
            }
        }
    }

    /// Keeps the words of an event as they come.
    fn keep(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::BlockDelta {
                delta: Delta::Text(text),
                ..
            } => {
                self.conversation.push(AnswerDelta::Text(&text.as_str()));
            }
            StreamEvent::BlockDelta {
                delta: Delta::Thinking(text),
                ..
            } => {
                self.conversation
                    .push(AnswerDelta::Thinking(&text.as_str()));
            }
            _ => {}
        }
    }

    fn record(&mut self) -> Result<TurnInput, StoreError> {
        self.had_question = None;
        let Some(answer) = &self.answer else {
            return Ok(TurnInput::Recorded);
        };
        if let Some(usage) = &answer.usage {
            let mut notes = self.conversation.notes();
            self.plan.learn(usage, &mut notes.calibration);
            self.counter.calibrate(&notes.calibration);
            self.conversation.set_notes(&notes);
        }
        // Of an answer that was stopped before its first word there is nothing to keep.
        if self.error.is_some() || !is_empty(answer) {
            self.conversation.finish(answer.clone())?;
        }
        Ok(TurnInput::Recorded)
    }

    fn run_tools(&mut self) -> Result<TurnInput, StoreError> {
        let results = self.answer.as_ref().and_then(results_of_unrun);
        if let Some(results) = results {
            self.conversation
                .apply(additions([results]), &[], Timestamp::now())?;
        }
        Ok(TurnInput::ToolsRan(false))
    }

    fn end(self, ending: EndReason) -> Outcome {
        // What would have been odd about a request that was never made interests nobody.
        let is_unasked = matches!(ending, EndReason::Stopped | EndReason::ItemMissing(_));
        let is_silent = self.answer.is_none() && is_unasked;
        let problems = if is_silent { Vec::new() } else { self.problems };
        let limit = self.setup.config.limits.cost.unwrap_or_default();
        let end = match ending {
            EndReason::Done => TurnEnd::Done,
            EndReason::Failed => match self.error {
                Some(error) => TurnEnd::Failed(Box::new(error)),
                None => TurnEnd::Failed(Box::new(broke_off(None))),
            },
            EndReason::Stopped => TurnEnd::Stopped,
            EndReason::TooLarge => match self.plan.too_large {
                Some(too_large) => TurnEnd::TooLarge(too_large),
                None => TurnEnd::QuestionRemoved,
            },
            EndReason::ItemMissing(MissingItem::Question) => TurnEnd::QuestionRemoved,
            EndReason::ItemMissing(MissingItem::Choice) => TurnEnd::ChoiceRemoved,
            EndReason::ToolsNotRun => TurnEnd::ToolsNotRun,
            EndReason::NoSummary(id) => TurnEnd::NoSummary {
                name: self.conversation.name_of(&id),
                why: self.summary_error.map(Box::new),
            },
            EndReason::TooManyQuestions(asked) => TurnEnd::TooManyQuestions(asked),
            EndReason::TooCostly { spent, next } => TurnEnd::TooCostly { spent, next, limit },
            EndReason::PriceUnknown => TurnEnd::PriceUnknown,
        };
        Outcome {
            answer: self.answer,
            end,
            problems,
        }
    }
}

/// Reminds the model of files that changed, of those that it sees in this turn; what it is told.
pub(crate) fn remind(
    conversation: &mut dyn Conversation,
    setup: &TurnSetup,
    scope: &Scope,
) -> Result<Vec<String>, StoreError> {
    // In most conversations no file was shown.
    if conversation.notes().files.is_empty() {
        return Ok(Vec::new());
    }
    // What is missing ends the turn when it is planned.
    let Ok(snapshot) = scope.narrow(conversation.snapshot()) else {
        return Ok(Vec::new());
    };
    remind_of(conversation, setup, &snapshot)
}

/// The same of what was read of the conversation.
fn remind_of(
    conversation: &mut dyn Conversation,
    setup: &TurnSetup,
    snapshot: &Snapshot,
) -> Result<Vec<String>, StoreError> {
    let seen = FileFreshness::recorded(snapshot.chain().messages);
    files::remind(
        conversation,
        &seen,
        setup.config.grants.as_ref(),
        Timestamp::now(),
    )
}

fn missing(missing: MissingItem) -> PlanResult {
    PlanResult {
        missing: Some(missing),
        ..PlanResult::default()
    }
}

/// The error of an answer that ended before its end.
fn broke_off(error: Option<ApiError>) -> ClientError {
    let silent = || {
        ApiError::new(
            ApiErrorKind::Network,
            "the provider stopped in the middle of it",
        )
    };
    ClientError::BrokeOff(error.unwrap_or_else(silent))
}

/// A turn of which nothing came but an error is recorded as that error, in words without addresses
/// and paths: others may read the record.
fn as_error_if_empty(answer: Message, error: Option<&ClientError>) -> Message {
    match error {
        Some(error) if is_empty(&answer) => {
            let text = Message::assistant("", error.public_message());
            // Words that no model said are not the response of that name.
            let response_id = None;
            Message {
                is_api_error_message: true,
                body: text.body,
                response_id,
                ..answer
            }
        }
        _ => answer,
    }
}

/// Whether nothing came: no text, no thought, no call.
fn is_empty(answer: &Message) -> bool {
    answer.body.content().is_none_or(Content::is_empty)
}
