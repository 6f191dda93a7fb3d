//! `show`, for people and for programs.

use crate::sandbox::Sandbox;
use crate::snapshots::{TALK, assert_snapshot};

const FILE: &str = "# %% Greeting[^1]\n\n[^1]: [markdown]\n\nhello \u{1b}[31mred\n\n\
                    # %%% [^1]\n\n[^1]: [coder] history=sumary\n\nhi there\n";

#[test]
fn show_lists_cells_and_reports_problems() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let run = sandbox.run(&["show", "a.msg.md"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stdout,
        "1  user         line 1  Greeting: hello <U+001B>[31mred\n\
         1  reply coder  line 7  hi there\n"
    );
    assert_eq!(
        run.stderr,
        "a.msg.md:7:1: error: the id 1 is used by an earlier cell [duplicate-id]\n  \
         7 | # %%% [^1]\n    | ^^^^^^^^^^\n  hint: give this cell another id\n\
         a.msg.md:9:1: warning: unknown history value \"sumary\"; expected include, none or \
         summary [unknown-history]\n  9 | [^1]: [coder] history=sumary\n    | \
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  hint: it is read as include\n"
    );
    assert_eq!(sandbox.read("a.msg.md"), FILE);
}

#[test]
fn show_json_gives_text_exactly() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let run = sandbox.run(&["show", "--json", "a.msg.md"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["cells"][0]["content"], "hello \u{1b}[31mred");
    assert_eq!(json["problems"][1]["code"], "unknown-history");
    assert_eq!(json["path"], "a.msg.md");
}

#[test]
fn show_json_is_safe_on_a_terminal() {
    let sandbox = Sandbox::new();
    let text =
        "a\u{9b}31m \u{7f} \u{202e}b\u{200b}\u{feff} \u{e0041} 你好 \u{1f469}\u{200d}\u{1f4bb}";
    sandbox.write("a.msg.md", format!("# %%\n\n{text}\n"));
    let run = sandbox.run(&["show", "--json", "a.msg.md"]);
    for harmful in [
        '\u{9b}',
        '\u{7f}',
        '\u{202e}',
        '\u{200b}',
        '\u{feff}',
        '\u{e0041}',
    ] {
        assert!(!run.stdout.contains(harmful), "{harmful:?}");
    }
    assert!(
        run.stdout.contains("\\u009b") && run.stdout.contains("\\udb40\\udc41"),
        "{}",
        run.stdout
    );
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["cells"][0]["content"], text);

    let run = sandbox.run(&["show", "--json", "\u{9b}x.msg.md"]);
    assert!(
        run.stderr.contains("\\u009bx.msg.md: not found"),
        "{}",
        run.stderr
    );
    let json: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(json["error"]["message"], "\u{9b}x.msg.md: not found");
}

#[test]
fn show_says_when_there_are_no_cells() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", "Is this a question?\n");
    sandbox.write("empty.msg.md", "");
    sandbox.write("notes.md", "mine\n");
    for (name, why) in [
        (
            "a.msg.md",
            "no cells; a line # %% starts one, and text before it is not sent",
        ),
        ("empty.msg.md", "no cells"),
        ("notes.md", "no cells, because this is not a message file"),
    ] {
        let run = sandbox.run(&["show", name]);
        let expected = format!("{name}: {why}\n");
        assert_eq!(
            (run.code, &*run.stdout, run.stderr),
            (Some(0), "", expected)
        );
    }
}

#[test]
fn show_reports_problems_of_messages() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        "# %% [^1]\n\n[^1]: [markdown] history=sumary\n\nhi\n\n\
         # %%% [^2]\n\n[^2]: [block] json=\"message\"\n\nno json\n",
    );
    let run = sandbox.run(&["show", "a.msg.md"]);
    let places: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("a.msg.md:"))
        .collect();
    assert_eq!(places.len(), 2, "{}", run.stderr);
    assert!(places[1].starts_with("a.msg.md:7:1: error: the JSON of this cell is no message"));
    let run = sandbox.run(&["show", "--json", "a.msg.md"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["problems"][0]["code"], "unknown-history");
    assert_eq!(
        (&json["problems"][1]["code"], &json["problems"][1]["line"]),
        (&"bad-json".into(), &7.into())
    );
}

#[test]
fn show_prints_the_expected_text() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    let run = sandbox.run(&["show", "talk.msg.md", "--json"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_snapshot("show.json", &run.stdout);
    assert_snapshot("show.txt", &sandbox.run(&["show", "talk.msg.md"]).stdout);
}

#[test]
fn show_and_list_name_agents_and_mark_partial_answers() {
    let sandbox = Sandbox::new();
    let file = "# %% [^1]\n\n[^1]: [markdown]\n\nHow?\n\n# %%% [^2]\n\n[^2]: [coder] stop_reason=\"interrupted\"\n\n\
        First you\n\n# %%% [^3]\n\n[^3]: [critic] history=none stop_reason=\"interrupted\"\n\nNo\n\n\
        # %%% [^4]\n\n[^4]: [assistant]\n\nWell.\n";
    sandbox.write("a.msg.md", file);
    let shown = "1  user          line 1                    How?\n\
                 2  reply coder   line 7   partial          First you\n\
                 3  reply critic  line 13  hidden, partial  No\n\
                 4  reply         line 19                   Well.\n";
    assert_eq!(sandbox.run(&["show", "a.msg.md"]).stdout, shown);
    let listed = "2  reply coder   line 7   of 1  partial          First you\n\
                  3  reply critic  line 13  of 1  hidden, partial  No\n\
                  4  reply         line 19  of 1                   Well.\n";
    assert_eq!(sandbox.run(&["list", "a.msg.md/output"]).stdout, listed);
}
