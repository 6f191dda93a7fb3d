//! A folder together with what the model has seen of its files.

use analects_context::{FileFacts, FileFreshness, Freshness};
use jiff::Timestamp;

use crate::{FileTool, Folder, FolderPath, Rule, ToolError};

/// What the tools of one conversation work on.
#[derive(Debug)]
pub struct Workspace {
    /// The folder that no call leaves.
    pub folder: Folder,
    /// Which files the model has seen, and in which state. Paths are those that a model uses, relative to the folder.
    pub files: FileFreshness,
    /// The time of the call, for what `files` records.
    pub now: Timestamp,
    /// What the person does not allow, whatever else is allowed.
    pub denied: Vec<Rule>,
    /// Whether the person has stopped the call. A search looks at it before each file.
    pub is_stopped: fn() -> bool,
}

impl Workspace {
    /// Creates a workspace of which the model has seen nothing.
    pub fn new(folder: Folder) -> Workspace {
        Workspace {
            folder,
            files: FileFreshness::default(),
            now: Timestamp::UNIX_EPOCH,
            denied: Vec::new(),
            is_stopped: || false,
        }
    }

    /// Parses the path of a call.
    pub(crate) fn path(&self, text: &str) -> Result<FolderPath, ToolError> {
        FolderPath::parse(text, self.folder.path())
    }

    /// Fails if the person has stopped the call.
    pub(crate) fn check_stopped(&self) -> Result<(), ToolError> {
        if (self.is_stopped)() {
            return Err(ToolError::Stopped);
        }
        Ok(())
    }

    /// Whether a rule denies this call. A call without a path is only denied by a rule without one.
    pub(crate) fn is_denied(&self, tool: FileTool, path: Option<&FolderPath>) -> bool {
        self.denied.iter().any(|rule| rule.denies(tool, path))
    }

    /// Reads a file, and records that the model has seen it.
    pub(crate) fn read(&mut self, path: &FolderPath) -> Result<Vec<u8>, ToolError> {
        let (bytes, facts) = self.folder.read(path)?;
        self.files.read(path.as_str(), facts, self.now);
        Ok(bytes)
    }

    /// Fails if the model has seen this file, and somebody else has changed it since.
    pub(crate) fn check_fresh(
        &mut self,
        path: &FolderPath,
        facts: Option<&FileFacts>,
    ) -> Result<(), ToolError> {
        match self.files.check(path.as_str(), facts) {
            Freshness::ModifiedExternally => Err(ToolError::Changed { path: path.clone() }),
            Freshness::Fresh | Freshness::Untracked | Freshness::Deleted => Ok(()),
        }
    }

    /// Replaces or creates a file, and records that the model knows its new content.
    pub(crate) fn write(&mut self, path: &FolderPath, bytes: &[u8]) -> Result<(), ToolError> {
        let facts = self.folder.write(path, bytes)?;
        self.files.edited(path.as_str(), facts, self.now);
        Ok(())
    }
}
