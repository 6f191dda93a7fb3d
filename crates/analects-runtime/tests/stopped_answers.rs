//! A person who stops an answer keeps what came of it, text or not.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::task::Poll;
use std::time::Duration;

use analects_client::ProviderSettings;
use analects_core::{Delta, StreamEvent};
use analects_runtime::{AskOptions, FileConversation, Outcome, TurnEnd, TurnEvent, prepare};
use analects_store::StoreFolders;
use analects_testkit::server::{Answer, Server};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const THOUGHT: &str =
    "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"let me see\"}}]}\n\n";

/// Where the address of a provider is read from, and a model of it.
const OPENAI: (&str, &str) = ("OPENAI_BASE_URL", "openai/tiny");
const ANTHROPIC: (&str, &str) = ("ANTHROPIC_BASE_URL", "anthropic/tiny");

/// Serves the beginning of one answer, then nothing until the other side goes away; tells when the beginning is sent.
fn serve(beginning: String) -> (String, Receiver<()>) {
    let (sent, is_sent) = channel();
    let answer: Answer = Box::new(move |_, stream| {
        stream.write_all(beginning.as_bytes()).unwrap();
        let _ = sent.send(());
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (Server::with([answer]).base_url, is_sent)
}

/// Asks in `talk.msg.md`, and stops at the first event that `enough` says is one too many, or with `or`.
fn stop_at(
    folder: &Path,
    (variable, name): (&str, &str),
    base_url: String,
    enough: impl Fn(&StreamEvent) -> bool,
    or: impl Future<Output = ()>,
) -> Outcome {
    let places = StoreFolders::in_folder(folder);
    let environment = ProviderSettings::read(|name| (name == variable).then(|| base_url.clone()));
    let mut conversation = FileConversation::open(&folder.join("talk.msg.md"), &places).unwrap();
    let options = AskOptions {
        model: Some(name),
        prompt: Some("really?"),
        ..AskOptions::new(&environment)
    };
    let stop = Cell::new(false);
    let mut watch = |event: TurnEvent| {
        if let TurnEvent::Stream(event) = event {
            stop.set(stop.get() || enough(&event));
        }
    };
    // The turn looks at this again after each event, so nobody has to wake it.
    let enough = poll_fn(|_| {
        if stop.get() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let stopped = async {
        tokio::select! { () = enough => {}, () = or => {} }
    };
    let mut prepared = prepare(&mut conversation, &options).unwrap();
    prepared.ask_blocking(&mut watch, stopped).unwrap()
}

fn is_stopped(outcome: &Outcome) -> bool {
    matches!(outcome.end, TurnEnd::Stopped)
}

#[test]
fn a_thought_that_was_stopped_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (base_url, _) = serve(format!("{HEAD}{THOUGHT}"));
    let is_thought = |event: &StreamEvent| {
        matches!(
            event,
            StreamEvent::BlockDelta {
                delta: Delta::Thinking(_),
                ..
            }
        )
    };
    let patience = async { tokio::time::sleep(Duration::from_secs(20)).await };
    let outcome = stop_at(folder.path(), OPENAI, base_url, is_thought, patience);
    assert!(is_stopped(&outcome));
    let file = std::fs::read_to_string(folder.path().join("talk.msg.md")).unwrap();
    assert!(
        file.contains("\nlet me see\n") && file.contains("interrupted"),
        "{file}"
    );
}

#[test]
fn an_answer_of_which_nothing_came_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (base_url, sent) = serve(format!("{HEAD}data: {{\"id\":\"r\",\"choices\":[]}}\n\n"));
    // No event tells of an answer in which nothing is said, so it gets some time to arrive.
    let soon = async {
        while sent.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let outcome = stop_at(folder.path(), OPENAI, base_url, |_| false, soon);
    assert!(is_stopped(&outcome));
    let file = std::fs::read_to_string(folder.path().join("talk.msg.md")).unwrap();
    assert!(
        file.ends_with("\nreally?\n") && !file.contains("%%%"),
        "{file}"
    );
}

/// Anthropic announces a block before anything of it comes.
#[test]
fn an_answer_that_was_only_announced_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let start = r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"tiny","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#;
    let block =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let events = format!(
        "event: message_start\ndata: {start}\n\nevent: content_block_start\ndata: {block}\n\n"
    );
    let (base_url, _) = serve(format!("{HEAD}{events}"));
    let is_announced = |event: &StreamEvent| matches!(event, StreamEvent::BlockStart { .. });
    // Stopped a little too early, it leaves no trace either.
    let patience = async { tokio::time::sleep(Duration::from_secs(3)).await };
    let outcome = stop_at(folder.path(), ANTHROPIC, base_url, is_announced, patience);
    assert!(is_stopped(&outcome));
    assert!(outcome.answer.is_none_or(|answer| answer.text().is_empty()));
    let file = std::fs::read_to_string(folder.path().join("talk.msg.md")).unwrap();
    assert!(
        file.ends_with("\nreally?\n") && !file.contains("%%%"),
        "{file}"
    );
}
