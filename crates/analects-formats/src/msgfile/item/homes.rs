//! What every cell of a document is to the items, and to which cell it belongs. One pass.

use std::collections::{HashMap, HashSet};

use super::check::TEXT;
use crate::msgfile::agents::OUTPUT_WORDS;
use crate::msgfile::is_fixed_word;
use crate::msgfile::show::is_output_of;
use crate::msgfile::{Cell, CellKind, Document, Meta};

/// What a cell is to the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// What a person wrote.
    Prompt,
    /// The definition of an agent.
    Agent,
    /// The empty cell at the end that waits to be typed into.
    Ready,
    /// A call of a tool.
    Call,
    /// The result of a call.
    Result,
    /// What a run of a code cell printed.
    Run,
    /// A reply of an agent.
    Reply,
    /// Any other output.
    Other,
}

/// A cell with its place among the others.
pub(super) struct Placed<'a> {
    pub(super) cell: Cell<'a>,
    pub(super) meta: Meta,
    pub(super) name: String,
    pub(super) role: Role,
    /// The cell that it belongs to directly: a result to its call, a call to its reply.
    pub(super) home: Option<usize>,
    /// The message that it belongs to in the end.
    pub(super) root: Option<usize>,
}

impl Placed<'_> {
    /// The type word of a message, as it counts.
    pub(super) fn message_type(&self) -> String {
        let word = self.meta.type_word.as_deref().unwrap_or("markdown");
        // What only comes back from somebody is nothing that a person writes: then it is text.
        let misplaced = OUTPUT_WORDS.contains(&word) && word != "block";
        if misplaced { "markdown" } else { word }.to_string()
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.meta.get(key)
    }

    pub(super) fn mime_type(&self) -> String {
        self.get("mime_type").unwrap_or(TEXT).to_string()
    }

    /// Whether it keeps a place for an output that has not come yet.
    pub(super) fn is_placeholder(&self) -> bool {
        self.cell.is_placeholder(&self.meta)
    }
}

impl Cell<'_> {
    /// Whether this is an output that has not come yet: it is pending, names the file that it will
    /// be in, and says nothing.
    pub(in crate::msgfile) fn is_placeholder(self, meta: &Meta) -> bool {
        self.kind() == CellKind::Output
            && meta.get("status") == Some("pending")
            && meta.get("output_file").is_some()
            && self.body_of(meta).is_empty()
    }
}

/// The cells of a document, each with its place.
pub(super) fn placed(document: &Document) -> Vec<Placed<'_>> {
    let ready = document.ready_cell().map(Cell::ordinal);
    let mut homes = Homes::new(document);
    for cell in document.cells() {
        homes.add(cell, ready == Some(cell.ordinal()));
    }
    homes.placed
}

/// Where the cell of that name is: the first of that id, else the one at that place.
pub(super) fn find(placed: &[Placed<'_>], name: &str) -> Option<usize> {
    let by_id = placed.iter().position(|placed| placed.cell.id() == Some(name));
    by_id.or_else(|| placed.iter().position(|placed| placed.name == name))
}

struct Homes<'a> {
    placed: Vec<Placed<'a>>,
    ids: HashSet<&'a str>,
    names: HashMap<String, usize>,
    last_message: Option<usize>,
}

impl<'a> Homes<'a> {
    fn new(document: &'a Document) -> Homes<'a> {
        let ids = document.cells().filter_map(Cell::id).collect();
        Homes { placed: Vec::new(), ids, names: HashMap::new(), last_message: None }
    }

    fn add(&mut self, cell: Cell<'a>, is_ready: bool) {
        let at = self.placed.len();
        let meta = cell.meta().unwrap_or_default();
        let name = cell.name().into_owned();
        let role = if is_ready { Role::Ready } else { self.role(cell, &meta, &name) };
        let (home, root) = self.home(role, &meta, &name, at);
        // An id counts before a place, and of two cells with one id the first is meant.
        if cell.id().is_some() || !self.ids.contains(name.as_str()) {
            self.names.entry(name.clone()).or_insert(at);
        }
        // The definition of a tool is nothing that anybody answers.
        if role == Role::Prompt && meta.get("tool").is_none() {
            self.last_message = Some(at);
        }
        self.placed.push(Placed { cell, meta, name, role, home, root });
    }

    fn role(&self, cell: Cell<'_>, meta: &Meta, name: &str) -> Role {
        let word = meta.type_word.as_deref().unwrap_or("markdown");
        if cell.kind() == CellKind::Message {
            return if word == "agent" { Role::Agent } else { Role::Prompt };
        }
        match word {
            "tool" if meta.get("name").is_some() => Role::Call,
            "tool" => Role::Result,
            "markdown" | "code" | "raw" => Role::Reply,
            _ if is_fixed_word(word) => Role::Other,
            _ if is_output_of(name, |code| self.is_code(code)) => Role::Run,
            _ => Role::Reply,
        }
    }

    fn is_code(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|at| {
            let placed = &self.placed[*at];
            placed.role == Role::Prompt && placed.meta.type_word.as_deref() == Some("code")
        })
    }

    fn home(
        &self,
        role: Role,
        meta: &Meta,
        name: &str,
        at: usize,
    ) -> (Option<usize>, Option<usize>) {
        if matches!(role, Role::Prompt | Role::Agent | Role::Ready) {
            return (None, (role == Role::Prompt).then_some(at));
        }
        let named = |key: &str| meta.get(key).and_then(|name| self.names.get(name)).copied();
        let derived = name.rsplit_once('.').and_then(|(parent, _)| self.names.get(parent)).copied();
        if role == Role::Result {
            // A result of no call belongs nowhere, wherever it stands.
            let call = derived.filter(|at| self.placed[*at].role == Role::Call);
            return (call, call.and_then(|at| self.placed[at].root));
        }
        let home = named("part").or(derived).or_else(|| named("parent")).or(self.last_message);
        (home, home.and_then(|at| self.placed[at].root))
    }
}
