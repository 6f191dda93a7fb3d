//! `chat` on a terminal without a prompt: one question after the other, until the person has enough.
//!
//! Every turn goes the way of a call of `chat` with a prompt, and opens the conversation anew, so a
//! file may be edited between two turns. What fails is said, and the session goes on; a text that did
//! not get into the conversation stands in the line again.

mod complete;
mod edit;
mod history;
mod input;
mod lines;
mod offers;
mod paste;
mod place;
mod slash;

use std::path::PathBuf;

use super::{Call, Choosing, Manner, Said, Wanted, Who, choosing};
use crate::config::{Config, POINTERS};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{interrupt, ui, ways};
use complete::{Names, Offers};
use history::History;
use input::{Heard, Input};
pub use place::Place;
use slash::{Slash, Typed};

/// A session at the terminal, before it begins.
pub struct Session {
    pub config: Config,
    pub manner: Manner,
    pub choosing: Choosing,
    pub place: Place,
    /// Whom the person named, with options or with commands.
    pub model: Option<String>,
    pub agent: Option<String>,
    /// What is shown to the model along with the next prompt.
    pub files: Vec<PathBuf>,
}

impl Session {
    /// One with nothing but the usual.
    pub fn new(
        config: Config,
        manner: Manner,
        place: Place,
        model: Option<String>,
        agent: Option<String>,
    ) -> Session {
        let (choosing, files) = (Choosing::default(), Vec::new());
        Session { config, manner, choosing, place, model, agent, files }
    }

    /// Asks for texts and lets them be answered, until the person ends it.
    pub fn run(self, surroundings: &Surroundings) -> Result<(), Failure> {
        if self.manner.options.record.is_some() {
            let message = "--record records one answer, and a session has many";
            return Err(Failure::usage(message, "add a prompt, or leave out --record"));
        }
        self.choosing.for_many("a session has many")?;
        Running { session: self, surroundings }.run()
    }
}

/// A session under way.
struct Running<'a> {
    session: Session,
    surroundings: &'a Surroundings,
}

/// Whether the session goes on.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// With this text in the line.
    Prompt(String),
    End,
}

/// What stands in the line next: what was not sent, and what was typed while nobody asked.
fn with_typed(unsent: String, typed: &str) -> String {
    match (unsent.is_empty(), typed.is_empty()) {
        (true, _) => typed.to_string(),
        (_, true) => unsent,
        _ => format!("{unsent}\n{typed}"),
    }
}

impl Running<'_> {
    fn run(mut self) -> Result<(), Failure> {
        self.make_message_file()?;
        // Whoever cannot be asked is told before something is typed for them.
        let who = self.who()?;
        self.greet(&who);
        drop(who);
        interrupt::rest();
        let _hushed = ui::keys::Hushed::new();
        interrupt::keep_terminal();
        let offers = Offers::default();
        let history = History::in_folder(&self.surroundings.places.state);
        let mut input = Input::new(history, &offers);
        let mut draft = String::new();
        loop {
            offers.set(self.names());
            let heard = input.read(&draft)?;
            draft.clear();
            match heard {
                Heard::End => break,
                Heard::Cleared => {}
                Heard::Nothing => ui::remark(interrupt::HOW_TO_LEAVE),
                Heard::Text(text) => {
                    ui::keys::listen();
                    match self.hear(&text) {
                        Next::Prompt(text) => draft = with_typed(text, &ui::keys::typed()),
                        Next::End => break,
                    }
                }
            }
        }
        if let Some(way_back) = self.session.place.way_back() {
            ui::remark(&way_back);
        }
        Ok(())
    }

    /// Makes a plain file one for messages, where the person wants that.
    fn make_message_file(&self) -> Result<(), Failure> {
        match &self.session.place {
            Place::File(path)
                if self.session.choosing.force && !path.to_string_lossy().ends_with(".msg.md") =>
            {
                choosing::make_message_file(path, self.surroundings)
            }
            _ => Ok(()),
        }
    }

    fn greet(&self, who: &Who) {
        let (place, model) = (self.session.place.title(), &who.model);
        let model = format!("{}/{}", model.provider, model.name);
        ui::remark(&format!("{place}, with {model}; /help for help, Ctrl-D to end"));
    }

    /// Does what was typed. What fails is said.
    fn hear(&mut self, text: &str) -> Next {
        let done = match slash::parse(text) {
            Ok(Typed::Nothing) => Ok(()),
            Ok(Typed::Prompt(prompt)) => return self.say(&prompt),
            Ok(Typed::Command(Slash::Quit)) => return Next::End,
            Ok(Typed::Command(Slash::Edit(text))) => match edit::edit(&text, self.surroundings) {
                Ok(Some(prompt)) => {
                    ui::quote(&prompt);
                    return self.say(&prompt);
                }
                Ok(None) => {
                    ui::remark("nothing was written, so nothing is sent");
                    Ok(())
                }
                Err(failure) => {
                    ui::report(&failure, false);
                    return Next::Prompt(text);
                }
            },
            Ok(Typed::Command(command)) => self.act(command),
            Err(failure) => {
                ui::report(&failure, false);
                return Next::Prompt(text.to_string());
            }
        };
        if let Err(failure) = done {
            self.report(failure);
        }
        interrupt::rest();
        Next::Prompt(String::new())
    }

    /// Says something, and asks. What did not get into the conversation stands in the line again.
    fn say(&mut self, prompt: &str) -> Next {
        let before = self.session.place.said();
        let done =
            self.ask(Said { prompt: Some(prompt.to_string()), files: self.session.files.clone() });
        interrupt::rest();
        let is_kept = done.is_ok() || self.session.place.said() > before;
        if is_kept {
            self.session.files.clear();
        }
        let Err(failure) = done else { return Next::Prompt(String::new()) };
        self.report(failure);
        Next::Prompt(if is_kept { String::new() } else { prompt.to_string() })
    }

    /// Says what failed, with hints for somebody who is in a session.
    fn report(&self, failure: Failure) {
        let mut failure = self.surroundings.explain(failure);
        failure.hint = failure.hint.as_deref().map(ways::in_session);
        ui::report(&failure, false);
    }

    fn ask(&self, said: Said) -> Result<(), Failure> {
        let Session { config, choosing, manner, place, .. } = &self.session;
        let (surroundings, wanted) = (self.surroundings, self.wanted());
        let done = place.ask(Call { surroundings, config, wanted, choosing, manner }, said);
        done.map_err(|failure| failure.ask_again_with("/retry asks it again"))
    }

    fn act(&mut self, command: Slash) -> Result<(), Failure> {
        match command {
            Slash::Help => ui::print_lines(slash::help(ui::width())),
            Slash::Agent(None) | Slash::Model(None) => self.print_who(),
            Slash::Agent(Some(name)) => self.choose(None, Some(name)),
            Slash::Model(Some(name)) => self.choose(Some(name), self.session.agent.clone()),
            Slash::Context => self.session.place.context(self.wanted()),
            Slash::Compact => {
                let mut who = self.who()?;
                self.session.place.compact(&mut who, &self.session.manner, self.surroundings)
            }
            Slash::Undo => self.session.place.undo(self.surroundings),
            Slash::Fork => self.session.place.fork(self.surroundings),
            Slash::Retry => match self.session.place.is_unanswered(self.surroundings)? {
                true => self.ask(Said::default()),
                false => Err(Failure::input("there is nothing to ask again: all is answered")),
            },
            // Both are done by now.
            Slash::Edit(_) | Slash::Quit => Ok(()),
        }
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted { model: self.session.model.as_deref(), agent: self.session.agent.as_deref() }
    }

    fn who(&self) -> Result<Who, Failure> {
        self.session.place.who(self.surroundings, &self.session.config, self.wanted())
    }

    fn print_who(&self) -> Result<(), Failure> {
        let who = self.who()?;
        let model = format!("{}/{}", who.model.provider, who.model.name);
        ui::print_line(&format!("{} answers, with the model {model}", who.agent.name))?;
        let agents = self.names().agents;
        match agents.is_empty() {
            true => Ok(()),
            false => ui::print_line(&format!("agents: {}", agents.join(", "))),
        }
    }

    /// Lets somebody else answer from now on, if they can be asked.
    fn choose(&mut self, model: Option<String>, agent: Option<String>) -> Result<(), Failure> {
        let config = Config::read_for(model.as_deref(), agent.as_deref(), self.surroundings)?;
        let wanted = Wanted { model: model.as_deref(), agent: agent.as_deref() };
        let who = self.session.place.who(self.surroundings, &config, wanted)?;
        let name = format!("{}/{}", who.model.provider, who.model.name);
        ui::remark(&format!("{name} answers from now on"));
        let (options, limits) = (self.session.manner.options.clone(), self.session.manner.limits);
        let streams = self.session.manner.streams;
        self.session.manner =
            Manner { streams, ..Manner::new(options, limits, &config, self.surroundings) };
        self.session.config = config;
        (self.session.model, self.session.agent) = (model, agent);
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
