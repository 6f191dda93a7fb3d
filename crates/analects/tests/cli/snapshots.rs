//! Output that is pinned: files under `snapshots/`. With `ANALECTS_BLESS=1` they are written anew; read the
//! difference before you commit it.

use std::fs;
use std::path::Path;

/// A file with everything that the reading verbs know.
pub const TALK: &str = include_str!("snapshots/talk.msg.md");

#[track_caller]
pub fn assert_expected(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/snapshots")
        .join(name);
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        return fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name}; ANALECTS_BLESS=1 writes it anew");
}
