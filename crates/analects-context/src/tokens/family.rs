//! Which vocabulary a model has, as far as its name tells, and what else of counting is the family's own.

use serde::{Deserialize, Serialize};

/// Models that count alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// OpenAI's models since GPT-4o: the vocabulary `o200k`.
    OpenAi,
    /// OpenAI's older models, of another vocabulary.
    OpenAiOld,
    /// Anthropic's models, whose vocabulary is not public.
    Claude,
    /// Google's models, whose vocabulary is not public.
    Gemini,
    /// Small models with a small vocabulary, such as SmolLM2.
    Small,
    /// Every other model: a large vocabulary with good Chinese is assumed.
    Other,
}

impl Family {
    /// The family of a model by its name, with or without its vendor.
    pub fn of(model: &str) -> Family {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let numbered = name.strip_prefix('o').is_some_and(|rest| {
            let mut rest = rest.chars();
            rest.next().is_some_and(|c| c.is_ascii_digit())
                && rest.next().is_none_or(|c| c == '-' || c == ':')
        });
        if starts(&["gpt-4o", "gpt-4.", "gpt-oss", "chatgpt", "codex"]) || numbered {
            Family::OpenAi
        } else if starts(&["gpt-3", "gpt-4", "gpt-2", "text-", "davinci"]) {
            Family::OpenAiOld
        } else if starts(&["gpt-"]) {
            Family::OpenAi
        } else if name.contains("claude") {
            Family::Claude
        } else if starts(&["gemini", "gemma", "learnlm"]) {
            Family::Gemini
        } else if starts(&["smol", "tinyllama", "gpt2", "phi-2"]) {
            Family::Small
        } else {
            Family::Other
        }
    }

    /// By how many percent an estimate of ordinary text may be off.
    pub fn error_percent(self) -> u64 {
        match self {
            Family::OpenAi | Family::Small => 10,
            Family::OpenAiOld => 15,
            Family::Gemini | Family::Other => 20,
            Family::Claude => 25,
        }
    }

    /// What a turn takes beside its content: who speaks, where it ends.
    pub(crate) fn per_turn(self) -> u64 {
        match self {
            Family::OpenAi | Family::OpenAiOld => 4,
            Family::Claude | Family::Gemini => 4,
            Family::Small | Family::Other => 5,
        }
    }

    /// What a request takes beside its turns.
    pub(crate) fn per_request(self) -> u64 {
        4
    }

    /// What having tools at all takes.
    pub(crate) fn per_tools(self) -> u64 {
        match self {
            Family::Claude => 346,
            _ => 16,
        }
    }
}
