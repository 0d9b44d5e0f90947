//! The statements of one message.

use super::amount::{ByteRange, PrintedAmount};

/// The program whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportingProgram {
    /// PyTorch's allocators: CUDA, HIP, XPU, NPU, MPS, host memory.
    PyTorch,
    /// vLLM's checks at start-up.
    Vllm,
    /// SGLang's pools of memory and tokens.
    Sglang,
    /// Text Generation Inference's warm-up.
    TextGenerationInference,
    /// llama.cpp and whatever is built on ggml.
    LlamaCpp,
    /// Ollama's check before it loads a model.
    Ollama,
    /// JAX and XLA.
    Jax,
    /// TensorFlow's allocator.
    TensorFlow,
    /// bitsandbytes' own CUDA calls.
    Bitsandbytes,
    /// NCCL's own CUDA calls.
    Nccl,
    /// The CUDA runtime or a library of it, whoever called it.
    Cuda,
    /// NumPy, for host memory.
    NumPy,
    /// Ray's monitor, which killed a worker for host memory.
    Ray,
    /// Slurm, which saw the kernel kill a process for host memory.
    Slurm,
    /// The Linux kernel, which killed a process for host memory.
    Linux,
}

impl ReportingProgram {
    /// Returns the name as its authors write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PyTorch => "PyTorch",
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::TextGenerationInference => "Text Generation Inference",
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::Jax => "JAX",
            Self::TensorFlow => "TensorFlow",
            Self::Bitsandbytes => "bitsandbytes",
            Self::Nccl => "NCCL",
            Self::Cuda => "CUDA",
            Self::NumPy => "NumPy",
            Self::Ray => "Ray",
            Self::Slurm => "Slurm",
            Self::Linux => "Linux",
        }
    }
}

/// The kind of request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedRequest {
    /// One allocation on an accelerator.
    Allocation,
    /// One allocation in host memory, or all that a process held there.
    HostMemory,
    /// The cache of keys and values that a server wants to set aside.
    KvCache,
    /// The share of a GPU that a server wants at its start.
    Startup,
    /// A trial run of a server before its first request.
    WarmUp,
    /// Tokens in a cache of keys and values that is full.
    Tokens,
    /// Everything that a compiled program needs at once.
    Compilation,
}

/// The accelerator that a message names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedDevice {
    /// The platform as the message names it: CUDA, HIP, XPU, NPU, MPS, Vulkan …
    pub platform: Option<&'static str>,
    /// The number of the device, as the process counts.
    pub index: Option<u32>,
}

/// A process that PyTorch's message names, with the memory that it holds on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id. In a container it may be this process itself, which the driver knows by
    /// another id.
    pub pid: u64,
    /// The memory that it has in use.
    pub in_use: PrintedAmount,
}

/// Writes the struct and the functions that have to name each of its fields.
macro_rules! message {
    ($($(#[$doc:meta])* $field:ident: $kind:ty,)*) => {
        /// One message of a program that ran out of memory. Fields carry the words of PyTorch's
        /// message; `None` is "not stated".
        ///
        /// Source of the words: c10/cuda/CUDACachingAllocator.cpp of PyTorch 1.0 to 2.15.
        #[derive(Clone, Debug, PartialEq)]
        pub struct OomMessage {
            /// The program that printed it.
            pub program: ReportingProgram,
            /// The kind of request that failed.
            pub about: FailedRequest,
            /// The rank that the lines name, as torchrun and servers prefix them.
            pub rank: Option<u32>,
            /// The accelerator.
            pub device: NamedDevice,
            /// "Process 12345 has 14.26 GiB memory in use", in the message's order.
            pub processes: Vec<Process>,
            $($(#[$doc])* pub $field: Option<$kind>,)*
        }

        impl OomMessage {
            /// A message that states nothing yet.
            pub(super) fn of(program: ReportingProgram, about: FailedRequest) -> Self {
                Self { program, about, rank: None, device: NamedDevice::default(), processes: Vec::new(), $($field: None,)* }
            }

            /// Takes over the numbers that another message about the same event states and this one
            /// does not.
            pub(super) fn fill_from(&mut self, other: &Self) {
                self.device.platform = self.device.platform.or(other.device.platform);
                self.device.index = self.device.index.or(other.device.index);
                if self.processes.is_empty() {
                    self.processes.clone_from(&other.processes);
                }
                $(self.$field = self.$field.or(other.$field);)*
            }

            /// Returns true if the message states no number at all.
            pub fn is_bare(&self) -> bool {
                self.processes.is_empty() $(&& self.$field.is_none())*
            }
        }
    };
}

message! {
    /// "Tried to allocate": for PyTorch's CUDA allocator the segment that it asked the driver for.
    tried: PrintedAmount,
    /// "Total capacity" of the device.
    total: PrintedAmount,
    /// "Free" by the driver's account.
    free: PrintedAmount,
    /// "Including non-PyTorch memory, this process has … in use".
    in_use: PrintedAmount,
    /// "Allowed": the limit set by `set_per_process_memory_fraction`, or MPS' "max allowed".
    allowed: PrintedAmount,
    /// "Allocated by PyTorch", "already allocated".
    allocated: PrintedAmount,
    /// "Allocated in private pools (e.g., CUDA Graphs)", a part of `allocated`.
    private_pools: PrintedAmount,
    /// "Reserved in total by PyTorch", as versions 1.4 to 2.0 print it.
    reserved: PrintedAmount,
    /// "Reserved by PyTorch but unallocated"; versions before 1.4 call it "cached".
    unallocated: PrintedAmount,
    /// MPS' "other allocations": memory that the process holds outside PyTorch's allocator.
    other_allocations: PrintedAmount,
    /// Memory that a server needs: vLLM's "KV cache is needed", "desired GPU memory utilization";
    /// Ollama's "requires"; SGLang's "local_gpu_memory", which all GPUs should have free.
    needed: PrintedAmount,
    /// Memory that a server has for it: vLLM's "available KV cache memory", Ollama's "is
    /// available", SGLang's "min_per_gpu_memory".
    available: PrintedAmount,
    /// By how much it is short: vLLM's "Available KV cache memory: -0.3 GiB", XLA's "exceeded hbm
    /// capacity by".
    short_by: PrintedAmount,
    /// vLLM's "max seq len", tokens.
    max_seq_len: u64,
    /// Tokens that were asked for.
    tokens_tried: u64,
    /// Tokens for which the cache has room.
    tokens_available: u64,
    /// vLLM's "estimated maximum model length", tokens.
    estimated_max_len: u64,
    /// vLLM's "dummy requests" of the warm-up.
    dummy_requests: u64,
    /// The share that may be taken, 0 to 1: `gpu_memory_utilization`, `mem_fraction_static`, Ray's
    /// `memory_usage_threshold`.
    fraction: f64,
}

impl OomMessage {
    /// Returns the memory reserved by PyTorch but unallocated, bytes: as stated, or the difference
    /// of reserved and allocated bytes; `None` where neither is stated.
    pub fn unallocated_range(&self) -> Option<ByteRange> {
        let stated = self.unallocated.map(PrintedAmount::range);
        stated.or_else(|| Some(self.reserved?.range().minus(self.allocated?.range())))
    }

    /// Returns the memory reserved by PyTorch, bytes: as stated, or the sum of allocated and
    /// unallocated bytes; `None` where neither is stated.
    pub fn reserved_range(&self) -> Option<ByteRange> {
        let stated = self.reserved.map(PrintedAmount::range);
        stated.or_else(|| Some(self.allocated?.range().plus(self.unallocated?.range())))
    }

    /// Returns the memory on the device that neither is free nor held by PyTorch's allocator of
    /// this process, bytes: other processes, the CUDA context, and libraries of this process.
    /// `None` where the message does not state enough.
    pub fn outside_range(&self) -> Option<ByteRange> {
        let held = self.free?.range().plus(self.reserved_range()?);
        Some(self.total?.range().minus(held))
    }

    /// True if the other message states nothing that this one does not.
    pub(super) fn tells_all_of(&self, other: &Self) -> bool {
        let mut both = self.clone();
        both.fill_from(other);
        let mut theirs = other.clone();
        theirs.fill_from(self);
        both == *self && theirs == *self
    }

    /// True if the other message may be about the same failed request: no number that both state
    /// differs.
    pub(super) fn may_be_the_same_as(&self, other: &Self) -> bool {
        let overlaps = |(ours, theirs): (PrintedAmount, PrintedAmount)| {
            let (ours, theirs) = (ours.range(), theirs.range());
            ours.low <= theirs.high && theirs.low <= ours.high
        };
        let index =
            self.device.index.zip(other.device.index).is_none_or(|(ours, theirs)| ours == theirs);
        self.program == other.program && index && self.tried.zip(other.tried).is_none_or(overlaps)
    }
}
