//! The detection of formats: first by content, then by name.

use super::*;

fn check(head: &str, name: &str, expected: &str) {
    let found = detect(head.as_bytes(), name).map_or("none", |format| format.id());
    assert_eq!(found, expected, "{name}: {head}");
}

#[test]
fn content_decides_before_the_name() {
    for name in [
        "-",
        "x",
        "x.txt",
        "x.md",
        "x.json",
        "x.jsonl",
        "x.msg.md",
        "x.chat.md",
    ] {
        check("> ---\n> <USER />\n\nHi\n", name, "chatmd");
        check("---\nchat: x\n---\n", name, "chatmd");
        check(
            "# %% Hi[^1]\n\n[^1]: [markdown]\n\nHello\n",
            name,
            "msgfile",
        );
        check(
            "{\"v\":1,\"type\":\"user\",\"id\":\"m\",\"content\":\"Hi\"}\n",
            name,
            "transcript",
        );
        check(
            "{\"type\":\"user\",\"id\":\"m\",\"content\":\"Hi\"}\n",
            name,
            "transcript",
        );
        check(
            "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{\"role\":\
             \"user\",\"content\":\"Hi\"}}\n",
            name,
            "claude-code",
        );
        check("{\"items\": [{\"type\": \"message\",", name, "chat-session");
        check(
            "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}",
            name,
            "openai",
        );
        check("[{\"role\":\"user\",\"content\":\"Hi\"}]", name, "openai");
        check(
            "{\"role\":\"user\",\"content\":\"Hi\"}\n{\"role\"",
            name,
            "openai",
        );
        check(
            "{\"system\":\"Be brief.\",\"messages\":[{\"role\":\"user\",",
            name,
            "anthropic",
        );
        check(
            "{\"model\":\"claude-opus-4\",\"messages\":[{\"role\":\"user\",",
            name,
            "anthropic",
        );
        check(
            "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",",
            name,
            "anthropic",
        );
    }
}

#[test]
fn the_name_decides_if_the_content_does_not() {
    check("", "x.msg.md", "msgfile");
    check("", "x.chat.md", "chatmd");
    check("", "x.jsonl", "transcript");
    check("{", "x.chat.json", "chat-session");
    check("garbage\n", "x.jsonl", "transcript");
}

#[test]
fn unknown_files_have_no_format() {
    for (head, name) in [
        ("", "x"),
        ("", "x.md"),
        ("# A heading\n\nText.\n", "notes.md"),
        ("x = 1\n\n# %%\nprint(x)\n", "script.py"),
        ("{\"name\":\"package\"}", "package.json"),
        (
            "{\"type\":\"session_meta\",\"payload\":{}}\n",
            "other.jsonl",
        ),
        ("{\"some\":\"record\"}\n", "other.jsonl"),
        ("\0\0\0\0", "x.bin"),
        ("{\"messages\":[]}", "x.json"),
        (
            "{\"messages\":[{\"type\":\"user\",\"content\":\"Hi\"}]}",
            "gemini.json",
        ),
        (
            "{\"messages\":[{\"role\":\"robot\",\"content\":\"Hi\"}]}",
            "x.json",
        ),
        (
            "[{\"message\":{\"author\":{\"role\":\"user\"},\"content\":{}}}]",
            "export.json",
        ),
        (
            "{\"system\":\"x\",\"messages\":[{\"type\":\"tool_use\",\"role\":1}]}",
            "x.json",
        ),
        (
            "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"Hi\"}]}]}",
            "request.json",
        ),
    ] {
        check(head, name, "none");
    }
}

#[test]
fn json_over_several_lines_is_no_transcript() {
    let record = "{\n  \"v\": 1,\n  \"type\": \"user\",\n  \"content\": \"Hi\"\n}\n";
    let session = "{\n  \"parentUuid\": null,\n  \"type\": \"user\",\n  \"uuid\": \"u\",\n  \"message\": {}\n}\n";
    let package = "{\n  \"name\": \"package\"\n}\n";
    let like = |head: &str| {
        let json = JsonOverLines::find(head.as_bytes())?;
        Some((json.records_of.map_or("none", Format::id), json.is_list))
    };
    for (head, expected) in [
        (record.to_string(), ("transcript", false)),
        (format!("{record}{record}"), ("transcript", false)),
        (format!("[{record}, {record}]"), ("transcript", true)),
        (session.to_string(), ("claude-code", false)),
        (format!("[{session}]"), ("claude-code", true)),
        (package.to_string(), ("none", false)),
        ("[\n 1,\n 2\n]\n".to_string(), ("none", true)),
        (record[..record.len() - 3].to_string(), ("none", false)),
    ] {
        check(&head, "x.jsonl", "none");
        assert_eq!(like(&head), Some(expected), "{head}");
    }
    for head in [
        "{\"v\":1,\"type\":\"us\n{\"v\":1,\"type\":\"user\"}\n",
        "{\"v\":1,\"type\":\"user\",\n",
        "{\"v\":1,\"type\":\"user\"}\n{\n",
        "\n\n",
    ] {
        check(head, "x.jsonl", "transcript");
        assert_eq!(like(head), None, "{head}");
    }
}

#[test]
fn a_byte_order_mark_does_not_matter() {
    check("\u{feff}{\"messages\":[{\"role\":\"user\"", "x", "openai");
    check("\u{feff}> ---\n> <USER />\n", "x", "chatmd");
}

#[test]
fn the_name_of_a_new_file_chooses_one_format_or_several() {
    let of = |name: &str| match format_for_name(name) {
        FormatChoice::One(format) => format.id().to_string(),
        FormatChoice::Several(formats) => formats
            .iter()
            .map(|format| format.id())
            .collect::<Vec<_>>()
            .join(" "),
        FormatChoice::Unknown => "unknown".to_string(),
    };
    assert_eq!(of("a.msg.md"), "msgfile");
    assert_eq!(of("a.chat.md"), "chatmd");
    assert_eq!(of("a.md"), "msgfile chatmd markdown");
    assert_eq!(of("a.jsonl"), "transcript");
    assert_eq!(of("a.openai.jsonl"), "openai");
    assert_eq!(of("a.json"), "chat-session anthropic openai");
    assert_eq!(of("a.txt"), "unknown");
}

#[test]
fn ids_are_unique() {
    let mut ids: Vec<&str> = FORMATS.iter().map(|format| format.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), FORMATS.len());
    assert!(format_by_id("nothing").is_none());
}
