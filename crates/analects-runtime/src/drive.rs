//! Does what a [`Turn`] says: from the conversation so far to the answer on disk, whatever happens on the way.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use analects_client::{ClientError, EventStream, cost};
use analects_context::{Counter, Plan, TooLarge};
use analects_core::{
    ApiError, ApiErrorKind, CompactTrigger, Content, Delta, Fold, Message, MessageId, Problem,
    StreamEvent,
};
use analects_store::{AnswerPiece, StoreError};
use jiff::Timestamp;

use crate::asked::Asked;
use crate::compaction::{self, Compacted, NotCompacted};
use crate::purse::{Purse, affordable, least_cost};
use crate::turn::{Answered, Effect, Ending, Input, Planned, Turn};
use crate::{Conversation, files, tools};

/// Why no summary is made of a conversation of which a choice is sent.
const CHOSEN: &str = "no summary is made while cells are chosen for one call";

/// What a person may want to see of a turn while it goes on.
#[derive(Debug)]
pub enum Seen<'a> {
    /// Something of the answer.
    Event(&'a StreamEvent),
    /// All of an answer, before it is recorded: whatever becomes of that, it was seen.
    Answer(&'a Message),
    /// The model is told that a file changed.
    Reminded(&'a str),
    /// A message gets its summary.
    Summarising(&'a str),
    /// A summary of the conversation is asked for.
    Compacting(&'a CompactTrigger),
    /// It stands for the earlier part from now on.
    Compacted(&'a Compacted),
    /// It came to nothing, and the conversation is as it was.
    NotCompacted(&'a str),
    /// The model is asked once more, after what it answered or after a refusal that led to a summary.
    GoesOn,
}

/// What came of a turn. What the model said is in the conversation already.
#[derive(Debug)]
pub struct Outcome {
    /// The answer, or the error as a message.
    pub answer: Message,
    /// What the model's side said when it failed, or why it was not asked.
    pub error: Option<ClientError>,
    /// Whether the person stopped it.
    pub stopped: bool,
    /// How it ended.
    pub ending: Ending,
    /// What was odd, in the conversation or in the answer.
    pub problems: Vec<Problem>,
}

/// Asks the model to go on with the conversation, and records what comes, to the last word that
/// came. `watch` sees what happens; when `stop` is ready, the answer ends as it is.
pub async fn drive(
    asked: &Asked<'_>,
    conversation: &mut dyn Conversation,
    watch: &mut dyn FnMut(Seen<'_>),
    stop: impl Future<Output = ()>,
) -> Result<Outcome, StoreError> {
    let stop = std::pin::pin!(stop);
    let counter = asked.counter(&conversation.notes().calibration);
    let mut work = Work {
        asked,
        conversation,
        watch,
        counter,
        stop: Stop { future: stop, is_over: false },
        plan: Plan::default(),
        had_question: None,
        answer: None,
        error: None,
        problems: Vec::new(),
    };
    // Others are to know from the beginning that this is being answered.
    work.conversation.begin_answer(&asked.base(Timestamp::now(), Duration::ZERO))?;
    let (mut turn, mut effect) = Turn::begin(asked.limits);
    loop {
        let input = match effect {
            Effect::Remind => work.remind()?,
            Effect::Plan => work.plan(),
            Effect::Summarise(messages) => {
                work.summarise(&messages, Purse::new(turn.left_to_spend())).await?
            }
            Effect::Compact(trigger) => {
                work.compact(trigger, Purse::new(turn.left_to_spend())).await?
            }
            Effect::Ask => work.ask(turn.left_to_spend()).await?,
            Effect::Record => work.record()?,
            Effect::RunTools => work.run_tools()?,
            Effect::End(ending) => return Ok(work.end(ending)),
        };
        effect = turn.next(input);
    }
}

/// What waits for the person to say that it is enough. Once they have, nothing else is waited for.
pub(crate) struct Stop<'s, F> {
    future: Pin<&'s mut F>,
    is_over: bool,
}

impl<F: Future<Output = ()>> Stop<'_, F> {
    /// What work gives, unless it is stopped before.
    pub(crate) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        if self.is_over {
            return None;
        }
        tokio::select! {
            done = work => Some(done),
            () = &mut self.future => {
                self.is_over = true;
                None
            }
        }
    }
}

/// A turn at work.
struct Work<'w, 'a, F> {
    asked: &'w Asked<'a>,
    conversation: &'w mut dyn Conversation,
    watch: &'w mut dyn FnMut(Seen<'_>),
    counter: Counter<'a>,
    stop: Stop<'w, F>,
    plan: Plan,
    /// Whether somebody's words waited for an answer when the next one was first planned.
    had_question: Option<bool>,
    answer: Option<Message>,
    error: Option<ClientError>,
    problems: Vec<Problem>,
}

/// How a stream ended.
enum End {
    Complete,
    Failed(ClientError),
    Stopped,
}

impl<F: Future<Output = ()>> Work<'_, '_, F> {
    fn remind(&mut self) -> Result<Input, StoreError> {
        for text in files::remind(self.conversation, self.asked.grants, Timestamp::now())? {
            (self.watch)(Seen::Reminded(&text));
        }
        Ok(Input::Reminded)
    }

    fn plan(&mut self) -> Input {
        let decoded = self.conversation.messages();
        let chain = self.conversation.chain(&decoded);
        let has_question = self.conversation.has_question();
        let had_question = *self.had_question.get_or_insert(has_question);
        let agent = self.asked.asking();
        let planner = self.asked.planner(&agent);
        self.plan = planner.plan(&chain, &mut self.counter);
        let is_full = self.asked.is_full(&self.plan, &chain, &mut self.counter);
        // Those of the last plan count: an earlier one was not sent.
        self.problems = decoded.problems.iter().chain(&chain.problems).cloned().collect();
        self.problems.extend(self.plan.notes.iter().cloned());
        Input::Planned(Planned {
            needs_summary: self.plan.needs_summary.clone(),
            is_full,
            fits: self.plan.ready().is_ok(),
            is_gone: had_question && !has_question || self.conversation.is_choice_lost(),
            least_cost: least_cost(self.asked.model, self.plan.count),
        })
    }

    async fn summarise(
        &mut self,
        messages: &[MessageId],
        mut purse: Purse,
    ) -> Result<Input, StoreError> {
        for id in messages {
            let name = self.conversation.name_of(id);
            (self.watch)(Seen::Summarising(&name));
            let mut all = self.conversation.messages().messages.into_iter();
            let Some(message) = all.find(|message| message.id == *id) else {
                return Ok(Input::Summarised(Some(id.clone()), purse.spent));
            };
            let asked = compaction::summary_of(self.asked, &message, &mut self.counter, &mut purse);
            let summary = match self.stop.unless(asked).await {
                None => return Ok(Input::Stopped),
                Some(Ok(summary)) => summary,
                Some(Err(error)) => {
                    self.error = Some(error);
                    return Ok(Input::Summarised(Some(id.clone()), purse.spent));
                }
            };
            match self.conversation.summarise(&message, &summary, Timestamp::now()) {
                Err(StoreError::Refused { why, .. }) => {
                    self.error = Some(changed_meanwhile(why));
                    return Ok(Input::Summarised(Some(id.clone()), purse.spent));
                }
                kept => kept?,
            }
        }
        Ok(Input::Summarised(None, purse.spent))
    }

    async fn compact(
        &mut self,
        trigger: CompactTrigger,
        mut purse: Purse,
    ) -> Result<Input, StoreError> {
        let is_refused = trigger == CompactTrigger::Reactive;
        if self.conversation.is_chosen() {
            if is_refused || self.plan.drops() {
                (self.watch)(Seen::NotCompacted(CHOSEN));
            }
            return Ok(Input::NotCompacted(0.0));
        }
        let refusal = self.error.as_ref().filter(|_| is_refused);
        let prepared = compaction::prepare(
            self.asked,
            &*self.conversation,
            trigger.clone(),
            refusal.and_then(ClientError::context_window),
            &mut self.counter,
        );
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(why) => {
                // Nobody asked for it, unless the prompt was refused.
                if is_refused {
                    (self.watch)(Seen::NotCompacted(&why.to_string()));
                }
                return Ok(Input::NotCompacted(0.0));
            }
        };
        (self.watch)(Seen::Compacting(&trigger));
        let making = prepared.make(self.asked, &*self.conversation, &mut self.counter, &mut purse);
        let Some(made) = self.stop.unless(making).await else {
            // A refusal is no answer that there would be to keep.
            (self.answer, self.error) = (None, None);
            return Ok(Input::Stopped);
        };
        let kept = made.and_then(|made| Ok(made.keep(self.conversation)?));
        match kept {
            Ok(compacted) => (self.watch)(Seen::Compacted(&compacted)),
            // Somebody has changed it meanwhile.
            Err(NotCompacted::Store(error @ StoreError::Refused { .. })) => {
                (self.watch)(Seen::NotCompacted(&error.to_string()));
            }
            Err(NotCompacted::Store(error)) => return Err(error),
            Err(not) => {
                (self.watch)(Seen::NotCompacted(&not.to_string()));
                if not.is_failed_attempt() {
                    let failed = analects_context::compaction_failed(&not.public_message());
                    self.conversation.add(vec![failed], Timestamp::now())?;
                }
                return Ok(Input::NotCompacted(purse.spent));
            }
        }
        Ok(Input::Compacted(purse.spent))
    }

    async fn ask(&mut self, left_to_spend: Option<f64>) -> Result<Input, StoreError> {
        if self.answer.take().is_some() {
            (self.watch)(Seen::GoesOn);
        }
        let (began, clock) = (Timestamp::now(), Instant::now());
        let mut fold = Fold::default();
        // The plan is made anew before anybody is asked again, so its request need not stay as it was.
        if let Some(left) = left_to_spend {
            let wanted = self.plan.request.max_output_tokens;
            self.plan.request.max_output_tokens =
                affordable(self.asked.model, self.plan.count, left, wanted);
        }
        self.conversation.begin_answer(&self.asked.base(began, Duration::ZERO))?;
        let asking = self.asked.client.stream(self.asked.model, &self.plan.request);
        let end = match self.stop.unless(asking).await {
            Some(Ok(mut stream)) => {
                self.problems.extend_from_slice(stream.left_out());
                self.receive(&mut stream, &mut fold).await
            }
            None => End::Stopped,
            Some(Err(error)) => End::Failed(error),
        };
        let folded = fold.finish(self.asked.base(began, clock.elapsed()));
        let (error, stopped) = match end {
            End::Failed(error) => (Some(error), false),
            End::Stopped => (None, true),
            End::Complete if folded.complete => (None, false),
            End::Complete => (Some(broke_off(folded.error)), false),
        };
        self.problems.extend(folded.problems);
        let mut answer = folded.message;
        answer.cost_usd = cost(self.asked.model, answer.usage.as_deref());
        let is_too_long = error.as_ref().is_some_and(ClientError::is_context_overflow);
        let answered = Answered {
            is_too_long: is_too_long && is_empty(&answer),
            failed: error.is_some(),
            stopped,
            calls: tools::calls(&answer).next().is_some(),
            cost: answer.cost_usd,
        };
        (self.watch)(Seen::Answer(&answer));
        self.answer = Some(as_error_if_empty(answer, error.as_ref()));
        self.error = error;
        Ok(Input::Answered(answered))
    }

    /// Takes events until the stream ends. Words are kept before they are shown, so that a kill costs nothing that
    /// somebody has seen.
    async fn receive(&mut self, stream: &mut EventStream, fold: &mut Fold) -> End {
        loop {
            let Some(event) = self.stop.unless(stream.next()).await else { return End::Stopped };
            match event {
                None => return End::Complete,
                Some(Err(error)) => return End::Failed(error),
                Some(Ok(event)) => {
                    fold.push(&event);
                    self.keep(&event);
                    (self.watch)(Seen::Event(&event));
                }
            }
        }
    }

    /// Keeps the words of an event as they come.
    fn keep(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::BlockDelta { delta: Delta::Text(text), .. } => {
                self.conversation.push(AnswerPiece::Text(&text.as_str()));
            }
            StreamEvent::BlockDelta { delta: Delta::Thinking(text), .. } => {
                self.conversation.push(AnswerPiece::Thinking(&text.as_str()));
            }
            _ => {}
        }
    }

    fn record(&mut self) -> Result<Input, StoreError> {
        self.had_question = None;
        let Some(answer) = &self.answer else { return Ok(Input::Recorded) };
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
        Ok(Input::Recorded)
    }

    fn run_tools(&mut self) -> Result<Input, StoreError> {
        let results = self.answer.as_ref().and_then(tools::nobody_runs);
        if let Some(results) = results {
            self.conversation.add(vec![results], Timestamp::now())?;
        }
        Ok(Input::ToolsRan(false))
    }

    fn end(self, ending: Ending) -> Outcome {
        let error = match (&ending, self.error) {
            (Ending::TooLarge, _) => self.plan.too_large.map(not_sent),
            (Ending::Gone, _) => Some(gone(self.conversation.is_choice_lost())),
            (Ending::TooMany(_) | Ending::TooCostly { .. } | Ending::PriceUnknown, _) => {
                Some(over_limit(&ending, self.asked.limits.cost))
            }
            (Ending::NoSummary(id), error) => {
                Some(no_summary(&self.conversation.name_of(id), error.as_ref()))
            }
            (_, error) => error,
        };
        let stopped = ending == Ending::Stopped;
        // What would have been odd about a request that was never made interests nobody.
        let is_unasked = self.answer.is_none() && (stopped || ending == Ending::Gone);
        let problems = if is_unasked { Vec::new() } else { self.problems };
        let nothing = || self.asked.base(Timestamp::now(), Duration::ZERO);
        let answer = self.answer.unwrap_or_else(nothing);
        let answer = as_error_if_empty(answer, error.as_ref());
        Outcome { answer, error, stopped, ending, problems }
    }
}

/// The error of a conversation that does not fit, however it is trimmed.
fn not_sent(too_large: TooLarge) -> ClientError {
    let error = ApiError::new(ApiErrorKind::ContextOverflow, too_large.to_string());
    ClientError::NotSent { error, hint: too_large.hint() }
}

/// The error of a question, or of chosen cells, that are not there any more.
fn gone(is_choice: bool) -> ClientError {
    let (text, hint) = match is_choice {
        true => (
            "cells that were chosen by their places moved before they were sent",
            "choose them again, where they are now",
        ),
        false => (
            "the question was taken away before it was asked",
            "if it is to be asked, write it again",
        ),
    };
    ClientError::NotSent { error: ApiError::new(ApiErrorKind::BadRequest, text), hint }
}

/// The error of a message that somebody changed while its summary was made.
fn changed_meanwhile(why: String) -> ClientError {
    let hint = "ask again";
    ClientError::NotSent { error: ApiError::new(ApiErrorKind::BadRequest, why), hint }
}

/// The error of a message of which only a summary may be sent.
fn no_summary(name: &str, error: Option<&ClientError>) -> ClientError {
    let why = error.map(|error| format!(": {error}")).unwrap_or_default();
    let text = format!("only a summary of {name} may be sent, and there is none to be had{why}");
    let hint = "write one as summary=\"…\" on the cell, or set its history to include or none";
    let kind = error.map_or(ApiErrorKind::BadRequest, ClientError::kind);
    ClientError::NotSent { error: ApiError::new(kind, text), hint }
}

/// The error of a turn that may not take more than it took.
fn over_limit(ending: &Ending, limit: Option<f64>) -> ClientError {
    let limit = limit.unwrap_or_default();
    let (text, hint) = match ending {
        Ending::TooMany(asked) => (
            format!("the model was asked {asked} times, which is the limit, and is not done"),
            "raise --max-turns, and go on with the conversation",
        ),
        Ending::TooCostly { spent, next } => (
            format!(
                "the next answer costs ${next:.6} at least, and ${spent:.6} are spent, of ${limit:.6} allowed"
            ),
            "raise --max-cost, or compact the conversation",
        ),
        _ => (
            "there is a limit for the cost, and what this model costs is not known".to_string(),
            "leave out --max-cost, or ask a model with a known price: analects model info NAME",
        ),
    };
    ClientError::NotSent { error: ApiError::new(ApiErrorKind::BadRequest, text), hint }
}

/// The error of an answer that ended before its end.
fn broke_off(error: Option<ApiError>) -> ClientError {
    let silent =
        || ApiError::new(ApiErrorKind::Network, "the provider stopped in the middle of it");
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
            Message { is_api_error_message: true, body: text.body, response_id, ..answer }
        }
        _ => answer,
    }
}

/// Whether nothing came: no text, no thought, no call.
fn is_empty(answer: &Message) -> bool {
    answer.body.content().is_none_or(Content::is_empty)
}
