//! Transcripts with a single feature.

use crate::marks::{
    Case, Mark, apart, assistant, call, field, follows, picture, result, spelled, spelling, starts,
    text, thinking, user,
};

/// The records before a feature: a question and its answer.
const TALK: &str = "{\"v\":1,\"type\":\"user\",\"id\":\"q17\",\"session_id\":\"s17\",\"content\":\"QUESTION17\"}\n\
    {\"v\":1,\"type\":\"assistant\",\"id\":\"a17\",\"parent_id\":\"q17\",\"session_id\":\"s17\",\
    \"content\":[{\"type\":\"text\",\"text\":\"ANSWER17\"}],\"stop_reason\":\"end_turn\"}\n";

fn talk_marks() -> Vec<Mark> {
    let mut marks = vec![user("QUESTION17"), assistant("ANSWER17"), session("s17")];
    marks.extend([id("q17"), id("a17")]);
    marks
}

fn session(value: &str) -> Mark {
    field(&["id", "session_id", "chat"], value).an_id()
}

/// The id of a message. Readable message files number their cells instead.
fn id(value: &str) -> Mark {
    field(&["id", "uuid"], value).an_id()
}

fn case(name: &'static str, source: String, marks: Vec<Mark>) -> Case {
    Case {
        name,
        file: "talk.jsonl",
        source: source.into_bytes(),
        marks,
    }
}

/// A question with more fields.
fn question(name: &'static str, fields: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend(talk_marks());
    case(
        name,
        TALK.replacen("\"content\"", &format!("{fields},\"content\""), 1),
        marks,
    )
}

/// An answer with more fields.
fn answer(name: &'static str, fields: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend(talk_marks());
    case(
        name,
        TALK.replacen("\"stop_reason\"", &format!("{fields},\"stop_reason\""), 1),
        marks,
    )
}

/// An answer with more blocks.
fn block(name: &'static str, block: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend(talk_marks());
    let text = "{\"type\":\"text\",\"text\":\"ANSWER17\"}";
    case(
        name,
        TALK.replacen(text, &format!("{block},{text}"), 1),
        marks,
    )
}

/// A record that follows the answer.
fn record(name: &'static str, kind: &'static str, fields: &str, mut marks: Vec<Mark>) -> Case {
    marks.extend(talk_marks());
    marks.push(
        id("r17")
            .part_of(kind)
            .listed_as(&["left_out", "other_records"]),
    );
    let record = format!(
        "{{\"v\":1,\"type\":\"{kind}\",\"id\":\"r17\",\"parent_id\":\"a17\",\"session_id\":\"s17\"{fields}}}\n"
    );
    case(name, format!("{TALK}{record}"), marks)
}

/// A call, and a message of the user with its result.
fn calling(name: &'static str, block: &str, content: &str, mut marks: Vec<Mark>) -> Case {
    let text = "{\"type\":\"text\",\"text\":\"ANSWER17\"}";
    let talk = TALK
        .replacen(text, &format!("{text},{block}"), 1)
        .replace("end_turn", "tool_use");
    let record = format!(
        "{{\"v\":1,\"type\":\"user\",\"id\":\"r17\",\"parent_id\":\"a17\",\"session_id\":\"s17\",\"content\":{content}}}\n"
    );
    marks.extend(talk_marks());
    marks.push(id("r17"));
    marks.extend([call("tool17"), call("Paris17"), call_id()]);
    // The call says it, too.
    marks.push(spelling(&["stop_reason"]));
    case(name, format!("{talk}{record}"), marks)
}

const CALL: &str = "{\"type\":\"tool_use\",\"id\":\"call17\",\"name\":\"tool17\",\"input\":{\"city\":\"Paris17\"}}";
const RESULT: &str =
    "[{\"type\":\"tool_result\",\"tool_use_id\":\"call17\",\"content\":\"RESULT17\"}]";

fn call_id() -> Mark {
    field(&["id", "call_id", "tool_use_id", "tool_call_id"], "call17")
        .listed_as(&["tool_use"])
        .machine()
}

pub fn cases() -> Vec<Case> {
    let mut cases = fields();
    cases.extend(blocks());
    cases.extend(records());
    cases.extend(damage());
    for case in &mut cases {
        // Its new text takes the place of the old one.
        let is_edited = case.name == "edited text";
        case.marks
            .retain(|mark| !is_edited || mark.values != ["ANSWER17"]);
    }
    cases
}

fn fields() -> Vec<Case> {
    [
        first_fields(),
        more_fields(),
        further_fields(),
        other_fields(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_fields() -> Vec<Case> {
    let deep = "\"extra\":{\"request17\":{\"deep\":[\"BAR17\"]}}";
    vec![
        case("plain", TALK.to_string(), talk_marks()),
        question(
            "time",
            "\"created_at\":\"2026-11-15T20:17:17.123456789Z\"",
            vec![
                field(
                    &["time", "created_at", "timestamp"],
                    "2026-11-15T20:17:17.123456789Z",
                )
                .or("2026-11-15T20:17:17Z")
                .or("2026-11-15 20:17:17"),
            ],
        ),
        question(
            "author",
            "\"author\":\"ann17\"",
            vec![field(&["author", "name"], "ann17")],
        ),
        question(
            "hidden",
            "\"history\":\"exclude\"",
            vec![
                field(&["history", "hidden"], "exclude")
                    .or("none")
                    .or("true")
                    .listed_as(&["message"]),
            ],
        ),
        question(
            "side chain",
            "\"agent_id\":\"side17\"",
            vec![
                field(&["agent_id"], "side17"),
                follows("ANSWER17", "QUESTION17"),
            ],
        ),
        question(
            "source",
            "\"source\":\"program\"",
            vec![field(&["source"], "program").machine()],
        ),
        question(
            "command",
            "\"command_name\":\"/name17\",\"command_args\":\"args17\"",
            vec![
                field(&["command_name"], "/name17").listed_as(&["provider_details"]),
                field(&["command_args"], "args17").listed_as(&["provider_details"]),
            ],
        ),
        question(
            "extra field",
            deep,
            vec![
                field(&["deep"], "BAR17")
                    .listed_as(&["request17", "provider_details", "extra"])
                    .machine(),
            ],
        ),
    ]
}

fn more_fields() -> Vec<Case> {
    vec![
        question(
            "unknown field",
            "\"mood\":\"BAR17\"",
            vec![
                field(&["mood"], "BAR17")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        question(
            "field of the wrong type",
            "\"author\":[1717]",
            vec![
                field(&["author"], "1717")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        question(
            "repeated field",
            "\"mood\":\"ONE17\",\"mood\":\"TWO17\"",
            vec![
                spelled(&["mood"], "ONE17")
                    .listed_as(&["provider_details"])
                    .machine(),
                spelled(&["mood"], "TWO17")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        answer(
            "model",
            "\"model\":\"model17\"",
            vec![field(&["model", "author"], "model17").machine()],
        ),
        answer(
            "usage",
            "\"usage\":{\"input_tokens\":1717,\"output_tokens\":717,\"cache_read_input_tokens\":718}",
            vec![count("1717"), count("717"), count("718")],
        ),
        answer(
            "unknown usage",
            "\"usage\":{\"input_tokens\":1717,\"odd\":{\"tier17\":\"BAR17\"}}",
            vec![
                count("1717"),
                field(&["tier17"], "BAR17")
                    .listed_as(&["usage", "odd", "provider_details"])
                    .machine(),
            ],
        ),
        answer(
            "cost",
            "\"cost_usd\":0.01234517",
            vec![field(&["cost", "cost_usd"], "0.01234517").machine()],
        ),
    ]
}

fn further_fields() -> Vec<Case> {
    vec![
        answer(
            "spelling of a cost",
            "\"cost_usd\":1e-09",
            vec![
                field(&["cost", "cost_usd"], "1e-09").machine(),
                spelled(&["cost", "cost_usd"], "1e-09").an_id(),
            ],
        ),
        answer(
            "duration",
            "\"duration_ms\":817",
            vec![
                field(&["duration", "duration_ms"], "817")
                    .or("0.817s")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        answer(
            "response id",
            "\"response_id\":\"resp17\"",
            vec![
                field(&["response_id"], "resp17")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        answer(
            "error",
            "\"is_api_error_message\":true",
            vec![
                field(&["error", "is_api_error_message"], "true")
                    .or("1")
                    .listed_as(&["message"]),
            ],
        ),
        case("stop reason", TALK.replace("end_turn", "max_tokens"), {
            let mut marks = talk_marks();
            marks.push(field(&["stop_reason"], "max_tokens").machine());
            marks
        }),
        case(
            "branch",
            format!(
                "{TALK}{}",
                TALK.lines()
                    .next()
                    .unwrap()
                    .replace("\"id\":\"q17\"", "\"id\":\"b17\",\"parent_id\":\"q17\"")
                    .replace("QUESTION17", "BRANCH17")
                    + "\n"
            ),
            {
                let mut marks = talk_marks();
                marks.extend([
                    user("BRANCH17"),
                    id("b17"),
                    follows("BRANCH17", "QUESTION17"),
                ]);
                marks
            },
        ),
    ]
}

fn other_fields() -> Vec<Case> {
    vec![
        case(
            "two conversations",
            format!("{TALK}{}", TALK.replace("17\"", "18\"")),
            {
                let mut marks = talk_marks();
                marks.extend([
                    user("QUESTION18"),
                    assistant("ANSWER18"),
                    session("s18"),
                    id("q18"),
                    id("a18"),
                ]);
                marks.push(starts("QUESTION18"));
                marks
            },
        ),
        case(
            "unknown parent",
            TALK.replace("\"parent_id\":\"q17\"", "\"parent_id\":\"gone17\""),
            {
                let mut marks = talk_marks();
                marks.push(field(&["parent_id", "parent"], "gone17").an_id());
                marks
            },
        ),
        case("empty id", TALK.replace("\"id\":\"a17\"", "\"id\":\"\""), {
            let mut marks = talk_marks();
            marks.retain(|mark| mark.values != ["a17"]);
            marks.push(spelling(&["id", "provider_details"]));
            marks
        }),
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
        "cache_read_tokens",
        "cache_read_input_tokens",
    ];
    field(&keys, value)
        .listed_as(&["usage", "provider_details"])
        .machine()
}

fn blocks() -> Vec<Case> {
    let with_picture = RESULT.replace(
        "\"RESULT17\"",
        "[{\"type\":\"text\",\"text\":\"RESULT17\"},{\"type\":\"image\",\"source\":\
         {\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}}]",
    );
    let image = |source: &str| format!("{{\"type\":\"image\",\"source\":{source}}}");
    vec![
        block("thinking", "{\"type\":\"thinking\",\"thinking\":\"THINK17\"}", vec![thinking("THINK17")]),
        block("signature", "{\"type\":\"thinking\",\"thinking\":\"THINK17\",\"signature\":\"SIGN17\"}", vec![
            thinking("THINK17"),
            field(&["signature"], "SIGN17").listed_as(&["thinking", "signatures"]).machine(),
        ]),
        block("encrypted thinking", "{\"type\":\"redacted_thinking\",\"data\":\"SECRET17\"}", vec![
            text("block", "SECRET17").listed_as(&["redacted_thinking", "encrypted_reasoning"]),
        ]),
        block("unknown block", "{\"type\":\"odd17\",\"value\":\"BLOCK17\"}", vec![text("block", "BLOCK17")]),
        block("server tool", "{\"type\":\"server_tool_use\",\"id\":\"srv17\",\"name\":\"web17\",\"input\":{\"q\":\"QUERY17\"}}", vec![
            text("block", "QUERY17").or_in("call"),
        ]),
        block("second text", "{\"type\":\"text\",\"text\":\"FIRST17\"}", vec![
            assistant("FIRST17"),
            apart("FIRST17", "ANSWER17"),
        ]),
        block("field of a text", "{\"type\":\"text\",\"text\":\"FIRST17\",\"citations\":[{\"title\":\"CITED17\"}]}", vec![
            assistant("FIRST17"),
            apart("FIRST17", "ANSWER17"),
            field(&["title", "citations"], "CITED17").listed_as(&["provider_details"]).machine(),
        ]),
        calling("call and result", CALL, RESULT, vec![result("RESULT17")]),
        calling("failed result", CALL, &RESULT.replace("}]", ",\"is_error\":true}]"), vec![
            result("RESULT17"),
            field(&["is_error", "status"], "true").or("failed").or("(error)"),
        ]),
        calling("picture in a result", CALL, &with_picture, vec![result("RESULT17"), picture("iVBORw0KGgo=")]),
        calling("field of a call", &CALL.replacen('}', "},\"cache17\":\"BAR17\"", 1).replace("\"}}", "\"}"), RESULT, vec![
            result("RESULT17"),
            field(&["cache17"], "BAR17").listed_as(&["tool_use", "provider_details"]).machine(),
        ]),
        calling("result and text", CALL, &RESULT.replace(']', ",{\"type\":\"text\",\"text\":\"BESIDE17\"}]"), vec![
            result("RESULT17"),
            user("BESIDE17"),
        ]),
        block("picture", &image("{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}"), vec![
            picture("iVBORw0KGgo="),
        ]),
        case("picture of a person", TALK.replacen(
            "\"QUESTION17\"",
            &format!("[{{\"type\":\"text\",\"text\":\"QUESTION17\"}},{}]", image("{\"type\":\"url\",\"url\":\"https://example.com/17.png\"}")),
            1,
        ), {
            let mut marks = talk_marks();
            marks.push(picture("https://example.com/17.png"));
            marks
        }),
        case("document of a person", TALK.replacen(
            "\"QUESTION17\"",
            "[{\"type\":\"text\",\"text\":\"QUESTION17\"},{\"type\":\"document\",\"title\":\"TITLE17\",\"source\":\
             {\"type\":\"base64\",\"media_type\":\"application/pdf\",\"data\":\"JVBERi0x\"}}]",
            1,
        ), {
            let mut marks = talk_marks();
            marks.push(text("document", "JVBERi0x"));
            marks.push(field(&["title"], "TITLE17").listed_as(&["document", "provider_details"]));
            marks
        }),
        case("lone surrogate", TALK.replacen("QUESTION17", "QUESTION17 \\ud83d SPLIT17", 1), {
            let mut marks = talk_marks();
            marks.push(user("SPLIT17"));
            marks.push(spelled(&["surrogate", "text"], "\\ud83d"));
            marks
        }),
    ]
}

fn records() -> Vec<Case> {
    [first_records(), more_records(), further_records()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_records() -> Vec<Case> {
    vec![
        record(
            "system",
            "system",
            ",\"content\":\"SYSTEM17\"",
            vec![text("system", "SYSTEM17")],
        ),
        record(
            "summary",
            "summary",
            ",\"text\":\"SUMMARY17\",\"from\":\"q17\",\"to\":\"a17\",\"count\":917",
            vec![
                text("summary", "SUMMARY17"),
                spelling(&["from", "to"]),
                field(&["count"], "917")
                    .machine()
                    .part_of("summary")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
        record(
            "boundary",
            "compact_boundary",
            ",\"trigger\":\"manual\",\"tokens_before\":1717",
            vec![
                field(&["trigger"], "manual")
                    .listed_as(&["compact_boundary", "other_records"])
                    .machine(),
                field(&["tokens_before"], "1717")
                    .listed_as(&["compact_boundary", "other_records"])
                    .machine(),
            ],
        ),
        record(
            "attachment",
            "attachment",
            ",\"kind\":\"reminder\",\"content\":\"ATTACHED17\",\"data\":{\"deep\":\"DATA17\"}",
            vec![
                text("attachment", "ATTACHED17"),
                field(&["kind"], "reminder")
                    .listed_as(&["attachment"])
                    .machine(),
                field(&["deep"], "DATA17")
                    .listed_as(&["attachment", "data", "provider_details"])
                    .machine(),
            ],
        ),
        record(
            "attachment without a text",
            "attachment",
            ",\"kind\":\"odd17\",\"data\":{\"deep\":\"DATA17\"}",
            vec![
                field(&["kind"], "odd17").listed_as(&["attachment", "data", "other_records"]),
                field(&["deep"], "DATA17").listed_as(&["attachment", "data", "other_records"]),
            ],
        ),
    ]
}

fn more_records() -> Vec<Case> {
    vec![
        record(
            "notification",
            "notification",
            ",\"kind\":\"task17\",\"content\":\"NOTIFIED17\"",
            vec![
                text("notification", "NOTIFIED17"),
                field(&["kind"], "task17")
                    .listed_as(&["notification"])
                    .machine(),
            ],
        ),
        record(
            "tombstone",
            "tombstone",
            ",\"target\":\"a17\"",
            vec![field(&["target"], "a17").listed_as(&["tombstone", "other_records", "message"])],
        ),
        record(
            "edited text",
            "revision",
            ",\"target\":\"a17\",\"content\":\"EDITED17\"",
            vec![assistant("EDITED17").or_in("revision")],
        ),
        record(
            "hidden later",
            "revision",
            ",\"target\":\"q17\",\"target_history\":\"exclude\"",
            vec![
                field(&["history", "hidden", "target_history"], "exclude")
                    .or("none")
                    .or("true")
                    .listed_as(&["message"]),
            ],
        ),
        record(
            "title",
            "state",
            ",\"state\":{\"title\":\"TITLE17\"}",
            vec![text("title", "TITLE17").listed_as(&["state", "other_records"])],
        ),
        record(
            "unknown state",
            "state",
            ",\"state\":{\"mood\":\"BAR17\"}",
            vec![field(&["mood"], "BAR17").listed_as(&["state", "other_records"])],
        ),
        record(
            "progress",
            "progress",
            ",\"content\":\"PROGRESS17\",\"tool_use_id\":\"call17\"",
            vec![
                text("progress", "PROGRESS17").listed_as(&["left_out", "other_records"]),
                field(&["tool_use_id"], "call17")
                    .listed_as(&["left_out", "other_records"])
                    .part_of("progress"),
            ],
        ),
    ]
}

fn further_records() -> Vec<Case> {
    vec![
        record(
            "unknown record",
            "odd17",
            ",\"value\":\"ODD17\"",
            vec![
                field(&["value"], "ODD17").listed_as(&["odd17", "other_records"]),
                field(&["type"], "odd17").listed_as(&["odd17", "other_records"]),
            ],
        ),
        record(
            "single call",
            "tool_use",
            ",\"block\":{\"type\":\"tool_use\",\"id\":\"call17\",\"name\":\"tool17\",\"input\":{\"city\":\"Paris17\"}}",
            vec![call("tool17"), call("Paris17"), call_id()],
        ),
    ]
}

fn damage() -> Vec<Case> {
    let with = |mark: Mark| {
        let mut marks = talk_marks();
        marks.push(mark);
        marks
    };
    vec![
        case(
            "torn line",
            format!("{TALK}{{\"v\":1,\"type\":\"user\",\"content\":\"TORN17"),
            with(text("raw", "TORN17").listed_as(&["torn-line"])),
        ),
        case(
            "line that is no JSON",
            format!("{TALK}JUNK17 junk\n"),
            with(text("raw", "JUNK17").listed_as(&["unreadable-line"])),
        ),
        case(
            "wrong checksum",
            format!(
                "{}\n",
                TALK.trim_end().trim_end_matches('}').to_string() + ",\"crc\":\"00000017\"}"
            ),
            with(spelled(&["crc"], "00000017").listed_as(&["wrong-crc"])),
        ),
        case("byte-order mark", format!("\u{feff}{TALK}"), talk_marks()),
        case("CRLF", TALK.replace('\n', "\r\n"), talk_marks()),
        case("empty lines", TALK.replace('\n', "\n\n"), talk_marks()),
        case(
            "NUL",
            TALK.replacen("QUESTION17", "QUESTION17\\u0000END17", 1),
            with(user("QUESTION17\0END17")),
        ),
        case(
            "another version",
            format!(
                "{TALK}{}",
                "{\"v\":917,\"type\":\"user\",\"id\":\"r17\",\"session_id\":\"s17\",\"content\":\"FUTURE17\"}\n"
            ),
            with(spelled(&["message"], "FUTURE17").listed_as(&[
                "user",
                "other_records",
                "unknown-version",
            ])),
        ),
    ]
}
