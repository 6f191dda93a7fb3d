//! Files that are read in chunks, and files that are too large.

use super::*;

fn lines(limit: usize, pieces: &[&str]) -> Vec<(usize, Option<String>)> {
    let mut found = Vec::new();
    let mut each = |line: FileLine<'_>| {
        let text = line
            .bytes
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        found.push((line.number, text));
    };
    let mut lines = LineSplitter::with_limit(limit);
    for piece in pieces {
        lines.feed(piece.as_bytes(), &mut each);
    }
    lines.finish(&mut each);
    found
}

#[test]
fn the_size_of_chunks_does_not_change_lines() {
    let text = "one\ntwo\n\nfour";
    let whole = lines(100, &[text]);
    assert_eq!(whole.len(), 4);
    assert_eq!(whole[3], (4, Some("four".to_string())));
    for at in 0..text.len() {
        let (left, right) = text.split_at(at);
        assert_eq!(lines(100, &[left, right]), whole);
    }
}

#[test]
fn a_line_that_is_too_long_is_dropped() {
    let found = lines(5, &["ab\n", "123", "456", "789\ncd\n", "longer"]);
    let texts: Vec<Option<&str>> = found.iter().map(|(_, text)| text.as_deref()).collect();
    assert_eq!(texts, [Some("ab\n"), None, Some("cd\n"), None]);
    assert_eq!(found[3].0, 4);
}

#[test]
fn a_line_of_a_gigabyte_is_a_problem_and_takes_no_memory() {
    let format = format_by_id("transcript").unwrap();
    let mut reader = format.reader(&ReadOptions::named("x.jsonl")).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let mut out = ReadOutput::default();
    for _ in 0..1024 {
        reader.feed(&piece, &mut out);
    }
    reader.feed(
        b"\n{\"v\":1,\"type\":\"user\",\"id\":\"m\",\"content\":\"Hi\"}\n",
        &mut out,
    );
    reader.finish(&mut out);
    assert_eq!(out.messages.len(), 1);
    let codes: Vec<(&str, usize)> = out.problems.iter().map(|p| (&*p.code, p.line)).collect();
    assert_eq!(codes, [("long-line", 1)]);
}

#[test]
fn the_first_problems_are_kept_and_all_are_counted() {
    let (from, to) = (
        format_by_id("transcript").unwrap(),
        format_by_id("markdown").unwrap(),
    );
    let (reader, writer) = (
        from.reader(&ReadOptions::named("x")),
        to.writer(&WriteOptions::default()),
    );
    let mut conversion = Conversion::new(reader.unwrap(), writer.unwrap());
    conversion.feed("nonsense\n".repeat(12_000).as_bytes());
    conversion.finish();
    assert_eq!(
        (conversion.errors, conversion.problems.len()),
        (12_000, 10_001)
    );
    assert_eq!(conversion.problems[10_000].code, "more-problems");
    assert!(!conversion.is_exact());
}
