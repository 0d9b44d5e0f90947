//! llama.cpp: allocates the cache of the whole context for every sequence when it starts.

use super::{
    CacheMemory, DraftMethod, Earlier, EngineSpec, GgmlRelease, OnHost, SmallerCache, Speculation,
    Steps,
};
use crate::sources;
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
    steps: STEPS,
    earlier: &[
        // Wide loads in the kernel for weights in 16 bits, 1.33 times as fast on H100 (pull request
        // 9816, issue 9817), and products with blocks in tiles from June 2024 on (8075).
        Earlier {
            until: "2024-06-24",
            steps: Steps {
                ggml: Some(GgmlRelease { in_flight: [IN_FLIGHT, IN_FLIGHT], widens: true }),
                ..BUILDS_EACH_TIME
            },
        },
        Earlier {
            until: "2024-10-14",
            steps: Steps {
                ggml: Some(GgmlRelease { in_flight: [IN_FLIGHT, IN_FLIGHT], widens: false }),
                ..BUILDS_EACH_TIME
            },
        },
        Earlier { until: "2025-07-17", steps: BUILDS_EACH_TIME },
    ],
    smaller_cache: SmallerCache {
        format: CacheFormat::Q8_0,
        title: "KV cache in q8_0",
        more: "With the KV cache in q8_0",
    },
    // `GGML_OP_OFFLOAD_MIN_BATCH` is 32; layers before `n_layer + 1 - n_gpu_layers` and the input
    // layer are the processor's (`src/llama-model.cpp`, `load_tensors`).
    host: OnHost::Computed { copied_from: 32, source: sources::LLAMA_CPP_HOST },
    adapter_slots: None,
    // docs/speculative.md: `draft`, `draft-mtp` and `draft-eagle3`; texts are translated between
    // vocabularies that differ (common/speculative.cpp). The draft's cache keeps what was accepted.
    speculation: Speculation {
        methods: &[DraftMethod::Model, DraftMethod::Mtp, DraftMethod::Eagle3],
        vocabularies_differ_by: None,
        reads_checked: false,
        in_stages: true,
        source: sources::LLAMA_CPP_SPECULATION,
    },
    smaller_weights: &[
        (WeightFormat::Q8_0, "With weights in Q8_0"),
        (WeightFormat::Q4KM, "With weights in Q4_K_M"),
    ],
};

const STEPS: Steps = Steps {
    host: 1e-4, // the graph of the token before is used again (pull request 14482): assumed
    launch: 3e-6,
    captured: 1, // graphs are captured for one token alone
    captures_prompts: false,
    small_kernels: 16.0, // norm, scale, rotations, copies, sums and the casts of every product's input are kernels of their own
    ggml: Some(GgmlRelease { in_flight: [f64::INFINITY, IN_FLIGHT], widens: false }),
    fuses: false,
    most_tokens: 512, // `n_ubatch`
    most_sequences: 64,
    ..Steps::NONE
};

/// While the graph was built again for every token: 10 to 15 % of a token of Llama-2 7B in `Q4_K_M`
/// on A100 and H100 (issue 7456), of the 6.1 ms that it takes on an H100 PCIe (6763).
const BUILDS_EACH_TIME: Steps = Steps { host: 0.76e-3, ..STEPS };

/// Of these 6.1 ms (6763), 0.76 ms are the processor's (7456), and 1.95 ms starts of kernels and
/// attention; in what is left 114 multiprocessors read 3.98 GB, of memory that is nearly twice as
/// fast.
const IN_FLIGHT: f64 = 10.3e9;
