//! Checks of names, media types, levels and words, shared by builders, JSON and drafts.

use super::{CellContent, ItemError};
use crate::msgfile::agents::why_not_a_name;
use crate::msgfile::encode::type_word;
use crate::msgfile::is_fixed_word;
use crate::msgfile::line::is_id;
use crate::msgfile::problems::why_not_a_path;

/// The default media type.
pub(super) const TEXT: &str = "text/plain";

/// The states of an output.
pub(super) const STATES: [&str; 4] = ["success", "failed", "pending", "interrupted"];

/// The type words of messages that can be added.
const MESSAGE_TYPES: [&str; 3] = ["markdown", "code", "raw"];

/// A text as error messages show it.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    format!("{short:?}")
}

/// Checks the name of a cell: an id, or empty to let the file choose one.
pub(super) fn name(name: &str) -> Result<(), ItemError> {
    if name.is_empty() || is_id(name.as_bytes()) {
        return Ok(());
    }
    let error = ItemError::invalid(format!("{} cannot be a name", shown(name)));
    Err(error
        .hinting("a name has 1 to 64 characters, without blanks, control characters and [ ] ^"))
}

/// Checks a nonce: an id without dots, since a dot separates it from the id that it extends.
pub(super) fn nonce(nonce: &str) -> Result<(), ItemError> {
    if is_id(nonce.as_bytes()) && !nonce.contains('.') {
        return Ok(());
    }
    let error = ItemError::invalid(format!("{} cannot be a nonce", shown(nonce)));
    Err(error.hinting("a nonce is 8 characters of 0-9 and a-z, at least one of them a letter"))
}

/// Checks a media type such as `text/plain` or `text/html; charset=utf-8`.
pub(super) fn mime_type(mime_type: &str) -> Result<(), ItemError> {
    let is_token = |word: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        (1..=127).contains(&word.len()) && word.bytes().all(allowed)
    };
    let (essence, parameters) = mime_type.split_once(';').unwrap_or((mime_type, ""));
    let is_plain = parameters
        .bytes()
        .all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let parts = essence.trim_end().split_once('/');
    let is_essence = parts.is_some_and(|(kind, rest)| is_token(kind) && is_token(rest));
    if is_essence && is_plain && mime_type.len() <= 255 {
        return Ok(());
    }
    let error = ItemError::invalid(format!("{} is not a media type", shown(mime_type)));
    Err(error.hinting("write it as type/subtype, such as text/plain or image/png"))
}

/// Checks that bytes are not empty and have a media type of their own.
pub(super) fn content(content: &CellContent, mime_type: &str) -> Result<(), ItemError> {
    let CellContent::Binary(bytes) = content else {
        return Ok(());
    };
    if bytes.is_empty() {
        return Err(ItemError::invalid(
            "binary content must hold at least one byte",
        ));
    }
    if mime_type == TEXT {
        let error = ItemError::invalid("binary content must have a media type of its own");
        return Err(error.hinting("call with_mime_type, for instance with image/png"));
    }
    Ok(())
}

/// Checks the number of `#` of a head.
pub(super) fn heading_level(level: usize) -> Result<(), ItemError> {
    if (1..=5).contains(&level) {
        return Ok(());
    }
    Err(ItemError::invalid(format!(
        "the heading level must be 1 to 5, not {level}"
    )))
}

/// Checks the name of an agent.
pub(super) fn agent_name(name: &str) -> Result<(), ItemError> {
    why_not_a_name(name).map_or(Ok(()), |(_, message)| Err(ItemError::invalid(message)))
}

/// Checks the language of code, which is the type word of its outputs.
pub(super) fn language(lang: &str) -> Result<(), ItemError> {
    let is_word = !lang.is_empty() && lang == lang.trim() && type_word(lang) == lang;
    if is_word && !is_fixed_word(lang) {
        return Ok(());
    }
    let error = ItemError::invalid(format!("{} cannot be a language", shown(lang)));
    Err(error.hinting("write a word such as python, without [ ] = and breaks"))
}

/// Checks the status of an output.
pub(super) fn status(status: &str) -> Result<(), ItemError> {
    if STATES.contains(&status) {
        return Ok(());
    }
    let text = format!(
        "unknown status {}; expected {}",
        shown(status),
        STATES.join(", ")
    );
    Err(ItemError::invalid(text))
}

/// Checks a time.
pub(super) fn time(time: &str) -> Result<(), ItemError> {
    if time.parse::<jiff::Timestamp>().is_ok() {
        return Ok(());
    }
    let error = ItemError::invalid(format!("{} is not a time", shown(time)));
    Err(error.hinting("write it as in 2026-11-15T20:00:00+08:00"))
}

/// Checks the path of an output file.
pub(super) fn output_file(path: &str) -> Result<(), ItemError> {
    let Some(why) = why_not_a_path(path) else {
        return Ok(());
    };
    let text = format!("{} cannot be an output file: {why}", shown(path));
    Err(ItemError::invalid(text).hinting("name a file beside the message file"))
}

/// Checks the type word of a message.
pub(super) fn message_type(word: &str) -> Result<(), ItemError> {
    if MESSAGE_TYPES.contains(&word) {
        return Ok(());
    }
    let text = format!("{} is not a type of message", shown(word));
    Err(ItemError::invalid(format!(
        "{text}; expected {}",
        MESSAGE_TYPES.join(", ")
    )))
}

/// Checks the name of a tool or an agent to call, which XML must be able to hold.
pub(super) fn function_name(name: &str) -> Result<(), ItemError> {
    let is_fine = !name.trim().is_empty() && name.len() <= 255 && !name.contains(char::is_control);
    if is_fine && !name.contains(['\u{fffe}', '\u{ffff}']) {
        return Ok(());
    }
    let error = ItemError::invalid(format!("{} cannot be the name of a function", shown(name)));
    Err(error.hinting("write the name of a tool or of an agent, without control characters"))
}
