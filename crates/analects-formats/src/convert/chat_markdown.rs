//! Chat Markdown as a format that conversations are converted from and to.

use analects_core::{Message, SessionId};

use super::buffer::WholeFileReader;
use super::conversion::CollectingWriter;
use super::{
    BufferedWriter, Confidence, FirstPass, Format, FormatReader, FormatWriter, ReadOptions,
    ReadOutput, RevisionPass, WriteOptions, WriteOutput,
};
use crate::chatmd::{ChatMdDocument, TakenSession};
use crate::{Loss, chatmd, msgfile};

/// Chat Markdown.
#[derive(Debug)]
pub struct ChatMarkdownFormat;

impl Format for ChatMarkdownFormat {
    fn id(&self) -> &'static str {
        "chatmd"
    }

    fn about(&self) -> &'static str {
        "chat Markdown: items parted by > --- (dialects v1 and v2 for the plugin)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".chat.md", ".md"]
    }

    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        if chatmd::is_chat_markdown(head) {
            Confidence::Yes
        } else if name.ends_with(".chat.md") {
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

/// Lists the comments in the frontmatter, which no message holds.
fn comments(document: &ChatMdDocument) -> Vec<Loss> {
    let front = document.frontmatter_span();
    let front = front.map_or(&[][..], |span| span.of(document.source()));
    let front = String::from_utf8_lossy(front);
    let comments = front.lines().filter(|line| line.starts_with('#'));
    let why = "only this file has a place for it";
    comments.map(|_| Loss::of_session("comment", why)).collect()
}

/// Reads a whole file. The facts about the conversation become its first message.
fn read_file(bytes: Vec<u8>, options: &ReadOptions, out: &mut ReadOutput) {
    let document = chatmd::decode(bytes);
    let derived = msgfile::session_of(&options.name);
    let decoded = chatmd::messages_in(&document, &derived, &options.zone);
    out.problems.extend(document.problems());
    let session = document.session_in(&options.zone);
    let id = session.id.clone().map_or(derived, SessionId::from);
    let messages = chatmd::with_session_info(&session, &id, decoded.messages);
    out.losses.extend(comments(&document));
    out.add_messages(messages, options.full);
}

/// Writes a whole conversation in the chosen dialect.
fn write_file(messages: Vec<Message>, options: &WriteOptions, out: &mut WriteOutput) {
    let TakenSession {
        session,
        messages,
        losses,
    } = TakenSession::of(messages);
    out.losses.extend(losses);
    let (text, losses) = chatmd::encode_in(&messages, &session, options.dialect, &options.zone);
    out.bytes.extend(text.into_bytes());
    out.losses.extend(losses);
}
