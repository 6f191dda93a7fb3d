//! What the journal holds for a file, told to whoever reads the file.

use std::path::Path;

use analects_formats::msgfile::Document;
use analects_store::vfs::Disk;
use analects_store::{Journal, MissingAnswer, Places, real_path};

use crate::{shell, ui};

/// Tells of answers that broke off and wait to come into the file, and once of answers that are no longer in it.
pub fn remark(path: &Path, document: &Document, places: &Places) {
    let journal = Journal::of(places);
    let real = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
    for cell in journal.waiting_answers(document, &real) {
        ui::remark(&format!(
            "{}: what came of the answer to cell {cell} is kept, and comes into the file with its next change",
            path.display()
        ));
    }
    remark_missing(path, document, &real, &journal);
}

/// Whether an answer waits to come into the file.
pub fn has_answer(path: &Path, document: &Document, places: &Places) -> bool {
    let real = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
    !Journal::of(places).waiting_answers(document, &real).is_empty()
}

/// Tells once of answers that are not in the file any more, though their questions are.
pub fn remark_missing(path: &Path, document: &Document, real: &Path, journal: &Journal) {
    for missing in journal.missing(document, real) {
        ui::remark(&missing_answer(path, &missing));
        // If it cannot be noted, it is told again.
        let _ = journal.note_told(&missing);
    }
}

/// Says why a complete answer is in the journal alone.
pub fn kept_answer(path: &Path) -> String {
    let name = path.display();
    if !path.exists() {
        return format!(
            "{name}: the file is no longer there; the answer is kept, and comes into the file with its next change"
        );
    }
    format!(
        "{name}: the question was changed while it was being answered, so the answer is not in the file; \
         analects recover {} has it",
        shell::path(path)
    )
}

/// Says that an answer is missing, and how to get it back.
pub fn missing_answer(path: &Path, missing: &MissingAnswer) -> String {
    format!(
        "{}: the answer to cell {} is no longer in the file; if you did not delete it, \
         analects recover {} {} brings it back",
        path.display(),
        missing.cell,
        shell::path(path),
        shell::word(&missing.cell)
    )
}
