//! Number formats of a training step.

use serde::{Deserialize, Serialize};

use crate::units::DType;

/// The training recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainingPrecision {
    /// Everything in fp32.
    Fp32,
    /// bf16 weights and gradients, fp32 master weights in the optimizer.
    #[default]
    Bf16Mixed,
    /// fp16 weights and gradients, fp32 master weights in the optimizer.
    Fp16Mixed,
    /// Everything in bf16, optimizer states too, no master weights.
    Bf16Pure,
    /// PyTorch autocast: fp32 weights, gradients and states; matrix products in bf16 with the cast
    /// weights kept for the step.
    AmpBf16,
    /// PyTorch FSDP2's mixed precision: fp32 shards, gradients and states, gathered and computed in
    /// bf16.
    FsdpMixed,
}

/// The format in which gradients are kept under mixed precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GradientDType {
    /// The format of the weights: 2 bytes under mixed precision (16 bytes per parameter with
    /// `AdamW`).
    #[default]
    AsWeights,
    /// fp32 instead: Megatron-LM's main gradients (18 bytes per parameter with `AdamW`).
    Fp32,
    /// 16-bit gradients and an fp32 copy beside them: Nanotron (20 bytes per parameter with
    /// `AdamW`).
    Fp32Copy,
}

/// The format of every kind of training memory; derived from [`TrainingPrecision`] and
/// [`GradientDType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecisionRecipe {
    /// Weights used by forward and backward.
    pub parameter: DType,
    /// Gradients written by backward.
    pub gradient: DType,
    /// Further fp32 gradients kept beside them for accumulation.
    pub gradient_copy: Option<DType>,
    /// Master weights kept by the optimizer.
    pub master: Option<DType>,
    /// Moments of an unquantised optimizer.
    pub optimizer_state: DType,
    /// Saved activations.
    pub activation: DType,
}

impl TrainingPrecision {
    /// Returns the formats of weights, gradients and states in this precision with the given
    /// gradients.
    ///
    /// Fp32 copies of gradients exist only beside 16-bit ones; with fp32 weights [`GradientDType`]
    /// changes nothing.
    pub const fn recipe(self, gradients: GradientDType) -> PrecisionRecipe {
        let compute = match self {
            Self::Fp32 | Self::AmpBf16 | Self::FsdpMixed => DType::Fp32,
            Self::Bf16Mixed | Self::Bf16Pure => DType::Bf16,
            Self::Fp16Mixed => DType::Fp16,
        };
        let mixed = matches!(self, Self::Bf16Mixed | Self::Fp16Mixed);
        let wide = !matches!(compute, DType::Fp32);
        PrecisionRecipe {
            parameter: compute,
            gradient: if matches!(gradients, GradientDType::Fp32) { DType::Fp32 } else { compute },
            gradient_copy: if wide && matches!(gradients, GradientDType::Fp32Copy) {
                Some(DType::Fp32)
            } else {
                None
            },
            master: if mixed { Some(DType::Fp32) } else { None },
            optimizer_state: if matches!(self, Self::Bf16Pure) { DType::Bf16 } else { DType::Fp32 },
            activation: if matches!(self, Self::FsdpMixed | Self::AmpBf16) {
                DType::Bf16
            } else {
                compute
            },
        }
    }
}
