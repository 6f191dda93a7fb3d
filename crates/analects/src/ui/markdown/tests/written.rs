//! What models really write, as it is shown: emphasis over several lines, tables anywhere, lists, links,
//! formulas, breaks. And what nobody writes but to hurt.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn emphasis_goes_over_line_ends() {
    assert_eq!(named("a **b\nc** d\n"), "a ⟨1mb⟨⟩\n⟨1mc⟨⟩ d\n");
    assert_eq!(named("*i\nj*"), "⟨3mi⟨⟩\n⟨3mj⟨⟩");
    assert_eq!(named("[a\n  b](c)"), "⟨4ma⟨⟩\n  ⟨4mb⟨2m (c)⟨⟩");
    check("**one\ntwo\nthree** four\n", "one\ntwo\nthree four\n");
    check(
        "`a\nb` and [the\ndocs](https://a.b)\n",
        "a\nb and the\ndocs (https://a.b)\n",
    );
    check("> **a\n> b** c\n", "│ a\n│ b c\n");
    check("- **a\n  b** c\n- d\n", "• a\n  b c\n• d\n");
    check("- > **a\n  > b**\n", "• │ a\n  │ b\n");
    // A heading ends with its line, and a paragraph with what is no text.
    for text in [
        "**a\n\nb**\n",
        "**a\n# b**\n",
        "**a\n- b**\n",
        "**a\n> b**\n",
        "> **a\n\n> b**\n",
    ] {
        let literal = text
            .replace("# ", "")
            .replace("- ", "• ")
            .replace("> ", "│ ");
        check(text, &literal);
    }
    check("# **a\nb**\n", "**a\nb**\n");
    check("**a\n| b** |\nc\n", "**a\n| b** |\nc\n");
    check("**a\n```\nb**\n```\n", "**a\n```\nb**\n```\n");
    check("**a\n---\n", &format!("**a\n{}\n", "-".repeat(40)));
    check("**a\n", "**a\n");
    check("**a\r\nb**\r\n", "a\nb\n");
}

#[test]
fn what_waits_over_a_line_end_comes_once_and_in_time() {
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("x **a\n"), "x ");
    assert_eq!(markdown.push("b"), "");
    assert_eq!(bare(&markdown.push("** c")), "a\nb c");
    // What is no emphasis comes with the end of its paragraph.
    assert_eq!(markdown.push("\n*.rs\nfiles"), "\n");
    assert_eq!(markdown.push("\n\n"), "*.rs\nfiles\n\n");
    assert_eq!(markdown.push("!"), "");
    assert_eq!(markdown.push("\n"), "!\n");
}

#[test]
fn a_long_emphasis_is_one() {
    let chinese = "学而时习之，不亦说乎？".repeat(8);
    assert_eq!(named(&format!("**{chinese}**")), format!("⟨1m{chinese}⟨⟩"));
}

#[test]
fn tables_stand_in_quotes_and_items() {
    let inner = "a  | b\n---+--\n学 | c";
    let with = |margin: &str| inner.replace('\n', &format!("\n{margin}"));
    check(
        "> |a|b|\n> |-|-|\n> |学|c|\n",
        &format!("│ {}\n", with("│ ")),
    );
    check(
        "> |a|b|\n> |-|-|\n> |学|c|\n> x\n",
        &format!("│ {}\n│ x\n", with("│ ")),
    );
    check(
        "> |a|b|\n> |-|-|\n> |学|c|\n\nx\n",
        &format!("│ {}\n\nx\n", with("│ ")),
    );
    check(
        "- |a|b|\n  |-|-|\n  |学|c|\n- d\n",
        &format!("• {}\n• d\n", with("  ")),
    );
    check(
        "12. |a|b|\n    |-|-|\n    |学|c|\n",
        &format!("12. {}\n", with("    ")),
    );
    check(
        "- > |a|b|\n  > |-|-|\n  > |学|c|\n",
        &format!("• │ {}\n", with("  │ ")),
    );
    check(
        "> - |a|b|\n>   |-|-|\n>   |学|c|\n",
        &format!("│ • {}\n", with("│   ")),
    );
    check(
        "> > |a|b|\n> > |-|-|\n> > |学|c|\n",
        &format!("│ │ {}\n", with("│ │ ")),
    );
    check(
        "1. x\n\n   |a|b|\n   |-|-|\n   |学|c|\n",
        &format!("1. x\n\n   {}\n", with("   ")),
    );
    // A table ends with its quote, and each quote has its own.
    check("> |a|\n> |-|\n|b|\n|-|\n", "│ a\n│ -\nb\n-\n");
    check("> |a|\n|-|\n", "│ |a|\n|-|\n");
    check("- |a|\n- |-|\n", "• |a|\n• |-|\n");
    check("> |a|\n> |b|\n> c\n", "│ |a|\n│ |b|\n│ c\n");
}

#[test]
fn a_table_in_a_quote_fits_the_terminal() {
    let table = "> > | name | what it is |\n> > |---|---|\n> > | 论语 | recorded conversations of the master |\n";
    let shown = bare(&show_in(table, 30));
    let columns = |line: &str| unicode_width::UnicodeWidthStr::width(line);
    assert!(
        shown
            .lines()
            .all(|line| columns(line) <= 30 && line.starts_with("│ │ ")),
        "{shown}"
    );
}

#[test]
fn breaks_in_fields_and_in_text() {
    check(
        "|a|b|\n|-|-|\n|x<br>yy<BR />z|学|\n",
        "a  | b\n---+---\nx  | 学\nyy | \nz  | \n",
    );
    check("one<br>two<br/> three\n", "one\ntwo\nthree\n");
    check("> one<br>two\n", "│ one\n│ two\n");
    check("one<br>\ntwo\n", "one\ntwo\n");
    check("one\\\ntwo\n", "one\ntwo\n");
    check("one  \ntwo\n", "one  \ntwo\n");
    check("the end\\\n\nx", "the end\\\n\nx");
    check(
        "<broken> <details>\n<summary>x</summary>\n",
        "<broken> <details>\n<summary>x</summary>\n",
    );
}

#[test]
fn a_bar_in_code_parts_no_fields_where_that_is_too_many() {
    check("|a|b|\n|-|-|\n|`x|y`|1|\n", "a   | b\n----+--\nx|y | 1\n");
    check("|a|b|\n|-|-|\n|`|`|\n", "a | b\n--+--\n` | `\n");
    check(
        "|a|b|c|\n|-|-|-|\n|`|x|`|\n",
        "a | b | c\n--+---+--\n` | x | `\n",
    );
}

#[test]
fn lists_of_all_kinds() {
    check(
        "1. one\n   - two\n     * [ ] three\n     * [x] four\n2. five\n\n7. seven\n",
        "1. one\n   • two\n     • [ ] three\n     • [x] four\n2. five\n\n7. seven\n",
    );
    check("-\n- a\n", "• \n• a\n");
    check(
        "- a\n  ```py\n  x = 1\n  ```\n- b\n",
        "• a\n  ```py\n  x = 1\n  ```\n• b\n",
    );
    check("- ```py\n  x\n  ```\n", "• ```py\n  x\n  ```\n");
    check("- a\n  > b\n", "• a\n  │ b\n");
}

#[test]
fn addresses_are_not_taken_apart() {
    check(
        "<https://a.b/c_d> and <a@b.org>",
        "https://a.b/c_d and a@b.org",
    );
    check(
        "see https://a.b/_c_/_d_ and _e_",
        "see https://a.b/_c_/_d_ and e",
    );
    check("(https://a.b/_c_(d)_e_) _f_", "(https://a.b/_c_(d)_e_) f");
    check("见https://a.b/_c_。_d_", "见https://a.b/_c_。d");
    check("if a<b and c>d, <3", "if a<b and c>d, <3");
    check(
        "Vec<u8> &amp; A&B &lt;T&gt; &unknown; &",
        "Vec<u8> & A&B <T> &unknown; &",
    );
    check("text[^1]\n\n[^1]: a _note_\n", "text[^1]\n\n[^1]: a note\n");
    check(
        "[text][1] and [1]: https://a.b",
        "[text][1] and [1]: https://a.b",
    );
}

#[test]
fn formulas_are_shown_as_they_stand() {
    for text in [
        "so $f^*(x) + g^*(y)$ is\n",
        "so \\(f^*(x) + g^*(y)\\) is\n",
        "\\[ a_*b_* \\]\n",
        "$$ f^*(x) + g^*(y) $$\n",
        "$$\na\n+ b\n- c\n* d *e*\n# f\n$$\n",
        "\\[\n\\begin{matrix} a & b \\\\\nc & d \\end{matrix}\n\\]\n",
        "$$ a\n= *b* $$\n",
        "> $$\n",
    ] {
        check(text, &text.replace("> ", "│ "));
    }
    check("$$\n- a\n$$\n- *b*\n", "$$\n- a\n$$\n• b\n");
    check("> $$\n> - a\n> $$\n> - *b*\n", "│ $$\n│ - a\n│ $$\n│ • b\n");
    // A formula that never ends does not take all the rest with it.
    check("$$\na\n\n- *b*\n", "$$\na\n\n• b\n");
    check("costs $5 to $10, *not* $20\n", "costs $5 to $10, not $20\n");
    check("$5/$6 *a* \\$7\n", "$5/$6 a $7\n");
    check(
        "so $2x^*y^*$ and $5 + 3^*^*$\n",
        "so $2x^*y^*$ and $5 + 3^*^*$\n",
    );
    // Nobody waits for the end of an amount.
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("It is $1,200.50 per"), "It is $1,200.50 per");
    assert_eq!(markdown.push(", or $7; or $8。"), ", or $7; or $8。");
}

#[test]
fn code_in_a_line_may_hold_ticks() {
    check("`` a`b `` ```c``d``` ` `\n", "a`b c``d  \n");
    check("`**a**` and ``` ` ```\n", "**a** and `\n");
}

/// A text, cut into pieces as they come from a server.
fn cost(text: &str) -> (usize, Duration) {
    let clock = Instant::now();
    let mut markdown = Markdown::new(80);
    let mut shown = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(64).max(1));
        shown += markdown.push(piece).len();
        rest = after;
    }
    (shown + markdown.end().len(), clock.elapsed())
}

#[test]
fn what_is_meant_to_hurt_costs_no_more_than_its_length() {
    let deep = format!("{}x\n", "> ".repeat(200)).repeat(100);
    let many = |count: usize| format!("|{}\n", "a|".repeat(count));
    let delimiters = |count: usize| format!("|{}\n", "-|".repeat(count));
    let table = |count: usize| many(count) + &delimiters(count) + &many(count).repeat(20);
    for (name, text) in [
        ("a paragraph", "word ".repeat(50_000)),
        ("a Chinese one", "学而时习之".repeat(15_000)),
        (
            "strong without end",
            format!("**{}", "word ".repeat(25_000)),
        ),
        ("blanks", " ".repeat(125_000)),
        (
            "blanks after a quote of code",
            format!("> ```\n{}", " ".repeat(125_000)),
        ),
        (
            "blanks in a formula",
            format!("$$\n{}", " ".repeat(125_000)),
        ),
        ("deep quotes", deep),
        ("one deep quote", ">".repeat(75_000)),
        ("one deep item", "- ".repeat(150_000)),
        ("4 000 columns", table(4_000)),
        ("1 000 columns", table(1_000)),
        ("quoted columns", table(4_000).replace("|a|a", "> |a|a")),
        (
            "a tall table",
            format!("|a|b|\n|-|-|\n{}", "|x|y|\n".repeat(8_000)),
        ),
        ("lines of marks", "**a\n".repeat(5_000)),
        ("a long address", format!("<https://{}", "a".repeat(75_000))),
        ("one long row", format!("|{}", "a".repeat(125_000))),
    ] {
        let (shown, time) = cost(&text);
        assert!(
            shown < text.len() * 12 + 1_000,
            "{name}: {shown} bytes of {}",
            text.len()
        );
        // What grows with the square of its length takes many minutes, also where this machine is busy.
        assert!(time < Duration::from_secs(20), "{name}: {time:?}");
    }
}

#[test]
fn nothing_is_held_back_that_is_large() {
    let mut markdown = Markdown::new(80);
    let (mut came, mut shown) = (0, 0);
    for piece in ["**a *b [c `d $e <f ", "\n", "> **a ", "\n", "word "]
        .iter()
        .cycle()
        .take(20_000)
    {
        came += piece.len();
        shown += bare(&markdown.push(piece)).len();
        assert!(
            came < shown + 2_000 + came / 10,
            "{came} came, {shown} are shown"
        );
    }
}
