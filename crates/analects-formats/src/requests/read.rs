//! Requests in, messages out: from one JSON value, or from one on each line.

use std::marker::PhantomData;

use analects_core::{Body, Message, Other, Problem, Raw, RawMap, SessionId};

use super::difference::same;
use super::{FOREIGN, FileShape, ITEM, RequestApi, RequestInfo, item_id, verbatim_key};
use crate::chatmd::session_json::FieldReader;
use crate::convert::{FileLine, FormatReader, LINE_LIMIT, LineSplitter, ReadOutput, WholeFile};
use crate::msgfile::session_of;

/// Reads a file of requests.
pub(crate) struct RequestReader<W> {
    file: InputForm,
    parts: RequestParser<W>,
}

enum InputForm {
    /// It is not clear yet whether there is one value a line: the bytes after the first blanks, and how many of
    /// them were searched for a line end.
    Undecided(Vec<u8>, usize),
    Lines(LineSplitter),
    Whole(WholeFile),
    /// It is no JSON; what comes of it is let go.
    Other,
}

impl<W: RequestApi> RequestReader<W> {
    pub(crate) fn new(name: &str) -> RequestReader<W> {
        let (conversations, open, silent, style) = (0, None, None, PhantomData);
        let parts = RequestParser {
            name: name.to_string(),
            conversations,
            open,
            silent,
            style,
        };
        RequestReader {
            file: InputForm::Undecided(Vec::new(), 0),
            parts,
        }
    }

    /// Decides as soon as the first line is complete: an object there, and nothing else, starts a file of
    /// lines.
    fn decide(&mut self, is_end: bool, out: &mut ReadOutput) {
        let InputForm::Undecided(bytes, searched) = &mut self.file else {
            return;
        };
        let start = text_start(bytes);
        if bytes.get(start).is_some_and(|byte| !b"{[".contains(byte)) {
            self.file = InputForm::Other;
            let problem = Problem::error("no-messages", "this is neither a JSON object nor a list");
            out.problems.push(problem.hint(HINT));
            return;
        }
        let from = start.max(*searched);
        let end = memchr::memchr(b'\n', &bytes[from..]).map(|end| from + end);
        *searched = bytes.len();
        if end.is_none() && !is_end && bytes.len() <= LINE_LIMIT {
            return;
        }
        let line = &bytes[start..end.unwrap_or(bytes.len())];
        let is_object = end.is_some()
            && std::str::from_utf8(line).is_ok_and(|line| RawMap::parse(line).is_ok());
        let bytes = std::mem::take(bytes);
        self.file = match is_object {
            true => InputForm::Lines(LineSplitter::default()),
            false => InputForm::Whole(WholeFile::default()),
        };
        self.pass(&bytes, out);
    }

    fn pass(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        match &mut self.file {
            InputForm::Undecided(kept, _) => {
                kept.extend_from_slice(bytes);
                // Blanks before the first sign say nothing, however many there are.
                let mark = if kept.starts_with("\u{feff}".as_bytes()) {
                    3
                } else {
                    0
                };
                if kept.len() > mark && kept[mark..].iter().all(u8::is_ascii_whitespace) {
                    kept.truncate(mark);
                }
            }
            InputForm::Lines(lines) => lines.feed(bytes, &mut |line| self.parts.line(line, out)),
            InputForm::Whole(whole) => whole.feed(bytes),
            InputForm::Other => {}
        }
    }
}

/// Where a file's text starts: after a byte-order mark and blanks.
fn text_start(bytes: &[u8]) -> usize {
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) {
        3
    } else {
        0
    };
    let blanks = bytes[mark..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    mark + blanks
}

impl<W: RequestApi> FormatReader for RequestReader<W> {
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        self.pass(bytes, out);
        self.decide(false, out);
    }

    fn finish(mut self: Box<Self>, out: &mut ReadOutput) {
        self.decide(true, out);
        let mut parts = self.parts;
        match self.file {
            InputForm::Undecided(..) | InputForm::Other => {}
            InputForm::Lines(mut lines) => lines.finish(&mut |line| parts.line(line, out)),
            InputForm::Whole(whole) => {
                if let Some(bytes) = whole.finish(out) {
                    parts.whole(&bytes[text_start(&bytes)..], out);
                }
            }
        }
    }
}

/// A file, part by part.
struct RequestParser<W> {
    name: String,
    conversations: usize,
    /// The conversation whose messages stand on lines of their own.
    open: Option<MessageSequence>,
    /// The first conversation, if nothing was said in it. Unless there are others, that says nothing.
    silent: Option<MessageSequence>,
    style: PhantomData<W>,
}

/// A conversation whose messages come one after the other.
struct MessageSequence {
    session: SessionId,
    last: Option<Message>,
    ordinal: usize,
}

impl<W: RequestApi> RequestParser<W> {
    /// A file that is one JSON value.
    fn whole(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        let text = String::from_utf8_lossy(bytes);
        let raw = match Raw::parse(&text) {
            Ok(raw) => raw,
            Err(error) => {
                let is_lines =
                    bytes.starts_with(b"{") && memchr::memmem::find(bytes, b"\n{").is_some();
                if is_lines && !text.contains("\n ") {
                    // One a line, of which the first is damaged.
                    let mut lines = LineSplitter::default();
                    lines.feed(bytes, &mut |line| self.line(line, out));
                    lines.finish(&mut |line| self.line(line, out));
                    return;
                }
                let problem =
                    Problem::error("no-messages", format!("this cannot be read: {error}"));
                out.problems.push(problem.hint(HINT));
                return;
            }
        };
        if std::str::from_utf8(bytes).is_err() {
            let text = "this file holds bytes that are not UTF-8";
            out.problems
                .push(Problem::error("not-utf8", text).hint("they are read as U+FFFD"));
        }
        match raw.as_array() {
            Some(items) if items.iter().any(is_conversation) => {
                items
                    .iter()
                    .for_each(|item| self.value(item, Some(FileShape::List), out));
            }
            Some(items) => {
                let facts = RequestInfo {
                    shape: Some(FileShape::Array),
                    fields: RawMap::new(),
                };
                self.conversation(facts, None, &items, out);
            }
            None if is_message(&raw) => self.message_line(&raw, out),
            None => self.value(&raw, None, out),
        }
    }

    fn line(&mut self, line: FileLine<'_>, out: &mut ReadOutput) {
        let Some(bytes) = line.bytes else {
            out.problems.push(line.too_long());
            return;
        };
        let start = text_start(bytes);
        let text = String::from_utf8_lossy(bytes[start..].trim_ascii_end());
        if text.is_empty() {
            return;
        }
        if std::str::from_utf8(bytes).is_err() {
            let text = "this line holds bytes that are not UTF-8";
            let problem = Problem::error("not-utf8", text).hint("they are read as U+FFFD");
            out.problems.push(line.place(problem));
        }
        let known = out.problems.len();
        match Raw::parse(&text) {
            Ok(raw) if is_message(&raw) => self.message_line(&raw, out),
            Ok(raw) => self.value(&raw, None, out),
            Err(error) => {
                let text = format!("this line is no conversation: {error}");
                let hint = "the line is left out; every other line is read";
                out.problems
                    .push(Problem::error("unreadable-line", text).hint(hint));
            }
        }
        let placed = out
            .problems
            .drain(known..)
            .map(|problem| line.place(problem));
        let placed: Vec<Problem> = placed.collect();
        out.problems.extend(placed);
    }

    /// One object with messages.
    fn value(&mut self, raw: &Raw, shape: Option<FileShape>, out: &mut ReadOutput) {
        self.open = None;
        let fields = raw.as_object().unwrap_or_default();
        let mut fields = FieldReader::of(&fields);
        let Some(items) = fields.take("messages", Raw::as_array) else {
            let text = "there is no list of messages in this";
            out.problems
                .push(Problem::error("no-messages", text).hint(HINT));
            return;
        };
        let top = W::read_top(&mut fields);
        self.conversation(
            RequestInfo {
                shape,
                fields: fields.rest(),
            },
            top,
            &items,
            out,
        );
    }

    fn conversation(
        &mut self,
        facts: RequestInfo,
        top: Option<Message>,
        items: &[Raw],
        out: &mut ReadOutput,
    ) {
        let mut chain = self.start();
        let is_empty = items.is_empty() && top.is_none() && facts == RequestInfo::default();
        if is_empty && self.conversations == 1 {
            self.silent = Some(chain);
            return;
        }
        // Where nothing was said, it must be said that somebody was there.
        if let Some(mut silent) = self.silent.take() {
            silent.add(RequestInfo::default().record::<W>(&silent.session), out);
        }
        if facts != RequestInfo::default() || is_empty {
            chain.add(facts.record::<W>(&chain.session), out);
        }
        if let Some(top) = top {
            chain.number::<W>(top, out);
        }
        items.iter().for_each(|item| chain.item::<W>(item, out));
    }

    /// A line that is a message. Such lines are one conversation together.
    fn message_line(&mut self, raw: &Raw, out: &mut ReadOutput) {
        let mut chain = match self.open.take() {
            Some(chain) => chain,
            None => {
                if let Some(mut silent) = self.silent.take() {
                    silent.add(RequestInfo::default().record::<W>(&silent.session), out);
                }
                let mut chain = self.start();
                let facts = RequestInfo {
                    shape: Some(FileShape::Lines),
                    fields: RawMap::new(),
                };
                chain.add(facts.record::<W>(&chain.session), out);
                chain
            }
        };
        chain.item::<W>(raw, out);
        self.open = Some(chain);
    }

    fn start(&mut self) -> MessageSequence {
        self.conversations += 1;
        let session = match self.conversations {
            1 => session_of(&self.name),
            number => session_of(&format!("{}#{number}", self.name)),
        };
        MessageSequence {
            session,
            last: None,
            ordinal: 0,
        }
    }
}

const HINT: &str = "expected {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}]}, or one such object a line";

fn is_conversation(raw: &Raw) -> bool {
    raw.as_object()
        .is_some_and(|fields| fields.get("messages").is_some())
}

fn is_message(raw: &Raw) -> bool {
    let fields = raw.as_object();
    fields.is_some_and(|fields| fields.get("role").is_some() && fields.get("messages").is_none())
}

impl MessageSequence {
    /// Adds a message after those before it.
    fn add(&mut self, mut message: Message, out: &mut ReadOutput) {
        message.session_id = self.session.clone();
        message.parent_id = self.last.take().map(|last| last.id);
        self.last = Some(Message::new(
            message.id.clone(),
            Body::Other(Other::default()),
        ));
        out.messages.push(message);
    }

    /// Adds a message that is named by its place.
    fn number<W: RequestApi>(&mut self, mut message: Message, out: &mut ReadOutput) {
        self.ordinal += 1;
        message.id = item_id::<W>(&self.session, self.ordinal);
        self.add(message, out);
    }

    fn item<W: RequestApi>(&mut self, raw: &Raw, out: &mut ReadOutput) {
        let message = read_item::<W>(raw);
        if matches!(message.body, Body::Other(_)) {
            let text = format!(
                "message {} has no role that is known; it is kept",
                self.ordinal + 1
            );
            let problem = Problem::warning("unknown-role", text);
            out.problems
                .push(problem.hint("expected user, assistant, system or tool"));
        }
        self.number::<W>(message, out);
    }
}

/// A message, without a name. Whatever it is, it can be written as it was.
pub(super) fn read_item<W: RequestApi>(raw: &Raw) -> Message {
    let Some(mut message) = read_plain::<W>(raw) else {
        let body = Body::Other(Other {
            type_name: Some(FOREIGN.to_string()),
        });
        let mut message = Message::new("", body);
        message.unknown.push(ITEM, raw.clone());
        return message;
    };
    let written = super::write::write_plain::<W>(&message);
    // Where a key is repeated, the same value may still be read otherwise.
    let reads = |one: &Raw| read_plain::<W>(one).as_ref() == Some(&message);
    if !matches!(written.as_slice(), [one] if same(one, raw) && reads(one)) {
        message.extra.push(&verbatim_key::<W>(), raw.clone());
    }
    message
}

/// A message, read field by field.
pub(super) fn read_plain<W: RequestApi>(raw: &Raw) -> Option<Message> {
    let mut fields = FieldReader::of(&raw.as_object()?);
    let mut message = W::read(&mut fields)?;
    let rest = fields.rest();
    if !rest.is_empty() {
        message.extra.push(W::ID, rest.to_raw());
    }
    Some(message)
}
