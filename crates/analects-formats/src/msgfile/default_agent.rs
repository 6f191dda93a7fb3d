//! Who answers in a file unless told otherwise: one rule for all who ask, show or add.

use analects_core::{Agent, Body};

use super::{Document, Step, current_branch};

impl Document {
    /// Who answers unless told otherwise: the agent that the frontmatter names, else whoever gave the last answer on
    /// the branch that the file goes on with, else the first.
    ///
    /// ```
    /// use analects_formats::msgfile::decode;
    ///
    /// let agents = "---\nagents:\n  a: {models: [gpt-5]}\n  b: {models: [gpt-5]}\n---\n\n";
    /// let named = |rest: &str| decode(format!("{agents}{rest}")).default_agent().map(|it| it.name);
    /// assert_eq!(named("").as_deref(), Some("a"));
    /// assert_eq!(named("# %%% [^1]\n\n[^1]: [b]\n\nHello\n").as_deref(), Some("b"));
    /// ```
    pub fn default_agent(&self) -> Option<Agent> {
        self.default_agent_among(|_| true)
    }

    /// The one of the agents that can be asked who answers unless told otherwise, by the same rule.
    pub fn default_agent_among(&self, can_be_asked: impl Fn(&Agent) -> bool) -> Option<Agent> {
        let mut agents = self.agents();
        agents.retain(can_be_asked);
        let named = |name: &str| agents.iter().find(|agent| agent.name == name);
        let default = self.frontmatter().default_agent.as_deref().and_then(named);
        let last = || {
            // Where there is one, nothing is to be found out.
            match &agents[..] {
                [] | [_] => None,
                _ => authors(self).iter().find_map(|author| named(author)),
            }
        };
        default.or_else(last).or(agents.first()).cloned()
    }
}

/// Who gave the answers of the branch that a file goes on with, the last one first.
fn authors(document: &Document) -> Vec<String> {
    let steps = current_branch(document).into_iter();
    let answers = steps.filter(|step| matches!(step.message.body, Body::Assistant(_)));
    // An answer that is nothing but a call has a type word of its own.
    let author = |step: Step<'_>| match step.message.author {
        Some(author) => author,
        None => step.cell.type_word().to_string(),
    };
    answers.filter(|step| !step.cell.is_failed()).map(author).collect()
}
