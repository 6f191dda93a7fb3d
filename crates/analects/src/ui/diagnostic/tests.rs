//! Lines of every kind, and the marks below them.

use analects_core::{Hint, LineIndex, Span};

use super::*;

fn render(path: &str, source: &[u8], problem: &Problem, width: usize, colour: Colour) -> String {
    Renderer {
        path,
        source,
        width,
        colour,
        interface: Interface::Call,
    }
    .render(problem)
}

fn render_all(source: &str, problems: &[Problem]) -> String {
    let (source, colour, interface) = (source.as_bytes(), Colour::OFF, Interface::Call);
    Renderer {
        path: "f",
        source,
        width: 60,
        colour,
        interface,
    }
    .render_all(problems)
}

fn problem(source: &[u8], start: usize, end: usize) -> Problem {
    Problem::error("some-code", "something is wrong")
        .at(Span::new(start, end), &LineIndex::new(source))
}

/// The line and the marks below it.
fn shown(source: impl AsRef<[u8]>, start: usize, end: usize) -> (String, String) {
    let source = source.as_ref();
    let text = render("f", source, &problem(source, start, end), 60, Colour::OFF);
    let mut lines = text.lines().skip(1);
    let gutter = |line: &str| line.split_once("| ").unwrap_or(("", "")).1.to_string();
    let (line, marks) = (gutter(lines.next().unwrap()), gutter(lines.next().unwrap()));
    assert_eq!(lines.next(), None, "{text}");
    (line, marks)
}

fn check(source: impl AsRef<[u8]>, start: usize, end: usize, line: &str, marks: &str) {
    assert_eq!(
        shown(source, start, end),
        (line.to_string(), marks.to_string())
    );
}

#[test]
fn a_problem_is_shown_with_its_line() {
    let source = b"one\ntwo three\nfour\n";
    let problem = problem(source, 8, 13).hint("write four");
    assert_eq!(
        render("a b.md", source, &problem, 60, Colour::OFF),
        "a b.md:2:5: error: something is wrong [some-code]\n  2 | two three\n    |     ^^^^^\n  \
         hint: write four\n"
    );
    let text = render("f", source, &problem, 60, Colour::ON);
    assert!(
        text.contains("\u{1b}[1;31merror\u{1b}[0m: something"),
        "{text}"
    );
    assert!(text.contains("    \u{1b}[1;31m^^^^^\u{1b}[0m\n"), "{text}");
}

#[test]
fn a_hint_names_the_file_and_what_can_be_typed_there() {
    let problem = Problem::warning("a-b", "odd");
    let show = problem.clone().hint(Hint::ShowCells);
    let text = render("a b.md", b"", &show, 60, Colour::OFF);
    assert!(
        text.ends_with("hint: analects show 'a b.md' shows the cells\n"),
        "{text}"
    );
    let long = problem.hint(Hint::CompactOrLargerModel);
    let (path, source, width, colour) = ("f", &b""[..], 60, Colour::OFF);
    for (interface, start) in [
        (Interface::Call, "hint: compact the conversation, or"),
        (Interface::Session, "hint: /compact, or"),
    ] {
        let text = Renderer {
            path,
            source,
            width,
            colour,
            interface,
        }
        .render(&long);
        assert!(text.contains(start), "{text}");
    }
}

#[test]
fn a_problem_without_a_position_has_no_line() {
    let text = |path| render(path, b"x", &Problem::warning("a-b", "odd"), 60, Colour::OFF);
    assert_eq!(text("f"), "f: warning: odd [a-b]\n");
    assert_eq!(text(""), "warning: odd [a-b]\n");
}

/// Such as when the file has changed since it was read.
#[test]
fn a_position_outside_the_source_shows_no_line() {
    let problem = problem(b"one\ntwo\nthree\n", 8, 13);
    for source in [&b"one"[..], b"", b"something else\nof another length\n"] {
        let text = render("f", source, &problem, 60, Colour::OFF);
        assert_eq!(text, "f:3:1: error: something is wrong [some-code]\n");
    }
}

#[test]
fn marks_stand_below_what_they_mark() {
    check("你好 世界", 7, 13, "你好 世界", "     ^^^^");
    check("\ta\tb", 3, 4, "    a    b", "         ^");
    check("é\u{301}x", 4, 5, "é\u{301}x", " ^");
    check("a\u{1b}[31mb", 6, 7, "a<U+001B>[31mb", "             ^");
    check("a\u{202e}b", 1, 4, "a<U+202E>b", " ^^^^^^^^");
    check(b"a\xff\xfeb", 1, 3, "a<0xFF><0xFE>b", " ^^^^^^^^^^^^");
    check("👩\u{200d}💻x", 11, 12, "👩\u{200d}💻x", "  ^");
}

#[test]
fn the_ends_of_lines_and_of_the_file_can_be_marked() {
    check("ab", 2, 2, "ab", "  ^");
    check("ab\r\ncd", 0, 4, "ab", "^^");
    check("ab\ncd", 1, 5, "ab", " ^");
    check("ab\r\n", 2, 4, "ab", "  ^");
    let text = render("f", b"ab\n", &problem(b"ab\n", 3, 3), 60, Colour::OFF);
    assert_eq!(
        text,
        "f:2:1: error: something is wrong [some-code]\n  2 |\n    | ^\n"
    );
    let text = render("f", b"", &problem(b"", 0, 0), 60, Colour::OFF);
    assert_eq!(
        text,
        "f:1:1: error: something is wrong [some-code]\n  1 |\n    | ^\n"
    );
}

#[test]
fn a_long_line_is_cut_around_the_spot() {
    let source = format!("{}HERE{}", "a".repeat(5_000_000), "z".repeat(5_000_000));
    let (line, marks) = shown(&source, 5_000_000, 5_000_004);
    assert!(line.starts_with("…aaa") && line.contains("aHERE"), "{line}");
    assert_eq!(
        (marks.trim_start(), line.chars().count() <= 60),
        ("^^^^", true),
        "{line}"
    );
    let at = line.chars().position(|c| c == 'H').unwrap();
    assert_eq!(marks.chars().position(|c| c == '^'), Some(at));

    let (line, marks) = shown(&source, 0, 10_000_004);
    assert!(
        line.ends_with("aaa…") && line.chars().count() <= 60,
        "{line}"
    );
    assert_eq!(marks, "^".repeat(line.chars().count()));

    // The window begins and ends inside of characters.
    let source = "你".repeat(2_000);
    for start in (2_400..2_412).step_by(3) {
        let (line, marks) = shown(&source, start, start + 3);
        assert!(line.trim_matches('…').chars().all(|c| c == '你'), "{line}");
        assert!(
            line.width() <= 60 && marks.trim_start() == "^^",
            "{line}\n{marks}"
        );
    }
}

#[test]
fn control_characters_of_a_file_are_escaped() {
    let bad = "\u{1b}]0;x\u{7}\u{9b}\u{202e}\u{200b}\n\r";
    let problem = Problem::error("a-b", format!("cannot read {bad}")).hint(format!("not {bad}"));
    let text = render(bad, b"", &problem, 60, Colour::OFF);
    let harmful = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}".contains(c);
    assert!(
        !text.contains(harmful) && text.lines().count() == 2,
        "{text:?}"
    );
}

#[test]
fn many_problems_are_counted() {
    let source = "x\n".repeat(1000);
    let problems: Vec<Problem> = (0..1000)
        .map(|at| problem(source.as_bytes(), 2 * at, 2 * at + 1))
        .map(|problem| {
            if problem.line > 998 {
                problem.with(Severity::Hint)
            } else {
                problem
            }
        })
        .collect();
    let text = render_all(&source, &problems);
    assert_eq!(text.matches("some-code").count(), 50);
    assert!(
        text.ends_with("\nf: and 948 errors, 2 hints more\n"),
        "{text}"
    );
    assert!(!render_all(&source, &problems[..50]).contains("more"));
}

#[test]
fn a_message_that_quotes_megabytes_is_cut() {
    let problem = Problem::error("a-b", "x".repeat(10_000_000));
    assert!(render("f", b"", &problem, 60, Colour::OFF).len() < 600);
}
