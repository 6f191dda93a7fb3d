//! The only place that waits for the network. A turn is ordinary code on one thread, which may block on the disk; only
//! talking to a provider is asynchronous, and this module waits for it. So no disk call happens inside an `async`
//! function, and syncing a file never blocks the executor of an embedding program. [`Prepared::ask`] runs the turn on a
//! blocking thread and receives its events over a channel. Dropping that future stops the answer and keeps its beginning.

use std::future::Future;
use std::pin::Pin;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::{AskError, Conversation, Outcome, Prepared, TurnEvent};

/// Why a turn cannot wait for the network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// This thread belongs to an asynchronous runtime, which must not block.
    #[error("a thread of an asynchronous runtime cannot wait for an answer")]
    InsideRuntime,
    /// The system could not create what is needed to wait.
    #[error("cannot wait for an answer: {0}")]
    Setup(String),
}

/// Waits for the network until the stop signal.
pub(crate) struct Network<'s> {
    runtime: TurnRuntime,
    stop: Pin<Box<dyn Future<Output = ()> + 's>>,
    /// Whether the signal came. Then every further wait ends at once.
    is_stopped: bool,
}

/// The runtime that a turn waits on.
enum TurnRuntime {
    /// A runtime just for this turn.
    Own(Runtime),
    /// The runtime of the embedding program.
    Shared(Handle),
}

impl<'s> Network<'s> {
    /// For a thread that belongs to no runtime. `stop` is the stop signal.
    pub fn new(stop: impl Future<Output = ()> + 's) -> Result<Network<'s>, NetworkError> {
        if Handle::try_current().is_ok() {
            return Err(NetworkError::InsideRuntime);
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| NetworkError::Setup(error.to_string()))?;
        Ok(Network {
            runtime: TurnRuntime::Own(runtime),
            stop: Box::pin(stop),
            is_stopped: false,
        })
    }

    /// For a thread that a runtime keeps for blocking work.
    /// Do not call [`Network::wait`] on a thread that runs asynchronous tasks: it would panic.
    pub fn on(handle: Handle, stop: impl Future<Output = ()> + 's) -> Network<'s> {
        Network {
            runtime: TurnRuntime::Shared(handle),
            stop: Box::pin(stop),
            is_stopped: false,
        }
    }

    /// Waits for `work`; `None` if the stop signal comes first.
    /// Dropping `work` cancels the request. If both are ready, either may win.
    pub fn wait<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        if self.is_stopped {
            return None;
        }
        let stop = &mut self.stop;
        let work_or_stop = async {
            tokio::select! {
                result = work => Some(result),
                () = stop => None,
            }
        };
        let result = match &self.runtime {
            TurnRuntime::Own(runtime) => runtime.block_on(work_or_stop),
            TurnRuntime::Shared(handle) => handle.block_on(work_or_stop),
        };
        self.is_stopped = result.is_none();
        result
    }
}

impl<C: Conversation + Send + 'static> Prepared<C> {
    /// Writes the prompt, asks the model and records the answer. `events` sees what happens meanwhile.
    /// Consumes the value, because the turn moves to another thread.
    pub async fn ask(self, events: impl FnMut(TurnEvent)) -> Result<Outcome, AskError> {
        self.ask_until(events, std::future::pending()).await
    }

    /// Like [`Prepared::ask`], but ends the answer where it is as soon as `stop` is ready. What arrived is recorded.
    /// Needs a Tokio runtime and panics without one. `events` is called on the task of the caller, so it may borrow
    /// from there, and should not block.
    pub async fn ask_until(
        mut self,
        mut events: impl FnMut(TurnEvent),
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Outcome, AskError> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        // Dropping this future drops `_alive` too, which stops the turn.
        let (_alive, dropped) = oneshot::channel::<()>();
        let handle = Handle::current();
        let turn = spawn_blocking(move || {
            let stop = async {
                tokio::select! {
                    () = stop => {}
                    _ = dropped => {}
                }
            };
            // Sending fails once nobody listens any more, and then nobody misses the event.
            let mut tell = |event| drop(sender.send(event));
            self.ask_on(&mut tell, Network::on(handle, stop))
        });
        while let Some(event) = receiver.recv().await {
            events(event);
        }
        turn.await
            .map_err(|error| AskError::Network(NetworkError::Setup(error.to_string())))?
    }
}
