//! Outputs that a message file keeps in files beside it (`output_file`). They are read only from the folder of the file,
//! and sent only with the consent of a person.

use std::collections::HashMap;
use std::path::Path;

use analects_core::{Hint, Problem};
use analects_formats::msgfile::{AttachedOutput, Document, OutputFile};

use crate::AllowedPictures;
use crate::picture::read_beside;

/// The size limit of an output in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// Why an output is not sent.
const NOT_ALLOWED: &str = "you have not allowed the files of this conversation";

/// Gives the cells of a message file the outputs that they keep in files, to show them. What cannot be read stays empty.
pub fn attach_outputs(file: &Path, document: &mut Document) {
    let mut outputs = HashMap::new();
    for OutputFile { path, .. } in document.output_files() {
        if let Ok(bytes) = read_beside(file, &path, MAX_SIZE) {
            outputs.insert(path, AttachedOutput::Bytes(bytes));
        }
    }
    document.attach_outputs(outputs);
}

/// A copy of a document with the outputs that may be sent, and a problem for each that is not; `None` if the document
/// keeps no outputs in files. The cell of an output that is not sent says so.
pub fn with_sendable_outputs(
    file: &Path,
    document: &Document,
    allowed: &AllowedPictures,
) -> Option<(Document, Vec<Problem>)> {
    let named = document.output_files();
    if named.is_empty() {
        return None;
    }
    let lines = document.lines();
    let mut outputs = HashMap::new();
    let mut problems = Vec::new();
    for OutputFile {
        path,
        is_pending,
        span,
    } in named
    {
        let read = if is_own(file, &path) || allowed.contains(&path) {
            read_beside(file, &path, MAX_SIZE).map_err(|why| {
                let problem = unreadable(&path, &why);
                (why, problem)
            })
        } else {
            let text = format!("the output in {path} is not sent: {NOT_ALLOWED}");
            let problem = Problem::warning("output-not-allowed", text).hint(Hint::AllowPictures);
            Err((NOT_ALLOWED.to_string(), problem))
        };
        match read {
            Ok(bytes) => _ = outputs.insert(path, AttachedOutput::Bytes(bytes)),
            // It is not there yet, which the document reports.
            Err(_) if is_pending => {}
            Err((_, problem)) => {
                let note = format!("(This output is in the file {path}, which is not sent.)");
                outputs.insert(path, AttachedOutput::Note(note));
                problems.push(problem.at(span, &lines));
            }
        }
    }
    let mut copy = document.to_reading_copy();
    copy.attach_outputs(outputs);
    Some((copy, problems))
}

/// The outputs that a message file keeps in files and that cannot be read, each at the cell that names it. One that is
/// still pending need not be there.
pub fn unreadable_outputs(file: &Path, document: &Document) -> Vec<Problem> {
    let lines = document.lines();
    let named = document.output_files().into_iter();
    let expected = named.filter(|output| !output.is_pending);
    expected
        .filter_map(|OutputFile { path, span, .. }| {
            let why = read_beside(file, &path, MAX_SIZE).err()?;
            Some(unreadable(&path, &why).at(span, &lines))
        })
        .collect()
}

/// The names of the outputs that are sent only if a person allows them.
pub fn outputs_to_allow(
    file: &Path,
    document: &Document,
    allowed: &AllowedPictures,
) -> Vec<String> {
    let named = document
        .output_files()
        .into_iter()
        .map(|output| output.path);
    named
        .filter(|path| !is_own(file, path) && !allowed.contains(path))
        .filter(|path| read_beside(file, path, MAX_SIZE).is_ok())
        .collect()
}

/// Whether an output is in the folder that is made for the outputs of this file, such as `talk.msg.md.files`. Nothing
/// else is kept there, so that a file of a stranger cannot name anything of yours.
fn is_own(file: &Path, path: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let own = path.split_once(['/', '\\']);
    own.is_some_and(|(folder, _)| folder.strip_suffix(".files") == Some(&*name))
}

fn unreadable(path: &str, why: &str) -> Problem {
    let text = format!("the output in {path} cannot be read: {why}");
    Problem::error("unreadable-output", text)
        .hint("put the file there, correct its name, or write the output into the cell")
}
