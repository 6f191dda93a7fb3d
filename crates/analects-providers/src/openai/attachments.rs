//! Images and documents in the forms that OpenAI's APIs accept.

use analects_core::{Block, Document, Image, Source};

use super::OpenAiApi;
use crate::encoding::{
    UNSENDABLE_URL, data_url, file_name, is_sendable_url, is_valid_data, plain_text_document,
};

/// An image or a document, ready to be written.
pub(crate) enum OpenAiAttachment {
    /// The text of a document.
    Text(String),
    /// An image by its address, which may be a `data:` URL.
    Image(String),
    /// A document with its data, as a `data:` URL.
    File { name: String, data: String },
    /// A document by its address.
    FileUrl(String),
}

/// Why a block is not sent: the two parts of a message for people.
pub(crate) struct UnsendableBlock {
    /// What the block is, such as "an image".
    pub what: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Why an image or a document without usable data is not sent. Where files may be read, their data
/// is in place by now.
const NO_DATA: &str = "its bytes are not at hand";

/// Converts an image or a document. `files` says whether the server accepts documents at all.
pub(crate) fn attachment(
    block: &Block,
    api: OpenAiApi,
    files: bool,
) -> Result<OpenAiAttachment, UnsendableBlock> {
    match block {
        Block::Image(block) => image(block).map_err(|why| UnsendableBlock {
            what: "an image",
            why,
        }),
        Block::Document(block) => document(block, api, files).map_err(|why| UnsendableBlock {
            what: "a document",
            why,
        }),
        _ => Err(UnsendableBlock {
            what: "a block",
            why: "its type is unknown",
        }),
    }
}

/// Converts an image. The error says why it is not sent.
fn image(image: &Image) -> Result<OpenAiAttachment, &'static str> {
    match Source::of(&image.source) {
        Some(Source::Base64 { media_type, data }) if is_valid_data(&media_type, &data) => {
            Ok(OpenAiAttachment::Image(data_url(&media_type, &data)))
        }
        Some(Source::Url(url)) if is_sendable_url(&url) => Ok(OpenAiAttachment::Image(url)),
        Some(Source::Url(_)) => Err(UNSENDABLE_URL),
        Some(Source::Base64 { .. } | Source::File(_)) | None => Err(NO_DATA),
    }
}

/// Converts a document. The error says why it is not sent.
fn document(
    document: &Document,
    api: OpenAiApi,
    files: bool,
) -> Result<OpenAiAttachment, &'static str> {
    if let Some(text) = plain_text_document(&document.source) {
        return Ok(OpenAiAttachment::Text(text));
    }
    if !files {
        return Err("this provider takes none");
    }
    match Source::of(&document.source) {
        Some(Source::Base64 { media_type, data }) => file(document, api, &media_type, &data),
        Some(Source::Url(url)) => file_url(api, url),
        Some(Source::File(_)) | None => Err(NO_DATA),
    }
}

/// Converts a document that contains its data.
fn file(
    document: &Document,
    api: OpenAiApi,
    media_type: &str,
    data: &str,
) -> Result<OpenAiAttachment, &'static str> {
    if !is_valid_data(media_type, data) {
        return Err(NO_DATA);
    }
    if api == OpenAiApi::Chat && media_type != "application/pdf" {
        return Err("the API takes PDF files only");
    }
    Ok(OpenAiAttachment::File {
        name: file_name(&document.extra, media_type),
        data: data_url(media_type, data),
    })
}

/// Converts the address of a document, which only the Responses API accepts.
fn file_url(api: OpenAiApi, url: String) -> Result<OpenAiAttachment, &'static str> {
    if !is_sendable_url(&url) {
        return Err(UNSENDABLE_URL);
    }
    if api == OpenAiApi::Chat {
        return Err("the API takes no addresses of documents");
    }
    Ok(OpenAiAttachment::FileUrl(url))
}
