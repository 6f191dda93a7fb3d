//! Instructions: the API has one place for them, before the conversation.

use analects_core::{Block, Content, Raw, RawMap, Request, Role, Turn};

use super::blocks::{Speaker, text_block};
use crate::openai::list;
use crate::outgoing::LeftOut;

/// Splits a request into its instructions, as blocks, and its conversation. Instructions at the start
/// belong together, and leave empty turns behind, so that turns keep their numbers; later ones stay in
/// their place, as words of the user.
pub(super) fn split(request: &Request, left_out: &mut LeftOut) -> (Vec<RawMap>, Vec<Turn>) {
    let mut system: Vec<RawMap> = Vec::new();
    if let Some(text) = &request.system {
        system.extend(text_block(&text.as_str()));
    }
    let mut begun = false;
    let mut turns = Vec::with_capacity(request.turns.len());
    for (number, turn) in request.turns.iter().enumerate() {
        begun |= turn.role != Role::System;
        let mut turn = turn.clone();
        if !begun {
            system.extend(instructions(number, &turn.content, left_out));
            turn.content = Content::Empty;
        } else if turn.role == Role::System {
            let text = "instructions in the middle are sent as words of the user";
            left_out.otherwise(format!("turn {}: {text}", number + 1));
            turn.role = Role::User;
        }
        turns.push(turn);
    }
    (system, turns)
}

fn instructions(number: usize, content: &Content, left_out: &mut LeftOut) -> Vec<RawMap> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => text_block(&text.as_str()).into_iter().collect(),
        Content::Blocks(blocks) => {
            let speaker = Speaker::system();
            let said = |block: &Block| {
                if let Block::Text(text) = block {
                    return speaker.text(text);
                }
                left_out.content(number, "a block", "instructions are text");
                None
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
