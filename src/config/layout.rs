//! How the model is spread over accelerators.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// What data-parallel ranks share out among themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataSharding {
    /// Nothing: every rank holds everything (DDP, `zero_stage` 0).
    #[default]
    None,
    /// Optimizer states and master weights (`zero_stage` 1).
    Zero1,
    /// Gradients too (`zero_stage` 2).
    Zero2,
    /// Weights too (`zero_stage` 3).
    Zero3,
    /// `PyTorch` FSDP2: as stage 3, gathered block by block.
    Fsdp,
}

impl DataSharding {
    /// Whether optimizer states are shared out.
    pub const fn shards_optimizer(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether gradients are shared out.
    pub const fn shards_gradients(self) -> bool {
        matches!(self, Self::Zero2 | Self::Zero3 | Self::Fsdp)
    }

    /// Whether weights are shared out.
    pub const fn shards_parameters(self) -> bool {
        matches!(self, Self::Zero3 | Self::Fsdp)
    }
}

/// Parallel degrees; their product is the number of accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParallelLayout {
    /// Tensor-parallel ranks (t).
    pub tensor_model_parallel_size: NonZeroU64,
    /// Pipeline stages (p).
    pub pipeline_model_parallel_size: NonZeroU64,
    /// Data-parallel ranks (d); replicas when serving.
    pub data_parallel_size: NonZeroU64,
    /// Context-parallel ranks, which share the tokens of a sequence out among themselves.
    pub context_parallel_size: NonZeroU64,
    /// Ranks among which the experts are shared out; they are taken from the ranks that hold the same dense part.
    pub expert_model_parallel_size: NonZeroU64,
    /// Ranks that split one expert; `None`: as many as tensor-parallel ranks.
    pub expert_tensor_parallel_size: Option<NonZeroU64>,
    /// Chunks of blocks on each pipeline stage (interleaved schedule); 1 is one-forward-one-backward.
    pub virtual_pipeline_model_parallel_size: NonZeroU64,
    /// Whether the parts outside attention and feed-forward are split over tensor ranks too.
    pub sequence_parallel: bool,
    /// Sharding over data-parallel ranks.
    pub sharding: DataSharding,
    /// Under FSDP, whether a block's weights are given back after forward and gathered again for backward.
    pub reshard_after_forward: bool,
    /// Under FSDP, whether gradients are reduced in fp32 whatever they are computed in.
    pub reduce_in_fp32: bool,
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
        sharding: DataSharding::None,
        reshard_after_forward: true,
        reduce_in_fp32: true,
    };

    /// Tensor degree t.
    pub const fn t(&self) -> u64 {
        self.tensor_model_parallel_size.get()
    }

    /// Pipeline degree p.
    pub const fn p(&self) -> u64 {
        self.pipeline_model_parallel_size.get()
    }

    /// Data degree d.
    pub const fn d(&self) -> u64 {
        self.data_parallel_size.get()
    }

    /// Context degree.
    pub const fn cp(&self) -> u64 {
        self.context_parallel_size.get()
    }

    /// Expert degree.
    pub const fn ep(&self) -> u64 {
        self.expert_model_parallel_size.get()
    }

    /// Ranks that split one expert.
    pub const fn etp(&self) -> u64 {
        match self.expert_tensor_parallel_size {
            Some(ranks) => ranks.get(),
            None => self.t(),
        }
    }

    /// Chunks of blocks on each stage.
    pub const fn chunks(&self) -> u64 {
        self.virtual_pipeline_model_parallel_size.get()
    }

    /// Ranks that hold the same experts: all of a stage, over those that share experts out or split them; at least 1.
    pub const fn expert_data_parallel_size(&self) -> u64 {
        let stage = self.t().saturating_mul(self.cp()).saturating_mul(self.d());
        let ranks = stage / self.ep().saturating_mul(self.etp());
        if ranks == 0 { 1 } else { ranks }
    }

    /// All accelerators: `t · p · cp · d`.
    pub const fn world_size(&self) -> u64 {
        self.t().saturating_mul(self.p()).saturating_mul(self.cp()).saturating_mul(self.d())
    }
}
