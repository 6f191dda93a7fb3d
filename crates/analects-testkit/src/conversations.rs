//! Arbitrary conversations, with everything that happens in real ones, for property tests here and in other
//! crates.
#![allow(missing_docs)]

use analects_core::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Something that happens in a conversation.
#[derive(Debug, Clone)]
pub enum ConversationStep {
    Say(String),
    SayTwice(String, String),
    Show(u32, u32),
    Answer(String),
    Think(String, String),
    /// Names of tools, and what each gave; `None` is a call that was cut off.
    Call(Vec<(String, Option<String>)>),
    /// The calls of one response, each recorded by itself, with results in between.
    CallInParts(String, String),
    Remind(String),
    Attach(String),
    Notify(String),
    Progress,
    Instruct(String),
    ApiError,
    Blank,
    Hidden(String),
    Summarised(String, bool),
    Other(String),
    OrphanResult,
    RepeatedId,
    Compact(String),
    State,
}

fn words() -> BoxedStrategy<String> {
    let word = proptest::sample::select(vec![
        "the",
        "conversation",
        "keeps",
        "every",
        "word",
        "学而时习之",
        "fn main() {",
        "}\n",
        "42",
        "— “quoted”",
        "😀",
        "</system-reminder>",
        "\n\n",
    ]);
    prop_oneof![
        6 => vec(word.clone(), 1..12).prop_map(|words| words.join(" ")),
        1 => vec(word, 200..600).prop_map(|words| words.join(" ")),
    ]
    .boxed()
}

pub fn step() -> BoxedStrategy<ConversationStep> {
    let result = prop_oneof![5 => words().prop_map(Some), 1 => Just(None)];
    let call = (
        proptest::sample::select(vec!["read", "write", "run"]),
        result,
    )
        .prop_map(|(name, result)| (name.to_string(), result));
    prop_oneof![
        6 => words().prop_map(ConversationStep::Say),
        1 => (words(), words()).prop_map(|(one, other)| ConversationStep::SayTwice(one, other)),
        1 => (1..3000_u32, 1..3000_u32).prop_map(|(width, height)| ConversationStep::Show(width, height)),
        6 => words().prop_map(ConversationStep::Answer),
        2 => (words(), words()).prop_map(|(thought, said)| ConversationStep::Think(thought, said)),
        6 => vec(call, 1..4).prop_map(ConversationStep::Call),
        1 => (words(), words()).prop_map(|(one, other)| ConversationStep::CallInParts(one, other)),
        1 => words().prop_map(ConversationStep::Remind),
        1 => words().prop_map(ConversationStep::Attach),
        1 => words().prop_map(ConversationStep::Notify),
        1 => Just(ConversationStep::Progress),
        1 => words().prop_map(ConversationStep::Instruct),
        1 => Just(ConversationStep::ApiError),
        1 => Just(ConversationStep::Blank),
        1 => words().prop_map(ConversationStep::Hidden),
        1 => (words(), any::<bool>()).prop_map(|(text, has)| ConversationStep::Summarised(text, has)),
        1 => words().prop_map(ConversationStep::Other),
        1 => Just(ConversationStep::OrphanResult),
        1 => Just(ConversationStep::RepeatedId),
        1 => words().prop_map(ConversationStep::Compact),
        1 => Just(ConversationStep::State),
    ]
    .boxed()
}

/// A conversation in which everything may happen.
pub fn history() -> BoxedStrategy<Vec<Message>> {
    vec(step(), 0..24)
        .prop_map(|steps| messages(&steps))
        .boxed()
}

/// A conversation as it goes when nothing goes wrong: it can be sent after each of these steps.
pub fn orderly() -> BoxedStrategy<Vec<Vec<Message>>> {
    let whole = (proptest::sample::select(vec!["read", "run"]), words())
        .prop_map(|(name, result)| (name.to_string(), Some(result)));
    // Somebody who says nothing at all leaves two turns of the other side to be joined.
    let said = || words().prop_map(|words| format!("So: {words}"));
    let round = (said(), vec(vec(whole, 1..3), 0..3), said()).prop_map(|(said, calls, answer)| {
        let mut steps = vec![ConversationStep::Say(said)];
        steps.extend(calls.into_iter().map(ConversationStep::Call));
        steps.push(ConversationStep::Answer(answer));
        steps
    });
    vec(round, 1..6)
        .prop_map(|rounds| {
            let steps: Vec<ConversationStep> = rounds.into_iter().flatten().collect();
            (1..=steps.len())
                .map(|end| messages(&steps[..end]))
                .collect()
        })
        .boxed()
}

/// The messages of these steps, each following the one before.
pub fn messages(steps: &[ConversationStep]) -> Vec<Message> {
    let mut made = Made::default();
    for step in steps {
        made.add(step);
    }
    made.messages
}

#[derive(Default)]
struct Made {
    messages: Vec<Message>,
    calls: usize,
}

const MODEL: &str = "claude-opus-4-1";

/// A PNG of this size, as far as its header goes.
pub fn png(width: u32, height: u32) -> Block {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    let source = Source::Base64 {
        media_type: "image/png".into(),
        data: base64(&bytes),
    };
    Block::Image(Image {
        source: source.to_raw(),
        extra: RawMap::new(),
    })
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks_exact(3) {
        let bits = u32::from_be_bytes([0, chunk[0], chunk[1], chunk[2]]);
        out.extend((0..4).map(|at| char::from(LETTERS[((bits >> (18 - 6 * at)) & 63) as usize])));
    }
    out
}

pub fn call(id: &str, name: &str) -> Block {
    let input = Raw::parse(r#"{"path":"src/lib.rs"}"#).unwrap();
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: name.into(),
        input,
        extra: RawMap::new(),
    })
}

pub fn result(id: &str, text: &str) -> Block {
    Block::ToolResult(ToolResult {
        tool_use_id: id.into(),
        content: text.into(),
        ..ToolResult::default()
    })
}

impl Made {
    fn push(&mut self, body: Body) -> &mut Message {
        let parent_id = self.messages.last().map(|message| message.id.clone());
        let id = format!("m{}", self.messages.len() + 1);
        self.messages.push(Message {
            parent_id,
            ..Message::new(id, body)
        });
        self.messages.last_mut().unwrap()
    }

    fn say(&mut self, content: impl Into<Content>) -> &mut Message {
        self.push(Body::User(User {
            content: content.into(),
            ..User::default()
        }))
    }

    fn answer(&mut self, content: impl Into<Content>) -> &mut Message {
        let body = Assistant {
            content: content.into(),
            stop_reason: None,
        };
        let message = self.push(Body::Assistant(body));
        message.model = Some(MODEL.into());
        message
    }

    fn attach(&mut self, kind: AttachmentKind, text: &str) {
        self.push(Body::Attachment(Attachment {
            kind,
            content: text.into(),
            data: None,
        }));
    }

    fn call(&mut self, calls: &[(String, Option<String>)]) {
        let ids: Vec<String> = calls.iter().map(|_| self.next_call()).collect();
        let mut blocks = vec![Block::from_text("Let me look.")];
        blocks.extend(ids.iter().zip(calls).map(|(id, (name, _))| call(id, name)));
        self.answer(blocks);
        let given = ids.iter().zip(calls);
        let results: Vec<Block> = given
            .filter_map(|(id, (_, text))| text.as_ref().map(|text| result(id, text)))
            .collect();
        if !results.is_empty() {
            self.say(results);
        }
    }

    fn next_call(&mut self) -> String {
        self.calls += 1;
        format!("call_{}", self.calls)
    }

    fn add(&mut self, step: &ConversationStep) {
        match step {
            ConversationStep::Say(text) => drop(self.say(text.as_str())),
            ConversationStep::SayTwice(one, other) => {
                self.say(one.as_str());
                self.say(vec![Block::from_text(other.as_str())]);
            }
            ConversationStep::Show(width, height) => {
                self.say(vec![
                    png(*width, *height),
                    Block::from_text("What is this?"),
                ]);
            }
            ConversationStep::Answer(text) => drop(self.answer(text.as_str())),
            ConversationStep::Think(thought, said) => {
                let thinking = Thinking {
                    thinking: thought.as_str().into(),
                    signature: Some("seal".into()),
                    extra: RawMap::new(),
                };
                self.answer(vec![
                    Block::Thinking(thinking),
                    Block::from_text(said.as_str()),
                ]);
            }
            ConversationStep::Call(calls) => self.call(calls),
            ConversationStep::CallInParts(one, other) => {
                let (first, second) = (self.next_call(), self.next_call());
                let response = format!("resp_{}", self.calls);
                self.answer(vec![call(&first, "read")]).response_id = Some(response.clone());
                self.say(vec![result(&first, one)]);
                self.answer(vec![call(&second, "read")]).response_id = Some(response);
                self.say(vec![result(&second, other)]);
            }
            step => self.add_odd(step),
        }
    }

    fn add_odd(&mut self, step: &ConversationStep) {
        match step {
            ConversationStep::Remind(text) => self.attach(AttachmentKind::Reminder, text),
            ConversationStep::Attach(text) => self.attach(AttachmentKind::File, text),
            ConversationStep::Notify(text) => {
                let content = text.as_str().into();
                self.push(Body::Notification(Notification {
                    content,
                    ..<_>::default()
                }));
            }
            ConversationStep::Progress => drop(self.push(Body::Progress(Progress::default()))),
            ConversationStep::Instruct(text) => {
                self.push(Body::System(System {
                    content: text.as_str().into(),
                }));
            }
            ConversationStep::ApiError => {
                let message = self.answer("API Error: overloaded");
                message.is_api_error_message = true;
                message.model = Some("<synthetic>".into());
            }
            ConversationStep::Blank => drop(self.answer(" \n\t")),
            ConversationStep::Hidden(text) => self.say(text.as_str()).history = History::Exclude,
            ConversationStep::Summarised(text, has) => {
                let message = self.say(text.as_str());
                message.history = History::Summary;
                if *has {
                    message.extra.push("summary", Raw::string("in short"));
                }
            }
            ConversationStep::Other(text) => {
                self.answer(text.as_str()).author = Some("somebody".into());
            }
            ConversationStep::OrphanResult => drop(self.say(vec![result("nobody", "lost")])),
            ConversationStep::RepeatedId => {
                self.answer(vec![call("same", "read")]);
                self.say(vec![result("same", "again")]);
            }
            ConversationStep::Compact(text) => self.compact(text),
            _ => {
                let change = StateChange {
                    changes: Raw::empty_object(),
                    is_snapshot: false,
                };
                self.push(Body::State(change));
            }
        }
    }

    fn compact(&mut self, text: &str) {
        let kept = self
            .messages
            .len()
            .checked_sub(2)
            .map(|at| self.messages[at].id.clone());
        let leaf = self.messages.last().map(|message| message.id.clone());
        let body = Body::Summary(Summary {
            text: text.into(),
            ..Summary::default()
        });
        let summary_id = Some(self.push(body).id.clone());
        let body = CompactBoundary {
            summary_id,
            kept_from: kept,
            ..CompactBoundary::default()
        };
        self.push(Body::CompactBoundary(body)).parent_id = leaf;
    }
}
