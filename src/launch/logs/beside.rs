//! Comparison of a log's figures with an estimate's.

use super::{Figure, Log};
use crate::estimator::{CUDA_GRAPHS, Estimate, MemoryKind};
use crate::units::Bytes;

/// A figure that was measured and estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its subject.
    pub figure: Figure,
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

/// Returns the figures that a log and an estimate both have, bytes or counts, each of the GPU that
/// holds most, or whose cache holds least.
///
/// Weights are the ledger's parameters, the cache is all the room that it has, and graphs are those
/// of the ledger. `context` is the estimate's context in tokens: the concurrency is left out where
/// the log counts it for another one.
pub fn beside(log: &Log, estimate: &Estimate, context: u64) -> Vec<Compared> {
    let of_kind = |kind| estimate.ledger.of(kind).as_f64();
    let room = estimate.cache_room;
    let graphs = estimate.ledger.lines.iter().find(|line| line.label == CUDA_GRAPHS).map(|line| line.bytes);
    let is_same_context = log.largest(Figure::Context).is_none_or(|tokens| (tokens - crate::units::to_f64(context)).abs() < 0.5);
    let count = |number: Option<u64>| number.map(crate::units::to_f64);
    let pairs = [
        (Figure::Weights, Some(of_kind(MemoryKind::Parameter))),
        (Figure::Cache, room.map(|room| room.bytes.as_f64())),
        (Figure::CacheTokens, count(room.and_then(|room| room.tokens()))),
        (Figure::CacheBlocks, count(room.and_then(|room| room.blocks))),
        (Figure::Concurrency, room.map(|room| room.concurrency).filter(|_| is_same_context)),
        (Figure::Graphs, graphs.map(Bytes::as_f64)),
        (Figure::Working, Some(of_kind(MemoryKind::Temporary))),
        (Figure::Capacity, Some(estimate.capacity.as_f64())),
    ];
    let measured = |figure| {
        let amounts = log.of(figure).map(|printed| (printed.amount.number(), printed.line));
        let is_room = matches!(figure, Figure::Cache | Figure::CacheTokens | Figure::CacheBlocks | Figure::Concurrency);
        amounts.reduce(|one, other| if (one.0 < other.0) == is_room { one } else { other })
    };
    let compared = |(figure, estimated): (Figure, Option<f64>)| {
        let (estimated, (measured, line)) = (estimated?, measured(figure)?);
        Some(Compared { figure, measured, estimated, line })
    };
    pairs.into_iter().filter_map(compared).collect()
}
