//! Counts, their accuracy and their error.

use analects_core::*;

use super::*;
use analects_testkit::conversations::{png, result};

#[test]
fn a_sum_is_as_sure_as_the_least_sure_of_its_parts() {
    let used = Count::exact(100, Method::Usage);
    let estimated = Count::estimate(50, 10);
    let sum = used + estimated + Count::exact(1, Method::Tokenizer);
    assert_eq!(
        sum,
        Count {
            tokens: 151,
            method: Method::Estimate,
            error_bound: 5
        }
    );
    assert_eq!(Count::default() + used, used);
    assert_eq!(sum.to_string(), "~151 ±5");
    assert_eq!(used.to_string(), "100");
    let most = Count::exact(u64::MAX, Method::Usage);
    assert_eq!((most + most).tokens, u64::MAX);
    let json = serde_json::to_string(&sum).unwrap();
    assert_eq!(
        json,
        r#"{"tokens":151,"method":"estimate","error_bound":5}"#
    );
}

#[test]
fn usage_counts_what_a_cache_held() {
    let usage = TokenUsage {
        input_tokens: Some(10),
        output_tokens: Some(5),
        cache_creation_input_tokens: Some(100),
        cache_read_input_tokens: Some(1000),
        ..TokenUsage::default()
    };
    let answer = Message {
        usage: Some(usage.into()),
        ..Message::assistant("b", "x")
    };
    let question = Message::user("a", "q");
    let later = Message::user("c", "q");
    let used = count_tokens_from_usage(&[&question, &answer, &later]).unwrap();
    assert_eq!(
        (used.at, used.count, used.cached),
        (1, Count::exact(1115, Method::Usage), 1000)
    );
    assert_eq!(count_tokens_from_usage(&[&question]), None);
    let synthetic = Message {
        model: Some(Message::SYNTHETIC.into()),
        ..answer.clone()
    };
    let used = count_tokens_from_usage(&[&answer, &later, &synthetic]).unwrap();
    assert_eq!(used.at, 0);
}

#[test]
fn families_are_known_by_their_names() {
    use ModelFamily::*;
    for (model, family) in [
        ("gpt-5", OpenAi),
        ("openai/gpt-4o-mini", OpenAi),
        ("gpt-4.1", OpenAi),
        ("o3", OpenAi),
        ("o4-mini", OpenAi),
        ("gpt-oss-20b", OpenAi),
        ("gpt-4-turbo", OpenAiOld),
        ("gpt-3.5-turbo", OpenAiOld),
        ("gpt-4", OpenAiOld),
        ("anthropic/claude-opus-4-1", Claude),
        ("us.anthropic.claude-sonnet-4", Claude),
        ("gemini-2.5-pro", Gemini),
        ("SmolLM2-135M-Instruct", Small),
        ("olmo-2", Other),
        ("o1js", Other),
        ("deepseek-chat", Other),
        ("", Other),
    ] {
        assert_eq!(ModelFamily::of(model), family, "{model}");
    }
}

#[test]
fn the_bytes_of_a_picture_are_not_text() {
    let mut counter = Counter::of_model("claude-opus-4-1");
    let Block::Image(small) = png(100, 150) else {
        panic!()
    };
    let mut data = Source::of(&small.source);
    if let Some(Source::Base64 { data, .. }) = &mut data {
        data.push_str(&"A".repeat(4_000_000));
    }
    let large = Image {
        source: data.unwrap().to_raw(),
        extra: RawMap::new(),
    };
    let alone = counter.block(&Block::Image(large.clone()));
    assert_eq!((alone.tokens, alone.method), (20, Method::Estimate));
    // Inside a result too.
    let inside = Block::ToolResult(ToolResult {
        content: vec![Block::Image(large)].into(),
        ..ToolResult::default()
    });
    assert_eq!(counter.block(&inside).tokens, 26);
    // An unknown image may have any size.
    let source = Source::Url("https://example.com/a.png".into()).to_raw();
    let far = counter.block(&Block::Image(Image {
        source,
        extra: RawMap::new(),
    }));
    assert_eq!(far.error_bound, far.tokens);
}

#[test]
fn counts_are_kept_by_content() {
    #[derive(Debug, Default)]
    struct CountingTokenizer(std::sync::atomic::AtomicU64);
    impl Tokenizer for CountingTokenizer {
        fn name(&self) -> &str {
            "letters"
        }
        fn count(&self, text: &str) -> Option<u64> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            (!text.contains('?')).then_some(text.len() as u64)
        }
    }
    let asked = CountingTokenizer::default();
    let mut counter = Counter::of_model("local").with_tokenizer(&asked);
    assert!(counter.has_vocabulary() && counter.text("hello").method == Method::Estimate);
    counter.use_vocabulary(true);
    for _ in 0..3 {
        assert_eq!(counter.text("hello"), Count::exact(5, Method::Tokenizer));
        assert_eq!(counter.text("hellp"), Count::exact(5, Method::Tokenizer));
        assert_eq!(counter.text("why?").method, Method::Estimate);
    }
    assert_eq!(asked.0.load(std::sync::atomic::Ordering::Relaxed), 3);
    // The position of a text makes a difference.
    assert_ne!(
        counter.block(&result("a", "bc")),
        counter.block(&result("a", "bcd"))
    );
}

#[test]
fn an_estimate_learns_from_real_answers() {
    let mut calibration = Calibration::default();
    let usage = |input| TokenUsage {
        input_tokens: Some(input),
        ..TokenUsage::default()
    };
    let text = "All that was said is kept, word for word. ".repeat(50);
    let before = Counter::of_model("claude-x").text(&text);
    calibration.learn("claude-x", before, &usage(before.tokens * 3 / 2));
    let mut counter = Counter::of_model("claude-x").with_calibration(&calibration);
    let after = counter.text(&text);
    assert!(
        after.tokens.abs_diff(before.tokens * 3 / 2) <= 1,
        "{before} {after}"
    );
    // Implausible data teaches nothing: no usage, an impossible one, an exact count, a request that is too short.
    let learnt = calibration.clone();
    calibration.learn("claude-x", before, &usage(0));
    calibration.learn("claude-x", before, &usage(u64::MAX));
    calibration.learn(
        "claude-x",
        Count::exact(100, Method::Tokenizer),
        &usage(300),
    );
    calibration.learn("claude-x", Count::estimate(10, 10), &usage(30));
    assert_eq!(calibration, learnt);
    // The last answers count most, and the calibration can be stored.
    for _ in 0..5 {
        calibration.learn("claude-x", before, &usage(before.tokens));
    }
    assert!((calibration.factor("claude-x") - 1.0).abs() < 0.01);
    assert_eq!(Calibration::from_raw(&calibration.to_raw()), calibration);
    assert_eq!(
        Calibration::from_raw(&Raw::string("x")),
        Calibration::default()
    );
    assert!(calibration.knows("claude-x") && !calibration.knows("y"));
}

#[test]
fn after_one_calibration_the_next_answer_is_within_five_percent() {
    // A model whose vocabulary is 30 % worse than its family's, with the usage that its provider would report.
    let real = |request: &Request| Counter::of_model("m").request(request).tokens * 13 / 10;
    let mut messages: Vec<Message> = Vec::new();
    let mut calibration = Calibration::default();
    let agent = Agent::of_model("quick", "m");
    for round in 0..6 {
        let text = format!(
            "Question {round}: 学而时习之? {}",
            "and some more words ".repeat(30)
        );
        let parent_id = messages.last().map(|message| message.id.clone());
        messages.push(Message {
            parent_id,
            ..Message::user(format!("q{round}"), text)
        });
        let mut counter = Counter::of_model("m").with_calibration(&calibration);
        let planner = crate::Planner::new(&agent);
        let expected = planner.count(&chain(&messages), &mut counter);
        let plan = planner.plan(&chain(&messages), &mut counter);
        let prompt = real(&plan.request);
        if round > 0 {
            let off = expected.tokens.abs_diff(prompt) as f64 / prompt as f64;
            assert!(off < 0.05, "round {round}: {expected} and really {prompt}");
        }
        let answer = "An answer of some twenty tokens or so, to the point. ".repeat(2);
        let usage = TokenUsage {
            input_tokens: Some(prompt),
            output_tokens: Some(Counter::of_model("m").text(&answer).tokens * 13 / 10),
            ..TokenUsage::default()
        };
        plan.learn(&usage, &mut calibration);
        let parent_id = messages.last().map(|message| message.id.clone());
        let answer = Message {
            parent_id,
            usage: Some(usage.into()),
            ..Message::assistant(format!("a{round}"), answer)
        };
        messages.push(answer);
    }
}

#[test]
fn any_text_has_at_least_a_token_and_not_more_than_its_bytes_twice() {
    let texts = [
        "a",
        " ",
        "\n",
        "\0",
        "\u{feff}",
        "學",
        "\u{10ffff}",
        "e\u{301}",
        "\u{202e}x",
    ];
    for text in texts {
        for family in [
            ModelFamily::OpenAi,
            ModelFamily::OpenAiOld,
            ModelFamily::Claude,
            ModelFamily::Gemini,
            ModelFamily::Small,
        ] {
            let count = estimate(family, text);
            assert!(
                count.tokens <= 2 * text.len() as u64 + 1,
                "{text:?} {count}"
            );
        }
    }
    assert_eq!(estimate(ModelFamily::OpenAi, "").tokens, 0);
    assert!(estimate(ModelFamily::OpenAi, "a").tokens >= 1);
}
