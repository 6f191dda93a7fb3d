//! Input that is made to hurt: it must be a problem, and soon.

use super::*;

/// Reads a text and gives its one problem.
#[track_caller]
fn refused(yaml: &str) -> String {
    let found = read(yaml);
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems.first());
    assert_eq!(found.problems[0].code, "frontmatter-yaml");
    assert_eq!(
        Frontmatter {
            problems: Vec::new(),
            ..found.clone()
        },
        Frontmatter::default()
    );
    found.problems[0].message.clone()
}

fn repeat(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

#[test]
fn deep_nesting() {
    let deep = 100_000;
    let too_deep = "frontmatter cannot be read: it is too large or nested too deeply";
    for yaml in [
        "[".repeat(deep),
        format!("a: {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a: {}", "{a: ".repeat(deep)),
        "- ".repeat(deep),
        "? ".repeat(deep),
        (0..1_000)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect(),
    ] {
        let message = refused(&yaml);
        assert!(
            message.starts_with("frontmatter cannot be read"),
            "{message}"
        );
    }
    assert_eq!(refused(&"- ".repeat(100)), too_deep);
}

#[test]
fn aliases_that_multiply() {
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_string();
    for n in 1..10 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(", ");
        laughs.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
    }
    refused(&laughs);

    let mut deep = format!("a0: &a0 {}{}\n", "[".repeat(25), "]".repeat(25));
    for n in 1..30 {
        let (open, close) = ("[".repeat(20), "]".repeat(20));
        deep.push_str(&format!("a{n}: &a{n} {open}*a{}{close}\n", n - 1));
    }
    refused(&deep);
}

#[test]
fn aliases_of_long_texts() {
    for text in [
        "x".repeat(500_000),
        format!("\"\\t{}\"", "x".repeat(500_000)),
    ] {
        let aliases = vec!["*a"; 200].join(", ");
        refused(&format!("a: &a {text}\nb: [{aliases}]\n"));
        refused(&format!(
            "a: &a {{k: {text}}}\nb: {{<<: [{aliases}], c: [{aliases}]}}\n"
        ));
    }
}

#[test]
fn long_texts() {
    let megabytes = 10 << 20;
    refused(&format!("title: {}\n", "x".repeat(megabytes)));
    refused(&format!("title: \"{}\"\n", "x".repeat(megabytes)));
    refused(&repeat("a: b\n", megabytes));
    let long = "x".repeat(900_000);
    assert_eq!(read(&format!("title: {long}\n")).title, Some(long));
}

/// What a slow reader would look at many times.
#[test]
fn pieces_without_end() {
    let bytes = 16_000;
    for piece in [
        "a", "a ", "a: ", "\"", "'", "\\", "# ", "#\n", "\n", "\r", "\r\n", " ", " \n", "\t", "[",
        "]", "{", "}", ",", "a,", "- ", "-\n", "? ", ": ", "|\n", ">\n ", "&a ", "*a ", "!a ",
        "!!str ", "%", "...\n", "--- ", "é", "\u{feff}", "\u{2028}", "\0", "~", "<<: ", "a:\n ",
        "''", "\"\"", "x\n\n",
    ] {
        for start in [
            "", "a: ", "a: [", "a: {", "a: \"", "a: '", "a: |\n  ", "a: >\n  ", "- ", "# ", "? ",
        ] {
            let found = read(&format!("{start}{}", repeat(piece, bytes)));
            assert!(
                found
                    .problems
                    .iter()
                    .all(|problem| problem.message.len() < 2_000)
            );
        }
    }
}

#[test]
fn many_problems_on_one_line() {
    let keys: Vec<String> = (0..10_000).map(|n| format!("k{n}: 1")).collect();
    let found = read(&format!(
        "agents: {{a: {{models: m, {}}}}}\n",
        keys.join(", ")
    ));
    assert_eq!(found.problems.len(), keys.len());
}
