//! The input of a conversion: a file or stdin. Some formats need to read it twice.
//!
//! The beginning of the input is read first, to recognise the format, and handed out again with the rest.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

use analects_formats::convert::HEAD_SIZE;

use super::is_dash;
use super::spool::{MEMORY_LIMIT, Spool, TempFile};
use crate::failure::{Failure, io_error_text};
use crate::input::open_regular;
use crate::ui;

/// The size of one read.
const CHUNK_SIZE: usize = 256 << 10;

/// An open input.
/// It can be read once, or twice after [`ConvertSource::takes_two_passes`] said so.
pub struct ConvertSource {
    /// For messages, and to recognise a format by its ending.
    pub name: String,
    /// Up to [`HEAD_SIZE`] bytes; empty once they are handed out.
    pub head: Vec<u8>,
    /// What follows the head.
    bytes: SourceBytes,
    /// The number of bytes, if known.
    size: Option<u64>,
}

/// The length and checksum of what was read, to notice changes between two passes.
/// Not a cryptographic hash: it guards against accidents, not against an attacker.
#[derive(Default, PartialEq, Eq)]
pub struct SourceDigest {
    count: u64,
    sum: u64,
    /// Bytes that are not in the checksum yet, because it takes eight at a time.
    rest: Vec<u8>,
}

impl SourceDigest {
    /// Adds bytes to the digest, in pieces of any size.
    fn add(&mut self, mut bytes: &[u8]) {
        self.count += bytes.len() as u64;
        if !self.rest.is_empty() {
            let (missing, more) = bytes.split_at(bytes.len().min(8 - self.rest.len()));
            self.rest.extend_from_slice(missing);
            bytes = more;
            if let Ok(word) = <[u8; 8]>::try_from(self.rest.as_slice()) {
                self.mix(word);
                self.rest.clear();
            }
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(*word);
        }
        self.rest.extend_from_slice(rest);
    }

    /// This finds accidental changes, and is fast even in a debug build.
    fn mix(&mut self, word: [u8; 8]) {
        let mixed = (self.sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = mixed.rotate_left(29);
    }
}

/// Where the bytes come from.
/// Stdin itself can be read only once; the others can be rewound.
enum SourceBytes {
    File(File),
    Stdin,
    /// Stdin, read to its end and held in memory, or else in a temporary file.
    Memory(io::Cursor<Vec<u8>>),
    Temporary(TempFile),
}

impl ConvertSource {
    /// Opens a file or, for `-`, stdin, and reads its head.
    /// Fails for a folder, a device or a pipe. The size of stdin is unknown.
    pub fn open(path: &Path) -> Result<ConvertSource, Failure> {
        let name = path.to_string_lossy().into_owned();
        if is_dash(path) {
            return ConvertSource {
                name,
                head: Vec::new(),
                bytes: SourceBytes::Stdin,
                size: None,
            }
            .with_head();
        }
        let file = open_regular(path)?;
        let facts = file.metadata().map_err(|error| unreadable(&name, &error))?;
        let size = facts.is_file().then_some(facts.len());
        ConvertSource {
            name,
            head: Vec::new(),
            bytes: SourceBytes::File(file),
            size,
        }
        .with_head()
    }

    /// Reads the head.
    fn with_head(mut self) -> Result<ConvertSource, Failure> {
        let mut head = Vec::new();
        let taken = (&mut self.bytes)
            .take(HEAD_SIZE as u64)
            .read_to_end(&mut head);
        taken.map_err(|error| unreadable(&self.name, &error))?;
        self.head = head;
        Ok(self)
    }

    /// Whether to read twice: only if the input does not fit into memory. Stdin is buffered for
    /// this.
    pub fn takes_two_passes(&mut self) -> Result<bool, Failure> {
        if matches!(self.bytes, SourceBytes::Stdin) {
            self.buffer_stdin()?;
        }
        Ok(match &self.bytes {
            SourceBytes::File(_) => self.size.is_some_and(|size| size > MEMORY_LIMIT as u64),
            SourceBytes::Temporary(_) => true,
            SourceBytes::Stdin | SourceBytes::Memory(_) => false,
        })
    }

    /// Reads stdin to its end, into memory or a temporary file.
    /// Stdin cannot be rewound. Up to [`MEMORY_LIMIT`] bytes stay in memory.
    fn buffer_stdin(&mut self) -> Result<(), Failure> {
        let mut spool = Spool::default();
        spool.write(&self.head)?;
        let mut size = self.head.len() as u64;
        let mut piece = vec![0; CHUNK_SIZE];
        loop {
            let count = self.next(&mut piece)?;
            if count == 0 {
                break;
            }
            spool.write(&piece[..count])?;
            size += count as u64;
        }
        self.size = Some(size);
        self.bytes = match spool.in_memory() {
            Some(held) => SourceBytes::Memory(io::Cursor::new(held[self.head.len()..].to_vec())),
            None => {
                self.head = Vec::new();
                SourceBytes::Temporary(spool.into_file()?)
            }
        };
        Ok(())
    }

    /// Reads the next bytes; 0 at the end.
    /// An interrupted read is repeated.
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.bytes.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| unreadable(&self.name, &error)),
            }
        }
    }

    /// Passes all bytes to `sink` and shows progress. Returns the digest that
    /// [`ConvertSource::reread`] needs.
    /// A piece may end anywhere. The sink's failure ends the reading.
    pub fn for_each(
        &mut self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<SourceDigest, Failure> {
        self.for_each_up_to(u64::MAX, sink)
    }

    /// Passes the same bytes to `sink` again. Fails if they have changed; bytes that were appended
    /// are ignored.
    pub fn reread(
        &mut self,
        seen: SourceDigest,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.rewind()?;
        if self.for_each_up_to(seen.count, sink)? != seen {
            let text = format!(
                "{}: another program changed it while it was read",
                self.name
            );
            return Err(Failure::input(text).or_hint("try again; nothing was written"));
        }
        Ok(())
    }

    /// Goes back to the beginning for a second pass.
    fn rewind(&mut self) -> Result<(), Failure> {
        self.head = Vec::new();
        let rewound = match &mut self.bytes {
            SourceBytes::File(file) => file.rewind(),
            SourceBytes::Temporary(file) => return file.rewind(),
            SourceBytes::Memory(_) | SourceBytes::Stdin => Ok(()),
        };
        rewound.map_err(|error| unreadable(&self.name, &error))
    }

    /// Passes at most `count` bytes to `sink`.
    /// Shows the progress of inputs that take longer than a moment.
    fn for_each_up_to(
        &mut self,
        count: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<SourceDigest, Failure> {
        let head = std::mem::take(&mut self.head);
        sink(&head)?;
        let mut seen = SourceDigest::default();
        seen.add(&head);
        let mut piece = vec![0; CHUNK_SIZE];
        let mut progress = ProgressLine::new();
        while seen.count < count {
            let left = usize::try_from(count - seen.count).unwrap_or(usize::MAX);
            let wanted = piece.len().min(left);
            let found = self.next(&mut piece[..wanted])?;
            if found == 0 {
                break;
            }
            sink(&piece[..found])?;
            seen.add(&piece[..found]);
            progress.update(&self.name, self.size, seen.count);
        }
        Ok(seen)
    }
}

impl Read for SourceBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            SourceBytes::File(file) => file.read(buffer),
            SourceBytes::Stdin => io::stdin().lock().read(buffer),
            SourceBytes::Memory(held) => held.read(buffer),
            SourceBytes::Temporary(file) => file.read(buffer),
        }
    }
}

/// The failure for an input that cannot be read.
fn unreadable(name: &str, error: &io::Error) -> Failure {
    let text = format!("{name}: cannot be read: {}", io_error_text(error));
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text),
        _ => Failure::input(text),
    }
}

/// How often the progress line is updated.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The progress line. It is erased when this is dropped.
struct ProgressLine {
    printed_at: Instant,
    is_shown: bool,
}

impl ProgressLine {
    /// Prints nothing for the first moment, so short inputs show no progress at all.
    fn new() -> ProgressLine {
        ProgressLine {
            printed_at: Instant::now(),
            is_shown: false,
        }
    }

    /// Prints the progress, unless it was printed a moment ago.
    /// In percent if the size is known, else in MB.
    fn update(&mut self, name: &str, size: Option<u64>, read: u64) {
        if self.printed_at.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        (self.printed_at, self.is_shown) = (Instant::now(), true);
        match size.filter(|size| *size > 0) {
            Some(size) => {
                let percent = read.min(size) * 100 / size;
                ui::progress(&format!("{name}: {percent} % of {} MB", size >> 20));
            }
            None => ui::progress(&format!("{name}: {} MB", read >> 20)),
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            ui::progress("");
        }
    }
}

#[cfg(test)]
mod tests {
    //! Reading an input twice.

    use super::*;

    #[test]
    fn what_was_seen_is_the_same_however_it_is_cut() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        let seen = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut seen = SourceDigest::default();
            pieces.for_each(|piece| seen.add(piece));
            seen
        };
        let whole = seen(&mut [&bytes[..]].into_iter());
        for size in 1..30 {
            assert!(seen(&mut bytes.chunks(size)) == whole, "{size}");
        }
        let mut other = bytes.clone();
        for at in 0..other.len() {
            other[at] ^= 1;
            assert!(seen(&mut other.chunks(7)) != whole, "{at}");
            other[at] ^= 1;
        }
    }

    #[test]
    fn a_file_that_changes_between_two_passes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let text = "{\"type\":\"user\"}\n".repeat(50_000);
        let longer = format!("{text}{text}");
        let changed = longer.replacen("user", "else", 30_000);
        for (now, is_same) in [(&text, true), (&longer, true), (&changed, false)] {
            std::fs::write(&path, &text).unwrap();
            let mut source = ConvertSource::open(&path).unwrap();
            let mut bytes = Vec::new();
            let seen = source.for_each(&mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            assert!(bytes == text.as_bytes());
            std::fs::write(&path, now).unwrap();
            let mut count = 0;
            let again = source.reread(seen.unwrap(), &mut |piece| {
                count += piece.len();
                Ok(())
            });
            assert_eq!((again.is_ok(), count), (is_same, text.len()));
        }
    }
}
