//! The strict rules of the providers' APIs: where a body, as it goes out, would be refused. It judges
//! the bytes themselves, so that nothing between a plan and the wire escapes it; it repairs nothing.

mod anthropic;
mod gemini;
mod names;
mod node;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod tests;

use std::fmt;

use node::Node;

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// OpenAI's Chat Completions.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
}

/// A place where a body breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// A stable name of the rule, such as `call-without-result`.
    pub rule: &'static str,
    /// Where, such as `messages.3.content.0`.
    pub path: String,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() {
            "the body"
        } else {
            &self.path
        };
        write!(f, "{place}: {} ({})", self.message, self.rule)
    }
}

/// Says where the body of a request breaks the rules of its API; nothing means that it obeys all of
/// those known here.
///
/// ```
/// use analects_testkit::{Rules, validate};
///
/// let body = br#"{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":"Hi"}]}"#;
/// let found = validate(Rules::Anthropic, body);
/// assert_eq!(found[0].rule, "first-turn");
/// ```
pub fn validate(rules: Rules, body: &[u8]) -> Vec<Violation> {
    let mut report = Report::default();
    if str::from_utf8(body).is_ok_and(has_lone_surrogate) {
        report.add("", "unicode", "half of a surrogate pair");
    }
    match Node::parse(body) {
        None => report.add("", "json", "the body is not a JSON object"),
        Some(body) => match rules {
            Rules::Anthropic => anthropic::check(&body, &mut report),
            Rules::Gemini => gemini::check(&body, &mut report),
            Rules::OpenAiChat => openai_chat::check(&body, &mut report),
            Rules::OpenAiResponses => openai_responses::check(&body, &mut report),
        },
    }
    report.found
}

/// Whether a JSON text holds half of a surrogate pair, as an escape.
fn has_lone_surrogate(json: &str) -> bool {
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at..];
        let next = rest.get(ESCAPE..).unwrap_or("");
        let length = match (surrogate(rest), surrogate(next)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(_), _) => return true,
            (None, _) => 2,
        };
        rest = rest.get(length..).unwrap_or("");
    }
    false
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The code unit of a `\uXXXX` escape at the start of `text`, if it is a surrogate.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

/// What was found so far.
#[derive(Debug, Default)]
struct Report {
    found: Vec<Violation>,
}

impl Report {
    fn add(&mut self, path: &str, rule: &'static str, message: impl Into<String>) {
        self.found.push(Violation {
            rule,
            path: path.to_string(),
            message: message.into(),
        });
    }

    /// Adds a violation unless `holds`.
    fn expect(&mut self, holds: bool, node: &Node, rule: &'static str, message: &str) {
        if !holds {
            self.add(&node.path, rule, message);
        }
    }
}
