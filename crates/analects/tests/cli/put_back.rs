//! `chat --watch` over a file in which an editor saves an older text over an answer: the answer comes back, below the
//! question that it answers, and nobody's words become somebody else's.
#![cfg(unix)]

use std::time::Duration;

use crate::sandbox::{Sandbox, skip};
use crate::server::{Server, Step, answer, done, piece, stream_head};
use crate::watching::{
    AGENT, TWO, Watching, halves, nothing_more_is_asked, sandbox_with, save_in_place, two_halves,
};

#[test]
fn an_answer_that_begins_with_a_blank_line_is_put_back() {
    for first in ["\n\nSure, here it is.\nThe second", "\r\nSure, here it is.\nThe second"] {
        let rest = " line.\nThe third line.\nThe end.";
        let (sandbox, _server) = halves(first, rest, "next");
        let watching = Watching::start(&sandbox, &[]);
        save_in_place(&sandbox, "first?");
        sandbox.wait_for("a.msg.md", "\nThe second");
        let early = sandbox.read("a.msg.md");
        assert!(early.ends_with("\nThe second"), "{early}");
        sandbox.write("go", "");
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

/// Somebody else's answer, of which only the beginning came before they were killed, under the name that an answer had
/// which was removed with its question.
#[test]
fn what_is_left_of_another_answer_with_the_name_of_one_that_was_removed_is_left_alone() {
    // Either the removal is seen, or the two differ in their questions only.
    for is_seen in [true, false] {
        for left in ["Sure!\n\nRome is old.\nAnd has seven hills.\n", "Sure!\n"] {
            let other = vec![stream_head(), piece(left), Step::Hang];
            let ours = answer(&["Sure!\n\nParis is the capital.\nIt is large."]);
            let server = Server::new(vec![ours, other, answer(&["Milan is new."])]);
            let sandbox = sandbox_with(&server);
            let watching = Watching::start(&sandbox, &[]);
            save_in_place(&sandbox, "Paris?");
            sandbox.wait_for("a.msg.md", "\nIt is large.\n\n# %%\n");
            sandbox.write("a.msg.md", AGENT);
            server.request();
            if is_seen {
                nothing_more_is_asked(&server);
            }
            let question = if is_seen { "Paris?" } else { "Rome?" };
            let mut other = sandbox.spawn(&["chat", "a.msg.md", question]);
            sandbox.wait_for("a.msg.md", left);
            other.kill().unwrap();
            other.wait().unwrap();
            server.request();
            let file = sandbox.read("a.msg.md");
            assert!(file.contains("[^2] ") || file.contains("[^2]:"), "{file}");
            save_in_place(&sandbox, "And Milan?");
            sandbox.wait_for("a.msg.md", "\nMilan is new.\n\n# %%\n");
            let texts = [question, left.trim_end(), "And Milan?", "Milan is new."];
            assert_eq!(sandbox.texts("a.msg.md"), texts, "{is_seen}");
            let run = watching.stop();
            assert!(!run.stderr.contains("put back"), "{}", run.stderr);
        }
    }
}

#[test]
fn an_answer_that_could_not_be_written_to_its_end_is_put_back() {
    let (sandbox, server) = halves("slow\n", "ly", "next");
    let watching = Watching::start(&sandbox, &[]);
    save_in_place(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\nslow\n");
    // Something else takes the file's place while the answer ends.
    std::fs::rename(sandbox.path("a.msg.md"), sandbox.path("away")).unwrap();
    std::fs::create_dir(sandbox.path("a.msg.md")).unwrap();
    sandbox.write("go", "");
    server.request();
    nothing_more_is_asked(&server);
    std::fs::remove_dir(sandbox.path("a.msg.md")).unwrap();
    std::fs::rename(sandbox.path("away"), sandbox.path("a.msg.md")).unwrap();
    sandbox.wait_for("a.msg.md", "\nslow\nly\n\n# %%\n");
    save_in_place(&sandbox, "second?");
    sandbox.wait_for("a.msg.md", "\nnext\n\n# %%\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["first?", "slow\nly", "second?", "next"]);
    let run = watching.stop();
    assert!(run.stderr.contains("only a part of the answer is in the file"), "{}", run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_for_which_the_disk_had_no_room_is_put_back_when_there_is() {
    let test = "an_answer_for_which_the_disk_had_no_room_is_put_back_when_there_is";
    let line = "A line of a long answer.\n".repeat(40);
    let long = (0..40).flat_map(|_| [piece(&line), Step::Pause(10)]);
    let long = [stream_head()].into_iter().chain(long).chain([piece("The end."), done()]).collect();
    let server = Server::new(vec![long, answer(&["too many"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let Some(_disk) = crate::disk::Mounted::tmpfs(&sandbox.path(""), "256k") else {
        return skip(test, "a tmpfs cannot be mounted here");
    };
    sandbox.write("a.msg.md", AGENT);
    let watching = Watching::start(&sandbox, &[]);
    sandbox.write("ballast", vec![0; 192 * 1024]);
    save_in_place(&sandbox, "question?");
    server.request();
    nothing_more_is_asked(&server);
    assert!(sandbox.read("a.msg.md").contains("status=\"streaming\""));
    std::fs::remove_file(sandbox.path("ballast")).unwrap();
    sandbox.wait_for("a.msg.md", "\nThe end.\n\n# %%\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["question?", &format!("{}The end.", line.repeat(40))]);
    let run = watching.stop();
    assert_eq!(run.stderr.matches("no space left").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("could not be written, and is in the file now"), "{}", run.stderr);
}

/// Without a watch, the call itself looks after the answers that it got before.
#[test]
fn an_older_text_saved_while_another_agent_answers_takes_nothing_away() {
    // As it was while the first answer grew, before it began, and with a half that was changed.
    for (is_half, changed) in [(true, None), (false, None), (true, Some("once"))] {
        let (sandbox, _server) = two_halves(("one\ntw", "o"), ("three\n", "four"));
        let child = sandbox.spawn(&["chat", "a.msg.md"]);
        sandbox.wait_for("a.msg.md", "\none\ntw");
        let old = if is_half { sandbox.read("a.msg.md") } else { TWO.to_string() };
        assert_eq!(is_half, old.contains("status=\"streaming\""), "{old}");
        sandbox.write("go", "");
        sandbox.wait_for("a.msg.md", "\nthree\n");
        sandbox.write(
            "a.msg.md",
            changed.map_or(old.clone(), |word| old.replace("\none", &format!("\n{word}"))),
        );
        sandbox.write("go on", "");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), &*output.stdout),
            (Some(0), &b"one\ntwo\nthree\nfour\n"[..])
        );
        let first = if changed.is_some() { "once\ntw" } else { "one\ntwo" };
        let texts = ["first?", first, "second?", "three\nfour"];
        assert_eq!(sandbox.texts("a.msg.md"), texts, "{}", sandbox.read("a.msg.md"));
        let said = if changed.is_some() { "so it is not put back" } else { "which is put back" };
        assert_eq!(stderr.matches(said).count(), 1, "{stderr}");
        assert_eq!(sandbox.read("a.msg.md").contains("streaming"), changed.is_some());
    }
}
