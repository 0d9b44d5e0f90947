//! The methods of five documents, each as its document gives it.
//!
//! Each document prescribes formulas for the memory of a transformer; each has one file here that
//! follows it, its slips included, so that its own numbers come out. Where a document contradicts
//! itself or its own arithmetic, the corrected value is a second function with its own name, and
//! [`wrong`] lists the place in one sentence. [`all`] applies the five to a scenario and says for
//! every kind of memory where and why they differ from the engine.
//!
//! | method | trains | serves | counts GPUs |
//! |---|---|---|---|
//! | [`ju_2026`] | yes | no | by division, rounded up |
//! | [`eleuther`] | yes | 1.2 × weights | no rule |
//! | [`capacity_planning`] | yes | yes | next power of two, or whole nodes |
//! | [`distributed_overview`] | one GPU | no | no rule |
//! | [`solenya`] | one GPU | no | no rule |
//!
//! Memory is whole bytes. Every formula that is integral is computed in integers; shares are
//! rounded up.

mod answer;
pub mod capacity_planning;
mod counts;
pub mod distributed_overview;
pub mod eleuther;
mod face;
mod inputs;
pub mod ju_2026;
pub mod solenya;
mod story;
pub mod wrong;

pub use answer::{GpuAnswer, MethodAnswer, MethodDifference, MethodKind, MethodLine, MethodTime};
pub use counts::instance_shape;
pub use face::all;
pub use inputs::{EngineSide, MethodInputs, Workload};
pub use story::{Setup, StoryStep, story};

use crate::config::Optimizer;
use crate::units::{Bytes, Elements};

/// The entry of a document's table about an optimizer, by its key.
fn named<T: Copy>(table: &[(&str, T)], optimizer: Optimizer) -> Option<T> {
    table.iter().find(|(key, _)| *key == optimizer.key()).map(|(_, says)| *says)
}

/// The sizes that every document's activation formula is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivationShape {
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Number of blocks.
    pub num_hidden_layers: u64,
    /// Query heads.
    pub num_attention_heads: u64,
    /// Inner width of the feed-forward layer.
    pub intermediate_size: u64,
    /// Tokens per sequence.
    pub seq_length: u64,
    /// Sequences; whose sequences (one GPU's or the whole job's) differs between the documents and
    /// is said in each.
    pub batch_size: u64,
}

impl ActivationShape {
    /// Returns these sizes with another number of sequences.
    #[must_use]
    pub const fn with_batch_size(self, batch_size: u64) -> Self {
        Self { batch_size, ..self }
    }
}

/// Weights, gradients and optimizer states in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelStates {
    /// Weights.
    pub weights: Bytes,
    /// Gradients.
    pub gradients: Bytes,
    /// Optimizer states, with all that the document counts among them.
    pub optimizer: Bytes,
}

impl ModelStates {
    /// Returns the sum, bytes.
    pub fn total(&self) -> Bytes {
        self.weights + self.gradients + self.optimizer
    }

    /// Returns the part of one of `ranks` ranks, bytes, when `ZeRO` shares out the optimizer (stage
    /// 1), the gradients too (2) and the weights too (3).
    #[must_use]
    pub fn sharded(&self, zero_stage: u8, ranks: u64) -> Self {
        let share =
            |from: u8, bytes: Bytes| if zero_stage >= from { bytes.per_rank(ranks) } else { bytes };
        Self {
            weights: share(3, self.weights),
            gradients: share(2, self.gradients),
            optimizer: share(1, self.optimizer),
        }
    }
}

/// Returns a count rounded to whole billions.
pub const fn whole_billions(count: u64) -> u64 {
    const BILLION: u64 = 1_000_000_000;
    (count.saturating_add(BILLION / 2) / BILLION).saturating_mul(BILLION)
}

/// The product of all factors; `u64::MAX` when it is larger.
fn product<const N: usize>(factors: [u64; N]) -> u64 {
    Elements::of(factors).0
}

/// A quotient rounded up; `u64::MAX` when it is larger.
fn ceil_ratio(numerator: u128, denominator: u128) -> u64 {
    u64::try_from(numerator.div_ceil(denominator.max(1))).unwrap_or(u64::MAX)
}
