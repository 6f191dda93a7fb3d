//! `chat --watch` over a file in which an editor saves an older text over an answer: the answer comes back, below the
//! question that it answers, and nobody's words become somebody else's.
#![cfg(unix)]

use std::time::Duration;

use crate::server::{Server, Step, answer, done, piece, stream_head};
use crate::watching::{Watching, sandbox_with, save_in_place};

#[test]
fn an_answer_that_begins_with_a_blank_line_is_put_back() {
    for first in ["\n\nSure, here it is.\nThe second", "\r\nSure, here it is.\nThe second"] {
        let rest = " line.\nThe third line.\nThe end.";
        let slow = vec![stream_head(), piece(first), Step::Pause(800), piece(rest), done()];
        let server = Server::new(vec![slow, answer(&["next"])]);
        let sandbox = sandbox_with(&server);
        let watching = Watching::start(&sandbox, &[]);
        save_in_place(&sandbox, "first?");
        sandbox.wait_for("a.msg.md", "\nThe second");
        let early = sandbox.read("a.msg.md");
        assert!(early.ends_with("\nThe second"), "{early}");
        sandbox.wait_for("a.msg.md", "\nThe end.\n\n# %%\n");
        std::thread::sleep(Duration::from_millis(1500));
        sandbox.write("a.msg.md", format!("{early}\n\n# %%\n\nsecond?\n"));
        sandbox.wait_for("a.msg.md", "\nnext\n\n# %%\n");
        let texts = ["first?", &format!("{first}{rest}"), "second?", "next"];
        assert_eq!(sandbox.texts("a.msg.md"), texts);
        let run = watching.stop();
        assert!(run.stderr.contains("saved over the last answer"), "{}", run.stderr);
    }
}
