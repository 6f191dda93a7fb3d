//! What encoders share: saying what is left out of a request or sent otherwise, calls and settings as
//! the APIs accept them, and fields that go to the provider as they are.

mod calls;
pub(crate) mod settings;

use analects_core::{Problem, Raw, RawMap, Severity};
use serde_json::Value;

pub(crate) use calls::{CallIds, Names, fit_call, is_plain_char};

/// Collects what the body does not say as it was asked for.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Vec<Problem>);

impl LeftOut {
    /// Something that was said and does not go out: `what` and why, in a few words.
    pub fn content(&mut self, turn: usize, what: &str, why: &str) {
        let text = format!("turn {}: {what} is not sent: {why}", turn + 1);
        self.push(text, Severity::Warning);
    }

    /// A thought, which only its own provider reads: nothing to worry about.
    pub fn thought(&mut self, turn: usize, why: &str) {
        let text = format!("turn {}: a thought is not sent: {why}", turn + 1);
        self.push(text, Severity::Hint);
    }

    /// A setting of the request.
    pub fn setting(&mut self, name: &str, why: &str) {
        self.push(format!("{name} is not sent: {why}"), Severity::Warning);
    }

    /// A detail of a setting, which hardly anybody misses.
    pub fn detail(&mut self, text: String) {
        self.push(text, Severity::Hint);
    }

    /// There is nothing to send at all.
    pub fn everything(&mut self) {
        self.setting("the request", "there is nothing in it that the API takes");
    }

    /// Something that goes out otherwise than it was said, or that nobody said.
    pub fn otherwise(&mut self, what: impl Into<String>) {
        self.0.push(Problem::warning("sent-otherwise", what));
    }

    /// A choice that nobody made, so that the program had to.
    pub fn choice(&mut self, what: impl Into<String>) {
        self.0
            .push(Problem::warning("sent-otherwise", what).with(Severity::Hint));
    }

    /// What somebody else found.
    pub fn add(&mut self, problems: Vec<Problem>) {
        self.0.extend(problems);
    }

    fn push(&mut self, text: String, severity: Severity) {
        self.0
            .push(Problem::warning("not-sent", text).with(severity));
    }

    /// What was collected.
    pub fn into_problems(self) -> Vec<Problem> {
        self.0
    }
}

/// Adds the provider's own fields. They win over ours, except for `fixed` ones, without which the
/// answer could not be read, or would not be the answer to what was shown.
pub(crate) fn with_metadata(
    json: String,
    metadata: &RawMap,
    fixed: &[&str],
    left_out: &mut LeftOut,
) -> String {
    // A body is as long as its conversation, and is not read again for nothing.
    if metadata.is_empty() {
        return json;
    }
    let body = RawMap::parse(&json).unwrap_or_default();
    if body.is_empty() {
        return json;
    }
    let name = |key: &Raw| key.as_string().unwrap_or_default();
    let is_fixed = |key: &Raw| fixed.contains(&name(key).as_str());
    let ours = body
        .iter()
        .filter(|(key, _)| is_fixed(key) || metadata.get(&name(key)).is_none());
    let theirs = metadata.iter().filter(|(key, _)| !is_fixed(key));
    let merged: RawMap = ours.chain(theirs).collect();
    for (key, _) in metadata.iter().filter(|(key, _)| is_fixed(key)) {
        left_out.setting(&name(key), "this field is not up to the metadata");
    }
    merged.to_raw().to_string()
}

/// Whether this is one of OpenAI's models that think before every answer: they refuse a temperature
/// and the older name of the token limit, which most other servers know as the only one.
pub(crate) fn always_thinks(model: &str) -> bool {
    let numbered = |prefix: &str| {
        let rest = model.strip_prefix(prefix)?;
        rest.chars().next().filter(char::is_ascii_digit)
    };
    numbered("o").is_some() || numbered("gpt-").is_some_and(|digit| digit >= '5')
}

/// Whether what `by` thought may go back to `model`. Nobody reads the sealed thoughts of others:
/// OpenAI's models read each other's, any other model its own. Where nobody knows who it was, the
/// seal's shape has to do.
pub(crate) fn same_maker(by: Option<&str>, model: &str) -> bool {
    by.is_none_or(|by| by == model || (is_openai(by) && is_openai(model)))
}

fn is_openai(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let families = ["gpt-", "chatgpt-", "codex-", "computer-use-"];
    always_thinks(name) || families.iter().any(|family| name.starts_with(family))
}

/// What a tool gave back, as text. These APIs have no word for a call that failed, so the text says
/// so.
pub(crate) fn result_text(text: String, is_error: Option<bool>) -> String {
    let told = text
        .trim_start()
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("error"));
    match is_error {
        Some(true) if text.trim().is_empty() => "error".to_string(),
        Some(true) if !told => format!("error: {text}"),
        _ => text,
    }
}

/// Whether a provider may be asked to fetch an address that a conversation names. A server on this machine could read
/// any file for a `file:` address, so only what lies on the network, or holds its own bytes, goes out.
pub(crate) fn may_be_passed_on(url: &str) -> bool {
    let scheme = url
        .trim_start()
        .split_once(':')
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| matches!(scheme.as_str(), "http" | "https" | "gs" | "data"))
}

/// Why an address is not passed on.
pub(crate) const NOT_PASSED_ON: &str = "only http, https, gs and data addresses are sent";

/// Whether a type and a text are what they say, and not an address that begins with them.
pub(crate) fn is_data(media_type: &str, data: &str) -> bool {
    let is_type = |c: char| c.is_ascii_alphanumeric() || "/.+-_".contains(c);
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-\r\n".contains(&byte);
    media_type.chars().all(is_type) && data.bytes().all(is_base64)
}

/// A document or an image as a URL that holds its bytes.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// The name of a document, which the APIs want to see: its title, or one made of its type.
pub(crate) fn file_name(extra: &RawMap, media_type: &str) -> String {
    let named = extra.string("filename").or_else(|| extra.string("title"));
    named
        .filter(|name| !name.trim().is_empty())
        .unwrap_or_else(|| {
            let kind = match media_type {
                "text/plain" => "txt",
                "text/markdown" => "md",
                other => other.rsplit('/').next().unwrap_or("bin"),
            };
            format!("document.{kind}")
        })
}

/// The text of a document that holds it in plain words.
pub(crate) fn plain_document(source: &Raw) -> Option<String> {
    let map = source.as_object()?;
    let is_text = map.string("type")? == "text";
    map.string("data").filter(|_| is_text)
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The same JSON with U+FFFD in the place of every half of a surrogate pair, which the APIs refuse.
pub(crate) fn mended(raw: &Raw) -> Raw {
    let json = raw.as_str();
    if !json.contains("\\u") {
        return raw.clone();
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match (
            surrogate(rest),
            surrogate(rest.get(ESCAPE..).unwrap_or_default()),
        ) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(_), _) => {
                out.push_str("\\ufffd");
                rest = &rest[ESCAPE..];
                continue;
            }
            _ => 2,
        };
        let (kept, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    Raw::parse(&out).unwrap_or_else(|_| raw.clone())
}

/// The code unit of an escape at the start of `text`, if it is a surrogate.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

/// Whether a string anywhere in this JSON is an address of a file, however it is spelled.
pub(crate) fn names_a_file(raw: &Raw) -> bool {
    let json = raw.as_str();
    // An escape may hide a letter, or stand between two.
    let may_name_one = json.contains('\\') || json.to_ascii_lowercase().contains("file:");
    if !may_name_one {
        return false;
    }
    // What cannot be read is nested too deeply to be sent on trust.
    let Ok(value) = serde_json::from_str(mended(raw).as_str()) else {
        return true;
    };
    let mut open: Vec<&Value> = vec![&value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if is_file_address(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    false
}

/// Whether a reader of addresses may take a text for one of a file: many skip blanks and control characters.
fn is_file_address(text: &str) -> bool {
    let letters = text
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace());
    letters
        .take(5)
        .collect::<String>()
        .eq_ignore_ascii_case("file:")
}
