//! Answers are recorded as their bytes came, so that `replay:FILE` can play them. The key was taken
//! out of them before.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Is told when an answer could not be recorded.
pub type OnLost = Arc<dyn Fn(&io::Error) + Send + Sync>;

/// Takes the bytes of one answer, and writes them when that ends, however it ends.
pub(crate) struct Recorder {
    path: PathBuf,
    on_lost: Option<OnLost>,
    bytes: Vec<u8>,
}

impl Recorder {
    pub(crate) fn new(path: PathBuf, on_lost: Option<OnLost>) -> Recorder {
        Recorder { path, on_lost, bytes: Vec::new() }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn write(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path)?.write_all(&self.bytes)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // An answer must not fail for it, but whoever asked for a recording is told.
        if let (Err(error), Some(on_lost)) = (self.write(), &self.on_lost) {
            on_lost(&error);
        }
    }
}
