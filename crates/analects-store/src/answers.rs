//! Answers in a message file. A complete answer is put below its question in one step. Until then, it is in the
//! [`Journal`](crate::Journal), and the file is not locked.

use std::io::ErrorKind;
use std::time::Duration;

use analects_core::Message;
use analects_formats::msgfile::{self, AnswerDetail, Splice};

use crate::journal::{AnswerEntry, InterruptedAnswer, QuestionCell};
use crate::{Journal, LockedFile, OsIds, RecoveredAnswer, StoreError};

/// The number of checks for a missing file. An editor may be about to put a new version in its place.
const MAX_CHECKS: usize = 100;
/// The pause between two checks for a missing file.
const PAUSE: Duration = Duration::from_millis(10);

/// The place where an answer was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDestination {
    /// The cell of this name in the file.
    Cell(String),
    /// Only the journal: the question was changed, removed or answered while the answer arrived.
    Journal,
}

/// The result of an attempt to put an answer into the file.
#[derive(Debug, Default)]
struct Placement {
    /// The new cell; `None` if the question does not wait any more.
    cell: Option<String>,
    /// Whether the journal needs the entry no longer.
    is_entry_obsolete: bool,
}

impl LockedFile {
    /// Creates the journal entry of an answer to these cells, and releases the lock of the file until the next change.
    /// `base` has the author, the model and the time of the answer.
    pub fn begin_answer(
        &mut self,
        questions: Vec<QuestionCell>,
        base: &Message,
    ) -> Result<AnswerEntry, StoreError> {
        let entry = self
            .journal()
            .begin_entry(self.document(), self.path(), questions, base)?;
        self.unlock();
        Ok(entry)
    }

    /// Puts an answer below its question. When this returns, the answer survives a power cut.
    ///
    /// The journal holds the answer before the file changes, so an error loses it only if both fail:
    /// [`StoreError::AnswerNotWritten`] says whether the journal has it.
    pub fn put_answer(
        &mut self,
        mut entry: AnswerEntry,
        answer: &Message,
        detail: AnswerDetail,
    ) -> Result<AnswerDestination, StoreError> {
        let is_error = answer.is_api_error_message;
        let saved = if is_error {
            Ok(())
        } else {
            entry.complete(answer)
        };
        let mut placement = Placement::default();
        if !self.is_gone() {
            placement = match self.place_answer(&mut entry, answer, detail) {
                Ok(placement) => placement,
                Err(error) => {
                    entry.cancel_placement();
                    return Err(StoreError::AnswerNotWritten {
                        error: Box::new(error),
                        is_kept: saved.is_ok() && !is_error,
                    });
                }
            };
        }
        if let Some(cell) = placement.cell {
            if placement.is_entry_obsolete {
                entry.discard();
            }
            return Ok(AnswerDestination::Cell(cell));
        }
        if is_error {
            entry.discard();
        }
        saved.map(|()| AnswerDestination::Journal)
    }

    /// Adds the answer to the file if its question still waits. The change may run several times, if another program
    /// writes meanwhile; the last run counts.
    fn place_answer(
        &mut self,
        entry: &mut AnswerEntry,
        answer: &Message,
        detail: AnswerDetail,
    ) -> Result<Placement, StoreError> {
        let is_error = answer.is_api_error_message;
        let path = self.path().to_path_buf();
        let zone = self.folders.zone.clone();
        let mut placement = Placement {
            cell: None,
            is_entry_obsolete: true,
        };
        self.edit(|document| {
            placement.cell = None;
            let Some(positions) = entry.positions(document) else {
                return Splice::nothing();
            };
            let placed =
                msgfile::put_answer(document, &positions, answer, detail, &zone, &mut OsIds);
            // If the journal cannot save the answer by its cells, the entry stays.
            placement.is_entry_obsolete =
                is_error || entry.begin_placement(answer, placed.hash, &path).is_ok();
            placement.cell = Some(placed.cell);
            placed.splice
        })?;
        Ok(placement)
    }

    /// Adds interrupted answers whose questions still wait.
    pub(crate) fn add_interrupted_answers(&mut self) -> Result<(), StoreError> {
        let journal = self.journal().clone();
        if !journal.has_entries(self.document(), self.path()) {
            return Ok(());
        }
        // An editor may be about to save a question that seems to be gone; this waits for it and reads the file again.
        self.edit(|_| Splice::nothing())?;
        for answer in journal.take_interrupted(self.document(), self.path()) {
            self.recover_answer(&journal, answer)?;
        }
        Ok(())
    }

    /// Adds an interrupted answer to the file if its question still waits, and removes its entry.
    fn recover_answer(
        &mut self,
        journal: &Journal,
        answer: InterruptedAnswer,
    ) -> Result<(), StoreError> {
        let path = self.path().to_path_buf();
        let zone = self.folders.zone.clone();
        let mut placement = Placement::default();
        self.edit(|document| {
            placement.cell = None;
            let Some(positions) = answer.positions(document) else {
                return Splice::nothing();
            };
            let detail = AnswerDetail::Usual;
            let message = &answer.message;
            let placed =
                msgfile::put_answer(document, &positions, message, detail, &zone, &mut OsIds);
            placement.is_entry_obsolete =
                journal.begin_recovery(&answer, placed.hash, &path).is_ok();
            placement.cell = Some(placed.cell);
            placed.splice
        })?;
        let Some(cell) = placement.cell else {
            return Ok(());
        };
        self.recovered.push(RecoveredAnswer {
            cell,
            is_complete: answer.is_complete(),
        });
        if placement.is_entry_obsolete {
            journal.end_recovery(answer);
        }
        Ok(())
    }

    /// Returns whether the file was there and has been removed for good.
    fn is_gone(&self) -> bool {
        for _ in 0..MAX_CHECKS {
            if !self.is_missing() {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    /// Returns whether the file existed when it was read, and does not exist now.
    fn is_missing(&self) -> bool {
        let metadata = self.vfs().metadata(self.path());
        self.exists() && metadata.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }
}
