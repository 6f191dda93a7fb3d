//! A session read line by line: memory is needed for the names of its records, not for what they say.

use std::collections::{BTreeMap, HashMap};

use analects_core::{Block, Body, Content, Hint, Message, Problem, Severity};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::line::{Value, read_line};
use super::links::{Known, Links, Place, Seeker, Stated, Step, hash};
use super::message::{draft, value};
use super::record::{Fields, Kind};
use crate::frame::{LineOf, Lines, Read, ReadOptions, Reader};
use crate::msgfile::session_of;

/// How many problems are listed. A file of nothing but damage would fill the memory with them.
const MOST: usize = 10_000;

/// How many messages a compaction may wait for its summary, which is mostly the next one.
const WAIT: usize = 32;

/// How many messages, of lines with how many bytes, wait for the first record that names its session.
const EARLY: usize = 1_000;
const EARLY_BYTES: usize = 16 << 20;

/// Reads a session of Claude Code.
#[derive(Debug)]
pub struct SessionReader {
    lines: Lines,
    records: Records,
}

impl SessionReader {
    /// A reader for a file.
    pub fn new(options: &ReadOptions) -> SessionReader {
        let records = Records {
            full: options.full,
            name: options.name.clone(),
            ..Records::default()
        };
        SessionReader {
            lines: Lines::default(),
            records,
        }
    }
}

impl Reader for SessionReader {
    fn feed(&mut self, bytes: &[u8], out: &mut Read) {
        let records = &mut self.records;
        self.lines.feed(bytes, &mut |line| records.line(line, out));
    }

    fn finish(mut self: Box<Self>, out: &mut Read) {
        let records = &mut self.records;
        self.lines.finish(&mut |line| records.line(line, out));
        self.records.finish(out);
    }
}

/// What is known of the records so far.
#[derive(Debug, Default)]
struct Records {
    full: bool,
    name: String,
    links: Links,
    /// The session of the first record that names one, and that of the last.
    own: Option<String>,
    current: Option<String>,
    /// Messages from before that, which have a session as soon as it is known.
    early: Vec<Message>,
    early_bytes: usize,
    /// Messages from a compaction on that still lacks its summary.
    held: Vec<Message>,
    /// Calls without a result so far, and parents that were not there so far, by hash: their lines.
    calls: HashMap<u64, usize>,
    open: Vec<Open>,
    /// How many records of each type were left out.
    left: BTreeMap<String, usize>,
    repeated: usize,
    problems: usize,
    /// The current line, and the number of values in it so far.
    line: usize,
    nth: usize,
}

/// A record whose parent was not there.
#[derive(Debug)]
struct Open {
    parent: u64,
    line: usize,
    /// Whether it is beside the conversation, which then goes on all the same.
    is_beside: bool,
}

impl Records {
    fn line(&mut self, line: LineOf<'_>, out: &mut Read) {
        (self.line, self.nth) = (line.number, 0);
        let Some(bytes) = line.bytes else {
            self.report(line.too_long(), out);
            return;
        };
        if self.current.is_none() {
            self.early_bytes = self.early_bytes.saturating_add(bytes.len());
        }
        let odd = read_line(bytes, &mut |value| {
            self.value(value, out);
            self.nth += 1;
        });
        for problem in odd {
            self.report(problem, out);
        }
    }

    /// Notes what is odd about the current line.
    fn report(&mut self, problem: Problem, out: &mut Read) {
        self.report_at(self.line, problem, out);
    }

    fn report_at(&mut self, line: usize, mut problem: Problem, out: &mut Read) {
        self.problems += 1;
        if self.problems <= MOST {
            (problem.line, problem.column) = (line, 1);
            out.problems.push(problem);
        }
    }

    fn value(&mut self, found: Value<'_>, out: &mut Read) {
        match found {
            Value::Record(fields) => self.record(fields, out),
            Value::Other(raw) => self.other(raw, out),
        }
    }

    /// JSON that is no record.
    fn other(&mut self, raw: &RawValue, out: &mut Read) {
        let text = "this line is JSON, and no record";
        self.report(
            Problem::warning("not-a-record", text).hint(Hint::ConvertInFull),
            out,
        );
        self.leave("no record");
        if self.full {
            let id = self.derived_id();
            let session_id = self.session().into();
            self.give(
                Message {
                    id: id.into(),
                    session_id,
                    ..value(raw)
                },
                out,
            );
        } else {
            out.left_out += 1;
        }
    }

    fn record(&mut self, fields: Fields<'_>, out: &mut Read) {
        self.meet_session(&fields, out);
        let uuid = fields.string("uuid");
        let print = print_of(&fields);
        let mut kind = Kind::of(&fields);
        let known = uuid
            .as_deref()
            .map_or(Known::New, |id| self.links.known(id, print));
        if known == Known::Repeated {
            kind = Kind::Beside;
            self.repeated += 1;
        } else if kind == Kind::Beside {
            self.leave(&fields.string("type").unwrap_or("no type".into()));
        }
        if kind == Kind::Beside {
            self.beside(fields, known, print, out);
            return;
        }
        if known == Known::Other {
            let text = format!(
                "record {} is there twice, and not the same",
                uuid.unwrap_or_default()
            );
            let hint = "both are kept; wherever it is named, the nearest before is meant";
            self.report(
                Problem::warning("duplicate-message-id", text).hint(hint),
                out,
            );
        }
        self.speech(kind, fields, print, out);
    }

    /// A record that is no part of the conversation.
    fn beside(&mut self, fields: Fields<'_>, known: Known, print: u32, out: &mut Read) {
        let uuid = fields.string("uuid");
        let parent = fields.string("parentUuid");
        let stated = stated(&fields, parent.as_deref());
        // What is repeated stays linked as it was.
        let noted = uuid.as_deref().filter(|_| known != Known::Repeated);
        let place = self.links.pass(noted, print, stated);
        self.note_open(&place, parent.as_deref(), true);
        if !self.full {
            out.left_out += 1;
            return;
        }
        let id = noted.map_or_else(|| self.derived_id(), str::to_string);
        let made = draft(Kind::Beside, fields, &mut Vec::new());
        self.give(made.finish(id, &self.session(), place), out);
    }

    fn speech(&mut self, kind: Kind, fields: Fields<'_>, print: u32, out: &mut Read) {
        let uuid = fields.string("uuid").map(String::from);
        let logical = fields
            .string("logicalParentUuid")
            .filter(|_| kind == Kind::Boundary);
        let parent = logical.or(fields.string("parentUuid")).map(String::from);
        let mut place_of = stated(&fields, parent.as_deref());
        if let (Kind::Boundary, Some(id)) = (kind, &parent)
            && !self.links.has(hash(id))
        {
            // A compaction often names what is in another file, and is about what is in this one.
            place_of = Stated::Nothing;
        }
        let agent = fields.string("agentId").map(String::from);
        let is_side = match fields.get("isSidechain") {
            Some(flag) => flag.get() == "true",
            None => agent.is_some(),
        };
        let is_meta = fields.is_true("isMeta") || fields.get("sourceToolUseID").is_some();
        let mut odd = Vec::new();
        let made = draft(kind, fields, &mut odd);
        for problem in odd {
            self.report(problem, out);
        }
        let id = uuid.unwrap_or_else(|| self.derived_id());
        if kind == Kind::Title {
            // It is about the whole, and follows nobody.
            self.give(made.finish(id, &self.session(), Place::default()), out);
            return;
        }
        let step = step(&made.message, is_meta);
        let side = is_side.then_some(agent.as_deref());
        let seeker = Seeker {
            id: &id,
            stated: place_of,
            side,
            step,
        };
        let place = self.links.place(seeker, print);
        self.note_open(&place, parent.as_deref(), false);
        self.pair(&made.message, out);
        self.give(made.finish(id, &self.session(), place), out);
    }

    fn note_open(&mut self, place: &Place, parent: Option<&str>, is_beside: bool) {
        if place.is_open && self.open.len() < MOST {
            let parent = hash(parent.unwrap_or_default());
            self.open.push(Open {
                parent,
                line: self.line,
                is_beside,
            });
        }
    }

    /// Gives a message, as soon as its session is known.
    fn give(&mut self, made: Message, out: &mut Read) {
        if self.current.is_some() {
            return self.give_complete(made, out);
        }
        self.early.push(made);
        if self.early.len() >= EARLY || self.early_bytes > EARLY_BYTES {
            self.give_early(None, out);
        }
    }

    /// Gives the messages that waited for a session.
    fn give_early(&mut self, session: Option<&str>, out: &mut Read) {
        for mut made in std::mem::take(&mut self.early) {
            if let Some(session) = session {
                made.session_id = session.into();
            }
            self.give_complete(made, out);
        }
    }

    /// Gives a message, as soon as the compaction before it has its summary.
    fn give_complete(&mut self, made: Message, out: &mut Read) {
        let is_boundary = matches!(made.body, Body::CompactBoundary(_));
        if self.held.is_empty() && !is_boundary {
            out.messages.push(made);
            return;
        }
        if is_boundary {
            out.messages.append(&mut self.held);
        }
        self.held.push(made);
        if self.find_summary() || self.held.len() > WAIT {
            out.messages.append(&mut self.held);
        }
    }

    /// Whether the last message is the summary of the compaction that waits.
    fn find_summary(&mut self) -> bool {
        let Some((first, rest)) = self.held.split_first_mut() else {
            return false;
        };
        let Some(last) = rest.last() else {
            return false;
        };
        let is_summary = matches!(last.body, Body::Summary(_));
        if let (Body::CompactBoundary(boundary), true) = (&mut first.body, is_summary) {
            boundary.summary_id = Some(last.id.clone());
        }
        is_summary
    }

    /// Finds calls without results, and results without calls.
    fn pair(&mut self, made: &Message, out: &mut Read) {
        let Some(Content::Blocks(blocks)) = made.body.content() else {
            return;
        };
        for block in blocks {
            match block {
                Block::ToolUse(call) => {
                    self.calls.insert(hash(&*call.id), self.line);
                }
                Block::ToolResult(result) => self.answered(&result.tool_use_id, out),
                Block::Text(_)
                | Block::Image(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {}
            }
        }
    }

    fn answered(&mut self, call: &str, out: &mut Read) {
        if self.calls.remove(&hash(call)).is_none() {
            let text = "no call before this result waits for one";
            let problem = Problem::warning("result-without-call", text);
            self.report(problem.hint("it is kept, and not sent"), out);
        }
    }

    fn meet_session(&mut self, fields: &Fields<'_>, out: &mut Read) {
        let Some(session) = fields.string("sessionId") else {
            return;
        };
        if self.current.as_deref() == Some(&*session) {
            return;
        }
        if self.current.is_none() {
            self.give_early(Some(&session), out);
        }
        self.current = Some(session.clone().into_owned());
        let own = self.own.get_or_insert_with(|| session.clone().into_owned());
        if **own != *session {
            let text = format!("from here on, records are of another session: {session}");
            let hint = "it was resumed or copied; all are kept, each with its session";
            self.report(Problem::warning("foreign-session", text).hint(hint), out);
        }
    }

    /// The session of the current record, or that of the one before, or one made of the file's name, which is
    /// that of the message only if no record ever names one.
    fn session(&self) -> String {
        let made = || session_of(&self.name).to_string();
        self.current.clone().unwrap_or_else(made)
    }

    /// A name for a record that has none: that of its place.
    fn derived_id(&self) -> String {
        let name = format!("{} {} {}", self.session(), self.line, self.nth);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
    }

    fn leave(&mut self, name: &str) {
        // Types may be made up by the thousand.
        let is_room = self.left.len() < 100 || self.left.contains_key(name);
        let name = if is_room {
            name.chars().take(40).collect()
        } else {
            "other".to_string()
        };
        *self.left.entry(name).or_default() += 1;
    }

    fn finish(mut self, out: &mut Read) {
        self.give_early(None, out);
        out.messages.append(&mut self.held);
        self.report_open(out);
        self.report_left(out);
        if self.problems > MOST {
            let text = format!(
                "there are {} more problems, which are not listed",
                self.problems - MOST
            );
            out.problems.push(Problem::warning("more-problems", text));
        }
    }

    fn report_open(&mut self, out: &mut Read) {
        for Open {
            parent,
            line,
            is_beside,
        } in std::mem::take(&mut self.open)
        {
            if self.links.has(parent) {
                continue;
            }
            let text = "the record that this one follows is not in this file";
            let hint = match is_beside {
                true => "a record got lost; what comes next follows the message before it",
                false => "the conversation starts here, as far as this file knows",
            };
            self.report_at(
                line,
                Problem::warning("unknown-parent", text).hint(hint),
                out,
            );
        }
        let mut calls: Vec<usize> = std::mem::take(&mut self.calls).into_values().collect();
        calls.sort_unstable();
        for line in calls {
            let hint = "when the conversation is sent, a result that says so is added";
            let problem =
                Problem::warning("call-without-result", "a call has no result").hint(hint);
            self.report_at(line, problem, out);
        }
    }

    fn report_left(&mut self, out: &mut Read) {
        if self.repeated > 0 {
            let text = format!(
                "{} records are there more than once; each is read once",
                self.repeated
            );
            let problem = Problem::warning("repeated-records", text).with(Severity::Hint);
            out.problems.push(problem.hint(Hint::ConvertInFull));
        }
        if self.full || self.left.is_empty() {
            return;
        }
        let counts: Vec<String> = self
            .left
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let text = format!(
            "records that are no conversation were left out: {}",
            counts.join(", ")
        );
        let problem = Problem::warning("left-out", text).with(Severity::Hint);
        out.problems.push(problem.hint(Hint::ConvertInFull));
    }
}

fn stated<'a>(fields: &Fields<'_>, parent: Option<&'a str>) -> Stated<'a> {
    match (parent, fields.get("parentUuid")) {
        (Some(parent), _) => Stated::Parent(parent),
        (None, Some(_)) => Stated::Root,
        (None, None) => Stated::Nothing,
    }
}

/// How a message goes on with what it follows.
fn step(made: &Message, is_meta: bool) -> Step {
    let has = |is: fn(&Block) -> bool| match made.body.content() {
        Some(Content::Blocks(blocks)) => blocks.iter().any(is),
        _ => false,
    };
    match &made.body {
        Body::Assistant(_) => {
            let response = made.response_id.as_deref().map(hash);
            Step::Answer {
                response,
                calls: has(|block| matches!(block, Block::ToolUse(_))),
            }
        }
        Body::Attachment(_) | Body::Notification(_) => Step::Join,
        Body::User(_) if has(|block| matches!(block, Block::ToolResult(_))) => Step::Join,
        Body::User(_) if is_meta => Step::JoinCalls,
        Body::System(_)
        | Body::User(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Step::Start,
    }
}

/// What tells a record that was copied from another of the same name: when it was made, and how much it
/// says.
fn print_of(fields: &Fields<'_>) -> u32 {
    let time = fields.get("timestamp").map_or("", |time| time.get());
    let length = fields
        .get("message")
        .map_or(0, |message| message.get().len());
    let kind = fields.get("type").map_or("", |kind| kind.get());
    (hash(&(kind, length, time)) >> 32) as u32
}
