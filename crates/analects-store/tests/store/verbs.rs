//! A verb gives the same view in a file and in the session that the file converts to.

use analects_core::verbs::{self, Change, Target, VerbError, revised};
use analects_core::{Body, CompactBoundary, CountingIds, SessionId, Summary, Tree, chain};
use analects_formats::msgfile::{self, CellMessages, Document, apply, decode, encode_readable};
use analects_testkit::conversations::history;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A conversation in a file, and the same in a session.
struct Twins {
    document: Document,
    store: MemoryStore,
    ids: CountingIds,
}

impl Twins {
    fn of(conversation: &[Message]) -> Twins {
        let mut ids = CountingIds::default();
        let (file, _) = encode_readable(conversation, &mut ids);
        let document = decode(file);
        let messages = read(&document).messages;
        let store = MemoryStore::default();
        store.append(&name(), &messages).unwrap();
        Twins {
            document,
            store,
            ids,
        }
    }

    fn session(&self) -> Session<'_> {
        Session::open(&self.store, name()).unwrap()
    }

    /// Does the same in both places. What one refuses the other refuses, too.
    fn apply(
        &mut self,
        at: Option<usize>,
        verb: impl Fn(&[Message], Option<&Target>) -> Result<Vec<Change>, VerbError>,
    ) {
        let file = read(&self.document);
        let target = at.and_then(|at| file.target(at).cloned());
        if at.is_some() && target.is_none() {
            return;
        }
        let in_file = verb(&file.messages, target.as_ref());
        let mut ids = std::mem::take(&mut self.ids);
        let in_session = self.session().apply(
            |messages| verb(messages, target.as_ref()),
            &mut ids,
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(
            in_file.is_ok(),
            in_session.is_ok(),
            "{in_file:?} {in_session:?}"
        );
        if let Ok(changes) = in_file {
            self.document = apply(&self.document, &file, &changes, &mut ids).unwrap();
        }
        self.ids = ids;
    }

    /// Goes back to the message of a cell.
    fn rewind(&mut self, at: usize) {
        let message = read(&self.document).message(at).cloned();
        if let Some(to) = message {
            self.apply(None, |messages, _| verbs::rewind(messages, Some(&to)));
        }
    }

    /// Adds what a person says to both.
    fn say(&mut self, text: &str) {
        let cell = NewCell::message(self.document.next_id(), text);
        let splice = append(&self.document, &cell);
        self.document = self
            .document
            .with_source(splice.apply(self.document.source()));
        let said = records(&self.document).pop().unwrap();
        assert_eq!(said.text(), text);
        let said = Message {
            parent_id: None,
            ..said
        };
        let mut ids = std::mem::take(&mut self.ids);
        self.session()
            .append(vec![said], &mut ids, Timestamp::UNIX_EPOCH)
            .unwrap();
        self.ids = ids;
    }

    /// Puts a summary in the place of what comes before some message of the branch.
    fn compact(&mut self, nth: usize, text: &str) {
        let file = read(&self.document);
        let tree = Tree::of(&file.messages);
        let leaf = tree.leaf(None);
        let seen = leaf
            .map(|leaf| tree.effective(leaf).positions)
            .unwrap_or_default();
        if seen.len() < 2 {
            return;
        }
        let kept = seen[1 + nth % (seen.len() - 1)];
        let boundary = CompactBoundary {
            summary_id: Some("new".into()),
            kept_from: Some(file.messages[kept].id.clone()),
            ..CompactBoundary::default()
        };
        let summary = Summary {
            text: text.into(),
            ..Summary::default()
        };
        let made = vec![
            Message::new("new", Body::Summary(summary)),
            Message::new("", Body::CompactBoundary(boundary)),
        ];
        let changes = verbs::compact(made).unwrap();
        let mut ids = std::mem::take(&mut self.ids);
        let Ok(after) = apply(&self.document, &file, &changes, &mut ids) else {
            self.ids = ids;
            return;
        };
        self.document = after;
        let mut made = records(&self.document);
        let made = made.split_off(made.len() - 2);
        let made = made
            .into_iter()
            .map(|it| Message {
                parent_id: None,
                ..it
            })
            .collect();
        self.session()
            .compact(made, &mut ids, Timestamp::UNIX_EPOCH)
            .unwrap();
        self.ids = ids;
    }

    fn check(&self, what: &str) {
        let file = revised(read(&self.document).messages);
        let session = self.session().load().unwrap();
        let (file, session) = (view(&chain(&file)), view(&session.chain()));
        let differs = file.iter().zip(&session).find(|(one, other)| one != other);
        let source = String::from_utf8_lossy(self.document.source()).into_owned();
        assert!(
            file == session,
            "{what}: {differs:#?}, {} {}\n{source}",
            file.len(),
            session.len()
        );
    }

    /// Compares copies up to a cell.
    fn check_fork(&self, at: usize) {
        let file = read(&self.document);
        let Some(target) = file.message(at) else {
            return;
        };
        let Ok(copy) = msgfile::fork(&self.document, at) else {
            return;
        };
        let copy = read(&decode(copy)).messages;
        let to = ChainName::new("p", "copy");
        let mut ids = CountingIds::default();
        let session = self.session();
        let fork = session
            .fork(Some(target), to.clone(), &mut ids, Timestamp::UNIX_EPOCH)
            .unwrap();
        let copied = fork.load().unwrap();
        let copy = revised(copy);
        assert_eq!(view(&chain(&copy)), view(&copied.chain()), "fork at {at}");
        self.store.prune(&to).unwrap();
    }
}

fn name() -> ChainName {
    ChainName::new("p", "talk")
}

fn read(document: &Document) -> CellMessages {
    CellMessages::of(document, &SessionId::from("talk"))
}

/// The messages of a document without the revisions that its last records are.
fn records(document: &Document) -> Vec<Message> {
    let mut messages = read(document).messages;
    messages.retain(|message| !matches!(message.body, Body::Revision(_)));
    messages
}

/// What a model reads.
fn view(chain: &analects_core::Chain<'_>) -> Vec<String> {
    let turns = chain.sendable().turns;
    turns
        .iter()
        .map(|turn| format!("{:?} {:?}", turn.role, turn.content))
        .collect()
}

/// What a person does, and to which of the cells.
fn act(twins: &mut Twins, (verb, nth): (usize, usize), number: usize) {
    let count = twins.document.cells().len();
    if count == 0 {
        return twins.say("first");
    }
    let at = Some(nth % count);
    let text = format!("text {number}");
    match verb {
        0 => twins.say(&text),
        1 => twins.apply(None, |messages, _| verbs::rewind(messages, None)),
        2 | 3 => twins.rewind(nth % count),
        4 | 5 => twins.apply(at, |messages, target| {
            verbs::drop(messages, target.unwrap())
        }),
        6 => twins.apply(at, |messages, target| {
            verbs::restore(messages, target.unwrap())
        }),
        7 | 8 => twins.apply(at, |messages, target| {
            verbs::edit(messages, target.unwrap(), &text)
        }),
        9 => twins.apply(None, |messages, _| verbs::undo_compaction(messages)),
        10 => twins.compact(nth, &text),
        _ => twins.check_fork(nth % count),
    }
    twins.check(&format!("step {number}: verb {verb} on {nth}"));
}

proptest! {
    #[test]
    fn a_verb_gives_the_same_view_in_a_file_and_in_a_session(
        conversation in history(),
        steps in vec((0..12_usize, any::<proptest::sample::Index>()), 1..12),
    ) {
        let conversation = revised(conversation);
        let mut twins = Twins::of(&conversation);
        twins.check("as converted");
        for (number, (verb, nth)) in steps.into_iter().enumerate() {
            let nth = nth.index(1000);
            act(&mut twins, (verb, nth), number);
        }
    }
}
