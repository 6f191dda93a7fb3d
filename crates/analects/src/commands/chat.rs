//! `chat`: says something, asks a model, and keeps both.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use analects_client::{Client, Model, Options, resolve};
use analects_core::{Agent, Delta, Ids, StreamEvent};
use analects_formats::msgfile::Document;
use analects_runtime::{
    Asked, Conversation, FileConversation, Outcome, StoredConversation, agent_name, drive,
};
use analects_store::{OsIds, Transcript};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::ui;

/// Say something to a model, and keep the conversation
///
/// With a FILE that ends in .msg.md, the conversation lives in that file: the prompt and the answer
/// are added to it, and everything in it is what the model sees. The file is made if it is not
/// there. Without a FILE, the conversation is kept in the transcript store.
///
/// The prompt is the arguments, then what comes on stdin. Without a prompt, the cells at the end of
/// FILE that nobody has answered yet are asked.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects chat talk.msg.md -m openai/gpt-5-mini \"What is a monad?\"
  analects chat talk.msg.md \"And in one sentence?\"
  git diff | analects chat review.msg.md \"Review this change\"
  analects chat -m openai/gpt-5-mini \"A question without a file\"
  analects chat -c -m openai/gpt-5-mini \"Go on with that\"")]
pub struct Args {
    /// The message file, then the prompt; without a file, the prompt
    #[arg(value_name = "FILE] [PROMPT")]
    words: Vec<String>,

    /// The model: openai/NAME, or replay:FILE for a recorded answer [default: the file's]
    #[arg(short, long)]
    model: Option<String>,

    /// Go on with the last conversation of this folder, instead of starting one
    #[arg(short, long = "continue")]
    continue_last: bool,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let (file, words) = split_file(args.words)?;
    let prompt = prompt(&words)?;
    match file {
        Some(_) if args.continue_last => Err(Failure::usage(
            "-c goes on with the last conversation of the store, not with a file",
            "leave out -c: a file always goes on where it ended",
        )),
        Some(file) => chat_in_file(&surroundings, &file, args.model.as_deref(), prompt),
        None => chat_in_store(&surroundings, args.continue_last, args.model.as_deref(), prompt),
    }
}

/// The first word is the file if it is named like one.
fn split_file(mut words: Vec<String>) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
    let Some(first) = words.first() else {
        return Ok((None, words));
    };
    if first.ends_with(".md") {
        let file = PathBuf::from(words.remove(0));
        return Ok((Some(file), words));
    }
    if Path::new(first).is_file() {
        let message = format!("{first}: not a message file; its name must end in .msg.md");
        return Err(Failure::usage(message, "quote the prompt if this is its first word"));
    }
    Ok((None, words))
}

/// What the person says: the arguments, then stdin if it is not the terminal.
fn prompt(words: &[String]) -> Result<Option<String>, Failure> {
    let mut prompt = words.join(" ");
    if !std::io::stdin().is_terminal() {
        let mut piped = String::new();
        let read = std::io::stdin().read_to_string(&mut piped);
        read.map_err(|error| Failure::input(format!("cannot read stdin: {error}")))?;
        if !prompt.is_empty() && !piped.is_empty() {
            prompt.push_str("\n\n");
        }
        prompt.push_str(piped.trim_end_matches(['\r', '\n']));
    }
    Ok((!prompt.trim().is_empty()).then_some(prompt))
}

fn chat_in_file(
    surroundings: &Surroundings,
    path: &Path,
    wanted: Option<&str>,
    prompt: Option<String>,
) -> Result<(), Failure> {
    let mut conversation = FileConversation::open(path, &surroundings.places)?;
    let agent = match wanted {
        Some(model) => Agent::of_model(agent_name(model_label(model)), model),
        None => agent_of_file(&conversation)?,
    };
    let model = model_of(surroundings, &agent)?;
    let open = conversation.document().is_some_and(|document| !document.unanswered().is_empty());
    if prompt.is_none() && !open {
        return Err(nothing_to_ask());
    }
    conversation.set_agent(&Agent {
        models: vec![model_label(&agent.models[0]).into()],
        ..agent.clone()
    })?;
    if let Some(prompt) = prompt {
        conversation.say(&prompt, Timestamp::now())?;
    }
    ask(&agent, &model, &mut conversation)
}

fn chat_in_store(
    surroundings: &Surroundings,
    continue_last: bool,
    wanted: Option<&str>,
    prompt: Option<String>,
) -> Result<(), Failure> {
    let wanted = wanted.ok_or_else(no_model)?;
    let agent = Agent::of_model(agent_name(model_label(wanted)), wanted);
    let model = model_of(surroundings, &agent)?;
    let prompt = prompt.ok_or_else(nothing_to_ask)?;
    let (places, folder) = (&surroundings.places, &surroundings.folder);
    let transcript = if continue_last {
        Transcript::latest(places, folder)?
    } else {
        Transcript::of_session(places, folder, &OsIds.uuid(Timestamp::now()).into())
    };
    let mut conversation = StoredConversation::open(transcript, &agent)?;
    conversation.say(&prompt, Timestamp::now())?;
    ask(&agent, &model, &mut conversation)
}

/// How a model is named in a file. A recording is this call's business, and no file may name one.
fn model_label(model: &str) -> &str {
    if model.starts_with("replay:") { "replay" } else { model }
}

/// The agent that the file names, with the models that may be asked. A file may name models, but
/// not a recording, which is a path on this machine.
fn agent_of_file(conversation: &FileConversation) -> Result<Agent, Failure> {
    let agents = conversation.document().map(Document::agents).unwrap_or_default();
    let mut agent = agents.into_iter().next().ok_or_else(no_model)?;
    agent.models.retain(|model| model_label(model) != "replay");
    if agent.models.is_empty() {
        let message = format!("the file's agent {} names no model that can be asked", agent.name);
        return Err(Failure::usage(message, "name one, such as -m openai/gpt-5-mini"));
    }
    Ok(agent)
}

fn model_of(surroundings: &Surroundings, agent: &Agent) -> Result<Model, Failure> {
    Ok(resolve(&agent.models[0], &surroundings.models)?)
}

fn no_model() -> Failure {
    Failure::usage("no model to ask", "name one, such as -m openai/gpt-5-mini")
}

fn nothing_to_ask() -> Failure {
    Failure::usage(
        "nothing to ask: there is no prompt, and no cell waits for an answer",
        "add a prompt, such as analects chat talk.msg.md \"Hello\"",
    )
}

fn ask(agent: &Agent, model: &Model, conversation: &mut dyn Conversation) -> Result<(), Failure> {
    let client = Client::new(Options::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::ours(format!("cannot start: {error}")))?;
    let mut answer = ui::Answer::new();
    let outcome = runtime.block_on(async {
        let asked = Asked { client: &client, model, agent };
        let mut watch = |event: &StreamEvent| {
            if let StreamEvent::BlockDelta { delta: Delta::Text(text), .. } = event {
                answer.print(&text.as_str());
            }
        };
        drive(&asked, conversation, &mut watch, interrupt()).await
    })?;
    answer.end();
    conclude(outcome)
}

fn conclude(outcome: Outcome) -> Result<(), Failure> {
    // That the answer broke off is what the failure says, too.
    let problems = outcome.problems.into_iter().filter(|p| p.code != "interrupted-answer");
    ui::report_problems("", &problems.collect::<Vec<_>>());
    match outcome.error {
        _ if outcome.stopped => Err(Failure::interrupted()),
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Ready when the person presses Ctrl-C.
async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler Ctrl-C ends the process, and the file keeps what came.
        std::future::pending::<()>().await;
    }
}
