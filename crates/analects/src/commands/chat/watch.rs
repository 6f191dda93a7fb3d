//! `chat --watch`: answers questions each time the file is saved.
//!
//! Change events of the system only wake the loop. It always looks at the file itself, also without
//! an event, and reads it once it has not changed for a while, so that it never answers a
//! half-saved file.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use analects_formats::msgfile::{Document, DocumentKind};
use analects_store::vfs::{Disk, FileMetadata, Vfs};
use analects_store::{Journal, StoreError, read_message_file, real_path};
use notify::{Event, RecursiveMode, Watcher};

use super::call::ChatCall;
use super::in_file::{misplaced_question, take_turn};
use crate::failure::Failure;
use crate::message_file::answer_missing;
use crate::{interrupt, shell, ui};

/// How long a file must stay unchanged before it is read, without `--settle`.
const DEFAULT_SETTLE: Duration = Duration::from_millis(300);

/// How often to look at the file without an event. Events may get lost, and some file systems send
/// none.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What wakes the loop.
enum WakeReason {
    Hint,
    Stop,
}

/// Answers questions in a file until Ctrl-C or a signal.
pub fn watch(
    call: ChatCall<'_>,
    path: Option<&Path>,
    words: &[String],
    settle: Option<Duration>,
) -> Result<(), Failure> {
    let Some(path) = path else {
        let hint = "name one, such as analects chat --watch talk.msg.md";
        return Err(Failure::usage("--watch needs a file to watch", hint));
    };
    if !words.is_empty() {
        return Err(Failure::usage(
            "with --watch, questions are typed into the file",
            "leave out the prompt, or ask it first without --watch",
        ));
    }
    call.args.refuse_cell_choice("a watch has many")?;
    check_message_file(path)?;

    let (sender, wakes) = channel();
    let events = sender.clone();
    interrupt::call_on_first(move || drop(sender.send(WakeReason::Stop)));
    // Without events, polling is enough.
    let _watcher = watch_folder(path, events);
    ui::remark(&format!(
        "{}: waiting for questions; Ctrl-C ends",
        path.display()
    ));
    let mut watch = FileWatch {
        call,
        path,
        wakes,
        settle: settle.unwrap_or(DEFAULT_SETTLE),
        asked: None,
        last_reported: None,
    };
    watch.run()?;
    match interrupt::end_signal() {
        Some(signal) => Err(Failure::ended_by(signal)),
        None => Ok(()),
    }
}

/// Fails if the file is missing or is not a message file.
fn check_message_file(path: &Path) -> Result<(), Failure> {
    let document = read_message_file(path).map_err(|error| {
        if !error.is_not_found() {
            return Failure::from(error);
        }
        let file = shell::path(path);
        Failure::from(error).or_hint(format!("analects new {file} -m MODEL makes it"))
    })?;
    if document.kind() == DocumentKind::Plain {
        return Err(StoreError::without_section(path.to_path_buf(), &document).into());
    }
    Ok(())
}

/// Watches the folder of a file, because editors replace files. Every event that may be about the
/// file counts, also one about lost events.
fn watch_folder(path: &Path, wakes: Sender<WakeReason>) -> Option<impl Watcher> {
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
            let _ = wakes.send(WakeReason::Hint);
        }
    })
    .ok()?;
    watcher
        .watch(real.parent()?, RecursiveMode::NonRecursive)
        .ok()?;
    Some(watcher)
}

/// What happened when the file was read.
enum LookResult {
    /// There was nothing to do.
    Nothing,
    /// The file was written. Look again, because it may have been saved in the meantime.
    Wrote,
    /// The file is locked. Look again after a while.
    Locked,
}

/// A file that is watched, and what is known about it.
struct FileWatch<'a> {
    call: ChatCall<'a>,
    path: &'a Path,
    wakes: Receiver<WakeReason>,
    settle: Duration,
    /// The questions that were asked last, and the state of the file after that. They are asked
    /// again only if the file was saved since.
    asked: Option<(OpenQuestions, Option<FileMetadata>)>,
    /// The last reported problem, to report it only once.
    last_reported: Option<String>,
}

/// The names and texts of unanswered cells.
type OpenQuestions = Vec<(String, String)>;

impl FileWatch<'_> {
    /// Looks at the file until you stop it.
    fn run(&mut self) -> Result<(), Failure> {
        let mut seen = None;
        loop {
            let now = self.facts();
            if seen != Some(now) {
                let Some(settled) = self.wait_until_settled(now) else {
                    return Ok(());
                };
                seen = Some(settled);
                match self.answer_new_questions(settled)? {
                    LookResult::Nothing => {}
                    LookResult::Locked => seen = None,
                    LookResult::Wrote => {
                        seen = None;
                        continue;
                    }
                }
            }
            if self
                .wait(POLL_INTERVAL)
                .is_some_and(|wake| matches!(wake, WakeReason::Stop))
            {
                return Ok(());
            }
        }
    }

    /// Size, times and identity of the file; `None` if it is missing.
    fn facts(&self) -> Option<FileMetadata> {
        Disk.metadata(self.path).ok()
    }

    /// The next event, or `None` after `at_most`.
    fn wait(&self, at_most: Duration) -> Option<WakeReason> {
        match self.wakes.recv_timeout(at_most) {
            Ok(wake) => Some(wake),
            Err(RecvTimeoutError::Timeout) => None,
            // Both senders are gone, so no event can come any more.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(at_most);
                None
            }
        }
    }

    /// Waits until the file has not changed for a while. Returns its state, or `None` if you want
    /// to stop.
    fn wait_until_settled(&self, mut facts: Option<FileMetadata>) -> Option<Option<FileMetadata>> {
        let mut since = Instant::now();
        loop {
            let left = self.settle.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Some(facts);
            }
            if let Some(WakeReason::Stop) = self.wait(left) {
                return None;
            }
            let now = self.facts();
            if now != facts {
                (facts, since) = (now, Instant::now());
            }
        }
    }

    /// Reads the file and answers new questions.
    fn answer_new_questions(&mut self, facts: Option<FileMetadata>) -> Result<LookResult, Failure> {
        // A missing file is just being replaced, or comes back later.
        let (Some(_), Some(document)) = (facts, self.read()) else {
            return Ok(LookResult::Nothing);
        };
        let questions = questions(&document);
        let is_old = self
            .asked
            .as_ref()
            .is_some_and(|(asked, after)| *asked == questions && *after == facts);
        if questions.is_empty() {
            if let Some(hint) = misplaced_question(&document) {
                self.report(Failure::usage(
                    format!("{}: no question", self.path.display()),
                    hint,
                ));
            }
            return Ok(LookResult::Nothing);
        }
        // Always call `has_new_questions`: it also reports an answer that was saved over.
        if !self.has_new_questions(&document) || is_old {
            return Ok(LookResult::Nothing);
        }
        let done = take_turn(self.call, self.path);
        match done.map_err(|failure| self.call.environment.explain(failure)) {
            Ok(_) => self.last_reported = None,
            Err(failure) => {
                if let LookResult::Locked = self.handle_failure(failure, &questions)? {
                    return Ok(LookResult::Locked);
                }
            }
        }
        self.asked = Some((questions, self.facts()));
        Ok(LookResult::Wrote)
    }

    /// Whether a question is new. If an editor saved an older text over an answer, its question is
    /// not asked again; a remark says once how to bring the answer back.
    fn has_new_questions(&self, document: &Document) -> bool {
        let places = &self.call.environment.places;
        let journal = Journal::new(places);
        let path = real_path(&Disk, self.path).unwrap_or_else(|_| self.path.to_path_buf());
        for missing in journal.missing_answers(document, &path) {
            let again = format!("analects chat {} asks again", shell::path(self.path));
            ui::remark(&format!("{}; {again}", answer_missing(self.path, &missing)));
            // If this fails, the remark is repeated.
            let _ = journal.mark_reported(&missing);
        }
        let answered = journal.previously_answered(document, &path);
        let waiting = document.unanswered();
        waiting
            .iter()
            .any(|cell| !answered.contains(&cell.name().into_owned()))
    }

    /// The file, if it can be read and written.
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
        self.report(error.into());
        None
    }

    /// Reports why these questions were not answered, and lets the watch go on. Only an interrupt
    /// ends it.
    fn handle_failure(
        &mut self,
        failure: Failure,
        asked: &OpenQuestions,
    ) -> Result<LookResult, Failure> {
        if failure.is_interrupted() {
            return Err(failure);
        }
        if failure.is_busy() {
            // The watch tries again by itself, so no hint is needed.
            self.report(failure.without_hint());
            return Ok(LookResult::Locked);
        }
        // Another process may have answered it in the meantime.
        let is_open = |document: Document| questions(&document) == *asked;
        if !failure.is_usage() || self.read().is_none_or(is_open) {
            self.last_reported = None;
            let hint = "to ask again, save the file again";
            self.report(if failure.is_model() {
                failure.and_hint(hint)
            } else {
                failure
            });
        }
        Ok(LookResult::Wrote)
    }

    /// Reports a failure, unless it is the same as last time.
    fn report(&mut self, failure: Failure) {
        if self.last_reported.as_ref() != Some(&failure.message) {
            ui::report(&failure, false);
            self.last_reported = Some(failure.message);
        }
    }
}

/// The unanswered cells of a document.
fn questions(document: &Document) -> OpenQuestions {
    let open = document.unanswered().into_iter();
    open.map(|cell| (cell.name().into_owned(), cell.content().into_owned()))
        .collect()
}
