//! The messages of a file, with the pictures that lie beside it.

use std::path::Path;

use analects_core::{Block, Body, Content, Message, Problem, Raw, Source, User};
use analects_formats::Decoded;
use analects_formats::msgfile::{self, Document};
use analects_store::read_picture;

/// The messages of a file, with the pictures that it names.
pub fn file_messages(document: &Document, path: &Path) -> Decoded {
    let session = msgfile::session_of(&path.to_string_lossy());
    let mut decoded = msgfile::messages(document, &session);
    decoded.problems.splice(0..0, document.problems());
    for message in &mut decoded.messages {
        load_pictures(message, path, &mut decoded.problems);
    }
    decoded
}

/// Puts pictures that the file names in their places; what cannot be read stays text.
fn load_pictures(message: &mut Message, path: &Path, problems: &mut Vec<Problem>) {
    let Body::User(User { content: Content::Blocks(blocks), .. }) = &mut message.body else {
        return;
    };
    for block in blocks {
        let Block::Image(image) = block else { continue };
        let Some(Source::File(picture)) = Source::of(&image.source) else { continue };
        match read_picture(path, &picture) {
            Ok(source) => image.source = source.to_raw(),
            Err(reason) => {
                let text = format!("the picture {picture} is not sent: {reason}");
                problems.push(Problem::error("unreadable-picture", text));
                let alt = image.extra.get("alt").and_then(Raw::as_string).unwrap_or_default();
                *block = Block::from_text(format!("![{alt}]({picture})"));
            }
        }
    }
}
