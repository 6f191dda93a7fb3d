//! Instructions: the API has one place for them, before the conversation.

use analects_core::{Block, Content, Raw, RawMap, Request, Role, Turn};

use super::blocks::{Speaker, text_block};
use crate::openai::list;
use crate::outgoing::LeftOut;

/// A turn of the conversation and its place in the request.
pub(super) struct Numbered<'a> {
    pub index: usize,
    pub turn: &'a Turn,
}

/// Splits a request into its instructions, as blocks, and its conversation. Instructions at the start
/// belong together; later ones stay in their place, as words of the user.
pub(super) fn split<'a>(
    request: &'a Request,
    left_out: &mut LeftOut,
) -> (Vec<RawMap>, Vec<Numbered<'a>>) {
    let mut system: Vec<RawMap> = Vec::new();
    if let Some(text) = &request.system {
        system.extend(text_block(&text.as_str()));
    }
    let all = request.turns.iter().enumerate().map(|(index, turn)| Numbered { index, turn });
    let (mut turns, mut begun) = (Vec::new(), false);
    for numbered in all {
        begun |= numbered.turn.role != Role::System;
        if begun {
            turns.push(numbered);
        } else {
            system.extend(instructions(&numbered, left_out));
        }
    }
    for turn in turns.iter().filter(|numbered| numbered.turn.role == Role::System) {
        let text = "instructions in the middle are sent as words of the user";
        left_out.otherwise(format!("turn {}: {text}", turn.index + 1));
    }
    (system, turns)
}

fn instructions(numbered: &Numbered<'_>, left_out: &mut LeftOut) -> Vec<RawMap> {
    match &numbered.turn.content {
        Content::Empty => Vec::new(),
        Content::Text(text) => text_block(&text.as_str()).into_iter().collect(),
        Content::Blocks(blocks) => {
            let speaker = Speaker::system();
            let said = |block: &Block| match block {
                Block::Text(text) => speaker.text(text),
                _ => {
                    left_out.content(numbered.index, "a block", "instructions are text");
                    None
                }
            };
            blocks.iter().filter_map(said).collect()
        }
    }
}

/// One text as a string, several as blocks.
pub(super) fn value(system: &[RawMap]) -> Option<Raw> {
    match system {
        [] => None,
        [only] if only.len() == 2 => only.get("text").cloned(),
        blocks => Some(list(&blocks.iter().map(RawMap::to_raw).collect::<Vec<_>>())),
    }
}
