//! Builders of outputs: replies, results, and what code printed.

use jiff::Timestamp;

use super::Given;
use crate::msgfile::item::{Answer, CodeOutput, Content, ItemError, seconds};
use crate::msgfile::output::Piece;

/// What is said of any output.
#[derive(Debug, Clone, Default)]
struct Shared {
    answer: Answer,
    duration: Option<f64>,
}

impl Shared {
    fn build(self) -> Result<Answer, ItemError> {
        let duration = self.duration.map(|value| seconds::from_number(value, "the duration"));
        Ok(Answer { duration: duration.transpose()?, ..self.answer })
    }
}

macro_rules! shared_methods {
    () => {
        /// The media type; else `text/plain`, which bytes cannot have.
        #[must_use]
        pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.shared.answer.mime_type = mime_type.into();
            self
        }

        /// What tells this output from all others.
        #[must_use]
        pub fn with_nonce(mut self, nonce: impl Into<String>) -> Self {
            self.shared.answer.nonce = Some(nonce.into());
            self
        }

        /// How the call or the run ended: `success`, `failed`, `pending` or `interrupted`.
        #[must_use]
        pub fn with_status(mut self, status: impl Into<String>) -> Self {
            self.shared.answer.status = Some(status.into());
            self
        }

        /// How long it took, in seconds.
        #[must_use]
        pub fn with_duration(mut self, seconds: f64) -> Self {
            self.shared.duration = Some(seconds);
            self
        }

        /// When it came.
        #[must_use]
        pub fn with_time(mut self, time: Timestamp) -> Self {
            self.shared.answer.time = Some(time.to_string());
            self
        }
    };
}

/// Builds an [`Answer`]: a reply, or the result of a tool.
///
/// ```
/// use analects_formats::msgfile::item::{ItemErrorKind, MessageOutput, MessageOutputBuilder};
///
/// let output = MessageOutputBuilder::new()
///     .with_binary_content([0x89, b'P', b'N', b'G'])
///     .with_mime_type("image/png")
///     .with_nonce("k3f9qx7a")
///     .build()?;
/// assert_eq!(&*output.content(), b"\x89PNG");
/// assert_eq!((output.mime_type(), output.nonce()), ("image/png", Some("k3f9qx7a")));
///
/// let error = MessageOutputBuilder::new().build().unwrap_err();
/// assert_eq!((error.kind(), error.to_string()), (ItemErrorKind::Missing, "the content is missing".into()));
/// let error = MessageOutputBuilder::new().with_content("x").with_mime_type("text").build().unwrap_err();
/// assert_eq!(error.to_string(), "\"text\" is not a media type");
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MessageOutputBuilder {
    shared: Shared,
    given: Given,
}

impl MessageOutputBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> MessageOutputBuilder {
        MessageOutputBuilder::default()
    }

    content_methods!();
    shared_methods!();

    /// Whose reply it is; else that of the agent that was asked.
    #[must_use]
    pub fn with_agent_name(mut self, name: impl Into<String>) -> Self {
        self.shared.answer.agent_name = Some(name.into());
        self
    }

    /// The output, or what is missing or wrong.
    pub fn build(self) -> Result<Answer, ItemError> {
        let content = self.given.content()?;
        let answer = Answer { content, ..self.shared.build()? };
        answer.check()?;
        Ok(answer)
    }
}

/// Builds a [`CodeOutput`]: what running code printed, or one picture that it made. What is given
/// to `with_stdout` and `with_stderr` stays in the order of the calls.
///
/// ```
/// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
/// use analects_formats::msgfile::item::MessageOutput;
///
/// let output = CodeExecutionOutputBuilder::new()
///     .with_stdout("1\n")
///     .with_stderr("careful\n")
///     .with_status("success")
///     .with_duration(0.5)
///     .with_lang("python")
///     .build()?;
/// assert_eq!(&*output.content(), b"1\ncareful\n");
/// assert_eq!(output.stdout_content(), b"1\n");
///
/// let error = CodeExecutionOutputBuilder::new().with_stdout("1\n").build().unwrap_err();
/// assert_eq!(error.to_string(), "the language is missing");
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CodeExecutionOutputBuilder {
    shared: Shared,
    pieces: Vec<Piece>,
    data: Option<Vec<u8>>,
    lang: Option<String>,
}

impl CodeExecutionOutputBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> CodeExecutionOutputBuilder {
        CodeExecutionOutputBuilder::default()
    }

    /// More of standard output.
    #[must_use]
    pub fn with_stdout(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.pieces.push(Piece::stdout(bytes));
        self
    }

    /// More of standard error.
    #[must_use]
    pub fn with_stderr(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.pieces.push(Piece::stderr(bytes));
        self
    }

    /// A picture or other bytes, instead of what was printed; they need a media type.
    #[must_use]
    pub fn with_binary_content(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.data = Some(bytes.into());
        self
    }

    shared_methods!();

    /// The language of the code.
    #[must_use]
    pub fn with_lang(mut self, lang: impl Into<String>) -> Self {
        self.lang = Some(lang.into());
        self
    }

    /// The output, or what is missing or wrong.
    pub fn build(self) -> Result<CodeOutput, ItemError> {
        let lang = self.lang.ok_or_else(|| ItemError::missing("the language", "with_lang"))?;
        let answer = self.shared.build()?;
        let code = match self.data {
            None => CodeOutput::printed(answer, lang, &self.pieces),
            Some(_) if !self.pieces.is_empty() => {
                let error = ItemError::invalid("an output is what was printed or binary, not both");
                return Err(
                    error.hinting("build an output for each; add_outputs adds them as one run")
                );
            }
            Some(data) => {
                let answer = Answer { content: Content::Binary(data), ..answer };
                CodeOutput { answer, lang, pieces: Vec::new() }
            }
        };
        code.check()?;
        Ok(code)
    }
}
