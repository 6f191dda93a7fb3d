//! What came back, as data: an [`Answer`] of somebody, or what a run of code printed.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CodeExecutionOutput, Content, ItemError, MessageOutput, check, seconds, why_not_a_path,
};
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

/// A reply of an agent, or the result of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent_name: Option<String>,
    pub(super) content: Content,
    #[serde(default = "text_plain")]
    pub(super) mime_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) nonce: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(default, with = "seconds::json", skip_serializing_if = "Option::is_none")]
    pub(super) duration: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output_file: Option<String>,
}

/// What one run of a code cell printed, or one picture that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CodeForm", into = "CodeForm")]
pub struct CodeOutput {
    pub(super) name: String,
    pub(super) lang: String,
    pub(super) pieces: Vec<Piece>,
    /// Bytes of another media type than text; then there are no pieces.
    pub(super) data: Option<Vec<u8>>,
    pub(super) mime_type: String,
    pub(super) nonce: Option<String>,
    pub(super) status: Option<String>,
    pub(super) duration: Option<Duration>,
    pub(super) time: Option<String>,
    pub(super) output_file: Option<String>,
}

pub(super) fn text_plain() -> String {
    check::TEXT.to_string()
}

impl Output {
    /// The name of its cell; empty where no file has named it yet.
    pub fn name(&self) -> &str {
        match self {
            Output::Answer(answer) => &answer.name,
            Output::Code(code) => &code.name,
        }
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
        let (status, file) = match self {
            Output::Answer(answer) => (&answer.status, &answer.output_file),
            Output::Code(code) => (&code.status, &code.output_file),
        };
        file.as_deref().filter(|_| status.as_deref() == Some("pending"))
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

    fn inner(&self) -> &dyn MessageOutput {
        match self {
            Output::Answer(answer) => answer,
            Output::Code(code) => code,
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
        self.inner().content()
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.inner().text()
    }

    fn mime_type(&self) -> &str {
        self.inner().mime_type()
    }

    fn nonce(&self) -> Option<&str> {
        self.inner().nonce()
    }

    fn to_dict(&self) -> Value {
        self.inner().to_dict()
    }
}

impl Answer {
    /// The agent that says it; `None` for the one that was asked, and for the result of a tool.
    pub fn agent_name(&self) -> Option<&str> {
        self.agent_name.as_deref()
    }

    /// How a tool's call ended.
    pub fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// How long it took.
    pub fn duration(&self) -> Option<Duration> {
        self.duration
    }

    /// When it came, in RFC 3339.
    pub fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The file that holds, or will hold, the content; relative to the message file.
    pub fn output_file(&self) -> Option<&str> {
        self.output_file.as_deref()
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<Answer, ItemError> {
        let answer: Answer = from_value(dict, "an output")?;
        answer.check()?;
        Ok(answer)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
        self.agent_name.as_deref().map_or(Ok(()), check::agent_name)?;
        check::mime_type(&self.mime_type)?;
        check::content(&self.content, &self.mime_type)?;
        self.nonce.as_deref().map_or(Ok(()), check::nonce)?;
        check_shared(self.status.as_deref(), self.time.as_deref(), self.output_file.as_deref())
    }
}

impl MessageOutput for Answer {
    fn content(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.content.as_bytes())
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.content.as_text().map(Cow::Borrowed)
    }

    fn mime_type(&self) -> &str {
        &self.mime_type
    }

    fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    fn to_dict(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl CodeOutput {
    /// When it came, in RFC 3339.
    pub fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The file that holds, or will hold, the content; relative to the message file.
    pub fn output_file(&self) -> Option<&str> {
        self.output_file.as_deref()
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<CodeOutput, ItemError> {
        let code: CodeOutput = from_value(dict, "an output of code")?;
        code.check()?;
        Ok(code)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
        check::language(&self.lang)?;
        check::mime_type(&self.mime_type)?;
        match &self.data {
            Some(_) if !self.pieces.is_empty() => {
                let error = ItemError::invalid("an output is what was printed or binary, not both");
                return Err(
                    error.hinting("build an output for each; add_outputs adds them as one run")
                );
            }
            Some(data) => check::content(&Content::Binary(data.clone()), &self.mime_type)?,
            None if self.mime_type != check::TEXT => {
                let text = format!("what was printed is text/plain, not {}", self.mime_type);
                return Err(ItemError::invalid(text).hinting("use with_binary_content"));
            }
            None => {}
        }
        self.nonce.as_deref().map_or(Ok(()), check::nonce)?;
        check_shared(self.status.as_deref(), self.time.as_deref(), self.output_file.as_deref())
    }

    fn stream(&self, stream: Stream) -> Vec<u8> {
        let pieces = self.pieces.iter().filter(|piece| piece.stream == stream);
        pieces.flat_map(|piece| piece.bytes.iter().copied()).collect()
    }
}

fn check_shared(
    status: Option<&str>,
    time: Option<&str>,
    output_file: Option<&str>,
) -> Result<(), ItemError> {
    status.map_or(Ok(()), check::status)?;
    if let Some(time) = time.filter(|time| time.parse::<jiff::Timestamp>().is_err()) {
        return Err(ItemError::invalid(format!("{} is not a time", check::shown(time)))
            .hinting("write it as in 2026-11-15T20:00:00+08:00"));
    }
    if let Some(path) = output_file
        && let Some(why) = why_not_a_path(path)
    {
        let text = format!("{} cannot be an output file: {why}", check::shown(path));
        return Err(ItemError::invalid(text).hinting("name a file beside the message file"));
    }
    Ok(())
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

    fn mime_type(&self) -> &str {
        &self.mime_type
    }

    fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    fn to_dict(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
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
        self.status.as_deref()
    }

    fn duration(&self) -> Option<Duration> {
        self.duration
    }

    fn lang(&self) -> &str {
        &self.lang
    }
}

/// The output of code as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeForm {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    lang: String,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default = "text_plain")]
    mime_type: String,
    #[serde(default)]
    stdout_content: Option<Content>,
    #[serde(default)]
    stderr_content: Option<Content>,
    /// The two streams as they came; if it is there, it counts before the two above.
    #[serde(default)]
    pieces: Option<Vec<PieceForm>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(default, with = "seconds::json", skip_serializing_if = "Option::is_none")]
    duration: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_file: Option<String>,
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
            name: code.name,
            lang: code.lang,
            mime_type: code.mime_type,
            nonce: code.nonce,
            status: code.status,
            duration: code.duration,
            time: code.time,
            output_file: code.output_file,
        }
    }
}

impl TryFrom<CodeForm> for CodeOutput {
    type Error = &'static str;

    fn try_from(form: CodeForm) -> Result<CodeOutput, &'static str> {
        let bytes = |content: Content| content.as_bytes().to_vec();
        let data = match form.content {
            Some(Content::Binary(data)) if form.mime_type != check::TEXT => Some(data),
            Some(_) if form.mime_type != check::TEXT => {
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
        Ok(CodeOutput {
            name: form.name,
            lang: form.lang,
            pieces: merge(&pieces),
            data,
            mime_type: form.mime_type,
            nonce: form.nonce,
            status: form.status,
            duration: form.duration,
            time: form.time,
            output_file: form.output_file,
        })
    }
}
