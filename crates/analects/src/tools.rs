//! The tools that a conversation may use: which ones you switch on, your yes before they change anything, and a line
//! for each call while they run.
//!
//! Nothing in a conversation switches a tool on. Tools that only read run because you named them. Tools that change
//! files run after a yes, which is a rule of this call (`--allow`) or an answer at the terminal. Without a terminal
//! there is nobody to ask, so the call is denied and the conversation goes on.

mod consent;
mod question;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use analects_core::{Content, Raw, ToolSpec, ToolUse};
use analects_runtime::{CallResult, ToolRunner};
use analects_tools::{Access, FileTool, Folder, Rule, ToolOutput, Workspace};
use jiff::Timestamp;

use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::{interrupt, ui};
use consent::{Consent, Verdict};

/// The most characters of an argument in the line of a call.
const LONGEST_ARGUMENT: usize = 60;

/// The most characters of the line of a call, and of why it failed.
const LONGEST_LINE: usize = 300;

/// The most characters of an error for the model, which may repeat what the model wrote.
const LONGEST_ERROR: usize = 2_000;

/// The most calls of one answer that run.
const MOST_CALLS: usize = 100;

/// Options that switch tools on.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct ToolArgs {
    /// Let the model use these tools: read, write, all, or names as analects tool list shows them
    #[arg(
        long,
        value_name = "TOOLS",
        value_delimiter = ',',
        help_heading = "Tool options"
    )]
    pub tools: Vec<String>,

    /// The folder that tools may use [default: the folder of FILE, or else the current one]
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "tools",
        help_heading = "Tool options"
    )]
    pub root: Option<PathBuf>,

    /// Run these calls without asking, such as 'write_file(src/**)'
    #[arg(
        long,
        value_name = "RULE",
        requires = "tools",
        help_heading = "Tool options"
    )]
    pub allow: Vec<Rule>,

    /// Never run these calls, even if --allow fits; can be given more than once, as --allow can
    #[arg(
        long,
        value_name = "RULE",
        requires = "tools",
        help_heading = "Tool options"
    )]
    pub deny: Vec<Rule>,
}

impl ToolArgs {
    /// The tools for a conversation, which is in `file` unless it is a session. `None` if no tool is switched on.
    pub fn runner(
        &self,
        file: Option<&Path>,
        environment: &Environment,
    ) -> Result<Option<Arc<dyn ToolRunner>>, Failure> {
        let tools = self.switched_on()?;
        if tools.is_empty() {
            return Ok(None);
        }
        let root = self.root.clone().unwrap_or_else(|| folder_of(file));
        let mut folder = Folder::open(&root).map_err(|error| {
            let why = io_error_text(&error);
            Failure::input(format!("{}: {why}", root.display()))
        })?;
        protect_own_files(&mut folder, file, environment);
        let mut workspace = Workspace::new(folder);
        workspace.denied = self.deny.clone();
        workspace.is_stopped = interrupt::is_interrupted;
        Ok(Some(Arc::new(ConversationTools {
            tools,
            workspace: Mutex::new(workspace),
            consent: Mutex::new(Consent::new(self.allow.clone())),
        })))
    }

    /// The tools that the words of `--tools` name, in the usual order.
    fn switched_on(&self) -> Result<Vec<FileTool>, Failure> {
        let mut chosen = Vec::new();
        for word in &self.tools {
            let tools = named_by(word);
            if tools.is_empty() {
                let hint = "name tools, or read, write or all; see analects tool list";
                return Err(Failure::usage(FileTool::unknown(word), hint));
            }
            chosen.extend(tools);
        }
        let tools = FileTool::ALL.into_iter();
        Ok(tools.filter(|tool| chosen.contains(tool)).collect())
    }
}

/// The tools that a word names. `write` includes those that read, because a model that may change a file has to see it.
fn named_by(word: &str) -> Vec<FileTool> {
    let at_most = |access: Access| {
        let tools = FileTool::ALL.into_iter();
        tools.filter(|tool| tool.access() <= access).collect()
    };
    match word {
        "read" => at_most(Access::Reads),
        "write" | "all" => at_most(Access::Writes),
        name => FileTool::by_name(name).into_iter().collect(),
    }
}

/// The folder that holds a file, or the current one.
fn folder_of(file: Option<&Path>) -> PathBuf {
    let folder = file.and_then(Path::parent);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_path_buf()
}

/// Lets no tool change the conversation, the files that belong to it, or what Analects keeps.
pub fn protect_own_files(folder: &mut Folder, file: Option<&Path>, environment: &Environment) {
    if let Some(file) = file {
        folder.protect(file, "is this conversation");
        let mut files = file.as_os_str().to_os_string();
        files.push(".files");
        folder.protect(Path::new(&files), "belongs to this conversation");
    }
    let places = &environment.places;
    for own in [&places.data, &places.state, &environment.config] {
        folder.hide(own, "belongs to Analects");
    }
}

/// The tools of one conversation, in this process.
#[derive(Debug)]
struct ConversationTools {
    tools: Vec<FileTool>,
    workspace: Mutex<Workspace>,
    consent: Mutex<Consent>,
}

impl ToolRunner for ConversationTools {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    fn run(&self, calls: &[&ToolUse]) -> Vec<CallResult> {
        let mut workspace = locked(&self.workspace);
        let mut consent = locked(&self.consent);
        let (running, rest) = calls.split_at(calls.len().min(MOST_CALLS));
        let wanted: Vec<WantedCall<'_>> = running.iter().map(|call| self.wanted(call)).collect();
        let verdicts = consent.decide(&wanted, &workspace);
        let mut results: Vec<CallResult> = wanted
            .iter()
            .zip(verdicts)
            .map(|(call, verdict)| run_one(call, verdict, &mut workspace))
            .collect();
        if !rest.is_empty() {
            let why = format!("not run: only the first {MOST_CALLS} calls of an answer run");
            ui::remark(&format!("✗ {} more calls {why}", rest.len()));
            results.extend(rest.iter().map(|_| CallResult::failed(why.as_str())));
        }
        results
    }
}

impl ConversationTools {
    fn wanted<'c>(&self, call: &'c ToolUse) -> WantedCall<'c> {
        let tool = FileTool::by_name(&call.name).filter(|tool| self.tools.contains(tool));
        WantedCall {
            tool: tool.ok_or_else(|| self.unknown_tool(&call.name)),
            name: &call.name,
            arguments: &call.input,
        }
    }

    /// What the model is told of a tool that it has not been offered.
    fn unknown_tool(&self, name: &str) -> String {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
        let names = names.join(", ");
        format!("there is no tool {name} here; the tools are {names}")
    }
}

/// A call that a model wants to make.
#[derive(Debug)]
struct WantedCall<'c> {
    /// The tool, or what to tell the model if there is none.
    tool: Result<FileTool, String>,
    /// The name of the tool as the model wrote it.
    name: &'c str,
    arguments: &'c Raw,
}

impl WantedCall<'_> {
    /// The call in one line: the tool and the beginnings of its arguments.
    fn in_one_line(&self) -> String {
        let mut line = self.name.to_string();
        let Some(arguments) = self.arguments.as_object() else {
            return line;
        };
        for (key, value) in arguments.iter() {
            let key = key.as_string().unwrap_or_default();
            let value = shortened(value.as_str(), LONGEST_ARGUMENT);
            line.push_str(&format!(" {key}={value}"));
        }
        shortened(&line, LONGEST_LINE)
    }
}

/// The beginning of a long text.
fn shortened(value: &str, most: usize) -> String {
    let mut characters = value.chars();
    let mut start: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}

/// Runs a call if it may run, and prints how it ended.
fn run_one(call: &WantedCall<'_>, verdict: Verdict, workspace: &mut Workspace) -> CallResult {
    ui::remark(&format!("→ {}", call.in_one_line()));
    workspace.now = Timestamp::now();
    let result = match (&call.tool, verdict) {
        (Err(unknown), _) => Err(unknown.clone()),
        (Ok(_), Verdict::Denied(why)) => Err(why),
        (Ok(_), Verdict::Runs) if interrupt::is_interrupted() => {
            Err("the person stopped the turn".to_string())
        }
        (Ok(tool), Verdict::Runs) => {
            let done = tool.call(workspace, call.arguments);
            done.map_err(|error| error.to_string())
        }
    };
    match result {
        Ok(ToolOutput { text, summary }) => {
            ui::remark(&format!("✓ {summary}"));
            CallResult {
                content: Content::from(text),
                is_error: false,
            }
        }
        Err(why) => {
            ui::remark(&format!("✗ {}", shortened(&why, LONGEST_LINE)));
            CallResult::failed(shortened(&why, LONGEST_ERROR))
        }
    }
}

/// Locks a value, even after a panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
