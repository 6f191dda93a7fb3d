//! The traits of items and outputs, for those that were built and those that were read.

use std::borrow::Cow;
use std::time::Duration;

use analects_core::History;
use serde_json::Value;

use super::{CallItem, CellContent, Output};
use crate::msgfile::invoke::Arguments;
use crate::msgfile::output::OutputChunk;

/// An output: a reply, the result of a tool, the output of code, or a placeholder for one of them.
pub trait MessageOutput {
    /// The bytes. Binary content is bytes, not base64.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{MessageOutput, MessageOutputBuilder};
    ///
    /// let output = MessageOutputBuilder::new().with_content("Hi.").build()?;
    /// assert_eq!(&*output.content(), b"Hi.");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn content(&self) -> Cow<'_, [u8]>;

    /// The content as text; `None` if it is bytes.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{MessageOutput, MessageOutputBuilder};
    ///
    /// let output = MessageOutputBuilder::new().with_content("Hi.").build()?;
    /// assert_eq!(output.text().as_deref(), Some("Hi."));
    /// let picture = MessageOutputBuilder::new().with_binary_content([0xff, 0xd8]);
    /// assert_eq!(picture.with_mime_type("image/jpeg").build()?.text(), None);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn text(&self) -> Option<Cow<'_, str>>;

    /// The media type; `text/plain` where nothing else is said.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{MessageOutput, MessageOutputBuilder};
    ///
    /// let output = MessageOutputBuilder::new().with_content("Hi.").build()?;
    /// assert_eq!(output.mime_type(), "text/plain");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn mime_type(&self) -> &str;

    /// A word that only this output has. The result of a call has that of the call.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{MessageItem, MessageOutput, item}};
    ///
    /// let file = [
    ///     "# %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"now\"\n\n<invoke name=\"now\"/>\n\n",
    ///     "# %%% [^2.k3f9qx7a.1]\n\n[^2.k3f9qx7a.1]: [tool] status=\"success\"\n\nnoon\n",
    /// ];
    /// let call = item(&decode(file.concat()), 0).unwrap();
    /// assert_eq!(call.outputs()[0].nonce(), Some("k3f9qx7a"));
    /// ```
    fn nonce(&self) -> Option<&str>;

    /// The output as JSON.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{AnswerOutput, MessageOutput, MessageOutputBuilder};
    ///
    /// let output = MessageOutputBuilder::new().with_content("Hi.").build()?;
    /// assert_eq!(output.to_dict()["content"], "Hi.");
    /// assert_eq!(AnswerOutput::from_dict(output.to_dict())?, output);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn to_dict(&self) -> Value;
}

/// What running code printed.
pub trait CodeExecutionOutput: MessageOutput {
    /// What was printed, in order, each chunk with its stream.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
    /// use analects_formats::msgfile::output::OutputChunk;
    ///
    /// let output = CodeExecutionOutputBuilder::new()
    ///     .with_stdout("1\n").with_stderr("careful\n").with_stdout("2\n")
    ///     .with_lang("python").build()?;
    /// let expected = [OutputChunk::stdout("1\n"), OutputChunk::stderr("careful\n"), OutputChunk::stdout("2\n")];
    /// assert_eq!(output.chunks(), expected);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn chunks(&self) -> &[OutputChunk];

    /// All of standard output.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
    ///
    /// let output = CodeExecutionOutputBuilder::new().with_lang("sh");
    /// let output = output.with_stdout("1\n").with_stderr("careful\n").with_stdout("2\n").build()?;
    /// assert_eq!(output.stdout_content(), b"1\n2\n");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn stdout_content(&self) -> Vec<u8>;

    /// All of standard error.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
    ///
    /// let output = CodeExecutionOutputBuilder::new().with_lang("sh");
    /// let output = output.with_stdout("1\n").with_stderr("careful\n").build()?;
    /// assert_eq!(output.stderr_content(), b"careful\n");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn stderr_content(&self) -> Vec<u8>;

    /// How the run ended: `success`, `failed`, `pending` or `interrupted`.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
    ///
    /// let output = CodeExecutionOutputBuilder::new().with_lang("sh").with_status("failed");
    /// assert_eq!(output.build()?.status(), Some("failed"));
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn status(&self) -> Option<&str>;

    /// How long the run took.
    ///
    /// ```
    /// use std::time::Duration;
    /// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
    ///
    /// let output = CodeExecutionOutputBuilder::new().with_lang("sh").with_duration(0.5);
    /// assert_eq!(output.build()?.duration(), Some(Duration::from_millis(500)));
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn duration(&self) -> Option<Duration>;

    /// The language of the code.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{CodeExecutionOutput, CodeExecutionOutputBuilder};
    ///
    /// assert_eq!(CodeExecutionOutputBuilder::new().with_lang("sh").build()?.lang(), "sh");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn lang(&self) -> &str;
}

/// A message or a function call.
pub trait MessageItem {
    /// Its name in the file: its id, or else its number. Empty until a file gives it one.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{MessageItem, items}};
    ///
    /// let items = items(&decode("# %% [^a]\n\none\n\n# %%\n\ntwo\n"));
    /// assert_eq!((items[0].name(), items[1].name()), ("a", "1"));
    /// ```
    fn name(&self) -> &str;

    /// How long an answer may take.
    ///
    /// ```
    /// use std::time::Duration;
    /// use analects_formats::msgfile::{decode, item::{MessageItem, item}};
    ///
    /// let document = decode("# %% [^1]\n\n[^1]: [markdown] timeout=30s\n\nHurry!\n");
    /// assert_eq!(item(&document, 0).unwrap().timeout(), Some(Duration::from_secs(30)));
    /// ```
    fn timeout(&self) -> Option<Duration>;

    /// Its outputs, in the order of the file.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{MessageItem, MessageOutput, item}};
    ///
    /// let document = decode("# %%\n\nHello\n\n# %%% [^2]\n\n[^2]: [coder]\n\nHi.\n");
    /// let message = item(&document, 0).unwrap();
    /// assert_eq!(message.outputs()[0].text().as_deref(), Some("Hi."));
    /// ```
    fn outputs(&self) -> &[Output];

    /// The type word: `markdown`, `code` or `raw` of a message, `tool` of a function call.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{MessageItem, item}};
    ///
    /// assert_eq!(item(&decode("# %%\n\nHello\n"), 0).unwrap().type_word(), "markdown");
    /// ```
    #[doc(alias = "type")]
    fn type_word(&self) -> &str;

    /// How much of it the model sees.
    ///
    /// ```
    /// use analects_core::History;
    /// use analects_formats::msgfile::{decode, item::{MessageItem, item}};
    ///
    /// let document = decode("# %% [^1]\n\n[^1]: [markdown] history=none\n\nA note.\n");
    /// assert_eq!(item(&document, 0).unwrap().history(), History::Exclude);
    /// ```
    fn history(&self) -> History;

    /// The number of `#` of its head; `None` leaves it to the file.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{MessageItem, item}};
    ///
    /// assert_eq!(item(&decode("### %%\n\nHello\n"), 0).unwrap().heading_level(), Some(3));
    /// ```
    fn heading_level(&self) -> Option<usize>;

    /// Adds an output to this value. A file learns of it through
    /// [`Draft::add_output`](super::Draft::add_output).
    ///
    /// ```
    /// use analects_formats::msgfile::item::{MessageBuilder, MessageItem, MessageOutputBuilder};
    ///
    /// let mut message = MessageBuilder::new().with_content("Hello").build()?;
    /// message.add_output(MessageOutputBuilder::new().with_content("Hi.").build()?.into());
    /// assert_eq!(message.outputs().len(), 1);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn add_output(&mut self, output: Output);

    /// The item as JSON.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{Item, MessageItem, item}};
    ///
    /// let message = item(&decode("# %%\n\nHello\n"), 0).unwrap();
    /// assert_eq!(message.to_dict()["content"], "Hello");
    /// assert_eq!(Item::from_dict(message.to_dict())?, message);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn to_dict(&self) -> Value;
}

/// A message of a person.
pub trait Message: MessageItem {
    /// Its content, text or bytes.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{CellContent, Message, MessageBuilder};
    ///
    /// let message = MessageBuilder::new().with_content("Hello").build()?;
    /// assert_eq!(message.content(), &CellContent::from("Hello"));
    /// assert_eq!(message.text(), Some("Hello"));
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn content(&self) -> &CellContent;

    /// What it says as text; `None` where it is bytes.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{Message, MessageBuilder};
    ///
    /// let picture = MessageBuilder::new().with_binary_content([0xff, 0xd8]);
    /// assert_eq!(picture.with_mime_type("image/jpeg").build()?.text(), None);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn text(&self) -> Option<&str> {
        self.content().as_text()
    }

    /// The media type; `text/plain` where nothing else is said.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{Message, item}};
    ///
    /// let document = decode("# %% [^1]\n\n[^1]: [raw] mime_type=\"image/jpeg\"\n\n/9g=\n");
    /// let message = item(&document, "1").unwrap();
    /// assert_eq!(message.as_message().unwrap().mime_type(), "image/jpeg");
    /// assert_eq!(message.as_message().unwrap().content().as_bytes(), [0xff, 0xd8]);
    /// ```
    fn mime_type(&self) -> &str;

    /// The agent that should answer; `None` for the default agent of the file.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{Message, item}};
    ///
    /// let document = decode("# %% [^1]\n\n[^1]: [markdown] agent=\"coder\"\n\nHello\n");
    /// let message = item(&document, "1").unwrap();
    /// assert_eq!(message.as_message().unwrap().agent_name(), Some("coder"));
    /// ```
    fn agent_name(&self) -> Option<&str>;

    /// The function calls of this message and of its replies, in the order of the file.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::{FunctionCall, Message, item}};
    ///
    /// let file = [
    ///     "# %% [^1]\n\n[^1]: [markdown]\n\nWhat time is it?\n\n",
    ///     "# %%% [^2]\n\n[^2]: [coder]\n\nI look.\n\n",
    ///     "# %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"now\"\n\n<invoke name=\"now\"/>\n",
    /// ];
    /// let message = item(&decode(file.concat()), "1").unwrap();
    /// assert_eq!(message.as_message().unwrap().function_calls()[0].function_name(), "now");
    /// ```
    fn function_calls(&self) -> &[CallItem];

    /// Adds a function call to this value. A file learns of it through
    /// [`Draft::add_function_call`](super::Draft::add_function_call).
    ///
    /// ```
    /// use analects_formats::msgfile::item::{FunctionCallBuilder, Message, MessageBuilder};
    ///
    /// let mut message = MessageBuilder::new().with_content("What time is it?").build()?;
    /// message.add_function_call(FunctionCallBuilder::new().with_function_name("now").build()?);
    /// assert_eq!(message.function_calls().len(), 1);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn add_function_call(&mut self, call: CallItem);
}

/// A call of a tool, or of an agent.
pub trait FunctionCall: MessageItem {
    /// The name of the tool or of the agent.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{FunctionCall, FunctionCallBuilder};
    ///
    /// let call = FunctionCallBuilder::new().with_function_name("weather").build()?;
    /// assert_eq!(call.function_name(), "weather");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn function_name(&self) -> &str;

    /// The exact arguments: JSON, or text that is not JSON.
    ///
    /// ```
    /// use analects_formats::msgfile::item::{FunctionCall, FunctionCallBuilder};
    /// use analects_formats::msgfile::invoke::Arguments;
    /// use serde_json::json;
    ///
    /// let call = FunctionCallBuilder::new().with_function_name("weather");
    /// let call = call.with_args(json!({"city": "Paris"})).build()?;
    /// let Arguments::Json(json) = call.args() else { unreachable!() };
    /// assert_eq!(json.as_str(), r#"{"city":"Paris"}"#);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    fn args(&self) -> &Arguments;
}
