//! TRL: `trl sft|dpo|grpo|reward|kto …`, its scripts, its files of settings, and `SFTConfig(…)` and
//! similar classes in Python.

use super::{FormatRole, FormatSpec};
use crate::launch::report::Way;
use crate::launch::shared::run::{Habits, Mixed, TRAINER, Weights, settle};
use crate::launch::shared::tables::trl::QUIET;
use crate::launch::shared::{
    adapters, is_file, is_on, objective, python, stated_on, stated_whole, trainer, whole, word,
    words,
};
use crate::launch::{Flag, Given, LaunchError, Place, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "trl",
    label: "TRL",
    version: "TRL 1.16.0",
    source: "https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_config.py",
    place: 11,
    role: FormatRole::Whole,
    open,
    flags: &[FLAGS, QUIET, trainer::TRAINER, adapters::FURTHER],
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

/// Kinds of runs of TRL's command, each with the class of its arguments.
const KINDS: [(&str, &str); 7] = [
    ("sft", "SFTConfig"),
    ("dpo", "DPOConfig"),
    ("grpo", "GRPOConfig"),
    ("reward", "RewardConfig"),
    ("kto", "KTOConfig"),
    ("rloo", "RLOOConfig"),
    ("distillation", "DistillationConfig"),
];

const HABITS: Habits = Habits {
    // `ModelConfig.dtype` is float32 by default, and a model that the Trainer loads by name is in
    // float32 as well (`create_model_from_path`).
    weights: |reading| match reading
        .stated(&["dtype", "torch_dtype"])
        .map(trainer::dtype)
        .as_deref()
    {
        Some("float32") => Weights::Full,
        Some("" | "None") | None if stated_on(reading, &["model_object"]) != Some(true) => {
            Weights::Full
        }
        _ => Weights::Short,
    },
    mixed: |_| Mixed::Bf16,
    ..TRAINER
};

const FLAGS: &[Flag] = &[
    Flag::by(&["model_name_or_path", "model_name", "model"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::by(&["command"], |reading, given| {
        let kind = given.text();
        objective::take(reading, given, &kind);
        Ok(())
    }),
    Flag::by(&["max_length", "max_seq_length"], length),
    Flag::together(&[
        "max_completion_length",
        "max_prompt_length",
        "use_vllm",
        "vllm_mode",
        "vllm_enable_sleep_mode",
        "beta",
    ])
    .taking(Takes::Optional),
    Flag::together(&[
        "dtype",
        "torch_dtype",
        "model_object",
        "num_processes",
        "accelerate_config",
        "config",
        "",
    ]),
    Flag::words(&["attn_implementation"], FieldId::Attention, trainer::ATTENTION),
    Flag::together(&["use_peft", "use_dora", "load_in_4bit", "load_in_8bit"])
        .taking(Takes::Nothing),
    Flag::not_modelled_unless(&["load_in_16bit"], &["false"], "It is no argument of this version.")
        .taking(Takes::Optional),
    Flag::sets(&["lora_r", "r"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout"], FieldId::LoraDropout),
    Flag::by(&["lora_target_modules", "target_modules"], adapters::TARGETS).taking(Takes::Many),
    Flag::by(&["lora_modules_to_save", "modules_to_save"], adapters::SAVED).taking(Takes::Many),
    Flag::switch(&["use_bnb_nested_quant", "bnb_4bit_use_double_quant"], FieldId::DoubleQuant),
    Flag::not_modelled_unless(
        &["bnb_4bit_quant_type"],
        &["nf4", "fp4"],
        "Weights of 4 bits are counted as NF4.",
    ),
    Flag::no_effect(&["bnb_4bit_compute_dtype"]),
    Flag::not_modelled_unless(
        &["bnb_4bit_quant_storage"],
        &["uint8", "null"],
        "It changes what FSDP can share out.",
    ),
    Flag::switch(&["prepare_kbit"], FieldId::PrepareKbit),
    Flag::switch(&["activation_offloading"], FieldId::OffloadActivations),
    Flag::switch(&["packing"], FieldId::Packing),
    Flag::by(&["precompute_ref_log_probs"], |reading, given| {
        if given.is_on() == Some(true) {
            reading.read(given, FieldId::Reference, Value::Flag(false));
        } else {
            reading.tell(given, Way::NoEffect, String::new());
        }
        Ok(())
    })
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["loss_type"],
        &[
            "nll",
            "dft",
            "chunked_nll",
            "sigmoid",
            "hinge",
            "ipo",
            "kto",
            "dapo",
            "grpo",
            "bnpo",
            "dr_grpo",
            "apo_zero",
            "robust",
        ],
        "This loss may keep other tensors than the one that is counted.",
    )
    .taking(Takes::Many),
    Flag::not_modelled_unless(
        &["cast_lm_head_to_fp32"],
        &["false"],
        "A head in fp32 doubles its logits.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["router_aux_loss_coef"],
        &["0", "0.0", "null"],
        "The auxiliary loss keeps the routers' scores.",
    ),
    Flag::not_modelled(
        &["vllm_gpu_memory_utilization"],
        "The engine takes this share of the GPU; its weights and cache are counted here.",
    ),
    Flag::not_modelled_unless(
        &["vllm_tensor_parallel_size"],
        &["1"],
        "One engine over several GPUs is counted as one on each.",
    ),
    Flag::not_modelled_unless(
        &[
            "use_transformers_paged",
            "use_transformers_continuous_batching",
            "transformers_continuous_batching_config",
        ],
        &["false", "null"],
        "The cache of answers that the model generates itself is not counted.",
    ),
    Flag::not_modelled_unless(
        &["sync_ref_model"],
        &["false"],
        "The copy of the model is written anew in between.",
    )
    .taking(Takes::Optional),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    command(text).or_else(|| of_python(text)).map(Ok).or_else(|| of_file(text))
}

fn command(text: &Text<'_>) -> Option<Stated> {
    text.invocations().iter().find_map(|run| {
        let names =
            |word: &str| KINDS.iter().find(|(kind, _)| *kind == word).map(|(kind, _)| *kind);
        let first = run.arguments.first().map(|word| word.text.as_str()).unwrap_or_default();
        let (kind, skip) = if run.program == "trl" {
            (names(first)?, 1)
        } else {
            let script = run
                .program
                .strip_suffix(".py")
                .or_else(|| run.program.strip_prefix("trl.scripts."))?;
            let is_settings = |word: &str| {
                word.starts_with("--model_name") || word.starts_with("--config") || is_file(word)
            };
            run.arguments.iter().find(|word| is_settings(&word.text))?;
            (names(script.strip_prefix("run_").unwrap_or(script))?, 0)
        };
        let place = run.arguments.first().map_or(Place { line: 1, column: 1 }, |word| word.place);
        let mut stated = run.stated(skip, FORMAT.flags);
        stated.given.insert(0, Given::new("command", kind, place));
        Some(stated)
    })
}

fn of_python(text: &Text<'_>) -> Option<Stated> {
    let place = |class: &str| {
        text.calls()
            .iter()
            .find(|call| call.name.rsplit('.').next() == Some(class))
            .map(|call| call.place)
    };
    let classes = KINDS.iter().flat_map(|(kind, class)| {
        [(*kind, (*class).to_owned()), (*kind, class.replace("Config", "Trainer"))]
    });
    let (kind, class, place) = classes
        .filter_map(|(kind, class)| Some((kind, place(&class)?, class)))
        .map(|(kind, at, class)| (kind, class, at))
        .next()?;
    let mut stated = python::stated(text, &[class.as_str(), "TrainingArguments"])?;
    stated.given.insert(0, Given::new("command", kind, place));
    Some(stated)
}

/// A file of settings does not state the kind of run, which is inferred from keys that only one
/// kind has.
fn of_file(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    const ITS_OWN: [&str; 6] = [
        "dataset_name",
        "dataset_mixer",
        "dataset_mixture.datasets",
        "use_peft",
        "max_seq_length",
        "packing",
    ];
    let keys = text.keys_with(&["model_name_or_path"])?;
    let kind_of = |keys: &[Given]| {
        let has = |name: &str| {
            keys.iter().any(|given| given.key == name || given.key.starts_with(&format!("{name}.")))
        };
        let is_other =
            has("finetuning_type") || has("stage") || has("template") || has("cutoff_len");
        (!is_other && ITS_OWN.iter().any(|name| has(name))).then_some(if has("num_generations") {
            "grpo"
        } else if has("beta") || has("max_prompt_length") {
            "dpo"
        } else {
            "sft"
        })
    };
    match keys {
        Ok(keys) => kind_of(&keys).map(|kind| {
            let mut stated = Stated::of(keys).nested("deepspeed").nested("fsdp_config");
            stated.given.insert(0, Given::new("command", kind, Place { line: 1, column: 1 }));
            Ok(stated)
        }),
        Err(error) => Some(Err(error)),
    }
}

fn begin(reading: &mut Reading<'_>) {
    trainer::begin(reading);
    reading.default("gradient_checkpointing", FieldId::Recompute, Value::Choice("full"));
    reading.default("max_length", FieldId::SeqLength, Value::Integer(1024));
    reading.default("lora_r", FieldId::Rank, Value::Integer(16));
    reading.default("lora_alpha", FieldId::LoraAlpha, Value::Decimal(32.0));
    reading.scenario.set(FieldId::LoraDropout, Value::Decimal(0.05));
    reading.scenario.set(FieldId::DoubleQuant, Value::Flag(false));
    reading.scenario.set(FieldId::Loss, Value::Choice("trl"));
    reading.scenario.set(FieldId::Precision, Value::Choice("amp-bf16"));
    reading.scenario.set(FieldId::Autocast, Value::Flag(true));
    adapters::default_targets(reading, &["q_proj", "v_proj"]);
    if let Some(given) =
        reading.stated(&["config", ""]).filter(|given| is_file(&given.text())).cloned()
    {
        match reading.beside_named(&given.text()).and_then(|text| text.keys().cloned()) {
            Some(Ok(keys)) => {
                reading.tell(
                    &given,
                    Way::Read,
                    "Read from the file beside the command.".to_owned(),
                );
                reading
                    .begin_with(Stated::of(keys).nested("deepspeed").nested("fsdp_config").given);
            }
            _ => reading.tell(
                &given,
                Way::Unknown,
                format!("Paste or drop {} beside the command, too.", given.text()),
            ),
        }
    }
}

fn length(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.value.is_null() {
        reading
            .not_modelled(given, "Texts of any length: the longest decides, and it is not known.");
        return Ok(());
    }
    let tokens = given.whole()?;
    if !(1..=100_000_000).contains(&tokens) {
        return Err(format!("takes a number of tokens, not “{tokens}”"));
    }
    reading.read(given, FieldId::SeqLength, Value::Integer(tokens));
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let on = |reading: &Reading<'_>, flag| stated_on(reading, &[flag]) == Some(true);
    let four_bits = on(reading, "load_in_4bit");
    let eight_bits = on(reading, "load_in_8bit");
    let bits = if four_bits {
        4
    } else if eight_bits {
        8
    } else {
        16
    };
    let adapts = on(reading, "use_peft");
    let dora = on(reading, "use_dora");
    adapters::method(reading, adapts, bits, dora, "use_peft");
    if let Some(given) = reading.stated(&["load_in_8bit"]).cloned().filter(|_| eight_bits) {
        adapters::tell_bits(reading, &given, bits);
    }
    if adapts && bits < 16 {
        let how = "TRL casts adapters beside quantised weights to bf16.";
        let flag = if four_bits { "load_in_4bit" } else { "load_in_8bit" };
        reading.follows(flag, FieldId::AdapterDType, Value::Choice("weights"), how);
    }
    if reading.scenario.get(FieldId::Objective) == Value::Choice("grpo")
        && reading.stated(&["beta"]).is_none()
    {
        reading.follows(
            "beta",
            FieldId::Reference,
            Value::Flag(false),
            "TRL's beta is 0: no copy of the model is needed.",
        );
    }
    if word(&reading.scenario, FieldId::Stack) == "liger" {
        reading.follows(
            "use_liger_kernel",
            FieldId::Loss,
            Value::Choice("stack"),
            "Liger's loss takes the place of TRL's.",
        );
    }
    objective::answers(reading, 512)?;
    let gpus = stated_whole(reading, &["num_processes"])?;
    settle(reading, &HABITS, gpus)?;
    let generates = word(&reading.scenario, FieldId::Objective) == "grpo";
    if generates && word(&reading.scenario, FieldId::Rollout) != "apart" {
        let all = whole(&reading.scenario, FieldId::GlobalBatchSize)
            / whole(&reading.scenario, FieldId::Gpus).max(1);
        let how = "The answers of a step on one GPU.";
        reading.follows(
            "num_generations",
            FieldId::RolloutSequences,
            Value::Integer(all.max(1)),
            how,
        );
    }
    Ok(())
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let scenario = writing.scenario;
    let kind = objective::kind_of(scenario);
    let method = adapters::method_of(writing);
    writing.say(
        "num_processes",
        Some(whole(scenario, FieldId::Gpus).to_string()),
        &[FieldId::Gpus],
    );
    writing.say(
        "max_length",
        Some(whole(scenario, FieldId::SeqLength).to_string()),
        &[FieldId::SeqLength],
    );
    if matches!(kind, "sft" | "dpo" | "reward") {
        writing.is_said(&[FieldId::Objective, FieldId::Reference]);
    }
    words::say(writing, &HABITS, true);
    words::checkpointing(writing, "gradient_checkpointing");
    let choices = [
        (Weights::Full, Mixed::Bf16),
        (Weights::Short, Mixed::Bf16),
        (Weights::Full, Mixed::No),
        (Weights::Short, Mixed::No),
    ];
    if let Some((weights, mixed)) = words::formats(writing, &choices) {
        let dtype = if weights == Weights::Full { "float32" } else { "bfloat16" };
        writing.say("dtype", Some(dtype.to_owned()), &[]);
        words::mixed(writing, mixed);
    }
    let loss = if word(scenario, FieldId::Stack) == "liger" { "stack" } else { "trl" };
    if word(scenario, FieldId::Loss) == loss {
        writing.is_said(&[FieldId::Loss]);
    }
    write_adapters(writing, method);
    writing.table();
    let flags = words::with_list(&writing.as_flags(), "lora_target_modules");
    let environment = words::environment(writing, &[]);
    format!("{environment}trl {kind} \\\n    --model_name_or_path {model}{flags}\n")
}

/// Writes adapters as TRL's flags.
fn write_adapters(writing: &mut Writing<'_>, method: &str) {
    let adapter_dtype = if matches!(method, "qlora" | "lora8") { "weights" } else { "fp32" };
    if word(writing.scenario, FieldId::AdapterDType) == adapter_dtype {
        writing.is_said(&[FieldId::AdapterDType]);
    }
    let on = || Some("true".to_owned());
    match method {
        "full" => return writing.is_said(&[FieldId::Method]),
        "lora" => writing.say("use_peft", on(), &[FieldId::Method]),
        "dora" => {
            writing.say("use_peft", on(), &[FieldId::Method]);
            writing.say("use_dora", on(), &[]);
        }
        "qlora" | "lora8" => {
            let flag = if method == "qlora" { "load_in_4bit" } else { "load_in_8bit" };
            writing.say("use_peft", on(), &[FieldId::Method]);
            writing.say(flag, on(), &[]);
        }
        _ => return,
    }
    if is_on(writing.scenario, FieldId::PrepareKbit) {
        return;
    }
    adapters::say(writing, "lora_target_modules", "lora_modules_to_save", " ");
}
