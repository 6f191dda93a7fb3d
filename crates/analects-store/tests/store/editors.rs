//! An editor saves at every moment of our own save, in every way that editors have. Its text and ours
//! are both there afterwards, each once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use analects_formats::msgfile::{NewCell, decode_named};
use analects_store::vfs::{OpenMode, Vfs, VfsFile};
use analects_store::{AnswerDestination, LockedFile, StoreError};
use analects_testkit::disks::{Faulty, Memory};

use super::answers::{Answering, READY};
use super::in_memory::{FILE, places};

/// Longer than any editor here takes; each look at the file is a step of the editor, too.
const PATIENCE: Duration = Duration::from_secs(60);
const BASE: &str = "# %%\n\nround 0\n\n# %%% [^2]\n\n[^2]: [quick]\n\nsecond\n\n# %%\n\nthird\n";

/// How an editor saves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    /// Writes a new file and renames it.
    Rename,
    /// Opens the file, empties it and writes it, at once.
    InPlace,
    /// Empties the file, and writes it some operations later.
    TruncateThenWrite(usize),
    /// Opens the file, and empties and writes it some operations later.
    OpenThenWrite(usize),
}

/// An editor that saves once, never with a text that it read too long ago.
struct Editor {
    memory: Memory,
    style: Style,
    at: usize,
    open: Option<Box<dyn VfsFile>>,
    text: String,
    has_saved: bool,
}

impl Editor {
    fn step(&mut self, number: usize) {
        let due = self.at
            + match self.style {
                Style::TruncateThenWrite(later) | Style::OpenThenWrite(later) => later,
                _ => 0,
            };
        if number == self.at {
            self.begin();
        }
        // Whoever opens a file on which there is a lease waits in `open`.
        let must_wait = self
            .open
            .as_ref()
            .is_some_and(|file| self.memory.is_leased(&**file));
        if number >= self.at && !must_wait {
            self.empty();
        }
        if number >= due && !must_wait {
            self.end();
        }
    }

    fn begin(&mut self) {
        let path = Path::new(FILE);
        // Between a removal and a rename there is no file to open.
        let Ok(mut file) = self.memory.open(path, OpenMode::Append) else {
            return;
        };
        if self.style == Style::Rename {
            self.text = edited(&mut *file);
            let mut new = self.memory.draft(path).unwrap();
            new.write(self.text.as_bytes()).unwrap();
            new.link(Path::new("/disk/new")).unwrap();
            self.memory.rename(Path::new("/disk/new"), path).unwrap();
            self.has_saved = true;
            return;
        }
        self.open = Some(file);
    }

    fn empty(&mut self) {
        if let Style::TruncateThenWrite(_) = self.style
            && let Some(file) = self.open.as_mut()
            && self.text.is_empty()
        {
            self.text = edited(&mut **file);
            file.truncate(0).unwrap();
        }
    }

    fn end(&mut self) {
        let Some(mut file) = self.open.take() else {
            return;
        };
        if !matches!(self.style, Style::TruncateThenWrite(_)) {
            self.text = edited(&mut *file);
        }
        file.truncate(0).unwrap();
        file.write(self.text.as_bytes()).unwrap();
        self.has_saved = true;
    }
}

fn edited(file: &mut dyn VfsFile) -> String {
    let text = String::from_utf8(file.read_from(0).unwrap()).unwrap();
    text.replace("round 0", "round 1")
}

/// What we write.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ours {
    /// A cell at the end.
    Cell,
    /// A cell in the place of the empty one at the end.
    InReadyCell,
    /// An answer to what waits.
    Answer,
    /// An answer that broke off before.
    BrokenOff,
}

impl Ours {
    fn prepare(self, memory: &Memory) {
        if self == Ours::InReadyCell {
            memory.put(Path::new(FILE), format!("{BASE}\n# %%\n").as_bytes());
        }
        if self == Ours::BrokenOff {
            let vfs = Arc::new(memory.clone());
            let file = LockedFile::open_on(vfs, Path::new(FILE), &places(), PATIENCE).unwrap();
            Answering::begin(file).unwrap().hear("ours");
        }
    }

    fn write(self, vfs: Arc<dyn Vfs>, large: usize) -> Result<(), StoreError> {
        let file = LockedFile::open_on(vfs, Path::new(FILE), &places(), PATIENCE)?;
        let mut file = file.with_in_place_size(large).with_patience(PATIENCE);
        match self {
            Ours::BrokenOff => Ok(()),
            Ours::Cell | Ours::InReadyCell => {
                file.append(|document| NewCell::message(document.next_id(), "ours"))
            }
            Ours::Answer => {
                let place = Answering::begin(file)?.finish("ours")?;
                assert!(
                    matches!(place, AnswerDestination::Cell(_)),
                    "the answer is not in the file"
                );
                Ok(())
            }
        }
    }

    /// All cells in the end.
    fn expected(self) -> Vec<&'static str> {
        let mut texts = vec!["round 1", "second", "third", "ours"];
        if !matches!(self, Ours::Cell | Ours::InReadyCell) {
            texts.push(READY);
        }
        texts
    }
}

fn disk() -> Memory {
    Memory::new("/disk").with_file(FILE, BASE)
}

/// Runs one save of ours with one save of the editor in it; false if the editor came too late.
fn race(ours: Ours, style: Style, at: usize, large: usize) -> bool {
    let memory = disk();
    ours.prepare(&memory);
    let (open, text) = (None, String::new());
    let editor = Editor {
        memory: memory.clone(),
        style,
        at,
        open,
        text,
        has_saved: false,
    };
    let editor = Arc::new(Mutex::new(editor));
    let acting = editor.clone();
    let vfs = Faulty::beside(Arc::new(memory.clone()), move |number| {
        acting.lock().unwrap().step(number);
    });
    let operations = vfs.clone();
    let what = format!("{ours:?}, {style:?} at {at}, large {}", large == 0);
    ours.write(Arc::new(vfs), large)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let in_time = operations.operations() > at;
    let mut editor = editor.lock().unwrap();
    editor.step(usize::MAX);
    if !editor.has_saved {
        return in_time;
    }
    let document = decode_named(memory.get(Path::new(FILE)).unwrap(), FILE);
    let texts: Vec<String> = document
        .cells()
        .map(|cell| cell.content().into_owned())
        .collect();
    assert_eq!(texts, ours.expected(), "{what}");
    assert_eq!(document.problems(), [], "{what}");
    let names = memory.names();
    let litter = [".kept", "/asked/"];
    let is_litter = |name: &&PathBuf| {
        let name = name.to_string_lossy();
        litter.iter().any(|part| name.contains(part))
    };
    assert_eq!(names.iter().find(is_litter), None, "{what}");
    in_time
}

/// How many races there are, with an editor that takes so many operations to save.
fn races(ours: Ours, large: usize, laters: &[usize]) -> usize {
    let mut styles = vec![Style::Rename, Style::InPlace];
    for later in laters {
        styles.extend([
            Style::TruncateThenWrite(*later),
            Style::OpenThenWrite(*later),
        ]);
    }
    let count = |style: &Style| {
        (0..)
            .take_while(|at| race(ours, *style, *at, large))
            .count()
    };
    styles.iter().map(count).sum()
}

#[test]
fn an_editor_may_save_at_any_moment_of_ours() {
    for (ours, large) in [
        (Ours::Cell, usize::MAX),
        (Ours::Cell, 0),
        (Ours::InReadyCell, 0),
    ] {
        let count = races(ours, large, &[1, 2, 3, 5, 8, 13]);
        assert!(count > 250, "{ours:?}: only {count} races");
    }
}

#[test]
fn an_editor_may_save_at_any_moment_of_an_answer() {
    for (ours, large) in [
        (Ours::Answer, usize::MAX),
        (Ours::Answer, 0),
        (Ours::BrokenOff, 0),
    ] {
        let count = races(ours, large, &[8]);
        assert!(count > 100, "{ours:?}: only {count} races");
    }
}
