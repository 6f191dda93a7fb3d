//! A conversation in the transcript store: one record for each message.
//!
//! A message's `model` is what the provider calls the model, which does not say how to ask it again.
//! An answer therefore also notes the name under which it was asked, in `extra.agent_model`.

use std::path::Path;
use std::sync::Arc;

use analects_core::{Agent, Body, Chain, Message, Raw, RawMap, SessionState, StateChange};
use analects_formats::Decoded;
use analects_store::{ChainName, Loaded, OsIds, Session, StoreError, TranscriptStore, load};
use jiff::Timestamp;

use crate::Conversation;

/// The entry of `extra` that holds the name under which a model was asked, such as `openai/tiny`.
const AGENT_MODEL: &str = "agent_model";

/// A conversation in the transcript store.
#[derive(Debug)]
pub struct StoredConversation {
    store: Arc<dyn TranscriptStore>,
    name: ChainName,
    so_far: Loaded,
    agent: Agent,
}

impl StoredConversation {
    /// Loads what the model is to see of a session; one that was never written to is empty.
    pub fn open(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
    ) -> Result<StoredConversation, StoreError> {
        let so_far = load(&*store, &name)?;
        Ok(StoredConversation { store, name, so_far, agent: Agent::default() })
    }

    /// Starts a session that works in a folder. Nothing is written before somebody says something.
    pub fn start(
        store: Arc<dyn TranscriptStore>,
        name: ChainName,
        folder: &Path,
    ) -> StoredConversation {
        let mut so_far = Loaded::default();
        so_far.state.cwd = Some(folder.to_string_lossy().into_owned());
        StoredConversation { store, name, so_far, agent: Agent::default() }
    }

    /// Chooses who answers. The names of its models are noted with the answer, so they hold nothing
    /// that is only this machine's business.
    pub fn set_agent(&mut self, agent: &Agent) {
        self.agent = agent.clone();
    }

    /// The session's name.
    pub fn name(&self) -> &ChainName {
        &self.name
    }

    /// The session's state.
    pub fn state(&self) -> &SessionState {
        &self.so_far.state
    }

    /// The names under which models were asked before, the last one first. Errors are no answers.
    pub fn models(&self) -> impl Iterator<Item = String> {
        let answers = self.so_far.messages.iter().rev().filter(|message| {
            matches!(message.body, Body::Assistant(_)) && !message.is_api_error_message
        });
        answers.filter_map(|answer| answer.extra.get(AGENT_MODEL)?.as_string())
    }

    /// Adds a message behind what was loaded. If somebody else went on meanwhile, the two are branches
    /// from then on.
    fn append(&mut self, mut message: Message, now: Timestamp) -> Result<(), StoreError> {
        message.parent_id.clone_from(&self.so_far.leaf);
        let mut session = Session::open(&*self.store, self.name.clone())?;
        let mut records = Vec::new();
        if self.so_far.leaf.is_none() && session.leaf().is_none() {
            records.extend(self.first_state());
        }
        records.push(message);
        let placed = session.append(records, &mut OsIds, now)?;
        self.so_far.leaf = session.leaf().cloned();
        self.so_far.messages.extend(placed.into_iter().filter(|it| !is_state(it)));
        Ok(())
    }

    /// What a new session notes before all else.
    fn first_state(&self) -> Option<Message> {
        let mut changes = RawMap::new();
        changes.push("cwd", Raw::string(self.so_far.state.cwd.as_deref()?));
        let change = StateChange { changes: changes.to_raw(), is_snapshot: false };
        Some(Message::new("", change.into()))
    }
}

fn is_state(message: &Message) -> bool {
    matches!(message.body, Body::State(_))
}

impl Conversation for StoredConversation {
    /// In the store there is one assistant, whichever model answered in its name.
    fn messages(&self) -> Decoded {
        let mut messages = self.so_far.messages.clone();
        for message in &mut messages {
            message.author = None;
        }
        Decoded { messages, problems: self.so_far.problems.clone() }
    }

    /// The store loads nothing else.
    fn chain<'m>(&self, decoded: &'m Decoded) -> Chain<'m> {
        Chain { messages: decoded.messages.iter().collect(), ..Chain::default() }
    }

    fn say(&mut self, prompt: &str, now: Timestamp) -> Result<(), StoreError> {
        self.append(Message::user("", prompt), now)
    }

    fn push(&mut self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        false
    }

    fn flush(&mut self) {}

    fn finish(&mut self, mut answer: Message) -> Result<(), StoreError> {
        answer.author = Some(self.agent.name.clone());
        if let Some(model) = self.agent.models.first() {
            answer.extra.push(AGENT_MODEL, Raw::string(model));
        }
        let now = answer.created_at.unwrap_or_else(Timestamp::now);
        self.append(answer, now)
    }
}
