//! `chat`: says something, asks a model, and keeps both.

mod arrived;
mod asking;
mod broken;
mod choosing;
mod dry_run;
mod interactive;
mod kept;
mod manner;
mod waiting;
mod watch;
mod who;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use analects_core::Agent;
use analects_formats::msgfile::{self, Choice, Document, Kind, frontmatter};
use analects_runtime::{Conversation, FileConversation, StoredConversation, attach_file, attached};
use analects_store::vfs::Disk;
use analects_store::{ChainName, StoreError, read_message_file, real_path};
use jiff::Timestamp;

use crate::config::Config;
use crate::connection::{Connection, seconds};
use crate::failure::Failure;
use crate::piped::{is_terminal, piped};
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ways::PROMPT_IS_KEPT;
use crate::{local, shell, ui, writing};
pub use arrived::Arrived;
pub use asking::in_words;
use asking::{Told, ask};
pub use broken::to_ask_in_session;
use broken::{
    broken_answer, broken_message, if_it_broke_off, or_ask_again, to_ask_again,
    to_ask_again_in_session,
};
use choosing::{Choosing, check_asks};
pub use dry_run::with_reminders;
pub use interactive::{Place, Session};
use kept::Kept;
pub use manner::{LimitArgs, Manner, vocabulary};
use waiting::{Course, Turn};
pub use who::{Wanted, Who, usual_agent};

/// Say something to a model, and keep the conversation
///
/// With a FILE (.msg.md, or .md with a message section), the conversation lives there: prompt and answer
/// are added to it, and the model sees what stands in its cells, except in cells with history=none
/// and before the first cell. The file is made if it is not there. Without a FILE, the conversation
/// is kept in the transcript store.
///
/// The prompt is the arguments, then what comes on stdin. Without a prompt, the cells at the end of
/// FILE that nobody has answered yet are asked, and those that say agent=NAME are answered by that agent,
/// one after the other; if there are none, a session begins on a terminal: type one prompt after the
/// other, /help for help.
///
/// With --watch, such cells are asked whenever FILE is saved, as by an editor: type a line # %%, a question below it,
/// and save. What fails is said and not asked again until the file is saved anew. Of an answer that breaks off, what
/// came stays; drop it to ask again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects chat talk.msg.md -m openai/gpt-5-mini \"What is a monad?\"
  analects chat talk.msg.md \"And in one sentence?\"
  analects chat talk.msg.md
  git diff | analects chat review.msg.md \"Review this change\"
  analects chat talk.msg.md -f notes.txt \"What is missing in these notes?\"
  analects chat talk.msg.md --agent critic -e 2-4 \"And what do you think?\"
  analects chat --watch talk.msg.md
  analects chat -m openai/gpt-5-mini \"A question without a file\"
  analects chat -c \"Go on with that\"")]
pub struct Args {
    /// The message file, then the prompt; without a file, the prompt
    #[arg(value_name = "FILE] [PROMPT")]
    words: Vec<String>,

    /// The model: provider/NAME; default, task, reasoning, quick or compact for the one that is
    /// configured so; or replay:FILE for a recorded answer [default: the one that answered last]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent that answers: one of the file, or of your configuration, which is then written into
    /// the file [default: the file's default agent, else the one that answered last]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Go on with the last conversation of this folder, instead of starting one
    #[arg(short, long = "continue")]
    continue_last: bool,

    /// Show a text file to the model along with the prompt, and tell the model when it changes later; may be
    /// given several times
    #[arg(short, long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Answer whenever the file is saved with a question in it, until Ctrl-C
    #[arg(long, conflicts_with_all = ["continue_last", "dry_run", "record", "files"])]
    watch: bool,

    /// With --watch: answer when the file has not been saved for this long [default: 0.3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "watch")]
    settle: Option<Duration>,

    #[command(flatten)]
    choosing: Choosing,

    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let mut surroundings = Surroundings::of_process()?;
    args.connection.allow(&mut surroundings);
    surroundings.models.allow_no_key |= args.choosing.dry_run;
    let options = args.connection.options(&surroundings)?;
    let (file, words) = split_file(args.words)?;
    match &file {
        Some(file) => args.connection.spare(file)?,
        None => args.choosing.without_file()?,
    }
    // What is asked is typed into the file; stdin may be a pipe that never ends.
    let prompt = if args.watch { None } else { prompt(&words)? };
    let agent = args.agent.as_deref().or(args.choosing.set_default_agent.as_deref());
    let wanted = Wanted { model: args.model.as_deref(), agent };
    let config = Config::read_for(wanted.model, wanted.agent, &surroundings)?;
    let last = args.continue_last;
    let mut manner = Manner::new(options, args.limits.limits(), &config, &surroundings);
    manner.streams = !args.choosing.no_stream;
    let is_other = args.choosing.dry_run || args.watch;
    if prompt.is_none() && !is_other && is_terminal() && !waits(file.as_deref()) {
        let place = place(&surroundings, file, last)?;
        let agent = agent.map(str::to_string);
        let (model, choosing, files) = (args.model, args.choosing, args.files);
        let session = Session { config, manner, choosing, place, model, agent, files };
        let done = session.run(&surroundings);
        return done.map_err(|failure| surroundings.explain(failure));
    }
    let said = Said { prompt, files: args.files, ..Said::default() };
    let call = Call {
        surroundings: &surroundings,
        config: &config,
        wanted,
        choosing: &args.choosing,
        manner: &manner,
    };
    let done = match file {
        Some(_) if args.continue_last => Err(no_last_file()),
        Some(_) if args.watch && !words.is_empty() => Err(Failure::usage(
            "with --watch, questions are typed into the file",
            "leave out the prompt, or ask it first without --watch",
        )),
        Some(file) if args.watch => {
            args.choosing.for_many("a watch has many")?;
            watch::watch(call, &file, args.settle)
        }
        None if args.watch => Err(Failure::usage(
            "--watch needs a file to watch",
            "name one, such as analects chat --watch talk.msg.md",
        )),
        Some(file) => {
            let prompt = said.prompt.clone();
            let done = chat_in_file(call, &file, said);
            done.map_err(|failure| still_waits(failure, &file, prompt.as_deref()))
        }
        None => chat_in_store(call, last, said),
    };
    done.map_err(|failure| surroundings.explain(failure))
}

fn no_last_file() -> Failure {
    Failure::usage(
        "-c goes on with the last conversation of the store, not with a file",
        "leave out -c: a file always goes on where it ended",
    )
}

/// Whether a file holds something that nobody has answered yet.
fn waits(file: Option<&Path>) -> bool {
    let document = file.map(analects_store::read_message_file);
    document.is_some_and(|read| read.is_ok_and(|document| !document.unanswered().is_empty()))
}

/// Where a session at the terminal keeps its conversation.
fn place(
    surroundings: &Surroundings,
    file: Option<PathBuf>,
    continue_last: bool,
) -> Result<Place, Failure> {
    match file {
        Some(_) if continue_last => Err(no_last_file()),
        Some(path) => Ok(Place::File(path)),
        None => {
            let sessions = Sessions::of(surroundings);
            let name = match continue_last {
                true => sessions.find(None)?,
                false => sessions.new_name(),
            };
            Ok(Place::Store { sessions, name })
        }
    }
}

/// Everything that a call knows before it looks at the conversation.
#[derive(Clone, Copy)]
struct Call<'a> {
    surroundings: &'a Surroundings,
    config: &'a Config,
    wanted: Wanted<'a>,
    choosing: &'a Choosing,
    manner: &'a Manner,
}

impl Call<'_> {
    /// How far this call goes. Cells are chosen among those that are there, and a recording holds one answer: what
    /// waits for another agent is left to a further call.
    fn course(self) -> Course {
        let is_chosen = !self.choosing.choice().is_empty();
        match is_chosen || self.manner.options.record.is_some() {
            // A choice that is not kept does not hold for that call, and places have moved.
            true if is_chosen && !self.choosing.save => Course::of_one(", with its own -i or -e"),
            true => Course::of_one(""),
            false => Course::default(),
        }
    }
}

/// What the person says.
#[derive(Debug, Default)]
pub struct Said {
    /// In words.
    pub prompt: Option<String>,
    /// Files that the model is to see.
    pub files: Vec<PathBuf>,
    /// What of it is in the conversation.
    pub arrived: Arrived,
}

impl Said {
    /// Refuses files that cannot be shown, before anything is written because of them.
    fn check(&self, conversation: &Path) -> Result<(), Failure> {
        let folder = folder_of(conversation);
        self.files.iter().try_for_each(|file| attached(&folder, file).map(drop))?;
        Ok(())
    }

    /// Puts it into a conversation: first what is shown, then what is said about it.
    fn into(self, conversation: &mut dyn Conversation) -> Result<(), Failure> {
        for file in &self.files {
            attach_file(conversation, file, Timestamp::now())?;
            self.arrived.add_file();
        }
        if let Some(prompt) = self.prompt {
            conversation.say(&prompt, Timestamp::now())?;
            self.arrived.add_prompt();
        }
        Ok(())
    }
}

/// The folder that a conversation is in, also if it is named by a link.
fn folder_of(path: &Path) -> PathBuf {
    let path = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The first word is the file if it is named like one. A sentence may end in a file's name, so with
/// blanks it is one only if it is there.
fn split_file(mut words: Vec<String>) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
    let Some(first) = words.first() else {
        return Ok((None, words));
    };
    let exists = Path::new(first).is_file();
    if first.ends_with(".md") && (exists || !first.contains(char::is_whitespace)) {
        let file = PathBuf::from(words.remove(0));
        return Ok((Some(file), words));
    }
    if exists {
        let message = format!("{first}: not a message file; its name must end in .msg.md");
        return Err(Failure::usage(message, "quote the prompt if this is its first word"));
    }
    Ok((None, words))
}

/// What the person says: the arguments, then stdin if it is not the terminal.
pub fn prompt(words_given: &[String]) -> Result<Option<String>, Failure> {
    let mut prompt = words_given.join(" ");
    let piped = piped()?;
    if !prompt.is_empty() && !piped.is_empty() {
        prompt.push_str("\n\n");
    }
    prompt.push_str(&piped);
    Ok((!prompt.trim().is_empty()).then_some(prompt))
}

fn chat_in_file(call: Call<'_>, path: &Path, said: Said) -> Result<(), Failure> {
    match call.choosing.dry_run {
        true => dry_run::of_file(call, path, &said),
        false => answer_all_in_file(call, path, said),
    }
}

/// Gets the answers to all that waits in a file: one after the other, where it is meant for several agents.
fn answer_all_in_file(call: Call<'_>, path: &Path, said: Said) -> Result<(), Failure> {
    let (mut course, mut kept) = (call.course(), Kept::default());
    let mut said = Some(said);
    while said.is_some() || course.goes_on() {
        let (mut after, began) = (None, Instant::now());
        let said = said.take().unwrap_or_default();
        let taken = take_turn_of(&mut course, call, path, said, &mut after);
        let is_first = kept.is_empty();
        if let Some(document) = after {
            kept.keep(document, began);
        }
        // An older text that an editor saves while one agent answers takes away what another has said.
        let put_back = match is_first {
            true => Ok(()),
            false => kept.put_all_back(path, &call.surroundings.places),
        };
        if !taken? {
            break;
        }
        put_back?;
    }
    Ok(())
}

/// Gets one answer in a file. `after` is what the file holds then, also if the answer broke off, or what it would hold
/// if the answer could have been written to its end.
fn take_turn(
    call: Call<'_>,
    path: &Path,
    said: Said,
    after: &mut Option<Document>,
) -> Result<bool, Failure> {
    take_turn_of(&mut Course::default(), call, path, said, after)
}

/// Gets the next answer of a call, as [`take_turn`] does; whether there was one to get.
fn take_turn_of(
    course: &mut Course,
    call: Call<'_>,
    path: &Path,
    said: Said,
    after: &mut Option<Document>,
) -> Result<bool, Failure> {
    let Call { surroundings, config, wanted, choosing, manner } = call;
    if choosing.force && path.extension().is_some_and(|end| end == "md") {
        make_message_file(call, path, &said)?;
    }
    said.check(path)?;
    let mut conversation = open_file(path, surroundings)?;
    let document = conversation.document().ok_or_else(|| Failure::ours("the file is not open"))?;
    if said.prompt.is_none() && document.unanswered().is_empty() {
        // After an answer, somebody may have taken away what was to come next.
        return if course.is_begun() { Ok(false) } else { Err(nothing_to_ask(path, document)) };
    }
    let broken = broken_answer(document).map(|cell| cell.name().into_owned());
    let choice = choosing.settle(path, document)?;
    if said.prompt.is_none() {
        check_asks(&choice, document)?;
    }
    let turn = next_turn(document, &choice, wanted, said.prompt.as_deref());
    if !course.take(&turn) {
        ui::remark(&turn.not_taken());
        return Ok(false);
    }
    let wanted = Wanted { agent: wanted.agent.or(turn.agent.as_deref()), ..wanted };
    let mut who = match Who::of_file(document, wanted, &surroundings.models, config) {
        Ok(who) => who,
        Err(failure) => return Err(keep_prompt(failure, &mut conversation, path, wanted, said)?),
    };
    let serving = local::ready(&mut who.model, wanted.model, surroundings)?;
    let mut conversation = introduce(conversation, &mut who, call, path)?;
    choosing.set_default(path, &mut conversation)?;
    said.into(&mut conversation)?;
    choosing.choose(choice, path, &mut conversation)?;
    if let Some(words) = course.in_words(&turn, &who.agent.name) {
        ui::remark(&words);
    }
    if !turn.later.is_empty() {
        conversation.ask_only(turn.agent.clone());
    }
    let source = conversation.document().map(|document| document.source().to_vec());
    let told =
        Told { name: path.to_string_lossy().into_owned(), source: source.unwrap_or_default() };
    let done = ask(&who, manner, serving.as_ref(), &mut conversation, &told);
    remark_changed(path, &conversation);
    // Where the answer could not be written to its end, what came of it is in the file.
    let whole = conversation.take_unwritten();
    let now = conversation.into_document().or_else(|| read_message_file(path).ok());
    let done = done.map_err(|failure| {
        let again = format!("analects chat {} asks it again", shell::path(path));
        let failure = local::explain(failure.ask_again_with(again), serving.as_ref());
        match &now {
            // Nothing can be hidden in a file that nobody can write to.
            Some(document) if document.is_utf8() => {
                if_it_broke_off(failure, path, document, broken.as_deref())
            }
            _ => failure,
        }
    });
    *after = whole.or(now);
    done?;
    Ok(true)
}

/// Makes a plain file one for messages, unless what is wanted cannot be done in it anyway.
fn make_message_file(call: Call<'_>, path: &Path, said: &Said) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, choosing, .. } = call;
    let name = path.to_string_lossy();
    let document = match read_message_file(path) {
        Err(error) if error.is_not_found() => msgfile::decode_named(*b"", &name),
        read => read?,
    };
    if document.kind() != Kind::Plain {
        return Ok(());
    }
    if said.prompt.is_none() {
        return Err(nothing_to_ask(path, &document));
    }
    let source = choosing::with_section(&document, path)?.apply(document.source());
    let after = msgfile::decode_named(source, &name);
    choosing.settle(path, &after)?;
    said.check(path)?;
    // Where nobody is named, the prompt is kept in the file though nobody can be asked.
    if wanted.model.is_some() || wanted.agent.is_some() {
        Who::of_file(&after, wanted, &surroundings.models, config)?;
    }
    choosing::make_message_file(path, surroundings)
}

/// Opens a file to go on with it.
fn open_file(path: &Path, surroundings: &Surroundings) -> Result<FileConversation, Failure> {
    let conversation = FileConversation::open(path, &surroundings.places).map_err(not_opened)?;
    writing::remark_kept(path, conversation.kept());
    Ok(conversation)
}

/// Says why a file cannot be gone on with.
fn not_opened(error: StoreError) -> Failure {
    match error {
        StoreError::NotAMessageFile { path } if !path.exists() => not_there(&path),
        StoreError::NotAMessageFile { .. } => {
            Failure::from(error).and_hint("--force does that, for its section Discussion")
        }
        error => error.into(),
    }
}

/// Says that a file is not there which would be a plain one if it was made: nobody knows where its messages would go.
fn not_there(path: &Path) -> Failure {
    let (file, name) = (shell::path(path), path.with_extension("msg.md"));
    let hint = format!(
        "analects new {file} makes it, with a section for messages; or name it {}, which chat makes",
        name.display()
    );
    Failure::not_found(format!("{}: not found", path.display())).or_hint(hint)
}

/// Writes the agent into the file if it does not know it yet, and gives it the settings of this call.
fn introduce(
    mut conversation: FileConversation,
    who: &mut Who,
    call: Call<'_>,
    path: &Path,
) -> Result<FileConversation, Failure> {
    let is_known =
        |document: &Document| document.agents().iter().any(|agent| agent.name == who.agent.name);
    if !who.is_configured && !conversation.document().is_some_and(is_known) {
        call.choosing.tune(&mut who.agent);
    }
    if who.is_configured {
        drop(conversation);
        define(path, &who.agent, call.surroundings)?;
        conversation = FileConversation::open(path, &call.surroundings.places)?;
    }
    if who.is_recording() {
        conversation.set_author(&who.agent.name);
    } else {
        conversation.set_agent(&who.agent)?;
    }
    call.choosing.tune(&mut who.agent);
    Ok(conversation)
}

/// Keeps what the person said though nobody is there to answer it. Where they named somebody who cannot be
/// asked, the call is at fault, and they will make it again.
fn keep_prompt(
    failure: Failure,
    conversation: &mut FileConversation,
    path: &Path,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<Failure, Failure> {
    let Some(prompt) = said.prompt.filter(|_| wanted.model.is_none() && wanted.agent.is_none())
    else {
        return Ok(failure);
    };
    conversation.say(&prompt, Timestamp::now())?;
    said.arrived.add_prompt();
    let (path, file) = (path.display(), shell::path(path));
    let kept = format!("{PROMPT_IS_KEPT}{path}: analects chat {file} -m MODEL asks it");
    Ok(failure.and_hint(&kept))
}

/// Says that a prompt that is in the file need not be given again: it would be said twice.
fn still_waits(failure: Failure, path: &Path, prompt: Option<&str>) -> Failure {
    let (Some(prompt), Ok(document)) = (prompt, read_message_file(path)) else { return failure };
    let waits = document.unanswered().last().is_some_and(|cell| cell.content() == prompt);
    let is_told = failure.hint.as_ref().is_some_and(|hint| hint.contains("analects chat "));
    if !waits || is_told {
        return failure;
    }
    failure.and_hint(&format!("your prompt is kept: analects chat {} asks it", shell::path(path)))
}

/// Says that a question was changed while it was being answered.
fn remark_changed(path: &Path, conversation: &FileConversation) {
    for name in conversation.changed() {
        ui::remark(&format!(
            "{}: cell {name} was changed while it was being answered; its new text is in the file, and \
             the text that was answered is kept with the answer as asked=",
            path.display()
        ));
    }
}

/// What is answered next. If the person says who answers, that is all that waits, and so it is if they ask
/// something else.
pub fn next_turn(
    document: &Document,
    choice: &Choice,
    wanted: Wanted<'_>,
    prompt: Option<&str>,
) -> Turn {
    let is_said = prompt.is_some() || wanted.model.is_some() || wanted.agent.is_some();
    if is_said { Turn::default() } else { Turn::next(document, choice) }
}

/// Writes an agent into the frontmatter of a file, which holds all of its settings.
fn define(path: &Path, agent: &Agent, surroundings: &Surroundings) -> Result<(), Failure> {
    let mut file = writing::open(path, &surroundings.places)?;
    file.try_edit(|document| {
        let (source, span) = (document.source(), document.frontmatter_span());
        let splice = frontmatter::add_agent(source, span, agent);
        splice.map_err(|refusal| writing::refused(path, refusal))
    })
}

fn chat_in_store(call: Call<'_>, continue_last: bool, said: Said) -> Result<(), Failure> {
    let surroundings = call.surroundings;
    let sessions = Sessions::of(surroundings);
    let conversation = match continue_last {
        true => open(&sessions, sessions.find(None)?)?,
        false => StoredConversation::start(
            sessions.store.clone(),
            sessions.new_name(),
            &surroundings.folder,
        ),
    };
    if call.choosing.dry_run {
        return dry_run::of_session(call, &conversation, &said);
    }
    go_on_with(call, conversation, said)
}

/// Opens a session to go on with it.
pub fn open(sessions: &Sessions, name: ChainName) -> Result<StoredConversation, Failure> {
    Ok(StoredConversation::open(sessions.store.clone(), name)?)
}

/// Says something in a session, and asks.
pub fn go_on(
    surroundings: &Surroundings,
    config: &Config,
    manner: &Manner,
    conversation: StoredConversation,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<(), Failure> {
    let call = Call { surroundings, config, wanted, choosing: &Choosing::default(), manner };
    go_on_with(call, conversation, said)
}

fn go_on_with(
    call: Call<'_>,
    mut conversation: StoredConversation,
    said: Said,
) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, choosing, manner } = call;
    let mut who = Who::of_store(&conversation, wanted, &surroundings.models, config)?;
    if said.prompt.is_none() && !conversation.is_unanswered() {
        return Err(nothing_to_ask_in_session(&conversation));
    }
    let known = broken_message(&conversation);
    let serving = local::ready(&mut who.model, wanted.model, surroundings)?;
    choosing.tune(&mut who.agent);
    let models = if who.is_recording() { Vec::new() } else { vec![who.asked_as.clone()] };
    conversation.set_agent(&Agent { models, ..who.agent.clone() });
    conversation.set_configured(who.is_configured);
    said.into(&mut conversation)?;
    let name = conversation.name().session.to_string();
    let told = Told { name: name.clone(), source: Vec::new() };
    let done = ask(&who, manner, serving.as_ref(), &mut conversation, &told);
    done.map_err(|failure| {
        let again = format!("analects session resume {name}, then /retry, asks it again");
        let failure = local::explain(failure.ask_again_with(again), serving.as_ref());
        match broken_message(&conversation).filter(|broken| Some(broken) != known.as_ref()) {
            Some(broken) => or_ask_again(failure, &to_ask_again_in_session(&name, &broken)),
            None => failure,
        }
    })
}

fn nothing_to_ask(path: &Path, document: &Document) -> Failure {
    if let Some(cell) = document.unseen_question() {
        let (name, history) = (cell.name(), cell.attribute("history").unwrap_or_default());
        let message = format!(
            "nothing to ask: cell {name} has history={history:?}, so the model does not see what it says"
        );
        return Failure::usage(message, "take that out of the cell, or add a prompt");
    }
    if let Some(cell) = broken_answer(document) {
        let message = format!("nothing to ask: cell {} is an answer that broke off", cell.name());
        return Failure::usage(message, format!("add a prompt, or {}", to_ask_again(path, cell)));
    }
    let message = "nothing to ask: there is no prompt, and no cell waits for an answer";
    let file = shell::path(path);
    let usual = || format!("add a prompt, such as analects chat {file} \"Hello\"");
    Failure::usage(message, misplaced_question(document).map_or_else(usual, str::to_string))
}

fn nothing_to_ask_in_session(conversation: &StoredConversation) -> Failure {
    if let Some(broken) = broken_message(conversation) {
        let message = format!("nothing to ask: the last answer, {}, broke off", &*broken);
        let again = to_ask_again_in_session(&conversation.name().session, &broken);
        return Failure::usage(message, format!("add a prompt, or {again}"));
    }
    let message = "nothing to ask: there is no prompt, and what was asked last has its answer";
    Failure::usage(message, "add a prompt, such as analects chat -c \"Go on\"")
}

/// What to do about a question that seems to have been typed where nothing is sent from.
fn misplaced_question(document: &Document) -> Option<&'static str> {
    let preamble = document.preamble().of(document.source());
    let Some(last) = document.cells().rfind(|cell| !cell.is_ready()) else {
        let hint = "text before the first # %% is not sent; put a line # %% above it";
        return (!preamble.trim_ascii().is_empty()).then_some(hint);
    };
    let is_title = last.is_prompt() && last.body().is_empty() && !last.title().is_empty();
    is_title.then_some("the title of a cell is not sent; type the question in the line below it")
}
