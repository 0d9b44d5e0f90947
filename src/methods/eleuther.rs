//! `EleutherAI`, *Transformer training costs* ("Transformer Math 101").
//!
//! Symbols: `P` parameters, `D` training tokens, `C` compute, `T` time, `s` tokens per sequence,
//! `b` sequences **per GPU**, `h` `hidden_size`, `L` layers, `a` heads, `t` tensor ranks, `p`
//! pipeline stages, `d` GPUs that shard. Fraction bars were lost in the stored text; the formulas
//! here are reconstructed. A [`ActivationShape`] of this document has `b` as `batch_size`.

use super::{ActivationShape, ModelStates, ceil_ratio, named, product};
use crate::config::{Optimizer, Recompute};
use crate::units::{Bytes, DType, Flops, FlopsPerSecond, Seconds, to_f64};

/// Compute-optimal training tokens per parameter (section *Parameter vs Dataset Tradeoffs*).
pub const TOKENS_PER_PARAMETER: f64 = 20.0;

/// Parameters that `ZeRO`-3 may keep gathered by `DeepSpeed`'s default `stage3_max_live_parameters`
/// (section *Sharded Optimizers*).
pub const DEFAULT_LIVE_PARAMETERS: u64 = 1_000_000_000;

/// Returns the FLOPs of the forward pass, `2PD` (section *Compute Requirements*).
pub fn forward_flops(parameters: f64, tokens: f64) -> Flops {
    Flops(2.0 * parameters * tokens)
}

/// Returns the FLOPs of the backward pass, `4PD`: twice the forward pass (section *Compute
/// Requirements*).
pub fn backward_flops(parameters: f64, tokens: f64) -> Flops {
    Flops(2.0 * forward_flops(parameters, tokens).0)
}

/// Returns the FLOPs of a training, `C = 6PD` (section *Compute Requirements*).
pub fn training_flops(parameters: f64, tokens: f64) -> Flops {
    forward_flops(parameters, tokens) + backward_flops(parameters, tokens)
}

/// Returns the FLOPs of a training with the most recomputation, one more forward pass: `8PD`
/// (section *Activations and Batch Size*).
pub fn training_flops_at_most(parameters: f64, tokens: f64) -> Flops {
    training_flops(parameters, tokens) + forward_flops(parameters, tokens)
}

/// Returns the seconds of a training, `T = C / (GPUs · achieved rate)` (section *Compute
/// Requirements*).
pub fn training_time(compute: Flops, gpus: u64, achieved: FlopsPerSecond) -> Seconds {
    compute / (achieved * to_f64(gpus.max(1)))
}

/// Returns GPU-hours: GPUs times hours (section *Compute Requirements*).
pub fn gpu_hours(gpus: u64, hours: f64) -> f64 {
    to_f64(gpus) * hours
}

/// Returns the FLOPs of one petaFLOP/s kept up for a day: `10¹⁵ · 24 · 3600` (section *Compute
/// Requirements*).
pub fn pflop_day() -> Flops {
    Flops(1e15) * (24.0 * 3600.0)
}

/// Returns the compute-optimal tokens, `D = 20P` (section *Parameter vs Dataset Tradeoffs*).
///
/// ```
/// # use headroom::methods::eleuther::optimal_tokens;
/// assert_eq!(optimal_tokens(70e9), 1.4e12);
/// ```
pub fn optimal_tokens(parameters: f64) -> f64 {
    TOKENS_PER_PARAMETER * parameters
}

/// Returns the parameters of the model for which that many tokens are optimal, `P = D / 20`.
pub fn optimal_parameters(tokens: f64) -> f64 {
    tokens / TOKENS_PER_PARAMETER
}

/// Returns the ratio of two rates, e.g. the speedup by `FlashAttention` (section *Engineering
/// Takeaways*).
pub fn speedup(before: f64, after: f64) -> f64 {
    after / before
}

/// Returns the bytes of one weight: bits / 8 (section *Model Weights*).
pub fn bytes_per_weight(dtype: DType) -> f64 {
    to_f64(dtype.bits()) / 8.0
}

/// Inference overhead as a fraction of the weights, at most (section *Total Inference Memory*).
pub const INFERENCE_OVERHEAD: f64 = 0.2;

/// Returns the bytes of inference, `1.2 ·` weights (section *Total Inference Memory*).
pub fn inference_memory(weights: Bytes) -> Bytes {
    weights + inference_overhead(weights)
}

/// Returns the bytes of the overhead in [`inference_memory`], a fifth of the weights, rounded up.
pub fn inference_overhead(weights: Bytes) -> Bytes {
    Bytes(weights.0.div_ceil(5))
}

/// The optimizers that the document names, by their keys, with the bytes that each keeps per
/// parameter in the document's order (section *Optimizer States*): fp32 parameters, momentum,
/// variance.
const OPTIMIZERS: [(&str, [u64; 3]); 3] =
    [("adamw", [4, 4, 4]), ("adamw8", [4, 1, 1]), ("sgdm", [4, 4, 0])];

/// Returns the bytes that the optimizer keeps per parameter: fp32 parameters, momentum, variance.
/// `None` for optimizers that the document does not name.
pub fn optimizer_parts(optimizer: Optimizer) -> Option<[u64; 3]> {
    named(&OPTIMIZERS, optimizer)
}

/// Returns the optimizer bytes per parameter: 12, 6 or 8 (section *Optimizer States*).
pub fn optimizer_bytes_per_parameter(optimizer: Optimizer) -> Option<u64> {
    optimizer_parts(optimizer).map(|parts| parts.iter().sum())
}

/// Returns the gradient bytes per parameter: 4 in fp32, 2 in fp16 (section *Gradients*).
pub const fn gradient_bytes_per_parameter(dtype: DType) -> u64 {
    dtype.bits() / 8
}

/// Returns the bytes of weights, gradients and optimizer as the document adds them, for whole-byte
/// formats.
pub fn states(
    num_parameters: u64,
    weight: DType,
    gradient: DType,
    optimizer_bytes: u64,
) -> ModelStates {
    ModelStates {
        weights: Bytes(weight.bits() / 8) * num_parameters,
        gradients: Bytes(gradient_bytes_per_parameter(gradient)) * num_parameters,
        optimizer: Bytes(optimizer_bytes) * num_parameters,
    }
}

/// Returns the optimizer's bytes per parameter without a second fp32 copy where the weights are
/// fp32 already (corrects the literal sum of 20 to 16).
pub fn optimizer_bytes_corrected(optimizer: Optimizer, weight: DType) -> Option<u64> {
    let [master, momentum, variance] = optimizer_parts(optimizer)?;
    Some(if matches!(weight, DType::Fp32) {
        momentum + variance
    } else {
        master + momentum + variance
    })
}

/// Bytes per `s·b·h·L` that tensor parallelism does not divide: norm inputs 4, attention and MLP
/// input 2 + 2, dropout masks 2.
pub const UNSHARDED_PARTS: [u64; 4] = [4, 2, 2, 2];

/// Bytes per `s·b·h·L` divided by `t`: queries and keys 4, values 2, projection input 2, `GeLU`
/// input 8, second linear's input 8.
pub const SHARDED_PARTS: [u64; 5] = [4, 2, 2, 8, 8];

/// Bytes per `a·s²·b·L`, divided by `t`: softmax output 2, dropout mask 1, dropout output 2.
pub const ATTENTION_PARTS: [u64; 3] = [2, 1, 2];

/// Returns the bytes of activations of one GPU (section *Activations and Batch Size*), no sequence
/// parallelism, 16 bit, rounded up.
///
/// None: `s·b·h·L·(10 + 24/t + 5as/(ht))`; selective: without the last term; full: `2·s·b·h·L`, not
/// divided by `t`.
pub fn activations(shape: &ActivationShape, t: u64, recompute: Recompute) -> Bytes {
    let (h, t) = (u128::from(shape.hidden_size), u128::from(t.max(1)));
    let sum = |parts: &[u64]| u128::from(parts.iter().sum::<u64>());
    let linear = sum(&UNSHARDED_PARTS)
        .saturating_mul(h)
        .saturating_mul(t)
        .saturating_add(sum(&SHARDED_PARTS).saturating_mul(h));
    let scores = sum(&ATTENTION_PARTS)
        .saturating_mul(u128::from(shape.num_attention_heads))
        .saturating_mul(u128::from(shape.seq_length));
    let per_token = match recompute {
        Recompute::None => linear.saturating_add(scores),
        Recompute::Selective => linear,
        Recompute::Full => h.saturating_mul(2).saturating_mul(t),
    };
    let tokens = u128::from(product([shape.seq_length, shape.batch_size, shape.num_hidden_layers]));
    Bytes(ceil_ratio(tokens.saturating_mul(per_token), t))
}

/// Returns the bytes of weights, optimizer, gradients and activations on one GPU with `ZeRO` over
/// `d` GPUs (section *Sharded Optimizers*).
///
/// Stage 1: `W + O/d + A + G`; 2: `W + A + (O + G)/d`; 3: `A + (W + O + G)/d` plus the live
/// parameters in 16 bit.
pub fn zero_total(
    zero_stage: u8,
    states: &ModelStates,
    d: u64,
    activations: Bytes,
    live_parameters: u64,
) -> Bytes {
    let live = if zero_stage >= 3 { Bytes(2) * live_parameters } else { Bytes::ZERO };
    states.sharded(zero_stage, d).total() + activations + live
}

/// Returns the bytes on one GPU with `ZeRO`-1 and `ZeRO`-R: `W + O/d + A/t + G` (section *Sharded
/// Optimizers*); `activations` must be those of `t` = 1.
pub fn zero_r_total(states: &ModelStates, d: u64, t: u64, activations: Bytes) -> Bytes {
    states.sharded(1, d).total() + activations.per_rank(t)
}

/// Returns the data-parallel ranks, `GPUs / (t · p)` (section *Sharded Optimizers + 3D
/// Parallelism*).
pub fn dp_degree(world_size: u64, t: u64, p: u64) -> u64 {
    world_size / product([t, p]).max(1)
}

/// Returns the document's divisor of weights: `t · p` (section *3D Parallelism*).
pub fn weight_divisor(t: u64, p: u64) -> u64 {
    product([t, p]).max(1)
}

/// Returns the document's divisor of gradients: `p` alone (section *3D Parallelism*).
pub fn gradient_divisor_as_printed(_t: u64, p: u64) -> u64 {
    p.max(1)
}

/// Returns the right divisor of gradients: `t · p`, as each rank has gradients of its own weights
/// only.
pub fn gradient_divisor(t: u64, p: u64) -> u64 {
    weight_divisor(t, p)
}

/// Returns the divisor of the optimizer in the 3D formula with `ZeRO`-1: all GPUs, `t · p · d`.
pub fn optimizer_divisor(t: u64, p: u64, d: u64) -> u64 {
    product([t, p, d]).max(1)
}

/// Returns the bytes on one GPU by the 3D formula with `ZeRO`-1: `W/(tp) + O/GPUs + A/t + G/p`
/// (last formula of the document).
///
/// `activations` must be those of `t` = 1; with the formula above, which contains `t`, the division
/// would happen twice.
pub fn three_d_total(states: &ModelStates, t: u64, p: u64, d: u64, activations: Bytes) -> Bytes {
    states.weights.per_rank(weight_divisor(t, p))
        + states.optimizer.per_rank(optimizer_divisor(t, p, d))
        + activations.per_rank(t)
        + states.gradients.per_rank(gradient_divisor_as_printed(t, p))
}

/// Returns the activations on the first pipeline stage relative to no pipeline: `L/p` layers times
/// `min(p, m)` micro-batches in flight.
pub fn pipeline_activation_ratio(p: u64, micro_batches: u64) -> f64 {
    to_f64(p.min(micro_batches)) / to_f64(p.max(1))
}
