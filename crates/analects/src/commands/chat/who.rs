//! Who is asked: the agent and the model that the person, the file or the last answer names.
//!
//! A file may name models, but no recording, which is a path on this machine; so a recording has no
//! agent in the file, and its replies are marked `replay`. The configuration is asked last: what the
//! person says and what the file says count before it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use analects_client::{Model, Surroundings, Transport, resolve};
use analects_core::Agent;
use analects_formats::msgfile::Document;
use analects_runtime::{RECORDED, StoredConversation, agent_name};

use crate::config::{Config, check_model};
use crate::failure::Failure;
use crate::{ui, ways};

/// Whom the person wants to ask.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The name of a model, or a word that the configuration gives one for.
    pub model: Option<&'a str>,
    /// The name of an agent of the file or of the configuration.
    pub agent: Option<&'a str>,
}

/// An agent, and the model that answers in its name.
pub struct Who {
    pub agent: Agent,
    pub model: Model,
    /// The name under which that model is asked.
    pub asked_as: String,
    /// Whether the agent comes from the configuration, and the file does not know it yet.
    pub is_configured: bool,
}

impl Who {
    /// The one to ask in a file: whoever is wanted, or whoever usually answers.
    pub fn of_file(
        document: &Document,
        wanted: Wanted<'_>,
        surroundings: &Surroundings,
        config: &Config,
    ) -> Result<Who, Failure> {
        let agents = document.agents();
        let model = wanted.model.map(|model| config.model(model)).transpose()?;
        if let Some(name) = wanted.agent {
            // A name of its own for the agent that a model makes, if it is one that a file can have.
            let is_new = config.is_new_agent(name, &agents) && agent_name(name) == name;
            return match model {
                Some(model) if is_new => {
                    Who::new(Agent::of_model(name, model.as_str()), &model, surroundings)
                }
                model => Who::named(name, &agents, model, surroundings, config),
            };
        }
        let usual = usual_agent(document);
        let is_named = model.is_some();
        let name = match (model, usual.clone()) {
            (Some(name), _) => name,
            (None, Some(agent)) => {
                let model = model_of(&agent, surroundings).unwrap_or_default().to_string();
                return Who::new(agent, &model, surroundings);
            }
            (None, None) => {
                let default = config.pointer("default").filter(|_| agents.is_empty());
                default.ok_or_else(|| nobody(&agents, surroundings))?.to_string()
            }
        };
        let mut known = usual.iter().chain(&agents);
        let known = known.find(|agent| agent.models.contains(&name));
        let agent = match known {
            Some(agent) => agent.clone(),
            None => Agent::of_model(free_name(agent_name(&name), &agents), name.as_str()),
        };
        let who = Who::new(agent, &name, surroundings);
        who.map_err(|failure| if is_named { failure } else { config.told_where(failure, &name) })
    }

    /// The one to ask in a stored conversation: whoever is wanted, or else the agent, or the model, that answered last.
    pub fn of_store(
        conversation: &StoredConversation,
        wanted: Wanted<'_>,
        surroundings: &Surroundings,
        config: &Config,
    ) -> Result<Who, Failure> {
        let model = wanted.model.map(|model| config.model(model)).transpose()?;
        if let Some(name) = wanted.agent {
            return Who::named(name, &[], model, surroundings, config);
        }
        let last = || conversation.models().find(|model| is_askable(model));
        if model.is_none()
            && let Some(name) = last_agent(conversation, config)?
        {
            return Who::named(&name, &[], last(), surroundings, config);
        }
        let default = || config.pointer("default").map(str::to_string);
        let is_named = model.is_some();
        // An answer from elsewhere may be by a model that nobody has a key for here.
        let foreign = || conversation.foreign_models().find(|model| is_askable(model));
        let usable = || foreign().filter(|model| resolve(model, surroundings).is_ok());
        let name = model.or_else(last).or_else(usable).or_else(default).or_else(foreign);
        let name = name.ok_or_else(|| ways::no_model(surroundings))?;
        let who = Who::new(Agent::of_model(agent_name(&name), &name), &name, surroundings);
        who.map_err(|failure| if is_named { failure } else { config.told_where(failure, &name) })
    }

    /// The agent of that name: the file's, or else the one that is configured.
    fn named(
        name: &str,
        agents: &[Agent],
        model: Option<String>,
        surroundings: &Surroundings,
        config: &Config,
    ) -> Result<Who, Failure> {
        let known = agents.iter().find(|agent| agent.name == name).cloned();
        let is_configured = known.is_none();
        let agent = match known {
            Some(agent) => agent,
            None => config.agent(name)?.ok_or_else(|| config.no_such_agent(name, agents))?,
        };
        let model = model.or_else(|| model_of(&agent, surroundings).map(str::to_string));
        let model = model.ok_or_else(|| nobody(std::slice::from_ref(&agent), surroundings))?;
        let who = Who::new(agent, &model, surroundings)?;
        Ok(Who { is_configured: is_configured && !who.is_recording(), ..who })
    }

    /// Whether the answer is a recorded one.
    pub fn is_recording(&self) -> bool {
        matches!(self.model.transport, Transport::Replay(_))
    }

    fn new(agent: Agent, model: &str, surroundings: &Surroundings) -> Result<Who, Failure> {
        let asked_as = model.to_string();
        let model = resolve(model, surroundings)?;
        // Before anything is written because of it.
        model.check()?;
        if let Transport::Replay(_) = &model.transport {
            let agent =
                Agent { name: RECORDED.to_string(), models: Vec::new(), ..Agent::default() };
            return Ok(Who { agent, model, asked_as, is_configured: false });
        }
        Ok(Who { agent, model, asked_as, is_configured: false })
    }
}

/// Who answers in a file if the person names nobody: of the agents that have a model that can be asked.
pub fn usual_agent(document: &Document) -> Option<Agent> {
    document.answerer(|agent| askable_model(agent).is_some())
}

/// The configured agent that answered last. Where it is not configured any more, that is said, for its instructions
/// are missing then.
fn last_agent(
    conversation: &StoredConversation,
    config: &Config,
) -> Result<Option<String>, Failure> {
    let Some(name) = conversation.last_agent() else { return Ok(None) };
    if config.agent(&name)?.is_some() {
        return Ok(Some(name));
    }
    tell_once(&format!(
        "warning: the agent {name}, which answered last, is not configured here: its model answers \
         without its instructions"
    ));
    Ok(None)
}

/// The model that answers for an agent: the first of its list that can be asked from here, or else the first that
/// could be, so that asking tells what is missing. What is passed over is said: it may be a slip of the pen, and
/// the conversation goes to somebody else then.
fn model_of<'a>(agent: &'a Agent, surroundings: &Surroundings) -> Option<&'a str> {
    // Also where nothing is sent, it is the one to which it would be.
    let mut surroundings = surroundings.clone();
    surroundings.allow_no_key = false;
    let tried = |name: &str| check_model(name).and_then(|()| Ok(resolve(name, &surroundings)?));
    let usable = agent.models.iter().position(|name| tried(name).is_ok());
    let Some(usable) = usable else { return askable_model(agent) };
    for name in &agent.models[..usable] {
        let Err(why) = tried(name) else { continue };
        let why = why.message.trim_end_matches(&format!(" \"{name}\"")).to_string();
        let (who, other) = (&agent.name, &agent.models[usable]);
        tell_once(&format!("warning: {who}: {name} is passed over ({why}); {other} answers"));
    }
    Some(&agent.models[usable])
}

/// Says something that holds for every prompt of a session, the first time.
fn tell_once(text: &str) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(text.to_string()) {
        ui::remark(text);
    }
}

fn askable_model(agent: &Agent) -> Option<&str> {
    agent.models.iter().map(String::as_str).find(|model| is_askable(model))
}

/// Whether a model is named in a way that this version understands, and is no recording. Whether
/// there is a key for it, asking will tell.
fn is_askable(model: &str) -> bool {
    check_model(model).is_ok()
}

/// The name for a new agent: as it is, or with the first number that makes it new.
fn free_name(name: String, agents: &[Agent]) -> String {
    let is_free =
        |name: &String| name != RECORDED && agents.iter().all(|agent| agent.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(is_free).unwrap_or(name)
}

/// Says why none of the agents can be asked.
fn nobody(agents: &[Agent], surroundings: &Surroundings) -> Failure {
    let Some(agent) = agents.first() else { return ways::no_model(surroundings) };
    let message = format!("the agent {} names no model that can be asked", agent.name);
    Failure::usage(message, "name one, such as -m openai/gpt-5-mini")
}
