//! How a source spells a time or a number where we would write the same value in another way, such as `1e-09` for
//! `1e-9`. The value is a field of the message; its spelling is kept beside it and written again.

use jiff::Timestamp;

use crate::json::number;
use crate::{Raw, RawMap};

/// The name of the field for the time of a message.
pub(crate) const CREATED_AT: &str = "created_at";
/// The name of the field for the cost of a message.
pub(crate) const COST_USD: &str = "cost_usd";

/// A value that can be spelled in several ways.
pub(crate) trait Spelled: Sized {
    /// Reads any spelling; `None` for another value.
    fn read(raw: &Raw) -> Option<Self>;

    /// Returns our own spelling.
    fn usual(&self) -> Raw;

    /// Returns whether a spelling is of this value.
    fn is_spelled(&self, raw: &Raw) -> bool {
        Self::read(raw).is_some_and(|read| read.usual() == self.usual())
    }
}

impl Spelled for Timestamp {
    fn read(raw: &Raw) -> Option<Timestamp> {
        raw.as_string()?.parse().ok()
    }

    fn usual(&self) -> Raw {
        Raw::string(&self.to_string())
    }
}

impl Spelled for f64 {
    fn read(raw: &Raw) -> Option<f64> {
        number(raw)
    }

    fn usual(&self) -> Raw {
        Raw::trusted(format!("{self:?}"))
    }
}

/// Takes a value out of `fields`. A spelling that is not ours goes to `spellings`.
pub(crate) fn take_spelled<T: Spelled>(
    fields: &mut RawMap,
    name: &str,
    spellings: &mut RawMap,
) -> Option<T> {
    fields.take(name, |raw| {
        let value = T::read(raw)?;
        if value.usual() != *raw {
            spellings.push(name, raw.clone());
        }
        Some(value)
    })
}

/// Returns the JSON of a value: as its source spells it, unless the value has changed since.
pub(crate) fn spell<T: Spelled>(value: &T, name: &str, spellings: &RawMap) -> Raw {
    let kept = spellings.get(name).filter(|raw| value.is_spelled(raw));
    kept.cloned().unwrap_or_else(|| value.usual())
}

/// Returns whether two values of a message's field are the same, and only spelled in two ways.
///
/// ```
/// use analects_core::{Raw, is_respelled};
///
/// let json = |text| Raw::parse(text).unwrap();
/// assert!(is_respelled("cost_usd", &json("1e-9"), &json("1e-09")));
/// assert!(is_respelled("created_at", &json("\"2026-01-02T03:04:05Z\""), &json("\"2026-01-02T04:04:05.0+01:00\"")));
/// assert!(!is_respelled("cost_usd", &json("1.5"), &json("1.6")));
/// ```
pub fn is_respelled(field: &str, one: &Raw, other: &Raw) -> bool {
    match field {
        CREATED_AT => Timestamp::read(one).is_some_and(|time| time.is_spelled(other)),
        COST_USD => f64::read(one).is_some_and(|cost| cost.is_spelled(other)),
        _ => false,
    }
}
