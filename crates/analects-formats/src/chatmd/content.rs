//! Content as the text below a tag: text and pictures.
//!
//! Pictures are HTML: lines that are an `<img>` and nothing else, alone or in the plugin's `<div>`. A line of text that
//! looks like one gets a `\`, which reading removes again.

use std::borrow::Cow;

use analects_core::{Block, Content, Image, Raw, RawMap, Source, Span};

use super::attributes::{
    AttributeEnd, AttributeScanner, AttributeToken, decode_entities, is_key, write_attribute,
};
use super::line::backslashes;
use crate::msgfile::decode::trimmed;
use crate::msgfile::fence::closed_fences;
use crate::msgfile::line::is_blank;
use crate::msgfile::messages::images;
use crate::msgfile::scan::{line_text, lines};

/// The line before pictures, exactly as the plugin writes it.
pub(super) const DIV: &str = r#"<div style="display: flex; flex-direction: column; gap: 10px;">"#;
/// The style that the plugin gives to pictures. It is implied and not kept as an extra field.
const STYLE: &str = "max-width: 100%; display: inline-block;";

/// Reads the text below a tag: a text, or blocks of text and pictures.
/// ```
/// use analects_core::Content;
/// use analects_formats::chatmd::{content_of, text_of};
///
/// let text = "Look:\n\n<img src=\"cat.png\" />\n\nA cat.";
/// let content = content_of(text);
/// assert!(matches!(&content, Content::Blocks(blocks) if blocks.len() == 3));
/// // The plugin's `<div>` is put around pictures, and the content stays the same.
/// assert_eq!(content_of(&text_of(&content)), content);
/// ```
pub fn content_of(text: &str) -> Content {
    match split(text) {
        Some(blocks) => Content::Blocks(blocks),
        None => Content::from(unescape_images(text).into_owned()),
    }
}

/// Writes a content as the text below a tag. Blocks that are neither text nor pictures are left out.
#[doc(alias = "adaptIMessageContent")]
pub fn text_of(content: &Content) -> String {
    match content {
        Content::Empty => String::new(),
        Content::Text(text) => escape_images(&text.as_str()).into_owned(),
        Content::Blocks(blocks) => {
            let mut text = BlockText::default();
            for block in blocks {
                text.add(block);
            }
            text.close_div();
            text.out
        }
    }
}

/// The text of several blocks. Pictures in a row share a `<div>`.
#[derive(Default)]
struct BlockText {
    out: String,
    /// Whether the last block was a picture, so that its `<div>` is open.
    is_in_div: bool,
}

impl BlockText {
    /// Appends a block, separated from the one before it.
    fn add(&mut self, block: &Block) {
        match block {
            Block::Image(image) => {
                if let Some(line) = image_line(image) {
                    self.add_image(&line);
                }
            }
            Block::Text(block) => {
                self.close_div();
                add_blank_line(&mut self.out);
                self.out.push_str(&escape_images(&block.text.as_str()));
            }
            Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_) => {}
        }
    }

    /// Appends a picture, and opens a `<div>` before the first one of a row.
    fn add_image(&mut self, line: &str) {
        if !self.is_in_div {
            add_blank_line(&mut self.out);
            self.out.push_str(DIV);
            self.is_in_div = true;
        }
        self.out.push('\n');
        self.out.push_str(line);
    }

    /// Ends a row of pictures.
    fn close_div(&mut self) {
        if self.is_in_div {
            self.out.push_str("\n</div>");
            self.is_in_div = false;
        }
    }
}

/// Separates two blocks with an empty line.
fn add_blank_line(out: &mut String) {
    if out.is_empty() {
        return;
    }
    // A `\r` at the end of the text must not become part of the line end.
    let line_end = if out.ends_with('\r') { "\r\n" } else { "\n" };
    out.push_str(line_end);
    out.push_str(line_end);
}

/// Writes a picture as a line; `None` if its source is of an unknown kind.
pub(super) fn image_line(image: &Image) -> Option<String> {
    let src = address(&image.source)?;
    let style = image.extra.string("style");
    let mut out = "<img".to_string();
    write_attribute(&mut out, "style", style.as_deref().unwrap_or(STYLE));
    write_attribute(&mut out, "src", &src);
    for (key, value) in image.extra.iter() {
        let (Some(key), Some(value)) = (key.as_string(), value.as_string()) else {
            continue;
        };
        if key != "style" && key != "src" && is_key(&key) {
            write_attribute(&mut out, &key, &value);
        }
    }
    out.push_str(" />");
    Some(out)
}

/// Returns the address of a picture, which may be a data URL.
pub(super) fn address(source: &Raw) -> Option<String> {
    Some(match Source::of(source)? {
        Source::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        Source::Url(url) => url,
        Source::File(path) => path,
    })
}

/// Returns the source of a picture with this address.
pub(super) fn source(address: &str) -> Raw {
    images::source(address).unwrap_or_else(|| Source::Url(address.to_string()).to_raw())
}

/// Reads a line that is a picture and nothing else.
pub(super) fn read_image(line: &[u8]) -> Option<Image> {
    /// The length of the tag's name.
    const NAME: usize = "<img".len();
    if !line.get(..NAME)?.eq_ignore_ascii_case(b"<img") || !is_blank(*line.get(NAME)?) {
        return None;
    }
    let mut image_source = None;
    let mut extra = RawMap::new();
    let mut attributes = AttributeScanner::new(line, NAME, AttributeEnd::Tag);
    for token in &mut attributes {
        let AttributeToken::Attribute { key, value, .. } = token else {
            return None;
        };
        let key = std::str::from_utf8(key.of(line)).ok()?;
        let value = std::str::from_utf8(value.of(line)).ok()?;
        // These are two tags on one line, or half of a tag.
        if value.contains(['"', '<', '>']) {
            return None;
        }
        let value = decode_entities(value);
        match key {
            "src" if image_source.is_some() => return None,
            "src" => image_source = Some(source(&value)),
            "style" if value == STYLE => {}
            _ => extra.push(key, Raw::string(&value)),
        }
    }
    attributes.end()?;
    Some(Image {
        source: image_source?,
        extra,
    })
}

/// Splits a text into blocks of text and pictures; `None` if there are no pictures.
pub(super) fn split(text: &str) -> Option<Vec<Block>> {
    if !has_images(text) {
        return None;
    }
    let mut blocks = Vec::new();
    // Where the text starts that is not in `blocks` yet.
    let mut from = 0;
    let mut has_found = false;
    let mut fences = Fences::of(text);
    for (at, line) in lines(text.as_bytes(), 0) {
        // Lines before `from` belong to a `<div>`.
        if at < from || fences.hide(at) {
            continue;
        }
        let Some(pictures) = pictures_at(text, at, line) else {
            continue;
        };
        has_found = true;
        push_text(&mut blocks, text, Span::new(from, at));
        from = pictures.end;
        blocks.extend(pictures.images.into_iter().map(Block::Image));
    }
    push_text(&mut blocks, text, Span::new(from, text.len()));
    has_found.then_some(blocks)
}

/// Pictures in a text, and the offset where they end.
struct Pictures {
    images: Vec<Image>,
    /// The offset behind the last line, which may be that of `</div>`.
    end: usize,
}

/// Reads the pictures of a line: an `<img>`, or the `<div>` that starts there.
fn pictures_at(text: &str, at: usize, line: &[u8]) -> Option<Pictures> {
    let end = at + line.len();
    if let Some(image) = read_image(line_text(line)) {
        return Some(Pictures {
            images: vec![image],
            end,
        });
    }
    if !is_div(line_text(line)) {
        return None;
    }
    read_div(text, end).filter(|pictures| !pictures.images.is_empty())
}

/// Reads the pictures of a `<div>` whose first line starts at `start`; `None` if it holds anything else.
fn read_div(text: &str, start: usize) -> Option<Pictures> {
    let mut images = Vec::new();
    for (at, line) in lines(text.as_bytes(), start) {
        if is_div_end(line_text(line)) {
            let end = at + line.len();
            return Some(Pictures { images, end });
        }
        images.push(read_image(line_text(line))?);
    }
    None
}

/// Returns whether a line opens the `<div>` around pictures.
fn is_div(line: &[u8]) -> bool {
    line.trim_ascii_end() == DIV.as_bytes()
}

/// Returns whether a line closes the `<div>`. It may be indented.
fn is_div_end(line: &[u8]) -> bool {
    line.trim_ascii() == b"</div>"
}

/// Adds the text of a span, without blank lines around it.
fn push_text(blocks: &mut Vec<Block>, text: &str, span: Span) {
    let span = trimmed(text.as_bytes(), span);
    let text = text.get(span.start..span.end).unwrap_or_default();
    if !text.is_empty() {
        blocks.push(Block::from_text(unescape_images(text).into_owned()));
    }
}

/// Returns whether a text may hold a picture, escaped or not.
fn has_images(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_image = |at: usize| {
        bytes
            .get(at..at + 4)
            .is_some_and(|tag| tag.eq_ignore_ascii_case(b"<img"))
    };
    memchr::memchr_iter(b'<', bytes).any(is_image)
}

/// Puts a `\` before each line that is a picture, perhaps behind other `\`.
pub(super) fn escape_images(text: &str) -> Cow<'_, str> {
    rewrite(text, 0, |line| format!("\\{line}"))
}

/// Removes one `\` before each picture that has any.
fn unescape_images(text: &str) -> Cow<'_, str> {
    rewrite(text, 1, |line| line[1..].to_string())
}

/// Changes the lines outside of code blocks that are a picture behind at least `at_least` times `\`.
pub(super) fn rewrite(
    text: &str,
    at_least: usize,
    change: impl Fn(&str) -> String,
) -> Cow<'_, str> {
    if !has_images(text) {
        return Cow::Borrowed(text);
    }
    let mut fences = Fences::of(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inner = line_text(line.as_bytes());
        let escapes = backslashes(inner);
        let is_image = escapes >= at_least && read_image(&inner[escapes..]).is_some();
        if is_image && !fences.hide(at) {
            out.push_str(&change(line));
        } else {
            out.push_str(line);
        }
        at += line.len();
    }
    Cow::Owned(out)
}

/// The closed code blocks of a text, in order.
struct Fences(std::iter::Peekable<std::vec::IntoIter<Span>>);

impl Fences {
    /// Finds the closed code blocks. An open one does not hide pictures.
    fn of(text: &str) -> Fences {
        Fences(closed_fences(text).into_iter().peekable())
    }

    /// Returns whether the line at an offset is in a code block. Offsets must not decrease.
    fn hide(&mut self, at: usize) -> bool {
        while self.0.next_if(|fence| fence.end <= at).is_some() {}
        self.0.peek().is_some_and(|fence| fence.start <= at)
    }
}
