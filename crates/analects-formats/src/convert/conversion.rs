//! The conversion of a file from one format to another: bytes in, bytes out, and an account of it. Some formats take
//! two passes, because a late message can change what is written early, such as a revision of an early message. The
//! first pass collects a few facts about each message, and the second pass writes.

use std::borrow::Cow;

use analects_core::verbs::{self, View};
use analects_core::{Message, Problem, Severity};

use super::{FormatReader, FormatWriter, ReadOutput, WriteOptions, WriteOutput};
use crate::Loss;
use crate::losses::difference::hidden_call_losses;
use crate::msgfile::LeftBehind;

/// How many problems are kept. More of them could take more memory than the file.
pub(crate) const LIST_LIMIT: usize = 10_000;

/// Problems, up to a limit, and the number of those beyond it.
#[derive(Debug, Clone, Default)]
pub struct ProblemList {
    /// The first problems.
    kept: Vec<Problem>,
    /// How many problems were not kept.
    more: usize,
}

impl ProblemList {
    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        if self.kept.len() < LIST_LIMIT {
            self.kept.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// Returns whether there are no problems.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Sorts the problems by line. Problems of the same line keep their order.
    pub(crate) fn sort_by_line(&mut self) {
        self.kept.sort_by_key(|problem| problem.line);
    }

    /// Returns the problems. If some did not fit, a last problem says how many.
    pub fn list(&self) -> Vec<Problem> {
        let mut list = self.kept.clone();
        if self.more > 0 {
            list.push(more_problems(self.more));
        }
        list
    }
}

/// The problem that says how many others are not listed.
pub(crate) fn more_problems(count: usize) -> Problem {
    let text = format!("there are {count} more problems, which are not listed");
    Problem::warning("more-problems", text)
}

/// Looks at all messages of a conversation before they come again to be written.
pub trait FirstPass {
    /// Takes the next message.
    fn observe(&mut self, message: &Message);

    /// Returns whether the pass is only about revisions. Then a conversation without revisions does not need it.
    fn is_for_revisions(&self) -> bool {
        false
    }

    /// Ends the pass and returns the writer for the second one.
    fn writer(self: Box<Self>) -> Box<dyn FormatWriter>;
}

/// Runs the first pass over a file. For the second pass, feed the same bytes to a [`Conversion`] with the writer that
/// [`finish`](FirstPassRunner::finish) returns.
pub struct FirstPassRunner {
    reader: Box<dyn FormatReader>,
    first_pass: Box<dyn FirstPass>,
}

impl FirstPassRunner {
    /// Starts a pass over the messages that `reader` reads.
    pub fn new(reader: Box<dyn FormatReader>, first_pass: Box<dyn FirstPass>) -> FirstPassRunner {
        FirstPassRunner { reader, first_pass }
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut read = ReadOutput::default();
        self.reader.feed(bytes, &mut read);
        observe_all(&mut *self.first_pass, &read);
    }

    /// Ends the file and returns the writer for the second pass.
    pub fn finish(mut self) -> Box<dyn FormatWriter> {
        let mut read = ReadOutput::default();
        self.reader.finish(&mut read);
        observe_all(&mut *self.first_pass, &read);
        self.first_pass.writer()
    }
}

/// Passes the messages on that were read.
fn observe_all(first_pass: &mut dyn FirstPass, read: &ReadOutput) {
    for message in &read.messages {
        first_pass.observe(message);
    }
}

/// A conversion in progress.
///
/// Feed the whole source in chunks of any size, then call [`finish`](Conversion::finish). The fields are complete only after
/// that. To write large files, take `tail` after each call and append it to the file at the end: it grows with the
/// conversation, while the returned bytes can be written at once.
pub struct Conversion {
    /// `None` after the end.
    reader: Option<Box<dyn FormatReader>>,
    /// `None` after the end.
    writer: Option<Box<dyn FormatWriter>>,
    /// How many bytes were read.
    pub bytes_read: u64,
    /// How many messages were read.
    pub messages: u64,
    /// How many records were skipped because they are not part of the conversation.
    pub left_out: usize,
    /// The problems of the source file, up to a limit. Empty until the end.
    pub problems: Vec<Problem>,
    /// How many problems are errors, including those beyond the limit.
    pub errors: usize,
    /// The problems so far.
    found_problems: ProblemList,
    /// What the written file cannot represent. There may be many: take them after each call, unless the file is small.
    pub losses: Vec<Loss>,
    /// How many losses there were, including those that were taken.
    pub loss_count: usize,
    /// The end of the written file, which comes after all other bytes. You may take parts of it early, to write them
    /// there yourself.
    pub tail: Vec<u8>,
    /// Counts what a readable message file leaves out.
    pub left_behind: LeftBehind,
}

impl Conversion {
    /// Starts a conversion of what `reader` reads to what `writer` writes.
    pub fn new(reader: Box<dyn FormatReader>, writer: Box<dyn FormatWriter>) -> Conversion {
        Conversion {
            reader: Some(reader),
            writer: Some(writer),
            bytes_read: 0,
            messages: 0,
            left_out: 0,
            problems: Vec::new(),
            errors: 0,
            found_problems: ProblemList::default(),
            losses: Vec::new(),
            loss_count: 0,
            tail: Vec::new(),
            left_behind: LeftBehind::default(),
        }
    }

    /// Takes the next bytes of the source and returns the next bytes of the result.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.bytes_read += bytes.len() as u64;
        let mut read = ReadOutput::default();
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes, &mut read);
        }
        self.write(read)
    }

    /// Ends the source and returns the last bytes of the result, with its tail.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = self.finish_body();
        bytes.append(&mut self.tail);
        bytes
    }

    /// Ends the source and returns the last bytes of the result before its tail.
    pub fn finish_body(&mut self) -> Vec<u8> {
        let mut read = ReadOutput::default();
        if let Some(reader) = self.reader.take() {
            reader.finish(&mut read);
        }
        let mut bytes = self.write(read);
        let mut written = WriteOutput::default();
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut written);
        }
        self.left_behind = written.left_behind;
        bytes.extend(self.take_bytes(written));
        self.problems = self.found_problems.list();
        bytes
    }

    /// Returns whether the result says everything that the source says.
    pub fn is_exact(&self) -> bool {
        self.loss_count == 0 && self.errors == 0
    }

    /// Writes what was read, and returns the bytes.
    fn write(&mut self, read: ReadOutput) -> Vec<u8> {
        for problem in read.problems {
            self.errors += usize::from(problem.severity == Severity::Error);
            self.found_problems.add(problem);
        }
        self.loss_count += read.losses.len();
        self.losses.extend(read.losses);
        self.left_out += read.left_out;
        self.messages += read.messages.len() as u64;
        let mut written = WriteOutput::default();
        if let Some(writer) = &mut self.writer {
            for message in &read.messages {
                writer.push(message, &mut written);
            }
        }
        self.take_bytes(written)
    }

    /// Returns the bytes of the body, and keeps the tail and the losses.
    fn take_bytes(&mut self, written: WriteOutput) -> Vec<u8> {
        self.loss_count += written.losses.len();
        self.losses.extend(written.losses);
        self.tail.extend(written.tail);
        written.bytes
    }
}

/// Does both passes at once: holds all messages until the first pass is complete.
pub(crate) struct BufferedWriter {
    first_pass: Box<dyn FirstPass>,
    /// All messages, for the second pass.
    messages: Vec<Message>,
}

impl BufferedWriter {
    /// Wraps a first pass whose writer gets the same messages afterwards.
    pub(crate) fn boxed(first_pass: Box<dyn FirstPass>) -> Box<dyn FormatWriter> {
        Box::new(BufferedWriter {
            first_pass,
            messages: Vec::new(),
        })
    }
}

impl FormatWriter for BufferedWriter {
    fn push(&mut self, message: &Message, _: &mut WriteOutput) {
        self.first_pass.observe(message);
        self.messages.push(message.clone());
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        let mut writer = self.first_pass.writer();
        for message in &self.messages {
            writer.push(message, out);
        }
        writer.finish(out);
    }
}

/// Encodes a whole conversation.
type WriteFile = fn(Vec<Message>, &WriteOptions, &mut WriteOutput);

/// A writer for formats that need the whole conversation at once.
pub(super) struct CollectingWriter {
    messages: Vec<Message>,
    options: WriteOptions,
    write_file: WriteFile,
}

impl CollectingWriter {
    /// Creates a writer that passes all messages to `write_file` at the end.
    pub(super) fn new(options: &WriteOptions, write_file: WriteFile) -> CollectingWriter {
        CollectingWriter {
            messages: Vec::new(),
            options: options.clone(),
            write_file,
        }
    }
}

impl FormatWriter for CollectingWriter {
    fn push(&mut self, message: &Message, _: &mut WriteOutput) {
        self.messages.push(message.clone());
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        (self.write_file)(self.messages, &self.options, out);
    }
}

/// The first pass for formats without revisions: collects them, so that each message is written in its last version.
pub(crate) struct RevisionPass {
    /// Collects the revisions.
    survey: verbs::Survey,
    /// Gets the revised messages in the second pass.
    writer: Box<dyn FormatWriter>,
}

impl RevisionPass {
    /// Wraps the writer that gets the revised messages.
    pub(crate) fn boxed(writer: impl FormatWriter + 'static) -> Box<dyn FirstPass> {
        Box::new(RevisionPass {
            survey: verbs::Survey::default(),
            writer: Box::new(writer),
        })
    }
}

impl FirstPass for RevisionPass {
    fn observe(&mut self, message: &Message) {
        self.survey.meet(message);
    }

    fn is_for_revisions(&self) -> bool {
        true
    }

    fn writer(self: Box<Self>) -> Box<dyn FormatWriter> {
        Box::new(RevisedWriter {
            view: View::of(self.survey.edits()),
            writer: self.writer,
        })
    }
}

/// Passes each message on in its last version.
struct RevisedWriter {
    /// Applies the revisions. It must see all messages in the same order as the first pass.
    view: View,
    writer: Box<dyn FormatWriter>,
}

impl FormatWriter for RevisedWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let revised = self.view.next(Cow::Borrowed(message));
        if let Cow::Owned(revised) = &revised {
            out.losses.extend(hidden_call_losses(message, revised));
        }
        self.writer.push(&revised, out);
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        self.writer.finish(out);
    }
}
