//! A call that nobody runs.

use analects_runtime::TurnEnd;

use crate::place::Place;
use crate::server::{Reply, Server};

#[test]
fn a_call_that_nobody_runs_ends_as_a_failed_result() {
    for place in Place::both() {
        let server = Server::start(|question| match question.text().contains("weather?") {
            true if question.0["messages"].as_array().unwrap().len() == 1 => Reply::Call("weather"),
            _ => Reply::text("I cannot look."),
        });
        let model = server.model();
        let turned = place.say(&model, "The weather?");
        assert!(
            matches!(turned.outcome.end, TurnEnd::ToolsNotRun),
            "{:?}",
            turned.outcome
        );
        assert_eq!(server.asked().len(), 1, "nobody is asked again for nothing");
        // The conversation can be gone on with, and the model learns what became of its call.
        let turned = place.say(&model, "Then guess.");
        assert!(turned.is_done());
        let messages = server.last().0["messages"].clone();
        assert_eq!(messages[1]["tool_calls"][0]["id"], "call-0");
        assert_eq!(messages[2]["role"], "tool");
        assert_eq!(messages[2]["tool_call_id"], "call-0");
        let result = messages[2]["content"].as_str().unwrap();
        assert!(result.contains("weather was not run"), "{result}");
    }
}
