//! Sessions of Claude Code, chat Markdown and files of the chat plugin, with a single feature each.

use crate::marks::{
    Case, Mark, apart, assistant, call, field, follows, picture, result, spelled, spelling, starts,
    text, thinking, user,
};

/// A session of Claude Code: a prompt and its answer.
const SESSION: &str = "{\"parentUuid\":null,\"type\":\"user\",\"uuid\":\"q17\",\"sessionId\":\"s17\",\
    \"message\":{\"role\":\"user\",\"content\":\"QUESTION17\"}}\n\
    {\"parentUuid\":\"q17\",\"type\":\"assistant\",\"uuid\":\"a17\",\"sessionId\":\"s17\",\
    \"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"ANSWER17\"}]}}\n";

fn session_marks() -> Vec<Mark> {
    vec![
        user("QUESTION17"),
        assistant("ANSWER17"),
        id("q17"),
        id("a17"),
        id("s17"),
        left_null(),
    ]
}

/// That the record says that there is no parent, and the role of its message.
fn left_null() -> Mark {
    spelling(&["extra", "provider_details"])
}

fn id(value: &str) -> Mark {
    field(&["id", "uuid", "session_id", "chat"], value).an_id()
}

fn session(name: &'static str, source: String, mut marks: Vec<Mark>) -> Case {
    marks.extend(session_marks());
    Case {
        name,
        file: "session.jsonl",
        source: source.into_bytes(),
        marks,
    }
}

/// A prompt with more fields in its record.
fn prompt(name: &'static str, fields: &str, marks: Vec<Mark>) -> Case {
    session(
        name,
        SESSION.replacen("\"message\"", &format!("{fields},\"message\""), 1),
        marks,
    )
}

/// An answer with more fields in its message.
fn inner(name: &'static str, fields: &str, marks: Vec<Mark>) -> Case {
    session(
        name,
        SESSION.replace(
            "\"role\":\"assistant\"",
            &format!("\"role\":\"assistant\",{fields}"),
        ),
        marks,
    )
}

/// An answer with another block.
fn block(name: &'static str, block: &str, marks: Vec<Mark>) -> Case {
    let own = "{\"type\":\"text\",\"text\":\"ANSWER17\"}";
    session(name, SESSION.replace(own, &format!("{block},{own}")), marks)
}

/// Another record at the end.
fn record(name: &'static str, fields: &str, marks: Vec<Mark>) -> Case {
    session(
        name,
        format!("{SESSION}{{\"sessionId\":\"s17\",{fields}}}\n"),
        marks,
    )
}

/// A detail of the provider.
fn detail(keys: &[&'static str], value: &str) -> Mark {
    field(keys, value)
        .listed_as(&["provider_details", "extra"])
        .machine()
}

pub fn claude_code() -> Vec<Case> {
    [
        first_claude_code(),
        more_claude_code(),
        further_claude_code(),
        other_claude_code(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_claude_code() -> Vec<Case> {
    vec![
        session("plain", SESSION.to_string(), vec![]),
        prompt(
            "folder",
            "\"cwd\":\"/work17\"",
            vec![detail(&["cwd"], "/work17")],
        ),
        prompt(
            "time",
            "\"timestamp\":\"2026-11-15T20:17:17.120Z\"",
            vec![
                field(
                    &["time", "created_at", "timestamp"],
                    "2026-11-15T20:17:17.12Z",
                )
                .or("2026-11-15T20:17:17.120Z")
                .or("2026-11-15 20:17:17")
                .or("1794773837120")
                .or("2026-11-15T20:17:17Z"),
            ],
        ),
        prompt(
            "prompt of a program",
            "\"isMeta\":true",
            vec![
                spelling(&["source"]),
                field(&["source", "isMeta"], "program").or("true").machine(),
            ],
        ),
        inner(
            "model",
            "\"model\":\"model17\"",
            vec![field(&["model", "author"], "model17").machine()],
        ),
        inner(
            "usage",
            "\"id\":\"msg17\",\"usage\":{\"input_tokens\":1717,\"output_tokens\":717,\"service_tier\":\"tier17\"}",
            vec![
                count("1717"),
                count("717"),
                detail(&["service_tier"], "tier17").listed_as(&["usage", "message"]),
                field(&["response_id"], "msg17")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        inner(
            "stop reason",
            "\"stop_reason\":\"max_tokens\"",
            vec![field(&["stop_reason"], "max_tokens").machine()],
        ),
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
    ]
}

fn more_claude_code() -> Vec<Case> {
    let call_block = "{\"type\":\"tool_use\",\"id\":\"call17\",\"name\":\"tool17\",\"input\":{\"city\":\"Paris17\"}}";
    let answer_to_call = "\"parentUuid\":\"a17\",\"type\":\"user\",\"uuid\":\"r17\",\"toolUseResult\":{\"stdout\":\"RAW17\"},\
        \"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call17\",\"content\":\"RESULT17\"}]}";
    let with_call = SESSION.replace(
        "{\"type\":\"text\",\"text\":\"ANSWER17\"}",
        &format!("{{\"type\":\"text\",\"text\":\"ANSWER17\"}},{call_block}"),
    );
    let side = "\"parentUuid\":null,\"type\":\"user\",\"uuid\":\"x17\",\"isSidechain\":true,\"agentId\":\"agent17\",\
        \"message\":{\"role\":\"user\",\"content\":\"SIDE17\"}";
    let calls = |result_content: &str| {
        let answer = answer_to_call.replace("\"RESULT17\"", result_content);
        let mut marks = vec![
            call("tool17"),
            call("Paris17"),
            id("r17"),
            result("RESULT17"),
        ];
        marks.push(
            field(&["id", "call_id", "tool_use_id", "tool_call_id"], "call17")
                .listed_as(&["tool_use"])
                .machine(),
        );
        marks.push(detail(&["stdout"], "RAW17").listed_as(&["toolUseResult"]));
        (
            format!("{with_call}{{\"sessionId\":\"s17\",{answer}}}\n"),
            marks,
        )
    };
    let (plain_call, call_marks) = calls("\"RESULT17\"");
    let (picture_call, mut picture_marks) = calls(
        "[{\"type\":\"text\",\"text\":\"RESULT17\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\
         \"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}}]",
    );
    picture_marks.push(picture("iVBORw0KGgo="));
    vec![
        session("call and result", plain_call, call_marks),
        session("picture in a result", picture_call, picture_marks),
        record(
            "side chain",
            side,
            vec![
                user("SIDE17"),
                starts("SIDE17"),
                id("x17"),
                field(&["agent_id"], "agent17")
                    .listed_as(&["side chain"])
                    .or("side chain agent17"),
            ],
        ),
        record(
            "title",
            "\"type\":\"custom-title\",\"customTitle\":\"TITLE17\"",
            vec![text("title", "TITLE17").listed_as(&["state", "other_records"])],
        ),
    ]
}

fn further_claude_code() -> Vec<Case> {
    vec![
        record(
            "notice",
            "\"parentUuid\":\"a17\",\"type\":\"system\",\"uuid\":\"n17\",\"subtype\":\"sub17\",\"content\":\"NOTICE17\"",
            vec![
                text("notification", "NOTICE17"),
                id("n17").part_of("notification"),
                field(&["kind"], "sub17")
                    .listed_as(&["notification"])
                    .machine(),
            ],
        ),
        record(
            "summary",
            "\"parentUuid\":\"a17\",\"type\":\"user\",\"uuid\":\"m17\",\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":\"SUMMARY17\"}",
            vec![text("summary", "SUMMARY17"), id("m17").part_of("summary")],
        ),
        record(
            "attachment",
            "\"parentUuid\":\"a17\",\"type\":\"attachment\",\"uuid\":\"t17\",\"attachment\":{\"type\":\"odd17\",\"content\":\"ATTACHED17\"}",
            vec![
                text("attachment", "ATTACHED17"),
                spelling(&["kind", "data"]),
                id("t17")
                    .part_of("attachment")
                    .listed_as(&["other_records"]),
            ],
        ),
        record(
            "snapshot",
            "\"type\":\"file-history-snapshot\",\"snapshot\":{\"deep\":\"SNAP17\"}",
            vec![field(&["deep"], "SNAP17").listed_as(&["left_out", "other_records", "progress"])],
        ),
        record(
            "progress",
            "\"parentUuid\":\"a17\",\"type\":\"progress\",\"uuid\":\"p17\",\"toolUseID\":\"call17\",\"data\":{\"type\":\"bash_progress\",\"output\":\"PROGRESS17\"}",
            vec![text("raw", "PROGRESS17").listed_as(&["left_out", "other_records", "progress"])],
        ),
        record(
            "progress of an agent",
            "\"parentUuid\":\"a17\",\"type\":\"progress\",\"uuid\":\"p17\",\"toolUseID\":\"call17\",\
            \"data\":{\"type\":\"agent_progress\",\"agentId\":\"agent17\",\"prompt\":\"PROMPT17\",\"message\":{\"type\":\"user\",\
            \"uuid\":\"g17\",\"timestamp\":\"2026-11-15T20:17:17.120Z\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"AGENT17\"}]}}}",
            vec![
                user("AGENT17"),
                // The name of the agent and the time.
                spelling(&["agent_id", "created_at", "parent_id"]),
            ],
        ),
        session(
            "torn line",
            format!("{SESSION}{{\"type\":\"user\",\"uuid\":\"TORN17"),
            vec![text("raw", "TORN17").listed_as(&["torn-line"])],
        ),
        session(
            "content that is null",
            format!(
                "{SESSION}{}",
                "{\"parentUuid\":\"a17\",\"type\":\"user\",\"uuid\":\"e17\",\"sessionId\":\"s17\",\"message\":{\"role\":\"user\",\"content\":null}}\n"
            ),
            vec![id("e17"), spelling(&["other_records"])],
        ),
    ]
}

fn other_claude_code() -> Vec<Case> {
    vec![
        session(
            "branch",
            format!(
                "{SESSION}{}",
                "{\"parentUuid\":\"q17\",\"type\":\"assistant\",\"uuid\":\"b17\",\"sessionId\":\"s17\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"BRANCH17\"}]}}\n"
            ),
            vec![
                assistant("BRANCH17"),
                id("b17"),
                follows("BRANCH17", "QUESTION17"),
            ],
        ),
        session(
            "spelling of a cost",
            SESSION.replacen("\"message\"", "\"costUSD\":1e-09,\"message\"", 1),
            vec![
                field(&["cost", "cost_usd"], "1e-09").machine(),
                spelled(&["cost", "cost_usd", "costUSD"], "1e-09")
                    .listed_as(&["extra"])
                    .an_id(),
            ],
        ),
    ]
}

fn count(value: &str) -> Mark {
    let keys = [
        "input_tokens",
        "output_tokens",
        "prompt",
        "completion",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
    ];
    field(&keys, value)
        .listed_as(&["usage", "provider_details"])
        .machine()
}

fn chat(name: &'static str, source: &str, marks: Vec<Mark>) -> Case {
    Case {
        name,
        file: "talk.chat.md",
        source: source.as_bytes().to_vec(),
        marks,
    }
}

/// A question with attributes in its tag, and an answer.
fn tagged(name: &'static str, attributes: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend([user("QUESTION17"), assistant("ANSWER17")]);
    chat(
        name,
        &format!(
            "> ---\n> <USER {attributes}/>\n\nQUESTION17\n\n> ---\n> <ASSISTANT />\n\nANSWER17\n"
        ),
        marks,
    )
}

/// An item that follows a question and an answer.
fn item(name: &'static str, item: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend([user("QUESTION17"), assistant("ANSWER17")]);
    chat(
        name,
        &format!(
            "> ---\n> <USER />\n\nQUESTION17\n\n> ---\n> <ASSISTANT />\n\nANSWER17\n\n> ---\n> {item}\n"
        ),
        marks,
    )
}

pub fn chat_markdown() -> Vec<Case> {
    [
        first_chat_markdown(),
        more_chat_markdown(),
        further_chat_markdown(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_chat_markdown() -> Vec<Case> {
    vec![
        tagged("plain", "", vec![follows("ANSWER17", "QUESTION17")]),
        tagged(
            "author",
            "author=\"ann17\" ",
            vec![field(&["author", "name"], "ann17")],
        ),
        tagged("time", "timestamp=\"2026-11-15T20:17:17Z\" ", vec![time()]),
        tagged(
            "local time",
            "timestamp=\"2026-11-15 20:17:17\" ",
            vec![time()],
        ),
        tagged(
            "tokens",
            "prompt=\"1717\" completion=\"717\" ",
            vec![count("1717"), count("717")],
        ),
        tagged(
            "id",
            "id=\"ID17\" ",
            vec![field(&["id", "uuid"], "ID17").an_id()],
        ),
        tagged(
            "unknown attribute",
            "mood=\"BAR17\" ",
            vec![detail(&["mood"], "BAR17")],
        ),
        tagged(
            "repeated attribute",
            "mood=\"ONE17\" mood=\"TWO17\" ",
            vec![
                detail(&["mood"], "ONE17").or_in("raw"),
                detail(&["mood"], "TWO17").or_in("raw"),
            ],
        ),
        tagged(
            "value that cannot be read",
            "prompt=\"many17\" ",
            vec![detail(&["prompt"], "many17")],
        ),
        tagged(
            "junk in a tag",
            "JUNK17\" ",
            vec![text("attribute", "JUNK17").listed_as(&["bad-attribute"])],
        ),
        item(
            "system",
            "<SYSTEM />\n\nSYSTEM17",
            vec![text("system", "SYSTEM17")],
        ),
    ]
}

fn more_chat_markdown() -> Vec<Case> {
    vec![
        item(
            "result",
            "<TOOL tool_call_id=\"call17\" name=\"tool17\" />\n\nRESULT17",
            vec![
                result("RESULT17"),
                field(&["tool_call_id", "tool_use_id", "call_id", "id"], "call17")
                    .listed_as(&["tool_result"])
                    .machine(),
                detail(&["name", "tool17"], "tool17").listed_as(&["tool_result"]),
            ],
        ),
        item(
            "separator",
            "<SEPERATOR />",
            vec![text("separator", "").listed_as(&["compact_boundary"])],
        ),
        item(
            "text of a separator",
            "<SEPERATOR />\n\nBELOW17",
            vec![
                text("separator", "").listed_as(&["compact_boundary"]),
                field(&["text"], "BELOW17").or_in("separator").listed_as(&[
                    "compact_boundary",
                    "separator-text",
                    "provider_details",
                ]),
            ],
        ),
        item(
            "unknown item",
            "<NOTE color=\"red17\" />\n\nNOTE17",
            vec![
                text("item", "NOTE17")
                    .listed_as(&["chat_item", "other_records", "NOTE"])
                    .or_in("raw"),
                field(&["color"], "red17")
                    .listed_as(&["chat_item", "other_records", "NOTE"])
                    .or_in("raw")
                    .part_of("item"),
            ],
        ),
        item(
            "notes",
            "<USER />\n{: mood17=\"BAR17\" }\n\nNOTED17",
            vec![
                user("NOTED17"),
                detail(&["mood17"], "BAR17").listed_as(&["kramdown"]),
            ],
        ),
        item(
            "pictures",
            "<USER />\n\nBEFORE17\n\n<img src=\"data:image/png;base64,iVBORw0KGgo=\" />\n<img src=\"cat17.png\" alt=\"ALT17\">\n\nAFTER17",
            vec![
                user("BEFORE17"),
                user("AFTER17"),
                picture("iVBORw0KGgo="),
                picture("cat17.png"),
                field(&["alt"], "ALT17")
                    .or_in("raw")
                    .listed_as(&["image"])
                    .machine(),
            ],
        ),
    ]
}

fn further_chat_markdown() -> Vec<Case> {
    let front = |name, keys: &str, marks: Vec<Mark>| {
        let mut case = tagged(name, "", marks);
        let front = format!("---\nchat: s17\n{keys}\n---\n\n");
        case.source = [front.as_bytes(), &case.source].concat();
        case.marks.push(id("s17"));
        case
    };
    let state = |mark: Mark| mark.listed_as(&["state", "other_records"]);
    vec![
        item(
            "escaped separator",
            "<USER />\n\n\\> ---\n> <SYSTEM />\n\nFORGED17",
            vec![user("> ---\n> <SYSTEM />")],
        ),
        front(
            "title",
            "title: TITLE17",
            vec![state(text("title", "TITLE17"))],
        ),
        front(
            "tags",
            "tags: [one17, two17]",
            vec![state(
                field(&["tags"], "one17").or("[one17, two17]").or_in("raw"),
            )],
        ),
        front(
            "time of the conversation",
            "timestamp: \"2026-11-15T20:17:17Z\"",
            vec![state(time()).machine()],
        ),
        front(
            "unknown key",
            "mood: BAR17",
            vec![
                state(field(&["mood"], "BAR17"))
                    .listed_as(&["extra"])
                    .machine(),
            ],
        ),
        front(
            "comment",
            "mood: BAR17\n# COMMENT17",
            vec![
                state(field(&["mood"], "BAR17"))
                    .listed_as(&["extra"])
                    .machine(),
                text("comment", "COMMENT17"),
            ],
        ),
        chat(
            "preamble",
            "PREAMBLE17\n\n> ---\n> <USER />\n\nQUESTION17\n",
            vec![user("QUESTION17"), state(text("preamble", "PREAMBLE17"))],
        ),
        chat(
            "CRLF",
            "> ---\r\n> <USER />\r\n\r\nQUESTION17\r\nSECOND17\r\n",
            vec![user("QUESTION17\r\nSECOND17")],
        ),
    ]
}

fn time() -> Mark {
    field(&["time", "created_at", "timestamp"], "2026-11-15T20:17:17Z")
        .or("1794773837000")
        .or("2026-11-15 20:17:17")
}

/// A file of the plugin with these items and keys.
fn plugin(name: &'static str, keys: &str, items: &str, mut marks: Vec<Mark>) -> Case {
    let base = "{\"type\":\"message\",\"id\":\"q17\",\"message\":{\"role\":\"user\",\"content\":\"QUESTION17\"}},\
        {\"type\":\"message\",\"id\":\"a17\",\"message\":{\"role\":\"assistant\",\"content\":\"ANSWER17\"}}";
    marks.extend([
        user("QUESTION17"),
        assistant("ANSWER17"),
        id("s17"),
        id("q17"),
        id("a17"),
    ]);
    Case {
        name,
        file: "talk.chat.json",
        source: format!("{{\"id\":\"s17\"{keys},\"items\":[{base}{items}]}}").into_bytes(),
        marks,
    }
}

pub fn chat_session() -> Vec<Case> {
    [
        first_chat_session(),
        more_chat_session(),
        further_chat_session(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_chat_session() -> Vec<Case> {
    let item = |name, fields: &str, message: &str, mut marks: Vec<Mark>| {
        marks.push(id("i17"));
        plugin(
            name,
            "",
            &format!(",{{\"type\":\"message\",\"id\":\"i17\"{fields},\"message\":{message}}}"),
            marks,
        )
    };
    let said = "{\"role\":\"user\",\"content\":\"SAID17\"}";
    let state = |mark: Mark| mark.listed_as(&["state", "other_records"]);
    vec![
        plugin("plain", "", "", vec![]),
        plugin(
            "title",
            ",\"title\":\"TITLE17\"",
            "",
            vec![state(text("title", "TITLE17"))],
        ),
        plugin(
            "system prompt",
            ",\"sysPrompt\":\"SYSTEM17\"",
            "",
            vec![text("system", "SYSTEM17")],
        ),
        plugin(
            "tags",
            ",\"tags\":[\"one17\"]",
            "",
            vec![state(field(&["tags"], "one17").or("[one17]").or_in("raw"))],
        ),
        plugin(
            "time",
            ",\"timestamp\":1794773837000",
            "",
            vec![state(time()).machine()],
        ),
        plugin(
            "unknown key",
            ",\"mood\":\"BAR17\"",
            "",
            vec![
                state(field(&["mood"], "BAR17"))
                    .listed_as(&["extra"])
                    .machine(),
            ],
        ),
        item(
            "author",
            ",\"author\":\"ann17\"",
            said,
            vec![user("SAID17"), field(&["author", "name"], "ann17")],
        ),
        item(
            "time of a message",
            ",\"timestamp\":1794773837000",
            said,
            vec![user("SAID17"), time()],
        ),
    ]
}

fn more_chat_session() -> Vec<Case> {
    let item = |name, fields: &str, message: &str, mut marks: Vec<Mark>| {
        marks.push(id("i17"));
        plugin(
            name,
            "",
            &format!(",{{\"type\":\"message\",\"id\":\"i17\"{fields},\"message\":{message}}}"),
            marks,
        )
    };
    let said = "{\"role\":\"user\",\"content\":\"SAID17\"}";
    vec![
        item(
            "hidden message",
            ",\"hidden\":true",
            said,
            vec![
                user("SAID17"),
                field(&["history", "hidden"], "exclude")
                    .or("none")
                    .or("true")
                    .listed_as(&["message"]),
            ],
        ),
        item(
            "usage",
            ",\"usage\":{\"prompt_tokens\":1717,\"completion_tokens\":717,\"total_tokens\":2434}",
            said,
            vec![
                user("SAID17"),
                count("1717"),
                count("717"),
                spelling(&["usage", "provider_details"]),
            ],
        ),
        item(
            "unknown field",
            ",\"mood\":\"BAR17\"",
            said,
            vec![user("SAID17"), detail(&["mood"], "BAR17")],
        ),
        item(
            "field of the inner message",
            "",
            &said.replace('}', ",\"mood\":\"BAR17\"}"),
            vec![
                user("SAID17"),
                detail(&["mood"], "BAR17").listed_as(&["message"]),
            ],
        ),
        item(
            "parts",
            "",
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"ONE17\"},{\"type\":\"image_url\",\
            \"image_url\":{\"url\":\"https://example.com/17.png\",\"detail\":\"high17\"}},{\"type\":\"text\",\"text\":\"TWO17\"}]}",
            vec![
                user("ONE17"),
                user("TWO17"),
                picture("https://example.com/17.png"),
                apart("ONE17", "TWO17"),
                detail(&["detail"], "high17").listed_as(&["image"]),
            ],
        ),
    ]
}

fn further_chat_session() -> Vec<Case> {
    let item = |name, fields: &str, message: &str, mut marks: Vec<Mark>| {
        marks.push(id("i17"));
        plugin(
            name,
            "",
            &format!(",{{\"type\":\"message\",\"id\":\"i17\"{fields},\"message\":{message}}}"),
            marks,
        )
    };
    vec![
        item(
            "unknown part",
            "",
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"ONE17\"},{\"type\":\"odd17\",\"value\":\"BLOCK17\"}]}",
            vec![user("ONE17"), text("block", "BLOCK17")],
        ),
        item(
            "result",
            "",
            "{\"role\":\"tool\",\"tool_call_id\":\"call17\",\"content\":\"RESULT17\"}",
            vec![
                result("RESULT17"),
                field(&["tool_call_id", "tool_use_id", "call_id", "id"], "call17")
                    .listed_as(&["tool_result"])
                    .machine(),
            ],
        ),
        plugin(
            "separator",
            "",
            ",{\"type\":\"seperator\",\"id\":\"i17\"}",
            vec![
                text("separator", "").listed_as(&["compact_boundary"]),
                id("i17")
                    .part_of("compact_boundary")
                    .listed_as(&["other_records"]),
            ],
        ),
        plugin(
            "unknown item",
            "",
            ",{\"type\":\"odd17\",\"id\":\"i17\",\"value\":\"ODD17\"}",
            vec![
                text("raw", "ODD17").listed_as(&[
                    "chat_item",
                    "odd17",
                    "unknown-item",
                    "other_records",
                    "item",
                    "chat_session_item",
                ]),
                id("i17").part_of("item").listed_as(&[
                    "chat_item",
                    "odd17",
                    "unknown-item",
                    "other_records",
                    "chat_session_item",
                ]),
            ],
        ),
    ]
}
