//! An answer on its way, while editors and other programs change its file.

use std::fs;

use analects_core::Message;
use analects_formats::msgfile::AnswerDetail;
use analects_store::{
    AnswerDelta, AnswerDestination, AnswerEntry, LockedFile, QuestionCell, StoreError,
};

use super::Disk;

pub const FILE: &str = "a.msg.md";
pub const QUESTION: &str = "# %%\n\nquestion\n";
pub const ANSWER: &str = "one\n# %% two\nthree";
/// The empty cell that stands behind a complete answer.
pub const READY: &str = "";

/// An answer on its way, and the file that it is for.
pub struct Answering {
    pub file: LockedFile,
    pub entry: AnswerEntry,
}

impl Answering {
    /// Asks what waits in the file at this path.
    pub fn begin(mut file: LockedFile) -> Result<Answering, StoreError> {
        let asked = file
            .document()
            .unanswered()
            .into_iter()
            .map(QuestionCell::of)
            .collect();
        let entry = file.begin_answer(asked, &answer(""))?;
        Ok(Answering { file, entry })
    }

    /// Lets a piece of the answer come.
    pub fn hear(&mut self, text: &str) {
        self.entry.push(AnswerDelta::Text(text));
        self.entry.flush();
    }

    /// Puts a whole answer into the file.
    pub fn finish(mut self, text: &str) -> Result<AnswerDestination, StoreError> {
        self.file
            .put_answer(self.entry, &answer(text), AnswerDetail::Usual)
    }
}

pub fn answer(text: &str) -> Message {
    let author = Some("quick".to_string());
    let created_at = Some("2026-11-17T08:00:00Z".parse().unwrap());
    Message {
        author,
        created_at,
        ..Message::assistant("m", text)
    }
}

/// A disk with a file that holds these cells.
pub fn disk_with(text: &str) -> Disk {
    let disk = Disk::new();
    fs::write(disk.path(FILE), text).unwrap();
    disk
}

/// A question, and the first words of its answer.
pub fn answering(disk: &Disk) -> Answering {
    let mut answering = Answering::begin(disk.open(FILE).unwrap()).unwrap();
    answering.hear("one\n");
    answering
}

#[track_caller]
fn assert_in_file(place: &AnswerDestination) {
    assert!(matches!(place, AnswerDestination::Cell(_)), "{place:?}");
}

#[test]
fn the_file_changes_only_when_the_answer_is_complete() {
    let disk = disk_with(QUESTION);
    let mut answering = answering(&disk);
    answering.hear("# %% two\n");
    assert_eq!(disk.text(FILE), QUESTION);
    assert_in_file(&answering.finish(ANSWER).unwrap());
    assert_eq!(disk.contents(FILE), ["question", ANSWER, READY]);
}

#[test]
fn an_editor_may_save_while_an_answer_comes() {
    let first = "# %%\n\nhello\n\n# %%% [^2]\n\n[^2]: [quick]\n\nhi\n\n";
    for by_rename in [false, true] {
        let disk = disk_with(&format!("{first}{QUESTION}"));
        let answering = answering(&disk);
        let edited = disk.text(FILE).replace("hello", "a warmer hello") + "\n# %%\n\nmy next one\n";
        let saved = if by_rename { "new" } else { FILE };
        fs::write(disk.path(saved), edited).unwrap();
        fs::rename(disk.path(saved), disk.path(FILE)).unwrap();
        assert_in_file(&answering.finish(ANSWER).unwrap());
        let expected = ["a warmer hello", "hi", "question", ANSWER, "my next one"];
        assert_eq!(disk.contents(FILE), expected, "by rename: {by_rename}");
    }
}

#[test]
fn a_verb_may_change_the_file_while_an_answer_comes() {
    let disk = disk_with(QUESTION);
    let answering = answering(&disk);
    let mut other = disk.open(FILE).unwrap();
    let add = analects_formats::msgfile::NewCell::message;
    other
        .append(|document| add(document.next_id(), "from another program"))
        .unwrap();
    drop(other);
    assert_in_file(&answering.finish(ANSWER).unwrap());
    assert_eq!(
        disk.contents(FILE),
        ["question", ANSWER, "from another program"]
    );
}

#[test]
fn an_answer_to_a_question_that_is_gone_stays_in_the_journal() {
    let texts = [
        "# %%\n\na better question\n",
        "# %%\n\nother\n\n# %%% [^2]\n\n[^2]: [quick]\n\nx\n",
    ];
    for text in texts {
        let disk = disk_with(QUESTION);
        let answering = answering(&disk);
        fs::write(disk.path(FILE), text).unwrap();
        let path = answering.file.path().to_path_buf();
        let journal = answering.file.journal().clone();
        assert_eq!(
            answering.finish(ANSWER).unwrap(),
            AnswerDestination::Journal
        );
        assert_eq!(disk.text(FILE), text);
        let document = analects_store::read_message_file(&path).unwrap();
        let records = journal.records(&document, &path);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].text, ANSWER);
    }
}

#[test]
fn a_file_that_is_removed_while_an_answer_comes_stays_removed() {
    let disk = disk_with(QUESTION);
    let answering = answering(&disk);
    fs::remove_file(disk.path(FILE)).unwrap();
    assert_eq!(
        answering.finish(ANSWER).unwrap(),
        AnswerDestination::Journal
    );
    assert!(!disk.path(FILE).exists());
    // If it comes back, so does its answer.
    fs::write(disk.path(FILE), QUESTION).unwrap();
    let file = disk.open(FILE).unwrap();
    assert!(file.recovered()[0].is_complete);
    assert_eq!(disk.contents(FILE), ["question", ANSWER, READY]);
}
