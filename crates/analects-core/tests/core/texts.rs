//! Text that grows step by step, with halves of surrogate pairs in any position.

use std::time::{Duration, Instant};

use super::*;

fn text(literal: &str) -> Text {
    Text::from_json(literal).unwrap()
}

/// Strings in JSON's spelling, without the quotes.
fn inside() -> BoxedStrategy<String> {
    let tokens = vec![
        "a",
        "你",
        "\\n",
        "\\\\",
        "\\\\ud83d",
        "\\u0041",
        "\\ud83d",
        "\\ude00",
        "\\uD83D",
        "\\uDE00",
        "\\ud83d\\ude00",
        "😀",
        "\\ud7ff",
        "\\ue000",
        "\\u2028",
    ];
    let tokens = proptest::collection::vec(proptest::sample::select(tokens), 0..5);
    tokens.prop_map(|tokens| tokens.concat()).boxed()
}

/// The definition of pushing: concatenate the spellings and read them as one string.
fn slow_push(left: &Text, right: &Text) -> Text {
    let left = left.to_json();
    let right = right.to_json();
    text(&format!("{}{}", &left[..left.len() - 1], &right[1..]))
}

fn hash(text: &Text) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

proptest! {
    #[test]
    fn pushing_is_joining_the_spellings(pieces in proptest::collection::vec(inside(), 0..8)) {
        let mut fast = Text::default();
        let mut slow = Text::default();
        for piece in &pieces {
            let piece = text(&format!("\"{piece}\""));
            fast.push(&piece);
            slow = slow_push(&slow, &piece);
            prop_assert_eq!(&fast, &slow);
            prop_assert_eq!(hash(&fast), hash(&slow));
            prop_assert_eq!(fast.to_json(), slow.to_json());
            prop_assert_eq!(fast.as_str(), slow.as_str());
            prop_assert_eq!(matches!(fast, Text::Plain(_)), matches!(slow, Text::Plain(_)));
        }
    }

    #[test]
    fn a_high_end_that_is_taken_and_pushed_back_changes_nothing(inside in inside()) {
        let whole = text(&format!("\"{inside}\""));
        let mut left = whole.clone();
        let end = left.take_high_end();
        let mut joined = whole.clone();
        joined.push(&text(r#""\ude00""#));
        prop_assert_eq!(!end.is_empty(), joined.as_str().len() == left.as_str().len() + 4);
        left.push(&end);
        prop_assert_eq!(left.as_str(), whole.as_str());
    }
}

#[test]
fn halves_meet_at_the_seam_and_the_text_is_plain_when_none_is_alone() {
    let mut broken = text(r#""\ude00a\ud83d""#);
    broken.push(&text(r#""\ude00""#));
    assert_eq!(broken.to_json(), r#""\ude00a\ud83d\ude00""#);
    assert_eq!(broken.as_str(), "\u{fffd}a😀");
    let mut mended = text(r#""a\ud83d""#);
    mended.push(&Text::default());
    mended.push(&text(r#""\ude00""#));
    assert_eq!(mended, Text::Plain("a😀".to_string()));
}

#[test]
fn many_pieces_take_time_in_proportion() {
    const PIECES: usize = 200_000;
    let cases = [
        vec![text(r#""\ud83d""#), text("\" and more\"")],
        vec![
            text("\" words \""),
            text(r#""\ud83d""#),
            text(r#""\ude00""#),
        ],
        vec![text(r#""\ud83d\ud83d""#), text(r#""\ude00""#)],
    ];
    for pieces in cases {
        let begin = Instant::now();
        let mut whole = Text::default();
        for piece in pieces.iter().cycle().take(PIECES) {
            whole.push(piece);
        }
        assert!(
            begin.elapsed() < Duration::from_secs(5),
            "{:?}",
            begin.elapsed()
        );
    }
}

/// Queries come in any order, and the results do not depend on it.
#[test]
fn places_are_counted_in_lines_and_bytes() {
    let source: Vec<u8> = (0..3000_u32)
        .flat_map(|line| {
            "x".repeat(line as usize % 7)
                .into_bytes()
                .into_iter()
                .chain(*b"\n")
        })
        .collect();
    let naive = |offset: usize| {
        let before = &source[..offset.min(source.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        (
            line,
            before
                .iter()
                .rev()
                .take_while(|byte| **byte != b'\n')
                .count()
                + 1,
        )
    };
    let lines = LineIndex::new(&source);
    let mut offset = 0;
    let end = source.len();
    for step in 0..3000 {
        offset = (offset + step * 37) % (end + 9);
        assert_eq!(lines.position(offset), naive(offset), "{offset}");
        assert_eq!(lines.position(offset), naive(offset), "{offset} again");
        assert_eq!(
            lines.position(offset + 1),
            naive(offset + 1),
            "{offset} and the next"
        );
    }
}
