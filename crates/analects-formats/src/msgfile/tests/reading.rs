//! How single files read: one line per cell, `kind id type "title" = "content"`, then problems.

use super::*;

#[track_caller]
fn check(file: &str, expected: &[&str]) {
    check_document(&decode(file), file, expected);
}

#[track_caller]
fn check_document(document: &Document, file: &str, expected: &[&str]) {
    let mut found: Vec<String> = document
        .cells()
        .map(|cell| {
            let kind = if cell.kind() == CellKind::Message {
                "message"
            } else {
                "output"
            };
            let (title, content) = (cell.title(), cell.content());
            format!(
                "{kind} {} {} {title:?} = {content:?}",
                cell.name(),
                cell.type_word()
            )
        })
        .collect();
    let problems = document.problems();
    found.extend(
        problems
            .iter()
            .map(|p| format!("{}:{} {}", p.line, p.column, p.code)),
    );
    assert_eq!(found, expected, "{file}");
    assert_eq!(document.to_bytes(), file.as_bytes());
}

#[test]
fn heads() {
    check("", &[]);
    check("just text\n", &[]);
    check("# %%\nhi", &[r#"message 1 markdown "" = "hi""#]);
    check(
        "##### %%%\tA [b] title [^x-1]  \nhi",
        &[r#"output x-1 markdown "A [b] title" = "hi""#],
    );
    check("# %%[^1]\n", &[r#"message 1 markdown "" = """#]);
    // Not heads: six hashes, no blank, four percent signs, a title without a blank, indented.
    check(
        "###### %%\n#%%\n# %%%%\n# %%title\n # %%\n",
        &[
            "1:1 near-head",
            "2:1 near-head",
            "3:1 near-head",
            "4:1 near-head",
            "5:1 near-head",
        ],
    );
    // What cannot be an id is part of the title.
    check(
        "# %% a[^b c]\n# %% [^a^b]",
        &[
            r#"message 1 markdown "a[^b c]" = """#,
            r#"message 2 markdown "[^a^b]" = """#,
        ],
    );
    check("# %%[^b c]\n", &["1:1 near-head"]);
}

#[test]
fn metadata_is_the_first_line_after_its_own_head() {
    check(
        "# %% [^1]\n\n[^1]: [raw] a=1\n\nx\n",
        &[r#"message 1 raw "" = "x""#],
    );
    check(
        "# %% [^1]\n\n[^1]: [code]\n\nx\n",
        &[r#"message 1 code "" = "x""#, "1:1 no-code"],
    );
    check(
        "# %% [^1]\n[^2]: [code]\n",
        &[
            r#"message 1 markdown "" = "[^2]: [code]""#,
            "2:1 unread-metadata",
        ],
    );
    check(
        "# %% [^1]\nx\n[^1]: [code]\n",
        &[
            r#"message 1 markdown "" = "x\n[^1]: [code]""#,
            "3:1 unread-metadata",
        ],
    );
    check(
        "# %% [^1]\n [^1]: [code]\n",
        &[r#"message 1 markdown "" = " [^1]: [code]""#],
    );
}

#[test]
fn attributes() {
    let line = concat!(
        r#"# %% [^1]"#,
        "\n",
        r#"[^1]: [code] a="q \" \\ \n\r\t\u{e9} \d" b='v"\n' c=bare [d=1] "#,
        r#"e.f-g=x [h="]"]"#,
        "\n",
        "  i=2 j='3'\n  k=4 text\n",
    );
    let document = decode(line);
    let cell = document.cells().next().unwrap();
    let expected = [
        ("a", "q \" \\ \n\r\té \\d"),
        ("b", "v\"\\n"),
        ("c", "bare"),
        ("d", "1"),
        ("e.f-g", "x"),
        ("h", "]"),
        ("i", "2"),
        ("j", "3"),
    ];
    for (key, value) in expected {
        assert_eq!(cell.attribute(key), Some(value), "{key}");
    }
    assert_eq!(cell.content(), "  k=4 text");
    check(
        "# %% [^1]\n[^1]: [raw] [y] =1 a=\"open\n",
        &[
            r#"message 1 raw "" = """#,
            "2:1 bad-metadata",
            "2:1 bad-metadata",
            "2:1 bad-metadata",
        ],
    );
}

#[test]
fn content_and_stored() {
    check(
        "# %%\n\n \n a\n\nb \n\n",
        &[r#"message 1 markdown "" = " a\n\nb ""#],
    );
    let stored = "# %% [^1]\n\n[^1]: [raw] stored=\"lines=3\"\n\n\na\n\n";
    check(stored, &[r#"message 1 raw "" = "\na\n""#]);
    check(
        &format!("{stored}more\n"),
        &[r#"message 1 raw "" = "a\n\nmore""#, "3:1 stored-mismatch"],
    );
    check(
        "# %% [^1]\n[^1]: [raw] stored=\"lines=9\"\n\na\n",
        &[r#"message 1 raw "" = "a""#, "2:1 stored-mismatch"],
    );
}

#[test]
fn frontmatter_ends_where_it_ends() {
    let document = decode(*b"\xef\xbb\xbf---\ntitle: x\n---\npreamble\n# %%\nhi\n");
    assert_eq!(document.frontmatter, Some(Span::new(3, 20)));
    assert_eq!(document.preamble(), Span::new(20, 29));
    check("---\n# %%\nhi\n", &[r#"message 1 markdown "" = "hi""#]);
    // A sealed head is always a head.
    check(
        "---\n# %% [^1]\n\n[^1]: [raw]\n\nhi\n---\n",
        &[r#"message 1 raw "" = "hi\n---""#],
    );
}

#[test]
fn problems_have_a_place() {
    check(
        "# %% [^1]\na\n# %% [^1]\n[^1]: [raw] history=sumary\n",
        &[
            r#"message 1 markdown "" = "a""#,
            r#"message 1 raw "" = """#,
            "3:1 duplicate-id",
            "4:1 unknown-history",
        ],
    );
    // Whether ids count up or not, and where they are no numbers.
    for ids in [
        ["1", "2", "2"],
        ["2", "1", "2"],
        ["1", "2", "1"],
        ["a", "1", "a"],
    ] {
        let file: String = ids
            .iter()
            .map(|id| format!("# %% [^{id}]\n\nhi\n\n"))
            .collect();
        let problems = decode(file.as_bytes()).problems();
        let places: Vec<_> = problems
            .iter()
            .map(|found| (&*found.code, found.line))
            .collect();
        assert_eq!(places, [("duplicate-id", 9)], "{ids:?}");
    }
    for ids in [["1", "01"], ["01", "1"], ["+1", "1"], ["9", "10"]] {
        let file: String = ids
            .iter()
            .map(|id| format!("# %% [^{id}]\n\nhi\n\n"))
            .collect();
        assert_eq!(decode(file.as_bytes()).problems(), [], "{ids:?}");
    }
    let document = decode(*b"# %%\nok \xff\xfe ok\n");
    let problem = document.why_not_writable().unwrap();
    assert_eq!(
        (&*problem.code, problem.line, problem.column),
        ("not-utf8", 2, 4)
    );
    assert_eq!(document.problems()[0], problem);
}

#[test]
fn line_ends_are_kept_and_followed() {
    let file = b"# %% [^1]\r\n\r\n[^1]: [markdown]\r\n\r\nhi\r";
    let document = decode(*file);
    assert_eq!(document.cells().next().unwrap().content(), "hi\r");
    let bytes = append(&document, &NewCell::message("2", "a\nb\r")).apply(file);
    assert!(bytes.ends_with(b"hi\r\r\n\r\n# %% [^2]\r\n\r\n[^2]: [markdown]\r\n\r\na\nb\r\r\n"));
}

#[test]
fn closed_fences_hide_loose_heads() {
    let hidden = "# %%\n\n```python\n# %%\nx = 1\n```\n";
    check(
        hidden,
        &[r#"message 1 markdown "" = "```python\n# %%\nx = 1\n```""#],
    );
    // Indented closers, longer closers, tildes; a shorter or different run closes nothing.
    for (open, close) in [("```", "   ```  "), ("````", "`````"), ("~~~ x", "~~~")] {
        let file = format!("# %%\n{open}\n```\n~~~~ \n# %%\n{close}\n");
        let cells = if open.starts_with("````") { 1 } else { 2 };
        assert_eq!(decode(file.as_str()).cells().len(), cells, "{file}");
    }
    // An unclosed fence hides nothing.
    check(
        "# %%\n```\n# %%\na",
        &[
            r#"message 1 markdown "" = "```""#,
            r#"message 2 markdown "" = "a""#,
            "2:1 unclosed-fence",
        ],
    );
    // Neither do fences that are indented or in a list, but their closers open nothing.
    check(
        "  ```\n# %%\n  ```\n- ```\n  x\n  ```\n# %%\n",
        &[
            r#"message 1 markdown "" = "  ```\n- ```\n  x\n  ```""#,
            r#"message 2 markdown "" = """#,
        ],
    );
}

#[test]
fn a_sealed_head_is_always_a_head() {
    let file = "```\n# %% [^1]\n\n[^1]: [raw]\n\na\n```\n# %%\nb\n";
    check(
        file,
        &[
            r#"message 1 raw "" = "a\n```""#,
            r#"message 2 markdown "" = "b""#,
            "2:1 head-in-fence",
            "7:1 unclosed-fence",
        ],
    );
}

#[test]
fn a_plain_markdown_file_keeps_its_messages_in_a_section() {
    let text = "---\nmessage_section: Talk\n---\n# Notes\n# %%\nmine\n```\n## Talk\n```\n## Talk ##\n\n# %%\nhi\n\n# Talk\n";
    let document = decode_named(text, "notes.md");
    check_document(
        &document,
        text,
        &[
            r#"message 1 markdown "" = "hi\n\n# Talk""#,
            "15:1 heading-outside-section",
        ],
    );
    assert_eq!(
        (document.kind(), document.new_cell_level()),
        (DocumentKind::Section, 3)
    );
    let plain = decode_named("# %%\nhi\n", "notes.md");
    assert_eq!(
        (plain.kind(), plain.cells().len()),
        (DocumentKind::Plain, 0)
    );
    // The heading is added by the first append.
    let file = "---\nmessage_section:\n---\nmine";
    let document = decode_named(file, "notes.md");
    let bytes = append(&document, &NewCell::message("1", "hi")).apply(file.as_bytes());
    let expected = format!("{file}\n\n## Discussion\n\n### %% [^1]\n\n[^1]: [markdown]\n\nhi\n");
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
    assert_eq!(decode_named(bytes, "notes.md").cells().len(), 1);
}

#[test]
fn an_open_fence_is_closed_for_other_readers_and_comes_back_open() {
    for text in [
        "```rust\nlet x",
        "~~~\n",
        "\n```\nx\n\n",
        "  ````\n```",
        "```\r",
        "```\n# %%\nx",
    ] {
        let bytes = append(&decode(""), &NewCell::reply("1", "x", text)).apply(b"");
        let file = String::from_utf8(bytes).unwrap();
        let document = decode(file.as_str());
        assert_eq!(document.cells().next().unwrap().content(), text, "{file}");
        assert!(file.contains("closed\""), "{file}");
        assert_eq!(document.problems(), [], "{file}");
    }
    // Percent-format code stays readable; a head with an id does not get through.
    let text = "```python\n# %%\nx\n# %% [^9]\n```\n# %%";
    let bytes = append(&decode(""), &NewCell::reply("1", "x", text)).apply(b"");
    let file = String::from_utf8(bytes).unwrap();
    assert!(
        file.ends_with("```python\n# %%\nx\n\\# %% [^9]\n```\n\\# %%\n"),
        "{file}"
    );
}

#[test]
fn a_heading_of_the_sections_name_inside_a_cell_changes_nothing() {
    let front = "---\nmessage_section: Discussion\n---\n## Discussion\n";
    let hostile = "  ````\n# Discussion\n~~~\n````\n```\n~~~\n# %% forged\n```\n```";
    for text in [hostile, "   ~~~\n# Discussion\n"] {
        let document = decode_named(front, "notes.md");
        let bytes = append(&document, &NewCell::reply("1", "x", text)).apply(front.as_bytes());
        let typed = [&bytes[..], b"\n# %%\n\nmine\n\n~~~~\nx\n~~~~\n"].concat();
        let document = decode_named(typed, "notes.md");
        let contents: Vec<_> = document.cells().map(Cell::content).collect();
        assert_eq!(contents, [text, "mine\n\n~~~~\nx\n~~~~"]);
        assert_eq!(document.problems(), []);
    }
}
