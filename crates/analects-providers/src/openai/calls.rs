//! Tool calls in the making: which call a piece belongs to, and what its pieces add up to.

use std::collections::BTreeMap;

use analects_core::{Delta, Raw, StreamEvent, Text};

use super::wire::CallDelta;
use crate::reading::join;

/// The calls of an answer that is not complete.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    // The last call of each number, id, or both.
    by_number: BTreeMap<u64, usize>,
    by_id: BTreeMap<String, usize>,
    by_both: BTreeMap<(u64, String), usize>,
}

/// A tool call.
#[derive(Debug, Clone)]
struct Call {
    index: usize,
    id: String,
    name: String,
    json: Text,
    /// Half a character at the end, which waits for its other half.
    held: Text,
}

impl Calls {
    /// The call that `delta` adds to, if it does not begin one. A number says so; but some vendors
    /// give every call the number 0, or none: then a new id or, without ids, a name begins a new
    /// call.
    pub fn find(&self, delta: &CallDelta) -> Option<usize> {
        let at = match (delta.index, &delta.id, &delta.name) {
            (Some(number), Some(id), Some(_)) => self.by_both.get(&(number, id.clone())),
            (Some(number), _, _) => self.by_number.get(&number),
            (None, Some(id), _) => self.by_id.get(id),
            (None, None, Some(_)) => None,
            (None, None, None) => return self.calls.len().checked_sub(1),
        };
        at.copied()
    }

    /// Begins a call, which is the block `index` and has the given number on the wire.
    pub fn push(&mut self, index: usize, number: Option<u64>, id: String, name: String) -> usize {
        let at = self.calls.len();
        if let Some(number) = number {
            self.by_number.insert(number, at);
            self.by_both.insert((number, id.clone()), at);
        }
        self.by_id.insert(id.clone(), at);
        self.calls.push(Call {
            index,
            id,
            name,
            json: Text::default(),
            held: Text::default(),
        });
        at
    }

    /// Adds a piece to a call.
    pub fn add(&mut self, at: usize, delta: CallDelta, out: &mut Vec<StreamEvent>) {
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        let json = join(&mut call.held, &delta.arguments);
        call.write(&json, out);
        if call.name.is_empty() {
            call.name = delta.name.unwrap_or_default();
        }
    }

    /// Gives what was held back of them.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        for call in &mut self.calls {
            call.flush(out);
        }
    }

    /// Completes all of them. Where they may have been cut short, a call stays open whose arguments
    /// are not JSON: half its arguments are no call.
    pub fn close(&mut self, whole: bool, out: &mut Vec<StreamEvent>) {
        for call in std::mem::take(self).calls {
            call.close(whole, out);
        }
    }
}

impl Call {
    fn write(&mut self, json: &Text, out: &mut Vec<StreamEvent>) {
        if !json.is_empty() {
            self.json.push(json);
            let delta = Delta::PartialJson(json.as_str().into_owned());
            out.push(StreamEvent::BlockDelta {
                index: self.index,
                delta,
            });
        }
    }

    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = std::mem::take(&mut self.held);
        self.write(&held, out);
    }

    fn close(mut self, whole: bool, out: &mut Vec<StreamEvent>) {
        self.flush(out);
        let Call {
            index,
            id,
            name,
            json,
            ..
        } = self;
        let json = json.as_str();
        let json = if json.trim().is_empty() && whole {
            "{}"
        } else {
            &json
        };
        // Arguments that are not JSON stay as the text of the deltas; folding marks them.
        let input = Raw::parse(json);
        let complete = whole || input.is_ok();
        if let Ok(input) = input {
            out.push(StreamEvent::ToolUse {
                index,
                id,
                name,
                input,
            });
        }
        if complete {
            out.push(StreamEvent::BlockStop { index });
        }
    }
}
