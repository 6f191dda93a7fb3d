//! Request in, HTTP body out. Whatever the plan, the body obeys the rules of the API; what had to be
//! left out, added or changed for that is said beside it.

mod blocks;
mod settings;
mod turns;

use analects_core::{Block, Content, Raw, RawMap, Request, Role, Turn, sendable};

use self::blocks::{Speaker, text_block};
use super::wire::{FILES_BETA, VERSION};
use crate::outgoing::{LeftOut, Names};
use crate::{Auth, HttpRequest};

/// The names of tools.
const NAMES: Names = Names::Plain(128);

/// Turns a request into the call of `/messages`.
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let mut left_out = LeftOut::default();
    let body = body(request, &mut left_out);
    let fixed = ["model", "messages", "stream"];
    let body = with_metadata(
        body,
        &request.metadata,
        |key| !fixed.contains(&key),
        &mut left_out,
    );
    let json = body.to_raw().to_string().into_bytes();
    finished(
        HttpRequest::stream("/messages", Auth::XApiKey, json),
        request,
        left_out,
    )
}

/// Turns a request into the question how many tokens it has.
pub(crate) fn encode_count(request: &Request) -> HttpRequest {
    const COUNTED: [&str; 6] = [
        "model",
        "system",
        "messages",
        "tools",
        "tool_choice",
        "thinking",
    ];
    const ALSO: [&str; 4] = [
        "cache_control",
        "context_management",
        "mcp_servers",
        "output_config",
    ];
    let mut left_out = LeftOut::default();
    let whole = body(request, &mut left_out);
    let mut body = RawMap::new();
    for key in COUNTED {
        if let Some(value) = whole.get(key) {
            body.push(key, value.clone());
        }
    }
    // What is no part of the prompt has no place here, and nobody misses it.
    let counted = |key: &str| {
        !["model", "messages"].contains(&key) && (COUNTED.contains(&key) || ALSO.contains(&key))
    };
    let body = with_metadata(body, &request.metadata, counted, &mut LeftOut::default());
    let json = body.to_raw().to_string().into_bytes();
    finished(
        HttpRequest::json("/messages/count_tokens", Auth::XApiKey, json),
        request,
        left_out,
    )
}

fn finished(http: HttpRequest, request: &Request, left_out: LeftOut) -> HttpRequest {
    let http = http.header("anthropic-version", VERSION);
    let betas = betas(request, &http.body);
    let http = if betas.is_empty() {
        http
    } else {
        http.header("anthropic-beta", &betas.join(","))
    };
    http.leaving_out(left_out.into_problems())
}

fn body(request: &Request, left_out: &mut LeftOut) -> RawMap {
    let (mut system, turns) = split_system(request, left_out);
    let sent = sendable(turns);
    let mut conversation = turns::Conversation::default();
    for (turn, from) in sent.turns.iter().zip(sent.from) {
        conversation.add(from, turn, &request.model, left_out);
    }
    left_out.add(sent.mended);
    let mut messages = conversation.finish(left_out);
    turns::limit_cache_points(&mut system, &mut messages, &request.metadata, left_out);
    let settings = settings::Settings::of(request, &messages, left_out);
    let mut body = RawMap::from([
        ("model", Raw::string(&request.model)),
        ("max_tokens", settings.max_tokens.into()),
    ]);
    if let Some(system) = system_value(&system) {
        body.push("system", system);
    }
    let messages: Vec<Raw> = messages.iter().map(turns::Message::to_raw).collect();
    body.push("messages", Raw::array(&messages));
    body.push("stream", true.into());
    settings.write(&mut body);
    body
}

/// Splits a request into its instructions, as blocks, and its conversation. Instructions at the start
/// belong together, and leave empty turns behind, so that turns keep their numbers; later ones stay in
/// their place, as words of the user.
fn split_system(request: &Request, left_out: &mut LeftOut) -> (Vec<RawMap>, Vec<Turn>) {
    let mut system: Vec<RawMap> = Vec::new();
    if let Some(text) = &request.system {
        system.extend(text_block(&text.as_str()));
    }
    let mut begun = false;
    let mut turns = Vec::with_capacity(request.turns.len());
    for (number, turn) in request.turns.iter().enumerate() {
        begun |= turn.role != Role::System;
        let mut turn = turn.clone();
        if !begun {
            system.extend(instructions(number, &turn.content, left_out));
            turn.content = Content::Empty;
        } else if turn.role == Role::System {
            let text = "instructions in the middle are sent as words of the user";
            left_out.otherwise(format!("turn {}: {text}", number + 1));
            turn.role = Role::User;
        }
        turns.push(turn);
    }
    (system, turns)
}

fn instructions(number: usize, content: &Content, left_out: &mut LeftOut) -> Vec<RawMap> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => text_block(&text.as_str()).into_iter().collect(),
        Content::Blocks(blocks) => {
            let speaker = Speaker::system();
            let said = |block: &Block| {
                if let Block::Text(text) = block {
                    return speaker.text(text);
                }
                left_out.content(number, "a block", "instructions are text");
                None
            };
            blocks.iter().filter_map(said).collect()
        }
    }
}

/// One text as a string, several as blocks.
fn system_value(system: &[RawMap]) -> Option<Raw> {
    match system {
        [] => None,
        [only] if only.len() == 2 => only.get("text").cloned(),
        blocks => Some(Raw::array(
            &blocks.iter().map(RawMap::to_raw).collect::<Vec<_>>(),
        )),
    }
}

/// Adds the provider's own fields that are `welcome`. They win over ours, but for tools, which come
/// in addition: the provider's own tools have no other way in.
fn with_metadata(
    mut body: RawMap,
    metadata: &RawMap,
    welcome: impl Fn(&str) -> bool,
    left_out: &mut LeftOut,
) -> RawMap {
    for (key, value) in metadata.iter() {
        let key = key.as_string().unwrap_or_default();
        match key.as_str() {
            "betas" => {}
            "tools" if welcome("tools") => {
                let ours = body
                    .get("tools")
                    .and_then(Raw::as_array)
                    .unwrap_or_default();
                let theirs = value.as_array().unwrap_or_default();
                body.set("tools", Raw::array(&[ours, theirs].concat()));
            }
            key if welcome(key) => body.set(key, value.clone()),
            key => left_out.setting(key, "the program decides on it itself"),
        }
    }
    body
}

/// The features that the request asks for: a header, not a field.
fn betas(request: &Request, body: &[u8]) -> Vec<String> {
    let asked = request
        .metadata
        .get("betas")
        .and_then(Raw::as_array)
        .unwrap_or_default();
    let mut betas: Vec<String> = asked.iter().filter_map(Raw::as_string).collect();
    betas.retain(|beta| beta.chars().all(|c| c.is_ascii_graphic()));
    let has_files = names_a_file(body);
    if has_files && !betas.iter().any(|beta| beta.starts_with("files-api")) {
        betas.push(FILES_BETA.to_string());
    }
    betas
}

/// Whether a block of the body is a file that was uploaded before.
fn names_a_file(body: &[u8]) -> bool {
    let sign = br#""source":{"type":"file","file_id":"#;
    body.windows(sign.len()).any(|window| window == sign)
}
