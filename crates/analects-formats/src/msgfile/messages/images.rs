//! Pictures in what a person wrote: a line that is only `![alt](path)` is a picture beside the file, or
//! one that the line itself holds. What is on the network stays text: nothing is fetched.

use analects_core::{Block, Image, Raw, RawMap, Source};

use super::partial::CellView;
use crate::msgfile::CellRole;
use crate::msgfile::encode::closed_fences;

/// The blocks of a person's text that has pictures in it; `None` where it has none.
pub(super) fn split(read: &CellView<'_>) -> Option<Vec<Block>> {
    if is_plain_text(read) {
        split_text(&read.text)
    } else {
        None
    }
}

/// Whether a person wrote it as plain text: a type word that means nothing here is no hindrance, one that somebody
/// may know is.
fn is_plain_text(read: &CellView<'_>) -> bool {
    let is_markdown = read.cell.type_word() == "markdown" || read.cell.is_misplaced();
    read.role() == CellRole::User && is_markdown
}

/// The pictures beside a message file that a person's text names.
pub fn pictures_in(text: &str) -> Vec<String> {
    let path = |block: &Block| {
        let Block::Image(image) = block else {
            return None;
        };
        match Source::of(&image.source)? {
            Source::File(path) => Some(path),
            Source::Base64 { .. } | Source::Url(_) => None,
        }
    };
    split_text(text)
        .unwrap_or_default()
        .iter()
        .filter_map(path)
        .collect()
}

fn split_text(whole: &str) -> Option<Vec<Block>> {
    if !whole.contains("![") {
        return None;
    }
    let mut blocks = Vec::new();
    let mut text = String::new();
    let mut found = false;
    let mut fences = closed_fences(whole).into_iter().peekable();
    let mut at = 0;
    for line in whole.split_inclusive('\n') {
        while fences.next_if(|fence| fence.end <= at).is_some() {}
        let in_code = fences.peek().is_some_and(|fence| fence.start <= at);
        at += line.len();
        match picture(line.trim_end_matches(['\r', '\n'])).filter(|_| !in_code) {
            Some(image) => {
                found = true;
                push_text(&mut blocks, &mut text);
                blocks.push(Block::Image(image));
            }
            None => text.push_str(line),
        }
    }
    push_text(&mut blocks, &mut text);
    found.then_some(blocks)
}

fn push_text(blocks: &mut Vec<Block>, text: &mut String) {
    let said = text.trim_matches(['\r', '\n']);
    if !said.trim().is_empty() {
        blocks.push(Block::from_text(said));
    }
    text.clear();
}

/// A line that is nothing but a picture.
fn picture(line: &str) -> Option<Image> {
    let (alt, rest) = line.strip_prefix("![")?.split_once("](")?;
    let target = rest.strip_suffix(')')?;
    if target.is_empty() || target.contains(['(', ')', ' ', '\t']) {
        return None;
    }
    let mut extra = RawMap::new();
    if !alt.is_empty() {
        extra.push("alt", Raw::string(alt));
    }
    Some(Image {
        source: source(target)?,
        extra,
    })
}

/// Where a picture is that a text names by its address; `None` for what is on the network.
pub(crate) fn source(target: &str) -> Option<Raw> {
    if let Some(data) = target.strip_prefix("data:") {
        let (media_type, data) = data.split_once(";base64,")?;
        let source = Source::Base64 {
            media_type: media_type.into(),
            data: data.into(),
        };
        return media_type.starts_with("image/").then(|| source.to_raw());
    }
    // Anything with a scheme, or from the root, is not beside the file.
    let is_remote = target.contains(':') || target.starts_with(['/', '\\', '#']);
    (!is_remote).then(|| Source::File(target.to_string()).to_raw())
}
