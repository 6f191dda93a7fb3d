//! Text made harmless: control, bidi and invisible characters are shown, not obeyed.

/// Text for one line of a terminal.
pub fn safe(text: &str) -> String {
    safe_lines(text).replace('\n', "␊")
}

/// Text for a terminal, with its lines.
pub fn safe_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// The same JSON, with everything escaped that a terminal would obey or hide. Such characters stand
/// only in strings, where an escape means the same.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let harmful = matches!(c, '\u{7f}'..='\u{9f}' | '\u{200c}' | '\u{200d}') || is_invisible(c);
        match harmful {
            true => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

/// Characters that change how others are shown, or hide: bidi controls, zero width, tags. The
/// joiners that emoji and Indic scripts need are not among them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    //! What reaches a terminal is harmless, and JSON stays what it was.

    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_an_escape_code() {
        assert_eq!(safe("a\u{1b}[31mb\r\u{9b}c"), "a<U+001B>[31mb<U+000D><U+009B>c");
        assert_eq!(safe("x\u{202e}y\u{e0041}"), "x<U+202E>y<U+E0041>");
        assert_eq!(safe("one\ntwo"), "one␊two");
        assert_eq!(safe_lines("one\n\ttwo 你好 👩\u{200d}💻"), "one\n\ttwo 你好 👩\u{200d}💻");
    }

    #[test]
    fn escaped_json_means_the_same() {
        let every = (0..=u32::from(char::MAX)).filter_map(char::from_u32).collect::<String>();
        let json = serde_json::to_string(&every).unwrap();
        let escaped = escape_json(&json);
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), every);
        assert!(!escaped.chars().any(|c| c.is_control() || is_invisible(c)));
        assert_eq!(escape_json("\"\u{9b}\u{e0041}你\""), "\"\\u009b\\udb40\\udc41你\"");
    }
}
