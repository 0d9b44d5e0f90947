//! The table itself: data, one entry per figure.

use super::{Amount, Facts, Figure, Unit, Whose};
use crate::config::Run;
use crate::estimator::time::{Term, Timing};
use crate::estimator::{Compute, Headroom, MemoryKind};
use crate::planner::Largest;
use crate::units::{Bytes, to_f64};

const fn figure(
    id: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&Facts) -> Option<Amount>,
) -> Figure {
    Figure { id, label, unit, whose: Whose::Engine, of }
}

/// A figure that the scenario states.
const fn stated(
    id: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&Facts) -> Option<Amount>,
) -> Figure {
    Figure { whose: Whose::Scenario, ..figure(id, label, unit, of) }
}

/// A figure of the moment when the optimizer steps.
const fn at_step(
    id: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&Facts) -> Option<Amount>,
) -> Figure {
    Figure { whose: Whose::AtStep, ..figure(id, label, unit, of) }
}

/// A figure of one of the five documents.
const fn document(
    index: usize,
    id: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&Facts) -> Option<Amount>,
) -> Figure {
    Figure { whose: Whose::Document(index), ..figure(id, label, unit, of) }
}

const GPUS: Unit = Unit::Count("GPUs");
const TOKENS: Unit = Unit::Count("tokens");

/// Every figure.
pub const FIGURES: &[Figure] = &[
    figure("per-gpu", "Memory on the fullest GPU", Unit::Memory, |facts| {
        bytes(facts.estimate.total())
    }),
    stated("capacity", "Memory of one GPU", Unit::Memory, |facts| bytes(facts.estimate.capacity)),
    figure("free", "Free on the fullest GPU", Unit::Memory, |facts| {
        match facts.estimate.headroom() {
            Headroom::Free(free) => bytes(free),
            Headroom::Short(_) => None,
        }
    }),
    figure("short", "Missing on the fullest GPU", Unit::Memory, |facts| {
        match facts.estimate.headroom() {
            Headroom::Free(_) => None,
            Headroom::Short(short) => bytes(short),
        }
    }),
    figure("weights", "Weights on one GPU", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::Parameter))
    }),
    figure("gradients", "Gradients on one GPU at the peak", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::Gradient))
    }),
    figure("optimizer", "Optimizer states on one GPU", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::OptimizerState))
    }),
    figure("activations", "Activations on one GPU", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::Activation))
    }),
    figure("kv-cache", "Key/value cache on one GPU", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::KvCache))
    }),
    figure("temporary", "Temporary memory on one GPU", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::Temporary))
    }),
    figure("framework", "Framework and reserve on one GPU", Unit::Memory, |facts| {
        bytes(facts.kind(MemoryKind::Framework))
    }),
    at_step(
        "gradients-at-step",
        "Gradients on one GPU when the optimizer steps",
        Unit::Memory,
        |facts| bytes(facts.at_step(MemoryKind::Gradient)?),
    ),
    at_step(
        "states",
        "Weights, gradients and optimizer states when the optimizer steps",
        Unit::Memory,
        |facts| bytes(states(facts)?),
    ),
    figure("master-weights", "Master weights on one GPU", Unit::Memory, |facts| {
        line(facts, "Master weights")
    }),
    figure("moments", "Both moments on one GPU", Unit::Memory, |facts| {
        let both =
            [line(facts, "First moment")?.number()?, line(facts, "Second moment")?.number()?];
        number(both.iter().sum())
    }),
    at_step(
        "bytes-per-parameter",
        "Bytes of model states for each parameter",
        Unit::BytesPerParameter,
        |facts| number(states(facts)?.as_f64() / to_f64(facts.estimate.parameters.total)),
    ),
    figure("saved-per-layer", "Saved for backward by one block", Unit::Memory, |facts| {
        bytes(facts.saved_per_layer()?)
    }),
    figure(
        "crossover",
        "Length from which attention scores are most of what a block saves",
        TOKENS,
        |facts| count(facts.crossover()?),
    ),
    figure(
        "growth-doubled",
        "Saved activations at twice the length, over now",
        Unit::Times,
        |facts| number(facts.growth(2)?),
    ),
    figure("first-step", "Highest moment of the first step", Unit::Memory, |facts| {
        bytes(facts.steps()?[0])
    }),
    figure("later-step", "Highest moment of every later step", Unit::Memory, |facts| {
        bytes(facts.steps()?[1])
    }),
    figure("arithmetic", "GPUs by division", GPUS, |facts| or_never(facts.count().arithmetic)),
    figure("runnable", "Fewest GPUs that can run it", GPUS, |facts| {
        or_never(facts.count().runnable.as_ref().map(|runnable| runnable.gpus))
    }),
    stated("gpus", "GPUs of the scenario", GPUS, |facts| count(facts.job.layout().world_size())),
    stated("layers", "Blocks of the model", Unit::Count("layers"), |facts| {
        count(facts.job.model().num_hidden_layers)
    }),
    stated("heads", "Query heads", Unit::Count("heads"), |facts| {
        count(facts.job.model().num_attention_heads)
    }),
    stated("kv-heads", "Key/value heads", Unit::Count("heads"), |facts| {
        count(facts.job.model().num_key_value_heads)
    }),
    stated("hidden-size", "Width of the model", Unit::Count(""), |facts| {
        count(facts.job.model().hidden_size)
    }),
    stated("head-dim", "Width of a head", Unit::Count(""), |facts| {
        count(facts.job.model().head_dim)
    }),
    stated(
        "micro-batch",
        "Sequences that a GPU holds at once",
        Unit::Count("sequences"),
        |facts| {
            facts.job.training()?;
            count(facts.job.micro_batch_size())
        },
    ),
    stated("requests", "Requests served at once", Unit::Count("requests"), |facts| {
        match facts.job.run() {
            Run::Serving(run) => count(run.concurrent_sequences),
            Run::Training(_) => None,
        }
    }),
    stated("seq-length", "Tokens of one sequence", TOKENS, |facts| count(facts.job.seq_length())),
    stated("global-batch", "Sequences of one optimizer step", Unit::Count("sequences"), |facts| {
        count(facts.job.training()?.global_batch_size)
    }),
    stated("parameters", "Parameters of the model", Unit::Count("parameters"), |facts| {
        count(facts.estimate.parameters.total)
    }),
    stated("trainable", "Parameters that learn", Unit::Count("parameters"), |facts| {
        count(facts.estimate.parameters.trainable)
    }),
    figure("longest-sequence", "Longest sequence that fits", TOKENS, |facts| {
        or_never(facts.inverse().longest_seq)
    }),
    figure("largest-batch", "Largest micro-batch that fits", Unit::Count("sequences"), |facts| {
        facts.job.training()?;
        or_never(facts.inverse().largest_batch)
    }),
    figure(
        "kv-per-token",
        "Keys and values of one token, all layers and GPUs",
        Unit::Memory,
        |facts| bytes(facts.estimate.kv_cache_per_token?),
    ),
    figure("kv-per-sequence", "Keys and values of one whole context", Unit::Memory, |facts| {
        bytes(crate::estimator::time::cache_per_sequence(&facts.job)?)
    }),
    figure(
        "state-per-sequence",
        "State of one request, whatever its length, on one GPU",
        Unit::Memory,
        |facts| {
            facts.job.model().mixer()?;
            // Each token adds the same keys and values: the second as many as the first, and as one
            // more later.
            let cached = |tokens| {
                crate::estimator::time::cache_per_sequence(&facts.job.with_seq_length(tokens))
            };
            let [one, two] = [cached(1)?, cached(2)?];
            bytes(one.saturating_sub(two.saturating_sub(one)))
        },
    ),
    figure("image-tokens", "Tokens that the images of one sequence become", TOKENS, |facts| {
        let images = match facts.job.run() {
            Run::Training(run) => run.images,
            Run::Serving(run) => run.images,
        };
        let seen = facts.job.model().tower.as_ref()?.seen(images)?;
        (images.per_sequence > 0).then(|| count(seen.tokens.saturating_mul(images.per_sequence)))?
    }),
    figure("at-once", "Requests of the whole context at once", Unit::Count("requests"), |facts| {
        largest(facts.serving()?.at_once)
    }),
    figure("longest-context", "Longest context that fits", TOKENS, |facts| {
        largest(facts.serving()?.longest)
    }),
    figure("users-arithmetic", "GPUs for the users by division", GPUS, |facts| {
        or_never(facts.serving()?.users?.arithmetic)
    }),
    figure("users-runnable", "Fewest GPUs for the users", GPUS, |facts| {
        or_never(facts.serving()?.users?.runnable.map(|instances| instances.gpus))
    }),
    figure("users-each", "Users on one instance", Unit::Count("users"), |facts| {
        or_never(facts.serving()?.users?.runnable.map(|instances| instances.users_each))
    }),
    figure("first-token", "Time to the first token", Unit::Seconds, |facts| match facts.timing() {
        Timing::Serving(time) => number(time.first_token.0),
        _ => None,
    }),
    figure(
        "served-tokens",
        "Tokens per second of one instance",
        Unit::PerSecond("tokens"),
        |facts| match facts.timing() {
            Timing::Serving(time) => number(time.tokens_per_second),
            _ => None,
        },
    ),
    figure("step-time", "Time of one step", Unit::Seconds, |facts| match facts.timing() {
        Timing::Training { step, .. } => number(step.seconds.0),
        _ => None,
    }),
    figure(
        "tokens-per-second",
        "Tokens per second, all GPUs",
        Unit::PerSecond("tokens"),
        |facts| match facts.timing() {
            Timing::Training { step, .. } => number(step.tokens_per_second),
            _ => None,
        },
    ),
    figure("utilisation", "Utilisation (MFU)", Unit::Share, |facts| match facts.timing() {
        Timing::Training { step, .. } => number(step.mfu),
        _ => None,
    }),
    figure("days", "Days of the whole training", Unit::Days, |facts| match facts.timing() {
        Timing::Training { cost, .. } => number(cost.seconds.days()),
        _ => None,
    }),
    figure("cost", "Cost of the whole training", Unit::Money, |facts| match facts.timing() {
        Timing::Training { cost, .. } => number(cost.price),
        _ => None,
    }),
    figure("training-flops", "Operations of the whole training", Unit::Flops, |facts| {
        number(facts.estimate.compute?.total.0)
    }),
    figure(
        "recompute-cost",
        "Operations with recomputation, over those without",
        Unit::Share,
        |facts| {
            number(facts.estimate.compute.as_ref().map(|compute: &Compute| compute.hfu_over_mfu)?)
        },
    ),
    figure("time-gradients", "Time to sum gradients over ranks", Unit::Seconds, |facts| {
        number(facts.term(Term::Gradients)?)
    }),
    figure("time-weights", "Time to gather weights from ranks", Unit::Seconds, |facts| {
        number(facts.term(Term::Weights)?)
    }),
    figure("time-tensor", "Time of tensor-parallel messages", Unit::Seconds, |facts| {
        number(facts.term(Term::Tensor)?)
    }),
    figure("time-pipeline", "Time of messages between stages", Unit::Seconds, |facts| {
        number(facts.term(Term::Pipeline)?)
    }),
    figure("time-bubble", "Time that a stage waits for others", Unit::Seconds, |facts| {
        number(facts.term(Term::Bubble)?)
    }),
    figure("time-recompute", "Time of forward work done again", Unit::Seconds, |facts| {
        number(facts.term(Term::Recompute)?)
    }),
    figure("bubble-share", "Share of the step that a stage waits", Unit::Share, |facts| {
        let Timing::Training { step, .. } = facts.timing() else { return None };
        number(facts.term(Term::Bubble)? / step.seconds.0)
    }),
    figure("stage-first", "Memory of the first pipeline stage", Unit::Memory, |facts| {
        bytes(facts.stages().first()?.total())
    }),
    figure("stage-last", "Memory of the last pipeline stage", Unit::Memory, |facts| {
        bytes(facts.stages().last()?.total())
    }),
    figure(
        "stage-most",
        "The pipeline stage that holds most, counted from 1",
        Unit::Count(""),
        |facts| count(facts.estimate.peak_stage.saturating_add(1)),
    ),
    figure("host", "Waiting in host memory for one GPU", Unit::Memory, |facts| {
        bytes(facts.estimate.host.total())
    }),
    document(0, "ju-2026-per-gpu", "Memory per GPU by Li Ju 2026", Unit::Memory, |facts| {
        by_document(facts, 0)
    }),
    document(1, "eleuther-per-gpu", "Memory per GPU by EleutherAI", Unit::Memory, |facts| {
        by_document(facts, 1)
    }),
    document(
        2,
        "capacity-planning-per-gpu",
        "Memory per GPU by the capacity planning note",
        Unit::Memory,
        |facts| by_document(facts, 2),
    ),
    document(
        3,
        "distributed-overview-per-gpu",
        "Memory per GPU by the distributed overview",
        Unit::Memory,
        |facts| by_document(facts, 3),
    ),
    document(4, "solenya-per-gpu", "Memory per GPU by Solenya", Unit::Memory, |facts| {
        by_document(facts, 4)
    }),
    document(0, "ju-2026-arithmetic", "GPUs by division in Li Ju 2026", GPUS, |facts| {
        or_never(facts.document(0).gpus.arithmetic)
    }),
    document(
        0,
        "ju-2026-runnable",
        "GPUs that can run by the memory of Li Ju 2026",
        GPUS,
        |facts| or_never(facts.document(0).gpus.runnable),
    ),
    document(0, "ju-2026-stated", "GPUs as Li Ju 2026 prints them", GPUS, |facts| {
        or_never(facts.own_story()?.stated)
    }),
    document(
        0,
        "ju-2026-one-sequence",
        "Activations of one sequence by Li Ju 2026",
        Unit::Memory,
        |facts| bytes(facts.own_story()?.one_sequence),
    ),
    document(
        2,
        "capacity-planning-arithmetic",
        "GPUs by the capacity planning note",
        GPUS,
        |facts| or_never(facts.document(2).gpus.arithmetic),
    ),
];

fn bytes(bytes: Bytes) -> Option<Amount> {
    number(bytes.as_f64())
}

fn count(count: u64) -> Option<Amount> {
    number(to_f64(count))
}

fn number(number: f64) -> Option<Amount> {
    number.is_finite().then_some(Amount::Number(number))
}

#[expect(clippy::unnecessary_wraps, reason = "as the table's functions return it")]
fn or_never(count: Option<u64>) -> Option<Amount> {
    Some(count.map_or(Amount::Never, |count| Amount::Number(to_f64(count))))
}

fn largest(largest: Option<Largest>) -> Option<Amount> {
    or_never(largest.map(|largest| largest.value))
}

fn states(facts: &Facts) -> Option<Bytes> {
    [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState]
        .into_iter()
        .map(|kind| facts.at_step(kind))
        .sum()
}

/// All lines with that label.
fn line(facts: &Facts, label: &str) -> Option<Amount> {
    let lines = facts.estimate.ledger.lines.iter().filter(|line| line.label == label);
    let total: Bytes = lines.map(|line| line.bytes).sum();
    (total > Bytes::ZERO).then(|| bytes(total)).flatten()
}

fn by_document(facts: &Facts, index: usize) -> Option<Amount> {
    let answer = facts.document(index);
    answer.covered.then(|| bytes(answer.per_gpu_total)).flatten()
}
