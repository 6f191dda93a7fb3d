//! Requests and answers in the wire formats of the model providers.
//!
//! This crate is pure: bytes in, events out. It opens no connection, knows neither keys nor hosts,
//! and reads no clock; `analects-client` does that. One function turns a [`Request`] into the bytes
//! of an HTTP request, another turns the bytes of an answer into
//! [`StreamEvent`](analects_core::StreamEvent)s.
//!
//! # Types, in reading order
//!
//! 1. [`Api`] names a wire format.
//! 2. [`encode`] turns any request into an [`HttpRequest`] that obeys the rules of its API, and
//!    reports what it omits or changes. [`encode_for`] does so for a server whose [`Quirks`] are
//!    known.
//! 3. [`decoder`] returns a [`Decoder`], which takes the answer's bytes in pieces of any size.
//! 4. [`error_from_response`] reads an answer that is an error. [`is_retryable`] says whether
//!    another try may help, and [`retry()`] whether and when to try again.
//! 5. [`sse`] splits a stream of server-sent events, for every provider.
//! 6. [`vendors`] lists the providers. [`facts`] and the [`Catalogue`], which a user may correct,
//!    say what is known about their models. [`cost`] says what an answer cost.
//! 7. [`encode_count`] and [`encode_list_models`] ask how many tokens a request has and which
//!    models there are; [`decode_count`] and [`decode_models`] read the answers.
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
//! - Requests always ask for a stream, unless [`without_streaming`] changes them; a plain JSON
//!   answer is read too.
//! - Chat Completions cannot express unknown blocks, documents other than PDF files and, with most
//!   servers, thinking. The Responses API has no stop sequences. [`HttpRequest::left_out`] lists
//!   what is omitted.
//! - Neither of OpenAI's APIs has a field for failed tool calls, so the text of the result says
//!   that it is an error.
//! - [`error_from_response`] reads a `Retry-After` header as seconds only, because a date requires
//!   the time. [`RetryHeaders::read`] reads both.
//! - If a server returns several choices (`n` above 1), the first one is the answer. The others are
//!   kept among the message's extra fields, as `other_choices`.
//! - The Responses API repeats the request's instructions and tools in every answer. They are not
//!   kept, and neither are events that only announce what the finished item contains.
//! - The Responses API accepts only calls of tools that the provider runs. Calls of a computer, a
//!   shell or a custom tool are omitted, because the client would have to answer them.
//! - Gemini requires the last turn to be the user's. After a turn of the model, a line is added
//!   that asks it to go on.
//! - The request's `metadata` is sent unchecked.
//! - Old versions of Gemini set a finish reason in every chunk. If such a stream is cut off between
//!   two chunks, the answer looks complete.
//! - Prices are list prices of ordinary requests: no batches, no searches, no stored caches.
//! - Fields and server-side tools of Anthropic's Messages are sent by `metadata`: `tools` are added
//!   to the request's tools, `betas` become a header, and `cache_control` caches the prompt. Text
//!   documents in base64 are omitted; send them as plain text.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod anthropic;
mod catalogue;
mod decoder;
mod decoding;
mod encoding;
mod error;
mod gemini;
mod http;
mod models;
mod openai;
mod openai_responses;
mod quirks;
mod retry;
pub mod sse;
mod vendors;

use analects_core::Request;

pub use catalogue::{Catalogue, CatalogueError, cost, facts};
pub use decoder::{Decoder, decoder, detect_api};
pub use error::{context_window_in, error_from_response, is_retryable};
pub use http::{Auth, HttpRequest, Method, without_streaming};
pub use models::{
    ListedModel, ModelPage, decode_count, decode_models, encode_count, encode_list_models,
};
pub use quirks::{
    MaxTokensField, Quirks, ReasoningRequest, SystemRole, TemperatureSupport, ThinkingField,
    ToolIdRule,
};
pub use retry::{NoRetryReason, RetryDecision, RetryHeaders, RetryPolicy, RetryState, retry};
pub use vendors::{LOCAL_VENDOR, Vendor, vendor, vendors};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Anthropic's Messages.
    AnthropicMessages,
    /// Google's Gemini API.
    Gemini,
    /// OpenAI's Chat Completions, which many vendors and local servers also speak.
    OpenAiChat,
    /// OpenAI's Responses, which some local servers also speak.
    OpenAiResponses,
}

/// Encodes a request for a server about which only its API is known.
///
/// ```
/// use analects_core::Request;
/// use analects_providers::{Api, encode};
///
/// let mut request = Request { model: "tiny".into(), ..Request::from_prompt("Hello") };
/// request.reasoning = true;
///
/// let http = encode(Api::OpenAiChat, &request);
/// assert_eq!(http.path, "/chat/completions");
/// assert!(String::from_utf8_lossy(&http.body).contains("Hello"));
/// // Nobody knows how to ask this server for thinking, so that is reported.
/// assert_eq!(http.left_out.len(), 1);
/// ```
pub fn encode(api: Api, request: &Request) -> HttpRequest {
    let quirks = if api == Api::OpenAiResponses {
        Quirks::OPENAI_RESPONSES
    } else {
        Quirks::COMPATIBLE
    };
    encode_for(api, request, &quirks)
}

/// Encodes a request for a server with these quirks. Anthropic and Gemini have none, and ignore
/// them.
///
/// ```
/// use analects_core::Request;
/// use analects_providers::{Api, Quirks, SystemRole, encode_for};
///
/// let request = Request { system: Some("Be brief.".into()), ..Request::from_prompt("Hello") };
/// let quirks = Quirks { system_role: SystemRole::Developer, ..Quirks::COMPATIBLE };
/// let http = encode_for(Api::OpenAiChat, &request, &quirks);
/// assert!(String::from_utf8_lossy(&http.body).contains(r#""role":"developer""#));
/// ```
pub fn encode_for(api: Api, request: &Request, quirks: &Quirks) -> HttpRequest {
    match api {
        Api::AnthropicMessages => anthropic::encode(request),
        Api::Gemini => gemini::encode(request),
        Api::OpenAiChat => openai::encode(request, quirks),
        Api::OpenAiResponses => openai_responses::encode(request, quirks),
    }
}
