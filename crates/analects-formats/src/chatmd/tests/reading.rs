//! Every known variant of chat Markdown, and every trap.

use analects_core::{Body, Image, Source};

use super::*;

/// Names and texts of a file's items.
#[track_caller]
fn check(file: &str, expected: &[(&str, &str)]) {
    let document = decode(file);
    assert_eq!(document.to_bytes(), file.as_bytes());
    let items: Vec<(String, String)> = document
        .items()
        .map(|item| (item.name().into(), item.text().into()))
        .collect();
    let found: Vec<(&str, &str)> = items
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(found, expected, "{file}");
}

#[test]
fn examples_of_each_variant() {
    let file = "> ---\n> <SYSTEM />\n\nsys\n\n> ---\n> <USER author=\"username\" timestamp=\"2025-05-07 14:01:32\" />\n\nhi\n\n> ---\n> <ASSISTANT author=\"gpt-model-name\" timestamp=\"2025-05-07 14:01:54\" />\n\nho\n\n> ---\n> <SEPERATOR />\n";
    check(
        file,
        &[
            ("SYSTEM", "sys"),
            ("USER", "hi"),
            ("ASSISTANT", "ho"),
            ("SEPERATOR", ""),
        ],
    );
    let messages = read(file);
    let types: Vec<&str> = messages
        .iter()
        .map(|message| message.body.type_name())
        .collect();
    assert_eq!(types, ["system", "user", "assistant", "compact_boundary"]);
    assert_eq!(messages[1].author.as_deref(), Some("username"));
    assert_eq!(
        messages[1].created_at.unwrap().to_string(),
        "2025-05-07T14:01:32Z"
    );
    assert_eq!(messages[3].parent_id, Some(messages[2].id.clone()));
    assert_eq!(codes(file), [""; 0]);
}

#[test]
fn a_separator_line_inside_a_body_is_content() {
    check(
        "> ---\n> <USER />\n\na\n\n> ---\n\nb\n",
        &[("USER", "a\n\n> ---\n\nb")],
    );
    check(
        "> ---\n> <USER />\n\n> quoted\n> ---\n> more\n",
        &[("USER", "> quoted\n> ---\n> more")],
    );
    check("> ---\n> <USER />\n\na\n> ---", &[("USER", "a\n> ---")]);
}

#[test]
fn a_separator_in_inline_code_is_content() {
    let body = "use `> ---` here, or `> <USER />`\n`> ---`\n`> <USER />`";
    check(&format!("> ---\n> <USER />\n\n{body}\n"), &[("USER", body)]);
}

#[test]
fn a_separator_and_a_tag_in_a_fence_are_content() {
    for (open, close) in [
        ("```", "```"),
        ("```markdown", "```"),
        ("~~~~", "~~~~"),
        ("````md", "````"),
    ] {
        let body = format!("{open}\n> ---\n> <USER />\n\nquoted\n{close}\n\nafter");
        let file = format!("> ---\n> <ASSISTANT />\n\n{body}\n\n> ---\n> <USER />\n\nx\n");
        check(&file, &[("ASSISTANT", &body), ("USER", "x")]);
    }
}

#[test]
fn a_body_may_quote_a_whole_chat_file() {
    let quoted = "---\nchat: x\n---\n\n> ---\n> <SYSTEM />\n\nsys\n\n> ---\n> <USER author=\"a\" />\n\n```js\nlet x\n```\n\n> ---\n> <SEPERATOR />\n";
    let body = format!("````\n{quoted}````");
    check(
        &format!("> ---\n> <USER />\n\n{body}\n"),
        &[("USER", &body)],
    );
    // Without a fence, whoever writes it escapes it.
    let file = append(&decode(""), &NewChatItem::new("USER", quoted)).apply(b"");
    let document = decode(file);
    assert_eq!(document.items().len(), 1);
    assert_eq!(document.item(0).unwrap().text(), quoted);
}

#[test]
fn an_unclosed_fence_hides_no_item() {
    let file = "> ---\n> <ASSISTANT />\n\n```js\nlet x = 1\n\n> ---\n> <USER />\n\ngo on\n";
    check(
        file,
        &[("ASSISTANT", "```js\nlet x = 1"), ("USER", "go on")],
    );
}

/// An answer that was cut off in its code, and later ones with code of their own.
#[test]
fn a_fence_cut_off_by_an_item_hides_nothing_below() {
    let file = "> ---\n> <ASSISTANT />\n\n```js\nlet x = 1\n\n> ---\n> <USER />\n\ngo on:\n\n```js\ny\n```\n\n> ---\n> <ASSISTANT />\n\nyes\n";
    check(
        file,
        &[
            ("ASSISTANT", "```js\nlet x = 1"),
            ("USER", "go on:\n\n```js\ny\n```"),
            ("ASSISTANT", "yes"),
        ],
    );
}

#[test]
fn quotes_and_angles_in_attributes() {
    for (tag, author) in [
        (r#"<USER author="a > b" />"#, "a > b"),
        (r#"<USER author="/>" />"#, "/>"),
        (r#"<USER author='say "hi"' />"#, "say \"hi\""),
        (
            r#"<USER author="say &quot;hi&quot; &lt;&amp;&gt;&#10;" />"#,
            "say \"hi\" <&>\n",
        ),
        // The plugin escapes nothing.
        (
            r#"<USER author="my "best" model" timestamp="2025-05-07 14:01:32"/>"#,
            "my \"best\" model",
        ),
        (r#"<USER author="a&b &x; &#xZ; &" />"#, "a&b &x; &#xZ; &"),
        (r#"<USER author=bare />"#, "bare"),
        (r#"<USER author=bare/>"#, "bare"),
        (r#"<USER author="it's" />"#, "it's"),
        (r#"<USER author="" />"#, ""),
        (r#"<USER author="first" author="last" />"#, "last"),
    ] {
        let file = format!("> ---\n> {tag}\n\nx\n");
        check(&file, &[("USER", "x")]);
        assert_eq!(read(&file)[0].author.as_deref(), Some(author), "{tag}");
    }
}

#[test]
fn single_quotes_keys_with_hyphens_and_any_case() {
    let file = "> ---\n> <User author='me' data-x='1' prompt=\"12\" Completion=\"7\" />\n\nx\n";
    let message = &read(file)[0];
    assert_eq!(message.author.as_deref(), Some("me"));
    assert_eq!(message.usage.as_ref().unwrap().input_tokens, Some(12));
    assert_eq!(message.extra.get("data-x"), Some(&Raw::string("1")));
    // Keys, unlike names, are of one case.
    assert_eq!(message.extra.get("Completion"), Some(&Raw::string("7")));
}

#[test]
fn the_slash_and_the_blanks_are_optional() {
    for tag in [
        "> <USER>",
        "> <USER/>",
        "><USER/>",
        ">  <USER />  ",
        "> <user / >",
        "> <USER\t/>",
    ] {
        let file = format!("> ---\n{tag}\n\nx\n");
        assert_eq!(read(&file)[0].text(), "x", "{tag}");
    }
}

#[test]
fn invalid_tags_start_no_item() {
    for line in [
        "> <b>bold</b>",
        "> <USER /> text",
        "> <USER",
        "> < USER />",
        "> USER />",
        "> <>",
        "> <7 />",
        "<USER />",
        " > <USER />",
        "> <https://example.com/>",
        "> <me@example.com>",
    ] {
        let file = format!("> ---\n{line}\n\nx\n");
        assert_eq!(decode(file.as_str()).items().len(), 0, "{line}");
    }
}

#[test]
fn invalid_separators_start_no_item() {
    for line in [
        "> --", ">---", ">  ---", " > ---", "> --- x", "> - - -", "---", "> ***", "\\> ---",
    ] {
        let file = format!("{line}\n> <USER />\n\nx\n");
        assert_eq!(decode(file.as_str()).items().len(), 0, "{line}");
    }
}

#[test]
fn dashes_blanks_and_line_ends_of_separators() {
    for line in ["> ---", "> -------", "> ---  ", "> ----\t", "> ---\r"] {
        check(&format!("{line}\n> <USER />\n\nx\n"), &[("USER", "x")]);
        check(&format!("{line}\n>\n> <USER />\n\nx\n"), &[("USER", "x")]);
        check(
            &format!("{line}\n> \t\n> <USER />\n\nx\n"),
            &[("USER", "x")],
        );
        // One such line, and no blank one.
        assert_eq!(
            decode(format!("{line}\n>\n>\n> <USER />\n")).items().len(),
            0
        );
        assert_eq!(decode(format!("{line}\n\n> <USER />\n")).items().len(), 0);
    }
    check("> ---\n> ---\n> <USER />\n\nx\n", &[("USER", "x")]);
}

#[test]
fn windows_line_ends() {
    let file = "> ---\r\n> <USER author=\"a\" />\r\n\r\none\r\ntwo\r\n\r\n> ---\r\n>\r\n> <ASSISTANT />\r\n\r\nthree\r\n";
    check(file, &[("USER", "one\r\ntwo"), ("ASSISTANT", "three")]);
}

#[test]
fn a_byte_order_mark_and_bytes_that_are_no_text() {
    check("\u{feff}> ---\n> <USER />\n\nx\n", &[("USER", "x")]);
    let bytes = b"> ---\n> <USER author=\"\xff\" />\n\na\xffb\0\n";
    let document = decode(bytes);
    assert_eq!(document.to_bytes(), bytes);
    assert_eq!(document.item(0).unwrap().text(), "a\u{fffd}b\0");
    let problems = document.problems();
    let codes: Vec<_> = problems
        .iter()
        .map(|problem| (&*problem.code, problem.line))
        .collect();
    assert_eq!(codes, [("not-utf8", 2), ("not-utf8", 4)]);
    assert_eq!(document.why_not_writable().unwrap().line, 2);
}

#[test]
fn no_separator_at_all() {
    for text in ["", "x", "# Notes\n\ntext\n", "> <USER />\n\nx\n"] {
        let document = decode(text);
        assert_eq!(document.items().len(), 0);
        assert_eq!(document.preamble().of(document.source()), text.as_bytes());
        assert!(!is_chat_markdown(text.as_bytes()));
    }
    assert!(is_chat_markdown(b"\xef\xbb\xbfx\n> ---\n> <USER />\n"));
    assert!(is_chat_markdown(b"---\nchat: a\n---\n"));
}

#[test]
fn unknown_tags_are_kept() {
    let file = "> ---\n> <NOTE color=\"red\" />\n\nremember\n";
    check(file, &[("NOTE", "remember")]);
    let message = &read(file)[0];
    assert_eq!(message.body.type_name(), "chat_item");
    assert_eq!(message.unknown.get("tag"), Some(&Raw::string("NOTE")));
    assert_eq!(
        message.unknown.get("content"),
        Some(&Raw::string("remember"))
    );
    assert_eq!(codes(file), ["unknown-tag"]);
}

#[test]
fn two_system_items_stay_in_their_places() {
    let file =
        "> ---\n> <SYSTEM />\n\none\n\n> ---\n> <USER />\n\nhi\n\n> ---\n> <SYSTEM />\n\ntwo\n";
    check(
        file,
        &[("SYSTEM", "one"), ("USER", "hi"), ("SYSTEM", "two")],
    );
    assert_eq!(decode(file).system_prompt().as_deref(), Some("one"));
    assert_eq!(codes(file), [""; 0]);
}

#[test]
fn a_missing_time_is_missing() {
    let times = |tag: &str| read(&format!("> ---\n> <USER {tag}/>\n\nx\n"))[0].created_at;
    assert_eq!(times(""), None);
    assert_eq!(times("timestamp=\"\" "), None);
    assert_eq!(times("timestamp=\"soon\" "), None);
    assert_eq!(times("timestamp=\"2025-05-07\" "), None);
    let noon = times("timestamp=\"2025-05-07 12:00:00\" ");
    assert_eq!(times("time=\"2025-05-07 12:00:00\" "), noon);
    assert_eq!(times("timestamp=\"2025-05-07T14:00:00+02:00\" "), noon);
    assert_eq!(
        times("timestamp=\"2025-05-07T12:00:00Z\" time=\"2020-01-01 00:00:00\" "),
        noon
    );
    let file = "> ---\n> <USER timestamp=\"soon\" />\n\nx\n";
    assert_eq!(codes(file), ["bad-attribute"]);
    assert_eq!(
        read(file)[0].extra.get("timestamp"),
        Some(&Raw::string("soon"))
    );
}

#[test]
fn times_without_a_zone_are_local() {
    let document = decode("> ---\n> <USER timestamp=\"2025-05-07 14:01:32\" />\n\nx\n");
    let beijing = TimeZone::fixed(Offset::constant(8));
    let message = &messages_in(&document, &"s".into(), &beijing).messages[0];
    assert_eq!(
        message.created_at.unwrap().to_string(),
        "2025-05-07T06:01:32Z"
    );
}

#[test]
fn note_attributes_are_not_content() {
    for line in [
        "{: id=\"20250507140132-abc\" updated=\"x\" }",
        "{: id=\"20250507140132-abc\" updated=\"x\"}",
        "> {: id=\"20250507140132-abc\" }\n{: updated=\"x\" }",
    ] {
        let file = format!("> ---\n> <USER />\n{line}\n\nhi\n");
        check(&file, &[("USER", "hi")]);
        let notes = Raw::parse(r#"{"id":"20250507140132-abc","updated":"x"}"#).unwrap();
        assert_eq!(read(&file)[0].extra.get("kramdown"), Some(&notes), "{line}");
        let (written, losses) = encode(&read(&file), &ChatSessionInfo::default(), Dialect::Ours);
        assert_eq!(losses, vec![]);
        assert_eq!(
            messages(&decode(written), &"s".into()).messages,
            read(&file)
        );
    }
    // Elsewhere they are content.
    check(
        "> ---\n> <USER />\n\n{: a=\"b\" }\n",
        &[("USER", "{: a=\"b\" }")],
    );
    check(
        "> ---\n> <USER />\n{: not attributes }x\n",
        &[("USER", "{: not attributes }x")],
    );
}

#[track_caller]
fn blocks(body: &str) -> Vec<Block> {
    let file = format!("> ---\n> <USER />\n\n{body}\n");
    match read(&file)[0].body.content() {
        Some(Content::Blocks(blocks)) => blocks.clone(),
        content => panic!("{content:?}"),
    }
}

fn source(block: &Block) -> Option<Source> {
    match block {
        Block::Image(Image { source, .. }) => Source::of(source),
        _ => None,
    }
}

#[test]
fn pictures_in_the_plugins_div() {
    let div = "<div style=\"display: flex; flex-direction: column; gap: 10px;\">\n<img style=\"max-width: 100%; display: inline-block;\" src=\"data:image/png;base64,iVBORw0KGgo=\" />\n<img style=\"max-width: 100%; display: inline-block;\" src=\"https://example.com/a.png?x=1&y=2\" />\n</div>";
    let found = blocks(&format!("before\n\nmore\n\n{div}\n\nafter\n"));
    assert_eq!(found.len(), 4);
    assert_eq!(found[0].text().as_deref(), Some("before\n\nmore"));
    let (media_type, data) = ("image/png".to_string(), "iVBORw0KGgo=".to_string());
    assert_eq!(source(&found[1]), Some(Source::Base64 { media_type, data }));
    assert_eq!(
        source(&found[2]),
        Some(Source::Url("https://example.com/a.png?x=1&y=2".into()))
    );
    // The plugin loses this.
    assert_eq!(found[3].text().as_deref(), Some("after"));
    assert_eq!(blocks(div).len(), 2);
}

#[test]
fn bare_pictures() {
    let found = blocks(
        "<img src=\"assets/a.png\" alt='A &amp; B'>\n\ntext\n<IMG src='data:text/plain,x'/>",
    );
    assert_eq!(source(&found[0]), Some(Source::File("assets/a.png".into())));
    let Block::Image(image) = &found[0] else {
        panic!()
    };
    assert_eq!(image.extra.get("alt"), Some(&Raw::string("A & B")));
    assert_eq!(found[1].text().as_deref(), Some("text"));
    assert_eq!(
        source(&found[2]),
        Some(Source::Url("data:text/plain,x".into()))
    );
}

#[test]
fn other_lines_with_images_stay_text() {
    for body in [
        "text <img src=\"a.png\"> text",
        " <img src=\"a.png\">",
        "<img alt=\"x\">",
        "<img src=\"a\"><img src=\"b\">",
        "<imgx src=\"a\">",
        "```html\n<img src=\"a.png\">\n```",
        "<div style=\"display: flex; flex-direction: column; gap: 10px;\">\ntext\n</div>",
        "<img src=\"a.png\"",
    ] {
        let file = format!("> ---\n> <USER />\n\n{body}\n");
        assert_eq!(
            read(&file)[0].body.content(),
            Some(&Content::from(body)),
            "{body}"
        );
    }
}

#[test]
fn tool_items_are_results() {
    let file =
        "> ---\n> <TOOL tool_call_id=\"call_1\" name=\"weather\" version=\"2\" />\n\nsunny\n";
    let message = &read(file)[0];
    let Body::ToolResult(result) = &message.body else {
        panic!()
    };
    assert_eq!(
        (result.tool_use_id.as_str(), result.content.text()),
        ("call_1", "sunny".into())
    );
    assert_eq!(message.extra.get("name"), Some(&Raw::string("weather")));
    assert_eq!(message.extra.get("version"), Some(&Raw::string("2")));
}

#[test]
fn separators_of_both_spellings() {
    let file = "> ---\n> <SEPERATOR />\n\n> ---\n> <Separator />\n\ntyped by mistake\n";
    for message in read(file) {
        let Body::CompactBoundary(boundary) = &message.body else {
            panic!()
        };
        assert_eq!(boundary.trigger.as_ref().unwrap().as_str(), "separator");
    }
    assert_eq!(codes(file), ["separator-text"]);
    assert_eq!(
        read(file)[1].extra.get("text"),
        Some(&Raw::string("typed by mistake"))
    );
}

#[test]
fn near_items_are_reported() {
    for head in [
        ">---\n> <USER />",
        " > ---\n> <USER />",
        "> ---\n> <USER /> text",
        "> ---\n> <b>x</b>",
    ] {
        assert_eq!(codes(&format!("a\n{head}\n\nx\n")), ["near-item"], "{head}");
    }
    // A quotation with a rule in it is nothing odd.
    assert_eq!(codes("> a\n> ---\n> b\n\n---\n"), [""; 0]);
    // And neither is a fence.
    assert_eq!(codes("```\n> ---\n> <USER />\n```\n"), [""; 0]);
}

#[test]
fn attributes_that_cannot_be_read_are_reported() {
    assert_eq!(
        codes("> ---\n> <USER author=\"open />\n\nx\n"),
        ["bad-attribute"]
    );
    assert_eq!(
        codes("> ---\n> <USER ?? author=\"a\" !/>\n\nx\n"),
        ["bad-attribute", "bad-attribute"]
    );
    assert_eq!(
        codes("> ---\n> <USER prompt=\"many\" />\n\nx\n"),
        ["bad-attribute"]
    );
    assert_eq!(
        codes("> ---\n> <USER stored=\"lines=4\" />\n\nx\n"),
        ["stored-mismatch"]
    );
    assert_eq!(codes("---\nchat: [\n---\n"), ["frontmatter-yaml"]);
    assert_eq!(codes("---\nchat: 7\n---\n"), ["frontmatter-type"]);
}

#[test]
fn the_session_is_in_the_frontmatter() {
    let file = "---\n# ours\nchat: 20250507-abc\ntitle: A talk\ntimestamp: 2025-05-07 14:01:32\nupdated: 1746626500001\ntags: [a, 2025]\nmine: {a: [1, true]}\n---\n\nNotes.\n\n> ---\n> <USER />\n\nx\n";
    let document = decode(file);
    let session = document.session_in(&TimeZone::fixed(Offset::constant(8)));
    assert_eq!(session.id.as_deref(), Some("20250507-abc"));
    assert_eq!(session.title.as_deref(), Some("A talk"));
    assert_eq!(
        session.timestamp.unwrap().to_string(),
        "2025-05-07T06:01:32Z"
    );
    assert_eq!(
        session.updated.unwrap().to_string(),
        "2025-05-07T14:01:40.001Z"
    );
    assert_eq!(session.tags, ["a", "2025"]);
    assert_eq!(session.preamble.as_deref(), Some("Notes."));
    assert_eq!(
        session.extra.get("mine").unwrap().as_str(),
        r#"{"a":[1,true]}"#
    );
    let read = messages(&document, &"other".into()).messages;
    assert_eq!(&*read[0].session_id, "20250507-abc");
    assert_eq!(document.problems(), vec![]);
}

#[test]
fn any_other_block_at_the_start_is_preamble() {
    for front in [
        "---\ntitle: x\nchat: y\n---\n",
        "---\nchatter: x\n---\n",
        "---\nchat: x\n",
        "---\n---\n",
        " ---\nchat: x\n---\n",
        "---\nchat: x\n> ---\n> <USER />\n---\n",
    ] {
        let file = format!("{front}\n> ---\n> <USER />\n\nx\n");
        let document = decode(file.as_str());
        assert_eq!(document.frontmatter_span(), None, "{front}");
        assert_eq!(document.session().id, None);
        assert_eq!(document.to_bytes(), file.as_bytes());
    }
}

proptest! {
    /// A tag with one `>` at its end is one, whatever its attributes: the short way must be right.
    #[test]
    fn a_line_with_one_angle_at_its_end_is_a_tag(junk in "[a-z\"'=/ \t!&{}:-]{0,24}") {
        let line = format!("> <USER {junk}>");
        let mut attributes =
            super::attributes::AttributeScanner::new(line.as_bytes(), 7, super::attributes::AttributeEnd::Tag);
        (&mut attributes).for_each(drop);
        prop_assert!(attributes.end().is_some(), "{}", line);
    }
}
