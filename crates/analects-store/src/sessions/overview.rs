//! The overview of a chain: counts, totals and the title, without the messages. It grows row by row, so that an index can
//! store it for the rows so far.

use analects_core::{
    Json, Message, Raw, RawMap, Rebuilding, SessionState, StateChange, TokenUsage,
};
use analects_formats::transcript::{Envelope, crc32c, read_line};

use super::ChainRow;

/// The length of a title that is made from the first prompt, in characters.
const MAX_TITLE: usize = 80;

/// The length limit of a stored title or folder in characters, because an index entry must stay small.
const MAX_STORED: usize = 1000;

/// The number of answers that are remembered, because further records of them may follow.
const MAX_ANSWERS: usize = 8;

/// The number of ends of branches that are remembered. A message that follows another one counts as a new branch.
const MAX_TIPS: usize = 64;

/// The model of messages that a program wrote itself. They cost nothing.
const SYNTHETIC: &str = "<synthetic>";

/// Counts and totals of a chain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overview {
    /// The number of records of any kind.
    pub records: u64,
    /// The number of records with content: prompts, answers, instructions, tool calls and results.
    pub messages: u64,
    /// The number of rows that are not exactly one record.
    pub damaged: u64,
    /// The title that a person or a program set.
    pub title: Option<String>,
    /// The beginning of the person's first text.
    pub first_prompt: Option<String>,
    /// The working folder of the session.
    pub cwd: Option<String>,
    /// The time of the first record that has one.
    pub created_at: Option<String>,
    /// The time of the last record that has one.
    pub updated_at: Option<String>,
    /// The number of input tokens, cached ones included.
    pub input_tokens: u64,
    /// The number of output tokens.
    pub output_tokens: u64,
    /// The known costs in US dollars.
    pub cost_usd: f64,
    /// The costs of the last answers, which further records of the same answers repeat.
    answers: Vec<AnswerCost>,
    /// The ends of the branches; the branch that was written to last is the last one.
    tips: Vec<BranchTip>,
    /// The number of branches whose ends are not remembered any more.
    forgotten: u64,
    /// The number of compactions.
    pub boundaries: u64,
    /// The offset of the last boundary.
    pub last_boundary: Option<u64>,
    /// The offset of the first record that a model may see however much comes after it: instructions, and the records of a
    /// compaction.
    pub(crate) first_landmark: Option<u64>,
    /// The state of the session.
    pub(crate) state: Rebuilding,
    /// The offset of the next row.
    pub end: u64,
}

/// A checksum of an id and its length, because ids from elsewhere may be of any length.
type NameHash = (u32, u64);

/// Returns the hash of an id.
fn name_hash(name: &str) -> NameHash {
    (crc32c(name.as_bytes()), name.len() as u64)
}

/// The end of a branch.
#[derive(Debug, Clone, PartialEq, Default)]
struct BranchTip {
    /// The id of the last record.
    record: NameHash,
    /// Whether the branch has a message that no other branch has.
    has_messages: bool,
    /// The id of the last prompt.
    question: NameHash,
}

/// The costs of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
struct AnswerCost {
    /// The id of the response.
    name: NameHash,
    /// The id of the prompt, because some servers give all responses the same id.
    question: NameHash,
    /// The number of input tokens, cached ones included.
    input_tokens: u64,
    /// The number of output tokens.
    output_tokens: u64,
    /// The costs in US dollars; 0 if unknown.
    cost_usd: f64,
}

impl Overview {
    /// Returns the title of the session, or the beginning of its first prompt.
    pub fn name(&self) -> Option<&str> {
        self.title.as_deref().or(self.first_prompt.as_deref())
    }

    /// Returns the number of branches with messages of their own.
    pub fn branches(&self) -> u64 {
        let remembered = self.tips.iter().filter(|tip| tip.has_messages).count();
        self.forgotten + remembered as u64
    }

    /// Returns the state of the session.
    pub fn state(&self) -> SessionState {
        self.state.clone().finish()
    }

    /// Adds the next row.
    pub fn add(&mut self, row: ChainRow<'_>) {
        self.end = row.next;
        let Some(bytes) = row.bytes else {
            self.damaged += 1;
            return;
        };
        let envelope = std::str::from_utf8(bytes).ok().and_then(Envelope::read);
        if let Some(envelope) = envelope {
            self.add_record(&envelope, row.at, bytes);
            return;
        }
        if bytes.trim_ascii().is_empty() {
            return;
        }
        self.damaged += 1;
        for message in read_line(bytes).messages {
            let json = message.to_json();
            if let Some(envelope) = Envelope::read(&json) {
                self.add_record(&envelope, row.at, json.as_bytes());
            }
        }
    }

    /// Adds a record at an offset.
    fn add_record(&mut self, envelope: &Envelope<'_>, at: u64, record: &[u8]) {
        self.records += 1;
        if let Some(time) = envelope.string("created_at") {
            self.created_at.get_or_insert_with(|| time.to_string());
            self.updated_at = Some(time.into_owned());
        }
        if let Some(session) = envelope.string("session_id") {
            self.state.name(&session);
        }
        let type_name = envelope.type_name();
        if matches!(&*type_name, "system" | "summary" | "compact_boundary") {
            self.first_landmark.get_or_insert(at);
        }
        match &*type_name {
            "compact_boundary" => {
                self.boundaries += 1;
                self.last_boundary = Some(at);
            }
            "state" => self.add_state(envelope),
            _ => self.messages += u64::from(is_message(&type_name)),
        }
        if self.first_prompt.is_none() && type_name == "user" {
            self.first_prompt = first_prompt(record);
        }
        self.add_tip(envelope);
        self.add_costs(envelope);
    }

    /// Extends the branch that ends with the record's parent, or begins a new branch.
    fn add_tip(&mut self, envelope: &Envelope<'_>) {
        let type_name = envelope.type_name();
        if type_name == "progress" {
            return;
        }
        let record = name_hash(&envelope.string("id").unwrap_or_default());
        let parent = envelope
            .string("parent_id")
            .filter(|parent| !parent.is_empty())
            .map(|parent| name_hash(&parent));
        let before = self.take_tip(parent);
        let is_prompt = type_name == "user" && !has_tool_results(envelope);
        let question = if is_prompt {
            record
        } else if let Some(before) = &before {
            before.question
        } else if parent.is_none() {
            // Records from elsewhere may lack a parent.
            self.tips.last().map_or(record, |last| last.question)
        } else {
            record
        };
        let had_messages = before.is_some_and(|before| before.has_messages);
        self.tips.push(BranchTip {
            record,
            has_messages: had_messages || is_message(&type_name),
            question,
        });
        if self.tips.len() > MAX_TIPS {
            self.forgotten += u64::from(self.tips.remove(0).has_messages);
        }
    }

    /// Removes the last tip that is this record.
    fn take_tip(&mut self, record: Option<NameHash>) -> Option<BranchTip> {
        let record = record?;
        let at = self.tips.iter().rposition(|tip| tip.record == record)?;
        Some(self.tips.remove(at))
    }

    /// Applies a state change. The title and the folder are stored shortened, beside the state itself.
    fn add_state(&mut self, envelope: &Envelope<'_>) {
        let raw = envelope
            .json("state")
            .and_then(|json| Raw::parse(json).ok());
        let Some(raw) = raw else {
            return;
        };
        let Some(changes) = raw.as_object() else {
            return;
        };
        let is_snapshot = envelope.json("snapshot") == Some("true");
        self.state.change(&StateChange {
            changes: raw,
            is_snapshot,
        });
        if is_snapshot {
            self.title = None;
            self.cwd = None;
        }
        update_text(&mut self.title, changes.get("title"));
        update_text(&mut self.cwd, changes.get("cwd"));
    }

    /// Adds the costs of a record. One answer may be several records with the same counts; the one with the most output
    /// tokens has the final counts. It is counted once, as
    /// [`UsageTotals`](analects_formats::claude_code::usage::UsageTotals) does.
    fn add_costs(&mut self, envelope: &Envelope<'_>) {
        if envelope.string("model").as_deref() == Some(SYNTHETIC) {
            return;
        }
        let cost_usd = envelope.json("cost_usd").and_then(finite_number);
        let cost_usd = cost_usd.unwrap_or(0.0);
        let usage = envelope
            .json("usage")
            .and_then(|json| TokenUsage::from_json(json).ok());
        let Some(usage) = usage else {
            self.cost_usd += cost_usd;
            return;
        };
        let input_counts = [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ];
        let mut input_tokens = 0_u64;
        for count in input_counts.into_iter().flatten() {
            input_tokens = input_tokens.saturating_add(count);
        }
        let response = envelope
            .string("response_id")
            .filter(|name| !name.is_empty());
        let name = response.or_else(|| envelope.string("id"));
        self.add_answer(AnswerCost {
            name: name_hash(&name.unwrap_or_default()),
            question: self.tips.last().map(|tip| tip.question).unwrap_or_default(),
            input_tokens,
            output_tokens: usage.output_tokens.unwrap_or_default(),
            cost_usd,
        });
    }

    /// Adds the costs of an answer, and subtracts those of an earlier record of the same answer.
    fn add_answer(&mut self, answer: AnswerCost) {
        let before = self
            .answers
            .iter()
            .position(|other| other.name == answer.name && other.question == answer.question);
        if let Some(before) = before {
            if self.answers[before].output_tokens >= answer.output_tokens {
                return;
            }
            let before = self.answers.remove(before);
            self.input_tokens = self.input_tokens.saturating_sub(before.input_tokens);
            self.output_tokens = self.output_tokens.saturating_sub(before.output_tokens);
            self.cost_usd -= before.cost_usd;
        } else if self.answers.len() >= MAX_ANSWERS {
            self.answers.remove(0);
        }
        self.input_tokens = self.input_tokens.saturating_add(answer.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(answer.output_tokens);
        self.cost_usd += answer.cost_usd;
        self.answers.push(answer);
    }

    /// Converts the overview to JSON for the index.
    pub(crate) fn to_map(&self) -> RawMap {
        let mut map = RawMap::new();
        let mut number = |name: &str, value: String| {
            if let Ok(value) = Raw::parse(&value) {
                map.push(name, value);
            }
        };
        number("records", self.records.to_string());
        number("messages", self.messages.to_string());
        number("damaged", self.damaged.to_string());
        number("input_tokens", self.input_tokens.to_string());
        number("output_tokens", self.output_tokens.to_string());
        number("cost_usd", format!("{:?}", self.cost_usd));
        let answers: Vec<String> = self.answers.iter().map(AnswerCost::to_json).collect();
        number("answers", format!("[{}]", answers.join(",")));
        let tips: Vec<String> = self.tips.iter().map(BranchTip::to_json).collect();
        number("tips", format!("[{}]", tips.join(",")));
        number("forgotten", self.forgotten.to_string());
        number("boundaries", self.boundaries.to_string());
        for (name, at) in [
            ("last_boundary", self.last_boundary),
            ("first_landmark", self.first_landmark),
        ] {
            if let Some(at) = at {
                number(name, at.to_string());
            }
        }
        number("end", self.end.to_string());
        for (name, text) in self.texts() {
            if let Some(text) = text {
                map.push(name, Raw::string(text));
            }
        }
        if let Some(session) = self.state.session() {
            map.push("session", Raw::string(session));
        }
        map.push("state", self.state.so_far().changes);
        map
    }

    /// Returns the text fields with their keys.
    fn texts(&self) -> [(&'static str, &Option<String>); 5] {
        [
            ("title", &self.title),
            ("first_prompt", &self.first_prompt),
            ("cwd", &self.cwd),
            ("created_at", &self.created_at),
            ("updated_at", &self.updated_at),
        ]
    }

    /// Reads the JSON of [`Overview::to_map`]; `None` if anything is missing.
    pub(crate) fn from_map(map: &RawMap) -> Option<Overview> {
        let number = |name: &str| map.get(name)?.to::<u64>();
        let text = |name: &str| map.get(name).and_then(Raw::as_string);
        let mut state = Rebuilding::default();
        state.name(&text("session").unwrap_or_default());
        let changes = map.get("state")?.clone();
        state.change(&StateChange {
            changes,
            is_snapshot: true,
        });
        Some(Overview {
            records: number("records")?,
            messages: number("messages")?,
            damaged: number("damaged")?,
            title: text("title"),
            first_prompt: text("first_prompt"),
            cwd: text("cwd"),
            created_at: text("created_at"),
            updated_at: text("updated_at"),
            input_tokens: number("input_tokens")?,
            output_tokens: number("output_tokens")?,
            cost_usd: map.get("cost_usd")?.to::<f64>()?,
            answers: read_array(map.get("answers")?, AnswerCost::read)?,
            tips: read_array(map.get("tips")?, BranchTip::read)?,
            forgotten: number("forgotten")?,
            boundaries: number("boundaries")?,
            last_boundary: number("last_boundary"),
            first_landmark: number("first_landmark"),
            state,
            end: number("end")?,
        })
    }
}

/// Reads all items of an array; `None` if one is damaged.
fn read_array<T>(array: &Raw, read: impl Fn(&Raw) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    for item in array.as_array()? {
        items.push(read(&item)?);
    }
    Some(items)
}

/// Returns whether records of this type count as messages.
fn is_message(type_name: &str) -> bool {
    matches!(
        type_name,
        "user" | "assistant" | "system" | "tool_use" | "tool_result"
    )
}

/// Returns whether a record holds tool results. These are between the records of one answer.
fn has_tool_results(envelope: &Envelope<'_>) -> bool {
    envelope
        .json("content")
        .is_some_and(|json| json.starts_with('[') && json.contains("\"tool_result\""))
}

/// Replaces a stored text, if there is a new value; a value that is not a string removes it.
fn update_text(stored: &mut Option<String>, value: Option<&Raw>) {
    if let Some(value) = value {
        let text = value.as_string();
        *stored = text.map(|text| text.chars().take(MAX_STORED).collect());
    }
}

/// Parses a number; `None` for anything else, because one infinite cost would spoil the total.
fn finite_number(json: &str) -> Option<f64> {
    json.parse::<f64>().ok().filter(|number| number.is_finite())
}

impl BranchTip {
    /// Formats the tip for the index.
    fn to_json(&self) -> String {
        let (sum, length) = self.record;
        let (question_sum, question_length) = self.question;
        let has_messages = self.has_messages;
        format!("[{sum},{length},{question_sum},{question_length},{has_messages}]")
    }

    /// Parses the JSON of [`BranchTip::to_json`].
    fn read(raw: &Raw) -> Option<BranchTip> {
        let (sum, length, question_sum, question_length, has_messages) = raw.to()?;
        Some(BranchTip {
            record: (sum, length),
            has_messages,
            question: (question_sum, question_length),
        })
    }
}

impl AnswerCost {
    /// Formats the costs for the index. The number of dollars keeps all its digits.
    fn to_json(&self) -> String {
        let AnswerCost {
            name,
            question,
            input_tokens,
            output_tokens,
            cost_usd,
        } = self;
        let ids = format!("{},{},{},{}", name.0, name.1, question.0, question.1);
        format!("[{ids},{input_tokens},{output_tokens},{cost_usd:?}]")
    }

    /// Parses the JSON of [`AnswerCost::to_json`].
    fn read(raw: &Raw) -> Option<AnswerCost> {
        let (sum, length, question_sum, question_length, input_tokens, output_tokens, cost_usd) =
            raw.to()?;
        Some(AnswerCost {
            name: (sum, length),
            question: (question_sum, question_length),
            input_tokens,
            output_tokens,
            cost_usd,
        })
    }
}

/// Returns the first line with text of a user record, shortened to a title.
fn first_prompt(record: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(record).ok()?;
    let text = Message::from_json(text).ok()?.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_TITLE).collect())
}

/// The summary of a session for a list: a part of its [`Overview`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionSummary {
    /// The title, or the beginning of the first prompt.
    pub name: Option<String>,
    /// The working folder.
    pub cwd: Option<String>,
    /// The time of the first record that has one.
    pub created_at: Option<String>,
    /// The time of the last record that has one.
    pub updated_at: Option<String>,
    /// The number of records with content.
    pub messages: u64,
    /// The number of branches with messages of their own.
    pub branches: u64,
    /// The number of records of any kind.
    pub records: u64,
    /// The number of rows that are not exactly one record.
    pub damaged: u64,
    /// The number of compactions.
    pub compactions: u64,
    /// The number of input tokens, cached ones included.
    pub input_tokens: u64,
    /// The number of output tokens.
    pub output_tokens: u64,
    /// The known costs in US dollars.
    pub cost_usd: f64,
}

impl Overview {
    /// Returns the summary of the session.
    pub fn summary(&self) -> SessionSummary {
        SessionSummary {
            name: self.name().map(str::to_string),
            cwd: self.cwd.clone(),
            created_at: self.created_at.clone(),
            updated_at: self.updated_at.clone(),
            messages: self.messages,
            branches: self.branches(),
            records: self.records,
            damaged: self.damaged,
            compactions: self.boundaries,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_usd: self.cost_usd,
        }
    }
}
