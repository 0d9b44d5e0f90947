//! Comparison of a log's figures with an estimate's.

use super::{Log, LogFigure};
use crate::config::{Job, Run, TrainingRun};
use crate::estimator::time::step;
use crate::estimator::{CUDA_GRAPHS, DeviceMemory, Estimate, MemoryKind, device_memory};
use crate::units::{Bytes, to_f64};

/// A figure that was measured and estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its subject.
    pub figure: LogFigure,
    /// The log's value: bytes, or a count.
    pub measured: f64,
    /// The estimate's value in the same unit.
    pub estimated: f64,
    /// The line of the log, counted from 1.
    pub line: usize,
}

impl Compared {
    /// Returns the relative error of the estimate, `(estimated − measured) / measured`; `None`
    /// where nothing was measured.
    pub fn error(&self) -> Option<f64> {
        (self.measured > 0.0).then(|| (self.estimated - self.measured) / self.measured)
    }
}

/// Figures that both have, each of the GPU that holds most, or whose cache holds least; of paces
/// the middle one. None where one trains and the other serves.
pub fn beside(log: &Log, job: &Job, estimate: &Estimate) -> Vec<Compared> {
    let pairs = match job.run() {
        Run::Serving(run) if !log.trains => served(log, estimate, run.context_length),
        Run::Training(run) if log.trains => trained(job, run, estimate),
        Run::Serving(_) | Run::Training(_) => Vec::new(),
    };
    let compared = |(figure, estimated): (LogFigure, Option<f64>)| {
        let (estimated, (measured, line)) = (estimated?, measured(log, figure)?);
        Some(Compared { figure, measured, estimated, line })
    };
    pairs.into_iter().filter_map(compared).collect()
}

/// Memory that was measured and that the estimate lacks: what PyTorch reserved, else what the
/// driver counts, else what tensors took. `None` where the log tells none of them or the estimate
/// holds as much.
pub fn beyond(compared: &[Compared]) -> Option<Bytes> {
    let of = |figure| compared.iter().find(|compared| compared.figure == figure);
    let row =
        [LogFigure::Reserved, LogFigure::InUse, LogFigure::Allocated].into_iter().find_map(of)?;
    Some(Bytes(crate::units::ceil_u64(row.measured - row.estimated)))
        .filter(|bytes| *bytes > Bytes::ZERO)
}

/// The amount of a figure that counts, with its line.
fn measured(log: &Log, figure: LogFigure) -> Option<(f64, usize)> {
    let mut amounts: Vec<(f64, usize)> =
        log.of(figure).map(|printed| (printed.amount.number(), printed.line)).collect();
    if figure.is_pace() {
        amounts.sort_by(|one, other| one.0.total_cmp(&other.0));
        return amounts.get(amounts.len() / 2).copied();
    }
    let is_room = matches!(
        figure,
        LogFigure::Cache | LogFigure::CacheTokens | LogFigure::CacheBlocks | LogFigure::Concurrency
    );
    amounts.into_iter().reduce(|one, other| if (one.0 < other.0) == is_room { one } else { other })
}

/// A server's figures. Weights are the ledger's parameters, the cache is all the room that it has,
/// and graphs are those of the ledger. The concurrency is left out where the log counts it for
/// another context than the estimate.
fn served(log: &Log, estimate: &Estimate, context: u64) -> Vec<(LogFigure, Option<f64>)> {
    let of_kind = |kind| estimate.ledger.of(kind).as_f64();
    let room = estimate.cache_room;
    let graphs =
        estimate.ledger.lines.iter().find(|line| line.label == CUDA_GRAPHS).map(|line| line.bytes);
    let is_same_context =
        log.largest(LogFigure::Context).is_none_or(|tokens| (tokens - to_f64(context)).abs() < 0.5);
    let count = |number: Option<u64>| number.map(to_f64);
    vec![
        (LogFigure::Weights, Some(of_kind(MemoryKind::Parameter))),
        (LogFigure::Cache, room.map(|room| room.bytes.as_f64())),
        (LogFigure::CacheTokens, count(room.and_then(|room| room.tokens()))),
        (LogFigure::CacheBlocks, count(room.and_then(|room| room.blocks))),
        (LogFigure::Concurrency, room.map(|room| room.concurrency).filter(|_| is_same_context)),
        (LogFigure::Graphs, graphs.map(Bytes::as_f64)),
        (LogFigure::Working, Some(of_kind(MemoryKind::Temporary))),
        (LogFigure::Capacity, Some(estimate.capacity.as_f64())),
    ]
}

/// A training's figures. Where the order of allocations is not known, tensors are those of the
/// ledger, and what PyTorch reserves is open.
fn trained(job: &Job, run: &TrainingRun, estimate: &Estimate) -> Vec<(LogFigure, Option<f64>)> {
    let of_kinds = |kinds: &[MemoryKind]| {
        kinds.iter().map(|kind| estimate.ledger.of(*kind).as_f64()).sum::<f64>()
    };
    let device = device_memory(job).ok();
    let shown =
        |amount: fn(&DeviceMemory) -> Bytes| device.as_ref().map(|device| amount(device).as_f64());
    let tensors = estimate.total().saturating_sub(estimate.ledger.of(MemoryKind::Framework));
    let step = step(job);
    let per_second =
        step.as_ref().filter(|step| step.seconds.0 > 0.0).map(|step| 1.0 / step.seconds.0);
    vec![
        (
            LogFigure::Allocated,
            Some(shown(|device| device.allocated).unwrap_or_else(|| tensors.as_f64())),
        ),
        (LogFigure::Reserved, shown(|device| device.reserved)),
        (LogFigure::InUse, shown(|device| device.in_use)),
        (
            LogFigure::States,
            Some(of_kinds(&[
                MemoryKind::Parameter,
                MemoryKind::Gradient,
                MemoryKind::OptimizerState,
            ])),
        ),
        (LogFigure::Activations, Some(of_kinds(&[MemoryKind::Activation]))),
        (LogFigure::Capacity, Some(estimate.capacity.as_f64())),
        (LogFigure::StepSeconds, step.as_ref().map(|step| step.seconds.0)),
        (
            LogFigure::TokensPerSecond,
            step.as_ref()
                .map(|step| step.tokens_per_second / to_f64(job.layout().world_size().max(1))),
        ),
        (
            LogFigure::SequencesPerSecond,
            per_second.map(|steps| steps * to_f64(run.global_batch_size)),
        ),
    ]
}
