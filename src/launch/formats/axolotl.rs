//! axolotl: its YAML, and `axolotl train FILE --key value` with that file.
//!
//! Read in axolotl 0.19.0: `utils/schemas/*.py` (keys and defaults), `loaders/model.py` (formats of
//! weights), `core/builders/*.py` and `core/trainers/base.py` (packing), `utils/__init__.py` (the
//! allocator's setting).

use super::{FormatRole, FormatSpec};
use crate::launch::shared::axolotl_kernels::{kernels_of, plugins};
use crate::launch::shared::axolotl_lengths::lengths;
use crate::launch::shared::axolotl_written::{OPTIMIZERS, write};
use crate::launch::shared::tables::axolotl::{NOT_MODELLED, QUIET};
use crate::launch::shared::{fsdp, layers, word, zero};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Way};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "axolotl",
    label: "axolotl",
    version: "axolotl 0.19.0",
    source: "https://github.com/axolotl-ai-cloud/axolotl/blob/v0.19.0/src/axolotl/utils/schemas/config.py",
    place: 30,
    role: FormatRole::Whole,
    open,
    flags: &[RUN, ADAPTERS, NOT_MODELLED, QUIET],
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::SeqLength,
        FieldId::MicroBatchSize,
        FieldId::GlobalBatchSize,
        FieldId::Packing,
        FieldId::Recompute,
        FieldId::Optimizer,
        FieldId::OptimizerImplementation,
        FieldId::PagedOptimizer,
        FieldId::Attention,
        FieldId::Stack,
        FieldId::Loss,
        FieldId::Method,
        FieldId::EvaluationBatch,
        FieldId::Sharding,
        FieldId::Precision,
    ],
};

const RUN: &[Flag] = &[
    Flag::by(&["base_model"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::by(&[""], |reading, given| reading.beneath(given, keys)),
    Flag::together(&[
        "sequence_len",
        "micro_batch_size",
        "gradient_accumulation_steps",
        "sample_packing",
    ]),
    Flag::together(&[
        "multipack_real_batches",
        "eval_batch_size",
        "val_set_size",
        "test_datasets",
        "eval_strategy",
    ]),
    Flag::together(&[
        "evaluation_strategy",
        "dp_shard_size",
        "dp_replicate_size",
        "tensor_parallel_size",
    ]),
    Flag::together(&[
        "context_parallel_size",
        "sequence_parallel_degree",
        "plugins",
        "liger_rope",
        "liger_rms_norm",
    ]),
    Flag::together(&[
        "liger_swiglu",
        "liger_glu_activation",
        "liger_fused_linear_cross_entropy",
        "cut_cross_entropy",
        "rl",
    ]),
    Flag::by(&["bf16"], bf16),
    Flag::by(&["gradient_checkpointing"], checkpointing),
    Flag::not_modelled_unless(
        &["gradient_checkpointing_kwargs.use_reentrant"],
        &["false"],
        "Reentrant checkpointing keeps other tensors.",
    ),
    Flag::by(&["optimizer"], optimizer),
    Flag::by(&["attn_implementation"], attention),
    Flag::by(&["flash_attention", "sdp_attention", "xformers_attention"], |reading, given| {
        unless_off(reading, given, "flash")
    }),
    Flag::by(&["eager_attention"], |reading, given| unless_off(reading, given, "standard")),
    Flag::sets(&["ddp_bucket_cap_mb"], FieldId::BucketCap),
    Flag::switch(&["ddp_find_unused_parameters"], FieldId::FindUnusedParameters),
    Flag::by(&["tf32"], |reading, given| {
        let on = given.is_on().unwrap_or(true);
        reading.read(given, FieldId::AllowTf32, Value::Flag(on));
        Ok(())
    }),
    Flag::together(&[
        "deepspeed",
        "deepspeed.*",
        "fsdp",
        "fsdp_version",
        "fsdp_config",
        "fsdp_config.*",
    ]),
];

const ADAPTERS: &[Flag] = &[
    Flag::by(&["adapter"], |reading, given| {
        let method = match given.text().as_str() {
            "lora" => "lora",
            "qlora" => "qlora",
            "" => return Ok(()),
            _ => {
                reading.not_modelled(given, "Adapters of this kind are not modelled.");
                return Ok(());
            }
        };
        reading.read(given, FieldId::Method, Value::Choice(method));
        Ok(())
    }),
    Flag::sets(&["lora_r"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout"], FieldId::LoraDropout),
    Flag::together(&["lora_target_modules", "lora_target_linear", "load_in_4bit", "load_in_8bit"]),
    Flag::together(&[
        "lora_mlp_kernel",
        "lora_qkv_kernel",
        "lora_o_kernel",
        "lora_embedding_kernel",
    ]),
    Flag::by(&["peft_use_dora"], |reading, given| {
        if given.is_on() == Some(true) {
            reading.read(given, FieldId::Method, Value::Choice("dora"));
        }
        Ok(())
    }),
    Flag::by(&["peft_autocast_adapter_dtype"], |reading, given| {
        let format = if given.is_on() == Some(false) { "weights" } else { "fp32" };
        reading.read(given, FieldId::AdapterDType, Value::Choice(format));
        Ok(())
    }),
    Flag::by(&["lora_modules_to_save"], |reading, given| {
        for name in given.list() {
            match name.as_str() {
                "embed_tokens" => reading.read(given, FieldId::SaveEmbedding, Value::Flag(true)),
                "lm_head" => reading.read(given, FieldId::SaveHead, Value::Flag(true)),
                _ => reading.not_modelled(given, "Embedding and head alone are inputs here."),
            }
        }
        Ok(())
    }),
    Flag::switch(&["bnb_config_kwargs.bnb_4bit_use_double_quant"], FieldId::DoubleQuant),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    keys(text).or_else(|| {
        text.invocations().iter().find_map(|run| {
            let is_module = run.program.starts_with("axolotl.cli.train");
            let skip =
                if run.starts("axolotl", &["train"]) { Some(1) } else { is_module.then_some(0) };
            skip.map(|skip| Ok(run.stated(skip, FORMAT.flags)))
        })
    })
}

/// A file of keys, recognised by the model's key and two more keys that no other tool has together.
fn keys(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    const OWN: [&str; 7] = [
        "micro_batch_size",
        "datasets",
        "adapter",
        "sequence_len",
        "sample_packing",
        "num_epochs",
        "gradient_accumulation_steps",
    ];
    match text.keys_with(&["base_model"])? {
        Ok(keys) => {
            let count = OWN.iter().filter(|name| keys.iter().any(|key| key.key == **name)).count();
            (count > 1).then(|| Ok(Stated::of(keys)))
        }
        Err(error) => Some(Err(error)),
    }
}

fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    reading.scenario.set(FieldId::Mode, choice("tune"));
    reading.scenario.set(FieldId::Stack, choice("eager"));
    reading.scenario.set(FieldId::Sharding, choice("none"));
    reading.scenario.set(FieldId::PrepareKbit, Value::Flag(false));
    reading.default("adapter", FieldId::Method, choice("full"));
    reading.default("bf16", FieldId::Precision, choice("bf16-pure"));
    reading.default("autocast", FieldId::Autocast, Value::Flag(true));
    reading.default("optimizer", FieldId::Optimizer, choice("adamw"));
    reading.default("optimizer", FieldId::OptimizerImplementation, choice("fused"));
    reading.default("gradient_checkpointing", FieldId::Recompute, choice("none"));
    reading.default("attn_implementation", FieldId::Attention, choice("flash"));
    reading.default("lora_dropout", FieldId::LoraDropout, Value::Decimal(0.0));
    reading.default("sequence_len", FieldId::SeqLength, Value::Integer(512));
    reading.default("micro_batch_size", FieldId::MicroBatchSize, Value::Integer(1));
    reading.default("gpus", FieldId::Gpus, Value::Integer(1));
    reading.default("gradient_accumulation_steps", FieldId::GlobalBatchSize, Value::Integer(1));
    reading.default("bnb_4bit_use_double_quant", FieldId::DoubleQuant, Value::Flag(true));
    // axolotl's `set_pytorch_cuda_alloc_conf` sets this from PyTorch 2.9 on.
    reading.default("PYTORCH_ALLOC_CONF", FieldId::ExpandableSegments, Value::Flag(true));
}

fn bf16(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let on = given.text() == "auto" || given.text() == "full" || given.is_on() == Some(true);
    reading.read(given, FieldId::Precision, Value::Choice(if on { "bf16-pure" } else { "fp32" }));
    reading.derive(given, FieldId::Autocast, Value::Flag(on && given.text() != "full"), "");
    Ok(())
}

fn checkpointing(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if let Some(on) = given.is_on() {
        reading.read(given, FieldId::Recompute, Value::Choice(if on { "full" } else { "none" }));
    } else {
        reading.derive(given, FieldId::Recompute, Value::Choice("full"), "");
        reading.not_modelled(
            given,
            "What waits in the host's memory is not modelled for the Trainer.",
        );
    }
    Ok(())
}

fn optimizer(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let Some((_, ours, steps, paged)) = OPTIMIZERS.iter().find(|(name, ..)| *name == given.text())
    else {
        reading.not_modelled(given, "This optimizer is not modelled under the Trainer.");
        return Ok(());
    };
    reading.read(given, FieldId::Optimizer, Value::Choice(ours));
    reading.derive(given, FieldId::OptimizerImplementation, Value::Choice(steps), "");
    reading.scenario.set(FieldId::PagedOptimizer, Value::Flag(*paged));
    Ok(())
}

fn attention(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    match given.text().as_str() {
        "flash_attention_2"
        | "flash_attention_3"
        | "flash_attention_4"
        | "flash_attention_torch"
        | "sdpa"
        | "flash" => {
            reading.read(given, FieldId::Attention, Value::Choice("flash"));
        }
        "eager" => reading.read(given, FieldId::Attention, Value::Choice("standard")),
        // These names are FlashAttention's kernels on the hub.
        name if name.contains("flash-attn") => {
            reading.read(given, FieldId::Attention, Value::Choice("flash"));
        }
        _ => reading.not_modelled(given, "Attention by this kernel is not modelled."),
    }
    Ok(())
}

fn unless_off(
    reading: &mut Reading<'_>,
    given: &Given,
    kernel: &'static str,
) -> Result<(), String> {
    if given.is_on() == Some(true) {
        reading.read(given, FieldId::Attention, Value::Choice(kernel));
    }
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    reading.allocator();
    adapters_of(reading);
    loaded_format(reading);
    plugins(reading);
    objective(reading);
    sharing(reading)?;
    lengths(reading)
}

/// DeepSpeed or FSDP, and the formats that they keep.
fn sharing(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let (precision, autocast) =
        (reading.scenario.get(FieldId::Precision), reading.scenario.get(FieldId::Autocast));
    if zero::of_axolotl(reading)? {
        if matches!(reading.scenario.get(FieldId::Sharding), Value::Choice("0" | "1" | "2" | "3")) {
            reading.follows(
                "bf16",
                FieldId::Precision,
                Value::Choice("bf16"),
                "DeepSpeed keeps fp32 weights beside.",
            );
            reading.follows(
                "bf16",
                FieldId::Autocast,
                Value::Flag(false),
                "DeepSpeed's engine has none.",
            );
        }
        return Ok(());
    }
    if !fsdp::of_axolotl(reading)? {
        return Ok(());
    }
    let mixed = autocast == Value::Flag(true);
    if mixed && word(&reading.scenario, FieldId::Method) == "full" {
        reading.follows(
            "bf16",
            FieldId::Precision,
            Value::Choice("fsdp-mixed"),
            "accelerate makes shards fp32 where they learn.",
        );
        reading.follows("bf16", FieldId::Autocast, Value::Flag(false), "");
    } else {
        reading.scenario.set(FieldId::Precision, precision);
        reading.scenario.set(FieldId::Autocast, autocast);
    }
    // accelerate's `MixedPrecision` reduces in the format that it computes in.
    reading.scenario.set(FieldId::ReduceInFp32, Value::Flag(!mixed));
    Ok(())
}

/// Experts in as few bits as linear layers (`monkeypatch/moe_quant.py`). Those of 8 bits are made
/// whole in fp32, which no kernel multiplies by groups. Code of a model's own may keep experts as
/// linear layers, which bitsandbytes packs by itself.
fn experts(reading: &mut Reading<'_>) {
    let packs = word(&reading.scenario, FieldId::Method);
    let on = |given: &Given| given.is_on() == Some(true);
    if let Some(given) = reading.stated(&["quantize_moe_experts"]).cloned().filter(on) {
        if packs == "qlora" {
            reading.read(&given, FieldId::PackExperts, Value::Flag(true));
        } else {
            reading.not_modelled(&given, "Experts in this format are not modelled.");
        }
    }
    let has_experts = matches!(reading.scenario.get(FieldId::NumExperts), Value::Integer(_));
    let own_code = reading.stated(&["trust_remote_code"]).cloned().filter(on);
    if let Some(given) = own_code.filter(|_| has_experts && matches!(packs, "qlora" | "lora8")) {
        reading.not_modelled(&given, "Experts are counted in 16 bits, as transformers keeps them.");
    }
}

/// gpt-oss's experts of 4 bits, which are made whole in 16 bits as they are loaded where that is
/// asked for (`Mxfp4Config` of transformers).
fn loaded_format(reading: &mut Reading<'_>) {
    let names = ["model_quantization_config", "model_quantization_config_kwargs.dequantize"];
    let stated = names.map(|name| reading.stated(&[name]).cloned());
    let is_whole = matches!(&stated, [Some(format), Some(whole)]
        if format.text() == "Mxfp4Config" && whole.is_on() == Some(true));
    for given in stated.into_iter().flatten() {
        if is_whole {
            reading.tell(
                &given,
                Way::Read,
                "Weights are made whole as they are loaded.".to_owned(),
            );
        } else {
            let why = "Weights in this format are not modelled for training.";
            reading.not_modelled(&given, why);
        }
    }
}

/// Formats of frozen weights, and the layers that get adapters.
fn adapters_of(reading: &mut Reading<'_>) {
    for key in ["load_in_4bit", "load_in_8bit"] {
        let Some(given) =
            reading.stated(&[key]).cloned().filter(|given| given.is_on() == Some(true))
        else {
            continue;
        };
        let method = word(&reading.scenario, FieldId::Method);
        if key == "load_in_4bit" && method == "qlora" {
            reading.tell(&given, Way::Read, String::new());
        } else if key == "load_in_8bit" && method == "lora" {
            reading.read(&given, FieldId::Method, Value::Choice("lora8"));
        } else {
            reading.not_modelled(
                &given,
                "Frozen weights in this format are not modelled under these adapters.",
            );
        }
    }
    experts(reading);
    if word(&reading.scenario, FieldId::Method) == "full" {
        return;
    }
    let linear = reading
        .stated(&["lora_target_linear"])
        .cloned()
        .filter(|given| given.is_on() == Some(true));
    let listed = reading.stated(&["lora_target_modules"]).cloned();
    match (linear, listed) {
        (Some(given), _) => layers::beside(reading, &given, &["all-linear".to_owned()]),
        (None, Some(given)) if given.value.is_array() || given.text() == "all-linear" => {
            layers::beside(reading, &given, &given.list());
        }
        (None, Some(given)) => reading
            .not_modelled(&given, "Layers by a pattern are not known without the model's names."),
        (None, None) => {}
    }
    kernels_of(reading);
}

/// The data that the model learns from (`rl`).
fn objective(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["rl"]).cloned() else { return };
    match given.text().as_str() {
        "" => {}
        "dpo" | "ipo" => reading.read(&given, FieldId::Objective, Value::Choice("dpo")),
        "grpo" => reading.read(&given, FieldId::Objective, Value::Choice("grpo")),
        _ => reading.not_modelled(&given, "Learning of this kind is not modelled."),
    }
}
