//! The index beside a chain's file: its overview, as far as somebody has gone over it. It is derived, and
//! never synced: whoever reads it checks that the file still is what it was.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Raw, RawMap};
use analects_formats::transcript::crc32c;

use super::rows::Forward;
use crate::sessions::Overview;
use crate::vfs::{Open, Vfs, VfsFile, folder_of};

/// How much of a file is gone over for that at once, so that no append takes forever.
const AT_MOST: u64 = 64 << 20;
/// How many bytes before the end of what was seen are compared.
const PROOF: u64 = 4096;
/// An index is small; anything else under its name is none.
const LONGEST: u64 = 1 << 16;

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

/// Writes the index anew if a file of this length has grown far beyond it; gives how far it goes. What goes
/// wrong with it is nobody's loss.
pub(super) fn keep_up(vfs: &dyn Vfs, path: &Path, length: u64, stride: u64, limit: usize) -> u64 {
    // Somebody else may have written it meanwhile.
    let index = vfs.open(&self::path(path), Open::Read).ok();
    let index = index.and_then(|mut index| parse(&mut *index));
    let seen = index.map_or(0, |index| index.overview.end.min(length));
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
    let index = self::path(path);
    let mut draft = vfs.draft(folder_of(path))?;
    draft.write_all(map.to_raw().as_str().as_bytes())?;
    // A name of its own for each length: two writers do not meet in it.
    let aside = path.with_extension(format!("{}.idx-draft", overview.end));
    match draft.link(&aside) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => vfs.remove(&aside)?,
        linked => linked.and_then(|()| vfs.rename(&aside, &index))?,
    }
    Ok(overview.end)
}

struct Index {
    overview: Overview,
    proof: u32,
}

fn parse(file: &mut dyn VfsFile) -> Option<Index> {
    let facts = file.facts().ok()?;
    if !facts.is_file || facts.length > LONGEST {
        return None;
    }
    let bytes = file.read_from(0).ok()?;
    let map = RawMap::parse(std::str::from_utf8(&bytes).ok()?).ok()?;
    let proof = u32::from_str_radix(&map.get("proof")?.as_string()?, 16).ok()?;
    Some(Index { overview: Overview::from_map(&map)?, proof })
}

/// The index of a file, if the file confirms it.
fn read(vfs: &dyn Vfs, path: &Path, file: &mut dyn VfsFile, length: u64) -> Option<Overview> {
    let index = parse(&mut *vfs.open(&self::path(path), Open::Read).ok()?)?;
    let end = index.overview.end;
    let is_confirmed = end <= length && proof(file, end).ok()? == index.proof;
    is_confirmed.then_some(index.overview)
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
