//! Which pictures of a message file a call may send. A person decides, and a yes is remembered for the file.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use analects_formats::msgfile::Document;
use analects_runtime::named_pictures;
use analects_store::{AllowedPictures, PictureConsent, read_message_file};

use crate::config::Config;
use crate::failure::{Failure, words};
use crate::surroundings::Surroundings;
use crate::ui;

/// The pictures of the file at `path` that may be sent. `is_wanted` is the flag of this call.
pub fn allowed(
    path: &Path,
    is_wanted: bool,
    config: &Config,
    surroundings: &Surroundings,
) -> AllowedPictures {
    if is_wanted || config.pictures() {
        return AllowedPictures::all();
    }
    PictureConsent::of(path, &surroundings.places).allowed()
}

/// Remembers that the person allows the pictures that they name in their own words.
pub fn allow(path: &Path, names: &[String], surroundings: &Surroundings) -> Result<(), Failure> {
    let consent = PictureConsent::of(path, &surroundings.places);
    for name in names {
        consent.allow(name)?;
    }
    Ok(())
}

/// Asks the person at the terminal about pictures that the file names and nobody has allowed yet. A yes is remembered
/// for this file. Where nobody can be asked, they are not sent.
pub fn ask(
    path: &Path,
    is_wanted: bool,
    config: &Config,
    surroundings: &Surroundings,
) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    // What is wrong with the file is said by whoever opens it.
    let Ok(document) = read_message_file(path) else {
        return Ok(());
    };
    let allowed = allowed(path, is_wanted, config, surroundings);
    let names = not_allowed(&document, path, &allowed);
    if names.is_empty() {
        return Ok(());
    }
    let list = names.join(", ");
    ui::remark(&format!("{} shows pictures: {list}", path.display()));
    ui::prompt("send them to the model? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::input(format!("cannot read stdin: {}", words(&error))))?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        PictureConsent::of(path, &surroundings.places).allow_all()?;
    }
    Ok(())
}

/// The pictures that would be sent if they were allowed.
fn not_allowed(document: &Document, path: &Path, allowed: &AllowedPictures) -> Vec<String> {
    let all = named_pictures(document, path, &AllowedPictures::all());
    let sendable = all.into_iter().filter(|picture| picture.facts.is_ok());
    sendable
        .map(|picture| picture.name)
        .filter(|name| !allowed.contains(name))
        .collect()
}
