//! Amounts of money as you read them. Files and JSON hold the plain number.

/// How many digits of an amount count.
const DIGITS: i32 = 4;

/// An amount in US dollars: to the cent, and below that with the digits that count, as in `$0.000021`.
pub fn dollars(amount: f64) -> String {
    let whole_digits = if amount == 0.0 {
        DIGITS
    } else {
        amount.abs().log10().floor() as i32 + 1
    };
    let decimals = usize::try_from(DIGITS - whole_digits).unwrap_or(0).max(2);
    let text = format!("{amount:.decimals$}");
    let cents = text.find('.').map_or(text.len(), |point| point + 3);
    let (kept, rest) = text.split_at(cents);
    format!("${kept}{}", rest.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    //! Large and small amounts.

    use super::*;

    #[test]
    fn small_amounts_keep_the_digits_that_count() {
        for (amount, text) in [
            (0.0, "$0.00"),
            (0.000021, "$0.000021"),
            (0.00000012345, "$0.0000001235"),
            (0.1 + 0.2, "$0.30"),
            (0.25, "$0.25"),
            (0.0104, "$0.0104"),
            (1.5, "$1.50"),
            (1.23456, "$1.235"),
            (12.0, "$12.00"),
            (123_456.789, "$123456.79"),
        ] {
            assert_eq!(dollars(amount), text);
        }
    }
}
