//! Reads your prompts: with a line editor on a terminal that can show one, else as plain lines, for example if the
//! answers go to a file.
//!
//! A prompt takes this way: prefill the line, read it, remove the backslashes at line ends, put the pastes in, and add
//! the result to the history. With plain lines, the terminal itself edits the line, so there are no marks and no
//! completion.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{
    EditCommand, Emacs, FileBackedHistory, Highlighter, HistoryItem, KeyCode, KeyModifiers,
    Keybindings, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, SimpleMatchHighlighter, StyledText, default_emacs_keybindings,
};

use super::completion::{CompletionMenu, Completions};
use super::history::{self, History};
use super::line_ends::{LineEnds, continues};
use super::paste::{PasteKeys, SharedPastes, lock};
#[cfg(unix)]
use crate::connection::block_on;
use crate::failure::{Failure, io_error_text};
use crate::{interrupt, ui};

/// What you did at the prompt.
/// A text may be empty: the caller decides what that means.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptEvent {
    /// Entered a text, with its pastes in full.
    Text(String),
    /// Cleared the line with Ctrl-C.
    Cleared,
    /// Pressed Ctrl-C in an empty line.
    NothingToClear,
    /// Pressed Ctrl-D: the session ends.
    End,
}

/// What is in the line before you type.
/// Both parts may be there after a failed answer.
#[derive(Debug, Default)]
pub struct LinePrefill {
    /// A text that could not be sent.
    pub unsent: String,
    /// What you typed or pasted while an answer came.
    pub typed: String,
}

impl LinePrefill {
    /// Whether there is nothing to put into the line.
    fn is_empty(&self) -> bool {
        self.unsent.is_empty() && self.typed.is_empty()
    }
}

/// Joins two texts, each on lines of its own.
fn join_lines(unsent: &str, typed: &str) -> String {
    if unsent.is_empty() || typed.is_empty() {
        return format!("{unsent}{typed}");
    }
    format!("{unsent}\n{typed}")
}

/// Reads prompts from the terminal.
pub struct PromptReader {
    /// `None` where the terminal itself reads lines.
    editor: Option<Box<Reedline>>,
    pastes: SharedPastes,
    line_ends: LineEnds,
    /// Whether there is something in the line.
    is_filled: Arc<AtomicBool>,
    history: History,
}

impl PromptReader {
    /// Uses a line editor if the terminal can show one, with the texts of the history.
    /// Later changes to the names in `completions` reach the editor, which has a clone.
    pub fn new(history: History, completions: &Completions) -> PromptReader {
        let mut reader = PromptReader {
            editor: None,
            pastes: SharedPastes::default(),
            line_ends: LineEnds::default(),
            is_filled: Arc::new(AtomicBool::new(false)),
            history,
        };
        if ui::can_edit_lines() {
            reader.editor = Some(Box::new(reader.line_editor(completions)));
        }
        reader
    }

    /// Waits for the next prompt. The prefill is in the line already.
    /// Fails only if the terminal cannot be read. Blank texts are not added to the history.
    pub fn read(&mut self, prefill: &LinePrefill) -> Result<PromptEvent, Failure> {
        let event = match &mut self.editor {
            Some(editor) => {
                fill_line(editor, prefill, &self.pastes);
                let signal = read_line(editor)?;
                event_of(signal, self.is_filled.load(Ordering::SeqCst))
            }
            None => read_plain(prefill, &self.line_ends)?,
        };
        let PromptEvent::Text(line) = event else {
            self.line_ends.clear();
            return Ok(event);
        };
        let line = self.line_ends.remove_backslashes(&line);
        let text = lock(&self.pastes).expand(&line);
        if !text.trim().is_empty() {
            self.history.add(&text);
        }
        Ok(PromptEvent::Text(text))
    }

    /// The line editor, with completion, history, pastes and key bindings.
    fn line_editor(&self, completions: &Completions) -> Reedline {
        let menu = CompletionMenu::new(MENU, FIRST_MARK);
        let keys = PasteKeys {
            inner: Emacs::new(key_bindings()),
            pastes: self.pastes.clone(),
        };
        let highlighter = FillObserver {
            inner: SimpleMatchHighlighter::default(),
            is_filled: self.is_filled.clone(),
        };
        let editor = Reedline::create()
            .with_ansi_colors(ui::has_colour())
            .use_bracketed_paste(true)
            .with_validator(Box::new(self.line_ends.clone()))
            .with_completer(Box::new(completions.clone()))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_edit_mode(Box::new(keys))
            .with_highlighter(Box::new(highlighter));
        match history_in_memory(&self.history) {
            Some(history) => editor.with_history(Box::new(history)),
            None => editor,
        }
    }
}

/// What a signal of the editor means. Any but a line and Ctrl-D stands for Ctrl-C.
/// `is_filled` tells a cleared line from an empty one.
fn event_of(signal: Signal, is_filled: bool) -> PromptEvent {
    match signal {
        Signal::Success(line) => PromptEvent::Text(line),
        Signal::CtrlD => PromptEvent::End,
        _ if is_filled => PromptEvent::Cleared,
        _ => PromptEvent::NothingToClear,
    }
}

/// Puts the prefill into the line, with marks for large pastes.
/// The cursor is behind it.
fn fill_line(editor: &mut Reedline, prefill: &LinePrefill, pastes: &SharedPastes) {
    if prefill.is_empty() {
        return;
    }
    let mut pastes = lock(pastes);
    let unsent = pastes.put_back(&prefill.unsent);
    let typed = pastes.put(&prefill.typed);
    drop(pastes);
    let line = join_lines(&unsent, &typed);
    editor.run_edit_commands(&[EditCommand::InsertString(line)]);
}

/// Reads a line. Ctrl-Z stops the process in between.
fn read_line(editor: &mut Reedline) -> Result<Signal, Failure> {
    loop {
        match editor.read_line(&PromptMark) {
            #[cfg(unix)]
            Ok(Signal::HostCommand(_)) => block_on(ui::keys::stop_process())?,
            Ok(signal) => return Ok(signal),
            Err(error) => return Err(unreadable(&error)),
        }
    }
}

/// The failure for a terminal that cannot be read.
fn unreadable(error: &io::Error) -> Failure {
    let reason = io_error_text(error);
    Failure::input(format!("cannot read from the terminal: {reason}"))
}

/// Reads a prompt as the terminal gives lines. Shows the prefill for you to copy.
/// Typing is shown while it reads, and hidden again afterwards.
fn read_plain(prefill: &LinePrefill, line_ends: &LineEnds) -> Result<PromptEvent, Failure> {
    if !prefill.is_empty() {
        ui::remark("what you typed was not sent; copy it from here:");
        ui::quote(&join_lines(&prefill.unsent, &prefill.typed));
    }
    ui::keys::restore();
    interrupt::set_line_mark(Some(FIRST_MARK));
    let event = read_plain_lines(line_ends);
    interrupt::set_line_mark(None);
    ui::keys::hide_typing();
    event
}

/// Reads lines until the text does not continue.
/// At the end of stdin, what was typed so far still counts.
fn read_plain_lines(line_ends: &LineEnds) -> Result<PromptEvent, Failure> {
    let mut text = String::new();
    interrupt::take_cleared();
    loop {
        let is_first = text.is_empty();
        ui::prompt(if is_first { FIRST_MARK } else { NEXT_MARK });
        let Some(line) = read_plain_line()? else {
            ui::remark("");
            return Ok(if is_first {
                PromptEvent::End
            } else {
                PromptEvent::Text(text)
            });
        };
        if interrupt::take_cleared() {
            text.clear();
            line_ends.clear();
        }
        text.push_str(&line);
        if !continues(&text) {
            return Ok(PromptEvent::Text(text));
        }
        line_ends.note_backslash(&text);
        text.push('\n');
    }
}

/// Reads a line without its line end. `None` at the end of stdin.
/// Bytes that are not UTF-8 are replaced rather than refused.
fn read_plain_line() -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    let count = io::stdin().lock().read_until(b'\n', &mut bytes);
    if count.map_err(|error| unreadable(&error))? == 0 {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_string()))
}

/// The name of the menu of completions.
const MENU: &str = "completions";
/// The name of the host command that stops the process.
const STOP: &str = "stop";

/// Notes whether there is something in the line. It replaces the editor's own highlighter, which paints everything
/// white, even on a white background.
struct FillObserver {
    inner: SimpleMatchHighlighter,
    is_filled: Arc<AtomicBool>,
}

impl Highlighter for FillObserver {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        self.is_filled.store(!line.is_empty(), Ordering::SeqCst);
        self.inner.highlight(line, cursor)
    }
}

/// The usual keys of Emacs, with more for new lines, undo, Ctrl-Z and completion.
/// Some terminals send the same code for Enter with and without Shift; there only Alt works.
fn key_bindings() -> Keybindings {
    let mut keys = default_emacs_keybindings();
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line.clone());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, new_line);
    // Terminals send Ctrl-_ as the code that the editor takes for Ctrl-7.
    let undo = ReedlineEvent::Edit(vec![EditCommand::Undo]);
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('7'), undo);
    if cfg!(unix) {
        let stop = ReedlineEvent::ExecuteHostCommand(STOP.to_string());
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('z'), stop);
    }
    let complete = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.to_string()),
        ReedlineEvent::MenuNext,
    ]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    let previous = ReedlineEvent::MenuPrevious;
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, previous);
    keys
}

/// The texts of the history, in memory: the editor must not write our file.
/// `None` if the editor cannot create one; then it starts without.
fn history_in_memory(history: &History) -> Option<FileBackedHistory> {
    let mut in_memory = FileBackedHistory::new(history::MAX_TEXTS).ok()?;
    for text in history.read() {
        let item = HistoryItem::from_command_line(text);
        let _ = reedline::History::save(&mut in_memory, item);
    }
    Some(in_memory)
}

/// What is shown before the first line of a prompt.
const FIRST_MARK: &str = "> ";
/// What is shown before its other lines.
const NEXT_MARK: &str = "| ";

/// The marks before the lines of the editor.
/// The same marks as for plain lines.
struct PromptMark;

impl Prompt for PromptMark {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(FIRST_MARK)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(NEXT_MARK)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
}
