//! Conversations as messages of the Chat Completions API: a bare list, a list in a request, or one request per line, as
//! in files for fine-tuning.
//!
//! ```
//! use analects_formats::convert::{ReadOutput, ReadOptions, format_by_id};
//!
//! let file = br#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
//! let mut reader = format_by_id("openai").unwrap().reader(&ReadOptions::named("talk.json")).unwrap();
//! let mut read = ReadOutput::default();
//! reader.feed(file, &mut read);
//! reader.finish(&mut read);
//! // The other fields of the request are a change of state before the first message.
//! assert_eq!(read.messages[1].text(), "Hello");
//! ```
//!
//! # Limitations
//!
//! - `function_call` and the role `function`, from the first year of the API, have no ids. A call of `f` and its result
//!   get the id `call_f`.
//! - Lines of the batch API and of preference files are not read as conversations.

mod decode;
mod encode;
mod turns;

use analects_core::{Message, RawMap};

use crate::chatmd::session_json::FieldReader;
use crate::convert::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    ReadOptions, RevisionPass, WriteOptions,
};
use crate::repair::{LineCheck, RepairCheck};
use crate::requests::{
    OrderChange, Piece, PlacedItem, RequestApi, RequestReader, RequestWriter, find_roles,
};

/// The roles of the API.
const ROLES: [&str; 6] = [
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
];

/// The roles that show that a file is of this API.
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
        let found = find_roles(head);
        // Many objects have a role and are not messages. On lines, the role must come first.
        let starts_with_role = head.starts_with("{\"role\"") || head.starts_with("{ \"role\"");
        if !found.is_for(&ROLES) || (found.is_lines() && !starts_with_role) {
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

    fn repair(&self, name: &str) -> Option<Box<dyn RepairCheck>> {
        let reader = self.reader(&ReadOptions::named(name))?;
        Some(Box::new(LineCheck::new(reader)))
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

/// The messages of the API.
struct ChatCompletionsApi;

impl RequestApi for ChatCompletionsApi {
    const ID: &'static str = "openai";

    fn read(fields: &mut FieldReader) -> Option<Message> {
        decode::message(fields)
    }

    fn write(message: &Message) -> Vec<RawMap> {
        encode::messages(message)
    }

    fn pieces(item: RawMap) -> Vec<Piece> {
        vec![turns::piece(item)]
    }

    fn assemble(pieces: Vec<(usize, Piece)>, _: &mut Vec<OrderChange>) -> Vec<PlacedItem> {
        let items = pieces.into_iter().map(|(at, piece)| match piece {
            Piece::Said { fields, .. } | Piece::Result { fields, .. } => (at, fields),
        });
        items.collect()
    }

    fn fit_call_id(id: &str) -> String {
        turns::fit_call_id(id)
    }

    fn set_call_id(fields: &mut RawMap, position: usize, id: &str) {
        turns::set_call_id(fields, position, id);
    }

    fn set_result_call(fields: &mut RawMap, id: &str) {
        turns::set_result_call(fields, id);
    }

    fn missing_result(id: &str) -> RawMap {
        turns::missing_result(id)
    }
}

#[cfg(test)]
pub(crate) mod tests;
