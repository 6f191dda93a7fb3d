//! Where a conversion goes: a file that gets its name when it is complete, or stdout.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, words};
use crate::ui;

/// How much is held in memory before what goes to stdout is put into a file for a while.
const HELD: usize = 16 << 20;

/// Something that is being written.
pub enum Output {
    /// A file beside the one that it will be.
    File(NewFile),
    /// Stdout, as it comes.
    Direct,
    /// Stdout, once it is clear that nothing is lost.
    Held(Vec<u8>),
    /// The same, when there is much of it.
    Spilled(NewFile),
}

/// A file that is not complete yet. It goes away unless it is finished.
pub struct NewFile {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    replaces: bool,
}

impl Output {
    /// A file of that name, which must not be there unless it may be replaced.
    pub fn file(path: &Path, force: bool) -> Result<Output, Failure> {
        match fs::symlink_metadata(path) {
            Ok(facts) if facts.is_dir() => {
                let text = format!("{}: this is a folder", path.display());
                return Err(Failure::input(text).or_hint("name a file"));
            }
            Ok(_) if !force => return Err(taken(path)),
            _ => {}
        }
        NewFile::beside(path, force).map(Output::File)
    }

    /// Stdout. Only if losses are allowed can anything be printed before the end.
    pub fn stdout(lossy: bool) -> Output {
        if lossy && !ui::is_terminal() { Output::Direct } else { Output::Held(Vec::new()) }
    }

    /// The name by which people know it.
    pub fn name(&self) -> String {
        match self {
            Output::File(file) => file.target.to_string_lossy().into_owned(),
            _ => "-".to_string(),
        }
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Output::File(file) | Output::Spilled(file) => file.write(bytes),
            Output::Direct => ui::print_bytes(bytes),
            Output::Held(held) => {
                held.extend_from_slice(bytes);
                if held.len() > HELD && !ui::is_terminal() {
                    let name = format!("analects-{}", std::process::id());
                    let mut file = NewFile::beside(&std::env::temp_dir().join(name), true)?;
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

fn taken(path: &Path) -> Failure {
    let failure = Failure::input(format!("{}: there is a file of this name", path.display()));
    failure.or_hint("name another one, or add --force; nothing was written")
}

impl NewFile {
    /// A file beside `target` under a name that nobody has.
    fn beside(target: &Path, replaces: bool) -> Result<NewFile, Failure> {
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let start: String = name.chars().take(40).collect();
        for number in 0..100_u32 {
            let name = format!(".{start}.{}-{number}.tmp", std::process::id());
            let temporary = target.with_file_name(name);
            let mut options = File::options();
            options.write(true).read(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&temporary) {
                Ok(file) => {
                    let target = target.to_path_buf();
                    return Ok(NewFile { file, temporary, target, replaces });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unwritable(target, &error)),
            }
        }
        let text = format!("{}: too many unfinished files are beside it", target.display());
        Err(Failure::input(text))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| unwritable(&self.target, &error))
    }

    /// Gives it its name.
    fn finish(mut self) -> Result<(), Failure> {
        let failure = |error: &io::Error| unwritable(&self.target, error);
        self.file.sync_all().map_err(|error| failure(&error))?;
        if self.replaces {
            fs::rename(&self.temporary, &self.target).map_err(|error| failure(&error))?;
            self.temporary = PathBuf::new();
            return Ok(());
        }
        // A link is only made where nobody has taken the name meanwhile.
        match fs::hard_link(&self.temporary, &self.target) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken(&self.target)),
            Err(_) if self.target.exists() => Err(taken(&self.target)),
            // Some file systems have no links.
            Err(_) => {
                fs::rename(&self.temporary, &self.target).map_err(|error| failure(&error))?;
                self.temporary = PathBuf::new();
                Ok(())
            }
        }
    }

    /// Prints all of it.
    fn print(&mut self) -> Result<(), Failure> {
        let failure = |error: io::Error| unwritable(&self.temporary, &error);
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

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary);
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
