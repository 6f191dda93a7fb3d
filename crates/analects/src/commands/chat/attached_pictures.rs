//! Pictures among the files from `--file`: a message file names them, and a session holds them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use analects_core::{Image, RawMap, Source};
use analects_formats::msgfile::{self, base64};
use analects_store::{media_type, read_picture};

use super::call::UserInput;
use crate::failure::{Failure, io_error_text};
use crate::input::read_limited;

/// Whether a file is a picture that models take. `false` if it cannot be read.
pub fn is_picture(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    let mut start = [0; 12];
    let read = is_file
        .then(|| File::open(path).and_then(|mut file| file.read(&mut start)))
        .and_then(Result::ok);
    read.is_some_and(|count| media_type(&start[..count]).is_some())
}

/// Takes the pictures out of the files to attach. In a message file, the prompt then names them; in a
/// session, they go beside the prompt.
pub fn attach(input: &mut UserInput, file: Option<&Path>) -> Result<(), Failure> {
    let files = std::mem::take(&mut input.files);
    let (pictures, files): (Vec<PathBuf>, Vec<PathBuf>) =
        files.into_iter().partition(|path| is_picture(path));
    input.files = files;
    input.has_attached_pictures = !pictures.is_empty();
    for picture in pictures {
        let Some(prompt) = &mut input.prompt else {
            let message = format!("{}: a picture goes with a question", picture.display());
            return Err(Failure::usage(
                message,
                "add one, such as \"What does it show?\"",
            ));
        };
        match file {
            Some(file) => {
                let name = name_beside(file, &picture)?;
                let title = picture.file_stem().unwrap_or_default().to_string_lossy();
                let title = title.replace(['[', ']'], "");
                prompt.push_str(&format!("\n\n![{title}]({name})"));
                input.pictures.push(name);
            }
            None => input.images.push(image(&picture)?),
        }
    }
    Ok(())
}

/// The name of a picture in a message file: its path from the file's folder.
fn name_beside(file: &Path, picture: &Path) -> Result<String, Failure> {
    let refuse = |why: &str, hint: &str| {
        let message = format!("{}: {why}", picture.display());
        Err(Failure::input(message).or_hint(hint))
    };
    let file_name = file.display();
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (Ok(folder), Ok(real)) = (folder.canonicalize(), picture.canonicalize()) else {
        return refuse(
            "there is no such file, or it cannot be read",
            "check the path",
        );
    };
    let Ok(name) = real.strip_prefix(&folder) else {
        return refuse(
            &format!("the picture is outside the folder of {file_name}"),
            "copy it there; a message file names only pictures beside it",
        );
    };
    let name = name.to_string_lossy().replace('\\', "/");
    if msgfile::pictures_in(&format!("![]({name})")) != [name.as_str()] {
        return refuse(
            "a message file cannot name a picture with such a name",
            "rename it, without spaces, colons and parentheses",
        );
    }
    match read_picture(file, &name) {
        Ok(_) => Ok(name),
        Err(why) => refuse(&format!("cannot be sent: {why}"), "choose another picture"),
    }
}

/// A picture as a part of a message.
fn image(picture: &Path) -> Result<Image, Failure> {
    let name = picture.display();
    let cannot_read = |error: io::Error| {
        Failure::input(format!("{name}: cannot read: {}", io_error_text(&error)))
    };
    let bytes = File::open(picture).and_then(read_limited);
    let Some(bytes) = bytes.map_err(cannot_read)? else {
        return Err(Failure::input(format!("{name}: larger than 30 MB")));
    };
    let Some(media_type) = media_type(&bytes) else {
        return Err(Failure::input(format!("{name}: not a picture any more")));
    };
    let source = Source::Base64 {
        media_type: media_type.to_string(),
        data: base64::encode_line(&bytes),
    };
    Ok(Image {
        source: source.to_raw(),
        extra: RawMap::new(),
    })
}
