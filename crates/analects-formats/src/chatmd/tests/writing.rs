//! Exact outputs, byte by byte.

use super::*;

fn talk() -> Vec<Message> {
    read(
        "> ---\n> <SYSTEM />\n\nBe brief.\n\n> ---\n> <USER author=\"me\" timestamp=\"2025-05-07 14:01:32\" />\n\nLook:\n\n<img src=\"https://example.com/a.png\">\n\n> ---\n> <SEPERATOR />\n\n> ---\n> <ASSISTANT author=\"gpt\" prompt=\"3\" completion=\"5\" />\n\nHi\n",
    )
}

#[test]
fn the_full_dialect_writes_everything() {
    let session = ChatSessionInfo {
        title: Some("A: talk".into()),
        timestamp: Some("2025-05-07T14:00:00.5Z".parse().unwrap()),
        tags: vec!["a b".into(), "论语".into()],
        preamble: Some("Notes.".into()),
        ..ChatSessionInfo::default()
    };
    let (text, losses) = encode(&talk(), &session, Dialect::Ours);
    assert_eq!(losses, vec![]);
    assert_eq!(
        text,
        "---\nchat: s\ntitle: \"A: talk\"\ntimestamp: \"2025-05-07T14:00:00.5Z\"\ntags: [\"a b\", \"论语\"]\n---\n\nNotes.\n\n> ---\n> <SYSTEM />\n\nBe brief.\n\n> ---\n> <USER author=\"me\" timestamp=\"2025-05-07T14:01:32Z\" />\n\nLook:\n\n<div style=\"display: flex; flex-direction: column; gap: 10px;\">\n<img style=\"max-width: 100%; display: inline-block;\" src=\"https://example.com/a.png\" />\n</div>\n\n> ---\n> <SEPERATOR />\n\n> ---\n> <ASSISTANT author=\"gpt\" prompt=\"3\" completion=\"5\" />\n\nHi\n"
    );
    let document = decode(text);
    assert_eq!(
        document.session(),
        ChatSessionInfo {
            id: Some("s".into()),
            ..session
        }
    );
}

#[test]
fn the_plugins_dialects_are_written_as_the_plugin_does() {
    let zone = TimeZone::fixed(Offset::constant(8));
    let (one, losses) = encode_in(&talk(), &ChatSessionInfo::default(), Dialect::V1, &zone);
    assert!(
        one.contains("> ---\n> <USER author=\"me\" timestamp=\"2025-05-07 22:01:32\"/>\n\nLook:\n")
    );
    assert!(one.contains("> ---\n> <SEPERATOR />\n"), "{one}");
    let lost: Vec<&str> = losses.iter().map(|loss| &*loss.what).collect();
    assert_eq!(lost, ["usage", "session_id"]);
    let (two, _) = encode_in(&talk(), &ChatSessionInfo::default(), Dialect::V2, &zone);
    assert!(two.contains(
        "> ---\n>\n> <USER author=\"me\" timestamp=\"2025-05-07 22:01:32\"/>\n\nLook:\n"
    ));
    assert!(two.contains("> ---\n> <SEPERATOR />\n"), "{two}");
}

#[test]
fn a_line_that_would_start_an_item_is_escaped() {
    let text = "> ---\n> <USER />\n\\> -----\n>\n> <x>\n> ---\n> text";
    let (file, losses) = encode(
        &[Message::user("a", text)],
        &ChatSessionInfo::default(),
        Dialect::Ours,
    );
    assert_eq!(losses, vec![]);
    assert!(
        file.ends_with("\n\\> ---\n> <USER />\n\\\\> -----\n>\n> <x>\n> ---\n> text\n"),
        "{file}"
    );
    assert_eq!(
        messages(&decode(file), &SessionId::default()).messages[0].text(),
        text
    );
}

#[test]
fn a_line_that_would_be_a_picture_is_escaped() {
    let text = "<img src=\"a\">\n\\<img src=\"a\">\n```\n<img src=\"a\">\n```";
    let message = Message::user("a", text);
    let (file, _) = encode(
        std::slice::from_ref(&message),
        &ChatSessionInfo::default(),
        Dialect::Ours,
    );
    assert!(
        file.contains("\n\\<img src=\"a\">\n\\\\<img src=\"a\">\n```\n<img src=\"a\">\n```\n"),
        "{file}"
    );
    assert_eq!(
        messages(&decode(file), &SessionId::default()).messages,
        [message]
    );
}

#[test]
fn blank_lines_around_a_text_are_kept() {
    for text in [
        "\n",
        "\n\na\n",
        " ",
        "a\n\n",
        "\r",
        "a\r",
        "\t\n",
        "```\nopen",
        "\n```\n\n",
    ] {
        let message = Message::user("a", text);
        let (file, losses) = encode(
            std::slice::from_ref(&message),
            &ChatSessionInfo::default(),
            Dialect::Ours,
        );
        assert_eq!(losses, vec![]);
        assert_eq!(
            messages(&decode(file), &SessionId::default()).messages,
            [message],
            "{text:?}"
        );
    }
}

#[test]
fn preambles_are_kept_to_the_byte() {
    for preamble in [
        "a",
        "a\n",
        "\n",
        "\n\na\n\n",
        "a\r",
        "a\r\n",
        "\u{feff}a",
        "---\nchat: x\n---\n",
        "```\nopen",
        "> ---\n> <USER />\n",
        "\\> ---\n> <USER />",
        " ",
    ] {
        for messages in [vec![], vec![Message::user("a", "```\nx\n```")]] {
            for title in [None, Some("t".to_string())] {
                let preamble = Some(preamble.to_string());
                let session = ChatSessionInfo {
                    title,
                    preamble,
                    ..ChatSessionInfo::default()
                };
                let (file, losses) = encode(&messages, &session, Dialect::Ours);
                assert_eq!(losses, vec![]);
                let document = decode(file.as_str());
                assert_eq!(document.session(), session, "{file:?}");
                let found = super::messages(&document, &SessionId::default()).messages;
                assert_eq!(found, messages, "{file:?}");
            }
        }
    }
}

#[test]
fn an_attribute_called_text_keeps_its_place() {
    for tag in [
        "<NOTE a=\"1\" text=\"x\" />",
        "<SEPERATOR a=\"1\" text=\"x\" />",
    ] {
        let read = messages(&decode(format!("> ---\n> {tag}\n")), &"s".into()).messages;
        let (text, losses) = encode(&read, &ChatSessionInfo::default(), Dialect::Ours);
        assert_eq!(losses, [], "{text}");
        assert_eq!(messages(&decode(text), &"s".into()).messages, read, "{tag}");
    }
}

#[test]
fn an_empty_conversation_is_an_empty_file() {
    for dialect in [Dialect::Ours, Dialect::V1, Dialect::V2] {
        assert_eq!(
            encode(&[], &ChatSessionInfo::default(), dialect),
            (String::new(), vec![])
        );
    }
    let session = ChatSessionInfo {
        title: Some("t".into()),
        ..ChatSessionInfo::default()
    };
    assert_eq!(
        encode(&[], &session, Dialect::Ours).0,
        "---\nchat:\ntitle: t\n---\n"
    );
}

proptest! {
    #[test]
    fn any_session_comes_back(
        id in proptest::option::of(generate::text()),
        title in proptest::option::of(generate::text()),
        tags in proptest::collection::vec(generate::text(), 0..3),
        preamble in proptest::option::of(generate::text()),
        extra in analects_testkit::values::raw_map(),
    ) {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let session = ChatSessionInfo {
            id: some(id), title, tags, preamble: some(preamble), extra, ..ChatSessionInfo::default()
        };
        let (file, losses) = encode(&[], &session, Dialect::Ours);
        let read = decode(file.as_str()).session();
        // JSON may be spelled with other blanks; what differs in more is reported.
        let extra = |session: &ChatSessionInfo| session.extra.len();
        prop_assert_eq!(extra(&read) + losses.len(), extra(&session), "{:?}", losses);
        let (read, session) = (without_extra(read), without_extra(session));
        prop_assert_eq!(read, session, "{}", file);
    }
}

fn without_extra(session: ChatSessionInfo) -> ChatSessionInfo {
    ChatSessionInfo {
        extra: Default::default(),
        ..session
    }
}
