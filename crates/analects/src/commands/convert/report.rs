//! The report of a conversion: losses, problems, and whether the output was written.
//!
//! A loss is something that the target format cannot express; a problem is something wrong with the source. Losses stop
//! a conversion unless `--lossy` is given, and problems only if something could not be read.

use std::collections::BTreeMap;
use std::path::Path;

use analects_core::Problem;
use analects_formats::convert::{Conversion, Format};
use analects_formats::msgfile::{LeftBehind, ShowProblem};
use analects_formats::{Loss, LossKind};
use serde::Serialize;
use serde_json::value::RawValue;

use super::losses::LossReport;
use crate::commands::reading;
use crate::failure::Failure;
use crate::{hints, shell, ui};

/// How many problems of a file are printed one by one.
const MAX_LISTED_PROBLEMS: usize = 2;

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
    /// What the output does not say.
    pub losses: LossReport,
    /// Whether only losses of something said matter, because the output is for people to read.
    is_for_people: bool,
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
    losses: &'a RawValue,
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
        is_for_people: bool,
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
            losses: LossReport::default(),
            is_for_people,
            left_behind: LeftBehind::default(),
        }
    }

    /// Adds the losses so far.
    pub fn add_losses(&mut self, losses: Vec<Loss>) -> Result<(), Failure> {
        self.losses.add(&self.path, losses)
    }

    /// Adds the results of the conversion.
    /// Not called for a file that is copied because both formats are the same.
    pub fn add_conversion(&mut self, conversion: Conversion) {
        self.messages = Some(conversion.messages);
        self.left_out = conversion.left_out;
        self.problems = conversion.problems;
        self.errors = conversion.errors;
        self.left_behind = conversion.left_behind;
    }

    /// Whether to write the output: nothing is lost, or `--lossy` is given.
    /// A copy between equal formats loses nothing.
    pub fn is_allowed(&self) -> bool {
        self.lossy || self.lost() == 0
    }

    /// The number of losses that matter, including parts that could not be read.
    fn lost(&self) -> usize {
        let lost = if self.is_for_people {
            self.losses.count_of(LossKind::Said)
        } else {
            self.losses.count()
        };
        lost + self.errors
    }

    /// Prints the report as one line of JSON, so that a folder gives JSON Lines. `losses` are its losses as JSON, separated
    /// by line ends.
    pub fn print_json(&self, losses: &[u8]) -> Result<(), Failure> {
        let losses = String::from_utf8_lossy(losses).replace('\n', ",");
        let losses = RawValue::from_string(format!("[{losses}]"))
            .map_err(|error| Failure::internal(format!("cannot print as JSON: {error}")))?;
        ui::print_json_line(&self.as_json(&losses))
    }

    /// Prints the report for people to stderr, because stdout may be the output.
    pub fn print(&self) {
        self.print_problems();
        for line in self.losses.lines() {
            self.remark(&line);
        }
        self.print_left_out();
        if self.messages == Some(0) {
            self.remark("it contains no messages");
        }
    }

    /// Prints the first serious problems, and counts the others by their codes.
    fn print_problems(&self) {
        let mut serious = self.problems.clone();
        serious.retain(reading::is_serious);
        let others = serious.split_off(serious.len().min(MAX_LISTED_PROBLEMS));
        ui::report_problems(&self.path, b"", &serious);
        if others.is_empty() {
            return;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for problem in &others {
            *counts.entry(&problem.code).or_default() += 1;
        }
        let counts = counts.into_iter();
        let counts: Vec<String> = counts
            .map(|(code, count)| format!("{count} × {code}"))
            .collect();
        let check = format!("analects check {}", shell::path(Path::new(&self.path)));
        self.remark(&format!("and {}; see {check}", counts.join(", ")));
    }

    fn as_json<'a>(&'a self, losses: &'a RawValue) -> ConvertLine<'a> {
        ConvertLine {
            path: &self.path,
            output: &self.output,
            from: self.from,
            to: self.to,
            written: self.is_allowed(),
            messages: self.messages,
            left_out: self.left_out,
            losses,
            left_behind: self.left_behind,
            problems: hints::problems_with_hints(&self.problems, Path::new(&self.path)),
        }
    }

    /// Prints a remark about the file.
    fn remark(&self, text: &str) {
        ui::remark(&format!("{}: {text}", self.path));
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
        Err(Failure::input(text).or_hint("--lossy writes the rest; --losses FILE lists all of it"))
    }
}
