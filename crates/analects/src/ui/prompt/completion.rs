//! Tab completion: commands, and the agents and models that can follow them.
//!
//! Completion knows only words: the commands, and after `/agent` and `/model` the names that exist now. A session
//! updates the names when they change; the editor sees that at once.

use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    ColumnarMenu, Completer, CompletionResult, Editor, Menu, MenuBuilder, MenuEvent, MenuSettings,
    Painter, Span, Suggestion,
};

/// A command: its name, its arguments, and what it does.
pub type CommandHelp = (&'static str, &'static str, &'static str);

/// The names that may follow a command.
/// They are offered in this order.
#[derive(Debug, Default, Clone)]
pub struct CompletionNames {
    /// What may follow `/agent`.
    pub agents: Vec<String>,
    /// What may follow `/model`.
    pub models: Vec<String>,
}

/// Completes commands and names.
/// Clones share the names, so a change reaches the editor that owns a clone.
#[derive(Debug, Clone)]
pub struct Completions {
    /// The same list that `/help` prints.
    commands: &'static [CommandHelp],
    names: Arc<Mutex<CompletionNames>>,
}

/// What may replace the last word of a line.
struct CompletionCandidates {
    /// Where the word starts.
    start: usize,
    /// The candidates, each with a description that may be empty.
    words: Vec<(String, &'static str)>,
}

impl Completions {
    /// Completes these commands, and no names yet.
    pub fn new(commands: &'static [CommandHelp]) -> Completions {
        Completions {
            commands,
            names: Arc::default(),
        }
    }

    /// Sets the names to complete from now on.
    /// Takes effect with the next key.
    pub fn set(&self, names: CompletionNames) {
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The candidates for the last word of a line. `None` if the line is no command that they can follow.
    /// A line that does not start with `/` is a prompt, which nothing completes.
    fn candidates(&self, line: &str) -> Option<CompletionCandidates> {
        let rest = line.strip_prefix('/')?;
        match rest.split_once(' ') {
            Some((command, word)) => Some(CompletionCandidates {
                start: line.len() - word.len(),
                words: self.names_after(command, word)?,
            }),
            None => Some(CompletionCandidates {
                start: 0,
                words: self.commands_from(rest),
            }),
        }
    }

    /// The commands that begin so, with what they do.
    /// With nothing typed yet, all of them.
    fn commands_from(&self, start: &str) -> Vec<(String, &'static str)> {
        self.commands
            .iter()
            .filter(|(name, ..)| name.starts_with(start))
            .map(|(name, _, about)| (format!("/{name}"), *about))
            .collect()
    }

    /// The names that begin so and can follow a command. `None` if none can.
    /// Case matters, as in the names themselves.
    fn names_after(&self, command: &str, start: &str) -> Option<Vec<(String, &'static str)>> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match command {
            "agent" => &names.agents,
            "model" => &names.models,
            _ => return None,
        };
        let matching = known.iter().filter(|name| name.starts_with(start));
        Some(matching.map(|name| (name.clone(), "")).collect())
    }
}

impl Completer for Completions {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let line = line.get(..position).unwrap_or_default();
        let Some(candidates) = self.candidates(line) else {
            return CompletionResult::fresh(Vec::new());
        };
        let mut suggestions = Vec::new();
        for (value, about) in candidates.words {
            suggestions.push(Suggestion {
                value,
                description: Some(about.to_string()).filter(|about| !about.is_empty()),
                span: Span::new(candidates.start, position),
                append_whitespace: true,
                ..Suggestion::default()
            });
        }
        CompletionResult::fresh(suggestions)
    }
}

/// The list of completions below the line. Unlike the editor's own list, it does not show that it is empty.
pub struct CompletionMenu {
    inner: ColumnarMenu,
}

impl CompletionMenu {
    /// A menu with this name. `mark` is shown before the line while the menu is open.
    pub fn new(name: &str, mark: &str) -> CompletionMenu {
        CompletionMenu {
            inner: ColumnarMenu::default().with_name(name).with_marker(mark),
        }
    }
}

impl Menu for CompletionMenu {
    fn settings(&self) -> &MenuSettings {
        self.inner.settings()
    }

    /// The inner menu would say that it found nothing.
    fn is_active(&self) -> bool {
        self.inner.is_active() && !self.inner.get_values().is_empty()
    }

    fn set_active(&mut self, active: bool) {
        self.inner.set_active(active);
    }

    fn clear_input(&mut self) {
        self.inner.clear_input();
    }

    fn menu_event(&mut self, event: MenuEvent) {
        self.inner.menu_event(event);
    }

    fn can_quick_complete(&self) -> bool {
        self.inner.can_quick_complete()
    }

    fn can_partially_complete(
        &mut self,
        values_updated: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        self.inner
            .can_partially_complete(values_updated, editor, completer)
    }

    fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer) {
        self.inner.update_values(editor, completer);
    }

    fn reset_position(&mut self) {
        self.inner.reset_position();
    }

    fn update_working_details(
        &mut self,
        editor: &mut Editor,
        completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.inner
            .update_working_details(editor, completer, painter);
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        self.inner.replace_in_buffer(editor);
    }

    fn menu_required_lines(&self, terminal_columns: u16) -> u16 {
        self.inner.menu_required_lines(terminal_columns)
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        self.inner.menu_string(available_lines, use_ansi_coloring)
    }

    fn min_rows(&self) -> u16 {
        self.inner.min_rows()
    }

    fn get_values(&self) -> &[Suggestion] {
        self.inner.get_values()
    }
}

#[cfg(test)]
mod tests {
    //! What is completed, and which part of the line.

    use super::*;

    #[test]
    fn commands_agents_and_models_are_completed() {
        let mut completions =
            Completions::new(&[("context", "", ""), ("compact", "", ""), ("undo", "", "")]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        completions.set(CompletionNames {
            agents: names(&["coder", "critic"]),
            models: names(&["openai/tiny"]),
        });
        for (line, start, expected) in [
            ("/co", 0, vec!["/context", "/compact"]),
            ("/agent c", 7, vec!["coder", "critic"]),
            ("/agent cr", 7, vec!["critic"]),
            ("/model ", 7, vec!["openai/tiny"]),
            ("/undo ", 0, vec![]),
            ("hello /co", 0, vec![]),
            ("", 0, vec![]),
        ] {
            let result = completions.complete(line, line.len());
            let values: Vec<&str> = result
                .suggestions()
                .iter()
                .map(|suggestion| suggestion.value.as_str())
                .collect();
            assert_eq!(values, expected, "{line}");
            assert!(
                result
                    .suggestions()
                    .iter()
                    .all(|suggestion| suggestion.span.start == start),
                "{line}"
            );
        }
    }
}
