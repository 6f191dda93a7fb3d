//! Decodes messages of the API.

use analects_core::{
    Assistant, Block, Body, Content, Json, Message, Raw, RawMap, System, Text, TextBlock, Thinking,
    ToolResult, ToolUse, User,
};

use crate::chatmd::session_json::{FieldReader, non_empty, read_part};
use crate::requests::{implied_stop_reason, take_field_block};

/// The extra field for the arguments of a call as they are spelled, if JSON would spell them differently.
pub(super) const ARGUMENTS: &str = "arguments";

/// The extra field that marks the arguments of a call as text that is not JSON.
pub(super) const MALFORMED: &str = "malformed_input";

/// The extra field that marks a text as the model's refusal to answer.
pub(super) const REFUSAL: &str = "refusal";

/// The extra field of a block that is written in another way than others of its kind: how it is.
pub(super) const FORM: &str = "openai";

/// The fields that hold what the model thought. Servers differ in the name.
pub(super) const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// The field with the only call of an answer, and the form of such a call, from the first year of the API.
pub(super) const FUNCTION_CALL: &str = "function_call";

/// The type and the form of a call whose arguments are plain text.
pub(super) const CUSTOM: &str = "custom";

/// The fields of an answer that become blocks of their own name, since no block of the model says the same.
pub(super) const FIELD_BLOCKS: [&str; 1] = ["audio"];

/// Reads a message and takes the fields that it understands; `None` for an unknown role.
pub(super) fn message(fields: &mut FieldReader) -> Option<Message> {
    let role = fields.take("role", Raw::as_string)?;
    let body = match role.as_str() {
        "system" | "developer" => Body::System(System {
            content: take_content(fields),
        }),
        "user" => Body::User(User {
            content: take_content(fields),
            ..User::default()
        }),
        "assistant" => Body::Assistant(assistant(fields)),
        "tool" => Body::ToolResult(tool_result(fields)),
        "function" => Body::ToolResult(function_result(fields)),
        _ => return None,
    };
    let mut message = Message::new("", body);
    if role != "function" {
        message.author = fields.take("name", |raw| raw.as_string().filter(|name| is_name(name)));
    }
    if matches!(role.as_str(), "developer" | "function") {
        fields.put("role", Raw::string(&role));
    }
    Some(message)
}

/// Returns whether a text can be the `name` of a message.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(is_forbidden_in_name)
}

/// Returns whether the API refuses a character in names.
fn is_forbidden_in_name(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "<|\\/>".contains(c)
}

/// Takes the content of a message; empty if it is missing or `null`. Content of any other form is a block of its own.
fn take_content(fields: &mut FieldReader) -> Content {
    let content = fields.take("content", read_content);
    content.unwrap_or_else(|| match take_field_block(fields, "content") {
        Some(block) => Content::Blocks(vec![block]),
        None => Content::Empty,
    })
}

/// Reads a string or a list of parts.
fn read_content(raw: &Raw) -> Option<Content> {
    if let Some(text) = Text::from_raw(raw) {
        return Some(Content::Text(text));
    }
    let parts = raw.as_array()?;
    Some(Content::Blocks(parts.iter().map(read_block).collect()))
}

/// Reads a part of a content. Also understands the blocks of other APIs.
fn read_block(raw: &Raw) -> Block {
    let block = read_part(raw);
    if !matches!(block, Block::Other(_)) {
        return block;
    }
    if let Some(text) = refusal_part(raw) {
        return refusal(text);
    }
    Block::read(raw, &mut Vec::new()).unwrap_or(block)
}

/// Reads a message of the role `tool`.
fn tool_result(fields: &mut FieldReader) -> ToolResult {
    ToolResult {
        tool_use_id: fields.take("tool_call_id", non_empty).unwrap_or_default(),
        content: take_result_content(fields),
        ..ToolResult::default()
    }
}

/// Takes the content of a result.
fn take_result_content(fields: &mut FieldReader) -> Content {
    let mut content = take_content(fields);
    if let Content::Blocks(blocks) = &mut content {
        blocks.iter_mut().for_each(keep_nested_result);
    }
    content
}

/// Keeps a result inside a result as JSON, like all formats do.
fn keep_nested_result(block: &mut Block) {
    if let Block::ToolResult(_) = block
        && let Ok(raw) = Raw::parse(&block.to_json())
    {
        *block = Block::Other(raw);
    }
}

/// Reads a message of the role `function`. Its API has no ids: a result belongs to the call of its name.
fn function_result(fields: &mut FieldReader) -> ToolResult {
    let name = fields.get("name").and_then(|raw| raw.as_string());
    ToolResult {
        tool_use_id: function_call_id(&name.unwrap_or_default()),
        content: take_result_content(fields),
        ..ToolResult::default()
    }
}

/// The id of a call that has none, and of its result.
pub(super) fn function_call_id(name: &str) -> String {
    format!("call_{name}")
}

/// Reads an answer: its thoughts first, then its content, and its calls at the end.
fn assistant(fields: &mut FieldReader) -> Assistant {
    let thought = take_thought(fields);
    let content = take_content(fields);
    let mut rest: Vec<Block> = Vec::new();
    rest.extend(fields.take(REFUSAL, non_empty).map(refusal));
    for key in FIELD_BLOCKS {
        rest.extend(take_field_block(fields, key));
    }
    rest.extend(fields.take(FUNCTION_CALL, read_function_call));
    rest.extend(take_field_block(fields, FUNCTION_CALL));
    rest.extend(fields.take("tool_calls", read_calls).unwrap_or_default());
    rest.extend(take_field_block(fields, "tool_calls"));
    let has_calls = rest.iter().any(|block| matches!(block, Block::ToolUse(_)));
    let stop_reason = Some(implied_stop_reason(has_calls));
    if thought.is_none() && rest.is_empty() {
        return Assistant {
            content,
            stop_reason,
        };
    }
    let mut blocks: Vec<Block> = thought.into_iter().collect();
    match content {
        Content::Empty => {}
        Content::Text(text) => blocks.push(Block::from_text(text)),
        Content::Blocks(content) => blocks.extend(content),
    }
    blocks.extend(rest);
    Assistant {
        content: Content::Blocks(blocks),
        stop_reason,
    }
}

/// Takes what the model thought.
fn take_thought(fields: &mut FieldReader) -> Option<Block> {
    let (key, thinking) = THOUGHTS.into_iter().find_map(|key| {
        let text = fields.take(key, |raw| {
            Text::from_raw(raw).filter(|text| !text.is_empty())
        })?;
        Some((key, text))
    })?;
    Some(Block::Thinking(Thinking {
        thinking,
        extra: RawMap::from([(FORM, Raw::string(key))]),
        ..Thinking::default()
    }))
}

/// Returns the words of a part that is a refusal.
fn refusal_part(raw: &Raw) -> Option<String> {
    let fields = raw.as_object()?;
    fields.string("type").filter(|kind| kind == REFUSAL)?;
    fields.string(REFUSAL).filter(|text| !text.is_empty())
}

/// Returns a refusal as the words that it is.
fn refusal(text: String) -> Block {
    Block::Text(TextBlock {
        text: text.into(),
        extra: RawMap::from([(REFUSAL, true.into())]),
    })
}

/// Reads a list of calls; `None` if it is empty or something else. A call of an unknown form stays JSON.
fn read_calls(raw: &Raw) -> Option<Vec<Block>> {
    let calls = raw.as_array().filter(|calls| !calls.is_empty())?;
    let calls = calls.iter().map(|call| match read_call(call) {
        Some(call) => Block::ToolUse(call),
        None => Block::Other(call.clone()),
    });
    Some(calls.collect())
}

/// Reads a call of a function or of a tool with plain text; `None` for any other.
fn read_call(raw: &Raw) -> Option<ToolUse> {
    let fields = raw.as_object()?;
    let id = fields.string("id").unwrap_or_default();
    match fields.string("type").as_deref() {
        Some(CUSTOM) => read_custom_call(id, &fields.get(CUSTOM)?.as_object()?),
        Some("function") | None => read_function(id, &fields.get("function")?.as_object()?),
        Some(_) => None,
    }
}

/// Reads the name and the arguments of a function that is called.
fn read_function(id: String, function: &RawMap) -> Option<ToolUse> {
    let name = function.string("name")?;
    let arguments = function.get("arguments")?;
    let Some(spelled) = arguments.as_string() else {
        // Some servers write the arguments as JSON.
        return Some(ToolUse {
            id,
            name,
            input: arguments.clone(),
            extra: RawMap::new(),
        });
    };
    let mut extra = RawMap::new();
    let input = match Raw::parse(&spelled) {
        Ok(input) => {
            if input.as_str() != spelled {
                extra.push(ARGUMENTS, Raw::string(&spelled));
            }
            input
        }
        Err(_) => {
            extra.push(MALFORMED, true.into());
            Raw::string(&spelled)
        }
    };
    Some(ToolUse {
        id,
        name,
        input,
        extra,
    })
}

/// Reads the call of a tool with plain text.
fn read_custom_call(id: String, custom: &RawMap) -> Option<ToolUse> {
    let name = custom.string("name")?;
    let input = Raw::string(&custom.string("input")?);
    let extra = RawMap::from([(MALFORMED, true.into()), (FORM, Raw::string(CUSTOM))]);
    Some(ToolUse {
        id,
        name,
        input,
        extra,
    })
}

/// Reads the only call of an answer, which has no id.
fn read_function_call(raw: &Raw) -> Option<Block> {
    let function = raw.as_object()?;
    let id = function_call_id(&function.string("name")?);
    let mut call = read_function(id, &function)?;
    call.extra.push(FORM, Raw::string(FUNCTION_CALL));
    Some(Block::ToolUse(call))
}
