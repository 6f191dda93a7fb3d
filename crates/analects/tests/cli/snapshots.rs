//! Expected output in files under `snapshots/`. `ANALECTS_BLESS=1` writes them anew; read the diff before you commit
//! it.

use std::fs;
use std::path::Path;

/// A file with everything that the reading commands know.
pub const TALK: &str = include_str!("snapshots/talk.msg.md");

#[track_caller]
pub fn assert_snapshot(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/snapshots")
        .join(name);
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        return fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name}; ANALECTS_BLESS=1 writes it anew");
}
