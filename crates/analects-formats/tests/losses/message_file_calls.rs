//! Message files with a single feature: calls of tools and their results, code and its outputs.

use crate::marks::{
    Case, Mark, assistant, call, field, follows, picture, result, spelling, text, user,
};
use crate::message_file_cells::{TIME, after, case, duration, hidden, time};

pub fn cases() -> Vec<Case> {
    let mut cases = calls();
    cases.extend(results());
    cases.extend(codes());
    cases
}

/// A question, an answer with a call, and cells that follow it.
fn calling(name: &'static str, attributes: &str, cells: &str, mut marks: Vec<Mark>) -> Case {
    let source = format!(
        "# %%\n\nQUESTION17\n\n# %%% [^2]\n\nANSWER17\n\n\
         # %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"tool17\" {attributes}\n\n\
         <invoke name=\"tool17\">\n<parameter name=\"city\">Paris17</parameter>\n</invoke>\n\n{cells}"
    );
    marks.extend([
        user("QUESTION17"),
        assistant("ANSWER17"),
        call("tool17"),
        call("Paris17"),
        generated(),
    ]);
    case(name, &source, marks)
}

/// Ids of calls that were made up.
fn generated() -> Mark {
    spelling(&[
        "call_id",
        "tool_use_id",
        "link",
        "malformed_input",
        "is_error",
    ])
}

/// A result of that call.
fn outcome(name: &'static str, attributes: &str, content: &str, marks: Vec<Mark>) -> Case {
    let cell =
        format!("# %%% [^2.k3f9qx7a.1]\n\n[^2.k3f9qx7a.1]: [tool] {attributes}\n\n{content}\n");
    calling(name, "", &cell, marks)
}

/// A code cell and the outputs of its runs.
fn code(name: &'static str, attributes: &str, outputs: &str, mut marks: Vec<Mark>) -> Case {
    let cells = format!(
        "# %% [^3]\n\n[^3]: [code] {attributes}\n\nREASON17\n\n```python\nprint(17)\n```\n\n{outputs}"
    );
    marks.extend([user("REASON17"), user("print(17)"), is_code()]);
    if !outputs.is_empty() {
        // The number of the run, and the language again.
        marks.push(spelling(&["link", "type_word", "kind"]));
    }
    after(name, &cells, marks)
}

/// That a cell holds code.
fn is_code() -> Mark {
    field(&["source", "type"], "code").machine()
}

fn output(value: &str) -> Mark {
    text("attachment", value).listed_as(&["code_output", "output", "kind"])
}

fn calls() -> Vec<Case> {
    [first_calls(), more_calls(), further_calls()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_calls() -> Vec<Case> {
    let invoke =
        "<invoke name=\"tool17\">\n<parameter name=\"city\">Paris17</parameter>\n</invoke>";
    let changed = |name, content: &str, marks: Vec<Mark>| {
        let case = calling(name, "", "", vec![]);
        let source = String::from_utf8(case.source).unwrap();
        let mut all = vec![user("QUESTION17"), assistant("ANSWER17"), generated()];
        all.extend(marks);
        self::case(name, &source.replace(invoke, content), all)
    };
    vec![
        calling("call", "", "", vec![]),
        calling(
            "call_id",
            "call_id=\"toolu_17\"",
            "",
            vec![
                field(
                    &["call_id", "id", "tool_use_id", "tool_call_id"],
                    "toolu_17",
                )
                .listed_as(&["tool_use"])
                .machine(),
            ],
        ),
        calling(
            "timeout of a call",
            "timeout=17s",
            "",
            vec![field(&["timeout"], "17s")],
        ),
        calling(
            "unknown attribute of a call",
            "mood=\"BAR17\"",
            "",
            vec![field(&["mood"], "BAR17")],
        ),
        calling("hidden call", "history=none", "", vec![hidden()]),
        calling(
            "status of a call",
            "status=\"pending\"",
            "",
            vec![field(&["status"], "pending")],
        ),
        calling(
            "call as summary",
            "history=summary summary=\"SHORT17\"",
            "",
            vec![
                field(&["history"], "summary"),
                field(&["summary"], "SHORT17").listed_as(&["history"]),
            ],
        ),
        changed(
            "arguments as JSON",
            "<invoke name=\"tool17\">\n<parameter name=\"days\" type=\"json\">[3.170]</parameter>\n</invoke>",
            vec![call("tool17"), call("days"), call("3.17")],
        ),
    ]
}

fn more_calls() -> Vec<Case> {
    let invoke =
        "<invoke name=\"tool17\">\n<parameter name=\"city\">Paris17</parameter>\n</invoke>";
    let changed = |name, content: &str, marks: Vec<Mark>| {
        let case = calling(name, "", "", vec![]);
        let source = String::from_utf8(case.source).unwrap();
        let mut all = vec![user("QUESTION17"), assistant("ANSWER17"), generated()];
        all.extend(marks);
        self::case(name, &source.replace(invoke, content), all)
    };
    vec![
        changed(
            "arguments as text",
            "<invoke name=\"tool17\">\n<arguments type=\"text\">no json 17</arguments>\n</invoke>",
            vec![call("tool17"), call("no json 17")],
        ),
        changed(
            "entities in arguments",
            "<invoke name=\"tool17\">\n<parameter name=\"city\">a &lt;b17&gt; &amp;c</parameter>\n</invoke>",
            vec![call("tool17"), call("a <b17> &c")],
        ),
        changed(
            "comment in a call",
            "<invoke name=\"tool17\">\n<!-- COMMENT17 -->\n<parameter name=\"city\">Paris17</parameter>\n</invoke>",
            vec![
                call("tool17"),
                call("Paris17"),
                text("comment", "COMMENT17"),
            ],
        ),
        changed(
            "call that is no XML",
            "<invoke name=\"tool17\"> broken17",
            vec![call("tool17"), call("broken17")],
        ),
        calling(
            "title of a call",
            "title=\"TITLE17\"",
            "",
            vec![field(&["title"], "TITLE17")],
        ),
        case(
            "call without a reply",
            &format!(
                "# %%\n\nQUESTION17\n\n# %%% [^7]\n\n[^7]: [tool] name=\"tool17\"\n\n{invoke}\n"
            ),
            vec![
                user("QUESTION17"),
                call("tool17"),
                call("Paris17"),
                generated(),
            ],
        ),
    ]
}

fn further_calls() -> Vec<Case> {
    let invoke =
        "<invoke name=\"tool17\">\n<parameter name=\"city\">Paris17</parameter>\n</invoke>";
    vec![case(
        "other name of a call",
        &format!("# %%\n\nQUESTION17\n\n# %%% [^7]\n\n[^7]: [tool] name=\"other17\"\n\n{invoke}\n"),
        vec![
            user("QUESTION17"),
            call("tool17"),
            call("Paris17"),
            field(&["name"], "other17"),
            generated(),
        ],
    )]
}

fn results() -> Vec<Case> {
    [first_results(), more_results(), further_results()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_results() -> Vec<Case> {
    let failed = |value| {
        field(&["status", "is_error"], value)
            .or("true")
            .or("(error)")
            .listed_as(&["tool_result"])
    };
    let succeeded = || {
        field(&["status", "is_error"], "success")
            .or("false")
            .listed_as(&["tool_result"])
            .machine()
    };
    vec![
        outcome("result", "", "RESULT17", vec![result("RESULT17")]),
        outcome(
            "success",
            "status=\"success\"",
            "RESULT17",
            vec![result("RESULT17"), succeeded()],
        ),
        outcome(
            "failed result",
            "status=\"failed\"",
            "RESULT17",
            vec![result("RESULT17"), failed("failed")],
        ),
        outcome(
            "interrupted result",
            "status=\"interrupted\"",
            "RESULT17",
            vec![
                result("RESULT17"),
                field(&["status", "is_error"], "interrupted")
                    .or("true")
                    .or("(error)"),
                spelling(&["status"]),
            ],
        ),
        outcome(
            "pending result",
            "status=\"pending\" output_file=\"later17.txt\"",
            "",
            vec![
                field(&["status"], "pending").listed_as(&["pending-output", "cell"]),
                field(&["output_file"], "later17.txt").listed_as(&["pending-output", "cell"]),
            ],
        ),
        outcome(
            "reason of a result",
            "status=\"failed\" reason=\"denied17\"",
            "RESULT17",
            vec![
                result("RESULT17"),
                failed("failed"),
                field(&["reason"], "denied17"),
            ],
        ),
    ]
}

fn more_results() -> Vec<Case> {
    let succeeded = || {
        field(&["status", "is_error"], "success")
            .or("false")
            .listed_as(&["tool_result"])
            .machine()
    };
    vec![
        outcome(
            "duration of a result",
            "duration=0.817s",
            "RESULT17",
            vec![result("RESULT17"), duration()],
        ),
        outcome(
            "time of a result",
            TIME,
            "RESULT17",
            vec![result("RESULT17"), time()],
        ),
        outcome(
            "unknown attribute of a result",
            "mood=\"BAR17\"",
            "RESULT17",
            vec![result("RESULT17"), field(&["mood"], "BAR17")],
        ),
        outcome(
            "hidden result",
            "history=none",
            "RESULT17",
            vec![result("RESULT17"), hidden()],
        ),
        outcome("empty result", "result=\"empty\"", "", vec![]),
        outcome(
            "result of blocks",
            "result=\"blocks\"",
            "RESULT17",
            vec![result("RESULT17")],
        ),
        outcome(
            "result in a file",
            "status=\"success\" output_file=\"large17.txt\"",
            "",
            vec![field(&["output_file"], "large17.txt"), succeeded()],
        ),
        outcome(
            "result of bytes",
            "mime_type=\"image/png\" encoding=\"base64\"",
            "iVBORw0KGgo=",
            vec![picture("iVBORw0KGgo=")],
        ),
    ]
}

fn further_results() -> Vec<Case> {
    let succeeded = || {
        field(&["status", "is_error"], "success")
            .or("false")
            .listed_as(&["tool_result"])
            .machine()
    };
    let cell = |id: &str, attributes: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: [tool] {attributes}\n\n{content}\n\n")
    };
    let two = cell("2.k3f9qx7a.1", "status=\"success\"", "RESULT17")
        + &cell("2.k3f9qx7a.2", "status=\"success\"", "AGAIN17");
    let mixed = cell("2.k3f9qx7a.1", "status=\"success\"", "RESULT17")
        + &cell(
            "2.k3f9qx7a.2",
            "status=\"success\" mime_type=\"image/png\" encoding=\"base64\"",
            "iVBORw0KGgo=",
        );
    vec![
        calling(
            "two results",
            "",
            &two,
            vec![result("RESULT17"), result("AGAIN17"), succeeded()],
        ),
        calling(
            "text and picture as results",
            "",
            &mixed,
            vec![result("RESULT17"), picture("iVBORw0KGgo="), succeeded()],
        ),
        after(
            "result without a call",
            &cell("9.zzzzzzzz.1", "status=\"success\"", "ORPHAN17"),
            vec![
                generated(),
                generated(),
                result("ORPHAN17").listed_as(&["orphan-result"]),
                succeeded(),
            ],
        ),
    ]
}

fn codes() -> Vec<Case> {
    [first_codes(), more_codes(), further_codes()]
        .into_iter()
        .flatten()
        .collect()
}

fn first_codes() -> Vec<Case> {
    let run = |id: &str, kind: &str, attributes: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: [{kind}] {attributes}\n\n{content}\n\n")
    };
    let plain = |attributes: &str| run("3.1", "python", attributes, "stdout> OUT17");
    vec![
        code("code", "", "", vec![]),
        code(
            "tool of code",
            "tool=\"double17\" history=\"exclude\"",
            "",
            vec![field(&["tool"], "double17"), hidden()],
        ),
        code(
            "timeout of code",
            "timeout=17s",
            "",
            vec![field(&["timeout"], "17s")],
        ),
        code(
            "output",
            "",
            &run(
                "3.1",
                "python",
                "",
                "stdout> OUT17\nstderr> ERR17\nstdout>\\ OPEN17",
            ),
            vec![
                output("OUT17"),
                output("ERR17"),
                output("OPEN17"),
                follows("OUT17", "REASON17").listed_as(&["attachment"]),
            ],
        ),
        code(
            "status of an output",
            "",
            &plain("status=\"failed\""),
            vec![
                output("OUT17"),
                field(&["status"], "failed").part_of("attachment"),
            ],
        ),
        code(
            "time of an output",
            "",
            &plain(TIME),
            vec![output("OUT17"), time()],
        ),
        code(
            "duration of an output",
            "",
            &plain("duration=0.817s"),
            vec![output("OUT17"), duration()],
        ),
        code(
            "other language of an output",
            "",
            &run("3.1", "ruby17", "", "stdout> OUT17"),
            vec![output("OUT17"), language("ruby17")],
        ),
    ]
}

fn more_codes() -> Vec<Case> {
    let run = |id: &str, kind: &str, attributes: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: [{kind}] {attributes}\n\n{content}\n\n")
    };
    let plain = |attributes: &str| run("3.1", "python", attributes, "stdout> OUT17");
    let several = plain("") + &run("3.1-2", "python", "", "stdout> MORE17");
    vec![
        code(
            "unknown attribute of an output",
            "",
            &plain("mood=\"BAR17\""),
            vec![
                output("OUT17"),
                field(&["mood"], "BAR17").part_of("attachment"),
            ],
        ),
        code(
            "hidden output",
            "",
            &plain("history=none"),
            vec![output("OUT17"), hidden().part_of("attachment")],
        ),
        code(
            "picture of code",
            "",
            &run(
                "3.1",
                "python",
                "mime_type=\"image/png\" encoding=\"base64\"",
                "iVBORw0KGgo=",
            ),
            vec![picture("iVBORw0KGgo=").listed_as(&["code_output", "attachment"])],
        ),
        code(
            "output that is not UTF-8",
            "",
            &run("3.1", "python", "encoding=\"base64\"", "stdout> gP8="),
            vec![
                output("gP8="),
                language("python"),
                field(&["encoding"], "base64")
                    .listed_as(&["output"])
                    .part_of("attachment"),
            ],
        ),
        code(
            "output in a file",
            "",
            &run("3.1", "python", "output_file=\"out17.txt\"", ""),
            vec![field(&["output_file"], "out17.txt").part_of("attachment")],
        ),
        code(
            "several outputs of a run",
            "",
            &several,
            vec![output("OUT17"), output("MORE17")],
        ),
    ]
}

fn further_codes() -> Vec<Case> {
    let run = |id: &str, kind: &str, attributes: &str, content: &str| {
        format!("# %%% [^{id}]\n\n[^{id}]: [{kind}] {attributes}\n\n{content}\n\n")
    };
    let plain = |attributes: &str| run("3.1", "python", attributes, "stdout> OUT17");
    let again = plain("") + &run("3.2", "python", "", "stdout> MORE17");
    vec![code(
        "several runs",
        "",
        &again,
        vec![output("OUT17"), output("MORE17")],
    )]
}

/// The language of an output.
fn language(value: &str) -> Mark {
    field(&["language", "type"], value).listed_as(&["type_word", "code_output", "attachment"])
}
