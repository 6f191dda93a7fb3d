//! Cells in, messages out. One pass over the cells assembles the messages; [`MessageReader::finish`] completes them
//! with their details and with what else is known about them.

mod bodies;
mod order;
mod parts;

use std::borrow::Cow;
use std::collections::HashMap;

use analects_core::{
    Body, History, LineIndex, Message, MessageId, Problem, Raw, Revision, SessionId, Severity,
    StateChange,
};

use super::MessageIds;
use super::blocks::CallIds;
use super::details::MessageDetails;
use super::known::{KnownMessages, in_place_of, is_same_type, may_be_known};
use super::partial::{CellView, PartialMessage, assemble};
use crate::DecodedFile;
use crate::msgfile::{Cell, CellRole, Document, MetaKey};
use order::ChainEnds;

/// The messages of a document. Each follows the one before it in its chain, unless `parent=` names another.
/// `session` names the conversation if the frontmatter does not.
pub fn messages(document: &Document, session: &SessionId) -> DecodedFile {
    read_cells(document, session, document.cells())
}

/// The messages of some cells of a document, as if there were no others.
pub(super) fn read_cells<'a>(
    document: &'a Document,
    session: &SessionId,
    cells: impl Iterator<Item = Cell<'a>>,
) -> DecodedFile {
    reader_of(document, session, cells).finish(None)
}

/// A reader that has read these cells.
pub(super) fn reader_of<'a>(
    document: &'a Document,
    session: &SessionId,
    cells: impl Iterator<Item = Cell<'a>>,
) -> MessageReader<'a> {
    let own_id = document.frontmatter().id.clone();
    let session = own_id.map_or(session.clone(), SessionId::from);
    let mut reader = MessageReader::new(document, session, cells.size_hint().0);
    reader.read(cells);
    reader
}

/// What comes before some cells in their file, as far as reading them by themselves needs it.
pub(super) struct PrecedingMessages<'b> {
    /// A side chain, or the main one, and its last message.
    pub(super) last: Option<(Option<String>, &'b MessageId)>,
    /// Names of cells, each with the message that it belongs to.
    pub(super) owners: Vec<(&'b str, MessageId)>,
    /// Names of cells that hold calls, each with the id that the provider gave the call.
    pub(super) calls: Vec<(String, String)>,
}

/// The messages of a document whose cells come after others.
pub(super) fn messages_after(
    document: &Document,
    session: &SessionId,
    preceding: PrecedingMessages<'_>,
) -> Vec<Message> {
    let Some(first) = document.cells().next() else {
        return Vec::new();
    };
    let mut reader = MessageReader::new(document, session.clone(), document.cells().len());
    reader.assume(preceding, &CellView::new(first));
    let assumed = reader.messages.len();
    reader.read(document.cells());
    reader.finish(None).messages.split_off(assumed)
}

/// Assembles messages from cells, in the order of the file.
pub(super) struct MessageReader<'a> {
    lines: LineIndex<'a>,
    session: SessionId,
    ids: MessageIds,
    pub(super) messages: Vec<PartialMessage<'a>>,
    /// For each message, the one that it follows, if that is in the file.
    parents: Vec<Option<usize>>,
    /// The message that each cell belongs to, by the cell's name.
    pub(super) owners: HashMap<Cow<'a, str>, usize>,
    chain_ends: ChainEnds,
    pub(super) calls: CallIds,
    /// The cells that come before the head that they are parts of, and where that is.
    leading: &'a HashMap<usize, usize>,
    /// Messages whose parts came before their heads, by the index of the head's cell.
    begun: HashMap<usize, usize>,
    /// The last message whose parts name a head that does not exist, and that name.
    without_head: Option<(String, usize)>,
    /// The calls that are hidden one by one.
    pub(super) hidden_calls: Vec<HiddenCall<'a>>,
    /// The model of each agent, for answers that name none.
    pub(super) models: HashMap<String, String>,
    details: MessageDetails,
    problems: Vec<Problem>,
}

/// A call that is hidden while the rest of its message is not.
pub(super) struct HiddenCall<'a> {
    /// The message that makes the call.
    owner: usize,
    /// The id that the provider gave the call.
    call: String,
    pub(super) cell: Cell<'a>,
}

impl<'a> MessageReader<'a> {
    /// A reader with room for this many cells.
    pub(super) fn new(
        document: &'a Document,
        session: SessionId,
        cells: usize,
    ) -> MessageReader<'a> {
        let mut problems = Vec::new();
        let details = MessageDetails::read(document, &mut problems);
        MessageReader {
            lines: document.lines(),
            ids: MessageIds::of(&session),
            session,
            messages: Vec::with_capacity(cells),
            parents: Vec::with_capacity(cells),
            owners: HashMap::with_capacity(cells),
            chain_ends: ChainEnds::default(),
            calls: CallIds::default(),
            leading: document.leading_parts(),
            begun: HashMap::new(),
            without_head: None,
            hidden_calls: Vec::new(),
            models: document.implied_models(),
            details,
            problems,
        }
    }

    /// Adds stand-ins for the messages before the cells that will be read.
    fn assume(&mut self, preceding: PrecedingMessages<'_>, first: &CellView<'a>) {
        for (name, id) in preceding.owners {
            let name = Cow::Owned(name.to_string());
            self.owners.insert(name, self.messages.len());
            self.add_stand_in(id, first);
        }
        if let Some((chain, id)) = preceding.last {
            self.chain_ends.set(chain.as_ref(), self.messages.len());
            self.add_stand_in(id.clone(), first);
        }
        for (cell, id) in preceding.calls {
            self.calls.add(cell, id);
        }
    }

    /// Adds a message that is nothing but an id for others to follow.
    fn add_stand_in(&mut self, id: MessageId, view: &CellView<'a>) {
        let message = Message::new(id, no_change().into());
        self.parents.push(None);
        self.messages.push(PartialMessage::complete(message, view));
    }

    /// Reads the messages of some cells, in their order.
    pub(super) fn read(&mut self, cells: impl Iterator<Item = Cell<'a>>) {
        for cell in cells {
            self.read_cell(CellView::new(cell));
        }
    }

    fn read_cell(&mut self, view: CellView<'a>) {
        if matches!(view.role(), CellRole::AgentDefinition | CellRole::Details) {
            return;
        }
        if view.cell.is_misplaced() || view.role() == CellRole::UserBlock {
            self.report_misplaced_type(&view);
        }
        if view.cell.is_placeholder() {
            // It is not an answer yet, and no empty one may be sent in its place.
            return self.report_pending_output(&view);
        }
        if view.cell.is_rewind_mark() {
            return self.read_rewind_mark(&view);
        }
        if view.cell.is_elsewhere() {
            self.report_output_elsewhere(&view);
        }
        match self.owner_of(&view) {
            Some(owner) => self.add_part(&view, owner),
            None => self.begin_message(&view),
        }
    }

    /// Begins a message with its first cell, which may be a part that comes before the head.
    fn begin_message(&mut self, view: &CellView<'a>) {
        let head_below = self.head_below(view);
        let head = head_below.as_ref().unwrap_or(view);
        let Some(mut partial) = self.read_first_cell(view, head) else {
            return;
        };
        let message = self.messages.len();
        if let Some(head) = &head_below {
            partial.parts.push(view.cell);
            self.begun.insert(head.cell.at, message);
            self.owners.entry(view.name.clone()).or_insert(message);
        } else if let Some(missing) = view.whole_id() {
            self.without_head = Some((missing.to_string(), message));
        }
        self.add_message(head, partial);
    }

    fn report(&mut self, view: &CellView<'_>, problem: Problem) {
        let problem = problem.at(view.cell.head(), &self.lines);
        self.problems.push(problem);
    }

    fn report_misplaced_type(&mut self, view: &CellView<'_>) {
        let word = view.cell.type_word();
        let (text, hint) = if view.role() == CellRole::UserBlock {
            let text = format!("[{word}] is for outputs, and this is a cell of a person");
            (
                text,
                "write # %%% and part=\"…\" with the name of the cell that it belongs to",
            )
        } else {
            let text = format!("[{word}] means nothing on a # %% cell");
            (
                text,
                "it is read as what a person wrote; an output starts with # %%%",
            )
        };
        self.report(view, Problem::warning("misplaced-type", text).hint(hint));
    }

    fn report_output_elsewhere(&mut self, view: &CellView<'_>) {
        let file = view.get(MetaKey::OutputFile).unwrap_or_default();
        let text = format!("this output is in the file {file}, which is not read here");
        let problem = Problem::warning("unread-output", text);
        self.report(
            view,
            problem.hint("write the output into the cell to keep it"),
        );
    }

    fn report_pending_output(&mut self, view: &CellView<'_>) {
        let file = view.get(MetaKey::OutputFile).unwrap_or_default();
        let text = format!("this output is still pending; it will be in {file}");
        let problem = Problem::warning("pending-output", text);
        let problem = problem.hint("until then nothing is sent in its place");
        self.report(view, problem.with(Severity::Hint));
    }

    /// The messages that the cells at some places belong to. A state change says nothing, so it owns no cell.
    pub(super) fn messages_of(&self, places: &[usize]) -> Vec<Option<MessageId>> {
        let mut owners: HashMap<usize, Option<&PartialMessage<'a>>> =
            places.iter().map(|place| (*place, None)).collect();
        for partial in &self.messages {
            for cell in partial.cells() {
                // The boundary of a summary has no cell of its own.
                if let Some(owner) = owners.get_mut(&cell.at) {
                    owner.get_or_insert(partial);
                }
            }
        }
        let mut messages = Vec::with_capacity(places.len());
        for place in places {
            let owner = owners.get(place).copied().flatten();
            let owner = owner.filter(|owner| !matches!(owner.message.body, Body::State(_)));
            messages.push(owner.map(|owner| owner.message.id.clone()));
        }
        messages
    }

    /// The messages, each completed with its details and with its full form if `known` has it.
    pub(super) fn finish(self, known: Option<&dyn KnownMessages>) -> DecodedFile {
        let known = known.filter(|known| !known.is_empty());
        let revisions = self.revisions();
        let mut completion = Completion {
            lines: self.lines,
            details: self.details,
            known,
            problems: self.problems,
        };
        let mut messages = Vec::with_capacity(self.messages.len());
        for partial in self.messages {
            messages.push(completion.complete(partial));
        }
        messages.extend(revisions);
        DecodedFile {
            messages,
            problems: completion.problems,
        }
    }

    /// One revision for each call that is hidden by itself, as sessions have them.
    fn revisions(&self) -> Vec<Message> {
        let mut revisions = Vec::new();
        for hidden in &self.hidden_calls {
            let message = &self.messages[hidden.owner].message;
            let revision = Revision {
                target: message.id.clone(),
                call: Some(hidden.call.clone()),
                content: None,
                history: Some(History::Exclude),
            };
            let name = format!("{}#{}", message.id, hidden.call);
            let mut record = Message::new(self.ids.derived_id(&name), Body::Revision(revision));
            record.session_id = message.session_id.clone();
            record.agent_id.clone_from(&message.agent_id);
            revisions.push(record);
        }
        revisions
    }
}

/// What [`MessageReader::finish`] completes messages with.
struct Completion<'a, 'k> {
    lines: LineIndex<'a>,
    details: MessageDetails,
    known: Option<&'k dyn KnownMessages>,
    problems: Vec<Problem>,
}

impl Completion<'_, '_> {
    fn complete(&mut self, mut partial: PartialMessage<'_>) -> Message {
        if !partial.is_assembled {
            return partial.message;
        }
        let name = std::mem::take(&mut partial.name);
        let cell = partial.cell;
        let known = self.known_form(&partial);
        let mut message = assemble(partial);
        if let Some(problem) = self.details.apply(&name, &mut message) {
            self.problems.push(problem.at(cell.head(), &self.lines));
        }
        match known {
            Some(known) if is_same_type(&known, &message) => in_place_of(&message, known),
            _ => message,
        }
    }

    /// The full form of a message, found by the hash of its cells.
    fn known_form(&self, partial: &PartialMessage<'_>) -> Option<Message> {
        if !may_be_known(&partial.message) {
            return None;
        }
        self.known?.get(partial.hash())
    }
}

/// A state change that changes nothing: it stands for a message without words.
fn no_change() -> StateChange {
    StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    }
}
