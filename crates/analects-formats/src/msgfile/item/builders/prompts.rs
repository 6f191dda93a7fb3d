//! Builders of messages and function calls.

use analects_core::{History, Raw};
use serde_json::Value;

use super::Given;
use crate::msgfile::invoke::Arguments;
use crate::msgfile::item::prompts::{ItemFields, to_raw};
use crate::msgfile::item::{Call, ItemError, Output, Prompt, seconds};

/// What is said of messages and of function calls.
#[derive(Debug, Clone, Default)]
struct Shared {
    fields: ItemFields,
    timeout: Option<f64>,
}

impl Shared {
    fn build(self) -> Result<ItemFields, ItemError> {
        if self.timeout == Some(0.0) {
            return Err(ItemError::invalid("the timeout must be more than 0 seconds")
                .hinting("leave it out for none"));
        }
        let timeout = self.timeout.map(|value| seconds::from_number(value, "the timeout"));
        Ok(ItemFields { timeout: timeout.transpose()?, ..self.fields })
    }
}

macro_rules! shared_methods {
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

/// Builds a [`Prompt`]. Content must be given, and may be empty: such a message is kept, and says
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
    shared: Shared,
    given: Given,
    type_word: Option<String>,
    prompt: Prompt,
}

impl MessageBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> MessageBuilder {
        MessageBuilder::default()
    }

    shared_methods!();

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
    pub fn with_function_call(mut self, call: Call) -> Self {
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
    pub fn build(self) -> Result<Prompt, ItemError> {
        let content = self.given.content()?;
        let usual = if content.as_text().is_some() { "markdown" } else { "raw" };
        let type_word = self.type_word.unwrap_or_else(|| usual.to_string());
        if usual == "raw" && type_word != "raw" {
            let text = format!("binary content cannot be of the type {type_word}");
            return Err(ItemError::invalid(text).hinting("leave out the type"));
        }
        let fields = self.shared.build()?;
        let prompt = Prompt { fields, type_word, content, ..self.prompt };
        prompt.check()?;
        Ok(prompt)
    }
}

/// Builds a [`Call`].
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
    shared: Shared,
    function_name: Option<String>,
    args: Option<Raw>,
}

impl FunctionCallBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> FunctionCallBuilder {
        FunctionCallBuilder::default()
    }

    shared_methods!();

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
    pub fn build(self) -> Result<Call, ItemError> {
        let missing = || ItemError::missing("the function's name", "with_function_name");
        let args = self.args.unwrap_or_else(Raw::empty_object);
        if args.as_object().is_none() {
            let short: String = args.as_str().chars().take(60).collect();
            let text = format!("the arguments must be a JSON object, not {short}");
            return Err(ItemError::invalid(text));
        }
        let call = Call {
            fields: self.shared.build()?,
            function_name: self.function_name.ok_or_else(missing)?,
            args: Arguments::Json(args),
            ..Call::default()
        };
        call.check()?;
        Ok(call)
    }
}
