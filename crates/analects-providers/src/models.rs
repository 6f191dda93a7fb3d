//! What providers tell about models, and how many tokens a request has: requests out, answers in, one
//! function each for all wire formats.

use analects_core::{ApiError, ApiErrorKind, ModelFacts, Raw, RawMap, Request};

use crate::reading::{take, word};
use crate::{Api, Auth, HttpRequest, anthropic, gemini};

/// The most that the APIs give on one page.
const PAGE: usize = 1000;

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
    let key = match api {
        Api::AnthropicMessages => "input_tokens",
        Api::Gemini => "totalTokens",
        Api::OpenAiChat | Api::OpenAiResponses => return None,
    };
    RawMap::parse(std::str::from_utf8(body).ok()?)
        .ok()?
        .get(key)?
        .to()
}

/// The question which models there are; `after` is what the page before said is next.
pub fn list_request(api: Api, after: Option<&str>) -> HttpRequest {
    let after = |parameter: &str| match after {
        Some(page) => format!("&{parameter}={}", percent_encoded(page)),
        None => String::new(),
    };
    match api {
        Api::AnthropicMessages => {
            let path = format!("/models?limit={PAGE}{}", after("after_id"));
            HttpRequest::get(path, Auth::XApiKey).header("anthropic-version", anthropic::VERSION)
        }
        Api::Gemini => {
            let path = format!("/models?pageSize={PAGE}{}", after("pageToken"));
            HttpRequest::get(path, Auth::GoogleKey)
        }
        // All of them come at once.
        Api::OpenAiChat | Api::OpenAiResponses => {
            HttpRequest::get("/models".to_string(), Auth::Bearer)
        }
    }
}

/// Reads the answer to that question.
pub fn decode_models(api: Api, body: &[u8]) -> Result<ModelPage, ApiError> {
    let text = String::from_utf8_lossy(body);
    let page = RawMap::parse(&text).ok().and_then(|body| match api {
        Api::AnthropicMessages => anthropic_models(&body),
        Api::Gemini => gemini_models(&body),
        Api::OpenAiChat | Api::OpenAiResponses => openai_models(&body),
    });
    page.ok_or_else(|| {
        ApiError::new(
            ApiErrorKind::Malformed,
            "the answer is not a list of models",
        )
    })
}

fn anthropic_models(body: &RawMap) -> Option<ModelPage> {
    let models = body.get("data")?.as_array()?;
    let models = models.iter().filter_map(anthropic_model).collect();
    let more = body
        .get("has_more")
        .is_some_and(|more| more.as_str() == "true");
    Some(ModelPage {
        models,
        next: word(body, "last_id").filter(|_| more),
    })
}

fn anthropic_model(model: &Raw) -> Option<ListedModel> {
    let model = model.as_object()?;
    let abilities = model
        .get("capabilities")
        .and_then(Raw::as_object)
        .unwrap_or_default();
    let able = |key| abilities.get(key)?.as_object()?.get("supported")?.to();
    let facts = ModelFacts {
        context_window: model.get("max_input_tokens").and_then(Raw::to),
        max_output_tokens: model.get("max_tokens").and_then(Raw::to),
        images: able("image_input"),
        thinking: able("thinking"),
        ..ModelFacts::default()
    };
    let placed = ["type", "id", "display_name"];
    Some(ListedModel {
        name: word(&model, "id")?,
        title: word(&model, "display_name"),
        facts,
        extra: take(&model, |key, _| placed.contains(&key))
            .into_iter()
            .collect(),
    })
}

fn gemini_models(body: &RawMap) -> Option<ModelPage> {
    // A server without any models sends no list at all.
    let models = match body.get("models") {
        Some(models) => models.as_array()?,
        None if body.is_empty() => Vec::new(),
        None => return None,
    };
    let models = models.iter().filter_map(gemini_model).collect();
    Some(ModelPage {
        models,
        next: word(body, "nextPageToken"),
    })
}

/// A model that writes: those for embeddings and the like are not listed.
fn gemini_model(model: &Raw) -> Option<ListedModel> {
    let model = model.as_object()?;
    let name = model.string("name")?;
    let methods: Option<Vec<String>> = model.get("supportedGenerationMethods").and_then(Raw::to);
    if methods.is_some_and(|methods| !methods.iter().any(|name| name == "generateContent")) {
        return None;
    }
    let facts = ModelFacts {
        context_window: model.get("inputTokenLimit").and_then(Raw::to),
        max_output_tokens: model.get("outputTokenLimit").and_then(Raw::to),
        thinking: model.get("thinking").and_then(Raw::to),
        temperature: model.get("temperature").map(|_| true),
        ..ModelFacts::default()
    };
    let name = name.strip_prefix("models/").unwrap_or(&name).to_string();
    Some(ListedModel {
        name,
        title: model.string("displayName"),
        facts,
        extra: RawMap::new(),
    })
}

/// OpenAI and its likes give names, and each vendor something else besides.
fn openai_models(body: &RawMap) -> Option<ModelPage> {
    let models = body.get("data")?.as_array()?;
    let models = models.iter().filter_map(openai_model).collect();
    Some(ModelPage { models, next: None })
}

fn openai_model(model: &Raw) -> Option<ListedModel> {
    let model = model.as_object()?;
    let extra = model
        .iter()
        .filter(|(key, _)| key.as_str() != "\"id\"")
        .collect();
    Some(ListedModel {
        name: model.string("id")?,
        extra,
        ..ListedModel::default()
    })
}

/// A text as a part of an address: a name from a file must not become a path or a query.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
