//! Messages of which only a summary may be sent.

use analects_core::{History, Message};
use analects_runtime::turn::Ending;
use jiff::Timestamp;

use crate::place::Place;
use crate::server::{Question, Reply, Server};

fn answers(question: &Question) -> Reply {
    match question.text().contains("Summarise the message above") {
        true => Reply::text("a long story, in short"),
        false => Reply::text("I see."),
    }
}

fn with_a_long_message(place: &Place) {
    let mut conversation = place.open();
    let long = Message {
        history: History::Summary,
        ..Message::user("", "Once upon a time there was a very long story.")
    };
    conversation.add(vec![long], Timestamp::now()).unwrap();
    conversation.finish(Message::assistant("", "I listen.")).unwrap();
}

#[tokio::test]
async fn a_summary_that_is_missing_is_asked_for_once_and_kept() {
    for place in Place::both() {
        with_a_long_message(&place);
        let server = Server::start(answers);
        let model = server.model();
        let turned = place.say(&model, "Go on.").await;
        assert_eq!(turned.outcome.ending, Ending::Done, "{:?}", turned.outcome);
        assert!(turned.saw("Summarising"));
        let sent = server.last().text();
        assert!(sent.contains("a long story, in short") && !sent.contains("Once upon"), "{sent}");
        let turned = place.say(&model, "And then?").await;
        assert!(!turned.saw("Summarising"));
        assert!(server.last().text().starts_with(&sent));
        assert_eq!(server.asked().len(), 3);
    }
}

#[tokio::test]
async fn without_its_summary_nothing_is_sent_in_its_place() {
    for place in Place::both() {
        with_a_long_message(&place);
        let server = Server::start(|_| Reply::refusal());
        let turned = place.say(&server.model(), "Go on.").await;
        assert!(matches!(turned.outcome.ending, Ending::NoSummary(_)), "{:?}", turned.outcome);
        assert!(turned.outcome.error.is_some());
        assert_eq!(server.asked().len(), 1);
    }
}
