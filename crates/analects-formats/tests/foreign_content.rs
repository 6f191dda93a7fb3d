//! Content of one API that the others do not have stays in sight: on pages, in message files, and in requests for other
//! APIs, where it is said in words or listed. No message becomes empty, and nothing hides what stands beside it.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_core::{CountingIds, Message};
use analects_formats::convert::{ReadOptions, ReadOutput, WriteOptions, WriteOutput, format_by_id};
use analects_formats::msgfile;
use serde_json::Value;

/// Reads a file.
fn read(id: &str, text: &str) -> Vec<Message> {
    let mut out = ReadOutput::default();
    let options = ReadOptions::named("talk.json");
    let mut reader = format_by_id(id).unwrap().reader(&options).unwrap();
    reader.feed(text.as_bytes(), &mut out);
    reader.finish(&mut out);
    out.messages
}

/// Writes a file, and lists what it lacks.
fn written(id: &str, messages: &[Message]) -> (String, Vec<String>) {
    let mut out = WriteOutput::default();
    let options = WriteOptions {
        name: "talk".to_string(),
        ..WriteOptions::default()
    };
    let mut writer = format_by_id(id).unwrap().writer(&options).unwrap();
    for message in messages {
        writer.push(message, &mut out);
    }
    writer.finish(&mut out);
    let losses = out.losses.iter().map(|loss| loss.what.clone());
    (String::from_utf8(out.bytes).unwrap(), losses.collect())
}

/// The other API.
fn other(id: &str) -> &'static str {
    match id {
        "openai" => "anthropic",
        _ => "openai",
    }
}

/// Something that one API says.
struct Case {
    /// The format of the message.
    id: &'static str,
    /// A message of the model or of a tool, which follows a question.
    message: &'static str,
    /// What a page shows of it.
    page: &'static [&'static str],
    /// What a message file shows of it.
    file: &'static [&'static str],
    /// What the request for the other API says of it.
    request: &'static [&'static str],
    /// What that request does not say, by name.
    lost: &'static [&'static str],
}

const CASES: [Case; 14] = [
    Case {
        id: "openai",
        message: r#"{"role":"assistant","content":null,"refusal":"I cannot help with that."}"#,
        page: &["*Refuses:* I cannot help with that."],
        file: &["I cannot help with that."],
        request: &["I cannot help with that."],
        lost: &[],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","content":[{"type":"text","text":"Well."},{"type":"refusal","refusal":"No."}]}"#,
        page: &["Well.", "*Refuses:* No."],
        file: &["Well.", "No."],
        request: &["Well.", "No."],
        lost: &[],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}"#,
        page: &["Calls **weather**", r#"{"city":"Oslo"}"#],
        file: &["weather", "Oslo"],
        request: &["weather", r#""city":"Oslo""#],
        lost: &[],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","reasoning_content":"They want rain.","content":"It rains."}"#,
        page: &["*Thinking:* They want rain.", "It rains."],
        file: &["They want rain.", "It rains."],
        request: &["It rains."],
        lost: &["thinking"],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","reasoning":"They want rain.","content":"It rains."}"#,
        page: &["*Thinking:* They want rain."],
        file: &["They want rain."],
        request: &["It rains."],
        lost: &["thinking"],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","content":null,"tool_calls":[
            {"id":"c1","type":"custom","custom":{"name":"sql","input":"SELECT 1"}},
            {"id":"c2","type":"mystery","mystery":{"name":"oracle"}},
            {"id":"c3","type":"function","function":{"name":"weather","arguments":"{oops"},"mood":"odd"}]}"#,
        page: &[
            "Calls **sql**",
            "SELECT 1",
            "oracle",
            "Calls **weather**",
            "{oops",
        ],
        file: &["sql", "SELECT 1", "oracle", "weather", "{oops"],
        request: &["sql", "SELECT 1", "weather", "{oops"],
        lost: &["block mystery"],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","content":null,"audio":{"id":"a1","data":"UklGRg==","transcript":"La la la"}}"#,
        page: &["*Audio*", "La la la"],
        file: &["La la la"],
        request: &["La la la"],
        lost: &["block audio"],
    },
    Case {
        id: "openai",
        message: r#"{"role":"user","content":[{"type":"text","text":"Listen."},
            {"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},
            {"type":"file","file":{"filename":"tea.pdf","file_data":"data:application/pdf;base64,AAAA"}}]}"#,
        page: &["Listen.", "*Audio (wav)*", "*File: tea.pdf*"],
        file: &["Listen.", "input_audio", "tea.pdf"],
        request: &["Listen."],
        lost: &["block input_audio", "block file"],
    },
    Case {
        id: "openai",
        message: r#"{"role":"assistant","content":{"verdict":"maybe"}}"#,
        page: &["verdict", "maybe"],
        file: &["verdict", "maybe"],
        request: &[],
        lost: &["block content"],
    },
    Case {
        id: "anthropic",
        message: r#"{"role":"assistant","content":[{"type":"text","text":"I look."},
            {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"green tea"}},
            {"type":"web_search_tool_result","tool_use_id":"s1","content":[
            {"type":"web_search_result","title":"All about tea","url":"https://example.org/tea","encrypted_content":"zzz"}]},
            {"type":"tool_use","id":"t1","name":"kettle","input":{}}]}"#,
        page: &[
            "I look.",
            "Calls **web_search**, which the provider runs:",
            "green tea",
            "- [All about tea](<https://example.org/tea>)",
            "Calls **kettle**",
        ],
        file: &[
            "I look.",
            "web_search",
            "green tea",
            "All about tea",
            "kettle",
        ],
        request: &["I look.", "kettle"],
        lost: &["block server_tool_use", "block web_search_tool_result"],
    },
    Case {
        id: "anthropic",
        message: r#"{"role":"assistant","content":[{"type":"text","text":"Tea is green.","citations":[
            {"type":"web_search_result_location","url":"https://example.org/tea","title":"All about tea","cited_text":"green"}]}]}"#,
        page: &[
            "Tea is green.",
            "*Sources:* [All about tea](<https://example.org/tea>)",
        ],
        file: &["Tea is green."],
        request: &["Tea is green."],
        lost: &["citations"],
    },
    Case {
        id: "anthropic",
        message: r#"{"role":"user","content":[
            {"type":"document","title":"Notes","source":{"type":"text","media_type":"text/plain","data":"Boil water."}},
            {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}"#,
        page: &[
            "*Document: Notes*",
            "Boil water.",
            "*Document: application/pdf*",
        ],
        file: &["Boil water.", "application/pdf"],
        request: &["Boil water."],
        lost: &["document"],
    },
    Case {
        id: "anthropic",
        message: r#"{"role":"assistant","content":[{"type":"hologram","shape":"teapot"},{"type":"text","text":"Look."}]}"#,
        page: &["*hologram:*", "teapot", "Look."],
        file: &["hologram", "teapot", "Look."],
        request: &["Look."],
        lost: &["block hologram"],
    },
    Case {
        id: "anthropic",
        message: r#"{"role":"assistant","content":{"verdict":"maybe"}}"#,
        page: &["verdict", "maybe"],
        file: &["verdict", "maybe"],
        request: &[],
        lost: &["block content"],
    },
];

/// A request with a question before the message, and an answer to its calls.
fn request(case: &Case) -> String {
    format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"Tea?"}},{}]}}"#,
        case.message
    )
}

#[test]
fn a_page_shows_it() {
    for case in &CASES {
        let (page, _) = written("markdown", &read(case.id, &request(case)));
        for words in case.page {
            assert!(
                page.contains(words),
                "{words:?} of {}:\n{page}",
                case.message
            );
        }
        assert!(!page.contains("*(empty)*"), "{page}");
    }
}

#[test]
fn a_message_file_shows_it() {
    for case in &CASES {
        let messages = read(case.id, &request(case));
        let file = msgfile::encode(&messages, &mut CountingIds::default());
        let (plain, _) = written("msgfile", &messages);
        for words in case.file {
            assert!(
                plain.contains(words),
                "{words:?} of {}:\n{plain}",
                case.message
            );
        }
        // In full, it gives the same messages again.
        let session = messages[0].session_id.clone();
        let again = msgfile::messages(&msgfile::decode(file), &session).messages;
        assert_eq!(again, messages);
    }
}

#[test]
fn the_request_of_another_api_says_or_lists_it() {
    for case in &CASES {
        let (text, lost) = written(other(case.id), &read(case.id, &request(case)));
        for words in case.request {
            let is_said = text.contains(words) || text.contains(&words.replace('"', "\\\""));
            assert!(is_said, "{words:?} of {}:\n{text}", case.message);
        }
        for name in case.lost {
            assert!(
                lost.iter().any(|what| what == name),
                "{name} of {lost:?}\n{text}"
            );
        }
        let value: Value = serde_json::from_str(&text).unwrap();
        for message in value["messages"].as_array().unwrap() {
            let is_empty = matches!(&message["content"], Value::Null)
                || message["content"].as_array().is_some_and(Vec::is_empty);
            assert!(!is_empty || message["tool_calls"].is_array(), "{text}");
        }
    }
}

#[test]
fn the_same_api_gets_it_back() {
    for case in &CASES {
        let messages = read(case.id, &request(case));
        let (text, lost) = written(case.id, &messages);
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&text), value(&request(case)));
        assert_eq!(lost, Vec::<String>::new(), "{}", case.message);
    }
}

#[test]
fn a_function_and_its_result_from_the_first_year_of_the_api() {
    let first_year = r#"{"messages":[{"role":"user","content":"Rain?"},
        {"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{}"}},
        {"role":"function","name":"weather","content":"Rain."},
        {"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{}"}},
        {"role":"function","name":"weather","content":"Sun."},
        {"role":"assistant","content":"Both."}]}"#;
    let messages = read("openai", first_year);
    assert_eq!(analects_core::chain(&messages).unpaired(), []);
    let (text, lost) = written("anthropic", &messages);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["messages"][1]["content"][0]["name"], "weather");
    assert_eq!(
        value["messages"][1]["content"][0]["id"],
        value["messages"][2]["content"][0]["tool_use_id"]
    );
    assert_eq!(value["messages"][2]["content"][0]["content"], "Rain.");
    assert_eq!(value["messages"][4]["content"][0]["content"], "Sun.");
    assert!(!lost.contains(&"message".to_string()), "{lost:?}");
}

#[test]
fn a_role_that_nobody_knows_is_shown() {
    let odd =
        r#"{"messages":[{"role":"user","content":"Tea?"},{"role":"critic","content":"Too hot."}]}"#;
    let (page, _) = written("markdown", &read("openai", odd));
    assert!(
        page.contains("critic") && page.contains("Too hot."),
        "{page}"
    );
}
