//! Families of models that tokenize alike: which family a model's name belongs to, and how many tokens a text has
//! there.
//!
//! The costs of each text feature were fitted to English and Chinese prose and to code in many languages, against
//! `o200k` and the vocabulary of SmolLM2. Other families lie between or beside these two, with a wider error bound.

use serde::{Deserialize, Serialize};

use super::Count;
use super::features::{FEATURES, Features, features};

/// A family of models that tokenize alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFamily {
    /// OpenAI's models since GPT-4o, with the vocabulary `o200k`.
    OpenAi,
    /// OpenAI's older models, with other vocabularies.
    OpenAiOld,
    /// Anthropic's models, whose vocabulary is not public.
    Claude,
    /// Google's models, whose vocabulary is not public.
    Gemini,
    /// Small models with a small vocabulary, such as SmolLM2.
    Small,
    /// Any other model. A large vocabulary with good support for Chinese is assumed.
    Other,
}

impl ModelFamily {
    /// Returns the family of a model by its name, with or without its vendor.
    pub fn of(model: &str) -> ModelFamily {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.to_ascii_lowercase();
        let starts_with = |prefixes: &[&str]| starts_with_any(&name, prefixes);
        if starts_with(&["gpt-4o", "gpt-4.", "gpt-oss", "chatgpt", "codex"]) || is_o_series(&name) {
            ModelFamily::OpenAi
        } else if starts_with(&["gpt-3", "gpt-4", "gpt-2", "text-", "davinci"]) {
            ModelFamily::OpenAiOld
        } else if starts_with(&["gpt-"]) {
            ModelFamily::OpenAi
        } else if name.contains("claude") {
            ModelFamily::Claude
        } else if starts_with(&["gemini", "gemma", "learnlm"]) {
            ModelFamily::Gemini
        } else if starts_with(&["smol", "tinyllama", "gpt2", "phi-2"]) {
            ModelFamily::Small
        } else {
            ModelFamily::Other
        }
    }

    /// The largest expected error of an estimate for ordinary text, in percent.
    pub fn error_percent(self) -> u64 {
        match self {
            ModelFamily::OpenAi | ModelFamily::Small => 10,
            ModelFamily::OpenAiOld => 15,
            ModelFamily::Gemini | ModelFamily::Other => 20,
            ModelFamily::Claude => 25,
        }
    }

    /// The tokens of a turn besides its content: its role and its end.
    pub(crate) fn per_turn(self) -> u64 {
        match self {
            ModelFamily::OpenAi | ModelFamily::OpenAiOld => 4,
            ModelFamily::Claude | ModelFamily::Gemini => 4,
            ModelFamily::Small | ModelFamily::Other => 5,
        }
    }

    /// The tokens of a request besides its turns.
    pub(crate) fn per_request(self) -> u64 {
        4
    }

    /// The tokens that a request with tools takes besides their definitions.
    pub(crate) fn per_tools(self) -> u64 {
        match self {
            ModelFamily::Claude => 346,
            _ => 16,
        }
    }
}

fn starts_with_any(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns whether a name is one of OpenAI's `o1`, `o3-mini` and the like.
fn is_o_series(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('o') else {
        return false;
    };
    let mut rest = rest.chars();
    rest.next().is_some_and(|c| c.is_ascii_digit())
        && rest.next().is_none_or(|c| c == '-' || c == ':')
}

/// The cost of each feature in thousandths of a token, in the order of the features.
type Costs = [u64; FEATURES];

/// The costs that were fitted to `o200k`.
const O200K: Costs = [
    986, 20, 0, 179, 313, 136, 932, 0, 1535, 807, 2000, 722, 677, 383, 752, 1149, 0, 771, 151, 160,
    668, 359, 700, 0, 38, 725, 2852, 2369,
];

/// The costs that were fitted to the vocabulary of SmolLM2.
const SMALL: Costs = [
    921, 190, 41, 299, 0, 185, 5189, 0, 5082, 1774, 3000, 1818, 2804, 1551, 2159, 1222, 448, 1109,
    0, 523, 0, 860, 72, 0, 0, 1653, 2308, 1920,
];

/// Between the two, a tenth above the middle, since the vocabulary is smaller than `o200k`.
const CLAUDE: Costs = mixed_costs(11, 11, 20);
/// OpenAI's older vocabulary is close to the new one for Latin script, and worse for other scripts.
const O100K: Costs = mixed_costs(16, 4, 20);

/// Returns a weighted mix of the two fitted cost tables.
const fn mixed_costs(of_large: u64, of_small: u64, parts: u64) -> Costs {
    let mut costs = [0; FEATURES];
    let mut at = 0;
    while at < FEATURES {
        costs[at] = (O200K[at] * of_large + SMALL[at] * of_small) / parts;
        at += 1;
    }
    costs
}

/// Returns the costs of a family.
fn costs(family: ModelFamily) -> &'static Costs {
    match family {
        ModelFamily::OpenAi | ModelFamily::Gemini | ModelFamily::Other => &O200K,
        ModelFamily::OpenAiOld => &O100K,
        ModelFamily::Claude => &CLAUDE,
        ModelFamily::Small => &SMALL,
    }
}

/// Estimates the tokens of a text for a family of models.
///
/// ```
/// use analects_context::{ModelFamily, Method, estimate};
///
/// let count = estimate(ModelFamily::OpenAi, "学而时习之，不亦说乎？");
/// assert!((6..=12).contains(&count.tokens));
/// assert_eq!(count.method, Method::Estimate);
/// ```
pub fn estimate(family: ModelFamily, text: &str) -> Count {
    let counts = features(text);
    Count::estimate(total_cost(&counts, costs(family)), family.error_percent())
}

/// Returns the cost of the features in tokens; at least one for a text that is not empty.
fn total_cost(counts: &Features, costs: &Costs) -> u64 {
    let thousandths: u64 = counts
        .iter()
        .zip(costs)
        .map(|(count, cost)| count * cost)
        .sum();
    let some = u64::from(counts.iter().any(|count| *count > 0));
    thousandths.div_ceil(1000).max(some)
}
