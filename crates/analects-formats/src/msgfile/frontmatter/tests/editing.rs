//! Changes of single keys: what the file is afterwards, or what the person is told to type.

use proptest::prelude::*;

use super::yaml::{Yaml, is_plain};
use super::*;
use crate::msgfile::decode;

fn frontmatter_of(source: &[u8]) -> Option<Span> {
    decode(source).frontmatter
}

/// The file after `key` was set, or the refusal.
fn set(file: &str, key: &str, value: &str) -> String {
    match set_string(file.as_bytes(), frontmatter_of(file.as_bytes()), key, value) {
        Ok(splice) => String::from_utf8(splice.apply(file.as_bytes())).unwrap(),
        Err(refusal) => format!("{}; type {}", refusal.message, refusal.type_this),
    }
}

#[track_caller]
fn check(file: &str, (key, value): (&str, &str), expected: &str) {
    assert_eq!(set(file, key, value), expected, "{file}");
}

#[test]
fn one_line_is_changed() {
    let x = ("title", "x");
    check("---\ntitle: old\n---\n", x, "---\ntitle: x\n---\n");
    check(
        "---\na: 1 # c\ntitle:   old  # why\nb: 2\n---\nrest",
        x,
        "---\na: 1 # c\ntitle:   x  # why\nb: 2\n---\nrest",
    );
    check(
        "---\r\ntitle: 'it''s' \r\n---\r\n",
        x,
        "---\r\ntitle: x \r\n---\r\n",
    );
    check(
        "---\ntitle: \"a \\\" # b\" # c\n---\n",
        x,
        "---\ntitle: x # c\n---\n",
    );
    check("---\ntitle:\n---\n", x, "---\ntitle: x\n---\n");
    check("---\ntitle:   \n---\n", x, "---\ntitle: x   \n---\n");
    check("---\ntitle: # c\n---\n", x, "---\ntitle: x # c\n---\n");
    check("---\ntitle : a#b\n---\n", x, "---\ntitle : x\n---\n");
    check("---\ntitle:\told\n---\n", x, "---\ntitle:\tx\n---\n");
    check(
        "---\ntitle: 5\nsub:\n  title: 6\n---\n",
        x,
        "---\ntitle: x\nsub:\n  title: 6\n---\n",
    );
    // What is so already stays as it is, whatever its form.
    check("---\ntitle: 'x'\n---\n", x, "---\ntitle: 'x'\n---\n");
    check(
        "---\ntitle: |-\n  x\n---\n",
        x,
        "---\ntitle: |-\n  x\n---\n",
    );
    check(
        "\u{feff}---\ntitle: a\n---",
        x,
        "\u{feff}---\ntitle: x\n---",
    );
}

#[test]
fn one_line_is_added() {
    let x = ("title", "x");
    check("---\n---\n", x, "---\ntitle: x\n---\n");
    check("---\n# c\n\n---\n", x, "---\n# c\n\ntitle: x\n---\n");
    check(
        "---\r\na: 1\r\n---\r\n",
        x,
        "---\r\na: 1\r\ntitle: x\r\n---\r\n",
    );
    check(
        "---\ntitles: 1\n---\n",
        x,
        "---\ntitles: 1\ntitle: x\n---\n",
    );
    check(
        "---\na: |+\n  text\n\n---\n",
        x,
        "---\na: |+\n  text\n\ntitle: x\n---\n",
    );
    check(
        "---\nagents:\n  title:\n---\n",
        x,
        "---\nagents:\n  title:\ntitle: x\n---\n",
    );
}

#[test]
fn frontmatter_is_made() {
    let x = ("title", "x");
    check("", x, "---\ntitle: x\n---\n");
    check("hi", x, "---\ntitle: x\n---\n\nhi");
    check("\nhi", x, "---\ntitle: x\n---\n\nhi");
    check(
        "hi\r\nyou\n",
        x,
        "---\r\ntitle: x\r\n---\r\n\r\nhi\r\nyou\n",
    );
    check("\u{feff}# %%\n", x, "\u{feff}---\ntitle: x\n---\n\n# %%\n");
    let refusal = "the file starts with a --- line that has no closing one; type title: x";
    check("---\nhi\n", x, refusal);
    check("--- \nhi\n", x, refusal);
    check("\u{feff}---\r\nhi\n", x, refusal);
}

#[test]
fn values_are_quoted_when_they_must_be() {
    let written = |value: &str| {
        let file = set("---\n---\n", "title", value);
        let line = file
            .strip_prefix("---\ntitle: ")
            .and_then(|rest| rest.strip_suffix("\n---\n"));
        line.map(str::to_string).unwrap_or(file)
    };
    for plain in ["a", "gpt-5/mini_2.0", "_x", "Yesterday"] {
        assert_eq!(written(plain), plain);
    }
    for quoted in [
        "",
        " ",
        "a b",
        "no",
        "NULL",
        "true",
        "1",
        "0x1f",
        "1e5",
        "2024-01-01",
        "-",
        "---",
        "a: b",
        "#",
        "é",
        ".inf",
        "NaN",
        "@",
    ] {
        assert_eq!(written(quoted), format!("\"{quoted}\""));
    }
    assert_eq!(
        written("a\"\\\n\r\t\0\u{7f}"),
        r#""a\"\\\n\r\t\u0000\u007f""#
    );
    assert_eq!(
        written("\u{85}\u{2028}\u{2029}\u{feff}\u{ffff}"),
        r#""\u0085\u2028\u2029\ufeff\uffff""#
    );
}

#[test]
fn what_cannot_be_changed_alone() {
    let x = ("title", "x");
    let more = "the value of title is more than a text on one line; type title: x";
    for value in [
        "|\n  a",
        ">-\n  a",
        "&t a",
        "!!str a",
        "[a]",
        "{a: 1}",
        "\"a\n  b\"",
        "'a\n  b'",
    ] {
        check(&format!("---\ntitle: {value}\n---\n"), x, more);
    }
    check("---\nt: &t a\ntitle: *t\n---\n", x, more);
    check("---\ntitle: a\r# c\r\nb: 1\n---\n", x, more);
    let other = "title cannot be set without changing how other lines read; type title: x";
    for front in [
        "title: a\n  b",
        "title:\n  a",
        "title:\n- a",
        "{a: 1}",
        "\"title\": a",
        " a: 1",
        "a: 1\n...",
    ] {
        check(&format!("---\n{front}\n---\n"), x, other);
    }
    check(
        "---\n- a\n---\n",
        x,
        "the frontmatter must be a map of keys to values, not a list; type title: x",
    );
    check(
        "---\na: {\n---\n",
        x,
        "the frontmatter cannot be read: unclosed bracket '{'; type title: x",
    );
    check(
        "---\n---\n",
        ("a b", "x"),
        "\"a b\" is not a key that can be set; type \"a b\": x",
    );
    let two = "there are several lines that start with title:; type title: x";
    check("---\na: {\ntitle: 1\n}\ntitle: b\n---\n", x, two);
    check("---\na: {\ntitle: 1\n}\n---\n", x, other);
}

#[test]
fn a_value_that_is_too_long() {
    let long = "x".repeat(2 << 20);
    for file in ["", "---\ntitle: a\n---\n"] {
        let refused = set_string(
            file.as_bytes(),
            frontmatter_of(file.as_bytes()),
            "title",
            &long,
        );
        assert!(refused.is_err());
    }
}

#[test]
fn a_span_that_is_none() {
    for span in [
        Span::new(0, 0),
        Span::new(0, 99),
        Span::new(9, 4),
        Span::new(1, 8),
        Span::new(0, 4),
    ] {
        let refusal = set_string(b"---\na: 1\n---\n", Some(span), "a", "2").unwrap_err();
        assert_eq!(refusal.message, "there is no frontmatter at this place");
    }
    let refusal = set_string(b"---\na: \xff\n---\n", Some(Span::new(0, 13)), "a", "2").unwrap_err();
    assert_eq!(refusal.message, "the frontmatter is not UTF-8 text");
}

fn added(file: &str, agent: &Agent) -> String {
    match add_agent(file.as_bytes(), frontmatter_of(file.as_bytes()), agent) {
        Ok(splice) => String::from_utf8(splice.apply(file.as_bytes())).unwrap(),
        Err(refusal) => format!("{}; type {}", refusal.message, refusal.type_this),
    }
}

#[test]
fn agents_are_added() {
    let b = Agent::of_model("b", "m");
    let check = |file: &str, expected: &str| assert_eq!(added(file, &b), expected);
    check("hi", "---\nagents:\n  b:\n    models: [m]\n---\n\nhi");
    check("---\n---\n", "---\nagents:\n  b:\n    models: [m]\n---\n");
    check(
        "---\nagents: # none\nx: 1\n---\n",
        "---\nagents: # none\n  b:\n    models: [m]\nx: 1\n---\n",
    );
    check(
        "---\r\nagents:\r\n   a:\r\n       models: m\r\n\r\n# c\r\nx: 1\r\n---\r\n",
        "---\r\nagents:\r\n   a:\r\n       models: m\r\n   b:\r\n       models: [m]\r\n\r\n# c\r\nx: 1\r\n---\r\n",
    );
    // The blank line belongs to the prompt.
    check(
        "---\nagents:\n  a:\n    system_prompt: |+\n      hi\n\nx: 1\n---\n",
        "---\nagents:\n  a:\n    system_prompt: |+\n      hi\n\n  b:\n    models: [m]\nx: 1\n---\n",
    );
}

#[test]
fn agents_are_refused() {
    let b = Agent::of_model("b", "m");
    let typed = "type agents:\n  b:\n    models: [m]";
    let check = |file: &str, why: &str| assert_eq!(added(file, &b), format!("{why}; {typed}"));
    check(
        "---\nagents:\n  b:\n---\n",
        "there is already an agent of the name \"b\"",
    );
    check(
        "---\nagents: {a: {}}\n---\n",
        "agents: is not a list of indented lines",
    );
    check(
        "---\nagents: &x\n  a:\n---\n",
        "agents: is not a list of indented lines",
    );
    let other = "the agent cannot be added without changing how other lines read";
    check("---\nagents:\n  {a: }\n---\n", other);
    check("---\n{x: 1}\n---\n", other);
    let named = |name: &str| added("---\n---\n", &Agent::of_model(name, "m"));
    assert!(named("tool").starts_with("\"tool\" is a type of cell"));
    assert!(named("a\nb").starts_with("\"a\\nb\" cannot be the name"));
    let hot = Agent {
        temperature: f64::INFINITY,
        ..b
    };
    assert!(added("---\n---\n", &hot).starts_with("the agent cannot be added"));
    assert!(added("", &hot).starts_with("frontmatter cannot hold this value"));
}

#[test]
fn an_agent_with_everything() {
    let agent = Agent {
        name: "no".to_string(),
        models: vec!["a b".to_string(), "gpt-5".to_string()],
        context_window: Some(1),
        max_output_tokens: 2,
        reasoning: true,
        use_temperature: false,
        temperature: 1.0,
        system_prompt: Some("You are brief.\n\n  --- and kind\n".to_string()),
    };
    let expected = "---
agents:
  \"no\":
    models: [\"a b\", gpt-5]
    context_window: 1
    max_output_tokens: 2
    reasoning: true
    use_temperature: false
    temperature: 1.0
    system_prompt: |
      You are brief.

        --- and kind
---
";
    assert_eq!(added("", &agent), expected);
}

/// Lines that YAML is made of, and lines that it stumbles over.
const PIECES: &[&str] = &[
    "title: old",
    "title:",
    "title: 'a'",
    "title: \"a\" # c",
    "title : x",
    "\"title\": x",
    "title: |",
    "title: >+",
    "title: &t a",
    "title: *t",
    "title: [a,",
    "title: {",
    "]",
    "}",
    "title: a # c",
    "titles: 1",
    "  title: 3",
    "# comment",
    "  # comment",
    "",
    "  ",
    "\t",
    "a: 1",
    "a: |+",
    "b: >-",
    "c: \"x",
    "  y\"",
    "'",
    "  text",
    "    text",
    "agents:",
    "agents: # c",
    "agents: {}",
    "  a:",
    "  b: {models: m}",
    "    models: [m]",
    "    system_prompt: |+",
    "    temperature: 0.5",
    "- x",
    "  - y",
    "? k",
    ": v",
    "<<: *t",
    "t: &t {title: z}",
    "...",
    "--- x",
    "%YAML 1.2",
    "# %% x[^1]",
    "[^1]: [code]",
    "\u{feff}",
    "é: ü",
    "1: 2",
    "!!str a: b",
    "d: x\ry: z",
    "a: 1",
];

fn yaml_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES);
    let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r"), 1 => Just(" \n")];
    prop::collection::vec((piece, end), 0..8).prop_map(|lines| {
        lines
            .into_iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect()
    })
}

fn file_text() -> impl Strategy<Value = String> {
    let line_end = prop::sample::select(vec!["\n", "\r\n"]);
    let bom = prop::sample::select(vec!["", "\u{feff}"]);
    let rest = prop::sample::select(vec![
        "",
        "text",
        "\n# %% hi[^1]\n\n[^1]: [markdown]\n\nx\n",
        "---\n",
    ]);
    (bom, line_end, yaml_text(), rest)
        .prop_map(|(bom, end, yaml, rest)| format!("{bom}---{end}{yaml}---{end}{rest}"))
}

/// The YAML between the two lines.
fn yaml_of(source: &[u8]) -> Option<String> {
    let span = text_span(source, frontmatter_of(source)?)?;
    String::from_utf8(span.of(source).to_vec()).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(500)))]

    #[test]
    fn reading_never_fails(yaml in yaml_text(), any in any::<String>()) {
        for text in [&yaml, &any, &format!("{yaml}{any}")] {
            for problem in read(text).problems {
                prop_assert!(text.get(problem.span.start..problem.span.end).is_some());
            }
        }
    }

    #[test]
    fn setting_a_key_sets_that_key(file in file_text(), value in any::<String>()) {
        let source = file.as_bytes();
        let Some(span) = frontmatter_of(source) else { return Ok(()) };
        let Ok(splice) = set_string(source, Some(span), "title", &value) else { return Ok(()) };
        let new = splice.apply(source);
        let old_tree = Yaml::parse(&yaml_of(source).unwrap()).unwrap();
        let new_tree = Yaml::parse(&yaml_of(&new).unwrap()).unwrap();
        prop_assert_eq!(Some(new_tree), old_tree.with("title", Yaml::Text(value.clone())));
        prop_assert_eq!(read(&yaml_of(&new).unwrap()).title, Some(value.clone()));
        // No line goes, nor a comment.
        let gone = splice.at.of(source);
        prop_assert!(!gone.contains(&b'\n') && !gone.contains(&b'\r') && !gone.starts_with(b"#"));
        let end = frontmatter_of(&new).unwrap().end;
        prop_assert_eq!(new.len() - end, source.len() - span.end);
        // What was set once can be set again, and is then one line that changes.
        let again = set_string(&new, frontmatter_of(&new), "title", &value).unwrap();
        prop_assert_eq!(again.apply(&new), new);
    }

    #[test]
    fn a_plain_map_can_always_be_set(value in any::<String>(), key in "[a-z]{3,8}") {
        let file = b"---\nx: 1 # c\n---\n";
        prop_assume!(is_plain(&key));
        let splice = set_string(file, frontmatter_of(file), &key, &value).unwrap();
        let tree = Yaml::parse(&yaml_of(&splice.apply(file)).unwrap()).unwrap();
        prop_assert_eq!(tree.get(&key), Some(&Yaml::Text(value)));
    }

    #[test]
    fn frontmatter_is_made_for_any_text(text in "(---|#|\u{feff}|a|\r|\n){0,6}", value in any::<String>()) {
        let source = text.as_bytes();
        if frontmatter_of(source).is_some() { return Ok(()) }
        let Ok(splice) = set_string(source, None, "title", &value) else { return Ok(()) };
        let new = splice.apply(source);
        prop_assert_eq!(read(&yaml_of(&new).unwrap()).title, Some(value));
        prop_assert!(new.ends_with(source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source)));
    }

    #[test]
    fn adding_an_agent_adds_that_agent(
        file in file_text(),
        agent in any_agent(),
    ) {
        let source = file.as_bytes();
        let Some(span) = frontmatter_of(source) else { return Ok(()) };
        let Ok(splice) = add_agent(source, Some(span), &agent) else { return Ok(()) };
        let new = splice.apply(source);
        let (before, after) = (read(&yaml_of(source).unwrap()), read(&yaml_of(&new).unwrap()));
        prop_assert_eq!(after.agents.last(), Some(&agent));
        prop_assert_eq!(&after.agents[..after.agents.len() - 1], &before.agents[..]);
        prop_assert_eq!((after.id, after.title), (before.id, before.title));
        prop_assert_eq!(new.len() - frontmatter_of(&new).unwrap().end, source.len() - span.end);
    }

    #[test]
    fn any_agent_can_be_added_to_a_plain_map(agent in any_agent(), crlf in any::<bool>()) {
        let file = "---\nx: 1\nagents:\n  zz:\n    models: [m]\n---\n";
        let file = if crlf { file.replace('\n', "\r\n") } else { file.to_string() };
        let added = add_agent(file.as_bytes(), frontmatter_of(file.as_bytes()), &agent);
        prop_assert!(added.is_ok(), "{added:?}");
    }
}

fn any_agent() -> impl Strategy<Value = Agent> {
    let prompt = prop_oneof![any::<String>(), "([a-z#|:-]| |\n|\t|\r){0,20}"];
    let models = prop::collection::vec(any::<String>().prop_map(|name| format!("m{name}")), 0..3);
    let numbers = (any::<Option<u64>>(), any::<u64>(), -10.0..10.0f64);
    let name = prop_oneof!["[a-y]{1,4}", "[a-y0-9][ -<>-Z^-y]{0,6}[a-y]"];
    let names = name.prop_filter("a usable name", |name| {
        crate::msgfile::agents::why_not_a_name(name).is_none()
    });
    (
        names,
        models,
        numbers,
        any::<(bool, bool)>(),
        prop::option::of(prompt),
    )
        .prop_map(
            |(
                name,
                models,
                (context_window, max_output_tokens, temperature),
                (reasoning, use_temperature),
                system_prompt,
            )| Agent {
                name,
                models,
                context_window,
                max_output_tokens,
                reasoning,
                use_temperature,
                temperature,
                system_prompt,
            },
        )
}
