//! Unsloth: Python scripts with `FastLanguageModel.from_pretrained(…)`, `get_peft_model(…)` and a
//! Trainer, as far as arguments are literals.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::run::{Habits, Mixed, TRAINER, Weights, settle};
use crate::launch::shared::{
    adapters, is_on, objective, python, stated_on, trainer, whole, word, words,
};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "unsloth",
    label: "Unsloth",
    version: "Unsloth 2026.10.9",
    source: "https://github.com/unslothai/unsloth/blob/main/unsloth/models/loader.py",
    place: 10,
    role: FormatRole::Whole,
    open,
    flags: &[FLAGS, trainer::TRAINER, adapters::FURTHER],
    begin,
    end,
    write: Some(write),
    further: &[FieldId::Model, FieldId::Precision, FieldId::Method],
};

const HABITS: Habits = Habits {
    weights: |reading| match reading.stated(&["dtype"]).map(trainer::dtype).as_deref() {
        Some("float32") => Weights::Full,
        _ => Weights::Short,
    },
    mixed: |_| Mixed::Bf16,
    ..TRAINER
};

/// Classes of Trainers' arguments, each with its kind of run.
const CONFIGS: [(&str, &str); 6] = [
    ("SFTConfig", "sft"),
    ("UnslothTrainingArguments", "sft"),
    ("TrainingArguments", "sft"),
    ("DPOConfig", "dpo"),
    ("GRPOConfig", "grpo"),
    ("ORPOConfig", "orpo"),
];

const FLAGS: &[Flag] = &[
    Flag::by(&["model_name_or_path"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::by(&["command"], |reading, given| {
        let kind = given.text();
        objective::take(reading, given, &kind);
        Ok(())
    }),
    Flag::by(&["kernels"], |reading, given| {
        reading.not_modelled(
            given,
            "Unsloth's kernels save less than transformers' modules, with which blocks are \
             counted.",
        );
        Ok(())
    }),
    Flag::by(&["max_seq_length"], |reading, given| {
        let tokens = given.whole()?;
        if !(1..=100_000_000).contains(&tokens) {
            return Err(format!("takes a number of tokens, not “{tokens}”"));
        }
        reading.read(given, FieldId::SeqLength, Value::Integer(tokens));
        Ok(())
    }),
    Flag::together(&[
        "load_in_4bit",
        "load_in_8bit",
        "load_in_16bit",
        "full_finetuning",
        "dtype",
        "model_object",
        "use_peft",
    ]),
    Flag::words(&["attn_implementation"], FieldId::Attention, trainer::ATTENTION),
    Flag::by(&["use_gradient_checkpointing"], checkpointing),
    Flag::sets(&["r"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout"], FieldId::LoraDropout),
    Flag::by(&["target_modules"], adapters::TARGETS),
    Flag::by(&["modules_to_save"], adapters::SAVED),
    Flag::switch(&["packing"], FieldId::Packing),
    Flag::together(&[
        "max_prompt_length",
        "max_completion_length",
        "use_vllm",
        "vllm_mode",
        "beta",
        "max_length",
    ]),
    Flag::not_modelled_unless(
        &["load_in_fp8"],
        &["false"],
        "Weights of 8 bits under adapters are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["fast_inference", "unsloth_tiled_mlp"],
        &["false"],
        "It takes or saves memory that is not counted.",
    ),
    Flag::not_modelled_unless(
        &["qat_scheme"],
        &["null"],
        "Weights that pretend to have fewer bits.",
    ),
    Flag::not_modelled_unless(
        &[
            "finetune_vision_layers",
            "finetune_language_layers",
            "finetune_attention_modules",
            "finetune_mlp_modules",
        ],
        &["true"],
        "Adapters are counted beside the layers that are named.",
    ),
    Flag::not_modelled_unless(
        &["finetune_last_n_layers", "offload_layers"],
        &["null"],
        "Adapters are counted in every block.",
    ),
    Flag::not_modelled_unless(
        &["checkpoint_skip_layers"],
        &["0"],
        "Every block is counted as recomputed.",
    ),
    Flag::not_modelled(
        &["gpu_memory_utilization", "vllm_gpu_memory_utilization"],
        "The engine's share of the GPU.",
    ),
    Flag::no_effect(&[
        "random_state",
        "temporary_location",
        "max_lora_rank",
        "vllm_sampling_params",
        "loss_type",
        "embedding_learning_rate",
    ]),
    Flag::no_effect(&[
        "num_generations",
        "temperature",
        "dataset_text_field",
        "dataset_num_proc",
        "dataset_kwargs",
        "completion_only_loss",
    ]),
    Flag::no_effect(&[
        "epsilon",
        "epsilon_high",
        "delta",
        "mask_truncated_completions",
        "loss_weights",
        "log_completions",
    ]),
    Flag::no_effect(&[
        "bnb_4bit_use_double_quant",
        "bnb_4bit_quant_type",
        "bnb_4bit_compute_dtype",
    ]),
    Flag::not_modelled_unless(
        &["offload_embedding", "float32_mixed_precision", "float8_kv_cache"],
        &["false", "null"],
        "It is not counted.",
    ),
    Flag::not_modelled_unless(
        &["resize_model_vocab"],
        &["null"],
        "A larger vocabulary is not counted.",
    ),
    Flag::not_modelled_unless(
        &["finetune_audio_layers", "return_logits"],
        &["false"],
        "It takes memory that is not counted.",
    ),
    Flag::not_modelled_unless(
        &["device_map", "device_map_planner_kwargs"],
        &["sequential", "null"],
        "Weights over several GPUs.",
    ),
    Flag::no_effect(&[
        "token",
        "rope_scaling",
        "fix_tokenizer",
        "trust_remote_code",
        "use_exact_model_name",
        "disable_log_stats",
    ]),
    Flag::no_effect(&[
        "text_only",
        "on_model_resolved",
        "fullgraph",
        "auto_model",
        "whisper_language",
        "whisper_task",
    ]),
    Flag::no_effect(&["unsloth_force_compile", "model", "tokenizer"]),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let calls = text.calls();
    let loads = calls.iter().find(|call| {
        let class = call.name.rsplit('.').nth(1).unwrap_or_default();
        matches!(
            class,
            "FastLanguageModel"
                | "FastModel"
                | "FastVisionModel"
                | "FastQwen3Model"
                | "FastLlamaModel"
        )
    })?;
    let called = |class: &str| calls.iter().any(|call| call.name.rsplit('.').next() == Some(class));
    let (class, kind) = CONFIGS
        .iter()
        .find(|(class, _)| called(class))
        .copied()
        .unwrap_or(("get_peft_model", "sft"));
    let mut stated = python::stated(text, &[class])?;
    stated.given.insert(0, Given::new("command", kind, loads.place));
    stated.given.push(Given::new("kernels", "Unsloth", loads.place));
    // A script may choose bf16 or fp16 by asking the GPU; such a value is unknown here and dropped.
    stated
        .given
        .retain(|given| !(matches!(given.key.as_str(), "bf16" | "fp16") && given.is_unknown()));
    Some(Ok(stated))
}

fn begin(reading: &mut Reading<'_>) {
    trainer::begin(reading);
    reading.default("load_in_4bit", FieldId::Method, Value::Choice("qlora"));
    reading.default("max_seq_length", FieldId::SeqLength, Value::Integer(2048));
    reading.default("use_gradient_checkpointing", FieldId::Recompute, Value::Choice("full"));
    reading.default("use_gradient_checkpointing", FieldId::OffloadActivations, Value::Flag(true));
    reading.default("r", FieldId::Rank, Value::Integer(16));
    reading.default("lora_alpha", FieldId::LoraAlpha, Value::Decimal(16.0));
    // `unsloth_zoo`'s fused losses write the logits of one chunk of tokens at a time, never all.
    reading.default("loss", FieldId::Loss, Value::Choice("cut"));
    reading.scenario.set(FieldId::Precision, Value::Choice("bf16-pure"));
    reading.scenario.set(FieldId::Autocast, Value::Flag(true));
    // Unsloth's loader sets double quantisation in its `BitsAndBytesConfig`.
    reading.scenario.set(FieldId::DoubleQuant, Value::Flag(true));
    adapters::default_targets(reading, &adapters::SEVEN);
}

/// `"unsloth"` moves the inputs of blocks to host memory; `True` keeps them on the GPU.
fn checkpointing(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let (recompute, offloads) = match (given.text().as_str(), given.is_on()) {
        ("unsloth", _) => ("full", true),
        (_, Some(true)) => ("full", false),
        (_, Some(false)) => ("none", false),
        (other, None) => return Err(format!("takes True, False or \"unsloth\", not “{other}”")),
    };
    reading.read(given, FieldId::Recompute, Value::Choice(recompute));
    reading.read(given, FieldId::OffloadActivations, Value::Flag(offloads));
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let on = |reading: &Reading<'_>, flag| stated_on(reading, &[flag]);
    let full = on(reading, "full_finetuning") == Some(true);
    let other =
        on(reading, "load_in_8bit") == Some(true) || on(reading, "load_in_16bit") == Some(true);
    let four_bits = on(reading, "load_in_4bit").unwrap_or(!other) && !full;
    let bits = if four_bits { 4 } else { 16 };
    adapters::method(reading, !full, bits, false, "load_in_4bit");
    if on(reading, "load_in_8bit") == Some(true)
        && let Some(given) = reading.stated(&["load_in_8bit"]).cloned()
    {
        reading.not_modelled(&given, "Weights of 8 bits under adapters are counted in 16.");
    }
    objective::answers(reading, 256)?;
    settle(reading, &HABITS, Some(1))
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let scenario = writing.scenario;
    let method = adapters::method_of(writing);
    if whole(scenario, FieldId::Gpus) == 1 {
        writing.is_said(&[FieldId::Gpus]);
    }
    if word(scenario, FieldId::Objective) == "sft" {
        writing.is_said(&[FieldId::Objective]);
    }
    let mut loads = vec![format!(
        "    model_name = \"{model}\",\n    max_seq_length = {},\n",
        whole(scenario, FieldId::SeqLength)
    )];
    writing.is_said(&[FieldId::SeqLength]);
    let python = |on: bool| if on { "True" } else { "False" };
    loads.push(format!(
        "    load_in_4bit = {},\n    full_finetuning = {},\n",
        python(method == "qlora"),
        python(method == "full")
    ));
    if matches!(method, "qlora" | "lora" | "full") {
        writing.is_said(&[FieldId::Method]);
    }
    let recompute =
        match (word(scenario, FieldId::Recompute), is_on(scenario, FieldId::OffloadActivations)) {
            ("full", true) => Some("\"unsloth\""),
            ("full", false) => Some("True"),
            ("none", false) => Some("False"),
            _ => None,
        };
    if let Some(recompute) = recompute {
        loads.push(format!("    use_gradient_checkpointing = {recompute},\n"));
        writing.is_said(&[FieldId::Recompute, FieldId::OffloadActivations]);
    }
    if words::formats(writing, &[(Weights::Short, Mixed::Bf16)]).is_some() {
        words::mixed(writing, Mixed::Bf16);
    }
    if word(scenario, FieldId::Loss) == "cut" {
        writing.is_said(&[FieldId::Loss]);
    }
    words::say(writing, &HABITS, false);
    let mut adapted = Vec::new();
    if method != "full" {
        let before = writing.items.len();
        adapters::say(writing, "target_modules", "modules_to_save", ",");
        for item in writing.items.drain(before..) {
            let names: Vec<String> = item
                .value
                .unwrap_or_default()
                .split(',')
                .map(|name| format!("\"{name}\""))
                .collect();
            adapted.push(format!("    {} = [{}],\n", item.key, names.join(", ")));
        }
    }
    writing.table();
    finished(writing, &loads.concat(), &adapted.concat(), method)
}

/// Assembles the script.
fn finished(writing: &Writing<'_>, loads: &str, adapted: &str, method: &str) -> String {
    const OF_ADAPTERS: [&str; 3] = ["r", "lora_alpha", "lora_dropout"];
    let value = |text: &str| match text {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        text if text.parse::<f64>().is_ok() => text.to_owned(),
        text if text.starts_with('{') => text.to_owned(),
        text => format!("\"{text}\""),
    };
    let line = |key: &str, text: &Option<String>| {
        format!("    {key} = {},\n", text.as_ref().map_or("True".to_owned(), |text| value(text)))
    };
    let mut adapters = adapted.to_owned();
    let mut config = String::new();
    for item in &writing.items {
        if OF_ADAPTERS.contains(&item.key.as_str()) { &mut adapters } else { &mut config }
            .push_str(&line(&item.key, &item.value));
    }
    // In full fine-tuning `get_peft_model` does nothing, so it is not written.
    let peft = if method == "full" && adapters.is_empty() {
        String::new()
    } else {
        format!("model = FastLanguageModel.get_peft_model(\n    model,\n{adapters})\n")
    };
    format!(
        "from trl import SFTConfig\nfrom unsloth import FastLanguageModel\nmodel, tokenizer = \
         FastLanguageModel.from_pretrained(\n{loads})\n{peft}args = SFTConfig(\n{config})\n"
    )
}
