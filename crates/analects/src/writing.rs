//! How a verb changes a message file: it waits for its turn, plans the change on what the file says
//! then, and writes it at once or not at all.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use analects_formats::msgfile::{Document, Refusal};
use analects_store::{LockedFile, Places};

use crate::failure::Failure;

/// How long we wait for another process that writes to the file, and how often we ask.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Opens a message file for writing, and waits a while if another process writes to it.
pub fn open(path: &Path, places: &Places) -> Result<LockedFile, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match LockedFile::open(path, places) {
            Err(error) if error.is_locked() && Instant::now() < deadline => sleep(PAUSE),
            opened => return Ok(opened?),
        }
    }
}

/// Changes a file to what `plan` makes of it. A plan that fails, or that changes nothing, writes
/// nothing; an editor may save meanwhile, so the plan may be asked more than once.
pub fn edit(
    file: &mut LockedFile,
    mut plan: impl FnMut(&Document) -> Result<Vec<u8>, Failure>,
) -> Result<(), Failure> {
    let before = file.document().source().to_vec();
    let planned = plan(file.document())?;
    if planned == before {
        return Ok(());
    }
    let (mut planned, mut failure) = (Some(planned), None);
    file.edit(|document| {
        let planned = planned.take().filter(|_| document.source() == before);
        planned.map_or_else(|| plan(document), Ok).unwrap_or_else(|error| {
            failure = Some(error);
            document.source().to_vec()
        })
    })?;
    failure.map_or(Ok(()), Err)
}

/// Frontmatter that cannot be changed: the person can do it, and is told the lines.
pub fn refused(path: &Path, refusal: Refusal) -> Failure {
    let message = format!("{}: {}", path.display(), refusal.message);
    Failure::input(message).or_hint(format!("type it yourself:\n{}", refusal.type_this))
}
