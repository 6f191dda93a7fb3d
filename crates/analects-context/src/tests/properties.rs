//! Properties of all conversations and all budgets.

use proptest::prelude::*;

use super::*;
use analects_testkit::conversations::{history, orderly};

fn budget() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, 200..4000_u64, Just(1_000_000)]
}

fn model() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "m",
        "claude-opus-4-1",
        "gpt-5",
        "gemini-2.5-pro",
        "smollm2",
    ])
}

/// The text of the last message of its kind, if it is sent in any form.
fn last_text(chain: &Chain<'_>, is: impl Fn(&Message) -> bool) -> Option<String> {
    let last = chain.messages.iter().rev().find(|message| is(message))?;
    Some(last.content_to_send().text()).filter(|text| !text.trim().is_empty())
}

fn says_something(message: &Message) -> bool {
    let is_user = matches!(message.body, Body::User(_));
    let has_summary = message.extra.get("summary").is_some();
    match message.history {
        History::Include => is_user && !message.text().trim().is_empty(),
        History::Summary => is_user && has_summary,
        History::Exclude => false,
    }
}

fn all_text(plan: &Plan) -> String {
    let turns = plan.request.turns.iter().map(|turn| turn.content.text());
    turns
        .chain(
            plan.request
                .system
                .iter()
                .map(|text| text.as_str().into_owned()),
        )
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn a_plan_keeps_its_promises(messages in history(), window in budget(), model in model()) {
        let agent = Agent { system_prompt: Some("Be exact.".into()), ..Agent::of_model("quick", model) };
        let planner = Planner::new(&agent).with_budget(Budget::new(window, window / 4));
        let chain = chain(&messages);
        let mut counter = Counter::of_model(model);
        let plan = planner.plan(&chain, &mut counter);

        // The plan is deterministic, with or without cached counts.
        prop_assert_eq!(&planner.plan(&chain, &mut counter), &plan);
        prop_assert_eq!(&planner.plan(&chain, &mut Counter::of_model(model)), &plan);

        // It stays within the budget by its own count, or says that it does not.
        prop_assert_eq!(counter.request(&plan.request), plan.count);
        prop_assert_eq!(plan.too_large.is_none(), plan.count.tokens <= plan.budget.limit());

        // Nothing is dropped without need.
        let precision = if counter.is_exact() { Precision::Exact } else { Precision::Estimate };
        let all = Planner::new(&agent).with_budget(Budget::new(u64::MAX, 0)).with_precision(precision);
        let whole = all.plan(&chain, &mut counter).count.tokens;
        prop_assert_eq!(plan.is_trimmed(), whole > plan.budget.limit() && plan.count.tokens != whole);

        // After trimming, every provider accepts the turns, and no pair is separated.
        let again = sendable(plan.request.turns.clone());
        prop_assert_eq!(&again.turns, &plan.request.turns);
        prop_assert_eq!(again.mended, vec![]);

        // Protected messages are present.
        let text = all_text(&plan);
        prop_assert!(text.contains("Be exact."));
        if let Some(last) = last_text(&chain, says_something) {
            prop_assert!(text.contains(&last), "{} in {}", last, text);
        }
        if let Some(last) = last_text(&chain, |m| matches!(m.body, Body::Summary(_))) {
            prop_assert!(text.contains(&last));
        }
        for system in chain.messages.iter().filter(|m| matches!(m.body, Body::System(_))) {
            prop_assert!(text.contains(system.text().trim()));
        }

        // Every message has a row, with a reason unless it is sent unchanged.
        prop_assert_eq!(plan.rows.len(), chain.messages.len());
        for row in &plan.rows {
            prop_assert_eq!(row.why.is_none(), row.fate == Fate::Sent);
        }
    }

    #[test]
    fn everything_goes_out_where_there_is_room(messages in history()) {
        let plan = plan_within(&messages, 10_000_000);
        prop_assert!(!plan.is_trimmed() && plan.ready().is_ok());
        let normalized = normalize_messages_for_api(&chain(&messages), &agent());
        prop_assert_eq!(plan.request.turns, normalized.turns);
    }

    #[test]
    fn normalising_twice_changes_nothing(messages in history()) {
        let once = normalize_messages_for_api(&chain(&messages), &agent());
        let as_message = |(at, turn): (usize, &Turn)| {
            let id = format!("n{at}");
            let message = match turn.role {
                Role::User => Message::user(id, turn.content.clone()),
                Role::Assistant => Message::assistant(id, turn.content.clone()),
                Role::System => {
                    Message::new(id, Body::System(System { content: turn.content.clone() }))
                }
            };
            Message { model: turn.model.clone(), ..message }
        };
        let messages: Vec<Message> = once.turns.iter().enumerate().map(as_message).collect();
        let twice = normalize_messages_for_api(&chain(&linked(messages)), &agent());
        let leading = once.turns.iter().take_while(|turn| turn.role == Role::System).count();
        prop_assert_eq!(&twice.turns[..], &once.turns[leading..]);
        prop_assert_eq!(twice.mended, vec![]);
        prop_assert!(twice.left_out.iter().all(Option::is_none));
    }

    #[test]
    fn a_longer_conversation_begins_with_the_same_bytes(steps in orderly(), window in budget()) {
        let mut counter = Counter::of_model("m");
        let agent = agent();
        let planner = Planner::new(&agent).with_budget(Budget::new(window, window / 4));
        let mut before: Option<Plan> = None;
        for messages in &steps {
            let plan = planner.plan(&chain(messages), &mut counter);
            if let Some(before) = before.as_ref().filter(|before| before.ready().is_ok()) {
                let same_fates = before.rows.iter().zip(&plan.rows).all(|(b, a)| b.fate == a.fate && b.tokens == a.tokens);
                if plan.ready().is_ok() && same_fates {
                    let short = sent(before);
                    let long = sent(&plan);
                    prop_assert_eq!(&long[..short.len()], &short[..]);
                }
            }
            before = Some(plan);
        }
    }

    #[test]
    fn any_record_at_all_can_be_planned(
        messages in proptest::collection::vec(analects_testkit::values::message(), 0..8),
        window in budget(),
    ) {
        let plan = plan_within(&linked(messages), window);
        prop_assert_eq!(Counter::of_model("m").request(&plan.request), plan.count);
        let again = sendable(plan.request.turns.clone());
        prop_assert_eq!(again.turns, plan.request.turns);
    }

    #[test]
    fn a_compaction_ends_whatever_is_said(messages in history(), window in 300..3000_u64) {
        let chain = chain(&messages);
        let agent = agent();
        let mut counter = Counter::of_model("m");
        let before = Planner::new(&agent).count(&chain, &mut counter);
        let writer = Agent { context_window: Some(window), max_output_tokens: 50, ..agent.clone() };
        let trigger = CompactTrigger::Manual;
        let planned = Compaction::plan(&chain, &agent, window, &writer, trigger, before, &mut counter);
        let Ok(mut compaction) = planned else { return Ok(()) };
        let mut requests = 0;
        while let Some(request) = compaction.next_request() {
            requests += 1;
            prop_assert!(requests <= compaction.requests());
            prop_assert_eq!(sendable(request.turns.clone()).mended, vec![]);
            let answered = compaction.answer(&Message::assistant("x", "s"), &mut counter);
            prop_assert!(matches!(answered, Ok(()) | Err(Useless::NotShorter)));
            if answered.is_err() {
                compaction = compaction.without_model(&chain, &mut counter);
            }
        }
        let made = compaction.finish(&mut counter, &mut CountingIds::default(), <_>::default());
        let mut after = messages.clone();
        after.extend(made.unwrap());
        let view = analects_core::chain(&after);
        prop_assert!(matches!(view.messages[0].body, Body::Summary(_)));
        prop_assert!(view.boundary.is_some());
        // The record keeps all words.
        prop_assert_eq!(&after[..messages.len()], &messages[..]);
    }
}
