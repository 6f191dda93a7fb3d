//! A target's tokens as a dictionary of libFuzzer: one string a line, with every byte escaped.

use std::fmt::Write;

use crate::{TOKENS, Target};

/// The dictionary of a target: what is mixed into seeded mutations, for libFuzzer to mix in, too.
pub fn dictionary(target: &Target) -> String {
    let mut out = String::new();
    for token in TOKENS.iter().chain(target.tokens) {
        out.push('"');
        for byte in *token {
            let _ = write!(out, "\\x{byte:02X}");
        }
        out.push_str("\"\n");
    }
    out
}
