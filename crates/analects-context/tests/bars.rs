//! Error bounds of the estimates: texts of 50 KB, prose in two languages and code, against two vocabularies. The texts are
//! frozen, so that the numbers stay comparable.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_context::{Counter, Method, ModelFamily, estimate};

/// A text, and its tokens by the vocabulary `o200k` and by that of SmolLM2, as `tokenize` of llama.cpp
/// gives them.
const TEXTS: [(&str, &str, u64, u64); 3] = [
    ("english", include_str!("texts/english.md"), 14307, 16121),
    ("chinese", include_str!("texts/chinese.md"), 13031, 27199),
    ("code", include_str!("texts/code.txt"), 13982, 16541),
];

#[test]
fn estimates_are_within_ten_percent_of_both_vocabularies() {
    for (name, text, o200k, small) in TEXTS {
        assert!(
            (48_000..=50_000).contains(&text.len()),
            "{name}: {}",
            text.len()
        );
        for (family, real) in [(ModelFamily::OpenAi, o200k), (ModelFamily::Small, small)] {
            let count = estimate(family, text);
            let off = count.tokens as f64 / real as f64 - 1.0;
            assert!(
                off.abs() <= 0.1,
                "{name} {family:?}: {count} and really {real}, {off:+.3}"
            );
            assert!(
                count.tokens.abs_diff(real) <= count.error_bound,
                "{name} {family:?}: {count}"
            );
        }
    }
}

#[test]
fn an_estimate_never_poses_as_exact() {
    for model in [
        "gpt-5",
        "claude-opus-4-1",
        "gemini-2.5-pro",
        "smollm2",
        "deepseek-chat",
    ] {
        let count = Counter::of_model(model).text(TEXTS[0].1);
        assert_eq!(count.method, Method::Estimate, "{model}");
        assert!(count.error_bound >= count.tokens / 10, "{model}: {count}");
    }
}

#[test]
fn the_vocabulary_of_openai_is_exact() {
    let mut counter = Counter::of_model("gpt-5");
    counter.use_vocabulary(true);
    for (name, text, o200k, _) in TEXTS {
        let count = counter.text(text);
        assert_eq!(
            (count.tokens, count.method, count.error_bound),
            (o200k, Method::Tokenizer, 0),
            "{name}"
        );
    }
    // Models of other families use other vocabularies.
    for model in ["gpt-4-turbo", "claude-opus-4-1", "smollm2"] {
        assert!(!Counter::of_model(model).has_vocabulary(), "{model}");
    }
}
