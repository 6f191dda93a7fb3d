//! Any bytes are a transcript: pieces of it are read like the whole, repair loses no line, and a file that
//! was repaired needs no further repair.

use std::hash::{DefaultHasher, Hasher};

use analects_core::Ids;
use analects_formats::transcript::{check, decode, read_line};
use jiff::Timestamp;

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "transcript",
    run,
    tokens: &[
        b"{\"v\":1,\"type\":\"user\",\"id\":\"a\",\"content\":\"x\"}\n",
        b"{\"v\":1,\"type\":\"tombstone\",\"id\":\"t\",\"target\":\"a\"}\n",
        b"{\"v\":1,\"type\":\"progress\",\"id\":\"p\",\"parent_id\":\"a\"}\n",
        b"{\"v\":",
        b"\"id\":\"a\"",
        b"\"id\":\"\"",
        b"\"parent_id\":\"a\"",
        b"\"parent_id\":\"b\"",
        b"\"session_id\":\"s\"",
        b"\"agent_id\":\"helper\"",
        b"\"target\":\"a\"",
        b"\"target_parent\":\"b\"",
        b"\"summary_id\":\"s1\"",
        b"\"kept_from\":\"a\"",
        b"\"type\":\"assistant\"",
        b"\"type\":\"tool_result\"",
        b"\"type\":\"compact_boundary\"",
        b"\"type\":\"summary\"",
        b"\"tool_use_id\":\"c\"",
        b"[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}]",
        b",\"crc\":\"00000000\"}",
        b"\\ud83d",
        b"\0\0\0\0",
    ],
};

/// Names that no input holds, since they depend on all of it.
struct NewNames {
    hash: u64,
    count: u64,
}

impl NewNames {
    fn of(bytes: &[u8]) -> NewNames {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        NewNames {
            hash: hasher.finish(),
            count: 0,
        }
    }
}

impl Ids for NewNames {
    fn uuid(&mut self, _: Timestamp) -> String {
        self.count += 1;
        format!("{:016x}-{}", self.hash, self.count)
    }

    fn nonce(&mut self) -> String {
        self.uuid(Timestamp::UNIX_EPOCH)
    }
}

/// A file as it was repaired, and the lines that went beside it.
struct Repaired {
    file: Vec<u8>,
    aside: Vec<Vec<u8>>,
}

fn run(bytes: &[u8]) {
    let by_lines: usize = lines(bytes)
        .map(|line| read_line(line).messages.len())
        .sum();
    assert_eq!(
        decode(bytes).messages.len(),
        by_lines,
        "a file is its lines"
    );
    let repaired = repair(bytes);
    for line in lines(bytes).filter(|line| !line.trim_ascii().is_empty()) {
        let is_kept = lines(&repaired.file).any(|kept| kept.trim_ascii() == line.trim_ascii());
        assert!(
            is_kept || repaired.aside.iter().any(|aside| aside == line),
            "a line is lost"
        );
    }
    let again = repair(&repaired.file);
    let shown = String::from_utf8_lossy(&repaired.file);
    assert_eq!(
        String::from_utf8_lossy(&again.file),
        shown,
        "one repair is enough"
    );
    assert!(
        again.aside.is_empty(),
        "nothing of a repaired file goes aside"
    );
}

fn repair(bytes: &[u8]) -> Repaired {
    let repair = check(bytes).repair(&mut NewNames::of(bytes), Timestamp::UNIX_EPOCH);
    let mut repaired = Repaired {
        file: Vec::new(),
        aside: Vec::new(),
    };
    for (line, number) in lines(bytes).zip(1..) {
        let mended = repair.line(number, line);
        repaired.file.extend_from_slice(&mended.lines);
        if mended.is_aside {
            repaired.aside.push(line.to_vec());
        }
    }
    repaired.file.extend_from_slice(repair.end().as_bytes());
    repaired
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}
