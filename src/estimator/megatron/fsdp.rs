//! Buffers in which Megatron-FSDP gathers weights and reduces gradients
//! (`core/distributed/fsdp/src/megatron_fsdp`), with its default sizes.
//!
//! Every block is a unit. A unit's weights are gathered before use together with the next ones,
//! until half a communication unit is there, and let go after it; embedding, final norm and head
//! stay gathered until the optimizer steps. Whole gradients wait to be reduced in a queue of one
//! communication unit. That unit is a billion elements, or two blocks where these are more. These
//! are Megatron-LM's `optim_grads` and `optim_grads_params`, what `DeepSpeed` calls stages 2 and 3.

use super::schedule::PerKind;
use super::states::held;
use super::{At, Kind, Scope};
use crate::config::{Job, TrainingRun};
use crate::estimator::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::estimator::timeline::GRADIENT_REDUCTION;
use crate::ops::{Dim, Shape};
use crate::sources;
use crate::units::{Bytes, DType, Elements};

/// The least communication unit, in elements (`suggested_communication_unit_size`).
const UNIT: u64 = 1_000_000_000;

/// Elements on their way between ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moving {
    /// Embedding, final norm and head.
    ends: u64,
    /// Blocks in use and gathered ahead.
    blocks: u64,
    /// Gradients that wait to be reduced, less the memory that backward has freed meanwhile.
    gradients: u64,
    /// Gradients of the head.
    head: u64,
}

/// Parameters of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights {
    /// All.
    pub all: u64,
    /// One block of each kind.
    pub blocks: [u64; 2],
    /// The head; 0 where the stage has none.
    pub head: u64,
}

impl Weights {
    /// Parameters on one rank of a stage.
    pub fn of(scope: &Scope) -> Self {
        let of_steps = super::states::of_steps;
        Self {
            all: held(scope).iter().map(super::states::Held::elements).fold(0, u64::saturating_add),
            blocks: Kind::ALL.map(|kind| of_steps(scope.steps(kind))),
            head: if scope.stage.ends() { of_steps(&scope.model.head) } else { 0 },
        }
    }
}

impl Moving {
    /// Gathered weights and gradients on one rank of a stage whose blocks save that much by kind;
    /// nothing where ranks share no gradients.
    pub fn of(scope: &Scope, saved: &[Bytes; 2]) -> Self {
        if !moves(scope.job) {
            return Self::default();
        }
        Self::with(scope.job, scope.run, (&Weights::of(scope), scope.stage.layers()), saved)
    }

    /// Gathered weights and gradients on one rank of a stage with so many blocks and these
    /// parameters, where a block of each kind saves that much.
    pub fn with(
        job: &Job,
        run: &TrainingRun,
        (weights, layers): (&Weights, PerKind),
        saved: &[Bytes; 2],
    ) -> Self {
        if !moves(job) {
            return Self::default();
        }
        let recipe = run.recipe();
        let count = layers.dense.saturating_add(layers.experts);
        let kinds = || {
            Kind::ALL
                .into_iter()
                .zip(weights.blocks)
                .zip(saved)
                .filter(|((kind, _), _)| layers.of(*kind) > 0)
        };
        let ((_, block), saved) = kinds()
            .max_by_key(|((_, elements), _)| *elements)
            .unwrap_or(((Kind::Dense, 0), &Bytes::ZERO));
        let in_blocks = kinds()
            .map(|((kind, elements), _)| elements.saturating_mul(layers.of(kind)))
            .fold(0, u64::saturating_add);
        let ends = weights.all.saturating_sub(in_blocks);
        let unit = UNIT.max((in_blocks / count.max(1)).saturating_mul(2));
        let gathered =
            (unit / 2).div_ceil(block.max(1)).clamp(1, count.max(1)).saturating_mul(block);
        // Blocks that backward has left have freed their saved tensors. Most is held with a full
        // queue, or with the current block alone.
        let waiting = (unit / block.max(1)).saturating_add(1).clamp(1, count.max(1));
        let saved = saved.0.div_ceil(recipe.gradient.bits().div_ceil(8).max(1));
        let full =
            waiting.saturating_mul(block).saturating_sub((waiting - 1).saturating_mul(saved));
        let part = |elements| if job.layout().sharding.shards_parameters() { elements } else { 0 };
        Self {
            ends: part(ends),
            blocks: part(gathered),
            gradients: full.max(block),
            head: weights.head,
        }
    }

    /// The lines of a moment.
    pub fn lines(&self, scope: &Scope, at: At) -> Vec<LineItem> {
        let recipe = scope.run.recipe();
        let (weights, gradients) = self.elements(at);
        let note = "Blocks in use and gathered ahead (half a communication unit, Megatron-FSDP's \
            default), and both ends.";
        let gathered = line((GATHERED_WEIGHTS, note), weights, recipe.parameter);
        let note = "Whole gradients that wait to be reduced: at most a communication unit, \
            Megatron-FSDP's default.";
        let reduced = line((GRADIENT_REDUCTION, note), gradients, recipe.gradient);
        gathered.into_iter().chain(reduced).collect()
    }

    /// Weights and gradients of a moment.
    const fn elements(&self, at: At) -> (u64, u64) {
        match at {
            At::Step => (0, 0),
            At::Forward => (self.ends, 0),
            At::Head(_) => (self.ends, self.head),
            At::Block { .. } => (self.ends.saturating_add(self.blocks), self.gradients),
        }
    }

    /// Bytes of a moment: the sum of its lines.
    pub fn bytes(&self, run: &TrainingRun, at: At) -> Bytes {
        let (weights, gradients) = self.elements(at);
        Elements(weights).stored_as(run.recipe().parameter)
            + Elements(gradients).stored_as(run.recipe().gradient)
    }

    /// True if anything is gathered or reduced.
    pub const fn moves(&self) -> bool {
        self.gradients > 0 || self.head > 0
    }
}

/// True if data-parallel ranks share gradients out, so that Megatron-FSDP moves something.
pub(super) fn moves(job: &Job) -> bool {
    let layout = job.layout();
    layout.sharding.shards_gradients() && layout.shards().saturating_mul(layout.cp()) > 1
}

fn line(
    (label, note): (&'static str, &'static str),
    elements: u64,
    dtype: DType,
) -> Option<LineItem> {
    let bytes = Elements(elements).stored_as(dtype);
    let shape = Shape::of([Dim("elements", elements)]);
    let tensors =
        vec![TensorLine { op: label, name: "of whole blocks", shape, dtype, count: 1, bytes }];
    let (kind, source, certainty) =
        (MemoryKind::Temporary, sources::MEGATRON_FSDP, Certainty::Modelled);
    (elements > 0).then_some(LineItem { kind, label, bytes, tensors, note, source, certainty })
}
