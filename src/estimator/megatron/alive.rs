//! Tensors that are alive at a place of the step.

use super::schedule::{Held, Kind};
use super::{At, Scope};
use crate::config::{Recompute, TrainingRun};
use crate::ops::megatron::{Module, RankOp};
use crate::ops::{Kept, Role, Tensor};
use crate::units::Bytes;

/// Why a tensor is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alive {
    /// Saved in forward.
    Saved,
    /// Brought back by recomputation.
    Recomputed,
    /// Flowing back right now.
    Flowing,
}

/// Some tensors of one kind that are alive.
pub(super) struct Entry<'a> {
    pub(super) step: &'a RankOp,
    pub(super) tensor: &'a Tensor,
    pub(super) count: u64,
    pub(super) why: Alive,
}

impl Entry<'_> {
    pub(super) fn bytes(&self) -> Bytes {
        self.tensor.bytes() * self.count
    }
}

/// True if a saved tensor stays in memory after forward.
pub(super) fn survives(run: &TrainingRun, tensor: &Tensor) -> bool {
    !(run.recompute == Recompute::Selective && tensor.kept == Kept::AttentionCore)
}

pub(super) fn is_input(tensor: &Tensor) -> bool {
    tensor.kept == Kept::BlockInput
}

/// Saved tensors of some operations, `count` times.
pub(super) fn all<'a>(
    steps: &'a [RankOp],
    count: u64,
    why: Alive,
    kept: impl Fn(&Tensor) -> bool,
    found: &mut Vec<Entry<'a>>,
) {
    for step in steps {
        push(step, count, Role::Saved, &kept, why, found);
    }
}

pub(super) fn push<'a>(
    step: &'a RankOp,
    count: u64,
    role: Role,
    kept: impl Fn(&Tensor) -> bool,
    why: Alive,
    found: &mut Vec<Entry<'a>>,
) {
    if count > 0 {
        let tensors = step.op.tensors.iter().filter(|tensor| tensor.role == role && kept(tensor));
        found.extend(tensors.map(|tensor| Entry { step, tensor, count, why }));
    }
}

impl<'a> Scope<'a> {
    /// The tensors that are alive at a moment beside those that stay throughout the step.
    pub(super) fn alive(&self, held: Held, at: At) -> Vec<Entry<'a>> {
        let mut found = Vec::with_capacity(64);
        all(&self.model.embedding, held.embeddings, Alive::Saved, |_| true, &mut found);
        for kind in Kind::ALL {
            let steps = self.steps(kind);
            all(
                steps,
                held.whole.of(kind),
                Alive::Saved,
                |tensor| survives(self.run, tensor),
                &mut found,
            );
            all(steps, held.inputs.of(kind), Alive::Saved, is_input, &mut found);
            all(
                steps,
                held.again.of(kind),
                Alive::Recomputed,
                |tensor| !is_input(tensor),
                &mut found,
            );
            all(steps, held.again_inputs.of(kind), Alive::Recomputed, is_input, &mut found);
        }
        all(&self.model.head, held.heads, Alive::Saved, |_| true, &mut found);
        found.extend(self.inside(at));
        found
    }

    /// Tensors of the block or head that backward is in: those that its remaining operations saved
    /// or recomputed, and the gradients that flow back.
    pub(super) fn inside(&self, at: At) -> Vec<Entry<'a>> {
        let mut found = Vec::with_capacity(32);
        let (steps, place) = match at {
            At::Forward | At::Step => return found,
            At::Head(place) => (&self.model.head[..], place),
            At::Block { kind, place, .. } => (self.steps(kind), place),
        };
        let module = steps.get(place).map_or(Module::Rest, |step| step.module);
        let (recomputed, split) = match at {
            At::Block { recomputed, split, .. } => (recomputed, split),
            _ => (false, false),
        };
        for step in steps.iter().take(place + 1) {
            if split {
                // A block kept whole, or brought back whole, waits for its weights' gradients and
                // is counted with the blocks in flight.
                if !recomputed && step.module == module && module != Module::Rest {
                    push(
                        step,
                        1,
                        Role::Saved,
                        |tensor| !survives(self.run, tensor),
                        Alive::Recomputed,
                        &mut found,
                    );
                }
                continue;
            }
            if recomputed {
                push(
                    step,
                    1,
                    Role::Saved,
                    |tensor| !is_input(tensor),
                    Alive::Recomputed,
                    &mut found,
                );
                continue;
            }
            push(
                step,
                1,
                Role::Saved,
                |tensor| survives(self.run, tensor),
                Alive::Saved,
                &mut found,
            );
            if step.module == module && module != Module::Rest {
                push(
                    step,
                    1,
                    Role::Saved,
                    |tensor| !survives(self.run, tensor),
                    Alive::Recomputed,
                    &mut found,
                );
            }
        }
        if let Some(step) = steps.get(place) {
            push(step, 1, Role::Workspace, |_| true, Alive::Flowing, &mut found);
        }
        found
    }
}
