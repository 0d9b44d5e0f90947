//! vLLM: `vllm serve MODEL …`, its server module and its container image, `LLM(model=…)` in Python,
//! and the file given by `--config`.

use serde_json::Value as Json;

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::{vllm::NOT_MODELLED, vllm_quiet::QUIET};
use crate::launch::shared::vllm_words::{INPUTS, adapters, weights, words_for};
use crate::launch::shared::{drafts_of_servers, serving, whole};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Scenario, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "vllm",
    label: "vLLM",
    version: "vLLM 0.33.0",
    source: "https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/engine/arg_utils.py",
    place: 0,
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
        FieldId::ContextLength,
        FieldId::PrefillChunkSize,
        FieldId::Drafts,
        FieldId::DraftTokens,
    ],
};

const TABLES: &[&[Flag]] = &[INPUTS, FILE, NOT_MODELLED, QUIET];

/// The flag that names a file with further arguments.
const FILE: &[Flag] = &[Flag::by(&["config"], config)];

/// The class that a Python script calls; its defaults are larger than the server's.
const OFFLINE: &str = "LLM";

/// Keys that distinguish a file for `--config` from files of other tools.
const KEYS: [&str; 6] = [
    "gpu-memory-utilization",
    "gpu_memory_utilization",
    "max-model-len",
    "max_model_len",
    "max-num-batched-tokens",
    "max_num_batched_tokens",
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let command = text.invocations().iter().find_map(|run| {
        let skip = if run.starts("vllm", &["serve"]) {
            1
        } else if run.program.starts_with("vllm.entrypoints") || run.program == "vllm-openai" {
            0
        } else {
            return None;
        };
        Some(serving::in_full(run.stated(skip, TABLES), TABLES))
    });
    let call = || {
        let names = ["LLM", "EngineArgs", "AsyncEngineArgs"];
        let is_other = text.raw.contains("tensorrt_llm");
        let calls = text.calls().iter().filter(|_| !is_other);
        let is = |name: &str| names.contains(&name.rsplit('.').next().unwrap_or(name));
        let call = calls.filter(|call| is(&call.name)).max_by_key(|call| call.arguments.len())?;
        let is_offline = call.name.rsplit('.').next() == Some(OFFLINE);
        let launcher =
            if is_offline { vec![Given::new(OFFLINE, true, call.place)] } else { Vec::new() };
        Some(Stated { launcher, ..Stated::of(call.arguments.clone()) })
    };
    let stated =
        command.or_else(call).map(|stated| Stated { given: without_dots(stated.given), ..stated });
    stated.map(Ok).or_else(|| file(text))
}

/// The file given by `--config`, which has the arguments' long names.
fn file(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let keys = text.keys_with(&KEYS)?;
    Some(keys.map(|given| Stated::of(without_dots(given).into_iter().map(positive).collect())))
}

/// Turns a file's negative key, such as `no-enable-prefix-caching: true`, into the positive one.
fn positive(given: Given) -> Given {
    let name = given.key.strip_prefix("no-").or_else(|| given.key.strip_prefix("no_"));
    match name.filter(|name| is_known(name) && !is_known(&given.key)).zip(given.is_on()) {
        Some((name, on)) => Given::new(name, !on, given.place),
        None => given,
    }
}

fn is_known(name: &str) -> bool {
    TABLES.iter().copied().flatten().any(|flag| flag.is_called(name))
}

/// Normalises two spellings: `--compilation-config.mode 3` is a key of the object
/// `--compilation-config`, and `-O3` is `-O 3`.
fn without_dots(given: Vec<Given>) -> Vec<Given> {
    let plain = |given: Given| {
        if let Some(level) = given
            .key
            .strip_prefix('O')
            .filter(|level| level.len() == 1 && given.is_on() == Some(true))
        {
            return Given::new("optimization-level", level, given.place);
        }
        match given.key.split_once('.').filter(|(name, _)| is_known(name)) {
            Some((name, rest)) => {
                let object =
                    Json::Object([(rest.to_owned(), given.value.clone())].into_iter().collect());
                Given { key: name.to_owned(), value: object, place: given.place }
            }
            None => given,
        }
    };
    given.into_iter().map(plain).collect()
}

fn config(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    reading.beneath(given, file)
}

/// vLLM's default numbers of tokens in a step and of concurrent requests, by the accelerator
/// (`get_batch_defaults`).
fn batch_defaults(scenario: &Scenario, is_offline: bool) -> (u64, u64) {
    let memory = serving::gibibytes(scenario);
    let is_small =
        serving::is_accelerator(scenario, "a100") || serving::is_accelerator(scenario, "gb10");
    match (memory, is_offline) {
        (160.0.., _) => (16_384, 1_024),
        (70.0.., true) if !is_small => (16_384, 1_024),
        (70.0.., false) if !is_small => (8_192, 1_024),
        (_, true) => (8_192, 256),
        (_, false) => (2_048, 256),
    }
}

fn begin(reading: &mut Reading<'_>) {
    serving::begin(reading, "vllm", "tensor-parallel-size", "pipeline-parallel-size");
    // The default of `CacheConfig.gpu_memory_utilization`; it was 0.9 up to version 0.20.
    reading.default("gpu-memory-utilization", FieldId::MemoryUtilization, Value::Decimal(0.92));
    let is_offline = reading.launcher(&[OFFLINE]).is_some();
    let (tokens, requests) = batch_defaults(&reading.scenario, is_offline);
    serving::most_requests(reading, "max-num-seqs", requests);
    reading.default("max-num-batched-tokens", FieldId::PrefillChunkSize, Value::Integer(tokens));
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let replicas = serving::stated_whole(reading, &["data-parallel-size", "dp"])?.unwrap_or(1);
    serving::gpus(reading, replicas);
    let name = reading.stated(&["model", "model-tag", ""]).cloned();
    weights(reading, name.as_ref());
    serving::longest_context(reading, "max-model-len", &["max-model-len"]);
    shorter_steps(reading);
    adapters(reading);
    drafts_of_servers::read_vllm(reading)?;
    let experts = reading
        .stated(&["enable-expert-parallel", "ep"])
        .filter(|given| given.is_on() == Some(true))
        .cloned();
    if let Some(given) = experts.filter(|_| replicas > 1) {
        reading.not_modelled(
            &given,
            "With data parallel the experts of all replicas are shared out, so that each holds \
             fewer.",
        );
    }
    Ok(())
}

/// Where its size is not stated, a step holds at most the tokens of all requests together.
fn shorter_steps(reading: &mut Reading<'_>) {
    if reading.stated(&["max-num-batched-tokens"]).is_some() {
        return;
    }
    let is_offline = reading.launcher(&[OFFLINE]).is_some();
    let (tokens, _) = batch_defaults(&reading.scenario, is_offline);
    let requests = whole(&reading.scenario, FieldId::ConcurrentSequences);
    let most = requests.saturating_mul(whole(&reading.scenario, FieldId::ContextLength));
    if most < tokens {
        let why = "All requests together have no more tokens.";
        reading.follows(
            "max-num-batched-tokens",
            FieldId::PrefillChunkSize,
            Value::Integer(most),
            why,
        );
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    // Its requests wait in any case.
    writing.is_said(&[FieldId::OthersWait]);
    // With whole experts vLLM shares those of all replicas out, so that no replica has them to
    // itself.
    if writing.scenario.get(FieldId::WholeExperts) == Value::Flag(true)
        && serving::replicas(writing.scenario) > 1
    {
        writing.is_said(&[FieldId::Server]);
    } else {
        serving::say_replicas(writing, "data-parallel-size");
    }
    serving::say_whole(writing, "max-model-len", FieldId::ContextLength);
    serving::say_whole(writing, "max-num-batched-tokens", FieldId::PrefillChunkSize);
    if let Some((key, value)) = serving::other_weights(writing, words_for) {
        writing.say(key, Some(value.to_owned()), &[FieldId::WeightDType]);
    }
    if writing.differs(FieldId::AdapterSlots) {
        writing.say("enable-lora", None, &[]);
    }
    drafts_of_servers::write_vllm(writing);
    writing.table();
    format!("vllm serve {model}{}\n", writing.as_flags())
}
