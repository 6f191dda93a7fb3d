//! How thorough a test is: quick in the usual run, and with far more cases in `cargo xtask torture`.

/// Whether the tests run under `cargo xtask torture`, which takes as long as it takes.
pub fn is_torture() -> bool {
    std::env::var_os("ANALECTS_TORTURE").is_some()
}

/// `all` under torture, else `few`.
pub fn how_many(few: usize, all: usize) -> usize {
    if is_torture() { all } else { few }
}
