//! Markdown on a terminal: what is shown, that cutting the text changes nothing, and that nothing of it is lost or
//! obeyed.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

/// What is shown of a text that arrives in one piece.
fn show_in(text: &str, width: usize) -> String {
    let mut markdown = Markdown::new(width);
    markdown.push(text) + &markdown.end()
}

/// The same without the codes of styles, which are the only ones there may be.
fn bare(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        let (code, after) = after.split_once('m').unwrap();
        let is_style = code
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b';');
        assert!(is_style, "{code:?}");
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// What is shown, with names for the codes.
fn named(text: &str) -> String {
    show_in(text, 80)
        .replace("\u{1b}[0m", "⟨⟩")
        .replace("\u{1b}[0;", "⟨")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    check_in(80, text, expected);
}

#[track_caller]
fn check_in(width: usize, text: &str, expected: &str) {
    assert_eq!(bare(&show_in(text, width)), expected);
}

#[test]
fn blocks_are_shown() {
    check("# A title\n\nText.\n", "A title\n\nText.\n");
    check("#hashtag\n", "#hashtag\n");
    check(
        "- one\n* two\n  + three\n1. four\n22) five\n",
        "• one\n• two\n  • three\n1. four\n22) five\n",
    );
    check("> a\n> > b\n\n>c\n", "│ a\n│ │ b\n\n│ c\n");
    check("---\n* * *\n", &format!("{0}\n{0}\n", "-".repeat(40)));
    check("-5 degrees\n3.5 x\n", "-5 degrees\n3.5 x\n");
    check("- [ ] open\n- [x] done\n", "• [ ] open\n• [x] done\n");
    check("a\r\nb\r\n", "a\nb\n");
    check("no line end", "no line end\n");
    check("", "");
    check("\n\n", "");
}

#[test]
fn blank_lines_stay_where_they_are_and_become_one() {
    check("\n\na\n\n\n\nb\n\n\n", "a\n\nb\n");
    check("- a\n\n- b\n- c\n", "• a\n\n• b\n• c\n");
    check("- a\n\n  b\n- c\n", "• a\n\n  b\n• c\n");
    check("> a\n>\n> b\n", "│ a\n│\n│ b\n");
    check("a\n```\nb\n```\nc\n", "a\nb\nc\n");
    check("a\n\n```\nb\n```\n\nc\n", "a\n\nb\n\nc\n");
    check(
        "1. a\n\n   ```sh\n   ls\n   ```\n\n2. b\n",
        "1. a\n\n   ls\n\n2. b\n",
    );
}

#[test]
fn lists_are_numbered_on() {
    check("1. a\n1. b\n1. c\n", "1. a\n2. b\n3. c\n");
    check("7) a\n\n   x\n8) b\n", "7) a\n\n   x\n8) b\n");
    check(
        "1. a\n   - x\n   - y\n2. b\n",
        "1. a\n   • x\n   • y\n2. b\n",
    );
    check("-\n- a\n", "•\n• a\n");
}

#[test]
fn emphasis_and_code_have_styles() {
    assert_eq!(named("a **b** c"), "a ⟨1mb⟨⟩ c⟨⟩\n".replace("c⟨⟩", "c"));
    assert_eq!(named("*i* ~~s~~ ***x***"), "⟨3mi⟨⟩ ⟨9ms⟨⟩ ⟨1;3mx⟨⟩\n");
    assert_eq!(named("`a*b*` ok"), "⟨36ma*b*⟨⟩ ok\n");
    assert_eq!(named("# T `x`"), "⟨1mT ⟨1;36mx⟨⟩\n");
    assert_eq!(named("a **b\nc** d\n"), "a ⟨1mb⟨⟩\n⟨1mc⟨⟩ d\n");
    for literal in [
        "use *.rs and *.toml",
        "5 * 3 * 2",
        "snake_case_name and __init",
        "**never closed",
    ] {
        check(literal, &format!("{literal}\n"));
    }
    check(r"\*not\* \(x\) \[y\] \# \_", "*not* \\(x\\) \\[y\\] # _\n");
}

#[test]
fn emphasis_works_in_chinese() {
    assert_eq!(named("这是**重点：**内容"), "这是⟨1m重点：⟨⟩内容\n");
    assert_eq!(named("见**“引用”**一节"), "见⟨1m“引用”⟨⟩一节\n");
    check(
        "`**：**` 和\n\n```\n**：**的\n```\n",
        "**：** 和\n\n**：**的\n",
    );
}

#[test]
fn links_show_their_address_and_definitions_stay() {
    check(
        "[the docs](https://x.y/z_(a)) end",
        "the docs (https://x.y/z_(a)) end\n",
    );
    check("![pic](p.png)", "pic (p.png)\n");
    check(
        "[https://a.b](https://a.b) <https://c.d>",
        "https://a.b https://c.d\n",
    );
    check(
        "See [1] and [^2].\n\n[1]: https://x.y\n[^2]: note\n",
        "See [1] and [^2].\n\n[1]: https://x.y\n[^2]: note\n",
    );
    check("a<br>b <b>c</b>\n", "a\nb <b>c</b>\n");
}

#[test]
fn words_wrap_with_hanging_indents() {
    check_in(
        30,
        "Words of a long line wrap at blanks, never inside of one.",
        "Words of a long line wrap at\nblanks, never inside of one.\n",
    );
    check_in(
        30,
        "Commands such as /undo, /retry, /help wrap, too.",
        "Commands such as /undo,\n/retry, /help wrap, too.\n",
    );
    check_in(
        30,
        "- Words of an item wrap with a hanging indent.\n",
        "• Words of an item wrap with a\n  hanging indent.\n",
    );
    check_in(
        30,
        "10. > Words of a quote in an item wrap, too.\n",
        "10. │ Words of a quote in an\n    │ item wrap, too.\n",
    );
    check_in(
        30,
        "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？",
        "学而时习之，不亦说乎？有朋自远\n方来，不亦乐乎？\n",
    );
    check_in(
        30,
        "```\na line of code that is longer than that stays\n```\n",
        "a line of code that is longer than that stays\n",
    );
    let shown = show_in("**bold words that wrap over the end of a line**", 30);
    assert_eq!(shown.matches("\u{1b}[0;1m").count(), 2, "{shown:?}");
}

#[test]
fn a_table_fits_its_terminal() {
    let table = "| name | what it is |\n|:--|--:|\n| 论语 | recorded conversations of the master |\n| x | y<br>z |\n";
    check(
        table,
        "name |                           what it is\n\
         -----+-------------------------------------\n\
         论语 | recorded conversations of the master\n\
         x    |                                    y\n     \
         |                                    z\n",
    );
    for width in [12, 20, 30, 40] {
        let shown = bare(&show_in(table, width));
        assert!(
            shown.lines().all(|line| line.width() <= width),
            "{width}: {shown}"
        );
        assert!(shown.contains("论语") && shown.contains("master"));
    }
    check("|a|\n|-|\n", "a\n-\n");
}

#[test]
fn lines_of_code_and_items_are_shown_at_once() {
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("# Title\n"), "\u{1b}[0;1mTitle\u{1b}[0m\n");
    assert_eq!(markdown.push("A paragraph "), "");
    assert_eq!(markdown.preview(9), "paragraph");
    assert_eq!(markdown.push("ends.\n\n"), "A paragraph ends.\n");
    assert_eq!(markdown.push("- one\n"), "");
    assert_eq!(markdown.push("- two\n"), "\n• one\n");
    assert_eq!(markdown.push("\n```\n"), "• two\n\n");
    assert_eq!(markdown.push("code\n"), "code\n");
    assert_eq!(markdown.push("``"), "");
    assert_eq!(markdown.push("`\n"), "");
    assert_eq!(markdown.end(), "");
}

#[test]
fn nothing_makes_it_slow() {
    let long = [
        "a\n".repeat(20_000),
        "- a\n".repeat(10_000),
        "> ".repeat(5_000),
        format!("{}\n", "- ".repeat(5_000)),
        "*a **b ".repeat(20_000),
        "[a](".repeat(20_000),
        "|a|b|\n|-|-|\n".to_string() + &"|x|y|\n".repeat(5_000),
        format!("```rust\n{}\n", "\"x ".repeat(20_000)),
        "`".repeat(20_000),
        "word ".repeat(20_000),
        "字".repeat(20_000),
    ];
    for text in long {
        let start = Instant::now();
        show_in(&text, 80);
        let took = start.elapsed();
        let begin: String = text.chars().take(10).collect();
        assert!(took < Duration::from_secs(60), "{begin:?} took {took:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cutting_the_text_changes_nothing(
        text in "([a-c论：“” *_`~>#|\\\\\\[\\]():.<1-]|\n|\n\n|```\n|- |\\*\\*|\n> ){0,60}",
        size in 1_usize..9,
    ) {
        let mut markdown = Markdown::new(40);
        let chars: Vec<char> = text.chars().collect();
        let mut shown = String::new();
        for piece in chars.chunks(size) {
            shown += &markdown.push(&piece.iter().collect::<String>());
        }
        shown += &markdown.end();
        prop_assert_eq!(&shown, &show_in(&text, 40));
    }

    #[test]
    fn letters_are_neither_lost_nor_obeyed(text in "([a-z\u{1b}\u{202e}论 *_`~>#:.-]|\n|\n\n|```\n|- ){0,80}") {
        let shown = bare(&show_in(&text, 60));
        let letters = |text: &str| text.chars().filter(|c| c.is_ascii_lowercase() || *c == '论').count();
        // The name of a language behind a fence is not shown.
        if !text.contains("```") && !text.contains("~~~") {
            prop_assert_eq!(letters(&shown), letters(&text), "{}", shown);
        }
        let harmful = ['\u{1b}', '\u{202e}', '\u{fdd0}'];
        prop_assert!(!shown.contains(harmful));
    }

    #[test]
    fn text_takes_no_more_columns_than_there_are(text in "([a-z论 ]|\n|\n\n|- |> |\\*\\*){0,200}", width in 30_usize..90) {
        let shown = bare(&show_in(&text, width));
        // Text that is indented by four blanks is code.
        if !text.contains("    ") && !shown.contains("│ │ │") && !shown.contains("• • • •") {
            for line in shown.lines() {
                prop_assert!(line.width() <= width, "{}", line);
            }
        }
    }
}
