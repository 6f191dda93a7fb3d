//! `compact`: a summary in the place of the earlier part of a conversation.

use std::path::Path;

use analects_client::{Client, Model, resolve};
use analects_core::{Body, Message};
use analects_runtime::{
    Compacted, Conversation, FileConversation, NotCompacted, compact, undo_compaction,
};
use serde::Serialize;

use super::chat::{self, Manner, Wanted, Who, in_words};
use crate::config::Config;
use crate::connection::{Connection, block_on};
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{interrupt, local, ui, writing};

/// Put a summary in the place of the earlier part of a conversation
///
/// A model is asked for the summary, which is printed. From then on the model sees it instead of the messages that
/// it stands for; the last fifth or so stays as it is. Nothing is deleted: the summary and a boundary are added to
/// the file or the session, and --undo takes them back.
///
/// A conversation that is longer than the model's window is summarised in pieces. chat does the same by itself when
/// the context is nearly full; compact_at in the section context of config.toml says when.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects compact talk.msg.md
  analects compact last -m anthropic/claude-haiku-4-5
  analects compact talk.msg.md --undo")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// Take the last compaction back, instead of making one
    #[arg(long, conflicts_with_all = ["model", "agent"])]
    undo: bool,

    /// The model that writes the summary [default: the one configured as compact, else the one that answers]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that goes on with the conversation: its window decides how much is kept
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    connection: Connection,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Done<'a> {
    messages: u64,
    tokens_before: u64,
    tokens_after: u64,
    without_model: bool,
    files: usize,
    summary: &'a str,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let mut surroundings = Surroundings::of_process()?;
    args.connection.allow(&mut surroundings);
    let path = Path::new(&args.target);
    let is_file = args.target.ends_with(".md") || path.is_file();
    if is_file && !path.exists() {
        return Err(Failure::not_found(format!("{}: not found", args.target)));
    }
    let done = match (is_file, args.undo) {
        (true, true) => undo(&mut open(path, &surroundings)?),
        (true, false) => in_file(args, path, &surroundings),
        (false, true) => undo(&mut stored(&args.target, &surroundings)?),
        (false, false) => in_store(args, &surroundings),
    };
    done.map_err(|failure| surroundings.explain(failure))
}

fn open(path: &Path, surroundings: &Surroundings) -> Result<FileConversation, Failure> {
    let conversation = FileConversation::open(path, &surroundings.places)?;
    writing::remark_kept(path, conversation.kept());
    writing::remark_recovered(path, conversation.recovered());
    Ok(conversation)
}

fn stored(
    target: &str,
    surroundings: &Surroundings,
) -> Result<analects_runtime::StoredConversation, Failure> {
    let sessions = Sessions::of(surroundings);
    chat::open(&sessions, sessions.find(Some(target))?)
}

/// Takes the last compaction of a conversation back.
pub fn undo(conversation: &mut dyn Conversation) -> Result<(), Failure> {
    if undo_compaction(conversation)? {
        ui::remark("the summary is gone, and everything that it stood for is seen again");
        return Ok(());
    }
    Err(Failure::not_found("there is no compaction to take back"))
}

fn in_file(args: &Args, path: &Path, surroundings: &Surroundings) -> Result<(), Failure> {
    let config = Config::read(surroundings)?;
    let mut conversation = open(path, surroundings)?;
    let document = conversation.document();
    let who =
        args.who(surroundings, |wanted, models| Who::of_file(document, wanted, models, &config))?;
    args.compact(who, &config, surroundings, &mut conversation)
}

fn in_store(args: &Args, surroundings: &Surroundings) -> Result<(), Failure> {
    let config = Config::read(surroundings)?;
    let mut conversation = stored(&args.target, surroundings)?;
    let who = args.who(surroundings, |wanted, models| {
        Who::of_store(&conversation, wanted, models, &config)
    })?;
    args.compact(who, &config, surroundings, &mut conversation)
}

impl Args {
    /// Who goes on with the conversation. A model that was named only writes the summary, and no other needs a
    /// key then; unless there is no other.
    fn who(
        &self,
        surroundings: &Surroundings,
        find: impl Fn(Wanted<'_>, &analects_client::Surroundings) -> Result<Who, Failure>,
    ) -> Result<Who, Failure> {
        let Some(model) = self.model.as_deref() else {
            let wanted = Wanted { model: None, agent: self.agent.as_deref() };
            return find(wanted, &surroundings.models);
        };
        let mut models = surroundings.models.clone();
        models.allow_no_key = true;
        let wanted = |model| Wanted { model, agent: self.agent.as_deref() };
        find(wanted(None), &models).or_else(|_| find(wanted(Some(model)), &models))
    }

    fn compact(
        &self,
        mut who: Who,
        config: &Config,
        surroundings: &Surroundings,
        conversation: &mut dyn Conversation,
    ) -> Result<(), Failure> {
        let options = self.connection.options(surroundings)?;
        let limits = analects_runtime::turn::Limits::default();
        let mut manner = Manner::new(options, limits, config, surroundings);
        if let Some(name) = &self.model {
            let name = config.model(name)?;
            let mut model = resolve(&name, &surroundings.models)?;
            local::ready(&mut model, Some(&name), surroundings)?;
            manner.summariser = Some(model);
        }
        let compacted = compact_here(&mut who, &manner, surroundings, conversation)?;
        let summary = last_summary(conversation);
        if self.json {
            return ui::print_json(&Done {
                messages: compacted.messages,
                tokens_before: compacted.before,
                tokens_after: compacted.after,
                without_model: compacted.is_makeshift,
                files: compacted.files.len(),
                summary: &summary,
            });
        }
        ui::print_text(format!("{}\n", summary.trim_end()).as_bytes())?;
        ui::remark(&in_words(&compacted));
        Ok(())
    }
}

/// The summary that stands first in what the model sees now.
pub fn last_summary(conversation: &dyn Conversation) -> String {
    let decoded = conversation.messages();
    let chain = conversation.chain(&decoded);
    let is_summary = |message: &&&Message| matches!(message.body, Body::Summary(_));
    chain.messages.iter().find(is_summary).map(|message| message.text()).unwrap_or_default()
}

/// Compacts a conversation now, because a person wants it.
pub fn compact_here(
    who: &mut Who,
    manner: &Manner,
    surroundings: &Surroundings,
    conversation: &mut dyn Conversation,
) -> Result<Compacted, Failure> {
    let is_writer = manner.summariser.is_none();
    // Without being asked, the model that answers needs no server for a summary by another one.
    let serving = match is_writer {
        true => local::ready(&mut who.model, None, surroundings)?,
        false => None,
    };
    let client = Client::new(manner.options.clone());
    let vocabulary = chat::vocabulary(serving.as_ref());
    let asked = manner.asked(&client, who, vocabulary.as_ref());
    ui::progress(&format!("{} writes a summary …", writer(manner, who)));
    interrupt::exit_on_second();
    let done = block_on(async {
        tokio::select! {
            done = compact(&asked, conversation) => Some(done),
            () = interrupt::first() => None,
        }
    })?;
    ui::progress("");
    match done {
        None => Err(Failure::stopped()),
        Some(Ok(compacted)) => Ok(compacted),
        Some(Err(not)) => Err(failure(not)),
    }
}

fn writer(manner: &Manner, who: &Who) -> String {
    let Model { provider, name, .. } = manner.summariser.as_ref().unwrap_or(&who.model);
    format!("{provider}/{name}")
}

fn failure(not: NotCompacted) -> Failure {
    match not {
        NotCompacted::NotNow(why) => {
            let failure = Failure::input(format!("nothing to compact: {why}"));
            failure.or_hint("analects context shows what would be sent")
        }
        NotCompacted::Failed(error) => Failure::from(*error),
        NotCompacted::Useless(why) => {
            let failure = Failure::of_model(format!("nothing was changed: {why}"));
            failure.or_hint("try again, or name another model with -m")
        }
        NotCompacted::Store(error) => Failure::from(error),
    }
}
