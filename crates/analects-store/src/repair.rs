//! Checks and repairs of damaged transcripts, and repairs of other files with a record on each line. A repair writes a new file and never changes the old one.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Ids, Problem};
use analects_formats::repair::RepairCheck;
use analects_formats::transcript::{CheckReport, Checker};
use jiff::Timestamp;

use crate::StoreError;
use crate::error::cannot;
use crate::jsonl::rows::Forward;
use crate::vfs::{OpenMode, Vfs, VfsFile, folder_of};

/// The number of bytes that are copied or written at once.
const CHUNK: usize = 1 << 20;

/// How many changes are listed. More of them could take more memory than the file.
const MAX_CHANGES: usize = 10_000;

/// The result of a repair.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairReport {
    /// The problems of the old file.
    pub problems: Vec<Problem>,
    /// The file with the lines that the new file does not hold unchanged; `None` if there are none.
    pub rest: Option<PathBuf>,
    /// The number of these lines.
    pub aside: usize,
    /// What was changed, up to a limit.
    pub changes: Vec<LineChange>,
    /// The number of changes beyond the limit.
    pub more_changes: usize,
}

/// What a repair changed in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// The number of the line in the old file.
    pub line: usize,
    /// The change in words about "it", the line: lower case, no full stop.
    pub text: String,
}

/// Finds the problems of a transcript of any size. Lines over `limit` bytes are not read.
pub fn check_transcript(
    vfs: &dyn Vfs,
    path: &Path,
    limit: usize,
) -> Result<CheckReport, StoreError> {
    let mut checker = Checker::default();
    push_lines(vfs, path, limit, &mut checker)?;
    Ok(checker.finish())
}

/// Repairs a transcript into a new file, which must not exist yet. Lines that the new file does not hold unchanged go to
/// `<new>.rest`, byte for byte. When this returns, both files survive a power cut.
pub fn repair_transcript(
    vfs: &dyn Vfs,
    path: &Path,
    new: &Path,
    limit: usize,
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Result<RepairReport, StoreError> {
    repair_file(vfs, path, new, limit, Box::<Checker>::default(), ids, now)
}

/// Like [`repair_transcript`], for any format: `check` is that of the format.
pub fn repair_file(
    vfs: &dyn Vfs,
    path: &Path,
    new: &Path,
    limit: usize,
    mut check: Box<dyn RepairCheck>,
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Result<RepairReport, StoreError> {
    push_lines(vfs, path, limit, &mut *check)?;
    let (problems, repair) = check.finish(ids, now);
    let mut source = open(vfs, path)?;
    let mut copy_source = open(vfs, path)?;
    let mut file = NewFile::new(vfs, new)?;
    let mut rest = NewFile::new(vfs, new)?;
    for new_file in [&file, &rest] {
        // A private transcript stays private.
        new_file
            .file
            .copy_metadata_from(path)
            .map_err(cannot("give the mode of the old file to", new))?;
    }
    let mut report = RepairReport {
        problems,
        rest: None,
        aside: 0,
        changes: Vec::new(),
        more_changes: 0,
    };
    let mut number = 0;
    let mut rows = Forward::new(&mut *source, 0, limit);
    while let Some(row) = rows.next().map_err(cannot("read", path))? {
        number += 1;
        let Some(bytes) = row.bytes else {
            rest.copy(&mut *copy_source, path, row.at..row.next)?;
            report.aside += 1;
            report.add(number, vec!["it is too long; left out".to_string()]);
            continue;
        };
        let repaired = repair.line(number, bytes);
        file.add(&repaired.lines)?;
        if repaired.is_aside {
            rest.add(bytes)?;
            report.aside += 1;
        }
        report.add(number, repaired.changes);
    }
    file.add(repair.end().as_bytes())?;
    let rest_path = rest_path(new);
    // The rest comes first: a new file without it would look complete.
    if report.aside > 0 {
        rest.finish(&rest_path)?;
        report.rest = Some(rest_path);
    }
    file.finish(new)?;
    vfs.sync_folder(folder_of(new))
        .map_err(cannot("sync the folder of", new))?;
    Ok(report)
}

/// Passes all lines of a file to a check.
fn push_lines(
    vfs: &dyn Vfs,
    path: &Path,
    limit: usize,
    check: &mut dyn RepairCheck,
) -> Result<(), StoreError> {
    let mut file = open(vfs, path)?;
    let mut rows = Forward::new(&mut *file, 0, limit);
    while let Some(row) = rows.next().map_err(cannot("read", path))? {
        match row.bytes {
            Some(bytes) => check.push(bytes),
            None => check.push_long(row.next - row.at, row.beginning),
        }
    }
    Ok(())
}

impl RepairReport {
    /// Adds the changes of a line, up to a limit.
    fn add(&mut self, line: usize, changes: Vec<String>) {
        for text in changes {
            if self.changes.len() < MAX_CHANGES {
                self.changes.push(LineChange { line, text });
            } else {
                self.more_changes += 1;
            }
        }
    }
}

/// Returns the path of the file for the lines that the new file does not hold.
fn rest_path(new: &Path) -> PathBuf {
    let mut name = new.as_os_str().to_os_string();
    name.push(".rest");
    PathBuf::from(name)
}

/// Opens a regular file for reading.
fn open(vfs: &dyn Vfs, path: &Path) -> Result<Box<dyn VfsFile>, StoreError> {
    // Opening a pipe could block.
    if !vfs.metadata(path).map_err(cannot("read", path))?.is_file {
        return Err(StoreError::NotAFile {
            path: path.to_path_buf(),
        });
    }
    vfs.open(path, OpenMode::Read).map_err(cannot("read", path))
}

/// A new file without a name, which is written through a buffer.
struct NewFile<'v> {
    file: Box<dyn VfsFile>,
    /// The path for error messages.
    path: &'v Path,
    /// The bytes that are not written yet.
    buffer: Vec<u8>,
}

impl<'v> NewFile<'v> {
    /// Creates an unnamed file in the folder of `path`.
    fn new(vfs: &dyn Vfs, path: &'v Path) -> Result<NewFile<'v>, StoreError> {
        let file = vfs
            .draft(folder_of(path))
            .map_err(cannot("create a file in this folder", path))?;
        Ok(NewFile {
            file,
            path,
            buffer: Vec::new(),
        })
    }

    /// Adds bytes to the buffer, and writes it when it is full.
    fn add(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < CHUNK {
            return Ok(());
        }
        self.flush()
    }

    /// Writes the buffer.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.file
            .write_all(&self.buffer)
            .map_err(cannot("write", self.path))?;
        self.buffer.clear();
        Ok(())
    }

    /// Adds a range of another file, in chunks, because a line may be larger than memory.
    fn copy(
        &mut self,
        from: &mut dyn VfsFile,
        path: &Path,
        range: std::ops::Range<u64>,
    ) -> Result<(), StoreError> {
        let mut offset = range.start;
        let mut chunk = vec![0; CHUNK];
        while offset < range.end {
            let wanted = chunk
                .len()
                .min(usize::try_from(range.end - offset).unwrap_or(CHUNK));
            match from.read_at(offset, &mut chunk[..wanted]) {
                Ok(0) => break,
                Ok(read) => {
                    self.add(&chunk[..read])?;
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot("read", path)(error)),
            }
        }
        Ok(())
    }

    /// Syncs the file and then gives it its name, which must be free.
    fn finish(mut self, name: &Path) -> Result<(), StoreError> {
        self.flush()?;
        self.file.sync().map_err(cannot("sync", name))?;
        self.file.link(name).map_err(cannot("create", name))
    }
}
