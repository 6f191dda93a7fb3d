//! The messages of a file, with the pictures beside it that a person allowed to send.

use std::path::Path;

use analects_core::verbs::revised;
use analects_core::{
    Block, Body, Content, Hint, Image, Message, Problem, Raw, SessionId, Source, User,
};
use analects_formats::DecodedFile;
use analects_formats::msgfile::{self, CellRole, Document, KnownMessages};
use analects_store::{AllowedPictures, read_picture, with_sendable_outputs};

/// A picture that a message file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPicture {
    /// Its name in the file.
    pub name: String,
    /// Its media type and its size in bytes, or why it is not sent.
    pub facts: Result<(&'static str, usize), String>,
}

const NOT_ALLOWED: &str = "you have not allowed the pictures of this file";

/// The messages of a file, completed from the journal, with the pictures that they name. Does not read a picture that is
/// not allowed.
pub(super) fn file_messages(
    document: &Document,
    session: &SessionId,
    path: &Path,
    allowed: &AllowedPictures,
    known: &dyn KnownMessages,
) -> DecodedFile {
    let (document, problems) = with_outputs(document, path, allowed);
    let decoded = msgfile::messages_with_known(&document, session, known);
    completed(decoded, &document, problems, path, allowed)
}

/// The document with the outputs that it keeps in files, and the problems of those that are not sent.
pub(super) fn with_outputs<'d>(
    document: &'d Document,
    path: &Path,
    allowed: &AllowedPictures,
) -> (DocumentView<'d>, Vec<Problem>) {
    match with_sendable_outputs(path, document, allowed) {
        Some((copy, problems)) => (DocumentView::Copy(Box::new(copy)), problems),
        None => (DocumentView::Original(document), Vec::new()),
    }
}

/// A document, or a copy of it with its outputs.
pub(super) enum DocumentView<'d> {
    Original(&'d Document),
    Copy(Box<Document>),
}

impl std::ops::Deref for DocumentView<'_> {
    type Target = Document;

    fn deref(&self) -> &Document {
        match self {
            DocumentView::Original(document) => document,
            DocumentView::Copy(document) => document,
        }
    }
}

/// The messages as the model sees them, with revisions applied and pictures loaded.
pub(super) fn completed(
    mut decoded: DecodedFile,
    document: &Document,
    of_outputs: Vec<Problem>,
    path: &Path,
    allowed: &AllowedPictures,
) -> DecodedFile {
    decoded.messages = revised(decoded.messages);
    decoded.problems.splice(0..0, document.problems());
    decoded.problems.extend(of_outputs);
    let mut refused: Vec<String> = Vec::new();
    for message in &mut decoded.messages {
        load_pictures(message, path, allowed, &mut refused, &mut decoded.problems);
    }
    if !refused.is_empty() {
        decoded.problems.push(not_allowed(&refused));
    }
    decoded
}

/// One problem for all pictures that are not allowed.
fn not_allowed(names: &[String]) -> Problem {
    let text = match names {
        [name] => format!("the picture {name} is not sent: {NOT_ALLOWED}"),
        names => format!(
            "the pictures {} are not sent: {NOT_ALLOWED}",
            names.join(", ")
        ),
    };
    Problem::warning("picture-not-allowed", text).hint(Hint::AllowPictures)
}

/// The pictures that the visible messages of a file name, in its order, whether or not they are sent.
pub fn named_pictures(
    document: &Document,
    path: &Path,
    allowed: &AllowedPictures,
) -> Vec<NamedPicture> {
    if !may_name_pictures(document) {
        return Vec::new();
    }
    let session = msgfile::session_of(&path.to_string_lossy());
    let messages = revised(msgfile::messages(document, &session).messages);
    let chain = analects_core::chain(&messages);
    let seen = chain
        .messages
        .into_iter()
        .filter(|message| message.why_not_sent().is_none());
    let mut found: Vec<NamedPicture> = Vec::new();
    for name in seen.flat_map(picture_names) {
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        let facts = if allowed.contains(&name) {
            read_picture(path, &name).map(|picture| (picture.media_type, picture.size))
        } else {
            Err(NOT_ALLOWED.to_string())
        };
        found.push(NamedPicture { name, facts });
    }
    found
}

/// Whether a file may name pictures, so that its messages must be decoded to know. A cell with JSON may name any.
fn may_name_pictures(document: &Document) -> bool {
    document.source().windows(2).any(|two| two == b"![")
        || document.has_role(CellRole::Details)
        || document
            .cells()
            .any(|cell| cell.attribute("json").is_some())
}

fn picture_names(message: &Message) -> Vec<String> {
    let Body::User(User {
        content: Content::Blocks(blocks),
        ..
    }) = &message.body
    else {
        return Vec::new();
    };
    blocks.iter().filter_map(picture_name).collect()
}

/// The file that a block names; `None` if it is no picture of a file.
fn picture_name(block: &Block) -> Option<String> {
    let Block::Image(image) = block else {
        return None;
    };
    match Source::of(&image.source)? {
        Source::File(name) => Some(name),
        _ => None,
    }
}

/// Loads the pictures that a message names. One that is not allowed or cannot be read stays text.
fn load_pictures(
    message: &mut Message,
    path: &Path,
    allowed: &AllowedPictures,
    refused: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    let Body::User(User {
        content: Content::Blocks(blocks),
        ..
    }) = &mut message.body
    else {
        return;
    };
    for block in blocks {
        let Some(name) = picture_name(block) else {
            continue;
        };
        let Block::Image(image) = block else { continue };
        if !allowed.contains(&name) {
            *block = as_text(image, &name);
            if !refused.contains(&name) {
                refused.push(name);
            }
            continue;
        }
        match read_picture(path, &name) {
            Ok(picture) => image.source = picture.source.to_raw(),
            Err(reason) => {
                let text = format!("the picture {name} is not sent: {reason}");
                problems.push(Problem::error("unreadable-picture", text));
                *block = as_text(image, &name);
            }
        }
    }
}

/// The Markdown that names a picture.
fn as_text(image: &Image, name: &str) -> Block {
    let alt = image
        .extra
        .get("alt")
        .and_then(Raw::as_string)
        .unwrap_or_default();
    Block::from_text(format!("![{alt}]({name})"))
}
