//! The envelope of a record gives the same link as the whole record.

use analects_core::{Json, Link, Message};
use analects_testkit::values as generate;
use proptest::prelude::*;

use crate::transcript::{Envelope, OwnedLink};

/// Whether the head of a record gives the link of the record.
fn agrees(text: &str) -> Result<(), TestCaseError> {
    let message = Message::from_json(text).ok();
    let envelope = Envelope::read(text);
    prop_assert_eq!(message.is_some(), envelope.is_some());
    if let (Some(message), Some(envelope)) = (message, envelope)
        && !envelope.needs_body()
    {
        let has_all = ["tool_use", "tool_result", "attachment", "notification"];
        let lacks = message.body.type_name();
        let is_other = matches!(message.body, analects_core::Body::Other(_));
        // Only of these the head cannot tell whether they lack something; they follow somebody.
        prop_assume!(!(is_other && has_all.contains(&lacks)));
        let names = envelope.link();
        prop_assert_eq!(&names, &OwnedLink::of(&Link::of(&message)));
        prop_assert_eq!(names.link(), Link::of(&message));
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_message_has_the_same_link(message in generate::message()) {
        agrees(&message.to_json())?;
    }

    #[test]
    fn any_object_has_the_same_link(text in generate::object_of_known_names()) {
        agrees(&text)?;
    }
}

#[test]
fn odd_envelopes() {
    for text in [
        "{}",
        "[]",
        "{\"id\":\"a\"",
        r#"{"id":"a","id":"b","type":"user"}"#,
        r#"{"\u0069d":"a","type":"us\u0065r"}"#,
        r#"{"id":"\ud83d","parent_id":7,"type":"tombstone","target":"x"}"#,
        r#"{"v":2,"id":"a","type":"tombstone","target":"x"}"#,
        r#"{"type":"state","state":[]}"#,
        r#"{"type":"state","state":{}, "snapshot":true}"#,
        r#"{"type":"summary","text":7}"#,
        r#"{"id":"a"} {"id":"b"}"#,
    ] {
        agrees(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let deep = format!(
        r#"{{"id":"a","x":{}1{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(
        Envelope::read(&deep).unwrap().string("id").as_deref(),
        Some("a")
    );
}
