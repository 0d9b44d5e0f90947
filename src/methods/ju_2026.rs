//! Li Ju, *How Many GPUs Do You Need To Train a Transformer?* (2026).
//!
//! Training only, data parallelism only, 16-bit weights and gradients. Symbols: `B` global batch,
//! `s` tokens per sequence, `d_model` = `hidden_size`, `d_interm` = `intermediate_size`, `n_head` =
//! `num_attention_heads`, `L` layers, `V` vocabulary, `N` parameters, `N_gpu` data-parallel ranks.
//! In a [`ActivationShape`] of this document `batch_size` is the **global** batch, because the document
//! divides everything by `N_gpu` afterwards. Section numbers are the document's.

use super::{ActivationShape, ModelStates, named, product, whole_billions};
use crate::config::Optimizer;
use crate::units::{Bytes, to_f64};

/// The parameter count the document names its model by and uses for all memory (section 1: "≈ 7B").
pub const NOMINAL_PARAMETERS: u64 = 7_000_000_000;

/// The document's example (section 1): its 7B model, batch 128, sequences of 4096 tokens.
pub const EXAMPLE: ActivationShape = ActivationShape {
    hidden_size: 4096,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    intermediate_size: 16_384,
    seq_length: 4096,
    batch_size: 128,
};

/// Vocabulary of the example (section 1).
pub const EXAMPLE_VOCAB_SIZE: u64 = 32_000;

/// Memory of the example's A100, decimal as the document reckons (section 3).
pub const EXAMPLE_CAPACITY: Bytes = Bytes(40 * Bytes::GB);

/// Returns the width of one head, `d_model / n_head` (section 1).
pub fn head_dim(hidden_size: u64, num_attention_heads: u64) -> u64 {
    hidden_size / num_attention_heads.max(1)
}

/// Returns the parameters of the token embedding, `V · d_model` (section 1). The untied output
/// layer has as many.
pub fn embedding_parameters(hidden_size: u64, vocab_size: u64) -> u64 {
    product([vocab_size, hidden_size])
}

/// Returns the product printed for the output layer, `d_model · 4096 · V` with `d_model` = 4096
/// twice (section 1, item 4): a slip.
pub fn output_parameters_as_printed(hidden_size: u64, vocab_size: u64) -> u64 {
    product([hidden_size, EXAMPLE.hidden_size, vocab_size])
}

/// Returns the parameters of attention of one block, `4 · d_model²`, no biases (section 1, item 2).
pub fn attention_parameters(hidden_size: u64) -> u64 {
    product([4, hidden_size, hidden_size])
}

/// Returns the parameters of the feed-forward part of one block, `2 · d_model · d_interm`, not
/// gated, no biases (section 1, item 3).
pub fn mlp_parameters(hidden_size: u64, intermediate_size: u64) -> u64 {
    product([2, hidden_size, intermediate_size])
}

/// Returns `embedding + (attention + mlp) · L + output` (section 1), in the unit of its terms; the
/// document adds millions.
pub fn sum_of_parameters(
    embedding: u64,
    attention: u64,
    mlp: u64,
    output: u64,
    num_hidden_layers: u64,
) -> u64 {
    embedding
        .saturating_add(product([attention.saturating_add(mlp), num_hidden_layers]))
        .saturating_add(output)
}

/// Returns all parameters, `2·V·d_model + L·(4·d_model² + 2·d_model·d_interm)`: untied head, no
/// biases, no norms (section 1).
pub fn num_parameters(shape: &ActivationShape, vocab_size: u64) -> u64 {
    let table = embedding_parameters(shape.hidden_size, vocab_size);
    let attention = attention_parameters(shape.hidden_size);
    let mlp = mlp_parameters(shape.hidden_size, shape.intermediate_size);
    sum_of_parameters(table, attention, mlp, table, shape.num_hidden_layers)
}

/// Returns the parameter count that is used for memory: rounded to whole billions where that moves
/// it by at most 5 %, else the exact count.
///
/// The document rounds 6.70 to 7 (4.4 %). It says nothing of smaller models; rounding those would
/// change their count too much.
pub fn parameters_used(num_parameters: u64) -> u64 {
    let rounded = whole_billions(num_parameters);
    if u128::from(rounded.abs_diff(num_parameters)) * 20 <= u128::from(num_parameters) {
        rounded
    } else {
        num_parameters
    }
}

/// Returns the bytes of 16-bit weights, `2N` (section 2.1).
pub fn weights(num_parameters: u64) -> Bytes {
    Bytes(2) * num_parameters
}

/// Returns the bytes of 16-bit gradients, `2N` (section 2.2).
pub fn gradients(num_parameters: u64) -> Bytes {
    Bytes(2) * num_parameters
}

/// The optimizers that the document names, by their keys, with bytes per parameter, fp32 master
/// weights included (sections 2.3 and 5): 12 Adam, 8 SGD with momentum, 4 eight-bit Adam.
const OPTIMIZERS: [(&str, u64); 3] = [("adamw", 12), ("sgdm", 8), ("adamw8", 4)];

/// Returns the optimizer bytes per parameter, fp32 master weights included; `None` for optimizers
/// that the document does not name.
pub fn optimizer_bytes_per_parameter(optimizer: Optimizer) -> Option<u64> {
    named(&OPTIMIZERS, optimizer)
}

/// Returns the bytes per parameter of eight-bit Adam with the fp32 master copy that the document
/// itself counts: `4 + 1 + 1` = 6 (corrects section 5).
pub const fn adam_8bit_with_master_bytes_per_parameter() -> u64 {
    4 + 1 + 1
}

/// Returns the bytes of optimizer states: [`optimizer_bytes_per_parameter`] times `N`; `None` as
/// there.
pub fn optimizer(optimizer: Optimizer, num_parameters: u64) -> Option<Bytes> {
    optimizer_bytes_per_parameter(optimizer).map(|bytes| Bytes(bytes) * num_parameters)
}

/// Returns the bytes of weights, gradients and Adam: `16N` (section 3.1: 14 + 14 + 84 GB).
///
/// ```
/// # use headroom::methods::ju_2026::adam_states;
/// // The document's 7B model: 14 + 14 + 84 GB.
/// assert_eq!(adam_states(7_000_000_000).total().0, 112_000_000_000);
/// ```
pub fn adam_states(num_parameters: u64) -> ModelStates {
    ModelStates {
        weights: weights(num_parameters),
        gradients: gradients(num_parameters),
        optimizer: Bytes(12) * num_parameters,
    }
}

/// The `B·s·d_model` tensors of one block as listed in section 2.4: input, QKV, attention output,
/// norm, MLP output, norm.
pub const LISTED_TENSORS: [u64; 6] = [1, 3, 1, 2, 1, 2];

/// Returns the number of `B·s·d_model` tensors that one block keeps: the list less one, as its
/// output is the next block's input (section 2.4).
pub fn linear_tensors() -> u64 {
    LISTED_TENSORS.iter().sum::<u64>() - 1
}

/// Returns the elements of one `B·s·d_model` tensor.
pub fn hidden_elements(shape: &ActivationShape) -> u64 {
    product([shape.batch_size, shape.seq_length, shape.hidden_size])
}

/// Returns the elements that grow linearly with `s`: `9·B·s·d_model + 2·B·s·d_interm` (section
/// 2.4).
pub fn linear_elements(shape: &ActivationShape) -> u64 {
    let hidden = product([linear_tensors(), hidden_elements(shape)]);
    hidden.saturating_add(product([2, shape.batch_size, shape.seq_length, shape.intermediate_size]))
}

/// Returns the elements of scores and probabilities: `2·n_head·B·s²` (section 2.4).
pub fn attention_elements(shape: &ActivationShape) -> u64 {
    product([2, shape.num_attention_heads, shape.batch_size, shape.seq_length, shape.seq_length])
}

/// Returns the elements that one block keeps: `9·B·s·d_model + 2·B·s·d_interm + 2·n_head·B·s²`
/// (section 2.4).
pub fn block_elements(shape: &ActivationShape) -> u64 {
    linear_elements(shape).saturating_add(attention_elements(shape))
}

/// Returns the bytes of the linear part of one block in fp16 (section 2.4; printed as 68 "GB",
/// which is 68 GiB).
pub fn linear_bytes(shape: &ActivationShape) -> Bytes {
    Bytes(2) * linear_elements(shape)
}

/// Returns the bytes of the attention part of one block in fp16 (section 2.4).
pub fn attention_bytes(shape: &ActivationShape) -> Bytes {
    Bytes(2) * attention_elements(shape)
}

/// Returns the bytes of activations of one block in fp16 (section 2.4).
pub fn block(shape: &ActivationShape) -> Bytes {
    linear_bytes(shape) + attention_bytes(shape)
}

/// Returns the bytes of activations of all blocks (section 2.4: "343 × 32 GB").
pub fn activations(shape: &ActivationShape) -> Bytes {
    block(shape) * shape.num_hidden_layers
}

/// Returns all memory on one imaginary GPU, bytes: `16N + L · block` (section 2.5).
pub fn total(states: &ModelStates, activations: Bytes) -> Bytes {
    states.total() + activations
}

/// Returns the bytes that a checkpointed block keeps: its input, `2·B·s·d_model` (section 4.1.2).
pub fn checkpoint(shape: &ActivationShape) -> Bytes {
    Bytes(2) * hidden_elements(shape)
}

/// Returns the bytes of the checkpoints of all blocks (section 4.1.2).
pub fn checkpoints(shape: &ActivationShape) -> Bytes {
    checkpoint(shape) * shape.num_hidden_layers
}

/// Returns the bytes needed only while one block is worked on: the block less its checkpoint
/// (section 4.1.2).
pub fn temporary(block: Bytes, checkpoint: Bytes) -> Bytes {
    block.saturating_sub(checkpoint)
}

/// Returns the bytes needed only while one block is worked on, with `FlashAttention`: also less
/// scores and probabilities (section 4.2).
pub fn temporary_with_flash_attention(shape: &ActivationShape) -> Bytes {
    temporary(block(shape), checkpoint(shape)).saturating_sub(attention_bytes(shape))
}

/// Returns the bytes of the `FlashAttention` spike when only the MLP tensors are kept in one byte
/// (section 5 says "half", which needs all tensors).
pub fn temporary_with_int8_mlp(shape: &ActivationShape) -> Bytes {
    let saved = product([2, shape.batch_size, shape.seq_length, shape.intermediate_size]);
    temporary_with_flash_attention(shape).saturating_sub(Bytes(saved))
}

/// Returns all memory over the capacity of one GPU, rounded up (section 3, offered as the naive
/// answer); `None` without capacity.
pub fn naive_gpus(total: Bytes, capacity: Bytes) -> Option<u64> {
    gpus_for(total, capacity)
}

/// Returns `N_gpu` solved from the document's equation of that `ZeRO` stage, rounded up (section
/// 3.2).
///
/// Stage 1: `(opt + act)/(cap − w − g)`; stage 2: `(opt + g + act)/(cap − w)`; stage 3: `(opt + g +
/// w + act)/cap`; stage 0 keeps all states (section 3.1). `None` where the part that every GPU
/// repeats does not fit.
pub fn gpus(
    zero_stage: u8,
    states: &ModelStates,
    activations: Bytes,
    capacity: Bytes,
) -> Option<u64> {
    let ModelStates { weights, gradients, optimizer } = *states;
    let (shared, repeated) = match zero_stage {
        0 => (activations, states.total()),
        1 => (activations + optimizer, weights + gradients),
        2 => (activations + optimizer + gradients, weights),
        _ => (activations + states.total(), Bytes::ZERO),
    };
    gpus_for(shared, capacity.saturating_sub(repeated))
}

/// Returns the counts of GPUs as the document arrives at them (sections 3.2.1 to 3.2.3), kept with
/// their slips.
///
/// Activations are rounded to whole terabytes (11,000 GB). Stage 1 rounds up; stage 2 leaves out
/// optimizer and gradients and rounds down; stage 3 leaves out the states.
pub fn gpus_as_printed(
    zero_stage: u8,
    states: &ModelStates,
    activations: Bytes,
    capacity: Bytes,
) -> Option<u64> {
    const TERABYTE: u64 = 1000 * Bytes::GB;
    let rounded =
        Bytes((activations.0.saturating_add(TERABYTE / 2) / TERABYTE).saturating_mul(TERABYTE));
    match zero_stage {
        0 | 1 => gpus(zero_stage, states, rounded, capacity),
        2 => rounded.0.checked_div(capacity.saturating_sub(states.weights).0),
        _ => gpus_for(rounded, capacity),
    }
}

/// Returns the bytes of states on one of `ranks` GPUs at that `ZeRO` stage (section 3.2).
pub fn states_per_gpu(zero_stage: u8, states: &ModelStates, ranks: u64) -> ModelStates {
    states.sharded(zero_stage, ranks)
}

/// Returns the bytes of activations that stay for the step, and of those that live only while one
/// block is worked on, on one GPU that holds `shape.batch_size` sequences at once.
pub fn held_activations(
    shape: &ActivationShape,
    checkpointing: bool,
    flash_attention: bool,
) -> (Bytes, Bytes) {
    match (checkpointing, flash_attention) {
        (false, false) => (activations(shape), Bytes::ZERO),
        (false, true) => (linear_bytes(shape) * shape.num_hidden_layers, Bytes::ZERO),
        (true, false) => (checkpoints(shape), temporary(block(shape), checkpoint(shape))),
        (true, true) => (checkpoints(shape), temporary_with_flash_attention(shape)),
    }
}

/// Returns the share of activations in all memory, 0 to 1 (section 4).
pub fn activation_share(states: &ModelStates, activations: Bytes) -> f64 {
    activations.as_f64() / total(states, activations).as_f64()
}

/// Returns the bytes of on-chip memory: multiprocessors times their SRAM (corrects section 4.2,
/// which prints the bandwidth's 19).
pub fn on_chip_memory(multiprocessors: u64, kib_each: u64) -> Bytes {
    Bytes(1024) * product([multiprocessors, kib_each])
}

/// Returns the memory accesses of `FlashAttention`, `s²·d²/M` elements up to a constant (corrects
/// section 4.2, which says O(s)).
pub fn flash_attention_accesses(seq_length: u64, head_dim: u64, on_chip_elements: u64) -> f64 {
    let (s, d) = (to_f64(seq_length), to_f64(head_dim));
    s * s * d * d / to_f64(on_chip_elements.max(1))
}

fn gpus_for(shared: Bytes, room: Bytes) -> Option<u64> {
    (room.0 > 0).then(|| shared.0.div_ceil(room.0).max(1))
}

pub use super::story::{Setup, StoryStep, story};
