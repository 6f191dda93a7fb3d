//! Which messages belong together: calls and their results, code and what it printed.

use std::collections::HashMap;

use crate::{AttachmentKind, Body, Message, MessageId, Said, UserSource};

/// Which messages of a conversation belong together.
pub(super) struct Families {
    /// Where the messages of each id are: of a damaged conversation, several may have one.
    places: HashMap<MessageId, Vec<usize>>,
    /// The first message of each one's family.
    pub(super) first: Vec<usize>,
    /// The calls that each message makes, and those whose results it brings.
    pub(super) said: Vec<Said>,
    /// The message that made the call of a result, by the place of the result and the id of the call.
    callers: HashMap<(usize, String), usize>,
    /// The messages with the results of a call, by the place of the caller and the id of the call.
    results: HashMap<(usize, String), Vec<usize>>,
    /// What each piece of code printed, and the code that printed it.
    printed: HashMap<usize, Vec<usize>>,
    code: HashMap<usize, usize>,
}

impl Families {
    pub(super) fn of(messages: &[Message]) -> Families {
        let mut families = Families {
            places: HashMap::new(),
            first: (0..messages.len()).collect(),
            said: messages.iter().map(Said::of).collect(),
            callers: HashMap::new(),
            results: HashMap::new(),
            printed: HashMap::new(),
            code: HashMap::new(),
        };
        // Some providers give calls the same ids in every answer: the last one is meant.
        let mut calls: HashMap<String, usize> = HashMap::new();
        let mut code = None;
        for (at, message) in messages.iter().enumerate() {
            families
                .places
                .entry(message.id.clone())
                .or_default()
                .push(at);
            if let Body::User(body) = &message.body {
                code = (body.source == Some(UserSource::Code)).then_some(at);
            }
            if let Body::Attachment(body) = &message.body
                && body.kind == AttachmentKind::CodeOutput
                && let Some(code) = code
            {
                families.first[at] = code;
                families.printed.entry(code).or_default().push(at);
                families.code.insert(at, code);
            }
            for call in &families.said[at].calls {
                calls.insert(call.clone(), at);
            }
            for call in families.said[at].results.clone() {
                if let Some(caller) = calls.get(&call).copied() {
                    families.first[at] = families.first[caller];
                    families
                        .results
                        .entry((caller, call.clone()))
                        .or_default()
                        .push(at);
                    families.callers.insert((at, call), caller);
                }
            }
        }
        families
    }

    /// The places of the messages of an id.
    pub(super) fn places_of(&self, id: &MessageId) -> &[usize] {
        self.places.get(id).map_or(&[], Vec::as_slice)
    }

    /// The message that made the call whose result another message brings.
    pub(super) fn caller(&self, result: usize, call: &str) -> Option<usize> {
        self.callers.get(&(result, call.to_string())).copied()
    }

    /// The messages that bring the results of a call.
    pub(super) fn results(&self, caller: usize, call: &str) -> &[usize] {
        self.results
            .get(&(caller, call.to_string()))
            .map_or(&[], Vec::as_slice)
    }

    /// The code that printed a message.
    pub(super) fn code_of(&self, printed: usize) -> Option<usize> {
        self.code.get(&printed).copied()
    }

    /// What a piece of code printed.
    fn printed_by(&self, code: usize) -> &[usize] {
        self.printed.get(&code).map_or(&[], Vec::as_slice)
    }

    /// Whether a message directly completes another one: it brings results of its calls, or is what its code printed.
    pub(super) fn completes(&self, at: usize, before: usize) -> bool {
        self.printed_by(before).binary_search(&at).is_ok()
            || self.said[at]
                .results
                .iter()
                .any(|call| self.caller(at, call) == Some(before))
    }
}
