//! Conversations that the API would refuse as they stand: lost results, odd orders, names of others.

use super::*;

#[test]
fn turns_of_one_role_are_one_message() {
    let turns = vec![
        turn(Role::User, "a"),
        turn(Role::User, ""),
        user(vec![Block::from_text("b"), Block::from_text(" \n")]),
        own(vec![Block::from_text("c")]),
        own(vec![]),
        own(vec![Block::from_text("d")]),
        turn(Role::User, Content::Empty),
    ];
    assert_eq!(
        messages(turns),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}]"#,
        )
    );
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    let interrupted = |id: &str| {
        format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":"The call was interrupted; there is no result.","is_error":true}}"#
        )
    };
    let begun = || vec![turn(Role::User, "u"), own(vec![call("a"), call("b")])];
    let last = request(begun());
    let messages = field(&last, "messages").unwrap();
    let end = format!(
        r#"{{"role":"user","content":[{},{}]}}]"#,
        interrupted("a"),
        interrupted("b")
    );
    assert!(messages.ends_with(&end), "{messages}");
    assert_eq!(
        notes(&last),
        ["turn 2: a call has no result; one that says so is sent"; 2]
    );
    let mut turns = begun();
    turns.extend([
        user(vec![Block::from_text("never mind"), result("b", "1")]),
        own(vec![Block::from_text("ok")]),
    ]);
    let messages = super::messages(turns);
    let middle = format!(
        r#"{{"role":"user","content":[{},{{"type":"tool_result","tool_use_id":"b","content":"1"}},{{"type":"text","text":"never mind"}}]}}"#,
        interrupted("a")
    );
    assert!(messages.contains(&middle), "{messages}");
}

#[test]
fn results_without_a_call_are_not_sent() {
    let turns = vec![
        user(vec![result("x", "early"), Block::from_text("u")]),
        own(vec![call("a")]),
        user(vec![
            result("a", "1"),
            result("a", "again"),
            result("y", "whose?"),
        ]),
        own(vec![Block::from_text("done")]),
        user(vec![result("a", "late")]),
    ];
    let request = request(turns);
    let orphan =
        |turn| format!("turn {turn}: a result is not sent: no call before it waits for one");
    assert_eq!(notes(&request), [orphan(1), orphan(3), orphan(5)]);
    let messages = field(&request, "messages").unwrap();
    // Several results of one call are one.
    let both = r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"},{"type":"text","text":"again"}]}"#;
    assert!(messages.contains(both), "{messages}");
    assert!(
        messages.ends_with(r#"{"role":"assistant","content":"done"}]"#),
        "{messages}"
    );
}

/// A conversation with calls in it is refused where no tools are defined, as when it comes from another program.
#[test]
fn tools_that_were_called_and_are_not_there_any_more_are_named_and_cannot_be_called() {
    let turns = || {
        vec![
            turn(Role::User, "u"),
            own(vec![call("a")]),
            user(vec![result("a", "1")]),
        ]
    };
    let sent = request(turns());
    let undefined =
        r#"{"name":"w","description":"Not available any more.","input_schema":{"type":"object"}}"#;
    assert_eq!(
        field(&sent, "tools").as_deref(),
        Some(&*format!("[{undefined}]"))
    );
    assert_eq!(
        field(&sent, "tool_choice").as_deref(),
        Some(r#"{"type":"none"}"#)
    );
    let without = request(vec![turn(Role::User, "u")]);
    assert_eq!(
        (field(&without, "tools"), field(&without, "tool_choice")),
        (None, None)
    );
}

#[test]
fn results_that_stand_in_the_models_turn_are_the_users() {
    let turns = vec![
        turn(Role::User, "u"),
        own(vec![call("a"), result("a", "1"), Block::from_text("ok")]),
    ];
    assert_eq!(
        messages(turns),
        concat!(
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"w","input":{"n":1}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]},{"role":"assistant","content":"ok"}]"#,
        )
    );
}

#[test]
fn names_of_calls_are_made_fit_and_unique() {
    let round = |id: &str| [own(vec![call(id)]), user(vec![result(id, id)])];
    let mut turns = vec![turn(Role::User, "u")];
    for id in ["call:0", "call:0", "call_0", "", "天"] {
        turns.extend(round(id));
    }
    let messages = messages(turns);
    for id in ["call_0", "call_0_2", "call_0_3", "call", "_"] {
        let call = format!(r#"{{"type":"tool_use","id":"{id}""#);
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"{id}""#);
        assert_eq!(messages.matches(&call).count(), 1, "{messages}");
        assert_eq!(messages.matches(&result).count(), 1, "{messages}");
    }
}

#[test]
fn two_calls_of_one_name_in_one_turn_are_answered_in_order() {
    let turns = vec![
        turn(Role::User, "u"),
        own(vec![call("c"), call("c")]),
        user(vec![result("c", "first"), result("c", "second")]),
    ];
    let messages = messages(turns);
    assert!(
        messages.contains(r#""tool_use_id":"c","content":"first""#),
        "{messages}"
    );
    assert!(
        messages.contains(r#""tool_use_id":"c_2","content":"second""#),
        "{messages}"
    );
}

#[test]
fn the_model_may_have_spoken_first() {
    let request = request(vec![
        own(vec![Block::from_text("Welcome")]),
        turn(Role::User, "Hi"),
    ]);
    let messages = field(&request, "messages").unwrap();
    assert!(messages.starts_with(r#"[{"role":"user","content":"(The conversation begins with your words.)"},{"role":"assistant","content":"Welcome"}"#));
    assert_eq!(
        notes(&request),
        ["the model spoke first, so a line of the user is sent before it"]
    );
}

#[test]
fn a_final_answer_ends_without_white_space() {
    let turns = |end: &str| vec![turn(Role::User, "u"), own(vec![Block::from_text(end)])];
    assert!(messages(turns("Once upon \n\t")).ends_with(r#""content":"Once upon"}]"#));
    let mut middle = turns("Once upon ");
    middle.push(turn(Role::User, "Go on"));
    assert!(messages(middle).contains(r#""content":"Once upon "}"#));
}

#[test]
fn thinking_that_led_to_nothing_is_not_sent() {
    let unsigned = Block::Thinking(Thinking {
        thinking: "hm".into(),
        ..Thinking::default()
    });
    let turns = vec![
        turn(Role::User, "a"),
        own(vec![thought("t")]),
        turn(Role::User, "b"),
        own(vec![unsigned, Block::from_text("c"), thought("t")]),
        turn(Role::User, "d"),
    ];
    assert_eq!(
        messages(turns),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"#,
            r#"{"role":"assistant","content":"c"},{"role":"user","content":"d"}]"#,
        )
    );
}

fn searched() -> Vec<Block> {
    let text = TextBlock {
        text: "It rains.".into(),
        extra: map(r#"{"citations":[{"type":"c"}]}"#),
    };
    vec![
        Block::Other(raw(
            r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q":"\ud83d"}}"#,
        )),
        Block::Other(raw(
            r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#,
        )),
        Block::Text(text),
    ]
}

#[test]
fn blocks_of_the_providers_own_making_go_back_to_it_alone() {
    let turns = |model: &str| {
        let said = Turn {
            model: Some(model.into()),
            ..own(searched())
        };
        vec![
            turn(Role::User, "Weather?"),
            said,
            turn(Role::User, "Thanks"),
        ]
    };
    for model in [MODEL, "claude-opus-4-1-20250805"] {
        let messages = messages(turns(model));
        assert!(
            messages.contains(r#""input":{"q":"\ufffd"}},{"type":"web_search_tool_result""#),
            "{messages}"
        );
        assert!(
            messages.contains(r#""citations":[{"type":"c"}]"#),
            "{messages}"
        );
    }
    for model in ["gpt-5", "gemini-2.5-pro", ""] {
        assert!(messages(turns(model)).contains(r#"{"role":"assistant","content":"It rains."}"#));
        assert_eq!(notes(&request(turns(model))).len(), 2);
    }
}

#[test]
fn half_of_a_servers_call_goes_only_in_the_last_turn() {
    let half = || own(searched().drain(..1).collect());
    let paused = messages(vec![turn(Role::User, "Weather?"), half()]);
    assert!(paused.contains("server_tool_use"), "{paused}");
    let later = request(vec![
        turn(Role::User, "Weather?"),
        half(),
        turn(Role::User, "Well?"),
    ]);
    assert!(!body(&later).contains("server_tool_use"));
    assert_eq!(
        notes(&later),
        ["turn 2: a call of a server's tool is not sent: its other half is missing"]
    );
}

#[test]
fn a_servers_tool_that_called_one_of_ours_is_answered_later() {
    let mut blocks = searched();
    let (server, found) = (blocks.remove(0), blocks.remove(0));
    let caller = map(r#"{"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}"#);
    let ours = ToolUse {
        id: "a".into(),
        name: "w".into(),
        input: raw("{}"),
        extra: caller,
    };
    let turns = vec![
        turn(Role::User, "u"),
        own(vec![server, Block::ToolUse(ours)]),
        user(vec![result("a", "1")]),
        own(vec![found, Block::from_text("done")]),
        turn(Role::User, "thanks"),
    ];
    let request = request(turns);
    assert_eq!(notes(&request), <[String; 0]>::default());
    assert_eq!(body(&request).matches("srvtoolu_1").count(), 3);
}

#[test]
fn turns_of_other_providers_lose_their_own_fields() {
    let sealed = |extra: &str| {
        let (id, name) = ("call_abc|fc_1".to_string(), "web.search".to_string());
        Block::ToolUse(ToolUse {
            id,
            name,
            input: raw("\"q\""),
            extra: map(extra),
        })
    };
    let other = Turn {
        model: Some("gpt-5".into()),
        ..own(vec![
            thought("theirs"),
            Block::from_text("Hm."),
            sealed(r#"{"item_id":"fc_1","thought_signature":"s"}"#),
        ])
    };
    let turns = vec![
        turn(Role::User, "u"),
        other,
        user(vec![result("call_abc|fc_1", "1")]),
    ];
    let request = request(turns);
    assert_eq!(
        field(&request, "messages").unwrap(),
        concat!(
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"text","text":"Hm."},"#,
            r#"{"type":"tool_use","id":"call_abc_fc_1","name":"web_search","input":{"input":"q"}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_abc_fc_1","content":"1"}]}]"#,
        )
    );
    assert_eq!(
        notes(&request),
        [
            "turn 2: the call of \"web.search\" is sent as web_search",
            "turn 2: arguments that are no object are sent inside one",
        ]
    );
}

#[test]
fn a_failed_result_is_text() {
    let failed = ToolResult {
        tool_use_id: "a".into(),
        content: Content::Blocks(vec![
            image(r#"{"type":"url","url":"u"}"#),
            Block::from_text("no"),
        ]),
        is_error: Some(true),
        extra: map(r#"{"cache_control":{"type":"ephemeral"},"odd":1}"#),
    };
    let turns = vec![
        turn(Role::User, "u"),
        own(vec![call("a")]),
        user(vec![Block::ToolResult(failed)]),
    ];
    assert!(messages(turns).ends_with(
        r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"no"}],"is_error":true,"cache_control":{"type":"ephemeral"}}]}]"#
    ));
}

#[test]
fn tools_that_the_api_refuses_are_not_sent() {
    let tool = |name: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: raw(schema),
    };
    let long = "x".repeat(129);
    let tools = vec![
        tool("a.b", "{}"),
        tool("", "{}"),
        tool(&long, "{}"),
        tool("ok", r#"{"properties":{}}"#),
        tool("ok", "{}"),
        tool("bare", "null"),
    ];
    let request = Request {
        tools,
        stop_sequences: vec![" ".into(), "x".into()],
        ..request(vec![turn(Role::User, "u")])
    };
    assert_eq!(
        field(&request, "tools").unwrap(),
        r#"[{"name":"ok","input_schema":{"properties":{},"type":"object"}},{"name":"bare","input_schema":{"type":"object"}}]"#
    );
    assert_eq!(field(&request, "stop_sequences").unwrap(), r#"["x"]"#);
    assert_eq!(notes(&request).len(), 7);
}

#[test]
fn four_marks_for_the_cache_are_kept() {
    let marked = |text: &str| {
        let extra = map(r#"{"cache_control":{"type":"ephemeral"}}"#);
        Block::Text(TextBlock {
            text: text.into(),
            extra,
        })
    };
    let blocks = ["a", "b", "c", "d", "e"].map(marked).to_vec();
    let all = request(vec![turn(Role::System, vec![marked("s")]), user(blocks)]);
    let body = body(&all);
    assert_eq!(body.matches("cache_control").count(), 4);
    assert!(
        body.contains(r#"{"type":"text","text":"a"},{"type":"text","text":"b","cache_control""#)
    );
    assert_eq!(
        notes(&all),
        ["cache_control is not sent: the API takes four marks, and the last are kept"]
    );
}

#[test]
fn text_that_is_no_unicode_is_mended() {
    let broken = Block::from_json(r#"{"type":"text","text":"a\ud83d"}"#).unwrap();
    assert!(messages(vec![user(vec![broken])]).contains("\"a\u{fffd}\""));
    let sealed =
        Block::from_json(r#"{"type":"thinking","thinking":"\ud83d","signature":"s"}"#).unwrap();
    let turns = vec![
        turn(Role::User, "u"),
        own(vec![sealed, Block::from_text("ok")]),
    ];
    assert!(messages(turns).ends_with(r#"{"role":"assistant","content":"ok"}]"#));
}

#[test]
fn an_empty_request_is_reported() {
    let empty = request(vec![turn(Role::User, " "), user(vec![result("x", "1")])]);
    let http = crate::encode(Api::AnthropicMessages, &empty);
    let rules: Vec<_> = validate(Rules::Anthropic, &http.body)
        .iter()
        .map(|v| v.rule)
        .collect();
    assert_eq!(rules, ["no-messages"]);
    let last = http.left_out.last().unwrap();
    assert_eq!(
        last.message,
        "the request is not sent: there is nothing in it that the API takes"
    );
}
