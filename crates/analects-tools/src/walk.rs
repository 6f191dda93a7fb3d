//! Walks the files of a folder as `list_files` and `grep` see them: without hidden files, without what `.gitignore`
//! excludes, in order of their names, and never through links.
//!
//! Every folder and every `.gitignore` is opened as the files of calls are. A link, a pipe or a device in its place is
//! not followed, read or waited for.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use crate::output::shortened;
use crate::{FileTool, FolderPath, ToolError, Workspace};

/// The most folders inside each other that are walked.
const MOST_DEPTH: usize = 200;

/// What a walk did not visit.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// Folders that cannot be read, or that are too deep.
    pub folders: usize,
    /// Files that the person does not allow.
    pub denied: usize,
}

impl LeftOut {
    /// What to tell the model, a line for each reason.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.folders > 0 {
            notes.push(format!(
                "[{} folders left out: too deep, or not readable]",
                self.folders
            ));
        }
        if self.denied > 0 {
            notes.push("[files that the person does not allow are left out]".to_string());
        }
        notes
    }
}

/// Calls `visit` with each file below `start` that fits the pattern and that `tool` may show, until it returns false.
pub(crate) fn files_below(
    workspace: &Workspace,
    tool: FileTool,
    start: &FolderPath,
    pattern: Option<&str>,
    visit: impl FnMut(FolderPath) -> bool,
) -> Result<LeftOut, ToolError> {
    let mut walk = Walk {
        workspace,
        tool,
        pattern: pattern.map(|it| only(workspace, it)).transpose()?,
        ignored: Vec::new(),
        left_out: LeftOut::default(),
        visit,
    };
    // Fails for what is no folder, or lies behind a link.
    let entries = workspace.folder.entries(start)?;
    let exclude = FolderPath::default().child(".git").child("info");
    walk.read_patterns(&FolderPath::default(), &exclude.child("exclude"));
    let mut above = FolderPath::default();
    for name in start.names() {
        walk.enter(&above);
        above = above.child(name);
    }
    walk.folder(start, entries);
    Ok(walk.left_out)
}

/// A walk under way.
struct Walk<'w, V> {
    workspace: &'w Workspace,
    tool: FileTool,
    pattern: Option<Override>,
    /// The patterns of the folders on the way, from the outside in.
    ignored: Vec<Gitignore>,
    left_out: LeftOut,
    visit: V,
}

/// A file or folder in a folder.
#[derive(Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    /// A link, a pipe, a socket or a device.
    Other,
}

impl<V: FnMut(FolderPath) -> bool> Walk<'_, V> {
    /// Visits the files below a folder with these entries. False if the walk is over.
    fn folder(&mut self, path: &FolderPath, entries: Vec<Entry>) -> bool {
        let before = self.ignored.len();
        self.enter(path);
        let goes_on = entries
            .into_iter()
            .all(|entry| self.entry(&path.child(&entry.name), &entry));
        self.ignored.truncate(before);
        goes_on
    }

    /// Visits a file, or the files below a folder. False if the walk is over.
    fn entry(&mut self, path: &FolderPath, entry: &Entry) -> bool {
        if (self.workspace.is_stopped)() {
            return false;
        }
        let is_folder = entry.kind == EntryKind::Folder;
        let is_hidden = entry.name.starts_with('.') || self.workspace.folder.is_hidden(path);
        if is_hidden || entry.kind == EntryKind::Other || self.is_ignored(path, is_folder) {
            return true;
        }
        if !is_folder {
            return self.file(path);
        }
        if path.names().count() > MOST_DEPTH {
            self.left_out.folders += 1;
            return true;
        }
        match self.workspace.folder.entries(path) {
            Ok(entries) => self.folder(path, entries),
            Err(_) => {
                self.left_out.folders += 1;
                true
            }
        }
    }

    /// Visits a file that fits the pattern. False if the walk is over.
    fn file(&mut self, path: &FolderPath) -> bool {
        let full = self.workspace.folder.path().join(path.as_str());
        let fits = |pattern: &Override| !pattern.matched(&full, false).is_ignore();
        if !self.pattern.as_ref().is_none_or(fits) {
            return true;
        }
        if self.workspace.is_denied(self.tool, Some(path)) {
            self.left_out.denied += 1;
            return true;
        }
        (self.visit)(path.clone())
    }

    /// Takes note of the `.gitignore` of a folder.
    fn enter(&mut self, folder: &FolderPath) {
        self.read_patterns(folder, &folder.child(".gitignore"));
    }

    /// Takes note of the patterns in a file, which hold below `folder`. A pattern that makes no sense is ignored, as git
    /// does.
    fn read_patterns(&mut self, folder: &FolderPath, file: &FolderPath) {
        let Ok((bytes, _)) = self.workspace.folder.read(file) else {
            return;
        };
        let root = self.workspace.folder.path();
        let mut patterns = GitignoreBuilder::new(root.join(folder.as_str()));
        for line in String::from_utf8_lossy(&bytes).lines() {
            _ = patterns.add_line(None, line);
        }
        self.ignored.extend(patterns.build());
    }

    /// Whether a `.gitignore` excludes this path. The innermost one that says something about it decides.
    fn is_ignored(&self, path: &FolderPath, is_folder: bool) -> bool {
        let full = self.workspace.folder.path().join(path.as_str());
        let matches = self.ignored.iter().rev();
        matches
            .map(|patterns| patterns.matched(&full, is_folder))
            .find(|it| !it.is_none())
            .is_some_and(|it| it.is_ignore())
    }
}

/// Keeps only files that fit the pattern.
fn only(workspace: &Workspace, pattern: &str) -> Result<Override, ToolError> {
    let bad = |error: ignore::Error| {
        let why = shortened(&error.to_string(), 200);
        let start = shortened(pattern, 200);
        let text = format!("{start:?} is no pattern for file names: {why}");
        ToolError::Arguments(text)
    };
    if pattern.starts_with(['!', '#']) {
        let start = shortened(pattern, 200);
        let text = format!("{start:?}: a pattern cannot start with an exclamation mark or a #");
        return Err(ToolError::Arguments(text));
    }
    let mut overrides = OverrideBuilder::new(workspace.folder.path());
    overrides.add(pattern).map_err(bad)?;
    overrides.build().map_err(bad)
}
