//! Files of somebody's own, told from those of dependencies and builds by the folders that they are in.

/// Folders that others fill. Only a whole name counts: `.git` is one of them, `.github` is not.
const FOREIGN: [&str; 26] = [
    ".cache",
    ".git",
    ".gradle",
    ".hg",
    ".idea",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".terraform",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "node_modules",
    "out",
    "site-packages",
    "target",
    "vendor",
    "venv",
];

/// Whether a file is in none of these folders. Both kinds of slashes separate, whatever the machine.
pub(super) fn is_own(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split(['/', '\\']).collect();
    folders.pop();
    !folders.iter().any(|folder| FOREIGN.contains(folder))
}
