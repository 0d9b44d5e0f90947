//! axolotl: its YAML, and `axolotl train FILE --key value` with that file.
//!
//! Read in axolotl 0.19.0: `utils/schemas/*.py` (keys and defaults), `loaders/model.py` (formats of
//! weights), `core/builders/*.py` and `core/trainers/base.py` (packing), `utils/__init__.py` (the
//! allocator's setting).

use super::{FormatSpec, Role};
use crate::launch::shared::axolotl_flags::{NOT_MODELLED, QUIET};
use crate::launch::shared::axolotl_written::{OPTIMIZERS, write};
use crate::launch::shared::{count, fsdp, layers, says, word, zero};
use crate::launch::{Flag, Given, LaunchError, Place, Reading, Stated, Text, Way};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "axolotl",
    label: "axolotl",
    version: "axolotl 0.19.0",
    source: "https://github.com/axolotl-ai-cloud/axolotl/blob/v0.19.0/src/axolotl/utils/schemas/config.py",
    place: 30,
    role: Role::Whole,
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
        if matches!(reading.scenario.get(FieldId::Sharding), Value::Choice("1" | "2" | "3")) {
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

/// Formats of frozen weights, and the layers that get adapters.
fn adapters_of(reading: &mut Reading<'_>) {
    for key in ["load_in_4bit", "load_in_8bit"] {
        let Some(given) =
            reading.stated(&[key]).cloned().filter(|given| given.is_on() == Some(true))
        else {
            continue;
        };
        if key == "load_in_4bit" && word(&reading.scenario, FieldId::Method) == "qlora" {
            reading.tell(&given, Way::Read, String::new());
        } else {
            reading.not_modelled(
                &given,
                "Frozen weights in this format are not modelled under these adapters.",
            );
        }
    }
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

/// axolotl's own kernels for adapters, which it enables by itself where no key mentions them
/// (`check_auto_enable_lora_kernels`).
fn kernels_of(reading: &mut Reading<'_>) {
    const KERNELS: [&str; 4] =
        ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel"];
    let set: Vec<Given> =
        KERNELS.iter().filter_map(|key| reading.stated(&[key]).cloned()).collect();
    for given in set.iter().filter(|given| given.is_on() == Some(true)) {
        reading.not_modelled(given, "axolotl's own kernels for adapters keep fewer tensors.");
    }
    let refuse = says(reading, &["load_in_8bit"]) || says(reading, &["trust_remote_code"]);
    let has_rewards = reading.stated(&["rl"]).is_some_and(|given| !given.text().is_empty());
    let has_dora = word(&reading.scenario, FieldId::Method) == "dora";
    if set.is_empty() && !refuse && !has_rewards && !has_dora {
        let given = Given::new("lora_mlp_kernel", "auto", Place { line: 1, column: 1 });
        let why = "axolotl puts in its own kernels for adapters unless lora_*_kernel are false; they keep fewer tensors.";
        reading.not_modelled(&given, why);
    }
}

/// Kernels that plugins install: Liger's, all together, and a loss.
fn plugins(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["plugins"]).cloned() else { return };
    let kernels: [&[&str]; 4] = [
        &["liger_rope"],
        &["liger_rms_norm"],
        &["liger_glu_activation", "liger_swiglu"],
        &["liger_fused_linear_cross_entropy"],
    ];
    let all_of_liger = kernels.iter().all(|names| says(reading, names));
    let cuts =
        reading.stated(&["cut_cross_entropy"]).is_none_or(|given| given.is_on() != Some(false));
    for name in given.list() {
        match name.rsplit('.').next() {
            Some("CutCrossEntropyPlugin") if cuts => {
                reading.read(&given, FieldId::Loss, Value::Choice("cut"));
            }
            Some("CutCrossEntropyPlugin" | "SwanLabPlugin" | "LMEvalPlugin" | "GrokfastPlugin") => {
            }
            Some("LigerPlugin") if all_of_liger => {
                reading.read(&given, FieldId::Stack, Value::Choice("liger"));
            }
            Some("LigerPlugin") => reading.not_modelled(
                &given,
                "Some of Liger's kernels without the others are not modelled.",
            ),
            _ => reading.not_modelled(&given, "This plugin is not modelled."),
        }
    }
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

/// Lengths and batches. Packed samples of a micro-batch form one row, unless
/// `multipack_real_batches` is set (`core/builders/causal.py`).
fn lengths(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let length = count(reading, &["sequence_len"])?.unwrap_or(512);
    let batch = count(reading, &["micro_batch_size"])?.unwrap_or(1);
    let steps = count(reading, &["gradient_accumulation_steps"])?.unwrap_or(1);
    let (gpus, ranks) = gpus(reading)?;
    let packs = says(reading, &["sample_packing"]);
    let in_one_row = packs && !says(reading, &["multipack_real_batches"]);
    let (row, rows) = if in_one_row { (length.saturating_mul(batch), 1) } else { (length, batch) };
    let how = match (packs, in_one_row) {
        (_, true) => "Packed samples of a micro-batch stand in one row.",
        (true, false) => "Packed samples.",
        _ => "An upper bound: without packing the longest batch decides.",
    };
    reading.follows(
        "GPUs",
        FieldId::Gpus,
        Value::Integer(gpus),
        "As many as the launcher starts, or the layout asks for, or one.",
    );
    reading.follows("sequence_len", FieldId::SeqLength, Value::Integer(row), how);
    reading.follows("micro_batch_size", FieldId::MicroBatchSize, Value::Integer(rows), "");
    reading.scenario.set(FieldId::Packing, Value::Flag(packs));
    let all = rows.saturating_mul(steps).saturating_mul(ranks);
    let how = "Rows of a micro-batch × accumulation × GPUs.";
    reading.follows(
        "gradient_accumulation_steps",
        FieldId::GlobalBatchSize,
        Value::Integer(all.max(1)),
        how,
    );
    evaluation(reading, batch, rows)
}

/// The number of GPUs, and how many of them have a batch of their own.
fn gpus(reading: &mut Reading<'_>) -> Result<(u64, u64), LaunchError> {
    let mut product = 1_u64;
    let mut shared = 1_u64;
    for name in [
        "dp_shard_size",
        "dp_replicate_size",
        "tensor_parallel_size",
        "context_parallel_size",
        "sequence_parallel_degree",
    ] {
        let degree = count(reading, &[name])?.unwrap_or(1).max(1);
        product = product.saturating_mul(degree);
        if !name.starts_with("dp_") {
            shared = shared.saturating_mul(degree);
        }
        if let Some(given) = reading.stated(&[name]).cloned().filter(|_| degree > 1) {
            reading.not_modelled(&given, "This layout is not modelled for the Trainer.");
        }
    }
    let gpus = reading.processes().unwrap_or(product).max(1);
    Ok((gpus, (gpus / shared).max(1)))
}

/// Evaluations between steps, where a part of the data is set apart for them.
fn evaluation(reading: &mut Reading<'_>, batch: u64, rows: u64) -> Result<(), LaunchError> {
    let sets_apart = reading
        .stated(&["val_set_size"])
        .is_some_and(|given| given.number().is_ok_and(|share| share > 0.0))
        || reading.stated(&["test_datasets"]).is_some_and(|given| !given.list().is_empty());
    let never = reading
        .stated(&["eval_strategy", "evaluation_strategy"])
        .is_some_and(|given| given.text() == "no");
    // Cut Cross-Entropy writes no logits in evaluations either, so an evaluation takes less than a
    // step and is left out.
    if !sets_apart || never || word(&reading.scenario, FieldId::Loss) == "cut" {
        return Ok(());
    }
    let own = count(reading, &["eval_batch_size"])?.unwrap_or(batch);
    let in_rows = if rows == batch { own } else { own.div_ceil(batch.max(1)) };
    let how = "A part of the data is set apart for evaluations.";
    reading.follows(
        "eval_batch_size",
        FieldId::EvaluationBatch,
        Value::Integer(in_rows.max(1)),
        how,
    );
    Ok(())
}
