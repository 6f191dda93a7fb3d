//! Builders say what is wrong.

use super::*;

fn kind<T>(result: Result<T, ItemError>) -> ItemErrorKind {
    result.err().unwrap().kind()
}

#[test]
fn messages_that_cannot_be() {
    let message = || MessageBuilder::new().with_content("x");
    let invalid = [
        message().with_name("a b").build(),
        message().with_name("a\u{7}").build(),
        message().with_name("[x]").build(),
        message().with_name("x".repeat(65)).build(),
        message().with_timeout(f64::NAN).build(),
        message().with_timeout(f64::INFINITY).build(),
        message().with_timeout(-0.001).build(),
        message().with_timeout(0.0).build(),
        message().with_timeout(1e300).build(),
        message().with_heading_level(0).build(),
        message().with_mime_type("").build(),
        message().with_mime_type("text/").build(),
        message().with_mime_type("text/plain\nx: y").build(),
        message().with_mime_type("a/b/c").build(),
        message().with_agent_name("tool").build(),
        message().with_agent_name("a]b").build(),
        message().with_type_word("agent").build(),
        message()
            .with_type_word("raw")
            .with_mime_type("image/png")
            .build(),
        MessageBuilder::new().with_binary_content([1]).build(),
        MessageBuilder::new()
            .with_binary_content([])
            .with_mime_type("image/png")
            .build(),
        MessageBuilder::new()
            .with_binary_content([1])
            .with_mime_type("image/png")
            .with_type_word("code")
            .build(),
    ];
    for result in invalid {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ItemErrorKind::Invalid);
        let text = error.to_string();
        assert!(
            text.chars().next().is_some_and(|c| !c.is_uppercase()) && !text.ends_with('.'),
            "{text}"
        );
    }
    assert_eq!(kind(MessageBuilder::new().build()), ItemErrorKind::Missing);
    assert_eq!(
        MessageBuilder::new()
            .with_content("")
            .build()
            .unwrap()
            .text(),
        Some("")
    );
    assert_eq!(
        message()
            .with_name("学而".repeat(32))
            .build()
            .unwrap()
            .name()
            .chars()
            .count(),
        64
    );
}

#[test]
fn outputs_that_cannot_be() {
    let code = || CodeExecutionOutputBuilder::new().with_lang("python");
    for result in [
        code().with_status("streaming").build(),
        code().with_duration(-1.0).build(),
        code().with_lang("tool").build(),
        code().with_lang("a=b").build(),
        code().with_lang("").build(),
        code()
            .with_stdout("x")
            .with_binary_content([1])
            .with_mime_type("image/png")
            .build(),
        code().with_stdout("x").with_mime_type("text/html").build(),
        code().with_binary_content([1]).build(),
        code().with_nonce("a.b").build(),
    ] {
        assert_eq!(kind(result), ItemErrorKind::Invalid);
    }
    assert_eq!(
        kind(CodeExecutionOutputBuilder::new().build()),
        ItemErrorKind::Missing
    );
    let both = MessageOutputBuilder::new()
        .with_content("x")
        .with_binary_content([1])
        .build();
    assert_eq!(kind(both), ItemErrorKind::Invalid);
}

#[test]
fn calls_that_cannot_be() {
    let call = || FunctionCallBuilder::new().with_function_name("f");
    for result in [
        call().with_args(json!("x")).build(),
        call().with_function_name("a\u{0}b").build(),
        call().with_function_name(" ").build(),
        call().with_timeout(-1.0).build(),
        call().with_name("x y").build(),
    ] {
        assert_eq!(kind(result), ItemErrorKind::Invalid);
    }
}

#[test]
fn seconds_are_exact() {
    for (text, nanoseconds) in [
        ("30s", 30_000_000_000),
        ("0.5s", 500_000_000),
        ("0.000000001s", 1),
    ] {
        let duration = seconds::parse(text).unwrap();
        assert_eq!(duration.as_nanos(), nanoseconds);
        assert_eq!(seconds::format(duration), text);
    }
    for text in [
        "",
        "s",
        "30",
        "-1s",
        ".5s",
        "1.s",
        "1e3s",
        "inf",
        "NaNs",
        "1 s",
        "9999999999999s",
    ] {
        assert_eq!(seconds::parse(text), None, "{text}");
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in [
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "..",
        ".",
        "a//b",
        "C:/x",
        "c:x",
        "\\\\host\\x",
        "a\\..\\b",
        "~/x",
        "a\nb",
        "a\u{202e}b",
        "a/.. /b",
        "a/... /b",
        "x:stream",
        "a/",
        "https://x",
    ] {
        assert!(why_not_a_path(path).is_some(), "{path:?}");
    }
    for path in [
        "a",
        "a/b.md",
        "answers/1.md",
        ".hidden",
        "a..b",
        "学/而.md",
        "a b",
    ] {
        assert_eq!(why_not_a_path(path), None, "{path:?}");
    }
}
