//! One interface for every model, whatever the provider: ask, stream, count tokens, list models.

use std::time::{Duration, Instant};

use analects_core::{
    ApiError, Content, Delta, Fold, Message, ModelFacts, Problem, Request, StreamEvent, TokenUsage,
};
use analects_providers::{
    ListedModel, ModelPage, decode_count, decode_models, encode_count, encode_list_models,
};

use crate::{Client, ClientError, EventStream, Model, Options};

/// How many pages a list of models may have. With more, the server goes in circles.
const MAX_PAGES: usize = 100;

/// A model that can be asked. Its calls are asynchronous, and need a tokio runtime with time and
/// I/O. [`blocking`](crate::blocking) has the same calls for programs without one.
///
/// ```
/// use analects_client::{ModelAdapter, Options, ProviderSettings, resolve};
/// use analects_core::Request;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("answer.sse");
/// # std::fs::write(&path, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
/// let model = resolve(&format!("replay:{}", path.display()), &ProviderSettings::default())?;
/// let adapter = ModelAdapter::new(model, Options::default());
/// let request = Request::from_prompt("Hello");
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let response = runtime.block_on(adapter.send_message(&request))?;
/// assert_eq!(response.message.text(), "Hi");
/// assert!(response.complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ModelAdapter {
    client: Client,
    model: Model,
}

/// An answer, which may be cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The message, with usage, cost, duration and the provider's id for it. It has no id of ours
    /// yet.
    pub message: Message,
    /// Whether the provider said that the answer is complete.
    pub complete: bool,
    /// The error that ended the answer, of the provider or of the connection.
    pub error: Option<ApiError>,
    /// What was odd in the answer, and what was changed or omitted in the request.
    pub problems: Vec<Problem>,
    /// How long it took until the first content came.
    pub first_token: Option<Duration>,
}

impl ModelAdapter {
    /// Makes an adapter. Nothing is opened or read before it is needed.
    pub fn new(model: Model, options: Options) -> ModelAdapter {
        ModelAdapter {
            client: Client::new(options),
            model,
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Uses another model from now on.
    pub fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    /// What is known about the model, such as its context window and its capabilities.
    pub fn capabilities(&self) -> ModelFacts {
        self.model.facts.clone().unwrap_or_default()
    }

    /// Sends a request and waits for the whole answer.
    pub async fn send_message(&self, request: &Request) -> Result<Response, ClientError> {
        let clock = Instant::now();
        let mut stream = self
            .client
            .ask_without_streaming(&self.model, request)
            .await?;
        collect(&mut stream, &self.model, clock).await
    }

    /// Sends a request and returns the answer event by event. Dropping the stream cancels the
    /// request.
    pub async fn stream_message(&self, request: &Request) -> Result<EventStream, ClientError> {
        self.client.stream(&self.model, request).await
    }

    /// Asks the provider how many tokens a request has. Fails for APIs that cannot count.
    pub async fn count_tokens(&self, request: &Request) -> Result<u64, ClientError> {
        let request = Request {
            model: self.model.name.clone(),
            ..request.clone()
        };
        let encoded = encode_count(self.model.api, &request);
        let encoded = encoded.ok_or(ClientError::Unsupported("this API counts no tokens"))?;
        let bytes = self.client.fetch(&self.model, encoded).await?;
        let count = decode_count(self.model.api, &bytes);
        count.ok_or(ClientError::Unsupported(
            "the server answered no token count",
        ))
    }

    /// Asks the provider for its models.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ClientError> {
        let mut models = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let request = encode_list_models(self.model.api, after.as_deref());
            let bytes = self.client.fetch(&self.model, request).await?;
            let page: ModelPage = decode_models(self.model.api, &bytes)
                .map_err(|_| ClientError::Unsupported("the server answered no list of models"))?;
            models.extend(page.models);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(models)
    }
}

/// Reads a stream to its end. If nothing came but an error, that error is returned.
async fn collect(
    stream: &mut EventStream,
    model: &Model,
    clock: Instant,
) -> Result<Response, ClientError> {
    let mut fold = Fold::default();
    let mut first_token = None;
    let mut failure = None;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                if first_token.is_none() && is_content(&event) {
                    first_token = Some(clock.elapsed());
                }
                fold.push(&event);
            }
            Err(error) => failure = Some(error),
        }
    }
    let folded = fold.finish(empty_message(model, clock));
    let failure = failure.or(folded.error.map(ClientError::Interrupted));
    let mut message = folded.message;
    let failure = match failure {
        Some(error) if has_no_content(&message) => return Err(error),
        failure => failure,
    };
    message.cost_usd = cost(model, message.usage.as_deref());
    let mut problems = stream.left_out().to_vec();
    problems.extend(folded.problems);
    Ok(Response {
        message,
        complete: folded.complete,
        error: failure.map(|failure| failure.to_api_error()),
        problems,
        first_token,
    })
}

/// A message without content, by this model, after the time since the start of the clock.
fn empty_message(model: &Model, clock: Instant) -> Message {
    let mut message = Message::assistant("", "");
    message.model = Some(model.name.clone());
    message.duration_ms = u64::try_from(clock.elapsed().as_millis()).ok();
    message
}

fn has_no_content(message: &Message) -> bool {
    let content = message.body.content();
    content.is_none_or(Content::is_empty)
}

/// Returns the cost of an answer in US dollars; `None` if the price or the usage is unknown.
pub fn cost(model: &Model, usage: Option<&TokenUsage>) -> Option<f64> {
    analects_providers::cost(usage?, model.facts.as_ref()?)
}

/// Whether an event contains something that the model said.
pub fn is_content(event: &StreamEvent) -> bool {
    match event {
        StreamEvent::ToolUse { .. } => true,
        StreamEvent::BlockDelta { delta, .. } => match delta {
            Delta::Text(text) | Delta::Thinking(text) => !text.as_str().is_empty(),
            Delta::Signature(_) | Delta::PartialJson(_) => true,
        },
        _ => false,
    }
}
