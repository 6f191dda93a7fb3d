//! A block that is being written: what of it was told, and what is still to tell when the whole
//! comes.

use analects_core::{Delta, Raw, StreamEvent, Text};

use crate::reading::join;

/// What a block is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    Arguments,
}

impl Kind {
    fn delta(self, text: Text) -> Delta {
        match self {
            Kind::Text => Delta::Text(text),
            Kind::Thinking => Delta::Thinking(text),
            Kind::Arguments => Delta::PartialJson(text.as_str().into_owned()),
        }
    }
}

/// What an event says about a text.
pub(super) enum Piece {
    /// This comes next.
    More(Text),
    /// This is all of it.
    Whole(Text),
}

/// A block of an answer.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Its place in the message.
    pub index: usize,
    kind: Kind,
    told: Text,
    /// Half a character at the end, which waits for its other half.
    held: Text,
}

impl Block {
    pub fn new(index: usize, kind: Kind) -> Block {
        Block {
            index,
            kind,
            told: Text::default(),
            held: Text::default(),
        }
    }

    /// What was told so far.
    pub fn told(&self) -> &Text {
        &self.told
    }

    /// Adds a piece. Of a whole that is not what was told, the whole item will speak again.
    pub fn take(&mut self, piece: &Piece, out: &mut Vec<StreamEvent>) {
        match piece {
            Piece::More(text) => self.add(text, out),
            Piece::Whole(text) => drop(self.complete(text, out)),
        }
    }

    /// Adds a text.
    pub fn add(&mut self, piece: &Text, out: &mut Vec<StreamEvent>) {
        let piece = join(&mut self.held, piece);
        self.tell(piece, out);
    }

    /// Takes the whole text and tells what is missing of it. Gives it back where it is not what was
    /// told: a second opinion, to be kept elsewhere.
    pub fn complete(&mut self, whole: &Text, out: &mut Vec<StreamEvent>) -> Option<Raw> {
        if self.is_told(whole) {
            return None;
        }
        if self.told.is_empty() {
            self.held = Text::default();
            self.add(whole, out);
            return None;
        }
        let text = whole.as_str();
        let Some(missing) = text.strip_prefix(&*self.told.as_str()) else {
            return Some(Raw::string(&text));
        };
        self.held = Text::default();
        self.add(&missing.into(), out);
        None
    }

    /// Whether that is what was told, and what is held back. Looks no further than it has to: a
    /// server may say it again and again.
    fn is_told(&self, whole: &Text) -> bool {
        if let (Text::Plain(told), Text::Plain(whole)) = (&self.told, whole) {
            return told == whole && self.held.is_empty();
        }
        let mut so_far = self.told.clone();
        so_far.push(&self.held);
        so_far == *whole
    }

    /// Gives what was held back.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = std::mem::take(&mut self.held);
        self.tell(held, out);
    }

    fn tell(&mut self, text: Text, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            self.told.push(&text);
            let delta = self.kind.delta(text);
            out.push(StreamEvent::BlockDelta {
                index: self.index,
                delta,
            });
        }
    }
}
