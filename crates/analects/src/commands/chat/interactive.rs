//! `chat` on a terminal without a prompt: one question after the other, until the person has enough.
//!
//! Every turn goes the way of a call of `chat` with a prompt, and opens the conversation anew, so a
//! file may be edited between two turns. What fails is said, and the session goes on; a text that did
//! not get into the conversation stands in the line again.

mod exchange;
mod place;
mod slash;

use std::path::{Path, PathBuf};

use analects_formats::msgfile::pictures_in;
use analects_runtime::{ResolvedAgent, TurnConfig, attachment_preview};

use super::call::{Call, CallArgs, Said};
use crate::config::{Config, POINTERS};
use crate::connection::configure;
use crate::failure::Failure;
use crate::hints::{Interface, RETRY, RETRY_BROKEN};
use crate::surroundings::Surroundings;
use crate::ui::prompt::{Draft, Edited, Heard, History, Input, Names, Offers, command, edit};
use crate::{interrupt, pictures, ui, writing};
pub use place::Place;
use slash::{COMMANDS, Slash, Typed};

/// A session at the terminal, before it begins.
pub struct Session {
    pub config: Config,
    pub turn: TurnConfig,
    /// Whether answers are recorded.
    pub records: bool,
    pub call: CallArgs,
    pub place: Place,
    /// Whom the person named, with options or with commands.
    pub model: Option<String>,
    pub agent: Option<String>,
    /// What is shown to the model along with the next prompt.
    pub files: Vec<PathBuf>,
}

impl Session {
    /// Asks for texts and lets them be answered, until the person ends it.
    pub fn run(self, surroundings: &Surroundings) -> Result<(), Failure> {
        if self.records {
            let message = "--record records one answer, and a session has many";
            return Err(Failure::usage(
                message,
                "add a prompt, or leave out --record",
            ));
        }
        self.call.for_many("a session has many")?;
        Running {
            session: self,
            surroundings,
            was_there: false,
        }
        .run()
    }
}

/// A session under way.
struct Running<'a> {
    session: Session,
    surroundings: &'a Surroundings,
    /// Whether the conversation is known to have been there.
    was_there: bool,
}

/// Whether the session goes on.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// With this text in the line.
    Prompt(String),
    End,
}

/// A text that was meant for the model, as it stands in the line again: not as a command.
fn as_line(prompt: &str) -> String {
    let blank = if command(prompt).is_some() { " " } else { "" };
    format!("{blank}{prompt}")
}

/// Whether a file can be shown to a model.
fn check_file(path: &Path) -> Result<(), Failure> {
    Ok(attachment_preview(Path::new(""), path).map(drop)?)
}

impl Running<'_> {
    fn run(mut self) -> Result<(), Failure> {
        self.session
            .files
            .iter()
            .try_for_each(|file| check_file(file))?;
        self.make_message_file()?;
        // Whoever cannot be asked is told before something is typed for them.
        let (place, model) = (self.session.place.title(), model_name(&self.responder()?));
        ui::remark(&format!(
            "{place}, with {model}; /help for help, Ctrl-D to end"
        ));
        self.was_there = self.session.place.is_begun();
        interrupt::rest();
        let _hushed = ui::keys::Hushed::new();
        interrupt::keep_terminal();
        let offers = Offers::new(&COMMANDS);
        let history = History::in_folder(&self.surroundings.places.state);
        let mut input = Input::new(history, &offers);
        let mut draft = Draft::default();
        loop {
            offers.set(self.names());
            let heard = input.read(&draft)?;
            draft = Draft::default();
            match heard {
                Heard::End => break,
                Heard::Cleared => {}
                Heard::Nothing => ui::remark(interrupt::HOW_TO_LEAVE),
                Heard::Text(text) => {
                    ui::keys::listen();
                    let next = self.hear(&text);
                    self.was_there |= self.session.place.is_begun();
                    if interrupt::told_by().is_some() {
                        break;
                    }
                    match next {
                        Next::Prompt(unsent) => {
                            draft = Draft {
                                unsent,
                                typed: ui::keys::typed(),
                            }
                        }
                        Next::End => break,
                    }
                }
            }
        }
        if let Some(way_back) = self.session.place.way_back() {
            ui::remark(&way_back);
        }
        match interrupt::told_by() {
            Some(signal) => Err(Failure::told_to_end(signal)),
            None => Ok(()),
        }
    }

    /// Makes a plain file one for messages, where the person wants that.
    fn make_message_file(&self) -> Result<(), Failure> {
        match &self.session.place {
            Place::File(path)
                if self.session.call.force && !path.to_string_lossy().ends_with(".msg.md") =>
            {
                writing::make_message_file(path, &self.surroundings.places)
            }
            _ => Ok(()),
        }
    }

    /// Does what was typed. What fails is said.
    fn hear(&mut self, text: &str) -> Next {
        let done = match slash::parse(text) {
            Ok(Typed::Nothing) => Ok(()),
            Ok(Typed::Prompt(prompt)) => return self.say(&prompt),
            Ok(Typed::Command(Slash::Quit)) => return Next::End,
            Ok(Typed::Command(Slash::Edit(text))) => return self.edit(&text),
            Ok(Typed::Command(command)) => self.act(command),
            Err(failure) => {
                ui::report_in(Interface::Session, &failure);
                return Next::Prompt(text.to_string());
            }
        };
        if let Err(failure) = done {
            self.report(failure);
        }
        interrupt::rest();
        Next::Prompt(String::new())
    }

    /// Lets the person write a prompt in an editor, from this text on, and says it. Where nothing is sent, the text
    /// stands in the line.
    fn edit(&mut self, text: &str) -> Next {
        match edit(text, self.surroundings) {
            Ok(Edited::Written(prompt)) => {
                ui::quote(&prompt);
                return self.say(&prompt);
            }
            Ok(Edited::Unchanged) => ui::remark("nothing was changed, so nothing is sent"),
            Ok(Edited::Nothing) => {
                ui::remark("nothing was written, so nothing is sent");
                return Next::Prompt(String::new());
            }
            Err(failure) => ui::report_in(Interface::Session, &failure),
        }
        Next::Prompt(as_line(text))
    }

    /// Says something, and asks. What did not get into the conversation stands in the line again.
    fn say(&mut self, prompt: &str) -> Next {
        if let Err(failure) = self.check_there() {
            self.was_there = false;
            self.report(failure.or_hint("put it back, or send this again to begin a new one"));
            return Next::Prompt(as_line(prompt));
        }
        let mut said = Said {
            prompt: Some(prompt.to_string()),
            files: self.session.files.clone(),
            ..Said::default()
        };
        let done = self
            .allow_pictures(prompt)
            .and_then(|()| self.ask(&mut said));
        interrupt::rest();
        // What is shown already is not shown once more with the next prompt.
        self.session.files.drain(..said.written.files);
        let Err(failure) = done else {
            return Next::Prompt(String::new());
        };
        self.report(failure);
        if said.written.has_prompt {
            return Next::Prompt(String::new());
        }
        self.leave_out_files();
        Next::Prompt(as_line(prompt))
    }

    /// Allows the pictures that the person names in a prompt.
    fn allow_pictures(&self, prompt: &str) -> Result<(), Failure> {
        match &self.session.place {
            Place::File(path) => pictures::allow(path, &pictures_in(prompt), self.surroundings),
            Place::Store { .. } => Ok(()),
        }
    }

    /// Whether the conversation is there, if it ever was: what is said would begin a new one, and the model would not
    /// see what was said before.
    fn check_there(&self) -> Result<(), Failure> {
        if !self.was_there || self.session.place.is_there() {
            return Ok(());
        }
        let name = self.session.place.name();
        Err(Failure::not_found(format!("{name} is not there any more")))
    }

    /// Leaves out files that cannot be shown, or no prompt would ever be sent.
    fn leave_out_files(&mut self) {
        self.session.files.retain(|file| {
            let is_fine = check_file(file).is_ok();
            if !is_fine {
                let file = file.display();
                ui::remark(&format!(
                    "{file} is left out: your prompt, sent again, goes out without it"
                ));
            }
            is_fine
        });
    }

    /// Says what failed, with hints for somebody who is in a session.
    fn report(&self, failure: Failure) {
        ui::report_in(Interface::Session, &self.surroundings.explain(failure));
    }

    fn ask(&self, said: &mut Said) -> Result<(), Failure> {
        let done = self.session.place.ask(self.call(), said);
        let is_there = said.prompt.is_none() || said.written.has_prompt;
        done.map_err(|failure| {
            if is_there {
                self.with_way_on(failure)
            } else {
                failure
            }
        })
    }

    /// Adds what can be done about a question that is in the conversation and has no answer, or the half of one.
    fn with_way_on(&self, failure: Failure) -> Failure {
        if failure.tells_how_to_ask() {
            return failure;
        }
        let (place, surroundings) = (&self.session.place, self.surroundings);
        // The half of an answer may be that to an earlier question.
        if place.is_unanswered(surroundings).unwrap_or(false) {
            return failure.and_hint(format!("your prompt is kept: {RETRY}"));
        }
        match place.has_broken_answer(surroundings) {
            Ok(true) => failure.and_hint(RETRY_BROKEN),
            _ => failure,
        }
    }

    /// Asks what has no answer, or none that came to its end.
    fn retry(&self) -> Result<(), Failure> {
        let (place, surroundings) = (&self.session.place, self.surroundings);
        if place.is_unanswered(surroundings)? || place.set_broken_aside(surroundings)? {
            return self.ask(&mut Said::default());
        }
        Err(Failure::input(
            "there is nothing to ask again: all is answered",
        ))
    }

    fn act(&mut self, command: Slash) -> Result<(), Failure> {
        if !matches!(command, Slash::Help | Slash::Agent(_) | Slash::Model(_)) {
            self.check_there()?;
        }
        match command {
            Slash::Retry => self.retry(),
            // Only answers go where answers go.
            command => ui::aside(|| self.do_aside(command)),
        }
    }

    fn do_aside(&mut self, command: Slash) -> Result<(), Failure> {
        match command {
            Slash::Help => ui::print_lines(slash::help(ui::width())),
            Slash::Agent(None) | Slash::Model(None) => self.print_responder(),
            Slash::Agent(Some(name)) => self.choose(None, Some(name)),
            Slash::Model(Some(name)) => self.choose(Some(name), self.session.agent.clone()),
            Slash::Context => self.session.place.context(self.call()),
            Slash::Compact => self.session.place.compact(self.call()),
            Slash::Undo => self.session.place.undo(self.surroundings),
            Slash::Fork => self.session.place.fork(self.surroundings),
            // These are done by now.
            Slash::Retry | Slash::Edit(_) | Slash::Quit => Ok(()),
        }
    }

    /// The call that the next prompt makes.
    fn call(&self) -> Call<'_> {
        Call {
            surroundings: self.surroundings,
            config: &self.session.config,
            model: self.session.model.as_deref(),
            agent: self.session.agent.as_deref(),
            args: &self.session.call,
            turn: &self.session.turn,
            records: false,
            interface: Interface::Session,
        }
    }

    fn responder(&self) -> Result<ResolvedAgent, Failure> {
        self.session.place.responder(self.call())
    }

    fn print_responder(&self) -> Result<(), Failure> {
        let responder = self.responder()?;
        let (agent, model) = (&responder.agent.name, model_name(&responder));
        ui::print_line(&format!("{agent} answers, with the model {model}"))?;
        let agents = self.names().agents;
        if agents.is_empty() {
            return Ok(());
        }
        ui::print_line(&format!("agents: {}", agents.join(", ")))
    }

    /// Lets somebody else answer from now on, if they can be asked.
    fn choose(&mut self, model: Option<String>, agent: Option<String>) -> Result<(), Failure> {
        let config = Config::read_for(model.as_deref(), agent.as_deref(), self.surroundings)?;
        let call = Call {
            config: &config,
            model: model.as_deref(),
            agent: agent.as_deref(),
            ..self.call()
        };
        let responder = self.session.place.responder(call)?;
        ui::remark(&format!("{} answers from now on", model_name(&responder)));
        self.session.turn = configure(self.session.turn.clone(), &config, self.surroundings);
        self.session.config = config;
        self.session.model = model;
        self.session.agent = agent;
        Ok(())
    }

    /// What can be completed.
    fn names(&self) -> Names {
        let known = self.session.place.agents();
        let mut agents: Vec<String> = known.iter().map(|agent| agent.name.clone()).collect();
        agents.extend(self.session.config.agent_names());
        let mut models: Vec<String> = known.into_iter().flat_map(|agent| agent.models).collect();
        models.extend(POINTERS.iter().map(|name| (*name).to_string()));
        models.push("local/smollm2".to_string());
        for names in [&mut agents, &mut models] {
            names.sort();
            names.dedup();
        }
        Names { agents, models }
    }
}

/// The model that answers, as a person names it.
fn model_name(responder: &ResolvedAgent) -> String {
    format!("{}/{}", responder.model.provider, responder.model.name)
}
