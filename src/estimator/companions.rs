//! Models that share the memory with the one that learns: reference, critic, reward model and the
//! engine that generates answers.
//!
//! Each is a job of its own, estimated as any other, and a line or two of the ledger. Three moments
//! are compared: the model learns, its critic learns, answers are generated. What forward passes
//! without gradients take for a moment (reference and reward model) is less than what backward
//! takes after them, and is not counted.

use super::ledger::{Certainty, Ledger, LineItem, MemoryKind, sort_by_kind};
use super::timeline::{self, Timeline};
use super::{Moment, listed, overhead};
use crate::config::{
    Job, Method, Objective, ParallelLayout, Rollout, Run, ServingRun, Targets, TrainingRun, Tuning,
};
use crate::ops;
use crate::sources::{self, Source};
use crate::units::Bytes;

/// Everything at the highest moment.
pub(super) struct Together {
    pub lines: Vec<LineItem>,
    pub name: &'static str,
    pub stage: u64,
    pub moments: Vec<Moment>,
    pub timeline: Timeline,
}

/// True if other models share the memory with the one that learns.
pub(super) fn there_are(tuning: &Tuning) -> bool {
    matches!(tuning.objective, Objective::Ppo)
        || tuning.reference
        || (tuning.objective.generates() && tuning.rollout != Rollout::Apart)
}

/// The highest moment of a job with companions, overheads included.
pub(super) fn together(job: &Job, run: &TrainingRun) -> Together {
    let played = timeline::most_loaded(job, run, false);
    let (own, steady) = (played.lines(), stays(played.lines_of_step()));
    let standing = standing(job, run);
    let engine = if run.tuning.rollout == Rollout::Apart { Vec::new() } else { engine(job, run) };
    let keeps = run.tuning.rollout == Rollout::Colocated;
    let always: Vec<LineItem> =
        standing.iter().chain(engine.iter().filter(|_| keeps)).cloned().collect();
    let joined = |first: &[LineItem], second: &[LineItem]| {
        let mut lines: Vec<LineItem> = first.iter().chain(second).cloned().collect();
        overhead::add(job, &mut lines);
        sort_by_kind(&mut lines);
        lines
    };
    let mut candidates = vec![(played.name(), joined(&own, &always))];
    if run.tuning.objective == Objective::Ppo {
        candidates.push((
            "when the critic learns",
            joined(&steady, &[critic_learning(job), without_critic(&always)].concat()),
        ));
    }
    if !engine.is_empty() {
        candidates
            .push(("when answers are generated", joined(&steady, &[standing, engine].concat())));
    }
    let total = |lines: &[LineItem]| lines.iter().map(|line| line.bytes).sum::<Bytes>();
    let more = Ledger { lines: always }.by_kind();
    let mut moments = played.moments();
    for moment in &mut moments {
        moment.total += more.into_iter().sum();
    }
    moments.extend(
        candidates.iter().skip(1).map(|(name, lines)| Moment { name, total: total(lines) }),
    );
    let timeline = played.timeline().lifted(&more);
    // Of equal ones the first.
    let highest = candidates
        .into_iter()
        .reduce(|best, other| if total(&other.1) > total(&best.1) { other } else { best });
    let (name, lines) = highest.unwrap_or_default();
    Together { lines, name, stage: played.stage(), moments, timeline }
}

/// Keeps the lines that stay in memory between steps: parameters and optimizer states.
fn stays(lines: Vec<LineItem>) -> Vec<LineItem> {
    lines
        .into_iter()
        .filter(|line| matches!(line.kind, MemoryKind::Parameter | MemoryKind::OptimizerState))
        .collect()
}

/// The lines of a job that learns otherwise, at its peak or between steps.
fn of(job: &Job, tuning: Tuning, at_peak: bool) -> Vec<LineItem> {
    let job = job.with_run(|run| {
        if let Run::Training(run) = run {
            run.tuning = tuning;
        }
    });
    let Some(run) = job.training() else { return Vec::new() };
    let played = timeline::most_loaded(&job, run, false);
    if at_peak { played.lines() } else { stays(played.lines_of_step()) }
}

fn critic(tuning: &Tuning) -> Tuning {
    Tuning { objective: Objective::Value, reference: false, rollout: Rollout::Apart, ..*tuning }
}

/// Lines of one kind under a name of their own.
fn named(
    lines: &[LineItem],
    kind: MemoryKind,
    about: (&'static str, &'static str, Source),
    certainty: Certainty,
) -> Option<LineItem> {
    let bytes: Bytes = lines.iter().filter(|line| line.kind == kind).map(|line| line.bytes).sum();
    let (label, note, source) = about;
    (bytes > Bytes::ZERO).then_some(LineItem {
        kind,
        label,
        bytes,
        tensors: Vec::new(),
        note,
        source,
        certainty,
    })
}

const CRITIC_WEIGHTS: &str = "Critic weights";
const CRITIC_STATES: &str = "Critic optimizer states";

/// Lines of the other models that stay in memory during the whole step, e.g. the reference model's
/// weights.
fn standing(job: &Job, run: &TrainingRun) -> Vec<LineItem> {
    let (tuning, mut lines) = (&run.tuning, Vec::new());
    let modelled = Certainty::Modelled;
    // An adapter on no layer: everything is frozen.
    let frozen = Tuning {
        method: Method::Lora,
        target_modules: Targets::NONE,
        base: tuning.base,
        ..Tuning::FULL
    };
    if tuning.reference {
        let note = "A frozen copy of the model, shared out as the model is.";
        let source = if tuning.objective == Objective::Preference {
            sources::DPO_2023
        } else {
            sources::GRPO_2024
        };
        lines.extend(named(
            &of(job, frozen, false),
            MemoryKind::Parameter,
            ("Reference model", note, source),
            modelled,
        ));
    }
    if tuning.objective == Objective::Ppo {
        let found = of(job, critic(tuning), false);
        let weights = "A model as large as the one that learns, with one number in place of \
            scores; it learns too.";
        let states = "What the optimizer keeps for the critic.";
        lines.extend(named(
            &found,
            MemoryKind::Parameter,
            (CRITIC_WEIGHTS, weights, sources::INSTRUCT_2022),
            Certainty::Assumed,
        ));
        lines.extend(named(
            &found,
            MemoryKind::OptimizerState,
            (CRITIC_STATES, states, sources::INSTRUCT_2022),
            Certainty::Assumed,
        ));
        let reward = of(job, Tuning { objective: Objective::Value, ..frozen }, false);
        let note = "A frozen model as large as the one that learns.";
        lines.extend(named(
            &reward,
            MemoryKind::Parameter,
            ("Reward model", note, sources::INSTRUCT_2022),
            Certainty::Assumed,
        ));
    }
    lines
}

/// The critic's whole step at its peak, in place of the critic's lines in `standing`.
fn critic_learning(job: &Job) -> Vec<LineItem> {
    job.training().map_or(Vec::new(), |run| of(job, critic(&run.tuning), true))
}

fn without_critic(lines: &[LineItem]) -> Vec<LineItem> {
    lines
        .iter()
        .filter(|line| line.label != CRITIC_WEIGHTS && line.label != CRITIC_STATES)
        .cloned()
        .collect()
}

/// The engine's weights, cache and workspace: an instance on as many accelerators of a node as
/// share the weights in training.
fn engine(job: &Job, run: &TrainingRun) -> Vec<LineItem> {
    let layout = job.layout();
    let node = job.cluster().accelerator.accelerators_per_node;
    let ranks = if layout.sharding.shards_parameters() { layout.shards().min(node) } else { 1 };
    let ranks = std::num::NonZeroU64::new(ranks).unwrap_or(std::num::NonZeroU64::MIN);
    let served = ServingRun {
        context_length: run.seq_length,
        concurrent_sequences: run.tuning.rollout_sequences.saturating_mul(ranks.get()),
        prefill_chunk_size: run.seq_length,
        ..ServingRun::plain()
    };
    let serving = job
        .with_layout(ParallelLayout { tensor_model_parallel_size: ranks, ..ParallelLayout::SINGLE })
        .with_run(|run| *run = Run::Serving(served.clone()));
    let list = ops::without_products(&ops::lowering(&serving));
    let found = listed::peak(&serving, &list).0.lines(false);
    let line =
        |kind, label, note| named(&found, kind, (label, note, sources::VLLM), Certainty::Assumed);
    [
        line(
            MemoryKind::Parameter,
            "Engine weights",
            "A second copy in bf16, from which answers are generated.",
        ),
        line(
            MemoryKind::KvCache,
            "Engine cache",
            "Keys and values of the answers that are generated at once, each of the full length.",
        ),
        line(
            MemoryKind::Temporary,
            "Engine workspace",
            "What the engine takes for a moment in prefill.",
        ),
        line(
            MemoryKind::Activation,
            "Engine activations",
            "What the engine takes for a moment in prefill.",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
