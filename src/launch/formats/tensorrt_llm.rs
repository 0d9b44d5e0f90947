//! TensorRT-LLM: `trtllm-serve MODEL …`, the YAML file given by `--extra_llm_api_options`, and
//! `LLM(model=…)` of its Python module.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::tensorrt_llm::{NOT_MODELLED, QUIET};
use crate::launch::shared::{drafts_of_servers, serving, whole};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "tensorrt-llm",
    label: "TensorRT-LLM",
    version: "TensorRT-LLM 1.2 (4c05a748)",
    source: "https://github.com/NVIDIA/TensorRT-LLM/blob/4c05a74891e4df8066f08ed4ce14b0972abe4e25/tensorrt_llm/commands/serve.py",
    place: 3,
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
        FieldId::WholeExperts,
        FieldId::Drafts,
        FieldId::DraftTokens,
    ],
};

const TABLES: &[&[Flag]] = &[INPUTS, NOT_MODELLED, QUIET];

/// Number formats of the cache (`kv_cache_config.dtype`), with the input's words.
const CACHE: &[(&str, &str)] = &[
    ("auto", "bf16"),
    ("bfloat16", "bf16"),
    ("float16", "bf16"),
    ("fp8", "fp8"),
    ("float32", "fp32"),
];

const INPUTS: &[Flag] = &[
    Flag::by(&["model"], model),
    Flag::by(&[""], model),
    Flag::sets(&["tp_size", "tensor_parallel_size"], FieldId::TensorParallel),
    Flag::sets(&["pp_size", "pipeline_parallel_size"], FieldId::PipelineParallel),
    Flag::together(&["ep_size", "moe_expert_parallel_size"]),
    Flag::sets(&["max_seq_len"], FieldId::ContextLength),
    Flag::sets(&["max_batch_size"], FieldId::ConcurrentSequences),
    Flag::sets(&["max_num_tokens"], FieldId::PrefillChunkSize),
    Flag::words(&["kv_cache_dtype", "kv_cache_config.dtype"], FieldId::KvCacheDType, CACHE),
    Flag::sets(&["tokens_per_block", "kv_cache_config.tokens_per_block"], FieldId::BlockSize),
    Flag::together(&["dtype"]),
    Flag::together(&["speculative_config.decoding_type"]),
    Flag::together(&[
        "speculative_config.speculative_model_dir",
        "speculative_config.speculative_model",
    ]),
    Flag::together(&[
        "speculative_config.max_draft_len",
        "speculative_config.num_nextn_predict_layers",
    ]),
    Flag::by(&["backend"], backend),
    Flag::together(&["extra_llm_api_options", "config"]),
];

/// Keys that distinguish the YAML file from files of other tools.
const KEYS: [&str; 13] = [
    "speculative_config.decoding_type",
    "kv_cache_config.tokens_per_block",
    "kv_cache_config.free_gpu_memory_fraction",
    "kv_cache_config.enable_block_reuse",
    "kv_cache_config.dtype",
    "kv_cache_config",
    "cuda_graph_config.enable_padding",
    "cuda_graph_config.max_batch_size",
    "cuda_graph_config.batch_sizes",
    "enable_attention_dp",
    "moe_config.backend",
    "print_iter_log",
    "cuda_graph_config",
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let command = text.invocations().iter().find(|run| run.program == "trtllm-serve").map(|run| {
        let has_verb = run.arguments.first().is_some_and(|word| word.text == "serve");
        run.stated(usize::from(has_verb), TABLES)
    });
    let call = || {
        let is_ours = text.raw.contains("tensorrt_llm");
        let is = |name: &str| name.rsplit('.').next() == Some("LLM");
        let call = text
            .calls()
            .iter()
            .filter(|call| is_ours && is(&call.name))
            .max_by_key(|call| call.arguments.len())?;
        Some(Stated::of(call.arguments.clone()))
    };
    let stated =
        command.or_else(call).map(|stated| Stated { given: of_bases(stated.given), ..stated });
    stated.map(Ok).or_else(|| file(text))
}

/// The YAML file.
fn file(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    Some(text.keys_with(&KEYS)?.map(|given| Stated::of(of_bases(given))))
}

/// Replaces the keys inside a group that the table knows only as a whole by the group's name, once.
fn of_bases(given: Vec<Given>) -> Vec<Given> {
    let is_known = |name: &str| TABLES.iter().copied().flatten().any(|flag| flag.is_called(name));
    let mut plain: Vec<Given> = Vec::new();
    for given in given {
        let base = given
            .key
            .split_once('.')
            .map(|(base, _)| base.to_owned())
            .filter(|base| is_known(base));
        match base.filter(|_| !is_known(&given.key)) {
            Some(base) if plain.iter().any(|known| known.key == base) => {}
            Some(base) => plain.push(Given { key: base, value: "…".into(), place: given.place }),
            None => plain.push(given),
        }
    }
    plain
}

fn model(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    reading.model(given);
    Ok(())
}

fn backend(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if given.text() == "pytorch" {
        reading.tell(given, crate::launch::Way::NoEffect, String::new());
    } else {
        reading.not_modelled(
            given,
            "Another backend than PyTorch's carries the layers out otherwise.",
        );
    }
    Ok(())
}

fn begin(reading: &mut Reading<'_>) {
    // This program's memory rule is not modelled here: the cache takes all memory that weights and
    // working memory leave.
    serving::begin(reading, "none", "tp_size", "pp_size");
    // `BuildConfig.max_batch_size`.
    serving::most_requests(reading, "max_batch_size", 2_048);
    // `BuildConfig.max_num_tokens`, `KvCacheConfig.tokens_per_block`.
    reading.default("max_num_tokens", FieldId::PrefillChunkSize, Value::Integer(8_192));
    reading.default("tokens_per_block", FieldId::BlockSize, Value::Integer(32));
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let options = reading.stated(&["extra_llm_api_options", "config"]).cloned();
    if let Some(given) = options.filter(|given| !given.is_unknown()) {
        // The file's values override the command's own flags.
        reading.above(&given, file).map_err(|why| given.wrong(why))?;
    }
    serving::gpus(reading, 1);
    serving::whole_experts(reading, &["ep_size", "moe_expert_parallel_size"])?;
    let name = reading.stated(&["model", ""]).cloned();
    crate::launch::shared::vllm_words::weights(reading, name.as_ref());
    serving::longest_context(reading, "max_seq_len", &["max_seq_len"]);
    drafts_of_servers::read_tensorrt_llm(reading)
}

fn write(writing: &mut Writing<'_>) -> String {
    let model = writing.model();
    // Its requests wait in any case.
    writing.is_said(&[FieldId::OthersWait]);
    if serving::replicas(writing.scenario) == 1 {
        writing.is_said(&[FieldId::Gpus]);
    }
    let ranks = whole(writing.scenario, FieldId::TensorParallel);
    if writing.differs(FieldId::WholeExperts) && ranks > 1 {
        writing.say("ep_size", Some(ranks.to_string()), &[FieldId::WholeExperts]);
    }
    serving::say_whole(writing, "max_seq_len", FieldId::ContextLength);
    let cache = writing.scenario.get(FieldId::KvCacheDType);
    let block = whole(writing.scenario, FieldId::BlockSize);
    let word = CACHE.iter().find(|(_, ours)| cache == Value::Choice(ours)).map(|(word, _)| *word);
    let mut lines = Vec::new();
    if let Some(word) = word.filter(|_| writing.differs(FieldId::KvCacheDType)) {
        lines.push(format!("  dtype: {word}\n"));
        writing.is_said(&[FieldId::KvCacheDType]);
    }
    if writing.differs(FieldId::BlockSize)
        && writing.scenario.get(FieldId::BlockSize) != Value::Empty
    {
        lines.push(format!("  tokens_per_block: {block}\n"));
        writing.is_said(&[FieldId::BlockSize]);
    }
    let _ = serving::other_weights(writing, |_| None);
    let cache = (!lines.is_empty()).then(|| format!("kv_cache_config:\n{}", lines.concat()));
    let lines = cache.unwrap_or_default() + &drafts_of_servers::write_tensorrt_llm(writing);
    let file = (!lines.is_empty()).then(|| format!("cat > options.yaml <<'EOF'\n{lines}EOF\n"));
    if file.is_some() {
        writing.say("extra_llm_api_options", Some("options.yaml".to_owned()), &[]);
    }
    writing.table();
    format!("{}trtllm-serve {model}{}\n", file.unwrap_or_default(), writing.as_flags())
}
