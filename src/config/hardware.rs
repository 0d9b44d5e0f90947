//! Accelerators, and the memory on them that the model does not take.

use super::{Host, Speed};
use crate::units::{Bytes, DType};

/// Dense peak rates in TFLOP/s (TOP/s for int8); `None` where no source gives one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeakRates {
    /// bf16 with matrix units.
    pub bf16: Option<f64>,
    /// fp16 with matrix units.
    pub fp16: Option<f64>,
    /// fp8 with matrix units.
    pub fp8: Option<f64>,
    /// int8 with matrix units.
    pub int8: Option<f64>,
    /// fp32 with matrix units, whose products round to TF32; `None` also where the run does not
    /// allow it.
    pub tf32: Option<f64>,
    /// fp32 without matrix units.
    pub fp32: Option<f64>,
}

impl PeakRates {
    /// Returns the dense peak for that format, TFLOP/s; `None` where it is not known.
    ///
    /// Fp32 is tf32 where the accelerator has it. Formats without a rate of their own, and four-bit
    /// weights, compute in 16 bit.
    pub fn of(&self, dtype: DType) -> Option<f64> {
        match dtype {
            DType::Fp32 => self.tf32.or(self.fp32),
            DType::Fp16 => self.fp16.or(self.bf16),
            DType::Fp8 => self.fp8.or(self.bf16),
            DType::Int8 => self.int8.or(self.bf16),
            _ => self.bf16.or(self.fp16),
        }
    }
}

/// One accelerator.
#[derive(Clone, Debug, PartialEq)]
pub struct Accelerator {
    /// Memory a program can use, bytes: what the driver reports where known.
    pub memory: Bytes,
    /// Memory bandwidth, bytes per second, if known.
    pub memory_bandwidth: Option<f64>,
    /// Peak rates.
    pub peak: PeakRates,
    /// Accelerators in one node.
    pub accelerators_per_node: u64,
    /// Price of one accelerator for one hour, in US dollars.
    pub price_per_hour: f64,
}

/// Memory outside the model: visible, adjustable ledger lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overheads {
    /// CUDA context and loaded kernels.
    pub framework_context: Bytes,
    /// Reserve for allocator fragmentation, per cent of all that PyTorch's allocator holds.
    pub fragmentation_percent: f64,
    /// Buffers of one communicator; every group of ranks that exchange tensors has one.
    pub communicator_buffers: Bytes,
    /// Memory that was measured on this machine beyond what was predicted for it.
    pub measured_beyond: Bytes,
    /// True if PyTorch's allocator keeps growing segments
    /// (`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`).
    pub expandable_segments: bool,
}

impl Overheads {
    /// No memory outside the model.
    pub const NONE: Self = Self {
        framework_context: Bytes::ZERO,
        fragmentation_percent: 0.0,
        communicator_buffers: Bytes::ZERO,
        measured_beyond: Bytes::ZERO,
        expandable_segments: false,
    };
}

/// The hardware that the job runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The accelerator.
    pub accelerator: Accelerator,
    /// Memory outside the model.
    pub overheads: Overheads,
    /// Figures that time rests on beside the accelerator's peak rates.
    pub speed: Speed,
    /// The host beside it.
    pub host: Host,
    /// Emissions of the electricity, grams of CO₂ per kWh.
    pub grid_grams_per_kwh: f64,
}
