//! The project's own formats behind the frame: message file, chat Markdown, transcript.

use analects_core::{Body, Ids, Message, Raw, SessionId, verbs};
use jiff::Timestamp;
use uuid::Uuid;

use super::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    LineSplitter, ReadMode, ReadOptions, ReadOutput, RevisionPass, StoredMessages, WholeFile,
    WriteOptions, WriteOutput,
};
use crate::Loss;
use crate::chatmd;
use crate::msgfile::{self, Cell, Document, DocumentKind, ExactWriter, ReadableWriter};
use crate::transcript::{self, read_line, read_links};

/// The message file.
#[derive(Debug)]
pub struct MessageFileFormat;

impl Format for MessageFileFormat {
    fn id(&self) -> &'static str {
        "msgfile"
    }

    fn about(&self) -> &'static str {
        "message file: Markdown with cells (*.msg.md, or *.md with a message section)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".msg.md", ".md"]
    }

    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        let is_whole = name.ends_with(".msg.md");
        let document = msgfile::decode_named(head, name);
        let is_section = document.kind() == DocumentKind::Section;
        let all = if is_whole {
            document
        } else {
            msgfile::decode(head)
        };
        let is_markdown = name.ends_with(".md") || !name.contains('.');
        match () {
            _ if is_section || all.cells().any(Cell::is_sealed) => Confidence::Yes,
            _ if is_whole && all.cells().len() > 0 => Confidence::Yes,
            // Scripts have such lines too.
            _ if is_markdown && all.cells().len() > 0 => Confidence::Maybe,
            _ if is_whole => Confidence::ByName,
            _ => Confidence::No,
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(MessageFileReader {
            whole: WholeFile::default(),
            options: options.clone(),
        }))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        if options.full {
            return Some(Box::new(ExactFileWriter::default()));
        }
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        (!options.full).then(|| Box::new(ReadableFilePass::default()) as Box<dyn FirstPass>)
    }
}

struct MessageFileReader {
    whole: WholeFile,
    options: ReadOptions,
}

impl FormatReader for MessageFileReader {
    fn feed(&mut self, bytes: &[u8], _: &mut ReadOutput) {
        self.whole.feed(bytes);
    }

    fn finish(self: Box<Self>, out: &mut ReadOutput) {
        let name = &self.options.name;
        let Some(bytes) = self.whole.finish(out) else {
            return;
        };
        let mut document = msgfile::decode_named(bytes, name);
        if document.kind() == DocumentKind::Plain {
            // Somebody said that it is one, or its cells do.
            document = msgfile::decode(document.into_source());
        }
        let session = msgfile::session_of(name);
        let decoded = match &self.options.stored_messages {
            Some(StoredMessages(known)) => {
                msgfile::messages_with_known(&document, &session, &**known)
            }
            None => msgfile::messages(&document, &session),
        };
        out.problems.extend(document.problems());
        out.problems.extend(decoded.problems);
        out.losses.extend(beside_messages(&document));
        keep(decoded.messages, self.options.full, out);
    }
}

/// What a message file says and messages have no place for.
fn beside_messages(document: &Document) -> Vec<Loss> {
    let mut losses = Vec::new();
    let mut lose = |what: String, why: &str| losses.push(Loss::of_session(what, why));
    let front = document.frontmatter();
    let no_place = "only a message file has a place for it";
    for (what, is_there) in [
        ("title", front.title.is_some()),
        ("default_agent", front.default_agent.is_some()),
        (
            "preamble",
            !document
                .preamble()
                .of(document.source())
                .trim_ascii()
                .is_empty(),
        ),
    ] {
        if is_there {
            lose(what.to_string(), no_place);
        }
    }
    for agent in document.agents() {
        lose(format!("agent {}", agent.name), no_place);
    }
    for cell in document.cells() {
        if cell.role().is_user() && !cell.title().is_empty() {
            lose(format!("title of cell {}", cell.name()), no_place);
        }
    }
    losses
}

/// Writes a message file that holds everything, as the messages come.
#[derive(Default)]
struct ExactFileWriter(Option<ExactWriter<'static>>);

impl FormatWriter for ExactFileWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let session = &message.session_id;
        let writer = self
            .0
            .get_or_insert_with(|| ExactWriter::new(session, DerivedIds::new(session)));
        writer.push(message, &mut out.bytes, &mut out.tail);
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        if let Some(writer) = self.0 {
            writer.finish(&mut out.bytes, &mut out.tail);
        }
    }
}

/// The survey of a message file for people.
#[derive(Default)]
struct ReadableFilePass {
    session: Option<SessionId>,
    survey: verbs::Survey,
}

impl FirstPass for ReadableFilePass {
    fn meet(&mut self, message: &Message) {
        self.session
            .get_or_insert_with(|| message.session_id.clone());
        self.survey.meet(message);
    }

    fn writer(self: Box<Self>) -> Box<dyn FormatWriter> {
        let ids = DerivedIds::new(&self.session.unwrap_or_default());
        Box::new(ReadableFileWriter(ReadableWriter::new(
            self.survey.finish(),
            ids,
        )))
    }
}

struct ReadableFileWriter(ReadableWriter<'static>);

impl FormatWriter for ReadableFileWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        self.0.push(message, &mut out.bytes);
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        out.left_behind = self.0.finish(&mut out.bytes);
    }
}

/// Names that follow from the conversation's, so that the same input gives the same file.
struct DerivedIds {
    session: SessionId,
    count: u64,
}

impl DerivedIds {
    fn new(session: &SessionId) -> DerivedIds {
        DerivedIds {
            session: session.clone(),
            count: 0,
        }
    }

    fn next(&mut self) -> Uuid {
        self.count += 1;
        let name = format!("{} {}", &*self.session, self.count);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
    }
}

impl Ids for DerivedIds {
    fn uuid(&mut self, _: Timestamp) -> String {
        self.next().to_string()
    }

    fn nonce(&mut self) -> String {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let bits = self.next().as_u128();
        let digit = |at: u32| DIGITS[(bits >> (at * 5) & 31) as usize] as char;
        // A name needs a letter, so that it is not taken for a number.
        std::iter::once('k').chain((0..7).map(digit)).collect()
    }
}

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
        match () {
            _ if chatmd::is_chat_markdown(head) => Confidence::Yes,
            _ if name.ends_with(".chat.md") => Confidence::ByName,
            _ => Confidence::No,
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(ChatMarkdownReader {
            whole: WholeFile::default(),
            options: options.clone(),
        }))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        let options = options.clone();
        Some(RevisionPass::boxed(ChatMarkdownWriter {
            messages: Vec::new(),
            options,
        }))
    }
}

struct ChatMarkdownReader {
    whole: WholeFile,
    options: ReadOptions,
}

impl FormatReader for ChatMarkdownReader {
    fn feed(&mut self, bytes: &[u8], _: &mut ReadOutput) {
        self.whole.feed(bytes);
    }

    fn finish(self: Box<Self>, out: &mut ReadOutput) {
        let Some(bytes) = self.whole.finish(out) else {
            return;
        };
        let (document, zone) = (chatmd::decode(bytes), &self.options.zone);
        let fallback = msgfile::session_of(&self.options.name);
        let decoded = chatmd::messages_in(&document, &fallback, zone);
        out.problems.extend(document.problems());
        let session = document.session_in(zone);
        let id = session.id.clone().map_or(fallback, SessionId::from);
        let messages = chatmd::with_session_info(&session, &id, decoded.messages);
        keep(messages, self.options.full, out);
    }
}

struct ChatMarkdownWriter {
    messages: Vec<Message>,
    options: WriteOptions,
}

impl FormatWriter for ChatMarkdownWriter {
    fn push(&mut self, message: &Message, _: &mut WriteOutput) {
        self.messages.push(message.clone());
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        let (session, messages) = chatmd::split_session_info(self.messages);
        let WriteOptions { dialect, zone, .. } = &self.options;
        let (text, losses) = chatmd::encode_in(&messages, &session, *dialect, zone);
        out.bytes.extend(text.into_bytes());
        out.losses.extend(losses);
    }
}

/// The transcript.
#[derive(Debug)]
pub struct TranscriptFormat;

impl Format for TranscriptFormat {
    fn id(&self) -> &'static str {
        "transcript"
    }

    fn about(&self) -> &'static str {
        "transcript: one message of the model a line, as JSON (*.jsonl)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".jsonl"]
    }

    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        let head = FileHead::new(head);
        if head.starts_with("{\"v\":") {
            return Confidence::Yes;
        }
        let first = head.first_object();
        let is_foreign = first.as_ref().is_some_and(|fields| {
            FOREIGN.iter().any(|key| fields.get(key).is_some()) || fields.get("type").is_none()
        });
        let is_ours = first.is_some_and(|fields| {
            let kind = fields.get("type").and_then(Raw::as_string);
            kind.is_some_and(|kind| KINDS.contains(&kind.as_str()))
        });
        match () {
            _ if is_foreign => Confidence::No,
            _ if is_ours => Confidence::Maybe,
            _ if name.ends_with(".jsonl") => Confidence::ByName,
            _ => Confidence::No,
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        let ReadOptions {
            full,
            is_first_pass,
            ..
        } = *options;
        Some(Box::new(TranscriptReader {
            lines: LineSplitter::default(),
            full,
            is_first_pass,
        }))
    }

    fn read_mode(&self) -> ReadMode {
        ReadMode::Revisions
    }

    fn writer(&self, _: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        Some(Box::new(TranscriptWriter))
    }
}

/// What the records of a transcript are called.
const KINDS: [&str; 13] = [
    "system",
    "user",
    "assistant",
    "tool_use",
    "tool_result",
    "progress",
    "attachment",
    "notification",
    "summary",
    "compact_boundary",
    "tombstone",
    "revision",
    "state",
];

/// Fields that records of other programs have and ours do not.
const FOREIGN: [&str; 5] = ["sessionId", "message", "timestamp", "payload", "uuid"];

struct TranscriptReader {
    lines: LineSplitter,
    full: bool,
    is_first_pass: bool,
}

impl FormatReader for TranscriptReader {
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        let TranscriptReader {
            full,
            is_first_pass,
            ..
        } = *self;
        self.lines.feed(bytes, &mut |line| {
            read_record(line, full, is_first_pass, out)
        });
    }

    fn finish(mut self: Box<Self>, out: &mut ReadOutput) {
        let TranscriptReader {
            full,
            is_first_pass,
            ..
        } = *self;
        self.lines
            .finish(&mut |line| read_record(line, full, is_first_pass, out));
    }
}

fn read_record(line: super::FileLine<'_>, full: bool, is_first_pass: bool, out: &mut ReadOutput) {
    let Some(bytes) = line.bytes else {
        out.problems.push(line.too_long());
        out.messages
            .extend(transcript::placeholder(line.beginning, line.length));
        return;
    };
    if is_first_pass && let Some(message) = read_links(bytes) {
        return keep(vec![message], full, out);
    }
    let read = read_line(bytes);
    out.problems
        .extend(read.problems.into_iter().map(|problem| line.place(problem)));
    keep(read.messages, full, out);
}

/// Keeps messages, without progress unless all is wanted.
fn keep(messages: Vec<Message>, full: bool, out: &mut ReadOutput) {
    for message in messages {
        if !full && matches!(message.body, Body::Progress(_)) {
            out.left_out += 1;
        } else {
            out.messages.push(message);
        }
    }
}

struct TranscriptWriter;

impl FormatWriter for TranscriptWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        if message.unknown.get("crc").is_some() {
            let why = "each line of a transcript has a checksum of its own under this name";
            out.losses.push(Loss::of(&message.id, "crc", why));
        }
        out.bytes.extend(transcript::encode(message).into_bytes());
    }

    fn finish(self: Box<Self>, _: &mut WriteOutput) {}
}

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
        let is_item = head.has("type", "message")
            || head.has("type", "seperator")
            || head.has("type", "separator");
        match () {
            _ if head.starts_with("{") && head.has_value("items", "[") && is_item => {
                Confidence::Yes
            }
            _ if head.starts_with("{") && head.has_value("items", "[") => Confidence::Maybe,
            _ if name.ends_with(".chat.json") => Confidence::ByName,
            _ => Confidence::No,
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(ChatSessionReader {
            whole: WholeFile::default(),
            options: options.clone(),
        }))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, _: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        Some(RevisionPass::boxed(ChatSessionWriter {
            messages: Vec::new(),
        }))
    }
}

struct ChatSessionReader {
    whole: WholeFile,
    options: ReadOptions,
}

impl FormatReader for ChatSessionReader {
    fn feed(&mut self, bytes: &[u8], _: &mut ReadOutput) {
        self.whole.feed(bytes);
    }

    fn finish(self: Box<Self>, out: &mut ReadOutput) {
        let Some(bytes) = self.whole.finish(out) else {
            return;
        };
        let name = msgfile::session_of(&self.options.name);
        let (session, decoded) = chatmd::session_json::decode_named(&bytes, &name);
        out.problems.extend(decoded.problems);
        let id = session.id.clone().map_or(name, SessionId::from);
        let messages = chatmd::with_session_info(&session, &id, decoded.messages);
        keep(messages, self.options.full, out);
    }
}

struct ChatSessionWriter {
    messages: Vec<Message>,
}

impl FormatWriter for ChatSessionWriter {
    fn push(&mut self, message: &Message, _: &mut WriteOutput) {
        self.messages.push(message.clone());
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        let (session, messages) = chatmd::split_session_info(self.messages);
        let (text, losses) = chatmd::session_json::encode(&messages, &session);
        out.bytes.extend(text.into_bytes());
        out.losses.extend(losses);
    }
}
