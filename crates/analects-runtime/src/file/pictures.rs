//! The messages of a file, with the pictures that lie beside it and that a person allowed.

use std::path::Path;

use analects_core::verbs::revised;
use analects_core::{
    Block, Body, Content, Hint, Image, Message, Problem, Raw, SessionId, Source, User,
};
use analects_formats::DecodedFile;
use analects_formats::msgfile::{self, CellRole, Document, KnownMessages};
use analects_store::{AllowedPictures, read_picture};

/// A picture that a message file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPicture {
    /// What the file calls it.
    pub name: String,
    /// Its type and its length in bytes, or why it is not sent.
    pub facts: Result<(&'static str, usize), String>,
}

const NOT_ALLOWED: &str = "you have not allowed the pictures of this file";

/// The messages of a file, with what the journal knows of them and with the pictures that it names. A picture that is
/// not allowed is not read.
pub(super) fn file_messages(
    document: &Document,
    session: &SessionId,
    path: &Path,
    allowed: &AllowedPictures,
    known: &dyn KnownMessages,
) -> DecodedFile {
    let decoded = msgfile::messages_with_known(document, session, known);
    completed(decoded, document, path, allowed)
}

/// Messages as the model is to see them, with the pictures that they name.
pub(super) fn completed(
    mut decoded: DecodedFile,
    document: &Document,
    path: &Path,
    allowed: &AllowedPictures,
) -> DecodedFile {
    decoded.messages = revised(decoded.messages);
    decoded.problems.splice(0..0, document.problems());
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

/// The pictures that the model would get, and those that it would not, in the order of the file.
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
    for name in seen.flat_map(names) {
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

/// Whether the messages of a file have to be read to know its pictures. What holds JSON may name any.
fn may_name_pictures(document: &Document) -> bool {
    document.source().windows(2).any(|two| two == b"![")
        || document.has_role(CellRole::Details)
        || document
            .cells()
            .any(|cell| cell.attribute("json").is_some())
}

fn names(message: &Message) -> Vec<String> {
    let Body::User(User {
        content: Content::Blocks(blocks),
        ..
    }) = &message.body
    else {
        return Vec::new();
    };
    blocks.iter().filter_map(name).collect()
}

fn name(block: &Block) -> Option<String> {
    let Block::Image(image) = block else {
        return None;
    };
    match Source::of(&image.source)? {
        Source::File(name) => Some(name),
        _ => None,
    }
}

/// Puts pictures that the file names in their places; what is not allowed or cannot be read stays text.
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
        let Some(name) = name(block) else { continue };
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

/// A picture as the person wrote it.
fn as_text(image: &Image, name: &str) -> Block {
    let alt = image
        .extra
        .get("alt")
        .and_then(Raw::as_string)
        .unwrap_or_default();
    Block::from_text(format!("![{alt}]({name})"))
}
