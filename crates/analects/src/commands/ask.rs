//! `ask`: one question and one answer; nothing is saved.
//!
//! Nothing is stored, so this verb needs neither the store nor the journal. It builds one request, sends it through a
//! [`ModelAdapter`], and prints what arrives.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use analects_client::{ClientError, EventStream, Model, ModelAdapter, cost, is_content, resolve};
use analects_context::{Budget, Counter};
use analects_core::{
    ApiError, Block, Content, Delta, Document, Fold, Folded, Image, Json, Message, Problem, Raw,
    RawMap, Request, Severity, Source, Span, StreamEvent, Turn,
};
use analects_formats::msgfile::base64;
use analects_local::LocalServer;
use analects_store::media_type;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::config::Config;
use crate::connection::stop_reason_warning;
use crate::connection::{ConnectionArgs, block_on};
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::hints::{self, Interface};
use crate::input::{GivenText, MAX_SIZE, read_limited};
use crate::local::LocalTokenizer;
use crate::usage::usage_in_words;
use crate::{interrupt, local, no_model_help, request_preview, ui};

/// Ask one question without saving it
///
/// The prompt is the arguments, followed by the files and by stdin. The answer is printed to stdout as it
/// arrives; the model's thoughts, warnings and usage go to stderr. Ctrl-C stops the answer.
///
/// Pictures (PNG, JPEG, GIF, WebP) and PDF files are sent as they are. All other files must be text.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects ask -m openai/gpt-5-mini \"What is a monad?\"
  git diff | analects ask -s \"You review code.\" \"Review this change\"
  analects ask -m anthropic/claude-sonnet-4-5 -f chart.png -u \"What does it show?\"
  analects ask --dry-run -m gemini/gemini-2.5-flash \"Hello\"")]
pub struct AskArgs {
    /// The question; stdin is added to it
    prompt: Vec<String>,

    /// The model: provider/NAME, a NAME that only one provider has, a configured name (default, task,
    /// reasoning, quick or compact), or replay:FILE for a recorded answer [default: the configured default
    /// model]
    #[arg(short, long)]
    model: Option<String>,

    /// The system prompt
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,

    /// A file to send with the question; can be given more than once
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The temperature [default: the model's own]
    #[arg(long, value_name = "T", value_parser = temperature, allow_hyphen_values = true)]
    temperature: Option<f64>,

    /// The maximum number of tokens in the answer [default: 8192]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    max_tokens: Option<u64>,

    /// Let the model think first, if it can
    #[arg(long)]
    reasoning: bool,

    /// Print tokens, cost and time to stderr
    #[arg(short, long)]
    usage: bool,

    /// Print the answer only when it is complete
    #[arg(long)]
    no_stream: bool,

    /// Print the request, but send nothing; needs no API key
    #[arg(long)]
    dry_run: bool,

    /// Print the answer as JSON, with its usage, cost and other details
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// The token limit of an answer without `--max-tokens`.
/// Long enough for nearly every answer, and a limit on what a mistake can cost.
const MAX_TOKENS: u64 = 8192;

/// Parses `--temperature`.
/// The range differs between providers, so only numbers that none accepts are refused here.
fn temperature(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of at least 0, such as 0.7".to_string())
}

/// The server of a local model is held until the answer is complete.
pub fn run(args: &AskArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    args.connection.allow(&mut environment);
    environment.models.allow_no_key |= args.dry_run;
    let mut model = model(args, &environment)?;
    let request = request(args)?;
    if args.dry_run {
        check_size(&model, &request, None)?;
        return request_preview::print(&model, &request);
    }
    let serving = local::ensure_running(&mut model, args.model.as_deref(), &environment)?;
    check_size(&model, &request, serving.as_ref())?;
    let adapter = ModelAdapter::new(model, args.connection.options(&environment)?);
    interrupt::begin_answer();
    let asked = block_on(ask(args, &adapter, &request))?;
    let done = asked.and_then(|asked| conclude(args, adapter.model(), asked));
    done.map_err(|failure| local::explain_failure(failure, serving.as_deref()))
}

/// The model to ask: `-m`, or the configured default model.
/// Fails if the key is missing, before files and stdin are read.
fn model(args: &AskArgs, environment: &Environment) -> Result<Model, Failure> {
    let config = Config::read_for(args.model.as_deref(), None, environment)?;
    let name = match (&args.model, config.pointer("default")) {
        (Some(wanted), _) => config.model(wanted)?,
        (None, Some(default)) => default.to_string(),
        (None, None) => return Err(no_model_help::no_model(&environment.models)),
    };
    let model = resolve(&name, &environment.models).map_err(|error| {
        if args.model.is_some() {
            return Failure::from(error);
        }
        config.with_model_origin(error.into(), &name)
    })?;
    model.check()?;
    Ok(model)
}

/// Checks that the request fits into the model's window, if that is known.
fn check_size(
    model: &Model,
    request: &Request,
    serving: Option<&Arc<LocalServer>>,
) -> Result<(), Failure> {
    let facts = model.facts.as_ref();
    let Some(window) = facts.and_then(|facts| facts.context_window) else {
        return Ok(());
    };
    let wanted = request.max_output_tokens.unwrap_or(MAX_TOKENS);
    let most = facts.and_then(|facts| facts.max_output_tokens);
    let budget = Budget::new(window, wanted.min(most.unwrap_or(wanted)));
    let tokenizer = serving.cloned().map(LocalTokenizer::new);
    let mut counter = Counter::of_model(&model.name);
    if let Some(tokenizer) = &tokenizer {
        counter = counter.with_tokenizer(tokenizer);
    }
    let hint = "send less text, or choose a model with a larger window with -m; analects model info NAME has the \
                window of a model";
    budget
        .check(request, &mut counter)
        .map_err(|too_large| Failure::input(too_large.to_string()).or_hint(hint))
}

/// The request in the form that all providers share.
/// A single text is sent as text, since some servers take no blocks.
fn request(args: &AskArgs) -> Result<Request, Failure> {
    let blocks = blocks(args)?;
    let content = match &blocks[..] {
        [Block::Text(text)] => Content::Text(text.text.clone()),
        _ => Content::Blocks(blocks),
    };
    // Some providers refuse an empty system prompt.
    let system = args.system.as_deref();
    let system = system.filter(|text| !text.trim().is_empty());
    Ok(Request {
        system: system.map(Into::into),
        turns: vec![Turn::user(content)],
        temperature: args.temperature,
        max_output_tokens: Some(args.max_tokens.unwrap_or(MAX_TOKENS)),
        reasoning: args.reasoning,
        ..Request::default()
    })
}

/// The blocks of the question: the arguments, the files, and stdin.
/// Fails if all of them are empty.
fn blocks(args: &AskArgs) -> Result<Vec<Block>, Failure> {
    let mut blocks = Vec::new();
    let given = GivenText::read(&args.prompt, MAX_SIZE)?;
    if !given.words.trim().is_empty() {
        blocks.push(Block::from_text(&*given.words));
    }
    for path in &args.files {
        blocks.push(block(path)?);
    }
    let piped = given.piped_text()?;
    if !piped.trim().is_empty() {
        blocks.push(Block::from_text(piped));
    }
    if blocks.is_empty() {
        let hint = "give it as an argument or on stdin, such as analects ask \"Hello\"";
        return Err(Failure::usage("nothing to ask", hint));
    }
    Ok(blocks)
}

/// The answer, and how it arrived.
/// Complete only after the stream has ended.
struct AskResult {
    folded: Folded,
    problems: Vec<Problem>,
    /// From the start of the request; `None` if nothing arrived.
    first_token: Option<Duration>,
    /// From the start of the request to the end of the answer.
    took: Duration,
    end: AskEnd,
}

/// Why the answer ended.
/// Only the first may mean a whole answer.
enum AskEnd {
    /// The stream ended, with or without an error from the model.
    Finished,
    /// You pressed Ctrl-C.
    Stopped,
    /// The reader of stdout has gone away.
    OutputClosed,
    /// The connection broke.
    Failed(ClientError),
}

/// Asks the model and prints the answer as it arrives, unless `--no-stream` or `--json` is given.
/// The printer is made after the stream is open, so a refused request prints nothing.
async fn ask(
    args: &AskArgs,
    adapter: &ModelAdapter,
    request: &Request,
) -> Result<AskResult, Failure> {
    let clock = Instant::now();
    ui::status::wait_for("the answer");
    if args.no_stream {
        return ask_without_stream(args, adapter, request, clock).await;
    }
    let opened = tokio::select! {
        stream = adapter.stream_message(request) => stream,
        () = interrupt::wait_for_first() => return Err(Failure::cancelled()),
    };
    let mut stream = opened?;
    let mut answer = (!args.json).then(ui::AnswerPrinter::new);
    let mut fold = Fold::default();
    let mut asked = receive(&mut stream, &mut fold, &mut answer, clock).await;
    if let Some(mut answer) = answer {
        answer.end();
        answer.result()?;
    }
    asked.folded = fold.finish(base(adapter.model(), asked.took));
    asked.problems = stream.left_out().to_vec();
    Ok(asked)
}

/// Reads events until the stream ends, you stop it, or the reader of stdout goes away.
/// The caller fills in the message and the problems afterwards, because the stream still borrows the fold here.
async fn receive(
    stream: &mut EventStream,
    fold: &mut Fold,
    answer: &mut Option<ui::AnswerPrinter>,
    clock: Instant,
) -> AskResult {
    let mut first_token = None;
    let mut end = AskEnd::Finished;
    let stop = interrupt::wait_for_first();
    let mut stop = std::pin::pin!(stop);
    loop {
        let event = tokio::select! {
            event = stream.next() => event,
            () = &mut stop => {
                end = AskEnd::Stopped;
                break;
            }
        };
        match event {
            None => break,
            Some(Err(error)) => end = AskEnd::Failed(error),
            Some(Ok(event)) => {
                fold.push(&event);
                if is_content(&event) {
                    first_token.get_or_insert_with(|| clock.elapsed());
                }
                show(answer, &event);
            }
        }
        if answer.as_ref().is_some_and(|answer| !answer.is_heard()) {
            // Stop here, so that you do not pay for an answer that nobody reads.
            end = AskEnd::OutputClosed;
            break;
        }
    }
    let folded = Fold::default().finish(Message::assistant("", ""));
    let problems = Vec::new();
    let took = clock.elapsed();
    AskResult {
        folded,
        problems,
        first_token,
        took,
        end,
    }
}

/// Prints text and thoughts as they arrive.
/// With `--json` there is no printer, and nothing is shown before the end.
fn show(answer: &mut Option<ui::AnswerPrinter>, event: &StreamEvent) {
    let (Some(answer), StreamEvent::BlockDelta { delta, .. }) = (answer, event) else {
        return;
    };
    match delta {
        Delta::Text(text) => answer.print(&text.as_str()),
        Delta::Thinking(text) => answer.think(&text.as_str()),
        _ => {}
    }
}

/// Asks the model and prints the answer when it is complete.
/// Ctrl-C discards the answer, since nothing of it has been shown.
async fn ask_without_stream(
    args: &AskArgs,
    adapter: &ModelAdapter,
    request: &Request,
    clock: Instant,
) -> Result<AskResult, Failure> {
    let response = tokio::select! {
        response = adapter.send_message(request) => response?,
        () = interrupt::wait_for_first() => return Err(Failure::cancelled()),
    };
    if !args.json {
        let mut answer = ui::AnswerPrinter::new();
        answer.print(&response.message.text());
        answer.end();
        answer.result()?;
    }
    let message = response.message;
    let complete = response.complete;
    let error = response.error;
    Ok(AskResult {
        folded: Folded {
            message,
            complete,
            error,
            problems: Vec::new(),
        },
        problems: response.problems,
        first_token: response.first_token,
        took: clock.elapsed(),
        end: AskEnd::Finished,
    })
}

/// The answer's message before its content is known.
/// The fold of the stream fills in the rest.
fn base(model: &Model, took: Duration) -> Message {
    let mut base = Message::assistant("", "");
    base.model = Some(model.name.clone());
    base.duration_ms = u64::try_from(took.as_millis()).ok();
    base
}

/// Prints warnings, JSON and usage, and turns an incomplete answer into a failure.
/// JSON and usage are printed even for an incomplete answer, which costs money too.
fn conclude(args: &AskArgs, model: &Model, asked: AskResult) -> Result<(), Failure> {
    let AskResult {
        mut folded,
        problems,
        first_token,
        took,
        end,
    } = asked;
    folded.message.cost_usd = cost(model, folded.message.usage.as_deref());
    for problem in &problems {
        ui::remark(&format!("warning: {}", problem.message));
    }
    if args.json {
        print_json(&folded, &problems, first_token)?;
    }
    if args.usage {
        ui::remark(&usage_in_words(&folded.message, first_token, took));
    }
    let failure = match end {
        AskEnd::Stopped => Some(Failure::cancelled()),
        AskEnd::OutputClosed => return Ok(()),
        AskEnd::Failed(error) => Some(error.into()),
        AskEnd::Finished => incomplete(folded.complete, folded.error),
    };
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Some(text) = stop_reason_warning(&folded.message) {
        ui::remark(&format!("warning: {text}"));
    }
    Ok(())
}

/// The failure for an answer that ended early, or `None` if it is complete.
/// What the provider said comes before the general message.
fn incomplete(complete: bool, error: Option<ApiError>) -> Option<Failure> {
    let told = error.map(|error| ClientError::Interrupted(error).into());
    told.or_else(|| (!complete).then(Failure::incomplete_answer))
}

/// The problems of the request come before those of the answer.
fn print_json(
    folded: &Folded,
    problems: &[Problem],
    first_token: Option<Duration>,
) -> Result<(), Failure> {
    ui::print_json(&AnswerReport {
        complete: folded.complete,
        first_token_ms: first_token.map(|time| time.as_millis() as u64),
        message: request_preview::raw_json(folded.message.to_json())?,
        problems: problems
            .iter()
            .chain(&folded.problems)
            .map(AnswerProblem::of)
            .collect(),
        text: folded.message.text(),
    })
}

/// An answer as `--json` prints it.
/// `first_token_ms` is the time from the request to the first word or thought.
#[derive(Serialize)]
struct AnswerReport<'a> {
    /// False if the connection ended before the provider said that it is done.
    complete: bool,
    first_token_ms: Option<u64>,
    /// The message as transcripts hold it. It stays raw, so that numbers and nesting of any size
    /// survive.
    message: Box<RawValue>,
    problems: Vec<AnswerProblem<'a>>,
    text: String,
}

/// A problem of an answer, as JSON.
#[derive(Serialize)]
struct AnswerProblem<'a> {
    code: &'a str,
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Span>,
    line: usize,
    column: usize,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl AnswerProblem<'_> {
    fn of(problem: &Problem) -> AnswerProblem<'_> {
        let hint = problem.hint.as_ref();
        AnswerProblem {
            code: &problem.code,
            severity: problem.severity,
            span: problem.span,
            line: problem.line,
            column: problem.column,
            message: &problem.message,
            hint: hint.map(|hint| hints::hint_text(hint, None, Interface::Call)),
        }
    }
}

/// A file as a block of the message: a picture, a PDF or text.
/// Text gets the name of its file in front, so that the model can tell several files apart.
fn block(path: &Path) -> Result<Block, Failure> {
    let name = path.display();
    let fail = |error: std::io::Error| unreadable(path, &error);
    let facts = std::fs::metadata(path).map_err(fail)?;
    if facts.is_dir() {
        return Err(Failure::input(format!("{name}: a folder, not a file")));
    }
    if !facts.is_file() && !is_pipe(&facts) {
        return Err(Failure::input(format!("{name}: neither a file nor a pipe")));
    }
    let file = std::fs::File::open(path).map_err(fail)?;
    let Some(bytes) = read_limited(file).map_err(fail)? else {
        return Err(Failure::input(format!("{name}: larger than 30 MB")));
    };
    if let Some(block) = binary_block(&bytes) {
        return Ok(block);
    }
    let Ok(text) = String::from_utf8(bytes) else {
        let failure = Failure::input(format!("{name}: neither text nor a picture nor a PDF"));
        return Err(failure.or_hint("convert it to text first"));
    };
    if !facts.is_file() {
        // A pipe, as the shell creates for `<(…)`, has no useful name.
        return Ok(Block::from_text(text));
    }
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Block::from_text(format!("{file_name}:\n\n{text}")))
}

/// A picture or a PDF as a block; `None` for anything else.
/// Goes by the first bytes and not by the name, because providers do so too.
fn binary_block(bytes: &[u8]) -> Option<Block> {
    if let Some(media_type) = media_type(bytes) {
        return Some(Block::Image(Image {
            source: source(media_type, bytes),
            extra: RawMap::new(),
        }));
    }
    if bytes.starts_with(b"%PDF-") {
        return Some(Block::Document(Document {
            source: source("application/pdf", bytes),
            extra: RawMap::new(),
        }));
    }
    None
}

/// The failure for a file that cannot be read.
/// `-f -` is a common mistake and gets a hint of its own.
fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let name = path.display();
    if error.kind() != std::io::ErrorKind::NotFound {
        return Failure::input(format!("{name}: cannot read: {}", io_error_text(error)));
    }
    let failure = Failure::not_found(format!("{name}: not found"));
    if path == Path::new("-") {
        return failure.or_hint("stdin is sent anyway; leave out -f -");
    }
    failure
}

/// Whether the file is a named pipe, which can be read once.
#[cfg(unix)]
fn is_pipe(facts: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&facts.file_type())
}

/// Whether the file is a named pipe, which can be read once.
#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

/// Providers want base64 without line breaks.
fn source(media_type: &str, bytes: &[u8]) -> Raw {
    let media_type = media_type.to_string();
    let data = base64::encode_line(bytes);
    Source::Base64 { media_type, data }.to_raw()
}
