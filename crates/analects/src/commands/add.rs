//! `add`: appends a message or an output without asking a model.
//!
//! The cell is built, appended in memory and read back before anything is written. So `add` never writes a cell that
//! means something else than what you typed.

mod placement;

use std::path::PathBuf;

use analects_core::{Ids, Problem, Severity};
use analects_formats::convert::WHOLE_LIMIT;
use analects_formats::msgfile::output::{self, OutputChunk};
use analects_formats::msgfile::{self, Cell, CellRole, Document, NewCell, Splice, base64, code};
use analects_store::OsIds;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::input::GivenText;
use crate::{message_file, ui};
use placement::CellPlacement;

/// In a larger file, `check` reads back only the new cell instead of the whole file.
/// Reading a file of this size as a whole takes noticeably long.
const LARGE: usize = 8_000_000;

/// Add a message or an output to a file without asking a model
///
/// The text is the arguments, followed by stdin. Without arguments, stdin is kept exactly as it is, with all
/// blanks and line ends.
///
/// The cell goes to the end of FILE, which is created if it does not exist, and add prints the name of the
/// cell. If another process is writing to the file, add waits up to ten seconds.
///
/// With --output, the text is an output instead of a message. With --of ID, it belongs to that cell: an
/// answer to a message, the output of a code cell, another output of the same execution, or the result of a
/// tool call. With --type tool --attr name=TOOL, it is a tool call in an answer. The name of the new cell is
/// derived from the name of that cell. Output of code is stored as standard output, line by line, unless each
/// line of the text already begins with stdout> or stderr>.
///
/// Bytes that are not text need --mime-type. They become a raw cell in base64, or an output of a code cell.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects add talk.msg.md \"A thought for later\"
  git diff | analects add review.msg.md --title \"The change\" --attr history=none
  analects add talk.msg.md --mime-type image/png < cat.png
  analects add talk.msg.md --output --agent coder \"What the coder said elsewhere\"
  python3 sum.py | analects add talk.msg.md --output --of 1
  analects add talk.msg.md --output --of 2.k3f9qx7a --attr status=success \"18 degrees\"")]
pub struct AddArgs {
    /// The message file
    file: PathBuf,

    /// The text; stdin is added to it
    text: Vec<String>,

    /// Add an output instead of a message
    #[arg(long)]
    output: bool,

    /// The cell that the output belongs to [default: the last message]
    #[arg(long, value_name = "ID", requires = "output")]
    of: Option<String>,

    /// The type of the cell. For a message: markdown, code or raw. For an output: the name of an agent, the
    /// language of the code, tool, or another type of the format [default: markdown; the default agent, the
    /// language of the code cell, or tool]
    #[arg(long = "type", value_name = "TYPE")]
    type_word: Option<String>,

    /// An attribute of the cell; can be given more than once
    #[arg(long = "attr", value_name = "KEY=VALUE")]
    attributes: Vec<String>,

    /// For a message, the agent that should answer it; for an output, the agent that it comes from
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The title of the cell
    #[arg(long, default_value = "", hide_default_value = true)]
    title: String,

    /// The id of the cell [default: the next number]
    #[arg(long)]
    id: Option<String>,

    /// The type of the bytes, such as image/png
    #[arg(long, value_name = "TYPE")]
    mime_type: Option<String>,

    /// Print the name of the cell and any error as JSON
    #[arg(long)]
    pub json: bool,
}

/// An empty message is refused, an empty output is not: a program may print nothing.
pub fn run(args: &AddArgs) -> Result<(), Failure> {
    let attributes = attributes(args)?;
    let given = CellInput::read(&args.text, args.mime_type.as_deref())?;
    if given.is_empty() && !args.output {
        return Err(nothing());
    }
    let environment = Environment::read()?;
    let name = add(args, &attributes, &given, &environment);
    let name = name.map_err(|failure| environment.explain(failure))?;
    if args.json {
        let path = args.file.to_string_lossy();
        return ui::print_json(&serde_json::json!({ "path": path, "name": name }));
    }
    ui::print_lines([name])
}

/// Adds the cell and returns its name.
/// `try_edit` may call the closure again if the file changed meanwhile, so everything that depends on the document
/// happens inside.
fn add(
    args: &AddArgs,
    attributes: &[(String, String)],
    given: &CellInput,
    environment: &Environment,
) -> Result<String, Failure> {
    let mut file = message_file::open(&args.file, &environment.places).map_err(|failure| {
        // The store does not know the verbs, so the hint comes from here.
        if failure.is_usage() {
            return failure.and_hint("new NOTES.md makes such a file");
        }
        // The file need not exist, but its folder must.
        if failure.is_not_found() {
            failure.or_hint("make the folder first")
        } else {
            failure
        }
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

/// The new cell, with its text and attributes.
/// `nonce` is fixed before the file is read, so that repeated attempts give the same id.
fn cell(
    document: &Document,
    args: &AddArgs,
    attributes: &[(String, String)],
    given: &CellInput,
    nonce: &str,
) -> Result<NewCell, Failure> {
    let place = CellPlacement::find(document, args, attributes, nonce)?;
    let mut cell = NewCell {
        title: args.title.clone(),
        ..place.cell()
    };
    let content = match place {
        CellPlacement::Message { .. } => given.message(args.mime_type.as_deref(), &mut cell)?,
        CellPlacement::CodeOutput { .. } => {
            given.code_output(args.mime_type.as_deref(), &mut cell)?
        }
        _ => given.text(args.mime_type.as_deref())?,
    };
    if cell.role() == CellRole::Code {
        code::code(&content).map_err(|error| {
            let failure = Failure::input(format!("this is not a code cell: {error}"));
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

/// The `--attr` options as keys and values.
fn attributes(args: &AddArgs) -> Result<Vec<(String, String)>, Failure> {
    args.attributes
        .iter()
        .map(|given| attribute(given))
        .collect()
}

/// Splits `key=value`, and refuses keys that the program sets itself.
/// The value may be empty and may have further `=`.
fn attribute(given: &str) -> Result<(String, String), Failure> {
    let (key, value) = given.split_once('=').ok_or_else(|| {
        let message = format!("{given}: not an attribute");
        Failure::usage(message, "write it as --attr key=value")
    })?;
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if !is_key {
        let message = format!("{key:?} cannot be the name of an attribute");
        return Err(Failure::usage(
            message,
            "use letters, digits, _ . and -, and a letter first",
        ));
    }
    let reserved = match (key, value) {
        ("stored", _) => Some("the program keeps it itself"),
        ("title", _) => Some("use --title"),
        ("status", "streaming") => Some("it belongs to an earlier format"),
        _ => None,
    };
    match reserved {
        Some(reason) => Err(Failure::usage(
            format!("{key}={value} cannot be set"),
            reason,
        )),
        None => Ok((key.to_string(), value.to_string())),
    }
}

/// Checks that the cell reads back unchanged and causes no errors or warnings.
/// Problems that the file had before do not count.
fn check(document: &Document, splice: &Splice, cell: &NewCell) -> Result<(), Failure> {
    let is_large = document.source().len() > LARGE;
    let after = if is_large {
        document.with_source([beginning(document), &splice.bytes].concat())
    } else {
        document.with_source(splice.apply(document.source()))
    };
    let Some(written) = after.cells().rev().find(|cell| !cell.is_ready()) else {
        return Err(Failure::internal("the cell is not in the file"));
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

/// The part of a large file that is needed to read a new cell: the frontmatter and the heading of
/// the section.
fn beginning(document: &Document) -> &[u8] {
    let front = document.frontmatter_span().map_or(0, |span| span.end);
    let heading = document.section().map_or(0, |section| section.heading.end);
    &document.source()[..front.max(heading)]
}

/// Checks that id, kind, title, text and attributes read back as they were given.
/// Content could be mistaken for a head of a cell, or lose a line end.
fn check_text(written: Cell<'_>, cell: &NewCell) -> Result<(), Failure> {
    let is_right = written.id() == Some(cell.id.as_str())
        && written.kind() == cell.kind
        && written.full_title() == cell.title.as_str()
        && written.content() == cell.content.as_str()
        && cell
            .attributes
            .iter()
            .all(|(key, value)| written.attribute(key) == Some(value));
    if !is_right {
        return Err(Failure::internal(
            "the cell does not read back as it was given; nothing was written",
        ));
    }
    if written.written_type() != Some(cell.type_word.as_str()) {
        let message = format!("{:?} cannot be the type of a cell", cell.type_word);
        return Err(Failure::usage(message, "leave out [ ] = and line breaks"));
    }
    Ok(())
}

/// The text or bytes of the new cell.
/// They are decoded only once it is clear which kind of cell they go to.
struct CellInput {
    bytes: Vec<u8>,
}

impl CellInput {
    /// Reads the arguments, followed by stdin. Without arguments, stdin stays exactly as it is.
    fn read(arguments: &[String], mime_type: Option<&str>) -> Result<CellInput, Failure> {
        if let Some(kind) = mime_type {
            check_mime_type(kind)?;
        }
        let given = GivenText::read(arguments, WHOLE_LIMIT as u64)?;
        if given.words.is_empty() {
            return Ok(CellInput { bytes: given.piped });
        }
        if mime_type.is_some() && !given.piped.is_empty() {
            let message = "--mime-type is for one content, but there are arguments and stdin";
            return Err(Failure::usage(message, "add the text in a cell of its own"));
        }
        Ok(CellInput {
            bytes: given.into_text()?.into_bytes(),
        })
    }

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The text of a cell that cannot hold binary content.
    /// Fails for bytes that are not UTF-8, and says where the first of them is.
    fn text(&self, mime_type: Option<&str>) -> Result<String, Failure> {
        if mime_type.is_some() {
            let message = "--mime-type is for messages and for the output of code";
            return Err(Failure::usage(message, "leave it out"));
        }
        String::from_utf8(self.bytes.clone()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message = format!("this is not text: the bytes at offset {at} are not UTF-8");
            Failure::input(message).or_hint("say what it is, such as --mime-type image/png")
        })
    }

    /// The content of a message: text, or base64 if `--mime-type` is given.
    fn message(&self, mime_type: Option<&str>, cell: &mut NewCell) -> Result<String, Failure> {
        let Some(kind) = mime_type else {
            return self.text(None);
        };
        set(cell, "mime_type", kind);
        Ok(base64::encode(&self.bytes))
    }

    /// The content of code output: what the code printed, or for example a picture in base64.
    /// Text that is a valid list of output chunks already stays as it is.
    fn code_output(&self, mime_type: Option<&str>, cell: &mut NewCell) -> Result<String, Failure> {
        if let Some(kind) = mime_type {
            set(cell, "mime_type", kind);
            if !kind.starts_with("text/") {
                return Ok(base64::encode(&self.bytes));
            }
        }
        if let Ok(text) = std::str::from_utf8(&self.bytes)
            && output::decode(text, false).1.is_empty()
        {
            // The last line end of a pipe is not one of the output.
            return Ok(text.strip_suffix('\n').unwrap_or(text).to_string());
        }
        let encoded = output::encode(&[OutputChunk::stdout(self.bytes.as_slice())]);
        if encoded.base64 {
            set(cell, "encoding", "base64");
        }
        Ok(encoded.text)
    }
}

/// Does not check whether the key is there already.
fn set(cell: &mut NewCell, key: &str, value: &str) {
    cell.attributes.push((key.to_string(), value.to_string()));
}

/// The error for an empty text.
fn nothing() -> Failure {
    let hint = "give it as an argument, or on stdin, such as analects add talk.msg.md \"Hello\"";
    Failure::usage("nothing to add", hint)
}

/// Refuses what is not of the form `type/subtype`.
fn check_mime_type(kind: &str) -> Result<(), Failure> {
    if let Some((main, sub)) = kind.split_once('/')
        && is_mime_token(main)
        && is_mime_token(sub)
    {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{kind:?} is not a MIME type"),
        "such as image/png",
    ))
}

/// The characters of a MIME type that need no quotes.
fn is_mime_token(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty()
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
}
