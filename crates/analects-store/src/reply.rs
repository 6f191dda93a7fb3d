//! A reply that grows in its file while it comes, so that a kill costs almost nothing of it.

use std::path::Path;
use std::time::{Duration, Instant};

use analects_formats::msgfile::{self, Cell, CellKind, CellStream, Document, NewCell, Splice};

use crate::vfs::{Open, Vfs, VfsFile};
use crate::{LockedFile, StoreError};

/// How long a reply is looked after when somebody else has written to the file while it came, and how often
/// the file is looked at.
const LINGER: Duration = Duration::from_millis(1000);
const LOOK: Duration = Duration::from_millis(20);

/// How long it takes at least until a reply with something below it is written again: that takes the whole file.
const PAUSE: Duration = Duration::from_millis(1000);

/// How often a reply that somebody overwrote is put back. An editor that reads again as soon as it has written is
/// often quicker than we are, so this takes some patience.
const MAX_RETURNS: usize = 200;

/// A reply in the making.
#[derive(Debug)]
pub struct Reply {
    file: LockedFile,
    stream: CellStream,
    growth: Growth,
    /// What is in the file of the reply's text, and what is not yet.
    written: String,
    waiting: String,
    /// How long the text in the file was each time that it was written: as such an editor may have read it.
    lengths: Vec<usize>,
}

/// Where a reply grows.
#[derive(Debug)]
enum Growth {
    /// At the end of the file, in place.
    End(Growing),
    /// Above other cells, which somebody may have typed before the reply began.
    Inside {
        /// When it is written again.
        next: Instant,
        /// Whether somebody has typed them since the file was last read.
        typed: bool,
    },
    /// Only in memory, since somebody else has changed the file; it is put in its place at the end.
    Nowhere,
}

/// The open file, and what it should look like.
#[derive(Debug)]
struct Growing {
    handle: Box<dyn VfsFile>,
    length: u64,
}

impl LockedFile {
    /// Starts a reply to the cell that `asked` finds, which others may follow by now.
    pub fn start_reply_behind(
        self,
        asked: impl Fn(&Document) -> Option<usize>,
        make: impl Fn(&Document) -> NewCell,
    ) -> Result<Reply, StoreError> {
        Reply::start(self, asked, make)
    }
}

impl Reply {
    pub(crate) fn start(
        mut file: LockedFile,
        asked: impl Fn(&Document) -> Option<usize>,
        make: impl Fn(&Document) -> NewCell,
    ) -> Result<Reply, StoreError> {
        let mut opened = None;
        let typed = file.is_changed();
        let mut open = |document: &Document| {
            let asked = asked(document).and_then(|at| document.cells().nth(at));
            let (stream, splice) = CellStream::open_behind(document, asked, make(document));
            opened = Some(stream);
            splice
        };
        // The whole file is written once more at the end, and not at the beginning, too.
        let begun = file.grow(&mut open);
        if begun.is_err() {
            // The end tries again, and reports the error together with what came.
            open(file.document());
        }
        let stream = opened.unwrap_or_default();
        let growth = match begun {
            Ok(()) => Growth::of(&file, stream.id(), typed),
            Err(_) => Growth::Nowhere,
        };
        let (written, waiting) = (String::new(), String::new());
        Ok(Reply { file, stream, growth, written, waiting, lengths: Vec::new() })
    }

    /// The id of the reply's cell.
    pub fn id(&self) -> &str {
        self.stream.id()
    }

    /// Takes more text; it reaches the file with the next [`Reply::flush`].
    pub fn push(&mut self, text: &str) {
        self.waiting.push_str(&self.stream.push(text));
    }

    /// Whether there is text that the file does not hold yet.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes what came since the last time, without a sync: a kill costs nothing, a power cut the
    /// last moments. Where others follow the reply's cell, this happens less often. If somebody else changed the
    /// file, nothing is written until the end.
    pub fn flush(&mut self) {
        let is_done = match self.growth {
            Growth::End(_) => self.flush_at_end(),
            Growth::Inside { next, .. } if Instant::now() < next => return,
            Growth::Inside { typed, .. } => self.flush_inside(typed),
            Growth::Nowhere => None,
        };
        self.waiting.clear();
        if is_done.is_none() {
            self.growth = Growth::Nowhere;
        }
    }

    fn flush_at_end(&mut self) -> Option<()> {
        let (vfs, path) = (self.file.vfs(), self.file.path());
        let Growth::End(growing) = &mut self.growth else { return None };
        growing.is_untouched(vfs, path).then_some(())?;
        let result = growing.handle.write_all(self.waiting.as_bytes());
        // Even a write that failed may have written the beginning.
        let there = match result {
            Ok(()) => &self.waiting,
            Err(_) => growing.keep_whole_characters(&self.waiting),
        };
        growing.length += there.len() as u64;
        self.written.push_str(there);
        self.lengths.push(self.written.len());
        // A full disk, perhaps. The end tries again, and reports the error.
        result.ok()
    }

    fn flush_inside(&mut self, typed: bool) -> Option<()> {
        (!self.file.is_changed()).then_some(())?;
        let began = Instant::now();
        let (id, written) = (self.stream.id().to_string(), self.written.clone());
        let lengths = &self.lengths;
        let text = format!("{written}{}", self.waiting);
        let mut is_ours = false;
        let edited = self.file.grow(|document| {
            let own =
                own_cell(document, &id, &written, lengths).filter(|(_, below)| below.is_empty());
            is_ours = own.is_some();
            own.map_or(Splice::nothing(), |(own, _)| CellStream::grown(own, &text))
        });
        (edited.is_ok() && is_ours).then_some(())?;
        self.written = text;
        self.lengths.push(self.written.len());
        // On a slow disk, or in a large file, the reply must not wait for itself.
        let next = Instant::now() + PAUSE.max(began.elapsed() * 20);
        self.growth = Growth::Inside { next, typed };
        Some(())
    }

    /// Puts the reply in its final form. When this returns, it survives a power cut.
    ///
    /// `make` gives the cells, the first of which takes the place of the growing one, and a line of
    /// residue if there is any. If the file changed meanwhile, that cell is found by its id, what a
    /// person wrote below its text becomes a cell of its own, and if the text itself was changed or
    /// is gone, the reply is added at the end: nothing that anybody wrote is lost. Behind a reply at the
    /// end of the file, an empty cell is ready for what is said next.
    pub fn finish(
        self,
        make: impl FnMut(&Document, &str) -> (Vec<NewCell>, Option<String>),
    ) -> Result<LockedFile, StoreError> {
        self.finish_behind(|_| None, make)
    }

    /// The same for a reply to the cell that `asked` finds: if the reply's own cell is gone, it is placed there,
    /// and not below what was typed meanwhile.
    pub fn finish_behind(
        mut self,
        asked: impl Fn(&Document) -> Option<usize>,
        mut make: impl FnMut(&Document, &str) -> (Vec<NewCell>, Option<String>),
    ) -> Result<LockedFile, StoreError> {
        if let Growth::End(_) = self.growth {
            self.flush();
        }
        let somebody_writes = match self.growth {
            Growth::End(_) => false,
            Growth::Inside { typed, .. } => typed || self.file.is_changed(),
            Growth::Nowhere => true,
        };
        // While we have the file open for writing ourselves, nobody gets a lease on it.
        self.growth = Growth::Nowhere;
        let (id, written) = (self.stream.id().to_string(), self.written);
        let lengths = self.lengths;
        let mut file = self.file;
        let mut place = |document: &Document| {
            let own = own_cell(document, &id, &written, &lengths);
            let name = own.as_ref().map_or_else(|| document.next_id(), |_| id.clone());
            let (mut cells, residue) = make(document, &name);
            // An answer of calls alone has no cell of that name.
            let first = cells.first().map(|cell| cell.id.clone());
            let splice = match own {
                Some((own, below)) => {
                    keep_what_a_person_gave(&mut cells, own);
                    msgfile::complete_answer(document, own, &cells, &below)
                }
                None => {
                    let asked = asked(document).and_then(|at| document.cells().nth(at));
                    match asked {
                        Some(asked) => msgfile::answer_behind(document, asked, &cells),
                        None => msgfile::append_answer(document, &cells),
                    }
                }
            };
            let Some(line) = residue else { return (splice, first) };
            let bytes = splice.apply(document.source());
            let bytes = document.with_source_within_section(bytes);
            let bytes = msgfile::add_residue(&bytes, &line);
            (Splice::whole(document.source(), bytes), first)
        };
        match put(&mut file, &mut place, somebody_writes) {
            Ok(()) => Ok(file),
            Err((error, name)) => {
                let document = file.document();
                let is_there = name.is_some_and(|name| is_complete(document, &name));
                let splice = if is_there { Splice::nothing() } else { place(document).0 };
                let whole = splice.apply(document.source());
                let whole = document.with_source_within_section(whole);
                let (error, whole) = (Box::new(error), Some(Box::new(whole)));
                let is_begun = !written.trim().is_empty();
                Err(StoreError::Unfinished { error, is_begun, whole })
            }
        }
    }
}

/// Puts the reply into the file. While somebody else writes to it, it also stays there: an editor may save a
/// text that it read before the reply was complete, and would not know what it takes away. An error comes with the
/// name of its first cell, if it was in the file.
fn put(
    file: &mut LockedFile,
    place: &mut dyn FnMut(&Document) -> (Splice, Option<String>),
    somebody_writes: bool,
) -> Result<(), (StoreError, Option<String>)> {
    let mut name: Option<String> = None;
    for _ in 0..MAX_RETURNS {
        let before = name.clone();
        let edited = file.edit(|document| {
            // An editor that took it away may have saved it again meanwhile.
            if before.as_ref().is_some_and(|name| is_complete(document, name)) {
                return Splice::nothing();
            }
            let (splice, first) = place(document);
            name = first;
            splice
        });
        edited.map_err(|error| (error, before))?;
        let Some(known) = name.as_ref().filter(|_| somebody_writes) else { return Ok(()) };
        if stays(file, known).map_err(|error| (error, name.clone()))? {
            return Ok(());
        }
    }
    Err((StoreError::Changing { path: file.path().to_path_buf() }, name))
}

/// Whether a reply is still in the file after a while.
fn stays(file: &mut LockedFile, id: &str) -> Result<bool, StoreError> {
    let until = Instant::now() + LINGER;
    // Read once in any case: what was saved just behind our own save looks like ours from outside.
    file.refresh()?;
    while is_complete(file.document(), id) {
        if Instant::now() >= until {
            return Ok(true);
        }
        std::thread::sleep(LOOK);
        if file.is_changed() {
            file.refresh()?;
        }
    }
    Ok(false)
}

/// Whether the reply of that name is there in its final form.
fn is_complete(document: &Document, id: &str) -> bool {
    let mut named = document.cells().filter(|cell| cell.id() == Some(id));
    named.any(|cell| cell.kind() == CellKind::Output && !cell.is_growing())
}

/// The cell in which the reply grew, and what a person wrote below its text; `None` if the cell is
/// gone or its text is no longer ours.
fn own_cell<'a>(
    document: &'a Document,
    id: &str,
    written: &str,
    lengths: &[usize],
) -> Option<(Cell<'a>, String)> {
    let mut own = document.cells().filter(|cell| cell.id() == Some(id));
    let cell = own.find(|cell| cell.is_growing())?;
    let text = String::from_utf8_lossy(cell.below_meta().of(document.source()));
    // An empty line follows the metadata; an editor may have changed its line end.
    let text = text.strip_prefix("\r\n").or(text.strip_prefix('\n')).unwrap_or(&text);
    // An editor that read the file earlier saves only the beginning of our text.
    let grown = lengths.iter().rev().filter_map(|length| written.get(..*length));
    let mut grown = grown.filter(|grown| !grown.trim().is_empty());
    let below = grown.find_map(|grown| msgfile::typed_behind(text, grown));
    let below = below.or_else(|| msgfile::typed_below(text, written))?;
    Some((cell, below.to_string()))
}

/// The title and the attributes that a person gave to the growing cell stay.
fn keep_what_a_person_gave(cells: &mut [NewCell], own: Cell<'_>) {
    let Some((first, meta)) = cells.first_mut().zip(own.meta()) else { return };
    if first.title.is_empty() {
        first.title = own.title().into_owned();
    }
    for (key, value) in meta.attributes {
        let ours = key == "status" || key == "stored";
        if !ours && first.attributes.iter().all(|(known, _)| *known != key) {
            first.attributes.push((key, value));
        }
    }
}

impl Growth {
    /// How the cell of that name can grow in the file as it is.
    fn of(file: &LockedFile, id: &str, typed: bool) -> Growth {
        let length = file.document().source().len() as u64;
        let mut cells = file.document().cells();
        if cells.next_back().is_none_or(|last| last.id() != Some(id)) {
            let is_there = cells.any(|cell| cell.id() == Some(id));
            let inside = Growth::Inside { next: Instant::now(), typed };
            return if is_there { inside } else { Growth::Nowhere };
        }
        let handle = file.vfs().open(file.path(), Open::Append).ok();
        handle.map_or(Growth::Nowhere, |handle| Growth::End(Growing { handle, length }))
    }
}

impl Growing {
    /// Whether the path still leads to the file that we opened, with nothing in it but our text.
    fn is_untouched(&self, vfs: &dyn Vfs, path: &Path) -> bool {
        let (Ok(ours), Ok(now)) = (self.handle.facts(), vfs.facts(path)) else {
            return false;
        };
        now.length == self.length && now.identity == ours.identity
    }

    /// What a write that failed has written of `text`. The file is cut so that it ends with a whole character:
    /// nobody could write to it any more, and a reader would take it for something else than text.
    fn keep_whole_characters<'t>(&mut self, text: &'t str) -> &'t str {
        let Ok(tail) = self.handle.read_from(self.length) else { return "" };
        // Somebody else has written, too.
        if !text.as_bytes().starts_with(&tail) {
            return "";
        }
        let whole = &text[..text.floor_char_boundary(tail.len())];
        if whole.len() < tail.len() {
            // What cannot be cut off is told by whoever reads the file next.
            let _ = self.handle.truncate(self.length + whole.len() as u64);
        }
        whole
    }
}
