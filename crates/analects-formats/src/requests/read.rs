//! Reads requests: from one JSON value, or from one value per line.

use std::marker::PhantomData;

use analects_core::{Body, Message, MessageId, Other, Problem, Raw, RawMap, SessionId};

use super::same::same;
use super::write::write_plain;
use super::{
    FOREIGN_FIELD, FOREIGN_TYPE, FileShape, RequestApi, RequestInfo, message_id, verbatim_key,
};
use crate::chatmd::session_json::FieldReader;
use crate::convert::{FileLine, FormatReader, LINE_LIMIT, LineSplitter, ReadOutput, WholeFile};
use crate::msgfile::session_of;

/// The hint for files without messages.
const HINT: &str = "expected {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}]}, or one such object a line";

/// Reads a file of requests.
pub(crate) struct RequestReader<A> {
    input: RequestInput,
    parser: RequestParser<A>,
}

/// The bytes that are not parsed yet.
enum RequestInput {
    /// It is not clear yet whether there is one value per line.
    Undecided {
        bytes: Vec<u8>,
        /// How many bytes were searched for a line end.
        searched: usize,
    },
    /// One value per line.
    Lines(LineSplitter),
    /// One value.
    Whole(WholeFile),
    /// The file is not JSON and is ignored.
    Ignored,
}

impl<A: RequestApi> RequestReader<A> {
    /// Creates a reader. The conversations get ids that are derived from the file's name.
    pub(crate) fn new(name: &str) -> RequestReader<A> {
        RequestReader {
            input: RequestInput::Undecided {
                bytes: Vec::new(),
                searched: 0,
            },
            parser: RequestParser {
                name: name.to_string(),
                conversations: 0,
                open: None,
                empty: None,
                api: PhantomData,
            },
        }
    }

    /// Decides how to read the file, once the first line is complete. If the line is one object, there is one per line.
    fn decide(&mut self, is_end: bool, out: &mut ReadOutput) {
        let RequestInput::Undecided { bytes, searched } = &mut self.input else {
            return;
        };
        let start = text_start(bytes);
        if bytes.get(start).is_some_and(|byte| !b"{[".contains(byte)) {
            self.input = RequestInput::Ignored;
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
        let has_lines = end.is_some_and(|end| is_object(&bytes[start..end]));
        let bytes = std::mem::take(bytes);
        self.input = if has_lines {
            RequestInput::Lines(LineSplitter::default())
        } else {
            RequestInput::Whole(WholeFile::default())
        };
        self.push(&bytes, out);
    }

    /// Passes a chunk on, or keeps it until it is clear how to read the file.
    fn push(&mut self, chunk: &[u8], out: &mut ReadOutput) {
        match &mut self.input {
            RequestInput::Undecided { bytes, .. } => {
                bytes.extend_from_slice(chunk);
                // Drop leading white space, of which there may be any amount.
                if text_start(bytes) == bytes.len() {
                    bytes.truncate(mark_length(bytes));
                }
            }
            RequestInput::Lines(lines) => {
                lines.feed(chunk, &mut |line| self.parser.read_line(line, out));
            }
            RequestInput::Whole(whole) => whole.feed(chunk),
            RequestInput::Ignored => {}
        }
    }
}

/// Returns the length of the byte-order mark.
fn mark_length(bytes: &[u8]) -> usize {
    let mark = "\u{feff}".as_bytes();
    if bytes.starts_with(mark) {
        mark.len()
    } else {
        0
    }
}

/// Returns where the text starts, after a byte-order mark and white space.
fn text_start(bytes: &[u8]) -> usize {
    let mark = mark_length(bytes);
    let rest = bytes[mark..].iter();
    mark + rest.take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns whether a line is one complete JSON object.
fn is_object(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| RawMap::parse(line).is_ok())
}

impl<A: RequestApi> FormatReader for RequestReader<A> {
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        self.push(bytes, out);
        self.decide(false, out);
    }

    fn finish(mut self: Box<Self>, out: &mut ReadOutput) {
        self.decide(true, out);
        let mut parser = self.parser;
        match self.input {
            RequestInput::Undecided { .. } | RequestInput::Ignored => {}
            RequestInput::Lines(mut lines) => {
                lines.finish(&mut |line| parser.read_line(line, out));
            }
            RequestInput::Whole(whole) => {
                if let Some(bytes) = whole.finish(out) {
                    parser.read_file(&bytes[text_start(&bytes)..], out);
                }
            }
        }
    }
}

/// Turns JSON values into conversations.
struct RequestParser<A> {
    /// The file's name.
    name: String,
    /// How many conversations were started.
    conversations: usize,
    /// The conversation whose messages are on lines of their own.
    open: Option<MessageSequence>,
    /// The first conversation, if it is empty. It only matters if there are others.
    empty: Option<MessageSequence>,
    api: PhantomData<A>,
}

/// A conversation whose messages follow one another.
struct MessageSequence {
    /// Its id, derived from the file's name and its position.
    session: SessionId,
    /// The id of the last message, which the next one follows.
    last: Option<MessageId>,
    /// The number of messages so far, without the request's information.
    count: usize,
}

impl<A: RequestApi> RequestParser<A> {
    /// Reads a file that is one JSON value.
    fn read_file(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        let text = String::from_utf8_lossy(bytes);
        let raw = match Raw::parse(&text) {
            Ok(raw) => raw,
            Err(_) if looks_like_lines(&text) => return self.read_lines(bytes, out),
            Err(error) => {
                let text = format!("this cannot be read: {error}");
                let problem = Problem::error("no-messages", text).hint(HINT);
                out.problems.push(problem);
                return;
            }
        };
        if std::str::from_utf8(bytes).is_err() {
            out.problems
                .push(not_utf8("this file holds bytes that are not UTF-8"));
        }
        match raw.as_array() {
            Some(items) if items.iter().any(is_request) => {
                for item in &items {
                    self.read_request(item, Some(FileShape::List), out);
                }
            }
            Some(items) => {
                let info = RequestInfo::with_shape(FileShape::Array);
                self.add_conversation(&info, None, &items, out);
            }
            None => self.read_object(&raw, out),
        }
    }

    /// Reads a file with one value per line whose first line is damaged.
    fn read_lines(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        let mut lines = LineSplitter::default();
        lines.feed(bytes, &mut |line| self.read_line(line, out));
        lines.finish(&mut |line| self.read_line(line, out));
    }

    /// Reads one line. Its problems get the line's number.
    fn read_line(&mut self, line: FileLine<'_>, out: &mut ReadOutput) {
        let Some(bytes) = line.bytes else {
            out.problems.push(line.too_long());
            return;
        };
        let text = String::from_utf8_lossy(bytes[text_start(bytes)..].trim_ascii_end());
        if text.is_empty() {
            return;
        }
        let first_problem = out.problems.len();
        if std::str::from_utf8(bytes).is_err() {
            out.problems
                .push(not_utf8("this line holds bytes that are not UTF-8"));
        }
        match Raw::parse(&text) {
            Ok(raw) => self.read_object(&raw, out),
            Err(error) => {
                let text = format!("this line is no conversation: {error}");
                let hint = "the line is left out; every other line is read";
                let problem = Problem::error("unreadable-line", text).hint(hint);
                out.problems.push(problem);
            }
        }
        let problems = out.problems.split_off(first_problem);
        for problem in problems {
            out.problems.push(line.locate(problem));
        }
    }

    /// Reads an object: a message, or a request.
    fn read_object(&mut self, raw: &Raw, out: &mut ReadOutput) {
        if is_message(raw) {
            self.read_message_line(raw, out);
        } else {
            self.read_request(raw, None, out);
        }
    }

    /// Reads an object with messages.
    fn read_request(&mut self, raw: &Raw, shape: Option<FileShape>, out: &mut ReadOutput) {
        self.open = None;
        let mut fields = FieldReader::of(&raw.as_object().unwrap_or_default());
        let Some(items) = fields.take("messages", Raw::as_array) else {
            let text = "there is no list of messages in this";
            let problem = Problem::error("no-messages", text).hint(HINT);
            out.problems.push(problem);
            return;
        };
        let system = A::read_system(&mut fields);
        let info = RequestInfo {
            shape,
            fields: fields.rest(),
        };
        self.add_conversation(&info, system, &items, out);
    }

    /// Adds a conversation with all its messages.
    fn add_conversation(
        &mut self,
        info: &RequestInfo,
        system: Option<Message>,
        items: &[Raw],
        out: &mut ReadOutput,
    ) {
        let mut sequence = self.start_sequence();
        let has_info = *info != RequestInfo::default();
        let is_empty = items.is_empty() && system.is_none() && !has_info;
        if is_empty && self.conversations == 1 {
            self.empty = Some(sequence);
            return;
        }
        self.add_empty(out);
        if has_info || is_empty {
            sequence.add_info::<A>(info, out);
        }
        if let Some(system) = system {
            sequence.add_numbered::<A>(system, out);
        }
        for item in items {
            sequence.read_item::<A>(item, out);
        }
    }

    /// Adds the information of a first, empty conversation. Otherwise it would get lost beside the others.
    fn add_empty(&mut self, out: &mut ReadOutput) {
        if let Some(mut empty) = self.empty.take() {
            empty.add_info::<A>(&RequestInfo::default(), out);
        }
    }

    /// Reads a line that is a message. Such lines form one conversation.
    fn read_message_line(&mut self, raw: &Raw, out: &mut ReadOutput) {
        let mut sequence = match self.open.take() {
            Some(sequence) => sequence,
            None => {
                self.add_empty(out);
                let mut sequence = self.start_sequence();
                let info = RequestInfo::with_shape(FileShape::Lines);
                sequence.add_info::<A>(&info, out);
                sequence
            }
        };
        sequence.read_item::<A>(raw, out);
        self.open = Some(sequence);
    }

    /// Starts the next conversation. All but the first have their number in the derived id.
    fn start_sequence(&mut self) -> MessageSequence {
        self.conversations += 1;
        let session = match self.conversations {
            1 => session_of(&self.name),
            number => session_of(&format!("{}#{number}", self.name)),
        };
        MessageSequence {
            session,
            last: None,
            count: 0,
        }
    }
}

/// The problem of bytes that are not UTF-8.
fn not_utf8(text: &str) -> Problem {
    Problem::error("not-utf8", text).hint("they are read as U+FFFD")
}

/// Returns whether a text that is not JSON seems to have one object per line.
fn looks_like_lines(text: &str) -> bool {
    text.starts_with('{') && text.contains("\n{") && !text.contains("\n ")
}

/// Returns whether a value is an object with messages.
fn is_request(raw: &Raw) -> bool {
    let fields = raw.as_object();
    fields.is_some_and(|fields| fields.get("messages").is_some())
}

/// Returns whether a value is an object with a role, and not a request.
fn is_message(raw: &Raw) -> bool {
    let fields = raw.as_object();
    fields.is_some_and(|fields| fields.get("role").is_some() && fields.get("messages").is_none())
}

impl MessageSequence {
    /// Adds a message that follows the last one.
    fn add(&mut self, mut message: Message, out: &mut ReadOutput) {
        message.session_id = self.session.clone();
        message.parent_id = self.last.replace(message.id.clone());
        out.messages.push(message);
    }

    /// Adds what the request says apart from its messages.
    fn add_info<A: RequestApi>(&mut self, info: &RequestInfo, out: &mut ReadOutput) {
        let message = info.to_message::<A>(&self.session);
        self.add(message, out);
    }

    /// Adds a message with an id that is derived from its position.
    fn add_numbered<A: RequestApi>(&mut self, mut message: Message, out: &mut ReadOutput) {
        self.count += 1;
        message.id = message_id::<A>(&self.session, self.count);
        self.add(message, out);
    }

    /// Reads a message of the API and adds it. An unknown role is reported.
    fn read_item<A: RequestApi>(&mut self, raw: &Raw, out: &mut ReadOutput) {
        let message = read_item::<A>(raw);
        if matches!(message.body, Body::Other(_)) {
            let number = self.count + 1;
            let text = format!("message {number} has no role that is known; it is kept");
            let problem = Problem::warning("unknown-role", text);
            out.problems
                .push(problem.hint("expected user, assistant, system or tool"));
        }
        self.add_numbered::<A>(message, out);
    }
}

/// Reads a message of the API, without an id. It can always be written again as it was.
pub(super) fn read_item<A: RequestApi>(raw: &Raw) -> Message {
    let Some(mut message) = read_plain::<A>(raw) else {
        return foreign_message(raw);
    };
    if !is_written_back::<A>(&message, raw) {
        message.extra.push(&verbatim_key::<A>(), raw.clone());
    }
    message
}

/// Wraps a message with an unknown role.
fn foreign_message(raw: &Raw) -> Message {
    let body = Body::Other(Other {
        type_name: Some(FOREIGN_TYPE.to_string()),
    });
    let mut message = Message::new("", body);
    message.unknown.push(FOREIGN_FIELD, raw.clone());
    message
}

/// Returns whether the fields of a message give the same value again.
fn is_written_back<A: RequestApi>(message: &Message, raw: &Raw) -> bool {
    let written = write_plain::<A>(message);
    let [one] = written.as_slice() else {
        return false;
    };
    // With a repeated key, the same value can still be read differently.
    same(one, raw) && read_plain::<A>(one).as_ref() == Some(message)
}

/// Reads a message field by field. Unknown fields go to `extra`. `None` for an unknown role.
pub(super) fn read_plain<A: RequestApi>(raw: &Raw) -> Option<Message> {
    let mut fields = FieldReader::of(&raw.as_object()?);
    let mut message = A::read(&mut fields)?;
    let rest = fields.rest();
    if !rest.is_empty() {
        message.extra.push(A::ID, rest.to_raw());
    }
    Some(message)
}
