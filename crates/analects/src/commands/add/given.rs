//! What is added: text or bytes, from the arguments or from stdin, in the form that a cell has.

use std::io::{IsTerminal, Read};

use analects_formats::msgfile::output::{self, Piece};
use analects_formats::msgfile::{NewCell, base64};

use crate::failure::{Failure, words};

/// What the person gave.
pub struct Given {
    bytes: Vec<u8>,
}

impl Given {
    /// The arguments; without arguments, exactly stdin.
    pub fn read(arguments: &[String], mime_type: Option<&str>) -> Result<Given, Failure> {
        if let Some(kind) = mime_type {
            check_mime_type(kind)?;
        }
        if !arguments.is_empty() {
            // Stdin stays with whoever gave it to us: a loop that reads lines, perhaps.
            return Ok(Given { bytes: arguments.join(" ").into_bytes() });
        }
        if std::io::stdin().is_terminal() {
            return Err(nothing());
        }
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::input(format!("cannot read stdin: {}", words(&error))))?;
        Ok(Given { bytes })
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The text, where a cell can hold nothing else.
    pub fn text(&self, mime_type: Option<&str>) -> Result<String, Failure> {
        if mime_type.is_some() {
            let message = "--mime-type is for messages and for the output of code";
            return Err(Failure::usage(message, "leave it out"));
        }
        String::from_utf8(self.bytes.clone()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message = format!("this is no text: the bytes at offset {at} are not UTF-8");
            Failure::input(message).or_hint("say what it is, such as --mime-type image/png")
        })
    }

    /// The content of a message: text, or bytes of a type.
    pub fn message(&self, mime_type: Option<&str>, cell: &mut NewCell) -> Result<String, Failure> {
        let Some(kind) = mime_type else { return self.text(None) };
        set(cell, "mime_type", kind);
        Ok(base64::encode(&self.bytes))
    }

    /// The content of an output of code: what it printed, or a picture or the like.
    pub fn code_output(
        &self,
        mime_type: Option<&str>,
        cell: &mut NewCell,
    ) -> Result<String, Failure> {
        if let Some(kind) = mime_type {
            set(cell, "mime_type", kind);
            if !kind.starts_with("text/") {
                return Ok(base64::encode(&self.bytes));
            }
        }
        if let Ok(text) = std::str::from_utf8(&self.bytes)
            && output::decode(text, false).1.is_empty()
            && !text.ends_with('\n')
        {
            return Ok(text.to_string());
        }
        let encoded = output::encode(&[Piece::stdout(self.bytes.as_slice())]);
        if encoded.base64 {
            set(cell, "encoding", "base64");
        }
        Ok(encoded.text)
    }
}

fn set(cell: &mut NewCell, key: &str, value: &str) {
    cell.attributes.push((key.to_string(), value.to_string()));
}

/// There is nothing to add.
pub fn nothing() -> Failure {
    let hint = "give it as an argument, or on stdin, such as analects add talk.msg.md \"Hello\"";
    Failure::usage("nothing to add", hint)
}

fn check_mime_type(kind: &str) -> Result<(), Failure> {
    let is_part = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    match kind.split_once('/') {
        Some((one, other)) if is_part(one) && is_part(other) => Ok(()),
        _ => Err(Failure::usage(format!("{kind:?} is no MIME type"), "such as image/png")),
    }
}
