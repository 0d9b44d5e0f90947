//! Rules that forbid a layout whatever the memory. They are values, not errors.

use thiserror::Error;

use crate::config::{DataSharding, Family, Job, Kernels, Run, TrainingRun};

/// A rule that the layout breaks; its text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Blocker {
    /// More ranks than sequences.
    #[error("a global batch of {batch} has work for at most {batch} data-parallel ranks, not {ranks}")]
    TooManyRanks {
        /// Sequences in the global batch.
        batch: u64,
        /// Data-parallel ranks.
        ranks: u64,
    },
    /// The batch cannot be dealt out evenly.
    #[error("{batch} sequences do not split evenly over {ranks} data-parallel ranks")]
    UnevenBatch {
        /// Sequences in the global batch.
        batch: u64,
        /// Data-parallel ranks.
        ranks: u64,
    },
    /// The share of a rank is not a whole number of micro-batches.
    #[error("{share} sequences per data-parallel rank are not a whole number of micro-batches of {micro_batch}")]
    UnevenMicroBatch {
        /// Sequences per rank.
        share: u64,
        /// Micro-batch size.
        micro_batch: u64,
    },
    /// Something does not divide by the tensor degree.
    #[error("{what} ({size}) does not divide by the tensor-parallel degree {t}")]
    Tensor {
        /// What is split.
        what: &'static str,
        /// Its size.
        size: u64,
        /// Tensor degree.
        t: u64,
    },
    /// The library does not split the family's modules.
    #[error("transformers 5.23 has no tensor-parallel plan for {family}; use 1 tensor-parallel rank or another software stack")]
    NoTensorPlan {
        /// The `model_type`.
        family: &'static str,
    },
    /// Layers do not divide by the pipeline degree.
    #[error("{layers} layers do not divide by the pipeline degree {p}")]
    Pipeline {
        /// Blocks.
        layers: u64,
        /// Pipeline degree.
        p: u64,
    },
    /// Context-parallel ranks each take two pieces of a sequence, so that causal attention gives all the same work.
    #[error(
        "a sequence of {seq_length} tokens does not split into {pieces} equal pieces, two for each of {ranks} context-parallel ranks"
    )]
    Context {
        /// Tokens of a sequence.
        seq_length: u64,
        /// Pieces wanted.
        pieces: u64,
        /// Context-parallel ranks.
        ranks: u64,
    },
    /// Experts cannot be dealt out evenly.
    #[error("{experts} experts do not split evenly over {ranks} expert-parallel ranks")]
    Experts {
        /// Experts in a layer.
        experts: u64,
        /// Expert-parallel ranks.
        ranks: u64,
    },
    /// The ranks of a stage cannot be grouped for the experts.
    #[error("{ranks} ranks of a pipeline stage do not split into groups of {group} for the experts")]
    ExpertGroups {
        /// Tensor-, context- and data-parallel ranks of a stage.
        ranks: u64,
        /// Expert-parallel times expert-tensor-parallel ranks.
        group: u64,
    },
    /// Blocks do not divide into the chunks of an interleaved pipeline.
    #[error("{layers} layers do not divide into {chunks} chunks on each of {p} pipeline stages")]
    Chunks {
        /// Blocks.
        layers: u64,
        /// Chunks of a stage.
        chunks: u64,
        /// Pipeline degree.
        p: u64,
    },
    /// `DeepSpeed` forbids pipelines with ZeRO 2 and 3.
    #[error("DeepSpeed does not combine pipeline parallelism with ZeRO stage 2 or 3; use stage 1 or FSDP")]
    PipelineWithZero,
}

impl Blocker {
    /// Whether it is the same rule, whatever the numbers; rules on sizes of different parts count as different.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tensor { what, .. }, Self::Tensor { what: other, .. }) => what == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// All rules the job's layout breaks.
pub(super) fn blockers(job: &Job) -> Vec<Blocker> {
    let mut found = Vec::new();
    model(job, &mut found);
    if let Run::Training(run) = job.run() {
        megatron(job, run, &mut found);
        let (batch, ranks) = (run.global_batch_size, job.layout().d());
        if ranks > batch {
            found.push(Blocker::TooManyRanks { batch, ranks });
        } else if !batch.is_multiple_of(ranks) {
            found.push(Blocker::UnevenBatch { batch, ranks });
        } else if let Some(micro_batch) = run.micro_batch_size
            && !(batch / ranks).is_multiple_of(micro_batch)
        {
            found.push(Blocker::UnevenMicroBatch { share: batch / ranks, micro_batch });
        }
        if job.layout().p() > 1 && matches!(job.layout().sharding, DataSharding::Zero2 | DataSharding::Zero3) {
            found.push(Blocker::PipelineWithZero);
        }
    }
    found
}

/// What Megatron-LM's own degrees must divide.
fn megatron(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
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
    if chunks > 1 && layers.is_multiple_of(p) && !layers.is_multiple_of(p.saturating_mul(chunks)) {
        found.push(Blocker::Chunks { layers, chunks, p });
    }
}

/// What tensor-parallel ranks must divide: heads where attention is split, columns where feed-forward layers and experts are.
fn tensor(job: &Job, found: &mut Vec<Blocker>) {
    let (model, t) = (job.model(), job.layout().t());
    let library = job.training().is_some_and(|run| run.kernels == Kernels::Eager);
    if library && t > 1 && !model.family.has_tensor_plan() {
        found.push(Blocker::NoTensorPlan { family: model.family.model_type() });
        return;
    }
    // Megatron-LM may split experts otherwise than the rest.
    let megatron = job.training().is_some_and(|run| run.kernels == Kernels::Megatron);
    let experts = if megatron { job.layout().etp() } else { t };
    let dense = (0..model.num_hidden_layers).any(|layer| model.moe_at(layer).is_none());
    let moe = model.moe.as_ref();
    let shared = moe.map_or(0, |moe| moe.shared_expert_intermediate_size);
    let mut must = |what, size: u64, t: u64| {
        if !size.is_multiple_of(t) {
            found.push(Blocker::Tensor { what, size, t });
        }
    };
    if !(library && model.family == Family::DeepseekV3) {
        must("num_attention_heads", model.num_attention_heads, t);
        let kv = model.num_key_value_heads;
        // The library splits projections by columns; other software gives several ranks the same head.
        if library || !t.is_multiple_of(kv) {
            must("num_key_value_heads", kv, t);
        }
    }
    if dense {
        must("intermediate_size", model.intermediate_size, t);
    }
    must("moe_intermediate_size", moe.map_or(0, |moe| moe.moe_intermediate_size), experts);
    must("shared_expert_intermediate_size", shared, t);
}

fn model(job: &Job, found: &mut Vec<Blocker>) {
    let (model, p) = (job.model(), job.layout().p());
    tensor(job, found);
    if !model.num_hidden_layers.is_multiple_of(p) {
        found.push(Blocker::Pipeline { layers: model.num_hidden_layers, p });
    }
}
