//! Step times of many layouts of one job.

use super::block::{BlockKey, BlockTimes, key, with_each};
use super::{Load, StepTime, spread_with, stage_loads};
use crate::config::{Job, ParallelLayout, Recompute};
use crate::estimator::megatron::of_pipeline;
use crate::estimator::memo::Memo;

/// What was worked out so far, of one job's layouts.
#[derive(Default)]
pub(in crate::estimator) struct Paces {
    /// Every way to recompute, in the order of [`RECOMPUTATIONS`].
    blocks: Memo<BlockKey, Option<[BlockTimes; 3]>>,
    loads: Memo<(ParallelLayout, Recompute), Option<[Load; 3]>>,
}

const RECOMPUTATIONS: [Recompute; 3] = [Recompute::None, Recompute::Selective, Recompute::Full];

impl Paces {
    /// [`StepTime::seconds`] of the job as it stands; `None` as in [`super::step`].
    pub fn seconds(&mut self, job: &Job) -> Option<f64> {
        let run = job.training()?;
        let block = self.blocks.place(key(job)?, || with_each(job, RECOMPUTATIONS));
        let loads = self.loads.value((of_pipeline(job.layout()), run.recompute), || stage_loads(job))?;
        let each = self.blocks.at(block)?.as_ref()?;
        let (times, _) = each.iter().zip(RECOMPUTATIONS).find(|(_, known)| *known == run.recompute)?;
        Some(StepTime::seconds(times, &spread_with(job, loads)))
    }
}
