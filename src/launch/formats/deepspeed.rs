//! DeepSpeed: the file of a run in JSON, `zero_optimization` and the rest.

use super::{FormatRole, FormatSpec};
use crate::launch::report::Way;
use crate::launch::shared::{whole, word, zero};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "deepspeed",
    label: "DeepSpeed",
    version: "DeepSpeed 0.19.8",
    source: "https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/zero/config.py",
    place: 21,
    role: FormatRole::Part,
    open,
    flags: &[FLAGS],
    begin: zero::begin,
    end,
    write: Some(write),
    further: &[FieldId::Precision, FieldId::ReduceBucket],
};

const FLAGS: &[Flag] = &[
    Flag::words(
        &["zero_optimization.stage"],
        FieldId::Sharding,
        &[("0", "0"), ("1", "1"), ("2", "2"), ("3", "3")],
    ),
    Flag::by(&["zero_optimization.reduce_bucket_size"], |reading, given| {
        elements(reading, given, FieldId::ReduceBucket, |hidden| hidden.saturating_mul(hidden))
    }),
    Flag::by(&["zero_optimization.sub_group_size"], |reading, given| {
        elements(reading, given, FieldId::SubGroupSize, |_| 1_000_000_000)
    }),
    // Hugging Face's `auto` (`transformers/integrations/deepspeed.py`) is 0.9 × the hidden size
    // squared for the prefetch bucket, and ten times the hidden size for the persistence threshold.
    Flag::by(
        &[
            "zero_optimization.stage3_prefetch_bucket_size",
            "zero_optimization.prefetch_bucket_size",
        ],
        |reading, given| {
            elements(reading, given, FieldId::PrefetchBucket, |hidden| {
                hidden.saturating_mul(hidden) / 10 * 9 + hidden.saturating_mul(hidden) % 10 * 9 / 10
            })
        },
    ),
    Flag::by(
        &[
            "zero_optimization.stage3_param_persistence_threshold",
            "zero_optimization.param_persistence_threshold",
        ],
        |reading, given| {
            elements(reading, given, FieldId::PersistenceThreshold, |hidden| {
                hidden.saturating_mul(10)
            })
        },
    ),
    Flag::by(
        &["zero_optimization.stage3_max_live_parameters", "zero_optimization.max_live_parameters"],
        |reading, given| elements(reading, given, FieldId::MaxLiveParameters, |_| 1_000_000_000),
    ),
    Flag::by(
        &["zero_optimization.stage3_max_reuse_distance", "zero_optimization.max_reuse_distance"],
        |reading, given| elements(reading, given, FieldId::MaxReuseDistance, |_| 1_000_000_000),
    ),
    Flag::by(&["zero_optimization.overlap_comm"], |reading, given| {
        let on =
            given.is_on().ok_or_else(|| format!("takes true or false, not “{}”", given.text()))?;
        reading.read(given, FieldId::OverlapComm, Value::Choice(if on { "on" } else { "off" }));
        Ok(())
    }),
    Flag::switch(&["zero_optimization.contiguous_gradients"], FieldId::ContiguousGradients),
    Flag::switch(&["zero_optimization.reduce_scatter"], FieldId::ReduceScatter),
    Flag::by(&["zero_optimization.offload_optimizer.device"], |reading, given| {
        host(reading, given, FieldId::OffloadOptimizer);
        Ok(())
    }),
    Flag::by(&["zero_optimization.offload_param.device"], |reading, given| {
        host(reading, given, FieldId::OffloadParameters);
        Ok(())
    }),
    Flag::switch(&["zero_optimization.cpu_offload"], FieldId::OffloadOptimizer),
    Flag::switch(
        &["zero_optimization.cpu_offload_params", "zero_optimization.cpu_offload_param"],
        FieldId::OffloadParameters,
    ),
    Flag::not_modelled_unless(
        &["zero_optimization.offload_optimizer.ratio"],
        &["1", "1.0"],
        "All of the optimizer is counted in host memory.",
    ),
    Flag::not_modelled_unless(
        &["zero_optimization.offload_optimizer.super_offload"],
        &["false"],
        "SuperOffload keeps buffers of its own.",
    ),
    Flag::no_effect(&[
        "zero_optimization.offload_optimizer.*",
        "zero_optimization.offload_param.*",
    ]),
    Flag::not_modelled_unless(
        &["zero_optimization.offload_optimizer", "zero_optimization.offload_param"],
        &["{}", "null"],
        "No keys.",
    ),
    Flag::not_modelled(
        &["zero_optimization.zero_hpz_partition_size"],
        "ZeRO++ keeps a second share of the weights on each machine.",
    ),
    Flag::not_modelled_unless(
        &[
            "zero_optimization.zero_quantized_weights",
            "zero_optimization.zero_quantized_gradients",
            "zero_optimization.zero_quantized_nontrainable_weights",
        ],
        &["false"],
        "ZeRO++ sends 8 or 4 bits: buffers and times are others.",
    ),
    Flag::not_modelled_unless(
        &["zero_optimization.mics_shard_size", "zero_optimization.mics_hierarchical_params_gather"],
        &["-1", "false"],
        "MiCS shares out over fewer GPUs.",
    ),
    Flag::not_modelled(
        &["zero_optimization.zenflow", "zero_optimization.zenflow.*"],
        "ZenFlow keeps gradients in host memory.",
    ),
    Flag::not_modelled(
        &["zero_optimization.module_granularity_threshold"],
        "Small layers are gathered together.",
    ),
    Flag::no_effect(&["zero_optimization.*"]),
    Flag::by(&["bf16.enabled", "bfloat16.enabled"], |reading, given| {
        precision(reading, given, "bf16")
    }),
    Flag::by(&["fp16.enabled"], |reading, given| precision(reading, given, "fp16")),
    Flag::not_modelled_unless(
        &[
            "bf16.bf16_master_weights_and_grads",
            "bf16.bf16_optimizer_states",
            "fp16.fp16_master_weights_and_grads",
        ],
        &["false"],
        "Master weights and states in 16 bits are not modelled.",
    ),
    Flag::no_effect(&["bf16.*", "fp16.*", "bfloat16.*"]),
    Flag::words(
        &["data_types.grad_accum_dtype"],
        FieldId::Gradients,
        &[("bf16", "as-weights"), ("fp16", "as-weights"), ("fp32", "fp32"), ("null", "as-weights")],
    ),
    Flag::not_modelled(&["data_types.*"], "Other formats than those of mixed precision."),
    Flag::not_modelled_unless(
        &["torch_autocast.enabled"],
        &["false"],
        "DeepSpeed's own autocast keeps weights in fp32.",
    ),
    Flag::no_effect(&["torch_autocast.*"]),
    Flag::by(&["train_micro_batch_size_per_gpu"], |reading, given| {
        batch(reading, given, FieldId::MicroBatchSize)
    }),
    Flag::by(&["train_batch_size"], |reading, given| {
        batch(reading, given, FieldId::GlobalBatchSize)
    }),
    Flag::no_effect(&["gradient_accumulation_steps"]),
    Flag::by(&["optimizer.type"], |reading, given| {
        optimizer(reading, given);
        Ok(())
    }),
    Flag::no_effect(&["optimizer.*", "scheduler.*"]),
    Flag::not_modelled(
        &["tensor_parallel.*", "tensor_parallel", "inference"],
        "DeepSpeed's tensor parallel is not modelled.",
    ),
    Flag::not_modelled_unless(
        &["sequence_parallel_size"],
        &["1"],
        "Ulysses shares a sequence out over GPUs: activations are fewer than counted.",
    ),
    Flag::not_modelled_unless(
        &["compression_training.*"],
        &["false"],
        "Weights of fewer bits while training.",
    ),
    Flag::not_modelled_unless(
        &["hybrid_engine.enabled"],
        &["false"],
        "Its engine for answers takes memory.",
    ),
    Flag::no_effect(&["hybrid_engine.*"]),
    // Gradients are scaled and reduced in place.
    Flag::no_effect(&[
        "gradient_clipping",
        "prescale_gradients",
        "gradient_predivide_factor",
        "gradient_allreduce_op",
        "sparse_gradients",
    ]),
    Flag::no_effect(&[
        "communication_data_type",
        "seq_parallel_communication_data_type",
        "disable_allgather",
    ]),
    // Settings for checkpointing calls that a model's code must make; Hugging Face's models do not
    // make them.
    Flag::no_effect(&["activation_checkpointing.*"]),
    Flag::no_effect(&[
        "zero_allow_untested_optimizer",
        "zero_force_ds_cpu_optimizer",
        "managed_gradient_accumulation",
        "fp16",
        "bf16",
    ]),
    Flag::no_effect(&[
        "optimizer",
        "scheduler",
        "ddp_bf16",
        "keep_in_fp32_modules",
        "checkpoint",
        "load_universal",
        "torch_autocast",
    ]),
    // Logs, checks, checkpoints, autotuning, input and output.
    Flag::no_effect(&[
        "steps_per_print",
        "wall_clock_breakdown",
        "memory_breakdown",
        "dump_state",
        "verbose",
        "prettify",
    ]),
    Flag::no_effect(&[
        "flops_profiler.*",
        "tensorboard.*",
        "wandb.*",
        "csv_monitor.*",
        "comet.*",
        "monitor_config.*",
        "comms_logger.*",
    ]),
    Flag::no_effect(&[
        "autotuning.*",
        "aio.*",
        "elasticity.*",
        "checkpoint.*",
        "nebula.*",
        "comms_config.*",
        "compile.*",
    ]),
    Flag::no_effect(&[
        "data_efficiency.*",
        "curriculum_learning.*",
        "dataloader_drop_last",
        "use_node_local_storage",
        "data_parallel_group",
    ]),
    Flag::no_effect(&[
        "disable_python_gc",
        "use_data_before_expert_parallelism",
        "log_level",
        "_comment",
        "train_iters",
        "seed",
    ]),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    const ITS_OWN: [&str; 5] = [
        "zero_optimization.stage",
        "train_micro_batch_size_per_gpu",
        "zero_allow_untested_optimizer",
        "fp16.enabled",
        "bf16.enabled",
    ];
    text.keys_with(&ITS_OWN).map(|keys| keys.map(Stated::of))
}

/// A number of elements, where `auto` follows from the hidden size. For 0, DeepSpeed's default
/// stays where the input does not accept 0.
fn elements(
    reading: &mut Reading<'_>,
    given: &Given,
    id: FieldId,
    auto: fn(u64) -> u64,
) -> Result<(), String> {
    if given.text() == "auto" {
        let Value::Integer(hidden) = reading.scenario.get(FieldId::HiddenSize) else {
            reading.not_modelled(given, "It follows from a hidden size that is not known here.");
            return Ok(());
        };
        reading.derive(
            given,
            id,
            Value::Integer(auto(hidden)),
            "Hugging Face's auto follows from the hidden size.",
        );
        return Ok(());
    }
    let number = given.whole()?;
    if number > 0
        || matches!(
            id,
            FieldId::PersistenceThreshold
                | FieldId::MaxLiveParameters
                | FieldId::PrefetchBucket
                | FieldId::MaxReuseDistance
        )
    {
        reading.read(given, id, Value::Integer(number.min(100_000_000_000)));
    }
    Ok(())
}

fn host(reading: &mut Reading<'_>, given: &Given, id: FieldId) {
    match given.text().as_str() {
        "cpu" => reading.read(given, id, Value::Flag(true)),
        "none" | "" => reading.read(given, id, Value::Flag(false)),
        _ => {
            reading.scenario.set(id, Value::Flag(true));
            reading.not_modelled(
                given,
                "Counted as if it waited in host memory: what a disk adds in time is not known.",
            );
        }
    }
}

/// Number formats that the file states; `auto` leaves them to the Trainer.
fn precision(reading: &mut Reading<'_>, given: &Given, word: &'static str) -> Result<(), String> {
    match given.is_on() {
        Some(true) => reading.read(given, FieldId::Precision, Value::Choice(word)),
        Some(false) => reading.tell(given, Way::NoEffect, String::new()),
        None if given.text() == "auto" => reading.tell(given, Way::NoEffect, String::new()),
        None => return Err(format!("takes true, false or auto, not “{}”", given.text())),
    }
    Ok(())
}

fn batch(reading: &mut Reading<'_>, given: &Given, id: FieldId) -> Result<(), String> {
    if given.text() == "auto" {
        reading.tell(given, Way::NoEffect, String::new());
        return Ok(());
    }
    let number = given.whole()?;
    reading.read(given, id, Value::Integer(number.clamp(1, 10_000_000)));
    Ok(())
}

/// DeepSpeed's own optimizers run as one kernel without temporary tensors, on the GPU and on the
/// host.
fn optimizer(reading: &mut Reading<'_>, given: &Given) {
    let (optimizer, step) = match given.text().to_ascii_lowercase().as_str() {
        "adam" | "adamw" => ("adamw", "fused"),
        "sgd" => ("sgd", "foreach"),
        _ => {
            reading
                .not_modelled(given, "This optimizer is not modelled: AdamW's states are counted.");
            return;
        }
    };
    reading.read(given, FieldId::Optimizer, Value::Choice(optimizer));
    reading.scenario.set(FieldId::OptimizerImplementation, Value::Choice(step));
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let offloads = reading.scenario.get(FieldId::OffloadParameters) == Value::Flag(true);
    if offloads && reading.scenario.get(FieldId::Sharding) != Value::Choice("3") {
        reading.follows(
            "offload_param",
            FieldId::OffloadParameters,
            Value::Flag(false),
            "Weights wait in host memory under stage 3 alone.",
        );
    }
    Ok(())
}

fn write(writing: &mut Writing<'_>) -> String {
    let Some(mut config) = zero::config_of(writing.scenario) else {
        return "{\"zero_optimization\": {\"stage\": 0}}\n".to_owned();
    };
    writing.is_said(&zero::says(writing.scenario));
    let flag = match word(writing.scenario, FieldId::Precision) {
        "bf16" => Some("bf16"),
        "fp16" => Some("fp16"),
        _ => None,
    };
    if let (Some(flag), Some(keys)) = (flag, config.as_object_mut()) {
        keys.insert(flag.to_owned(), serde_json::json!({ "enabled": true }));
        writing.is_said(&[FieldId::Precision]);
    }
    if word(writing.scenario, FieldId::Gradients) == "fp32"
        && let Some(keys) = config.as_object_mut()
    {
        keys.insert("data_types".to_owned(), serde_json::json!({ "grad_accum_dtype": "fp32" }));
        writing.is_said(&[FieldId::Gradients]);
    }
    if let (Value::Integer(micro), Some(keys)) =
        (writing.scenario.get(FieldId::MicroBatchSize), config.as_object_mut())
    {
        keys.insert("train_micro_batch_size_per_gpu".to_owned(), serde_json::json!(micro));
        keys.insert(
            "train_batch_size".to_owned(),
            serde_json::json!(whole(writing.scenario, FieldId::GlobalBatchSize)),
        );
        writing.is_said(&[FieldId::MicroBatchSize, FieldId::GlobalBatchSize]);
    }
    serde_json::to_string_pretty(&config).unwrap_or_default() + "\n"
}
