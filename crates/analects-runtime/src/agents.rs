//! Finds who answers: the agent and model that the person names, or else the conversation, the last answer or the
//! configuration, in this order. A conversation may name models but no recording, which is a path on this machine. So
//! answers of a recording are marked `replay`, and no agent of the conversation gives them.

use std::error::Error;

use analects_client::{ClientError, Model, ProviderSettings, Transport, resolve};
use analects_core::{Agent, nearest};

use crate::{AskOptions, Conversation, PrepareError, Responders, agent_name};

/// The author of recorded answers.
pub const RECORDING_AUTHOR: &str = "replay";

/// The configured agents, and the configured models behind words such as `default`.
/// The crate reads no configuration itself: a program implements this trait for its own.
pub trait AgentSource {
    /// The configured agent of that name; `None` if there is none.
    fn agent(&self, name: &str) -> Result<Option<Agent>, Box<dyn Error + Send + Sync>>;

    /// The names of all configured agents.
    fn agent_names(&self) -> Vec<String>;

    /// The model that a word such as `default` stands for; `None` for any other word, or if nothing is configured.
    fn pointer(&self, word: &str) -> Option<String>;

    /// Whether a word stands for a model, configured or not.
    fn is_pointer(&self, word: &str) -> bool;

    /// Whether this is a model that would run on this machine, but is not there.
    fn is_missing(&self, _model: &str) -> bool {
        false
    }
}

/// An empty configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingConfigured;

impl AgentSource for NothingConfigured {
    fn agent(&self, _: &str) -> Result<Option<Agent>, Box<dyn Error + Send + Sync>> {
        Ok(None)
    }

    fn agent_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn pointer(&self, _: &str) -> Option<String> {
        None
    }

    fn is_pointer(&self, _: &str) -> bool {
        false
    }
}

/// An agent and the model that answers for it.
#[derive(Debug, Clone)]
pub struct ResolvedAgent {
    /// The agent.
    pub agent: Agent,
    /// The model.
    pub model: Model,
    /// The name by which the model was requested, such as `openai/gpt-5`.
    pub requested_model: String,
    /// Whether the agent comes from the configuration and is new to the conversation.
    pub is_configured: bool,
}

impl ResolvedAgent {
    /// Resolves the model of an agent. A recording gets an agent of its own.
    /// Fails if the name of the model is unknown, or if its provider needs a key that `environment` does not have.
    pub fn new(
        agent: Agent,
        model: &str,
        environment: &ProviderSettings,
    ) -> Result<ResolvedAgent, Box<ClientError>> {
        let requested_model = model.to_string();
        let model = resolve(model, environment)?;
        // Fail before anything is written for this model.
        model.check()?;
        let mut resolved = ResolvedAgent {
            agent,
            model,
            requested_model,
            is_configured: false,
        };
        if resolved.is_recording() {
            resolved.agent = Agent {
                name: RECORDING_AUTHOR.to_string(),
                models: Vec::new(),
                ..Agent::default()
            };
        }
        Ok(resolved)
    }

    /// Whether the answer comes from a recording.
    pub fn is_recording(&self) -> bool {
        matches!(self.model.transport, Transport::Replay(_))
    }
}

/// Something about the choice of agent and model that a person should know.
#[derive(Debug)]
pub enum ResponderNote {
    /// A model of an agent cannot be asked, so the next one answers. Its name may be misspelt.
    ModelSkipped {
        /// The agent.
        agent: String,
        /// The model that was skipped.
        model: String,
        /// Why it cannot be asked; `None` for a recording.
        why: Option<ClientError>,
        /// The model that answers instead.
        instead: String,
    },
    /// A model of an agent would run on this machine but is not there, so the next one answers.
    MissingModelSkipped {
        /// The agent.
        agent: String,
        /// The model that was skipped.
        model: String,
        /// The model that answers instead.
        instead: String,
    },
    /// The model that answered last cannot be asked here, so another one answers, perhaps of another provider.
    LastModelSkipped {
        /// The model that answered last.
        model: String,
        /// Why it cannot be asked.
        why: ClientError,
        /// The model that answers instead.
        instead: String,
    },
    /// The agent that answered last is not configured here, so its instructions are missing.
    AgentNotConfigured(String),
}

/// The agent that answers next unless a person names another one. Its first model is the one that answers. `None` if
/// nobody can answer.
pub fn next_agent(conversation: &impl Conversation, options: &AskOptions<'_>) -> Option<Agent> {
    let mut resolver = Resolver {
        options,
        responders: &conversation.responders(),
        notes: Vec::new(),
    };
    let resolved = resolver.find(None).ok()?;
    if resolved.is_recording() {
        return None;
    }
    let mut agent = resolved.agent;
    agent
        .models
        .retain(|model| *model != resolved.requested_model);
    agent.models.insert(0, resolved.requested_model);
    Some(agent)
}

/// Finds who answers, and collects notes about the choice.
pub(crate) struct Resolver<'a> {
    pub(crate) options: &'a AskOptions<'a>,
    pub(crate) responders: &'a Responders,
    pub(crate) notes: Vec<ResponderNote>,
}

impl Resolver<'_> {
    /// Finds who answers questions that name the agent `meant_for`, or no agent.
    pub(crate) fn find(&mut self, meant_for: Option<&str>) -> Result<ResolvedAgent, PrepareError> {
        let model = match self.options.model {
            Some(name) => Some(self.model_named(name)?),
            None => None,
        };
        match (self.options.agent.or(meant_for), model) {
            (Some(name), Some(model)) if self.is_new_agent(name) => {
                let agent = Agent::of_model(name, model.as_str());
                self.resolve(agent, &model, true)
            }
            (Some(name), model) => self.by_name(name, model),
            (None, Some(model)) => self.by_model(&model, true),
            (None, None) => self.unnamed(),
        }
    }

    /// Who answers if the person names neither agent nor model.
    /// In this order: the default agent of the conversation, the configured agent that answered last, the last model
    /// that was asked here, and what [`Resolver::unnamed_model`] finds.
    fn unnamed(&mut self) -> Result<ResolvedAgent, PrepareError> {
        if let Some(agent) = self.default_agent().cloned() {
            let model = self.usable_model(&agent).unwrap_or_default();
            return self.resolve(agent, &model, true);
        }
        let responders = self.responders;
        let last_model = responders.models.iter().find(|model| is_askable(model));
        if let Some(name) = self.last_configured_agent()? {
            return self.by_name(&name, last_model.cloned());
        }
        let model = last_model.cloned().or_else(|| self.unnamed_model());
        match model {
            Some(model) => self.by_model(&model, false),
            None => Err(no_model(responders.agents.first())),
        }
    }

    /// The model that answers if no earlier answer names one: a model of an answer from elsewhere that has a key here, or
    /// the configured default, or a model without a key, so that the error says which key is missing.
    /// Adds a note if it is not the model that answered last.
    fn unnamed_model(&mut self) -> Option<String> {
        let foreign: Vec<String> = self.foreign_models().cloned().collect();
        let usable = foreign
            .iter()
            .find(|model| resolve(model, self.options.environment).is_ok());
        let Some(last) = foreign.first() else {
            return self.default_model();
        };
        let Some(instead) = usable.cloned().or_else(|| self.default_model()) else {
            return Some(last.clone());
        };
        if let Err(why) = resolve(last, self.options.environment) {
            self.notes.push(ResponderNote::LastModelSkipped {
                model: last.clone(),
                why,
                instead: instead.clone(),
            });
        }
        Some(instead)
    }

    fn foreign_models(&self) -> impl Iterator<Item = &String> {
        let models = self.responders.foreign_models.iter();
        models.filter(|model| is_askable(model))
    }

    /// The configured default model. A conversation that defines agents does not use it.
    fn default_model(&self) -> Option<String> {
        if !self.responders.agents.is_empty() {
            return None;
        }
        self.options.agents.pointer("default")
    }

    /// The agent of the conversation that answers unless another is named.
    fn default_agent(&self) -> Option<&Agent> {
        self.agent_of_conversation(self.responders.default.as_ref()?)
    }

    fn agent_of_conversation(&self, name: &str) -> Option<&Agent> {
        let mut agents = self.responders.agents.iter();
        agents.find(|agent| agent.name == name)
    }

    /// The agent of the conversation that has this model, or a new agent.
    fn by_model(&self, model: &str, is_named: bool) -> Result<ResolvedAgent, PrepareError> {
        let agents = &self.responders.agents;
        let mut candidates = self.default_agent().into_iter().chain(agents);
        let agent = match candidates.find(|agent| has_model(agent, model)) {
            Some(agent) => agent.clone(),
            None => Agent::of_model(free_name(agent_name(model), agents), model),
        };
        self.resolve(agent, model, is_named)
    }

    /// The agent of that name, from the conversation or else from the configuration.
    fn by_name(
        &mut self,
        name: &str,
        model: Option<String>,
    ) -> Result<ResolvedAgent, PrepareError> {
        let known = self.agent_of_conversation(name).cloned();
        let is_configured = known.is_none();
        let agent = match known {
            Some(agent) => Some(agent),
            None => self.configured(name)?,
        };
        let Some(agent) = agent else {
            return Err(self.unknown_agent(name));
        };
        let Some(model) = model.or_else(|| self.usable_model(&agent)) else {
            return Err(no_model(Some(&agent)));
        };
        let mut resolved = self.resolve(agent, &model, true)?;
        resolved.is_configured = is_configured && !resolved.is_recording();
        Ok(resolved)
    }

    fn unknown_agent(&self, name: &str) -> PrepareError {
        PrepareError::UnknownAgent {
            name: name.to_string(),
            known: self.known_names(),
        }
    }

    /// Resolves the model of an agent. `is_named` says whether the person or the conversation named the model.
    /// The error of a name that the person typed reads differently from one that came out of a file, hence the flag.
    fn resolve(
        &self,
        agent: Agent,
        model: &str,
        is_named: bool,
    ) -> Result<ResolvedAgent, PrepareError> {
        let resolved = ResolvedAgent::new(agent, model, self.options.environment);
        resolved.map_err(|error| PrepareError::Model {
            error,
            model: model.to_string(),
            is_named,
        })
    }

    /// The model that the person names, which may be a word such as `default`.
    fn model_named(&self, wanted: &str) -> Result<String, PrepareError> {
        if !self.options.agents.is_pointer(wanted) {
            return Ok(wanted.to_string());
        }
        let model = self.options.agents.pointer(wanted);
        model.ok_or_else(|| PrepareError::UnknownPointer(wanted.to_string()))
    }

    fn configured(&self, name: &str) -> Result<Option<Agent>, PrepareError> {
        let agent = self.options.agents.agent(name);
        agent.map_err(PrepareError::Configuration)
    }

    /// The configured agent that answered last. Adds a note if it is not configured here.
    fn last_configured_agent(&mut self) -> Result<Option<String>, PrepareError> {
        let Some(name) = self.responders.last_configured.clone() else {
            return Ok(None);
        };
        if self.configured(&name)?.is_some() {
            return Ok(Some(name));
        }
        self.notes.push(ResponderNote::AgentNotConfigured(name));
        Ok(None)
    }

    /// The first model of an agent that has a key here. Without one, the first model that could be asked, so that the
    /// error says which key is missing.
    fn usable_model(&mut self, agent: &Agent) -> Option<String> {
        // A dry run without keys should show the model that a real run would ask.
        let mut environment = self.options.environment.clone();
        environment.allow_no_key = false;
        let is_missing = |name: &str| self.options.agents.is_missing(name);
        let can_be_asked = |name: &String| {
            is_askable(name) && resolve(name, &environment).is_ok() && !is_missing(name)
        };
        let models = &agent.models;
        let Some(first_usable) = models.iter().position(can_be_asked) else {
            return models.iter().find(|model| is_askable(model)).cloned();
        };
        for model in &models[..first_usable] {
            let why = resolve(model, &environment).err();
            let (agent, model) = (agent.name.clone(), model.clone());
            let instead = models[first_usable].clone();
            let note = if why.is_none() && self.options.agents.is_missing(&model) {
                ResponderNote::MissingModelSkipped {
                    agent,
                    model,
                    instead,
                }
            } else {
                ResponderNote::ModelSkipped {
                    agent,
                    model,
                    why,
                    instead,
                }
            };
            self.notes.push(note);
        }
        Some(models[first_usable].clone())
    }

    /// The names of all agents, sorted.
    fn known_names(&self) -> Vec<String> {
        let mut names = self.options.agents.agent_names();
        names.extend(
            self.responders
                .agents
                .iter()
                .map(|agent| agent.name.clone()),
        );
        names.sort();
        names.dedup();
        names
    }

    /// Whether the conversation may define a new agent of this name. A name much like that of an existing agent is taken
    /// for a typing error.
    fn is_new_agent(&self, name: &str) -> bool {
        if !self.responders.defines_agents || agent_name(name) != name {
            return false;
        }
        let names = self.known_names();
        let is_known = names.iter().any(|known| known == name);
        !is_known && nearest(name, names.iter().map(String::as_str)).is_none()
    }
}

/// The error if no model can be asked, for `agent` or for nobody in particular.
fn no_model(agent: Option<&Agent>) -> PrepareError {
    match agent {
        Some(agent) => PrepareError::NoModelOfAgent(agent.name.clone()),
        None => PrepareError::NoModel,
    }
}

fn has_model(agent: &Agent, model: &str) -> bool {
    agent.models.iter().any(|name| name == model)
}

/// Whether this version understands the name of a model, and it is no recording. There may still be no key for it.
/// Needs no keys and no network. Names in a conversation may come from a newer version of this program.
pub fn is_askable(model: &str) -> bool {
    if model.starts_with("replay:") {
        return false;
    }
    let resolved = resolve(model, &ProviderSettings::default());
    !matches!(resolved, Err(ClientError::UnknownModel { .. }))
}

/// The name for a new agent, with the first number behind it that makes it unique if it is taken.
/// `gpt-5` becomes `gpt-5-2` if an agent `gpt-5` exists. [`RECORDING_AUTHOR`] is always taken.
fn free_name(name: String, agents: &[Agent]) -> String {
    let mut candidate = name.clone();
    let mut number = 2;
    while candidate == RECORDING_AUTHOR || agents.iter().any(|agent| agent.name == candidate) {
        candidate = format!("{name}-{number}");
        number += 1;
    }
    candidate
}
