//! The data is sound, names find their facts, and sums are those of a hand calculation.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use analects_core::{Message, ModelFacts, TokenUsage, fold};

use super::{BUILT_IN, Catalogue, cost, facts, read_entries};
use crate::{Api, decoder, vendor};

fn window(provider: &str, name: &str) -> Option<u64> {
    facts(provider, name)?.context_window
}

fn input_price(facts: Option<ModelFacts>) -> Option<f64> {
    facts?.prices?.rates.input
}

#[test]
fn the_file_is_sound() {
    let entries = read_entries(BUILT_IN).unwrap();
    assert!(entries.len() >= 40);
    let mut seen = BTreeSet::new();
    for entry in &entries {
        assert_eq!(vendor(&entry.provider).unwrap().name, entry.provider);
        for pattern in &entry.patterns {
            assert!(seen.insert((&entry.provider, pattern)), "{pattern} twice");
        }
        let facts = &entry.facts;
        assert!(facts.context_window >= facts.max_output_tokens, "{entry:?}");
        let prices = facts.prices.as_ref().unwrap();
        // What runs on one's own machine costs nothing.
        let is_free = entry.provider == crate::LOCAL_VENDOR;
        let source = if is_free { "own-machine" } else { "list-price" };
        assert!(
            !prices.date.is_empty() && prices.source == source,
            "{entry:?}"
        );
        let rates = [
            Some(&prices.rates),
            prices.above.as_ref().map(|above| &above.rates),
        ];
        for rates in rates.into_iter().flatten().filter(|_| !is_free) {
            assert!(
                rates.input.unwrap() > 0.0 && rates.output > rates.input,
                "{entry:?}"
            );
            assert!(
                rates.cache_read.is_none_or(|read| Some(read) < rates.input),
                "{entry:?}"
            );
        }
        // What can be cached has a price for what is read from the cache.
        assert_eq!(
            facts.cache == Some(true),
            prices.rates.cache_read.is_some(),
            "{entry:?}"
        );
    }
}

#[test]
fn cache_prices_of_claude_have_their_fixed_shares() {
    let of_claude = read_entries(BUILT_IN)
        .unwrap()
        .into_iter()
        .filter(|row| row.provider == "anthropic");
    for entry in of_claude.filter(|row| row.patterns != ["claude-3-haiku"]) {
        let prices = entry.facts.prices.unwrap();
        let above = prices.above.map(|above| above.rates);
        for rates in [Some(prices.rates), above].into_iter().flatten() {
            let input = rates.input.unwrap();
            let is = |rate: Option<f64>, share: f64| (rate.unwrap() - input * share).abs() < 1e-9;
            assert!(is(rates.cache_read, 0.1), "{:?}", entry.patterns);
            assert!(is(rates.cache_write_5m, 1.25), "{:?}", entry.patterns);
            assert!(is(rates.cache_write_1h, 2.0), "{:?}", entry.patterns);
            assert!(
                is(rates.output, 5.0) || is(rates.output, 3.75),
                "{:?}",
                entry.patterns
            );
        }
    }
}

#[test]
fn snapshots_are_of_their_family_and_other_models_are_not() {
    let known = [
        ("anthropic", "claude-sonnet-4-5-20250929", 3.0),
        ("claude", "claude-opus-4-20250514", 15.0),
        ("anthropic", "claude-opus-4-0", 15.0),
        ("anthropic", "claude-opus-4-1-20250805", 15.0),
        ("anthropic", "claude-opus-4-5@20251101", 5.0),
        ("anthropic", "claude-3-5-haiku-latest", 0.8),
        ("openai", "gpt-4o", 2.5),
        ("OpenAI", "gpt-4o-2024-08-06", 2.5),
        ("openai", "gpt-4o-2024-05-13", 5.0),
        ("openai", "gpt-4o-mini-2024-07-18", 0.15),
        ("openai", "gpt-5-mini", 0.25),
        ("openai", "o3-mini-2025-01-31", 1.1),
        ("gemini", "gemini-1.5-flash-002", 0.075),
        ("google", "models/gemini-2.5-flash-lite", 0.1),
        ("deepseek", "deepseek-chat", 0.28),
    ];
    for (provider, name, price) in known {
        assert_eq!(input_price(facts(provider, name)), Some(price), "{name}");
    }
    let unknown = [
        ("openai", "gpt-4o-realtime-preview"),
        ("openai", "gpt-4o-minimal"),
        ("openai", "gpt-5.5"),
        ("openai", "gpt-4o-2024-1-1"),
        ("anthropic", "claude-opus-4-7"),
        ("anthropic", "claude-opus-4-"),
        ("gemini", "gemini-2.5-flash-preview-04-17"),
        ("openrouter", "openai/gpt-4o"),
        ("anthropic", "gpt-4o"),
        ("nobody", "gpt-4o"),
        ("openai", ""),
    ];
    for (provider, name) in unknown {
        assert_eq!(facts(provider, name), None, "{name}");
    }
}

#[test]
fn a_persons_file_goes_over_ours() {
    let catalogue = Catalogue::with_overrides(
        r#"{"models":[
            {"provider":"openai","patterns":["gpt-4o*"],"context_window":1},
            {"provider":"google","patterns":["gemini-2.5-pro"],"prices":{"rates":{"input":1}}},
            {"provider":"mine","patterns":["big*","bigger*"],"tools":true},
            {"provider":"mine","patterns":["big*"],"tools":false,"prices":{"date":"2026-01-31","source":"invoice","rates":{"input":0,"output":2}}}]}"#,
    )
    .unwrap();
    let ours = facts("openai", "gpt-4o").unwrap();
    let theirs = catalogue.facts("openai", "gpt-4o").unwrap();
    assert_eq!(
        theirs,
        ModelFacts {
            context_window: Some(1),
            ..ours
        }
    );
    assert_eq!(
        catalogue
            .facts("openai", "gpt-4o-realtime")
            .unwrap()
            .context_window,
        Some(1)
    );
    let prices = catalogue
        .facts("gemini", "gemini-2.5-pro")
        .unwrap()
        .prices
        .unwrap();
    assert_eq!(
        (prices.rates.input, prices.rates.output, prices.above),
        (Some(1.0), None, None)
    );
    assert_eq!((prices.date.as_str(), prices.source.as_str()), ("", "user"));
    assert_eq!(
        catalogue.facts("mine", "bigger-1").unwrap().tools,
        Some(true),
        "longest wins"
    );
    assert_eq!(
        catalogue.facts("mine", "big-1").unwrap().tools,
        Some(false),
        "the last wins"
    );
    assert_eq!(catalogue.facts("mine", "small"), None);
    assert_eq!(
        window("openai", "gpt-4o"),
        Some(128_000),
        "ours is as it was"
    );
    // A price of nothing is a price.
    let usage = TokenUsage {
        input_tokens: Some(5),
        output_tokens: Some(0),
        ..Default::default()
    };
    assert_eq!(
        cost(&usage, &catalogue.facts("mine", "big").unwrap()),
        Some(0.0)
    );
}

#[test]
fn errors_name_the_entry() {
    let cases = [
        (
            "{",
            "not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            "[]",
            "not a JSON object: invalid type: sequence, expected a JSON object at line 1 column 0",
        ),
        ("{}", "there is no list \"models\""),
        (
            r#"{"model":[]}"#,
            "unknown field \"model\"; expected \"models\" or \"note\"",
        ),
        (
            r#"{"models":[7]}"#,
            "model 1: invalid type: integer `7`, expected an object",
        ),
        (
            r#"{"models":[{"patterns":["a"]}]}"#,
            "model 1 (a): missing field `provider`",
        ),
        (
            r#"{"models":[{"provider":" ","patterns":["a"]}]}"#,
            "model 1 (a): \"provider\" is empty",
        ),
        (
            r#"{"models":[{"provider":"p","patterns":[]}]}"#,
            "model 1 (p): \"patterns\" is empty; give the names that it holds for",
        ),
        (
            r#"{"models":[{"provider":"p","patterns":["a*b"]}]}"#,
            "model 1 (p a*b): pattern \"a*b\" is empty, or has a * before its end",
        ),
        (
            r#"{"models":[{"provider":"p","patterns":["a"],"context_window":-1}]}"#,
            "model 1 (p a): invalid value: integer `-1`, expected u64",
        ),
        (
            r#"{"models":[{"provider":"p","patterns":["a"],"prices":{"rates":{"input":-1}}}]}"#,
            "model 1 (p a): a price of -1 is below zero",
        ),
        (
            r#"{"models":[{"provider":"p","patterns":["a"],"prices":{"date":"today","rates":{}}}]}"#,
            "model 1 (p a): date \"today\" is not like 2025-11-01",
        ),
        (
            r#"{"models":[{"provider":"p","patterns":["a"],"prices":{"rates":{"inptu":1}}}]}"#,
            "model 1 (p a): unknown field `inptu`, expected one of `input`, `output`, `cache_read`, `cache_write_5m`, `cache_write_1h`",
        ),
    ];
    for (json, expected) in cases {
        let errors = Catalogue::with_overrides(json).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].to_string(), expected, "{json}");
    }
    let two = r#"{"models":[{"provider":"p","patterns":["a"]},{},{"provider":"p","patterns":["b"],"tols":1}]}"#;
    let errors = Catalogue::with_overrides(two).unwrap_err();
    let entries: Vec<_> = errors.iter().map(|error| error.entry.as_str()).collect();
    assert_eq!(entries, ["model 2", "model 3 (p b)"]);
}

fn usage(input: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        ..TokenUsage::default()
    }
}

fn assert_cost(usage: &TokenUsage, provider: &str, name: &str, expected: f64) {
    let cost = cost(usage, &facts(provider, name).unwrap()).unwrap();
    assert!(
        (cost - expected).abs() < 1e-12,
        "{name}: {cost}, not {expected}"
    );
}

#[test]
fn sums_are_those_of_a_hand_calculation() {
    // 1000 × 3 + 500 × 15 = 10,500 millionths.
    assert_cost(&usage(1000, 500), "anthropic", "claude-sonnet-4-5", 0.0105);
    let cached = TokenUsage {
        cache_creation_input_tokens: Some(3000),
        cache_creation_5m_tokens: Some(1000),
        cache_creation_1h_tokens: Some(2000),
        cache_read_input_tokens: Some(10_000),
        ..usage(100, 200)
    };
    // 100 × 3 + 200 × 15 + 10,000 × 0.3 + 1000 × 3.75 + 2000 × 6 = 22,050.
    assert_cost(&cached, "anthropic", "claude-sonnet-4-5", 0.02205);
    // Without the split, 3000 × 3.75: 300 + 3000 + 3000 + 11,250 = 17,550.
    let unsplit = TokenUsage {
        cache_creation_5m_tokens: None,
        cache_creation_1h_tokens: None,
        ..cached.clone()
    };
    assert_cost(&unsplit, "anthropic", "claude-sonnet-4-5", 0.01755);
    // Only the long ones are known: 1000 × 3.75 for the rest, as in the first sum.
    let partly = TokenUsage {
        cache_creation_5m_tokens: None,
        ..cached.clone()
    };
    assert_cost(&partly, "anthropic", "claude-sonnet-4-5", 0.02205);
    // Only the parts and no sum of them.
    let no_sum = TokenUsage {
        cache_creation_input_tokens: None,
        ..cached
    };
    assert_cost(&no_sum, "anthropic", "claude-sonnet-4-5", 0.02205);
    // 1,000,000 × 0.15 + 1,000,000 × 0.6.
    assert_cost(&usage(1_000_000, 1_000_000), "openai", "gpt-4o-mini", 0.75);
    assert_cost(&usage(0, 0), "openai", "gpt-4o-mini", 0.0);
}

#[test]
fn long_prompts_have_their_own_prices() {
    // 200,000 × 1.25 + 1000 × 10 = 260,000 millionths.
    assert_cost(&usage(200_000, 1000), "gemini", "gemini-2.5-pro", 0.26);
    // 200,001 × 2.5 + 1000 × 15 = 515,002.5.
    assert_cost(
        &usage(200_001, 1000),
        "gemini",
        "gemini-2.5-pro",
        0.515_002_5,
    );
    // What was cached counts for the length: 1 × 2.5 + 200,000 × 0.25 + 0 = 50,002.5.
    let cached = TokenUsage {
        cache_read_input_tokens: Some(200_000),
        ..usage(1, 0)
    };
    assert_cost(&cached, "gemini", "gemini-2.5-pro", 0.050_002_5);
}

#[test]
fn an_unknown_price_or_count_gives_no_cost() {
    let known = facts("openai", "gpt-4o").unwrap();
    assert_eq!(cost(&TokenUsage::default(), &known), None);
    assert_eq!(
        cost(
            &TokenUsage {
                output_tokens: None,
                ..usage(1, 1)
            },
            &known
        ),
        None
    );
    assert_eq!(
        cost(
            &TokenUsage {
                input_tokens: None,
                ..usage(1, 1)
            },
            &known
        ),
        None
    );
    assert_eq!(cost(&usage(1, 1), &ModelFacts::default()), None);
    // Tokens of a kind that has no price.
    let written = TokenUsage {
        cache_creation_input_tokens: Some(1),
        ..usage(1, 1)
    };
    assert_eq!(cost(&written, &known), None);
    let none_written = TokenUsage {
        cache_creation_input_tokens: Some(0),
        ..usage(1, 1)
    };
    assert!(cost(&none_written, &known).is_some());
    let read = TokenUsage {
        cache_read_input_tokens: Some(u64::MAX),
        ..usage(u64::MAX, u64::MAX)
    };
    assert!(cost(&read, &known).unwrap().is_finite());
}

fn usage_of(api: Api, chunk: &str) -> TokenUsage {
    let mut decoder = decoder(api);
    let mut events = decoder.push(format!("data: {chunk}\n\n").as_bytes());
    events.extend(decoder.finish());
    *fold(&events, Message::assistant("a", ""))
        .message
        .usage
        .unwrap()
}

#[test]
fn providers_that_count_cached_tokens_as_input_are_not_charged_twice() {
    let openai = usage_of(
        Api::OpenAiChat,
        r#"{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":600},"completion_tokens_details":{"reasoning_tokens":40}}}"#,
    );
    // 400 × 1.25 + 600 × 0.125 + 100 × 10 = 1575 millionths.
    assert_cost(&openai, "openai", "gpt-5", 0.001_575);
    let deepseek = usage_of(
        Api::OpenAiChat,
        r#"{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_cache_hit_tokens":600,"prompt_cache_miss_tokens":400}}"#,
    );
    // 400 × 0.28 + 600 × 0.028 + 100 × 0.42 = 170.8.
    assert_cost(&deepseek, "deepseek", "deepseek-chat", 0.000_170_8);
    let gemini = usage_of(
        Api::Gemini,
        r#"{"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":600,"candidatesTokenCount":60,"thoughtsTokenCount":40,"totalTokenCount":1100}}"#,
    );
    // 400 × 0.3 + 600 × 0.03 + (60 + 40) × 2.5 = 388.
    assert_cost(&gemini, "gemini", "gemini-2.5-flash", 0.000_388);
}
