//! A conversation that is written and read back is the same, apart from the listed losses.

use analects_core::{
    Assistant, CompactBoundary, CompactTrigger, Image, RawMap, Source, StopReason,
};
use analects_core::{System, ToolResult, User};
use analects_testkit::values::message;
use proptest::collection::vec;
use proptest::option::of;
use proptest::sample::select;

use super::reduce::{ChatTarget, reduce};
use super::*;

fn zone() -> TimeZone {
    TimeZone::fixed(Offset::constant(8))
}

/// Writes, reads back, and compares with what was said to be left.
#[track_caller]
fn check(conversation: &[Message], dialect: Dialect) -> (String, Vec<crate::Loss>) {
    let zone = zone();
    let session = ChatSessionInfo::default();
    let (text, losses) = encode_in(conversation, &session, dialect, &zone);
    let id = conversation
        .first()
        .map(|first| first.session_id.clone())
        .unwrap_or_default();
    let expected = reduce(conversation, &id, &ChatTarget::of(dialect, &zone)).messages;
    let document = decode(text.as_str());
    let read = messages_in(&document, &id, &zone);
    assert_eq!(read.messages, expected, "{text}");
    if dialect == Dialect::Ours {
        assert_eq!(
            losses.is_empty(),
            read.messages == conversation,
            "{losses:#?}"
        );
    } else {
        let same = read.messages == conversation && id.is_empty();
        assert!(!losses.is_empty() || same, "nothing was said to be lost");
    }
    // What was read can be said, and is written as it was.
    let mut session = document.session_in(&zone);
    session.id = session.id.or(Some(id.to_string()));
    let (again, more) = encode_in(&read.messages, &session, dialect, &zone);
    assert_eq!(again, text);
    let lost = more.iter().filter(|loss| loss.message.is_some());
    let lost: Vec<_> = lost
        .filter(|loss| !["system", "place"].contains(&&*loss.what))
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
    (text, losses)
}

/// A conversation: each message follows the one before it.
fn linked(mut messages: Vec<Message>, session: &str) -> Vec<Message> {
    for at in 0..messages.len() {
        messages[at].session_id = session.into();
        messages[at].parent_id = at.checked_sub(1).map(|parent| messages[parent].id.clone());
    }
    messages
}

fn image() -> BoxedStrategy<Block> {
    let source = prop_oneof![
        Just(Source::Base64 {
            media_type: "image/png".into(),
            data: "iVBORw0KGgo=".into()
        }),
        generate::text().prop_map(|text| Source::Url(format!("https://x/{text}"))),
        select(vec!["a.png", "a/b c.jpg", "论.gif"]).prop_map(|path| Source::File(path.into())),
    ];
    (source, of(generate::text()))
        .prop_map(|(source, alt)| {
            let mut extra = RawMap::new();
            if let Some(alt) = alt {
                extra.push("alt", Raw::string(&alt));
            }
            Block::Image(Image {
                source: source.to_raw(),
                extra,
            })
        })
        .boxed()
}

/// Contents that chat Markdown can say in full: any text, or a text and pictures.
fn content() -> BoxedStrategy<Content> {
    let said = "[a-z ]{1,8}";
    let mixed = (said, vec(image(), 1..3), said, vec(image(), 1..2));
    prop_oneof![
        Just(Content::Empty),
        Just(Content::Blocks(Vec::new())),
        generate::text().prop_map(Content::from),
        generate::text().prop_map(|text| Content::Blocks(vec![Block::from_text(text)])),
        vec(image(), 1..3).prop_map(Content::Blocks),
        mixed
            .prop_filter("blank", |(a, _, b, _)| !a.trim().is_empty()
                && !b.trim().is_empty())
            .prop_map(|(a, images, b, more)| {
                let text = |text: String| Block::from_text(text);
                let blocks = [vec![text(a)], images, vec![text(b)], more];
                Content::Blocks(blocks.concat())
            }),
    ]
    .boxed()
}

/// Messages that chat Markdown can say in full.
fn representable_message() -> BoxedStrategy<Message> {
    let body =
        (content(), generate::text(), 0..5_u8).prop_map(|(content, text, kind)| match kind {
            0 => Body::System(System { content }),
            1 => Body::User(User {
                content,
                ..User::default()
            }),
            2 => {
                let stop_reason = Some(StopReason::EndTurn);
                Body::Assistant(Assistant {
                    content,
                    stop_reason,
                })
            }
            3 => Body::ToolResult(ToolResult {
                tool_use_id: text,
                content,
                ..ToolResult::default()
            }),
            _ => Body::CompactBoundary(CompactBoundary {
                trigger: Some(CompactTrigger::Separator),
                ..CompactBoundary::default()
            }),
        });
    let time = (-62_135_596_800_i64..253_402_000_000, 0..1_000_000_000_i32)
        .prop_map(|(second, nano)| jiff::Timestamp::new(second, nano).unwrap_or_default());
    let id = generate::text().prop_filter("empty", |id| !id.is_empty());
    let tokens = (of(any::<u64>()), of(any::<u64>()));
    let extra = vec(
        (
            select(vec!["name", "version", "x-y", "prompt"]),
            generate::text(),
        ),
        0..3,
    );
    (body, id, of(generate::text()), of(time), tokens, extra)
        .prop_map(
            |(body, id, author, created_at, (input_tokens, output_tokens), extra)| {
                let usage = TokenUsage {
                    input_tokens,
                    output_tokens,
                    ..TokenUsage::default()
                };
                let mut message = Message::new(id, body);
                (message.author, message.created_at) = (author, created_at);
                message.usage = (!usage.is_empty()).then(|| Box::new(usage));
                // A count would be read as one.
                let is_count =
                    |key: &str, value: &str| key == "prompt" && value.parse::<u64>().is_ok();
                for (key, value) in extra
                    .into_iter()
                    .filter(|(key, value)| !is_count(key, value))
                {
                    message.extra.push(key, Raw::string(&value));
                }
                message
            },
        )
        .boxed()
}

/// A message whose texts are likely to look like parts of this format.
fn hostile() -> BoxedStrategy<Message> {
    (
        message(),
        vec(
            prop_oneof![generate::text().prop_map(Block::from_text), image()],
            0..4,
        ),
    )
        .prop_map(|(mut message, blocks)| {
            match &mut message.body {
                Body::User(body) => body.content = Content::Blocks(blocks),
                Body::Assistant(body) => body.content = Content::Blocks(blocks),
                Body::System(body) => body.content = Content::from(Content::Blocks(blocks).text()),
                _ => {}
            }
            message
        })
        .boxed()
}

fn conversation() -> BoxedStrategy<Vec<Message>> {
    vec(
        prop_oneof![message(), hostile(), representable_message()],
        0..6,
    )
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(512)))]

    #[test]
    fn representable_messages_survive_a_round_trip(
        messages in vec(representable_message(), 0..6),
        session in prop_oneof![Just(String::new()), generate::text()],
    ) {
        let conversation = linked(messages, &session);
        let (_, losses) = check(&conversation, Dialect::Ours);
        prop_assert_eq!(losses, vec![]);
    }

    #[test]
    fn any_conversation_comes_back_apart_from_its_losses(conversation in conversation()) {
        check(&conversation, Dialect::Ours);
        check(&linked(conversation, "s"), Dialect::Ours);
    }

    #[test]
    fn plugin_dialects_lose_only_what_is_listed(conversation in conversation()) {
        check(&conversation, Dialect::V1);
        check(&linked(conversation, "s"), Dialect::V2);
    }
}
