//! What every [`TranscriptStore`] has to do, as functions that panic where it does not: for the tests of
//! whoever writes one. [`check`] runs them all, each on a store that is empty.

use std::ops::ControlFlow;

use analects_core::verbs::{self, Target, revised};
use analects_core::{
    Block, Body, CompactBoundary, CountingIds, History, Json, Message, MessageId, Other, Progress,
    Raw, SessionState, StateChange, Summary, TokenUsage, ToolResult, chain,
};
use analects_formats::transcript::read_line;
use analects_store::{
    ChainName, ChainRow, LoadedChain, Overview, Session, SessionMatch, TranscriptStore, find, load,
    tail,
};
use jiff::Timestamp;

/// Runs every check on a new store that `make` gives.
pub fn check(make: &dyn Fn() -> Box<dyn TranscriptStore>) {
    let checks: [(&str, Check); 16] = [
        ("nothing is there at first", nothing_is_there_at_first),
        ("records come back in order", records_come_back_in_order),
        ("whatever is said comes back", whatever_is_said_comes_back),
        (
            "sessions and projects are apart",
            sessions_and_projects_are_apart,
        ),
        ("a side chain stands alone", a_side_chain_stands_alone),
        (
            "what is pruned is gone from view",
            what_is_pruned_is_gone_from_view,
        ),
        (
            "a new session is there as a whole",
            a_new_session_is_there_as_a_whole,
        ),
        (
            "a session restores by its chain",
            a_session_restores_by_its_chain,
        ),
        ("two compactions", two_compactions),
        (
            "a broken chain is loaded all the same",
            a_broken_chain_is_loaded_all_the_same,
        ),
        ("the tail is the end", the_tail_is_the_end),
        ("counts and totals", counts_and_totals),
        ("sessions are found", sessions_are_found),
        ("rewinds of a session", rewinds_of_a_session),
        ("forks of a session", forks_of_a_session),
        ("many writers at once", many_writers_at_once),
    ];
    for (name, check) in checks {
        let store = make();
        let run = std::panic::AssertUnwindSafe(|| check(&*store));
        if let Err(panic) = std::panic::catch_unwind(run) {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|text| text.to_string()));
            panic!("{name}: {}", text.unwrap_or_default());
        }
    }
}

/// One thing that a store has to do.
type Check = fn(&dyn TranscriptStore);

fn main_chain() -> ChainName {
    ChainName::new("project-1", "session-1")
}

fn now() -> Timestamp {
    "2026-11-15T18:17:00Z".parse().unwrap()
}

fn said(id: &str, parent: &str, text: &str) -> Message {
    let parent_id = (!parent.is_empty()).then(|| parent.into());
    Message {
        parent_id,
        session_id: "session-1".into(),
        ..Message::user(id, text)
    }
}

/// All rows, as messages.
fn all(store: &dyn TranscriptStore, of: &ChainName) -> Vec<Message> {
    let mut messages = Vec::new();
    store
        .scan(of, 0, &mut |row| {
            messages.extend(read_line(row.bytes.unwrap()).messages);
            ControlFlow::Continue(())
        })
        .unwrap();
    messages
}

fn places(row: ChainRow<'_>) -> (u64, u64) {
    (row.at, row.next)
}

fn texts(loaded: &LoadedChain) -> Vec<String> {
    let seen = loaded
        .messages
        .iter()
        .filter(|message| message.history != History::Exclude);
    seen.map(Message::text).collect()
}

fn nothing_is_there_at_first(store: &dyn TranscriptStore) {
    let name = main_chain();
    assert_eq!(all(store, &name), []);
    assert_eq!(load(store, &name).unwrap(), LoadedChain::default());
    assert_eq!(tail(store, &name, 5).unwrap().messages, []);
    assert_eq!(store.overview(&name).unwrap(), Overview::default());
    assert_eq!(store.list(None).unwrap(), []);
    assert_eq!(store.list(Some("project-1")).unwrap(), []);
    assert_eq!(store.side_chains(&name).unwrap(), [""; 0]);
    assert!(store.prune(&name).unwrap_err().is_not_found());
    store.sync(&name).unwrap();
    assert_eq!(Session::open(store, name).unwrap().leaf(), None);
    store.append(&main_chain(), &[]).unwrap();
    assert_eq!(
        store.list(None).unwrap(),
        [],
        "nothing leaves nothing behind"
    );
}

fn records_come_back_in_order(store: &dyn TranscriptStore) {
    let name = main_chain();
    let records: Vec<Message> = (0..50)
        .map(|at| said(&format!("m{at}"), "", &"x".repeat(at * 100)))
        .collect();
    store.append(&name, &records[..1]).unwrap();
    store.append(&name, &[]).unwrap();
    store.append(&name, &records[1..20]).unwrap();
    store.append(&name, &records[20..]).unwrap();
    store.sync(&name).unwrap();
    assert_eq!(all(store, &name), records);
    let mut forward = Vec::new();
    store
        .scan(&name, 0, &mut |row| {
            forward.push(places(row));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(
        forward
            .windows(2)
            .all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[1].0)
    );
    let mut backward = Vec::new();
    store
        .scan_backward(&name, &mut |row| {
            backward.push(places(row));
            ControlFlow::Continue(())
        })
        .unwrap();
    backward.reverse();
    assert_eq!(forward, backward);
    for at in [0, 1, 30, 49] {
        let mut found = None;
        store
            .scan(&name, forward[at].0, &mut |row| {
                found = Some((row.at, read_line(row.bytes.unwrap()).messages.remove(0)));
                ControlFlow::Break(())
            })
            .unwrap();
        assert_eq!(found, Some((forward[at].0, records[at].clone())));
    }
    let mut count = 0;
    let behind = forward[49].1;
    store
        .scan(&name, behind, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(count, 0, "nothing stands behind the last");
}

fn whatever_is_said_comes_back(store: &dyn TranscriptStore) {
    let name = main_chain();
    let odd = [
        r#"{"v":1,"type":"user","id":"a","content":"\u0000 \u2028 \ud83d \" \\ 12"}"#,
        r#"{"v":1,"type":"assistant","id":"b","parent_id":"a","content":[{"type":"new","n":12345678901234567890123,"n":1e400}]}"#,
        r#"{"v":7,"type":"user","id":"c","parent_id":"b","content":"later"}"#,
        r#"{"v":1,"type":"telepathy","id":"d","parent_id":"c","extra":{"deep":[[[[{}]]]]}}"#,
    ];
    let mut records: Vec<Message> = odd
        .iter()
        .map(|json| Message::from_json(json).unwrap())
        .collect();
    records.push(said(
        "e",
        "d",
        &"longer than a page \u{1f600} ".repeat(60_000),
    ));
    records.push(said("f", "e", "first\nsecond\r\nthird"));
    store.append(&name, &records).unwrap();
    assert_eq!(all(store, &name), records);
}

fn sessions_and_projects_are_apart(store: &dyn TranscriptStore) {
    let one = main_chain();
    let other = ChainName::new("project-1", "session-2");
    let elsewhere = ChainName::new("project-2", "session-1");
    for (name, id) in [(&one, "a"), (&other, "b"), (&elsewhere, "c")] {
        store.append(name, &[said(id, "", id)]).unwrap();
        assert_eq!(all(store, name), [said(id, "", id)]);
    }
    let names = |project| {
        let listed = store.list(project).unwrap();
        let mut names: Vec<ChainName> = listed.into_iter().map(|session| session.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(Some("project-1")), [one.clone(), other.clone()]);
    assert_eq!(names(Some("project-2")), std::slice::from_ref(&elsewhere));
    assert_eq!(names(None), [one.clone(), other.clone(), elsewhere]);
    // The one that is written to last comes first, as soon as the clock can tell.
    for name in [&one, &other, &one] {
        let is_first = || store.list(Some("project-1")).unwrap()[0].name == *name;
        let mut tries = 0;
        while !is_first() {
            store
                .append(name, &[said(&format!("again-{tries}"), "", "again")])
                .unwrap();
            tries += 1;
            assert!(tries < 100_000, "{name} never comes first");
        }
    }
}

fn a_side_chain_stands_alone(store: &dyn TranscriptStore) {
    let name = main_chain();
    let (zebra, ant) = (name.side("zebra"), name.side("ant"));
    let side = |id: &str, parent: &str, agent: &str| Message {
        agent_id: Some(agent.into()),
        ..said(id, parent, id)
    };
    store
        .append(
            &zebra,
            &[side("z1", "", "zebra"), side("z2", "z1", "zebra")],
        )
        .unwrap();
    store.append(&name, &[said("a", "", "main")]).unwrap();
    store.append(&ant, &[side("n1", "", "ant")]).unwrap();
    assert_eq!(store.side_chains(&name).unwrap(), ["ant", "zebra"]);
    assert_eq!(texts(&load(store, &zebra).unwrap()), ["z1", "z2"]);
    assert_eq!(texts(&load(store, &name).unwrap()), ["main"]);
    assert_eq!(
        store.list(None).unwrap().len(),
        1,
        "a side chain is no session"
    );
    assert_eq!(
        all(store, &name).len(),
        1,
        "the main chain does not hold it"
    );
}

fn a_new_session_is_there_as_a_whole(store: &dyn TranscriptStore) {
    let name = main_chain();
    let records = [said("a", "", "one"), said("b", "a", "two")];
    let beside = Message {
        agent_id: Some("helper".into()),
        ..said("s", "", "beside")
    };
    let mut session = store.begin(&name).unwrap();
    session
        .append(Some("helper"), std::slice::from_ref(&beside))
        .unwrap();
    session.append(None, &records[..1]).unwrap();
    assert_eq!(store.list(None).unwrap(), []);
    assert_eq!(all(store, &name), []);
    session.append(None, &records[1..]).unwrap();
    session.finish().unwrap();
    assert_eq!(store.list(None).unwrap().len(), 1);
    assert_eq!(all(store, &name), records);
    assert_eq!(store.side_chains(&name).unwrap(), ["helper"]);
    assert_eq!(all(store, &name.side("helper")), [beside]);
    assert!(store.begin(&name).is_err(), "it is there already");
    let other = ChainName::new("project-1", "session-2");
    let mut session = store.begin(&other).unwrap();
    session.append(None, &records).unwrap();
    session.append(Some("helper"), &records).unwrap();
    drop(session);
    assert!(
        store.begin(&other).unwrap().finish().is_err(),
        "nothing was said"
    );
    assert_eq!(store.list(None).unwrap().len(), 1);
    assert_eq!(store.side_chains(&other).unwrap(), [""; 0]);
}

fn what_is_pruned_is_gone_from_view(store: &dyn TranscriptStore) {
    let name = main_chain();
    for round in 0..3 {
        store.append(&name, &[said("a", "", "one")]).unwrap();
        let side = Message {
            agent_id: Some("g".into()),
            ..said("s", "", "side")
        };
        store.append(&name.side("g"), &[side]).unwrap();
        assert_eq!(all(store, &name).len(), 1, "round {round}");
        assert!(!store.prune(&name).unwrap().is_empty());
        assert_eq!(store.list(None).unwrap(), []);
        assert_eq!(all(store, &name), []);
        assert_eq!(all(store, &name.side("g")), []);
        assert_eq!(store.side_chains(&name).unwrap(), [""; 0]);
    }
    assert!(store.prune(&name).unwrap_err().is_not_found());
}

/// Loading gives what the chain of all records is.
fn check_load(store: &dyn TranscriptStore, name: &ChainName) -> LoadedChain {
    let records = all(store, name);
    let messages = revised(records.clone());
    let expected = chain(&messages);
    let loaded = load(store, name).unwrap();
    let found: Vec<&Message> = loaded.messages.iter().collect();
    assert_eq!(found, expected.messages);
    assert_eq!(loaded.leaf.as_ref(), expected.leaf.map(|leaf| &leaf.id));
    assert_eq!(loaded.boundary.as_ref(), expected.boundary);
    assert_eq!(loaded.state, SessionState::rebuild(&records));
    loaded
}

fn hide(session: &mut Session<'_>, id: &str, ids: &mut CountingIds) {
    let target = Target::message(id);
    session
        .apply(|messages| verbs::drop(messages, &target), ids, now())
        .unwrap();
}

fn show(session: &mut Session<'_>, id: &str, ids: &mut CountingIds) {
    let target = Target::message(id);
    session
        .apply(|messages| verbs::restore(messages, &target), ids, now())
        .unwrap();
}

fn rewind(session: &mut Session<'_>, to: Option<&str>, ids: &mut CountingIds) {
    session
        .apply(|messages| verbs::rewind(messages, to), ids, now())
        .unwrap();
}

/// A summary and its boundary.
pub fn compaction(summary: &str, kept_from: Option<MessageId>) -> Vec<Message> {
    let boundary = CompactBoundary {
        summary_id: Some("summary".into()),
        kept_from,
        ..CompactBoundary::default()
    };
    let summary = Summary {
        text: summary.into(),
        ..Summary::default()
    };
    vec![
        Message::new("summary", Body::Summary(summary)),
        Message::new("boundary", Body::CompactBoundary(boundary)),
    ]
}

/// The second one keeps something that the first one kept.
fn two_compactions(store: &dyn TranscriptStore) {
    let (name, mut ids) = (main_chain(), CountingIds::default());
    let mut session = Session::open(store, name.clone()).unwrap();
    let talk = ["one", "two", "three"]
        .map(|text| Message::user("", text))
        .to_vec();
    let placed = session.append(talk, &mut ids, now()).unwrap();
    let kept_from = Some(placed[1].id.clone());
    session
        .compact(compaction("first", kept_from), &mut ids, now())
        .unwrap();
    session
        .append(vec![Message::user("", "four")], &mut ids, now())
        .unwrap();
    assert_eq!(
        texts(&check_load(store, &name)),
        ["first", "two", "three", "four"]
    );
    let mut second = compaction("second", Some(placed[2].id.clone()));
    second[0].id = "summary-2".into();
    second[1].id = "boundary-2".into();
    if let Body::CompactBoundary(body) = &mut second[1].body {
        body.summary_id = Some("summary-2".into());
    }
    session.compact(second, &mut ids, now()).unwrap();
    assert_eq!(
        texts(&check_load(store, &name)),
        ["second", "three", "four"]
    );
    session
        .append(vec![Message::user("", "five")], &mut ids, now())
        .unwrap();
    assert_eq!(
        texts(&check_load(store, &name)),
        ["second", "three", "four", "five"]
    );
    hide(&mut session, "boundary-2", &mut ids);
    assert_eq!(
        texts(&check_load(store, &name)),
        ["first", "two", "three", "four", "five"]
    );
}

fn a_session_restores_by_its_chain(store: &dyn TranscriptStore) {
    let (name, mut ids) = (main_chain(), CountingIds::default());
    let mut session = Session::open(store, name.clone()).unwrap();
    let state = SessionState {
        cwd: Some("/work".into()),
        ..SessionState::default()
    };
    session
        .set_state(state.snapshot(), &mut ids, now())
        .unwrap();
    let talk = ["one", "two", "three"]
        .map(|text| Message::user("", text))
        .to_vec();
    let placed = session.append(talk, &mut ids, now()).unwrap();
    let progress = Message::new("", Body::Progress(Progress::default()));
    session
        .append(
            vec![progress, Message::assistant("", "four")],
            &mut ids,
            now(),
        )
        .unwrap();
    assert_eq!(
        texts(&check_load(store, &name)),
        ["one", "two", "three", "four"]
    );
    let kept_from = Some(placed[2].id.clone());
    let placed = session
        .compact(compaction("so far", kept_from), &mut ids, now())
        .unwrap();
    let boundary = placed[2].id.clone();
    assert_eq!(
        texts(&check_load(store, &name)),
        ["so far", "three", "four"]
    );
    session
        .append(vec![Message::user("", "five")], &mut ids, now())
        .unwrap();
    let loaded = check_load(store, &name);
    assert_eq!(texts(&loaded), ["so far", "three", "four", "five"]);
    assert_eq!(
        (
            loaded.boundary.map(|boundary| boundary.id),
            loaded.state.cwd.as_deref()
        ),
        (Some(boundary.clone()), Some("/work"))
    );
    // Another program goes on with it.
    let mut again = Session::open(store, name.clone()).unwrap();
    assert_eq!(again.leaf(), session.leaf());
    again
        .append(vec![Message::assistant("", "six")], &mut ids, now())
        .unwrap();
    assert_eq!(
        texts(&check_load(store, &name)),
        ["so far", "three", "four", "five", "six"]
    );
    // The compaction is undone.
    hide(&mut again, &boundary, &mut ids);
    let says = ["one", "two", "three", "four", "five", "six"];
    assert_eq!(texts(&check_load(store, &name)), says);
    // And is made again.
    show(&mut again, "summary", &mut ids);
    assert_eq!(
        texts(&check_load(store, &name)),
        ["so far", "three", "four", "five", "six"]
    );
}

/// Ids and parents.
type Links = &'static [(&'static str, &'static str)];

fn a_broken_chain_is_loaded_all_the_same(store: &dyn TranscriptStore) {
    let cases: [(&str, Links, &[&str]); 5] = [
        ("lost", &[("a", ""), ("b", "lost"), ("c", "b")], &["b", "c"]),
        (
            "circle",
            &[("a", "c"), ("b", "a"), ("c", "b")],
            &["a", "b", "c"],
        ),
        (
            "forward",
            &[("b", "a"), ("a", ""), ("c", "b")],
            &["a", "b", "c"],
        ),
        (
            "twice",
            &[("a", ""), ("a", "a"), ("b", "a")],
            &["a", "a", "b"],
        ),
        ("fork", &[("a", ""), ("b", "a"), ("c", "a")], &["a", "c"]),
    ];
    for (session, links, says) in cases {
        let name = ChainName::new("project-1", session);
        let records: Vec<Message> = links
            .iter()
            .map(|(id, parent)| said(id, parent, id))
            .collect();
        store.append(&name, &records).unwrap();
        assert_eq!(texts(&check_load(store, &name)), says, "{session}");
    }
    let fork = ChainName::new("project-1", "fork");
    assert_eq!(
        texts(&LoadedChain::load_branch(store, &fork, "b").unwrap()),
        ["a", "b"]
    );
    assert!(
        LoadedChain::load_branch(store, &fork, "zz")
            .unwrap_err()
            .is_not_found()
    );
}

fn the_tail_is_the_end(store: &dyn TranscriptStore) {
    let name = main_chain();
    let mut records: Vec<Message> = (0..30).map(|at| said(&format!("m{at}"), "", "x")).collect();
    records.push(Message::new("p", Body::Progress(Progress::default())));
    store.append(&name, &records).unwrap();
    for count in [0, 1, 20, 30, 99] {
        let end = tail(store, &name, count).unwrap();
        let ids: Vec<&MessageId> = end.messages.iter().map(|message| &message.id).collect();
        let from = 30_usize.saturating_sub(count);
        assert_eq!(
            ids,
            records[from..30].iter().map(|m| &m.id).collect::<Vec<_>>()
        );
    }
    let overview = store.overview(&name).unwrap();
    assert_eq!((overview.records, overview.messages), (31, 30));
}

/// A record of an answer that came in several.
fn part_of_answer(output_tokens: u64, cost: f64, model: &str) -> Message {
    Message {
        response_id: Some("r".into()),
        model: Some(model.into()),
        usage: Some(Box::new(TokenUsage {
            output_tokens: Some(output_tokens),
            ..TokenUsage::default()
        })),
        cost_usd: Some(cost),
        ..Message::assistant("", "part")
    }
}

fn counts_and_totals(store: &dyn TranscriptStore) {
    let (name, mut ids) = (main_chain(), CountingIds::default());
    let mut session = Session::open(store, name.clone()).unwrap();
    let usage = TokenUsage {
        input_tokens: Some(10),
        output_tokens: Some(5),
        cache_read_input_tokens: Some(100),
        ..TokenUsage::default()
    };
    let answer = Message {
        usage: Some(usage.into()),
        cost_usd: Some(0.25),
        ..Message::assistant("", "yes")
    };
    let prompt = Message::user("", "\n  How are things?\nWell?");
    session
        .append(vec![prompt, answer.clone(), answer], &mut ids, now())
        .unwrap();
    let overview = store.overview(&name).unwrap();
    assert_eq!(
        (overview.records, overview.messages, overview.damaged),
        (3, 3, 0)
    );
    assert_eq!((overview.input_tokens, overview.output_tokens), (220, 10));
    assert_eq!(overview.cost_usd.to_bits(), 0.5_f64.to_bits());
    // Further records of one answer repeat its counts, or know more of them; what no model said took nothing.
    for (output, cost, model) in [
        (1, 0.25, "m"),
        (7, 0.5, "m"),
        (7, 0.5, "m"),
        (9, 1.0, "<synthetic>"),
    ] {
        session
            .append(vec![part_of_answer(output, cost, model)], &mut ids, now())
            .unwrap();
        // An index may be written at any time.
        store.overview(&name).unwrap();
    }
    let overview = store.overview(&name).unwrap();
    assert_eq!((overview.input_tokens, overview.output_tokens), (220, 17));
    assert_eq!(overview.cost_usd.to_bits(), 1.0_f64.to_bits());
    // Results may come between them; what follows another question is another answer, whatever its name.
    let result = ToolResult {
        tool_use_id: "t".into(),
        ..ToolResult::default()
    };
    let result = Message::user("", vec![Block::ToolResult(result)]);
    session
        .append(vec![result, part_of_answer(7, 0.5, "m")], &mut ids, now())
        .unwrap();
    assert_eq!(store.overview(&name).unwrap().output_tokens, 17);
    let again = vec![Message::user("", "And?"), part_of_answer(7, 0.5, "m")];
    session.append(again, &mut ids, now()).unwrap();
    assert_eq!(store.overview(&name).unwrap().output_tokens, 24);
    assert_eq!(overview.name(), Some("How are things?"));
    assert_eq!(overview.created_at.as_deref(), Some("2026-11-15T18:17:00Z"));
    let titled = SessionState {
        title: Some("Tea".into()),
        cwd: Some("/work".into()),
        ..SessionState::default()
    };
    let change = SessionState::default().change_to(&titled).unwrap();
    session.set_state(change, &mut ids, now()).unwrap();
    session
        .compact(compaction("", None), &mut ids, now())
        .unwrap();
    let overview = store.overview(&name).unwrap();
    assert_eq!(
        (overview.name(), overview.cwd.as_deref()),
        (Some("Tea"), Some("/work"))
    );
    assert_eq!(
        (overview.boundaries, overview.last_boundary.is_some()),
        (1, true)
    );
}

fn sessions_are_found(store: &dyn TranscriptStore) {
    let found = |project, name| find(store, project, name).unwrap();
    assert_eq!(found(None, None), SessionMatch::None);
    let names = ["0197-aaaa", "0197-bbbb", "0198-cccc", "0198"]
        .map(|session| ChainName::new("project-1", session));
    for name in &names {
        let text = format!("about {}", &*name.session);
        store.append(name, &[said("a", "", &text)]).unwrap();
    }
    let one = |at: usize| SessionMatch::One(names[at].clone());
    assert_eq!(found(None, Some("0197-aaaa")), one(0));
    assert_eq!(found(Some("project-1"), Some("0197-b")), one(1));
    assert_eq!(
        found(None, Some("0198")),
        one(3),
        "a whole name counts first"
    );
    assert_eq!(found(None, Some("about 0198-cccc")), one(2));
    assert!(matches!(found(None, Some("0197")), SessionMatch::Many(many) if many.len() == 2));
    assert_eq!(found(None, Some("0199")), SessionMatch::None);
    assert_eq!(found(None, Some("")), SessionMatch::None);
    assert_eq!(found(Some("project-9"), Some("0198")), SessionMatch::None);
    assert!(matches!(found(None, None), SessionMatch::One(_)));
}

fn rewinds_of_a_session(store: &dyn TranscriptStore) {
    let (name, mut ids) = (main_chain(), CountingIds::default());
    let mut session = Session::open(store, name.clone()).unwrap();
    let texts_of = |name: &ChainName| texts(&check_load(store, name));
    let talk = ["one", "two", "three"]
        .map(|text| Message::user("", text))
        .to_vec();
    let placed = session.append(talk, &mut ids, now()).unwrap();
    assert!(
        placed
            .iter()
            .all(|message| message.session_id == name.session)
    );
    // Back to the second message, and on from there.
    rewind(&mut session, Some(&placed[1].id), &mut ids);
    assert_eq!(texts_of(&name), ["one", "two"]);
    session
        .append(vec![Message::user("", "other")], &mut ids, now())
        .unwrap();
    assert_eq!(texts_of(&name), ["one", "two", "other"]);
    let unknown = session.apply(|it| verbs::rewind(it, Some("nobody")), &mut ids, now());
    assert!(unknown.unwrap_err().is_not_found());
    // Before the first message, on from there, and back.
    assert_eq!(
        session.parent(&placed[1].id).unwrap().as_ref(),
        Some(&placed[0].id)
    );
    assert_eq!(session.parent(&placed[0].id).unwrap(), None);
    let other = session.leaf().unwrap().clone();
    rewind(&mut session, None, &mut ids);
    assert_eq!(texts_of(&name), [""; 0]);
    let mut session = Session::open(store, name.clone()).unwrap();
    session
        .append(vec![Message::user("", "anew")], &mut ids, now())
        .unwrap();
    assert_eq!(texts_of(&name), ["anew"]);
    rewind(&mut session, Some(&other), &mut ids);
    assert_eq!(texts_of(&name), ["one", "two", "other"]);
}

fn forks_of_a_session(store: &dyn TranscriptStore) {
    let (name, mut ids) = (main_chain(), CountingIds::default());
    let mut session = Session::open(store, name.clone()).unwrap();
    let texts_of = |name: &ChainName| texts(&check_load(store, name));
    let talk = ["one", "two", "three"].map(|text| Message::user("", text));
    let placed = session.append(talk.to_vec(), &mut ids, now()).unwrap();
    rewind(&mut session, Some(&placed[1].id), &mut ids);
    session
        .append(vec![Message::user("", "other")], &mut ids, now())
        .unwrap();
    // A fork of the first branch knows nothing of the second, and the other way round.
    let copy = ChainName::new("project-1", "session-2");
    let mut fork = session
        .fork(Some(&placed[2].id), copy.clone(), &mut ids, now())
        .unwrap();
    fork.append(vec![Message::user("", "four")], &mut ids, now())
        .unwrap();
    assert_eq!(texts_of(&copy), ["one", "two", "three", "four"]);
    assert_eq!(texts_of(&name), ["one", "two", "other"]);
    let state = load(store, &copy).unwrap().state;
    let origin = state.extra.get("forked_from");
    assert!(origin.is_some_and(|origin| origin.as_str().contains("session-1")));
    // What is hidden stays hidden in a fork, and comes back if that is undone.
    hide(&mut session, &placed[0].id, &mut ids);
    assert_eq!(texts_of(&name), ["two", "other"]);
    let copy = ChainName::new("project-1", "session-3");
    session
        .fork(Some(&placed[1].id), copy.clone(), &mut ids, now())
        .unwrap();
    assert_eq!(texts_of(&copy), ["two"]);
    show(&mut session, &placed[0].id, &mut ids);
    assert_eq!(texts_of(&name), ["one", "two", "other"]);
    // What says something else says it in a fork, too, though that was said after the message it ends with.
    let target = Target::message(placed[0].id.clone());
    session
        .apply(|it| verbs::edit(it, &target, "uno"), &mut ids, now())
        .unwrap();
    session
        .apply(|it| verbs::edit(it, &target, "eins"), &mut ids, now())
        .unwrap();
    assert_eq!(texts_of(&name), ["eins", "two", "other"]);
    let copy = ChainName::new("project-1", "session-4");
    session
        .fork(Some(&placed[1].id), copy.clone(), &mut ids, now())
        .unwrap();
    assert_eq!(texts_of(&copy), ["eins", "two"]);
    // A record that this version does not know, and a state without a parent, hide nothing.
    let unknown = Message::new(
        "u",
        Body::Other(Other {
            type_name: Some("later".into()),
        }),
    );
    let change = StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    };
    store
        .append(&name, &[unknown, Message::new("s", change.into())])
        .unwrap();
    assert_eq!(texts_of(&name), ["eins", "two", "other"]);
}

fn many_writers_at_once(store: &dyn TranscriptStore) {
    const WRITERS: usize = 4;
    const EACH: usize = 40;
    let name = main_chain();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let name = &name;
            scope.spawn(move || {
                for number in 0..EACH {
                    let text = "x".repeat(number * 97);
                    let records =
                        [0, 1].map(|half| said(&format!("{writer}-{number}-{half}"), "", &text));
                    store.append(name, &records).unwrap();
                }
            });
        }
    });
    let messages = all(store, &name);
    assert_eq!(messages.len(), WRITERS * EACH * 2);
    for pair in messages.chunks(2) {
        let (one, other) = (pair[0].id.strip_suffix("-0"), pair[1].id.strip_suffix("-1"));
        assert!(
            one.is_some() && one == other,
            "what is appended together stays together"
        );
    }
    for writer in 0..WRITERS {
        let start = format!("{writer}-");
        let own = messages
            .iter()
            .filter(|message| message.id.starts_with(&start));
        let expected = (0..EACH).flat_map(|n| [0, 1].map(|half| format!("{writer}-{n}-{half}")));
        assert!(
            own.map(|message| message.id.to_string()).eq(expected),
            "in order"
        );
    }
}
