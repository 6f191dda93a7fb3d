//! Decides which calls of an answer run: those that only read, those that a rule allows, and those that you agree to.

use analects_tools::{Access, FileTool, Rule, Workspace};

use super::WantedCall;
use super::question::{Reply, ask};

/// Whether a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Runs,
    /// It does not, for this reason, which the model is told.
    Denied(String),
}

/// Your decisions, for as long as this process runs.
#[derive(Debug)]
pub struct Consent {
    allow: Vec<Rule>,
    /// The tools that you allowed for good when you were asked.
    always: Vec<FileTool>,
}

/// A call that you have to decide about.
pub struct OpenCall<'c> {
    /// The index among the calls of the answer.
    pub at: usize,
    pub tool: FileTool,
    pub call: &'c WantedCall<'c>,
}

impl Consent {
    /// Starts with the rules of the command line.
    pub fn new(allow: Vec<Rule>) -> Consent {
        Consent {
            allow,
            always: Vec::new(),
        }
    }

    /// Decides about all calls of an answer. You are asked at most once, about all that no rule decides.
    pub fn decide(&mut self, calls: &[WantedCall<'_>], workspace: &Workspace) -> Vec<Verdict> {
        let mut verdicts = Vec::with_capacity(calls.len());
        let mut open = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let Ok(tool) = call.tool else {
                // It fails by itself.
                verdicts.push(Verdict::Runs);
                continue;
            };
            let by_rule = self.by_rule(tool, call, workspace);
            if by_rule.is_none() {
                open.push(OpenCall { at, tool, call });
            }
            verdicts.push(by_rule.unwrap_or_else(|| Verdict::Denied(String::new())));
        }
        if !open.is_empty() {
            self.ask_about(&open, workspace, &mut verdicts);
        }
        verdicts
    }

    /// What needs no question: a call that cannot run anyway or that a rule denies, and one that a rule allows. `None` if
    /// you have to decide.
    fn by_rule(
        &self,
        tool: FileTool,
        call: &WantedCall<'_>,
        workspace: &Workspace,
    ) -> Option<Verdict> {
        if let Err(error) = tool.check(workspace, call.arguments) {
            return Some(Verdict::Denied(error.to_string()));
        }
        let path = tool.path_of(workspace, call.arguments);
        let fits = |rule: &Rule| rule.fits(tool, path.as_ref());
        let is_allowed = tool.access() == Access::Reads
            || self.always.contains(&tool)
            || self.allow.iter().any(fits);
        is_allowed.then_some(Verdict::Runs)
    }

    fn ask_about(
        &mut self,
        open: &[OpenCall<'_>],
        workspace: &Workspace,
        verdicts: &mut [Verdict],
    ) {
        let reply = ask(open, workspace);
        if matches!(reply, Reply::Always) {
            self.always.extend(open.iter().map(|call| call.tool));
        }
        for (number, call) in (1..).zip(open) {
            verdicts[call.at] = match &reply {
                Reply::Yes | Reply::Always => Verdict::Runs,
                Reply::Only(numbers) if numbers.contains(&number) => Verdict::Runs,
                Reply::Only(_) => Verdict::Denied("the person said no".to_string()),
                Reply::No(why) if why.is_empty() => {
                    Verdict::Denied("the person said no".to_string())
                }
                Reply::No(why) => Verdict::Denied(format!("the person said no: {why}")),
                Reply::NobodyToAsk => Verdict::Denied(
                    "not run: this changes files, and there is nobody to ask".to_string(),
                ),
                Reply::Interrupted => Verdict::Denied("the person stopped the turn".to_string()),
            };
        }
    }
}
