//! Any conversation at all, to Gemini.

use analects_core::Rules;

use crate::any_request::for_any_request;
use crate::{Api, Quirks};

const MODELS: [&str; 3] = ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-2.0-flash"];

for_any_request!(Api::Gemini, Rules::Gemini, MODELS, Quirks::COMPATIBLE);
