//! The only crate that talks to the network: HTTP requests out, streams of bytes in.
//!
//! What the bytes mean is not its business: `analects-providers` encodes and decodes. It does not
//! look at the environment either: the command does that, and hands keys, addresses and proxies over
//! as plain data.
//!
//! # Types, in reading order
//!
//! 1. [`resolve`] turns a name such as `openai/gpt-x` into a [`Model`]: a wire format and a
//!    [`Transport`], with what the [`Surroundings`] hold: [`BaseUrl`] and [`Key`]. A [`Resolver`] also
//!    knows pointers such as `quick`.
//! 2. [`ModelAdapter`] asks a model, whatever its provider: send, stream, count tokens, list models;
//!    [`blocking`] has the same calls for programs without a runtime.
//! 3. [`Client`] is what it sends with: [`Client::send`] takes bytes and gives a [`ByteStream`]; [`Client::stream`]
//!    takes a request and gives an [`EventStream`]. Dropping either stream cancels the request.
//! 4. [`Options`] say how long to wait, how often to try, and through which [`Proxies`] to go.
//! 5. [`ClientError`] is everything that can go wrong; callers branch on what it answers.
//!
//! # Asking a model
//!
//! Keys and addresses come from wherever a program keeps them; one that reads its environment passes
//! `|name| std::env::var(name).ok()`. Here, `variables` holds the address of a server on this machine. A program without
//! a runtime waits for the answer:
//!
//! ```
//! use analects_client::blocking::ModelAdapter;
//! use analects_client::{Options, Surroundings, resolve};
//! use analects_core::Request;
//!
//! # use analects_testkit::server::{Server, answer};
//! # let server = Server::new(vec![answer(&["Forty-", "two."])]);
//! # let variables = std::collections::BTreeMap::from([("OPENAI_BASE_URL", server.base_url.clone())]);
//! let environment = Surroundings::read(|name| variables.get(name).cloned());
//! let model = resolve("openai/gpt-5-mini", &environment)?;
//! let adapter = ModelAdapter::new(model, Options::default());
//! let response = adapter.send_message(&Request::from_prompt("Six times seven?"))?;
//! assert_eq!(response.message.text(), "Forty-two.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An asynchronous one can also read the answer piece by piece, as it comes:
//!
//! ```
//! use analects_client::{ModelAdapter, Options, Surroundings, resolve};
//! use analects_core::{Fold, Message, Request};
//!
//! # use analects_testkit::server::{Server, answer};
//! # let server = Server::new(vec![answer(&["Forty-", "two."])]);
//! # let variables = std::collections::BTreeMap::from([("OPENAI_BASE_URL", server.base_url.clone())]);
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let environment = Surroundings::read(|name| variables.get(name).cloned());
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
//! - A stream is given only when something of the answer has come, or its end: until then the request
//!   may still be sent again.
//! - A recording is written while the answer comes. If that is cut short, so is the recording.
//! - A key is taken out of what a server says, also in recordings, but not one that it spells in the
//!   escapes of JSON or takes apart.
//! - An answer has at most [`Options::longest`] bytes, and holds at most [`Options::most_content`].
//! - HTTP/1.1 only. Redirects are not followed, so that no key travels to another host.
//! - `https` addresses trust the certificates of the operating system. [`Proxies`] speak HTTP, not
//!   SOCKS, and addresses of this machine never go through one.

mod adapter;
mod address;
pub mod blocking;
mod bytes;
mod client;
mod error;
mod events;
mod key;
mod model;
mod proxies;
mod recorder;
mod tries;

pub use adapter::{ModelAdapter, Offered, Response, cost, is_content};
pub use address::BaseUrl;
pub use bytes::ByteStream;
pub use client::{Client, OnWait, Options, Waiting};
pub use error::{ClientError, Wait};
pub use events::EventStream;
pub use key::Key;
pub use model::{Model, Resolver, Surroundings, Transport, provider_of, resolve};
pub use proxies::Proxies;
pub use recorder::OnLost;
