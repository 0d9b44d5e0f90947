//! ms-swift's Transformers side: `swift sft|pt|rlhf …`.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::run::{self, Habits, Mixed, Weights, settle};
use crate::launch::shared::tables::swift::FURTHER;
use crate::launch::shared::{
    adapters, is_on, objective, stated_on, stated_whole, trainer, whole, word, words,
};
use crate::launch::{Flag, Given, LaunchError, Place, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "swift",
    label: "ms-swift",
    version: "ms-swift 4.6.0",
    source: "https://github.com/modelscope/ms-swift/blob/v4.6.0/swift/arguments/sft_args.py",
    place: 12,
    role: FormatRole::Whole,
    open,
    flags: &[FLAGS, FURTHER, trainer::TRAINER],
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::Precision,
        FieldId::Method,
        FieldId::Objective,
    ],
};

const HABITS: Habits = Habits {
    // `_init_mixed_precision` (`base_args/model_args.py`): weights in fp32 are trained under fp16's
    // autocast.
    weights: |reading| if dtype(reading) == "float32" { Weights::Full } else { Weights::Short },
    mixed: |reading| {
        if matches!(dtype(reading).as_str(), "float32" | "float16") {
            Mixed::Fp16
        } else {
            Mixed::Bf16
        }
    },
    // Gradient accumulation makes up at least 16 sequences a step
    // (`_init_gradient_accumulation_steps`).
    steps: |micro, gpus| 16u64.div_ceil(micro.max(1)).div_ceil(gpus.max(1)).max(1),
    evaluates,
    evaluation_batch: 1,
    // `skip_logits` of its `lce_forward` applies to training only, so evaluations write logits.
    evaluation_logits: true,
    finds_unused: |_, _| false,
};

const FLAGS: &[Flag] = &[
    Flag::by(&["model", "model_id_or_path", "model_name_or_path"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::by(&["command", "rlhf_type"], |reading, given| {
        let kind = given.text();
        objective::take(reading, given, &kind);
        Ok(())
    }),
    Flag::together(&[
        "tuner_type",
        "train_type",
        "sft_type",
        "quant_bits",
        "quant_method",
        "quantization_bit",
        "use_dora",
    ])
    .taking(Takes::Optional),
    Flag::together(&["torch_dtype", "dtype"]),
    Flag::words(&["attn_impl"], FieldId::Attention, trainer::ATTENTION),
    Flag::by(&["max_length", "packing_length"], |reading, given| {
        if given.value.is_null() {
            return Ok(());
        }
        let tokens = given.whole()?;
        if !(1..=100_000_000).contains(&tokens) {
            return Err(format!("takes a number of tokens, not “{tokens}”"));
        }
        reading.read(given, FieldId::SeqLength, Value::Integer(tokens));
        Ok(())
    }),
    Flag::together(&[
        "max_completion_length",
        "use_vllm",
        "vllm_mode",
        "sleep_level",
        "beta",
        "response_length",
    ])
    .taking(Takes::Optional),
    Flag::sets(&["lora_rank"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout", "lora_dropout_p"], FieldId::LoraDropout),
    Flag::by(&["target_modules", "lora_target_modules"], adapters::TARGETS).taking(Takes::Many),
    Flag::by(&["modules_to_save", "lora_modules_to_save"], adapters::SAVED).taking(Takes::Many),
    Flag::switch(&["bnb_4bit_use_double_quant"], FieldId::DoubleQuant),
    Flag::words(
        &["lora_dtype"],
        FieldId::AdapterDType,
        &[("float32", "fp32"), ("bfloat16", "weights"), ("float16", "weights")],
    ),
    Flag::switch(&["packing"], FieldId::Packing),
    Flag::switch(&["freeze_vit"], FieldId::FrozenTower),
    Flag::words(&["optimizer"], FieldId::Optimizer, &[("muon", "muon")]),
];

fn dtype(reading: &Reading<'_>) -> String {
    reading.stated(&["torch_dtype", "dtype"]).map(trainer::dtype).unwrap_or_default()
}

/// Evaluations run where a part of the data is set apart for them (`_init_eval_strategy`).
fn evaluates(reading: &Reading<'_>) -> bool {
    let ratio = reading
        .stated(&["split_dataset_ratio"])
        .and_then(|given| given.number().ok())
        .unwrap_or(0.0);
    let set_apart = ratio > 0.0 && stated_on(reading, &["streaming"]) != Some(true);
    set_apart || reading.stated(&["val_dataset", "cached_val_dataset"]).is_some()
}

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let command = text.invocations().iter().find_map(|run| {
        let first = run.arguments.first();
        let verb = first
            .map(|word| word.text.as_str())
            .filter(|word| matches!(*word, "sft" | "pt" | "rlhf"));
        let script =
            run.program.strip_suffix(".py").filter(|name| matches!(*name, "sft" | "pt" | "rlhf"));
        let is_module = run.program.starts_with("swift.cli.");
        let has_model = || {
            run.arguments.iter().any(|word| word.text == "--model" || word.text == "--tuner_type")
        };
        let (kind, skip) = match (run.program.as_str(), verb, script) {
            ("swift", Some(verb), _) => (verb, 1),
            (_, _, Some(script)) if has_model() => (script, 0),
            (program, ..) if is_module => (program.rsplit('.').next().unwrap_or_default(), 0),
            _ => return None,
        };
        // `--rlhf_type` states the kind of run; without it, it is DPO.
        let kind = if kind == "rlhf" { "dpo" } else { kind };
        let place = first.map_or(Place { line: 1, column: 1 }, |word| word.place);
        let mut stated = run.stated(skip, FORMAT.flags);
        if stated.given.iter().all(|given| given.key != "rlhf_type") {
            stated.given.insert(0, Given::new("command", kind.to_owned(), place));
        }
        Some(stated)
    });
    let calls = || {
        let class = |name: &str| {
            matches!(
                name,
                "SftArguments" | "RLHFArguments" | "PretrainArguments" | "TrainArguments"
            )
        };
        let call = text
            .calls()
            .iter()
            .find(|call| class(call.name.rsplit('.').next().unwrap_or_default()))?;
        Some(Stated::of(
            call.arguments.iter().filter(|given| !given.key.is_empty()).cloned().collect(),
        ))
    };
    command.or_else(calls).map(Ok)
}

fn begin(reading: &mut Reading<'_>) {
    trainer::begin(reading);
    reading.default("tuner_type", FieldId::Method, Value::Choice("lora"));
    reading.default("per_device_train_batch_size", FieldId::MicroBatchSize, Value::Integer(1));
    reading.default("gradient_checkpointing", FieldId::Recompute, Value::Choice("full"));
    reading.default("lora_rank", FieldId::Rank, Value::Integer(8));
    reading.default("lora_alpha", FieldId::LoraAlpha, Value::Decimal(32.0));
    reading.default("lora_dropout", FieldId::LoraDropout, Value::Decimal(0.05));
    reading.scenario.set(FieldId::GlobalBatchSize, Value::Integer(16));
    reading.scenario.set(FieldId::Precision, Value::Choice("bf16-pure"));
    reading.scenario.set(FieldId::Autocast, Value::Flag(true));
    reading.scenario.set(FieldId::DoubleQuant, Value::Flag(true));
    adapters::default_targets(reading, &["all-linear"]);
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let tuner = reading.stated(&["tuner_type", "train_type", "sft_type"]).cloned();
    let kind = tuner.as_ref().map_or_else(|| "lora".to_owned(), Given::text);
    let bits = stated_whole(reading, &["quant_bits", "quantization_bit"])?.filter(|bits| *bits > 0);
    let by = reading.stated(&["quant_method"]).map_or_else(|| "bnb".to_owned(), Given::text);
    let dora = stated_on(reading, &["use_dora"]) == Some(true);
    let by_bnb = bits.filter(|_| by == "bnb").unwrap_or(16);
    adapters::method(reading, kind == "lora", by_bnb, dora, "tuner_type");
    if let (Some(bits), Some(given)) =
        (bits, reading.stated(&["quant_bits", "quantization_bit"]).cloned())
    {
        adapters::tell_bits(reading, &given, if by == "bnb" { bits } else { 16 });
    }
    if let Some(given) = tuner.filter(|_| !matches!(kind.as_str(), "lora" | "full")) {
        reading.not_modelled(
            &given,
            "This tuner is not modelled: all parameters are counted as learning.",
        );
    }
    if reading.stated(&["max_length", "packing_length"]).is_none()
        && let Value::Integer(most) = reading.scenario.get(FieldId::MaxPositionEmbeddings)
    {
        reading.follows(
            "max_length",
            FieldId::SeqLength,
            Value::Integer(most.max(1)),
            "As long as the model allows.",
        );
    }
    run::frozen_tower(reading, "freeze_vit");
    objective::answers(reading, 512)?;
    let gpus = gpus(reading)?;
    settle(reading, &HABITS, Some(gpus))?;
    if reading.scenario.get(FieldId::Rollout) != Value::Choice("apart")
        && word(&reading.scenario, FieldId::Objective) == "grpo"
    {
        let all = whole(&reading.scenario, FieldId::GlobalBatchSize)
            / whole(&reading.scenario, FieldId::Gpus).max(1);
        reading.follows(
            "num_generations",
            FieldId::RolloutSequences,
            Value::Integer(all.max(1)),
            "The answers of a step on one GPU.",
        );
    }
    Ok(())
}

/// The number of processes from `NPROC_PER_NODE` and `NNODES` (`cli/main.py`); without them there
/// is one process, which spreads the model over the GPUs that it sees.
fn gpus(reading: &mut Reading<'_>) -> Result<u64, LaunchError> {
    let stated = |name: &str| {
        let given = reading.environment(name).filter(|given| !given.is_unknown())?;
        given.whole().ok()
    };
    let (each, machines) = (stated("NPROC_PER_NODE"), stated("NNODES"));
    if let Some(launched) =
        reading.launcher(&["nproc_per_node", "nproc-per-node"]).and_then(|given| given.whole().ok())
    {
        return Ok(launched.saturating_mul(machines.unwrap_or(1)));
    }
    if each.is_some() || machines.is_some() {
        return Ok(each.unwrap_or(1).saturating_mul(machines.unwrap_or(1)));
    }
    let visible = reading
        .environment("CUDA_VISIBLE_DEVICES")
        .filter(|given| !given.is_unknown() && given.list().len() > 1)
        .cloned();
    if let Some(given) = visible {
        reading.not_modelled(
            &given,
            "Without NPROC_PER_NODE one process lays the blocks out over these GPUs; one is \
             counted.",
        );
    }
    Ok(1)
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let scenario = writing.scenario;
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    let kind = objective::kind_of(scenario);
    if kind == "sft" || matches!(kind, "dpo" | "orpo" | "reward") {
        writing.is_said(&[FieldId::Objective, FieldId::Reference]);
    }
    let verb = if kind == "sft" {
        "sft"
    } else {
        writing.say("rlhf_type", Some(if kind == "reward" { "rm" } else { kind }.to_owned()), &[]);
        "rlhf"
    };
    writing.say(
        "max_length",
        Some(whole(scenario, FieldId::SeqLength).to_string()),
        &[FieldId::SeqLength],
    );
    words::say(writing, &HABITS, false);
    words::checkpointing(writing, "gradient_checkpointing");
    let choices = [
        (Weights::Short, Mixed::Bf16),
        (Weights::Short, Mixed::Fp16),
        (Weights::Full, Mixed::Bf16),
        (Weights::Full, Mixed::No),
        (Weights::Short, Mixed::No),
    ];
    if let Some((weights, mixed)) = words::formats(writing, &choices) {
        let dtype = match (weights, mixed) {
            (Weights::Full, _) => "float32",
            (_, Mixed::Fp16) => "float16",
            _ => "bfloat16",
        };
        writing.say("torch_dtype", Some(dtype.to_owned()), &[]);
        words::mixed(writing, mixed);
    }
    write_tuner(writing);
    words::tower(writing, "freeze_vit");
    writing.table();
    let flags = words::with_list(&writing.as_flags(), "target_modules");
    let environment = words::environment(writing, &[("NPROC_PER_NODE", gpus.to_string())]);
    format!("{environment}swift {verb} \\\n    --model {model}{flags}\n")
}

fn write_tuner(writing: &mut Writing<'_>) {
    let method = adapters::method_of(writing);
    if !matches!(method, "full" | "lora" | "qlora" | "lora8" | "dora") {
        return;
    }
    let kind = if method == "full" { "full" } else { "lora" };
    writing.say("tuner_type", Some(kind.to_owned()), &[FieldId::Method]);
    match method {
        "qlora" | "lora8" => {
            let bits = if method == "qlora" { "4" } else { "8" };
            writing.say("quant_method", Some("bnb".to_owned()), &[]);
            writing.say("quant_bits", Some(bits.to_owned()), &[]);
        }
        "dora" => writing.say("use_dora", Some("true".to_owned()), &[]),
        _ => {}
    }
    if method != "full" && !is_on(writing.scenario, FieldId::PrepareKbit) {
        adapters::say(writing, "target_modules", "modules_to_save", " ");
    }
}
