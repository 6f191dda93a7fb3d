//! Pages as people see them.

use crate::openai::tests::{read, write};

#[test]
fn who_said_called_and_returned_what() {
    let request = r#"{"messages":[{"role":"system","content":"Be brief."},
        {"role":"assistant","content":"```\nopen","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"```\nRain"}]}"#;
    let (page, lost) = write("markdown", "x.md", &read("openai", request));
    let unshown = |what: &str| format!("{what}: it does not show on a page");
    assert_eq!(lost, [unshown("call_id"), unshown("tool_use_id")]);
    let expected = "## System\n\nBe brief.\n\n## Assistant\n\n```\nopen\n```\n\nCalls **f**:\n\n```json\n{\"a\":1}\n```\n\n\
        ## Tool result\n\nResult:\n\n````\n```\nRain\n````\n";
    assert_eq!(page, expected);
}

#[test]
fn titles_and_thoughts() {
    let chat =
        "---\nchat: x\ntitle: \"Tea \\u001b[31m time\"\n---\n\nNotes.\n\n> ---\n> <USER />\n\nHi\n";
    let (page, lost) = write("markdown", "x.md", &read("chatmd", chat));
    assert_eq!(lost, Vec::<String>::new());
    assert_eq!(page, "# Tea  [31m time\n\nNotes.\n\n## User\n\nHi\n");
    let request = r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"One\n\ntwo"},
        {"type":"redacted_thinking","data":"x"},{"type":"text","text":"Hi"}]}]}"#;
    let (page, lost) = write("markdown", "x.md", &read("anthropic", request));
    assert_eq!(lost[0], "redacted_thinking: it does not show on a page");
    assert_eq!(
        page,
        "## Assistant\n\n> *Thinking:* One\n>\n> two\n\n*(redacted_thinking)*\n\nHi\n"
    );
}
