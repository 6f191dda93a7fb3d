//! The chat plugin's own JSON as a format that conversations are converted from and to.

use analects_core::{Message, SessionId};

use super::buffer::WholeFileReader;
use super::conversion::CollectingWriter;
use super::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    ReadOptions, ReadOutput, RevisionPass, WriteOptions, WriteOutput,
};
use crate::chatmd::{self, TakenSession, session_json};
use crate::msgfile;

/// The chat plugin's own JSON.
#[derive(Debug)]
pub struct ChatSessionFormat;

impl Format for ChatSessionFormat {
    fn id(&self) -> &'static str {
        "chat-session"
    }

    fn about(&self) -> &'static str {
        "the chat plugin's own JSON: an object with items"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".chat.json", ".json"]
    }

    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        let head = FileHead::new(head);
        if head.starts_with("{") && head.has_value("items", "[") {
            let types = ["message", "seperator", "separator"];
            let has_items = types.iter().any(|name| head.has("type", name));
            return if has_items {
                Confidence::Yes
            } else {
                Confidence::Maybe
            };
        }
        if name.ends_with(".chat.json") {
            Confidence::ByName
        } else {
            Confidence::No
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(WholeFileReader::boxed(options, read_file))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        let writer = CollectingWriter::new(options, write_file);
        Some(RevisionPass::boxed(writer))
    }
}

/// Reads a whole file. The facts about the conversation become its first message.
fn read_file(bytes: Vec<u8>, options: &ReadOptions, out: &mut ReadOutput) {
    let derived = msgfile::session_of(&options.name);
    let (session, decoded) = session_json::decode_named(&bytes, &derived);
    out.problems.extend(decoded.problems);
    let id = session.id.clone().map_or(derived, SessionId::from);
    let messages = chatmd::with_session_info(&session, &id, decoded.messages);
    out.add_messages(messages, options.full);
}

/// Writes a whole conversation.
fn write_file(messages: Vec<Message>, _: &WriteOptions, out: &mut WriteOutput) {
    let TakenSession {
        session,
        messages,
        losses,
    } = TakenSession::of(messages);
    out.losses.extend(losses);
    let (text, losses) = session_json::encode(&messages, &session);
    out.bytes.extend(text.into_bytes());
    out.losses.extend(losses);
}
