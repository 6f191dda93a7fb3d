//! What a person may say about one call in a file: which cells are sent, with which settings, and whether
//! it is sent at all.

use std::path::Path;

use analects_core::Agent;
use analects_formats::msgfile::item::ItemError;
use analects_formats::msgfile::{Choice, Document, Kind, Splice, decode_named, frontmatter};
use analects_runtime::{FileConversation, WaitingCells};
use analects_store::{LockedFile, StoreError};

use crate::commands::{cells, set};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::writing;

/// The section of a plain Markdown file that becomes a message file.
const SECTION: &str = "Discussion";

/// Options of one call.
#[derive(Debug, Default, clap::Args)]
pub struct Choosing {
    /// Send these cells of the file and no others, beside the question: ids and ranges, such as 1,3-5
    #[arg(short, long, value_name = "CELLS", help_heading = "What is sent")]
    include: Vec<String>,

    /// Do not send these cells of the file
    #[arg(short, long, value_name = "CELLS", help_heading = "What is sent")]
    exclude: Vec<String>,

    /// Keep the choice in the file: cells that are not sent get history=none
    #[arg(long, help_heading = "What is sent")]
    pub save: bool,

    /// The temperature, for this call; a new agent for -m keeps it
    #[arg(long, value_name = "T", value_parser = temperature, help_heading = "What is sent")]
    temperature: Option<f64>,

    /// The most tokens that the answer may have, for this call; a new agent for -m keeps it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "What is sent")]
    max_tokens: Option<u64>,

    /// Print the request as it would go out, and send and write nothing
    #[arg(long, help_heading = "What is sent")]
    pub dry_run: bool,

    /// Send the pictures that the file names, without asking
    #[arg(long, help_heading = "What is sent")]
    pub pictures: bool,

    /// Print the answer when it is complete, and write it into the file then
    #[arg(long)]
    pub no_stream: bool,

    /// Let this agent answer, and from now on whenever nobody else is named
    #[arg(long, value_name = "NAME")]
    pub set_default_agent: Option<String>,

    /// Make a plain .md file a message file, whose section Discussion holds the messages
    #[arg(long)]
    pub force: bool,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 2, such as 0.7".to_string())
}

impl Choosing {
    /// The cells that were chosen.
    pub fn choice(&self) -> Choice {
        let (include, exclude) = (self.include.clone(), self.exclude.clone());
        Choice { include, exclude, asked: None }
    }

    /// Refuses what is chosen for one prompt, where there are many.
    pub fn for_many(&self, why_not: &str) -> Result<(), Failure> {
        if self.include.is_empty() && self.exclude.is_empty() && !self.save {
            return Ok(());
        }
        let message =
            format!("--include, --exclude and --save choose cells for one prompt, and {why_not}");
        Err(Failure::usage(message, "add a prompt, or hide cells with analects drop"))
    }

    /// Refuses what only a file has.
    pub fn without_file(&self) -> Result<(), Failure> {
        let given = [
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--save", self.save),
            ("--set-default-agent", self.set_default_agent.is_some()),
            ("--force", self.force),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::usage(
                format!("{flag} is about the cells of a file, and there is none"),
                "name a message file before the prompt, such as talk.msg.md",
            )),
            None => Ok(()),
        }
    }

    /// Gives an agent the settings of this call.
    pub fn tune(&self, agent: &mut Agent) {
        if let Some(temperature) = self.temperature {
            (agent.use_temperature, agent.temperature) = (true, temperature);
        }
        if let Some(tokens) = self.max_tokens {
            agent.max_output_tokens = tokens;
        }
    }

    /// The choice among the cells of a file, before anything is said in it. One of cells that are not there is
    /// refused, before anything is written because of it.
    pub fn settle(&self, path: &Path, document: &Document) -> Result<Choice, Failure> {
        if self.save && self.choice().is_empty() {
            return Err(Failure::usage(
                "--save keeps a choice of cells, and there is none",
                "choose cells with --include or --exclude",
            ));
        }
        self.choice().settled(document).map_err(|error| cells::explain(path, &error))
    }

    /// Chooses the cells of a conversation in which everything has been said.
    pub fn choose(
        &self,
        choice: Choice,
        path: &Path,
        conversation: &mut FileConversation,
    ) -> Result<(), Failure> {
        if choice.is_empty() {
            return Ok(());
        }
        let document = conversation.document();
        check_asks(&choice, document)?;
        cells::remark_chosen(path, document, &choice);
        let explain = |error: ItemError| cells::explain(path, &error);
        conversation.choose(choice).map_err(explain)?;
        match self.save {
            true => conversation.save_choice::<Saving>().map_err(|error| error.explain(path)),
            false => Ok(()),
        }
    }

    /// Sets the default agent, which the file must know by now.
    pub fn set_default(
        &self,
        path: &Path,
        conversation: &mut FileConversation,
    ) -> Result<(), Failure> {
        let Some(name) = &self.set_default_agent else { return Ok(()) };
        conversation.try_edit(|document| set::default_agent(document, path, name))
    }
}

/// Refuses a choice that leaves nothing to ask.
pub fn check_asks(choice: &Choice, document: &Document) -> Result<(), Failure> {
    if !WaitingCells::all(document, &choice.exclude).now.is_empty() {
        return Ok(());
    }
    let message = "nothing to ask: the cells that wait for an answer are excluded";
    Err(Failure::usage(message, "leave them out of --exclude"))
}

/// Why a choice cannot be kept.
enum Saving {
    Store(StoreError),
    Item(ItemError),
}

impl Saving {
    fn explain(self, path: &Path) -> Failure {
        match self {
            Saving::Store(error) => error.into(),
            Saving::Item(error) => cells::explain(path, &error),
        }
    }
}

impl From<StoreError> for Saving {
    fn from(error: StoreError) -> Saving {
        Saving::Store(error)
    }
}

impl From<ItemError> for Saving {
    fn from(error: ItemError) -> Saving {
        Saving::Item(error)
    }
}

/// Makes a plain Markdown file one with a section for messages. The heading comes with the first of them.
pub fn make_message_file(path: &Path, surroundings: &Surroundings) -> Result<(), Failure> {
    let mut file = LockedFile::open_plain(path, &surroundings.places, writing::PATIENCE)?;
    file.try_edit(|document| match document.kind() {
        Kind::Plain => with_section(document, path),
        _ => Ok(Splice::nothing()),
    })
}

/// The change that gives a plain Markdown file a section for messages.
pub fn with_section(document: &Document, path: &Path) -> Result<Splice, Failure> {
    let (source, span) = (document.source(), document.frontmatter_span());
    let splice = frontmatter::set_string(source, span, "message_section", SECTION);
    let splice = splice.map_err(|refusal| writing::refused(path, refusal))?;
    let after = decode_named(splice.apply(source), "x.md");
    if after.section().is_some() {
        let message = format!("{}: there is a heading {SECTION} already", path.display());
        let hint = "if messages may go below it, type message_section: Discussion into the \
                    frontmatter; else give that key the name of another section";
        return Err(Failure::input(message).or_hint(hint));
    }
    Ok(splice)
}
