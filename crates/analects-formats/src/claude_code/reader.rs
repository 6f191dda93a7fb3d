//! A session read line by line: memory is needed for the names of its records, not for what they say.

use std::collections::{BTreeMap, HashMap};

use analects_core::{Block, Body, Content, Hint, Message, Problem, Severity};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::line::{LineValue, read_line};
use super::links::{
    ChainPosition, Continuation, IdStatus, NewRecord, RecordLinks, StatedParent, hash,
};
use super::message::{draft, value};
use super::record::{RecordFields, RecordKind};
use crate::convert::{FileLine, FormatReader, LineSplitter, ReadOptions, ReadOutput};
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
    lines: LineSplitter,
    records: RecordReader,
}

impl SessionReader {
    /// A reader for a file.
    pub fn new(options: &ReadOptions) -> SessionReader {
        let records = RecordReader {
            full: options.full,
            name: options.name.clone(),
            ..RecordReader::default()
        };
        SessionReader {
            lines: LineSplitter::default(),
            records,
        }
    }
}

impl FormatReader for SessionReader {
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        let records = &mut self.records;
        self.lines.feed(bytes, &mut |line| records.line(line, out));
    }

    fn finish(mut self: Box<Self>, out: &mut ReadOutput) {
        let records = &mut self.records;
        self.lines.finish(&mut |line| records.line(line, out));
        self.records.finish(out);
    }
}

/// What is known of the records so far.
#[derive(Debug, Default)]
struct RecordReader {
    full: bool,
    name: String,
    links: RecordLinks,
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
    open: Vec<MissingParent>,
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
struct MissingParent {
    parent: u64,
    line: usize,
    /// Whether it is beside the conversation, which then goes on all the same.
    is_beside: bool,
}

impl RecordReader {
    fn line(&mut self, line: FileLine<'_>, out: &mut ReadOutput) {
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
    fn report(&mut self, problem: Problem, out: &mut ReadOutput) {
        self.report_at(self.line, problem, out);
    }

    fn report_at(&mut self, line: usize, mut problem: Problem, out: &mut ReadOutput) {
        self.problems += 1;
        if self.problems <= MOST {
            (problem.line, problem.column) = (line, 1);
            out.problems.push(problem);
        }
    }

    fn value(&mut self, found: LineValue<'_>, out: &mut ReadOutput) {
        match found {
            LineValue::Record(fields) => self.record(fields, out),
            LineValue::Other(raw) => self.other(raw, out),
        }
    }

    /// JSON that is no record.
    fn other(&mut self, raw: &RawValue, out: &mut ReadOutput) {
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

    fn record(&mut self, fields: RecordFields<'_>, out: &mut ReadOutput) {
        self.meet_session(&fields, out);
        let uuid = fields.string("uuid");
        let print = print_of(&fields);
        let mut kind = RecordKind::of(&fields);
        let known = uuid
            .as_deref()
            .map_or(IdStatus::New, |id| self.links.known(id, print));
        if known == IdStatus::Repeated {
            kind = RecordKind::Beside;
            self.repeated += 1;
        } else if kind == RecordKind::Beside {
            self.leave(&fields.string("type").unwrap_or("no type".into()));
        }
        if kind == RecordKind::Beside {
            self.beside(fields, known, print, out);
            return;
        }
        if known == IdStatus::Other {
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
    fn beside(
        &mut self,
        fields: RecordFields<'_>,
        known: IdStatus,
        print: u32,
        out: &mut ReadOutput,
    ) {
        let uuid = fields.string("uuid");
        let parent = fields.string("parentUuid");
        let stated = stated(&fields, parent.as_deref());
        // What is repeated stays linked as it was.
        let noted = uuid.as_deref().filter(|_| known != IdStatus::Repeated);
        let place = self.links.pass(noted, print, stated);
        self.note_open(&place, parent.as_deref(), true);
        if !self.full {
            out.left_out += 1;
            return;
        }
        let id = noted.map_or_else(|| self.derived_id(), str::to_string);
        let made = draft(RecordKind::Beside, fields, &mut Vec::new());
        self.give(made.finish(id, &self.session(), place), out);
    }

    fn speech(
        &mut self,
        kind: RecordKind,
        fields: RecordFields<'_>,
        print: u32,
        out: &mut ReadOutput,
    ) {
        let uuid = fields.string("uuid").map(String::from);
        let logical = fields
            .string("logicalParentUuid")
            .filter(|_| kind == RecordKind::Boundary);
        let parent = logical.or(fields.string("parentUuid")).map(String::from);
        let mut place_of = stated(&fields, parent.as_deref());
        if let (RecordKind::Boundary, Some(id)) = (kind, &parent)
            && !self.links.has(hash(id))
        {
            // A compaction often names what is in another file, and is about what is in this one.
            place_of = StatedParent::Nothing;
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
        if kind == RecordKind::Title {
            // It is about the whole, and follows nobody.
            self.give(
                made.finish(id, &self.session(), ChainPosition::default()),
                out,
            );
            return;
        }
        let step = step(&made.message, is_meta);
        let side = is_side.then_some(agent.as_deref());
        let seeker = NewRecord {
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

    fn note_open(&mut self, place: &ChainPosition, parent: Option<&str>, is_beside: bool) {
        if place.is_open && self.open.len() < MOST {
            let parent = hash(parent.unwrap_or_default());
            self.open.push(MissingParent {
                parent,
                line: self.line,
                is_beside,
            });
        }
    }

    /// Gives a message, as soon as its session is known.
    fn give(&mut self, made: Message, out: &mut ReadOutput) {
        if self.current.is_some() {
            return self.give_complete(made, out);
        }
        self.early.push(made);
        if self.early.len() >= EARLY || self.early_bytes > EARLY_BYTES {
            self.give_early(None, out);
        }
    }

    /// Gives the messages that waited for a session.
    fn give_early(&mut self, session: Option<&str>, out: &mut ReadOutput) {
        for mut made in std::mem::take(&mut self.early) {
            if let Some(session) = session {
                made.session_id = session.into();
            }
            self.give_complete(made, out);
        }
    }

    /// Gives a message, as soon as the compaction before it has its summary.
    fn give_complete(&mut self, made: Message, out: &mut ReadOutput) {
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
    fn pair(&mut self, made: &Message, out: &mut ReadOutput) {
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

    fn answered(&mut self, call: &str, out: &mut ReadOutput) {
        if self.calls.remove(&hash(call)).is_none() {
            let text = "no call before this result waits for one";
            let problem = Problem::warning("result-without-call", text);
            self.report(problem.hint("it is kept, and not sent"), out);
        }
    }

    fn meet_session(&mut self, fields: &RecordFields<'_>, out: &mut ReadOutput) {
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

    fn finish(mut self, out: &mut ReadOutput) {
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

    fn report_open(&mut self, out: &mut ReadOutput) {
        for MissingParent {
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

    fn report_left(&mut self, out: &mut ReadOutput) {
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

fn stated<'a>(fields: &RecordFields<'_>, parent: Option<&'a str>) -> StatedParent<'a> {
    match (parent, fields.get("parentUuid")) {
        (Some(parent), _) => StatedParent::Parent(parent),
        (None, Some(_)) => StatedParent::Root,
        (None, None) => StatedParent::Nothing,
    }
}

/// How a message goes on with what it follows.
fn step(made: &Message, is_meta: bool) -> Continuation {
    let has = |is: fn(&Block) -> bool| match made.body.content() {
        Some(Content::Blocks(blocks)) => blocks.iter().any(is),
        _ => false,
    };
    match &made.body {
        Body::Assistant(_) => {
            let response = made.response_id.as_deref().map(hash);
            Continuation::Answer {
                response,
                calls: has(|block| matches!(block, Block::ToolUse(_))),
            }
        }
        Body::Attachment(_) | Body::Notification(_) => Continuation::Join,
        Body::User(_) if has(|block| matches!(block, Block::ToolResult(_))) => Continuation::Join,
        Body::User(_) if is_meta => Continuation::JoinCalls,
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
        | Body::Other(_) => Continuation::Start,
    }
}

/// What tells a record that was copied from another of the same name: when it was made, and how much it
/// says.
fn print_of(fields: &RecordFields<'_>) -> u32 {
    let time = fields.get("timestamp").map_or("", |time| time.get());
    let length = fields
        .get("message")
        .map_or(0, |message| message.get().len());
    let kind = fields.get("type").map_or("", |kind| kind.get());
    (hash(&(kind, length, time)) >> 32) as u32
}
