//! What can be done about a problem or an error. The libraries say what; the program that a person uses says how it
//! is done there, so no variant names a command or an option.

use std::borrow::Cow;

/// What can be done about a problem or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A sentence about the data or its format, which holds in every program: lower case, no full stop.
    Note(Cow<'static, str>),
    /// Look at the cells of the file.
    ShowCells,
    /// Undo the compaction.
    UndoCompaction,
    /// Show this cell or message again, which is hidden.
    Restore(Box<str>),
    /// Repair the transcript: what is wrong is left as it is and not read, and the repaired file lacks it.
    RepairTranscript,
    /// Compact the conversation, or choose a model with a larger window.
    CompactOrLargerModel,
    /// Allow the pictures of the file.
    AllowPictures,
    /// Convert in full, which keeps everything.
    ConvertInFull,
}

impl Hint {
    /// The sentence, if it holds in every program.
    pub fn as_note(&self) -> Option<&str> {
        if let Hint::Note(text) = self { Some(text) } else { None }
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Hint {
        Hint::Note(Cow::Borrowed(text))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Hint {
        Hint::Note(Cow::Owned(text))
    }
}
