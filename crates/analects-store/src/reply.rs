//! A reply that grows in its file while it comes, so that a kill costs almost nothing of it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;

use analects_formats::msgfile::{self, CellStream, NewCell};

use crate::error::to;
use crate::{MessageFile, StoreError};

/// A reply in the making.
#[derive(Debug)]
pub struct Reply {
    file: MessageFile,
    stream: CellStream,
    /// Where the reply grows; `None` once somebody else changed the file, for then the rest is kept
    /// in memory and put in its place at the end.
    growing: Option<Growing>,
    waiting: String,
}

/// The open file, and what it should look like.
#[derive(Debug)]
struct Growing {
    handle: File,
    length: u64,
}

impl Reply {
    pub(crate) fn start(mut file: MessageFile, cell: NewCell) -> Result<Reply, StoreError> {
        let (stream, splice) = CellStream::open(file.document(), cell);
        file.splice(&splice)?;
        let handle = OpenOptions::new().append(true).open(file.path());
        let handle = handle.map_err(to("open", file.path()))?;
        let length = file.document().source().len() as u64;
        let growing = Some(Growing { handle, length });
        Ok(Reply { file, stream, growing, waiting: String::new() })
    }

    /// Takes more text; it reaches the file with the next [`Reply::flush`].
    pub fn push(&mut self, text: &str) {
        self.waiting.push_str(&self.stream.push(text));
    }

    /// Whether there is text that the file does not hold yet.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes what came since the last time, without a sync: a kill costs nothing, a power cut the
    /// last moments. If somebody else changed the file, nothing is written until the end.
    pub fn flush(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let path = self.file.path();
        let Some(growing) = self.growing.as_mut().filter(|growing| growing.is_untouched(path))
        else {
            self.growing = None;
            return;
        };
        match growing.handle.write_all(waiting.as_bytes()) {
            Ok(()) => growing.length += waiting.len() as u64,
            // A full disk, perhaps. The text is still in memory, and the end reports the error.
            Err(_) => self.growing = None,
        }
    }

    /// Puts the reply in its final form. When this returns, it survives a power cut.
    ///
    /// `cell` has the attributes that are known in the end; its id is taken from the reply. If the
    /// file changed meanwhile, the reply's own cell is found by its id, and if that is gone, the
    /// reply is added at the end: nothing that anybody wrote is lost.
    pub fn finish(mut self, mut cell: NewCell) -> Result<MessageFile, StoreError> {
        cell.id.clone_from(&self.stream.cell().id);
        match self.file.read_again() {
            // The file was removed: it comes back as it was when the reply began.
            Err(error) if error.is_not_found() => {}
            read => read?,
        }
        let document = self.file.document();
        if let Some(problem) = document.why_not_writable().cloned().map(Box::new) {
            return Err(StoreError::NotWritable { path: self.file.path().to_path_buf(), problem });
        }
        let own = document
            .cell(&cell.id)
            .filter(|own| own.meta.is_some() && own.attribute("status") == Some("streaming"));
        let splice = match own {
            Some(own) => msgfile::replace(document, own, &cell),
            None => {
                cell.id = document.next_id();
                msgfile::append(document, &cell)
            }
        };
        self.file.splice(&splice)?;
        Ok(self.file)
    }

    /// The id of the reply's cell.
    pub fn id(&self) -> &str {
        &self.stream.cell().id
    }
}

impl Growing {
    /// Whether the path still leads to the file that we opened, with nothing in it but our text.
    fn is_untouched(&self, path: &std::path::Path) -> bool {
        let (Ok(ours), Ok(now)) = (self.handle.metadata(), fs::metadata(path)) else {
            return false;
        };
        now.len() == self.length && is_same_file(&ours, &now)
    }
}

#[cfg(unix)]
fn is_same_file(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_file(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.created().ok() == other.created().ok()
}
