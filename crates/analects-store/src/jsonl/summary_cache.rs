//! A cache in the state folder of the summaries of a project's sessions, so that a list need not open every file.
//!
//! It may be deleted at any time. An entry is valid while its file has the same length and modification time. A line
//! with a wrong checksum is ignored; of several lines about a session, the last counts.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use analects_core::Raw;

use super::index::{verified_json, with_checksum};
use crate::folders::create_private_folder;
use crate::sessions::{ListedSession, SessionSummary};
use crate::vfs::{OpenMode, Vfs, folder_of};

/// The number of new summaries that are worth a write.
const MIN_NEW: usize = 32;
/// The size limit of the cache in bytes.
const MAX_FILE: u64 = 256 << 20;
/// The number of bytes of outdated lines that the file may hold in addition to the size of the valid ones.
const MAX_OUTDATED: usize = 1 << 16;

/// The cached summaries of the sessions of a project.
#[derive(Debug, Default)]
pub(super) struct ProjectSummaries {
    /// The file of the cache.
    path: PathBuf,
    /// The summaries by session id, each with the stamp of the file that it was made from.
    by_session: HashMap<String, (Stamp, SessionSummary)>,
    /// The length of the file in bytes.
    length: usize,
    /// The lines of new summaries.
    new: Vec<String>,
}

/// The length and the modification time of the file of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: i128,
}

impl Stamp {
    /// Returns the stamp of a session according to the list.
    fn of(session: &ListedSession) -> Stamp {
        Stamp {
            length: session.length,
            modified: session.modified.as_nanosecond(),
        }
    }
}

impl ProjectSummaries {
    /// Reads the cache of a project. One that cannot be read is empty.
    pub(super) fn read(vfs: &dyn Vfs, path: PathBuf) -> ProjectSummaries {
        let bytes = read(vfs, &path).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        ProjectSummaries {
            by_session: lines.filter_map(parse).collect(),
            length: bytes.len(),
            path,
            new: Vec::new(),
        }
    }

    /// Returns the summary of a session; `None` if there is none, or if the file has changed since.
    pub(super) fn get(&self, session: &ListedSession) -> Option<&SessionSummary> {
        let (stamp, summary) = self.by_session.get(&*session.name.session)?;
        (*stamp == Stamp::of(session)).then_some(summary)
    }

    /// Adds the summary of a session.
    pub(super) fn add(&mut self, session: &ListedSession, summary: SessionSummary) {
        let id = &session.name.session;
        let stamp = Stamp::of(session);
        self.new.push(line(id, stamp, &summary));
        self.by_session.insert(id.to_string(), (stamp, summary));
    }

    /// Writes the cache if there are enough new summaries. Errors are ignored, because it is only a cache.
    pub(super) fn save(&self, vfs: &dyn Vfs, sessions: &[&ListedSession]) {
        if self.new.len() >= MIN_NEW {
            let _ = self.write(vfs, sessions);
        }
    }

    /// Appends the new lines, or rewrites the file if too many of its lines are outdated.
    fn write(&self, vfs: &dyn Vfs, sessions: &[&ListedSession]) -> io::Result<()> {
        create_private_folder(vfs, folder_of(&self.path))
            .map_err(|error| io::Error::other(error.to_string()))?;
        // The leading line end terminates a line that a crash cut off.
        let new = format!("\n{}", self.new.concat());
        let mut all = String::new();
        for session in sessions {
            if let Some(summary) = self.get(session) {
                all.push_str(&line(&session.name.session, Stamp::of(session), summary));
            }
        }
        if self.length + new.len() <= 2 * all.len() + MAX_OUTDATED {
            return vfs
                .open(&self.path, OpenMode::Private)?
                .write_all(new.as_bytes());
        }
        let fresh = self.path.with_extension("new");
        let _ = vfs.remove(&fresh);
        vfs.open(&fresh, OpenMode::Private)?
            .write_all(all.as_bytes())?;
        vfs.rename(&fresh, &self.path)
    }
}

/// Reads the file of the cache. One that is too large counts as empty.
fn read(vfs: &dyn Vfs, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = vfs.open(path, OpenMode::Read)?;
    let metadata = file.metadata()?;
    if !metadata.is_file || metadata.length > MAX_FILE {
        return Ok(Vec::new());
    }
    file.read_from(0)
}

/// Formats a session as a line.
fn line(session: &str, stamp: Stamp, summary: &SessionSummary) -> String {
    let SessionSummary {
        name,
        cwd,
        created_at,
        updated_at,
        messages,
        branches,
        records,
        damaged,
        compactions,
        input_tokens,
        output_tokens,
        cost_usd,
    } = summary;
    let texts = [name, cwd, created_at, updated_at]
        .map(text_or_null)
        .join(",");
    let Stamp { length, modified } = stamp;
    let session = Raw::string(session);
    let cost = cost_usd.to_bits();
    let json = format!(
        "[{},{length},\"{modified}\",[{texts}],[{messages},{branches},{records},{damaged},{compactions},\
         {input_tokens},{output_tokens},{cost}]]",
        session.as_str()
    );
    with_checksum(&json)
}

/// Formats an optional text as JSON.
fn text_or_null(text: &Option<String>) -> String {
    match text {
        Some(text) => Raw::string(text).as_str().to_string(),
        None => "null".to_string(),
    }
}

/// Parses a line; `None` if it is damaged.
fn parse(line: &[u8]) -> Option<(String, (Stamp, SessionSummary))> {
    let (session, length, modified, texts, numbers): (String, u64, String, Texts, [u64; 8]) =
        Raw::parse(verified_json(line)?).ok()?.to()?;
    let [name, cwd, created_at, updated_at] = texts;
    let [
        messages,
        branches,
        records,
        damaged,
        compactions,
        input_tokens,
        output_tokens,
        cost,
    ] = numbers;
    let cost_usd = f64::from_bits(cost);
    if !cost_usd.is_finite() {
        return None;
    }
    let summary = SessionSummary {
        name,
        cwd,
        created_at,
        updated_at,
        messages,
        branches,
        records,
        damaged,
        compactions,
        input_tokens,
        output_tokens,
        cost_usd,
    };
    let stamp = Stamp {
        length,
        modified: modified.parse().ok()?,
    };
    Some((session, (stamp, summary)))
}

/// The texts of a summary: name, folder, creation time, update time.
type Texts = [Option<String>; 4];
