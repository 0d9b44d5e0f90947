//! The five documents' methods and the engine, side by side, with the reason for each difference.

use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::words::{Scale, kinds, whole};
use crate::config::{Job, Run};
use crate::estimator::{Estimate, MemoryKind};
use crate::methods::{EngineSide, MethodAnswer, MethodInputs, MethodKind, all};
use crate::units::{Bytes, FlopsPerSecond, MemoryUnit};

/// The table of all methods, then each one's differences.
#[component]
pub fn Methods() -> impl IntoView {
    let state = state();
    let answers = Memo::new(move |_| answers(state));
    let rows = Memo::new(move |_| answers.with(|answers| table(state, answers)));
    let heads = StoredValue::new(answers.with_untracked(|answers| answers.iter().map(|answer| answer.title).collect::<Vec<_>>()));
    let row = |(name, cells): (&'static str, Vec<String>)| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                {cells.into_iter().map(|cell| view! { <td class="num">{cell}</td> }).collect_view()}
            </tr>
        }
    };
    view! {
        <div data-testid="methods">
            <div class="section__head">
                <h2>"Five published methods beside the engine"</h2>
                <p class="section__note">
                    "The same scenario by the formulas of five documents, memory per GPU. A dash: the document says nothing about it."
                </p>
            </div>
            <div class="table--scroll" tabindex="0" role="region" aria-label="Methods side by side">
                <table class="table methods">
                    <thead>
                        <tr>
                            <th scope="col">"Memory per GPU"</th>
                            <th scope="col" class="num">"Headroom"</th>
                            {heads.get_value().into_iter().map(|head| view! { <th scope="col" class="num">{head}</th> }).collect_view()}
                        </tr>
                    </thead>
                    <tbody>{move || rows.get().into_iter().map(row).collect_view()}</tbody>
                </table>
            </div>
            <div class="folds">
                {(0..heads.with_value(Vec::len)).map(|index| view! { <Method answers index /> }).collect_view()}
            </div>
        </div>
    }
    .into_any()
}

/// Why one method differs; made when it is opened.
#[component]
fn Method(
    /// All answers.
    answers: Memo<Vec<MethodAnswer>>,
    /// Which of them.
    index: usize,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let answer = move || answers.with(|answers| answers.get(index).cloned());
    let line = Memo::new(move |_| {
        answers.with(|answers| answers.get(index).map(|answer| (answer.title, summary(answer))).unwrap_or_default())
    });
    view! {
        <details class="fold" on:toggle=move |_| open.update(|open| *open = !*open)>
            <summary class="fold__summary">
                <span class="fold__name">{move || line.get().0}</span>
                <span class="fold__state">{move || line.get().1}</span>
            </summary>
            {move || open.get().then(answer).flatten().map(details)}
        </details>
    }
    .into_any()
}

fn summary(answer: &MethodAnswer) -> String {
    if !answer.covered {
        return "says nothing about a job like this".to_owned();
    }
    match answer.differences.len() {
        0 => "agrees with the engine".to_owned(),
        1 => "one difference, and why".to_owned(),
        count => format!("{count} differences, and why"),
    }
}

fn details(answer: MethodAnswer) -> AnyView {
    let differences = answer.differences.into_iter().map(|difference| {
        view! {
            <tr>
                <th scope="row">{difference.term}</th>
                <td class="num">{difference.says}</td>
                <td class="num">{difference.engine_says}</td>
                <td class="table__reason">{difference.why}</td>
            </tr>
        }
    });
    let formulas = answer.per_gpu.into_iter().map(|line| {
        let note = line.note.map(|note| format!(". {note}")).unwrap_or_default();
        view! { <li><span class="quiet">{line.kind.name()} ": "</span> <code>{line.formula}</code> {note}</li> }
    });
    let gaps =
        (!answer.not_covered.is_empty()).then(|| view! { <p>"It says nothing about: " {answer.not_covered.join("; ")} "."</p> });
    view! {
        <div class="fold__body method">
            <p class="quiet">{answer.document}</p>
            <ul>{formulas.collect_view()}</ul>
            <p>{answer.gpus.reason}</p>
            {gaps}
            {answer.remarks.into_iter().map(|remark| view! { <p>{remark}</p> }).collect_view()}
            <div class="table--scroll">
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Term"</th>
                            <th scope="col" class="num">"It says"</th>
                            <th scope="col" class="num">"Headroom says"</th>
                            <th scope="col">"Why"</th>
                        </tr>
                    </thead>
                    <tbody>{differences.collect_view()}</tbody>
                </table>
            </div>
        </div>
    }
    .into_any()
}

fn answers(state: State) -> Vec<MethodAnswer> {
    let unit = state.unit.get();
    state.job.with(|job| {
        state.estimate.with(|estimate| {
            let inputs = MethodInputs::from_job(job, estimate.parameters.total, achieved(job));
            all(&inputs, &engine_side(estimate), unit).into_iter().collect()
        })
    })
}

/// The rate that one GPU reaches at the utilisation stated.
fn achieved(job: &Job) -> FlopsPerSecond {
    let peak = job.cluster().accelerator.peak;
    let peak = peak.bf16.or(peak.fp16).unwrap_or_default() * 1.0e12;
    match job.run() {
        Run::Training(run) => FlopsPerSecond(peak * run.mfu),
        Run::Serving(_) => FlopsPerSecond(peak),
    }
}

/// What the engine says, in the methods' words.
fn engine_side(estimate: &Estimate) -> EngineSide {
    let of = |kind| estimate.ledger.of(kind);
    EngineSide {
        parameters: estimate.parameters.total,
        weights: of(MemoryKind::Parameter),
        gradients: of(MemoryKind::Gradient),
        optimizer: of(MemoryKind::OptimizerState),
        activations: of(MemoryKind::Activation),
        temporary: of(MemoryKind::Temporary),
        kv_cache: of(MemoryKind::KvCache),
        framework: of(MemoryKind::Framework),
        total: estimate.total(),
    }
}

/// The engine's word for a method's kind.
const fn memory_kind(kind: MethodKind) -> MemoryKind {
    match kind {
        MethodKind::Weights => MemoryKind::Parameter,
        MethodKind::Gradients => MemoryKind::Gradient,
        MethodKind::Optimizer => MemoryKind::OptimizerState,
        MethodKind::Activations => MemoryKind::Activation,
        MethodKind::Temporary => MemoryKind::Temporary,
        MethodKind::KvCache => MemoryKind::KvCache,
        MethodKind::Overhead => MemoryKind::Framework,
    }
}

/// The rows of the table: kinds, total, GPUs.
fn table(state: State, answers: &[MethodAnswer]) -> Vec<(&'static str, Vec<String>)> {
    let unit: MemoryUnit = state.unit.get();
    let scale = Scale { unit, decimals: 1 };
    let amount = |bytes: Bytes| format!("{} {unit}", scale.show(bytes));
    let dash = || "–".to_owned();
    state.estimate.with(|estimate| {
        let engine = engine_side(estimate);
        // Rounded as in the ledger, so that the page prints one number for one thing.
        let rounded = kinds(estimate, scale);
        let own = |kind: MethodKind| {
            let amount = rounded.iter().find(|(known, _)| *known == memory_kind(kind)).map_or(0, |(_, amount)| *amount);
            format!("{} {unit}", scale.number(amount))
        };
        let mut rows = Vec::new();
        for kind in MethodKind::ALL {
            let cells = answers.iter().map(|answer| {
                let covered = answer.covered && answer.per_gpu.iter().any(|line| line.kind == kind);
                if covered { amount(answer.bytes_of(kind)) } else { dash() }
            });
            let cells: Vec<String> = std::iter::once(own(kind)).chain(cells).collect();
            if engine.of(kind).0 > 0 || cells.iter().skip(1).any(|cell| *cell != dash()) {
                rows.push((kind.name(), cells));
            }
        }
        let totals = answers.iter().map(|answer| if answer.covered { amount(answer.per_gpu_total) } else { dash() });
        rows.push(("total", std::iter::once(amount(engine.total)).chain(totals).collect()));
        let count = state.count.get();
        let some = |count: Option<u64>| count.map_or_else(dash, whole);
        let by_division = answers.iter().map(|answer| some(answer.gpus.arithmetic));
        rows.push(("GPUs by division", std::iter::once(some(count.arithmetic)).chain(by_division).collect()));
        let by_rules = answers.iter().map(|answer| some(answer.gpus.runnable));
        rows.push(("GPUs that can run", std::iter::once(some(count.runnable.map(|run| run.gpus))).chain(by_rules).collect()));
        rows
    })
}
