//! A conversation in a message file: the file is the record.

use std::path::{Path, PathBuf};

use analects_core::{Agent, Block, Body, Content, Json, Message};
use analects_formats::msgfile::{self, Document, NewCell};
use analects_formats::{Decoded, msgfile::CellKind};
use analects_store::{MessageFile, Places, Reply, StoreError};
use jiff::Timestamp;

use crate::Conversation;

/// A conversation in a message file.
#[derive(Debug)]
pub struct FileConversation {
    path: PathBuf,
    agent: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Resting(MessageFile),
    Answering(Box<Reply>),
    /// Only while one of the other states turns into the other, or after that failed.
    Changing,
}

impl FileConversation {
    /// Opens the file, or gets ready to make it.
    pub fn open(path: &Path, places: &Places) -> Result<FileConversation, StoreError> {
        let file = MessageFile::open(path, places)?;
        let path = file.path().to_path_buf();
        Ok(FileConversation { path, agent: String::new(), state: State::Resting(file) })
    }

    /// What the file holds; nothing while an answer is being written.
    pub fn document(&self) -> Option<&Document> {
        match &self.state {
            State::Resting(file) => Some(file.document()),
            _ => None,
        }
    }

    /// Chooses who answers. An agent that the file does not know is written into it, so that the
    /// next call need not name it again.
    pub fn set_agent(&mut self, agent: &Agent) -> Result<(), StoreError> {
        self.agent.clone_from(&agent.name);
        let State::Resting(file) = &mut self.state else {
            return Ok(());
        };
        if file.document().agents().iter().any(|known| known.name == agent.name) {
            return Ok(());
        }
        let models = agent.models.join(",");
        let cell = NewCell {
            title: agent.name.clone(),
            type_word: "agent".to_string(),
            ..NewCell::message(file.document().next_id(), "")
        };
        file.append(&cell.with("name", agent.name.as_str()).with("models", models))
    }

    fn file(&mut self) -> Result<&mut MessageFile, StoreError> {
        match &mut self.state {
            State::Resting(file) => Ok(file),
            _ => Err(StoreError::Locked { path: self.path.clone() }),
        }
    }

    /// The reply that grows in the file, begun if need be.
    fn reply(&mut self) -> Result<&mut Reply, StoreError> {
        self.state = match std::mem::replace(&mut self.state, State::Changing) {
            State::Resting(file) => {
                let cell = NewCell::reply(file.document().next_id(), &self.agent, "");
                State::Answering(Box::new(file.start_reply(cell)?))
            }
            other => other,
        };
        match &mut self.state {
            State::Answering(reply) => Ok(reply),
            _ => Err(StoreError::Locked { path: self.path.clone() }),
        }
    }
}

impl Conversation for FileConversation {
    fn messages(&self) -> Decoded {
        let session = msgfile::session_of(&self.path.to_string_lossy());
        self.document().map(|document| msgfile::messages(document, &session)).unwrap_or_default()
    }

    fn say(&mut self, prompt: &str, _: Timestamp) -> Result<(), StoreError> {
        let file = self.file()?;
        let cell = NewCell::message(file.document().next_id(), prompt);
        file.append(&cell)
    }

    fn push(&mut self, text: &str) -> Result<(), StoreError> {
        self.reply()?.push(text);
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        matches!(&self.state, State::Answering(reply) if reply.is_waiting())
    }

    fn flush(&mut self) {
        if let State::Answering(reply) = &mut self.state {
            reply.flush();
        }
    }

    fn finish(&mut self, answer: Message) -> Result<(), StoreError> {
        let cell = NewCell::reply("", &self.agent, answer.text()).describe(&answer);
        self.reply()?;
        let State::Answering(reply) = std::mem::replace(&mut self.state, State::Changing) else {
            return Err(StoreError::Locked { path: self.path.clone() });
        };
        let id = reply.id().to_string();
        let mut file = reply.finish(cell)?;
        for block in other_blocks(&answer) {
            file.append(&block_cell(file.document().next_id(), &id, block))?;
        }
        self.state = State::Resting(file);
        Ok(())
    }
}

/// What the answer holds besides text.
fn other_blocks(answer: &Message) -> impl Iterator<Item = &Block> {
    let blocks = match &answer.body {
        Body::Assistant(body) => match &body.content {
            Content::Blocks(blocks) => blocks.as_slice(),
            _ => &[],
        },
        _ => &[],
    };
    blocks.iter().filter(|block| !matches!(block, Block::Text(_)))
}

/// A cell that keeps a block as JSON, as part of the reply that it belongs to.
fn block_cell(id: String, part_of: &str, block: &Block) -> NewCell {
    let content = format!("```json\n{}\n```", block.to_json());
    NewCell { kind: CellKind::Output, ..NewCell::reply(id, "block", content) }
        .with("part", part_of)
        .with("history", "none")
}

/// The name of an agent that asks the model of that name: its last part, in the characters that a
/// type word may have.
pub fn agent_name(model: &str) -> String {
    let last = model.rsplit('/').next().unwrap_or(model);
    let allowed = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let name: String = last.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    if name.is_empty() { "agent".to_string() } else { name }
}
