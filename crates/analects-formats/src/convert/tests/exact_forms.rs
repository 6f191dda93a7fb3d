//! Times, numbers and ids come back as their source spells them, also by way of a message file.

use analects_core::Json;

use super::*;

/// Records whose values can be spelled in several ways.
const RECORDS: [&str; 22] = [
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":1e-09}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":1.50}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":1.0}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":0}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":-0.0}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":0.123456789012345678901234567890}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","cost_usd":1E+5}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02T03:04:05.120Z","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02T03:04:05.000Z","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02T03:04:05.123456789Z","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02T03:04:05+05:30","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02T03:04:05+00:00","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02 03:04:05z","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2026-01-02T03:04:05+01:00[Europe/Berlin]","content":"x"}"#,
    r#"{"v":1,"type":"user","id":"a","created_at":"2016-12-31T23:59:60Z","content":"x"}"#,
    r#"{"created_at":1767323045.120,"v":1,"type":"user","id":"a","content":"x"}"#,
    r#"{"duration_ms":1e3,"v":1,"type":"user","id":"a","content":"x"}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","usage":{"input_tokens":1.0,"output_tokens":2}}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":"x","extra":{"n":1e-09,"m":[1.0,1e400]}}"#,
    r#"{"v":1,"type":"user","id":"a","parent_id":"","content":"x"}"#,
    r#"{"v":1,"type":"assistant","id":"a","content":[{"type":"tool_use","id":"","name":"f","input":1.0}]}"#,
    r#"{"v":1,"type":"summary","id":"a","text":"x","count":123456789}"#,
];

/// The record with a session, which all messages of a file have.
fn in_session(record: &str) -> String {
    record.replacen(r#""id":"a""#, r#""id":"a","session_id":"s""#, 1)
}

/// The fields of each line, in any order, without the checksum.
fn fields(lines: &[u8]) -> Vec<Vec<(String, String)>> {
    let lines = std::str::from_utf8(lines).unwrap().lines();
    let fields_of = |line: &str| {
        let mut map = analects_core::RawMap::parse(line).unwrap();
        map.remove("crc");
        let mut fields: Vec<_> = map
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        fields.sort();
        fields
    };
    lines.map(fields_of).collect()
}

#[test]
fn times_numbers_and_ids_keep_their_spelling() {
    let transcript = format_by_id("transcript").unwrap();
    let file = format_by_id("msgfile").unwrap();
    for record in RECORDS.map(in_session) {
        let said = read(transcript, record.as_bytes()).messages;
        let copied = write(transcript, &said).bytes;
        assert_eq!(fields(&copied), fields(record.as_bytes()), "{record}");
        let text = write(file, &said).bytes;
        let kept = read(file, &text).messages;
        let back = write(transcript, &kept).bytes;
        let text = String::from_utf8_lossy(&text);
        assert_eq!(fields(&back), fields(record.as_bytes()), "{text}");
    }
}

#[test]
fn an_odd_spelling_does_not_turn_a_cell_into_json() {
    let record = in_session(RECORDS[7]);
    let said = read(format_by_id("transcript").unwrap(), record.as_bytes()).messages;
    let text = write(format_by_id("msgfile").unwrap(), &said).bytes;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\n\nx\n"), "{text}");
    assert!(!text.contains("json=message"), "{text}");
}

#[test]
fn a_time_that_a_person_changed_is_not_spelled_as_before() {
    let record = in_session(RECORDS[7]);
    let said = read(format_by_id("transcript").unwrap(), record.as_bytes()).messages;
    let file = format_by_id("msgfile").unwrap();
    let text = String::from_utf8(write(file, &said).bytes).unwrap();
    let edited = text.replace(
        "time=\"2026-01-02T03:04:05.12Z\"",
        "time=\"2027-01-02T03:04:05Z\"",
    );
    assert_ne!(edited, text);
    let message = read(file, edited.as_bytes()).messages.remove(0);
    assert_eq!(
        message.created_at.unwrap().to_string(),
        "2027-01-02T03:04:05Z"
    );
    assert!(message.to_json().contains("\"2027-01-02T03:04:05Z\""));
}

#[test]
fn messages_without_ids_stay_without() {
    let lines = "{\"v\":1,\"type\":\"user\",\"id\":\"\",\"session_id\":\"s\",\"content\":\"x\"}\n\
        {\"v\":1,\"type\":\"assistant\",\"session_id\":\"s\",\"content\":\"y\"}\n";
    let transcript = format_by_id("transcript").unwrap();
    let file = format_by_id("msgfile").unwrap();
    let said = read(transcript, lines.as_bytes()).messages;
    let kept = read(file, &write(file, &said).bytes).messages;
    let back = write(transcript, &kept).bytes;
    assert_eq!(fields(&back), fields(lines.as_bytes()));
}
