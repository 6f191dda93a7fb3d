//! What is known about a chain without loading it: counts, totals, its title. Grows row by row, so that an
//! index can hold it for the rows that it has seen.

use analects_core::{
    Json, Message, Raw, RawMap, Rebuilding, SessionState, StateChange, TokenUsage,
};
use analects_formats::transcript::{Envelope, crc32c, read_line};

use super::ChainRow;

/// How many characters of a first prompt serve as a title.
const TITLE: usize = 80;

/// How many characters of a title or a folder are kept: an index entry must stay small.
const LONGEST: usize = 1000;

/// How many answers are remembered: those of which further records may come.
const ANSWERS: usize = 8;

/// How many ends of branches are remembered: of others, a further message counts as another branch.
const TIPS: usize = 64;

/// The model of messages that a program made itself. They took nothing.
const SYNTHETIC: &str = "<synthetic>";

/// Counts and totals of a chain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overview {
    /// How many records there are, of any kind.
    pub records: u64,
    /// How many of them are something that was said.
    pub messages: u64,
    /// Rows that are no records, or more than that.
    pub damaged: u64,
    /// The title that the session was given.
    pub title: Option<String>,
    /// The beginning of the first thing that a person said.
    pub first_prompt: Option<String>,
    /// The folder that the session works in.
    pub cwd: Option<String>,
    /// The time of the first record that has one.
    pub created_at: Option<String>,
    /// The time of the last record that has one.
    pub updated_at: Option<String>,
    /// Tokens read, from caches or not.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// What is known of the costs.
    pub cost_usd: f64,
    /// What the last answers took, which further records of the same answers repeat.
    answers: Vec<AnswerCost>,
    /// The branches, by their last records; the one that was written to last is the last. Those that are not
    /// remembered any more are only counted.
    tips: Vec<BranchTip>,
    forgotten: u64,
    /// How often the conversation was compacted.
    pub boundaries: u64,
    /// The position of the last boundary.
    pub last_boundary: Option<u64>,
    /// The position of the first record that a model may see however much came after it: instructions, and what a
    /// compaction consists of.
    pub(crate) first_landmark: Option<u64>,
    /// The state of the session.
    pub(crate) state: Rebuilding,
    /// Where the next row begins.
    pub end: u64,
}

/// A checksum of a name, and how long that is: names from elsewhere may be of any length.
type NameHash = (u32, u64);

fn name_hash(name: &str) -> NameHash {
    (crc32c(name.as_bytes()), name.len() as u64)
}

/// Where a branch ends.
#[derive(Debug, Clone, PartialEq, Default)]
struct BranchTip {
    record: NameHash,
    /// Whether something is said on the branch that is on no other.
    speaks: bool,
    /// The question that was asked there last.
    question: NameHash,
}

/// What an answer took.
#[derive(Debug, Clone, PartialEq, Default)]
struct AnswerCost {
    name: NameHash,
    /// What it answers: some servers give all answers the same name.
    question: NameHash,
    read: u64,
    written: u64,
    cost_usd: f64,
}

impl Overview {
    /// What to call the session.
    pub fn name(&self) -> Option<&str> {
        self.title.as_deref().or(self.first_prompt.as_deref())
    }

    /// How many branches the conversation has on which something is said.
    pub fn branches(&self) -> u64 {
        let speaking = self.tips.iter().filter(|tip| tip.speaks).count();
        self.forgotten + speaking as u64
    }

    /// The state of the session.
    pub fn state(&self) -> SessionState {
        self.state.clone().finish()
    }

    /// The next row.
    pub fn add(&mut self, row: ChainRow<'_>) {
        self.end = row.next;
        let Some(bytes) = row.bytes else {
            self.damaged += 1;
            return;
        };
        let text = std::str::from_utf8(bytes).ok();
        match text.and_then(Envelope::read) {
            Some(head) => self.add_head(&head, row.at, bytes),
            None if bytes.trim_ascii().is_empty() => {}
            None => {
                self.damaged += 1;
                for message in read_line(bytes).messages {
                    let json = message.to_json();
                    if let Some(head) = Envelope::read(&json) {
                        self.add_head(&head, row.at, json.as_bytes());
                    }
                }
            }
        }
    }

    fn add_head(&mut self, head: &Envelope<'_>, at: u64, record: &[u8]) {
        self.records += 1;
        if let Some(time) = head.string("created_at") {
            self.created_at.get_or_insert_with(|| time.to_string());
            self.updated_at = Some(time.into_owned());
        }
        if let Some(session) = head.string("session_id") {
            self.state.name(&session);
        }
        let kind = head.type_name();
        if matches!(&*kind, "system" | "summary" | "compact_boundary") {
            self.first_landmark.get_or_insert(at);
        }
        match &*kind {
            "user" | "assistant" | "system" | "tool_use" | "tool_result" => self.messages += 1,
            "compact_boundary" => {
                self.boundaries += 1;
                self.last_boundary = Some(at);
            }
            "state" => self.add_state(head),
            _ => {}
        }
        if self.first_prompt.is_none() && head.type_name() == "user" {
            self.first_prompt = first_prompt(record);
        }
        self.add_tip(head);
        self.add_costs(head);
    }

    /// A record goes on with the branch that ends with its parent, or begins another one.
    fn add_tip(&mut self, head: &Envelope<'_>) {
        let kind = head.type_name();
        let record = name_hash(&head.string("id").unwrap_or_default());
        if kind == "progress" {
            return;
        }
        let parent = head.string("parent_id").filter(|parent| !parent.is_empty());
        let parent = parent.map(|parent| name_hash(&parent));
        let before = self.tips.iter().rposition(|tip| Some(tip.record) == parent);
        let before = before.map(|at| self.tips.remove(at));
        let is_prompt = kind == "user" && !brings_results(head);
        let question = match &before {
            _ if is_prompt => record,
            Some(before) => before.question,
            // Records from elsewhere may not say whom they follow.
            None if parent.is_none() => self.tips.last().map_or(record, |last| last.question),
            None => record,
        };
        let speaks = before.is_some_and(|before| before.speaks)
            || matches!(
                &*kind,
                "user" | "assistant" | "system" | "tool_use" | "tool_result"
            );
        self.tips.push(BranchTip {
            record,
            speaks,
            question,
        });
        if self.tips.len() > TIPS {
            self.forgotten += u64::from(self.tips.remove(0).speaks);
        }
    }

    fn add_state(&mut self, head: &Envelope<'_>) {
        let Some(raw) = head.json("state").and_then(|json| Raw::parse(json).ok()) else {
            return;
        };
        let Some(changes) = raw.as_object() else {
            return;
        };
        let is_snapshot = head.json("snapshot") == Some("true");
        self.state.change(&StateChange {
            changes: raw,
            is_snapshot,
        });
        if is_snapshot {
            (self.title, self.cwd) = (None, None);
        }
        for (field, name) in [(&mut self.title, "title"), (&mut self.cwd, "cwd")] {
            if let Some(value) = changes.get(name) {
                let text = value.as_string();
                *field = text.map(|text| text.chars().take(LONGEST).collect());
            }
        }
    }

    /// One answer may be several records, which repeat its counts, and of which the one with the most output knows
    /// them all: it is counted once, as [`UsageTotals`](analects_formats::claude_code::usage::UsageTotals) does.
    fn add_costs(&mut self, head: &Envelope<'_>) {
        if head.string("model").as_deref() == Some(SYNTHETIC) {
            return;
        }
        let number = |raw: &str| raw.parse::<f64>().ok().filter(|number| number.is_finite());
        let cost_usd = head.json("cost_usd").and_then(number).unwrap_or(0.0);
        let usage = head
            .json("usage")
            .and_then(|json| TokenUsage::from_json(json).ok());
        let Some(usage) = usage else {
            self.cost_usd += cost_usd;
            return;
        };
        let read = [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ];
        let read = read.into_iter().flatten().fold(0_u64, u64::saturating_add);
        let written = usage.output_tokens.unwrap_or_default();
        let name = head.string("response_id").filter(|name| !name.is_empty());
        let name = name.or_else(|| head.string("id")).unwrap_or_default();
        let question = self.tips.last().map(|tip| tip.question).unwrap_or_default();
        self.count(AnswerCost {
            name: name_hash(&name),
            question,
            read,
            written,
            cost_usd,
        });
    }

    fn count(&mut self, taken: AnswerCost) {
        let is_same =
            |answer: &AnswerCost| answer.name == taken.name && answer.question == taken.question;
        let before = self.answers.iter().position(is_same);
        if let Some(before) = before {
            if self.answers[before].written >= taken.written {
                return;
            }
            let AnswerCost {
                read,
                written,
                cost_usd,
                ..
            } = self.answers.remove(before);
            self.input_tokens = self.input_tokens.saturating_sub(read);
            self.output_tokens = self.output_tokens.saturating_sub(written);
            self.cost_usd -= cost_usd;
        } else if self.answers.len() >= ANSWERS {
            self.answers.remove(0);
        }
        self.input_tokens = self.input_tokens.saturating_add(taken.read);
        self.output_tokens = self.output_tokens.saturating_add(taken.written);
        self.cost_usd += taken.cost_usd;
        self.answers.push(taken);
    }

    /// The overview as JSON.
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

    fn texts(&self) -> [(&'static str, &Option<String>); 5] {
        [
            ("title", &self.title),
            ("first_prompt", &self.first_prompt),
            ("cwd", &self.cwd),
            ("created_at", &self.created_at),
            ("updated_at", &self.updated_at),
        ]
    }

    /// Reads what [`Overview::to_map`] wrote; `None` if anything is missing.
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
            answers: map
                .get("answers")?
                .as_array()?
                .iter()
                .map(AnswerCost::read)
                .collect::<Option<_>>()?,
            tips: map
                .get("tips")?
                .as_array()?
                .iter()
                .map(BranchTip::read)
                .collect::<Option<_>>()?,
            forgotten: number("forgotten")?,
            boundaries: number("boundaries")?,
            last_boundary: number("last_boundary"),
            first_landmark: number("first_landmark"),
            state,
            end: number("end")?,
        })
    }
}

/// Whether a record holds results of calls, as they stand between the parts of one answer.
fn brings_results(head: &Envelope<'_>) -> bool {
    head.json("content")
        .is_some_and(|json| json.starts_with('[') && json.contains("\"tool_result\""))
}

impl BranchTip {
    fn to_json(&self) -> String {
        let BranchTip {
            record,
            speaks,
            question,
        } = self;
        format!(
            "[{},{},{},{},{speaks}]",
            record.0, record.1, question.0, question.1
        )
    }

    fn read(raw: &Raw) -> Option<BranchTip> {
        let (sum, length, question_sum, question_length, speaks) = raw.to()?;
        Some(BranchTip {
            record: (sum, length),
            speaks,
            question: (question_sum, question_length),
        })
    }
}

impl AnswerCost {
    fn to_json(&self) -> String {
        let AnswerCost {
            name,
            question,
            read,
            written,
            cost_usd,
        } = self;
        let names = format!("{},{},{},{}", name.0, name.1, question.0, question.1);
        format!("[{names},{read},{written},{cost_usd:?}]")
    }

    fn read(raw: &Raw) -> Option<AnswerCost> {
        let (sum, length, question_sum, question_length, read, written, cost_usd) = raw.to()?;
        let question = (question_sum, question_length);
        Some(AnswerCost {
            name: (sum, length),
            question,
            read,
            written,
            cost_usd,
        })
    }
}

/// The first line of what a person said, if it says something.
fn first_prompt(record: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(record).ok()?;
    let text = Message::from_json(text).ok()?.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(TITLE).collect())
}

/// What a list says of a session: a part of its [`Overview`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionSummary {
    /// What to call it: its title, or how it begins.
    pub name: Option<String>,
    /// The folder that it works in.
    pub cwd: Option<String>,
    /// The time of the first record that has one.
    pub created_at: Option<String>,
    /// The time of the last record that has one.
    pub updated_at: Option<String>,
    /// How many records are something that was said.
    pub messages: u64,
    /// How many branches it has on which something is said.
    pub branches: u64,
    /// How many records there are, of any kind.
    pub records: u64,
    /// Rows that are no records, or more than that.
    pub damaged: u64,
    /// How often it was compacted.
    pub compactions: u64,
    /// Tokens read, from caches or not.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// What is known of the costs.
    pub cost_usd: f64,
}

impl Overview {
    /// What a list says of the session.
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
