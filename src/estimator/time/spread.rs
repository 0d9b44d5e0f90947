//! A layout in the numbers that its step time is assembled from.

use crate::config::{DataSharding, PassTimes, Pipeline};
use crate::units::to_f64;

/// Work of one pipeline stage for every micro-batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Layers with a dense feed-forward part, and how many of them are recomputed.
    pub dense: [f64; 2],
    /// Layers with experts, and how many of them are recomputed.
    pub experts: [f64; 2],
    /// True if the stage holds the embedding.
    pub embedding: bool,
    /// True if the stage holds the head.
    pub head: bool,
    /// How many stages are like this one.
    pub stages: f64,
}

/// How long the order in which a pipeline's stages take their micro-batches makes them wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Share of what one micro-batch takes on all other stages: 1 under one forward, one backward,
    /// as under GPipe.
    pub wait: f64,
    /// Chunks on a stage that take turns.
    pub chunks: f64,
}

impl Schedule {
    /// Returns the waiting time of [`Pipeline::bubble`] as a share of what one micro-batch takes on
    /// all other stages.
    ///
    /// Assumes that forward, backward for inputs and backward for weights take equally long,
    /// because their matrix products are equally large.
    pub fn of(pipeline: &Pipeline) -> Self {
        let alike = PassTimes::new(1.0, 1.0, 1.0);
        let chunks = to_f64(pipeline.chunks);
        let others = to_f64(pipeline.ranks.saturating_sub(1)) * chunks * alike.all();
        Self { wait: if others > 0.0 { pipeline.bubble(&alike) / others } else { 0.0 }, chunks }
    }

    /// Returns the seconds that a stage waits in a step, `others · wait`; `others` is what one
    /// micro-batch takes on all other stages, seconds.
    pub const fn bubble(self, others: f64) -> f64 {
        others * self.wait
    }
}

/// A layout in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The first, the middle and the last stages; `stages` is 0 where there is none.
    pub loads: [Load; 3],
    /// Pipeline stages.
    pub pipeline: f64,
    /// Schedule.
    pub schedule: Schedule,
    /// Micro-batches of a rank in a step.
    pub micro_batches: f64,
    /// Tensor degree: how far apart data-parallel ranks lie.
    pub tensor: f64,
    /// Ranks that hold the same dense parameters: data times context degree.
    pub copies: f64,
    /// Ranks that hold the same experts, and how far apart they lie.
    pub expert_copies: f64,
    /// Distance of ranks that hold the same experts.
    pub expert_stride: f64,
    /// How data-parallel ranks share the model states out.
    pub sharding: DataSharding,
    /// True if FSDP gathers weights again for backward.
    pub reshard: bool,
    /// True if gradients are reduced with the last micro-batch alone.
    pub reduce_once: bool,
}
