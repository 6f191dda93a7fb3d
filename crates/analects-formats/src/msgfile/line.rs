//! What a single line is by itself: a head, a heading, a metadata line. The lines around it do not matter here.

use analects_core::Span;

use super::CellKind;

/// The longest id, in characters.
const MAX_ID: usize = 64;

pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(crate) fn is_blank_line(text: &[u8]) -> bool {
    text.iter().all(|byte| is_blank(*byte))
}

/// A line that starts a cell. Its spans count from the start of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) level: u8,
    pub(super) kind: CellKind,
    pub(super) title: Span,
    pub(super) id: Option<Span>,
}

/// Reads a line as a head: 1 to 5 `#` in the first column, a blank, `%%` or `%%%`, then nothing, an id, or a blank and
/// a title with an optional id at its end.
pub(super) fn head(line: &[u8]) -> Option<Head> {
    let level = count(line, |byte| byte == b'#');
    let blanks = count(&line[level..], is_blank);
    if !(1..=5).contains(&level) || blanks == 0 {
        return None;
    }
    let marker = level + blanks;
    let percents = count(&line[marker..], |byte| byte == b'%');
    let kind = match percents {
        2 => CellKind::Message,
        3 => CellKind::Output,
        _ => return None,
    };
    let (title, id) = split_id(line, marker + percents);
    let starts_blank = line.get(title.start).is_none_or(|byte| is_blank(*byte));
    if !title.is_empty() && !starts_blank {
        return None;
    }
    Some(Head {
        level: level as u8,
        kind,
        title: trim(line, title),
        id,
    })
}

/// The number of bytes at the beginning that pass a test.
pub(super) fn count(bytes: &[u8], test: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| test(**byte)).count()
}

/// Splits what follows the marker into the title, with its blanks, and the id at the end.
fn split_id(line: &[u8], start: usize) -> (Span, Option<Span>) {
    let rest = Span::new(start, line.len());
    let end = trim(line, rest).end;
    let id = line[start..end].strip_suffix(b"]").and_then(|open| {
        let bracket = start + open.iter().rposition(|byte| *byte == b'[')?;
        let id = Span::new(bracket + 2, end - 1);
        (line.get(bracket + 1) == Some(&b'^') && is_id(id.of(line))).then_some((bracket, id))
    });
    match id {
        Some((bracket, id)) => (Span::new(start, bracket), Some(id)),
        None => (rest, None),
    }
}

/// Whether this is an id: 1 to 64 characters, no blank, control character or any of `[ ] ^`.
pub(super) fn is_id(bytes: &[u8]) -> bool {
    // Nearly every id is a short word of ASCII.
    if bytes.len() <= MAX_ID
        && bytes
            .iter()
            .all(|byte| matches!(byte, b'!'..=b'Z' | b'a'..=b'~' | b'_'))
    {
        return !bytes.is_empty();
    }
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"[]^".contains(c);
    std::str::from_utf8(bytes)
        .is_ok_and(|id| (1..=MAX_ID).contains(&id.chars().count()) && id.chars().all(allowed))
}

/// The level of an ATX heading whose text is `name`.
pub(super) fn heading(line: &[u8], name: &str) -> Option<usize> {
    heading_text(line)
        .filter(|(_, text)| *text == name.trim())
        .map(|(level, _)| level)
}

/// The level and the text of an ATX heading, without closing `#`s.
pub(super) fn heading_text(line: &[u8]) -> Option<(usize, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    if !(1..=6).contains(&level) || !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some((level, if closed { open.trim() } else { text }))
}

/// The rest of a line after `[^id]:`; `None` if it is not the metadata line of this id.
pub(super) fn metadata_of<'a>(line: &'a [u8], id: &[u8]) -> Option<&'a [u8]> {
    line.strip_prefix(b"[^")?
        .strip_prefix(id)?
        .strip_prefix(b"]:")
}

/// How a line that is not a head looks like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NearHead {
    /// It has six `#`, no blank before or after the marker, four `%`, or blanks in front.
    Usual,
    /// It is nothing but a marker, and maybe an id.
    Bare,
    /// It would be a head, or nearly one, with `#`, `%` and a space in place of their full-width forms.
    FullWidth,
}

/// How a line looks as if its author meant a head; `None` for a head, and for any other line.
pub(super) fn near_head(line: &[u8]) -> Option<NearHead> {
    if head(line).is_some() {
        return None;
    }
    if is_nearly_head(line) {
        let has_wide_space = memchr::memmem::find(line, "%%\u{3000}".as_bytes()).is_some();
        let near = if has_wide_space {
            NearHead::FullWidth
        } else {
            NearHead::Usual
        };
        return Some(near);
    }
    if matches!(count(line, |byte| byte == b'%'), 2 | 3) {
        let (rest, _) = split_id(line, count(line, |byte| byte == b'%'));
        return is_blank_line(rest.of(line)).then_some(NearHead::Bare);
    }
    let text = std::str::from_utf8(line).ok()?;
    // Most lines have other characters in front.
    if !text.trim_start().starts_with(['#', '＃']) {
        return None;
    }
    let narrow = text
        .replace('＃', "#")
        .replace('％', "%")
        .replace('\u{3000}', " ");
    let is_near =
        narrow != text && (head(narrow.as_bytes()).is_some() || is_nearly_head(narrow.as_bytes()));
    is_near.then_some(NearHead::FullWidth)
}

fn is_nearly_head(line: &[u8]) -> bool {
    let text = &line[count(line, is_blank).min(3)..];
    let hashes = count(text, |byte| byte == b'#');
    let rest = &text[hashes..];
    let marker = &rest[count(rest, is_blank)..];
    (1..=6).contains(&hashes) && marker.starts_with(b"%%") && head(line).is_none()
}

/// The span without blanks at both ends.
fn trim(line: &[u8], span: Span) -> Span {
    let text = span.of(line);
    let start = span.start + count(text, is_blank);
    let blanks = text
        .iter()
        .rev()
        .take_while(|byte| is_blank(**byte))
        .count();
    Span::new(start, (span.end - blanks).max(start))
}

/// Whether two texts differ only in line ends and in blanks at the ends of lines, which many editors change when they
/// save.
pub fn is_same_text(one: &str, other: &str) -> bool {
    let lines = |text| str::split(str::trim_end(text), '\n').map(str::trim_end);
    lines(one).eq(lines(other))
}
