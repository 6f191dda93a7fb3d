//! Message files with a single feature: cells and their attributes.

use crate::marks::{
    Case, Mark, apart, assistant, field, follows, picture, spelling, starts, text, thinking, user,
};

/// Makes a case of a message file.
pub fn case(name: &'static str, source: &str, marks: Vec<Mark>) -> Case {
    Case {
        name,
        file: "talk.msg.md",
        source: source.as_bytes().to_vec(),
        marks,
    }
}

/// A question with attributes, and its answer.
fn question(name: &'static str, attributes: &str, mut marks: Vec<Mark>) -> Case {
    let source =
        format!("# %% [^1]\n\n[^1]: [markdown] {attributes}\n\nQUESTION17\n\n# %%%\n\nANSWER17\n");
    marks.extend([user("QUESTION17"), assistant("ANSWER17")]);
    case(name, &source, marks)
}

/// A question, and its answer with attributes.
fn reply(name: &'static str, attributes: &str, mut marks: Vec<Mark>) -> Case {
    let source =
        format!("# %%\n\nQUESTION17\n\n# %%% [^2]\n\n[^2]: [agent17] {attributes}\n\nANSWER17\n");
    marks.extend([user("QUESTION17"), assistant("ANSWER17"), author()]);
    case(name, &source, marks)
}

/// The name of the agent that answers.
fn author() -> Mark {
    field(&["author", "name", "type"], "agent17").listed_as(&["type_word"])
}

/// A question, an answer, and cells that follow.
pub fn after(name: &'static str, cells: &str, mut marks: Vec<Mark>) -> Case {
    let source = format!("# %%\n\nQUESTION17\n\n# %%%\n\nANSWER17\n\n{cells}");
    marks.extend([user("QUESTION17"), assistant("ANSWER17")]);
    case(name, &source, marks)
}

/// How long something took: 817 ms.
pub fn duration() -> Mark {
    field(&["duration", "duration_ms"], "0.817s")
        .or("817")
        .part_of("attachment")
        .machine()
}

/// The time 20:17:17 in the evening of a day, in the spellings of the targets.
pub fn time() -> Mark {
    field(&["time", "created_at", "timestamp"], "2026-11-15T20:17:17Z")
        .or("1794773837000")
        .or("2026-11-15 20:17:17")
        .part_of("attachment")
}

pub const TIME: &str = "time=\"2026-11-15T20:17:17Z\"";

pub fn cases() -> Vec<Case> {
    let mut cases = questions();
    cases.extend(replies());
    cases.extend(others());
    cases
}

fn questions() -> Vec<Case> {
    [first_questions(), more_questions(), further_questions()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_questions() -> Vec<Case> {
    vec![
        case(
            "plain",
            "# %%\n\nQUESTION17\n\n# %%%\n\nANSWER17\n",
            vec![
                user("QUESTION17"),
                assistant("ANSWER17"),
                follows("ANSWER17", "QUESTION17"),
            ],
        ),
        question("ids of our own", "", vec![]),
        question("time of a question", TIME, vec![time()]),
        question(
            "timeout of a question",
            "timeout=17s",
            vec![field(&["timeout"], "17s")],
        ),
        question(
            "agent of a question",
            "agent=\"to17\"",
            vec![field(&["agent"], "to17")],
        ),
        question(
            "unknown attribute",
            "mood=\"BAR17\"",
            vec![field(&["mood"], "BAR17")],
        ),
        question(
            "repeated attribute",
            "mood=\"ONE17\" mood=\"TWO17\"",
            vec![field(&["mood"], "ONE17"), field(&["mood"], "TWO17")],
        ),
        question(
            "title in an attribute",
            "title=\"TITLE17\\nlines\"",
            vec![field(&["title"], "TITLE17\nlines").or("TITLE17 lines")],
        ),
        case(
            "title of a question",
            "# %% TITLE17 [x](y)[^1]\n\n[^1]: [markdown]\n\nQUESTION17\n",
            vec![user("QUESTION17"), field(&["title"], "TITLE17 [x](y)")],
        ),
        case(
            "title of a loose question",
            "# %% TITLE17\n\nQUESTION17\n",
            vec![user("QUESTION17"), field(&["title"], "TITLE17")],
        ),
        case(
            "id of a cell by hand",
            "# %% [^chosen17]\n\n[^chosen17]: [markdown]\n\nQUESTION17\n",
            vec![
                user("QUESTION17"),
                field(&["cell", "id"], "chosen17")
                    .listed_as(&["cell_id"])
                    .machine(),
            ],
        ),
        question("hidden question", "history=none", vec![hidden()]),
    ]
}

fn more_questions() -> Vec<Case> {
    let source = "# %% [^1]\n\n[^1]: [markdown]\n\nQUESTION17\n\n# %%% [^2]\n\nANSWER17\n\n\
        # %% [^3]\n\n[^3]: [markdown] parent=\"1\"\n\nBRANCH17\n";
    let branch = vec![
        user("QUESTION17"),
        assistant("ANSWER17"),
        user("BRANCH17"),
        follows("BRANCH17", "QUESTION17"),
    ];
    let root = vec![
        user("QUESTION17"),
        assistant("ANSWER17"),
        user("ROOT17"),
        starts("ROOT17"),
    ];
    vec![
        question(
            "question as summary",
            "history=summary summary=\"SHORT17\"",
            vec![
                field(&["history"], "summary"),
                field(&["summary"], "SHORT17").listed_as(&["history"]),
            ],
        ),
        question(
            "question with a stored summary",
            "summary=\"SHORT17\"",
            vec![field(&["summary"], "SHORT17")],
        ),
        question(
            "uuid of a question",
            "uuid=\"UUID17\"",
            vec![field(&["uuid", "id"], "UUID17").machine()],
        ),
        question(
            "author of a question",
            "author=\"ann17\"",
            vec![field(&["author", "name"], "ann17")],
        ),
        question("content of a question", "content=\"blocks\"", vec![]),
        question(
            "side chain",
            "agent_id=\"side17\"",
            vec![
                field(&["agent_id", "agent"], "side17").listed_as(&["side chain"]),
                starts("ANSWER17"),
            ],
        ),
        case("branch", source, branch),
        case(
            "new root",
            &source
                .replace("\"1\"", "\"\"")
                .replace("BRANCH17", "ROOT17"),
            root,
        ),
    ]
}

fn further_questions() -> Vec<Case> {
    vec![
        after(
            "part of a question",
            "# %% [^4]\n\n[^4]: [markdown]\n\nONE17\n\n\
            # %% [^5]\n\n[^5]: [markdown] part=\"4\"\n\nTWO17\n",
            vec![user("ONE17"), user("TWO17"), apart("ONE17", "TWO17")],
        ),
        after(
            "tool of a text",
            "# %% [^4]\n\n[^4]: [markdown] tool=\"double17\"\n\nDESCRIBED17\n",
            vec![user("DESCRIBED17"), field(&["tool"], "double17")],
        ),
    ]
}

/// That the model does not see a message.
pub fn hidden() -> Mark {
    field(&["history", "hidden", "target_history"], "exclude")
        .or("none")
        .or("true")
        .listed_as(&["message", "revision"])
}

fn replies() -> Vec<Case> {
    [first_replies(), more_replies(), further_replies()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_replies() -> Vec<Case> {
    vec![
        reply("name of the agent", "", vec![]),
        reply("time of a reply", TIME, vec![time()]),
        reply(
            "model of a reply",
            "model=\"model17\"",
            vec![field(&["model"], "model17").machine()],
        ),
        reply(
            "tokens of a reply",
            "tokens=1717/717",
            vec![
                field(&["input_tokens", "prompt", "prompt_tokens"], "1717")
                    .listed_as(&["usage"])
                    .machine(),
                field(&["output_tokens", "completion", "completion_tokens"], "717")
                    .listed_as(&["usage"])
                    .machine(),
            ],
        ),
        reply(
            "cost of a reply",
            "cost=0.01234517",
            vec![field(&["cost", "cost_usd"], "0.01234517").machine()],
        ),
        reply("duration of a reply", "duration=0.817s", vec![duration()]),
        reply(
            "response_id",
            "response_id=\"resp17\"",
            vec![field(&["response_id"], "resp17").machine()],
        ),
        reply(
            "exact counts",
            "input_tokens=1717 output_tokens=718 cache_read_tokens=719 cache_creation_tokens=720 reasoning_tokens=721",
            ["1717", "718", "719", "720", "721"]
                .map(|count| {
                    field(COUNTS, count)
                        .listed_as(&["usage", "provider_details"])
                        .machine()
                })
                .to_vec(),
        ),
        reply(
            "stop_reason",
            "stop_reason=\"max_tokens\"",
            vec![field(&["stop_reason"], "max_tokens").machine()],
        ),
        reply(
            "author of a reply",
            "author=\"ann17\"",
            vec![field(&["author", "name"], "ann17")],
        ),
        reply(
            "uuid of a reply",
            "uuid=\"UUID17\"",
            vec![field(&["uuid", "id"], "UUID17").machine()],
        ),
    ]
}

fn more_replies() -> Vec<Case> {
    vec![
        reply(
            "unknown attribute of a reply",
            "mood=\"BAR17\"",
            vec![field(&["mood"], "BAR17")],
        ),
        reply("hidden reply", "history=none", vec![hidden()]),
        reply(
            "reply as summary",
            "history=summary summary=\"SHORT17\"",
            vec![
                field(&["history"], "summary"),
                field(&["summary"], "SHORT17").listed_as(&["history"]),
            ],
        ),
        reply(
            "error",
            "error=1",
            vec![
                field(&["error", "is_api_error_message"], "1")
                    .or("true")
                    .listed_as(&["message"]),
            ],
        ),
        case(
            "title of a reply",
            "# %%\n\nQUESTION17\n\n# %%% TITLE17[^2]\n\n[^2]: [agent17]\n\nANSWER17\n",
            vec![
                user("QUESTION17"),
                assistant("ANSWER17"),
                author(),
                field(&["title"], "TITLE17"),
            ],
        ),
        case(
            "thinking",
            "# %%\n\nQUESTION17\n\n# %%% [^2.think]\n\n[^2.think]: [agent17]\n\nTHINK17\n\n\
             # %%% [^2]\n\n[^2]: [agent17]\n\nANSWER17\n",
            vec![
                user("QUESTION17"),
                assistant("ANSWER17"),
                author(),
                thinking("THINK17"),
            ],
        ),
        case(
            "reasoning",
            "# %%\n\nQUESTION17\n\n# %%% [^2]\n\n[^2]: [agent17] reasoning=1\n\nTHINK17\n\n\
             # %%% [^3]\n\n[^3]: [agent17] part=2\n\nANSWER17\n",
            vec![
                user("QUESTION17"),
                assistant("ANSWER17"),
                author(),
                thinking("THINK17"),
            ],
        ),
    ]
}

fn further_replies() -> Vec<Case> {
    vec![
        case(
            "second text",
            "# %%\n\nQUESTION17\n\n# %%% [^2]\n\nANSWER17\n\n# %%% [^2.text2]\n\nSECOND17\n",
            vec![
                user("QUESTION17"),
                assistant("ANSWER17"),
                assistant("SECOND17"),
                apart("ANSWER17", "SECOND17"),
            ],
        ),
        case(
            "pending reply",
            "# %%\n\nQUESTION17\n\n# %%% [^2]\n\n[^2]: [agent17] status=\"pending\" \
             output_file=\"answers17.md\" nonce=\"k3f9qx7a\"\n",
            vec![
                user("QUESTION17"),
                field(&["output_file"], "answers17.md").listed_as(&["pending-output", "cell"]),
                field(&["status"], "pending").listed_as(&["pending-output", "cell"]),
                field(&["nonce"], "k3f9qx7a").listed_as(&["pending-output", "cell"]),
                author().listed_as(&["pending-output", "cell"]),
            ],
        ),
        reply(
            "reply in a file",
            "output_file=\"answer17.md\"",
            vec![field(&["output_file"], "answer17.md")],
        ),
        reply(
            "status of a reply",
            "status=\"streaming\"",
            vec![field(&["status"], "streaming").listed_as(&["old-format"])],
        ),
        case(
            "reply of bytes",
            "# %%\n\nQUESTION17\n\n# %%% [^2]\n\n[^2]: [agent17] mime_type=\"image/png\" encoding=\"base64\"\n\n\
             iVBORw0KGgo=\n",
            vec![user("QUESTION17"), picture("iVBORw0KGgo="), author()],
        ),
    ]
}

const COUNTS: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "prompt",
    "completion",
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "reasoning_output_tokens",
];

fn others() -> Vec<Case> {
    [
        first_others(),
        more_others(),
        further_others(),
        other_others(),
        last_others(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_others() -> Vec<Case> {
    let cell = |id: &str, metadata: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: {metadata}\n\n{content}\n\n")
    };
    let kind = |value| {
        field(&["kind"], value)
            .listed_as(&["attachment", "notification"])
            .machine()
    };
    vec![
        after(
            "system",
            &cell("y1", "[system]", "SYSTEM17"),
            vec![text("system", "SYSTEM17")],
        ),
        after(
            "summary",
            &cell("s1", "[summary]", "SUMMARY17"),
            vec![text("summary", "SUMMARY17")],
        ),
        after(
            "range of a summary",
            &cell(
                "s1",
                "[summary] from=\"x17\" to=\"y17\" count=917",
                "SUMMARY17",
            ),
            vec![
                text("summary", "SUMMARY17"),
                field(&["from"], "x17").part_of("summary").machine(),
                field(&["to"], "y17").part_of("summary").machine(),
                field(&["count"], "917").part_of("summary").machine(),
            ],
        ),
        after(
            "compaction",
            &cell("s1", "[summary] through=\"1\"", "SUMMARY17"),
            vec![
                text("summary", "SUMMARY17"),
                text("separator", "").listed_as(&["compact_boundary", "through"]),
                spelling(&["summary_id", "kept_from"]),
            ],
        ),
        after(
            "attachment",
            &cell("a1", "[attachment] kind=\"reminder\"", "ATTACHED17"),
            vec![text("attachment", "ATTACHED17"), kind("reminder")],
        ),
        after(
            "path of an attachment",
            &cell(
                "a1",
                "[attachment] kind=\"file\" path=\"file17.txt\"",
                "ATTACHED17",
            ),
            vec![
                text("attachment", "ATTACHED17"),
                kind("file"),
                field(&["path"], "file17.txt").listed_as(&["attachment", "data"]),
            ],
        ),
    ]
}

fn more_others() -> Vec<Case> {
    let cell = |id: &str, metadata: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: {metadata}\n\n{content}\n\n")
    };
    let boundary = "[compact_boundary] trigger=\"manual\" tokens_before=1717 tokens_after=717";
    let boundary_marks = vec![
        field(&["trigger"], "manual")
            .listed_as(&["compact_boundary"])
            .machine(),
        field(&["tokens_before"], "1717")
            .listed_as(&["compact_boundary"])
            .machine(),
        field(&["tokens_after"], "717")
            .listed_as(&["compact_boundary"])
            .machine(),
    ];
    let kind = |value| {
        field(&["kind"], value)
            .listed_as(&["attachment", "notification"])
            .machine()
    };
    vec![
        after(
            "notification",
            &cell("n1", "[notification] kind=\"task17\"", "NOTIFIED17"),
            vec![text("notification", "NOTIFIED17"), kind("task17")],
        ),
        after(
            "boundary",
            &cell("b1", boundary, ""),
            boundary_marks.clone(),
        ),
        after("text in a boundary", &cell("b1", boundary, "HIDDEN17"), {
            let mut marks = boundary_marks;
            marks.push(text("separator", "HIDDEN17").listed_as(&["text", "compact_boundary"]));
            marks
        }),
        after(
            "tombstone",
            &cell("t1", "[tombstone] target=\"1\"", ""),
            vec![text("tombstone", "").listed_as(&["target"])],
        ),
        after(
            "text in a tombstone",
            &cell("t1", "[tombstone] target=\"nobody\"", "HIDDEN17"),
            vec![
                field(&["target"], "nobody").listed_as(&["tombstone"]),
                text("tombstone", "HIDDEN17").listed_as(&["text", "content"]),
            ],
        ),
        after(
            "text in a progress",
            &cell("p1", "[progress]", "HIDDEN17"),
            vec![text("progress", "HIDDEN17").listed_as(&["left_out", "text"])],
        ),
    ]
}

fn further_others() -> Vec<Case> {
    let cell = |id: &str, metadata: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: {metadata}\n\n{content}\n\n")
    };
    let block = |json: &str| cell("2.block1", "[block]", &format!("```json\n{json}\n```"));
    vec![
        after(
            "block",
            &block("{\"type\":\"odd17\",\"value\":\"BLOCK17\"}"),
            vec![text("block", "odd17"), text("block", "BLOCK17")],
        ),
        after(
            "encrypted thinking",
            &block("{\"type\":\"redacted_thinking\",\"data\":\"SECRET17\"}"),
            vec![
                text("block", "SECRET17").listed_as(&["redacted_thinking", "encrypted_reasoning"]),
            ],
        ),
        after(
            "thinking with a signature",
            &block("{\"type\":\"thinking\",\"thinking\":\"THINK17\",\"signature\":\"SIGN17\"}"),
            vec![
                thinking("THINK17"),
                field(&["signature"], "SIGN17")
                    .listed_as(&["thinking", "signatures"])
                    .machine(),
            ],
        ),
        after(
            "block that is no JSON",
            &block("{\"type\":\"odd17\",BROKEN17"),
            vec![text("block", "BROKEN17")],
        ),
        after(
            "text outside of the JSON of a block",
            &(block("{\"type\":\"odd17\"}") + "OUTSIDE17\n"),
            vec![
                text("block", "odd17"),
                text("block", "OUTSIDE17").listed_as(&["text"]),
            ],
        ),
        after(
            "whole message as JSON",
            &cell(
                "5",
                "[block] json=\"message\"",
                "```json\n\
            {\"v\":1,\"type\":\"user\",\"id\":\"u17\",\"content\":\"JSON17\",\"odd\":[1717]}\n```",
            ),
            vec![
                user("JSON17"),
                starts("JSON17"),
                spelling(&["session_id"]),
                field(&["id", "uuid"], "u17").machine(),
                field(&["odd"], "1717")
                    .listed_as(&["provider_details"])
                    .machine(),
            ],
        ),
    ]
}

fn other_others() -> Vec<Case> {
    vec![
        after(
            "picture",
            "# %% [^4]\n\n[^4]: [raw] mime_type=\"image/png\"\n\niVBORw0K\nGgo=\n",
            vec![picture("iVBORw0KGgo=")],
        ),
        after(
            "document",
            "# %% [^4]\n\n[^4]: [raw] mime_type=\"application/pdf\"\n\nJVBERi0x\n",
            vec![text("document", "JVBERi0x")],
        ),
        after(
            "raw text",
            "# %% [^4]\n\n[^4]: [raw]\n\nRAW17\n",
            vec![
                user("RAW17"),
                field(&["type"], "raw").listed_as(&["type_word"]).machine(),
            ],
        ),
        after(
            "bytes that are no base64",
            "# %% [^4]\n\n[^4]: [raw] mime_type=\"image/png\"\n\n?BAD17?\n",
            vec![
                picture("?BAD17?")
                    .or_in("user")
                    .or_in("block")
                    .listed_as(&["bad-base64", "block"]),
                spelling(&["block"]),
            ],
        ),
        after(
            "agent in a cell",
            "# %% model17[^a9]\n\n[^a9]: [agent] name=\"quick17\" temperature=0.17\n",
            vec![
                field(&["agent"], "quick17"),
                field(&["models", "agent"], "model17").listed_as(&["agent quick17"]),
                field(&["temperature"], "0.17").listed_as(&["agent quick17"]),
            ],
        ),
        after(
            "text in an agent",
            "# %% model17[^a9]\n\n[^a9]: [agent] name=\"quick17\"\n\nUNREAD17\n",
            vec![
                field(&["agent"], "quick17"),
                field(&["models", "agent"], "model17").listed_as(&["agent quick17"]),
                text("agent", "UNREAD17").listed_as(&["cell"]),
            ],
        ),
    ]
}

fn last_others() -> Vec<Case> {
    let cell = |id: &str, metadata: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: {metadata}\n\n{content}\n\n")
    };
    vec![
        after(
            "details",
            &cell(
                "details",
                "[details] history=none",
                "```json\n\
            {\"cell\":\"1\",\"fields\":{\"extra\":{\"request17\":\"req17\"}}}\n```",
            ),
            vec![
                field(&["request17"], "req17")
                    .listed_as(&["provider_details", "details"])
                    .machine(),
            ],
        ),
        after(
            "text outside of the details",
            &cell("details", "[details] history=none", "OUTSIDE17"),
            vec![text("details", "OUTSIDE17")],
        ),
        after(
            "output of the wrong kind",
            "# %%% [^4]\n\n[^4]: [markdown]\n\nWRONG17\n",
            vec![assistant("WRONG17")],
        ),
        after(
            "message of the wrong kind",
            "# %% [^4]\n\n[^4]: [summary]\n\nWRONG17\n",
            vec![
                user("WRONG17"),
                field(&["type"], "summary")
                    .listed_as(&["type_word"])
                    .listed_as(&["misplaced-type"]),
            ],
        ),
        after(
            "misspelled type",
            "# %% [^4]\n\n[^4]: [cdoe17]\n\nWRONG17\n",
            vec![
                user("WRONG17"),
                field(&["type"], "cdoe17").listed_as(&["type_word"]),
            ],
        ),
    ]
}
