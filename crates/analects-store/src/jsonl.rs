//! The store on disk, a file for each chain and a line for each record:
//! `<data>/sessions/<project>/<session>.jsonl`, side chains in `<session>/agent-<id>.jsonl`.
//!
//! A file gets its name when its first records are safe, and a session that is recorded as a whole when all of it is.
//!
//! Reading and opening never write to it. An index beside a file holds counts and the state; it is written now and
//! then by whoever appends, or has gone over much of the file, never synced, and trusted only as far as the file
//! confirms it.

mod asking;
mod digests;
mod index;
mod new_session;
pub(crate) mod rows;
mod writer;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use analects_core::{Message, MessageId};
use analects_formats::transcript::encode_to;
use jiff::Timestamp;

use crate::error::to;
use crate::places::create_private_folder;
use crate::sessions::{ChainName, Digest, Each, Listed, NewSession, Overview, TranscriptStore};
use crate::vfs::{Disk, Facts, Open, Vfs, VfsFile, folder_of};
use crate::{Places, StoreError};
use digests::Digests;
use index::Limits;
use new_session::{HiddenSession, clear_up};
use rows::{Backward, Forward};
use writer::Writer;

/// The longest line that is read, in bytes.
pub const LINE_LIMIT: usize = analects_formats::convert::LINE_LIMIT;
/// How far a file grows beyond its index before that is written anew.
const STRIDE: u64 = 1 << 20;
/// About as many bytes as a record has, so that a buffer for it need not grow.
const USUAL: usize = 4096;
/// How many files are kept open for writing.
const MAX_WRITERS: usize = 16;
/// The longest name of a session or an agent.
const MAX_NAME: usize = 100;

/// When what was appended is made to survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// Before each append returns.
    #[default]
    Always,
    /// Before an append returns that comes this long after the last sync.
    Interval(Duration),
    /// When the system likes.
    Never,
}

/// A file that is open for reading, and what is known about it.
type OpenFile = (Box<dyn VfsFile>, Facts);

/// The files that are open for writing.
type Writers = HashMap<ChainName, Arc<Mutex<Writer>>>;

/// A store of files, one line for each record.
#[derive(Debug)]
pub struct JsonlStore {
    vfs: Arc<dyn Vfs>,
    places: Places,
    policy: SyncPolicy,
    limit: usize,
    /// How far a file grows beyond its index before that is written anew.
    stride: u64,
    writers: Mutex<Writers>,
}

impl JsonlStore {
    /// The store in these places.
    pub fn new(places: &Places) -> JsonlStore {
        JsonlStore::on(Arc::new(Disk), places)
    }

    /// The same on any file system.
    pub fn on(vfs: Arc<dyn Vfs>, places: &Places) -> JsonlStore {
        JsonlStore {
            vfs,
            places: places.clone(),
            policy: SyncPolicy::Always,
            limit: LINE_LIMIT,
            stride: STRIDE,
            writers: Mutex::default(),
        }
    }

    /// Says when appends are made to survive a power cut.
    pub fn with_sync(self, policy: SyncPolicy) -> JsonlStore {
        JsonlStore { policy, ..self }
    }

    /// Sets the length beyond which lines are not read.
    pub fn with_line_limit(self, limit: usize) -> JsonlStore {
        JsonlStore { limit, ..self }
    }

    /// Sets how many bytes a file grows beyond its index before the index follows.
    pub fn with_stride(self, stride: u64) -> JsonlStore {
        JsonlStore { stride, ..self }
    }

    /// The file of a chain.
    pub fn path(&self, of: &ChainName) -> Result<PathBuf, StoreError> {
        let project = self.projects().join(safe(&of.project)?);
        Ok(match &of.agent {
            None => project.join(format!("{}.jsonl", safe(&of.session)?)),
            Some(agent) => project
                .join(safe(&of.session)?)
                .join(format!("agent-{}.jsonl", safe(agent)?)),
        })
    }

    /// Where it is kept what a list says of the sessions of a project.
    fn digests_path(&self, project: &str) -> PathBuf {
        self.places
            .state
            .join("lists")
            .join(format!("{project}.jsonl"))
    }

    fn limits(&self) -> Limits {
        Limits {
            stride: self.stride,
            line: self.limit,
        }
    }

    fn projects(&self) -> PathBuf {
        self.places.data.join("sessions")
    }

    /// Opens a chain for reading; `None` if it was never written to.
    fn open(&self, path: &Path) -> Result<Option<OpenFile>, StoreError> {
        let opened = self.vfs.open(path, Open::Read).and_then(|file| {
            let facts = file.facts()?;
            Ok((file, facts))
        });
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok((_, facts)) if !facts.is_file => Err(StoreError::NotAFile {
                path: path.to_path_buf(),
            }),
            opened => opened.map(Some).map_err(to("read", path)),
        }
    }

    fn writers(&self) -> MutexGuard<'_, Writers> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self, of: &ChainName) -> Result<Arc<Mutex<Writer>>, StoreError> {
        let mut writers = self.writers();
        if let Some(writer) = writers.get(of) {
            return Ok(Arc::clone(writer));
        }
        let path = self.path(of)?;
        let folder = folder_of(&path);
        create_private_folder(&*self.vfs, folder)?;
        if of.agent.is_none() && self.vfs.facts(&path).is_err() {
            clear_up(&self.vfs, &self.places, folder);
        }
        let writer = Arc::new(Mutex::new(Writer::open(&self.vfs, &self.places, &path)?));
        if writers.len() >= MAX_WRITERS {
            writers.clear();
        }
        writers.insert(of.clone(), Arc::clone(&writer));
        Ok(writer)
    }

    /// Adds a record as a line. What nobody could read again must not be acknowledged.
    fn encode(&self, lines: &mut String, record: &Message) -> Result<(), StoreError> {
        let start = lines.len();
        encode_to(lines, record);
        let length = lines.len() - start;
        if length > self.limit {
            return Err(StoreError::LongRecord {
                length,
                limit: self.limit,
            });
        }
        Ok(())
    }

    /// The paths in a folder, sorted; none if it is not there.
    fn list_folder(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        match self.vfs.list(folder) {
            Ok(mut paths) => {
                paths.sort();
                Ok(paths)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(to("read this folder", folder)(error)),
        }
    }

    fn list_project(&self, project: &str) -> Result<Vec<Listed>, StoreError> {
        let folder = self.projects().join(safe(project)?);
        let mut listed = Vec::new();
        for path in self.list_folder(&folder)? {
            let Some(session) = stem(&path, "", ".jsonl") else {
                continue;
            };
            let Some(facts) = self.vfs.facts(&path).ok().filter(|facts| facts.is_file) else {
                continue;
            };
            let (second, nano) = facts.modified;
            let modified = Timestamp::new(second, i32::try_from(nano).unwrap_or(0));
            let modified = modified.unwrap_or_default();
            let name = ChainName::new(project, session);
            listed.push(Listed {
                name,
                modified,
                length: facts.length,
            });
        }
        Ok(listed)
    }

    /// Moves a file to the trash, under a name that nothing there has.
    fn put_aside(&self, path: &Path, trash: &Path) -> Result<PathBuf, StoreError> {
        create_private_folder(&*self.vfs, folder_of(trash))?;
        let name = trash
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let names = (2..).map(|number| trash.with_file_name(format!("{name}.{number}.jsonl")));
        let mut free = std::iter::once(trash.to_path_buf()).chain(names);
        let place = free.find(|place| self.vfs.facts(place).is_err());
        let place = place.unwrap_or_else(|| trash.to_path_buf());
        self.vfs
            .rename(path, &place)
            .map_err(to("move to the trash", path))?;
        for folder in [folder_of(&place), folder_of(path)] {
            self.vfs
                .sync_folder(folder)
                .map_err(to("sync this folder", folder))?;
        }
        Ok(place)
    }
}

impl TranscriptStore for JsonlStore {
    fn append(&self, to: &ChainName, records: &[Message]) -> Result<(), StoreError> {
        if records.is_empty() {
            return self.path(to).map(drop);
        }
        let writer = self.writer(to)?;
        let mut lines = String::with_capacity(USUAL * records.len());
        for record in records {
            self.encode(&mut lines, record)?;
        }
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let end = writer.append(lines, self.policy)?;
        if end.saturating_sub(writer.indexed) >= self.stride {
            let (vfs, path) = (&*self.vfs, writer.path.clone());
            writer.indexed = index::keep_up(vfs, &path, end, self.limits());
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

    fn scan(&self, of: &ChainName, from: u64, each: &mut Each<'_>) -> Result<(), StoreError> {
        let path = self.path(of)?;
        let Some((mut file, _)) = self.open(&path)? else {
            return Ok(());
        };
        let mut rows = Forward::new(&mut *file, from, self.limit);
        while let Some(row) = rows.next().map_err(to("read", &path))? {
            if each(row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_back(&self, of: &ChainName, each: &mut Each<'_>) -> Result<(), StoreError> {
        let path = self.path(of)?;
        let Some((mut file, facts)) = self.open(&path)? else {
            return Ok(());
        };
        let mut rows = Backward::new(&mut *file, facts.length, self.limit);
        while let Some(row) = rows.next().map_err(to("read", &path))? {
            if each(row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn list(&self, project: Option<&str>) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        match project {
            Some(project) => listed.extend(self.list_project(project)?),
            None => {
                for folder in self.list_folder(&self.projects())? {
                    let name = folder.file_name().unwrap_or_default().to_string_lossy();
                    let is_file = self.vfs.facts(&folder).is_ok_and(|facts| facts.is_file);
                    if safe(&name).is_ok() && !is_file {
                        listed.extend(self.list_project(&name)?);
                    }
                }
            }
        }
        listed.sort_by_key(|session| std::cmp::Reverse(session.modified));
        Ok(listed)
    }

    fn digests(&self, listed: &[Listed]) -> Result<Vec<Digest>, StoreError> {
        let mut projects: BTreeMap<&str, Vec<&Listed>> = BTreeMap::new();
        for session in listed {
            projects
                .entry(&session.name.project)
                .or_default()
                .push(session);
        }
        let mut found = HashMap::new();
        for (project, sessions) in projects {
            let mut digests = Digests::read(&*self.vfs, self.digests_path(safe(project)?));
            for session in &sessions {
                if digests.get(session).is_none() {
                    digests.add(session, self.overview(&session.name)?.digest());
                }
                found.extend(
                    digests
                        .get(session)
                        .map(|digest| (&session.name, digest.clone())),
                );
            }
            digests.keep(&*self.vfs, &sessions);
        }
        Ok(listed
            .iter()
            .filter_map(|session| found.remove(&session.name))
            .collect())
    }

    fn side_chains(&self, of: &ChainName) -> Result<Vec<String>, StoreError> {
        let folder = self.path(&of.main())?.with_extension("");
        let paths = self.list_folder(&folder)?;
        Ok(paths
            .iter()
            .filter_map(|path| stem(path, "agent-", ".jsonl"))
            .collect())
    }

    fn prune(&self, session: &ChainName) -> Result<String, StoreError> {
        let main = session.main();
        let path = self.path(&main)?;
        let trash = self.places.data.join("trash").join(safe(&main.project)?);
        if self
            .vfs
            .facts(&path)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            return Err(StoreError::NoSession {
                name: main.to_string(),
            });
        }
        let place = trash.join(path.file_name().unwrap_or_default());
        // The main chain goes last, so that a prune that was cut off can be done again.
        for agent in self.side_chains(&main)? {
            let name = main.side(agent);
            let side = self.path(&name)?;
            self.writers().remove(&name);
            let name = side.file_name().unwrap_or_default();
            let _ = self.vfs.remove(&index::path(&side));
            self.locked(&side, || {
                self.put_aside(&side, &place.with_extension("").join(name))
            })?;
        }
        let _ = self.vfs.remove_folder(&path.with_extension(""));
        let _ = self.vfs.remove(&self.digests_path(&main.project));
        let _ = self.vfs.remove(&index::path(&path));
        self.writers().remove(&main);
        let place = self.locked(&path, || self.put_aside(&path, &place))?;
        Ok(place.display().to_string())
    }

    fn leaf(&self, of: &ChainName) -> Result<Option<MessageId>, StoreError> {
        asking::leaf(self, of)
    }

    fn announce(
        &self,
        of: &ChainName,
        question: &str,
    ) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
        asking::announce(self, of, question)
    }

    fn overview(&self, of: &ChainName) -> Result<Overview, StoreError> {
        let path = self.path(of)?;
        match self.open(&path)? {
            Some((mut file, facts)) => {
                index::overview(&*self.vfs, &path, &mut *file, facts.length, self.limits())
                    .map_err(to("read", &path))
            }
            None => Ok(Overview::default()),
        }
    }
}

impl JsonlStore {
    /// Does something while nobody else writes to a file.
    fn locked<T>(
        &self,
        path: &Path,
        act: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _lock = Writer::lock_alone(&self.vfs, &self.places, path)?;
        act()
    }
}

/// A name that is one part of a path on every system, and stays in its folder.
fn safe(name: &str) -> Result<&str, StoreError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_safe = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(allowed)
        && !name.starts_with('.')
        && !name.ends_with('.');
    is_safe.then_some(name).ok_or_else(|| StoreError::BadName {
        name: name.to_string(),
    })
}

/// What a file is named after, between a beginning and an end.
fn stem(path: &Path, start: &str, end: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_prefix(start)?.strip_suffix(end)?;
    safe(stem).ok().map(str::to_string)
}
