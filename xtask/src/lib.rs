//! The project's checks, one module per verb of `cargo xtask`, kept apart from the command so that
//! tests can call them. It checks the other crates from outside and depends on none of them.

use std::path::{Path, PathBuf};

pub mod bench;
pub mod dist;
pub mod fuzz;
pub mod setup;
pub mod steps;
pub mod test;
pub mod tidy;
pub mod torture;

/// The top folder of the workspace.
pub fn root() -> PathBuf {
    // Cargo says at run time where the crate is; the place of the build may have moved since.
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.ends_with("xtask"))
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    crate_dir
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or(crate_dir)
}
