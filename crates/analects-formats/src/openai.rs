//! Conversations as the Chat Completions API takes them: a list of `messages`, alone or in a request, or one
//! request a line, as files for fine-tuning are.
//!
//! ```
//! use analects_formats::frame::{Read, ReadOptions, format};
//!
//! let file = br#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
//! let mut reader = format("openai").unwrap().reader(&ReadOptions::named("talk.json")).unwrap();
//! let mut read = Read::default();
//! reader.feed(file, &mut read);
//! reader.finish(&mut read);
//! // What is asked for beside the messages is a change of state before the first of them.
//! assert_eq!(read.messages[1].text(), "Hello");
//! ```
//!
//! # Limitations
//!
//! - `function_call` and messages of the role `function`, of the API's first year, are kept and not understood.
//! - Lines of the batch API, and of preference files, are no conversations here.

mod decode;
mod encode;

use analects_core::{Message, RawMap};

use crate::chatmd::session_json::Fields;
use crate::frame::{
    Format, Head, Held, ReadOptions, Reader, RevisedSurvey, Sure, Survey, WriteOptions, Writer,
};
use crate::requests::{RequestReader, RequestWriter, Wire, skim};

/// Who can say something, of whom the last ones are known to this API only.
const ROLES: [&str; 6] = [
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
];
const OWN_ROLES: [&str; 4] = ["system", "developer", "tool", "function"];

/// Chat Completions.
#[derive(Debug)]
pub struct OpenAi;

impl Format for OpenAi {
    fn id(&self) -> &'static str {
        "openai"
    }

    fn about(&self) -> &'static str {
        "Chat Completions messages: JSON, or JSONL as for fine-tuning"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".openai.json", ".openai.jsonl", ".json"]
    }

    fn recognise(&self, head: &[u8], _: &str) -> Sure {
        let head = Head::new(head);
        let found = skim(head);
        // Many an object has a role and is no message.
        let is_line = head.starts_with("{\"role\"") || head.starts_with("{ \"role\"");
        if !found.is_for(&ROLES) || (found.is_lines() && !is_line) {
            return Sure::No;
        }
        let is_ours =
            found.has_role(&OWN_ROLES) || head.has_key("tool_calls") || head.has_key("image_url");
        if is_ours { Sure::Yes } else { Sure::Maybe }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn Reader>> {
        Some(Box::new(RequestReader::<Messages>::new(&options.name)))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn Writer>> {
        self.survey(options).map(Held::behind)
    }

    fn survey(&self, options: &WriteOptions) -> Option<Box<dyn Survey>> {
        Some(RevisedSurvey::before(RequestWriter::<Messages>::new(
            &options.name,
        )))
    }
}

/// How this API says messages.
struct Messages;

impl Wire for Messages {
    const ID: &'static str = "openai";

    fn read(fields: &mut Fields) -> Option<Message> {
        decode::message(fields)
    }

    fn write(message: &Message) -> Vec<RawMap> {
        encode::messages(message)
    }
}

#[cfg(test)]
pub(crate) mod tests;
