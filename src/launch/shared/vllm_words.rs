//! Arguments of vLLM that set an input, from version 0.33.0's `vllm/engine/arg_utils.py`, and its
//! words for formats of weights, which other servers share.

use super::serving::set_weights;
use crate::launch::{Flag, Given, Reading, Way};
use crate::scenario::{FieldId, Value};

/// Number formats of the cache (`CacheDType` of `vllm/config/cache.py`), with the input's words;
/// formats with scales of their own are not modelled.
const CACHE: &[(&str, &str)] = &[
    ("auto", "bf16"),
    ("bfloat16", "bf16"),
    ("float16", "bf16"),
    ("fp8", "fp8"),
    ("fp8_e4m3", "fp8"),
    ("fp8_e5m2", "fp8"),
    ("fp8_inc", "fp8"),
];

/// Arguments that set an input.
pub const INPUTS: &[Flag] = &[
    Flag::by(&["model", "model-tag"], model),
    Flag::by(&[""], model),
    Flag::sets(&["tensor-parallel-size", "tp"], FieldId::TensorParallel),
    Flag::sets(&["pipeline-parallel-size", "pp"], FieldId::PipelineParallel),
    Flag::together(&["data-parallel-size", "dp"]),
    Flag::by(&["max-model-len"], context),
    Flag::by(&["max-num-batched-tokens"], |reading, given| {
        length(reading, given, FieldId::PrefillChunkSize)
    }),
    Flag::sets(&["max-num-seqs"], FieldId::ConcurrentSequences),
    Flag::sets(
        &["gpu-memory-utilization", "device-memory-utilization"],
        FieldId::MemoryUtilization,
    ),
    Flag::sets(&["block-size"], FieldId::BlockSize),
    Flag::sets(&["cpu-offload-gb"], FieldId::WeightsOnHost),
    Flag::words(&["kv-cache-dtype"], FieldId::KvCacheDType, CACHE),
    Flag::switch(&["enable-expert-parallel", "ep"], FieldId::WholeExperts),
    Flag::together(&["enable-lora"]).alone(),
    Flag::sets(&["max-loras"], FieldId::AdapterSlots),
    Flag::sets(&["max-lora-rank"], FieldId::SlotRank),
    Flag::by(&["enforce-eager"], eager).alone(),
    Flag::together(&["quantization", "q"]),
    Flag::together(&["dtype"]),
    Flag::together(&["speculative-config", "sc"]),
    Flag::together(&["spec-method"]),
    Flag::together(&["spec-model", "speculative-model"]),
    Flag::together(&["spec-tokens", "num-speculative-tokens"]),
    Flag::by(&["mm-processor-kwargs"], pixels),
];

fn model(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    reading.model(given);
    Ok(())
}

/// Reads the context length, where `auto` means the longest that fits.
fn context(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if matches!(given.text().as_str(), "auto" | "-1") {
        reading.not_modelled(
            given,
            "vLLM takes the longest context that finds room, at most the model's.",
        );
        return Ok(());
    }
    length(reading, given, FieldId::ContextLength)
}

/// A length: `8192`, `8k` (8,000) and `8K` (8,192), as vLLM's `human_readable_int` reads them.
fn length(reading: &mut Reading<'_>, given: &Given, field: FieldId) -> Result<(), String> {
    let text = given.text();
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k')) => (text.get(..at), 1_000.0),
        Some((at, 'K')) => (text.get(..at), 1_024.0),
        Some((at, 'm')) => (text.get(..at), 1e6),
        Some((at, 'M')) => (text.get(..at), 1_048_576.0),
        _ => (Some(text.as_str()), 1.0),
    };
    let number = Given { value: digits.unwrap_or_default().into(), ..given.clone() }.number()?;
    let whole = Given { value: (number * factor).round().into(), ..given.clone() }.whole()?;
    reading.read(given, field, Value::Integer(whole));
    Ok(())
}

/// Without CUDA graphs, no memory is reserved for them.
fn eager(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.is_on() == Some(true) {
        reading.derive(given, FieldId::CudaGraphs, Value::Decimal(0.0), "Nothing is captured.");
    }
    Ok(())
}

/// Slots for adapters: one unless told otherwise (`LoRAConfig`), and none without `--enable-lora`.
pub fn adapters(reading: &mut Reading<'_>) {
    match reading.stated(&["enable-lora"]).cloned() {
        Some(given) if given.is_on() != Some(true) => {
            reading.tell(&given, Way::NoEffect, String::new());
            reading.scenario.set(FieldId::AdapterSlots, Value::Integer(0));
        }
        Some(given) if reading.stated(&["max-loras"]).is_some() => {
            reading.tell(&given, Way::Read, "Adapters have slots.".to_owned());
        }
        Some(given) => reading.derive(
            &given,
            FieldId::AdapterSlots,
            Value::Integer(1),
            "One slot unless told otherwise.",
        ),
        None => reading.scenario.set(FieldId::AdapterSlots, Value::Integer(0)),
    }
}

/// `{"max_pixels": …, "min_pixels": …}`, as the processors of the Qwen-VL family take them; other
/// keys are not modelled.
fn pixels(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let object = match &given.value {
        serde_json::Value::Object(object) => object.clone(),
        _ => {
            serde_json::from_str(&given.text()).map_err(|_| "takes an object in JSON".to_owned())?
        }
    };
    for (key, value) in object {
        let one = Given::new(format!("{}.{key}", given.key), value, given.place);
        let field = match key.as_str() {
            "max_pixels" => FieldId::MostPixels,
            "min_pixels" => FieldId::FewestPixels,
            _ => {
                reading.not_modelled(&one, "Images become other numbers of tokens.");
                continue;
            }
        };
        let pixels = one.whole()?;
        reading.read(&one, field, Value::Integer(pixels));
    }
    Ok(())
}

/// Methods of `--quantization` with the input's formats, by how
/// `vllm/model_executor/layers/quantization` stores weights. `bitsandbytes` is that of versions up
/// to 0.2x: NF4 without quantised scales.
const METHODS: &[(&str, &str)] = &[
    ("fp8", "fp8-tensor"),
    ("fp8_per_tensor", "fp8-tensor"),
    ("fp8_per_channel", "fp8-column"),
    ("fp8_per_block", "fp8-block"),
    ("deepseek_v4_fp8", "fp8-block"),
    ("modelopt", "fp8-tensor"),
    ("ptpc_fp8", "fp8-column"),
    ("int8_per_channel_weight_only", "w8a8"),
    ("awq", "awq"),
    ("auto_awq", "awq"),
    ("awq_marlin", "awq"),
    ("gptq", "gptq"),
    ("auto_gptq", "gptq"),
    ("gptq_marlin", "gptq"),
    ("modelopt_fp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("gpt_oss_mxfp4", "mxfp4"),
    ("bitsandbytes", "nf4"),
    // Words that only SGLang has.
    ("w8a8_fp8", "fp8-column"),
    ("w8a8_int8", "w8a8"),
    ("modelopt_fp8", "fp8-tensor"),
    ("petit_nvfp4", "nvfp4"),
];

/// Methods that take the storage format from the model's files.
const OF_THE_FILES: [&str; 4] = ["compressed-tensors", "quark", "none", "auto"];

/// Reads the weights' format from `--quantization`, `--dtype` and the model's name.
pub fn weights(reading: &mut Reading<'_>, name: Option<&Given>) {
    super::serving::weights_of_model(reading, name);
    let before = reading.scenario.get(FieldId::WeightDType);
    let method =
        reading.stated(&["quantization", "q"]).filter(|given| !given.is_unknown()).cloned();
    if let Some(given) = method {
        let text = given.text().to_ascii_lowercase();
        let ours = METHODS.iter().find(|(theirs, _)| *theirs == text).map(|(_, ours)| *ours);
        match ours {
            // The model's files are more exact than the flag: a checkpoint in FP8 keeps its own
            // kind of scales.
            Some(ours) if is_fp8(&before) && ours.starts_with("fp8") => {
                reading.tell(
                    &given,
                    crate::launch::Way::Read,
                    "The model's files are in FP8.".to_owned(),
                );
            }
            Some(ours) => set_weights(reading, &given, ours, ""),
            None if OF_THE_FILES.contains(&text.as_str()) => {
                reading.tell(
                    &given,
                    crate::launch::Way::NoEffect,
                    "As the model's files say.".to_owned(),
                );
            }
            None => reading.not_modelled(&given, "Weights in this format are not modelled."),
        }
    }
    dtype(reading);
}

fn is_fp8(value: &Value) -> bool {
    matches!(value, Value::Choice(word) if word.starts_with("fp8-"))
}

/// Reads `--dtype`, the format of activations and of weights that are not quantised.
fn dtype(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["dtype"]).filter(|given| !given.is_unknown()).cloned()
    else {
        return;
    };
    let plain = matches!(
        reading.scenario.get(FieldId::WeightDType),
        Value::Choice("bf16" | "fp16" | "fp32")
    );
    match (given.text().as_str(), plain) {
        ("bfloat16", true) => set_weights(reading, &given, "bf16", ""),
        ("half" | "float16", true) => set_weights(reading, &given, "fp16", ""),
        ("float" | "float32", true) => set_weights(reading, &given, "fp32", ""),
        ("auto", _) | ("bfloat16" | "half" | "float16", false) => {
            reading.tell(&given, crate::launch::Way::NoEffect, String::new());
        }
        _ => reading.not_modelled(&given, "Activations in this format are not modelled."),
    }
}

/// The flag (`--quantization` or `--dtype`) and value for a format of weights; `None` where only
/// the model's files can state it.
pub fn words_for(format: &str) -> Option<(&'static str, &'static str)> {
    match format {
        "bf16" => Some(("dtype", "bfloat16")),
        "fp16" => Some(("dtype", "float16")),
        "fp32" => Some(("dtype", "float32")),
        _ => METHODS
            .iter()
            .find(|(_, ours)| *ours == format)
            .map(|(theirs, _)| ("quantization", *theirs)),
    }
}
