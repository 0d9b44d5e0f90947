//! llama.cpp: allocates the cache of the whole context for every sequence when it starts.

use super::{CacheMemory, EngineSpec, SmallerCache, Steps};
use crate::hardware::kernels::Roofline;
use crate::units::{CacheFormat, WeightFormat};

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "llama-cpp",
    label: "llama.cpp",
    help: "The cache of the whole context is taken at the start, in blocks of 256 tokens.",
    place: 3,
    by_its_rule: "as llama.cpp takes it",
    cache: CacheMemory::AsAskedFor,
    keeps_own_reserve: true,
    share: None,
    block_size: 256, // padding of the context under flash attention
    loads: |format: WeightFormat| format.is_gguf(),
    steps: Steps {
        host: 1e-4, // the graph is built again for every token: assumed
        launch: 3e-6,
        captured: 1,         // graphs are captured for one token alone
        small_kernels: 16.0, // norm, scale, rotations, copies, sums and the casts of every product's input are kernels of their own
        // Bandwidth: a product of one row on an RTX 3090 Ti at 970 of 1,008 GB/s (ggml-org/llama.cpp pull request 15131), 463 of 504 in
        // Q8_0 on an RTX 4070 (10991). Rate: of the peak in 8-bit integers, 0.19 on an RTX 3090 and 0.24 on an RTX 4090 over whole
        // prompts (7860, 8062).
        blocks: Some(Roofline { start: 3.0, bandwidth: 0.92, rate: 0.24, power: 2.0 }),
        fuses: false,
        most_tokens: 512, // `n_ubatch`
        most_sequences: 64,
        ..Steps::NONE
    },
    smaller_cache: SmallerCache { format: CacheFormat::Q8_0, title: "KV cache in q8_0", more: "With the KV cache in q8_0" },
    smaller_weights: &[(WeightFormat::Q8_0, "With weights in Q8_0"), (WeightFormat::Q4KM, "With weights in Q4_K_M")],
};
