//! What a list says of the sessions of a project, kept in the state folder so that a list need not open every file.
//!
//! It is derived, and may be removed at any time. An entry counts while its file has the length and the time that it
//! had. A line that is not what was written says nothing; of several lines about a session, the last counts.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use analects_core::Raw;

use super::index::{checked, with_sum};
use crate::places::create_private_folder;
use crate::sessions::{Digest, Listed};
use crate::vfs::{Open, Vfs, folder_of};

/// How many sessions have to be read before what they say is kept.
const WORTH_IT: usize = 32;
/// The longest file that is read: there is no room for more in a list.
const LONGEST: u64 = 256 << 20;
/// How many bytes of lines that do not count any more are kept, beside as many as there are that do.
const SPARE: usize = 1 << 16;

/// What is known of the sessions of a project.
#[derive(Debug, Default)]
pub(super) struct Digests {
    path: PathBuf,
    known: HashMap<String, (Stamp, Digest)>,
    /// How long the file is.
    length: usize,
    /// The lines of those that were read since.
    new: Vec<String>,
}

/// What a file was like when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: i128,
}

impl Stamp {
    fn of(listed: &Listed) -> Stamp {
        Stamp {
            length: listed.length,
            modified: listed.modified.as_nanosecond(),
        }
    }
}

impl Digests {
    /// What is known of a project, in a state folder.
    pub(super) fn read(vfs: &dyn Vfs, path: PathBuf) -> Digests {
        let bytes = read(vfs, &path).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(parse);
        Digests {
            known: lines.collect(),
            length: bytes.len(),
            path,
            new: Vec::new(),
        }
    }

    /// What is known of a session, unless its file has changed.
    pub(super) fn get(&self, listed: &Listed) -> Option<&Digest> {
        let (stamp, digest) = self.known.get(&*listed.name.session)?;
        (*stamp == Stamp::of(listed)).then_some(digest)
    }

    /// Notes what was read of a session.
    pub(super) fn add(&mut self, listed: &Listed, digest: Digest) {
        let stamp = Stamp::of(listed);
        self.new.push(line(&listed.name.session, stamp, &digest));
        self.known
            .insert(listed.name.session.to_string(), (stamp, digest));
    }

    /// Writes down what is new. What goes wrong with it is nobody's loss.
    pub(super) fn keep(&self, vfs: &dyn Vfs, listed: &[&Listed]) {
        if self.new.len() >= WORTH_IT {
            let _ = self.write(vfs, listed);
        }
    }

    fn write(&self, vfs: &dyn Vfs, listed: &[&Listed]) -> io::Result<()> {
        let folder = create_private_folder(vfs, folder_of(&self.path));
        folder.map_err(|error| io::Error::other(error.to_string()))?;
        // A line end first ends what a crash may have left.
        let new = format!("\n{}", self.new.concat());
        let counting = listed.iter().filter_map(|listed| {
            Some(line(
                &listed.name.session,
                Stamp::of(listed),
                self.get(listed)?,
            ))
        });
        let all: String = counting.collect();
        if self.length + new.len() <= 2 * all.len() + SPARE {
            return vfs
                .open(&self.path, Open::Private)?
                .write_all(new.as_bytes());
        }
        let fresh = self.path.with_extension("new");
        let _ = vfs.remove(&fresh);
        vfs.open(&fresh, Open::Private)?.write_all(all.as_bytes())?;
        vfs.rename(&fresh, &self.path)
    }
}

fn read(vfs: &dyn Vfs, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = vfs.open(path, Open::Read)?;
    let facts = file.facts()?;
    if facts.is_file && facts.length <= LONGEST {
        file.read_from(0)
    } else {
        Ok(Vec::new())
    }
}

/// A session as a line.
fn line(session: &str, stamp: Stamp, digest: &Digest) -> String {
    let text = |text: &Option<String>| match text {
        Some(text) => Raw::string(text).as_str().to_string(),
        None => "null".to_string(),
    };
    let Digest {
        name,
        cwd,
        created_at,
        updated_at,
        ..
    } = digest;
    let texts = [name, cwd, created_at, updated_at].map(text).join(",");
    let Digest {
        messages,
        branches,
        records,
        damaged,
        compactions,
        ..
    } = digest;
    let Digest {
        input_tokens,
        output_tokens,
        cost_usd,
        ..
    } = digest;
    let Stamp { length, modified } = stamp;
    let session = Raw::string(session);
    let cost = cost_usd.to_bits();
    let json = format!(
        "[{},{length},\"{modified}\",[{texts}],[{messages},{branches},{records},{damaged},{compactions},\
         {input_tokens},{output_tokens},{cost}]]",
        session.as_str()
    );
    with_sum(&json)
}

fn parse(line: &[u8]) -> Option<(String, (Stamp, Digest))> {
    let (session, length, modified, texts, numbers): (String, u64, String, Texts, [u64; 8]) =
        Raw::parse(checked(line)?).ok()?.to()?;
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
    let digest = Digest {
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
    (cost_usd.is_finite()).then_some((session, (stamp, digest)))
}

/// The texts of a digest.
type Texts = [Option<String>; 4];
