//! TensorRT-LLM: the cache takes a share of the memory that weights and working sets leave free.

use super::{
    BY_PYTHON, CacheMemory, DraftMethod, Earlier, EngineSpec, FP8_CACHE, Groups, OnHost,
    SMALLER_TENSORS, Share, Speculation, Steps,
};
use crate::sources;
use crate::units::WeightFormat;

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "tensorrt-llm",
    label: "TensorRT-LLM",
    help: "The cache takes free_gpu_memory_fraction of what is left free, in blocks of 32 tokens.",
    place: 4,
    by_its_rule: "as TensorRT-LLM takes it",
    cache: CacheMemory::AllThatIsLeft,
    keeps_own_reserve: true,
    share: Some(Share {
        key: "fgf",
        flag: "free_gpu_memory_fraction",
        label: "TensorRT-LLM's share of free memory",
        help: "Share of the memory that is free after the model is loaded, which TensorRT-LLM gives the cache.",
        default: 0.9,
        is_beside_context: false,
        leaves_room_for_working_sets: false,
        is_of_the_rest: true,
        note: "TensorRT-LLM takes free_gpu_memory_fraction of what is free after loading for its cache.",
        source: sources::TENSORRT_LLM,
    }),
    block_size: 32, // `tokens_per_block`
    loads: |format: WeightFormat| !format.is_gguf(),
    steps: STEPS,
    // PyTorch runs the model since 2025 (its performance pages say so from 0.20 on). Before, an
    // engine of TensorRT did, whose kernels are launched from C++ and captured only where asked
    // (`cuda_graph_mode`). Until its XQA kernel came (README: 2024-01-30) each query head had a
    // block of its own that reads keys (`masked_multihead_attention_kernel`: a grid of heads by
    // sequences); XQA then took heads of 128 numbers without a window.
    earlier: &[
        Earlier { until: "2024-01-30", steps: Steps { groups: Groups::Apart, ..BY_ENGINE } },
        Earlier { until: "2024-07", steps: Steps { groups: Groups::Of128, ..BY_ENGINE } },
        Earlier { until: "2025-06", steps: BY_ENGINE },
    ],
    smaller_cache: FP8_CACHE,
    host: OnHost::Nothing,
    adapter_slots: None,
    // docs/source/features/speculative-decoding.md: EAGLE-3, a draft model with the same
    // vocabulary, and MTP.
    speculation: Speculation {
        methods: &[DraftMethod::Model, DraftMethod::Mtp, DraftMethod::Eagle3],
        vocabularies_differ_by: Some(0),
        reads_checked: true,
        in_stages: true,
        source: sources::TENSORRT_LLM_SPECULATION,
    },
    smaller_weights: SMALLER_TENSORS,
};

/// Kernels launched from C++.
const BY_ENGINE: Steps = Steps { launch: 3e-6, captured: 0, column: None, ..STEPS };

/// Schedules a step while the one before runs; the time that remains is assumed.
const STEPS: Steps = Steps {
    host: 5e-4,
    sequence: 5e-6,
    overlaps: true,
    launch: BY_PYTHON,
    column: Some(0),
    captured: 128, // `max_batch_size` of captured graphs
    captures_prompts: false,
    most_tokens: 8192,    // `max_num_tokens`
    most_sequences: 2048, // `max_batch_size`
    ..Steps::SERVER
};
