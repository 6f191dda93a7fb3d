//! Marks inside a text: emphasis, code, links. A mark is held back until its partner comes, so that one
//! without a partner is shown as it stands; but never longer than a few sentences, and never past its
//! paragraph. Line ends in what comes back are those between two lines of a paragraph.

mod literal;

use super::style::{Ink, Span, Style};
use literal::{angle, dollars, entity, escape, is_sum_before};

/// How many bytes wait for the partner of a mark of emphasis, or of a bracket.
const LONGEST_SPAN: usize = 400;
/// How many for that of a strong one, which is hardly ever meant as it stands.
const LONGEST_STRONG: usize = 1_000;
/// How many for that of code.
const LONGEST_CODE: usize = 400;
/// How many for that of a formula, which may be a sum of money.
const LONGEST_MATH: usize = 240;
/// How many for the end of a link's address.
const LONGEST_LINK: usize = 1_000;

/// What may end something in which marks mean themselves, so that one after it is a partner, or one in it.
const ENDS_OF_LITERALS: &str = " <>$)]";

/// The text of a paragraph while it comes.
#[derive(Debug)]
pub struct Inline {
    style: Style,
    /// What waits for its partner.
    pending: String,
    /// The character before that.
    before: Option<char>,
    looked: Looked,
    address: Address,
}

/// How far the partner of the first mark was looked for in vain.
#[derive(Debug, Default)]
struct Looked {
    at: usize,
    /// Whether something stands there that is not over, and in which marks may mean themselves.
    waits: bool,
}

/// Whether we are in an address such as `https://a.b/_c_`, in which underscores mean themselves.
#[derive(Debug, Default)]
struct Address {
    is_open: bool,
    /// How many brackets are open in it: it may stand in some itself.
    brackets: usize,
    /// How much of `://` came last.
    came: usize,
}

impl Address {
    fn note(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '(' => self.brackets += 1,
                ')' if self.brackets > 0 => self.brackets -= 1,
                ' ' | ')' | '<' | '>' | '"' | '`' => self.is_open = false,
                // Chinese has no blank after an address.
                c if !c.is_ascii_graphic() => self.is_open = false,
                _ => {}
            }
            self.came = match (c, self.came) {
                (':', _) => 1,
                ('/', 1) => 2,
                ('/', 2) => {
                    (self.is_open, self.brackets) = (true, 0);
                    0
                }
                _ => 0,
            };
        }
    }
}

/// What stands at the start of a text.
enum Step {
    /// More must come before that is known.
    Wait,
    /// So many bytes that mean themselves.
    Literal(usize),
    /// So many bytes that stand for this.
    Spans(usize, Vec<Span>),
}

impl Inline {
    pub fn new(style: Style) -> Inline {
        let address = Address::default();
        Inline {
            style,
            pending: String::new(),
            before: None,
            looked: Looked::default(),
            address,
        }
    }

    /// Takes a character, and gives what can be shown.
    pub fn push(&mut self, c: char) -> Vec<Span> {
        let before = self.pending.len();
        let last = self.pending.chars().next_back().unwrap_or(c);
        self.pending.push(c);
        let crosses = |limit: usize| before < limit && self.pending.len() >= limit;
        let is_too_long = [LONGEST_MATH, LONGEST_SPAN, LONGEST_CODE, LONGEST_LINK]
            .into_iter()
            .any(crosses);
        // What waits is looked at again only when that may change something.
        let closes = |c: char| match self.pending.chars().next() {
            Some(mark @ ('*' | '_' | '~')) => {
                c == mark || (self.looked.waits && ENDS_OF_LITERALS.contains(c))
            }
            Some(mark @ ('`' | '$')) => c == mark,
            Some('[' | '!') => matches!(c, '[' | ']' | '(' | ')'),
            Some('\\') => matches!(c, ']' | ')'),
            _ => true,
        };
        if before < 24 || closes(c) || closes(last) || is_too_long {
            self.work(false)
        } else {
            Vec::new()
        }
    }

    /// What at the start of a text means nothing but itself: nothing while something waits.
    pub fn words(&mut self, text: &str) -> Option<Span> {
        let is_other = |c: char| is_special(c) || matches!(c, '\n' | '\r');
        let words = &text[..text.find(is_other).unwrap_or(text.len())];
        let last = words
            .chars()
            .next_back()
            .filter(|_| self.pending.is_empty())?;
        self.before = Some(last);
        self.address.note(words);
        Some(Span::new(self.style, words))
    }

    /// The line is over, but perhaps not the paragraph: gives what can be shown without its line end, and
    /// whether something waits for the next line.
    pub fn end_line(&mut self) -> (Vec<Span>, bool) {
        self.pending.push('\n');
        let mut spans = self.work(false);
        if !self.pending.is_empty() {
            return (spans, true);
        }
        if let Some(last) = spans.last_mut().filter(|last| last.text.ends_with('\n')) {
            last.text.pop();
        }
        (spans, false)
    }

    /// Gives what still waits: the paragraph is over.
    pub fn end(&mut self) -> Vec<Span> {
        if self.pending.ends_with('\n') {
            self.pending.pop();
        }
        self.work(true)
    }

    fn work(&mut self, ends: bool) -> Vec<Span> {
        let mut spans = Vec::new();
        let pending = std::mem::take(&mut self.pending);
        let mut rest = &pending[..];
        while !rest.is_empty() {
            let step = if rest.starts_with(['_', '~']) && self.address.is_open {
                Step::Literal(1)
            } else {
                step(rest, self.before, self.style, ends, &mut self.looked)
            };
            let length = match step {
                Step::Wait => break,
                Step::Literal(length) => {
                    spans.push(Span::new(self.style, &rest[..length]));
                    length
                }
                Step::Spans(length, inner) => {
                    spans.extend(inner);
                    length
                }
            };
            self.looked = Looked::default();
            self.address.note(&rest[..length]);
            self.before = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        self.pending = rest.to_string();
        spans
    }
}

/// The spans of a text that is all there.
pub fn spans(text: &str, style: Style) -> Vec<Span> {
    let mut inline = Inline::new(style);
    inline.pending = text.to_string();
    inline.end()
}

fn is_special(c: char) -> bool {
    "*_~`[]()\\!$<>&".contains(c)
}

fn step(text: &str, before: Option<char>, style: Style, ends: bool, looked: &mut Looked) -> Step {
    match text.chars().next() {
        Some('\\') => escape(text, style, ends),
        Some('`') => code(text, style, ends),
        Some(mark @ ('*' | '_' | '~')) => {
            let opening = Opening {
                mark,
                before,
                style,
            };
            emphasis(text, &opening, ends, looked)
        }
        Some('[') => link(text, 0, style, ends),
        Some('$') => dollars(text, ends),
        Some('<') => angle(text, style, ends),
        Some('&') => entity(text, style, ends),
        Some('!') => match text[1..].chars().next() {
            Some('[') => link(text, 1, style, ends),
            None if !ends => Step::Wait,
            _ => Step::Literal(1),
        },
        Some(c) => {
            let one = c.len_utf8();
            Step::Literal(one + text[one..].find(is_special).unwrap_or(text.len() - one))
        }
        None => Step::Wait,
    }
}

/// How many of a mark stand at the start; nothing if more may come.
fn run(text: &str, mark: char, ends: bool) -> Option<usize> {
    let length = text.chars().take_while(|c| *c == mark).count();
    (ends || length < text.len()).then_some(length)
}

/// The part of a text in which a partner is looked for.
fn within(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// Waits for a partner that may still come, or takes a mark for what it is.
fn wait_or(literal: usize, text: &str, longest: usize, ends: bool) -> Step {
    if ends || text.len() >= longest {
        Step::Literal(literal)
    } else {
        Step::Wait
    }
}

fn code(text: &str, style: Style, ends: bool) -> Step {
    let Some(length) = run(text, '`', ends) else {
        return wait_or(text.len(), text, LONGEST_CODE, ends);
    };
    let Some(inner) = closing_ticks(within(&text[length..], LONGEST_CODE), length, ends) else {
        return wait_or(length, text, LONGEST_CODE, ends);
    };
    let content = &text[length..length + inner];
    // A blank on either side is there for code that starts or ends with a tick.
    let inside = content
        .strip_prefix(' ')
        .and_then(|it| it.strip_suffix(' '));
    let shown = inside
        .filter(|inside| !inside.trim().is_empty())
        .unwrap_or(content);
    let style = Style {
        ink: Some(Ink::Cyan),
        ..style
    };
    Step::Spans(length * 2 + inner, vec![Span::new(style, shown)])
}

/// How many bytes the code takes that stands at the start of a text; 0 if it is never closed.
pub fn code_length(text: &str) -> usize {
    let length = text.bytes().take_while(|byte| *byte == b'`').count();
    let inner = within(&text[length..], LONGEST_CODE);
    closing_ticks(inner, length, true).map_or(0, |inner| length * 2 + inner)
}

/// Where the run of ticks starts that closes code.
fn closing_ticks(text: &str, length: usize, ends: bool) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let start = at + next;
        let found = run(&text[start..], '`', ends)?;
        if found == length {
            return Some(start);
        }
        at = start + found;
    }
    None
}

/// What may open an emphasis: a mark, what stands before it, and how the text around it looks.
struct Opening {
    mark: char,
    before: Option<char>,
    style: Style,
}

fn emphasis(text: &str, opening: &Opening, ends: bool, looked: &mut Looked) -> Step {
    let Opening {
        mark,
        before,
        style,
    } = *opening;
    let Some(length) = run(text, mark, ends) else {
        return wait_or(text.len(), text, 4, ends);
    };
    let follows = text[length..].chars().next();
    let is_word_before = match mark {
        '_' => before.is_some_and(char::is_alphanumeric),
        // Chinese and Japanese have no blanks between words.
        _ => before.is_some_and(|c| c.is_ascii_alphanumeric()),
    };
    let can_open = follows.is_some_and(|c| !c.is_whitespace())
        && !is_word_before
        && before != Some(mark)
        && if mark == '~' {
            length == 2
        } else {
            length <= 3
        };
    if !can_open {
        return Step::Literal(length);
    }
    let longest = if length == 1 {
        LONGEST_SPAN
    } else {
        LONGEST_STRONG
    };
    let within = within(&text[length..], longest);
    // No more of it is waited for.
    let ends_here = ends || text.len() >= longest;
    let Some(inner) = closing_mark(within, (mark, length), [ends, ends_here], looked) else {
        return wait_or(length, text, longest, ends);
    };
    let style = match (mark, length) {
        ('~', _) => Style {
            struck: true,
            ..style
        },
        (_, 1) => Style {
            italic: true,
            ..style
        },
        (_, 2) => Style {
            bold: true,
            ..style
        },
        _ => Style {
            bold: true,
            italic: true,
            ..style
        },
    };
    Step::Spans(
        length * 2 + inner,
        spans(&text[length..length + inner], style),
    )
}

/// Where the marks start that close an emphasis; goes on from where it was looked for last. What stands for
/// itself, such as code, formulas and addresses, is passed over. Whether the text ends is one thing for
/// marks, and another for what need not be waited for.
fn closing_mark(
    text: &str,
    (mark, length): (char, usize),
    [ends, ends_here]: [bool; 2],
    looked: &mut Looked,
) -> Option<usize> {
    let Looked { at, waits } = looked;
    *waits = false;
    while let Some(next) = text.get(*at..)?.find([mark, '`', '\\', '<', '$', ']']) {
        *at += next;
        let rest = &text[*at..];
        if !rest.starts_with(mark) {
            let literal = literal_length(rest, mark, ends_here);
            *waits = literal.is_none();
            *at += literal?;
            continue;
        }
        let found = run(rest, mark, ends)?;
        let after = *at + found;
        let fits = found == length || (found == 3 && length < 3);
        if fits && closes(text, *at, after, mark) {
            return Some(after - length);
        }
        *at = after;
    }
    *at = text.len();
    None
}

/// How many bytes at the start of a text stand for themselves, in an emphasis; nothing if more must come
/// before that is known. The address of a link begins at the bracket before it.
fn literal_length(text: &str, mark: char, ends: bool) -> Option<usize> {
    let step = match text.as_bytes().first() {
        Some(b'`') => code(text, Style::PLAIN, ends),
        Some(b'\\') => escape(text, Style::PLAIN, ends),
        Some(b'<') => angle(text, Style::PLAIN, ends),
        Some(b'$') if is_sum_before(text, mark) => Step::Literal(1),
        Some(b'$') => dollars(text, ends),
        Some(b']') => target(text, ends),
        _ => Step::Literal(1),
    };
    match step {
        Step::Wait => None,
        Step::Literal(length) | Step::Spans(length, _) => Some(length),
    }
}

/// `](address)`. No address holds the start of another one, so nothing is looked through twice.
fn target(text: &str, ends: bool) -> Step {
    match text[1..].chars().next() {
        Some('(') => {}
        None if !ends => return Step::Wait,
        _ => return Step::Literal(1),
    }
    let inner = within(&text[1..], LONGEST_LINK);
    let other = inner.find("](");
    match matching(&inner[..other.unwrap_or(inner.len())], '(', ')') {
        Some(end) => Step::Literal(end + 2),
        None if other.is_some() => Step::Literal(2),
        None => wait_or(2, text, LONGEST_LINK, ends),
    }
}

/// Whether the marks between two places can close: something stands before them, and no word goes on
/// after underscores.
fn closes(text: &str, start: usize, end: usize, mark: char) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    let goes_on = mark == '_' && after.is_some_and(char::is_alphanumeric);
    before.is_some_and(|c| !c.is_whitespace()) && !goes_on
}

/// `[text](address)`, from the bracket at `at`: shown as the text and the address, since nobody should
/// follow what they cannot see.
fn link(text: &str, at: usize, style: Style, ends: bool) -> Step {
    let Some(close) = matching(within(&text[at..], LONGEST_SPAN), '[', ']') else {
        return wait_or(at + 1, text, LONGEST_SPAN, ends);
    };
    let after = at + close + 1;
    match text[after..].chars().next() {
        Some('(') => {}
        None if !ends => return Step::Wait,
        _ => return Step::Literal(at + 1),
    }
    let Some(end) = matching(within(&text[after..], LONGEST_LINK), '(', ')') else {
        return wait_or(at + 1, text, LONGEST_LINK, ends);
    };
    let label = &text[at + 1..at + close];
    let target = text[after + 1..after + end].trim();
    let mut shown = spans(
        label,
        Style {
            underlined: true,
            ..style
        },
    );
    let is_its_own_label = label == target && target.contains("://");
    if !target.is_empty() && !is_its_own_label {
        let blank = if shown.is_empty() { "" } else { " " };
        shown.push(Span::new(
            Style {
                faint: true,
                ..style
            },
            format!("{blank}({target})"),
        ));
    }
    Step::Spans(after + end + 1, shown)
}

/// Where the bracket is closed that stands at the start of a text.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == open => depth += 1,
            c if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
