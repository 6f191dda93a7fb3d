//! Halves of surrogate pairs in JSON strings: `"\ud83d"` without the other half. Most programs cannot read them.

/// Returns JSON with `\ufffd` in place of each half of a pair; `None` if there are none. No other byte changes.
pub(crate) fn mend_surrogates(json: &str) -> Option<String> {
    let mut mended: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        let escape = at + found;
        let Some(unit) = unit_at(json, escape) else {
            // Any other escape: a backslash and one byte.
            at = (escape + 2).min(json.len());
            continue;
        };
        at = escape + UNIT_LENGTH;
        let is_pair = is_high(unit) && unit_at(json, at).is_some_and(is_low);
        if is_pair {
            at += UNIT_LENGTH;
        } else if is_high(unit) || is_low(unit) {
            let mended = mended.get_or_insert_default();
            mended.push_str(&json[copied..escape]);
            mended.push_str("\\ufffd");
            copied = at;
        }
    }
    let mut mended = mended?;
    mended.push_str(&json[copied..]);
    Some(mended)
}

/// The length of an escape such as `\ud83d`.
const UNIT_LENGTH: usize = 6;

/// Returns the code unit of an escape such as `\ud83d`; `None` if another text starts here.
fn unit_at(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + UNIT_LENGTH)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

#[cfg(test)]
mod tests {
    //! Halves and pairs, in any order.

    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (json, expected) in [
            (r#""a\ud83d b""#, Some(r#""a\ufffd b""#)),
            (r#""\ude00""#, Some(r#""\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\uD83D\uDE00""#, None),
            (r#""\\ud83d \n \u0041""#, None),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#"{"\ud800":"\udfff"}"#, Some(r#"{"\ufffd":"\ufffd"}"#)),
            ("\"\\", None),
            ("\"\\ud8é", None),
        ] {
            assert_eq!(mend_surrogates(json).as_deref(), expected, "{json}");
        }
    }
}
