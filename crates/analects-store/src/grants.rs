//! Grants: the files that a person shared with a model, and the state of such a file.
//!
//! A conversation may come from a stranger and may name any path, so a path in a conversation is only a label. The
//! right to read comes from a [`FileGrant`], which a person creates by naming a file on the command line. The
//! conversation holds the grant's random id; the path is in a record in the state folder, which no conversation can
//! write. Delete a record to revoke the grant.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Raw, RawMap};
use jiff::Timestamp;
use uuid::Uuid;

use crate::StoreError;
use crate::error::cannot;
use crate::folders::{StoreFolders, create_private_folder};
use crate::vfs::{Disk, OpenMode, Vfs, VfsFile, folder_of, is_virtual, open_plain_file};

/// The size limit of a record in bytes; a real one is a path and two words.
const LARGEST_RECORD: u64 = 64 * 1024;

/// The grants that are recorded on this machine.
#[derive(Debug, Clone)]
pub struct FileGrants {
    /// The folder with a record for each grant.
    folder: PathBuf,
}

/// The right to read one file, now and later.
///
/// ```
/// use analects_store::{FileGrant, FileGrants, StoreFolders};
/// use jiff::Timestamp;
///
/// # let folder = tempfile::tempdir()?;
/// # let folders = StoreFolders::in_folder(folder.path());
/// let notes = folder.path().join("notes.txt");
/// std::fs::write(&notes, "ebb at noon")?;
/// let grants = FileGrants::new(&folders);
/// let grant = FileGrant::from_user_path(&notes)?;
/// let id = grants.record(&grant, "notes.txt", "chat --file", Timestamp::now())?.unwrap();
/// // Later, a conversation names the id, and its name for the file.
/// let (_, text) = grants.find(&id, "notes.txt").and_then(|grant| grant.read()).unwrap();
/// assert_eq!(text.as_deref(), Some("ebb at noon"));
/// assert!(grants.find(&id, "something-else.txt").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGrant {
    /// The absolute path without symbolic links.
    path: PathBuf,
}

impl FileGrant {
    /// Creates a grant for a file that a person named, for example with `--file`. Links are followed now, and never
    /// again.
    ///
    /// Never call this with a path from a conversation.
    pub fn from_user_path(path: &Path) -> Result<FileGrant, StoreError> {
        let path = Disk.real_path(path).map_err(cannot("read", path))?;
        Ok(FileGrant { path })
    }

    /// The absolute path of the file, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the kernel generates the content of the file, as in `/proc`. Such a file cannot be read again.
    pub fn is_virtual(&self) -> bool {
        is_virtual(&self.path)
    }

    /// Returns the current state of the file, and its text. The text is `None` if it is not UTF-8 or very large. The
    /// result is `None` if the file is gone; a link, a pipe, a device or a file of `/proc` or `/sys` in its place does
    /// not count.
    pub fn read(&self) -> Option<(FileState, Option<String>)> {
        let mut file = open_plain_file(&self.path).ok()?;
        FileState::of_open_file(&mut *file)
    }
}

impl FileGrants {
    /// Returns the grants in the state folder.
    pub fn new(folders: &StoreFolders) -> FileGrants {
        FileGrants {
            folder: folders.grants_folder(),
        }
    }

    /// Records a grant, and returns its id for the conversation. `name` is the conversation's name for the file, and
    /// `by` describes in a few words who made the grant. Returns `None` if the path is not UTF-8; the file is then not
    /// read again.
    pub fn record(
        &self,
        grant: &FileGrant,
        name: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let Some(real) = grant.path.to_str() else {
            return Ok(None);
        };
        create_private_folder(&Disk, &self.folder)?;
        let id = Uuid::new_v4().simple().to_string();
        let mut record = RawMap::new();
        record.push("path", Raw::string(real));
        record.push("name", Raw::string(name));
        record.push("granted_at", Raw::string(&now.to_string()));
        record.push("granted_by", Raw::string(by));
        let path = self.record_path(&id);
        write_private(&path, &format!("{}\n", record.to_raw())).map_err(cannot("write", &path))?;
        Ok(Some(id))
    }

    /// Finds the grant with this id, if this machine recorded it for a file that conversations call `name`.
    pub fn find(&self, id: &str, name: &str) -> Option<FileGrant> {
        // The id comes from a conversation: it must not lead to another folder.
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return None;
        }
        let record = read_record(&self.record_path(id))?;
        if record.get("name")?.as_string()? != name {
            return None;
        }
        let path = PathBuf::from(record.get("path")?.as_string()?);
        path.is_absolute().then_some(FileGrant { path })
    }

    /// Returns the file of the record with this id.
    fn record_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

/// Reads a record; `None` if there is none, or if it is no record.
fn read_record(path: &Path) -> Option<RawMap> {
    let metadata = Disk.metadata(path).ok()?;
    if !metadata.is_file || metadata.length > LARGEST_RECORD {
        return None;
    }
    let bytes = Disk.open(path, OpenMode::Read).ok()?.read_from(0).ok()?;
    RawMap::parse(str::from_utf8(&bytes).ok()?.trim()).ok()
}

/// Writes a new file that only its owner can read, and syncs it.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = Disk.open(path, OpenMode::Private)?;
    file.write_all(text.as_bytes())?;
    file.sync()?;
    Disk.sync_folder(folder_of(path))
}

/// The size limit in bytes for hashing a file. A larger one is recognised by its time and its length.
const LARGEST_HASHED: u64 = 64 * 1024 * 1024;

/// The state of a file at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The modification time according to the file system, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// The length in bytes.
    pub size: u64,
    /// A hash of the content; `None` for a very large file.
    pub hash: Option<String>,
}

impl FileState {
    /// Returns the state of an open file, and its text. The text is `None` if it is not UTF-8 or very large.
    pub(crate) fn of_open_file(file: &mut dyn VfsFile) -> Option<(FileState, Option<String>)> {
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file)?;
        let modified = metadata.modified;
        if metadata.length > LARGEST_HASHED {
            let state = FileState {
                modified,
                size: metadata.length,
                hash: None,
            };
            return Some((state, None));
        }
        let bytes = file.read_from(0).ok()?;
        let state = FileState {
            modified,
            size: bytes.len() as u64,
            hash: Some(content_hash(&bytes)),
        };
        Some((state, String::from_utf8(bytes).ok()))
    }
}

/// Returns a hash of the content of a file, as [`FileState`] has it. It only has to avoid accidental collisions: an attacker could put the old
/// content back as well.
pub fn content_hash(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes)
        .simple()
        .to_string()
}

#[cfg(test)]
mod tests {
    //! A grant reads the file that was named, and nothing that replaces it.

    use super::*;

    /// The name of the file in conversations.
    const NAME: &str = "notes.txt";

    struct Machine {
        folder: tempfile::TempDir,
        grants: FileGrants,
    }

    impl Machine {
        fn new() -> Machine {
            let folder = tempfile::tempdir().unwrap();
            let state = folder.path().join("state");
            let folders = StoreFolders {
                data: folder.path().join("data"),
                state,
                ..StoreFolders::in_folder("")
            };
            Machine {
                folder,
                grants: FileGrants::new(&folders),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn grant(&self, name: &str) -> String {
            let grant = FileGrant::from_user_path(&self.path(name)).unwrap();
            self.grants
                .record(&grant, NAME, "a test", Timestamp::now())
                .unwrap()
                .unwrap()
        }

        fn text(&self, id: &str) -> Option<String> {
            self.grants.find(id, NAME)?.read()?.1
        }
    }

    #[test]
    fn a_grant_survives_edits_and_is_unknown_on_another_machine() {
        let machine = Machine::new();
        std::fs::write(machine.path("notes.txt"), "one").unwrap();
        let id = machine.grant("notes.txt");
        std::fs::write(machine.path("notes.txt"), "two").unwrap();
        assert_eq!(machine.text(&id).as_deref(), Some("two"));
        assert_eq!(Machine::new().text(&id), None);
    }

    #[test]
    fn a_grant_is_found_only_by_its_id_and_name() {
        let machine = Machine::new();
        std::fs::write(machine.path("notes.txt"), "one").unwrap();
        let id = machine.grant("notes.txt");
        std::fs::copy(
            machine.grants.record_path(&id),
            machine.path("state/stray.json"),
        )
        .unwrap();
        let path = machine.path("notes.txt").to_string_lossy().into_owned();
        let padded = format!("{id}0");
        for wrong in [
            "",
            "../stray",
            &path,
            &padded,
            &id[..31],
            "00000000000000000000000000000000",
        ] {
            assert!(machine.grants.find(wrong, NAME).is_none(), "{wrong}");
        }
        assert!(machine.grants.find(&id, NAME).is_some());
        assert!(
            machine.grants.find(&id, "README.md").is_none(),
            "another name"
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_link_or_socket_in_place_of_the_file_is_not_read() {
        use std::os::unix::fs::symlink;
        let machine = Machine::new();
        std::fs::create_dir(machine.path("folder")).unwrap();
        std::fs::create_dir(machine.path("elsewhere")).unwrap();
        std::fs::write(machine.path("secret"), "secret").unwrap();
        std::fs::write(machine.path("elsewhere/notes.txt"), "secret").unwrap();
        std::fs::write(machine.path("folder/notes.txt"), "one").unwrap();
        let id = machine.grant("folder/notes.txt");
        let remove = || std::fs::remove_file(machine.path("folder/notes.txt")).unwrap();
        remove();
        symlink(machine.path("secret"), machine.path("folder/notes.txt")).unwrap();
        assert_eq!(machine.text(&id), None, "a link");
        remove();
        std::os::unix::net::UnixListener::bind(machine.path("folder/notes.txt")).unwrap();
        assert_eq!(machine.text(&id), None, "a socket");
        remove();
        std::fs::remove_dir(machine.path("folder")).unwrap();
        symlink(machine.path("elsewhere"), machine.path("folder")).unwrap();
        assert_eq!(machine.text(&id), None, "a folder that is a link");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_virtual_file_is_not_read() {
        for path in [
            "/proc/self/environ",
            "/proc/version",
            "/sys/kernel/uevent_seqnum",
            "/dev/zero",
        ] {
            let Ok(grant) = FileGrant::from_user_path(Path::new(path)) else {
                continue;
            };
            assert_eq!(grant.read(), None, "{path}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_followed_once_when_a_person_names_it() {
        let machine = Machine::new();
        std::fs::write(machine.path("notes.txt"), "one").unwrap();
        std::fs::write(machine.path("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("notes.txt", machine.path("link")).unwrap();
        let id = machine.grant("link");
        std::fs::remove_file(machine.path("link")).unwrap();
        std::os::unix::fs::symlink("secret", machine.path("link")).unwrap();
        assert_eq!(machine.text(&id).as_deref(), Some("one"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_path_that_is_not_utf_8_gets_no_grant() {
        use std::os::unix::ffi::OsStrExt;
        let machine = Machine::new();
        let path = machine
            .path("")
            .join(std::ffi::OsStr::from_bytes(b"bad\xff.txt"));
        std::fs::write(&path, "one").unwrap();
        let grant = FileGrant::from_user_path(&path).unwrap();
        assert!(grant.read().is_some(), "it can be shown");
        let id = machine
            .grants
            .record(&grant, NAME, "a test", Timestamp::now())
            .unwrap();
        assert_eq!(id, None);
    }
}
