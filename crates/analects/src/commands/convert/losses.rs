//! What a conversion loses: all of it for programs, and a few lines for people.
//!
//! People read first what was said, then how the conversation looked, and details for programs on one line. Losses with
//! the same first word and the same reason are one line, so that the report stays short however long the conversation is.

use analects_formats::losses::{Loss, LossKind, head, is_made_up};
use serde::Serialize;

use super::spool::Spool;
use crate::failure::Failure;

/// How many lines are printed about what was said, besides a last one for everything else that was said.
const SAID_LINES: usize = 6;
/// How many lines are printed about how the conversation looked, besides a last one.
const APPEARANCE_LINES: usize = 3;
/// How many names of details are printed.
const DETAIL_NAMES: usize = 8;

/// The losses of one conversion.
#[derive(Default)]
pub struct LossReport {
    /// The losses by their first words and reasons, in the order of their first occurrence.
    groups: Vec<LossGroup>,
    /// All losses as JSON, separated by line ends.
    all: Spool,
    count: usize,
}

/// Losses with the same first word, and the same reason unless they are details.
struct LossGroup {
    first: Loss,
    count: usize,
}

/// A loss as a line of JSON.
#[derive(Serialize)]
struct LossLine<'a> {
    path: &'a str,
    #[serde(flatten)]
    loss: &'a Loss,
}

impl LossReport {
    /// Adds losses of the file with this name.
    pub fn add(&mut self, path: &str, losses: Vec<Loss>) -> Result<(), Failure> {
        for loss in losses {
            let line = LossLine { path, loss: &loss };
            let json = serde_json::to_string(&line).map_err(|error| {
                Failure::internal(format!("cannot write a loss as JSON: {error}"))
            })?;
            if self.count > 0 {
                self.all.write(b"\n")?;
            }
            self.all.write(json.as_bytes())?;
            self.count += 1;
            self.add_to_group(loss);
        }
        Ok(())
    }

    /// Counts a loss. Details need no reasons, so their groups are larger.
    fn add_to_group(&mut self, loss: Loss) {
        let same = |group: &&mut LossGroup| {
            let is_detail = loss.kind == LossKind::Detail;
            head(&group.first.what) == head(&loss.what)
                && (is_detail || group.first.why == loss.why)
        };
        match self.groups.iter_mut().find(same) {
            Some(group) => group.count += 1,
            None => self.groups.push(LossGroup {
                first: loss,
                count: 1,
            }),
        }
    }

    /// How many losses there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many losses of this kind there are.
    pub fn count_of(&self, kind: LossKind) -> usize {
        let groups = self.groups.iter().filter(|group| group.first.kind == kind);
        groups.map(|group| group.count).sum()
    }

    /// Takes all losses as JSON, separated by line ends.
    pub fn take_all(&mut self) -> Spool {
        std::mem::take(&mut self.all)
    }

    /// The lines for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.lines_of(LossKind::Said, SAID_LINES);
        lines.extend(self.lines_of(LossKind::Appearance, APPEARANCE_LINES));
        lines.extend(self.detail_line());
        lines
    }

    /// One line for each of the first groups of a kind, and one for all others.
    fn lines_of(&self, kind: LossKind, most: usize) -> Vec<String> {
        let groups = self.groups.iter().filter(|group| group.first.kind == kind);
        let groups: Vec<&LossGroup> = groups.collect();
        let listed = groups.iter().take(most);
        let mut lines: Vec<String> = listed.map(|group| group.line()).collect();
        let others = groups.iter().skip(most);
        let others: Vec<String> = others.map(|group| group.name_and_count()).collect();
        if !others.is_empty() {
            lines.push(format!("also loses {}", others.join(", ")));
        }
        lines
    }

    /// The line for all details.
    fn detail_line(&self) -> Option<String> {
        let count = self.count_of(LossKind::Detail);
        if count == 0 {
            return None;
        }
        let groups = self.groups.iter();
        let mut groups: Vec<&LossGroup> = groups
            .filter(|group| group.first.kind == LossKind::Detail)
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        let names = groups.iter().take(DETAIL_NAMES);
        let mut names: Vec<String> = names.map(|group| group.name_and_count()).collect();
        if groups.len() > DETAIL_NAMES {
            names.push("…".to_string());
        }
        let details = match count {
            1 => "1 detail for programs".to_string(),
            count => format!("{count} details for programs"),
        };
        Some(format!("loses {details}: {}", names.join(", ")))
    }
}

impl LossGroup {
    /// What was lost, how often, where first, and why.
    fn line(&self) -> String {
        let Loss {
            message,
            kind: _,
            what,
            why,
        } = &self.first;
        // An id that was made up says nothing to a person.
        let owner = message.as_deref().filter(|id| !is_made_up(id));
        let owner = owner.map(|id| match id {
            "" => "a message without a name".to_string(),
            id => format!("message {id}"),
        });
        match (self.count, owner) {
            (1, Some(owner)) => format!("{owner} loses {what}: {why}"),
            (1, None) => format!("loses {what}: {why}"),
            (count, Some(owner)) => {
                format!("loses {count} × {}, first in {owner}: {why}", head(what))
            }
            (count, None) => format!("loses {count} × {}: {why}", head(what)),
        }
    }

    /// Its name, with a count unless that is 1.
    fn name_and_count(&self) -> String {
        match self.count {
            1 => self.first.what.clone(),
            count => format!("{count} × {}", head(&self.first.what)),
        }
    }
}
