//! The summary of a single message, of which nothing else may be sent: not a compaction, which stands for many.

use analects_core::{Body, Message, MessageId, Summary};

/// A summary of one message.
pub(crate) fn of_one(message: &MessageId, text: &str) -> Message {
    let from = Some(message.clone());
    let to = Some(message.clone());
    Message::new("", Body::Summary(Summary { text: text.into(), from, to, count: Some(1) }))
}

/// The message that a summary stands for, if that is one alone, and what it says of it.
pub(crate) fn one_of(message: &Message) -> Option<(&MessageId, String)> {
    let Body::Summary(Summary { text, from: Some(from), to, .. }) = &message.body else {
        return None;
    };
    (to.as_ref() == Some(from)).then(|| (from, text.as_str().into_owned()))
}
