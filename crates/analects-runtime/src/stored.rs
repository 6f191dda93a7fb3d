//! A conversation in the transcript store: one line for each message.

use analects_core::{Agent, Ids, Message, MessageId, chain};
use analects_formats::Decoded;
use analects_store::{OsIds, StoreError, Transcript};
use jiff::Timestamp;

use crate::Conversation;

/// A conversation in the transcript store.
#[derive(Debug)]
pub struct StoredConversation {
    transcript: Transcript,
    so_far: Decoded,
    agent: String,
}

impl StoredConversation {
    /// Reads what the transcript holds.
    pub fn open(transcript: Transcript, agent: &Agent) -> Result<StoredConversation, StoreError> {
        let so_far = transcript.read()?;
        Ok(StoredConversation { transcript, so_far, agent: agent.name.clone() })
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
        chain(&self.so_far.messages).messages.last().map(|last| last.id.clone())
    }
}

impl Conversation for StoredConversation {
    fn messages(&self) -> Decoded {
        self.so_far.clone()
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
        answer.author = Some(self.agent.clone());
        let now = answer.created_at.unwrap_or_else(Timestamp::now);
        self.append(self.placed(answer, now))
    }
}
