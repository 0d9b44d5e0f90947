//! Everything that a job's layouts share when their step is timed: the machine, and the bytes that
//! gradients, gathers and the optimizer move for a parameter.

use super::machine::Machine;
use super::updating::Updating;
use crate::config::{
    GradientDType, Job, OptimizerImplementation, Overlap, TrainingPrecision, TrainingRun,
};
use crate::units::{DType, to_f64};

/// Costs and machine of a job: no layout changes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fixed {
    pub costs: Costs,
    pub machine: Machine,
}

/// Bytes per parameter that gradients, gathers and the optimizer move, and seconds that it
/// multiplies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// A gradient as it is reduced.
    pub gradient: f64,
    /// A weight as it is gathered.
    pub weight: f64,
    /// Bytes that the optimizer reads and writes for a parameter that it updates.
    pub update: f64,
    /// Seconds of the products by which the optimizer makes the update of a parameter.
    pub products: f64,
    /// Bytes that every rank reads and writes for each of its parameters, updated here or not, to
    /// clear gradients and to take their norm.
    pub kept: f64,
    /// Bytes that PyTorch's FSDP copies for a parameter in a micro-batch: gathered weights go out
    /// of their buffer twice, gradients into theirs, with a cast and a division by the number of
    /// ranks.
    pub shards: f64,
    /// Bytes moved to add a micro-batch's gradient to the main gradient, where no matrix product
    /// adds it as it is made.
    pub accumulate: f64,
    pub overlap: Overlap,
}

/// The share of all parameters that learns.
pub(super) fn learning_share(job: &Job) -> f64 {
    if job.training().is_none_or(|run| run.tuning.is_full()) {
        return 1.0;
    }
    let counted = |with| to_f64(crate::ops::without_products(with).parameters().max(1));
    let with = crate::ops::lowering(job);
    to_f64(super::super::trainable(job, 1)) / counted(&with)
}

impl Costs {
    /// Spreads the bytes moved for parameters that learn over all parameters; `share` is the share
    /// that learns.
    pub(super) fn of_learning(self, share: f64) -> Self {
        let [gradient, update, products, kept, accumulate] =
            [self.gradient, self.update, self.products, self.kept, self.accumulate]
                .map(|each| each * share);
        Self { gradient, update, products, kept, accumulate, ..self }
    }

    pub(super) fn of(run: &TrainingRun, reduce_in_fp32: bool, updating: &Updating) -> Self {
        let recipe = run.recipe();
        let bytes = |dtype: DType| to_f64(dtype.bits()) / 8.0;
        let gathered = match run.precision {
            TrainingPrecision::FsdpMixed | TrainingPrecision::AmpBf16 => 2.0,
            _ => bytes(recipe.parameter),
        };
        let main = run.stack.has_main_gradients;
        let gradient = if main || reduce_in_fp32 && gathered < bytes(recipe.parameter) {
            bytes(recipe.gradient)
        } else {
            gathered
        };
        let states = updating.states;
        let master = recipe.master.map_or(0.0, bytes);
        let copy = if master > 0.0 { master + bytes(recipe.parameter) } else { 0.0 };
        let own = if master > 0.0 { master } else { bytes(recipe.parameter) };
        // The gradient is read; weights and states are read and written; the weights' copy is made.
        // Without a fused kernel each of Adam's dozen operators reads and writes on its own: three
        // times as much.
        let wide = bytes(recipe.optimizer_state);
        let once = wide + 2.0 * (own + states) + copy;
        // Before it: gradients widened, their norm read, scaled to the limit; under fp16 unscaled
        // and looked through as well.
        let narrow = bytes(recipe.gradient) < wide;
        let widened = if narrow { bytes(recipe.gradient) + wide } else { 0.0 };
        let unscaled = if run.precision == TrainingPrecision::Fp16Mixed { 2.0 * wide } else { 0.0 };
        let before = widened + unscaled + 3.0 * wide;
        let apart = match run.optimizer_implementation {
            OptimizerImplementation::Fused => 1.0,
            OptimizerImplementation::ForLoop | OptimizerImplementation::Foreach => 3.0,
        };
        let shards = if main { 0.0 } else { 6.0 * gathered + 3.0 * gradient };
        let accumulate = if main && run.megatron.gradient_accumulation_fusion {
            0.0
        } else {
            gathered + 2.0 * bytes(recipe.gradient)
        };
        let copies = matches!(run.gradients, GradientDType::Fp32Copy);
        let kept = bytes(recipe.gradient) + if copies { 4.0 } else { 0.0 };
        let (update, products) = (once * apart + before + updating.bytes, updating.products);
        Self {
            gradient,
            weight: gathered,
            update,
            products,
            kept,
            shards,
            accumulate,
            overlap: run.overlap,
        }
    }
}
