//! Arbitrary values of the core types, odd JSON included, for property tests here and in other
//! crates.
#![allow(missing_docs)]

use proptest::collection::vec;
use proptest::option::of;
use proptest::string::string_regex;

use proptest::prelude::*;

use analects_core::*;

pub fn text() -> BoxedStrategy<String> {
    prop_oneof![
        any::<String>(),
        string_regex("[a-z]{0,8}").unwrap(),
        Just("\u{2028}\0\u{7f}\"\\/\r\n".to_string()),
    ]
    .boxed()
}

pub fn core_text() -> BoxedStrategy<Text> {
    prop_oneof![
        4 => text().prop_map(Text::from),
        1 => (text(), text()).prop_map(|(left, right)| {
            let (left, right) = (Raw::string(&left), Raw::string(&right));
            let (left, right) = (left.as_str(), right.as_str());
            let literal = format!("{}\\ud83d{}", &left[..left.len() - 1], &right[1..]);
            Text::from_json(&literal).unwrap()
        }),
    ]
    .boxed()
}

/// JSON text on one line, with what real files hold and `serde_json::Value` loses.
pub fn json() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        Just("123456789012345678901234567890".to_string()),
        Just("1e400".to_string()),
        Just("\"\\ud83d\"".to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        text().prop_map(|text| Raw::string(&text).as_str().to_string()),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop_oneof![Just("\"a\"".to_string()), Just("\"\\udc00\"".to_string())];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            vec((key, inner), 0..4).prop_map(|entries| {
                let entries: Vec<String> = entries
                    .into_iter()
                    .map(|(key, value)| format!("{key} : {value}"))
                    .collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
    .boxed()
}

pub fn raw() -> BoxedStrategy<Raw> {
    json().prop_map(|json| Raw::parse(&json).unwrap()).boxed()
}

pub fn raw_map() -> BoxedStrategy<RawMap> {
    let key = string_regex("x[a-z]{0,3}").unwrap();
    vec((key, raw()), 0..3)
        .prop_map(|entries| {
            let mut map = RawMap::new();
            for (key, value) in entries {
                map.push(&key, value);
            }
            map
        })
        .boxed()
}

pub fn usage() -> BoxedStrategy<TokenUsage> {
    (
        of(any::<u64>()),
        of(any::<u64>()),
        of(any::<u64>()),
        raw_map(),
    )
        .prop_map(
            |(input_tokens, output_tokens, reasoning_tokens, extra)| TokenUsage {
                input_tokens,
                output_tokens,
                reasoning_tokens,
                extra,
                ..TokenUsage::default()
            },
        )
        .boxed()
}

fn leaf_block() -> BoxedStrategy<Block> {
    prop_oneof![
        (core_text(), raw_map()).prop_map(|(text, extra)| Block::Text(TextBlock { text, extra })),
        (text(), text(), raw(), raw_map()).prop_map(|(id, name, input, extra)| Block::ToolUse(
            ToolUse {
                id,
                name,
                input,
                extra
            }
        )),
        (core_text(), of(text()), raw_map()).prop_map(|(thinking, signature, extra)| {
            Block::Thinking(Thinking {
                thinking,
                signature,
                extra,
            })
        }),
        (text(), raw_map())
            .prop_map(|(data, extra)| Block::RedactedThinking(RedactedThinking { data, extra })),
        (raw_map(), raw_map()).prop_map(|(source, extra)| {
            Block::Image(Image {
                source: source.to_raw(),
                extra,
            })
        }),
        (text(), text()).prop_map(|(media_type, data)| {
            let source = Source::Base64 { media_type, data }.to_raw();
            Block::Document(Document {
                source,
                extra: RawMap::new(),
            })
        }),
        raw().prop_map(Block::Other),
    ]
    .boxed()
}

fn content_of(block: BoxedStrategy<Block>) -> BoxedStrategy<Content> {
    prop_oneof![
        Just(Content::Empty),
        core_text().prop_map(Content::Text),
        vec(block, 0..4).prop_map(Content::Blocks),
    ]
    .boxed()
}

pub fn tool_result() -> BoxedStrategy<ToolResult> {
    (
        text(),
        content_of(leaf_block()),
        of(any::<bool>()),
        raw_map(),
    )
        .prop_map(|(tool_use_id, content, is_error, extra)| ToolResult {
            tool_use_id,
            content,
            is_error,
            extra,
        })
        .boxed()
}

pub fn block() -> BoxedStrategy<Block> {
    prop_oneof![5 => leaf_block(), 1 => tool_result().prop_map(Block::ToolResult)].boxed()
}

pub fn content() -> BoxedStrategy<Content> {
    content_of(block())
}

fn id() -> BoxedStrategy<MessageId> {
    text().prop_map(MessageId::from).boxed()
}

fn speech() -> BoxedStrategy<Body> {
    prop_oneof![
        content().prop_map(|content| Body::System(System { content })),
        (
            content(),
            of(text()),
            any::<bool>(),
            of(core_text()),
            of(text()),
            of(core_text())
        )
            .prop_map(
                |(content, source, koding, context, command_name, command_args)| {
                    Body::User(User {
                        content,
                        source: source.map(UserSource::from),
                        is_koding_request: koding,
                        koding_context: context,
                        command_name,
                        command_args,
                    })
                }
            ),
        (content(), of(text())).prop_map(|(content, reason)| {
            let stop_reason = reason.map(StopReason::from);
            Body::Assistant(Assistant {
                content,
                stop_reason,
            })
        }),
        tool_result().prop_map(Body::ToolResult),
        (text(), text(), raw()).prop_map(|(id, name, input)| {
            Body::ToolUse(ToolUse {
                id,
                name,
                input,
                extra: RawMap::new(),
            })
        }),
    ]
    .boxed()
}

fn progress() -> impl Strategy<Value = Progress> {
    let tool_use_ids = (of(text()), vec(text(), 0..3));
    (of(raw()), tool_use_ids, of(raw()), of(raw())).prop_map(
        |(content, (tool_use_id, sibling_tool_use_ids), tools, normalized_messages)| Progress {
            content,
            tool_use_id,
            sibling_tool_use_ids,
            tools,
            normalized_messages,
        },
    )
}

fn event_body() -> BoxedStrategy<Body> {
    prop_oneof![
        progress().prop_map(Body::Progress),
        (text(), content(), of(raw())).prop_map(|(kind, content, data)| {
            Body::Attachment(Attachment {
                kind: kind.into(),
                content,
                data,
            })
        }),
        (text(), content(), of(raw())).prop_map(|(kind, content, data)| {
            Body::Notification(Notification {
                kind,
                content,
                data,
            })
        }),
        (core_text(), of(id()), of(id()), of(any::<u64>())).prop_map(|(text, from, to, count)| {
            Body::Summary(Summary {
                text,
                from,
                to,
                count,
            })
        }),
        (of(text()), of(any::<u64>()), of(id()), of(id())).prop_map(
            |(trigger, tokens_before, summary_id, kept_from)| {
                Body::CompactBoundary(CompactBoundary {
                    trigger: trigger.map(CompactTrigger::from),
                    tokens_before,
                    tokens_after: None,
                    summary_id,
                    kept_from,
                })
            }
        ),
        (id(), of(id())).prop_map(|(target, target_parent)| {
            Body::Tombstone(Tombstone {
                target,
                target_parent,
            })
        }),
        (id(), of(text()), of(content()), of(history())).prop_map(
            |(target, call, content, history)| {
                let content = content.filter(|content| *content != Content::Empty);
                Body::Revision(Revision {
                    target,
                    call,
                    content,
                    history,
                })
            }
        ),
        (raw_map(), any::<bool>()).prop_map(|(changes, is_snapshot)| {
            Body::State(StateChange {
                changes: changes.to_raw(),
                is_snapshot,
            })
        }),
        string_regex("(future_[a-z]{1,5})?")
            .unwrap()
            .prop_map(|name| {
                Body::Other(Other {
                    type_name: (!name.is_empty()).then_some(name),
                })
            }),
    ]
    .boxed()
}

fn history() -> BoxedStrategy<History> {
    prop_oneof![
        Just(History::Include),
        Just(History::Exclude),
        Just(History::Summary)
    ]
    .boxed()
}

/// Odd spellings of a time and a cost, which some sources have.
fn spellings(time: Option<jiff::Timestamp>, cost: Option<f64>, is_odd: bool) -> RawMap {
    let mut spellings = RawMap::new();
    if !is_odd {
        return spellings;
    }
    if let Some(time) = time {
        let text = time.strftime("%Y-%m-%dT%H:%M:%S%.9f+00:00").to_string();
        spellings.push("created_at", Raw::string(&text));
    }
    let spelled = cost.map(|cost| (format!("{cost:e}"), format!("{cost:?}")));
    if let Some((odd, usual)) = spelled
        && odd != usual
        && let Ok(raw) = Raw::parse(&odd)
    {
        spellings.push("cost_usd", raw);
    }
    spellings
}

pub fn message() -> BoxedStrategy<Message> {
    let time = (-62_135_596_800_i64..253_402_000_000, 0..1_000_000_000_i32)
        .prop_map(|(second, nano)| jiff::Timestamp::new(second, nano).unwrap_or_default());
    let names = (id(), of(id()), text(), of(time), of(text()), of(text()));
    let figures = (
        of(usage()),
        of(text()),
        of(-1e9..1e9_f64),
        of(any::<u64>()),
        of(text()),
    );
    let body = prop_oneof![speech(), event_body()];
    (
        names,
        figures,
        history(),
        any::<bool>(),
        body,
        raw_map(),
        raw_map(),
    )
        .prop_map(
            |(names, figures, history, is_error, body, extra, unknown)| Message {
                spellings: spellings(names.3, figures.2, is_error),
                id: names.0,
                parent_id: names.1,
                session_id: names.2.into(),
                created_at: names.3,
                agent_id: names.4,
                author: names.5,
                history,
                usage: figures.0.map(Box::new),
                model: figures.1,
                cost_usd: figures.2,
                duration_ms: figures.3,
                response_id: figures.4,
                is_api_error_message: is_error,
                body,
                extra,
                unknown,
            },
        )
        .boxed()
}

/// An object whose keys are names that the model knows, with values of any type, repeated at will.
pub fn object_of_known_names() -> BoxedStrategy<String> {
    let name = proptest::sample::select(vec![
        "v",
        "type",
        "id",
        "parent_id",
        "session_id",
        "created_at",
        "content",
        "usage",
        "extra",
        "history",
        "block",
        "kind",
        "text",
        "target",
        "cost_usd",
        "is_api_error_message",
        "other",
    ]);
    let value = prop_oneof![
        3 => json(),
        1 => proptest::sample::select(vec![
            "\"user\"", "\"assistant\"", "\"tool_use\"", "\"summary\"", "\"tombstone\"", "true",
            "\"2026-01-01T00:00:00Z\"", "\"exclude\"", "1",
            r#"{"type":"tool_use","id":"a","name":"b","input":{},"type":"tool_use"}"#,
            r#"[{"type":"text","text":"a","text":7}]"#,
        ]).prop_map(str::to_string),
    ];
    vec((name, value), 0..12)
        .prop_map(|entries| {
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(name, value)| format!("\"{name}\":{value}"))
                .collect();
            format!("{{{}}}", entries.join(","))
        })
        .boxed()
}

pub fn request() -> BoxedStrategy<Request> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::System)];
    let turn = (role, content(), of(text())).prop_map(|(role, content, model)| Turn {
        role,
        content,
        model,
    });
    let tool = (text(), text(), raw()).prop_map(|(name, description, input_schema)| ToolSpec {
        name,
        description,
        input_schema,
    });
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::Any),
        Just(ToolChoice::None),
        text().prop_map(ToolChoice::Tool),
    ];
    let limits = (
        of(0.0..2.0_f64),
        of(any::<u64>()),
        vec(text(), 0..2),
        any::<bool>(),
    );
    (
        text(),
        of(core_text()),
        vec(turn, 0..3),
        vec(tool, 0..2),
        of(choice),
        limits,
        raw_map(),
    )
        .prop_map(
            |(model, system, turns, tools, tool_choice, limits, metadata)| Request {
                model,
                system,
                turns,
                tools,
                tool_choice,
                temperature: limits.0,
                max_output_tokens: limits.1,
                stop_sequences: limits.2,
                reasoning: limits.3,
                metadata,
            },
        )
        .boxed()
}

pub fn event() -> BoxedStrategy<StreamEvent> {
    let start = prop_oneof![
        Just(BlockStart::Text),
        Just(BlockStart::Thinking),
        text().prop_map(|data| BlockStart::RedactedThinking { data }),
        (text(), text()).prop_map(|(id, name)| BlockStart::ToolUse { id, name }),
        raw().prop_map(BlockStart::Other),
    ];
    let delta = prop_oneof![
        core_text().prop_map(Delta::Text),
        core_text().prop_map(Delta::Thinking),
        text().prop_map(Delta::Signature),
        text().prop_map(Delta::PartialJson),
    ];
    let index = 0..3_usize;
    prop_oneof![
        (of(text()), of(text()))
            .prop_map(|(model, response_id)| StreamEvent::MessageStart { model, response_id }),
        (index.clone(), start).prop_map(|(index, block)| StreamEvent::BlockStart { index, block }),
        (index.clone(), delta).prop_map(|(index, delta)| StreamEvent::BlockDelta { index, delta }),
        (index.clone(), text(), raw()).prop_map(|(index, key, value)| StreamEvent::BlockExtra {
            index,
            key,
            value
        }),
        index
            .clone()
            .prop_map(|index| StreamEvent::BlockStop { index }),
        (index, text(), text(), raw()).prop_map(|(index, id, name, input)| {
            StreamEvent::ToolUse {
                index,
                id,
                name,
                input,
            }
        }),
        usage().prop_map(StreamEvent::Usage),
        of(text()).prop_map(|reason| StreamEvent::MessageStop {
            stop_reason: reason.map(StopReason::from)
        }),
        Just(StreamEvent::Ping),
        text().prop_map(|text| StreamEvent::Error(ApiError::new(ApiErrorKind::Server, text))),
        (text(), raw()).prop_map(|(key, value)| StreamEvent::Extra { key, value }),
    ]
    .boxed()
}
