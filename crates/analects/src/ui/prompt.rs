//! The prompt of a session: a line editor on a terminal that can show one, with history, completion and large pastes;
//! and your own editor for longer texts. The caller decides what a text means.

mod completion;
mod editor;
mod history;
mod line_ends;
mod paste;
mod reader;

pub use completion::{CompletionNames, Completions};
pub use editor::{EditedText, edit_in_editor};
pub use history::History;
pub use line_ends::split_command;
pub use reader::{LinePrefill, PromptEvent, PromptReader};
