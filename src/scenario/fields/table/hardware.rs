//! The accelerator. The list's own value is the default.

use super::{FieldDefault, Group, Value};
use crate::catalog::speed;
use crate::units::{Bytes, to_f64};

fn decimal(known: Option<f64>) -> Value {
    known.map_or(Value::Empty, Value::Decimal)
}

fields! { $
    /// The accelerator; its memory is what everything must fit in.
    Accelerator("gpu", "accelerator", "GPU")
        .accelerator().group(Group::Hardware).default(FieldDefault::Text("h100-80")),
    /// Memory that a program can use on one GPU, as the driver reports it; GB and MiB are
    /// converted.
    AcceleratorMemory("mem", "memory", "Memory per GPU")
        .number(0.1..=100_000.0).unit("GiB").group(Group::Hardware).folded()
        .of_accelerator(|row| Value::Decimal(row.accelerator.memory.as_f64() / to_f64(Bytes::GIB))),
    /// Dense 16-bit peak, for time and cost only; a value typed here leaves the peaks of other
    /// formats unknown.
    PeakRate("pk", "peak_bf16", "Peak rate, 16 bit")
        .number(0.001..=1_000_000.0).unit("TFLOP/s").optional().group(Group::Hardware).folded()
        .of_accelerator(|row| decimal(row.accelerator.peak.bf16.or(row.accelerator.peak.fp16))),
    /// How fast one GPU reads its memory, for time only; TB/s are converted.
    MemoryBandwidth("bw", "memory_bandwidth", "Memory bandwidth")
        .number(0.001..=10_000_000.0).unit("GB/s").optional().group(Group::Hardware).folded()
        .of_accelerator(|row| decimal(row.accelerator.memory_bandwidth.map(|bandwidth| bandwidth / 1e9))),
    /// Power that one GPU draws while it computes, for energy and emissions only.
    BoardPower("tdp", "tdp_watts", "Board power")
        .number(1.0..=100_000.0).unit("W").optional().group(Group::Hardware).folded()
        .of_accelerator(|row| decimal(speed(row.id).tdp_watts)),
    /// GPUs in one machine; GPU counts are rounded up to whole machines.
    AcceleratorsPerNode("npn", "accelerators_per_node", "GPUs per node")
        .whole(1..=10_000).step(1).unit("GPUs").group(Group::Hardware).folded()
        .of_accelerator(|row| Value::Integer(row.accelerator.accelerators_per_node)),
}
