//! What came back, as data: an [`Answer`] of somebody, or what a run of code printed.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CodeExecutionOutput, Content, ItemError, MessageOutput, check, seconds};
use crate::msgfile::output::{Piece, Stream, merge};

/// An output of either kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Output {
    /// What running code printed.
    Code(CodeOutput),
    /// A reply, the result of a tool, or a place kept for one of them.
    Answer(Answer),
}

/// What all outputs have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OutputFields {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    pub(super) mime_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nonce: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(with = "seconds::json", skip_serializing_if = "Option::is_none")]
    pub(super) duration: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_file: Option<String>,
}

/// A reply of an agent, or the result of a tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    #[serde(flatten)]
    pub(super) fields: OutputFields,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent_name: Option<String>,
    pub(super) content: Content,
}

/// What one run of a code cell printed, or one picture that it made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "CodeForm", into = "CodeForm")]
pub struct CodeOutput {
    pub(super) fields: OutputFields,
    pub(super) lang: String,
    pub(super) pieces: Vec<Piece>,
    /// Bytes of another media type than text; then there are no pieces.
    pub(super) data: Option<Vec<u8>>,
}

pub(super) fn text_plain() -> String {
    check::TEXT.to_string()
}

impl Default for OutputFields {
    fn default() -> OutputFields {
        OutputFields {
            name: String::new(),
            mime_type: text_plain(),
            nonce: None,
            status: None,
            duration: None,
            time: None,
            output_file: None,
        }
    }
}

impl OutputFields {
    fn check(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
        check::mime_type(&self.mime_type)?;
        self.nonce.as_deref().map_or(Ok(()), check::nonce)?;
        self.status.as_deref().map_or(Ok(()), check::status)?;
        self.time.as_deref().map_or(Ok(()), check::time)?;
        self.output_file.as_deref().map_or(Ok(()), check::output_file)
    }
}

/// The methods of [`MessageOutput`] that only look at what all outputs have.
macro_rules! field_methods {
    () => {
        fn mime_type(&self) -> &str {
            &self.fields().mime_type
        }

        fn nonce(&self) -> Option<&str> {
            self.fields().nonce.as_deref()
        }

        fn to_dict(&self) -> Value {
            serde_json::to_value(self).unwrap_or_default()
        }
    };
}

impl Output {
    /// The name of its cell; empty where no file has named it yet.
    pub fn name(&self) -> &str {
        &self.fields().name
    }

    /// What running code printed, if it is that.
    pub fn as_code(&self) -> Option<&CodeOutput> {
        match self {
            Output::Code(code) => Some(code),
            Output::Answer(_) => None,
        }
    }

    /// The reply or result, if it is one.
    pub fn as_answer(&self) -> Option<&Answer> {
        match self {
            Output::Answer(answer) => Some(answer),
            Output::Code(_) => None,
        }
    }

    /// Whether it is a place kept for an output that has not come yet, and for which file.
    pub fn pending_file(&self) -> Option<&str> {
        let is_pending = self.fields().status.as_deref() == Some("pending");
        self.fields().output_file.as_deref().filter(|_| is_pending)
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<Output, ItemError> {
        // Told apart here and not by trying both, so that an error speaks of the right one.
        if dict.get("lang").is_some() {
            return CodeOutput::from_dict(dict).map(Output::Code);
        }
        Answer::from_dict(dict).map(Output::Answer)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        match self {
            Output::Answer(answer) => answer.check(),
            Output::Code(code) => code.check(),
        }
    }

    fn fields(&self) -> &OutputFields {
        match self {
            Output::Answer(answer) => &answer.fields,
            Output::Code(code) => &code.fields,
        }
    }
}

impl From<Answer> for Output {
    fn from(answer: Answer) -> Output {
        Output::Answer(answer)
    }
}

impl From<CodeOutput> for Output {
    fn from(code: CodeOutput) -> Output {
        Output::Code(code)
    }
}

impl MessageOutput for Output {
    fn content(&self) -> Cow<'_, [u8]> {
        match self {
            Output::Answer(answer) => answer.content(),
            Output::Code(code) => code.content(),
        }
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Output::Answer(answer) => answer.text(),
            Output::Code(code) => code.text(),
        }
    }

    field_methods!();
}

impl Answer {
    /// The agent that says it; `None` for the one that was asked, and for the result of a tool.
    pub fn agent_name(&self) -> Option<&str> {
        self.agent_name.as_deref()
    }

    /// How a tool's call ended.
    pub fn status(&self) -> Option<&str> {
        self.fields.status.as_deref()
    }

    /// How long it took.
    pub fn duration(&self) -> Option<Duration> {
        self.fields.duration
    }

    /// When it came, in RFC 3339.
    pub fn time(&self) -> Option<&str> {
        self.fields.time.as_deref()
    }

    /// The file that holds, or will hold, the content; relative to the message file.
    pub fn output_file(&self) -> Option<&str> {
        self.fields.output_file.as_deref()
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<Answer, ItemError> {
        let answer: Answer = from_value(dict, "an output")?;
        answer.check()?;
        Ok(answer)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        self.fields.check()?;
        self.agent_name.as_deref().map_or(Ok(()), check::agent_name)?;
        check::content(&self.content, &self.fields.mime_type)
    }

    fn fields(&self) -> &OutputFields {
        &self.fields
    }
}

impl MessageOutput for Answer {
    fn content(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.content.as_bytes())
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.content.as_text().map(Cow::Borrowed)
    }

    field_methods!();
}

impl CodeOutput {
    /// When it came, in RFC 3339.
    pub fn time(&self) -> Option<&str> {
        self.fields.time.as_deref()
    }

    /// The file that holds, or will hold, the content; relative to the message file.
    pub fn output_file(&self) -> Option<&str> {
        self.fields.output_file.as_deref()
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<CodeOutput, ItemError> {
        let code: CodeOutput = from_value(dict, "an output of code")?;
        code.check()?;
        Ok(code)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        self.fields.check()?;
        check::language(&self.lang)?;
        let mime_type = &self.fields.mime_type;
        let Some(data) = &self.data else {
            if mime_type == check::TEXT {
                return Ok(());
            }
            let text = format!("what was printed is text/plain, not {mime_type}");
            return Err(ItemError::invalid(text).hinting("use with_binary_content"));
        };
        if !self.pieces.is_empty() {
            let error = ItemError::invalid("an output is what was printed or binary, not both");
            return Err(error.hinting("build an output for each; add_outputs adds them as one run"));
        }
        check::bytes(data, mime_type)
    }

    fn fields(&self) -> &OutputFields {
        &self.fields
    }

    fn stream(&self, stream: Stream) -> Vec<u8> {
        let pieces = self.pieces.iter().filter(|piece| piece.stream == stream);
        pieces.flat_map(|piece| piece.bytes.iter().copied()).collect()
    }
}

pub(super) fn from_value<T: serde::de::DeserializeOwned>(
    dict: Value,
    what: &str,
) -> Result<T, ItemError> {
    serde_json::from_value(dict)
        .map_err(|error| ItemError::invalid(format!("this JSON is not {what}: {error}")))
}

impl MessageOutput for CodeOutput {
    fn content(&self) -> Cow<'_, [u8]> {
        match &self.data {
            Some(data) => Cow::Borrowed(data),
            None => self.pieces.iter().flat_map(|piece| piece.bytes.iter().copied()).collect(),
        }
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        if self.data.is_some() {
            return None;
        }
        String::from_utf8(self.content().into_owned()).ok().map(Cow::Owned)
    }

    field_methods!();
}

impl CodeExecutionOutput for CodeOutput {
    fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn stdout_content(&self) -> Vec<u8> {
        self.stream(Stream::Stdout)
    }

    fn stderr_content(&self) -> Vec<u8> {
        self.stream(Stream::Stderr)
    }

    fn status(&self) -> Option<&str> {
        self.fields.status.as_deref()
    }

    fn duration(&self) -> Option<Duration> {
        self.fields.duration
    }

    fn lang(&self) -> &str {
        &self.lang
    }
}

/// The output of code as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeForm {
    #[serde(flatten)]
    fields: OutputFields,
    lang: String,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    stdout_content: Option<Content>,
    #[serde(default)]
    stderr_content: Option<Content>,
    /// The two streams as they came; if it is there, it counts before the two above.
    #[serde(default)]
    pieces: Option<Vec<PieceForm>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PieceForm {
    Stdout(Content),
    Stderr(Content),
}

/// Bytes as text where they are text.
fn text_or_bytes(bytes: Vec<u8>) -> Content {
    String::from_utf8(bytes).map_or_else(|error| error.into_bytes().into(), Content::Text)
}

impl From<CodeOutput> for CodeForm {
    fn from(code: CodeOutput) -> CodeForm {
        let piece = |piece: &Piece| match piece.stream {
            Stream::Stdout => PieceForm::Stdout(text_or_bytes(piece.bytes.clone())),
            Stream::Stderr => PieceForm::Stderr(text_or_bytes(piece.bytes.clone())),
        };
        let content = match &code.data {
            Some(data) => Content::Binary(data.clone()),
            None => text_or_bytes(code.content().into_owned()),
        };
        CodeForm {
            content: Some(content),
            stdout_content: Some(text_or_bytes(code.stdout_content())),
            stderr_content: Some(text_or_bytes(code.stderr_content())),
            pieces: Some(code.pieces.iter().map(piece).collect()),
            lang: code.lang,
            fields: code.fields,
        }
    }
}

impl TryFrom<CodeForm> for CodeOutput {
    type Error = &'static str;

    fn try_from(form: CodeForm) -> Result<CodeOutput, &'static str> {
        let bytes = |content: Content| content.as_bytes().to_vec();
        let is_text = form.fields.mime_type == check::TEXT;
        let data = match form.content {
            Some(Content::Binary(data)) if !is_text => Some(data),
            Some(_) if !is_text => {
                return Err("content that is not text/plain must be {\"base64\": …}");
            }
            _ => None,
        };
        let pieces = match form.pieces {
            Some(pieces) => pieces
                .into_iter()
                .map(|piece| match piece {
                    PieceForm::Stdout(content) => Piece::stdout(bytes(content)),
                    PieceForm::Stderr(content) => Piece::stderr(bytes(content)),
                })
                .collect(),
            None => vec![
                Piece::stdout(form.stdout_content.map(bytes).unwrap_or_default()),
                Piece::stderr(form.stderr_content.map(bytes).unwrap_or_default()),
            ],
        };
        let pieces = merge(&pieces);
        Ok(CodeOutput { fields: form.fields, lang: form.lang, pieces, data })
    }
}
