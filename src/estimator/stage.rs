//! Pipeline stages: which part of the model a rank holds, and how many micro-batches it keeps in flight.

use std::ops::Range;

use super::ledger::TensorLine;
use crate::config::{Job, PipelineSplit};
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
#[derive(Clone, Copy, Default)]
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
        let first = self.stage.first;
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
    /// The first block it holds, counted from 0.
    pub first: u64,
    /// Blocks it holds.
    pub layers: u64,
    /// Of these, blocks of the rarer kind.
    pub other: u64,
    /// Micro-batches whose activations it keeps at once, as its schedule has it.
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
        let (sparse, here) = (experts(0..all), experts(self.range()));
        let other = if 2 * sparse > all { self.layers.saturating_sub(here) } else { here };
        Self { other, ..self }
    }

    /// The blocks it holds, counted from 0.
    pub const fn range(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.layers)
    }
}

/// The whole model as one stage.
pub(super) fn only(job: &Job) -> Stage {
    let layers = job.model().num_hidden_layers;
    Stage { index: 0, embedding: true, head: true, first: 0, layers, other: 0, in_flight: 1 }.counted(job)
}

/// One stage; it holds the blocks that the layout gives it, of an uneven split the most.
pub(super) fn stage(job: &Job, index: u64) -> Stage {
    let pipeline = job.pipeline();
    let blocks = job.layout().blocks_at(job.model().num_hidden_layers, index);
    let (embedding, head) = (index == 0, index + 1 == pipeline.ranks);
    let (first, layers) = (blocks.start, blocks.end.saturating_sub(blocks.start));
    Stage { index, embedding, head, first, layers, other: 0, in_flight: pipeline.in_flight(index) }.counted(job)
}

/// The stages that can hold most: the only one, or the first and the last, and the second where it may hold other blocks.
///
/// A middle stage holds the blocks of the one before it with no more micro-batches in flight, and no embedding.
pub(super) fn stages(job: &Job) -> Vec<Stage> {
    let (p, model) = (job.layout().p(), job.model());
    let mixed = model.moe.is_some() && (0..model.num_hidden_layers).any(|layer| model.moe_at(layer).is_none());
    let second = p > 2 && (mixed || job.layout().pipeline_split != PipelineSplit::Even);
    let indices = [Some(0), second.then_some(1), (p > 1).then(|| p - 1)];
    indices.into_iter().flatten().map(|index| stage(job, index)).collect()
}
