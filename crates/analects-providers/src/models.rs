//! The models of a provider and the token count of a request: for each of the two, a function that
//! encodes the request and one that decodes the answer, for all APIs.

use analects_core::{ApiError, ModelFacts, Raw, RawMap, Request};

use crate::decoding::{fields_except, object_member, string_member};
use crate::error::malformed;
use crate::{Api, Auth, HttpRequest, anthropic, gemini};

/// How many models to ask for at once: the most that the APIs return.
const PAGE_SIZE: usize = 1000;

/// One page of a provider's models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelPage {
    /// The models.
    pub models: Vec<ListedModel>,
    /// The argument of [`encode_list_models`] for the next page; `None` on the last page.
    pub next: Option<String>,
}

/// A model that a provider offers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListedModel {
    /// The name to use in requests.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// What the provider says about the model, which is usually little.
    pub facts: ModelFacts,
    /// All other fields of the answer.
    pub extra: RawMap,
}

/// Encodes the question how many tokens a request has; `None` for APIs that cannot count.
pub fn encode_count(api: Api, request: &Request) -> Option<HttpRequest> {
    match api {
        Api::AnthropicMessages => Some(anthropic::encode_count(request)),
        Api::Gemini => Some(gemini::encode_count(request)),
        Api::OpenAiChat | Api::OpenAiResponses => None,
    }
}

/// Decodes the answer to [`encode_count`]; `None` if it contains no count.
///
/// ```
/// use analects_providers::{Api, decode_count};
///
/// assert_eq!(decode_count(Api::AnthropicMessages, br#"{"input_tokens":12}"#), Some(12));
/// assert_eq!(decode_count(Api::AnthropicMessages, b"<html>"), None);
/// ```
pub fn decode_count(api: Api, body: &[u8]) -> Option<u64> {
    let key = match api {
        Api::AnthropicMessages => "input_tokens",
        Api::Gemini => "totalTokens",
        Api::OpenAiChat | Api::OpenAiResponses => return None,
    };
    let body = RawMap::parse(std::str::from_utf8(body).ok()?).ok()?;
    body.get(key)?.to()
}

/// Encodes the question which models there are. `after` is [`ModelPage::next`] of the page before.
pub fn encode_list_models(api: Api, after: Option<&str>) -> HttpRequest {
    match api {
        Api::AnthropicMessages => {
            let path = format!(
                "/models?limit={PAGE_SIZE}{}",
                page_parameter("after_id", after)
            );
            HttpRequest::get(path, Auth::XApiKey).header("anthropic-version", anthropic::VERSION)
        }
        Api::Gemini => {
            let path = format!(
                "/models?pageSize={PAGE_SIZE}{}",
                page_parameter("pageToken", after)
            );
            HttpRequest::get(path, Auth::GoogleKey)
        }
        // OpenAI returns all models at once.
        Api::OpenAiChat | Api::OpenAiResponses => {
            HttpRequest::get("/models".to_string(), Auth::Bearer)
        }
    }
}

/// The query parameter that asks for the next page; empty for the first page.
fn page_parameter(name: &str, after: Option<&str>) -> String {
    match after {
        Some(page) => format!("&{name}={}", percent_encode(page)),
        None => String::new(),
    }
}

/// Decodes the answer to [`encode_list_models`].
///
/// ```
/// use analects_providers::{Api, decode_models, encode_list_models};
///
/// assert_eq!(encode_list_models(Api::OpenAiChat, None).path, "/models");
/// let page = decode_models(Api::OpenAiChat, br#"{"data":[{"id":"tiny","owned_by":"me"}]}"#)?;
/// assert_eq!(page.models[0].name, "tiny");
/// assert_eq!(page.models[0].extra.string("owned_by").as_deref(), Some("me"));
/// assert_eq!(page.next, None);
/// # Ok::<(), analects_core::ApiError>(())
/// ```
pub fn decode_models(api: Api, body: &[u8]) -> Result<ModelPage, ApiError> {
    let text = String::from_utf8_lossy(body);
    let page = match RawMap::parse(&text) {
        Ok(body) => model_page(api, &body),
        Err(_) => None,
    };
    page.ok_or_else(|| malformed("the answer is not a list of models"))
}

/// Reads a page of models; `None` if the body is not one.
fn model_page(api: Api, body: &RawMap) -> Option<ModelPage> {
    match api {
        Api::AnthropicMessages => anthropic_page(body),
        Api::Gemini => gemini_page(body),
        Api::OpenAiChat | Api::OpenAiResponses => openai_page(body),
    }
}

/// Anthropic's page names its last model, which is where the next page begins.
fn anthropic_page(body: &RawMap) -> Option<ModelPage> {
    let models = body.get("data")?.as_array()?;
    let has_more = body
        .get("has_more")
        .is_some_and(|more| more.as_str() == "true");
    Some(ModelPage {
        models: models.iter().filter_map(anthropic_model).collect(),
        next: string_member(body, "last_id").filter(|_| has_more),
    })
}

/// Reads a model of Anthropic; `None` if it has no id.
fn anthropic_model(model: &Raw) -> Option<ListedModel> {
    let model = model.as_object()?;
    let extra = fields_except(&model, &["type", "id", "display_name"]);
    Some(ListedModel {
        name: string_member(&model, "id")?,
        title: string_member(&model, "display_name"),
        facts: anthropic_facts(&model),
        extra: extra.into_iter().collect(),
    })
}

/// The facts that Anthropic's list contains: limits and capabilities, but no prices.
fn anthropic_facts(model: &RawMap) -> ModelFacts {
    ModelFacts {
        context_window: number_member(model, "max_input_tokens"),
        max_output_tokens: number_member(model, "max_tokens"),
        images: capability(model, "image_input"),
        thinking: capability(model, "thinking"),
        ..ModelFacts::default()
    }
}

/// Whether Anthropic says that a model has a capability; `None` if it says nothing.
fn capability(model: &RawMap, name: &str) -> Option<bool> {
    let capabilities = object_member(model, "capabilities")?;
    object_member(&capabilities, name)?.get("supported")?.to()
}

/// The number in a member; `None` if the member is missing or has another type.
fn number_member(map: &RawMap, key: &str) -> Option<u64> {
    map.get(key)?.to()
}

/// Gemini's page has a token for the next one.
fn gemini_page(body: &RawMap) -> Option<ModelPage> {
    let models = match body.get("models") {
        Some(models) => models.as_array()?,
        // A server without any models sends no list.
        None if body.is_empty() => Vec::new(),
        None => return None,
    };
    Some(ModelPage {
        models: models.iter().filter_map(gemini_model).collect(),
        next: string_member(body, "nextPageToken"),
    })
}

/// Reads a model that writes text; `None` for models that only make embeddings and the like.
fn gemini_model(model: &Raw) -> Option<ListedModel> {
    let model = model.as_object()?;
    if !generates_content(&model) {
        return None;
    }
    let name = model.string("name")?;
    let facts = ModelFacts {
        context_window: number_member(&model, "inputTokenLimit"),
        max_output_tokens: number_member(&model, "outputTokenLimit"),
        thinking: model.get("thinking").and_then(Raw::to),
        temperature: model.get("temperature").map(|_| true),
        ..ModelFacts::default()
    };
    Some(ListedModel {
        name: name.strip_prefix("models/").unwrap_or(&name).to_string(),
        title: model.string("displayName"),
        facts,
        extra: RawMap::new(),
    })
}

/// Whether a model lists the method that answers a conversation, or lists no methods at all.
fn generates_content(model: &RawMap) -> bool {
    let methods: Option<Vec<String>> = model.get("supportedGenerationMethods").and_then(Raw::to);
    let Some(methods) = methods else {
        return true;
    };
    methods.iter().any(|name| name == "generateContent")
}

/// OpenAI and compatible servers return names, and each vendor adds other fields.
fn openai_page(body: &RawMap) -> Option<ModelPage> {
    let models = body.get("data")?.as_array()?;
    Some(ModelPage {
        models: models.iter().filter_map(openai_model).collect(),
        next: None,
    })
}

/// Reads a model of OpenAI or a compatible server; `None` if it has no id.
fn openai_model(model: &Raw) -> Option<ListedModel> {
    let mut extra = model.as_object()?;
    let name = extra.string("id")?;
    extra.remove("id");
    Some(ListedModel {
        name,
        extra,
        ..ListedModel::default()
    })
}

/// Encodes text as a part of an address, so that a name from a file cannot become a path or a
/// query.
pub(crate) fn percent_encode(text: &str) -> String {
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
