//! Arguments of vLLM that change memory or time in a way that is not modelled.
//!
//! Version 0.33.0's `vllm/engine/arg_utils.py`, and removed arguments of versions from 0.11 on.

use crate::launch::{Flag, Takes};

/// Arguments that change memory or time in a way that is not modelled.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled_unless(
        &["decode-context-parallel-size", "dcp"],
        &["1"],
        "The cache is shared out over GPUs of the decode-context-parallel group.",
    ),
    Flag::not_modelled_unless(
        &["prefill-context-parallel-size", "pcp"],
        &["1"],
        "Prompts are shared out over more GPUs.",
    ),
    Flag::not_modelled(
        &["dcp-comm-backend"],
        "Another way to join attention of context-parallel ranks takes other time.",
    ),
    Flag::not_modelled(&["dcp-q-replicate"], "Query projections are copied to every rank.").alone(),
    Flag::not_modelled(
        &["dcp-kv-cache-interleave-size", "cp-kv-cache-interleave-size"],
        "Tokens are dealt out otherwise over context-parallel ranks.",
    ),
    Flag::not_modelled(&["enable-hc-sp"], "Activations are shared out over tensor ranks.").alone(),
    Flag::not_modelled(&["enable-batch-sharded-sampling"], "Logits are shared out over ranks.")
        .alone(),
    Flag::not_modelled(&["enable-ep-weight-filter"], "Weights are loaded otherwise.").alone(),
    Flag::not_modelled(
        &["all2all-backend"],
        "Tokens reach experts in another way, with buffers of its own.",
    ),
    Flag::not_modelled(
        &["enable-dbo"],
        "Two half batches overlap: more working memory, another step time.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "ubatch-size",
            "dbo-decode-token-threshold",
            "dbo-prefill-token-threshold",
            "dp-sync-interval",
        ],
        "Batches are cut otherwise, which changes step times.",
    ),
    Flag::not_modelled(&["enable-elastic-ep"], "Room is kept for more expert-parallel ranks.")
        .alone(),
    Flag::not_modelled(&["elastic-ep-max-dp-size"], "Room is kept for more expert-parallel ranks."),
    Flag::not_modelled(&["enable-eplb"], "Copies of experts for balance take memory.").alone(),
    Flag::not_modelled_unless(
        &["eplb-config", "num-redundant-experts", "eplb-window-size", "eplb-step-interval"],
        &["0"],
        "Copies of experts for balance take memory.",
    ),
    Flag::not_modelled_unless(
        &["expert-placement-strategy"],
        &["linear"],
        "Experts lie on other GPUs, which changes who waits for whom.",
    ),
    Flag::not_modelled(
        &["disable-custom-all-reduce"],
        "NCCL sums activations: other step times, and no buffers of vLLM's own.",
    )
    .alone(),
    Flag::not_modelled(
        &["quantization-config"],
        "Weights are quantised as that configuration says.",
    ),
    Flag::not_modelled(
        &["disable-sliding-window"],
        "Sliding-window layers keep the whole context.",
    )
    .alone(),
    Flag::not_modelled(
        &["hf-overrides"],
        "Keys of the model's file are other ones: paste the changed config.json beside the command.",
    ),
    Flag::not_modelled(
        &["enable-sleep-mode", "enable-cumem-allocator"],
        "Memory comes from an allocator of vLLM's own.",
    )
    .alone(),
    Flag::not_modelled(
        &["sleep-mode-backend", "sleep-mode-offload-cudagraph"],
        "Memory comes from an allocator of vLLM's own.",
    ),
    Flag::not_modelled_unless(
        &["model-impl"],
        &["auto", "vllm"],
        "Another implementation of the model saves and computes otherwise.",
    ),
    Flag::not_modelled_unless(
        &["attention-backend"],
        &["auto"],
        "Other kernels for attention take other time and workspace.",
    ),
    Flag::not_modelled(
        &["mamba-backend", "mamba-ssu-algorithm"],
        "Other kernels for state-space layers take other time.",
    ),
    Flag::not_modelled(
        &["enable-mamba-cache-stochastic-rounding"],
        "States of mixers are rounded otherwise.",
    )
    .alone(),
    Flag::not_modelled(&["mamba-cache-philox-rounds"], "States of mixers are rounded otherwise."),
    Flag::not_modelled(
        &["kv-cache-memory-bytes"],
        "The cache has that much memory, whatever the share of memory.",
    ),
    Flag::not_modelled(
        &["num-gpu-blocks-override"],
        "The cache has that many blocks, whatever finds room.",
    ),
    Flag::not_modelled(
        &["prefix-cache-retention-interval"],
        "More states of sliding-window and mixer layers stay in the cache.",
    ),
    Flag::not_modelled(&["kv-cache-dtype-skip-layers"], "Some layers keep their cache in 16 bits."),
    Flag::not_modelled(
        &["kv-sharing-fast-prefill", "swa-bounded-replay"],
        "Prompts skip some layers, which changes the time to the first token.",
    )
    .alone(),
    Flag::not_modelled_unless(
        &["mamba-cache-dtype", "mamba-ssm-cache-dtype"],
        &["auto"],
        "States of mixers are kept in another format.",
    ),
    Flag::not_modelled_unless(
        &["mamba-block-size", "prefix-match-unit", "mamba-cache-mode"],
        &["none"],
        "States of mixers are kept at other places of a text.",
    ),
    Flag::not_modelled(
        &["enable-mamba-shared-prefix-checkpoint", "use-replayssm"],
        "More states of mixers are kept.",
    )
    .alone(),
    Flag::not_modelled(&["replayssm-buffer-len"], "More states of mixers are kept."),
    Flag::not_modelled_unless(
        &["kv-offloading-size", "kv-offloading-backend"],
        &["0"],
        "A second tier of the cache lies in the host's memory: its hits and copies are not modelled.",
    ),
    Flag::not_modelled_unless(
        &[
            "offload-backend",
            "cpu-offload-params",
            "offload-group-size",
            "offload-num-in-group",
            "offload-prefetch-step",
            "offload-params",
        ],
        &["0", "auto"],
        "Weights wait in the host's memory.",
    ),
    Flag::not_modelled(&["language-model-only"], "The vision and sound parts are not loaded.")
        .alone(),
    Flag::not_modelled(
        &["limit-mm-per-prompt"],
        "vLLM's profile run holds room for the largest images of so many a prompt.",
    ),
    Flag::not_modelled(&["mm-encoder-only"], "Only the vision or sound part runs.").alone(),
    Flag::not_modelled_unless(
        &["mm-encoder-tp-mode"],
        &["weights"],
        "The vision part is copied to every tensor rank, and images are shared out.",
    ),
    Flag::not_modelled(
        &["mm-encoder-attn-backend", "mm-encoder-attn-dtype", "mm-encoder-fp8-scale-path"],
        "The vision part computes otherwise.",
    ),
    Flag::not_modelled(&["skip-mm-profiling"], "Room for images is not measured at the start.")
        .alone(),
    Flag::not_modelled(
        &["video-pruning-rate", "video-pruning-method"],
        "Tokens of videos are left out.",
    ),
    Flag::not_modelled_unless(
        &["mm-tensor-ipc", "mm-processor-device", "mm-ipc-gpu-memory-gb"],
        &["0"],
        "Images are prepared on the GPU.",
    ),
    Flag::not_modelled(
        &["mm-device-do-normalize", "enable-multimodal-encoder-data-parallel"],
        "Images are prepared otherwise.",
    )
    .alone(),
    Flag::not_modelled(
        &["lora-extra-vocab-size", "max-lora-cls-labels", "long-lora-scaling-factors"],
        "Adapters take other memory.",
    ),
    Flag::not_modelled_unless(&["lora-dtype"], &["auto"], "Adapters take other memory."),
    Flag::not_modelled(
        &[
            "enable-lora-bias",
            "fully-sharded-loras",
            "enable-tower-connector-lora",
            "specialize-active-lora",
            "enable-mixed-moe-lora-format",
            "enable-moe-shared-loras",
        ],
        "Adapters take other memory.",
    )
    .alone(),
    Flag::not_modelled(&["lora-target-modules"], "Adapters take other memory.").taking(Takes::Many),
    Flag::not_modelled(
        &["max-num-scheduled-tokens", "max-num-active-seqs"],
        "A step carries fewer tokens than its buffers hold.",
    ),
    Flag::not_modelled_unless(
        &[
            "max-num-partial-prefills",
            "max-long-partial-prefills",
            "long-prefill-token-threshold",
            "prefill-schedule-interval",
        ],
        &["0", "1"],
        "Long prompts wait for others, which changes times.",
    ),
    Flag::not_modelled(
        &["long-prefill-token-threshold-adaptive", "enable-chunked-prefill-adaptive"],
        "Long prompts wait for others, which changes times.",
    )
    .alone(),
    Flag::not_modelled(
        &["disable-hybrid-kv-cache-manager"],
        "All layers get blocks as if each kept the whole context.",
    )
    .alone(),
    Flag::not_modelled(
        &["cudagraph-capture-sizes", "cuda-graph-sizes"],
        "Other steps are captured as graphs, which takes other memory.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(
        &["max-cudagraph-capture-size", "max-seq-len-to-capture"],
        "Other steps are captured as graphs, which takes other memory.",
    ),
    Flag::not_modelled(
        &["compilation-config", "cc", "O"],
        "Compilation and captured graphs take other memory and time than by default.",
    ),
    Flag::not_modelled_unless(
        &["optimization-level"],
        &["2", "O2"],
        "Compilation and captured graphs take other memory and time than by default.",
    ),
    Flag::not_modelled_unless(
        &["performance-mode"],
        &["balanced"],
        "Kernels are chosen for another kind of load.",
    ),
    Flag::not_modelled_unless(
        &[
            "ir-op-priority",
            "moe-backend",
            "linear-backend",
            "sparse-indexer-topk-backend",
            "attention-config",
            "ac",
            "kernel-config",
            "gdn-prefill-backend",
            "kda-prefill-backend",
            "kda-decode-backend",
            "engram-config",
        ],
        &["auto"],
        "Other kernels take other time and workspace.",
    ),
    Flag::not_modelled(&["monokernel"], "Other kernels take other time and workspace.").alone(),
    Flag::not_modelled(&["diffusion-config", "dc"], "Tokens are made several at a time."),
    Flag::not_modelled(
        &["kv-transfer-config", "ec-transfer-config", "ec-manager-config"],
        "The cache is sent to or fetched from elsewhere, with buffers of its own.",
    ),
    Flag::not_modelled_unless(
        &["num-scheduler-steps", "scheduler-delay-factor"],
        &["0", "0.0", "1"],
        "The scheduler waits longer, which changes times.",
    ),
    Flag::not_modelled(&["calculate-kv-scales"], "Scales of the cache are computed as it runs.")
        .alone(),
    Flag::not_modelled_unless(
        &["enable-chunked-prefill"],
        &["true"],
        "Prompts run whole, so that a step holds the longest of them.",
    )
    .alone(),
    Flag::not_modelled(
        &["rope-scaling", "rope-theta"],
        "Positions are stretched: state the context as --max-model-len, too.",
    ),
];
