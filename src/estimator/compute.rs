//! FLOPs of a training step from its operations; time and cost at a stated utilisation.

use crate::config::{AttentionKernel, Job, Recompute};
use crate::ops::{self, Op, OpList, Role};
use crate::stacks::SelectiveRecompute;
use crate::units::{Flops, FlopsPerSecond, Seconds, to_f64};

/// Compute of a training run. FLOPs count a multiply-add as two and attention as the full square of
/// tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compute {
    /// Forward of one optimizer step, all ranks together.
    pub forward: Flops,
    /// Backward of one optimizer step: every product again for each operand that wants a gradient.
    pub backward: Flops,
    /// Forward work done again in backward.
    pub recomputed: Flops,
    /// Of forward, the attention products (scores and values).
    pub attention: Flops,
    /// Tokens per optimizer step, padding among them.
    pub tokens_per_step: u64,
    /// Optimizer steps for all training tokens, rounded up.
    pub steps: u64,
    /// Model FLOPs of the whole training (without recomputation).
    pub total: Flops,
    /// The rule of thumb `6 · parameters · tokens` for comparison.
    pub six_pd: Flops,
    /// Hardware FLOPs over model FLOPs: how much more work recomputation makes.
    pub hfu_over_mfu: f64,
    /// Model FLOPs utilisation assumed.
    pub mfu: f64,
    /// About 20 tokens per parameter.
    pub chinchilla_tokens: f64,
    /// Seconds per optimizer step; `None` if the device's peak rate is unknown.
    pub step_seconds: Option<Seconds>,
    /// Wall-clock time of the whole training.
    pub seconds: Option<Seconds>,
    /// Accelerator-hours of the whole training.
    pub gpu_hours: Option<f64>,
    /// Price of the whole training in US dollars.
    pub cost: Option<f64>,
}

impl Compute {
    /// Returns the hardware FLOPs utilisation, a share of the peak, that goes with the assumed
    /// model FLOPs utilisation: `mfu · hfu_over_mfu`.
    pub fn hfu(&self) -> f64 {
        self.mfu * self.hfu_over_mfu
    }

    /// Returns the model FLOPs of one optimizer step, all ranks together: `forward + backward`,
    /// without recomputation.
    pub fn model_flops_per_step(&self) -> Flops {
        self.forward + self.backward
    }
}

/// Chinchilla's tokens per parameter.
const CHINCHILLA_TOKENS_PER_PARAMETER: f64 = 20.0;

/// FLOPs of the second product with a weight, the fourth and so on.
fn every_second_product(ops: &[Op]) -> Flops {
    let (mut place, mut sum) = (0_u64, Flops(0.0));
    for op in ops.iter().filter(|op| !op.attention_core) {
        let weights = || {
            ops::tensors(std::slice::from_ref(op), Role::Parameter)
                .filter(|(_, weight)| weight.shape.dims().count() > 1)
        };
        let all =
            weights().map(|(_, weight)| weight.shape.elements().0).fold(0, u64::saturating_add);
        for (_, weight) in weights() {
            place += 1;
            if place.is_multiple_of(2) {
                sum = sum + op.forward * (to_f64(weight.shape.elements().0) / to_f64(all.max(1)));
            }
        }
    }
    sum
}

/// The compute of a training job; `None` when serving.
pub(super) fn compute(job: &Job, list: &OpList) -> Option<Compute> {
    let run = job.training()?;
    let micro_batches = to_f64(run.global_batch_size) / to_f64(job.micro_batch_size());
    let core =
        |ops: &[Op]| ops.iter().filter(|op| op.attention_core).map(|op| op.forward).sum::<Flops>();
    let attention = list.over_blocks(core);
    let block = list.over_blocks(ops::forward);
    let per_micro_batch = list.forward();
    let products = list.over_blocks(every_second_product);
    let recomputed = match (run.recompute, run.attention) {
        (Recompute::Selective, _)
            if run.stack.selective == SelectiveRecompute::AllButSecondProducts =>
        {
            products
                + if run.attention == AttentionKernel::Flash { attention * 0.5 } else { attention }
        }
        (Recompute::Full, _) => block,
        (Recompute::Selective, AttentionKernel::Standard) => attention,
        // FlashAttention's backward computes the scores again: one of its two products.
        (_, AttentionKernel::Flash) => attention * 0.5,
        (Recompute::None, AttentionKernel::Standard) => Flops(0.0),
    };
    let forward = per_micro_batch * micro_batches;
    let backward = list.backward() * micro_batches;
    let recomputed = recomputed * micro_batches;
    let tokens_per_step = run.seq_length.saturating_mul(run.global_batch_size);
    let steps_exact = run.training_tokens / run.useful_tokens_per_step();
    let parameters = to_f64(list.parameters());
    let per_step = forward + backward;
    let total = per_step * steps_exact;
    let accelerator = &job.cluster().accelerator;
    let gpus = to_f64(job.layout().world_size());
    let peak =
        accelerator.peak.of(run.recipe().activation).filter(|peak| *peak > 0.0 && run.mfu > 0.0);
    let rate = peak.map(|peak| FlopsPerSecond(peak * 1e12 * run.mfu * gpus));
    let seconds = rate.map(|rate| total / rate);
    let gpu_hours = seconds.map(|seconds| seconds.hours() * gpus);
    Some(Compute {
        forward,
        backward,
        recomputed,
        attention: attention * micro_batches,
        tokens_per_step,
        steps: crate::units::ceil_u64(steps_exact),
        total,
        six_pd: Flops(6.0 * parameters * run.training_tokens),
        hfu_over_mfu: (per_step.0 + recomputed.0) / per_step.0,
        mfu: run.mfu,
        chinchilla_tokens: CHINCHILLA_TOKENS_PER_PARAMETER * parameters,
        step_seconds: rate.map(|rate| per_step / rate),
        seconds,
        gpu_hours,
        cost: gpu_hours.map(|hours| hours * accelerator.price_per_hour),
    })
}
