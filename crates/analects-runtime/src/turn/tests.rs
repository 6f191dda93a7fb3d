//! Every way through a turn, without a model.

use proptest::prelude::*;

use super::*;

fn planned() -> TurnInput {
    TurnInput::Planned(PlanResult {
        fits: true,
        ..PlanResult::default()
    })
}

fn answered() -> TurnInput {
    TurnInput::Answered(AnswerResult::default())
}

fn calling() -> AnswerResult {
    AnswerResult {
        has_calls: true,
        ..AnswerResult::default()
    }
}

/// What a turn does, given what happens.
fn effects(limits: TurnLimits, inputs: impl IntoIterator<Item = TurnInput>) -> Vec<Effect> {
    let (mut turn, first) = Turn::begin(limits);
    let mut effects = vec![first];
    effects.extend(inputs.into_iter().map(|input| turn.next(input)));
    effects
}

fn ends(limits: TurnLimits, inputs: impl IntoIterator<Item = TurnInput>) -> EndReason {
    match effects(limits, inputs).pop() {
        Some(Effect::End(ending)) => ending,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_question_and_its_answer() {
    let inputs = [
        TurnInput::Reminded,
        planned(),
        answered(),
        TurnInput::Recorded,
    ];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Ask,
        Effect::Record,
        Effect::End(EndReason::Done),
    ];
    assert_eq!(effects(TurnLimits::default(), inputs), expected);
}

#[test]
fn a_full_context_is_compacted_once_before_a_question() {
    let full = || {
        TurnInput::Planned(PlanResult {
            fits: true,
            is_full: true,
            ..PlanResult::default()
        })
    };
    let inputs = [
        TurnInput::Reminded,
        full(),
        TurnInput::Compacted { cost: 0.0 },
        full(),
    ];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Compact(CompactTrigger::Auto),
        Effect::Plan,
        Effect::Ask,
    ];
    assert_eq!(effects(TurnLimits::default(), inputs), expected);
}

#[test]
fn what_was_refused_is_not_asked_again_as_it_is() {
    let refused = AnswerResult {
        is_too_long: true,
        is_failed: true,
        ..AnswerResult::default()
    };
    let inputs = [
        TurnInput::Reminded,
        planned(),
        TurnInput::Answered(refused),
        TurnInput::NotCompacted { cost: 0.0 },
        TurnInput::Recorded,
    ];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Ask,
        Effect::Compact(CompactTrigger::Reactive),
        Effect::Record,
        Effect::End(EndReason::Failed),
    ];
    assert_eq!(effects(TurnLimits::default(), inputs), expected);
    // Where nothing was refused, it is asked, trimmed or not.
    let full = || {
        TurnInput::Planned(PlanResult {
            fits: true,
            is_full: true,
            ..PlanResult::default()
        })
    };
    let inputs = [
        TurnInput::Reminded,
        full(),
        TurnInput::NotCompacted { cost: 0.0 },
        full(),
    ];
    let done = effects(TurnLimits::default(), inputs);
    assert_eq!(done.last(), Some(&Effect::Ask));
}

#[test]
fn a_prompt_that_is_too_long_is_compacted_once_and_asked_again() {
    let refused = || {
        TurnInput::Answered(AnswerResult {
            is_too_long: true,
            is_failed: true,
            ..AnswerResult::default()
        })
    };
    let inputs = [
        TurnInput::Reminded,
        planned(),
        refused(),
        TurnInput::Compacted { cost: 0.0 },
        planned(),
        refused(),
        TurnInput::Recorded,
    ];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Ask,
        Effect::Compact(CompactTrigger::Reactive),
        Effect::Plan,
        Effect::Ask,
        Effect::Record,
        Effect::End(EndReason::Failed),
    ];
    // What was refused does not count as asked.
    let limits = TurnLimits {
        questions: 1,
        cost: None,
    };
    assert_eq!(effects(limits, inputs), expected);
}

#[test]
fn a_summary_is_asked_for_once() {
    let lacking = || {
        let needs_summary = vec![MessageId::from("m")];
        TurnInput::Planned(PlanResult {
            needs_summary,
            fits: true,
            ..PlanResult::default()
        })
    };
    let begin = [TurnInput::Reminded, lacking()];
    let asked = effects(TurnLimits::default(), begin.clone()).pop();
    assert_eq!(asked, Some(Effect::Summarise(vec!["m".into()])));
    let none = || EndReason::NoSummary("m".into());
    let failed = TurnInput::Summarised {
        failed: Some("m".into()),
        cost: 0.0,
    };
    assert_eq!(
        ends(
            TurnLimits::default(),
            begin.clone().into_iter().chain([failed])
        ),
        none()
    );
    let kept_nothing = [
        TurnInput::Summarised {
            failed: None,
            cost: 0.0,
        },
        lacking(),
    ];
    assert_eq!(
        ends(TurnLimits::default(), begin.into_iter().chain(kept_nothing)),
        none()
    );
}

#[test]
fn tools_are_asked_for_again_until_the_limit() {
    let limits = TurnLimits {
        questions: 2,
        cost: None,
    };
    let round = || {
        [
            planned(),
            TurnInput::Answered(calling()),
            TurnInput::Recorded,
            TurnInput::ToolsRan(ToolsResult::Ran),
        ]
    };
    let inputs = [TurnInput::Reminded]
        .into_iter()
        .chain(round())
        .chain(round())
        .chain([planned()]);
    assert_eq!(ends(limits, inputs), EndReason::TooManyQuestions(2));
    let inputs = [TurnInput::Reminded].into_iter().chain(round()).chain([
        planned(),
        answered(),
        TurnInput::Recorded,
    ]);
    assert_eq!(ends(limits, inputs), EndReason::Done);
}

#[test]
fn a_call_that_nobody_runs_ends_the_turn() {
    let inputs = [
        TurnInput::Reminded,
        planned(),
        TurnInput::Answered(calling()),
        TurnInput::Recorded,
        TurnInput::ToolsRan(ToolsResult::NoTools),
    ];
    assert_eq!(ends(TurnLimits::default(), inputs), EndReason::ToolsNotRun);
}

#[test]
fn the_same_calls_with_the_same_results_end_the_turn() {
    let inputs = [
        TurnInput::Reminded,
        planned(),
        TurnInput::Answered(calling()),
        TurnInput::Recorded,
        TurnInput::ToolsRan(ToolsResult::Repeated),
    ];
    assert_eq!(
        ends(TurnLimits::default(), inputs),
        EndReason::CallsRepeated
    );
}

#[test]
fn the_cost_is_kept_within_its_limit() {
    let limits = TurnLimits {
        questions: 9,
        cost: Some(1.0),
    };
    let costs = |least| {
        TurnInput::Planned(PlanResult {
            fits: true,
            least_cost: least,
            ..PlanResult::default()
        })
    };
    let too_costly = |spent, next| EndReason::TooCostly { spent, next };
    assert_eq!(
        ends(limits, [TurnInput::Reminded, costs(Some(1.5))]),
        too_costly(0.0, 1.5)
    );
    assert_eq!(
        ends(limits, [TurnInput::Reminded, costs(None)]),
        EndReason::PriceUnknown
    );
    let cost = Some(0.75);
    let inputs = [
        TurnInput::Reminded,
        costs(Some(0.5)),
        TurnInput::Answered(AnswerResult { cost, ..calling() }),
        TurnInput::Recorded,
        TurnInput::ToolsRan(ToolsResult::Ran),
        costs(Some(0.5)),
    ];
    assert_eq!(ends(limits, inputs), too_costly(0.75, 0.5));
    // A summary costs, too, and is not asked for where that is too much.
    let full = |least_cost| {
        TurnInput::Planned(PlanResult {
            is_full: true,
            fits: true,
            least_cost,
            ..PlanResult::default()
        })
    };
    assert_eq!(
        ends(limits, [TurnInput::Reminded, full(Some(1.5))]),
        too_costly(0.0, 1.5)
    );
    let inputs = [
        TurnInput::Reminded,
        full(Some(0.5)),
        TurnInput::Compacted { cost: 0.75 },
        costs(Some(0.5)),
    ];
    assert_eq!(ends(limits, inputs), too_costly(0.75, 0.5));
}

#[test]
fn what_came_is_recorded_when_it_is_stopped_or_fails() {
    for (answered, ending) in [
        (
            AnswerResult {
                is_stopped: true,
                ..calling()
            },
            EndReason::Stopped,
        ),
        (
            AnswerResult {
                is_failed: true,
                ..calling()
            },
            EndReason::Failed,
        ),
        (
            AnswerResult {
                is_stopped: true,
                is_too_long: true,
                ..AnswerResult::default()
            },
            EndReason::Stopped,
        ),
    ] {
        let inputs = [
            TurnInput::Reminded,
            planned(),
            TurnInput::Answered(answered),
            TurnInput::Recorded,
        ];
        let mut done = effects(TurnLimits::default(), inputs);
        assert_eq!(done.pop(), Some(Effect::End(ending)));
        assert_eq!(done.pop(), Some(Effect::Record));
    }
}

#[test]
fn it_can_be_stopped_wherever_it_is() {
    let way = [
        TurnInput::Reminded,
        planned(),
        TurnInput::Answered(calling()),
        TurnInput::Recorded,
    ];
    for length in 0..=way.len() {
        let inputs = way[..length].iter().cloned().chain([TurnInput::Stopped]);
        assert_eq!(ends(TurnLimits::default(), inputs), EndReason::Stopped);
    }
}

#[test]
fn a_question_that_was_taken_away_is_not_asked() {
    let full = TurnInput::Planned(PlanResult {
        fits: true,
        is_full: true,
        ..PlanResult::default()
    });
    let gone = TurnInput::Planned(PlanResult {
        fits: true,
        missing: Some(MissingItem::Question),
        ..PlanResult::default()
    });
    let inputs = [
        TurnInput::Reminded,
        full,
        TurnInput::Compacted { cost: 0.0 },
        gone,
    ];
    assert_eq!(
        ends(TurnLimits::default(), inputs),
        EndReason::ItemMissing(MissingItem::Question)
    );
}

fn any_planned() -> impl Strategy<Value = PlanResult> {
    let needs = prop::bool::weighted(0.2);
    (needs, any::<bool>(), prop::bool::weighted(0.9)).prop_map(|(needs, is_full, fits)| {
        PlanResult {
            needs_summary: if needs { vec!["m".into()] } else { Vec::new() },
            is_full,
            fits,
            missing: None,
            least_cost: None,
        }
    })
}

fn any_answered() -> impl Strategy<Value = AnswerResult> {
    let seldom = || prop::bool::weighted(0.1);
    (any::<bool>(), seldom(), seldom(), prop::bool::weighted(0.9)).prop_map(
        |(is_too_long, failed, stopped, calls)| AnswerResult {
            is_too_long,
            is_failed: failed,
            is_stopped: stopped,
            has_calls: calls,
            cost: None,
        },
    )
}

proptest! {
    /// Whatever plans and answers come, a turn ends, and asks no more often than it may.
    #[test]
    fn a_turn_ends(
        questions in 1..5_u32,
        plans in prop::collection::vec(any_planned(), 64),
        answers in prop::collection::vec(any_answered(), 64),
    ) {
        let (mut turn, mut effect) = Turn::begin(TurnLimits { questions, cost: None });
        let (mut plans, mut answers) = (plans.into_iter(), answers.into_iter());
        let (mut steps, mut asked) = (0, 0);
        while !matches!(effect, Effect::End(_)) {
            steps += 1;
            prop_assert!(steps < 64, "it goes round and round");
            let input = match effect {
                Effect::Remind => TurnInput::Reminded,
                Effect::Plan => TurnInput::Planned(plans.next().unwrap_or_default()),
                Effect::Summarise(_) => TurnInput::Summarised { failed: None, cost: 0.0 },
                Effect::Compact(_) => TurnInput::Compacted { cost: 0.0 },
                Effect::Ask => {
                    asked += 1;
                    TurnInput::Answered(answers.next().unwrap_or_default())
                }
                Effect::Record => TurnInput::Recorded,
                Effect::RunTools => TurnInput::ToolsRan(ToolsResult::Ran),
                Effect::End(_) => unreachable!(),
            };
            effect = turn.next(input);
        }
        // Each question may be refused once.
        prop_assert!(asked <= 2 * questions);
        prop_assert!(matches!(turn.next(TurnInput::Reminded), Effect::End(_)));
    }

    /// Inputs in any order never panic, and never bring a turn back to life.
    #[test]
    fn any_inputs_in_any_order(choices in prop::collection::vec(0..8_usize, 0..40)) {
        let inputs = [
            TurnInput::Reminded,
            planned(),
            TurnInput::Summarised { failed: None, cost: 0.0 },
            TurnInput::Compacted { cost: 0.0 },
            TurnInput::NotCompacted { cost: 0.0 },
            answered(),
            TurnInput::Recorded,
            TurnInput::ToolsRan(ToolsResult::Ran),
        ];
        let done = effects(TurnLimits::default(), choices.into_iter().map(|at| inputs[at].clone()));
        let over = done.iter().position(|effect| matches!(effect, Effect::End(_)));
        if let Some(over) = over {
            prop_assert!(done[over..].iter().all(|effect| matches!(effect, Effect::End(_))));
        }
    }
}
