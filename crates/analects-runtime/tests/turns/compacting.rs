//! A conversation that becomes too long is summarised, by itself, by hand, or because it was refused.

use analects_core::Message;
use analects_runtime::{CompactionError, TurnEnd};

use crate::place::{Place, add_prompt};
use crate::server::{Question, Reply, Server};

const SUMMARY: &str = "They spoke of rivers, one by one.";

/// Answers of about fifty tokens, and summaries.
fn talker(question: &Question) -> Reply {
    match question.wants_summary() {
        true => Reply::text(SUMMARY),
        false => Reply::text("The river flows to the sea. ".repeat(8)),
    }
}

#[test]
fn a_long_conversation_is_compacted_before_it_is_full() {
    for place in Place::both() {
        let server = Server::start(talker);
        let model = server.model();
        let mut compacted = None;
        for round in 0..12 {
            let turned = place.say(&model, &format!("Question {round} about a river?"));
            assert!(turned.is_done());
            if turned.saw("Compacted") {
                compacted = Some(round);
                break;
            }
        }
        let round = compacted.unwrap();
        assert!(round > 3, "not before there is something to summarise");
        let asked = server.asked();
        // The questions before the last asked for the summary, in pieces, with what was said in them.
        let requests: Vec<String> = asked
            .iter()
            .filter(|it| it.wants_summary())
            .map(Question::text)
            .collect();
        assert!(asked[asked.len() - 2].wants_summary() && requests[0].contains("Question 0 about"));
        for part in [
            "1. Technical context",
            "4. Debugging and issues",
            "8. Key decisions",
        ] {
            assert!(
                requests.iter().all(|request| request.contains(part)),
                "{part}"
            );
        }
        // The last one has the summary in the place of what it stands for, and the question itself.
        let sent = server.last().text();
        assert!(
            sent.contains(SUMMARY) && !sent.contains("Question 0 "),
            "{sent}"
        );
        assert!(sent.contains(&format!("Question {round} ")), "{sent}");
        let seen = place.seen();
        assert!(
            seen[0].contains(SUMMARY) && seen.len() < 2 * round,
            "{seen:?}"
        );
        // The next turn finds room, and what is sent begins in the same way.
        let turned = place.say(&model, "And now?");
        assert!(!turned.saw("Compact"));
        assert!(server.last().text().starts_with(&sent));
        // Undone, everything is there as it was.
        assert!(place.undo_compaction());
        let seen = place.seen();
        assert_eq!(seen[0], "Question 0 about a river?");
        assert_eq!(seen.len(), 2 * (round + 2), "{seen:?}");
        assert!(!place.undo_compaction());
    }
}

#[test]
fn a_prompt_that_is_refused_as_too_long_is_compacted_and_sent_again() {
    for place in Place::both() {
        let mut refused = false;
        let server = Server::start(move |question| {
            let is_last = question.text().contains("last question");
            match is_last && !question.wants_summary() && !std::mem::replace(&mut refused, true) {
                true => Reply::too_long(),
                false => talker(question),
            }
        });
        let model = server.model();
        for prompt in ["one?", "two?", "three?"] {
            place.say(&model, prompt);
        }
        let turned = place.say(&model, "the last question?");
        assert!(turned.is_done());
        assert!(
            turned.saw("Compacting(Reactive") && turned.saw("Compacted"),
            "{:?}",
            turned.seen
        );
        let sent = server.last().text();
        assert!(
            sent.contains(SUMMARY) && sent.contains("the last question?"),
            "{sent}"
        );
        // The refusal is no part of the conversation.
        assert!(
            place
                .seen()
                .iter()
                .all(|text| !text.contains("maximum context"))
        );
    }
}

#[test]
fn who_stops_while_a_refused_prompt_is_made_shorter_has_no_answer() {
    for place in Place::both() {
        let server = Server::start(|question| match question.text().contains("last question") {
            true => Reply::too_long(),
            false => talker(question),
        });
        let model = server.model();
        for prompt in ["one?", "two?", "three?"] {
            place.say(&model, prompt);
        }
        let before = place.seen();
        let prompt = "the last question?";
        let turned = place.say_until(&model, prompt, |config| config, Some("Compacting(Reactive"));
        assert!(
            matches!(turned.outcome.end, TurnEnd::Stopped),
            "{:?}",
            turned.outcome
        );
        assert!(turned.outcome.answer.is_none(), "{:?}", turned.outcome);
        // The prompt waits, and nothing else is there.
        assert_eq!(place.seen(), [&before[..], &[prompt.to_string()]].concat());
    }
}

#[test]
fn a_refused_prompt_of_which_no_summary_can_be_made_is_not_sent_again() {
    for place in Place::both() {
        let server = Server::start(|_| Reply::too_long());
        let turned = place.say(&server.model(), "the only question?");
        assert!(
            matches!(turned.outcome.end, TurnEnd::Failed(_)),
            "{:?}",
            turned.outcome
        );
        assert!(turned.saw("NotCompacted"), "{:?}", turned.seen);
        assert_eq!(server.asked().len(), 1);
        // What failed is in the record, as after any other failure.
        assert!(
            place
                .seen()
                .iter()
                .any(|text| text.contains("maximum context"))
        );
    }
}

#[test]
fn where_no_model_can_summarise_a_refused_prompt_the_last_resort_does() {
    for place in Place::both() {
        let server = Server::start(|question| {
            let is_whole = question
                .text()
                .contains("It is long. It is long. It is long.");
            match question.wants_summary() || is_whole {
                true => Reply::too_long(),
                false => Reply::text("The river flows to the sea. ".repeat(8)),
            }
        });
        let model = server.model();
        let mut conversation = place.open();
        add_prompt(&mut *conversation, "one?");
        conversation
            .finish(Message::assistant("", "It is long. ".repeat(20)))
            .unwrap();
        add_prompt(&mut *conversation, "two?");
        conversation
            .finish(Message::assistant("", "It is wide. ".repeat(20)))
            .unwrap();
        drop(conversation);
        let turned = place.say(&model, "three?");
        assert!(turned.is_done(), "{:?}", turned.outcome);
        assert!(
            turned
                .seen
                .iter()
                .any(|seen| seen.contains("is_fallback: true"))
        );
        assert!(place.seen().len() < 7);
    }
}

#[test]
fn a_compaction_that_fails_changes_nothing_is_told_once_and_backs_off() {
    for place in Place::both() {
        let server = Server::start(|question| match question.wants_summary() {
            true => Reply::refusal(),
            false => Reply::text("The river flows to the sea. ".repeat(8)),
        });
        let model = server.model();
        let mut failures = Vec::new();
        for round in 0..12 {
            let turned = place.say(&model, &format!("Question {round} about a river?"));
            assert!(turned.is_done(), "the turn goes on without");
            if turned.saw("NotCompacted") {
                failures.push(round);
            }
        }
        let asked = server
            .asked()
            .iter()
            .filter(|question| question.wants_summary())
            .count();
        assert_eq!(asked, failures.len());
        assert!((1..=3).contains(&asked), "{failures:?}");
        let seen = place.seen();
        assert_eq!(seen[0], "Question 0 about a river?");
        // What failed is noted, and not sent.
        assert!(seen.iter().any(|text| text.contains("no summaries here")));
        assert!(!server.last().text().contains("no summaries here"));
    }
}

#[test]
fn a_conversation_is_compacted_by_hand_more_than_once() {
    for place in Place::both() {
        let server = Server::start(talker);
        let model = server.model();
        let empty = place.compact(&mut *place.open(), &model);
        assert!(matches!(empty, Err(CompactionError::NotNow(_))));
        for times in 1..=2 {
            for prompt in ["one?", "two?", "three?"] {
                place.say(&model, prompt);
            }
            let compacted = place.compact(&mut *place.open(), &model).unwrap();
            assert!(
                compacted.messages >= 4 && compacted.after < compacted.before,
                "{compacted:?}"
            );
            let seen = place.seen();
            let summaries = seen.iter().filter(|text| text.contains(SUMMARY)).count();
            assert_eq!(summaries, 1, "after {times}: {seen:?}");
        }
        // The second summary was made of the first one, and its undoing shows that again.
        let asked = server.asked();
        let last = asked
            .iter()
            .rfind(|question| question.wants_summary())
            .unwrap();
        assert!(last.text().contains(SUMMARY));
        assert!(place.undo_compaction());
        assert!(place.seen()[0].contains(SUMMARY));
        assert!(place.undo_compaction());
        assert_eq!(place.seen()[0], "one?");
    }
}

#[test]
fn what_teaches_counting_is_kept_with_a_session() {
    let [_, place] = Place::both();
    let server = Server::start(|_| Reply::Text("Yes. ".repeat(50), 500));
    let model = server.model();
    place.say(&model, &"a question of some length ".repeat(60));
    let calibration = place.open().notes().calibration;
    assert!(calibration.knows("tiny") && calibration.factor("tiny") > 1.0);
}

/// The window is smaller than anybody knew: what fits is found out, and the conversation goes on.
#[test]
fn a_window_smaller_than_was_thought_is_found_out() {
    for place in Place::both() {
        // About 400 tokens, where 200 000 are expected.
        let server = Server::start(|question| {
            let length: usize = question.text().len();
            match length > 3200 {
                true => Reply::too_long(),
                false => talker(question),
            }
        });
        let model = server.model();
        let agent = analects_core::Agent::of_model("tiny", "openai/tiny");
        let mut conversation = place.open_for(agent.clone());
        for round in 0..10 {
            add_prompt(&mut *conversation, &format!("Question {round}?"));
            let answer = "The river is long and wide. ".repeat(30);
            conversation.finish(Message::assistant("", answer)).unwrap();
        }
        drop(conversation);
        let mut conversation = place.open_for(agent.clone());
        let prompt = Some("And now?");
        let turned = place.ask(
            &mut *conversation,
            &model,
            prompt,
            agent,
            place.config(),
            None,
        );
        assert!(turned.is_done(), "{:?}", turned.outcome);
        let sent = server.last().text();
        assert!(
            sent.contains(SUMMARY) && sent.contains("And now?"),
            "{sent}"
        );
    }
}

/// A refusal that names the window spares the search for it; one that names nonsense changes nothing.
#[test]
fn a_window_that_a_refusal_names_is_used() {
    let tries = |window: &'static str| {
        let place = Place::file();
        let server = Server::start(move |question| match question.text().len() > 3200 {
            true => Reply::longer_than(window),
            false => talker(question),
        });
        let agent = analects_core::Agent::of_model("tiny", "openai/tiny");
        let mut conversation = place.open_for(agent.clone());
        for round in 0..10 {
            add_prompt(&mut *conversation, &format!("Question {round}?"));
            let answer = "The river is long and wide. ".repeat(30);
            conversation.finish(Message::assistant("", answer)).unwrap();
        }
        let model = server.model();
        let prompt = Some("And now?");
        let turned = place.ask(
            &mut *conversation,
            &model,
            prompt,
            agent,
            place.config(),
            None,
        );
        assert!(turned.is_done(), "{window}: {:?}", turned.outcome);
        server
            .asked()
            .iter()
            .filter(|it| it.text().len() > 3200)
            .count()
    };
    assert_eq!(tries("600"), 1, "only the question itself is refused");
    let without = tries("so many");
    assert!(without > 1, "{without}");
    for nonsense in [
        "0",
        "1",
        "1000000000000000000000000000000",
        "18446744073709551615",
    ] {
        assert_eq!(tries(nonsense), without, "{nonsense}");
    }
}

/// What a person types while the summary is written stays, and is asked.
#[test]
fn what_is_typed_while_a_summary_is_written_is_not_lost() {
    let place = Place::file();
    let path = place.path();
    let server = Server::start(move |question| {
        if question.wants_summary() {
            let mut file = std::fs::read_to_string(&path).unwrap();
            if !file.contains("Typed meanwhile") {
                file.push_str("\n# %%\n\nTyped meanwhile?\n");
                std::fs::write(&path, file).unwrap();
            }
        }
        talker(question)
    });
    let model = server.model();
    for prompt in ["one?", "two?", "three?"] {
        place.say(&model, prompt);
    }
    place.compact(&mut *place.open(), &model).unwrap();
    let seen = place.seen();
    assert!(seen[0].contains(SUMMARY));
    assert_eq!(seen.last().unwrap(), "Typed meanwhile?");
}

/// A conversation that was changed where the summary stands for it is not compacted.
#[test]
fn a_summary_of_what_was_changed_meanwhile_is_not_kept() {
    let place = Place::file();
    let path = place.path();
    let server = Server::start(move |question| {
        if question.wants_summary() {
            let file = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, file.replace("one?", "something else?")).unwrap();
        }
        talker(question)
    });
    let model = server.model();
    for prompt in ["one?", "two?", "three?"] {
        place.say(&model, prompt);
    }
    let not = place.compact(&mut *place.open(), &model).unwrap_err();
    assert!(
        not.to_string().contains("was changed while its summary"),
        "{not}"
    );
    assert_eq!(place.seen().len(), 6);
}

/// Two processes go on with one session: the compaction of one does not swallow what the other says.
#[test]
fn a_compaction_follows_what_it_was_made_of() {
    let [_, place] = Place::both();
    let server = Server::start(talker);
    let model = server.model();
    for prompt in ["one?", "two?", "three?"] {
        place.say(&model, prompt);
    }
    let mut slow = place.open();
    place.say(&model, "from the other?");
    place.compact(&mut *slow, &model).unwrap();
    let snapshot = slow.snapshot();
    let seen: Vec<String> = snapshot
        .chain()
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert!(seen[0].contains(SUMMARY), "{seen:?}");
    assert!(
        seen.iter().all(|text| !text.contains("from the other")),
        "{seen:?}"
    );
    // The summary was not made of what the other said, which is still in the session, behind what both knew.
    let made_of = server.last();
    assert!(
        made_of.wants_summary() && made_of.text().contains("three?"),
        "{made_of:?}"
    );
    assert!(!made_of.text().contains("from the other"), "{made_of:?}");
    let stored = place.stored();
    let at = |text: &str| {
        stored
            .iter()
            .position(|record| record["content"] == text)
            .unwrap()
    };
    let (three, other) = (at("three?"), at("from the other?"));
    assert_eq!(stored[other]["parent_id"], stored[three + 1]["id"]);
    assert_eq!(stored[other + 1]["parent_id"], stored[other]["id"]);
    let summary = stored
        .iter()
        .find(|record| record["type"] == "summary")
        .unwrap();
    assert_eq!(summary["parent_id"], stored[three + 1]["id"]);
}

#[test]
fn a_note_about_a_failed_compaction_has_no_address() {
    let place = Place::file();
    let server = Server::start(|question| match question.wants_summary() {
        true => Reply::Status(400, serde_json::json!({ "error": { "message": "no" } })),
        false => Reply::text("The river flows to the sea. ".repeat(8)),
    });
    let model = server.model();
    for round in 0..12 {
        place.say(&model, &format!("Question {round} about a river?"));
    }
    let file = std::fs::read_to_string(place.path()).unwrap();
    assert!(
        file.contains("compaction_failed") && !file.contains("127.0.0.1"),
        "{file}"
    );
}
