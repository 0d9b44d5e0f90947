//! Memory outside the model.

use super::{FieldDefault, Group};

fields! { $
    /// Memory that driver, libraries and kernels take outside PyTorch's allocator. 0.73 GiB was
    /// measured in training steps on an H100 under PyTorch 2.11 and CUDA 13, 1.3 to 1.6 GiB on V100
    /// and A100 in earlier years.
    FrameworkContext("fc", "framework_context", "Framework context")
        .number(0.0..=1000.0).unit("GiB").group(Group::Reserve).folded()
        .default(FieldDefault::Decimal(1.3)),
    /// Share kept free because the allocator cannot use every gap: an assumption. The rule of a
    /// server takes its place.
    FragmentationReserve("fr", "fragmentation_percent", "Fragmentation reserve")
        .number(0.0..=100.0).unit("%").group(Group::Reserve).folded()
        .default(FieldDefault::Decimal(3.0)),
    /// PyTorch's allocator in growing segments instead of fixed ones
    /// (`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`), which leaves less memory between
    /// tensors that nobody can use.
    ExpandableSegments("xs", "expandable_segments", "Expandable segments")
        .flag().group(Group::Reserve).train().folded().default(FieldDefault::Flag(false)),
    /// GPU memory of one group of GPUs that exchange data; NCCL takes about 10 MiB per channel and
    /// connection. 0 counts none.
    CommunicatorBuffers("cb", "communicator_buffers", "Buffers per communicator")
        .number(0.0..=100_000.0).unit("MiB").group(Group::Reserve).folded()
        .default(FieldDefault::Decimal(0.0)),
    /// Further memory as a share of the weights, as some documents add it; 0 adds nothing.
    ServingOverhead("ovh", "overhead_percent", "Inference overhead")
        .number(0.0..=1000.0).unit("%").group(Group::Reserve).serve().folded()
        .default(FieldDefault::Decimal(0.0)),
    /// Measured minus predicted on this machine, kept from a log that was pasted; 0 keeps nothing.
    /// It is a line of its own, on top of everything that is estimated.
    MeasuredBeyond("cal", "measured_beyond", "Measured minus predicted")
        .number(0.0..=1000.0).unit("GiB").group(Group::Reserve).folded()
        .default(FieldDefault::Decimal(0.0)),
}
