//! Outputs in files beside the message file, which `output_file` names. Nothing is read here: a caller that may read the
//! files attaches what they hold to the document, and from then on the cells have that content.

use std::borrow::Cow;
use std::collections::HashMap;

use analects_core::{History, Span};

use super::problems::why_not_a_path;
use super::{Cell, CellKind, Document, MetaKey, base64};

/// An output that is in a file, not in its cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path, relative to the message file. It never leads out of that file's folder, but links are not resolved.
    pub path: String,
    /// Whether the output may not be there yet.
    pub is_pending: bool,
    /// The metadata that names it.
    pub span: Span,
}

/// What stands for the text of a cell whose output is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachedOutput {
    /// What the file holds.
    Bytes(Vec<u8>),
    /// A text that says why its content is not here.
    Note(String),
}

impl Document {
    /// The outputs that are in files: cells without content whose `output_file` is a valid path. Hidden ones are left
    /// out.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use analects_formats::msgfile::{AttachedOutput, decode};
    ///
    /// let mut document = decode("# %%% [^2]\n\n[^2]: [coder] output_file=\"answers/2.md\"\n");
    /// assert_eq!(document.output_files()[0].path, "answers/2.md");
    /// let bytes = AttachedOutput::Bytes(b"Forty-two.".to_vec());
    /// document.attach_outputs(HashMap::from([("answers/2.md".to_string(), bytes)]));
    /// assert_eq!(document.cell("2").unwrap().content(), "Forty-two.");
    /// ```
    pub fn output_files(&self) -> Vec<OutputFile> {
        let mut found = Vec::new();
        for cell in self.cells() {
            let path = cell
                .output_path()
                .filter(|path| why_not_a_path(path).is_none());
            let (Some(path), Some(span)) = (path, cell.meta_span()) else {
                continue;
            };
            if cell.history() != Some(History::Exclude) {
                found.push(OutputFile {
                    path: path.to_string(),
                    is_pending: cell.get(MetaKey::Status) == Some("pending"),
                    span,
                });
            }
        }
        found
    }

    /// Gives cells the content of the files that they name.
    pub fn attach_outputs(&mut self, outputs: HashMap<String, AttachedOutput>) {
        self.outputs = outputs;
    }

    /// A copy of this document, to attach outputs to.
    #[must_use]
    pub fn to_reading_copy(&self) -> Document {
        self.with_source_within_section(self.source.clone())
    }
}

impl<'a> Cell<'a> {
    /// Whether its content is in a file that nobody has attached.
    pub(super) fn is_elsewhere(self) -> bool {
        self.output_path().is_some() && self.attached().is_none()
    }

    /// The path of the file that its content is in.
    fn output_path(self) -> Option<&'a str> {
        let path = self.get(MetaKey::OutputFile)?;
        (self.kind() == CellKind::Output && self.body().is_empty()).then_some(path)
    }

    /// What was attached in place of its content.
    pub(super) fn attached(self) -> Option<&'a AttachedOutput> {
        if self.document.outputs.is_empty() {
            return None;
        }
        self.document.outputs.get(self.output_path()?)
    }

    /// The bytes that were attached, if they are no text.
    pub(super) fn attached_binary(self) -> Option<&'a [u8]> {
        match self.attached()? {
            AttachedOutput::Bytes(bytes) if self.is_of_binary_type() => Some(bytes),
            AttachedOutput::Bytes(_) | AttachedOutput::Note(_) => None,
        }
    }

    /// What was attached, as the cell would hold it: as text, or in base64.
    pub(super) fn attached_text(self) -> Option<Cow<'a, str>> {
        if let Some(bytes) = self.attached_binary() {
            return Some(Cow::Owned(base64::encode(bytes)));
        }
        Some(match self.attached()? {
            AttachedOutput::Bytes(bytes) => String::from_utf8_lossy(bytes),
            AttachedOutput::Note(note) => Cow::Borrowed(note),
        })
    }

    /// Whether its media type is neither text nor JSON.
    pub(super) fn is_of_binary_type(self) -> bool {
        let mime_type = self.get(MetaKey::MimeType);
        mime_type.is_some_and(|kind| !kind.starts_with("text/") && !kind.ends_with("json"))
    }
}
