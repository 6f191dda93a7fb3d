//! Slash commands of an interactive session: `/retry` after a complete answer, `/rewind`, and commands that there are
//! not.
#![cfg(unix)]

use crate::chat_terminal::{CTRL_D, FILE, PROMPT, run_session, sandbox_with_server};
use crate::pseudo_terminal::press;
use crate::sandbox::Sandbox;
use crate::server::answer;

const STORE: [&str; 3] = ["chat", "-m", "openai/tiny"];

/// The name after `/rewind` in a hint, in the output of a session.
fn name_in_hint(seen: &str) -> String {
    let after = seen.split("/rewind ").nth(1).unwrap();
    let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '.';
    after.chars().take_while(is_name).collect()
}

/// Everything that the next question would send.
fn context(sandbox: &Sandbox, target: &str) -> String {
    let run = match target {
        "a.msg.md" => sandbox.run(&["chat", target, "--dry-run", "next"]),
        _ => sandbox.run(&["chat", "-c", "--dry-run", "next"]),
    };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

#[test]
fn retry_gives_another_answer_beside_a_complete_one() {
    for (place, target) in [(&FILE[..], "a.msg.md"), (&STORE, "last")] {
        let answers = ["First try.", "Second try."].map(|text| answer(&[text]));
        let (sandbox, server) = sandbox_with_server(answers.to_vec());
        let steps = vec![
            press(PROMPT, "tell me\r"),
            press("First try.", ""),
            press(PROMPT, "/retry\r"),
            press("asking again; the earlier answer is kept, and /rewind ", ""),
            press("Second try.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, place, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        server.request();
        let again = server.request();
        assert_eq!(again.matches("tell me").count(), 1, "{again}");
        assert!(!again.contains("First try."), "{again}");
        let now = context(&sandbox, target);
        assert!(
            now.contains("Second try.") && !now.contains("First try."),
            "{now}"
        );
        let earlier = name_in_hint(&seen);
        assert_eq!(sandbox.run(&["rewind", target, &earlier]).code, Some(0));
        let now = context(&sandbox, target);
        assert!(
            now.contains("First try.") && !now.contains("Second try."),
            "{now}"
        );
    }
}

#[test]
fn rewind_in_a_session_goes_back_to_a_cell() {
    let answers = ["One.", "Two.", "Three."].map(|text| answer(&[text]));
    let (sandbox, server) = sandbox_with_server(answers.to_vec());
    let steps = vec![
        press(PROMPT, "first\r"),
        press("One.", ""),
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, "/rewind\r"),
        press("name it, such as /rewind 3", ""),
        press(PROMPT, "/rewind 2\r"),
        press("to undo this: /rewind 4", ""),
        press(PROMPT, "third\r"),
        press("Three.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let third = (0..3).map(|_| server.request()).nth(2).unwrap();
    assert!(
        third.contains("One.") && !third.contains("second"),
        "{third}"
    );
}

#[test]
fn an_unknown_command_leaves_the_line_empty_and_lists_the_commands() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Fine."])]);
    let steps = vec![
        press(PROMPT, "/contxt\r"),
        press("there is no command /contxt", ""),
        press(
            "did you mean /context? the commands are /agent, /model,",
            "",
        ),
        press(PROMPT, "hello\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!server.request().contains("contxt"));
    assert_eq!(sandbox.message_texts("a.msg.md"), ["hello", "Fine."]);
}
