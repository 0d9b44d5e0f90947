//! How the model is spread over accelerators.

use std::num::NonZeroU64;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{DataSharding, PipelineSchedule};

/// How blocks are dealt out over pipeline stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PipelineSplit {
    /// Every stage holds as many blocks as the others; where the blocks do not divide evenly, every
    /// stage counts as the most loaded one.
    #[default]
    Even,
    /// The first and the last stage hold these numbers of blocks, the others share the rest
    /// (`num_layers_in_first_pipeline_stage`, `num_layers_in_last_pipeline_stage`); `None`: as many
    /// as the others.
    Ends {
        /// Blocks of the first stage.
        first: Option<NonZeroU64>,
        /// Blocks of the last stage.
        last: Option<NonZeroU64>,
    },
    /// Embedding and loss count as a block each (`account_for_embedding_in_pipeline_split`,
    /// `account_for_loss_in_pipeline_split`).
    WithEnds,
}

/// Tensors that wait in pinned host memory instead of on the accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Offload {
    /// Optimizer states and master weights; the optimizer steps on the host.
    pub optimizer: bool,
    /// Shares of the weights; they are copied to the accelerator before they are gathered.
    pub parameters: bool,
    /// Tensors that blocks save for backward; they are copied back before backward reaches the
    /// block.
    pub activations: bool,
}

impl Offload {
    /// Nothing waits in host memory.
    pub const NONE: Self = Self { optimizer: false, parameters: false, activations: false };

    /// Returns true if anything waits in host memory.
    pub const fn any(self) -> bool {
        self.optimizer || self.parameters || self.activations
    }
}

/// Parallel degrees; their product is the number of accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParallelLayout {
    /// Tensor-parallel ranks (t).
    pub tensor_model_parallel_size: NonZeroU64,
    /// Pipeline stages (p).
    pub pipeline_model_parallel_size: NonZeroU64,
    /// Data-parallel ranks (d); replicas when serving.
    pub data_parallel_size: NonZeroU64,
    /// Context-parallel ranks, which share the tokens of a sequence out among themselves.
    pub context_parallel_size: NonZeroU64,
    /// Ranks among which the experts are shared out; they are taken from the ranks that hold the
    /// same dense part.
    pub expert_model_parallel_size: NonZeroU64,
    /// Ranks that split one expert; `None`: as many as tensor-parallel ranks.
    pub expert_tensor_parallel_size: Option<NonZeroU64>,
    /// Chunks of blocks on each pipeline stage (interleaved schedule); 1 is
    /// one-forward-one-backward.
    pub virtual_pipeline_model_parallel_size: NonZeroU64,
    /// True if the parts outside attention and feed-forward are split over tensor ranks too.
    pub sequence_parallel: bool,
    /// Sharding over data-parallel ranks.
    pub sharding: DataSharding,
    /// True if, under FSDP, a block's weights are given back after forward and gathered again for
    /// backward.
    pub reshard_after_forward: bool,
    /// True if, under FSDP, gradients are reduced in fp32, whatever format they are computed in.
    pub reduce_in_fp32: bool,
    /// True if gradients of micro-batches add up on each rank and are reduced with the last
    /// micro-batch alone (`no_sync`).
    pub reduce_once: bool,
    /// How micro-batches take turns on the pipeline stages; see [`Self::schedule`].
    pub pipeline_schedule: PipelineSchedule,
    /// How blocks are dealt out over the stages.
    pub pipeline_split: PipelineSplit,
    /// Groups of data-parallel ranks that each hold a whole copy of all that is shared out (hybrid
    /// sharding; Megatron-LM's `num_distributed_optimizer_instances`).
    pub data_parallel_replicas: NonZeroU64,
    /// Tensors that wait in host memory.
    pub offload: Offload,
}

impl ParallelLayout {
    /// One accelerator, nothing split.
    pub const SINGLE: Self = Self {
        tensor_model_parallel_size: NonZeroU64::MIN,
        pipeline_model_parallel_size: NonZeroU64::MIN,
        data_parallel_size: NonZeroU64::MIN,
        context_parallel_size: NonZeroU64::MIN,
        expert_model_parallel_size: NonZeroU64::MIN,
        expert_tensor_parallel_size: None,
        virtual_pipeline_model_parallel_size: NonZeroU64::MIN,
        sequence_parallel: false,
        sharding: DataSharding::NOTHING,
        reshard_after_forward: true,
        reduce_in_fp32: true,
        reduce_once: false,
        pipeline_schedule: PipelineSchedule::OneForwardOneBackward,
        pipeline_split: PipelineSplit::Even,
        data_parallel_replicas: NonZeroU64::MIN,
        offload: Offload::NONE,
    };

    /// Returns the tensor degree t.
    pub const fn t(&self) -> u64 {
        self.tensor_model_parallel_size.get()
    }

    /// Returns the pipeline degree p.
    pub const fn p(&self) -> u64 {
        self.pipeline_model_parallel_size.get()
    }

    /// Returns the data degree d.
    pub const fn d(&self) -> u64 {
        self.data_parallel_size.get()
    }

    /// Returns the context degree.
    pub const fn cp(&self) -> u64 {
        self.context_parallel_size.get()
    }

    /// Returns the expert degree.
    pub const fn ep(&self) -> u64 {
        self.expert_model_parallel_size.get()
    }

    /// Returns how many ranks split one expert.
    pub const fn etp(&self) -> u64 {
        match self.expert_tensor_parallel_size {
            Some(ranks) => ranks.get(),
            None => self.t(),
        }
    }

    /// Returns the chunks of blocks on each stage.
    pub const fn chunks(&self) -> u64 {
        self.virtual_pipeline_model_parallel_size.get()
    }

    /// Returns the schedule that runs: one forward, one backward becomes the interleaved schedule
    /// where stages have several chunks, and the other way round where they have one.
    pub const fn schedule(&self) -> PipelineSchedule {
        match self.pipeline_schedule {
            PipelineSchedule::OneForwardOneBackward | PipelineSchedule::Interleaved
                if self.chunks() > 1 =>
            {
                PipelineSchedule::Interleaved
            }
            PipelineSchedule::Interleaved => PipelineSchedule::OneForwardOneBackward,
            other => other,
        }
    }

    /// Returns the groups of data-parallel ranks that each hold a whole copy of all that is shared
    /// out.
    pub const fn replicas(&self) -> u64 {
        self.data_parallel_replicas.get()
    }

    /// Returns the data-parallel ranks of one group, which share model states out among themselves:
    /// `d / replicas`, at least 1.
    pub const fn shards(&self) -> u64 {
        let ranks = self.d() / self.replicas();
        if ranks == 0 { 1 } else { ranks }
    }

    /// Returns the blocks, counted from 0, of the chunk at position `chunk · p + stage` in a model
    /// with `layers` blocks.
    ///
    /// Where blocks do not divide evenly, the size of a part is rounded up; no range ends behind
    /// the last block.
    pub fn blocks_at(&self, layers: u64, position: u64) -> Range<u64> {
        let (p, chunks) = (self.p(), self.chunks());
        let places = p.saturating_mul(chunks).max(1);
        match self.pipeline_split {
            PipelineSplit::Even => {
                let each = layers.div_ceil(places);
                let first = position.saturating_mul(each).min(layers.saturating_sub(each));
                first..first.saturating_add(each).min(layers)
            }
            PipelineSplit::WithEnds => {
                // Where they do not divide evenly, the first places have one more (torchtitan
                // 0.3.0, `_generate_llm_fqn_per_model_part`).
                let all = layers.saturating_add(2);
                let (each, more) = (all / places, all % places);
                let first = |position: u64| {
                    position.saturating_mul(each).saturating_add(position.min(more))
                };
                let block = |place: u64| place.saturating_sub(1).min(layers);
                block(first(position))..block(first(position.saturating_add(1)))
            }
            PipelineSplit::Ends { first, last } => {
                let (stage, chunk) = (position % p, position / p);
                let given = |size: Option<NonZeroU64>| size.map(|size| size.get() / chunks);
                let ends = [given(first), given(last)];
                let held: u64 = ends
                    .iter()
                    .flatten()
                    .map(|size| size.saturating_mul(chunks))
                    .fold(0, u64::saturating_add);
                let others =
                    p.saturating_sub(ends.iter().flatten().count().try_into().unwrap_or(p)).max(1);
                let middle =
                    layers.saturating_sub(held).div_ceil(others.saturating_mul(chunks).max(1));
                let [first, last] = ends.map(|size| size.unwrap_or(middle));
                let round = first
                    .saturating_add(last)
                    .saturating_add(middle.saturating_mul(p.saturating_sub(2)));
                let before = if stage == 0 {
                    0
                } else {
                    first.saturating_add(middle.saturating_mul(stage - 1))
                };
                let own = if stage == 0 {
                    first
                } else if stage + 1 == p {
                    last
                } else {
                    middle
                };
                let begin = chunk
                    .saturating_mul(round)
                    .saturating_add(before)
                    .min(layers.saturating_sub(own));
                begin..begin.saturating_add(own).min(layers)
            }
        }
    }

    /// Returns true if this split puts every block in exactly one place.
    pub fn deals_out(&self, layers: u64) -> bool {
        let places = self.p().saturating_mul(self.chunks());
        if self.pipeline_split == PipelineSplit::Even {
            return layers.is_multiple_of(places);
        }
        (0..places.min(layers.saturating_add(2))).try_fold(0, |end, position| {
            let range = self.blocks_at(layers, position);
            (range.start == end).then_some(range.end)
        }) == Some(layers)
            && places <= layers.saturating_add(2)
    }

    /// Returns the ranks that hold the same experts: `t · cp · d / (ep · etp)`, at least 1.
    pub const fn expert_data_parallel_size(&self) -> u64 {
        let stage = self.t().saturating_mul(self.cp()).saturating_mul(self.d());
        let ranks = stage / self.ep().saturating_mul(self.etp());
        if ranks == 0 { 1 } else { ranks }
    }

    /// Returns the number of all accelerators: `t · p · cp · d`.
    pub const fn world_size(&self) -> u64 {
        self.t().saturating_mul(self.p()).saturating_mul(self.cp()).saturating_mul(self.d())
    }
}
