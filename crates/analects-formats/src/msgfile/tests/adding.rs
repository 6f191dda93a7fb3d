//! Messages that are added to a file that is there: they follow it, and name what they mean by cells.

use analects_core::{
    Attachment, AttachmentKind, Block, Body, CompactBoundary, CompactTrigger, Content, Message,
    Raw, SessionId, Summary, Tombstone, chain,
};

use crate::msgfile::{self, Document, decode, messages, put_messages};

/// Ids that can be told apart.
struct Numbers(u32);

impl analects_core::Ids for Numbers {
    fn uuid(&mut self, _: jiff::Timestamp) -> String {
        self.0 += 1;
        format!("id-{}", self.0)
    }

    fn nonce(&mut self) -> String {
        self.0 += 1;
        format!("nonce{:03}", self.0)
    }
}

fn session() -> SessionId {
    msgfile::session_of("talk.msg.md")
}

fn add(file: &str, new: &[Message]) -> Document {
    let document = decode(file.as_bytes().to_vec());
    let splice = put_messages(
        &document,
        &session(),
        new,
        &jiff::tz::TimeZone::UTC,
        &mut Numbers(0),
    )
    .unwrap()
    .splice;
    assert!(splice.is_append(document.source()), "the file only grows");
    let bytes = splice.apply(document.source());
    assert!(
        bytes.starts_with(file.as_bytes()),
        "nothing before it changes"
    );
    document.with_source(bytes)
}

const TALK: &str = "\
# %%[^1]

[^1]: [markdown]

What is a monad?

# %%%[^2]

[^2]: [quick]

A monoid.

# %%[^3]

[^3]: [markdown]

And in one word?
";

fn compaction(file: &str) -> Vec<Message> {
    let read = messages(&decode(file.as_bytes().to_vec()), &session()).messages;
    let summary = Summary {
        text: "They spoke of monads.".into(),
        from: Some(read[0].id.clone()),
        to: Some(read[1].id.clone()),
        count: Some(2),
    };
    let boundary = CompactBoundary {
        trigger: Some(CompactTrigger::Manual),
        tokens_before: Some(40),
        tokens_after: Some(20),
        summary_id: Some("s".into()),
        kept_from: Some(read[2].id.clone()),
    };
    vec![
        Message::new("s", Body::Summary(summary)),
        Message::new("b", Body::CompactBoundary(boundary)),
    ]
}

#[test]
fn a_compaction_hides_what_it_stands_for_wherever_the_file_is() {
    let document = add(TALK, &compaction(TALK));
    let text = String::from_utf8(document.to_bytes()).unwrap();
    assert!(text.contains("[^s1]: [summary] through=2\n"), "{text}");
    assert!(!text.contains("compact_boundary"), "{text}");
    assert!(!text.contains("[details]"), "{text}");
    for name in ["talk.msg.md", "moved/elsewhere.msg.md"] {
        let read = messages(&document, &msgfile::session_of(name));
        assert_eq!(read.problems, []);
        let chain = chain(&read.messages);
        assert_eq!(chain.problems, []);
        let seen: Vec<String> = chain
            .messages
            .iter()
            .map(|message| message.text())
            .collect();
        assert_eq!(
            seen,
            ["They spoke of monads.", "And in one word?"],
            "{name}"
        );
    }
}

#[test]
fn what_was_asked_stays_unanswered_behind_a_compaction_and_a_reminder() {
    let mut new = compaction(TALK);
    let body = Attachment {
        kind: AttachmentKind::Reminder,
        content: "mind the gap".into(),
        data: Raw::parse(r#"{"path":"a"}"#).ok(),
    };
    new.push(Message::new("r", Body::Attachment(body.clone())));
    let document = add(TALK, &new);
    let open: Vec<String> = document
        .unanswered()
        .iter()
        .map(|cell| cell.name().into_owned())
        .collect();
    assert_eq!(open, ["3"]);
    // What the cell cannot say comes back all the same.
    let read = messages(&document, &session()).messages;
    assert_eq!(read[5].body, Body::Attachment(body));
}

#[test]
fn a_result_finds_the_cell_of_its_call() {
    let file = "\
# %%[^1]

[^1]: [markdown]

The weather?

# %%%[^2]

[^2]: [quick]

I look.

# %%%[^2.k3f9qx7a]

[^2.k3f9qx7a]: [tool] name=\"weather\" call_id=\"toolu_1\"

<invoke name=\"weather\">
<parameter name=\"city\">Paris</parameter>
</invoke>
";
    let result = |text: &str| {
        Block::ToolResult(analects_core::ToolResult {
            tool_use_id: "toolu_1".into(),
            content: text.into(),
            is_error: Some(true),
            extra: analects_core::RawMap::new(),
        })
    };
    let content = Content::Blocks(vec![result("nobody runs it")]);
    let said = Message::new(
        "r",
        Body::User(analects_core::User {
            content,
            ..Default::default()
        }),
    );
    let document = add(file, std::slice::from_ref(&said));
    let cell = document.cells().next_back().unwrap();
    assert_eq!(cell.name(), "2.k3f9qx7a.1");
    assert_eq!(cell.attribute("status"), Some("failed"));
    let read = messages(&document, &session());
    assert_eq!(read.problems, []);
    assert_eq!(read.messages.last().unwrap().body, said.body);
}

fn seen(source: &[u8]) -> Vec<String> {
    let read = messages(
        &decode(source.to_vec()),
        &msgfile::session_of("moved.msg.md"),
    );
    assert_eq!(read.problems, []);
    let chain = chain(&read.messages);
    assert_eq!(chain.problems, []);
    chain
        .messages
        .iter()
        .map(|message| message.text())
        .collect()
}

#[test]
fn a_compaction_names_the_last_cell_that_it_stands_for_and_no_other() {
    let loose = TALK
        .replace("# %%[^1]\n\n[^1]: [markdown]\n", "# %%\n")
        .replace("# %%[^3]\n\n[^3]: [markdown]\n", "# %% last \n");
    let document = decode(loose.clone());
    let splice = put_messages(
        &document,
        &session(),
        &compaction(&loose),
        &jiff::tz::TimeZone::UTC,
        &mut Numbers(0),
    )
    .unwrap()
    .splice;
    let text = String::from_utf8(splice.apply(document.source())).unwrap();
    assert!(
        text.starts_with(&loose) && text.contains("through=2"),
        "{text}"
    );
    assert!(!text.contains("[details]"), "{text}");
    let typed = format!("# %%\n\nbefore all\n\n{text}");
    assert_eq!(
        seen(typed.as_bytes()),
        ["They spoke of monads.", "And in one word?"]
    );
}

/// The place of a cell without id is another one when a cell is typed above it.
#[test]
fn a_cell_that_a_compaction_names_gets_an_id_of_its_own() {
    // The second cell has no id, and its place is the id of another one.
    let loose = TALK
        .replace("[^3]", "[^2]")
        .replacen("# %%%[^2]\n\n[^2]: [quick]\n", "# %%\n", 1);
    let document = decode(loose.clone());
    let splice = put_messages(
        &document,
        &session(),
        &compaction(&loose),
        &jiff::tz::TimeZone::UTC,
        &mut Numbers(0),
    )
    .unwrap()
    .splice;
    let bytes = splice.apply(document.source());
    let text = String::from_utf8_lossy(&bytes);
    assert!(
        text.contains("through=3") && text.contains("# %% [^3]"),
        "{text}"
    );
    let typed = format!("# %%\n\nbefore all\n\n{text}");
    assert_eq!(
        seen(typed.as_bytes()),
        ["They spoke of monads.", "And in one word?"]
    );
}

#[test]
fn what_no_cell_of_the_file_is_cannot_be_named() {
    let document = decode(TALK);
    let refused = |new: &[Message]| {
        put_messages(
            &document,
            &session(),
            new,
            &jiff::tz::TimeZone::UTC,
            &mut Numbers(0),
        )
        .unwrap_err()
        .to_string()
    };
    let mut new = compaction(TALK);
    let Body::CompactBoundary(boundary) = &mut new[1].body else {
        panic!()
    };
    boundary.kept_from = Some("lost".into());
    assert!(refused(&new).contains("is not there any more"));
    let lost = Tombstone {
        target: "lost".into(),
        target_parent: None,
    };
    let error = refused(&[Message::new("t", Body::Tombstone(lost))]);
    assert!(error.contains("is not there any more"), "{error}");
    // Of two cells of one id, nothing can name the second.
    let twice = TALK.replace("[^2]", "[^1]");
    let error = put_messages(
        &decode(twice.clone()),
        &session(),
        &compaction(&twice),
        &jiff::tz::TimeZone::UTC,
        &mut Numbers(0),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .starts_with("two cells are called 1")
    );
}

/// Results and reminders name nothing, and nothing that is there changes.
#[test]
fn what_names_nothing_only_grows_the_file() {
    let loose = "# %%\n\none\n\n# %%\n\ntwo\n";
    let body = Attachment {
        kind: AttachmentKind::Reminder,
        content: "mind".into(),
        data: None,
    };
    add(loose, &[Message::new("r", Body::Attachment(body))]);
}

#[test]
fn a_section_that_is_not_named_any_more_is_where_it_was() {
    let file = "---\nmessage_section: Talk\n---\n\n# %% quoted\n\n## Talk\n\n### %% [^1]\n\n[^1]: [markdown]\n\none\n";
    let ids = |document: &Document| -> Vec<String> {
        document
            .cells()
            .filter_map(|cell| Some(cell.id()?.to_string()))
            .collect()
    };
    let mut document = msgfile::decode_named(file, "x.md");
    for (from, to, level) in [
        ("message_section: Talk", "message_section: [Talk", 2),
        ("## Talk", "# Other", 2),
        ("## Talk", "#### Talk", 4),
        ("one", "two", 2),
    ] {
        let changed = file.replace(from, to);
        document.update_within_section(changed.clone().into_bytes());
        assert_eq!(
            (document.kind(), ids(&document)),
            (msgfile::DocumentKind::Section, vec!["1".to_string()])
        );
        assert_eq!(
            document.section().map(|section| section.level),
            Some(level),
            "{to}"
        );
        assert_eq!(document.source(), changed.as_bytes());
        let other =
            document.with_source_within_section(b"## Talk\n\n### %% [^2]\n\n[^2]:\n".to_vec());
        assert_eq!(ids(&other), ["2"]);
        document.update_within_section(file.as_bytes().to_vec());
        assert_eq!(
            document.section(),
            msgfile::decode_named(file, "x.md").section()
        );
    }
    // Without any cell, it is what it says.
    document.update_within_section(b"# Notes\n".to_vec());
    assert_eq!(document.kind(), msgfile::DocumentKind::Plain);
    // A file that was none before does not become one.
    document.update_within_section(b"# Talk\n\n# %%\n\none\n".to_vec());
    assert_eq!(document.kind(), msgfile::DocumentKind::Plain);
}
