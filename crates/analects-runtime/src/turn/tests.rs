//! Every way through a turn, without a model.

use proptest::prelude::*;

use super::*;

fn planned() -> Input {
    Input::Planned(Planned {
        fits: true,
        ..Planned::default()
    })
}

fn answered() -> Input {
    Input::Answered(Answered::default())
}

fn calling() -> Answered {
    Answered {
        calls: true,
        ..Answered::default()
    }
}

/// What a turn does, given what happens.
fn effects(limits: Limits, inputs: impl IntoIterator<Item = Input>) -> Vec<Effect> {
    let (mut turn, first) = Turn::begin(limits);
    let mut effects = vec![first];
    effects.extend(inputs.into_iter().map(|input| turn.next(input)));
    effects
}

fn ends(limits: Limits, inputs: impl IntoIterator<Item = Input>) -> Ending {
    match effects(limits, inputs).pop() {
        Some(Effect::End(ending)) => ending,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_question_and_its_answer() {
    let inputs = [Input::Reminded, planned(), answered(), Input::Recorded];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Ask,
        Effect::Record,
        Effect::End(Ending::Done),
    ];
    assert_eq!(effects(Limits::default(), inputs), expected);
}

#[test]
fn a_full_context_is_compacted_once_before_a_question() {
    let full = || {
        Input::Planned(Planned {
            fits: true,
            is_full: true,
            ..Planned::default()
        })
    };
    let inputs = [Input::Reminded, full(), Input::Compacted(0.0), full()];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Compact(CompactTrigger::Auto),
        Effect::Plan,
        Effect::Ask,
    ];
    assert_eq!(effects(Limits::default(), inputs), expected);
}

#[test]
fn what_was_refused_is_not_asked_again_as_it_is() {
    let refused = Answered {
        is_too_long: true,
        failed: true,
        ..Answered::default()
    };
    let inputs = [
        Input::Reminded,
        planned(),
        Input::Answered(refused),
        Input::NotCompacted(0.0),
        Input::Recorded,
    ];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Ask,
        Effect::Compact(CompactTrigger::Reactive),
        Effect::Record,
        Effect::End(Ending::Failed),
    ];
    assert_eq!(effects(Limits::default(), inputs), expected);
    // Where nothing was refused, it is asked, trimmed or not.
    let full = || {
        Input::Planned(Planned {
            fits: true,
            is_full: true,
            ..Planned::default()
        })
    };
    let inputs = [Input::Reminded, full(), Input::NotCompacted(0.0), full()];
    let done = effects(Limits::default(), inputs);
    assert_eq!(done.last(), Some(&Effect::Ask));
}

#[test]
fn a_prompt_that_is_too_long_is_compacted_once_and_asked_again() {
    let refused = || {
        Input::Answered(Answered {
            is_too_long: true,
            failed: true,
            ..Answered::default()
        })
    };
    let inputs = [
        Input::Reminded,
        planned(),
        refused(),
        Input::Compacted(0.0),
        planned(),
        refused(),
        Input::Recorded,
    ];
    let expected = [
        Effect::Remind,
        Effect::Plan,
        Effect::Ask,
        Effect::Compact(CompactTrigger::Reactive),
        Effect::Plan,
        Effect::Ask,
        Effect::Record,
        Effect::End(Ending::Failed),
    ];
    // What was refused does not count as asked.
    let limits = Limits {
        questions: 1,
        cost: None,
    };
    assert_eq!(effects(limits, inputs), expected);
}

#[test]
fn a_summary_is_asked_for_once() {
    let lacking = || {
        let needs_summary = vec![MessageId::from("m")];
        Input::Planned(Planned {
            needs_summary,
            fits: true,
            ..Planned::default()
        })
    };
    let begin = [Input::Reminded, lacking()];
    let asked = effects(Limits::default(), begin.clone()).pop();
    assert_eq!(asked, Some(Effect::Summarise(vec!["m".into()])));
    let none = || Ending::NoSummary("m".into());
    let failed = Input::Summarised(Some("m".into()), 0.0);
    assert_eq!(
        ends(Limits::default(), begin.clone().into_iter().chain([failed])),
        none()
    );
    let kept_nothing = [Input::Summarised(None, 0.0), lacking()];
    assert_eq!(
        ends(Limits::default(), begin.into_iter().chain(kept_nothing)),
        none()
    );
}

#[test]
fn tools_are_asked_for_again_until_the_limit() {
    let limits = Limits {
        questions: 2,
        cost: None,
    };
    let round = || {
        [
            planned(),
            Input::Answered(calling()),
            Input::Recorded,
            Input::ToolsRan(true),
        ]
    };
    let inputs = [Input::Reminded]
        .into_iter()
        .chain(round())
        .chain(round())
        .chain([planned()]);
    assert_eq!(ends(limits, inputs), Ending::TooMany(2));
    let inputs = [Input::Reminded].into_iter().chain(round()).chain([
        planned(),
        answered(),
        Input::Recorded,
    ]);
    assert_eq!(ends(limits, inputs), Ending::Done);
}

#[test]
fn a_call_that_nobody_runs_ends_the_turn() {
    let inputs = [
        Input::Reminded,
        planned(),
        Input::Answered(calling()),
        Input::Recorded,
        Input::ToolsRan(false),
    ];
    assert_eq!(ends(Limits::default(), inputs), Ending::NobodyRuns);
}

#[test]
fn the_cost_is_kept_within_its_limit() {
    let limits = Limits {
        questions: 9,
        cost: Some(1.0),
    };
    let costs = |least| {
        Input::Planned(Planned {
            fits: true,
            least_cost: least,
            ..Planned::default()
        })
    };
    let too_costly = |spent, next| Ending::TooCostly { spent, next };
    assert_eq!(
        ends(limits, [Input::Reminded, costs(Some(1.5))]),
        too_costly(0.0, 1.5)
    );
    assert_eq!(
        ends(limits, [Input::Reminded, costs(None)]),
        Ending::PriceUnknown
    );
    let cost = Some(0.75);
    let inputs = [
        Input::Reminded,
        costs(Some(0.5)),
        Input::Answered(Answered { cost, ..calling() }),
        Input::Recorded,
        Input::ToolsRan(true),
        costs(Some(0.5)),
    ];
    assert_eq!(ends(limits, inputs), too_costly(0.75, 0.5));
    // A summary costs, too, and is not asked for where that is too much.
    let full = |least_cost| {
        Input::Planned(Planned {
            is_full: true,
            fits: true,
            least_cost,
            ..Planned::default()
        })
    };
    assert_eq!(
        ends(limits, [Input::Reminded, full(Some(1.5))]),
        too_costly(0.0, 1.5)
    );
    let inputs = [
        Input::Reminded,
        full(Some(0.5)),
        Input::Compacted(0.75),
        costs(Some(0.5)),
    ];
    assert_eq!(ends(limits, inputs), too_costly(0.75, 0.5));
}

#[test]
fn what_came_is_recorded_when_it_is_stopped_or_fails() {
    for (answered, ending) in [
        (
            Answered {
                stopped: true,
                ..calling()
            },
            Ending::Stopped,
        ),
        (
            Answered {
                failed: true,
                ..calling()
            },
            Ending::Failed,
        ),
        (
            Answered {
                stopped: true,
                is_too_long: true,
                ..Answered::default()
            },
            Ending::Stopped,
        ),
    ] {
        let inputs = [
            Input::Reminded,
            planned(),
            Input::Answered(answered),
            Input::Recorded,
        ];
        let mut done = effects(Limits::default(), inputs);
        assert_eq!(done.pop(), Some(Effect::End(ending)));
        assert_eq!(done.pop(), Some(Effect::Record));
    }
}

#[test]
fn it_can_be_stopped_wherever_it_is() {
    let way = [
        Input::Reminded,
        planned(),
        Input::Answered(calling()),
        Input::Recorded,
    ];
    for length in 0..=way.len() {
        let inputs = way[..length].iter().cloned().chain([Input::Stopped]);
        assert_eq!(ends(Limits::default(), inputs), Ending::Stopped);
    }
}

#[test]
fn a_question_that_was_taken_away_is_not_asked() {
    let full = Input::Planned(Planned {
        fits: true,
        is_full: true,
        ..Planned::default()
    });
    let gone = Input::Planned(Planned {
        fits: true,
        missing: Some(Missing::Question),
        ..Planned::default()
    });
    let inputs = [Input::Reminded, full, Input::Compacted(0.0), gone];
    assert_eq!(
        ends(Limits::default(), inputs),
        Ending::Gone(Missing::Question)
    );
}

fn any_planned() -> impl Strategy<Value = Planned> {
    let needs = prop::bool::weighted(0.2);
    (needs, any::<bool>(), prop::bool::weighted(0.9)).prop_map(|(needs, is_full, fits)| Planned {
        needs_summary: if needs { vec!["m".into()] } else { Vec::new() },
        is_full,
        fits,
        missing: None,
        least_cost: None,
    })
}

fn any_answered() -> impl Strategy<Value = Answered> {
    let seldom = || prop::bool::weighted(0.1);
    (any::<bool>(), seldom(), seldom(), prop::bool::weighted(0.9)).prop_map(
        |(is_too_long, failed, stopped, calls)| Answered {
            is_too_long,
            failed,
            stopped,
            calls,
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
        let (mut turn, mut effect) = Turn::begin(Limits { questions, cost: None });
        let (mut plans, mut answers) = (plans.into_iter(), answers.into_iter());
        let (mut steps, mut asked) = (0, 0);
        while !matches!(effect, Effect::End(_)) {
            steps += 1;
            prop_assert!(steps < 64, "it goes round and round");
            let input = match effect {
                Effect::Remind => Input::Reminded,
                Effect::Plan => Input::Planned(plans.next().unwrap_or_default()),
                Effect::Summarise(_) => Input::Summarised(None, 0.0),
                Effect::Compact(_) => Input::Compacted(0.0),
                Effect::Ask => {
                    asked += 1;
                    Input::Answered(answers.next().unwrap_or_default())
                }
                Effect::Record => Input::Recorded,
                Effect::RunTools => Input::ToolsRan(true),
                Effect::End(_) => unreachable!(),
            };
            effect = turn.next(input);
        }
        // Each question may be refused once.
        prop_assert!(asked <= 2 * questions);
        prop_assert!(matches!(turn.next(Input::Reminded), Effect::End(_)));
    }

    /// Inputs in any order never panic, and never bring a turn back to life.
    #[test]
    fn any_inputs_in_any_order(choices in prop::collection::vec(0..8_usize, 0..40)) {
        let inputs = [
            Input::Reminded,
            planned(),
            Input::Summarised(None, 0.0),
            Input::Compacted(0.0),
            Input::NotCompacted(0.0),
            answered(),
            Input::Recorded,
            Input::ToolsRan(true),
        ];
        let done = effects(Limits::default(), choices.into_iter().map(|at| inputs[at].clone()));
        let over = done.iter().position(|effect| matches!(effect, Effect::End(_)));
        if let Some(over) = over {
            prop_assert!(done[over..].iter().all(|effect| matches!(effect, Effect::End(_))));
        }
    }
}
