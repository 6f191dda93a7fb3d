//! The two places where a conversation can be, each opened anew whenever it is used, as by another process.

use std::cell::Cell;
use std::error::Error;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use analects_client::{Client, Model, Options, ProviderSettings};
use analects_core::verbs::{self, Change};
use analects_core::{Agent, History, Message, SessionId};
use analects_formats::msgfile::{self, CellMessages};
use analects_providers::RetryPolicy;
use analects_runtime::{
    AgentSource, AskOptions, AttachError, CompactionError, CompactionReport, Conversation,
    FileConversation, Outcome, ResolvedAgent, StoredConversation, TurnConfig, TurnEnd, TurnEvent,
    attach_file, prepare,
};
use analects_store::{ChainName, FileGrants, JsonlStore, LockedFile, OsIds, Session, StoreFolders};
use jiff::Timestamp;
use tempfile::TempDir;

pub struct Place {
    pub folder: TempDir,
    is_file: bool,
}

/// What a person saw of a turn.
pub struct Turned {
    pub outcome: Outcome,
    pub seen: Vec<String>,
}

pub fn agent() -> Agent {
    Agent {
        context_window: Some(600),
        max_output_tokens: 40,
        ..Agent::of_model("tiny", "openai/tiny")
    }
}

/// An agent that is configured.
struct Configured(Agent);

impl AgentSource for Configured {
    fn agent(&self, name: &str) -> Result<Option<Agent>, Box<dyn Error + Send + Sync>> {
        Ok(Some(self.0.clone()).filter(|agent| agent.name == name))
    }

    fn agent_names(&self) -> Vec<String> {
        vec![self.0.name.clone()]
    }

    fn pointer(&self, _: &str) -> Option<String> {
        None
    }

    fn is_pointer(&self, _: &str) -> bool {
        false
    }
}

/// Adds messages to a conversation.
pub fn add(conversation: &mut dyn Conversation, messages: impl IntoIterator<Item = Message>) {
    let changes = messages
        .into_iter()
        .map(|message| Change::Append(Box::new(message)))
        .collect();
    conversation.apply(changes, &[], Timestamp::now()).unwrap();
}

/// Adds what the person says.
pub fn add_prompt(conversation: &mut dyn Conversation, prompt: &str) {
    add(conversation, [Message::user("", prompt)]);
}

impl Place {
    /// One of each.
    pub fn both() -> [Place; 2] {
        [true, false].map(|is_file| Place {
            folder: tempfile::tempdir().unwrap(),
            is_file,
        })
    }

    pub fn file() -> Place {
        let [file, _] = Place::both();
        file
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("talk.msg.md")
    }

    fn places(&self) -> StoreFolders {
        let root = self.folder.path();
        StoreFolders::in_folder(root)
    }

    pub fn grants(&self) -> FileGrants {
        FileGrants::new(&self.places())
    }

    /// Shows a file to the model, as a person does.
    pub fn attach(&self, path: &Path) -> Result<(), AttachError> {
        attach_file(
            &mut *self.open(),
            Some(&self.grants()),
            path,
            "a test",
            Timestamp::now(),
        )
    }

    pub fn open(&self) -> Box<dyn Conversation> {
        self.open_for(agent())
    }

    /// The conversation, in which this agent answers.
    pub fn open_for(&self, agent: Agent) -> Box<dyn Conversation> {
        let mut conversation = self.open_unset();
        let resolved = ResolvedAgent::new(agent, "openai/tiny", &unlocked()).unwrap();
        conversation.set_responder(&resolved).unwrap();
        conversation
    }

    fn open_unset(&self) -> Box<dyn Conversation> {
        let root = self.folder.path();
        let places = self.places();
        if self.is_file {
            return Box::new(FileConversation::open(&self.path(), &places).unwrap());
        }
        let store = Arc::new(JsonlStore::new(&places));
        let name = ChainName::new("p", "s");
        let opened = StoredConversation::open(store.clone(), name.clone()).unwrap();
        if opened.snapshot().messages.is_empty() {
            return Box::new(StoredConversation::start(store, name, root));
        }
        Box::new(opened)
    }

    /// Undoes the last compaction; `false` if there is none.
    pub fn undo_compaction(&self) -> bool {
        if !self.is_file {
            let store = JsonlStore::new(&self.places());
            let mut session = Session::open(&store, ChainName::new("p", "s")).unwrap();
            return session
                .apply(verbs::undo_compaction, &mut OsIds, Timestamp::now())
                .is_ok();
        }
        let mut file = LockedFile::open(&self.path(), &self.places()).unwrap();
        let done = file.try_replace(|document| -> Result<_, Box<dyn Error>> {
            let read = CellMessages::of(document, &SessionId::default());
            let changes = verbs::undo_compaction(&read.messages)?;
            Ok(msgfile::apply(document, &read, &changes, &mut OsIds)?)
        });
        done.is_ok()
    }

    /// What the model would see, as texts.
    pub fn seen(&self) -> Vec<String> {
        let snapshot = self.open().snapshot();
        let chain = snapshot.chain();
        let seen = chain
            .messages
            .iter()
            .filter(|message| message.history != History::Exclude);
        seen.map(|message| message.text()).collect()
    }

    /// All records of the session, also those that the model would not see.
    pub fn stored(&self) -> Vec<serde_json::Value> {
        let path = JsonlStore::new(&self.places())
            .path(&ChainName::new("p", "s"))
            .unwrap();
        let file = std::fs::read_to_string(path).unwrap();
        file.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub fn say(&self, model: &Model, prompt: &str) -> Turned {
        self.say_with(model, prompt, |config| config)
    }

    pub fn say_with(
        &self,
        model: &Model,
        prompt: &str,
        change: impl Fn(TurnConfig) -> TurnConfig,
    ) -> Turned {
        self.say_until(model, prompt, change, None)
    }

    /// Says something, and stops the turn when something is seen that begins so.
    pub fn say_until(
        &self,
        model: &Model,
        prompt: &str,
        change: impl Fn(TurnConfig) -> TurnConfig,
        enough: Option<&str>,
    ) -> Turned {
        let config = change(self.config());
        self.ask(
            &mut *self.open(),
            model,
            Some(prompt),
            agent(),
            config,
            enough,
        )
    }

    /// How a turn goes here.
    pub fn config(&self) -> TurnConfig {
        let retries = RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        };
        let client = Client::new(Options {
            retries,
            ..Options::default()
        });
        let grants = Some(self.grants());
        TurnConfig {
            client: Arc::new(client),
            grants,
            ..TurnConfig::default()
        }
    }

    /// Asks what waits, or a prompt.
    pub fn ask(
        &self,
        conversation: &mut dyn Conversation,
        model: &Model,
        prompt: Option<&str>,
        agent: Agent,
        config: TurnConfig,
        enough: Option<&str>,
    ) -> Turned {
        let agents = Configured(agent);
        let environment = unlocked();
        let agent = Some(agents.0.name.as_str());
        let options = AskOptions {
            agents: &agents,
            agent,
            prompt,
            config,
            ..AskOptions::new(&environment)
        };
        let mut prepared = prepare(conversation, &options).unwrap();
        *prepared.model_mut() = model.clone();
        let (mut seen, is_enough) = (Vec::new(), Cell::new(false));
        let mut watch = |happened: TurnEvent| match happened {
            TurnEvent::Stream(_) => {}
            other => {
                let other = format!("{other:?}");
                is_enough.set(enough.is_some_and(|enough| other.starts_with(enough)));
                seen.push(other);
            }
        };
        // The turn looks at this again with whatever it does next, so nobody has to wake it.
        let stop = poll_fn(|_| {
            if is_enough.get() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        let outcome = prepared.ask_blocking(&mut watch, stop).unwrap();
        Turned { outcome, seen }
    }

    /// Puts a summary in the place of what was said.
    pub fn compact(
        &self,
        conversation: &mut dyn Conversation,
        model: &Model,
    ) -> Result<CompactionReport, CompactionError> {
        let agents = Configured(agent());
        let environment = unlocked();
        let options = AskOptions {
            agents: &agents,
            agent: Some("tiny"),
            needs_question: false,
            config: self.config(),
            ..AskOptions::new(&environment)
        };
        let mut prepared = prepare(conversation, &options).unwrap();
        *prepared.model_mut() = model.clone();
        prepared.compact_blocking(std::future::pending())
    }
}

/// Where models need no keys.
fn unlocked() -> ProviderSettings {
    let mut environment = ProviderSettings::default();
    environment.allow_no_key = true;
    environment
}

impl Turned {
    pub fn saw(&self, what: &str) -> bool {
        self.seen.iter().any(|seen| seen.starts_with(what))
    }

    pub fn is_done(&self) -> bool {
        matches!(self.outcome.end, TurnEnd::Done)
    }
}
