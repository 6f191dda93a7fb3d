//! Changes in place touch only the bytes that must change.

use super::*;

const FILE: &str = "Notes.\r\n\n> ---\n>\n> <User  author='me'\ttimestamp=\"2025-05-07 14:01:32\"/>  \n{: id=\"x\" }\n\n\n  hi\n\n\n> ---\n> <ASSISTANT>\n\nho";

#[track_caller]
fn set(at: usize, key: &str, value: Option<&str>) -> String {
    let document = decode(FILE);
    let splices = set_attribute(document.item(at).unwrap(), key, value).unwrap();
    String::from_utf8(Splice::apply_all(&splices, FILE.as_bytes())).unwrap()
}

#[test]
fn attributes_are_set_in_their_place() {
    let after = set(0, "author", Some("a \"b\" > c"));
    assert_eq!(
        after,
        FILE.replace("author='me'", "author=\"a &quot;b&quot; &gt; c\"")
    );
    assert_eq!(
        set(0, "prompt", Some("5")),
        FILE.replace(":32\"/>", ":32\" prompt=\"5\"/>")
    );
    assert_eq!(
        set(1, "author", Some("m")),
        FILE.replace("<ASSISTANT>", "<ASSISTANT author=\"m\">")
    );
    assert_eq!(set(0, "author", None), FILE.replace(" author='me'", ""));
    assert_eq!(set(1, "author", None), FILE);
}

#[test]
fn some_attributes_cannot_be_set() {
    let document = decode("> ---\n> <USER a=\"b\" author=\"c\" junk! />\n\nx\n");
    let item = document.item(0).unwrap();
    for key in ["", "a b", "stored", "1", "a\"", "é"] {
        assert!(set_attribute(item, key, Some("x")).is_err(), "{key}");
    }
    assert_eq!(
        set_attribute(item, "", Some("5")).unwrap_err().type_this,
        "=\"5\""
    );
}

/// Quotes of a new attribute must not be taken for those of an old one.
#[test]
fn attributes_are_set_in_careless_tags() {
    let tags = [
        "<USER x=\"open />",
        "<USER a=\"b\" y/>",
        "<USER ?? x='y\" b=c>",
        "<USER a=b !\"/>",
        "<USER/ a=\">",
        "<USER/b='c\" '>",
    ];
    for tag in tags {
        let file = format!("> ---\n> {tag}\n\nx\n");
        let document = decode(file.as_str());
        let splices = set_attribute(document.item(0).unwrap(), "n", Some("a \"b\" / 'c'")).unwrap();
        let after = decode(Splice::apply_all(&splices, file.as_bytes()));
        assert_eq!(
            after.item(0).unwrap().attribute("n").as_deref(),
            Some("a \"b\" / 'c'"),
            "{tag}"
        );
        let splices = replace_text(&document, document.item(0).unwrap(), "\n```\n");
        let after = decode(Splice::apply_all(&splices, file.as_bytes()));
        assert_eq!(after.item(0).unwrap().text(), "\n```\n", "{tag}");
    }
}

#[test]
fn a_text_is_replaced_below_its_tag() {
    let document = decode(FILE);
    let splices = replace_text(&document, document.item(0).unwrap(), "new");
    let after = String::from_utf8(Splice::apply_all(&splices, FILE.as_bytes())).unwrap();
    // The file's own line end is that of its first line.
    assert_eq!(after, FILE.replace("\n\n\n  hi\n\n\n", "\n\r\nnew\r\n\r\n"));
    let splices = replace_text(&document, document.item(1).unwrap(), "```\nopen\n");
    let after = String::from_utf8(Splice::apply_all(&splices, FILE.as_bytes())).unwrap();
    assert!(
        after.ends_with("> <ASSISTANT stored=\"lines=3 closed\">\n\r\n```\nopen\n\r\n```\r\n"),
        "{after:?}"
    );
    let after = decode(after);
    let splices = replace_text(&after, after.item(1).unwrap(), "");
    assert!(Splice::apply_all(&splices, after.source()).ends_with(b"> <ASSISTANT>\n"));
}

proptest! {
    #[test]
    fn an_attribute_changes_nothing_else(
        file in generate::file(),
        at in 0..3_usize,
        key in proptest::sample::select(vec!["author", "timestamp", "x-y", "a", "content"]),
        value in proptest::option::of(generate::text()),
    ) {
        let before = decode(file.as_slice());
        let Some(item) = before.item(at) else { return Ok(()) };
        let Ok(splices) = set_attribute(item, key, value.as_deref()) else { return Ok(()) };
        let after = decode(Splice::apply_all(&splices, &file));
        let changed = after.item(at).unwrap();
        prop_assert_eq!(changed.attribute(key), value);
        prop_assert_eq!(changed.text(), item.text());
        let others = |item: ChatItem<'_>| -> Vec<_> {
            item.attributes().into_iter().filter(|(name, _)| name != key).collect()
        };
        prop_assert_eq!(others(changed), others(item));
        let (mut expected, found) = (readings(&before), readings(&after));
        expected[at] = found[at].clone();
        prop_assert_eq!(found, expected);
    }
}
