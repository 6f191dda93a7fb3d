//! The beginning of a file, as formats look at it to recognise their own. It may end anywhere, so nothing
//! here needs it to be complete.

use analects_core::RawMap;
use memchr::memmem;

/// The beginning of a file.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    bytes: &'a [u8],
}

impl<'a> Head<'a> {
    /// Looks at a beginning, without a byte-order mark and blanks before it.
    pub fn new(bytes: &'a [u8]) -> Head<'a> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        Head { bytes: bytes.trim_ascii_start() }
    }

    /// What it holds.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it begins with this.
    pub fn starts_with(self, text: &str) -> bool {
        self.bytes.starts_with(text.as_bytes())
    }

    /// Whether a JSON key of this name stands somewhere in it, or looks as if it did.
    pub fn has_key(self, key: &str) -> bool {
        let quoted = format!("\"{key}\"");
        memmem::find_iter(self.bytes, quoted.as_bytes()).any(|at| {
            let rest = self.bytes.get(at + quoted.len()..).unwrap_or_default();
            rest.trim_ascii_start().starts_with(b":")
        })
    }

    /// Whether a JSON key of this name stands somewhere in it with this string as its value.
    pub fn has(self, key: &str, value: &str) -> bool {
        self.values(key).any(|rest| rest.starts_with(format!("\"{value}\"").as_bytes()))
    }

    /// Whether a JSON key of this name stands somewhere in it with a value that begins like this.
    pub fn has_value(self, key: &str, beginning: &str) -> bool {
        self.values(key).any(|rest| rest.starts_with(beginning.as_bytes()))
    }

    fn values(self, key: &str) -> impl Iterator<Item = &'a [u8]> {
        let quoted = format!("\"{key}\"");
        let places: Vec<usize> = memmem::find_iter(self.bytes, quoted.as_bytes()).collect();
        places.into_iter().filter_map(move |at| {
            let rest = self.bytes.get(at + quoted.len()..)?.trim_ascii_start();
            rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
        })
    }

    /// The fields of the first line, if that line is a JSON object and is all there.
    pub fn first_object(self) -> Option<RawMap> {
        let line = self.bytes.split(|byte| *byte == b'\n').next()?;
        RawMap::parse(std::str::from_utf8(line).ok()?).ok()
    }
}
