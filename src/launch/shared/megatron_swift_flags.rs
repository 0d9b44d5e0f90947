//! Arguments of ms-swift's Megatron side beyond Megatron-Core's own: those that are not modelled,
//! and those that change no tensor.
//!
//! Read in ms-swift 4.6.0: `megatron/arguments/megatron_args.py`, `arguments/base_args/*.py`.

use crate::launch::{Flag, Takes};

/// Arguments that change memory or time and are not modelled.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled(
        &["freeze_llm", "freeze_vit", "freeze_aligner"],
        "Parts that see or hear are not read from here.",
    ),
    Flag::not_modelled(
        &["vit_gradient_checkpointing", "vit_attn_impl"],
        "Parts that see or hear are not read from here.",
    ),
    Flag::not_modelled(
        &["max_pixels", "language_model_only"],
        "Parts that see or hear are not read from here.",
    ),
    Flag::not_modelled(
        &["freeze_parameters", "freeze_parameters_regex"],
        "Which weights learn is not read from here.",
    ),
    Flag::not_modelled(
        &["freeze_parameters_ratio", "trainable_parameters"],
        "Which weights learn is not read from here.",
    ),
    Flag::not_modelled(
        &["trainable_parameters_regex", "target_regex"],
        "Which weights learn is not read from here.",
    ),
    Flag::not_modelled(
        &["modules_to_save", "lora_bias", "lora_dtype"],
        "Which weights learn is not read from here.",
    ),
    Flag::not_modelled(
        &["max_completion_length", "num_generations"],
        "The engine that generates is not read from here.",
    ),
    Flag::not_modelled(
        &["generation_batch_size", "steps_per_generation"],
        "The engine that generates is not read from here.",
    ),
    Flag::not_modelled(
        &["vllm_mode", "vllm_gpu_memory_utilization"],
        "The engine that generates is not read from here.",
    ),
    Flag::not_modelled(
        &["vllm_tensor_parallel_size"],
        "The engine that generates is not read from here.",
    ),
    Flag::not_modelled(
        &["vllm_max_model_len", "use_vllm", "sleep_level"],
        "The engine that generates is not read from here.",
    ),
    Flag::not_modelled(
        &["offload_model", "offload_bridge"],
        "The engine that generates is not read from here.",
    ),
    Flag::not_modelled(&["offload_optimizer"], "The engine that generates is not read from here."),
    Flag::not_modelled(
        &["ref_model", "ref_adapters"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["mcore_ref_model", "mcore_ref_adapter"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["reference_free", "teacher_model"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["teacher_model_server"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["offload_teacher_model", "reward_model"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["task_type", "num_labels", "problem_type"],
        "Heads for other tasks are not read from here.",
    ),
    Flag::not_modelled(&["mrl_dims"], "Heads for other tasks are not read from here."),
    Flag::not_modelled(
        &["megatron_extra_kwargs", "rope_scaling", "new_special_tokens"],
        "It is not modelled.",
    ),
    Flag::not_modelled(
        &["init_strategy", "quant_method", "quant_bits", "sequence_packing_scheduler"],
        "It is not modelled.",
    ),
    Flag::not_modelled(
        &["mlp_padding_free", "linear_decoupled_in_proj", "csa_dense_mode"],
        "It is not modelled.",
    ),
    Flag::not_modelled(
        &["use_fused_mhc", "mhc_recompute_layer_num", "mtp_shared_weights"],
        "It is not modelled.",
    ),
    Flag::not_modelled(
        &["dsa_indexer_loss_coeff", "apply_dsa_kernel_fusion", "experts_impl"],
        "It is not modelled.",
    ),
];

/// Arguments that change no tensor.
pub const QUIET: &[Flag] = &[
    Flag::no_effect(&["split_dataset_ratio", "data_seed"]),
    Flag::no_effect(&[
        "dataset_num_proc",
        "load_from_cache_file",
        "dataset_shuffle",
        "val_dataset_shuffle",
        "streaming",
    ]),
    Flag::no_effect(&[
        "stopping_strategy",
        "shuffle_buffer_size",
        "download_mode",
        "columns",
        "strict",
    ]),
    Flag::no_effect(&["remove_unused_columns", "disable_auto_column_mapping"]),
    Flag::no_effect(&["template", "system", "truncation_strategy", "agent_template", "norm_bbox"]),
    Flag::no_effect(&[
        "use_chat_template",
        "padding_side",
        "loss_scale",
        "is_binary_loss_scale",
        "template_backend",
    ]),
    Flag::no_effect(&[
        "response_prefix",
        "enable_thinking",
        "preserve_thinking",
        "add_non_thinking_prefix",
    ]),
    Flag::no_effect(&[
        "disable_ignore_empty_think",
        "packing_num_proc",
        "packing_strategy",
        "lazy_tokenize",
        "use_hf",
    ]),
    Flag::no_effect(&["hub_token", "ddp_timeout", "ddp_backend", "ignore_args_error"]),
    Flag::no_effect(&[
        "model_kwargs",
        "load_args",
        "load_data_args",
        "model_type",
        "model_revision",
    ]),
    Flag::no_effect(&["attn_impl", "tuner_backend", "output_dir", "save_steps", "save_strategy"]),
    Flag::no_effect(&[
        "save_total_limit",
        "metric_for_best_model",
        "greater_is_better",
        "no_save_optim",
        "no_save_rng",
    ]),
    Flag::no_effect(&["no_load_optim", "no_load_rng", "mcore_adapter", "save_safetensors"]),
    Flag::no_effect(&[
        "save_missing_weights",
        "merge_lora",
        "max_shard_size",
        "add_version",
        "create_checkpoint_symlink",
    ]),
    Flag::no_effect(&[
        "bridge_backend",
        "perform_initialization",
        "use_cpu_initialization",
        "finetune",
        "async_save",
    ]),
    Flag::no_effect(&[
        "use_persistent_ckpt_worker",
        "check_model",
        "num_train_epochs",
        "max_epochs",
    ]),
    Flag::no_effect(&[
        "train_iters",
        "lr",
        "min_lr",
        "lr_warmup_fraction",
        "lr_warmup_iters",
        "weight_decay",
        "clip_grad",
    ]),
    Flag::no_effect(&[
        "logging_steps",
        "log_interval",
        "swanlab_project",
        "swanlab_exp_name",
        "wandb_project",
    ]),
    Flag::no_effect(&[
        "wandb_exp_name",
        "eval_iters",
        "eval_steps",
        "eval_interval",
        "save_interval",
    ]),
    Flag::no_effect(&[
        "train_dataloader_shuffle",
        "dataloader_num_workers",
        "dataloader_pin_memory",
    ]),
    Flag::no_effect(&[
        "dataloader_persistent_workers",
        "dataloader_prefetch_factor",
        "dataloader_multiprocessing_context",
    ]),
    Flag::no_effect(&[
        "group_by_length",
        "manual_gc",
        "manual_gc_steps",
        "manual_gc_eval",
        "num_workers",
        "seed",
    ]),
    Flag::no_effect(&[
        "save",
        "beta",
        "loss_type",
        "rpo_alpha",
        "label_smoothing",
        "f_divergence_type",
        "desirable_weight",
    ]),
    Flag::no_effect(&[
        "undesirable_weight",
        "calculate_KL",
        "center_rewards_coefficient",
        "temperature",
        "top_k",
        "top_p",
    ]),
    Flag::no_effect(&["repetition_penalty", "epsilon", "epsilon_high", "delta"]),
    Flag::no_effect(&[
        "importance_sampling_level",
        "scale_rewards",
        "advantage_estimator",
        "kl_in_reward",
        "log_completions",
    ]),
    Flag::no_effect(&[
        "dynamic_sample",
        "max_resample_times",
        "overlong_filter",
        "soft_max_length",
        "soft_cache_length",
    ]),
    Flag::no_effect(&[
        "num_iterations",
        "log_entropy",
        "top_entropy_quantile",
        "lmbda",
        "sft_alpha",
        "use_rslora",
        "muon_lr",
    ]),
    Flag::no_effect(&[
        "muon_min_lr",
        "moe_router_dtype",
        "moe_router_load_balancing_type",
        "moe_aux_loss_coeff",
    ]),
    Flag::no_effect(&[
        "calculate_per_token_loss",
        "attention_softmax_in_fp32",
        "enable_channel_loss",
        "enable_dft_loss",
    ]),
    Flag::no_effect(&[
        "vit_lr",
        "aligner_lr",
        "overlap_param_gather",
        "align_param_gather",
        "overlap_p2p_comm",
    ]),
    Flag::no_effect(&[
        "batch_p2p_comm",
        "nccl_comm_warmup",
        "cp_comm_type",
        "cp_partition_mode",
        "apply_wd_to_qk_layernorm",
    ]),
    Flag::no_effect(&["strict_fsdp_dtensor_load", "use_flash_attn", "no_initialization"]),
    Flag::no_effect(&["dataset", "val_dataset", "cached_dataset", "cached_val_dataset"])
        .taking(Takes::Many),
    Flag::no_effect(&[
        "custom_dataset_info",
        "external_plugins",
        "custom_register_path",
        "reward_funcs",
    ])
    .taking(Takes::Many),
    Flag::no_effect(&["reward_weights", "report_to", "callbacks", "interleave_prob", "model_name"])
        .taking(Takes::Many),
    Flag::no_effect(&["model_author", "adapters"]).taking(Takes::Many),
    Flag::no_effect(&["load_safetensors"]),
];
