//! Prepares a turn. Before anything is written, [`prepare`] finds who answers, which questions wait and what is sent. Only
//! [`Prepared::ask`] and [`Prepared::ask_blocking`] send anything to a model.

use std::error::Error;
use std::path::PathBuf;

use analects_client::{ClientError, Model, ProviderSettings};
use analects_context::{Count, Plan, Precision};
use analects_core::{Block, Body, Content, Image, Message, MessageId, Problem};
use analects_store::StoreError;
use jiff::Timestamp;

use crate::agents::Resolver;
use crate::answer_queue::{Scope, WaitingQuestions};
use crate::compaction;
use crate::conversation::additions;
use crate::drive::{TurnDriver, remind};
use crate::files::{AttachError, attach_file, attachment_preview, is_attached};
use crate::network::{Network, NetworkError};
use crate::turn_config::{TurnSetup, budget};
use crate::{
    AgentSource, AnswerQueue, ChosenMessages, CompactionError, CompactionReport, Conversation,
    NothingConfigured, Outcome, QueueReport, ResolvedAgent, ResponderNote, Responders, Snapshot,
    TurnConfig, TurnEvent, broken_answer,
};

/// What a caller wants of one call.
#[derive(Clone)]
pub struct AskOptions<'a> {
    /// The agents and models that are configured.
    pub agents: &'a dyn AgentSource,
    /// The keys and addresses of providers.
    pub environment: &'a ProviderSettings,
    /// The model to ask, or a word such as `default` that the configuration has a model for.
    pub model: Option<&'a str>,
    /// The agent that should answer.
    pub agent: Option<&'a str>,
    /// The instructions for an agent that is just a model; `None` for those of the conversation.
    pub system_prompt: Option<&'a str>,
    /// The prompt; without one, the questions that wait in the conversation are asked.
    pub prompt: Option<&'a str>,
    /// Pictures to send with the prompt.
    pub images: &'a [Image],
    /// Whether the prompt needs a model that takes pictures.
    pub needs_images: bool,
    /// Files to attach before the prompt.
    pub files: &'a [PathBuf],
    /// Who named these files and where, as the grants record it.
    pub files_named_by: &'a str,
    /// The temperature for this call; `None` for that of the agent.
    pub temperature: Option<f64>,
    /// The most tokens of the answer for this call; `None` for what the agent says.
    pub max_output_tokens: Option<u64>,
    /// The messages to send, if not all.
    pub chosen: ChosenMessages,
    /// Whether to store the choice for later calls.
    pub saves_choice: bool,
    /// Whether preparing fails if no question waits for an answer.
    pub needs_question: bool,
    /// The settings of the turn.
    pub config: TurnConfig,
}

impl<'a> AskOptions<'a> {
    /// Options that ask the waiting questions of the agent that usually answers.
    pub fn new(environment: &'a ProviderSettings) -> AskOptions<'a> {
        AskOptions {
            agents: &NothingConfigured,
            environment,
            model: None,
            agent: None,
            system_prompt: None,
            prompt: None,
            images: &[],
            needs_images: false,
            files: &[],
            files_named_by: "",
            temperature: None,
            max_output_tokens: None,
            chosen: ChosenMessages::default(),
            saves_choice: false,
            needs_question: true,
            config: TurnConfig::default(),
        }
    }

    /// Whether all waiting questions are asked together: the person wrote a prompt or named the agent. A model alone
    /// does not overrule the agents that the questions name.
    fn asks_all(&self) -> bool {
        self.prompt.is_some() || self.agent.is_some()
    }
}

/// Why a turn cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// No question waits for an answer.
    #[error("nothing waits for an answer")]
    NothingToAsk,
    /// The choice leaves out every question that waits.
    #[error("what waits for an answer is excluded")]
    QuestionExcluded,
    /// The choice to store leaves out the summary that replaces the earlier messages. Holds the name of the summary.
    #[error("{0} is the summary of a compaction, and stands for what came before")]
    SummaryExcluded(String),
    /// Neither the person, the conversation nor the configuration names a model.
    #[error("no model to ask")]
    NoModel,
    /// The agent names no model that can be asked.
    #[error("the agent {0} names no model that can be asked")]
    NoModelOfAgent(String),
    /// The conversation and the configuration have no agent of this name.
    #[error("there is no agent {name}")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The names of all agents.
        known: Vec<String>,
    },
    /// The call has instructions, and the agent of this name is defined with its own.
    #[error("the agent {0} has instructions of its own")]
    AgentHasInstructions(String),
    /// The prompt needs a model that takes pictures, and this one, as `provider/NAME`, takes none.
    #[error("{0} takes no pictures")]
    TakesNoImages(String),
    /// No model is configured for a word such as `default`.
    #[error("no model is configured as {0}")]
    UnknownPointer(String),
    /// The model cannot be asked, for example because its key is missing.
    #[error("{error}")]
    Model {
        /// Why not.
        error: Box<ClientError>,
        /// The name by which the model was requested.
        model: String,
        /// Whether the person or the conversation named the model.
        is_named: bool,
    },
    /// The configuration cannot be read.
    #[error("{0}")]
    Configuration(Box<dyn Error + Send + Sync>),
    /// A file cannot be attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The conversation cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PrepareError {
    /// Whether the error is about who answers, not about what is asked.
    pub fn is_about_responder(&self) -> bool {
        !matches!(
            self,
            PrepareError::NothingToAsk
                | PrepareError::QuestionExcluded
                | PrepareError::SummaryExcluded(_)
                | PrepareError::TakesNoImages(_)
                | PrepareError::AgentHasInstructions(_)
                | PrepareError::Attach(_)
                | PrepareError::Store(_)
        )
    }
}

/// Why a turn failed without a result.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// Somebody removed a message that was chosen.
    #[error("what was chosen is not there any more")]
    ChoiceRemoved,
    /// The turn cannot wait for the network.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// How much of a call is in the conversation already, in case it fails halfway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteProgress {
    /// Whether the conversation knows who answers.
    is_agent_stored: bool,
    /// How many of the files are attached, in their order.
    pub files: usize,
    /// Whether the prompt is written.
    pub has_prompt: bool,
}

/// A plan of what a turn would send.
#[derive(Debug)]
pub struct TurnPlan {
    /// The request, and whether it has each message in full, trimmed or not at all.
    pub plan: Plan,
    /// The messages that the model sees, in the order of the plan's rows.
    pub messages: Vec<Message>,
    /// Problems in the conversation.
    pub problems: Vec<Problem>,
    /// The tokens of the context: what the provider counted up to the last answer, and an estimate of the rest.
    pub used: Count,
    /// Whether a turn would compact the conversation first.
    pub would_compact: bool,
    /// How many bytes of the conversation come before these messages and are not sent for lack of room; 0 if none.
    pub earlier_bytes: u64,
    /// The reminders of changed files that the model would get.
    pub reminders: Vec<String>,
}

/// Everything that one turn needs. Nothing is written or sent yet.
#[derive(Debug)]
pub struct Prepared<C> {
    pub(crate) conversation: C,
    pub(crate) setup: TurnSetup,
    /// The agent to store in the conversation.
    agent_to_store: ResolvedAgent,
    pub(crate) scope: Scope,
    saves_choice: bool,
    prompt: Option<String>,
    images: Vec<Image>,
    files: Vec<PathBuf>,
    files_named_by: String,
    progress: WriteProgress,
    /// Set when the turn begins: the last answer before it, if that broke off.
    broken_before: Option<Option<MessageId>>,
    report: Option<QueueReport>,
    notes: Vec<ResponderNote>,
}

/// Finds who answers the prompt, or the questions that wait in the conversation. Writes and sends nothing.
pub fn prepare<C: Conversation>(
    conversation: C,
    options: &AskOptions<'_>,
) -> Result<Prepared<C>, PrepareError> {
    let prepared = AnswerQueue::default().prepare(conversation, options)?;
    prepared.ok_or(PrepareError::NothingToAsk)
}

impl AnswerQueue {
    /// Prepares the next answer of a call that gets several. `None` if no question of this call is left.
    pub fn prepare<C: Conversation>(
        &mut self,
        mut conversation: C,
        options: &AskOptions<'_>,
    ) -> Result<Option<Prepared<C>>, PrepareError> {
        check_files(&conversation, options)?;
        let mut scope = Scope {
            chosen: options.chosen.clone(),
            current_agent: None,
        };
        let Some(waiting) = self.find_waiting(&conversation, &scope, options)? else {
            return Ok(None);
        };
        if !self.take(&waiting) {
            return Ok(None);
        }
        if !waiting.later.is_empty() {
            scope.current_agent = Some(waiting.agent.clone());
        }
        let responders = conversation.responders();
        let mut resolver = Resolver {
            options,
            responders: &responders,
            notes: Vec::new(),
        };
        let agent = resolver.find(waiting.agent.as_deref())?;
        let notes = resolver.notes;
        if options.needs_images {
            check_takes_images(&agent.model)?;
        }
        // A new agent that is just a model keeps the settings of its first call.
        let is_just_a_model = !agent.is_configured && !is_known(&agent, &responders);
        let mut tuned = tuned(&agent, options);
        if is_just_a_model {
            let given = options.system_prompt.map(str::to_string);
            tuned.agent.system_prompt = given.or(responders.system_prompt.clone());
        } else {
            check_instructions(&agent, options)?;
        }
        conversation.load_for(budget(&tuned.agent, &tuned.model).window)?;
        let agent_to_store = if is_just_a_model {
            tuned.clone()
        } else {
            agent
        };
        Ok(Some(Prepared {
            conversation,
            setup: TurnSetup::new(tuned, options.config.clone()),
            agent_to_store,
            scope,
            saves_choice: options.saves_choice,
            prompt: options.prompt.map(str::to_string),
            images: options.images.to_vec(),
            files: options.files.to_vec(),
            files_named_by: options.files_named_by.to_string(),
            progress: WriteProgress::default(),
            broken_before: None,
            report: self.report(&waiting),
            notes,
        }))
    }

    /// The questions that this call answers next; none if it has a prompt. `None` if the call is done. Reads the
    /// conversation only if it has to.
    fn find_waiting<C: Conversation>(
        &self,
        conversation: &C,
        scope: &Scope,
        options: &AskOptions<'_>,
    ) -> Result<Option<WaitingQuestions>, PrepareError> {
        if options.prompt.is_some() && !options.saves_choice {
            return Ok(Some(WaitingQuestions::default()));
        }
        let snapshot = conversation.snapshot();
        let waiting = scope.waiting(&snapshot);
        if options.prompt.is_none() && options.needs_question {
            if snapshot.questions.is_empty() && self.has_begun() {
                return Ok(None);
            }
            if snapshot.questions.is_empty() {
                return Err(PrepareError::NothingToAsk);
            }
            if waiting.now.is_empty() {
                return Err(PrepareError::QuestionExcluded);
            }
        }
        if let Some(id) = excluded_summary(&snapshot, options) {
            return Err(PrepareError::SummaryExcluded(conversation.name_of(&id)));
        }
        if options.asks_all() {
            return Ok(Some(WaitingQuestions::default()));
        }
        Ok(Some(WaitingQuestions::first(waiting.now)))
    }
}

/// Fails if a file cannot be attached, before anything is written.
fn check_files(
    conversation: &impl Conversation,
    options: &AskOptions<'_>,
) -> Result<(), AttachError> {
    let folder = conversation.notes().folder;
    for file in options.files {
        attachment_preview(&folder, file)?;
    }
    Ok(())
}

/// Fails if the model is known to take no pictures.
fn check_takes_images(model: &Model) -> Result<(), PrepareError> {
    match model.facts.as_ref().and_then(|facts| facts.images) {
        Some(false) => {
            let name = format!("{}/{}", model.provider, model.name);
            Err(PrepareError::TakesNoImages(name))
        }
        Some(true) | None => Ok(()),
    }
}

/// Fails if the call has other instructions than the agent, which is defined with its own.
fn check_instructions(agent: &ResolvedAgent, options: &AskOptions<'_>) -> Result<(), PrepareError> {
    let agent = &agent.agent;
    let own = agent.system_prompt.as_deref().unwrap_or_default();
    match options.system_prompt {
        Some(given) if given.trim() != own.trim() => {
            Err(PrepareError::AgentHasInstructions(agent.name.clone()))
        }
        _ => Ok(()),
    }
}

fn is_known(agent: &ResolvedAgent, responders: &Responders) -> bool {
    let mut agents = responders.agents.iter();
    agents.any(|known| known.name == agent.agent.name)
}

/// The summary of the last compaction, if the choice to store leaves it out.
fn excluded_summary(snapshot: &Snapshot, options: &AskOptions<'_>) -> Option<MessageId> {
    if !options.saves_choice {
        return None;
    }
    let chain = snapshot.chain();
    let Body::CompactBoundary(boundary) = &chain.boundary?.body else {
        return None;
    };
    let summary = boundary.summary_id.as_ref()?;
    let mut exclude = options.chosen.choice.exclude.iter();
    exclude
        .any(|target| target.message == *summary)
        .then(|| summary.clone())
}

/// The agent with the settings of this call.
fn tuned(agent: &ResolvedAgent, options: &AskOptions<'_>) -> ResolvedAgent {
    let mut agent = agent.clone();
    if let Some(temperature) = options.temperature {
        agent.agent.use_temperature = true;
        agent.agent.temperature = temperature;
    }
    if let Some(tokens) = options.max_output_tokens {
        agent.agent.max_output_tokens = tokens;
    }
    agent
}

impl<C: Conversation> Prepared<C> {
    /// Who answers.
    pub fn agent(&self) -> &ResolvedAgent {
        &self.setup.agent
    }

    /// The model that answers, for a caller that changes its address first.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.setup.agent.model
    }

    /// The settings of the turn.
    pub fn config_mut(&mut self) -> &mut TurnConfig {
        &mut self.setup.config
    }

    /// What a person should know about the choice of agent and model.
    pub fn notes(&self) -> &[ResponderNote] {
        &self.notes
    }

    /// What is answered now and what waits; `None` if nothing else waits.
    pub fn report(&self) -> Option<&QueueReport> {
        self.report.as_ref()
    }

    /// The answer that broke off in this turn; `None` if none did.
    /// Read it after the turn. An answer that had broken off before does not count.
    pub fn broken(&self) -> Option<MessageId> {
        let before = self.broken_before.as_ref()?;
        let now = broken_answer(&self.conversation.snapshot());
        now.filter(|now| Some(now) != before.as_ref())
    }

    /// The conversation.
    pub fn conversation(&self) -> &C {
        &self.conversation
    }

    /// The conversation, for changes before the question.
    pub fn conversation_mut(&mut self) -> &mut C {
        &mut self.conversation
    }

    /// How much of this call is in the conversation already.
    /// After a failure, a caller can say what is there already: calling [`Prepared::write`] again would not repeat it.
    pub fn write_progress(&self) -> WriteProgress {
        self.progress
    }

    /// Tells the conversation who answers, which may change it on disk.
    pub fn store_agent(&mut self) -> Result<(), AskError> {
        if !self.progress.is_agent_stored {
            self.conversation.set_responder(&self.agent_to_store)?;
            self.progress.is_agent_stored = true;
        }
        Ok(())
    }

    /// Writes the files and the prompt into the conversation, and stores the choice if the options say so. Calling it
    /// again writes only what is missing.
    pub fn write(&mut self) -> Result<(), AskError> {
        self.store_agent()?;
        let now = Timestamp::now();
        self.find_repeated_question()?;
        self.attach_files(now)?;
        self.write_prompt(now)?;
        self.save_choice(now)
    }

    /// If the prompt is the question that waits last, as after a failed call that is repeated, it is not written again,
    /// and neither are the files that it already has.
    fn find_repeated_question(&mut self) -> Result<(), AskError> {
        if self.progress.has_prompt || self.progress.files > 0 || !self.is_question_waiting() {
            return Ok(());
        }
        self.progress.has_prompt = true;
        let mut new_files = Vec::new();
        let mut known_files = Vec::new();
        for file in std::mem::take(&mut self.files) {
            if is_attached(&self.conversation, &file)? {
                known_files.push(file);
            } else {
                new_files.push(file);
            }
        }
        self.progress.files = known_files.len();
        self.files = [known_files, new_files].concat();
        Ok(())
    }

    /// Whether the last question that waits has the words of the prompt.
    fn is_question_waiting(&self) -> bool {
        let Some(prompt) = &self.prompt else {
            return false;
        };
        if !self.conversation.is_waiting_last(prompt) {
            return false;
        }
        if self.scope.chosen.is_empty() && self.images.is_empty() {
            return true;
        }
        // A choice may leave that question out, and it may have other pictures.
        let snapshot = self.conversation.snapshot();
        let waiting = self.scope.waiting(&snapshot).now.pop();
        let Some(question) = waiting.filter(|question| question.says(prompt)) else {
            return false;
        };
        let mut messages = snapshot.messages.iter();
        let asked = messages.find(|message| message.id == question.message);
        self.images.is_empty()
            || asked.is_some_and(|asked| asked.body == self.prompt_message(prompt).body)
    }

    /// The message of the prompt, with its pictures.
    fn prompt_message(&self, prompt: &str) -> Message {
        if self.images.is_empty() {
            return Message::user("", prompt);
        }
        let images = self.images.iter().cloned().map(Block::Image);
        let blocks: Vec<Block> = std::iter::once(Block::from_text(prompt))
            .chain(images)
            .collect();
        Message::user("", Content::Blocks(blocks))
    }

    fn attach_files(&mut self, now: Timestamp) -> Result<(), AskError> {
        let grants = self.setup.config.grants.as_ref();
        for file in &self.files[self.progress.files..] {
            attach_file(
                &mut self.conversation,
                grants,
                file,
                &self.files_named_by,
                now,
            )?;
            self.progress.files += 1;
        }
        Ok(())
    }

    fn write_prompt(&mut self, now: Timestamp) -> Result<(), AskError> {
        let Some(prompt) = self.prompt.as_ref().filter(|_| !self.progress.has_prompt) else {
            return Ok(());
        };
        let message = self.prompt_message(prompt);
        self.conversation.apply(additions([message]), &[], now)?;
        self.progress.has_prompt = true;
        Ok(())
    }

    fn save_choice(&mut self, now: Timestamp) -> Result<(), AskError> {
        if !self.saves_choice {
            return Ok(());
        }
        let changes = self.scope.changes(&self.conversation.snapshot());
        let changes = changes.map_err(|_| AskError::ChoiceRemoved)?;
        self.conversation.apply(changes, &[], now)?;
        // From now on the conversation itself says what is sent.
        self.saves_choice = false;
        self.scope.chosen = ChosenMessages::default();
        Ok(())
    }

    /// Plans what would be sent, with the prompt and the files. This writes them into the conversation, so use a
    /// conversation that was opened for a dry run.
    pub fn plan(&mut self, precision: Precision) -> Result<TurnPlan, AskError> {
        self.write()?;
        let reminders = remind(&mut self.conversation, &self.setup, &self.scope)?;
        let snapshot = self.scope.narrow(self.conversation.snapshot());
        let snapshot = snapshot.map_err(|_| AskError::ChoiceRemoved)?;
        let chain = snapshot.chain_with_document();
        let mut counter = self.setup.counter(&self.conversation.notes().calibration);
        let agent = self.setup.agent_with_one_model();
        let planner = self.setup.planner(&agent).with_precision(precision);
        let plan = planner.plan(&chain, &mut counter);
        let used = self.setup.count(&chain, &mut counter);
        // A turn never compacts while messages are chosen for one call.
        let may_compact = self.scope.chosen.is_empty();
        let would_compact = may_compact && self.setup.is_full(&plan, &chain, &mut counter);
        let mut problems = snapshot.problems.clone();
        problems.extend_from_slice(&chain.problems);
        Ok(TurnPlan {
            plan,
            problems,
            used,
            would_compact,
            reminders,
            earlier_bytes: snapshot.earlier_bytes,
            messages: snapshot.into_visible_messages(),
        })
    }

    /// Writes the prompt, asks the model and records the answer, blocking until all of that is done. `events` sees what
    /// happens meanwhile. When `stop` is ready, the answer ends where it is and what arrived is recorded. Fails on a
    /// thread of an asynchronous runtime; use [`Prepared::ask`] there.
    pub fn ask_blocking(
        &mut self,
        events: &mut dyn FnMut(TurnEvent),
        stop: impl Future<Output = ()>,
    ) -> Result<Outcome, AskError> {
        let network = Network::new(stop)?;
        self.ask_on(events, network)
    }

    pub(crate) fn ask_on(
        &mut self,
        events: &mut dyn FnMut(TurnEvent),
        network: Network<'_>,
    ) -> Result<Outcome, AskError> {
        self.write()?;
        let snapshot = self.conversation.snapshot();
        self.broken_before = Some(broken_answer(&snapshot));
        let conversation = &mut self.conversation;
        let driver = TurnDriver::new(&self.setup, conversation, &self.scope, events, network);
        Ok(driver.run(snapshot)?)
    }

    /// Replaces the earlier part of the conversation with a summary, blocking until that is done. The summarised messages
    /// stay in the record.
    pub fn compact_blocking(
        &mut self,
        stop: impl Future<Output = ()>,
    ) -> Result<CompactionReport, CompactionError> {
        let mut network = Network::new(stop).map_err(|_| CompactionError::Stopped)?;
        compaction::compact(&self.setup, &mut self.conversation, &mut network)
    }
}

impl std::fmt::Debug for AskOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskOptions")
            .field("prompt", &self.prompt)
            .finish_non_exhaustive()
    }
}
