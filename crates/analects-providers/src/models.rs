//! What providers tell about models, and how many tokens a request has: requests out, answers in, one
//! function each for all wire formats.

use analects_core::{ApiError, ApiErrorKind, ModelFacts, Raw, RawMap, Request};

use crate::{Api, Auth, HttpRequest, anthropic, gemini};

/// One page of a provider's models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelPage {
    /// The models.
    pub models: Vec<ListedModel>,
    /// What [`list_request`] wants for the next page; `None` on the last.
    pub next: Option<String>,
}

/// A model that a provider offers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListedModel {
    /// The name by which it is asked.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What the provider says about it; mostly little.
    pub facts: ModelFacts,
    /// What the provider says besides, as it came.
    pub extra: RawMap,
}

/// The question how many tokens a request has; `None` where the API has no answer to it.
pub fn encode_count(api: Api, request: &Request) -> Option<HttpRequest> {
    match api {
        Api::AnthropicMessages => Some(anthropic::encode_count(request)),
        Api::Gemini => Some(gemini::encode_count(request)),
        Api::OpenAiChat | Api::OpenAiResponses => None,
    }
}

/// Reads the answer to that question; `None` if it is none.
pub fn decode_count(api: Api, body: &[u8]) -> Option<u64> {
    let map = || RawMap::parse(std::str::from_utf8(body).ok()?).ok();
    match api {
        Api::AnthropicMessages => anthropic::decode_count(&map()?),
        Api::Gemini => gemini::decode_count(body),
        Api::OpenAiChat | Api::OpenAiResponses => None,
    }
}

/// The question which models there are; `after` is what the page before said is next.
pub fn list_request(api: Api, after: Option<&str>) -> HttpRequest {
    match api {
        Api::AnthropicMessages => anthropic::list_request(after),
        Api::Gemini => gemini::list_request(after),
        // All of them come at once.
        Api::OpenAiChat | Api::OpenAiResponses => {
            HttpRequest::get("/models".to_string(), Auth::Bearer)
        }
    }
}

/// Reads the answer to that question.
pub fn decode_models(api: Api, body: &[u8]) -> Result<ModelPage, ApiError> {
    if api == Api::Gemini {
        return gemini::decode_models(body);
    }
    let text = String::from_utf8_lossy(body);
    let page = RawMap::parse(&text).ok().and_then(|body| match api {
        Api::AnthropicMessages => anthropic::decode_models(&body),
        Api::Gemini => None,
        Api::OpenAiChat | Api::OpenAiResponses => openai_models(&body),
    });
    page.ok_or_else(|| ApiError::new(ApiErrorKind::Malformed, "the answer is not a list of models"))
}

/// OpenAI and its likes give names, and each vendor something else besides.
fn openai_models(body: &RawMap) -> Option<ModelPage> {
    let models = body.get("data")?.as_array()?;
    let listed = |model: &Raw| {
        let mut extra = RawMap::new();
        let map = model.as_object()?;
        for (key, value) in map.iter().filter(|(key, _)| key.as_str() != "\"id\"") {
            extra.push_raw(key.clone(), value.clone());
        }
        let name = map.get("id")?.as_string()?;
        Some(ListedModel { name, extra, ..ListedModel::default() })
    };
    Some(ModelPage { models: models.iter().filter_map(listed).collect(), next: None })
}

/// A value as a part of a query.
pub(crate) fn percent_encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let spell = |byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    value.bytes().map(spell).collect()
}

#[cfg(test)]
mod tests;
