//! vLLM: takes everything up to a share of the accelerator's memory when it starts.

use super::{CacheMemory, EngineSpec, FP8_CACHE, SMALLER_TENSORS, Share};
use crate::sources;
use crate::units::WeightFormat;

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "vllm",
    label: "vLLM",
    help: "The cache takes everything up to gpu_memory_utilization, in blocks of 16 tokens.",
    place: 1,
    by_its_rule: "on one GPU, as vLLM takes it",
    cache: CacheMemory::AllThatIsLeft,
    keeps_own_reserve: true,
    share: Some(Share {
        key: "gmu",
        flag: "gpu_memory_utilization",
        label: "vLLM's share of memory",
        help: "Share of each GPU's memory that vLLM uses for everything together.",
        default: 0.9,
        is_beside_context: false,
        leaves_room_for_working_sets: false,
        note: "vLLM stays under gpu_memory_utilization; graphs that are captured later are taken from the rest.",
        source: sources::VLLM,
    }),
    block_size: 16, // `block_size`
    loads: |format: WeightFormat| !format.is_gguf(),
    smaller_cache: FP8_CACHE,
    smaller_weights: SMALLER_TENSORS,
};
