//! Changes that lift a rule which forbids a training: each of a single input, with the nearest
//! value that lets the job run.

use std::num::NonZeroU64;

use super::count::divisors;
use super::fixes::{Candidate, Change, deeper};
use crate::config::{
    AttentionKernel, DataSharding, Job, ParallelLayout, PipelineSplit, Recompute, Run,
};
use crate::estimator::{blockers, estimate};
use crate::units::{sort_short, whole};

/// For each input that a rule can be about, the change to its nearest value with which the job
/// runs; empty where no rule forbids the job.
///
/// The number of accelerators stays: those that another degree leaves over become data-parallel
/// ranks.
pub(super) fn lifting(job: &Job) -> Vec<Candidate> {
    let mut list = Vec::new();
    if job.training().is_none() || blockers(job).is_empty() {
        return list;
    }
    let mut found = None;
    for (input, change) in changes(job) {
        if found == Some(input) {
            continue;
        }
        let (Some(title), Some(changed)) = (title(change), with(job, change)) else { continue };
        // Rules are checked first, because an estimate takes longer.
        if blockers(&changed).is_empty() && estimate(&changed).runs() {
            found = Some(input);
            list.push((change, title, changed));
        }
    }
    list
}

/// Changes of one input after the other, each with the input's number; the nearest values first.
fn changes(job: &Job) -> Vec<(u8, Change)> {
    let layout = job.layout();
    let (t, p, d) = (layout.t(), layout.p(), layout.d());
    let experts = job.model().moe.as_ref().map_or(1, |moe| moe.num_experts);
    let mut all = Vec::with_capacity(32);
    let batch = job.training().map_or(1, |run| run.global_batch_size);
    nearest(&mut all, 0, batch, batches(job, batch), Change::GlobalBatch);
    if p > 1 && layout.pipeline_split == PipelineSplit::Even {
        all.push((1, Change::EndsAsLayers));
    }
    nearest(&mut all, 2, p, divisors(p.saturating_mul(d)), Change::Pipeline);
    nearest(&mut all, 3, t, divisors(t.saturating_mul(d)), Change::Tensor);
    nearest(&mut all, 4, layout.ep(), divisors(experts), Change::Expert);
    let (sharing, others): (Vec<_>, Vec<_>) = DataSharding::ALL
        .into_iter()
        .filter(|sharding| sharding.way_out.is_some())
        .partition(|sharding| sharding.shards_optimizer());
    for sharding in sharing.into_iter().chain(others) {
        // Ways that share out more are offered wherever something does not run.
        if sharding != layout.sharding && !deeper(sharding, layout.sharding) {
            all.push((5, Change::Sharding(sharding)));
        }
    }
    if let Some(run) = job.training() {
        // Blocks of a vision tower that are recomputed are not described under every sharding, and
        // some models have only attention that is written out.
        if run.recompute != Recompute::None && run.images.per_sequence > 0 {
            all.push((6, Change::Recompute(Recompute::None)));
        }
        if run.attention != AttentionKernel::Standard {
            all.push((7, Change::Attention(AttentionKernel::Standard)));
        }
    }
    all.extend(images(job).into_iter().map(|images| (8, Change::Images(images))));
    all
}

/// Numbers of images to try: as many as the text has room for, and none.
fn images(job: &Job) -> Vec<u64> {
    let Some(run) = job.training().filter(|run| run.images.per_sequence > 0) else {
        return Vec::new();
    };
    let tokens =
        job.model().tower.as_ref().and_then(|tower| tower.seen(run.images)).map(|seen| seen.tokens);
    let most = tokens.and_then(|tokens| run.seq_length.checked_div(tokens)).unwrap_or(0);
    Some(most)
        .filter(|most| (1..run.images.per_sequence).contains(most))
        .into_iter()
        .chain([0])
        .collect()
}

/// The nearest batches that ranks and micro-batches share evenly.
fn batches(job: &Job, batch: u64) -> Vec<u64> {
    let ranks = job.micro_batch_size().saturating_mul(job.layout().d());
    let below = batch - batch % ranks;
    vec![below, below.saturating_add(ranks)]
}

/// Adds the values of an input other than the present one and 0, the nearest by their ratio first.
fn nearest(
    all: &mut Vec<(u8, Change)>,
    input: u8,
    now: u64,
    mut values: Vec<u64>,
    change: fn(u64) -> Change,
) {
    // a / now < b / now, whichever is the larger in each.
    let nearer = |a: u64, b: u64| {
        a.max(now).saturating_mul(b.min(now)) < b.max(now).saturating_mul(a.min(now))
    };
    sort_short(&mut values, |a, b| nearer(*a, *b));
    for value in values {
        if value != now && value > 0 {
            all.push((input, change(value)));
        }
    }
}

/// The job with a change; `None` where the accelerators do not divide by its degrees.
fn with(job: &Job, change: Change) -> Option<Job> {
    let mut layout = *job.layout();
    match change {
        Change::GlobalBatch(batch) => {
            return Some(job.with_run(|run| {
                if let Run::Training(run) = run {
                    run.global_batch_size = batch;
                }
            }));
        }
        Change::Images(images) => {
            return Some(job.with_run(|run| {
                if let Run::Training(run) = run {
                    run.images.per_sequence = images;
                }
            }));
        }
        Change::Recompute(_) | Change::Attention(_) => {
            return Some(job.with_run(|run| {
                if let Run::Training(run) = run {
                    match change {
                        Change::Recompute(recompute) => run.recompute = recompute,
                        Change::Attention(attention) => run.attention = attention,
                        _ => {}
                    }
                }
            }));
        }
        Change::EndsAsLayers => layout.pipeline_split = PipelineSplit::WithEnds,
        Change::Pipeline(p) => layout.pipeline_model_parallel_size = NonZeroU64::new(p)?,
        Change::Tensor(t) => layout.tensor_model_parallel_size = NonZeroU64::new(t)?,
        Change::Expert(ep) => layout.expert_model_parallel_size = NonZeroU64::new(ep)?,
        Change::Sharding(sharding) => layout.sharding = sharding,
        _ => return None,
    }
    let (world, others) = (job.layout().world_size(), layout.world_size() / layout.d());
    let data_parallel_size =
        NonZeroU64::new(world / others).filter(|_| world.is_multiple_of(others))?;
    Some(job.with_layout(ParallelLayout { data_parallel_size, ..layout }))
}

/// The text on the button.
fn title(change: Change) -> Option<String> {
    let (what, to) = match change {
        Change::GlobalBatch(batch) => ("Global batch of", batch),
        Change::Pipeline(p) => ("Pipeline degree", p),
        Change::Tensor(t) => ("Tensor degree", t),
        Change::Expert(ep) => ("Expert degree", ep),
        Change::Sharding(sharding) => return sharding.way_out.map(str::to_owned),
        Change::Recompute(Recompute::None) => return Some("Recompute nothing".to_owned()),
        Change::Attention(AttentionKernel::Standard) => {
            return Some("Use standard attention".to_owned());
        }
        Change::Images(0) => return Some("Texts alone".to_owned()),
        Change::Images(1) => return Some("One image per sequence".to_owned()),
        Change::Images(images) => return Some(format!("{} images per sequence", whole(images))),
        Change::EndsAsLayers => return Some("Count embedding and loss as layers".to_owned()),
        _ => return None,
    };
    Some(format!("{what} {}", whole(to)))
}
