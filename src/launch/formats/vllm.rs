//! vLLM: `vllm serve MODEL …`, its module for servers, and `LLM(model=…)` in Python.

use super::{FormatSpec, Role};
use crate::launch::{Effect, Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "vllm",
    label: "vLLM",
    version: "vLLM 0.11.0",
    source: "https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/engine/arg_utils.py",
    place: 0,
    role: Role::Whole,
    open,
    flags: &[FLAGS],
    begin,
    end,
    write: Some(write),
    further: &[FieldId::Model, FieldId::Gpus],
};

/// Number formats of vLLM and ours.
const CACHE: &[(&str, &str)] =
    &[("auto", "bf16"), ("fp8", "fp8"), ("fp8_e4m3", "fp8"), ("fp8_e5m2", "fp8"), ("bfloat16", "bf16")];

const FLAGS: &[Flag] = &[
    Flag::by(&["model"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::by(&[""], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::sets(&["tensor-parallel-size", "tp"], FieldId::TensorParallel),
    Flag::sets(&["pipeline-parallel-size", "pp"], FieldId::PipelineParallel),
    Flag::together(&["data-parallel-size", "dp"]),
    Flag::by(&["max-model-len"], |reading, given| length(reading, given, FieldId::ContextLength)),
    Flag::by(&["max-num-batched-tokens"], |reading, given| length(reading, given, FieldId::PrefillChunkSize)),
    Flag::sets(&["max-num-seqs"], FieldId::ConcurrentSequences),
    Flag::sets(&["gpu-memory-utilization"], FieldId::MemoryUtilization),
    Flag::sets(&["block-size"], FieldId::BlockSize),
    Flag::words(&["kv-cache-dtype"], FieldId::KvCacheDType, CACHE),
    Flag::switch(&["enable-expert-parallel", "ep"], FieldId::WholeExperts),
    Flag::not_modelled(&["speculative-config"], "A draft model's weights and cache come on top."),
    Flag::not_modelled(&["enable-lora"], "Slots for adapters come on top.").alone(),
    Flag::no_effect(&["host"]),
    Flag::no_effect(&["port"]),
    Flag { names: &["served-model-name"], takes: Takes::Many, effect: Effect::NoEffect },
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let served = text.invocations().iter().find_map(|run| {
        let skip = if run.starts("vllm", &["serve"]) {
            1
        } else if run.program.starts_with("vllm.entrypoints") {
            0
        } else {
            return None;
        };
        Some(Ok(run.stated(skip, &[FLAGS])))
    });
    served.or_else(|| {
        let call = text.calls().iter().find(|call| call.name == "LLM" || call.name.ends_with(".LLM"))?;
        Some(Ok(Stated::of(call.arguments.clone())))
    })
}

fn begin(reading: &mut Reading<'_>) {
    reading.scenario.set(FieldId::Mode, Value::Choice("serve"));
    reading.default("engine", FieldId::Server, Value::Choice("vllm"));
    reading.default("tensor-parallel-size", FieldId::TensorParallel, Value::Integer(1));
    reading.default("pipeline-parallel-size", FieldId::PipelineParallel, Value::Integer(1));
    reading.default("gpu-memory-utilization", FieldId::MemoryUtilization, Value::Decimal(0.9));
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

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let replicas = reading.stated(&["data-parallel-size", "dp"]).cloned();
    let whole =
        |given: &Given| given.whole().map_err(|why| LaunchError::Value { flag: given.key.clone(), place: given.place, why });
    let replicas_count = replicas.as_ref().map_or(Ok(1), whole)?;
    let degree = |id| match reading.scenario.get(id) {
        Value::Integer(degree) => degree,
        _ => 1,
    };
    let gpus = degree(FieldId::TensorParallel).saturating_mul(degree(FieldId::PipelineParallel)).saturating_mul(replicas_count);
    reading.follows("GPUs", FieldId::Gpus, Value::Integer(gpus), "Tensor × pipeline × data parallel.");
    Ok(())
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    let whole = |id| match writing.scenario.get(id) {
        Value::Integer(number) => number,
        _ => 1,
    };
    let each = whole(FieldId::TensorParallel).saturating_mul(whole(FieldId::PipelineParallel)).max(1);
    let (gpus, context, chunk) = (whole(FieldId::Gpus), whole(FieldId::ContextLength), whole(FieldId::PrefillChunkSize));
    writing.is_said(&[FieldId::Server, FieldId::Gpus]);
    writing.say("max-model-len", Some(context.to_string()), &[FieldId::ContextLength]);
    writing.say("max-num-batched-tokens", Some(chunk.to_string()), &[FieldId::PrefillChunkSize]);
    if gpus / each > 1 {
        writing.say("data-parallel-size", Some((gpus / each).to_string()), &[FieldId::Gpus]);
    }
    writing.table();
    format!("vllm serve {model}{}\n", writing.as_flags())
}
