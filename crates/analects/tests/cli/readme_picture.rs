//! The picture of the README: the output of the command on a real pseudo-terminal, as an SVG that any browser shows.
//! `ANALECTS_BLESS=1` makes it anew; without it, the picture must match today's output.
#![cfg(unix)]

use std::fmt::Write;
use std::path::PathBuf;

use crate::pseudo_terminal::run_on_terminal;
use crate::sandbox::{Sandbox, skip};

const PICTURE: &str = "docs/images/terminal.svg";
/// A recorded answer, as a provider sends it.
const RECORDING: &str = r#"data: {"id":"picture","object":"chat.completion.chunk","model":"recorded","choices":[{"index":0,"delta":{"role":"assistant","content":"A set with an associative operation and a neutral element."},"finish_reason":"stop"}]}

data: [DONE]

"#;

/// The typed commands, word by word.
const COMMANDS: [&[&str]; 5] = [
    &[
        "chat",
        "talk.msg.md",
        "-m",
        "replay:answer.sse",
        "What is a monoid?",
    ],
    &["list", "talk.msg.md"],
    &["edit", "talk.msg.md", "1", "What is a group?"],
    &["rewind", "talk.msg.md", "1"],
    &["check", "talk.msg.md"],
];

/// The size of a character and of the picture, in pixels.
const WIDTH: f32 = 8.43;
const HEIGHT: usize = 19;
const COLUMNS: usize = 88;

/// A terminal line: pieces of text, each with the number of its colour.
type StyledLine = Vec<(u8, String)>;

#[test]
fn the_readme_picture_shows_what_the_command_prints() {
    let test = "the_readme_picture_shows_what_the_command_prints";
    let sandbox = Sandbox::new();
    sandbox.write("answer.sse", RECORDING);
    let mut lines: Vec<StyledLine> = Vec::new();
    for words in COMMANDS {
        let Some((seen, code)) = run_on_terminal(&sandbox, words, false) else {
            return skip(test, "no python3 to make a terminal");
        };
        assert_eq!(code, 0, "{words:?}: {seen}");
        let quoted = words.iter().map(|word| {
            if word.contains(' ') {
                format!("\"{word}\"")
            } else {
                (*word).to_string()
            }
        });
        let typed: Vec<String> = quoted.collect();
        lines.push(vec![
            (32, "$ ".into()),
            (1, format!("analects {}", typed.join(" "))),
        ]);
        lines.extend(parse_lines(&seen));
        lines.push(Vec::new());
    }
    lines.pop();
    let picture = svg(&lines);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(PICTURE);
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &picture).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == picture,
        "{PICTURE} is stale; run with ANALECTS_BLESS=1:\n{picture}"
    );
}

/// The lines that a terminal received; of its escape codes, only colours are kept.
fn parse_lines(text: &str) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut colour = 0;
    for text in text.lines() {
        let mut line: StyledLine = Vec::new();
        let mut parts = text.split("\u{1b}[");
        line.push((colour, parts.next().unwrap_or_default().to_string()));
        for part in parts {
            let end = part
                .find(|c: char| c.is_ascii_alphabetic())
                .unwrap_or(part.len() - 1);
            let (code, rest) = part.split_at(end + 1);
            if let Some(codes) = code.strip_suffix('m') {
                colour = codes
                    .split(';')
                    .filter_map(|code| code.parse().ok())
                    .next_back()
                    .unwrap_or(0);
            }
            line.push((colour, rest.to_string()));
        }
        line.retain(|(_, text)| !text.is_empty());
        lines.push(line);
    }
    lines
}

/// The lines, appearing one after another. The result does not depend on the time or the machine.
fn svg(lines: &[StyledLine]) -> String {
    let lines: Vec<StyledLine> = lines.iter().flat_map(wrap_line).collect();
    let (width, height) = (COLUMNS as f32 * WIDTH + 40.0, lines.len() * HEIGHT + 60);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height}\" \
         viewBox=\"0 0 {width:.0} {height}\" role=\"img\">\n\
         <title>analects in a terminal: the commands chat, list, edit, rewind and check</title>\n\
         <style>\n\
         text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre; }}\n\
         .l {{ animation: show 0.2s both; }}\n\
         @keyframes show {{ from {{ opacity: 0; }} }}\n\
         @media (prefers-reduced-motion: reduce) {{ .l {{ animation: none; }} }}\n\
         .c1 {{ font-weight: bold; }} .c2, .c90 {{ fill: #7b88a1; }} .c31, .c91 {{ fill: #e06c75; }}\n\
         .c32, .c92 {{ fill: #98c379; }} .c33, .c93 {{ fill: #e5c07b; }} .c34, .c94 {{ fill: #61afef; }}\n\
         .c35, .c95 {{ fill: #c678dd; }} .c36, .c96 {{ fill: #56b6c2; }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e222a\"/>\n"
    );
    for (at, colour) in ["#e06c75", "#e5c07b", "#98c379"].iter().enumerate() {
        let x = 20 + 18 * at;
        writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"18\" r=\"5\" fill=\"{colour}\"/>"
        )
        .unwrap();
    }
    let mut delay = 0;
    for (at, line) in lines.iter().enumerate() {
        let is_typed = line.first().is_some_and(|(_, text)| text == "$ ");
        delay += if is_typed { 900 } else { 120 };
        let y = 50 + at * HEIGHT;
        write!(
            out,
            "<text class=\"l\" x=\"20\" y=\"{y}\" style=\"animation-delay:{delay}ms\">"
        )
        .unwrap();
        for (colour, text) in line {
            write!(
                out,
                "<tspan class=\"c{colour}\">{}</tspan>",
                escape_xml(text)
            )
            .unwrap();
        }
        out.push_str("</text>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Wraps a line that is too long for the picture.
fn wrap_line(line: &StyledLine) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = vec![Vec::new()];
    let mut column = 0;
    for (colour, text) in line {
        for c in text.chars() {
            if column == COLUMNS {
                lines.push(Vec::new());
                column = 0;
            }
            column += 1;
            let line = lines.last_mut().unwrap();
            match line.last_mut() {
                Some((same, text)) if same == colour && text != "$ " => text.push(c),
                _ => line.push((*colour, c.to_string())),
            }
        }
    }
    lines
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
