//! llama.cpp: `llama-server -m FILE …`, `llama-cli` and `llama-bench`, and its image.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::llama_cpp::{NOT_MODELLED, QUIET};
use crate::launch::shared::weights::GgufName;
use crate::launch::shared::{drafts_of_servers, llama_cpp_host, serving, whole};
use crate::launch::{
    Effect, Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing, model_names,
};
use crate::scenario::{FieldId, Value, parse};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "llama-cpp",
    label: "llama.cpp",
    version: "llama.cpp at 00dc8057",
    source: "https://github.com/ggml-org/llama.cpp/blob/00dc8057ab28c9cb4c79a6dd6dfce07fe779f63b/tools/server/README.md",
    place: 2,
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
        FieldId::ConcurrentSequences,
        FieldId::KvCacheDType,
        FieldId::GpuLayers,
        FieldId::CacheOnHost,
        FieldId::Drafts,
        FieldId::DraftTokens,
    ],
};

const TABLES: &[&[Flag]] = &[INPUTS, NOT_MODELLED, QUIET];

const INPUTS: &[Flag] = &[
    Flag::by(&["m", "model", "mu", "model-url", "dr", "docker-repo"], model),
    Flag::by(&["hf", "hfr", "hf-repo"], model),
    Flag::by(&["hff", "hf-file"], file),
    Flag::together(&["c", "ctx-size"]),
    Flag::together(&["np", "parallel"]),
    Flag {
        names: &["kvu", "kv-unified", "no-kvu", "no-kv-unified"],
        takes: Takes::Nothing,
        effect: Effect::Together,
    },
    Flag::sets(&["ubatch-size", "ub"], FieldId::PrefillChunkSize),
    Flag::together(&["ctk", "cache-type-k"]),
    Flag::together(&["ctv", "cache-type-v"]),
    Flag::together(&["ngl", "gpu-layers", "n-gpu-layers"]),
    Flag::sets(&["n-cpu-moe", "ncmoe"], FieldId::ExpertLayersOnHost),
    Flag { names: &["cpu-moe", "cmoe"], takes: Takes::Nothing, effect: Effect::Together },
    Flag::together(&["ot", "override-tensor"]),
    Flag {
        names: &["no-kv-offload", "nkvo", "kv-offload", "kvo"],
        takes: Takes::Optional,
        effect: Effect::Together,
    },
    Flag::together(&["md", "model-draft", "spec-draft-model"]),
    Flag::together(&["hfd", "hfrd", "hf-repo-draft", "spec-draft-hf"]),
    Flag::together(&["spec-type"]),
    Flag::together(&["draft-max", "draft", "draft-n", "spec-draft-n-max"]),
    Flag::together(&["sm", "split-mode"]),
    Flag::together(&["ts", "tensor-split"]),
    Flag::together(&["dev", "device"]),
    Flag { names: &["fa", "flash-attn"], takes: Takes::Optional, effect: Effect::By(attention) },
    Flag { names: &["fit"], takes: Takes::Optional, effect: Effect::NoEffect },
    Flag::together(&["p", "n-prompt", "prompt"]),
    Flag::together(&["pg"]),
    Flag::together(&["d", "n-depth"]),
];

/// The program llama-bench, whose context length follows from its tests.
const BENCH: &str = "llama-bench";

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let run = text.invocations().iter().find(|run| {
        let program = run.program.strip_suffix(".exe").unwrap_or(&run.program);
        let program = program.rsplit('\\').next().unwrap_or(program);
        let is_ours = matches!(
            program,
            "llama-server" | "llama-cli" | "llama-bench" | "llama.cpp" | "llama-completion"
        );
        is_ours && !run.arguments.is_empty()
    })?;
    let mut stated = run.stated(0, TABLES);
    if run.program.starts_with(BENCH)
        && let Some(word) = run.arguments.first()
    {
        stated.launcher.push(Given::new(BENCH, true, word.place));
    }
    Some(Ok(stated))
}

fn begin(reading: &mut Reading<'_>) {
    serving::begin(reading, "llama-cpp", "devices", "split-mode layer");
    reading.default("ubatch-size", FieldId::PrefillChunkSize, Value::Integer(512));
    // For a repository without a type after the colon, llama.cpp takes its Q4_K_M file.
    reading.default("hf-repo", FieldId::WeightDType, Value::Choice("q4-k-m"));
}

/// A file or repository, whose name gives the model and the types of the weights.
fn model(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let name = GgufName::of(&given.text());
    reading.model(&Given { value: called(&name.model).into(), ..given.clone() });
    let is_repository = matches!(given.key.as_str(), "hf" | "hfr" | "hf-repo");
    types(reading, given, &name, is_repository);
    Ok(())
}

/// The file of a repository, whose name gives the types of the weights.
fn file(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    types(reading, given, &GgufName::of(&given.text()), false);
    Ok(())
}

fn types(reading: &mut Reading<'_>, given: &Given, name: &GgufName, has_default: bool) {
    match (&name.format, &name.other) {
        (Some(word), None) => serving::set_weights(reading, given, word, "The name tells it."),
        (Some(word), Some(other)) => {
            if let Ok(value) = parse(FieldId::WeightDType, word) {
                let why = format!(
                    "The name says {other}, a mix that is no row here: the nearest counts."
                );
                reading.derive(given, FieldId::WeightDType, value, &why);
                reading.not_modelled(
                    given,
                    &format!("The mix {other} differs a little from the one that counts."),
                );
            }
        }
        (None, Some(other)) => {
            reading.not_modelled(given, &format!("Weights in {other} are not modelled."));
        }
        (None, None) if has_default => {}
        (None, None) => reading
            .not_modelled(given, "The name does not tell the types of the weights: Q4_K_M counts."),
    }
}

/// The part of a name that the catalog knows: files of some publishers begin with the owner and an
/// underscore.
fn called(name: &str) -> &str {
    let behind = name.rsplit('/').next().unwrap_or(name).split_once('_').map(|(_, behind)| behind);
    behind
        .filter(|behind| {
            model_names::row_called(name).is_none() && model_names::row_called(behind).is_some()
        })
        .unwrap_or(name)
}

/// Without flash attention, scores are written to memory, which is not modelled; `on` and `auto`
/// are.
fn attention(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    if matches!(given.text().as_str(), "off" | "0" | "false" | "disabled") {
        reading.not_modelled(given, "Scores of attention are written to memory.");
    } else {
        reading.tell(given, crate::launch::Way::NoEffect, String::new());
    }
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    devices(reading)?;
    layers(reading)?;
    llama_cpp_host::experts(reading);
    llama_cpp_host::cache_on_host(reading);
    cache(reading);
    drafts_of_servers::read_llama_cpp(reading)?;
    if reading.launcher(&[BENCH]).is_some() { tests(reading) } else { context(reading) }
}

/// The largest of several numbers behind a flag of llama-bench; 0 where none is stated.
fn largest(reading: &Reading<'_>, names: &[&str]) -> Result<Option<u64>, LaunchError> {
    let Some(given) = reading.stated(names).filter(|given| !given.is_unknown()) else {
        return Ok(None);
    };
    let numbers: Option<Vec<u64>> = given.list().iter().map(|number| number.parse().ok()).collect();
    let most = numbers.and_then(|numbers| numbers.into_iter().max());
    most.map(Some)
        .ok_or_else(|| given.wrong("takes whole numbers with commas between them".to_owned()))
}

/// llama-bench makes a context for the longest of its tests. Prompt and answer are separate tests,
/// each after the stated depth.
fn tests(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let prompt = largest(reading, &["p", "n-prompt"])?.unwrap_or(512);
    let answer = largest(reading, &["n", "n-gen"])?.unwrap_or(128);
    let before = largest(reading, &["d", "n-depth"])?.unwrap_or(0);
    let both: u64 = match reading.stated(&["pg"]).filter(|given| !given.is_unknown()) {
        Some(given) => given
            .list()
            .iter()
            .filter_map(|number| number.parse::<u64>().ok())
            .fold(0, u64::saturating_add),
        None => 0,
    };
    let longest = prompt.max(answer).max(both).saturating_add(before).max(1);
    let why = "What lies before a test (-d) and the longest test.";
    reading.follows("context", FieldId::ContextLength, Value::Integer(longest), why);
    reading.follows(
        "parallel",
        FieldId::ConcurrentSequences,
        Value::Integer(1),
        "One test runs at a time.",
    );
    Ok(())
}

/// `-c` is the context of all slots together: each of `-np` slots has its part, unless they share
/// one cache.
fn context(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let names = ["c", "ctx-size"];
    let slots = reading
        .stated(&["np", "parallel"])
        .filter(|given| !given.is_unknown() && given.text() != "-1")
        .cloned();
    let shared =
        reading.stated(&["kvu", "kv-unified"]).is_some_and(|given| given.is_on() == Some(true));
    let count = match &slots {
        Some(_) if !shared => {
            serving::stated_whole(reading, &["np", "parallel"])?.unwrap_or(1).max(1)
        }
        _ => 1,
    };
    let all = serving::stated_whole(reading, &names)?.filter(|tokens| *tokens > 0);
    match (reading.stated(&names).cloned(), all) {
        (Some(given), Some(tokens)) if count > 1 => {
            let each = Value::Integer((tokens / count).max(1));
            reading.derive(
                &given,
                FieldId::ContextLength,
                each,
                "The context of all slots, shared out among them.",
            );
        }
        (Some(given), Some(tokens)) => {
            reading.read(&given, FieldId::ContextLength, Value::Integer(tokens));
        }
        _ => {
            serving::longest_context(reading, "ctx-size", &names);
            let given = Given::new("ctx-size", 0, crate::launch::Place { line: 1, column: 1 });
            reading.not_modelled(
                &given,
                "Where -c is not stated, llama.cpp shortens the context until it fits (--fit).",
            );
        }
    }
    match slots {
        Some(given) => reading.read(&given, FieldId::ConcurrentSequences, Value::Integer(count)),
        None => reading.follows(
            "parallel",
            FieldId::ConcurrentSequences,
            Value::Integer(1),
            "Slots share one cache where their number is not stated: one sequence of the whole \
             context fills it.",
        ),
    }
    Ok(())
}

/// Types of the cache (`-ctk`, `-ctv`), with the input's words.
const CACHE: &[(&str, &str)] =
    &[("f16", "bf16"), ("bf16", "bf16"), ("f32", "fp32"), ("q8_0", "q8-0"), ("q4_0", "q4-0")];

/// The input has one type for keys and values, so two different types are not modelled.
fn cache(reading: &mut Reading<'_>) {
    let of = |names: &[&str]| reading.stated(names).filter(|given| !given.is_unknown()).cloned();
    let [keys, values] = [of(&["ctk", "cache-type-k"]), of(&["ctv", "cache-type-v"])];
    let word = |given: &Option<Given>| {
        given.as_ref().map_or_else(|| "f16".to_owned(), |given| given.text().to_ascii_lowercase())
    };
    let ours = |word: &str| CACHE.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
    let (key_type, value_type) = (ours(&word(&keys)), ours(&word(&values)));
    let Some(given) = keys.clone().or_else(|| values.clone()) else { return };
    match (key_type, value_type) {
        (Some(key_type), Some(value_type)) if key_type == value_type => {
            for given in [keys, values].into_iter().flatten() {
                reading.read(&given, FieldId::KvCacheDType, Value::Choice(key_type));
            }
        }
        _ => reading.not_modelled(
            &given,
            "Keys and values in different types, or in this one, are not modelled: 16 bits count.",
        ),
    }
}

/// Fewer layers on the GPU than the model has leave the rest in the host's memory.
fn layers(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let names = ["ngl", "gpu-layers", "n-gpu-layers"];
    let Some(given) = reading.stated(&names).filter(|given| !given.is_unknown()).cloned() else {
        return Ok(());
    };
    let is_all = matches!(given.text().as_str(), "auto" | "all" | "-1" | "-2");
    // llama.cpp counts the head as one further layer.
    let all = whole(&reading.scenario, FieldId::NumHiddenLayers).saturating_add(1);
    let on_gpu = if is_all { Some(all) } else { largest(reading, &names)? };
    if on_gpu.is_some_and(|layers| layers < all) {
        let layers = Value::Integer(on_gpu.unwrap_or(all));
        reading.read(&given, FieldId::GpuLayers, layers);
    } else {
        reading.tell(&given, crate::launch::Way::NoEffect, "Every layer is on the GPU.".to_owned());
    }
    Ok(())
}

/// The named devices share layers, or split tensors.
fn devices(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let stated =
        |names: &[&str]| reading.stated(names).filter(|given| !given.is_unknown()).cloned();
    let mode = stated(&["sm", "split-mode"]);
    let shares = stated(&["ts", "tensor-split"]).map(|given| {
        (
            given
                .list()
                .iter()
                .flat_map(|part| part.split('/'))
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            given,
        )
    });
    let named = stated(&["dev", "device"]).map(|given| given.list().len());
    let count = shares.as_ref().map(|(parts, _)| parts.len()).or(named);
    let visible = || {
        reading
            .environment("CUDA_VISIBLE_DEVICES")
            .filter(|given| !given.is_unknown())
            .map(|given| given.list().len())
    };
    let count = u64::try_from(count.or_else(visible).unwrap_or(1)).unwrap_or(1).max(1);
    if let Some((parts, given)) = shares {
        tell_shares(reading, &given, &parts, count);
    }
    let mode_word = mode.as_ref().map_or_else(|| "layer".to_owned(), Given::text);
    let field = match (mode_word.as_str(), &mode) {
        ("none", _) => None,
        ("tensor", _) => Some(FieldId::TensorParallel),
        ("row", Some(given)) => {
            reading.not_modelled(
                given,
                "Rows of weights are split, while one GPU holds the cache: tensor parallel counts.",
            );
            Some(FieldId::TensorParallel)
        }
        _ => Some(FieldId::PipelineParallel),
    };
    if let Some(given) = mode.filter(|_| mode_word != "row") {
        reading.tell(&given, crate::launch::Way::Read, String::new());
    }
    if let Some(field) = field.filter(|_| count > 1) {
        reading.follows(
            "devices",
            field,
            Value::Integer(count),
            "The GPUs that the command names.",
        );
    }
    serving::gpus(reading, 1);
    Ok(())
}

/// Equal shares of tensors are read; others are not modelled.
fn tell_shares(reading: &mut Reading<'_>, given: &Given, parts: &[String], count: u64) {
    let is_even = parts.windows(2).all(|pair| pair.first() == pair.last());
    if is_even {
        reading.tell(given, crate::launch::Way::Read, format!("{count} GPUs with equal shares."));
    } else {
        reading.not_modelled(given, "GPUs get shares of other sizes; equal ones count.");
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    let number = |id| whole(scenario, id);
    let (context, slots) = (number(FieldId::ContextLength), number(FieldId::ConcurrentSequences));
    let model = writing.model();
    let format = match scenario.get(FieldId::WeightDType) {
        Value::Choice(word) => word.to_owned(),
        _ => String::new(),
    };
    let theirs = if format == "gguf-16" {
        Some("BF16".to_owned())
    } else {
        is_gguf(&format).then(|| format.to_ascii_uppercase().replace('-', "_"))
    };
    if theirs.is_some() {
        writing.is_said(&[FieldId::WeightDType]);
    }
    let file =
        theirs.as_ref().map_or_else(|| model.clone(), |theirs| format!("{model}-{theirs}.gguf"));
    writing.say("model", Some(file), &[]);
    writing.say(
        "ctx-size",
        Some(context.saturating_mul(slots).to_string()),
        &[FieldId::ContextLength],
    );
    writing.say("parallel", Some(slots.to_string()), &[FieldId::ConcurrentSequences]);
    if let Value::Choice(word) = scenario.get(FieldId::KvCacheDType)
        && let Some((theirs, _)) = CACHE.iter().find(|(_, ours)| *ours == word)
    {
        writing.say("cache-type-k", Some((*theirs).to_owned()), &[FieldId::KvCacheDType]);
        writing.say("cache-type-v", Some((*theirs).to_owned()), &[FieldId::KvCacheDType]);
    }
    drafts_of_servers::write_llama_cpp(writing, theirs.as_deref().unwrap_or("F16"));
    split(writing);
    if let Value::Integer(layers) = scenario.get(FieldId::GpuLayers) {
        writing.say("n-gpu-layers", Some(layers.to_string()), &[FieldId::GpuLayers]);
    }
    if scenario.get(FieldId::CacheOnHost) == Value::Flag(true) {
        writing.say("no-kv-offload", None, &[FieldId::CacheOnHost]);
    }
    writing.table();
    format!("llama-server{}\n", writing.as_flags())
}

/// Writes the number of GPUs that layers or tensors are split over.
fn split(writing: &mut Writing<'_>) {
    let number = |id| whole(writing.scenario, id);
    let (tensor, pipeline) = (number(FieldId::TensorParallel), number(FieldId::PipelineParallel));
    let (mode, count, fields) = match (tensor, pipeline) {
        (1, pipeline) => ("layer", pipeline, [FieldId::TensorParallel, FieldId::PipelineParallel]),
        (tensor, 1) => ("tensor", tensor, [FieldId::TensorParallel, FieldId::PipelineParallel]),
        _ => return,
    };
    if serving::replicas(writing.scenario) == 1 {
        writing.is_said(&[FieldId::Gpus]);
    }
    writing.is_said(&fields);
    writing.is_said(&[FieldId::Server]);
    if count > 1 {
        writing.say("split-mode", Some(mode.to_owned()), &fields);
        let devices: Vec<String> =
            (0..count.min(1_000)).map(|index| format!("CUDA{index}")).collect();
        writing.say("device", Some(devices.join(",")), &fields);
    }
}

/// True if the input's word is a GGUF format.
fn is_gguf(word: &str) -> bool {
    word.starts_with('q') || word.starts_with("iq") || word == "mxfp4-moe"
}
