//! What of a message's body can be said, block by block.

use analects_core::{
    Assistant, Block, Body, CompactBoundary, CompactTrigger, Content, Image, Other, RawMap, Span,
    StopReason, System, Text, TextBlock, ToolResult, User,
};

use super::Reducer;
use crate::chatmd::content::{address, image_line, read_image, source};
use crate::chatmd::messages::{CHAT_ITEM, foreign_item};
use crate::chatmd::reduce::ChatTarget;
use crate::chatmd::reduce::{soften, soften_value};
use crate::chatmd::session_json;
use crate::msgfile::decode::trimmed;
use crate::msgfile::encode::open_fence;

impl Reducer<'_> {
    /// The items that a message becomes: mostly one.
    pub(super) fn bodies(&mut self) -> Vec<Body> {
        let message = self.message;
        match &message.body {
            Body::System(body) => {
                vec![Body::System(System {
                    content: self.content(&body.content, false),
                })]
            }
            Body::User(body) => self.user(body),
            Body::Assistant(body) => vec![self.assistant(body)],
            Body::ToolResult(body) => self.result(body).into_iter().collect(),
            Body::CompactBoundary(body) => self.boundary(body).into_iter().collect(),
            Body::Other(other) if self.is_foreign_item() => {
                vec![Body::Other(Other {
                    type_name: other.type_name.clone(),
                })]
            }
            body @ (Body::ToolUse(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_)) => {
                let name = match body.type_name() {
                    "" => "message".to_string(),
                    CHAT_ITEM => "an item of another name".to_string(),
                    name => name.to_string(),
                };
                self.lose(name, "there is no place for such a message; it is left out");
                Vec::new()
            }
        }
    }

    /// Whether this is an item of a kind that is not known, of the very format that is written.
    fn is_foreign_item(&self) -> bool {
        match self.target {
            ChatTarget::Ours => foreign_item(self.message).is_some(),
            ChatTarget::Plugin(_) => false,
            ChatTarget::Json => session_json::foreign_item(self.message).is_some(),
        }
    }

    fn user(&mut self, user: &User) -> Vec<Body> {
        self.lose_if(user.source.is_some(), "source");
        self.lose_if(user.is_koding_request, "is_koding_request");
        self.lose_if(user.koding_context.is_some(), "koding_context");
        self.lose_if(user.command_name.is_some(), "command_name");
        self.lose_if(user.command_args.is_some(), "command_args");
        let Content::Blocks(blocks) = &user.content else {
            return vec![user_body(self.content(&user.content, false))];
        };
        let is_result = |block: &&Block| matches!(block, Block::ToolResult(_));
        let mut bodies = Vec::new();
        for block in blocks.iter().filter(is_result) {
            let Block::ToolResult(result) = block else {
                continue;
            };
            if let Some(body) = self.result(result) {
                self.lose("message", "a tool's result becomes an item of its own");
                bodies.push(body);
            }
        }
        let rest: Vec<Block> = blocks
            .iter()
            .filter(|block| !is_result(block))
            .cloned()
            .collect();
        // A message of nothing but results needs no item beside them.
        if !rest.is_empty() || blocks.is_empty() {
            bodies.push(user_body(self.content(&Content::Blocks(rest), false)));
        }
        bodies
    }

    fn assistant(&mut self, assistant: &Assistant) -> Body {
        if assistant.stop_reason != Some(StopReason::EndTurn) {
            self.lose("stop_reason", "an answer counts as finished");
        }
        let content = self.content(&assistant.content, true);
        Body::Assistant(Assistant {
            content,
            stop_reason: Some(StopReason::EndTurn),
        })
    }

    fn result(&mut self, result: &ToolResult) -> Option<Body> {
        if self.target.is_plugin() {
            self.lose("tool_result", "the plugin skips tools; it is left out");
            return None;
        }
        self.lose_if(result.is_error.is_some(), "is_error");
        self.lose_if(!result.extra.is_empty(), "extra fields of a tool_result");
        let content = self.content(&result.content, false);
        let tool_use_id = result.tool_use_id.clone();
        Some(Body::ToolResult(ToolResult {
            tool_use_id,
            content,
            ..ToolResult::default()
        }))
    }

    fn boundary(&mut self, boundary: &CompactBoundary) -> Option<Body> {
        if boundary.trigger != Some(CompactTrigger::Separator) {
            let why = "there is no place for a summary; the boundary is left out";
            self.lose("compact_boundary", why);
            return None;
        }
        self.lose_if(boundary.tokens_before.is_some(), "tokens_before");
        self.lose_if(boundary.tokens_after.is_some(), "tokens_after");
        self.lose_if(boundary.summary_id.is_some(), "summary_id");
        self.lose_if(boundary.kept_from.is_some(), "kept_from");
        let trigger = Some(CompactTrigger::Separator);
        Some(Body::CompactBoundary(CompactBoundary {
            trigger,
            ..CompactBoundary::default()
        }))
    }

    /// What of a content can be said. Answers are blocks where nothing else is known, all else is text.
    fn content(&mut self, content: &Content, is_answer: bool) -> Content {
        if *self.target == ChatTarget::Json {
            return self.json_content(content);
        }
        let said = match content {
            Content::Empty => Content::Empty,
            Content::Text(text) => Content::from(self.text(text)),
            Content::Blocks(blocks) => Content::Blocks(self.blocks(blocks)),
        };
        if !self.target.is_plugin() {
            return said;
        }
        let usual = usual_shape(&said, is_answer);
        if usual != *content && usual != said {
            self.lose("content", "whether it is a string or blocks is not kept");
        }
        usual
    }

    /// A text, exact, or as the plugin can read it.
    fn text(&mut self, text: &Text) -> String {
        if matches!(text, Text::Broken(_)) {
            self.lose("text", "half of a surrogate pair becomes U+FFFD");
        }
        let text = text.as_str().into_owned();
        if !self.target.is_plugin() {
            return text;
        }
        let soft = soften(&text);
        if soft != text {
            self.lose(
                "text",
                "the plugin cannot read it as it is; blanks or a closing line differ",
            );
        }
        soft
    }

    fn blocks(&mut self, blocks: &[Block]) -> Vec<Block> {
        let mut said: Vec<Block> = blocks
            .iter()
            .filter_map(|block| self.block(block))
            .collect();
        if self.target.is_plugin() {
            said = self.texts_first(said);
        }
        if let [Block::Text(_)] | [] = said.as_slice() {
            return said;
        }
        self.joined(said)
    }

    /// A block that is text or a picture, with what it has and nothing else.
    fn block(&mut self, block: &Block) -> Option<Block> {
        match block {
            Block::Text(TextBlock { text, extra }) => {
                self.lose_if(!extra.is_empty(), "extra fields of a text");
                Some(Block::from_text(self.text(text)))
            }
            Block::Image(image) => {
                let said = self.image(image);
                match &said {
                    None => self.lose("image", "its source is of a kind that has no place"),
                    Some(said) if said != image => {
                        self.lose(
                            "image",
                            "its source or its extra fields cannot be said in full",
                        );
                    }
                    Some(_) => {}
                }
                said.map(Block::Image)
            }
            block @ (Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_)) => {
                let name = block_name(block);
                self.lose(name, "there is no place for such a block; it is left out");
                None
            }
        }
    }

    fn image(&mut self, image: &Image) -> Option<Image> {
        let line = image_line(image)?;
        if !self.target.is_plugin() {
            return read_image(line.as_bytes());
        }
        let source = source(&plugin_address(&address(&image.source)?));
        Some(Image {
            source,
            extra: RawMap::new(),
        })
    }

    /// The plugin reads one text, and then pictures.
    fn texts_first(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        let is_text = |block: &Block| matches!(block, Block::Text(_));
        let sorted = blocks.is_sorted_by_key(|block| !is_text(block));
        if !sorted {
            self.lose(
                "order",
                "the plugin reads the text first and the pictures after it",
            );
        }
        let (texts, images): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_text);
        texts.into_iter().chain(images).collect()
    }

    /// Texts that stand next to each other are joined, and those beside pictures lose the blank lines
    /// around them: only so can they be told apart again.
    fn joined(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        let mut said: Vec<Block> = Vec::new();
        // Texts in a row, of which each is as it would be alone.
        let mut row: Vec<String> = Vec::new();
        for block in blocks {
            let Some(text) = block.text() else {
                self.end_row(&mut row, &mut said);
                said.push(block);
                continue;
            };
            let alone = piece(&text);
            if alone != text {
                self.lose(
                    "text",
                    "beside other blocks, blank lines around it or an open code block are not kept",
                );
            }
            row.extend(Some(alone).filter(|alone| !alone.is_empty()));
        }
        self.end_row(&mut row, &mut said);
        said
    }

    /// Joins the texts of a row.
    fn end_row(&mut self, row: &mut Vec<String>, said: &mut Vec<Block>) {
        let mut texts = row.drain(..);
        let Some(mut joined) = texts.next() else {
            return;
        };
        let mut is_one = true;
        for text in texts {
            self.lose("text", "two texts in a row become one");
            joined.push_str(if joined.ends_with('\r') {
                "\r\n\r\n"
            } else {
                "\n\n"
            });
            joined.push_str(&text);
            is_one = false;
        }
        // What closed a code block of its own may open one behind a list.
        said.push(Block::from_text(if is_one {
            joined
        } else {
            piece(&joined)
        }));
    }

    /// JSON has parts for texts and pictures, and keeps every part that it does not know.
    fn json_content(&mut self, content: &Content) -> Content {
        let Content::Blocks(blocks) = content else {
            return content.clone();
        };
        let mut said = Vec::new();
        for block in blocks {
            match session_json::said(block) {
                Some(part) => {
                    if part != *block {
                        self.lose(block_name(block), "not all of its fields have a place");
                    }
                    said.push(part);
                }
                None => {
                    let why = "there is no place for such a block; it is left out";
                    self.lose(block_name(block), why);
                }
            }
        }
        Content::Blocks(said)
    }
}

fn user_body(content: Content) -> Body {
    Body::User(User {
        content,
        ..User::default()
    })
}

/// A text as it can stand beside pictures.
fn piece(text: &str) -> String {
    let span = trimmed(text.as_bytes(), Span::new(0, text.len()));
    let mut piece = text
        .get(span.start..span.end)
        .unwrap_or_default()
        .to_string();
    if let Some(closer) = open_fence(&piece) {
        piece.push_str(if piece.ends_with('\r') { "\r\n" } else { "\n" });
        piece.push_str(&closer);
    }
    piece
}

/// An address as it can stand in quotes for a reader that knows no entities.
fn plugin_address(address: &str) -> String {
    let encoded = address
        .replace('"', "%22")
        .replace('>', "%3E")
        .replace('<', "%3C");
    soften_value(&encoded)
}

/// The shape that a reader gives a content if nobody says anything about it.
pub(in crate::chatmd) fn usual_shape(content: &Content, is_answer: bool) -> Content {
    let text = match content {
        Content::Empty => String::new(),
        Content::Text(text) => text.as_str().into_owned(),
        Content::Blocks(blocks) => match blocks.as_slice() {
            [] => String::new(),
            [Block::Text(block)] => block.text.as_str().into_owned(),
            _ => return content.clone(),
        },
    };
    match (is_answer, text.is_empty()) {
        (true, true) => Content::Blocks(Vec::new()),
        (true, false) => Content::Blocks(vec![Block::from_text(text)]),
        (false, true) => Content::Empty,
        (false, false) => Content::from(text),
    }
}

pub(super) fn block_name(block: &Block) -> String {
    match block {
        Block::Text(_) => "text".to_string(),
        Block::Image(_) => "image".to_string(),
        Block::ToolUse(call) => format!("tool_use {}", call.name),
        Block::ToolResult(_) => "tool_result".to_string(),
        Block::Thinking(_) => "thinking".to_string(),
        Block::RedactedThinking(_) => "redacted_thinking".to_string(),
        Block::Document(_) => "document".to_string(),
        Block::Other(_) => "block".to_string(),
    }
}
