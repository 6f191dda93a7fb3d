//! What is read of metadata at the scan, against a plain reading of the same lines; and what cells are.

use std::borrow::Cow;

use super::*;
use crate::msgfile::line::{is_blank, is_blank_line, metadata_of};
use crate::msgfile::scan::{line_text, lines};

/// What a metadata line says, read without any care for speed.
#[derive(Debug, Default, PartialEq)]
struct PlainMeta {
    word: Option<String>,
    attributes: Vec<(String, String)>,
    junk: Vec<String>,
}

impl PlainMeta {
    /// The metadata of a cell.
    fn of(cell: Cell<'_>) -> PlainMeta {
        let Some(start) = cell.meta_span().map(|span| span.start) else {
            return PlainMeta::default();
        };
        let mut rest = lines(&cell.document.source[..cell.span().end], start);
        let first = rest.next().map(|(_, line)| line_text(line)).unwrap();
        let text = metadata_of(first, cell.id().unwrap().as_bytes()).unwrap();
        let mut meta = PlainMeta::parse(&String::from_utf8_lossy(text));
        for (_, line) in rest {
            let text = line_text(line);
            let is_indented = text.first().is_some_and(|byte| is_blank(*byte));
            let more = PlainMeta::parse(&String::from_utf8_lossy(text));
            let is_more = more.word.is_none() && more.junk.is_empty();
            if !is_indented || is_blank_line(text) || !is_more {
                break;
            }
            meta.attributes.extend(more.attributes);
        }
        meta
    }

    fn parse(text: &str) -> PlainMeta {
        let mut meta = PlainMeta::default();
        let mut rest = text.trim_start_matches([' ', '\t']);
        while !rest.is_empty() {
            rest = meta.take_token(rest).trim_start_matches([' ', '\t']);
        }
        meta
    }

    fn take_token<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some((pair, rest)) = text
            .strip_prefix('[')
            .and_then(|inner| attribute(inner, "]"))
            && let Some(rest) = rest.strip_prefix(']')
        {
            self.attributes.push(pair);
            return rest;
        }
        if let Some((word, rest)) = text
            .strip_prefix('[')
            .and_then(|inner| inner.split_once(']'))
            && (self.word.is_none() && self.attributes.is_empty())
            && (1..256).contains(&word.len())
            && !word.contains(['[', '=', '\u{fffd}'])
        {
            self.word = Some(word.to_string());
            return rest;
        }
        if let Some((pair, rest)) = attribute(text, "")
            && (rest.is_empty() || rest.starts_with([' ', '\t']))
        {
            self.attributes.push(pair);
            return rest;
        }
        let end = text.find([' ', '\t']).unwrap_or(text.len());
        self.junk.push(text[..end].to_string());
        &text[end..]
    }
}

fn attribute<'a>(text: &'a str, stops: &str) -> Option<((String, String), &'a str)> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let (key, rest) = text.split_once('=')?;
    if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !key.chars().all(is_key) {
        return None;
    }
    let (value, rest) = match rest.chars().next() {
        Some('"') => quoted(&rest[1..])?,
        Some('\'') => rest[1..]
            .split_once('\'')
            .map(|(value, rest)| (value.to_string(), rest))?,
        _ => {
            let end = rest.find(|c: char| " \t".contains(c) || stops.contains(c));
            let (value, rest) = rest.split_at(end.unwrap_or(rest.len()));
            (value.to_string(), rest)
        }
    };
    Some(((key.to_string(), value), rest))
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return Some((value, chars.as_str())),
            '\\' => match chars.next()? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                'u' => {
                    let (hex, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                    let is_hex = hex.len() <= 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
                    let number = u32::from_str_radix(hex, 16).ok().filter(|_| is_hex)?;
                    value.push(char::from_u32(number)?);
                    chars = rest.chars();
                }
                c @ ('"' | '\\') => value.push(c),
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
}

/// What a cell says of its metadata.
fn said(cell: Cell<'_>) -> PlainMeta {
    let pairs = cell
        .attributes()
        .map(|(key, value)| (key.to_string(), value.to_string()));
    PlainMeta {
        word: cell.written_type().map(str::to_string),
        attributes: pairs.collect(),
        junk: cell.junk().map(Cow::into_owned).collect(),
    }
}

/// Pieces of metadata lines.
const PIECES: &str = r#"([ \t]|\[|\]|=|"|'|\\|\\u\{e9\}|\\u\{|\\n|k|history=none|a\.b="x|é|name=x|\[coder\]|,){0,14}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn metadata_says_what_a_plain_reading_says(
        file in generate::file(),
        first in PIECES,
        further in PIECES,
        odd in any::<u8>(),
    ) {
        let head = format!("\n# %% [^7]\n\n[^7]:{first}");
        let bytes = [&file, head.as_bytes(), &[odd], b"\r\n ", further.as_bytes(), b"\n\nText"];
        let document = decode(bytes.concat());
        for cell in document.cells() {
            let plain = PlainMeta::of(cell);
            prop_assert_eq!(&said(cell), &plain);
            for (key, _) in &plain.attributes {
                let value = plain.attributes.iter().rev().find(|(name, _)| name == key).unwrap();
                prop_assert_eq!(cell.attribute(key), Some(value.1.as_str()));
                if let Some(known) = MetaKey::of(key) {
                    prop_assert_eq!(cell.get(known), cell.attribute(key));
                }
                let span = cell.attribute_named(key).unwrap().span();
                let token = String::from_utf8_lossy(span.of(document.source()));
                let pair = PlainMeta::parse(&token).attributes;
                prop_assert_eq!(&pair[..], &[(key.clone(), value.1.clone())][..]);
            }
        }
    }
}

#[test]
fn type_words_of_all_kinds_are_read() {
    let long = "x".repeat(300);
    let cases = [
        (" [coder] time=1", "coder"),
        ("[a]b", "a"),
        (" [a b]", "a b"),
        (" [a=b]", "markdown"),
        (" junk [agent]", "agent"),
        (" a=1 [agent]", "markdown"),
        (" [né]", "né"),
        (" []", "markdown"),
        (" [x", "markdown"),
        (&format!(" [{long}]"), "markdown"),
        ("", "markdown"),
    ];
    for (meta, word) in cases {
        let document = decode(format!("# %% [^1]\n\n[^1]:{meta}\n"));
        assert_eq!(
            document.cells().next().unwrap().type_word(),
            word,
            "{meta:?}"
        );
    }
}

#[test]
fn every_key_is_found_by_its_name() {
    for name in [
        "history",
        "parent",
        "through",
        "stop_reason",
        "mime_type",
        "kept_from",
    ] {
        assert_eq!(MetaKey::of(name).map(MetaKey::as_str), Some(name));
    }
    assert_eq!(MetaKey::of("mood"), None);
}

#[track_caller]
fn check_roles(file: &str, expected: &[CellRole]) {
    let roles: Vec<CellRole> = decode(file).cells().map(Cell::role).collect();
    assert_eq!(roles, expected, "{file}");
}

/// A cell with this id and metadata.
fn cell(marker: &str, id: &str, meta: &str) -> String {
    format!("# {marker} [^{id}]\n\n[^{id}]: {meta}\n\nx\n\n")
}

#[test]
fn a_role_comes_from_marker_type_word_id_and_attributes() {
    let cases = [
        ("%%", "1", "[markdown]", CellRole::User),
        ("%%", "1", "[code]", CellRole::Code),
        ("%%", "1", "[raw]", CellRole::Raw),
        ("%%", "1", "[block]", CellRole::UserBlock),
        ("%%", "1", "[agent]", CellRole::AgentDefinition),
        ("%%", "1", "[tool] name=x", CellRole::User),
        ("%%%", "1", "[coder]", CellRole::Reply),
        ("%%%", "1", "[agent]", CellRole::Reply),
        ("%%%", "1.think", "[coder]", CellRole::Thinking),
        ("%%%", "1.think2", "[coder]", CellRole::Thinking),
        ("%%%", "1", "[coder] reasoning=1", CellRole::Thinking),
        ("%%%", "1.thinker", "[coder]", CellRole::Reply),
        ("%%%", "1.a", "[tool] name=ls", CellRole::ToolCall),
        ("%%%", "1.a.1", "[tool]", CellRole::ToolResult),
        ("%%%", "1.1", "[python]", CellRole::Reply),
        ("%%%", "1", "[system]", CellRole::System),
        ("%%%", "1", "[summary] through=3", CellRole::Summary),
        ("%%%", "1", "[compact_boundary]", CellRole::CompactBoundary),
        ("%%%", "1", "[attachment]", CellRole::Attachment),
        ("%%%", "1", "[notification]", CellRole::Notification),
        ("%%%", "1", "[progress]", CellRole::Progress),
        ("%%%", "1", "[tombstone]", CellRole::Tombstone),
        ("%%%", "1", "[block]", CellRole::Block),
        ("%%%", "1", "[details]", CellRole::Details),
    ];
    for (marker, id, meta, role) in cases {
        check_roles(&cell(marker, id, meta), &[role]);
    }
    check_roles(
        "# %%\n\nHi\n\n# %%%\n\nHo\n",
        &[CellRole::User, CellRole::Reply],
    );
}

#[test]
fn an_output_belongs_to_code_that_stands_above_it() {
    let code = cell("%%", "1", "[code]");
    let output = cell("%%%", "1.1", "[python]") + &cell("%%%", "1.1-2", "[python]");
    let is_output = [CellRole::CodeOutput, CellRole::CodeOutput];
    let not_yet = [CellRole::Reply, CellRole::Reply];
    check_roles(
        &format!("{code}{output}"),
        &[&[CellRole::Code], &is_output[..]].concat(),
    );
    check_roles(
        &format!("{output}{code}"),
        &[&not_yet[..], &[CellRole::Code]].concat(),
    );
    check_roles(&cell("%%%", "1.x", "[python]"), &[CellRole::Reply]);
    check_roles(
        "# %% [^1]\n\n[^1]: [code]\n\n# %%% [^1.1]\n\nx\n",
        &[CellRole::Code, CellRole::CodeOutput],
    );
}

#[test]
fn roles_follow_when_a_file_is_changed() {
    let code = cell("%%", "1", "[code]");
    let output = cell("%%%", "1.1", "[sh]");
    let mut document = decode(format!("{code}{}", cell("%%", "2", "[markdown]")));
    document.extend(output.as_bytes());
    let role = |document: &Document| document.cells().next_back().map(Cell::role);
    assert_eq!(role(&document), Some(CellRole::CodeOutput));
    document.update(format!("{}{output}", cell("%%", "1", "[markdown]")).into_bytes());
    assert_eq!(role(&document), Some(CellRole::Reply));
    document.update(format!("{code}{output}").into_bytes());
    assert_eq!(role(&document), Some(CellRole::CodeOutput));
}

#[test]
fn a_cell_is_found_by_its_id_and_else_by_its_number() {
    let mut document = decode("# %% [^a]\n\n1\n\n# %%\n\n2\n\n# %% [^2]\n\n3\n\n# %%\n\n4\n");
    let place = |document: &Document, name: &str| document.cell(name).map(Cell::ordinal);
    assert_eq!(place(&document, "a"), Some(1));
    assert_eq!(
        (place(&document, "2"), place(&document, "#2")),
        (Some(3), Some(2))
    );
    assert_eq!(
        (place(&document, "1"), place(&document, "#1")),
        (Some(2), Some(1))
    );
    assert_eq!(place(&document, "3"), Some(4));
    for missing in ["", "4", "0", "#0", "5", "b", "04", "#", "-1"] {
        assert_eq!(place(&document, missing), None, "{missing}");
    }
    document.extend(cell("%%", "a", "[markdown]").as_bytes());
    document.extend(cell("%%", "b", "[markdown]").as_bytes());
    assert_eq!(
        (place(&document, "a"), place(&document, "b")),
        (Some(1), Some(6))
    );
}

#[test]
fn names_stay_when_cells_above_get_ids_and_answers() {
    let file = "# %% [^1]\n\n[^1]: [markdown]\n\na\n\n# %%% [^2.think]\n\n[^2.think]: [x] reasoning=1\n\nhm\n\n\
        # %%% [^2]\n\n[^2]: [x]\n\nb\n\n# %%\n\nthree\n\n# %%\n\nfour\n";
    let names_of = |file: &str| {
        let document = decode(file);
        let text = |cell: Cell<'_>| (cell.name().into_owned(), cell.content().into_owned());
        document.cells().map(text).collect::<Vec<_>>()
    };
    let before = names_of(file);
    let owned = |name: &str, text: &str| (name.to_string(), text.to_string());
    assert_eq!(before[3..], [owned("3", "three"), owned("4", "four")]);
    let answer = cell("%%%", &decode(file).next_id(), "[x]");
    let after = file.replace(
        "# %%\n\nthree\n\n",
        &format!("# %% [^3]\n\n[^3]: [markdown]\n\nthree\n\n{answer}\n"),
    );
    let after = names_of(&after);
    assert_eq!(after[3], before[3]);
    assert_eq!(after[4].0, "5");
    assert_eq!(after[5], before[4]);
    // An output above that lost its message keeps its number.
    assert_eq!(
        names_of("# %%% [^1.think]\n\n[^1.think]: [x]\n\nhm\n\n# %%\n\na\n")[1].0,
        "2"
    );
}

#[test]
fn through_counts_on_a_summary_alone() {
    let file =
        cell("%%%", "s1", "[summary] through=\"8\"") + &cell("%%", "2", "[markdown] through=8");
    let document = decode(file);
    let through: Vec<Option<&str>> = document.cells().map(Cell::through).collect();
    assert_eq!(through, [Some("8"), None]);
}
