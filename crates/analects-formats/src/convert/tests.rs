//! Tests of the conversion, and of the laws that every format keeps.

use super::*;
use crate::chatmd::Dialect;

mod chunks;
mod detection;
mod exact_forms;
mod hostile;
mod laws;
mod samples;
mod severities;
mod values;

/// The name under which all files are read here, so that names made from it are the same.
const NAME: &str = "talk";

/// What is read of a file.
pub(super) fn read(format: &dyn Format, bytes: &[u8]) -> ReadOutput {
    let mut out = ReadOutput::default();
    let options = ReadOptions {
        full: true,
        ..ReadOptions::named(NAME)
    };
    let mut reader = format.reader(&options).unwrap();
    reader.feed(bytes, &mut out);
    reader.finish(&mut out);
    out
}

/// What is written of a conversation.
pub(super) fn write(format: &dyn Format, messages: &[Message]) -> WriteOutput {
    write_in(format, messages, Dialect::Ours)
}

fn write_in(format: &dyn Format, messages: &[Message], dialect: Dialect) -> WriteOutput {
    let mut out = WriteOutput::default();
    let options = WriteOptions {
        name: NAME.to_string(),
        dialect,
        full: true,
        ..WriteOptions::default()
    };
    let mut writer = format.writer(&options).unwrap();
    for message in messages {
        writer.push(message, &mut out);
    }
    writer.finish(&mut out);
    let tail = std::mem::take(&mut out.tail);
    out.bytes.extend(tail);
    out
}

/// The formats that can be read and written.
pub(super) fn both_ways() -> Vec<&'static dyn Format> {
    let options = (ReadOptions::named(NAME), WriteOptions::default());
    let is_both = |format: &&'static dyn Format| {
        format.reader(&options.0).is_some() && format.writer(&options.1).is_some()
    };
    FORMATS.iter().copied().filter(is_both).collect()
}
