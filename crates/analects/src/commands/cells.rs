//! What the verbs on single cells of a message file have in common: which file, which cell, and how the
//! file is changed. The conversation in the terminal uses these, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use analects_formats::msgfile::item::{ItemError, ItemErrorKind};
use analects_formats::msgfile::{
    self, Document, Edited, Kind, Rewound, Splice, find_cells, find_one,
};
use analects_store::vfs::Disk;
use analects_store::{PictureConsent, StoreError, create_file, real_path};

use super::chat::CallArgs;
use super::reading;
use crate::failure::Failure;
use crate::hints::Advice;
use crate::surroundings::Surroundings;
use crate::{shell, ui, writing};

/// So many cells are not named one by one.
const NAMED: usize = 6;

/// The file that is meant, unless it is a session.
pub fn file(target: &str) -> Option<&Path> {
    let path = Path::new(target);
    (target.ends_with(".md") || path.is_file()).then_some(path)
}

/// Goes on from an earlier cell.
pub fn rewind(path: &Path, cell: &str, surroundings: &Surroundings) -> Result<Rewound, Failure> {
    rewind_by(path, surroundings, |document| msgfile::rewind(document, find_one(document, cell)?))
}

/// Goes on from the beginning, as if nothing had been said.
pub fn rewind_to_start(path: &Path, surroundings: &Surroundings) -> Result<Rewound, Failure> {
    rewind_by(path, surroundings, msgfile::rewind_to_start)
}

fn rewind_by(
    path: &Path,
    surroundings: &Surroundings,
    back: impl Fn(&Document) -> Result<Rewound, ItemError>,
) -> Result<Rewound, Failure> {
    let (mut done, mut earlier) = (None, None);
    change(path, surroundings, |document| {
        let rewound = back(document)?;
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

/// Says something else in the place of a cell. If the model does not see that, it is said.
pub fn edit(
    path: &Path,
    cell: &str,
    text: &str,
    surroundings: &Surroundings,
) -> Result<Edited, Failure> {
    let (mut done, mut summed_up) = (None, Vec::new());
    change(path, surroundings, |document| {
        let at = find_one(document, cell)?;
        let edited = msgfile::edit_text(document, at, text)?;
        let source = edited.source.clone();
        summed_up = names_of_summed_up(document, &[at]);
        done = Some(edited);
        Ok(source)
    })?;
    let edited = done.ok_or_else(|| Failure::ours("nothing was changed"))?;
    if edited.is_hidden {
        let (old, file, new) = (&edited.old, shell::path(path), shell::word(&edited.new));
        ui::remark(&format!(
            "cell {old} is hidden from the model, and so is the new one; \
             analects drop {file} {new} --undo shows it"
        ));
    }
    remark_summed_up(path, &summed_up);
    Ok(edited)
}

/// The names of those of some cells that a summary stands for.
fn names_of_summed_up(document: &Document, cells: &[usize]) -> Vec<String> {
    let found = msgfile::summed_up(document, cells).into_iter();
    found.filter_map(|at| Some(document.cells().nth(at)?.name().into_owned())).collect()
}

/// Says so if a summary stands for cells, so that nothing that is done with them is seen.
fn remark_summed_up(path: &Path, cells: &[String]) {
    let cells = match cells {
        [] => return,
        [one] => format!("cell {one}"),
        some if some.len() < NAMED => format!("cells {}", some.join(", ")),
        [first, .., last] => format!("cells from {first} to {last}"),
    };
    ui::remark(&format!(
        "a summary stands for {cells}, and the model sees only that; \
         analects compact {} --undo brings back what it stands for",
        shell::path(path)
    ));
}

/// Says so if a summary stands for cells that are chosen for a call.
pub fn remark_chosen(path: &Path, document: &Document, args: &CallArgs) {
    let lists = args.include.iter().chain(&args.exclude);
    let cells = lists.filter_map(|list| find_cells(document, list).ok()).flatten();
    let cells: BTreeSet<usize> = cells.collect();
    let cells: Vec<usize> = cells.into_iter().collect();
    remark_summed_up(path, &names_of_summed_up(document, &cells));
}

/// Hides a cell and what belongs to it from the model, or shows them again; gives their names. None if it
/// was so already. If the model sees another version of it, or a summary, that is said.
pub fn hide(
    path: &Path,
    cell: &str,
    is_hidden: bool,
    surroundings: &Surroundings,
) -> Result<Vec<String>, Failure> {
    let (mut names, mut instead, mut summed_up) = (Vec::new(), Vec::new(), Vec::new());
    change(path, surroundings, |document| {
        let at = find_one(document, cell)?;
        summed_up = names_of_summed_up(document, &[at]);
        let changes = match is_hidden {
            true => {
                msgfile::check_can_be_hidden(document, at)?;
                msgfile::hide(document, at)
            }
            false => msgfile::reveal(document, at),
        };
        let after = document.with_source(msgfile::set_attributes(document, &changes)?);
        (names, instead) = (Vec::new(), Vec::new());
        for change in changes.iter().filter(|change| change.key == "history") {
            let name = after.cells().nth(change.cell).map(|cell| cell.name().into_owned());
            let is_meant = (change.value == "none") == is_hidden;
            if is_meant { &mut names } else { &mut instead }.extend(name);
        }
        Ok(after.into_source())
    })?;
    if !instead.is_empty() {
        ui::remark(&format!(
            "the model does not see {} any more, in whose place it stands",
            instead.join(", ")
        ));
    }
    if !names.is_empty() {
        remark_summed_up(path, &summed_up);
    }
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
    if document.kind() == Kind::Plain {
        return Err(StoreError::NotAMessageFile { path: path.to_path_buf() }.into());
    }
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
    done?;
    // Pictures beside the one are beside the other.
    if real_folder(&copy) == real_folder(path) {
        let consent = PictureConsent::of(path, &surroundings.places);
        PictureConsent::of(&copy, &surroundings.places).take_over(&consent)?;
    }
    Ok(copy)
}

/// The folder that a file itself lies in, wherever links to it are.
fn real_folder(path: &Path) -> Option<PathBuf> {
    Some(real_path(&Disk, path).ok()?.parent()?.to_path_buf())
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
        Some(hint) => failure.or_hint(Advice::about(path, hint.clone())),
        None => failure,
    }
}
