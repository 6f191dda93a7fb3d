//! Which part of an answer that still arrives is made of complete blocks: what follows cannot change it any more.
//!
//! CommonMark lets later lines change the meaning of earlier ones: a line of `===` turns a paragraph into a heading,
//! and an indented line continues an item. So a block counts as complete only once a blank line or the start of another
//! block rules that out.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The Markdown that is understood.
/// Footnotes, formulas and the like stay as the model wrote them.
pub const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Where a text can be cut.
#[derive(Debug, PartialEq, Eq)]
pub struct Cut {
    /// Everything before this byte is complete.
    pub end: usize,
    pub open: OpenBlock,
}

/// What begins where a text can be cut.
#[derive(Debug, PartialEq, Eq)]
pub enum OpenBlock {
    /// A block that must be complete before it can be shown, or none.
    Other,
    /// A fenced block of code, which can be shown line by line.
    Code,
    /// The item of a list; an ordered one has this number.
    Item(Option<u64>),
}

/// Finds the last place where whole lines of Markdown can be cut. A list can be cut between its items; the first item
/// has the number `item_number`, where the text goes on with a list.
/// `text` has whole lines only. The whole text is parsed again for each piece, which is cheap because the caller drops
/// what was shown.
pub fn last_cut(text: &str, mut item_number: Option<u64>) -> Cut {
    let mut cut = Cut {
        end: 0,
        open: OpenBlock::Other,
    };
    let mut number = None;
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let start = line_start(text, range.start);
        match event {
            Event::Start(Tag::Item) if depth == 1 => {
                cut = Cut {
                    end: start,
                    open: OpenBlock::Item(number),
                };
                number = number.map(|number| number + 1);
                depth += 1;
            }
            Event::Start(tag) => {
                if depth == 0 {
                    number = first_number(&tag).map(|first| item_number.take().unwrap_or(first));
                    cut = Cut {
                        end: start,
                        open: open_block(&tag),
                    };
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && is_over(tag, text) {
                    cut = Cut {
                        end: text.len(),
                        open: OpenBlock::Other,
                    };
                }
            }
            Event::Rule if depth == 0 => {
                cut = Cut {
                    end: line_end(text, start),
                    open: OpenBlock::Other,
                };
            }
            _ => {}
        }
    }
    cut
}

/// Indented code is not shown line by line, because a blank line may still end or continue it.
fn open_block(tag: &Tag) -> OpenBlock {
    match tag {
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => OpenBlock::Code,
        _ => OpenBlock::Other,
    }
}

/// `None` for lists with bullets and for everything else.
fn first_number(tag: &Tag) -> Option<u64> {
    match tag {
        Tag::List(first) => *first,
        _ => None,
    }
}

/// Whether the last block ends with the text: no further line can belong to it.
fn is_over(tag: TagEnd, text: &str) -> bool {
    match tag {
        TagEnd::Heading(_) => true,
        TagEnd::Paragraph | TagEnd::Table | TagEnd::HtmlBlock => ends_with_blank_line(text),
        _ => false,
    }
}

/// Whether the last line of a text is blank.
/// Blanks and tabs do not count, and the line must be complete.
pub fn ends_with_blank_line(text: &str) -> bool {
    let last = text.strip_suffix('\n').map(|text| text.rsplit('\n').next());
    last.flatten().is_some_and(|line| line.trim().is_empty())
}

/// The start of the line that a byte is in.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The start of the line behind the one that a byte is in.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, complete: &str, open: OpenBlock) {
        let cut = last_cut(text, None);
        assert_eq!((&text[..cut.end], cut.open), (complete, open));
    }

    #[test]
    fn a_block_is_complete_when_the_next_one_begins() {
        check("one\n", "", OpenBlock::Other);
        check("one\n\ntwo\n", "one\n\n", OpenBlock::Other);
        check("one\n# two\n", "one\n# two\n", OpenBlock::Other);
        check("one\n\n---\n", "one\n\n---\n", OpenBlock::Other);
        check("> one\n\n", "", OpenBlock::Other);
    }

    #[test]
    fn a_blank_line_ends_a_paragraph_and_a_table() {
        check("one\ntwo\n\n", "one\ntwo\n\n", OpenBlock::Other);
        check("|a|\n|-|\n|b|\n\n", "|a|\n|-|\n|b|\n\n", OpenBlock::Other);
        check("|a|\n|-|\n|b|\n", "", OpenBlock::Other);
    }

    #[test]
    fn lists_are_cut_between_their_items() {
        check("- a\n- b\n", "- a\n", OpenBlock::Item(None));
        check(
            "3. a\n\n   b\n9. c\n",
            "3. a\n\n   b\n",
            OpenBlock::Item(Some(4)),
        );
        check("- a\n  - b\n  - c\n", "", OpenBlock::Item(None));
    }

    #[test]
    fn a_fence_is_open_until_it_is_closed() {
        check("text\n```rust\nlet x", "text\n", OpenBlock::Code);
        check("- a\n  ```\n  b\n", "", OpenBlock::Item(None));
    }
}
