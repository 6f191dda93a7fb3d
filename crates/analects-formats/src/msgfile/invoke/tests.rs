//! Tests of tool calls: how they look, what hands may write, and what is refused.

use super::*;

mod laws;

fn json(name: &str, text: &str) -> Invoke {
    let arguments = Arguments::Json(Raw::parse(text).unwrap());
    Invoke {
        name: name.to_string(),
        arguments,
    }
}

fn text(name: &str, text: &str) -> Invoke {
    Invoke {
        name: name.to_string(),
        arguments: Arguments::Text(text.to_string()),
    }
}

/// A call of the tool `t` looks like this between its `<invoke>` lines, and comes back.
#[track_caller]
fn check(call: &Invoke, inside: &str) {
    let encoded = encode(call).unwrap();
    assert_eq!(encoded, format!("<invoke name=\"t\">\n{inside}</invoke>"));
    assert_eq!(decode(&encoded).as_ref(), Ok(call));
}

#[track_caller]
fn check_parameter(value: &str, element: &str) {
    check(
        &json("t", &format!("{{\"a\":{value}}}")),
        &format!("<parameter name=\"a\"{element}\n"),
    );
}

#[track_caller]
fn check_whole(arguments: &str, inside: &str) {
    let inside = format!("<arguments type=\"json\">{inside}</arguments>\n");
    check(&json("t", arguments), &inside);
}

#[test]
fn strings_are_bare() {
    check_parameter("\"Paris\"", ">Paris</parameter>");
    check_parameter("\"\"", "></parameter>");
    check_parameter("\"  \\n a \\n\"", ">  \n a \n</parameter>");
    check_parameter("\"a\\tb\\rc\\r\\n\"", ">a\tb&#13;c&#13;\n</parameter>");
    check_parameter(
        "\"1 < 2 && 3 > 2\"",
        ">1 &lt; 2 &amp;&amp; 3 &gt; 2</parameter>",
    );
    check_parameter("\"]]> &amp; \\\"'\"", ">]]&gt; &amp;amp; \"'</parameter>");
    check_parameter(
        "\"论语 \\u2028\\u007f👩‍💻\"",
        ">论语 \u{2028}\u{7f}👩‍💻</parameter>",
    );
    check_parameter("\"3\"", ">3</parameter>");
}

#[test]
fn other_values_are_json() {
    for value in [
        "3",
        "-0",
        "1e400",
        "123456789012345678901234567890",
        "null",
        "true",
        "[ 1,\t2 ]",
    ] {
        check_parameter(value, &format!(" type=\"json\">{value}</parameter>"));
    }
    check_parameter(
        "{\"b\":\"<\"}",
        " type=\"json\">{\"b\":\"&lt;\"}</parameter>",
    );
    // Strings that no text stands for, or that are spelled in another way than ours.
    for value in [
        "\"\\ud83d\"",
        "\"\\u0000\"",
        "\"\\u0041\"",
        "\"\\/\"",
        "\"\\ufffe\"",
        "\"\u{7f}\"",
    ] {
        check_parameter(value, &format!(" type=\"json\">{value}</parameter>"));
    }
}

#[test]
fn names_are_escaped() {
    let call = json("a\"<&>'\t\r\n b", "{\"\":1,\" \\n\":\"x\",\"论\":\"y\"}");
    let encoded = encode(&call).unwrap();
    let expected = "<invoke name=\"a&quot;&lt;&amp;&gt;'&#9;&#13;&#10; b\">\n\
        <parameter name=\"\" type=\"json\">1</parameter>\n\
        <parameter name=\" &#10;\">x</parameter>\n\
        <parameter name=\"论\">y</parameter>\n</invoke>";
    assert_eq!(encoded, expected);
    assert_eq!(decode(&encoded), Ok(call));
}

#[test]
fn what_parameters_cannot_say_is_written_whole() {
    check(&json("t", "{}"), "");
    check_whole("{ }", "{ }");
    check_whole("{\"a\": 1}", "{\"a\": 1}");
    check_whole("{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}");
    check_whole("{\"\\u0061\":1}", "{\"\\u0061\":1}");
    check_whole("{\"\\u0000\":\"<\"}", "{\"\\u0000\":\"&lt;\"}");
    check_whole("{\"\\ud83d\":1}", "{\"\\ud83d\":1}");
    check_whole("[1]", "[1]");
    check_whole("\"a\"", "\"a\"");
    check_whole("null", "null");
}

#[test]
fn text_that_is_not_json() {
    check(
        &text("t", "{\"a\": "),
        "<arguments type=\"text\">{\"a\": </arguments>\n",
    );
    check(&text("t", ""), "<arguments type=\"text\"></arguments>\n");
    check(
        &text("t", "{}"),
        "<arguments type=\"text\">{}</arguments>\n",
    );
    check(
        &text("t", " \r\n<a>"),
        "<arguments type=\"text\"> &#13;\n&lt;a&gt;</arguments>\n",
    );
}

#[test]
fn what_xml_cannot_carry() {
    for name in ["\0", "a\u{1b}", "\u{fffe}", "\u{ffff}"] {
        assert_eq!(encode(&json(name, "{}")), None, "{name:?}");
        assert_eq!(encode(&text("t", name)), None, "{name:?}");
    }
    for arguments in [
        "\"\u{fffe}\"",
        "{\"a\":\"\u{ffff}\"}",
        "{\"a\":[\"\u{fffe}\"]}",
        "{\"\u{fffe}\":1}",
    ] {
        assert_eq!(encode(&json("t", arguments)), None, "{arguments:?}");
    }
}

#[test]
fn written_by_hand() {
    let table = [
        ("<invoke name='t'/>", json("t", "{}")),
        ("  <invoke\n name = \"t\" ></invoke >\n\n", json("t", "{}")),
        (
            "<?xml version=\"1.0\"?>\n<!-- a --><invoke name='t'><!-- - -- --></invoke><!---->",
            json("t", "{}"),
        ),
        (
            "<invoke name='a\"&apos;&#65;&#x4e2D;&#0013;\n\t\r\nb'/>",
            json("a\"'A中\r   b", "{}"),
        ),
        (
            "<invoke name='t'>\r\n\t<parameter name='a'/>\r\n</invoke>",
            json("t", "{\"a\":\"\"}"),
        ),
        (
            "<invoke name='t'><parameter name='a'> b<!-- c -->\r\n\rd</parameter></invoke>",
            json("t", "{\"a\":\" b\\n\\nd\"}"),
        ),
        (
            "<invoke name='t'><parameter name='a'>1<![CDATA[<b>&lt;]]]]>2]]>3</parameter></invoke>",
            json("t", "{\"a\":\"1<b>&lt;]]2]]>3\"}"),
        ),
        (
            "<invoke name='t'><parameter type='json' name='a'>\n [1,\n2] \n</parameter></invoke>",
            json("t", "{\"a\":[1, 2]}"),
        ),
        (
            "<invoke name='t'><parameter name='a' type='text'>1</parameter></invoke>",
            json("t", "{\"a\":\"1\"}"),
        ),
        (
            "<invoke name='t'><arguments type='json'> {\"a\" : 1} </arguments></invoke>",
            json("t", "{\"a\" : 1}"),
        ),
        (
            "<invoke name='t'><arguments type='text'/></invoke>",
            text("t", ""),
        ),
        (
            "<invoke name='t'><parameter name='a&#10;\"' type='json'>1</parameter></invoke>",
            json("t", "{\"a\\n\\\"\":1}"),
        ),
    ];
    for (source, call) in table {
        assert_eq!(decode(source), Ok(call), "{source}");
    }
}

/// Texts that are not calls, where that shows, and what is said about it.
const REFUSED: &[(&str, usize, &str)] = &[
    ("", 0, "expected <invoke>, found the end"),
    ("weather(1)", 0, "expected <invoke>, found 'w'"),
    ("</invoke>", 0, "expected <invoke name=\"…\">"),
    ("<call name='t'/>", 0, "expected <invoke name=\"…\">"),
    ("<invoke/>", 0, "<invoke> has no name=\"…\""),
    (
        "<invoke name='t'/>x",
        18,
        "expected nothing after </invoke>, found 'x'",
    ),
    (
        "<invoke name='t'/><invoke name='u'/>",
        18,
        "expected nothing after </invoke>, found a tag",
    ),
    (
        "<invoke name='t'>",
        17,
        "expected <parameter> or </invoke>, found the end",
    ),
    ("<invoke name='t'></invok>", 17, "expected </invoke>"),
    (
        "<invoke name='t'>a</invoke>",
        17,
        "expected <parameter> or </invoke>, found 'a'",
    ),
    (
        "<invoke name='t'><b/></invoke>",
        17,
        "unknown element <b>; expected <parameter>",
    ),
    (
        "<invoke name='t' id='1'/>",
        17,
        "unknown or repeated attribute \"id\" of <invoke>",
    ),
    (
        "<invoke name='t' name='u'/>",
        17,
        "unknown or repeated attribute \"name\" of <invoke>",
    ),
    ("<invoke name=t/>", 13, "expected a quote, found 't'"),
    ("<invoke name/>", 12, "expected = after \"name\", found '/'"),
    (
        "<invoke name='t",
        15,
        "expected ' after the attribute's value",
    ),
    (
        "<invoke name=\"a<b\"/>",
        15,
        "expected \" after the attribute's value",
    ),
    (
        "<invoke name='t' \"/>",
        17,
        "expected an attribute or >, found '\"'",
    ),
    (
        "< invoke name='t'/>",
        1,
        "expected the name of an element, found ' '",
    ),
    (
        "<!DOCTYPE a [<!ENTITY b 'c'>]><invoke name='t'/>",
        0,
        "a document type or other declaration is not allowed",
    ),
    (
        "<invoke name='t'><!ENTITY b 'c'></invoke>",
        17,
        "a document type or other declaration is not allowed",
    ),
    (
        "<?php ?><invoke name='t'/>",
        0,
        "a processing instruction is not allowed here",
    ),
    (
        "<?xml <invoke name='t'/>",
        0,
        "the XML declaration has no end; expected ?>",
    ),
    (
        "<!--><invoke name='t'/>",
        0,
        "the comment has no end; expected -->",
    ),
    (
        "<invoke name='t'><![CDATA[ ]]></invoke>",
        17,
        "CDATA is allowed only inside <parameter> and <arguments>",
    ),
    (
        "<invoke name='&b;'/>",
        14,
        "unknown entity; write & as &amp;",
    ),
    ("<invoke name='a\0'/>", 15, "'\\0' is not allowed in XML"),
];

#[test]
fn refused() {
    for (source, offset, message) in REFUSED {
        let error = InvokeError {
            offset: *offset,
            message: message.to_string(),
        };
        assert_eq!(decode(source), Err(error), "{source}");
    }
}

/// The same between `<invoke name='t'>` and `</invoke>`; offsets count from there.
const REFUSED_INSIDE: &[(&str, usize, &str)] = &[
    (
        "<parameter>1</parameter>",
        0,
        "<parameter> has no name=\"…\"",
    ),
    ("<parameter name='a'>", 20, "expected </parameter>"),
    (
        "<parameter name='a'>1 < 2</parameter>",
        22,
        "an element inside <parameter>; write < as &lt;",
    ),
    (
        "<parameter name='a'>a && b</parameter>",
        22,
        "unknown entity; write & as &amp;",
    ),
    (
        "<parameter name='a'>&#0;</parameter>",
        20,
        "unknown entity; write & as &amp;",
    ),
    (
        "<parameter name='a'>&#+65;</parameter>",
        20,
        "unknown entity; write & as &amp;",
    ),
    (
        "<parameter name='a'>&#xd800;</parameter>",
        20,
        "unknown entity; write & as &amp;",
    ),
    (
        "<parameter name='a'>&#论;</parameter>",
        20,
        "unknown entity; write & as &amp;",
    ),
    (
        "<parameter name='a'>论\u{1b}</parameter>",
        23,
        "'\\u{1b}' is not allowed in XML",
    ),
    (
        "<parameter name='a'><![CDATA[</parameter>",
        20,
        "CDATA has no end",
    ),
    (
        "<parameter name='a'>1</arguments>",
        21,
        "expected </parameter>",
    ),
    (
        "<parameter name='a' type='int'>1</parameter>",
        0,
        "unknown type \"int\" of <parameter>; expected json or text",
    ),
    (
        "<arguments>1</arguments>",
        0,
        "<arguments> has no type=\"…\"; expected json or text",
    ),
    (
        "<parameter name='a' type='json'>Paris</parameter>",
        32,
        "not JSON: expected value at line 1 column 1",
    ),
    (
        "<parameter name='a' type='json'/>",
        33,
        "not JSON: EOF while parsing a value at line 1 column 0",
    ),
    (
        "<parameter name='a'/><parameter name='a'/>",
        21,
        "parameter \"a\" is there twice",
    ),
    (
        "<arguments type='text'/><parameter name='a'/>",
        24,
        "<arguments> stands for all arguments; expected nothing else",
    ),
    (
        "<parameter name='a'/><arguments type='text'/>",
        21,
        "<arguments> stands for all arguments; expected nothing else",
    ),
];

#[test]
fn refused_inside() {
    for (inside, offset, message) in REFUSED_INSIDE {
        let source = format!("<invoke name='t'>{inside}</invoke>");
        let offset = offset + "<invoke name='t'>".len();
        assert_eq!(
            decode(&source),
            Err(InvokeError {
                offset,
                message: message.to_string()
            }),
            "{source}"
        );
    }
}

#[test]
fn hostile_text_takes_no_noticeable_time() {
    for part in [
        "&",
        "<",
        "<!--",
        "<!-- -->",
        "<![CDATA[",
        "<a ",
        "\"",
        "<invoke name='t'>",
        "</",
        "&#",
    ] {
        let many = part.repeat(1_000_000 / part.len());
        for start in [
            "",
            "<invoke name='t'><parameter name='a'>",
            "<invoke name='",
            "<invoke ",
        ] {
            assert!(decode(&format!("{start}{many}")).is_err(), "{start}{part}…");
        }
    }
    let call = text(&"&<".repeat(250_000), &"<&".repeat(250_000));
    assert_eq!(decode(&encode(&call).unwrap()), Ok(call));
}

#[test]
fn many_attributes_and_many_parameters() {
    let attributes = "a='' ".repeat(100_000);
    let error = decode(&format!("<invoke name='t' {attributes}/>")).unwrap_err();
    assert_eq!(error.offset, 17);
    let entries: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":\"v\"")).collect();
    let call = json("t", &format!("{{{}}}", entries.join(",")));
    let encoded = encode(&call).unwrap();
    assert_eq!(encoded.lines().count(), 100_002);
    assert_eq!(decode(&encoded), Ok(call));
}

#[test]
fn deep_json() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check_parameter(&deep, &format!(" type=\"json\">{deep}</parameter>"));
    check_whole(&deep, &deep);
}
