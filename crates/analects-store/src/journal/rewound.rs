//! Files that were rewound: which empty cell says so. If that cell goes before anything was said in it, the next message
//! would follow another one than the person meant, so somebody has to say that.

use std::path::{Path, PathBuf};

use analects_core::{Raw, RawMap};
use analects_formats::msgfile::Document;

use super::{Journal, path_hash};
use crate::StoreError;

/// A rewind whose cell is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRewind {
    /// The cell that the next message was to follow; empty for the beginning.
    pub to: String,
}

impl Journal {
    /// Notes where a file goes on, as its last cell says it. A file that was not rewound has no note.
    pub fn note_rewind(&self, path: &Path, document: &Document) -> Result<(), StoreError> {
        let file = self.rewind_file(path);
        let mark = document.ready_cell().filter(|cell| cell.is_rewind_mark());
        let Some((cell, to)) = mark.and_then(|cell| Some((cell.id()?, cell.parent()?))) else {
            // There is mostly none.
            let _ = self.vfs.remove(&file);
            return Ok(());
        };
        let mut note = RawMap::new();
        note.push("cell", Raw::string(cell));
        note.push("parent", Raw::string(to));
        self.write_new(&file, &note.to_raw().to_string())
    }

    /// The rewind of a file whose cell is gone though nothing was said in it. It is told once.
    pub fn take_lost_rewind(&self, path: &Path, document: &Document) -> Option<LostRewind> {
        let file = self.rewind_file(path);
        let note = RawMap::parse(&self.read(&file)?).unwrap_or_default();
        let get = |key: &str| note.get(key).and_then(Raw::as_string).unwrap_or_default();
        let to = get("parent");
        let cell = document.cell(&get("cell"));
        if cell.is_some_and(|cell| cell.is_rewind_mark()) {
            return None;
        }
        let _ = self.vfs.remove(&file);
        let is_used = cell.is_some_and(|cell| cell.parent() == Some(&to));
        (!is_used).then_some(LostRewind { to })
    }

    fn rewind_file(&self, path: &Path) -> PathBuf {
        self.folder.join("rewinds").join(format!("{}.json", path_hash(path)))
    }
}
