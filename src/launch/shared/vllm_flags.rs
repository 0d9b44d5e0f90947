//! Arguments of vLLM that change memory or time: those that are inputs here, and those that are not modelled.
//!
//! Version 0.33.0's `vllm/engine/arg_utils.py`, and those that versions from 0.11 on had and no longer have.

use super::serving::set_weights;
use crate::launch::{Flag, Given, Reading, Takes};
use crate::scenario::{FieldId, Value};

/// Number formats of the cache (`CacheDType` of `vllm/config/cache.py`) and ours; formats with scales of their own are not modelled.
const CACHE: &[(&str, &str)] = &[
    ("auto", "bf16"),
    ("bfloat16", "bf16"),
    ("float16", "bf16"),
    ("fp8", "fp8"),
    ("fp8_e4m3", "fp8"),
    ("fp8_e5m2", "fp8"),
    ("fp8_inc", "fp8"),
];

/// Arguments that are inputs here.
pub const INPUTS: &[Flag] = &[
    Flag::by(&["model", "model-tag"], model),
    Flag::by(&[""], model),
    Flag::sets(&["tensor-parallel-size", "tp"], FieldId::TensorParallel),
    Flag::sets(&["pipeline-parallel-size", "pp"], FieldId::PipelineParallel),
    Flag::together(&["data-parallel-size", "dp"]),
    Flag::by(&["max-model-len"], context),
    Flag::by(&["max-num-batched-tokens"], |reading, given| length(reading, given, FieldId::PrefillChunkSize)),
    Flag::sets(&["max-num-seqs"], FieldId::ConcurrentSequences),
    Flag::sets(&["gpu-memory-utilization", "device-memory-utilization"], FieldId::MemoryUtilization),
    Flag::sets(&["block-size"], FieldId::BlockSize),
    Flag::words(&["kv-cache-dtype"], FieldId::KvCacheDType, CACHE),
    Flag::switch(&["enable-expert-parallel", "ep"], FieldId::WholeExperts),
    Flag::by(&["enforce-eager"], eager).alone(),
    Flag::together(&["quantization", "q"]),
    Flag::together(&["dtype"]),
    Flag::by(&["mm-processor-kwargs"], pixels),
];

/// Arguments that change memory or time in a way that is not modelled.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled_unless(
        &["decode-context-parallel-size", "dcp"],
        &["1"],
        "The cache is shared out over GPUs of the decode-context-parallel group.",
    ),
    Flag::not_modelled_unless(&["prefill-context-parallel-size", "pcp"], &["1"], "Prompts are shared out over more GPUs."),
    Flag::not_modelled(&["dcp-comm-backend"], "Another way to join attention of context-parallel ranks takes other time."),
    Flag::not_modelled(&["dcp-q-replicate"], "Query projections are copied to every rank.").alone(),
    Flag::not_modelled(
        &["dcp-kv-cache-interleave-size", "cp-kv-cache-interleave-size"],
        "Tokens are dealt out otherwise over context-parallel ranks.",
    ),
    Flag::not_modelled(&["enable-hc-sp"], "Activations are shared out over tensor ranks.").alone(),
    Flag::not_modelled(&["enable-batch-sharded-sampling"], "Logits are shared out over ranks.").alone(),
    Flag::not_modelled(&["enable-ep-weight-filter"], "Weights are loaded otherwise.").alone(),
    Flag::not_modelled(&["all2all-backend"], "Tokens reach experts in another way, with buffers of its own."),
    Flag::not_modelled(&["enable-dbo"], "Two half batches overlap: more working memory, another step time.").alone(),
    Flag::not_modelled(
        &["ubatch-size", "dbo-decode-token-threshold", "dbo-prefill-token-threshold", "dp-sync-interval"],
        "Batches are cut otherwise, which changes step times.",
    ),
    Flag::not_modelled(&["enable-elastic-ep"], "Room is kept for more expert-parallel ranks.").alone(),
    Flag::not_modelled(&["elastic-ep-max-dp-size"], "Room is kept for more expert-parallel ranks."),
    Flag::not_modelled(&["enable-eplb"], "Copies of experts for balance take memory.").alone(),
    Flag::not_modelled_unless(
        &["eplb-config", "num-redundant-experts", "eplb-window-size", "eplb-step-interval"],
        &["0"],
        "Copies of experts for balance take memory.",
    ),
    Flag::not_modelled_unless(
        &["expert-placement-strategy"],
        &["linear"],
        "Experts lie on other GPUs, which changes who waits for whom.",
    ),
    Flag::not_modelled(&["disable-custom-all-reduce"], "NCCL sums activations: other step times, and no buffers of vLLM's own.")
        .alone(),
    Flag::not_modelled(&["quantization-config"], "Weights are quantised as that configuration says."),
    Flag::not_modelled(&["disable-sliding-window"], "Sliding-window layers keep the whole context.").alone(),
    Flag::not_modelled(
        &["hf-overrides"],
        "Keys of the model's file are other ones: paste the changed config.json beside the command.",
    ),
    Flag::not_modelled(&["enable-sleep-mode", "enable-cumem-allocator"], "Memory comes from an allocator of vLLM's own.").alone(),
    Flag::not_modelled(&["sleep-mode-backend", "sleep-mode-offload-cudagraph"], "Memory comes from an allocator of vLLM's own."),
    Flag::not_modelled_unless(
        &["model-impl"],
        &["auto", "vllm"],
        "Another implementation of the model saves and computes otherwise.",
    ),
    Flag::not_modelled_unless(&["attention-backend"], &["auto"], "Other kernels for attention take other time and workspace."),
    Flag::not_modelled(&["mamba-backend", "mamba-ssu-algorithm"], "Other kernels for state-space layers take other time."),
    Flag::not_modelled(&["enable-mamba-cache-stochastic-rounding"], "States of mixers are rounded otherwise.").alone(),
    Flag::not_modelled(&["mamba-cache-philox-rounds"], "States of mixers are rounded otherwise."),
    Flag::not_modelled(&["kv-cache-memory-bytes"], "The cache has that much memory, whatever the share of memory."),
    Flag::not_modelled(&["num-gpu-blocks-override"], "The cache has that many blocks, whatever finds room."),
    Flag::not_modelled(&["prefix-cache-retention-interval"], "More states of sliding-window and mixer layers stay in the cache."),
    Flag::not_modelled(&["kv-cache-dtype-skip-layers"], "Some layers keep their cache in 16 bits."),
    Flag::not_modelled(
        &["kv-sharing-fast-prefill", "swa-bounded-replay"],
        "Prompts skip some layers, which changes the time to the first token.",
    )
    .alone(),
    Flag::not_modelled_unless(
        &["mamba-cache-dtype", "mamba-ssm-cache-dtype"],
        &["auto"],
        "States of mixers are kept in another format.",
    ),
    Flag::not_modelled_unless(
        &["mamba-block-size", "prefix-match-unit", "mamba-cache-mode"],
        &["none"],
        "States of mixers are kept at other places of a text.",
    ),
    Flag::not_modelled(&["enable-mamba-shared-prefix-checkpoint", "use-replayssm"], "More states of mixers are kept.").alone(),
    Flag::not_modelled(&["replayssm-buffer-len"], "More states of mixers are kept."),
    Flag::not_modelled_unless(
        &["kv-offloading-size", "kv-offloading-backend"],
        &["0"],
        "Blocks of the cache go to the host's memory and come back, which takes time.",
    ),
    Flag::not_modelled_unless(
        &["cpu-offload-gb"],
        &["0", "0.0"],
        "That many GiB of weights wait in the host's memory, on each GPU.",
    ),
    Flag::not_modelled_unless(
        &[
            "offload-backend",
            "cpu-offload-params",
            "offload-group-size",
            "offload-num-in-group",
            "offload-prefetch-step",
            "offload-params",
        ],
        &["0", "auto"],
        "Weights wait in the host's memory.",
    ),
    Flag::not_modelled(&["language-model-only"], "The vision and sound parts are not loaded.").alone(),
    Flag::not_modelled(&["limit-mm-per-prompt"], "vLLM's profile run holds room for the largest images of so many a prompt."),
    Flag::not_modelled(&["mm-encoder-only"], "Only the vision or sound part runs.").alone(),
    Flag::not_modelled_unless(
        &["mm-encoder-tp-mode"],
        &["weights"],
        "The vision part is copied to every tensor rank, and images are shared out.",
    ),
    Flag::not_modelled(
        &["mm-encoder-attn-backend", "mm-encoder-attn-dtype", "mm-encoder-fp8-scale-path"],
        "The vision part computes otherwise.",
    ),
    Flag::not_modelled(&["skip-mm-profiling"], "Room for images is not measured at the start.").alone(),
    Flag::not_modelled(&["video-pruning-rate", "video-pruning-method"], "Tokens of videos are left out."),
    Flag::not_modelled_unless(
        &["mm-tensor-ipc", "mm-processor-device", "mm-ipc-gpu-memory-gb"],
        &["0"],
        "Images are prepared on the GPU.",
    ),
    Flag::not_modelled(&["mm-device-do-normalize", "enable-multimodal-encoder-data-parallel"], "Images are prepared otherwise.")
        .alone(),
    Flag::not_modelled(&["enable-lora"], "Slots for adapters come on top: max_loras × max_lora_rank for each adapted layer.")
        .alone(),
    Flag::not_modelled(
        &[
            "max-loras",
            "max-lora-rank",
            "lora-dtype",
            "lora-extra-vocab-size",
            "max-lora-cls-labels",
            "long-lora-scaling-factors",
        ],
        "Slots for adapters come on top: max_loras × max_lora_rank for each adapted layer.",
    ),
    Flag::not_modelled(
        &[
            "enable-lora-bias",
            "fully-sharded-loras",
            "enable-tower-connector-lora",
            "specialize-active-lora",
            "enable-mixed-moe-lora-format",
            "enable-moe-shared-loras",
        ],
        "Adapters take other memory.",
    )
    .alone(),
    Flag::not_modelled(&["lora-target-modules"], "Adapters take other memory.").taking(Takes::Many),
    Flag::not_modelled(
        &["max-num-scheduled-tokens", "max-num-active-seqs"],
        "A step carries fewer tokens than its buffers hold.",
    ),
    Flag::not_modelled_unless(
        &["max-num-partial-prefills", "max-long-partial-prefills", "long-prefill-token-threshold", "prefill-schedule-interval"],
        &["0", "1"],
        "Long prompts wait for others, which changes times.",
    ),
    Flag::not_modelled(
        &["long-prefill-token-threshold-adaptive", "enable-chunked-prefill-adaptive"],
        "Long prompts wait for others, which changes times.",
    )
    .alone(),
    Flag::not_modelled(&["disable-hybrid-kv-cache-manager"], "All layers get blocks as if each kept the whole context.").alone(),
    Flag::not_modelled(
        &["cudagraph-capture-sizes", "cuda-graph-sizes"],
        "Other steps are captured as graphs, which takes other memory.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(
        &["max-cudagraph-capture-size", "max-seq-len-to-capture"],
        "Other steps are captured as graphs, which takes other memory.",
    ),
    Flag::not_modelled(
        &["compilation-config", "cc", "O"],
        "Compilation and captured graphs take other memory and time than by default.",
    ),
    Flag::not_modelled_unless(
        &["optimization-level"],
        &["2", "O2"],
        "Compilation and captured graphs take other memory and time than by default.",
    ),
    Flag::not_modelled_unless(&["performance-mode"], &["balanced"], "Kernels are chosen for another kind of load."),
    Flag::not_modelled_unless(
        &[
            "ir-op-priority",
            "moe-backend",
            "linear-backend",
            "sparse-indexer-topk-backend",
            "attention-config",
            "ac",
            "kernel-config",
            "gdn-prefill-backend",
            "kda-prefill-backend",
            "kda-decode-backend",
            "engram-config",
        ],
        &["auto"],
        "Other kernels take other time and workspace.",
    ),
    Flag::not_modelled(&["monokernel"], "Other kernels take other time and workspace.").alone(),
    Flag::not_modelled(
        &["speculative-config", "sc", "spec-method", "spec-model", "spec-tokens", "speculative-model", "num-speculative-tokens"],
        "A draft model's or head's weights and cache come on top, and several tokens come from a step.",
    ),
    Flag::not_modelled(&["diffusion-config", "dc"], "Tokens are made several at a time."),
    Flag::not_modelled(
        &["kv-transfer-config", "ec-transfer-config", "ec-manager-config"],
        "The cache is sent to or fetched from elsewhere, with buffers of its own.",
    ),
    Flag::not_modelled_unless(
        &["num-scheduler-steps", "scheduler-delay-factor"],
        &["0", "0.0", "1"],
        "The scheduler waits longer, which changes times.",
    ),
    Flag::not_modelled(&["calculate-kv-scales"], "Scales of the cache are computed as it runs.").alone(),
    Flag::not_modelled_unless(
        &["enable-chunked-prefill"],
        &["true"],
        "Prompts run whole, so that a step holds the longest of them.",
    )
    .alone(),
    Flag::not_modelled(&["rope-scaling", "rope-theta"], "Positions are stretched: state the context as --max-model-len, too."),
];

fn model(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    reading.model(given);
    Ok(())
}

/// A length, or the longest that finds room.
fn context(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if matches!(given.text().as_str(), "auto" | "-1") {
        reading.not_modelled(given, "vLLM takes the longest context that finds room, at most the model's.");
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

/// Without graphs nothing is kept for them.
fn eager(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.is_on() == Some(true) {
        reading.derive(given, FieldId::CudaGraphs, Value::Decimal(0.0), "Nothing is captured.");
    }
    Ok(())
}

/// `{"max_pixels": …, "min_pixels": …}`, as the processors of the Qwen-VL family take them; other keys are not modelled.
fn pixels(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let object = match &given.value {
        serde_json::Value::Object(object) => object.clone(),
        _ => serde_json::from_str(&given.text()).map_err(|_| "takes an object in JSON".to_owned())?,
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

/// Methods of `--quantization` and our formats, as `vllm/model_executor/layers/quantization` stores weights; `bitsandbytes` as versions up
/// to 0.2x had it, NF4 without quantised scales.
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
    // SGLang's own words.
    ("w8a8_fp8", "fp8-column"),
    ("w8a8_int8", "w8a8"),
    ("modelopt_fp8", "fp8-tensor"),
    ("petit_nvfp4", "nvfp4"),
];

/// Methods that leave it to the model's files how weights are stored.
const OF_THE_FILES: [&str; 4] = ["compressed-tensors", "quark", "none", "auto"];

/// Formats of the weights by `--quantization`, `--dtype` and the model's name.
pub fn weights(reading: &mut Reading<'_>, name: Option<&Given>) {
    super::serving::weights_of_model(reading, name);
    let before = reading.scenario.get(FieldId::WeightDType);
    let method = reading.stated(&["quantization", "q"]).filter(|given| !given.is_unknown()).cloned();
    if let Some(given) = method {
        let text = given.text().to_ascii_lowercase();
        let ours = METHODS.iter().find(|(theirs, _)| *theirs == text).map(|(_, ours)| *ours);
        match ours {
            // The files say it more exactly: a checkpoint in FP8 keeps its own scales.
            Some(ours) if is_fp8(&before) && ours.starts_with("fp8") => {
                reading.tell(&given, crate::launch::Way::Read, "The model's files are in FP8.".to_owned());
            }
            Some(ours) => set_weights(reading, &given, ours, ""),
            None if OF_THE_FILES.contains(&text.as_str()) => {
                reading.tell(&given, crate::launch::Way::NoEffect, "As the model's files say.".to_owned());
            }
            None => reading.not_modelled(&given, "Weights in this format are not modelled."),
        }
    }
    dtype(reading);
}

fn is_fp8(value: &Value) -> bool {
    matches!(value, Value::Choice(word) if word.starts_with("fp8-"))
}

/// `--dtype` is the format of weights that nothing quantises, and of activations.
fn dtype(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["dtype"]).filter(|given| !given.is_unknown()).cloned() else { return };
    let plain = matches!(reading.scenario.get(FieldId::WeightDType), Value::Choice("bf16" | "fp16" | "fp32"));
    match (given.text().as_str(), plain) {
        ("auto", _) => reading.tell(&given, crate::launch::Way::NoEffect, String::new()),
        ("bfloat16", true) => set_weights(reading, &given, "bf16", ""),
        ("half" | "float16", true) => set_weights(reading, &given, "fp16", ""),
        ("float" | "float32", true) => set_weights(reading, &given, "fp32", ""),
        ("bfloat16" | "half" | "float16", false) => reading.tell(&given, crate::launch::Way::NoEffect, String::new()),
        _ => reading.not_modelled(&given, "Activations in this format are not modelled."),
    }
}

/// The words for a format of weights: `--quantization` or `--dtype`, and the value; nothing where the model's files alone say it.
pub fn words_for(format: &str) -> Option<(&'static str, &'static str)> {
    match format {
        "bf16" => Some(("dtype", "bfloat16")),
        "fp16" => Some(("dtype", "float16")),
        "fp32" => Some(("dtype", "float32")),
        _ => METHODS.iter().find(|(_, ours)| *ours == format).map(|(theirs, _)| ("quantization", *theirs)),
    }
}
