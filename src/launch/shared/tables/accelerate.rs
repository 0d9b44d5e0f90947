//! Settings of accelerate that set no input: layouts and formats that are not modelled, and the
//! placement of processes and their network.

use crate::launch::{Flag, Takes};

/// Settings that are not modelled, and those that change neither memory nor time.
pub const QUIET: &[Flag] = &[
    Flag::not_modelled(
        &["megatron_lm_config.*", "megatron_lm_*", "use_megatron_lm"],
        "Megatron-LM through accelerate is not modelled: paste its own command.",
    ),
    Flag::not_modelled(
        &["parallelism_config.*", "parallelism_config_*", "use_parallelism_config"],
        "Tensor, context and sequence parallel of accelerate.",
    ),
    Flag::not_modelled(
        &["fp8_config.*", "fp8_backend", "fp8_format"],
        "Products in 8 bits through accelerate are not modelled.",
    ),
    Flag::not_modelled(
        &["fp8_recipe", "fp8_opt_level", "fp8_enable_fsdp_float8_all_gather"],
        "Products in 8 bits are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["dynamo_backend", "dynamo_config.dynamo_backend"],
        &["no"],
        "Compiled blocks save less than counted.",
    ),
    Flag::not_modelled_unless(
        &["use_cpu", "cpu", "tpu"],
        &["false"],
        "Nothing then runs on a GPU.",
    )
    .taking(Takes::Nothing),
    Flag::no_effect(&[
        "dynamo_config.*",
        "dynamo_mode",
        "dynamo_use_fullgraph",
        "dynamo_use_dynamic",
        "downcast_bf16",
        "debug",
    ]),
    Flag::no_effect(&[
        "fp8_config",
        "fp8_*",
        "deepspeed_config",
        "fsdp_config",
        "parallelism_config",
        "megatron_lm_config",
    ]),
    Flag::no_effect(&[
        "mpirun_config",
        "dynamo_config",
        "dynamo_use_regional_compilation",
        "tee",
        "mpirun_hostfile",
        "vm",
    ]),
    Flag::no_effect(&[
        "tpu_cluster",
        "no_tpu_cluster",
        "aws_access_key_id",
        "aws_secret_access_key",
        "help",
        "h",
    ]),
    // Placement of processes and their network.
    Flag::no_effect(&[
        "compute_environment",
        "machine_rank",
        "main_process_ip",
        "main_process_port",
        "main_training_function",
    ]),
    Flag::no_effect(&[
        "rdzv_backend",
        "rdzv_conf",
        "same_network",
        "gpu_ids",
        "enable_cpu_affinity",
        "num_cpu_threads_per_process",
    ]),
    Flag::no_effect(&[
        "tpu_env",
        "tpu_use_cluster",
        "tpu_use_sudo",
        "tpu_name",
        "tpu_zone",
        "tpu_vm",
        "command_file",
        "commands",
    ]),
    Flag::no_effect(&[
        "max_restarts",
        "monitor_interval",
        "log_dir",
        "role",
        "quiet",
        "mpirun_config.*",
        "env",
        "module",
        "m",
    ]),
    Flag::no_effect(&[
        "same_network",
        "no_python",
        "use_parallelism",
        "ipex_config.*",
        "sagemaker",
        "fp16",
        "config_file",
    ]),
];
