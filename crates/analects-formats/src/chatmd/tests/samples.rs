//! Real files of the plugin, if there are any on this machine. They are not part of this project.

use std::fs;
use std::path::PathBuf;

use analects_testkit::skip;

use super::*;

/// The bytes of a sample, or a word about why there are none.
fn sample(test: &str, name: &str) -> Option<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let bytes = fs::read(root.join("chat-markdown").join(name)).ok();
    if bytes.is_none() {
        skip(test, &format!("the sample {name} is not here"));
    }
    bytes
}

/// What both generations wrote of one conversation; the other generation's form gives its file.
#[test]
fn both_generations_are_read_and_written() {
    let test = "chatmd::tests::samples::both_generations_are_read_and_written";
    let files = ["v1-2025-05-09.full.md", "v2-2026-06.full.md"];
    let [Some(one), Some(two)] = files.map(|name| sample(test, name)) else {
        return;
    };
    let beijing = TimeZone::fixed(Offset::constant(8));
    let read = |bytes: &[u8]| {
        let document = decode(bytes);
        assert_eq!(document.to_bytes(), bytes);
        assert_eq!(document.problems(), vec![]);
        messages_in(&document, &"s".into(), &beijing).messages
    };
    assert_eq!(read(&one), read(&two));
    let texts: Vec<String> = read(&one).iter().map(Message::text).collect();
    assert_eq!(texts.len(), 7);
    assert_eq!(texts[6], "hidden one");
    for (dialect, file) in [(Dialect::V1, one), (Dialect::V2, two)] {
        let (text, losses) =
            encode_in(&read(&file), &ChatSessionInfo::default(), dialect, &beijing);
        // Text files end with a line end. The plugin would split at the separator in the code.
        let expected = format!("{}\n", String::from_utf8_lossy(&file));
        assert_eq!(text, expected.replace("log(\"> ---\")", "log(\">  ---\")"));
        let lost: Vec<&str> = losses.iter().map(|loss| &*loss.what).collect();
        assert_eq!(lost, ["spacing", "session_id"]);
    }
    let read = read(&sample(test, files[0]).unwrap_or_default());
    let (text, losses) = encode(&read, &ChatSessionInfo::default(), Dialect::Ours);
    assert_eq!(losses, vec![]);
    assert_eq!(messages(&decode(text), &"s".into()).messages, read);
}
