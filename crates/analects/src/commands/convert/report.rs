//! The report of a conversion: losses, problems, and whether the output was written.
//!
//! A loss is something that the target format cannot express; a problem is something wrong with the source. Losses stop
//! a conversion unless `--lossy` is given, and problems only if something could not be read.

use std::path::Path;

use analects_core::Problem;
use analects_formats::Loss;
use analects_formats::convert::{Conversion, Format};
use analects_formats::msgfile::{LeftBehind, ShowProblem};
use serde::Serialize;

use crate::commands::reading;
use crate::failure::Failure;
use crate::{hints, ui};

/// How many losses are printed without `--json`.
const MAX_LISTED_LOSSES: usize = 50;

/// The result of converting one file.
pub struct ConvertReport {
    /// The input as you named it; `-` for stdin.
    path: String,
    /// The output as you named it; `-` for stdout.
    output: String,
    from: &'static str,
    to: &'static str,
    /// Whether losses are accepted.
    lossy: bool,
    /// The number of messages; `None` if the file was copied.
    messages: Option<u64>,
    /// Records that are no part of the conversation, which is no loss.
    left_out: usize,
    problems: Vec<Problem>,
    /// How many parts could not be read.
    errors: usize,
    losses: Vec<Loss>,
    /// Losses beyond those in `losses`.
    more_losses: usize,
    /// Parts of the conversation that only `--full` would keep.
    left_behind: LeftBehind,
}

/// The report as `--json` prints it.
#[derive(Serialize)]
struct ConvertLine<'a> {
    path: &'a str,
    output: &'a str,
    from: &'a str,
    to: &'a str,
    /// False if something would be lost and `--lossy` is missing.
    written: bool,
    messages: Option<u64>,
    left_out: usize,
    losses: &'a [Loss],
    #[serde(skip_serializing_if = "is_none")]
    more_losses: usize,
    left_behind: LeftBehind,
    problems: Vec<ShowProblem>,
}

impl ConvertReport {
    /// All numbers are zero until the conversion is added.
    pub fn new(
        path: &str,
        output: String,
        from: &dyn Format,
        to: &dyn Format,
        lossy: bool,
    ) -> ConvertReport {
        ConvertReport {
            path: path.to_string(),
            output,
            from: from.id(),
            to: to.id(),
            lossy,
            messages: None,
            left_out: 0,
            problems: Vec::new(),
            errors: 0,
            losses: Vec::new(),
            more_losses: 0,
            left_behind: LeftBehind::default(),
        }
    }

    /// Adds the results of the conversion.
    /// Not called for a file that is copied because both formats are the same.
    pub fn add_conversion(&mut self, conversion: Conversion) {
        self.messages = Some(conversion.messages);
        self.left_out = conversion.left_out;
        self.problems = conversion.problems;
        self.errors = conversion.errors;
        self.losses = conversion.losses;
        self.more_losses = conversion.more_losses;
        self.left_behind = conversion.left_behind;
    }

    /// Whether to write the output: nothing is lost, or `--lossy` is given.
    /// A copy between equal formats loses nothing.
    pub fn is_allowed(&self) -> bool {
        self.lossy || self.lost() == 0
    }

    /// The number of losses, including parts that could not be read.
    fn lost(&self) -> usize {
        self.losses.len() + self.more_losses + self.errors
    }

    /// Prints the report.
    /// JSON is one line for each file, so a folder gives JSON Lines. Otherwise everything goes to stderr, because
    /// stdout may be the output.
    pub fn print(&self, as_json: bool) -> Result<(), Failure> {
        if as_json {
            return ui::print_json_line(&self.as_json());
        }
        let mut serious = self.problems.clone();
        serious.retain(reading::is_serious);
        ui::report_problems(&self.path, b"", &serious);
        self.print_losses();
        self.print_left_out();
        if self.messages == Some(0) {
            self.remark("it contains no messages");
        }
        Ok(())
    }

    fn as_json(&self) -> ConvertLine<'_> {
        ConvertLine {
            path: &self.path,
            output: &self.output,
            from: self.from,
            to: self.to,
            written: self.is_allowed(),
            messages: self.messages,
            left_out: self.left_out,
            losses: &self.losses,
            more_losses: self.more_losses,
            left_behind: self.left_behind,
            problems: hints::problems_with_hints(&self.problems, Path::new(&self.path)),
        }
    }

    /// Prints a remark about the file.
    fn remark(&self, text: &str) {
        ui::remark(&format!("{}: {text}", self.path));
    }

    /// Prints the first losses, and how many more there are.
    /// Losses that were only counted are in the number at the end.
    fn print_losses(&self) {
        for loss in self.losses.iter().take(MAX_LISTED_LOSSES) {
            let owner = match loss.message.as_deref() {
                Some("") => "a message without a name".to_string(),
                Some(id) => format!("message {id}"),
                None => "the conversation".to_string(),
            };
            self.remark(&format!("{owner} loses {}: {}", loss.what, loss.why));
        }
        if self.losses.len() <= MAX_LISTED_LOSSES {
            return;
        }
        let more = self.losses.len() - MAX_LISTED_LOSSES + self.more_losses;
        let listed = if self.more_losses == 0 {
            "them all".to_string()
        } else {
            format!("the first {}", self.losses.len())
        };
        self.remark(&format!("and {more} more; --json lists {listed}"));
    }

    /// Prints what a conversion without `--full` leaves out.
    fn print_left_out(&self) {
        if !self.left_behind.is_empty() {
            let mut left_behind = self.left_behind;
            left_behind.other_records += self.left_out;
            self.remark(&format!("{left_behind}; --full keeps them"));
        } else if self.left_out > 0 {
            let records = match self.left_out {
                1 => "1 record that is not part of the conversation is".to_string(),
                count => format!("{count} records that are not part of the conversation are"),
            };
            self.remark(&format!("{records} left out; --full keeps them"));
        }
    }

    /// Fails if the output was not written.
    /// Call it after printing, since it says only how many losses there are.
    pub fn conclude(&self) -> Result<(), Failure> {
        if self.is_allowed() {
            return Ok(());
        }
        let things = match self.lost() {
            1 => "1 thing".to_string(),
            count => format!("{count} things"),
        };
        let text = format!(
            "{}: {} cannot hold {things}; nothing was written",
            self.path, self.to
        );
        Err(Failure::input(text).or_hint("--lossy writes the rest"))
    }
}

/// Keeps fields that are zero out of the JSON.
fn is_none(count: &usize) -> bool {
    *count == 0
}
