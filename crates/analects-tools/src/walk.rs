//! Walks the files of a folder as `list_files` and `grep` see them: without hidden files, without what `.gitignore`
//! excludes, in order of their names, and never through links.

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use crate::{FolderPath, ToolError, Workspace};

/// Calls `visit` with each file below `start` that fits the pattern, until it returns false.
pub(crate) fn files_below(
    workspace: &Workspace,
    start: &FolderPath,
    pattern: Option<&str>,
    mut visit: impl FnMut(FolderPath) -> bool,
) -> Result<(), ToolError> {
    let root = workspace.folder.path();
    // Fails for what is no folder, or lies behind a link.
    workspace.folder.check_folder(start)?;
    let mut walk = WalkBuilder::new(root.join(start.as_str()));
    walk.follow_links(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .sort_by_file_name(|one, other| one.cmp(other));
    if let Some(pattern) = pattern {
        walk.overrides(only(root, pattern)?);
    }
    // Entries that cannot be read are left out.
    for entry in walk.build().flatten() {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let inside = entry.path().strip_prefix(root).ok();
        let path = inside.and_then(FolderPath::from_relative);
        if let Some(path) = path.filter(|path| is_file && !workspace.folder.is_hidden(path))
            && !visit(path)
        {
            break;
        }
    }
    Ok(())
}

/// Keeps only files that fit the pattern.
fn only(root: &std::path::Path, pattern: &str) -> Result<ignore::overrides::Override, ToolError> {
    let bad = |error: ignore::Error| {
        let text = format!("{pattern:?} is no pattern for file names: {error}");
        ToolError::Arguments(text)
    };
    if pattern.starts_with('!') {
        let text = format!("{pattern:?}: a pattern cannot start with an exclamation mark");
        return Err(ToolError::Arguments(text));
    }
    let mut overrides = OverrideBuilder::new(root);
    overrides.add(pattern).map_err(bad)?;
    overrides.build().map_err(bad)
}
