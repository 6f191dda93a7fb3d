//! Whatever a conversation went through, and however little fits: what goes out obeys the rules of every
//! provider's API.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::TcpListener;

use analects_client::ProviderSettings;
use analects_context::{Budget, Compaction, Counter, Plan, Planner};
use analects_core::{Agent, CompactTrigger, Message, Request, Role, Turn, chain};
use analects_providers::{Api, encode};
use analects_runtime::{AskOptions, Conversation, FileConversation, TurnEnd, prepare};
use analects_store::StoreFolders;
use analects_testkit::conversations::{history, orderly};
use analects_testkit::{Rules, validate};
use proptest::prelude::*;

const APIS: [(Api, Rules, &str); 4] = [
    (Api::AnthropicMessages, Rules::Anthropic, "claude-opus-4-1"),
    (Api::Gemini, Rules::Gemini, "gemini-2.5-pro"),
    (Api::OpenAiChat, Rules::OpenAiChat, "gpt-5"),
    (Api::OpenAiResponses, Rules::OpenAiResponses, "gpt-5"),
];

/// What an API would refuse of a request.
fn refused(api: Api, rules: Rules, request: &Request) -> Vec<String> {
    let body = encode(api, request).body;
    validate(rules, &body)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn planned(messages: &[Message], model: &str, window: u64, counter: &mut Counter<'_>) -> Plan {
    let agent = Agent {
        system_prompt: Some("Be exact.".into()),
        ..Agent::of_model("quick", model)
    };
    let planner = Planner::new(&agent).with_budget(Budget::new(window, window / 4));
    planner.plan(&chain(messages), counter)
}

/// The conversation in the body that goes to Anthropic, turn by turn.
fn anthropic_messages(request: &Request) -> Vec<String> {
    let body = encode(Api::AnthropicMessages, request).body;
    let text = String::from_utf8(body).unwrap();
    let map = analects_core::RawMap::parse(&text).unwrap();
    map.get("messages")
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    #[test]
    fn every_plan_is_accepted_by_every_api(
        messages in history(),
        window in prop_oneof![0..300_u64, 300..4000_u64, Just(1_000_000)],
    ) {
        for (api, rules, model) in APIS {
            let plan = planned(&messages, model, window, &mut Counter::of_model(model));
            // Nothing is sent of a conversation in which nobody says anything.
            let is_said = |turn: &Turn| turn.role != Role::System;
            let ready = plan.ready().ok();
            let Some(request) = ready.filter(|request| request.turns.iter().any(is_said)) else {
                continue;
            };
            prop_assert_eq!(refused(api, rules, request), Vec::<String>::new(), "{:?}", api);
        }
    }

    #[test]
    fn a_longer_conversation_begins_with_the_same_bytes_on_the_wire(steps in orderly()) {
        let mut counter = Counter::of_model("claude-opus-4-1");
        let mut before: Vec<String> = Vec::new();
        for messages in &steps {
            let plan = planned(messages, "claude-opus-4-1", 1_000_000, &mut counter);
            let request = plan.ready().unwrap();
            // Nobody is asked to go on with an answer that is complete.
            if request.turns.last().is_some_and(|turn| turn.role == Role::User) {
                let now = anthropic_messages(request);
                prop_assert_eq!(&now[..before.len()], &before[..]);
                before = now;
            }
        }
    }

    #[test]
    fn every_request_for_a_summary_is_accepted(messages in history(), window in 300..3000_u64) {
        for (api, rules, model) in APIS {
            let agent = Agent::of_model("quick", model);
            let writer = Agent { context_window: Some(window), max_output_tokens: 64, ..agent.clone() };
            let (chain, mut counter) = (chain(&messages), Counter::of_model(model));
            let before = Planner::new(&agent).count(&chain, &mut counter);
            let trigger = CompactTrigger::Manual;
            let planned = Compaction::plan(&chain, &agent, window, &writer, trigger, before, &mut counter);
            let Some(request) = planned.ok().and_then(|compaction| compaction.next_request()) else {
                continue;
            };
            prop_assert_eq!(refused(api, rules, &request), Vec::<String>::new(), "{:?}", api);
        }
    }
}

#[test]
fn a_conversation_that_cannot_fit_is_not_sent_and_says_so_with_numbers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let environment =
        ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| base_url.clone()));
    let folder = tempfile::tempdir().unwrap();
    let places = StoreFolders::in_folder(folder.path());
    let path = folder.path().join("talk.msg.md");
    let front = "---\nagents:\n  tiny: {models: [openai/tiny], context_window: 100, max_output_tokens: 20}\n---\n";
    std::fs::write(&path, front).unwrap();
    let mut conversation = FileConversation::open(&path, &places).unwrap();
    let prompt = "word ".repeat(500);
    let options = AskOptions {
        prompt: Some(&prompt),
        ..AskOptions::new(&environment)
    };
    let mut prepared = prepare(&mut conversation, &options).unwrap();
    let outcome = prepared
        .ask_blocking(&mut |_| {}, std::future::pending())
        .unwrap();

    let TurnEnd::TooLarge(too_large) = outcome.end else {
        panic!("{:?}", outcome.end)
    };
    let text = too_large.to_string();
    assert!(text.starts_with("the request takes ~5"), "{text}");
    assert!(
        text.ends_with("80 fit: the window has 100, of which 20 are for the answer"),
        "{text}"
    );
    assert_eq!(
        listener.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
    // Nothing was asked, so nothing but the question is in the file.
    assert!(outcome.answer.is_none());
    assert_eq!(conversation.snapshot().messages.len(), 1);
}
