//! Freshness of files, conflicts and reminders.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::new(second, 0).unwrap()
}

fn facts(second: i64, size: u64, hash: &str) -> FileFacts {
    FileFacts {
        modified: at(second),
        size,
        hash: Some(hash.into()),
    }
}

fn read_once() -> FileFreshness {
    let mut files = FileFreshness::default();
    files.read("a.rs", facts(10, 3, "one"), at(11));
    files
}

#[test]
fn a_file_is_fresh_until_somebody_changes_it() {
    let mut files = read_once();
    assert_eq!(
        files.check("a.rs", Some(&facts(10, 3, "one"))),
        Freshness::Fresh
    );
    assert_eq!(
        files.check("b.rs", Some(&facts(10, 3, "one"))),
        Freshness::Untracked
    );
    assert_eq!(files.check("b.rs", None), Freshness::Untracked);
    assert_eq!(
        files.check("a.rs", Some(&facts(12, 4, "two"))),
        Freshness::ModifiedExternally
    );
    assert_eq!(files.check("a.rs", None), Freshness::Deleted);
    assert_eq!(files.conflicts().collect::<Vec<_>>(), ["a.rs"]);
    assert_eq!(files.paths().collect::<Vec<_>>(), ["a.rs"]);
}

#[test]
fn an_edit_in_the_same_second_is_seen() {
    let mut files = read_once();
    assert_eq!(
        files.check("a.rs", Some(&facts(10, 3, "two"))),
        Freshness::ModifiedExternally
    );
    assert_eq!(
        files.check("a.rs", Some(&facts(10, 4, "one"))),
        Freshness::ModifiedExternally
    );
}

#[test]
fn the_same_content_again_is_fresh_whatever_the_clock_says() {
    let mut files = read_once();
    assert_eq!(
        files.check("a.rs", Some(&facts(99, 3, "one"))),
        Freshness::Fresh
    );
    // Without a hash, the time decides.
    let unhashed = FileFacts {
        hash: None,
        ..facts(99, 3, "")
    };
    assert_eq!(
        files.check("a.rs", Some(&unhashed)),
        Freshness::ModifiedExternally
    );
    assert_eq!(
        files.check(
            "a.rs",
            Some(&FileFacts {
                modified: at(10),
                ..unhashed
            })
        ),
        Freshness::Fresh
    );
    assert!(files.needs_hash("a.rs", 3) && !files.needs_hash("a.rs", 4));
    assert!(!files.needs_hash("b.rs", 3));
}

#[test]
fn the_agents_own_edit_does_not_hide_a_later_external_one() {
    let mut files = read_once();
    files.edited("a.rs", facts(20, 5, "mine"), at(20));
    assert_eq!(
        files.check("a.rs", Some(&facts(20, 5, "mine"))),
        Freshness::Fresh
    );
    // Later, in the same second, even with a clock that runs backwards.
    for second in [30, 20, 15] {
        let changed = facts(second, 5, "theirs");
        assert_eq!(
            files.check("a.rs", Some(&changed)),
            Freshness::ModifiedExternally,
            "{second}"
        );
    }
    assert_eq!(files.edited_at("a.rs"), Some(at(20)));
}

#[test]
fn an_edit_clears_the_conflict() {
    let mut files = read_once();
    files.check("a.rs", Some(&facts(12, 3, "two")));
    files.edited("a.rs", facts(13, 3, "mine"), at(13));
    assert_eq!(files.conflicts().count(), 0);
    files.check("a.rs", None);
    files.read("a.rs", facts(14, 3, "new"), at(14));
    assert_eq!(files.conflicts().count(), 0);
}

#[test]
fn a_stale_file_makes_one_reminder_and_not_one_a_turn() {
    let mut files = read_once();
    files.read("b.rs", facts(10, 3, "b"), at(11));
    let now = |hash: &'static str| {
        move |path: &str| Some(facts(12, 3, if path == "a.rs" { hash } else { "b" }))
    };
    let first = files.reminders(5, now("two"));
    assert_eq!(first.len(), 1);
    assert!(
        first[0].text.contains("a.rs") && first[0].text.contains("Read it again"),
        "{first:?}"
    );
    assert_eq!(files.reminders(5, now("two")), []);
    // Another change is another reminder, also after a resume.
    let mut resumed = FileFreshness::from_snapshot(&files.snapshot());
    assert_eq!(resumed, files);
    assert_eq!(resumed.reminders(5, now("two")), []);
    assert_eq!(resumed.reminders(5, now("three")).len(), 1);
    let gone = |path: &str| (path != "a.rs").then(|| facts(12, 3, "b"));
    assert_eq!(resumed.reminders(5, gone).len(), 1);
    assert_eq!(resumed.reminders(5, gone), []);
    // After a change back there is nothing to report; the next change is reported again.
    assert_eq!(resumed.reminders(5, now("one")), []);
    assert_eq!(resumed.reminders(5, now("two")).len(), 1);
    // The file is read, and then changed to the same content as before.
    resumed.read("a.rs", facts(13, 3, "mine"), at(13));
    assert_eq!(resumed.reminders(5, now("two")).len(), 1);
}

#[test]
fn github_is_not_git() {
    let mut files = FileFreshness::default();
    let paths = [
        ".git/config",
        ".github/workflows/ci.yml",
        "node_modules/x/index.js",
        "src\\target\\debug.rs",
        "src/targets.rs",
        "build",
        "my_node_modules/x.js",
        "/srv/project/vendor/lib.go",
        "src/main.rs",
    ];
    for (order, path) in paths.iter().enumerate() {
        files.read(path, facts(1, 1, "x"), at(order as i64));
    }
    assert_eq!(
        files.important(10),
        [
            "src/main.rs",
            "my_node_modules/x.js",
            "build",
            "src/targets.rs",
            ".github/workflows/ci.yml"
        ]
    );
    // The newest access comes first, edits count, and the limit holds.
    files.edited("build", facts(2, 2, "y"), at(100));
    assert_eq!(files.important(2), ["build", "src/main.rs"]);
}

#[test]
fn a_broken_snapshot_is_no_snapshot() {
    for json in [
        "{}",
        "null",
        "[1]",
        r#"{"files":7}"#,
        r#"{"files":{"a":{"facts":{}}}}"#,
    ] {
        let raw = Raw::parse(json).unwrap();
        assert_eq!(
            FileFreshness::from_snapshot(&raw),
            FileFreshness::default(),
            "{json}"
        );
    }
}
