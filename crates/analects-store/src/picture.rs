//! Pictures that a message file names: read from beside the file, never from elsewhere.

use std::path::Path;

use analects_core::Source;
use analects_formats::msgfile::base64;

use crate::vfs::{Disk, Open, Vfs, folder_of};

/// The largest picture, in bytes; providers take less.
const MAX_SIZE: u64 = 20 * 1024 * 1024;

/// Reads the picture at `path`, relative to the folder of `file`. The error says why not.
pub fn read_picture(file: &Path, path: &str) -> Result<Source, String> {
    let media_type = media_type(path).ok_or("it is not a png, jpeg, gif or webp file")?;
    let folder = folder_of(file);
    let real = |path: &Path| Disk.real_path(path).map_err(|_| "it is not there");
    let (folder, picture) = (real(folder)?, real(&folder.join(path))?);
    if !picture.starts_with(&folder) {
        return Err("it is outside the folder of this file".to_string());
    }
    let facts = Disk.facts(&picture).map_err(|error| error.to_string())?;
    if !facts.is_file || facts.length > MAX_SIZE {
        return Err("it is no file, or larger than 20 MB".to_string());
    }
    let bytes = Disk.open(&picture, Open::Read).and_then(|mut file| file.read_from(0));
    let bytes = bytes.map_err(|error| error.to_string())?;
    let data = base64::encode_line(&bytes);
    Ok(Source::Base64 { media_type: media_type.to_string(), data })
}

fn media_type(path: &str) -> Option<&'static str> {
    match path.rsplit('.').next()?.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}
