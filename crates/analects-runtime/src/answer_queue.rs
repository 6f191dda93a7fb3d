//! The order of answers: which of the waiting questions the next answer is for. Questions for different agents are
//! answered one after the other. Which questions wait, the message file or the session says.
//!
//! A person may edit the file while an answer arrives, so questions are compared by what they are, not by where they
//! stand: see [`Question::key`].

use analects_core::verbs::{Change, Choice, Target, choose, with_history};
use analects_core::{Body, History, Message, MessageId, StopReason};
use analects_formats::msgfile::is_same_text;

use crate::turn::MissingItem;
use crate::{Question, Snapshot};

/// The questions that one answer is for, and those that come later.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingQuestions {
    /// The agent that the questions in `now` name, if they name one.
    pub agent: Option<String>,
    /// The questions that are asked next, in their order.
    pub now: Vec<Question>,
    /// The questions that come after them.
    pub later: Vec<Question>,
}

impl WaitingQuestions {
    /// Takes the first questions that name the same agent.
    pub(crate) fn first(questions: Vec<Question>) -> WaitingQuestions {
        let first = questions.first();
        let agent = first.and_then(|question| question.agent.clone());
        WaitingQuestions::for_agent(questions, agent)
    }

    /// Takes the first questions that name this agent, and the questions above them. Takes none if no question names the
    /// agent: then somebody removed them during the turn.
    fn for_agent(mut now: Vec<Question>, agent: Option<String>) -> WaitingQuestions {
        let is_own = |question: &&Question| question.agent == agent;
        let above = now.iter().take_while(|question| !is_own(question)).count();
        let own = now[above..].iter().take_while(is_own).count();
        let count = if own == 0 { 0 } else { above + own };
        let later = now.split_off(count);
        WaitingQuestions { agent, now, later }
    }
}

impl Question {
    /// Whether it has the words of this prompt.
    pub(crate) fn says(&self, prompt: &str) -> bool {
        is_same_text(&self.text, prompt)
    }

    /// Whether it is the same question in a changed conversation.
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
    /// Whether this call gets just one answer.
    is_limited_to_one: bool,
    has_begun: bool,
    /// The questions that are still to be asked.
    next: Vec<Question>,
    asked: Vec<Question>,
}

/// The names of the questions that one answer of a call is for, and of those that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueReport {
    /// The questions that are answered now.
    pub now: Vec<String>,
    /// The questions that the same call asks after that.
    pub next: Vec<String>,
    /// The questions that are left to another call.
    pub left: Vec<String>,
}

impl AnswerQueue {
    /// A queue for a call that gets just one answer.
    pub fn only_first() -> AnswerQueue {
        AnswerQueue {
            is_limited_to_one: true,
            ..AnswerQueue::default()
        }
    }

    /// Whether an answer was prepared.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether this call asks more questions.
    pub fn has_more(&self) -> bool {
        !self.next.is_empty()
    }

    /// Takes the next questions. False if they do not belong to this call.
    pub(crate) fn take(&mut self, waiting: &WaitingQuestions) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            if !self.is_limited_to_one {
                self.next.clone_from(&waiting.later);
            }
        } else if self.is_expected(waiting) {
            take_out(&mut self.next, &waiting.now);
        } else {
            return false;
        }
        self.asked.extend_from_slice(&waiting.now);
        true
    }

    /// Whether a question of this call still waits, and the next answer is for one that was not asked before.
    fn is_expected(&self, waiting: &WaitingQuestions) -> bool {
        let mut all = waiting.now.iter().chain(&waiting.later);
        let mut now = waiting.now.iter();
        all.any(|question| contains(&self.next, question))
            && now.any(|question| self.is_new(question))
    }

    fn is_new(&self, question: &Question) -> bool {
        contains(&self.next, question) || !contains(&self.asked, question)
    }

    /// Describes what is answered now and what waits; `None` if this is the only answer.
    pub(crate) fn report(&self, waiting: &WaitingQuestions) -> Option<QueueReport> {
        if waiting.later.is_empty() && self.asked.len() <= waiting.now.len() {
            return None;
        }
        let left = take_out(&mut self.next.clone(), &waiting.later);
        let mut next = names(&waiting.later);
        next.retain(|name| !left.contains(name));
        Some(QueueReport {
            now: names(&waiting.now),
            next,
            left,
        })
    }
}

fn names(questions: &[Question]) -> Vec<String> {
    questions
        .iter()
        .map(|question| question.name.clone())
        .collect()
}

fn contains(questions: &[Question], question: &Question) -> bool {
    questions.iter().any(|known| known.is(question))
}

/// Removes each of these questions once. Returns the names of those that were not there.
/// Two questions with the same text are two entries, so removing one leaves the other.
fn take_out(from: &mut Vec<Question>, questions: &[Question]) -> Vec<String> {
    let mut missing = Vec::new();
    for question in questions {
        match from.iter().position(|known| known.is(question)) {
            Some(index) => drop(from.remove(index)),
            None => missing.push(question.name.clone()),
        }
    }
    missing
}

/// The messages that a person chose for one call, as they were then.
/// By default nothing is chosen and everything is sent.
#[derive(Debug, Clone, Default)]
pub struct ChosenMessages {
    pub(crate) choice: Choice,
    /// The content of chosen messages that have no id of their own. Their ids come from their position, which changes
    /// when somebody types something above them.
    pub(crate) positioned: Vec<(MessageId, Body)>,
}

impl ChosenMessages {
    /// Whether nothing was chosen, so that everything is sent.
    pub fn is_empty(&self) -> bool {
        self.choice.is_empty()
    }

    /// The choice with the ids that the messages have now; `None` if one of them is gone.
    fn resolve(&self, messages: &[Message]) -> Option<Choice> {
        let mut choice = self.choice.clone();
        for target in choice.include.iter_mut().chain(&mut choice.exclude) {
            target.message = self.current_id(&target.message, messages)?;
        }
        Some(choice)
    }

    /// The id that a chosen message has now. A message that moved is found by its content, if just one has that content.
    fn current_id(&self, chosen: &MessageId, messages: &[Message]) -> Option<MessageId> {
        let mut positioned = self.positioned.iter();
        let content = positioned
            .find(|(id, _)| id == chosen)
            .map(|(_, body)| body);
        let is_unmoved = |message: &Message| {
            message.id == *chosen && content.is_none_or(|body| message.body == *body)
        };
        if messages.iter().any(is_unmoved) {
            return Some(chosen.clone());
        }
        let content = content?;
        let mut same = messages.iter().filter(|message| message.body == *content);
        let only = same.next().filter(|_| same.next().is_none())?;
        Some(only.id.clone())
    }

    fn excludes(&self, question: &Question) -> bool {
        let mut exclude = self.choice.exclude.iter();
        exclude.any(|target| target.message == question.message)
    }
}

/// The part of a conversation that one turn is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    pub(crate) chosen: ChosenMessages,
    /// Set if questions for other agents wait as well, which this turn does not send: the agent that its own questions
    /// name, if they name one.
    pub(crate) current_agent: Option<Option<String>>,
}

impl Scope {
    /// The waiting questions that this turn asks, and those that it leaves for later.
    pub(crate) fn waiting(&self, snapshot: &Snapshot) -> WaitingQuestions {
        let mut questions = snapshot.questions.clone();
        questions.retain(|question| !self.chosen.excludes(question));
        match &self.current_agent {
            Some(agent) => WaitingQuestions::for_agent(questions, agent.clone()),
            None => WaitingQuestions {
                now: questions,
                ..WaitingQuestions::default()
            },
        }
    }

    /// The changes that make the choice permanent.
    /// Fails with [`MissingItem::Choice`] if a chosen message is gone. The questions that are asked now are sent in any
    /// case.
    pub(crate) fn changes(&self, snapshot: &Snapshot) -> Result<Vec<Change>, MissingItem> {
        let choice = self.chosen.resolve(&snapshot.messages);
        let choice = choice.ok_or(MissingItem::Choice)?;
        let questions = self.waiting(snapshot).now;
        let asked: Vec<MessageId> = questions
            .into_iter()
            .map(|question| question.message)
            .collect();
        Ok(choose(&snapshot.messages, &choice, &asked))
    }

    /// Hides what this turn does not send. Fails if a chosen message is gone.
    /// The conversation itself is not changed: only this turn sees it like this.
    pub(crate) fn narrow(&self, mut snapshot: Snapshot) -> Result<Snapshot, MissingItem> {
        let mut changes = Vec::new();
        if !self.chosen.is_empty() {
            changes = self.changes(&snapshot)?;
        }
        changes.extend(self.waiting(&snapshot).later.into_iter().map(hide));
        if !changes.is_empty() {
            snapshot.messages = with_history(snapshot.messages, &changes);
        }
        Ok(snapshot)
    }
}

/// For a question that is left to a later answer.
fn hide(question: Question) -> Change {
    Change::SetHistory {
        target: Target::message(question.message),
        history: History::Exclude,
    }
}

/// The last answer that the model sees, if it broke off. What arrived of it stays and counts as an answer.
pub fn broken_answer(snapshot: &Snapshot) -> Option<MessageId> {
    let chain = snapshot.chain();
    let mut latest_first = chain.messages.iter().rev();
    let last = latest_first.find(|message| is_visible_answer(message))?;
    let Body::Assistant(answer) = &last.body else {
        return None;
    };
    let is_broken = answer.stop_reason == Some(StopReason::Interrupted);
    is_broken.then(|| last.id.clone())
}

fn is_visible_answer(message: &Message) -> bool {
    matches!(message.body, Body::Assistant(_)) && message.why_not_sent().is_none()
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
            timeout: None,
            cell_index: 0,
        };
        WaitingQuestions::first(questions.iter().map(question).collect())
    }

    fn joined(questions: &[Question]) -> String {
        names(questions).join(",")
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
                (joined(&waiting.now), joined(&waiting.later)),
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
