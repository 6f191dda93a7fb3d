//! Who answers: the agent and the model that a person, the conversation, the last answer or the configuration names,
//! in this order.
//!
//! A conversation may name models, but no recording, which is a path on this machine. So a recording has no agent in a
//! conversation, and its answers are marked `replay`.

use std::error::Error;

use analects_client::{ClientError, Model, Surroundings, Transport, resolve};
use analects_core::{Agent, nearest};

use crate::{AskOptions, PrepareError, Responders, agent_name};

/// The author of recorded answers.
pub const RECORDING_AUTHOR: &str = "replay";

/// What is configured: agents, and words that stand for models.
pub trait AgentSource {
    /// The agent of that name.
    fn agent(&self, name: &str) -> Result<Option<Agent>, Box<dyn Error + Send + Sync>>;

    /// The names of all agents.
    fn agent_names(&self) -> Vec<String>;

    /// The model that a word such as `default` stands for; `None` for any other word, or if nothing is configured.
    fn pointer(&self, word: &str) -> Option<String>;

    /// Whether a word stands for a model, configured or not.
    fn is_pointer(&self, word: &str) -> bool;
}

/// Nothing is configured.
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

/// An agent, and the model that answers in its name.
#[derive(Debug, Clone)]
pub struct ResolvedAgent {
    /// The agent.
    pub agent: Agent,
    /// The model.
    pub model: Model,
    /// The name under which that model is asked.
    pub requested_model: String,
    /// Whether the agent comes from the configuration, and the conversation does not know it yet.
    pub is_configured: bool,
}

impl ResolvedAgent {
    /// An agent whose model is asked by this name. A recording answers for itself.
    pub fn new(
        agent: Agent,
        model: &str,
        environment: &Surroundings,
    ) -> Result<ResolvedAgent, Box<ClientError>> {
        let requested_model = model.to_string();
        let model = resolve(model, environment)?;
        // Before anything is written because of it.
        model.check()?;
        let mut resolved = ResolvedAgent {
            agent,
            model,
            requested_model,
            is_configured: false,
        };
        if resolved.is_recording() {
            let name = RECORDING_AUTHOR.to_string();
            resolved.agent = Agent {
                name,
                models: Vec::new(),
                ..Agent::default()
            };
        }
        Ok(resolved)
    }

    /// Whether the answer is a recorded one.
    pub fn is_recording(&self) -> bool {
        matches!(self.model.transport, Transport::Replay(_))
    }
}

/// What is worth telling about who answers.
#[derive(Debug)]
pub enum ResponderNote {
    /// A model of an agent cannot be asked, and another one answers: it may be a slip of the pen.
    ModelSkipped {
        /// The agent.
        agent: String,
        /// The model that is not asked.
        model: String,
        /// Why it cannot be asked; `None` for a recording.
        why: Option<ClientError>,
        /// The model that answers.
        instead: String,
    },
    /// The agent that answered last is not configured here, so its instructions are missing.
    AgentNotConfigured(String),
}

/// Finds who answers.
pub(crate) struct Resolver<'a> {
    pub(crate) options: &'a AskOptions<'a>,
    pub(crate) responders: &'a Responders,
    pub(crate) notes: Vec<ResponderNote>,
}

impl Resolver<'_> {
    /// The one who answers, if the questions are meant for `meant_for`.
    pub(crate) fn find(&mut self, meant_for: Option<&str>) -> Result<ResolvedAgent, PrepareError> {
        let model = self
            .options
            .model
            .map(|name| self.model_named(name))
            .transpose()?;
        if let Some(name) = self.options.agent.or(meant_for) {
            return match model {
                Some(model) if self.is_new_agent(name) => {
                    self.resolved(Agent::of_model(name, model.as_str()), &model, true)
                }
                model => self.agent_named(name, model),
            };
        }
        let Some(model) = model else {
            return self.usual();
        };
        self.by_model(&model, true)
    }

    /// The one who answers if nobody is named.
    fn usual(&mut self) -> Result<ResolvedAgent, PrepareError> {
        if let Some(agent) = self.default_agent().cloned() {
            let model = self.model_of(&agent).unwrap_or_default();
            return self.resolved(agent, &model, true);
        }
        let last = self
            .responders
            .models
            .iter()
            .find(|model| is_askable(model))
            .cloned();
        if let Some(name) = self.last_configured()? {
            return self.agent_named(&name, last);
        }
        // An answer from elsewhere may be by a model that nobody has a key for here.
        let mut foreign = self
            .responders
            .foreign_models
            .iter()
            .filter(|model| is_askable(model));
        let first_foreign = foreign.clone().next().cloned();
        let usable = foreign.find(|model| resolve(model, self.options.environment).is_ok());
        let has_agents = !self.responders.agents.is_empty();
        let default = || {
            self.options
                .agents
                .pointer("default")
                .filter(|_| !has_agents)
        };
        let name = last.or(usable.cloned()).or_else(default).or(first_foreign);
        match name {
            Some(name) => self.by_model(&name, false),
            None => Err(self.nobody(self.responders.agents.first())),
        }
    }

    /// The agent of the conversation that answers unless another is named.
    fn default_agent(&self) -> Option<&Agent> {
        let name = self.responders.default.as_ref()?;
        self.responders
            .agents
            .iter()
            .find(|agent| agent.name == *name)
    }

    /// The agent of the conversation that asks this model, or a new one.
    fn by_model(&self, model: &str, is_named: bool) -> Result<ResolvedAgent, PrepareError> {
        let mut known = self
            .default_agent()
            .into_iter()
            .chain(&self.responders.agents);
        let agent = match known.find(|agent| agent.models.iter().any(|known| known == model)) {
            Some(agent) => agent.clone(),
            None => {
                let name = free_name(agent_name(model), &self.responders.agents);
                Agent::of_model(name, model)
            }
        };
        self.resolved(agent, model, is_named)
    }

    /// The agent of that name: the conversation's, or else the one that is configured.
    fn agent_named(
        &mut self,
        name: &str,
        model: Option<String>,
    ) -> Result<ResolvedAgent, PrepareError> {
        let known = self
            .responders
            .agents
            .iter()
            .find(|agent| agent.name == name)
            .cloned();
        let is_configured = known.is_none();
        let agent = match known {
            Some(agent) => agent,
            None => self
                .configured(name)?
                .ok_or_else(|| PrepareError::UnknownAgent {
                    name: name.to_string(),
                    known: self.known_names(),
                })?,
        };
        let model = model.or_else(|| self.model_of(&agent));
        let model = model.ok_or_else(|| self.nobody(Some(&agent)))?;
        let resolved = self.resolved(agent, &model, true)?;
        let is_configured = is_configured && !resolved.is_recording();
        Ok(ResolvedAgent {
            is_configured,
            ..resolved
        })
    }

    fn resolved(
        &self,
        agent: Agent,
        model: &str,
        is_named: bool,
    ) -> Result<ResolvedAgent, PrepareError> {
        ResolvedAgent::new(agent, model, self.options.environment).map_err(|error| {
            PrepareError::Model {
                error,
                model: model.to_string(),
                is_named,
            }
        })
    }

    /// The model that a person means: a word may stand for another.
    fn model_named(&self, wanted: &str) -> Result<String, PrepareError> {
        if !self.options.agents.is_pointer(wanted) {
            return Ok(wanted.to_string());
        }
        let model = self.options.agents.pointer(wanted);
        model.ok_or_else(|| PrepareError::UnknownPointer(wanted.to_string()))
    }

    fn configured(&self, name: &str) -> Result<Option<Agent>, PrepareError> {
        self.options
            .agents
            .agent(name)
            .map_err(PrepareError::Configuration)
    }

    /// The configured agent that answered last.
    fn last_configured(&mut self) -> Result<Option<String>, PrepareError> {
        let Some(name) = self.responders.last_configured.clone() else {
            return Ok(None);
        };
        if self.configured(&name)?.is_some() {
            return Ok(Some(name));
        }
        self.notes.push(ResponderNote::AgentNotConfigured(name));
        Ok(None)
    }

    /// The model that answers for an agent: the first of its list that can be asked from here, or else the first that
    /// could be, so that asking tells what is missing.
    fn model_of(&mut self, agent: &Agent) -> Option<String> {
        // Also where nothing is sent, it is the one to which it would be.
        let mut environment = self.options.environment.clone();
        environment.allow_no_key = false;
        let can_be_asked = |name: &String| is_askable(name) && resolve(name, &environment).is_ok();
        let Some(usable) = agent.models.iter().position(can_be_asked) else {
            return agent.models.iter().find(|model| is_askable(model)).cloned();
        };
        for model in &agent.models[..usable] {
            self.notes.push(ResponderNote::ModelSkipped {
                agent: agent.name.clone(),
                model: model.clone(),
                why: resolve(model, &environment).err(),
                instead: agent.models[usable].clone(),
            });
        }
        Some(agent.models[usable].clone())
    }

    fn known_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .responders
            .agents
            .iter()
            .map(|agent| agent.name.clone())
            .collect();
        names.extend(self.options.agents.agent_names());
        names.sort();
        names.dedup();
        names
    }

    /// Whether a conversation could define an agent of this name: nobody has it, nor one that is so near to it that it
    /// may be meant.
    fn is_new_agent(&self, name: &str) -> bool {
        let names = self.known_names();
        self.responders.defines_agents
            && agent_name(name) == name
            && !names.iter().any(|known| known == name)
            && nearest(name, names.iter().map(String::as_str)).is_none()
    }

    fn nobody(&self, agent: Option<&Agent>) -> PrepareError {
        match agent {
            Some(agent) => PrepareError::NoModelOfAgent(agent.name.clone()),
            None => PrepareError::NoModel,
        }
    }
}

/// Whether a model is named in a way that this version understands, and is no recording. Whether there is a key for
/// it, asking will tell.
pub fn is_askable(model: &str) -> bool {
    let is_recording = model.starts_with("replay:");
    let is_unknown = || {
        matches!(
            resolve(model, &Surroundings::default()),
            Err(ClientError::UnknownModel(_))
        )
    };
    !is_recording && !is_unknown()
}

/// The name for a new agent: as it is, or with the first number that makes it new.
fn free_name(name: String, agents: &[Agent]) -> String {
    let is_free =
        |name: &String| name != RECORDING_AUTHOR && agents.iter().all(|agent| agent.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(is_free).unwrap_or(name)
}
