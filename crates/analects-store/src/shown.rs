//! Which files were shown to a model here. A message file says itself what was shown in it, but it may come from
//! elsewhere, and then it may name any file of this machine: only what is noted here is read again.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::StoreError;
use crate::error::to;
use crate::locked_file::real_path;
use crate::places::{Places, create_private_folder};
use crate::vfs::{Disk, Open, Vfs, folder_of};

/// The files that were shown in one conversation, by the names that they have in it.
#[derive(Debug, Clone)]
pub struct ShownFiles {
    /// Where that is noted, a name a line.
    path: PathBuf,
}

impl ShownFiles {
    /// The files that were shown in the conversation at `path`.
    pub fn of(path: &Path, places: &Places) -> ShownFiles {
        // A link to it is the same conversation.
        let path = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
        let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, path.as_os_str().as_encoded_bytes());
        ShownFiles { path: places.state.join("shown").join(name.simple().to_string()) }
    }

    /// Whether a file was shown. What cannot be read says nothing.
    pub fn contains(&self, name: &str) -> bool {
        let line = line(name);
        self.noted().split(|byte| *byte == b'\n').any(|noted| noted == line.as_bytes())
    }

    fn noted(&self) -> Vec<u8> {
        let read = || Disk.open(&self.path, Open::Read).ok()?.read_from(0).ok();
        read().unwrap_or_default()
    }

    /// Notes that a file was shown.
    pub fn add(&self, name: &str) -> Result<(), StoreError> {
        match self.contains(name) {
            true => Ok(()),
            // A line that a kill cut off is none.
            false => self.append(format!("\n{}\n", line(name)).as_bytes()),
        }
    }

    /// Notes that the same files were shown as in the conversation that this one is a copy of.
    pub fn take_over(&self, original: &ShownFiles) -> Result<(), StoreError> {
        match original.noted() {
            noted if noted.is_empty() => Ok(()),
            noted => self.append(&noted),
        }
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StoreError> {
        create_private_folder(&Disk, folder_of(&self.path))?;
        let written = || {
            let mut file = Disk.open(&self.path, Open::Private)?;
            file.write_all(bytes)
        };
        written().map_err(to("write", &self.path))
    }
}

/// A name as a line.
fn line(name: &str) -> String {
    format!("{name:?}")
}

#[cfg(test)]
mod tests {
    //! What is noted for one conversation holds for no other.

    use super::*;

    #[test]
    fn a_file_was_shown_where_it_was_shown_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let places = Places { data: folder.path().join("data"), state };
        let one = ShownFiles::of(Path::new("/talks/one.msg.md"), &places);
        assert!(!one.contains("notes.txt"));
        for name in ["notes.txt", "two\nlines", "论 语", "notes.txt"] {
            one.add(name).unwrap();
            assert!(one.contains(name), "{name}");
        }
        assert!(!one.contains("notes") && !one.contains("lines") && !one.contains(""));
        let two = ShownFiles::of(Path::new("/talks/two.msg.md"), &places);
        assert!(!two.contains("notes.txt"));
        two.take_over(&one).unwrap();
        assert!(two.contains("notes.txt") && two.contains("论 语") && !two.contains("lines"));
    }
}
