//! Records the bytes of answers as they arrive, so that `replay:FILE` can play them. The key has
//! been removed from them before.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Called when an answer could not be recorded.
pub type RecordingErrorCallback = Arc<dyn Fn(&io::Error) + Send + Sync>;

/// Writes the bytes of one answer as they arrive, so that none of them is kept in memory.
pub(crate) struct Recorder {
    /// The recording, or the error that ended it.
    file: io::Result<File>,
    on_recording_error: Option<RecordingErrorCallback>,
}

impl Recorder {
    /// Creates or empties the file, which only its owner can read.
    pub(crate) fn new(path: &Path, on_recording_error: Option<RecordingErrorCallback>) -> Recorder {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Recorder {
            file: options.open(path),
            on_recording_error,
        }
    }

    /// Writes more bytes, unless an earlier write failed.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let Ok(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            self.file = Err(error);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // The answer must not fail because of its recording.
        if let (Err(error), Some(on_recording_error)) = (&self.file, &self.on_recording_error) {
            on_recording_error(error);
        }
    }
}
