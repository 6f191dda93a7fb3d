//! Any bytes are a message file that keeps them. A cell that is appended to it, whatever its text,
//! reads back exactly and changes how no other cell reads.

use analects_core::verbs::{self, Change, VerbError};
use analects_core::{CountingIds, SessionId};
use analects_formats::msgfile::{
    Cell, CellMessages, Document, DocumentKind, NewCell, append, apply, decode_named, edit_text,
    fork, replace,
};

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
    for name in ["any.msg.md", "any.md"] {
        check(bytes, name);
    }
}

fn check(bytes: &[u8], name: &str) {
    let before = decode_named(bytes, name);
    assert_eq!(before.to_bytes(), bytes, "a document keeps its bytes");
    before.problems();
    if before.kind() == DocumentKind::Plain {
        return;
    }
    let text = String::from_utf8_lossy(&bytes[bytes.len() / 2..]).into_owned();
    let cell = NewCell {
        title: text.clone(),
        ..NewCell::reply(before.next_id(), "agent", text.as_str())
    };
    edit(&before, name, &cell);
    if before.is_utf8() {
        change(&before, name, &text);
    }
    let splice = append(&before, &cell.clone().with("note", text.as_str()));
    let after = decode_named(splice.apply(bytes), name);
    // An empty cell that waits at the end of a file waits there again.
    assert_eq!(after.ready_cell().is_some(), before.ready_cell().is_some());
    let readings_after = without_ready(&after);
    let count = readings_after.len() - 1;
    let last = after.cells().nth(count).unwrap_or_else(|| unreachable!());
    assert_eq!(last.content(), text, "the text comes back");
    assert_eq!(last.id(), Some(&*cell.id));
    assert_eq!(last.attribute("note"), Some(text.as_str()));
    assert_eq!(
        readings_after[..count],
        without_ready(&before),
        "every other cell reads as before"
    );
}

/// How the cells read, without the empty one at the end that is ready to be typed into.
fn without_ready(document: &Document) -> Vec<String> {
    let mut readings = readings(document);
    if document.ready_cell().is_some() {
        readings.pop();
    }
    readings
}

/// A cell that is written in the place of another changes no third one.
fn edit(before: &Document, name: &str, cell: &NewCell) {
    let Some(old) = before.cells().nth(before.cells().len() / 2) else {
        return;
    };
    let after = decode_named(replace(before, old, cell).apply(before.source()), name);
    let (mut expected, found) = (readings(before), readings(&after));
    let at = old.ordinal() - 1;
    assert!(
        found
            .get(at)
            .is_some_and(|new| new.ends_with(&format!("{:?}", cell.content)))
    );
    expected[at] = found[at].clone();
    assert_eq!(found, expected, "every other cell reads as before");
}

/// Hiding, rewinding, forking and editing keep what every other cell says, or are refused.
fn change(before: &Document, name: &str, text: &str) {
    let says = |document: &Document| -> Vec<String> {
        document
            .cells()
            .map(|cell| cell.content().into_owned())
            .collect()
    };
    let texts = says(before);
    let count = texts.len();
    let read = CellMessages::of(before, &SessionId::default());
    let made = |changes: Result<Vec<Change>, VerbError>| {
        apply(before, &read, &changes.ok()?, &mut CountingIds::default()).ok()
    };
    for at in [0, count / 2, count.saturating_sub(1)]
        .into_iter()
        .filter(|at| *at < count)
    {
        if let Some(target) = read.target(at) {
            for changes in [
                verbs::drop(&read.messages, target),
                verbs::restore(&read.messages, target),
            ] {
                if let Some(after) = made(changes).filter(|after| after.cells().len() == count) {
                    assert_eq!(says(&after), texts, "what is hidden still says the same");
                }
            }
            if let Some(after) = made(verbs::rewind(&read.messages, Some(&target.message))) {
                let added = after.cells().len() - count;
                assert_eq!(
                    added,
                    usize::from(before.ready_cell().is_none()),
                    "one waits"
                );
                assert_eq!(says(&after)[..count], texts[..]);
            }
        }
        if let Ok(copy) = fork(before, at) {
            let after = says(&decode_named(copy, name));
            assert_eq!(
                after[..=at],
                texts[..=at],
                "a copy says the same up to its cell"
            );
        }
        if let Ok(edited) = edit_text(before, at, text) {
            let mut expected = texts.clone();
            expected[at] = text.to_string();
            assert_eq!(says(&edited), expected, "one text changes");
        }
    }
}

fn readings(document: &Document) -> Vec<String> {
    let reading = |cell: Cell<'_>| {
        let (title, content) = (cell.title(), cell.content());
        format!(
            "{:?} {} {title:?} {:?} {content:?}",
            cell.kind(),
            cell.level(),
            cell.id()
        )
    };
    document.cells().map(reading).collect()
}
