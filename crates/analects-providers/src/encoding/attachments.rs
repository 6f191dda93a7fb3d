//! Images and documents on their way out: their data, their names, and which addresses a provider
//! may be asked to fetch.

use analects_core::{Raw, RawMap, replace_lone_surrogates};
use serde_json::Value;

/// Why an address is not sent.
pub(crate) const UNSENDABLE_URL: &str = "only http, https, gs and data addresses are sent";

/// Whether a provider may be asked to fetch an address from a conversation. For a `file:` address,
/// a server on this machine could read any file, so only network addresses and addresses that
/// contain their data are sent.
pub(crate) fn is_sendable_url(url: &str) -> bool {
    let Some((scheme, _)) = url.trim_start().split_once(':') else {
        return false;
    };
    let scheme = scheme.to_ascii_lowercase();
    matches!(scheme.as_str(), "http" | "https" | "gs" | "data")
}

/// Whether a media type and base64 data consist of the characters that they may have. Otherwise,
/// the two could make up another address than a `data:` URL.
pub(crate) fn is_valid_data(media_type: &str, data: &str) -> bool {
    media_type.chars().all(is_media_type_char) && data.bytes().all(is_base64_byte)
}

/// Whether a media type may contain a character.
fn is_media_type_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/.+-_".contains(c)
}

/// Whether base64 may contain this byte, in its usual or its URL-safe alphabet, with line breaks.
fn is_base64_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_-\r\n".contains(&byte)
}

/// An image or a document as a URL that contains its data.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// The file name of a document, which the APIs require: its own name, its title, or one made from
/// its type.
pub(crate) fn file_name(extra: &RawMap, media_type: &str) -> String {
    let own = extra.string("filename").or_else(|| extra.string("title"));
    match own {
        Some(name) if !name.trim().is_empty() => name,
        _ => format!("document.{}", file_extension(media_type)),
    }
}

/// The extension of a file of this type, as far as one is known.
fn file_extension(media_type: &str) -> &str {
    match media_type {
        "text/plain" => "txt",
        "text/markdown" => "md",
        other => other.rsplit('/').next().unwrap_or("bin"),
    }
}

/// The text of a document whose source is plain text; `None` for any other source.
pub(crate) fn plain_text_document(source: &Raw) -> Option<String> {
    let source = source.as_object()?;
    if source.string("type")? != "text" {
        return None;
    }
    source.string("data")
}

/// Whether any string in this JSON is the address of a local file, in whatever spelling.
pub(crate) fn mentions_local_file(raw: &Raw) -> bool {
    let json = raw.as_str();
    // An escape may stand for a letter, or between two letters.
    let is_possible = json.contains('\\') || json.to_ascii_lowercase().contains("file:");
    if !is_possible {
        return false;
    }
    match serde_json::from_str(replace_lone_surrogates(raw).as_str()) {
        Ok(value) => has_file_address(&value),
        // JSON that is nested too deeply to be read is not sent on trust.
        Err(_) => true,
    }
}

/// Searches without recursion: the caller's JSON decides how deep it is.
fn has_file_address(root: &Value) -> bool {
    let mut pending: Vec<&Value> = vec![root];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if is_file_address(text) => return true,
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => pending.extend(members.values()),
            _ => {}
        }
    }
    false
}

/// Whether a program may read a text as a `file:` address. Many skip blanks and control characters.
fn is_file_address(text: &str) -> bool {
    let letters = text
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace());
    let scheme: String = letters.take(5).collect();
    scheme.eq_ignore_ascii_case("file:")
}
