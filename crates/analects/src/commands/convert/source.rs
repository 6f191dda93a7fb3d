//! What is converted: a file or stdin, which some formats read twice.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

use analects_formats::convert::HEAD_SIZE;

use super::is_dash;
use super::spool::{HELD, Spilled, Spool};
use crate::failure::{Failure, words};
use crate::piped::open_regular;
use crate::ui;

/// How much is read at once.
const PIECE: usize = 256 << 10;

/// Something that was opened, and how it begins.
pub struct Source {
    pub name: String,
    pub head: Vec<u8>,
    bytes: Bytes,
    /// How many bytes there are, where that is known.
    size: Option<u64>,
}

/// What was read of a source: how many bytes, and their checksum.
#[derive(Default, PartialEq, Eq)]
pub struct Seen {
    count: u64,
    sum: u64,
    /// Bytes that are not in the checksum yet, since it takes eight at a time.
    rest: Vec<u8>,
}

impl Seen {
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

    /// It finds accidents, and is quick in a build without optimisation, too.
    fn mix(&mut self, word: [u8; 8]) {
        let mixed = (self.sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = mixed.rotate_left(29);
    }
}

/// Where the bytes are.
enum Bytes {
    File(File),
    Stdin,
    /// What came on stdin, in memory or in a file.
    Held(io::Cursor<Vec<u8>>),
    Spilled(Spilled),
}

impl Source {
    pub fn open(path: &Path) -> Result<Source, Failure> {
        let name = path.to_string_lossy().into_owned();
        if is_dash(path) {
            return Source {
                name,
                head: Vec::new(),
                bytes: Bytes::Stdin,
                size: None,
            }
            .begun();
        }
        let file = open_regular(path)?;
        let facts = file.metadata().map_err(|error| unreadable(&name, &error))?;
        let size = facts.is_file().then_some(facts.len());
        Source {
            name,
            head: Vec::new(),
            bytes: Bytes::File(file),
            size,
        }
        .begun()
    }

    /// Reads how it begins.
    fn begun(mut self) -> Result<Source, Failure> {
        let mut head = Vec::new();
        let taken = (&mut self.bytes)
            .take(HEAD_SIZE as u64)
            .read_to_end(&mut head);
        taken.map_err(|error| unreadable(&self.name, &error))?;
        self.head = head;
        Ok(self)
    }

    /// Whether it is read twice: not if it can be held in memory. What comes on stdin is put into a file for that.
    pub fn takes_two_passes(&mut self) -> Result<bool, Failure> {
        if matches!(self.bytes, Bytes::Stdin) {
            self.take_in()?;
        }
        Ok(match &self.bytes {
            Bytes::File(_) => self.size.is_some_and(|size| size > HELD as u64),
            Bytes::Spilled(_) => true,
            Bytes::Stdin | Bytes::Held(_) => false,
        })
    }

    /// Takes in all that comes on stdin.
    fn take_in(&mut self) -> Result<(), Failure> {
        let mut spool = Spool::default();
        spool.write(&self.head)?;
        let mut size = self.head.len() as u64;
        let mut piece = vec![0; PIECE];
        loop {
            let count = self.next(&mut piece)?;
            if count == 0 {
                break;
            }
            spool.write(&piece[..count])?;
            size += count as u64;
        }
        self.size = Some(size);
        self.bytes = match spool.held() {
            Some(held) => Bytes::Held(io::Cursor::new(held[self.head.len()..].to_vec())),
            None => {
                self.head = Vec::new();
                Bytes::Spilled(spool.into_file()?)
            }
        };
        Ok(())
    }

    /// The next bytes; empty at the end.
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.bytes.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| unreadable(&self.name, &error)),
            }
        }
    }

    /// Gives all bytes, and says how far that is; gives what [`Source::again`] needs.
    pub fn each(
        &mut self,
        give: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Seen, Failure> {
        self.each_up_to(u64::MAX, give)
    }

    /// Gives the same bytes once more. A file must not have changed since then, but for what was added at its end,
    /// which is not read.
    pub fn again(
        &mut self,
        seen: Seen,
        give: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.rewind()?;
        if self.each_up_to(seen.count, give)? != seen {
            let text = format!(
                "{}: another program changed it while it was read",
                self.name
            );
            return Err(Failure::input(text).or_hint("try again; nothing was written"));
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), Failure> {
        self.head = Vec::new();
        let rewound = match &mut self.bytes {
            Bytes::File(file) => file.rewind(),
            Bytes::Spilled(file) => return file.rewind(),
            Bytes::Held(_) | Bytes::Stdin => Ok(()),
        };
        rewound.map_err(|error| unreadable(&self.name, &error))
    }

    /// Gives bytes up to some count.
    fn each_up_to(
        &mut self,
        count: u64,
        give: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Seen, Failure> {
        let head = std::mem::take(&mut self.head);
        give(&head)?;
        let mut seen = Seen::default();
        seen.add(&head);
        let (mut piece, mut far) = (vec![0; PIECE], HowFar::new());
        while seen.count < count {
            let left = usize::try_from(count - seen.count).unwrap_or(usize::MAX);
            let wanted = piece.len().min(left);
            let found = self.next(&mut piece[..wanted])?;
            if found == 0 {
                break;
            }
            give(&piece[..found])?;
            seen.add(&piece[..found]);
            far.tell(&self.name, self.size, seen.count);
        }
        Ok(seen)
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Bytes::File(file) => file.read(buffer),
            Bytes::Stdin => io::stdin().lock().read(buffer),
            Bytes::Held(held) => held.read(buffer),
            Bytes::Spilled(file) => file.read(buffer),
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let text = format!("{name}: cannot be read: {}", words(error));
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text),
        _ => Failure::input(text),
    }
}

/// How often it is said how far a conversion is.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The line that says how far a conversion is. It goes away with this.
struct HowFar {
    told: Instant,
    is_there: bool,
}

impl HowFar {
    fn new() -> HowFar {
        HowFar {
            told: Instant::now(),
            is_there: false,
        }
    }

    fn tell(&mut self, name: &str, size: Option<u64>, read: u64) {
        if self.told.elapsed() < TELL_EVERY {
            return;
        }
        (self.told, self.is_there) = (Instant::now(), true);
        match size.filter(|size| *size > 0) {
            Some(size) => {
                let percent = read.min(size) * 100 / size;
                ui::progress(&format!("{name}: {percent} % of {} MB", size >> 20));
            }
            None => ui::progress(&format!("{name}: {} MB", read >> 20)),
        }
    }
}

impl Drop for HowFar {
    fn drop(&mut self) {
        if self.is_there {
            ui::progress("");
        }
    }
}

#[cfg(test)]
mod tests {
    //! A source that is read twice.

    use super::*;

    #[test]
    fn what_was_seen_is_the_same_however_it_is_cut() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        let seen = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut seen = Seen::default();
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
            let mut source = Source::open(&path).unwrap();
            let mut bytes = Vec::new();
            let seen = source.each(&mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            assert!(bytes == text.as_bytes());
            std::fs::write(&path, now).unwrap();
            let mut count = 0;
            let again = source.again(seen.unwrap(), &mut |piece| {
                count += piece.len();
                Ok(())
            });
            assert_eq!((again.is_ok(), count), (is_same, text.len()));
        }
    }
}
