//! The content of a message or an output: text or bytes. Base64 is used only in files and in JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::msgfile::base64;

/// Text, or bytes of some media type.
///
/// ```
/// use analects_formats::msgfile::item::CellContent;
///
/// assert_eq!(CellContent::from("hello").as_text(), Some("hello"));
/// let picture = CellContent::from(vec![0x89, b'P', b'N', b'G']);
/// assert_eq!((picture.as_text(), picture.as_bytes()), (None, &b"\x89PNG"[..]));
/// assert_eq!(serde_json::to_string(&picture)?, r#"{"base64":"iVBORw=="}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ContentJson", into = "ContentJson")]
pub enum CellContent {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
}

impl CellContent {
    /// The bytes of either.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            CellContent::Text(text) => text.as_bytes(),
            CellContent::Binary(bytes) => bytes,
        }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            CellContent::Text(text) => Some(text),
            CellContent::Binary(_) => None,
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// The bytes as text if they are UTF-8.
    pub(super) fn of_bytes(bytes: Vec<u8>) -> CellContent {
        String::from_utf8(bytes).map_or_else(|error| error.into_bytes().into(), CellContent::Text)
    }

    /// The content of a cell: bytes if the cell says base64 and its text is valid base64, else text.
    pub(super) fn of_cell(text: Cow<'_, str>, is_base64: bool) -> CellContent {
        let bytes = if is_base64 {
            base64::decode(&text)
        } else {
            None
        };
        bytes.map_or_else(|| CellContent::Text(text.into_owned()), CellContent::Binary)
    }

    /// The text of a cell with this content.
    pub(super) fn to_cell(&self) -> String {
        match self {
            CellContent::Text(text) => text.clone(),
            CellContent::Binary(bytes) => base64::encode(bytes),
        }
    }
}

impl Default for CellContent {
    fn default() -> CellContent {
        CellContent::Text(String::new())
    }
}

impl From<&str> for CellContent {
    fn from(text: &str) -> CellContent {
        CellContent::Text(text.to_string())
    }
}

impl From<String> for CellContent {
    fn from(text: String) -> CellContent {
        CellContent::Text(text)
    }
}

impl From<Vec<u8>> for CellContent {
    fn from(bytes: Vec<u8>) -> CellContent {
        CellContent::Binary(bytes)
    }
}

/// Content as JSON: a string, or an object with base64.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ContentJson {
    Text(String),
    Binary { base64: String },
}

impl From<CellContent> for ContentJson {
    fn from(content: CellContent) -> ContentJson {
        match content {
            CellContent::Text(text) => ContentJson::Text(text),
            CellContent::Binary(bytes) => ContentJson::Binary {
                base64: base64::encode_line(&bytes),
            },
        }
    }
}

impl TryFrom<ContentJson> for CellContent {
    type Error = &'static str;

    fn try_from(form: ContentJson) -> Result<CellContent, &'static str> {
        match form {
            ContentJson::Text(text) => Ok(CellContent::Text(text)),
            ContentJson::Binary { base64 } => base64::decode(&base64)
                .map(CellContent::Binary)
                .ok_or("this is not base64"),
        }
    }
}
