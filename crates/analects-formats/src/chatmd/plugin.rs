//! What the plugin's own readers make of a text. They split a file at every `> ---`, know no escapes and
//! no entities, and trim; so some texts must be changed a little before they can be written for them.

use std::borrow::Cow;

use super::attributes::decode_entities;
use super::content::{DIV, rewrite};
use crate::msgfile::encode::open_fence;

/// A text as it can be written for the plugin.
pub(super) fn soften(text: &str) -> String {
    // What JavaScript trims.
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    // To Markdown these say the same.
    let text = text.replace("> ---", ">  ---").replace(DIV, &DIV.replacen(' ', "  ", 1));
    let mut text = rewrite(&text, 0, |line| format!(" {line}")).into_owned();
    if let Some(closer) = open_fence(&text) {
        text.push('\n');
        text.push_str(&closer);
    }
    text
}

/// A value as it can be written for the plugin.
pub(super) fn soften_value(value: &str) -> String {
    let mut value: String = value
        .chars()
        .map(|c| match c {
            '"' => '\'',
            '>' | '\n' | '\r' => '_',
            c => c,
        })
        .collect();
    // Others do read entities.
    while let Cow::Owned(decoded) = decode_entities(&value)
        && decoded != value
    {
        value = decoded.replace(['"', '>', '\n', '\r'], "_");
    }
    value
}
