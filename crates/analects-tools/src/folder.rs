//! A folder whose files can be read and replaced, and that no path leaves. Each name on the way is opened below the
//! folder before it and without following links, so that nobody can swap a folder for a link in between.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use analects_context::FileFacts;
use analects_store::content_hash;
use jiff::Timestamp;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::walk::{Entry, EntryKind};
use crate::{FolderPath, ToolError};

/// The largest file that is read, in bytes.
pub(crate) const LARGEST_FILE: u64 = 10 << 20;

/// The name of folders that no tool changes, because a changed hook or setting in them runs commands later.
const GIT: &str = ".git";

/// Characters that some file systems ignore in names, so that a name with them can be another name for `.git`.
const IGNORED_IN_NAMES: [std::ops::RangeInclusive<char>; 4] = [
    '\u{200c}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{206a}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
];

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
    protected: Vec<ProtectedPath>,
}

/// A path that no tool changes.
#[derive(Debug)]
struct ProtectedPath {
    /// The path in the folder. Everything below it is protected, too.
    path: FolderPath,
    /// What it is, for the error.
    what: &'static str,
    /// Whether tools may not read it either.
    is_hidden: bool,
}

impl Folder {
    /// Opens a folder. Links in `path` itself are followed.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let path = path.canonicalize()?;
        let handle = rustix::fs::open(&path, FOLDER, Mode::empty())?;
        Ok(Folder {
            path,
            handle,
            protected: Vec::new(),
        })
    }

    /// The path of the folder, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets no tool change a file or folder, or anything below it. A path outside of the folder is ignored, since no
    /// tool gets there. `what` says what it is, such as `is this conversation`.
    ///
    /// ```
    /// use analects_core::Raw;
    /// use analects_tools::{FileTool, Folder, Workspace};
    ///
    /// let place = tempfile::tempdir()?;
    /// let mut folder = Folder::open(place.path())?;
    /// folder.protect(&place.path().join("talk.msg.md"), "is this conversation");
    /// let mut workspace = Workspace::new(folder);
    /// let arguments = Raw::parse(r#"{"path": "talk.msg.md", "content": ""}"#)?;
    /// let refused = FileTool::WriteFile.call(&mut workspace, &arguments).unwrap_err();
    /// assert_eq!(refused.to_string(), "talk.msg.md: is this conversation, so tools never change it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn protect(&mut self, path: &Path, what: &'static str) {
        self.add_protected(path, what, false);
    }

    /// Lets no tool read or change a file or folder, or anything below it, as [`Folder::protect`] does for changes.
    pub fn hide(&mut self, path: &Path, what: &'static str) {
        self.add_protected(path, what, true);
    }

    fn add_protected(&mut self, path: &Path, what: &'static str, is_hidden: bool) {
        // The name itself, and the file that it leads to if it is a link.
        let named = path.parent().zip(path.file_name());
        let named = named.map(|(folder, name)| without_links(folder).join(name));
        for full in named.into_iter().chain(path.canonicalize()) {
            let inside = if self.path.starts_with(&full) {
                // The whole folder is inside.
                Some(FolderPath::default())
            } else {
                let inside = full.strip_prefix(&self.path).ok();
                inside.and_then(FolderPath::from_relative)
            };
            if let Some(path) = inside {
                self.protected.push(ProtectedPath {
                    path,
                    what,
                    is_hidden,
                });
            }
        }
    }

    /// Whether tools may not even read this path.
    pub(crate) fn is_hidden(&self, path: &FolderPath) -> bool {
        self.protection_of(path).is_some_and(|it| it.is_hidden)
    }

    /// The protected path that this one is, or is below.
    fn protection_of(&self, path: &FolderPath) -> Option<&ProtectedPath> {
        let is_inside = |it: &&ProtectedPath| {
            let mut names = path.names();
            it.path.names().all(|name| names.next() == Some(name))
        };
        self.protected.iter().find(is_inside)
    }

    /// The protected path that this file or folder is, whatever the name that led there: a hard link, or a name that the
    /// file system takes for the same. Files are compared as they are now, since saving a file replaces it.
    fn protection_of_file(&self, stat: &Stat) -> Option<&ProtectedPath> {
        // Systems disagree about the types of both numbers.
        let identity = (i128::from(stat.st_dev), i128::from(stat.st_ino));
        let is_same = |it: &&ProtectedPath| {
            let there = std::fs::metadata(self.path.join(it.path.as_str()));
            there.is_ok_and(|there| identity_of(&there) == identity)
        };
        self.protected.iter().find(is_same)
    }

    /// The entries of a folder whose names are UTF-8, in order of their names.
    pub(crate) fn entries(&self, path: &FolderPath) -> Result<Vec<Entry>, ToolError> {
        let folder = self.open_folder(path)?;
        let failed = |error: Errno| ToolError::io(path, error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| kind_of(&stat)),
                kind => kind,
            };
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Folder,
                _ => EntryKind::Other,
            };
            let name = name.to_string();
            entries.push(Entry { name, kind });
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// Reads a regular file of at most [`LARGEST_FILE`] bytes.
    pub(crate) fn read(&self, path: &FolderPath) -> Result<(Vec<u8>, FileFacts), ToolError> {
        let mut file = self.open_file(path)?;
        let mut bytes = Vec::new();
        let mut limited = (&mut file).take(LARGEST_FILE + 1);
        limited
            .read_to_end(&mut bytes)
            .map_err(|error| ToolError::io(path, error))?;
        if bytes.len() as u64 > LARGEST_FILE {
            let why = format!("has more than {} MB", LARGEST_FILE >> 20);
            return Err(ToolError::content(path, why));
        }
        let facts = facts_of(&file, &bytes).map_err(|error| ToolError::io(path, error))?;
        Ok((bytes, facts))
    }

    /// Reads a file that a call may replace: `None` if there is none yet.
    pub(crate) fn read_if_any(
        &self,
        path: &FolderPath,
    ) -> Result<Option<(Vec<u8>, FileFacts)>, ToolError> {
        match self.read(path) {
            Ok(read) => Ok(Some(read)),
            Err(ToolError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates or replaces a file, with the folders on the way. The file is replaced as a whole and is on the disk when
    /// this returns. It keeps its permissions.
    pub(crate) fn write(&self, path: &FolderPath, bytes: &[u8]) -> Result<FileFacts, ToolError> {
        self.check_protected(path)?;
        let Some((folder, name)) = path.split() else {
            return Err(ToolError::content(path, "is a folder"));
        };
        let folder = self.open_or_create_folder(&folder)?;
        let old = self.replaceable(&folder, name, path)?;
        let failed = |error: io::Error| ToolError::io(path, error);
        let (temporary, mut file) = create_temporary(&folder, old.as_ref()).map_err(failed)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(renameat(&folder, &*temporary, &folder, name)?));
        if let Err(error) = written {
            // The temporary file is ours; without it nothing is left of the attempt.
            _ = unlinkat(&folder, &*temporary, AtFlags::empty());
            return Err(failed(error));
        }
        rustix::fs::fsync(&folder).map_err(|error| failed(error.into()))?;
        facts_of(&file, bytes).map_err(failed)
    }

    /// Whether this is a regular file that can be reached without links.
    pub fn is_file(&self, path: &FolderPath) -> bool {
        self.open_file(path).is_ok()
    }

    /// Opens a regular file for reading.
    fn open_file(&self, path: &FolderPath) -> Result<File, ToolError> {
        if self.is_hidden(path) {
            return Err(never_read(path));
        }
        let Some((folder, name)) = path.split() else {
            return Err(ToolError::content(path, "is a folder"));
        };
        let folder = self.open_folder(&folder)?;
        // A pipe without a writer would make the open wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags, Mode::empty())
            .map_err(|error| refused_open(&folder, name, path, error))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| ToolError::io(path, error))?;
        check_regular(path, &stat)?;
        if self
            .protection_of_file(&stat)
            .is_some_and(|it| it.is_hidden)
        {
            return Err(never_read(path));
        }
        Ok(file.into())
    }

    /// Opens a folder below this one.
    fn open_folder(&self, path: &FolderPath) -> Result<OwnedFd, ToolError> {
        let folder = self.walk(path, |_, _| Ok(()), |it| it.is_hidden);
        folder.map_err(|error| match error {
            ToolError::Protected { path, .. } => never_read(&path),
            error => error,
        })
    }

    /// Opens a folder below this one, and creates what is missing.
    fn open_or_create_folder(&self, path: &FolderPath) -> Result<OwnedFd, ToolError> {
        let create = |folder: &OwnedFd, name: &str| match mkdirat(
            folder,
            name,
            Mode::from_raw_mode(0o777),
        ) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error),
        };
        self.walk(path, create, |_| true)
    }

    /// Opens each folder on the way to `path` from the one before, after calling `prepare` with both. Fails at a protected
    /// one that `is_closed`.
    fn walk(
        &self,
        path: &FolderPath,
        prepare: impl Fn(&OwnedFd, &str) -> Result<(), Errno>,
        is_closed: impl Fn(&ProtectedPath) -> bool,
    ) -> Result<OwnedFd, ToolError> {
        let mut folder = openat(&self.handle, ".", FOLDER, Mode::empty())
            .map_err(|error| ToolError::io(path, error))?;
        for name in path.names() {
            prepare(&folder, name).map_err(|error| ToolError::io(path, error))?;
            folder = openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|error| refused_open(&folder, name, path, error))?;
            let stat = rustix::fs::fstat(&folder).map_err(|error| ToolError::io(path, error))?;
            if let Some(it) = self.protection_of_file(&stat).filter(|it| is_closed(it)) {
                return Err(protected(path, it.what));
            }
        }
        Ok(folder)
    }

    /// Fails for paths that no tool changes.
    pub(crate) fn check_protected(&self, path: &FolderPath) -> Result<(), ToolError> {
        if path.names().any(is_git) {
            return Err(protected(path, "belongs to git"));
        }
        match self.protection_of(path) {
            Some(it) => Err(protected(path, it.what)),
            None => Ok(()),
        }
    }

    /// The facts of the file that a write would replace; `None` if there is none. Fails if it is not a regular file, or
    /// another name of a protected one.
    fn replaceable(
        &self,
        folder: &OwnedFd,
        name: &str,
        path: &FolderPath,
    ) -> Result<Option<Stat>, ToolError> {
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(ToolError::io(path, error)),
        };
        check_regular(path, &stat)?;
        if let Some(it) = self.protection_of_file(&stat) {
            return Err(protected(path, it.what));
        }
        if stat.st_mode & 0o222 == 0 {
            return Err(ToolError::content(path, "is read-only"));
        }
        Ok(Some(stat))
    }
}

/// Whether a file system may take this name for `.git`.
fn is_git(name: &str) -> bool {
    let is_seen = |c: &char| !IGNORED_IN_NAMES.iter().any(|range| range.contains(c));
    let name: String = name.chars().filter(is_seen).collect();
    name.eq_ignore_ascii_case(GIT)
}

/// The path without links. The part that does not exist yet stays as it is.
fn without_links(path: &Path) -> PathBuf {
    // A bare name has the empty path for its folder.
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let exists = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match exists {
        Some((above, real)) => {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            real.join(rest)
        }
        None => path,
    }
}

fn protected(path: &FolderPath, why: &'static str) -> ToolError {
    ToolError::Protected {
        path: path.clone(),
        why,
    }
}

fn never_read(path: &FolderPath) -> ToolError {
    ToolError::content(path, "belongs to Analects, so tools never read it")
}

/// How folders are opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Creates a file that only we know, with the permissions of the file that it is to replace.
fn create_temporary(folder: &OwnedFd, old: Option<&Stat>) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The umask of the person decides about a new file.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let process = std::process::id();
    for attempt in 0..1_000 {
        let name = format!(".analects-{process}-{attempt}.tmp");
        match openat(folder, &*name, flags, Mode::from_raw_mode(mode)) {
            Ok(file) => {
                if let Some(old) = old {
                    rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o777))?;
                }
                return Ok((name, file.into()));
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The error for a name that could not be opened. Systems disagree about the error for a link, so it is looked at.
fn refused_open(folder: &OwnedFd, name: &str, path: &FolderPath, error: Errno) -> ToolError {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_link = stat.is_ok_and(|stat| kind_of(&stat) == FileType::Symlink);
    if is_link {
        return leads_through_link(path);
    }
    ToolError::io(path, error)
}

fn leads_through_link(path: &FolderPath) -> ToolError {
    ToolError::Path {
        path: path.to_string(),
        why: "leads through a link; name the file that it leads to",
    }
}

/// Fails for anything but a regular file.
fn check_regular(path: &FolderPath, stat: &Stat) -> Result<(), ToolError> {
    match kind_of(stat) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(ToolError::content(path, "is a folder")),
        FileType::Symlink => Err(leads_through_link(path)),
        _ => Err(ToolError::content(path, "is no regular file")),
    }
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The device and the inode, which all names of a file share.
fn identity_of(metadata: &std::fs::Metadata) -> (i128, i128) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev().into(), metadata.ino().into())
}

/// The facts of an open file with this content.
fn facts_of(file: &File, bytes: &[u8]) -> io::Result<FileFacts> {
    let modified = file.metadata()?.modified()?;
    Ok(FileFacts {
        modified: Timestamp::try_from(modified).unwrap_or_default(),
        size: bytes.len() as u64,
        hash: Some(content_hash(bytes)),
    })
}
