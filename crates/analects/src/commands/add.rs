//! `add`: appends a message or an output, and asks nobody.

mod given;
mod place;

use std::path::PathBuf;

use analects_core::{Ids, Problem, Severity};
use analects_formats::msgfile::{self, Cell, CellRole, Document, NewCell, Splice, code};
use analects_store::OsIds;

use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{ui, writing};
use given::Given;
use place::Place;

/// In a file of more bytes, only the new cell is read back, and not everything before it once more.
const LARGE: usize = 8_000_000;

/// Add a message or an output to a file, without asking anybody
///
/// The text is the arguments. Without arguments, it is what comes on stdin, added exactly as it is,
/// with all of its blanks and line ends, and comes back so. The cell goes to
/// the end of FILE, which is made if it is not there, and its name is printed. If another process is
/// writing to the file, add waits up to ten seconds for it.
///
/// With --output, the text is something that came back. With --of ID, it belongs to that cell: a reply
/// to a message, the output of a code cell, another output of the same execution, the result of a
/// tool call; and with --type tool --attr name=TOOL a call by a reply. The name follows from that
/// cell's name. What code printed is stored line by line as its standard output, unless the text has
/// this form already.
///
/// Bytes that are not text need --mime-type: they become a raw cell in base64, or such an output of a
/// code cell.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects add talk.msg.md \"A thought for later\"
  git diff | analects add review.msg.md --title \"The change\" --attr history=none
  analects add talk.msg.md --mime-type image/png < cat.png
  analects add talk.msg.md --output --agent coder \"What the coder said elsewhere\"
  python3 sum.py | analects add talk.msg.md --output --of 1
  analects add talk.msg.md --output --of 2.k3f9qx7a --attr status=success \"18 degrees\"")]
pub struct Args {
    /// The message file
    file: PathBuf,

    /// What to say [default: what comes on stdin]
    text: Vec<String>,

    /// Add what came back, instead of what somebody said
    #[arg(long)]
    output: bool,

    /// The cell that the output belongs to [default: the last message]
    #[arg(long, value_name = "ID", requires = "output")]
    of: Option<String>,

    /// What the cell is: markdown, code or raw for a message; for an output an agent's name, the
    /// language of the code, tool, or one of the other types of the format [default: markdown; the
    /// default agent, the language of the code cell, or tool]
    #[arg(long = "type", value_name = "TYPE")]
    type_word: Option<String>,

    /// An attribute of the cell; may be given several times
    #[arg(long = "attr", value_name = "KEY=VALUE")]
    attributes: Vec<String>,

    /// Of a message, the agent that is to answer; of an output, the agent that it comes from
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The title in the cell's head
    #[arg(long, default_value = "", hide_default_value = true)]
    title: String,

    /// The id of the cell [default: the next number]
    #[arg(long)]
    id: Option<String>,

    /// What the bytes are, such as image/png
    #[arg(long, value_name = "TYPE")]
    mime_type: Option<String>,

    /// Print the name of the cell, and errors, as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let attributes = attributes(args)?;
    let given = Given::read(&args.text, args.mime_type.as_deref())?;
    if given.is_empty() && !args.output {
        return Err(given::nothing());
    }
    let surroundings = Surroundings::of_process()?;
    let name = add(args, &attributes, &given, &surroundings);
    let name = name.map_err(|failure| surroundings.explain(failure))?;
    if args.json {
        let path = args.file.to_string_lossy();
        return ui::print_json(&serde_json::json!({ "path": path, "name": name }));
    }
    ui::print_lines([name])
}

/// Adds the cell, and gives its name.
fn add(
    args: &Args,
    attributes: &[(String, String)],
    given: &Given,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let mut file = writing::open(&args.file, &surroundings.places).map_err(|failure| {
        // The store knows nothing of verbs.
        if failure.is_usage() {
            return failure.and_hint("new NOTES.md makes such a file");
        }
        // The file need not be there; its folder must.
        if failure.is_not_found() { failure.or_hint("make the folder first") } else { failure }
    })?;
    let nonce = OsIds.nonce();
    let mut name = String::new();
    file.try_edit(|document| {
        let cell = cell(document, args, attributes, given, &nonce)?;
        let splice = msgfile::append(document, &cell);
        check(document, &splice, &cell)?;
        name = cell.id;
        Ok::<_, Failure>(splice)
    })?;
    Ok(name)
}

/// The cell that is added to a document.
fn cell(
    document: &Document,
    args: &Args,
    attributes: &[(String, String)],
    given: &Given,
    nonce: &str,
) -> Result<NewCell, Failure> {
    let place = Place::find(document, args, attributes, nonce)?;
    let mut cell = NewCell { title: args.title.clone(), ..place.cell() };
    let content = match place {
        Place::Message { .. } => given.message(args.mime_type.as_deref(), &mut cell)?,
        Place::CodeOutput { .. } => given.code_output(args.mime_type.as_deref(), &mut cell)?,
        _ => given.text(args.mime_type.as_deref())?,
    };
    if cell.role() == CellRole::Code {
        code::code(&content).map_err(|error| {
            let failure = Failure::input(format!("this is no code cell: {error}"));
            failure.or_hint("put the code into a fenced code block that names its language")
        })?;
    }
    cell.content = content;
    for (key, value) in attributes {
        if cell.attributes.iter().any(|(taken, _)| taken == key) {
            let message = format!("the attribute {key} is given twice");
            return Err(Failure::usage(message, "give it once"));
        }
        cell = cell.with(key, value.as_str());
    }
    Ok(cell)
}

/// The attributes, as the person gave them.
fn attributes(args: &Args) -> Result<Vec<(String, String)>, Failure> {
    args.attributes.iter().map(|given| attribute(given)).collect()
}

fn attribute(given: &str) -> Result<(String, String), Failure> {
    let (key, value) = given.split_once('=').ok_or_else(|| {
        let message = format!("{given}: not an attribute");
        Failure::usage(message, "write it as --attr key=value")
    })?;
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if !is_key {
        let message = format!("{key:?} cannot be the name of an attribute");
        return Err(Failure::usage(message, "use letters, digits, _ . and -, and a letter first"));
    }
    let reserved = match (key, value) {
        ("stored", _) => Some("the program keeps it itself"),
        ("title", _) => Some("use --title"),
        ("status", "streaming") => Some("it belongs to an earlier format"),
        _ => None,
    };
    match reserved {
        Some(reason) => Err(Failure::usage(format!("{key}={value} cannot be set"), reason)),
        None => Ok((key.to_string(), value.to_string())),
    }
}

/// Whether the cell reads back as it was meant, and nothing is wrong with it.
fn check(document: &Document, splice: &Splice, cell: &NewCell) -> Result<(), Failure> {
    let is_large = document.source().len() > LARGE;
    let after = match is_large {
        true => document.with_source([beginning(document), &splice.bytes].concat()),
        false => document.with_source(splice.apply(document.source())),
    };
    let Some(written) = after.cells().rev().find(|cell| !cell.is_ready()) else {
        return Err(Failure::ours("the cell is not in the file"));
    };
    check_text(written, cell)?;
    let mut problems = after.problems();
    if !is_large {
        problems.extend(msgfile::messages(&after, &msgfile::session_of("")).problems);
    }
    let start = written.span().start;
    let is_new = |problem: &Problem| {
        problem.severity > Severity::Hint && problem.span.is_some_and(|span| span.start >= start)
    };
    match problems.into_iter().find(is_new) {
        Some(problem) => {
            let failure = Failure::input(format!("this cannot be added: {}", problem.message));
            Err(problem.hint.into_iter().fold(failure, Failure::or_hint))
        }
        None => Ok(()),
    }
}

/// What a new cell of a large file is read with, instead of everything before it: the frontmatter,
/// and the heading of its section.
fn beginning(document: &Document) -> &[u8] {
    let front = document.frontmatter_span().map_or(0, |span| span.end);
    let heading = document.section().map_or(0, |section| section.heading.end);
    &document.source()[..front.max(heading)]
}

fn check_text(written: Cell<'_>, cell: &NewCell) -> Result<(), Failure> {
    let is_right = written.id() == Some(cell.id.as_str())
        && written.kind() == cell.kind
        && written.full_title() == cell.title.as_str()
        && written.content() == cell.content.as_str()
        && cell.attributes.iter().all(|(key, value)| written.attribute(key) == Some(value));
    if !is_right {
        return Err(Failure::ours("the cell does not read as it was meant; nothing was written"));
    }
    if written.written_type() != Some(cell.type_word.as_str()) {
        let message = format!("{:?} cannot be the type of a cell", cell.type_word);
        return Err(Failure::usage(message, "leave out [ ] = and line breaks"));
    }
    Ok(())
}
