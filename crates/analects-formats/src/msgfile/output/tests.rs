//! Tests of code output: how it looks, what is read by hand, and that it comes back.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn check(pieces: &[OutputChunk], text: &str, base64: bool) {
    let encoded = encode(pieces);
    assert_eq!((encoded.text.as_str(), encoded.base64), (text, base64));
    assert_eq!(decode(text, base64), (merge(pieces), Vec::new()));
}

#[test]
fn how_pieces_look() {
    check(&[], "", false);
    check(&[OutputChunk::stdout("")], "", false);
    check(&[OutputChunk::stdout("a")], "stdout>\\ a", false);
    check(&[OutputChunk::stdout("a\n")], "stdout> a", false);
    check(&[OutputChunk::stdout("\n")], "stdout> ", false);
    check(&[OutputChunk::stdout("\n\n")], "stdout> \nstdout> ", false);
    check(&[OutputChunk::stderr(" a ")], "stderr>\\  a ", false);
    check(
        &[OutputChunk::stdout("a\r\nb\rc\n")],
        "stdout> a\r\nstdout> b\rc",
        false,
    );
    check(
        &[OutputChunk::stdout("\u{2028}\0")],
        "stdout>\\ \u{2028}\0",
        false,
    );
    check(
        &[OutputChunk::stdout("stdout> a\n")],
        "stdout> stdout> a",
        false,
    );
    check(&[OutputChunk::stdout("\\ a\n")], "stdout> \\ a", false);
    check(
        &[
            OutputChunk::stdout("a"),
            OutputChunk::stderr("b"),
            OutputChunk::stdout("\n"),
        ],
        "stdout>\\ a\nstderr>\\ b\nstdout> ",
        false,
    );
}

#[test]
fn neighbours_of_one_stream_are_one_piece() {
    let cut = [
        OutputChunk::stdout("论"),
        OutputChunk::stderr(""),
        OutputChunk::stdout("语\n"),
        OutputChunk::stdout("b"),
    ];
    assert_eq!(merge(&cut), [OutputChunk::stdout("论语\nb")]);
    check(&cut, "stdout> 论语\nstdout>\\ b", false);
    // Half a character in each: the pieces are not text, the stream is.
    check(
        &[OutputChunk::stdout([0xc3]), OutputChunk::stdout([0xa9])],
        "stdout>\\ é",
        false,
    );
}

#[test]
fn output_that_is_not_utf8() {
    check(&[OutputChunk::stdout([0xff])], "stdout> /w==", true);
    check(
        &[
            OutputChunk::stdout([0xc3]),
            OutputChunk::stderr("a\nb\n"),
            OutputChunk::stdout([0xa9]),
        ],
        "stdout> ww==\nstderr> YQpiCg==\nstdout> qQ==",
        true,
    );
    let long = encode(&[OutputChunk::stdout([0xff; 1000])]);
    assert_eq!(
        long.text.lines().count(),
        1,
        "a piece is one line, however long"
    );
}

#[test]
fn lines_written_by_hand() {
    let table: [(&str, bool, Vec<OutputChunk>, &[usize]); 12] = [
        ("stdout>", false, vec![OutputChunk::stdout("\n")], &[]),
        ("stderr>\\", false, vec![], &[]),
        ("stdout> a\n", false, vec![OutputChunk::stdout("a\n")], &[]),
        (
            "stdout>\\ a\nstdout> b",
            false,
            vec![OutputChunk::stdout("ab\n")],
            &[],
        ),
        (
            "a\n\nstderr> b",
            false,
            vec![OutputChunk::stdout("a\n\n"), OutputChunk::stderr("b\n")],
            &[1, 2],
        ),
        (
            "stdout>a",
            false,
            vec![OutputChunk::stdout("stdout>a\n")],
            &[1],
        ),
        (
            "stdout>\\a",
            false,
            vec![OutputChunk::stdout("stdout>\\a\n")],
            &[1],
        ),
        (
            " stdout> a",
            false,
            vec![OutputChunk::stdout(" stdout> a\n")],
            &[1],
        ),
        (
            "stdin> a",
            false,
            vec![OutputChunk::stdout("stdin> a\n")],
            &[1],
        ),
        (
            "stdout> Y Q = =\r\nstderr>\\ Yg==",
            true,
            vec![OutputChunk::stdout("a"), OutputChunk::stderr("b")],
            &[],
        ),
        (
            "stderr> YQ=\nstdout> ",
            true,
            vec![OutputChunk::stderr("YQ=\n")],
            &[1],
        ),
        ("YQ==", true, vec![OutputChunk::stdout("YQ==\n")], &[1]),
    ];
    for (text, base64, pieces, odd) in table {
        assert_eq!(decode(text, base64), (pieces, odd.to_vec()), "{text:?}");
    }
}

#[test]
fn much_output_takes_no_noticeable_time() {
    let lines = [
        OutputChunk::stdout("\n".repeat(500_000)),
        OutputChunk::stderr("x".repeat(5_000_000)),
    ];
    let turns: Vec<OutputChunk> = (0..100_000)
        .map(|n| {
            if n % 2 == 0 {
                OutputChunk::stdout("a")
            } else {
                OutputChunk::stderr([0xff])
            }
        })
        .collect();
    for pieces in [&lines[..], &turns[..]] {
        let encoded = encode(pieces);
        assert_eq!(decode(&encoded.text, encoded.base64).0, pieces);
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let parts = [
        "\n",
        "\r",
        "\r\n",
        "a",
        " ",
        "stdout> ",
        "stderr>\\ ",
        "\\",
        "\0",
        "论",
        "\u{85}",
    ];
    let text = vec(select(parts.to_vec()), 0..6).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![4 => text, 1 => any::<String>().prop_map(String::into_bytes), 1 => vec(any::<u8>(), 0..6)]
}

fn chunks() -> impl Strategy<Value = Vec<OutputChunk>> {
    let stream = select(vec![Stream::Stdout, Stream::Stderr]);
    vec(
        (stream, bytes()).prop_map(|(stream, bytes)| OutputChunk { stream, bytes }),
        0..8,
    )
}

/// How many cases to try; `PROPTEST_CASES` asks for more.
fn cases(usual: u32) -> u32 {
    ProptestConfig::default().cases.max(usual)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    #[test]
    fn pieces_come_back(pieces in chunks()) {
        let encoded = encode(&pieces);
        prop_assert!(!encoded.text.ends_with('\n'));
        prop_assert_eq!(decode(&encoded.text, encoded.base64), (merge(&pieces), vec![]));
    }

    #[test]
    fn what_was_read_comes_back(text in bytes(), base64 in any::<bool>()) {
        let (pieces, _) = decode(&String::from_utf8_lossy(&text), base64);
        prop_assert_eq!(merge(&pieces), pieces.clone(), "already merged");
        let encoded = encode(&pieces);
        prop_assert_eq!(decode(&encoded.text, encoded.base64), (pieces, vec![]));
    }
}
