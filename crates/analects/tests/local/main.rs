//! The model of this machine: the real weights, the real llama.cpp server, real kills. What is fetched
//! for it is kept in the folder that `ANALECTS_TEST_CACHE` names.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod context;
mod examples;
mod fetching;
mod life;
mod machine;
mod suite;
mod torture;
mod whole_line;
