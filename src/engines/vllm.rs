//! vLLM: takes everything up to a share of the accelerator's memory when it starts.

use super::{
    AdapterSlots, BY_PYTHON, CacheMemory, DraftMethod, Earlier, EngineSpec, FP8_CACHE, OnHost,
    SMALLER_TENSORS, Share, Speculation, Steps,
};
use crate::sources;
use crate::units::WeightFormat;

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "vllm",
    label: "vLLM",
    help: "The cache takes everything up to gpu_memory_utilization, in blocks of 16 tokens.",
    place: 1,
    by_its_rule: "as vLLM takes it",
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
        is_of_the_rest: false,
        note: "vLLM stays under gpu_memory_utilization; graphs that are captured later are taken from the rest.",
        source: sources::VLLM,
    }),
    block_size: 16, // `block_size`
    loads: |format: WeightFormat| !format.is_gguf(),
    // The engine of 2025 takes a tenth off a step of 2.7 ms with one sequence by preparing inputs
    // faster (pull request 17866): assumed.
    steps: STEPS,
    // Version 0.6.0 hides a part of it behind the step. Before: gaps of 4 ms between steps
    // (vllm-project/vllm issue 6854), 5 to 6 ms with 256 sequences (issue 10634). From 0.5.3 to
    // 0.6.3 longer sequences were captured, too (pull request 9285).
    earlier: &[
        Earlier {
            until: "2024-07-23",
            steps: Steps { host: 4e-3, sequence: 6e-6, captured_length: 8192, ..VERSION_0 },
        },
        Earlier { until: "2024-09-05", steps: Steps { host: 4e-3, sequence: 6e-6, ..VERSION_0 } },
        Earlier { until: "2024-11-15", steps: VERSION_0 },
        Earlier { until: "2025-03-18", steps: Steps { captured_length: 8192, ..VERSION_0 } },
    ],
    smaller_cache: FP8_CACHE,
    // Since version 1 kernels read pinned memory of the host by its address on the GPU
    // (`maybe_offload_to_cpu`).
    host: OnHost::Streamed { in_place: true, source: sources::VLLM_HOST },
    adapter_slots: Some(AdapterSlots { source: sources::VLLM_LORA }),
    // `verify_equal_vocab_size_if_draft_model`. A draft has as many tensor ranks as the model
    // (`_raise_if_draft_tp_mismatch`) and its cache format (`kv_cache_dtype`); the batch of the
    // first pass is padded to all tokens that were checked (`disable_padded_drafter_batch`).
    speculation: Speculation {
        methods: &[DraftMethod::Model, DraftMethod::Mtp, DraftMethod::Eagle, DraftMethod::Eagle3],
        vocabularies_differ_by: Some(0),
        reads_checked: true,
        in_stages: true,
        source: sources::VLLM_SPECULATION,
    },
    smaller_weights: SMALLER_TENSORS,
};

const STEPS: Steps = Steps {
    host: 1.5e-3,
    sequence: 15e-6,
    launch: BY_PYTHON,
    column: Some(2),
    captured: 512,     // `max_cudagraph_capture_size`
    most_tokens: 8192, // `max_num_batched_tokens` of a server on large GPUs
    ..Steps::SERVER
};

/// Version 0 was the default until 0.8.0: it captured steps that only decode, of at most 256
/// sequences (`_BATCH_SIZES_TO_CAPTURE`); where it was heeded, `max_seq_len_to_capture` kept them
/// to sequences of at most 8,192 tokens.
const VERSION_0: Steps = Steps { captured: 256, captures_prompts: false, ..STEPS };
