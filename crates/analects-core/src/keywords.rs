//! The fixed words of the model: roles, stop reasons, kinds. Where others may add words, an unknown one is kept
//! (`Other`), never refused; where one is needed, [`nearest`] finds the word that somebody probably meant.

use serde::{Deserialize, Serialize};

/// Declares an enum of known words plus `Other` for all the words of the future.
macro_rules! open_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$word_doc])* $variant,)+
            /// A word that this version does not know.
            Other(String),
        }

        impl $name {
            /// The word as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> $name {
                match word.as_str() {
                    $($word => $name::$variant,)+
                    _ => $name::Other(word),
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> $name {
                $name::from(word.to_string())
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> String {
                word.as_str().to_string()
            }
        }
    };
}

open_words! {
    /// Why an answer ended.
    StopReason {
        /// The model had said what it had to say.
        EndTurn = "end_turn",
        /// The limit of output tokens was reached.
        MaxTokens = "max_tokens",
        /// One of the request's stop sequences came up.
        StopSequence = "stop_sequence",
        /// The model waits for the results of its tool calls.
        ToolUse = "tool_use",
        /// The provider paused a long turn; sending it back goes on with it.
        PauseTurn = "pause_turn",
        /// The model or its provider refused.
        Refusal = "refusal",
        /// The stream broke off, or the person stopped it; what came is kept.
        Interrupted = "interrupted",
    }
}

open_words! {
    /// Where a user message came from.
    UserSource {
        /// A person typed it.
        Human = "human",
        /// A code cell.
        Code = "code",
        /// A program put it there.
        Program = "program",
    }
}

open_words! {
    /// What an attachment is about.
    AttachmentKind {
        /// A hook stopped something.
        HookBlock = "hook_block",
        /// A note about a permission.
        PermissionNote = "permission_note",
        /// A reminder for the model.
        Reminder = "reminder",
        /// Context that an MCP server gave.
        McpContext = "mcp_context",
        /// A file's content.
        File = "file",
        /// What running code printed.
        CodeOutput = "code_output",
    }
}

open_words! {
    /// What set off a compaction.
    CompactTrigger {
        /// The context was nearly full.
        Auto = "auto",
        /// The person asked for it.
        Manual = "manual",
        /// The provider said that the prompt was too long.
        Reactive = "reactive",
        /// A separator that stood in an imported conversation.
        Separator = "separator",
    }
}

/// Who speaks, as the model's API sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or a program in the person's place.
    User,
    /// The model.
    Assistant,
    /// Whoever set the conversation up.
    System,
}

impl Role {
    /// `user`, `assistant` or `system`.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        }
    }
}

/// How much of a message the model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum History {
    /// All of it.
    #[default]
    Include,
    /// Nothing.
    Exclude,
    /// Its summary.
    Summary,
}

impl History {
    /// `include`, `exclude` or `summary`.
    pub fn as_str(self) -> &'static str {
        match self {
            History::Include => "include",
            History::Exclude => "exclude",
            History::Summary => "summary",
        }
    }

    /// Reads any of the spellings that people may type; `None` for another word.
    pub fn parse(word: &str) -> Option<History> {
        match word {
            "include" | "1" | "true" => Some(History::Include),
            "none" | "exclude" | "0" | "false" => Some(History::Exclude),
            "summary" => Some(History::Summary),
            _ => None,
        }
    }
}

/// Longer words are not compared: that would take time, and a typing error is not so long.
const MAX_LENGTH: usize = 40;

/// How many characters may be wrong: one in three, and at most so many.
const MAX_DISTANCE: usize = 2;

/// The known word that was probably meant by another, if one is near enough. Capitals, and whether
/// there is a hyphen, a blank or an underscore, make no difference.
///
/// ```
/// use analects_core::nearest;
///
/// assert_eq!(nearest("modles", ["models", "temperature"]), Some("models"));
/// assert_eq!(nearest("Use-Temperature", ["use_temperature"]), Some("use_temperature"));
/// assert_eq!(nearest("weather", ["models"]), None);
/// assert_eq!(nearest("9", ["2"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_LENGTH {
        return None;
    }
    let word = word.to_lowercase().replace(['-', ' '], "_");
    let known = known.into_iter().filter(|known| known.len() <= MAX_LENGTH);
    let compared = known.map(|known| (distance(&word, &known.to_lowercase()), known));
    let most = MAX_DISTANCE.min(word.chars().count() / 3);
    let near = compared.filter(|(distance, _)| *distance <= most);
    near.min().map(|(_, known)| known)
}

/// How many characters must be added, dropped or changed to make one text of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}
