//! The local model: real weights, the real llama.cpp server, real kills. Downloads are kept in the folder that
//! `ANALECTS_TEST_CACHE` names.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod context_plan;
mod examples;
mod first_conversation;
mod machine;
mod model_pull;
mod provider_adapters;
mod server_lifetime;
mod tools_and_proxy;
