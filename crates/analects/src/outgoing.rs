//! A request as it would go out, for those who want to see it first.

use std::collections::BTreeMap;

use analects_client::{Model, Transport};
use analects_core::Request;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::ui;

/// Prints the request as it would go out, but for the key.
pub fn print(model: &Model, request: &Request) -> Result<(), Failure> {
    let encoded = model.encode(request);
    let address = match &model.transport {
        Transport::Http { base_url, .. } => base_url.to_string(),
        Transport::Replay(_) => "replay:".to_string(),
        // Its port is known when it runs.
        Transport::Local => "http://127.0.0.1/v1".to_string(),
    };
    let body = raw(String::from_utf8_lossy(&encoded.body).into_owned())?;
    let left_out = encoded
        .left_out
        .iter()
        .map(|problem| problem.message.clone());
    ui::print_json(&Outgoing {
        method: "POST",
        url: format!("{address}{}", encoded.path),
        headers: encoded.headers.iter().cloned().collect(),
        body,
        not_sent: left_out.collect(),
    })
}

/// JSON that is printed as it is.
pub fn raw(json: String) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(json).map_err(|error| Failure::ours(format!("no JSON: {error}")))
}

/// A request as it would go out, but for the key.
#[derive(Serialize)]
struct Outgoing {
    method: &'static str,
    url: String,
    headers: BTreeMap<String, String>,
    /// To the byte what would be sent.
    body: Box<RawValue>,
    not_sent: Vec<String>,
}
