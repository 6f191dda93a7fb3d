//! Times as the plugin writes them, `2025-05-07 14:01:32` without a zone, and as RFC 3339.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Reads a time. One without a zone is of `zone`.
pub(super) fn read(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    // A day alone is no time.
    let local = text.parse::<DateTime>().ok().filter(|_| text.contains(':'))?;
    zone.to_timestamp(local).ok()
}

/// Writes a time without its zone, to the second.
pub(super) fn write_local(time: Timestamp, zone: &TimeZone) -> String {
    let local = zone.to_datetime(time);
    let (date, time) = (local.date(), local.time());
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        date.year(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}
