//! One figure has one printed value: the ledger, the bar, the explanation, the report and lessons
//! print the same amount for a kind of memory, and the printed figures add up.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::Job;
use headroom::estimator::{Estimate, MemoryKind, Printed, estimate};
use headroom::explain::{Explainer, Explanation};
use headroom::lessons::figure::{Facts, Figure};
use headroom::scenario::codec::decode;
use headroom::units::{Bytes, MemoryUnit, Scale};
use headroom::view::answers::Answers;
use headroom::view::history::UndoStep;
use headroom::view::panels::{bar, ledger};
use headroom::view::report::Report;
use headroom::view::ui::{ChartsLook, Opened};
use headroom::view::words::kinds;
use proptest::prelude::*;
use support::random;

/// The number of scenarios that the property is tested with.
const SCENARIOS: u32 = 10_000;

const MODELS: [&str; 10] = [
    "llama3-8b",
    "llama3-70b",
    "gpt2",
    "ju-7b",
    "mixtral-8x7b",
    "qwen3-30b-a3b",
    "gemma2-9b",
    "falcon-7b",
    "phi-3-mini",
    "qwen2.5-14b",
];

prop_compose! {
    /// Links over the catalogue: stacks, layouts, lengths, GPUs and formats.
    fn link()(
        model in proptest::sample::select(&MODELS[..]),
        gpu in proptest::sample::select(&["h100-80", "a100-40", "rtx4090", "b200", "v100-16"][..]),
        serve in any::<bool>(),
        s in 100_u64..20_000, b in 1_u64..5, t in 0_u32..3, d in 0_u32..4,
        stack in proptest::sample::select(&["fused", "korthikanti"][..]),
        sharding in proptest::sample::select(&["none", "1", "2", "3", "fsdp"][..]),
        recompute in proptest::sample::select(&["none", "full"][..]),
        optimizer in proptest::sample::select(&["adamw", "adamw8", "sgd", "sgdm"][..]),
        weights in proptest::sample::select(&["bf16", "int4", "fp8", "q4-k-m", "nf4"][..]),
    ) -> String {
        let (t, d) = (1_u64 << t, 1_u64 << d);
        if serve {
            return format!("v1&do=serve&m={model}&gpu={gpu}&ctx={s}&seqs={}&tp={t}&n={t}&w={weights}", 3 * b);
        }
        let batch = d * b * 2;
        format!("v1&m={model}&gpu={gpu}&s={s}&b={b}&gb={batch}&tp={t}&n={}&z={sharding}&ker={stack}&rc={recompute}&opt={optimizer}", t * d)
    }
}

#[track_caller]
fn job_of(link: &str) -> Job {
    let decoded = decode(link);
    assert!(decoded.notices.is_empty(), "{link}: {:?}", decoded.notices);
    decoded.scenario.resolve().unwrap_or_else(|problems| panic!("{link}: {problems:?}"))
}

/// True if a printed amount is the exact one, rounded up or down.
fn is_rounded(printed: u64, exact: u128, scale: Scale) -> bool {
    let (unit, scaled) =
        (u128::from(scale.unit.bytes()), exact * u128::from(10_u64.pow(scale.decimals)));
    (u128::from(printed) * unit).abs_diff(scaled) < unit || u128::from(printed) * unit == scaled
}

/// The figure of an explanation in the page's unit, as printed.
fn said(explanation: &Explanation, unit: MemoryUnit) -> String {
    let words = explanation.result(unit);
    let (_, amount) =
        words.split_once(" bytes = ").unwrap_or_else(|| panic!("{}: {words}", explanation.path));
    amount.split(" (").next().unwrap_or_default().to_owned()
}

fn sum(bytes: impl Iterator<Item = Bytes>) -> u128 {
    bytes.map(|bytes| u128::from(bytes.0)).sum()
}

/// Checks that ledger, bar and explanation of one job print equal amounts that add up.
fn check(job: &Job, unit: MemoryUnit) -> Estimate {
    let estimate = estimate(job);
    let printed = Printed::of(&estimate, unit);
    let lines = &estimate.ledger.lines;
    let explainer = Explainer::new(job, &[], unit);
    let words = |amount: u64| format!("{} {unit}", printed.scale.number(amount));
    let bar = kinds(&estimate, printed.scale);
    assert!(!bar.is_empty());
    for (kind, shown) in bar {
        let of_kind = || lines.iter().enumerate().filter(|(_, line)| line.kind == kind);
        assert_eq!(shown, printed.kind(kind), "{kind:?}");
        assert!(
            is_rounded(shown, sum(of_kind().map(|(_, line)| line.bytes)), printed.scale),
            "{kind:?}: {shown}"
        );
        assert_eq!(
            of_kind().map(|(at, _)| printed.line(at)).sum::<u64>(),
            shown,
            "{kind:?}: its lines"
        );
        assert!(
            of_kind().all(|(at, line)| is_rounded(
                printed.line(at),
                u128::from(line.bytes.0),
                printed.scale
            )),
            "{kind:?}"
        );
        let explanation =
            explainer.explained(&format!("ledger/{}", kind.name())).expect("an explanation");
        assert_eq!(said(&explanation, unit), words(shown), "{kind:?}");
    }
    assert_eq!(printed.kinds.iter().sum::<u64>(), printed.total);
    // Absurd amounts are printed as "at least".
    if sum(lines.iter().map(|line| line.bytes)) < u128::from(u64::MAX) {
        assert_eq!(printed.total, printed.scale.round(estimate.total()));
    }
    assert_eq!(said(&explainer.explained("total").expect("a total"), unit), words(printed.total));
    estimate
}

/// Every line's own explanation prints the ledger's figure, too.
fn check_lines(job: &Job, unit: MemoryUnit) {
    let estimate = estimate(job);
    let printed = Printed::of(&estimate, unit);
    let explainer = Explainer::new(job, &[], unit);
    for (at, line) in estimate.ledger.lines.iter().enumerate() {
        let words = format!("{} {unit}", printed.scale.number(printed.line(at)));
        let path = format!("ledger/{}/{}", line.kind.name(), line.label);
        assert_eq!(
            said(&explainer.explained(&path).expect("an explanation"), unit),
            words,
            "{path}"
        );
        let of_kind =
            explainer.explained(&format!("ledger/{}", line.kind.name())).expect("an explanation");
        assert!(
            of_kind.printed_of(line.label).is_some_and(|amount| amount.starts_with(&words)),
            "{path}"
        );
        if line.tensors.len() == 1 {
            assert_eq!(
                said(&explainer.explained(&format!("{path}/0")).expect("an explanation"), unit),
                words,
                "{path}/0"
            );
        }
    }
    let margin = explainer.explained("margin").expect("a margin");
    assert_eq!(
        said(&margin, unit),
        format!("{} {unit}", printed.scale.gap(estimate.total(), estimate.capacity))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(SCENARIOS / 2))]

    #[test]
    fn a_figure_of_any_job_has_one_value(job in random::job(), gb in any::<bool>()) {
        check(&job, if gb { MemoryUnit::Gb } else { MemoryUnit::Gib });
    }

    #[test]
    fn a_figure_of_the_catalogue_has_one_value(link in link(), gb in any::<bool>()) {
        check(&job_of(&link), if gb { MemoryUnit::Gb } else { MemoryUnit::Gib });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_line_and_its_explanation_have_one_value(link in link(), gb in any::<bool>()) {
        check_lines(&job_of(&link), if gb { MemoryUnit::Gb } else { MemoryUnit::Gib });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The page, the report (which the command line and the Markdown export print) and lessons
    /// print the same amounts.
    #[test]
    fn every_place_prints_the_same(link in link()) {
        let said = UndoStep { scenario: decode(&link).scenario, compare: Vec::new() };
        let answers = Answers::of(&said, None).0;
        let printed = Printed::of(&answers.estimate, answers.unit);
        let (ledger, stack) =
            (ledger::ledger(&answers, &Opened::default()), bar::stack(&answers, &ChartsLook::default(), &Opened::default()));
        let report = Report::of(&said.scenario, &answers.job, None);
        let rows = report.ledger();
        let facts = Facts::of(&said.scenario).expect("facts");
        let figures = ["weights", "gradients", "optimizer", "activations", "kv-cache", "temporary", "framework"];
        for ((kind, _), id) in MemoryKind::ALL.into_iter().zip(printed.kinds).zip(figures).filter(|((_, amount), _)| *amount > 0) {
            let amount = printed.scale.number(printed.kind(kind));
            let name = kind.name();
            let row = ledger.as_str().split("<tr class=\"ledger__kind\"").find(|row| row.contains(&format!("data-key=\"ledger/{name}\"")));
            prop_assert!(row.is_some_and(|row| row.contains(&format!("<td class=\"num\">{amount} {}</td>", answers.unit))), "{}: {}", link, name);
            prop_assert!(stack.as_str().contains(&format!("{name} <b class=\"number\">{amount}</b>")), "{}: legend of {}", link, name);
            prop_assert!(stack.as_str().contains(&format!("{name} {amount}, ")), "{}: spoken {}", link, name);
            let reported = rows.iter().find(|row| row.is_sum && row.label == name).map(|row| row.amount.clone());
            prop_assert_eq!(reported, Some(amount.clone()), "{}", link);
            // Below ten units of the last decimal a lesson writes its own digits.
            if printed.scale.round(answers.estimate.ledger.of(kind)) >= 10 {
                let figure = Figure::find(id).expect("a figure");
                let shown = figure.show((figure.of)(&facts).expect("an amount"), &facts);
                prop_assert_eq!(shown, format!("{amount} {}", answers.unit), "{}: figure {}", link, id);
            }
        }
    }
}

/// A case that went wrong: the ledger printed 49.2 and 7.0 in place of 49.3 and 6.9, because all
/// lines were rounded together.
#[test]
fn groups_are_rounded_before_their_parts() {
    let scale = Scale { unit: MemoryUnit::Gb, decimals: 1 };
    let [whole, first, second] =
        [4926, 347, 348].map(|hundredths: u64| Bytes(hundredths * Bytes::GB / 100));
    assert_eq!(scale.parts(&[whole, first, second]), (vec![492, 35, 35], 562));
    assert_eq!(
        scale.groups(&[vec![whole], vec![first, second]]),
        (vec![(493, vec![493]), (69, vec![34, 35])], 562)
    );
}
