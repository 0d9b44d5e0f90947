//! Arguments of `trtllm-serve` and keys of its YAML file that set no input.
//!
//! `tensorrt_llm/commands/serve.py` at commit 4c05a748 and `tensorrt_llm/llmapi/llm_args.py` at
//! 00043967 (`TorchLlmArgs`, `KvCacheConfig`).

use crate::launch::Flag;

/// Arguments that change neither memory nor time of the GPU.
pub const QUIET: &[Flag] = &[Flag::no_effect(VALUED), Flag::no_effect(ALONE).alone()];

/// Arguments that change memory or time in a way that is not modelled.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled_unless(&["max_beam_width"], &["1"], "Each request keeps several answers."),
    Flag::not_modelled(
        &[
            "kv_cache_free_gpu_memory_fraction",
            "kv_cache_config.free_gpu_memory_fraction",
            "free_gpu_memory_fraction",
        ],
        "The cache takes that share of what weights and working memory leave; here all of it \
         counts.",
    ),
    Flag::not_modelled(&["kv_cache_config.max_tokens"], "The cache has at most that many tokens."),
    Flag::not_modelled_unless(
        &["kv_cache_config.max_gpu_total_bytes"],
        &["0"],
        "The cache has at most that much memory.",
    ),
    Flag::not_modelled(
        &["kv_cache_config.max_attention_window"],
        "Layers look back on other lengths.",
    ),
    Flag::not_modelled(
        &["kv_cache_config.sink_token_length"],
        "First tokens stay in the cache of layers with a window.",
    ),
    Flag::not_modelled_unless(
        &[
            "kv_cache_config.host_cache_size",
            "kv_cache_config.onboard_blocks",
            "kv_cache_config.secondary_offload_min_priority",
            "kv_cache_config.disk_cache_size",
            "kv_cache_config.disk_cache_path",
            "kv_cache_config.disk_prefetch_num_reqs",
        ],
        &["0"],
        "Blocks of the cache go to the host's memory and come back, which takes time.",
    ),
    Flag::not_modelled(
        &[
            "kv_cache_config.cross_kv_cache_fraction",
            "kv_cache_config.use_uvm",
            "kv_cache_config.pool_ratio",
            "kv_cache_config.avg_seq_len",
            "kv_cache_config.use_kv_cache_manager_v2",
            "kv_cache_config.block_reuse_config",
            "kv_cache_config.fp8_context_mla_kv_len_cap",
            "kv_cache_config.enable_kv_pool_rebalance",
            "kv_cache_config.max_util_for_resume",
        ],
        "The cache is shared out otherwise.",
    ),
    Flag::not_modelled(
        &[
            "kv_cache_config.mamba_ssm_cache_dtype",
            "kv_cache_config.mamba_state_cache_interval",
            "kv_cache_config.mamba_state_config",
        ],
        "States of mixers are kept otherwise.",
    ),
    Flag::not_modelled_unless(
        &["cluster_size", "moe_cluster_parallel_size", "moe_tensor_parallel_size"],
        &["1", "-1"],
        "Experts are split otherwise than attention.",
    ),
    Flag::not_modelled_unless(
        &["context_parallel_size", "cp_config", "cp_size"],
        &["1"],
        "The cache is shared out over more ranks.",
    ),
    Flag::not_modelled(&["pp_partition"], "Stages have other numbers of layers."),
    Flag::not_modelled(
        &["enable_attention_dp"],
        "Attention is copied to every rank, which serves requests of its own.",
    )
    .alone(),
    Flag::not_modelled(&["enable_lm_head_tp_in_adp"], "The head is split over ranks.").alone(),
    Flag::not_modelled_unless(
        &[
            "cuda_graph_config",
            "cuda_graph_batch_sizes",
            "use_cuda_graph",
            "cuda_graph_max_batch_size",
            "cuda_graph_padding_enabled",
            "prefill_cuda_graph_backend",
            "prefill_capture_num_tokens",
            "encoder_cuda_graph_config",
        ],
        &["disabled"],
        "Steps are captured as graphs, which takes memory.",
    ),
    Flag::not_modelled(
        &["torch_compile_config"],
        "Layers are compiled, which takes other memory and time.",
    ),
    Flag::not_modelled_unless(
        &[
            "moe_config",
            "moe_backend",
            "moe_max_num_tokens",
            "moe_load_balancer",
            "attn_backend",
            "allreduce_strategy",
            "nvfp4_gemm_config",
            "extended_runtime_perf_knob_config",
        ],
        &["AUTO"],
        "Other kernels take other time and workspace.",
    ),
    Flag::not_modelled(
        &[
            "enable_min_latency",
            "use_cute_dsl_blockscaling_mm",
            "use_cute_dsl_blockscaling_bmm",
            "use_cute_dsl_bf16_bmm",
            "use_cute_dsl_bf16_gemm",
            "use_fine_grained_sync",
            "mixed_sampler",
            "force_dynamic_quantization",
            "enable_resource_governor",
        ],
        "Other kernels take other time and workspace.",
    )
    .alone(),
    Flag::not_modelled(
        &["speculative_config"],
        "A draft model's or head's weights and cache come on top, and several tokens come from a \
         step.",
    ),
    Flag::not_modelled(&["sparse_attention_config"], "Layers look at a part of the cache."),
    Flag::not_modelled(&["enable_lora"], "Slots for adapters come on top.").alone(),
    Flag::not_modelled(&["lora_config", "peft_cache_config"], "Slots for adapters come on top."),
    Flag::not_modelled(
        &["quant_config", "calib_config"],
        "Weights are quantised as they are loaded.",
    ),
    Flag::not_modelled(
        &["model_kwargs"],
        "Keys of the model's file are other ones: paste the changed config.json beside the \
         command.",
    ),
    Flag::not_modelled_unless(
        &["load_format"],
        &["auto", "AUTO"],
        "Weights are not those of the model.",
    ),
    Flag::not_modelled(
        &["gms_config", "sleep_config"],
        "Memory comes from an allocator that shares it or gives it back.",
    ),
    Flag::not_modelled(
        &[
            "cache_transceiver_config",
            "kv_connector_config",
            "kv_cache_connector_config",
            "disagg_cluster",
        ],
        "Prompts and answers run on different servers.",
    ),
    Flag::not_modelled(
        &["multimodal_config", "multimodal_server_config"],
        "Images are prepared otherwise.",
    ),
    Flag::not_modelled(
        &["mm_encoder_only", "disable_mm_encoder", "encode_only", "gather_generation_logits"],
        "Only a part of the model runs, or more of its results are kept.",
    )
    .alone(),
    Flag::not_modelled(
        &["reorder_policy_config", "waiting_queue_policy"],
        "Requests run in another order, which changes times.",
    ),
    Flag::not_modelled(
        &[
            "build_config",
            "enable_tqdm",
            "workspace",
            "fast_build",
            "enable_build_cache",
            "embedding_parallel_mode",
            "logits_post_processor_config",
            "batched_logits_processor",
            "normalize_log_probs",
        ],
        "The engine is built from other settings.",
    ),
];

/// Arguments with a value.
const VALUED: &[&str] = &[
    "tokenizer",
    "custom_tokenizer",
    "host",
    "port",
    "log_level",
    "num_postprocess_workers",
    "revision",
    "reasoning_parser",
    "tool_parser",
    "metadata_server_config_file",
    "server_role",
    "disagg_cluster_uri",
    "media_io_kwargs",
    "chat_template",
    "gpus_per_node",
    "tokenizer_mode",
    "tokenizer_revision",
    "stream_interval",
    "postprocess_tokenizer_dir",
    "max_stats_len",
    "iter_stats_max_iterations",
    "request_stats_max_iterations",
    "perf_metrics_max_requests",
    "prometheus_metrics_config",
    "telemetry_config",
    "orchestrator_type",
    "ray_worker_extension_cls",
    "ray_worker_nsight_options",
    "checkpoint_format",
    "checkpoint_io_policy",
    "checkpoint_loader",
    "mx_config",
    "env_overrides",
    "otlp_traces_endpoint",
    "return_perf_metrics",
    "batch_wait_timeout_ms",
    "batch_wait_timeout_iters",
    "batch_wait_max_tokens_ratio",
    "max_input_len",
    "guided_decoding_backend",
    "scheduler_config",
    "layer_wise_benchmarks_config",
    "served_model_name",
    "agent_percentage",
    "agent_types",
    "agent_inflight_seq_num",
    "sampler_type",
    "attention_dp_config",
    "kv_cache_config.event_buffer_max_size",
    "kv_cache_config.attention_dp_events_gather_period_ms",
    "kv_cache_config.enable_block_reuse",
    "kv_cache_config.enable_partial_reuse",
    "kv_cache_config.copy_on_partial_reuse",
    "garbage_collection_gen0_threshold",
];

/// Arguments without a value.
const ALONE: &[&str] = &[
    "trust_remote_code",
    "print_iter_log",
    "enable_iter_perf_stats",
    "enable_iter_req_stats",
    "enable_energy_metrics",
    "skip_tokenizer_init",
    "fail_fast_on_attention_window_too_large",
    "enable_layerwise_nvtx_marker",
    "enable_chunked_prefill",
    "disable_overlap_scheduler",
    "enable_autotuner",
    "telemetry",
    "no-telemetry",
];
