//! `chat` on a terminal without a prompt: an interactive session that reads one prompt after
//! another.
//!
//! Each turn is the same as a call of `chat` with a prompt, and opens the conversation anew, so you
//! may edit the file between two turns. After a failure, the session reports it and goes on; a
//! prompt that did not get into the conversation appears in the input line again.

mod exchange;
mod location;
mod slash;

use std::path::{Path, PathBuf};

use analects_formats::msgfile::pictures_in;
use analects_runtime::{ResolvedAgent, attachment_preview};

use super::attached_pictures;
use super::call::{ChatCall, ChatSettings, UserInput};
use crate::config::{Config, POINTERS};
use crate::connection::with_config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{Interface, RETRY, RETRY_PARTIAL};
use crate::ui::prompt::{
    CompletionNames, Completions, EditedText, History, LinePrefill, PromptEvent, PromptReader,
    edit_in_editor, split_command,
};
use crate::{interrupt, message_file, pictures, ui};
pub use location::ChatLocation;
use slash::{COMMANDS, SlashCommand, TypedLine};

/// An interactive session before it starts.
pub struct InteractiveSession {
    pub settings: ChatSettings,
    pub location: ChatLocation,
    /// The files to attach to the next prompt.
    pub files: Vec<PathBuf>,
}

impl InteractiveSession {
    /// Reads prompts and gets them answered, until you end the session.
    pub fn run(self, environment: &Environment) -> Result<(), Failure> {
        if self.settings.records {
            let message = "--record is for one answer, and a session has many";
            return Err(Failure::usage(
                message,
                "add a prompt, or leave out --record",
            ));
        }
        self.settings
            .args
            .refuse_cell_choice("a session has many")?;
        RunningSession {
            session: self,
            environment,
            existed: false,
        }
        .run()
    }
}

/// An interactive session while it runs.
struct RunningSession<'a> {
    session: InteractiveSession,
    environment: &'a Environment,
    /// Whether the file or session has existed at some time during this session.
    existed: bool,
}

/// What happens after a line.
#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    /// Read the next line, with this text in it.
    Prompt(String),
    End,
}

/// A prompt as it appears in the input line again: with a space before it if it looks like a
/// command.
fn as_input_line(prompt: &str) -> String {
    let blank = if split_command(prompt).is_some() {
        " "
    } else {
        ""
    };
    format!("{blank}{prompt}")
}

/// Checks that a file can be attached.
fn check_attachable(path: &Path) -> Result<(), Failure> {
    if attached_pictures::is_picture(path) {
        return Ok(());
    }
    Ok(attachment_preview(Path::new(""), path).map(drop)?)
}

impl RunningSession<'_> {
    /// Reads lines until you end the session or a signal arrives.
    fn run(mut self) -> Result<(), Failure> {
        for file in &self.session.files {
            check_attachable(file)?;
        }
        self.make_message_file()?;
        self.greet()?;
        self.existed = self.session.location.has_started();
        interrupt::end_answer();
        let _hushed = ui::keys::HiddenTyping::new();
        interrupt::restore_terminal_at_end();

        self.read_lines()?;

        if let Some(resume_hint) = self.session.location.resume_hint() {
            ui::remark(&resume_hint);
        }
        match interrupt::end_signal() {
            Some(signal) => Err(Failure::ended_by(signal)),
            None => Ok(()),
        }
    }

    /// Prints the conversation and the model. Fails if there is no model, so that you learn about
    /// a missing key before you type.
    fn greet(&self) -> Result<(), Failure> {
        let location = self.session.location.title();
        let input = UserInput {
            has_attached_pictures: self
                .session
                .files
                .iter()
                .any(|file| attached_pictures::is_picture(file)),
            ..UserInput::default()
        };
        let model = model_name(&self.session.location.responder(self.call(), &input)?);
        ui::remark(&format!(
            "{location}, with {model}; /help for commands, Ctrl-D to end"
        ));
        Ok(())
    }

    /// Reads and handles lines, until the last one or a signal.
    fn read_lines(&mut self) -> Result<(), Failure> {
        let offers = Completions::new(&COMMANDS);
        let history = History::in_folder(&self.environment.places.state);
        let mut input = PromptReader::new(history, &offers);
        let mut draft = LinePrefill::default();
        loop {
            offers.set(self.names());
            let heard = input.read(&draft)?;
            draft = LinePrefill::default();
            let text = match heard {
                PromptEvent::Text(text) => text,
                PromptEvent::End => return Ok(()),
                PromptEvent::Cleared => continue,
                PromptEvent::NothingToClear => {
                    ui::remark(interrupt::HOW_TO_LEAVE);
                    continue;
                }
            };
            ui::keys::collect();
            let next = self.handle_line(&text);
            self.existed |= self.session.location.has_started();
            if interrupt::end_signal().is_some() {
                return Ok(());
            }
            let NextStep::Prompt(unsent) = next else {
                return Ok(());
            };
            draft = LinePrefill {
                unsent,
                typed: ui::keys::take_typed(),
            };
        }
    }

    /// With `--force`, turns a plain file into a message file.
    fn make_message_file(&self) -> Result<(), Failure> {
        match &self.session.location {
            ChatLocation::File(path)
                if self.session.settings.args.force
                    && !path.to_string_lossy().ends_with(".msg.md") =>
            {
                message_file::make_message_file(path, &self.environment.places)
            }
            _ => Ok(()),
        }
    }

    /// Handles a line: runs the command or sends the prompt, and reports failures.
    fn handle_line(&mut self, text: &str) -> NextStep {
        let done = match slash::parse(text) {
            Ok(TypedLine::Nothing) => Ok(()),
            Ok(TypedLine::Prompt(prompt)) => return self.send_prompt(&prompt),
            Ok(TypedLine::Command(SlashCommand::Quit)) => return NextStep::End,
            Ok(TypedLine::Command(SlashCommand::Edit(text))) => return self.edit(&text),
            Ok(TypedLine::Command(command)) => self.run_command(command),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = done {
            self.report(failure);
        }
        interrupt::end_answer();
        NextStep::Prompt(String::new())
    }

    /// `/edit`: lets you write a prompt in an editor, and sends it. If nothing is sent, the text
    /// appears in the input line.
    fn edit(&mut self, text: &str) -> NextStep {
        match edit_in_editor(text, self.environment) {
            Ok(EditedText::Changed(prompt)) => {
                ui::quote(&prompt);
                return self.send_prompt(&prompt);
            }
            Ok(EditedText::Unchanged) => ui::remark("nothing was changed, so nothing is sent"),
            Ok(EditedText::Empty) => {
                ui::remark("nothing was written, so nothing is sent");
                return NextStep::Prompt(String::new());
            }
            Err(failure) => ui::report_in(Interface::Session, &failure),
        }
        NextStep::Prompt(as_input_line(text))
    }

    /// Sends a prompt. If it did not get into the conversation, it appears in the input line again.
    fn send_prompt(&mut self, prompt: &str) -> NextStep {
        if let Err(failure) = self.check_exists() {
            self.existed = false;
            self.report(failure.or_hint("put it back, or send this again to start a new one"));
            return NextStep::Prompt(as_input_line(prompt));
        }
        let mut user_input = UserInput {
            prompt: Some(prompt.to_string()),
            files: self.session.files.clone(),
            ..UserInput::default()
        };
        let file = self.session.location.file();
        let done = self
            .allow_pictures(prompt)
            .and_then(|()| attached_pictures::attach(&mut user_input, file))
            .and_then(|()| self.ask(&mut user_input));
        interrupt::end_answer();
        self.drop_attached_files(&user_input);
        let Err(failure) = done else {
            return NextStep::Prompt(String::new());
        };
        self.report(failure);
        if user_input.written.has_prompt {
            return NextStep::Prompt(String::new());
        }
        self.drop_unreadable_files();
        NextStep::Prompt(as_input_line(prompt))
    }

    /// Forgets the files that are in the conversation now, so that they are not attached again.
    fn drop_attached_files(&mut self, input: &UserInput) {
        let attached = &input.files[..input.written.files];
        self.session.files.retain(|file| {
            let is_picture = !input.files.contains(file);
            let is_written = is_picture && input.written.has_prompt;
            !is_written && !attached.contains(file)
        });
    }

    /// Allows pictures that the prompt names.
    fn allow_pictures(&self, prompt: &str) -> Result<(), Failure> {
        match &self.session.location {
            ChatLocation::File(path) => {
                pictures::allow(path, &pictures_in(prompt), self.environment)
            }
            ChatLocation::Store { .. } => Ok(()),
        }
    }

    /// Fails if the conversation existed and is gone. A prompt would start a new one, and the model
    /// would not see the earlier messages.
    fn check_exists(&self) -> Result<(), Failure> {
        if !self.existed || self.session.location.exists() {
            return Ok(());
        }
        let name = self.session.location.name();
        Err(Failure::not_found(format!("{name} no longer exists")))
    }

    /// Removes files that cannot be read: otherwise no prompt could be sent any more.
    fn drop_unreadable_files(&mut self) {
        self.session.files.retain(|file| {
            let is_fine = check_attachable(file).is_ok();
            if !is_fine {
                let file = file.display();
                ui::remark(&format!(
                    "{file} is left out: if you send the prompt again, it goes without this file"
                ));
            }
            is_fine
        });
    }

    /// Reports a failure, with hints that name slash commands.
    fn report(&self, failure: Failure) {
        ui::report_in(Interface::Session, &self.environment.explain(failure));
    }

    /// Asks, and adds hints for a question that stays in the conversation.
    fn ask(&self, user_input: &mut UserInput) -> Result<(), Failure> {
        let done = self.session.location.ask(self.call(), user_input);
        let is_there = user_input.prompt.is_none() || user_input.written.has_prompt;
        done.map_err(|failure| {
            if is_there {
                self.add_retry_hint(failure)
            } else {
                failure
            }
        })
    }

    /// Adds how to retry, if the conversation ends with an unanswered question or a partial answer.
    fn add_retry_hint(&self, failure: Failure) -> Failure {
        if failure.says_how_to_ask() {
            return failure;
        }
        let location = &self.session.location;
        let environment = self.environment;
        // A partial answer may belong to an earlier question, so check this first.
        if location.is_unanswered(environment).unwrap_or(false) {
            return failure.and_hint(format!("your prompt is kept: {RETRY}"));
        }
        match location.has_broken_answer(environment) {
            Ok(true) => failure.and_hint(RETRY_PARTIAL),
            _ => failure,
        }
    }

    /// `/retry`: asks the last question again. A partial answer is hidden, and a complete one stays on
    /// a branch of its own.
    fn retry(&self) -> Result<(), Failure> {
        let location = &self.session.location;
        let environment = self.environment;
        if !location.is_unanswered(environment)? && !location.hide_broken_answer(environment)? {
            location.leave_answer(environment)?;
        }
        self.ask(&mut UserInput::default())
    }

    /// Runs a slash command that is not handled as a line.
    fn run_command(&mut self, command: SlashCommand) -> Result<(), Failure> {
        let needs_conversation = !matches!(
            command,
            SlashCommand::Help | SlashCommand::Agent(_) | SlashCommand::Model(_)
        );
        if needs_conversation {
            self.check_exists()?;
        }
        if command == SlashCommand::Retry {
            return self.retry();
        }
        // Only answers go to stdout; the output of commands goes to the terminal.
        ui::with_data_on_stderr(|| self.print_command(command))
    }

    /// Runs a slash command whose output goes to the terminal, even if stdout does not.
    fn print_command(&mut self, command: SlashCommand) -> Result<(), Failure> {
        match command {
            SlashCommand::Help => ui::print_lines(slash::help(ui::width())),
            SlashCommand::Agent(None) | SlashCommand::Model(None) => self.print_responder(),
            SlashCommand::Agent(Some(name)) => self.choose_agent(name),
            SlashCommand::Model(Some(name)) => {
                self.choose(Some(name), self.session.settings.agent.clone())
            }
            SlashCommand::Context => self.session.location.context(self.call()),
            SlashCommand::Compact => self.session.location.compact(self.call()),
            SlashCommand::Undo => self.session.location.undo(self.environment),
            SlashCommand::Fork => self.session.location.fork(self.environment),
            SlashCommand::Rewind(to) => self.session.location.rewind(&to, self.environment),
            // Handled before.
            SlashCommand::Retry | SlashCommand::Edit(_) | SlashCommand::Quit => Ok(()),
        }
    }

    /// The settings for the next prompt.
    fn call(&self) -> ChatCall<'_> {
        let settings = &self.session.settings;
        settings.call(self.environment, Interface::Session)
    }

    /// The agent that answers the next prompt.
    fn responder(&self) -> Result<ResolvedAgent, Failure> {
        self.session
            .location
            .responder(self.call(), &UserInput::default())
    }

    /// Prints which agent and model answer, and which agents there are.
    fn print_responder(&self) -> Result<(), Failure> {
        let responder = self.responder()?;
        let agent = &responder.agent.name;
        let model = model_name(&responder);
        ui::print_line(&format!("{agent} answers, with the model {model}"))?;
        let agents = self.names().agents;
        if agents.is_empty() {
            return Ok(());
        }
        ui::print_line(&format!("agents: {}", agents.join(", ")))
    }

    /// Switches to another agent, which answers with its own instructions instead of those of
    /// `--system`.
    fn choose_agent(&mut self, name: String) -> Result<(), Failure> {
        let system = self.session.settings.args.answer.system.take();
        let done = self.choose(None, Some(name));
        if done.is_err() {
            self.session.settings.args.answer.system = system;
        }
        done
    }

    /// Switches to another model or agent, if it can be asked.
    fn choose(&mut self, model: Option<String>, agent: Option<String>) -> Result<(), Failure> {
        let config = Config::read_for(model.as_deref(), agent.as_deref(), self.environment)?;
        let call = ChatCall {
            config: &config,
            model: model.as_deref(),
            agent: agent.as_deref(),
            ..self.call()
        };
        let responder = self
            .session
            .location
            .responder(call, &UserInput::default())?;
        ui::remark(&format!("{} answers from now on", model_name(&responder)));
        self.session.settings.turn = with_config(
            self.session.settings.turn.clone(),
            &config,
            self.environment,
        );
        self.session.settings.config = config;
        self.session.settings.model = model;
        self.session.settings.agent = agent;
        Ok(())
    }

    /// The names that Tab completes.
    fn names(&self) -> CompletionNames {
        let known = self.session.location.agents();
        let mut agents: Vec<String> = known.iter().map(|agent| agent.name.clone()).collect();
        agents.extend(self.session.settings.config.agent_names());
        let mut models: Vec<String> = known.into_iter().flat_map(|agent| agent.models).collect();
        models.extend(POINTERS.iter().map(|name| (*name).to_string()));
        models.push("local/smollm2".to_string());
        for names in [&mut agents, &mut models] {
            names.sort();
            names.dedup();
        }
        CompletionNames { agents, models }
    }
}

/// The model as `provider/NAME`.
fn model_name(responder: &ResolvedAgent) -> String {
    format!("{}/{}", responder.model.provider, responder.model.name)
}
