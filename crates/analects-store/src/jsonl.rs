//! The store on disk: a file for each chain, and a line for each record. A session is
//! `<data>/sessions/<project>/<session>.jsonl`, its side chains are `<session>/agent-<id>.jsonl`.
//!
//! A file gets its name after its first records are synced; a session that is recorded as a whole, after all of it is.
//! Reading and opening never write to it. An index beside a file caches counts and the state; see `index`.

mod announce;
mod index;
mod new_session;
pub(crate) mod rows;
mod session_list;
mod summary_cache;
mod writer;

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use analects_core::{Message, MessageId};
use analects_formats::transcript::encode_to;

use crate::error::cannot;
use crate::folders::create_private_folder;
use crate::sessions::{
    ChainName, ListedSession, NewSession, Overview, RowVisitor, SessionSummary, TranscriptStore,
};
use crate::vfs::{Disk, FileMetadata, OpenMode, Vfs, VfsFile, folder_of};
use crate::{StoreError, StoreFolders};
use index::StoreLimits;
use new_session::{HiddenSession, clear_up};
use rows::{Backward, Forward};
use writer::ChainWriter;

/// The size limit of a line in bytes. Longer lines are not read.
pub const LINE_LIMIT: usize = analects_formats::convert::LINE_LIMIT;
/// The number of bytes by which a file grows until its index is updated.
const STRIDE: u64 = 1 << 20;
/// The size of a typical record in bytes, for the initial capacity of buffers.
const TYPICAL_RECORD: usize = 4096;
/// The number of files that are kept open for writing.
const MAX_WRITERS: usize = 16;
/// The length limit for the name of a session or an agent, in bytes.
const MAX_NAME: usize = 100;

/// The times when appended records are synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// Before every append returns.
    #[default]
    Always,
    /// Before an append returns, if the last sync is at least this long ago.
    Interval(Duration),
    /// Never; the system writes the records at some time.
    Never,
}

/// A file that is open for reading, and its metadata.
type OpenFile = (Box<dyn VfsFile>, FileMetadata);

/// The files that are open for writing.
type ChainWriters = HashMap<ChainName, Arc<Mutex<ChainWriter>>>;

/// A store on disk, with a line for each record.
///
/// ```
/// use analects_core::Message;
/// use analects_store::{ChainName, JsonlStore, OsIds, Session, StoreFolders, TranscriptStore};
/// use jiff::Timestamp;
///
/// let folder = tempfile::tempdir()?;
/// let store = JsonlStore::new(&StoreFolders::in_folder(&folder));
/// let name = ChainName::new("notes", "talk");
/// let mut session = Session::open(&store, name.clone())?;
/// session.append(vec![Message::user("", "Hello")], &mut OsIds, Timestamp::now())?;
/// assert_eq!(store.list(Some("notes"))?.len(), 1);
/// assert_eq!(store.overview(&name)?.messages, 1);
/// assert!(store.path(&name)?.ends_with("sessions/notes/talk.jsonl"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JsonlStore {
    vfs: Arc<dyn Vfs>,
    folders: StoreFolders,
    /// The times when appended records are synced.
    policy: SyncPolicy,
    /// The size limit of a line in bytes.
    line_limit: usize,
    /// The number of bytes by which a file grows until its index is updated.
    stride: u64,
    /// The files that are open for writing, at most `MAX_WRITERS`.
    writers: Mutex<ChainWriters>,
}

impl JsonlStore {
    /// Creates a store in these folders.
    pub fn new(folders: &StoreFolders) -> JsonlStore {
        JsonlStore::with_vfs(Arc::new(Disk), folders)
    }

    /// Creates a store on any file system.
    pub fn with_vfs(vfs: Arc<dyn Vfs>, folders: &StoreFolders) -> JsonlStore {
        JsonlStore {
            vfs,
            folders: folders.clone(),
            policy: SyncPolicy::Always,
            line_limit: LINE_LIMIT,
            stride: STRIDE,
            writers: Mutex::default(),
        }
    }

    /// Sets the times when appended records are synced.
    pub fn with_sync(self, policy: SyncPolicy) -> JsonlStore {
        JsonlStore { policy, ..self }
    }

    /// Sets the size limit of a line in bytes. Longer lines are not read.
    pub fn with_line_limit(self, line_limit: usize) -> JsonlStore {
        JsonlStore { line_limit, ..self }
    }

    /// Sets the number of bytes by which a file grows until its index is updated.
    pub fn with_stride(self, stride: u64) -> JsonlStore {
        JsonlStore { stride, ..self }
    }

    /// Returns the file of a chain; an error if a part of the name is not a safe file name.
    pub fn path(&self, of: &ChainName) -> Result<PathBuf, StoreError> {
        let project = self.projects_folder().join(checked_name(&of.project)?);
        let session = checked_name(&of.session)?;
        let Some(agent) = &of.agent else {
            return Ok(project.join(format!("{session}.jsonl")));
        };
        let agent = checked_name(agent)?;
        Ok(project.join(session).join(format!("agent-{agent}.jsonl")))
    }

    /// The settings that the index needs.
    fn limits(&self) -> StoreLimits {
        StoreLimits {
            stride: self.stride,
            line: self.line_limit,
        }
    }

    /// The folder with a subfolder for each project.
    fn projects_folder(&self) -> PathBuf {
        self.folders.projects_folder()
    }

    /// Opens the file of a chain for reading; `None` if there is none.
    fn open(&self, path: &Path) -> Result<Option<OpenFile>, StoreError> {
        let opened = self.vfs.open(path, OpenMode::Read).and_then(|file| {
            let metadata = file.metadata()?;
            Ok((file, metadata))
        });
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot("read", path)(error)),
            Ok((_, metadata)) if !metadata.is_file => Err(StoreError::NotAFile {
                path: path.to_path_buf(),
            }),
            Ok(opened) => Ok(Some(opened)),
        }
    }

    /// Locks the list of writers. A panic in another thread does not matter, because the list is always consistent.
    fn writers(&self) -> MutexGuard<'_, ChainWriters> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the writer of a chain, and creates it if necessary.
    fn writer(&self, of: &ChainName) -> Result<Arc<Mutex<ChainWriter>>, StoreError> {
        let mut writers = self.writers();
        if let Some(writer) = writers.get(of) {
            return Ok(Arc::clone(writer));
        }
        let path = self.path(of)?;
        let folder = folder_of(&path);
        create_private_folder(&*self.vfs, folder)?;
        if of.agent.is_none() && self.vfs.metadata(&path).is_err() {
            clear_up(&self.vfs, &self.folders, folder);
        }
        let writer = ChainWriter::open(&self.vfs, &self.folders, &path)?;
        let writer = Arc::new(Mutex::new(writer));
        if writers.len() >= MAX_WRITERS {
            writers.clear();
        }
        writers.insert(of.clone(), Arc::clone(&writer));
        Ok(writer)
    }

    /// Adds a record as a line. Refuses one that is too long to be read back.
    fn encode(&self, lines: &mut String, record: &Message) -> Result<(), StoreError> {
        let start = lines.len();
        encode_to(lines, record);
        let length = lines.len() - start;
        if length > self.line_limit {
            return Err(StoreError::LongRecord {
                length,
                limit: self.line_limit,
            });
        }
        Ok(())
    }

    /// Lists the paths in a folder, sorted; none if the folder does not exist.
    fn list_folder(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        match self.vfs.list(folder) {
            Ok(mut paths) => {
                paths.sort();
                Ok(paths)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(cannot("read this folder", folder)(error)),
        }
    }

    /// Moves a file to `trash`, or to a similar name if that is taken. Returns the new path.
    fn move_to_trash(&self, path: &Path, trash: &Path) -> Result<PathBuf, StoreError> {
        create_private_folder(&*self.vfs, folder_of(trash))?;
        let target = self.free_name(trash);
        self.vfs
            .rename(path, &target)
            .map_err(cannot("move to the trash", path))?;
        for folder in [folder_of(&target), folder_of(path)] {
            self.vfs
                .sync_folder(folder)
                .map_err(cannot("sync this folder", folder))?;
        }
        Ok(target)
    }

    /// Returns the path itself if it is free, or the first free one with a number.
    fn free_name(&self, path: &Path) -> PathBuf {
        if self.vfs.metadata(path).is_err() {
            return path.to_path_buf();
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for number in 2_u64.. {
            let candidate = path.with_file_name(format!("{stem}.{number}.jsonl"));
            if self.vfs.metadata(&candidate).is_err() {
                return candidate;
            }
        }
        path.to_path_buf()
    }

    /// Moves a file to `trash` while no other process writes to it. Returns the new path.
    fn lock_and_trash(&self, path: &Path, trash: &Path) -> Result<PathBuf, StoreError> {
        let _lock = ChainWriter::lock_alone(&self.vfs, &self.folders, path)?;
        self.move_to_trash(path, trash)
    }
}

impl TranscriptStore for JsonlStore {
    fn append(&self, to: &ChainName, records: &[Message]) -> Result<(), StoreError> {
        if records.is_empty() {
            return self.path(to).map(drop);
        }
        let writer = self.writer(to)?;
        let mut lines = String::with_capacity(TYPICAL_RECORD * records.len());
        for record in records {
            self.encode(&mut lines, record)?;
        }
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let end = writer.append(lines, self.policy)?;
        if end.saturating_sub(writer.indexed) >= self.stride {
            let path = writer.path.clone();
            writer.indexed = index::update(&*self.vfs, &path, end, self.limits());
        }
        Ok(())
    }

    fn begin(&self, session: &ChainName) -> Result<Box<dyn NewSession + '_>, StoreError> {
        Ok(Box::new(HiddenSession::begin(self, session)?))
    }

    fn sync(&self, of: &ChainName) -> Result<(), StoreError> {
        let writer = self.writers().get(of).cloned();
        match writer {
            Some(writer) => writer.lock().unwrap_or_else(PoisonError::into_inner).sync(),
            None => Ok(()),
        }
    }

    fn scan(&self, of: &ChainName, from: u64, each: &mut RowVisitor<'_>) -> Result<(), StoreError> {
        let path = self.path(of)?;
        let Some((mut file, _)) = self.open(&path)? else {
            return Ok(());
        };
        let mut rows = Forward::new(&mut *file, from, self.line_limit);
        while let Some(row) = rows.next().map_err(cannot("read", &path))? {
            if each(row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_backward(&self, of: &ChainName, each: &mut RowVisitor<'_>) -> Result<(), StoreError> {
        let path = self.path(of)?;
        let Some((mut file, metadata)) = self.open(&path)? else {
            return Ok(());
        };
        let mut rows = Backward::new(&mut *file, metadata.length, self.line_limit);
        while let Some(row) = rows.next().map_err(cannot("read", &path))? {
            if each(row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn list(&self, project: Option<&str>) -> Result<Vec<ListedSession>, StoreError> {
        self.list_sessions(project)
    }

    fn summaries(&self, sessions: &[ListedSession]) -> Result<Vec<SessionSummary>, StoreError> {
        self.summarise_sessions(sessions)
    }

    fn side_chains(&self, of: &ChainName) -> Result<Vec<String>, StoreError> {
        let folder = self.path(&of.main())?.with_extension("");
        let paths = self.list_folder(&folder)?;
        Ok(paths
            .iter()
            .filter_map(|path| name_between(path, "agent-", ".jsonl"))
            .collect())
    }

    fn prune(&self, session: &ChainName) -> Result<String, StoreError> {
        let main = session.main();
        let path = self.path(&main)?;
        let trash_folder = self
            .folders
            .trash_folder()
            .join(checked_name(&main.project)?);
        let metadata = self.vfs.metadata(&path);
        if metadata.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(StoreError::SessionNotFound {
                name: main.to_string(),
            });
        }
        let trash = trash_folder.join(path.file_name().unwrap_or_default());
        // The main chain goes last, so that an interrupted prune can be repeated.
        for agent in self.side_chains(&main)? {
            let side = main.side(agent);
            let side_path = self.path(&side)?;
            let file_name = side_path.file_name().unwrap_or_default();
            self.writers().remove(&side);
            let _ = self.vfs.remove(&index::path(&side_path));
            self.lock_and_trash(&side_path, &trash.with_extension("").join(file_name))?;
        }
        let _ = self.vfs.remove_folder(&path.with_extension(""));
        let _ = self.vfs.remove(&self.summaries_path(&main.project));
        let _ = self.vfs.remove(&index::path(&path));
        self.writers().remove(&main);
        let target = self.lock_and_trash(&path, &trash)?;
        Ok(target.display().to_string())
    }

    fn leaf(&self, of: &ChainName) -> Result<Option<MessageId>, StoreError> {
        announce::leaf(self, of)
    }

    fn announce(
        &self,
        of: &ChainName,
        question: &str,
    ) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
        announce::announce(self, of, question)
    }

    fn overview(&self, of: &ChainName) -> Result<Overview, StoreError> {
        let path = self.path(of)?;
        let Some((mut file, metadata)) = self.open(&path)? else {
            return Ok(Overview::default());
        };
        index::overview(
            &*self.vfs,
            &path,
            &mut *file,
            metadata.length,
            self.limits(),
        )
        .map_err(cannot("read", &path))
    }
}

/// Returns a name if it is a single part of a path on every system, and stays in its folder.
fn checked_name(name: &str) -> Result<&str, StoreError> {
    let is_safe = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(is_safe_byte)
        && !name.starts_with('.')
        && !name.ends_with('.');
    if !is_safe {
        return Err(StoreError::BadName {
            name: name.to_string(),
        });
    }
    Ok(name)
}

/// Returns whether a byte is allowed in file names on every system.
fn is_safe_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// Returns the part of a file name between a prefix and a suffix; `None` for a name that the store does not write.
fn name_between(path: &Path, prefix: &str, suffix: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    checked_name(name).ok().map(str::to_string)
}
