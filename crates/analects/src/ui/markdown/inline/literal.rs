//! What in a line stands for itself or for one sign: formulas, escaped marks, addresses, breaks and
//! entities of HTML.

use super::{LONGEST_LINK, LONGEST_MATH, Step, run, wait_or, within};
use crate::ui::markdown::style::{Span, Style};

/// The marks that a backslash makes harmless. Brackets are not among them: with a backslash, they are
/// the marks of a formula.
const ESCAPED: &str = "*_`~#|>$.-+!<&";

/// A backslash takes the meaning of the mark after it, begins a formula, or at the end of a line asks for
/// a new one. Before anything else it stays, such as in the commands of formulas.
pub fn escape(text: &str, style: Style, ends: bool) -> Step {
    match text[1..].chars().next() {
        Some(c) if ESCAPED.contains(c) => Step::Spans(2, vec![Span::new(style, c)]),
        Some('(') => formula(text, "\\(", "\\)", ends),
        Some('[') => formula(text, "\\[", "\\]", ends),
        Some('\\') => Step::Literal(2),
        // At the end of a paragraph it means itself.
        Some('\n') if text.len() > 2 => Step::Spans(1, Vec::new()),
        Some('\n') if !ends => Step::Wait,
        None if !ends => Step::Wait,
        _ => Step::Literal(1),
    }
}

/// Signs of currency are none of formulas: a formula starts and ends without a blank, and no digit follows
/// it.
pub fn dollars(text: &str, ends: bool) -> Step {
    let Some(length) = run(text, '$', ends) else {
        return wait_or(text.len(), text, 3, ends);
    };
    match length {
        2 => return formula(text, "$$", "$$", ends),
        1 => {}
        _ => return Step::Literal(length),
    }
    let inner = within(&text[1..], LONGEST_MATH);
    if inner.starts_with(char::is_whitespace) || is_money(inner) {
        return Step::Literal(1);
    }
    let Some(close) = unescaped(inner, '$') else {
        return wait_or(1, text, LONGEST_MATH, ends);
    };
    let before = inner[..close].chars().next_back();
    match inner[close + 1..].chars().next() {
        _ if before.is_none_or(char::is_whitespace) => Step::Literal(1),
        None if !ends && inner.len() < LONGEST_MATH => Step::Wait,
        Some(c) if c.is_ascii_digit() => Step::Literal(1),
        _ => Step::Literal(close + 2),
    }
}

/// Whether what follows a dollar is an amount and then a word, or the end of a sentence: nobody should have
/// to wait for the end of a formula that is none.
fn is_money(text: &str) -> bool {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let mut rest = after.chars();
    after.len() < text.len()
        && match rest.next() {
            Some(' ') => rest.next().is_some_and(char::is_alphabetic),
            Some(c) => !c.is_ascii() || matches!(c, ';' | ':' | '!' | '?' | ')' | '\n'),
            None => false,
        }
}

/// Whether a dollar and what follows it are a sum before marks that close an emphasis, such as in `**$5**`.
pub fn is_sum_before(text: &str, mark: char) -> bool {
    let rest = &text[1..];
    let is_sum = rest.starts_with(|c: char| c.is_ascii_digit() || c == mark);
    let stops = |c: char| c == mark || c == '$' || c.is_whitespace();
    let after = rest.find(stops).map_or("", |end| &rest[end..]);
    let closing = after.trim_start_matches(mark);
    let is_over = |c: char| c.is_whitespace() || !c.is_ascii() || ".,;:!?)".contains(c);
    is_sum && closing.len() < after.len() && closing.starts_with(is_over)
}

/// A formula between its marks, shown as it stands.
fn formula(text: &str, open: &str, close: &str, ends: bool) -> Step {
    match within(&text[open.len()..], LONGEST_MATH).find(close) {
        Some(inner) => Step::Literal(open.len() + inner + close.len()),
        None => wait_or(open.len(), text, LONGEST_MATH, ends),
    }
}

/// Where a mark stands that no backslash makes harmless.
fn unescaped(text: &str, mark: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == mark => return Some(at),
            _ => {}
        }
    }
    None
}

/// `<https://…>`, or a break. Other HTML is shown as it stands.
pub fn angle(text: &str, style: Style, ends: bool) -> Step {
    let inner = within(&text[1..], LONGEST_LINK);
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return if inner.is_empty() && !ends {
            Step::Wait
        } else {
            Step::Literal(1)
        };
    }
    let is_break = inner
        .get(..2)
        .is_some_and(|name| name.eq_ignore_ascii_case("br"))
        && !inner[2..].starts_with(|c: char| !matches!(c, ' ' | '/' | '>'));
    let stops = |c: char| matches!(c, '<' | '>' | '\n') || (c == ' ' && !is_break);
    let Some(end) = inner.find(stops) else {
        return wait_or(1, text, LONGEST_LINK, ends);
    };
    let name = &inner[..end];
    match inner[end..].starts_with('>') {
        true if is_break && matches!(name[2..].trim(), "" | "/") => new_line(text, end + 2, ends),
        true if is_address(name) => Step::Spans(
            end + 2,
            vec![Span::new(
                Style {
                    underlined: true,
                    ..style
                },
                name,
            )],
        ),
        _ => Step::Literal(1),
    }
}

/// A break of so many bytes. At the end of a line, or of all, there is nothing to do for it.
fn new_line(text: &str, length: usize, ends: bool) -> Step {
    let rest = &text[length..];
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    match rest[blanks..].chars().next() {
        None if !ends && blanks < LONGEST_MATH => Step::Wait,
        None | Some('\n') => Step::Spans(length + blanks, Vec::new()),
        Some(_) => Step::Spans(length + blanks, vec![Span::new(Style::PLAIN, "\n")]),
    }
}

/// Whether what stands in angle brackets is an address.
fn is_address(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        (2..=32).contains(&scheme.len())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    };
    let is_mail = || {
        text.split_once('@')
            .is_some_and(|(_, host)| host.contains('.'))
    };
    text.split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme))
        || is_mail()
}

/// The entities that models write, and what they stand for.
const ENTITIES: [(&str, &str); 12] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&amp;", "&"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&ndash;", "–"),
    ("&mdash;", "—"),
    ("&hellip;", "…"),
    ("&times;", "×"),
    ("&rarr;", "→"),
];

pub fn entity(text: &str, style: Style, ends: bool) -> Step {
    if let Some((name, sign)) = ENTITIES.iter().find(|(name, _)| text.starts_with(name)) {
        return Step::Spans(name.len(), vec![Span::new(style, *sign)]);
    }
    let may_come = !ends && ENTITIES.iter().any(|(name, _)| name.starts_with(text));
    if may_come {
        Step::Wait
    } else {
        Step::Literal(1)
    }
}
