//! The same calls for programs that have no runtime: they wait. They may also be called from inside
//! a runtime, since the work is done on a thread of its own.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use analects_core::{ModelFacts, Request, StreamEvent};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::error::reason;
use crate::{ClientError, Model, Offered, Options, Response};

/// How many events wait for a slow reader.
const WAITING: usize = 64;

/// A model that can be asked; see [`ModelAdapter`](crate::ModelAdapter) for what the calls do.
///
/// ```
/// use analects_client::{Options, Surroundings, blocking::ModelAdapter, resolve};
/// use analects_core::{Request, StreamEvent};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("answer.sse");
/// # std::fs::write(&path, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
/// let model = resolve(&format!("replay:{}", path.display()), &Surroundings::default())?;
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
    /// An adapter. Nothing is opened or read before it is needed.
    pub fn new(model: Model, options: Options) -> ModelAdapter {
        ModelAdapter {
            adapter: crate::ModelAdapter::new(model, options).into(),
        }
    }

    /// What is known about the model.
    pub fn capabilities(&self) -> ModelFacts {
        self.adapter.capabilities()
    }

    /// Asks, and waits for all of the answer.
    pub fn send_message(&self, request: &Request) -> Result<Response, ClientError> {
        wait(self.adapter.send_message(request))
    }

    /// How many tokens a request takes, counted by the provider.
    pub fn count_tokens(&self, request: &Request) -> Result<u64, ClientError> {
        wait(self.adapter.count_tokens(request))
    }

    /// The models that the provider offers.
    pub fn list_models(&self) -> Result<Vec<Offered>, ClientError> {
        wait(self.adapter.list_models())
    }

    /// Asks, and gives the answer piece by piece. Dropping the events cancels the request.
    pub fn stream_message(&self, request: &Request) -> Result<Events, ClientError> {
        let (adapter, request) = (self.adapter.clone(), request.clone());
        let (opened, is_open) = sync_channel(1);
        let (sender, receiver) = sync_channel(WAITING);
        let (cancel, mut cancelled) = oneshot::channel::<()>();
        let runtime = runtime()?;
        thread::spawn(move || {
            runtime.block_on(async {
                let stream = tokio::select! {
                    stream = adapter.stream_message(&request) => stream,
                    _ = &mut cancelled => return,
                };
                let mut stream = match stream {
                    Ok(stream) => stream,
                    Err(error) => {
                        // Whoever asked is there to hear it, or does not care any more.
                        let _ = opened.send(Err(error));
                        return;
                    }
                };
                if opened.send(Ok(())).is_err() {
                    return;
                }
                loop {
                    let event = tokio::select! {
                        event = stream.next() => event,
                        _ = &mut cancelled => return,
                    };
                    let Some(event) = event else { return };
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            });
        });
        let lost = || ClientError::Setup("the thread that asks is gone".to_string());
        is_open.recv().map_err(|_| lost())??;
        Ok(Events {
            receiver,
            _cancel: cancel,
        })
    }
}

/// The events of an answer, as they come. Dropping it cancels the request.
#[derive(Debug)]
pub struct Events {
    receiver: Receiver<Result<StreamEvent, ClientError>>,
    /// The request ends when this goes away.
    _cancel: oneshot::Sender<()>,
}

impl Iterator for Events {
    type Item = Result<StreamEvent, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

fn runtime() -> Result<Runtime, ClientError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| ClientError::Setup(reason(&error)))
}

/// Waits for a call on a thread of its own: this one may belong to a runtime, which must not wait.
fn wait<T: Send>(
    work: impl Future<Output = Result<T, ClientError>> + Send,
) -> Result<T, ClientError> {
    let runtime = runtime()?;
    thread::scope(|scope| {
        let waiting = scope.spawn(move || runtime.block_on(work));
        let lost = || ClientError::Setup("the thread that asks is gone".to_string());
        waiting.join().unwrap_or_else(|_| Err(lost()))
    })
}
