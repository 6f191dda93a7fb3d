//! The lines of a result, up to a number and a size that a model can take.

/// The most bytes of text that a call returns.
pub(crate) const MOST_BYTES: usize = 50_000;

/// Lines that are collected until there are too many.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<String>,
    bytes: usize,
    most: usize,
    is_cut: bool,
}

impl Lines {
    /// Takes at most this many lines.
    pub fn new(most: usize) -> Lines {
        Lines {
            lines: Vec::new(),
            bytes: 0,
            most,
            is_cut: false,
        }
    }

    /// Adds a line if there is room for it. False if there was none.
    pub fn push(&mut self, line: String) -> bool {
        self.bytes += line.len() + 1;
        self.is_cut = self.is_cut || self.lines.len() == self.most || self.bytes > MOST_BYTES;
        if !self.is_cut {
            self.lines.push(line);
        }
        !self.is_cut
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Whether a line was left out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The text of the lines with these notes behind them.
    pub fn with_notes(mut self, notes: Vec<String>) -> String {
        self.lines.extend(notes);
        self.lines.join("\n")
    }
}

/// The beginning of a text, up to this many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}
