//! Outputs as data: an [`AnswerOutput`] of an agent or a tool, or the [`CodeOutput`] of a run of code.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CellContent, CodeExecutionOutput, ItemError, MessageOutput, check, seconds};
use crate::msgfile::output::{OutputChunk, Stream, merge};

/// An output of either kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Output {
    /// The output of running code.
    Code(CodeOutput),
    /// A reply, the result of a tool, or a placeholder for one of them.
    Answer(AnswerOutput),
}

/// A reply of an agent, or the result of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerOutput {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent_name: Option<String>,
    pub(super) content: CellContent,
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

/// What one run of a code cell printed, or one picture that it produced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "CodeOutputJson")]
pub struct CodeOutput {
    /// The values that it shares with an answer. The content is everything that was printed, or the picture.
    pub(super) answer: AnswerOutput,
    pub(super) lang: String,
    /// What was printed; empty for a picture.
    pub(super) chunks: Vec<OutputChunk>,
}

pub(super) fn text_plain() -> String {
    check::TEXT.to_string()
}

impl Default for AnswerOutput {
    fn default() -> AnswerOutput {
        AnswerOutput {
            name: String::new(),
            agent_name: None,
            content: CellContent::default(),
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
    /// The name of its cell; empty until a file gives it one.
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
    pub fn as_answer(&self) -> Option<&AnswerOutput> {
        match self {
            Output::Answer(answer) => Some(answer),
            Output::Code(_) => None,
        }
    }

    /// The file that will hold the output, if this is a placeholder.
    pub fn pending_file(&self) -> Option<&str> {
        let answer = self.answer();
        answer
            .output_file()
            .filter(|_| answer.status() == Some("pending"))
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<Output, ItemError> {
        // Trying both kinds would give errors about the wrong one.
        if dict.get("lang").is_some() {
            return CodeOutput::from_dict(dict).map(Output::Code);
        }
        AnswerOutput::from_dict(dict).map(Output::Answer)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        match self {
            Output::Answer(answer) => answer.check(),
            Output::Code(code) => code.check(),
        }
    }

    /// The values that both kinds have.
    fn answer(&self) -> &AnswerOutput {
        match self {
            Output::Answer(answer) => answer,
            Output::Code(code) => &code.answer,
        }
    }
}

impl From<AnswerOutput> for Output {
    fn from(answer: AnswerOutput) -> Output {
        Output::Answer(answer)
    }
}

impl From<CodeOutput> for Output {
    fn from(code: CodeOutput) -> Output {
        Output::Code(code)
    }
}

impl AnswerOutput {
    /// The agent that replies; `None` for the agent that was asked, and for the result of a tool.
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

    /// When it arrived, in RFC 3339.
    pub fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The file that holds, or will hold, the content; relative to the message file.
    pub fn output_file(&self) -> Option<&str> {
        self.output_file.as_deref()
    }

    /// Reads what [`MessageOutput::to_dict`] writes.
    pub fn from_dict(dict: Value) -> Result<AnswerOutput, ItemError> {
        let answer: AnswerOutput = from_value(dict, "an output")?;
        answer.check()?;
        Ok(answer)
    }

    pub(super) fn check(&self) -> Result<(), ItemError> {
        self.check_all_but_content()?;
        check::content(&self.content, &self.mime_type)
    }

    /// Checks every value but the content, whose rules differ for outputs of code.
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

impl MessageOutput for AnswerOutput {
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
    pub(super) fn printed(
        answer: AnswerOutput,
        lang: String,
        chunks: &[OutputChunk],
    ) -> CodeOutput {
        let chunks = merge(chunks);
        let bytes = chunks
            .iter()
            .flat_map(|chunk| chunk.bytes.iter().copied())
            .collect();
        CodeOutput {
            answer: AnswerOutput {
                content: CellContent::of_bytes(bytes),
                ..answer
            },
            lang,
            chunks,
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
        if self.chunks.is_empty() && self.answer.content.as_text().is_none() {
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

    /// All bytes of one stream.
    fn stream(&self, stream: Stream) -> Vec<u8> {
        let chunks = self.chunks.iter().filter(|chunk| chunk.stream == stream);
        chunks
            .flat_map(|chunk| chunk.bytes.iter().copied())
            .collect()
    }
}

impl CodeExecutionOutput for CodeOutput {
    fn chunks(&self) -> &[OutputChunk] {
        &self.chunks
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

/// Reads JSON as a value; `what` completes "this JSON is not".
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
struct CodeOutputJson {
    #[serde(flatten)]
    answer: AnswerOutput,
    lang: String,
    #[serde(default)]
    stdout_content: CellContent,
    #[serde(default)]
    stderr_content: CellContent,
    /// The two streams in the order of printing; it overrides the two fields above.
    #[serde(default, rename = "pieces")]
    chunks: Option<Vec<ChunkJson>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChunkJson {
    Stdout(CellContent),
    Stderr(CellContent),
}

impl From<&OutputChunk> for ChunkJson {
    fn from(chunk: &OutputChunk) -> ChunkJson {
        let content = CellContent::of_bytes(chunk.bytes.clone());
        match chunk.stream {
            Stream::Stdout => ChunkJson::Stdout(content),
            Stream::Stderr => ChunkJson::Stderr(content),
        }
    }
}

impl From<&ChunkJson> for OutputChunk {
    fn from(form: &ChunkJson) -> OutputChunk {
        match form {
            ChunkJson::Stdout(content) => OutputChunk::stdout(content.as_bytes()),
            ChunkJson::Stderr(content) => OutputChunk::stderr(content.as_bytes()),
        }
    }
}

impl From<CodeOutput> for CodeOutputJson {
    fn from(code: CodeOutput) -> CodeOutputJson {
        CodeOutputJson {
            stdout_content: CellContent::of_bytes(code.stdout_content()),
            stderr_content: CellContent::of_bytes(code.stderr_content()),
            chunks: Some(code.chunks.iter().map(ChunkJson::from).collect()),
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
        let form: CodeOutputJson = serde_json::from_value(dict.into())?;
        let stdout = ChunkJson::Stdout(form.stdout_content);
        let stderr = ChunkJson::Stderr(form.stderr_content);
        let forms = form.chunks.unwrap_or_else(|| vec![stdout, stderr]);
        let chunks: Vec<OutputChunk> = forms.iter().map(OutputChunk::from).collect();
        let chunks = merge(&chunks);
        let is_picture = form.answer.mime_type != check::TEXT && chunks.is_empty();
        if is_picture {
            return Ok(CodeOutput {
                answer: form.answer,
                lang: form.lang,
                chunks,
            });
        }
        Ok(CodeOutput::printed(form.answer, form.lang, &chunks))
    }
}
