//! Errors as a person meets them: one line, a hint, and an exit code.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use analects_client::ClientError;
use analects_local::LocalError;
use analects_runtime::{AskError, AttachError};
use analects_store::StoreError;

use crate::hints::{self, Advice, ConversationName, Interface};
use crate::interrupt;

/// Why a command failed, in the classes that exit codes tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    Usage,
    NotFound,
    /// Somebody else has the file, and nothing was done.
    Busy,
    Locked,
    Model,
    Interrupted,
    /// Interrupted before anything came.
    Unanswered,
    Ours,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    /// What went wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    advice: Vec<Advice>,
    /// The file or folder that could not be used.
    path: Option<PathBuf>,
}

impl Failure {
    fn new(kind: Kind, message: impl Into<String>, advice: Option<Advice>) -> Failure {
        let advice = advice.into_iter().collect();
        Failure {
            kind,
            message: message.into(),
            advice,
            path: None,
        }
    }

    /// The command was called in a way that makes no sense.
    pub fn usage(message: impl Into<String>, advice: impl Into<Advice>) -> Failure {
        Failure::new(Kind::Usage, message, Some(advice.into()))
    }

    /// What was given to the command is at fault.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::new(Kind::Input, message, None)
    }

    /// Something that was asked for is not there.
    pub fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(Kind::NotFound, message, None)
    }

    /// Adds what to do about it, unless that is said already.
    pub fn or_hint(self, advice: impl Into<Advice>) -> Failure {
        if self.advice.is_empty() {
            self.and_hint(advice)
        } else {
            self
        }
    }

    /// Adds one more thing to do about it.
    pub fn and_hint(mut self, more: impl Into<Advice>) -> Failure {
        self.advice.push(more.into());
        self
    }

    /// Takes away what to do about it.
    pub fn without_hint(mut self) -> Failure {
        self.advice.clear();
        self
    }

    /// What to do about it, in words.
    pub fn hint(&self, interface: Interface) -> Option<String> {
        let parts = self.advice.iter().map(|advice| advice.in_words(interface));
        parts.reduce(|hint, more| {
            // What follows a list is no part of its last row.
            let between = if hint.contains('\n') { "\n" } else { "; " };
            hint + between + &more
        })
    }

    /// Whether it says how to get an answer to a question that is in the conversation.
    pub fn tells_how_to_ask(&self) -> bool {
        self.advice.iter().any(Advice::tells_how_to_ask)
    }

    /// The program is at fault.
    pub fn ours(message: impl Into<String>) -> Failure {
        Failure::new(Kind::Ours, message, None)
    }

    /// The model's side stopped in the middle of an answer, and did not say why.
    pub fn broke_off() -> Failure {
        Failure::new(Kind::Model, "the answer broke off before its end", None)
    }

    /// The model's side failed, in a way that the program knows more about than the answer says.
    pub fn of_model(message: impl Into<String>) -> Failure {
        Failure::new(Kind::Model, message, None)
    }

    /// The person stopped it, and what came is in the conversation.
    pub fn interrupted() -> Failure {
        Failure::new(
            Kind::Interrupted,
            "interrupted; what came so far is kept",
            None,
        )
    }

    /// The person stopped it before anything came; what they said is in the conversation.
    pub fn unanswered() -> Failure {
        let message = "interrupted before anything came; your question is kept";
        Failure::new(Kind::Unanswered, message, None)
    }

    /// Says how to ask again what was stopped before anything came.
    pub fn ask_again_in(self, conversation: ConversationName) -> Failure {
        if self.kind == Kind::Unanswered {
            return self.without_hint().and_hint(Advice::AskAgain(conversation));
        }
        self
    }

    /// The person stopped it, and nothing is kept.
    pub fn stopped() -> Failure {
        Failure::new(Kind::Interrupted, "interrupted", None)
    }

    /// A signal told the whole process to end.
    pub fn told_to_end(signal: &str) -> Failure {
        Failure::new(Kind::Interrupted, format!("ended by {signal}"), None)
    }

    /// Whether something in that folder could not be used.
    pub fn is_about(&self, folder: &Path) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| path.starts_with(folder))
    }

    /// Whether the person stopped it.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, Kind::Interrupted | Kind::Unanswered)
    }

    /// Whether the command was called wrongly.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Whether what it was to work with is not there.
    pub fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
    }

    /// Whether somebody else had the file, so that nothing was done and it can be tried again.
    pub fn is_busy(&self) -> bool {
        self.kind == Kind::Busy
    }

    /// Whether the model's side is at fault.
    pub fn is_of_model(&self) -> bool {
        self.kind == Kind::Model
    }

    /// The exit code, as documented.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Input => 1,
            Kind::Usage => 2,
            Kind::NotFound => 3,
            Kind::Busy | Kind::Locked => 4,
            Kind::Model => 5,
            Kind::Interrupted | Kind::Unanswered => interrupt::exit_code(),
            Kind::Ours => 255,
        }
    }

    /// The word for the class, in JSON.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Input => "input",
            Kind::Usage => "usage",
            Kind::NotFound => "not_found",
            Kind::Busy | Kind::Locked => "locked",
            Kind::Model => "model",
            Kind::Interrupted | Kind::Unanswered => "interrupted",
            Kind::Ours => "internal",
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
                Failure::input("a chosen cell was changed or removed meanwhile")
                    .or_hint("choose the cells again")
            }
            AskError::Network(error) => Failure::ours(error.to_string()),
        }
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Failure {
        match error {
            AttachError::Unreadable(_) => Failure::not_found(error.to_string()),
            AttachError::NoFile(_) | AttachError::MadeUp(_) => Failure::input(error.to_string())
                .or_hint("what a command prints can come on stdin: git diff | analects chat …"),
            AttachError::NoText(_) => Failure::input(error.to_string())
                .or_hint("a picture goes into a message file as a line ![name](path)"),
            AttachError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        if let StoreError::AnswerNotWritten { error, is_kept } = error {
            return answer_not_written(*error, is_kept);
        }
        let advice = hints::of_store(&error);
        let kind = match &error {
            StoreError::NotFound { .. }
            | StoreError::SessionNotFound { .. }
            | StoreError::MessageNotFound { .. } => Kind::NotFound,
            StoreError::Locked { .. }
            | StoreError::AlreadyAnswering { .. }
            | StoreError::InUse { .. } => Kind::Busy,
            StoreError::KeepsChanging { .. }
            | StoreError::Conflict { .. }
            | StoreError::ConcurrentWrite { .. } => Kind::Locked,
            StoreError::NotAMessageFile { .. } => Kind::Usage,
            _ => Kind::Input,
        };
        let message = match &error {
            StoreError::Io {
                path,
                action,
                source,
            } => {
                format!("{}: cannot {action}: {}", path.display(), words(source))
            }
            other => other.to_string(),
        };
        let path = match &error {
            StoreError::Io { path, .. } | StoreError::NotFound { path } => Some(path.clone()),
            _ => None,
        };
        Failure {
            path,
            ..Failure::new(kind, message, advice)
        }
    }
}

/// Says why an answer is not in its file, and where it is.
fn answer_not_written(error: StoreError, is_kept: bool) -> Failure {
    let mut failure = Failure::from(error);
    if failure.is_busy() {
        // It was shown before anybody tried to write it.
        failure.kind = Kind::Locked;
    }
    if is_kept {
        failure.and_hint("the answer is kept, and comes into the file with its next change")
    } else {
        failure.and_hint("the answer is not in the file")
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let kind = match &error {
            ClientError::UnknownModel(_) => Kind::Usage,
            ClientError::Replay { .. } if error.is_not_found() => Kind::NotFound,
            ClientError::Replay { .. } => Kind::Input,
            _ => Kind::Model,
        };
        Failure::new(kind, error.to_string(), hints::of_client(&error))
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Failure {
        let kind = match &error {
            error if error.is_not_found() => Kind::NotFound,
            error if error.is_input() => Kind::Input,
            _ => Kind::Model,
        };
        let path = error.path().map(Path::to_path_buf);
        let failure = Failure::new(kind, error.to_string(), hints::of_local(&error));
        Failure { path, ..failure }
    }
}

/// What the system said, without the number that says nothing to a reader.
pub fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! The classes of errors.

    use super::*;

    #[test]
    fn a_file_that_changed_on_disk_is_told_apart() {
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
