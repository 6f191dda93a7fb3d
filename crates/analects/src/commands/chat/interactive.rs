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

use std::path::{Path, PathBuf};

use analects_formats::msgfile::pictures_in;
use analects_runtime::attached;

use super::{Arrived, Call, Choosing, Manner, Said, Wanted, Who, choosing, pictures};
use crate::config::{Config, POINTERS};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{interrupt, ui, ways};
use complete::{Names, Offers};
use edit::Edited;
use history::History;
use input::{Draft, Heard, Input};
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
        Running { session: self, surroundings, was_there: false }.run()
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
    let blank = if slash::command(prompt).is_some() { " " } else { "" };
    format!("{blank}{prompt}")
}

/// Whether a file can be shown to a model.
fn check_file(path: &Path) -> Result<(), Failure> {
    Ok(attached(Path::new(""), path).map(drop)?)
}

impl Running<'_> {
    fn run(mut self) -> Result<(), Failure> {
        self.session.files.iter().try_for_each(|file| check_file(file))?;
        self.make_message_file()?;
        // Whoever cannot be asked is told before something is typed for them.
        let who = self.who()?;
        self.greet(&who);
        drop(who);
        self.was_there = self.session.place.is_begun();
        ways::begin_session();
        interrupt::rest();
        let _hushed = ui::keys::Hushed::new();
        interrupt::keep_terminal();
        let offers = Offers::default();
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
                        Next::Prompt(unsent) => draft = Draft { unsent, typed: ui::keys::typed() },
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
            Ok(Typed::Command(Slash::Edit(text))) => return self.edit(&text),
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

    /// Lets the person write a prompt in an editor, from this text on, and says it. Where nothing is sent, the text
    /// stands in the line.
    fn edit(&mut self, text: &str) -> Next {
        match edit::edit(text, self.surroundings) {
            Ok(Edited::Written(prompt)) => {
                ui::quote(&prompt);
                return self.say(&prompt);
            }
            Ok(Edited::Unchanged) => ui::remark("nothing was changed, so nothing is sent"),
            Ok(Edited::Nothing) => {
                ui::remark("nothing was written, so nothing is sent");
                return Next::Prompt(String::new());
            }
            Err(failure) => ui::report(&failure, false),
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
        let arrived = Arrived::default();
        let said = Said {
            prompt: Some(prompt.to_string()),
            files: self.session.files.clone(),
            arrived: arrived.clone(),
            ..Said::default()
        };
        let done = self.allow_pictures(prompt).and_then(|()| self.ask(said));
        interrupt::rest();
        // What is shown already is not shown once more with the next prompt.
        self.session.files.drain(..arrived.files());
        let Err(failure) = done else { return Next::Prompt(String::new()) };
        self.report(failure);
        if arrived.has_prompt() {
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
        match self.was_there && !self.session.place.is_there() {
            true => {
                let name = self.session.place.name();
                Err(Failure::not_found(format!("{name} is not there any more")))
            }
            false => Ok(()),
        }
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
        let mut failure = self.surroundings.explain(failure);
        failure.hint = failure.hint.as_deref().map(ways::here);
        ui::report(&failure, false);
    }

    fn ask(&self, said: Said) -> Result<(), Failure> {
        let Session { config, choosing, manner, place, .. } = &self.session;
        let (surroundings, wanted) = (self.surroundings, self.wanted());
        let (arrived, is_new) = (said.arrived.clone(), said.prompt.is_some());
        let done = place.ask(Call { surroundings, config, wanted, choosing, manner }, said);
        done.map_err(|failure| match is_new && !arrived.has_prompt() {
            true => failure,
            false => self.with_way_on(failure),
        })
    }

    /// Adds what can be done about a question that is in the conversation and has no answer, or the half of one.
    fn with_way_on(&self, failure: Failure) -> Failure {
        let failure = failure.ask_again_with(ways::RETRY);
        if failure.hint.as_deref().is_some_and(ways::tells_how_to_retry) {
            return failure;
        }
        let (place, surroundings) = (&self.session.place, self.surroundings);
        // The half of an answer may be that to an earlier question.
        if place.is_unanswered(surroundings).unwrap_or(false) {
            return failure.and_hint(&format!("your prompt is kept: {}", ways::RETRY));
        }
        match place.has_broken_answer(surroundings) {
            Ok(true) => failure.and_hint(ways::RETRY_BROKEN),
            _ => failure,
        }
    }

    /// Asks what has no answer, or none that came to its end.
    fn retry(&self) -> Result<(), Failure> {
        let (place, surroundings) = (&self.session.place, self.surroundings);
        if place.is_unanswered(surroundings)? || place.set_broken_aside(surroundings)? {
            return self.ask(Said::default());
        }
        Err(Failure::input("there is nothing to ask again: all is answered"))
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
            // These are done by now.
            Slash::Retry | Slash::Edit(_) | Slash::Quit => Ok(()),
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
