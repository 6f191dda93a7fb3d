//! Paths of files as a model writes them, below one folder.

use std::fmt;
use std::path::{Component, Path};

use crate::ToolError;
use crate::output::shortened;

/// The longest path that systems take, in bytes.
const LONGEST: usize = 4_096;

/// The most characters of a path that an error repeats.
const LONGEST_SHOWN: usize = 300;

/// The path of a file below a folder: relative, with `/` between its names, and without `.` and `..`. The folder itself
/// is the empty path, which is shown as `.`.
///
/// ```
/// use std::path::Path;
/// use analects_tools::FolderPath;
///
/// let root = Path::new("/srv/talk");
/// assert_eq!(FolderPath::parse("./src//main.rs", root)?.to_string(), "src/main.rs");
/// assert_eq!(FolderPath::parse("/srv/talk/a.txt", root)?.to_string(), "a.txt");
/// for outside in ["../a.txt", "src/../../a.txt", "/etc/passwd", "a\0b"] {
///     assert!(FolderPath::parse(outside, root).is_err(), "{outside}");
/// }
/// # Ok::<(), analects_tools::ToolError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FolderPath(String);

impl FolderPath {
    /// Parses a path that a model wrote. It may be absolute if it leads into the folder `root`.
    pub fn parse(text: &str, root: &Path) -> Result<FolderPath, ToolError> {
        let refused = |why| ToolError::Path {
            path: shortened(text, LONGEST_SHOWN),
            why,
        };
        if text.contains('\0') {
            return Err(refused("has a NUL character"));
        }
        if text.len() > LONGEST {
            return Err(refused("is too long"));
        }
        let path = Path::new(text);
        let relative = if path.is_absolute() {
            let inside = path.strip_prefix(root);
            inside.map_err(|_| refused("leads out of the folder"))?
        } else {
            path
        };
        let mut names = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push(name.to_string_lossy()),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(refused("leads out of the folder"));
                }
            }
        }
        Ok(FolderPath(names.join("/")))
    }

    /// Creates a path from what a walk of the folder found; `None` if a name is not UTF-8.
    pub(crate) fn from_relative(path: &Path) -> Option<FolderPath> {
        let names: Option<Vec<&str>> = path.iter().map(|name| name.to_str()).collect();
        Some(FolderPath(names?.join("/")))
    }

    /// The path of a file or folder in this folder.
    pub(crate) fn child(&self, name: &str) -> FolderPath {
        if self.0.is_empty() {
            FolderPath(name.to_string())
        } else {
            FolderPath(format!("{}/{name}", self.0))
        }
    }

    /// This path and the folders that it is in, from the outside in.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(at, _)| at);
        ends.chain([self.0.len()]).map(|end| &self.0[..end])
    }

    /// The path for a line of a list. A name with a line end is quoted, so that it cannot pass for two.
    pub(crate) fn in_list(&self) -> String {
        if self.0.contains(char::is_control) {
            format!("{:?}", self.0)
        } else {
            self.0.clone()
        }
    }

    /// The names of the folders on the way and of the file, from the outside in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The path of the folder that holds the file, and the file's name. `None` for the folder itself.
    pub(crate) fn split(&self) -> Option<(FolderPath, &str)> {
        if self.0.is_empty() {
            return None;
        }
        match self.0.rsplit_once('/') {
            Some((folder, name)) => Some((FolderPath(folder.to_string()), name)),
            None => Some((FolderPath::default(), &self.0)),
        }
    }

    /// The path as text; empty for the folder itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FolderPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            formatter.write_str(".")
        } else {
            formatter.write_str(&self.0)
        }
    }
}
