//! How fast chat Markdown is read, against the least that a reader must do: look at every byte for UTF-8
//! and at every line end.

use std::hint::black_box;
use std::time::Duration;

use analects_formats::chatmd::decode;
use xtask::bench::{Bar, Row};

use crate::message_file::{CHINESE, ENGLISH, MB, SHORT, floor, time};

/// What a file of this many bytes is made of: items whose text is `item` bytes long.
fn file(size: usize, item: usize, line: &str) -> Vec<u8> {
    let mut out = String::with_capacity(size + 2 * item);
    let mut count = 0;
    while out.len() < size {
        count += 1;
        let name = if count % 2 == 1 { "USER" } else { "ASSISTANT" };
        out.push_str(&format!(
            "> ---\n> <{name} author=\"somebody\" timestamp=\"2025-05-07 14:01:32\" />\n\n"
        ));
        let start = out.len();
        while out.len() - start < item {
            out.push_str(line);
            out.push('\n');
        }
        out.push('\n');
    }
    out.into_bytes()
}

/// Time to read a file against the floor of the same file: the two take turns, and the quickest round
/// of each counts.
fn per_floor(name: &'static str, item: usize, line: &str, limit: f64) -> Row {
    let mut source = file(64 * MB, item, line);
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..15 {
        let mut read = Vec::new();
        let reading = time(|| {
            let document = decode(std::mem::take(&mut source));
            black_box(document.items().len());
            read = document.into_source();
        });
        source = read;
        let least = time(|| {
            black_box(floor(&source));
        });
        best = (best.0.min(reading), best.1.min(least));
    }
    let value = best.0.as_secs_f64() / best.1.as_secs_f64();
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(limit),
    }
}

/// English in items of 20 KB.
pub fn english_20k() -> Row {
    per_floor("chat_markdown_20k_english_per_floor", 20_000, ENGLISH, 2.0)
}

/// Chinese in items of 20 KB.
pub fn chinese_20k() -> Row {
    per_floor("chat_markdown_20k_chinese_per_floor", 20_000, CHINESE, 2.0)
}

/// Items of 200 bytes.
pub fn english_200() -> Row {
    per_floor("chat_markdown_200_per_floor", 120, SHORT, 6.0)
}
