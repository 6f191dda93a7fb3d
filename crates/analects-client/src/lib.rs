//! The only crate that talks to the network: HTTP requests out, streams of bytes in.
//!
//! `analects-providers` encodes and decodes the bytes. This crate does not read the environment
//! either: the command does, and passes keys, addresses and proxies as plain data.
//!
//! # Types, in reading order
//!
//! 1. [`resolve`] turns a name such as `openai/gpt-x` into a [`Model`]: a wire format and a
//!    [`Transport`], with the [`BaseUrl`] and the [`Key`] from the [`ProviderSettings`]. A
//!    [`Resolver`] also knows pointers such as `quick`.
//! 2. [`ModelAdapter`] asks a model, whatever its provider: send, stream, count tokens, list
//!    models. [`blocking`] has the same calls for programs without a runtime.
//! 3. [`Client`] sends its requests: [`Client::send`] takes bytes and returns a [`ByteStream`];
//!    [`Client::stream`] takes a request and returns an [`EventStream`]. Dropping either stream
//!    cancels the request.
//! 4. [`Options`] set timeouts, limits, retries and [`Proxies`].
//! 5. [`ClientError`] is everything that can go wrong. Callers branch on its predicates.
//!
//! # Asking a model
//!
//! Keys and addresses come from wherever a program keeps them. To read the environment, pass
//! `|name| std::env::var(name).ok()`. Here, `variables` contains the address of a server on this
//! machine. A program without a runtime waits for the answer:
//!
//! ```
//! use analects_client::blocking::ModelAdapter;
//! use analects_client::{Options, ProviderSettings, resolve};
//! use analects_core::Request;
//!
//! # use analects_testkit::server::{Server, answer};
//! # let server = Server::new(vec![answer(&["Forty-", "two."])]);
//! # let variables = std::collections::BTreeMap::from([("OPENAI_BASE_URL", server.base_url.clone())]);
//! let environment = ProviderSettings::read(|name| variables.get(name).cloned());
//! let model = resolve("openai/gpt-5-mini", &environment)?;
//! let adapter = ModelAdapter::new(model, Options::default());
//! let response = adapter.send_message(&Request::from_prompt("Six times seven?"))?;
//! assert_eq!(response.message.text(), "Forty-two.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An asynchronous program can also read the answer piece by piece, as it arrives:
//!
//! ```
//! use analects_client::{ModelAdapter, Options, ProviderSettings, resolve};
//! use analects_core::{Fold, Message, Request};
//!
//! # use analects_testkit::server::{Server, answer};
//! # let server = Server::new(vec![answer(&["Forty-", "two."])]);
//! # let variables = std::collections::BTreeMap::from([("OPENAI_BASE_URL", server.base_url.clone())]);
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let environment = ProviderSettings::read(|name| variables.get(name).cloned());
//! let model = resolve("openai/gpt-5-mini", &environment)?;
//! let adapter = ModelAdapter::new(model, Options::default());
//! let mut stream = adapter.stream_message(&Request::from_prompt("Six times seven?")).await?;
//! let mut fold = Fold::default();
//! while let Some(event) = stream.next().await {
//!     fold.push(&event?);
//! }
//! let answer = fold.finish(Message::assistant("", "")).message;
//! assert_eq!(answer.text(), "Forty-two.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - A stream is returned only once some of the answer has come, or its end. Until then, the
//!   request may still be sent again.
//! - A recording is written while the answer arrives. If the answer is cut off, so is the
//!   recording.
//! - The key is removed from what a server says, also in recordings, but not if the server takes it
//!   apart.
//! - An answer has at most [`Options::max_bytes`] bytes, with at most
//!   [`Options::max_content_bytes`] of content.
//! - HTTP/1.1 only. Redirects are not followed, so that no key travels to another host.
//! - `https` addresses trust the certificates of the operating system. [`Proxies`] speak HTTP, not
//!   SOCKS, and addresses of this machine never go through one.

mod adapter;
mod address;
pub mod blocking;
mod byte_stream;
mod client;
mod error;
mod event_stream;
mod http_call;
mod key;
mod model;
mod near_models;
mod proxies;
mod recorder;
mod retry_loop;

pub use adapter::{ModelAdapter, Response, cost, is_content};
pub use address::BaseUrl;
pub use byte_stream::ByteStream;
pub use client::{Client, Options, RetryCallback, RetryNotice};
pub use error::{ClientError, NearModels, TimeoutPhase};
pub use event_stream::EventStream;
pub use key::Key;
pub use model::{Model, ProviderSettings, Resolver, Transport, find_provider, resolve};
pub use proxies::Proxies;
pub use recorder::RecordingErrorCallback;
