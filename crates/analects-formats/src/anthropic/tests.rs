//! Requests, read and written.

use analects_core::{Body, Message};

use crate::openai::tests::{read, write};

const REQUEST: &str = "{\"model\":\"claude\",\"max_tokens\":9,\"system\":\"Be brief.\",\"messages\":[\n\
    {\"role\":\"user\",\"content\":\"Hello\"},\n\
    {\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}\n]}\n";

#[test]
fn a_request_comes_back() {
    let messages = read("anthropic", REQUEST);
    assert!(matches!(messages[0].body, Body::State(_)));
    assert!(matches!(messages[1].body, Body::System(_)));
    let (text, lost) = write("anthropic", "x.json", &messages);
    assert_eq!((text.as_str(), lost), (REQUEST, vec![]));
}

#[test]
fn a_system_prompt_that_is_not_the_first_becomes_a_message_of_the_user() {
    let request = r#"[{"role":"user","content":"Hello"},{"role":"system","content":"Be brief."}]"#;
    let (text, lost) = write("anthropic", "x.jsonl", &read("openai", request)[1..]);
    assert_eq!(
        text,
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hello\"},\
         {\"type\":\"text\",\"text\":\"Be brief.\"}]}]}\n"
    );
    let joined = "grouping: roles take turns, so messages of one role become one".to_string();
    assert!(lost.contains(&joined), "{lost:?}");
    assert!(
        lost.contains(&"type system: it becomes a message of type user".to_string()),
        "{lost:?}"
    );
    // Where a file has one there, it stays.
    let (text, lost) = write("anthropic", "x.json", &read("anthropic", request));
    assert!(text.contains("\"role\":\"system\""), "{text}");
    assert_eq!(lost, Vec::<String>::new());
}

#[test]
fn a_record_of_another_kind_is_left_out_by_name() {
    let summary = analects_core::Summary {
        text: "We talked.".into(),
        ..analects_core::Summary::default()
    };
    let summary = Message::new("m1", Body::Summary(summary));
    let state = Message::new("m2", Body::Other(analects_core::Other::default()));
    let (_, lost) = write("anthropic", "x.json", &[summary, state]);
    assert!(
        lost.contains(&"type summary: it becomes a message of type user".to_string()),
        "{lost:?}"
    );
    let left = "message: there is no place for such a message; it is left out".to_string();
    assert!(lost.contains(&left), "{lost:?}");
}
