//! Formats in which served weights and cached keys and values are stored. `ops::formats` says how
//! many bytes a tensor takes.

use super::DType;

/// The format of served weights, with the tensors that its software quantises.
///
/// The first six store every parameter in one width and nothing else, as documents count. The
/// others are stored as their software does it, with scales and zero points, and with the tensors
/// that it keeps in 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WeightFormat {
    /// 16 bits, every parameter.
    #[default]
    Bf16,
    /// 16 bits, every parameter.
    Fp16,
    /// 32 bits, every parameter.
    Fp32,
    /// 8 bits, every parameter, no scales counted.
    Fp8,
    /// 8 bits, every parameter, no scales counted.
    Int8,
    /// 4 bits, every parameter, no scales counted.
    Int4,
    /// fp8 linear layers with one scale each (vLLM's online `fp8`).
    Fp8Tensor,
    /// fp8 linear layers with one scale for each output column (compressed-tensors).
    Fp8Channel,
    /// fp8 linear layers with one scale for each square of 128 × 128 (DeepSeek-V3).
    Fp8Block,
    /// int8 linear layers with one scale for each output column (`SmoothQuant`, compressed-tensors
    /// `w8a8`, bitsandbytes).
    Int8Channel,
    /// 4-bit groups along the input with a scale and a zero point each (GPTQ).
    Gptq,
    /// 4-bit groups along the input with a scale and a zero point each (AWQ).
    Awq,
    /// 4-bit `NormalFloat` in blocks of 64 with an fp32 scale each (bitsandbytes).
    Nf4,
    /// 4-bit `NormalFloat` in blocks of 64, with the scales quantised to 8 bits (bitsandbytes'
    /// double quantisation).
    Nf4Double,
    /// 4-bit floats in blocks of 32 with one exponent byte each (OCP MXFP4, gpt-oss).
    Mxfp4,
    /// 4-bit floats in blocks of 16 with an fp8 scale each (NVFP4).
    Nvfp4,
    /// GGUF with 16-bit matrices.
    Gguf16,
    /// GGUF, blocks of 32: `Q8_0`.
    Q8_0,
    /// GGUF `Q6_K`.
    Q6K,
    /// GGUF `Q5_K_M`.
    Q5KM,
    /// GGUF `Q5_K_S`.
    Q5KS,
    /// GGUF, blocks of 32: `Q5_1`.
    Q5_1,
    /// GGUF, blocks of 32: `Q5_0`.
    Q5_0,
    /// GGUF `Q4_K_M`.
    Q4KM,
    /// GGUF `Q4_K_S`.
    Q4KS,
    /// GGUF, blocks of 32: `Q4_1`.
    Q4_1,
    /// GGUF, blocks of 32: `Q4_0`.
    Q4_0,
    /// GGUF `IQ4_NL`.
    Iq4Nl,
    /// GGUF `IQ4_XS`.
    Iq4Xs,
    /// GGUF `Q3_K_L`.
    Q3KL,
    /// GGUF `Q3_K_M`.
    Q3KM,
    /// GGUF `Q3_K_S`.
    Q3KS,
    /// GGUF `IQ3_M`.
    Iq3M,
    /// GGUF `IQ3_S`.
    Iq3S,
    /// GGUF `IQ3_XS`.
    Iq3Xs,
    /// GGUF `IQ3_XXS`.
    Iq3Xxs,
    /// GGUF `Q2_K`.
    Q2K,
    /// GGUF `Q2_K_S`.
    Q2KS,
    /// GGUF `IQ2_M`.
    Iq2M,
    /// GGUF `IQ2_S`.
    Iq2S,
    /// GGUF `IQ2_XS`.
    Iq2Xs,
    /// GGUF `IQ2_XXS`.
    Iq2Xxs,
    /// GGUF `IQ1_M`.
    Iq1M,
    /// GGUF `IQ1_S`.
    Iq1S,
    /// GGUF with `MXFP4` experts and `Q8_0` for the rest.
    Mxfp4Moe,
}

impl WeightFormat {
    /// Returns the width that most parameters have, without scales, as documents count.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Bf16 | Self::Gguf16 => DType::Bf16,
            Self::Fp16 => DType::Fp16,
            Self::Fp32 => DType::Fp32,
            Self::Fp8 | Self::Fp8Tensor | Self::Fp8Channel | Self::Fp8Block => DType::Fp8,
            Self::Int8 | Self::Int8Channel | Self::Q8_0 => DType::Int8,
            Self::Q6K => DType::Int6,
            Self::Q5KM | Self::Q5KS | Self::Q5_1 | Self::Q5_0 => DType::Int5,
            Self::Int4
            | Self::Gptq
            | Self::Awq
            | Self::Nf4
            | Self::Nf4Double
            | Self::Mxfp4
            | Self::Nvfp4
            | Self::Q4KM
            | Self::Q4KS
            | Self::Q4_1
            | Self::Q4_0
            | Self::Iq4Nl
            | Self::Iq4Xs
            | Self::Mxfp4Moe => DType::Int4,
            Self::Q3KL
            | Self::Q3KM
            | Self::Q3KS
            | Self::Iq3M
            | Self::Iq3S
            | Self::Iq3Xs
            | Self::Iq3Xxs => DType::Int3,
            Self::Q2K | Self::Q2KS | Self::Iq2M | Self::Iq2S | Self::Iq2Xs | Self::Iq2Xxs => {
                DType::Int2
            }
            Self::Iq1M | Self::Iq1S => DType::Int1,
        }
    }

    /// Returns true if every parameter is stored in [`Self::dtype`] and nothing is stored beside
    /// it.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Bf16 | Self::Fp16 | Self::Fp32 | Self::Fp8 | Self::Int8 | Self::Int4)
    }

    /// Returns true for a format of GGUF files, which llama.cpp loads.
    pub const fn is_gguf(self) -> bool {
        !self.is_plain()
            && !matches!(
                self,
                Self::Fp8Tensor
                    | Self::Fp8Channel
                    | Self::Fp8Block
                    | Self::Int8Channel
                    | Self::Gptq
                    | Self::Awq
                    | Self::Nf4
                    | Self::Nf4Double
                    | Self::Mxfp4
                    | Self::Nvfp4
            )
    }

    /// Returns the format of activations beside such weights: quantised weights are multiplied with
    /// 16-bit activations.
    pub const fn activation(self) -> DType {
        match self {
            Self::Fp32 => DType::Fp32,
            Self::Fp16 => DType::Fp16,
            _ => DType::Bf16,
        }
    }

    /// Returns the format that the blocks' matrix products run in: 8-bit formats that also scale
    /// activations are multiplied in 8 bits by their software, all others are turned into 16 bits
    /// first.
    pub const fn products(self) -> DType {
        match self {
            Self::Fp8Tensor | Self::Fp8Channel | Self::Fp8Block => DType::Fp8,
            Self::Int8Channel => DType::Int8,
            other => other.activation(),
        }
    }
}

/// The format of cached keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheFormat {
    /// 16 bits.
    #[default]
    Bf16,
    /// 32 bits.
    Fp32,
    /// 8 bits, one scale for the whole tensor.
    Fp8,
    /// 8 bits, one scale for the whole tensor.
    Int8,
    /// 4 bits, with a 16-bit scale and zero point for each token and head (`LMDeploy`).
    Int4,
    /// llama.cpp's blocks of 32 with a 16-bit scale: 8 bits.
    Q8_0,
    /// llama.cpp's blocks of 32 with a 16-bit scale: 4 bits.
    Q4_0,
}

impl CacheFormat {
    /// Returns the width of one cached number without scales.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Bf16 => DType::Bf16,
            Self::Fp32 => DType::Fp32,
            Self::Fp8 => DType::Fp8,
            Self::Int8 | Self::Q8_0 => DType::Int8,
            Self::Int4 | Self::Q4_0 => DType::Int4,
        }
    }
}
