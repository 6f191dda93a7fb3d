//! A conversation as text, for one who is to summarise it, in pieces of a given size.

use analects_core::{Block, Content, Role};

use crate::normalize::{Item, Kind};
use crate::tokens::Counter;

/// What a message says, in words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub who: &'static str,
    pub text: String,
}

impl Said {
    pub fn of(item: &Item) -> Said {
        let who = match (item.kind, item.role) {
            (Kind::Summary, _) => "Summary of what came before",
            (Kind::Attached, _) => "Attached",
            (Kind::Results, _) => "Tool results",
            (_, Role::User) => "User",
            (_, Role::Assistant) => "Assistant",
            (_, Role::System) => "Instructions",
        };
        Said { who, text: words(&item.content) }
    }

    fn to_text(&self) -> String {
        format!("## {}\n\n{}\n", self.who, self.text)
    }
}

/// Content in words: calls and results with their names, pictures as a mention, thoughts not at all.
pub(super) fn words(content: &Content) -> String {
    let Content::Blocks(blocks) = content else { return content.text() };
    let lines: Vec<String> = blocks.iter().filter_map(block).collect();
    lines.join("\n")
}

fn block(block: &Block) -> Option<String> {
    Some(match block {
        Block::Text(said) => said.text.as_str().into_owned(),
        Block::ToolUse(call) => format!("[calls {} with {}]", call.name, call.input),
        Block::ToolResult(result) => {
            let failed = if result.is_error == Some(true) { "failed" } else { "gave" };
            format!("[the tool {failed}: {}]", words(&result.content))
        }
        Block::Image(_) => "[a picture]".to_string(),
        Block::Document(_) => "[a document]".to_string(),
        Block::Thinking(_) | Block::RedactedThinking(_) => return None,
        Block::Other(raw) => format!("[a block: {raw}]"),
    })
}

/// The text of a conversation in pieces of at most `room` tokens. Messages stay whole where they fit; one that
/// does not is cut into as many parts as it takes, and nothing is lost.
pub(super) fn pieces(said: &[Said], room: u64, counter: &mut Counter<'_>) -> Vec<String> {
    let room = room.max(64);
    let mut pieces: Vec<String> = Vec::new();
    let (mut piece, mut taken) = (String::new(), 0);
    for said in said {
        let text = said.to_text();
        let tokens = counter.text(&text).tokens;
        for part in parts(&text, tokens, room) {
            let tokens = if part.len() == text.len() { tokens } else { counter.text(part).tokens };
            if taken + tokens > room && !piece.is_empty() {
                pieces.push(std::mem::take(&mut piece));
                taken = 0;
            }
            piece.push_str(part);
            piece.push('\n');
            taken += tokens + 1;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// A text in parts of about equal length, of which each fits.
fn parts(text: &str, tokens: u64, room: u64) -> Vec<&str> {
    if tokens <= room {
        return vec![text];
    }
    // Tokens are not spread evenly: parts are made a quarter smaller than would do on average.
    let count = (tokens.saturating_mul(4)).div_ceil(room.saturating_mul(3)).max(2);
    let length = (text.len() as u64).div_ceil(count).max(4) as usize;
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > length {
        let at = (length..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(at);
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}
