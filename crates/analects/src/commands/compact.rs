//! `compact`: replaces the earlier part of a conversation with a summary.
//!
//! The same steps as an automatic compaction, but on request: even a conversation that is far from full is compacted,
//! as long as that gains something.

use std::path::Path;
use std::sync::Arc;

use analects_client::resolve;
use analects_core::Body;
use analects_runtime::{
    AskOptions, CompactionError, CompactionReport, Conversation, FileConversation, Prepared,
    prepare,
};
use serde::Serialize;

use super::chat::{self, in_words};
use super::reading;
use super::verbs::{Verb, VerbTarget};
use crate::config::Config;
use crate::connection::ConnectionArgs;
use crate::connection::turn_config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{Advice, Interface};
use crate::{interrupt, local, message_file, ui};

/// About how many tokens at the end of a session can go into a summary.
/// A session is loaded that far back, because you want the summary to cover it, whatever the window.
const LONGEST: u64 = 4_000_000;

/// Replace the earlier part of a conversation with a summary
///
/// A model writes the summary, and compact prints it. From then on, the model sees the summary instead of
/// the messages that it replaces; about the last fifth of the conversation stays as it is. Nothing is
/// deleted: the summary is added to the end of the file or session, and --undo hides it, as drop does.
///
/// If the conversation is longer than the model's window, compact summarises it in parts. chat compacts by
/// itself when the context is nearly full; to change when, set compact_at in the section context of
/// config.toml.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects compact talk.msg.md
  analects compact last -m anthropic/claude-haiku-4-5
  analects compact talk.msg.md --undo")]
pub struct CompactArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// Undo the last compaction instead of making one
    #[arg(long, conflicts_with_all = ["model", "agent"])]
    undo: bool,

    /// The model that writes the summary [default: the configured compact model, else the model that
    /// answers]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that continues the conversation; its window decides how much is kept
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// The result as `--json` prints it.
#[derive(Debug, Serialize)]
struct CompactReport<'a> {
    messages: u64,
    tokens_before: u64,
    tokens_after: u64,
    without_model: bool,
    files: usize,
    summary: &'a str,
}

/// With `--undo`, no model is needed and nothing is sent.
pub fn run(args: &CompactArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    args.connection.allow(&mut environment);
    let place = VerbTarget::named(&args.target, &environment)?;
    if args.undo {
        return undo(&place, &environment);
    }
    let done = match &place {
        VerbTarget::File(path) => {
            reading::check_exists(path)?;
            args.compact(&environment, &mut open(path, &environment)?)
        }
        VerbTarget::Session { sessions, name } => {
            let mut conversation = chat::open(sessions, name.clone())?;
            conversation.load_for(LONGEST)?;
            args.compact(&environment, &mut conversation)
        }
    };
    done.map_err(|failure| environment.explain(failure))
}

/// Opens a file, and reports answers that were recovered from the journal.
/// Also says which answers came back from the journal, as for any verb that writes.
fn open(path: &Path, environment: &Environment) -> Result<FileConversation, Failure> {
    let conversation = FileConversation::open(path, &environment.places)?;
    message_file::remark_saved_copies(path, conversation.other_versions());
    message_file::remark_recovered(path, conversation.recovered());
    Ok(conversation)
}

/// `--undo`: hides the last summary.
/// The summary stays in the record, and compacting again makes a new one.
fn undo(place: &VerbTarget, environment: &Environment) -> Result<(), Failure> {
    place.perform(Verb::UndoCompaction, environment)?;
    ui::remark("the summary is hidden, and the model sees the messages that it replaced");
    Ok(())
}

impl CompactArgs {
    /// Prepares the conversation for the agent that continues it. The model from `-m` only writes
    /// the summary, so the agent's model needs no key then, unless there is no other model.
    /// `-m` names the model that writes the summary, not the one that answers. It answers only where no other model can
    /// be found.
    fn prepare<'c>(
        &self,
        config: &Config,
        environment: &Environment,
        conversation: &'c mut dyn Conversation,
    ) -> Result<Prepared<&'c mut dyn Conversation>, Failure> {
        let mut models = environment.models.clone();
        models.allow_no_key |= self.model.is_some();
        let limits = analects_runtime::turn::TurnLimits::default();
        let client = self.connection.options(environment)?;
        let mut options = AskOptions {
            agents: config,
            agent: self.agent.as_deref(),
            needs_question: false,
            config: turn_config(client, limits, config, environment),
            ..AskOptions::new(&models)
        };
        if self.model.is_some() && prepare(&mut *conversation, &options).is_err() {
            options.model = self.model.as_deref();
        }
        let prepared = prepare(conversation, &options);
        let mut prepared =
            prepared.map_err(|error| chat::explain(error, config, &environment.models))?;
        chat::report_notes(prepared.notes());
        if let Some(name) = &self.model {
            let name = config.model(name)?;
            let mut model = resolve(&name, &environment.models)?;
            local::ensure_running(&mut model, Some(&name), environment)?;
            prepared.config_mut().summariser = Some(model);
        }
        Ok(prepared)
    }

    /// Compacts the conversation and prints the summary.
    /// The summary goes to stdout, the numbers to stderr.
    fn compact(
        &self,
        environment: &Environment,
        conversation: &mut dyn Conversation,
    ) -> Result<(), Failure> {
        let config = Config::read(environment)?;
        let mut prepared = self.prepare(&config, environment, conversation)?;
        let compacted = run_compaction(&mut prepared, environment)?;
        drop(prepared);
        let summary = last_summary(conversation);
        if self.json {
            return ui::print_json(&CompactReport {
                messages: compacted.messages,
                tokens_before: compacted.before,
                tokens_after: compacted.after,
                without_model: compacted.is_fallback,
                files: compacted.files.len(),
                summary: &summary,
            });
        }
        ui::print_text(format!("{}\n", summary.trim_end()).as_bytes())?;
        ui::remark(&in_words(&compacted, &self.target, Interface::Call));
        Ok(())
    }
}

/// The summary at the start of what the model sees now.
/// Empty if the model sees no summary.
pub fn last_summary(conversation: &dyn Conversation) -> String {
    let snapshot = conversation.snapshot();
    let chain = snapshot.chain();
    for message in &chain.messages {
        if matches!(message.body, Body::Summary(_)) {
            return message.text();
        }
    }
    String::new()
}

/// Compacts a conversation now, and shows progress.
/// Interactive sessions use it for `/compact`. Ctrl-C stops it and leaves the conversation as it was.
pub fn run_compaction<C: Conversation>(
    prepared: &mut Prepared<C>,
    environment: &Environment,
) -> Result<CompactionReport, Failure> {
    let writer = match prepared.config_mut().summariser.clone() {
        // If another model writes the summary, the one that answers needs no server yet.
        Some(writer) => writer,
        None => {
            let serving = local::ensure_running(prepared.model_mut(), None, environment)?;
            if let Some(serving) = serving {
                let vocabulary = local::LocalTokenizer::new(serving);
                prepared.config_mut().tokenizer = Some(Arc::new(vocabulary));
            }
            prepared.agent().model.clone()
        }
    };
    ui::progress(&format!(
        "{}/{} writes a summary …",
        writer.provider, writer.name
    ));
    interrupt::begin_answer();
    let done = prepared.compact_blocking(interrupt::wait_for_first());
    ui::progress("");
    done.map_err(explain)
}

/// Turns the reason why nothing was compacted into a failure.
/// A conversation that is too short is not a fault of the model, so it is an input failure.
fn explain(not: CompactionError) -> Failure {
    match not {
        CompactionError::NotNow(why) => {
            let failure = Failure::input(format!("nothing to compact: {why}"));
            failure.or_hint(Advice::by_interface(
                "analects context shows what would be sent",
                "/context shows what would be sent",
            ))
        }
        CompactionError::Stopped => Failure::cancelled(),
        CompactionError::CellsChosen | CompactionError::OverBudget(_) => {
            Failure::model(not.to_string())
        }
        CompactionError::Failed(error) => Failure::from(*error),
        CompactionError::Useless(why) => {
            let failure = Failure::model(format!("nothing was changed: {why}"));
            failure.or_hint(Advice::NameAnotherModel)
        }
        CompactionError::Store(error) => Failure::from(error),
    }
}
