//! All results of a call reach the model of every API: a text, a picture, and what came after them.
#![allow(clippy::unwrap_used)]

use analects_context::{Counter, Plan, Planner};
use analects_core::{Agent, chain};
use analects_formats::msgfile::{decode, messages};
use analects_providers::{Api, encode};
use analects_testkit::{Rules, validate};

const APIS: [(Api, Rules, &str); 4] = [
    (Api::AnthropicMessages, Rules::Anthropic, "claude-opus-4-1"),
    (Api::Gemini, Rules::Gemini, "gemini-2.5-pro"),
    (Api::OpenAiChat, Rules::OpenAiChat, "gpt-5"),
    (Api::OpenAiResponses, Rules::OpenAiResponses, "gpt-5"),
];

/// A file in which a call has these results; each is an id behind the call's, attributes and a text.
fn file(results: &[(&str, &str, &str)]) -> String {
    let mut file = "# %% [^1]\n\n[^1]: [markdown]\n\nDraw.\n\n# %%% [^2.k3f9qx7a]\n\n\
                    [^2.k3f9qx7a]: [tool] name=\"draw\" call_id=\"toolu_1\"\n\n<invoke name=\"draw\"/>\n"
        .to_string();
    for (id, attributes, text) in results {
        let id = format!("2.k3f9qx7a.{id}");
        file.push_str(&format!(
            "\n# %%% [^{id}]\n\n[^{id}]: [tool] {attributes}\n\n{text}\n"
        ));
    }
    file
}

fn planned(file: &str, model: &str) -> Plan {
    let read = messages(&decode(file), &"talk".into()).messages;
    let agent = Agent::of_model("quick", model);
    Planner::new(&agent).plan(&chain(&read), &mut Counter::of_model(model))
}

const PICTURE: (&str, &str, &str) = (
    "1-2",
    "mime_type=\"image/png\" encoding=\"base64\"",
    "iVBORw0KGgo=",
);

#[test]
fn a_text_a_picture_and_a_second_result_are_sent_in_their_order() {
    let file = file(&[
        ("1", "status=\"success\"", "FIRST"),
        PICTURE,
        ("1-3", "", "SECOND"),
        ("2", "status=\"success\"", "THIRD"),
    ]);
    for (api, rules, model) in APIS {
        let plan = planned(&file, model);
        assert_eq!(plan.notes, [], "{api:?}");
        assert!(
            plan.rows.iter().all(|row| row.left_out().is_none()),
            "{api:?}"
        );
        let sent = encode(api, plan.ready().unwrap());
        let body = String::from_utf8(sent.body).unwrap();
        let refused: Vec<_> = validate(rules, body.as_bytes())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(refused, Vec::<String>::new(), "{api:?}: {body}");
        let place = |what: &str| {
            body.find(what)
                .unwrap_or_else(|| panic_without(what, &body))
        };
        assert!(place("FIRST") < place("SECOND"), "{api:?}: {body}");
        assert!(place("SECOND") < place("THIRD"), "{api:?}: {body}");
        let picture = place("iVBORw0KGgo=");
        // A tool message of Chat Completions has only text; its pictures follow in a message of the user.
        let is_behind = matches!(api, Api::OpenAiChat | Api::Gemini) && picture > place("THIRD");
        assert!(is_behind || picture < place("SECOND"), "{api:?}: {body}");
        assert_eq!(
            body.matches("toolu_1").count(),
            if api == Api::Gemini { 0 } else { 2 },
            "{body}"
        );
    }
}

fn panic_without(what: &str, body: &str) -> usize {
    unreachable!("{what} is not in {body}")
}

#[test]
fn a_result_after_the_next_answer_is_left_out_and_listed() {
    let mut file = file(&[("1", "status=\"success\"", "FIRST")]);
    file.push_str("\n# %%% [^3]\n\n[^3]: [quick]\n\nHere.\n");
    file.push_str("\n# %%% [^2.k3f9qx7a.2]\n\n[^2.k3f9qx7a.2]: [tool]\n\nLATE\n");
    file.push_str("\n# %% [^4]\n\n[^4]: [markdown]\n\nThanks.\n");
    let plan = planned(&file, "gpt-5");
    let left_out: Vec<_> = plan.rows.iter().filter_map(|row| row.left_out()).collect();
    assert_eq!(left_out, ["a result without its call"]);
    let body = encode(Api::OpenAiChat, plan.ready().unwrap()).body;
    assert!(!String::from_utf8(body).unwrap().contains("LATE"));
}

#[test]
fn the_pictures_of_another_agents_results_are_passed_on() {
    let call = "# %%% [^2]\n\n[^2]: [coder]\n\nI draw.\n\n# %%% [^2.k3f9qx7a]\n";
    let file = file(&[("1", "status=\"success\"", "FIRST"), PICTURE]);
    let file = file.replacen("# %%% [^2.k3f9qx7a]\n", call, 1)
        + "\n# %% [^3]\n\n[^3]: [markdown]\n\nWell?\n";
    for (api, _, model) in APIS {
        let plan = planned(&file, model);
        let body = encode(api, plan.ready().unwrap()).body;
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("(result: FIRST)"), "{api:?}: {body}");
        assert!(body.contains("iVBORw0KGgo="), "{api:?}: {body}");
    }
}
