//! How fast an accelerator and its links are, and which messages a training step overlaps.

use serde::{Deserialize, Serialize};

use crate::hardware::kernels::Kernels;

/// Figures of one accelerator that time rests on. Bandwidths are of one direction, bytes per
/// second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Rate that large matrix products in 16 bit sustain, TFLOP/s; `None`: the share
    /// [`Speed::UNMEASURED`] of the peak.
    pub matmul_16bit: Option<f64>,
    /// Rate that large matrix products in 8 bit sustain, TFLOP/s; `None`: a share of the 8-bit
    /// peak.
    pub matmul_8bit: Option<f64>,
    /// Rate that large matrix products in 4 bit sustain, TFLOP/s; `None`: a share of the 4-bit
    /// peak.
    pub matmul_4bit: Option<f64>,
    /// Share of the memory's bandwidth that kernels which only stream bytes reach.
    pub memory_share: f64,
    /// Multiprocessors, over which a product's tiles are dealt out.
    pub multiprocessors: u64,
    /// Fused attention on long sequences with heads of 128, by generation of the kernel
    /// ([`crate::stacks::Flash`]): shares of the 16-bit peak in forward and backward.
    pub attention: [[f64; 2]; 3],
    /// Link to the accelerators of the same domain; `None`: they share the network.
    pub scale_up_bandwidth: Option<f64>,
    /// Share of that link that large gathers and reductions reach.
    pub link_share: f64,
    /// Accelerators in one such domain; `None`: those of a node.
    pub scale_up_size: Option<u64>,
    /// Network of one accelerator to other nodes.
    pub network_bandwidth: f64,
    /// Board power, watts.
    pub tdp_watts: Option<f64>,
    /// Factor on the 16-bit peak where products are summed in 16 bits: 2 on GeForce, whose peak
    /// with sums in 32 bits is half of the chip's.
    pub summed_in_16_bits: f64,
    /// Times of the kernels of a served step.
    pub kernels: &'static Kernels,
}

impl Speed {
    /// Share of the peak that large matrix products sustain where nothing was measured: as on A100
    /// and H100.
    pub const UNMEASURED: f64 = 0.75;

    /// An accelerator of which only the datasheet is known; every figure is an assumption.
    pub const GENERIC: Self = Self {
        matmul_16bit: None,
        matmul_8bit: None,
        matmul_4bit: None,
        memory_share: 0.8,
        multiprocessors: 128,
        attention: [[0.25, 0.2], [0.5, 0.4], [0.5, 0.4]],
        scale_up_bandwidth: None,
        link_share: 0.75,
        scale_up_size: None,
        network_bandwidth: 25e9,
        tdp_watts: None,
        summed_in_16_bits: 1.0,
        kernels: &Kernels::ASSUMED,
    };
}

impl Default for Speed {
    fn default() -> Self {
        Self::GENERIC
    }
}

/// A format of fewer than 16 bits that matrix products run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Narrow {
    /// 8 bit with one scale per tensor.
    Fp8,
    /// 8 bit with one scale for each 32 values.
    Mxfp8,
    /// 4 bit with one scale for each 16 values.
    Nvfp4,
}

impl Narrow {
    /// Returns the bits of a value.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Fp8 | Self::Mxfp8 => 8,
            Self::Nvfp4 => 4,
        }
    }

    /// Returns true if the largest value of the whole tensor must be known before any value is
    /// cast.
    pub const fn scales_whole_tensors(self) -> bool {
        matches!(self, Self::Fp8 | Self::Nvfp4)
    }
}

/// The format that the blocks' matrix products run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProductFormat {
    /// The format of activations.
    #[default]
    Activations,
    /// A format of fewer bits.
    Narrow(Narrow),
}

/// The messages that a step sends while it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "switches of the frameworks, each on or off")]
pub struct Overlap {
    /// Tensor-parallel reductions run beside the product of the weight's gradient.
    pub weight_gradient: bool,
    /// Tensor-parallel gathers and reductions run piece by piece beside their product
    /// (`tp_comm_overlap`).
    pub products: bool,
    /// Gradients are reduced while backward still runs (`overlap_grad_reduce`; DDP and FSDP do).
    pub gradients: bool,
    /// Weights are gathered while forward already runs (`overlap_param_gather`; FSDP does).
    pub parameters: bool,
    /// In backward weights are gathered ahead of use (FSDP's `backward_prefetch` `BACKWARD_PRE`;
    /// FSDP2 does).
    pub prefetch_backward: bool,
    /// Stages hand activations on while they compute the next chunk (interleaved schedules).
    pub pipeline: bool,
}

impl Overlap {
    /// The messages that current software overlaps without being asked.
    pub const DEFAULT: Self = Self {
        weight_gradient: true,
        products: false,
        gradients: true,
        parameters: true,
        prefetch_backward: true,
        pipeline: true,
    };
}

impl Default for Overlap {
    fn default() -> Self {
        Self::DEFAULT
    }
}
