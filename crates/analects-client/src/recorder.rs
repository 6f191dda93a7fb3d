//! Answers are recorded as their bytes came, without the key, so that `replay:FILE` can play them.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Key;

/// Takes the bytes of one answer, and writes them when that ends, however it ends.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    key: Option<Key>,
    bytes: Vec<u8>,
}

impl Recorder {
    pub(crate) fn new(path: &Path, key: Option<Key>) -> Recorder {
        Recorder { path: path.to_path_buf(), key, bytes: Vec::new() }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn write(&self) -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let bytes = match &self.key {
            Some(key) => key.hide_in_bytes(&self.bytes),
            None => self.bytes.clone(),
        };
        options.open(&self.path)?.write_all(&bytes)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Who asked for a recording looks whether it is there; an answer must not fail for it.
        let _ = self.write();
    }
}
