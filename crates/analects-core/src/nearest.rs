//! The word that somebody probably meant.

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
