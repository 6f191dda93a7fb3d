//! Messages that are added to a file that is there: they follow it, and name what they mean by cells.

use analects_core::{
    Attachment, AttachmentKind, Block, Body, CompactBoundary, CompactTrigger, Content, Message,
    Raw, SessionId, Summary, Tombstone, chain,
};

use crate::msgfile::{self, Document, added, append_all, decode, messages};

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
    let made = added(&document, &session(), new, &mut Numbers(0));
    let mut bytes = append_all(&document, &made.cells).apply(document.source());
    for line in &made.residue {
        bytes = msgfile::add_residue(&document.with_source(bytes), line);
    }
    assert!(bytes.starts_with(file.as_bytes()), "nothing before it changes");
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
    assert!(text.contains("from=1 to=2 count=2"), "{text}");
    assert!(text.contains("summary_id=4 kept_from=3"), "{text}");
    assert!(!text.contains("residue"), "{text}");
    for name in ["talk.msg.md", "moved/elsewhere.msg.md"] {
        let read = messages(&document, &msgfile::session_of(name));
        assert_eq!(read.problems, []);
        let chain = chain(&read.messages);
        assert_eq!(chain.problems, []);
        let seen: Vec<String> = chain.messages.iter().map(|message| message.text()).collect();
        assert_eq!(seen, ["They spoke of monads.", "And in one word?"], "{name}");
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
    let open: Vec<String> =
        document.unanswered().iter().map(|cell| cell.name().into_owned()).collect();
    assert_eq!(open, ["3"]);
    // What the cell cannot say comes back all the same.
    let read = messages(&document, &session()).messages;
    assert_eq!(read[5].body, Body::Attachment(body));
}

#[test]
fn a_compaction_can_be_undone_in_the_file() {
    let document = add(TALK, &compaction(TALK));
    let read = messages(&document, &session()).messages;
    let hide = |target: usize| {
        let target_parent = read[target].parent_id.clone();
        Body::Tombstone(Tombstone { target: read[target].id.clone(), target_parent })
    };
    let text = String::from_utf8(document.to_bytes()).unwrap();
    let undone = add(&text, &[Message::new("t", hide(4)), Message::new("u", hide(3))]);
    let read = messages(&undone, &msgfile::session_of("moved.msg.md")).messages;
    let seen: Vec<String> = chain(&read).messages.iter().map(|message| message.text()).collect();
    assert_eq!(seen, ["What is a monad?", "A monoid.", "And in one word?"]);
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
    let said = Message::new("r", Body::User(analects_core::User { content, ..Default::default() }));
    let document = add(file, std::slice::from_ref(&said));
    let cell = document.cells().next_back().unwrap();
    assert_eq!(cell.name(), "2.k3f9qx7a.1");
    assert_eq!(cell.attribute("status").as_deref(), Some("failed"));
    let read = messages(&document, &session());
    assert_eq!(read.problems, []);
    assert_eq!(read.messages.last().unwrap().body, said.body);
}
