//! Requests to both APIs with a single feature each.

use crate::marks::{
    Case, Mark, apart, assistant, call, field, picture, result, spelling, starts, text, thinking,
    user,
};

fn case(name: &'static str, source: String, marks: Vec<Mark>) -> Case {
    Case {
        name,
        file: "request.json",
        source: source.into_bytes(),
        marks,
    }
}

/// A request with these keys, and these messages after a question and an answer.
fn request(name: &'static str, keys: &str, messages: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend([user("QUESTION17"), assistant("ANSWER17")]);
    let source = format!(
        "{{{keys}\"messages\":[{{\"role\":\"user\",\"content\":\"QUESTION17\"}},\
         {{\"role\":\"assistant\",\"content\":\"ANSWER17\"}}{messages}]}}"
    );
    case(name, source, marks)
}

/// A field of the request.
fn setting(keys: &[&'static str], value: &str) -> Mark {
    field(keys, value).listed_as(&["state", "other_records"])
}

/// A field of a message or of a block that only its API knows.
fn detail(keys: &[&'static str], value: &str) -> Mark {
    field(keys, value)
        .listed_as(&["provider_details", "extra"])
        .machine()
}

fn call_id() -> Mark {
    field(&["id", "call_id", "tool_use_id", "tool_call_id"], "call17")
        .listed_as(&["tool_use"])
        .machine()
}

pub fn openai() -> Vec<Case> {
    [
        first_openai(),
        more_openai(),
        odd_openai(),
        further_openai(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_openai() -> Vec<Case> {
    let with =
        |name, message: &str, marks: Vec<Mark>| request(name, "", &format!(",{message}"), marks);
    let function = "{\"id\":\"call17\",\"type\":\"function\",\"function\":{\"name\":\"tool17\",\"arguments\":\"{\\\"city\\\":\\\"Paris17\\\"}\"}}";
    let calling = |name, call: &str, marks: Vec<Mark>| {
        let calls = format!(
            "{{\"role\":\"user\",\"content\":\"AGAIN17\"}},{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{call}]}},\
             {{\"role\":\"tool\",\"tool_call_id\":\"call17\",\"content\":\"RESULT17\"}}"
        );
        let mut all = vec![
            user("AGAIN17"),
            result("RESULT17"),
            self::call("tool17"),
            call_id(),
        ];
        all.push(spelling(&["provider_details", "extra.openai"]));
        all.extend(marks);
        with(name, &calls, all)
    };
    vec![
        request("plain", "", "", vec![]),
        request(
            "model",
            "\"model\":\"model17\",",
            "",
            vec![setting(&["model"], "model17").machine()],
        ),
        request(
            "limit",
            "\"max_tokens\":1717,",
            "",
            vec![setting(&["max_tokens"], "1717").machine()],
        ),
        request(
            "temperature",
            "\"temperature\":0.17,",
            "",
            vec![setting(&["temperature"], "0.17").machine()],
        ),
        request(
            "tools",
            "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"defined17\",\"parameters\":{\"type\":\"object\"}}}],",
            "",
            vec![setting(&["name"], "defined17")],
        ),
        with(
            "system",
            "{\"role\":\"system\",\"content\":\"SYSTEM17\"}",
            vec![text("system", "SYSTEM17")],
        ),
        with(
            "developer",
            "{\"role\":\"developer\",\"content\":\"SYSTEM17\"}",
            vec![
                text("system", "SYSTEM17"),
                detail(&["role"], "developer").listed_as(&["openai"]),
            ],
        ),
        with(
            "name",
            "{\"role\":\"user\",\"name\":\"ann17\",\"content\":\"SAID17\"}",
            vec![user("SAID17"), field(&["author", "name"], "ann17")],
        ),
        calling("call", function, vec![call("Paris17")]),
        calling(
            "arguments that are no JSON",
            &function.replace("{\\\"city\\\":\\\"Paris17\\\"}", "no json 17"),
            vec![call("no json 17")],
        ),
        calling(
            "spelling of arguments",
            &function.replace("{\\\"city\\\":\\\"Paris17\\\"}", "{ \\\"n\\\" : 17.50 }"),
            vec![call("17.5")],
        ),
    ]
}

fn more_openai() -> Vec<Case> {
    let with =
        |name, message: &str, marks: Vec<Mark>| request(name, "", &format!(",{message}"), marks);
    vec![
        with(
            "custom tool call",
            "{\"role\":\"user\",\"content\":\"AGAIN17\"},{\"role\":\"assistant\",\"content\":\"CALLS17\",\"tool_calls\":[{\"id\":\"call17\",\"type\":\"custom\",\
            \"custom\":{\"name\":\"tool17\",\"input\":\"INPUT17\"}}]}",
            vec![
                user("AGAIN17"),
                assistant("CALLS17"),
                call("tool17").or_in("raw"),
                call("INPUT17").or_in("raw").listed_as(&["tool_calls"]),
            ],
        ),
        with(
            "old function call",
            "{\"role\":\"user\",\"content\":\"AGAIN17\"},{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"tool17\",\"arguments\":\"{\\\"city\\\":\\\"Paris17\\\"}\"}}",
            vec![
                user("AGAIN17"),
                call("tool17").listed_as(&["function_call"]),
                call("Paris17").listed_as(&["function_call"]),
            ],
        ),
        with(
            "old function result",
            "{\"role\":\"function\",\"name\":\"tool17\",\"content\":\"RESULT17\"}",
            vec![
                result("RESULT17").listed_as(&["api_message", "function", "unknown-role"]),
                spelling(&["other_records"]),
                detail(&["name"], "tool17").listed_as(&["tool_result", "openai"]),
            ],
        ),
        with(
            "refusal",
            "{\"role\":\"user\",\"content\":\"AGAIN17\"},{\"role\":\"assistant\",\"content\":null,\"refusal\":\"REFUSED17\"}",
            vec![
                user("AGAIN17"),
                text("refusal", "REFUSED17").or_in("assistant"),
            ],
        ),
        with(
            "reasoning",
            "{\"role\":\"user\",\"content\":\"AGAIN17\"},{\"role\":\"assistant\",\"content\":\"SAID17\",\"reasoning_content\":\"THINK17\"}",
            vec![
                user("AGAIN17"),
                assistant("SAID17"),
                thinking("THINK17").listed_as(&["reasoning_content"]),
            ],
        ),
    ]
}

fn odd_openai() -> Vec<Case> {
    let with =
        |name, message: &str, marks: Vec<Mark>| request(name, "", &format!(",{message}"), marks);
    vec![
        with(
            "audio",
            "{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"QVVE\",\"format\":\"wav\"}}]}",
            vec![text("block", "QVVE").listed_as(&["audio", "input_audio"])],
        ),
        with(
            "file",
            "{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"file\":{\"filename\":\"f17.pdf\",\"file_data\":\"data:application/pdf;base64,JVBE\"}}]}",
            vec![
                text("block", "JVBE")
                    .or_in("document")
                    .listed_as(&["file", "document"]),
            ],
        ),
        with(
            "picture",
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"LOOK17\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\",\"detail\":\"low17\"}}]}",
            vec![
                user("LOOK17"),
                picture("iVBORw0KGgo="),
                detail(&["detail"], "low17").listed_as(&["image"]),
            ],
        ),
        with(
            "unknown role",
            "{\"role\":\"critic17\",\"content\":\"SAID17\"}",
            vec![
                text("item", "SAID17").or_in("raw").listed_as(&[
                    "api_message",
                    "critic17",
                    "unknown-role",
                ]),
                spelling(&["other_records"]),
            ],
        ),
        with(
            "unknown field",
            "{\"role\":\"user\",\"content\":\"SAID17\",\"mood\":\"BAR17\"}",
            vec![
                user("SAID17"),
                detail(&["mood"], "BAR17").listed_as(&["openai"]),
            ],
        ),
    ]
}

fn further_openai() -> Vec<Case> {
    vec![
        case("bare list", "[{\"role\":\"user\",\"content\":\"QUESTION17\"}]".to_string(), vec![
            user("QUESTION17"),
            spelling(&["state", "other_records"]),
        ]),
        case("a message a line", "{\"role\":\"user\",\"content\":\"QUESTION17\"}\n{\"role\":\"assistant\",\"content\":\"ANSWER17\"}\n".to_string(), vec![
            user("QUESTION17"),
            assistant("ANSWER17"),
            spelling(&["state", "other_records"]),
        ]),
        case("two requests", "{\"messages\":[{\"role\":\"user\",\"content\":\"ONE17\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"TWO17\"}]}\n".to_string(), vec![
            user("ONE17"),
            user("TWO17"),
            starts("TWO17").listed_as(&["session_id"]),
        ]),]
}

pub fn anthropic() -> Vec<Case> {
    [
        first_anthropic(),
        more_anthropic(),
        further_anthropic(),
        other_anthropic(),
        last_anthropic(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_anthropic() -> Vec<Case> {
    let key = "\"system\":\"SYSTEM17\",";
    vec![
        request("plain", key, "", vec![text("system", "SYSTEM17")]),
        request(
            "system of blocks",
            "\"system\":[{\"type\":\"text\",\"text\":\"SYSTEM17\",\"cache_control\":{\"type\":\"cache17\"}}],",
            "",
            vec![
                text("system", "SYSTEM17"),
                detail(&["cache_control", "type"], "cache17")
                    .listed_as(&["cache_control", "system"]),
            ],
        ),
        request(
            "settings",
            "\"system\":\"SYSTEM17\",\"model\":\"model17\",\"max_tokens\":1717,\"temperature\":0.17,",
            "",
            vec![
                text("system", "SYSTEM17"),
                setting(&["model"], "model17").machine(),
                setting(&["max_tokens"], "1717").machine(),
                setting(&["temperature"], "0.17").machine(),
            ],
        ),
        request(
            "tools",
            "\"system\":\"SYSTEM17\",\"tools\":[{\"name\":\"defined17\",\"input_schema\":{\"type\":\"object\"}}],",
            "",
            vec![text("system", "SYSTEM17"), setting(&["name"], "defined17")],
        ),
    ]
}

fn more_anthropic() -> Vec<Case> {
    let key = "\"system\":\"SYSTEM17\",";
    let with = |name, message: &str, mut marks: Vec<Mark>| {
        marks.push(text("system", "SYSTEM17"));
        request(name, key, &format!(",{message}"), marks)
    };
    let asked = "{\"role\":\"user\",\"content\":\"AGAIN17\"}";
    let block = |name, blocks: &str, mut marks: Vec<Mark>| {
        marks.extend([user("AGAIN17"), assistant("SAID17")]);
        let answer = format!(
            "{{\"role\":\"assistant\",\"content\":[{blocks},{{\"type\":\"text\",\"text\":\"SAID17\"}}]}}"
        );
        with(name, &format!("{asked},{answer}"), marks)
    };
    vec![
        block(
            "thinking",
            "{\"type\":\"thinking\",\"thinking\":\"THINK17\",\"signature\":\"SIGN17\"}",
            vec![
                thinking("THINK17"),
                field(&["signature"], "SIGN17")
                    .listed_as(&["thinking", "signatures"])
                    .machine(),
            ],
        ),
        block(
            "encrypted thinking",
            "{\"type\":\"redacted_thinking\",\"data\":\"SECRET17\"}",
            vec![
                text("block", "SECRET17").listed_as(&["redacted_thinking", "encrypted_reasoning"]),
            ],
        ),
        block(
            "server tool",
            "{\"type\":\"server_tool_use\",\"id\":\"srv17\",\"name\":\"web_search\",\"input\":{\"query\":\"QUERY17\"}},\
            {\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv17\",\"content\":[{\"type\":\"web_search_result\",\"title\":\"FOUND17\",\"url\":\"https://example.com/17\"}]}",
            vec![
                text("block", "QUERY17")
                    .or_in("call")
                    .listed_as(&["server_tool_use"]),
                text("block", "FOUND17")
                    .or_in("result")
                    .listed_as(&["web_search_tool_result"]),
            ],
        ),
    ]
}

fn further_anthropic() -> Vec<Case> {
    let key = "\"system\":\"SYSTEM17\",";
    let with = |name, message: &str, mut marks: Vec<Mark>| {
        marks.push(text("system", "SYSTEM17"));
        request(name, key, &format!(",{message}"), marks)
    };
    let asked = "{\"role\":\"user\",\"content\":\"AGAIN17\"}";
    let block = |name, blocks: &str, mut marks: Vec<Mark>| {
        marks.extend([user("AGAIN17"), assistant("SAID17")]);
        let answer = format!(
            "{{\"role\":\"assistant\",\"content\":[{blocks},{{\"type\":\"text\",\"text\":\"SAID17\"}}]}}"
        );
        with(name, &format!("{asked},{answer}"), marks)
    };
    let calls = |name, result: &str, mut marks: Vec<Mark>| {
        marks.extend([user("AGAIN17"), call("tool17"), call("Paris17"), call_id()]);
        let answer = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"call17\",\"name\":\"tool17\",\"input\":{\"city\":\"Paris17\"}}]}";
        let result = format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"call17\",{result}}}]}}"
        );
        with(name, &format!("{asked},{answer},{result}"), marks)
    };
    vec![
        block(
            "citations",
            "{\"type\":\"text\",\"text\":\"CLAIM17\",\"citations\":[{\"type\":\"char_location\",\"cited_text\":\"CITED17\"}]}",
            vec![
                assistant("CLAIM17"),
                apart("CLAIM17", "SAID17"),
                field(&["cited_text", "citations"], "CITED17")
                    .listed_as(&["citations", "provider_details"]),
            ],
        ),
        calls(
            "call and result",
            "\"content\":\"RESULT17\"",
            vec![result("RESULT17")],
        ),
        calls(
            "failed result",
            "\"content\":\"RESULT17\",\"is_error\":true",
            vec![
                result("RESULT17"),
                field(&["is_error", "status"], "true")
                    .or("failed")
                    .or("(error)"),
            ],
        ),
    ]
}

fn other_anthropic() -> Vec<Case> {
    let key = "\"system\":\"SYSTEM17\",";
    let with = |name, message: &str, mut marks: Vec<Mark>| {
        marks.push(text("system", "SYSTEM17"));
        request(name, key, &format!(",{message}"), marks)
    };
    let asked = "{\"role\":\"user\",\"content\":\"AGAIN17\"}";
    let calls = |name, result: &str, mut marks: Vec<Mark>| {
        marks.extend([user("AGAIN17"), call("tool17"), call("Paris17"), call_id()]);
        let answer = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"call17\",\"name\":\"tool17\",\"input\":{\"city\":\"Paris17\"}}]}";
        let result = format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"call17\",{result}}}]}}"
        );
        with(name, &format!("{asked},{answer},{result}"), marks)
    };
    vec![
        calls(
            "picture in a result",
            "\"content\":[{\"type\":\"text\",\"text\":\"RESULT17\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}}]",
            vec![result("RESULT17"), picture("iVBORw0KGgo=")],
        ),
        with(
            "picture",
            "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}},{\"type\":\"text\",\"text\":\"SAID17\"}]}",
            vec![user("SAID17"), picture("iVBORw0KGgo=")],
        ),
        with(
            "document",
            "{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"title\":\"TITLE17\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\",\"data\":\"JVBERi0x\"}},{\"type\":\"text\",\"text\":\"SAID17\"}]}",
            vec![
                user("SAID17"),
                text("document", "JVBERi0x"),
                field(&["title"], "TITLE17")
                    .listed_as(&["document", "provider_details"])
                    .machine(),
            ],
        ),
        with(
            "document of text",
            "{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"PLAIN17\"}},{\"type\":\"text\",\"text\":\"SAID17\"}]}",
            vec![user("SAID17"), text("document", "PLAIN17")],
        ),
        with(
            "cache point",
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"SAID17\",\"cache_control\":{\"type\":\"cache17\"}}]}",
            vec![
                user("SAID17"),
                detail(&["cache_control", "type"], "cache17").listed_as(&["cache_control"]),
            ],
        ),
    ]
}

fn last_anthropic() -> Vec<Case> {
    let key = "\"system\":\"SYSTEM17\",";
    let with = |name, message: &str, mut marks: Vec<Mark>| {
        marks.push(text("system", "SYSTEM17"));
        request(name, key, &format!(",{message}"), marks)
    };
    vec![with(
        "unknown field",
        "{\"role\":\"user\",\"content\":\"SAID17\",\"mood\":\"BAR17\"}",
        vec![
            user("SAID17"),
            detail(&["mood"], "BAR17").listed_as(&["anthropic"]),
        ],
    )]
}
