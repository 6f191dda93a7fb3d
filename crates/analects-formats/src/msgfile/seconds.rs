//! Seconds as attributes have them: `30s`, `0.5s`. Exact to the nanosecond, both ways.

use std::time::Duration;

use super::item::{ItemError, ItemErrorKind};

/// Reads `30s` or `0.5s`; `None` for anything else.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() > 12 {
        return None;
    }
    // Nobody measures more finely than nanoseconds.
    let nanoseconds = format!("{:0<9}", fraction.get(..fraction.len().min(9))?);
    Some(Duration::new(
        whole.parse().ok()?,
        nanoseconds.parse().ok()?,
    ))
}

/// Writes what [`parse`] reads.
pub(super) fn format(duration: Duration) -> String {
    let (whole, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    if nanoseconds == 0 {
        return format!("{whole}s");
    }
    let fraction = format!("{nanoseconds:09}");
    format!("{whole}.{}s", fraction.trim_end_matches('0'))
}

/// A number of seconds that somebody gave; `what` names it in the error.
pub(super) fn from_number(seconds: f64, what: &str) -> Result<Duration, ItemError> {
    let wrong = |why: &str| {
        ItemError::new(
            ItemErrorKind::Invalid,
            format!("{what} must be {why}, not {seconds}"),
        )
    };
    if seconds < 0.0 || seconds.is_nan() {
        return Err(wrong("a number of seconds that is not negative"));
    }
    let fits = seconds < 1e12;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|_| fits)
        .ok_or_else(|| wrong("less than a million million seconds"))
}

/// Durations in JSON: a number of seconds.
pub(super) mod json {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a number, or null.
    pub(in super::super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_some(&duration.as_secs_f64()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a number that is not negative, or null.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds: Option<f64> = Option::deserialize(deserializer)?;
        let read = |seconds| super::from_number(seconds, "a number of seconds");
        seconds
            .map(read)
            .transpose()
            .map_err(serde::de::Error::custom)
    }
}
