//! Where the words of the person come from: an editor of lines on a terminal that can show one, else
//! plain lines, such as where the answers go to a file.

use std::borrow::Cow;
use std::io::{self, BufRead};

use reedline::{
    ColumnarMenu, EditCommand, Emacs, FileBackedHistory, HistoryItem, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, SimpleMatchHighlighter, default_emacs_keybindings,
};

use super::complete::Offers;
use super::history::{self, History};
use super::lines::{Ends, goes_on};
use super::paste::{Keys, Shared, lock};
use crate::failure::{Failure, words};
use crate::ui;

/// What the person did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A text, as it is sent.
    Text(String),
    /// Ctrl-C: the line is cleared.
    Cleared,
    /// Ctrl-D: the session ends.
    End,
}

/// Where the words of the person come from.
pub struct Input {
    editor: Option<Box<Reedline>>,
    pastes: Shared,
    ends: Ends,
    history: History,
}

impl Input {
    /// An editor if the terminal can show one, with what was typed before.
    pub fn new(history: History, offers: &Offers) -> Input {
        let (pastes, ends) = (Shared::default(), Ends::default());
        let editor = ui::can_edit_lines()
            .then(|| Box::new(editor(&history, offers, pastes.clone(), ends.clone())));
        Input { editor, pastes, ends, history }
    }

    /// Waits for the next text; `draft` stands in the line already.
    pub fn read(&mut self, draft: &str) -> Result<Heard, Failure> {
        let heard = match &mut self.editor {
            Some(editor) => {
                if !draft.is_empty() {
                    let draft = lock(&self.pastes).put(draft);
                    editor.run_edit_commands(&[EditCommand::InsertString(draft)]);
                }
                match editor.read_line(&Mark) {
                    Ok(Signal::Success(line)) => Heard::Text(line),
                    Ok(Signal::CtrlD) => Heard::End,
                    Ok(_) => Heard::Cleared,
                    Err(error) => return Err(unreadable(&error)),
                }
            }
            None => {
                if !draft.is_empty() {
                    ui::remark("what you typed was not sent; here it is, to be copied:");
                    ui::quote(draft);
                }
                plain(&self.ends)?
            }
        };
        let Heard::Text(line) = heard else { return Ok(heard) };
        let text = lock(&self.pastes).expand(&self.ends.finish(&line));
        if !text.trim().is_empty() {
            self.history.add(&text);
        }
        Ok(Heard::Text(text))
    }
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::input(format!("cannot read from the terminal: {}", words(error)))
}

/// Reads lines as the terminal gives them, until the text does not go on.
fn plain(ends: &Ends) -> Result<Heard, Failure> {
    let mut text = String::new();
    loop {
        ui::prompt(if text.is_empty() { FIRST } else { NEXT });
        let mut line = Vec::new();
        let count = io::stdin().lock().read_until(b'\n', &mut line);
        if count.map_err(|error| unreadable(&error))? == 0 {
            ui::remark("");
            return Ok(if text.is_empty() { Heard::End } else { Heard::Text(text) });
        }
        let line = String::from_utf8_lossy(&line);
        text.push_str(line.trim_end_matches(['\r', '\n']));
        if !goes_on(&text) {
            return Ok(Heard::Text(text));
        }
        ends.go_on(&text);
        text.push('\n');
    }
}

const MENU: &str = "offers";

fn editor(history: &History, offers: &Offers, pastes: Shared, ends: Ends) -> Reedline {
    let mut keys = default_emacs_keybindings();
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line.clone());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, new_line);
    let offer = vec![ReedlineEvent::Menu(MENU.to_string()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(offer));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let editor = Reedline::create()
        .with_ansi_colors(ui::has_colour())
        // The usual one paints everything white, on white paper, too.
        .with_highlighter(Box::new(SimpleMatchHighlighter::default()))
        .use_bracketed_paste(true)
        .with_validator(Box::new(ends))
        .with_completer(Box::new(offers.clone()))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(
            ColumnarMenu::default().with_name(MENU).with_marker(FIRST),
        )))
        .with_edit_mode(Box::new(Keys { usual: Emacs::new(keys), pastes }));
    match earlier(history) {
        Some(earlier) => editor.with_history(Box::new(earlier)),
        None => editor,
    }
}

/// What was typed before, in memory: the file is ours to write.
fn earlier(history: &History) -> Option<FileBackedHistory> {
    let mut earlier = FileBackedHistory::new(history::MOST).ok()?;
    for text in history.read() {
        let _ = reedline::History::save(&mut earlier, HistoryItem::from_command_line(text));
    }
    Some(earlier)
}

const FIRST: &str = "> ";
const NEXT: &str = "| ";

/// What stands before the line.
struct Mark;

impl Prompt for Mark {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(FIRST)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(NEXT)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
}
