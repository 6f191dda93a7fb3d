//! The models on this machine. Each is a file of weights, or a link to a file that the person owns.
//!
//! The folder is the only record of which models exist, so a person can add or remove one with ordinary tools. A link
//! means that the person owns the file.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{FIND, io_error};
use crate::packages::{packages, pullable};
use crate::{Local, LocalError, PullableModel, sys};

/// The first bytes of a file with weights.
const MAGIC: &[u8; 4] = b"GGUF";

/// The longest name, in bytes. It becomes the name of a file and of a folder.
/// Far below the limits of file systems, so that endings such as `.gguf` always fit.
const LONGEST: usize = 64;

/// A model on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledModel {
    /// Its name.
    pub name: String,
    /// The file of its weights.
    pub path: PathBuf,
    /// Whether the person owns that file, so that it is never moved or removed.
    pub is_own: bool,
    /// The size of the file; `None` if it is gone.
    /// A link may outlive the file that it points to.
    pub bytes: Option<u64>,
    /// Whether a server runs for the model.
    /// True from the moment its keeper has locked, even while it still loads the model.
    pub runs: bool,
}

impl Local {
    /// The models on this machine, sorted by name.
    /// A file whose name no model can have is left out. A missing folder is an empty list.
    pub fn list(&self) -> Result<Vec<InstalledModel>, LocalError> {
        let folder = self.weights();
        let entries = match folder.read_dir() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("list", &folder))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error("list", &folder))?.path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str()?.strip_suffix(".gguf"));
            found.extend(
                name.filter(|name| check_name(name).is_ok())
                    .map(|name| self.at(name)),
            );
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The models that can be downloaded.
    /// The list is part of this program, so this needs no network. It includes models that are here already.
    pub fn pullable() -> &'static [PullableModel] {
        &packages().models
    }

    /// The model of that name. Fails with [`LocalError::NotPulled`] if it can be downloaded but is not here.
    /// If the name is unknown, [`LocalError::Unknown`] lists the names of both kinds, for suggestions. A link to a
    /// missing file is found, with its size unknown.
    pub fn find(&self, name: &str) -> Result<InstalledModel, LocalError> {
        check_name(name)?;
        let found = self.at(name);
        if self.file(name).symlink_metadata().is_ok() {
            return Ok(found);
        }
        if pullable(name).is_some() {
            return Err(LocalError::NotPulled(name.to_string()));
        }
        let here = self.list()?.into_iter().map(|model| model.name);
        let mut known: Vec<String> = here.collect();
        known.extend(packages().models.iter().map(|model| model.model.clone()));
        known.sort();
        known.dedup();
        Err(LocalError::Unknown {
            name: name.to_string(),
            known,
        })
    }

    /// Adds a file of weights under a name. The file stays where it is.
    /// Fails with [`LocalError::Taken`] if the name is in use, and with [`LocalError::NoWeights`] if the file is not in
    /// the GGUF format. Makes a link to the resolved path, so later changes of the working folder or of links do not
    /// matter.
    pub fn add(&self, name: &str, weights: &Path) -> Result<InstalledModel, LocalError> {
        check_name(name)?;
        let weights = weights.canonicalize().map_err(io_error(FIND, weights))?;
        check_weights(&weights)?;
        let (folder, file) = (self.weights(), self.file(name));
        sys::create_private_folder(&folder).map_err(io_error("create this folder", &folder))?;
        match link(&weights, &file) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(LocalError::Taken(name.to_string()))
            }
            made => made
                .map_err(io_error("link", &file))
                .map(|()| self.at(name)),
        }
    }

    /// Ends the server of a model and removes the model. Removes downloaded weights too, and the engine with the last
    /// model.
    /// A file that the person added stays; only the link to it goes. Waits while another program downloads.
    pub fn remove(&self, name: &str) -> Result<(), LocalError> {
        self.find(name)?;
        let _lock = self.lock_store(&mut || {})?;
        self.stop(name)?;
        let file = self.file(name);
        std::fs::remove_file(&file).map_err(io_error("remove", &file))?;
        // Without the model, its log and locks are useless.
        let _ = std::fs::remove_dir_all(self.run_folder(name));
        if self.list()?.is_empty() {
            let store = self.store();
            std::fs::remove_dir_all(&store).map_err(io_error("remove", &store))?;
        }
        Ok(())
    }

    /// The file, or the link, of a model.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.weights().join(format!("{name}.gguf"))
    }

    /// Describes the model of that name without checking that it exists.
    fn at(&self, name: &str) -> InstalledModel {
        let file = self.file(name);
        let own = file.read_link().ok();
        let path = own.clone().unwrap_or(file);
        let bytes = path.metadata().ok().map(|facts| facts.len());
        let (is_own, runs) = (own.is_some(), self.runs(name));
        InstalledModel {
            name: name.to_string(),
            path,
            is_own,
            bytes,
            runs,
        }
    }
}

/// Fails if no model can have this name.
/// Names start with a letter or digit, so no name is hidden, is `..`, or looks like an option.
pub(crate) fn check_name(name: &str) -> Result<(), LocalError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let good = name.chars().all(fits) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if good && name.len() <= LONGEST {
        return Ok(());
    }
    Err(LocalError::BadName(name.to_string()))
}

/// Fails if a file does not hold weights. Reads only its first bytes.
/// It cannot tell whether the rest is intact: for downloads, [`Local::pull`] compares the hash.
pub(crate) fn check_weights(path: &Path) -> Result<(), LocalError> {
    let bad = |reason, missing| {
        Err(LocalError::NoWeights {
            path: path.to_path_buf(),
            reason,
            missing,
        })
    };
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return bad("the weights are gone", true);
        }
        Err(error) => return Err(io_error("look at", path)(error)),
        // To open a pipe would wait for somebody to write to it.
        Ok(facts) if !facts.is_file() => return bad("not a file", false),
        Ok(_) => {}
    }
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(io_error("read", path))?;
    file.take(4)
        .read_to_end(&mut start)
        .map_err(io_error("read", path))?;
    if start == MAGIC {
        Ok(())
    } else {
        bad("not a model in the format GGUF", false)
    }
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
