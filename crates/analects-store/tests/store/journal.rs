//! The journal on a real disk: which file an answer belongs to, and who works on it.

mod records;

use std::fs;
use std::path::{Path, PathBuf};

use analects_formats::msgfile::{Document, NewCell};
use analects_store::{
    AnswerDelta, AnswerDestination, Journal, LockedFile, QuestionCell, read_message_file,
};

use super::Disk;
use super::answers::{ANSWER, Answering, FILE, QUESTION, READY, answer, answering, disk_with};

/// A conversation that ends with a question.
const TALK: &str = "# %%\n\nhello\n\n# %%% [^2]\n\n[^2]: [quick]\n\nhi\n\n# %%\n\nquestion\n";
const OTHER: &str = "b.msg.md";

impl Disk {
    fn journal(&self) -> Journal {
        Journal::new(&self.places)
    }

    fn document(&self, name: &str) -> (Document, PathBuf) {
        let path = fs::canonicalize(self.path(name)).unwrap();
        (read_message_file(&path).unwrap(), path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn copy(&self, from: &str, to: &str) {
        fs::copy(self.path(from), self.path(to)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Writes to a file, as any verb does; gives its cells with words.
    fn touch(&self, name: &str) -> Vec<String> {
        drop(self.open(name).unwrap());
        let words = self
            .contents(name)
            .into_iter()
            .map(|text| text.trim_end().to_string());
        words.filter(|text| text != READY).collect()
    }

    fn ask(&self, name: &str) -> Answering {
        Answering::begin(self.open(name).unwrap()).unwrap()
    }

    /// An answer that breaks off.
    fn break_off(&self, name: &str, words: &str) {
        self.ask(name).hear(words);
    }

    fn missing(&self, name: &str) -> Vec<String> {
        let (document, path) = self.document(name);
        self.journal()
            .missing_answers(&document, &path)
            .into_iter()
            .map(|missing| missing.cell)
            .collect()
    }

    fn tell(&self, name: &str) {
        let (document, path) = self.document(name);
        for missing in self.journal().missing_answers(&document, &path) {
            self.journal().mark_reported(&missing).unwrap();
        }
    }

    fn is_being_answered(&self, name: &str) -> bool {
        let (document, path) = self.document(name);
        self.journal().is_being_answered(&document, &path)
    }

    /// The words that the journal offers for a file.
    fn records(&self, name: &str) -> Vec<String> {
        let (document, path) = self.document(name);
        self.journal()
            .records(&document, &path)
            .into_iter()
            .map(|record| record.text)
            .collect()
    }

    fn asked_folder(&self) -> PathBuf {
        self.places.state.join("journal/asked")
    }

    /// The files in the folder of answers under way.
    fn entries(&self) -> Vec<PathBuf> {
        files_in(&self.asked_folder())
    }
}

/// All files below a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_broken_off_answer_finds_its_file_by_what_stands_in_it() {
    type Change = fn(&Disk);
    let longer =
        "# %%\n\nsomething else\n\n# %%% [^2]\n\n[^2]: [quick]\n\nyes\n\n# %%\n\nquestion\n";
    let with_answer: &[&str] = &["hello", "hi", "question", "half"];
    let without: &[&str] = &["hello", "hi", "question"];
    let cases: &[(&str, Change, &str, &[&str])] = &[
        ("unchanged", |_| {}, FILE, with_answer),
        ("moved", |disk| disk.rename(FILE, OTHER), OTHER, with_answer),
        ("the copy", |disk| disk.copy(FILE, OTHER), OTHER, without),
        (
            "the copied",
            |disk| disk.copy(FILE, OTHER),
            FILE,
            with_answer,
        ),
        (
            "saved with other line ends and blanks",
            |disk| disk.write(FILE, &TALK.replace('\n', "  \r\n")),
            FILE,
            with_answer,
        ),
        (
            "made anew with another text",
            |disk| disk.write(FILE, "# %%\n\nquite another question\n"),
            FILE,
            &["quite another question"],
        ),
        (
            "edited above",
            |disk| disk.write(FILE, &TALK.replace("hi\n", "hi there\n")),
            FILE,
            &["hello", "hi there", "question", "half"],
        ),
        (
            "answered by hand",
            |disk| {
                disk.write(
                    FILE,
                    &format!("{TALK}\n# %%% [^9]\n\n[^9]: [quick]\n\nmine\n"),
                )
            },
            FILE,
            &["hello", "hi", "question", "mine"],
        ),
    ];
    for (what, change, name, expected) in cases {
        let disk = disk_with(TALK);
        disk.break_off(FILE, "half");
        change(&disk);
        assert_eq!(disk.touch(name), *expected, "{what}");
        assert_eq!(disk.touch(name), *expected, "{what}, opened again");
    }
    // The same question in another conversation is another question, also when the first file is gone.
    let disk = disk_with(TALK);
    disk.break_off(FILE, "half");
    disk.write(OTHER, longer);
    disk.remove(FILE);
    assert_eq!(disk.touch(OTHER), ["something else", "yes", "question"]);
    assert_eq!(disk.records(OTHER), ["half"], "it is offered");
}

#[cfg(unix)]
#[test]
fn a_file_has_one_journal_whatever_leads_to_it() {
    use std::os::unix::fs::symlink;
    let disk = disk_with(QUESTION);
    symlink(FILE, disk.path(OTHER)).unwrap();
    let mut answering = disk.ask(OTHER);
    assert!(disk.is_being_answered(FILE));
    answering.hear("half");
    drop(answering);
    assert_eq!(disk.touch(FILE), ["question", "half"]);
    // A file that moved, and left a link behind.
    let disk = disk_with(QUESTION);
    disk.break_off(FILE, "half");
    disk.rename(FILE, OTHER);
    symlink(OTHER, disk.path(FILE)).unwrap();
    assert_eq!(disk.touch(FILE), ["question", "half"]);
}

#[test]
fn a_copy_and_its_original_go_on_alone() {
    let disk = disk_with(QUESTION);
    disk.ask(FILE).finish(ANSWER).unwrap();
    disk.copy(FILE, OTHER);
    for (name, words) in [(FILE, "left"), (OTHER, "right")] {
        let mut file = disk.open(name).unwrap();
        file.append(|document| NewCell::message(document.next_id(), "again"))
            .unwrap();
        let place = Answering::begin(file).unwrap().finish(words).unwrap();
        assert!(matches!(place, AnswerDestination::Cell(_)), "{place:?}");
        assert_eq!(disk.touch(name), ["question", ANSWER, "again", words]);
        assert!(disk.missing(name).is_empty());
    }
    // Both read the record that they share.
    assert!(disk.records(FILE).contains(&ANSWER.to_string()));
    assert!(disk.records(OTHER).contains(&ANSWER.to_string()));
}

#[test]
fn a_question_in_the_same_words_gets_its_own_answer() {
    let disk = disk_with("# %%\n\ngo on\n");
    disk.ask(FILE).finish("first").unwrap();
    disk.write(FILE, &format!("{}\ngo on\n", disk.text(FILE)));
    assert!(
        disk.missing(FILE).is_empty(),
        "the first answer is there, the second did not come yet"
    );
    disk.ask(FILE).finish("second").unwrap();
    assert_eq!(disk.touch(FILE), ["go on", "first", "go on", "second"]);
    // Two of them that wait at once are one question of two cells.
    let disk = disk_with("# %%\n\ngo on\n\n# %%\n\ngo on\n");
    disk.ask(FILE).finish("both").unwrap();
    assert_eq!(disk.touch(FILE), ["go on", "go on", "both"]);
}

#[test]
fn an_answer_that_was_saved_over_is_told_of_once() {
    let without_answer = |text: &str| text.split("\n# %%%").next().unwrap().to_string();
    // The question was loose and got an id with its answer; older texts have it without, newer ones with it.
    for is_loose in [true, false] {
        let disk = disk_with(QUESTION);
        disk.ask(FILE).finish(ANSWER).unwrap();
        assert!(disk.missing(FILE).is_empty());
        let sealed = without_answer(&disk.text(FILE));
        disk.write(FILE, if is_loose { QUESTION } else { &sealed });
        assert_eq!(
            disk.touch(FILE),
            ["question"],
            "nothing is put back by itself"
        );
        assert_eq!(disk.missing(FILE), ["1"]);
        assert_eq!(disk.missing(FILE), ["1"], "until it is told");
        disk.tell(FILE);
        assert!(disk.missing(FILE).is_empty());
        let (document, path) = disk.document(FILE);
        assert_eq!(disk.journal().previously_answered(&document, &path), ["1"]);
        assert_eq!(disk.records(FILE), [ANSWER], "it is still offered");
        // Another answer that goes the same way is told of again, once.
        disk.ask(FILE).finish("another").unwrap();
        disk.write(FILE, &sealed);
        assert_eq!(disk.missing(FILE), ["1"]);
        disk.tell(FILE);
        assert!(disk.missing(FILE).is_empty());
        assert_eq!(disk.records(FILE).len(), 2);
    }
    // A file that was moved is still the same; another one with the same question is not.
    let disk = disk_with(TALK);
    disk.ask(FILE).finish(ANSWER).unwrap();
    disk.write(OTHER, TALK);
    assert!(disk.missing(OTHER).is_empty());
    disk.remove(FILE);
    assert_eq!(disk.missing(OTHER).len(), 1);
    disk.write(OTHER, &TALK.replace("hi\n", "well\n"));
    assert!(disk.missing(OTHER).is_empty());
}

#[test]
fn whoever_answers_holds_a_lock() {
    let disk = disk_with(QUESTION);
    disk.write(OTHER, QUESTION);
    assert!(!disk.is_being_answered(FILE));
    let mut first = disk.ask(FILE);
    first.hear("half");
    assert!(disk.is_being_answered(FILE));
    assert!(
        !disk.is_being_answered(OTHER),
        "the same words in another file"
    );
    let second = disk.ask(OTHER);
    assert!(disk.is_being_answered(OTHER));
    // Neither a writer nor a reader takes a locked entry for one that broke off.
    assert_eq!(disk.touch(FILE), ["question"]);
    assert!(disk.records(FILE).is_empty());
    let (document, path) = disk.document(FILE);
    assert!(
        disk.journal()
            .recoverable_cells(&document, &path)
            .is_empty()
    );
    // A file that moves while it is answered takes its answer along.
    disk.rename(FILE, "moved.msg.md");
    assert!(disk.is_being_answered("moved.msg.md"));
    drop(first);
    assert!(!disk.is_being_answered("moved.msg.md"));
    drop(second);
    assert!(!disk.is_being_answered(OTHER));
    assert_eq!(disk.touch("moved.msg.md"), ["question", "half"]);
    assert_eq!(disk.entries(), [] as [PathBuf; 0]);
}

#[test]
fn an_edited_question_is_a_new_one() {
    let edited = "# %%\n\na better question\n";
    for (saved_back, expected) in [
        (true, vec!["question", ANSWER]),
        (false, vec!["a better question"]),
    ] {
        let disk = disk_with(QUESTION);
        let answering = answering(&disk);
        disk.write(FILE, edited);
        assert!(
            !disk.is_being_answered(FILE),
            "the new question can be asked"
        );
        assert_eq!(
            answering.finish(ANSWER).unwrap(),
            AnswerDestination::Journal
        );
        if saved_back {
            disk.write(FILE, QUESTION);
        }
        assert_eq!(disk.touch(FILE), expected);
        // After a change without it, it comes only if a person asks for it.
        disk.write(FILE, QUESTION);
        assert_eq!(disk.touch(FILE), ["question"]);
        assert_eq!(disk.records(FILE), [ANSWER]);
    }
}

#[test]
fn a_broken_off_answer_is_added_once() {
    let disk = disk_with(QUESTION);
    let mut entry = disk.ask(FILE);
    entry.entry.push(AnswerDelta::Thinking("let me "));
    entry.entry.push(AnswerDelta::Thinking("see"));
    entry.hear("one ");
    entry.hear("two");
    drop(entry);
    let (document, path) = disk.document(FILE);
    assert_eq!(disk.journal().recoverable_cells(&document, &path), ["1"]);
    assert_eq!(disk.text(FILE), QUESTION, "a look changes nothing");
    let file = disk.open(FILE).unwrap();
    assert_eq!(file.recovered().len(), 1);
    assert!(!file.recovered()[0].is_complete);
    drop(file);
    let words = disk.touch(FILE);
    assert_eq!(
        words.iter().filter(|text| *text == "one two").count(),
        1,
        "{words:?}"
    );
    assert_eq!(
        words.iter().filter(|text| *text == "let me see").count(),
        1,
        "{words:?}"
    );
    assert_eq!(disk.entries(), [] as [PathBuf; 0]);
    // An answer without a word leaves nothing.
    let disk = disk_with(QUESTION);
    drop(disk.ask(FILE));
    assert_eq!(disk.entries(), [] as [PathBuf; 0]);
    assert_eq!(disk.touch(FILE), ["question"]);
}

#[test]
fn several_writers_at_once_add_it_once() {
    for _ in 0..10 {
        let disk = disk_with(QUESTION);
        disk.break_off(FILE, "half");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let patience = std::time::Duration::from_secs(60);
                    let file = LockedFile::open_within(&disk.path(FILE), &disk.places, patience);
                    assert_eq!(file.unwrap().document().unanswered().len(), 0);
                });
            }
        });
        assert_eq!(disk.touch(FILE), ["question", "half"]);
        assert_eq!(disk.entries(), [] as [PathBuf; 0]);
    }
}

#[test]
fn an_answer_to_a_result_is_added_once() {
    let text = format!("{QUESTION}\n# %%% [^2]\n\n[^2]: [quick]\n\nanswer\n");
    let disk = disk_with(&text);
    let mut file = disk.open(FILE).unwrap();
    let asked = file
        .document()
        .cells()
        .next_back()
        .map(QuestionCell::of)
        .into_iter()
        .collect();
    let entry = file.begin_answer(asked, &answer("")).unwrap();
    let mut answering = Answering { file, entry };
    answering.hear("more");
    let entries = disk.entries();
    let before: Vec<_> = entries
        .iter()
        .map(|file| (file, fs::read(file).unwrap()))
        .collect();
    drop(answering);
    assert_eq!(disk.touch(FILE), ["question", "answer", "more"]);
    // As if the journal could not have noted that.
    for (file, bytes) in before {
        fs::write(file, bytes).unwrap();
    }
    assert_eq!(disk.touch(FILE), ["question", "answer", "more"]);
}

#[test]
fn of_two_answers_in_the_same_words_the_one_that_is_gone_is_missed() {
    let disk = disk_with("# %%\n\none?\n");
    disk.ask(FILE).finish("Yes.").unwrap();
    disk.write(FILE, &format!("{}\ntwo?\n", disk.text(FILE)));
    disk.ask(FILE).finish("Yes.").unwrap();
    let text = disk.text(FILE);
    let both = disk.missing(FILE);
    assert_eq!(both, [""; 0]);
    disk.write(FILE, &text[..text.rfind("# %%% ").unwrap()]);
    assert_eq!(disk.missing(FILE), ["3"]);
    let (document, path) = disk.document(FILE);
    let records = disk.journal().records(&document, &path);
    assert_eq!(
        records
            .iter()
            .filter(|record| record.stands_in.is_none())
            .count(),
        1
    );
    assert_eq!(records.len(), 2);
}
