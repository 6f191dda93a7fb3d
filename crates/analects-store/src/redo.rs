//! Changing the end of a large file in place, so that it costs what changes and not what is there.
//!
//! A kill or a power cut may leave only a part of the change. So the old end and the new one are first written to a
//! record in the state folder; whoever opens the file for writing next finds the record and completes what was cut
//! off. Until then, [`cut_off`] tells `check` of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_core::Problem;
use analects_formats::msgfile::{Document, Splice};
use memchr::memmem;

use crate::error::to;
use crate::places::{Lock, file_in_state, fingerprint, name_in_state};
use crate::replace::{PATIENCE, wait_for_writers};
use crate::vfs::{Facts, Lease, Open, Vfs, VfsFile, folder_of};
use crate::{Places, StoreError};

const MAGIC: &str = "analects-end-1";

/// The end of a file as it is, and as it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewEnd {
    /// Where it starts: the two differ in their first byte.
    pub at: usize,
    /// What stands there.
    old: Vec<u8>,
    /// What takes its place; it is not shorter.
    pub new: Vec<u8>,
}

impl NewEnd {
    /// The end that a change gives a file; `None` if the change is not one of the end, or makes the file shorter. Words
    /// are not written over, so the end is what stands behind all of them: nothing, or the empty cell that is ready.
    pub(crate) fn of(splice: &Splice, document: &Document) -> Option<NewEnd> {
        let source = document.source();
        let end_of_words = document
            .ready_cell()
            .map_or(source.len(), |ready| ready.span().start);
        if splice.at.start < end_of_words {
            return None;
        }
        let old = &source[splice.at.start..];
        let new = [&splice.bytes, &source[splice.at.end..]].concat();
        let kept = old
            .iter()
            .zip(&new)
            .take_while(|(old, new)| old == new)
            .count();
        let (old, new) = (old[kept..].to_vec(), new[kept..].to_vec());
        (new.len() >= old.len()).then_some(NewEnd {
            at: splice.at.start + kept,
            old,
            new,
        })
    }
}

/// The record of one file.
#[derive(Debug)]
pub(crate) struct Redo {
    path: PathBuf,
    /// Open once something was written; then its name is safe on disk.
    file: Option<Box<dyn VfsFile>>,
    /// Whether a change failed and could not be taken back.
    is_open: bool,
}

/// What became of a change of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// The file ends so, and looks so.
    Done(Facts),
    /// It is in the file, and somebody else has written as well.
    Elsewhere,
    /// It is not there, because somebody else has written.
    Not,
    /// It is not there, because another program has the file open, and perhaps writes at a place of its
    /// own choice.
    InUse,
}

/// The end that a file was about to get, and which file.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    identity: (u64, u64),
    end: NewEnd,
}

/// How far a file is with the change of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It is another file by now, or somebody has written to it since.
    Unknown,
    /// So many bytes of the new end are there at its beginning, and others are not.
    Cut(usize),
    /// It has its new end.
    Whole,
}

impl Redo {
    pub(crate) fn of(vfs: &dyn Vfs, places: &Places, path: &Path) -> Result<Redo, StoreError> {
        let path = file_in_state(vfs, places, path, "append")?;
        Ok(Redo {
            path,
            file: None,
            is_open: false,
        })
    }

    /// Gives a new end to a file that must look as `expected`, and that nobody else may have open; else nothing is
    /// written. When this returns [`Written::Done`], the new end survives a power cut.
    pub(crate) fn write_end(
        &mut self,
        vfs: &dyn Vfs,
        path: &Path,
        expected: Facts,
        end: NewEnd,
    ) -> Result<Written, StoreError> {
        if self.is_open {
            self.complete(vfs, path)?;
        }
        let mut file = match vfs.open(path, Open::Update) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Written::Not),
            opened => opened.map_err(to("write to", path))?,
        };
        if file.lease().map_err(to("write to", path))? == Lease::Refused {
            return Ok(Written::InUse);
        }
        let at = end.at as u64;
        // Facts may be the same if somebody wrote within one tick of the clock.
        let is_same = file.facts().map_err(to("write to", path))? == expected
            && file.read_from(at).map_err(to("read", path))? == end.old;
        if !is_same {
            return Ok(Written::Not);
        }
        let record = Record {
            identity: expected.identity,
            end,
        };
        self.write(vfs, &record)?;
        let new = &record.end.new;
        if let Err(error) = file.write_all_at(at, new).and_then(|()| file.sync()) {
            self.undo(&mut *file, &record);
            return Err(to("write to", path)(error));
        }
        let is_there = file
            .read_from(at)
            .map_err(to("read", path))?
            .starts_with(new);
        let facts = file.facts().map_err(to("read", path))?;
        drop(file);
        // Not synced: a record that stays, or that a power cut brings back, says what is so, as long as nobody gives the
        // file its old end again. Whoever does that later is later on the disk, too.
        let _ = self.empty();
        match vfs.facts(path) {
            Ok(now) if is_there && now.identity == expected.identity => Ok(Written::Done(facts)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(to("read", path)(error)),
            _ => look_again(vfs, path, new),
        }
    }

    /// Takes back what a write that failed has written.
    fn undo(&mut self, file: &mut dyn VfsFile, record: &Record) {
        let end = &record.end;
        let undone = record.progress(file).and_then(|progress| match progress {
            Progress::Unknown => Err(io::ErrorKind::InvalidData.into()),
            Progress::Cut(_) | Progress::Whole => {
                file.write_all_at(end.at as u64, &end.old)?;
                file.truncate((end.at + end.old.len()) as u64)?;
                file.sync()
            }
        });
        // A record that stays is looked at again before the next write.
        self.is_open = undone.is_err() || self.clear().is_err();
    }

    fn write(&mut self, vfs: &dyn Vfs, record: &Record) -> Result<(), StoreError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = vfs.open(&self.path, Open::Private);
                let file = file.map_err(to("open the record of changes", &self.path))?;
                let folder = folder_of(&self.path);
                vfs.sync_folder(folder)
                    .map_err(to("sync this folder", folder))?;
                none.insert(file)
            }
        };
        let written = file
            .truncate(0)
            .and_then(|()| file.write_all(&record.encode()));
        written
            .and_then(|()| file.sync())
            .map_err(to("write the record of changes", &self.path))
    }

    fn empty(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.truncate(0))
    }

    /// Empties the record for good.
    fn clear(&mut self) -> Result<(), StoreError> {
        let emptied = self.empty();
        let cleared = emptied.and_then(|()| self.file.as_ref().map_or(Ok(()), |file| file.sync()));
        cleared.map_err(to("clear the record of changes", &self.path))
    }

    /// Completes a change that was cut off.
    pub(crate) fn complete(&mut self, vfs: &dyn Vfs, path: &Path) -> Result<(), StoreError> {
        let Some(record) = Record::read(vfs, &self.path) else {
            return Ok(());
        };
        if let Ok(mut file) = vfs.open(path, Open::Update)
            && let Progress::Cut(_) = record.progress(&mut *file).map_err(to("read", path))?
        {
            let completed = file.write_all_at(record.end.at as u64, &record.end.new);
            let completed = completed.and_then(|()| file.sync());
            completed.map_err(to("complete the last change of", path))?;
        }
        let file = vfs.open(&self.path, Open::Private);
        self.file = Some(file.map_err(to("clear the record of changes", &self.path))?);
        // Synced, since it is long ago that this was written, and a record that came back after a power cut could bring
        // back what a person has removed since.
        self.clear()?;
        self.is_open = false;
        Ok(())
    }
}

/// An editor wrote at the same time, with what we wrote or without it. We look when it is done.
fn look_again(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> Result<Written, StoreError> {
    wait_for_writers(vfs, path, path, PATIENCE)?;
    let now = vfs
        .open(path, Open::Read)
        .and_then(|mut file| file.read_from(0));
    if now.is_ok_and(|now| memmem::find(&now, bytes).is_some()) {
        Ok(Written::Elsewhere)
    } else {
        Ok(Written::Not)
    }
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let (device, inode) = self.identity;
        let NewEnd { at, old, new } = &self.end;
        let (gone, count, sum) = (old.len(), new.len(), fingerprint(&[&old[..], new].concat()));
        let head = format!("{MAGIC} {device} {inode} {at} {gone} {count} {sum:016x}\n");
        [head.as_bytes(), old, new].concat()
    }

    /// A record that is whole; one that was itself cut off speaks of a file that was never touched.
    fn decode(text: &[u8]) -> Option<Record> {
        let end = memchr::memchr(b'\n', text)?;
        let head = str::from_utf8(&text[..end]).ok()?;
        let mut words = head.strip_prefix(MAGIC)?.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        let identity = (number()?, number()?);
        let at = usize::try_from(number()?).ok()?;
        let gone = usize::try_from(number()?).ok()?;
        let count = usize::try_from(number()?).ok()?;
        let sum = words.next()?;
        let bytes = &text[end + 1..];
        if gone.checked_add(count) != Some(bytes.len())
            || format!("{:016x}", fingerprint(bytes)) != sum
        {
            return None;
        }
        let (old, new) = bytes.split_at(gone);
        let end = NewEnd {
            at,
            old: old.to_vec(),
            new: new.to_vec(),
        };
        Some(Record { identity, end })
    }

    fn read(vfs: &dyn Vfs, path: &Path) -> Option<Record> {
        Record::decode(&vfs.open(path, Open::Read).ok()?.read_from(0).ok()?)
    }

    /// How far a file is with this change.
    fn progress(&self, file: &mut dyn VfsFile) -> io::Result<Progress> {
        let facts = file.facts()?;
        if facts.identity != self.identity || facts.length < self.end.at as u64 {
            return Ok(Progress::Unknown);
        }
        Ok(self.end.progress(&file.read_from(self.end.at as u64)?))
    }
}

impl NewEnd {
    /// How far a file is that ends like this. After a kill, the beginning of the new end is there; after a power cut,
    /// any blocks of it, and zeros in the place of others.
    fn progress(&self, tail: &[u8]) -> Progress {
        if tail.starts_with(&self.new) {
            return Progress::Whole;
        }
        let is_known = |(at, byte): (usize, &u8)| {
            *byte == 0 || *byte == self.new[at] || Some(byte) == self.old.get(at)
        };
        let is_shorter = tail.len() < self.old.len();
        let is_longer = tail.len() > self.new.len();
        if !is_shorter && !is_longer && tail.iter().enumerate().all(is_known) {
            let there = tail
                .iter()
                .zip(&self.new)
                .take_while(|(byte, new)| byte == new)
                .count();
            Progress::Cut(there)
        } else {
            Progress::Unknown
        }
    }
}

/// The problem that the last change of a file was cut off by a kill or a power cut, if it was.
/// Nothing is written: the next writer completes it.
pub fn cut_off(vfs: &dyn Vfs, places: &Places, path: &Path) -> Option<Problem> {
    let path = vfs.real_path(path).ok()?;
    let record = places
        .state
        .join("locks")
        .join(format!("{}.append", name_in_state(&path)));
    let record = Record::read(vfs, &record)?;
    // Somebody who is at it right now is not cut off.
    let _lock = Lock::take(vfs, places, &path, Duration::ZERO).ok()??;
    let progress = record
        .progress(&mut *vfs.open(&path, Open::Read).ok()?)
        .ok()?;
    let Progress::Cut(there) = progress else {
        return None;
    };
    let all = record.end.new.len();
    let message = format!("the last change was cut off after {there} of {all} bytes");
    let problem = Problem::error("cut-off", message);
    Some(problem.hint("the next change of the file completes it"))
}

#[cfg(test)]
mod tests {
    //! The record itself, and what a file says of it.

    use analects_core::Span;
    use analects_formats::msgfile::decode;

    use super::*;

    fn end(old: &str, new: &str) -> NewEnd {
        NewEnd {
            at: 30,
            old: old.into(),
            new: new.into(),
        }
    }

    #[test]
    fn a_record_is_read_whole_or_not_at_all() {
        let record = Record {
            identity: (1, 2),
            end: end("\n", " [^3]\n"),
        };
        let text = record.encode();
        assert_eq!(Record::decode(&text), Some(record));
        for length in 0..text.len() {
            assert_eq!(Record::decode(&text[..length]), None, "{length}");
        }
        assert_eq!(Record::decode(b""), None);
        assert_eq!(Record::decode(&[&text[..], b"x"].concat()), None);
    }

    #[test]
    fn only_a_change_behind_all_words_that_adds_is_made_in_place() {
        let document = decode("# %%\n\none\n\n# %%\n");
        let change = |start, end, text: &str| {
            let splice = Splice {
                at: Span::new(start, end),
                bytes: text.into(),
            };
            let end = NewEnd::of(&splice, &document)?;
            Some((
                end.at,
                String::from_utf8(end.old).unwrap(),
                String::from_utf8(end.new).unwrap(),
            ))
        };
        let is = |at, old: &str, new: &str| Some((at, old.to_string(), new.to_string()));
        assert_eq!(change(16, 16, "x"), is(16, "", "x"));
        assert_eq!(change(11, 16, "# %% [^2]\n"), is(15, "\n", " [^2]\n"));
        assert_eq!(change(11, 11, "# %%%\n"), is(15, "\n", "%\n# %%\n"));
        assert_eq!(change(10, 16, "# %% [^2]\n"), None);
        assert_eq!(change(11, 16, ""), None);
    }

    #[test]
    fn a_file_that_holds_what_somebody_else_wrote_is_not_completed() {
        let end = end("\n", " [^3]\n\nHello\n");
        for (tail, progress) in [
            ("\n", Progress::Cut(0)),
            ("", Progress::Unknown),
            (" ", Progress::Cut(1)),
            (" [^3]\n\nHel", Progress::Cut(10)),
            (" [^3]\n\0\0\0", Progress::Cut(6)),
            ("\n[^3]\n\nHello\n", Progress::Cut(0)),
            (" [^3]\n\nHello\n", Progress::Whole),
            (" [^3]\n\nHello\nmore", Progress::Whole),
            (" [^3]\n\nHullo", Progress::Unknown),
            ("\nmore", Progress::Unknown),
        ] {
            assert_eq!(end.progress(tail.as_bytes()), progress, "{tail:?}");
        }
    }
}
