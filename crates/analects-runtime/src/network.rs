//! The only place that waits for the network. A turn is ordinary code on one thread, which may wait for the disk as
//! long as it takes; only what comes from a provider is asynchronous, and this waits for it. So no disk call is ever
//! made inside an `async` function, and no reactor of an embedding program stands still while a file is synced.
//!
//! A turn for asynchronous programs runs on a thread that the runtime keeps for work that waits, and what happens comes
//! back over a channel. Whoever drops the future stops the answer, which is kept as far as it came.

use std::future::Future;
use std::pin::Pin;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::{AskError, Conversation, Outcome, Prepared, TurnEvent};

/// What cannot be waited for.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// This thread belongs to a runtime, which must not stand still.
    #[error("a thread of an asynchronous runtime cannot wait for an answer")]
    InsideRuntime,
    /// The system has no means for it.
    #[error("cannot wait for an answer: {0}")]
    Setup(String),
}

/// Waits for the network, until the person says that it is enough.
pub(crate) struct Network<'s> {
    waiter: Waiter,
    stop: Pin<Box<dyn Future<Output = ()> + 's>>,
    /// Whether the person has said so. Then nothing else is waited for.
    is_stopped: bool,
}

enum Waiter {
    Own(Runtime),
    Of(Handle),
}

impl<'s> Network<'s> {
    /// For a thread that belongs to no runtime.
    pub fn new(stop: impl Future<Output = ()> + 's) -> Result<Network<'s>, NetworkError> {
        if Handle::try_current().is_ok() {
            return Err(NetworkError::InsideRuntime);
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| NetworkError::Setup(error.to_string()))?;
        Ok(Network {
            waiter: Waiter::Own(runtime),
            stop: Box::pin(stop),
            is_stopped: false,
        })
    }

    /// For a thread that a runtime keeps for work that waits.
    pub fn of(handle: Handle, stop: impl Future<Output = ()> + 's) -> Network<'s> {
        Network {
            waiter: Waiter::Of(handle),
            stop: Box::pin(stop),
            is_stopped: false,
        }
    }

    /// What comes of some work; `None` if the person stops it before.
    pub fn wait<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        if self.is_stopped {
            return None;
        }
        let stop = &mut self.stop;
        let either = async {
            tokio::select! {
                done = work => Some(done),
                () = stop => None,
            }
        };
        let done = match &self.waiter {
            Waiter::Own(runtime) => runtime.block_on(either),
            Waiter::Of(handle) => handle.block_on(either),
        };
        self.is_stopped = done.is_none();
        done
    }
}

impl<C: Conversation + Send + 'static> Prepared<C> {
    /// Writes what the person says, asks the model, and records what comes, to the last word that came. `events` sees
    /// what happens.
    pub async fn ask(self, events: impl FnMut(TurnEvent)) -> Result<Outcome, AskError> {
        self.ask_until(events, std::future::pending()).await
    }

    /// The same; when `stop` is ready, the answer ends as it is.
    pub async fn ask_until(
        mut self,
        mut events: impl FnMut(TurnEvent),
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Outcome, AskError> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        // This goes away with the future.
        let (_alive, dropped) = oneshot::channel::<()>();
        let handle = Handle::current();
        let turn = spawn_blocking(move || {
            let stop = async {
                tokio::select! {
                    () = stop => {}
                    _ = dropped => {}
                }
            };
            // Whoever does not listen any more does not miss it.
            let mut tell = |event| drop(sender.send(event));
            self.ask_on(&mut tell, Network::of(handle, stop))
        });
        while let Some(event) = receiver.recv().await {
            events(event);
        }
        turn.await
            .map_err(|error| AskError::Network(NetworkError::Setup(error.to_string())))?
    }
}
