//! The line that a person types at: an editor of lines on a terminal that can show one, with history, completion and
//! large pastes; and the person's own editor for longer texts. What a text means is the business of whoever reads it.

mod complete;
mod editor;
mod history;
mod input;
mod lines;
mod paste;

pub use complete::{Names, Offers};
pub use editor::{Edited, edit};
pub use history::History;
pub use input::{Draft, Heard, Input};
pub use lines::command;
