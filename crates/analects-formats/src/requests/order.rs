//! Puts the messages of a request into an order that its API accepts: every call is followed by its result, no result is
//! without its call, and no two calls have the same id. Nothing is said that nobody said, except that a call was
//! interrupted. Each change is reported.
//!
//! A file of the same API needs none of this: what it holds is written as it was, even if the API would refuse it.

use std::collections::{HashMap, HashSet};

use analects_core::{Raw, RawMap};

use super::RequestApi;

/// A part of a message of the API.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// What somebody says, with the ids of the calls in it, in order.
    Said { fields: RawMap, calls: Vec<String> },
    /// The result of the call with this id.
    Result { fields: RawMap, call: String },
}

/// Something that a message becomes or loses when it is put in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderChange {
    /// The position of the message; `None` for the conversation as a whole.
    pub at: Option<usize>,
    pub what: &'static str,
    pub why: &'static str,
}

/// What somebody says, followed by the results of its calls.
struct Slot {
    at: usize,
    fields: RawMap,
    calls: Vec<SlotCall>,
    /// Whether a result has arrived, so that whatever the model says next comes after it.
    is_answered: bool,
}

/// A call in a [`Slot`].
struct SlotCall {
    /// The id in the file that is written.
    id: String,
    /// The result so far, with the position of its message.
    result: Option<(usize, RawMap)>,
}

/// The calls of a slot that have the same id in the conversation, by their positions.
#[derive(Default)]
struct SameCalls {
    slot: usize,
    calls: Vec<usize>,
}

/// The slots so far.
#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    /// The last calls with each id. A later call takes over the id.
    calls: HashMap<String, SameCalls>,
    /// The ids that are used in the file that is written.
    used_ids: HashSet<String>,
    changes: Vec<OrderChange>,
}

/// A message of the API, and the position of the message that it came from.
pub(crate) type PlacedItem = (usize, RawMap);

/// Puts messages in order. Returns them with the changes.
pub(super) fn in_order<A: RequestApi>(
    items: Vec<PlacedItem>,
) -> (Vec<PlacedItem>, Vec<OrderChange>) {
    let mut slots = Slots::default();
    for (at, item) in items {
        for piece in A::pieces(item) {
            match piece {
                Piece::Said { fields, calls } => slots.add_said::<A>(at, fields, calls),
                Piece::Result { fields, call } => slots.add_result::<A>(at, fields, &call),
            }
        }
    }
    slots.finish::<A>()
}

impl Slots {
    /// Reports a change.
    fn change(&mut self, at: usize, what: &'static str, why: &'static str) {
        self.changes.push(OrderChange {
            at: Some(at),
            what,
            why,
        });
    }

    /// Reports that two messages become one.
    fn change_both(&mut self, first: usize, second: usize, why: &'static str) {
        let is_known = |change: &OrderChange| change.at == Some(first) && change.why == why;
        if first != second && !self.changes.iter().rev().take(1).any(is_known) {
            self.change(first, "grouping", why);
        }
        self.change(second, "grouping", why);
    }

    /// Adds what somebody says.
    fn add_said<A: RequestApi>(&mut self, at: usize, mut fields: RawMap, calls: Vec<String>) {
        let mut made = Vec::new();
        for (position, given) in calls.into_iter().enumerate() {
            let id = self.unused_id(A::fit_call_id(&given));
            if id != given {
                A::set_call_id(&mut fields, position, &id);
                self.change(
                    at,
                    "form",
                    "the ids of calls differ, and are spelled as the API accepts them",
                );
            }
            made.push((given, SlotCall { id, result: None }));
        }
        let slot = self.slot_for::<A>(at, fields);
        for (given, call) in made {
            let position = self.slots[slot].calls.len();
            self.slots[slot].calls.push(call);
            let same = self.calls.entry(given).or_default();
            if same.slot != slot {
                *same = SameCalls {
                    slot,
                    calls: Vec::new(),
                };
            }
            same.calls.push(position);
        }
    }

    /// Adds the fields to the last slot if the API wants them in one message, else to a new one. Returns its number.
    fn slot_for<A: RequestApi>(&mut self, at: usize, fields: RawMap) -> usize {
        if let Some(last) = self.slots.last_mut()
            && !last.is_answered
            && A::are_one(&last.fields, &fields)
        {
            A::join(&mut last.fields, fields);
            let first = last.at;
            self.change_both(
                first,
                at,
                "roles take turns, so messages of one role become one",
            );
            return self.slots.len() - 1;
        }
        self.slots.push(Slot {
            at,
            fields,
            calls: Vec::new(),
            is_answered: false,
        });
        self.slots.len() - 1
    }

    /// Returns this id, or one like it that no other call has.
    fn unused_id(&mut self, id: String) -> String {
        let mut candidate = id.clone();
        let mut count = 1;
        while !self.used_ids.insert(candidate.clone()) {
            count += 1;
            let kept: String = id.chars().take(MOST_KEPT).collect();
            candidate = format!("{kept}_{count}");
        }
        candidate
    }

    /// Attaches a result to the last call with its id. Several results of one call become one.
    fn add_result<A: RequestApi>(&mut self, at: usize, mut fields: RawMap, given: &str) {
        let Some(same) = self.calls.get(given) else {
            return self.change(at, "tool_result", "no call before it waits for it");
        };
        let slot_number = same.slot;
        let slot = &mut self.slots[slot_number];
        let waiting = same
            .calls
            .iter()
            .find(|call| slot.calls[**call].result.is_none());
        let Some(call) = waiting.or(same.calls.last()) else {
            return;
        };
        let call = &mut slot.calls[*call];
        slot.is_answered = true;
        A::set_result_call(&mut fields, &call.id);
        if let Some((first_at, first)) = &mut call.result {
            join_contents(first, &fields);
            let first = *first_at;
            return self.change_both(first, at, "several results of one call become one");
        }
        call.result = Some((at, fields));
        if slot_number + 1 < self.slots.len() {
            self.change(at, "order", "a result moves to its call");
        }
    }

    /// Returns the messages, each with the results of its calls behind it.
    fn finish<A: RequestApi>(mut self) -> (Vec<PlacedItem>, Vec<OrderChange>) {
        let mut pieces = Vec::new();
        for slot in std::mem::take(&mut self.slots) {
            let calls: Vec<String> = slot.calls.iter().map(|call| call.id.clone()).collect();
            let fields = slot.fields;
            pieces.push((slot.at, Piece::Said { fields, calls }));
            for SlotCall { id, result } in slot.calls {
                let (at, fields) = result.unwrap_or_else(|| {
                    self.change(
                        slot.at,
                        "grouping",
                        "a call has no result; one that says so is added",
                    );
                    (slot.at, A::missing_result(&id))
                });
                pieces.push((at, Piece::Result { fields, call: id }));
            }
        }
        let items = A::assemble(pieces, &mut self.changes);
        (items, self.changes)
    }
}

/// How much of an id is kept beside a number, so that it does not become too long.
const MOST_KEPT: usize = 30;

/// The text of the result of a call that has none.
pub(crate) const NO_RESULT: &str = "The call was interrupted; there is no result.";

/// Adds the content of a result to that of another one.
fn join_contents(first: &mut RawMap, more: &RawMap) {
    let mut parts = parts_of(first.get("content"));
    parts.extend(parts_of(more.get("content")));
    first.set("content", Raw::array(&parts));
}

/// Returns a content as a list of parts, which the APIs spell the same.
pub(crate) fn parts_of(content: Option<&Raw>) -> Vec<Raw> {
    let Some(content) = content else {
        return Vec::new();
    };
    if let Some(parts) = content.as_array() {
        return parts;
    }
    let is_text = content.as_str().starts_with('"') && content.as_str() != "\"\"";
    if !is_text {
        return Vec::new();
    }
    let part = RawMap::from([("type", Raw::string("text")), ("text", content.clone())]);
    vec![part.to_raw()]
}
