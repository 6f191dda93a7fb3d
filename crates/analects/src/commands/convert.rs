//! `convert`: a conversation from one format to another, with a list of what would be lost.

mod folder;
mod output;
mod report;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use analects_formats::chatmd::Dialect;
use analects_formats::frame::{self, Conversion, FORMATS, Format, HEAD, Known, Target};
use analects_formats::{ReadOptions, WriteOptions};
use analects_store::{AllDetails, Journal};
use clap::ValueEnum;
use jiff::tz::TimeZone;

use crate::failure::{Failure, words};
use crate::piped::open_regular;
use crate::surroundings::Surroundings;
use crate::ui;
use output::{Output, Taken};
use report::Report;

/// Turn a conversation into another format
///
/// The format of IN is found by its content, and by its name where that does not tell; --from says it instead. The
/// format of OUT is that of its name, or what --to says. Without -o, the result goes to stdout; - is stdin or stdout.
///
/// Nothing is lost silently: if the other format has no place for something, or something cannot be read, it is listed by
/// message, nothing is written, and the exit code is 1. With --lossy, the list is printed and the rest is written. A file
/// is complete before it gets its name, and one that is there is replaced only with --force: its mode and owner stay, and
/// of a link, the file that it leads to is replaced. Within the same format, a file is copied byte by byte.
///
/// A message file is written for people: fields of providers, signatures, encrypted reasoning and records that say
/// nothing are counted, and stay behind. --full keeps all of them, the details in one cell at the end.
///
/// A folder becomes a folder: --to says the format, and every file of a format that is known gets the same name there,
/// with another ending, and a number where two names would be the same. Hidden folders, node_modules and target are left
/// out; links are not followed.
///
/// Formats to read and write: msgfile, chatmd, transcript, chat-session, anthropic, openai. To read: claude-code. To write:
/// markdown, a page for people. See the reference of formats for what each can say.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects convert talk.md -o talk.msg.md
  analects convert talk.msg.md --to openai --lossy > request.json
  analects convert training.jsonl --to transcript | head -n 1
  analects convert notes/ -o pages/ --to markdown")]
pub struct Args {
    /// The file or folder, or - for stdin
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The new file or folder, or - for stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// The format of IN [default: what its content shows]
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,

    /// The format of OUT [default: what its name says]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,

    /// Write what can be said, and only list what is lost
    #[arg(long)]
    lossy: bool,

    /// Keep everything: progress, snapshots and other records; in a message file, all details
    #[arg(long)]
    full: bool,

    /// Write chat Markdown for a generation of its plugin
    #[arg(long, value_enum)]
    dialect: Option<Plugin>,

    /// Replace files that are there
    #[arg(long)]
    force: bool,

    /// Print what was done, and what is lost, as JSON; needs -o
    #[arg(long)]
    pub json: bool,
}

/// The generations of the chat plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Plugin {
    V1,
    V2,
}

/// What is done with each file.
struct Job<'a> {
    args: &'a Args,
    from: Option<&'static dyn Format>,
    to: &'static dyn Format,
    dialect: Option<Dialect>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let is_stdout = args.output.as_deref().is_none_or(is_dash);
    if args.json && is_stdout {
        let text = "--json tells what was done on stdout, where the conversation would go";
        return Err(Failure::usage(text, "name a file: -o OUT"));
    }
    let from = args.from.as_deref().map(named).transpose()?;
    let to = target(args)?;
    let dialect = args.dialect.map(|plugin| match plugin {
        Plugin::V1 => Dialect::V1,
        Plugin::V2 => Dialect::V2,
    });
    if dialect.is_some() && to.id() != "chatmd" {
        let text = format!("--dialect is about chat Markdown, and the target is {}", to.id());
        return Err(Failure::usage(text, "add --to chatmd"));
    }
    let job = Job { args, from, to, dialect };
    match args.input.is_dir() {
        true => folder::run(&job),
        false => job.single(is_stdout),
    }
}

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The format of that name.
fn named(id: &str) -> Result<&'static dyn Format, Failure> {
    frame::format(id).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.id()).collect();
        let nearest = analects_core::nearest(id, known.iter().copied());
        let hint = match nearest {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the formats are {}", known.join(", ")),
        };
        Failure::usage(format!("there is no format {id:?}"), hint)
    })
}

/// The format to write.
fn target(args: &Args) -> Result<&'static dyn Format, Failure> {
    if let Some(id) = &args.to {
        return named(id);
    }
    let path = args.output.as_deref().filter(|path| !is_dash(path) && !args.input.is_dir());
    let Some(path) = path else {
        let ids: Vec<&str> = writable().map(|format| format.id()).collect();
        let hint = format!("add --to and one of {}", ids.join(", "));
        return Err(Failure::usage("the format to write is not named", hint));
    };
    match frame::of_name(&path.to_string_lossy()) {
        Target::One(format) => Ok(format),
        Target::Several(formats) => {
            let ids: Vec<&str> = formats.iter().map(|format| format.id()).collect();
            let text = format!("{}: this name fits several formats", path.display());
            Err(Failure::usage(text, format!("add --to and one of {}", ids.join(", "))))
        }
        Target::Unknown => {
            let text = format!("{}: this name does not tell the format", path.display());
            let ids: Vec<&str> = writable().map(|format| format.id()).collect();
            Err(Failure::usage(text, format!("add --to and one of {}", ids.join(", "))))
        }
    }
}

fn writable() -> impl Iterator<Item = &'static dyn Format> {
    let options = WriteOptions::default();
    FORMATS.iter().copied().filter(move |format| format.writer(&options).is_some())
}

/// A file that was opened, and how it begins.
struct Source {
    name: String,
    head: Vec<u8>,
    rest: Box<dyn io::Read>,
    /// Its length, where that is known.
    size: Option<u64>,
}

impl Source {
    fn open(path: &Path) -> Result<Source, Failure> {
        let name = path.to_string_lossy().into_owned();
        if is_dash(path) {
            return Source::begin(name, Box::new(io::stdin().lock()), None);
        }
        let file = open_regular(path)?;
        let facts = file.metadata().map_err(|error| unreadable(&name, &error))?;
        let size = facts.is_file().then_some(facts.len());
        Source::begin(name, Box::new(file), size)
    }

    fn begin(
        name: String,
        mut rest: Box<dyn io::Read>,
        size: Option<u64>,
    ) -> Result<Source, Failure> {
        let mut head = Vec::new();
        let taken = rest.by_ref().take(HEAD as u64).read_to_end(&mut head);
        taken.map_err(|error| unreadable(&name, &error))?;
        Ok(Source { name, head, rest, size })
    }

    /// The next bytes; empty at the end.
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.rest.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| unreadable(&self.name, &error)),
            }
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let text = format!("{name}: cannot be read: {}", words(error));
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text),
        _ => Failure::input(text),
    }
}

/// How often it is said how far a conversion is.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// How much is read at once.
const PIECE: usize = 256 << 10;

impl Job<'_> {
    /// Converts one file that the person named.
    fn single(&self, is_stdout: bool) -> Result<(), Failure> {
        let source = Source::open(&self.args.input)?;
        let output = match &self.args.output {
            Some(path) if !is_stdout => {
                Output::file(path, if self.args.force { Taken::Replace } else { Taken::Refuse })?
            }
            _ => Output::stdout(self.args.lossy),
        };
        let report = self.convert(source, output)?;
        report.tell(self.args.json)?;
        report.conclude()
    }

    /// The format of a file; `None` if nothing tells.
    fn format_of(&self, source: &Source) -> Option<&'static dyn Format> {
        self.from.or_else(|| frame::detect(&source.head, &source.name))
    }

    /// Converts a file. The output gets its name only if nothing is lost, or that is allowed.
    fn convert(&self, mut source: Source, mut output: Output) -> Result<Report, Failure> {
        let from = self.format_of(&source).ok_or_else(|| unknown(&source.name))?;
        let mut report = Report::new(&source.name, output.name(), from, self.to, self.args.lossy);
        let is_copy = from.id() == self.to.id() && self.dialect.is_none();
        let mut conversion =
            if is_copy { None } else { Some(self.conversion(from, &source, &output)?) };
        let mut pass = |bytes: &[u8], output: &mut Output| match &mut conversion {
            Some(conversion) => output.write(&conversion.feed(bytes)),
            None => output.write(bytes),
        };
        pass(&std::mem::take(&mut source.head), &mut output)?;
        let (mut buffer, mut read) = (vec![0; PIECE], HEAD as u64);
        let mut far = HowFar::new();
        loop {
            let count = source.next(&mut buffer)?;
            if count == 0 {
                break;
            }
            pass(&buffer[..count], &mut output)?;
            read += count as u64;
            far.tell(&source, read);
        }
        if let Some(mut conversion) = conversion {
            output.write(&conversion.finish())?;
            report.account(conversion);
        }
        if report.is_allowed() {
            output.finish()?;
        }
        Ok(report)
    }

    fn conversion(
        &self,
        from: &dyn Format,
        source: &Source,
        output: &Output,
    ) -> Result<Conversion, Failure> {
        let zone = TimeZone::system();
        let full = self.args.full;
        let read = ReadOptions {
            name: source.name.clone(),
            full,
            zone: zone.clone(),
            known: if full { Some(journal_messages()?) } else { None },
        };
        let dialect = self.dialect.unwrap_or_default();
        let write = WriteOptions { name: output.name(), dialect, zone, full };
        let reader = from.reader(&read).ok_or_else(|| {
            let text = format!("{}: {} can only be written", source.name, from.id());
            Failure::usage(text, "say another format with --from")
        })?;
        let writer = self.to.writer(&write).ok_or_else(|| {
            let text = format!("{} can only be read", self.to.id());
            Failure::usage(text, "say another format with --to")
        })?;
        Ok(Conversion::new(reader, writer))
    }
}

/// What the journal holds of answers.
fn journal_messages() -> Result<Known, Failure> {
    let places = Surroundings::of_process()?.places;
    Ok(Known(Rc::new(AllDetails(Journal::of(&places)))))
}

fn unknown(name: &str) -> Failure {
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id()).collect();
    Failure::input(format!("{name}: neither its content nor its name tells a format"))
        .or_hint(format!("if you know it, add --from and one of {}", ids.join(", ")))
}

/// The line that says how far a conversion is. It goes away with this.
struct HowFar {
    told: Instant,
    is_there: bool,
}

impl HowFar {
    fn new() -> HowFar {
        HowFar { told: Instant::now(), is_there: false }
    }

    fn tell(&mut self, source: &Source, read: u64) {
        if self.told.elapsed() < TELL_EVERY {
            return;
        }
        (self.told, self.is_there) = (Instant::now(), true);
        let name = &source.name;
        match source.size.filter(|size| *size > 0) {
            Some(size) => {
                let percent = read.min(size) * 100 / size;
                ui::progress(&format!("{name}: {percent} % of {} MB", size >> 20));
            }
            None => ui::progress(&format!("{name}: {} MB", read >> 20)),
        }
    }
}

impl Drop for HowFar {
    fn drop(&mut self) {
        if self.is_there {
            ui::progress("");
        }
    }
}
