//! What a person may say about one call: which cells are sent, with which settings, and whether it is sent at all.

use std::path::Path;

use analects_runtime::{ChosenMessages, FileConversation};

use crate::commands::verbs;
use crate::failure::Failure;

/// Options of one call.
#[derive(Debug, Default, clap::Args)]
pub struct CallArgs {
    /// Send these cells of the file and no others, beside the question: ids and ranges, such as 1,3-5
    #[arg(short, long, value_name = "CELLS", help_heading = "What is sent")]
    pub include: Vec<String>,

    /// Do not send these cells of the file
    #[arg(short, long, value_name = "CELLS", help_heading = "What is sent")]
    pub exclude: Vec<String>,

    /// Keep the choice in the file: cells that are not sent get history=none
    #[arg(long, help_heading = "What is sent")]
    pub save: bool,

    /// The temperature, for this call; a new agent for -m keeps it
    #[arg(long, value_name = "T", value_parser = temperature, help_heading = "What is sent")]
    pub temperature: Option<f64>,

    /// The most tokens that the answer may have, for this call; a new agent for -m keeps it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "What is sent")]
    pub max_tokens: Option<u64>,

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

impl CallArgs {
    /// Whether cells are chosen.
    pub fn has_choice(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    /// Refuses what is chosen for one prompt, where there are many.
    pub fn for_many(&self, why_not: &str) -> Result<(), Failure> {
        if !self.has_choice() && !self.save {
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

    /// The chosen messages of a file, before anything is said in it. A choice of cells that are not there is refused,
    /// before anything is written because of it.
    pub fn choose(
        &self,
        path: &Path,
        conversation: &FileConversation,
    ) -> Result<ChosenMessages, Failure> {
        if self.save && !self.has_choice() {
            return Err(Failure::usage(
                "--save keeps a choice of cells, and there is none",
                "choose cells with --include or --exclude",
            ));
        }
        let chosen = conversation.choose(&self.include, &self.exclude);
        chosen.map_err(|error| verbs::explain(path, &error))
    }
}
