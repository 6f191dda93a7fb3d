//! Pictures in the text of a person. A line with nothing but `![alt](path)` is a picture, either in a file beside the
//! message file or in a `data:` address. An address on the network stays text, and nothing is fetched.

use analects_core::{Block, History, Image, Raw, RawMap, Source, Span};

use super::partial::CellView;
use crate::msgfile::fence::{closed_fences, lines_outside_fences};
use crate::msgfile::{Cell, CellRole, Document, MetaKey};

/// The text of a person as blocks of text and pictures; `None` if it has no pictures.
pub(super) fn split(read: &CellView<'_>) -> Option<Vec<Block>> {
    if is_plain_text(read.cell) {
        split_text(&read.text)
    } else {
        None
    }
}

/// Whether a person wrote it as plain text: without a type word, or with one that has no meaning here.
fn is_plain_text(cell: Cell<'_>) -> bool {
    let is_markdown = cell.type_word() == "markdown" || cell.is_misplaced();
    cell.role() == CellRole::User && is_markdown
}

/// A picture beside the message file that a cell names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureLine {
    /// Its path, relative to the message file.
    pub path: String,
    /// The line that names it, without the line end.
    pub span: Span,
}

/// The pictures that the cells of a document name and that the model may see, in the order of the file.
///
/// ```
/// use analects_formats::msgfile::{decode, picture_lines};
///
/// let document = decode("# %%\n\nLook:\n\n![a cat](cat.png)\n");
/// let found = picture_lines(&document);
/// assert_eq!((found[0].path.as_str(), found[0].span.start), ("cat.png", 13));
/// ```
pub fn picture_lines(document: &Document) -> Vec<PictureLine> {
    let source = document.source();
    let mut found = Vec::new();
    if memchr::memmem::find(source, b"![").is_none() {
        return found;
    }
    for cell in document.cells().filter(|cell| shows_pictures(*cell)) {
        for (at, line) in lines_outside_fences(source, cell.body()) {
            let path = std::str::from_utf8(line)
                .ok()
                .and_then(picture)
                .and_then(|it| path_of(&it));
            let span = Span::new(at, at + line.len());
            found.extend(path.map(|path| PictureLine { path, span }));
        }
    }
    found
}

/// Whether the pictures in a cell are sent as pictures.
fn shows_pictures(cell: Cell<'_>) -> bool {
    is_plain_text(cell)
        && cell.get(MetaKey::Content).is_none()
        && cell.history() != Some(History::Exclude)
}

/// The file that an image is in; `None` for one that holds its data.
fn path_of(image: &Image) -> Option<String> {
    match Source::of(&image.source)? {
        Source::File(path) => Some(path),
        Source::Base64 { .. } | Source::Url(_) => None,
    }
}

/// The paths of the pictures that a person's text names, relative to the message file.
pub fn pictures_in(text: &str) -> Vec<String> {
    let path = |block: &Block| match block {
        Block::Image(image) => path_of(image),
        _ => None,
    };
    split_text(text)
        .unwrap_or_default()
        .iter()
        .filter_map(path)
        .collect()
}

/// Splits a text at its pictures, except in code blocks.
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

/// Adds a block with the text so far, unless it is blank, and clears the text.
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

/// The source of a picture with this address; `None` for an address on the network.
pub(crate) fn source(target: &str) -> Option<Raw> {
    if let Some(data) = target.strip_prefix("data:") {
        let (media_type, data) = data.split_once(";base64,")?;
        let source = Source::Base64 {
            media_type: media_type.into(),
            data: data.into(),
        };
        return media_type.starts_with("image/").then(|| source.to_raw());
    }
    // An address with a scheme, and a path from the root, are not beside the file.
    let is_remote = target.contains(':') || target.starts_with(['/', '\\', '#']);
    (!is_remote).then(|| Source::File(target.to_string()).to_raw())
}
