//! Reads a session line by line. Memory is needed for the ids of its records, not for their content.

use analects_core::{Block, Body, Content, Hint, Message, Problem};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::line::{LineValue, read_line};
use super::links::{
    ANY_COPY, ChainPosition, Continuation, IdStatus, NewRecord, RecordLinks, StatedParent, hash,
};
use super::message::{RecordConverter, message_of_value};
use super::queue::MessageQueue;
use super::record::{RecordFields, RecordKind, SubAgentReport};
use super::report::{MissingParent, SessionReport};
use crate::convert::{FileLine, FormatReader, LineSplitter, ReadOptions, ReadOutput};
use crate::msgfile::session_of;

/// Reads a session of Claude Code.
#[derive(Debug)]
pub struct SessionReader {
    lines: LineSplitter,
    records: RecordReader,
}

impl SessionReader {
    /// Creates a reader for one file.
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
        self.lines
            .feed(bytes, &mut |line| records.read_line(line, out));
    }

    fn finish(mut self: Box<Self>, out: &mut ReadOutput) {
        let records = &mut self.records;
        self.lines.finish(&mut |line| records.read_line(line, out));
        self.records.finish(out);
    }
}

/// Turns records into messages.
#[derive(Debug, Default)]
struct RecordReader {
    /// Whether to keep records that are not part of the conversation.
    full: bool,
    /// The file's name.
    name: String,
    /// The links of all records so far.
    links: RecordLinks,
    /// The messages that lack something which a later record has.
    queue: MessageQueue,
    /// The problems so far.
    report: SessionReport,
    /// The first session that a record names.
    first_session: Option<String>,
    /// The last session that a record names.
    session: Option<String>,
    /// The number of the current line, from 1.
    line: usize,
    /// The number of values in the current line so far.
    index: usize,
}

impl RecordReader {
    /// Reads a line, which may hold several values if it is damaged.
    fn read_line(&mut self, line: FileLine<'_>, out: &mut ReadOutput) {
        self.line = line.number;
        self.index = 0;
        let Some(bytes) = line.bytes else {
            self.add_problem(line.too_long(), out);
            return;
        };
        self.queue.count_bytes(bytes.len());
        let problems = read_line(bytes, &mut |value| {
            self.read_value(value, out);
            self.index += 1;
        });
        for problem in problems {
            self.add_problem(problem, out);
        }
    }

    /// Reports a problem of the current line.
    fn add_problem(&mut self, problem: Problem, out: &mut ReadOutput) {
        self.report.add(self.line, problem, out);
    }

    /// Reads one JSON value of a line.
    fn read_value(&mut self, value: LineValue<'_>, out: &mut ReadOutput) {
        match value {
            LineValue::Record(fields) => self.read_record(fields, out),
            LineValue::Other(raw) => self.read_other_json(raw, out),
        }
    }

    /// Reads JSON that is not a record.
    fn read_other_json(&mut self, raw: &RawValue, out: &mut ReadOutput) {
        let text = "this line is JSON, and no record";
        let problem = Problem::warning("not-a-record", text).hint(Hint::ConvertInFull);
        self.add_problem(problem, out);
        self.report.count_left_out("no record");
        if !self.full {
            out.left_out += 1;
            return;
        }
        let message = Message {
            id: self.derived_id().into(),
            session_id: self.session().into(),
            ..message_of_value(raw)
        };
        self.queue.push(message, out);
    }

    /// Reads a record. Copies of earlier records only count.
    fn read_record(&mut self, fields: RecordFields<'_>, out: &mut ReadOutput) {
        self.read_session(&fields, out);
        let id = fields.string("uuid");
        let fingerprint = fingerprint(&fields);
        let kind = RecordKind::of(&fields);
        let status = match id.as_deref() {
            Some(id) => self.links.id_status(id, fingerprint),
            None => IdStatus::New,
        };
        if status == IdStatus::Repeated {
            self.report.repeated += 1;
            self.read_beside(fields, status, fingerprint, out);
            return;
        }
        if kind == RecordKind::Beside {
            let type_name = fields.string("type").unwrap_or("no type".into());
            self.report.count_left_out(&type_name);
            self.read_beside(fields, status, fingerprint, out);
            return;
        }
        if kind == RecordKind::SubAgent {
            self.read_sub_agent(fields, status, fingerprint, out);
            return;
        }
        if status == IdStatus::Conflicting {
            let id = id.unwrap_or_default();
            let text = format!("record {id} is there twice, and not the same");
            let hint = "both are kept; wherever it is named, the nearest before is meant";
            let problem = Problem::warning("duplicate-message-id", text).hint(hint);
            self.add_problem(problem, out);
        }
        self.read_message(kind, fields, fingerprint, out);
    }

    /// Reads the progress of a sub-agent. Its message is in the side chain of the agent, where it follows the one
    /// before it. A message that has been read already, such as from its own record, is not read again.
    fn read_sub_agent(
        &mut self,
        fields: RecordFields<'_>,
        status: IdStatus,
        fingerprint: u32,
        out: &mut ReadOutput,
    ) {
        let Some(report) = SubAgentReport::of(&fields) else {
            return;
        };
        let id = report.record.string("uuid").map(String::from);
        if id.as_deref().is_some_and(|id| self.links.has(hash(id))) {
            self.report.repeated += 1;
            self.read_beside(fields, status, fingerprint, out);
            return;
        }
        self.link_beside(&fields, status, fingerprint);
        let id = id.unwrap_or_else(|| self.derived_id());
        let mut problems = Vec::new();
        let converter = RecordConverter::new(report.kind, report.record, &mut problems);
        for problem in problems {
            self.add_problem(problem, out);
        }
        let record = NewRecord {
            id: &id,
            stated: StatedParent::Missing,
            side: Some(Some(&report.agent)),
            continuation: continuation(&converter.message, false),
        };
        let position = self.links.add_message(record, ANY_COPY);
        self.report.pair_calls(&converter.message, self.line, out);
        let mut message = converter.finish(id, &self.session(), position);
        // The progress record goes on saying what the message does not, such as the call that the agent works for.
        let rest = std::mem::take(&mut message.extra).to_raw();
        let data = report.data.into_map_with("message", rest);
        message.extra =
            without_session(fields, &self.session()).into_map_with("data", data.to_raw());
        self.queue.push(message, out);
    }

    /// Reads a record that is not part of the conversation.
    fn read_beside(
        &mut self,
        fields: RecordFields<'_>,
        status: IdStatus,
        fingerprint: u32,
        out: &mut ReadOutput,
    ) {
        let position = self.link_beside(&fields, status, fingerprint);
        if !self.full {
            out.left_out += 1;
            return;
        }
        let id = fields
            .string("uuid")
            .filter(|_| status != IdStatus::Repeated);
        let id = id.map_or_else(|| self.derived_id(), String::from);
        let converter = RecordConverter::new(RecordKind::Beside, fields, &mut Vec::new());
        let message = converter.finish(id, &self.session(), position);
        self.queue.push(message, out);
    }

    /// Links a record that is not a message, since others may follow it. A repeated record keeps its first link.
    fn link_beside(
        &mut self,
        fields: &RecordFields<'_>,
        status: IdStatus,
        fingerprint: u32,
    ) -> ChainPosition {
        let parent = fields.string("parentUuid");
        let stated = stated_parent(fields, parent.as_deref());
        let id = fields
            .string("uuid")
            .filter(|_| status != IdStatus::Repeated);
        let position = self.links.add_other(id.as_deref(), fingerprint, stated);
        self.note_parent(&position, parent.as_deref(), true);
        position
    }

    /// Reads a record that is part of the conversation.
    fn read_message(
        &mut self,
        kind: RecordKind,
        fields: RecordFields<'_>,
        fingerprint: u32,
        out: &mut ReadOutput,
    ) {
        let id = fields.string("uuid").map(String::from);
        let parent = parent_of(kind, &fields);
        let mut stated = stated_parent(&fields, parent.as_deref());
        if kind == RecordKind::Boundary && !self.is_known(parent.as_deref()) {
            // A compaction often names a record of another file, although it is about this one.
            stated = StatedParent::Missing;
        }
        let agent = fields.string("agentId").map(String::from);
        let is_side = match fields.get("isSidechain") {
            Some(flag) => flag.get() == "true",
            None => agent.is_some(),
        };
        let is_meta = fields.is_true("isMeta") || fields.get("sourceToolUseID").is_some();
        let mut problems = Vec::new();
        let converter = RecordConverter::new(kind, fields, &mut problems);
        for problem in problems {
            self.add_problem(problem, out);
        }
        let id = id.unwrap_or_else(|| self.derived_id());
        if kind == RecordKind::Title {
            // It is about the whole session and follows nothing.
            let message = converter.finish(id, &self.session(), ChainPosition::default());
            self.queue.push(message, out);
            return;
        }
        let record = NewRecord {
            id: &id,
            stated,
            side: is_side.then_some(agent.as_deref()),
            continuation: continuation(&converter.message, is_meta),
        };
        let position = self.links.add_message(record, fingerprint);
        self.note_parent(&position, parent.as_deref(), false);
        self.report.pair_calls(&converter.message, self.line, out);
        let message = converter.finish(id, &self.session(), position);
        self.queue.push(message, out);
    }

    /// Returns whether there is a parent and it has been seen, or there is none at all.
    fn is_known(&self, parent: Option<&str>) -> bool {
        parent.is_none_or(|id| self.links.has(hash(id)))
    }

    /// Remembers a parent that has not been seen so far. It may still come.
    fn note_parent(&mut self, position: &ChainPosition, parent: Option<&str>, is_beside: bool) {
        if position.is_open {
            self.report.add_missing_parent(MissingParent {
                parent: hash(parent.unwrap_or_default()),
                line: self.line,
                is_beside,
            });
        }
    }

    /// Notes the session of a record. A file usually has one.
    fn read_session(&mut self, fields: &RecordFields<'_>, out: &mut ReadOutput) {
        let Some(session) = fields.string("sessionId") else {
            return;
        };
        if self.session.as_deref() == Some(&*session) {
            return;
        }
        self.queue.set_session(&session, out);
        self.session = Some(session.clone().into_owned());
        let first = self
            .first_session
            .get_or_insert_with(|| session.clone().into_owned());
        if **first != *session {
            let text = format!("from here on, records are of another session: {session}");
            let hint = "it was resumed or copied; all are kept, each with its session";
            let problem = Problem::warning("foreign-session", text).hint(hint);
            self.add_problem(problem, out);
        }
    }

    /// Returns the last session that a record has named. Before the first one, returns a session id that is derived from
    /// the file's name; messages keep that id only if no record ever names a session.
    fn session(&self) -> String {
        let derived = || session_of(&self.name).to_string();
        self.session.clone().unwrap_or_else(derived)
    }

    /// Derives an id for a record without one from its position.
    fn derived_id(&self) -> String {
        let name = format!("{} {} {}", self.session(), self.line, self.index);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
    }

    /// Ends the file: passes on what has waited and reports what is still open.
    fn finish(mut self, out: &mut ReadOutput) {
        self.queue.finish(out);
        self.report.finish(&self.links, self.full, out);
    }
}

/// Returns the fields of a record without the session that its message names.
fn without_session<'a>(mut fields: RecordFields<'a>, session: &str) -> RecordFields<'a> {
    fields.remove_same("sessionId", session);
    fields
}

/// Returns the id of the record that a message follows. A compaction has a field of its own for that.
fn parent_of(kind: RecordKind, fields: &RecordFields<'_>) -> Option<String> {
    let logical = fields
        .string("logicalParentUuid")
        .filter(|_| kind == RecordKind::Boundary);
    logical.or(fields.string("parentUuid")).map(String::from)
}

/// Returns what a record says about its parent. An empty id or `null` makes it a root.
fn stated_parent<'a>(fields: &RecordFields<'_>, parent: Option<&'a str>) -> StatedParent<'a> {
    match (parent, fields.get("parentUuid")) {
        (Some(parent), _) => StatedParent::Id(parent),
        (None, Some(_)) => StatedParent::Root,
        (None, None) => StatedParent::Missing,
    }
}

/// Returns whether a message continues the run of what it follows.
fn continuation(message: &Message, is_meta: bool) -> Continuation {
    match &message.body {
        Body::Assistant(_) => Continuation::Answer {
            response: message.response_id.as_deref().map(hash),
            calls: has_block(message, |block| matches!(block, Block::ToolUse(_))),
        },
        Body::Attachment(_) | Body::Notification(_) => Continuation::Join,
        Body::User(_) if has_block(message, |block| matches!(block, Block::ToolResult(_))) => {
            Continuation::Join
        }
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

/// Returns whether the content of a message has such a block.
fn has_block(message: &Message, test: fn(&Block) -> bool) -> bool {
    match message.body.content() {
        Some(Content::Blocks(blocks)) => blocks.iter().any(test),
        _ => false,
    }
}

/// Hashes what distinguishes a copy of a record from a different record with the same id: its type, its time and its
/// content. Other fields may differ: a resumed session copies records under another session and version.
pub(super) fn fingerprint(fields: &RecordFields<'_>) -> u32 {
    const SAID: [&str; 6] = [
        "type",
        "timestamp",
        "message",
        "content",
        "attachment",
        "data",
    ];
    let said = SAID.map(|key| fields.get(key).map(RawValue::get));
    (hash(&said) >> 32) as u32
}
