//! Megatron-Bridge: `run_recipe.py --recipe NAME SECTION.KEY=VALUE …`, and a recipe in Python with
//! what is changed of it, as far as literal.
//!
//! Read in megatron-bridge 0.3.1: `recipes/common.py`, `training/config.py`,
//! `training/mixed_precision.py`, `peft/lora.py`, and `scripts/training/run_recipe.py` of its
//! repository. A recipe's own settings count like the tool's defaults.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::megatron_recipes::{Kind, Recipe, all_layers};
use crate::launch::shared::tables::megatron_bridge::OTHERS;
use crate::launch::shared::tables::megatron_quiet;
use crate::launch::shared::{is_on, layers, megatron, megatron_flags, whole, word};
use crate::launch::{Flag, Given, Item, LaunchError, Place, Reading, Stated, Text, Writing};
use crate::scenario::{FieldId, Scenario, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "megatron_bridge",
    label: "Megatron-Bridge",
    version: "megatron-bridge 0.3.1",
    source: "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/v0.3.1/src/megatron/bridge/training/config.py",
    place: 35,
    role: FormatRole::Whole,
    open,
    flags: TABLES,
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Gpus,
        FieldId::GlobalBatchSize,
        FieldId::Precision,
        FieldId::Gradients,
        FieldId::Sharding,
        FieldId::SequenceParallel,
        FieldId::LossFusion,
        FieldId::Attention,
        FieldId::FusedAttention,
        FieldId::Method,
    ],
};

const TABLES: &[&[Flag]] = &[
    OWN,
    OTHERS,
    megatron_flags::LAYOUT,
    megatron_flags::RUN,
    megatron_flags::NOT_MODELLED,
    megatron_flags::NOT_MODELLED_ALONE,
    megatron_quiet::QUIET,
    megatron_quiet::ALONE,
    megatron_quiet::MANY,
];

const OWN: &[Flag] = &[
    Flag::together(&["recipe", "peft_scheme", "peft", "model.num_layers"]),
    Flag::together(&["ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"]),
    Flag::by(&["hf_path"], |reading, given| {
        reading.model(given);
        Ok(())
    }),
    Flag::sets(
        &["dataset.seq_length", "model.seq_length", "seq_length", "dataset.sequence_length"],
        FieldId::SeqLength,
    ),
    Flag::switch(&["packed_sequence"], FieldId::Packing),
    Flag::by(&["dataset.packed_sequence_specs"], |reading, given| {
        reading.read(given, FieldId::Packing, Value::Flag(given.is_on() != Some(false)));
        Ok(())
    }),
    Flag::sets(&["virtual_pipeline_model_parallel_size"], FieldId::VirtualPipeline),
    Flag::by(&["mixed_precision", "precision_config"], precision),
    Flag::sets(&["peft.dim"], FieldId::Rank),
    Flag::sets(&["peft.alpha"], FieldId::LoraAlpha),
    Flag::sets(&["peft.dropout"], FieldId::LoraDropout),
    Flag::together(&["peft.target_modules"]),
];

/// Sections of a configuration whose keys have the names of Megatron-Core's arguments.
const SECTIONS: [&str; 7] =
    ["model", "train", "ddp", "optimizer", "comm_overlap", "mixed_precision", "dataset"];

fn is_known(name: &str) -> bool {
    TABLES.iter().copied().flatten().any(|flag| flag.is_called(name))
}

/// A setting under Megatron-Core's name for it, where only that has one.
fn plain(mut given: Given) -> Given {
    let key = given.key.trim_start_matches(['+', '~']).to_owned();
    let says_nothing = given.value.is_null() || matches!(given.text().as_str(), "null" | "None");
    let (section, name) = key.split_once('.').unwrap_or(("", &key));
    match name {
        "recompute_granularity" if says_nothing => given.value = "none".into(),
        "grad_reduce_in_fp32" if section == "mixed_precision" => {
            let on = given.is_on() != Some(false);
            return Given::new("grad_reduce_in_bf16", !on, given.place);
        }
        _ if says_nothing => given.value = serde_json::Value::Null,
        _ => {}
    }
    let is_of_core = !is_known(&key) && SECTIONS.contains(&section) && is_known(name);
    given.key = if is_of_core { name.to_owned() } else { key };
    given
}

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let names_recipe = |word: &str| word.ends_with("_config");
    let command = text.invocations().iter().find_map(|run| {
        let mut words = run.arguments.iter();
        let is_script = run.program == "run_recipe.py";
        let is_ours =
            words.any(|word| word.text == "--recipe" || word.text.starts_with("--recipe="));
        let has_name =
            run.arguments.iter().any(|word| names_recipe(&word.text) || word.text.contains('$'));
        (is_ours && (is_script || has_name)).then(|| run.stated(0, TABLES))
    });
    let stated = command.map(|stated| Stated {
        given: stated.given.into_iter().map(overridden).collect(),
        ..stated
    });
    stated.or_else(|| in_python(text)).map(Ok)
}

/// A word `KEY=VALUE` as a setting.
fn overridden(given: Given) -> Given {
    let text = given.text();
    match text.split_once('=').filter(|_| given.key.is_empty()) {
        Some((key, value)) => plain(Given::new(key, value, given.place)),
        None => plain(given),
    }
}

/// A recipe that Python calls, its arguments, and what is set on its result behind.
fn in_python(text: &Text<'_>) -> Option<Stated> {
    let is_recipe = |name: &str| {
        let name = name.rsplit('.').next().unwrap_or(name);
        name.ends_with("_config")
            && ["_pretrain_", "_sft_", "_peft_", "_finetune_"]
                .iter()
                .any(|kind| name.contains(kind))
    };
    let call = text
        .calls()
        .iter()
        .find(|call| text.raw.contains("megatron.bridge") && is_recipe(&call.name))?;
    let name = call.name.rsplit('.').next().unwrap_or(&call.name);
    let mut given = vec![Given::new("recipe", name, call.place)];
    given.extend(
        call.arguments.iter().filter(|argument| !argument.key.is_empty()).cloned().map(plain),
    );
    given.extend(
        text.raw.lines().enumerate().filter_map(|(at, line)| assigned(line, at + 1)).map(plain),
    );
    Some(Stated::of(given))
}

/// `cfg.train.micro_batch_size = 2` as a setting, if its value is a literal.
fn assigned(line: &str, number: usize) -> Option<Given> {
    let (target, value) = line.trim().split_once(" = ")?;
    let (_, key) = target.split_once('.')?;
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let section = key.split('.').next().unwrap_or_default();
    let is_setting =
        target.split('.').all(is_name) && (SECTIONS.contains(&section) || section == "peft");
    let value = value.split(" #").next().unwrap_or(value).trim();
    let literal = value.trim_matches(['"', '\'']);
    let is_literal = !literal.contains(['(', '{'])
        && (literal.len() < value.len() || literal.parse::<f64>().is_ok() || {
            literal.starts_with('[') || matches!(literal, "True" | "False" | "None")
        });
    (is_setting && is_literal).then(|| Given::new(key, literal, Place { line: number, column: 1 }))
}

/// The recipe that the text names.
fn recipe(reading: &Reading<'_>) -> Option<Recipe> {
    Recipe::named(&reading.stated(&["recipe"])?.text())
}

fn is_pretraining(reading: &Reading<'_>) -> bool {
    recipe(reading).map_or_else(
        || reading.stated(&["recipe"]).is_none_or(|given| given.text().contains("pretrain")),
        |recipe| recipe.kind() == Kind::Pretrain,
    )
}

fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    reading
        .scenario
        .set(FieldId::Mode, choice(if is_pretraining(reading) { "train" } else { "tune" }));
    // `should_pad_vocab` is off, and adapters have the format of the weights (`lora_dtype`).
    reading.scenario.set(FieldId::VocabMultiple, Value::Integer(1));
    reading.scenario.set(FieldId::AdapterDType, choice("weights"));
    all_layers(|id, value| reading.scenario.set(id, value));
    megatron::begin(reading);
    reading.default("mixed_precision", FieldId::Precision, choice("bf16"));
    reading.default("mixed_precision.grad_reduce_in_fp32", FieldId::Gradients, choice("fp32"));
    reading.default("model.recompute_granularity", FieldId::Recompute, choice("none"));
    reading.default("optimizer.use_distributed_optimizer", FieldId::Sharding, choice("1"));
    reading.default("model.cross_entropy_fusion_impl", FieldId::LossFusion, choice("native"));
    reading.default("model.attention_backend", FieldId::Attention, choice("flash"));
    reading.default("model.attention_backend", FieldId::FusedAttention, Value::Flag(true));
    reading.default(
        "model.moe_token_dispatcher_type",
        FieldId::TokenDispatcher,
        choice("alltoall"),
    );
    reading.default("model.moe_grouped_gemm", FieldId::GroupedExperts, Value::Flag(true));
    reading.default("peft.dropout", FieldId::LoraDropout, Value::Decimal(0.0));
    reading.default("peft_scheme", FieldId::Method, choice("full"));
    let Some(recipe) = recipe(reading) else { return };
    let place =
        reading.stated(&["recipe"]).map_or(Place { line: 1, column: 1 }, |given| given.place);
    reading.model(&Given::new("recipe", recipe.model(), place));
    for (name, id, value) in recipe.settings() {
        if value == Value::Empty {
            reading.scenario.set(id, value);
        } else {
            reading.default(name, id, value);
        }
    }
    if !is_pretraining(reading) {
        reading.default("packed_sequence", FieldId::Packing, Value::Flag(true));
    }
    for name in recipe.not_modelled() {
        reading.not_modelled(
            &Given::new(name, "of the recipe", place),
            "The recipe sets it, and it is not modelled.",
        );
    }
    let modules: Vec<&str> = recipe.recomputed().collect();
    for (name, id) in megatron_flags::MODULES {
        if !modules.is_empty() {
            reading.scenario.set(id, Value::Flag(modules.contains(&name)));
        }
    }
    if recipe.kind() == Kind::Adapters {
        reading.default("peft_scheme", FieldId::Method, choice("lora"));
        let names = recipe.adapted();
        if !names.is_empty() {
            layers::beside(
                reading,
                &Given::new("peft.target_modules", names.join(","), place),
                &names,
            );
        }
    }
}

/// Mixed precision by its name; those with fp8 count as their 16 bits.
fn precision(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let text = given.text();
    let format = if text.starts_with("fp16") { "fp16" } else { "bf16" };
    if matches!(text.as_str(), "bf16_mixed" | "fp16_mixed") {
        reading.read(given, FieldId::Precision, Value::Choice(format));
    } else {
        reading.not_modelled(
            given,
            "Weights and products in fewer bits are not modelled for Megatron-Core: 16 bits count.",
        );
    }
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    if let Some(given) = reading.stated(&["recipe"]).cloned().filter(|_| recipe(reading).is_none())
    {
        if let Some(model) = Recipe::model_called(&given.text()) {
            reading.model(&Given { value: model.into(), ..given.clone() });
        }
        let why =
            "The settings of this recipe are not known here: only those that are stated count.";
        reading.tell(&given, crate::launch::Way::Unknown, why.to_owned());
    }
    let sharing = ["ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"];
    let off =
        |name: &&str| reading.stated(&[name]).is_some_and(|given| given.is_on() == Some(false));
    if sharing.iter().all(off) {
        // Either of the two switches both on (`_validate_and_sync_distributed_optimizer_settings`).
        reading.follows(
            "ddp.use_distributed_optimizer",
            FieldId::Sharding,
            Value::Choice("none"),
            "",
        );
    }
    let sequence_parallel = reading.scenario.get(FieldId::SequenceParallel);
    let in_16_bits = reading.scenario.get(FieldId::Gradients) == Value::Choice("as-weights");
    megatron::end(reading, recipe(reading).map(|recipe| recipe.batch()))?;
    if in_16_bits && reading.stated(&["grad_reduce_in_bf16"]).is_none() {
        let name = "mixed_precision.grad_reduce_in_fp32";
        reading.follows(
            name,
            FieldId::Gradients,
            Value::Choice("as-weights"),
            "The recipe says so.",
        );
    }
    let alone = whole(&reading.scenario, FieldId::TensorParallel) <= 1;
    let stated = reading.stated(&["sequence_parallel"]).and_then(Given::is_on).map(Value::Flag);
    let split = if alone { Value::Flag(false) } else { stated.unwrap_or(sequence_parallel) };
    reading.scenario.set(FieldId::SequenceParallel, split);
    megatron::shared_experts(reading);
    adapters(reading);
    if let Some(given) = reading.stated(&["model.num_layers"]).cloned() {
        let layers = given.whole_or_wrong()?;
        reading.read(&given, FieldId::NumHiddenLayers, Value::Integer(layers));
    }
    Ok(())
}

fn adapters(reading: &mut Reading<'_>) {
    if let Some(given) =
        reading.stated(&["peft_scheme", "peft"]).cloned().filter(|_| !is_pretraining(reading))
    {
        match given.text().to_ascii_lowercase().as_str() {
            "" | "none" => reading.read(&given, FieldId::Method, Value::Choice("full")),
            "lora" => reading.read(&given, FieldId::Method, Value::Choice("lora")),
            "dora" => reading.read(&given, FieldId::Method, Value::Choice("dora")),
            _ => reading.not_modelled(&given, "Adapters of this kind are not modelled."),
        }
        if reading.stated(&["peft.dim"]).is_none()
            && !recipe(reading).is_some_and(|recipe| recipe.kind() == Kind::Adapters)
        {
            // `LoRA` of peft/lora.py.
            reading.default("peft.dim", FieldId::Rank, Value::Integer(32));
            reading.default("peft.alpha", FieldId::LoraAlpha, Value::Decimal(32.0));
        }
    }
    if let Some(given) = reading.stated(&["peft.target_modules"]).cloned() {
        let names = given.list();
        layers::beside(reading, &given, &names);
    }
}

/// A switch of Megatron-Bridge: `name=true`.
fn switch(writing: &mut Writing<'_>, name: &str, on: bool, fields: &[FieldId]) {
    match name {
        "bf16" | "fp16" => writing.say("mixed_precision", Some(format!("{name}_mixed")), fields),
        "grad-reduce-in-bf16" => {
            writing.say("mixed_precision.grad_reduce_in_fp32", Some((!on).to_string()), fields);
        }
        "use-distributed-optimizer" => {
            writing.say("ddp.use_distributed_optimizer", Some(on.to_string()), fields);
            writing.say("optimizer.use_distributed_optimizer", Some(on.to_string()), fields);
        }
        _ => writing.say(name, Some(on.to_string()), fields),
    }
}

/// The kind of recipe that a scenario needs.
fn kind(scenario: &Scenario) -> Kind {
    match (word(scenario, FieldId::Mode), word(scenario, FieldId::Method)) {
        ("train", _) => Kind::Pretrain,
        (_, "full") => Kind::Full,
        _ => Kind::Adapters,
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    let kind = kind(scenario);
    let found = scenario
        .model()
        .filter(|_| !scenario.is_custom_model())
        .and_then(|row| Recipe::of(row, kind));
    writing.is_said(&[FieldId::Mode, FieldId::Model, FieldId::ModelName]);
    let name = found.as_ref().map_or("RECIPE", |recipe| recipe.name());
    if let Some(recipe) = &found {
        for (_, id, value) in recipe.settings() {
            writing.defaults.set(id, value);
        }
    } else {
        writing.lacks(
            "Megatron-Bridge 0.3.1 has no recipe of this model here: put a recipe's name in the \
             place of RECIPE.",
        );
    }
    if kind != Kind::Pretrain {
        writing.defaults.set(FieldId::Packing, Value::Flag(true));
        let method = word(scenario, FieldId::Method);
        writing
            .defaults
            .set(FieldId::Method, Value::Choice(if kind == Kind::Full { "full" } else { "lora" }));
        if writing.differs(FieldId::Method) {
            writing.say("peft_scheme", Some(method.to_owned()), &[FieldId::Method]);
        }
    }
    settings(writing);
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    let node = whole(scenario, FieldId::AcceleratorsPerNode).max(1);
    let nodes = if gpus > node && gpus.is_multiple_of(node) { gpus / node } else { 1 };
    let several = if nodes > 1 { format!(" --nnodes {nodes}") } else { String::new() };
    let lines: String = writing.items.iter().map(said).collect();
    format!(
        "torchrun --nproc_per_node {}{several} run_recipe.py \\\n    --recipe {name}{lines}\n",
        gpus / nodes
    )
}

fn settings(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    megatron::write(writing, switch);
    let tensor = whole(scenario, FieldId::TensorParallel) > 1;
    if tensor
        && writing.differs(FieldId::SequenceParallel)
        && !is_on(scenario, FieldId::SequenceParallel)
    {
        writing.say("sequence-parallel", Some("false".to_owned()), &[FieldId::SequenceParallel]);
    } else {
        writing.is_said(&[FieldId::SequenceParallel]);
    }
    let names = layers::names(scenario).filter(|names| *names != ["all-linear"]);
    if let Some(names) = names.filter(|_| kind(scenario) == Kind::Adapters) {
        writing.say("peft.target_modules", Some(names.join("\n")), &layers::ALL);
    }
    if writing.differs(FieldId::Packing) && !is_on(scenario, FieldId::Packing) {
        writing.say("dataset.packed_sequence_specs", Some("null".to_owned()), &[FieldId::Packing]);
    }
    writing.table();
}

/// One setting as `SECTION.KEY=VALUE`.
fn said(item: &Item) -> String {
    let key = item.key.replace('-', "_");
    let value = item.value.as_deref().unwrap_or("true");
    let value = if value.contains('\n') {
        format!("[{}]", value.replace('\n', ","))
    } else {
        value.to_owned()
    };
    let (section, value) = match key.as_str() {
        "peft_scheme" | "packed_sequence" => return format!(" \\\n    --{key} {value}"),
        "recompute_modules" if !value.starts_with('[') => ("model.", format!("[{value}]")),
        "recompute_granularity" if value == "none" => ("model.", "null".to_owned()),
        "micro_batch_size" | "global_batch_size" => ("train.", value),
        "overlap_grad_reduce" => ("ddp.", value),
        "optimizer" => ("optimizer.", value),
        key if key.contains('.') || key == "mixed_precision" => ("", value),
        _ => ("model.", value),
    };
    format!(" \\\n    {}", crate::launch::writing::quoted(&format!("{section}{key}={value}")))
}
