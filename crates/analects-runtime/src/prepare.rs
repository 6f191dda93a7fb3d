//! The one way into a turn: who answers, what waits, what broke off and what is sent are found before anything is
//! written; [`Prepared::ask`] and [`Prepared::ask_blocking`] are the only ways to a model.

use std::error::Error;
use std::path::PathBuf;

use analects_client::{ClientError, Model, Surroundings};
use analects_context::{Count, Plan, Precision};
use analects_core::{Body, Message, MessageId, Problem};
use analects_store::StoreError;
use jiff::Timestamp;

use crate::agents::Resolver;
use crate::compaction;
use crate::conversation::additions;
use crate::drive::{TurnDriver, remind};
use crate::files::{AttachError, attach_file, attachment_preview};
use crate::network::{Network, NetworkError};
use crate::turn_config::{TurnSetup, budget};
use crate::waiting::{Scope, WaitingQuestions};
use crate::{
    AgentSource, AnswerQueue, ChosenMessages, CompactionError, CompactionReport, Conversation,
    NothingConfigured, Outcome, QueueReport, ResolvedAgent, ResponderNote, Snapshot, TurnConfig,
    TurnEvent, broken_answer,
};

/// What is wanted of one call.
#[derive(Clone)]
pub struct AskOptions<'a> {
    /// The agents and models that are configured.
    pub agents: &'a dyn AgentSource,
    /// Keys and addresses.
    pub environment: &'a Surroundings,
    /// The model to ask, or a word that the configuration gives one for.
    pub model: Option<&'a str>,
    /// The agent that is to answer.
    pub agent: Option<&'a str>,
    /// What the person says; without it, what waits is asked.
    pub prompt: Option<&'a str>,
    /// Files that the model is shown along with that.
    pub files: &'a [PathBuf],
    /// Who named these files, and where, for the record.
    pub files_named_by: &'a str,
    /// The temperature, for this call.
    pub temperature: Option<f64>,
    /// The most tokens of the answer, for this call.
    pub max_output_tokens: Option<u64>,
    /// What is sent of the conversation.
    pub chosen: ChosenMessages,
    /// Whether the choice holds for every later call, too.
    pub saves_choice: bool,
    /// Whether it is an error if nothing waits for an answer.
    pub needs_question: bool,
    /// How the turn goes.
    pub config: TurnConfig,
}

impl<'a> AskOptions<'a> {
    /// Asks what waits, of whoever usually answers.
    pub fn new(environment: &'a Surroundings) -> AskOptions<'a> {
        AskOptions {
            agents: &NothingConfigured,
            environment,
            model: None,
            agent: None,
            prompt: None,
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

    /// Whether the person says what is asked, or of whom: then all that waits is asked together.
    fn asks_all(&self) -> bool {
        self.prompt.is_some() || self.model.is_some() || self.agent.is_some()
    }
}

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// There is nothing to ask.
    #[error("nothing waits for an answer")]
    NothingToAsk,
    /// What waits for an answer is excluded.
    #[error("what waits for an answer is excluded")]
    QuestionExcluded,
    /// The choice is to hold for good, and excludes the summary that stands for what came before.
    #[error("{0} is the summary of a compaction, and stands for what came before")]
    SummaryExcluded(String),
    /// Nobody named a model, and nobody knows one.
    #[error("no model to ask")]
    NoModel,
    /// The agent names no model that can be asked.
    #[error("the agent {0} names no model that can be asked")]
    NoModelOfAgent(String),
    /// There is no agent of that name.
    #[error("there is no agent {name}")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The agents that there are.
        known: Vec<String>,
    },
    /// No model is configured for a word such as `default`.
    #[error("no model is configured as {0}")]
    UnknownPointer(String),
    /// The model cannot be asked from here.
    #[error("{error}")]
    Model {
        /// Why.
        error: Box<ClientError>,
        /// The name by which it would be asked.
        model: String,
        /// Whether the person or the conversation named it.
        is_named: bool,
    },
    /// The configuration cannot be read.
    #[error("{0}")]
    Configuration(Box<dyn Error + Send + Sync>),
    /// A file cannot be shown.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The conversation cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PrepareError {
    /// Whether nobody is there to answer, though something is asked.
    pub fn is_about_responder(&self) -> bool {
        !matches!(
            self,
            PrepareError::NothingToAsk
                | PrepareError::QuestionExcluded
                | PrepareError::SummaryExcluded(_)
                | PrepareError::Attach(_)
                | PrepareError::Store(_)
        )
    }
}

/// Why a turn could not be brought to its end.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be shown.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// What was chosen is not there any more.
    #[error("what was chosen is not there any more")]
    ChoiceRemoved,
    /// The network cannot be waited for.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// What is in the conversation by now of what a person says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteProgress {
    /// Whether whoever answers is set.
    is_introduced: bool,
    /// How many of the files, from the first one on.
    pub files: usize,
    /// Whether the prompt is.
    pub has_prompt: bool,
}

/// What would be sent.
#[derive(Debug)]
pub struct TurnPlan {
    /// The request, and what becomes of each message.
    pub plan: Plan,
    /// The messages that the model sees, as the rows of the plan have them.
    pub messages: Vec<Message>,
    /// What is odd about the conversation.
    pub problems: Vec<Problem>,
    /// How large the context is: what the model's side counted up to the last answer, and the best count of what came
    /// since.
    pub used: Count,
    /// Whether a turn would compact the conversation before it asks.
    pub would_compact: bool,
    /// How many bytes of the conversation come before all of this, for which there is no room; 0 if nothing does.
    pub earlier_bytes: u64,
    /// What the model is told of files that changed.
    pub reminders: Vec<String>,
}

/// Everything that one turn needs, found before anything is written.
#[derive(Debug)]
pub struct Prepared<C> {
    pub(crate) conversation: C,
    pub(crate) setup: TurnSetup,
    /// The agent as the conversation gets to know it.
    introduced: ResolvedAgent,
    pub(crate) scope: Scope,
    saves_choice: bool,
    prompt: Option<String>,
    files: Vec<PathBuf>,
    files_named_by: String,
    progress: WriteProgress,
    /// Once the turn has begun: the last answer before it, if that broke off.
    broken_before: Option<Option<MessageId>>,
    report: Option<QueueReport>,
    notes: Vec<ResponderNote>,
}

/// Finds who answers what waits in a conversation, or the prompt. Nothing is written or asked.
pub fn prepare<C: Conversation>(
    conversation: C,
    options: &AskOptions<'_>,
) -> Result<Prepared<C>, PrepareError> {
    let prepared = AnswerQueue::default().prepare(conversation, options)?;
    prepared.ok_or(PrepareError::NothingToAsk)
}

impl AnswerQueue {
    /// Prepares the next answer of a call that gets one after the other; `None` if what waits does not belong to it.
    pub fn prepare<C: Conversation>(
        &mut self,
        mut conversation: C,
        options: &AskOptions<'_>,
    ) -> Result<Option<Prepared<C>>, PrepareError> {
        let folder = conversation.notes().folder;
        for file in options.files {
            attachment_preview(&folder, file)?;
        }
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
        let responders = conversation.responders();
        let mut resolver = Resolver {
            options,
            responders: &responders,
            notes: Vec::new(),
        };
        let agent = resolver.find(waiting.agent.as_deref())?;
        let notes = resolver.notes;
        if !waiting.later.is_empty() {
            scope.current_agent = Some(waiting.agent.clone());
        }
        let is_known = responders
            .agents
            .iter()
            .any(|known| known.name == agent.agent.name);
        let tuned = tuned(&agent, options);
        conversation.load_for(budget(&tuned.agent, &tuned.model).window)?;
        // A new agent for a model keeps the settings of its first call.
        let introduced = if agent.is_configured || is_known {
            agent
        } else {
            tuned.clone()
        };
        Ok(Some(Prepared {
            conversation,
            setup: TurnSetup::new(tuned, options.config.clone()),
            introduced,
            scope,
            saves_choice: options.saves_choice,
            prompt: options.prompt.map(str::to_string),
            files: options.files.to_vec(),
            files_named_by: options.files_named_by.to_string(),
            progress: WriteProgress::default(),
            broken_before: None,
            report: self.report(&waiting),
            notes,
        }))
    }

    /// The questions that this call answers next, which are none if it has a prompt; `None` if the call is done. The
    /// conversation is read only if that decides something.
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
            if snapshot.questions.is_empty() && self.is_begun() {
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
            Ok(Some(WaitingQuestions::default()))
        } else {
            Ok(Some(WaitingQuestions::first(waiting.now)))
        }
    }
}

/// The summary of the compaction that counts, if a choice that is kept excludes it.
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

/// An agent with the settings of this call.
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

    /// The model that answers, for those who have to make it ready first.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.setup.agent.model
    }

    /// How the turn goes.
    pub fn config_mut(&mut self) -> &mut TurnConfig {
        &mut self.setup.config
    }

    /// What is worth telling about who answers.
    pub fn notes(&self) -> &[ResponderNote] {
        &self.notes
    }

    /// What is answered now, and what waits beside it; `None` if nothing does.
    pub fn report(&self) -> Option<&QueueReport> {
        self.report.as_ref()
    }

    /// The answer that broke off in this turn, if one did.
    pub fn broken(&self) -> Option<MessageId> {
        let before = self.broken_before.as_ref()?;
        let now = broken_answer(&self.conversation.snapshot());
        now.filter(|now| Some(now) != before.as_ref())
    }

    /// The conversation.
    pub fn conversation(&self) -> &C {
        &self.conversation
    }

    /// The conversation, for changes that belong before the question.
    pub fn conversation_mut(&mut self) -> &mut C {
        &mut self.conversation
    }

    /// What is in the conversation by now of what the person says.
    pub fn write_progress(&self) -> WriteProgress {
        self.progress
    }

    /// Sets who answers in the conversation, which may be a change of it.
    pub fn introduce(&mut self) -> Result<(), AskError> {
        if !self.progress.is_introduced {
            self.conversation.set_responder(&self.introduced)?;
            self.progress.is_introduced = true;
        }
        Ok(())
    }

    /// Puts what the person shows and says into the conversation, and keeps the choice if that is wanted.
    pub fn write(&mut self) -> Result<(), AskError> {
        self.introduce()?;
        let now = Timestamp::now();
        for file in &self.files[self.progress.files..] {
            let grants = self.setup.config.grants.as_ref();
            attach_file(
                &mut self.conversation,
                grants,
                file,
                &self.files_named_by,
                now,
            )?;
            self.progress.files += 1;
        }
        if let Some(prompt) = self.prompt.as_ref().filter(|_| !self.progress.has_prompt) {
            self.conversation
                .apply(additions([Message::user("", prompt.as_str())]), &[], now)?;
            self.progress.has_prompt = true;
        }
        if self.saves_choice {
            let changes = self.scope.changes(&self.conversation.snapshot());
            let changes = changes.map_err(|_| AskError::ChoiceRemoved)?;
            self.conversation.apply(changes, &[], now)?;
            // The conversation says it from now on.
            self.saves_choice = false;
            self.scope.chosen = ChosenMessages::default();
        }
        Ok(())
    }

    /// What would be sent. The prompt and the files count: of a conversation that was opened for a rehearsal, nothing
    /// of that reaches the disk.
    pub fn plan(&mut self, precision: Precision) -> Result<TurnPlan, AskError> {
        self.write()?;
        let reminders = remind(&mut self.conversation, &self.setup, &self.scope)?;
        let snapshot = self.scope.narrow(self.conversation.snapshot());
        let snapshot = snapshot.map_err(|_| AskError::ChoiceRemoved)?;
        let chain = snapshot.chain();
        let mut counter = self.setup.counter(&self.conversation.notes().calibration);
        let agent = self.setup.asking();
        let planner = self.setup.planner(&agent).with_precision(precision);
        let plan = planner.plan(&chain, &mut counter);
        let used = self.setup.count(&chain, &mut counter);
        // Of what is chosen for one call no summary is made.
        let would_compact =
            self.scope.chosen.is_empty() && self.setup.is_full(&plan, &chain, &mut counter);
        let problems = snapshot
            .problems
            .iter()
            .chain(&chain.problems)
            .cloned()
            .collect();
        let earlier_bytes = snapshot.earlier_bytes;
        let messages = snapshot.into_visible_messages();
        Ok(TurnPlan {
            plan,
            messages,
            problems,
            used,
            would_compact,
            earlier_bytes,
            reminders,
        })
    }

    /// Writes what the person says, asks the model, and records what comes, to the last word that came; waits for all
    /// of that. `events` sees what happens; when `stop` is ready, the answer ends as it is. Not for a thread of an
    /// asynchronous runtime: that has [`Prepared::ask`].
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

    /// Puts a summary in the place of the earlier part of the conversation, and waits for it. What is there stays in
    /// the record.
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
