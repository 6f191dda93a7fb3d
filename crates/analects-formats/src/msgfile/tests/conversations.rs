//! Cells as messages, and answers as cells.

use super::*;

const TALK: &str = "\
# %% gpt-5-mini[^a1]

[^a1]: [agent] name=\"quick\" models=\"gpt-5-mini, gpt-5\" temperature=0.2

# %% First[^1]

[^1]: [markdown]

What is six times seven?

# %%% [^2]

[^2]: [quick] time=\"2026-11-15T20:00:00+08:00\" model=\"gpt-5-mini\" input_tokens=12 output_tokens=3 duration=0.8s

Forty-two.

# %%

And eight?
";

#[test]
fn cells_become_a_conversation() {
    let document = decode(TALK);
    let decoded = messages(&document, &session_of("talk.msg.md"));
    assert_eq!(decoded.problems, []);
    let texts: Vec<String> = decoded
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(
        texts,
        ["What is six times seven?", "Forty-two.", "And eight?"]
    );
    assert_eq!(decoded.messages[0].parent_id, None);
    for pair in decoded.messages.windows(2) {
        assert_eq!(pair[1].parent_id.as_ref(), Some(&pair[0].id));
    }
    let answer = &decoded.messages[1];
    assert_eq!(answer.author.as_deref(), Some("quick"));
    assert_eq!(answer.duration_ms, Some(800));
    assert_eq!(
        answer.usage.as_ref().and_then(|usage| usage.output_tokens),
        Some(3)
    );
    assert_eq!(
        answer.created_at.unwrap().to_string(),
        "2026-11-15T12:00:00Z"
    );
    let agents = document.agents();
    assert_eq!(agents[0].models, ["gpt-5-mini", "gpt-5"]);
    assert_eq!(agents[0].temperature, 0.2);
}

#[test]
fn ids_are_stable_and_differ_between_files() {
    let document = decode(TALK);
    let one = messages(&document, &session_of("a.msg.md"));
    assert_eq!(one, messages(&document, &session_of("a.msg.md")));
    assert_ne!(
        one.messages[0].id,
        messages(&document, &session_of("b")).messages[0].id
    );
}

#[test]
fn what_was_said_last_and_not_answered() {
    let names = |file: &str| {
        let document = decode(file);
        document
            .unanswered()
            .iter()
            .map(|cell| cell.name().into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(TALK), ["3"]);
    assert_eq!(names("# %%\na\n# %%\n\n# %%\nb\n# %%\n"), ["1", "3"]);
    assert_eq!(
        names("# %%\na\n# %%% [^2]\n[^2]: [x]\nanswer\n# %%\n"),
        [""; 0]
    );
    assert_eq!(
        names("# %%\na\n# %%% [^2]\n[^2]: [x] error=1\n\nno\n"),
        ["1"]
    );
}

#[test]
fn an_answer_describes_itself() {
    let document = decode(TALK);
    let message = &messages(&document, &session_of("talk")).messages[1];
    let cell = NewCell::reply("5", "quick", message.text()).describe(message);
    let bytes = append(&document, &cell).apply(TALK.as_bytes());
    let again = decode(bytes);
    let copy = messages(&again, &session_of("talk"))
        .messages
        .pop()
        .unwrap();
    assert_eq!(
        (copy.body, copy.usage, copy.model),
        (
            message.body.clone(),
            message.usage.clone(),
            message.model.clone()
        )
    );
    assert_eq!(
        (copy.duration_ms, copy.created_at),
        (message.duration_ms, message.created_at)
    );
}

#[test]
fn show_has_the_documented_shape() {
    let document = decode(TALK);
    let json = serde_json::to_value(show(&document, "talk.msg.md")).unwrap();
    let keys = |value: &serde_json::Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        keys(&json),
        "agents cells default_agent encoding frontmatter kind path problems"
    );
    assert_eq!(
        keys(&json["cells"][0]),
        "agent attributes content end_line heading_level history id kind language line name outputs \
         parent role title type"
    );
    assert_eq!(json["default_agent"], "quick");
    assert_eq!(json["cells"][2]["parent"], "1");
    assert_eq!(json["cells"][1]["outputs"], serde_json::json!(["2"]));
    assert_eq!(
        (&json["cells"][1]["line"], &json["cells"][1]["end_line"]),
        (&5.into(), &10.into())
    );
}
