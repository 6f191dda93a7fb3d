//! The list of offers below the line: that of the editor, but nothing is shown where nothing is offered.

use reedline::{
    ColumnarMenu, Completer, Editor, Menu, MenuBuilder, MenuEvent, MenuSettings, Painter,
    Suggestion,
};

/// The list of offers.
pub struct List {
    usual: ColumnarMenu,
}

impl List {
    pub fn new(name: &str, mark: &str) -> List {
        List { usual: ColumnarMenu::default().with_name(name).with_marker(mark) }
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
        self.usual.can_partially_complete(values_updated, editor, completer)
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
        self.usual.update_working_details(editor, completer, painter);
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
