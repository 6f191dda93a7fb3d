//! The command on a real terminal: no escape code of a file reaches it, lines fit, and binary content is not
//! printed.
#![cfg(unix)]

use crate::pseudo_terminal::{run_on_columns, run_on_terminal};
use crate::sandbox::{Sandbox, skip};

/// Control characters, and other characters that a terminal would obey or hide.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

const BAD: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{8}\u{7f}\u{202e}evil\u{2066}\u{200b}\u{feff}\u{e0041}";

/// The part of `BAD` that an id can contain.
const BAD_ID: &str = "x\u{202e}\u{200b}y";

/// A file with `BAD` everywhere.
fn hostile_file() -> String {
    let bad = BAD;
    format!(
        "---\ntitle: {bad}\ndefault_agent: \"\\e[2Jnobody\"\nagents:\n  \"{BAD_ID}\": {{ models: [\"\\e[2J{BAD_ID}\"] }}\n---\n\n\
         # %% {bad}[^{BAD_ID}]\n\n[^{BAD_ID}]: [markdown] history=\"{bad}\" {bad} note=\"{bad}\"\n\n{bad}\n\n\
         # %% {bad}[^{BAD_ID}]\n\n[^{BAD_ID}]: [markdown]\n\nline one\r{bad}\n\n\
         # %%% {bad}[^3]\n\n[^3]: [{BAD_ID}{bad}] model=\"{bad}\"\n\n{bad}\n\n\
         # %% [^a1]\n\n[^a1]: [agent] name=\"a{bad}\" models=\"{bad}\"\n\n\
         # %%% [^3.k]\n\n[^3.k]: [tool] name=\"{bad}\"\n\n<invoke name=\"{BAD_ID}\">\n<parameter name=\"{BAD_ID}\">{BAD_ID}</parameter>\n</invoke>\n\n\
         # %% [^c]\n\n[^c]: [code] tool=\"{bad}\"\n\n```{BAD_ID}\nx\n```\n\n#%% {bad}\n"
    )
}

#[test]
fn escape_codes_in_a_file_never_reach_the_terminal() {
    let sandbox = Sandbox::new();
    let name = "a\u{1b}[2J\u{202e}\u{9b}.msg.md";
    sandbox.write(name, hostile_file());
    let part = |part: &str| format!("{name}/{part}");
    let bad_jsonl = "b\u{1b}[2J.jsonl";
    sandbox.write(bad_jsonl, format!("{{\"{BAD}\n"));
    let gone = "gone\u{1b}[2J.md";
    let calls: Vec<Vec<String>> = [
        vec!["list", name],
        vec!["list", &part("agent")],
        vec!["list", &part("output")],
        vec!["list", &part("tool")],
        vec!["list", name, "--json"],
        vec!["list", &part("agent"), "--json"],
        vec!["list", &part(BAD)],
        vec!["show", name, BAD_ID],
        vec!["show", name, "3"],
        vec!["show", name, "3", "--json"],
        vec!["show", name, BAD],
        vec!["show", name],
        vec!["show", name, "--json"],
        vec!["check", name, bad_jsonl, gone],
        vec!["check", ".", "--json"],
        vec!["fmt", "--check", name],
        vec!["fmt", gone],
        vec!["fmt", name],
    ]
    .into_iter()
    .map(|args| args.into_iter().map(str::to_string).collect())
    .collect();
    let mut marks = 0;
    for args in &calls {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let Some((seen, _)) = run_on_terminal(&sandbox, &args, true) else {
            let test = "escape_codes_in_a_file_never_reach_the_terminal";
            return skip(test, "there is no python3 to make a terminal with");
        };
        assert!(!seen.is_empty(), "{args:?}");
        let found: Vec<char> = seen.chars().filter(|c| is_harmful(*c)).collect();
        assert!(found.is_empty(), "{args:?}: {found:?} in {seen}");
        marks += seen.matches("<U+202E>").count() + seen.matches("\\u202e").count();
        // With colour, there are escape codes, and all of them are ours.
        let (seen, _) = run_on_terminal(&sandbox, &args, false).unwrap();
        let ours = ["1;31", "1;33", "1;36", "1", "2", "0"];
        let rest = ours.iter().fold(seen, |seen, code| {
            seen.replace(&format!("\u{1b}[{code}m"), "")
        });
        let found: Vec<char> = rest.chars().filter(|c| is_harmful(*c)).collect();
        assert!(found.is_empty(), "{args:?}: {found:?} in {rest}");
    }
    assert!(marks > 50, "only {marks} marks stand for what is invisible");
}

#[test]
fn lines_fit_the_terminal_and_text_ends_with_a_newline() {
    let test = "lines_fit_the_terminal_and_text_ends_with_a_newline";
    let sandbox = Sandbox::new();
    let long = "学而时习之，不亦说乎？".repeat(20);
    sandbox.write(
        "a.msg.md",
        format!("# %%\n\n{long}\n\n# %% [^2]\n\n[^2]: [x\n\nab\r\ncd\n"),
    );
    let Some((seen, code)) = run_on_columns(&sandbox, 60, &["list", "a.msg.md"]) else {
        return skip(test, "there is no python3 to make a terminal with");
    };
    let columns = |line: &str| {
        line.chars()
            .map(|c| if c.is_ascii() || c == '…' { 1 } else { 2 })
            .sum::<usize>()
    };
    let first = seen.lines().next().unwrap();
    assert_eq!(code, 0);
    assert!(
        (58..=60).contains(&columns(first)) && first.ends_with('…'),
        "{seen}"
    );
    let (shown, _) = run_on_columns(&sandbox, 60, &["show", "a.msg.md"]).unwrap();
    assert!(
        shown
            .lines()
            .filter(|line| line.contains('学'))
            .all(|line| columns(line) <= 60),
        "{shown}"
    );
    let (text, _) = run_on_columns(&sandbox, 60, &["show", "a.msg.md", "1"]).unwrap();
    assert_eq!(text, format!("{long}\n"));
    let (text, _) = run_on_columns(&sandbox, 60, &["show", "a.msg.md", "2"]).unwrap();
    assert!(text.starts_with("ab\ncd\n"), "{text:?}");
}

#[test]
fn binary_content_is_not_printed_on_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", crate::snapshots::TALK);
    let Some((seen, code)) = run_on_terminal(&sandbox, &["show", "a.msg.md", "6"], true) else {
        let test = "binary_content_is_not_printed_on_a_terminal";
        return skip(test, "there is no python3 to make a terminal with");
    };
    assert_eq!(
        (&*seen, code),
        (
            "analects: a.msg.md: cell 6 holds image/png, which a terminal cannot show\n\
             hint: write it to a file: analects show a.msg.md 6 > FILE\n",
            2
        )
    );
}

#[test]
fn help_fits_the_terminal() {
    let sandbox = Sandbox::new();
    for verb in ["add", "check", "list", "chat"] {
        for flag in ["-h", "--help"] {
            let Some((seen, code)) = run_on_columns(&sandbox, 60, &[verb, flag]) else {
                return skip(
                    "help_fits_the_terminal",
                    "there is no Python to make a terminal",
                );
            };
            assert_eq!(code, 0, "{seen}");
            let (help, _) = seen.split_once("Examples:").unwrap_or((&seen, ""));
            let wide = help.lines().find(|line| line.chars().count() > 60);
            assert_eq!(wide, None, "{verb} {flag}");
        }
    }
}

#[test]
fn messages_and_hints_wrap_at_words() {
    let sandbox = Sandbox::new();
    let whole = sandbox.run(&["ask", "-m", "nowhere/x", "hi"]).stderr;
    for columns in [30, 44, 80] {
        let Some((seen, code)) =
            run_on_columns(&sandbox, columns, &["ask", "-m", "nowhere/x", "hi"])
        else {
            return skip(
                "messages_and_hints_wrap_at_words",
                "there is no Python to make a terminal",
            );
        };
        assert_eq!(code, 2, "{seen}");
        assert!(seen.lines().all(|line| line.len() <= columns), "{seen}");
        let words = |text: &str| {
            text.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&seen), words(&whole));
        let further = seen.lines().filter(|line| !line.starts_with(['a', 'h']));
        assert!(
            further.into_iter().all(|line| line.starts_with("  ")),
            "{seen}"
        );
    }
}

#[test]
fn ids_and_paths_are_never_cut_and_totals_break_at_words() {
    let sandbox = Sandbox::new();
    let talk = "{\"type\":\"user\",\"content\":\"Hello\"}\n";
    let appended = sandbox.run_with_stdin(&["session", "append"], talk);
    assert_eq!(appended.code, Some(0));
    let json = sandbox.run(&["session", "show", "last", "--json"]).stdout;
    let details: serde_json::Value = serde_json::from_str(&json).unwrap();
    let Some((seen, _)) = run_on_columns(&sandbox, 40, &["session", "show", "last"]) else {
        return;
    };
    for whole in ["id", "path"] {
        assert!(seen.contains(details[whole].as_str().unwrap()), "{seen}");
    }
    let Some((seen, _)) = run_on_columns(&sandbox, 40, &["model", "list"]) else {
        return;
    };
    assert!(seen.contains("ANTHROPIC_API_KEY"), "{seen}");
    let args = ["context", "last", "-m", "openai/gpt-5-mini"];
    let Some((seen, _)) = run_on_columns(&sandbox, 40, &args) else {
        return;
    };
    assert!(
        seen.lines().all(|line| line.chars().count() <= 40),
        "{seen}"
    );
    assert!(
        seen.contains("  tokens; the window has 400000, with\n"),
        "{seen}"
    );
}
