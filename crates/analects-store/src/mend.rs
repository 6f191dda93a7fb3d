//! Transcripts on disk that something happened to: what is wrong with one, and a new file in which it is
//! mended. The old file is never written to.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Ids, Problem};
use analects_formats::transcript::{CheckReport, Checker, RepairPlan};
use jiff::Timestamp;

use crate::StoreError;
use crate::error::to;
use crate::jsonl::rows::Forward;
use crate::vfs::{Open, Vfs, VfsFile, folder_of};

/// How much is written at once.
const CHUNK: usize = 1 << 20;

/// What came of a repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// What was wrong with the old file.
    pub problems: Vec<Problem>,
    /// Where the lines are that are not in the new file as they were; `None` if there are none.
    pub rest: Option<PathBuf>,
    /// How many these are.
    pub aside: usize,
}

/// Finds what is wrong with a transcript, of any size; lines over `limit` bytes are not read.
pub fn check_transcript(
    vfs: &dyn Vfs,
    path: &Path,
    limit: usize,
) -> Result<CheckReport, StoreError> {
    let mut file = open(vfs, path)?;
    let mut checker = Checker::default();
    let mut rows = Forward::new(&mut *file, 0, limit);
    while let Some(row) = rows.next().map_err(to("read", path))? {
        match row.bytes {
            Some(bytes) => checker.push(bytes),
            None => checker.push_long(row.next - row.at, row.beginning),
        }
    }
    Ok(checker.finish())
}

/// Mends a transcript into a new file, which must not be there yet. Lines that are not in it as they were
/// go to `<new>.rest`, byte by byte. When this returns, both survive a power cut.
pub fn repair_transcript(
    vfs: &dyn Vfs,
    path: &Path,
    new: &Path,
    limit: usize,
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Result<Repaired, StoreError> {
    let checked = check_transcript(vfs, path, limit)?;
    let repair = checked.repair(ids, now);
    let mut source = open(vfs, path)?;
    let mut copy = open(vfs, path)?;
    let mut file = Draft::new(vfs, new)?;
    let mut rest = Draft::new(vfs, new)?;
    for draft in [&file, &rest] {
        // What was private stays so.
        draft
            .file
            .adopt(path)
            .map_err(to("give the mode of the old file to", new))?;
    }
    let (mut aside, mut number) = (0, 0);
    let mut rows = Forward::new(&mut *source, 0, limit);
    while let Some(row) = rows.next().map_err(to("read", path))? {
        number += 1;
        let Some(bytes) = row.bytes else {
            aside += 1;
            rest.copy(&mut *copy, path, row.at..row.next)?;
            continue;
        };
        aside += usize::from(mend(&repair, number, bytes, &mut file, &mut rest)?);
    }
    file.add(repair.end().as_bytes())?;
    let rest_path = beside(new);
    // The rest first: a new file without it would look complete.
    if aside > 0 {
        rest.finish(&rest_path)?;
    }
    file.finish(new)?;
    vfs.sync_folder(folder_of(new))
        .map_err(to("sync the folder of", new))?;
    let rest = (aside > 0).then_some(rest_path);
    Ok(Repaired {
        problems: checked.problems,
        rest,
        aside,
    })
}

/// Writes what becomes of a line; whether the line itself went aside.
fn mend(
    repair: &RepairPlan,
    number: usize,
    line: &[u8],
    file: &mut Draft<'_>,
    rest: &mut Draft<'_>,
) -> Result<bool, StoreError> {
    let mended = repair.line(number, line);
    file.add(&mended.lines)?;
    if mended.is_aside {
        rest.add(line)?;
    }
    Ok(mended.is_aside)
}

/// Where the lines go that a new file does not have.
fn beside(new: &Path) -> PathBuf {
    let mut name = new.as_os_str().to_os_string();
    name.push(".rest");
    PathBuf::from(name)
}

fn open(vfs: &dyn Vfs, path: &Path) -> Result<Box<dyn VfsFile>, StoreError> {
    // A pipe would keep us waiting as soon as it is opened.
    if !vfs.facts(path).map_err(to("read", path))?.is_file {
        return Err(StoreError::NotAFile {
            path: path.to_path_buf(),
        });
    }
    vfs.open(path, Open::Read).map_err(to("read", path))
}

/// A new file in the making.
struct Draft<'v> {
    file: Box<dyn VfsFile>,
    path: &'v Path,
    buffer: Vec<u8>,
}

impl<'v> Draft<'v> {
    fn new(vfs: &dyn Vfs, path: &'v Path) -> Result<Draft<'v>, StoreError> {
        let file = vfs
            .draft(folder_of(path))
            .map_err(to("create a file in this folder", path))?;
        Ok(Draft {
            file,
            path,
            buffer: Vec::new(),
        })
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < CHUNK {
            Ok(())
        } else {
            self.flush()
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.file
            .write_all(&self.buffer)
            .map_err(to("write", self.path))?;
        self.buffer.clear();
        Ok(())
    }

    /// Adds a part of another file, which may be larger than the memory.
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
                Err(error) => return Err(to("read", path)(error)),
            }
        }
        Ok(())
    }

    /// Gives the file its name, once it is safe.
    fn finish(mut self, name: &Path) -> Result<(), StoreError> {
        self.flush()?;
        self.file.sync().map_err(to("sync", name))?;
        self.file.link(name).map_err(to("create", name))
    }
}
