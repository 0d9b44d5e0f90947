//! Number formats.

use serde::{Deserialize, Serialize};

/// A number format; its width is in bits, because four-bit formats have half a byte per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// 32-bit IEEE float.
    Fp32,
    /// bfloat16: 8 exponent bits.
    Bf16,
    /// 16-bit IEEE float.
    Fp16,
    /// 8-bit float (E4M3 or E5M2).
    Fp8,
    /// 8-bit integer.
    Int8,
    /// 6 bits of a quantised weight.
    Int6,
    /// 5 bits of a quantised weight.
    Int5,
    /// 4-bit integer.
    Int4,
    /// 3 bits of a quantised weight.
    Int3,
    /// 2 bits of a quantised weight.
    Int2,
    /// 1 bit of a quantised weight.
    Int1,
    /// 64-bit integer: token ids and labels.
    Int64,
    /// One byte per flag: dropout masks.
    Mask,
}

impl DType {
    /// Returns the width of one element in bits, without scales.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Int64 => 64,
            Self::Fp32 => 32,
            Self::Bf16 | Self::Fp16 => 16,
            Self::Fp8 | Self::Int8 | Self::Mask => 8,
            Self::Int6 => 6,
            Self::Int5 => 5,
            Self::Int4 => 4,
            Self::Int3 => 3,
            Self::Int2 => 2,
            Self::Int1 => 1,
        }
    }

    /// Returns the short name used in tables and links, e.g. `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
            Self::Int6 => "int6",
            Self::Int5 => "int5",
            Self::Int4 => "int4",
            Self::Int3 => "int3",
            Self::Int2 => "int2",
            Self::Int1 => "int1",
            Self::Int64 => "int64",
            Self::Mask => "mask",
        }
    }
}
