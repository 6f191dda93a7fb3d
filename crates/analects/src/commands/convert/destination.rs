//! The destination of a conversion or an export: stdout, or a file that gets its name only when it
//! is complete.
//!
//! A file is written under no name at all, or a temporary one, and gets its name in one step. So a conversion that
//! fails or is killed leaves no half-written file, and an existing file stays as it is until the new one is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use analects_core::Ids;
use analects_store::vfs::{Disk, OpenMode, Vfs, VfsFile};
use analects_store::{OsIds, real_path};
use jiff::Timestamp;

use super::spool::Spool;
use crate::failure::{Failure, io_error_text};
use crate::ui;

/// Where the output goes.
/// Dropping it without [`Destination::finish`] discards what was written, except for what has gone to stdout directly.
pub enum Destination {
    /// A file, still without its name.
    File(NewFile),
    /// Stdout, written at once.
    Direct,
    /// Stdout, written at the end, when it is known that nothing is lost.
    Held(Spool),
    /// A terminal, written at the end. Text for a terminal has to be escaped as a whole.
    Terminal(Vec<u8>),
}

/// What to do if the file already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExisting {
    /// Fail.
    Refuse,
    /// Replace the file, or the file that a link points to. It keeps its mode and owner.
    Replace,
    /// Replace the file, but if it is a link, replace the link itself: you did not name what it
    /// points to.
    ReplaceLinks,
}

/// An incomplete file. It disappears if it is not finished, even after a kill where the system
/// supports files without a name.
/// On Linux it has no name before it is finished.
pub struct NewFile {
    draft: Box<dyn VfsFile>,
    /// The name as you gave it, and after following links.
    name: PathBuf,
    target: PathBuf,
    taken: OnExisting,
}

impl Destination {
    /// Starts a new file with this name.
    /// Fails at once if the file must not be replaced or the folder cannot be written, before a long conversion starts.
    pub fn file(path: &Path, taken: OnExisting) -> Result<Destination, Failure> {
        NewFile::new(path, taken).map(Destination::File)
    }

    /// Stdout. Only with `--lossy` can anything be printed before the end.
    /// A pipe gets the bytes only once it is clear that nothing is lost, since it cannot give them back. With `--lossy`
    /// there is nothing to wait for.
    pub fn stdout(lossy: bool) -> Destination {
        if ui::stdout_is_terminal() {
            Destination::Terminal(Vec::new())
        } else if lossy {
            Destination::Direct
        } else {
            Destination::Held(Spool::default())
        }
    }

    /// The name of the file, or `-`.
    pub fn name(&self) -> String {
        match self {
            Destination::File(file) => file.name.to_string_lossy().into_owned(),
            _ => "-".to_string(),
        }
    }

    /// Adds bytes.
    /// Pieces may be cut anywhere, even inside a character.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Destination::File(file) => file.write(bytes),
            Destination::Direct => ui::print_bytes(bytes),
            Destination::Held(held) => held.write(bytes),
            Destination::Terminal(text) => {
                text.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Completes the output. Without this call, nothing is kept.
    /// The file is on disk when this returns.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Destination::File(file) => file.finish(),
            Destination::Direct => Ok(()),
            Destination::Held(held) => held.for_each(&mut |bytes| ui::print_bytes(bytes)),
            Destination::Terminal(text) => ui::print_text(&text),
        }
    }
}

/// The failure for a file that already exists.
/// Also the result of a race: the file may appear while the conversion runs.
fn name_taken(path: &Path) -> Failure {
    let failure = Failure::input(format!("{}: this file already exists", path.display()));
    failure.or_hint("choose another name, or add --force; nothing was written")
}

impl NewFile {
    /// Follows links only for [`OnExisting::Replace`], so that a link is either written through or replaced, as the
    /// caller wants.
    fn new(name: &Path, taken: OnExisting) -> Result<NewFile, Failure> {
        let there = fs::symlink_metadata(name).ok();
        let is_link = there.as_ref().is_some_and(fs::Metadata::is_symlink);
        if there.is_some_and(|facts| !facts.is_dir()) && taken == OnExisting::Refuse {
            return Err(name_taken(name));
        }
        let target = match taken {
            OnExisting::Replace => real_path(&Disk, name)?,
            _ => name.to_path_buf(),
        };
        if !(is_link && taken == OnExisting::ReplaceLinks) {
            check_place(name, &target)?;
        }
        let draft = Disk
            .draft(folder_of(&target))
            .map_err(|error| unwritable(name, &error))?;
        Ok(NewFile {
            draft,
            name: name.to_path_buf(),
            target,
            taken,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.draft
            .write_all(bytes)
            .map_err(|error| unwritable(&self.name, &error))
    }

    /// Writes everything to disk and gives the file its name.
    fn finish(mut self) -> Result<(), Failure> {
        let named = self.give_name();
        let named = named.and_then(|()| Disk.sync_folder(folder_of(&self.target)));
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(name_taken(&self.name))
            }
            named => named.map_err(|error| unwritable(&self.name, &error)),
        }
    }

    /// Links the file to its name, or replaces the existing one.
    /// A file that is replaced keeps its permissions.
    fn give_name(&mut self) -> io::Result<()> {
        let is_file = fs::symlink_metadata(&self.target).is_ok_and(|facts| facts.is_file());
        if is_file && self.taken != OnExisting::Refuse {
            self.draft.copy_metadata_from(&self.target)?;
        }
        self.draft.sync()?;
        match self.draft.link(&self.target) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && self.taken != OnExisting::Refuse =>
            {
                self.replace()
            }
            linked => linked,
        }
    }

    /// Replaces the existing file. For a moment, the new file has a temporary name.
    /// Links the new file beside the old one first, because a link cannot replace a file and a rename can.
    fn replace(&mut self) -> io::Result<()> {
        let name = format!(".analects-{}.new", OsIds.uuid(Timestamp::now()));
        let aside = self.target.with_file_name(name);
        self.draft.link(&aside)?;
        let renamed = Disk.rename(&aside, &self.target);
        if renamed.is_err() {
            // Report the error of the rename, which says more.
            let _ = Disk.remove(&aside);
        }
        renamed
    }
}

/// Refuses a folder, a device, and a file that cannot be written.
/// Passes if there is nothing yet.
fn check_place(name: &Path, target: &Path) -> Result<(), Failure> {
    let Ok(facts) = fs::metadata(target) else {
        return Ok(());
    };
    if facts.is_dir() {
        let text = format!("{}: this is a folder", name.display());
        return Err(Failure::input(text).or_hint("name a file"));
    }
    if !facts.is_file() {
        let text = format!(
            "{}: this is a device or a pipe, which cannot be replaced",
            name.display()
        );
        return Err(Failure::input(text).or_hint("for stdout, name -"));
    }
    // A rename would ignore the write protection of the file.
    match Disk.open(target, OpenMode::Append) {
        Ok(_) => Ok(()),
        Err(error) => Err(unwritable(name, &error)),
    }
}

/// The folder of a path, `.` for a bare name.
/// The current folder for a bare name.
fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The failure for a file that cannot be written.
/// A missing folder has an exit code and a hint of its own.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let text = format!(
        "{}: cannot be written: {}",
        path.display(),
        io_error_text(error)
    );
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text).or_hint("make its folder first"),
        _ => Failure::input(text),
    }
}
