//! The request that would be sent, for `--dry-run` and `context --request`.
//!
//! The request is encoded by the same code that sends it, so the preview cannot differ. It needs no key and opens no
//! connection.

use std::collections::BTreeMap;

use analects_client::{Model, Transport};
use analects_core::Request;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::ui;

/// Prints the request that would be sent, without the key.
/// The body is printed as it would be sent; only the layout around it is ours.
pub fn print(model: &Model, request: &Request) -> Result<(), Failure> {
    let encoded = model.encode(request);
    let address = match &model.transport {
        Transport::Http { base_url, .. } => base_url.to_string(),
        Transport::Replay(_) => "replay:".to_string(),
        // The port is known once the server runs.
        Transport::Local => "http://127.0.0.1/v1".to_string(),
    };
    let body = raw_json(String::from_utf8_lossy(&encoded.body).into_owned())?;
    let not_sent = encoded
        .left_out
        .iter()
        .map(|problem| problem.message.clone())
        .collect();
    ui::print_json(&RequestPreview {
        method: "POST",
        url: format!("{address}{}", encoded.path),
        headers: encoded.headers.iter().cloned().collect(),
        body,
        not_sent,
    })
}

/// JSON that is printed byte for byte. Fails if it is not valid.
pub fn raw_json(json: String) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(json)
        .map_err(|error| Failure::internal(format!("this is not JSON: {error}")))
}

/// A request, without the key.
#[derive(Serialize)]
struct RequestPreview {
    /// Always `POST`.
    method: &'static str,
    /// For a local model, an address without the port: it is known once the server runs.
    url: String,
    /// Without the one that holds the key.
    headers: BTreeMap<String, String>,
    /// Exactly the bytes that would be sent.
    body: Box<RawValue>,
    /// What the wire format cannot express, in words.
    not_sent: Vec<String>,
}
