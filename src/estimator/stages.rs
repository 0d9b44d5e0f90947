//! Every pipeline stage: the memory of one of its ranks at its own peak.

use std::rc::Rc;

use super::ledger::Ledger;
use super::listed::peak_of;
use super::parts::unplayed;
use super::stage::{self, Scope};
use super::timeline::Played;
use super::{megatron_run, overhead, played_run};
use crate::config::{Job, TrainingRun};
use crate::ops;
use crate::units::Bytes;

/// One rank of a pipeline stage at its own peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageMemory {
    /// The stage, counted from 0.
    pub stage: u64,
    /// Blocks it holds, those of both directions under `DualPipe`.
    pub blocks: u64,
    /// Chunks of micro-batches it keeps in flight at most.
    pub in_flight: u64,
    /// Bytes by kind, in the order of [`MemoryKind::ALL`](super::MemoryKind::ALL), overheads
    /// included.
    pub by_kind: [Bytes; 7],
    /// When that is.
    pub moment: &'static str,
}

impl StageMemory {
    /// Returns all kinds together, bytes.
    pub fn total(&self) -> Bytes {
        self.by_kind.into_iter().sum()
    }
}

/// Returns the memory of every pipeline stage, each at its own peak, bytes on one of its ranks;
/// [`estimate`](super::estimate) shows the highest.
///
/// Stages alike are worked out once. One stage for a job without a pipeline.
///
/// ```
/// use headroom::estimator::{estimate, stages};
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let most = stages(&job).iter().map(|stage| stage.total()).max();
/// assert_eq!(most, Some(estimate(&job).total()));
/// # Ok::<(), usize>(())
/// ```
pub fn stages(job: &Job) -> Vec<StageMemory> {
    let pipeline = job.pipeline();
    let blocks = |stage| {
        let chunks = (0..pipeline.chunks_on_rank()).map(|chunk| pipeline.position(stage, chunk));
        let ranges = chunks.map(|position| stage::blocks(job, position));
        ranges.map(|range| range.end.saturating_sub(range.start)).fold(0, u64::saturating_add)
    };
    let with = |(stage, (by_kind, moment))| StageMemory {
        stage,
        blocks: blocks(stage),
        in_flight: pipeline.in_flight(stage),
        by_kind,
        moment,
    };
    let of_each: Vec<([Bytes; 7], &'static str)> = if let Some(run) = played_run(job) {
        played(job, run)
    } else if let Some(run) = megatron_run(job) {
        let peak = |stage| (unplayed().peak)(job, run, Some(stage), false);
        (0..pipeline.ranks)
            .map(peak)
            .map(|peak| (Ledger { lines: peak.lines }.by_kind(), peak.name))
            .collect()
    } else {
        let list = ops::without_products(&ops::lowering(job));
        let parameters = Rc::new(stage::Parameters::of(job, &list));
        let scope = |index| Scope {
            job,
            list: &list,
            stage: stage::stage(job, index),
            parameters: Rc::clone(&parameters),
            detail: false,
        };
        let peak = |index| {
            let peak = peak_of(&scope(index), &mut Vec::new());
            (peak.by_kind, peak.name())
        };
        (0..pipeline.ranks).map(peak).collect()
    };
    (0..).zip(of_each).map(with).collect()
}

/// Stages whose step is played: one play for all that hold the same, with other micro-batches in
/// flight.
fn played(job: &Job, run: &TrainingRun) -> Vec<([Bytes; 7], &'static str)> {
    let alike = job.model().moe.is_none() && job.model().sliding_window.is_none();
    let mut known: Vec<Played> = Vec::with_capacity(3);
    let each = (0..job.layout().p()).map(|index| {
        let stage = stage::stage(job, index);
        let at = known.iter_mut().position(|known| known.turn_into(&stage, alike)).unwrap_or_else(
            || {
                known.push(Played::new(job, run, stage, false));
                known.len() - 1
            },
        );
        let played = known.get(at);
        played.map_or(([Bytes::ZERO; 7], ""), |played| {
            (overhead::on_top(job, played.peak()), played.name())
        })
    });
    each.collect()
}
