//! Conversations as the Chat Completions API takes them: a list of `messages`, alone or in a request, or one
//! request a line, as files for fine-tuning are.
//!
//! ```
//! use analects_formats::convert::{ReadOutput, ReadOptions, format_by_id};
//!
//! let file = br#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
//! let mut reader = format_by_id("openai").unwrap().reader(&ReadOptions::named("talk.json")).unwrap();
//! let mut read = ReadOutput::default();
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

use crate::chatmd::session_json::FieldReader;
use crate::convert::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    ReadOptions, RevisionPass, WriteOptions,
};
use crate::requests::{RequestApi, RequestReader, RequestWriter, scan_roles};

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
pub struct OpenAiFormat;

impl Format for OpenAiFormat {
    fn id(&self) -> &'static str {
        "openai"
    }

    fn about(&self) -> &'static str {
        "Chat Completions messages: JSON, or JSONL as for fine-tuning"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".openai.json", ".openai.jsonl", ".json"]
    }

    fn recognise(&self, head: &[u8], _: &str) -> Confidence {
        let head = FileHead::new(head);
        let found = scan_roles(head);
        // Many an object has a role and is no message.
        let is_line = head.starts_with("{\"role\"") || head.starts_with("{ \"role\"");
        if !found.is_for(&ROLES) || (found.is_lines() && !is_line) {
            return Confidence::No;
        }
        let is_ours =
            found.has_role(&OWN_ROLES) || head.has_key("tool_calls") || head.has_key("image_url");
        if is_ours {
            Confidence::Yes
        } else {
            Confidence::Maybe
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(RequestReader::<ChatCompletionsApi>::new(
            &options.name,
        )))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        Some(RevisionPass::boxed(
            RequestWriter::<ChatCompletionsApi>::new(&options.name),
        ))
    }
}

/// How this API says messages.
struct ChatCompletionsApi;

impl RequestApi for ChatCompletionsApi {
    const ID: &'static str = "openai";

    fn read(fields: &mut FieldReader) -> Option<Message> {
        decode::message(fields)
    }

    fn write(message: &Message) -> Vec<RawMap> {
        encode::messages(message)
    }
}

#[cfg(test)]
pub(crate) mod tests;
