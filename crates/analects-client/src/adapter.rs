//! One model behind one interface, whatever the provider: ask it, stream it, count for it, list what
//! its provider has.

use std::time::{Duration, Instant};

use analects_core::{
    ApiError, Delta, Fold, Message, ModelFacts, Problem, Request, StreamEvent, TokenUsage,
};
use analects_providers::{
    ModelPage, decode_count, decode_models, encode_count, encode_list_models,
};

use crate::{Client, ClientError, EventStream, Model, Options};

/// How many pages a list of models may have; more are a server that goes in circles.
const MAX_PAGES: usize = 100;

/// A model that can be asked. Every call is async and needs a tokio runtime with time and I/O;
/// [`blocking`](crate::blocking) has the same calls for programs without one.
///
/// ```
/// use analects_client::{ModelAdapter, Options, Surroundings, resolve};
/// use analects_core::Request;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("answer.sse");
/// # std::fs::write(&path, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
/// let model = resolve(&format!("replay:{}", path.display()), &Surroundings::default())?;
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

/// An answer that is complete, or as much of it as came.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The message, with usage, cost, duration and the provider's name for it. It has no id: whoever
    /// keeps it gives it one.
    pub message: Message,
    /// Whether the provider said that this is all of it.
    pub complete: bool,
    /// The error with which the provider gave up, or with which the connection did.
    pub error: Option<ApiError>,
    /// What was odd, and what was not sent.
    pub problems: Vec<Problem>,
    /// How long the first piece of content took.
    pub first_token: Option<Duration>,
}

/// A model that a provider offers.
pub type Offered = analects_providers::ListedModel;

impl ModelAdapter {
    /// An adapter. Nothing is opened or read before it is needed.
    pub fn new(model: Model, options: Options) -> ModelAdapter {
        ModelAdapter {
            client: Client::new(options),
            model,
        }
    }

    /// The model that is asked.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Asks another model from now on.
    pub fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    /// What is known about the model: what fits into it, and what it can do.
    pub fn capabilities(&self) -> ModelFacts {
        self.model.facts.clone().unwrap_or_default()
    }

    /// Asks, and waits for all of the answer.
    pub async fn send_message(&self, request: &Request) -> Result<Response, ClientError> {
        let clock = Instant::now();
        let mut stream = self.client.ask_at_once(&self.model, request).await?;
        collect(&mut stream, &self.model, clock).await
    }

    /// Asks, and gives the answer piece by piece. Dropping the stream cancels the request.
    pub async fn stream_message(&self, request: &Request) -> Result<EventStream, ClientError> {
        self.client.stream(&self.model, request).await
    }

    /// How many tokens a request takes, counted by the provider.
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

    /// The models that the provider offers.
    pub async fn list_models(&self) -> Result<Vec<Offered>, ClientError> {
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

/// Folds a stream to its end. A stream of which nothing came but an error is that error.
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
    let mut base = Message::assistant("", "");
    base.model = Some(model.name.clone());
    base.duration_ms = u64::try_from(clock.elapsed().as_millis()).ok();
    let mut folded = fold.finish(base);
    let is_empty = folded
        .message
        .body
        .content()
        .is_none_or(analects_core::Content::is_empty);
    let failure = failure.or(folded.error.map(ClientError::BrokeOff));
    if is_empty && let Some(error) = failure {
        return Err(error);
    }
    folded.message.cost_usd = cost(model, folded.message.usage.as_deref());
    let mut problems = stream.left_out().to_vec();
    problems.extend(folded.problems);
    let (message, complete) = (folded.message, folded.complete);
    let error = failure.map(|failure| failure.to_api_error());
    Ok(Response {
        message,
        complete,
        error,
        problems,
        first_token,
    })
}

/// What an answer cost; `None` where the price or the usage is unknown.
pub fn cost(model: &Model, usage: Option<&TokenUsage>) -> Option<f64> {
    analects_providers::cost(usage?, model.facts.as_ref()?)
}

/// Whether an event brings something that the model said.
pub fn is_content(event: &StreamEvent) -> bool {
    match event {
        StreamEvent::BlockDelta {
            delta: Delta::Text(text) | Delta::Thinking(text),
            ..
        } => !text.as_str().is_empty(),
        StreamEvent::BlockDelta { .. } | StreamEvent::ToolUse { .. } => true,
        _ => false,
    }
}
