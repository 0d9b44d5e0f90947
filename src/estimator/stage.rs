//! Pipeline stages: which part of the model a rank holds, and how many micro-batches it keeps in
//! flight.

use std::ops::Range;
use std::rc::Rc;

use super::ledger::TensorLine;
use super::placed::Placed;
use crate::config::{Job, LayerKind, PipelineSplit};
use crate::ops::{self, BlockKind, Op, OpList, Role, Tensor};
use crate::units::Bytes;

/// Inputs from which the lines of one stage are made.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    pub job: &'a Job,
    pub list: &'a OpList,
    pub stage: Stage,
    pub parameters: Rc<Parameters>,
    /// True if the tensors behind each line are wanted. Curves and searches ask for hundreds of
    /// totals and leave this out, because bytes alone are quicker.
    pub detail: bool,
}

/// Parameters on one tensor-parallel rank, summed once for all moments.
#[derive(Clone, Default)]
pub(super) struct Parameters {
    pub embedding: u64,
    /// The token embedding alone, of which the last stage keeps a copy if it is tied.
    pub token_embedding: u64,
    /// One block of each kind that the model has.
    pub blocks: Vec<(LayerKind, u64)>,
    pub head: u64,
    pub has_head_weight: bool,
}

impl Parameters {
    /// Sums the operation list of a job.
    pub fn of(job: &Job, list: &OpList) -> Self {
        let t = job.layout().t();
        let sum = |ops: &[Op]| {
            let on_rank = |tensor: &Tensor| tensor.elements_per_rank(t, false).0;
            ops::tensors(ops, Role::Parameter)
                .map(|(_, tensor)| on_rank(tensor))
                .fold(0, u64::saturating_add)
        };
        let token = ops::tensors(&list.embedding, Role::Parameter).next();
        Self {
            embedding: sum(&list.embedding),
            token_embedding: token.map_or(0, |(_, tensor)| tensor.elements_per_rank(t, false).0),
            blocks: list.kinds.iter().map(|kind| (kind.of, sum(&kind.ops))).collect(),
            head: sum(&list.head),
            has_head_weight: !job.model().tie_word_embeddings,
        }
    }
}

impl Scope<'_> {
    /// True if the stage keeps a copy of the tied token embedding for its head.
    pub fn copies_embedding(&self) -> bool {
        self.stage.head && !self.stage.embedding && !self.parameters.has_head_weight
    }

    /// Parameters of the blocks of one rank of the stage.
    pub fn block_parameters(&self) -> u64 {
        let each = self.stage.of_kind.iter();
        each.map(|(kind, layers)| self.block_of(*kind).saturating_mul(*layers))
            .fold(0, u64::saturating_add)
    }

    /// Parameters of one block of that kind.
    fn block_of(&self, kind: LayerKind) -> u64 {
        let blocks = &self.parameters.blocks;
        blocks.iter().find(|(of, _)| *of == kind).map_or(0, |(_, parameters)| *parameters)
    }

    /// Blocks of that kind on the stage.
    pub fn layers_of(&self, kind: &BlockKind) -> u64 {
        self.stage.layers_of(kind.of)
    }

    /// True if the stage's first block is of that kind.
    pub fn starts_with(&self, kind: &BlockKind) -> bool {
        self.job.model().kind_of(self.stage.first) == kind.of
    }

    /// Parameters of the stage's first block.
    pub fn first_block(&self) -> u64 {
        self.block_of(self.job.model().kind_of(self.stage.first))
    }

    /// Parameters of one rank of the stage.
    pub fn total_parameters(&self) -> u64 {
        let parameters = &self.parameters;
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

/// The part of the model that one pipeline stage holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// Position, from 0.
    pub index: u64,
    /// True if the stage holds the embedding.
    pub embedding: bool,
    /// True if the stage holds the head and computes the loss.
    pub head: bool,
    /// The first block it holds, counted from 0.
    pub first: u64,
    /// Blocks it holds.
    pub layers: u64,
    /// Of these, how many are of each kind, for the kinds that the stage has.
    pub of_kind: Vec<(LayerKind, u64)>,
    /// Micro-batches whose activations it keeps at once, as its schedule has it.
    pub in_flight: u64,
}

impl Stage {
    /// Counts the blocks of each kind of the stage.
    fn counted(mut self, job: &Job) -> Self {
        let model = job.model();
        let mut add = |layer: u64, layers: u64| {
            let kind = model.kind_of(layer);
            match self.of_kind.iter_mut().find(|(of, _)| *of == kind) {
                Some((_, count)) => *count = count.saturating_add(layers),
                None => self.of_kind.push((kind, layers)),
            }
        };
        if model.is_uniform() {
            add(0, self.layers);
        } else {
            (self.first..self.first.saturating_add(self.layers)).for_each(|layer| add(layer, 1));
        }
        self
    }

    /// Blocks of that kind.
    pub fn layers_of(&self, kind: LayerKind) -> u64 {
        self.of_kind.iter().find(|(of, _)| *of == kind).map_or(0, |(_, layers)| *layers)
    }

    /// True if another stage holds the same ends and blocks, or as many blocks of each kind where
    /// all blocks are `alike`.
    pub fn holds_as(&self, other: &Self, alike: bool) -> bool {
        let ends = [self.embedding, self.head] == [other.embedding, other.head];
        ends && (alike || self.first == other.first)
            && self.layers == other.layers
            && self.of_kind == other.of_kind
    }

    /// The blocks it holds, counted from 0.
    pub const fn range(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.layers)
    }
}

/// The whole model as one stage.
pub(super) fn only(job: &Job) -> Stage {
    let layers = job.model().num_hidden_layers;
    Stage {
        index: 0,
        embedding: true,
        head: true,
        first: 0,
        layers,
        of_kind: Vec::new(),
        in_flight: 1,
    }
    .counted(job)
}

/// Some blocks with both ends.
pub(super) fn of_blocks(job: &Job, blocks: Range<u64>) -> Stage {
    let (first, layers) = (blocks.start, blocks.end.saturating_sub(blocks.start));
    Stage { first, layers, of_kind: Vec::new(), ..only(job) }.counted(job)
}

/// The blocks at one position of the pipeline: all but the first that lie in the host's memory are
/// dealt out.
pub(super) fn blocks(job: &Job, position: u64) -> Range<u64> {
    let (layers, away) =
        (job.model().num_hidden_layers, Placed::of(job).map_or(0, |placed| placed.layers));
    let here = job.layout().blocks_at(layers.saturating_sub(away), position);
    here.start.saturating_add(away)..here.end.saturating_add(away)
}

/// One stage; it holds the blocks that the layout gives it, of an uneven split the most.
pub(super) fn stage(job: &Job, index: u64) -> Stage {
    let pipeline = job.pipeline();
    let blocks = blocks(job, index);
    let away = Placed::of(job);
    let [table, last] = away.map_or([false; 2], |placed| [placed.table, placed.head]);
    let (embedding, head) = (index == 0 && !table, index + 1 == pipeline.ranks && !last);
    let (first, layers) = (blocks.start, blocks.end.saturating_sub(blocks.start));
    Stage {
        index,
        embedding,
        head,
        first,
        layers,
        of_kind: Vec::new(),
        in_flight: pipeline.in_flight(index),
    }
    .counted(job)
}

/// The stages that can hold most: the only one, or the first and the last, and the second where it
/// may hold other blocks.
///
/// A middle stage holds the blocks of the one before it with no more micro-batches in flight, and
/// no embedding.
pub(super) fn stages(job: &Job) -> Vec<Stage> {
    let (p, model) = (job.layout().p(), job.model());
    let first = model.kind_of(0);
    let mixed = !model.is_uniform()
        && (1..model.num_hidden_layers).any(|layer| model.kind_of(layer) != first);
    let second = p > 2 && (mixed || job.layout().pipeline_split != PipelineSplit::Even);
    let indices = [Some(0), second.then_some(1), (p > 1).then(|| p - 1)];
    indices.into_iter().flatten().map(|index| stage(job, index)).collect()
}
