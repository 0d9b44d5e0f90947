//! SGLang: `python -m sglang.launch_server --model-path MODEL …`, `sglang serve`,
//! `sgl.Engine(model_path=…)` in Python, and the file given by `--config`.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::{sglang::NOT_MODELLED, sglang_quiet::QUIET};
use crate::launch::shared::{drafts_of_servers, serving, vllm_words, whole};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "sglang",
    label: "SGLang",
    version: "SGLang 0.5.23",
    source: "https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/server_args.py",
    place: 1,
    role: FormatRole::Whole,
    open,
    flags: TABLES,
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::WeightDType,
        FieldId::Drafts,
        FieldId::DraftTokens,
    ],
};

const TABLES: &[&[Flag]] = &[INPUTS, NOT_MODELLED, QUIET];

/// Number formats of the cache (`--kv-cache-dtype`), with the input's words; formats with scales of
/// their own are not modelled.
const CACHE: &[(&str, &str)] = &[
    ("auto", "bf16"),
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("fp8_e4m3", "fp8"),
    ("fp8_e5m2", "fp8"),
];

/// Communication libraries with which a GPU sends its tokens to the GPUs of their experts.
const SENT: &[&str] = &[
    "deepep",
    "deepep_v2",
    "mooncake",
    "nixl",
    "mori",
    "flashinfer",
    "pplx",
    "megamoe",
    "flashinfer_megamoe",
];

const INPUTS: &[Flag] = &[
    Flag::by(&["model-path", "model"], model),
    Flag::by(&[""], model),
    Flag::sets(&["tp-size", "tensor-parallel-size", "tp"], FieldId::TensorParallel),
    Flag::sets(&["pp-size", "pipeline-parallel-size", "pp"], FieldId::PipelineParallel),
    Flag::together(&["dp-size", "data-parallel-size", "dp"]),
    Flag::together(&["ep-size", "expert-parallel-size", "ep"]),
    Flag::sets(&["mem-fraction-static"], FieldId::StaticFraction),
    Flag::sets(&["context-length"], FieldId::ContextLength),
    Flag::sets(&["max-running-requests"], FieldId::ConcurrentSequences),
    Flag::by(&["chunked-prefill-size"], chunk),
    Flag::sets(&["page-size"], FieldId::BlockSize),
    Flag::sets(&["cpu-offload-gb"], FieldId::WeightsOnHost),
    Flag::words(&["kv-cache-dtype"], FieldId::KvCacheDType, CACHE),
    Flag::by(&["moe-a2a-backend"], all_to_all),
    Flag::by(&["enable-deepep-moe"], all_to_all).alone(),
    Flag::by(&["disable-cuda-graph"], no_graphs).alone(),
    Flag::together(&["quantization"]),
    Flag::together(&["dtype"]),
    Flag::together(&["speculative-algorithm"]),
    Flag::together(&["speculative-draft-model-path", "speculative-draft-model"]),
    Flag::together(&["speculative-num-steps"]),
    Flag::together(&["speculative-eagle-topk"]),
    Flag::together(&["speculative-num-draft-tokens"]),
    Flag::by(&["config"], |reading, given| reading.beneath(given, file)),
];

/// Keys that distinguish a file for `--config` from files of other tools.
const KEYS: [&str; 8] = [
    "mem-fraction-static",
    "mem_fraction_static",
    "chunked-prefill-size",
    "chunked_prefill_size",
    "max-running-requests",
    "max_running_requests",
    "tp-size",
    "tp_size",
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let command = text.invocations().iter().find_map(|run| {
        let skip = if run.starts("sglang.launch_server", &[]) || run.starts("launch_server", &[]) {
            0
        } else if run.starts("sglang", &["serve"]) {
            1
        } else {
            return None;
        };
        Some(serving::in_full(run.stated(skip, TABLES), TABLES))
    });
    let call = || {
        let is = |name: &str| {
            matches!(
                name,
                "sgl.Engine" | "sglang.Engine" | "Engine" | "ServerArgs" | "sgl.ServerArgs"
            )
        };
        let call = text
            .calls()
            .iter()
            .filter(|call| is(&call.name))
            .max_by_key(|call| call.arguments.len())?;
        let is_ours = call.arguments.iter().any(|given| given.key == "model_path");
        is_ours.then(|| Stated::of(call.arguments.clone()))
    };
    command.or_else(call).map(Ok).or_else(|| file(text))
}

/// The file given by `--config`, which has the arguments' long names.
fn file(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    Some(text.keys_with(&KEYS)?.map(Stated::of))
}

fn model(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    reading.model(given);
    Ok(())
}

/// Tokens in a chunk of a prompt; −1 processes prompts whole.
fn chunk(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.text() == "-1" {
        reading.not_modelled(given, "Prompts run whole, so that a step holds the longest of them.");
        return Ok(());
    }
    let tokens = given.whole()?;
    reading.read(given, FieldId::PrefillChunkSize, Value::Integer(tokens));
    Ok(())
}

fn all_to_all(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let text = given.text();
    let sends = given.is_on() == Some(true) || SENT.contains(&text.as_str());
    if sends || text == "none" {
        reading.read(given, FieldId::TokensSent, Value::Flag(sends));
    } else {
        reading.not_modelled(given, "Tokens reach experts in another way.");
    }
    Ok(())
}

/// Without CUDA graphs, no memory is reserved for them.
fn no_graphs(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.is_on() == Some(true) {
        reading.derive(given, FieldId::CudaGraphs, Value::Decimal(0.0), "Nothing is captured.");
    }
    Ok(())
}

/// SGLang's default number of tokens in a chunk, by the accelerator's memory
/// (`handle_gpu_memory_settings`).
fn chunk_default(reading: &Reading<'_>) -> u64 {
    match serving::gibibytes(&reading.scenario) {
        160.0.. => 16_384,
        60.0.. => 8_192,
        20.0.. => 4_096,
        _ => 2_048,
    }
}

fn begin(reading: &mut Reading<'_>) {
    serving::begin(reading, "sglang", "tp-size", "pp-size");
    // The fewest that `_resolve_max_num_reqs` of the model runner takes where nothing is said; with
    // a large cache up to 4,096.
    serving::most_requests(reading, "max-running-requests", 2_048);
    let tokens = chunk_default(reading);
    reading.default("chunked-prefill-size", FieldId::PrefillChunkSize, Value::Integer(tokens));
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let replicas =
        serving::stated_whole(reading, &["dp-size", "data-parallel-size", "dp"])?.unwrap_or(1);
    let shared = ["enable-dp-attention", "attn-dp-size", "attention-data-parallel-size"];
    let attention = reading
        .stated(&shared)
        .is_some_and(|given| given.is_on() != Some(false) && given.text() != "1");
    // With data-parallel attention the replicas are subsets of the tensor ranks, so they need no
    // further GPUs.
    serving::gpus(reading, if attention { 1 } else { replicas });
    serving::whole_experts(reading, &["ep-size", "expert-parallel-size", "ep"])?;
    let name = reading.stated(&["model-path", "model", ""]).cloned();
    vllm_words::weights(reading, name.as_ref());
    serving::longest_context(reading, "context-length", &["context-length"]);
    share(reading);
    drafts_of_servers::read_sglang(reading)
}

/// The share of memory where none is stated: SGLang chooses it by the accelerator
/// (`handle_gpu_memory_settings`). Where it measures the CUDA graphs first, which it does for all
/// but latent attention, it reserves 1,536 MiB and an eighth of a GiB for each rank.
fn share(reading: &mut Reading<'_>) {
    let memory = serving::mebibytes(&reading.scenario);
    let latent =
        matches!(reading.scenario.get(FieldId::KvLoraRank), Value::Integer(rank) if rank > 0);
    if reading.stated(&["mem-fraction-static"]).is_some_and(|given| !given.is_unknown())
        || memory <= 0.0
    {
        return;
    }
    let ranks = whole(&reading.scenario, FieldId::TensorParallel)
        .saturating_mul(whole(&reading.scenario, FieldId::PipelineParallel));
    let for_ranks = crate::units::to_f64(ranks) / 8.0 * 1024.0;
    let chunk = crate::units::to_f64(whole(&reading.scenario, FieldId::PrefillChunkSize));
    let reserved = if latent {
        // The graphs of decode steps and of prompts are reserved in addition; on large GPUs the
        // reserve is at least 10 GiB.
        let reserved =
            512.0 + chunk.max(2_048.0) * 1.5 + for_ranks + 1.5 * 1024.0 + 2.0 * graphs(reading);
        if memory > 60.0 * 1024.0 { reserved.max(10.0 * 1024.0) } else { reserved }
    } else {
        1_536.0 + for_ranks
    };
    let share = ((memory - reserved) / memory * 1000.0).round() / 1000.0;
    if share > 0.0 {
        let why = "SGLang chooses it by the accelerator's memory.";
        reading.follows("mem-fraction-static", FieldId::StaticFraction, Value::Decimal(share), why);
    }
}

/// The largest batch whose decode step is captured, by the accelerator's memory.
fn graphs(reading: &Reading<'_>) -> f64 {
    let few = whole(&reading.scenario, FieldId::TensorParallel) < 4;
    match (serving::gibibytes(&reading.scenario), few) {
        (160.0.., _) | (60.0.., false) => 512.0,
        (60.0.., true) => 256.0,
        (20.0.., false) => 160.0,
        (35.0.., true) => 32.0,
        (20.0.., true) => 48.0,
        _ => 8.0,
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    // Its requests wait in any case.
    writing.is_said(&[FieldId::OthersWait]);
    writing.say("model-path", Some(model), &[]);
    serving::say_replicas(writing, "dp-size");
    serving::say_whole(writing, "context-length", FieldId::ContextLength);
    serving::say_whole(writing, "chunked-prefill-size", FieldId::PrefillChunkSize);
    let share = match writing.scenario.get(FieldId::StaticFraction) {
        Value::Decimal(share) => share.to_string(),
        _ => "0.88".to_owned(),
    };
    writing.say("mem-fraction-static", Some(share), &[FieldId::StaticFraction]);
    let ranks = whole(writing.scenario, FieldId::TensorParallel);
    if writing.differs(FieldId::WholeExperts) && ranks > 1 {
        writing.say("ep-size", Some(ranks.to_string()), &[FieldId::WholeExperts]);
    }
    if writing.differs(FieldId::TokensSent) {
        writing.say("moe-a2a-backend", Some("deepep".to_owned()), &[FieldId::TokensSent]);
    }
    if let Some((key, value)) = serving::other_weights(writing, words_for) {
        writing.say(key, Some(value.to_owned()), &[FieldId::WeightDType]);
    }
    drafts_of_servers::write_sglang(writing);
    writing.table();
    format!("python3 -m sglang.launch_server{}\n", writing.as_flags())
}

/// SGLang's flag and value for a format of weights.
fn words_for(format: &str) -> Option<(&'static str, &'static str)> {
    let method = match format {
        "bf16" => return Some(("dtype", "bfloat16")),
        "fp16" => return Some(("dtype", "float16")),
        "fp32" => return Some(("dtype", "float32")),
        "fp8-tensor" => "fp8",
        "fp8-column" => "w8a8_fp8",
        "w8a8" => "w8a8_int8",
        "awq" => "awq",
        "gptq" => "gptq",
        "nvfp4" => "modelopt_fp4",
        "mxfp4" => "mxfp4",
        "nf4" => "bitsandbytes",
        _ => return None,
    };
    Some(("quantization", method))
}
