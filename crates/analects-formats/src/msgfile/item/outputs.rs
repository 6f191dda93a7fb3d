//! What came back, as data: an [`Answer`] of somebody, or what a run of code printed.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// A reply of an agent, or the result of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(
        default,
        with = "seconds::json",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) duration: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output_file: Option<String>,
}

/// What one run of a code cell printed, or one picture that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "CodeForm")]
pub struct CodeOutput {
    /// What it has in common with an answer. Its content is all that was printed, or the picture.
    pub(super) answer: Answer,
    pub(super) lang: String,
    /// What was printed; nothing for a picture.
    pub(super) pieces: Vec<Piece>,
}

pub(super) fn text_plain() -> String {
    check::TEXT.to_string()
}

impl Default for Answer {
    fn default() -> Answer {
        Answer {
            name: String::new(),
            agent_name: None,
            content: Content::default(),
            mime_type: text_plain(),
            nonce: None,
            status: None,
            duration: None,
            time: None,
            output_file: None,
        }
    }
}

impl Output {
    /// The name of its cell; empty where no file has named it yet.
    pub fn name(&self) -> &str {
        &self.answer().name
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
        let answer = self.answer();
        answer
            .output_file()
            .filter(|_| answer.status() == Some("pending"))
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

    /// What both kinds have.
    fn answer(&self) -> &Answer {
        match self {
            Output::Answer(answer) => answer,
            Output::Code(code) => &code.answer,
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
        self.check_all_but_content()?;
        check::content(&self.content, &self.mime_type)
    }

    fn check_all_but_content(&self) -> Result<(), ItemError> {
        check::name(&self.name)?;
        self.agent_name().map_or(Ok(()), check::agent_name)?;
        check::mime_type(&self.mime_type)?;
        self.nonce().map_or(Ok(()), check::nonce)?;
        self.status().map_or(Ok(()), check::status)?;
        self.time().map_or(Ok(()), check::time)?;
        self.output_file().map_or(Ok(()), check::output_file)
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

/// Implements [`MessageOutput`] for what has an answer inside; `$answer` gives it.
macro_rules! message_output {
    ($type:ty, |$self:ident| $answer:expr) => {
        impl MessageOutput for $type {
            fn content(&$self) -> Cow<'_, [u8]> {
                $answer.content()
            }

            fn text(&$self) -> Option<Cow<'_, str>> {
                $answer.text()
            }

            fn mime_type(&$self) -> &str {
                &$answer.mime_type
            }

            fn nonce(&$self) -> Option<&str> {
                $answer.nonce.as_deref()
            }

            fn to_dict(&$self) -> Value {
                serde_json::to_value($self).unwrap_or_default()
            }
        }
    };
}

message_output!(Output, |self| self.answer());
message_output!(CodeOutput, |self| self.answer);

impl CodeOutput {
    /// What code printed.
    pub(super) fn printed(answer: Answer, lang: String, pieces: &[Piece]) -> CodeOutput {
        let pieces = merge(pieces);
        let bytes = pieces
            .iter()
            .flat_map(|piece| piece.bytes.iter().copied())
            .collect();
        CodeOutput {
            answer: Answer {
                content: Content::of_bytes(bytes),
                ..answer
            },
            lang,
            pieces,
        }
    }

    /// When it came, in RFC 3339.
    pub fn time(&self) -> Option<&str> {
        self.answer.time()
    }

    /// The file that holds, or will hold, the content; relative to the message file.
    pub fn output_file(&self) -> Option<&str> {
        self.answer.output_file()
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<CodeOutput, ItemError> {
        let code: CodeOutput = from_value(dict, "an output of code")?;
        code.check()?;
        Ok(code)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        check::language(&self.lang)?;
        if self.pieces.is_empty() && self.answer.content.as_text().is_none() {
            return self.answer.check();
        }
        if self.answer.mime_type != check::TEXT {
            let text = format!(
                "what was printed is text/plain, not {}",
                self.answer.mime_type
            );
            return Err(ItemError::invalid(text).hinting("use with_binary_content"));
        }
        self.answer.check_all_but_content()
    }

    fn stream(&self, stream: Stream) -> Vec<u8> {
        let pieces = self.pieces.iter().filter(|piece| piece.stream == stream);
        pieces
            .flat_map(|piece| piece.bytes.iter().copied())
            .collect()
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
        self.answer.status()
    }

    fn duration(&self) -> Option<Duration> {
        self.answer.duration
    }

    fn lang(&self) -> &str {
        &self.lang
    }
}

pub(super) fn from_value<T: serde::de::DeserializeOwned>(
    dict: Value,
    what: &str,
) -> Result<T, ItemError> {
    serde_json::from_value(dict)
        .map_err(|error| ItemError::invalid(format!("this JSON is not {what}: {error}")))
}

/// The output of code as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeForm {
    #[serde(flatten)]
    answer: Answer,
    lang: String,
    #[serde(default)]
    stdout_content: Content,
    #[serde(default)]
    stderr_content: Content,
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

impl From<&Piece> for PieceForm {
    fn from(piece: &Piece) -> PieceForm {
        let content = Content::of_bytes(piece.bytes.clone());
        match piece.stream {
            Stream::Stdout => PieceForm::Stdout(content),
            Stream::Stderr => PieceForm::Stderr(content),
        }
    }
}

impl From<&PieceForm> for Piece {
    fn from(form: &PieceForm) -> Piece {
        match form {
            PieceForm::Stdout(content) => Piece::stdout(content.as_bytes()),
            PieceForm::Stderr(content) => Piece::stderr(content.as_bytes()),
        }
    }
}

impl From<CodeOutput> for CodeForm {
    fn from(code: CodeOutput) -> CodeForm {
        CodeForm {
            stdout_content: Content::of_bytes(code.stdout_content()),
            stderr_content: Content::of_bytes(code.stderr_content()),
            pieces: Some(code.pieces.iter().map(PieceForm::from).collect()),
            answer: code.answer,
            lang: code.lang,
        }
    }
}

impl TryFrom<Map<String, Value>> for CodeOutput {
    type Error = serde_json::Error;

    fn try_from(mut dict: Map<String, Value>) -> Result<CodeOutput, serde_json::Error> {
        // The streams say what was printed.
        dict.entry("content").or_insert_with(|| "".into());
        let form: CodeForm = serde_json::from_value(dict.into())?;
        let stdout = PieceForm::Stdout(form.stdout_content);
        let stderr = PieceForm::Stderr(form.stderr_content);
        let forms = form.pieces.unwrap_or_else(|| vec![stdout, stderr]);
        let pieces: Vec<Piece> = forms.iter().map(Piece::from).collect();
        let pieces = merge(&pieces);
        let is_picture = form.answer.mime_type != check::TEXT && pieces.is_empty();
        if is_picture {
            return Ok(CodeOutput {
                answer: form.answer,
                lang: form.lang,
                pieces,
            });
        }
        Ok(CodeOutput::printed(form.answer, form.lang, &pieces))
    }
}
