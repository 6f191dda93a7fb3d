//! Changes to a file as splices: what goes where, and not a byte more.

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

/// Adds an item at the end of the file.
pub fn append(document: &ChatMdDocument, item: &NewChatItem) -> Splice {
    append_all(document, std::slice::from_ref(item))
}

/// Adds items at the end of the file.
pub fn append_all(document: &ChatMdDocument, items: &[NewChatItem]) -> Splice {
    let (source, line_end) = (document.source(), line_end(document.source()));
    let mut out = String::new();
    let is_first = source.is_empty() || source == BOM;
    match source.last() {
        _ if is_first => {}
        Some(b'\n') => {}
        Some(b'\r') => out.push_str("\r\n"),
        _ => out.push_str(line_end),
    }
    if !is_first && !waits_for_lines(document) {
        out.push_str(line_end);
    }
    let open = document.scan.has_open_fence_at(source.len());
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(line_end);
        }
        let apart = open && at == 0;
        out.push_str(&item.write(ItemForm {
            line_end,
            apart,
            ..ItemForm::default()
        }));
    }
    Splice {
        at: Span::new(source.len(), source.len()),
        bytes: out.into_bytes(),
    }
}

/// Whether the last item has fewer lines than its `stored` says. One more, and it would read
/// differently, so nothing may be added between it and the next.
fn waits_for_lines(document: &ChatMdDocument) -> bool {
    let last = document.items().next_back();
    last.is_some_and(|last| !last.is_stored_as_it_says(last.attribute("stored").as_deref()))
}

/// Gives an item another text. Its tag changes only if it must say how the text is stored.
pub fn replace_text(document: &ChatMdDocument, item: ChatItem<'_>, text: &str) -> Vec<Splice> {
    let end = line_end(document.source());
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
        bytes.push_str(end);
    }
    if !text.is_empty() {
        bytes.push_str(end);
        bytes.push_str(&NewChatItem::new("USER", text).body(end, false));
    }
    if below.end < source.len() {
        bytes.push_str(end);
    }
    splices.push(Splice {
        at: below,
        bytes: bytes.into_bytes(),
    });
    splices
}

fn says_apart(item: ChatItem<'_>) -> bool {
    tag_line(item.tag_text()).is_some_and(|tag| tag.apart)
}

/// Sets, changes or removes `stored`. In a tag that nobody wrote with care, the others must still read
/// as they did.
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

/// Sets an attribute of an item's tag: in its place, or after the others. Without a value it is removed.
/// Every other byte stays.
pub fn set_attribute(
    item: ChatItem<'_>,
    key: &str,
    value: Option<&str>,
) -> Result<Vec<Splice>, Refusal> {
    let mut typed = String::new();
    write_attribute(&mut typed, key, value.unwrap_or_default());
    let refuse = |message: String| Refusal {
        message,
        type_this: typed.trim().to_string(),
    };
    if !is_key(key) {
        return Err(refuse(format!("{key:?} is not a key that can be set")));
    }
    if key == "stored" {
        return Err(refuse(
            "stored is set by whoever writes the text".to_string(),
        ));
    }
    let splices = match value {
        Some(value) => set_splices(item, key, value),
        None => Some(remove_splices(item, key))
            .filter(|splices| reads_as_meant(item, splices, key, None)),
    };
    let message = format!("{key} cannot be set without changing how other attributes read");
    splices.ok_or_else(|| refuse(message))
}

/// The attributes of a tag, in places of the file.
fn places(item: ChatItem<'_>) -> (Vec<(Span, Span, Span)>, usize) {
    let (line, start) = (item.tag_text(), item.tag().start);
    let absolute = |span: Span| Span::new(start + span.start, start + span.end);
    let mut attributes = AttributeScanner::new(line, item.name_end(), AttributeEnd::Tag);
    let mut found = Vec::new();
    let mut end = start + item.name_end();
    for token in &mut attributes {
        end = match token {
            AttributeToken::Attribute { key, value, whole } => {
                found.push((absolute(key), absolute(value), absolute(whole)));
                absolute(whole).end
            }
            AttributeToken::Junk(whole) => absolute(whole).end,
        };
    }
    (found, end)
}

/// Sets an attribute: in its place, or after the others, or, if these would read differently then, before
/// them; in quotes, or, if what follows would take them for its own, without. A value without quotes that
/// stands before all others and ends with a blank always works: what follows is read from there as before.
fn set_splices(item: ChatItem<'_>, key: &str, value: &str) -> Option<Vec<Splice>> {
    let (attributes, end) = places(item);
    let mut written = String::new();
    write_attribute(&mut written, key, value);
    let splice = |start, end, text: &str| {
        vec![Splice {
            at: Span::new(start, end),
            bytes: text.as_bytes().to_vec(),
        }]
    };
    let is_key = |span: &Span| item.bytes(*span) == key.as_bytes();
    let name_end = item.spans().name.end;
    let bare = format!(" {key}={}", bare_value(value));
    let ways = match attributes.iter().rfind(|(name, _, _)| is_key(name)) {
        Some((_, _, whole)) => [&written, &bare]
            .map(|text| splice(whole.start, whole.end, &text[1..]))
            .to_vec(),
        None => vec![
            splice(end, end, &written),
            splice(name_end, name_end, &written),
            splice(name_end, name_end, &format!("{bare} ")),
        ],
    };
    ways.into_iter()
        .find(|splices| reads_as_meant(item, splices, key, Some(value)))
}

/// Removes every attribute of that name, with one blank before each.
fn remove_splices(item: ChatItem<'_>, key: &str) -> Vec<Splice> {
    let (attributes, _) = places(item);
    let named = attributes
        .iter()
        .filter(|(name, _, _)| item.bytes(*name) == key.as_bytes());
    let splice = |(_, _, whole): &(Span, Span, Span)| {
        let at = Span::new(whole.start - 1, whole.end);
        Splice {
            at,
            bytes: Vec::new(),
        }
    };
    named.map(splice).collect()
}

/// Whether the tag says after the change what it said before, apart from the one attribute.
fn reads_as_meant(item: ChatItem<'_>, splices: &[Splice], key: &str, value: Option<&str>) -> bool {
    let after = Splice::apply_all(splices, item.document.source());
    let before_len = item.tag_text().len();
    let change: isize = splices
        .iter()
        .map(|splice| splice.bytes.len() as isize - splice.at.len() as isize)
        .sum();
    let length = before_len.saturating_add_signed(change);
    let line = Span::new(item.tag().start, item.tag().start + length).of(&after);
    let others = |line: &[u8]| {
        let (attributes, junk) = tag_attributes(line, item.name_end());
        let others: Vec<_> = attributes
            .into_iter()
            .filter(|(name, _)| name != key)
            .collect();
        (others, junk.len())
    };
    let (attributes, _) = tag_attributes(line, item.name_end());
    let last = attributes.iter().rev().find(|(name, _)| name == key);
    tag_line(line).is_some()
        && others(line) == others(item.tag_text())
        && last.map(|(_, value)| value.as_str()) == value
}
