//! Rules that forbid a layout whatever the memory. They are values, not errors.

use thiserror::Error;

use crate::config::{DataSharding, Job, Run};

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
    /// Layers do not divide by the pipeline degree.
    #[error("{layers} layers do not divide by the pipeline degree {p}")]
    Pipeline {
        /// Blocks.
        layers: u64,
        /// Pipeline degree.
        p: u64,
    },
    /// `DeepSpeed` forbids pipelines with ZeRO 2 and 3.
    #[error("DeepSpeed does not combine pipeline parallelism with ZeRO stage 2 or 3; use stage 1 or FSDP")]
    PipelineWithZero,
}

/// All rules the job's layout breaks.
pub(super) fn blockers(job: &Job) -> Vec<Blocker> {
    let mut found = Vec::new();
    model(job, &mut found);
    if let Run::Training(run) = job.run() {
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

fn model(job: &Job, found: &mut Vec<Blocker>) {
    let (model, t, p) = (job.model(), job.layout().t(), job.layout().p());
    let sizes = [("num_attention_heads", model.num_attention_heads), ("intermediate_size", model.intermediate_size)];
    found.extend(sizes.into_iter().filter(|(_, size)| !size.is_multiple_of(t)).map(|(what, size)| Blocker::Tensor {
        what,
        size,
        t,
    }));
    let kv = model.num_key_value_heads;
    if !kv.is_multiple_of(t) && !t.is_multiple_of(kv) {
        found.push(Blocker::Tensor { what: "num_key_value_heads", size: kv, t });
    }
    if !model.num_hidden_layers.is_multiple_of(p) {
        found.push(Blocker::Pipeline { layers: model.num_hidden_layers, p });
    }
}
