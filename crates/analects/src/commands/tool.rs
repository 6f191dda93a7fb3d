//! `tool`: lists the tools that a model may use, and calls one by hand.

use std::path::PathBuf;

use analects_core::Raw;
use analects_tools::{FileTool, Folder, Workspace};
use serde::Serialize;

use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::input::{MAX_SIZE, read_stdin};
use crate::{tools, ui};

/// List the tools that a model may use, or call one
///
/// A model gets no tools unless you switch them on with chat --tools. Tools work in one folder, which they
/// never leave, and follow no links. Those that change files ask you first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects tool list
  analects tool call read_file '{\"path\": \"notes.md\"}'
  analects chat talk.msg.md --tools read \"What do my notes say about rivers?\"")]
pub struct ToolArgs {
    #[command(subcommand)]
    command: ToolCommand,
}

/// What to do with tools.
#[derive(Debug, clap::Subcommand)]
enum ToolCommand {
    List(ToolListArgs),
    Call(ToolCallArgs),
}

/// List the tools, and what each does
#[derive(Debug, clap::Args)]
struct ToolListArgs {
    /// Print the tools as JSON, as a model is offered them
    #[arg(long)]
    json: bool,
}

/// Call a tool by hand
///
/// call runs a tool as a model would, in the current folder, and prints what the model would get. Because you
/// typed the call yourself, it does not ask.
#[derive(Debug, clap::Args)]
struct ToolCallArgs {
    /// The tool
    name: String,

    /// The arguments as a JSON object [default: stdin]
    #[arg(value_name = "JSON")]
    arguments: Option<String>,

    /// The folder that the tool may use [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

/// A tool as `--json` prints it.
#[derive(Debug, Serialize)]
struct ToolReport {
    name: &'static str,
    access: &'static str,
    description: &'static str,
    input_schema: serde_json::Value,
}

pub fn run(args: &ToolArgs) -> Result<(), Failure> {
    match &args.command {
        ToolCommand::List(args) => list(args),
        ToolCommand::Call(args) => call(args),
    }
}

fn list(args: &ToolListArgs) -> Result<(), Failure> {
    if args.json {
        let tools: Vec<ToolReport> = FileTool::ALL.iter().map(report_of).collect();
        return ui::print_json(&tools);
    }
    let rows = FileTool::ALL.iter().map(|tool| {
        let cells = [tool.name(), tool.access().as_str(), tool.description()];
        cells.map(str::to_string)
    });
    ui::print_rows(rows.collect())
}

fn report_of(tool: &FileTool) -> ToolReport {
    let schema = tool.spec().input_schema;
    ToolReport {
        name: tool.name(),
        access: tool.access().as_str(),
        description: tool.description(),
        input_schema: schema.to().unwrap_or_default(),
    }
}

fn call(args: &ToolCallArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let tool = FileTool::by_name(&args.name)
        .ok_or_else(|| Failure::usage(FileTool::unknown(&args.name), "see analects tool list"))?;
    let text = match &args.arguments {
        Some(text) => text.clone(),
        None => String::from_utf8_lossy(&read_stdin(MAX_SIZE)?).into_owned(),
    };
    let arguments = Raw::parse(&text).map_err(|error| {
        let example = r#"write them as JSON, such as '{"path": "notes.md"}'"#;
        Failure::usage(format!("the arguments are no JSON: {error}"), example)
    })?;
    let root = args.root.clone().unwrap_or_else(|| PathBuf::from("."));
    let mut folder = Folder::open(&root).map_err(|error| {
        let why = io_error_text(&error);
        Failure::input(format!("{}: {why}", root.display()))
    })?;
    tools::protect_own_files(&mut folder, None, &environment);
    let mut workspace = Workspace::new(folder);
    let output = tool.call(&mut workspace, &arguments);
    let output = output.map_err(|error| Failure::input(error.to_string()))?;
    ui::print_text(output.text.as_bytes())?;
    if !output.text.ends_with('\n') {
        ui::print_text(b"\n")?;
    }
    Ok(())
}
