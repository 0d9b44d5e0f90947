//! What Megatron-FSDP gathers and reduces (`core/distributed/fsdp/src/megatron_fsdp`), with its default sizes.
//!
//! Every block is a unit. A unit's weights are gathered before use together with the next ones, until half a communication unit is
//! there, and let go after it; embedding, final norm and head stay gathered until the optimizer steps. Whole gradients wait to be
//! reduced in a queue of one communication unit. That unit is a billion elements, or two blocks where these are more. These are
//! Megatron-LM's `optim_grads` and `optim_grads_params`, what `DeepSpeed` calls stages 2 and 3.

use super::states::held;
use super::{At, Held, Kind, Scope};
use crate::estimator::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::estimator::timeline::GRADIENT_REDUCTION;
use crate::ops::{Dim, Shape};
use crate::sources;
use crate::units::{DType, Elements};

/// The least communication unit, in elements (`suggested_communication_unit_size`).
const UNIT: u64 = 1_000_000_000;

/// Elements on their way between ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moving {
    /// Embedding, final norm and head.
    ends: u64,
    /// Blocks in use and gathered ahead.
    blocks: u64,
    /// Gradients that wait to be reduced, beyond what backward has freed meanwhile.
    gradients: u64,
    /// Gradients of the head.
    head: u64,
}

impl Moving {
    /// What moves on one rank of a stage; nothing where ranks share no gradients.
    pub fn of(scope: &Scope) -> Self {
        let layout = scope.job.layout();
        if !layout.sharding.shards_gradients() || layout.shards().saturating_mul(layout.cp()) == 1 {
            return Self::default();
        }
        Self::among_ranks(scope)
    }

    /// The same where there are other ranks.
    pub fn among_ranks(scope: &Scope) -> Self {
        let (layout, recipe) = (scope.job.layout(), scope.run.recipe());
        let all: u64 = held(scope).iter().map(super::states::Held::elements).fold(0, u64::saturating_add);
        let layers = scope.stage.layers();
        let count = layers.dense.saturating_add(layers.experts);
        let (kind, block) = Kind::ALL
            .into_iter()
            .filter(|kind| layers.of(*kind) > 0)
            .map(|kind| (kind, of_block(scope, kind)))
            .max_by_key(|(_, elements)| *elements)
            .unwrap_or((Kind::Dense, 0));
        let of_kind = |kind| of_block(scope, kind).saturating_mul(layers.of(kind));
        let in_blocks = Kind::ALL.into_iter().map(of_kind).fold(0, u64::saturating_add);
        let ends = all.saturating_sub(in_blocks);
        let unit = UNIT.max((in_blocks / count.max(1)).saturating_mul(2));
        let gathered = (unit / 2).div_ceil(block.max(1)).clamp(1, count.max(1)).saturating_mul(block);
        // A block that is through gives back what it saved; the queue and the block at hand are full, or only the block at hand.
        let waiting = (unit / block.max(1)).saturating_add(1).clamp(1, count.max(1));
        let saved = total_of(scope, kind).div_ceil(recipe.gradient.bits().div_ceil(8).max(1));
        let full = waiting.saturating_mul(block).saturating_sub((waiting - 1).saturating_mul(saved));
        let shards_parameters = layout.sharding.shards_parameters();
        let part = |elements| if shards_parameters { elements } else { 0 };
        let head = if scope.stage.ends() { super::states::of_steps(&scope.model.head) } else { 0 };
        Self { ends: part(ends), blocks: part(gathered), gradients: full.max(block), head }
    }

    /// The lines of a moment.
    pub fn lines(&self, scope: &Scope, at: At) -> Vec<LineItem> {
        let recipe = scope.run.recipe();
        let (weights, gradients) = match at {
            At::Step => (0, 0),
            At::Forward => (self.ends, 0),
            At::Head(_) => (self.ends, self.head),
            At::Block { .. } => (self.ends.saturating_add(self.blocks), self.gradients),
        };
        let note = "Blocks in use and gathered ahead (half a communication unit, Megatron-FSDP's default), and both ends.";
        let gathered = line((GATHERED_WEIGHTS, note), weights, recipe.parameter);
        let note = "Whole gradients that wait to be reduced: at most a communication unit, Megatron-FSDP's default.";
        let reduced = line((GRADIENT_REDUCTION, note), gradients, recipe.gradient);
        gathered.into_iter().chain(reduced).collect()
    }

    /// Whether anything moves.
    pub const fn moves(&self) -> bool {
        self.gradients > 0 || self.head > 0
    }
}

/// Parameters of one block of that kind.
fn of_block(scope: &Scope, kind: Kind) -> u64 {
    super::states::of_steps(scope.steps(kind))
}

/// Bytes that a block of that kind saves.
fn total_of(scope: &Scope, kind: Kind) -> u64 {
    let one = super::schedule::PerKind { dense: u64::from(kind == Kind::Dense), experts: u64::from(kind == Kind::Experts) };
    scope
        .alive(Held { whole: one, ..Held::default() }, At::Forward)
        .iter()
        .map(|entry| entry.bytes().0)
        .fold(0, u64::saturating_add)
}

fn line((label, note): (&'static str, &'static str), elements: u64, dtype: DType) -> Option<LineItem> {
    let bytes = Elements(elements).stored_as(dtype);
    let shape = Shape::of([Dim("elements", elements)]);
    let tensors = vec![TensorLine { op: label, name: "of whole blocks", shape, dtype, count: 1, bytes }];
    let (kind, source, certainty) = (MemoryKind::Temporary, sources::MEGATRON_FSDP, Certainty::Modelled);
    (elements > 0).then_some(LineItem { kind, label, bytes, tensors, note, source, certainty })
}
