//! `session resume`: continues a session.

use crate::commands::chat::{
    self, CallArgs, ChatCall, ChatLocation, InteractiveSession, UserInput,
};
use crate::config::Config;
use crate::connection::ConnectionArgs;
use crate::connection::{LimitArgs, turn_config};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::Interface;
use crate::sessions::Sessions;
use crate::{input, ui};

/// Continue a session
///
/// The model sees the last summary and all messages that it does not replace. The prompt is the arguments,
/// followed by stdin. Without a prompt, an interactive session starts on a terminal; elsewhere, the last
/// question is asked again if it has no answer. Without --model, the model that answered last answers.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session resume last \"And why is that?\"
  analects session resume 0197a3c2 -m openai/gpt-5-mini \"Please continue\"")]
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
    limits: LimitArgs,

    #[command(flatten)]
    connection: ConnectionArgs,
}

pub fn run(args: ResumeArgs) -> Result<(), Failure> {
    let mut environment = Environment::read()?;
    args.connection.allow(&mut environment);
    let options = args.connection.options(&environment)?;
    let sessions = Sessions::of(&environment);
    let name = sessions.find(Some(&args.session))?;
    let prompt = chat::prompt(&args.prompt)?;
    let config = Config::read_for(args.model.as_deref(), args.agent.as_deref(), &environment)?;
    let conversation = chat::open(&sessions, name.clone())?;
    // Say so, because the files that the session speaks of are not the ones in this folder.
    let here = environment.folder.to_string_lossy();
    if let Some(folder) = conversation
        .state()
        .cwd
        .as_deref()
        .filter(|folder| *folder != here)
    {
        ui::remark(&format!("this session works in {folder}"));
    }
    let records = options.record_to.is_some();
    let turn = turn_config(options, args.limits.limits(), &config, &environment);
    let (model, agent, call) = (args.model, args.agent, CallArgs::default());
    let done = if prompt.is_none() && input::stdin_is_terminal() {
        let (location, files) = (ChatLocation::Store { sessions, name }, Vec::new());
        let session = InteractiveSession {
            config,
            turn,
            records,
            call,
            location,
            model,
            agent,
            files,
        };
        session.run(&environment)
    } else {
        let call = ChatCall {
            environment: &environment,
            config: &config,
            model: model.as_deref(),
            agent: agent.as_deref(),
            args: &call,
            turn: &turn,
            records,
            interface: Interface::Call,
        };
        chat::continue_session(
            call,
            conversation,
            &mut UserInput {
                prompt,
                ..UserInput::default()
            },
        )
    };
    done.map_err(|failure| environment.explain(failure))
}
