//! Any bytes that a server may send, for each wire format: reading them never panics, how they are
//! cut changes nothing, and what they fold into is a message that survives its JSON.

use analects_core::{Json, Message, StreamEvent, fold};
use analects_providers::{Api, decoder};

use crate::Target;

pub(crate) const OPENAI_CHAT: Target = Target {
    name: "openai_chat_stream",
    run: |bytes| run(Api::OpenAiChat, bytes),
    tokens: &[
        b"data: ", b"\n\n", b"data: [DONE]\n\n", b": comment\n", b"event: x\n", b"\r\n\r\n",
        b"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}", b"\"finish_reason\":\"stop\"",
        b"\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"n\",\"arguments\":\"{\"}}]",
        b"\"\\ud83d\"", b"\"reasoning_content\":\"r\"", b"{\"error\":{\"message\":\"no\"}}", b"null",
        b"\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}",
    ],
};

pub(crate) const ANTHROPIC: Target = Target {
    name: "anthropic_stream",
    run: |bytes| run(Api::AnthropicMessages, bytes),
    tokens: &[
        b"data: ", b"\n\n", b"event: ping\n", b": comment\n", b"\r\n\r\n", b"\"\\ud83d\"", b"null", b"\"index\":1",
        b"data: {\"type\":\"message_stop\"}\n\n", b"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}}\n\n",
        b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n",
        b"\"type\":\"thinking_delta\",\"thinking\":\"t\"", b"\"type\":\"signature_delta\",\"signature\":\"s\"",
        b"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}",
    ],
};

pub(crate) const OPENAI_RESPONSES: Target = Target {
    name: "openai_responses_stream",
    run: |bytes| run(Api::OpenAiResponses, bytes),
    tokens: &[
        b"data: ",
        b"\n\n",
        b"event: x\n",
        b": comment\n",
        b"\r\n\r\n",
        b"\"\\ud83d\"",
        b"null",
        b"\"output_index\":1",
        b"\"type\":\"response.output_text.delta\"",
        b"\"type\":\"response.output_item.added\"",
        b"\"type\":\"response.output_item.done\"",
        b"\"type\":\"response.completed\"",
        b"\"type\":\"response.failed\"",
        b"\"type\":\"response.function_call_arguments.delta\"",
        b"\"type\":\"response.reasoning_summary_text.delta\"",
        b"{\"type\":\"error\",\"code\":\"x\",\"message\":\"no\"}",
        b"\"encrypted_content\":\"e\"",
    ],
};

pub(crate) const GEMINI: Target = Target {
    name: "gemini_stream",
    run: |bytes| run(Api::Gemini, bytes),
    tokens: &[
        b"data: ",
        b"\n\n",
        b"[",
        b"]",
        b",\r\n",
        b": comment\n",
        b"\"\\ud83d\"",
        b"null",
        b"\"thought\":true",
        b"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}",
        b"\"finishReason\":\"STOP\"",
        b"\"functionCall\":{\"name\":\"n\",\"args\":{}}",
        b"\"thoughtSignature\":\"c2ln\"",
        b"\"promptFeedback\":{\"blockReason\":\"SAFETY\"}",
        b"{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}",
    ],
};

fn run(api: Api, bytes: &[u8]) {
    let whole = events(api, &[bytes]);
    let (left, right) = bytes.split_at(bytes.len() / 3);
    assert_eq!(events(api, &[left, right]), whole, "a cut changes nothing");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(api, &single), whole, "byte by byte is the same");
    let message = fold(&whole, Message::assistant("a", "")).message;
    assert_eq!(Message::from_json(&message.to_json()), Ok(message));
}

fn events(api: Api, chunks: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(api);
    let mut events: Vec<StreamEvent> = chunks
        .iter()
        .flat_map(|chunk| decoder.push(chunk))
        .collect();
    events.extend(decoder.finish());
    events
}
