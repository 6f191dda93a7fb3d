//! Markdown on a terminal: what is shown, that cutting the text changes nothing, and that nothing of it
//! is lost or obeyed.

use proptest::prelude::*;

use super::*;

mod written;

/// What is shown of a text that comes in one piece.
fn show(text: &str) -> String {
    show_in(text, 80)
}

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
        assert!(
            code.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b';'),
            "{code:?}"
        );
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// What is shown, with names for the codes.
fn named(text: &str) -> String {
    show(text)
        .replace("\u{1b}[0m", "⟨⟩")
        .replace("\u{1b}[0;", "⟨")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(bare(&show(text)), expected);
}

#[test]
fn blocks_are_shown() {
    check("# A title\n\nText.\n", "A title\n\nText.\n");
    check(
        "####### no title\n#hashtag\n",
        "####### no title\n#hashtag\n",
    );
    check(
        "- one\n* two\n  + three\n1. four\n22) five\n",
        "• one\n• two\n  • three\n1. four\n22) five\n",
    );
    check("> a\n> > b\n>c\n", "│ a\n│ │ b\n│ c\n");
    check("---\n* * *\n", &format!("{0}\n{0}\n", "-".repeat(40)));
    check(
        "-- no rule\n-5 degrees\n2026 was\n3.5 x\n",
        "-- no rule\n-5 degrees\n2026 was\n3.5 x\n",
    );
    check("- [ ] open\n- [x] done\n", "• [ ] open\n• [x] done\n");
    check("a\r\nb\r\n", "a\nb\n");
    check("no line end", "no line end");
    check("", "");
}

#[test]
fn emphasis_needs_its_partner() {
    assert_eq!(named("a **b** c"), "a ⟨1mb⟨⟩ c");
    assert_eq!(
        named("*i* __b__ ~~s~~ ***x***"),
        "⟨3mi⟨⟩ ⟨1mb⟨⟩ ⟨9ms⟨⟩ ⟨1;3mx⟨⟩"
    );
    assert_eq!(named("**a *b***"), "⟨1ma ⟨1;3mb⟨⟩");
    assert_eq!(named("这是**重点：**内容"), "这是⟨1m重点：⟨⟩内容");
    for literal in [
        "use *.rs and *.toml",
        "2**3**4 and a*b*c",
        "5 * 3 * 2",
        "snake_case_name and __init",
        "**never closed",
        "a ** b ** c",
        "~5 and ~~ x",
        "x ****",
        "x * ",
    ] {
        check(literal, literal);
    }
    check(r"\*not\* \(x\) \# \_", r"*not* \(x\) # _");
    let long = format!("**{}", "word ".repeat(300));
    check(&long, &long);
}

#[test]
fn code_and_links_are_shown() {
    assert_eq!(named("`a*b*` ok"), "⟨36ma*b*⟨⟩ ok");
    check("`` a`b `` and `open", "a`b and `open");
    check("**use `a**b` here**", "use a**b here");
    check(
        "[the docs](https://x.y/z_(a)) end",
        "the docs (https://x.y/z_(a)) end",
    );
    check("![pic](p.png)", "pic (p.png)");
    check("[https://a.b](https://a.b)", "https://a.b");
    check("[1] and [^2] and [open", "[1] and [^2] and [open");
    check("Hello! World!", "Hello! World!");
}

#[test]
fn emphasis_does_not_reach_into_addresses_and_formulas() {
    for (text, expected) in [
        ("*see <https://x.y/a*b> ok", "*see https://x.y/a*b ok"),
        ("*see <https://x.y/a*b> ok*", "see https://x.y/a*b ok"),
        ("_see <a_b@x.yz> ok_", "see a_b@x.yz ok"),
        ("~~a <https://x.y/~~b> c~~", "a https://x.y/~~b c"),
        ("*a [t](http://u.v/b*c) d", "*a t (http://u.v/b*c) d"),
        (
            "**a [t](http://u.v/(b**c)**) d**",
            "a t (http://u.v/(b**c)**) d",
        ),
        ("*a [![i](p*q)](r*s) d*", "a i (p*q) (r*s) d"),
        ("*a $b*c$ d*", "a $b*c$ d"),
        ("*a $2*c$ d*", "a $2*c$ d"),
        ("*a $$b*c$$ d*", "a $$b*c$$ d"),
        (r"*a \(b*c\) d*", r"a \(b*c\) d"),
        (r"_a \[b_ c\] d_", r"a \[b_ c\] d"),
        // What only looks like one of them holds no mark back.
        ("*a < b* c", "a < b c"),
        ("*if a<b* c", "if a<b c"),
        ("*a <b* c> d", "a <b c> d"),
        ("*a [1]* c", "a [1] c"),
        ("*a [b* c", "a [b c"),
        ("*a](b* c", "a](b c"),
        ("**$5** and **$10**", "$5 and $10"),
        ("*costs $x* or not", "costs $x or not"),
        ("**US$** a", "US$ a"),
    ] {
        check(text, expected);
    }
    // Nor for long.
    let mut markdown = Markdown::new(80);
    assert_eq!(
        bare(&markdown.push("**$5** or *if a<b* it [is")),
        "$5 or if a<b it "
    );
    let open = format!("*a <b $c](d* {}", "word ".repeat(100));
    check(&open, &open.replace('*', ""));
}

#[test]
fn code_blocks_are_verbatim() {
    let code = "```rust\nfn main() { **x** } // # no title\n\n  ```\n";
    check(&format!("{code}after **b**\n"), &format!("{code}after b\n"));
    check("~~~\n```\n| a |\n~~~\n", "~~~\n```\n| a |\n~~~\n");
    check(
        "````\n```\nx\n```\n````\n**b**",
        "````\n```\nx\n```\n````\nb",
    );
    check("> ```\n> *a*\n> ```\n> *b*\n", "│ ```\n│ *a*\n│ ```\n│ b\n");
    check("> ```\n> *a*\nout *b*\n", "│ ```\n│ *a*\nout b\n");
    check(
        "1. x\n\n   ```py\n   a = 'b'\n   ```\n",
        "1. x\n\n   ```py\n   a = 'b'\n   ```\n",
    );
    check("a\n\n    *code*\n\nb", "a\n\n    *code*\n\nb");
    check("- a\n\n    *text*\n", "• a\n\n    text\n");
    check("``` a`b\n", "``` a`b\n");
    check("```\nnever closed", "```\nnever closed");
}

#[test]
fn code_has_colours() {
    let shown = named("```rust\nlet a = \"s\"; // c\n/* d\ne */ 'x' 'a 1_0\n```\n");
    for part in [
        "⟨35mlet⟨⟩",
        "⟨32m\"s\"⟨⟩",
        "⟨2;3m// c",
        "⟨2;3me */",
        "⟨32m'x'⟨⟩",
        " 'a ",
        "⟨33m1_0",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = named("```python\n'''a\nb''' # if\nif x: pass\n```");
    for part in ["⟨32m'''a", "⟨32mb'''", "⟨2;3m# if", "⟨35mif", "⟨35mpass"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = named("```sh\necho $# \"a\\\"b\" # c\n```");
    assert!(shown.contains("$# ⟨32m\"a\\\"b\"⟨⟩ ⟨2;3m# c"), "{shown}");
    assert!(named("```diff\n+a\n-b\n c\n```").contains("⟨32m+a⟨⟩\n⟨31m-b⟨⟩\n c\n"));
    assert!(!named("```text\nif let \"x\"\n```").contains("⟨3"));
}

#[test]
fn tables_are_aligned_by_what_shows() {
    let table = "|名|n|x|\n|:-|-:|---|\n|学而时习之|1|`a`|\n|b|22|**c** \\| d|\n\nafter";
    check(
        table,
        "名         |  n | x\n-----------+----+------\n学而时习之 |  1 | a\nb          | 22 | c | d\n\nafter",
    );
    check("| a | b |\nno table\n", "| a | b |\nno table\n");
    check("| a |\n| b |\n|---|\n| c |", "| a |\nb\n-\nc\n");
    check(
        "|a|\n|-|\n|b|c|d|\n",
        "a |   |\n--+---+--\nb | c | d\n"
            .replace("a |   |\n", "a |   | \n")
            .as_str(),
    );
}

#[test]
fn a_table_fits_the_terminal() {
    let table = "| name | what it is |\n|---|---|\n| 论语 | recorded conversations of the master and his pupils |\n\
                 | x | 学而时习之不亦说乎有朋自远方来不亦乐乎 |\n";
    for width in [20, 30, 40, 60] {
        let shown = bare(&show_in(table, width));
        let columns = |line: &str| unicode_width::UnicodeWidthStr::width(line);
        assert!(
            shown.lines().all(|line| columns(line) <= width),
            "{width}:\n{shown}"
        );
        assert!(shown.contains("pupils"), "{shown}");
    }
    // Where nothing fits, nothing is lost either: each field has a line.
    let shown = bare(&show_in("|a|b|c|\n|-|-|-|\n|one|two|three|\n|x||z|\n", 4));
    assert_eq!(
        shown,
        "---\na: one\nb: two\nc: three\n---\na: x\nb: \nc: z\n"
    );
    let shown = bare(&show_in("|a|b|\n|-|-|\n", 2));
    assert_eq!(shown, "a | b\n");
}

#[test]
fn the_names_of_columns_are_never_cut() {
    let table = "|A long column that is named so|second|third|last|\n|-|-|-|-|\n|one two|x||z|\n";
    assert_eq!(
        bare(&show_in(table, 20)),
        "---\nA long column that\nis named so:\n  one two\nsecond: x\nthird: \nlast: z\n"
    );
    assert_eq!(
        bare(&show_in(
            &format!("> {}", table.replace("\n|", "\n> |")),
            14
        )),
        "│ ---\n│ A long\n│ column that\n│ is named so:\n│   one two\n│ second: x\n│ third: \n│ last: z\n"
    );
    let table = "|学而时习之不亦说乎|second|\n|-|-|\n|one<br>two|x|\n";
    assert_eq!(
        bare(&show_in(table, 12)),
        "---\n学而时习之不\n亦说乎:\n  one\n  two\nsecond: x\n"
    );
    // Where a row is one line, its names are, too.
    let many = |text: &str| format!("|{}\n", format!("{text}|").repeat(50));
    let shown = bare(&show_in(&(many("name") + &many("-") + &many("x")), 80));
    assert!(shown.starts_with("name | name | "), "{shown}");
}

#[test]
fn a_long_table_comes_row_by_row_in_the_end() {
    let mut markdown = Markdown::new(80);
    let mut seen = markdown.push("|a|b|\n|-|-|\n");
    for number in 0..200 {
        seen += &markdown.push(&format!("|{number}|x|\n"));
    }
    assert!(bare(&seen).contains("\n199"), "{seen}");
}

#[test]
fn text_is_shown_as_it_comes() {
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("Hel"), "Hel");
    assert_eq!(markdown.push("lo **wor"), "lo ");
    assert_eq!(bare(&markdown.push("ld** x")), "world x");
    assert_eq!(markdown.push("\n#"), "\n");
    assert_eq!(bare(&markdown.push("# T")), "T");
    assert_eq!(bare(&markdown.push("itle")), "itle");
    assert_eq!(bare(&markdown.push("\n```rust\nle")), "\n```rust\n");
    assert_eq!(bare(&markdown.push("t x")), "let ");
    let held: String = "**"
        .chars()
        .chain("word ".chars().cycle().take(1_200))
        .collect();
    let mut markdown = Markdown::new(80);
    assert!(
        markdown.push(&held).len() > 150,
        "a mark without a partner holds nothing back for long"
    );
}

#[test]
fn nothing_is_obeyed() {
    let bad = "\u{1b}]52;c;AAAA\u{7}\u{1b}[2J\u{9b}31m\u{202e}x\u{200b}\u{8}\r";
    for text in [
        bad.to_string(),
        format!("# {bad}\n**{bad}** `{bad}` [{bad}]({bad})\n"),
        format!("```{bad}\n{bad}\n\"{bad}\" // {bad}\n```\n"),
        format!("|{bad}|{bad}|\n|-|-|\n|{bad}|`{bad}`|\n"),
        format!("> {bad}\n- {bad}\n1. {bad}\n\n    {bad}\n"),
    ] {
        let shown = bare(&show(&text));
        let harmful =
            |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!shown.contains(harmful), "{shown:?}");
        assert!(shown.contains("<U+001B>"), "{shown:?}");
    }
}

#[test]
fn no_style_outlives_its_line() {
    for text in [
        "# a\nb",
        "**a**\nb",
        "```rust\n/* a\nb */ c\n```\nd",
        "> a\n# b",
    ] {
        for line in show(text).lines() {
            let last = line.rfind("\u{1b}[").map(|at| &line[at..]);
            assert!(
                last.is_none_or(|last| last.starts_with("\u{1b}[0m")),
                "{line:?}"
            );
        }
    }
}

#[test]
fn marks_without_end_are_no_burden() {
    for text in [
        "*a",
        "[",
        "`",
        "|",
        "#",
        "> ",
        "(",
        "- ",
        "_",
        "\\",
        "![",
        "~~x",
        "`` ` ",
        "$",
        "$a ",
        "<",
        "<br ",
        "&",
        "&lt",
        "**a ",
        "\\(",
        "://_a",
        "*a <b",
        "*a](b",
        "*a[[[](",
        "*a[](x*y) ",
        "*a $b",
        "**a <b**c> ",
        "*a \\(",
        "*a $1* ",
    ] {
        let clock = std::time::Instant::now();
        let text = text.repeat(8_000 / text.len());
        assert!(show(&text).len() >= text.len() / 3);
        assert!(show(&format!("|{}|\n|-|\n", &text[..4_000])).len() > 1_000);
        assert!(
            clock.elapsed().as_secs() < 20,
            "{} took {:?}",
            &text[..4],
            clock.elapsed()
        );
    }
}

/// Pieces of which Markdown is made, and some that look like it.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "b1",
        "word",
        " ",
        "  ",
        "    ",
        "\n",
        "\n\n",
        "*",
        "**",
        "***",
        "_",
        "__",
        "~~",
        "`",
        "``",
        "```",
        "~~~",
        "# ",
        "#",
        "- ",
        "-",
        "+ ",
        "1. ",
        "2)",
        ">",
        "> ",
        "|",
        "|-|",
        "|a|b|\n|-|:-:|\n",
        "[",
        "](",
        "]",
        ")",
        "(",
        "!",
        "\\",
        "\\*",
        "---",
        "===",
        "\r",
        "\t",
        "学",
        "。",
        "👩‍💻",
        "```rust\n",
        "```python\n",
        "\"",
        "'",
        "//",
        "/*",
        "*/",
        "let",
        "é",
        ".",
        "$",
        "$$\n",
        "\\[",
        "\\]",
        "\\\n",
        "&amp;",
        "> |a|b|\n> |-|-|\n",
        "- |a|\n  |-|\n",
        "<https://",
        "a*b> ",
        "](u*v)",
        "$x*y$",
        "https://_",
        "\u{1b}[1m",
        "\u{202e}",
        "<br>",
        "```\n",
        "~~~sh\n",
        "# c",
    ])
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1500)))]

    #[test]
    fn cutting_changes_nothing(text in text(), cuts in prop::collection::vec(0usize..200, 0..8)) {
        let mut markdown = Markdown::new(40);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(*cut)).collect();
        cuts.sort_unstable();
        let (mut shown, mut at) = (String::new(), 0);
        for cut in cuts {
            shown += &markdown.push(&text[at..cut]);
            at = cut;
        }
        shown += &markdown.push(&text[at..]);
        shown += &markdown.end();
        prop_assert_eq!(&shown, &show_in(&text, 40));
        let mut one_by_one = Markdown::new(40);
        let mut all: String = text.chars().map(|c| one_by_one.push(c.encode_utf8(&mut [0; 4]))).collect();
        all += &one_by_one.end();
        prop_assert_eq!(all, shown);
    }

    #[test]
    fn no_word_is_lost(text in text()) {
        // Breaks in fields change the order.
        let text = text.replace(['\u{1b}', '\u{202e}', '\r'], "").replace("<br>", "");
        let words = |text: &str| {
            text.replace("amp;", "").chars().filter(|c| c.is_alphanumeric()).collect::<String>()
        };
        let shown = bare(&show_in(&text, 1_000_000));
        prop_assert_eq!(words(&shown), words(&text), "{}", shown);
    }
}
