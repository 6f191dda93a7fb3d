//! Pictures that a message file names. They are read only from the folder of the file, and only if they really are
//! pictures. Sending one needs the consent of a person, which [`PictureConsent`] records.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use analects_core::{Problem, Raw, Source};
use analects_formats::msgfile::{Document, PictureLine, base64, picture_lines};

use crate::StoreError;
use crate::error::cannot;
use crate::folders::{StoreFolders, create_private_folder, name_in_state};
use crate::locked_file::real_path;
use crate::vfs::{Disk, OpenMode, Vfs, folder_of, open_plain_file};

/// The size limit of a picture in bytes; providers accept less.
const MAX_SIZE: u64 = 20 * 1024 * 1024;

/// A picture that was read from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The media type according to its bytes, such as `image/png`.
    pub media_type: &'static str,
    /// The length in bytes.
    pub size: usize,
    /// The content, in the form for a message.
    pub source: Source,
}

/// Reads the picture at `path`, which is relative to the folder of `file`. The error is the reason, as a clause about
/// the picture.
pub fn read_picture(file: &Path, path: &str) -> Result<Picture, String> {
    let bytes = read_beside(file, path, MAX_SIZE)?;
    let media_type = media_type(&bytes).ok_or("it is not a png, jpeg, gif or webp picture")?;
    let data = base64::encode_line(&bytes);
    let source = Source::Base64 {
        media_type: media_type.to_string(),
        data,
    };
    Ok(Picture {
        media_type,
        size: bytes.len(),
        source,
    })
}

/// The pictures that the cells of a message file name and that cannot be read, each at its line.
pub fn unreadable_pictures(file: &Path, document: &Document) -> Vec<Problem> {
    let lines = document.lines();
    let mut known: HashMap<String, Option<String>> = HashMap::new();
    let mut found = Vec::new();
    for PictureLine { path, span } in picture_lines(document) {
        let why = known
            .entry(path.clone())
            .or_insert_with(|| read_picture(file, &path).err());
        if let Some(why) = why {
            let text = format!("the picture {path} cannot be sent: {why}");
            let problem = Problem::error("unreadable-picture", text)
                .hint("put the picture beside this file, or correct its name")
                .at(span, &lines);
            found.push(problem);
        }
    }
    found
}

/// Reads the file at `path`, which is relative to the folder of `file`, if it is an ordinary file of at most `most` bytes
/// in that folder or below it, and no link leads to it. The error is the reason, as a clause about the file.
pub(crate) fn read_beside(file: &Path, path: &str, most: u64) -> Result<Vec<u8>, String> {
    if !Path::new(path).components().all(stays_in_folder) {
        return Err("it is outside the folder of this file".to_string());
    }
    // `file` may be a link; what it names is beside its target.
    let file = real_path(&Disk, file).map_err(|_| "it is not there")?;
    let folder = Disk
        .real_path(folder_of(&file))
        .map_err(|_| "it is not there")?;
    let parts: PathBuf = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    read_plain_file(&folder.join(parts), most)
}

/// Returns whether a part of a path leads neither to a parent nor to the root.
fn stays_in_folder(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_) | Component::CurDir)
}

/// Reads an ordinary file of limited size.
fn read_plain_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut picture = open_plain_file(path).map_err(|_| why_not_opened(path))?;
    let metadata = picture.metadata().map_err(|error| error.to_string())?;
    check_size(metadata.length, most)?;
    let bytes = picture.read_from(0).map_err(|error| error.to_string())?;
    // The file may have grown in the meantime.
    check_size(bytes.len() as u64, most)?;
    Ok(bytes)
}

/// Refuses a file over a size limit.
fn check_size(length: u64, most: u64) -> Result<(), String> {
    if length > most {
        return Err(format!("it is larger than {} MB", most >> 20));
    }
    Ok(())
}

/// Returns the reason why [`open_plain_file`] refused a path.
fn why_not_opened(path: &Path) -> &'static str {
    match (Disk.metadata(path), Disk.real_path(path)) {
        (Err(_), _) => "it is not there",
        (Ok(_), Ok(real)) if real != path => "a symbolic link leads to it",
        _ => "it is not an ordinary file",
    }
}

/// Returns the media type of a picture by its first bytes; `None` for anything but PNG, JPEG, GIF and WebP.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

/// The pictures of a message file that a person agreed to send. The default is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedPictures {
    /// Whether all pictures are allowed, whatever their names.
    is_all: bool,
    /// The names of single allowed pictures.
    names: BTreeSet<String>,
}

impl AllowedPictures {
    /// Allows all pictures.
    pub fn all() -> AllowedPictures {
        AllowedPictures {
            is_all: true,
            names: BTreeSet::new(),
        }
    }

    /// Allows more pictures, by their names in the file.
    pub fn add(&mut self, names: &[String]) {
        self.names.extend(names.iter().cloned());
    }

    /// Returns whether the picture with this name in the file may be sent.
    pub fn contains(&self, name: &str) -> bool {
        self.is_all || self.names.contains(name)
    }
}

/// A person's consent to send the pictures of one message file. The state folder of this machine stores it under the
/// path of the message file: each line is `*` for all pictures, or the name of one as a JSON string.
#[derive(Debug, Clone)]
pub struct PictureConsent {
    /// The file of the record.
    record: PathBuf,
}

/// The line that allows all pictures.
const ALL: &str = "*";

impl PictureConsent {
    /// Returns the consent for the message file at `path`. Links are followed, since a link to a file is the same file.
    pub fn of(path: &Path, folders: &StoreFolders) -> PictureConsent {
        let file = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
        PictureConsent {
            record: folders.pictures_folder().join(name_in_state(&file)),
        }
    }

    /// Returns the pictures that are allowed so far. A record that cannot be read allows none.
    pub fn allowed(&self) -> AllowedPictures {
        let text = self.read().unwrap_or_default();
        let mut allowed = AllowedPictures::default();
        for line in text.lines() {
            if line == ALL {
                allowed.is_all = true;
            }
            if let Ok(name) = Raw::parse(line) {
                allowed.names.extend(name.as_string());
            }
        }
        allowed
    }

    /// Reads the record; `None` if there is none, or if it is not UTF-8.
    fn read(&self) -> Option<String> {
        let mut record = Disk.open(&self.record, OpenMode::Read).ok()?;
        String::from_utf8(record.read_from(0).ok()?).ok()
    }

    /// Records that the person allows all pictures of the file.
    pub fn allow_all(&self) -> Result<(), StoreError> {
        self.append(ALL)
    }

    /// Records that the person allows one picture.
    pub fn allow(&self, name: &str) -> Result<(), StoreError> {
        if self.allowed().contains(name) {
            return Ok(());
        }
        self.append(&Raw::string(name).to_string())
    }

    /// Gives a copy of a message file the consent for the original.
    pub fn copy_from(&self, original: &PictureConsent) -> Result<(), StoreError> {
        let allowed = original.allowed();
        if allowed.is_all {
            return self.allow_all();
        }
        for name in &allowed.names {
            self.allow(name)?;
        }
        Ok(())
    }

    /// Appends a line to the record, and creates the record if necessary.
    fn append(&self, line: &str) -> Result<(), StoreError> {
        create_private_folder(&Disk, folder_of(&self.record))?;
        let mut record = Disk
            .open(&self.record, OpenMode::Private)
            .map_err(cannot("write", &self.record))?;
        // The leading line end terminates a line that a kill cut off.
        record
            .write_all(format!("\n{line}\n").as_bytes())
            .map_err(cannot("write", &self.record))
    }
}
