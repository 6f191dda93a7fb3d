//! Every core type survives JSON and back, with any content.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::*;

/// JSON values that `serde_json::Value` would change or refuse.
const ODD: [&str; 8] = [
    "123456789012345678901234567890",
    "1e400",
    "-0.0",
    r#""\ud83d""#,
    r#"{"a":1,"a":2,"\ud800":3}"#,
    r#"["\u2028"," "]"#,
    "1.10",
    "null",
];

#[track_caller]
fn check_message(json: &str) -> Message {
    let message = Message::from_json(json).unwrap();
    let again = Message::from_json(&message.to_json()).unwrap();
    assert_eq!(again, message, "{json}");
    let by_serde: Message = serde_json::from_str(json).unwrap();
    assert_eq!(by_serde, message);
    assert_eq!(serde_json::to_string(&message).unwrap(), message.to_json());
    message
}

#[test]
fn names_are_read_however_they_are_spelled() {
    let json =
        r#"{"type":"user","id":"\u0061\"b","parent_id":"","session_id":"\u00fc","content":"x"}"#;
    let message = check_message(json);
    assert_eq!((&*message.id, &*message.session_id), ("a\"b", "ü"));
    assert_eq!(message.parent_id.as_deref(), Some(""));
    let json = r#"{"type":"user","id":7,"session_id":"\ud800","content":"x"}"#;
    let message = check_message(json);
    assert!(message.id.is_empty() && message.session_id.is_empty());
    assert!(message.to_json().contains(r#""\ud800""#));
}

#[test]
fn a_map_is_built_and_changed_entry_by_entry() {
    let list = Raw::array(&[
        1_u64.into(),
        true.into(),
        Raw::string("学"),
        (-2_i64).into(),
    ]);
    let mut map = RawMap::from([("type", Raw::string("a")), ("list", list)]);
    assert_eq!(
        map.to_raw().as_str(),
        r#"{"type":"a","list":[1,true,"学",-2]}"#
    );
    assert_eq!(map.to_raw().kind().as_deref(), Some("a"));
    assert_eq!(Raw::array(&[]).as_str(), "[]");
    let more = RawMap::parse(r#"{"b":1,"c":2,"\u0062":3,"b":4}"#).unwrap();
    map.extend(more.iter().filter(|(key, _)| key.as_str() != "\"c\""));
    map.set("b", true.into());
    map.set("new", Raw::empty_object());
    map.remove("list");
    assert_eq!(map.to_raw().as_str(), r#"{"type":"a","b":true,"new":{}}"#);
    assert_eq!(
        (map.string("type").as_deref(), map.string("b")),
        (Some("a"), None)
    );
    let again: RawMap = map.iter().collect();
    assert_eq!(again, map);
    let named: RawMap = [("x".to_string(), Raw::from(7_u64))].into_iter().collect();
    assert_eq!(named.to_raw().as_str(), r#"{"x":7}"#);
}

#[test]
fn a_map_that_was_emptied_is_like_one_that_never_held_anything() {
    let mut map = RawMap::parse(r#"{"a":1,"a":2}"#).unwrap();
    assert_eq!(map.remove("a").unwrap().as_str(), "2");
    assert_eq!(map, RawMap::new());
    assert_eq!(map, RawMap::parse("{}").unwrap());
    let hash = |map: &RawMap| BuildHasherDefault::<DefaultHasher>::default().hash_one(map);
    assert_eq!(hash(&map), hash(&RawMap::new()));
}

/// A long conversation has many messages, so a field that most of them lack takes little room.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_message_is_small() {
    assert!(size_of::<Message>() <= 384, "{}", size_of::<Message>());
    assert!(size_of::<Block>() <= 80, "{}", size_of::<Block>());
}

#[test]
fn odd_values_survive_wherever_they_stand() {
    for odd in ODD {
        for name in [
            "future",
            "model",
            "usage",
            "cost_usd",
            "created_at",
            "extra",
            "parent_id",
        ] {
            let json = format!(r#"{{"v":1,"type":"user","id":"a","content":"x","{name}":{odd}}}"#);
            let message = check_message(&json);
            assert!(
                message.to_json().contains(odd) || name == "cost_usd",
                "{name} {odd}"
            );
        }
        for block in [
            format!(r#"{{"type":"tool_use","id":"t","name":"n","input":{odd}}}"#),
            format!(r#"{{"type":"text","text":"x","cache_control":{odd}}}"#),
            format!(r#"{{"type":"thinking","thinking":"x","signature":{odd}}}"#),
            format!(r#"{{"type":"server_tool_use","query":{odd}}}"#),
            format!(r#"{{"type":"text","text":{odd}}}"#),
            format!(r#"{{"type":"tool_result","tool_use_id":"t","content":{odd}}}"#),
        ] {
            let json = format!(r#"{{"type":"assistant","id":"a","content":[{block}]}}"#);
            assert!(check_message(&json).to_json().contains(odd), "{block}");
        }
    }
}

#[test]
fn a_lone_surrogate_is_kept_reported_and_shown() {
    let json = r#"{"type":"user","id":"a","content":"x\ud83dy\\ud83d \ud83d\ude00 \ude00"}"#;
    let raw = Raw::parse(json).unwrap();
    let mut problems = Vec::new();
    let message = Message::read(&raw, &mut problems).unwrap();
    assert_eq!(message.text(), "x\u{fffd}y\\ud83d \u{1f600} \u{fffd}");
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, "lone-surrogate");
    assert!(
        message
            .to_json()
            .contains(r#""x\ud83dy\\ud83d \ud83d\ude00 \ude00""#)
    );
}

#[test]
fn halves_of_a_surrogate_pair_meet() {
    let mut text = Text::from_json(r#""a\ud83d""#).unwrap();
    text.push(&Text::from_json(r#""\ude00b""#).unwrap());
    assert_eq!(text, Text::Plain("a\u{1f600}b".into()));
}

#[test]
fn repeated_keys_keep_all_values_and_the_last_counts() {
    let json = r#"{"model":"first","type":"user","id":"a","model":"last","\u006dodel":"spelled"}"#;
    let message = check_message(json);
    assert_eq!(message.model.as_deref(), Some("spelled"));
    assert_eq!(message.unknown.len(), 2);
}

#[test]
fn deep_nesting_neither_overflows_nor_gets_lost() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for json in [
        format!(r#"{{"type":"user","id":"a","content":"x","extra":{{"deep":{deep}}}}}"#),
        format!(r#"{{"type":"user","id":"a","content":{deep}}}"#),
        format!(r#"{{"type":"user","id":"a","content":[{deep}]}}"#),
        format!(r#"{{"type":{deep},"id":"a"}}"#),
    ] {
        assert!(check_message(&json).to_json().contains(&deep));
    }
    let result = r#"{"type":"tool_result","tool_use_id":"t","content":["#;
    let nested = format!("{}{}", result.repeat(100_000), "]}".repeat(100_000));
    check_message(&format!(
        r#"{{"type":"user","id":"a","content":[{nested}]}}"#
    ));
}

#[test]
fn a_newer_version_and_an_unknown_type_survive() {
    for json in [
        r#"{"v":2,"type":"user","id":"a","content":{"new":"shape"}}"#,
        r#"{"v":1,"type":"hologram","id":"a","parent_id":"b","light":[1,2]}"#,
        r#"{"type":7,"id":"a"}"#,
        r#"{"type":"","id":"a"}"#,
        r#"{}"#,
        r#"{"type":"tombstone","id":"a"}"#,
    ] {
        let message = check_message(json);
        assert!(matches!(message.body, Body::Other(_)), "{json}");
        let rest = message.to_json();
        for piece in [r#"{"new":"shape"}"#, r#""light":[1,2]"#, r#""v":2"#] {
            assert_eq!(json.contains(piece), rest.contains(piece), "{rest}");
        }
    }
}

#[test]
fn a_message_fits_on_one_line() {
    let pretty = "{\n \"type\": \"user\",\r\n \"id\": \"a\", \"extra\": {\n\"k\":\n[1,\n2]}}";
    let json = check_message(pretty).to_json();
    assert!(!json.contains(['\n', '\r', '\u{2028}']), "{json}");
}

#[test]
fn what_is_not_an_object_is_an_error_that_says_so() {
    for (text, expected) in [
        ("[1]", "not a JSON object"),
        ("{\"a\":", "not JSON"),
        ("", "not JSON"),
    ] {
        let error = Message::from_json(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn the_documented_shape_is_the_written_shape() {
    let json = concat!(
        r#"{"v":1,"type":"assistant","id":"0197","parent_id":"0196","session_id":"s","#,
        r#""created_at":"2026-11-15T18:17:00.123456789Z","content":[{"type":"text","#,
        r#""text":"Hello"},{"type":"tool_use","id":"toolu_1","name":"weather","#,
        r#""input":{"city":"Paris"}}],"stop_reason":"tool_use","model":"m","#,
        r#""usage":{"input_tokens":12,"output_tokens":9},"cost_usd":0.00017,"#,
        r#""duration_ms":812,"response_id":"msg_1","extra":{"requestId":"req_1"}}"#,
    );
    assert_eq!(check_message(json).to_json(), json);
}

proptest! {
    #[test]
    fn messages_round_trip(message in generate::message()) {
        let json = message.to_json();
        prop_assert_eq!(Message::from_json(&json).unwrap(), message);
        // And the JSON is a fixed point.
        prop_assert_eq!(Message::from_json(&json).unwrap().to_json(), json);
    }

    #[test]
    fn any_json_object_round_trips(json in generate::object_of_known_names()) {
        let message = Message::from_json(&json).unwrap();
        let again = Message::from_json(&message.to_json()).unwrap();
        prop_assert_eq!(&again, &message);
        prop_assert_eq!(again.to_json(), message.to_json());
    }

    #[test]
    fn raw_is_equal_by_bytes(json in generate::json()) {
        let raw = Raw::parse(&json).unwrap();
        prop_assert_eq!(raw.as_str(), &json);
        let by_serde: Raw = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&by_serde, &raw);
        prop_assert_eq!(serde_json::to_string(&raw).unwrap(), json);
    }

    #[test]
    fn the_other_core_types_round_trip(
        request in generate::request(),
        events in proptest::collection::vec(generate::event(), 0..8),
        usage in generate::usage(),
    ) {
        let json = serde_json::to_string(&request).unwrap();
        prop_assert_eq!(serde_json::from_str::<Request>(&json).unwrap(), request);
        let json = serde_json::to_string(&events).unwrap();
        prop_assert_eq!(serde_json::from_str::<Vec<StreamEvent>>(&json).unwrap(), events);
        prop_assert_eq!(TokenUsage::from_json(&usage.to_json()).unwrap(), usage);
    }
}

#[test]
fn plain_data_types_round_trip() {
    #[track_caller]
    fn check<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
        value: T,
    ) {
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
    }
    let lines = LineIndex::new(b"a\nb");
    check(Span::new(3, 5));
    check(Agent {
        system_prompt: Some("p".into()),
        ..Agent::of_model("a", "m")
    });
    check(ModelFacts {
        tools: Some(true),
        ..ModelFacts::default()
    });
    check(ApiError {
        status: Some(429),
        ..ApiError::new(ApiErrorKind::RateLimit, "slow")
    });
    for word in ["end_turn", "tool_use", "something new", ""] {
        check(StopReason::from(word));
        check(AttachmentKind::from(word));
    }
    assert_eq!(lines.position(2), (2, 1));
}
