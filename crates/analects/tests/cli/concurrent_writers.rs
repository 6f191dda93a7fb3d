//! Several writers at once: our own processes add cells while an editor rewrites the file in place, by rename, or by
//! truncating it. Nothing is lost, doubled or silently overwritten.

use std::collections::BTreeSet;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, print_note};

const FILE: &str = "a.msg.md";

/// What the processes have done so far.
#[derive(Default)]
struct Log {
    /// Cells of which the command said that somebody else wrote at the same moment, and that it keeps
    /// both texts: these may be there already when they are added once more.
    uncertain: BTreeSet<String>,
    acknowledged: Vec<String>,
    in_flight: BTreeSet<String>,
}

/// Two processes at a time add this many cells each.
fn add_from_two_processes(sandbox: &Sandbox, each: usize, log: &Mutex<Log>, done: &AtomicBool) {
    let _done = SetOnDrop(done);
    std::thread::scope(|scope| {
        let sides = ["left", "right"].map(|side| {
            scope.spawn(move || {
                for number in 0..each {
                    let text = format!("{side} {number}");
                    log.lock().unwrap().in_flight.insert(text.clone());
                    let mut run = sandbox.run(&["add", FILE, &text]);
                    // If the editor keeps saving, the command refuses, and is run again.
                    while run.code == Some(4) {
                        if run.stderr.contains(".kept-") {
                            log.lock().unwrap().uncertain.insert(text.clone());
                        }
                        run = sandbox.run(&["add", FILE, &text]);
                    }
                    assert_eq!(run.code, Some(0), "{text}: {}", run.stderr);
                    let mut log = log.lock().unwrap();
                    log.in_flight.remove(&text);
                    log.acknowledged.push(text);
                }
            })
        });
        sides.into_iter().for_each(|side| side.join().unwrap());
    });
}

/// Tells the editor to stop, even if a test panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// An editor that counts up in a line of its own.
struct Editor<'a> {
    sandbox: &'a Sandbox,
    log: &'a Mutex<Log>,
    round: usize,
    saves: usize,
    /// Cells that it may have overwritten itself: they came between its last look and its save.
    overwritten: BTreeSet<String>,
}

fn line(round: usize) -> String {
    format!("typed by hand, round {round:06}")
}

impl Editor<'_> {
    /// Reads the file, and checks that the editor's line is as it was saved.
    fn read(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let text = std::fs::read_to_string(self.sandbox.path(FILE)).unwrap();
            if text.contains(&line(self.round)) {
                return text;
            }
            // During a swap, the file briefly holds another version.
            assert!(
                Instant::now() < deadline,
                "round {} was overwritten: {text}",
                self.round
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Writes over the editor's line, and nothing else.
    fn save_in_place(&mut self) {
        let path = self.sandbox.path(FILE);
        let mut file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        let text = std::io::read_to_string(&file).unwrap();
        let Some(at) = text.find(&line(self.round)) else {
            return;
        };
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(line(self.round + 1).as_bytes()).unwrap();
        self.round += 1;
        self.saves += 1;
    }

    /// Saves the whole text, as an editor does that first checks whether the file has changed.
    fn save(&mut self, by_rename: bool) {
        let text = self.read();
        let new = text.replace(&line(self.round), &line(self.round + 1));
        let path = self.sandbox.path(FILE);
        let temporary = self.sandbox.path("editor.tmp");
        std::fs::write(&temporary, &new).unwrap();
        if std::fs::read_to_string(&path).unwrap() != text {
            return;
        }
        if by_rename {
            std::fs::rename(&temporary, &path).unwrap();
        } else {
            let mut file = std::fs::File::create(&path).unwrap();
            file.write_all(new.as_bytes()).unwrap();
        }
        let log = self.log.lock().unwrap();
        let all = log.acknowledged.iter().chain(&log.in_flight);
        self.overwritten
            .extend(all.filter(|cell| !new.contains(*cell)).cloned());
        self.round += 1;
        self.saves += 1;
    }
}

/// Checks that no cell is there twice, and returns the missing ones.
#[track_caller]
fn check_cells(sandbox: &Sandbox, log: &Log) -> BTreeSet<String> {
    let texts = sandbox.message_texts(FILE);
    let unique: BTreeSet<&String> = texts.iter().collect();
    let certain = texts
        .iter()
        .filter(|text| !log.uncertain.contains(*text))
        .count();
    let unique_certain = unique
        .iter()
        .filter(|text| !log.uncertain.contains(**text))
        .count();
    assert_eq!(
        unique_certain, certain,
        "something is there twice: {texts:?}"
    );
    let run = sandbox.run(&["check", FILE]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let kept = std::fs::read_dir(sandbox.path("")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    let named = |part: &str| {
        kept.iter()
            .filter(|name| name.to_string_lossy().contains(part))
            .count()
    };
    assert_eq!(named(".analects"), 0, "{kept:?}");
    assert!(
        named(".kept-") <= log.uncertain.len(),
        "kept, and not told: {kept:?}"
    );
    log.acknowledged
        .iter()
        .filter(|cell| !unique.contains(cell))
        .cloned()
        .collect()
}

fn prepare_file() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        FILE,
        format!(
            "# %%\n\n{}\n\n# %% [^2]\n\n[^2]: [markdown]\n\nx\n",
            line(0)
        ),
    );
    sandbox
}

/// Runs an editor while two processes add cells. Returns how many cells were recovered and how often the editor saved.
fn run_with_editor(each: usize, work: impl Fn(&mut Editor<'_>, usize) + Sync) -> (usize, usize) {
    let (sandbox, log, done) = (prepare_file(), Mutex::default(), AtomicBool::new(false));
    let (saves, overwritten) = std::thread::scope(|scope| {
        let editing = scope.spawn(|| {
            let overwritten = BTreeSet::new();
            let mut editor = Editor {
                sandbox: &sandbox,
                log: &log,
                round: 0,
                saves: 0,
                overwritten,
            };
            for number in 0.. {
                if done.load(Ordering::SeqCst) {
                    break;
                }
                work(&mut editor, number);
                std::thread::sleep(Duration::from_millis(10));
            }
            editor.read();
            (editor.saves, editor.overwritten)
        });
        add_from_two_processes(&sandbox, each, &log, &done);
        editing.join().unwrap()
    });
    let missing = check_cells(&sandbox, &log.lock().unwrap());
    let ours: Vec<&String> = missing.difference(&overwritten).collect();
    assert_eq!(
        ours,
        [] as [&String; 0],
        "lost, and no save of the editor explains it"
    );
    assert!(saves > 0, "the editor never saved");
    (saves, missing.len())
}

#[test]
fn two_processes_add_a_hundred_cells_each() {
    let (sandbox, log, done) = (prepare_file(), Mutex::default(), AtomicBool::new(false));
    add_from_two_processes(&sandbox, 100, &log, &done);
    assert_eq!(check_cells(&sandbox, &log.lock().unwrap()), BTreeSet::new());
    assert_eq!(sandbox.message_texts(FILE).len(), 202);
}

#[test]
fn an_editor_that_saves_in_place_and_two_adders_lose_nothing() {
    let (saves, missing) = run_with_editor(50, |editor, _| editor.save_in_place());
    print_note(&format!("{saves} saves"));
    assert_eq!(missing, 0);
}

#[test]
fn an_editor_that_saves_in_every_way_and_two_adders_lose_nothing() {
    let (saves, overwritten) = run_with_editor(100, |editor, number| match number % 3 {
        0 => editor.save_in_place(),
        1 => editor.save(true),
        _ => editor.save(false),
    });
    print_note(&format!(
        "{saves} saves, of which {overwritten} overwrote a cell"
    ));
}
