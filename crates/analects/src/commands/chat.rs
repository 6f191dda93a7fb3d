//! `chat`: sends a prompt to a model, and keeps the prompt and the answer.

mod attached_pictures;
mod call;
mod dry_run;
mod in_file;
mod in_store;
mod interactive;
mod other_formats;
mod turn;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_client::Options;
use analects_formats::msgfile;
use analects_runtime::{StoredConversation, TurnConfig};

use crate::config::Config;
use crate::connection::{ConnectionArgs, LimitArgs, seconds, turn_config};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::Interface;
pub use crate::hints::ask_in_session_command;
use crate::input::{GivenText, MAX_SIZE, stdin_is_terminal};
use crate::pictures;
use crate::sessions::Sessions;
pub use call::{AnswerArgs, CallArgs, ChatCall, ChatSettings, UserInput, explain, report_notes};
use in_file::{chat_in_file, hint_prompt_kept};
pub use in_store::open;
use in_store::{chat_in_session, session_of};
pub use interactive::{ChatLocation, InteractiveSession};
pub use turn::in_words;

/// Ask a model, and keep the conversation
///
/// With a FILE (.msg.md, or .md with a message section), chat adds the prompt and the answer to that file,
/// and creates it if it does not exist. The model sees the text of the cells, except cells with history=none
/// and text before the first cell. Without a FILE, chat saves the conversation as a session in your data
/// folder.
///
/// The prompt is the arguments, followed by stdin. Without a prompt, chat answers the unanswered cells at
/// the end of FILE, one after the other; the agent NAME answers a cell with agent=NAME. If there are none,
/// an interactive session starts on a terminal: type one prompt after another, or /help to list the
/// commands.
///
/// With --watch, chat answers new questions each time you save FILE in your editor: type a line # %%, a
/// question below it, and save. If a question fails, chat reports why, and asks it again only after you save
/// the file again. If an answer breaks off, the file keeps the partial answer; to ask again, drop that
/// answer.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects chat talk.msg.md -m openai/gpt-5-mini \"What is a monad?\"
  analects chat talk.msg.md \"And in one sentence?\"
  analects chat talk.msg.md
  git diff | analects chat review.msg.md \"Review this change\"
  analects chat talk.msg.md -f notes.txt \"What is missing in these notes?\"
  analects chat talk.msg.md --agent critic -e 2-4 \"And what do you think?\"
  analects chat --watch talk.msg.md
  analects chat -m openai/gpt-5-mini \"A question without a file\"
  analects chat -c \"And in other words?\"")]
pub struct ChatArgs {
    /// The message file, then the prompt; without a file, only the prompt
    #[arg(value_name = "FILE] [PROMPT")]
    words: Vec<String>,

    /// The model: provider/NAME, a configured name (default, task, reasoning, quick or compact), or
    /// replay:FILE for a recorded answer [default: the model that answered last]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that answers, from the file or from your configuration; chat copies a configured agent
    /// into the file [default: the file's default agent, else the agent that answered last]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Continue the last session of this folder instead of starting a new one
    #[arg(short, long = "continue")]
    continue_last: bool,

    #[command(flatten)]
    call: CallArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Answer questions each time you save the file, until you press Ctrl-C
    #[arg(long, conflicts_with_all = ["continue_last", "dry_run", "record", "files"])]
    watch: bool,

    /// With --watch: answer when the file has not changed for this long [default: 0.3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "watch")]
    settle: Option<Duration>,

    #[command(flatten)]
    connection: ConnectionArgs,
}

pub fn run(args: ChatArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    args.connection.allow(&mut environment);
    environment.models.allow_no_key |= args.call.answer.dry_run;
    let done = run_in(args, &environment);
    done.map_err(|failure| environment.explain(failure))
}

/// Decides between a single call, an interactive session and `--watch`.
fn run_in(mut args: ChatArgs, environment: &Environment) -> Result<(), Failure> {
    let options = args.connection.options(environment)?;
    let (file, words) = split_file(std::mem::take(&mut args.words))?;
    match &file {
        Some(file) => {
            args.connection.check_not_recorded_over(file)?;
            refuse_own_file(file, &args.call.answer.files)?;
        }
        None => args.call.refuse_file_options()?,
    }
    // With `--watch`, questions come from the file, and stdin may be a pipe that never ends.
    let prompt = if args.watch { None } else { prompt(&words)? };
    let files = std::mem::take(&mut args.call.answer.files);
    let mut settings = settings(&mut args, options, environment)?;
    let tools = &settings.args.answer.tools;
    settings.turn.tools = tools.runner(file.as_deref(), environment)?;
    let pictures = msgfile::pictures_in(&words.join(" "));
    if let Some(file) = &file
        && !settings.args.answer.dry_run
    {
        pictures::allow(file, &pictures, environment)?;
        let is_wanted = settings.args.pictures;
        pictures::ask(file, is_wanted, &settings.config, environment)?;
    }

    let is_single = prompt.is_some() || settings.args.answer.dry_run || args.watch;
    if !is_single && stdin_is_terminal() && !has_unanswered(file.as_deref()) {
        let session = InteractiveSession {
            settings,
            location: location(environment, file, args.continue_last)?,
            files,
        };
        return session.run(environment);
    }
    let call = settings.call(environment, Interface::Call);
    if args.watch {
        return watch::watch(call, file.as_deref(), &words, args.settle);
    }
    let mut input = UserInput {
        prompt,
        files,
        pictures,
        ..UserInput::default()
    };
    attached_pictures::attach(&mut input, file.as_deref())?;
    let Some(file) = file else {
        let conversation = session_of(environment, args.continue_last, &input)?;
        return chat_in_session(call, conversation, &mut input);
    };
    if args.continue_last {
        return Err(no_last_file());
    }
    chat_in_file(call, &file, &mut input)
        .map_err(|failure| hint_prompt_kept(failure, &file, &input, &environment.places))
}

/// Refuses to attach the conversation to itself: the model would read every message twice, and be told that the file
/// changed after each answer.
fn refuse_own_file(file: &Path, attached: &[PathBuf]) -> Result<(), Failure> {
    let is_own = |other: &PathBuf| matches!((file.canonicalize(), other.canonicalize()), (Ok(own), Ok(other)) if own == other);
    if !attached.iter().any(is_own) {
        return Ok(());
    }
    let message = format!("{}: this is the conversation itself", file.display());
    let hint = "leave out -f; --with-document sends the text above the messages along";
    Err(Failure::usage(message, hint))
}

/// Moves what you chose out of the arguments, and reads the configuration for it.
fn settings(
    args: &mut ChatArgs,
    options: Options,
    environment: &Environment,
) -> Result<ChatSettings, Failure> {
    let call = std::mem::take(&mut args.call);
    let model = args.model.take();
    let agent = args.agent.take().or_else(|| call.set_default_agent.clone());
    let config = Config::read_for(model.as_deref(), agent.as_deref(), environment)?;
    Ok(ChatSettings {
        records: options.record_to.is_some(),
        turn: TurnConfig {
            question_timeouts: args.connection.question_timeouts(),
            ..turn_config(options, args.limits.limits(), &config, environment)
        },
        config,
        args: call,
        model,
        agent,
    })
}

/// Continues a session: with a prompt or, at a terminal without one, interactively.
pub fn resume(
    settings: ChatSettings,
    sessions: Sessions,
    conversation: StoredConversation,
    mut input: UserInput,
    environment: &Environment,
) -> Result<(), Failure> {
    if input.prompt.is_none() && !settings.args.answer.dry_run && stdin_is_terminal() {
        let name = conversation.name().clone();
        let session = InteractiveSession {
            settings,
            location: ChatLocation::Store { sessions, name },
            files: input.files,
        };
        return session.run(environment);
    }
    attached_pictures::attach(&mut input, None)?;
    let call = settings.call(environment, Interface::Call);
    chat_in_session(call, conversation, &mut input)
}

/// The error for `-c` with a file.
fn no_last_file() -> Failure {
    Failure::usage(
        "-c continues the last session of the store, not a file",
        "leave out -c: chat always continues a file where it ended",
    )
}

/// Whether a file has unanswered cells.
fn has_unanswered(file: Option<&Path>) -> bool {
    let document = file.map(analects_store::read_message_file);
    document.is_some_and(|read| read.is_ok_and(|document| !document.unanswered().is_empty()))
}

/// Where an interactive session keeps its conversation.
fn location(
    environment: &Environment,
    file: Option<PathBuf>,
    continue_last: bool,
) -> Result<ChatLocation, Failure> {
    match file {
        Some(_) if continue_last => Err(no_last_file()),
        Some(path) => Ok(ChatLocation::File(path)),
        None => {
            let sessions = Sessions::of(environment);
            let name = if continue_last {
                sessions.find(None)?
            } else {
                sessions.new_name()
            };
            Ok(ChatLocation::Store { sessions, name })
        }
    }
}

/// Takes the file off the words. The first word is the file if it ends in `.md`; a word with blanks
/// only if such a file exists, because a sentence may end in a file's name.
fn split_file(mut words: Vec<String>) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
    let Some(first) = words.first() else {
        return Ok((None, words));
    };
    if Path::new(first).is_dir() {
        return Err(other_formats::explain_folder(Path::new(first)));
    }
    let exists = Path::new(first).is_file();
    if first.ends_with(".md") && (exists || !first.contains(char::is_whitespace)) {
        let file = PathBuf::from(words.remove(0));
        return Ok((Some(file), words));
    }
    if exists {
        return Err(other_formats::explain_other_file(Path::new(first)));
    }
    Ok((None, words))
}

/// The prompt: the arguments, followed by stdin. `None` if it is blank.
pub fn prompt(words: &[String]) -> Result<Option<String>, Failure> {
    let prompt = GivenText::read(words, MAX_SIZE)?.into_text()?;
    Ok((!prompt.trim().is_empty()).then_some(prompt))
}
