//! Appending to a large file in place, so that it costs what is added and not what is there.
//!
//! A kill or a power cut may leave only a part of what was appended. So the bytes are first written
//! to a record in the state folder; whoever opens the file for writing next finds the record and
//! completes what was cut off. Until then, [`cut_off`] tells `check` of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_core::Problem;
use memchr::memmem;

use crate::error::to;
use crate::fingerprint::fingerprint;
use crate::lock::{Lock, file_in_state, name_in_state};
use crate::vfs::{Facts, Lease, Open, Vfs, VfsFile, folder_of};
use crate::writers::{PATIENCE, wait_for_writers};
use crate::{Places, StoreError};

const MAGIC: &str = "analects-append-1";

/// The record of one file.
#[derive(Debug)]
pub(crate) struct Redo {
    path: PathBuf,
    /// Open once something was appended; then its name is safe on disk.
    file: Option<Box<dyn VfsFile>>,
}

/// What became of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    /// It is at the end of the file, which now looks so.
    Done(Facts),
    /// It is in the file, and somebody else has written as well.
    Elsewhere,
    /// It is not there, because somebody else has written.
    Not,
    /// It is not there, because another program has the file open, and perhaps writes at a place of its
    /// own choice.
    InUse,
}

/// What was to be appended, and to which file.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    identity: (u64, u64),
    length: u64,
    bytes: Vec<u8>,
}

impl Redo {
    pub(crate) fn of(vfs: &dyn Vfs, places: &Places, path: &Path) -> Result<Redo, StoreError> {
        Ok(Redo { path: file_in_state(vfs, places, path, "append")?, file: None })
    }

    /// Appends to a file that must look as `expected`, and that nobody else may have open; else nothing is
    /// written. When this returns [`Appended::Done`], what was appended survives a power cut.
    pub(crate) fn append(
        &mut self,
        vfs: &dyn Vfs,
        path: &Path,
        expected: Facts,
        bytes: &[u8],
    ) -> Result<Appended, StoreError> {
        let (identity, length) = (expected.identity, expected.length);
        let mut file = match vfs.open(path, Open::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Appended::Not),
            opened => opened.map_err(to("write to", path))?,
        };
        if file.lease().map_err(to("write to", path))? == Lease::Refused {
            return Ok(Appended::InUse);
        }
        if file.facts().map_err(to("write to", path))? != expected {
            return Ok(Appended::Not);
        }
        self.write(vfs, &Record { identity, length, bytes: bytes.to_vec() })?;
        if let Err(error) = file.write_all(bytes).and_then(|()| file.sync()) {
            self.undo(&mut *file, length, bytes);
            return Err(to("write to", path)(error));
        }
        let there = file.read_from(length).map_err(to("read", path))?.starts_with(bytes);
        let facts = file.facts().map_err(to("read", path))?;
        drop(file);
        // A record that stays says what is so, and the next writer clears it.
        let _ = self.clear();
        match vfs.facts(path) {
            Ok(now) if there && now.identity == identity => Ok(Appended::Done(facts)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(to("read", path)(error)),
            _ => look_again(vfs, path, bytes),
        }
    }

    /// Takes back what a write that failed has written.
    fn undo(&mut self, file: &mut dyn VfsFile, length: u64, bytes: &[u8]) {
        let undone = file.read_from(length).and_then(|tail| match bytes.starts_with(&tail) {
            true => file.truncate(length).and_then(|()| file.sync()),
            false => Err(io::ErrorKind::InvalidData.into()),
        });
        if undone.is_ok() {
            // A record that stays is looked at again by the next writer.
            let _ = self.clear();
        }
    }

    fn write(&mut self, vfs: &dyn Vfs, record: &Record) -> Result<(), StoreError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = vfs.open(&self.path, Open::Private);
                let file = file.map_err(to("open the record of changes", &self.path))?;
                let folder = folder_of(&self.path);
                vfs.sync_folder(folder).map_err(to("sync this folder", folder))?;
                none.insert(file)
            }
        };
        let written = file.truncate(0).and_then(|()| file.write_all(&record.encode()));
        written.and_then(|()| file.sync()).map_err(to("write the record of changes", &self.path))
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        // Synced, since a record that came back after a power cut could bring back what a person has
        // removed since.
        let cleared = self.file.as_mut().map_or(Ok(()), |file| {
            file.truncate(0)?;
            file.sync()
        });
        cleared.map_err(to("clear the record of changes", &self.path))
    }

    /// Completes an append that was cut off, if the file still ends with its beginning.
    pub(crate) fn complete(&mut self, vfs: &dyn Vfs, path: &Path) -> Result<(), StoreError> {
        let Some(record) = Record::read(vfs, &self.path) else { return Ok(()) };
        if let Ok(mut file) = vfs.open(path, Open::Append)
            && let Some(there) = record.there(&mut *file).map_err(to("read", path))?
            && there < record.bytes.len()
        {
            let completed = file
                .truncate(record.length + there as u64)
                .and_then(|()| file.write_all(&record.bytes[there..]))
                .and_then(|()| file.sync());
            completed.map_err(to("complete the last change of", path))?;
        }
        let file = vfs.open(&self.path, Open::Private);
        self.file = Some(file.map_err(to("clear the record of changes", &self.path))?);
        self.clear()
    }
}

/// An editor wrote at the same time, with what we appended or without it. We look when it is done.
fn look_again(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> Result<Appended, StoreError> {
    wait_for_writers(vfs, path, path, PATIENCE)?;
    let now = vfs.open(path, Open::Read).and_then(|mut file| file.read_from(0));
    if now.is_ok_and(|now| memmem::find(&now, bytes).is_some()) {
        Ok(Appended::Elsewhere)
    } else {
        Ok(Appended::Not)
    }
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let (device, inode) = self.identity;
        let (length, count, sum) = (self.length, self.bytes.len(), fingerprint(&self.bytes));
        let head = format!("{MAGIC} {device} {inode} {length} {count} {sum:016x}\n");
        [head.as_bytes(), &self.bytes].concat()
    }

    /// A record that is whole; one that was itself cut off speaks of a file that was never touched.
    fn decode(text: &[u8]) -> Option<Record> {
        let end = memchr::memchr(b'\n', text)?;
        let head = str::from_utf8(&text[..end]).ok()?;
        let mut words = head.strip_prefix(MAGIC)?.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        let (device, inode, length, count) = (number()?, number()?, number()?, number()?);
        let (sum, bytes) = (words.next()?, &text[end + 1..]);
        let is_whole = bytes.len() as u64 == count && format!("{:016x}", fingerprint(bytes)) == sum;
        is_whole.then(|| Record { identity: (device, inode), length, bytes: bytes.to_vec() })
    }

    fn read(vfs: &dyn Vfs, path: &Path) -> Option<Record> {
        Record::decode(&vfs.open(path, Open::Read).ok()?.read_from(0).ok()?)
    }

    /// How many of the bytes the file holds at its end; `None` if it is another file by now, or
    /// somebody has written to it since. Zeros in the place of bytes are what a power cut leaves.
    fn there(&self, file: &mut dyn VfsFile) -> io::Result<Option<usize>> {
        let facts = file.facts()?;
        if facts.identity != self.identity || facts.length < self.length {
            return Ok(None);
        }
        let tail = file.read_from(self.length)?;
        let same = tail.iter().zip(&self.bytes).take_while(|(a, b)| a == b).count();
        if same == self.bytes.len() {
            return Ok(Some(same));
        }
        let is_cut = tail.len() <= self.bytes.len()
            && tail[same..].iter().zip(&self.bytes[same..]).all(|(a, b)| *a == 0 || a == b);
        Ok(is_cut.then_some(same))
    }
}

/// The problem that the last change of a file was cut off by a kill or a power cut, if it was.
/// Nothing is written: the next writer completes it.
pub fn cut_off(vfs: &dyn Vfs, places: &Places, path: &Path) -> Option<Problem> {
    let path = vfs.real_path(path).ok()?;
    let record = places.state.join("locks").join(format!("{}.append", name_in_state(&path)));
    let record = Record::read(vfs, &record)?;
    // Somebody who is at it right now is not cut off.
    let _lock = Lock::take(vfs, places, &path, Duration::ZERO).ok()??;
    let there = record.there(&mut *vfs.open(&path, Open::Read).ok()?).ok()??;
    let all = record.bytes.len();
    let message = format!("the last change was cut off after {there} of {all} bytes");
    let problem = Problem::error("cut-off", message);
    (there < all).then(|| problem.hint("the next change of the file completes it"))
}

#[cfg(test)]
mod tests {
    //! The record itself.

    use super::*;

    #[test]
    fn a_record_is_read_whole_or_not_at_all() {
        let record = Record { identity: (1, 2), length: 30, bytes: b"\n# %% [^3]\n".to_vec() };
        let text = record.encode();
        assert_eq!(Record::decode(&text), Some(record));
        for length in 0..text.len() {
            assert_eq!(Record::decode(&text[..length]), None, "{length}");
        }
        assert_eq!(Record::decode(b""), None);
        assert_eq!(Record::decode(&[&text[..], b"x"].concat()), None);
    }
}
