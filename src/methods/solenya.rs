//! Solenya, *Training memory* (a guide to the memory of training one transformer).
//!
//! Symbols: `N` parameters, `h` `hidden_size`, `v` `vocab_size`, `s` tokens per sequence, `d_fc`
//! `intermediate_size`, `L` blocks, `bs` sequences held at once. The guide has no inference, no
//! compute and no formula for several GPUs. A [`ActivationShape`] of this document has `bs` as `batch_size`.

use super::{ActivationShape, distributed_overview, named, product};
use crate::config::Optimizer;
use crate::units::Bytes;

/// CUDA kernels, bytes: the upper end of "1 to 2 GB"; the guide does not add it (section 1).
pub const CUDA_KERNELS: Bytes = Bytes(2 * Bytes::GB);

/// Bytes per parameter of weights and of gradients (section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Weights, with the fp32 master copy under mixed precision.
    pub parameters: u64,
    /// Gradients, with their fp32 copy under mixed precision.
    pub gradients: u64,
}

impl Precision {
    /// fp32: `4N` and `4N` (section 2.1).
    pub const FP32: Self = Self { parameters: 4, gradients: 4 };
    /// Mixed: `2N + 4N` and `2N + 4N` (section 2.1.1).
    pub const MIXED: Self = Self { parameters: 2 + 4, gradients: 2 + 4 };

    /// Returns the bytes per parameter of weights and gradients with that optimizer.
    pub const fn with_optimizer(self, optimizer_bytes: u64) -> u64 {
        self.parameters + self.gradients + optimizer_bytes
    }

    /// Returns weights and gradients together relative to fp32 (section 2.1.1 says "slightly"
    /// more).
    pub fn relative_to_fp32(self) -> f64 {
        crate::units::to_f64(self.with_optimizer(0))
            / crate::units::to_f64(Self::FP32.with_optimizer(0))
    }
}

/// Returns the width of a head, `h / n_heads` (section 2.2.2).
pub fn key_dim(hidden_size: u64, num_attention_heads: u64) -> u64 {
    hidden_size / num_attention_heads.max(1)
}

/// Returns the parameters of the token embedding, `v · h` (section 2.2.1).
pub fn embedding_parameters(hidden_size: u64, vocab_size: u64) -> u64 {
    product([vocab_size, hidden_size])
}

/// Returns the parameters of the position table, `s · h` with the training sequence length (section
/// 2.2.1).
pub fn position_parameters(hidden_size: u64, seq_length: u64) -> u64 {
    product([seq_length, hidden_size])
}

/// Returns the parameters of one layer norm, `2h` (section 2.2.2).
pub fn norm_parameters(hidden_size: u64) -> u64 {
    product([2, hidden_size])
}

/// Returns the parameters of single-head attention, `3h² + 3h`: no output projection (section
/// 2.2.2).
pub fn single_head_attention_parameters(hidden_size: u64) -> u64 {
    product([3, hidden_size, hidden_size.saturating_add(1)])
}

/// Returns the parameters of multi-head attention, `4(h² + h)` (section 2.2.2).
pub fn attention_parameters(hidden_size: u64) -> u64 {
    single_head_attention_parameters(hidden_size)
        .saturating_add(product([hidden_size, hidden_size.saturating_add(1)]))
}

/// Returns the parameters of the fully connected layer, `2·h·d_fc + d_fc + h` (section 2.2.2).
pub fn mlp_parameters(hidden_size: u64, intermediate_size: u64) -> u64 {
    product([2, hidden_size, intermediate_size])
        .saturating_add(intermediate_size)
        .saturating_add(hidden_size)
}

/// Returns the parameters of one block, `N_ln + N_attn + N_ln + N_fc` = `4h² + 9h + 2·d_fc·h +
/// d_fc` (section 2.2.4).
///
/// ```
/// # use headroom::methods::solenya::layer_parameters;
/// let h = 4096;
/// assert_eq!(layer_parameters(h, 4 * h), 12 * h * h + 13 * h);
/// ```
pub fn layer_parameters(hidden_size: u64, intermediate_size: u64) -> u64 {
    norm_parameters(hidden_size)
        .saturating_mul(2)
        .saturating_add(attention_parameters(hidden_size))
        .saturating_add(mlp_parameters(hidden_size, intermediate_size))
}

/// The `h` terms of a block once `d_fc` is kept apart: norm 2, attention 4, norm 2, MLP 1 (section
/// 2.2.4).
pub const LAYER_VECTORS: [u64; 4] = [2, 4, 2, 1];

/// Returns all parameters, `h(v + s) + L(4h² + 9h + 2·d_fc·h + d_fc) + 2h` (section 2.2.4). With
/// `d_fc` = `4h` a layer equals `12h² + 13h`.
pub fn num_parameters(shape: &ActivationShape, vocab_size: u64) -> u64 {
    let h = shape.hidden_size;
    embedding_parameters(h, vocab_size)
        .saturating_add(position_parameters(h, shape.seq_length))
        .saturating_add(product([
            shape.num_hidden_layers,
            layer_parameters(h, shape.intermediate_size),
        ]))
        .saturating_add(norm_parameters(h))
}

/// Returns the bytes of activations, `L·s·bs·h·(34 + 5·n_heads·s/h)` (section 2.3): the formula of
/// the distributed overview.
pub fn activations(shape: &ActivationShape) -> Bytes {
    distributed_overview::activations(shape)
}

/// The optimizers that the guide names, by their keys, with bytes per parameter, master weights not
/// included (section 3): Adam 8, Adafactor 4, eight-bit Adam 1.
const OPTIMIZERS: [(&str, u64); 3] = [("adamw", 2 * 4), ("adafactor", 4), (EIGHT_BIT, 1)];

/// The key of the optimizer whose second moment the guide leaves out.
pub const EIGHT_BIT: &str = "adamw8";

/// Returns the optimizer bytes per parameter as the guide gives them, master weights not included;
/// `None` for optimizers it does not name.
pub fn optimizer_bytes_per_parameter(optimizer: Optimizer) -> Option<u64> {
    named(&OPTIMIZERS, optimizer)
}

/// Returns the bytes per parameter of eight-bit Adam with both of its moments: `1 + 1` (corrects
/// section 3).
pub const fn adam_8bit_bytes_with_two_moments() -> u64 {
    1 + 1
}

/// Returns the divisor of the activations of a fixed micro-batch under data-parallel sharding: 1,
/// as nothing divides them (section 3.1).
pub const fn zero_activation_divisor(_zero_stage: u8, _data_parallel_size: u64) -> u64 {
    1
}
