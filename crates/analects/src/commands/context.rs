//! `context`: shows what `chat` would send, message by message.
//!
//! The plan is made by the same code as a call of `chat`, on a copy in memory, so the table shows what would really be
//! sent. Only the counting differs: it is as exact as possible here and quick there.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use analects_context::{Count, DOCUMENT_ID, Fate, Precision, Row, count_tokens_from_usage};
use analects_core::{Message, MessageId, Problem};
use analects_formats::msgfile::ShowProblem;
use analects_runtime::{
    AskOptions, Conversation, FileConversation, NamedPicture, PrepareError, Prepared,
    ResolvedAgent, TurnConfig, TurnPlan, size_in_words,
};
use analects_store::FileGrants;
use serde::Serialize;

use super::chat::{self, CallArgs, ChatCall, ChatSettings, UserInput};
use super::reading::content_in_words;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{self, Interface};
use crate::sessions::{Sessions, short_ids};
use crate::tools::ToolArgs;
use crate::{local, message_file, pictures, request_preview, ui};

/// The line before the text of a document, which is no part of it.
const DOCUMENT_TAG: &str = "<document>";

/// The width of the bar in characters.
const BAR: usize = 40;
/// The characters that the percentage behind the bar takes.
const PERCENT_WIDTH: usize = 8;

/// Show what chat would send to the model
///
/// context shows each message with its tokens, whether it is sent, shortened or left out (and why), and the
/// start of its text. Below that, it shows the total and how much of the model's window it takes. Nothing is
/// sent, and no API key is needed.
///
/// A count with ~ is an estimate, and ± shows how far off it may be for ordinary text. If not everything
/// fits, chat first shortens long results, then leaves out the earliest tool calls with their results, then
/// the earliest turns. Instructions, your last message and the last summary always stay. context reads a
/// session from its end until the window is full, and shows all earlier messages as one row.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects context talk.msg.md
  analects context last -m anthropic/claude-sonnet-4-5
  analects context talk.msg.md --request | jq .body")]
pub struct ContextArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The model that would get the request [default: the model that answered last]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that would answer
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Include only these cells of the file, plus the question
    #[arg(short, long, value_name = "CELLS")]
    include: Vec<String>,

    /// Leave out these cells of the file
    #[arg(short, long, value_name = "CELLS")]
    exclude: Vec<String>,

    /// Include the pictures that the file names
    #[arg(long)]
    pictures: bool,

    /// Plan with the text above the messages of the file
    #[arg(long)]
    with_document: bool,

    #[command(flatten)]
    tools: ToolArgs,

    /// Print the request instead of the table
    #[arg(long)]
    request: bool,

    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,

    /// Where the person reads hints.
    #[arg(skip)]
    interface: Interface,
}

impl ContextArgs {
    /// The target, if it is a file.
    fn file(&self) -> Option<&Path> {
        let path = Path::new(&self.target);
        (self.target.ends_with(".md") || path.is_file()).then_some(path)
    }

    /// The arguments for `/context` in an interactive session.
    pub fn of(target: String, call: ChatCall<'_>) -> ContextArgs {
        ContextArgs {
            target,
            model: call.model.map(str::to_string),
            agent: call.agent.map(str::to_string),
            include: Vec::new(),
            exclude: Vec::new(),
            pictures: call.args.pictures,
            with_document: call.args.with_document,
            tools: call.args.answer.tools.clone(),
            request: false,
            json: false,
            interface: Interface::Session,
        }
    }
}

/// The plan as `--json` prints it.
/// All sizes are in tokens, unless the name says otherwise.
#[derive(Debug, Serialize)]
struct ContextReport<'a> {
    model: String,
    agent: &'a str,
    /// The whole window of the model.
    window: u64,
    /// What is kept free for the answer.
    reserved: u64,
    /// What a request may have: the window without the reserve.
    limit: u64,
    /// What would be sent.
    count: Count,
    /// The tokens that the provider reported with the last answer, plus a count of everything
    /// since.
    used: Count,
    system: Count,
    tools: Count,
    /// Whether the request can be sent at all, perhaps shortened.
    fits: bool,
    /// Messages that may only be sent as a summary and have none yet.
    needs_summary: Vec<String>,
    /// The bytes of the session before these messages, which do not fit.
    earlier_bytes: Option<u64>,
    messages: Vec<ContextRow<'a>>,
    pictures: Vec<ContextPicture<'a>>,
    notes: Vec<ShowProblem>,
}

/// A message in the plan, as JSON.
/// `tokens` is what is sent, `whole` what the message has in full.
#[derive(Debug, Serialize)]
struct ContextRow<'a> {
    id: &'a str,
    /// The first cell of the message.
    cell: Option<&'a str>,
    role: &'static str,
    /// What happens to the message, such as `sent` or `shortened`.
    fate: &'static str,
    /// `None` for a message that is sent in full.
    why: Option<&'static str>,
    tokens: Count,
    whole: Count,
}

/// A picture that a message file names, as JSON.
/// Either `media_type` and `bytes` are there, or `why`.
#[derive(Debug, Serialize)]
struct ContextPicture<'a> {
    path: &'a str,
    media_type: Option<&'static str>,
    bytes: Option<usize>,
    /// Why the picture is not sent.
    why: Option<&'a str>,
}

impl ContextPicture<'_> {
    fn of(picture: &NamedPicture) -> ContextPicture<'_> {
        let facts = picture.facts.as_ref();
        ContextPicture {
            path: &picture.name,
            media_type: facts.ok().map(|(media_type, _)| *media_type),
            bytes: facts.ok().map(|(_, bytes)| *bytes),
            why: facts.err().map(String::as_str),
        }
    }
}

/// Prints the pictures that would be sent. The others are reported as problems.
/// Their tokens are not known, since every provider counts pictures in its own way.
fn print_pictures(pictures: &[NamedPicture]) -> Result<(), Failure> {
    for NamedPicture { name, facts } in pictures {
        if let Ok((media_type, bytes)) = facts {
            ui::print_line(&format!("picture {name}: {media_type}, {bytes} bytes"))?;
        }
    }
    Ok(())
}

/// A target that ends in `.md` is a file even if it is missing; anything else that is no file is a session.
/// Keys are not needed, since nothing is sent.
pub fn run(args: &ContextArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    environment.models.allow_no_key = true;
    let settings = settings(args, &environment)?;
    let path = Path::new(&args.target);
    if args.target.ends_with(".jsonl") && path.is_file() {
        return Err(is_transcript(&args.target));
    }
    let call = settings.call(&environment, args.interface);
    if args.file().is_some() {
        return of_file(args, call, path);
    }
    if settings.args.with_document {
        let message = "--with-document sends the text of a file, and this is a session";
        return Err(Failure::usage(
            message,
            "leave it out, or name a message file",
        ));
    }
    if settings.args.chooses_cells() {
        let message = "--include and --exclude choose cells of a file, and this is a session";
        return Err(Failure::usage(
            message,
            "leave them out, or name a message file",
        ));
    }
    let sessions = Sessions::of(&environment);
    let conversation = chat::open(&sessions, sessions.find(Some(&args.target))?)?;
    let mut conversation = conversation.into_dry_run();
    let prepared = call.prepare_without_question(&mut conversation, &UserInput::default())?;
    show(args, call, prepared, None, &[])
}

/// The settings of the call of `chat` that this command plans.
/// Recording and limits do not matter, because nothing is asked.
fn settings(args: &ContextArgs, environment: &Environment) -> Result<ChatSettings, Failure> {
    Ok(ChatSettings {
        config: Config::read_for(args.model.as_deref(), args.agent.as_deref(), environment)?,
        turn: TurnConfig {
            grants: Some(FileGrants::new(&environment.places)),
            tools: args.tools.runner(args.file(), environment)?,
            ..TurnConfig::default()
        },
        records: false,
        args: CallArgs {
            include: args.include.clone(),
            exclude: args.exclude.clone(),
            pictures: args.pictures,
            with_document: args.with_document,
            ..CallArgs::default()
        },
        model: args.model.clone(),
        agent: args.agent.clone(),
    })
}

/// The failure for the path of a transcript.
/// A transcript outside of the store has no lock and no index, so it cannot be continued.
fn is_transcript(path: &str) -> Failure {
    let text = format!("{path}: a transcript has to be a session of the store");
    let hint = "name the session; for a file from elsewhere, run analects session import first";
    Failure::usage(text, hint)
}

/// Shows the plan for a message file.
/// The file itself is not changed, and no lock is taken.
fn of_file(args: &ContextArgs, call: ChatCall<'_>, path: &Path) -> Result<(), Failure> {
    let places = &call.environment.places;
    let document = analects_store::read_message_file(path)?;
    let mut conversation = FileConversation::dry_run_document(path, document, places)?;
    let is_wanted = args.pictures;
    let allowed = pictures::allowed(path, is_wanted, call.config, call.environment);
    conversation.allow_pictures(allowed);
    if args.with_document {
        conversation.send_document();
    }
    message_file::remark_journal(path, conversation.document(), places);
    let input = UserInput::default();
    let chosen = call.args.choose(path, &conversation)?;
    let options = AskOptions {
        needs_question: false,
        ..call.options(&input, chosen)
    };
    let prepared = call.queue().prepare(&mut conversation, &options);
    let prepared = prepared.and_then(|prepared| prepared.ok_or(PrepareError::NothingToAsk));
    let mut prepared = prepared.map_err(|error| call.explain(error))?;
    call.report_queue(&prepared);
    // This may write the agent to the rehearsed file, which changes no cell name.
    prepared.write()?;
    let names = prepared.conversation().cell_names();
    let pictures = prepared.conversation().named_pictures();
    show(args, call, prepared, Some(&names), &pictures)
}

/// Prints the plan as a table, as JSON, or as the request itself.
/// Fails at the end if the request does not fit, after the table that shows why.
fn show<C: Conversation>(
    args: &ContextArgs,
    call: ChatCall<'_>,
    mut prepared: Prepared<C>,
    names: Option<&HashMap<MessageId, String>>,
    pictures: &[NamedPicture],
) -> Result<(), Failure> {
    chat::report_notes(prepared.notes());
    if let Some(vocabulary) = local::tokenizer(&prepared.agent().model, call.environment) {
        prepared.config_mut().tokenizer = Some(Arc::new(vocabulary));
    }
    let precision = if args.request {
        Precision::default()
    } else {
        Precision::Exact
    };
    let planned = prepared.plan(precision)?;
    for text in &planned.reminders {
        ui::remark(&format!("the model would be told: {text}"));
    }
    let ready = planned.plan.ready();
    let ready = ready.map_err(|why| Failure::input(why.to_string()).or_hint(why.hint()));
    if args.request {
        return request_preview::print(&prepared.agent().model, ready?);
    }
    if args.json {
        return ui::print_json(&as_json(
            &args.target,
            prepared.agent(),
            &planned,
            names,
            pictures,
        ));
    }
    let problems: Vec<Problem> = planned
        .problems
        .iter()
        .chain(&planned.plan.notes)
        .filter(|it| super::reading::is_serious(it))
        .cloned()
        .collect();
    ui::report_problems_in(args.interface, &args.target, b"", &problems);
    print_table(prepared.agent(), &planned, names)?;
    print_pictures(pictures)?;
    ready.map(drop)
}

/// The plan in its JSON form.
fn as_json<'a>(
    target: &str,
    responder: &'a ResolvedAgent,
    planned: &'a TurnPlan,
    names: Option<&'a HashMap<MessageId, String>>,
    pictures: &'a [NamedPicture],
) -> ContextReport<'a> {
    let plan = &planned.plan;
    let row = |row: &'a Row| ContextRow {
        id: &row.id,
        cell: names
            .and_then(|names| names.get(&row.id))
            .map(String::as_str),
        role: row.role.as_str(),
        fate: row.fate.as_str(),
        why: row.why,
        tokens: row.tokens,
        whole: row.whole,
    };
    ContextReport {
        model: format!("{}/{}", responder.model.provider, responder.model.name),
        agent: &responder.agent.name,
        window: plan.budget.window,
        reserved: plan.budget.reserved,
        limit: plan.budget.limit(),
        count: plan.count,
        used: planned.used,
        system: plan.system,
        tools: plan.tools,
        fits: plan.ready().is_ok(),
        needs_summary: plan
            .needs_summary
            .iter()
            .map(|id| (**id).to_string())
            .collect(),
        earlier_bytes: Some(planned.earlier_bytes).filter(|bytes| *bytes > 0),
        messages: plan.rows.iter().map(row).collect(),
        pictures: pictures.iter().map(ContextPicture::of).collect(),
        notes: hints::problems_with_hints(&plan.notes, Path::new(target)),
    }
}

/// Prints a row for each message, the total, and the bar, which is the last line.
/// Messages of a file go by the names of their cells, those of a session by the beginnings of their ids.
fn print_table(
    responder: &ResolvedAgent,
    planned: &TurnPlan,
    names: Option<&HashMap<MessageId, String>>,
) -> Result<(), Failure> {
    let mut rows = first_rows(planned);
    let ids: Vec<&str> = planned.plan.rows.iter().map(|row| &*row.id).collect();
    let ids = short_ids(&ids);
    let messages = planned.plan.rows.iter().zip(&planned.messages);
    for ((row, message), id) in messages.zip(ids) {
        let name = if *message.id == *DOCUMENT_ID {
            "document".to_string()
        } else if let Some(names) = names {
            names.get(&message.id).cloned().unwrap_or_default()
        } else {
            id
        };
        rows.push(line(name, row, message));
    }
    ui::print_rows(rows)?;
    ui::print_line("")?;
    print_totals(responder, planned)
}

/// The rows before the messages: the system prompt, the tools, and what a session has no room for.
/// None of them is a message, so none has a name to use in other verbs.
fn first_rows(planned: &TurnPlan) -> Vec<[String; 5]> {
    let mut rows = Vec::new();
    let system = planned.plan.system;
    if system.tokens > 0 {
        let tokens = system.to_string();
        rows.push(["instructions", "system", &tokens, "sent", ""].map(str::to_string));
    }
    let tools = &planned.plan.request.tools;
    if !tools.is_empty() {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let tokens = planned.plan.tools.to_string();
        rows.push(["tools", "", &tokens, "sent", &names.join(", ")].map(str::to_string));
    }
    if planned.earlier_bytes > 0 {
        let size = size_in_words(planned.earlier_bytes);
        let text = format!("the first {size} of the session");
        rows.push(["", "", "", "not sent: no room", &text].map(str::to_string));
    }
    rows
}

/// Prints how much of the window is used.
/// The provider's own count is shown as well, if the last answer reported one and it differs.
fn print_totals(responder: &ResolvedAgent, planned: &TurnPlan) -> Result<(), Failure> {
    let plan = &planned.plan;
    let limit = plan.budget.limit();
    let window = plan.budget.window;
    let reserved = plan.budget.reserved;
    ui::print_sentence(&format!(
        "{}/{}: {} of {limit} tokens; the window has {window}, with {reserved} reserved for the answer",
        responder.model.provider, responder.model.name, plan.count
    ))?;
    let used = planned.used;
    let messages: Vec<&Message> = planned.messages.iter().collect();
    let is_reported = count_tokens_from_usage(&messages).is_some();
    if is_reported && used.tokens != plan.count.tokens {
        ui::print_sentence(&format!(
            "by the usage that the last answer reported, plus later messages: {used}"
        ))?;
    }
    let bar_width = BAR.min(ui::width().saturating_sub(PERCENT_WIDTH).max(1));
    ui::print_line(&bar(plan.count.tokens, reserved, window, bar_width))
}

/// A row: name, role, tokens, what happens to the message, start of the text.
/// A shortened message shows both sizes, such as `200 of 4500`.
fn line(name: String, row: &Row, message: &Message) -> [String; 5] {
    let content = message.content_seen();
    let text = content.text();
    let begins = match first_words(&text) {
        "" => first_words(&content_in_words(&content)).to_string(),
        words => words.to_string(),
    };
    let fate = match (row.fate, row.why) {
        (Fate::Sent, _) | (_, None) => row.fate.as_str().to_string(),
        (fate, Some(why)) => format!("{}: {why}", fate.as_str()),
    };
    let tokens = if row.fate == Fate::Shortened {
        format!("{} of {}", row.tokens, row.whole)
    } else {
        row.tokens.to_string()
    };
    [name, row.role.as_str().to_string(), tokens, fate, begins]
}

/// The first line of a text that says something.
fn first_words(text: &str) -> &str {
    let mut lines = text.lines();
    let line = lines.find(|line| !line.trim().is_empty() && *line != DOCUMENT_TAG);
    line.unwrap_or_default()
}

/// The window as a bar: used, free, and reserved for the answer.
/// Always `width` characters wide, and then the percentage, which may exceed 100.
fn bar(used: u64, reserved: u64, window: u64, width: usize) -> String {
    let used_cells = bar_cells(used, window, width);
    let reserved_cells = bar_cells(reserved, window, width);
    let free_cells = width.saturating_sub(used_cells + reserved_cells);
    let used_bar = "█".repeat(used_cells.min(width - reserved_cells));
    let free_bar = "░".repeat(free_cells);
    let reserved_bar = "▒".repeat(reserved_cells);
    let percent = used as f64 * 100.0 / window.max(1) as f64;
    format!("{used_bar}{free_bar}{reserved_bar} {percent:.1} %")
}

/// How many of the `width` characters of the bar stand for so many tokens.
/// Rounds up, so that a little is not nothing.
fn bar_cells(tokens: u64, window: u64, width: usize) -> usize {
    let share = tokens as f64 / window.max(1) as f64;
    ((share * width as f64).ceil() as usize).min(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_its_width() {
        let width = |text: &str| text.chars().take_while(|c| "█░▒".contains(*c)).count();
        for (used, reserved) in [
            (0, 0),
            (1, 1),
            (50, 20),
            (80, 20),
            (99, 50),
            (500, 20),
            (3, 100),
        ] {
            let bar = bar(used, reserved, 100, BAR);
            assert_eq!(width(&bar), BAR, "{used} {reserved}: {bar}");
        }
        assert_eq!(bar(0, 0, 0, BAR), format!("{} 0.0 %", "░".repeat(BAR)));
    }
}
