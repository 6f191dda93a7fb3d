//! `timeout=` on a question: how long its answer may take.

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, answer, piece, stream_head};

const QUESTION: &str = "# %% [^1]\n\n[^1]: [markdown] timeout=0.2s\n\nHurry!\n";
const CHAT: [&str; 4] = ["chat", "a.msg.md", "-m", "openai/tiny"];

#[test]
fn the_timeout_of_a_question_ends_its_answer() {
    let slow = vec![stream_head(), piece("Once upon"), Step::Hang];
    let server = Server::new(vec![slow]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", QUESTION);
    let run = sandbox.run(&CHAT);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("openai/tiny did not finish the answer within 0.2 s"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_option_wins_over_the_timeout_of_a_question() {
    let slow = [vec![Step::Pause(600)], answer(&["At last."])].concat();
    let server = Server::new(vec![slow]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", QUESTION);
    let run = sandbox.run(&[&CHAT[..], &["--timeout", "60"]].concat());
    run.assert_prints("At last.\n");
}
