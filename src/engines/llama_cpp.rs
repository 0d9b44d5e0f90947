//! llama.cpp: allocates the cache of the whole context for every sequence when it starts.

use super::{CacheMemory, EngineSpec, SmallerCache};
use crate::units::{CacheFormat, WeightFormat};

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "llama-cpp",
    label: "llama.cpp",
    help: "The cache of the whole context is taken at the start, in blocks of 256 tokens.",
    place: 3,
    by_its_rule: "on one GPU, as llama.cpp takes it",
    cache: CacheMemory::AsAskedFor,
    keeps_own_reserve: true,
    share: None,
    block_size: 256, // padding of the context under flash attention
    loads: |format: WeightFormat| format.is_gguf(),
    smaller_cache: SmallerCache { format: CacheFormat::Q8_0, title: "KV cache in q8_0", more: "With the KV cache in q8_0" },
    smaller_weights: &[(WeightFormat::Q8_0, "With weights in Q8_0"), (WeightFormat::Q4KM, "With weights in Q4_K_M")],
};
