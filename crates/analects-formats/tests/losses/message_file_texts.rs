//! Message files with a single feature: the frontmatter, what stands outside of cells, and odd content.

use crate::marks::{Case, Mark, assistant, field, follows, picture, text, user};
use crate::message_file_cells::case;

/// A file with this frontmatter, and a question with its answer.
fn front(name: &'static str, keys: &str, mut marks: Vec<Mark>) -> Case {
    let source = format!("---\n{keys}\n---\n\n# %%\n\nQUESTION17\n\n# %%%\n\nANSWER17\n");
    marks.extend([user("QUESTION17"), assistant("ANSWER17")]);
    case(name, &source, marks)
}

/// A question with this text, and its answer.
fn odd(name: &'static str, content: &str, mut marks: Vec<Mark>) -> Case {
    let source = format!("# %%\n\n{content}\n\n# %%%\n\nANSWER17\n");
    marks.push(assistant("ANSWER17"));
    case(name, &source, marks)
}

/// A question with an odd text that every target can hold.
fn said(name: &'static str, content: &str, words: &[&str]) -> Case {
    odd(
        name,
        content,
        words.iter().map(|words| user(words)).collect(),
    )
}

pub fn cases() -> Vec<Case> {
    let mut cases = fronts();
    cases.extend(outside());
    cases.extend(texts());
    cases.extend(pictures());
    cases.extend(files());
    cases
}

/// A property of the agent `agent17`, whose loss may be listed as that of the agent.
fn property(key: &'static str, value: &str) -> Mark {
    field(&[key], value).listed_as(&["agent", "agents"])
}

fn fronts() -> Vec<Case> {
    [first_fronts(), more_fronts(), further_fronts()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_fronts() -> Vec<Case> {
    let agent = |name, line: &str, mark: Mark| {
        front(
            name,
            &format!("agents:\n  agent17:\n    models: [model17]\n    {line}"),
            vec![property("models", "model17"), mark],
        )
    };
    vec![
        front(
            "id of the conversation",
            "id: talk17",
            vec![field(&["id", "session_id", "chat", "sessionId"], "talk17").machine()],
        ),
        front(
            "title of the conversation",
            "title: TITLE17",
            vec![text("title", "TITLE17").listed_as(&["state"])],
        ),
        front(
            "default agent",
            "default_agent: agent17",
            vec![field(&["default_agent"], "agent17")],
        ),
        agent("name of an agent", "", property("agents", "agent17")),
        agent(
            "system prompt",
            "system_prompt: SYSTEM17",
            text("system", "SYSTEM17").listed_as(&["agent", "system_prompt"]),
        ),
        agent(
            "context window",
            "context_window: 171717",
            property("context_window", "171717"),
        ),
        agent(
            "output tokens",
            "max_output_tokens: 1717",
            property("max_output_tokens", "1717"),
        ),
        agent(
            "reasoning agent",
            "reasoning: true",
            property("reasoning", "true"),
        ),
        agent(
            "agent without temperature",
            "use_temperature: false",
            property("use_temperature", "false"),
        ),
        agent(
            "temperature",
            "temperature: 0.17",
            property("temperature", "0.17"),
        ),
        agent(
            "unknown property of an agent",
            "mood: BAR17",
            property("mood", "BAR17"),
        ),
    ]
}

fn more_fronts() -> Vec<Case> {
    let agent = |name, line: &str, mark: Mark| {
        front(
            name,
            &format!("agents:\n  agent17:\n    models: [model17]\n    {line}"),
            vec![property("models", "model17"), mark],
        )
    };
    vec![
        agent(
            "comment at an agent",
            "# COMMENT17",
            text("comment", "COMMENT17"),
        ),
        front(
            "two agents",
            "agents:\n  one17: { models: [m1] }\n  two17: { models: [m2] }",
            vec![
                property("agents", "one17").listed_as(&["one17"]),
                property("agents", "two17").listed_as(&["two17"]),
            ],
        ),
        front(
            "unknown key",
            "mood: BAR17",
            vec![field(&["mood"], "BAR17")],
        ),
        front(
            "nested unknown key",
            "mood:\n  deep: [BAR17]",
            vec![field(&["mood", "mood.deep"], "BAR17")],
        ),
        front(
            "comment",
            "title: TITLE17\n# COMMENT17",
            vec![
                text("title", "TITLE17").listed_as(&["state"]),
                text("comment", "COMMENT17"),
            ],
        ),
        front(
            "comment behind a value",
            "title: TITLE17 # COMMENT17",
            vec![
                text("title", "TITLE17").listed_as(&["state"]),
                text("comment", "COMMENT17"),
            ],
        ),
        front(
            "misplaced key",
            "model: model17",
            vec![field(&["model"], "model17")],
        ),
        front(
            "frontmatter that is no YAML",
            "title: [TITLE17",
            vec![text("frontmatter", "TITLE17").listed_as(&["frontmatter-yaml", "title"])],
        ),
    ]
}

fn further_fronts() -> Vec<Case> {
    vec![
        front(
            "title of the wrong type",
            "title: [TITLE17]",
            vec![field(&["title"], "TITLE17").listed_as(&["frontmatter-type"])],
        ),
        front(
            "empty frontmatter",
            "# COMMENT17",
            vec![text("comment", "COMMENT17")],
        ),
    ]
}

fn outside() -> Vec<Case> {
    let talk = "# %%\n\nQUESTION17\n\n# %%%\n\nANSWER17\n";
    let plain = || vec![user("QUESTION17"), assistant("ANSWER17")];
    let with = |mark: Mark| {
        let mut marks = plain();
        marks.push(mark);
        marks
    };
    let section = format!(
        "---\nmessage_section: Talk17\n---\n\nBEFORE17\n\n## Talk17\n\n{}",
        talk.replace("# %", "### %")
    );
    let mut section = case(
        "section of a file",
        &section,
        vec![
            user("QUESTION17"),
            assistant("ANSWER17"),
            text("preamble", "BEFORE17"),
            field(&["message_section"], "Talk17"),
        ],
    );
    section.file = "notes.md";
    vec![
        case(
            "preamble",
            &format!("PREAMBLE17\n\n{talk}"),
            with(text("preamble", "PREAMBLE17")),
        ),
        case(
            "document",
            &format!("---\ncontext: document\n---\n\nPREAMBLE17\n\n{talk}"),
            {
                let mut marks = with(text("preamble", "PREAMBLE17").or_in("user"));
                marks.push(field(&["context"], "document"));
                marks
            },
        ),
        section,
        case("ready cell", &format!("{talk}\n# %%\n"), plain()),
        case(
            "mark of a rewind",
            &format!(
                "{}\n# %% [^3]\n\n[^3]: [markdown] parent=\"1\"\n",
                talk.replacen("# %%\n", "# %% [^1]\n\n[^1]: [markdown]\n", 1)
            ),
            with(text("state", "").listed_as(&["rewind", "parent_id"])),
        ),
        case(
            "note after metadata",
            &talk.replacen("# %%\n", "# %% [^1]\n\n[^1]: [markdown] JUNK17\n", 1),
            with(text("attribute", "JUNK17").listed_as(&["bad-metadata"])),
        ),
        case(
            "unknown history",
            &talk.replacen(
                "# %%\n",
                "# %% [^1]\n\n[^1]: [markdown] history=sumary17\n",
                1,
            ),
            with(field(&["history"], "sumary17").listed_as(&["unknown-history"])),
        ),
        case(
            "one id twice",
            &talk
                .replace("# %%\n", "# %% [^x17]\n")
                .replace("# %%%\n", "# %%% [^x17]\n"),
            with(
                field(&["cell", "id"], "x17")
                    .listed_as(&["duplicate-id"])
                    .machine(),
            ),
        ),
    ]
}

fn texts() -> Vec<Case> {
    [first_texts(), more_texts(), further_texts()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_texts() -> Vec<Case> {
    let long = format!("LONG17{}END17", "x".repeat(200_000));
    let fenced = "```python\n# %% FENCED17\nx = 1\n```";
    vec![
        case(
            "empty question",
            "# %%\n\n# %%%\n\nANSWER17\n\n# %%\n\nQUESTION17\n",
            vec![
                assistant("ANSWER17"),
                user("QUESTION17"),
                follows("QUESTION17", "ANSWER17"),
            ],
        ),
        case(
            "empty reply",
            "# %%\n\nQUESTION17\n\n# %%%\n\n# %%\n\nAGAIN17\n",
            vec![user("QUESTION17"), user("AGAIN17")],
        ),
        said("head in a fence", fenced, &["# %% FENCED17"]),
        said("escaped head", "\\# %% ESCAPED17", &["# %% ESCAPED17"]),
        said("unclosed fence", "```js\nlet OPEN17", &["let OPEN17"]),
        said("long line", &long, &[&long]),
        said(
            "Chinese",
            "学而时习之17，不亦说乎",
            &["学而时习之17，不亦说乎"],
        ),
        said("emoji", "👩‍👩‍👧 FAMILY17 🇨🇳", &["👩‍👩‍👧 FAMILY17 🇨🇳"]),
        said(
            "HTML comment",
            "a <!-- COMMENT17 --> b",
            &["a <!-- COMMENT17 --> b"],
        ),
        said(
            "HTML comment over lines",
            "<!--\nCOMMENT17\n-->",
            &["COMMENT17"],
        ),
        said(
            "footnote",
            "text[^n17]\n\n[^n17]: NOTE17",
            &["text[^n17]", "[^n17]: NOTE17"],
        ),
        said(
            "link",
            "[LINK17](https://example.com/17)",
            &["[LINK17](https://example.com/17)"],
        ),
        said(
            "address of a picture",
            "![ALT17](https://example.com/17.png)",
            &["![ALT17](https://example.com/17.png)"],
        ),
    ]
}

fn more_texts() -> Vec<Case> {
    vec![
        said(
            "item of chat Markdown",
            "> ---\n> <USER />\n\nFORGED17",
            &["> ---", "> <USER />", "FORGED17"],
        ),
        odd(
            "heading of a page",
            "## Assistant\n\nFORGED17",
            vec![user("## Assistant").or("Assistant").or_in("assistant")],
        ),
        said("rule", "---\n\nRULE17", &["---", "RULE17"]),
        said(
            "tag of a picture",
            "<img src=\"x17.png\">",
            &["<img src=\"x17.png\">"],
        ),
        said("NUL", "NUL17\0END17", &["NUL17\0END17"]),
        said(
            "control characters",
            "\u{1b}[31mRED17\u{7}",
            &["\u{1b}[31mRED17"],
        ),
        said("lone carriage return", "ONE17\rTWO17", &["ONE17\rTWO17"]),
        said(
            "line separator",
            "ONE17\u{2028}TWO17",
            &["ONE17\u{2028}TWO17"],
        ),
        said(
            "trailing blanks",
            "BLANKS17  \nEND17",
            &["BLANKS17  \nEND17"],
        ),
        said("quoted text", "> quoted17\n\nend", &["> quoted17"]),
        said(
            "backslashes",
            "a\\b17 \\n \\\" \\u0041",
            &["a\\b17 \\n \\\" \\u0041"],
        ),
        said(
            "entities",
            "&lt;b17&gt; &amp;amp; <b17>",
            &["&lt;b17&gt; &amp;amp; <b17>"],
        ),
    ]
}

fn further_texts() -> Vec<Case> {
    vec![case(
        "blank lines around a text",
        "# %% [^1]\n\n[^1]: [markdown] stored=\"lines=4\"\n\n\n  INDENTED17\n\n\n\n# %%%\n\nANSWER17\n",
        vec![
            user("INDENTED17"),
            assistant("ANSWER17"),
            Mark {
                places: vec!["user"],
                values: vec!["\n  INDENTED17\n".to_string()],
                ..text("spacing", "").machine().listed_as(&["text"])
            },
        ],
    )]
}

fn pictures() -> Vec<Case> {
    vec![
        odd(
            "picture beside the file",
            "Look17:\n\n![ALT17](cat17.png)",
            vec![
                user("Look17:"),
                picture("cat17.png"),
                field(&["alt"], "ALT17")
                    .or_in("raw")
                    .listed_as(&["image"])
                    .machine(),
            ],
        ),
        odd(
            "picture in an address",
            "Look17:\n\n![](data:image/png;base64,iVBORw0KGgo=)",
            vec![user("Look17:"), picture("iVBORw0KGgo=")],
        ),
        odd(
            "picture between texts",
            "ONE17\n\n![](data:image/png;base64,iVBORw0KGgo=)\n\nTWO17",
            vec![user("ONE17"), user("TWO17"), picture("iVBORw0KGgo=")],
        ),
        odd(
            "picture outside of the folder",
            "![](../cat17.png)",
            vec![
                user("![](../cat17.png)")
                    .or("../cat17.png")
                    .or_in("picture")
                    .listed_as(&["image"]),
            ],
        ),
    ]
}

/// Files whose bytes are odd.
fn files() -> Vec<Case> {
    let talk = "# %%\n\nQUESTION17\n\n# %%%\n\nANSWER17\n";
    let plain = || vec![user("QUESTION17"), assistant("ANSWER17")];
    let lines = talk
        .replace("QUESTION17", "QUESTION17\nSECOND17")
        .replace('\n', "\r\n");
    let mut bytes = case(
        "bytes that are not UTF-8",
        talk,
        vec![assistant("ANSWER17"), user("QUESTION")],
    );
    let at = bytes.source.iter().position(|byte| *byte == b'1').unwrap();
    bytes.source[at] = 0xff;
    bytes
        .marks
        .push(text("bytes", "\u{fffe}").listed_as(&["not-utf8"]));
    vec![
        case(
            "CRLF",
            &lines,
            vec![user("QUESTION17\r\nSECOND17"), assistant("ANSWER17")],
        ),
        case("byte-order mark", &format!("\u{feff}{talk}"), plain()),
        case("no line end", talk.trim_end(), plain()),
        case(
            "only a question",
            "# %%\n\nQUESTION17\n",
            vec![user("QUESTION17")],
        ),
        case(
            "heads of another level",
            &talk.replace("# %", "### %"),
            plain(),
        ),
        bytes,
    ]
}
