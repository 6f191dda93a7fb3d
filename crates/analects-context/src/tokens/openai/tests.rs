//! Generates the two tables from published data and compares them, and checks counts against `tiktoken`.

mod published;

use std::path::{Path, PathBuf};

use analects_testkit::how_many;
use proptest::prelude::*;
use regex_syntax::hir::{Class, HirKind};
use regex_syntax::parse;

use super::super::Tokenizer;
use super::split::{BLOCK_LEN, BLOCKS, SPLIT_CLASSES, SplitClass};
use super::{BUCKETS, O200k, bucket, bucket_of, merge, rank, split};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name)
}

/// All tokens, in the order of their ranks.
fn tokens() -> Vec<&'static [u8]> {
    let mut ranked: Vec<_> = (0..BUCKETS).flat_map(bucket).collect();
    ranked.sort_unstable();
    assert!(
        ranked
            .iter()
            .enumerate()
            .all(|(at, (rank, _))| *rank as usize == at)
    );
    ranked.into_iter().map(|(_, token)| token).collect()
}

/// Builds the table of a vocabulary.
fn table_of(tokens: &[&[u8]]) -> Vec<u8> {
    let mut buckets = vec![Vec::new(); BUCKETS];
    for (rank, token) in tokens.iter().enumerate() {
        let bucket = &mut buckets[bucket_of(token)];
        bucket.extend_from_slice(&rank.to_le_bytes()[..3]);
        bucket.push(token.len() as u8);
        bucket.extend_from_slice(token);
    }
    let mut start = 4 * (BUCKETS + 1);
    let mut table = Vec::new();
    for bucket in &buckets {
        table.extend((start as u32).to_le_bytes());
        start += bucket.len();
    }
    table.extend((start as u32).to_le_bytes());
    table.extend(buckets.concat());
    table
}

/// Builds the table of character classes from the Unicode data of the regular expressions.
fn table_of_characters() -> Vec<u8> {
    let mut kinds = vec![0; BLOCKS * BLOCK_LEN];
    for (class, kind) in [
        (r"[\p{Lu}\p{Lt}]", SplitClass::Upper),
        (r"\p{Ll}", SplitClass::Lower),
        (r"[\p{Lm}\p{Lo}]", SplitClass::Caseless),
        (r"\p{M}", SplitClass::Mark),
        (r"\p{N}", SplitClass::Number),
        (r"\s", SplitClass::Space),
    ] {
        let number = SPLIT_CLASSES.iter().position(|it| *it == kind).unwrap() as u8;
        let HirKind::Class(Class::Unicode(class)) = parse(class).unwrap().into_kind() else {
            panic!()
        };
        for range in class.ranges() {
            kinds[range.start() as usize..=range.end() as usize].fill(number);
        }
    }
    let mut numbers = Vec::new();
    let mut blocks: Vec<&[u8]> = Vec::new();
    for block in kinds.chunks(BLOCK_LEN) {
        let known = blocks.iter().position(|it| *it == block);
        numbers.push(known.unwrap_or(blocks.len()) as u8);
        if known.is_none() {
            blocks.push(block);
        }
    }
    assert!(blocks.len() <= 256);
    [numbers, blocks.concat()].concat()
}

/// Compares a table with the file of this name, or writes the file on request.
#[track_caller]
fn check_data(name: &str, table: &[u8]) {
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        std::fs::write(data(name), table).unwrap();
    }
    assert!(
        std::fs::read(data(name)).unwrap() == table,
        "data/{name}: set ANALECTS_BLESS=1 to write it"
    );
}

#[test]
fn the_vocabulary_is_the_published_one() {
    // Another list to use is named here.
    if let Some(list) = std::env::var_os("ANALECTS_O200K") {
        let tokens = published::read(&std::fs::read_to_string(list).unwrap());
        let tokens: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
        return check_data("o200k.bin", &table_of(&tokens));
    }
    let tokens = tokens();
    let list = published::write(&tokens);
    assert_eq!(published::sha256(list.as_bytes()), published::SHA256);
    assert!(published::read(&list) == tokens);
    check_data("o200k.bin", &table_of(&tokens));
}

#[test]
fn the_characters_are_those_of_unicode() {
    check_data("characters.bin", &table_of_characters());
}

proptest! {
    #[test]
    fn a_short_word_counts_as_a_long_one_does(text in "[a-f \u{4e00}-\u{4e40}]{2,32}") {
        let piece = text.as_bytes();
        prop_assume!(piece.len() <= merge::MAX_SHORT);
        prop_assert_eq!(merge::count_short(piece), merge::count_long(piece));
    }

    #[test]
    fn pieces_are_the_text(text in any::<String>()) {
        prop_assert_eq!(split::pieces(&text).collect::<String>(), text);
    }
}

#[test]
fn a_token_is_one_token_and_no_other() {
    let step = how_many(11, 1);
    for (at, token) in tokens().into_iter().enumerate().step_by(step) {
        assert_eq!(rank(token), Some(at as u32));
        assert_eq!(merge::count_short(token), 1);
    }
    assert_eq!(rank(b""), None);
    assert_eq!(rank(b"no token is like this"), None);
    assert_eq!(rank(&[b' '; 129]), None);
}

/// Texts, the number of their repetitions, and the tokens that OpenAI's own `tiktoken` counts.
const COUNTS: &str = include_str!("tests/counts.jsonl");

#[test]
fn texts_count_as_tiktoken_counts_them() {
    for line in COUNTS.lines() {
        let (text, repeats, tokens): (String, usize, u64) = serde_json::from_str(line).unwrap();
        assert_eq!(
            O200k.count(&text.repeat(repeats)),
            Some(tokens),
            "{repeats} times {text:?}"
        );
    }
}
