//! Cells in, messages out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use analects_core::{
    Assistant, Attachment, AttachmentKind, Block, Body, CompactBoundary, CompactTrigger, Content,
    History, Json, LineIndex, Message, MessageId, Notification, Other, Problem, Progress, Raw,
    Revision, SessionId, Severity, StateChange, Summary, System, Text, Tombstone, User, UserSource,
};

use super::blocks::{self, CallIds};
use super::cells::path_data;
use super::details::MessageDetails;
use super::known::{KnownMessages, in_place_of, is_same_type, may_be_known};
use super::partial::{CellView, ContentShape, PartialMessage, close, read_shared};
use super::{MessageIds, images};
use crate::DecodedFile;
use crate::msgfile::{Cell, CellRole, Document, MetaKey};

/// The messages of a document: each follows the one before it in its chain, unless `parent=` says
/// otherwise. `session` names the conversation if the frontmatter does not.
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

pub(super) fn reader_of<'a>(
    document: &'a Document,
    session: &SessionId,
    cells: impl Iterator<Item = Cell<'a>>,
) -> MessageReader<'a> {
    let session = document
        .frontmatter()
        .id
        .clone()
        .map_or(session.clone(), SessionId::from);
    let mut reader = MessageReader::new(document, session, cells.size_hint().0);
    reader.read(cells);
    reader
}

/// What cells that are read by themselves can know of those before them in their file.
pub(super) struct PrecedingMessages<'b> {
    /// The last message of a chain.
    pub(super) last: Option<(Option<String>, &'b MessageId)>,
    /// Cells, and the messages that they belong to.
    pub(super) owners: Vec<(&'b str, MessageId)>,
    /// The cells of calls, and the calls' own ids.
    pub(super) calls: Vec<(String, String)>,
}

/// The messages of cells that stand behind others.
pub(super) fn messages_behind(
    document: &Document,
    session: &SessionId,
    before: PrecedingMessages<'_>,
) -> Vec<Message> {
    let Some(first) = document.cells().next() else {
        return Vec::new();
    };
    let mut reader = MessageReader::new(document, session.clone(), document.cells().len());
    let first = CellView::new(first);
    for (name, id) in before.owners {
        reader
            .owners
            .insert(Cow::Owned(name.to_string()), reader.messages.len());
        reader.stand_in(id, &first);
    }
    if let Some((chain, id)) = before.last {
        reader.last.set(chain.as_ref(), reader.messages.len());
        reader.stand_in(id.clone(), &first);
    }
    for (cell, id) in before.calls {
        reader.calls.add(cell, id);
    }
    let known = reader.messages.len();
    reader.read(document.cells());
    reader.finish(None).messages.split_off(known)
}

pub(super) struct MessageReader<'a> {
    lines: LineIndex<'a>,
    session: SessionId,
    names: MessageIds,
    pub(super) messages: Vec<PartialMessage<'a>>,
    /// The message that each follows, where that is in the file.
    parents: Vec<Option<usize>>,
    /// Which message a cell belongs to.
    pub(super) owners: HashMap<Cow<'a, str>, usize>,
    last: ChainEnds,
    pub(super) calls: CallIds,
    /// The cells that stand before the one whose parts they are, and where that is.
    leading: &'a HashMap<usize, usize>,
    /// The messages whose parts stand before the cell at this place, which belongs to them.
    begun: HashMap<usize, usize>,
    /// The last message whose parts name a cell that is not there, and that name.
    without_whole: Option<(String, usize)>,
    /// The calls that are hidden for themselves.
    pub(super) hidden_calls: Vec<HiddenCall<'a>>,
    /// The models of answers that name none, by their agents.
    pub(super) models: HashMap<String, String>,
    details: MessageDetails,
    problems: Vec<Problem>,
}

/// A call that is hidden for itself.
pub(super) struct HiddenCall<'a> {
    owner: usize,
    call: String,
    pub(super) cell: Cell<'a>,
}

/// Whom a message follows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ParentRef {
    Nobody,
    /// The message at this place.
    Message(usize),
    /// A message that is not in the file.
    Elsewhere(MessageId),
}

impl ParentRef {
    fn of(place: Option<usize>) -> ParentRef {
        place.map_or(ParentRef::Nobody, ParentRef::Message)
    }

    fn place(&self) -> Option<usize> {
        match self {
            ParentRef::Message(place) => Some(*place),
            ParentRef::Nobody | ParentRef::Elsewhere(_) => None,
        }
    }
}

/// A message that says nothing in its cell.
fn bare<'a>(message: Message, read: &CellView<'a>) -> PartialMessage<'a> {
    let (name, cell) = (read.name.clone(), read.cell);
    PartialMessage {
        message,
        name,
        cell,
        parts: Vec::new(),
        blocks: Vec::new(),
        shape: None,
        open: false,
    }
}

/// The last message of each chain.
#[derive(Debug, Default)]
struct ChainEnds {
    main: Option<usize>,
    sides: HashMap<String, usize>,
}

impl ChainEnds {
    fn of(&self, chain: Option<&String>) -> Option<usize> {
        chain.map_or(self.main, |chain| self.sides.get(chain).copied())
    }

    fn set(&mut self, chain: Option<&String>, message: usize) {
        match chain {
            None => self.main = Some(message),
            Some(chain) => _ = self.sides.insert(chain.clone(), message),
        }
    }
}

impl<'a> MessageReader<'a> {
    /// A reader of so many cells or more.
    pub(super) fn new(
        document: &'a Document,
        session: SessionId,
        cells: usize,
    ) -> MessageReader<'a> {
        let mut problems = Vec::new();
        let details = MessageDetails::read(document, &mut problems);
        MessageReader {
            lines: document.lines(),
            names: MessageIds::of(&session),
            session,
            messages: Vec::with_capacity(cells),
            parents: Vec::with_capacity(cells),
            owners: HashMap::with_capacity(cells),
            last: ChainEnds::default(),
            calls: CallIds::default(),
            leading: document.leading_parts(),
            begun: HashMap::new(),
            without_whole: None,
            hidden_calls: Vec::new(),
            models: document.implied_models(),
            details,
            problems,
        }
    }

    /// Lets nothing but a name stand for a message that others can follow.
    fn stand_in(&mut self, id: MessageId, read: &CellView<'a>) {
        let nothing = StateChange {
            changes: Raw::empty_object(),
            is_snapshot: false,
        };
        self.parents.push(None);
        self.messages
            .push(bare(Message::new(id, nothing.into()), read));
    }

    /// Reads the messages of some cells, in their order.
    pub(super) fn read(&mut self, cells: impl Iterator<Item = Cell<'a>>) {
        for cell in cells {
            self.cell(CellView::new(cell));
        }
    }

    /// The messages that the cells at some places are cells of. A record that says nothing is nobody's.
    pub(super) fn messages_of(&self, places: &[usize]) -> Vec<Option<MessageId>> {
        let mut owners: HashMap<usize, Option<&PartialMessage<'a>>> =
            places.iter().map(|place| (*place, None)).collect();
        for draft in &self.messages {
            for cell in draft.parts.iter().chain([&draft.cell]) {
                // The boundary of a summary has no cell of its own.
                if let Some(owner) = owners.get_mut(&cell.at) {
                    owner.get_or_insert(draft);
                }
            }
        }
        let owner = |place: &usize| {
            let draft = owners.get(place).copied().flatten()?;
            let is_said = !matches!(draft.message.body, Body::State(_));
            is_said.then(|| draft.message.id.clone())
        };
        places.iter().map(owner).collect()
    }

    fn report(&mut self, read: &CellView<'_>, problem: Problem) {
        self.problems
            .push(problem.at(read.cell.head(), &self.lines));
    }

    fn cell(&mut self, read: CellView<'a>) {
        if matches!(read.role(), CellRole::AgentDefinition | CellRole::Details) {
            return;
        }
        if read.cell.is_misplaced() {
            let text = format!("[{}] means nothing on a # %% cell", read.cell.type_word());
            let problem = Problem::warning("misplaced-type", text);
            self.report(&read, problem.hint("it is read as what a person wrote"));
        }
        if read.cell.is_placeholder() {
            // Not an answer yet: an empty one must not be sent in its place.
            let file = read.get(MetaKey::OutputFile).unwrap_or_default();
            let text = format!("this output is still pending; it will be in {file}");
            let problem = Problem::warning("pending-output", text);
            let problem = problem.hint("until then nothing is sent in its place");
            return self.report(&read, problem.with(Severity::Hint));
        }
        if read.cell.is_rewind_mark() {
            return self.mark(&read);
        }
        if let Some(owner) = self.owner(&read) {
            return self.part(&read, owner);
        }
        let whole = self.whole_below(&read);
        let head = whole.as_ref().unwrap_or(&read);
        let Some(mut draft) = self.first(&read, head) else {
            return;
        };
        if let Some(whole) = &whole {
            draft.parts.push(read.cell);
            self.begun.insert(whole.cell.at, self.messages.len());
            self.owners
                .entry(read.name.clone())
                .or_insert(self.messages.len());
        } else if let Some(whole) = read.whole_id() {
            self.without_whole = Some((whole.to_string(), self.messages.len()));
        }
        self.place(head, draft);
    }

    /// The cell below that says the answer of which this is the first part.
    fn whole_below(&self, read: &CellView<'a>) -> Option<CellView<'a>> {
        let at = *self.leading.get(&read.cell.at)?;
        let whole = CellView::new(read.cell.document.cell_at(at)?);
        let own = read.cell.history().unwrap_or_default();
        let is_apart = own != History::Include && own != whole.cell.history().unwrap_or_default();
        (!is_apart && !whole.cell.is_placeholder()).then_some(whole)
    }

    /// The message that a cell is a further part of.
    fn owner(&mut self, read: &CellView<'_>) -> Option<usize> {
        let Some(part) = read.cell.part() else {
            let begun = self.begun.get(&read.cell.at).copied();
            return begun.or_else(|| self.implied_owner(read));
        };
        let owner = self.owners.get(part).copied();
        let fits = |owner: &usize| self.messages[*owner].takes(read);
        let found = owner.filter(fits);
        if found.is_none() {
            let text = match owner {
                Some(_) => {
                    format!("cell {part} is of another side, and this cannot be a part of it")
                }
                None => format!("there is no earlier cell {part} that this could be a part of"),
            };
            let problem = Problem::error("wrong-part", text);
            self.report(
                read,
                problem.hint("the cell is read as a message of its own"),
            );
        }
        found.filter(|owner| !self.is_apart(read, *owner))
    }

    /// A call, or another part, belongs to the reply whose id it extends; an output to the execution's first.
    fn implied_owner(&self, read: &CellView<'_>) -> Option<usize> {
        if let Some(whole) = read.whole_id() {
            let owner = self
                .owners
                .get(whole)
                .or_else(|| self.last_without_whole(whole))?;
            let fits = self.messages[*owner].takes(read) && !self.is_apart(read, *owner);
            return fits.then_some(*owner);
        }
        let execution = read.name.rsplit_once('-').map(|(first, _)| first)?;
        let is_output = read.role() == CellRole::CodeOutput;
        is_output
            .then(|| self.owners.get(execution).copied())
            .flatten()
    }

    /// The last message, if its cells are parts of a cell of this name, which is missing.
    fn last_without_whole(&self, whole: &str) -> Option<&usize> {
        let (name, owner) = self.without_whole.as_ref()?;
        (name == whole && owner + 1 == self.messages.len()).then_some(owner)
    }

    /// Whether a cell is hidden while its message is not: then it is a message of its own. A call stays in its message,
    /// and a revision says that it is hidden.
    fn is_apart(&self, read: &CellView<'_>, owner: usize) -> bool {
        let own = read.cell.history().unwrap_or_default();
        read.role() != CellRole::ToolCall
            && own != History::Include
            && own != self.messages[owner].message.history
    }

    fn part(&mut self, read: &CellView<'a>, owner: usize) {
        let is_whole = self.messages[owner].cell.at == read.cell.at;
        let is_silent =
            read.text.is_empty() && self.messages[owner].shape != Some(ContentShape::Blocks);
        if !is_whole || !is_silent {
            let block = self.block(read);
            self.note_hidden_call(read, owner, &block);
            self.messages[owner].blocks.push(block);
        }
        if !is_whole {
            self.messages[owner].parts.push(read.cell);
            self.owners.insert(read.name.clone(), owner);
        }
    }

    /// Notes a call that is hidden for itself.
    fn note_hidden_call(&mut self, read: &CellView<'a>, owner: usize, block: &Block) {
        let Block::ToolUse(call) = block else { return };
        if read.cell.history() == Some(History::Exclude) {
            self.hidden_calls.push(HiddenCall {
                owner,
                call: call.id.clone(),
                cell: read.cell,
            });
        }
    }

    fn block(&mut self, read: &CellView<'_>) -> Block {
        let (block, problem) = blocks::read(read, &mut self.calls);
        if let Some(problem) = problem {
            self.report(read, problem);
        }
        block
    }

    /// The message that a cell starts, of which `head` tells the rest; `None` for a cell that says nothing.
    fn first(&mut self, read: &CellView<'a>, head: &CellView<'a>) -> Option<PartialMessage<'a>> {
        if read.get(MetaKey::Json) == Some("message") {
            return Some(self.whole(read));
        }
        let is_silent = read.text.is_empty() && read.get(MetaKey::Content).is_none();
        if !read.is_output() && is_silent && read.role() != CellRole::Raw {
            return None;
        }
        let body = self.body(head);
        let mut message = Message::new("", body);
        read_shared(head, &mut message);
        if matches!(message.body, Body::Assistant(_)) && message.model.is_none() {
            let author = message.author.as_ref();
            message.model = author.and_then(|author| self.models.get(author)).cloned();
        }
        if matches!(message.body, Body::Attachment(_)) {
            message.author = read.get(MetaKey::Author).map(str::to_string);
        }
        // An answer of calls alone is hidden if all of them are.
        let is_call = head.role() == CellRole::ToolCall;
        if is_call && message.history == History::Exclude {
            message.history = History::Include;
        }
        let mut draft = PartialMessage {
            message,
            name: head.name.clone(),
            cell: head.cell,
            parts: Vec::new(),
            blocks: Vec::new(),
            shape: head.get(MetaKey::Content).map(ContentShape::of),
            open: true,
        };
        let is_alone = read.cell.at == head.cell.at;
        let says_nothing =
            is_alone && read.text.is_empty() && draft.shape != Some(ContentShape::Blocks);
        if !has_content(read.role(), says_nothing) {
            return Some(draft);
        }
        if let Some(blocks) = images::split(read).filter(|_| draft.shape.is_none()) {
            draft.blocks = blocks;
        } else {
            // Mostly it stays the only one, and a list that grows would keep room for more.
            draft.blocks = vec![self.block(read)];
        }
        Some(draft)
    }

    /// A message that stands in its cell whole, as JSON. What cannot be read keeps its place.
    fn whole(&mut self, read: &CellView<'a>) -> PartialMessage<'a> {
        let json = blocks::fenced_json(&read.text).unwrap_or_default();
        let (message, open) = match Message::from_json(&json) {
            Ok(message) => (message, false),
            Err(error) => {
                let text = format!("the JSON of this cell is no message: {error}");
                self.report(read, Problem::error("bad-json", text));
                let mut message = Message::new("", Body::Other(Other::default()));
                message.unknown.push("content", Raw::string(&read.text));
                (message, true)
            }
        };
        let (name, cell) = (read.name.clone(), read.cell);
        PartialMessage {
            message,
            name,
            cell,
            parts: Vec::new(),
            blocks: Vec::new(),
            shape: None,
            open,
        }
    }

    fn body(&mut self, read: &CellView<'a>) -> Body {
        let id = |key| read.get(key).map(|name| self.message_named(name));
        let number = |key| read.get(key).and_then(|value| value.parse().ok());
        let source = read.get(MetaKey::Source).map(UserSource::from);
        match read.role() {
            CellRole::Code => {
                let source = source.or(Some(UserSource::Code));
                Body::User(User {
                    source,
                    ..User::default()
                })
            }
            CellRole::User | CellRole::Raw | CellRole::UserBlock | CellRole::AgentDefinition => {
                Body::User(User {
                    source,
                    ..User::default()
                })
            }
            CellRole::ToolResult => Body::User(User::default()),
            CellRole::CodeOutput => attachment(AttachmentKind::CodeOutput, None),
            CellRole::System => Body::System(System::default()),
            CellRole::Summary => Body::Summary(Summary {
                text: Text::from(&*read.text),
                from: id(MetaKey::From),
                to: id(MetaKey::To),
                count: number(MetaKey::Count),
            }),
            CellRole::CompactBoundary => Body::CompactBoundary(CompactBoundary {
                trigger: read.get(MetaKey::Trigger).map(CompactTrigger::from),
                tokens_before: number(MetaKey::TokensBefore),
                tokens_after: number(MetaKey::TokensAfter),
                summary_id: id(MetaKey::SummaryId),
                kept_from: id(MetaKey::KeptFrom),
            }),
            CellRole::Attachment => {
                let kind = AttachmentKind::from(read.get(MetaKey::Kind).unwrap_or_default());
                attachment(kind, read.get(MetaKey::Path).map(path_data))
            }
            CellRole::Notification => Body::Notification(Notification {
                kind: read.get(MetaKey::Kind).unwrap_or_default().to_string(),
                ..Notification::default()
            }),
            CellRole::Progress => Body::Progress(Progress {
                content: Some(Raw::string(&read.text)),
                ..Progress::default()
            }),
            CellRole::Tombstone => Body::Tombstone(Tombstone {
                target: id(MetaKey::Target).unwrap_or_default(),
                target_parent: id(MetaKey::TargetParent),
            }),
            CellRole::Reply
            | CellRole::Thinking
            | CellRole::ToolCall
            | CellRole::Block
            | CellRole::Details => Body::Assistant(Assistant::default()),
        }
    }

    /// The message that an attribute names: by a cell of this file, or by the id of a message, which may have
    /// come from elsewhere.
    fn message_named(&self, name: &str) -> MessageId {
        let owner = self
            .owners
            .get(name)
            .map(|owner| &self.messages[*owner].message.id);
        owner.cloned().unwrap_or_else(|| MessageId::from(name))
    }

    /// Gives a message its names and its place in its chain.
    fn place(&mut self, read: &CellView<'a>, mut draft: PartialMessage<'a>) {
        let follows = self.follows(read, &draft);
        let at = self.messages.len();
        // Of two cells with one id, the first is the one that others mean.
        let is_first = match self.owners.entry(read.name.clone()) {
            Entry::Vacant(entry) => *entry.insert(at) == at,
            Entry::Occupied(_) => false,
        };
        if draft.open {
            let session = read.get(MetaKey::SessionId).map(SessionId::from);
            let id = read.get(MetaKey::Uuid).map(MessageId::from);
            draft.message.session_id = session.unwrap_or_else(|| self.session.clone());
            draft.message.id = id.unwrap_or_else(|| self.derived_id(read, is_first));
            draft.message.parent_id = match &follows {
                ParentRef::Nobody => None,
                ParentRef::Message(parent) => Some(self.messages[*parent].message.id.clone()),
                ParentRef::Elsewhere(parent) => Some(parent.clone()),
            };
        }
        let through = read.cell.through().filter(|_| draft.open);
        let first_call = draft
            .blocks
            .first()
            .filter(|_| draft.cell.role() == CellRole::ToolCall);
        let first_call = first_call.cloned();
        self.push(draft, follows.place());
        if let Some(call) = first_call {
            self.note_hidden_call(read, at, &call);
        }
        if let Some(through) = through {
            self.boundary(read, at, through, is_first);
        }
    }

    fn push(&mut self, draft: PartialMessage<'a>, parent: Option<usize>) {
        if !matches!(draft.message.body, Body::Progress(_)) {
            self.last
                .set(draft.message.agent_id.as_ref(), self.messages.len());
        }
        self.parents.push(parent);
        self.messages.push(draft);
    }

    /// The boundary of a summary that stands for what comes before it, up to a cell. It has no cell of its own, and
    /// whoever follows the summary follows it.
    fn boundary(&mut self, read: &CellView<'a>, summary: usize, through: &str, is_first: bool) {
        let Some(kept_from) = self.first_behind(through, summary) else {
            let text = format!("no cell {through} comes before this summary on its branch");
            let problem = Problem::error("unknown-through", text);
            self.report(
                read,
                problem.hint("the summary is ignored, and everything is seen"),
            );
            self.messages[summary].message.history = History::Exclude;
            return;
        };
        let stands = &self.messages[summary].message;
        let body = CompactBoundary {
            summary_id: Some(stands.id.clone()),
            kept_from: kept_from.map(|at| self.messages[at].message.id.clone()),
            ..CompactBoundary::default()
        };
        let id = self.names.derived_id(&format!("{}#boundary", stands.id));
        let message = Message {
            parent_id: Some(stands.id.clone()),
            session_id: stands.session_id.clone(),
            agent_id: stands.agent_id.clone(),
            created_at: stands.created_at,
            ..Message::new(id, Body::CompactBoundary(body))
        };
        if is_first {
            self.owners.insert(read.name.clone(), self.messages.len());
        }
        self.push(bare(message, read), Some(summary));
    }

    /// The message behind that of a cell on the way to the summary at this place: inside `None` if that is the summary
    /// itself. `None` if the cell is not on the way.
    fn first_behind(&self, cell: &str, summary: usize) -> Option<Option<usize>> {
        let wanted = *self.owners.get(cell)?;
        let mut behind = summary;
        while let Some(parent) = self.parents[behind] {
            if parent == wanted {
                return Some((behind != summary).then_some(behind));
            }
            behind = parent;
        }
        None
    }

    /// An empty cell that says whom the next message follows: a record without words, as sessions have it.
    fn mark(&mut self, read: &CellView<'a>) {
        let nothing = || StateChange {
            changes: Raw::empty_object(),
            is_snapshot: false,
        };
        let mut message = Message::new(self.derived_id(read, true), nothing().into());
        message.session_id = self.session.clone();
        let follows = self.parent(read, None);
        if let Some(parent) = follows.place() {
            message.parent_id = Some(self.messages[parent].message.id.clone());
        } else {
            // What follows nobody on purpose follows a record that does.
            let mut start = message.clone();
            start.id = self.names.derived_id(&format!("{}#start", message.id));
            message.parent_id = Some(start.id.clone());
            self.push(bare(start, read), None);
        }
        let parent = follows.place().or(self.messages.len().checked_sub(1));
        self.owners
            .entry(read.name.clone())
            .or_insert(self.messages.len());
        self.push(bare(message, read), parent);
    }

    /// The name of a message whose cell gives it none. A cell without id, and a second cell of the
    /// same id, are told apart by their place.
    fn derived_id(&self, read: &CellView<'_>, is_first: bool) -> MessageId {
        match read.cell.id() {
            Some(id) if is_first => self.names.derived_id(id),
            id => {
                let name = format!("{}#{}", id.unwrap_or_default(), read.cell.ordinal());
                self.names.derived_id(&name)
            }
        }
    }

    /// Whom a message follows. One that is JSON says it itself.
    fn follows(&mut self, read: &CellView<'_>, draft: &PartialMessage<'_>) -> ParentRef {
        let chain = draft.message.agent_id.as_ref();
        if draft.open {
            return self.parent(read, chain);
        }
        let last = self.last.of(chain);
        let id = last.map(|last| &self.messages[last].message.id);
        if id.is_some() && id == draft.message.parent_id.as_ref() {
            return ParentRef::of(last);
        }
        ParentRef::Nobody
    }

    fn parent(&mut self, read: &CellView<'_>, chain: Option<&String>) -> ParentRef {
        let usual = ParentRef::of(self.last.of(chain));
        match read.cell.parent() {
            None => usual,
            Some("") => ParentRef::Nobody,
            Some(parent) => match self.owners.get(parent) {
                Some(owner) => ParentRef::Message(*owner),
                // What came from elsewhere may well have a parent that is not here.
                None if read.get(MetaKey::Uuid).is_some() => ParentRef::Elsewhere(parent.into()),
                None => {
                    let text =
                        format!("there is no earlier cell {parent} that could be the parent");
                    let problem = Problem::error("unknown-parent-cell", text)
                        .hint("the cell is read as if it followed the one before it");
                    self.report(read, problem);
                    usual
                }
            },
        }
    }

    /// The messages, each with what is known of it.
    pub(super) fn finish(self, known: Option<&dyn KnownMessages>) -> DecodedFile {
        let known = known.filter(|known| !known.is_empty());
        let revisions = self.revisions();
        let MessageReader {
            messages: drafts,
            lines,
            mut details,
            mut problems,
            ..
        } = self;
        let mut messages = Vec::with_capacity(drafts.len());
        for mut draft in drafts {
            if !draft.open {
                messages.push(draft.message);
                continue;
            }
            let name = std::mem::take(&mut draft.name);
            let cell = draft.cell;
            let known = known.filter(|_| may_be_known(&draft.message));
            let known = known.and_then(|known| known.get(draft.hash()));
            let mut message = close(draft);
            if let Some(problem) = details.apply(&name, &mut message) {
                problems.push(problem.at(cell.head(), &lines));
            }
            if let Some(known) = known.filter(|known| is_same_type(known, &message)) {
                message = in_place_of(&message, known);
            }
            messages.push(message);
        }
        messages.extend(revisions);
        DecodedFile { messages, problems }
    }

    /// The records that hide calls, as sessions have them.
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
            let id = self
                .names
                .derived_id(&format!("{}#{}", message.id, hidden.call));
            let mut record = Message::new(id, Body::Revision(revision));
            record.session_id = message.session_id.clone();
            record.agent_id.clone_from(&message.agent_id);
            revisions.push(record);
        }
        revisions
    }
}

fn attachment(kind: AttachmentKind, data: Option<Raw>) -> Body {
    Body::Attachment(Attachment {
        kind,
        content: Content::Empty,
        data,
    })
}

/// Whether the content of a cell is the content of its message: some roles hold none, and of the others some hold one
/// even if they say nothing.
fn has_content(role: CellRole, says_nothing: bool) -> bool {
    match role {
        CellRole::CompactBoundary
        | CellRole::Tombstone
        | CellRole::Summary
        | CellRole::Progress => false,
        CellRole::ToolCall | CellRole::ToolResult | CellRole::Raw => true,
        CellRole::User
        | CellRole::Code
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::Reply
        | CellRole::Thinking
        | CellRole::CodeOutput
        | CellRole::System
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Block
        | CellRole::Details => !says_nothing,
    }
}
