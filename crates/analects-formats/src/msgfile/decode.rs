//! Bytes in, document out. Every byte string is a document, perhaps one with problems.

use analects_core::{History, LineIndex, Problem, Span};

use super::line::{Head, Line, head, is_blank, lines, metadata_of};
use super::{Cell, Document, Meta};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads a message file. What is odd about it is in the document's problems.
pub fn decode(source: &[u8]) -> Document {
    let start = if source.starts_with(BOM) { BOM.len() } else { 0 };
    let frontmatter = frontmatter(source, start);
    let body_start = frontmatter.map_or(start, |span| span.end);
    let all: Vec<Line<'_>> = lines(source, body_start).collect();
    let mut document = Document {
        source: source.to_vec(),
        lines: LineIndex::new(source),
        frontmatter,
        preamble: Span::new(body_start, source.len()),
        cells: Vec::new(),
        problems: Vec::new(),
    };
    let heads: Vec<(usize, Head<'_>)> =
        all.iter().enumerate().filter_map(|(at, line)| Some((at, head(line.text)?))).collect();
    for (ordinal, (at, head)) in heads.iter().enumerate() {
        let end = heads.get(ordinal + 1).map_or(all.len(), |(next, _)| *next);
        document.cells.push(cell(source, &all[*at..end], head, ordinal + 1));
    }
    if let Some(first) = document.cells.first() {
        document.preamble.end = first.span.start;
    }
    document.problems = problems(&document);
    document
}

/// From a `---` line at the start to the next one, unless a sealed head or the end comes first.
fn frontmatter(source: &[u8], start: usize) -> Option<Span> {
    let mut rest = lines(source, start);
    rest.next().filter(|line| line.text == b"---")?;
    let mut open_id = None;
    for line in rest.filter(|line| !line.is_blank()) {
        if open_id.is_some_and(|id| metadata_of(line.text, id).is_some()) {
            return None;
        }
        if line.text == b"---" {
            return Some(Span::new(start, line.span.end));
        }
        open_id = head(line.text).and_then(|head| head.id);
    }
    None
}

/// The metadata line of `id`, if it is the first that is not blank: its index and its text.
fn metadata_line<'a>(after_head: &[Line<'a>], id: &str) -> Option<(usize, &'a [u8])> {
    let at = after_head.iter().position(|line| !line.is_blank())?;
    Some((at, metadata_of(after_head[at].text, id)?))
}

fn cell(source: &[u8], all: &[Line<'_>], head: &Head<'_>, ordinal: usize) -> Cell {
    let mut rest = &all[1..];
    let meta = head.id.and_then(|id| {
        let (at, text) = metadata_line(rest, id)?;
        let (meta, lines) = read_meta(&rest[at..], text);
        rest = &rest[at + lines..];
        Some(meta)
    });
    let span = Span::new(all[0].span.start, all[all.len() - 1].span.end);
    let mut cell = Cell {
        kind: head.kind,
        level: head.level,
        title: String::from_utf8_lossy(head.title).into_owned(),
        id: head.id.map(str::to_string),
        ordinal,
        meta,
        span,
        head: all[0].span,
        body: trimmed_body(rest, span.end),
    };
    if let Some(stored) = cell.attribute("stored").and_then(|stored| stored_body(rest, stored)) {
        cell.body = stored;
    }
    debug_assert!(cell.body.end <= source.len());
    cell
}

/// Reads the metadata line and the indented lines of attributes that continue it.
fn read_meta(all: &[Line<'_>], text: &[u8]) -> (Meta, usize) {
    let mut meta = Meta::parse(&String::from_utf8_lossy(text));
    let mut count = 1;
    for line in &all[1..] {
        let more = Meta::parse(&String::from_utf8_lossy(line.text));
        if !line.text.first().is_some_and(|byte| is_blank(*byte)) || !more.is_only_attributes() {
            break;
        }
        meta.attributes.extend(more.attributes);
        count += 1;
    }
    meta.span = Span::new(all[0].span.start, all[count - 1].span.end);
    (meta, count)
}

/// From the first to the last line that is not blank, without the last one's line end.
fn trimmed_body(rest: &[Line<'_>], end: usize) -> Span {
    let first = rest.iter().find(|line| !line.is_blank());
    let last = rest.iter().rev().find(|line| !line.is_blank());
    match (first, last) {
        (Some(first), Some(last)) => Span::new(first.span.start, last.text_span().end),
        _ => Span::new(end, end),
    }
}

/// `lines=N`: exactly N lines after the blank one. `None` if the file no longer looks like that,
/// because a person has typed there since.
fn stored_body(rest: &[Line<'_>], stored: &str) -> Option<Span> {
    let count: usize = stored.strip_prefix("lines=")?.parse().ok().filter(|count| *count > 0)?;
    let (gap, content) = rest.split_first()?;
    let (own, beyond) = content.split_at_checked(count)?;
    let untouched = gap.is_blank() && beyond.iter().all(Line::is_blank);
    untouched.then(|| Span::new(own[0].span.start, own[count - 1].text_span().end))
}

fn problems(document: &Document) -> Vec<Problem> {
    let mut found = Vec::new();
    encoding_problems(document, &mut found);
    let mut ids = std::collections::HashSet::new();
    for cell in &document.cells {
        let problem = |problem: Problem| problem.at(cell.head, &document.lines);
        if let Some(id) = &cell.id
            && !ids.insert(id)
        {
            let text = format!("the id {id} is used by an earlier cell");
            found.push(problem(
                Problem::error("duplicate-id", text).hint("give this cell another id"),
            ));
        }
        found.extend(meta_problems(document, cell));
    }
    found
}

/// One problem for each run of bytes that is not UTF-8.
fn encoding_problems(document: &Document, found: &mut Vec<Problem>) {
    let mut at = 0;
    for chunk in document.source.utf8_chunks() {
        let start = at + chunk.valid().len();
        at = start + chunk.invalid().len();
        if at > start {
            let text = format!("the bytes at offset {start} are not UTF-8");
            found.push(
                Problem::error("not-utf8", text)
                    .at(Span::new(start, at), &document.lines)
                    .hint("convert the file to UTF-8; until then nothing is written to it"),
            );
        }
    }
}

fn meta_problems(document: &Document, cell: &Cell) -> Vec<Problem> {
    let Some(meta) = &cell.meta else {
        return Vec::new();
    };
    let mut found: Vec<Problem> = Vec::new();
    for junk in &meta.junk {
        let text = format!("cannot read {junk:?} in the metadata; expected key=\"value\"");
        found.push(Problem::warning("bad-metadata", text));
    }
    if let Some(value) = meta.get("history").filter(|value| History::parse(value).is_none()) {
        let text = format!("unknown history value {value:?}; expected include, exclude or summary");
        found.push(Problem::warning("unknown-history", text).hint("it is read as include"));
    }
    if let Some(stored) = meta.get("stored")
        && !is_stored_as(document, cell, stored)
    {
        let text = format!("stored=\"{stored}\" does not fit this cell's text; it is ignored");
        let hint = "the text was edited: remove the attribute to keep it as it is now";
        found.push(Problem::warning("stored-mismatch", text).hint(hint));
    }
    found.into_iter().map(|problem| problem.at(meta.span, &document.lines)).collect()
}

/// Whether a cell's text is what its `stored` attribute says.
pub(super) fn is_stored_as(document: &Document, cell: &Cell, stored: &str) -> bool {
    let after = cell.meta.as_ref().map_or(cell.head.end, |meta| meta.span.end);
    let source = &document.source[..cell.span.end];
    let rest: Vec<Line<'_>> = lines(source, after).collect();
    stored_body(&rest, stored) == Some(cell.body)
}
