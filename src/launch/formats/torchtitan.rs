//! torchtitan: its TOML, `run_train.sh`, and `torchtitan.train` with overrides such as
//! `--section.key value`.
//!
//! Read in torchtitan 0.2.2 (`config/job_config.py`, the last version with TOML) and 0.3.0
//! (`config/configs.py`, whose files are Python functions that `--module` and `--config` name);
//! `run_train.sh`.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::torchtitan::{NOT_MODELLED, QUIET};
use crate::launch::shared::torchtitan_written::{MODELS, write};
use crate::launch::shared::{count, says, whole};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "torchtitan",
    label: "torchtitan",
    version: "torchtitan 0.2.2",
    source: "https://github.com/pytorch/torchtitan/blob/v0.2.2/torchtitan/config/job_config.py",
    place: 32,
    role: FormatRole::Whole,
    open,
    flags: &[RUN, PARALLELISM, NOT_MODELLED, QUIET],
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::Stack,
        FieldId::Loss,
        FieldId::Precision,
        FieldId::MicroBatchSize,
        FieldId::GlobalBatchSize,
        FieldId::Recompute,
        FieldId::Float8,
        FieldId::Sharding,
        FieldId::Replicas,
        FieldId::AccountForEnds,
        FieldId::SequenceParallel,
        FieldId::OffloadParameters,
        FieldId::OffloadOptimizer,
    ],
};

const RUN: &[Flag] = &[
    Flag::by(&["job.config_file"], |reading, given| reading.beneath(given, keys)),
    Flag::together(&["model.name", "model.flavor", "module", "config", "model.converters"]),
    Flag::together(&[
        "training.local_batch_size",
        "training.batch_size",
        "training.global_batch_size",
    ]),
    Flag::together(&["training.dtype", "training.mixed_precision_param"]),
    Flag::sets(&["training.seq_len"], FieldId::SeqLength),
    Flag::switch(&["compile.enable", "training.compile"], FieldId::Compile),
    Flag::together(&["compile.components"]),
    Flag::by(&["training.enable_cpu_offload"], |reading, given| {
        let on = Value::Flag(given.is_on() == Some(true));
        reading.read(given, FieldId::OffloadParameters, on.clone());
        reading.scenario.set(FieldId::OffloadOptimizer, on);
        Ok(())
    }),
    Flag::by(&["training.mixed_precision_reduce"], |reading, given| {
        match given.text().as_str() {
            "float32" => reading.read(given, FieldId::ReduceInFp32, Value::Flag(true)),
            _ => return Err("takes float32".to_owned()),
        }
        Ok(())
    }),
    Flag::words(&["optimizer.name"], FieldId::Optimizer, &[("AdamW", "adamw"), ("Adam", "adamw")]),
    Flag::words(
        &["optimizer.implementation"],
        FieldId::OptimizerImplementation,
        &[("fused", "fused"), ("foreach", "foreach"), ("for-loop", "for-loop")],
    ),
    Flag::switch(&["optimizer.early_step_in_backward"], FieldId::OptimizerInBackward),
    Flag::together(&["activation_checkpoint.mode", "activation_checkpoint.selective_ac_option"]),
    Flag::together(&[
        "float8.recipe_name",
        "quantize.linear.float8.recipe_name",
        "quantize.dense.float8.recipe_name",
    ]),
    Flag::switch(
        &[
            "quantize.linear.float8.enable_fsdp_float8_all_gather",
            "float8.enable_fsdp_float8_all_gather",
        ],
        FieldId::Float8Gathers,
    ),
];

const PARALLELISM: &[Flag] = &[
    Flag::sets(&["parallelism.tensor_parallel_degree"], FieldId::TensorParallel),
    Flag::sets(&["parallelism.pipeline_parallel_degree"], FieldId::PipelineParallel),
    Flag::sets(&["parallelism.context_parallel_degree"], FieldId::ContextParallel),
    Flag::sets(&["parallelism.expert_parallel_degree"], FieldId::ExpertParallel),
    Flag::together(&[
        "parallelism.data_parallel_shard_degree",
        "parallelism.data_parallel_replicate_degree",
    ]),
    Flag::by(&["parallelism.fsdp_reshard_after_forward"], |reading, given| {
        let on = match given.text().as_str() {
            "always" => true,
            "never" => false,
            // By default, weights stay gathered under pipeline parallelism, where a stage runs
            // several micro-batches (`distributed/fsdp.py`).
            "default" => whole(&reading.scenario, FieldId::PipelineParallel) == 1,
            _ => return Err("takes default, always or never".to_owned()),
        };
        reading.read(given, FieldId::ReshardAfterForward, Value::Flag(on));
        Ok(())
    }),
    Flag::together(&[
        "parallelism.pipeline_parallel_schedule",
        "float8.moe_fqns_prototype",
        "float8.moe_fqns",
    ]),
    Flag::together(&[
        "parallelism.pipeline_parallel_microbatch_size",
        "parallelism.enable_sequence_parallel",
        "parallelism.pipeline_parallel_first_stage_less_layers",
        "parallelism.pipeline_parallel_last_stage_less_layers",
    ]),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    keys(text).or_else(|| {
        text.invocations().iter().find_map(|run| {
            let is_script = run.program == "run_train.sh"
                || run.arguments.first().is_some_and(|word| word.text.ends_with("run_train.sh"));
            if !is_script
                && run.program != "torchtitan.train"
                && !run.program.starts_with("torchtitan")
            {
                return None;
            }
            let skip = usize::from(is_script && run.program != "run_train.sh");
            let mut stated = run.stated(skip, FORMAT.flags);
            let file =
                stated.environment.iter().rev().find(|given| given.key == "CONFIG_FILE").cloned();
            if let Some(file) = file {
                stated.given.push(Given { key: "job.config_file".to_owned(), ..file });
            }
            let gpus = stated.environment.iter().rev().find(|given| given.key == "NGPU").cloned();
            if let Some(gpus) = gpus.filter(|_| stated.launcher.is_empty()) {
                stated.launcher.push(Given { key: "nproc_per_node".to_owned(), ..gpus });
            }
            Some(Ok(stated))
        })
    })
}

/// A TOML file, recognised by keys that only torchtitan has.
fn keys(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    text.keys_with(&[
        "model.flavor",
        "parallelism.data_parallel_shard_degree",
        "activation_checkpoint.mode",
    ])
    .map(|keys| keys.map(Stated::of))
}

fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    let scenario = &mut reading.scenario;
    scenario.set(FieldId::Mode, choice("train"));
    scenario.set(FieldId::Attention, choice("flash"));
    for id in [
        FieldId::TensorParallel,
        FieldId::PipelineParallel,
        FieldId::ContextParallel,
        FieldId::ExpertParallel,
    ] {
        scenario.set(id, Value::Integer(1));
    }
    reading.default("torchtitan", FieldId::Stack, choice("torchtitan-2025"));
    reading.default("training.seq_len", FieldId::SeqLength, Value::Integer(2048));
    reading.default("training.local_batch_size", FieldId::MicroBatchSize, Value::Integer(8));
    reading.default("training.mixed_precision_param", FieldId::Precision, choice("fsdp-mixed"));
    reading.default("training.mixed_precision_reduce", FieldId::ReduceInFp32, Value::Flag(true));
    reading.default("optimizer.name", FieldId::Optimizer, choice("adamw"));
    reading.default("optimizer.implementation", FieldId::OptimizerImplementation, choice("fused"));
    reading.default("activation_checkpoint.mode", FieldId::Recompute, choice("selective"));
    reading.default(
        "parallelism.fsdp_reshard_after_forward",
        FieldId::ReshardAfterForward,
        Value::Flag(true),
    );
    reading.default("parallelism.data_parallel_shard_degree", FieldId::Sharding, choice("fsdp"));
    reading.default(
        "parallelism.pipeline_parallel_schedule",
        FieldId::PipelineSchedule,
        choice("1f1b"),
    );
    // `run_train.sh` sets this.
    reading.default("PYTORCH_CUDA_ALLOC_CONF", FieldId::ExpandableSegments, Value::Flag(true));
    reading.default("NGPU", FieldId::Gpus, Value::Integer(8));
    reading.default("training.global_batch_size", FieldId::GlobalBatchSize, Value::Integer(64));
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    reading.allocator();
    model(reading);
    formats(reading);
    checkpointing(reading);
    float8(reading);
    if says(reading, &["compile.enable", "training.compile"])
        && let Some(given) = reading.stated(&["compile.components"]).cloned()
        && !given.list().iter().any(|part| part == "loss")
    {
        reading.derive(&given, FieldId::Loss, Value::Choice("not-compiled"), "");
    }
    layout(reading)
}

/// The model of a name and a flavour. In 0.3, a registered function is named by both together and
/// states further settings, which are not read.
fn model(reading: &mut Reading<'_>) {
    let stated = |names: &[&str]| reading.stated(names).cloned();
    let (name, flavor) = (stated(&["model.name"]), stated(&["model.flavor"]));
    let config = stated(&["config"]);
    if let Some(config) = config.filter(|config| !config.text().contains(".toml")) {
        reading.derive(
            &config,
            FieldId::Stack,
            Value::Choice("torchtitan"),
            "`--config` is torchtitan 0.3's.",
        );
        reading.scenario.set(FieldId::Loss, Value::Choice("torchtitan-chunks"));
        let text = config.text().replace('_', "-").to_ascii_lowercase();
        let found = MODELS.iter().find(|(name, flavor, _)| {
            text == format!("{name}-{flavor}")
                .replace('_', "-")
                .to_ascii_lowercase()
                .replace('.', "-")
        });
        if let Some((.., repository)) = found {
            reading.model(&Given { value: (*repository).into(), ..config.clone() });
        }
        return reading.not_modelled(
            &config,
            "What this function of torchtitan's registry sets is not read: give its settings as \
             flags.",
        );
    }
    let Some(flavor) = flavor else { return };
    let name = name.map_or_else(|| "llama3".to_owned(), |name| name.text());
    let of_flavor = || {
        MODELS
            .iter()
            .filter(|(own, size, _)| *own == name && size.eq_ignore_ascii_case(&flavor.text()))
    };
    // Several models share these sizes; the tokenizer's folder tells which one is meant.
    let last =
        |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let folder = reading.stated(&["model.hf_assets_path"]).map(|given| last(&given.text()));
    let named =
        of_flavor().find(|(.., repository)| folder.as_deref() == Some(last(repository).as_str()));
    let found = named.or_else(|| of_flavor().next());
    let value = found.map_or_else(
        || format!("{name} {}", flavor.text()),
        |(.., repository)| (*repository).to_owned(),
    );
    reading.model(&Given { value: value.into(), ..flavor });
}

fn formats(reading: &mut Reading<'_>) {
    let text = |names: &[&str]| reading.stated(names).map(Given::text);
    let (all, computed) = (text(&["training.dtype"]), text(&["training.mixed_precision_param"]));
    let precision = match (all.as_deref(), computed.as_deref()) {
        (Some("bfloat16"), _) => "bf16-pure",
        (_, Some("float32")) => "fp32",
        _ => "fsdp-mixed",
    };
    if let Some(given) =
        reading.stated(&["training.dtype", "training.mixed_precision_param"]).cloned()
    {
        reading.read(&given, FieldId::Precision, Value::Choice(precision));
    }
}

fn checkpointing(reading: &mut Reading<'_>) {
    let option = reading.stated(&["activation_checkpoint.selective_ac_option"]).cloned();
    let mode = reading.stated(&["activation_checkpoint.mode"]).cloned();
    match mode.as_ref().map(Given::text).as_deref() {
        Some(mode_word @ ("none" | "full")) => {
            let word = if mode_word == "none" { "none" } else { "full" };
            if let Some(mode) = mode {
                reading.read(&mode, FieldId::Recompute, Value::Choice(word));
            }
        }
        None | Some("selective") => {
            if let Some(mode) = mode {
                reading.read(&mode, FieldId::Recompute, Value::Choice("selective"));
            }
            if let Some(option) = option.filter(|option| option.text() != "op") {
                reading.not_modelled(
                    &option,
                    "Of selective checkpointing the choice by operators is modelled.",
                );
            }
        }
        Some(_) => {
            if let Some(mode) = mode {
                reading.not_modelled(&mode, "This kind of checkpointing is not modelled.");
            }
        }
    }
}

fn float8(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["model.converters"]).cloned() else { return };
    let names = given.list();
    let experts = reading.stated(&["float8.moe_fqns_prototype", "float8.moe_fqns"]).cloned();
    if let Some(experts) = experts.filter(|experts| !names.is_empty() && !experts.list().is_empty())
    {
        reading.not_modelled(&experts, "Experts in float8 are not modelled.");
    }
    for name in names {
        if !matches!(name.as_str(), "float8" | "quantize.linear.float8") {
            reading.not_modelled(&given, "This converter of layers is not modelled.");
            continue;
        }
        let recipe = reading
            .stated(&["float8.recipe_name", "quantize.linear.float8.recipe_name"])
            .map(Given::text);
        match recipe.as_deref() {
            None | Some("" | "tensorwise" | "None") => {
                reading.read(&given, FieldId::Float8, Value::Choice("tensorwise"));
            }
            Some("rowwise") => reading.read(&given, FieldId::Float8, Value::Choice("rowwise")),
            Some("rowwise_with_gw_hp") => {
                reading.read(&given, FieldId::Float8, Value::Choice("rowwise-with-gw-hp"));
            }
            Some(_) => reading.not_modelled(&given, "This recipe is not modelled."),
        }
    }
}

/// The number of GPUs and the sharding over them; returns how many data-parallel ranks there are.
fn gpus(reading: &mut Reading<'_>) -> u64 {
    let degree = |reading: &Reading<'_>, name: &str| {
        let given = reading.stated(&[name])?;
        given.text().trim().parse::<i64>().ok()
    };
    let shards = degree(reading, "parallelism.data_parallel_shard_degree").unwrap_or(-1);
    let copies = degree(reading, "parallelism.data_parallel_replicate_degree")
        .unwrap_or(1)
        .max(1)
        .unsigned_abs();
    let scenario = &reading.scenario;
    let degrees = [FieldId::TensorParallel, FieldId::PipelineParallel, FieldId::ContextParallel];
    let model =
        degrees.into_iter().map(|id| whole(scenario, id)).fold(1_u64, u64::saturating_mul).max(1);
    let asked = u64::try_from(shards)
        .ok()
        .map(|shards| shards.max(1).saturating_mul(copies).saturating_mul(model));
    // `run_train.sh` starts 8 processes by default.
    let gpus =
        reading.processes().or(asked).unwrap_or_else(|| 8.max(model.saturating_mul(copies))).max(1);
    reading.follows(
        "NGPU",
        FieldId::Gpus,
        Value::Integer(gpus),
        "As many processes as are started, or the degrees ask for, or 8.",
    );
    let ranks = (gpus / model).max(1);
    let alone = shards == 1 || ranks == copies;
    let sharding = if alone && copies > 1 { "none" } else { "fsdp" };
    reading.follows(
        "parallelism.data_parallel_shard_degree",
        FieldId::Sharding,
        Value::Choice(sharding),
        "",
    );
    if !alone && copies > 1 {
        reading.follows(
            "parallelism.data_parallel_replicate_degree",
            FieldId::Replicas,
            Value::Integer(copies),
            "",
        );
    }
    ranks
}

/// The layers of stages, the order of their micro-batches, and whether weights stay gathered over
/// them.
fn schedule(reading: &mut Reading<'_>) {
    // Embedding and head count as a layer each unless a file says otherwise.
    let names = [
        "parallelism.pipeline_parallel_first_stage_less_layers",
        "parallelism.pipeline_parallel_last_stage_less_layers",
    ];
    let ends = names.map(|name| reading.stated(&[name]).cloned());
    let fewer = ends.each_ref().map(|end| end.as_ref().map_or(Ok(1), Given::whole));
    match fewer {
        [Ok(first), Ok(last)] if first == last && first <= 1 => reading.follows(
            names[0],
            FieldId::AccountForEnds,
            Value::Flag(first == 1),
            "The first and the last stage have so many layers fewer.",
        ),
        _ => {
            for given in ends.iter().flatten() {
                reading.not_modelled(given, "Both ends count as a layer, or neither does.");
            }
        }
    }
    if reading.stated(&["parallelism.fsdp_reshard_after_forward"]).is_none() {
        reading.follows(
            "parallelism.fsdp_reshard_after_forward",
            FieldId::ReshardAfterForward,
            Value::Flag(false),
            "Weights stay gathered over the micro-batches of a stage.",
        );
    }
    if let Some(given) = reading.stated(&["parallelism.pipeline_parallel_schedule"]).cloned() {
        match given.text().as_str() {
            "1F1B" => reading.read(&given, FieldId::PipelineSchedule, Value::Choice("1f1b")),
            "GPipe" => reading.read(&given, FieldId::PipelineSchedule, Value::Choice("gpipe")),
            _ => reading.not_modelled(&given, "This schedule is not modelled for torchtitan."),
        }
    }
}

/// The number of GPUs, the sharding, and the batches.
fn layout(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let ranks = gpus(reading);
    let splits = whole(&reading.scenario, FieldId::TensorParallel) > 1;
    let off = reading
        .stated(&["parallelism.enable_sequence_parallel"])
        .is_some_and(|given| given.is_on() == Some(false));
    reading.scenario.set(FieldId::SequenceParallel, Value::Flag(splits && !off));
    let local =
        count(reading, &["training.local_batch_size", "training.batch_size"])?.unwrap_or(8).max(1);
    let staged = whole(&reading.scenario, FieldId::PipelineParallel) > 1;
    if staged {
        schedule(reading);
    }
    let piece =
        count(reading, &["parallelism.pipeline_parallel_microbatch_size"])?.unwrap_or(1).max(1);
    let micro = if staged { piece } else { local };
    reading.follows(
        "training.local_batch_size",
        FieldId::MicroBatchSize,
        Value::Integer(micro),
        "",
    );
    let all = reading.stated(&["training.global_batch_size"]).and_then(|given| given.whole().ok());
    let all = all.unwrap_or_else(|| local.saturating_mul(ranks)).max(1);
    reading.follows(
        "training.global_batch_size",
        FieldId::GlobalBatchSize,
        Value::Integer(all),
        "Local batch × data-parallel GPUs.",
    );
    Ok(())
}
