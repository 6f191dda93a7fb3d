//! `show`, for people and for programs.

use crate::sandbox::Sandbox;

const FILE: &str = "# %% Greeting[^1]\n\n[^1]: [markdown]\n\nhello \u{1b}[31mred\n\n\
                    # %%% [^1]\n\n[^1]: [coder] history=sumary\n\nhi there\n";

#[test]
fn cells_are_listed_and_problems_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let run = sandbox.run(&["show", "a.msg.md"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stdout,
        "1      user             line 1     Greeting: hello <U+001B>[31mred\n\
         1      reply            line 7     hi there\n"
    );
    assert_eq!(
        run.stderr,
        "a.msg.md:7:1: error: the id 1 is used by an earlier cell [duplicate-id]\n  \
         hint: give this cell another id\n\
         a.msg.md:9:1: warning: unknown history value \"sumary\"; expected include, exclude or \
         summary [unknown-history]\n  hint: it is read as include\n"
    );
    assert_eq!(sandbox.read("a.msg.md"), FILE);
}

#[test]
fn json_gives_any_text_exactly() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let run = sandbox.run(&["show", "--json", "a.msg.md"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["cells"][0]["content"], "hello \u{1b}[31mred");
    assert_eq!(json["problems"][1]["code"], "unknown-history");
    assert_eq!(json["path"], "a.msg.md");
}
