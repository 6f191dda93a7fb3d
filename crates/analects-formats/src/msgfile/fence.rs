//! Fenced code blocks, as far as cells need them: which lines a closed fence hides, and whether a text leaves a fence
//! open. The time is linear in the length of any text.

use analects_core::Span;

use super::line::is_blank_line;
use super::scan::{line_text, lines};

/// A run of at least three backticks or tildes at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    /// `` ` `` or `~`.
    mark: u8,
    /// The length of the run.
    run: usize,
    /// Whether the line may open a fence.
    opens: bool,
    /// Whether the line is nothing but the run, and so may close a fence.
    closes: bool,
}

impl Fence {
    /// Reads a line whose indentation is stripped.
    pub(crate) fn parse(text: &[u8]) -> Option<Fence> {
        let mark = *text.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let run = text.iter().take_while(|byte| **byte == mark).count();
        let rest = &text[run..];
        // An info string of a backtick fence holds no backtick: that would be inline code.
        let opens = mark == b'~' || !rest.contains(&b'`');
        let closes = rest.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        (run >= 3).then_some(Fence {
            mark,
            run,
            opens,
            closes,
        })
    }

    /// Whether the line may open a fence.
    pub(crate) fn opens(self) -> bool {
        self.opens
    }

    /// Whether this line closes a fence that `opener` opened.
    pub(crate) fn closes(self, opener: Fence) -> bool {
        self.closes && self.mark == opener.mark && self.run >= opener.run
    }

    /// The line that closes this fence.
    pub(crate) fn closer(self) -> String {
        char::from(self.mark).to_string().repeat(self.run)
    }
}

/// A line that may open or close a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FenceLine {
    /// In the first column: may hide heads.
    Flush(Fence),
    /// Indented by one to three blanks: hides nothing.
    Indented(Fence),
    /// After a list marker: hides nothing, and ends with the list item.
    Listed {
        /// The fence.
        fence: Fence,
        /// The column in which the item's text starts.
        column: usize,
    },
}

impl FenceLine {
    /// Reads a line, without its line end.
    pub(crate) fn parse(text: &[u8]) -> Option<FenceLine> {
        let blanks = indentation(text);
        match text.get(blanks)? {
            b'`' | b'~' if blanks == 0 => Fence::parse(text).map(FenceLine::Flush),
            b'`' | b'~' if blanks <= 3 => Fence::parse(&text[blanks..]).map(FenceLine::Indented),
            b'-' | b'*' | b'+' | b'0'..=b'9' if blanks <= 3 => {
                let column = blanks + list_marker(&text[blanks..])?;
                let fence = Fence::parse(&text[column..])?;
                Some(FenceLine::Listed { fence, column })
            }
            _ => None,
        }
    }

    /// The fence of a line that may close one from outside a list: indented by at most three.
    fn as_closer(self) -> Option<Fence> {
        match self {
            FenceLine::Flush(fence) | FenceLine::Indented(fence) => Some(fence),
            FenceLine::Listed { .. } => None,
        }
    }
}

/// The number of blanks (spaces) that a line starts with.
pub(crate) fn indentation(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b' ').count()
}

/// The length of a list marker and the blanks after it.
fn list_marker(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let marker = match (digits, text.get(digits)?) {
        (0, b'-' | b'*' | b'+') => 1,
        (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    let blanks = indentation(&text[marker..]);
    (blanks > 0).then_some(marker + blanks)
}

/// A line of a region that opens, closes or limits fences, or that a fence may hide.
#[derive(Debug, Clone, Copy)]
enum FenceEvent<T> {
    /// A fence line, and its offset.
    Fence(FenceLine, usize),
    /// The end of the list item in which a fence was opened.
    ItemEnd,
    /// Something that a closed fence hides, such as a loose head.
    Hideable(T),
}

/// A part of a file in which fences open and close. It collects lines, and decides at its [`end`](Region::end).
#[derive(Debug)]
pub(crate) struct Region<T> {
    events: Vec<FenceEvent<T>>,
    /// The column of the list item that the current line may belong to.
    item: Option<usize>,
    /// Whether to look for fences that were cut off, and whose closer belongs to another fence.
    looks_for_cuts: bool,
}

impl<T: Copy> Region<T> {
    pub(crate) fn new() -> Region<T> {
        Region {
            events: Vec::new(),
            item: None,
            looks_for_cuts: false,
        }
    }

    /// A region in which a fence hides nothing if, after something hideable, a line follows before
    /// its closer that can only open another one like it: then nobody closed the first.
    pub(crate) fn with_cuts() -> Region<T> {
        Region {
            looks_for_cuts: true,
            ..Region::new()
        }
    }

    /// Whether even a line without a fence matters, because it may end a list item.
    pub(crate) fn is_in_item(&self) -> bool {
        self.item.is_some()
    }

    /// Takes a line that is not blank, without its line end.
    pub(crate) fn line(&mut self, text: &[u8], offset: usize) {
        if self.item.is_some_and(|column| indentation(text) < column) {
            self.item = None;
            self.events.push(FenceEvent::ItemEnd);
        }
        match FenceLine::parse(text) {
            // What a list item holds is its own business until the item ends.
            None => {}
            Some(FenceLine::Listed { .. }) if self.item.is_some() => {}
            Some(fence) => {
                if let FenceLine::Listed { column, .. } = fence {
                    self.item = Some(column);
                }
                self.events.push(FenceEvent::Fence(fence, offset));
            }
        }
    }

    /// Whether it has no line yet that could hide or be hidden.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds something that a closed fence hides.
    pub(crate) fn hideable(&mut self, item: T) {
        self.events.push(FenceEvent::Hideable(item));
    }

    /// Removes what was added last.
    pub(crate) fn take_back(&mut self) {
        self.events.pop();
    }

    /// Ends the region: calls `show` for everything that is not hidden, and `closed` for each closed fence. Returns the
    /// offset of the first fence that is not closed. The region is empty afterwards.
    pub(crate) fn end(
        &mut self,
        show: impl FnMut(T),
        closed: impl FnMut(usize, usize),
    ) -> Option<usize> {
        self.item = None;
        if self.events.is_empty() {
            return None;
        }
        let mut closers = closers(&self.events);
        if self.looks_for_cuts {
            forget_cut_off(&self.events, &mut closers);
        }
        let unclosed = visible(&self.events, &closers, show, closed);
        self.events.clear();
        unclosed
    }
}

/// Calls `show` for everything in a region that no closed fence hides, in order, and `closed` with the offsets of the
/// lines that open and close each hiding fence. Returns the first opener that nothing closes.
///
/// A fence in the first column hides what it encloses if it is closed within the region. Other
/// fences hide nothing, but are followed to their closer, so that it is not taken for an opener.
fn visible<T: Copy>(
    events: &[FenceEvent<T>],
    closers: &[Option<usize>],
    mut show: impl FnMut(T),
    mut closed: impl FnMut(usize, usize),
) -> Option<usize> {
    let mut unclosed = None;
    let mut at = 0;
    while let Some(event) = events.get(at) {
        at = match *event {
            FenceEvent::Hideable(item) => {
                show(item);
                at + 1
            }
            FenceEvent::Fence(FenceLine::Flush(_), offset) => match closers[at] {
                Some(closer) => {
                    closed(offset, offset_of(&events[closer]));
                    closer + 1
                }
                None => {
                    unclosed = unclosed.or(opens(event).then_some(offset));
                    at + 1
                }
            },
            FenceEvent::Fence(FenceLine::Indented(fence), _) if fence.opens => {
                follow(events, at, fence)
            }
            FenceEvent::Fence(FenceLine::Listed { .. }, _) => item_end(events, at),
            FenceEvent::Fence(..) | FenceEvent::ItemEnd => at + 1,
        };
    }
    unclosed
}

/// Whether this line can open a fence that hides.
fn opens<T>(event: &FenceEvent<T>) -> bool {
    matches!(event, FenceEvent::Fence(FenceLine::Flush(fence), _) if fence.opens)
}

fn offset_of<T>(event: &FenceEvent<T>) -> usize {
    if let FenceEvent::Fence(_, offset) = event {
        *offset
    } else {
        0
    }
}

/// The index at which to continue after an indented opener: after its closer, or at the next head.
fn follow<T>(events: &[FenceEvent<T>], opener: usize, fence: Fence) -> usize {
    let rest = events[opener + 1..].iter();
    let end = rest.enumerate().find_map(|(at, event)| match event {
        FenceEvent::Hideable(_) => Some(at),
        FenceEvent::Fence(line, _) => line
            .as_closer()
            .filter(|closer| closer.closes(fence))
            .map(|_| at + 1),
        FenceEvent::ItemEnd => None,
    });
    end.map_or(events.len(), |end| opener + 1 + end)
}

/// The index at which to continue after an opener in a list item: the end of the item.
fn item_end<T>(events: &[FenceEvent<T>], opener: usize) -> usize {
    let rest = events[opener + 1..].iter();
    let end =
        rest.take_while(|event| !matches!(event, FenceEvent::ItemEnd | FenceEvent::Hideable(_)));
    opener + 1 + end.count()
}

/// Longer runs count as this long when cuts are looked for.
const LONGEST_CUT: usize = 16;

/// Removes the closer of every opener that was cut off; see [`Region::with_cuts`].
fn forget_cut_off<T>(events: &[FenceEvent<T>], closers: &mut [Option<usize>]) {
    let mut hideables = Vec::new();
    // Where lines stand that can only open a fence, by mark and length.
    let mut openers: [[Vec<usize>; LONGEST_CUT + 1]; 2] = Default::default();
    for (at, event) in events.iter().enumerate() {
        match event {
            FenceEvent::Hideable(_) => hideables.push(at),
            FenceEvent::Fence(FenceLine::Flush(fence), _) if fence.opens && !fence.closes => {
                openers[usize::from(fence.mark == b'~')][fence.run.min(LONGEST_CUT)].push(at);
            }
            _ => {}
        }
    }
    for (at, event) in events.iter().enumerate() {
        let FenceEvent::Fence(FenceLine::Flush(fence), _) = event else {
            continue;
        };
        let Some(closer) = closers[at] else { continue };
        let Some(hidden) = next_after(&hideables, at).filter(|hidden| *hidden < closer) else {
            continue;
        };
        let longer = &openers[usize::from(fence.mark == b'~')][fence.run.min(LONGEST_CUT)..];
        let mut after = longer.iter().filter_map(|list| next_after(list, hidden));
        if after.any(|opener| opener < closer) {
            closers[at] = None;
        }
    }
}

/// The first number in a sorted list that is larger than `at`.
fn next_after(list: &[usize], at: usize) -> Option<usize> {
    list.get(list.partition_point(|other| *other <= at))
        .copied()
}

/// For each opener in the first column, the next line that closes it.
///
/// Read from the end, so that each opener finds its closer among the few that are not hidden behind
/// a nearer and longer one: looking through all lines for each opener would be quadratic.
fn closers<T>(events: &[FenceEvent<T>]) -> Vec<Option<usize>> {
    let mut found = vec![None; events.len()];
    // For each mark, closers that lie ahead: nearest last, and the longer the farther.
    let mut ahead: [Vec<(usize, usize)>; 2] = [Vec::new(), Vec::new()];
    for (at, event) in events.iter().enumerate().rev() {
        let FenceEvent::Fence(line, _) = event else {
            continue;
        };
        let Some(fence) = line.as_closer() else {
            continue;
        };
        let ahead = &mut ahead[usize::from(fence.mark == b'~')];
        if fence.opens && matches!(line, FenceLine::Flush(_)) {
            let first_long_enough = ahead.partition_point(|(_, run)| *run >= fence.run);
            found[at] = first_long_enough
                .checked_sub(1)
                .map(|nearest| ahead[nearest].0);
        }
        if fence.closes {
            while ahead.last().is_some_and(|(_, run)| *run <= fence.run) {
                ahead.pop();
            }
            ahead.push((at, fence.run));
        }
    }
    found
}

/// The closed fences of a text, in order, each from its opening line to its closing one. Heads in the text do not
/// matter: those that no fence hides are escaped.
pub(crate) fn closed_fences(content: impl AsRef<[u8]>) -> Vec<Span> {
    let mut region: Region<()> = Region::new();
    for (at, line) in lines(content.as_ref(), 0) {
        let text = line_text(line);
        if !is_blank_line(text) {
            region.line(text, at);
        }
    }
    let mut fences = Vec::new();
    region.end(|()| {}, |open, close| fences.push(Span::new(open, close)));
    fences
}

/// The lines of a part of a file that no closed fence in it hides, without their line ends, each with its offset in the
/// file.
pub(super) fn lines_outside_fences(
    source: &[u8],
    span: Span,
) -> impl Iterator<Item = (usize, &[u8])> {
    let text = span.of(source);
    let mut fences = closed_fences(text).into_iter().peekable();
    lines(text, 0).filter_map(move |(at, line)| {
        while fences.next_if(|fence| fence.end <= at).is_some() {}
        let is_hidden = fences.peek().is_some_and(|fence| fence.start <= at);
        (!is_hidden).then(|| (span.start + at, line_text(line)))
    })
}
