//! Changes a file with splices that touch only the bytes that must change.

use analects_core::Span;

use super::attributes::{
    AttributeEnd, AttributeScanner, AttributeToken, bare_value, is_key, write_attribute,
};
use super::decode::tag_attributes;
use super::encode::{ItemForm, stored_words};
use super::line::tag_line;
use super::{ChatItem, ChatMdDocument, NewChatItem, Splice};
use crate::msgfile::Refusal;
use crate::msgfile::decode::BOM;
use crate::msgfile::frontmatter::line_end;

/// Returns the splice that adds an item at the end of the file.
///
/// ```
/// use analects_formats::chatmd::{NewChatItem, append, decode};
///
/// let document = decode("> ---\n> <USER />\n\nHello");
/// let splice = append(&document, &NewChatItem::new("ASSISTANT", "Hi"));
/// // The last line gets the line end that it lacks.
/// assert_eq!(splice.bytes, b"\n\n> ---\n> <ASSISTANT />\n\nHi\n");
/// ```
pub fn append(document: &ChatMdDocument, item: &NewChatItem) -> Splice {
    append_all(document, std::slice::from_ref(item))
}

/// Returns the splice that adds items at the end of the file.
pub fn append_all(document: &ChatMdDocument, items: &[NewChatItem]) -> Splice {
    let source = document.source();
    let line_end = line_end(source);
    let mut out = String::new();
    let is_first = source.is_empty() || source == BOM;
    if !is_first {
        out.push_str(end_of_last_line(source, line_end));
    }
    if !is_first && !waits_for_lines(document) {
        out.push_str(line_end);
    }
    let is_open = document.scan.has_open_fence_at(source.len());
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(line_end);
        }
        out.push_str(&item.write(ItemForm {
            line_end,
            apart: is_open && at == 0,
            ..ItemForm::default()
        }));
    }
    Splice {
        at: Span::new(source.len(), source.len()),
        bytes: out.into_bytes(),
    }
}

/// Returns the line end that the last line of a file lacks. A lone `\r` at the end is part of the text.
fn end_of_last_line<'a>(source: &[u8], line_end: &'a str) -> &'a str {
    match source.last() {
        Some(b'\n') => "",
        Some(b'\r') => "\r\n",
        _ => line_end,
    }
}

/// Returns whether the last item has fewer lines than its `stored` says. With one line more, it would read differently, so
/// no empty line may be added behind it.
fn waits_for_lines(document: &ChatMdDocument) -> bool {
    let last = document.items().next_back();
    last.is_some_and(|last| !last.is_stored_as_it_says(last.attribute("stored").as_deref()))
}

/// Replaces the text of an item. Its tag changes only if it must say how the text is stored.
/// ```
/// use analects_formats::chatmd::{Splice, decode, replace_text};
///
/// let document = decode("> ---\n> <USER />\n\nHello\n");
/// let item = document.item(0).unwrap();
/// let splices = replace_text(&document, item, "Good morning");
/// let after = Splice::apply_all(&splices, document.source());
/// assert_eq!(after, b"> ---\n> <USER />\n\nGood morning\n");
/// ```
pub fn replace_text(document: &ChatMdDocument, item: ChatItem<'_>, text: &str) -> Vec<Splice> {
    let line_end = line_end(document.source());
    let apart = says_apart(item) || document.scan.has_open_fence_at(item.span().start);
    let mut splices = Vec::new();
    let words = stored_words(text, apart);
    if item.attribute("stored") != words {
        splices.extend(stored_splice(item, words.as_deref()));
    }
    let below = item.below_tag();
    let source = document.source();
    let mut bytes = String::new();
    if !source[..below.start].ends_with(b"\n") {
        bytes.push_str(line_end);
    }
    if !text.is_empty() {
        bytes.push_str(line_end);
        bytes.push_str(&NewChatItem::new("USER", text).body(line_end, false));
    }
    if below.end < source.len() {
        bytes.push_str(line_end);
    }
    splices.push(Splice {
        at: below,
        bytes: bytes.into_bytes(),
    });
    splices
}

/// Returns whether an item already says that code blocks above do not reach it.
fn says_apart(item: ChatItem<'_>) -> bool {
    tag_line(item.tag_text()).is_some_and(|tag| tag.apart)
}

/// Sets, changes or removes `stored`. The other attributes must read as before, even in a malformed tag.
fn stored_splice(item: ChatItem<'_>, words: Option<&str>) -> Vec<Splice> {
    if let Some(words) = words {
        return set_splices(item, "stored", words).unwrap_or_default();
    }
    let removed = remove_splices(item, "stored");
    if reads_as_meant(item, &removed, "stored", None) {
        return removed;
    }
    set_splices(item, "stored", "").unwrap_or_default()
}

/// Sets an attribute of a tag in its place, or after the others. Removes it if there is no value. All other bytes stay.
/// Fails with the attribute to type if that would change how other attributes read.
/// ```
/// use analects_formats::chatmd::{Splice, decode, set_attribute};
///
/// let document = decode("> ---\n> <USER author='me' />\n\nHello\n");
/// let item = document.item(0).unwrap();
/// let splices = set_attribute(item, "author", Some("you")).unwrap();
/// let after = decode(Splice::apply_all(&splices, document.source()));
/// assert_eq!(after.item(0).unwrap().attribute("author").as_deref(), Some("you"));
/// assert!(set_attribute(item, "not a key", Some("")).is_err());
/// ```
pub fn set_attribute(
    item: ChatItem<'_>,
    key: &str,
    value: Option<&str>,
) -> Result<Vec<Splice>, Refusal> {
    if !is_key(key) {
        let message = format!("{key:?} is not a key that can be set");
        return Err(refuse(key, value, message));
    }
    if key == "stored" {
        let message = "stored is set by whoever writes the text".to_string();
        return Err(refuse(key, value, message));
    }
    let splices = match value {
        Some(value) => set_splices(item, key, value),
        None => Some(remove_splices(item, key))
            .filter(|splices| reads_as_meant(item, splices, key, None)),
    };
    splices.ok_or_else(|| {
        let message = format!("{key} cannot be set without changing how other attributes read");
        refuse(key, value, message)
    })
}

/// Refuses a change, with the attribute that a person can type instead.
fn refuse(key: &str, value: Option<&str>, message: String) -> Refusal {
    let mut typed = String::new();
    write_attribute(&mut typed, key, value.unwrap_or_default());
    Refusal {
        message,
        type_this: typed.trim().to_string(),
    }
}

/// The positions of an attribute in the file.
struct AttributeSpans {
    key: Span,
    /// The whole attribute, quotes included.
    whole: Span,
}

/// Returns the positions of a tag's attributes, and the offset behind the last one.
fn attribute_spans(item: ChatItem<'_>) -> (Vec<AttributeSpans>, usize) {
    let start = item.tag().start;
    let mut scanner = AttributeScanner::new(item.tag_text(), item.name_end(), AttributeEnd::Tag);
    let mut attributes = Vec::new();
    let mut end = start + item.name_end();
    for token in &mut scanner {
        match token {
            AttributeToken::Attribute { key, whole, .. } => {
                let key = shifted(key, start);
                let whole = shifted(whole, start);
                end = whole.end;
                attributes.push(AttributeSpans { key, whole });
            }
            AttributeToken::Junk(span) => end = shifted(span, start).end,
        }
    }
    (attributes, end)
}

/// Moves a span of the line to its position in the file.
fn shifted(span: Span, offset: usize) -> Span {
    Span::new(offset + span.start, offset + span.end)
}

/// Sets an attribute, trying several ways until one leaves the others as they were: in its place or after the others, or
/// else before them; in quotes, or else without. A value without quotes before all others always works, because what
/// follows is read from there as before.
fn set_splices(item: ChatItem<'_>, key: &str, value: &str) -> Option<Vec<Splice>> {
    let (attributes, end) = attribute_spans(item);
    let mut quoted = String::new();
    write_attribute(&mut quoted, key, value);
    let bare = format!(" {key}={}", bare_value(value));
    let name_end = item.spans().name.end;
    let known = attributes
        .iter()
        .rfind(|spans| item.bytes(spans.key) == key.as_bytes());
    let candidates = match known {
        Some(known) => vec![
            replacement(known.whole, &quoted[1..]),
            replacement(known.whole, &bare[1..]),
        ],
        None => vec![
            replacement(Span::new(end, end), &quoted),
            replacement(Span::new(name_end, name_end), &quoted),
            replacement(Span::new(name_end, name_end), &format!("{bare} ")),
        ],
    };
    candidates
        .into_iter()
        .map(|splice| vec![splice])
        .find(|splices| reads_as_meant(item, splices, key, Some(value)))
}

/// Returns the splice that puts a text in the place of a span.
fn replacement(at: Span, text: &str) -> Splice {
    Splice {
        at,
        bytes: text.as_bytes().to_vec(),
    }
}

/// Removes all attributes of a name, each with the blank before it.
fn remove_splices(item: ChatItem<'_>, key: &str) -> Vec<Splice> {
    let mut splices = Vec::new();
    for AttributeSpans { key: name, whole } in attribute_spans(item).0 {
        if item.bytes(name) == key.as_bytes() {
            splices.push(replacement(Span::new(whole.start - 1, whole.end), ""));
        }
    }
    splices
}

/// Returns whether a tag says the same after a change, apart from the attribute that was set.
fn reads_as_meant(item: ChatItem<'_>, splices: &[Splice], key: &str, value: Option<&str>) -> bool {
    let after = Splice::apply_all(splices, item.document.source());
    let mut length = item.tag_text().len();
    for splice in splices {
        length = length + splice.bytes.len() - splice.at.len();
    }
    let line = Span::new(item.tag().start, item.tag().start + length).of(&after);
    if tag_line(line).is_none() {
        return false;
    }
    let before = TagReading::of(item.tag_text(), item.name_end(), key);
    let after = TagReading::of(line, item.name_end(), key);
    before.others == after.others && before.junk == after.junk && after.value.as_deref() == value
}

/// How a tag reads, seen from one attribute.
struct TagReading {
    /// The last value of the attribute.
    value: Option<String>,
    /// All attributes with other names.
    others: Vec<(String, String)>,
    /// The number of parts that are not attributes.
    junk: usize,
}

impl TagReading {
    /// Reads a tag line. `name_end` is the offset behind the tag's name.
    fn of(line: &[u8], name_end: usize, key: &str) -> TagReading {
        let (mut attributes, junk) = tag_attributes(line, name_end);
        let named = attributes.extract_if(.., |(name, _)| name == key);
        let value = named.last().map(|(_, value)| value);
        TagReading {
            value,
            others: attributes,
            junk: junk.len(),
        }
    }
}
