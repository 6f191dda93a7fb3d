//! Builders of messages, function calls and outputs: every value is checked when it is built, and an error says
//! what is missing or wrong.

use analects_core::{History, Raw};
use jiff::Timestamp;
use serde_json::Value;

use super::prompts::{ItemFields, to_raw};
use super::{
    AnswerOutput, CallItem, CellContent, CodeOutput, ItemError, Output, PromptItem, seconds,
};
use crate::msgfile::invoke::Arguments;
use crate::msgfile::output::OutputChunk;

/// The methods of builders whose content is text or bytes.
macro_rules! content_methods {
    () => {
        /// The text; it may be empty.
        #[must_use]
        pub fn with_content(mut self, text: impl Into<String>) -> Self {
            self.content.text = Some(text.into());
            self
        }

        /// The bytes, instead of text; they need a media type.
        #[must_use]
        pub fn with_binary_content(mut self, bytes: impl Into<Vec<u8>>) -> Self {
            self.content.bytes = Some(bytes.into());
            self
        }
    };
}

/// Content that was given as text, as bytes, or, by mistake, as both.
#[derive(Debug, Clone, Default)]
struct ContentInput {
    text: Option<String>,
    bytes: Option<Vec<u8>>,
}

impl ContentInput {
    /// The content, if exactly one kind of it was given.
    fn content(self) -> Result<CellContent, ItemError> {
        match (self.text, self.bytes) {
            (Some(text), None) => Ok(CellContent::Text(text)),
            (None, Some(bytes)) => Ok(CellContent::Binary(bytes)),
            (None, None) => Err(ItemError::missing("the content", "with_content")),
            (Some(_), Some(_)) => Err(ItemError::invalid("content is given as text and as bytes")
                .hinting("call with_content or with_binary_content, not both")),
        }
    }
}

/// The values that messages and function calls have in common.
#[derive(Debug, Clone, Default)]
struct ItemFieldsBuilder {
    fields: ItemFields,
    timeout: Option<f64>,
}

impl ItemFieldsBuilder {
    fn build(self) -> Result<ItemFields, ItemError> {
        if self.timeout == Some(0.0) {
            return Err(
                ItemError::invalid("the timeout must be more than 0 seconds")
                    .hinting("leave it out for none"),
            );
        }
        let timeout = self
            .timeout
            .map(|value| seconds::from_number(value, "the timeout"));
        Ok(ItemFields {
            timeout: timeout.transpose()?,
            ..self.fields
        })
    }
}

/// The methods of builders of messages and function calls.
macro_rules! prompt_methods {
    () => {
        /// The name; empty for the one that the file gives.
        #[must_use]
        pub fn with_name(mut self, name: impl Into<String>) -> Self {
            self.shared.fields.name = name.into();
            self
        }

        /// How long an answer may take, in seconds.
        #[must_use]
        pub fn with_timeout(mut self, seconds: f64) -> Self {
            self.shared.timeout = Some(seconds);
            self
        }

        /// One more output.
        #[must_use]
        pub fn with_output(mut self, output: impl Into<Output>) -> Self {
            self.shared.fields.outputs.push(output.into());
            self
        }

        /// How much of it the model sees.
        #[must_use]
        pub fn with_history(mut self, history: History) -> Self {
            self.shared.fields.history = history;
            self
        }

        /// The number of `#` of its head, 1 to 5; else the file decides.
        #[must_use]
        pub fn with_heading_level(mut self, level: usize) -> Self {
            self.shared.fields.heading_level = Some(level);
            self
        }
    };
}

/// Builds a [`PromptItem`]. CellContent must be given, and may be empty: such a message is kept, and says
/// nothing to a model.
///
/// ```
/// use analects_core::History;
/// use analects_formats::msgfile::item::{
///     FunctionCallBuilder, ItemErrorKind, Message, MessageBuilder, MessageItem, MessageOutputBuilder,
/// };
///
/// let message = MessageBuilder::new()
///     .with_name("question")
///     .with_content("What time is it?")
///     .with_mime_type("text/markdown")
///     .with_agent_name("coder")
///     .with_timeout(30.0)
///     .with_history(History::Include)
///     .with_heading_level(2)
///     .with_output(MessageOutputBuilder::new().with_content("I look.").build()?)
///     .with_function_call(FunctionCallBuilder::new().with_function_name("now").build()?)
///     .build()?;
/// assert_eq!((message.name(), message.text()), ("question", Some("What time is it?")));
///
/// let picture = MessageBuilder::new().with_binary_content([0xff, 0xd8]).with_mime_type("image/jpeg");
/// assert_eq!(picture.build()?.type_word(), "raw");
///
/// let both = MessageBuilder::new().with_content("x").with_binary_content([1]).build().unwrap_err();
/// assert_eq!(both.to_string(), "content is given as text and as bytes");
/// let late = MessageBuilder::new().with_content("x").with_timeout(-1.0).build().unwrap_err();
/// assert_eq!(late.kind(), ItemErrorKind::Invalid);
/// let deep = MessageBuilder::new().with_content("x").with_heading_level(6).build().unwrap_err();
/// assert_eq!(deep.to_string(), "the heading level must be 1 to 5, not 6");
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MessageBuilder {
    shared: ItemFieldsBuilder,
    content: ContentInput,
    type_word: Option<String>,
    prompt: PromptItem,
}

impl MessageBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> MessageBuilder {
        MessageBuilder::default()
    }

    prompt_methods!();

    content_methods!();

    /// The media type; else `text/plain`.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.prompt.mime_type = mime_type.into();
        self
    }

    /// Who is to answer; else the file's default agent.
    #[must_use]
    pub fn with_agent_name(mut self, name: impl Into<String>) -> Self {
        self.prompt.agent_name = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// One more function call.
    #[must_use]
    pub fn with_function_call(mut self, call: CallItem) -> Self {
        self.prompt.function_calls.push(call);
        self
    }

    /// The type: `markdown`, `code` or `raw`; else `raw` for bytes and `markdown` for text.
    #[must_use]
    pub fn with_type_word(mut self, word: impl Into<String>) -> Self {
        self.type_word = Some(word.into());
        self
    }

    /// The message, or what is missing or wrong.
    pub fn build(self) -> Result<PromptItem, ItemError> {
        let content = self.content.content()?;
        let usual = if content.as_text().is_some() {
            "markdown"
        } else {
            "raw"
        };
        let type_word = self.type_word.unwrap_or_else(|| usual.to_string());
        if usual == "raw" && type_word != "raw" {
            let text = format!("binary content cannot be of the type {type_word}");
            return Err(ItemError::invalid(text).hinting("leave out the type"));
        }
        let fields = self.shared.build()?;
        let prompt = PromptItem {
            fields,
            type_word,
            content,
            ..self.prompt
        };
        prompt.check()?;
        Ok(prompt)
    }
}

/// Builds a [`CallItem`].
///
/// ```
/// use analects_core::History;
/// use analects_formats::msgfile::item::{FunctionCall, FunctionCallBuilder, MessageItem, MessageOutputBuilder};
/// use serde_json::json;
///
/// let call = FunctionCallBuilder::new()
///     .with_name("forecast")
///     .with_function_name("weather")
///     .with_args(json!({"city": "Paris", "days": 3}))
///     .with_timeout(10.0)
///     .with_history(History::Include)
///     .with_heading_level(2)
///     .with_output(MessageOutputBuilder::new().with_content("sunny").with_status("success").build()?)
///     .build()?;
/// assert_eq!((call.name(), call.function_name()), ("forecast", "weather"));
///
/// let error = FunctionCallBuilder::new().build().unwrap_err();
/// assert_eq!(error.to_string(), "the function's name is missing");
/// let error = FunctionCallBuilder::new().with_function_name("f").with_args(json!([1])).build().unwrap_err();
/// assert_eq!(error.to_string(), "the arguments must be a JSON object, not [1]");
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FunctionCallBuilder {
    shared: ItemFieldsBuilder,
    function_name: Option<String>,
    args: Option<Raw>,
}

impl FunctionCallBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> FunctionCallBuilder {
        FunctionCallBuilder::default()
    }

    prompt_methods!();

    /// The name of the tool or of the agent.
    #[must_use]
    pub fn with_function_name(mut self, name: impl Into<String>) -> Self {
        self.function_name = Some(name.into());
        self
    }

    /// The arguments, an object; else there are none.
    #[must_use]
    pub fn with_args(self, args: Value) -> Self {
        self.with_raw_args(to_raw(&args))
    }

    /// The arguments as exact JSON text.
    #[must_use]
    pub fn with_raw_args(mut self, args: Raw) -> Self {
        self.args = Some(args);
        self
    }

    /// The function call, or what is missing or wrong.
    pub fn build(self) -> Result<CallItem, ItemError> {
        let missing = || ItemError::missing("the function's name", "with_function_name");
        let args = self.args.unwrap_or_else(Raw::empty_object);
        if args.as_object().is_none() {
            let short: String = args.as_str().chars().take(60).collect();
            let text = format!("the arguments must be a JSON object, not {short}");
            return Err(ItemError::invalid(text));
        }
        let call = CallItem {
            fields: self.shared.build()?,
            function_name: self.function_name.ok_or_else(missing)?,
            args: Arguments::Json(args),
            ..CallItem::default()
        };
        call.check()?;
        Ok(call)
    }
}

/// The values that all outputs have in common.
#[derive(Debug, Clone, Default)]
struct AnswerFieldsBuilder {
    answer: AnswerOutput,
    duration: Option<f64>,
}

impl AnswerFieldsBuilder {
    fn build(self) -> Result<AnswerOutput, ItemError> {
        let duration = self
            .duration
            .map(|value| seconds::from_number(value, "the duration"));
        Ok(AnswerOutput {
            duration: duration.transpose()?,
            ..self.answer
        })
    }
}

/// The methods of builders of outputs.
macro_rules! output_methods {
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

/// Builds an [`AnswerOutput`]: a reply, or the result of a tool.
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
    shared: AnswerFieldsBuilder,
    content: ContentInput,
}

impl MessageOutputBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> MessageOutputBuilder {
        MessageOutputBuilder::default()
    }

    content_methods!();
    output_methods!();

    /// Whose reply it is; else that of the agent that was asked.
    #[must_use]
    pub fn with_agent_name(mut self, name: impl Into<String>) -> Self {
        self.shared.answer.agent_name = Some(name.into());
        self
    }

    /// The output, or what is missing or wrong.
    pub fn build(self) -> Result<AnswerOutput, ItemError> {
        let content = self.content.content()?;
        let answer = AnswerOutput {
            content,
            ..self.shared.build()?
        };
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
    shared: AnswerFieldsBuilder,
    chunks: Vec<OutputChunk>,
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
        self.chunks.push(OutputChunk::stdout(bytes));
        self
    }

    /// More of standard error.
    #[must_use]
    pub fn with_stderr(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.chunks.push(OutputChunk::stderr(bytes));
        self
    }

    /// A picture or other bytes, instead of what was printed; they need a media type.
    #[must_use]
    pub fn with_binary_content(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.data = Some(bytes.into());
        self
    }

    output_methods!();

    /// The language of the code.
    #[must_use]
    pub fn with_lang(mut self, lang: impl Into<String>) -> Self {
        self.lang = Some(lang.into());
        self
    }

    /// The output, or what is missing or wrong.
    pub fn build(self) -> Result<CodeOutput, ItemError> {
        let lang = self
            .lang
            .ok_or_else(|| ItemError::missing("the language", "with_lang"))?;
        let answer = self.shared.build()?;
        let code = match self.data {
            None => CodeOutput::printed(answer, lang, &self.chunks),
            Some(_) if !self.chunks.is_empty() => {
                let error = ItemError::invalid("an output is what was printed or binary, not both");
                return Err(
                    error.hinting("build an output for each; add_outputs adds them as one run")
                );
            }
            Some(data) => {
                let answer = AnswerOutput {
                    content: CellContent::Binary(data),
                    ..answer
                };
                CodeOutput {
                    answer,
                    lang,
                    chunks: Vec::new(),
                }
            }
        };
        code.check()?;
        Ok(code)
    }
}
