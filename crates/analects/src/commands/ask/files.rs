//! Files that go along with a question: text, pictures and PDFs.

use std::path::Path;

use analects_core::{Block, Document, Image, RawMap, Source};
use analects_formats::msgfile::base64;
use analects_store::media_type;

use crate::failure::{Failure, words};
use crate::piped::read_limited;

/// A file as a block of a message.
pub fn block(path: &Path) -> Result<Block, Failure> {
    let name = path.display();
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound if path == Path::new("-") => {
            let failure = Failure::not_found("-: not found");
            failure.or_hint("what comes on stdin is sent anyway; leave out -f -")
        }
        std::io::ErrorKind::NotFound => Failure::not_found(format!("{name}: not found")),
        _ => Failure::input(format!("{name}: cannot read: {}", words(&error))),
    };
    let facts = std::fs::metadata(path).map_err(fail)?;
    if facts.is_dir() {
        return Err(Failure::input(format!("{name}: a folder, not a file")));
    }
    if !facts.is_file() && !is_pipe(&facts) {
        return Err(Failure::input(format!("{name}: neither a file nor a pipe")));
    }
    let bytes = std::fs::File::open(path).and_then(read_limited).map_err(fail)?;
    let bytes = bytes.ok_or_else(|| Failure::input(format!("{name}: larger than 30 MB")))?;
    if let Some(media_type) = media_type(&bytes) {
        return Ok(Block::Image(Image {
            source: source(media_type, &bytes),
            extra: RawMap::new(),
        }));
    }
    if bytes.starts_with(b"%PDF-") {
        let source = source("application/pdf", &bytes);
        return Ok(Block::Document(Document { source, extra: RawMap::new() }));
    }
    match String::from_utf8(bytes) {
        // A pipe, such as the shell makes of `<(…)`, has no name that says anything.
        Ok(text) if !facts.is_file() => Ok(Block::from_text(text)),
        Ok(text) => {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Block::from_text(format!("{file}:\n\n{text}")))
        }
        Err(_) => {
            let failure = Failure::input(format!("{name}: neither text nor a picture nor a PDF"));
            Err(failure.or_hint("convert it to text first"))
        }
    }
}

#[cfg(unix)]
fn is_pipe(facts: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&facts.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

fn source(media_type: &str, bytes: &[u8]) -> analects_core::Raw {
    let (media_type, data) = (media_type.to_string(), base64::encode_line(bytes));
    Source::Base64 { media_type, data }.to_raw()
}
