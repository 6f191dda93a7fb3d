//! The files that a person let a model see, recorded on this machine, and what such a file is like at a moment.
//!
//! A conversation may come from a stranger and may name any path, so a path in a conversation is only a label. The
//! right to read comes from a [`FileGrant`], and a grant is made when a person names a file on the command line. The
//! conversation carries the grant's random id; the path stands in a record in the state folder, which no conversation
//! can write. Delete a record to take the right away.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Raw, RawMap};
use jiff::Timestamp;
use uuid::Uuid;

use crate::StoreError;
use crate::error::to;
use crate::places::{Places, create_private_folder};
use crate::vfs::{Disk, Open, Vfs, VfsFile, folder_of, is_made_up, open_plain_file};

/// The largest record that is read; a real one is a path and two words.
const LARGEST_RECORD: u64 = 64 * 1024;

/// The grants of this machine.
#[derive(Debug, Clone)]
pub struct FileGrants {
    folder: PathBuf,
}

/// The right to read one file, now and later.
///
/// ```
/// use analects_store::{FileGrant, FileGrants, Places};
/// use jiff::Timestamp;
///
/// # let folder = tempfile::tempdir()?;
/// # let places = Places::in_folder(folder.path());
/// let notes = folder.path().join("notes.txt");
/// std::fs::write(&notes, "ebb at noon")?;
/// let grants = FileGrants::of(&places);
/// let grant = FileGrant::named_by_a_person(&notes)?;
/// let id = grants.record(&grant, "notes.txt", "chat --file", Timestamp::now())?.unwrap();
/// // Later, a conversation brings the id, and the name that it has for the file.
/// let (_, text) = grants.find(&id, "notes.txt").and_then(|grant| grant.read()).unwrap();
/// assert_eq!(text.as_deref(), Some("ebb at noon"));
/// assert!(grants.find(&id, "something-else.txt").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGrant {
    /// Absolute, without symbolic links.
    path: PathBuf,
}

impl FileGrant {
    /// The grant for a file that a person named, for example with `--file`. Links are followed now, and never later.
    ///
    /// Never call this with a path that a conversation names.
    pub fn named_by_a_person(path: &Path) -> Result<FileGrant, StoreError> {
        let path = Disk.real_path(path).map_err(to("read", path))?;
        Ok(FileGrant { path })
    }

    /// The file, as an absolute path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the kernel makes the file up as it is read, so that there is nothing to read again.
    pub fn is_made_up(&self) -> bool {
        is_made_up(&self.path)
    }

    /// What the file is like now, and its text; the text is `None` if it is not UTF-8, or very large. `None` if there
    /// is no such file any more: a link, a pipe, a device or a file of `/proc` or `/sys` in its place is not it.
    pub fn read(&self) -> Option<(FileState, Option<String>)> {
        let mut file = open_plain_file(&self.path).ok()?;
        FileState::of_open_file(&mut *file)
    }
}

impl FileGrants {
    /// The grants that are recorded in the state folder.
    pub fn of(places: &Places) -> FileGrants {
        FileGrants {
            folder: places.state.join("grants"),
        }
    }

    /// Records a grant; gives its id, for the conversation to carry. `name` is what the conversation calls the file, and
    /// `by` says in a few words who gave the grant. A path that is not UTF-8 gets none: the file is not read again.
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
        let path = self.record_of(&id);
        write_private(&path, &format!("{}\n", record.to_raw())).map_err(to("write", &path))?;
        Ok(Some(id))
    }

    /// The grant with this id, if this machine gave it for a file that conversations call `name`.
    pub fn find(&self, id: &str, name: &str) -> Option<FileGrant> {
        // The id comes from a conversation: it must not lead to another folder.
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return None;
        }
        let path = self.record_of(id);
        let facts = Disk.facts(&path).ok()?;
        if !facts.is_file || facts.length > LARGEST_RECORD {
            return None;
        }
        let bytes = Disk.open(&path, Open::Read).ok()?.read_from(0).ok()?;
        let record = RawMap::parse(str::from_utf8(&bytes).ok()?.trim()).ok()?;
        record
            .get("name")?
            .as_string()
            .filter(|known| known == name)?;
        let path = PathBuf::from(record.get("path")?.as_string()?);
        path.is_absolute().then_some(FileGrant { path })
    }

    fn record_of(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

/// Writes a new file that only its owner can read, and brings it to the disk.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = Disk.open(path, Open::Private)?;
    file.write_all(text.as_bytes())?;
    file.sync()?;
    Disk.sync_folder(folder_of(path))
}

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
            return Some((
                FileState {
                    modified,
                    size: facts.length,
                    hash: None,
                },
                None,
            ));
        }
        let bytes = file.read_from(0).ok()?;
        let size = bytes.len() as u64;
        let hash = Some(hash(&bytes));
        Some((
            FileState {
                modified,
                size,
                hash,
            },
            String::from_utf8(bytes).ok(),
        ))
    }
}

/// The name of a content: a hash that nobody makes by chance, from a crate that is here anyway. Nothing depends
/// on its withstanding an attacker, who could put the old content back as well.
fn hash(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes)
        .simple()
        .to_string()
}

#[cfg(test)]
mod tests {
    //! A grant reads the file that was named, and nothing that takes its place.

    use super::*;

    /// What conversations call the file.
    const NAME: &str = "notes.txt";

    struct Machine {
        folder: tempfile::TempDir,
        grants: FileGrants,
    }

    impl Machine {
        fn new() -> Machine {
            let folder = tempfile::tempdir().unwrap();
            let state = folder.path().join("state");
            let places = Places {
                data: folder.path().join("data"),
                state,
            };
            Machine {
                folder,
                grants: FileGrants::of(&places),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn grant(&self, name: &str) -> String {
            let grant = FileGrant::named_by_a_person(&self.path(name)).unwrap();
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
    fn a_grant_lasts_and_another_machine_does_not_know_it() {
        let machine = Machine::new();
        std::fs::write(machine.path("notes.txt"), "one").unwrap();
        let id = machine.grant("notes.txt");
        std::fs::write(machine.path("notes.txt"), "two").unwrap();
        assert_eq!(machine.text(&id).as_deref(), Some("two"));
        assert_eq!(Machine::new().text(&id), None);
    }

    #[test]
    fn only_an_id_finds_a_grant() {
        let machine = Machine::new();
        std::fs::write(machine.path("notes.txt"), "one").unwrap();
        let id = machine.grant("notes.txt");
        std::fs::copy(
            machine.grants.record_of(&id),
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
    fn nothing_that_takes_the_place_of_a_file_is_read() {
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
    fn what_the_kernel_makes_up_is_not_read() {
        for path in [
            "/proc/self/environ",
            "/proc/version",
            "/sys/kernel/uevent_seqnum",
            "/dev/zero",
        ] {
            let Ok(grant) = FileGrant::named_by_a_person(Path::new(path)) else {
                continue;
            };
            assert_eq!(grant.read(), None, "{path}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_link_that_a_person_names_is_followed_once() {
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
        let grant = FileGrant::named_by_a_person(&path).unwrap();
        assert!(grant.read().is_some(), "it can be shown");
        let id = machine
            .grants
            .record(&grant, NAME, "a test", Timestamp::now())
            .unwrap();
        assert_eq!(id, None);
    }
}
