//! `context`: what would be sent to go on with a conversation, message by message, before it is sent.

use std::collections::HashMap;
use std::path::Path;

use analects_client::Client;
use analects_context::{Calibration, Count, Fate, Plan, Precision, Row, count_tokens_from_usage};
use analects_core::{Chain, Message, MessageId, Problem, chain};
use analects_formats::Decoded;
use analects_formats::msgfile::{
    Choice, Document, Kind, ShowProblem, cell_names, session_of, set_attributes,
};
use analects_local::Serving;
use analects_runtime::{Asked, Conversation, NamedPicture, file_messages, named_pictures};
use analects_store::{Journal, StoreError};
use serde::Serialize;

use super::cells;
use super::chat::{self, Wanted, Who};
use crate::config::Config;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{journal, local, outgoing, ui};

/// How wide the bar for the window is.
const BAR: usize = 40;

/// Show what would be sent to go on with a conversation
///
/// For each message: its tokens, what happens to it and why, and how it begins. Then the sum, and how much of the
/// model's window that is. Nothing is sent, and no key is needed.
///
/// A count with ~ is an estimate, and ± says how far ordinary text may be off. What is shown is what chat would send:
/// where not everything fits, long results are shortened first, then the earliest calls with their results go, then the
/// earliest turns; instructions, the last message of the user and the last summary stay.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects context talk.msg.md
  analects context last -m anthropic/claude-sonnet-4-5
  analects context talk.msg.md --request | jq .body")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The model that would be asked [default: the one that answered last]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that would answer
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Show what it would be with these cells of the file and no others, beside the question
    #[arg(short, long, value_name = "CELLS")]
    include: Vec<String>,

    /// Show what it would be without these cells of the file
    #[arg(short, long, value_name = "CELLS")]
    exclude: Vec<String>,

    /// Include the pictures that the file names
    #[arg(long)]
    pictures: bool,

    /// Print the request itself, as it would go out, instead of the table
    #[arg(long)]
    request: bool,

    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// To look at a conversation whose next answer somebody is wanted for.
    pub fn of(target: String, wanted: Wanted<'_>) -> Args {
        let [model, agent] = [wanted.model, wanted.agent].map(|name| name.map(str::to_string));
        Args {
            target,
            model,
            agent,
            include: Vec::new(),
            exclude: Vec::new(),
            pictures: false,
            request: false,
            json: false,
        }
    }

    fn choice(&self) -> Choice {
        let (include, exclude) = (self.include.clone(), self.exclude.clone());
        Choice { include, exclude, asked: None }
    }
}

/// The plan, as JSON.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    model: String,
    agent: &'a str,
    window: u64,
    reserved: u64,
    limit: u64,
    count: Count,
    /// What the model's side counted up to the last answer, and the best count of what came since.
    used: Count,
    system: Count,
    tools: Count,
    fits: bool,
    needs_summary: Vec<String>,
    messages: Vec<ShownRow<'a>>,
    pictures: Vec<ShownPicture<'a>>,
    notes: Vec<ShowProblem>,
}

/// What becomes of a message, as JSON.
#[derive(Debug, Serialize)]
struct ShownRow<'a> {
    id: &'a str,
    /// The cell that it is, or begins with.
    cell: Option<&'a str>,
    role: &'static str,
    fate: &'static str,
    why: Option<&'static str>,
    tokens: Count,
    whole: Count,
}

/// A picture that a message file names, as JSON.
#[derive(Debug, Serialize)]
struct ShownPicture<'a> {
    path: &'a str,
    media_type: Option<&'static str>,
    bytes: Option<usize>,
    /// Why it is not sent.
    why: Option<&'a str>,
}

impl ShownPicture<'_> {
    fn of(picture: &NamedPicture) -> ShownPicture<'_> {
        let facts = picture.facts.as_ref();
        ShownPicture {
            path: &picture.name,
            media_type: facts.ok().map(|(media_type, _)| *media_type),
            bytes: facts.ok().map(|(_, bytes)| *bytes),
            why: facts.err().map(String::as_str),
        }
    }
}

/// Lists the pictures that would be sent. Why others would not is said among the problems.
fn print_pictures(pictures: &[NamedPicture]) -> Result<(), Failure> {
    for NamedPicture { name, facts } in pictures {
        if let Ok((media_type, bytes)) = facts {
            ui::print_line(&format!("picture {name}: {media_type}, {bytes} bytes"))?;
        }
    }
    Ok(())
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let mut surroundings = Surroundings::of_process()?;
    surroundings.models.allow_no_key = true;
    let wanted = Wanted { model: args.model.as_deref(), agent: args.agent.as_deref() };
    let config = Config::read_for(wanted.model, wanted.agent, &surroundings)?;
    let path = Path::new(&args.target);
    if args.target.ends_with(".jsonl") && path.is_file() {
        let text = format!("{}: a transcript is looked at as a session", args.target);
        let hint = "name the session; a file from elsewhere becomes one by analects session import";
        return Err(Failure::usage(text, hint));
    }
    if args.target.ends_with(".md") || path.is_file() {
        let document = analects_store::read_message_file(path)?;
        if document.kind() == Kind::Plain {
            return Err(StoreError::NotAMessageFile { path: path.to_path_buf() }.into());
        }
        let mut choice = args.choice();
        let turn = chat::next_turn(&document, &choice, wanted, None);
        let wanted = Wanted { agent: wanted.agent.or(turn.agent.as_deref()), ..wanted };
        let who = Who::of_file(&document, wanted, &surroundings.models, &config)?;
        let serving = local::serving(&who.model, &surroundings);
        if let Some(words) = turn.in_words(&choice, &who.agent.name) {
            ui::remark(&words);
        }
        choice.exclude.extend(turn.left);
        let document = chosen(path, document, &choice)?;
        let journal = Journal::of(&surroundings.places);
        let document = chat::with_reminders(document, path, &surroundings, &journal)?;
        let allowed = chat::allowed_pictures(path, args.pictures, &config, &surroundings);
        journal::remark(path, &document, &surroundings.places);
        let decoded = file_messages(&document, path, &allowed, &journal);
        let pictures = named_pictures(&document, path, &allowed);
        let names = cell_names(&document, &session_of(&path.to_string_lossy()));
        let seen = Seen { decoded: &decoded, chain: &chain(&decoded.messages), names, pictures };
        return show(args, &who, &seen, &Calibration::default(), serving.as_ref());
    }
    if !args.include.is_empty() || !args.exclude.is_empty() {
        let message = "--include and --exclude choose cells of a file, and this is a session";
        return Err(Failure::usage(message, "leave them out, or name a message file"));
    }
    let sessions = Sessions::of(&surroundings);
    let conversation = chat::open(&sessions, sessions.find(Some(&args.target))?)?;
    let who = Who::of_store(&conversation, wanted, &surroundings.models, &config)?;
    let serving = local::serving(&who.model, &surroundings);
    let decoded = conversation.messages();
    let names = HashMap::new();
    let chain = &conversation.chain(&decoded);
    let seen = Seen { decoded: &decoded, chain, names, pictures: Vec::new() };
    show(args, &who, &seen, &conversation.notes().calibration, serving.as_ref())
}

/// The file with the cells hidden that would not be sent.
fn chosen(path: &Path, document: Document, choice: &Choice) -> Result<Document, Failure> {
    if choice.is_empty() {
        return Ok(document);
    }
    let source = choice.changes(&document).and_then(|changes| set_attributes(&document, &changes));
    let source = source.map_err(|error| cells::explain(path, &error))?;
    Ok(document.with_source(source))
}

/// A conversation, and what the model would see of it.
struct Seen<'a> {
    decoded: &'a Decoded,
    chain: &'a Chain<'a>,
    /// The cells of the messages, if they have any.
    names: HashMap<MessageId, String>,
    /// The pictures that a message file names.
    pictures: Vec<NamedPicture>,
}

fn show(
    args: &Args,
    who: &Who,
    seen: &Seen<'_>,
    calibration: &Calibration,
    serving: Option<&Serving>,
) -> Result<(), Failure> {
    let Seen { decoded, chain, names, pictures } = seen;
    let precision = if args.request { Precision::default() } else { Precision::Exact };
    let (client, vocabulary) = (Client::default(), chat::vocabulary(serving));
    let tokenizer = vocabulary.as_ref().map(|vocabulary| vocabulary as _);
    let asked = Asked { tokenizer, ..Asked::new(&client, &who.model, &who.agent) };
    let plan = asked.plan(chain, calibration, precision);
    let used = asked.used(chain, calibration);
    if args.request {
        let request =
            plan.ready().map_err(|why| Failure::input(why.to_string()).or_hint(why.hint()))?;
        return outgoing::print(&who.model, request);
    }
    if args.json {
        return ui::print_json(&as_json(who, &plan, used, seen));
    }
    let problems: Vec<Problem> = decoded
        .problems
        .iter()
        .chain(&plan.notes)
        .filter(|it| super::reading::is_serious(it))
        .cloned()
        .collect();
    ui::report_problems(&args.target, b"", &problems);
    print_table(who, &plan, used, chain, names)?;
    print_pictures(pictures)?;
    match plan.ready() {
        Ok(_) => Ok(()),
        Err(why) => Err(Failure::input(why.to_string()).or_hint(why.hint())),
    }
}

fn as_json<'a>(who: &'a Who, plan: &'a Plan, used: Count, seen: &'a Seen<'_>) -> Shown<'a> {
    let row = |row: &'a Row| ShownRow {
        id: &row.id,
        cell: seen.names.get(&row.id).map(String::as_str),
        role: row.role.as_str(),
        fate: row.fate.as_str(),
        why: row.why,
        tokens: row.tokens,
        whole: row.whole,
    };
    Shown {
        model: format!("{}/{}", who.model.provider, who.model.name),
        agent: &who.agent.name,
        window: plan.budget.window,
        reserved: plan.budget.reserved,
        limit: plan.budget.limit(),
        count: plan.count,
        used,
        system: plan.system,
        tools: plan.tools,
        fits: plan.ready().is_ok(),
        needs_summary: plan.needs_summary.iter().map(|id| (**id).to_string()).collect(),
        messages: plan.rows.iter().map(row).collect(),
        pictures: seen.pictures.iter().map(ShownPicture::of).collect(),
        notes: plan.notes.iter().map(ShowProblem::from).collect(),
    }
}

fn print_table(
    who: &Who,
    plan: &Plan,
    used: Count,
    chain: &Chain<'_>,
    names: &HashMap<MessageId, String>,
) -> Result<(), Failure> {
    let mut rows: Vec<[String; 5]> = Vec::new();
    if plan.system.tokens > 0 {
        rows.push([
            "instructions".into(),
            "system".into(),
            plan.system.to_string(),
            "sent".into(),
            String::new(),
        ]);
    }
    let messages = plan.rows.iter().zip(&chain.messages).enumerate();
    rows.extend(messages.map(|(at, (row, message))| {
        let name = names.get(&message.id).cloned();
        line(name.unwrap_or_else(|| (at + 1).to_string()), row, message)
    }));
    ui::print_rows(rows)?;
    let limit = plan.budget.limit();
    let (window, reserved) = (plan.budget.window, plan.budget.reserved);
    ui::print_line("")?;
    ui::print_line(&format!(
        "{}/{}: {} of {limit} tokens; the window has {window}, of which {reserved} are for the answer",
        who.model.provider, who.model.name, plan.count
    ))?;
    let is_reported = count_tokens_from_usage(&chain.messages).is_some();
    if is_reported && used.tokens != plan.count.tokens {
        ui::print_line(&format!("by what the last answer reported, and what came since: {used}"))?;
    }
    ui::print_line(&bar(plan.count.tokens, reserved, window))
}

fn line(name: String, row: &Row, message: &Message) -> [String; 5] {
    let text = message.content_to_send().text();
    let begins = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let fate = match (row.fate, row.why) {
        (Fate::Sent, _) | (_, None) => row.fate.as_str().to_string(),
        (fate, Some(why)) => format!("{}: {why}", fate.as_str()),
    };
    let tokens = if row.fate == Fate::Shortened {
        format!("{} of {}", row.tokens, row.whole)
    } else {
        row.tokens.to_string()
    };
    [name, row.role.as_str().to_string(), tokens, fate, begins.to_string()]
}

/// The window as a bar: what is used, what is free, and what is kept for the answer.
fn bar(used: u64, reserved: u64, window: u64) -> String {
    let cells = |tokens: u64| {
        let share = tokens as f64 / window.max(1) as f64;
        ((share * BAR as f64).ceil() as usize).min(BAR)
    };
    let (used_cells, kept) = (cells(used), cells(reserved));
    let free = BAR.saturating_sub(used_cells + kept);
    let percent = used as f64 * 100.0 / window.max(1) as f64;
    let (used_bar, free_bar) = ("█".repeat(used_cells.min(BAR - kept.min(BAR))), "░".repeat(free));
    format!("{used_bar}{free_bar}{} {percent:.1} %", "▒".repeat(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_wide_as_the_window() {
        let width = |text: &str| text.chars().take_while(|c| "█░▒".contains(*c)).count();
        for (used, reserved) in [(0, 0), (1, 1), (50, 20), (80, 20), (99, 50), (500, 20), (3, 100)]
        {
            let bar = bar(used, reserved, 100);
            assert_eq!(width(&bar), BAR, "{used} {reserved}: {bar}");
        }
        assert_eq!(bar(0, 0, 0), format!("{} 0.0 %", "░".repeat(BAR)));
    }
}
