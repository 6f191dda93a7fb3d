//! `chat --watch`: answers whenever the file is saved with a question in it.
//!
//! What the system tells about changes is a hint and never the truth: the file itself is looked at, also when
//! no hint comes. A file is read when it has been left alone for a while, so that half a save is not answered.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use analects_formats::msgfile::{Document, DocumentKind};
use analects_store::vfs::{Disk, Facts, Vfs};
use analects_store::{Journal, StoreError, read_message_file, real_path};
use notify::{Event, RecursiveMode, Watcher};

use super::call::Call;
use super::in_file::{misplaced_question, take_turn};
use crate::failure::Failure;
use crate::writing::missing_answer;
use crate::{interrupt, shell, ui};

/// How long a file must have been left alone before it is read, unless the person says otherwise.
const SETTLE: Duration = Duration::from_millis(300);

/// How often the file is looked at without a hint: where hints come, they are only late by a bug or an
/// overflow; where none come, this is all there is.
const LOOK: Duration = Duration::from_millis(500);

/// What wakes the watch.
enum Wake {
    Hint,
    Stop,
}

/// Answers what is typed into a file until Ctrl-C, or until a signal tells the process to end.
pub fn watch(
    call: Call<'_>,
    path: Option<&Path>,
    words: &[String],
    settle: Option<Duration>,
) -> Result<(), Failure> {
    let path = path.ok_or_else(|| {
        let hint = "name one, such as analects chat --watch talk.msg.md";
        Failure::usage("--watch needs a file to watch", hint)
    })?;
    if !words.is_empty() {
        return Err(Failure::usage(
            "with --watch, questions are typed into the file",
            "leave out the prompt, or ask it first without --watch",
        ));
    }
    call.args.for_many("a watch has many")?;
    let document = read_message_file(path).map_err(|error| match error.is_not_found() {
        true => Failure::from(error).or_hint(format!(
            "analects new {} -m MODEL makes it",
            shell::path(path)
        )),
        false => error.into(),
    })?;
    if document.kind() == DocumentKind::Plain {
        return Err(StoreError::NotAMessageFile {
            path: path.to_path_buf(),
        }
        .into());
    }
    let (sender, wakes) = channel();
    let hints = sender.clone();
    interrupt::on_first(move || drop(sender.send(Wake::Stop)));
    // Without hints, looking is enough.
    let _watcher = hints_about(path, hints);
    ui::remark(&format!(
        "{}: waiting for questions; Ctrl-C ends",
        path.display()
    ));
    let settle = settle.unwrap_or(SETTLE);
    let mut watch = Watch {
        call,
        path,
        wakes,
        settle,
        asked: None,
        told: None,
    };
    watch.run()?;
    match interrupt::told_by() {
        Some(signal) => Err(Failure::told_to_end(signal)),
        None => Ok(()),
    }
}

/// Lets the system tell of changes of a file. Editors put new files in the place of old ones, so the folder is
/// watched, and everything that may be about the file is a hint: also that hints were lost.
fn hints_about(path: &Path, wakes: Sender<Wake>) -> Option<impl Watcher> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = real.file_name().map(std::ffi::OsStr::to_os_string);
    let is_about = move |event: &Event| {
        event.need_rescan()
            || event.paths.is_empty()
            || event
                .paths
                .iter()
                .any(|path| path.file_name() == name.as_deref())
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, &is_about) {
            let _ = wakes.send(Wake::Hint);
        }
    })
    .ok()?;
    watcher
        .watch(real.parent()?, RecursiveMode::NonRecursive)
        .ok()?;
    Some(watcher)
}

/// What came of a look at the file.
enum Looked {
    /// Nothing was to be done.
    Nothing,
    /// The file was written to, and is looked at again: somebody may have saved it meanwhile.
    Wrote,
    /// Nobody can write to it now, or somebody else does, and it is looked at again after a while.
    Locked,
}

struct Watch<'a> {
    call: Call<'a>,
    path: &'a Path,
    wakes: Receiver<Wake>,
    settle: Duration,
    /// The questions that were asked last, and what the file looked like after that. They are asked again
    /// only if somebody has saved the file since.
    asked: Option<(Questions, Option<Facts>)>,
    /// What was wrong with the file, so that it is told once.
    told: Option<String>,
}

/// The names and texts of cells that wait for an answer.
type Questions = Vec<(String, String)>;

impl Watch<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        let mut seen = None;
        loop {
            let now = self.facts();
            if seen != Some(now) {
                let Some(settled) = self.wait_until_settled(now) else {
                    return Ok(());
                };
                seen = Some(settled);
                match self.look(settled)? {
                    Looked::Nothing => {}
                    Looked::Locked => seen = None,
                    Looked::Wrote => {
                        seen = None;
                        continue;
                    }
                }
            }
            if self
                .wait(LOOK)
                .is_some_and(|wake| matches!(wake, Wake::Stop))
            {
                return Ok(());
            }
        }
    }

    fn facts(&self) -> Option<Facts> {
        Disk.facts(self.path).ok()
    }

    /// The next reason to look, if one comes in time.
    fn wait(&self, at_most: Duration) -> Option<Wake> {
        match self.wakes.recv_timeout(at_most) {
            Ok(wake) => Some(wake),
            Err(RecvTimeoutError::Timeout) => None,
            // Nobody is left who could tell us anything, not even to stop.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(at_most);
                None
            }
        }
    }

    /// Waits until the file has been left alone for a while; `None` if the person wants to stop.
    fn wait_until_settled(&self, mut facts: Option<Facts>) -> Option<Option<Facts>> {
        let mut since = Instant::now();
        loop {
            let left = self.settle.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Some(facts);
            }
            if let Some(Wake::Stop) = self.wait(left) {
                return None;
            }
            let now = self.facts();
            if now != facts {
                (facts, since) = (now, Instant::now());
            }
        }
    }

    /// Reads the file, and asks what waits for an answer.
    fn look(&mut self, facts: Option<Facts>) -> Result<Looked, Failure> {
        // A file that is not there is being put there, or comes back.
        let (Some(_), Some(document)) = (facts, self.read()) else {
            return Ok(Looked::Nothing);
        };
        let questions = questions(&document);
        let is_old = self
            .asked
            .as_ref()
            .is_some_and(|(asked, after)| *asked == questions && *after == facts);
        if questions.is_empty() {
            if let Some(hint) = misplaced_question(&document) {
                self.tell(Failure::usage(
                    format!("{}: no question", self.path.display()),
                    hint,
                ));
            }
            return Ok(Looked::Nothing);
        }
        // Somebody may have saved over an answer that has just come, so this is told in any case.
        if !self.is_new(&document) || is_old {
            return Ok(Looked::Nothing);
        }
        let done = take_turn(self.call, self.path);
        match done.map_err(|failure| self.call.surroundings.explain(failure)) {
            Ok(_) => self.told = None,
            Err(failure) => {
                if let Looked::Locked = self.failed(failure, &questions)? {
                    return Ok(Looked::Locked);
                }
            }
        }
        self.asked = Some((questions, self.facts()));
        Ok(Looked::Wrote)
    }

    /// Whether what waits was not answered before. An editor that saves an older text over an answer does not ask for
    /// another one; the person is told, once, how to get the answer back or a new one.
    fn is_new(&self, document: &Document) -> bool {
        let places = &self.call.surroundings.places;
        let journal = Journal::of(places);
        let path = real_path(&Disk, self.path).unwrap_or_else(|_| self.path.to_path_buf());
        for missing in journal.missing(document, &path) {
            let again = format!("analects chat {} asks again", shell::path(self.path));
            ui::remark(&format!("{}; {again}", missing_answer(self.path, &missing)));
            // If it cannot be noted, it is told again.
            let _ = journal.note_told(&missing);
        }
        let answered = journal.answered_before(document, &path);
        let waiting = document.unanswered();
        waiting
            .iter()
            .any(|cell| !answered.contains(&cell.name().into_owned()))
    }

    /// The file, if it can be read and is text.
    fn read(&mut self) -> Option<Document> {
        let error = match read_message_file(self.path) {
            Ok(document) => match document.why_not_writable().map(Box::new) {
                None => return Some(document),
                Some(problem) => StoreError::NotWritable {
                    path: self.path.to_path_buf(),
                    problem,
                },
            },
            Err(error) if error.is_not_found() => return None,
            Err(error) => error,
        };
        self.tell(error.into());
        None
    }

    /// Tells what went wrong with these questions, and the watch goes on; the person may mend the file.
    fn failed(&mut self, failure: Failure, asked: &Questions) -> Result<Looked, Failure> {
        if failure.is_interrupted() {
            return Err(failure);
        }
        if failure.is_busy() {
            // To try again is what we do.
            self.tell(failure.without_hint());
            return Ok(Looked::Locked);
        }
        // Somebody else may have answered it while we waited for them.
        let is_open = |document: Document| questions(&document) == *asked;
        if !failure.is_usage() || self.read().is_none_or(is_open) {
            self.told = None;
            let hint = "to ask again, save the file again";
            self.tell(if failure.is_of_model() {
                failure.or_hint(hint)
            } else {
                failure
            });
        }
        Ok(Looked::Wrote)
    }

    /// Says what is wrong, unless it was said last.
    fn tell(&mut self, failure: Failure) {
        if self.told.as_ref() != Some(&failure.message) {
            ui::report(&failure, false);
            self.told = Some(failure.message);
        }
    }
}

fn questions(document: &Document) -> Questions {
    let open = document.unanswered().into_iter();
    open.map(|cell| (cell.name().into_owned(), cell.content().into_owned()))
        .collect()
}
