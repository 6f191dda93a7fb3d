//! Drafts that are carried over to changed files: nothing of either side is lost.

use proptest::collection::vec;
use proptest::sample::Index;

use super::*;
use crate::msgfile::tests::generate;
use crate::msgfile::{Cell, CellKind, NewCell, append, replace};

const ONE: &str = "# %% [^1]\n\n[^1]: [markdown]\n\nOne?\n";

fn with(cells: &str) -> Document {
    decode(format!("{FRONT}{cells}"))
}

#[test]
fn everything_named_after_a_number_is_renamed() {
    let ids = &mut CountingIds::default();
    let mut draft = draft(ONE);
    draft.add_message(&text("Ours"), ids).unwrap();
    let call = draft
        .add_function_call("2", "now", None, None, None, ids)
        .unwrap();
    draft.add_output(call.name(), &reply("noon")).unwrap();
    let other = draft
        .add_function_call("1", "now", None, None, None, ids)
        .unwrap();
    draft.add_message(&code("x"), ids).unwrap();
    draft
        .add_outputs("3", &[printed("1\n"), printed("2\n")])
        .unwrap();
    let theirs = with(&format!("{ONE}\n# %%% [^2]\n\n[^2]: [coder]\n\nFirst.\n"));
    let (rebased, renames) = draft.rebase(theirs).unwrap();
    assert_eq!(renames.get("2"), Some("3"));
    assert_eq!(renames.get("2.n0000001"), Some("3.n0000001"));
    assert_eq!(renames.get("2.n0000001.1"), Some("3.n0000001.1"));
    assert_eq!(renames.get(other.name()), Some(other.name()));
    assert_eq!(renames.get("3"), Some("4"));
    assert_eq!(renames.get("3.1-2"), Some("4.1-2"));
    assert_eq!(renames.changed().count(), 6);
    assert_eq!(
        ids_of(rebased.document()),
        [
            "1",
            "2",
            "1.n0000002",
            "3",
            "3.n0000001",
            "3.n0000001.1",
            "4",
            "4.1",
            "4.1-2"
        ]
    );
    assert_eq!(rebased.document().problems(), []);
    // It can be carried on and on.
    let (again, renames) = rebased.rebase(decode(rebased.base().source())).unwrap();
    assert_eq!(renames.changed().count(), 0);
    assert_eq!(again.document().source(), rebased.document().source());
}

#[test]
fn conflicts_say_why_and_keep_both() {
    let ids = &mut CountingIds::default();
    let named = MessageBuilder::new()
        .with_content("Ours")
        .with_name("q")
        .build()
        .unwrap();
    let mut draft = draft(ONE);
    draft.add_message(&named, ids).unwrap();
    let theirs = format!("{ONE}\n# %% [^q]\n\nTheirs\n");
    let conflict = draft.rebase(with(&theirs)).unwrap_err();
    assert_eq!(conflict.reason, "there is already a cell of the name \"q\"");
    assert_eq!(conflict.theirs, with(&theirs).source());
    assert_eq!(conflict.ours, draft.document().source());
    assert_eq!(conflict.base, draft.base().source());

    let check = |draft: &Draft, theirs: &str, expected: &str| {
        let reason = draft.rebase(with(theirs)).unwrap_err().reason;
        assert!(reason.contains(expected), "{reason}");
    };
    let mut replied = super::draft(ONE);
    replied.add_output("1", &reply("x")).unwrap();
    check(
        &replied,
        "# %% [^3]\n\nOther\n",
        "cell 1 is no longer in the file",
    );
    check(
        &replied,
        "# %%% [^1]\n\n[^1]: [coder]\n\nOther\n",
        "cell 1 is another one now",
    );
    // A cell with an id may be edited, one without may not.
    replied
        .rebase(with("# %% [^1]\n\n[^1]: [markdown]\n\nOne, better?\n"))
        .unwrap();
    let mut loose = super::draft("# %%\n\nOne?\n");
    loose.add_output("1", &reply("x")).unwrap();
    check(&loose, "# %%\n\nNew\n\n# %%\n\nOne?\n", "cell 1 has no id");
    loose
        .rebase(with("# %%\n\nOne?\n\n# %%\n\nTwo?\n"))
        .unwrap();

    let mut front = super::draft(ONE);
    front.set_default_agent("quick").unwrap();
    front.add_message(&text("Ours"), ids).unwrap();
    check(&front, "# %% [^1]\n\nEdited\n", "not only additions");
    check(&front, &format!("{ONE}typed below\n"), "not only additions");
    let (front, renames) = front
        .rebase(with(&format!("{ONE}\n# %%\n\nTyped\n")))
        .unwrap();
    assert_eq!(
        (
            renames.get("2"),
            front.default_agent().unwrap().name.as_str()
        ),
        (Some("3"), "quick")
    );

    let mut agent = super::draft(ONE);
    agent
        .add_agent_with_definition("new", &Agent::of_model("", "m"))
        .unwrap();
    let theirs = format!("{ONE}\n# %% [^a]\n\n[^a]: [agent] name=\"new\" models=\"n\"\n");
    check(&agent, &theirs, "already has an agent");
    let mut tool = super::draft(ONE);
    tool.add_tool_with_definition("double", &[code("x"), code("y")])
        .unwrap();
    let theirs = format!("{ONE}\n# %% [^t]\n\n[^t]: [code] tool=\"double\"\n\n```sh\n```\n");
    check(&tool, &theirs, "already defines a tool");
    assert_eq!(
        tool.rebase(with(ONE)).unwrap().0.document().source(),
        tool.document().source()
    );
}

#[test]
fn a_place_is_filled_only_if_it_is_still_free() {
    let pending = "\n# %%% [^2]\n\n[^2]: [coder] status=\"pending\" output_file=\"a.md\"\n";
    let mut draft = draft(&format!("{ONE}{pending}"));
    draft.fill_placeholder("2", &reply("ours")).unwrap();
    let theirs = format!("{ONE}{pending}\n# %% [^3]\n\nmore\n");
    let (rebased, _) = draft.rebase(with(&theirs)).unwrap();
    assert_eq!(rebased.document().cell("2").unwrap().content(), "ours");
    assert_eq!(ids_of(rebased.document()), ["1", "2", "3"]);
    let theirs = format!("{ONE}\n# %%% [^2]\n\n[^2]: [coder]\n\ntheirs\n");
    assert!(draft.rebase(with(&theirs)).is_err());
    // A place of one's own is free.
    let mut own = super::draft(ONE);
    own.add_output_placeholder("1", "a.md", None, None).unwrap();
    own.fill_placeholder("a.md", &reply("ours")).unwrap();
    let (rebased, renames) = own
        .rebase(with("# %% [^1]\n\nEdited\n\n# %% [^2]\n\nNew\n"))
        .unwrap();
    let name = renames.get("2").unwrap();
    assert_eq!(
        (name, &*rebased.document().cell(name).unwrap().content()),
        ("3", "ours")
    );
}

#[test]
fn a_name_that_was_chosen_after_a_number_follows_it() {
    let ids = &mut CountingIds::default();
    let mut draft = draft(ONE);
    draft.add_message(&text("Ours"), ids).unwrap();
    draft
        .add_function_call("2", "f", None, Some("2.mine"), None, ids)
        .unwrap();
    let (rebased, renames) = draft
        .rebase(with(&format!("{ONE}\n# %% [^2]\n\nTheirs\n")))
        .unwrap();
    assert_eq!(renames.get("2.mine"), Some("3.mine"));
    assert_eq!(
        rebased
            .item("3")
            .unwrap()
            .as_message()
            .unwrap()
            .function_calls()
            .len(),
        1
    );
    assert_eq!(
        rebased
            .item("2")
            .unwrap()
            .as_message()
            .unwrap()
            .function_calls()
            .len(),
        0
    );
}

#[test]
fn a_reply_keeps_its_author_whoever_the_default_agent_is() {
    let mut draft = draft(ONE);
    draft.add_output("1", &reply("Ours")).unwrap();
    assert_eq!(draft.document().cell("2").unwrap().type_word(), "coder");
    let theirs = with(&format!("{ONE}\n# %%% [^2]\n\n[^2]: [quick]\n\nTheirs\n"));
    assert_eq!(theirs.default_agent().unwrap().name, "quick");
    let (rebased, _) = draft.rebase(theirs).unwrap();
    assert_eq!(rebased.document().cell("3").unwrap().type_word(), "coder");
}

#[test]
fn the_ready_cell_may_be_filled_by_either_side() {
    let mut draft = draft(&format!("{ONE}\n# %%\n"));
    draft
        .add_message(&text("Ours"), &mut CountingIds::default())
        .unwrap();
    draft.set_default_agent("quick").unwrap();
    let theirs = with(&format!("{ONE}\n# %% [^2]\n\n[^2]: [markdown]\n\nTheirs\n"));
    let (rebased, renames) = draft.rebase(theirs).unwrap();
    assert_eq!(renames.get("2"), Some("3"));
    assert_eq!(ids_of(rebased.document()), ["1", "2", "3"]);
}

/// A part of a file, as somebody wrote it.
#[derive(Debug, Clone)]
enum Part {
    Said(String),
    Replied(String),
    Code(String),
    Called,
    Typed(String),
    Ready,
}

/// Something that a draft is asked to do.
#[derive(Debug, Clone)]
enum Ask {
    Message(String, bool),
    CallItem(Index),
    Output(Index, String),
    Place(Index),
    Fill(String),
    Agent(String),
    Default,
    Tool(String),
}

/// Something that the other side does.
#[derive(Debug, Clone)]
enum Edit {
    Add(Part),
    Insert(Index, String),
    DraftChange(Index, String),
    Remove(Index),
}

fn part() -> BoxedStrategy<Part> {
    prop_oneof![
        3 => generate::text().prop_map(Part::Said),
        3 => generate::text().prop_map(Part::Replied),
        2 => generate::text().prop_map(Part::Code),
        2 => Just(Part::Called),
        2 => generate::text().prop_map(Part::Typed),
        1 => Just(Part::Ready),
    ]
    .boxed()
}

fn ask() -> BoxedStrategy<Ask> {
    prop_oneof![
        4 => (generate::text(), any::<bool>()).prop_map(|(text, named)| Ask::Message(text, named)),
        3 => any::<Index>().prop_map(Ask::CallItem),
        5 => (any::<Index>(), generate::text()).prop_map(|(at, text)| Ask::Output(at, text)),
        1 => any::<Index>().prop_map(Ask::Place),
        1 => generate::text().prop_map(Ask::Fill),
        1 => "[a-z]{1,3}".prop_map(Ask::Agent),
        1 => Just(Ask::Default),
        1 => "[a-z]{1,3}".prop_map(Ask::Tool),
    ]
    .boxed()
}

fn edit() -> BoxedStrategy<Edit> {
    prop_oneof![
        5 => part().prop_map(Edit::Add),
        2 => (any::<Index>(), generate::text()).prop_map(|(at, text)| Edit::Insert(at, text)),
        2 => (any::<Index>(), generate::text()).prop_map(|(at, text)| Edit::DraftChange(at, text)),
        1 => any::<Index>().prop_map(Edit::Remove),
    ]
    .boxed()
}

fn add_part(file: Vec<u8>, part: &Part) -> Vec<u8> {
    let document = decode(file);
    let id = document.next_id();
    let cell = match part {
        Part::Said(text) => NewCell::message(id, text.as_str()),
        Part::Replied(text) => NewCell::reply(id, "coder", text.as_str()),
        Part::Code(text) => NewCell::new(
            CellKind::Message,
            id,
            "code",
            format!("```python\n{text}\n```"),
        ),
        Part::Called => {
            let id = format!("{id}.k{id}");
            NewCell::new(CellKind::Output, id, "tool", "<invoke name=\"f\"/>").with("name", "f")
        }
        Part::Typed(text) => return [document.source(), text.as_bytes()].concat(),
        Part::Ready => return [document.source(), b"\n# %%\n"].concat(),
    };
    append(&document, &cell).apply(document.source())
}

fn make_edit(file: Vec<u8>, edit: &Edit) -> Vec<u8> {
    let document = decode(file);
    let nth = |at: &Index| {
        let count = document.cells().len();
        (count > 0)
            .then(|| document.cells().nth(at.index(count.max(1))))
            .flatten()
    };
    let source = document.source();
    match edit {
        Edit::Add(part) => add_part(source.to_vec(), part),
        Edit::Insert(at, text) => {
            let Some(cell) = nth(at) else {
                return source.to_vec();
            };
            let new = decode(
                append(
                    &decode(""),
                    &NewCell::message(document.next_id(), text.as_str()),
                )
                .bytes,
            );
            let at = cell.span().start;
            [&source[..at], new.source(), b"\n", &source[at..]].concat()
        }
        Edit::DraftChange(at, text) => {
            let Some(cell) = nth(at).filter(|cell| cell.id().is_some()) else {
                return source.to_vec();
            };
            let kind = cell.kind();
            let new = NewCell::new(kind, cell.name(), cell.type_word(), text.as_str());
            replace(&document, cell, &new).apply(source)
        }
        Edit::Remove(at) => {
            let Some(cell) = nth(at) else {
                return source.to_vec();
            };
            [&source[..cell.span().start], &source[cell.span().end..]].concat()
        }
    }
}

/// Does what is asked as far as that is possible; gives whether it was done.
fn make(draft: &mut Draft, ask: &Ask, ids: &mut CountingIds) -> bool {
    let items = draft.items();
    let nth = |at: &Index| (!items.is_empty()).then(|| items[at.index(items.len())].clone());
    let name = |at: &Index| {
        nth(at)
            .map(|item| item.name().to_string())
            .unwrap_or_default()
    };
    match ask {
        Ask::Message(text, named) => {
            let name = if *named { ids.nonce() } else { String::new() };
            let message = MessageBuilder::new()
                .with_content(text.as_str())
                .with_name(name);
            draft.add_message(&message.build().unwrap(), ids).is_ok()
        }
        Ask::CallItem(at) => {
            let Ok(call) = draft.add_function_call(&name(at), "f", None, None, None, ids) else {
                return false;
            };
            // In a hostile file the name of a cell without id may be the id of a reply.
            let message = draft.item(name(at).as_str());
            let calls = message
                .iter()
                .filter_map(Item::as_message)
                .map(Message::function_calls);
            assert!(calls.into_iter().all(|calls| calls.contains(&call)));
            true
        }
        Ask::Output(at, text) => {
            let is_code = nth(at).is_some_and(|item| item.type_word() == "code");
            let outputs = if is_code {
                vec![printed(text), printed(text)]
            } else {
                vec![reply(text)]
            };
            let Ok(names) = draft.add_outputs(&name(at), &outputs) else {
                return false;
            };
            let found = draft.item(name(at).as_str()).unwrap();
            let found: Vec<&str> = found.outputs().iter().map(Output::name).collect();
            assert!(
                names.iter().all(|name| found.contains(&name.as_str())),
                "{names:?} {found:?}"
            );
            true
        }
        Ask::Place(at) => draft
            .add_output_placeholder(&name(at), "a.md", None, None)
            .is_ok(),
        Ask::Fill(text) => draft.fill_placeholder("a.md", &reply(text)).is_ok(),
        Ask::Agent(name) => draft
            .add_agent_with_definition(name, &Agent::of_model("", "m"))
            .is_ok(),
        Ask::Default => draft.set_default_agent("quick").is_ok(),
        Ask::Tool(name) => draft.add_tool_with_definition(name, &[code("x")]).is_ok(),
    }
}

/// The cells of a document that are not among these, and not ready to be typed into.
fn without(document: &Document, names: &[&str]) -> Vec<String> {
    let ours = |cell: &Cell<'_>| cell.id().is_some_and(|id| names.contains(&id));
    let ready = document.ready_cell().map(Cell::ordinal);
    let others = document
        .cells()
        .filter(|cell| !ours(cell) && ready != Some(cell.ordinal()));
    others.map(reading).collect()
}

/// The names of the cells that a draft has added.
fn added(draft: &Draft) -> Vec<&str> {
    draft
        .changes()
        .iter()
        .flat_map(|change| &change.cells)
        .map(String::as_str)
        .collect()
}

/// A cell without its name and without what a later change of the draft gives it.
fn own_reading(draft: &Draft, name: &str) -> String {
    let cell = draft.document().cell(name).unwrap();
    let attributes: Vec<(&str, &str)> = cell.attributes().collect();
    format!(
        "{:?} {:?} {attributes:?} {:?}",
        cell.kind(),
        cell.written_type(),
        cell.content()
    )
}

fn check_draft(draft: &Draft) {
    let names = added(draft);
    let is_fill = |change: &&DraftChange| matches!(change.operation, DraftOperation::Fill { .. });
    let fills = draft.changes().iter().filter(is_fill).count();
    let (before, after) = (
        without(draft.base(), &[]),
        without(draft.document(), &names),
    );
    if fills == 0 {
        assert_eq!(after, before);
    }
    for name in &names {
        let count = draft
            .document()
            .cells()
            .filter(|cell| cell.id() == Some(name))
            .count();
        assert_eq!(count, 1, "{name}");
    }
    assert_eq!(draft.document().to_bytes(), draft.document().source());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(400)))]

    #[test]
    fn nothing_is_lost(
        parts in vec(part(), 0..6),
        asks in vec(ask(), 1..7),
        edits in vec(edit(), 0..4),
    ) {
        let base = parts.iter().fold(FRONT.as_bytes().to_vec(), add_part);
        let mut draft = Draft::new(decode(base.as_slice()));
        let ids = &mut CountingIds::default();
        for ask in &asks {
            let before = draft.document().source().to_vec();
            if !make(&mut draft, ask, ids) {
                prop_assert_eq!(draft.document().source(), before);
            }
            check_draft(&draft);
        }
        let theirs = edits.iter().fold(base, make_edit);
        let onto = decode(theirs.as_slice());
        match draft.rebase(decode(theirs.as_slice())) {
            Err(conflict) => {
                prop_assert!(!edits.is_empty(), "{}", conflict);
                prop_assert_eq!(&conflict.theirs, &theirs);
                prop_assert_eq!(conflict.ours.as_slice(), draft.document().source());
            }
            Ok((rebased, renames)) => {
                check_draft(&rebased);
                prop_assert_eq!(rebased.base().source(), onto.source());
                prop_assert_eq!(rebased.changes().len(), draft.changes().len());
                prop_assert_eq!(renames.iter().count(), added(&draft).len());
                for (old, new) in renames.iter() {
                    prop_assert_eq!(own_reading(&draft, old), own_reading(&rebased, new));
                }
                if edits.is_empty() {
                    prop_assert_eq!(rebased.document().source(), draft.document().source());
                }
            }
        }
    }
}
