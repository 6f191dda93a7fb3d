//! Requests and answers in the wire formats of the model providers.
//!
//! This crate is pure: bytes in, events out. It opens no connection, knows no key and no host, and
//! keeps no time; the client does all that. Between [`Request`] and the bytes that go
//! out, and between the bytes that come back and [`StreamEvent`](analects_core::StreamEvent)s,
//! there is one function each.
//!
//! # Types, in reading order
//!
//! 1. [`Api`] names a wire format.
//! 2. [`encode`] turns a request into an [`HttpRequest`] that obeys the rules of its API, whatever the
//!    conversation, and says what it leaves out or sends otherwise; [`encode_for`] does so for a server
//!    whose [`Quirks`] are known.
//! 3. [`decoder`] gives a [`Decoder`], which takes the answer's bytes in pieces of any size.
//! 4. [`error_from_response`] reads an answer that is an error; [`is_retryable`] says whether
//!    another try may help, and [`retry()`] whether and when to try.
//! 5. [`sse`] splits a stream of server-sent events, for every provider.
//! 6. [`vendors`] are who can be asked; [`facts`] are what is known about their models, in a
//!    [`Catalogue`] that a person may correct; [`cost`] is what an answer cost.
//! 7. [`encode_count`] and [`list_request`] ask how many tokens a request has and which models there
//!    are; [`decode_count`] and [`decode_models`] read the answers.
//!
//! ```
//! use analects_core::{Message, Request, fold};
//! use analects_providers::{Api, decoder, encode};
//!
//! let request = Request { model: "tiny".into(), ..Request::from_prompt("Hello") };
//! assert_eq!(encode(Api::OpenAiChat, &request).path, "/chat/completions");
//!
//! let answer = b"data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\
//!     \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
//! let mut decoder = decoder(Api::OpenAiChat);
//! let mut events = decoder.push(answer);
//! events.extend(decoder.finish());
//! let folded = fold(&events, Message::assistant("a", ""));
//! assert_eq!(folded.message.text(), "Hi");
//! assert!(folded.complete);
//! ```
//!
//! # Limitations
//!
//! - Requests always ask for a stream; a plain JSON answer is read too.
//! - Chat Completions has no place for unknown blocks, for documents other than PDF files and, with
//!   most servers, for thinking; the Responses API has none for stop sequences. What is left out is
//!   listed in [`HttpRequest::left_out`].
//! - Neither API can say that a tool failed, so the text of its result does.
//! - [`error_from_response`] reads a `Retry-After` header as seconds only, since a date needs the
//!   time; [`RetryHeaders::read`] reads both.
//! - Of several choices (`n` above 1) the first is the answer; the others are kept beside it, as
//!   `other_choices` among the message's extra fields.
//! - Of the Responses API, the request's instructions and tools, which every answer repeats, are not
//!   kept; nor are events that only announce what the finished item says.
//! - The Responses API takes back only calls of tools that the provider runs; calls of a computer, a
//!   shell or a custom tool, which somebody here would have to answer, are left out.
//! - Gemini wants the last word to be the user's: where the model spoke last, a line asks it to go on.
//! - What comes in by a request's `metadata` is sent as it is, and nobody checks it.
//! - Of Gemini, a stream whose every chunk says that it finished, as old versions do, cannot be told
//!   from one that was cut off between two chunks.
//! - Prices are list prices for ordinary requests: no batches, no searches, no stored caches.
//! - Anthropic's Messages: a server's tools and other fields of its own go in by the request's
//!   `metadata` (`tools` are added, `betas` become a header, `cache_control` caches the prompt). Text
//!   documents in base64 are left out; they go as plain text.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod anthropic;
mod catalogue;
mod decoder;
mod error;
mod gemini;
mod http;
mod models;
mod openai;
mod openai_responses;
mod outgoing;
mod quirks;
mod reading;
mod retry;
pub mod sse;
mod vendors;

use analects_core::Request;

pub use catalogue::{Catalogue, CatalogueError, cost, facts};
pub use decoder::{Decoder, decoder, recognise};
pub use error::{error_from_response, is_retryable, named_window};
pub use http::{Auth, HttpRequest, Method, at_once};
pub use models::{ListedModel, ModelPage, decode_count, decode_models, encode_count, list_request};
pub use quirks::{MaxTokens, Quirks, ReasoningRequest, SystemRole, Temperature, Thoughts, ToolIds};
pub use retry::{Retry, RetryHeaders, RetryPolicy, Situation, WhyNot, retry};
pub use vendors::{OWN_SERVER, Vendor, vendor, vendors};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Anthropic's Messages.
    AnthropicMessages,
    /// Google's Gemini API.
    Gemini,
    /// OpenAI's Chat Completions, which many vendors and local servers speak too.
    OpenAiChat,
    /// OpenAI's Responses, which local servers speak too.
    OpenAiResponses,
}

/// Turns a request into bytes that go out, for a server about which no more is known than its API.
pub fn encode(api: Api, request: &Request) -> HttpRequest {
    let quirks = match api {
        Api::OpenAiResponses => Quirks::OPENAI_RESPONSES,
        _ => Quirks::COMPATIBLE,
    };
    encode_for(api, request, &quirks)
}

/// Turns a request into bytes that go out, for a server of which more is known.
pub fn encode_for(api: Api, request: &Request, quirks: &Quirks) -> HttpRequest {
    match api {
        Api::AnthropicMessages => anthropic::encode(request),
        Api::Gemini => gemini::encode(request),
        Api::OpenAiChat => openai::encode(request, quirks),
        Api::OpenAiResponses => openai_responses::encode(request, quirks),
    }
}
