//! A conversation in the transcript store: one record for each message.
//!
//! A message's `model` is what the provider calls the model, which does not say how to ask it again.
//! An answer therefore also notes the name under which it was asked, in `extra.agent_model`.

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
use load_size::{not_sent_problem, reach_for};

/// The entry of `extra` that holds the name under which a model was asked, such as `openai/tiny`.
const AGENT_MODEL: &str = "agent_model";
/// The configured agent that an answer is by.
const AGENT: &str = "agent";

/// What the model that answered last is used for, in the state.
const ANSWERS: &str = "answers";
/// What the model is used for that was asked last, whether it answered or not.
const ASKED: &str = "asked";
/// The entry of a message's `extra` that holds its summary.
const SUMMARY: &str = "summary";
/// The entry of a session's state that says which files the model has seen.
const FILES: &str = "files";

/// A conversation in the transcript store, of which as much is loaded as whoever answers can be sent.
///
/// Others may go on with the same session meanwhile: what is written here follows what was loaded, and theirs is
/// another branch, as [`StoredConversation::branches`] tells.
#[derive(Debug)]
pub struct StoredConversation {
    store: Arc<dyn TranscriptStore>,
    name: ChainName,
    loaded: LoadedChain,
    reach: LoadLimit,
    agent: Agent,
    is_configured: bool,
    /// Whether nothing is written.
    is_dry_run: bool,
    /// The state as it is to be, once something is written.
    pending_state: Option<SessionState>,
    /// What the first thing followed that was written here, and all that was.
    start_leaf: Option<MessageId>,
    own_ids: HashSet<MessageId>,
    /// Tells others not to go on from the question that is being answered here.
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
            reach: reach_for(Agent::USUAL_WINDOW),
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

    /// Loads what the model is to see of a session; one that was never written to is empty. A question that somebody
    /// else is asking just now is left to them, since its answer is still to come.
    pub fn open(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
    ) -> Result<StoredConversation, StoreError> {
        let leaf = store.leaf(&name)?;
        let reach = reach_for(Agent::USUAL_WINDOW);
        let loaded = LoadedChain::load_up_to(&*store, &name, leaf.as_ref(), reach)?;
        Ok(StoredConversation::with(store, name, loaded))
    }

    /// Starts a session that works in a folder. Nothing is written before somebody says something.
    pub fn start(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
        folder: &Path,
    ) -> StoredConversation {
        let mut loaded = LoadedChain::default();
        loaded.state.cwd = Some(folder.to_string_lossy().into_owned());
        StoredConversation::with(store, name, loaded)
    }

    /// Loads a session that may be a new one: where nothing was ever said, it is to work in this folder.
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

    /// From now on, changes are made in memory alone, to see what would be sent.
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

    /// The names under which models were asked before, the last one first: those that answered, then one that did
    /// not. Errors are no answers. Of answers that a summary stands for, the last one's is in the state.
    pub fn models(&self) -> impl Iterator<Item = String> {
        let requested_model = |answer: &Message| answer.extra.get(AGENT_MODEL)?.as_string();
        let answered = self.answers().filter_map(requested_model);
        let noted = [ANSWERS, ASKED]
            .into_iter()
            .filter_map(|of| self.loaded.state.models.get(of));
        answered.chain(noted.cloned())
    }

    /// The names that models have in answers from elsewhere, the last one first.
    pub fn foreign_models(&self) -> impl Iterator<Item = String> {
        let is_foreign = |answer: &&Message| {
            answer.extra.get(AGENT_MODEL).is_none()
                && answer.author.as_deref() != Some(RECORDING_AUTHOR)
        };
        self.answers()
            .filter(is_foreign)
            .filter_map(|answer| answer.model.clone())
    }

    /// The configured agent that gave the last answer that is seen, if one did.
    pub fn last_agent(&self) -> Option<String> {
        let answer = self
            .answers()
            .find(|answer| answer.extra.get(AGENT_MODEL).is_some())?;
        answer.extra.get(AGENT)?.as_string()
    }

    /// The answers that are seen, the last one first.
    fn answers(&self) -> impl Iterator<Item = &Message> {
        self.loaded.messages.iter().rev().filter(|message| {
            matches!(message.body, Body::Assistant(_)) && !message.is_api_error_message
        })
    }

    /// What the person said last, also if a summary stands for it by now.
    pub fn last_prompt(&self) -> Result<Option<Message>, StoreError> {
        let (mut earlier, mut met) = (None, HashSet::new());
        loop {
            let seen: &LoadedChain = earlier.as_ref().unwrap_or(&self.loaded);
            if let Some(said) = seen
                .messages
                .iter()
                .rev()
                .find(|message| is_prompt(message))
            {
                return Ok(Some(said.clone()));
            }
            let before = seen
                .boundary
                .as_ref()
                .and_then(|boundary| boundary.parent_id.clone());
            // Damaged records may lead round in a circle.
            let Some(before) = before.filter(|before| met.insert(before.clone())) else {
                return Ok(None);
            };
            earlier = Some(LoadedChain::load_up_to(
                &*self.store,
                &self.name,
                Some(&before),
                self.reach,
            )?);
        }
    }

    /// Whether the person said something that has no answer. An error is none, nor is what the model does not see.
    pub fn is_unanswered(&self) -> bool {
        let messages = &self.loaded.messages;
        let is_answer = |message: &Message| {
            matches!(message.body, Body::Assistant(_)) && message.why_not_sent().is_none()
        };
        let last = messages.iter().rposition(is_prompt);
        last.is_some_and(|at| !messages[at..].iter().any(is_answer))
    }

    /// What the person said last, if it has no answer.
    fn questions(&self) -> Vec<Question> {
        let last = self
            .loaded
            .messages
            .iter()
            .rev()
            .find(|message| is_prompt(message));
        let Some(last) = last.filter(|_| self.is_unanswered()) else {
            return Vec::new();
        };
        vec![Question {
            message: last.id.clone(),
            name: last.id.to_string(),
            key: Some(last.id.to_string()),
            text: last.text(),
            agent: None,
            cell_index: 0,
        }]
    }

    /// Notes in the state what a model is used for.
    fn note_model(&mut self, used: &str, model: &str) {
        let state = self.pending_state.as_ref().unwrap_or(&self.loaded.state);
        if state.models.get(used).is_none_or(|known| known != model) {
            let mut state = state.clone();
            state.models.insert(used.to_string(), model.to_string());
            self.pending_state = Some(state);
        }
    }

    /// Adds messages behind what was loaded, each following the one before. If somebody else went on
    /// meanwhile, the two are branches from then on.
    fn append(&mut self, messages: Vec<Message>, now: Timestamp) -> Result<(), StoreError> {
        // A new session says what it is before all else.
        let is_begun = self.loaded.leaf.is_some() || self.is_begun()?;
        let session_id = self.loaded.state.session_id.clone();
        let nothing = SessionState {
            session_id,
            ..SessionState::default()
        };
        let state = self.new_state(if is_begun {
            &self.loaded.state
        } else {
            &nothing
        });
        let mut records = messages;
        let at = if is_begun { records.len() } else { 0 };
        records.splice(at..at, state);
        // With nothing to add, the conversation stays where it is, whatever somebody else has added.
        if records.is_empty() {
            self.note_state();
            return Ok(());
        }
        for record in &mut records {
            record.parent_id = None;
        }
        if is_begun && self.loaded.leaf.is_none() {
            // What is there is somebody else's, and this begins anew beside it.
            records.insert(0, Session::start(&mut OsIds, now));
        }
        let name = self.name.clone();
        let mut session = Session::continue_from(&*self.store, name, self.loaded.leaf.clone());
        let placed = if self.is_dry_run {
            let (placed, leaf) = session.place(records, &mut OsIds, now);
            self.loaded.leaf = leaf;
            placed
        } else {
            let placed = session.append(records, &mut OsIds, now)?;
            self.loaded.leaf = session.leaf().cloned();
            placed
        };
        self.own_ids
            .extend(placed.iter().map(|message| message.id.clone()));
        self.loaded
            .messages
            .extend(placed.into_iter().filter(|it| !is_state(it)));
        self.note_state();
        Ok(())
    }

    /// Loads what is on the disk, as far as the model can be sent it.
    fn reload(&mut self) -> Result<(), StoreError> {
        let leaf = self.loaded.leaf.as_ref();
        self.loaded = LoadedChain::load_up_to(&*self.store, &self.name, leaf, self.reach)?;
        Ok(())
    }

    /// Whether anybody has written to the session.
    fn is_begun(&self) -> Result<bool, StoreError> {
        let mut is_begun = false;
        self.store.scan(&self.name, 0, &mut |_| {
            is_begun = true;
            ControlFlow::Break(())
        })?;
        Ok(is_begun)
    }

    /// Tells others that this is being asked. The first of what is asked tells, since the rest follows it.
    fn announce(&mut self, first: Option<&mut Message>, now: Timestamp) -> Result<(), StoreError> {
        let is_told = self.is_dry_run || self.announcement.is_some();
        let Some(first) = first.filter(|_| !is_told) else {
            return Ok(());
        };
        if first.id.is_empty() {
            first.id = OsIds.uuid(now).into();
        }
        self.announcement = Some(self.store.announce(&self.name, &first.id)?);
        Ok(())
    }

    /// The change that makes the state what it is to be.
    fn new_state(&self, before: &SessionState) -> Option<Message> {
        let change = before.change_to(self.pending_state.as_ref().unwrap_or(&self.loaded.state))?;
        Some(Message::new("", change.into()))
    }

    fn note_state(&mut self) {
        if let Some(state) = self.pending_state.take() {
            self.loaded.state = state;
        }
    }
}

impl StoredConversation {
    /// What a summary says that stands for one message alone, of which nothing else may be sent.
    fn summary_of_one(&self, message: &Message) -> Option<(MessageId, String)> {
        let boundary = self.loaded.boundary.as_ref().map(|boundary| &boundary.body);
        let is_compaction = matches!(boundary, Some(Body::CompactBoundary(body))
            if body.summary_id.as_ref() == Some(&message.id));
        let (of, text) = as_single_summary(message).filter(|_| !is_compaction)?;
        Some((of.clone(), text))
    }

    /// Adds a summary, its boundary and what belongs to them. Whatever somebody else says meanwhile is another
    /// branch, so what was seen is still there.
    fn compact(&mut self, mut made: Vec<Message>, now: Timestamp) -> Result<(), StoreError> {
        // A compaction comes with the state as a whole, so what is new in that goes first.
        if self.pending_state.is_some() {
            self.append(Vec::new(), now)?;
        }
        if let Some(first) = made.first_mut() {
            first.parent_id.clone_from(&self.loaded.leaf);
        }
        let name = self.name.clone();
        let mut session = Session::continue_from(&*self.store, name, self.loaded.leaf.clone());
        let placed = session.compact(made, &mut OsIds, now)?;
        let leaf = session.leaf().cloned();
        self.own_ids
            .extend(placed.into_iter().map(|message| message.id));
        self.loaded = LoadedChain::load_up_to(&*self.store, &self.name, leaf.as_ref(), self.reach)?;
        Ok(())
    }

    /// Notes whom the person asks: if no answer comes, the same model is to be asked again.
    fn note_asked(&mut self) {
        if let Some(model) = self.agent.models.first().cloned()
            && self.models().next().as_ref() != Some(&model)
        {
            self.note_model(ASKED, &model);
        }
    }
}

/// Whether the person said it.
fn is_prompt(message: &Message) -> bool {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    // What stands beside results of calls goes with them: without it, the calls would have none.
    let has_results = matches!(message.body.content(), Some(Content::Blocks(blocks))
        if blocks.iter().any(is_result));
    matches!(&message.body, Body::User(_)) && !message.text().is_empty() && !has_results
}

/// Whether an answer calls tools, so that it is not the end of the turn.
fn has_calls(answer: &Message) -> bool {
    let is_call = |block: &Block| matches!(block, Block::ToolUse(_));
    matches!(answer.body.content(), Some(Content::Blocks(blocks)) if blocks.iter().any(is_call))
}

fn is_attachment(message: &Message) -> bool {
    matches!(message.body, Body::Attachment(_))
}

fn is_state(message: &Message) -> bool {
    matches!(message.body, Body::State(_))
}

impl Conversation for StoredConversation {
    /// In the store there is one assistant, whichever model answered in its name. A summary of a single message
    /// is a part of that message. The store loads nothing but what the model sees.
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
        problems.extend((earlier_bytes > 0).then(|| not_sent_problem(earlier_bytes)));
        let view = Some(self.loaded.boundary.clone());
        Snapshot {
            messages,
            problems,
            questions: self.questions(),
            view,
            earlier_bytes,
        }
    }

    /// The largest window so far counts. What a rehearsal has made is on no disk, and stays.
    fn load_for(&mut self, window: u64) -> Result<(), StoreError> {
        let reach = reach_for(window);
        let has_made = self.is_dry_run && !self.own_ids.is_empty();
        if self.loaded.earlier > 0 && reach > self.reach && !has_made {
            self.reach = reach;
            self.reload()?;
        }
        Ok(())
    }

    fn responders(&self) -> Responders {
        Responders {
            last_configured: self.last_agent(),
            models: self.models().collect(),
            foreign_models: self.foreign_models().collect(),
            ..Responders::default()
        }
    }

    /// The name of the model is noted with the answer; that of a recording is only this machine's business.
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
        Ok(())
    }

    /// Tells others that what the person said last is being asked.
    fn begin_answer(&mut self, _: &[Question], _: &Message) -> Result<(), StoreError> {
        let mut last = self
            .loaded
            .messages
            .iter()
            .rev()
            .find(|message| is_prompt(message))
            .cloned();
        self.announce(last.as_mut(), Timestamp::UNIX_EPOCH)
    }

    /// An answer reaches the disk when it is complete, or stopped.
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
            let misused = |_| StoreError::InvalidState {
                path: PathBuf::from(&*self.name.session),
            };
            messages.push(change.into_record().map_err(misused)?);
        }
        let is_boundary = |message: &Message| matches!(message.body, Body::CompactBoundary(_));
        if messages.iter().any(is_boundary) {
            return self.compact(messages, now);
        }
        if messages.iter().any(is_prompt) {
            self.note_asked();
        }
        // Files that a question is about go before it.
        if messages
            .first()
            .is_some_and(|first| is_prompt(first) || is_attachment(first))
        {
            self.announce(messages.first_mut(), now)?;
        }
        let is_change =
            |message: &Message| matches!(message.body, Body::Tombstone(_) | Body::Revision(_));
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
        let state = self.pending_state.as_ref().unwrap_or(&self.loaded.state);
        let read = |raw: &Raw| Calibration::from_raw(raw);
        let mut files = state
            .extra
            .get(FILES)
            .map(FileFreshness::from_snapshot)
            .unwrap_or_default();
        // What was taken back, or is on another branch, the model has not seen.
        let seen = FileFreshness::recorded(&self.loaded.messages);
        files.retain(|path| seen.facts(path).is_some());
        files.take_grants(&seen);
        Notes {
            files,
            calibration: state
                .token_budget_state
                .as_ref()
                .map(read)
                .unwrap_or_default(),
            folder: self
                .loaded
                .state
                .cwd
                .as_deref()
                .map(PathBuf::from)
                .unwrap_or_default(),
        }
    }

    fn set_notes(&mut self, notes: &Notes) {
        let before = self.notes();
        let mut state = self
            .pending_state
            .take()
            .unwrap_or_else(|| self.loaded.state.clone());
        if before.calibration != notes.calibration {
            state.token_budget_state = Some(notes.calibration.to_raw());
        }
        if before.files != notes.files {
            // What was seen on another branch is known there.
            let known = state.extra.get(FILES).map(FileFreshness::from_snapshot);
            let mut files = known.unwrap_or_default();
            files.take_over(&notes.files);
            state.extra.remove(FILES);
            state.extra.push(FILES, files.snapshot());
        }
        self.pending_state = Some(state);
    }
}
