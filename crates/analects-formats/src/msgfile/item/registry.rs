//! Agents by name, from which files take their definitions. Where they come from is the caller's.

use analects_core::Agent;

use super::{ItemError, ItemErrorKind, check};

/// The agents that [`Draft::add_agent`](super::Draft::add_agent) can add to a file.
///
/// ```
/// use analects_core::Agent;
/// use analects_formats::msgfile::item::{AgentRegistry, ItemErrorKind};
///
/// let mut registry = AgentRegistry::new();
/// registry.register(Agent::of_model("coder", "gpt-5-mini"))?;
/// assert_eq!(registry.get("coder").map(|agent| agent.models[0].as_str()), Some("gpt-5-mini"));
/// assert_eq!(registry.get("nobody"), None);
/// assert_eq!(registry.list().count(), 1);
/// let again = registry.register(Agent::of_model("coder", "gpt-5")).unwrap_err();
/// assert_eq!(again.kind(), ItemErrorKind::Duplicate);
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
#[doc(alias = "AgentFactoryProtocol")]
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentRegistry {
    agents: Vec<Agent>,
}

impl AgentRegistry {
    /// A registry without agents.
    pub fn new() -> AgentRegistry {
        AgentRegistry::default()
    }

    /// The agent of that name.
    #[doc(alias = "get_agent")]
    pub fn get(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// Adds an agent. Its name must be one that agents can have, and new.
    #[doc(alias = "register_agent")]
    pub fn register(&mut self, agent: Agent) -> Result<(), ItemError> {
        check::agent_name(&agent.name)?;
        if self.get(&agent.name).is_some() {
            let text = format!("there is already an agent of the name {:?}", agent.name);
            return Err(ItemError::new(ItemErrorKind::Duplicate, text));
        }
        self.agents.push(agent);
        Ok(())
    }

    /// The agents, in the order in which they came.
    #[doc(alias = "list_agents")]
    pub fn list(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }
}
