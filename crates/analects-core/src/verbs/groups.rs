//! Groups of messages that belong together: calls with their results, code with its output.

use std::collections::HashMap;

use crate::{AttachmentKind, Body, Message, MessageId, Said, UserSource};

/// The groups of messages in a conversation.
pub(super) struct MessageGroups {
    /// Positions by message id. A damaged conversation may repeat an id.
    positions: HashMap<MessageId, Vec<usize>>,
    /// For each message, the position of the first message of its group.
    pub(super) group: Vec<usize>,
    /// For each message, its calls and results.
    pub(super) pairing: Vec<Said>,
    /// The position of the calling message, by the position of the result and the id of the call.
    callers: HashMap<(usize, String), usize>,
    /// The positions of the results, by the position of the calling message and the id of the call.
    results: HashMap<(usize, String), Vec<usize>>,
    /// The positions of the outputs, by the position of their code.
    outputs: HashMap<usize, Vec<usize>>,
    /// The position of the code, by the position of its output.
    code: HashMap<usize, usize>,
}

impl MessageGroups {
    pub(super) fn of(messages: &[Message]) -> MessageGroups {
        let mut groups = MessageGroups {
            positions: HashMap::new(),
            group: (0..messages.len()).collect(),
            pairing: messages.iter().map(Said::of).collect(),
            callers: HashMap::new(),
            results: HashMap::new(),
            outputs: HashMap::new(),
            code: HashMap::new(),
        };
        for (at, message) in messages.iter().enumerate() {
            let positions = groups.positions.entry(message.id.clone()).or_default();
            positions.push(at);
        }
        groups.group_code(messages);
        groups.group_calls();
        groups
    }

    /// Puts outputs into the group of the code before them.
    fn group_code(&mut self, messages: &[Message]) {
        let mut last_code = None;
        for (at, message) in messages.iter().enumerate() {
            if let Body::User(body) = &message.body {
                last_code = (body.source == Some(UserSource::Code)).then_some(at);
            }
            if let Body::Attachment(body) = &message.body
                && body.kind == AttachmentKind::CodeOutput
                && let Some(code) = last_code
            {
                self.group[at] = code;
                self.outputs.entry(code).or_default().push(at);
                self.code.insert(at, code);
            }
        }
    }

    /// Puts results into the group of their calls. Some providers reuse call ids in every answer, so the last call with
    /// an id counts.
    fn group_calls(&mut self) {
        let mut last_callers: HashMap<String, usize> = HashMap::new();
        for at in 0..self.pairing.len() {
            for call in &self.pairing[at].calls {
                last_callers.insert(call.clone(), at);
            }
            for call in self.pairing[at].results.clone() {
                if let Some(caller) = last_callers.get(&call).copied() {
                    self.group[at] = self.group[caller];
                    let results = self.results.entry((caller, call.clone())).or_default();
                    results.push(at);
                    self.callers.insert((at, call), caller);
                }
            }
        }
    }

    /// Returns the positions of the messages with an id.
    pub(super) fn positions_of(&self, id: &MessageId) -> &[usize] {
        self.positions.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the position of the message with the call that a result answers.
    pub(super) fn caller(&self, result: usize, call: &str) -> Option<usize> {
        self.callers.get(&(result, call.to_string())).copied()
    }

    /// Returns the positions of the messages with the results of a call.
    pub(super) fn results(&self, caller: usize, call: &str) -> &[usize] {
        self.results
            .get(&(caller, call.to_string()))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the position of the code that an output belongs to.
    pub(super) fn code_of(&self, outputs: usize) -> Option<usize> {
        self.code.get(&outputs).copied()
    }

    /// Returns the positions of the outputs of code.
    fn outputs_of(&self, code: usize) -> &[usize] {
        self.outputs.get(&code).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the message at `at` directly completes the one at `before`: it holds results of its calls, or is
    /// the output of its code.
    pub(super) fn completes(&self, at: usize, before: usize) -> bool {
        self.outputs_of(before).binary_search(&at).is_ok()
            || self.pairing[at]
                .results
                .iter()
                .any(|call| self.caller(at, call) == Some(before))
    }
}
