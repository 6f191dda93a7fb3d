//! Any conversation at all, to Anthropic.

use analects_core::Rules;

use crate::any_request::for_any_request;
use crate::{Api, Quirks};

const MODELS: [&str; 3] = ["claude-sonnet-4-5", "claude-opus-4-7", "smollm2"];

for_any_request!(Api::AnthropicMessages, Rules::Anthropic, MODELS, Quirks::COMPATIBLE);
