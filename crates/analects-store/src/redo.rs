//! Changes of the end of a large file in place, which cost as much as the change and not as the file.
//!
//! A kill or a power cut may leave only a part of the change. So the old end and the new one are first written to a
//! record in the state folder. Whoever opens the file for writing next finds the record and completes the change. Until
//! then, [`find_interrupted_change`] reports it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_core::Problem;
use analects_formats::msgfile::{Document, Splice};
use memchr::memmem;

use crate::error::cannot;
use crate::folders::{WriteLock, file_in_state, fingerprint, name_in_state};
use crate::replace::{PATIENCE, wait_for_writers};
use crate::vfs::{FileMetadata, Lease, OpenMode, Vfs, VfsFile, folder_of};
use crate::{StoreError, StoreFolders};

/// The first word of a record.
const MAGIC: &str = "analects-end-1";

/// A change of the end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndChange {
    /// The offset of the change: the old end and the new one differ in their first byte.
    pub at: usize,
    /// The bytes from there to the end of the file.
    old: Vec<u8>,
    /// The bytes that replace them. They are not shorter.
    pub new: Vec<u8>,
}

impl EndChange {
    /// Converts a splice; `None` if it changes more than the end, or makes the file shorter. Text is never overwritten,
    /// so the end is what follows all text: nothing, or the empty cell for the next message.
    pub(crate) fn of(splice: &Splice, document: &Document) -> Option<EndChange> {
        let source = document.source();
        let end_of_text = document
            .ready_cell()
            .map_or(source.len(), |ready| ready.span().start);
        if splice.at.start < end_of_text {
            return None;
        }
        let old = &source[splice.at.start..];
        let new = [&splice.bytes, &source[splice.at.end..]].concat();
        let common = common_prefix(old, &new);
        let old = old[common..].to_vec();
        let new = new[common..].to_vec();
        if new.len() < old.len() {
            return None;
        }
        Some(EndChange {
            at: splice.at.start + common,
            old,
            new,
        })
    }
}

/// Returns the length of the common beginning of two byte strings.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// The redo log of one file. It holds at most one record.
#[derive(Debug)]
pub(crate) struct RedoLog {
    /// The file of the log in the state folder.
    path: PathBuf,
    /// Open after the first write; then its name survives a power cut.
    file: Option<Box<dyn VfsFile>>,
    /// Whether a change failed and could not be undone, so that the record is still needed.
    is_record_pending: bool,
}

/// The outcome of a change of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndWriteOutcome {
    /// The file has its new end, and this metadata.
    Written(FileMetadata),
    /// The file has the new text, but another program wrote to the file as well.
    WrittenWithOthers,
    /// Nothing was written, because another program changed the file.
    NotWritten,
    /// Nothing was written, because another program has the file open, and may write at any offset.
    InUse,
}

/// A record: the change that a file is about to get.
#[derive(Debug, PartialEq, Eq)]
struct RedoRecord {
    /// The identity of the file.
    identity: (u64, u64),
    /// The change.
    change: EndChange,
}

/// The progress of the change of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The file is another one, or another program has written to it since.
    Unknown,
    /// The change was interrupted. This many bytes at the beginning of the new end are written.
    Interrupted(usize),
    /// The file has its new end.
    Complete,
}

impl RedoLog {
    /// Returns the redo log of a file. Creates only its folder.
    pub(crate) fn of(
        vfs: &dyn Vfs,
        folders: &StoreFolders,
        path: &Path,
    ) -> Result<RedoLog, StoreError> {
        let path = file_in_state(vfs, folders, path, "append")?;
        Ok(RedoLog {
            path,
            file: None,
            is_record_pending: false,
        })
    }

    /// Changes the end of a file. Nothing is written if the metadata is not `expected`, or if another program has the file
    /// open. After [`EndWriteOutcome::Written`], the change survives a power cut.
    pub(crate) fn write_end(
        &mut self,
        vfs: &dyn Vfs,
        path: &Path,
        expected: FileMetadata,
        change: EndChange,
    ) -> Result<EndWriteOutcome, StoreError> {
        if self.is_record_pending {
            self.complete(vfs, path)?;
        }
        let mut file = match vfs.open(path, OpenMode::Update) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(EndWriteOutcome::NotWritten);
            }
            opened => opened.map_err(cannot("write to", path))?,
        };
        if file.lease().map_err(cannot("write to", path))? == Lease::Refused {
            return Ok(EndWriteOutcome::InUse);
        }
        let at = change.at as u64;
        // The metadata may be equal if another program wrote within one tick of the clock.
        let is_same = file.metadata().map_err(cannot("write to", path))? == expected
            && file.read_from(at).map_err(cannot("read", path))? == change.old;
        if !is_same {
            return Ok(EndWriteOutcome::NotWritten);
        }
        let record = RedoRecord {
            identity: expected.identity,
            change,
        };
        self.write(vfs, &record)?;
        let new = &record.change.new;
        if let Err(error) = file.write_all_at(at, new).and_then(|()| file.sync()) {
            self.undo(&mut *file, &record);
            return Err(cannot("write to", path)(error));
        }
        let end = file.read_from(at).map_err(cannot("read", path))?;
        let is_written = end.starts_with(new);
        let metadata = file.metadata().map_err(cannot("read", path))?;
        drop(file);
        // Not synced. A record that stays, or that a power cut brings back, describes the current end as long as nobody
        // restores the old one, and whoever does that later is also later on the disk.
        let _ = self.empty();
        match vfs.metadata(path) {
            Ok(now) if is_written && now.identity == expected.identity => {
                Ok(EndWriteOutcome::Written(metadata))
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(cannot("read", path)(error))
            }
            _ => check_after_concurrent_write(vfs, path, new),
        }
    }

    /// Restores the old end after a failed write.
    fn undo(&mut self, file: &mut dyn VfsFile, record: &RedoRecord) {
        let is_undone = record.undo(file).is_ok();
        // A record that stays is completed before the next write.
        self.is_record_pending = !is_undone || self.clear().is_err();
    }

    /// Writes a record and syncs it.
    fn write(&mut self, vfs: &dyn Vfs, record: &RedoRecord) -> Result<(), StoreError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open_with_durable_name(vfs, &self.path)?),
        };
        rewrite(&mut **file, &record.encode())
            .map_err(cannot("write the record of changes", &self.path))
    }

    /// Removes the record, without a sync.
    fn empty(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.truncate(0))
    }

    /// Empties the log and syncs it.
    fn clear(&mut self) -> Result<(), StoreError> {
        self.empty()
            .and_then(|()| self.file.as_ref().map_or(Ok(()), |file| file.sync()))
            .map_err(cannot("clear the record of changes", &self.path))
    }

    /// Completes an interrupted change, and clears the log.
    pub(crate) fn complete(&mut self, vfs: &dyn Vfs, path: &Path) -> Result<(), StoreError> {
        let Some(record) = RedoRecord::read(vfs, &self.path) else {
            return Ok(());
        };
        if let Ok(mut file) = vfs.open(path, OpenMode::Update)
            && let Progress::Interrupted(_) =
                record.progress(&mut *file).map_err(cannot("read", path))?
        {
            record
                .redo(&mut *file)
                .map_err(cannot("complete the last change of", path))?;
        }
        let file = vfs.open(&self.path, OpenMode::Private);
        self.file = Some(file.map_err(cannot("clear the record of changes", &self.path))?);
        // Synced, because the record may be old: if a power cut brought it back, it could restore text that a person
        // has removed since.
        self.clear()?;
        self.is_record_pending = false;
        Ok(())
    }
}

/// Opens the file of a log, and makes its name survive a power cut.
fn open_with_durable_name(vfs: &dyn Vfs, path: &Path) -> Result<Box<dyn VfsFile>, StoreError> {
    let file = vfs
        .open(path, OpenMode::Private)
        .map_err(cannot("open the record of changes", path))?;
    let folder = folder_of(path);
    vfs.sync_folder(folder)
        .map_err(cannot("sync this folder", folder))?;
    Ok(file)
}

/// Replaces the content of a file and syncs it.
fn rewrite(file: &mut dyn VfsFile, bytes: &[u8]) -> io::Result<()> {
    file.truncate(0)?;
    file.write_all(bytes)?;
    file.sync()
}

/// Finds out whether the file holds our new text after another program wrote at the same time. Waits until that program
/// closes the file.
fn check_after_concurrent_write(
    vfs: &dyn Vfs,
    path: &Path,
    new: &[u8],
) -> Result<EndWriteOutcome, StoreError> {
    wait_for_writers(vfs, path, path, PATIENCE)?;
    let content = vfs
        .open(path, OpenMode::Read)
        .and_then(|mut file| file.read_from(0));
    if content.is_ok_and(|content| memmem::find(&content, new).is_some()) {
        return Ok(EndWriteOutcome::WrittenWithOthers);
    }
    Ok(EndWriteOutcome::NotWritten)
}

impl RedoRecord {
    /// Encodes a record: a line of numbers and a checksum, the old end, the new end.
    fn encode(&self) -> Vec<u8> {
        let (device, inode) = self.identity;
        let EndChange { at, old, new } = &self.change;
        let old_length = old.len();
        let new_length = new.len();
        let sum = fingerprint(&[&old[..], new].concat());
        let head = format!("{MAGIC} {device} {inode} {at} {old_length} {new_length} {sum:016x}\n");
        [head.as_bytes(), old, new].concat()
    }

    /// Decodes a record; `None` if it is not whole. The file of an incomplete record was never touched.
    fn decode(text: &[u8]) -> Option<RedoRecord> {
        let head_end = memchr::memchr(b'\n', text)?;
        let head = str::from_utf8(&text[..head_end]).ok()?;
        let mut words = head.strip_prefix(MAGIC)?.split_whitespace();
        let device = words.next()?.parse().ok()?;
        let inode = words.next()?.parse().ok()?;
        let at = words.next()?.parse().ok()?;
        let old_length: usize = words.next()?.parse().ok()?;
        let new_length: usize = words.next()?.parse().ok()?;
        let sum = words.next()?;
        let bytes = &text[head_end + 1..];
        if old_length.checked_add(new_length) != Some(bytes.len())
            || format!("{:016x}", fingerprint(bytes)) != sum
        {
            return None;
        }
        let (old, new) = bytes.split_at(old_length);
        let change = EndChange {
            at,
            old: old.to_vec(),
            new: new.to_vec(),
        };
        Some(RedoRecord {
            identity: (device, inode),
            change,
        })
    }

    /// Reads the record of a log; `None` if there is none, or if it is not whole.
    fn read(vfs: &dyn Vfs, path: &Path) -> Option<RedoRecord> {
        RedoRecord::decode(&vfs.open(path, OpenMode::Read).ok()?.read_from(0).ok()?)
    }

    /// Writes the new end and syncs it.
    fn redo(&self, file: &mut dyn VfsFile) -> io::Result<()> {
        file.write_all_at(self.change.at as u64, &self.change.new)?;
        file.sync()
    }

    /// Writes the old end and syncs it; an error if the file holds anything but a part of the new end.
    fn undo(&self, file: &mut dyn VfsFile) -> io::Result<()> {
        let EndChange { at, old, .. } = &self.change;
        if self.progress(file)? == Progress::Unknown {
            return Err(io::ErrorKind::InvalidData.into());
        }
        file.write_all_at(*at as u64, old)?;
        file.truncate((at + old.len()) as u64)?;
        file.sync()
    }

    /// Returns the progress of this change in a file.
    fn progress(&self, file: &mut dyn VfsFile) -> io::Result<Progress> {
        let metadata = file.metadata()?;
        let at = self.change.at as u64;
        if metadata.identity != self.identity || metadata.length < at {
            return Ok(Progress::Unknown);
        }
        Ok(self.change.progress(&file.read_from(at)?))
    }
}

impl EndChange {
    /// Returns the progress of this change in a file that ends with `tail`. A kill leaves the beginning of the new end.
    /// A power cut leaves any of its blocks, and zeros in place of others.
    fn progress(&self, tail: &[u8]) -> Progress {
        if tail.starts_with(&self.new) {
            return Progress::Complete;
        }
        if tail.len() < self.old.len() || tail.len() > self.new.len() {
            return Progress::Unknown;
        }
        for (at, byte) in tail.iter().enumerate() {
            let is_ours = *byte == 0 || *byte == self.new[at] || Some(byte) == self.old.get(at);
            if !is_ours {
                return Progress::Unknown;
            }
        }
        Progress::Interrupted(common_prefix(tail, &self.new))
    }
}

/// Reports that the last change of a file was interrupted by a kill or a power cut; `None` if it was not. Only reads:
/// the next writer completes the change.
pub fn find_interrupted_change(
    vfs: &dyn Vfs,
    folders: &StoreFolders,
    path: &Path,
) -> Option<Problem> {
    let path = vfs.real_path(path).ok()?;
    let record = folders
        .locks_folder()
        .join(format!("{}.append", name_in_state(&path)));
    let record = RedoRecord::read(vfs, &record)?;
    // A change that another process is making right now is not interrupted.
    let _lock = WriteLock::take(vfs, folders, &path, Duration::ZERO).ok()??;
    let mut file = vfs.open(&path, OpenMode::Read).ok()?;
    let Progress::Interrupted(done) = record.progress(&mut *file).ok()? else {
        return None;
    };
    let all = record.change.new.len();
    let message = format!("the last change was cut off after {done} of {all} bytes");
    let problem = Problem::error("cut-off", message);
    Some(problem.hint("the next change of the file completes it"))
}

#[cfg(test)]
mod tests {
    //! Encoding records, and finding the progress of a change.

    use analects_core::Span;
    use analects_formats::msgfile::decode;

    use super::*;

    fn change(old: &str, new: &str) -> EndChange {
        EndChange {
            at: 30,
            old: old.into(),
            new: new.into(),
        }
    }

    #[test]
    fn a_record_is_decoded_whole_or_not_at_all() {
        let record = RedoRecord {
            identity: (1, 2),
            change: change("\n", " [^3]\n"),
        };
        let text = record.encode();
        assert_eq!(RedoRecord::decode(&text), Some(record));
        for length in 0..text.len() {
            assert_eq!(RedoRecord::decode(&text[..length]), None, "{length}");
        }
        assert_eq!(RedoRecord::decode(b""), None);
        assert_eq!(RedoRecord::decode(&[&text[..], b"x"].concat()), None);
    }

    #[test]
    fn only_an_addition_after_all_text_is_made_in_place() {
        let document = decode("# %%\n\none\n\n# %%\n");
        let change = |start, end, text: &str| {
            let splice = Splice {
                at: Span::new(start, end),
                bytes: text.into(),
            };
            let end = EndChange::of(&splice, &document)?;
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
    fn a_file_with_foreign_text_is_not_completed() {
        let change = change("\n", " [^3]\n\nHello\n");
        for (tail, progress) in [
            ("\n", Progress::Interrupted(0)),
            ("", Progress::Unknown),
            (" ", Progress::Interrupted(1)),
            (" [^3]\n\nHel", Progress::Interrupted(10)),
            (" [^3]\n\0\0\0", Progress::Interrupted(6)),
            ("\n[^3]\n\nHello\n", Progress::Interrupted(0)),
            (" [^3]\n\nHello\n", Progress::Complete),
            (" [^3]\n\nHello\nmore", Progress::Complete),
            (" [^3]\n\nHullo", Progress::Unknown),
            ("\nmore", Progress::Unknown),
        ] {
            assert_eq!(change.progress(tail.as_bytes()), progress, "{tail:?}");
        }
    }
}
