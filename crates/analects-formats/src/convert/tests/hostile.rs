//! Hostile files: deep, large and invalid ones.

use super::*;

/// Every reader takes these bytes without a crash, and what it reads every writer takes.
fn survives(bytes: &[u8]) {
    for from in FORMATS {
        from.recognise(&bytes[..bytes.len().min(HEAD_SIZE)], "x.json");
        let Some(mut reader) = from.reader(&ReadOptions::named("../../x")) else {
            continue;
        };
        let mut out = ReadOutput::default();
        reader.feed(bytes, &mut out);
        reader.finish(&mut out);
        for to in FORMATS {
            if to.writer(&WriteOptions::default()).is_some() {
                write(*to, &out.messages);
            }
        }
    }
}

#[test]
fn json_nested_a_hundred_thousand_deep() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    survives(open.as_bytes());
    survives("{\"a\":".repeat(100_000).as_bytes());
    let deep = format!("{open}{close}");
    survives(format!("{{\"messages\":[{{\"role\":\"user\",\"content\":{deep}}}]}}").as_bytes());
    let (open, close) = ("[".repeat(20_000), "]".repeat(20_000));
    let deep = format!("{open}{close}");
    survives(
        format!("{{\"messages\":[{{\"role\":\"user\",\"x\":{deep}}}],\"y\":{deep}}}").as_bytes(),
    );
    survives(deep.as_bytes());
    survives(format!("{{\"items\":[{{\"type\":\"message\",\"x\":{deep}}}]}}").as_bytes());
    survives(format!("{{\"v\":1,\"type\":\"user\",\"id\":\"a\",\"x\":{deep}}}\n").as_bytes());
    let objects = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    survives(format!("[{{\"role\":\"user\",\"content\":\"a\",\"x\":{objects}}}]").as_bytes());
}

#[test]
fn deep_nesting_survives() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let file = format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"a\",\"x\":{deep}}}]}}");
    let openai = format_named("openai");
    let said = read(openai, file.as_bytes()).messages;
    let written = write(openai, &said);
    assert!(written.losses.is_empty());
    assert!(String::from_utf8(written.bytes).unwrap().contains(&deep));
}

fn format_named(id: &str) -> &'static dyn Format {
    format_by_id(id).unwrap()
}

#[test]
fn odd_bytes() {
    survives(b"");
    survives(b"\xff\xfe\x00");
    survives(b"\xef\xbb\xbf");
    survives(b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}");
    survives(b"{\"role\":\"user\",\"content\":\"\xff\"}\n{\"role\":\"user\"}\nnonsense\n{}\n[]\n");
    survives(b"{\"messages\":7}");
    survives(b"[[[],{}],{\"messages\":[1,null,{\"role\":3}]}]");
    survives("\u{202e}\u{1b}]0;title\u{7}".as_bytes());
}

#[test]
fn invalid_utf8_is_a_problem() {
    for file in [
        &b"[{\"role\":\"user\",\"content\":\"\xff\"}]"[..],
        b"{\"role\":\"user\",\"content\":\"\xff\"}\n",
    ] {
        let found = read(format_named("openai"), file);
        let codes: Vec<&str> = found
            .problems
            .iter()
            .map(|problem| &*problem.code)
            .collect();
        assert_eq!(codes, ["not-utf8"]);
        assert_eq!(found.messages.last().unwrap().text(), "\u{fffd}");
    }
}

#[test]
fn a_file_of_a_gigabyte_is_a_problem_and_takes_no_memory() {
    let piece = vec![b'x'; 1 << 20];
    for id in ["openai", "msgfile"] {
        let mut reader = format_named(id).reader(&ReadOptions::named("x")).unwrap();
        let mut out = ReadOutput::default();
        reader.feed(b"{\"", &mut out);
        for _ in 0..1024 {
            reader.feed(&piece, &mut out);
        }
        reader.finish(&mut out);
        let codes: Vec<&str> = out.problems.iter().map(|problem| &*problem.code).collect();
        assert_eq!(codes, ["file-too-large"], "{id}");
    }
}

#[test]
fn unreadable_lines_do_not_affect_others() {
    let file = b"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\nnonsense\n{\"x\":1}\n\
        {\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n";
    let found = read(format_named("openai"), file);
    let texts: Vec<String> = found.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["a", "b"]);
    let codes: Vec<(&str, usize)> = found.problems.iter().map(|p| (&*p.code, p.line)).collect();
    assert_eq!(codes, [("unreadable-line", 2), ("no-messages", 3)]);
    assert_ne!(found.messages[0].session_id, found.messages[1].session_id);
}
