//! Tests that cannot run everywhere, such as those that need files which are not part of this repository.

use std::io::Write;

/// Says that a test cannot run here, and adds that to the file that `ANALECTS_SKIPS` names.
#[allow(clippy::print_stderr)]
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED: {test}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("ANALECTS_SKIPS") {
        let mut file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        // In one write, since other tests append at the same time.
        file.write_all(line.as_bytes()).unwrap();
    }
}
