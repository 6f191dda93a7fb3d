//! The cases that do not hold yet, in `gaps.txt`. A case that fails must be in that list, and a case of that list must
//! fail, so that the list can only become shorter. `ANALECTS_BLESS=1` writes it anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn path(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/losses/gaps/{format}.txt"))
}

/// Compares the cases that fail with the list.
pub fn compare(format: &str, failed: &[(String, String)]) {
    let path = path(format);
    let names: BTreeSet<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        let lines: Vec<&str> = names.iter().copied().collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
    if let Some(details) = std::env::var_os("ANALECTS_LOSSES") {
        let texts: Vec<&str> = failed.iter().map(|(_, text)| text.as_str()).collect();
        fs::write(Path::new(&details).join(format), texts.join("\n")).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeSet<&str> = known.lines().filter(|line| !line.is_empty()).collect();
    let new = failed
        .iter()
        .filter(|(name, _)| !known.contains(name.as_str()));
    let new: Vec<&str> = new.map(|(_, text)| text.as_str()).collect();
    assert!(
        new.is_empty(),
        "{} cases fail:\n{}",
        new.len(),
        new.join("\n")
    );
    let mended: Vec<&&str> = known.difference(&names).collect();
    assert!(
        mended.is_empty(),
        "these hold now; remove them from {}:\n{mended:#?}",
        path.display()
    );
}
