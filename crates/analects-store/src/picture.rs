//! Pictures that a message file names: read from beside the file, never from elsewhere, and only if they are
//! pictures. Whether they may be sent is a person's decision, which [`PictureConsent`] remembers.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use analects_core::{Raw, Source};
use analects_formats::msgfile::base64;

use crate::StoreError;
use crate::error::to;
use crate::locked_file::real_path;
use crate::places::{Places, create_private_folder, name_in_state};
use crate::vfs::{Disk, Open, Vfs, folder_of, open_plain_file};

/// The largest picture, in bytes; providers take less.
const MAX_SIZE: u64 = 20 * 1024 * 1024;

/// A picture as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Such as `image/png`, as its bytes say.
    pub media_type: &'static str,
    /// Its length in bytes.
    pub size: usize,
    /// The picture itself, for a message.
    pub source: Source,
}

/// Reads the picture at `path`, relative to the folder of `file`. The error says why not.
pub fn read_picture(file: &Path, path: &str) -> Result<Picture, String> {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(path).components().all(is_inside) {
        return Err("it is outside the folder of this file".to_string());
    }
    // The file may be named by a link; its pictures lie beside the file itself.
    let file = real_path(&Disk, file).map_err(|_| "it is not there")?;
    let folder = Disk
        .real_path(folder_of(&file))
        .map_err(|_| "it is not there")?;
    let parts: PathBuf = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    let bytes = read_plain_file(&folder.join(parts))?;
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

fn read_plain_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut picture = open_plain_file(path).map_err(|_| why_not_opened(path))?;
    let too_large = || "it is larger than 20 MB".to_string();
    let facts = picture.facts().map_err(|error| error.to_string())?;
    if facts.length > MAX_SIZE {
        return Err(too_large());
    }
    let bytes = picture.read_from(0).map_err(|error| error.to_string())?;
    // It may have grown since.
    if bytes.len() as u64 <= MAX_SIZE {
        Ok(bytes)
    } else {
        Err(too_large())
    }
}

fn why_not_opened(path: &Path) -> &'static str {
    match (Disk.facts(path), Disk.real_path(path)) {
        (Err(_), _) => "it is not there",
        (Ok(_), Ok(real)) if real != path => "a symbolic link leads to it",
        _ => "it is not an ordinary file",
    }
}

/// The type of a picture, by how its bytes begin; `None` for anything else.
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

/// Which pictures of a message file a person agreed to send. The default is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedPictures {
    is_all: bool,
    names: BTreeSet<String>,
}

impl AllowedPictures {
    /// All pictures.
    pub fn all() -> AllowedPictures {
        AllowedPictures {
            is_all: true,
            names: BTreeSet::new(),
        }
    }

    /// Allows these pictures, too.
    pub fn add(&mut self, names: &[String]) {
        self.names.extend(names.iter().cloned());
    }

    /// Whether the picture that the file calls so may be sent.
    pub fn contains(&self, name: &str) -> bool {
        self.is_all || self.names.contains(name)
    }
}

/// A person's consent to send the pictures of one message file. It is kept in the state folder of this machine, by the
/// path of the message file: each line is `*` for all pictures, or the name of one as JSON.
#[derive(Debug, Clone)]
pub struct PictureConsent {
    record: PathBuf,
}

/// The line that stands for all pictures.
const ALL: &str = "*";

impl PictureConsent {
    /// The consent for the message file at `path`.
    pub fn of(path: &Path, places: &Places) -> PictureConsent {
        // A link to it is the same file.
        let file = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
        PictureConsent {
            record: places.state.join("pictures").join(name_in_state(&file)),
        }
    }

    /// What a person has agreed to so far. A record that cannot be read allows nothing.
    pub fn allowed(&self) -> AllowedPictures {
        let read = || Disk.open(&self.record, Open::Read).ok()?.read_from(0).ok();
        let text = String::from_utf8(read().unwrap_or_default()).unwrap_or_default();
        let name = |line: &str| Raw::parse(line).ok()?.as_string();
        AllowedPictures {
            is_all: text.lines().any(|line| line == ALL),
            names: text.lines().filter_map(name).collect(),
        }
    }

    /// Remembers that the person allows all pictures of the file.
    pub fn allow_all(&self) -> Result<(), StoreError> {
        self.append(ALL)
    }

    /// Remembers that the person allows one picture.
    pub fn allow(&self, name: &str) -> Result<(), StoreError> {
        if self.allowed().contains(name) {
            return Ok(());
        }
        self.append(&Raw::string(name).to_string())
    }

    /// Remembers for a copy of a message file what the person allowed for the original.
    pub fn take_over(&self, original: &PictureConsent) -> Result<(), StoreError> {
        let allowed = original.allowed();
        if allowed.is_all {
            return self.allow_all();
        }
        allowed.names.iter().try_for_each(|name| self.allow(name))
    }

    fn append(&self, line: &str) -> Result<(), StoreError> {
        create_private_folder(&Disk, folder_of(&self.record))?;
        let mut record = Disk
            .open(&self.record, Open::Private)
            .map_err(to("write", &self.record))?;
        // A line that a kill cut off is none.
        record
            .write_all(format!("\n{line}\n").as_bytes())
            .map_err(to("write", &self.record))
    }
}
