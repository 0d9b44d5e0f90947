//! Settings that products in float8 are not modelled with.

use crate::config::{Job, Recompute, TrainingRun};
use crate::sharding::FrameworkRule;
use crate::stacks::NotWith;

rules! {
    /// The partitioner then keeps transposed copies of the feed-forward layer's gathered weights.
    GATHERED_AND_COMPILED: TORCH_COMPILE,
        "Weights that are gathered in float8 are modelled with compiled blocks where these are recomputed, wholly or selectively; recompute, gather in 16 bits, or compile nothing";
}

/// The rules that a training in float8 breaks.
pub(super) fn refused(
    job: &Job,
    run: &TrainingRun,
) -> impl Iterator<Item = &'static FrameworkRule> {
    let (float8, stack) = (run.float8, run.stack);
    let gathers =
        float8.is_tensorwise() && float8.gathers && job.layout().sharding.shards_parameters();
    let copies = gathers && run.compile && run.recompute == Recompute::None;
    let of_stack = float8.is_on().then(|| stack.forbidden(NotWith::Float8)).flatten();
    let tensorwise =
        float8.is_tensorwise().then(|| stack.forbidden(NotWith::TensorwiseFloat8)).flatten();
    of_stack.into_iter().chain(copies.then_some(&GATHERED_AND_COMPILED)).chain(tensorwise)
}
