//! Items of documents, tidy and hostile.

use super::*;

fn names(items: &[Item]) -> Vec<&str> {
    items.iter().map(MessageItem::name).collect()
}

#[test]
fn everything_that_came_back_is_found() {
    let file = "# %% [^1]\n\n[^1]: [markdown] agent=\"coder\" timeout=1.5s\n\nWhat time?\n\n\
                # %%% [^2]\n\n[^2]: [coder] time=\"2026-11-15T20:00:00Z\" duration=0.8s\n\nI look.\n\n\
                # %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"now\" timeout=3s\n\n<invoke name=\"now\"/>\n\n\
                # %%% [^2.k3f9qx7a.1]\n\n[^2.k3f9qx7a.1]: [tool] status=\"success\" duration=0.5s\n\nnoon\n\n\
                # %%% [^3]\n\n[^3]: [coder]\n\nNoon.\n\n\
                # %% [^4]\n\n[^4]: [code]\n\n```sh\nmake\n```\n\n\
                # %%% [^4.1]\n\n[^4.1]: [sh] status=\"failed\"\n\nstderr> no\nstdout>\\ yes\n\n\
                # %%% [^4.1-2]\n\n[^4.1-2]: [sh] mime_type=\"image/png\"\n\niVBORw==\n\n\
                # %%% [^details]\n\n[^details]: [details] history=none\n\n# %%\n";
    let items = items(&decode(file));
    assert_eq!(names(&items), ["1", "2.k3f9qx7a", "4"]);
    let message = items[0].as_message().unwrap();
    assert_eq!(message.agent_name(), Some("coder"));
    assert_eq!(message.timeout().unwrap().as_millis(), 1500);
    let replies: Vec<_> = message
        .outputs()
        .iter()
        .map(|output| output.text().unwrap())
        .collect();
    assert_eq!(replies, ["I look.", "Noon."]);
    let reply = message.outputs()[0].as_answer().unwrap();
    assert_eq!(
        (reply.agent_name(), reply.time()),
        (Some("coder"), Some("2026-11-15T20:00:00Z"))
    );
    let call = items[1].as_function_call().unwrap();
    assert_eq!(call.timeout().unwrap().as_secs(), 3);
    assert_eq!(call.outputs()[0].nonce(), Some("k3f9qx7a"));
    assert_eq!(
        call.outputs()[0].as_answer().unwrap().status(),
        Some("success")
    );
    assert_eq!(message.function_calls(), std::slice::from_ref(call));
    let outputs = items[2].outputs();
    let printed = outputs[0].as_code().unwrap();
    assert_eq!((printed.lang(), printed.status()), ("sh", Some("failed")));
    assert_eq!(
        (printed.stdout_content(), printed.stderr_content()),
        (b"yes".to_vec(), b"no\n".to_vec())
    );
    assert_eq!(printed.chunks().len(), 2);
    let picture = outputs[1].as_code().unwrap();
    assert_eq!(
        (&*picture.content(), picture.mime_type()),
        (&b"\x89PNG"[..], "image/png")
    );
    assert_eq!(picture.text(), None);
}

#[test]
fn items_go_to_json_and_come_back() {
    let file = "# %% [^1]\n\n[^1]: [code] timeout=30s\n\n```sh\nx\n```\n\n\
                # %%% [^1.1]\n\n[^1.1]: [sh] encoding=\"base64\"\n\nstdout> /w==\nstderr> eA==\n\n\
                # %%% [^1.2]\n\n[^1.2]: [sh] mime_type=\"image/png\" duration=0.1s\n\niVBORw==\n\n\
                # %%% [^1.kk]\n\n[^1.kk]: [tool] name=\"f\"\n\n<invoke name=\"f\">\n\
                <parameter name=\"n\" type=\"json\">123456789012345678901234567890</parameter>\n</invoke>\n\n\
                # %%% [^1.kk.1]\n\n[^1.kk.1]: [tool] status=\"failed\" mime_type=\"image/png\" encoding=\"base64\"\n\niVBORw==\n\n\
                # %% [^3]\n\n[^3]: [raw] mime_type=\"application/pdf\"\n\n/9g=\n\n\
                # %%% [^3.bad]\n\n[^3.bad]: [tool] name=\"g\"\n\nnot xml\n";
    let items = items(&decode(file));
    assert_eq!(names(&items), ["1", "1.kk", "3", "3.bad"]);
    for item in &items {
        let text = item.to_dict().to_string();
        let dict = serde_json::from_str(&text).unwrap();
        assert_eq!(Item::from_dict(dict).as_ref(), Ok(item), "{text}");
    }
    assert_eq!(
        items[1].to_dict()["args_json"],
        r#"{"n":123456789012345678901234567890}"#
    );
    assert_eq!(items[3].to_dict()["args_text"], "not xml");
    let run = &items[0].to_dict()["outputs"][0];
    assert_eq!(run["stderr_content"], "x");
    assert_eq!(run["stdout_content"], json!({"base64": "/w=="}));
}

#[test]
fn the_two_streams_are_enough_to_say_what_was_printed() {
    let dict = json!({"lang": "sh", "stdout_content": "1\n", "stderr_content": "no\n"});
    let printed = CodeOutput::from_dict(dict).unwrap();
    assert_eq!(
        (&*printed.content(), printed.chunks().len()),
        (&b"1\nno\n"[..], 2)
    );
    let error = Output::from_dict(json!({"status": "success"}))
        .unwrap_err()
        .to_string();
    assert!(error.contains("missing field `content`"), "{error}");
}

#[test]
fn json_that_is_no_item_is_refused_in_words() {
    for (dict, expected) in [
        (json!({}), "missing field `content`"),
        (json!([]), "not a message"),
        (json!({"content": "x", "timeout": -1}), "not negative"),
        (json!({"content": "x", "contents": "y"}), "unknown field"),
        (json!({"content": {"base64": "?"}}), "not a message"),
        (
            json!({"content": "x", "type": "system"}),
            "not a type of message",
        ),
        (json!({"content": "x", "name": "a b"}), "cannot be a name"),
        (json!({"content": "x", "heading_level": 9}), "heading level"),
        (
            json!({"function_name": "", "args": {}}),
            "name of a function",
        ),
        (
            json!({"function_name": "f", "type": "markdown"}),
            "type of a function call",
        ),
        (
            json!({"content": "x", "outputs": [{"content": "y", "status": "streaming"}]}),
            "unknown status",
        ),
        (
            json!({"content": "x", "outputs": [{"content": "y", "output_file": "/etc/passwd"}]}),
            "output file",
        ),
    ] {
        let error = Item::from_dict(dict.clone()).unwrap_err().to_string();
        assert!(error.contains(expected), "{dict}: {error}");
    }
}

#[test]
fn ids_count_before_places_and_the_first_of_an_id_counts() {
    let file = "# %%\n\nloose\n\n# %% [^1]\n\nsealed?\n\n# %% [^1]\n\ntwice\n\n\
                # %%% [^1.1]\n\n[^1.1]: [coder]\n\nreply\n";
    let document = decode(file);
    let found = item(&document, "1").unwrap();
    assert_eq!(found.as_message().unwrap().text(), Some("sealed?"));
    assert_eq!(found.outputs().len(), 1);
    assert_eq!(
        item(&document, 0).unwrap().as_message().unwrap().text(),
        Some("loose")
    );
    assert_eq!(items(&document).len(), 3);
}

#[test]
fn what_belongs_nowhere_is_no_item() {
    assert_eq!(
        items(&decode("# %%% [^1]\n\n[^1]: [coder]\n\nto nobody\n")),
        []
    );
    assert_eq!(
        items(&decode(
            "# %%% [^9.zzz.1]\n\n[^9.zzz.1]: [tool]\n\norphan\n"
        )),
        []
    );
    assert_eq!(items(&decode("# %%\n")), []);
    assert_eq!(
        items(&decode("# %% [^a]\n\n[^a]: [agent] models=\"x\"\n")),
        []
    );
    assert_eq!(items(&decode_named("# %%\n\nplain\n", "notes.md")), []);
    // A call without a message is a call all the same.
    let call = items(&decode(
        "# %%% [^2.k]\n\n[^2.k]: [tool] name=\"now\"\n\n<invoke name=\"now\"/>\n",
    ));
    assert_eq!(names(&call), ["2.k"]);
    // Bytes that are no text, a head that broke off, a word that has no meaning here.
    let odd = b"# %% [^1]\n\n[^1]: [tool] name=\"x\"\n\n\xff\xfe\r\n# %% [^2".to_vec();
    let odd = items(&decode(odd));
    assert_eq!(odd[0].type_word(), "markdown");
    assert_eq!(
        odd[0].as_message().unwrap().text(),
        Some("\u{fffd}\u{fffd}")
    );
    assert_eq!(odd.len(), 2);
}

#[test]
fn base64_that_is_none_stays_text() {
    let file = "# %% [^1]\n\n[^1]: [raw] mime_type=\"image/png\"\n\nnot base64!\n";
    let found = item(&decode(file), 0).unwrap();
    assert_eq!(found.as_message().unwrap().text(), Some("not base64!"));
}

#[test]
fn tools_are_code_cells_that_say_so() {
    let file = "# %% [^1]\n\n[^1]: [code] tool=\"a\"\n\n```python\nx\n```\n\n\
                # %% [^2]\n\n[^2]: [markdown] tool=\"b\"\n\n```python\nx\n```\n\n\
                # %% [^3]\n\n[^3]: [code] tool=\"a\"\n\n```python\ny\n```\n\n\
                # %%% [^4]\n\n[^4]: [code] tool=\"c\"\n\n```python\ny\n```\n\n\
                # %% [^5]\n\n[^5]: [code] tool=\"d\"\n\nno fence\n";
    let found = tools(&decode(file));
    let names: Vec<_> = found
        .iter()
        .map(|tool| (tool.name.as_str(), tool.cells.len()))
        .collect();
    assert_eq!(names, [("a", 2), ("d", 1)]);
    assert_eq!(found[1].language, None);
}

proptest! {
    #[test]
    fn any_file_has_items(file in crate::msgfile::tests::generate::file()) {
        let document = decode(file);
        let found = items(&document);
        for (at, wanted) in found.iter().enumerate() {
            let found = item(&document, at);
            prop_assert_eq!(found.as_ref(), Some(wanted));
            // A name may mean another cell, but never an item of another name.
            let named = item(&document, wanted.name());
            prop_assert!(named.is_none_or(|named| named.name() == wanted.name()));
            // Its JSON can be written; whether it is one that could be built is another matter.
            prop_assert!(wanted.to_dict().is_object());
        }
    }
}
