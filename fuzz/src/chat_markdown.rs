//! Any bytes are chat Markdown that keeps them. An item that is added or changed, whatever its text, reads
//! back exactly and changes how no other item reads; and what was read can be written and read again.

use analects_formats::chatmd::{
    ChatItem, ChatMdDocument, Dialect, NewChatItem, Splice, append, decode, encode, messages,
    replace_text, session_json, set_attribute,
};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "chat_markdown",
    run,
    tokens: &[
        b"> ---\n",
        b"\n> ---\n> <USER />\n\n",
        b"\n> ---\n>\n> <ASSISTANT author=\"m\"/>\n\n",
        b"> <SEPERATOR />",
        b"> <TOOL tool_call_id='t'>",
        b"\\> ---\n",
        b">\n",
        b" author=\"a \"b\" c\"",
        b" timestamp=\"2025-05-07 14:01:32\"",
        b" stored=\"lines=2\"",
        b" stored=\"closed\"",
        b" stored=\"apart\"",
        b" content=\"blocks\"",
        b"&quot;",
        b"&#10;",
        b"{: id=\"x\" }\n",
        b"<img src=\"a.png\">\n",
        b"<div style=\"display: flex; flex-direction: column; gap: 10px;\">\n",
        b"</div>\n",
        b"---\nchat: x\n---\n",
        b"```\n",
        b"```js\n",
        b"~~~",
        b"- ```\n",
        b"   ```\n",
        b"\"",
        b"'",
        b"/>",
    ],
};

fn run(bytes: &[u8]) {
    let before = decode(bytes);
    assert_eq!(before.to_bytes(), bytes, "a document keeps its bytes");
    before.problems();
    let text = String::from_utf8_lossy(&bytes[bytes.len() / 2..]).into_owned();
    add(&before, &text);
    change(&before, &text);
    write(&before);
    session_json::decode(bytes);
}

fn add(before: &ChatMdDocument, text: &str) {
    let item = NewChatItem::new("USER", text).with("note", text);
    let after = decode(append(before, &item).apply(before.source()));
    let (expected, found) = (readings(before), readings(&after));
    assert_eq!(found.len(), expected.len() + 1, "one item more");
    assert_eq!(
        found[..expected.len()],
        *expected,
        "every other item reads as before"
    );
    let last = after.item(expected.len());
    assert_eq!(
        last.map(ChatItem::text).as_deref(),
        Some(text),
        "the text comes back"
    );
    assert_eq!(
        last.and_then(|last| last.attribute("note")).as_deref(),
        Some(text)
    );
}

fn change(before: &ChatMdDocument, text: &str) {
    let at = before.items().len() / 2;
    let Some(item) = before.item(at) else { return };
    let others = |document: &ChatMdDocument| {
        let mut found = readings(document);
        found.remove(at);
        found
    };
    let splices = replace_text(before, item, text);
    let after = decode(Splice::apply_all(&splices, before.source()));
    assert_eq!(
        after.item(at).map(ChatItem::text).as_deref(),
        Some(text),
        "the text comes back"
    );
    assert_eq!(
        others(&after),
        others(before),
        "every other item reads as before"
    );
    if let Ok(splices) = set_attribute(item, "author", Some(text)) {
        let after = decode(Splice::apply_all(&splices, before.source()));
        assert_eq!(
            others(&after),
            others(before),
            "every other item reads as before"
        );
        let same = after.item(at).map(|item| item.text().into_owned());
        assert_eq!(same.as_deref(), Some(&*item.text()), "the text stays");
    }
}

fn write(before: &ChatMdDocument) {
    let session = before.session();
    let read = messages(before, &"s".into()).messages;
    for dialect in [Dialect::Ours, Dialect::V1, Dialect::V2] {
        let (text, losses) = encode(&read, &session, dialect);
        let again = messages(&decode(text), &"s".into()).messages;
        if losses.is_empty() {
            assert_eq!(again, read, "what was read is written");
        }
    }
}

fn readings(document: &ChatMdDocument) -> Vec<String> {
    let reading = |item: ChatItem<'_>| {
        let (name, text) = (item.name().into_owned(), item.text());
        format!(
            "{name} {:?} {:?} {text:?}",
            item.attributes(),
            item.note_attributes()
        )
    };
    document.items().map(reading).collect()
}
