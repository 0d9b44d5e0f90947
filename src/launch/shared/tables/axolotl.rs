//! axolotl's keys that change memory in a way that is not modelled, and those that change nothing.
//!
//! Read in axolotl 0.19.0: `utils/schemas/*.py` and `integrations/*/args.py`.

use crate::launch::Flag;

/// Keys that change memory or time and are not modelled.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled(&["fp16", "float16"], "Training in fp16 is not modelled for the Trainer."),
    Flag::not_modelled(
        &["bfloat16", "float32"],
        "Formats without autocast are not modelled for axolotl.",
    ),
    Flag::not_modelled(
        &["fp8", "fp8_config.*"],
        "Products in fp8 are not modelled for the Trainer.",
    ),
    Flag::not_modelled(
        &["fp8_enable_fsdp_float8_all_gather"],
        "Products in fp8 are not modelled for the Trainer.",
    ),
    Flag::not_modelled(
        &["activation_offloading"],
        "What waits in the host's memory is not modelled for the Trainer.",
    ),
    Flag::not_modelled(
        &["layer_offloading"],
        "What waits in the host's memory is not modelled for the Trainer.",
    ),
    Flag::not_modelled(
        &["ple_cpu_offload"],
        "What waits in the host's memory is not modelled for the Trainer.",
    ),
    Flag::not_modelled(
        &["selective_checkpointing.*", "selective_checkpointing"],
        "It keeps some of the activations.",
    ),
    Flag::not_modelled(&["unfrozen_parameters"], "Weights of which some learn are not modelled."),
    Flag::together(&["quantize_moe_experts"]),
    Flag::not_modelled(
        &["use_kernels", "use_scattermoe", "use_sonicmoe"],
        "Other kernels keep other tensors.",
    ),
    Flag::not_modelled(
        &["expert_backend", "nonexpert_quantization"],
        "Other kernels keep other tensors.",
    ),
    Flag::not_modelled(
        &["moe_grouped_backend", "experts_implementation"],
        "Other kernels keep other tensors.",
    ),
    Flag::not_modelled(
        &["fused_attn_kernel", "flash_attn_fuse_mlp"],
        "Other kernels keep other tensors.",
    ),
    Flag::not_modelled(
        &["flash_attn_cross_entropy", "flash_attn_rms_norm"],
        "Other kernels keep other tensors.",
    ),
    Flag::not_modelled(&["large_head_attention"], "Other kernels keep other tensors."),
    Flag::not_modelled(
        &["flex_attention", "sage_attention", "s2_attention"],
        "Attention by this kernel is not modelled.",
    ),
    Flag::not_modelled(
        &["chunked_cross_entropy", "liger_cross_entropy"],
        "This loss is not modelled by itself.",
    ),
    Flag::not_modelled(&["dpo_use_liger_kernel"], "This loss is not modelled by itself."),
    Flag::not_modelled(
        &["liger_layer_norm"],
        "Some of Liger's kernels are not modelled by themselves.",
    ),
    Flag::not_modelled(
        &["liger_rms_norm_gated"],
        "Some of Liger's kernels are not modelled by themselves.",
    ),
    Flag::not_modelled(&["tiled_mlp"], "A feed-forward layer in tiles is not modelled."),
    Flag::not_modelled(
        &["torch_compile"],
        "torch.compile is not modelled under the Trainer: eager is an upper bound.",
    ),
    Flag::not_modelled(
        &["deepcompile"],
        "torch.compile is not modelled under the Trainer: eager is an upper bound.",
    ),
    Flag::not_modelled(
        &["fp32_norms"],
        "Norms in fp32 beside other weights are not modelled under FSDP.",
    ),
    Flag::no_effect(&["fsdp_final_state_dict_type"]),
    Flag::not_modelled(
        &["expert_parallel_size"],
        "Experts shared out among GPUs are not modelled for the Trainer.",
    ),
    Flag::not_modelled_unless(
        &["embeddings_skip_upcast"],
        &["true"],
        "Embeddings in fp32 under adapters are not modelled for axolotl.",
    ),
    Flag::not_modelled(
        &["device_map", "max_memory"],
        "How weights are spread over devices is not modelled.",
    ),
    Flag::not_modelled(
        &["gpu_memory_limit", "ddp"],
        "How weights are spread over devices is not modelled.",
    ),
    Flag::not_modelled(
        &["qat.*", "quantization.*", "gptq"],
        "Weights in this format are not modelled for training.",
    ),
    Flag::together(&["model_quantization_config", "model_quantization_config_kwargs.dequantize"]),
    Flag::not_modelled(
        &["use_onebitllms"],
        "Weights in this format are not modelled for training.",
    ),
    Flag::not_modelled(
        &["model_quantization_config_kwargs"],
        "Weights in this format are not modelled for training.",
    ),
    Flag::not_modelled(
        &["model_quantization_config_kwargs.*"],
        "Weights in this format are not modelled for training.",
    ),
    Flag::not_modelled(
        &["overrides_of_model_config.*"],
        "Changed keys of the model are not read from here.",
    ),
    Flag::not_modelled(
        &["overrides_of_model_kwargs.*"],
        "Changed keys of the model are not read from here.",
    ),
    Flag::not_modelled(
        &["lora_target_parameters", "lora_rank_pattern"],
        "Adapters of this kind are not modelled.",
    ),
    Flag::not_modelled(
        &["peft_layers_to_transform", "peft_layer_replication"],
        "Adapters of this kind are not modelled.",
    ),
    Flag::not_modelled(
        &["relora", "lisa_n_layers", "loftq_config.*", "peft.*"],
        "Which weights learn changes.",
    ),
    Flag::not_modelled(&["peft_trainable_token_indices"], "Which weights learn changes."),
    Flag::not_modelled(
        &["batch_flattening"],
        "Batches without padding have lengths that are not known.",
    ),
    Flag::not_modelled(
        &["resize_token_embeddings_to_32x"],
        "A padded vocabulary is not modelled here.",
    ),
    Flag::not_modelled(&["auto_find_batch_size"], "The batch is not known before the run."),
    Flag::not_modelled(&["image_size", "freeze_mm_modules"], "Images are not read from here."),
    Flag::not_modelled(
        &["reward_model", "process_reward_model"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["trl.*", "vllm.*", "ebft.*"],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(
        &["kd_trainer", "teacher_model"],
        "Models beside the one that learns are not read from here.",
    ),
];

/// Keys that change no tensor: data, logging, checkpoints, learning-rate schedules.
pub const QUIET: &[Flag] = &[
    Flag::no_effect(&[
        "base_model_config",
        "tokenizer_config",
        "tokenizer_type",
        "tokenizer_use_fast",
        "tokenizer_legacy",
    ]),
    Flag::no_effect(&[
        "tokenizer_use_mistral_common",
        "tokenizer_save_jinja_files",
        "processor_type",
        "processor_kwargs.*",
    ]),
    Flag::no_effect(&[
        "model_type",
        "type_of_model",
        "is_llama_derived_model",
        "is_mistral_derived_model",
    ]),
    Flag::no_effect(&[
        "is_qwen_derived_model",
        "is_falcon_derived_model",
        "revision_of_model",
        "cls_model_config",
    ]),
    Flag::no_effect(&[
        "experimental_skip_move_to_device",
        "special_tokens.*",
        "special_tokens",
        "tokens",
    ]),
    Flag::no_effect(&[
        "added_tokens_overrides.*",
        "eot_tokens",
        "default_system_message",
        "chat_template",
    ]),
    Flag::no_effect(&[
        "chat_template_jinja",
        "chat_template_kwargs.*",
        "fix_untrained_tokens",
        "low_cpu_mem_usage",
        "strict",
    ]),
    Flag::no_effect(&[
        "trust_remote_code",
        "datasets",
        "dataset_prepared_path",
        "dataset_shard_num",
        "dataset_shard_idx",
    ]),
    Flag::no_effect(&[
        "skip_prepare_dataset",
        "num_dataset_shards_to_save",
        "pretraining_dataset",
        "dataset_processes",
    ]),
    Flag::no_effect(&[
        "dataset_num_proc",
        "dataset_exact_deduplication",
        "dataset_keep_in_memory",
        "dataloader_pin_memory",
    ]),
    Flag::no_effect(&[
        "dataloader_num_workers",
        "dataloader_prefetch_factor",
        "dataloader_drop_last",
        "remove_unused_columns",
    ]),
    Flag::no_effect(&[
        "push_dataset_to_hub",
        "shuffle_merged_datasets",
        "shuffle_before_merging_datasets",
    ]),
    Flag::no_effect(&[
        "hf_use_auth_token",
        "train_on_inputs",
        "group_by_length",
        "curriculum_sampling",
    ]),
    Flag::no_effect(&[
        "excess_length_strategy",
        "min_sample_len",
        "max_prompt_len",
        "sample_packing_group_size",
    ]),
    Flag::no_effect(&[
        "sample_packing_bin_size",
        "sample_packing_sequentially",
        "sample_packing_mp_start_method",
    ]),
    Flag::no_effect(&[
        "sample_packing_eff_est",
        "eval_sample_packing",
        "pad_to_sequence_len",
        "pad_to_multiple_of",
    ]),
    Flag::no_effect(&[
        "pretrain_multipack_buffer_size",
        "pretrain_multipack_attn",
        "pretraining_sample_concatenation",
    ]),
    Flag::no_effect(&[
        "streaming",
        "streaming_multipack_buffer_size",
        "roles_to_train",
        "train_on_eos",
        "role_boundaries",
    ]),
    Flag::no_effect(&[
        "image_resize_algorithm",
        "eval_sequence_len",
        "total_num_tokens",
        "total_supervised_tokens",
    ]),
    Flag::no_effect(&[
        "is_preprocess",
        "preprocess_iterable",
        "output_dir",
        "hub_model_id",
        "hub_strategy",
        "hub_revision",
    ]),
    Flag::no_effect(&[
        "save_safetensors",
        "resume_from_checkpoint",
        "auto_resume_from_checkpoints",
        "save_steps",
    ]),
    Flag::no_effect(&[
        "saves_per_epoch",
        "save_strategy",
        "save_total_limit",
        "save_first_step",
        "save_only_model",
    ]),
    Flag::no_effect(&[
        "load_best_model_at_end",
        "metric_for_best_model",
        "greater_is_better",
        "early_stopping_patience",
    ]),
    Flag::no_effect(&[
        "dynamic_checkpoint.*",
        "lora_model_dir",
        "merge_lora",
        "merge_method",
        "wandb_project",
        "wandb_entity",
    ]),
    Flag::no_effect(&[
        "wandb_watch",
        "wandb_name",
        "wandb_run_id",
        "wandb_log_model",
        "wandb_mode",
        "use_wandb",
        "use_mlflow",
    ]),
    Flag::no_effect(&[
        "mlflow_tracking_uri",
        "mlflow_experiment_name",
        "mlflow_run_name",
        "hf_mlflow_log_artifacts",
    ]),
    Flag::no_effect(&[
        "use_comet",
        "comet_workspace",
        "comet_project_name",
        "use_tensorboard",
        "logging_steps",
    ]),
    Flag::no_effect(&[
        "profiler_steps",
        "profiler_steps_start",
        "include_tokens_per_second",
        "include_tkps",
        "use_trackio",
    ]),
    Flag::no_effect(&[
        "trackio_project_name",
        "trackio_space_id",
        "trackio_run_name",
        "use_otel_metrics",
        "debug",
    ]),
    Flag::no_effect(&[
        "do_bench_eval",
        "eval_table_size",
        "eval_max_new_tokens",
        "do_causal_lm_eval",
    ]),
    Flag::no_effect(&[
        "eval_causal_lm_metrics",
        "use_swanlab",
        "swanlab_project",
        "use_ray",
        "ray_num_workers",
    ]),
    Flag::no_effect(&[
        "gradio_title",
        "generate_samples",
        "learning_rate",
        "lr_scheduler",
        "lr_scheduler_kwargs.*",
    ]),
    Flag::no_effect(&[
        "lr_quadratic_warmup",
        "cosine_min_lr_ratio",
        "cosine_constant_lr_ratio",
        "lr_div_factor",
        "lr_groups",
    ]),
    Flag::no_effect(&[
        "embedding_lr",
        "embedding_lr_scale",
        "weight_decay",
        "adam_epsilon",
        "adam_epsilon2",
        "adam_beta1",
    ]),
    Flag::no_effect(&[
        "adam_beta2",
        "adam_beta3",
        "max_grad_norm",
        "num_epochs",
        "max_steps",
        "warmup_steps",
        "warmup_ratio",
    ]),
    Flag::no_effect(&[
        "eval_steps",
        "evals_per_epoch",
        "neftune_noise_alpha",
        "noisy_embedding_alpha",
        "loraplus_lr_ratio",
    ]),
    Flag::no_effect(&[
        "loraplus_lr_embedding",
        "lora_fan_in_fan_out",
        "peft_use_rslora",
        "peft_init_lora_weights",
    ]),
    Flag::no_effect(&[
        "lora_on_cpu",
        "seed",
        "ddp_timeout",
        "ddp_broadcast_buffers",
        "local_rank",
        "world_size",
    ]),
    Flag::no_effect(&[
        "loss_watchdog_threshold",
        "loss_watchdog_patience",
        "gc_steps",
        "gc_collect_steps",
        "rl_beta",
    ]),
    Flag::no_effect(&[
        "dpo_beta",
        "orpo_alpha",
        "jagged_restart_steps",
        "optim_args",
        "xformers_attention_kwargs",
    ]),
    Flag::no_effect(&[
        "heads_k_stride",
        "ring_attn_func",
        "liger_use_token_scaling",
        "router_aux_loss_coef",
    ]),
    Flag::no_effect(&["mean_resizing_embeddings"]),
];
