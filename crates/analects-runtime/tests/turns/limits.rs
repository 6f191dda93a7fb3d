//! What a turn may not take more of.

use analects_client::Model;
use analects_core::{Body, History, Message, ModelFacts, Prices, Rates};
use analects_runtime::turn::TurnLimits;
use analects_runtime::{CompactionError, TurnConfig, TurnEnd};

use crate::place::{Place, add};
use crate::server::{Reply, Server};

#[test]
fn a_question_that_costs_more_than_allowed_is_not_asked() {
    let place = Place::file();
    let server = Server::start(|_| Reply::text("Yes."));
    let mut model = server.model();
    let unknown = place.say_with(&model, "How much?", limited);
    assert!(
        matches!(unknown.outcome.end, TurnEnd::PriceUnknown),
        "{:?}",
        unknown.outcome
    );
    let rates = Rates {
        input: Some(1000.0),
        output: Some(1.0),
        ..Rates::default()
    };
    let prices = Some(Prices {
        rates,
        ..Prices::default()
    });
    let facts = ModelFacts {
        prices,
        ..ModelFacts::default()
    };
    model.facts = Some(facts);
    let dear = place.say_with(&model, "And now?", limited);
    let TurnEnd::TooCostly { limit, next, .. } = dear.outcome.end else {
        panic!("{:?}", dear.outcome)
    };
    assert!(limit == 0.001 && next > limit, "{next}");
    assert!(server.asked().is_empty());
    // Nothing but what the person said is in the file.
    assert_eq!(place.seen(), ["How much?", "And now?"]);
}

fn limited(config: TurnConfig) -> TurnConfig {
    TurnConfig {
        limits: TurnLimits {
            cost: Some(0.001),
            ..TurnLimits::default()
        },
        ..config
    }
}

/// What may be spent limits the answer, and summaries count.
#[test]
fn an_answer_may_cost_what_is_left() {
    let place = Place::file();
    let server = Server::start(|_| Reply::Text("Yes.".into(), 20));
    let mut model = server.model();
    let rates = Rates {
        input: Some(1.0),
        output: Some(100.0),
        ..Rates::default()
    };
    let prices = Some(Prices {
        rates,
        ..Prices::default()
    });
    model.facts = Some(ModelFacts {
        prices,
        ..ModelFacts::default()
    });
    place.say_with(&model, "How much?", three_tenths_of_a_cent);
    // Thirty tokens of an answer cost as much as there is, less what the question takes.
    let tokens = server.last().0["max_completion_tokens"].as_u64();
    let tokens = tokens.or(server.last().0["max_tokens"].as_u64()).unwrap();
    assert!((20..30).contains(&tokens), "{tokens}");
}

fn three_tenths_of_a_cent(config: TurnConfig) -> TurnConfig {
    TurnConfig {
        limits: TurnLimits {
            cost: Some(0.0030),
            ..TurnLimits::default()
        },
        ..config
    }
}

/// A model for which both sides cost the same.
fn priced(server: &Server, dollars_per_million: f64) -> Model {
    let rate = Some(dollars_per_million);
    let rates = Rates {
        input: rate,
        output: rate,
        ..Rates::default()
    };
    let prices = Some(Prices {
        rates,
        ..Prices::default()
    });
    Model {
        facts: Some(ModelFacts {
            prices,
            ..ModelFacts::default()
        }),
        ..server.model()
    }
}

fn one_cent(config: TurnConfig) -> TurnConfig {
    TurnConfig {
        limits: TurnLimits {
            cost: Some(0.01),
            ..TurnLimits::default()
        },
        ..config
    }
}

#[test]
fn summaries_that_cost_more_than_is_left_are_not_asked_for() {
    for place in Place::both() {
        let long = "word ".repeat(3000);
        let hidden = |text: &str| {
            let history = History::Summary;
            Message {
                history,
                ..Message::user("", format!("{text} {long}"))
            }
        };
        let said = vec![hidden("one"), hidden("two")];
        add(&mut *place.open(), said);
        // Each summary costs seven tenths of a cent or so: the first can be paid for.
        let server = Server::start(|_| Reply::Text("In short.".into(), 3000));
        let turned = place.say_with(&priced(&server, 2.0), "Go on.", one_cent);
        let TurnEnd::NoSummary { why: Some(why), .. } = turned.outcome.end else {
            panic!("{:?}", turned.outcome)
        };
        assert!(matches!(*why, CompactionError::OverBudget(_)), "{why:?}");
        assert!(why.to_string().contains("a summary costs $0.00"), "{why}");
        let asked = server.asked();
        assert_eq!(asked.len(), 1);
    }
}

fn uncompacted(config: TurnConfig) -> TurnConfig {
    TurnConfig {
        threshold: None,
        ..config
    }
}

#[test]
fn a_compaction_that_costs_more_than_is_left_is_told_and_not_tried() {
    for place in Place::both() {
        let server = Server::start(|_| Reply::text("The river flows to the sea. ".repeat(8)));
        let model = priced(&server, 1.0);
        for round in 0..11 {
            place.say_with(&model, &format!("Question {round}?"), uncompacted);
        }
        let before = server.asked().len();
        // The question can be paid for, but not what a dear model takes for the summary.
        let dear = priced(&server, 1000.0);
        let turned = place.say_with(&model, "And now?", |config| TurnConfig {
            summariser: Some(dear.clone()),
            ..one_cent(config)
        });
        assert!(
            turned.saw("NotCompacted(OverBudget(TooCostly"),
            "{:?}",
            turned.seen
        );
        assert!(turned.is_done(), "{:?}", turned.outcome);
        let asked = server.asked();
        assert!(
            asked[before..]
                .iter()
                .all(|question| !question.wants_summary())
        );
        // It was no failure of the model's, so nothing is noted against the next try.
        let decoded = place.open().snapshot();
        let notes = |message: &Message| matches!(message.body, Body::Notification(_));
        assert!(!decoded.messages.iter().any(notes), "{decoded:?}");
    }
}
