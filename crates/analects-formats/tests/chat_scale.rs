//! Large and hostile chat Markdown takes linear time, and no stack.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use analects_formats::chatmd::{
    ChatSessionInfo, Dialect, NewChatItem, append, decode, encode, messages, replace_text,
    session_json, set_attribute,
};

/// Everything that can be done with a file.
fn everything(file: &[u8]) {
    let document = decode(file);
    document.problems();
    document.system_prompt();
    let read = messages(&document, &"s".into()).messages;
    append(&document, &NewChatItem::new("USER", "x"));
    if let Some(item) = document.item(0) {
        replace_text(&document, item, "x");
        set_attribute(item, "author", Some("x")).ok();
    }
    for dialect in [Dialect::Ours, Dialect::V2] {
        let (text, _) = encode(&read, &ChatSessionInfo::default(), dialect);
        decode(text);
    }
    session_json::encode(&read, &ChatSessionInfo::default());
}

/// A file made of `count` pieces and one made of four times as many: the second may take about four times
/// as long, where a quadratic path would take sixteen times.
#[track_caller]
fn check(name: &str, count: usize, file: impl Fn(usize) -> Vec<u8>, work: impl Fn(&[u8])) {
    let time = |count: usize| {
        let file = file(count);
        let start = Instant::now();
        work(&file);
        start.elapsed()
    };
    // Other programs take their share of the machine, too: one round of three must do.
    let mut last = (Duration::ZERO, Duration::ZERO);
    let holds = (0..3).any(|_| {
        last = (time(count).min(time(count)), time(4 * count));
        last.1 < 8 * last.0 + Duration::from_millis(100)
    });
    assert!(holds, "{name}: {:?} became {:?}", last.0, last.1);
}

#[track_caller]
fn check_repeated(before: &str, piece: &str, count: usize, after: &str) {
    let file = |count| format!("{before}{}{after}", piece.repeat(count)).into_bytes();
    check(piece, count, file, everything);
}

#[test]
fn a_hundred_thousand_tags() {
    let file = "> ---\n> <USER />\nx\n\n".repeat(100_000);
    let document = decode(file.as_str());
    assert_eq!(document.items().len(), 100_000);
    assert_eq!(document.problems(), vec![]);
    for piece in [
        "> ---\n> <USER />\nx\n\n",
        "> ---\n>\n> <NOTE stored=\"lines=9\" ?? prompt=\"x\" />\n{: a=\"b\" }\n",
        "> ---\n> <USER stored=\"apart\" />\n```\n",
        "> ---\n> <SEPERATOR />\ntext\n",
        "> ---\n",
        "> ---\n>\n",
        ">---\n> <USER />\n",
        "\\> ---\n> <USER />\n",
        "> <USER />\n",
    ] {
        check_repeated("", piece, 500, "");
        check_repeated("> ---\n> <USER />\n\n", piece, 500, "");
    }
}

#[test]
fn fences_that_nobody_closes() {
    for piece in [
        "```x\n",
        "```x\n> ---\n> <USER />\n",
        "```x\n> ---\n> <USER />\n```y\n",
        "~~~\n> ---\n> <USER />\n```y\n",
        "  ```x\n",
        "- ```x\n",
        "```\n",
    ] {
        check_repeated("> ---\n> <USER />\n\n", piece, 800, "");
    }
    let longer = |count: usize| -> String {
        (3..count)
            .map(|run| format!("{}x\n> ---\n> <USER />\n", "`".repeat(run)))
            .collect()
    };
    // These grow with the square of the count by themselves.
    everything(longer(600).as_bytes());
}

#[test]
fn long_lines() {
    let file = format!("> ---\n> <USER />\n\n{}\n", "x".repeat(10_000_000));
    assert_eq!(
        decode(file.as_str()).item(0).unwrap().text().len(),
        10_000_000
    );
    everything(file.as_bytes());
    for piece in [
        "a ",
        "a=\"b\" ",
        "a=\"",
        "\" a=",
        "' ",
        "a='",
        "? ",
        "\"",
        "\" b=\" ",
        "=\"x\" ",
        "> ",
        "/> ",
        "&quot;",
        "&",
        "&#",
        "stored=\"apart\" ",
        "author=\"a\" ",
        "kramdown=\"x\" ",
    ] {
        check_repeated("> ---\n> <USER ", piece, 500, "/>\n\nx\n");
        check_repeated("> ---\n> <USER ", piece, 500, "\n\nx\n");
        check_repeated("> ---\n> <USER />\n{: ", piece, 500, "}\n\nx\n");
        check_repeated("> ---\n> <USER />\n\n<img src=\"a\" ", piece, 500, ">\n");
    }
    check_repeated("> ---\n> <USER />\n\n", "\\", 20_000, "> ---\n> <USER />\n");
    check_repeated("> ---\n> <USER />\n\n", "<img ", 20_000, "\n");
}

#[test]
fn many_pictures() {
    let div = "<div style=\"display: flex; flex-direction: column; gap: 10px;\">\n";
    let head = "> ---\n> <USER />\n\n";
    check_repeated(head, div, 800, "");
    check_repeated(head, "<img src=\"a\">\n", 800, "");
    check_repeated(&format!("{head}{div}"), "<img src=\"a\">\n", 800, "");
    check_repeated(
        &format!("{head}{div}"),
        "<img src=\"a\">\n",
        800,
        "</div>\n",
    );
    check_repeated(head, &format!("{div}<img src=\"a\">\n"), 800, "");
    check_repeated(head, "text\n<img src=\"a\">\n", 800, "");
}

#[test]
fn bytes_that_are_no_text() {
    let file = |count| [b"> ---\n> <USER />\n".to_vec(), b"a\xff".repeat(count)].concat();
    check("bad bytes", 50_000, file, everything);
}

#[test]
fn hostile_frontmatter() {
    for piece in ["[", "{a: ", "- ", "? ", "a:\n  ", "x: 1\n", "> ---\n"] {
        check_repeated(
            "---\nchat: x\n",
            piece,
            5_000,
            "\n---\n> ---\n> <USER />\nx\n",
        );
    }
}

#[test]
fn hostile_json() {
    let work = |file: &[u8]| {
        let (session, read) = session_json::decode(file);
        session_json::encode(&read.messages, &session);
        encode(&read.messages, &session, Dialect::Ours);
    };
    let pieces = [
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}},",
        "{\"type\":\"seperator\"},",
        "7,",
    ];
    for piece in pieces {
        let file = |count| format!("{{\"items\":[{}0]}}", piece.repeat(count)).into_bytes();
        check(piece, 2_000, file, work);
    }
    for field in [
        "\"author\":1,",
        "\"x\":1,",
        "\"message\":1,",
        "\"kramdown\":{},",
        "\"text\":\"x\",",
    ] {
        let file = |count| {
            let fields = field.repeat(count);
            let message = "\"message\":{\"role\":\"user\",\"content\":\"x\"}";
            format!("{{\"items\":[{{{fields}\"type\":\"message\",{message}}}]}}").into_bytes()
        };
        check(field, 2_000, file, work);
    }
    let parts = |count| {
        let part = "{\"type\":\"text\",\"text\":\"x\"},".repeat(count);
        format!("{{\"items\":[{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":[{part}1]}}}}]}}")
            .into_bytes()
    };
    check("parts", 2_000, parts, work);
}
