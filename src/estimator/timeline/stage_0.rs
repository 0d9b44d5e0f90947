//! DeepSpeed's stage 0: every rank keeps master weights of the whole model
//! (`FP16_UnfusedOptimizer` in `deepspeed/runtime/fp16/unfused_optimizer.py`, DeepSpeed 0.19.8).

use super::optimizer;
use super::plan::{Plan, Share, Shares};
use crate::config::Dispatch;
use crate::ops::tape::{Kind, Tape, Var};
use crate::optimizers::UpdatedParameter;
use crate::sources;
use crate::units::DType;

impl Plan<'_> {
    /// The format of master weights, where every rank keeps them of the whole model, beside
    /// gradients of another format.
    pub fn whole_masters(&self) -> Option<DType> {
        let is_shared = self.sharding.shards_optimizer() || self.shards().is_some();
        let is_alone = !is_shared && !self.away.optimizer && !self.steps_in_backward;
        self.recipe
            .master
            .filter(|master| is_alone && *master != self.recipe.gradient)
            .filter(|_| self.with.dispatch == Dispatch::Cuda)
    }
}

/// Makes the optimizer ready before the first step: it clones every parameter that learns and casts
/// the clone, and then takes a step with gradients of zeros, of parameters and of master weights
/// (`initialize_optimizer_states`). What is returned stays.
pub(super) fn made_ready<'t>(tape: &'t Tape, plan: &Plan<'_>) -> Vec<Var<'t>> {
    let Some(master) = plan.whole_masters() else { return Vec::new() };
    let learned = optimizer::learned(tape, plan);
    tape.at("Master weights", sources::DEEPSPEED);
    let lump = |name, kind, found: &UpdatedParameter, dtype| {
        tape.lump(name, (kind, found.elements, dtype))
    };
    let mut held = Vec::with_capacity(learned.len().saturating_mul(4));
    for found in &learned {
        let clone = lump("clone of the parameter", Kind::Temporary, found, plan.recipe.parameter);
        held.push(lump("master weight", Kind::OptimizerState, found, master));
        drop(clone);
    }
    let zeros = |dtype| -> Vec<Var<'_>> {
        let zero = |found| lump("gradient of zeros", Kind::Temporary, found, dtype);
        learned.iter().map(zero).collect()
    };
    let narrow = zeros(plan.recipe.parameter);
    let wide = zeros(master);
    held.append(&mut optimizer::states_of_each(tape, plan, &learned));
    drop(narrow);
    drop(wide);
    held
}

/// The format into which DeepSpeed's step copies all gradients, if it does.
pub(super) fn casts_all_gradients(plan: &Plan<'_>) -> Option<DType> {
    plan.whole_masters().filter(|_| plan.sharding.casts_all_gradients)
}

/// Casts each gradient up to measure it, and then all of them: what is returned stays until the
/// states are updated (`step`).
pub(super) fn cast_up<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    learned: &[UpdatedParameter],
    (master, shares): (DType, &mut Shares),
) -> Vec<Var<'t>> {
    let take = |elements| tape.lump("gradient, cast up", (Kind::Temporary, elements, master));
    if plan.singly {
        for found in learned {
            drop(take(found.elements));
        }
        return learned.iter().map(|found| take(found.elements)).collect();
    }
    let all = take(optimizer::upcast(learned, plan));
    shares.push((all.parts().0, Share::Upcast));
    vec![all]
}
