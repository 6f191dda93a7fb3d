//! `chat`: says something, asks a model, and keeps both.

mod asking;
mod manner;
mod who;

use std::path::{Path, PathBuf};

use analects_core::Agent;
use analects_formats::msgfile::{Document, frontmatter};
use analects_runtime::{Conversation, FileConversation, StoredConversation, attach_file};
use analects_store::ChainName;
use jiff::Timestamp;

use crate::config::Config;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::piped::piped;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{local, writing};
use asking::ask;
pub use asking::in_words;
pub use manner::{LimitArgs, Manner, vocabulary};
pub use who::{Wanted, Who};

/// Say something to a model, and keep the conversation
///
/// With a FILE (.msg.md, or .md with a message section), the conversation lives there: prompt and answer
/// are added to it, and the model sees what stands in its cells, except in cells with history=none
/// and before the first cell. The file is made if it is not there. Without a FILE, the conversation
/// is kept in the transcript store.
///
/// The prompt is the arguments, then what comes on stdin. Without a prompt, the cells at the end of
/// FILE that nobody has answered yet are asked.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects chat talk.msg.md -m openai/gpt-5-mini \"What is a monad?\"
  analects chat talk.msg.md \"And in one sentence?\"
  git diff | analects chat review.msg.md \"Review this change\"
  analects chat talk.msg.md -f notes.txt \"What is missing in these notes?\"
  analects chat -m openai/gpt-5-mini \"A question without a file\"
  analects chat -c \"Go on with that\"")]
pub struct Args {
    /// The message file, then the prompt; without a file, the prompt
    #[arg(value_name = "FILE] [PROMPT")]
    words: Vec<String>,

    /// The model: provider/NAME; default, task, reasoning, quick or compact for the one that is
    /// configured so; or replay:FILE for a recorded answer [default: the one that answered last]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that answers: one of the file, or of your configuration, which is then written into
    /// the file [default: the one that answered last]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Go on with the last conversation of this folder, instead of starting one
    #[arg(short, long = "continue")]
    continue_last: bool,

    /// Show a text file to the model along with the prompt, and tell the model when it changes later; may be
    /// given several times
    #[arg(short, long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let mut surroundings = Surroundings::of_process()?;
    args.connection.allow(&mut surroundings);
    let options = args.connection.options(&surroundings)?;
    let (file, words) = split_file(args.words)?;
    if let Some(file) = &file {
        args.connection.spare(file)?;
    }
    let prompt = prompt(&words)?;
    let wanted = Wanted { model: args.model.as_deref(), agent: args.agent.as_deref() };
    let config = Config::read_for(wanted.model, wanted.agent, &surroundings)?;
    let last = args.continue_last;
    let manner = Manner::new(options, args.limits.limits(), &config, &surroundings);
    let said = Said { prompt, files: args.files };
    let done = match file {
        Some(_) if args.continue_last => Err(Failure::usage(
            "-c goes on with the last conversation of the store, not with a file",
            "leave out -c: a file always goes on where it ended",
        )),
        Some(file) => chat_in_file(&surroundings, &config, &manner, &file, wanted, said),
        None => chat_in_store(&surroundings, &config, &manner, last, wanted, said),
    };
    done.map_err(|failure| surroundings.explain(failure))
}

/// The first word is the file if it is named like one. A sentence may end in a file's name, so with
/// blanks it is one only if it is there.
fn split_file(mut words: Vec<String>) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
    let Some(first) = words.first() else {
        return Ok((None, words));
    };
    let exists = Path::new(first).is_file();
    if first.ends_with(".md") && (exists || !first.contains(char::is_whitespace)) {
        let file = PathBuf::from(words.remove(0));
        return Ok((Some(file), words));
    }
    if exists {
        let message = format!("{first}: not a message file; its name must end in .msg.md");
        return Err(Failure::usage(message, "quote the prompt if this is its first word"));
    }
    Ok((None, words))
}

/// What the person says: the arguments, then stdin if it is not the terminal.
pub fn prompt(words_given: &[String]) -> Result<Option<String>, Failure> {
    let mut prompt = words_given.join(" ");
    let piped = piped()?;
    if !prompt.is_empty() && !piped.is_empty() {
        prompt.push_str("\n\n");
    }
    prompt.push_str(&piped);
    Ok((!prompt.trim().is_empty()).then_some(prompt))
}

/// What the person says.
#[derive(Debug, Default)]
pub struct Said {
    /// In words.
    pub prompt: Option<String>,
    /// Files that the model is to see.
    pub files: Vec<PathBuf>,
}

impl Said {
    /// Puts it into a conversation: first what is shown, then what is said about it.
    fn into(self, conversation: &mut dyn Conversation) -> Result<(), Failure> {
        for file in &self.files {
            attach_file(conversation, file, Timestamp::now())?;
        }
        match self.prompt {
            Some(prompt) => Ok(conversation.say(&prompt, Timestamp::now())?),
            None => Ok(()),
        }
    }
}

fn chat_in_file(
    surroundings: &Surroundings,
    config: &Config,
    manner: &Manner,
    path: &Path,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<(), Failure> {
    let mut conversation = FileConversation::open(path, &surroundings.places)?;
    writing::remark_kept(path, conversation.kept());
    let document = conversation.document().ok_or_else(|| Failure::ours("the file is not open"))?;
    if said.prompt.is_none() && document.unanswered().is_empty() {
        return Err(nothing_to_ask(Some(document)));
    }
    let is_new = said.prompt.is_some() || wanted.model.is_some();
    let addressed = addressed(document).filter(|_| !is_new);
    let wanted = Wanted { agent: wanted.agent.or(addressed.as_deref()), ..wanted };
    let mut who = Who::of_file(document, wanted, &surroundings.models, config)?;
    let serving = local::ready(&mut who.model, wanted.model, surroundings)?;
    if who.is_configured {
        drop(conversation);
        define(path, &who.agent, surroundings)?;
        conversation = FileConversation::open(path, &surroundings.places)?;
    }
    if who.is_recording() {
        conversation.set_author(&who.agent.name);
    } else {
        conversation.set_agent(&who.agent)?;
    }
    said.into(&mut conversation)?;
    let place = path.to_string_lossy();
    let done = ask(&who, manner, serving.as_ref(), &mut conversation, &place);
    done.map_err(|failure| local::explain(failure, serving.as_ref()))
}

/// The agent of the file that the last cell without an answer is meant for, if it says so.
fn addressed(document: &Document) -> Option<String> {
    let name = document.unanswered().last()?.attribute("agent")?;
    document.agents().into_iter().map(|agent| agent.name).find(|known| *known == name)
}

/// Writes an agent into the frontmatter of a file, which holds all of its settings.
fn define(path: &Path, agent: &Agent, surroundings: &Surroundings) -> Result<(), Failure> {
    let mut file = writing::open(path, &surroundings.places)?;
    file.try_edit(|document| {
        let (source, span) = (document.source(), document.frontmatter_span());
        let splice = frontmatter::add_agent(source, span, agent);
        splice.map_err(|refusal| writing::refused(path, refusal))
    })
}

fn chat_in_store(
    surroundings: &Surroundings,
    config: &Config,
    manner: &Manner,
    continue_last: bool,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<(), Failure> {
    let sessions = Sessions::of(surroundings);
    let conversation = match continue_last {
        true => open(&sessions, sessions.find(None)?)?,
        false => StoredConversation::start(
            sessions.store.clone(),
            sessions.new_name(),
            &surroundings.folder,
        ),
    };
    go_on(surroundings, config, manner, conversation, wanted, said)
}

/// Opens a session to go on with it.
pub fn open(sessions: &Sessions, name: ChainName) -> Result<StoredConversation, Failure> {
    Ok(StoredConversation::open(sessions.store.clone(), name)?)
}

/// Says something in a session, and asks.
pub fn go_on(
    surroundings: &Surroundings,
    config: &Config,
    manner: &Manner,
    mut conversation: StoredConversation,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<(), Failure> {
    let mut who = Who::of_store(&conversation, wanted, &surroundings.models, config)?;
    if said.prompt.is_none() {
        return Err(nothing_to_ask(None));
    }
    let serving = local::ready(&mut who.model, wanted.model, surroundings)?;
    conversation.set_agent(&who.agent);
    said.into(&mut conversation)?;
    let name = conversation.name().session.to_string();
    let done = ask(&who, manner, serving.as_ref(), &mut conversation, &name);
    done.map_err(|failure| local::explain(failure, serving.as_ref()))
}

fn nothing_to_ask(document: Option<&Document>) -> Failure {
    let message = "nothing to ask: there is no prompt, and no cell waits for an answer";
    let lost = document.filter(|document| {
        let preamble = document.preamble().of(document.source());
        document.cells().len() == 0 && !preamble.trim_ascii().is_empty()
    });
    Failure::usage(
        message,
        match lost {
            Some(_) => "text before the first # %% is not sent; put a line # %% above it",
            None => "add a prompt, such as analects chat talk.msg.md \"Hello\"",
        },
    )
}
