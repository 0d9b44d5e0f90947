//! Settings of Megatron Bridge that set no input.

use crate::launch::Flag;

/// Settings that change no tensor of a step, and some that do and are not modelled.
pub const OTHERS: &[Flag] = &[
    Flag::no_effect(&[
        "checkpoint.*",
        "logger.*",
        "scheduler.*",
        "validation.*",
        "rng.*",
        "dist.*",
        "profiling.*",
        "tokenizer.*",
    ]),
    Flag::no_effect(&[
        "dataset",
        "dataset.*",
        "step_func",
        "mode",
        "tokenizer_path",
        "name",
        "dir",
        "data_paths",
        "data_path",
    ]),
    Flag::no_effect(&[
        "pretrained_checkpoint",
        "finetune_lr",
        "train_iters",
        "lr_warmup_iters",
        "ft.*",
        "nvrx_straggler.*",
    ]),
    Flag::no_effect(&[
        "train.train_iters",
        "train.eval_iters",
        "train.eval_interval",
        "train.manual_gc",
        "train.manual_gc_interval",
    ]),
    Flag::no_effect(&[
        "train.manual_gc_eval",
        "train.exit_signal_handler",
        "train.skip_train",
        "optimizer.lr",
        "optimizer.min_lr",
    ]),
    Flag::no_effect(&[
        "model.calculate_per_token_loss",
        "model.init_method_std",
        "model.rotary_base",
        "ddp.check_for_nan_in_grad",
    ]),
    Flag::no_effect(&[
        "ddp.average_in_collective",
        "ddp.overlap_param_gather",
        "peft.dropout_position",
        "step_func_kwargs",
    ]),
    // Mixed precision overwrites it (`update_config_with_precision_overrides`).
    Flag::no_effect(&["ddp.grad_reduce_in_fp32", "model.pipeline_dtype", "model.params_dtype"]),
    Flag::not_modelled_unless(
        &["model.transformer_impl"],
        &["transformer_engine"],
        "Modules of this kind are not modelled here.",
    ),
    Flag::not_modelled(
        &["model.hidden_size", "model.ffn_hidden_size", "model.num_attention_heads"],
        "Sizes are the recipe's model's.",
    ),
    Flag::not_modelled(
        &["model.num_query_groups", "model.vocab_size", "model.kv_channels"],
        "Sizes are the recipe's model's.",
    ),
    Flag::not_modelled(
        &["model.activation_func", "model.gated_linear_unit"],
        "Layers are the recipe's model's.",
    ),
    Flag::not_modelled(
        &["model.num_moe_experts", "model.moe_router_topk"],
        "Experts are the recipe's model's.",
    ),
    Flag::not_modelled(
        &[
            "model.freeze_language_model",
            "model.freeze_vision_model",
            "model.freeze_vision_projection",
        ],
        "Parts that do not learn are not modelled here.",
    ),
];
