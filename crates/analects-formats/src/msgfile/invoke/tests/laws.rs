//! Laws of tool calls: whatever a model calls a tool with comes back, byte for byte.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// What is likely to trouble a reader or a writer of XML or JSON.
const PARTS: &[&str] = &[
    "a",
    " ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "&",
    "&lt;",
    "&#13;",
    "&b;",
    "<",
    ">",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "\"",
    "'",
    "\\",
    "\0",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{fffe}",
    "\u{ffff}",
    "论",
    "</parameter>",
    "</arguments>",
    "</invoke>",
    "\u{feff}",
    "👩‍💻",
];

fn any_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => vec(select(PARTS), 0..6).prop_map(|parts| parts.concat()),
        2 => "[a-c]{0,2}",
        1 => any::<String>(),
    ]
    .boxed()
}

/// A JSON string: as we write it, or in some other spelling.
fn any_string() -> BoxedStrategy<String> {
    let odd = [
        "\"\\ud83d\"",
        "\"\\ude00\\ud83d\"",
        "\"\\u0061\"",
        "\"\\/\"",
        "\"\\b\"",
        "\"\\u0000\"",
        "\"\\uFFFE\"",
        "\"\u{7f}\"",
    ];
    let ours = any_text().prop_map(|text| Raw::string(&text).to_string());
    prop_oneof![4 => ours, 1 => select(odd.to_vec()).prop_map(str::to_string)].boxed()
}

fn any_json() -> BoxedStrategy<String> {
    let odd = [
        "null",
        "true",
        "-0",
        "1e400",
        "0.10",
        "123456789012345678901234567890",
        "[]",
        "{}",
        "{ }",
    ];
    let leaf = prop_oneof![any_string(), select(odd.to_vec()).prop_map(str::to_string)];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let list = (vec(inner.clone(), 0..4), blanks())
            .prop_map(|(items, blank)| format!("[{blank}{}]", items.join(&format!("{blank},"))));
        prop_oneof![list, any_object(inner)]
    })
    .boxed()
}

fn blanks() -> BoxedStrategy<&'static str> {
    prop_oneof![6 => Just(""), 1 => select(vec![" ", "\t", "\n", "\r\n  "])].boxed()
}

fn any_object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let entry = (any_string(), value);
    (vec(entry, 0..5), blanks()).prop_map(|(entries, blank)| {
        let entries: Vec<String> = entries
            .iter()
            .map(|(key, value)| format!("{key}:{blank}{value}"))
            .collect();
        format!("{{{blank}{}}}", entries.join(","))
    })
}

fn any_call() -> impl Strategy<Value = Invoke> {
    let arguments = prop_oneof![
        6 => any_object(any_json()).prop_map(|text| Arguments::Json(Raw::parse(&text).unwrap())),
        2 => any_json().prop_map(|text| Arguments::Json(Raw::parse(&text).unwrap())),
        1 => any_text().prop_map(Arguments::Text),
    ];
    (any_text(), arguments).prop_map(|(name, arguments)| Invoke { name, arguments })
}

/// How many cases to try; `PROPTEST_CASES` asks for more.
fn cases(usual: u32) -> u32 {
    ProptestConfig::default().cases.max(usual)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024)))]

    #[test]
    fn a_call_comes_back(call in any_call()) {
        match encode(&call) {
            Some(encoded) => {
                prop_assert!(xml::carries(&encoded), "not XML: {encoded:?}");
                prop_assert_eq!(decode(&encoded), Ok(call));
            }
            None => {
                let Invoke { name, arguments: Arguments::Json(raw) } = &call else {
                    return Ok(());
                };
                prop_assert!(!xml::carries(name) || !xml::carries(raw.as_str()));
            }
        }
    }

    #[test]
    fn line_ends_that_an_editor_changed_change_nothing(call in any_call()) {
        if let Some(encoded) = encode(&call) {
            prop_assert_eq!(decode(&encoded.replace('\n', "\r\n")), Ok(call));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(parts in vec(any_text(), 0..6), start in any::<bool>()) {
        let start = if start { "<invoke name='t'><parameter name='a'>" } else { "" };
        let source = format!("{start}{}", parts.concat());
        match decode(&source) {
            Ok(call) => if let Some(encoded) = encode(&call) {
                prop_assert_eq!(decode(&encoded), Ok(call));
            },
            Err(error) => prop_assert!(source.is_char_boundary(error.offset)),
        }
    }
}
