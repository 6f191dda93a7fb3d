//! Sessions in the stores: what all of them do, and what those on disk do beyond that.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use analects_core::{
    Body, CompactBoundary, CompactTrigger, Progress, Raw, StateChange, Summary, Tombstone, chain,
};
use analects_formats::transcript::{crc32c, encode};
use analects_testkit::conformance;
use analects_testkit::disks::Memory;
use proptest::prelude::*;

use super::*;

#[test]
fn the_store_in_memory_is_a_store() {
    conformance::check(&|| Box::new(MemoryStore::default()));
}

#[test]
fn the_store_on_disk_is_a_store() {
    let disk = Disk::new();
    let count = std::cell::Cell::new(0);
    conformance::check(&|| {
        count.set(count.get() + 1);
        let place = |name: &str| disk.path(&format!("{name}-{}", count.get()));
        let places = StoreFolders {
            data: place("data"),
            state: place("state"),
            ..StoreFolders::in_folder("")
        };
        Box::new(JsonlStore::new(&places).with_sync(SyncPolicy::Never))
    });
}

#[test]
fn the_store_on_a_disk_in_memory_is_a_store() {
    conformance::check(&|| Box::new(in_memory()));
}

pub fn in_memory() -> JsonlStore {
    JsonlStore::with_vfs(Arc::new(Memory::new("/disk")), &in_memory::places())
}

pub fn talk() -> ChainName {
    ChainName::new("project", "talk")
}

pub fn rows(store: &JsonlStore, of: &ChainName) -> Vec<Option<Vec<u8>>> {
    let mut rows = Vec::new();
    let mut push = |row: ChainRow<'_>| {
        rows.push(row.bytes.map(<[u8]>::to_vec));
        ControlFlow::Continue(())
    };
    store.scan(of, 0, &mut push).unwrap();
    rows
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places);
    let long = "x".repeat(101);
    for bad in [
        "", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\0b", "ü", "a b", "x.", &long,
    ] {
        for name in [
            ChainName::new("p", bad),
            ChainName::new(bad, "s"),
            ChainName::new("p", "s").side(bad),
        ] {
            let error = store.append(&name, &[Message::user("a", "x")]).unwrap_err();
            assert!(
                matches!(error, StoreError::BadName { .. }),
                "{bad:?}: {error}"
            );
            assert!(store.overview(&name).is_err() && store.prune(&name).is_err());
        }
    }
    assert!(!disk.places.data.exists(), "nothing was made");
    for good in [
        "0197f3c2-aaaa-7bbb-8ccc-0123456789ab",
        "a.b_c-D",
        &long[..100],
    ] {
        store
            .append(&ChainName::new("p", good), &[Message::user("a", "x")])
            .unwrap();
    }
    assert_eq!(store.list(Some("p")).unwrap().len(), 3);
}

#[test]
fn projects_have_short_names_of_their_own() {
    let long = format!("/a/{}", "very-long-name".repeat(30));
    let names = ["/a/tea", "/b/tea", "/a/项目", "/a/項目", "/", &long];
    let names: Vec<String> = names
        .iter()
        .map(|path| StoreFolders::project_name(Path::new(path)))
        .collect();
    for (at, name) in names.iter().enumerate() {
        assert!(name.len() <= 80 && name.is_ascii(), "{name}");
        assert!(!names[..at].contains(name), "{name} is there twice");
    }
    assert!(names[0].starts_with("tea-"));
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_transcript_is_refused() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places);
    let path = store.path(&talk()).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(disk.path("precious"), "text").unwrap();
    std::os::unix::fs::symlink(disk.path("precious"), &path).unwrap();
    assert!(store.append(&talk(), &[Message::user("a", "x")]).is_err());
    assert_eq!(disk.text("precious"), "text");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(store.append(&talk(), &[Message::user("a", "x")]).is_err());
    assert!(store.overview(&talk()).is_err());
}

#[test]
fn what_is_pruned_lies_in_the_trash_whole() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places);
    let mut places = Vec::new();
    for text in ["first", "second"] {
        store.append(&talk(), &[Message::user("a", text)]).unwrap();
        store
            .append(&talk().side("g"), &[Message::user("s", text)])
            .unwrap();
        places.push(store.prune(&talk()).unwrap());
    }
    assert_ne!(places[0], places[1]);
    for (place, text) in places.iter().zip(["first", "second"]) {
        assert_eq!(
            fs::read_to_string(place).unwrap(),
            encode(&Message::user("a", text))
        );
    }
    let side = disk.places.data.join("trash/project/talk");
    let mut sides: Vec<String> = fs::read_dir(side)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    sides.sort();
    assert_eq!(
        sides,
        ["first", "second"].map(|text| encode(&Message::user("s", text)))
    );
}

#[test]
fn a_writer_notices_that_its_file_was_moved_away() {
    let disk = Disk::new();
    let (one, other) = (JsonlStore::new(&disk.places), JsonlStore::new(&disk.places));
    one.append(&talk(), &[Message::user("a", "one")]).unwrap();
    other.append(&talk(), &[Message::user("b", "two")]).unwrap();
    let trash = other.prune(&talk()).unwrap();
    one.append(&talk(), &[Message::user("c", "three")]).unwrap();
    assert_eq!(fs::read_to_string(trash).unwrap().lines().count(), 2);
    assert_eq!(rows(&other, &talk()).len(), 1);
    fs::remove_dir_all(&disk.places.data).unwrap();
    one.append(&talk(), &[Message::user("d", "four")]).unwrap();
    assert_eq!(rows(&other, &talk()).len(), 1);
}

#[test]
fn an_index_is_trusted_as_far_as_the_file_confirms_it() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places)
        .with_stride(1000)
        .with_sync(SyncPolicy::Never);
    let path = store.path(&talk()).unwrap();
    for number in 0..100 {
        store
            .append(&talk(), &[Message::user(format!("m{number}"), "some text")])
            .unwrap();
    }
    let index = path.with_extension("idx");
    let good = fs::read(&index).unwrap();
    let records = || store.overview(&talk()).unwrap().records;
    assert_eq!(records(), 100);
    // A count that is off by a thousand is believed if its checksum is right and the file confirms the rest.
    let text = String::from_utf8(good.clone()).unwrap();
    let (sum, text) = text.lines().next_back().unwrap().split_once(' ').unwrap();
    let seen = analects_core::RawMap::parse(text)
        .unwrap()
        .get("records")
        .unwrap()
        .clone();
    let lie = text.replace(&format!("\"records\":{seen}"), "\"records\":1000");
    fs::write(&index, format!("{:08x} {lie}\n", crc32c(lie.as_bytes()))).unwrap();
    assert!(records() > 1000, "the index is used");
    fs::write(&index, format!("{sum} {lie}\n")).unwrap();
    assert_eq!(records(), 100, "a bit that fell over is noticed");
    for bad in [
        &b"not json"[..],
        b"",
        b"{}",
        &good[..good.len() / 2],
        &[0; 100_000],
    ] {
        fs::write(&index, bad).unwrap();
        assert_eq!(
            records(),
            100,
            "{:?}",
            String::from_utf8_lossy(&bad[..bad.len().min(40)])
        );
    }
    fs::write(&index, &good).unwrap();
    // The file was cut, or changed before the end of what was seen.
    let bytes = fs::read(&path).unwrap();
    let short: usize = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .take(10)
        .map(<[u8]>::len)
        .sum();
    fs::write(&path, &bytes[..short]).unwrap();
    assert_eq!(records(), 10);
    let other: String = (0..200)
        .map(|n| encode(&Message::user(format!("n{n}"), "x")))
        .collect();
    fs::write(&path, other).unwrap();
    assert_eq!(records(), 200);
    #[cfg(unix)]
    {
        fs::remove_file(&index).unwrap();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&index)
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(records(), 200, "nobody waits for a pipe");
    }
    // Appending mends it; a folder in its place is nobody's loss.
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    store.append(&talk(), &[Message::user("z", "x")]).unwrap();
    assert_eq!(records(), 201);
    assert_eq!(store.list(None).unwrap().len(), 1, "an index is no session");
}

#[test]
fn reading_leaves_no_trace() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places);
    let path = store.path(&talk()).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(
        &path,
        "{\"v\":1,\"type\":\"user\",\"id\":\"a\",\"content\":\"x\"}\ntorn",
    )
    .unwrap();
    let before = (
        fs::read(&path).unwrap(),
        fs::metadata(&path).unwrap().modified().unwrap(),
    );
    load(&store, &talk()).unwrap();
    tail(&store, &talk(), 3).unwrap();
    store.list(None).unwrap();
    find(&store, None, Some("x")).unwrap();
    check_transcript(&vfs::Disk, &path, 1000).unwrap();
    let after = (
        fs::read(&path).unwrap(),
        fs::metadata(&path).unwrap().modified().unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    assert!(!disk.places.state.exists(), "no lock was taken");
}

#[test]
fn a_line_that_is_too_long_costs_itself_only() {
    let store = in_memory().with_stride(u64::MAX);
    let long = Message {
        parent_id: Some("a".into()),
        ..Message::user("b", "x".repeat(5_000_000))
    };
    let last = Message {
        parent_id: Some("a".into()),
        ..Message::user("c", "after")
    };
    store
        .append(&talk(), &[Message::user("a", "before"), long, last])
        .unwrap();
    // As if another program had written it, which knows no limit.
    let store = store.with_line_limit(1000);
    let found: Vec<bool> = rows(&store, &talk()).iter().map(Option::is_some).collect();
    assert_eq!(found, [true, false, true]);
    let loaded = load(&store, &talk()).unwrap();
    assert_eq!(loaded.messages.len(), 2);
    assert_eq!(
        loaded
            .problems
            .iter()
            .map(|odd| &*odd.code)
            .collect::<Vec<_>>(),
        ["long-line"]
    );
    let overview = store.overview(&talk()).unwrap();
    assert_eq!((overview.records, overview.damaged), (2, 1));
    assert_eq!(tail(&store, &talk(), 2).unwrap().messages.len(), 2);
}

/// A record of another program that is longer than the store reads, between `before` and `after`, which follows it.
fn around_a_long_record() -> JsonlStore {
    let store = in_memory().with_stride(u64::MAX);
    let reply = |id: &str, to: &str, text: String| Message {
        parent_id: Some(to.into()),
        ..Message::user(id, text)
    };
    let long = reply("b", "a", "x".repeat(5_000_000));
    let after = [
        reply("c", "b", "after".into()),
        reply("d", "c", "last".into()),
    ];
    store
        .append(&talk(), &[Message::user("a", "before"), long])
        .unwrap();
    store.append(&talk(), &after).unwrap();
    store.with_line_limit(1000)
}

#[test]
fn what_came_before_a_record_that_is_too_long_stays_reachable() {
    let store = around_a_long_record();
    let texts = |loaded: &LoadedChain| -> Vec<String> {
        loaded.messages.iter().map(Message::text).collect()
    };
    let last = load(&store, &talk()).unwrap();
    let branch = LoadedChain::load_branch(&store, &talk(), "c").unwrap();
    assert_eq!(texts(&last), ["before", "after", "last"]);
    assert_eq!(texts(&branch), ["before", "after"]);
    for loaded in [&last, &branch] {
        let codes: Vec<_> = loaded
            .problems
            .iter()
            .map(|problem| &*problem.code)
            .collect();
        assert_eq!(codes, ["long-line"]);
        let problem = &loaded.problems[0];
        assert!(
            problem.message.contains("at byte ") && problem.hint.is_some(),
            "{problem:?}"
        );
    }
    let session = Session::open(&store, talk()).unwrap();
    assert_eq!(session.parent("c").unwrap().as_deref(), Some("b"));
    let copy = ChainName::new("project", "copy");
    let fork = session
        .fork(None, copy, &mut OsIds, Timestamp::UNIX_EPOCH)
        .unwrap();
    assert_eq!(texts(&fork.load().unwrap()), ["before", "after", "last"]);
}

#[test]
fn a_record_that_is_too_long_can_be_the_last_one() {
    let store = in_memory().with_stride(u64::MAX);
    let long = Message {
        parent_id: Some("a".into()),
        ..Message::user("b", "x".repeat(9_000))
    };
    store
        .append(&talk(), &[Message::user("a", "before"), long])
        .unwrap();
    let store = store.with_line_limit(1000);
    let mut session = Session::open(&store, talk()).unwrap();
    assert_eq!(session.leaf().map(|leaf| &**leaf), Some("b"));
    let said = vec![Message::user("", "after")];
    session
        .append(said, &mut OsIds, Timestamp::UNIX_EPOCH)
        .unwrap();
    assert_eq!(session.load().unwrap().messages.len(), 2);
}

/// Rows are the same from both ends, for lines around the sizes that are read at once.
#[test]
fn rows_are_the_same_from_both_ends() {
    let store = in_memory();
    let sizes = [
        0, 1, 65_400, 65_500, 65_536, 131_000, 1_048_400, 1_048_576, 2_900_000, 5_000_000,
    ];
    for size in sizes.into_iter().chain([3, 4_000_000, 70_000]) {
        store
            .append(
                &talk(),
                &[Message::user(format!("s{size}"), "y".repeat(size))],
            )
            .unwrap();
    }
    let store = store.with_line_limit(3_000_000);
    let forward = rows(&store, &talk());
    let mut backward = Vec::new();
    let mut push = |row: ChainRow<'_>| {
        assert!(
            row.beginning
                .starts_with(b"{\"v\":1,\"type\":\"user\",\"id\":\"s")
        );
        assert!(row.bytes.is_none_or(|bytes| bytes == row.beginning));
        backward.push(row.bytes.map(<[u8]>::to_vec));
        ControlFlow::Continue(())
    };
    store.scan_backward(&talk(), &mut push).unwrap();
    backward.reverse();
    assert_eq!(forward.len(), 13);
    assert!(forward == backward);
    assert_eq!(forward.iter().filter(|row| row.is_none()).count(), 2);
}

fn record((id, parent, kind): (u8, u8, u8)) -> Message {
    let name = |number: u8| format!("m{number}");
    let some = |number: u8| (number > 0).then(|| name(number).into());
    let body = match kind {
        0 => Body::Progress(Progress::default()),
        1 => {
            let target = name(parent.max(1)).into();
            Body::Tombstone(Tombstone {
                target,
                target_parent: some(parent / 2),
            })
        }
        2 => Body::Summary(Summary {
            text: "so far".into(),
            ..Summary::default()
        }),
        3 | 4 => Body::CompactBoundary(CompactBoundary {
            summary_id: some(id / 2),
            kept_from: some(parent / 2),
            trigger: (kind == 4).then_some(CompactTrigger::Separator),
            ..CompactBoundary::default()
        }),
        5 => {
            let changes = Raw::parse(&format!(r#"{{"title":"{id}","k{parent}":{id}}}"#)).unwrap();
            Body::State(StateChange {
                changes,
                is_snapshot: id % 2 == 0,
            })
        }
        6 => Body::Other(Default::default()),
        _ => Message::user("", "x").body,
    };
    let agent_id = (kind == 7).then(|| "helper".to_string());
    Message {
        parent_id: some(parent),
        agent_id,
        ..Message::new(name(id), body)
    }
}

fn any_record() -> impl Strategy<Value = Message> {
    (1..12_u8, 0..12_u8, 0..14_u8).prop_map(record)
}

/// Records of which each follows the one before, but for some.
fn mostly_in_order() -> impl Strategy<Value = Vec<Message>> {
    proptest::collection::vec((any::<bool>(), any_record()), 0..40).prop_map(|records| {
        let mut placed: Vec<Message> = Vec::new();
        for (at, (stays, mut record)) in records.into_iter().enumerate() {
            let before = placed
                .iter()
                .rev()
                .find(|one| !matches!(one.body, Body::Progress(_)));
            if !stays || at % 5 > 0 {
                record.parent_id = before.map(|before| before.id.clone());
                record.id = format!("n{at}").into();
                record.agent_id = None;
                if let Body::CompactBoundary(boundary) = &mut record.body {
                    let summaries = placed.iter().rev();
                    let mut summaries =
                        summaries.filter(|one| matches!(one.body, Body::Summary(_)));
                    boundary.summary_id = summaries.next().map(|one| one.id.clone());
                    boundary.kept_from = placed.get(at / 2).map(|one| one.id.clone());
                }
                if let Body::Tombstone(tombstone) = &mut record.body {
                    tombstone.target = placed
                        .get(at * 2 / 3)
                        .map(|m| m.id.clone())
                        .unwrap_or_default();
                }
            }
            placed.push(record);
        }
        placed
    })
}

/// What is loaded from the end is what the chain of everything is.
fn check_load(messages: &[Message]) -> Result<(), TestCaseError> {
    let expected = chain(messages);
    let on_disk = in_memory();
    let memory = MemoryStore::default();
    for store in [&on_disk as &dyn TranscriptStore, &memory] {
        store.append(&talk(), messages).unwrap();
        let loaded = load(store, &talk()).unwrap();
        let found: Vec<&Message> = loaded.messages.iter().collect();
        prop_assert_eq!(found, expected.messages.clone());
        prop_assert_eq!(loaded.leaf.as_ref(), expected.leaf.map(|leaf| &leaf.id));
        prop_assert_eq!(loaded.boundary.as_ref(), expected.boundary);
        prop_assert_eq!(loaded.state, analects_core::SessionState::rebuild(messages));
    }
    Ok(())
}

/// What is loaded where there is little room is a part of all of it, with the last words of the person.
fn check_reach(messages: &[Message], text: u64, in_order: bool) -> Result<(), TestCaseError> {
    let on_disk = in_memory();
    let memory = MemoryStore::default();
    for store in [&on_disk as &dyn TranscriptStore, &memory] {
        store.append(&talk(), messages).unwrap();
        let all = load(store, &talk()).unwrap();
        let part = LoadedChain::load_end(store, &talk(), LoadLimit::of_text(text)).unwrap();
        let mut rest = all.messages.iter();
        for message in &part.messages {
            prop_assert!(
                rest.any(|one| one == message),
                "{message:?} of {part:?} in {all:?}"
            );
        }
        prop_assert!(
            part.earlier > 0 || part.messages == all.messages,
            "{part:?} of {all:?}"
        );
        let words = |loaded: &LoadedChain| {
            let mut said = loaded.messages.iter().rev();
            said.find(|message| matches!(message.body, Body::User(_)))
                .map(|it| it.id.clone())
        };
        prop_assert_eq!(words(&part), words(&all));
        prop_assert_eq!(part.leaf, all.leaf);
        // What a link leads forward to is not looked for where that link is not even read.
        prop_assert!(!in_order || part.boundary == all.boundary);
        prop_assert_eq!(part.state, all.state);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_part_of_any_chain_is_loaded_as_it_is(
        messages in proptest::collection::vec(any_record(), 0..25),
        text in 0..12_u64,
    ) {
        check_reach(&messages, text, false)?;
    }

    #[test]
    fn a_part_of_a_chain_in_order_is_loaded_as_it_is(
        messages in mostly_in_order(),
        text in 0..12_u64,
    ) {
        check_reach(&messages, text, true)?;
    }

    #[test]
    fn any_chain_is_loaded_as_it_is(messages in proptest::collection::vec(any_record(), 0..25)) {
        check_load(&messages)?;
    }

    #[test]
    fn a_chain_in_order_is_loaded_as_it_is(messages in mostly_in_order()) {
        check_load(&messages)?;
    }
}

#[test]
fn after_a_late_boundary_the_beginning_is_not_read() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places).with_sync(SyncPolicy::Never);
    let mut session = Session::open(&store, talk()).unwrap();
    let now: Timestamp = "2026-11-15T18:17:00Z".parse().unwrap();
    let talks = (0..2000)
        .map(|_| Message::user("", "x".repeat(1000)))
        .collect();
    session.append(talks, &mut OsIds, now).unwrap();
    session
        .compact(conformance::compaction("", None), &mut OsIds, now)
        .unwrap();
    session
        .append(vec![Message::user("", "after")], &mut OsIds, now)
        .unwrap();
    // What is not read cannot be in the way.
    let path = store.path(&talk()).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[..1_000_000].fill(b'x');
    fs::write(&path, bytes).unwrap();
    let loaded = load(&store, &talk()).unwrap();
    assert_eq!(loaded.messages.len(), 2);
    assert_eq!(loaded.problems, []);
}

#[test]
fn a_record_that_could_not_be_read_again_is_refused() {
    let store = in_memory().with_line_limit(1000);
    let long = Message::user("m", "x".repeat(2000));
    let short = Message::user("s", "short");
    let error = store.append(&talk(), &[short.clone(), long]).unwrap_err();
    assert!(
        matches!(error, StoreError::LongRecord { limit: 1000, .. }),
        "{error}"
    );
    assert_eq!(rows(&store, &talk()), [], "all of them or none");
    store.append(&talk(), &[short]).unwrap();
    assert_eq!(rows(&store, &talk()).len(), 1);
}
