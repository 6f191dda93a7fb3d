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
    AtFlags, FileType, Mode, OFlags, Stat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::{FolderPath, ToolError};

/// The largest file that is read, in bytes.
pub(crate) const LARGEST_FILE: u64 = 10 << 20;

/// The name of folders that no tool changes, because a changed hook or setting in them runs commands later.
const GIT: &str = ".git";

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
    /// The device and inode of a file that exists, which has other names as well if it has hard links.
    file: Option<(u64, u64)>,
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
        let Some(name) = path.file_name() else {
            return;
        };
        // The file may not exist yet, but its folder does.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let Ok(folder) = folder.unwrap_or(Path::new(".")).canonicalize() else {
            return;
        };
        let full = folder.join(name);
        let Some(inside) = full.strip_prefix(&self.path).ok() else {
            return;
        };
        if let Some(path) = FolderPath::from_relative(inside) {
            self.protected.push(ProtectedPath {
                path,
                file: std::fs::metadata(&full).ok().map(|it| identity_of(&it)),
                what,
                is_hidden,
            });
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

    /// Fails unless this is a folder that can be reached without links.
    pub(crate) fn check_folder(&self, path: &FolderPath) -> Result<(), ToolError> {
        self.open_folder(path).map(drop)
    }

    /// Whether this is a regular file that can be reached without links.
    pub(crate) fn is_file(&self, path: &FolderPath) -> bool {
        self.open_file(path).is_ok()
    }

    /// Opens a regular file for reading.
    fn open_file(&self, path: &FolderPath) -> Result<File, ToolError> {
        if self.is_hidden(path) {
            return Err(ToolError::content(
                path,
                "belongs to Analects, so tools never read it",
            ));
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
        Ok(file.into())
    }

    /// Opens a folder below this one.
    fn open_folder(&self, path: &FolderPath) -> Result<OwnedFd, ToolError> {
        self.walk(path, |_, _| Ok(()))
    }

    /// Opens a folder below this one, and creates what is missing.
    fn open_or_create_folder(&self, path: &FolderPath) -> Result<OwnedFd, ToolError> {
        self.walk(path, |folder, name| {
            match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    /// Opens each folder on the way to `path` from the one before, after calling `prepare` with both.
    fn walk(
        &self,
        path: &FolderPath,
        prepare: impl Fn(&OwnedFd, &str) -> Result<(), Errno>,
    ) -> Result<OwnedFd, ToolError> {
        let mut folder = openat(&self.handle, ".", FOLDER, Mode::empty())
            .map_err(|error| ToolError::io(path, error))?;
        for name in path.names() {
            prepare(&folder, name).map_err(|error| ToolError::io(path, error))?;
            folder = openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|error| refused_open(&folder, name, path, error))?;
        }
        Ok(folder)
    }

    /// Fails for paths that no tool changes.
    pub(crate) fn check_protected(&self, path: &FolderPath) -> Result<(), ToolError> {
        let protected = |why| ToolError::Protected {
            path: path.clone(),
            why,
        };
        if path.names().any(|name| name.eq_ignore_ascii_case(GIT)) {
            return Err(protected("belongs to git"));
        }
        match self.protection_of(path) {
            Some(it) => Err(protected(it.what)),
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
        let identity = (stat.st_dev as u64, stat.st_ino as u64);
        let same = self.protected.iter().find(|it| it.file == Some(identity));
        if let Some(protected) = same {
            return Err(ToolError::Protected {
                path: path.clone(),
                why: protected.what,
            });
        }
        Ok(Some(stat))
    }
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
                    rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode))?;
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

fn identity_of(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
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
