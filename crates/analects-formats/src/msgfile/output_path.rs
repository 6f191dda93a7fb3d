//! Which paths a file may name: beside it or below its folder, on every system, and never outside.

/// Why `output_file` cannot name that path, if it cannot. Links are not looked at here: who opens
/// the file must do that.
pub(super) fn why_not_a_path(path: &str) -> Option<&'static str> {
    let mut parts = path.split(['/', '\\']);
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.contains(is_odd) {
        return Some("it has control characters or characters that cannot be seen");
    }
    if path.starts_with(['/', '\\', '~']) {
        return Some("it does not start at the file's folder");
    }
    // Drive letters, streams of a file, addresses.
    if path.contains(':') {
        return Some("it has a colon, so that it may be a drive or an address");
    }
    if path.len() > 1024 {
        return Some("it is longer than 1024 bytes");
    }
    // Windows drops blanks and dots at the end of a part, so that `.. ` would be `..`.
    let leads_out = |part: &str| part.trim_end_matches([' ', '.']).is_empty();
    parts.any(leads_out).then_some("it has a part that is empty, . or ..")
}

/// Control characters, and those that change the direction of text or have no width.
fn is_odd(c: char) -> bool {
    let invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    c.is_control() || invisible
}
