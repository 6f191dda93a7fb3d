//! Places kept for outputs that come later.

use super::*;

const ONE: &str =
    "# %% [^1]\n\n[^1]: [markdown]\n\nOne?\n\n# %% [^2]\n\n[^2]: [code]\n\n```python\nx\n```\n";

#[test]
fn a_pending_reply_is_not_sent_and_not_asked_for_again() {
    let mut draft = draft("# %% [^1]\n\n[^1]: [markdown]\n\nOne?\n");
    let name = draft
        .add_output_placeholder("1", "a.md", Some("quick"), Some("k3f9qx7a"))
        .unwrap();
    let cell = draft.document().cell(&name).unwrap();
    assert_eq!(cell.type_word(), "quick");
    assert_eq!(
        (cell.attribute("status"), cell.attribute("output_file")),
        (Some("pending"), Some("a.md"))
    );
    assert_eq!(cell.attribute("nonce"), Some("k3f9qx7a"));
    let read = messages(draft.document(), &SessionId::default());
    assert_eq!(read.messages.len(), 1);
    assert_eq!(read.problems[0].code, "pending-output");
    assert!(draft.document().unanswered().is_empty());
    let message = draft.item("1").unwrap();
    let output = &message.outputs()[0];
    assert_eq!(
        (output.pending_file(), output.nonce()),
        (Some("a.md"), Some("k3f9qx7a"))
    );

    let wrong = MessageOutputBuilder::new()
        .with_content("x")
        .with_nonce("zzzzzzzz")
        .build()
        .unwrap();
    assert!(draft.fill_placeholder(&name, &wrong.into()).is_err());
    draft.fill_placeholder(&name, &reply("# %% done")).unwrap();
    let cell = draft.document().cell(&name).unwrap();
    assert_eq!(
        (cell.attribute("status"), cell.attribute("output_file")),
        (None, None)
    );
    assert_eq!(cell.content(), "# %% done");
    let read = messages(draft.document(), &SessionId::default());
    assert!(matches!(read.messages[1].body, Body::Assistant(_)));
    assert_eq!(read.messages[1].author.as_deref(), Some("quick"));
    assert_eq!(read.problems, []);
}

#[test]
fn a_call_and_a_run_have_places_too() {
    let ids = &mut CountingIds::default();
    let mut draft = draft(ONE);
    let call = draft
        .add_function_call("1", "now", None, None, None, ids)
        .unwrap();
    let name = draft
        .add_output_placeholder("1", "now.txt", Some("now"), Some("n0000001"))
        .unwrap();
    assert_eq!(name, format!("{}.1", call.name()));
    assert_eq!(
        draft.document().cell(&name).unwrap().attribute("nonce"),
        None
    );
    let read = messages(draft.document(), &SessionId::default());
    assert!(
        !read
            .messages
            .iter()
            .any(|message| message.to_json().contains("tool_result"))
    );
    assert_eq!(
        draft.fill_placeholder("now.txt", &reply("noon")).unwrap(),
        name
    );
    let read = messages(draft.document(), &SessionId::default());
    assert!(
        read.messages
            .iter()
            .any(|message| message.to_json().contains("tool_result"))
    );
    // The call has its result, so there is none to wait for.
    assert!(
        draft
            .add_output_placeholder("1", "x", Some("now"), None)
            .is_err()
    );
    assert!(
        draft
            .add_output_placeholder("1", "x", Some("nobody"), None)
            .is_err()
    );

    let run = draft
        .add_output_placeholder("2", "plot.txt", Some("python"), None)
        .unwrap();
    assert_eq!(run, "2.1");
    assert!(draft.fill_placeholder(&run, &reply("x")).is_err());
    draft.fill_placeholder(&run, &printed("1\n")).unwrap();
    assert_eq!(
        draft.item("2").unwrap().outputs()[0]
            .as_code()
            .unwrap()
            .stdout_content(),
        b"1\n"
    );
}

#[test]
fn text_in_a_place_is_nobodys_to_throw_away() {
    let cells = "# %% [^1]\n\nOne?\n\n# %%% [^2]\n\n[^2]: [coder] status=\"pending\" output_file=\"a.md\"\n\ntyped\n";
    let mut draft = draft(cells);
    let error = draft.fill_placeholder("2", &reply("x")).unwrap_err();
    assert_eq!(error.kind(), ItemErrorKind::Refused);
    assert_eq!(
        messages(draft.document(), &SessionId::default())
            .messages
            .len(),
        2
    );
    assert_eq!(
        draft.fill_placeholder("1", &reply("x")).unwrap_err().kind(),
        ItemErrorKind::UnknownCell
    );
}

#[test]
fn odd_attributes_are_reported() {
    let cells = "# %% [^1]\n\n[^1]: [markdown] timeout=soon agent=\"nobody\"\n\nOne?\n\n\
                 # %%% [^2]\n\n[^2]: [coder] status=\"pending\" output_file=\"../../x\"\n";
    let document = decode(format!("{FRONT}{cells}"));
    let mut codes: Vec<String> = document
        .problems()
        .iter()
        .map(|p| p.code.to_string())
        .collect();
    codes.sort();
    assert_eq!(codes, ["bad-output-file", "bad-timeout", "unknown-agent"]);
    assert_eq!(item(&document, "1").unwrap().timeout(), None);
}
