//! Hints: what to type next, in a call of the command or in a session at the terminal. Libraries say what can be done;
//! here it gets the names of verbs and options. A command words its own usage errors where it finds them.
//!
//! A failure stores [`Advice`] and not text, because the same failure reads differently in a call (`analects chat …`)
//! and in a session (`/retry`). The words are chosen when it is printed.

mod usage;

use std::path::{Path, PathBuf};

use analects_client::ClientError;
use analects_core::verbs::VerbError;
use analects_core::{ApiErrorKind, Hint, Problem, nearest};
use analects_formats::convert::JsonOverLines;
use analects_formats::msgfile::ShowProblem;
use analects_local::LocalError;
use analects_store::StoreError;

use crate::config::POINTERS;
use crate::input::stdin_is_terminal;
use crate::no_model_help::{self, ModelChoice};
use crate::shell;

pub use usage::usage_failure;

/// Where you read a hint, which decides what you can type.
/// Passed down to wherever hints are printed, never stored in a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interface {
    /// After a call of the command: verbs and options.
    #[default]
    Call,
    /// In a session at the terminal: commands that begin with a slash.
    Session,
}

impl Interface {
    /// What to type before the name of a model.
    /// So that a hint can be typed as it is.
    pub fn model_option(self) -> &'static str {
        match self {
            Interface::Call => "-m",
            Interface::Session => "/model",
        }
    }

    /// The text of a hint. In a session, says where to type a command that the session does not have.
    pub fn words(self, text: String) -> String {
        if self == Interface::Session && text.contains("analects ") {
            format!("{text} (in another terminal)")
        } else {
            text
        }
    }
}

/// What you can do about a failure.
/// A variant holds what its words need, such as a file, and nothing about where it is read.
#[derive(Debug)]
pub enum Advice {
    /// Words that hold in a call and in a session.
    Text(String),
    /// Words for a call, and other words for a session.
    ByInterface { call: String, session: String },
    /// The advice of a library, and the file that it is about.
    Hint(Hint, Option<PathBuf>),
    /// Name a model in one of these ways.
    NameModel(Vec<ModelChoice>),
    /// Name a model for an agent that has none.
    NameModelOfAgent,
    /// Leave the agent of this name its instructions, or let a new agent answer.
    KeepInstructions(String),
    /// Name a model that takes pictures.
    NameModelForPictures,
    /// Try again, or name another model.
    NameAnotherModel,
    /// Define the agent of this name, or name a model.
    DefineAgent(String),
    /// Name one of these agents, or a model.
    NameAgent(Vec<String>),
    /// Set this variable to a key, or ask a model that needs none.
    SetKey(&'static str),
    /// Raise the limit on the cost, or make the conversation shorter.
    RaiseCostLimit,
    /// Name a model for the prompt that is saved in this file.
    NameModelForSavedPrompt(PathBuf),
    /// Ask the prompt that is saved in this file.
    AskSavedPrompt(PathBuf),
    /// Ask again what was interrupted before its answer started.
    AskAgain(ConversationName),
    /// Hide a partial answer, so that its question is asked again.
    HidePartialAnswer(PartialAnswer),
    /// Say something new, or hide a partial answer.
    PromptOrHidePartialAnswer(PartialAnswer),
}

/// The name of a conversation on the command line.
/// Printed quoted, as a shell needs it.
#[derive(Debug)]
pub enum ConversationName {
    /// A message file.
    File(PathBuf),
    /// A session of the store, by its id.
    Session(String),
}

/// An answer that was interrupted or cut off.
/// It counts as an answer until it is hidden.
#[derive(Debug)]
pub struct PartialAnswer {
    /// Its conversation.
    pub conversation: ConversationName,
    /// The name of its cell, or the id of its message.
    pub name: String,
}

/// What to type in a session after a question without an answer.
/// A session has no other way to repeat a question, since typing it again would ask it twice.
pub const RETRY: &str = "/retry asks it again, /undo takes it back";
/// What to type in a session after a question with a partial answer.
pub const RETRY_PARTIAL: &str = "/retry asks it again, and hides the partial answer from the model";

impl Advice {
    /// The advice of a library about this file.
    /// The path replaces `FILE` in the words.
    pub fn about(path: &Path, hint: Hint) -> Advice {
        Advice::Hint(hint, Some(path.to_path_buf()))
    }

    /// Advice that a session words differently.
    pub fn by_interface(call: &str, session: &str) -> Advice {
        Advice::ByInterface {
            call: call.to_string(),
            session: session.to_string(),
        }
    }

    /// Whether it says how to ask a question that is in the conversation.
    /// A caller that would add such a hint leaves it out then.
    pub fn says_how_to_ask(&self) -> bool {
        match self {
            Advice::NameModelForSavedPrompt(_)
            | Advice::AskSavedPrompt(_)
            | Advice::AskAgain(_)
            | Advice::HidePartialAnswer(_)
            | Advice::PromptOrHidePartialAnswer(_) => true,
            Advice::Text(_)
            | Advice::ByInterface { .. }
            | Advice::Hint(..)
            | Advice::NameModel(_)
            | Advice::NameModelOfAgent
            | Advice::KeepInstructions(_)
            | Advice::NameModelForPictures
            | Advice::NameAnotherModel
            | Advice::DefineAgent(_)
            | Advice::NameAgent(_)
            | Advice::SetKey(_)
            | Advice::RaiseCostLimit => false,
        }
    }

    /// The hint to print.
    /// One line, except for the list of ways to name a model.
    pub fn text(&self, interface: Interface) -> String {
        interface.words(self.text_for(interface))
    }

    fn text_for(&self, interface: Interface) -> String {
        let model = interface.model_option();
        match self {
            Advice::Text(text) => text.clone(),
            Advice::ByInterface { call, session } => match interface {
                Interface::Call => call.clone(),
                Interface::Session => session.clone(),
            },
            Advice::Hint(hint, path) => hint_text(hint, path.as_deref(), interface),
            Advice::NameModel(choices) => no_model_help::hint_text(choices, interface),
            Advice::NameModelOfAgent => format!("name one, such as {model} openai/gpt-5-mini"),
            Advice::KeepInstructions(name) => keep_instructions(name, interface),
            Advice::NameModelForPictures => {
                format!("name one that does with {model}; nothing was sent or written")
            }
            Advice::NameAnotherModel => format!("try again, or name another model with {model}"),
            Advice::DefineAgent(name) => {
                format!("define it as [agents.{name}] in config.toml, or name a model with {model}")
            }
            Advice::NameAgent(known) => name_agent(known, interface),
            Advice::SetKey(variable) => set_key(variable, interface),
            Advice::RaiseCostLimit => match interface {
                Interface::Call => "raise --max-cost, or compact the conversation".to_string(),
                Interface::Session => {
                    "/compact, or end the session and start it again with a higher --max-cost"
                        .to_string()
                }
            },
            Advice::NameModelForSavedPrompt(path) => name_model_for_saved_prompt(path, interface),
            Advice::AskSavedPrompt(path) => ask_saved_prompt(path, interface),
            Advice::AskAgain(conversation) => ask_again(conversation, interface),
            Advice::HidePartialAnswer(answer) => hide_partial_answer(answer, interface),
            Advice::PromptOrHidePartialAnswer(answer) => {
                format!(
                    "add a prompt, or {}",
                    hide_partial_answer(answer, interface)
                )
            }
        }
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Advice {
        Advice::Text(text)
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Advice {
        Advice::Text(text.to_string())
    }
}

impl From<Hint> for Advice {
    fn from(hint: Hint) -> Advice {
        Advice::Hint(hint, None)
    }
}

/// The words for a library's hint. `path` is the file that it is about; without one, it reads `FILE`.
/// Only some hints concern a file; the others ignore the path.
pub fn hint_text(hint: &Hint, path: Option<&Path>, interface: Interface) -> String {
    let file = path.map_or("FILE".to_string(), shell::path);
    match hint {
        Hint::Note(text) => text.to_string(),
        Hint::ShowCells => format!("analects show {file} shows the cells"),
        Hint::UndoCompaction => format!("analects compact {file} --undo hides it"),
        Hint::Restore(name) => format!("analects restore {file} {} shows it", shell::word(name)),
        Hint::RepairTranscript => {
            "it is kept but not read; analects repair writes a file without it".to_string()
        }
        Hint::CompactOrLargerModel => {
            let compact = match interface {
                Interface::Call => "compact the conversation",
                Interface::Session => "/compact",
            };
            format!("{compact}, or choose a model with a larger window")
        }
        Hint::AllowPictures => match interface {
            Interface::Call => {
                "--pictures sends the pictures of a file; at a terminal, chat asks".to_string()
            }
            Interface::Session => {
                "to send them, end the session and start it again; chat asks you then".to_string()
            }
        },
        Hint::ConvertInFull => "convert --full keeps everything".to_string(),
    }
}

/// The words for the hint of a problem in this file.
/// `None` for a problem without advice.
pub fn problem_hint(problem: &Problem, path: &Path, interface: Interface) -> Option<String> {
    let hint = problem.hint.as_ref()?;
    Some(interface.words(hint_text(hint, Some(path), interface)))
}

/// The problems of a file for JSON, with hints for a call of the command.
/// JSON is for programs, which call the command, so the hints are always those of a call.
pub fn problems_with_hints(problems: &[Problem], path: &Path) -> Vec<ShowProblem> {
    problems
        .iter()
        .map(|problem| ShowProblem::new(problem, problem_hint(problem, path, Interface::Call)))
        .collect()
}

/// How to ask an agent that has a system prompt of its own.
fn keep_instructions(name: &str, interface: Interface) -> String {
    match interface {
        Interface::Call => {
            "leave out --system and change the agent's system_prompt where it is defined, or add a \
             new agent: --agent NAME -m MODEL"
                .to_string()
        }
        Interface::Session => format!("/agent {name} lets it answer with its own"),
    }
}

/// How to ask a model whose key is missing. A session has the variables that it started with.
fn set_key(variable: &str, interface: Interface) -> String {
    let model = interface.model_option();
    let set = match interface {
        Interface::Call => format!("set {variable}"),
        Interface::Session => format!("set {variable} and start the session again"),
    };
    format!("{set}; {model} local/smollm2 needs no key and runs on this machine")
}

/// Lists the agents, and says how to do without one.
/// Lists the names in the order given.
fn name_agent(known: &[String], interface: Interface) -> String {
    let known = known.join(", ");
    match interface {
        Interface::Call => {
            format!("the agents are: {known}; without --agent, -m MODEL makes a new one")
        }
        Interface::Session => format!("the agents are: {known}; /model MODEL makes a new one"),
    }
}

/// How to ask a prompt that is saved in a file without a model.
fn name_model_for_saved_prompt(path: &Path, interface: Interface) -> String {
    match interface {
        Interface::Call => {
            let name = path.display();
            let file = shell::path(path);
            format!("your prompt is kept in {name}: analects chat {file} -m MODEL asks it")
        }
        Interface::Session => "your prompt is kept: /model NAME, then /retry, asks it".to_string(),
    }
}

/// How to ask a prompt that is saved in a file.
fn ask_saved_prompt(path: &Path, interface: Interface) -> String {
    match interface {
        Interface::Call => {
            let file = shell::path(path);
            format!("your prompt is kept: analects chat {file} asks it")
        }
        Interface::Session => format!("your prompt is kept: {RETRY}"),
    }
}

/// How to ask the last question of a conversation again.
/// A session of the store has to be opened first, because a call without a prompt asks nothing there.
fn ask_again(conversation: &ConversationName, interface: Interface) -> String {
    match (interface, conversation) {
        (Interface::Call, ConversationName::File(path)) => {
            format!("analects chat {} asks it again", shell::path(path))
        }
        (Interface::Call, ConversationName::Session(session)) => {
            format!("analects session resume {session}, then /retry, asks it again")
        }
        (Interface::Session, _) => RETRY.to_string(),
    }
}

/// How to replace a partial answer. In the store, its question waits again once the answer is hidden, and resuming the
/// session asks it.
fn hide_partial_answer(answer: &PartialAnswer, interface: Interface) -> String {
    let name = shell::word(&answer.name);
    match (interface, &answer.conversation) {
        (Interface::Call, ConversationName::File(path)) => {
            let file = shell::path(path);
            format!("hide the partial answer to ask again: analects drop {file} {name}")
        }
        (Interface::Call, ConversationName::Session(session)) => {
            let resume = ask_in_session_command(session);
            format!(
                "hide the partial answer to ask again: analects drop {session} {name}, then {resume}"
            )
        }
        (Interface::Session, _) => RETRY_PARTIAL.to_string(),
    }
}

/// The command that asks the unanswered question of a session. At a terminal it opens a prompt, so you also type
/// `/retry`.
/// Elsewhere than at a terminal, resuming asks it at once.
pub fn ask_in_session_command(session: &str) -> String {
    let retry = if stdin_is_terminal() {
        ", then /retry"
    } else {
        ""
    };
    format!("analects session resume {session}{retry}")
}

/// What you can do about an error of the store.
/// `None` where the message says everything. The match names every error, so a new one needs a decision.
pub fn for_store_error(error: &StoreError) -> Option<Advice> {
    let text = match error {
        StoreError::Verb {
            name,
            error: VerbError::AlreadyHidden(id),
        } => {
            let hint = Hint::Restore(id.to_string().into());
            return Some(Advice::about(Path::new(name), hint));
        }
        StoreError::NotFound { .. }
        | StoreError::Verb { .. }
        | StoreError::NotAFile { .. }
        | StoreError::InvalidState { .. }
        | StoreError::SessionNotFound { .. }
        | StoreError::MessageNotFound { .. } => return None,
        StoreError::Locked { .. }
        | StoreError::AlreadyAnswering { .. }
        | StoreError::KeepsChanging { .. } => "try again when it is done",
        StoreError::InUse { .. } => "close the file there, and try again",
        StoreError::HardLinked { .. } => {
            "copy it to a new name, and move the copy over the old one"
        }
        StoreError::BadLink { .. } => "remove the link, or point it to a message file",
        StoreError::Refused { path, .. } => {
            let check = format!("analects check {}", shell::path(path));
            let text = format!("nothing was written; try again, or look for problems with {check}");
            return Some(Advice::Text(text));
        }
        StoreError::Conflict { .. } => "load the file again, and repeat the change",
        StoreError::ConcurrentWrite { .. } => {
            "compare the two, and remove the one that you do not want"
        }
        StoreError::NotAMessageFile { path } => {
            let name = path.with_extension("msg.md");
            let name = name.file_name().unwrap_or_default().to_string_lossy();
            let text = format!("rename it to {name}, or add message_section: to its frontmatter");
            return Some(Advice::Text(text));
        }
        StoreError::LongRecord { .. } => "keep large content in a file, and name it in the message",
        StoreError::TooLarge { .. } => {
            "split it into several files, or keep large content in separate files"
        }
        StoreError::BadName { .. } => {
            "use at most 100 letters, digits, '-', '_' and '.', and do not start with '.'"
        }
        StoreError::NotWritable { path, problem } => {
            return problem.hint.clone().map(|hint| Advice::about(path, hint));
        }
        StoreError::AnswerNotWritten { error, .. } => return for_store_error(error),
        StoreError::Io { .. } if error.is_disk_full() => {
            "free some space; nothing in the file is lost"
        }
        StoreError::Io { .. } => return None,
    };
    Some(text.into())
}

/// What you can do about a model that could not be asked, or did not answer to the end.
/// `None` if trying again later is all that one can do.
pub fn for_client_error(error: &ClientError) -> Option<Advice> {
    let text = match error {
        ClientError::UnknownModel { name, near } => return Some(for_unknown_model(name, near)),
        ClientError::NoKey(variable) => return Some(Advice::SetKey(variable)),
        ClientError::Ambiguous { models, .. } => {
            return Some(format!("name it as {}", models.join(" or ")).into());
        }
        ClientError::PlainHttp(_) => {
            return Some(Advice::by_interface(
                "use https://, or allow it with --allow-http",
                "use https://, or start the session again with --allow-http",
            ));
        }
        ClientError::BadAddress(_) => "give an address such as http://127.0.0.1:8080/v1",
        ClientError::Redirected { .. } => "set the address to the one that it redirects to",
        ClientError::Unreachable { .. } if error.speaks_plain_http() => {
            "this server does not speak https; if it is yours, give its address as http://"
        }
        ClientError::Unreachable { .. } if error.is_unknown_host() => {
            "check your network connection, and the address: analects config show"
        }
        ClientError::Unreachable { .. } => {
            "check that the server runs, and its address: analects config show"
        }
        ClientError::BadHeader(_) => {
            "check that the key has no line break; analects config show lists the variables"
        }
        ClientError::Api { .. } if error.kind() == ApiErrorKind::Auth => {
            "check the key; analects config show lists the variables"
        }
        ClientError::Api {
            near: Some(near), ..
        } => {
            return Some(did_you_mean(near.names.iter().map(String::as_str)));
        }
        ClientError::Api { .. } if error.kind() == ApiErrorKind::NotFound => {
            "check the name of the model: analects model list PROVIDER lists those that there are"
        }
        ClientError::Api { .. }
        | ClientError::Setup(_)
        | ClientError::Broken { .. }
        | ClientError::TimedOut { .. }
        | ClientError::Interrupted(_)
        | ClientError::Unsupported(_)
        | ClientError::Replay { .. } => return None,
    };
    Some(text.into())
}

/// What you can type in place of an unknown model: the nearest known ones, or a configured name.
fn for_unknown_model(name: &str, near: &[String]) -> Advice {
    let pointer = nearest(name, POINTERS);
    if near.is_empty() && pointer.is_none() {
        return "name a model as provider/NAME; analects model list has the providers".into();
    }
    did_you_mean(pointer.into_iter().chain(near.iter().map(String::as_str)))
}

/// The advice to type one of these names instead.
fn did_you_mean<'a>(names: impl Iterator<Item = &'a str>) -> Advice {
    let names: Vec<&str> = names.collect();
    format!("did you mean {}?", or_list(&names)).into()
}

/// Words as a list: `a`, `a or b`, `a, b or c`.
pub fn or_list(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// What to install where an engine cannot be downloaded.
const INSTALL_LLAMA: &str = "install llama.cpp, so that llama-server is on the PATH";

/// What you can do about a local model that cannot be downloaded or run.
/// Commands for installing are examples: they are those of Debian and of Homebrew.
pub fn for_local_error(error: &LocalError) -> Option<Advice> {
    let text = match error {
        LocalError::BadName(_) => "such as qwen3-4b".to_string(),
        LocalError::Unknown { name, known } => {
            if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
                return Some(format!("did you mean local/{near}?").into());
            }
            let known = known.join(", ");
            format!("the models are: {known}; analects model add NAME FILE.gguf adds one")
        }
        LocalError::NotPulled(name) | LocalError::NoEngine(name) => {
            format!("fetch it: analects model pull {name}")
        }
        LocalError::Taken(name) => {
            format!("choose another name, or remove that one: analects model rm {name}")
        }
        LocalError::NoWeights { missing: true, .. } => {
            "put it back, or remove the model with analects model rm and add it again".to_string()
        }
        LocalError::NoWeights { .. } => "name a file in GGUF format".to_string(),
        LocalError::Io { .. } if error.is_disk_full() => {
            "free some space, and try again".to_string()
        }
        LocalError::NoSpace { .. } | LocalError::DiskFull(_) => {
            "free some space, or set ANALECTS_HOME to a folder on another disk".to_string()
        }
        LocalError::NoPython(_) => format!(
            "install Python, such as apt install python3 python3-pip or brew install python; or {INSTALL_LLAMA}"
        ),
        LocalError::NoPip(_) => format!(
            "install it, such as apt install python3-pip or python3 -m ensurepip; or {INSTALL_LLAMA}"
        ),
        LocalError::NoWheel(_) => INSTALL_LLAMA.to_string(),
        LocalError::Offline { .. } => {
            "connect this machine, or configure pip's index or proxy, and try again".to_string()
        }
        LocalError::Fetch { package, .. } => {
            format!(
                "try python3 -m pip download --no-deps {package} to see more; or {INSTALL_LLAMA}"
            )
        }
        LocalError::NotStarted { reason, .. } if reason.contains("cannot open shared object") => {
            "install that library, such as apt install libgomp1".to_string()
        }
        LocalError::NotStarted { log, .. } | LocalError::TooSlow { log, .. } => {
            format!("its output is in {}", log.display())
        }
        LocalError::Unsupported => "start llama-server yourself, and ask llamacpp/NAME".to_string(),
        LocalError::Io { .. } | LocalError::WillNotEnd(_) => return None,
    };
    Some(text.into())
}

/// What a file may be that is one JSON value over several lines.
/// For files whose format is unknown.
pub fn json_over_lines(json: &JsonOverLines) -> String {
    let Some(format) = json.records_of else {
        return "it is one JSON value over several lines, as no format here has".to_string();
    };
    let filter = if json.is_list { "'.[]'" } else { "." };
    format!(
        "it seems to hold records of the format {}, each over several lines; put each on a line of its own, as \
         jq -c {filter} does",
        format.id()
    )
}

#[cfg(test)]
mod tests;
