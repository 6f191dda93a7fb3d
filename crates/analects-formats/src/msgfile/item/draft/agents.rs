//! The agents of a draft: adding them, choosing the default, and finding the one that replies; and the registry of agents
//! that can be added.

use analects_core::Agent;
use serde_json::{Map, Value};

use super::{Draft, DraftOperation};
use crate::msgfile::cell_edits::would_change_others;
use crate::msgfile::item::check::{self, shown};
use crate::msgfile::item::{ItemError, ItemErrorKind};
use crate::msgfile::{Document, NewCell, Refusal, Splice, append, decode, frontmatter};

impl Draft {
    /// Adds an agent of the registry, with some of its settings changed: `context_window`,
    /// `max_output_tokens`, `reasoning`, `use_temperature`, `temperature`. Its models and its system
    /// prompt are what it is, and cannot be changed.
    ///
    /// ```
    /// use analects_core::Agent;
    /// use analects_formats::msgfile::{decode, item::{AgentRegistry, Draft, ItemErrorKind}};
    /// use serde_json::{Map, json};
    ///
    /// let mut registry = AgentRegistry::new();
    /// registry.register(Agent::of_model("coder", "gpt-5-mini"))?;
    /// let mut draft = Draft::new(decode(""));
    /// let overrides = json!({"temperature": 0.2}).as_object().cloned().unwrap();
    /// assert_eq!(draft.add_agent(&registry, "coder", &overrides)?.temperature, 0.2);
    /// assert_eq!(draft.agents().len(), 1);
    ///
    /// let overrides = json!({"models": ["gpt-5"]}).as_object().cloned().unwrap();
    /// let error = draft.add_agent(&registry, "coder", &overrides).unwrap_err();
    /// assert_eq!(error.to_string(), "models of the agent \"coder\" cannot be overridden");
    /// let error = draft.add_agent(&registry, "nobody", &Map::new()).unwrap_err();
    /// assert_eq!(error.kind(), ItemErrorKind::UnknownAgent);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn add_agent(
        &mut self,
        registry: &AgentRegistry,
        name: &str,
        overrides: &Map<String, Value>,
    ) -> Result<Agent, ItemError> {
        let known = registry.get(name).ok_or_else(|| {
            let error = unknown_agent(name, "is not known");
            error.hinting("use add_agent_with_definition to define one")
        })?;
        let mut agent = known.clone();
        for (key, value) in overrides {
            set(&mut agent, key, value)?;
        }
        self.push(DraftOperation::AddAgent(agent.clone()))?;
        Ok(agent)
    }

    /// Adds an agent under this name. An agent without a system prompt becomes a cell at the end of the file, any other one
    /// goes to the frontmatter.
    ///
    /// ```
    /// use analects_core::Agent;
    /// use analects_formats::msgfile::{decode, item::{Draft, ItemErrorKind}};
    ///
    /// let mut draft = Draft::new(decode(""));
    /// let quick = Agent::of_model("", "gpt-5-mini");
    /// draft.add_agent_with_definition("quick", &quick)?;
    /// let brief = Agent { system_prompt: Some("Be brief.".into()), ..quick.clone() };
    /// draft.add_agent_with_definition("brief", &brief)?;
    /// assert!(draft.document().source().starts_with(b"---\nagents:\n  brief:\n"));
    /// assert_eq!(draft.agents()[1].name, "quick");
    /// let error = draft.add_agent_with_definition("quick", &quick).unwrap_err();
    /// assert_eq!(error.kind(), ItemErrorKind::Duplicate);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn add_agent_with_definition(
        &mut self,
        name: &str,
        definition: &Agent,
    ) -> Result<(), ItemError> {
        let agent = Agent {
            name: name.to_string(),
            ..definition.clone()
        };
        // A cell cannot hold everything; the frontmatter can.
        let cell = NewCell::agent("1", &agent);
        let read = decode(append(&decode(""), &cell).bytes).agents();
        let operation = if read == [agent.clone()] {
            DraftOperation::AddAgentCell(agent)
        } else {
            DraftOperation::AddAgent(agent)
        };
        self.push(operation).map(|_| ())
    }

    /// Adds an agent to the frontmatter.
    pub(super) fn make_agent(&mut self, agent: &Agent) -> Result<Vec<String>, ItemError> {
        self.check_new_agent(agent)?;
        let document = self.document();
        let span = document.frontmatter_span();
        self.apply_above(frontmatter::add_agent(document.source(), span, agent))
    }

    /// Adds a cell that defines an agent.
    pub(super) fn make_agent_cell(&mut self, agent: &Agent) -> Result<Vec<String>, ItemError> {
        self.check_new_agent(agent)?;
        let cell = NewCell::agent(self.document().next_id(), agent);
        Ok(vec![self.append(&cell)?])
    }

    /// Sets the agent that answers unless a message names one.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{Draft, ItemErrorKind}};
    ///
    /// let file = "---\nagents:\n  a:\n    models: [gpt-5]\n  b:\n    models: [gpt-5]\n---\n";
    /// let mut draft = Draft::new(decode(file));
    /// draft.set_default_agent("b")?;
    /// assert_eq!(draft.default_agent().unwrap().name, "b");
    /// let error = draft.set_default_agent("c").unwrap_err();
    /// assert_eq!(error.kind(), ItemErrorKind::UnknownAgent);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn set_default_agent(&mut self, name: &str) -> Result<(), ItemError> {
        self.push(DraftOperation::SetDefaultAgent(name.to_string()))
            .map(|_| ())
    }

    /// Sets the default agent, which the file must define.
    pub(super) fn make_default_agent(&mut self, name: &str) -> Result<Vec<String>, ItemError> {
        let document = self.document();
        check_known(document, name)?;
        let span = document.frontmatter_span();
        self.apply_above(frontmatter::set_string(
            document.source(),
            span,
            "default_agent",
            name,
        ))
    }

    /// Changes the frontmatter, if all cells read as before.
    fn apply_above(&mut self, splice: Result<Splice, Refusal>) -> Result<Vec<String>, ItemError> {
        let splice = splice.map_err(|refusal| {
            let error = ItemError::new(ItemErrorKind::Refused, refusal.message);
            error.hinting(format!(
                "type it into the frontmatter:\n{}",
                refusal.type_this
            ))
        })?;
        let document = self.document();
        let after = document.with_source_within_section(splice.apply(document.source()));
        if !document.others_read_alike(0..0, 0, &after) {
            return Err(would_change_others());
        }
        self.apply(&splice);
        Ok(Vec::new())
    }

    /// The agent that answers unless a message names one; `None` if the file defines no agent.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// assert_eq!(Draft::new(decode("# %%\n\nHello\n")).default_agent(), None);
    /// ```
    pub fn default_agent(&self) -> Option<Agent> {
        self.document().default_agent()
    }

    /// Fails if the name of an agent is invalid or taken, or its temperature is not a number.
    fn check_new_agent(&self, agent: &Agent) -> Result<(), ItemError> {
        check::agent_name(&agent.name)?;
        if !agent.temperature.is_finite() {
            return Err(ItemError::invalid("the temperature must be a number"));
        }
        if self.agents().iter().any(|known| known.name == agent.name) {
            let text = format!("the file already has an agent {}", shown(&agent.name));
            return Err(ItemError::new(ItemErrorKind::Duplicate, text));
        }
        Ok(())
    }
}

fn unknown_agent(name: &str, why: &str) -> ItemError {
    ItemError::new(
        ItemErrorKind::UnknownAgent,
        format!("the agent {} {why}", shown(name)),
    )
}

/// Fails if a document does not define this agent.
pub(super) fn check_known(document: &Document, name: &str) -> Result<(), ItemError> {
    if document.agents().iter().any(|agent| agent.name == name) {
        return Ok(());
    }
    let error = unknown_agent(name, "is defined nowhere in this file");
    Err(error.hinting("add it with add_agent or add_agent_with_definition"))
}

/// The name of the agent that replies: the named one, else the default.
pub(super) fn replying_agent(
    document: &Document,
    named: Option<&str>,
) -> Result<String, ItemError> {
    if let Some(name) = named {
        check_known(document, name)?;
        return Ok(name.to_string());
    }
    let default = document.default_agent().map(|agent| agent.name);
    default.ok_or_else(|| {
        let error = ItemError::new(
            ItemErrorKind::NoAgent,
            "there is no agent that could answer",
        );
        error.hinting("add one with add_agent or add_agent_with_definition")
    })
}

/// Changes one setting of an agent.
fn set(agent: &mut Agent, key: &str, value: &Value) -> Result<(), ItemError> {
    let wrong = |expected: &str| {
        let short: String = value.to_string().chars().take(60).collect();
        ItemError::invalid(format!("{key} must be {expected}, not {short}"))
    };
    let count = || value.as_u64().ok_or_else(|| wrong("a whole number"));
    let flag = || value.as_bool().ok_or_else(|| wrong("true or false"));
    match key {
        "context_window" => agent.context_window = Some(count()?),
        "max_output_tokens" => agent.max_output_tokens = count()?,
        "reasoning" => agent.reasoning = flag()?,
        "use_temperature" => agent.use_temperature = flag()?,
        "temperature" => agent.temperature = value.as_f64().ok_or_else(|| wrong("a number"))?,
        "models" | "system_prompt" => {
            let text = format!(
                "{key} of the agent {} cannot be overridden",
                shown(&agent.name)
            );
            let error = ItemError::invalid(text);
            return Err(error.hinting("define another agent with add_agent_with_definition"));
        }
        _ => {
            let error = ItemError::invalid(format!("an agent has no setting {}", shown(key)));
            return Err(error.hinting(
                "context_window, max_output_tokens, reasoning, use_temperature or temperature",
            ));
        }
    }
    Ok(())
}

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

    /// The agents, in the order of registration.
    #[doc(alias = "list_agents")]
    pub fn list(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }
}
