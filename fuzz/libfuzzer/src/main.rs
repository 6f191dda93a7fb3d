//! One program for all fuzz functions: `cargo xtask fuzz` says in the environment which of them libFuzzer
//! is to call. It searches for inputs by coverage; the functions themselves are in `fuzz/src`.
#![no_main]

use std::sync::OnceLock;

use analects_fuzz::{TARGETS, Target, dictionary};
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: {
        // libFuzzer reads its arguments after this, so the dictionary is there when it looks for it.
        if let Some(path) = std::env::var_os("ANALECTS_FUZZ_DICTIONARY") {
            std::fs::write(&path, dictionary(chosen())).expect("the dictionary can be written");
        }
    },
    |bytes: &[u8]| (chosen().run)(bytes)
);

fn chosen() -> &'static Target {
    CHOSEN.get_or_init(|| {
        let name = std::env::var("ANALECTS_FUZZ_TARGET").unwrap_or_default();
        let target = TARGETS.iter().find(|target| target.name == name);
        *target
            .unwrap_or_else(|| panic!("ANALECTS_FUZZ_TARGET is {name:?}; expected a fuzz target"))
    })
}
