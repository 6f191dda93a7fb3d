//! One call of `chat`: which cells it sends, with which settings and to which model, and what it
//! reports about these choices.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use analects_client::ClientError;
use analects_core::{Hint, Image};
use analects_local::LocalServer;
use analects_runtime::{
    AnswerQueue, AskOptions, ChosenMessages, Conversation, FileConversation, PrepareError,
    Prepared, QueueReport, ResponderNote, TurnConfig, WriteProgress, prepare,
};

use crate::commands::verbs;
use crate::config::{Config, NO_RECORDING_HERE, no_such_agent, no_such_pointer};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{Advice, Interface};
use crate::local::{self, LocalTokenizer};
use crate::tools::ToolArgs;
use crate::{no_model_help, ui};

/// Reports list at most this many cells by name.
const MAX_NAMED_CELLS: usize = 12;

/// Options of one call that hold for a file and for a session.
#[derive(Debug, Default, clap::Args)]
pub struct AnswerArgs {
    /// Send a file along with the prompt: a text, about whose changes the model is told later, or a picture
    /// (PNG, JPEG, GIF, WebP); can be given more than once
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<PathBuf>,

    /// The system prompt of a new conversation or agent; an agent that -m adds keeps it
    #[arg(short, long, value_name = "TEXT", help_heading = "Request options")]
    pub system: Option<String>,

    /// Set the temperature for this call; an agent that -m adds keeps it
    #[arg(long, value_name = "T", value_parser = temperature, help_heading = "Request options")]
    pub temperature: Option<f64>,

    /// Limit the answer to this many tokens for this call; an agent that -m adds keeps the limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Request options")]
    pub max_tokens: Option<u64>,

    /// Print the request, but send and write nothing
    #[arg(long, help_heading = "Request options")]
    pub dry_run: bool,

    #[command(flatten)]
    pub tools: ToolArgs,

    /// Print the answer, and keep it, only when it is complete
    #[arg(long)]
    pub no_stream: bool,

    /// Print tokens, cost and time of each answer to stderr
    #[arg(short, long)]
    pub usage: bool,
}

/// Options of one call.
#[derive(Debug, Default, clap::Args)]
pub struct CallArgs {
    #[command(flatten)]
    pub answer: AnswerArgs,

    /// Send only these cells of the file, plus the question: ids and ranges, such as 1,3-5
    #[arg(short, long, value_name = "CELLS", help_heading = "Request options")]
    pub include: Vec<String>,

    /// Do not send these cells of the file
    #[arg(short, long, value_name = "CELLS", help_heading = "Request options")]
    pub exclude: Vec<String>,

    /// Save the selection in the file: cells that are not sent get history=none
    #[arg(long, help_heading = "Request options")]
    pub save: bool,

    /// Send the pictures that the file names, without asking
    #[arg(long, help_heading = "Request options")]
    pub pictures: bool,

    /// Send the text above the messages of the file along, as with context: document in its frontmatter
    #[arg(long, help_heading = "Request options")]
    pub with_document: bool,

    /// Use this agent, and make it the default agent of the file
    #[arg(long, value_name = "NAME")]
    pub set_default_agent: Option<String>,

    /// Turn a plain .md file into a message file, with its messages in the section Discussion
    #[arg(long)]
    pub force: bool,
}

/// Parses `--temperature`.
fn temperature(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 2, such as 0.7".to_string())
}

impl AnswerArgs {
    /// The text of `--system`, unless it is blank: some providers refuse an empty system prompt.
    fn system_prompt(&self) -> Option<&str> {
        let text = self.system.as_deref();
        text.filter(|text| !text.trim().is_empty())
    }
}

impl CallArgs {
    /// Whether `--include` or `--exclude` is given.
    pub fn chooses_cells(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    /// Refuses options that choose cells for one prompt, for a mode that answers many. `why_not`
    /// ends the message.
    pub fn refuse_cell_choice(&self, why_not: &str) -> Result<(), Failure> {
        if !self.chooses_cells() && !self.save {
            return Ok(());
        }
        let message =
            format!("--include, --exclude and --save choose cells for one prompt, and {why_not}");
        Err(Failure::usage(
            message,
            "add a prompt, or hide cells with analects drop",
        ))
    }

    /// Refuses options that need a message file.
    pub fn refuse_file_options(&self) -> Result<(), Failure> {
        let given = [
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--save", self.save),
            ("--with-document", self.with_document),
            ("--set-default-agent", self.set_default_agent.is_some()),
            ("--force", self.force),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::usage(
                format!("{flag} is about a message file, and you named no file"),
                "name a message file before the prompt, such as talk.msg.md",
            )),
            None => Ok(()),
        }
    }

    /// The messages that `--include` and `--exclude` choose. Runs before anything is written, so
    /// that a wrong choice changes nothing.
    pub fn choose(
        &self,
        path: &Path,
        conversation: &FileConversation,
    ) -> Result<ChosenMessages, Failure> {
        if self.save && !self.chooses_cells() {
            return Err(Failure::usage(
                "--save saves a choice of cells, and there is none",
                "choose cells with --include or --exclude",
            ));
        }
        let chosen = conversation.choose(&self.include, &self.exclude);
        chosen.map_err(|error| verbs::explain(path, &error))
    }
}

/// The settings of a call, fixed before it reads the conversation.
#[derive(Clone, Copy)]
pub struct ChatCall<'a> {
    pub environment: &'a Environment,
    pub config: &'a Config,
    /// The model from `-m`: `provider/NAME` or a configured name such as `quick`.
    pub model: Option<&'a str>,
    /// The agent from `--agent` or `--set-default-agent`.
    pub agent: Option<&'a str>,
    pub args: &'a CallArgs,
    pub turn: &'a TurnConfig,
    /// Whether `--record` is given.
    pub records: bool,
    /// Decides whether hints name options or slash commands.
    pub interface: Interface,
}

/// The settings of a chat, from the options and the configuration. They serve a single call and an
/// interactive session.
pub struct ChatSettings {
    pub config: Config,
    pub turn: TurnConfig,
    /// Whether `--record` is given.
    pub records: bool,
    pub args: CallArgs,
    /// The model that you named, with an option or in the session.
    pub model: Option<String>,
    /// The agent that you named, with an option or in the session.
    pub agent: Option<String>,
}

impl ChatSettings {
    /// A call with these settings.
    pub fn call<'a>(&'a self, environment: &'a Environment, interface: Interface) -> ChatCall<'a> {
        ChatCall {
            environment,
            config: &self.config,
            model: self.model.as_deref(),
            agent: self.agent.as_deref(),
            args: &self.args,
            turn: &self.turn,
            records: self.records,
            interface,
        }
    }
}

/// What you want to send with this call.
#[derive(Debug, Default)]
pub struct UserInput {
    /// The text of the prompt; `None` asks what is still unanswered.
    pub prompt: Option<String>,
    /// The files from `--file`.
    pub files: Vec<PathBuf>,
    /// Pictures that the prompt names, in a message file.
    pub pictures: Vec<String>,
    /// Pictures that go with the prompt, in a session.
    pub images: Vec<Image>,
    /// Whether a file from `--file` is a picture.
    pub has_attached_pictures: bool,
    /// What has been added to the conversation so far, even if the answer fails.
    pub written: WriteProgress,
}

impl<'a> ChatCall<'a> {
    /// The options of the next turn.
    pub fn options(self, input: &'a UserInput, chosen: ChosenMessages) -> AskOptions<'a> {
        AskOptions {
            agents: self.config,
            model: self.model,
            agent: self.agent,
            system_prompt: self.args.answer.system_prompt(),
            prompt: input.prompt.as_deref(),
            images: &input.images,
            needs_images: input.has_attached_pictures,
            files: &input.files,
            files_named_by: "chat --file",
            temperature: self.args.answer.temperature,
            max_output_tokens: self.args.answer.max_tokens,
            chosen,
            saves_choice: self.args.save,
            config: self.turn.clone(),
            ..AskOptions::new(&self.environment.models)
        }
    }

    /// Prepares a conversation without a question, to see which agent would answer.
    pub fn prepare_without_question<C: Conversation>(
        self,
        conversation: C,
        input: &UserInput,
    ) -> Result<Prepared<C>, Failure> {
        let options = AskOptions {
            needs_question: false,
            ..self.options(input, ChosenMessages::default())
        };
        prepare(conversation, &options).map_err(|error| self.explain(error))
    }

    /// Whether you named a model or an agent.
    pub fn names_responder(self) -> bool {
        self.model.is_some() || self.agent.is_some()
    }

    /// The questions that this call answers. With chosen cells or a recording, it is only the first
    /// one: a choice applies to the cells that exist now, and a recording holds one answer.
    pub fn queue(self) -> AnswerQueue {
        if self.records || self.args.chooses_cells() {
            return AnswerQueue::only_first();
        }
        AnswerQueue::default()
    }

    /// Reports which agent answers which cells, and which cells are left.
    pub fn report_queue<C: Conversation>(self, prepared: &Prepared<C>) {
        let Some(report) = prepared.report() else {
            return;
        };
        let note = if self.args.chooses_cells() && !self.args.save {
            ", with its own -i or -e"
        } else {
            ""
        };
        ui::remark(&queue_in_words(
            report,
            &prepared.agent().agent.name,
            note,
            self.interface,
        ));
    }

    /// Starts the server of a local model if one answers, and reports notes about the agent. Keep
    /// the returned value for as long as the model is needed.
    pub fn prepare_model<C: Conversation>(
        self,
        prepared: &mut Prepared<C>,
    ) -> Result<Option<Arc<LocalServer>>, Failure> {
        report_notes(prepared.notes());
        let serving = local::ensure_running(prepared.model_mut(), self.model, self.environment)?;
        if let Some(serving) = &serving {
            prepared.config_mut().tokenizer = Some(Arc::new(LocalTokenizer::new(serving.clone())));
        }
        Ok(serving)
    }

    /// Turns the reason why no model can be asked into a failure with a hint.
    pub fn explain(self, error: PrepareError) -> Failure {
        explain(error, self.config, &self.environment.models)
    }
}

/// Turns the reason why no model can be asked into a failure with a hint.
pub fn explain(
    error: PrepareError,
    config: &Config,
    models: &analects_client::ProviderSettings,
) -> Failure {
    match error {
        PrepareError::NothingToAsk => Failure::usage(
            "nothing to ask: there is no prompt, and the last question has an answer",
            "add a prompt, such as analects chat -c \"Go on\"",
        ),
        PrepareError::QuestionExcluded => Failure::usage(
            "nothing to ask: the cells that wait for an answer are excluded",
            "leave them out of --exclude",
        ),
        PrepareError::SummaryExcluded(name) => Failure::input(format!(
            "{name} cannot be hidden: it is the summary of a compaction, and replaces the messages before it"
        ))
        .or_hint(Hint::UndoCompaction),
        PrepareError::NoModel => no_model_help::no_model(models),
        PrepareError::NoModelOfAgent(_) => {
            Failure::usage(error.to_string(), Advice::NameModelOfAgent)
        }
        PrepareError::TakesNoImages(_) => Failure::usage(error.to_string(), Advice::NameModelForPictures),
        PrepareError::AgentHasInstructions(name) => Failure::usage(
            format!("--system is for a new agent, and the agent {name} is defined with its own system prompt"),
            Advice::KeepInstructions(name),
        ),
        PrepareError::UnknownAgent { name, known } => no_such_agent(&name, &known),
        PrepareError::UnknownPointer(word) => no_such_pointer(&word),
        PrepareError::Model { error, is_named: true, .. } => Failure::from(*error),
        PrepareError::Model { error, model, .. } => explain_unnamed_model((*error).into(), &model, config),
        PrepareError::Configuration(error) => match error.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(error) => Failure::input(error.to_string()),
        },
        PrepareError::Attach(error) => error.into(),
        PrepareError::Store(error) => error.into(),
    }
}

/// Says why a model is asked that you did not name: the configuration names it, or it answered last.
fn explain_unnamed_model(mut failure: Failure, model: &str, config: &Config) -> Failure {
    match config.model_origin(model) {
        Some(origin) => failure.and_hint(origin),
        None => {
            failure.message = format!("{model}, which answered last: {}", failure.message);
            failure
        }
    }
}

/// Prints notes about the agent that answers. Each note is printed once per process, because it
/// applies to every prompt of a session.
pub fn report_notes(notes: &[ResponderNote]) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    for note in notes {
        let text = note_in_words(note);
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(text.clone()) {
            ui::remark(&text);
        }
    }
}

/// One note as a line of text.
fn note_in_words(note: &ResponderNote) -> String {
    match note {
        ResponderNote::ModelSkipped {
            agent,
            model,
            why,
            instead,
        } => {
            let why = match why {
                // The text before this already names the model.
                Some(ClientError::UnknownModel { .. }) => "unknown model".to_string(),
                Some(error) => error.to_string(),
                None => NO_RECORDING_HERE.to_string(),
            };
            format!("warning: {agent}: {model} is skipped ({why}); {instead} answers")
        }
        ResponderNote::MissingModelSkipped {
            agent,
            model,
            instead,
        } => format!(
            "warning: {agent}: {model} is skipped (not on this machine yet); {instead} answers"
        ),
        ResponderNote::LastModelSkipped {
            model,
            why,
            instead,
        } => {
            format!("warning: {model}, which answered last, is skipped ({why}); {instead} answers")
        }
        ResponderNote::AgentNotConfigured(name) => format!(
            "warning: the agent {name}, which answered last, is not configured here: its model answers \
             without its instructions"
        ),
    }
}

/// Reports which agent answers which cells, and which cells are left.
fn queue_in_words(report: &QueueReport, agent: &str, note: &str, interface: Interface) -> String {
    let mut words = format!("{agent} answers {}", named(&report.now));
    if !report.next.is_empty() {
        words += &format!("; next: {}", named(&report.next));
    }
    if !report.left.is_empty() {
        words += &format!("; {}{note}", unanswered_in_words(&report.left, interface));
    }
    words
}

/// `cell 2 waits: a further call asks it`.
pub fn unanswered_in_words(names: &[String], interface: Interface) -> String {
    let (wait, them) = if names.len() == 1 {
        ("waits", "it")
    } else {
        ("wait", "them")
    };
    let asks = match interface {
        Interface::Call => "a further call asks",
        Interface::Session => "/retry asks",
    };
    format!("{} {wait}: {asks} {them}", named(names))
}

/// `cell 2`, `cells 2, 3`, or a number if there are many.
fn named(names: &[String]) -> String {
    match names {
        [one] => format!("cell {one}"),
        _ if names.len() > MAX_NAMED_CELLS => format!("{} cells", names.len()),
        _ => format!("cells {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    //! How the queue is described.

    use super::*;

    #[test]
    fn what_waits_is_told_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        let says = |now: &[&str], next: &[&str], left: &[&str], note: &str| {
            let now = names(now);
            let next = names(next);
            let left = names(left);
            queue_in_words(&QueueReport { now, next, left }, "x", note, Interface::Call)
        };
        assert_eq!(
            says(&["1"], &["2", "3"], &[], ""),
            "x answers cell 1; next: cells 2, 3"
        );
        assert_eq!(
            says(&["4"], &["2"], &["5"], ""),
            "x answers cell 4; next: cell 2; cell 5 waits: a further call asks it"
        );
        assert_eq!(
            says(&["1"], &[], &["2", "3"], ", so"),
            "x answers cell 1; cells 2, 3 wait: a further call asks them, so"
        );
    }
}
