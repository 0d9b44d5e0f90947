//! Settings of PyTorch and of the libraries that share a training out: DeepSpeed's file and the
//! arguments of `DistributedDataParallel`.

use serde::{Deserialize, Serialize};

/// ZeRO's `overlap_comm`: gradients are reduced on a stream of their own while backward goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlapComm {
    /// Stage 3 overlaps, stages 1 and 2 do not (deepspeed/runtime/zero/config.py,
    /// `overlap_comm_valid`).
    #[default]
    Auto,
    /// Every stage overlaps.
    On,
    /// No stage overlaps.
    Off,
}

impl OverlapComm {
    /// Returns true if ZeRO's stage `stage` overlaps.
    pub const fn holds(self, stage: u8) -> bool {
        match self {
            Self::Auto => stage == 3,
            Self::On => true,
            Self::Off => false,
        }
    }
}

/// Settings of the libraries, beside the layout. A setting has no effect under sharding that does
/// not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct LibraryOptions {
    /// True if the model's tensors are made on the GPU one by one, as `AutoModel.from_config` does
    /// under `torch.device("cuda")`; otherwise they come from the host, as after `from_pretrained`.
    pub made_on_gpu: bool,
    /// True if PyTorch keeps cuBLAS's workspaces for good, as it does before 2.15 and, from 2.15
    /// on, if asked to (`TORCH_CUBLAS_WORKSPACE_CACHE`).
    pub cublas_workspace_cache: bool,
    /// True if FSDP1 makes a unit of every block (`auto_wrap_policy`); otherwise the whole model is
    /// one.
    pub wraps_blocks: bool,
    /// DDP's `gradient_as_bucket_view`: gradients lie in the buckets in which they are reduced.
    pub gradient_as_bucket_view: bool,
    /// DDP's `bucket_cap_mb`.
    pub bucket_cap_mb: u64,
    /// DDP's `find_unused_parameters`: buckets are not made anew once the order of gradients is
    /// known.
    pub find_unused_parameters: bool,
    /// ZeRO's `overlap_comm`.
    pub overlap_comm: OverlapComm,
    /// ZeRO's `contiguous_gradients`: gradients are copied into a buffer as backward makes them.
    pub contiguous_gradients: bool,
    /// `reduce_scatter` of stages 1 and 2: gradients are joined by the rank that owns them before
    /// they are reduced.
    pub reduce_scatter: bool,
    /// Stage 3's `stage3_param_persistence_threshold`: parameters of fewer elements are never given
    /// back.
    pub persistence_threshold: u64,
    /// Stage 3's `stage3_max_live_parameters`: parameters that stay gathered at once.
    pub max_live_parameters: u64,
    /// Stage 3's `stage3_prefetch_bucket_size`: elements that are gathered ahead at once.
    pub prefetch_bucket_size: u64,
    /// Stage 3's `stage3_max_reuse_distance`: parameters used again before that many others stay
    /// gathered.
    pub max_reuse_distance: u64,
    /// Stage 3's `sub_group_size`: elements of a rank that the optimizer updates at once.
    pub sub_group_size: u64,
}

impl LibraryOptions {
    /// The libraries' defaults (deepspeed/runtime/zero/config.py,
    /// torch/nn/parallel/distributed.py), for a model from the host.
    pub const DEFAULT: Self = Self {
        made_on_gpu: false,
        cublas_workspace_cache: false,
        wraps_blocks: true,
        gradient_as_bucket_view: false,
        bucket_cap_mb: 25,
        find_unused_parameters: false,
        overlap_comm: OverlapComm::Auto,
        contiguous_gradients: true,
        reduce_scatter: true,
        persistence_threshold: 100_000,
        max_live_parameters: 1_000_000_000,
        prefetch_bucket_size: 50_000_000,
        max_reuse_distance: 1_000_000_000,
        sub_group_size: 1_000_000_000,
    };
}
