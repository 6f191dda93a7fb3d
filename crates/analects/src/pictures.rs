//! Which pictures of a message file a call may send. You decide, and a yes is remembered for the file.
//!
//! A file may come from somebody else and name any picture on your disk, so nothing is sent without consent:
//! `--pictures`, the configuration, or a yes at the terminal, which the state folder remembers for this file.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use analects_formats::msgfile::Document;
use analects_runtime::named_pictures;
use analects_store::{AllowedPictures, PictureConsent, outputs_to_allow, read_message_file};

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::ui;

/// The pictures of the file at `path` that may be sent. `is_wanted` says whether the call has `--pictures`.
/// Never asks. Use [`ask`] before it where there may be a terminal.
pub fn allowed(
    path: &Path,
    is_wanted: bool,
    config: &Config,
    environment: &Environment,
) -> AllowedPictures {
    if is_wanted || config.pictures() {
        return AllowedPictures::all();
    }
    PictureConsent::of(path, &environment.places).allowed()
}

/// Allows the pictures with these names for good: you named them in your own prompt.
/// Fails if the state folder cannot be written.
pub fn allow(path: &Path, names: &[String], environment: &Environment) -> Result<(), Failure> {
    let consent = PictureConsent::of(path, &environment.places);
    for name in names {
        consent.allow(name)?;
    }
    Ok(())
}

/// Asks at the terminal whether to send the pictures of the file that are not allowed yet, and remembers a yes.
/// Without a terminal it asks nothing, and the pictures are not sent.
/// Does nothing if the file cannot be read.
pub fn ask(
    path: &Path,
    is_wanted: bool,
    config: &Config,
    environment: &Environment,
) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    // Whoever opens the file next reports what is wrong with it.
    let Ok(document) = read_message_file(path) else {
        return Ok(());
    };
    let allowed = allowed(path, is_wanted, config, environment);
    let names = not_allowed(&document, path, &allowed);
    if names.is_empty() {
        return Ok(());
    }
    let list = names.join(", ");
    let has_outputs = !outputs_to_allow(path, &document, &allowed).is_empty();
    let what = if has_outputs {
        "pictures and outputs in files"
    } else {
        "pictures"
    };
    ui::remark(&format!("{} shows {what}: {list}", path.display()));
    ui::prompt("send them to the model? [y/N] ");
    if is_yes(&read_answer()?) {
        PictureConsent::of(path, &environment.places).allow_all()?;
    }
    Ok(())
}

/// Reads a line from the terminal.
fn read_answer() -> Result<String, Failure> {
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(_) => Ok(answer),
        Err(error) => {
            let reason = io_error_text(&error);
            Err(Failure::input(format!("cannot read stdin: {reason}")))
        }
    }
}

/// Whether an answer allows it. Anything but a clear yes does not.
/// An empty answer is a no, as the capital `N` in the question says.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The pictures, and the outputs in files, that would be sent if they were allowed.
/// Those that cannot be read are left out: there is nothing to decide.
fn not_allowed(document: &Document, path: &Path, allowed: &AllowedPictures) -> Vec<String> {
    let pictures = named_pictures(document, path, &AllowedPictures::all());
    let readable = pictures.into_iter().filter(|picture| picture.facts.is_ok());
    let mut names: Vec<String> = readable
        .map(|picture| picture.name)
        .filter(|name| !allowed.contains(name))
        .collect();
    names.extend(outputs_to_allow(path, document, allowed));
    names
}
