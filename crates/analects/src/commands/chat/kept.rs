//! Answers that are kept for a while, so that they can be put back where an editor saves an older text over them.

use std::path::Path;
use std::time::{Duration, Instant};

use analects_formats::msgfile::{
    Document, PutBack, Splice, changed_half, gone_answers, put_back, put_back_lost,
};
use analects_store::{LockedFile, Places, StoreError, read_message_file};

use crate::failure::Failure;
use crate::{ui, writing};

/// For how long a file without the last answer is taken for an older text, and not for one from which a person
/// has taken the answer away.
const JUST: Duration = Duration::from_secs(5);

/// How many answers are kept to be put back.
const MAX_ANSWERED: usize = 8;

/// What is said when an answer was put back.
pub const SAVED_OVER: &str = "an older text was saved over the last answer, which is put back";

/// The file as it was after each of the last answers, which an editor may save over with an older text.
#[derive(Default)]
pub struct Kept {
    answered: Vec<Answered>,
}

/// A file after an answer.
struct Answered {
    document: Document,
    /// When the answer came. It is cleared when the answer was put back once.
    at: Option<Instant>,
    /// The names of answers that were not in the file when it was saved later: a person has taken them away, and
    /// what has such a name now is something else.
    gone: Vec<String>,
    /// Whether it was told that it cannot be put back.
    is_told: bool,
}

impl Answered {
    /// The change that puts the answer back, if it was taken away by a save that knew nothing of it.
    fn put_back_lost(&self, document: &Document) -> Option<Splice> {
        let is_recent = self.at.is_some_and(|at| at.elapsed() < JUST);
        put_back_lost(document, &self.document).filter(|_| is_recent)
    }

    /// The change that puts an answer back of which only the beginning is in the file.
    fn put_back(&self, document: &Document) -> Option<PutBack> {
        put_back(document, &self.document, &self.gone)
    }

    /// The name of an answer of which a changed half is in the file.
    fn changed_half(&self, document: &Document) -> Option<String> {
        changed_half(document, &self.document, &self.gone)
    }

    /// Takes note of the answers that are gone.
    fn see_gone(&mut self, document: &Document) {
        // An empty file is one that is being written.
        if !document.source().is_empty() {
            self.gone.extend(gone_answers(document, &self.document));
            self.gone.sort_unstable();
            self.gone.dedup();
        }
    }
}

impl Kept {
    /// Keeps the file as it is after an answer that was asked for at `began`.
    pub fn keep(&mut self, document: Document, began: Instant) {
        // Nobody looked at the file while this one came.
        for at in self.answered.iter_mut().filter_map(|earlier| earlier.at.as_mut()) {
            *at += began.elapsed();
        }
        let (at, gone) = (Some(Instant::now()), Vec::new());
        self.answered.push(Answered { document, at, gone, is_told: false });
        let too_many = self.answered.len().saturating_sub(MAX_ANSWERED);
        self.answered.drain(..too_many);
    }

    /// Whether nothing is kept yet.
    pub fn is_empty(&self) -> bool {
        self.answered.is_empty()
    }

    /// Whether an answer is to be put back into a file, or cannot be; what is gone is not looked for again.
    pub fn is_missed(&mut self, document: &Document) -> bool {
        if self.to_put_back(document).is_some() {
            return true;
        }
        for one in &mut self.answered {
            one.see_gone(document);
        }
        self.answered.iter().any(|one| one.changed_half(document).is_some())
    }

    /// The change that puts an answer back: the earliest one that is lost, and which of the last ones that is, if all of
    /// it is lost.
    fn to_put_back(&self, document: &Document) -> Option<(Option<usize>, Splice)> {
        // Files after later answers also hold the earlier ones, as they are by now.
        let mut grown = self.answered.iter().rev().filter_map(|one| one.put_back(document));
        // Of two answers that had the same name, one may only begin with the same words.
        let first = grown.next();
        let grown = match first {
            Some(PutBack { is_exact: false, .. }) => grown.find(|other| other.is_exact).or(first),
            exact => exact,
        };
        let mut all = self.answered.iter().enumerate();
        grown
            .map(|put_back| (None, put_back.splice))
            .or_else(|| all.find_map(|(at, one)| Some((Some(at), one.put_back_lost(document)?))))
    }

    /// Puts one answer back into a file if somebody has saved over it what it was while it grew, or before; whether
    /// that was so.
    pub fn put_back(&mut self, file: &mut LockedFile) -> Result<bool, StoreError> {
        let mut found = None;
        file.edit(|document| {
            let lost = self.to_put_back(document);
            found = lost.as_ref().map(|(at, _)| *at);
            lost.map_or(Splice::nothing(), |(_, splice)| splice)
        })?;
        if let Some(lost) = found.flatten().and_then(|at| self.answered.get_mut(at)) {
            lost.at = None;
        }
        Ok(found.is_some())
    }

    /// Says once that an answer of which only a changed half is in the file cannot be put back.
    pub fn tell_changed(&mut self, path: &Path, document: &Document) {
        let changed = |one: &Answered| one.changed_half(document);
        let Some(name) = self.answered.iter().rev().find_map(changed) else { return };
        let is_told = self.answered.iter().any(|one| one.is_told && changed(one).is_some());
        for one in &mut self.answered {
            one.is_told |= one.changed_half(document).is_some();
        }
        if !is_told {
            ui::remark(&format!(
                "{}: answer {name} was complete; half of it was saved over it and changed, so it is not put back",
                path.display()
            ));
        }
    }

    /// Puts all answers back that are missed while other agents of the same call answer.
    pub fn put_all_back(&mut self, path: &Path, places: &Places) -> Result<(), Failure> {
        let read = read_message_file(path);
        if !read.is_ok_and(|document| self.is_missed(&document)) {
            return Ok(());
        }
        let mut file = writing::open(path, places)?;
        for _ in 0..MAX_ANSWERED {
            if !self.put_back(&mut file)? {
                break;
            }
            ui::remark(&format!("{}: {SAVED_OVER}", path.display()));
        }
        self.tell_changed(path, file.document());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Which of several answers is put back.

    use analects_formats::msgfile::decode;

    use super::*;

    #[test]
    fn the_answer_that_fits_is_put_back_before_one_that_only_begins_alike() {
        let file = |answer: &str| {
            let above = "# %%\n\nAgain?\n\n# %%% [^2]\n\n[^2]: [a]";
            decode(format!("{above}{answer}"))
        };
        let answered = |text: &str| {
            let document = file(&format!("\n\nSure!\n\n{text}\n"));
            Answered { document, at: None, gone: Vec::new(), is_told: false }
        };
        let texts = ["The old one\nhas two lines.", "Another one\nhas two, too."];
        let kept = Kept { answered: texts.map(answered).into() };
        for (grown, whole) in [
            ("The old one\nhas", "The old one\nhas two lines."),
            ("Another one\nhas", "Another one\nhas two, too."),
            ("", "Another one\nhas two, too."),
        ] {
            let document = file(&format!(" status=\"streaming\"\n\nSure!\n\n{grown}"));
            let (_, splice) = kept.to_put_back(&document).unwrap();
            let back = decode(splice.apply(document.source()));
            let texts: Vec<String> = back.cells().map(|cell| cell.content().into_owned()).collect();
            assert_eq!(texts, ["Again?", &format!("Sure!\n\n{whole}"), ""]);
        }
    }
}
