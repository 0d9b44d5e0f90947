//! Keys of a layout's parts: the layout with every degree that the part does not depend on set to
//! 1.

use std::num::NonZeroU64;

use crate::config::{DataSharding, Offload, ParallelLayout, PipelineSchedule, PipelineSplit};

const ONE: NonZeroU64 = NonZeroU64::MIN;

/// Key of a rank's operations. Pipeline, data-parallel ranks, sharding and offloading do not change
/// them.
pub(super) const fn of_frames(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        data_parallel_size: ONE,
        data_parallel_replicas: ONE,
        sharding: DataSharding::NOTHING,
        offload: Offload::NONE,
        ..without_pipeline(layout)
    }
}

/// Key of a stage's place in the pipeline and of its schedule, beside the number of micro-batches.
pub(in crate::estimator) const fn of_pipeline(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        tensor_model_parallel_size: ONE,
        context_parallel_size: ONE,
        data_parallel_size: ONE,
        data_parallel_replicas: ONE,
        expert_model_parallel_size: ONE,
        expert_tensor_parallel_size: None,
        sequence_parallel: false,
        sharding: DataSharding::NOTHING,
        ..*layout
    }
}

/// Key of a stage's weights, gradients and states, beside its blocks, its ends and the sharding.
pub(super) const fn of_states(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        sequence_parallel: false,
        sharding: DataSharding::NOTHING,
        ..without_pipeline(layout)
    }
}

const fn without_pipeline(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        pipeline_model_parallel_size: ONE,
        virtual_pipeline_model_parallel_size: ONE,
        pipeline_schedule: PipelineSchedule::OneForwardOneBackward,
        pipeline_split: PipelineSplit::Even,
        ..*layout
    }
}

/// Key of the number of a rank's parameters, beside its blocks and ends.
pub(super) const fn of_weights(layout: &ParallelLayout) -> ParallelLayout {
    let frames = of_frames(layout);
    ParallelLayout { context_parallel_size: ONE, sequence_parallel: false, ..frames }
}
