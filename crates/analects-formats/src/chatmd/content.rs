//! Text and pictures: what stands below a tag as content, and content as what stands there.
//!
//! Pictures are HTML: lines that are an `<img>` and nothing else, alone or in the plugin's `<div>`. A line of
//! a text that could pass for one gets a `\`, which reading takes off again.

use std::borrow::Cow;

use analects_core::{Block, Content, Image, Raw, RawMap, Source, Span};

use super::attributes::{
    AttributeEnd, AttributeScanner, AttributeToken, decode_entities, is_key, write_attribute,
};
use super::line::backslashes;
use crate::msgfile::decode::trimmed;
use crate::msgfile::encode::closed_fences;
use crate::msgfile::line::is_blank;
use crate::msgfile::messages::images;
use crate::msgfile::scan::{line_text, lines};

pub(super) const DIV: &str = r#"<div style="display: flex; flex-direction: column; gap: 10px;">"#;
const STYLE: &str = "max-width: 100%; display: inline-block;";

/// What a text below a tag says: a text, or blocks of text and pictures.
pub fn content_of(text: &str) -> Content {
    split(text).map_or_else(|| Content::from(plain(text).into_owned()), Content::Blocks)
}

/// The text below a tag that says this. Blocks that are neither text nor pictures have no place there.
#[doc(alias = "adaptIMessageContent")]
pub fn text_of(content: &Content) -> String {
    match content {
        Content::Empty => String::new(),
        Content::Text(text) => escape_images(&text.as_str()).into_owned(),
        Content::Blocks(blocks) => {
            let mut out = String::new();
            let mut open = false;
            for block in blocks {
                open = add_block(&mut out, block, open);
            }
            if open {
                out.push_str("\n</div>");
            }
            out
        }
    }
}

/// Adds a block; `open` says whether the last one was a picture, and so does what it returns.
fn add_block(out: &mut String, block: &Block, open: bool) -> bool {
    match block {
        Block::Image(image) => {
            let Some(line) = image_line(image) else {
                return open;
            };
            if !open {
                part(out);
                out.push_str(DIV);
            }
            out.push('\n');
            out.push_str(&line);
            true
        }
        Block::Text(block) => {
            if open {
                out.push_str("\n</div>");
            }
            part(out);
            out.push_str(&escape_images(&block.text.as_str()));
            false
        }
        Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => open,
    }
}

/// One empty line between two pieces.
fn part(out: &mut String) {
    if !out.is_empty() {
        // After a lone `\r`, a line end would make it part of the line end.
        out.push_str(if out.ends_with('\r') {
            "\r\n\r\n"
        } else {
            "\n\n"
        });
    }
}

/// A picture as a line; `None` for a source of a kind that is not known.
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

/// The address of a picture, which may be all of it.
pub(super) fn address(source: &Raw) -> Option<String> {
    Some(match Source::of(source)? {
        Source::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        Source::Url(url) => url,
        Source::File(path) => path,
    })
}

/// Where a picture is, by its address.
pub(super) fn source(address: &str) -> Raw {
    images::source(address).unwrap_or_else(|| Source::Url(address.to_string()).to_raw())
}

/// Reads a line that is a picture and nothing else.
pub(super) fn read_image(line: &[u8]) -> Option<Image> {
    const NAME: usize = "<img".len();
    if !line.get(..NAME)?.eq_ignore_ascii_case(b"<img") || !is_blank(*line.get(NAME)?) {
        return None;
    }
    let text = |span: Span| std::str::from_utf8(span.of(line)).ok();
    let (mut src, mut extra) = (None, RawMap::new());
    let mut attributes = AttributeScanner::new(line, NAME, AttributeEnd::Tag);
    for token in &mut attributes {
        let AttributeToken::Attribute { key, value, .. } = token else {
            return None;
        };
        let (key, value) = (text(key)?, text(value)?);
        // Two tags on one line, or half of one.
        if value.contains(['"', '<', '>']) {
            return None;
        }
        let value = decode_entities(value);
        match key {
            "src" if src.is_some() => return None,
            "src" => src = Some(source(&value)),
            "style" if value == STYLE => {}
            _ => extra.push(key, Raw::string(&value)),
        }
    }
    attributes.end()?;
    Some(Image {
        source: src?,
        extra,
    })
}

/// Text and pictures in order; `None` where there are no pictures.
pub(super) fn split(text: &str) -> Option<Vec<Block>> {
    if !has_images(text) {
        return None;
    }
    let mut blocks = Vec::new();
    let (mut from, mut found) = (0, false);
    let mut fences = Fences::of(text);
    let mut all = lines(text.as_bytes(), 0).peekable();
    while let Some((at, line)) = all.next() {
        if fences.hide(at) {
            continue;
        }
        let images = match read_image(line_text(line)) {
            Some(image) => vec![image],
            None if is_div(line_text(line)) => div(text, at + line.len()),
            None => continue,
        };
        if images.is_empty() {
            continue;
        }
        found = true;
        push_text(&mut blocks, text, Span::new(from, at));
        // The lines of a `<div>`: its pictures, and its end.
        let is_div = read_image(line_text(line)).is_none();
        from = at + line.len();
        blocks.extend(images.into_iter().map(Block::Image));
        while is_div && let Some((at, line)) = all.next() {
            from = at + line.len();
            if is_div_end(line_text(line)) {
                break;
            }
        }
    }
    push_text(&mut blocks, text, Span::new(from, text.len()));
    found.then_some(blocks)
}

/// The pictures of a `<div>` whose first line starts at `start`; none if it holds anything else.
fn div(text: &str, start: usize) -> Vec<Image> {
    let mut images = Vec::new();
    for (_, line) in lines(text.as_bytes(), start) {
        let line = line_text(line);
        if is_div_end(line) {
            return images;
        }
        match read_image(line) {
            Some(image) => images.push(image),
            None => break,
        }
    }
    Vec::new()
}

fn is_div(line: &[u8]) -> bool {
    line.trim_ascii_end() == DIV.as_bytes()
}

fn is_div_end(line: &[u8]) -> bool {
    line.trim_ascii() == b"</div>"
}

/// Adds the text of a span, without the blank lines around it.
fn push_text(blocks: &mut Vec<Block>, text: &str, span: Span) {
    let span = trimmed(text.as_bytes(), span);
    let piece = text.get(span.start..span.end).unwrap_or_default();
    if !piece.is_empty() {
        blocks.push(Block::from_text(plain(piece).into_owned()));
    }
}

/// Whether a text may hold a picture, escaped or not.
fn has_images(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_image = |at: usize| {
        bytes
            .get(at..at + 4)
            .is_some_and(|tag| tag.eq_ignore_ascii_case(b"<img"))
    };
    memchr::memchr_iter(b'<', bytes).any(is_image)
}

/// Puts a `\` before every line that is a picture, or one with `\` before it.
pub(super) fn escape_images(text: &str) -> Cow<'_, str> {
    rewrite(text, 0, |line| format!("\\{line}"))
}

/// Takes one `\` off every picture with `\` before it.
fn plain(text: &str) -> Cow<'_, str> {
    rewrite(text, 1, |line| line[1..].to_string())
}

/// Changes the lines of a text, outside of code blocks, that are a picture behind at least so many `\`.
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

/// The closed code blocks of a text, gone through in order.
struct Fences(std::iter::Peekable<std::vec::IntoIter<Span>>);

impl Fences {
    fn of(text: &str) -> Fences {
        Fences(closed_fences(text).into_iter().peekable())
    }

    /// Whether the line at an offset stands in a code block; offsets only grow.
    fn hide(&mut self, at: usize) -> bool {
        while self.0.next_if(|fence| fence.end <= at).is_some() {}
        self.0.peek().is_some_and(|fence| fence.start <= at)
    }
}
