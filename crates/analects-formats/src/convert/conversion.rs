//! A conversation on its way from one format to another: bytes in, bytes out, and an account of it. In two
//! passes for formats in which what comes late changes what is written early, such as a revision of an early message:
//! the first one keeps a few facts of each message, and the second one writes.

use std::borrow::Cow;

use analects_core::verbs::{self, View};
use analects_core::{Message, Problem, Severity};

use super::{FormatReader, FormatWriter, ReadOutput, WriteOutput};
use crate::Loss;
use crate::msgfile::LeftBehind;

/// How many problems and losses are kept; of a file with more, they would take more memory than the file.
const MOST: usize = 10_000;

/// What is odd about a file: the first of it, and a count of the rest.
#[derive(Debug, Clone, Default)]
pub struct ProblemList {
    kept: Vec<Problem>,
    more: usize,
}

impl ProblemList {
    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        if self.kept.len() < MOST {
            self.kept.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// Those that are kept, and a last one that says how many are not.
    pub fn list(&self) -> Vec<Problem> {
        let mut list = self.kept.clone();
        if self.more > 0 {
            let text = format!(
                "there are {} more problems, which are not listed",
                self.more
            );
            list.push(Problem::warning("more-problems", text));
        }
        list
    }
}

/// The first pass over a file whose conversion takes two. The second one is a [`Conversion`] with the writer that this
/// gives, over the same bytes.
pub struct FirstPassRunner {
    reader: Box<dyn FormatReader>,
    survey: Box<dyn FirstPass>,
}

impl FirstPassRunner {
    /// Of what `reader` reads.
    pub fn new(reader: Box<dyn FormatReader>, survey: Box<dyn FirstPass>) -> FirstPassRunner {
        FirstPassRunner { reader, survey }
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut read = ReadOutput::default();
        self.reader.feed(bytes, &mut read);
        read.messages
            .iter()
            .for_each(|message| self.survey.meet(message));
    }

    /// There are no more bytes; gives what writes the other file.
    pub fn finish(mut self) -> Box<dyn FormatWriter> {
        let mut read = ReadOutput::default();
        self.reader.finish(&mut read);
        read.messages
            .iter()
            .for_each(|message| self.survey.meet(message));
        self.survey.writer()
    }
}

/// A conversion that is under way.
pub struct Conversion {
    reader: Option<Box<dyn FormatReader>>,
    writer: Option<Box<dyn FormatWriter>>,
    /// How many bytes went in.
    pub bytes_read: u64,
    /// How many messages were read.
    pub messages: u64,
    /// How many records were left out because they are no conversation.
    pub left_out: usize,
    /// What is odd about the file that is read: the first of it, if there is very much. It is here at the end.
    pub problems: Vec<Problem>,
    /// How many of the problems are errors: what could not be read. All of them count.
    pub errors: usize,
    /// What is odd so far.
    noted: ProblemList,
    /// What has no place in the file that is written: the first of it, if there is very much.
    pub losses: Vec<Loss>,
    /// How many losses are not kept.
    pub more_losses: usize,
    /// What stands at the end of the file that is written, behind all other bytes. Whoever takes it on the way
    /// puts it there.
    pub tail: Vec<u8>,
    /// What a readable message file leaves out.
    pub left_behind: LeftBehind,
}

impl Conversion {
    /// From what `reader` reads to what `writer` writes.
    pub fn new(reader: Box<dyn FormatReader>, writer: Box<dyn FormatWriter>) -> Conversion {
        Conversion {
            reader: Some(reader),
            writer: Some(writer),
            bytes_read: 0,
            messages: 0,
            left_out: 0,
            problems: Vec::new(),
            errors: 0,
            noted: ProblemList::default(),
            losses: Vec::new(),
            more_losses: 0,
            tail: Vec::new(),
            left_behind: LeftBehind::default(),
        }
    }

    /// Takes the next bytes of the file; gives the next bytes of the other.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.bytes_read += bytes.len() as u64;
        let mut read = ReadOutput::default();
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes, &mut read);
        }
        self.pass_on(read)
    }

    /// There are no more bytes; gives the last ones of the other file, with its tail.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = self.finish_body();
        bytes.append(&mut self.tail);
        bytes
    }

    /// There are no more bytes; gives the last ones of the other file before its tail.
    pub fn finish_body(&mut self) -> Vec<u8> {
        let mut read = ReadOutput::default();
        if let Some(reader) = self.reader.take() {
            reader.finish(&mut read);
        }
        let mut bytes = self.pass_on(read);
        let mut written = WriteOutput::default();
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut written);
        }
        self.left_behind = written.left_behind;
        bytes.extend(self.take(written));
        self.problems = self.noted.list();
        bytes
    }

    /// Whether the other file says all that this one says: nothing has no place, and nothing could not be
    /// read.
    pub fn is_exact(&self) -> bool {
        self.losses.is_empty() && self.more_losses == 0 && self.errors == 0
    }

    fn pass_on(&mut self, read: ReadOutput) -> Vec<u8> {
        for problem in read.problems {
            self.errors += usize::from(problem.severity == Severity::Error);
            self.noted.add(problem);
        }
        self.lose(read.losses);
        self.left_out += read.left_out;
        self.messages += read.messages.len() as u64;
        let mut written = WriteOutput::default();
        if let Some(writer) = &mut self.writer {
            for message in &read.messages {
                writer.push(message, &mut written);
            }
        }
        self.take(written)
    }

    fn take(&mut self, written: WriteOutput) -> Vec<u8> {
        self.lose(written.losses);
        self.tail.extend(written.tail);
        written.bytes
    }

    fn lose(&mut self, losses: Vec<Loss>) {
        let kept = losses.len().min(MOST.saturating_sub(self.losses.len()));
        self.more_losses += losses.len() - kept;
        self.losses.extend(losses.into_iter().take(kept));
    }
}

/// Looks at all messages of a conversation, in their order, before they come again to be written.
pub trait FirstPass {
    /// The next message.
    fn meet(&mut self, message: &Message);

    /// Whether it looks for revisions and for nothing else: then a conversation without any needs no such pass.
    fn is_for_revisions(&self) -> bool {
        false
    }

    /// There are no more; gives what writes them when they come again.
    fn writer(self: Box<Self>) -> Box<dyn FormatWriter>;
}

/// A writer for those who have one pass: it holds the messages until all of them were seen.
pub(crate) struct BufferedWriter {
    survey: Box<dyn FirstPass>,
    messages: Vec<Message>,
}

impl BufferedWriter {
    pub(crate) fn boxed(survey: Box<dyn FirstPass>) -> Box<dyn FormatWriter> {
        Box::new(BufferedWriter {
            survey,
            messages: Vec::new(),
        })
    }
}

impl FormatWriter for BufferedWriter {
    fn push(&mut self, message: &Message, _: &mut WriteOutput) {
        self.survey.meet(message);
        self.messages.push(message.clone());
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        let mut writer = self.survey.writer();
        for message in &self.messages {
            writer.push(message, out);
        }
        writer.finish(out);
    }
}

/// The survey of a format that has no place for revisions: each message is written as its last revision says it.
pub(crate) struct RevisionPass {
    survey: verbs::Survey,
    writer: Box<dyn FormatWriter>,
}

impl RevisionPass {
    pub(crate) fn boxed(writer: impl FormatWriter + 'static) -> Box<dyn FirstPass> {
        Box::new(RevisionPass {
            survey: verbs::Survey::default(),
            writer: Box::new(writer),
        })
    }
}

impl FirstPass for RevisionPass {
    fn meet(&mut self, message: &Message) {
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

/// Writes the messages as their revisions say them.
struct RevisedWriter {
    view: View,
    writer: Box<dyn FormatWriter>,
}

impl FormatWriter for RevisedWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        self.writer
            .push(&self.view.next(Cow::Borrowed(message)), out);
    }

    fn finish(self: Box<Self>, out: &mut WriteOutput) {
        self.writer.finish(out);
    }
}
