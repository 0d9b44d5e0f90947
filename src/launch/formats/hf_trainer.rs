//! Hugging Face's Trainer: scripts such as `run_clm.py` with its arguments, the arguments in JSON
//! or YAML, and `TrainingArguments(…)` in Python.

use super::{FormatRole, FormatSpec};
use crate::launch::report::Way;
use crate::launch::shared::run::{Habits, Mixed, TRAINER, Weights, settle};
use crate::launch::shared::{adapters, python, stated_on, trainer, whole, word, words};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "hf_trainer",
    label: "Hugging Face Trainer",
    version: "transformers 5.24.0",
    source: "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
    place: 45, // after all others: its keys occur in their files, too
    role: FormatRole::Whole,
    open,
    flags: &[FLAGS, trainer::TRAINER, adapters::FURTHER],
    begin,
    end,
    write: Some(write),
    further: &[FieldId::Model, FieldId::Gpus, FieldId::Precision, FieldId::Method],
};

const HABITS: Habits = Habits {
    // transformers 5 loads weights in the format of the file (`dtype="auto"`): 16 bits in nearly
    // all of them.
    weights: |reading| match reading
        .stated(&["dtype", "torch_dtype"])
        .map(trainer::dtype)
        .as_deref()
    {
        Some("float32") => Weights::Full,
        _ => Weights::Short,
    },
    ..TRAINER
};

/// Arguments that scripts around the Trainer add: `run_clm.py` of transformers, and scripts derived
/// from Alpaca's and FastChat's.
const FLAGS: &[Flag] = &[
    Flag::by(&["model_name_or_path", "model_name", "model", "base_model"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::sets(
        &[
            "block_size",
            "model_max_length",
            "max_seq_length",
            "max_seq_len",
            "max_length",
            "cutoff_len",
            "max_source_length",
        ],
        FieldId::SeqLength,
    ),
    Flag::together(&["dtype", "torch_dtype", "model_object"]),
    Flag::words(&["attn_implementation", "attn_impl"], FieldId::Attention, trainer::ATTENTION),
    Flag::by(&["flash_attn", "use_flash_attn", "use_flash_attention_2"], |reading, given| {
        // Without this setting PyTorch uses its own flash kernel, so nothing changes.
        reading.tell(given, Way::NoEffect, String::new());
        Ok(())
    })
    .taking(Takes::Optional),
    Flag::together(&["use_lora", "lora_enable", "use_peft", "use_peft_lora", "lora"])
        .taking(Takes::Optional),
    Flag::together(&["q_lora", "load_in_4bit", "use_qlora", "use_4bit_quantization"])
        .taking(Takes::Optional),
    Flag::together(&["use_dora", "bits"]).taking(Takes::Optional),
    Flag::together(EIGHT_BITS).taking(Takes::Optional),
    Flag::sets(&["lora_r", "lora_rank", "r"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout"], FieldId::LoraDropout),
    Flag::by(&["lora_target_modules", "target_modules"], adapters::TARGETS).taking(Takes::Many),
    Flag::by(&["modules_to_save"], adapters::SAVED).taking(Takes::Many),
    Flag::switch(
        &["bnb_4bit_use_double_quant", "double_quant", "use_nested_quant"],
        FieldId::DoubleQuant,
    ),
    Flag::not_modelled_unless(
        &["bnb_4bit_quant_type", "quant_type"],
        &["nf4", "fp4"],
        "Weights of 4 bits are counted as NF4.",
    ),
    Flag::no_effect(&["bnb_4bit_compute_dtype", "bnb_4bit_quant_storage"]),
    Flag::switch(&["prepare_kbit"], FieldId::PrepareKbit),
    Flag::switch(&["packing"], FieldId::Packing),
    Flag::no_effect(&[
        "dataset_name",
        "dataset_config_name",
        "train_file",
        "validation_file",
        "test_file",
        "data_path",
        "eval_data_path",
    ]),
    Flag::no_effect(&[
        "validation_split_percentage",
        "max_train_samples",
        "max_eval_samples",
        "max_predict_samples",
        "streaming",
    ]),
    Flag::no_effect(&[
        "overwrite_cache",
        "preprocessing_num_workers",
        "keep_linebreaks",
        "dataset_text_field",
        "data_dir",
        "dataset",
    ]),
    Flag::no_effect(&[
        "config_name",
        "tokenizer_name",
        "cache_dir",
        "use_fast_tokenizer",
        "model_revision",
        "token",
        "use_auth_token",
    ]),
    Flag::no_effect(&[
        "trust_remote_code",
        "low_cpu_mem_usage",
        "config_overrides",
        "model_type",
        "lazy_preprocess",
        "version",
    ]),
    Flag::not_modelled_unless(&["use_unsloth"], &["false"], "Unsloth's kernels are not modelled.")
        .taking(Takes::Optional),
    Flag::no_effect(&[
        "chat_template_format",
        "add_special_tokens",
        "append_concat_token",
        "splits",
        "use_reentrant",
    ]),
    Flag::no_effect(&[
        "pad_to_max_length",
        "line_by_line",
        "mlm_probability",
        "use_slow_tokenizer",
        "lora_weight_path",
        "lora_bias",
    ]),
];

const EIGHT_BITS: &[&str] = &["load_in_8bit", "use_8bit_quantization"];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    /// Arguments that nearly every run of the Trainer states, and that identify one.
    const MARKS: [&str; 3] =
        ["--per_device_train_batch_size", "--gradient_accumulation_steps", "--num_train_epochs"];
    let command = text.invocations().iter().find(|run| {
        let says = |mark: &&str| {
            run.arguments.iter().any(|word| {
                word.text.split('=').next() == Some(mark)
                    || word.text.replace('-', "_") == mark.replace('-', "_")
            })
        };
        !run.program.is_empty()
            && MARKS.iter().any(says)
            && run.arguments.iter().any(|word| word.text.starts_with("--output"))
    });
    if let Some(run) = command {
        return Some(Ok(run.stated(0, FORMAT.flags)));
    }
    if let Some(stated) = python::stated(text, &["TrainingArguments", "Seq2SeqTrainingArguments"]) {
        return Some(Ok(stated));
    }
    let keys = text.keys_with(&[
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "gradient_accumulation_steps",
    ])?;
    let of_deepspeed =
        |keys: &[Given]| keys.iter().any(|given| given.key.starts_with("zero_optimization"));
    match keys {
        Ok(keys) if of_deepspeed(&keys) => None,
        Ok(keys) => Some(Ok(Stated::of(keys).nested("deepspeed").nested("fsdp_config"))),
        Err(error) => Some(Err(error)),
    }
}

fn begin(reading: &mut Reading<'_>) {
    trainer::begin(reading);
    reading.default("block_size", FieldId::SeqLength, Value::Integer(1024));
    reading.default("r", FieldId::Rank, Value::Integer(8));
    reading.default("lora_alpha", FieldId::LoraAlpha, Value::Decimal(8.0));
    reading.scenario.set(FieldId::DoubleQuant, Value::Flag(false));
    reading.scenario.set(FieldId::Precision, Value::Choice("bf16-pure"));
    adapters::default_targets(reading, &["q_proj", "v_proj"]);
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let on = |reading: &Reading<'_>, names: &[&str]| stated_on(reading, names) == Some(true);
    let bits = reading.stated(&["bits"]).map(Given::text);
    let four_bits = on(reading, &["q_lora", "load_in_4bit", "use_qlora", "use_4bit_quantization"])
        || bits.as_deref() == Some("4");
    let eight_bits = on(reading, EIGHT_BITS) || bits.as_deref() == Some("8");
    let said =
        stated_on(reading, &["use_lora", "lora_enable", "use_peft", "use_peft_lora", "lora"]);
    let adapts = said.unwrap_or_else(|| {
        reading.stated(&["lora_r", "lora_rank", "lora_target_modules"]).is_some()
            || four_bits
            || eight_bits
    });
    let dora = on(reading, &["use_dora"]);
    let bits = if four_bits {
        4
    } else if eight_bits {
        8
    } else {
        16
    };
    adapters::method(reading, adapts, bits, dora, "use_lora");
    let names = [EIGHT_BITS, &["bits"]].concat();
    if let Some(given) = reading.stated(&names).cloned().filter(|_| eight_bits) {
        adapters::tell_bits(reading, &given, bits);
    }
    settle(reading, &HABITS, None)
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let scenario = writing.scenario;
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    writing.say(
        "block_size",
        Some(whole(scenario, FieldId::SeqLength).to_string()),
        &[FieldId::SeqLength],
    );
    words::say(writing, &HABITS, true);
    words::checkpointing(writing, "gradient_checkpointing");
    let choices = [
        (Weights::Short, Mixed::No),
        (Weights::Short, Mixed::Bf16),
        (Weights::Full, Mixed::No),
        (Weights::Full, Mixed::Bf16),
    ];
    if let Some((weights, mixed)) = words::formats(writing, &choices) {
        let dtype = if weights == Weights::Full { "float32" } else { "bfloat16" };
        writing.say("dtype", Some(dtype.to_owned()), &[]);
        words::mixed(writing, mixed);
    }
    match adapters::method_of(writing) {
        "full" => writing.is_said(&[FieldId::Method]),
        method @ ("lora" | "qlora" | "lora8" | "dora") => {
            writing.say("use_lora", Some("true".to_owned()), &[FieldId::Method]);
            if method != "lora" {
                let key = match method {
                    "qlora" => "q_lora",
                    "lora8" => "load_in_8bit",
                    _ => "use_dora",
                };
                writing.say(key, Some("true".to_owned()), &[]);
            }
            adapters::say(writing, "lora_target_modules", "modules_to_save", " ");
        }
        _ => {}
    }
    if word(scenario, FieldId::Objective) == "sft" {
        writing.is_said(&[FieldId::Objective]);
    }
    writing.table();
    let flags = words::with_list(&writing.as_flags(), "lora_target_modules");
    let environment = words::environment(writing, &[]);
    format!(
        "{environment}torchrun --nproc_per_node {gpus} run_clm.py \\\n    --model_name_or_path \
         {model} \\\n    --output_dir output{flags}\n"
    )
}
