//! ms-swift under Megatron-Core: `megatron sft`, `megatron pt`, `megatron rlhf`.
//!
//! Read in ms-swift 4.6.0: `swift/megatron/arguments/*.py`, `swift/arguments/base_args/*.py`,
//! `swift/cli/main.py`.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::megatron_quiet;
use crate::launch::shared::{count, is_on, says, whole, word};
use crate::launch::shared::{layers, megatron, megatron_flags, megatron_swift_flags};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "megatron_swift",
    label: "ms-swift, Megatron",
    version: "ms-swift 4.6.0",
    source: "https://github.com/modelscope/ms-swift/blob/v4.6.0/swift/megatron/arguments/megatron_args.py",
    place: 34,
    role: FormatRole::Whole,
    open,
    flags: &[
        OWN,
        megatron_flags::LAYOUT,
        megatron_flags::RUN,
        megatron_flags::NOT_MODELLED,
        megatron_flags::NOT_MODELLED_ALONE,
        megatron_swift_flags::NOT_MODELLED,
        megatron_swift_flags::QUIET,
        megatron_quiet::QUIET,
        megatron_quiet::ALONE,
        megatron_quiet::MANY,
    ],
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::SeqLength,
        FieldId::GlobalBatchSize,
        FieldId::Precision,
        FieldId::Gradients,
        FieldId::Sharding,
        FieldId::SequenceParallel,
        FieldId::LossFusion,
        FieldId::Attention,
        FieldId::FusedAttention,
        FieldId::Method,
        FieldId::Objective,
        FieldId::Packing,
    ],
};

const OWN: &[Flag] = &[
    Flag::by(&["model"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::together(&["load", "mcore_model"]),
    Flag::together(&["verb", "max_length", "packing_length", "packing", "padding_free"]),
    Flag::together(&["target_modules"]).taking(Takes::Many),
    Flag::words(
        &["tuner_type", "train_type"],
        FieldId::Method,
        &[("full", "full"), ("lora", "lora")],
    ),
    Flag::sets(&["lora_rank"], FieldId::Rank),
    Flag::sets(&["lora_alpha"], FieldId::LoraAlpha),
    Flag::sets(&["lora_dropout"], FieldId::LoraDropout),
    Flag::sets(&["virtual_pipeline_model_parallel_size"], FieldId::VirtualPipeline),
    Flag::words(
        &["torch_dtype"],
        FieldId::Precision,
        &[("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32")],
    ),
    Flag::words(
        &["rlhf_type"],
        FieldId::Objective,
        &[("dpo", "dpo"), ("rm", "reward"), ("grpo", "grpo")],
    ),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let is_run = |verb: &str| matches!(verb, "sft" | "pt" | "rlhf");
    text.invocations().iter().find_map(|run| {
        let verb =
            run.arguments.first().filter(|verb| run.program == "megatron" && is_run(&verb.text))?;
        let mut stated = run.stated(1, FORMAT.flags);
        stated.given.insert(0, Given::new("verb", verb.text.clone(), verb.place));
        Some(Ok(stated))
    })
}

fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    let scenario = &mut reading.scenario;
    scenario.set(FieldId::Mode, choice("tune"));
    // `GPTModel` gets the vocabulary without padding, and adapters have the weights' format
    // (`Float16Module`).
    scenario.set(FieldId::VocabMultiple, Value::Integer(1));
    scenario.set(FieldId::AdapterDType, choice("weights"));
    for id in layers::ALL {
        scenario.set(id, Value::Flag(true));
    }
    megatron::begin(reading);
    reading.default("tuner_type", FieldId::Method, choice("full"));
    reading.default("lora_rank", FieldId::Rank, Value::Integer(8));
    reading.default("lora_alpha", FieldId::LoraAlpha, Value::Decimal(32.0));
    reading.default("lora_dropout", FieldId::LoraDropout, Value::Decimal(0.05));
    reading.default("torch_dtype", FieldId::Precision, choice("bf16"));
    reading.default("accumulate_allreduce_grads_in_fp32", FieldId::Gradients, choice("fp32"));
    reading.default("global_batch_size", FieldId::GlobalBatchSize, Value::Integer(16));
    reading.default("recompute_granularity", FieldId::Recompute, choice("selective"));
    reading.default("use_distributed_optimizer", FieldId::Sharding, choice("1"));
    reading.default("cross_entropy_loss_fusion", FieldId::LossFusion, choice("native"));
    reading.default("attention_backend", FieldId::Attention, choice("flash"));
    reading.default("attention_backend", FieldId::FusedAttention, Value::Flag(false));
    reading.default("moe_token_dispatcher_type", FieldId::TokenDispatcher, choice("alltoall"));
    reading.default("moe_grouped_gemm", FieldId::GroupedExperts, Value::Flag(true));
    reading.default("moe_permute_fusion", FieldId::PermuteFusion, Value::Flag(false));
    reading.default(
        "expert_tensor_parallel_size",
        FieldId::ExpertTensorParallel,
        Value::Integer(1),
    );
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    megatron::end(reading, Some(16))?;
    if reading.stated(&["model"]).is_none()
        && let Some(given) = reading.stated(&["mcore_model", "load"]).cloned()
    {
        // A model in Megatron-Core's format has the name of the original model with `-mcore` added.
        let name = given.text().trim_end_matches('/').trim_end_matches("-mcore").to_owned();
        reading.model(&Given { value: name.into(), ..given });
    }
    megatron::shared_experts(reading);
    adapters(reading);
    let verb = reading.stated(&["verb"]).cloned();
    if let Some(verb) =
        verb.filter(|verb| verb.text() == "rlhf" && reading.stated(&["rlhf_type"]).is_none())
    {
        reading.derive(
            &verb,
            FieldId::Objective,
            Value::Choice("dpo"),
            "ms-swift's default for rlhf_type.",
        );
    }
    let packs = says(reading, &["packing"]);
    reading.scenario.set(FieldId::Packing, Value::Flag(packs));
    let Some(given) =
        reading.stated(&["packing_length"]).or_else(|| reading.stated(&["max_length"])).cloned()
    else {
        let place = crate::launch::Place { line: 1, column: 1 };
        let given = Given::new("max_length", "", place);
        reading.not_modelled(
            &given,
            "Nothing says how long samples are: the model's longest sequence is ms-swift's limit.",
        );
        return Ok(());
    };
    if let Some(length) = count(reading, &["packing_length"])?.or(count(reading, &["max_length"])?)
    {
        let how =
            if packs { "" } else { "An upper bound: without packing the longest batch decides." };
        reading.derive(&given, FieldId::SeqLength, Value::Integer(length), how);
    }
    Ok(())
}

/// The layers that get adapters: every linear layer where the text names none.
fn adapters(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["target_modules"]).cloned() else { return };
    let names = given.list();
    if names.iter().any(|name| name == "all-router") {
        return reading.not_modelled(&given, "Adapters beside routers are not modelled.");
    }
    layers::beside(reading, &given, &names);
}

/// A switch of ms-swift: `--name true`.
fn switch(writing: &mut Writing<'_>, name: &str, on: bool, fields: &[FieldId]) {
    match name {
        // ms-swift states formats by `torch_dtype`.
        "bf16" | "fp16" => {}
        _ => writing.say(&name.replace('-', "_"), Some(on.to_string()), fields),
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    let name = writing.model();
    writing.say("model", Some(name), &[]);
    let length = whole(scenario, FieldId::SeqLength).to_string();
    writing.say("max_length", Some(length), &[FieldId::SeqLength]);
    if is_on(scenario, FieldId::Packing) {
        writing.say("packing", Some("true".to_owned()), &[FieldId::Packing]);
    }
    megatron::write(writing, switch);
    let names =
        layers::names(scenario).map(|names| in_megatron(&names)).filter(|names| !names.is_empty());
    if let Some(names) = names.filter(|_| word(scenario, FieldId::Method) == "lora") {
        writing.say("target_modules", Some(names.join("\n")), &layers::ALL);
    }
    writing.table();
    for item in &mut writing.items {
        item.key = item.key.replace('-', "_");
    }
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    let node = whole(scenario, FieldId::AcceleratorsPerNode).max(1);
    let nodes = if gpus > node && gpus.is_multiple_of(node) { gpus / node } else { 1 };
    let several = if nodes > 1 { format!("NNODES={nodes} ") } else { String::new() };
    let verb = if word(scenario, FieldId::Objective) == "sft" { "sft" } else { "rlhf" };
    format!("{several}NPROC_PER_NODE={} megatron {verb}{}\n", gpus / nodes, writing.as_flags())
}

/// Megatron-Core's names of the layers; empty where only a part of one of its joint layers has
/// adapters.
fn in_megatron(names: &[&str]) -> Vec<&'static str> {
    const JOINT: [(&str, &[&str]); 4] = [
        ("linear_qkv", &["q_proj", "k_proj", "v_proj"]),
        ("linear_proj", &["o_proj"]),
        ("linear_fc1", &["gate_proj", "up_proj"]),
        ("linear_fc2", &["down_proj"]),
    ];
    if names == ["all-linear"] {
        return vec!["all-linear"];
    }
    let whole = JOINT.iter().filter(|(_, own)| own.iter().all(|name| names.contains(name)));
    let (found, covered) = whole.fold((Vec::new(), 0), |(mut found, covered), (joint, own)| {
        found.push(*joint);
        (found, covered + own.len())
    });
    if covered == names.len() { found } else { Vec::new() }
}
