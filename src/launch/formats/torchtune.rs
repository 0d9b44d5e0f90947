//! torchtune: the YAML of its recipes, and `tune run RECIPE --config FILE key=value` with such a
//! file.
//!
//! Read in torchtune 0.6.1: `recipes/*.py` (keys that a recipe reads),
//! `torchtune/models/*/_model_builders.py` (defaults of adapters), `torchtune/_cli/run.py`.

use super::{FormatRole, FormatSpec};
use crate::catalog;
use crate::launch::shared::layers;
use crate::launch::shared::tables::torchtune::{NOT_MODELLED, QUIET};
use crate::launch::shared::{count, is_on, says, whole, word};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Text, Way, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "torchtune",
    label: "torchtune",
    version: "torchtune 0.6.1",
    source: "https://github.com/pytorch/torchtune/tree/v0.6.1/recipes",
    place: 31,
    role: FormatRole::Whole,
    open,
    flags: &[RUN, MODEL, NOT_MODELLED, QUIET],
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::MicroBatchSize,
        FieldId::GlobalBatchSize,
        FieldId::Recompute,
        FieldId::Optimizer,
        FieldId::OptimizerImplementation,
        FieldId::PagedOptimizer,
        FieldId::Method,
        FieldId::Sharding,
        FieldId::OffloadParameters,
        FieldId::OffloadOptimizer,
    ],
};

const RUN: &[Flag] = &[
    Flag::by(&["config"], |reading, given| reading.beneath(given, keys)),
    Flag::together(&[
        "recipe",
        "batch_size",
        "gradient_accumulation_steps",
        "optimizer._component_",
        "optimizer.fused",
    ]),
    Flag::sets(&["tokenizer.max_seq_len"], FieldId::SeqLength),
    Flag::switch(&["dataset.packed"], FieldId::Packing),
    Flag::switch(&["optimizer_in_bwd"], FieldId::OptimizerInBackward),
    Flag::switch(&["compile"], FieldId::Compile),
    Flag::words(&["dtype"], FieldId::Precision, &[("bf16", "bf16-pure"), ("fp32", "fp32")]),
    Flag::by(&["enable_activation_checkpointing"], |reading, given| {
        let on = given.is_on() == Some(true);
        reading.read(given, FieldId::Recompute, Value::Choice(if on { "full" } else { "none" }));
        Ok(())
    }),
    Flag::switch(&["enable_activation_offloading"], FieldId::OffloadActivations),
    Flag::by(&["fsdp_cpu_offload"], |reading, given| {
        let on = Value::Flag(given.is_on() == Some(true));
        reading.read(given, FieldId::OffloadParameters, on.clone());
        reading.scenario.set(FieldId::OffloadOptimizer, on);
        Ok(())
    }),
    Flag::switch(&["fsdp_reshard_after_forward"], FieldId::ReshardAfterForward),
    Flag::sets(&["tensor_parallel_dim"], FieldId::TensorParallel),
    Flag::by(&["loss._component_"], |reading, given| {
        match given.text().rsplit('.').next() {
            Some("CEWithChunkedOutputLoss") => reading.tell(given, Way::Read, String::new()),
            Some("DPOLoss") => reading.read(given, FieldId::Objective, Value::Choice("dpo")),
            _ => reading.not_modelled(given, "torchtune is modelled with its loss in eight parts."),
        }
        Ok(())
    }),
];

const MODEL: &[Flag] = &[
    Flag::by(&["model._component_"], component),
    Flag::together(&["model.lora_attn_modules", "model.apply_lora_to_mlp"]),
    Flag::by(&["model.quantize_base"], |reading, given| method_if_on(reading, given, "qlora")),
    Flag::by(&["model.use_dora"], |reading, given| method_if_on(reading, given, "dora")),
    Flag::sets(&["model.lora_rank"], FieldId::Rank),
    Flag::sets(&["model.lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["model.lora_dropout"], FieldId::LoraDropout),
    Flag::not_modelled(
        &["model.apply_lora_to_output"],
        "Adapters beside the head are not modelled.",
    ),
];

/// Model builders by their name without `lora_`, with the repository of their weights.
const BUILDERS: [(&str, &str); 33] = [
    ("llama2_7b", "meta-llama/Llama-2-7b-hf"),
    ("llama2_13b", "meta-llama/Llama-2-13b-hf"),
    ("llama2_70b", "meta-llama/Llama-2-70b-hf"),
    ("code_llama2_7b", "meta-llama/CodeLlama-7b-hf"),
    ("llama3_8b", "meta-llama/Meta-Llama-3-8B"),
    ("llama3_70b", "meta-llama/Meta-Llama-3-70B"),
    ("llama3_1_8b", "meta-llama/Llama-3.1-8B"),
    ("llama3_1_70b", "meta-llama/Llama-3.1-70B"),
    ("llama3_1_405b", "meta-llama/Llama-3.1-405B"),
    ("llama3_2_1b", "meta-llama/Llama-3.2-1B"),
    ("llama3_2_3b", "meta-llama/Llama-3.2-3B"),
    ("llama3_3_70b", "meta-llama/Llama-3.3-70B-Instruct"),
    ("qwen2_0_5b", "Qwen/Qwen2-0.5B"),
    ("qwen2_1_5b", "Qwen/Qwen2-1.5B"),
    ("qwen2_7b", "Qwen/Qwen2-7B"),
    ("qwen2_5_0_5b", "Qwen/Qwen2.5-0.5B"),
    ("qwen2_5_1_5b_base", "Qwen/Qwen2.5-1.5B"),
    ("qwen2_5_1_5b_instruct", "Qwen/Qwen2.5-1.5B-Instruct"),
    ("qwen2_5_3b", "Qwen/Qwen2.5-3B"),
    ("qwen2_5_7b_base", "Qwen/Qwen2.5-7B"),
    ("qwen2_5_7b_instruct", "Qwen/Qwen2.5-7B-Instruct"),
    ("qwen2_5_14b_base", "Qwen/Qwen2.5-14B"),
    ("qwen2_5_14b_instruct", "Qwen/Qwen2.5-14B-Instruct"),
    ("qwen2_5_32b_base", "Qwen/Qwen2.5-32B"),
    ("qwen2_5_32b_instruct", "Qwen/Qwen2.5-32B-Instruct"),
    ("qwen2_5_72b_instruct", "Qwen/Qwen2.5-72B-Instruct"),
    ("gemma_2b", "google/gemma-2b"),
    ("gemma_7b", "google/gemma-7b"),
    ("gemma2_2b", "google/gemma-2-2b"),
    ("gemma2_9b", "google/gemma-2-9b"),
    ("gemma2_27b", "google/gemma-2-27b"),
    ("mistral_7b", "mistralai/Mistral-7B-v0.1"),
    ("phi3_mini", "microsoft/Phi-3-mini-4k-instruct"),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    keys(text).or_else(|| {
        let run = text.invocations().iter().find(|run| run.starts("tune", &["run"]))?;
        let mut stated = run.stated(1, FORMAT.flags);
        // Words without dashes are first the recipe, then `key=value` pairs.
        let mut recipe = None;
        for given in stated.given.iter_mut().filter(|given| given.key.is_empty()) {
            let text = given.text();
            match text.split_once('=') {
                Some((key, value)) => *given = Given::new(key, value, given.place),
                None if recipe.is_none() => {
                    recipe = Some(text.clone());
                    *given = Given::new("recipe", text, given.place);
                }
                None => {}
            }
        }
        let launcher = stated
            .given
            .iter()
            .filter(|given| given.key.starts_with("nproc") || given.key == "nnodes")
            .cloned();
        stated.launcher = launcher.collect();
        Some(Ok(stated))
    })
}

/// A file of keys that names one of torchtune's model builders.
fn keys(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    match text.keys_with(&["model._component_", "tokenizer._component_"])? {
        Ok(keys) => {
            let is_own = keys.iter().any(|key| {
                key.key.ends_with("_component_") && key.text().starts_with("torchtune.")
            });
            is_own.then(|| Ok(Stated::of(keys)))
        }
        Err(error) => Some(Err(error)),
    }
}

fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    let scenario = &mut reading.scenario;
    scenario.set(FieldId::Mode, choice("tune"));
    scenario.set(FieldId::Stack, choice("torchtune"));
    scenario.set(FieldId::AdapterDType, choice("weights"));
    scenario.set(FieldId::DoubleQuant, Value::Flag(true));
    scenario.set(FieldId::PrepareKbit, Value::Flag(false));
    for id in layers::ALL {
        scenario.set(id, Value::Flag(false));
    }
    reading.default("model", FieldId::Method, choice("full"));
    reading.default("model.lora_rank", FieldId::Rank, Value::Integer(8));
    reading.default("model.lora_alpha", FieldId::LoraAlpha, Value::Decimal(16.0));
    reading.default("model.lora_dropout", FieldId::LoraDropout, Value::Decimal(0.0));
    reading.default("dtype", FieldId::Precision, choice("bf16-pure"));
    reading.default("enable_activation_checkpointing", FieldId::Recompute, choice("none"));
    reading.default("optimizer", FieldId::Optimizer, choice("adamw"));
    reading.default("optimizer.fused", FieldId::OptimizerImplementation, choice("foreach"));
    reading.default("dataset.packed", FieldId::Packing, Value::Flag(false));
    reading.default("nproc_per_node", FieldId::Gpus, Value::Integer(1));
    reading.default("nproc_per_node", FieldId::Sharding, choice("none"));
    reading.default("batch_size", FieldId::MicroBatchSize, Value::Integer(1));
    reading.default("gradient_accumulation_steps", FieldId::GlobalBatchSize, Value::Integer(1));
}

/// Reads the model's builder, whose name gives the model and whether it has adapters.
fn component(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let text = given.text();
    let name = text.rsplit('.').next().unwrap_or_default();
    let (kind, rest) = ["qlora", "lora", "dora"]
        .into_iter()
        .find_map(|kind| Some((kind, name.strip_prefix(kind)?.strip_prefix('_')?)))
        .unwrap_or(("full", name));
    match BUILDERS.iter().find(|(builder, _)| *builder == rest) {
        Some((_, repository)) => {
            reading.model(&Given { value: (*repository).into(), ..given.clone() });
        }
        None => reading.model(given),
    }
    if kind != "full" {
        reading.derive(given, FieldId::Method, Value::Choice(kind), "The builder's name says so.");
    }
    Ok(())
}

fn method_if_on(
    reading: &mut Reading<'_>,
    given: &Given,
    method: &'static str,
) -> Result<(), String> {
    match (given.is_on(), word(&reading.scenario, FieldId::Method)) {
        (Some(true), "qlora" | "dora") if word(&reading.scenario, FieldId::Method) != method => {
            reading.not_modelled(given, "DoRA beside weights of 4 bits is not modelled.");
        }
        (Some(true), _) => reading.read(given, FieldId::Method, Value::Choice(method)),
        _ => {}
    }
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    reading.allocator();
    optimizer(reading);
    adapters(reading);
    if reading.stated(&["tokenizer.max_seq_len"]).is_none_or(|given| given.text().is_empty()) {
        let place = reading
            .stated(&["batch_size"])
            .map_or(crate::launch::Place { line: 1, column: 1 }, |given| given.place);
        let given = Given::new("tokenizer.max_seq_len", "null", place);
        reading.not_modelled(
            &given,
            "Nothing says how long samples are: state the length of the longest.",
        );
    }
    let recipe = reading.stated(&["recipe"]).cloned();
    let gpus = reading.processes().unwrap_or(1).max(1);
    reading.follows(
        "nproc_per_node",
        FieldId::Gpus,
        Value::Integer(gpus),
        "As many processes as torchrun starts; one without it.",
    );
    if let Some(recipe) = recipe {
        reading.tell(&recipe, Way::Read, String::new());
        if recipe.text().contains("distributed") {
            reading.follows(
                "recipe",
                FieldId::Sharding,
                Value::Choice("fsdp"),
                "Recipes for several devices use FSDP2.",
            );
        }
    }
    let batch = count(reading, &["batch_size"])?.unwrap_or(1).max(1);
    let steps = count(reading, &["gradient_accumulation_steps"])?.unwrap_or(1).max(1);
    let ranks = (gpus / whole(&reading.scenario, FieldId::TensorParallel).max(1)).max(1);
    reading.follows("batch_size", FieldId::MicroBatchSize, Value::Integer(batch), "");
    let all = batch.saturating_mul(steps).saturating_mul(ranks);
    let how = "Batch × accumulation × data-parallel GPUs.";
    reading.follows(
        "gradient_accumulation_steps",
        FieldId::GlobalBatchSize,
        Value::Integer(all),
        how,
    );
    Ok(())
}

/// Optimizers by class: the input's word, the implementation of the step, and whether states are
/// paged. On GPUs PyTorch's default implementation is `foreach`.
const OPTIMIZERS: [(&str, &str, &str, bool); 5] = [
    ("torch.optim.AdamW", "adamw", "foreach", false),
    ("torch.optim.AdamW", "adamw", "fused", false),
    ("torch.optim.SGD", "sgd", "foreach", false),
    ("bitsandbytes.optim.PagedAdamW8bit", "adamw8", "fused", true),
    ("bitsandbytes.optim.AdamW8bit", "adamw8", "fused", false),
];

fn optimizer(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["optimizer._component_"]).cloned() else { return };
    let fuses = says(reading, &["optimizer.fused"]);
    let found = OPTIMIZERS.iter().find(|(class, ours, how, _)| {
        *class == given.text() && (*ours != "adamw" || (*how == "fused") == fuses)
    });
    let Some((_, ours, how, paged)) = found else {
        return reading.not_modelled(&given, "This optimizer is not modelled for torchtune.");
    };
    reading.read(&given, FieldId::Optimizer, Value::Choice(ours));
    reading.derive(&given, FieldId::OptimizerImplementation, Value::Choice(how), "");
    reading.scenario.set(FieldId::PagedOptimizer, Value::Flag(*paged));
}

/// The layers that get adapters.
fn adapters(reading: &mut Reading<'_>) {
    let mut names: Vec<String> = Vec::new();
    if let Some(given) = reading.stated(&["model.lora_attn_modules"]) {
        names.extend(given.list());
    }
    if says(reading, &["model.apply_lora_to_mlp"]) {
        names.extend(["gate_proj", "up_proj", "down_proj"].map(str::to_owned));
    }
    let given = reading.stated(&["model.lora_attn_modules", "model.apply_lora_to_mlp"]).cloned();
    if let Some(given) = given {
        layers::beside(reading, &given, &names);
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    let gpus = whole(scenario, FieldId::Gpus);
    let shards = word(scenario, FieldId::Sharding) == "fsdp";
    model(writing);
    let batch = whole(scenario, FieldId::MicroBatchSize);
    writing.say("batch_size", Some(batch.to_string()), &[FieldId::MicroBatchSize]);
    let ranks = (gpus / whole(scenario, FieldId::TensorParallel).max(1)).max(1);
    let (all, one) =
        (whole(scenario, FieldId::GlobalBatchSize), batch.saturating_mul(ranks).max(1));
    if all.is_multiple_of(one) {
        writing.say(
            "gradient_accumulation_steps",
            Some((all / one).to_string()),
            &[FieldId::GlobalBatchSize],
        );
    }
    let length = whole(scenario, FieldId::SeqLength).to_string();
    writing.say("tokenizer.max_seq_len", Some(length), &[FieldId::SeqLength]);
    let recompute = word(scenario, FieldId::Recompute);
    if matches!(recompute, "full" | "none") {
        writing.say(
            "enable_activation_checkpointing",
            Some((recompute == "full").to_string()),
            &[FieldId::Recompute],
        );
    }
    let steps =
        (word(scenario, FieldId::Optimizer), word(scenario, FieldId::OptimizerImplementation));
    let paged = is_on(scenario, FieldId::PagedOptimizer);
    if let Some((class, ours, how, _)) =
        OPTIMIZERS.iter().find(|(_, ours, how, pages)| (*ours, *how) == steps && *pages == paged)
    {
        let said = [FieldId::Optimizer, FieldId::OptimizerImplementation, FieldId::PagedOptimizer];
        writing.say("optimizer._component_", Some((*class).to_owned()), &said);
        if (*ours, *how) == ("adamw", "fused") {
            writing.say("optimizer.fused", None, &[]);
        }
    }
    let offload = [FieldId::OffloadParameters, FieldId::OffloadOptimizer];
    if offload.into_iter().all(|id| is_on(scenario, id)) {
        writing.say("fsdp_cpu_offload", None, &offload);
    }
    writing.table();
    let keys = writing.as_nested_yaml();
    writing.is_said(&[FieldId::Gpus]);
    let kind = if word(scenario, FieldId::Method) == "full" { "full" } else { "lora" };
    if matches!(word(scenario, FieldId::Sharding), "none" | "fsdp") {
        writing.is_said(&[FieldId::Sharding]);
    }
    if gpus == 1 && !shards {
        return keys;
    }
    let recipe = if shards { "distributed" } else { "single_device" };
    format!(
        "cat > torchtune.yaml <<'EOF'\n{keys}EOF\ntune run --nproc_per_node {gpus} \
         {kind}_finetune_{recipe} --config torchtune.yaml\n"
    )
}

/// Writes the model's builder with its adapters.
fn model(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    let method = word(scenario, FieldId::Method);
    let name = writing.model();
    let own = catalog::model(&name).map(|row| row.id);
    let builder = BUILDERS.iter().find(|(_, repository)| {
        own.is_some() && catalog::model(repository).map(|row| row.id) == own
    });
    let prefix = if matches!(method, "lora" | "qlora" | "dora") { "lora_" } else { "" };
    let class = builder.map_or_else(
        || format!("torchtune.models.{prefix}{name}"),
        |(builder, _)| format!("torchtune.models.{prefix}{builder}"),
    );
    writing.say("model._component_", Some(class), &[]);
    if prefix.is_empty() {
        return;
    }
    writing.is_said(&[FieldId::Method]);
    match method {
        "qlora" => writing.say("model.quantize_base", None, &[]),
        "dora" => writing.say("model.use_dora", None, &[]),
        _ => {}
    }
    let names = layers::names(scenario).unwrap_or_default();
    let mlp = ["gate_proj", "up_proj", "down_proj"];
    let attention: Vec<&str> = names.iter().copied().filter(|name| !mlp.contains(name)).collect();
    let with_mlp = mlp.iter().filter(|name| names.contains(name)).count();
    if with_mlp == 0 || with_mlp == mlp.len() {
        writing.say(
            "model.lora_attn_modules",
            Some(format!("[{}]", attention.join(", "))),
            &layers::ALL,
        );
        writing.say("model.apply_lora_to_mlp", Some((with_mlp > 0).to_string()), &[]);
    }
}
