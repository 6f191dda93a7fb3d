//! A conversation on its way from one format to another: bytes in, bytes out, and an account of it.

use analects_core::{Problem, Severity};

use super::{Read, Reader, Writer, Written};
use crate::Loss;
use crate::msgfile::LeftBehind;

/// How many problems are kept; of a file with more, they would take more memory than the file.
const MOST: usize = 10_000;

/// A conversion that is under way.
pub struct Conversion {
    reader: Option<Box<dyn Reader>>,
    writer: Option<Box<dyn Writer>>,
    /// How many bytes went in.
    pub bytes_read: u64,
    /// How many messages were read.
    pub messages: u64,
    /// How many records were left out because they are no conversation.
    pub left_out: usize,
    /// What is odd about the file that is read: the first of it, if there is very much.
    pub problems: Vec<Problem>,
    /// How many of the problems are errors: what could not be read. All of them count.
    pub errors: usize,
    /// How many problems are not kept.
    more: usize,
    /// What has no place in the file that is written.
    pub losses: Vec<Loss>,
    /// What a readable message file leaves out.
    pub left_behind: LeftBehind,
}

impl Conversion {
    /// From what `reader` reads to what `writer` writes.
    pub fn new(reader: Box<dyn Reader>, writer: Box<dyn Writer>) -> Conversion {
        Conversion {
            reader: Some(reader),
            writer: Some(writer),
            bytes_read: 0,
            messages: 0,
            left_out: 0,
            problems: Vec::new(),
            errors: 0,
            more: 0,
            losses: Vec::new(),
            left_behind: LeftBehind::default(),
        }
    }

    /// Takes the next bytes of the file; gives the next bytes of the other.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.bytes_read += bytes.len() as u64;
        let mut read = Read::default();
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes, &mut read);
        }
        self.pass_on(read)
    }

    /// There are no more bytes; gives the last ones of the other file.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut read = Read::default();
        if let Some(reader) = self.reader.take() {
            reader.finish(&mut read);
        }
        let mut bytes = self.pass_on(read);
        let mut written = Written::default();
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut written);
        }
        bytes.extend(written.bytes);
        self.losses.extend(written.losses);
        self.left_behind = written.left_behind;
        if self.more > 0 {
            let text = format!("there are {} more problems, which are not listed", self.more);
            self.problems.push(Problem::warning("more-problems", text));
        }
        bytes
    }

    /// Whether the other file says all that this one says: nothing has no place, and nothing could not be
    /// read.
    pub fn is_exact(&self) -> bool {
        self.losses.is_empty() && self.errors == 0
    }

    fn note(&mut self, problem: Problem) {
        self.errors += usize::from(problem.severity == Severity::Error);
        match self.problems.len() < MOST {
            true => self.problems.push(problem),
            false => self.more += 1,
        }
    }

    fn pass_on(&mut self, read: Read) -> Vec<u8> {
        read.problems.into_iter().for_each(|problem| self.note(problem));
        self.losses.extend(read.losses);
        self.left_out += read.left_out;
        self.messages += read.messages.len() as u64;
        let mut written = Written::default();
        if let Some(writer) = &mut self.writer {
            for message in &read.messages {
                writer.push(message, &mut written);
            }
        }
        self.losses.extend(written.losses);
        written.bytes
    }
}
