//! A conversation in the transcript store, with one record for each message. The `model` of an answer is the provider's
//! name for it, which does not say how to request it again, so `extra.agent_model` holds the requested name as well.

mod branches;
mod load_size;

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_context::{Calibration, FileFreshness};
use analects_core::verbs::Change;
use analects_core::{Agent, Block, Body, Content, Ids, Message, MessageId, Raw, SessionState};
use analects_store::{
    AnswerDelta, ChainName, LoadLimit, LoadedChain, OsIds, Session, StoreError, TranscriptStore,
};
use jiff::Timestamp;

use crate::agents::RECORDING_AUTHOR;
use crate::conversation::as_single_summary;
use crate::{Conversation, Notes, Question, ResolvedAgent, Responders, Snapshot};
pub use branches::Branches;
pub use load_size::size_in_words;
use load_size::{load_limit_for, not_sent_problem};

/// The key in `extra` of the name by which the model was requested, such as `openai/tiny`.
const AGENT_MODEL: &str = "agent_model";
/// The key in `extra` of the configured agent that gave the answer.
const AGENT: &str = "agent";

/// The key in `models` of the session's state for the model that answered last.
const ANSWERS: &str = "answers";
/// The key in `models` of the session's state for the model that was asked last, whether or not it answered.
const ASKED: &str = "asked";
/// The key in `extra` of the summary of a message.
const SUMMARY: &str = "summary";
/// The key in `extra` of the session's state for the instructions of an agent that is just a model.
const SYSTEM_PROMPT: &str = "system_prompt";
/// The key in `extra` of the session's state for the files that the model has seen.
const FILES: &str = "files";

/// A conversation in the transcript store. It loads only as much as fits into the window of the model.
///
/// Other programs may continue the same session meanwhile. New messages follow what was loaded here, and theirs become
/// another branch; see [`StoredConversation::branches`].
#[derive(Debug)]
pub struct StoredConversation {
    store: Arc<dyn TranscriptStore>,
    name: ChainName,
    loaded: LoadedChain,
    /// How much text to load.
    limit: LoadLimit,
    /// The agent that answers.
    agent: Agent,
    is_configured: bool,
    /// Whether changes stay in memory.
    is_dry_run: bool,
    /// The changed state of the session, which goes to disk with the next message.
    pending_state: Option<SessionState>,
    /// The last message before the first that was written here.
    start_leaf: Option<MessageId>,
    /// All messages that were written here.
    own_ids: HashSet<MessageId>,
    /// While it lives, other programs can see that a question is being answered here.
    announcement: Option<Box<dyn Any + Send + Sync>>,
}

impl StoredConversation {
    fn with(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
        loaded: LoadedChain,
    ) -> StoredConversation {
        StoredConversation {
            store,
            name,
            limit: load_limit_for(Agent::USUAL_WINDOW),
            agent: Agent::default(),
            is_configured: false,
            is_dry_run: false,
            pending_state: None,
            start_leaf: loaded.leaf.clone(),
            loaded,
            own_ids: HashSet::new(),
            announcement: None,
        }
    }

    /// Loads a session as far as the model sees it; a session without records is empty. Leaves out a question that
    /// another program is asking right now, because its answer is still to come.
    pub fn open(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
    ) -> Result<StoredConversation, StoreError> {
        let leaf = store.leaf(&name)?;
        let limit = load_limit_for(Agent::USUAL_WINDOW);
        let loaded = LoadedChain::load_up_to(&*store, &name, leaf.as_ref(), limit)?;
        Ok(StoredConversation::with(store, name, loaded))
    }

    /// Starts a session that works in this folder. Writes nothing until the first message.
    pub fn start(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
        folder: &Path,
    ) -> StoredConversation {
        let mut loaded = LoadedChain::default();
        loaded.state.cwd = Some(folder.to_string_lossy().into_owned());
        StoredConversation::with(store, name, loaded)
    }

    /// Like [`StoredConversation::open`], but a session without messages works in this folder.
    pub fn open_in(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
        folder: &Path,
    ) -> Result<StoredConversation, StoreError> {
        let mut conversation = StoredConversation::open(store, name)?;
        let loaded = &mut conversation.loaded;
        if loaded.leaf.is_none() && loaded.state.cwd.is_none() {
            loaded.state.cwd = Some(folder.to_string_lossy().into_owned());
        }
        Ok(conversation)
    }

    /// Makes all further changes in memory only, to see what would be sent.
    pub fn into_dry_run(mut self) -> StoredConversation {
        self.is_dry_run = true;
        self
    }

    /// The session's name.
    pub fn name(&self) -> &ChainName {
        &self.name
    }

    /// The session's state.
    pub fn state(&self) -> &SessionState {
        &self.loaded.state
    }

    /// The names by which models were requested: those that answered, the last first, then one that did not answer.
    /// If a summary replaced all answers, the state of the session still names the last model.
    pub fn models(&self) -> impl Iterator<Item = String> {
        let answered = self.answers().filter_map(requested_model);
        let state = &self.loaded.state;
        let stored = [ANSWERS, ASKED].into_iter();
        answered.chain(stored.filter_map(|key| state.models.get(key).cloned()))
    }

    /// The model names in answers that another program recorded, the last first.
    pub fn foreign_models(&self) -> impl Iterator<Item = String> {
        let foreign = self.answers().filter(|answer| is_foreign(answer));
        foreign.filter_map(|answer| answer.model.clone())
    }

    /// The configured agent that gave the last visible answer; `None` if another agent gave it.
    pub fn last_agent(&self) -> Option<String> {
        let mut answers = self.answers();
        let last = answers.find(|answer| answer.extra.get(AGENT_MODEL).is_some())?;
        last.extra.get(AGENT)?.as_string()
    }

    /// The visible answers, the last first. An error is not an answer.
    fn answers(&self) -> impl Iterator<Item = &Message> {
        let latest_first = self.loaded.messages.iter().rev();
        latest_first.filter(|message| is_assistant(message) && !message.is_api_error_message)
    }

    /// The last prompt, even if a summary replaced it. `None` if the person never wrote one.
    pub fn last_prompt(&self) -> Result<Option<Message>, StoreError> {
        if let Some(prompt) = last_prompt_in(&self.loaded.messages) {
            return Ok(Some(prompt.clone()));
        }
        let mut before = start_of(&self.loaded);
        // Damaged records may form a circle.
        let mut visited = HashSet::new();
        while let Some(leaf) = before.filter(|id| visited.insert(id.clone())) {
            let earlier = self.load(Some(&leaf))?;
            if let Some(prompt) = last_prompt_in(&earlier.messages) {
                return Ok(Some(prompt.clone()));
            }
            before = start_of(&earlier);
        }
        Ok(None)
    }

    fn load(&self, leaf: Option<&MessageId>) -> Result<LoadedChain, StoreError> {
        LoadedChain::load_up_to(&*self.store, &self.name, leaf, self.limit)
    }

    /// Whether the last prompt has no answer. Errors and answers that the model does not see do not count.
    pub fn is_unanswered(&self) -> bool {
        let messages = &self.loaded.messages;
        let Some(last) = messages.iter().rposition(is_prompt) else {
            return false;
        };
        let mut later = messages[last..].iter();
        !later.any(|message| is_assistant(message) && message.why_not_sent().is_none())
    }

    /// Whether the session holds this question, so many files that were sent along with it, and no answer.
    pub fn holds_only(&self, prompt: &str, files: usize) -> bool {
        let messages = &self.loaded.messages;
        let prompts = messages.iter().filter(|message| is_prompt(message));
        let attachments = messages.iter().filter(|message| is_attachment(message));
        let has_pictures = messages
            .iter()
            .any(|message| has_block(message, |block| matches!(block, Block::Image(_))));
        self.loaded.earlier == 0
            && !has_pictures
            && prompts.count() == 1
            && attachments.count() == files
            && self.is_waiting_last(prompt)
    }

    /// The last prompt, if it has no answer.
    fn questions(&self) -> Vec<Question> {
        let prompt = last_prompt_in(&self.loaded.messages);
        let Some(prompt) = prompt.filter(|_| self.is_unanswered()) else {
            return Vec::new();
        };
        let id = prompt.id.to_string();
        vec![Question {
            message: prompt.id.clone(),
            name: id.clone(),
            key: Some(id),
            text: prompt.text(),
            agent: None,
            timeout: None,
            cell_index: 0,
        }]
    }

    /// The state of the session, with changes that are not on disk yet.
    fn current_state(&self) -> &SessionState {
        self.pending_state.as_ref().unwrap_or(&self.loaded.state)
    }

    /// Stores in the state which model a key stands for.
    fn note_model(&mut self, key: &str, model: &str) {
        let state = self.current_state();
        if state.models.get(key).is_none_or(|known| known != model) {
            let mut state = state.clone();
            state.models.insert(key.to_string(), model.to_string());
            self.pending_state = Some(state);
        }
    }

    /// Stores in the state the instructions of an agent that is just a model.
    fn note_instructions(&mut self, text: &str) {
        let state = self.current_state();
        if instructions_in(state).as_deref() != Some(text) {
            let mut state = state.clone();
            state.extra.remove(SYSTEM_PROMPT);
            state.extra.push(SYSTEM_PROMPT, Raw::string(text));
            self.pending_state = Some(state);
        }
    }

    /// Adds messages after what was loaded, each following the one before. If another program continued the session
    /// meanwhile, this starts a branch.
    fn append(&mut self, messages: Vec<Message>, now: Timestamp) -> Result<(), StoreError> {
        let is_begun = self.loaded.leaf.is_some() || self.has_records()?;
        let mut records = self.with_state(messages, is_begun);
        // With nothing to add, stay where we are, even if another program added something.
        if records.is_empty() {
            self.commit_state();
            return Ok(());
        }
        for record in &mut records {
            record.parent_id = None;
        }
        if is_begun && self.loaded.leaf.is_none() {
            // The records belong to another program, so start a new branch beside them.
            records.insert(0, Session::start(&mut OsIds, now));
        }
        let placed = self.write(records, now)?;
        self.own_ids
            .extend(placed.iter().map(|message| message.id.clone()));
        let visible = placed.into_iter().filter(|message| !is_state(message));
        self.loaded.messages.extend(visible);
        self.commit_state();
        Ok(())
    }

    /// Adds the change of the state to the messages: at the end, or at the start of a new session.
    fn with_state(&self, mut messages: Vec<Message>, is_begun: bool) -> Vec<Message> {
        if is_begun {
            messages.extend(self.state_change(&self.loaded.state));
            return messages;
        }
        let empty = SessionState {
            session_id: self.loaded.state.session_id.clone(),
            ..SessionState::default()
        };
        let mut records: Vec<Message> = self.state_change(&empty).into_iter().collect();
        records.append(&mut messages);
        records
    }

    /// Writes records to the store, or only links them for a dry run. Returns them with their ids.
    fn write(&mut self, records: Vec<Message>, now: Timestamp) -> Result<Vec<Message>, StoreError> {
        let leaf = self.loaded.leaf.clone();
        let mut session = Session::continue_from(&*self.store, self.name.clone(), leaf);
        if self.is_dry_run {
            let (placed, leaf) = session.prepare(records, &mut OsIds, now);
            self.loaded.leaf = leaf;
            return Ok(placed);
        }
        let placed = session.append(records, &mut OsIds, now)?;
        self.loaded.leaf = session.leaf().cloned();
        Ok(placed)
    }

    /// Loads the conversation from disk again.
    /// Messages that other programs added to another branch do not appear.
    fn reload(&mut self) -> Result<(), StoreError> {
        self.loaded = self.load(self.loaded.leaf.as_ref())?;
        Ok(())
    }

    /// Whether any program has written to the session.
    /// Reads one record at most.
    fn has_records(&self) -> Result<bool, StoreError> {
        let mut has_records = false;
        self.store.scan(&self.name, 0, &mut |_| {
            has_records = true;
            ControlFlow::Break(())
        })?;
        Ok(has_records)
    }

    /// Shows other programs that a question is being answered. `first` is its first message; the rest follows it.
    fn announce(&mut self, first: Option<&mut Message>, now: Timestamp) -> Result<(), StoreError> {
        if self.is_dry_run || self.announcement.is_some() {
            return Ok(());
        }
        let Some(first) = first else {
            return Ok(());
        };
        if first.id.is_empty() {
            first.id = OsIds.uuid(now).into();
        }
        self.announcement = Some(self.store.announce(&self.name, &first.id)?);
        Ok(())
    }

    /// The record that changes the state of the session from `before`; `None` if nothing changed.
    fn state_change(&self, before: &SessionState) -> Option<Message> {
        let change = before.change_to(self.current_state())?;
        Some(Message::new("", change.into()))
    }

    /// Takes the pending state as the state of the session, once it is on disk.
    fn commit_state(&mut self) {
        if let Some(state) = self.pending_state.take() {
            self.loaded.state = state;
        }
    }
}

impl StoredConversation {
    /// The message that a summary replaces and its text, if it replaces just one message and is no compaction.
    fn summary_of_one(&self, message: &Message) -> Option<(MessageId, String)> {
        let (of, text) = as_single_summary(message)?;
        if self.compaction_summary() == Some(&message.id) {
            return None;
        }
        Some((of.clone(), text))
    }

    /// The summary of the last compaction.
    fn compaction_summary(&self) -> Option<&MessageId> {
        let Body::CompactBoundary(boundary) = &self.loaded.boundary.as_ref()?.body else {
            return None;
        };
        boundary.summary_id.as_ref()
    }

    /// Adds the messages of a compaction. Messages that another program adds meanwhile are on another branch, so the
    /// summarised messages are still what they were.
    fn compact(&mut self, mut made: Vec<Message>, now: Timestamp) -> Result<(), StoreError> {
        // A compaction repeats the whole state, so write pending changes first.
        if self.pending_state.is_some() {
            self.append(Vec::new(), now)?;
        }
        if let Some(first) = made.first_mut() {
            first.parent_id.clone_from(&self.loaded.leaf);
        }
        let leaf = self.loaded.leaf.clone();
        let mut session = Session::continue_from(&*self.store, self.name.clone(), leaf);
        let placed = session.compact(made, &mut OsIds, now)?;
        let leaf = session.leaf().cloned();
        self.own_ids
            .extend(placed.into_iter().map(|message| message.id));
        self.loaded = self.load(leaf.as_ref())?;
        Ok(())
    }

    /// Stores which model is asked, so that the next call asks the same if this one gets no answer.
    fn note_asked(&mut self) {
        if let Some(model) = self.agent.models.first().cloned()
            && self.models().next().as_ref() != Some(&model)
        {
            self.note_model(ASKED, &model);
        }
    }
}

fn last_prompt_in(messages: &[Message]) -> Option<&Message> {
    messages.iter().rev().find(|message| is_prompt(message))
}

/// The last message before the last compaction; `None` without one.
fn start_of(chain: &LoadedChain) -> Option<MessageId> {
    chain.boundary.as_ref()?.parent_id.clone()
}

/// The name by which the model of an answer was requested.
fn requested_model(answer: &Message) -> Option<String> {
    answer.extra.get(AGENT_MODEL)?.as_string()
}

/// Whether another program recorded an answer.
fn is_foreign(answer: &Message) -> bool {
    let is_recording = answer.author.as_deref() == Some(RECORDING_AUTHOR);
    !is_recording && answer.extra.get(AGENT_MODEL).is_none()
}

fn is_assistant(message: &Message) -> bool {
    matches!(message.body, Body::Assistant(_))
}

/// Whether a person wrote the message. Text beside results of calls does not count: the results belong to the answer
/// with the calls, and cannot go without it.
fn is_prompt(message: &Message) -> bool {
    let is_user = matches!(&message.body, Body::User(_));
    is_user && !message.text().is_empty() && !has_block(message, is_result)
}

/// Whether an answer calls tools, so that the turn continues after it.
fn has_calls(answer: &Message) -> bool {
    has_block(answer, |block| matches!(block, Block::ToolUse(_)))
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult(_))
}

fn has_block(message: &Message, is_wanted: impl Fn(&Block) -> bool) -> bool {
    let Some(Content::Blocks(blocks)) = message.body.content() else {
        return false;
    };
    blocks.iter().any(is_wanted)
}

fn is_attachment(message: &Message) -> bool {
    matches!(message.body, Body::Attachment(_))
}

fn is_boundary(message: &Message) -> bool {
    matches!(message.body, Body::CompactBoundary(_))
}

/// Whether a record changes or removes earlier ones.
fn is_change(message: &Message) -> bool {
    matches!(message.body, Body::Tombstone(_) | Body::Revision(_))
}

fn is_state(message: &Message) -> bool {
    matches!(message.body, Body::State(_))
}

impl Conversation for StoredConversation {
    /// The store knows just one assistant, so the messages have no author. The summary of a single message becomes a part
    /// of that message. Only what the model sees is loaded.
    fn snapshot(&self) -> Snapshot {
        let mut messages = self.loaded.messages.clone();
        let mut summaries = HashMap::new();
        messages.retain(|message| match self.summary_of_one(message) {
            Some((of, text)) => {
                summaries.insert(of, text);
                false
            }
            None => true,
        });
        for message in &mut messages {
            message.author = None;
            if let Some(summary) = summaries.remove(&message.id) {
                message.extra.push(SUMMARY, Raw::string(&summary));
            }
        }
        let mut problems = self.loaded.problems.clone();
        let earlier_bytes = self.loaded.earlier;
        if earlier_bytes > 0 {
            problems.push(not_sent_problem(earlier_bytes));
        }
        let view = Some(self.loaded.boundary.clone());
        Snapshot {
            document: None,
            messages,
            problems,
            questions: self.questions(),
            view,
            earlier_bytes,
        }
    }

    fn is_waiting_last(&self, prompt: &str) -> bool {
        let questions = self.questions();
        questions
            .last()
            .is_some_and(|question| question.says(prompt))
    }

    /// Loads more only for a larger window than before. A dry run with changes cannot load again, because its changes are
    /// on no disk.
    fn load_for(&mut self, window: u64) -> Result<(), StoreError> {
        let limit = load_limit_for(window);
        let has_unwritten = self.is_dry_run && !self.own_ids.is_empty();
        if self.loaded.earlier > 0 && limit > self.limit && !has_unwritten {
            self.limit = limit;
            self.reload()?;
        }
        Ok(())
    }

    fn responders(&self) -> Responders {
        Responders {
            last_configured: self.last_agent(),
            system_prompt: instructions_in(self.current_state()),
            models: self.models().collect(),
            foreign_models: self.foreign_models().collect(),
            ..Responders::default()
        }
    }

    /// Answers will hold the name of the model, but not that of a recording, which is a path on this machine.
    fn set_responder(&mut self, agent: &ResolvedAgent) -> Result<(), StoreError> {
        let models = if agent.is_recording() {
            Vec::new()
        } else {
            vec![agent.requested_model.clone()]
        };
        self.agent = Agent {
            models,
            ..agent.agent.clone()
        };
        self.is_configured = agent.is_configured;
        if let Some(text) = self.agent.system_prompt.clone()
            && !self.is_configured
        {
            self.note_instructions(&text);
        }
        Ok(())
    }

    /// Shows other programs that the last prompt is being answered.
    fn begin_answer(&mut self, _: &[Question], _: &Message) -> Result<(), StoreError> {
        let mut last = last_prompt_in(&self.loaded.messages).cloned();
        self.announce(last.as_mut(), Timestamp::UNIX_EPOCH)
    }

    /// Does nothing: an answer reaches the disk when it is finished or stopped.
    fn push(&mut self, _: AnswerDelta<'_>) {}

    fn finish(&mut self, mut answer: Message) -> Result<(), StoreError> {
        answer.author = Some(self.agent.name.clone());
        if let Some(model) = self.agent.models.first().cloned() {
            answer.extra.push(AGENT_MODEL, Raw::string(&model));
            if self.is_configured {
                answer.extra.push(AGENT, Raw::string(&self.agent.name));
            }
            if !answer.is_api_error_message {
                self.note_model(ANSWERS, &model);
            }
        }
        let now = answer.created_at.unwrap_or_else(Timestamp::now);
        let calls = has_calls(&answer);
        self.append(vec![answer], now)?;
        if !calls {
            self.announcement = None;
        }
        Ok(())
    }

    fn apply(
        &mut self,
        changes: Vec<Change>,
        _: &[Message],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut messages = Vec::new();
        for change in changes {
            let record = change.into_record();
            messages.push(record.map_err(|_| StoreError::InvalidState {
                path: PathBuf::from(&*self.name.session),
            })?);
        }
        if messages.iter().any(is_boundary) {
            return self.compact(messages, now);
        }
        if messages.iter().any(is_prompt) {
            self.note_asked();
        }
        // The files of a question go before it.
        let first = messages.first();
        if first.is_some_and(|first| is_prompt(first) || is_attachment(first)) {
            self.announce(messages.first_mut(), now)?;
        }
        let has_changes = messages.iter().any(is_change);
        self.append(messages, now)?;
        if has_changes {
            self.reload()?;
        }
        Ok(())
    }

    fn name_of(&self, message: &MessageId) -> String {
        message.to_string()
    }

    fn notes(&self) -> Notes {
        let state = self.current_state();
        let mut files = files_in(state);
        // Files of removed messages and of other branches are unknown to the model.
        let seen = FileFreshness::recorded(&self.loaded.messages);
        files.retain(|path| seen.facts(path).is_some());
        files.take_grants(&seen);
        let calibration = state.token_budget_state.as_ref();
        let folder = self.loaded.state.cwd.as_deref();
        Notes {
            files,
            calibration: calibration.map(Calibration::from_raw).unwrap_or_default(),
            folder: folder.map(PathBuf::from).unwrap_or_default(),
        }
    }

    fn set_notes(&mut self, notes: &Notes) {
        let before = self.notes();
        let mut state = self.current_state().clone();
        if before.calibration != notes.calibration {
            state.token_budget_state = Some(notes.calibration.to_raw());
        }
        if before.files != notes.files {
            // Keep what the state says about files that other branches have seen.
            let mut files = files_in(&state);
            files.take_over(&notes.files);
            state.extra.remove(FILES);
            state.extra.push(FILES, files.snapshot());
        }
        self.pending_state = Some(state);
    }
}

fn instructions_in(state: &SessionState) -> Option<String> {
    state.extra.get(SYSTEM_PROMPT)?.as_string()
}

fn files_in(state: &SessionState) -> FileFreshness {
    let raw = state.extra.get(FILES);
    raw.map(FileFreshness::from_snapshot).unwrap_or_default()
}
