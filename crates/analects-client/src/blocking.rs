//! The same calls for programs without a runtime: they wait for the answer. They may also be called
//! from inside a runtime, because a thread of its own does the work.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use analects_core::{ModelFacts, Request, StreamEvent};
use analects_providers::ListedModel;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::error::reason;
use crate::{ClientError, EventStream, Model, Options, Response};

/// How many events may wait for a slow reader.
const QUEUE_LENGTH: usize = 64;

/// A model that can be asked; see [`ModelAdapter`](crate::ModelAdapter) for what the calls do.
///
/// ```
/// use analects_client::{Options, ProviderSettings, blocking::ModelAdapter, resolve};
/// use analects_core::{Request, StreamEvent};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("answer.sse");
/// # std::fs::write(&path, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
/// let model = resolve(&format!("replay:{}", path.display()), &ProviderSettings::default())?;
/// let adapter = ModelAdapter::new(model, Options::default());
/// assert_eq!(adapter.send_message(&Request::default())?.message.text(), "Hi");
///
/// let events: Vec<StreamEvent> = adapter.stream_message(&Request::default())?.collect::<Result<_, _>>()?;
/// assert!(matches!(events.last(), Some(StreamEvent::MessageStop { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ModelAdapter {
    adapter: std::sync::Arc<crate::ModelAdapter>,
}

impl ModelAdapter {
    /// Makes an adapter. Nothing is opened or read before it is needed.
    pub fn new(model: Model, options: Options) -> ModelAdapter {
        ModelAdapter {
            adapter: crate::ModelAdapter::new(model, options).into(),
        }
    }

    /// What is known about the model.
    pub fn capabilities(&self) -> ModelFacts {
        self.adapter.capabilities()
    }

    /// Sends a request and waits for the whole answer.
    pub fn send_message(&self, request: &Request) -> Result<Response, ClientError> {
        wait(self.adapter.send_message(request))
    }

    /// Asks the provider how many tokens a request has.
    pub fn count_tokens(&self, request: &Request) -> Result<u64, ClientError> {
        wait(self.adapter.count_tokens(request))
    }

    /// Asks the provider for its models.
    pub fn list_models(&self) -> Result<Vec<ListedModel>, ClientError> {
        wait(self.adapter.list_models())
    }

    /// Sends a request and returns the answer event by event. Dropping the events cancels the
    /// request.
    pub fn stream_message(&self, request: &Request) -> Result<BlockingEvents, ClientError> {
        let adapter = self.adapter.clone();
        let request = request.clone();
        let (opened, is_open) = sync_channel(1);
        let (sender, receiver) = sync_channel(QUEUE_LENGTH);
        let (cancel, cancelled) = oneshot::channel::<()>();
        let runtime = runtime()?;
        thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = forward(&adapter, &request, opened, sender) => {}
                    _ = cancelled => {}
                }
            });
        });
        is_open.recv().map_err(|_| thread_is_gone())??;
        Ok(BlockingEvents {
            receiver,
            _cancel: cancel,
        })
    }
}

type EventResult = Result<StreamEvent, ClientError>;

/// Opens a stream, reports whether that succeeded, and passes on its events until nobody receives
/// them any more.
async fn forward(
    adapter: &crate::ModelAdapter,
    request: &Request,
    opened: SyncSender<Result<(), ClientError>>,
    sender: SyncSender<EventResult>,
) {
    let mut stream: EventStream = match adapter.stream_message(request).await {
        Ok(stream) => stream,
        Err(error) => {
            // If nobody receives the error, nobody needs it.
            let _ = opened.send(Err(error));
            return;
        }
    };
    if opened.send(Ok(())).is_err() {
        return;
    }
    while let Some(event) = stream.next().await {
        if sender.send(event).is_err() {
            return;
        }
    }
}

/// The events of an answer, as they arrive. Dropping it cancels the request.
#[derive(Debug)]
pub struct BlockingEvents {
    receiver: Receiver<EventResult>,
    /// The request ends when this is dropped.
    _cancel: oneshot::Sender<()>,
}

impl Iterator for BlockingEvents {
    type Item = Result<StreamEvent, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

fn runtime() -> Result<Runtime, ClientError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| ClientError::Setup(reason(&error)))
}

fn thread_is_gone() -> ClientError {
    ClientError::Setup("the thread that asks is gone".to_string())
}

/// Runs a call on a thread of its own: the caller's may belong to a runtime, which must not wait.
fn wait<T: Send>(
    work: impl Future<Output = Result<T, ClientError>> + Send,
) -> Result<T, ClientError> {
    let runtime = runtime()?;
    thread::scope(|scope| {
        let thread = scope.spawn(move || runtime.block_on(work));
        thread.join().unwrap_or_else(|_| Err(thread_is_gone()))
    })
}
