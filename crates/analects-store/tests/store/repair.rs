//! Repair on disk: a new file and the rest of the old one, all or nothing, and the old one as it was.

use std::path::Path;
use std::sync::Arc;

use analects_core::CountingIds;
use analects_formats::transcript::encode;
use analects_store::vfs::Vfs;
use analects_testkit::disks::{Fault, Faulty, Memory};

use super::*;

const LIMIT: usize = 64 << 20;

fn repair(
    vfs: &dyn Vfs,
    path: &Path,
    new: &Path,
    limit: usize,
) -> Result<RepairReport, StoreError> {
    let now = "2026-11-15T18:17:00Z".parse().unwrap();
    repair_transcript(vfs, path, new, limit, &mut CountingIds::default(), now)
}

fn damaged() -> Vec<u8> {
    let line = |id: &str, parent: &str| {
        let parent_id = (!parent.is_empty()).then(|| parent.into());
        encode(&Message {
            parent_id,
            ..Message::user(id, id)
        })
    };
    let torn = &line("b", "a")[..30];
    format!(
        "{}{torn}\n{}\0\0\0{}",
        line("a", ""),
        line("c", "b"),
        &line("d", "c")[..50]
    )
    .into_bytes()
}

#[test]
fn a_damaged_file_is_mended_into_a_new_one() {
    let disk = Disk::new();
    let (path, new) = (disk.path("talk.jsonl"), disk.path("new.jsonl"));
    fs::write(&path, damaged()).unwrap();
    let repaired = repair(&vfs::Disk, &path, &new, LIMIT).unwrap();
    let codes: Vec<&str> = repaired.problems.iter().map(|odd| &*odd.code).collect();
    assert_eq!(
        codes,
        ["unreadable-line", "unknown-parent", "nul-run", "torn-line"]
    );
    assert_eq!(
        (repaired.aside, repaired.rest),
        (3, Some(disk.path("new.jsonl.rest")))
    );
    assert_eq!(fs::read(&path).unwrap(), damaged(), "the old file stays");
    assert_eq!(
        check_transcript(&vfs::Disk, &new, LIMIT).unwrap().problems,
        []
    );
    let kept = [
        fs::read(&new).unwrap(),
        fs::read(disk.path("new.jsonl.rest")).unwrap(),
    ]
    .concat();
    for line in damaged().split_inclusive(|byte| *byte == b'\n') {
        assert!(
            kept.windows(line.len()).any(|part| part == line),
            "{line:?} is gone"
        );
    }
    // Another time there is nothing to do, and no rest.
    let again = repair(&vfs::Disk, &new, &disk.path("again.jsonl"), LIMIT).unwrap();
    assert_eq!((again.problems, again.rest, again.aside), (vec![], None, 0));
    assert_eq!(
        fs::read(&new).unwrap(),
        fs::read(disk.path("again.jsonl")).unwrap()
    );
    // What is there is not replaced.
    assert!(repair(&vfs::Disk, &path, &new, LIMIT).is_err());
    assert!(
        repair(&vfs::Disk, &disk.path("none.jsonl"), &new, LIMIT)
            .unwrap_err()
            .is_not_found()
    );
    assert!(
        repair(&vfs::Disk, disk.folder.path(), &new, LIMIT).is_err(),
        "a folder"
    );
}

#[test]
fn a_line_of_100_mb() {
    let disk = Disk::new();
    let (path, new) = (disk.path("talk.jsonl"), disk.path("new.jsonl"));
    let reply = |id: &str, parent: &str, text: String| Message {
        parent_id: Some(parent.into()),
        ..Message::user(id, text)
    };
    let lines = [
        encode(&Message::user("a", "one")),
        encode(&reply("b", "a", "x".repeat(100_000_000))),
        encode(&reply("c", "b", "three".into())),
    ];
    fs::write(&path, lines.concat()).unwrap();
    let repaired = repair(&vfs::Disk, &path, &new, LIMIT).unwrap();
    let found: Vec<_> = repaired
        .problems
        .iter()
        .map(|odd| (&*odd.code, odd.line))
        .collect();
    assert_eq!(found, [("long-line", 2)]);
    assert_eq!(
        check_transcript(&vfs::Disk, &new, LIMIT).unwrap().problems,
        []
    );
    let rest = fs::read(disk.path("new.jsonl.rest")).unwrap();
    assert!(
        rest == lines[1..].concat().as_bytes(),
        "the long line is kept as it was"
    );
    assert!(fs::metadata(&new).unwrap().len() < 1000);
}

#[test]
fn a_repair_that_fails_leaves_no_new_file() {
    let (path, new) = (Path::new("/disk/talk.jsonl"), Path::new("/disk/new.jsonl"));
    let mut failed = 0;
    for fault in [
        Fault::Io,
        Fault::Full,
        Fault::Sync,
        Fault::Interrupted,
        Fault::Short,
    ] {
        for at in 0..60 {
            let memory = Memory::new("/disk");
            memory.put(path, &damaged());
            let faulty = Faulty::new(Arc::new(memory.clone()), fault, at, false);
            let what = format!("{fault:?} at {at}");
            assert_eq!(memory.get(path).unwrap(), damaged(), "{what}");
            match repair(&faulty, path, new, LIMIT) {
                Ok(_) => {
                    let checked = check_transcript(&memory, new, LIMIT).unwrap();
                    assert_eq!(checked.problems, [], "{what}");
                }
                // Only the sync of the names may come too late for that.
                Err(error) if error.to_string().contains("folder of") => failed += 1,
                Err(_) => {
                    failed += 1;
                    assert_eq!(memory.get(new), None, "{what}");
                }
            }
        }
    }
    assert!(failed > 20, "only {failed} faults did anything");
}
