//! Answers are recorded as their bytes come, so that `replay:FILE` can play them. The key was taken
//! out of them before.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Is told when an answer could not be recorded.
pub type OnLost = Arc<dyn Fn(&io::Error) + Send + Sync>;

/// Writes the bytes of one answer as they come, so that none of them is kept in memory.
pub(crate) struct Recorder {
    /// The recording, or what keeps it from being written.
    file: io::Result<File>,
    on_lost: Option<OnLost>,
}

impl Recorder {
    pub(crate) fn new(path: &Path, on_lost: Option<OnLost>) -> Recorder {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Recorder {
            file: options.open(path),
            on_lost,
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let Ok(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            self.file = Err(error);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // An answer must not fail for it, but whoever asked for a recording is told.
        if let (Err(error), Some(on_lost)) = (&self.file, &self.on_lost) {
            on_lost(error);
        }
    }
}
