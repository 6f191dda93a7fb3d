//! Any text that a model may answer with, as Markdown on a terminal: how it is cut changes nothing, every
//! escape code is one of a style, and no style stays on.

use crate::Target;
use crate::ui::markdown::Markdown;

pub(crate) const TARGET: Target = Target {
    name: "terminal",
    run,
    tokens: &[
        b"\x1b[31m",
        b"\x1b]0;title\x07",
        "\u{9b}2J".as_bytes(),
        "\u{202e}".as_bytes(),
        b"# ",
        b"**",
        b"__",
        b"~~",
        b"`",
        b"``",
        b"```rust\n",
        b"\n~~~\n",
        b"\n```\n",
        b"> ",
        b"- ",
        b"1. ",
        b"- [ ] ",
        b"    ",
        b"\t",
        b"| a | b |\n",
        b"|---|:-:|\n",
        b"<br>",
        b"&amp;",
        b"[a](b)",
        b"![a](<b> \"c\")",
        b"<https://a.b>",
        b"$$\n",
        b"\\[",
        b"\\]",
        b"$x$",
        b"---\n",
        b"===\n",
        b"\\",
        b"/*",
        b"fn main() { \"a\" }",
    ],
};

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // The width of a terminal is input, too.
    let width = bytes.first().map_or(80, |byte| usize::from(*byte));
    let whole = show(&[&text], width);
    let (left, right) = text.split_at(text.ceil_char_boundary(text.len() / 3));
    assert_eq!(show(&[left, right], width), whole, "a cut changes nothing");
    let mut buffers: Vec<[u8; 4]> = vec![[0; 4]; text.chars().count()];
    let characters = text.chars().zip(&mut buffers);
    let single: Vec<&str> = characters
        .map(|(c, buffer)| &*c.encode_utf8(buffer))
        .collect();
    assert_eq!(
        show(&single, width),
        whole,
        "character by character is the same"
    );
    check(&whole);
}

fn show(pieces: &[&str], width: usize) -> String {
    let mut markdown = Markdown::new(width);
    let mut shown: String = pieces.iter().map(|piece| markdown.push(piece)).collect();
    shown += &markdown.end();
    shown
}

/// No control character reaches the terminal but line ends, tabs and the codes of styles.
fn check(shown: &str) {
    let mut pieces = shown.split("\u{1b}[");
    let mut last_code = "0";
    let first = pieces.next().unwrap_or_default();
    assert!(is_harmless(first), "a control character in {first:?}");
    for piece in pieces {
        let (code, rest) = piece.split_once('m').unwrap_or((piece, ""));
        let is_style = code
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b';');
        assert!(
            is_style && !code.is_empty(),
            "a code that is no style: {piece:?}"
        );
        assert!(is_harmless(rest), "a control character in {rest:?}");
        last_code = code;
    }
    assert_eq!(last_code, "0", "a style stays on");
}

fn is_harmless(text: &str) -> bool {
    text.chars()
        .all(|c| matches!(c, '\n' | '\t') || !c.is_control())
}
