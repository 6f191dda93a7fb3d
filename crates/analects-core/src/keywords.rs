//! The fixed words of the model: roles, stop reasons, kinds. Open sets keep an unknown word as `Other` and never refuse
//! it. For closed sets, [`nearest`] suggests the word that was probably meant.

use serde::{Deserialize, Serialize};

/// Declares an enum of known words, with `Other` for any other word.
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
            /// The word in its serialized form.
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
        /// The model finished its answer.
        EndTurn = "end_turn",
        /// The answer reached the limit of output tokens.
        MaxTokens = "max_tokens",
        /// The answer contained one of the request's stop sequences.
        StopSequence = "stop_sequence",
        /// The model waits for the results of its tool calls.
        ToolUse = "tool_use",
        /// The provider paused a long turn; sending it back continues it.
        PauseTurn = "pause_turn",
        /// The model or its provider refused.
        Refusal = "refusal",
        /// The stream broke off, or the user stopped it; the partial answer is kept.
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
        /// A program added it.
        Program = "program",
    }
}

open_words! {
    /// The kind of an attachment.
    AttachmentKind {
        /// A hook blocked an action.
        HookBlock = "hook_block",
        /// A note about a permission.
        PermissionNote = "permission_note",
        /// A reminder for the model.
        Reminder = "reminder",
        /// Context from an MCP server.
        McpContext = "mcp_context",
        /// A file's content.
        File = "file",
        /// The output of code.
        CodeOutput = "code_output",
    }
}

open_words! {
    /// What triggered a compaction.
    CompactTrigger {
        /// The context was nearly full.
        Auto = "auto",
        /// The user asked for it.
        Manual = "manual",
        /// The provider rejected the prompt as too long.
        Reactive = "reactive",
        /// A separator in an imported conversation.
        Separator = "separator",
    }
}

/// The role of a speaker in a model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or a program on their behalf.
    User,
    /// The model.
    Assistant,
    /// The instructions of the conversation.
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
    /// None of it.
    Exclude,
    /// Only its summary.
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

    /// Parses any spelling that people may type; `None` for any other word.
    pub fn parse(word: &str) -> Option<History> {
        match word {
            "include" | "1" | "true" => Some(History::Include),
            "none" | "exclude" | "0" | "false" => Some(History::Exclude),
            "summary" => Some(History::Summary),
            _ => None,
        }
    }
}

/// Words above this length are not compared: that would take time, and they are no typing errors.
const MAX_LENGTH: usize = 40;

/// The greatest edit distance that counts as a typing error; for short words, a third of their length.
const MAX_DISTANCE: usize = 2;

/// Returns the known word that is most similar to `word`, if any is similar enough. Case does not count, nor does the
/// choice between hyphen, space and underscore.
///
/// ```
/// use analects_core::nearest;
///
/// assert_eq!(nearest("modles", ["models", "temperature"]), Some("models"));
/// assert_eq!(nearest("cdoe", ["code", "raw"]), Some("code"));
/// assert_eq!(nearest("Use-Temperature", ["use_temperature"]), Some("use_temperature"));
/// assert_eq!(nearest("weather", ["models"]), None);
/// assert_eq!(nearest("9", ["2"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = misspelt(word, known);
    near.into_iter().min().map(|(_, known)| known)
}

/// Returns the known words that `word` may be a wrong spelling of, with the edit distance, in the order of `known`.
fn misspelt<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    if word.len() > MAX_LENGTH {
        return Vec::new();
    }
    let word = folded(word);
    let known = known.into_iter().filter(|known| known.len() <= MAX_LENGTH);
    let compared = known.map(|known| (edit_distance(&word, &folded(known)), known));
    let most = MAX_DISTANCE.min(word.chars().count() / 3);
    compared.filter(|(distance, _)| *distance <= most).collect()
}

/// A word without what does not count when words are compared.
fn folded(word: &str) -> String {
    word.to_lowercase().replace(['-', ' ', '.'], "_")
}

/// Returns at most `limit` known names that `name` may stand for, in the order of `known`: those whose spelling is
/// nearest, or else those that hold each of its parts.
///
/// ```
/// use analects_core::nearest_names;
///
/// let known = ["gpt-5-mini", "gpt-5", "claude-sonnet-4-5"];
/// assert_eq!(nearest_names("gpt5-mini", known, 3), ["gpt-5-mini"]);
/// assert_eq!(nearest_names("sonnet-4.5", known, 3), ["claude-sonnet-4-5"]);
/// assert_eq!(nearest_names("GPT", known, 3), ["gpt-5-mini", "gpt-5"]);
/// assert!(nearest_names("llama", known, 3).is_empty());
/// ```
pub fn nearest_names<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let mut near = misspelt(name, known.iter().copied());
    if let Some(least) = near.iter().map(|(distance, _)| *distance).min() {
        near.retain(|(distance, _)| *distance == least);
        return near
            .into_iter()
            .map(|(_, known)| known)
            .take(limit)
            .collect();
    }
    let name = name.to_lowercase();
    let holds = |known: &&str| has_all_parts(&known.to_lowercase(), &name);
    known.into_iter().filter(holds).take(limit).collect()
}

/// The shortest part of a name that tells anything.
const SHORTEST_PART: usize = 3;

/// Whether `known` holds each part of a name. The parts are separated by anything but letters and digits.
fn has_all_parts(known: &str, name: &str) -> bool {
    let parts = || name.split(|c: char| !c.is_alphanumeric());
    name.len() <= MAX_LENGTH
        && parts().any(|part| part.len() >= SHORTEST_PART)
        && parts().all(|part| known.contains(part))
}

/// The number of characters to add, remove or change to turn one text into the other; two neighbours in the wrong
/// order count as one.
fn edit_distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1];
        for j in 0..to.len() {
            let changed = above[j] + usize::from(from[i] != to[j]);
            let mut least = changed.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}
