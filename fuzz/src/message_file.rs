//! Any bytes are a message file that keeps them. A cell that is appended to it, whatever its text,
//! reads back exactly and changes how no other cell reads.

use analects_formats::msgfile::{Cell, Document, NewCell, append, decode};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "message_file",
    run,
    tokens: &[
        b"# %%",
        b"# %%%",
        b"## %% title",
        b"###### %%",
        b"[^1]",
        b"[^2]: ",
        b"\n\n[^1]: [markdown]\n\n",
        b"\n# %% [^1]\n\n[^1]: [code]\n\n",
        b"\\# %%",
        b"\\\\# %%%",
        b" stored=\"lines=2\"",
        b"---\n",
        b"```\n",
        b"~~~",
        b" key=\"v\"",
        b" [flag=1]",
        b"\n\n\n",
        b"\t",
        b"\"",
        b"'",
        b"\\u{",
    ],
};

fn run(bytes: &[u8]) {
    let before = decode(bytes);
    assert_eq!(before.to_bytes(), bytes, "a document keeps its bytes");
    let text = String::from_utf8_lossy(&bytes[bytes.len() / 2..]).into_owned();
    let cell =
        NewCell { title: text.clone(), ..NewCell::reply(before.next_id(), "agent", text.as_str()) };
    let after = decode(&append(&before, &cell.clone().with("note", text.as_str())).apply(bytes));
    let count = after.cells.len() - 1;
    let last = &after.cells[count];
    assert_eq!(after.content(last), text, "the text comes back");
    assert_eq!(last.id.as_ref(), Some(&cell.id));
    assert_eq!(last.attribute("note"), Some(text.as_str()));
    // An empty cell that waits at the end of a file is filled, so it may be gone.
    let expected = readings(&before);
    let kept = &expected[..count];
    assert!(expected.len() - kept.len() <= 1, "at most the empty cell at the end is gone");
    assert_eq!(readings(&after)[..count], *kept, "every other cell reads as before");
}

fn readings(document: &Document) -> Vec<String> {
    let reading = |cell: &Cell| {
        let content = document.content(cell);
        format!("{:?} {} {:?} {:?} {content:?}", cell.kind, cell.level, cell.title, cell.id)
    };
    document.cells.iter().map(reading).collect()
}
