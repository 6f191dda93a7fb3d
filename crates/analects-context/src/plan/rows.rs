//! What became of each message.

use analects_core::{Chain, Hint, MessageId, Problem, Role};

use crate::tokens::Count;

/// What happens to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// It is sent as it is.
    #[default]
    Sent,
    /// A part of it is sent: there was no room for all.
    Shortened,
    /// It is not sent: there was no room.
    Dropped,
    /// It is not sent: it is not for this model.
    LeftOut,
}

impl Fate {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Sent => "sent",
            Fate::Shortened => "shortened",
            Fate::Dropped => "dropped",
            Fate::LeftOut => "left out",
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The message.
    pub id: MessageId,
    /// Who speaks in it.
    pub role: Role,
    /// What happens to it.
    pub fate: Fate,
    /// Why, if it is not just sent.
    pub why: Option<&'static str>,
    /// What it takes in the request, the turn around it not counted.
    pub tokens: Count,
    /// What it would take as a whole.
    pub whole: Count,
}

impl Row {
    /// Why nothing of it is sent; `None` if something is.
    pub fn left_out(&self) -> Option<&'static str> {
        self.why.filter(|_| matches!(self.fate, Fate::LeftOut | Fate::Dropped))
    }
}

/// A row for each message of the chain, before anything was trimmed.
pub(super) fn of(chain: &Chain<'_>, left_out: &[Option<&'static str>]) -> Vec<Row> {
    let row = |(message, why): (&&analects_core::Message, &Option<&'static str>)| Row {
        id: message.id.clone(),
        role: message.role(),
        fate: if why.is_some() { Fate::LeftOut } else { Fate::Sent },
        why: *why,
        tokens: Count::default(),
        whole: Count::default(),
    };
    chain.messages.iter().zip(left_out).map(row).collect()
}

/// Says that there was no room for everything.
pub(super) fn note(rows: &[Row]) -> Option<Problem> {
    let count = |fate: Fate| rows.iter().filter(|row| row.fate == fate).count();
    let (dropped, shortened) = (count(Fate::Dropped), count(Fate::Shortened));
    let text = match (dropped, shortened) {
        (0, 0) => return None,
        (dropped, 0) => format!("{dropped} earlier messages are not sent: they do not fit"),
        (0, shortened) => format!("{shortened} messages are sent in part: all of them do not fit"),
        (dropped, shortened) => format!(
            "{dropped} earlier messages are not sent and {shortened} are sent in part: all of them do not fit"
        ),
    };
    Some(Problem::warning("sent-in-part", text).hint(Hint::CompactOrLargerModel))
}
