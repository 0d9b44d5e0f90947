//! Keys of torchtune that set no input: those that are not modelled, and those that change neither
//! memory nor time.

use crate::launch::Flag;

pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled_unless(
        &["num_output_chunks", "loss.num_output_chunks"],
        &["8"],
        "Logits are counted in eight parts.",
    ),
    Flag::not_modelled(
        &["ac_mode", "ac_option"],
        "Of activation checkpointing all or nothing is modelled.",
    ),
    Flag::not_modelled(
        &["custom_sharded_layers"],
        "Layers that are gathered by themselves are not modelled.",
    ),
    Flag::not_modelled(
        &["tensor_parallel_plan.*", "context_parallel_dim", "data_parallel_replicate_dim"],
        "This layout is not modelled for torchtune.",
    ),
    Flag::not_modelled(
        &["enable_fp8_training", "fp8_recipe_name"],
        "Products in float8 are not modelled for torchtune.",
    ),
    Flag::not_modelled(
        &["quantizer.*", "fake_quant_after_n_steps"],
        "Training for later quantisation takes more temporaries.",
    ),
    Flag::not_modelled(
        &[
            "teacher_model.*",
            "kd_loss.*",
            "kd_ratio",
            "policy_model.*",
            "reward_and_value_model.*",
            "ppo_batch_size",
            "forward_batch_size",
        ],
        "Models beside the one that learns are not read from here.",
    ),
    Flag::not_modelled(&["optimizer_in_backward"], "The recipes' name for it is optimizer_in_bwd."),
    Flag::not_modelled(
        &["fsdp_sharding_strategy", "memory_efficient_fsdp_wrap", "fsdp.*"],
        "Recipes of torchtune 0.6 do not read it.",
    ),
    Flag::not_modelled(&["model.*"], "This argument of the model is not read here."),
];

/// Keys that change no tensor, and torchrun's flags, which come before the recipe.
pub const QUIET: &[Flag] = &[
    Flag::no_effect(&[
        "tokenizer.*",
        "checkpointer.*",
        "dataset.*",
        "dataset",
        "datasets",
        "dataset_val.*",
        "dataloader.*",
    ]),
    Flag::no_effect(&[
        "collate_fn",
        "metric_logger.*",
        "profiler.*",
        "lr_scheduler.*",
        "optimizer.*",
        "loss.*",
        "output_dir",
    ]),
    Flag::no_effect(&[
        "resume_from_checkpoint",
        "save_adapter_weights_only",
        "enable_async_checkpointing",
        "seed",
        "shuffle",
    ]),
    Flag::no_effect(&[
        "epochs",
        "max_steps_per_epoch",
        "clip_grad_norm",
        "device",
        "log_every_n_steps",
    ]),
    Flag::no_effect(&[
        "log_peak_memory_stats",
        "log_level",
        "low_cpu_ram",
        "cudnn_deterministic_mode",
    ]),
    Flag::no_effect(&[
        "run_val_every_n_steps",
        "batch_size_val",
        "base_model",
        "model_dir",
        "teacher_checkpointer.*",
    ]),
    Flag::no_effect(&[
        "nproc_per_node",
        "nnodes",
        "rdzv_endpoint",
        "rdzv_backend",
        "rdzv_id",
        "node_rank",
        "master_port",
    ]),
    Flag::no_effect(&["standalone"]),
];
