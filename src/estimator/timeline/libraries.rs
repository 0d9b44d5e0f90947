//! Facts of a plan that depend on the library that shares the training out.

use super::plan::{Movement, Plan, runs_in_stages};
use crate::config::{DataSharding, Job, PrecisionRecipe, TrainingRun};
use crate::sharding::{Buckets, Building, CarriedOutBy, GatheredInto, Pieces};
use crate::units::DType;

/// The buckets of a run, the elements of one, and the format in which gradients are reduced.
pub(super) fn buckets(
    job: &Job,
    run: &TrainingRun,
    sharding: DataSharding,
    recipe: PrecisionRecipe,
) -> (Buckets, u64, DType) {
    let buckets = match sharding.buckets {
        _ if job.layout().shards() <= 1 || run.stack.sharding != CarriedOutBy::Library => {
            Buckets::None
        }
        Buckets::EveryGradient if recipe.master.is_some() => Buckets::None,
        buckets => buckets,
    };
    // Where ranks share gradients out, they are reduced in the format of the weights and added up
    // in their own.
    let reduced = if sharding.shards_gradients() { recipe.parameter } else { recipe.gradient };
    (buckets, run.reduce_bucket_size, reduced)
}

/// True if gradients of a step's micro-batches add up unreduced: the layout asks for it, and the
/// library is able to, or the stages of a pipeline do so.
pub(super) fn reduces_once(job: &Job, sharding: DataSharding, buckets: Buckets) -> bool {
    let knows = match &sharding.gathers {
        Some(gathers) => gathers.into != GatheredInto::Tensors,
        None => buckets == Buckets::EveryGradient,
    };
    let asked = job.layout().reduce_once && job.gradient_accumulation_steps() > 1 && knows;
    asked || runs_in_stages(job)
}

/// True if the whole model is one flat parameter of FSDP1 (no `auto_wrap_policy`).
pub(super) fn is_one_group(run: &TrainingRun, sharding: DataSharding, movement: Movement) -> bool {
    let is_flat = matches!(movement, Movement::Weights { into: GatheredInto::FlatTensor, .. });
    is_flat && sharding.pieces == Pieces::OfOneVectorPerGroup && !run.library.wraps_blocks
}

impl Plan<'_> {
    /// True if the library copies the model into one long vector before the first step.
    pub fn builds_vector(&self) -> bool {
        self.buckets.0 != Buckets::None && self.sharding.building == Building::IntoOneVector
    }

    /// True if every tensor of a training under stage 3 is played, with the coordinator that
    /// gathers its weights, frozen ones like others (`_fetch_sub_module_impl`).
    pub fn is_coordinated(&self) -> bool {
        self.singly && self.is_stage_3()
    }

    /// True under DeepSpeed's stage 3.
    pub fn is_stage_3(&self) -> bool {
        self.buckets.0 == Buckets::Lasting && self.is_in_tensors()
    }

    /// True if a parameter of so many elements stays gathered for good.
    pub const fn keeps_gathered(&self, elements: u64) -> bool {
        self.is_in_tensors() && elements <= self.library.persistence_threshold
    }

    const fn is_in_tensors(&self) -> bool {
        matches!(self.movement, Movement::Weights { into: GatheredInto::Tensors, .. })
    }

    /// True if gradients are views of the buckets in which they are reduced.
    pub fn has_views(&self) -> bool {
        self.buckets.0 == Buckets::EveryGradient && self.library.gradient_as_bucket_view
    }

    /// Buffers that ZeRO's bucket consists of.
    pub fn buffers(&self) -> u64 {
        match (self.library.contiguous_gradients, self.buckets.0) {
            (false, _) => 0,
            (true, Buckets::WhileReducing)
                if self.library.overlap_comm.holds(self.sharding.zero_stage) =>
            {
                2
            }
            (true, _) => 1,
        }
    }
}
