//! The index beside a chain's file: its overview, as far as somebody has gone over it. It is derived, and
//! never synced: whoever reads it checks that the file still is what it was. It grows by a line each time,
//! of which the last counts, since a file system may take long to put one file in the place of another.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Raw, RawMap};
use analects_formats::transcript::crc32c;

use super::rows::Forward;
use crate::sessions::Overview;
use crate::vfs::{Open, Vfs, VfsFile};

/// How much of a file is gone over for that at once, so that no append takes forever.
const AT_MOST: u64 = 64 << 20;
/// How many bytes before the end of what was seen are compared.
const PROOF: u64 = 4096;
/// How many bytes at the end of an index are looked at, at first and at most.
const TAIL: (u64, u64) = (1 << 14, 1 << 26);

/// What a store goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How far a file grows beyond its index before that goes on.
    pub stride: u64,
    /// The longest line that is read.
    pub line: usize,
}

/// Where the index of a file is.
pub(super) fn path(file: &Path) -> PathBuf {
    file.with_extension("idx")
}

/// The overview of a file: what the index says, and what came after it. If that was much, the index goes on.
pub(super) fn overview(
    vfs: &dyn Vfs,
    path: &Path,
    file: &mut dyn VfsFile,
    length: u64,
    limits: Limits,
) -> io::Result<Overview> {
    let known = read(vfs, path, file, length).unwrap_or_default();
    let start = known.end;
    let overview = go_on(known, file, u64::MAX, limits.line)?;
    if overview.end.saturating_sub(start) >= limits.stride {
        // Whoever may not write here goes over it again the next time.
        let _ = add(vfs, path, file, &overview);
    }
    Ok(overview)
}

/// Goes over the rows behind an overview until it has seen so many bytes.
fn go_on(
    mut overview: Overview,
    file: &mut dyn VfsFile,
    at_most: u64,
    limit: usize,
) -> io::Result<Overview> {
    let start = overview.end;
    let mut rows = Forward::new(file, start, limit);
    while let Some(row) = rows.next()? {
        overview.add(row);
        if overview.end - start > at_most {
            break;
        }
    }
    Ok(overview)
}

/// Goes on with the index if a file of this length has grown far beyond it; gives how far it goes. What goes
/// wrong with it is nobody's loss.
pub(super) fn keep_up(vfs: &dyn Vfs, path: &Path, length: u64, limits: Limits) -> u64 {
    // Somebody else may have done so meanwhile.
    let seen = entries(vfs, path)
        .next()
        .map_or(0, |last| last.overview.end.min(length));
    if length - seen < limits.stride {
        return seen;
    }
    // If it cannot be written, the next attempt is one stride later.
    write(vfs, path, length, limits.line).unwrap_or(length)
}

fn write(vfs: &dyn Vfs, path: &Path, length: u64, limit: usize) -> io::Result<u64> {
    let mut file = vfs.open(path, Open::Read)?;
    let known = read(vfs, path, &mut *file, length).unwrap_or_default();
    let overview = go_on(known, &mut *file, AT_MOST, limit)?;
    add(vfs, path, &mut *file, &overview)?;
    Ok(overview.end)
}

/// Adds an entry to the index.
fn add(vfs: &dyn Vfs, path: &Path, file: &mut dyn VfsFile, overview: &Overview) -> io::Result<()> {
    let proof = proof(file, overview.end)?;
    let mut map = overview.to_map();
    map.push("proof", Raw::string(&format!("{proof:08x}")));
    // A line end first ends what a crash may have left.
    let line = format!("\n{}", with_sum(map.to_raw().as_str()));
    vfs.open(&self::path(path), Open::Private)?
        .write_all(line.as_bytes())
}

/// How long the checksum is at the beginning of a line, with the blank behind it.
const SUM: usize = 9;

/// A line of JSON behind its checksum.
pub(super) fn with_sum(json: &str) -> String {
    format!("{:08x} {json}\n", crc32c(json.as_bytes()))
}

/// The JSON of a line, without its end, if it is what was written.
pub(super) fn checked(line: &[u8]) -> Option<&str> {
    let (sum, json) = line.split_at_checked(SUM)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    if sum == crc32c(json) {
        std::str::from_utf8(json).ok()
    } else {
        None
    }
}

struct Entry {
    overview: Overview,
    proof: u32,
}

/// The last entries of the index, the last one first.
fn entries(vfs: &dyn Vfs, path: &Path) -> impl Iterator<Item = Entry> {
    let bytes = last_lines(vfs, path).unwrap_or_default();
    let mut ends = bytes.len();
    std::iter::from_fn(move || {
        while ends > 0 {
            let start = memchr::memrchr(b'\n', &bytes[..ends]).map_or(0, |at| at + 1);
            let entry = parse(&bytes[start..ends]);
            ends = start.saturating_sub(1);
            if entry.is_some() {
                return entry;
            }
        }
        None
    })
}

/// The end of an index, with a whole entry in it if there is one.
fn last_lines(vfs: &dyn Vfs, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = vfs.open(&self::path(path), Open::Read)?;
    let length = file.facts()?.length;
    let mut wanted = TAIL.0;
    loop {
        let bytes = file.read_from(length.saturating_sub(wanted))?;
        let mut lines = bytes.split(|byte| *byte == b'\n');
        if wanted >= length.min(TAIL.1) || lines.any(|line| parse(line).is_some()) {
            return Ok(bytes);
        }
        wanted *= 8;
    }
}

fn parse(line: &[u8]) -> Option<Entry> {
    let map = RawMap::parse(checked(line)?).ok()?;
    let proof = u32::from_str_radix(&map.get("proof")?.as_string()?, 16).ok()?;
    Some(Entry {
        overview: Overview::from_map(&map)?,
        proof,
    })
}

/// The last entry that the file confirms.
fn read(vfs: &dyn Vfs, path: &Path, file: &mut dyn VfsFile, length: u64) -> Option<Overview> {
    let mut entries = entries(vfs, path);
    let is_confirmed = |entry: &Entry, file: &mut dyn VfsFile| {
        let end = entry.overview.end;
        end <= length && proof(file, end).is_ok_and(|proof| proof == entry.proof)
    };
    entries
        .find(|entry| is_confirmed(entry, file))
        .map(|entry| entry.overview)
}

/// A checksum of the bytes before an offset, at which a row must begin.
fn proof(file: &mut dyn VfsFile, end: u64) -> io::Result<u32> {
    let length = end.min(PROOF);
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
