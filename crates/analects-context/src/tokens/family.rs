//! Models that count alike: which of them a name means, and what a text costs with their vocabulary.
//!
//! The costs of each feature of a text were fitted to prose in English and Chinese and to code in many languages,
//! against `o200k` and the vocabulary of SmolLM2; the others lie between or beside these two, with a wider bound.

use serde::{Deserialize, Serialize};

use super::Count;
use super::features::{FEATURES, Features, features};

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
        let name = model
            .rsplit('/')
            .next()
            .unwrap_or(model)
            .to_ascii_lowercase();
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

/// Thousandths of a token, in the order of the features.
type Costs = [u64; FEATURES];

const O200K: Costs = [
    986, 20, 0, 179, 313, 136, 932, 0, 1535, 807, 2000, 722, 677, 383, 752, 1149, 0, 771, 151, 160,
    668, 359, 700, 0, 38, 725, 2852, 2369,
];

const SMALL: Costs = [
    921, 190, 41, 299, 0, 185, 5189, 0, 5082, 1774, 3000, 1818, 2804, 1551, 2159, 1222, 448, 1109,
    0, 523, 0, 860, 72, 0, 0, 1653, 2308, 1920,
];

/// Between the two, a tenth above the middle: the vocabulary is smaller than `o200k`.
const CLAUDE: Costs = mixed(11, 11, 20);
/// The older vocabulary of OpenAI is near the new one for Latin script, and worse for others.
const O100K: Costs = mixed(16, 4, 20);

const fn mixed(of_large: u64, of_small: u64, parts: u64) -> Costs {
    let mut costs = [0; FEATURES];
    let mut at = 0;
    while at < FEATURES {
        costs[at] = (O200K[at] * of_large + SMALL[at] * of_small) / parts;
        at += 1;
    }
    costs
}

fn costs(family: Family) -> &'static Costs {
    match family {
        Family::OpenAi | Family::Gemini | Family::Other => &O200K,
        Family::OpenAiOld => &O100K,
        Family::Claude => &CLAUDE,
        Family::Small => &SMALL,
    }
}

/// Estimates the tokens of a text for a family of models.
///
/// ```
/// use analects_context::{Family, Method, estimate};
///
/// let count = estimate(Family::OpenAi, "学而时习之，不亦说乎？");
/// assert!((6..=12).contains(&count.tokens));
/// assert_eq!(count.method, Method::Estimate);
/// ```
pub fn estimate(family: Family, text: &str) -> Count {
    let found = features(text);
    Count::estimate(weigh(&found, costs(family)), family.error_percent())
}

/// At least one token for a text that is not empty.
fn weigh(found: &Features, costs: &Costs) -> u64 {
    let thousandths: u64 = found
        .iter()
        .zip(costs)
        .map(|(count, cost)| count * cost)
        .sum();
    let some = u64::from(found.iter().any(|count| *count > 0));
    thousandths.div_ceil(1000).max(some)
}
