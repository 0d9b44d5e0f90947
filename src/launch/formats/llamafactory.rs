//! LLaMA-Factory: its files in YAML, and `llamafactory-cli train`.

use super::{FormatRole, FormatSpec};
use crate::launch::report::Way;
use crate::launch::shared::run::{self, Habits, Mixed, TRAINER, Weights, settle};
use crate::launch::shared::tables::llamafactory::QUIET;
use crate::launch::shared::{
    adapters, is_file, is_on, objective, stated_on, stated_whole, trainer, whole, word, words,
};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "llamafactory",
    label: "LLaMA-Factory",
    version: "LLaMA-Factory 0.9.5",
    source: "https://github.com/hiyouga/LlamaFactory/blob/v0.9.5/src/llamafactory/hparams/finetuning_args.py",
    place: 13,
    role: FormatRole::Whole,
    open,
    flags: &[FLAGS, QUIET, trainer::TRAINER],
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
    // Weights are loaded in the format of `bf16` or `fp16`, and trained ones are cast to fp32
    // (`model/adapter.py`).
    weights: |reading| {
        if stated_on(reading, &["pure_bf16"]) == Some(true) {
            Weights::Short
        } else {
            Weights::LearnInFull
        }
    },
    // `get_train_args` of hparams/parser.py switches it off for LoRA.
    finds_unused: |full, recomputes| full && !recomputes,
    ..TRAINER
};

const FLAGS: &[Flag] = &[
    Flag::by(&["model_name_or_path"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::together(&[
        "",
        "pure_bf16",
        "finetuning_type",
        "quantization_bit",
        "use_dora",
        "freeze_trainable_layers",
    ])
    .taking(Takes::Optional),
    Flag::by(&["stage"], |reading, given| {
        let kind = given.text();
        objective::take(reading, given, &kind);
        Ok(())
    }),
    Flag::together(&["pref_loss"]),
    Flag::sets(&["cutoff_len"], FieldId::SeqLength),
    Flag::sets(&["lora_rank"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout"], FieldId::LoraDropout),
    Flag::by(&["lora_target"], adapters::TARGETS),
    Flag::by(&["additional_target"], adapters::SAVED),
    Flag::switch(&["double_quantization"], FieldId::DoubleQuant),
    Flag::not_modelled_unless(
        &["quantization_method"],
        &["bnb", "bitsandbytes"],
        "Of weights in few bits, bitsandbytes' 4 are modelled.",
    ),
    Flag::not_modelled_unless(
        &["quantization_type"],
        &["nf4", "fp4"],
        "Weights of 4 bits are counted as NF4.",
    ),
    Flag::words(
        &["flash_attn"],
        FieldId::Attention,
        &[
            ("fa2", "flash"),
            ("fa3", "flash"),
            ("sdpa", "flash"),
            ("auto", "flash"),
            ("disabled", "standard"),
        ],
    ),
    Flag::by(&["enable_liger_kernel"], trainer::liger).taking(Takes::Optional),
    Flag::by(&["disable_gradient_checkpointing"], |reading, given| {
        let off =
            given.is_on().ok_or_else(|| format!("takes true or false, not “{}”", given.text()))?;
        reading.read(given, FieldId::Recompute, Value::Choice(if off { "none" } else { "full" }));
        Ok(())
    })
    .taking(Takes::Optional),
    Flag::by(&["use_unsloth_gc"], |reading, given| {
        if given.is_on() == Some(true) {
            reading.derive(
                given,
                FieldId::OffloadActivations,
                Value::Flag(true),
                "Inputs of blocks wait in host memory.",
            );
        } else {
            reading.tell(given, Way::NoEffect, String::new());
        }
        Ok(())
    })
    .taking(Takes::Optional),
    Flag::switch(&["packing", "neat_packing"], FieldId::Packing),
    Flag::switch(&["freeze_vision_tower"], FieldId::FrozenTower),
    Flag::by(&["image_max_pixels"], |reading, given| pixels(reading, given, FieldId::MostPixels)),
    Flag::by(&["image_min_pixels"], |reading, given| pixels(reading, given, FieldId::FewestPixels)),
    Flag::not_modelled_unless(
        &["freeze_multi_modal_projector"],
        &["true"],
        "A projector that learns is counted as one that does.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["freeze_language_model"],
        &["false"],
        "The text's part is counted as learning.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(&["use_unsloth"], &["false"], "Unsloth's kernels are not modelled.")
        .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["shift_attn", "mixture_of_depths", "use_llama_pro"],
        &["false", "null"],
        "Another model than the file's.",
    ),
    Flag::not_modelled_unless(
        &["use_galore", "use_apollo", "use_badam", "use_adam_mini", "use_muon"],
        &["false"],
        "This optimizer is not modelled: AdamW's states are counted.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["use_mca", "use_hyper_parallel", "use_kt"],
        &["false"],
        "Another engine of training.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &[
            "use_dft_loss",
            "use_asft_loss",
            "use_eaft_loss",
            "upcast_lmhead_output",
            "upcast_layernorm",
        ],
        &["false"],
        "It makes tensors in fp32 that are not counted.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["fp8", "fp8_enable_fsdp_float8_all_gather"],
        &["false"],
        "Products in 8 bits are not modelled here.",
    ),
    Flag::not_modelled_unless(&["resize_vocab"], &["false"], "A larger vocabulary is not counted.")
        .taking(Takes::Optional),
    Flag::not_modelled_unless(
        &["add_tokens", "add_special_tokens", "new_special_tokens_config"],
        &["null"],
        "New tokens are not counted.",
    ),
    Flag::not_modelled_unless(
        &["moe_aux_loss_coef"],
        &["null", "0"],
        "The auxiliary loss keeps the routers' scores.",
    ),
    Flag::not_modelled_unless(
        &["pissa_init"],
        &["false"],
        "Its start changes how weights are stored.",
    )
    .taking(Takes::Optional),
    Flag::not_modelled(
        &["ref_model", "reward_model"],
        "It is counted as large as the model itself.",
    ),
    Flag::not_modelled_unless(
        &["ref_model_quantization_bit", "reward_model_quantization_bit", "export_quantization_bit"],
        &["null"],
        "It is counted in the format of the weights.",
    ),
    Flag::not_modelled(
        &["module_dropout", "oft_rank", "oft_block_size", "oft_target"],
        "Another kind of adapter.",
    ),
    Flag::not_modelled(
        &["freeze_trainable_modules", "freeze_extra_modules"],
        "Whole blocks are counted as learning.",
    ),
    Flag::not_modelled_unless(
        &["train_from_scratch"],
        &["false"],
        "The Trainer then starts from weights that nobody trained.",
    ),
    Flag::not_modelled_unless(
        &["quantization_device_map"],
        &["null"],
        "Weights over several GPUs.",
    ),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let command = text.invocations().iter().find_map(|run| {
        let is_cli = matches!(run.program.as_str(), "llamafactory-cli" | "lmf")
            && run.starts(&run.program, &["train"]);
        let is_script =
            matches!(run.program.as_str(), "train_bash.py" | "train.py" | "launcher.py")
                && run.arguments.iter().enumerate().any(|(at, word)| {
                    word.text == "--stage"
                        || word.text == "--finetuning_type"
                        || (at == 0 && is_file(&word.text))
                });
        (is_cli || is_script).then(|| run.stated(usize::from(is_cli), FORMAT.flags))
    });
    if let Some(mut stated) = command {
        // After a file of settings, `key=value` replaces the file's key.
        for given in stated.given.iter_mut().filter(|given| given.key.is_empty()) {
            if let Some((key, value)) = given.text().split_once('=') {
                *given = Given::new(key, value, given.place);
            }
        }
        return Some(Ok(stated));
    }
    let keys = text.keys_with(&["finetuning_type", "stage", "cutoff_len", "lora_target"])?;
    let is_its_own = |keys: &[Given]| keys.iter().any(|given| given.key == "model_name_or_path");
    match keys {
        Ok(keys) if is_its_own(&keys) => {
            Some(Ok(Stated::of(keys).nested("deepspeed").nested("fsdp_config")))
        }
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }
}

fn begin(reading: &mut Reading<'_>) {
    trainer::begin(reading);
    reading.default("finetuning_type", FieldId::Method, Value::Choice("lora"));
    reading.default("cutoff_len", FieldId::SeqLength, Value::Integer(2048));
    reading.default("lora_rank", FieldId::Rank, Value::Integer(8));
    reading.default("disable_gradient_checkpointing", FieldId::Recompute, Value::Choice("full"));
    reading.scenario.set(FieldId::LoraAlpha, Value::Decimal(16.0));
    reading.scenario.set(FieldId::Precision, Value::Choice("bf16-pure"));
    adapters::default_targets(reading, &["all"]);
    let file = reading.stated(&[""]).filter(|given| is_file(&given.text())).cloned();
    let Some(given) = file else { return };
    match reading.beside_named(&given.text()).and_then(|text| text.keys().cloned()) {
        Some(Ok(keys)) => {
            reading.tell(&given, Way::Read, "Read from the file beside the command.".to_owned());
            reading.begin_with(Stated::of(keys).nested("deepspeed").nested("fsdp_config").given);
        }
        _ => reading.tell(
            &given,
            Way::Unknown,
            format!("Paste or drop {} beside the command, too.", given.text()),
        ),
    }
}

fn pixels(reading: &mut Reading<'_>, given: &Given, id: FieldId) -> Result<(), String> {
    // The example files write pixels as a product: `768*768`.
    let text = given.text();
    let factors: Option<Vec<u64>> = text.split('*').map(|part| part.trim().parse().ok()).collect();
    let pixels = factors.and_then(|factors| factors.into_iter().try_fold(1u64, u64::checked_mul));
    let pixels = pixels.filter(|pixels| (1..=1_000_000_000).contains(pixels));
    let pixels = pixels.ok_or_else(|| format!("takes a number of pixels, not “{text}”"))?;
    reading.read(given, id, Value::Integer(pixels));
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let kind = reading.stated(&["finetuning_type"]).cloned();
    let word = kind.as_ref().map_or_else(|| "lora".to_owned(), Given::text);
    let bits = stated_whole(reading, &["quantization_bit"])?;
    let dora = stated_on(reading, &["use_dora"]) == Some(true);
    adapters::method(reading, word == "lora", bits.unwrap_or(16), dora, "finetuning_type");
    if let (Some(bits), Some(given)) = (bits, reading.stated(&["quantization_bit"]).cloned()) {
        adapters::tell_bits(reading, &given, bits);
    }
    match (word.as_str(), kind) {
        ("freeze", Some(given)) => frozen(reading, &given)?,
        ("lora" | "full", _) | (_, None) => {}
        (_, Some(given)) => {
            reading.not_modelled(
                &given,
                "This way of tuning is not modelled: all parameters are counted as learning.",
            );
        }
    }
    if reading.stated(&["lora_alpha"]).is_none() {
        // Alpha is twice the rank by default (`FinetuningArguments.__post_init__`).
        let rank = u32::try_from(whole(&reading.scenario, FieldId::Rank)).unwrap_or(u32::MAX);
        reading.scenario.set(FieldId::LoraAlpha, Value::Decimal(f64::from(rank) * 2.0));
    }
    if let Some(given) = reading.stated(&["pref_loss"]).cloned() {
        let reference = !matches!(given.text().as_str(), "orpo" | "simpo");
        reading.derive(&given, FieldId::Reference, Value::Flag(reference), "");
    }
    run::frozen_tower(reading, "freeze_vision_tower");
    settle(reading, &HABITS, None)?;
    let on = |name| reading.environment(name).and_then(Given::is_on);
    let launches =
        on("FORCE_TORCHRUN") == Some(true) || whole(&reading.scenario, FieldId::Gpus) > 1;
    if launches && reading.launcher_flags().is_empty() && on("OPTIM_TORCH") != Some(false) {
        let how = "llamafactory-cli sets expandable_segments for several processes.";
        reading.follows("OPTIM_TORCH", FieldId::ExpandableSegments, Value::Flag(true), how);
    }
    Ok(())
}

/// Freeze tuning: the last blocks are trained; embedding and head are not.
fn frozen(reading: &mut Reading<'_>, given: &Given) -> Result<(), LaunchError> {
    let learn = stated_whole(reading, &["freeze_trainable_layers"])?.unwrap_or(2);
    let Value::Integer(blocks) = reading.scenario.get(FieldId::NumHiddenLayers) else {
        reading.not_modelled(given, "How many blocks the model has is not known.");
        return Ok(());
    };
    reading.scenario.set(FieldId::Method, Value::Choice("full"));
    let how = "The last blocks learn.";
    reading.follows(
        "freeze_trainable_layers",
        FieldId::FrozenLayers,
        Value::Integer(blocks.saturating_sub(learn)),
        how,
    );
    reading.scenario.set(FieldId::FrozenEmbeddings, Value::Flag(true));
    reading.not_modelled(given, "The head is counted as learning.");
    Ok(())
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let scenario = writing.scenario;
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    let kind = objective::kind_of(scenario);
    let stage = match kind {
        "orpo" => "dpo",
        "reward" => "rm",
        other => other,
    };
    writing.say("stage", Some(stage.to_owned()), &[]);
    if matches!(kind, "sft" | "dpo" | "orpo" | "reward") {
        writing.is_said(&[FieldId::Objective, FieldId::Reference]);
        if kind == "orpo" {
            writing.say("pref_loss", Some("orpo".to_owned()), &[]);
        }
    }
    words::say(writing, &HABITS, true);
    if word(scenario, FieldId::Stack) == "liger" {
        writing.items.retain(|item| item.key != "use_liger_kernel");
        writing.say("enable_liger_kernel", Some("true".to_owned()), &[]);
    }
    match word(scenario, FieldId::Recompute) {
        "full" => writing.is_said(&[FieldId::Recompute]),
        "none" => writing.say(
            "disable_gradient_checkpointing",
            Some("true".to_owned()),
            &[FieldId::Recompute],
        ),
        _ => {}
    }
    let choices = [
        (Weights::LearnInFull, Mixed::Bf16),
        (Weights::LearnInFull, Mixed::No),
        (Weights::Short, Mixed::No),
        (Weights::Short, Mixed::Bf16),
    ];
    if let Some((weights, mixed)) = words::formats(writing, &choices) {
        words::mixed(writing, mixed);
        if weights == Weights::Short {
            writing.say("pure_bf16", Some("true".to_owned()), &[]);
        }
    }
    write_method(writing);
    words::tower(writing, "freeze_vision_tower");
    writing.table();
    let processes = [("FORCE_TORCHRUN", "1".to_owned()), ("NPROC_PER_NODE", gpus.to_string())];
    let mut environment = processes.to_vec();
    if !is_on(scenario, FieldId::ExpandableSegments) {
        environment.push(("OPTIM_TORCH", "0".to_owned()));
    }
    let environment = words::environment(writing, &environment);
    format!(
        "{environment}llamafactory-cli train \\\n    --model_name_or_path {model} \\\n    \
         --do_train true{}\n",
        writing.as_flags()
    )
}

fn write_method(writing: &mut Writing<'_>) {
    let method = adapters::method_of(writing);
    if !matches!(method, "full" | "lora" | "qlora" | "lora8" | "dora") {
        return;
    }
    let kind = if method == "full" { "full" } else { "lora" };
    writing.say("finetuning_type", Some(kind.to_owned()), &[FieldId::Method]);
    match method {
        "qlora" => writing.say("quantization_bit", Some("4".to_owned()), &[]),
        "lora8" => writing.say("quantization_bit", Some("8".to_owned()), &[]),
        "dora" => writing.say("use_dora", Some("true".to_owned()), &[]),
        _ => {}
    }
    if method != "full" {
        adapters::say(writing, "lora_target", "additional_target", ",");
        if let Some(item) = writing
            .items
            .iter_mut()
            .find(|item| item.key == "lora_target" && item.value.as_deref() == Some("all-linear"))
        {
            item.value = Some("all".to_owned());
        }
    }
}
