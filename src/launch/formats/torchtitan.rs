//! torchtitan: its TOML, `run_train.sh`, and `torchtitan.train` with overrides such as
//! `--section.key value`.
//!
//! Read in torchtitan 0.2.2 (`config/job_config.py`, the last version with TOML) and 0.3.0
//! (`config/configs.py`, whose files are Python functions that `--module` and `--config` name);
//! `run_train.sh`.

use super::{FormatSpec, Role};
use crate::catalog;
use crate::launch::shared::{count, is_on, says, whole, word};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "torchtitan",
    label: "torchtitan",
    version: "torchtitan 0.2.2",
    source: "https://github.com/pytorch/torchtitan/blob/v0.2.2/torchtitan/config/job_config.py",
    place: 32,
    role: Role::Whole,
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
    ]),
];

const NOT_MODELLED: &[Flag] = &[
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
const QUIET: &[Flag] = &[
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
    Flag::no_effect(&[
        "parallelism.pipeline_parallel_schedule_csv",
        "parallelism.pipeline_parallel_first_stage_less_layers",
    ]),
    Flag::no_effect(&[
        "parallelism.pipeline_parallel_last_stage_less_layers",
        "parallelism.spmd_backend",
    ]),
];

/// Models by name and flavour, with the repository of a model that has these sizes.
const MODELS: [(&str, &str, &str); 20] = [
    ("llama3", "8B", "meta-llama/Llama-3.1-8B"),
    ("llama3", "8B", "meta-llama/Meta-Llama-3-8B"),
    ("llama3", "70B", "meta-llama/Llama-3.1-70B"),
    ("llama3", "70B", "meta-llama/Meta-Llama-3-70B"),
    ("llama3", "405B", "meta-llama/Llama-3.1-405B"),
    ("llama3", "1B", "meta-llama/Llama-3.2-1B"),
    ("llama3", "3B", "meta-llama/Llama-3.2-3B"),
    ("qwen3", "0.6B", "Qwen/Qwen3-0.6B"),
    ("qwen3", "1.7B", "Qwen/Qwen3-1.7B"),
    ("qwen3", "4B", "Qwen/Qwen3-4B"),
    ("qwen3", "8B", "Qwen/Qwen3-8B"),
    ("qwen3", "14B", "Qwen/Qwen3-14B"),
    ("qwen3", "32B", "Qwen/Qwen3-32B"),
    ("qwen3", "30B-A3B", "Qwen/Qwen3-30B-A3B"),
    ("qwen3", "235B-A22B", "Qwen/Qwen3-235B-A22B"),
    ("deepseek_v3", "671B", "deepseek-ai/DeepSeek-V3"),
    ("llama4", "17bx16e", "meta-llama/Llama-4-Scout-17B-16E"),
    ("llama4", "17bx128e", "meta-llama/Llama-4-Maverick-17B-128E"),
    ("gpt_oss", "20b", "openai/gpt-oss-20b"),
    ("gpt_oss", "120b", "openai/gpt-oss-120b"),
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
        return reading
            .not_modelled(&config, "What this function of torchtitan's registry sets is not read: give its settings as flags.");
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

/// The number of GPUs, the sharding, and the batches.
fn layout(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
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
    let splits = whole(&reading.scenario, FieldId::TensorParallel) > 1;
    let off = reading
        .stated(&["parallelism.enable_sequence_parallel"])
        .is_some_and(|given| given.is_on() == Some(false));
    reading.scenario.set(FieldId::SequenceParallel, Value::Flag(splits && !off));
    let local =
        count(reading, &["training.local_batch_size", "training.batch_size"])?.unwrap_or(8).max(1);
    let staged = whole(&reading.scenario, FieldId::PipelineParallel) > 1;
    if let Some(given) =
        reading.stated(&["parallelism.pipeline_parallel_schedule"]).cloned().filter(|_| staged)
    {
        match given.text().as_str() {
            "1F1B" => reading.read(&given, FieldId::PipelineSchedule, Value::Choice("1f1b")),
            "GPipe" => reading.read(&given, FieldId::PipelineSchedule, Value::Choice("gpipe")),
            _ => reading.not_modelled(&given, "This schedule is not modelled for torchtitan."),
        }
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

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    name_model(writing);
    let (gpus, micro) = (whole(scenario, FieldId::Gpus), whole(scenario, FieldId::MicroBatchSize));
    let staged = whole(scenario, FieldId::PipelineParallel) > 1;
    let key = if staged {
        "parallelism.pipeline_parallel_microbatch_size"
    } else {
        "training.local_batch_size"
    };
    writing.say(key, Some(micro.to_string()), &[FieldId::MicroBatchSize]);
    let all = whole(scenario, FieldId::GlobalBatchSize);
    writing.say("training.global_batch_size", Some(all.to_string()), &[FieldId::GlobalBatchSize]);
    let precision = word(scenario, FieldId::Precision);
    match precision {
        "bf16-pure" => {
            writing.say("training.dtype", Some("bfloat16".to_owned()), &[FieldId::Precision]);
        }
        "fp32" => writing.say(
            "training.mixed_precision_param",
            Some("float32".to_owned()),
            &[FieldId::Precision],
        ),
        "fsdp-mixed" => writing.is_said(&[FieldId::Precision]),
        _ => {}
    }
    let mode = word(scenario, FieldId::Recompute).to_owned();
    writing.say("activation_checkpoint.mode", Some(mode.clone()), &[FieldId::Recompute]);
    if mode == "selective" {
        writing.say("activation_checkpoint.selective_ac_option", Some("op".to_owned()), &[]);
    }
    let offload = [FieldId::OffloadParameters, FieldId::OffloadOptimizer];
    if offload.into_iter().all(|id| is_on(scenario, id)) {
        writing.say("training.enable_cpu_offload", None, &offload);
    }
    if writing.differs(FieldId::ReshardAfterForward) {
        let policy = if is_on(scenario, FieldId::ReshardAfterForward) { "always" } else { "never" };
        writing.say(
            "parallelism.fsdp_reshard_after_forward",
            Some(policy.to_owned()),
            &[FieldId::ReshardAfterForward],
        );
    }
    let splits = whole(scenario, FieldId::TensorParallel) > 1;
    if splits && !is_on(scenario, FieldId::SequenceParallel) {
        writing.say("parallelism.enable_sequence_parallel", Some("false".to_owned()), &[]);
    }
    if splits || !is_on(scenario, FieldId::SequenceParallel) {
        writing.is_said(&[FieldId::SequenceParallel]);
    }
    kernels(writing);
    if let schedule @ ("1f1b" | "gpipe") = word(scenario, FieldId::PipelineSchedule) {
        let name = if schedule == "gpipe" { "GPipe" } else { "1F1B" };
        writing.say("parallelism.pipeline_parallel_schedule", Some(name.to_owned()), &[]);
        if staged || schedule == "1f1b" {
            writing.is_said(&[FieldId::PipelineSchedule]);
        }
    }
    writing.table();
    writing.is_said(&[FieldId::Gpus]);
    if word(scenario, FieldId::Sharding) == "fsdp" {
        writing.is_said(&[FieldId::Sharding]);
    }
    let keys = writing.as_toml();
    format!(
        "cat > torchtitan.toml <<'EOF'\n{keys}EOF\nNGPU={gpus} CONFIG_FILE=torchtitan.toml ./run_train.sh\n"
    )
}

/// Writes float8, and which parts are compiled.
fn kernels(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    let recipe = word(scenario, FieldId::Float8).replace('-', "_");
    if recipe != "none" {
        writing.say(
            "model.converters",
            Some("[\"quantize.linear.float8\"]".to_owned()),
            &[FieldId::Float8],
        );
        writing.say("quantize.linear.float8.recipe_name", Some(recipe), &[]);
    }
    if word(scenario, FieldId::Loss) == "not-compiled" && is_on(scenario, FieldId::Compile) {
        writing.say("compile.components", Some("[\"model\"]".to_owned()), &[FieldId::Loss]);
    }
}

fn name_model(writing: &mut Writing<'_>) {
    let repository = writing.model();
    let own = catalog::model(&repository).map(|row| row.id);
    let found = MODELS
        .iter()
        .find(|(.., known)| own.is_some() && catalog::model(known).map(|row| row.id) == own);
    if let Some((name, flavor, known)) = found {
        writing.say("model.name", Some((*name).to_owned()), &[]);
        writing.say("model.flavor", Some((*flavor).to_owned()), &[]);
        let last = known.rsplit('/').next().unwrap_or(known);
        writing.say("model.hf_assets_path", Some(format!("./assets/hf/{last}")), &[]);
    } else {
        writing.say("model.flavor", Some(repository), &[]);
        writing.lacks("torchtitan has no model of these sizes under a name that is known here.");
    }
}
