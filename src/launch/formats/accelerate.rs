//! accelerate: the file of `accelerate config` in YAML, and the flags of `accelerate launch`.

use super::{FormatRole, FormatSpec};
use crate::launch::report::Way;
use crate::launch::shared::tables::accelerate::QUIET;
use crate::launch::shared::{is_on, says_something, stated_on, stated_whole, whole, word};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "accelerate",
    label: "accelerate",
    version: "accelerate 1.15.0",
    source: "https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/commands/launch.py",
    place: 20,
    role: FormatRole::Part,
    open,
    flags: &[FLAGS, QUIET],
    begin,
    end,
    write: Some(write),
    further: &[FieldId::Gpus, FieldId::Sharding, FieldId::Precision],
};

/// In the file, keys are inside `fsdp_config` or `deepspeed_config`; flags of the command have no
/// such prefix.
const FLAGS: &[Flag] = &[
    Flag::together(&["distributed_type"]),
    Flag::together(&["use_deepspeed", "use_fsdp", "multi_gpu"]).taking(Takes::Nothing),
    Flag::together(&["num_processes"]),
    Flag::together(&["num_machines"]),
    Flag::together(&["mixed_precision"]),
    Flag::together(&["deepspeed_config.zero_stage", "zero_stage"]),
    Flag::together(&["deepspeed_config.deepspeed_config_file", "deepspeed_config_file"]),
    Flag::by(
        &["deepspeed_config.offload_optimizer_device", "offload_optimizer_device"],
        |reading, given| {
            host(reading, given, FieldId::OffloadOptimizer);
            Ok(())
        },
    ),
    Flag::by(
        &["deepspeed_config.offload_param_device", "offload_param_device"],
        |reading, given| {
            host(reading, given, FieldId::OffloadParameters);
            Ok(())
        },
    ),
    Flag::no_effect(&[
        "deepspeed_config.gradient_accumulation_steps",
        "deepspeed_config.gradient_clipping",
        "gradient_clipping",
    ]),
    Flag::no_effect(&[
        "deepspeed_config.zero3_init_flag",
        "zero3_init_flag",
        "deepspeed_config.zero3_save_16bit_model",
    ]),
    Flag::no_effect(&[
        "zero3_save_16bit_model",
        "gradient_accumulation_steps",
        "deepspeed_config.*",
        "deepspeed_multinode_launcher",
    ]),
    Flag::no_effect(&[
        "offload_optimizer_nvme_path",
        "offload_param_nvme_path",
        "deepspeed_hostfile",
        "deepspeed_exclusion_filter",
    ]),
    Flag::no_effect(&["deepspeed_inclusion_filter", "deepspeed_moe_layer_cls_names"]),
    Flag::together(&["fsdp_config.fsdp_version", "fsdp_version"]),
    Flag::together(&["fsdp_config.fsdp_sharding_strategy", "fsdp_sharding_strategy"]),
    Flag::together(&["fsdp_config.fsdp_reshard_after_forward", "fsdp_reshard_after_forward"]),
    Flag::by(&["fsdp_config.fsdp_auto_wrap_policy", "fsdp_auto_wrap_policy"], |reading, given| {
        wraps(reading, given);
        Ok(())
    }),
    Flag::by(&["fsdp_config.fsdp_offload_params", "fsdp_offload_params"], |reading, given| {
        let on =
            given.is_on().ok_or_else(|| format!("takes true or false, not “{}”", given.text()))?;
        reading.read(given, FieldId::OffloadParameters, Value::Flag(on));
        reading.scenario.set(FieldId::OffloadOptimizer, Value::Flag(on));
        Ok(())
    }),
    Flag::by(
        &["fsdp_config.fsdp_activation_checkpointing", "fsdp_activation_checkpointing"],
        |reading, given| {
            let on = given
                .is_on()
                .ok_or_else(|| format!("takes true or false, not “{}”", given.text()))?;
            if on {
                reading.read(given, FieldId::Recompute, Value::Choice("full"));
            } else {
                reading.tell(given, Way::NoEffect, String::new());
            }
            Ok(())
        },
    ),
    Flag::not_modelled_unless(
        &[
            "fsdp_config.fsdp_activation_checkpointing_offload",
            "fsdp_activation_checkpointing_offload",
        ],
        &["false"],
        "Inputs of blocks in host memory are counted on the GPU.",
    ),
    Flag::not_modelled_unless(
        &["fsdp_config.fsdp_backward_prefetch", "fsdp_backward_prefetch"],
        &["BACKWARD_PRE", "BACKWARD_PREFETCH"],
        "Counted as if the next unit were gathered before the one at hand is done with.",
    ),
    Flag::not_modelled_unless(
        &["fsdp_config.fsdp_min_num_params", "fsdp_min_num_params"],
        &["0"],
        "Units by their size are not modelled: each block is counted as one.",
    ),
    Flag::no_effect(&[
        "fsdp_config.fsdp_transformer_layer_cls_to_wrap",
        "fsdp_transformer_layer_cls_to_wrap",
    ])
    .taking(Takes::Many),
    // Forward prefetch changes no memory where the host does not run ahead of the GPU, and
    // flattened parameters take the bytes of the original ones.
    Flag::no_effect(&[
        "fsdp_config.fsdp_forward_prefetch",
        "fsdp_forward_prefetch",
        "fsdp_config.fsdp_use_orig_params",
    ]),
    Flag::no_effect(&[
        "fsdp_use_orig_params",
        "fsdp_config.fsdp_limit_all_gathers",
        "fsdp_config.fsdp_xla",
        "fsdp_config.fsdp_xla_fsdp_v2",
    ]),
    // Loading and saving of weights.
    Flag::no_effect(&[
        "fsdp_config.fsdp_cpu_ram_efficient_loading",
        "fsdp_cpu_ram_efficient_loading",
    ]),
    Flag::no_effect(&[
        "fsdp_config.fsdp_sync_module_states",
        "fsdp_sync_module_states",
        "fsdp_config.fsdp_state_dict_type",
    ]),
    Flag::no_effect(&["fsdp_state_dict_type", "fsdp_config.fsdp_xla_fsdp_grad_ckpt"]),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    text.keys_with(&["compute_environment", "distributed_type", "num_processes"])
        .map(|keys| keys.map(Stated::of))
}

fn begin(reading: &mut Reading<'_>) {
    reading.scenario.set(FieldId::Sharding, Value::Choice("none"));
    reading.scenario.set(FieldId::OffloadOptimizer, Value::Flag(false));
    reading.scenario.set(FieldId::OffloadParameters, Value::Flag(false));
    reading.scenario.set(FieldId::ReshardAfterForward, Value::Flag(true));
    reading.scenario.set(FieldId::WrapsBlocks, Value::Flag(true));
    reading.scenario.set(FieldId::Replicas, Value::Integer(1));
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

fn wraps(reading: &mut Reading<'_>, given: &Given) {
    match given.text().to_ascii_uppercase().as_str() {
        "TRANSFORMER_BASED_WRAP" => reading.read(given, FieldId::WrapsBlocks, Value::Flag(true)),
        "NO_WRAP" => reading.read(given, FieldId::WrapsBlocks, Value::Flag(false)),
        _ => reading.not_modelled(
            given,
            "Units by their size are not modelled: each block is counted as one.",
        ),
    }
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let kind = reading
        .stated(&["distributed_type"])
        .map(|given| given.text().to_ascii_uppercase())
        .unwrap_or_default();
    let has = |reading: &Reading<'_>, flag| stated_on(reading, &[flag]) == Some(true);
    if kind == "FSDP" || has(reading, "use_fsdp") {
        fsdp(reading)?;
    } else if kind == "DEEPSPEED" || has(reading, "use_deepspeed") {
        deepspeed(reading)?;
    } else {
        let given = reading.stated(&["distributed_type"]).cloned();
        match given {
            Some(given) if matches!(kind.as_str(), "NO" | "MULTI_GPU" | "FALSE" | "") => {
                reading.read(&given, FieldId::Sharding, Value::Choice("none"));
            }
            Some(given) => reading.not_modelled(
                &given,
                "Of accelerate's ways, several GPUs, FSDP and DeepSpeed are modelled.",
            ),
            None => {}
        }
    }
    if let Some(count) = stated_whole(reading, &["num_processes"])?
        && let Some(given) = reading.stated(&["num_processes"]).cloned()
    {
        if kind == "NO" || kind == "FALSE" {
            // `simple_launcher` starts one process and ignores the number.
            reading.derive(
                &given,
                FieldId::Gpus,
                Value::Integer(1),
                "One process where the kind is NO.",
            );
        } else {
            reading.read(&given, FieldId::Gpus, Value::Integer(count.clamp(1, 1_000_000)));
        }
    }
    precision(reading);
    Ok(())
}

/// FSDP's version, and whether gathered weights are freed after forward.
fn fsdp(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let version = stated_whole(reading, &["fsdp_config.fsdp_version", "fsdp_version"])?;
    let how = if version.is_none() { "FSDP1 where no version is said." } else { "" };
    let version = version.unwrap_or(1);
    let sharding = if version == 2 { "fsdp" } else { "fsdp1" };
    let about = reading
        .stated(&["fsdp_config.fsdp_version", "fsdp_version", "distributed_type", "use_fsdp"])
        .cloned();
    if let Some(given) = about {
        reading.derive(&given, FieldId::Sharding, Value::Choice(sharding), how);
    }
    let names = [
        "fsdp_config.fsdp_sharding_strategy",
        "fsdp_sharding_strategy",
        "fsdp_config.fsdp_reshard_after_forward",
        "fsdp_reshard_after_forward",
    ];
    let Some(given) = reading.stated(&names).cloned() else { return Ok(()) };
    match given.text().to_ascii_uppercase().as_str() {
        "FULL_SHARD" | "TRUE" | "1" => {
            reading.read(&given, FieldId::ReshardAfterForward, Value::Flag(true));
        }
        "SHARD_GRAD_OP" | "FALSE" | "2" => {
            reading.read(&given, FieldId::ReshardAfterForward, Value::Flag(false));
        }
        "NO_SHARD" | "3" => reading.read(&given, FieldId::Sharding, Value::Choice("none")),
        "HYBRID_SHARD" | "4" => {
            let machines = stated_whole(reading, &["num_machines"])?.unwrap_or(1).max(1);
            reading.derive(
                &given,
                FieldId::Replicas,
                Value::Integer(machines),
                "One sharding group on each machine.",
            );
        }
        _ => reading.not_modelled(
            &given,
            "This way of sharding is not modelled: everything is counted as shared out.",
        ),
    }
    Ok(())
}

/// DeepSpeed's own file or a stage; without either, stage 2 (`launch.py`).
fn deepspeed(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let file = reading
        .stated(&["deepspeed_config.deepspeed_config_file", "deepspeed_config_file"])
        .filter(|given| says_something(given));
    if let Some(given) = file.cloned() {
        reading.attached(&given)?;
        return Ok(());
    }
    let stage = stated_whole(reading, &["deepspeed_config.zero_stage", "zero_stage"])?;
    let sharding = match stage.unwrap_or(2) {
        0 => "0",
        1 => "1",
        2 => "2",
        _ => "3",
    };
    match reading.stated(&["deepspeed_config.zero_stage", "zero_stage"]).cloned() {
        Some(given) => reading.read(&given, FieldId::Sharding, Value::Choice(sharding)),
        None => reading.follows(
            "zero_stage",
            FieldId::Sharding,
            Value::Choice(sharding),
            "Where no stage is said.",
        ),
    }
    if sharding != "3" && is_on(&reading.scenario, FieldId::OffloadParameters) {
        reading.scenario.set(FieldId::OffloadParameters, Value::Flag(false));
    }
    Ok(())
}

/// The number formats that accelerate's `mixed_precision` gives a model loaded in fp32.
fn precision(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["mixed_precision"]).cloned() else { return };
    let sharding = word(&reading.scenario, FieldId::Sharding);
    let found = match (given.text().to_ascii_lowercase().as_str(), sharding) {
        ("bf16", "0" | "1" | "2" | "3") => "bf16",
        ("fp16", "0" | "1" | "2" | "3") => "fp16",
        ("bf16" | "fp16", "fsdp" | "fsdp1") => "fsdp-mixed",
        ("bf16" | "fp16", _) => "amp-bf16",
        ("no" | "" | "false", _) => return reading.tell(&given, Way::NoEffect, String::new()),
        _ => {
            return reading
                .not_modelled(&given, "Products in 8 bits through accelerate are not modelled.");
        }
    };
    let how = if given.text() == "fp16" && found != "fp16" {
        "fp16 takes as many bytes as bf16."
    } else {
        ""
    };
    reading.derive(&given, FieldId::Precision, Value::Choice(found), how);
    if matches!(sharding, "fsdp" | "fsdp1") {
        reading.scenario.set(FieldId::ReduceInFp32, Value::Flag(false));
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    let sharding = word(scenario, FieldId::Sharding);
    let gpus = whole(scenario, FieldId::Gpus);
    let kind = match sharding {
        "fsdp" | "fsdp1" => "FSDP",
        "0" | "1" | "2" | "3" => "DEEPSPEED",
        _ if gpus > 1 => "MULTI_GPU",
        _ => "'NO'",
    };
    let mixed = match (word(scenario, FieldId::Precision), kind) {
        ("bf16", "DEEPSPEED") | ("fsdp-mixed", "FSDP") | ("amp-bf16", "MULTI_GPU" | "'NO'") => {
            Some("bf16")
        }
        ("fp16", "DEEPSPEED") => Some("fp16"),
        _ => None,
    };
    writing.is_said(&[FieldId::Gpus, FieldId::Sharding]);
    let mut parts = vec![format!("compute_environment: LOCAL_MACHINE\ndistributed_type: {kind}\n")];
    let on = |id| is_on(scenario, id);
    let device = |id| if on(id) { "cpu" } else { "none" };
    if kind == "FSDP" {
        parts.push(format!(
            "fsdp_config:\n  fsdp_auto_wrap_policy: {}\n  fsdp_offload_params: {}\n  \
             fsdp_reshard_after_forward: {}\n  fsdp_version: {}\n",
            if on(FieldId::WrapsBlocks) { "TRANSFORMER_BASED_WRAP" } else { "NO_WRAP" },
            on(FieldId::OffloadParameters),
            on(FieldId::ReshardAfterForward),
            if sharding == "fsdp" { 2 } else { 1 }
        ));
        let said = [
            FieldId::WrapsBlocks,
            FieldId::ReshardAfterForward,
            FieldId::OffloadParameters,
            FieldId::OffloadOptimizer,
        ];
        writing.is_said(&said);
    }
    if kind == "DEEPSPEED" {
        parts.push(format!(
            "deepspeed_config:\n  offload_optimizer_device: {}\n  offload_param_device: {}\n  \
             zero_stage: {sharding}\n",
            device(FieldId::OffloadOptimizer),
            device(FieldId::OffloadParameters)
        ));
        writing.is_said(&[FieldId::OffloadOptimizer, FieldId::OffloadParameters]);
    }
    if let Some(mixed) = mixed {
        parts.push(format!("mixed_precision: {mixed}\n"));
        writing.is_said(&[FieldId::Precision, FieldId::ReduceInFp32]);
    }
    parts.push(format!("num_machines: 1\nnum_processes: {gpus}\n"));
    parts.concat()
}
