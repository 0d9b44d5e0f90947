//! *Distributed training overview* (lecture notes on one GPU's memory, batch size and
//! recomputation).
//!
//! Symbols: `N` parameters, `h` `hidden_size`, `v` `vocab_size`, `L` layers, `seq` tokens per
//! sequence, `bs`/`mbs` sequences held at once, `gbs` sequences per step. The document has no
//! formula for several GPUs. A [`ActivationShape`] of this document has `mbs` as `batch_size`.

use super::{ActivationShape, product};
use crate::units::{Bytes, Flops, FlopsPerSecond, Seconds, to_f64};

/// CUDA context of the summary, bytes: "about 2 GB", 1 to 2 in the text (sections 4.1 and 11).
pub const CUDA_CONTEXT: Bytes = Bytes(2 * Bytes::GB);

/// Returns the bits of a float: sign, exponent, mantissa (section 4.2).
pub const fn float_bits(exponent: u64, mantissa: u64) -> u64 {
    1 + exponent + mantissa
}

/// Weights of a layer in units of `h²`: QKV 3, output 1, up 4, down 4 (section 5).
pub const LAYER_WEIGHTS: [u64; 4] = [3, 1, 4, 4];

/// Biases of a layer in units of `h`: QKV 3, output 1, up 4, down 1 (section 5).
pub const LAYER_BIASES: [u64; 4] = [3, 1, 4, 1];

/// Two layer norms in units of `h` (section 5).
pub const LAYER_NORMS: u64 = 4;

/// Scale and bias of the final norm in units of `h` (section 5).
pub const FINAL_NORM: [u64; 2] = [1, 1];

/// Returns the parameters of a layer, `12h² + 13h`: four times wider plain MLP, biases, two norms
/// (section 5).
pub fn layer_parameters(hidden_size: u64) -> u64 {
    let squares = product([LAYER_WEIGHTS.iter().sum(), hidden_size, hidden_size]);
    squares.saturating_add(product([LAYER_NORMS + LAYER_BIASES.iter().sum::<u64>(), hidden_size]))
}

/// Returns all parameters, `h·v + L(12h² + 13h) + 2h`: tied head, no position table (section 5).
pub fn num_parameters(hidden_size: u64, num_hidden_layers: u64, vocab_size: u64) -> u64 {
    product([hidden_size, vocab_size])
        .saturating_add(product([num_hidden_layers, layer_parameters(hidden_size)]))
        .saturating_add(product([FINAL_NORM.iter().sum(), hidden_size]))
}

/// Returns the parameters by the approximation for wide models, `12·L·h²` (section 5).
pub fn num_parameters_approximate(hidden_size: u64, num_hidden_layers: u64) -> u64 {
    product([12, num_hidden_layers, hidden_size, hidden_size])
}

/// Returns the share of the layers' parameters that `12·L·h²` covers when a model has the given
/// sizes.
pub fn approximation_share(hidden_size: u64, num_hidden_layers: u64, num_parameters: u64) -> f64 {
    to_f64(num_parameters_approximate(hidden_size, num_hidden_layers))
        / to_f64(num_parameters.max(1))
}

/// The key of the optimizer whose states the document counts.
pub const OPTIMIZER: &str = "adamw";

/// Bytes per parameter by kind (section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesPerParameter {
    /// Weights used by forward and backward.
    pub parameters: u64,
    /// Gradients of backward.
    pub gradients: u64,
    /// fp32 master weights.
    pub master: u64,
    /// Further fp32 gradients (Nanotron).
    pub gradient_copy: u64,
    /// Adam's two moments.
    pub adam: u64,
}

impl BytesPerParameter {
    /// Full precision: `4 + 4 + 8` (section 6.1).
    pub const FP32: Self =
        Self { parameters: 4, gradients: 4, master: 0, gradient_copy: 0, adam: 4 + 4 };
    /// Mixed precision: `2 + 2 + 4 + 8` (section 6.2).
    pub const MIXED: Self =
        Self { parameters: 2, gradients: 2, master: 4, gradient_copy: 0, adam: 4 + 4 };
    /// Mixed precision with fp32 gradients beside: `2 + 2 + 4 + 4 + 8` (section 6.2).
    pub const MIXED_FP32_GRADIENTS: Self = Self { gradient_copy: 4, ..Self::MIXED };

    /// Returns the bytes per parameter in all: 16, 16 or 20.
    pub const fn total(self) -> u64 {
        self.parameters + self.gradients + self.master + self.gradient_copy + self.adam
    }

    /// Returns the bytes per parameter before the first optimizer step: Adam's moments do not exist
    /// yet (section 4.1).
    pub const fn first_step(self) -> u64 {
        self.total() - self.adam
    }
}

/// Bytes per `s·b·h` that one block keeps: attention 11, MLP 19, norms 4 (section 7.2, after
/// Korthikanti et al.).
pub const LINEAR_PARTS: [u64; 3] = [11, 19, 4];

/// Bytes per `a·s²·b` that one block keeps: softmax output 2, mask 1, dropout output 2 (section
/// 7.2, after Korthikanti et al.).
pub const ATTENTION_PARTS: [u64; 3] = [2, 1, 2];

/// Returns the bytes of activations, `L·seq·bs·h·(34 + 5·n_heads·seq/h)` (section 7.2).
pub fn activations(shape: &ActivationShape) -> Bytes {
    let tokens = product([shape.num_hidden_layers, shape.seq_length, shape.batch_size]);
    let linear = product([LINEAR_PARTS.iter().sum(), shape.hidden_size]);
    let scores =
        product([ATTENTION_PARTS.iter().sum(), shape.num_attention_heads, shape.seq_length]);
    Bytes(product([tokens, linear.saturating_add(scores)]))
}

/// Returns the bytes of activations with full recomputation, `2·L·bs·seq·h` (section 8.2.1).
pub fn activations_full_recompute(shape: &ActivationShape) -> Bytes {
    Bytes(product([
        2,
        shape.num_hidden_layers,
        shape.batch_size,
        shape.seq_length,
        shape.hidden_size,
    ]))
}

/// Returns the bytes of activations with selective recomputation: the `n_heads·seq²` part dropped,
/// `34·L·bs·seq·h` (section 8.2.2).
pub fn activations_selective_recompute(shape: &ActivationShape) -> Bytes {
    activations(&ActivationShape { num_attention_heads: 0, ..*shape })
}

/// Returns the share that selective recomputation saves, `(5as/h)/(34 + 5as/h)` (section 8.2.2
/// quotes 70 %, which is GPT-3's).
pub fn selective_saving(shape: &ActivationShape) -> f64 {
    let all = activations(shape).as_f64();
    (all - activations_selective_recompute(shape).as_f64()) / all
}

/// Returns the extra compute of selective recomputation as a share of model FLOPs, `(s/6h) / (1 +
/// s/6h + v/12hL)` (section 8.2.2, after Korthikanti et al.).
pub fn selective_extra_compute(shape: &ActivationShape, vocab_size: u64) -> f64 {
    let (h, l) = (to_f64(shape.hidden_size), to_f64(shape.num_hidden_layers));
    let attention = to_f64(shape.seq_length) / (6.0 * h);
    attention / (1.0 + attention + to_f64(vocab_size) / (12.0 * h * l))
}

/// Returns the sequence length in tokens at which the `s²` term equals the linear one, `34h/(5a)` =
/// `6.8 · head_dim` (corrects section 7.3).
///
/// ```
/// # use headroom::methods::distributed_overview::quadratic_from;
/// assert!((quadratic_from(128) - 870.4).abs() < 1e-9);
/// ```
pub fn quadratic_from(head_dim: u64) -> f64 {
    let linear: u64 = LINEAR_PARTS.iter().sum();
    let scores: u64 = ATTENTION_PARTS.iter().sum();
    to_f64(linear * head_dim) / to_f64(scores)
}

/// Returns hardware over model FLOPs with full recomputation, `8PD / 6PD` (section 8.3).
pub fn hfu_over_mfu_full_recompute() -> f64 {
    let (forward, backward) = (2.0, 4.0);
    (forward + backward + forward) / (forward + backward)
}

/// Returns the utilisation as a share: operations over step time times peak rate (section 8.3); MFU
/// with model FLOPs, HFU with all.
pub fn utilisation(flops: Flops, step: Seconds, peak: FlopsPerSecond) -> f64 {
    flops.0 / (step.0 * peak.0)
}

/// Returns the sequences per step, `gbs = mbs · grad_acc`, times the data-parallel ranks where
/// there are several (section 9.2).
pub fn global_batch_size(micro_batch_size: u64, grad_acc: u64, data_parallel_size: u64) -> u64 {
    product([micro_batch_size, grad_acc, data_parallel_size])
}

/// Returns the tokens per step, `gbs · seq` (section 9.2).
pub fn tokens_per_batch(global_batch_size: u64, seq_length: u64) -> u64 {
    product([global_batch_size, seq_length])
}

/// Returns the sequences in a batch of that many tokens, `bs_t / seq` (section 9.1).
pub fn sequences_per_batch(tokens: f64, seq_length: u64) -> f64 {
    tokens / to_f64(seq_length.max(1))
}

/// Returns the bytes of activations with gradient accumulation, `m_act(gbs) / grad_acc`, rounded up
/// (section 9.3).
pub fn accumulated_activations(all: Bytes, grad_acc: u64) -> Bytes {
    all.per_rank(grad_acc)
}

/// Returns the step time in micro-steps: `grad_acc` (section 9.4).
pub const fn step_in_micro_steps(grad_acc: u64) -> u64 {
    grad_acc
}

/// Returns all memory, bytes: `16N` or `20N` plus activations plus about 2 GB (section 11).
pub fn total(states: BytesPerParameter, num_parameters: u64, activations: Bytes) -> Bytes {
    Bytes(states.total()) * num_parameters + activations + CUDA_CONTEXT
}

/// Bytes per `b·s·h` in the document's own table: norm, QKV, projection input, norm, MLP up, `GeLU`
/// input, MLP down, dropout (section 7.2). They add up to 38, not 34.
pub const TABLE_LINEAR_ROWS: [(&str, u64); 8] = [
    ("ln1", 2),
    ("qkv", 6),
    ("proj_in", 2),
    ("ln2", 2),
    ("mlp_up", 8),
    ("gelu_in", 8),
    ("down_in", 8),
    ("dropout", 2),
];

/// Bytes per `a·s²·b` in the document's own table: scores, softmax, mask (section 7.2).
pub const TABLE_ATTENTION_ROWS: [(&str, u64); 3] = [("scores", 2), ("softmax", 2), ("mask", 1)];

/// Returns the sum of the rows of one of the two tables, bytes.
pub fn table_sum(rows: &[(&str, u64)]) -> u64 {
    rows.iter().map(|(_, bytes)| bytes).sum()
}
