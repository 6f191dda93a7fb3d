//! What waits for an answer, and who is to give it: questions for different agents are answered one after the other,
//! in their order.

use analects_core::verbs::{Change, Choice, Target, choose, with_history};
use analects_core::{Body, History, Message, MessageId, StopReason};
use analects_formats::msgfile::is_same_text;

use crate::turn::MissingItem;
use crate::{Question, Snapshot};

/// The questions that are answered together, and those that come after them.
#[derive(Debug, Clone, Default)]
pub struct WaitingQuestions {
    /// The agent that those of now are meant for, if they say so.
    pub agent: Option<String>,
    /// Those that are asked next, in their order.
    pub now: Vec<Question>,
    /// Those that come after these.
    pub later: Vec<Question>,
}

impl WaitingQuestions {
    /// The first ones, as many as are meant for one agent, and the others.
    pub(crate) fn first(questions: Vec<Question>) -> WaitingQuestions {
        let agent = questions
            .first()
            .and_then(|question| question.agent.clone());
        WaitingQuestions::for_agent(questions, agent)
    }

    /// The same in the middle of a turn of this agent: none, if somebody has taken its questions away. What was typed
    /// above them is asked with them.
    fn for_agent(mut now: Vec<Question>, agent: Option<String>) -> WaitingQuestions {
        let is_own = |question: &Question| question.agent == agent;
        let first = now.iter().position(is_own);
        let count = first.map_or(0, |first| {
            first
                + now[first..]
                    .iter()
                    .take_while(|question| is_own(question))
                    .count()
        });
        let later = now.split_off(count);
        WaitingQuestions { agent, now, later }
    }
}

impl Question {
    /// Whether it is the same question, though the conversation has changed.
    fn is(&self, other: &Question) -> bool {
        match (&self.key, &other.key) {
            (Some(key), Some(other)) => key == other,
            _ => is_same_text(&self.text, &other.text),
        }
    }
}

/// The questions that one call answers, fixed when the call starts, so that it ends even if more questions are typed
/// while it runs.
#[derive(Debug, Default)]
pub struct AnswerQueue {
    /// Whether one answer is all that this call gets.
    is_one: bool,
    is_begun: bool,
    /// What is still to be asked.
    next: Vec<Question>,
    asked: Vec<Question>,
}

/// What one answer of a call is for, and what waits beside it, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueReport {
    /// What is answered now.
    pub now: Vec<String>,
    /// What the same call asks after that.
    pub next: Vec<String>,
    /// What is left to a further call.
    pub left: Vec<String>,
}

impl AnswerQueue {
    /// A queue of a call that gets one answer.
    pub fn only_first() -> AnswerQueue {
        AnswerQueue {
            is_one: true,
            ..AnswerQueue::default()
        }
    }

    /// Whether an answer was prepared.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Whether another answer is to be prepared.
    pub fn has_more(&self) -> bool {
        !self.next.is_empty()
    }

    /// Takes the next questions; `false` if they do not belong to this call.
    pub(crate) fn take(&mut self, waiting: &WaitingQuestions) -> bool {
        if self.is_begun {
            let mut all = waiting.now.iter().chain(&waiting.later);
            let is_new =
                |question| contains(&self.next, question) || !contains(&self.asked, question);
            if !all.any(|question| contains(&self.next, question))
                || !waiting.now.iter().any(is_new)
            {
                return false;
            }
            take_out(&mut self.next, &waiting.now);
        } else {
            self.is_begun = true;
            self.next = if self.is_one {
                Vec::new()
            } else {
                waiting.later.clone()
            };
        }
        self.asked.extend_from_slice(&waiting.now);
        true
    }

    /// What is answered now, and what waits beside it; `None` if this is the only answer.
    pub(crate) fn report(&self, waiting: &WaitingQuestions) -> Option<QueueReport> {
        if waiting.later.is_empty() && self.asked.len() <= waiting.now.len() {
            return None;
        }
        let mut next = self.next.clone();
        let left = take_out(&mut next, &waiting.later);
        let is_left = |question: &&Question| left.contains(&question.name);
        let next = waiting.later.iter().filter(|question| !is_left(question));
        Some(QueueReport {
            now: waiting
                .now
                .iter()
                .map(|question| question.name.clone())
                .collect(),
            next: next.map(|question| question.name.clone()).collect(),
            left,
        })
    }
}

fn contains(questions: &[Question], question: &Question) -> bool {
    questions.iter().any(|known| known.is(question))
}

/// Takes questions out of some, each once; the names of those that are not among them.
fn take_out(from: &mut Vec<Question>, questions: &[Question]) -> Vec<String> {
    let mut missing = Vec::new();
    for question in questions {
        match from.iter().position(|known| known.is(question)) {
            Some(found) => drop(from.remove(found)),
            None => missing.push(question.name.clone()),
        }
    }
    missing
}

/// The messages that a person chose for one call, as they were then.
#[derive(Debug, Clone, Default)]
pub struct ChosenMessages {
    pub(crate) choice: Choice,
    /// What those say that only their place names: a place is another one when somebody types something above it.
    pub(crate) placed: Vec<(MessageId, Body)>,
}

impl ChosenMessages {
    /// Whether nothing was chosen, so that all is sent.
    pub fn is_empty(&self) -> bool {
        self.choice.is_empty()
    }

    /// The choice among the messages as they are now; `None` if one of them is not there any more.
    fn now(&self, messages: &[Message]) -> Option<Choice> {
        let mut choice = self.choice.clone();
        for target in choice.include.iter_mut().chain(&mut choice.exclude) {
            let placed = self.placed.iter().find(|(id, _)| *id == target.message);
            let is_here = |message: &Message| {
                message.id == target.message && placed.is_none_or(|(_, body)| message.body == *body)
            };
            if messages.iter().any(is_here) {
                continue;
            }
            let (_, body) = placed?;
            let mut same = messages.iter().filter(|message| message.body == *body);
            let only = same.next().filter(|_| same.next().is_none())?;
            target.message = only.id.clone();
        }
        Some(choice)
    }
}

/// What of a conversation one turn is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    pub(crate) chosen: ChosenMessages,
    /// Whom the questions are meant for that are asked, if others are left for later: these are not sent.
    pub(crate) current_agent: Option<Option<String>>,
}

impl Scope {
    /// What waits, as this turn asks it.
    pub(crate) fn waiting(&self, snapshot: &Snapshot) -> WaitingQuestions {
        let is_left_out = |question: &Question| {
            let mut exclude = self.chosen.choice.exclude.iter();
            exclude.any(|target| target.message == question.message)
        };
        let questions = snapshot
            .questions
            .iter()
            .filter(|question| !is_left_out(question));
        let now: Vec<Question> = questions.cloned().collect();
        match &self.current_agent {
            Some(agent) => WaitingQuestions::for_agent(now, agent.clone()),
            None => WaitingQuestions {
                now,
                ..WaitingQuestions::default()
            },
        }
    }

    /// The changes that leave what was chosen, for good.
    pub(crate) fn changes(&self, snapshot: &Snapshot) -> Result<Vec<Change>, MissingItem> {
        let choice = self
            .chosen
            .now(&snapshot.messages)
            .ok_or(MissingItem::Choice)?;
        let asked: Vec<MessageId> = self
            .waiting(snapshot)
            .now
            .into_iter()
            .map(|question| question.message)
            .collect();
        Ok(choose(&snapshot.messages, &choice, &asked))
    }

    /// Hides what this turn does not send. What was chosen and is not there any more is not guessed.
    pub(crate) fn narrow(&self, mut snapshot: Snapshot) -> Result<Snapshot, MissingItem> {
        let mut changes = Vec::new();
        if !self.chosen.is_empty() {
            changes = self.changes(&snapshot)?;
        }
        let later = self.waiting(&snapshot).later;
        changes.extend(later.into_iter().map(|question| Change::SetHistory {
            target: Target::message(question.message),
            history: History::Exclude,
        }));
        if !changes.is_empty() {
            snapshot.messages = with_history(snapshot.messages, &changes);
        }
        Ok(snapshot)
    }
}

/// The last answer that the model sees, if it broke off. What came of it stays, and counts as an answer.
pub fn broken_answer(snapshot: &Snapshot) -> Option<MessageId> {
    let chain = snapshot.chain();
    let is_answer = |message: &&&Message| {
        matches!(message.body, Body::Assistant(_)) && message.why_not_sent().is_none()
    };
    let last = chain.messages.iter().rev().find(is_answer)?;
    let Body::Assistant(answer) = &last.body else {
        return None;
    };
    let is_broken = answer.stop_reason == Some(StopReason::Interrupted);
    is_broken.then(|| last.id.clone())
}

#[cfg(test)]
mod tests {
    //! What comes first, and what is left.

    use super::*;

    fn waiting(questions: &[(&str, &str)]) -> WaitingQuestions {
        let question = |(name, agent): &(&str, &str)| Question {
            message: MessageId::from(*name),
            name: (*name).to_string(),
            key: Some((*name).to_string()),
            text: format!("text {name}"),
            agent: Some((*agent).to_string()).filter(|agent| !agent.is_empty()),
            place: 0,
        };
        WaitingQuestions::first(questions.iter().map(question).collect())
    }

    fn names(questions: &[Question]) -> String {
        questions
            .iter()
            .map(|question| question.name.as_str())
            .collect::<Vec<_>>()
            .join(",")
    }

    #[test]
    fn questions_for_one_agent_are_answered_together() {
        for (questions, now, later) in [
            (&[("1", "a"), ("2", "b")][..], "1", "2"),
            (
                &[("1", "a"), ("2", "a"), ("3", "b"), ("4", "a")],
                "1,2",
                "3,4",
            ),
            (&[("1", ""), ("2", ""), ("3", "a")], "1,2", "3"),
            (&[("1", "a"), ("2", "")], "1", "2"),
            (&[], "", ""),
        ] {
            let waiting = waiting(questions);
            assert_eq!(
                (names(&waiting.now), names(&waiting.later)),
                (now.into(), later.into())
            );
        }
    }

    #[test]
    fn a_call_asks_what_it_said_and_nothing_twice() {
        let report = |queue: &AnswerQueue, waiting: &WaitingQuestions| {
            let report = queue.report(waiting)?;
            Some([report.now, report.next, report.left].map(|names| names.join(",")))
        };
        let says = |now: &str, next: &str, left: &str| Some([now, next, left].map(str::to_string));
        let mut queue = AnswerQueue::default();
        let first = waiting(&[("1", "a"), ("2", "b"), ("3", "a")]);
        assert!(queue.take(&first) && queue.has_more());
        assert_eq!(report(&queue, &first), says("1", "2,3", ""));
        // What is typed above is asked before, and what is typed below waits.
        let typed = waiting(&[("4", "a"), ("2", "b"), ("3", "a"), ("5", "b")]);
        assert!(queue.take(&typed) && queue.has_more());
        assert_eq!(report(&queue, &typed), says("4", "2,3", "5"));
        // What was asked and still waits is not asked again.
        assert!(!queue.take(&waiting(&[("1", "a"), ("2", "b"), ("3", "a")])));
        assert!(queue.take(&waiting(&[("2", "b"), ("3", "a")])));
        assert!(queue.take(&waiting(&[("3", "a"), ("5", "b")])) && !queue.has_more());
        assert!(!queue.take(&waiting(&[("5", "b")])) && !queue.take(&waiting(&[])));
        let mut only = AnswerQueue::default();
        let last = waiting(&[("2", "b")]);
        assert!(only.take(&last) && report(&only, &last).is_none());
        let mut one = AnswerQueue::only_first();
        assert!(one.take(&first) && !one.has_more());
        assert_eq!(report(&one, &first), says("1", "", "2,3"));
    }
}
