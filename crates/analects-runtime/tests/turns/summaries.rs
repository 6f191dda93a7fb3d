//! Messages of which only a summary may be sent.

use analects_core::{History, Message};
use analects_runtime::TurnEnd;

use crate::place::{Place, add};
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
    add(&mut *conversation, [long]);
    conversation
        .finish(Message::assistant("", "I listen."))
        .unwrap();
}

#[test]
fn a_summary_that_is_missing_is_asked_for_once_and_kept() {
    for place in Place::both() {
        with_a_long_message(&place);
        let server = Server::start(answers);
        let model = server.model();
        let turned = place.say(&model, "Go on.");
        assert!(turned.is_done(), "{:?}", turned.outcome);
        assert!(turned.saw("Summarising"));
        let sent = server.last().text();
        assert!(
            sent.contains("a long story, in short") && !sent.contains("Once upon"),
            "{sent}"
        );
        let turned = place.say(&model, "And then?");
        assert!(!turned.saw("Summarising"));
        assert!(server.last().text().starts_with(&sent));
        assert_eq!(server.asked().len(), 3);
    }
}

#[test]
fn without_its_summary_nothing_is_sent_in_its_place() {
    for place in Place::both() {
        with_a_long_message(&place);
        let server = Server::start(|_| Reply::refusal());
        let turned = place.say(&server.model(), "Go on.");
        let TurnEnd::NoSummary { why: Some(_), .. } = turned.outcome.end else {
            panic!("{:?}", turned.outcome)
        };
        assert_eq!(server.asked().len(), 1);
    }
}
