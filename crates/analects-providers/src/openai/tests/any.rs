//! Any conversation at all, to Chat Completions.

use analects_core::Rules;

use crate::any_request::for_any_request;
use crate::{Api, Quirks};

const MODELS: [&str; 3] = ["smollm2", "gpt-5", "gpt-4o"];

for_any_request!(Api::OpenAiChat, Rules::OpenAiChat, MODELS, Quirks::COMPATIBLE);
