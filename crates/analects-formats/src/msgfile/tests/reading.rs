//! How single files read: one line per cell, `kind id type "title" = "content"`, then problems.

use super::*;

#[track_caller]
fn check(file: &str, expected: &[&str]) {
    let document = decode(file.as_bytes());
    let mut found: Vec<String> = document
        .cells
        .iter()
        .map(|cell| {
            let kind = if cell.kind == CellKind::Message { "message" } else { "output" };
            let content = document.content(cell);
            format!("{kind} {} {} {:?} = {content:?}", cell.name(), cell.type_word(), cell.title)
        })
        .collect();
    found.extend(document.problems.iter().map(|p| format!("{}:{} {}", p.line, p.column, p.code)));
    assert_eq!(found, expected, "{file}");
    assert_eq!(document.to_bytes(), file.as_bytes());
}

#[test]
fn heads() {
    check("", &[]);
    check("just text\n", &[]);
    check("# %%\nhi", &[r#"message 1 markdown "" = "hi""#]);
    check("##### %%%\tA [b] title [^x-1]  \nhi", &[r#"output x-1 markdown "A [b] title" = "hi""#]);
    check("# %%[^1]\n", &[r#"message 1 markdown "" = """#]);
    // Not heads: six hashes, no blank, four percent signs, a title without a blank, indented.
    check("###### %%\n#%%\n# %%%%\n# %%title\n # %%\n", &[]);
    // What cannot be an id is part of the title.
    check(
        "# %% a[^b c]\n# %% [^a^b]",
        &[r#"message 1 markdown "a[^b c]" = """#, r#"message 2 markdown "[^a^b]" = """#],
    );
    check("# %%[^b c]\n", &[]);
}

#[test]
fn metadata_is_the_first_line_after_its_own_head() {
    check("# %% [^1]\n\n[^1]: [code] a=1\n\nx\n", &[r#"message 1 code "" = "x""#]);
    check("# %% [^1]\n[^2]: [code]\n", &[r#"message 1 markdown "" = "[^2]: [code]""#]);
    check("# %% [^1]\nx\n[^1]: [code]\n", &[r#"message 1 markdown "" = "x\n[^1]: [code]""#]);
    check("# %% [^1]\n [^1]: [code]\n", &[r#"message 1 markdown "" = " [^1]: [code]""#]);
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
    let document = decode(line.as_bytes());
    let cell = &document.cells[0];
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
    assert_eq!(document.content(cell), "  k=4 text");
    check(
        "# %% [^1]\n[^1]: [x] [y] =1 a=\"open\n",
        &[r#"message 1 x "" = """#, "2:1 bad-metadata", "2:1 bad-metadata", "2:1 bad-metadata"],
    );
}

#[test]
fn content_and_stored() {
    check("# %%\n\n \n a\n\nb \n\n", &[r#"message 1 markdown "" = " a\n\nb ""#]);
    let stored = "# %% [^1]\n\n[^1]: [x] stored=\"lines=3\"\n\n\na\n\n";
    check(stored, &[r#"message 1 x "" = "\na\n""#]);
    check(&format!("{stored}more\n"), &[r#"message 1 x "" = "a\n\nmore""#, "3:1 stored-mismatch"]);
    check(
        "# %% [^1]\n[^1]: [x] stored=\"lines=9\"\n\na\n",
        &[r#"message 1 x "" = "a""#, "2:1 stored-mismatch"],
    );
}

#[test]
fn frontmatter_ends_where_it_ends() {
    let document = decode(b"\xef\xbb\xbf---\ntitle: x\n---\npreamble\n# %%\nhi\n");
    assert_eq!(document.frontmatter, Some(Span::new(3, 20)));
    assert_eq!(document.preamble, Span::new(20, 29));
    check("---\n# %%\nhi\n", &[r#"message 1 markdown "" = "hi""#]);
    // A sealed head is always a head.
    check("---\n# %% [^1]\n\n[^1]: [x]\n\nhi\n---\n", &[r#"message 1 x "" = "hi\n---""#]);
}

#[test]
fn problems_have_a_place() {
    check(
        "# %% [^1]\na\n# %% [^1]\n[^1]: [x] history=sumary\n",
        &[
            r#"message 1 markdown "" = "a""#,
            r#"message 1 x "" = """#,
            "3:1 duplicate-id",
            "4:1 unknown-history",
        ],
    );
    let document = decode(b"# %%\nok \xff\xfe ok\n");
    assert_eq!(document.problems[0].code, "not-utf8");
    assert_eq!((document.problems[0].line, document.problems[0].column), (2, 4));
    assert!(document.why_not_writable().is_some());
}

#[test]
fn line_ends_are_kept_and_followed() {
    let file = b"# %% [^1]\r\n\r\n[^1]: [markdown]\r\n\r\nhi\r";
    let document = decode(file);
    assert_eq!(document.content(&document.cells[0]), "hi\r");
    let bytes = append(&document, &NewCell::message("2", "a\nb\r")).apply(file);
    assert!(bytes.ends_with(b"hi\r\r\n\r\n# %% [^2]\r\n\r\n[^2]: [markdown]\r\n\r\na\nb\r\r\n"));
}
