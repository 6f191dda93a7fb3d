//! The texts of earlier prompts: a line of JSON for each, in a file that only its owner can read. Nothing depends on it:
//! what cannot be read is skipped, and what cannot be written is not kept.
//!
//! Several sessions may write to the file at once. Each appends whole lines, and a reader skips what it cannot parse,
//! so a mixed line costs one entry at most.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::paste::is_harmless;

/// How many bytes are read from the end of the file.
/// More would only slow the start of a session down.
const READ_SIZE: u64 = 500_000;
/// A larger file is shortened, in bytes.
const MAX_FILE_SIZE: u64 = 2_000_000;
/// A longer text is not kept, in bytes. The conversation has it.
const MAX_TEXT_LENGTH: usize = 16_000;
/// How many texts are offered.
pub const MAX_TEXTS: usize = 1_000;

/// The file with the texts of earlier prompts.
/// It holds no texts: the file is read once, when a session starts.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
}

impl History {
    /// The history in this folder, which need not exist.
    pub fn in_folder(folder: &Path) -> History {
        History {
            path: folder.join("prompts.jsonl"),
        }
    }

    /// The texts, oldest first.
    /// Repetitions in a row appear once. At most [`MAX_TEXTS`]; empty if there is no file.
    pub fn read(&self) -> Vec<String> {
        let bytes = self.end_of_file().unwrap_or_default();
        let mut texts: Vec<String> = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(parse_line)
            .collect();
        texts.dedup();
        texts.split_off(texts.len().saturating_sub(MAX_TEXTS))
    }

    /// The end of the file, which may begin inside a line.
    fn end_of_file(&self) -> io::Result<Vec<u8>> {
        // Opening a pipe would wait for a writer.
        if !std::fs::metadata(&self.path)?.is_file() {
            return Ok(Vec::new());
        }
        let mut file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(READ_SIZE)))?;
        let mut bytes = Vec::new();
        file.take(READ_SIZE).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Adds a text. Ignores errors.
    /// A text of more than [`MAX_TEXT_LENGTH`] bytes is not added.
    pub fn add(&self, text: &str) {
        if text.len() <= MAX_TEXT_LENGTH {
            let _ = self.try_add(text);
        }
    }

    /// Appends a text as a line of JSON.
    fn try_add(&self, text: &str) -> io::Result<()> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) if !metadata.is_file() => return Ok(()),
            Ok(metadata) if metadata.len() > MAX_FILE_SIZE => self.shorten()?,
            _ => {}
        }
        let line = serde_json::to_string(text)? + "\n";
        if let Some(folder) = self.path.parent() {
            create_private_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = make_private(options.append(true).create(true)).open(&self.path)?;
        // A single write, so that two sessions do not mix their lines.
        file.write_all(line.as_bytes())
    }

    /// Rewrites the file with the texts that `read` gives.
    /// Writes a new file and renames it, so a crash loses nothing. What another session adds meanwhile is lost.
    fn shorten(&self) -> io::Result<()> {
        let mut lines = String::new();
        for text in self.read() {
            lines += &serde_json::to_string(&text)?;
            lines.push('\n');
        }
        let extension = format!("{}.new", std::process::id());
        let new = self.path.with_extension(extension);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true);
        let mut file = make_private(options).open(&new)?;
        file.write_all(lines.as_bytes())?;
        std::fs::rename(new, &self.path)
    }
}

/// The text of a line, without characters that the editor would not show. `None` if it is none of ours.
/// Escape codes cannot come in by this way, even if somebody edits the file.
fn parse_line(line: &[u8]) -> Option<String> {
    let text: String = serde_json::from_slice(line).ok()?;
    let text: String = text.chars().filter(|c| is_harmless(*c)).collect();
    Some(text).filter(|text| !text.trim().is_empty() && text.len() <= MAX_TEXT_LENGTH)
}

/// Makes a new file readable for its owner only.
/// A file that exists keeps its permissions. Does nothing outside Unix.
pub fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a folder, with its parents, that only its owner can enter.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

#[cfg(test)]
mod tests {
    //! A file that may be anything.

    use super::*;

    #[test]
    fn texts_come_back_without_repetitions() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(&folder.path().join("new"));
        assert_eq!(history.read(), Vec::<String>::new());
        for text in [
            "one",
            "two\nlines \"学\"",
            "two\nlines \"学\"",
            &"x".repeat(20_000),
        ] {
            history.add(text);
        }
        assert_eq!(history.read(), ["one", "two\nlines \"学\""]);
        #[cfg(unix)]
        {
            let mode = |path: &Path| {
                std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
            };
            assert_eq!(mode(&history.path), 0o600);
            assert_eq!(mode(history.path.parent().unwrap()), 0o700);
        }
    }

    #[test]
    fn garbage_in_the_file_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(folder.path());
        let garbage = b"\xff\xfe\0\n{}\n\"good\"\nnot json\n\"esc\\u001b[2J\"\n\"torn".to_vec();
        std::fs::write(&history.path, garbage).unwrap();
        assert_eq!(history.read(), ["good", "esc[2J"]);
        history.add("next");
        history.add("last");
        assert_eq!(history.read().last().unwrap(), "last");
    }

    #[test]
    fn a_folder_in_its_place_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(folder.path());
        std::fs::create_dir(&history.path).unwrap();
        history.add("x");
        assert_eq!(history.read(), Vec::<String>::new());
    }

    #[test]
    fn a_large_file_is_shortened() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(folder.path());
        let line = serde_json::to_string(&"y".repeat(10_000)).unwrap() + "\n";
        std::fs::write(&history.path, line.repeat(250)).unwrap();
        history.add("last");
        assert!(std::fs::metadata(&history.path).unwrap().len() < READ_SIZE + 1_000);
        assert_eq!(history.read().last().unwrap(), "last");
    }
}
