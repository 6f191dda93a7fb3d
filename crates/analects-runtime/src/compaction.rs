//! Compaction with a real model, in three steps: it is decided what a summary would stand for, the summary is asked
//! for, and it is put into the conversation if that is still what it was made of.

use analects_client::{ClientError, Model};
use analects_context::{
    Budget, Compaction, Count, Counter, FileFreshness, FileText, Freshness, NotNow, Useless,
    attachments, summary_request,
};
use analects_core::verbs;
use analects_core::{
    Agent, AttachmentKind, Body, Chain, CompactTrigger, Fold, Message, Request, StopReason,
};
use analects_store::{OsIds, StoreError};
use jiff::Timestamp;

use crate::cost_limit::{CostLimit, CostLimitError};
use crate::network::Network;
use crate::turn_config::{TurnSetup, budget};
use crate::{Conversation, Snapshot, files};

/// The most files that are shown again with a summary.
const FILES: usize = 5;

/// The part of its window that a model may fill with a summary.
const SUMMARY: u64 = 8;
/// No model has a smaller window than this.
const SMALLEST: u64 = 256;

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionReport {
    /// How many messages the summary stands for.
    pub messages: u64,
    /// Tokens in the context before.
    pub before: u64,
    /// Tokens in the context after, as far as that can be told.
    pub after: u64,
    /// Whether the summary was made without a model, since none could make it.
    pub is_fallback: bool,
    /// How many bytes of the conversation come before what it stands for and are not in it: there was no room.
    pub earlier_bytes: u64,
    /// The files that were read again, as the conversation calls them.
    pub files: Vec<String>,
}

/// Why a conversation was not compacted.
#[derive(Debug, thiserror::Error)]
pub enum CompactionError {
    /// There is nothing to be won.
    #[error("{0}")]
    NotNow(NotNow),
    /// A choice is sent this time: a summary of it would stand for the whole in every later call, and one of the
    /// whole would send what is kept back.
    #[error("no summary is made while cells are chosen for one call")]
    CellsChosen,
    /// The person stopped it.
    #[error("it was stopped")]
    Stopped,
    /// It may not be spent.
    #[error(transparent)]
    OverBudget(#[from] CostLimitError),
    /// The model's side failed.
    #[error("{0}")]
    Failed(Box<ClientError>),
    /// What it answered is no summary.
    #[error("{0}")]
    Useless(Useless),
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CompactionError {
    /// The reason in words without addresses and paths: others may read the record.
    pub fn public_message(&self) -> String {
        match self {
            CompactionError::Failed(error) => error.public_message(),
            other => other.to_string(),
        }
    }

    /// Whether it was tried and came to nothing, so that the next try should wait.
    pub(crate) fn is_failed_attempt(&self) -> bool {
        match self {
            CompactionError::Failed(_) | CompactionError::Useless(_) => true,
            CompactionError::NotNow(_)
            | CompactionError::CellsChosen
            | CompactionError::Stopped
            | CompactionError::OverBudget(_)
            | CompactionError::Store(_) => false,
        }
    }

    /// The window that the model's side names, if it says that the request is too long.
    fn window(&self) -> Option<u64> {
        match self {
            CompactionError::Failed(error) => error.context_window(),
            _ => None,
        }
    }

    /// Whether the model's side says that the request for the summary is too long.
    fn is_too_long(&self) -> bool {
        matches!(self, CompactionError::Failed(error) if error.is_context_overflow())
    }
}

/// A compaction that is worth it, before anybody is asked.
pub(crate) struct CompactionPlan {
    snapshot: Snapshot,
    trigger: CompactTrigger,
    before: Count,
    /// What fits, as far as that is known.
    window: u64,
    compaction: Compaction,
}

/// The messages of a compaction, not yet in the conversation.
pub(crate) struct FinishedCompaction {
    messages: Vec<Message>,
    compacted: CompactionReport,
    /// The files that are shown again.
    files: Vec<FileText>,
    /// What the model saw when it was made.
    seen: Vec<Message>,
}

impl FinishedCompaction {
    /// Puts it into the conversation.
    pub fn keep(self, conversation: &mut dyn Conversation) -> Result<CompactionReport, StoreError> {
        let now = Timestamp::now();
        let mut notes = conversation.notes();
        for FileText { path, facts, .. } in self.files {
            if let Some(facts) = facts {
                notes.files.read(&path, facts, now);
            }
        }
        conversation.set_notes(&notes);
        let changes = verbs::compact(self.messages).map_err(|error| StoreError::Verb {
            name: String::new(),
            error,
        })?;
        conversation.apply(changes, &self.seen, now)?;
        Ok(self.compacted)
    }
}

/// Puts a summary in the place of the earlier part of a conversation because somebody asked for it. What is there
/// stays in the record.
pub(crate) fn compact(
    setup: &TurnSetup,
    conversation: &mut dyn Conversation,
    network: &mut Network<'_>,
) -> Result<CompactionReport, CompactionError> {
    let mut counter = setup.counter(&conversation.notes().calibration);
    let snapshot = conversation.snapshot();
    let plan = CompactionPlan::new(setup, snapshot, CompactTrigger::Manual, None, &mut counter);
    let plan = plan.map_err(CompactionError::NotNow)?;
    let mut limit = CostLimit::default();
    let made = plan.make(setup, &*conversation, &mut counter, &mut limit, network)?;
    Ok(made.keep(conversation)?)
}

/// A window that somebody else names, if that can be: no model has less than the smallest, and what was refused
/// did not fit into the one that was thought to be there.
fn believed(named: Option<u64>, thought: u64) -> Option<u64> {
    named.filter(|named| (SMALLEST..thought).contains(named))
}

fn planned(
    setup: &TurnSetup,
    chain: &Chain<'_>,
    window: u64,
    trigger: CompactTrigger,
    before: Count,
    counter: &mut Counter<'_>,
) -> Result<Compaction, NotNow> {
    let (_, writer) = writer(setup, before.tokens, window);
    Compaction::plan(
        chain,
        &setup.asking(),
        window,
        &writer,
        trigger,
        before,
        counter,
    )
}

impl CompactionPlan {
    /// Decides what a summary would stand for. Nothing is asked yet. `named` is the window that a refusal names.
    pub fn new(
        setup: &TurnSetup,
        snapshot: Snapshot,
        trigger: CompactTrigger,
        named: Option<u64>,
        counter: &mut Counter<'_>,
    ) -> Result<CompactionPlan, NotNow> {
        let chain = snapshot.chain();
        let before = setup.count(&chain, counter);
        let mut window = setup.budget().window;
        if trigger == CompactTrigger::Reactive {
            // It is smaller than was thought: what was refused does not fit.
            let guessed = window.min(before.tokens / 4 * 3).max(SMALLEST);
            window = believed(named, window).unwrap_or(guessed);
        }
        let compaction = planned(setup, &chain, window, trigger.clone(), before, counter)?;
        Ok(CompactionPlan {
            snapshot,
            trigger,
            before,
            window,
            compaction,
        })
    }

    /// Asks for the summary, in as many requests as it takes, and makes the messages to add. The answers are paid
    /// for, also if it comes to nothing.
    pub fn make(
        mut self,
        setup: &TurnSetup,
        conversation: &dyn Conversation,
        counter: &mut Counter<'_>,
        limit: &mut CostLimit,
        network: &mut Network<'_>,
    ) -> Result<FinishedCompaction, CompactionError> {
        let snapshot = std::mem::take(&mut self.snapshot);
        let earlier_bytes = snapshot.earlier_bytes;
        let chain = snapshot.chain();
        let mut without = setup.clone();
        without.config.summariser = None;
        let mut setup = setup;
        let (chosen, _) = writer(setup, self.before.tokens, self.window);
        if setup.config.summariser.is_some() && setup.ready(chosen).is_none() {
            // The model that answers can write the summary, too, in pieces that fit there.
            setup = &without;
            let trigger = self.trigger.clone();
            let again = planned(setup, &chain, self.window, trigger, self.before, counter);
            self.compaction = again.map_err(CompactionError::NotNow)?;
        }
        let done = self.ask_until_it_fits(setup, &chain, counter, limit, network);
        let is_fallback = done.is_err();
        match done {
            Err(CompactionError::Stopped) => return Err(CompactionError::Stopped),
            // The prompt does not fit as it is, so any summary is better than none.
            Err(_) if self.trigger == CompactTrigger::Reactive => {
                self.compaction = self.compaction.without_model(&chain, counter);
            }
            Err(why) => return Err(why),
            Ok(()) => {}
        }
        let now = Timestamp::now();
        let messages = self.compaction.finish(counter, &mut OsIds, now);
        let mut messages = messages.ok_or(CompactionError::NotNow(NotNow::NothingToGain))?;
        let grants = setup.config.grants.as_ref();
        let mut files = files::important(conversation, grants, FILES);
        let mut shown = still_shown(&chain, &messages);
        files.retain(|file| shown.check(&file.path, file.facts.as_ref()) != Freshness::Fresh);
        let files = with_files(files, self.window, &mut messages, counter, now);
        let names = files.iter().map(|file| file.path.clone()).collect();
        let compacted = CompactionReport {
            earlier_bytes,
            ..told(&messages, is_fallback, names)
        };
        let seen = chain.messages.into_iter().cloned().collect();
        Ok(FinishedCompaction {
            messages,
            compacted,
            files,
            seen,
        })
    }

    /// Asks for the summary. If even that is too long, the window is smaller still.
    fn ask_until_it_fits(
        &mut self,
        setup: &TurnSetup,
        chain: &Chain<'_>,
        counter: &mut Counter<'_>,
        limit: &mut CostLimit,
        network: &mut Network<'_>,
    ) -> Result<(), CompactionError> {
        let mut done = self.ask(setup, counter, limit, network);
        // A refusal is believed once: one that names a little less each time would never end.
        let mut is_believed = true;
        while done.as_ref().is_err_and(CompactionError::is_too_long) && self.window / 2 >= SMALLEST
        {
            let named = done
                .as_ref()
                .err()
                .and_then(CompactionError::window)
                .filter(|_| is_believed);
            is_believed = false;
            self.window = believed(named, self.window).unwrap_or(self.window / 2);
            let trigger = self.trigger.clone();
            match planned(setup, chain, self.window, trigger, self.before, counter) {
                Ok(compaction) => self.compaction = compaction,
                Err(_) => break,
            }
            done = self.ask(setup, counter, limit, network);
        }
        done
    }

    fn ask(
        &mut self,
        setup: &TurnSetup,
        counter: &mut Counter<'_>,
        limit: &mut CostLimit,
        network: &mut Network<'_>,
    ) -> Result<(), CompactionError> {
        let (model, _) = writer(setup, self.before.tokens, self.window);
        let silent = || ClientError::Unsupported("the server of the local model cannot be started");
        let ready = setup
            .ready(model)
            .ok_or_else(|| CompactionError::Failed(Box::new(silent())))?;
        while let Some(request) = self.compaction.next_request() {
            let answer = answer(setup, &ready, request, counter, limit, network)?;
            self.compaction
                .answer(&answer, counter)
                .map_err(CompactionError::Useless)?;
        }
        Ok(())
    }
}

/// The files in the part of a conversation that a compaction keeps.
fn still_shown(chain: &Chain<'_>, made: &[Message]) -> FileFreshness {
    let kept_from = made.iter().find_map(|message| {
        let Body::CompactBoundary(boundary) = &message.body else {
            return None;
        };
        boundary.kept_from.as_ref()
    });
    let from = chain
        .messages
        .iter()
        .position(|message| Some(&message.id) == kept_from);
    let kept = chain
        .messages
        .iter()
        .skip(from.unwrap_or(chain.messages.len()));
    // Reminders only tell of files.
    let shows = |message: &&Message| {
        matches!(&message.body, Body::Attachment(body) if body.kind == AttachmentKind::File)
            && message.why_not_sent().is_none()
    };
    FileFreshness::recorded(kept.copied().filter(shows))
}

/// Adds files, as far as there is room for them; those that were added.
fn with_files(
    mut files: Vec<FileText>,
    window: u64,
    messages: &mut Vec<Message>,
    counter: &mut Counter<'_>,
    now: Timestamp,
) -> Vec<FileText> {
    let Some(parent) = messages.last().cloned() else {
        return Vec::new();
    };
    let shown = attachments(&files, window, &parent, counter, &mut OsIds, now);
    let is_shown = |file: &FileText| {
        let Body::Attachment(attached) = analects_context::attach(file).body else {
            return false;
        };
        shown.iter().any(
            |message| matches!(&message.body, Body::Attachment(body) if body.data == attached.data),
        )
    };
    files.retain(is_shown);
    count_in(messages, &shown, counter);
    messages.extend(shown);
    files
}

/// Lets the boundary count what is shown again after it.
fn count_in(messages: &mut [Message], shown: &[Message], counter: &mut Counter<'_>) {
    let contents = shown.iter().filter_map(|message| message.body.content());
    let tokens: u64 = contents
        .map(|content| counter.content(content).tokens)
        .sum();
    for message in messages {
        if let Body::CompactBoundary(boundary) = &mut message.body {
            boundary.tokens_after = boundary.tokens_after.map(|after| after + tokens);
        }
    }
}

fn told(messages: &[Message], is_fallback: bool, files: Vec<String>) -> CompactionReport {
    let mut compacted = CompactionReport {
        messages: 0,
        before: 0,
        after: 0,
        is_fallback,
        earlier_bytes: 0,
        files,
    };
    for message in messages {
        if let Body::Summary(summary) = &message.body {
            compacted.messages = summary.count.unwrap_or(0);
        }
        if let Body::CompactBoundary(boundary) = &message.body {
            compacted.before = boundary.tokens_before.unwrap_or(0);
            compacted.after = boundary.tokens_after.unwrap_or(0);
        }
    }
    compacted
}

/// Who writes the summary: the model that is set for it, if all of it fits there, else the one that answers, into
/// which no more than `window` fits.
fn writer(setup: &TurnSetup, tokens: u64, window: u64) -> (&Model, Agent) {
    let answering = &setup.agent.model;
    let own = writing(answering, &setup.agent.agent, window);
    let Some(model) = &setup.config.summariser else {
        return (answering, own);
    };
    let usual = Agent::default();
    let known = budget(&usual, model);
    let other = Agent {
        context_window: Some(known.window),
        ..writing(model, &usual, window)
    };
    let room = known.window.saturating_sub(other.max_output_tokens);
    if tokens < room || other.context_window >= own.context_window {
        (model, other)
    } else {
        (answering, own)
    }
}

/// An agent that writes a summary with a model.
fn writing(model: &Model, agent: &Agent, window: u64) -> Agent {
    let budget = budget(agent, model);
    let budget = Budget::new(budget.window.min(window), budget.reserved);
    Agent {
        models: vec![model.name.clone()],
        context_window: Some(budget.window),
        // A summary that fills the window leaves no room for what it is made of.
        max_output_tokens: budget.reserved.min(budget.window / SUMMARY).max(1),
        ..agent.clone()
    }
}

/// Asks for the summary of one message of which nothing else may be sent.
pub(crate) fn summary_of(
    setup: &TurnSetup,
    message: &Message,
    counter: &mut Counter<'_>,
    limit: &mut CostLimit,
    network: &mut Network<'_>,
) -> Result<String, CompactionError> {
    let model = &setup.agent.model;
    let request = summary_request(&model.name, setup.budget().reserved.max(1), message);
    let answer = answer(setup, model, request, counter, limit, network)?;
    let text = answer.text();
    match text.trim() {
        "" => Err(failed(ClientError::Unsupported(
            "the model gave no summary",
        ))),
        text => Ok(text.to_string()),
    }
}

/// The whole answer to a request for a summary, if there is money for it.
fn answer(
    setup: &TurnSetup,
    model: &Model,
    mut request: Request,
    counter: &mut Counter<'_>,
    limit: &mut CostLimit,
    network: &mut Network<'_>,
) -> Result<Message, CompactionError> {
    let count = counter.request(&request);
    limit.allow_summary(model, count, &mut request)?;
    let client = &setup.config.client;
    let asking = async {
        let mut stream = client.stream(model, &request).await?;
        let mut fold = Fold::default();
        while let Some(event) = stream.next().await {
            fold.push(&event?);
        }
        Ok(fold.finish(Message::assistant("", "")))
    };
    let folded = network
        .wait(asking)
        .ok_or(CompactionError::Stopped)?
        .map_err(failed)?;
    limit.pay(model, &folded.message);
    let is_cut = matches!(&folded.message.body, Body::Assistant(body)
        if body.stop_reason == Some(StopReason::MaxTokens));
    match folded.error {
        Some(error) => Err(failed(ClientError::BrokeOff(error))),
        // A summary that breaks off at its limit still says more than none.
        None if folded.complete || is_cut => Ok(folded.message),
        None => Err(failed(ClientError::Unsupported("the summary broke off"))),
    }
}

fn failed(error: ClientError) -> CompactionError {
    CompactionError::Failed(Box::new(error))
}
