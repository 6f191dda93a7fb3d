//! The status line: one line on stderr that the next output replaces. It says that something goes on, and leaves
//! nothing behind.
//!
//! The line is written only if stderr is a terminal that understands escape codes. It is cut to the width of the
//! window, because a line that wraps could not be cleared.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::colour::{Colour, Ink, is_dumb};
use super::text::{escape_line, fit_start};

/// Goes back to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// There is one terminal, and so one status line.
static LINE: Mutex<StatusLine> = Mutex::new(StatusLine {
    is_shown: false,
    changes: 0,
});

/// What is known about the status line. Whoever draws it holds the lock.
struct StatusLine {
    /// Whether something is on the line now, so that clearing an empty one prints nothing.
    is_shown: bool,
    /// How often it was changed; a thread that counts seconds ends when something else has changed it.
    changes: u64,
}

/// Shows a text as the status line; an empty one removes it. Without a terminal, nothing happens.
/// Control characters in it are escaped, so it may quote a model.
pub fn show(text: &str) {
    locked().change(text);
}

/// Removes the status line; called before anything else is printed.
pub fn clear() {
    show("");
}

/// Shows what the program waits for, and after a second for how long, until something else is shown or printed.
/// Returns at once. A thread counts the seconds and ends by itself.
pub fn wait_for(what: &str) {
    let mut line = locked();
    line.change(&format!("waiting for {what} …"));
    if line.is_shown {
        let what = what.to_string();
        let changes = line.changes;
        thread::spawn(move || count_seconds(&what, changes));
    }
}

/// Ends as soon as the line was changed by anybody else, which `changes` tells: the number of changes after its own.
fn count_seconds(what: &str, mut changes: u64) {
    let start = Instant::now();
    loop {
        thread::sleep(Duration::from_secs(1));
        let mut line = locked();
        if line.changes != changes {
            return;
        }
        let seconds = start.elapsed().as_secs();
        line.change(&format!("waiting for {what} … {seconds} s"));
        changes = line.changes;
    }
}

/// Usable even after a panic, since the worst that can be wrong is the line itself.
fn locked() -> MutexGuard<'static, StatusLine> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StatusLine {
    /// Counts as a change even where nothing is drawn, so a counting thread ends there too.
    fn change(&mut self, text: &str) {
        self.changes += 1;
        let stderr = io::stderr();
        let is_needless = text.is_empty() && !self.is_shown;
        if is_needless || !stderr.is_terminal() || is_dumb() {
            return;
        }
        let width = super::stderr_width();
        let line = fit_start(escape_line(text), width.saturating_sub(1));
        let line = Colour::of(&stderr).paint(Ink::Faint, &line);
        let mut out = stderr.lock();
        let _ = write!(out, "{CLEAR_LINE}{line}").and_then(|()| out.flush());
        self.is_shown = !text.is_empty();
    }
}
