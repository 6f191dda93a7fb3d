//! Counting tokens and listing models.

use analects_core::{ModelFacts, Raw, RawMap};

use super::wire::{VERSION, without, word};
use crate::models::{ListedModel, ModelPage, percent_encoded};
use crate::{Auth, HttpRequest};

/// The most that the API gives on one page.
const PAGE: usize = 1000;

/// Asks for the models after the one of the given name.
pub(crate) fn list_request(after: Option<&str>) -> HttpRequest {
    let after = after.map(|id| format!("&after_id={}", percent_encoded(id))).unwrap_or_default();
    HttpRequest::get(format!("/models?limit={PAGE}{after}"), Auth::XApiKey)
        .header("anthropic-version", VERSION)
}

/// Reads a page of models; `None` if it is none.
pub(crate) fn decode_models(body: &RawMap) -> Option<ModelPage> {
    let models = body.get("data")?.as_array()?;
    let models = models.iter().filter_map(|model| listed(&model.as_object()?)).collect();
    let more = body.get("has_more").is_some_and(|more| more.as_str() == "true");
    Some(ModelPage { models, next: word(body, "last_id").filter(|_| more) })
}

fn listed(model: &RawMap) -> Option<ListedModel> {
    let number = |key| model.get(key).and_then(Raw::to);
    let abilities = model.get("capabilities").and_then(Raw::as_object).unwrap_or_default();
    let able = |key| abilities.get(key)?.as_object()?.get("supported")?.to();
    let facts = ModelFacts {
        context_window: number("max_input_tokens"),
        max_output_tokens: number("max_tokens"),
        images: able("image_input"),
        thinking: able("thinking"),
        ..ModelFacts::default()
    };
    let mut extra = RawMap::new();
    for (key, value) in without(model, &["type", "id", "display_name"]) {
        extra.push(&key, value);
    }
    let title = word(model, "display_name");
    Some(ListedModel { name: word(model, "id")?, title, facts, extra })
}

/// Reads how many tokens a request has.
pub(crate) fn decode_count(body: &RawMap) -> Option<u64> {
    body.get("input_tokens")?.to()
}
