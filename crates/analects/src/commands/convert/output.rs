//! Where a conversion or an export goes: a file that gets its name when it is complete, or stdout.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use analects_core::Ids;
use analects_store::vfs::{Disk, Open, Vfs, VfsFile};
use analects_store::{OsIds, real_path};
use jiff::Timestamp;

use super::spool::Spool;
use crate::failure::{Failure, words};
use crate::ui;

/// Something that is being written.
pub enum Output {
    /// A file that has no name yet.
    File(NewFile),
    /// Stdout, as it comes.
    Direct,
    /// Stdout, once it is clear that nothing is lost.
    Held(Spool),
    /// A terminal, once that is clear: it gets a text as a whole.
    Terminal(Vec<u8>),
}

/// What is done about a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// That is an error.
    Refuse,
    /// The file is replaced, that of a link where the link leads; its mode and owner stay.
    Replace,
    /// The same, but a link is replaced itself: what it leads to was not named by anybody.
    ReplaceLinks,
}

/// A file that is not complete yet. It goes away unless it is finished, also if we are killed, where the
/// system has files without a name.
pub struct NewFile {
    draft: Box<dyn VfsFile>,
    /// The name that the person gave it, and where that leads.
    name: PathBuf,
    target: PathBuf,
    taken: Taken,
}

impl Output {
    /// A file of that name.
    pub fn file(path: &Path, taken: Taken) -> Result<Output, Failure> {
        NewFile::new(path, taken).map(Output::File)
    }

    /// Stdout. Only if losses are allowed can anything be printed before the end.
    pub fn stdout(lossy: bool) -> Output {
        if ui::is_terminal() {
            Output::Terminal(Vec::new())
        } else if lossy {
            Output::Direct
        } else {
            Output::Held(Spool::default())
        }
    }

    /// The name by which people know it.
    pub fn name(&self) -> String {
        match self {
            Output::File(file) => file.name.to_string_lossy().into_owned(),
            _ => "-".to_string(),
        }
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Output::File(file) => file.write(bytes),
            Output::Direct => ui::print_bytes(bytes),
            Output::Held(held) => held.write(bytes),
            Output::Terminal(text) => {
                text.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// There is no more, and it is wanted.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Output::File(file) => file.finish(),
            Output::Direct => Ok(()),
            Output::Held(held) => held.each(&mut |bytes| ui::print_bytes(bytes)),
            Output::Terminal(text) => ui::print_text(&text),
        }
    }
}

fn is_taken(path: &Path) -> Failure {
    let failure = Failure::input(format!("{}: there is a file of this name", path.display()));
    failure.or_hint("name another one, or add --force; nothing was written")
}

impl NewFile {
    fn new(name: &Path, taken: Taken) -> Result<NewFile, Failure> {
        let there = fs::symlink_metadata(name).ok();
        let is_link = there.as_ref().is_some_and(fs::Metadata::is_symlink);
        if there.is_some_and(|facts| !facts.is_dir()) && taken == Taken::Refuse {
            return Err(is_taken(name));
        }
        let target = match taken {
            Taken::Replace => real_path(&Disk, name)?,
            _ => name.to_path_buf(),
        };
        if !(is_link && taken == Taken::ReplaceLinks) {
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

    /// Gives it its name.
    fn finish(mut self) -> Result<(), Failure> {
        let named = self.give_name();
        let named = named.and_then(|()| Disk.sync_folder(folder_of(&self.target)));
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(is_taken(&self.name)),
            named => named.map_err(|error| unwritable(&self.name, &error)),
        }
    }

    fn give_name(&mut self) -> io::Result<()> {
        let is_file = fs::symlink_metadata(&self.target).is_ok_and(|facts| facts.is_file());
        if is_file && self.taken != Taken::Refuse {
            self.draft.adopt(&self.target)?;
        }
        self.draft.sync()?;
        match self.draft.link(&self.target) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && self.taken != Taken::Refuse =>
            {
                self.replace()
            }
            linked => linked,
        }
    }

    /// Takes the place of the file that is there. For that moment, it has a name of its own.
    fn replace(&mut self) -> io::Result<()> {
        let name = format!(".analects-{}.new", OsIds.uuid(Timestamp::now()));
        let aside = self.target.with_file_name(name);
        self.draft.link(&aside)?;
        let renamed = Disk.rename(&aside, &self.target);
        if renamed.is_err() {
            // The error of the rename says more.
            let _ = Disk.remove(&aside);
        }
        renamed
    }
}

/// A new file can only be where nothing is, or a file that may be written to.
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
    // A rename would get around a write protection that somebody meant.
    match Disk.open(target, Open::Append) {
        Ok(_) => Ok(()),
        Err(error) => Err(unwritable(name, &error)),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A failure to write a file.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let text = format!("{}: cannot be written: {}", path.display(), words(error));
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text).or_hint("make its folder first"),
        _ => Failure::input(text),
    }
}
