//! The index beside the file of a chain: a cache of its [`Overview`]. It is never synced, and may be deleted at any time;
//! a reader verifies it against the file. Each update appends a line, and the last valid one counts, because replacing a
//! file can be slow on some file systems.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Raw, RawMap};
use analects_formats::transcript::crc32c;

use super::rows::Forward;
use crate::sessions::Overview;
use crate::vfs::{OpenMode, Vfs, VfsFile};

/// The number of bytes of a file that one update reads at most, so that no append takes very long.
const MAX_UPDATE: u64 = 64 << 20;
/// The number of bytes before the end of an overview that the checksum covers.
const CHECKED_BYTES: u64 = 4096;
/// The number of bytes at the end of an index that are read first.
const MIN_TAIL: u64 = 1 << 14;
/// The number of bytes at the end of an index that are read at most.
const MAX_TAIL: u64 = 1 << 26;

/// The settings of a store.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoreLimits {
    /// The number of bytes by which a file grows until its index is updated.
    pub stride: u64,
    /// The size limit of a line in bytes.
    pub line: usize,
}

/// Returns the path of the index of a file.
pub(super) fn path(file: &Path) -> PathBuf {
    file.with_extension("idx")
}

/// Returns the overview of a file, from the index and the rows after it. Updates the index if there were many.
pub(super) fn overview(
    vfs: &dyn Vfs,
    path: &Path,
    file: &mut dyn VfsFile,
    length: u64,
    limits: StoreLimits,
) -> io::Result<Overview> {
    let known = read(vfs, path, file, length).unwrap_or_default();
    let start = known.end;
    let overview = add_rows(known, file, u64::MAX, limits.line)?;
    if overview.end.saturating_sub(start) >= limits.stride {
        // Without the right to write here, the next reader reads these rows again.
        let _ = append(vfs, path, file, &overview);
    }
    Ok(overview)
}

/// Adds the rows after an overview to it, until it has read more than `max_bytes`.
fn add_rows(
    mut overview: Overview,
    file: &mut dyn VfsFile,
    max_bytes: u64,
    line_limit: usize,
) -> io::Result<Overview> {
    let start = overview.end;
    let mut rows = Forward::new(file, start, line_limit);
    while let Some(row) = rows.next()? {
        overview.add(row);
        if overview.end - start > max_bytes {
            break;
        }
    }
    Ok(overview)
}

/// Updates the index if the file, which has this length, has grown far beyond it. Returns the end of the indexed part.
/// Errors are ignored, because the index is only a cache.
pub(super) fn update(vfs: &dyn Vfs, path: &Path, length: u64, limits: StoreLimits) -> u64 {
    // Another process may have updated it.
    let last = entries(vfs, path).next();
    let indexed = last.map_or(0, |last| last.overview.end.min(length));
    if length - indexed < limits.stride {
        return indexed;
    }
    // After an error, the next attempt comes one stride later.
    write(vfs, path, length, limits.line).unwrap_or(length)
}

/// Reads the rows after the index, and appends an entry for them. Returns the end of the indexed part.
fn write(vfs: &dyn Vfs, path: &Path, length: u64, line_limit: usize) -> io::Result<u64> {
    let mut file = vfs.open(path, OpenMode::Read)?;
    let known = read(vfs, path, &mut *file, length).unwrap_or_default();
    let overview = add_rows(known, &mut *file, MAX_UPDATE, line_limit)?;
    append(vfs, path, &mut *file, &overview)?;
    Ok(overview.end)
}

/// Appends an entry to the index.
fn append(
    vfs: &dyn Vfs,
    path: &Path,
    file: &mut dyn VfsFile,
    overview: &Overview,
) -> io::Result<()> {
    let proof = checksum_before(file, overview.end)?;
    let mut map = overview.to_map();
    map.push("proof", Raw::string(&format!("{proof:08x}")));
    // The leading line end terminates a line that a crash cut off.
    let line = format!("\n{}", with_checksum(map.to_raw().as_str()));
    vfs.open(&self::path(path), OpenMode::Private)?
        .write_all(line.as_bytes())
}

/// The length of the checksum at the beginning of a line, with the blank after it.
const CHECKSUM_LENGTH: usize = 9;

/// Returns a line of JSON that begins with its checksum.
pub(super) fn with_checksum(json: &str) -> String {
    format!("{:08x} {json}\n", crc32c(json.as_bytes()))
}

/// Returns the JSON of a line without its end; `None` if the checksum is wrong.
pub(super) fn verified_json(line: &[u8]) -> Option<&str> {
    let (sum, json) = line.split_at_checked(CHECKSUM_LENGTH)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    if sum != crc32c(json) {
        return None;
    }
    std::str::from_utf8(json).ok()
}

/// A line of the index.
struct IndexEntry {
    /// The overview of all rows so far.
    overview: Overview,
    /// The checksum of the bytes before the end of the overview.
    proof: u32,
}

/// Returns the valid entries at the end of the index, last one first.
fn entries(vfs: &dyn Vfs, path: &Path) -> impl Iterator<Item = IndexEntry> {
    let bytes = last_lines(vfs, path).unwrap_or_default();
    let mut end = bytes.len();
    std::iter::from_fn(move || {
        while end > 0 {
            let start = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1);
            let entry = parse(&bytes[start..end]);
            end = start.saturating_sub(1);
            if entry.is_some() {
                return entry;
            }
        }
        None
    })
}

/// Reads the end of an index, far enough to hold a valid entry if there is one.
fn last_lines(vfs: &dyn Vfs, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = vfs.open(&self::path(path), OpenMode::Read)?;
    let length = file.metadata()?.length;
    let mut wanted = MIN_TAIL;
    loop {
        let bytes = file.read_from(length.saturating_sub(wanted))?;
        let mut lines = bytes.split(|byte| *byte == b'\n');
        if wanted >= length.min(MAX_TAIL) || lines.any(|line| parse(line).is_some()) {
            return Ok(bytes);
        }
        wanted *= 8;
    }
}

/// Parses a line; `None` if it is damaged.
fn parse(line: &[u8]) -> Option<IndexEntry> {
    let map = RawMap::parse(verified_json(line)?).ok()?;
    let proof = u32::from_str_radix(&map.get("proof")?.as_string()?, 16).ok()?;
    Some(IndexEntry {
        overview: Overview::from_map(&map)?,
        proof,
    })
}

/// Returns the overview of the last entry whose checksum matches the file.
fn read(vfs: &dyn Vfs, path: &Path, file: &mut dyn VfsFile, length: u64) -> Option<Overview> {
    entries(vfs, path)
        .find(|entry| is_confirmed(entry, file, length))
        .map(|entry| entry.overview)
}

/// Returns whether the file still has the bytes that the entry was made from, judged by the last ones.
fn is_confirmed(entry: &IndexEntry, file: &mut dyn VfsFile, length: u64) -> bool {
    let end = entry.overview.end;
    end <= length && checksum_before(file, end).is_ok_and(|sum| sum == entry.proof)
}

/// Returns the checksum of the bytes before an offset; an error unless a row begins there.
fn checksum_before(file: &mut dyn VfsFile, end: u64) -> io::Result<u32> {
    let length = end.min(CHECKED_BYTES);
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(end - length + filled as u64, &mut bytes[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => filled += read,
        }
    }
    if bytes.last().is_some_and(|byte| *byte != b'\n') {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(crc32c(&bytes))
}
