//! The table is sound, and variables mean what their vendors mean by them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use super::{vendor, vendors};
use crate::Api;

#[test]
fn names_are_sorted_and_no_two_vendors_share_one() {
    let names: Vec<_> = vendors().iter().map(|vendor| vendor.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut seen = BTreeSet::new();
    for row in vendors() {
        for name in row.aliases.iter().chain([&row.name]) {
            assert!(seen.insert(name.to_lowercase()), "{name} twice");
            assert!(
                !name.contains(['/', ' ']),
                "{name} cannot stand in vendor/model"
            );
            assert_eq!(vendor(name).unwrap().name, row.name);
            assert_eq!(vendor(&name.to_uppercase()).unwrap().name, row.name);
        }
    }
    assert_eq!(vendor("nobody"), None);
}

#[test]
fn every_vendor_of_the_plan_is_there() {
    for name in [
        "anthropic",
        "deepseek",
        "gemini",
        "groq",
        "llama.cpp",
        "lmstudio",
        "local",
        "mistral",
        "moonshot",
        "ollama",
        "openai",
        "openrouter",
        "qwen",
        "vllm",
        "xai",
        "zhipu",
    ] {
        assert!(vendor(name).is_some(), "{name}");
    }
}

#[test]
fn rows_are_complete() {
    for row in vendors() {
        let name = row.name;
        assert!(
            !row.title.is_empty() && !row.base_url.ends_with('/'),
            "{name}"
        );
        assert!(row.base_url.ends_with(row.base_path), "{name}");
        let remote = row.base_url.starts_with("https://");
        assert_eq!(remote, row.needs_key, "{name}: a local server needs no key");
        assert!(!row.needs_key || !row.key_variables.is_empty(), "{name}");
        assert!(
            remote || row.base_url.starts_with("http://127.0.0.1:"),
            "{name}"
        );
        assert!(
            row.models_of
                .is_none_or(|other| vendor(other).unwrap().name == other),
            "{name}"
        );
    }
    let tested: Vec<_> = vendors()
        .iter()
        .filter(|row| row.tested)
        .map(|row| row.name)
        .collect();
    assert_eq!(
        tested,
        ["llamacpp", "local"],
        "only what our tests asked is marked so"
    );
}

#[test]
fn vendors_have_their_wire_formats() {
    assert_eq!(vendor("anthropic").unwrap().api, Api::AnthropicMessages);
    assert_eq!(vendor("gemini").unwrap().api, Api::Gemini);
    assert_eq!(vendor("groq").unwrap().api, Api::OpenAiChat);
    assert_eq!(
        vendor("openai-responses").unwrap().api,
        Api::OpenAiResponses
    );
}

/// Which address each vendor's variable stands for.
fn assert_base_urls(cases: &[(&str, &str, &str)]) {
    for (name, value, expected) in cases {
        let vendor = vendor(name).unwrap();
        assert_eq!(vendor.base_url_from(value), *expected, "{name} {value}");
    }
}

#[test]
fn variables_are_read_as_their_vendors_do() {
    assert_base_urls(&[
        ("ollama", "127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("ollama", "0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("ollama", "0.0.0.0:9999", "http://127.0.0.1:9999/v1"),
        ("ollama", ":9999", "http://127.0.0.1:9999/v1"),
        ("ollama", "[::]:9999", "http://[::1]:9999/v1"),
        ("ollama", "[::1]", "http://[::1]:11434/v1"),
        ("ollama", "http://gpu.lan", "http://gpu.lan:11434/v1"),
        (
            "ollama",
            "https://ollama.example.org/",
            "https://ollama.example.org/v1",
        ),
        (
            "ollama",
            "http://gpu.lan:1/proxy/v1/",
            "http://gpu.lan:1/proxy/v1",
        ),
    ]);
}

#[test]
fn variables_of_the_big_vendors_may_lack_the_version_or_name_an_endpoint() {
    assert_base_urls(&[
        (
            "anthropic",
            "https://api.anthropic.com",
            "https://api.anthropic.com/v1",
        ),
        (
            "anthropic",
            "https://api.anthropic.com/v1",
            "https://api.anthropic.com/v1",
        ),
        (
            "gemini",
            "https://g.example.org/",
            "https://g.example.org/v1beta",
        ),
        (
            "openai",
            "http://127.0.0.1:8080/v1 ",
            "http://127.0.0.1:8080/v1",
        ),
        (
            "openai",
            "proxy.example.org/v1",
            "https://proxy.example.org/v1",
        ),
        (
            "openai",
            "https://proxy.example.org",
            "https://proxy.example.org",
        ),
        ("openai", "localhost:4000/v1", "http://localhost:4000/v1"),
        ("openai", "127.0.0.1:4000", "http://127.0.0.1:4000"),
        ("openai", "[::1]:4000", "http://[::1]:4000"),
        (
            "openai",
            "localhost.example.org",
            "https://localhost.example.org",
        ),
        (
            "openai",
            "https://p.example.org/v1/chat/completions",
            "https://p.example.org/v1",
        ),
        (
            "openai-responses",
            "https://p.example.org/v1/responses/",
            "https://p.example.org/v1",
        ),
        (
            "anthropic",
            "https://p.example.org/v1/messages",
            "https://p.example.org/v1",
        ),
    ]);
    for row in vendors() {
        assert_eq!(
            row.base_url_from(row.base_url),
            row.base_url,
            "{}",
            row.name
        );
    }
}

#[test]
fn the_guide_has_every_vendor_with_its_variables() {
    for guide in ["docs/guide/models.md", "docs/zh/guide/models.md"] {
        let path = format!("{}/../../{guide}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), vendors().len(), "{guide}");
        for vendor in vendors() {
            let start = format!("| `{}` | {} | ", vendor.name, vendor.title);
            let row = text.lines().find(|line| line.starts_with(&start));
            let row = row.unwrap_or_else(|| panic!("{guide} has no row {start}"));
            let words: Vec<&str> = row.split('`').skip(3).step_by(2).collect();
            assert_eq!(
                words,
                [vendor.key_variables, vendor.base_url_variables].concat(),
                "{row}"
            );
        }
    }
}
