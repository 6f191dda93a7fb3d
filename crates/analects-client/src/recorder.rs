//! Answers are recorded as their bytes came, so that `replay:FILE` can play them. The key was taken
//! out of them before.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Takes the bytes of one answer, and writes them when that ends, however it ends.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Recorder {
    pub(crate) fn new(path: &Path) -> Recorder {
        Recorder { path: path.to_path_buf(), bytes: Vec::new() }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn write(&self) -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path)?.write_all(&self.bytes)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Who asked for a recording looks whether it is there; an answer must not fail for it.
        let _ = self.write();
    }
}
