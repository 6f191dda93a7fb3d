//! Where the words of the person come from: an editor of lines on a terminal that can show one, else
//! plain lines, such as where the answers go to a file.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{
    EditCommand, Emacs, FileBackedHistory, Highlighter, HistoryItem, KeyCode, KeyModifiers, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal,
    SimpleMatchHighlighter, StyledText, default_emacs_keybindings,
};

use super::complete::List;
use super::complete::Offers;
use super::history::{self, History};
use super::lines::{Ends, goes_on};
use super::paste::{Keys, Shared, lock};
#[cfg(unix)]
use crate::connection::block_on;
use crate::failure::{Failure, words};
use crate::{interrupt, ui};

/// What the person did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A text, as it is sent.
    Text(String),
    /// Ctrl-C: the line is cleared.
    Cleared,
    /// Ctrl-C without anything to clear.
    Nothing,
    /// Ctrl-D: the session ends.
    End,
}

/// What stands in the line before somebody types.
#[derive(Debug, Default)]
pub struct Draft {
    /// What could not be sent.
    pub unsent: String,
    /// What was typed, or pasted, while nobody asked.
    pub typed: String,
}

impl Draft {
    fn is_empty(&self) -> bool {
        self.unsent.is_empty() && self.typed.is_empty()
    }

    fn join(&self, unsent: &str, typed: &str) -> String {
        let between = if unsent.is_empty() || typed.is_empty() {
            ""
        } else {
            "\n"
        };
        format!("{unsent}{between}{typed}")
    }
}

/// Where the words of the person come from.
pub struct Input {
    editor: Option<Box<Reedline>>,
    pastes: Shared,
    ends: Ends,
    /// Whether something stands in the line.
    is_filled: Arc<AtomicBool>,
    history: History,
}

impl Input {
    /// An editor if the terminal can show one, with what was typed before.
    pub fn new(history: History, offers: &Offers) -> Input {
        let (pastes, ends) = (Shared::default(), Ends::default());
        let is_filled = Arc::new(AtomicBool::new(false));
        let editor = ui::can_edit_lines().then(|| {
            let look = Look {
                usual: SimpleMatchHighlighter::default(),
                is_filled: is_filled.clone(),
            };
            let editor = editor(&history, offers, pastes.clone(), ends.clone());
            Box::new(editor.with_highlighter(Box::new(look)))
        });
        Input {
            editor,
            pastes,
            ends,
            is_filled,
            history,
        }
    }

    /// Waits for the next text; `draft` stands in the line already.
    pub fn read(&mut self, draft: &Draft) -> Result<Heard, Failure> {
        let heard = match &mut self.editor {
            Some(editor) => {
                if !draft.is_empty() {
                    let mut pastes = lock(&self.pastes);
                    let (unsent, typed) =
                        (pastes.put_back(&draft.unsent), pastes.put(&draft.typed));
                    drop(pastes);
                    let line = draft.join(&unsent, &typed);
                    editor.run_edit_commands(&[EditCommand::InsertString(line)]);
                }
                match read_line(editor)? {
                    Signal::Success(line) => Heard::Text(line),
                    Signal::CtrlD => Heard::End,
                    _ if self.is_filled.load(Ordering::SeqCst) => Heard::Cleared,
                    _ => Heard::Nothing,
                }
            }
            None => {
                if !draft.is_empty() {
                    ui::remark("what you typed was not sent; here it is, to be copied:");
                    ui::quote(&draft.join(&draft.unsent, &draft.typed));
                }
                ui::keys::usual();
                interrupt::hint(Some(FIRST));
                let heard = plain(&self.ends);
                interrupt::hint(None);
                ui::keys::hush();
                heard?
            }
        };
        let Heard::Text(line) = heard else {
            self.ends.forget();
            return Ok(heard);
        };
        let text = lock(&self.pastes).expand(&self.ends.finish(&line));
        if !text.trim().is_empty() {
            self.history.add(&text);
        }
        Ok(Heard::Text(text))
    }
}

/// Reads a line. Between the two parts of it, the process may be stopped.
fn read_line(editor: &mut Reedline) -> Result<Signal, Failure> {
    loop {
        match editor.read_line(&Mark) {
            #[cfg(unix)]
            Ok(Signal::HostCommand(_)) => block_on(ui::keys::stop())?,
            Ok(signal) => return Ok(signal),
            Err(error) => return Err(unreadable(&error)),
        }
    }
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::input(format!("cannot read from the terminal: {}", words(error)))
}

/// Reads lines as the terminal gives them, until the text does not go on.
fn plain(ends: &Ends) -> Result<Heard, Failure> {
    let mut text = String::new();
    interrupt::has_cleared();
    loop {
        ui::prompt(if text.is_empty() { FIRST } else { NEXT });
        let mut line = Vec::new();
        let count = io::stdin().lock().read_until(b'\n', &mut line);
        if count.map_err(|error| unreadable(&error))? == 0 {
            ui::remark("");
            return Ok(if text.is_empty() {
                Heard::End
            } else {
                Heard::Text(text)
            });
        }
        let line = String::from_utf8_lossy(&line);
        if interrupt::has_cleared() {
            text.clear();
            ends.forget();
        }
        text.push_str(line.trim_end_matches(['\r', '\n']));
        if !goes_on(&text) {
            return Ok(Heard::Text(text));
        }
        ends.go_on(&text);
        text.push('\n');
    }
}

const MENU: &str = "offers";
const STOP: &str = "stop";

/// How the line looks: the usual one paints everything white, on white paper, too.
struct Look {
    usual: SimpleMatchHighlighter,
    is_filled: Arc<AtomicBool>,
}

impl Highlighter for Look {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        self.is_filled.store(!line.is_empty(), Ordering::SeqCst);
        self.usual.highlight(line, cursor)
    }
}

fn editor(history: &History, offers: &Offers, pastes: Shared, ends: Ends) -> Reedline {
    let mut keys = default_emacs_keybindings();
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line.clone());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, new_line);
    let undo = ReedlineEvent::Edit(vec![EditCommand::Undo]);
    // Terminals send Ctrl-_ as what the editor takes for Ctrl-7.
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('7'), undo);
    if cfg!(unix) {
        let stop = ReedlineEvent::ExecuteHostCommand(STOP.to_string());
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('z'), stop);
    }
    let offer = vec![
        ReedlineEvent::Menu(MENU.to_string()),
        ReedlineEvent::MenuNext,
    ];
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(offer),
    );
    keys.add_binding(
        KeyModifiers::SHIFT,
        KeyCode::BackTab,
        ReedlineEvent::MenuPrevious,
    );
    let editor = Reedline::create()
        .with_ansi_colors(ui::has_colour())
        .use_bracketed_paste(true)
        .with_validator(Box::new(ends))
        .with_completer(Box::new(offers.clone()))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(List::new(
            MENU, FIRST,
        ))))
        .with_edit_mode(Box::new(Keys {
            usual: Emacs::new(keys),
            pastes,
        }));
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
