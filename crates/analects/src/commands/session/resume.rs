//! `session resume`: continues a session.

use analects_runtime::{StoredConversation, TurnConfig};

use crate::commands::chat::{self, AnswerArgs, CallArgs, ChatSettings, UserInput};
use crate::config::Config;
use crate::connection::{ConnectionArgs, LimitArgs, turn_config};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::ui;

/// Continue a session
///
/// The model sees the last summary and all messages that it does not replace. The prompt is the arguments,
/// followed by stdin. Without a prompt, an interactive session starts on a terminal; elsewhere, the last
/// question is asked again if it has no answer. Without --model, the model that answered last answers.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session resume last \"And why is that?\"
  analects session resume 0197a3c2 -m openai/gpt-5-mini \"Please continue\"
  analects session resume last -f notes.txt \"What is missing in these notes?\"")]
pub struct ResumeArgs {
    /// The session: its id, a prefix of it, its title, or last
    session: String,

    /// The prompt; stdin is added to it
    prompt: Vec<String>,

    /// The model: provider/NAME, or a configured name (default, task, reasoning, quick or compact)
    /// [default: the model that answered last]
    #[arg(short, long)]
    model: Option<String>,

    /// The agent from your configuration that answers
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    #[command(flatten)]
    answer: AnswerArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// The session is found before the prompt is read, so a wrong name fails at once.
pub fn run(mut args: ResumeArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    args.connection.allow(&mut environment);
    environment.models.allow_no_key |= args.answer.dry_run;
    let options = args.connection.options(&environment)?;
    let sessions = Sessions::of(&environment);
    let name = sessions.find(Some(&args.session))?;
    let prompt = chat::prompt(&args.prompt)?;
    let config = Config::read_for(args.model.as_deref(), args.agent.as_deref(), &environment)?;
    let conversation = chat::open(&sessions, name.clone())?;
    remark_other_folder(&conversation, &environment);

    let input = UserInput {
        prompt,
        files: std::mem::take(&mut args.answer.files),
        ..UserInput::default()
    };
    let settings = ChatSettings {
        records: options.record_to.is_some(),
        turn: TurnConfig {
            question_timeouts: args.connection.question_timeouts(),
            tools: args.answer.tools.runner(None, &environment)?,
            ..turn_config(options, args.limits.limits(), &config, &environment)
        },
        config,
        args: CallArgs {
            answer: args.answer,
            ..CallArgs::default()
        },
        model: args.model,
        agent: args.agent,
    };
    let done = chat::resume(settings, sessions, conversation, input, &environment);
    done.map_err(|failure| environment.explain(failure))
}

/// Says so if the session belongs to another folder: its files are not the ones in this folder.
/// Relative paths in the conversation start there.
fn remark_other_folder(conversation: &StoredConversation, environment: &Environment) {
    let here = environment.folder.to_string_lossy();
    let state = conversation.state();
    if let Some(folder) = state.cwd.as_deref().filter(|folder| *folder != here) {
        ui::remark(&format!("this session works in {folder}"));
    }
}
