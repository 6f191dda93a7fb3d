//! What Tab offers: the commands, and the agents and models that can follow them.

use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    ColumnarMenu, Completer, CompletionResult, Editor, Menu, MenuBuilder, MenuEvent, MenuSettings,
    Painter, Span, Suggestion,
};

/// A command: its name, what may follow, what it does.
pub type Command = (&'static str, &'static str, &'static str);

/// The names that may follow a command.
#[derive(Debug, Default, Clone)]
pub struct Names {
    pub agents: Vec<String>,
    pub models: Vec<String>,
}

/// Offers commands and names.
#[derive(Debug, Clone)]
pub struct Offers {
    commands: &'static [Command],
    names: Arc<Mutex<Names>>,
}

impl Offers {
    /// Offers these commands, and no names yet.
    pub fn new(commands: &'static [Command]) -> Offers {
        Offers {
            commands,
            names: Arc::default(),
        }
    }

    /// Sets the names that are offered from now on.
    pub fn set(&self, names: Names) {
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// What could stand in the place of the last word of a line, and where that starts.
    fn offered(&self, line: &str) -> (usize, Vec<(String, String)>) {
        let Some(rest) = line.strip_prefix('/') else {
            return (0, Vec::new());
        };
        let Some((command, word)) = rest.split_once(' ') else {
            let begins = self
                .commands
                .iter()
                .filter(|(name, ..)| name.starts_with(rest));
            let offer = |(name, _, about): &Command| (format!("/{name}"), (*about).to_string());
            return (0, begins.map(offer).collect());
        };
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match command {
            "agent" => &names.agents,
            "model" => &names.models,
            _ => return (0, Vec::new()),
        };
        let begins = known.iter().filter(|name| name.starts_with(word));
        (
            line.len() - word.len(),
            begins.map(|name| (name.clone(), String::new())).collect(),
        )
    }
}

impl Completer for Offers {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let (start, offered) = self.offered(line.get(..position).unwrap_or_default());
        let suggestion = |(value, about): (String, String)| Suggestion {
            value,
            description: Some(about).filter(|about| !about.is_empty()),
            span: Span::new(start, position),
            append_whitespace: true,
            ..Suggestion::default()
        };
        CompletionResult::fresh(offered.into_iter().map(suggestion).collect::<Vec<_>>())
    }
}

/// The list of offers below the line: that of the editor, but nothing is shown where nothing is offered.
pub struct List {
    usual: ColumnarMenu,
}

impl List {
    pub fn new(name: &str, mark: &str) -> List {
        List {
            usual: ColumnarMenu::default().with_name(name).with_marker(mark),
        }
    }
}

impl Menu for List {
    fn settings(&self) -> &MenuSettings {
        self.usual.settings()
    }

    /// The usual one would say that it found nothing.
    fn is_active(&self) -> bool {
        self.usual.is_active() && !self.usual.get_values().is_empty()
    }

    fn set_active(&mut self, active: bool) {
        self.usual.set_active(active);
    }

    fn clear_input(&mut self) {
        self.usual.clear_input();
    }

    fn menu_event(&mut self, event: MenuEvent) {
        self.usual.menu_event(event);
    }

    fn can_quick_complete(&self) -> bool {
        self.usual.can_quick_complete()
    }

    fn can_partially_complete(
        &mut self,
        values_updated: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        self.usual
            .can_partially_complete(values_updated, editor, completer)
    }

    fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer) {
        self.usual.update_values(editor, completer);
    }

    fn reset_position(&mut self) {
        self.usual.reset_position();
    }

    fn update_working_details(
        &mut self,
        editor: &mut Editor,
        completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.usual
            .update_working_details(editor, completer, painter);
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        self.usual.replace_in_buffer(editor);
    }

    fn menu_required_lines(&self, terminal_columns: u16) -> u16 {
        self.usual.menu_required_lines(terminal_columns)
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        self.usual.menu_string(available_lines, use_ansi_coloring)
    }

    fn min_rows(&self) -> u16 {
        self.usual.min_rows()
    }

    fn get_values(&self) -> &[Suggestion] {
        self.usual.get_values()
    }
}

#[cfg(test)]
mod tests {
    //! What is offered, and for which part of the line.

    use super::*;

    #[test]
    fn commands_agents_and_models_are_offered() {
        let mut offers = Offers::new(&[("context", "", ""), ("compact", "", ""), ("undo", "", "")]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        offers.set(Names {
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
            let result = offers.complete(line, line.len());
            let values: Vec<&str> = result
                .suggestions()
                .iter()
                .map(|offer| offer.value.as_str())
                .collect();
            assert_eq!(values, expected, "{line}");
            assert!(
                result
                    .suggestions()
                    .iter()
                    .all(|offer| offer.span.start == start),
                "{line}"
            );
        }
    }
}
