//! Shared by `drop`, `restore`, `edit`, `rewind`, `fork` and `compact --undo`: they change a
//! conversation in a message file or in a session, by the same rules. Interactive sessions use them
//! too.
//!
//! A verb goes through these steps: find the conversation ([`VerbTarget::named`]), find the message in it, let
//! `analects_core::verbs` work out the changes, write them, and say what may surprise you about the result. The rules
//! are in the library, so a file and a session cannot come to differ.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use analects_core::verbs::{self, Change, Target, VerbError, step_end};
use analects_core::{Message, MessageId, SessionId, Tree, Unseen, unseen};
use analects_formats::msgfile::item::{ItemError, ItemErrorKind};
use analects_formats::msgfile::{
    self, CellMessages, Document, DocumentKind, Splice, find_cells, find_one,
};
use analects_store::vfs::Disk;
use analects_store::{
    ChainName, Journal, LockedFile, OsIds, PictureConsent, Session, StoreError, create_file,
    real_path,
};
use jiff::Timestamp;

use super::chat::CallArgs;
use super::reading;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::Advice;
use crate::sessions::Sessions;
use crate::{message_file, shell, ui};

/// From this many cells on, a remark names only the first and the last.
const MAX_NAMED_CELLS: usize = 6;

/// A verb, with the cell or message that you named.
/// `fork` is missing, because it changes nothing: see [`fork_file`] and [`fork_session`].
#[derive(Debug, Clone, Copy)]
pub enum Verb<'a> {
    Drop(&'a str),
    Restore(&'a str),
    Edit {
        message: &'a str,
        text: &'a str,
    },
    /// `None` goes back to the beginning.
    Rewind(Option<&'a str>),
    UndoCompaction,
}

impl<'a> Verb<'a> {
    /// The cell or message that you named.
    /// `None` for a verb that concerns the conversation as a whole.
    fn target_name(self) -> Option<&'a str> {
        match self {
            Verb::Drop(name) | Verb::Restore(name) | Verb::Edit { message: name, .. } => Some(name),
            Verb::Rewind(name) => name,
            Verb::UndoCompaction => None,
        }
    }

    /// The changes that the verb makes to a conversation.
    /// A verb that needs a target and has none makes no changes.
    fn changes(
        self,
        messages: &[Message],
        target: Option<&Target>,
    ) -> Result<Vec<Change>, VerbError> {
        match (self, target) {
            (Verb::Drop(_), Some(target)) => verbs::drop(messages, target),
            (Verb::Restore(_), Some(target)) => verbs::restore(messages, target),
            (Verb::Edit { text, .. }, Some(target)) => verbs::edit(messages, target, text),
            (Verb::Rewind(_), target) => {
                verbs::rewind(messages, target.map(|target| &*target.message))
            }
            (Verb::UndoCompaction, _) => verbs::undo_compaction(messages),
            (Verb::Drop(_) | Verb::Restore(_) | Verb::Edit { .. }, None) => Ok(Vec::new()),
        }
    }
}

/// The conversation that a verb changes.
/// It stays the same conversation, even if `last` comes to mean another one.
pub enum VerbTarget {
    /// In a message file.
    File(PathBuf),
    /// In the transcript store.
    Session { sessions: Sessions, name: ChainName },
}

/// The result of a verb.
/// The caller prints `target` or `changed`, depending on the verb.
#[derive(Debug, Default)]
pub struct VerbOutcome {
    /// The name of the target cell, or the id of the target message.
    /// Empty for a verb without a target.
    pub target: String,
    /// The names of the cells or messages that changed.
    pub changed: Vec<String>,
    /// The file after the change; `None` for a session.
    pub file: Option<Document>,
    /// The last record that was written to a session.
    /// `None` for a file.
    pub record: Option<MessageId>,
    /// The last message of the branch before the change, to undo a rewind.
    pub last: Option<String>,
    /// Why the model does not see the target, if it does not.
    /// As it is after the change.
    unseen: Option<Unseen>,
    /// The summary that no longer counts on the new branch, and the earlier summary that counts
    /// instead.
    uncounted: Option<(String, Option<String>)>,
}

impl VerbOutcome {
    /// Whether the target is hidden from the model.
    /// False for a target that the model does not see for another reason.
    pub fn is_hidden(&self) -> bool {
        self.unseen == Some(Unseen::Hidden)
    }
}

impl VerbTarget {
    /// Finds the file or session with this name.
    /// A word that ends in `.md` is always a file, even a missing one; otherwise a file that exists comes before a
    /// session.
    pub fn named(word: &str, environment: &Environment) -> Result<VerbTarget, Failure> {
        if let Some(path) = file(word) {
            return Ok(VerbTarget::File(path.to_path_buf()));
        }
        let sessions = Sessions::of(environment);
        let name = sessions.find(Some(word))?;
        Ok(VerbTarget::Session { sessions, name })
    }

    /// The name to use in a command.
    /// Quoted for a shell where it has to be.
    pub fn word(&self) -> String {
        match self {
            VerbTarget::File(path) => shell::path(path),
            // Use the id: `last` may mean another session later.
            VerbTarget::Session { name, .. } => name.session.to_string(),
        }
    }

    /// Performs a verb, and prints remarks about unexpected effects.
    /// Either everything is written or nothing. Remarks go to stderr, after the change.
    pub fn perform(
        &self,
        verb: Verb<'_>,
        environment: &Environment,
    ) -> Result<VerbOutcome, Failure> {
        let outcome = match self {
            VerbTarget::File(path) => in_file(path, verb, environment),
            VerbTarget::Session { sessions, name } => in_session(sessions, name, verb),
        };
        let outcome = outcome.map_err(|failure| environment.explain(failure))?;
        self.remark(verb, &outcome);
        Ok(outcome)
    }

    /// Prints remarks about effects that you may not expect.
    /// For example that a message changed that the model does not see anyway.
    fn remark(&self, verb: Verb<'_>, outcome: &VerbOutcome) {
        let is_file = matches!(self, VerbTarget::File(_));
        let thing = if is_file { "cell " } else { "" };
        if let Some((summary, earlier)) = &outcome.uncounted {
            let earlier = earlier.as_ref().map(|id| format!("{thing}{id}"));
            warn_summary_not_counted(&format!("{thing}{summary}"), earlier.as_deref());
        }
        let target = &outcome.target;
        match outcome.unseen {
            Some(Unseen::Compacted) => {
                warn_if_summarised(&self.word(), &[format!("{thing}{target}")]);
            }
            Some(Unseen::Hidden) if matches!(verb, Verb::Edit { .. }) => ui::remark(&format!(
                "{thing}{target} is hidden from the model; analects restore {} {} shows it",
                self.word(),
                shell::word(target)
            )),
            _ => {}
        }
    }
}

/// The path, if the word names a file and not a session.
/// Does not check that the file exists if its name is that of a message file.
pub fn file(target: &str) -> Option<&Path> {
    let path = Path::new(target);
    (target.ends_with(".md") || path.is_file()).then_some(path)
}

/// Changes the text of a cell, and keeps the old text in the journal. Unlike the other verbs, this
/// does not need the messages of the file.
/// The journal gets the old text before the file changes, so a kill in between loses nothing.
fn edit_file(
    path: &Path,
    cell: &str,
    text: &str,
    environment: &Environment,
) -> Result<VerbOutcome, Failure> {
    let mut outcome = VerbOutcome::default();
    let refused = |error: ItemError| explain(path, &error);
    let file = change(path, environment, |document, journal, real| {
        let at = find_one(document, cell).map_err(refused)?;
        let after = msgfile::edit_text(document, at, text).map_err(refused)?;
        let new = after.cells().nth(at).map(|cell| cell.name().into_owned());
        outcome.target = new.unwrap_or_default();
        outcome.changed = vec![outcome.target.clone()];
        outcome.unseen = msgfile::unseen_cells(document)[at];
        if let Some(old) = document.cells().nth(at) {
            let now = Timestamp::now();
            journal.save_removed_text(real, &outcome.target, &old.content(), text, now)?;
        }
        Ok(after)
    })?;
    outcome.file = Some(file.into_document());
    Ok(outcome)
}

/// Performs a verb in a message file.
/// A rewind is noted in the journal as well, since an empty cell alone could be lost by an editor.
fn in_file(path: &Path, verb: Verb<'_>, environment: &Environment) -> Result<VerbOutcome, Failure> {
    if let Verb::Edit { message, text } = verb {
        return edit_file(path, message, text, environment);
    }

    let mut outcome = VerbOutcome::default();
    let file = change(path, environment, |document, _, _| {
        let changed = change_document(document, verb);
        let (after, result) = changed.map_err(|error| explain(path, &error))?;
        outcome = result;
        Ok(after)
    })?;
    if matches!(verb, Verb::Rewind(_)) {
        file.journal().save_rewind(file.path(), file.document())?;
    }
    outcome.file = Some(file.into_document());
    Ok(outcome)
}

/// The document after a verb other than `edit`, and the result of the verb.
/// Pure: the caller writes the new document.
fn change_document(
    document: &Document,
    verb: Verb<'_>,
) -> Result<(Document, VerbOutcome), ItemError> {
    let read = CellMessages::of(document, &SessionId::default());
    let cell = verb
        .target_name()
        .map(|name| find_one(document, name))
        .transpose()?;
    let target = cell.map(|at| target_in(document, &read, at)).transpose()?;
    let refused = |error: VerbError| msgfile::verb_error(&read, document, error);

    let changes = changes_in(&read, verb, cell, target).map_err(refused)?;
    let zone = crate::local_time::zone();
    let after = msgfile::apply_in(document, &read, &changes, &zone, &mut OsIds)?;
    if let (Verb::Restore(_), Some(target)) = (verb, target)
        && after.source() == document.source()
    {
        return Err(refused(VerbError::NotHidden(target.message.clone())));
    }

    let mut outcome = outcome_of(&read.messages, target, &changes, |id| {
        let head = read.head(id);
        head.map(|at| cell_name(&after, at)).unwrap_or_default()
    });
    outcome.target = cell.map(|at| cell_name(&after, at)).unwrap_or_default();
    outcome.changed = changed_cells(document, &after);
    Ok((after, outcome))
}

/// The message or tool call in a cell, or an error if the cell is neither.
/// A call and its answer may be in one message, and yet be changed apart.
fn target_in<'r>(
    document: &Document,
    read: &'r CellMessages,
    at: usize,
) -> Result<&'r Target, ItemError> {
    read.target(at)
        .ok_or_else(|| msgfile::not_a_message(document, at))
}

/// The changes that a verb makes to the messages of a file.
fn changes_in(
    read: &CellMessages,
    verb: Verb<'_>,
    cell: Option<usize>,
    target: Option<&Target>,
) -> Result<Vec<Change>, VerbError> {
    if !matches!(verb, Verb::Rewind(_)) {
        return verb.changes(&read.messages, target);
    }
    // Going back to a tool result means going back to the message that holds it.
    let message = cell.and_then(|at| read.message(at)).cloned();
    verb.changes(&read.messages, message.map(Target::message).as_ref())
}

/// The name of the cell at a position; empty if there is none.
/// Names can change with the file, so it is asked for after the change.
fn cell_name(document: &Document, at: usize) -> String {
    let cell = document.cells().nth(at);
    cell.map(|cell| cell.name().into_owned())
        .unwrap_or_default()
}

/// The names of the cells whose text or history changed.
/// Cells stay in their order, so the two versions are compared one by one.
fn changed_cells(before: &Document, after: &Document) -> Vec<String> {
    let mut names = Vec::new();
    for (old, new) in before.cells().zip(after.cells()) {
        if old.history() != new.history() || old.content() != new.content() {
            names.push(new.name().into_owned());
        }
    }
    names
}

/// Performs a verb in a session, and returns what it wrote.
/// The records follow whatever another program has added meanwhile.
fn in_session(
    sessions: &Sessions,
    name: &ChainName,
    verb: Verb<'_>,
) -> Result<VerbOutcome, Failure> {
    let message = verb
        .target_name()
        .map(|word| sessions.message(name, word))
        .transpose()?;
    let target = message.clone().map(Target::message);
    let mut session = Session::open(&*sessions.store, name.clone())?;
    let mut outcome = VerbOutcome::default();
    let records = session.apply(
        |messages| {
            let changes = verb.changes(messages, target.as_ref())?;
            outcome = outcome_of(messages, target.as_ref(), &changes, MessageId::to_string);
            Ok(changes)
        },
        &mut OsIds,
        Timestamp::now(),
    )?;
    outcome.target = message.map(|id| id.to_string()).unwrap_or_default();
    outcome.record = records.last().map(|record| record.id.clone());
    Ok(outcome)
}

/// The result of changes, with what may be unexpected about it.
/// `name` turns an id into what you call the message: its cell or the id itself.
fn outcome_of(
    messages: &[Message],
    target: Option<&Target>,
    changes: &[Change],
    name: impl Fn(&MessageId) -> String,
) -> VerbOutcome {
    let tree = Tree::of(messages);
    let mut outcome = VerbOutcome {
        last: last_shown(&tree).map(|at| name(&messages[at].id)),
        unseen: unseen_after(messages, &tree, target, changes),
        ..VerbOutcome::default()
    };
    for change in changes {
        match change {
            Change::ContinueFrom { parent } => {
                outcome.unseen = None;
                let end = parent.as_ref().and_then(|id| tree.position(id));
                outcome.uncounted = uncounted(messages, &tree, end, &name);
            }
            Change::SetHistory { target, .. } | Change::Revise { target, .. } => {
                outcome.changed.push(name(&target.message));
            }
            Change::Append(_) => {}
        }
    }
    outcome.changed.dedup();
    outcome
}

/// The position of the last message on the current branch, skipping records that are not shown.
/// `None` for an empty conversation.
fn last_shown(tree: &Tree) -> Option<usize> {
    let mut ancestors = tree.ancestors(tree.leaf(None)?);
    ancestors.find(|at| tree.link(*at).is_shown())
}

/// Why the model does not see the target after the changes; `None` if it does.
/// A hidden target is looked at again with the changes, because a verb may just have shown it.
fn unseen_after(
    messages: &[Message],
    tree: &Tree,
    target: Option<&Target>,
    changes: &[Change],
) -> Option<Unseen> {
    let target = target?;
    let at = tree.position(&target.message);
    let mut reason = at.and_then(|at| unseen(messages)[at]);
    if let Some(at) = at.filter(|_| reason == Some(Unseen::Hidden)) {
        let after = verbs::with_history(messages.to_vec(), changes);
        reason = unseen(&after)[at];
    }
    let is_hidden_call = verbs::hidden_calls(messages).contains(target);
    reason.or(is_hidden_call.then_some(Unseen::Hidden))
}

/// The summary that counts now but not if the conversation ended at `end`, and the one that would
/// count there.
/// `None` if the same summary counts in both cases, or none does.
fn uncounted(
    messages: &[Message],
    tree: &Tree,
    end: Option<usize>,
    name: impl Fn(&MessageId) -> String,
) -> Option<(String, Option<String>)> {
    let summary = |leaf: Option<usize>| tree.summary_of(tree.effective(leaf?).boundary?);
    let counted = summary(tree.leaf(None))?;
    let counts = summary(end);
    if counts == Some(counted) {
        return None;
    }
    Some((
        name(&messages[counted].id),
        counts.map(|at| name(&messages[at].id)),
    ))
}

/// Warns that a summary does not count on the new branch, and whether an earlier one does.
/// It is easy to miss, and makes the next request much larger.
fn warn_summary_not_counted(summary: &str, earlier: Option<&str>) {
    let instead = match earlier {
        Some(earlier) => {
            format!("the earlier summary {earlier} does, and the model sees the messages after it")
        }
        None => "the model sees all messages before it".to_string(),
    };
    ui::remark(&format!(
        "the summary {summary} does not count there: {instead}"
    ));
}

/// Warns that a summary replaces these cells, so that changes to them have no effect on the model.
fn warn_if_summarised(place: &str, cells: &[String]) {
    let cells = match cells {
        [] => return,
        [first, .., last] if cells.len() >= MAX_NAMED_CELLS => format!("{first} to {last}"),
        some => some.join(", "),
    };
    ui::remark(&format!(
        "a summary replaces {cells}, and the model sees only the summary; \
         analects compact {place} --undo hides the summary"
    ));
}

/// Warns that a summary replaces cells that you chose for a call.
/// Lists that name no cell are skipped: an error about them comes from elsewhere.
pub fn warn_chosen_are_summarised(path: &Path, document: &Document, args: &CallArgs) {
    let lists = args.include.iter().chain(&args.exclude);
    let cells = lists
        .filter_map(|list| find_cells(document, list).ok())
        .flatten();
    let cells: BTreeSet<usize> = cells.collect();
    if cells.is_empty() {
        return;
    }
    let unseen = msgfile::unseen_cells(document);
    let summed_up = document
        .cells()
        .enumerate()
        .filter(|(at, _)| cells.contains(at) && unseen[*at] == Some(Unseen::Compacted));
    let names: Vec<String> = summed_up
        .map(|(_, cell)| format!("cell {}", cell.name()))
        .collect();
    warn_if_summarised(&shell::path(path), &names);
}

/// Copies a file, or its beginning up to the cell `at`. Returns the path of the copy.
/// The original is only read. Fails for a plain Markdown file, which has no cells.
pub fn fork_file(
    path: &Path,
    at: Option<&str>,
    copy: Option<&Path>,
    force: bool,
    environment: &Environment,
) -> Result<PathBuf, Failure> {
    let document = reading::read(path)?;
    if document.kind() == DocumentKind::Plain {
        return Err(StoreError::without_section(path.to_path_buf(), &document).into());
    }

    let mut lost_summary = None;
    let mut bytes = document.source().to_vec();
    if let Some(name) = at {
        let refused = |error: ItemError| explain(path, &error);
        let end = find_one(&document, name).map_err(refused)?;
        lost_summary = uncounted_at(&document, end);
        bytes = msgfile::fork(&document, end).map_err(refused)?;
    }

    let copy = copy.map_or_else(|| free_copy_name(path), Path::to_path_buf);
    check_copy(path, &copy, &document)?;
    write_copy(&copy, &bytes, force, environment)?;
    if let Some((summary, earlier)) = lost_summary {
        let earlier = earlier.map(|cell| format!("cell {cell}"));
        warn_summary_not_counted(&format!("cell {summary}"), earlier.as_deref());
    }
    // In the same folder, the copy names the same pictures.
    if real_folder(&copy) == real_folder(path) {
        let consent = PictureConsent::of(path, &environment.places);
        PictureConsent::of(&copy, &environment.places).copy_from(&consent)?;
    }
    Ok(copy)
}

/// The summary that does not count in a copy up to a cell.
fn uncounted_at(document: &Document, at: usize) -> Option<(String, Option<String>)> {
    let read = CellMessages::of(document, &SessionId::default());
    let tree = Tree::of(&read.messages);
    let end = tree
        .position(&read.target(at)?.message)
        .map(|at| step_end(&read.messages, at));
    uncounted(&read.messages, &tree, end, |id| {
        let cell = read.head(id).and_then(|at| document.cells().nth(at));
        cell.map(|cell| cell.name().into_owned())
            .unwrap_or_default()
    })
}

/// Copies a session, or its beginning up to the message `at`. Returns the name of the copy.
/// Without `at` it is a full copy.
pub fn fork_session(
    sessions: &Sessions,
    name: &ChainName,
    at: Option<&str>,
) -> Result<ChainName, Failure> {
    // The copy belongs to the same folder as the original.
    let copy = ChainName {
        project: name.project.clone(),
        ..sessions.new_name()
    };
    let session = Session::open(&*sessions.store, name.clone())?;
    session.fork(at, copy.clone(), &mut OsIds, Timestamp::now())?;
    if at.is_none() {
        // A full copy includes all compactions.
        return Ok(copy);
    }
    let before = sessions.summary(name)?;
    let after = sessions.summary(&copy)?;
    if let Some(summary) = before.filter(|summary| after.as_ref() != Some(summary)) {
        warn_summary_not_counted(&summary, after.as_deref());
    }
    Ok(copy)
}

/// The folder of a file after following links.
/// `None` if the folder does not exist.
fn real_folder(path: &Path) -> Option<PathBuf> {
    Some(real_path(&Disk, path).ok()?.parent()?.to_path_buf())
}

/// Writes the copy to a new file or, with `force`, over an existing one.
/// A file that appears at the same moment is not overwritten without `force`.
fn write_copy(
    copy: &Path,
    bytes: &[u8],
    force: bool,
    environment: &Environment,
) -> Result<(), Failure> {
    if create_file(copy, bytes)? {
        return Ok(());
    }
    if !force {
        let failure = Failure::input(format!("{}: this file already exists", copy.display()));
        return Err(failure.or_hint("choose another name with -o, or overwrite it with --force"));
    }
    let mut file = message_file::open(copy, &environment.places)?;
    Ok(file.edit(|document| Splice::whole(document.source(), bytes.to_vec()))?)
}

/// Refuses a copy onto the file itself, or with an extension that would change how it is read.
/// `.msg.md` files are read as cells from the first line on, and other `.md` files are not.
fn check_copy(path: &Path, copy: &Path, document: &Document) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().ok();
    if real(path).is_some() && real(path) == real(copy) {
        let message = format!("{}: this is the file itself", copy.display());
        return Err(Failure::usage(message, "choose another name with -o"));
    }
    let name = copy.to_string_lossy();
    let is_whole = document.kind() == DocumentKind::Whole;
    if name.ends_with(".msg.md") != is_whole || !name.ends_with(".md") {
        let ending = if is_whole { ".msg.md" } else { ".md" };
        let message = format!("{}: a copy must end in {ending}, too", copy.display());
        return Err(Failure::usage(
            message,
            "otherwise it would be read differently",
        ));
    }
    Ok(())
}

/// A free name for a copy, such as `talk.fork-1.msg.md`.
/// The copy is created only if the name is still free then.
fn free_copy_name(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (stem, ending) = match name.strip_suffix(".msg.md") {
        Some(stem) => (stem, "msg.md"),
        None => (name.strip_suffix(".md").unwrap_or(&name), "md"),
    };
    let names = (1..).map(|number| path.with_file_name(format!("{stem}.fork-{number}.{ending}")));
    let mut free = names.filter(|name| name.symlink_metadata().is_err());
    free.next()
        .unwrap_or_else(|| path.with_extension("fork.msg.md"))
}

/// Changes an existing file. `make` gets the document, the journal, and the path after following
/// links.
/// Fails for a missing file. The closure may run more than once.
fn change(
    path: &Path,
    environment: &Environment,
    mut make: impl FnMut(&Document, &Journal, &Path) -> Result<Document, Failure>,
) -> Result<LockedFile, Failure> {
    // Opening to write would create a missing file.
    reading::check_exists(path)?;
    let mut file = message_file::open(path, &environment.places)?;
    let journal = file.journal().clone();
    let real = file.path().to_path_buf();
    file.try_replace(|document| make(document, &journal, &real))?;
    Ok(file)
}

/// Turns an error about a cell into a failure with a hint.
/// Only a cell that does not exist counts as not found.
pub fn explain(path: &Path, error: &ItemError) -> Failure {
    let message = format!("{}: {error}", path.display());
    let failure = match error.kind() {
        ItemErrorKind::UnknownCell => Failure::not_found(message),
        _ => Failure::input(message),
    };
    match error.hint() {
        Some(hint) => failure.or_hint(Advice::about(path, hint.clone())),
        None => failure,
    }
}
