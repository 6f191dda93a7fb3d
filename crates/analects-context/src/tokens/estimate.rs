//! Tokens of a text without a vocabulary: what each feature of it costs, by family. The costs were fitted to
//! prose in English and Chinese and to code in many languages, against `o200k` and the vocabulary of
//! SmolLM2; the others lie between or beside these two, with a wider bound.

use super::features::{FEATURES, Features, features};
use super::{Count, Family};

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
    let thousandths: u64 = found.iter().zip(costs).map(|(count, cost)| count * cost).sum();
    let some = u64::from(found.iter().any(|count| *count > 0));
    thousandths.div_ceil(1000).max(some)
}
