//! Rules on sizes: how batch, layers, heads and experts are dealt out, and the micro-batches that
//! a schedule needs.

use std::num::NonZeroU64;

use super::rules::{CHUNKS_ELSEWHERE, INTERLEAVED_ALONE};
use super::{Blocker, towers};
use crate::config::{Division, Job, ParallelLayout, PipelineSchedule, TrainingRun};
use crate::stacks::{NotWith, TensorParallelism, TokenSplit};

/// How the batch is dealt out to ranks.
pub(super) fn batch(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let (batch, ranks) = (run.global_batch_size, job.layout().d());
    if ranks > batch {
        found.push(Blocker::TooManyRanks { batch, ranks });
    } else if !batch.is_multiple_of(ranks) {
        found.push(Blocker::UnevenBatch { batch, ranks });
    }
}

/// How a rank's share of it is dealt out to micro-batches.
pub(super) fn micro_batch(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let (share, ranks) = (run.global_batch_size / job.layout().d(), job.layout().d());
    if let Some(micro_batch) = run.micro_batch_size
        && share > 0
        && run.global_batch_size.is_multiple_of(ranks)
        && !share.is_multiple_of(micro_batch)
    {
        found.push(Blocker::UnevenMicroBatch { share, micro_batch });
    }
}

/// Sizes that context, expert and virtual pipeline degrees must divide.
pub(super) fn own_degrees(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let layout = job.layout();
    let (ranks, ep, chunks, p) = (layout.cp(), layout.ep(), layout.chunks(), layout.p());
    if ranks > 1 && !run.seq_length.is_multiple_of(2 * ranks) {
        found.push(Blocker::Context { seq_length: run.seq_length, pieces: 2 * ranks, ranks });
    }
    if let Some(moe) = &job.model().moe {
        if !moe.num_experts.is_multiple_of(ep) {
            found.push(Blocker::Experts { experts: moe.num_experts, ranks: ep });
        }
        let (stage, group) = (layout.world_size() / p, ep.saturating_mul(layout.etp()));
        if ep > 1 && !stage.is_multiple_of(group) {
            found.push(Blocker::ExpertGroups { ranks: stage, group });
        }
    }
    let layers = job.model().num_hidden_layers;
    let once = ParallelLayout { virtual_pipeline_model_parallel_size: NonZeroU64::MIN, ..*layout };
    if chunks > 1 && once.deals_out(layers) && !layout.deals_out(layers) {
        found.push(Blocker::Chunks { layers, chunks, p });
    }
}

/// Adds the rules of pipeline schedules on stages, chunks and micro-batches that the job breaks.
pub(super) fn pipeline(job: &Job, found: &mut Vec<Blocker>) {
    let (pipeline, chunks) = (job.pipeline(), job.layout().chunks());
    let (p, micro_batches, group) = (pipeline.ranks, pipeline.micro_batches, pipeline.group);
    match pipeline.schedule {
        PipelineSchedule::Interleaved if p == 1 => {
            found.push(Blocker::Framework(&INTERLEAVED_ALONE));
        }
        PipelineSchedule::Interleaved => {
            let left = micro_batches % group.max(1);
            if left > 0 && left < p {
                found.push(Blocker::Groups { micro_batches, group, left, p });
            }
        }
        _ if chunks > 1 => found.push(Blocker::Framework(&CHUNKS_ELSEWHERE)),
        PipelineSchedule::DualPipe => {
            let uneven = !p.is_multiple_of(2)
                || !micro_batches.is_multiple_of(2)
                || micro_batches < p.saturating_mul(2);
            let refused = job
                .training()
                .and_then(|run| run.stack.forbidden(NotWith::DualPipe))
                .map(Blocker::Framework);
            found.extend(
                refused.or_else(|| uneven.then_some(Blocker::DualPipe { p, micro_batches })),
            );
        }
        _ => {}
    }
}

/// Adds a blocker for every size that the tensor-parallel degree does not divide: heads where
/// attention is split, columns where feed-forward layers and experts are split.
fn tensor(job: &Job, found: &mut Vec<Blocker>) {
    let (model, t) = (job.model(), job.layout().t());
    let stack = job.training().map(|run| run.stack);
    let library =
        stack.is_some_and(|stack| stack.tensor_parallelism == TensorParallelism::PlanOfFamily);
    let by_columns =
        stack.is_some_and(|stack| matches!(stack.modules().tokens, TokenSplit::BeforeProducts(_)));
    let plan = model.family.modules().tensor_plan;
    if library && t > 1 && plan.is_none() {
        found.push(Blocker::NoTensorPlan { family: model.family.model_type() });
        return;
    }
    // Experts may be split otherwise than the rest.
    let experts =
        if stack.is_some_and(|stack| stack.has_all_degrees) { job.layout().etp() } else { t };
    let dense = (0..model.num_hidden_layers).any(|layer| model.moe_at(layer).is_none());
    let moe = model.moe.as_ref();
    let shared = moe.map_or(0, |moe| moe.shared_expert_intermediate_size);
    let mut must = |what, size: u64, t: u64| {
        if !size.is_multiple_of(t) {
            found.push(Blocker::Tensor { what, size, t });
        }
    };
    if !(library && plan.is_some_and(|plan| plan.attention == Division::Whole)) {
        let other = model
            .hybrid
            .as_ref()
            .and_then(|hybrid| hybrid.other_heads.as_ref())
            .filter(|_| library);
        let other = other.map(|other| [other.num_attention_heads, other.num_key_value_heads]);
        let usual = [model.num_attention_heads, model.num_key_value_heads];
        for [heads, kv] in
            [Some(usual), other.filter(|other| *other != usual)].into_iter().flatten()
        {
            must("num_attention_heads", heads, t);
            // The library and torchtitan split projections by columns; other software gives several
            // ranks the same head.
            if library || by_columns || !t.is_multiple_of(kv) {
                must("num_key_value_heads", kv, t);
            }
        }
    }
    if dense {
        must("intermediate_size", model.intermediate_size, t);
    }
    must("moe_intermediate_size", moe.map_or(0, |moe| moe.moe_intermediate_size), experts);
    must("shared_expert_intermediate_size", shared, t);
}

pub(super) fn model(job: &Job, found: &mut Vec<Blocker>) {
    let (model, p) = (job.model(), job.layout().p());
    tensor(job, found);
    found.extend(towers::unseen(job).map(Blocker::Images));
    let once =
        ParallelLayout { virtual_pipeline_model_parallel_size: NonZeroU64::MIN, ..*job.layout() };
    if !once.deals_out(model.num_hidden_layers) {
        found.push(Blocker::Pipeline {
            layers: model.num_hidden_layers,
            p,
            split: job.layout().pipeline_split,
        });
    }
}
