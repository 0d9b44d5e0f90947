//! Python scripts that create a Trainer: the arguments of the relevant calls as one list of
//! settings.

use super::super::notation::Call;
use super::super::{Given, Stated, Text};

/// Arguments of calls that load a model, as far as they are read here.
const OF_MODELS: [&str; 12] = [
    "model_name",
    "dtype",
    "torch_dtype",
    "attn_implementation",
    "load_in_4bit",
    "load_in_8bit",
    "load_in_16bit",
    "load_in_fp8",
    "max_seq_length",
    "full_finetuning",
    "use_gradient_checkpointing",
    "unsloth_tiled_mlp",
];

/// Arguments of the Trainer itself, as far as they are read here.
const OF_TRAINERS: [&str; 2] = ["max_seq_length", "packing"];

/// The settings of a script's calls: those of a class in `configs`, of adapters, of quantisation,
/// and of loading models. `None` where no class in `configs` is called.
pub fn stated(text: &Text<'_>, configs: &[&str]) -> Option<Stated> {
    let calls = text.calls();
    calls.iter().find(|call| configs.contains(&last(call)))?;
    let is_setting = |call: &&Call| configs.contains(&last(call)) || last(call) == "get_peft_model";
    let mut given: Vec<Given> = trained(calls, is_setting).into_iter().flat_map(of_model).collect();
    let mut seen: Vec<&str> = Vec::new();
    for call in calls {
        let name = last(call);
        // Of a script that trains several times, the first run is read.
        if seen.contains(&name) && name != "from_pretrained" {
            continue;
        }
        seen.push(name);
        if name.ends_with("Trainer") {
            given.extend(of_trainer(call));
        } else if configs.contains(&name)
            || matches!(name, "LoraConfig" | "BitsAndBytesConfig" | "get_peft_model")
        {
            given
                .extend(call.arguments.iter().filter(|argument| !argument.key.is_empty()).cloned());
            if name == "LoraConfig" {
                given.push(Given::new("use_peft", true, call.place));
            }
        } else if name == "prepare_model_for_kbit_training" {
            given.push(Given::new("prepare_kbit", true, call.place));
        }
    }
    Some(Stated::of(given))
}

/// The trained model: the last one loaded before the run's first setting, or else the first one
/// after it. A script may load other models, for example to evaluate the result.
fn trained(calls: &[Call], is_setting: impl Fn(&&Call) -> bool) -> Option<&Call> {
    let settings = calls.iter().position(|call| is_setting(&call)).unwrap_or(calls.len());
    let loads = |call: &&Call| last(call) == "from_pretrained" && is_model(call);
    let (before, behind) = calls.split_at_checked(settings)?;
    before.iter().rev().find(loads).or_else(|| behind.iter().find(loads))
}

/// The last part of a call's dotted name.
fn last(call: &Call) -> &str {
    call.name.rsplit('.').next().unwrap_or(&call.name)
}

/// True if the loaded class is a model and not a tokenizer, processor or configuration.
fn is_model(call: &Call) -> bool {
    let class = call.name.rsplit('.').nth(1).unwrap_or_default();
    class.starts_with("AutoModel")
        || class.starts_with("Fast")
        || class.ends_with("ForCausalLM")
        || class.ends_with("LMHeadModel")
}

fn of_model(call: &Call) -> Vec<Given> {
    let mut found = vec![Given::new("model_object", true, call.place)];
    for (index, argument) in call.arguments.iter().enumerate() {
        let key = argument.key.as_str();
        if index == 0 && key.is_empty()
            || matches!(key, "model_name" | "pretrained_model_name_or_path")
        {
            found.push(Given { key: "model_name_or_path".to_owned(), ..argument.clone() });
        } else if OF_MODELS.contains(&key) {
            found.push(argument.clone());
        }
    }
    found
}

fn of_trainer(call: &Call) -> Vec<Given> {
    let is_named_model = |argument: &Given| {
        argument.key == "model" && !argument.is_unknown() && argument.value.is_string()
    };
    let named = call.arguments.iter().filter(|argument| is_named_model(argument));
    let model =
        named.map(|argument| Given { key: "model_name_or_path".to_owned(), ..argument.clone() });
    model
        .chain(
            call.arguments
                .iter()
                .filter(|argument| OF_TRAINERS.contains(&argument.key.as_str()))
                .cloned(),
        )
        .collect()
}
