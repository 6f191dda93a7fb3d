//! Any bytes go through detection and every reader without a crash, in pieces as well as whole; and what was
//! read goes to every format and comes back, or losses say that it does not.

use analects_core::Message;
use analects_formats::convert::{
    FORMATS, Format, ReadOptions, ReadOutput, WriteOptions, WriteOutput, detect,
};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "convert",
    run,
    tokens: &[
        b"{\"messages\":[",
        b"{\"role\":\"user\",\"content\":\"a\"}",
        b"{\"role\":\"tool\",\"tool_call_id\":\"t\",\"content\":\"a\"}",
        b"\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]",
        b"\"system\":\"s\",",
        b"[{\"type\":\"text\",\"text\":\"a\"}]",
        b"{\"v\":1,\"type\":\"user\",\"id\":\"m\",\"content\":\"a\"}\n",
        b"{\"items\":[{\"type\":\"message\",",
        b"\n> ---\n> <USER />\n\n",
        b"# %% [^1]\n\n[^1]: [markdown]\n\n",
        b"]}\n",
        b"\"role\":\"robot\"",
        b"\\ud83d",
        b"null",
        b"[[[[",
    ],
};

fn run(bytes: &[u8]) {
    for name in ["x", "x.json", "x.jsonl", "x.md", "x.msg.md"] {
        detect(bytes, name);
    }
    for from in FORMATS {
        let Some(read) = read(*from, bytes, bytes.len().max(1)) else {
            continue;
        };
        let pieces = self::read(*from, bytes, 7);
        assert_eq!(pieces.as_ref(), Some(&read), "{} in pieces", from.id());
        if read.messages.is_empty() {
            continue;
        }
        for to in FORMATS {
            write(*to, &read.messages);
        }
    }
}

fn read(format: &dyn Format, bytes: &[u8], size: usize) -> Option<ReadOutput> {
    let mut out = ReadOutput::default();
    let mut reader = format.reader(&ReadOptions {
        full: true,
        ..ReadOptions::named("x")
    })?;
    bytes
        .chunks(size)
        .for_each(|piece| reader.feed(piece, &mut out));
    reader.finish(&mut out);
    Some(out)
}

fn write(format: &dyn Format, messages: &[Message]) {
    let mut out = WriteOutput::default();
    let Some(mut writer) = format.writer(&WriteOptions {
        full: true,
        ..Default::default()
    }) else {
        return;
    };
    messages
        .iter()
        .for_each(|message| writer.push(message, &mut out));
    writer.finish(&mut out);
    out.bytes.append(&mut out.tail);
    if let Some(back) = read(format, &out.bytes, out.bytes.len().max(1)) {
        let is_same = back.messages.len() == messages.len();
        assert!(
            is_same || !out.losses.is_empty(),
            "{} lost messages silently",
            format.id()
        );
    }
}
