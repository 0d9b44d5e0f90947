//! Arguments of SGLang that change memory or time in a way that is not modelled.
//!
//! Version 0.5.23's `srt/arg_groups/fields/*.py` and `srt/server_args.py`, and removed arguments of
//! versions from 0.4 on.

use crate::launch::{Flag, Takes};

/// Arguments that change memory or time in a way that is not modelled.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled_unless(
        &["attn-dp-size", "attention-data-parallel-size"],
        &["1"],
        "Attention is copied to groups of ranks that each serve requests of their own.",
    ),
    Flag::not_modelled(&["enable-dp-attention"], "Attention is copied to groups of ranks that each serve requests of their own.")
        .alone(),
    Flag::not_modelled_unless(
        &["attn-cp-size", "attention-context-parallel-size", "dcp-size", "decode-context-parallel-size"],
        &["1"],
        "The cache is shared out over more ranks.",
    ),
    Flag::not_modelled_unless(
        &["moe-dp-size", "moe-data-parallel-size", "dwdp-size", "moe-dense-tp-size", "shared-experts-tp-size"],
        &["1"],
        "Experts or dense layers are split otherwise than attention.",
    ),
    Flag::not_modelled(
        &[
            "enable-prefill-cp",
            "enable-dsa-cache-layer-split",
            "enable-cp-decode-attn-tp",
            "enable-kv-cache-sharding",
            "dcp-replicate-q-proj",
        ],
        "Prompts or cache are shared out over ranks.",
    )
    .alone(),
    Flag::not_modelled(&["cp-strategy", "dcp-comm-backend"], "Prompts or cache are shared out over ranks."),
    Flag::not_modelled(
        &[
            "enable-dp-lm-head",
            "enable-tp-lm-head-all-to-all",
            "enable-attn-tp-input-scattered",
            "enable-shared-experts-attn-tp",
            "enable-dense-mlp-attn-tp",
            "enable-layernorm-sp",
            "enable-megamoe-for-layernorm-sp",
            "disable-attn-tp-gather",
        ],
        "Layers are split otherwise over ranks.",
    )
    .alone(),
    Flag::not_modelled_unless(
        &["pp-max-micro-batch-size", "pp-async-batch-depth"],
        &["0"],
        "Micro-batches of another size are in the pipeline.",
    ),
    Flag::not_modelled(
        &["elastic-ep-initial-size", "max-ep-size", "elastic-ep-backend", "elastic-ep-join-mode"],
        "Room is kept for more expert-parallel ranks.",
    ),
    Flag::not_modelled(&["enable-elastic-expert-backup", "enable-waterfill"], "Room is kept for more expert-parallel ranks.")
        .alone(),
    Flag::not_modelled(&["max-total-tokens"], "The cache has at most that many tokens, whatever finds room."),
    Flag::not_modelled_unless(
        &["max-prefill-tokens"],
        &["16384"],
        "Several prompts together have at most that many tokens of a step.",
    ),
    Flag::not_modelled_unless(
        &[
            "prefill-decode-interval",
            "prefill-decode-interval-min-bs",
            "prefill-max-requests",
            "num-continuous-decode-steps",
            "min-free-slots-delay",
        ],
        &["0", "1"],
        "The scheduler mixes prompts and answers otherwise.",
    ),
    Flag::not_modelled(
        &["enable-dynamic-chunking", "enable-mixed-chunk", "enable-prefill-delayer", "disable-chunked-prefix-cache"],
        "The scheduler mixes prompts and answers otherwise.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "prefill-delayer-max-delay-passes",
            "prefill-delayer-token-usage-low-watermark",
            "prefill-delayer-queue-min-ratio",
            "prefill-delayer-max-delay-ms",
        ],
        "The scheduler lets prompts wait.",
    ),
    Flag::not_modelled(
        &["swa-full-tokens-ratio", "swa-prefix-tails", "c128-page-size"],
        "Layers with a window get another share of the cache.",
    ),
    Flag::not_modelled(&["disable-hybrid-swa-memory"], "Layers with a window keep the whole context.").alone(),
    Flag::not_modelled(&["prefill-only-disable-kv-cache"], "There is no cache.").alone(),
    Flag::not_modelled(
        &[
            "max-mamba-cache-size",
            "mamba-full-memory-ratio",
            "mamba-ssm-dtype",
            "mamba-max-states-per-path",
            "mamba-radix-cache-strategy",
            "mamba-track-interval",
            "int8-mamba-ckpt-size",
        ],
        "States of mixers take another share of memory.",
    ),
    Flag::not_modelled(
        &[
            "enable-mamba-cache-stochastic-rounding",
            "enable-int8-mamba-checkpoint",
            "enable-linear-replayssm",
            "enable-linear-replayssm-spec",
        ],
        "States of mixers are kept otherwise.",
    )
    .alone(),
    Flag::not_modelled_unless(
        &[
            "mamba-backend",
            "mamba-cache-philox-rounds",
            "linear-attn-backend",
            "linear-attn-decode-backend",
            "linear-attn-prefill-backend",
            "linear-attn-verify-backend",
            "linear-replayssm-cache-len",
        ],
        &["triton"],
        "Other kernels for state-space layers take other time.",
    ),
    Flag::not_modelled(
        &["attention-backend", "prefill-attention-backend", "decode-attention-backend", "mm-attention-backend"],
        "Other kernels for attention take other time and workspace.",
    ),
    Flag::not_modelled_unless(
        &[
            "prefill-kv-cache-dequant-dtype",
            "fp8-gemm-backend",
            "fp4-gemm-backend",
            "bf16-gemm-backend",
            "fp8-gemm-runner-backend",
            "fp4-gemm-runner-backend",
            "moe-runner-backend",
            "flashinfer-mxfp4-moe-precision",
            "dsa-prefill-backend",
            "dsa-decode-backend",
            "nsa-prefill-backend",
            "nsa-decode-backend",
            "dsv4-prefill-backend",
            "dsv4-attn-backend",
            "dsa-triton-union",
            "dsa-paged-mqa-logits-backend",
            "dsa-topk-backend",
            "triton-attention-num-kv-splits",
            "triton-attention-split-tile-size",
            "boundary-reduction",
            "flashinfer-allreduce-fusion-backend",
        ],
        &["auto"],
        "Other kernels take other time and workspace.",
    ),
    Flag::not_modelled(
        &[
            "enable-fp32-lm-head",
            "enable-tf32-matmul",
            "enable-lean-attention",
            "enable-nvidia-megakernel",
            "enable-amd-monokernel",
            "disable-flashinfer-autotune",
            "triton-attention-reduce-in-fp32",
            "flashinfer-mla-disable-ragged",
            "enable-fused-qk-norm-rope",
            "enable-precise-embedding-interpolation",
            "enable-deepseek-v4-fp4-indexer",
            "enable-dsa-fused-indexer",
            "enable-deterministic-inference",
            "enable-flashinfer-allreduce-fusion",
            "enforce-disable-flashinfer-allreduce-fusion",
            "enable-aiter-allreduce-fusion",
            "disable-aiter-allreduce-fusion-in-prefill",
            "disable-aiter-allreduce-fusion-in-decode",
            "enable-fused-moe-sum-all-reduce",
            "disable-flashinfer-cutlass-moe-fp4-allgather",
            "disable-shared-experts-fusion",
            "enforce-shared-experts-fusion",
            "enable-quant-communications",
            "enable-flashinfer-mla",
            "enable-flashinfer-cutlass-moe",
            "enable-flashinfer-trtllm-moe",
            "enable-triton-kernel-moe",
            "enable-w4a4-mxfp4-megamoe",
            "enable-scattered-sconv",
        ],
        "Other kernels take other time and workspace.",
    )
    .alone(),
    Flag::not_modelled(&["flashinfer-autotune-skip-ops"], "Other kernels take other time and workspace.").taking(Takes::Many),
    Flag::not_modelled(&["monokernel-backend", "rl-on-policy-target"], "Other kernels take other time and workspace."),
    Flag::not_modelled(
        &["enable-nccl-nvls", "enable-symm-mem", "disable-custom-all-reduce", "enable-mscclpp", "enable-torch-symm-mem"],
        "Ranks exchange data otherwise, with other buffers.",
    )
    .alone(),
    Flag::not_modelled(
        &["enable-memory-saver", "enable-weights-cpu-backup", "enable-draft-weights-cpu-backup"],
        "Memory comes from an allocator that can give it back.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "enable-return-hidden-states",
            "enable-return-aux-hidden-states",
            "enable-return-routed-experts",
            "enable-return-indexer-topk",
        ],
        "Hidden states are kept and copied to the host.",
    )
    .alone(),
    Flag::not_modelled(
        &["return-hidden-states-mode", "sampling-mask-max-tokens"],
        "Hidden states are kept and copied to the host.",
    ),
    Flag::not_modelled(&["return-aux-hidden-state-layer-ids"], "Hidden states are kept and copied to the host.")
        .taking(Takes::Many),
    Flag::not_modelled(
        &["enable-mis", "enable-encoder-swa-bounded-replay", "enable-decoder-swa-bounded-replay"],
        "Prompts skip some layers.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "cuda-graph-config",
            "cuda-graph-backend-decode",
            "cuda-graph-backend-prefill",
            "cuda-graph-max-bs-decode",
            "cuda-graph-max-bs",
            "cuda-graph-max-bs-prefill",
            "cuda-graph-max-seq-len-prefill",
            "cuda-graph-prefill-max-context",
            "context-bucket",
        ],
        "Other steps are captured as graphs, which takes other memory.",
    ),
    Flag::not_modelled(
        &["cuda-graph-bs-decode", "cuda-graph-bs", "cuda-graph-bs-prefill"],
        "Other steps are captured as graphs, which takes other memory.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(
        &[
            "disable-prefill-cuda-graph",
            "disable-decode-cuda-graph",
            "disable-cuda-graph-padding",
            "enable-cudagraph-gc",
            "enable-piecewise-cuda-graph",
        ],
        "Other steps are captured as graphs, which takes other memory.",
    )
    .alone(),
    Flag::not_modelled(&["enable-torch-compile"], "Layers are compiled, which takes other memory and time.").alone(),
    Flag::not_modelled(&["torch-compile-max-bs"], "Layers are compiled, which takes other memory and time."),
    Flag::not_modelled_unless(
        &[
            "deepep-mode",
            "deepep-v2-mode",
            "fuseep-mode",
            "deepep-dispatcher-output-dtype",
            "flashinfer-a2a-dispatch-type",
            "deepep-config",
        ],
        &["auto"],
        "Tokens reach experts in another way, with buffers of its own.",
    ),
    Flag::not_modelled_unless(
        &[
            "ep-num-redundant-experts",
            "ep-dispatch-algorithm",
            "init-expert-location",
            "eplb-algorithm",
            "eplb-rebalance-num-iterations",
            "eplb-rebalance-layers-per-chunk",
            "eplb-min-rebalancing-utilization-threshold",
            "expert-distribution-recorder-buffer-size",
        ],
        &["0", "auto", "trivial"],
        "Copies of experts for balance take memory.",
    ),
    Flag::not_modelled(&["enable-eplb"], "Copies of experts for balance take memory.").alone(),
    Flag::not_modelled(&["enable-paged-experts"], "Experts wait in the host's memory.").alone(),
    Flag::not_modelled(
        &[
            "paged-experts-num-resident",
            "kt-weight-path",
            "kt-method",
            "kt-amx-weight-path",
            "kt-cpuinfer",
            "kt-threadpool-count",
            "kt-num-gpu-experts",
            "kt-max-deferred-experts-per-token",
        ],
        "Experts wait in the host's memory.",
    ),
    Flag::not_modelled(
        &["enable-two-batch-overlap", "enable-single-batch-overlap"],
        "Two half batches overlap: more working memory, another step time.",
    )
    .alone(),
    Flag::not_modelled(
        &["tbo-token-distribution-threshold"],
        "Two half batches overlap: more working memory, another step time.",
    ),
    Flag::not_modelled_unless(
        &["offload-group-size", "offload-num-in-group", "offload-prefetch-step", "offload-mode"],
        &["0", "-1"],
        "Weights wait in the host's memory.",
    ),
    Flag::not_modelled(&["ple-offload-embedding"], "The layers' own embeddings wait in the host's memory.").alone(),
    Flag::not_modelled(&["ple-offload-backend", "ple-offload-dir"], "The layers' own embeddings wait in the host's memory."),
    Flag::not_modelled(&["dllm-algorithm", "dllm-algorithm-config"], "Tokens are made several at a time."),
    Flag::not_modelled(&["dllm-fdfo"], "Tokens are made several at a time.").alone(),
    Flag::not_modelled(
        &["enable-lora", "enable-lora-overlap-loading", "experts-shared-outer-loras", "lora-use-virtual-experts"],
        "Slots for adapters come on top: max_loras_per_batch × max_lora_rank for each adapted layer.",
    )
    .alone(),
    Flag::not_modelled(
        &["max-lora-rank", "max-loaded-loras", "max-loras-per-batch", "lora-backend", "max-lora-chunk-size", "uno-lora-path"],
        "Slots for adapters come on top: max_loras_per_batch × max_lora_rank for each adapted layer.",
    ),
    Flag::not_modelled(&["lora-target-modules"], "Adapters take other memory.").taking(Takes::Many),
    Flag::not_modelled(&["enable-page-major-kv-layout", "enable-unified-memory"], "The cache's pools share memory otherwise.")
        .alone(),
    Flag::not_modelled(
        &[
            "enable-hierarchical-cache",
            "enable-hicache",
            "enable-unified-cache-external-linker",
            "enable-linker-mla-dedup",
            "enable-lmcache",
            "enable-flexkv",
        ],
        "A second tier of the cache lies in the host's memory: its hits and copies are not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "hicache-host-memory-mode",
            "hicache-ratio",
            "hicache-size",
            "hicache-host-memory-fraction",
            "hicache-write-policy",
            "hicache-io-backend",
            "hicache-mem-layout",
            "hicache-storage-backend",
            "hicache-storage-prefetch-policy",
            "hicache-storage-backend-extra-config",
            "hicache-storage-prefetch-retry-poll-interval",
            "hicache-storage-prefetch-retry-max-attempts",
            "unified-cache-external-linker-backend",
            "unified-cache-external-linker-config",
            "lmcache-config-file",
            "flexkv-config-file",
        ],
        "A second tier of the cache lies in the host's memory: its hits and copies are not modelled.",
    ),
    Flag::not_modelled(&["enable-hisparse", "enable-double-sparsity"], "Only a part of the cache stays on the GPU.").alone(),
    Flag::not_modelled(
        &["hisparse-config", "hierarchical-sparse-attention-extra-config", "ds-channel-config-path"],
        "Only a part of the cache stays on the GPU.",
    ),
    Flag::not_modelled(&["enable-multimodal"], "The vision and sound parts are loaded.").alone(),
    Flag::not_modelled(
        &[
            "enable-broadcast-mm-inputs-process",
            "enable-prefix-mm-cache",
            "enable-mm-global-cache",
            "mm-enable-dp-encoder",
            "enable-adaptive-dispatch-to-encoder",
            "keep-mm-feature-on-device",
        ],
        "Images are prepared or shared out otherwise.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "mm-process-config",
            "limit-mm-data-per-request",
            "mm-feature-transport",
            "mm-max-concurrent-calls",
            "mm-per-request-timeout",
        ],
        "Images are prepared or shared out otherwise.",
    ),
    Flag::not_modelled(&["is-embedding"], "Texts become vectors: there are no answers, and no cache grows.").alone(),
    Flag::not_modelled_unless(
        &["model-impl"],
        &["auto", "sglang"],
        "Another implementation of the model saves and computes otherwise.",
    ),
    Flag::not_modelled_unless(
        &["json-model-override-args"],
        &["{}"],
        "Keys of the model's file are other ones: paste the changed config.json beside the command.",
    ),
    Flag::not_modelled_unless(&["qsa-indexer-dtype"], &["auto"], "The indexer keeps its cache in another format."),
    Flag::not_modelled(&["modelopt-quant", "torchao-config", "rl-quant-profile"], "Weights are quantised as they are loaded."),
    Flag::not_modelled(&["quantize-and-serve", "enable-int4-kv"], "Weights are quantised as they are loaded.").alone(),
    Flag::not_modelled_unless(&["disaggregation-mode"], &["null"], "Prompts and answers run on different servers."),
    Flag::not_modelled(
        &[
            "disaggregation-decode-allocation-policy",
            "disaggregation-transfer-backend",
            "num-reserved-decode-tokens",
            "disaggregation-decode-extra-slots",
            "disaggregation-decode-polling-interval",
            "disaggregation-decode-retraction-backup",
            "optimistic-prefill-attempts",
            "disaggregation-decode-host-receive-threshold",
            "disaggregation-decode-tp",
            "disaggregation-prefill-pp",
            "encoder-transfer-backend",
            "encoder-bootstrap-port",
            "pdmux-config-path",
            "sm-group-num",
            "decoupled-spec-role",
        ],
        "Prompts and answers run on different servers.",
    ),
    Flag::not_modelled(
        &[
            "disaggregation-decode-enable-radix-cache",
            "disaggregation-decode-enable-offload-kvcache",
            "enable-pd-role-switch",
            "encoder-only",
            "language-only",
            "language-model-only",
            "enable-pdmux",
        ],
        "Prompts, answers and images run on different servers.",
    )
    .alone(),
    Flag::not_modelled(
        &[
            "speculative-dflash-block-size",
            "speculative-domino-candidate-pool-size",
            "speculative-dspark-block-size",
            "speculative-dspark-sps-table-path",
            "speculative-dspark-confidence-sts-path",
            "speculative-accept-threshold-single",
            "speculative-accept-threshold-acc",
            "speculative-token-map",
            "speculative-attention-mode",
            "speculative-draft-attention-backend",
            "speculative-dsa-topk-backend",
            "speculative-draft-kv-cache-dtype",
            "speculative-draft-window-size",
            "speculative-draft-sink-size",
            "speculative-moe-runner-backend",
            "speculative-moe-a2a-backend",
            "speculative-draft-model-quantization",
            "speculative-adaptive-config",
            "speculative-ngram-min-bfs-breadth",
            "speculative-ngram-max-bfs-breadth",
            "speculative-ngram-match-type",
            "speculative-ngram-max-trie-depth",
            "speculative-ngram-capacity",
            "speculative-ngram-external-sam-budget",
            "speculative-ngram-external-corpus-max-tokens",
            "speculative-ngram-min-match-window-size",
            "speculative-ngram-max-match-window-size",
            "speculative-ngram-branch-length",
        ],
        "A draft model's or head's weights and cache come on top, and several tokens come from a step.",
    ),
    Flag::not_modelled(
        &[
            "speculative-dspark-align-verify-tokens-to-graph-tier",
            "speculative-use-rejection-sampling",
            "speculative-use-block-verification",
            "speculative-enable-w4a4-mxfp4-megamoe",
            "enable-multi-layer-eagle",
            "speculative-adaptive",
        ],
        "A draft model's or head's weights and cache come on top, and several tokens come from a step.",
    )
    .alone(),
];
