//! The beginning and the end of a long text, and a line that says how much is missing between them.

use analects_core::{Block, Content};

use crate::tokens::Counter;

/// A text cut to about so many tokens, of which two thirds are its beginning. `tokens` is what the whole has.
pub(crate) fn shortened(text: &str, tokens: u64, keep: u64) -> String {
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
    let (head, tail) = (text[..head].trim_end_matches('\n'), &text[tail..]);
    let joint = if head.is_empty() { "" } else { "\n" };
    format!("{head}{joint}[… {missing} of {chars} characters left out …]\n{tail}")
}

/// The place of a character; the end for one that is not there.
fn at_char(text: &str, at: usize) -> usize {
    text.char_indices()
        .nth(at)
        .map_or(text.len(), |(place, _)| place)
}

/// How far a line end may be for a cut to go there.
const NEAR: usize = 200;

/// The end of the line before a place, if it is near.
fn end_of_line(text: &str, place: usize) -> usize {
    let found = text[..place].rfind('\n').map(|at| at + 1);
    found.filter(|at| place - at <= NEAR).unwrap_or(place)
}

/// The start of the line behind a place, if it is near.
fn start_of_line(text: &str, place: usize) -> usize {
    let found = text[place..].find('\n').map(|at| place + at + 1);
    found
        .filter(|at| at - place <= NEAR && *at < text.len())
        .unwrap_or(place)
}

/// The content of a result with its long texts shortened and its pictures replaced by a word; `None` if
/// nothing would be won.
pub(super) fn result(content: &Content, keep: u64, counter: &mut Counter<'_>) -> Option<Content> {
    let whole = counter.content(content).tokens;
    if whole <= keep {
        return None;
    }
    let short = match content {
        Content::Empty => return None,
        Content::Text(text) => Content::from(shortened(&text.as_str(), whole, keep)),
        Content::Blocks(blocks) => Content::Blocks(
            blocks
                .iter()
                .map(|block| part(block, whole, keep, counter))
                .collect(),
        ),
    };
    (counter.content(&short).tokens < whole).then_some(short)
}

/// A block of a result, with its share of what is kept.
fn part(block: &Block, whole: u64, keep: u64, counter: &mut Counter<'_>) -> Block {
    let tokens = counter.block(block).tokens;
    let share = (keep as f64 * tokens as f64 / whole.max(1) as f64) as u64;
    match block {
        Block::Text(said) => Block::from_text(shortened(&said.text.as_str(), tokens, share)),
        Block::Image(_) => Block::from_text("[a picture was left out]"),
        Block::Document(_) => Block::from_text("[a document was left out]"),
        block @ (Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Other(_)) => block.clone(),
    }
}
