//! Pipeline stages: which part of the model a rank holds, and how many micro-batches it keeps in flight.

use crate::config::Job;

/// What one pipeline stage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// Position, from 0.
    pub index: u64,
    /// Whether it holds the embedding.
    pub embedding: bool,
    /// Whether it holds the head and computes the loss.
    pub head: bool,
    /// Blocks it holds.
    pub layers: u64,
    /// Micro-batches whose activations it keeps at once: `min(p - index, steps)` under one-forward-one-backward.
    pub in_flight: u64,
}

/// The stages that can hold most: the only one, or the first and the last.
///
/// Blocks are dealt out evenly, rounded up for the most loaded rank. A middle stage holds the blocks of the first with fewer
/// micro-batches in flight and no embedding, so it never holds more.
pub(super) fn stages(job: &Job) -> Vec<Stage> {
    let p = job.layout().p();
    let layers = job.model().num_hidden_layers.div_ceil(p);
    let in_flight = |index: u64| p.saturating_sub(index).min(job.gradient_accumulation_steps()).max(1);
    let stage = |index| Stage { index, embedding: index == 0, head: index + 1 == p, layers, in_flight: in_flight(index) };
    if p == 1 { vec![stage(0)] } else { vec![stage(0), stage(p - 1)] }
}
