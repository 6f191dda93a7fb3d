//! What a message or an output holds: text, or bytes. Base64 exists only in files and in JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::msgfile::base64;

/// Text, or bytes of some media type.
///
/// ```
/// use analects_formats::msgfile::item::Content;
///
/// assert_eq!(Content::from("hello").as_text(), Some("hello"));
/// let picture = Content::from(vec![0x89, b'P', b'N', b'G']);
/// assert_eq!((picture.as_text(), picture.as_bytes()), (None, &b"\x89PNG"[..]));
/// assert_eq!(serde_json::to_string(&picture)?, r#"{"base64":"iVBORw=="}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
}

impl Content {
    /// The bytes of either.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            Content::Binary(bytes) => bytes,
        }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(text),
            Content::Binary(_) => None,
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Text where the bytes are such.
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Content {
        String::from_utf8(bytes).map_or_else(|error| error.into_bytes().into(), Content::Text)
    }

    /// The content that a cell's text stands for: bytes where the cell says base64 and it is such.
    pub(super) fn of_cell(text: Cow<'_, str>, is_base64: bool) -> Content {
        let bytes = if is_base64 {
            base64::decode(&text)
        } else {
            None
        };
        bytes.map_or_else(|| Content::Text(text.into_owned()), Content::Binary)
    }

    /// The text of a cell that holds it.
    pub(super) fn to_cell(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Binary(bytes) => base64::encode(bytes),
        }
    }
}

impl Default for Content {
    fn default() -> Content {
        Content::Text(String::new())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::Text(text.to_string())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Content::Text(text)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content::Binary(bytes)
    }
}

/// Content as JSON: a string, or an object with base64.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Binary { base64: String },
}

impl From<Content> for Form {
    fn from(content: Content) -> Form {
        match content {
            Content::Text(text) => Form::Text(text),
            Content::Binary(bytes) => Form::Binary {
                base64: base64::encode_line(&bytes),
            },
        }
    }
}

impl TryFrom<Form> for Content {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Content, &'static str> {
        match form {
            Form::Text(text) => Ok(Content::Text(text)),
            Form::Binary { base64 } => base64::decode(&base64)
                .map(Content::Binary)
                .ok_or("this is not base64"),
        }
    }
}
