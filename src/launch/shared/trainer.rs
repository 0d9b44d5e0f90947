//! The arguments of Hugging Face's Trainer, which TRL, ms-swift, LLaMA-Factory and others pass on.
//!
//! Read in transformers 5.24.0 (`training_args.py`, `training_args_seq2seq.py`), with names that
//! earlier versions had.

use super::super::{Effect, Flag, Given, Reading, Takes};
use crate::scenario::{FieldId, Value};

/// Optimizers by their names in `optim`: the input's word, the implementation of the step, whether
/// states are paged, and a sentence where the two differ a little. Where several names mean one of
/// the input's words, the first is written.
const OPTIMIZERS: &[(&str, &str, &str, bool, &str)] = &[
    ("adamw_torch_fused", "adamw", "fused", false, ""),
    ("adamw_torch", "adamw", "foreach", false, ""),
    ("adamw_apex_fused", "adamw", "fused", false, ""),
    ("adamw_hf", "adamw", "for-loop", false, ""),
    ("adamw_8bit", "adamw8t", "fused", false, ""),
    ("adamw_bnb_8bit", "adamw8t", "fused", false, ""),
    ("paged_adamw_8bit", "adamw8t", "fused", true, ""),
    (
        "paged_adamw_32bit",
        "adamw",
        "fused",
        true,
        "bitsandbytes' kernel has no temporaries, as the fused one.",
    ),
    (
        "paged_adamw",
        "adamw",
        "fused",
        true,
        "bitsandbytes' kernel has no temporaries, as the fused one.",
    ),
    ("adamw_torch_8bit", "adamw8ao", "fused", false, ""),
    ("adamw_torch_4bit", "adamw4ao", "fused", false, ""),
    ("lion_32bit", "lion", "fused", false, ""),
    ("lion_8bit", "lion8t", "fused", false, ""),
    ("paged_lion_32bit", "lion", "fused", true, ""),
    ("paged_lion_8bit", "lion8t", "fused", true, ""),
    ("adafactor", "adafactort", "for-loop", false, ""),
    ("sgd", "sgd", "foreach", false, ""),
];

/// Attention kernels in transformers' words (`attn_implementation`), with the input's. PyTorch's
/// own attention runs its flash kernel in 16 bits.
pub const ATTENTION: &[(&str, &str)] = &[
    ("flash_attention_2", "flash"),
    ("flash_attention_3", "flash"),
    ("flash_attention_4", "flash"),
    ("flash_attn", "flash"),
    ("kernels-community/flash-attn2", "flash"),
    ("kernels-community/flash-attn3", "flash"),
    ("kernels-community/vllm-flash-attn3", "flash"),
    ("sdpa", "flash"),
    ("eager", "standard"),
];

/// The table.
pub const TRAINER: &[Flag] = &[
    Flag::sets(
        &["per_device_train_batch_size", "per_gpu_train_batch_size"],
        FieldId::MicroBatchSize,
    ),
    Flag::together(&["gradient_accumulation_steps"]),
    Flag::by(&["optim"], |reading, given| {
        optim(reading, given);
        Ok(())
    }),
    Flag::together(&["bf16"]).taking(Takes::Optional),
    Flag::together(&["fp16"]).taking(Takes::Optional),
    Flag::by(&["gradient_checkpointing", "activation_checkpointing"], checkpointing)
        .taking(Takes::Optional),
    Flag::by(&["use_liger_kernel", "use_liger"], liger).taking(Takes::Optional),
    Flag::together(&["deepspeed"]),
    Flag::together(&["fsdp"]).taking(Takes::Many),
    Flag::together(&["fsdp_config"]),
    Flag::together(&["fsdp_transformer_layer_cls_to_wrap", "fsdp_min_num_params"]),
    Flag::together(&["eval_strategy", "evaluation_strategy"]),
    Flag::together(&["per_device_eval_batch_size", "per_gpu_eval_batch_size"]),
    Flag::together(&["do_eval", "eval_on_start"]).taking(Takes::Optional),
    Flag::sets(&["ddp_bucket_cap_mb"], FieldId::BucketCap),
    Flag::switch(&["ddp_find_unused_parameters"], FieldId::FindUnusedParameters),
    Flag::switch(&["tf32"], FieldId::AllowTf32),
    Flag::not_modelled_unless(
        &["torch_compile"],
        &["false"],
        "Compiled blocks save less than they are counted with: the answer is an upper bound.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["label_smoothing_factor"],
        &["0", "0.0"],
        "The loss with smoothed labels takes further logits.",
    ),
    // Noise on embedded tokens: two tensors of their size, gone before the first block runs; neither
    // peak moved in two pairs of rows on the pretended GPU.
    quiet(&["neftune_noise_alpha"]),
    Flag::not_modelled_unless(
        &["auto_find_batch_size"],
        &["false"],
        "The micro-batch may become smaller.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["torch_empty_cache_steps"],
        &["null", "none"],
        "The allocator gives blocks back between steps.",
    ),
    Flag::not_modelled_unless(
        &["use_cpu", "no_cuda", "use_mps_device"],
        &["false"],
        "Nothing then runs on a GPU.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["predict_with_generate"],
        &["false"],
        "Answers that evaluations generate take a cache.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["use_cache"],
        &["false"],
        "Keys and values of a training step are kept as well.",
    ),
    Flag::not_modelled(&["optim_target_modules"], "Projected gradients are not modelled.")
        .taking(Takes::Many),
    Flag::not_modelled_unless(
        &["bf16_full_eval", "fp16_full_eval"],
        &["false"],
        "Evaluations change the format of the weights.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled(
        &["parallelism_config", "parallelism_config.*"],
        "Tensor, context and sequence parallel of accelerate.",
    ),
    Flag::not_modelled_unless(
        &["eval_accumulation_steps"],
        &["null"],
        "Evaluations move logits to the host in between.",
    ),
    Flag::not_modelled_unless(
        &["include_for_metrics"],
        &["[]"],
        "Evaluations keep more for metrics.",
    )
    .taking(Takes::Many),
    Flag::not_modelled_unless(
        &["liger_kernel_config", "liger_kernel_config.*"],
        &["null"],
        "Some of Liger's kernels without the others are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["jit_mode_eval", "use_ipex", "torchdynamo"],
        &["false", "null"],
        "Another way to carry models out.",
    ),
    // Numbers of steps, and learning rates.
    quiet(&[
        "num_train_epochs",
        "max_steps",
        "learning_rate",
        "lr_scheduler_type",
        "lr_scheduler_kwargs",
        "lr_scheduler_kwargs.*",
    ]),
    quiet(&[
        "warmup_steps",
        "warmup_ratio",
        "weight_decay",
        "adam_beta1",
        "adam_beta2",
        "adam_epsilon",
        "max_grad_norm",
    ]),
    quiet(&[
        "optim_args",
        "average_tokens_across_devices",
        "fp16_opt_level",
        "half_precision_backend",
        "fp16_backend",
    ]),
    // Reentrant or other recomputation; both recompute whole blocks.
    quiet(&["gradient_checkpointing_kwargs", "gradient_checkpointing_kwargs.*"]),
    quiet(&["activation_checkpointing_kwargs", "activation_checkpointing_kwargs.*"]),
    // Settings of the compiler other than `torch_compile`.
    quiet(&["torch_compile_backend", "torch_compile_mode"]),
    // Logging and reporting.
    quiet(&[
        "logging_strategy",
        "logging_steps",
        "logging_first_step",
        "log_on_each_node",
        "logging_nan_inf_filter",
        "logging_dir",
    ]),
    quiet(&[
        "include_num_input_tokens_seen",
        "include_tokens_per_second",
        "log_level",
        "log_level_replica",
        "disable_tqdm",
    ]),
    Flag::no_effect(&["report_to"]).taking(Takes::Many),
    quiet(&[
        "run_name",
        "project",
        "trackio_space_id",
        "trackio_bucket_id",
        "trackio_static_space_id",
        "debug",
        "skip_memory_metrics",
    ]),
    // Times and data of evaluations.
    quiet(&[
        "eval_steps",
        "eval_delay",
        "prediction_loss_only",
        "eval_do_concat_batches",
        "eval_use_gather_object",
        "do_predict",
    ]),
    quiet(&[
        "batch_eval_metrics",
        "metric_for_best_model",
        "greater_is_better",
        "load_best_model_at_end",
        "do_train",
    ]),
    Flag::no_effect(&["label_names"]).taking(Takes::Many),
    quiet(&[
        "sortish_sampler",
        "generation_max_length",
        "generation_num_beams",
        "generation_config",
        "include_inputs_for_metrics",
    ]),
    // Saving: a checkpoint is written after the step, so it does not add to the step's peak.
    quiet(&[
        "output_dir",
        "overwrite_output_dir",
        "save_strategy",
        "save_steps",
        "save_total_limit",
        "save_only_model",
    ]),
    quiet(&[
        "save_on_each_node",
        "save_safetensors",
        "enable_jit_checkpoint",
        "resume_from_checkpoint",
        "ignore_data_skip",
    ]),
    quiet(&[
        "restore_callback_states_from_checkpoint",
        "push_to_hub",
        "hub_token",
        "hub_private_repo",
        "hub_model_id",
    ]),
    quiet(&[
        "hub_strategy",
        "hub_always_push",
        "hub_revision",
        "push_to_hub_token",
        "push_to_hub_model_id",
        "push_to_hub_organization",
    ]),
    // Seeds and the order of samples.
    quiet(&[
        "seed",
        "data_seed",
        "full_determinism",
        "group_by_length",
        "train_sampling_strategy",
        "length_column_name",
    ]),
    // Loading of data happens on the host.
    quiet(&[
        "dataloader_drop_last",
        "dataloader_num_workers",
        "dataloader_pin_memory",
        "dataloader_persistent_workers",
    ]),
    quiet(&[
        "dataloader_prefetch_factor",
        "dataloader_multiprocessing_context",
        "dataloader_in_order",
        "remove_unused_columns",
    ]),
    // Communication among processes.
    quiet(&[
        "ddp_broadcast_buffers",
        "ddp_static_graph",
        "ddp_backend",
        "ddp_timeout",
        "local_rank",
        "accelerator_config",
    ]),
    quiet(&[
        "accelerator_config.*",
        "dispatch_batches",
        "split_batches",
        "ray_scope",
        "tpu_num_cores",
        "past_index",
    ]),
];

/// Flags that change neither memory nor time.
const fn quiet(names: &'static [&'static str]) -> Flag {
    Flag { names, takes: Takes::Optional, effect: Effect::NoEffect }
}

/// Sets the Trainer's own defaults.
pub fn begin(reading: &mut Reading<'_>) {
    reading.scenario.set(FieldId::Mode, Value::Choice("tune"));
    reading.default("optim", FieldId::Optimizer, Value::Choice("adamw"));
    reading.default("optim", FieldId::OptimizerImplementation, Value::Choice("fused"));
    reading.default("per_device_train_batch_size", FieldId::MicroBatchSize, Value::Integer(8));
    reading.default("gradient_checkpointing", FieldId::Recompute, Value::Choice("none"));
    reading.default("use_liger_kernel", FieldId::Stack, Value::Choice("eager"));
    reading.scenario.set(FieldId::Sharding, Value::Choice("none"));
    reading.scenario.set(FieldId::Gpus, Value::Integer(1));
    reading.scenario.set(FieldId::GlobalBatchSize, Value::Integer(8));
    reading.scenario.set(FieldId::Method, Value::Choice("full"));
}

fn optim(reading: &mut Reading<'_>, given: &Given) {
    let name = given.text();
    let name = name.rsplit("OptimizerNames.").next().unwrap_or(&name).to_ascii_lowercase();
    let Some((_, optimizer, step, paged, why)) = OPTIMIZERS.iter().find(|(own, ..)| *own == name)
    else {
        reading.not_modelled(given, "This optimizer is not modelled: AdamW's states are counted.");
        return;
    };
    reading.derive(given, FieldId::Optimizer, Value::Choice(optimizer), why);
    reading.derive(given, FieldId::OptimizerImplementation, Value::Choice(step), "");
    reading.scenario.set(FieldId::PagedOptimizer, Value::Flag(*paged));
}

/// The Trainer's name for an optimizer with that implementation of its step; `None` where it has
/// none.
pub fn optim_of(optimizer: &str, step: &str, is_paged: bool) -> Option<&'static str> {
    let is = |(_, own, steps, paged, _): &&(&str, &str, &str, bool, &str)| {
        *own == optimizer && *steps == step && *paged == is_paged
    };
    OPTIMIZERS.iter().find(is).map(|(name, ..)| *name)
}

fn checkpointing(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.value.is_null() {
        return Ok(());
    }
    let on = given.is_on().ok_or_else(|| format!("takes true or false, not “{}”", given.text()))?;
    reading.read(given, FieldId::Recompute, Value::Choice(if on { "full" } else { "none" }));
    Ok(())
}

/// Reads a switch that enables Liger's kernels.
///
/// # Errors
/// The rest of a sentence where it is neither yes nor no.
pub fn liger(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let on = given.is_on().ok_or_else(|| format!("takes true or false, not “{}”", given.text()))?;
    reading.read(given, FieldId::Stack, Value::Choice(if on { "liger" } else { "eager" }));
    Ok(())
}

/// The number format of `dtype` or `torch_dtype`, without the prefix `torch.`.
pub fn dtype(given: &Given) -> String {
    given.text().trim().trim_start_matches("torch.").to_owned()
}
