//! Times as people read them: in the zone of `TZ`, or else of the system.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The zone of `TZ`, or else of the system.
pub fn zone() -> TimeZone {
    TimeZone::system()
}

/// A time to the minute.
pub fn minutes(time: Timestamp) -> String {
    let local = time.to_zoned(zone());
    local.strftime("%Y-%m-%d %H:%M").to_string()
}

/// A time to the second.
pub fn seconds(time: Timestamp) -> String {
    let local = time.to_zoned(zone());
    local.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A time in RFC 3339, to the second. Any other text stays as it is.
pub fn seconds_of(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_string(), seconds)
}
