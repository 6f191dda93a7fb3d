//! Every target holds on its corpus and on mutations of it, and a target that does not is reported.

use analects_fuzz::{Random, Seed, TARGETS, Target, corpus, corpus_dir, mutate, run};

/// Enough to notice a careless change within seconds; `cargo xtask torture` does more.
const ITERATIONS: usize = 600;

fn iterations() -> usize {
    let Ok(text) = std::env::var("ANALECTS_FUZZ_ITERATIONS") else {
        return ITERATIONS;
    };
    let number = text.parse();
    assert!(
        number.is_ok(),
        "ANALECTS_FUZZ_ITERATIONS is {text:?}; expected a number"
    );
    number.unwrap_or(ITERATIONS)
}

fn seed(name: &str, bytes: &[u8]) -> Seed {
    Seed {
        name: name.to_string(),
        bytes: bytes.to_vec(),
    }
}

#[test]
fn every_target_holds() {
    for target in TARGETS {
        let seeds = corpus(&corpus_dir(target)).unwrap();
        if let Err(failure) = run(target, &seeds, iterations()) {
            panic!("\n{failure}\n");
        }
    }
}

#[test]
fn every_target_has_a_corpus() {
    for target in TARGETS {
        let seeds = corpus(&corpus_dir(target)).unwrap_or_default();
        assert!(
            seeds.len() >= 5,
            "{} has {} seeds; expected five or more",
            target.name,
            seeds.len()
        );
    }
}

/// A target with a bug: it does not survive an exclamation mark.
fn planted(bytes: &[u8]) {
    assert!(!bytes.contains(&b'!'), "planted");
}

const PLANTED: Target = Target {
    name: "planted",
    run: planted,
    tokens: &[b"!"],
};

#[test]
fn a_seed_that_breaks_its_target_is_reported() {
    let failure = run(&PLANTED, &[seed("good", b"a"), seed("bad", b"a!")], 0).unwrap_err();
    let saved = failure.saved.clone().unwrap();
    assert_eq!(std::fs::read(&saved).unwrap(), b"a!");
    let shown = failure.to_string();
    assert!(
        shown.starts_with("fuzz target planted: seed bad: planted\n"),
        "{shown}"
    );
    assert!(shown.contains("input, 2 bytes: 6121\n"), "{shown}");
    std::fs::remove_file(saved).unwrap();
}

#[test]
fn mutations_find_a_planted_bug() {
    let target = Target {
        name: "planted_deeper",
        ..PLANTED
    };
    let failure = run(&target, &[seed("good", b"abc")], ITERATIONS).unwrap_err();
    assert!(failure.input.contains(&b'!'));
    assert!(
        failure.origin.starts_with("mutation "),
        "{}",
        failure.origin
    );
    std::fs::remove_file(failure.saved.unwrap()).unwrap();
}

#[test]
fn mutations_are_the_same_every_time() {
    let list = || -> Vec<Vec<u8>> {
        let mut random = Random::named("x");
        (0..50)
            .map(|_| mutate(&PLANTED, b"# %%\n", b"other", &mut random))
            .collect()
    };
    assert_eq!(list(), list());
    let different = list().iter().filter(|bytes| *bytes != b"# %%\n").count();
    assert!(
        different > 40,
        "{different} of 50 mutations changed anything"
    );
}
