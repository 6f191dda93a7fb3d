//! Any bytes between `---` lines are frontmatter: reading never fails, problems point into the text, and a
//! key or an agent that is set reads back and changes nothing else, or is refused.

use analects_core::Agent;
use analects_formats::msgfile::frontmatter::{Frontmatter, add_agent, read, set_string};
use analects_formats::msgfile::{Document, Splice, decode_named};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "frontmatter",
    run,
    tokens: &[
        b"id: a\n",
        b"title: b\n",
        b"title: |\n  b\n",
        b"title: >-\n  b\n",
        b"message_section: Talk\n",
        b"default_agent: a\n",
        b"agents:\n  a:\n    models: [m]\n",
        b"    system_prompt: |\n      s\n",
        b"    temperature: 0.5\n",
        b"    context_window: 1_000\n",
        b"    reasoning: true\n",
        b"agents: {}\n",
        b"- ",
        b"? ",
        b": ",
        b" # ",
        b"&a ",
        b"*a",
        b"<<: *a\n",
        b"!!str ",
        b"%YAML 1.2\n",
        b"---\n",
        b"...\n",
        b"{a: [b, c]}",
        b"\"\\u2028\\x41\"",
        b"'it''s'",
        b"0x1f",
        b".inf",
        b"~",
    ],
};

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for problem in read(&text).problems {
        let span = problem.span;
        assert!(
            text.get(span.start..span.end).is_some(),
            "a problem points beside the text"
        );
    }
    let mut file = b"---\n".to_vec();
    file.extend_from_slice(bytes);
    file.extend_from_slice(b"\n---\n\n# %% Hello[^1]\n\n[^1]: [markdown]\n\nHi\n");
    let before = decode_named(file, "any.msg.md");
    before.problems();
    set(&before, &text);
    add(&before, &text);
}

fn set(before: &Document, text: &str) {
    let value = second_half(text);
    let span = before.frontmatter_span();
    let Ok(splice) = set_string(before.source(), span, "title", value) else {
        return;
    };
    let after = changed(before, &splice);
    let expected = Frontmatter {
        title: Some(value.to_string()),
        ..plain(before)
    };
    assert_eq!(
        plain(&after),
        expected,
        "the title is set, and nothing else changes"
    );
}

fn add(before: &Document, text: &str) {
    let models = vec![second_half(text).to_string()];
    let system_prompt = Some(text.to_string());
    let agent = Agent {
        name: "fuzzed".to_string(),
        models,
        system_prompt,
        ..Agent::default()
    };
    let Ok(splice) = add_agent(before.source(), before.frontmatter_span(), &agent) else {
        return;
    };
    let after = changed(before, &splice);
    let mut expected = plain(before);
    expected.agents.push(agent);
    assert_eq!(
        plain(&after),
        expected,
        "the agent is added, and nothing else changes"
    );
}

/// The file after a change, which must leave the cells alone.
fn changed(before: &Document, splice: &Splice) -> Document {
    let after = decode_named(splice.apply(before.source()), "any.msg.md");
    let cells = |document: &Document| -> Vec<String> {
        document
            .cells()
            .map(|cell| cell.content().into_owned())
            .collect()
    };
    assert_eq!(cells(&after), cells(before), "every cell reads as before");
    after
}

/// What the frontmatter says, without its problems: their places move.
fn plain(document: &Document) -> Frontmatter {
    Frontmatter {
        problems: Vec::new(),
        ..document.frontmatter().clone()
    }
}

fn second_half(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len() / 2)..]
}
