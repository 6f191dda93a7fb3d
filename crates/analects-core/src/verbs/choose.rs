//! Which messages one call sends: a filter over messages, which changes nothing. A call and its result go together,
//! and so do code and what it printed. What is asked is always sent.

use std::collections::{HashMap, HashSet};

use super::{Change, Target};
use crate::{
    Assistant, AttachmentKind, Block, Body, Content, History, Message, MessageId, User, UserSource,
};

/// The messages that are sent: those that are included, or all, without those that are excluded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// If there are any, these are sent and no others, beside what is asked.
    pub include: Vec<Target>,
    /// These are not sent.
    pub exclude: Vec<Target>,
}

impl Choice {
    /// Whether nothing was chosen, so that all is sent.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }
}

/// What has to be hidden, and shown, so that the model sees just what is chosen. `asked` are the messages that wait for
/// an answer: they and what follows the first of them are sent unless they are excluded. What is hidden already is
/// only shown if it is included by name.
///
/// ```
/// use analects_core::Message;
/// use analects_core::verbs::{Choice, Target, choose, with_history};
///
/// let messages = ["one", "two", "three"].map(|text| Message::user(text, text));
/// let choice = Choice { include: vec![Target::message("one")], ..Choice::default() };
/// let seen = with_history(messages.to_vec(), &choose(&messages, &choice, &["three".into()]));
/// let sent = seen.iter().filter(|message| message.why_not_sent().is_none());
/// assert_eq!(sent.map(|message| message.text()).collect::<Vec<_>>(), ["one", "three"]);
/// ```
pub fn choose(messages: &[Message], choice: &Choice, asked: &[MessageId]) -> Vec<Change> {
    let families = Families::of(messages);
    let mut changes = Vec::new();
    if !choice.include.is_empty() {
        let named = families.of_ids(choice.include.iter().map(|target| &target.message));
        let asked = families.of_ids(families.starting_at_first(asked));
        for (at, message) in messages.iter().enumerate().filter(|(_, it)| is_chosen(it)) {
            let family = families.first[at];
            let is_hidden = message.history == History::Exclude;
            if named.contains(&family) {
                changes.extend(is_hidden.then(|| set(message, shown(message))));
            } else if !asked.contains(&family) && !is_hidden {
                changes.push(set(message, History::Exclude));
            }
        }
    }
    for target in &choice.exclude {
        changes.extend(families.hide(messages, target));
    }
    changes
}

/// The messages as they are seen after changes of what is hidden. A call that is hidden goes with its result.
pub fn with_history(mut messages: Vec<Message>, changes: &[Change]) -> Vec<Message> {
    let families = Families::of(&messages);
    let mut hidden_calls = HashSet::new();
    let mut hidden: HashSet<usize> = HashSet::new();
    for change in changes {
        let Change::SetHistory { target, history } = change else { continue };
        for at in families.places_of(&target.message) {
            if let Some(call) = &target.call {
                hidden_calls.insert((*at, call.clone()));
                continue;
            }
            messages[*at].history = *history;
            hidden.remove(at);
            hidden.extend((*history == History::Exclude).then_some(at));
        }
    }
    for (at, message) in messages.iter_mut().enumerate() {
        let is_gone = |caller: usize, call: &str| {
            hidden.contains(&caller) || hidden_calls.contains(&(caller, call.to_string()))
        };
        let is_hidden = |block: &Block| match block {
            Block::ToolUse(call) => hidden_calls.contains(&(at, call.id.clone())),
            Block::ToolResult(result) => families
                .callers
                .get(&(at, result.tool_use_id.as_str().to_string()))
                .is_some_and(|caller| is_gone(*caller, &result.tool_use_id)),
            _ => false,
        };
        let (Body::User(User { content: Content::Blocks(blocks), .. })
        | Body::Assistant(Assistant { content: Content::Blocks(blocks), .. })) = &mut message.body
        else {
            continue;
        };
        if blocks.iter().any(is_hidden) {
            blocks.retain(|block| !is_hidden(block));
            if blocks.is_empty() {
                message.history = History::Exclude;
            }
        }
    }
    messages
}

/// Whether a choice is about a message. Instructions, summaries and the rest of the frame stay.
fn is_chosen(message: &Message) -> bool {
    match &message.body {
        Body::User(_)
        | Body::Assistant(_)
        | Body::Attachment(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_) => true,
        Body::System(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Notification(_)
        | Body::Progress(_)
        | Body::Tombstone(_)
        | Body::State(_)
        | Body::Other(_) => false,
    }
}

/// How a message is seen that is shown again: where it has a summary, no more than that.
fn shown(message: &Message) -> History {
    if message.extra.get("summary").is_some() { History::Summary } else { History::Include }
}

fn set(message: &Message, history: History) -> Change {
    Change::SetHistory { target: Target::message(message.id.clone()), history }
}

/// Which messages belong together: calls and their results, code and what it printed.
struct Families {
    /// Where the messages of each id are: of a damaged conversation, several may have one.
    places: HashMap<MessageId, Vec<usize>>,
    /// The first message of each one's family.
    first: Vec<usize>,
    /// The message that made the call of a result, by the place of the result and the name of the call.
    callers: HashMap<(usize, String), usize>,
    ids: Vec<MessageId>,
}

impl Families {
    fn of(messages: &[Message]) -> Families {
        let mut families = Families {
            places: HashMap::new(),
            first: (0..messages.len()).collect(),
            callers: HashMap::new(),
            ids: messages.iter().map(|message| message.id.clone()).collect(),
        };
        // Some providers give calls the same names in every answer: the last one is meant.
        let mut calls: HashMap<&str, usize> = HashMap::new();
        let mut code = None;
        for (at, message) in messages.iter().enumerate() {
            families.places.entry(message.id.clone()).or_default().push(at);
            match &message.body {
                Body::User(body) => {
                    code = (body.source == Some(UserSource::Code)).then_some(at);
                }
                Body::Attachment(body) if body.kind == AttachmentKind::CodeOutput => {
                    families.first[at] = code.unwrap_or(at);
                }
                _ => {}
            }
            for block in blocks(message) {
                match block {
                    Block::ToolUse(call) => _ = calls.insert(&call.id, at),
                    Block::ToolResult(result) => {
                        if let Some(caller) = calls.get(result.tool_use_id.as_str()).copied() {
                            families.first[at] = families.first[caller];
                            families.callers.insert((at, result.tool_use_id.to_string()), caller);
                        }
                    }
                    _ => {}
                }
            }
        }
        families
    }

    fn places_of(&self, id: &MessageId) -> &[usize] {
        self.places.get(id).map_or(&[], Vec::as_slice)
    }

    /// The families of some messages.
    fn of_ids<'a>(&self, ids: impl IntoIterator<Item = &'a MessageId>) -> HashSet<usize> {
        let places = ids.into_iter().flat_map(|id| self.places_of(id));
        places.map(|at| self.first[*at]).collect()
    }

    /// The messages from the first of these on.
    fn starting_at_first(&self, ids: &[MessageId]) -> &[MessageId] {
        let first = ids.iter().filter_map(|id| self.places_of(id).last()).min();
        first.map_or(&[], |first| &self.ids[*first..])
    }

    /// What hides a message, or a call of it, with what belongs to it.
    fn hide(&self, messages: &[Message], target: &Target) -> Vec<Change> {
        let Some(at) = self.places_of(&target.message).last().copied() else { return Vec::new() };
        let hidden = |target| Change::SetHistory { target, history: History::Exclude };
        if target.call.is_some() {
            return vec![hidden(target.clone())];
        }
        let mut changes = vec![hidden(target.clone())];
        // A result cannot go without its call.
        for block in blocks(&messages[at]) {
            if let Block::ToolResult(result) = block
                && let Some(caller) = self.callers.get(&(at, result.tool_use_id.to_string()))
            {
                let call = result.tool_use_id.as_str();
                changes.push(hidden(Target::call(self.ids[*caller].clone(), call)));
            }
        }
        // What code printed goes with the code.
        let is_printed = |other: &usize| {
            self.first[*other] == at && matches!(messages[*other].body, Body::Attachment(_))
        };
        let printed = (at + 1..messages.len()).filter(is_printed);
        changes.extend(printed.map(|other| set(&messages[other], History::Exclude)));
        changes
    }
}

fn blocks(message: &Message) -> &[Block] {
    match message.body.content() {
        Some(Content::Blocks(blocks)) => blocks,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    //! What is sent of a conversation with calls and code.

    use super::*;
    use crate::Json;

    fn conversation() -> Vec<Message> {
        [
            r#"{"type":"user","id":"1","content":"weather?"}"#,
            r#"{"type":"assistant","id":"2","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"a","name":"w","input":{}},{"type":"tool_use","id":"b","name":"w","input":{}}]}"#,
            r#"{"type":"user","id":"3","content":[{"type":"tool_result","tool_use_id":"a","content":"sun"},{"type":"tool_result","tool_use_id":"b","content":"rain"}]}"#,
            r#"{"type":"user","id":"4","source":"code","content":"print(1)"}"#,
            r#"{"type":"attachment","id":"5","kind":"code_output","content":"stdout> 1"}"#,
            r#"{"type":"user","id":"6","content":"and now?"}"#,
            r#"{"type":"user","id":"7","history":"exclude","content":"PRIVATE"}"#,
            r#"{"type":"user","id":"8","content":"and then?"}"#,
        ]
        .iter()
        .map(|json| Message::from_json(json).unwrap())
        .collect()
    }

    fn sent(choice: &Choice) -> String {
        let messages = conversation();
        let changes = choose(&messages, choice, &["6".into(), "8".into()]);
        let seen = with_history(messages, &changes);
        let seen = seen.iter().filter(|message| message.history != History::Exclude);
        seen.map(Message::to_json).collect::<Vec<_>>().join("\n")
    }

    fn without(target: Target) -> String {
        sent(&Choice { exclude: vec![target], ..Choice::default() })
    }

    fn with(target: Target) -> String {
        sent(&Choice { include: vec![target], ..Choice::default() })
    }

    #[test]
    fn a_call_and_its_result_go_together() {
        let seen = without(Target::call("2", "a"));
        assert!(!seen.contains("sun") && seen.contains("rain") && seen.contains("see"), "{seen}");
        assert_eq!(seen.matches("\"type\":\"tool_use\"").count(), 1, "{seen}");
        let seen = without(Target::message("2"));
        assert!(!seen.contains("sun") && !seen.contains("rain") && !seen.contains("see"), "{seen}");
        let seen = without(Target::message("3"));
        assert!(!seen.contains("rain") && !seen.contains("tool_use") && seen.contains("see"));
    }

    #[test]
    fn code_goes_with_what_it_printed() {
        assert!(!without(Target::message("4")).contains("stdout"));
        assert!(without(Target::message("5")).contains("print"));
    }

    #[test]
    fn only_what_is_named_and_what_is_asked_is_sent() {
        let seen = with(Target::call("2", "a"));
        assert!(seen.contains("sun") && seen.contains("see"), "{seen}");
        for text in ["and now?", "and then?"] {
            assert!(seen.contains(text), "{seen}");
        }
        for text in ["weather?", "print", "PRIVATE"] {
            assert!(!seen.contains(text), "{seen}");
        }
        assert!(with(Target::message("7")).contains("PRIVATE"));
        let both = Choice {
            include: vec![Target::message("1"), Target::message("2")],
            exclude: vec![Target::message("2")],
        };
        assert!(!sent(&both).contains("see") && sent(&both).contains("weather?"));
    }
}
