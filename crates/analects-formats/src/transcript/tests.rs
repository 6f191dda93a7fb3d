//! Transcripts survive damage line by line.

use analects_core::Message;

use super::*;

mod damage;
mod envelopes;

#[test]
fn messages_come_back() {
    let messages = vec![
        Message::user("a", "one\ntwo\u{2028}three"),
        Message::assistant("b", "ok"),
    ];
    let text: String = messages.iter().map(encode).collect();
    assert_eq!(text.lines().count(), 2);
    let decoded = decode(text.as_bytes());
    assert_eq!((decoded.messages, decoded.problems), (messages, vec![]));
}

#[test]
fn a_cut_at_every_byte_costs_the_torn_line_only() {
    let text = [
        encode(&Message::user("a", "one")),
        encode(&Message::user("b", "é two")),
    ]
    .concat();
    let first = text.find('\n').unwrap();
    for cut in 0..text.len() {
        let decoded = decode(&text.as_bytes()[..cut]);
        // A line that lacks nothing but its line end is whole.
        let whole = usize::from(cut >= first) + usize::from(cut == text.len() - 1);
        assert_eq!(decoded.messages.len(), whole, "cut at {cut}");
        let torn = cut != 0 && cut != first && cut != first + 1 && cut != text.len() - 1;
        assert_eq!(decoded.problems.len(), usize::from(torn), "cut at {cut}");
    }
}

#[test]
fn damaged_lines_are_reported_with_their_place() {
    let good = encode(&Message::user("a", "one"));
    let bytes = [
        good.as_bytes(),
        b"\0\0\0\n",
        good.as_bytes(),
        b"\xff{}\n[1]\n\n",
    ]
    .concat();
    let decoded = decode(&bytes);
    assert_eq!(decoded.messages.len(), 2);
    let places: Vec<_> = decoded
        .problems
        .iter()
        .map(|p| (&*p.code, p.line))
        .collect();
    assert_eq!(
        places,
        [
            ("nul-run", 2),
            ("not-utf8", 4),
            ("unreadable-line", 4),
            ("unreadable-line", 5)
        ]
    );
}
