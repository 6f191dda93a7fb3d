//! Requests in, messages out: from one JSON value, or from one on each line.

use std::marker::PhantomData;

use analects_core::{Body, Message, Other, Problem, Raw, RawMap, SessionId};

use super::difference::same;
use super::{FOREIGN, Facts, ITEM, Shape, Wire, item_id, verbatim_key};
use crate::chatmd::session_json::Fields;
use crate::frame::{LINE_LIMIT, LineOf, Lines, Read, Reader, Whole};
use crate::msgfile::session_of;

/// Reads a file of requests.
pub(crate) struct RequestReader<W> {
    file: File,
    parts: Parts<W>,
}

enum File {
    /// It is not clear yet whether there is one value a line: the bytes after the first blanks, and how many of
    /// them were searched for a line end.
    Undecided(Vec<u8>, usize),
    Lines(Lines),
    Whole(Whole),
    /// It is no JSON; what comes of it is let go.
    Other,
}

impl<W: Wire> RequestReader<W> {
    pub(crate) fn new(name: &str) -> RequestReader<W> {
        let (conversations, open, silent, style) = (0, None, None, PhantomData);
        let parts = Parts {
            name: name.to_string(),
            conversations,
            open,
            silent,
            style,
        };
        RequestReader {
            file: File::Undecided(Vec::new(), 0),
            parts,
        }
    }

    /// Decides as soon as the first line is complete: an object there, and nothing else, starts a file of
    /// lines.
    fn decide(&mut self, is_end: bool, out: &mut Read) {
        let File::Undecided(bytes, searched) = &mut self.file else {
            return;
        };
        let start = text_start(bytes);
        if bytes.get(start).is_some_and(|byte| !b"{[".contains(byte)) {
            self.file = File::Other;
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
            true => File::Lines(Lines::default()),
            false => File::Whole(Whole::default()),
        };
        self.pass(&bytes, out);
    }

    fn pass(&mut self, bytes: &[u8], out: &mut Read) {
        match &mut self.file {
            File::Undecided(kept, _) => {
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
            File::Lines(lines) => lines.feed(bytes, &mut |line| self.parts.line(line, out)),
            File::Whole(whole) => whole.feed(bytes),
            File::Other => {}
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

impl<W: Wire> Reader for RequestReader<W> {
    fn feed(&mut self, bytes: &[u8], out: &mut Read) {
        self.pass(bytes, out);
        self.decide(false, out);
    }

    fn finish(mut self: Box<Self>, out: &mut Read) {
        self.decide(true, out);
        let mut parts = self.parts;
        match self.file {
            File::Undecided(..) | File::Other => {}
            File::Lines(mut lines) => lines.finish(&mut |line| parts.line(line, out)),
            File::Whole(whole) => {
                if let Some(bytes) = whole.finish(out) {
                    parts.whole(&bytes[text_start(&bytes)..], out);
                }
            }
        }
    }
}

/// A file, part by part.
struct Parts<W> {
    name: String,
    conversations: usize,
    /// The conversation whose messages stand on lines of their own.
    open: Option<Chain>,
    /// The first conversation, if nothing was said in it. Unless there are others, that says nothing.
    silent: Option<Chain>,
    style: PhantomData<W>,
}

/// A conversation whose messages come one after the other.
struct Chain {
    session: SessionId,
    last: Option<Message>,
    ordinal: usize,
}

impl<W: Wire> Parts<W> {
    /// A file that is one JSON value.
    fn whole(&mut self, bytes: &[u8], out: &mut Read) {
        let text = String::from_utf8_lossy(bytes);
        let raw = match Raw::parse(&text) {
            Ok(raw) => raw,
            Err(error) => {
                let is_lines =
                    bytes.starts_with(b"{") && memchr::memmem::find(bytes, b"\n{").is_some();
                if is_lines && !text.contains("\n ") {
                    // One a line, of which the first is damaged.
                    let mut lines = Lines::default();
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
                    .for_each(|item| self.value(item, Some(Shape::List), out));
            }
            Some(items) => {
                let facts = Facts {
                    shape: Some(Shape::Array),
                    fields: RawMap::new(),
                };
                self.conversation(facts, None, &items, out);
            }
            None if is_message(&raw) => self.message_line(&raw, out),
            None => self.value(&raw, None, out),
        }
    }

    fn line(&mut self, line: LineOf<'_>, out: &mut Read) {
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
    fn value(&mut self, raw: &Raw, shape: Option<Shape>, out: &mut Read) {
        self.open = None;
        let fields = raw.as_object().unwrap_or_default();
        let mut fields = Fields::of(&fields);
        let Some(items) = fields.take("messages", Raw::as_array) else {
            let text = "there is no list of messages in this";
            out.problems
                .push(Problem::error("no-messages", text).hint(HINT));
            return;
        };
        let top = W::read_top(&mut fields);
        self.conversation(
            Facts {
                shape,
                fields: fields.rest(),
            },
            top,
            &items,
            out,
        );
    }

    fn conversation(&mut self, facts: Facts, top: Option<Message>, items: &[Raw], out: &mut Read) {
        let mut chain = self.start();
        let is_empty = items.is_empty() && top.is_none() && facts == Facts::default();
        if is_empty && self.conversations == 1 {
            self.silent = Some(chain);
            return;
        }
        // Where nothing was said, it must be said that somebody was there.
        if let Some(mut silent) = self.silent.take() {
            silent.add(Facts::default().record::<W>(&silent.session), out);
        }
        if facts != Facts::default() || is_empty {
            chain.add(facts.record::<W>(&chain.session), out);
        }
        if let Some(top) = top {
            chain.number::<W>(top, out);
        }
        items.iter().for_each(|item| chain.item::<W>(item, out));
    }

    /// A line that is a message. Such lines are one conversation together.
    fn message_line(&mut self, raw: &Raw, out: &mut Read) {
        let mut chain = match self.open.take() {
            Some(chain) => chain,
            None => {
                if let Some(mut silent) = self.silent.take() {
                    silent.add(Facts::default().record::<W>(&silent.session), out);
                }
                let mut chain = self.start();
                let facts = Facts {
                    shape: Some(Shape::Lines),
                    fields: RawMap::new(),
                };
                chain.add(facts.record::<W>(&chain.session), out);
                chain
            }
        };
        chain.item::<W>(raw, out);
        self.open = Some(chain);
    }

    fn start(&mut self) -> Chain {
        self.conversations += 1;
        let session = match self.conversations {
            1 => session_of(&self.name),
            number => session_of(&format!("{}#{number}", self.name)),
        };
        Chain {
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

impl Chain {
    /// Adds a message after those before it.
    fn add(&mut self, mut message: Message, out: &mut Read) {
        message.session_id = self.session.clone();
        message.parent_id = self.last.take().map(|last| last.id);
        self.last = Some(Message::new(
            message.id.clone(),
            Body::Other(Other::default()),
        ));
        out.messages.push(message);
    }

    /// Adds a message that is named by its place.
    fn number<W: Wire>(&mut self, mut message: Message, out: &mut Read) {
        self.ordinal += 1;
        message.id = item_id::<W>(&self.session, self.ordinal);
        self.add(message, out);
    }

    fn item<W: Wire>(&mut self, raw: &Raw, out: &mut Read) {
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
pub(super) fn read_item<W: Wire>(raw: &Raw) -> Message {
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
pub(super) fn read_plain<W: Wire>(raw: &Raw) -> Option<Message> {
    let mut fields = Fields::of(&raw.as_object()?);
    let mut message = W::read(&mut fields)?;
    let rest = fields.rest();
    if !rest.is_empty() {
        message.extra.push(W::ID, rest.to_raw());
    }
    Some(message)
}
