//! Single parts of Gemini's contents.

use analects_core::{Raw, RawMap, Source, Text, Thinking};

use super::super::SIGNATURE;
use crate::encoding::{is_sendable_url, is_valid_data, plain_text_document};

/// A part of text.
pub(super) fn text_part(text: &Text) -> RawMap {
    RawMap::from([("text", Raw::string(&text.as_str()))])
}

/// A part of thinking with its signature.
pub(super) fn thought_part(thinking: &Thinking) -> RawMap {
    let signature = thinking.signature.as_deref().unwrap_or_default();
    let mut part = text_part(&thinking.thinking);
    part.push("thought", true.into());
    part.push(SIGNATURE, Raw::string(signature));
    with_fields(part, &thinking.extra)
}

/// A part with more fields.
pub(super) fn with_fields(mut part: RawMap, fields: &RawMap) -> RawMap {
    part.extend(fields.iter());
    part
}

/// The part of an image or a document; `None` if its data is missing, or if it must not be sent.
pub(super) fn source_part(source: &Raw) -> Option<RawMap> {
    match Source::of(source) {
        Some(Source::Base64 { media_type, data }) => {
            is_valid_data(&media_type, &data).then(|| inline_part(&media_type, &data))
        }
        Some(Source::Url(url)) => url_part(&url, source),
        // Where files may be read, their data is in place by now.
        Some(Source::File(_)) => None,
        None => {
            let text = plain_text_document(source)?;
            (!text.is_empty()).then(|| RawMap::from([("text", Raw::string(&text))]))
        }
    }
}

/// Whether Gemini may fetch an address: one of the network, or the name of a file that was uploaded
/// to it.
pub(super) fn is_fetchable(url: &str) -> bool {
    if is_sendable_url(url) {
        return true;
    }
    let uploaded = url.strip_prefix("files/");
    uploaded.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
}

/// A part that contains the data of a file.
fn inline_part(media_type: &str, data: &str) -> RawMap {
    let data = RawMap::from([
        ("mimeType", Raw::string(media_type)),
        ("data", Raw::string(data)),
    ]);
    RawMap::from([("inlineData", data.to_raw())])
}

/// The part of an image or a document by its address. A `data:` URL becomes a part with the data.
fn url_part(url: &str, source: &Raw) -> Option<RawMap> {
    if !is_fetchable(url) {
        return None;
    }
    if let Some((media_type, data)) = split_data_url(url) {
        return Some(inline_part(media_type, data));
    }
    let mut data = RawMap::new();
    if let Some(media_type) = source.as_object()?.string("media_type") {
        data.push("mimeType", Raw::string(&media_type));
    }
    data.push("fileUri", Raw::string(url));
    Some(RawMap::from([("fileData", data.to_raw())]))
}

/// The media type and the data of a `data:` URL in base64.
fn split_data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}
