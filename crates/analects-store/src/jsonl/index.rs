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
/// How many bytes at the end of an index are looked at.
const TAIL: u64 = 1 << 14;

/// Where the index of a file is.
pub(super) fn path(file: &Path) -> PathBuf {
    file.with_extension("idx")
}

/// The overview of a file: what the index says, and what came after it.
pub(super) fn overview(
    vfs: &dyn Vfs,
    path: &Path,
    file: &mut dyn VfsFile,
    length: u64,
    limit: usize,
) -> io::Result<Overview> {
    let known = read(vfs, path, file, length).unwrap_or_default();
    go_on(known, file, u64::MAX, limit)
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
pub(super) fn keep_up(vfs: &dyn Vfs, path: &Path, length: u64, stride: u64, limit: usize) -> u64 {
    // Somebody else may have done so meanwhile.
    let seen = entries(vfs, path).first().map_or(0, |last| last.overview.end.min(length));
    if length - seen < stride {
        return seen;
    }
    // If it cannot be written, the next attempt is one stride later.
    write(vfs, path, length, limit).unwrap_or(length)
}

fn write(vfs: &dyn Vfs, path: &Path, length: u64, limit: usize) -> io::Result<u64> {
    let mut file = vfs.open(path, Open::Read)?;
    let known = read(vfs, path, &mut *file, length).unwrap_or_default();
    let overview = go_on(known, &mut *file, AT_MOST, limit)?;
    let proof = proof(&mut *file, overview.end)?;
    let mut map = overview.to_map();
    map.push("proof", Raw::string(&format!("{proof:08x}")));
    // A line end first ends what a crash may have left.
    let line = format!("\n{}\n", map.to_raw());
    vfs.open(&self::path(path), Open::Private)?.write_all(line.as_bytes())?;
    Ok(overview.end)
}

struct Entry {
    overview: Overview,
    proof: u32,
}

/// The last entries of the index, the last one first.
fn entries(vfs: &dyn Vfs, path: &Path) -> Vec<Entry> {
    let bytes = vfs.open(&self::path(path), Open::Read).and_then(|mut file| {
        let length = file.facts()?.length;
        file.read_from(length.saturating_sub(TAIL))
    });
    let bytes = bytes.unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').rev().filter_map(parse).collect()
}

fn parse(line: &[u8]) -> Option<Entry> {
    let map = RawMap::parse(std::str::from_utf8(line).ok()?).ok()?;
    let proof = u32::from_str_radix(&map.get("proof")?.as_string()?, 16).ok()?;
    Some(Entry { overview: Overview::from_map(&map)?, proof })
}

/// The last entry that the file confirms.
fn read(vfs: &dyn Vfs, path: &Path, file: &mut dyn VfsFile, length: u64) -> Option<Overview> {
    let mut entries = entries(vfs, path).into_iter();
    let is_confirmed = |entry: &Entry, file: &mut dyn VfsFile| {
        let end = entry.overview.end;
        end <= length && proof(file, end).is_ok_and(|proof| proof == entry.proof)
    };
    entries.find(|entry| is_confirmed(entry, file)).map(|entry| entry.overview)
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
