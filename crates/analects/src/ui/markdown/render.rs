//! Complete blocks of Markdown as lines of a terminal: wrapped at words, with hanging indents in lists and quotes.
//!
//! Lines of code are never wrapped, so that they can be copied. Line ends inside a paragraph stay where the model put
//! them, as do blank lines between blocks.
//!
//! The parser's events drive a [`Renderer`]. It collects the text of a paragraph, cell or code block until that ends,
//! and then writes its lines. Each quote and list item around it is a container that puts something before each line.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use super::blocks::{OPTIONS, line_start};
use super::highlight::Highlighter;
use super::style::{Style, StyledLine, StyledText, TextColour, plain_text};
use super::table::Table;
use super::wrap::wrapped;

/// How wide a rule across the page is, where there is room.
const RULE_WIDTH: usize = 40;

/// Text gets at least so many columns, however deep it is nested.
/// Deeply nested text may stick out of a narrow window, but stays readable.
const LEAST_WIDTH: usize = 10;

/// Blocks deeper than this are shown like those around them.
/// Without a limit, a line of a thousand `>` would fill the screen with bars.
const MOST_CONTAINERS: usize = 16;

const INLINE_CODE: Style = Style::of_colour(TextColour::Cyan);

/// What comes before the blocks that are rendered.
/// The caller renders an answer in several steps, and this is what one step must know about those before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    /// The columns of the terminal.
    pub width: usize,
    /// Whether nothing was shown before.
    pub is_start: bool,
    /// Whether a blank line comes before.
    pub after_blank: bool,
    /// The number of the first item, where the blocks go on with a list.
    pub item_number: Option<u64>,
}

/// The lines of complete blocks.
/// Gives the same lines as if the text had been rendered in one go with what came before it.
pub fn rendered(text: &str, context: Context) -> Vec<StyledLine> {
    let mut renderer = Renderer::new(text, context);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        renderer.event(event, range);
    }
    renderer.flush();
    renderer.lines
}

/// A quote or a list item, which puts something before each of its lines.
#[derive(Debug)]
struct Container {
    /// Before its first line, until that is written.
    first: Option<StyledText>,
    /// Before its other lines.
    rest: StyledText,
}

/// A block whose text is collected until it ends.
/// Their layout depends on the whole text, unlike that of a paragraph.
#[derive(Debug)]
enum Collected {
    Code { language: String, text: String },
    Table(Table),
}

/// Each event changes the state, and a finished block adds to `lines`.
struct Renderer<'t> {
    /// Where blank lines and the signs of lists are looked up, which the events do not tell.
    source: &'t str,
    context: Context,
    lines: Vec<StyledLine>,
    containers: Vec<Container>,
    /// Quotes and items that are too deep to get a container.
    ignored_containers: usize,
    /// The next number of each open list; `None` for a list with bullets.
    lists: Vec<Option<u64>>,
    collected: Option<Collected>,
    /// The text of the paragraph so far.
    text: Vec<StyledText>,
    styles: Vec<Style>,
    /// The addresses of open links and pictures, each with the length of `text` at its start.
    links: Vec<(String, usize)>,
    /// The start of the source line of the block before.
    last_block: Option<usize>,
}

impl<'t> Renderer<'t> {
    fn new(source: &'t str, context: Context) -> Renderer<'t> {
        Renderer {
            source,
            context,
            lines: Vec::new(),
            containers: Vec::new(),
            ignored_containers: 0,
            lists: Vec::new(),
            collected: None,
            text: Vec::new(),
            styles: Vec::new(),
            links: Vec::new(),
            last_block: None,
        }
    }

    /// Every kind of text is shown, even of extensions that are off.
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range.start),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.plain(&text, range.start),
            Event::Code(code) => self.push(self.style_with(INLINE_CODE), &code),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::SoftBreak | Event::HardBreak => self.push(Style::PLAIN, "\n"),
            Event::Rule => self.rule(range.start),
            Event::TaskListMarker(is_done) => {
                let mark = if is_done { "[x] " } else { "[ ] " };
                self.push(Style::PLAIN, mark);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.push(self.style(), &text);
            }
        }
    }

    /// `at` is where the block starts in the source, which tells whether a blank line comes before.
    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.start_block(at),
            Tag::Heading { .. } => {
                self.start_block(at);
                self.styles.push(Style::BOLD);
            }
            Tag::BlockQuote(_) => {
                self.start_block(at);
                let bar = StyledText::new(Style::FAINT, "│ ");
                self.open_container(bar.clone(), bar);
            }
            Tag::List(first) => self.start_list(first),
            Tag::Item => self.start_item(at),
            Tag::CodeBlock(kind) => {
                self.start_block(at);
                let language = match kind {
                    CodeBlockKind::Fenced(info) => first_word(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                let text = String::new();
                self.collected = Some(Collected::Code { language, text });
            }
            Tag::Table(alignments) => {
                self.start_block(at);
                let rows = Vec::new();
                self.collected = Some(Collected::Table(Table { alignments, rows }));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(Collected::Table(table)) = &mut self.collected {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.change_style(|style| style.italic = true),
            Tag::Strong => self.change_style(|style| style.bold = true),
            Tag::Strikethrough => self.change_style(|style| style.struck = true),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.text.len()));
                self.change_style(|style| style.underlined = true);
            }
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    /// The counterpart of [`Renderer::start`]: what that has opened is closed here.
    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => self.close_container(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.write_empty_item();
                self.close_container();
            }
            TagEnd::CodeBlock | TagEnd::Table => self.end_collected(),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Begins a block: writes the text before it, and a blank line where the source has one.
    fn start_block(&mut self, at: usize) {
        self.flush();
        let line = line_start(self.source, at);
        let is_first_in_container = self.last_block == Some(line);
        self.last_block = Some(line);
        if !is_first_in_container && self.is_after_blank(line) {
            self.blank_line();
        }
    }

    /// A line of quote marks alone counts as blank.
    fn is_after_blank(&self, line: usize) -> bool {
        if self.context.is_start && self.lines.is_empty() {
            return false;
        }
        let Some(before) = self.source[..line].strip_suffix('\n') else {
            return self.context.after_blank;
        };
        let last = &before[line_start(before, before.len())..];
        last.trim_matches([' ', '\t', '\r', '>']).is_empty()
    }

    /// Beyond [`MOST_CONTAINERS`] only counts, so that [`Renderer::close_container`] stays in step.
    fn open_container(&mut self, first: StyledText, rest: StyledText) {
        if self.containers.len() == MOST_CONTAINERS || self.ignored_containers > 0 {
            self.ignored_containers += 1;
            return;
        }
        let first = Some(first);
        self.containers.push(Container { first, rest });
    }

    /// The last ones that were opened are closed first.
    fn close_container(&mut self) {
        if self.ignored_containers > 0 {
            self.ignored_containers -= 1;
        } else {
            self.containers.pop();
        }
    }

    /// A list that the step before began goes on with its next number, not with the one that the source repeats.
    fn start_list(&mut self, first: Option<u64>) {
        self.flush();
        let continued = if self.lists.is_empty() {
            self.context.item_number.take()
        } else {
            None
        };
        self.lists
            .push(first.map(|first| continued.unwrap_or(first)));
    }

    /// The text after the marker hangs: further lines are indented by its width.
    fn start_item(&mut self, at: usize) {
        self.start_block(at);
        let mut marker = "• ".to_string();
        if let Some(Some(number)) = self.lists.last_mut() {
            marker = format!("{number}{} ", delimiter(&self.source[at..]));
            *number = number.saturating_add(1);
        }
        let indent = " ".repeat(marker.width());
        self.open_container(
            StyledText::new(Style::PLAIN, marker),
            StyledText::new(Style::PLAIN, indent),
        );
    }

    /// An item without text still shows its marker.
    /// Markdown allows an item without text, and dropping it would change the numbers.
    fn write_empty_item(&mut self) {
        let has_marker = self
            .containers
            .last()
            .is_some_and(|container| container.first.is_some());
        if has_marker && self.ignored_containers == 0 {
            self.write_line(Vec::new());
        }
    }

    /// Shorter than [`RULE_WIDTH`] in a narrow window or deep nesting.
    fn rule(&mut self, at: usize) {
        self.start_block(at);
        let dashes = "-".repeat(RULE_WIDTH.min(self.width()));
        self.write_line(vec![StyledText::new(Style::FAINT, dashes)]);
    }

    /// Code is coloured here, once it is complete.
    fn end_collected(&mut self) {
        match self.collected.take() {
            None => {}
            Some(Collected::Table(table)) => {
                for line in table.lines(self.width()) {
                    self.write_line(line);
                }
            }
            Some(Collected::Code { language, text }) => {
                let mut highlighter = Highlighter::new(&language);
                for line in text.lines() {
                    self.write_line(highlighter.line(line));
                }
            }
        }
    }

    /// The cells of the first row are the head and become bold.
    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.text);
        if let Some(Collected::Table(table)) = &mut self.collected {
            let is_head = table.rows.len() == 1;
            if let Some(row) = table.rows.last_mut() {
                row.push(if is_head { in_bold(cell) } else { cell });
            }
        }
    }

    /// Shows the address behind the text, unless the text is the address itself.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, start)) = self.links.pop() else {
            return;
        };
        let label = plain_text(self.text.get(start..).unwrap_or_default());
        let is_same = label == address || address.strip_prefix("mailto:") == Some(&label);
        if !is_same && !address.is_empty() {
            self.push(Style::FAINT, &format!(" ({address})"));
        }
    }

    /// `at` is where the text is in the source.
    fn plain(&mut self, text: &str, at: usize) {
        if let Some(Collected::Code { text: code, .. }) = &mut self.collected {
            code.push_str(text);
            return;
        }
        // A backslash before a bracket marks a formula.
        let is_escaped = self.source[..at].ends_with('\\');
        if is_escaped && text.starts_with(['(', ')', '[', ']']) {
            self.push(self.style(), "\\");
        }
        self.push(self.style(), text);
    }

    /// Only `<br>` has a meaning. Other tags are shown as text: hiding them could hide something from you.
    fn html(&mut self, html: &str) {
        let tag = html.trim_matches(['<', '>', '/', ' ']);
        if tag.eq_ignore_ascii_case("br") {
            self.push(Style::PLAIN, "\n");
        } else {
            self.push(self.style(), html);
        }
    }

    /// What a terminal would obey is escaped here.
    fn push(&mut self, style: Style, text: &str) {
        self.text.push(StyledText::safe(style, text));
    }

    /// The innermost style that is open.
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    /// The style of the text around, in another colour.
    fn style_with(&self, other: Style) -> Style {
        Style {
            colour: other.colour,
            ..self.style()
        }
    }

    /// Adds a style to those around it. The end of the element takes it away again.
    fn change_style(&mut self, change: impl FnOnce(&mut Style)) {
        let mut style = self.style();
        change(&mut style);
        self.styles.push(style);
    }

    /// How many columns are left for text.
    fn width(&self) -> usize {
        let taken: usize = self
            .containers
            .iter()
            .map(|container| container.rest.text.width())
            .sum();
        self.context.width.saturating_sub(taken).max(LEAST_WIDTH)
    }

    /// Writes the text so far as a paragraph.
    /// Blanks at its end are dropped. Does nothing without text, so it may be called at any time.
    fn flush(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        while let Some(last) = text.last_mut() {
            let trimmed = last.text.trim_end().len();
            last.text.truncate(trimmed);
            if !last.text.is_empty() {
                break;
            }
            text.pop();
        }
        if text.is_empty() {
            return;
        }
        for line in wrapped(&text, self.width()) {
            self.write_line(line);
        }
    }

    /// Writes a line with what its containers put before it.
    fn write_line(&mut self, line: StyledLine) {
        let mut whole = Vec::new();
        for container in &mut self.containers {
            let rest = &container.rest;
            whole.push(container.first.take().unwrap_or_else(|| rest.clone()));
        }
        whole.extend(line);
        self.lines.push(whole);
    }

    /// Writes a blank line. What comes first in a container still comes first.
    fn blank_line(&mut self) {
        let open = self
            .containers
            .iter()
            .take_while(|container| container.first.is_none());
        let line = open.map(|container| container.rest.clone()).collect();
        self.lines.push(line);
    }
}

/// The sign behind the number of an item.
/// `1)` keeps its bracket; anything else gets a dot.
fn delimiter(item: &str) -> char {
    let after = item.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.starts_with(')') { ')' } else { '.' }
}

/// An info string may go on, as in `rust,ignore` or `python title="x"`.
fn first_word(info: &CowStr<'_>) -> String {
    info.split([' ', ','])
        .next()
        .unwrap_or_default()
        .to_string()
}

/// Keeps the other styles of the cell.
fn in_bold(mut cell: Vec<StyledText>) -> Vec<StyledText> {
    for part in &mut cell {
        part.style.bold = true;
    }
    cell
}
