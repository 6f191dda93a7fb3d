//! Any conversation at all, to the Responses API.

use analects_core::Rules;

use crate::any_request::for_any_request;
use crate::{Api, Quirks};

const MODELS: [&str; 3] = ["gpt-5", "smollm2", "gpt-4o"];

for_any_request!(Api::OpenAiResponses, Rules::OpenAiResponses, MODELS, Quirks::OPENAI_RESPONSES);
