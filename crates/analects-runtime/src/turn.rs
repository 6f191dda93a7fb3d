//! The turn: from the conversation so far to the answer on disk, whatever happens on the way.

use std::future::Future;
use std::time::{Duration, Instant};

use analects_client::{Client, ClientError, EventStream, Model};
use analects_context::{Budget, Counter, Plan, Planner, TooLarge};
use analects_core::{
    Agent, ApiError, ApiErrorKind, Content, Delta, Fold, Message, Problem, StreamEvent,
};
use analects_store::StoreError;
use jiff::{Timestamp, Unit};

use crate::Conversation;

/// How often a growing answer is brought to the disk.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Who is asked.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The way to the provider.
    pub client: &'a Client,
    /// The model.
    pub model: &'a Model,
    /// The agent in whose name it answers.
    pub agent: &'a Agent,
}

/// What came of a turn. The conversation holds it already.
#[derive(Debug)]
pub struct Outcome {
    /// The answer, or the error as a message.
    pub answer: Message,
    /// What the model's side said when it failed.
    pub error: Option<ClientError>,
    /// Whether the person stopped it.
    pub stopped: bool,
    /// What was odd, in the conversation or in the answer.
    pub problems: Vec<Problem>,
}

/// What fits into a request: what the agent's settings say, but never more than is known of the model. An
/// agent that says nothing has the model's window.
pub fn budget(agent: &Agent, model: &Model) -> Budget {
    let facts = model.facts.as_ref();
    let says_nothing = agent.context_window == Agent::default().context_window;
    let window = match facts.and_then(|facts| facts.context_window) {
        Some(window) if says_nothing => window,
        Some(window) => agent.context_window.min(window),
        None => agent.context_window,
    };
    let answer = facts.and_then(|facts| facts.max_output_tokens).unwrap_or(u64::MAX);
    Budget::new(window, agent.max_output_tokens.min(answer))
}

/// How a stream ended.
enum End {
    Complete,
    Failed(ClientError),
    Stopped,
}

impl Asked<'_> {
    /// What would be sent to go on with a conversation, and what was odd about it.
    pub fn plan(&self, conversation: &dyn Conversation) -> (Plan, Vec<Problem>) {
        let decoded = conversation.messages();
        let chain = conversation.chain(&decoded);
        let agent = Agent { models: vec![self.model.name.clone()], ..self.agent.clone() };
        let planner = Planner::new(&agent).with_budget(budget(&agent, self.model));
        let plan = planner.plan(&chain, &mut Counter::of_model(&self.model.name));
        let problems = decoded.problems.iter().cloned().chain(chain.problems);
        let problems = problems.chain(plan.notes.iter().cloned()).collect();
        (plan, problems)
    }

    /// What is known about an answer beside what it says.
    fn base(&self, began: Timestamp, took: Duration) -> Message {
        let mut base = Message::assistant("", "");
        base.created_at = began.round(Unit::Millisecond).ok();
        base.author = Some(self.agent.name.clone());
        base.model = Some(self.model.name.clone());
        base.duration_ms = u64::try_from(took.as_millis()).ok();
        base
    }
}

/// Asks the model to go on with the conversation, and records what comes, to the last word that
/// came. `watch` sees every event; when `stop` is ready, the answer ends as it is.
pub async fn drive(
    asked: &Asked<'_>,
    conversation: &mut dyn Conversation,
    watch: &mut dyn FnMut(&StreamEvent),
    stop: impl Future<Output = ()>,
) -> Result<Outcome, StoreError> {
    let (plan, mut problems) = asked.plan(conversation);
    let (began, clock) = (Timestamp::now(), Instant::now());
    let mut fold = Fold::default();
    let mut stop = std::pin::pin!(stop);
    let opened = match plan.ready() {
        Ok(request) => tokio::select! {
            stream = asked.client.stream(asked.model, request) => stream.map(Some),
            () = &mut stop => Ok(None),
        },
        Err(too_large) => Err(not_sent(too_large)),
    };
    let end = match opened {
        Ok(Some(mut stream)) => {
            problems.extend_from_slice(stream.left_out());
            let mut see = |event: &StreamEvent| {
                fold.push(event);
                watch(event);
            };
            receive(&mut stream, conversation, &mut see, stop).await?
        }
        Ok(None) => End::Stopped,
        Err(error) => End::Failed(error),
    };
    let folded = fold.finish(asked.base(began, clock.elapsed()));
    let (error, stopped) = match end {
        End::Failed(error) => (Some(error), false),
        End::Stopped => (None, true),
        End::Complete if folded.complete => (None, false),
        End::Complete => (Some(broke_off(folded.error)), false),
    };
    problems.extend(folded.problems);
    let answer = as_error_if_empty(folded.message, error.as_ref());
    if !(stopped && is_empty(&answer)) {
        conversation.finish(answer.clone())?;
    }
    Ok(Outcome { answer, error, stopped, problems })
}

/// Takes events until the stream ends, and brings the text to the disk ten times a second.
async fn receive(
    stream: &mut EventStream,
    conversation: &mut dyn Conversation,
    see: &mut dyn FnMut(&StreamEvent),
    mut stop: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Result<End, StoreError> {
    let mut flush_at = tokio::time::Instant::now();
    loop {
        let event = tokio::select! {
            event = stream.next() => event,
            () = tokio::time::sleep_until(flush_at), if conversation.is_waiting() => {
                conversation.flush();
                flush_at = tokio::time::Instant::now() + FLUSH_EVERY;
                continue;
            }
            () = &mut stop => return Ok(End::Stopped),
        };
        match event {
            None => return Ok(End::Complete),
            Some(Err(error)) => return Ok(End::Failed(error)),
            Some(Ok(event)) => {
                see(&event);
                if let StreamEvent::BlockDelta { delta: Delta::Text(text), .. } = &event {
                    conversation.push(&text.as_str())?;
                }
            }
        }
    }
}

/// The error of a conversation that does not fit, however it is trimmed.
fn not_sent(too_large: TooLarge) -> ClientError {
    let error = ApiError::new(ApiErrorKind::ContextOverflow, too_large.to_string());
    ClientError::NotSent { error, hint: too_large.hint() }
}

/// The error of an answer that ended before its end.
fn broke_off(error: Option<ApiError>) -> ClientError {
    let silent =
        || ApiError::new(ApiErrorKind::Network, "the provider stopped in the middle of it");
    ClientError::BrokeOff(error.unwrap_or_else(silent))
}

/// A turn of which nothing came but an error is recorded as that error, in words without addresses
/// and paths: others may read the record.
fn as_error_if_empty(answer: Message, error: Option<&ClientError>) -> Message {
    match error {
        Some(error) if is_empty(&answer) => {
            let text = Message::assistant("", error.public_message());
            // Words that no model said are not the response of that name.
            let response_id = None;
            Message { is_api_error_message: true, body: text.body, response_id, ..answer }
        }
        _ => answer,
    }
}

/// Whether nothing came: no text, no thought, no call.
fn is_empty(answer: &Message) -> bool {
    answer.body.content().is_none_or(Content::is_empty)
}
