//! The window that a server names when it refuses a prompt as too long.

/// The most bytes between the words and the number.
const NEAR: usize = 24;

/// Words before the number, in lower case.
const BEFORE: [&str; 6] = [
    // OpenAI and its likes.
    "maximum context length is",
    "maximum context length of",
    // llama.cpp, in its words and in the member that stands beside them.
    "available context size",
    "n_ctx",
    // Gemini.
    "maximum number of tokens allowed",
    // Ollama and others.
    "context window of",
];

/// Words of Anthropic, behind which two numbers are compared: the last one is the window.
const COMPARED: [&str; 2] = ["prompt is too long", "exceed context limit"];

/// How many tokens fit, if a refusal says so.
///
/// ```
/// use analects_providers::named_window;
///
/// let refusal = "This model's maximum context length is 8192 tokens. However, you requested 9000.";
/// assert_eq!(named_window(refusal), Some(8192));
/// assert_eq!(named_window("prompt is too long: 208310 tokens > 200000 maximum"), Some(200_000));
/// assert_eq!(named_window("it is too long"), None);
/// ```
pub fn named_window(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let after = |words: &str| message.find(words).map(|at| &message[at + words.len()..]);
    let named = BEFORE.iter().filter_map(|words| after(words)).find_map(number_near);
    let compared = || {
        let rest = COMPARED.iter().find_map(|words| after(words))?;
        number_near(rest.split_once('>')?.1)
    };
    named.or_else(compared)
}

/// The number with which a text begins, but for a few other characters. One that no machine can count is none.
fn number_near(text: &str) -> Option<u64> {
    let start = text.bytes().take(NEAR).position(|byte| byte.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || c == ',' || c == '_';
    let digits = text[start..].split(|c| !is_part(c)).next()?;
    digits.replace([',', '_'], "").parse().ok()
}
