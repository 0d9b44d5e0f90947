//! Step times of many layouts of one job.

use super::block::{BlockKey, BlockTimes, block_times, key};
use super::{Load, StepTime, spread_with, stage_loads};
use crate::config::{Job, ParallelLayout, Recompute};
use crate::estimator::megatron::of_pipeline;
use crate::estimator::memo::Memo;

/// What was worked out so far, of one job's layouts.
#[derive(Default)]
pub(in crate::estimator) struct Paces {
    blocks: Memo<BlockKey, Option<BlockTimes>>,
    loads: Memo<(ParallelLayout, Recompute), Option<[Load; 3]>>,
}

impl Paces {
    /// [`StepTime::seconds`] of the job as it stands; `None` as in [`super::step`].
    pub fn seconds(&mut self, job: &Job) -> Option<f64> {
        let run = job.training()?;
        let block = self.blocks.place(key(job)?, || block_times(job));
        let loads = self.loads.value((of_pipeline(job.layout()), run.recompute), || stage_loads(job))?;
        let times = self.blocks.at(block)?.as_ref()?;
        Some(StepTime::seconds(times, &spread_with(job, loads)))
    }
}
