//! Parts of a served model in the host's memory, and how fast that memory is.

use super::{FieldDefault, Group, Value};
use crate::catalog::host_link;

fields! { $
    /// Layers that the GPUs hold and compute, counted from the last, the head as one more
    /// (llama.cpp's -ngl). The processor computes the rest from the host's memory. Empty: all.
    GpuLayers("ngl", "n_gpu_layers", "Layers on the GPU")
        .whole(0..=10_000).step(1).optional().group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Empty),
    /// The experts of so many layers, from the first, lie in the host's memory, and the processor
    /// computes them (llama.cpp's --n-cpu-moe); attention and all else stay on the GPU.
    ExpertLayersOnHost("ncm", "n_cpu_moe", "Layers with experts on the host")
        .whole(0..=10_000).step(1).group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Integer(0)),
    /// The key/value cache lies in the host's memory, and the processor computes attention
    /// (llama.cpp's --no-kv-offload).
    CacheOnHost("nkvo", "no_kv_offload", "Cache on the host")
        .flag().group(Group::HostMemory).serve().folded().default(FieldDefault::Flag(false)),
    /// Weights of each GPU that lie in the host's memory: every step reads them over the link
    /// (--cpu-offload-gb of vLLM and SGLang).
    WeightsOnHost("cog", "cpu_offload_gb", "Weights on the host, per GPU")
        .number(0.0..=100_000.0).unit("GiB").group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Decimal(0.0)),
    /// Memory of the machine beside the GPU's; what lies there has to fit. Empty: not checked.
    HostMemory("ram", "host_memory", "Host memory")
        .number(0.1..=1_000_000.0).unit("GiB").optional().group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Empty),
    /// Full rate of the host's memory, for time only. The default is an assumption: two channels of
    /// DDR5-5600; of DDR4-3200 they have 51.2 GB/s.
    HostBandwidth("hbw", "host_bandwidth", "Host memory bandwidth")
        .number(0.1..=100_000.0).unit("GB/s").group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Decimal(89.6)),
    /// Share of that rate at which the processor reads weights, for time only. The default is an
    /// assumption: the median of models that run on processors alone.
    HostShare("hsh", "host_share", "Share of it that is reached")
        .number(0.01..=1.0).group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Decimal(0.6)),
    /// How fast the processor multiplies, for time only: it counts with several requests at once.
    /// The default is an assumption: 8 cores of 4 GHz with AVX2.
    HostRate("hpk", "host_rate", "Processor rate")
        .number(0.001..=10_000.0).unit("TFLOP/s").group(Group::HostMemory).serve().folded()
        .default(FieldDefault::Decimal(1.0)),
    /// The link from the host's memory to one GPU, for time only: the full rate of its generation
    /// of PCIe. Empty: both share one memory.
    HostLink("lnk", "host_link", "Link to host memory")
        .number(0.01..=100_000.0).unit("GB/s").optional().group(Group::HostMemory).serve().folded()
        .of_accelerator(|row| host_link(row).map_or(Value::Empty, |rate| Value::Decimal(rate / 1e9))),
}
