//! Where a conversion goes: a file that gets its name when it is complete, or stdout.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use analects_core::Ids;
use analects_store::vfs::{Disk, Open, Vfs, VfsFile};
use analects_store::{OsIds, real_path};
use jiff::Timestamp;

use crate::failure::{Failure, words};
use crate::ui;

/// How much is held in memory before what goes to stdout is put into a file for a while.
const HELD: usize = 16 << 20;

/// Something that is being written.
pub enum Output {
    /// A file that has no name yet.
    File(NewFile),
    /// Stdout, as it comes.
    Direct,
    /// Stdout, once it is clear that nothing is lost.
    Held(Vec<u8>),
    /// The same, when there is much of it.
    Spilled(Spilled),
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
        if lossy && !ui::is_terminal() { Output::Direct } else { Output::Held(Vec::new()) }
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
            Output::Spilled(file) => file.write(bytes),
            Output::Direct => ui::print_bytes(bytes),
            Output::Held(held) => {
                held.extend_from_slice(bytes);
                if held.len() > HELD && !ui::is_terminal() {
                    let mut file = Spilled::new()?;
                    file.write(held)?;
                    *self = Output::Spilled(file);
                }
                Ok(())
            }
        }
    }

    /// There is no more, and it is wanted.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Output::File(file) => file.finish(),
            Output::Direct => Ok(()),
            Output::Held(held) => ui::print_text(&held),
            Output::Spilled(mut file) => file.print(),
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
        let draft = Disk.draft(folder_of(&target)).map_err(|error| unwritable(name, &error))?;
        Ok(NewFile { draft, name: name.to_path_buf(), target, taken })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.draft.write_all(bytes).map_err(|error| unwritable(&self.name, &error))
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
    let Ok(facts) = fs::metadata(target) else { return Ok(()) };
    if facts.is_dir() {
        let text = format!("{}: this is a folder", name.display());
        return Err(Failure::input(text).or_hint("name a file"));
    }
    if !facts.is_file() {
        let text =
            format!("{}: this is a device or a pipe, which cannot be replaced", name.display());
        return Err(Failure::input(text).or_hint("for stdout, name -"));
    }
    // A rename would get around a write protection that somebody meant.
    match Disk.open(target, Open::Append) {
        Ok(_) => Ok(()),
        Err(error) => Err(unwritable(name, &error)),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What is held for stdout, in a file for nobody else's eyes.
pub struct Spilled {
    file: File,
    /// Its name, where an open file cannot lose it.
    name: Option<PathBuf>,
}

impl Spilled {
    fn new() -> Result<Spilled, Failure> {
        let name = format!("analects-{}", OsIds.uuid(Timestamp::now()));
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        options.write(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| unwritable(&path, &error))?;
        // Without a name, nothing of it is left if we are killed.
        let name = fs::remove_file(&path).is_err().then_some(path);
        Ok(Spilled { file, name })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| unwritable(&std::env::temp_dir(), &error))
    }

    /// Prints all of it.
    fn print(&mut self) -> Result<(), Failure> {
        let failure = |error: io::Error| unwritable(&std::env::temp_dir(), &error);
        self.file.rewind().map_err(failure)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = self.file.read(&mut buffer).map_err(failure)?;
            if count == 0 {
                return Ok(());
            }
            ui::print_bytes(&buffer[..count])?;
        }
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if let Some(path) = &self.name {
            // Nothing can be done about a file that stays.
            let _ = fs::remove_file(path);
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let text = format!("{}: cannot be written: {}", path.display(), words(error));
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text).or_hint("make its folder first"),
        _ => Failure::input(text),
    }
}
