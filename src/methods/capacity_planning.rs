//! *Memory Capacity Planning for LLMs* (a lesson with two Python functions and a budget template).
//!
//! Symbols: `P` parameters, `b` sequences (whole job in the two functions, **per GPU** in the
//! template), `s` tokens per sequence, `h` `hidden_size`, `L` layers, `n_kv` `num_key_value_heads`,
//! `N` data-parallel ranks. GB = 10⁹. The stored text has lost its display formulas; the code is
//! complete, and this file follows the code. A [`ActivationShape`] of this document has `b` as `batch_size`.

use super::{ActivationShape, ModelStates, ceil_ratio, distributed_overview, product};
use crate::units::{Bytes, DType, Elements, Flops, FlopsPerSecond, Seconds, to_f64};

/// Memory of the document's GPU, 80 decimal GB.
pub const H100: Bytes = Bytes(80 * Bytes::GB);

/// fp32 master weights, first and second moment, bytes per parameter (component 3).
pub const OPTIMIZER_PARTS: [u64; 3] = [4, 4, 4];

/// Bytes per `b·s·h·L` without checkpointing: attention 11, MLP 19, norms 4 (component 4, after
/// Korthikanti et al.).
pub const ACTIVATION_PARTS: [u64; 3] = [11, 19, 4];

/// The factor of the code with checkpointing (component 4).
pub const CHECKPOINT_FACTOR: u64 = 2;

/// Per cent added to training (function `compute_training_memory`).
pub const TRAINING_OVERHEAD_PERCENT: u64 = 10;

/// Per cent added to inference (function `compute_inference_memory`); question 5 uses 10.
pub const INFERENCE_OVERHEAD_PERCENT: u64 = 5;

/// Returns the bytes of one element: bits / 8 (component 1's table).
pub fn bytes_per_element(dtype: DType) -> f64 {
    to_f64(dtype.bits()) / 8.0
}

/// Returns the bytes of weights, `P · bits / 8` (component 1).
pub fn weights(num_parameters: u64, dtype: DType) -> Bytes {
    Elements(num_parameters).stored_as(dtype)
}

/// Returns the bytes of gradients in the weights' format, `P · bits / 8` (component 2).
pub fn gradients(num_parameters: u64, dtype: DType) -> Bytes {
    Elements(num_parameters).stored_as(dtype)
}

/// Returns the bytes of Adam's states with master weights, `12P` (component 3).
pub fn optimizer(num_parameters: u64) -> Bytes {
    Bytes(OPTIMIZER_PARTS.iter().sum()) * num_parameters
}

/// Returns the bytes of weights, gradients and Adam: `16P` for 16-bit formats (component 3).
pub fn states(num_parameters: u64, dtype: DType) -> ModelStates {
    ModelStates {
        weights: weights(num_parameters, dtype),
        gradients: gradients(num_parameters, dtype),
        optimizer: optimizer(num_parameters),
    }
}

/// Returns the bytes of activations by the rounded rule of the text, `34·b·s·h·L` (component 4).
pub fn activations_rule(shape: &ActivationShape) -> Bytes {
    Bytes(product([ACTIVATION_PARTS.iter().sum(), hidden(shape)]))
}

/// Returns the bytes of activations with checkpointing as the text counts them, `2·b·s·h·L`
/// (component 4, question 3).
pub fn activations_checkpointed(shape: &ActivationShape) -> Bytes {
    Bytes(product([CHECKPOINT_FACTOR, hidden(shape)]))
}

/// Returns the bytes of activations as the code computes them, `b·s·h·L · f ·` precision bytes with
/// `f` = 2 checkpointed, else 34: one factor of 2 too many.
pub fn activations_as_coded(shape: &ActivationShape, checkpointing: bool, dtype: DType) -> Bytes {
    let rule =
        if checkpointing { activations_checkpointed(shape) } else { activations_rule(shape) };
    Elements(rule.0).stored_as(dtype)
}

/// Returns the bytes of activations with the attention matrices, `b·s·h·L·(34 + 5as/h)` (component
/// 4, the "exact" formula that the text refers to).
pub fn activations_exact(shape: &ActivationShape) -> Bytes {
    distributed_overview::activations(shape)
}

/// Returns the share of the exact activations that the rule of 34 leaves out, 0 to 1 (component 4
/// says within 20 %).
pub fn rule_shortfall(shape: &ActivationShape) -> f64 {
    1.0 - activations_rule(shape).as_f64() / activations_exact(shape).as_f64()
}

/// Returns the factor by which checkpointing reduces activations by the rule, 34 / 2 = 17 times
/// (question 3; 34 and about 10 elsewhere).
pub fn checkpoint_saving() -> f64 {
    to_f64(ACTIVATION_PARTS.iter().sum()) / to_f64(CHECKPOINT_FACTOR)
}

/// Returns the sets of activations kept without checkpointing: one per layer (question 3).
pub const fn activation_sets(num_hidden_layers: u64) -> u64 {
    num_hidden_layers
}

/// Returns the extra compute of recomputing the forward pass as a share of model FLOPs, `2PD / 6PD`
/// (components 4, question 3).
pub fn recompute_overhead() -> f64 {
    let (forward, backward) = (2.0, 4.0);
    forward / (forward + backward)
}

/// The sizes that a KV cache depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Layers, `L`.
    pub num_hidden_layers: u64,
    /// Key/value heads, `n_kv`.
    pub num_key_value_heads: u64,
    /// Width of a head.
    pub head_dim: u64,
}

/// Returns the bytes of the KV cache of that many cached tokens over all sequences,
/// `2·L·n_kv·head_dim·tokens·bytes` (component 5).
///
/// ```
/// # use headroom::methods::capacity_planning::{KvShape, kv_cache};
/// # use headroom::units::DType;
/// let llama_70b = KvShape { num_hidden_layers: 80, num_key_value_heads: 8, head_dim: 128 };
/// assert_eq!(kv_cache(llama_70b, 1, DType::Bf16).0, 2 * 80 * 8 * 128 * 2);
/// ```
pub fn kv_cache(shape: KvShape, tokens: u64, dtype: DType) -> Bytes {
    Elements::of([2, shape.num_hidden_layers, shape.num_key_value_heads, shape.head_dim, tokens])
        .stored_as(dtype)
}

/// Returns the factor by which grouped heads make the cache smaller, `n_heads / n_kv` (question 6).
pub fn kv_reduction(num_attention_heads: u64, num_key_value_heads: u64) -> f64 {
    to_f64(num_attention_heads) / to_f64(num_key_value_heads.max(1))
}

/// Returns how many whole sequences a cache of that size holds: `⌊cache / sequence⌋`.
pub fn sequences_in(cache: Bytes, one_sequence: Bytes) -> u64 {
    cache.0 / one_sequence.0.max(1)
}

/// Returns the bytes of the buffer of the tokens in flight, `b·1·h·L·4·bytes` (function
/// `compute_inference_memory`).
pub fn inference_buffer(
    batch_size: u64,
    hidden_size: u64,
    num_hidden_layers: u64,
    dtype: DType,
) -> Bytes {
    Elements::of([batch_size, 1, hidden_size, num_hidden_layers, 4]).stored_as(dtype)
}

/// Returns that amount with `percent` added, rounded up to whole bytes.
pub fn with_overhead(total: Bytes, percent: u64) -> Bytes {
    total + overhead(total, percent)
}

/// Returns that many per cent of `total`, rounded up to whole bytes.
pub fn overhead(total: Bytes, percent: u64) -> Bytes {
    Bytes(ceil_ratio(u128::from(total.0) * u128::from(percent), 100))
}

/// Returns the bytes of the whole job before its overhead as the function `compute_training_memory`
/// adds them: model states plus the activations of the whole batch.
pub fn training_memory(states: &ModelStates, activations: Bytes) -> Bytes {
    states.total() + activations
}

/// Returns the bytes of weights, cache and buffer with 5 % on top (function
/// `compute_inference_memory`).
pub fn inference_memory(weights: Bytes, kv_cache: Bytes, buffer: Bytes) -> Bytes {
    with_overhead(weights + kv_cache + buffer, INFERENCE_OVERHEAD_PERCENT)
}

/// Returns the number of GPUs `total / capacity`, not rounded, as the code prints it.
pub fn gpus_quotient(total: Bytes, capacity: Bytes) -> f64 {
    total.as_f64() / to_f64(capacity.0.max(1))
}

/// Returns the number of GPUs `⌈total / capacity⌉`, at least 1.
pub fn gpus(total: Bytes, capacity: Bytes) -> u64 {
    total.0.div_ceil(capacity.0.max(1)).max(1)
}

/// Returns the code's "next power of 2" of GPUs, `2**int(n-1).bit_length()` with `n` the quotient:
/// its `int` cuts 15.58 to 15, so 16.58 gives 16.
pub fn power_of_two_as_coded(total: Bytes, capacity: Bytes) -> u64 {
    let whole = total.saturating_sub(capacity).0 / capacity.0.max(1);
    1_u64.checked_shl(u64::BITS - whole.leading_zeros()).unwrap_or(u64::MAX)
}

/// Returns the power of two of GPUs that holds `total`.
pub fn power_of_two(total: Bytes, capacity: Bytes) -> u64 {
    gpus(total, capacity).checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// Returns the GPUs of whole nodes for that many GPUs (question 5: 39 becomes 40).
pub fn whole_nodes(gpus: u64, accelerators_per_node: u64) -> u64 {
    nodes(gpus, accelerators_per_node).saturating_mul(accelerators_per_node.max(1))
}

/// Returns the nodes for that many GPUs, rounded up.
pub fn nodes(gpus: u64, accelerators_per_node: u64) -> u64 {
    gpus.div_ceil(accelerators_per_node.max(1))
}

/// Returns the bytes of a whole cluster: `GPUs · capacity`.
pub fn cluster_memory(gpus: u64, capacity: Bytes) -> Bytes {
    capacity * gpus
}

/// Returns the bytes of a cluster that are left for the cache when each of `replicas` groups of
/// GPUs holds a copy of the weights (corrects question 5).
pub fn left_for_cache(gpus: u64, capacity: Bytes, replicas: u64, weights: Bytes) -> Bytes {
    cluster_memory(gpus, capacity).saturating_sub(weights * replicas)
}

/// Returns the GPUs of a layout, `t · p · d`.
pub fn world_size(t: u64, p: u64, d: u64) -> u64 {
    product([t, p, d])
}

/// One GPU's budget as the template `memory_budget` fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Weights, gradients and optimizer on one data-parallel rank.
    pub states: ModelStates,
    /// Activations of the rank's batch, not divided by anything.
    pub activations: Bytes,
    /// A tenth of the above.
    pub overhead: Bytes,
}

impl Budget {
    /// Returns the bytes of the budget's field `total_gb`: states, activations and overhead.
    pub fn total(&self) -> Bytes {
        self.states.total() + self.activations + self.overhead
    }
}

/// Returns the bytes of one GPU by the template `memory_budget`: `W/N` from stage 3, `G/N` from
/// stage 2, `O/N` from stage 1; tensor and pipeline degree are ignored.
pub fn memory_budget(
    states: &ModelStates,
    zero_stage: u8,
    data_parallel_size: u64,
    activations: Bytes,
) -> Budget {
    let states = states.sharded(zero_stage, data_parallel_size);
    Budget {
        states,
        activations,
        overhead: overhead(states.total() + activations, TRAINING_OVERHEAD_PERCENT),
    }
}

/// Returns the divisor of optimizer states and gradients under tensor parallelism: `t` (the
/// document says that nothing divides them).
pub const fn tensor_parallel_divisor(t: u64) -> u64 {
    t
}

/// Returns the pipeline bubble relative to the ideal time, `(p − 1)/(v·m)`; `v` = 1 without
/// interleaving.
pub fn pipeline_bubble(p: u64, micro_batches: u64, virtual_stages: u64) -> f64 {
    to_f64(p.saturating_sub(1)) / to_f64(product([micro_batches, virtual_stages]).max(1))
}

/// Returns the micro-batches whose activations the first stage holds, `min(p, m)` (section
/// *Pipeline Parallelism*).
pub fn micro_batches_in_flight(p: u64, micro_batches: u64) -> u64 {
    p.min(micro_batches)
}

/// Returns the bytes per parameter left on each of `n` ranks at that `ZeRO` stage with 16-bit
/// formats and Adam (question 2).
///
/// ```
/// # use headroom::methods::capacity_planning::zero_bytes_per_parameter;
/// // Stage 1 on 8 ranks: 2 + 2 + 12 / 8.
/// assert_eq!(zero_bytes_per_parameter(1, 8), 5.5);
/// ```
pub fn zero_bytes_per_parameter(zero_stage: u8, n: u64) -> f64 {
    // With n parameters every share is a whole number of bytes.
    let n = n.max(1);
    states(n, DType::Bf16).sharded(zero_stage, n).total().as_f64() / to_f64(n)
}

/// Returns the factor by which that stage reduces model states in the limit of many ranks: 4 or 8
/// times, without limit at stage 3 (question 2).
pub fn zero_saving_limit(zero_stage: u8) -> f64 {
    let all = states(1, DType::Bf16);
    let kept = match zero_stage {
        0 => all.total(),
        1 => all.weights + all.gradients,
        2 => all.weights,
        _ => return f64::INFINITY,
    };
    all.total().as_f64() / kept.as_f64()
}

/// Returns the communication of stage 3 relative to plain data parallelism: a reduce-scatter and
/// two all-gathers against an all-reduce of two.
pub fn zero3_communication() -> f64 {
    let (reduce_scatter, all_gather) = (1.0, 1.0);
    (reduce_scatter + 2.0 * all_gather) / (reduce_scatter + all_gather)
}

/// Returns the seconds of a training at an achieved rate, `6PD / (GPUs · rate)` (checks the history
/// section's "months").
pub fn training_time(
    num_parameters: f64,
    tokens: f64,
    gpus: u64,
    achieved: FlopsPerSecond,
) -> Seconds {
    training_flops(num_parameters, tokens) / (achieved * to_f64(gpus.max(1)))
}

/// Returns the FLOPs of a training, `6PD`.
pub fn training_flops(num_parameters: f64, tokens: f64) -> Flops {
    Flops(6.0 * num_parameters * tokens)
}

/// Returns the share of one total that another leaves out, `1 − low / high`.
pub fn shortfall(low: Bytes, high: Bytes) -> f64 {
    1.0 - low.as_f64() / high.as_f64()
}

/// Returns the parameters of a Llama-like model: grouped heads, gated MLP, root-mean-square norms,
/// untied head, no biases.
///
/// `L·(2h² + 2·h·n_kv·head_dim + 3·h·d_ff + 2h) + 2·v·h + h`; the document calls this count 70
/// billion (corrects the nominal count).
pub fn llama_parameters(
    hidden_size: u64,
    intermediate_size: u64,
    vocab_size: u64,
    kv: KvShape,
) -> u64 {
    let h = hidden_size;
    let kv_width = product([kv.num_key_value_heads, kv.head_dim]);
    let per_row = product([2, h]) + product([2, kv_width]) + product([3, intermediate_size]) + 2;
    product([kv.num_hidden_layers, h, per_row])
        .saturating_add(product([2, vocab_size, h]))
        .saturating_add(h)
}

/// The key of the optimizer whose states the document counts.
pub const OPTIMIZER: &str = "adamw";

fn hidden(shape: &ActivationShape) -> u64 {
    product([shape.batch_size, shape.seq_length, shape.hidden_size, shape.num_hidden_layers])
}
