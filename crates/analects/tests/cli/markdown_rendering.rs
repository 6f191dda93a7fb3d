//! Answers on a terminal: Markdown is formatted where there is colour, and unchanged everywhere else.
#![cfg(unix)]

use crate::pseudo_terminal::{
    WIDE, press, receive, resize, run_on_terminal, run_steps, shell_line,
};
use crate::sandbox::{Sandbox, skip};
use crate::server::{Server, Step, answer, done, piece, stream_head};

const MARKDOWN: &str =
    "# Title\n\nSome **bold** and `code`.\n\n|a|学|\n|-|-|\n|一二|x|\n\n```rust\nlet x = 1;\n```\n";

/// An answer in pieces of a few bytes.
fn answer_in_pieces(text: &str) -> Vec<Step> {
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars
        .chunks(3)
        .map(|chunk| piece(&chunk.iter().collect::<String>()));
    [stream_head()]
        .into_iter()
        .chain(pieces)
        .chain([done()])
        .collect()
}

#[test]
fn markdown_is_formatted_on_a_colour_terminal() {
    let server = Server::new(vec![answer_in_pieces(MARKDOWN), answer_in_pieces(MARKDOWN)]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    for args in [
        &["ask", "-m", "openai/tiny", "x"][..],
        &["chat", "a.msg.md", "-m", "openai/tiny", "x"],
    ] {
        let Some((seen, code)) = run_on_terminal(&sandbox, args, false) else {
            return skip(
                "markdown_is_formatted_on_a_colour_terminal",
                "there is no Python to make a terminal",
            );
        };
        assert_eq!(code, 0, "{seen}");
        for part in [
            "\u{1b}[0;1mbold\u{1b}[0m",
            "\u{1b}[0;36mcode\u{1b}[0m",
            "\u{1b}[0;35mlet\u{1b}[0m",
        ] {
            assert!(seen.contains(part), "{part:?} in {seen:?}");
        }
        assert!(!seen.contains("**") && !seen.contains("# Title"), "{seen}");
        assert!(seen.contains("一二"), "{seen}");
    }
    assert_eq!(
        sandbox.message_texts("a.msg.md")[1],
        MARKDOWN,
        "the file has what came"
    );
}

#[test]
fn a_table_fits_the_current_terminal_width() {
    let sandbox = Sandbox::new();
    let (head, rest) = (
        "before\n\n> | name | what it is |\n> |---|---|\n",
        "> | 论语 | ",
    );
    let words =
        "recorded conversations of the master and his pupils |\n>\n> after **all\n> of it**\n";
    let script = vec![
        stream_head(),
        piece(head),
        Step::Until(sandbox.path("go")),
        piece(rest),
        piece(words),
        done(),
    ];
    let server = Server::new(vec![script]);
    let sandbox = sandbox.with_server(&server.base_url);
    let command = sandbox.command(&["ask", "-m", "openai/tiny", "x"]);
    let steps = vec![
        resize("before", 24, 30),
        shell_line("", "touch go"),
        press("of it", ""),
    ];
    let Some((seen, code)) = run_steps(&sandbox, &command, steps) else {
        return skip(
            "a_table_fits_the_current_terminal_width",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    let bare = seen
        .split('\u{1b}')
        .map(|part| match part.strip_prefix('[') {
            Some(code) => code.split_once('m').map_or("", |(_, text)| text),
            None => part,
        });
    let bare: String = bare.collect();
    assert!(bare.ends_with("│ after all\n│ of it\n"), "{bare}");
    let columns = |line: &str| {
        line.chars()
            .map(|c| if "论语".contains(c) { 2 } else { 1 })
            .sum::<usize>()
    };
    let table: Vec<&str> = bare.lines().filter(|line| line.starts_with("│ ")).collect();
    assert!(
        table.len() > 5 && table.iter().all(|line| columns(line) <= 30),
        "{bare}"
    );
    assert!(!bare.contains("---|"), "{bare}");
}

#[test]
fn markdown_is_unchanged_without_colour() {
    let server = Server::new((0..4).map(|_| answer_in_pieces(MARKDOWN)).collect());
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["ask", "-m", "openai/tiny", "x"];
    sandbox.run(&args).assert_prints(MARKDOWN);
    let run = sandbox.command(&args).env("TERM", "dumb").output().unwrap();
    assert_eq!(run.stdout, MARKDOWN.as_bytes());
    let Some((seen, _)) = run_on_terminal(&sandbox, &args, true) else {
        return skip(
            "markdown_is_unchanged_without_colour",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(seen, MARKDOWN);
    // On request, it is formatted in a pipe, too.
    let run = sandbox
        .command(&args)
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(
        String::from_utf8(run.stdout)
            .unwrap()
            .contains("\u{1b}[0;1mbold")
    );
}

#[test]
fn a_hostile_answer_cannot_control_a_colour_terminal() {
    let bad = "\u{1b}]52;c;AAAA\u{7}\u{1b}[2J\u{9b}31m\u{202e}x\u{200b}\u{8}\r";
    let hostile = format!(
        "# {bad}\n**{bad}** `{bad}` [{bad}]({bad})\n\n|{bad}|\n|-|\n|{bad}|\n\n```{bad}\n{bad}\n"
    );
    let pieces: Vec<String> = hostile.chars().map(String::from).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let server = Server::new(vec![answer(&pieces)]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["ask", "-m", "openai/tiny", "x"];
    let Some((seen, code)) = receive(&sandbox, WIDE, &args, false, &[]) else {
        return skip(
            "a_hostile_answer_cannot_control_a_colour_terminal",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    let seen = seen.replace("\r\n", "\n").replace("\r\u{1b}[K", "");
    let mut rest = &seen[..];
    while let Some((_, after)) = rest.split_once('\u{1b}') {
        let code = after
            .strip_prefix('[')
            .and_then(|code| code.split_once('m'))
            .map(|(code, _)| code);
        let ours = code.is_some_and(|code| code.bytes().all(|b| b.is_ascii_digit() || b == b';'));
        assert!(ours, "{:?}", &after[..after.len().min(20)]);
        rest = after;
    }
    let harmful =
        |c: char| (c.is_control() && !"\n\u{1b}".contains(c)) || "\u{202e}\u{200b}".contains(c);
    assert!(!seen.contains(harmful), "{seen:?}");
}
