//! What was typed in earlier sessions: a line of JSON for each text, in a file that only its owner can
//! read. Nothing depends on it: what cannot be read is passed over, what cannot be written is not kept.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::paste::is_harmless;

/// How much is read of the file, from its end.
const READ: u64 = 500_000;
/// A file that is larger than this is made shorter.
const LARGEST: u64 = 2_000_000;
/// A longer text is not kept: whoever wants it again has it in the conversation.
const LONGEST: usize = 16_000;
/// How many texts are offered.
pub const MOST: usize = 1_000;

/// The file of what was typed.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
}

impl History {
    pub fn in_folder(folder: &Path) -> History {
        History {
            path: folder.join("prompts.jsonl"),
        }
    }

    /// What was typed before, oldest first.
    pub fn read(&self) -> Vec<String> {
        let bytes = self.end_of_file().unwrap_or_default();
        let text = |line: &[u8]| -> Option<String> {
            let text: String = serde_json::from_slice(line).ok()?;
            let text: String = text.chars().filter(|c| is_harmless(*c)).collect();
            Some(text).filter(|text| !text.trim().is_empty() && text.len() <= LONGEST)
        };
        let mut texts: Vec<String> = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(text)
            .collect();
        texts.dedup();
        texts.split_off(texts.len().saturating_sub(MOST))
    }

    fn end_of_file(&self) -> io::Result<Vec<u8>> {
        // To open a pipe would wait for whoever writes to it.
        if !std::fs::metadata(&self.path)?.is_file() {
            return Ok(Vec::new());
        }
        let mut file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(READ)))?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Keeps a text.
    pub fn add(&self, text: &str) {
        if text.len() <= LONGEST {
            let _ = self.try_add(text);
        }
    }

    fn try_add(&self, text: &str) -> io::Result<()> {
        match std::fs::metadata(&self.path) {
            Ok(facts) if !facts.is_file() => return Ok(()),
            Ok(facts) if facts.len() > LARGEST => self.shorten()?,
            _ => {}
        }
        let line = serde_json::to_string(text)? + "\n";
        if let Some(folder) = self.path.parent() {
            private_folder(folder)?;
        }
        let mut file = private(OpenOptions::new().append(true).create(true)).open(&self.path)?;
        // One write, so that two sessions do not mix their lines.
        file.write_all(line.as_bytes())
    }

    /// Keeps only what is read.
    fn shorten(&self) -> io::Result<()> {
        let kept = self
            .read()
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<Vec<_>, _>>()?;
        let new = self
            .path
            .with_extension(format!("{}.new", std::process::id()));
        let mut file =
            private(OpenOptions::new().write(true).create(true).truncate(true)).open(&new)?;
        file.write_all((kept.join("\n") + "\n").as_bytes())?;
        std::fs::rename(new, &self.path)
    }
}

/// Lets only its owner read what is made.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes a folder that only its owner can enter.
pub fn private_folder(path: &Path) -> io::Result<()> {
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
    fn what_was_typed_comes_back() {
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
    fn garbage_hurts_nobody() {
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
    fn a_folder_in_its_place_hurts_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(folder.path());
        std::fs::create_dir(&history.path).unwrap();
        history.add("x");
        assert_eq!(history.read(), Vec::<String>::new());
    }

    #[test]
    fn it_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(folder.path());
        let line = serde_json::to_string(&"y".repeat(10_000)).unwrap() + "\n";
        std::fs::write(&history.path, line.repeat(250)).unwrap();
        history.add("last");
        assert!(std::fs::metadata(&history.path).unwrap().len() < READ + 1_000);
        assert_eq!(history.read().last().unwrap(), "last");
    }
}
