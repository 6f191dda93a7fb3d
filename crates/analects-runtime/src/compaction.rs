//! Compaction with a real model, in three steps: decide what a summary replaces, request the summary, and write it into
//! the conversation if nobody changed that meanwhile.
//!
//! A summary may take several requests: what does not fit into the window of its writer is summarised in parts. If the
//! provider refuses a request as too long, the window is assumed to be smaller and the decision is made again. Only a
//! turn whose prompt was refused falls back to a summary without a model; all others leave the conversation as it is.

use analects_client::{Client, ClientError, Model};
use analects_context::{
    Budget, Compaction, Count, Counter, FileFreshness, FileText, Freshness, NotNow, Useless,
    attachments, summary_request,
};
use analects_core::verbs;
use analects_core::{
    Agent, AttachmentKind, Body, Chain, CompactTrigger, Fold, Folded, Message, Request, StopReason,
};
use analects_store::{OsIds, StoreError};
use jiff::{Timestamp, Unit};

use crate::cost_limit::{CostLimit, CostLimitError};
use crate::network::Network;
use crate::turn_config::{TurnSetup, budget};
use crate::{Conversation, Snapshot, files};

/// How many files are shown again after a summary, at most.
const MOST_FILES: usize = 5;
/// A summary may fill this part of the window of its model: an eighth.
const SUMMARY_PART: u64 = 8;
/// No model has a smaller window than this, in tokens.
const SMALLEST_WINDOW: u64 = 256;

/// What a compaction did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactionReport {
    /// How many messages the summary replaces.
    pub messages: u64,
    /// Tokens in the context before.
    pub before: u64,
    /// Tokens in the context after, estimated.
    pub after: u64,
    /// Whether the summary was made without a model, because none could write it.
    pub is_fallback: bool,
    /// How many bytes of the conversation come before the summarised part and are not in the summary, because there was
    /// no room for them. 0 if nothing was left out.
    pub earlier_bytes: u64,
    /// The files that are shown again, by their names in the conversation.
    pub files: Vec<String>,
}

/// Why a conversation was not compacted.
/// In all of these cases the model still gets the conversation as it was.
#[derive(Debug, thiserror::Error)]
pub enum CompactionError {
    /// A compaction would gain nothing now.
    #[error("{0}")]
    NotNow(NotNow),
    /// Only chosen messages are sent this time. A summary of them would replace the whole conversation in later calls,
    /// and a summary of the whole would send what was left out on purpose.
    #[error("no summary is made while cells are chosen for one call")]
    CellsChosen,
    /// The person stopped it.
    #[error("it was stopped")]
    Stopped,
    /// The summary would exceed the cost limit.
    #[error(transparent)]
    OverBudget(#[from] CostLimitError),
    /// The request failed.
    #[error("{0}")]
    Failed(Box<ClientError>),
    /// The answer is no summary.
    #[error("{0}")]
    Useless(Useless),
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CompactionError {
    /// The reason without addresses and paths, since others may read the conversation.
    pub fn public_message(&self) -> String {
        match self {
            CompactionError::Failed(error) => error.public_message(),
            other => other.to_string(),
        }
    }

    /// Whether a model was asked in vain, so that the next attempt should wait.
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

    /// The window in tokens that the provider named when it refused the request as too long.
    fn window(&self) -> Option<u64> {
        match self {
            CompactionError::Failed(error) => error.context_window(),
            _ => None,
        }
    }

    /// Whether the provider refused the request for the summary as too long.
    fn is_too_long(&self) -> bool {
        matches!(self, CompactionError::Failed(error) if error.is_context_overflow())
    }
}

/// A decision about what a summary replaces, before a model is asked for it.
pub(crate) struct CompactionPlan {
    snapshot: Snapshot,
    trigger: CompactTrigger,
    /// Tokens in the context now.
    before: Count,
    /// The window in tokens, as far as it is known.
    window: u64,
    /// Whether the model that is configured for summaries may write this one.
    uses_summary_model: bool,
    /// Whether the summary is made without a model.
    is_fallback: bool,
    compaction: Compaction,
}

/// A finished summary and what belongs to it, not yet in the conversation.
pub(crate) struct FinishedCompaction {
    messages: Vec<Message>,
    report: CompactionReport,
    /// The files that the model is shown again.
    files: Vec<FileText>,
    /// What the model saw before.
    expected: Vec<Message>,
}

impl FinishedCompaction {
    /// Writes the compaction into the conversation, if that still holds what was summarised.
    /// Fails with [`StoreError::Refused`] if somebody changed what was summarised; then nothing is written. The files
    /// that are shown again count as seen from now on.
    pub fn write_to(
        self,
        conversation: &mut dyn Conversation,
    ) -> Result<CompactionReport, StoreError> {
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
        conversation.apply(changes, &self.expected, now)?;
        Ok(self.report)
    }
}

/// Compacts a conversation because a person asked for it.
/// Only compactions within a turn have a cost limit; this one ends when the person stops it.
pub(crate) fn compact(
    setup: &TurnSetup,
    conversation: &mut dyn Conversation,
    network: &mut Network<'_>,
) -> Result<CompactionReport, CompactionError> {
    let mut counter = setup.counter(&conversation.notes().calibration);
    let snapshot = conversation.snapshot();
    let plan = CompactionPlan::new(setup, snapshot, CompactTrigger::Manual, None, &mut counter);
    let plan = plan.map_err(CompactionError::NotNow)?;
    let mut summariser = Summariser {
        setup,
        counter: &mut counter,
        limit: &mut CostLimit::default(),
        network,
    };
    let compaction = plan.summarise(&*conversation, &mut summariser)?;
    Ok(compaction.write_to(conversation)?)
}

/// The window that a refusal names, if it is plausible: no model has less than the smallest, and what was refused did
/// not fit into the `assumed` one.
fn plausible_window(named: Option<u64>, assumed: u64) -> Option<u64> {
    named.filter(|named| (SMALLEST_WINDOW..assumed).contains(named))
}

impl CompactionPlan {
    /// Decides what the summary replaces. `named_window` is the window that a refusal named.
    pub fn new(
        setup: &TurnSetup,
        snapshot: Snapshot,
        trigger: CompactTrigger,
        named_window: Option<u64>,
        counter: &mut Counter<'_>,
    ) -> Result<CompactionPlan, NotNow> {
        let chain = snapshot.chain();
        let before = setup.count(&chain, counter);
        let mut window = setup.budget().window;
        if trigger == CompactTrigger::Reactive {
            // The provider refused the prompt, so the window is smaller than assumed.
            let guess = window.min(before.tokens / 4 * 3).max(SMALLEST_WINDOW);
            window = plausible_window(named_window, window).unwrap_or(guess);
        }
        let writer = choose_writer(setup, true, before.tokens, window);
        let compaction = Compaction::plan(
            &chain,
            &setup.agent_with_one_model(),
            window,
            &writer.agent,
            trigger.clone(),
            before,
            counter,
        )?;
        Ok(CompactionPlan {
            snapshot,
            trigger,
            before,
            window,
            uses_summary_model: true,
            is_fallback: false,
            compaction,
        })
    }

    /// Decides again, after the window or the writer of the summary changed.
    fn replan(
        &mut self,
        setup: &TurnSetup,
        chain: &Chain<'_>,
        counter: &mut Counter<'_>,
    ) -> Result<(), NotNow> {
        let writer = self.writer(setup).agent;
        self.compaction = Compaction::plan(
            chain,
            &setup.agent_with_one_model(),
            self.window,
            &writer,
            self.trigger.clone(),
            self.before,
            counter,
        )?;
        Ok(())
    }

    fn writer<'s>(&self, setup: &'s TurnSetup) -> SummaryWriter<'s> {
        choose_writer(
            setup,
            self.uses_summary_model,
            self.before.tokens,
            self.window,
        )
    }

    /// Requests the summary, in as many requests as it takes, and makes the messages to add. The cost of the answers
    /// counts even if there is no summary in the end.
    pub fn summarise(
        mut self,
        conversation: &dyn Conversation,
        summariser: &mut Summariser<'_, '_, '_>,
    ) -> Result<FinishedCompaction, CompactionError> {
        let setup = summariser.setup;
        let snapshot = std::mem::take(&mut self.snapshot);
        let chain = snapshot.chain();
        if setup.config.summariser.is_some() && setup.ready(self.writer(setup).model).is_none() {
            // The model that answers writes the summary, from parts that fit into its window.
            self.uses_summary_model = false;
            self.replan(setup, &chain, summariser.counter)
                .map_err(CompactionError::NotNow)?;
        }
        match self.request_until_it_fits(&chain, summariser) {
            Ok(()) => {}
            Err(CompactionError::Stopped) => return Err(CompactionError::Stopped),
            Err(_) if self.trigger == CompactTrigger::Reactive => {
                self = self.without_model(&chain, summariser.counter);
            }
            Err(error) => return Err(error),
        }
        self.finish(snapshot.earlier_bytes, &chain, conversation, summariser)
    }

    /// After a refused prompt, any summary is better than none.
    fn without_model(mut self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> CompactionPlan {
        self.compaction = self.compaction.without_model(chain, counter);
        self.is_fallback = true;
        self
    }

    /// Requests the summary. If the provider refuses even that as too long, tries again with a smaller window.
    fn request_until_it_fits(
        &mut self,
        chain: &Chain<'_>,
        summariser: &mut Summariser<'_, '_, '_>,
    ) -> Result<(), CompactionError> {
        let mut result = self.request(summariser);
        // Believe the window of a refusal only once: one that names a little less each time would never end.
        let mut is_believed = true;
        while let Err(error) = &result
            && error.is_too_long()
            && self.window / 2 >= SMALLEST_WINDOW
        {
            let named = error.window().filter(|_| is_believed);
            is_believed = false;
            self.window = plausible_window(named, self.window).unwrap_or(self.window / 2);
            if self
                .replan(summariser.setup, chain, summariser.counter)
                .is_err()
            {
                break;
            }
            result = self.request(summariser);
        }
        result
    }

    fn request(&mut self, summariser: &mut Summariser<'_, '_, '_>) -> Result<(), CompactionError> {
        let setup = summariser.setup;
        let writer = self.writer(setup);
        let Some(model) = setup.ready(writer.model) else {
            let error = "the server of the local model cannot be started";
            return Err(failed(ClientError::Unsupported(error)));
        };
        while let Some(request) = self.compaction.next_request() {
            let answer = summariser.ask(&model, request)?;
            self.compaction
                .answer(&answer, summariser.counter)
                .map_err(CompactionError::Useless)?;
        }
        Ok(())
    }

    /// Makes the messages of the compaction and adds the files that matter and are no longer in the context.
    fn finish(
        self,
        earlier_bytes: u64,
        chain: &Chain<'_>,
        conversation: &dyn Conversation,
        summariser: &mut Summariser<'_, '_, '_>,
    ) -> Result<FinishedCompaction, CompactionError> {
        let now = Timestamp::now();
        let now = now.round(Unit::Millisecond).unwrap_or(now);
        let counter = &mut *summariser.counter;
        let mut messages = self
            .compaction
            .finish(counter, &mut OsIds, now)
            .ok_or(CompactionError::NotNow(NotNow::NothingToGain))?;
        let grants = summariser.setup.config.grants.as_ref();
        let mut files = files::important(conversation, grants, MOST_FILES);
        let mut shown = files_still_shown(chain, &messages);
        files.retain(|file| shown.check(&file.path, file.facts.as_ref()) != Freshness::Fresh);
        let files = add_files(files, self.window, &mut messages, counter, now);
        let report = CompactionReport {
            earlier_bytes,
            is_fallback: self.is_fallback,
            files: files.iter().map(|file| file.path.clone()).collect(),
            ..report_of(&messages)
        };
        Ok(FinishedCompaction {
            messages,
            report,
            files,
            expected: chain
                .messages
                .iter()
                .map(|message| (*message).clone())
                .collect(),
        })
    }
}

/// The files in the part of a conversation that the compaction keeps.
/// The model does not need these again after the summary.
fn files_still_shown(chain: &Chain<'_>, compaction: &[Message]) -> FileFreshness {
    let kept_from = compaction.iter().find_map(|message| {
        let Body::CompactBoundary(boundary) = &message.body else {
            return None;
        };
        boundary.kept_from.as_ref()
    });
    let first_kept = chain
        .messages
        .iter()
        .position(|message| Some(&message.id) == kept_from)
        .unwrap_or(chain.messages.len());
    let kept = &chain.messages[first_kept..];
    FileFreshness::recorded(kept.iter().copied().filter(|message| shows_file(message)))
}

/// Whether the model sees a whole file in this message. A reminder only names the file.
fn shows_file(message: &Message) -> bool {
    let Body::Attachment(attachment) = &message.body else {
        return false;
    };
    attachment.kind == AttachmentKind::File && message.why_not_sent().is_none()
}

/// Adds as many files as there is room for. Returns those that were added.
fn add_files(
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
    files.retain(|file| is_attached(file, &shown));
    count_files(messages, &shown, counter);
    messages.extend(shown);
    files
}

fn is_attached(file: &FileText, attachments: &[Message]) -> bool {
    let Body::Attachment(wanted) = analects_context::attach(file).body else {
        return false;
    };
    attachments
        .iter()
        .any(|message| matches!(&message.body, Body::Attachment(body) if body.data == wanted.data))
}

/// Adds the tokens of the files to what the boundary says about the context afterwards.
/// Without that, the report would promise more room than there is.
fn count_files(messages: &mut [Message], attachments: &[Message], counter: &mut Counter<'_>) {
    let mut tokens = 0;
    for content in attachments
        .iter()
        .filter_map(|message| message.body.content())
    {
        tokens += counter.content(content).tokens;
    }
    for message in messages {
        if let Body::CompactBoundary(boundary) = &mut message.body {
            boundary.tokens_after = boundary.tokens_after.map(|after| after + tokens);
        }
    }
}

/// What the messages of a compaction say about it.
fn report_of(messages: &[Message]) -> CompactionReport {
    let mut report = CompactionReport::default();
    for message in messages {
        match &message.body {
            Body::Summary(summary) => report.messages = summary.count.unwrap_or(0),
            Body::CompactBoundary(boundary) => {
                report.before = boundary.tokens_before.unwrap_or(0);
                report.after = boundary.tokens_after.unwrap_or(0);
            }
            _ => {}
        }
    }
    report
}

/// The model that writes a summary, and the settings that it writes with.
struct SummaryWriter<'s> {
    model: &'s Model,
    agent: Agent,
}

/// Chooses who writes the summary of so many tokens: the model that is configured for summaries if `may_use_other` and
/// everything fits into its window, or else the one that answers, into which no more than `window` fits.
fn choose_writer(
    setup: &TurnSetup,
    may_use_other: bool,
    tokens: u64,
    window: u64,
) -> SummaryWriter<'_> {
    let own = SummaryWriter {
        model: &setup.agent.model,
        agent: writing_agent(&setup.agent.model, &setup.agent.agent, window),
    };
    let Some(model) = setup.config.summariser.as_ref().filter(|_| may_use_other) else {
        return own;
    };
    let usual = Agent::default();
    let other_window = budget(&usual, model).window;
    let agent = Agent {
        context_window: Some(other_window),
        ..writing_agent(model, &usual, window)
    };
    let room = other_window.saturating_sub(agent.max_output_tokens);
    if tokens < room || agent.context_window >= own.agent.context_window {
        SummaryWriter { model, agent }
    } else {
        own
    }
}

/// An agent that writes a summary with a model.
fn writing_agent(model: &Model, agent: &Agent, window: u64) -> Agent {
    let budget = budget(agent, model);
    let budget = Budget::new(budget.window.min(window), budget.reserved);
    let longest = budget.window / SUMMARY_PART;
    Agent {
        models: vec![model.name.clone()],
        context_window: Some(budget.window),
        // A summary that fills the window leaves no room for what it summarises.
        max_output_tokens: budget.reserved.min(longest).max(1),
        ..agent.clone()
    }
}

/// Asks models for summaries on behalf of one turn.
pub(crate) struct Summariser<'a, 'c, 's> {
    /// Who answers, and which model writes summaries.
    pub setup: &'a TurnSetup,
    pub counter: &'a mut Counter<'c>,
    /// What all summaries of this step may cost.
    pub limit: &'a mut CostLimit,
    pub network: &'a mut Network<'s>,
}

impl Summariser<'_, '_, '_> {
    /// Requests the summary of a message that may only be sent as a summary.
    /// The writer is always the model that answers. An empty answer is an error.
    pub fn summarise_message(&mut self, message: &Message) -> Result<String, CompactionError> {
        let setup = self.setup;
        let model = &setup.agent.model;
        let most_tokens = setup.budget().reserved.max(1);
        let answer = self.ask(model, summary_request(&model.name, most_tokens, message))?;
        let text = answer.text();
        let text = text.trim();
        if text.is_empty() {
            let error = ClientError::Unsupported("the model gave no summary");
            return Err(failed(error));
        }
        Ok(text.to_string())
    }

    /// Sends one request, if the limit allows it, and waits for the whole answer.
    fn ask(&mut self, model: &Model, mut request: Request) -> Result<Message, CompactionError> {
        let count = self.counter.request(&request);
        self.limit.allow_summary(model, count, &mut request)?;
        let asking = whole_answer(&self.setup.config.client, model, &request);
        let result = self.network.wait(asking).ok_or(CompactionError::Stopped)?;
        let folded = result.map_err(failed)?;
        self.limit.pay(model, &folded.message);
        complete(folded)
    }
}

/// Collects a stream; nobody sees a summary while it is written.
async fn whole_answer(
    client: &Client,
    model: &Model,
    request: &Request,
) -> Result<Folded, ClientError> {
    let mut stream = client.stream(model, request).await?;
    let mut fold = Fold::default();
    while let Some(event) = stream.next().await {
        fold.push(&event?);
    }
    Ok(fold.finish(Message::assistant("", "")))
}

/// The answer, unless it broke off. A summary that reached its token limit still says more than none.
/// An answer that ends without a reason, as if the connection was cut, is an error.
fn complete(folded: Folded) -> Result<Message, CompactionError> {
    if let Some(error) = folded.error {
        return Err(failed(ClientError::Interrupted(error)));
    }
    if folded.complete || is_cut_at_limit(&folded.message) {
        return Ok(folded.message);
    }
    Err(failed(ClientError::Unsupported("the summary broke off")))
}

fn is_cut_at_limit(answer: &Message) -> bool {
    let Body::Assistant(body) = &answer.body else {
        return false;
    };
    body.stop_reason == Some(StopReason::MaxTokens)
}

fn failed(error: ClientError) -> CompactionError {
    CompactionError::Failed(Box::new(error))
}
