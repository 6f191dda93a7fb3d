//! Sessions that are long, and many of them: what is read, and what is held.

use std::sync::Arc;

use analects_core::{Body, verbs};
use analects_store::vfs::Vfs as _;
use analects_testkit::disks::{Fault, Faulty, Memory};

use super::sessions::{in_memory, rows, talk};
use super::*;

/// So many messages of two persons and a model, each of some hundred bytes.
fn long_talk(store: &dyn TranscriptStore, count: usize) {
    let now: Timestamp = "2026-11-15T18:17:00Z".parse().unwrap();
    let mut session = Session::open(store, talk()).unwrap();
    let state = analects_core::SessionState {
        title: Some("Tea".into()),
        ..Default::default()
    };
    session
        .set_state(state.snapshot(), &mut OsIds, now)
        .unwrap();
    let message = |number: usize| {
        let text = format!("{number} {}", "x".repeat(500));
        if number.is_multiple_of(2) {
            Message::user("", text)
        } else {
            Message::assistant("", text)
        }
    };
    session
        .append((0..count).map(message).collect(), &mut OsIds, now)
        .unwrap();
}

fn numbers(loaded: &LoadedChain) -> Vec<usize> {
    let number = |message: &Message| message.text().split(' ').next().unwrap().parse().unwrap();
    loaded.messages.iter().map(number).collect()
}

/// A store on a disk in memory, which counts what is done.
fn counted() -> (Arc<Faulty>, JsonlStore) {
    let memory = Arc::new(Memory::new("/disk"));
    let disk = Arc::new(Faulty::new(memory, Fault::Io, usize::MAX, false));
    let store = JsonlStore::with_vfs(disk.clone(), &super::in_memory::places());
    (disk, store)
}

#[test]
fn of_a_long_session_its_end_is_read() {
    let (disk, store) = counted();
    long_talk(&store, 8000);
    let before = disk.operations();
    let loaded = LoadedChain::load_end(&store, &talk(), LoadLimit::of_text(100_000)).unwrap();
    // Some 6 MB would be a hundred pieces; the index is looked at, too.
    assert!(
        disk.operations() - before < 20,
        "{}",
        disk.operations() - before
    );
    let numbers = numbers(&loaded);
    assert!((200..300).contains(&numbers.len()), "{}", numbers.len());
    assert!(numbers[0].is_multiple_of(2) && numbers.is_sorted());
    assert_eq!(numbers.last(), Some(&7999));
    assert_eq!(
        loaded.state.title.as_deref(),
        Some("Tea"),
        "the index knows the state"
    );
    assert!(loaded.earlier > 4_000_000, "{}", loaded.earlier);
    // Without an index, everything is gone over once.
    let index = store.path(&talk()).unwrap().with_extension("idx");
    disk.remove(&index).unwrap();
    assert_eq!(
        LoadedChain::load_end(&store, &talk(), LoadLimit::of_text(100_000)).unwrap(),
        loaded
    );
    let before = disk.operations();
    assert_eq!(
        LoadedChain::load_end(&store, &talk(), LoadLimit::of_text(100_000)).unwrap(),
        loaded
    );
    assert!(disk.operations() - before < 20, "the index is there again");
}

#[test]
fn what_is_loaded_begins_at_the_same_place_for_many_messages() {
    let store = in_memory();
    let now: Timestamp = "2026-11-15T18:17:00Z".parse().unwrap();
    long_talk(&store, 400);
    let mut starts = Vec::new();
    for number in 400..700 {
        let mut session = Session::open(&store, talk()).unwrap();
        let text = format!("{number} {}", "x".repeat(500));
        let said = Message {
            author: None,
            ..Message::user("", text)
        };
        session.append(vec![said], &mut OsIds, now).unwrap();
        let loaded = LoadedChain::load_end(&store, &talk(), LoadLimit::of_text(40_000)).unwrap();
        let numbers = numbers(&loaded);
        assert!(
            numbers.len() >= 80 && numbers.len() < 120,
            "{}",
            numbers.len()
        );
        starts.push(numbers[0]);
    }
    assert!(starts.is_sorted());
    starts.dedup();
    assert!((5..30).contains(&starts.len()), "{starts:?}");
}

#[test]
fn what_is_always_sent_is_loaded_wherever_it_is() {
    let store = in_memory().with_stride(1000);
    let now: Timestamp = "2026-11-15T18:17:00Z".parse().unwrap();
    let mut session = Session::open(&store, talk()).unwrap();
    let mut said = vec![
        Message::user("hidden", "so"),
        Message::user("asked", "Read everything."),
    ];
    said[0].body = Message::new("", Body::System(Default::default())).body;
    said.insert(
        0,
        Message {
            body: said[0].body.clone(),
            ..Message::user("rules", "")
        },
    );
    let call = |number: usize| Message::assistant("", format!("{number} {}", "x".repeat(500)));
    said.extend((0..300).map(call));
    session.append(said, &mut OsIds, now).unwrap();
    let target = verbs::Target::message("rules");
    let edit = |messages: &[Message]| verbs::edit(messages, &target, "Be brief.");
    session.apply(edit, &mut OsIds, now).unwrap();
    session
        .append((0..100).map(call).collect(), &mut OsIds, now)
        .unwrap();
    let loaded = LoadedChain::load_end(&store, &talk(), LoadLimit::of_text(10_000)).unwrap();
    let names: Vec<&str> = loaded
        .messages
        .iter()
        .take(3)
        .map(|message| &*message.id)
        .collect();
    assert_eq!(names, ["rules", "hidden", "asked"]);
    assert_eq!(loaded.messages[0].text(), "Be brief.");
    assert!(
        (20..60).contains(&loaded.messages.len()),
        "{}",
        loaded.messages.len()
    );
}

#[test]
fn where_a_link_is_broken_no_more_is_held() {
    let (_, store) = counted();
    long_talk(&store, 600);
    // It follows a message that comes later.
    let early = |id: &str, parent: &str| Message {
        parent_id: Some(parent.into()),
        ..Message::user(id, "0 y")
    };
    store.append(&talk(), &[early("first", "later")]).unwrap();
    let leaf = Session::open(&store, talk()).unwrap().leaf().cloned();
    assert_eq!(leaf.as_deref(), Some("first"));
    let before = load(&store, &talk()).unwrap();
    assert_eq!(before.messages.len(), 1);
    let mut later = early("later", "");
    later.parent_id = before_first(&store);
    store
        .append(&talk(), &[later, early("last", "first")])
        .unwrap();
    let loaded = LoadedChain::load_end(&store, &talk(), LoadLimit::of_text(20_000)).unwrap();
    assert_eq!(load(&store, &talk()).unwrap().messages.len(), 603);
    assert!(
        loaded.messages.len() < 120 && loaded.earlier > 100_000,
        "{}",
        loaded.messages.len()
    );
    let ends: Vec<&str> = loaded
        .messages
        .iter()
        .rev()
        .take(3)
        .map(|message| &*message.id)
        .collect();
    assert_eq!(ends, ["last", "first", "later"]);
}

/// The last message of a long talk.
fn before_first(store: &JsonlStore) -> Option<analects_core::MessageId> {
    let all = rows(store, &talk()).into_iter().flatten();
    let read = |bytes: Vec<u8>| {
        analects_formats::transcript::read_line(&bytes)
            .messages
            .remove(0)
    };
    let mut messages: Vec<Message> = all.map(read).collect();
    messages.retain(|message| message.text().starts_with("599 "));
    messages.pop().map(|message| message.id)
}

/// Sessions of some messages each; their digests as they are.
fn many_sessions(store: &JsonlStore, count: usize) -> Vec<SessionSummary> {
    for number in 0..count {
        let name = ChainName::new("project", format!("s{number:03}"));
        let said = Message::user("a", format!("Talk {number}"));
        store
            .append(
                &name,
                &[
                    said.clone(),
                    Message {
                        id: "b".into(),
                        ..said
                    },
                ],
            )
            .unwrap();
    }
    let listed = store.list(None).unwrap();
    listed
        .iter()
        .map(|it| store.overview(&it.name).unwrap().summary())
        .collect()
}

#[test]
fn a_list_opens_no_session_twice_and_notices_those_that_grew() {
    let (disk, store) = counted();
    let all = many_sessions(&store, 100);
    let listed = || store.list(None).unwrap();
    assert_eq!(store.summaries(&listed()).unwrap(), all);
    let before = disk.operations();
    assert_eq!(store.summaries(&listed()).unwrap(), all);
    // Their names and lengths, and one file.
    assert!(
        disk.operations() - before < 110,
        "{}",
        disk.operations() - before
    );
    let name = ChainName::new("project", "s007");
    store.append(&name, &[Message::user("c", "more")]).unwrap();
    let digests = store.summaries(&listed()).unwrap();
    let grown = listed().iter().position(|it| it.name == name).unwrap();
    assert_eq!(digests[grown].records, 3);
    assert_eq!(
        find(&store, None, Some("Talk 42")).unwrap(),
        SessionMatch::One(ChainName::new("project", "s042"))
    );
    store.prune(&name).unwrap();
    assert_eq!(store.summaries(&listed()).unwrap().len(), 99);
}

#[test]
fn whatever_stands_in_the_place_of_the_digests_the_list_is_right() {
    let disk = Disk::new();
    let store = JsonlStore::new(&disk.places).with_sync(SyncPolicy::Never);
    let all = many_sessions(&store, 40);
    let listed = store.list(None).unwrap();
    let path = disk.places.state.join("lists/project.jsonl");
    assert_eq!(store.summaries(&listed).unwrap(), all);
    let good = fs::read(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let text = String::from_utf8(good.clone()).unwrap();
    let changed = text.replace("Talk 7", "Talk 8");
    let longer = text.replace("Talk 7\"", "Talk 7\",\"more\"");
    let (half, twice) = (
        good[..good.len() / 2].to_vec(),
        [&good[..], b"torn", &good].concat(),
    );
    let lies = [
        changed.into(),
        longer.into(),
        half,
        twice,
        vec![0; 100_000],
        b"\xff\n[]\n".into(),
        Vec::new(),
    ];
    for lie in lies {
        fs::write(&path, &lie).unwrap();
        assert_eq!(store.summaries(&listed).unwrap(), all);
        assert_eq!(store.summaries(&listed).unwrap(), all);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(store.summaries(&listed).unwrap(), all);
    fs::remove_dir(&path).unwrap();
    // What grows again and again is written anew once, and does not grow for ever.
    for round in 0..60 {
        for session in &listed {
            store
                .append(&session.name, &[Message::user(format!("r{round}"), "x")])
                .unwrap();
        }
        let listed = store.list(None).unwrap();
        let digests = store.summaries(&listed).unwrap();
        assert!(digests.iter().all(|digest| digest.records == 3 + round));
    }
    assert!(fs::metadata(&path).unwrap().len() < 150_000);
}
