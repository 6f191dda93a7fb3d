//! How single texts read: one line per fact, `key = value`, then the problems.

use super::*;

fn described(yaml: &str) -> Vec<String> {
    let found = read(yaml);
    let texts = [
        ("id", &found.id),
        ("title", &found.title),
        ("section", &found.message_section),
        ("default", &found.default_agent),
    ];
    let mut lines: Vec<String> = texts
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name} = {value:?}")))
        .collect();
    lines.extend(found.agents.iter().map(agent_line));
    lines.extend(found.problems.iter().map(|problem| {
        let place = yaml[..problem.span.start].matches('\n').count() + 1;
        assert!(problem.span.end <= yaml.len());
        let hint = problem
            .hint
            .as_ref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        format!("{place}: {} {}{hint}", problem.code, problem.message)
    }));
    lines
}

/// An agent's name, its models, and what differs from the defaults.
fn agent_line(agent: &Agent) -> String {
    let default = Agent::default();
    let mut line = format!("agent {} {:?}", agent.name, agent.models);
    let mut add = |differs: bool, text: String| {
        if differs {
            line.push_str(&format!(" {text}"));
        }
    };
    let window = agent.context_window;
    add(window.is_some(), window.unwrap_or_default().to_string());
    add(
        agent.max_output_tokens != default.max_output_tokens,
        format!("{}", agent.max_output_tokens),
    );
    add(agent.reasoning, "reasoning".to_string());
    add(!agent.use_temperature, "no-temperature".to_string());
    add(
        agent.temperature != default.temperature,
        format!("{}", agent.temperature),
    );
    add(
        agent.system_prompt.is_some(),
        format!("{:?}", agent.system_prompt),
    );
    line
}

#[track_caller]
fn check(yaml: &str, expected: &[&str]) {
    assert_eq!(described(yaml), expected, "{yaml}");
}

#[test]
fn the_example_of_the_format() {
    let yaml = "\
title: Sorting notes
message_section: Discussion        # plain .md only
default_agent: coder               # else: the first agent
agents:
  coder:
    models: [claude-sonnet-4-5, gpt-5-mini]   # the first that is usable
    context_window: 100000
    max_output_tokens: 4096
    reasoning: true
    use_temperature: false
    temperature: 0.2
    system_prompt: |
      You answer briefly.
  plain: { models: gpt-5 }
";
    check(
        yaml,
        &[
            r#"title = "Sorting notes""#,
            r#"section = "Discussion""#,
            r#"default = "coder""#,
            r#"agent coder ["claude-sonnet-4-5", "gpt-5-mini"] 100000 4096 reasoning no-temperature 0.2 Some("You answer briefly.\n")"#,
            r#"agent plain ["gpt-5"]"#,
        ],
    );
}

#[test]
fn nothing_is_said() {
    check("", &[]);
    check("# only a comment\n", &[]);
    check("id:\ntitle: ~\ndefault_agent:\nagents:\n", &[]);
    check("id: ''\ndefault_agent: ''\n", &[]);
    check(
        "tags: [a, b]\ndate: 2026-01-01\ncolour: {deep: [1, .inf]}\n1: 2\n~: 3\n",
        &[],
    );
}

#[test]
fn texts() {
    check(
        "id: '1'\r\ntitle: \"a\\tb\"\r\n",
        &[r#"id = "1""#, r#"title = "a\tb""#],
    );
    // A no is a no, not false; and a version is kept as it was written where it is in quotes.
    check("title: no\n", &[r#"title = "no""#]);
    check(
        "title: 2024\nid: true\n",
        &[
            r#"1: frontmatter-type title must be a text, not 2024; put it in quotes: title: "2024""#,
            r#"2: frontmatter-type id must be a text, not true; put it in quotes: id: "true""#,
        ],
    );
    check(
        "\ntitle: [a]\n",
        &["2: frontmatter-type title must be a text, not a list"],
    );
}

#[test]
fn the_section() {
    check("message_section:\n", &[r#"section = "Discussion""#]);
    check("message_section: ''\n", &[r#"section = "Discussion""#]);
    check("message_section: ' Talk  '\n", &[r#"section = "Talk""#]);
    check("message_section: 'C#'\n", &[r##"section = "C#""##]);
    let problem = |shown: &str| {
        let what = "1: frontmatter-type message_section must be the text of a heading, not";
        format!("{what} {shown}; message_section: Discussion")
    };
    check("message_section: '  '\n", &[&problem(r#""  ""#)]);
    check("message_section: '## #'\n", &[&problem(r###""## #""###)]);
    check("message_section: \"a\\nb\"\n", &[&problem(r#""a\nb""#)]);
}

#[test]
fn agents_keep_their_order() {
    check(
        "agents:\n  z: {models: [m]}\n  a: {models: [n]}\n  1: {models: [o]}\n",
        &[r#"agent z ["m"]"#, r#"agent a ["n"]"#, r#"agent 1 ["o"]"#],
    );
    check(
        "base: &base {models: [m], temperature: 1}\nagents:\n  a:\n    <<: *base\n  b: *base\n",
        &[r#"agent a ["m"] 1"#, r#"agent b ["m"] 1"#],
    );
}

#[test]
fn agents_with_problems() {
    let without = "agent-without-models agent \"a\" names no models; models: [MODEL]";
    check("agents:\n  a:\n", &["agent a []", &format!("2: {without}")]);
    check(
        "agents: [a]\n",
        &["1: frontmatter-type agents must be a map of names to properties, not a list"],
    );
    check(
        "agents:\n  a: gpt-5\n",
        &[
            "agent a []",
            r#"2: frontmatter-type agent "a" must be a map of properties, not "gpt-5"; a: { models: [MODEL] }"#,
        ],
    );
    check(
        "agents:\n  tool: {models: [m]}\n  python: {models: [m]}\n  'a]': {models: [m]}\n  '': {}\n",
        &[
            r#"agent python ["m"]"#,
            r#"2: reserved-agent-name "tool" is a type of cell and cannot be the name of an agent"#,
            r#"4: bad-agent-name "a]" cannot be the name of an agent; leave out [ ] = and breaks"#,
            "5: bad-agent-name an agent must have a name",
        ],
    );
}

#[test]
fn properties_of_the_wrong_type() {
    let yaml = "\
agents:
  a:
    models: [m, 5]
    context_window: big
    max_output_tokens: -1
    reasoning: yes
    use_temperature: 1
    temperature: .inf
    system_prompt: [x]
";
    check(
        yaml,
        &[
            "agent a []",
            "3: frontmatter-type models must be a list of names, not a list",
            "4: frontmatter-type context_window must be a whole number, not \"big\"",
            "5: frontmatter-type max_output_tokens must be a whole number, not -1",
            "6: frontmatter-type reasoning must be true or false, not \"yes\"",
            "7: frontmatter-type use_temperature must be true or false, not 1",
            "8: frontmatter-type temperature must be a number, not \".inf\"",
            "9: frontmatter-type system_prompt must be a text, not a list",
            "2: agent-without-models agent \"a\" names no models; models: [MODEL]",
        ],
    );
    check(
        "agents:\n  a: {models: m, context_window: '200000', max_output_tokens: 1.5}\n",
        &[
            r#"agent a ["m"]"#,
            r#"2: frontmatter-type context_window must be a whole number, not "200000""#,
            "2: frontmatter-type max_output_tokens must be a whole number, not 1.5",
        ],
    );
}

#[test]
fn unknown_properties() {
    let all = "expected one of models, context_window, max_output_tokens, reasoning, \
               use_temperature, temperature, system_prompt";
    check(
        "agents:\n  a:\n    models: m\n    contextWindow: 5\n    tempratur: 1\n    colour: red\n",
        &[
            r#"agent a ["m"]"#,
            r#"4: unknown-agent-key unknown agent property "contextWindow"; did you mean context_window?"#,
            r#"5: unknown-agent-key unknown agent property "tempratur"; did you mean temperature?"#,
            &format!(r#"6: unknown-agent-key unknown agent property "colour"; {all}"#),
        ],
    );
    check(
        "agents:\n  a: {model: m}\n",
        &[
            "agent a []",
            r#"2: unknown-agent-key unknown agent property "model"; did you mean models?"#,
            r#"2: agent-without-models agent "a" names no models; models: [MODEL]"#,
        ],
    );
}

#[test]
fn what_is_not_yaml() {
    let cannot = |line: usize, why: &str| {
        format!("{line}: frontmatter-yaml frontmatter cannot be read: {why}")
    };
    check(
        "a: 1\ntitle: x\na: 2\n",
        &[&cannot(
            3,
            "duplicate mapping key: a not allowed here; remove one of the two",
        )],
    );
    check(
        "1: a\n'1': b\n",
        &[&cannot(
            1,
            "duplicate mapping key: 1; remove one of the two",
        )],
    );
    check(
        "a:\n\tb: 1\n",
        &[&cannot(
            2,
            "tabs disallowed within this context (block indentation); indent with spaces instead of tabs",
        )],
    );
    check(
        "a: *x\n",
        &[&cannot(
            1,
            "reference to unknown value; correct this line or one above it; a text in quotes is always valid",
        )],
    );
    check(
        "a: 1\r\nb: !foo 2\r\n",
        &[&cannot(
            2,
            "unsupported tag `!foo`; correct this line or one above it; a text in quotes is always valid",
        )],
    );
    check(
        "a: 1\n--- x\n",
        &[&cannot(
            2,
            "only single YAML document expected but multiple found; correct this line or one above it; a text in quotes is always valid",
        )],
    );
    check(
        "a: &a [*a]\n",
        &[&cannot(
            1,
            "recursive reference not allowed here; correct this line or one above it; a text in quotes is always valid",
        )],
    );
    check(
        "title: {\n",
        &[&cannot(
            1,
            "unclosed bracket '{'; close it on the same line",
        )],
    );
    check(
        "- a\n",
        &["1: frontmatter-type frontmatter must be a map of keys to values, not a list"],
    );
    check(
        "x\n",
        &["1: frontmatter-type frontmatter must be a map of keys to values, not \"x\""],
    );
}

#[test]
fn a_problem_in_its_file() {
    let file = b"---\nid: x\ntitle: 5\n---\n";
    let problem = read("id: x\ntitle: 5\n").problems.remove(0);
    let problem = problem.in_file(4, &LineIndex::new(file));
    assert_eq!((problem.line, problem.column), (3, 1));
    assert_eq!(
        problem.span.map(|span| span.of(file)),
        Some(&b"title: 5\n"[..])
    );
    assert_eq!(problem.hint, Some("put it in quotes: title: \"5\"".into()));
}
