//! What a turn may not take more of.

use analects_core::{ModelFacts, Prices, Rates};
use analects_runtime::Asked;
use analects_runtime::turn::{Ending, Limits};

use crate::place::Place;
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_question_that_costs_more_than_allowed_is_not_asked() {
    let place = Place::file();
    let server = Server::start(|_| Reply::text("Yes."));
    let mut model = server.model();
    let unknown = place.say_with(&model, "How much?", limited).await;
    assert_eq!(unknown.outcome.ending, Ending::PriceUnknown);
    let rates = Rates { input: Some(1000.0), output: Some(1.0), ..Rates::default() };
    let prices = Some(Prices { rates, ..Prices::default() });
    let facts = ModelFacts { prices, ..ModelFacts::default() };
    model.facts = Some(facts);
    let dear = place.say_with(&model, "And now?", limited).await;
    assert!(matches!(dear.outcome.ending, Ending::TooCostly { .. }), "{:?}", dear.outcome);
    let text = dear.outcome.error.unwrap().to_string();
    assert!(text.contains("nothing was sent") && text.contains("$0.001000 allowed"), "{text}");
    assert!(server.asked().is_empty());
    // Nothing but what the person said is in the file.
    assert_eq!(place.seen(), ["How much?", "And now?"]);
}

fn limited(asked: Asked<'_>) -> Asked<'_> {
    Asked { limits: Limits { cost: Some(0.001), ..Limits::default() }, ..asked }
}

/// What may be spent limits the answer, and summaries count.
#[tokio::test]
async fn an_answer_may_cost_what_is_left() {
    let place = Place::file();
    let server = Server::start(|_| Reply::Text("Yes.".into(), 20));
    let mut model = server.model();
    let rates = Rates { input: Some(1.0), output: Some(100.0), ..Rates::default() };
    let prices = Some(Prices { rates, ..Prices::default() });
    model.facts = Some(ModelFacts { prices, ..ModelFacts::default() });
    place.say_with(&model, "How much?", three_tenths_of_a_cent).await;
    // Thirty tokens of an answer cost as much as there is, less what the question takes.
    let tokens = server.last().0["max_completion_tokens"].as_u64();
    let tokens = tokens.or(server.last().0["max_tokens"].as_u64()).unwrap();
    assert!((20..30).contains(&tokens), "{tokens}");
}

fn three_tenths_of_a_cent(asked: Asked<'_>) -> Asked<'_> {
    Asked { limits: Limits { cost: Some(0.0030), ..Limits::default() }, ..asked }
}
