//! A turn for asynchronous programs: it runs on a thread that the runtime keeps for work that waits, and what happens
//! comes back over a channel. Whoever drops the future stops the answer, which is kept as far as it came.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::network::{Network, NoNetwork};
use crate::{AskError, Conversation, Outcome, Prepared, TurnEvent};

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
        turn.await.map_err(|error| AskError::NoNetwork(NoNetwork::Setup(error.to_string())))?
    }
}
