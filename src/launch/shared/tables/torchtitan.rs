//! Settings of torchtitan that set no input: those that are not modelled, and those that change
//! neither memory nor time.

use crate::launch::Flag;

pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled(
        &["parallelism.enable_async_tensor_parallel"],
        "Products that overlap messages take a workspace.",
    ),
    Flag::not_modelled(
        &["compile.enable_async_tensor_parallel"],
        "Products that overlap messages take a workspace.",
    ),
    Flag::not_modelled(
        &["parallelism.disable_loss_parallel"],
        "The loss is counted split over tensor-parallel GPUs.",
    ),
    Flag::not_modelled_unless(
        &["parallelism.expert_tensor_parallel_degree"],
        &["1"],
        "Split experts are not modelled here.",
    ),
    Flag::not_modelled_unless(
        &["parallelism.expert_parallel_comm_backend"],
        &["standard"],
        "Its buffers are not modelled.",
    ),
    Flag::not_modelled(
        &["parallelism.module_fqns_per_model_part"],
        "Layers in an order of their own are not modelled.",
    ),
    Flag::not_modelled(
        &["parallelism.pipeline_parallel_layers_per_stage"],
        "Chunks of stages are not modelled for torchtitan.",
    ),
    Flag::not_modelled(
        &["parallelism.pipeline_parallel_schedule_csv"],
        "An order of one's own is not modelled.",
    ),
    Flag::not_modelled(
        &["parallelism.enable_fsdp_symm_mem"],
        "Symmetric memory takes buffers of its own.",
    ),
    Flag::not_modelled_unless(
        &["activation_checkpoint.memory_budget"],
        &["0.5"],
        "A budget of memory is not modelled.",
    ),
    Flag::not_modelled(
        &["activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns"],
        "It recomputes more.",
    ),
    Flag::not_modelled(
        &["quantize.grouped_mm.*", "quantize.linear.mx.*", "mx.*"],
        "Experts in float8 and MXFP8 are not modelled.",
    ),
    Flag::not_modelled(
        &["fault_tolerance.enable", "memory_estimation.enable"],
        "It is not modelled.",
    ),
    Flag::not_modelled(
        &["validation.enable", "validation.enabled"],
        "Evaluations are not modelled for torchtitan.",
    ),
    Flag::not_modelled(
        &["experimental.custom_import", "experimental.custom_args_module"],
        "Code of one's own is not known.",
    ),
];

/// Keys that change no tensor.
pub const QUIET: &[Flag] = &[
    Flag::no_effect(&[
        "job.*",
        "profiling.*",
        "profiler.*",
        "metrics.*",
        "checkpoint.*",
        "comm.*",
        "debug.*",
        "lr_scheduler.*",
    ]),
    Flag::no_effect(&[
        "validation.*",
        "validator.*",
        "dataloader.*",
        "experimental.*",
        "fault_tolerance.*",
        "memory_estimation.*",
    ]),
    Flag::no_effect(&[
        "model.hf_assets_path",
        "model.tokenizer_path",
        "model.print_after_conversion",
        "hf_assets_path",
    ]),
    Flag::no_effect(&[
        "training.dataset",
        "training.dataset_path",
        "training.max_norm",
        "training.steps",
        "training.seed",
    ]),
    Flag::no_effect(&[
        "training.gc_freq",
        "training.gc_debug",
        "training.dataloader.*",
        "training.deterministic",
    ]),
    Flag::no_effect(&[
        "optimizer.lr",
        "optimizer.beta1",
        "optimizer.beta2",
        "optimizer.eps",
        "optimizer.weight_decay",
    ]),
    Flag::no_effect(&[
        "activation_checkpoint.early_stop",
        "activation_checkpoint.preserve_rng_state",
        "compile.backend",
    ]),
    Flag::no_effect(&[
        "activation_checkpoint.determinism_check",
        "activation_checkpoint.debug",
        "float8.*",
    ]),
    Flag::no_effect(&[
        "activation_checkpoint.visualize_memory_budget_pareto",
        "quantize.linear.float8.*",
    ]),
    Flag::no_effect(&[
        "parallelism.context_parallel_rotate_method",
        "parallelism.context_parallel_load_balancer",
    ]),
    Flag::no_effect(&["parallelism.spmd_backend"]),
];
