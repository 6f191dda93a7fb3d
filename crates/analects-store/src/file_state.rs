//! What a file of the person's is like: for those who have to know whether it changed since they saw it.

use uuid::Uuid;

use crate::vfs::VfsFile;

/// A larger file is not hashed: its time and its length have to do.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A file at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// When it was last changed, as its file system says, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Its length in bytes.
    pub size: u64,
    /// A hash of its content, unless it is very large.
    pub hash: Option<String>,
}

impl FileState {
    /// What an open file is like, and its text; the text is `None` if it is not UTF-8, or very large.
    pub(crate) fn of_open_file(file: &mut dyn VfsFile) -> Option<(FileState, Option<String>)> {
        let facts = file.facts().ok().filter(|facts| facts.is_file)?;
        let modified = facts.modified;
        if facts.length > LARGEST {
            return Some((FileState { modified, size: facts.length, hash: None }, None));
        }
        let bytes = file.read_from(0).ok()?;
        let size = bytes.len() as u64;
        let hash = Some(hash(&bytes));
        Some((FileState { modified, size, hash }, String::from_utf8(bytes).ok()))
    }
}

/// The name of a content: a hash that nobody makes by chance, from a crate that is here anyway. Nothing depends
/// on its withstanding an attacker, who could put the old content back as well.
fn hash(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes).simple().to_string()
}
