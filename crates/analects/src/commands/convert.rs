//! `convert`: converts a conversation to another format, and lists what would be lost.
//!
//! A conversion streams: a [`source::ConvertSource`] is read in pieces, a reader of one format turns them into
//! messages, a writer of the other turns these into bytes, and a [`destination::Destination`] holds the bytes back
//! until it is known that nothing is lost. A few targets must see the whole conversation first; they read the source
//! twice.

pub mod destination;
mod folder;
mod losses;
mod report;
mod source;
pub mod spool;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use analects_formats::chatmd::Dialect;
use analects_formats::convert::{
    self, Conversion, FORMATS, FirstPassRunner, Format, FormatChoice, JsonOverLines, ReadMode,
    StoredMessages,
};
use analects_formats::{FormatReader, FormatWriter, ReadOptions, WriteOptions};
use analects_store::{AllJournalMessages, Journal};
use clap::ValueEnum;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints;
use destination::{Destination, OnExisting};
use report::ConvertReport;
use source::{ConvertSource, SourceDigest};
use spool::Spool;

/// Convert a conversation to another format
///
/// convert recognises the format of IN by its content, or else by its name; --from overrides this. The
/// format of OUT follows from its name; --to overrides this. Without -o, the result goes to stdout. A -
/// stands for stdin or stdout.
///
/// Nothing is lost silently. If the other format cannot hold something, or something cannot be read, convert
/// says what, writes nothing, and exits with code 1. With --lossy, it writes the rest. The report names what
/// was said first, then how the conversation looked, and then counts details for programs; --losses writes
/// each loss to a file. A page, and a message file without --full, are for people: convert stops only if they
/// would lose something that was said. A new file appears under its name only when it is complete. An existing file is only
/// replaced with --force, and keeps its mode and owner; if it is a link, the file that it points to is
/// replaced. Within the same format, convert copies a file byte for byte.
///
/// A message file is written for people: provider fields, signatures, encrypted reasoning and empty records
/// are counted and left out. --full keeps all of them, with the details in one cell at the end.
///
/// A folder is converted to a folder, and needs --to. Every file of a known format keeps its name and gets a
/// new extension, plus a number if two names would be the same. Hidden folders, node_modules and target are
/// skipped, and links are not followed.
///
/// convert reads and writes msgfile, chatmd, transcript, chat-session, anthropic and openai. It only reads
/// claude-code. It only writes markdown, a page for people. The formats reference says what each of them
/// can hold.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects convert talk.md -o talk.msg.md
  analects convert talk.msg.md --to openai --lossy > request.json
  analects convert training.jsonl --to transcript | head -n 1
  analects convert notes/ -o pages/ --to markdown")]
pub struct ConvertArgs {
    /// The file or folder, or - for stdin
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The new file or folder, or - for stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// The format of IN [default: recognised by its content]
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,

    /// The format of OUT [default: the format that its name implies]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,

    /// Write what the format can hold, and list the rest
    #[arg(long)]
    lossy: bool,

    /// Keep everything: progress, snapshots and other records; in a message file, all details
    #[arg(long)]
    full: bool,

    /// Write chat Markdown for this version of its plugin
    #[arg(long, value_enum)]
    dialect: Option<PluginVersion>,

    /// Replace existing files
    #[arg(long)]
    force: bool,

    /// Write all losses to FILE, each as a line of JSON
    #[arg(long, value_name = "FILE")]
    losses: Option<PathBuf>,

    /// Print the result and the losses as JSON; needs -o
    #[arg(long)]
    pub json: bool,
}

/// The versions of the chat plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PluginVersion {
    V1,
    V2,
}

/// The settings that apply to every file of a call.
/// The same for every file of a folder.
struct ConvertJob<'a> {
    args: &'a ConvertArgs,
    from: Option<&'static dyn Format>,
    to: &'static dyn Format,
    dialect: Option<Dialect>,
    /// The file for all losses.
    losses: RefCell<Option<Destination>>,
}

/// All wrong usage is reported before any file is opened.
pub fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let is_stdout = args.output.as_deref().is_none_or(is_dash);
    if args.json && is_stdout {
        let text = "--json prints the result to stdout, where the conversation would go";
        return Err(Failure::usage(text, "name a file: -o OUT"));
    }
    let from = args.from.as_deref().map(format_named).transpose()?;
    let to = target(args)?;
    let dialect = args.dialect.map(|plugin| match plugin {
        PluginVersion::V1 => Dialect::V1,
        PluginVersion::V2 => Dialect::V2,
    });
    if dialect.is_some() && to.id() != "chatmd" {
        let text = format!(
            "--dialect is about chat Markdown, and the target is {}",
            to.id()
        );
        return Err(Failure::usage(text, "add --to chatmd"));
    }
    let losses = args.losses.as_deref();
    let losses = losses.map(|path| Destination::file(path, on_existing(args)));
    let job = ConvertJob {
        args,
        from,
        to,
        dialect,
        losses: RefCell::new(losses.transpose()?),
    };
    let done = if args.input.is_dir() {
        folder::run(&job)
    } else {
        job.single(is_stdout)
    };
    if let Some(losses) = job.losses.take() {
        losses.finish()?;
    }
    done
}

/// Only `--force` replaces a file.
fn on_existing(args: &ConvertArgs) -> OnExisting {
    if args.force {
        OnExisting::Replace
    } else {
        OnExisting::Refuse
    }
}

/// By convention, `-` is stdin or stdout.
fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The format with this name, or an error that suggests one.
/// Fails with the nearest name, or with all of them.
fn format_named(id: &str) -> Result<&'static dyn Format, Failure> {
    convert::format_by_id(id).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.id()).collect();
        let nearest = analects_core::nearest(id, known.iter().copied());
        let hint = match nearest {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the formats are {}", known.join(", ")),
        };
        Failure::usage(format!("there is no format {id:?}"), hint)
    })
}

/// The format to write: `--to`, or the one that the name of OUT implies.
/// `--to` wins over the name of the output. Fails if neither tells.
fn target(args: &ConvertArgs) -> Result<&'static dyn Format, Failure> {
    if let Some(id) = &args.to {
        return format_named(id);
    }
    let output = args.output.as_deref();
    let Some(path) = output.filter(|path| !is_dash(path) && !args.input.is_dir()) else {
        let hint = one_of("--to", writable());
        return Err(Failure::usage("the format to write is not named", hint));
    };
    let name = path.display();
    match convert::format_for_name(&path.to_string_lossy()) {
        FormatChoice::One(format) => Ok(format),
        FormatChoice::Several(formats) => Err(Failure::usage(
            format!("{name}: this name fits several formats"),
            one_of("--to", formats.iter().copied()),
        )),
        FormatChoice::Unknown => Err(Failure::usage(
            format!("{name}: the format is not clear from this name"),
            one_of("--to", writable()),
        )),
    }
}

/// A hint to name one of these formats.
fn one_of(option: &str, formats: impl Iterator<Item = &'static dyn Format>) -> String {
    let ids: Vec<&str> = formats.map(|format| format.id()).collect();
    format!("add {option} and one of {}", ids.join(", "))
}

/// The formats that can be written.
/// Some formats, such as those of other programs' sessions, can only be read.
fn writable() -> impl Iterator<Item = &'static dyn Format> {
    let options = WriteOptions::default();
    FORMATS
        .iter()
        .copied()
        .filter(move |format| format.writer(&options).is_some())
}

impl ConvertJob<'_> {
    /// Converts a single file, as opposed to a folder.
    /// A conversion that loses something fails after its report, without `--lossy`.
    fn single(&self, is_stdout: bool) -> Result<(), Failure> {
        let source = ConvertSource::open(&self.args.input)?;
        let output = match &self.args.output {
            Some(path) if !is_stdout => Destination::file(path, on_existing(self.args))?,
            _ => Destination::stdout(self.args.lossy),
        };
        let mut report = self.convert(source, output)?;
        self.conclude(&mut report)
    }

    /// Prints the report of a file, writes its losses, and fails if the output was not written.
    fn conclude(&self, report: &mut ConvertReport) -> Result<(), Failure> {
        let losses = report.losses.take_all();
        let is_none = report.losses.count() == 0;
        let mut file = self.losses.borrow_mut();
        if self.args.json {
            let mut text = Vec::new();
            losses.for_each(&mut |bytes| {
                text.extend_from_slice(bytes);
                Ok(())
            })?;
            if let Some(file) = file.as_mut().filter(|_| !is_none) {
                file.write(&text)?;
                file.write(b"\n")?;
            }
            report.print_json(&text)?;
            return report.conclude();
        }
        if let Some(file) = file.as_mut().filter(|_| !is_none) {
            losses.for_each(&mut |bytes| file.write(bytes))?;
            file.write(b"\n")?;
        }
        report.print();
        report.conclude()
    }

    /// The format of a file; `None` if it is unknown.
    /// `--from` wins over the content, and the content over the name. `None` if nothing tells.
    fn format_of(&self, source: &ConvertSource) -> Option<&'static dyn Format> {
        self.from
            .or_else(|| convert::detect(&source.head, &source.name))
    }

    /// Converts a file. The output is only finished if nothing is lost, or if losses are allowed.
    fn convert(
        &self,
        mut source: ConvertSource,
        mut output: Destination,
    ) -> Result<ConvertReport, Failure> {
        let from = self.format_of(&source).ok_or_else(|| unknown(&source))?;
        let is_for_people = self.to.is_for_people(&self.write_options(&output));
        let lossy = self.args.lossy;
        let name = output.name();
        let mut report =
            ConvertReport::new(&source.name, name, from, self.to, lossy, is_for_people);
        if from.id() == self.to.id() && self.dialect.is_none() {
            source.for_each(&mut |bytes| output.write(bytes))?;
        } else {
            let conversion = self.pass(from, &mut source, &mut output, &mut report)?;
            report.add_conversion(conversion);
        }
        if report.is_allowed() {
            output.finish()?;
        }
        Ok(report)
    }

    /// Reads one format and writes the other, in one pass or two.
    /// Returns what was lost; whether that is acceptable is up to the caller.
    fn pass(
        &self,
        from: &dyn Format,
        source: &mut ConvertSource,
        output: &mut Destination,
        report: &mut ConvertReport,
    ) -> Result<Conversion, Failure> {
        let (writer, seen) = self.writer(from, source, &self.write_options(output))?;
        let mut conversion = Conversion::new(self.reader(from, source, false)?, writer);
        let mut tail = Spool::default();
        let mut step = |bytes: &[u8]| {
            output.write(&conversion.feed(bytes))?;
            report.add_losses(std::mem::take(&mut conversion.losses))?;
            tail.write(&std::mem::take(&mut conversion.tail))
        };
        match seen {
            Some(seen) => source.reread(seen, &mut step)?,
            None => source.for_each(&mut step).map(drop)?,
        }
        output.write(&conversion.finish_body())?;
        report.add_losses(std::mem::take(&mut conversion.losses))?;
        tail.write(&std::mem::take(&mut conversion.tail))?;
        tail.for_each(&mut |bytes| output.write(bytes))?;
        Ok(conversion)
    }

    /// The writer of the target format. If it needs a survey of the source first, that pass happens
    /// here, and its digest is returned too.
    /// The digest is there if the source was read once already, and has to be read again.
    fn writer(
        &self,
        from: &dyn Format,
        source: &mut ConvertSource,
        options: &WriteOptions,
    ) -> Result<(Box<dyn FormatWriter>, Option<SourceDigest>), Failure> {
        if let Some(survey) = self.to.first_pass(options) {
            let reading = from.read_mode();
            if reading == ReadMode::Records && survey.is_for_revisions() {
                return Ok((survey.writer(), None));
            }
            if reading != ReadMode::Whole && source.takes_two_passes()? {
                let mut surveying = FirstPassRunner::new(self.reader(from, source, true)?, survey);
                let seen = source.for_each(&mut |bytes| {
                    surveying.feed(bytes);
                    Ok(())
                })?;
                return Ok((surveying.finish(), Some(seen)));
            }
        }
        let writer = self.to.writer(options).ok_or_else(|| {
            let text = format!("{} can only be read", self.to.id());
            Failure::usage(text, "choose another format with --to")
        })?;
        Ok((writer, None))
    }

    /// The reader of the source format. For a survey, it may skip what the survey does not need.
    /// Fails if the format can only be written.
    fn reader(
        &self,
        from: &dyn Format,
        source: &ConvertSource,
        is_first_pass: bool,
    ) -> Result<Box<dyn FormatReader>, Failure> {
        let full = self.args.full;
        let options = ReadOptions {
            name: source.name.clone(),
            full,
            zone: crate::local_time::zone(),
            stored_messages: if full {
                Some(journal_messages()?)
            } else {
                None
            },
            is_first_pass,
        };
        from.reader(&options).ok_or_else(|| {
            let text = format!("{}: {} can only be written", source.name, from.id());
            Failure::usage(text, "choose another format with --from")
        })
    }

    /// The options for the writer.
    fn write_options(&self, output: &Destination) -> WriteOptions {
        let dialect = self.dialect.unwrap_or_default();
        let name = output.name();
        let full = self.args.full;
        WriteOptions {
            name,
            dialect,
            zone: crate::local_time::zone(),
            full,
        }
    }
}

/// The details of answers that are only in the journal.
/// With `--full`, a message file gets back what its cells do not say from the journal of this machine.
fn journal_messages() -> Result<StoredMessages, Failure> {
    let places = Environment::read()?.places;
    Ok(StoredMessages(Rc::new(AllJournalMessages(Journal::new(
        &places,
    )))))
}

/// The failure for a file of unknown format.
fn unknown(source: &ConvertSource) -> Failure {
    let name = &source.name;
    if let Some(json) = JsonOverLines::find(&source.head) {
        let text = format!("{name}: this is not a conversation in a known format");
        return Failure::input(text).or_hint(hints::json_over_lines(&json));
    }
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id()).collect();
    Failure::input(format!(
        "{name}: its format is not clear from its content or its name"
    ))
    .or_hint(format!(
        "if you know it, add --from and one of {}",
        ids.join(", ")
    ))
}
