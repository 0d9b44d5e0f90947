//! SGLang: weights and cache take a share of the memory that is free before the weights.

use super::{
    BY_PYTHON, CacheMemory, DraftMethod, EngineSpec, FP8_CACHE, OnHost, SMALLER_TENSORS, Share,
    Speculation, Steps,
};
use crate::sources;
use crate::units::WeightFormat;

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "sglang",
    label: "SGLang",
    help: "Weights and cache take up to mem_fraction_static.",
    place: 2,
    by_its_rule: "as SGLang takes it",
    cache: CacheMemory::AllThatIsLeft,
    keeps_own_reserve: true,
    share: Some(Share {
        key: "mfs",
        flag: "mem_fraction_static",
        label: "SGLang's share of memory",
        help: "Share of the free memory that SGLang gives weights and cache; 0.88 is an assumption: SGLang chooses by GPU.",
        default: 0.88,
        is_beside_context: true,
        leaves_room_for_working_sets: true,
        is_of_the_rest: false,
        note: "SGLang stays under mem_fraction_static with weights and cache; working sets and graphs take from the rest.",
        source: sources::SGLANG,
    }),
    block_size: 1, // `page_size`
    loads: |format: WeightFormat| !format.is_gguf(),
    // Schedules a step while the one before runs (lmsys.org/blog/2024-12-04-sglang-v0-4); the time
    // that remains is assumed.
    steps: Steps {
        host: 1e-3,
        sequence: 10e-6,
        overlaps: true,
        mixes: false, // `enable_mixed_chunk` is off
        launch: BY_PYTHON,
        column: Some(1),
        captured: 256, // `cuda_graph_max_bs` on large GPUs
        captures_prompts: false,
        most_tokens: 8192, // `chunked_prefill_size`
        ..Steps::SERVER
    },
    earlier: &[],
    smaller_cache: FP8_CACHE,
    // `OffloaderV1` copies a layer's parameters before it runs.
    host: OnHost::Streamed { in_place: false, source: sources::SGLANG_HOST },
    adapter_slots: None,
    // “Pipeline parallelism is not compatible with overlap schedule, speculative decoding”
    // (`check_server_args`). Behind each check the draft reads what was accepted (`draft extend`).
    speculation: Speculation {
        methods: &[DraftMethod::Model, DraftMethod::Mtp, DraftMethod::Eagle, DraftMethod::Eagle3],
        vocabularies_differ_by: Some(0),
        reads_checked: true,
        in_stages: false,
        source: sources::SGLANG_SPECULATION,
    },
    smaller_weights: SMALLER_TENSORS,
};
