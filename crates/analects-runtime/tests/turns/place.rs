//! The two places where a conversation can be, each opened anew whenever it is used, as by another process.

use std::cell::Cell;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use analects_client::{Client, Model, Options};
use analects_core::Agent;
use analects_providers::RetryPolicy;
use analects_runtime::{
    Asked, Conversation, FileConversation, NotAttached, Outcome, Seen, StoredConversation,
    attach_file, drive,
};
use analects_store::{ChainName, FileGrants, JsonlStore, Places};
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

impl Place {
    /// One of each.
    pub fn both() -> [Place; 2] {
        [true, false].map(|is_file| Place { folder: tempfile::tempdir().unwrap(), is_file })
    }

    pub fn file() -> Place {
        let [file, _] = Place::both();
        file
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("talk.msg.md")
    }

    fn places(&self) -> Places {
        let root = self.folder.path();
        Places::in_folder(root)
    }

    pub fn grants(&self) -> FileGrants {
        FileGrants::of(&self.places())
    }

    /// Shows a file to the model, as a person does.
    pub fn attach(&self, path: &Path) -> Result<(), NotAttached> {
        attach_file(&mut *self.open(), &self.grants(), path, "a test", Timestamp::now())
    }

    pub fn open(&self) -> Box<dyn Conversation> {
        let root = self.folder.path();
        let places = self.places();
        if self.is_file {
            let mut conversation = FileConversation::open(&self.path(), &places).unwrap();
            conversation.set_agent(&agent()).unwrap();
            return Box::new(conversation);
        }
        let store = Arc::new(JsonlStore::new(&places));
        let name = ChainName::new("p", "s");
        let opened = StoredConversation::open(store.clone(), name.clone()).unwrap();
        let mut conversation = match opened.messages().messages.is_empty() {
            true => StoredConversation::start(store, name, root),
            false => opened,
        };
        conversation.set_agent(&agent());
        Box::new(conversation)
    }

    /// What the model would see, as texts.
    pub fn seen(&self) -> Vec<String> {
        let conversation = self.open();
        let decoded = conversation.messages();
        let chain = conversation.chain(&decoded);
        chain.messages.iter().map(|message| message.text()).collect()
    }

    /// All records of the session, also those that the model would not see.
    pub fn stored(&self) -> Vec<serde_json::Value> {
        let path = JsonlStore::new(&self.places()).path(&ChainName::new("p", "s")).unwrap();
        let file = std::fs::read_to_string(path).unwrap();
        file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub async fn say(&self, model: &Model, prompt: &str) -> Turned {
        self.say_with(model, prompt, |asked| asked).await
    }

    pub async fn say_with(
        &self,
        model: &Model,
        prompt: &str,
        change: impl for<'a> Fn(Asked<'a>) -> Asked<'a>,
    ) -> Turned {
        self.say_until(model, prompt, change, None).await
    }

    /// Says something, and stops the turn when something is seen that begins so.
    pub async fn say_until(
        &self,
        model: &Model,
        prompt: &str,
        change: impl for<'a> Fn(Asked<'a>) -> Asked<'a>,
        enough: Option<&str>,
    ) -> Turned {
        let mut conversation = self.open();
        conversation.say(prompt, Timestamp::now()).unwrap();
        let retries = RetryPolicy { retries: 0, ..RetryPolicy::default() };
        let client = Client::new(Options { retries, ..Options::default() });
        let agent = agent();
        let grants = self.grants();
        let asked = change(Asked { grants: Some(&grants), ..Asked::new(&client, model, &agent) });
        let (mut seen, is_enough) = (Vec::new(), Cell::new(false));
        let mut watch = |happened: Seen<'_>| match happened {
            Seen::Event(_) => {}
            other => {
                let other = format!("{other:?}");
                is_enough.set(enough.is_some_and(|enough| other.starts_with(enough)));
                seen.push(other);
            }
        };
        // The turn looks at this again with whatever it does next, so nobody has to wake it.
        let stop = poll_fn(|_| if is_enough.get() { Poll::Ready(()) } else { Poll::Pending });
        let outcome = drive(&asked, &mut *conversation, &mut watch, stop).await.unwrap();
        Turned { outcome, seen }
    }
}

impl Turned {
    pub fn saw(&self, what: &str) -> bool {
        self.seen.iter().any(|seen| seen.starts_with(what))
    }
}
