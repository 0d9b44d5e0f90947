//! How long one optimizer step takes, as a ledger of terms read off the record, and what a whole
//! training costs.
//!
//! Three parts, so that a planner can ask for a million layouts a second: [`block_times`] gives the
//! seconds of one layer of each kind for a [`BlockKey`] (of stacks whose modules are played from
//! what their primitives do, of others from [`crate::ops::megatron`]);
//! [`StepTime::assemble`] puts a layout's step together from them by arithmetic alone; [`step`]
//! does both for a job and says in words where each figure comes from. The efficiency model is in
//! `machine.rs` and nowhere else.

mod assemble;
mod block;
mod cost;
mod fixed;
mod kernels;
mod machine;
mod paces;
mod serving;
mod spread;
mod timing;
mod updating;

pub use assemble::{StepTime, Term};
pub(super) use block::Clock;
pub use block::{BlockKey, BlockTime, BlockTimes, PhaseTime, block_times, key};
pub use cost::{Cost, IDLE_SHARE, at_pace, cost};
pub(super) use kernels::Timed;
pub(super) use paces::Paces;
pub(crate) use serving::gpu_hours_per_million;
pub use serving::{
    Bound, MessageTimes, Pace, ServedTraffic, ServingTime, SpeculativeStep, Traffic,
    cache_per_sequence, first_token_and_step, serving,
};
pub(super) use serving::{times_of_request, times_of_serving};
pub use spread::{Load, Schedule, Spread};
pub use timing::{Timing, Unknown, timing};

use super::Compute;
use super::ledger::Certainty;
use super::megatron::schedule;
use crate::config::{Job, TrainingRun};
use crate::ops;
use crate::sharding::Pieces;
use crate::sources::{self, Source};
use crate::units::{Flops, Seconds, to_f64};

/// One line of a step's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLine {
    /// The work that takes the time.
    pub term: Term,
    /// Name shown to people.
    pub label: &'static str,
    /// How long, on the stage that works longest.
    pub seconds: Seconds,
    /// How it is found, in words.
    pub formula: &'static str,
    /// How sure it is.
    pub certainty: Certainty,
    /// Where the rule comes from.
    pub source: Source,
}

/// The time of one optimizer step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Terms that take time, in the order of [`Term`].
    pub lines: Vec<TimeLine>,
    /// Seconds of the whole step.
    pub seconds: Seconds,
    /// Model FLOPs of the step, as a share of the FLOPs that all accelerators could do in that time
    /// at their 16-bit peak.
    pub mfu: f64,
    /// Hardware FLOPs utilization: `mfu` with recomputed FLOPs counted.
    pub hfu: f64,
    /// Tokens per second, all accelerators together.
    pub tokens_per_second: f64,
    /// Tokens per second that are no padding, all accelerators together.
    pub useful_tokens_per_second: f64,
    /// Model FLOPs per second of one accelerator.
    pub flops_per_second: f64,
}

/// Returns the time of one optimizer step of a training job, term by term in seconds, with MFU and
/// tokens per second.
///
/// Symbols: `T` seconds of the step, `F` model FLOPs of the step, `N` ranks, `P` FLOPs per second
/// of one accelerator at its 16-bit peak. Formulas: `MFU = F / (T · N · P)`, tokens per second `=
/// seq_length · global_batch_size / T`.
///
/// Assumes that micro-batches are alike, that the slowest stage sets the pace, and that no rank
/// waits for data or the processor. `None` when serving, and where the accelerator's peak or memory
/// bandwidth is unknown.
///
/// ```
/// use headroom::estimator::time::step;
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8&gpu=h100").scenario.resolve();
/// let step = job.map(|job| step(&job)).map_err(|problems| problems.len())?.expect("known rates");
/// let terms: f64 = step.lines.iter().map(|line| line.seconds.0).sum();
/// assert!((terms - step.seconds.0).abs() < 1e-9 * terms);
/// assert!(step.mfu > 0.0 && step.mfu <= step.hfu && step.hfu < 1.0);
/// # Ok::<(), usize>(())
/// ```
pub fn step(job: &Job) -> Option<Step> {
    let list = ops::lower(&ops::lowering(job));
    step_with(job, &super::compute::compute(job, &list)?)
}

/// The step of a training job whose compute is known; `None` as in [`step`].
fn step_with(job: &Job, compute: &Compute) -> Option<Step> {
    let run = job.training()?;
    let times = block_times(job)?;
    let spread = spread(job)?;
    let time = StepTime::assemble(&times, &spread);
    let seconds = time.total();
    let tokens = to_f64(run.seq_length) * to_f64(run.global_batch_size);
    let peak = job.cluster().accelerator.peak.of(run.recipe().activation)? * 1e12;
    let ranks = to_f64(job.layout().world_size());
    let Flops(model) = compute.model_flops_per_step();
    let mfu = model / (seconds * peak * ranks);
    let measured = job.cluster().speed.matmul_16bit.is_some();
    // Packed texts count as if all had the mean length.
    let sure = |term| measured && !(term == Term::Attention && run.packed_text().is_some());
    let line = |term| line((term, time.of(term)), sure(term), run);
    let lines = Term::ALL.into_iter().map(line).filter(|line| line.seconds.0 > 0.0).collect();
    Some(Step {
        lines,
        seconds: Seconds(seconds),
        mfu,
        hfu: mfu * compute.hfu_over_mfu,
        tokens_per_second: tokens / seconds,
        useful_tokens_per_second: run.useful_tokens_per_step() / seconds,
        flops_per_second: model / (seconds * ranks),
    })
}

/// Returns the numbers of a training job's layout from which [`StepTime::assemble`] puts a step
/// together; `None` when serving.
pub fn spread(job: &Job) -> Option<Spread> {
    Some(spread_with(job, stage_loads(job)?))
}

/// Work of the first stage, of each stage between, and of the last for a micro-batch; `None` when
/// serving.
fn stage_loads(job: &Job) -> Option<[Load; 3]> {
    let run = job.training()?;
    let layout = job.layout();
    let mut indices = vec![0, 1, layout.p().saturating_sub(1)];
    indices.retain(|index| *index < layout.p());
    indices.dedup();
    let stages: Vec<_> =
        indices.into_iter().map(|index| schedule::stage(job, run, index)).collect();
    let mut loads = [Load::default(); 3];
    for (load, stage) in loads.iter_mut().zip(&stages) {
        *load = self::load(stage);
    }
    even_out(job, &mut loads);
    // The second stands for all between the first and the last.
    let between = layout.p().saturating_sub(2);
    if let ([_, second, _], 3) = (&mut loads, stages.len()) {
        second.stages = to_f64(between);
    }
    Some(loads)
}

/// The numbers of a layout with these stages.
fn spread_with(job: &Job, loads: [Load; 3]) -> Spread {
    let layout = job.layout();
    let wraps = job.training().is_none_or(|run| run.library.wraps_blocks);
    let is_one_unit = layout.sharding.pieces == Pieces::OfOneVectorPerGroup && !wraps;
    Spread {
        loads,
        pipeline: to_f64(layout.p()),
        schedule: Schedule::of(&job.pipeline()),
        micro_batches: to_f64(job.gradient_accumulation_steps()),
        tensor: to_f64(layout.t()),
        copies: to_f64(layout.d().saturating_mul(layout.cp())),
        expert_copies: to_f64(layout.expert_data_parallel_size()),
        expert_stride: to_f64(layout.ep().saturating_mul(layout.etp())),
        sharding: layout.sharding,
        // One unit of FSDP1 is the root's, which is not given back between forward and backward.
        reshard: layout.reshard_after_forward && !is_one_unit,
        reduce_once: layout.reduce_once,
    }
}

/// Where layers do not divide, frameworks leave them out on the last stage and then on the first,
/// which hold head and embedding.
fn even_out(job: &Job, loads: &mut [Load; 3]) {
    let (layers, p, chunks) =
        (job.model().num_hidden_layers, job.layout().p(), job.layout().chunks());
    let places =
        layers.div_ceil(p.saturating_mul(chunks).max(1)).saturating_mul(chunks).saturating_mul(p);
    let missing = places.saturating_sub(layers);
    let (last, first) = (missing.div_ceil(2), missing / 2);
    for load in loads.iter_mut() {
        let fewer = to_f64(if p == 1 {
            0
        } else {
            u64::from(load.head) * last + u64::from(load.embedding) * first
        });
        let all = load.dense[0] + load.experts[0];
        if all > fewer {
            let share = (all - fewer) / all;
            load.dense = load.dense.map(|count| count * share);
            load.experts = load.experts.map(|count| count * share);
        }
    }
}

fn load(stage: &schedule::Stage) -> Load {
    let mut load = Load {
        embedding: stage.embedding.is_some(),
        head: stage.head.is_some(),
        stages: 1.0,
        ..Load::default()
    };
    for place in stage.chunks.iter().flatten() {
        let again = if place.covered == schedule::Covered::No { 0.0 } else { 1.0 };
        let [count, recomputed] = match place.kind {
            schedule::Kind::Dense => &mut load.dense,
            schedule::Kind::Experts => &mut load.experts,
        };
        *count += 1.0;
        *recomputed += again;
    }
    load
}

/// A term's line: its name, how it is found and how sure that is. Rates are assumed on an
/// accelerator on which nothing was measured.
fn line((term, seconds): (Term, f64), measured: bool, run: &TrainingRun) -> TimeLine {
    use Certainty::{Assumed, Modelled};
    let (label, formula, certainty, source) = match term {
        Term::Products => (
            "Matrix products",
            "by compute or by memory bandwidth, whichever is slower",
            Modelled,
            sources::MATMUL_CEILING,
        ),
        Term::Attention => (
            "Attention",
            "at the kernel's published speed; where scores are kept in memory, product by product",
            Modelled,
            sources::FLASH_ATTENTION_2023,
        ),
        Term::Streams => (
            "Norms, activation functions, sums, loss",
            "bytes read and written over the memory's bandwidth",
            Modelled,
            sources::ROOFLINE,
        ),
        Term::Tensor => ("Tensor-parallel messages", RING, Modelled, sources::NCCL_TUNING),
        Term::Context => ("Context-parallel messages", RING, Modelled, sources::NCCL_TUNING),
        Term::Experts => {
            ("Tokens on their way to experts and back", RING, Modelled, sources::NCCL_TUNING)
        }
        Term::Recompute => (
            "Recomputation",
            "forward work of recomputed layers or modules once more",
            Modelled,
            sources::KORTHIKANTI_2022,
        ),
        Term::Bubble => (
            "Waiting for other pipeline stages",
            "one micro-batch on all other stages, over the chunks that take turns",
            Modelled,
            sources::MEGATRON_2021,
        ),
        Term::Pipeline => {
            ("Messages between pipeline stages", RING, Modelled, sources::NCCL_TUNING)
        }
        Term::Gradients => {
            ("Gradients summed over data-parallel ranks", RING, Assumed, sources::NCCL_TUNING)
        }
        Term::Weights => {
            ("Weights gathered from data-parallel ranks", RING, Assumed, sources::NCCL_TUNING)
        }
        Term::Optimizer => {
            let streamed = "bytes of weights, gradients and states over the memory's bandwidth";
            let formula = run.optimizer.spec().work.map_or(streamed, |work| work.formula);
            ("Optimizer", formula, Modelled, sources::ROOFLINE)
        }
    };
    let certainty = if term.computes() && !measured { Assumed } else { certainty };
    TimeLine { term, label, seconds: Seconds(seconds), formula, certainty, source }
}

/// How messages are timed.
const RING: &str = "bytes over the slowest link of the ring, and a latency for each step, less what runs beside it";
