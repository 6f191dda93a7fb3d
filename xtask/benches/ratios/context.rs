//! What planning a request costs: with counts made before, against the tokenizer alone, and as the
//! conversation grows.

use std::hint::black_box;
use std::time::{Duration, Instant};

use analects_context::{Budget, Counter, Planner, Precision};
use analects_core::{Agent, Message, chain};
use xtask::bench::{Bar, Row};

const MODEL: &str = "gpt-5";

/// A conversation of so many messages, of which no two are the same.
fn talk(messages: usize, repeat: usize) -> Vec<Message> {
    let mut made: Vec<Message> = Vec::with_capacity(messages);
    for at in 0..messages {
        let text = format!(
            "Message {at}: all that was said is kept, word for word. 学而时习之，第{at}章。\n"
        );
        let text = text.repeat(repeat);
        let (id, parent_id) = (
            format!("m{at}"),
            made.last().map(|before| before.id.clone()),
        );
        let message = match at % 2 {
            0 => Message::user(id, text),
            _ => Message::assistant(id, text),
        };
        made.push(Message {
            parent_id,
            ..message
        });
    }
    made
}

fn agent() -> Agent {
    Agent::of_model("quick", MODEL)
}

/// The quickest of some rounds.
fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

/// Planning with everything counted before; `window` is the room.
fn cached(messages: usize, window: u64, rounds: usize) -> Duration {
    let (talk, agent) = (talk(messages, 4), agent());
    let (chain, mut counter) = (chain(&talk), Counter::of_model(MODEL));
    let planner = Planner::new(&agent)
        .with_budget(Budget::new(window, 1000))
        .with_precision(Precision::Estimate);
    black_box(planner.plan(&chain, &mut counter).count);
    best(rounds, || {
        black_box(planner.plan(&chain, &mut counter).count);
    })
}

/// Milliseconds for 10 000 messages.
pub fn plan_cached() -> Row {
    let value = cached(10_000, u64::MAX, 20).as_secs_f64() * 1000.0;
    Row {
        name: "plan_10k_messages_cached",
        value,
        unit: "ms",
        bar: Bar::AtMost(20.0),
    }
}

/// Planning with an exact count of everything, against the tokenizer alone.
pub fn plan_cold() -> Row {
    let (talk, agent) = (talk(200, 10), agent());
    let chain = chain(&talk);
    let texts: Vec<String> = talk.iter().map(Message::text).collect();
    let planner = Planner::new(&agent)
        .with_budget(Budget::new(u64::MAX, 1000))
        .with_precision(Precision::Exact);
    let (mut planning, mut counting) = (Duration::MAX, Duration::MAX);
    for _ in 0..150 {
        counting = counting.min(best(1, || {
            black_box(count_alone(&texts));
        }));
        planning = planning.min(best(1, || {
            black_box(planner.plan(&chain, &mut Counter::of_model(MODEL)).count);
        }));
    }
    let value = planning.as_secs_f64() / counting.as_secs_f64();
    Row {
        name: "plan_cold_per_tokenizer",
        value,
        unit: "x",
        bar: Bar::AtMost(1.5),
    }
}

/// The tokens of some texts, by the vocabulary.
fn count_alone(texts: &[String]) -> u64 {
    let mut counter = Counter::of_model(MODEL);
    counter.use_vocabulary(true);
    texts.iter().map(|text| counter.text(text).tokens).sum()
}

/// The cost of a message in a conversation of 100 000, against one of 10 000. The smaller one fits into the
/// processor's cache; ten times as much for each would be quadratic.
pub fn plan_per_message() -> Row {
    let per_message = |messages: usize, rounds: usize| {
        cached(messages, u64::MAX, rounds).as_secs_f64() / messages as f64
    };
    let value = per_message(100_000, 7) / per_message(10_000, 30);
    let name = "plan_cost_per_message_100k_per_10k";
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(3.0),
    }
}

/// The cost of a conversation of 100 000 messages, against one of 1 000, each by what copying its messages
/// costs: large memory is slower than small memory, whatever is done with it.
pub fn plan_growth() -> Row {
    growth("plan_cost_per_copy_100k_per_1k", |_| u64::MAX)
}

/// The same where half of it has to go.
pub fn trim_growth() -> Row {
    growth("trim_cost_per_copy_100k_per_1k", |messages| {
        60 * messages as u64
    })
}

fn growth(name: &'static str, window: impl Fn(usize) -> u64) -> Row {
    let per_copy = |messages: usize, rounds: usize| {
        let talk = talk(messages, 4);
        let copying = best(rounds, || {
            black_box(talk.clone().len());
        });
        cached(messages, window(messages), rounds).as_secs_f64() / copying.as_secs_f64()
    };
    let value = per_copy(100_000, 7) / per_copy(1_000, 200);
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(1.5),
    }
}

/// Milliseconds to make 40 000 messages fit, each counted with the vocabulary: what takes `trim_messages` of
/// langchain-core two to four seconds with tiktoken.
pub fn trim_cold() -> Row {
    let (talk, agent) = (talk(40_000, 3), agent());
    let chain = chain(&talk);
    let planner = Planner::new(&agent)
        .with_budget(Budget::new(400_000, 8192))
        .with_precision(Precision::Exact);
    let time = best(5, || {
        black_box(planner.plan(&chain, &mut Counter::of_model(MODEL)).count);
    });
    let value = time.as_secs_f64() * 1000.0;
    Row {
        name: "trim_40k_messages_cold",
        value,
        unit: "ms",
        bar: Bar::AtMost(250.0),
    }
}
