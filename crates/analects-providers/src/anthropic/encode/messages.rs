//! Builds the messages of the body. Calls and results arrive in order; but since some blocks are
//! omitted, this makes sure that the rest alternates between user and model, begins with the user,
//! and has no empty message.

use analects_core::{Content, Raw, Role, Turn};

use super::blocks::{BlockEncoder, EncodedBlock, text_block};
use super::call_ids::CallIds;
use super::message::{AnthropicMessage, block_type, is_thinking};
use super::server_calls::ServerCalls;
use crate::decoding::string_member;
use crate::encoding::EncodeProblems;

/// The user's line before a conversation that the model began. The model reads it.
const OPENING_LINE: &str = "(The conversation begins with your words.)";

/// Builds messages from turns.
#[derive(Debug, Default)]
pub(super) struct AnthropicMessageBuilder {
    messages: Vec<AnthropicMessage>,
    server_calls: ServerCalls,
    ids: CallIds,
}

impl AnthropicMessageBuilder {
    /// Adds a turn. `model` is the model to ask.
    pub fn add(&mut self, number: usize, turn: &Turn, model: &str, problems: &mut EncodeProblems) {
        let encoder = BlockEncoder::new(number, turn, model);
        match &turn.content {
            Content::Empty => {}
            Content::Text(text) => {
                if let Some(block) = encoder.turn_text(text) {
                    self.push(number, block, problems);
                }
            }
            Content::Blocks(blocks) => {
                for block in blocks {
                    if let Some(block) = encoder.block(block, problems) {
                        self.push(number, block, problems);
                    }
                }
            }
        }
    }

    /// Adds a block to the message of its role. Only here do calls and results get the ids that are
    /// sent.
    fn push(&mut self, turn: usize, block: EncodedBlock, problems: &mut EncodeProblems) {
        match block {
            EncodedBlock::Content(role, block) => {
                self.message_of(role, turn, problems).content.push(block);
            }
            EncodedBlock::Call { id, mut block } => {
                block.set("id", Raw::string(self.ids.assign(&id)));
                let message = self.message_of(Role::Assistant, turn, problems);
                message.content.push(block);
            }
            EncodedBlock::Result { id, mut block } => {
                block.set("tool_use_id", Raw::string(self.ids.get(&id)));
                let message = self.message_of(Role::User, turn, problems);
                message.results.push(block);
            }
        }
    }

    /// The last message, if it is of this role, or else a new one.
    fn message_of(
        &mut self,
        role: Role,
        turn: usize,
        problems: &mut EncodeProblems,
    ) -> &mut AnthropicMessage {
        if self.last_role().is_some_and(|last| last != role) {
            self.close_last(false, problems);
        }
        // Closing may have removed the message, so that an earlier one of this role is the last again.
        if self.last_role() != Some(role) {
            self.messages.push(AnthropicMessage::new(role, turn));
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    /// The role of the last message; `None` without messages.
    fn last_role(&self) -> Option<Role> {
        Some(self.messages.last()?.role)
    }

    /// Corrects the last message once it is complete, and removes it if nothing is left. `is_final`
    /// says whether it ends the conversation.
    fn close_last(&mut self, is_final: bool, problems: &mut EncodeProblems) {
        let Some(mut message) = self.messages.pop() else {
            return;
        };
        if message.role == Role::Assistant {
            let earlier = &mut self.messages;
            if self.server_calls.pair(earlier, &mut message, is_final) {
                let what = "a call of a server's tool";
                problems.omit_content(message.turn, what, "its other half is missing");
            }
            for _ in 0..message.remove_trailing_thinking() {
                problems.omit_thinking(message.turn, "nothing came of it");
            }
        }
        if !message.is_empty() {
            self.messages.push(message);
        }
    }

    /// Completes and returns the messages.
    pub fn finish(mut self, problems: &mut EncodeProblems) -> Vec<AnthropicMessage> {
        self.close_last(true, problems);
        let first = self.messages.first();
        if first.is_some_and(|first| first.role == Role::Assistant) {
            problems.change("the model spoke first, so a line of the user is sent before it");
            let mut opening = AnthropicMessage::new(Role::User, 0);
            opening.content.extend(text_block(OPENING_LINE));
            self.messages.insert(0, opening);
        }
        if self.messages.is_empty() {
            problems.omit_everything();
        }
        self.trim_end();
        self.messages
    }

    /// Removes white space at the end of an answer that the model is to continue, which the API
    /// refuses.
    fn trim_end(&mut self) {
        let last = self.messages.last_mut();
        let answer = last.filter(|last| last.role == Role::Assistant);
        let Some(block) = answer.and_then(|answer| answer.content.last_mut()) else {
            return;
        };
        if block_type(block) == "text"
            && let Some(text) = string_member(block, "text")
        {
            block.set("text", Raw::string(text.trim_end()));
        }
    }
}

/// Whether the model's unfinished turn began without thinking. A turn is unfinished if its calls
/// were just answered, or if the model is to continue its text.
pub(super) fn began_without_thinking(messages: &[AnthropicMessage]) -> bool {
    let mut first_answer = None;
    for message in messages.iter().rev() {
        if message.role == Role::Assistant {
            first_answer = Some(message);
        } else if message.results.is_empty() {
            break;
        }
    }
    let Some(answer) = first_answer else {
        return false;
    };
    !answer.content.first().is_some_and(is_thinking)
}
