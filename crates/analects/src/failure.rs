//! Errors as you see them: one line, hints, and an exit code.
//!
//! Every error of a library becomes a [`Failure`] by `From`, which chooses the kind and adds hints from
//! [`hints`]. A verb may add or replace hints on the way up; `main` prints what arrives.
//!
//! | exit code | kind |
//! |---|---|
//! | 1 | wrong input |
//! | 2 | wrong usage |
//! | 3 | not found |
//! | 4 | locked or changed by somebody else |
//! | 5 | the model, its provider or the connection |
//! | 129, 130, 143 | ended by a signal |
//! | 255 | a bug |

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use analects_client::ClientError;
use analects_local::LocalError;
use analects_runtime::{AskError, AttachError};
use analects_store::StoreError;

use crate::hints::{self, Advice, ConversationName, Interface};
use crate::interrupt;

/// The kinds of failure that exit codes and the predicates of [`Failure`] tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    /// Something given to the command is wrong.
    Input,
    /// The command was called wrongly.
    Usage,
    /// Something that the command needs does not exist.
    NotFound,
    /// Somebody else has the file, and nothing was done.
    Busy,
    /// Somebody else has or changed the file, and only part of the work was done.
    Locked,
    /// The model, its provider or the connection failed.
    Model,
    /// You interrupted the command.
    Interrupted,
    /// You interrupted it before the answer started.
    InterruptedBeforeAnswer,
    /// A bug in this program, or a system that refuses the basics.
    Internal,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    kind: FailureKind,
    /// What went wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it, most useful first.
    advice: Vec<Advice>,
    /// The file or folder that could not be used.
    path: Option<PathBuf>,
}

impl Failure {
    /// Without hints and without a path.
    fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            message: message.into(),
            advice: Vec::new(),
            path: None,
        }
    }

    /// The command was called in a way that makes no sense.
    /// Every such failure has a hint, because you are about to type the command again.
    pub fn usage(message: impl Into<String>, advice: impl Into<Advice>) -> Failure {
        Failure::new(FailureKind::Usage, message).and_hint(advice)
    }

    /// Something given to the command is wrong.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Input, message)
    }

    /// Something that the command needs does not exist.
    pub fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::NotFound, message)
    }

    /// The program is at fault.
    /// Use it only for what cannot happen, or what nobody can do anything about.
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Internal, message)
    }

    /// The model, its provider or the connection failed.
    pub fn model(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Model, message)
    }

    /// The connection closed in the middle of an answer, without a reason.
    pub fn incomplete_answer() -> Failure {
        Failure::model("the answer stopped before it was complete")
    }

    /// You interrupted an answer, and its beginning is in the conversation.
    pub fn interrupted() -> Failure {
        Failure::new(
            FailureKind::Interrupted,
            "interrupted; the partial answer is kept",
        )
    }

    /// You interrupted before the answer started; your question is in the conversation.
    pub fn interrupted_before_answer() -> Failure {
        Failure::new(
            FailureKind::InterruptedBeforeAnswer,
            "interrupted before the answer started; your question is kept",
        )
    }

    /// You interrupted the command, and nothing is kept.
    pub fn cancelled() -> Failure {
        Failure::new(FailureKind::Interrupted, "interrupted")
    }

    /// A signal ended the whole process.
    pub fn ended_by(signal: &str) -> Failure {
        Failure::new(FailureKind::Interrupted, format!("ended by {signal}"))
    }

    /// Adds a hint, unless there is one already.
    /// For general advice, which must not hide a more special one.
    pub fn or_hint(self, advice: impl Into<Advice>) -> Failure {
        if self.advice.is_empty() {
            self.and_hint(advice)
        } else {
            self
        }
    }

    /// Adds a hint to those that there are.
    /// The first hint is read first, so add the most useful one first.
    pub fn and_hint(mut self, advice: impl Into<Advice>) -> Failure {
        self.advice.push(advice.into());
        self
    }

    /// Removes all hints.
    /// For a caller that knows better what to do next.
    pub fn without_hint(mut self) -> Failure {
        self.advice.clear();
        self
    }

    /// Replaces the hints of a question without an answer by how to ask it again.
    /// Does nothing to any other failure, so callers need not check.
    pub fn ask_again_in(self, conversation: ConversationName) -> Failure {
        if self.kind != FailureKind::InterruptedBeforeAnswer {
            return self;
        }
        self.without_hint().and_hint(Advice::AskAgain(conversation))
    }

    /// All hints in one text, or `None` if there are none.
    /// Several are joined with `; `.
    pub fn hint(&self, interface: Interface) -> Option<String> {
        let parts = self.advice.iter().map(|advice| advice.text(interface));
        parts.reduce(|hint, more| {
            // A hint after a list starts on its own line.
            let separator = if hint.contains('\n') { "\n" } else { "; " };
            hint + separator + &more
        })
    }

    /// Whether a hint says how to ask a question that is in the conversation.
    pub fn says_how_to_ask(&self) -> bool {
        self.advice.iter().any(Advice::says_how_to_ask)
    }

    /// Whether it is about a file in this folder that could not be used.
    /// Only errors of the store and of local models know their path.
    pub fn is_about(&self, folder: &Path) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| path.starts_with(folder))
    }

    /// Whether you interrupted the command.
    pub fn is_interrupted(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::Interrupted | FailureKind::InterruptedBeforeAnswer
        )
    }

    /// Whether the command was called wrongly.
    pub fn is_usage(&self) -> bool {
        self.kind == FailureKind::Usage
    }

    /// Whether something that the command needs does not exist.
    /// A caller may then create it, or say how to.
    pub fn is_not_found(&self) -> bool {
        self.kind == FailureKind::NotFound
    }

    /// Whether somebody else had the file, so that nothing was done and the command can be repeated.
    /// False if part of the work was done: then repeating would do that part twice.
    pub fn is_busy(&self) -> bool {
        self.kind == FailureKind::Busy
    }

    /// Whether the model, its provider or the connection failed.
    /// A local model's server may be the reason: see [`explain_failure`](crate::local::explain_failure).
    pub fn is_model(&self) -> bool {
        self.kind == FailureKind::Model
    }

    /// The exit code, as documented.
    /// Scripts depend on these numbers, so they never change.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Input => 1,
            FailureKind::Usage => 2,
            FailureKind::NotFound => 3,
            FailureKind::Busy | FailureKind::Locked => 4,
            FailureKind::Model => 5,
            FailureKind::Interrupted | FailureKind::InterruptedBeforeAnswer => {
                interrupt::exit_code()
            }
            FailureKind::Internal => 255,
        }
    }

    /// The name of the kind in JSON.
    /// Programs that read `--json` depend on it, as on the exit code.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            FailureKind::Input => "input",
            FailureKind::Usage => "usage",
            FailureKind::NotFound => "not_found",
            FailureKind::Busy | FailureKind::Locked => "locked",
            FailureKind::Model => "model",
            FailureKind::Interrupted | FailureKind::InterruptedBeforeAnswer => "interrupted",
            FailureKind::Internal => "internal",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        match error {
            AskError::Store(error) => error.into(),
            AskError::Attach(error) => error.into(),
            AskError::ChoiceRemoved => {
                Failure::input("a chosen cell was changed or removed in the meantime")
                    .or_hint("choose the cells again")
            }
            AskError::Network(error) => Failure::internal(error.to_string()),
        }
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Failure {
        match error {
            AttachError::Unreadable(_) => Failure::not_found(error.to_string()),
            AttachError::NoFile(_) | AttachError::MadeUp(_) => Failure::input(error.to_string())
                .or_hint("to send the output of a command, pipe it: git diff | analects chat …"),
            AttachError::NoText(_) => Failure::input(error.to_string()).or_hint(
                "chat sends text and pictures (PNG, JPEG, GIF, WebP); convert the file first",
            ),
            AttachError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        if let StoreError::AnswerNotWritten { error, is_kept } = error {
            return answer_not_written(*error, is_kept);
        }
        let mut failure = Failure::new(kind_of_store_error(&error), store_error_text(&error));
        failure.advice.extend(hints::for_store_error(&error));
        if let StoreError::Io { path, .. } | StoreError::NotFound { path } = error {
            failure.path = Some(path);
        }
        failure
    }
}

/// The kind of a store error, which decides the exit code.
/// What can be repeated as it is counts as busy, and what needs a look at the file first as locked.
fn kind_of_store_error(error: &StoreError) -> FailureKind {
    match error {
        StoreError::NotFound { .. }
        | StoreError::SessionNotFound { .. }
        | StoreError::MessageNotFound { .. } => FailureKind::NotFound,
        StoreError::Locked { .. }
        | StoreError::AlreadyAnswering { .. }
        | StoreError::InUse { .. } => FailureKind::Busy,
        StoreError::KeepsChanging { .. }
        | StoreError::Conflict { .. }
        | StoreError::ConcurrentWrite { .. } => FailureKind::Locked,
        StoreError::NotAMessageFile { .. } => FailureKind::Usage,
        _ => FailureKind::Input,
    }
}

/// The message of a store error. The system's own message is put in our form.
/// Other errors have their text from the library.
fn store_error_text(error: &StoreError) -> String {
    match error {
        StoreError::Io {
            path,
            action,
            source,
        } => {
            let reason = io_error_text(source);
            format!("{}: cannot {action}: {reason}", path.display())
        }
        other => other.to_string(),
    }
}

/// Says why an answer is not in its file, and where it is.
/// `is_kept` says whether the journal has the answer.
fn answer_not_written(error: StoreError, is_kept: bool) -> Failure {
    let mut failure = Failure::from(error);
    if failure.is_busy() {
        // The model has answered already, so something was done.
        failure.kind = FailureKind::Locked;
    }
    if is_kept {
        failure.and_hint("the answer is kept, and the next change to the file adds it")
    } else {
        failure.and_hint("the answer is not in the file")
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let kind = match &error {
            ClientError::UnknownModel { .. } => FailureKind::Usage,
            ClientError::Replay { .. } if error.is_not_found() => FailureKind::NotFound,
            ClientError::Replay { .. } => FailureKind::Input,
            _ => FailureKind::Model,
        };
        let mut failure = Failure::new(kind, error.to_string());
        failure.advice.extend(hints::for_client_error(&error));
        failure
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Failure {
        let kind = match &error {
            error if error.is_not_found() => FailureKind::NotFound,
            error if error.is_input() => FailureKind::Input,
            _ => FailureKind::Model,
        };
        let mut failure = Failure::new(kind, error.to_string());
        failure.advice.extend(hints::for_local_error(&error));
        failure.path = error.path().map(Path::to_path_buf);
        failure
    }
}

/// The system's message for an error: lower case, and without its number, which tells you nothing.
/// It follows a colon: `cannot read: permission denied`.
pub fn io_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    //! The kinds of errors.

    use super::*;

    #[test]
    fn a_file_that_somebody_else_has_gives_exit_code_4() {
        let (path, kept) = (PathBuf::from("a"), PathBuf::from("b"));
        let conflict = analects_formats::msgfile::item::Conflict {
            reason: String::new(),
            base: Vec::new(),
            ours: Vec::new(),
            theirs: Vec::new(),
        };
        for error in [
            StoreError::Locked { path: path.clone() },
            StoreError::InUse {
                path: path.clone(),
                writers: Vec::new(),
            },
            StoreError::KeepsChanging { path: path.clone() },
            StoreError::Conflict {
                path: path.clone(),
                conflict: Box::new(conflict),
            },
            StoreError::ConcurrentWrite {
                path,
                other_version: kept,
            },
        ] {
            assert_eq!(Failure::from(error).exit_code(), 4);
        }
    }
}
