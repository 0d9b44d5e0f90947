//! Writes a scenario as axolotl's YAML, and lists the Trainer's optimizers by their names there.

use super::{fsdp, is_on, layers, whole, word, zero};
use crate::launch::Writing;
use crate::scenario::{FieldId, Value};

/// The Trainer's optimizers: name, the input's word, the implementation of the step, and whether
/// states are paged. On GPUs PyTorch's default implementation is `foreach`; transformers' Adafactor
/// loops over the parameters.
pub const OPTIMIZERS: [(&str, &str, &str, bool); 14] = [
    ("adamw_torch_fused", "adamw", "fused", false),
    ("adamw_torch", "adamw", "foreach", false),
    ("adamw_8bit", "adamw8t", "fused", false),
    ("adamw_bnb_8bit", "adamw8t", "fused", false),
    ("paged_adamw_8bit", "adamw8t", "fused", true),
    ("paged_adamw_32bit", "adamw", "fused", true),
    ("adamw_torch_8bit", "adamw8ao", "fused", false),
    ("adamw_torch_4bit", "adamw4ao", "fused", false),
    ("lion_32bit", "lion", "fused", false),
    ("lion_8bit", "lion8t", "fused", false),
    ("paged_lion_32bit", "lion", "fused", true),
    ("paged_lion_8bit", "lion8t", "fused", true),
    ("adafactor", "adafactort", "for-loop", false),
    ("sgd", "sgd", "foreach", false),
];

/// The YAML, inside a command where there are several GPUs.
pub fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let scenario = writing.scenario;
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    writing.say("base_model", Some(model), &[]);
    batches(writing, gpus);
    let recompute = word(scenario, FieldId::Recompute);
    if matches!(recompute, "full" | "none") {
        writing.say(
            "gradient_checkpointing",
            Some((recompute == "full").to_string()),
            &[FieldId::Recompute],
        );
    }
    let steps =
        (word(scenario, FieldId::Optimizer), word(scenario, FieldId::OptimizerImplementation));
    let paged = is_on(scenario, FieldId::PagedOptimizer);
    if let Some((name, ..)) =
        OPTIMIZERS.iter().find(|(_, ours, how, pages)| (*ours, *how) == steps && *pages == paged)
    {
        let said = [FieldId::Optimizer, FieldId::OptimizerImplementation, FieldId::PagedOptimizer];
        writing.say("optimizer", Some((*name).to_owned()), &said);
    }
    let kernel =
        if word(scenario, FieldId::Attention) == "flash" { "flash_attention_2" } else { "eager" };
    writing.say("attn_implementation", Some(kernel.to_owned()), &[FieldId::Attention]);
    formats(writing);
    sharing(writing);
    kernels(writing);
    adapter_keys(writing);
    writing.table();
    let keys = writing.as_yaml();
    if gpus == 1 {
        return keys;
    }
    format!(
        "cat > axolotl.yaml <<'EOF'\n{keys}EOF\naccelerate launch --num_processes {gpus} -m \
         axolotl.cli.train axolotl.yaml\n"
    )
}

/// Formats of weights and of products.
fn formats(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    let (precision, autocast) =
        (word(scenario, FieldId::Precision), is_on(scenario, FieldId::Autocast));
    let sharding = word(scenario, FieldId::Sharding);
    match (sharding, precision, autocast) {
        ("0" | "1" | "2" | "3", "bf16", false)
        | ("fsdp" | "fsdp1", "fsdp-mixed", false)
        | (_, "bf16-pure", true) => {
            writing.say("bf16", Some("true".to_owned()), &[FieldId::Precision, FieldId::Autocast]);
        }
        (_, "fp32", false) => {
            writing.say("bf16", Some("false".to_owned()), &[FieldId::Precision, FieldId::Autocast]);
        }
        _ => {}
    }
}

/// DeepSpeed's or FSDP's own settings.
fn sharing(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    match word(scenario, FieldId::Sharding) {
        "0" | "1" | "2" | "3" => {
            if let Some(config) = zero::config_of(scenario) {
                writing.say("deepspeed", Some(config.to_string()), &zero::says(scenario));
            }
        }
        _ => {
            if let Some(config) = fsdp::config_of(scenario) {
                writing.say(
                    "fsdp_config",
                    Some(config.replace("cpu_offload", "offload_params")),
                    &fsdp::SAYS,
                );
                if !is_on(scenario, FieldId::ReshardAfterForward) {
                    writing.lacks("axolotl hands reshard_after_forward on only where it is true.");
                }
            }
        }
    }
}

/// Lengths, batches, evaluations.
fn batches(writing: &mut Writing<'_>, gpus: u64) {
    let scenario = writing.scenario;
    let (length, rows) =
        (whole(scenario, FieldId::SeqLength), whole(scenario, FieldId::MicroBatchSize));
    writing.say("sequence_len", Some(length.to_string()), &[FieldId::SeqLength]);
    writing.say("micro_batch_size", Some(rows.to_string()), &[FieldId::MicroBatchSize]);
    if is_on(scenario, FieldId::Packing) {
        writing.say("sample_packing", None, &[FieldId::Packing]);
        if rows > 1 {
            writing.say("multipack_real_batches", None, &[]);
        }
    }
    let all = whole(scenario, FieldId::GlobalBatchSize);
    let one = rows.saturating_mul(gpus).max(1);
    if all.is_multiple_of(one) {
        writing.say(
            "gradient_accumulation_steps",
            Some((all / one).to_string()),
            &[FieldId::GlobalBatchSize],
        );
    }
    if let Value::Integer(batch) = scenario.get(FieldId::EvaluationBatch) {
        writing.say("val_set_size", Some("0.05".to_owned()), &[]);
        writing.say("eval_batch_size", Some(batch.to_string()), &[FieldId::EvaluationBatch]);
    }
}

/// Plugins that install kernels.
fn kernels(writing: &mut Writing<'_>) {
    let liger = word(writing.scenario, FieldId::Stack) == "liger";
    let cuts = word(writing.scenario, FieldId::Loss) == "cut";
    let mut plugins = Vec::new();
    if liger {
        plugins.push("axolotl.integrations.liger.LigerPlugin");
        for key in [
            "liger_rope",
            "liger_rms_norm",
            "liger_glu_activation",
            "liger_fused_linear_cross_entropy",
        ] {
            writing.say(key, None, &[FieldId::Stack]);
        }
    }
    if cuts {
        plugins.push("axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin");
        writing.is_said(&[FieldId::Loss]);
    }
    if !plugins.is_empty() {
        writing.say("plugins", Some(format!("[{}]", plugins.join(", "))), &[]);
    }
}

/// The kind of adapters and their layers, with axolotl's own adapter kernels switched off.
fn adapter_keys(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    let method = word(scenario, FieldId::Method);
    if !matches!(method, "lora" | "qlora" | "lora8" | "dora") {
        return;
    }
    writing.say(
        "adapter",
        Some((if method == "qlora" { "qlora" } else { "lora" }).to_owned()),
        &[FieldId::Method],
    );
    if method == "qlora" {
        writing.say("load_in_4bit", None, &[]);
    }
    if method == "qlora" && is_on(scenario, FieldId::PackExperts) {
        writing.say("quantize_moe_experts", None, &[FieldId::PackExperts]);
    }
    if method == "lora8" {
        writing.say("load_in_8bit", None, &[]);
    }
    if method == "dora" {
        writing.say("peft_use_dora", None, &[]);
    }
    if let Some(names) = layers::names(scenario) {
        writing.say("lora_target_modules", Some(format!("[{}]", names.join(", "))), &layers::ALL);
    }
    if word(scenario, FieldId::AdapterDType) == "weights" {
        writing.say(
            "peft_autocast_adapter_dtype",
            Some("false".to_owned()),
            &[FieldId::AdapterDType],
        );
    }
    if !is_on(scenario, FieldId::DoubleQuant) {
        writing.say(
            "bnb_config_kwargs",
            Some("{bnb_4bit_use_double_quant: false}".to_owned()),
            &[FieldId::DoubleQuant],
        );
    }
    for key in ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"] {
        writing.say(key, Some("false".to_owned()), &[]);
    }
}
