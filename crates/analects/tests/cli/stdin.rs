//! Text on stdin: every verb that takes text reads it by the same rules.

use std::process::Stdio;

use crate::pseudo_terminal::run_on_terminal;
use crate::sandbox::{CommandOutput, Sandbox, skip};

const FILE: &str = "# %% [^1]\n\n[^1]: [markdown]\n\nold\n";

/// The verbs that take a text, without that text, and what shows the text that they got.
const VERBS: [&[&str]; 5] = [
    &["ask", "-m", "openai/tiny", "--dry-run"],
    &["chat", "-m", "openai/tiny", "--dry-run"],
    &["chat", "a.msg.md", "-m", "openai/tiny", "--dry-run"],
    &["add", "a.msg.md"],
    &["edit", "a.msg.md", "1"],
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    sandbox
}

/// Runs a verb with arguments and stdin, and returns everything that it printed and wrote.
fn traces(sandbox: &Sandbox, verb: &[&str], words: &[&str], stdin: &str) -> String {
    let run = sandbox.run_with_stdin(&[verb, words].concat(), stdin);
    assert_eq!(run.code, Some(0), "{verb:?}: {}", run.stderr);
    let traces = format!("{}{}", run.stdout, sandbox.read("a.msg.md"));
    // A request is JSON.
    traces.replace("\\n", "\n")
}

#[test]
fn arguments_come_first_and_stdin_follows() {
    for verb in VERBS {
        let traces = |words: &[&str], stdin: &str| traces(&sandbox(), verb, words, stdin);
        let both = traces(&["Review", "this:"], "- one\n+ two\n\n");
        let has_both = both.contains("Review this:\n\n- one\n+ two")
            || both.contains("\"Review this:\"") && both.contains("\"- one\n+ two\"");
        assert!(has_both, "{verb:?}: {both}");
        let piped = traces(&[], "- one\n+ two\n");
        assert!(piped.contains("- one\n+ two"), "{verb:?}: {piped}");
        let dash = traces(&["-"], "- one\n+ two\n");
        assert!(dash.contains("- one\n+ two"), "{verb:?}: {dash}");
        let words = traces(&["only", "words"], "");
        assert!(words.contains("only words"), "{verb:?}: {words}");
    }
}

#[test]
fn an_empty_a_closed_and_no_stdin_are_the_same() {
    for verb in VERBS {
        let runs: [CommandOutput; 3] = [
            sandbox().run_with_stdin(verb, ""),
            sandbox()
                .command(verb)
                .stdin(Stdio::null())
                .output()
                .unwrap()
                .into(),
            with_closed_stdin(verb),
        ];
        for run in &runs {
            let all = (run.code, &run.stdout, &run.stderr);
            assert_eq!(
                all,
                (runs[0].code, &runs[0].stdout, &runs[0].stderr),
                "{verb:?}"
            );
        }
    }
    // Nothing to count is a count.
    assert_eq!(sandbox().run_with_stdin(&["tokens"], "").stdout, "0\n");
}

#[cfg(unix)]
fn with_closed_stdin(verb: &[&str]) -> CommandOutput {
    let sandbox = sandbox();
    let command = sandbox.command(verb);
    let mut shell = sandbox.program_like(&command, "sh");
    shell.args(["-c", "exec \"$@\" <&-", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.output().unwrap().into()
}

#[cfg(not(unix))]
fn with_closed_stdin(verb: &[&str]) -> CommandOutput {
    sandbox().run_with_stdin(verb, "")
}

#[test]
fn a_terminal_gives_no_text_and_nothing_waits_for_it() {
    let nothing: [(&[&str], &str); 4] = [
        (&["ask", "-m", "openai/tiny", "--dry-run"], "nothing to ask"),
        (&["add", "a.msg.md"], "nothing to add"),
        (&["edit", "a.msg.md", "1"], "there is no text"),
        (&["tokens"], "nothing to count"),
    ];
    for (verb, message) in nothing {
        let Some((seen, code)) = run_on_terminal(&sandbox(), verb, true) else {
            return skip(
                "a_terminal_gives_no_text_and_nothing_waits_for_it",
                "no Python",
            );
        };
        assert_eq!(code, 2, "{verb:?}: {seen}");
        assert!(seen.contains(message), "{verb:?}: {seen}");
    }
    let added = run_on_terminal(&sandbox(), &["add", "a.msg.md", "words"], true);
    assert_eq!(added.unwrap(), ("2\n".to_string(), 0));
}
