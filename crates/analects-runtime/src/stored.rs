//! A conversation in the transcript store: one line for each message.
//!
//! A message's `model` is what the provider calls the model, which does not say how to ask it again.
//! An answer therefore also notes the name under which it was asked, in `extra.agent_model`.

use analects_core::{Agent, Body, Ids, Message, MessageId, Raw, chain};
use analects_formats::Decoded;
use analects_store::{OsIds, StoreError, Transcript};
use jiff::Timestamp;

use crate::Conversation;

/// The entry of `extra` that holds the name under which a model was asked, such as `openai/tiny`.
const AGENT_MODEL: &str = "agent_model";

/// A conversation in the transcript store.
#[derive(Debug)]
pub struct StoredConversation {
    transcript: Transcript,
    so_far: Decoded,
    agent: Agent,
}

impl StoredConversation {
    /// Reads what the transcript holds.
    pub fn open(transcript: Transcript) -> Result<StoredConversation, StoreError> {
        let so_far = transcript.read()?;
        Ok(StoredConversation { transcript, so_far, agent: Agent::default() })
    }

    /// Chooses who answers. The names of its models are noted with the answer, so they hold nothing
    /// that is only this machine's business.
    pub fn set_agent(&mut self, agent: &Agent) {
        self.agent = agent.clone();
    }

    /// The names under which models were asked before, the last one first. Errors are no answers.
    pub fn models(&self) -> impl Iterator<Item = String> {
        let answers = self.so_far.messages.iter().rev().filter(|message| {
            matches!(message.body, Body::Assistant(_)) && !message.is_api_error_message
        });
        answers.filter_map(|answer| answer.extra.get(AGENT_MODEL)?.as_string())
    }

    fn append(&mut self, message: Message) -> Result<(), StoreError> {
        self.transcript.append(&message)?;
        self.so_far.messages.push(message);
        Ok(())
    }

    /// Gives a message its place at the end of the chain.
    fn placed(&self, mut message: Message, now: Timestamp) -> Message {
        message.id = OsIds.uuid(now).into();
        message.parent_id = self.leaf();
        message.session_id = self.transcript.session();
        message.created_at = message.created_at.or(Some(now));
        message
    }

    fn leaf(&self) -> Option<MessageId> {
        chain(&self.so_far.messages).leaf.map(|leaf| leaf.id.clone())
    }
}

impl Conversation for StoredConversation {
    /// In the store there is one assistant, whichever model answered in its name.
    fn messages(&self) -> Decoded {
        let mut decoded = self.so_far.clone();
        for message in &mut decoded.messages {
            message.author = None;
        }
        decoded
    }

    fn say(&mut self, prompt: &str, now: Timestamp) -> Result<(), StoreError> {
        self.append(self.placed(Message::user("", prompt), now))
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
        self.append(self.placed(answer, now))
    }
}
