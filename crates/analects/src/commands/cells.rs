//! What the verbs on single cells of a message file have in common: which file, which cell, and how the
//! file is changed. The conversation in the terminal uses these, too.

use std::path::{Path, PathBuf};

use analects_formats::msgfile::item::{ItemError, ItemErrorKind};
use analects_formats::msgfile::{self, Document, Edited, Rewound, Splice, find_one};
use analects_store::create_file;

use super::reading;
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{shell, ui, writing};

/// The file that is meant, unless it is a session.
pub fn file(target: &str) -> Option<&Path> {
    let path = Path::new(target);
    (target.ends_with(".md") || path.is_file()).then_some(path)
}

/// Goes on from an earlier cell.
pub fn rewind(path: &Path, cell: &str, surroundings: &Surroundings) -> Result<Rewound, Failure> {
    let (mut done, mut earlier) = (None, None);
    change(path, surroundings, |document| {
        let rewound = msgfile::rewind(document, find_one(document, cell)?)?;
        let source = rewound.source.clone();
        if rewound.uncounted.is_some() {
            earlier = msgfile::counting_summary(&document.with_source(source.clone()));
        }
        done = Some(rewound);
        Ok(source)
    })?;
    let rewound = done.ok_or_else(|| Failure::ours("nothing was changed"))?;
    if let Some(summary) = &rewound.uncounted {
        remark_uncounted_cell(summary, earlier.as_deref());
    }
    Ok(rewound)
}

fn remark_uncounted_cell(summary: &str, earlier: Option<&str>) {
    let earlier = earlier.map(|cell| format!("that of cell {cell}"));
    remark_uncounted(&format!("the summary of cell {summary}"), earlier.as_deref());
}

/// Says that a summary does not count where a conversation goes on, and whether an earlier one does.
pub fn remark_uncounted(summary: &str, earlier: Option<&str>) {
    let instead = match earlier {
        Some(earlier) => format!("but {earlier}, and what came after that is seen"),
        None => "and everything before is seen".to_string(),
    };
    ui::remark(&format!("{summary} does not count there, {instead}; compact again if need be"));
}

/// Says something else in the place of a cell.
pub fn edit(
    path: &Path,
    cell: &str,
    text: &str,
    surroundings: &Surroundings,
) -> Result<Edited, Failure> {
    let mut done = None;
    change(path, surroundings, |document| {
        let edited = msgfile::edit_text(document, find_one(document, cell)?, text)?;
        let source = edited.source.clone();
        done = Some(edited);
        Ok(source)
    })?;
    done.ok_or_else(|| Failure::ours("nothing was changed"))
}

/// Hides a cell and what belongs to it from the model, or shows them again; gives their names. None if it
/// was so already.
pub fn hide(
    path: &Path,
    cell: &str,
    is_hidden: bool,
    surroundings: &Surroundings,
) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    change(path, surroundings, |document| {
        let at = find_one(document, cell)?;
        let changes = match is_hidden {
            true => {
                msgfile::check_can_be_hidden(document, at)?;
                msgfile::hide(document, at)
            }
            false => msgfile::reveal(document, at),
        };
        let after = document.with_source(msgfile::set_attributes(document, &changes)?);
        let named = changes.iter().filter_map(|change| after.cells().nth(change.cell));
        names = named.map(|cell| cell.name().into_owned()).collect();
        Ok(after.into_source())
    })?;
    Ok(names)
}

/// Copies a file up to a cell, or all of it, into a new one, whose path comes back.
pub fn fork(
    path: &Path,
    at: Option<&str>,
    copy: Option<&Path>,
    force: bool,
    surroundings: &Surroundings,
) -> Result<PathBuf, Failure> {
    let document = reading::read(path)?;
    let in_file = |error: ItemError| explain(path, &error);
    let (mut summary, mut earlier) = (None, None);
    let bytes = match at {
        Some(name) => {
            let at = find_one(&document, name).map_err(in_file)?;
            let bytes = msgfile::fork(&document, at).map_err(in_file)?;
            earlier = msgfile::counting_summary(&document.with_source(bytes.clone()));
            summary =
                msgfile::counting_summary(&document).filter(|name| Some(name) != earlier.as_ref());
            bytes
        }
        None => document.source().to_vec(),
    };
    let copy = copy.map_or_else(|| free_name(path), Path::to_path_buf);
    check_copy(path, &copy, &document)?;
    let done = write_copy(&copy, &bytes, force, surroundings);
    if let (Some(summary), Ok(())) = (summary, &done) {
        remark_uncounted_cell(&summary, earlier.as_deref());
    }
    done.map(|()| copy)
}

fn write_copy(
    copy: &Path,
    bytes: &[u8],
    force: bool,
    surroundings: &Surroundings,
) -> Result<(), Failure> {
    if create_file(copy, bytes)? {
        return Ok(());
    }
    if !force {
        let failure = Failure::input(format!("{}: there is a file already", copy.display()));
        return Err(failure.or_hint("name another one with -o, or write over it with --force"));
    }
    let mut file = writing::open(copy, &surroundings.places)?;
    Ok(file.edit(|document| Splice::whole(document.source(), bytes.to_vec()))?)
}

/// The copy must be another file, and be read like the original.
fn check_copy(path: &Path, copy: &Path, document: &Document) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().ok();
    if real(path).is_some() && real(path) == real(copy) {
        let message = format!("{}: this is the file itself", copy.display());
        return Err(Failure::usage(message, "name another one with -o"));
    }
    let like = |path: &Path| msgfile::decode_named(document.source(), &path.to_string_lossy());
    if like(copy).kind() != document.kind() || !copy.to_string_lossy().ends_with(".md") {
        let ending = if document.kind() == msgfile::Kind::Whole { ".msg.md" } else { ".md" };
        let message = format!("{}: a copy must end in {ending}, too", copy.display());
        return Err(Failure::usage(message, "else it would not be read as this file is"));
    }
    Ok(())
}

/// A name for a copy: `talk.fork-1.msg.md`.
fn free_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = match name.strip_suffix(".msg.md") {
        Some(stem) => (stem, "msg.md"),
        None => (name.strip_suffix(".md").unwrap_or(&name), "md"),
    };
    let names = (1..).map(|number| path.with_file_name(format!("{stem}.fork-{number}.{ending}")));
    let mut free = names.filter(|name| name.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| path.with_extension("fork.msg.md"))
}

/// Changes a file that must be there.
fn change(
    path: &Path,
    surroundings: &Surroundings,
    mut make: impl FnMut(&Document) -> Result<Vec<u8>, ItemError>,
) -> Result<(), Failure> {
    // Opening to write would take a file that is not there for a new one.
    reading::read(path)?;
    let mut work = || {
        let mut file = writing::open(path, &surroundings.places)?;
        file.try_edit(|document| {
            let source = make(document).map_err(|error| explain(path, &error))?;
            Ok::<_, Failure>(Splice::whole(document.source(), source))
        })
    };
    work().map_err(|failure| surroundings.explain(failure))
}

/// Says what cannot be done in a file.
pub fn explain(path: &Path, error: &ItemError) -> Failure {
    let message = format!("{}: {error}", path.display());
    let failure = match error.kind() {
        ItemErrorKind::UnknownCell => Failure::not_found(message),
        _ => Failure::input(message),
    };
    match error.hint() {
        Some(hint) => failure.or_hint(hint.replace("FILE", &shell::path(path))),
        None => failure,
    }
}
