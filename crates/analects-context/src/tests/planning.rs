//! Plans: counts, the order of trimming, and notes.

use super::*;

/// A conversation of rounds: a question, a call with a long result, an answer.
fn rounds(count: usize, result_words: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    for round in 0..count {
        let id = format!("c{round}");
        let text = format!("line of the file {round}\n").repeat(result_words / 5);
        messages.extend([
            Message::user(
                format!("q{round}"),
                format!("Question number {round}, please."),
            ),
            Message::assistant(
                format!("a{round}"),
                vec![Block::from_text("I look."), call(&id, "read")],
            ),
            Message::user(format!("r{round}"), vec![result(&id, &text)]),
            Message::assistant(
                format!("z{round}"),
                format!("The answer to question {round}."),
            ),
        ]);
    }
    messages.push(Message::user("last", "And now the last question."));
    linked(messages)
}

#[test]
fn a_plan_is_the_request_of_the_agent() {
    let messages = [Message::user("a", "hi")];
    let agent = Agent {
        system_prompt: Some("Be brief.".into()),
        ..agent()
    };
    let plan = plan(&chain(&messages), &agent);
    assert_eq!(plan.request.model, "m");
    assert_eq!(plan.request.temperature, Some(0.7));
    assert_eq!(plan.request.max_output_tokens, Some(8192));
    assert_eq!(plan.request.system, Some("Be brief.".into()));
    assert_eq!(sent(&plan), ["user: \"hi\""]);
    assert!(plan.system.tokens > 0 && plan.count.tokens > plan.system.tokens);
    assert_eq!((plan.notes.len(), plan.too_large), (0, None));
}

#[test]
fn the_measures_are_taken_in_their_order() {
    let messages = rounds(6, 400);
    let whole = plan_within(&messages, 100_000);
    assert!(
        !whole.is_trimmed() && whole.count.tokens > 2000,
        "{}",
        whole.count
    );

    // With a little less room, long results are shortened, the earliest first.
    let plan = plan_within(&messages, 2600);
    assert!(plan.ready().is_ok());
    let shortened: Vec<&str> = ids(&plan, Fate::Shortened);
    assert!(
        shortened.starts_with(&["r0"]) && ids(&plan, Fate::Dropped).is_empty(),
        "{shortened:?}"
    );
    let json = sent(&plan).join("\n");
    assert!(json.contains("characters left out"), "{json}");

    // With less, calls are dropped with their results, and the text beside them stays.
    let dropping = (200..2600)
        .rev()
        .map(|window| plan_within(&messages, window));
    let plan = dropping
        .into_iter()
        .find(|plan| !ids(plan, Fate::Dropped).is_empty())
        .unwrap();
    assert!(plan.ready().is_ok(), "{:?}", plan.too_large);
    assert_eq!(ids(&plan, Fate::Dropped)[0], "r0", "{:?}", fates(&plan));
    assert_eq!(ids(&plan, Fate::Shortened)[0], "a0", "{:?}", fates(&plan));
    assert_eq!(plan.rows[0].fate, Fate::Sent);
    let row = &plan.rows[1];
    assert_eq!(row.why, Some("its tool calls are not sent: no room"));
    assert!(row.tokens.tokens < row.whole.tokens);

    // With still less, the earliest turns are dropped.
    let plan = plan_within(&messages, 160);
    assert!(plan.ready().is_ok(), "{:?}", plan.too_large);
    assert!(ids(&plan, Fate::Dropped).starts_with(&["q0", "a0", "r0", "z0", "q1"]));
    assert!(
        sent(&plan)
            .last()
            .unwrap()
            .contains("And now the last question.")
    );
    assert_eq!(plan.notes[0].code, "sent-in-part");

    // If nothing helps, the error says so, with numbers.
    let plan = plan_within(&messages, 8);
    let too_large = plan.ready().unwrap_err();
    assert_eq!(too_large.count, plan.count);
    assert_eq!(too_large.excess(), plan.count.tokens - 7);
    let text = too_large.to_string();
    assert!(
        text.contains(&plan.count.tokens.to_string())
            && text.ends_with("7 fit: the window has 8, of which 1 are for the answer"),
        "{text}"
    );
}

fn ids(plan: &Plan, fate: Fate) -> Vec<&str> {
    plan.rows
        .iter()
        .filter(|row| row.fate == fate)
        .map(|row| &*row.id)
        .collect()
}

#[test]
fn the_count_is_that_of_the_request() {
    let messages = rounds(4, 300);
    for window in [100_000, 1500, 300, 8] {
        let plan = plan_within(&messages, window);
        assert_eq!(Counter::of_model("m").request(&plan.request), plan.count);
    }
    let plan = plan_within(&messages, 100_000);
    let rows: Count = plan.rows.iter().map(|row| row.tokens).sum();
    let turns = plan.request.turns.len() as u64;
    assert_eq!(rows.tokens + 5 * turns + 4, plan.count.tokens);
}

#[test]
fn results_that_the_model_is_to_read_next_are_shortened_but_not_dropped() {
    let long = "word ".repeat(4000);
    let messages = linked(vec![
        Message::user("q", "Read it."),
        Message::assistant("a", vec![call("c", "read")]),
        Message::user("r", vec![result("c", &long)]),
    ]);
    let plan = plan_within(&messages, 400);
    assert!(plan.ready().is_ok(), "{:?}", plan.too_large);
    assert_eq!(fates(&plan), ["q sent", "a sent", "r shortened"]);
    let plan = plan_within(&messages, 40);
    assert!(plan.ready().is_err());
    assert_eq!(fates(&plan), ["q sent", "a sent", "r shortened"]);
}

#[test]
fn an_agent_at_work_for_long_loses_its_earliest_steps() {
    let mut messages = vec![Message::user("q", "Do everything.")];
    for step in 0..40 {
        let id = format!("c{step}");
        messages.push(Message::assistant(
            format!("a{step}"),
            vec![
                Block::from_text(format!("Step {step} of the work.")),
                call(&id, "run"),
            ],
        ));
        messages.push(Message::user(
            format!("r{step}"),
            vec![result(&id, "done, all is well")],
        ));
    }
    let plan = plan_within(&linked(messages), 300);
    assert!(plan.ready().is_ok(), "{:?}", plan.too_large);
    let first = &sent(&plan)[0];
    assert_eq!(first, "user: \"Do everything.\"");
    let last = sent(&plan).last().unwrap().clone();
    assert!(last.contains("\"tool_use_id\":\"c39\""), "{last}");
}

#[test]
fn pictures_in_old_results_give_way() {
    let picture = Block::ToolResult(ToolResult {
        tool_use_id: "c".into(),
        content: vec![
            analects_testkit::conversations::png(1000, 1000),
            Block::from_text("a picture"),
        ]
        .into(),
        ..ToolResult::default()
    });
    let messages = linked(vec![
        Message::user("q", "Show it."),
        Message::assistant("a", vec![call("c", "draw")]),
        Message::user("r", vec![picture]),
        Message::assistant("z", "There."),
        Message::user("n", "Thanks."),
    ]);
    let agent = Agent::of_model("quick", "claude-opus-4-1");
    let planner = Planner::new(&agent).with_budget(Budget::new(800, 100));
    let plan = planner.plan(&chain(&messages), &mut Counter::of_model("claude-opus-4-1"));
    assert!(plan.ready().is_ok());
    assert!(plan.rows[2].whole.tokens > 1300 && plan.rows[2].tokens.tokens < 100);
    assert!(sent(&plan)[2].contains("[a picture was left out]"));
}

#[test]
fn half_of_the_window_is_for_the_question() {
    let agent = Agent {
        context_window: Some(4096),
        max_output_tokens: 8192,
        ..agent()
    };
    let plan = plan(&chain(&[Message::user("a", "hi")]), &agent);
    assert_eq!(
        (plan.budget.limit(), plan.request.max_output_tokens),
        (2048, Some(2048))
    );
    assert_eq!(plan.notes[0].code, "answer-limited");
}

#[test]
fn the_window_and_the_tools_count() {
    let schema =
        Raw::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).unwrap();
    let tool = ToolSpec {
        name: "read".into(),
        description: "Reads a file.".into(),
        input_schema: schema,
    };
    let agent = agent();
    let messages = [Message::user("a", "hi")];
    let tools = [tool.clone(), tool];
    let planner = Planner::new(&agent).with_tools(&tools, Some(ToolChoice::Auto));
    let plan = planner.plan(&chain(&messages), &mut Counter::of_model("m"));
    assert!(plan.tools.tokens > 40 && plan.tools.method == Method::Estimate);
    assert_eq!(plan.request.tools, tools);
}

#[test]
fn a_cut_text_says_how_much_is_missing() {
    let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
    let short = crate::plan::shorten_text(&text, 400, 40);
    assert!(
        short.starts_with("line 0\n") && short.ends_with("line 99\n"),
        "{short}"
    );
    let missing: usize = short
        .split("[… ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let kept: usize = short
        .lines()
        .filter(|line| line.starts_with("line"))
        .map(|l| l.len() + 1)
        .sum();
    assert_eq!(missing + kept, text.len(), "{short}");
    // A single line of ten megabytes, without a good place to cut.
    let line = "学".repeat(3_000_000);
    let short = crate::plan::shorten_text(&line, 3_000_000, 30);
    assert!(short.chars().count() < 100, "{short}");
    assert_eq!(crate::plan::shorten_text("short", 1, 10), "short");
}

/// A vocabulary of words that records how much it had to count.
#[derive(Debug, Default)]
struct Words {
    counted: std::sync::atomic::AtomicUsize,
}

impl crate::Tokenizer for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> Option<u64> {
        self.counted
            .fetch_add(text.len(), std::sync::atomic::Ordering::Relaxed);
        Some(text.split_whitespace().count() as u64)
    }
}

/// A conversation of so many questions and answers with 40 words each.
fn talk(count: usize) -> Vec<Message> {
    let say = |at: usize| {
        let text = format!("word {at} ").repeat(20);
        let id = format!("m{at}");
        if at.is_multiple_of(2) {
            Message::user(id, text)
        } else {
            Message::assistant(id, text)
        }
    };
    linked((0..count).map(say).collect())
}

#[test]
fn only_what_may_be_sent_is_counted_exactly() {
    let agent = agent();
    let planner = Planner::new(&agent).with_budget(Budget::new(2000, 200));
    let mut starts = std::collections::BTreeSet::new();
    for count in (1001..1061).step_by(2) {
        let messages = talk(count);
        let words = Words::default();
        let mut counter = Counter::of_model("m").with_tokenizer(&words);
        let plan = planner.plan(&chain(&messages), &mut counter);
        let size: usize = messages.iter().map(|message| message.text().len()).sum();
        let counted = words.counted.load(std::sync::atomic::Ordering::Relaxed);
        assert!(counted * 5 < size, "{counted} of {size}");
        assert!(plan.ready().is_ok());
        // Everything that is sent is counted with the vocabulary.
        let sent: u64 = plan
            .rows
            .iter()
            .filter(|row| row.fate == Fate::Sent)
            .map(|row| row.tokens.tokens)
            .sum();
        assert_eq!(sent, 40 * ids(&plan, Fate::Sent).len() as u64);
        assert!(sent > 1000, "{sent}");
        starts.insert(ids(&plan, Fate::Sent)[0].to_string());
    }
    // Every step is an eighth of the limit, or five messages, so that a provider can answer from its cache.
    assert!(starts.len() <= 14, "{starts:?}");
}
