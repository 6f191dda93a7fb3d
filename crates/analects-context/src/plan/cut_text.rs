//! Shortens long texts to their beginning and end, with a line between them that says how much is missing.

use analects_core::{Block, Content};

use crate::tokens::Counter;

/// Shortens a text of `tokens` tokens to about `keep` tokens. Two thirds of the result are the beginning.
pub(crate) fn shorten_text(text: &str, tokens: u64, keep: u64) -> String {
    let chars = text.chars().count();
    let share = keep as f64 / tokens.max(1) as f64;
    let kept = (chars as f64 * share.min(1.0)) as usize;
    if kept >= chars {
        return text.to_string();
    }
    let head = end_of_line(text, at_char(text, kept - kept / 3));
    let tail = start_of_line(text, at_char(text, chars - kept / 3)).max(head);
    let missing = text[head..tail].chars().count();
    if missing == 0 {
        return text.to_string();
    }
    let head = text[..head].trim_end_matches('\n');
    let tail = &text[tail..];
    let joint = if head.is_empty() { "" } else { "\n" };
    format!("{head}{joint}[… {missing} of {chars} characters left out …]\n{tail}")
}

/// The byte offset of a character; the end of the text if there are fewer.
fn at_char(text: &str, at: usize) -> usize {
    text.char_indices()
        .nth(at)
        .map_or(text.len(), |(place, _)| place)
}

/// How many bytes a cut may move to reach a line end.
const MAX_SHIFT: usize = 200;

/// Moves a cut back to the end of a line, if one is near.
fn end_of_line(text: &str, place: usize) -> usize {
    let found = text[..place].rfind('\n').map(|at| at + 1);
    found.filter(|at| place - at <= MAX_SHIFT).unwrap_or(place)
}

/// Moves a cut forward to the start of a line, if one is near.
fn start_of_line(text: &str, place: usize) -> usize {
    let found = text[place..].find('\n').map(|at| place + at + 1);
    found
        .filter(|at| at - place <= MAX_SHIFT && *at < text.len())
        .unwrap_or(place)
}

/// Shortens the texts in a tool result and replaces its images by a word. Returns `None` if that saves nothing.
pub(super) fn shorten_result(
    content: &Content,
    keep: u64,
    counter: &mut Counter<'_>,
) -> Option<Content> {
    let whole = counter.content(content).tokens;
    if whole <= keep {
        return None;
    }
    let short = match content {
        Content::Empty => return None,
        Content::Text(text) => Content::from(shorten_text(&text.as_str(), whole, keep)),
        Content::Blocks(blocks) => Content::Blocks(
            blocks
                .iter()
                .map(|block| shorten_block(block, whole, keep, counter))
                .collect(),
        ),
    };
    (counter.content(&short).tokens < whole).then_some(short)
}

/// Shortens a block of a tool result to its share of `keep`.
fn shorten_block(block: &Block, whole: u64, keep: u64, counter: &mut Counter<'_>) -> Block {
    let tokens = counter.block(block).tokens;
    let share = (keep as f64 * tokens as f64 / whole.max(1) as f64) as u64;
    match block {
        Block::Text(said) => Block::from_text(shorten_text(&said.text.as_str(), tokens, share)),
        Block::Image(_) => Block::from_text("[a picture was left out]"),
        Block::Document(_) => Block::from_text("[a document was left out]"),
        block @ (Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Other(_)) => block.clone(),
    }
}
