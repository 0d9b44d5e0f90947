//! Arguments of ms-swift's Transformers side that set no input.
//!
//! Read in ms-swift 4.6.0 (`arguments/`, `trainers/arguments.py`, `rlhf_trainers/args_mixin.py`),
//! with names of versions 2 and 3.

use crate::launch::{Flag, Takes};

/// Arguments that change memory or time, and those without an effect.
pub const FURTHER: &[Flag] = &[
    Flag::not_modelled_unless(
        &["sequence_parallel_size"],
        &["1"],
        "Ulysses and ring attention share a sequence out: fewer activations.",
    ),
    Flag::not_modelled_unless(
        &["deepspeed_autotp_size"],
        &["1", "null"],
        "DeepSpeed's tensor parallel is not modelled.",
    ),
    Flag::not_modelled(
        &["zero_hpz_partition_size"],
        "ZeRO++ keeps a second share of the weights on each machine.",
    ),
    Flag::not_modelled_unless(
        &["freeze_llm"],
        &["false"],
        "The text's part is counted as learning.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["freeze_aligner"],
        &["true"],
        "The projector is counted as one that learns.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["vit_gradient_checkpointing"],
        &["true"],
        "The tower is recomputed as the text's part is.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &[
            "freeze_parameters",
            "freeze_parameters_regex",
            "trainable_parameters",
            "trainable_parameters_regex",
        ],
        &["[]", "null"],
        "Parameters by their names: all are counted as learning.",
    )
    .taking(Takes::Many),
    Flag::not_modelled_unless(
        &["freeze_parameters_ratio"],
        &["0", "0.0"],
        "All parameters are counted as learning.",
    ),
    Flag::not_modelled_unless(
        &["use_galore", "use_flash_ckpt"],
        &["false"],
        "It is not modelled: AdamW's states are counted.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["lisa_activated_layers"],
        &["0"],
        "All blocks are counted as learning.",
    ),
    Flag::not_modelled(
        &["target_regex", "target_parameters"],
        "Adapters by a pattern are not read.",
    )
    .taking(Takes::Many),
    Flag::not_modelled_unless(
        &["lora_bias"],
        &["none"],
        "Biases that learn have gradients and states of their own.",
    ),
    Flag::not_modelled_unless(
        &["init_weights"],
        &["true", "gaussian", "pissa", "olora", "lora-ga"],
        "Another start of adapters.",
    ),
    Flag::not_modelled_unless(
        &["bnb_4bit_quant_type"],
        &["nf4", "fp4"],
        "Weights of 4 bits are counted as NF4.",
    ),
    Flag::not_modelled_unless(&["new_special_tokens"], &["[]"], "New tokens are not counted.")
        .taking(Takes::Many),
    Flag::not_modelled_unless(
        &["task_type"],
        &["causal_lm"],
        "The head is counted as that of the next token.",
    ),
    Flag::not_modelled(
        &["max_pixels", "max_pixels_per_image"],
        "Pixels of an image: say them among the inputs of images.",
    ),
    Flag::not_modelled_unless(
        &["use_logits_to_keep"],
        &["false", "null"],
        "Logits of tokens without labels are counted.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["router_aux_loss_coef"],
        &["0", "0.0", "0."],
        "The auxiliary loss keeps the routers' scores.",
    ),
    Flag::not_modelled_unless(
        &["enable_dft_loss", "enable_channel_loss"],
        &["false"],
        "Another loss.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled(
        &["teacher_model", "reward_model"],
        "It is counted as large as the model itself, or not at all.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(&["ref_model"], "It is counted as large as the model itself."),
    Flag::not_modelled_unless(
        &["offload_teacher_model", "offload_model", "offload_optimizer"],
        &["false"],
        "What waits in host memory.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled(
        &["move_model_batches"],
        "Weights that are handed to the engine piece by piece.",
    ),
    Flag::not_modelled(
        &["vllm_gpu_memory_utilization"],
        "The engine takes this share of the GPU; its weights and cache are counted here.",
    ),
    Flag::not_modelled_unless(
        &["vllm_tensor_parallel_size", "vllm_pipeline_parallel_size", "vllm_data_parallel_size"],
        &["1"],
        "One engine over several GPUs is counted as one on each.",
    ),
    Flag::not_modelled_unless(&["vllm_enable_lora"], &["false"], "Adapters in the engine.")
        .taking(Takes::Optional),
    Flag::not_modelled(
        &["vllm_quantization", "vllm_speculative_config"],
        "The engine's weights in fewer bits, or a draft model.",
    ),
    Flag::not_modelled(&["device_map", "max_memory"], "Blocks laid out over GPUs by hand."),
    Flag::not_modelled_unless(
        &["experts_impl"],
        &["null", "eager", "grouped_mm"],
        "Another way to carry experts out.",
    ),
    Flag::not_modelled_unless(
        &["loss_type"],
        &["sigmoid", "grpo", "bnpo", "dr_grpo", "dapo", "hinge", "ipo", "cce"],
        "Another loss.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(&["galore_quantization", "tuner_backend_unsloth"], "It is not modelled."),
    Flag::not_modelled_unless(&["tuner_backend"], &["peft"], "Unsloth's kernels are not modelled."),
    // Settings of tuners that are not modelled; `tuner_type` reports them.
    Flag::no_effect(&[
        "fourier_n_frequency",
        "fourier_scaling",
        "boft_block_size",
        "boft_block_num",
        "boft_n_butterfly_factor",
    ]),
    Flag::no_effect(&[
        "boft_dropout",
        "vera_rank",
        "vera_projection_prng_key",
        "vera_dropout",
        "vera_d_initial",
        "adapter_act",
    ]),
    Flag::no_effect(&[
        "adapter_length",
        "adalora_target_r",
        "adalora_init_r",
        "adalora_tinit",
        "adalora_tfinal",
        "adalora_deltaT",
    ]),
    Flag::no_effect(&[
        "adalora_beta1",
        "adalora_beta2",
        "adalora_orth_reg_weight",
        "llamapro_num_new_blocks",
        "llamapro_num_groups",
    ]),
    Flag::no_effect(&[
        "reft_layer_key",
        "reft_layers",
        "reft_rank",
        "reft_intervention_type",
        "reft_args",
        "lorap_lr_ratio",
    ]),
    Flag::no_effect(&[
        "lora_ga_batch_size",
        "lora_ga_iters",
        "lora_ga_max_length",
        "lora_ga_direction",
        "lora_ga_scale",
    ]),
    Flag::no_effect(&[
        "lora_ga_stable_gamma",
        "use_rslora",
        "lora_lr_ratio",
        "galore_target_modules",
        "galore_rank",
    ]),
    Flag::no_effect(&[
        "galore_update_proj_gap",
        "galore_scale",
        "galore_proj_type",
        "galore_optim_per_parameter",
    ]),
    Flag::no_effect(&[
        "galore_with_embedding",
        "galore_proj_quant",
        "galore_proj_bits",
        "galore_proj_group_size",
    ]),
    Flag::no_effect(&[
        "galore_cos_threshold",
        "galore_gamma_proj",
        "galore_queue_size",
        "lisa_step_interval",
        "hqq_axis",
    ]),
    Flag::no_effect(&[
        "bnb_4bit_compute_dtype",
        "bnb_4bit_quant_storage",
        "use_swift_lora",
        "aligner_lr",
        "vit_lr",
    ]),
    // Data and the form of texts. `padding_free` and the way of packing leave lengths unchanged.
    Flag::no_effect(&[
        "dataset",
        "val_dataset",
        "cached_dataset",
        "cached_val_dataset",
        "custom_dataset_info",
    ])
    .taking(Takes::Many),
    Flag::no_effect(&[
        "split_dataset_ratio",
        "dataset_num_proc",
        "load_from_cache_file",
        "dataset_shuffle",
        "val_dataset_shuffle",
    ]),
    Flag::no_effect(&[
        "streaming",
        "interleave_prob",
        "stopping_strategy",
        "shuffle_buffer_size",
        "download_mode",
        "columns",
        "strict",
    ]),
    Flag::no_effect(&[
        "disable_auto_column_mapping",
        "decision_drop_instructions",
        "decision_subsample_options",
        "lazy_tokenize",
    ]),
    Flag::no_effect(&[
        "decision_state_as_text",
        "decision_shuffle_fields",
        "packing_num_proc",
        "packing_strategy",
        "packing_cache",
    ]),
    Flag::no_effect(&["model_name", "model_author"]).taking(Takes::Many),
    Flag::no_effect(&[
        "template",
        "template_type",
        "system",
        "truncation_strategy",
        "agent_template",
        "norm_bbox",
        "use_chat_template",
    ]),
    Flag::no_effect(&[
        "padding_side",
        "padding_free",
        "loss_scale",
        "is_binary_loss_scale",
        "template_backend",
        "response_prefix",
    ]),
    Flag::no_effect(&[
        "enable_thinking",
        "preserve_thinking",
        "add_non_thinking_prefix",
        "disable_ignore_empty_think",
    ]),
    Flag::no_effect(&[
        "train_dataset_sample",
        "preprocess_num_proc",
        "self_cognition_sample",
        "custom_train_dataset_path",
        "check_dataset_strategy",
    ]),
    // Finding the model.
    Flag::no_effect(&[
        "model_type",
        "model_revision",
        "num_labels",
        "problem_type",
        "rope_scaling",
        "max_model_len",
        "local_repo_path",
    ]),
    Flag::no_effect(&[
        "init_strategy",
        "adapters",
        "external_plugins",
        "custom_register_path",
        "model_kwargs",
        "enable_npu_model_patch",
    ])
    .taking(Takes::Many),
    Flag::no_effect(&[
        "load_args",
        "load_data_args",
        "use_hf",
        "hub_token",
        "ignore_args_error",
        "resume_only_model",
        "check_model",
    ]),
    // Logs, checkpoints, seeds, order.
    Flag::no_effect(&[
        "add_version",
        "create_checkpoint_symlink",
        "safe_serialization",
        "max_shard_size",
        "acc_strategy",
        "max_epochs",
    ]),
    Flag::no_effect(&[
        "train_dataloader_shuffle",
        "eval_metric",
        "callbacks",
        "early_stop_interval",
        "mrl_dims",
        "eval_use_evalscope",
    ])
    .taking(Takes::Many),
    Flag::no_effect(&[
        "eval_dataset",
        "eval_dataset_args",
        "eval_limit",
        "eval_generation_config",
        "extra_eval_args",
        "eval_datasets",
    ])
    .taking(Takes::Many),
    Flag::no_effect(&[
        "swanlab_token",
        "swanlab_project",
        "swanlab_workspace",
        "swanlab_exp_name",
        "swanlab_notification_method",
    ]),
    Flag::no_effect(&[
        "swanlab_webhook_url",
        "swanlab_secret",
        "swanlab_sender_email",
        "swanlab_receiver_email",
        "swanlab_smtp_server",
    ]),
    Flag::no_effect(&[
        "swanlab_smtp_port",
        "swanlab_email_language",
        "swanlab_mode",
        "use_ray",
        "ray_exp_name",
        "device_groups",
    ]),
    // Sampling of answers, and weights of the loss.
    Flag::no_effect(&[
        "max_new_tokens",
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "repetition_penalty",
        "num_beams",
        "stream",
    ]),
    Flag::no_effect(&[
        "stop_words",
        "logprobs",
        "top_logprobs",
        "structured_outputs_regex",
        "num_generations",
        "num_generations_eval",
    ])
    .taking(Takes::Many),
    Flag::no_effect(&["reward_funcs", "reward_weights", "reward_model_plugin"]).taking(Takes::Many),
    Flag::no_effect(&[
        "reward_adapters",
        "reward_model_type",
        "reward_model_revision",
        "reward_template",
        "teacher_adapters",
    ]),
    Flag::no_effect(&[
        "teacher_model_type",
        "teacher_model_revision",
        "teacher_deepspeed",
        "teacher_model_server",
        "teacher_tag_key",
    ]),
    Flag::no_effect(&[
        "num_ppo_epochs",
        "whiten_rewards",
        "kl_coef",
        "cliprange",
        "vf_coef",
        "cliprange_value",
        "gamma",
        "lam",
    ]),
    Flag::no_effect(&[
        "num_mini_batches",
        "local_rollout_forward_batch_size",
        "num_sample_generations",
        "missing_eos_penalty",
    ]),
    Flag::no_effect(&[
        "log_completions",
        "num_iterations",
        "ref_adapters",
        "ref_model_type",
        "ref_model_revision",
        "label_smoothing",
    ]),
    Flag::not_modelled_unless(&["reference_free"], &["false"], "The copy of the model is counted.")
        .taking(Takes::Optional),
    Flag::no_effect(&["ref_adapter_name"]),
    Flag::no_effect(&[
        "rpo_alpha",
        "ld_alpha",
        "discopop_tau",
        "loss_weights",
        "cpo_alpha",
        "simpo_gamma",
        "desirable_weight",
    ]),
    Flag::no_effect(&[
        "undesirable_weight",
        "center_rewards_coefficient",
        "sft_alpha",
        "lmbda",
        "seq_kd",
        "gkd_logits_topk",
    ]),
    Flag::no_effect(&[
        "epsilon",
        "epsilon_high",
        "delta",
        "cosine_*",
        "repetition_n_grams",
        "repetition_max_penalty",
        "chord_*",
    ]),
    Flag::no_effect(&[
        "sync_ref_model",
        "ref_model_sync_steps",
        "ref_model_mixup_alpha",
        "multi_turn_scheduler",
        "multi_turn_func",
    ]),
    Flag::no_effect(&[
        "max_turns",
        "completion_length_limit_scope",
        "use_gym_env",
        "gym_env",
        "dynamic_sample",
        "max_resample_times",
    ]),
    Flag::no_effect(&[
        "overlong_filter",
        "soft_max_length",
        "soft_cache_length",
        "scale_rewards",
        "log_entropy",
        "top_entropy_quantile",
    ]),
    Flag::no_effect(&[
        "importance_sampling_level",
        "tau_pos",
        "tau_neg",
        "advantage_estimator",
        "kl_in_reward",
        "teacher_kl_coef",
    ]),
    Flag::no_effect(&[
        "advantage_reweight",
        "rlsd_*",
        "sdar_*",
        "real_tau",
        "fipo_*",
        "rollout_importance_sampling_*",
    ]),
    Flag::no_effect(&[
        "log_rollout_offpolicy_metrics",
        "off_policy_sequence_mask_delta",
        "generation_batch_size",
        "steps_per_generation",
    ]),
    Flag::no_effect(&[
        "async_generate",
        "ds3_gather_for_generation",
        "enable_flattened_weight_sync",
        "wandb_log_unique_prompts",
    ]),
    // Settings of the inference engine other than its share of the memory.
    Flag::no_effect(&[
        "vllm_enable_expert_parallel",
        "vllm_max_num_seqs",
        "vllm_max_model_len",
        "vllm_disable_custom_all_reduce",
    ]),
    Flag::no_effect(&[
        "vllm_enforce_eager",
        "vllm_limit_mm_per_prompt",
        "vllm_max_lora_rank",
        "vllm_enable_prefix_caching",
    ]),
    Flag::no_effect(&[
        "vllm_use_async_engine",
        "vllm_reasoning_parser",
        "vllm_disable_cascade_attn",
        "vllm_mm_processor_cache_gb",
    ]),
    Flag::no_effect(&[
        "vllm_engine_kwargs",
        "vllm_server_*",
        "num_infer_workers",
        "gc_collect_after_offload",
    ]),
];
