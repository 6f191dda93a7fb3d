//! A cell of a document: a cheap handle that reads the parts of the cell on demand.

use std::borrow::Cow;

use analects_core::{History, Raw, RawMap, Span};

use super::messages::PARTS;
use super::metadata::AttributeRef;
use super::role::is_output_word;
use super::{AttachedOutput, CellKind, CellRole, Document, MetaKey, decode, escape, scan};

/// One cell of a document.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    pub(super) document: &'a Document,
    pub(super) at: usize,
}

impl<'a> Cell<'a> {
    /// Where its parts are.
    pub(super) fn spans(self) -> &'a scan::CellSpans {
        &self.document.scan.cells[self.at]
    }

    pub(super) fn bytes(self, span: Span) -> &'a [u8] {
        span.of(&self.document.source)
    }

    /// Whether a person wrote it or a program added it.
    pub fn kind(self) -> CellKind {
        self.spans().kind
    }

    /// Its role.
    ///
    /// ```
    /// use analects_formats::msgfile::{CellRole, decode};
    ///
    /// let document = decode("# %% [^1]\n\n[^1]: [code]\n\n```sh\nls\n```\n\n# %%% [^1.1]\n\n[^1.1]: [sh]\n");
    /// let roles: Vec<CellRole> = document.cells().map(|cell| cell.role()).collect();
    /// assert_eq!(roles, [CellRole::Code, CellRole::CodeOutput]);
    /// ```
    pub fn role(self) -> CellRole {
        self.spans().role
    }

    /// The number of `#` in its head, 1 to 5.
    pub fn level(self) -> usize {
        usize::from(self.spans().level)
    }

    /// Its position in the file, from 1.
    pub fn ordinal(self) -> usize {
        self.at + 1
    }

    /// The title in its head, trimmed.
    pub fn title(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(self.spans().title))
    }

    /// The whole title: `title=` if the head cannot hold it.
    pub fn full_title(self) -> Cow<'a, str> {
        self.get(MetaKey::Title)
            .map_or_else(|| self.title(), Cow::Borrowed)
    }

    /// The id at the end of its head.
    pub fn id(self) -> Option<&'a str> {
        let id = std::str::from_utf8(self.bytes(self.spans().id)).ok();
        id.filter(|id| !id.is_empty())
    }

    /// Its id, or else the number that it gets as its id.
    pub fn name(self) -> Cow<'a, str> {
        match self.id() {
            Some(id) => Cow::Borrowed(id),
            None => self.document.number_of(self.at).to_string().into(),
        }
    }

    /// The whole cell, from its head to the next one.
    pub fn span(self) -> Span {
        let next = self
            .document
            .scan
            .cells
            .get(self.at + 1)
            .map(|next| next.start);
        Span::new(
            self.spans().start,
            next.unwrap_or(self.document.source.len()),
        )
    }

    /// The line of its head, including the line end.
    pub fn head(self) -> Span {
        Span::new(self.spans().start, self.spans().head_end)
    }
}

/// Its metadata.
impl<'a> Cell<'a> {
    /// Whether it is sealed: it has an id and metadata.
    pub fn is_sealed(self) -> bool {
        self.spans().meta > 0
    }

    /// The metadata line and the lines that continue it, including line ends, if the cell is sealed.
    pub fn meta_span(self) -> Option<Span> {
        self.is_sealed()
            .then(|| Span::new(self.spans().meta, self.spans().meta_end))
    }

    /// The type word of its metadata, or `markdown` if it has none.
    pub fn type_word(self) -> &'a str {
        self.written_type().unwrap_or("markdown")
    }

    /// The type word, if it has one.
    pub fn written_type(self) -> Option<&'a str> {
        self.spans().type_word(&self.document.source)
    }

    /// Whether its type word has no meaning on a cell of a person, so that the cell is read as text.
    pub(super) fn is_misplaced(self) -> bool {
        self.role() == CellRole::User && is_output_word(self.type_word())
    }

    /// The offset after the type word, or after `[^id]:` if there is none.
    pub(super) fn after_type_word(self) -> usize {
        let spans = self.spans();
        spans
            .word_end()
            .unwrap_or(spans.meta + "[^]:".len() + spans.id.len())
    }

    /// The attributes in order, including repeated ones.
    pub fn attributes(self) -> impl DoubleEndedIterator<Item = (&'a str, &'a str)> {
        self.attribute_refs()
            .map(|attribute| (attribute.name(), attribute.value()))
    }

    pub(super) fn attribute_refs(self) -> impl DoubleEndedIterator<Item = AttributeRef<'a>> {
        let scan = &self.document.scan;
        scan.metadata
            .attributes(&self.document.source, scan.entries(self.at))
    }

    /// The parts of its metadata that cannot be read, such as a value without its closing quote.
    pub fn junk(self) -> impl Iterator<Item = Cow<'a, str>> {
        let scan = &self.document.scan;
        scan.metadata
            .junk(&self.document.source, scan.entries(self.at))
    }

    /// The value of an attribute, or the last value if it is repeated.
    pub fn get(self, key: MetaKey) -> Option<&'a str> {
        let mut attributes = self.attribute_refs().rev();
        attributes
            .find(|attribute| attribute.key() == Some(key))
            .map(AttributeRef::value)
    }

    /// The value of the attribute with this name, or the last value if it is repeated. For known keys, [`get`] does the
    /// same.
    ///
    /// [`get`]: Cell::get
    ///
    /// ```
    /// use analects_formats::msgfile::{MetaKey, decode};
    ///
    /// let document = decode("# %% [^1]\n\n[^1]: [markdown] parent=\"a\\tb\" mood=fine\n\nHi\n");
    /// let cell = document.cell("1").unwrap();
    /// assert_eq!(cell.get(MetaKey::Parent), Some("a\tb"));
    /// assert_eq!((cell.attribute("parent"), cell.attribute("mood")), (Some("a\tb"), Some("fine")));
    /// ```
    pub fn attribute(self, name: &str) -> Option<&'a str> {
        self.attribute_named(name).map(AttributeRef::value)
    }

    /// The attribute with this name, or the last one if it is repeated.
    pub(super) fn attribute_named(self, name: &str) -> Option<AttributeRef<'a>> {
        let key = MetaKey::of(name);
        let is_it = |attribute: &AttributeRef<'_>| {
            attribute.key() == key && (key.is_some() || attribute.name() == name)
        };
        self.attribute_refs().rev().find(is_it)
    }

    /// Its own `history`, if the value is a known one.
    pub fn history(self) -> Option<History> {
        self.get(MetaKey::History).and_then(History::parse)
    }

    /// The name of the cell that it follows by `parent=`; empty if it begins the conversation anew.
    pub fn parent(self) -> Option<&'a str> {
        self.get(MetaKey::Parent)
    }

    /// How long an answer to it may take, by `timeout=`. A value that is not a positive number of seconds counts as absent.
    pub fn timeout(self) -> Option<std::time::Duration> {
        let limit = self.get(MetaKey::Timeout).and_then(super::seconds::parse)?;
        (!limit.is_zero()).then_some(limit)
    }

    /// The name of the cell that it is a part of by `part=`.
    pub fn part(self) -> Option<&'a str> {
        self.get(MetaKey::Part)
    }

    /// The name of the last cell that it stands for, if it is a summary.
    pub fn through(self) -> Option<&'a str> {
        self.get(MetaKey::Through)
            .filter(|_| self.role() == CellRole::Summary)
    }

    /// The id of the side chain that it is on.
    pub fn agent_id(self) -> Option<&'a str> {
        self.get(MetaKey::AgentId)
    }

    /// Why an answer ended, if not for the usual reason.
    pub fn stop_reason(self) -> Option<&'a str> {
        self.get(MetaKey::StopReason)
    }

    /// Whether it is an answer that was interrupted.
    pub fn broke_off(self) -> bool {
        self.stop_reason() == Some("interrupted")
    }

    /// Whether it only reports an error of the provider.
    pub fn is_failed(self) -> bool {
        self.get(MetaKey::Error) == Some("1")
    }
}

/// Its content.
impl<'a> Cell<'a> {
    /// The span of its content, which is still escaped there.
    pub fn body(self) -> Span {
        let below = self.below_meta();
        self.stored_body()
            .flatten()
            .unwrap_or_else(|| decode::trimmed(&self.document.source, below))
    }

    /// The text that its `stored` attribute describes: `None` without the attribute, `Some(None)` if it does not fit.
    fn stored_body(self) -> Option<Option<Span>> {
        let words = self.get(MetaKey::Stored)?;
        Some(decode::stored_body(
            &self.document.source,
            self.below_meta(),
            words,
        ))
    }

    /// Its text, with escapes removed, or the output that was attached to it. Bytes that are not UTF-8 are replaced.
    pub fn content(self) -> Cow<'a, str> {
        if let Some(text) = self.attached_text() {
            return text;
        }
        let bytes = self.bytes(self.body());
        let text = simdutf8::basic::from_utf8(bytes).map(Cow::Borrowed);
        escape::unescape(text.unwrap_or_else(|_| String::from_utf8_lossy(bytes)))
    }

    /// Its content byte for byte, with escapes removed, or the output that was attached to it.
    pub fn content_bytes(self) -> Cow<'a, [u8]> {
        match self.attached() {
            Some(AttachedOutput::Bytes(bytes)) => return Cow::Borrowed(bytes),
            Some(AttachedOutput::Note(note)) => return Cow::Borrowed(note.as_bytes()),
            None => {}
        }
        escape::unescape_bytes(self.bytes(self.body()))
    }

    /// Whether its `stored` attribute, if it has one, fits its text.
    pub(super) fn is_stored_as_it_says(self) -> bool {
        self.stored_body().is_none_or(|body| body.is_some())
    }

    /// Everything below the head and the metadata.
    pub fn below_meta(self) -> Span {
        let spans = self.spans();
        Span::new(spans.meta_end.max(spans.head_end), self.span().end)
    }

    /// Whether a person says it to the model. Definitions of agents and the ready cell are not prompts.
    pub fn is_prompt(self) -> bool {
        self.role().is_user() && !self.is_ready()
    }

    /// Whether it is a prompt with content that the model sees.
    pub(super) fn is_question(self) -> bool {
        self.is_prompt()
            && (!self.body().is_empty() || self.get(MetaKey::Content) == Some(PARTS))
            && self
                .history()
                .is_none_or(|history| history == History::Include)
    }

    /// Whether it is an answer that the model sees, however short. An event, an error, and an answer that was interrupted
    /// before its first word are none.
    pub(super) fn is_answer(self) -> bool {
        let role = self.role();
        let is_event = role.is_event()
            || role == CellRole::Block && (self.is_foreign_record() || self.is_part_of_prompt());
        let is_silent = self.broke_off() && self.body().is_empty();
        let answers = self.kind() == CellKind::Output && !is_event;
        answers && !is_silent && !self.is_failed() && !self.is_hidden()
    }

    /// Whether it is a part of what a person says.
    fn is_part_of_prompt(self) -> bool {
        let whole = self.part().and_then(|part| self.document.cell(part));
        whole.is_some_and(|whole| whole.kind() == CellKind::Message)
    }

    /// Whether it, or a cell that it belongs to, is hidden from the model.
    fn is_hidden(self) -> bool {
        let mut cells = std::iter::successors(Some(self), |cell| cell.whole());
        cells.any(|cell| cell.history() == Some(History::Exclude))
    }

    /// Whether it holds a whole message as JSON that is not an answer, such as a state change.
    fn is_foreign_record(self) -> bool {
        let record = || RawMap::parse(&self.content()).unwrap_or_default();
        self.get(MetaKey::Json) == Some("message")
            && record().get("type").and_then(Raw::as_string).as_deref() != Some("assistant")
    }
}
