//! The message file as a format that conversations are converted from and to.

use analects_core::{Ids, Message, SessionId, verbs};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::buffer::WholeFileReader;
use super::{
    BufferedWriter, Confidence, FirstPass, Format, FormatReader, FormatWriter, ReadOptions,
    ReadOutput, StoredMessages, WriteOptions, WriteOutput,
};
use crate::msgfile::{self, Cell, DocumentKind, ExactWriter, ReadableWriter};

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
        let has_own_ending = name.ends_with(".msg.md");
        let named = msgfile::decode_named(head, name);
        if named.kind() == DocumentKind::Section {
            return Confidence::Yes;
        }
        let document = if has_own_ending {
            named
        } else {
            msgfile::decode(head)
        };
        if document.cells().any(Cell::is_sealed) {
            return Confidence::Yes;
        }
        let has_cells = document.cells().len() > 0;
        let is_markdown = name.ends_with(".md") || !name.contains('.');
        match (has_own_ending, has_cells) {
            (true, true) => Confidence::Yes,
            (true, false) => Confidence::ByName,
            // Scripts have lines that look like cells, too.
            (false, true) if is_markdown => Confidence::Maybe,
            (false, _) => Confidence::No,
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(WholeFileReader::boxed(options, read_file))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        if options.full {
            return Some(Box::new(ExactFileWriter {
                zone: options.zone.clone(),
                writer: None,
            }));
        }
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn is_for_people(&self, options: &WriteOptions) -> bool {
        !options.full
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        if options.full {
            return None;
        }
        Some(Box::new(ReadableFilePass {
            zone: options.zone.clone(),
            session: None,
            survey: verbs::Survey::default(),
        }))
    }
}

/// Reads a whole file, and looks up the full messages behind its cells if it can.
fn read_file(bytes: Vec<u8>, options: &ReadOptions, out: &mut ReadOutput) {
    let mut document = msgfile::decode_named(bytes, &options.name);
    if document.kind() == DocumentKind::Plain {
        // The caller chose this format, or the cells gave it away. The name does not matter then.
        document = msgfile::decode(document.into_source());
    }
    let session = msgfile::session_of(&options.name);
    let known = options.stored_messages.as_ref();
    let known = known.map(|StoredMessages(stored)| &**stored);
    let decoded = msgfile::messages_with_provenance(&document, &session, known);
    out.problems.extend(document.problems());
    out.problems.extend(decoded.problems);
    out.add_messages(decoded.messages, options.full);
}

/// Writes a message file that holds everything, message by message. The inner writer starts with the first message,
/// which names the session.
struct ExactFileWriter {
    /// The zone of the times.
    zone: TimeZone,
    writer: Option<ExactWriter<'static>>,
}

impl FormatWriter for ExactFileWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let session = &message.session_id;
        let zone = &self.zone;
        let writer = self.writer.get_or_insert_with(|| {
            ExactWriter::new(session, DerivedIds::new(session)).in_zone(zone.clone())
        });
        writer.push(message, &mut out.bytes, &mut out.tail);
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        if let Some(writer) = self.writer {
            writer.finish(&mut out.bytes, &mut out.tail);
        }
    }
}

/// The first pass for a readable message file: finds out what later messages change about earlier ones.
struct ReadableFilePass {
    /// The zone of the times.
    zone: TimeZone,
    /// The session of the first message, for derived ids.
    session: Option<SessionId>,
    /// What later messages change about earlier ones.
    survey: verbs::Survey,
}

impl FirstPass for ReadableFilePass {
    fn observe(&mut self, message: &Message) {
        if self.session.is_none() {
            self.session = Some(message.session_id.clone());
        }
        self.survey.meet(message);
    }

    fn writer(self: Box<Self>) -> Box<dyn FormatWriter> {
        let ids = DerivedIds::new(&self.session.unwrap_or_default());
        let writer = ReadableWriter::new(self.survey.finish(), ids).in_zone(self.zone);
        Box::new(ReadableFileWriter(writer))
    }
}

/// Writes a readable message file in the second pass.
struct ReadableFileWriter(ReadableWriter<'static>);

impl FormatWriter for ReadableFileWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        self.0.push(message, &mut out.bytes);
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        out.left_behind = self.0.finish(&mut out.bytes);
    }
}

/// Derives ids from the session's, so that the same input always gives the same file.
struct DerivedIds {
    session: SessionId,
    /// How many ids were derived.
    count: u64,
}

impl DerivedIds {
    /// Starts to derive ids from this session's.
    fn new(session: &SessionId) -> DerivedIds {
        DerivedIds {
            session: session.clone(),
            count: 0,
        }
    }

    /// Derives the next id from the session's and a counter.
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
        // The first character is a letter, so that the name is not taken for a number.
        let mut name = String::from("k");
        for at in 0..7 {
            name.push(DIGITS[(bits >> (at * 5) & 31) as usize] as char);
        }
        name
    }
}
