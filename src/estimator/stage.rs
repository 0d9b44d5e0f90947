//! Pipeline stages: which part of the model a rank holds, and how many micro-batches it keeps in flight.

use std::ops::Range;

use super::ledger::TensorLine;
use crate::config::Job;
use crate::ops::{self, Op, OpList, Role, Tensor};
use crate::units::Bytes;

/// What the lines of one stage are made from.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub job: &'a Job,
    pub list: &'a OpList,
    pub stage: Stage,
    pub parameters: Parameters,
    /// Whether the tensors behind each line are wanted, or its bytes alone: curves and searches ask for hundreds of totals.
    pub detail: bool,
}

/// Parameters on one tensor-parallel rank, summed once for all moments.
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    pub embedding: u64,
    /// The token embedding alone, of which the last stage keeps a copy if it is tied.
    pub token_embedding: u64,
    /// One block of the usual kind.
    pub block: u64,
    /// One block of the rarer kind.
    pub other: u64,
    pub head: u64,
    pub has_head_weight: bool,
}

impl Parameters {
    /// Sums the operation list of a job.
    pub fn of(job: &Job, list: &OpList) -> Self {
        let t = job.layout().t();
        let sum = |ops: &[Op]| {
            let on_rank = |tensor: &Tensor| tensor.elements_per_rank(t, false).0;
            ops::tensors(ops, Role::Parameter).map(|(_, tensor)| on_rank(tensor)).fold(0, u64::saturating_add)
        };
        let token = ops::tensors(&list.embedding, Role::Parameter).next();
        Self {
            embedding: sum(&list.embedding),
            token_embedding: token.map_or(0, |(_, tensor)| tensor.elements_per_rank(t, false).0),
            block: sum(&list.block),
            other: sum(&list.other),
            head: sum(&list.head),
            has_head_weight: !job.model().tie_word_embeddings,
        }
    }
}

impl Scope<'_> {
    /// Whether the stage keeps a copy of the tied token embedding for its head.
    pub fn copies_embedding(&self) -> bool {
        self.stage.head && !self.stage.embedding && !self.parameters.has_head_weight
    }

    /// Parameters of the blocks of one rank of the stage.
    pub fn block_parameters(&self) -> u64 {
        let (own, stage) = (self.parameters, self.stage);
        let usual = own.block.saturating_mul(stage.layers.saturating_sub(stage.other));
        usual.saturating_add(own.other.saturating_mul(stage.other))
    }

    /// Whether the stage's first block is of the rarer kind.
    pub fn starts_with_other(&self) -> bool {
        let first = self.stage.range(self.job).start;
        self.stage.other > 0 && self.job.model().moe_at(first).is_some() != self.list.usual_has_experts
    }

    /// Parameters of the stage's first block.
    pub fn first_block(&self) -> u64 {
        if self.starts_with_other() { self.parameters.other } else { self.parameters.block }
    }

    /// Parameters of one rank of the stage.
    pub fn total_parameters(&self) -> u64 {
        let parameters = self.parameters;
        let part = |held: bool, count: u64| if held { count } else { 0 };
        self.block_parameters()
            .saturating_add(part(self.stage.embedding, parameters.embedding))
            .saturating_add(part(self.stage.head, parameters.head))
            .saturating_add(part(self.copies_embedding(), parameters.token_embedding))
    }

    /// The bytes of some tensors together, and the tensors if they are wanted.
    pub fn sum(&self, tensors: impl Iterator<Item = TensorLine>) -> (Bytes, Vec<TensorLine>) {
        let mut bytes = Bytes::ZERO;
        let mut kept = Vec::new();
        for tensor in tensors {
            bytes += tensor.bytes;
            if self.detail {
                kept.push(tensor);
            }
        }
        (bytes, kept)
    }
}

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
    /// Of these, blocks of the rarer kind.
    pub other: u64,
    /// Micro-batches whose activations it keeps at once: `min(p - index, steps)` under one-forward-one-backward.
    pub in_flight: u64,
}

impl Stage {
    /// The same stage with its blocks of the rarer kind counted.
    fn counted(self, job: &Job) -> Self {
        let model = job.model();
        let all = model.num_hidden_layers;
        let experts = |range: Range<u64>| {
            let count = range.filter(|layer| model.moe_at(*layer).is_some()).count();
            u64::try_from(count).unwrap_or(u64::MAX)
        };
        if model.moe.is_none() {
            return self;
        }
        let (sparse, here) = (experts(0..all), experts(self.range(job)));
        let other = if 2 * sparse > all { self.layers.saturating_sub(here) } else { here };
        Self { other, ..self }
    }

    /// The blocks it holds, counted from 0: the last stage holds the last ones.
    pub fn range(&self, job: &Job) -> Range<u64> {
        let all = job.model().num_hidden_layers;
        let first = if self.head { all.saturating_sub(self.layers) } else { self.index.saturating_mul(self.layers) };
        first..first.saturating_add(self.layers).min(all)
    }
}

/// The first stage.
pub(super) fn only(job: &Job) -> Stage {
    Stage { index: 0, embedding: true, head: true, layers: job.model().num_hidden_layers, other: 0, in_flight: 1 }.counted(job)
}

/// The stages that can hold most: the only one, or the first and the last.
///
/// Blocks are dealt out evenly, rounded up for the most loaded rank. A middle stage holds the blocks of the first with fewer
/// micro-batches in flight and no embedding, so it never holds more.
pub(super) fn stages(job: &Job) -> Vec<Stage> {
    let p = job.layout().p();
    let layers = job.model().num_hidden_layers.div_ceil(p);
    let in_flight = |index: u64| p.saturating_sub(index).min(job.gradient_accumulation_steps()).max(1);
    let stage = |index| {
        let ends = (index == 0, index + 1 == p);
        Stage { index, embedding: ends.0, head: ends.1, layers, other: 0, in_flight: in_flight(index) }.counted(job)
    };
    if p == 1 { vec![stage(0)] } else { vec![stage(0), stage(p - 1)] }
}
