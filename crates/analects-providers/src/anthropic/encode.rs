//! Encodes a request for Anthropic's Messages. Whatever the conversation, the body obeys the rules
//! of the API; what has to be omitted, added or changed for that is reported.

mod blocks;
mod cache_points;
mod call_ids;
mod message;
mod messages;
mod model_names;
mod server_calls;
mod settings;

use analects_core::{Block, Content, Problem, Raw, RawMap, Request, Role, Turn, sendable};
use memchr::memmem;

use self::blocks::{system_text_block, text_block};
use self::message::AnthropicMessage;
use self::messages::AnthropicMessageBuilder;
use self::settings::AnthropicSettings;
use super::wire::{FILES_BETA, VERSION};
use crate::decoding::list_member;
use crate::encoding::{EncodeProblems, ToolNameRule};
use crate::{Auth, HttpRequest};

/// The tool names that the API accepts.
const TOOL_NAMES: ToolNameRule = ToolNameRule::Plain(128);

/// The fields that the request's metadata cannot replace.
const FIXED_FIELDS: [&str; 3] = ["model", "messages", "stream"];

/// The fields of a body that a request for a token count repeats.
const COUNTED_FIELDS: [&str; 6] = [
    "model",
    "system",
    "messages",
    "tools",
    "tool_choice",
    "thinking",
];

/// The fields of metadata that a request for a token count accepts.
const COUNTED_METADATA: [&str; 8] = [
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "cache_control",
    "context_management",
    "mcp_servers",
    "output_config",
];

/// Encodes a request for `/messages`.
///
/// ```text
/// POST /messages
/// {"model":"claude","max_tokens":32000,"messages":[{"role":"user","content":"Hello"}], …}
/// ```
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let mut problems = EncodeProblems::default();
    let body = body(request, &mut problems);
    let body = merge_metadata(body, &request.metadata, is_free, &mut problems);
    let json = body.to_raw().to_string().into_bytes();
    let http = HttpRequest::stream("/messages", Auth::XApiKey, json);
    with_headers(http, request, problems.into_problems())
}

/// Encodes the question how many tokens a request has.
pub(crate) fn encode_count(request: &Request) -> HttpRequest {
    let mut problems = EncodeProblems::default();
    let whole = body(request, &mut problems);
    let mut body = RawMap::new();
    for key in COUNTED_FIELDS {
        if let Some(value) = whole.get(key) {
            body.push(key, value.clone());
        }
    }
    // Fields that are no part of the prompt are omitted without a report, since they do not count.
    let mut unreported = EncodeProblems::default();
    let body = merge_metadata(body, &request.metadata, is_counted, &mut unreported);
    let json = body.to_raw().to_string().into_bytes();
    let http = HttpRequest::json("/messages/count_tokens", Auth::XApiKey, json);
    with_headers(http, request, problems.into_problems())
}

/// Whether metadata may set a field of a request.
fn is_free(key: &str) -> bool {
    !FIXED_FIELDS.contains(&key)
}

/// Whether metadata may set a field of a request for a token count.
fn is_counted(key: &str) -> bool {
    COUNTED_METADATA.contains(&key)
}

/// Adds the headers of this API and the report.
fn with_headers(http: HttpRequest, request: &Request, problems: Vec<Problem>) -> HttpRequest {
    let betas = beta_features(request, &http.body);
    let mut http = http.header("anthropic-version", VERSION);
    if !betas.is_empty() {
        http = http.header("anthropic-beta", &betas.join(","));
    }
    http.with_problems(problems)
}

/// Builds the body, without the request's metadata.
fn body(request: &Request, problems: &mut EncodeProblems) -> RawMap {
    let (mut system, turns) = split_system(request, problems);
    let mut messages = messages(turns, &request.model, problems);
    cache_points::limit(&mut system, &mut messages, &request.metadata, problems);
    let settings = AnthropicSettings::new(request, &messages, problems);
    let mut body = RawMap::from([
        ("model", Raw::string(&request.model)),
        ("max_tokens", settings.max_tokens.into()),
    ]);
    if let Some(system) = system_value(&system) {
        body.push("system", system);
    }
    let messages: Vec<Raw> = messages.iter().map(AnthropicMessage::to_raw).collect();
    body.push("messages", Raw::array(&messages));
    body.push("stream", true.into());
    settings.write(&mut body);
    body
}

/// Builds the messages. The turns keep their numbers for reports, although some are joined or
/// dropped.
fn messages(turns: Vec<Turn>, model: &str, problems: &mut EncodeProblems) -> Vec<AnthropicMessage> {
    let sent = sendable(turns);
    let mut builder = AnthropicMessageBuilder::default();
    for (turn, number) in sent.turns.iter().zip(sent.from) {
        builder.add(number, turn, model, problems);
    }
    problems.extend(sent.mended);
    builder.finish(problems)
}

/// Splits a request into its instructions, as blocks, and its conversation. Instructions at the
/// start leave empty turns behind, so that turns keep their numbers. Later instructions stay in
/// their place, as turns of the user.
fn split_system(request: &Request, problems: &mut EncodeProblems) -> (Vec<RawMap>, Vec<Turn>) {
    let mut system: Vec<RawMap> = Vec::new();
    if let Some(text) = &request.system {
        system.extend(text_block(&text.as_str()));
    }
    let mut has_begun = false;
    let mut turns = Vec::with_capacity(request.turns.len());
    for (number, turn) in request.turns.iter().enumerate() {
        has_begun |= turn.role != Role::System;
        let mut turn = turn.clone();
        if !has_begun {
            system.extend(instructions(number, &turn.content, problems));
            turn.content = Content::Empty;
        } else if turn.role == Role::System {
            let text = "instructions in the middle are sent as words of the user";
            problems.change_turn(number, text);
            turn.role = Role::User;
        }
        turns.push(turn);
    }
    (system, turns)
}

/// The text blocks of a turn of instructions. Other blocks are omitted.
fn instructions(number: usize, content: &Content, problems: &mut EncodeProblems) -> Vec<RawMap> {
    let blocks = match content {
        Content::Empty => return Vec::new(),
        Content::Text(text) => return text_block(&text.as_str()).into_iter().collect(),
        Content::Blocks(blocks) => blocks,
    };
    let mut texts = Vec::new();
    for block in blocks {
        if let Block::Text(text) = block {
            texts.extend(system_text_block(text));
        } else {
            problems.omit_content(number, "a block", "instructions are text");
        }
    }
    texts
}

/// The value of `system`: a string for one plain text, else a list of blocks.
fn system_value(system: &[RawMap]) -> Option<Raw> {
    match system {
        [] => None,
        [only] if only.len() == 2 => only.get("text").cloned(),
        blocks => {
            let blocks: Vec<Raw> = blocks.iter().map(RawMap::to_raw).collect();
            Some(Raw::array(&blocks))
        }
    }
}

/// Adds the metadata fields that `accepts` allows. They replace ours, except for tools, which are
/// added: the provider's own tools can only come from there.
fn merge_metadata(
    mut body: RawMap,
    metadata: &RawMap,
    accepts: fn(&str) -> bool,
    problems: &mut EncodeProblems,
) -> RawMap {
    for (key, value) in metadata.iter() {
        let key = key.as_string().unwrap_or_default();
        match key.as_str() {
            // These become a header.
            "betas" => {}
            key if !accepts(key) => {
                problems.omit_setting(key, "the program decides on it itself");
            }
            "tools" => {
                let mut tools = list_member(&body, "tools");
                tools.extend(value.as_array().unwrap_or_default());
                body.set("tools", Raw::array(&tools));
            }
            key => body.set(key, value.clone()),
        }
    }
    body
}

/// The beta features that a request needs: those of its metadata, and the one for uploaded files.
fn beta_features(request: &Request, body: &[u8]) -> Vec<String> {
    let wanted = list_member(&request.metadata, "betas");
    let mut betas: Vec<String> = wanted.iter().filter_map(Raw::as_string).collect();
    betas.retain(|beta| beta.chars().all(|c| c.is_ascii_graphic()));
    let has_files_beta = betas.iter().any(|beta| beta.starts_with("files-api"));
    if !has_files_beta && has_uploaded_file(body) {
        betas.push(FILES_BETA.to_string());
    }
    betas
}

/// Whether a block of the body is a file that was uploaded before.
fn has_uploaded_file(body: &[u8]) -> bool {
    memmem::find(body, br#""source":{"type":"file","file_id":"#).is_some()
}
