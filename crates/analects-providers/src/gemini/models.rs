//! Counting tokens and listing models: the answers, and the request of a list.

use analects_core::{ApiError, ApiErrorKind, ModelFacts, Raw, RawMap};

use crate::{Auth, HttpRequest, ListedModel, Method, ModelPage};

/// Reads the answer to a count.
pub fn decode_count(body: &[u8]) -> Option<u64> {
    RawMap::parse(&String::from_utf8_lossy(body)).ok()?.get("totalTokens")?.to()
}

/// Asks for the models, from the start or `after` a page.
pub fn list_request(after: Option<&str>) -> HttpRequest {
    let mut path = "/models?pageSize=1000".to_string();
    if let Some(token) = after {
        path.push_str("&pageToken=");
        path.push_str(&escaped(token));
    }
    HttpRequest {
        method: Method::Get,
        path,
        headers: vec![("accept".to_string(), "application/json".to_string())],
        auth: Auth::GoogleKey,
        body: Vec::new(),
        left_out: Vec::new(),
    }
}

/// Reads a page of models. Those that do not write, such as the ones for embeddings, are not listed.
pub fn decode_models(body: &[u8]) -> Result<ModelPage, ApiError> {
    let malformed = || {
        let text = "the list of models cannot be read";
        ApiError::new(ApiErrorKind::Malformed, text)
    };
    let map = RawMap::parse(&String::from_utf8_lossy(body)).map_err(|_| malformed())?;
    // A server without any models sends no list at all.
    let list = match map.get("models") {
        Some(list) => list.as_array().ok_or_else(malformed)?,
        None if map.is_empty() => Vec::new(),
        None => return Err(malformed()),
    };
    let next = map.get("nextPageToken").and_then(Raw::as_string);
    let next = next.filter(|token| !token.is_empty());
    Ok(ModelPage { models: list.iter().filter_map(model).collect(), next })
}

fn model(raw: &Raw) -> Option<ListedModel> {
    let map = raw.as_object()?;
    let name = map.get("name")?.as_string()?;
    let methods: Option<Vec<String>> = map.get("supportedGenerationMethods").and_then(Raw::to);
    if methods.is_some_and(|methods| !methods.iter().any(|name| name == "generateContent")) {
        return None;
    }
    let facts = ModelFacts {
        context_window: map.get("inputTokenLimit").and_then(Raw::to),
        max_output_tokens: map.get("outputTokenLimit").and_then(Raw::to),
        thinking: map.get("thinking").and_then(Raw::to),
        temperature: map.get("temperature").map(|_| true),
        ..ModelFacts::default()
    };
    let name = name.strip_prefix("models/").unwrap_or(&name).to_string();
    let title = map.get("displayName").and_then(Raw::as_string);
    Some(ListedModel { name, title, facts, extra: RawMap::new() })
}

/// A text as a part of an address: a name from a file must not become a path or a query.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
