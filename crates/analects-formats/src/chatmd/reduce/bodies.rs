//! Reduces the body of a message, block by block.

use analects_core::{
    Assistant, Block, Body, CompactBoundary, CompactTrigger, Content, Image, Other, RawMap, Span,
    StopReason, System, Text, ToolResult, User,
};

use super::{ChatTarget, Reducer, soften, soften_value};
use crate::chatmd::content::{address, image_line, read_image, source};
use crate::chatmd::messages::{CHAT_ITEM, foreign_item};
use crate::chatmd::session_json;
use crate::losses::difference::is_applied;
use crate::msgfile::decode::trimmed;
use crate::msgfile::encode::open_fence;

impl Reducer<'_> {
    /// Returns the bodies of the items that the message becomes, usually one.
    pub(super) fn bodies(&mut self) -> Vec<Body> {
        let message = self.message;
        match &message.body {
            Body::System(body) => {
                let content = self.content(&body.content, false);
                vec![Body::System(System { content })]
            }
            Body::User(body) => self.user(body),
            Body::Assistant(body) => vec![self.assistant(body)],
            Body::ToolResult(body) => self.result(body).into_iter().collect(),
            Body::CompactBoundary(body) => self.boundary(body).into_iter().collect(),
            Body::Revision(_) if is_applied(message) => Vec::new(),
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
                    CHAT_ITEM => "item of another name".to_string(),
                    name => name.to_string(),
                };
                self.lose(name, "there is no place for such a message; it is left out");
                Vec::new()
            }
        }
    }

    /// Returns whether the message holds an item of an unknown kind from the format that is written.
    fn is_foreign_item(&self) -> bool {
        match self.target {
            ChatTarget::Ours => foreign_item(self.message).is_some(),
            ChatTarget::Plugin(_) => false,
            ChatTarget::Json => session_json::foreign_item(self.message).is_some(),
        }
    }

    /// Reduces a user's message. Results of tools become items of their own and come first.
    fn user(&mut self, user: &User) -> Vec<Body> {
        let Content::Blocks(blocks) = &user.content else {
            return vec![user_body(self.content(&user.content, false))];
        };
        let mut bodies = Vec::new();
        let mut rest = Vec::new();
        for block in blocks {
            let Block::ToolResult(result) = block else {
                rest.push(block.clone());
                continue;
            };
            bodies.extend(self.result(result));
        }
        // Results alone need no item beside them.
        if !rest.is_empty() || blocks.is_empty() {
            bodies.push(user_body(self.content(&Content::Blocks(rest), false)));
        }
        bodies
    }

    /// Reduces an answer. Its stop reason is not kept: answers count as finished.
    fn assistant(&mut self, assistant: &Assistant) -> Body {
        self.explain("stop_reason", "an answer counts as finished");
        let content = self.content(&assistant.content, true);
        Body::Assistant(Assistant {
            content,
            stop_reason: Some(StopReason::EndTurn),
        })
    }

    /// Reduces a result of a tool; `None` for the plugin, which skips tools.
    fn result(&mut self, result: &ToolResult) -> Option<Body> {
        if self.target.is_plugin() {
            self.lose("tool_result", "the plugin skips tools; it is left out");
            return None;
        }
        Some(Body::ToolResult(ToolResult {
            tool_use_id: result.tool_use_id.clone(),
            content: self.content(&result.content, false),
            ..ToolResult::default()
        }))
    }

    /// Reduces a compaction; `None` unless it is a separator, since there is no place for a summary.
    fn boundary(&mut self, boundary: &CompactBoundary) -> Option<Body> {
        if boundary.trigger != Some(CompactTrigger::Separator) {
            let why = "there is no place for a summary; the boundary is left out";
            self.lose("compact_boundary", why);
            return None;
        }
        Some(Body::CompactBoundary(CompactBoundary {
            trigger: Some(CompactTrigger::Separator),
            ..CompactBoundary::default()
        }))
    }

    /// Reduces a content. Markdown gives it the usual shape of an answer or of another message.
    fn content(&self, content: &Content, is_answer: bool) -> Content {
        if *self.target == ChatTarget::Json {
            return self.json_content(content);
        }
        let reduced = match content {
            Content::Empty => Content::Empty,
            Content::Text(text) => Content::from(self.text(text)),
            Content::Blocks(blocks) => Content::Blocks(self.blocks(blocks)),
        };
        if !self.target.is_plugin() {
            return reduced;
        }
        usual_shape(&reduced, is_answer)
    }

    /// Reduces a text. For the plugin, it may change a little.
    fn text(&self, text: &Text) -> String {
        let text = text.as_str().into_owned();
        if self.target.is_plugin() {
            soften(&text)
        } else {
            text
        }
    }

    /// Reduces blocks to texts and pictures that a reader can tell apart.
    fn blocks(&self, blocks: &[Block]) -> Vec<Block> {
        let reduced = blocks.iter().filter_map(|block| self.block(block));
        let mut reduced: Vec<Block> = reduced.collect();
        if self.target.is_plugin() {
            reduced = texts_first(reduced);
        }
        if let [Block::Text(_)] | [] = reduced.as_slice() {
            return reduced;
        }
        join_texts(reduced)
    }

    /// Reduces a block to a plain text or a picture.
    fn block(&self, block: &Block) -> Option<Block> {
        match block {
            Block::Text(block) => Some(Block::from_text(self.text(&block.text))),
            Block::Image(image) => self.image(image).map(Block::Image),
            Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_) => None,
        }
    }

    /// Returns a picture as it is read back; `None` if its source is of an unknown kind.
    fn image(&self, image: &Image) -> Option<Image> {
        let line = image_line(image)?;
        if !self.target.is_plugin() {
            return read_image(line.as_bytes());
        }
        let address = plugin_address(&address(&image.source)?);
        Some(Image {
            source: source(&address),
            extra: RawMap::new(),
        })
    }

    /// Reduces a content for JSON, which has parts for texts and pictures, and keeps unknown parts.
    fn json_content(&self, content: &Content) -> Content {
        let Content::Blocks(blocks) = content else {
            return content.clone();
        };
        Content::Blocks(blocks.iter().filter_map(session_json::read_back).collect())
    }
}

/// Moves texts before pictures, because the plugin reads one text and then pictures.
fn texts_first(blocks: Vec<Block>) -> Vec<Block> {
    let (texts, images): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_text);
    texts.into_iter().chain(images).collect()
}

/// Joins texts in a row, and trims texts beside pictures. Otherwise a reader could not tell them apart.
fn join_texts(blocks: Vec<Block>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    let mut row: Vec<String> = Vec::new();
    for block in blocks {
        let Some(text) = block.text() else {
            end_row(&mut row, &mut joined);
            joined.push(block);
            continue;
        };
        let trimmed = trimmed_text(&text);
        if !trimmed.is_empty() {
            row.push(trimmed);
        }
    }
    end_row(&mut row, &mut joined);
    joined
}

/// Adds a row of texts as one block.
fn end_row(row: &mut Vec<String>, joined: &mut Vec<Block>) {
    let mut texts = row.drain(..);
    let Some(mut text) = texts.next() else {
        return;
    };
    let mut is_one = true;
    for next in texts {
        let gap = if text.ends_with('\r') {
            "\r\n\r\n"
        } else {
            "\n\n"
        };
        text.push_str(gap);
        text.push_str(&next);
        is_one = false;
    }
    if !is_one {
        // A line that closed the code block of one text may open one in the joined text.
        text = trimmed_text(&text);
    }
    joined.push(Block::from_text(text));
}

/// Returns whether a block is text. Other blocks are pictures when this is called.
fn is_text(block: &Block) -> bool {
    matches!(block, Block::Text(_))
}

/// Builds the body of a user's message with nothing but this content.
pub(super) fn user_body(content: Content) -> Body {
    Body::User(User {
        content,
        ..User::default()
    })
}

/// Trims blank lines around a text and closes its last code block, so that it can stand beside pictures.
fn trimmed_text(text: &str) -> String {
    let span = trimmed(text.as_bytes(), Span::new(0, text.len()));
    let mut trimmed = text
        .get(span.start..span.end)
        .unwrap_or_default()
        .to_string();
    if let Some(closer) = open_fence(&trimmed) {
        let line_end = if trimmed.ends_with('\r') {
            "\r\n"
        } else {
            "\n"
        };
        trimmed.push_str(line_end);
        trimmed.push_str(&closer);
    }
    trimmed
}

/// Changes an address so that it can be in quotes for a reader that does not know entities.
fn plugin_address(address: &str) -> String {
    let encoded = address
        .replace('"', "%22")
        .replace('>', "%3E")
        .replace('<', "%3C");
    soften_value(&encoded)
}

/// Returns a content of one text in the shape that a reader assumes: blocks in an answer, text in other messages. Any
/// other content stays as it is.
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
    if is_answer && text.is_empty() {
        Content::Blocks(Vec::new())
    } else if is_answer {
        Content::Blocks(vec![Block::from_text(text)])
    } else if text.is_empty() {
        Content::Empty
    } else {
        Content::from(text)
    }
}
