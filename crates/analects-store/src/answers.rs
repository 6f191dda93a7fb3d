//! An answer comes into its file in one step, below its question, when it is complete. Until then it is in the
//! [`Journal`](crate::Journal), and nobody holds the lock of the file.

use std::io::ErrorKind;
use std::time::Duration;

use analects_core::Message;
use analects_formats::msgfile::{self, AnswerDetail, Splice};

use crate::journal::{AnswerEntry, AskedCell};
use crate::{LockedFile, OsIds, RecoveredAnswer, StoreError};

/// How often, and how long, we wait for a file that is not there: an editor may be about to put a new one in its place.
const MAX_LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Where an answer went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPlace {
    /// Into the file, in the cell of this name.
    Cell(String),
    /// Into the journal alone: its question was changed or removed while it came, or has another answer.
    Journal,
}

impl LockedFile {
    /// Begins the entry of an answer to these cells, and gives up the lock of the file until the next change.
    pub fn begin_answer(
        &mut self,
        asked: Vec<AskedCell>,
        base: &Message,
    ) -> Result<AnswerEntry, StoreError> {
        let entry = self
            .journal()
            .begin(self.document(), self.path(), asked, base)?;
        self.rest();
        Ok(entry)
    }

    /// Puts an answer below its question. When this returns, it survives a power cut.
    pub fn put_answer(
        &mut self,
        mut entry: AnswerEntry,
        answer: &Message,
        detail: AnswerDetail,
    ) -> Result<AnswerPlace, StoreError> {
        let is_error = answer.is_api_error_message;
        let path = self.path().to_path_buf();
        let kept = if is_error {
            Ok(())
        } else {
            entry.complete(answer)
        };
        let mut place = None;
        let mut is_settled = true;
        if !self.is_gone() {
            let edited = self.edit(|document| {
                place = None;
                let Some(asked) = entry.places(document) else {
                    return Splice::nothing();
                };
                let placed = msgfile::put_answer(document, &asked, answer, detail, &mut OsIds);
                // If it cannot be kept by its cells, its entry stays.
                is_settled = is_error || entry.settle(answer, placed.hash, &path).is_ok();
                place = Some(placed.cell);
                placed.splice
            });
            if let Err(error) = edited {
                entry.unsettle();
                let is_kept = kept.is_ok() && !is_error;
                return Err(StoreError::AnswerNotWritten {
                    error: Box::new(error),
                    is_kept,
                });
            }
        }
        if let Some(cell) = place {
            if is_settled {
                entry.end();
            }
            return Ok(AnswerPlace::Cell(cell));
        }
        if is_error {
            entry.end();
        }
        kept.map(|()| AnswerPlace::Journal)
    }

    /// Adds answers that broke off, if their questions still wait.
    pub(crate) fn add_broken_off(&mut self) -> Result<(), StoreError> {
        let journal = self.journal().clone();
        let path = self.path().to_path_buf();
        if !journal.has_entries(self.document(), self.path()) {
            return Ok(());
        }
        // A question that an editor is about to save again is not gone.
        self.edit(|_| Splice::nothing())?;
        for broken in journal.take_broken_off(self.document(), self.path()) {
            let mut cell = None;
            let mut is_settled = false;
            self.edit(|document| {
                cell = None;
                let Some(asked) = broken.places(document) else {
                    return Splice::nothing();
                };
                let detail = AnswerDetail::Usual;
                let placed =
                    msgfile::put_answer(document, &asked, &broken.message, detail, &mut OsIds);
                is_settled = journal.settle_broken(&broken, placed.hash, &path).is_ok();
                cell = Some(placed.cell);
                placed.splice
            })?;
            let Some(cell) = cell else { continue };
            self.recovered.push(RecoveredAnswer {
                cell,
                is_complete: broken.is_complete(),
            });
            if is_settled {
                journal.end_broken(broken);
            }
        }
        Ok(())
    }

    /// Whether the file was there, and is not any more.
    fn is_gone(&self) -> bool {
        let is_missing = || {
            let facts = self.vfs().facts(self.path());
            self.exists() && facts.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        for _ in 0..MAX_LOOKS {
            if !is_missing() {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }
}
