//! Events however the bytes are cut, and against a slow reader that has them all at once.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn split(pieces: &[&[u8]]) -> Vec<Result<SseEvent, TooLong>> {
    let mut splitter = SseSplitter::default();
    pieces
        .iter()
        .flat_map(|piece| splitter.push(piece))
        .collect()
}

fn event(data: &str) -> Result<SseEvent, TooLong> {
    Ok(SseEvent {
        data: data.to_string(),
    })
}

#[test]
fn all_line_ends_comments_and_several_data_lines() {
    let stream = "\u{feff}: hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata\rdata:  3\r\r: x\n\ndata: 4\n\n";
    let expected = [event("1\n2"), event("\n 3"), event("4")];
    assert_eq!(split(&[stream.as_bytes()]), expected);
}

#[test]
fn types_and_ids_are_not_kept_however_long() {
    const LONG: usize = 1024 * 1024;
    let names = format!("id: {0}\nevent: {0}\nretry: {0}\n", "7".repeat(LONG));
    let mut splitter = SseSplitter::default();
    assert_eq!(splitter.push(format!("{names}\n").as_bytes()), []);
    let events = splitter.push("data: a\n\n".repeat(10_000).as_bytes());
    let kept: usize = events
        .iter()
        .map(|event| event.as_ref().unwrap().data.capacity())
        .sum();
    assert!(events.len() == 10_000 && kept < LONG, "{kept}");
}

#[test]
fn an_event_without_data_is_none() {
    assert_eq!(split(&[b"event: a\n\n\n\ndata: b\n\n"]), [event("b")]);
}

#[test]
fn broken_utf8_becomes_replacement_characters() {
    let stream = b"data: a\xff\xc3\ndata: \xe4\xbd\xa0\n\n";
    assert_eq!(split(&[stream]), [event("a\u{fffd}\u{fffd}\n你")]);
}

#[test]
fn an_unfinished_event_comes_at_the_end() {
    for stream in ["data: a\n", "data: a", "data: a\r"] {
        let mut splitter = SseSplitter::default();
        assert_eq!(splitter.push(stream.as_bytes()), []);
        assert_eq!(splitter.finish(), [event("a")]);
        assert_eq!(splitter.finish(), []);
    }
}

#[test]
fn an_event_over_the_limit_is_reported_once_and_skipped() {
    for piece in 1..40 {
        let mut splitter = SseSplitter::with_limit(16);
        let stream = b"data: 0123456789abcdef\ndata: more\n\ndata: next\n\n";
        let events: Vec<_> = stream
            .chunks(piece)
            .flat_map(|bytes| splitter.push(bytes))
            .collect();
        assert_eq!(
            events,
            [Err(TooLong { limit: 16 }), event("next")],
            "{piece}"
        );
    }
}

#[test]
fn a_large_event_takes_one_pass() {
    let mut stream = b"data: ".to_vec();
    stream.resize(16 * 1024 * 1024, b'x');
    stream.extend_from_slice(b"\n\n");
    let mut splitter = SseSplitter::default();
    let events: Vec<_> = stream
        .chunks(1400)
        .flat_map(|piece| splitter.push(piece))
        .collect();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].as_ref().unwrap().data.len(), stream.len() - 8);
}

/// The standard's rules, word by word, on the whole text.
fn reference(bytes: &[u8]) -> Vec<Result<SseEvent, TooLong>> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut data = String::new();
    let mut lines: Vec<_> = text.split('\n').collect();
    lines.pop();
    let mut out = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            _ if line.is_empty() => {
                if let Some(data) = data.strip_suffix('\n') {
                    out.push(event(data));
                }
                data = String::new();
            }
            "data" => data = format!("{data}{value}\n"),
            _ => {}
        }
    }
    out
}

fn token() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"data",
        b"event",
        b"id",
        b":",
        b" ",
        b"x",
        b"retry: 1",
        b"\xef\xbb\xbf",
        b"\xe4\xbd",
        b"\xa0",
        b"\xff",
        b"\0",
        b"data: {\"a\":1}\n\n",
    ];
    proptest::sample::select(known).prop_map(<[u8]>::to_vec)
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_agree_with_the_reference(
        tokens in proptest::collection::vec(token(), 0..40),
        pieces in proptest::collection::vec(1usize..7, 1..40),
    ) {
        let stream = tokens.concat();
        let mut splitter = SseSplitter::default();
        let (mut events, mut rest) = (Vec::new(), stream.as_slice());
        for size in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            events.extend(splitter.push(piece));
            rest = after;
        }
        prop_assert_eq!(events, reference(&stream));
    }
}
