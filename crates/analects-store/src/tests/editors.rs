//! An editor saves at every moment of our own save, in every way that editors have. Its text and ours
//! are both there afterwards, each once.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use analects_formats::msgfile::{Document, NewCell, decode_named};

use crate::vfs::{Faulty, Memory, Open, Vfs, VfsFile};
use crate::{LockedFile, Places, StoreError};

const FILE: &str = "/disk/talk.msg.md";
/// Longer than any editor here takes; each look at the file is a step of the editor, too.
const PATIENCE: Duration = Duration::from_secs(60);
const BASE: &str = "# %%\n\nround 0\n\n# %%% [^2]\n\n[^2]: [quick]\n\nsecond\n";

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
        let must_wait = self.open.as_ref().is_some_and(|file| self.memory.is_leased(&**file));
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
        let Ok(mut file) = self.memory.open(path, Open::Append) else { return };
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
        let Some(mut file) = self.open.take() else { return };
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

fn places() -> Places {
    Places { data: "/disk/data".into(), state: "/disk/state".into() }
}

fn add(vfs: Arc<dyn Vfs>, large: usize) -> Result<(), StoreError> {
    let file = LockedFile::open_on(vfs, Path::new(FILE), &places(), PATIENCE)?;
    file.with_large(large).append(|document| NewCell::message(document.next_id(), "ours"))
}

fn disk() -> Memory {
    let memory = Memory::new([Path::new("/"), Path::new("/disk")]);
    memory.put(Path::new(FILE), BASE.as_bytes());
    memory
}

/// Runs one save of ours with one save of the editor in it; false if the editor came too late.
fn race(style: Style, at: usize, large: usize) -> bool {
    let memory = disk();
    let (open, text) = (None, String::new());
    let editor = Editor { memory: memory.clone(), style, at, open, text, has_saved: false };
    let editor = Arc::new(Mutex::new(editor));
    let acting = editor.clone();
    let vfs = Faulty::beside(Arc::new(memory.clone()), move |number| {
        acting.lock().unwrap().step(number);
    });
    let operations = vfs.clone();
    add(Arc::new(vfs), large).unwrap_or_else(|error| panic!("{style:?} at {at}: {error}"));
    let in_time = operations.operations() > at;
    let mut editor = editor.lock().unwrap();
    editor.step(usize::MAX);
    if !editor.has_saved {
        return in_time;
    }
    let document = decode_named(memory.get(Path::new(FILE)).unwrap(), FILE);
    let texts: Vec<String> = document.cells().map(|cell| cell.content().into_owned()).collect();
    assert_eq!(texts, ["round 1", "second", "ours"], "{style:?} at {at}, large {}", large == 0);
    assert_eq!(document.problems(), [], "{style:?} at {at}");
    let kept = memory.names().into_iter().filter(|name| name.to_string_lossy().contains(".kept"));
    assert_eq!(kept.count(), 0, "{style:?} at {at}");
    in_time
}

#[test]
fn an_editor_may_save_at_any_moment_of_ours() {
    let mut styles = vec![Style::Rename, Style::InPlace];
    for later in [1, 2, 3, 5, 8, 13] {
        styles.extend([Style::TruncateThenWrite(later), Style::OpenThenWrite(later)]);
    }
    let mut races = 0;
    for large in [usize::MAX, 0] {
        for style in &styles {
            races += (0..).take_while(|at| race(*style, *at, large)).count();
        }
    }
    assert!(races > 500, "only {races} races");
}

const EARLIER: &str = "# %%\n\nround 1\n";

/// Writes an answer while somebody else saves, so that it is looked after in the end.
fn answer(vfs: Faulty, memory: &Memory) -> Result<LockedFile, StoreError> {
    let (path, start) =
        (Path::new(FILE), |document: &Document| NewCell::reply(document.next_id(), "quick", ""));
    let file = LockedFile::open_on(Arc::new(vfs), path, &places(), Duration::ZERO)?;
    let reply = file.start_reply(start)?;
    memory.put(path, EARLIER.as_bytes());
    reply.finish(|_, id| (vec![NewCell::reply(id, "quick", "the answer")], None))
}

/// Finishes an answer. So many operations after it is in the file, an editor takes it away, with a text that it read
/// earlier, and perhaps brings it back some operations later. How often the answer is there in the end.
fn take_away(after: usize, later: Option<usize>) -> usize {
    let memory = disk();
    let (acting, path) = (memory.clone(), Path::new(FILE));
    let (mut answered, mut taken) = (None, None);
    let vfs = Faulty::beside(Arc::new(memory.clone()), move |number| {
        let text = String::from_utf8(acting.get(path).unwrap_or_default()).unwrap();
        if answered.is_none() && text.contains("the answer") {
            answered = Some(number);
        }
        let since = answered.map(|answered| number - answered);
        if since == Some(after) {
            taken = Some(text);
            // Not just the beginning of what is there, which would be a save that is not yet complete.
            acting.put(path, EARLIER.replace("round 1", "round 2").as_bytes());
        }
        if let Some(text) = taken.take_if(|_| since == later.map(|later| after + later)) {
            acting.put(path, text.as_bytes());
        }
    });
    answer(vfs, &memory).unwrap();
    String::from_utf8(memory.get(path).unwrap()).unwrap().matches("the answer").count()
}

#[test]
fn an_answer_that_is_taken_away_or_brought_back_is_there_once() {
    // Each takes as long as an answer is looked after, mostly by waiting, so all are at work at once.
    let laters = || (1..14).map(Some).chain([None]);
    let pairs = (0..24).flat_map(|after| laters().map(move |later| (after, later)));
    let races: Vec<_> =
        pairs.map(|pair| (pair, std::thread::spawn(move || take_away(pair.0, pair.1)))).collect();
    for ((after, later), race) in races {
        let what = format!("taken after {after} operations, brought back after {later:?}");
        assert_eq!(race.join().unwrap(), 1, "{what}");
    }
}

/// What is to be kept of an answer that could not be looked after is there once, too.
#[test]
fn an_answer_that_cannot_be_looked_after_is_kept_once() {
    let memory = disk();
    let (acting, path) = (memory.clone(), Path::new(FILE));
    let vfs = Faulty::beside(Arc::new(memory.clone()), move |_| {
        let text = acting.get(path).unwrap_or_default();
        // Saved by an editor of another encoding, so that nobody can read it any more.
        if text.windows(10).any(|window| window == b"the answer") && !text.ends_with(b"\xe9\n") {
            acting.put(path, &[&text[..], b"\n# %%\n\ncaf\xe9\n"].concat());
        }
    });
    let Err(StoreError::Unfinished { whole: Some(whole), .. }) = answer(vfs, &memory) else {
        panic!("a file that cannot be read was written to");
    };
    let text = String::from_utf8(whole.source().to_vec()).unwrap();
    assert_eq!(text.matches("the answer").count(), 1, "{text}");
}
