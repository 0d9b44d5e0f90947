//! peft's settings of adapters: the layers that get them, whole layers trained beside them, and
//! their kind.
//!
//! Read in peft 0.21.2 (`tuners/lora/config.py`).

use super::super::report::Way;
use super::super::{Flag, Given, Reading, Takes, Writing};
use super::{is_on, layers, word};
use crate::scenario::{FieldId, Mode, Value};

/// The seven linear layers of a Llama block.
pub const SEVEN: [&str; 7] =
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

/// Words for every linear layer: peft's, LLaMA-Factory's, and those of ms-swift before version 3.
const EVERY: [&str; 4] = ["all-linear", "all", "ALL", "all_linear"];

/// Returns true for a word that means every linear layer.
pub fn is_every(name: &str) -> bool {
    EVERY.contains(&name)
}

/// Further arguments of `LoraConfig`: those that change neither memory nor time, and those that do
/// and are not modelled.
pub const FURTHER: &[Flag] = &[
    Flag::no_effect(&[
        "task_type",
        "lora_task_type",
        "use_rslora",
        "fan_in_fan_out",
        "inference_mode",
        "revision",
    ]),
    Flag::no_effect(&[
        "megatron_config",
        "megatron_core",
        "runtime_config",
        "alpha_pattern",
        "layers_pattern",
        "loraplus_lr_ratio",
    ]),
    Flag::not_modelled_unless(
        &["bias", "lora_bias"],
        &["none"],
        "Biases that learn have gradients and states of their own.",
    ),
    Flag::not_modelled_unless(
        &["init_lora_weights", "init_weights"],
        &["true", "gaussian", "kaiming", "eva", "pissa", "olora", "orthogonal", "lora-ga"],
        "This start of adapters changes how weights are stored.",
    ),
    Flag::not_modelled(&["exclude_modules"], "Layers without adapters are counted with them.")
        .taking(Takes::Many),
    Flag::not_modelled(&["layers_to_transform"], "Adapters are counted in every block.")
        .taking(Takes::Many),
    Flag::not_modelled(&["rank_pattern", "rank_pattern.*"], "One rank is counted for all layers."),
    Flag::not_modelled(
        &["target_parameters", "lora_target_parameters"],
        "Adapters on single parameters are not counted.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(
        &["trainable_token_indices"],
        "Rows of the embedding that learn are not counted.",
    ),
    Flag::not_modelled(&["layer_replication"], "Blocks that stand for several are not counted."),
    Flag::not_modelled(
        &["loftq_config", "loftq_config.*", "eva_config", "corda_config", "lora_ga_config"],
        "Its start takes memory.",
    ),
    Flag::not_modelled(
        &["velora_config", "monteclora_config", "use_bdlora", "arrow_config", "kasa_config"],
        "Another kind of adapter.",
    ),
    Flag::not_modelled(
        &["use_qalora", "qalora_group_size", "alora_invocation_tokens"],
        "Another kind of adapter.",
    ),
    Flag::not_modelled(
        &["ensure_weight_tying"],
        "A head and an embedding that learn as one are counted as two.",
    ),
];

/// A function that reads a flag of a table.
type Reads = fn(&mut Reading<'_>, &Given) -> Result<(), String>;

/// Reads the names of layers with adapters.
pub const TARGETS: Reads = |reading, given| {
    targets(reading, given);
    Ok(())
};

/// Reads the names of whole layers that are trained beside adapters.
pub const SAVED: Reads = |reading, given| {
    saved(reading, given);
    Ok(())
};

fn targets(reading: &mut Reading<'_>, given: &Given) {
    if given.value.is_null() {
        return;
    }
    let mut unknown = Vec::new();
    let mut chosen = Vec::new();
    for name in given.list() {
        match inputs_of(&name) {
            Some(ids) => chosen.extend(ids.iter().copied()),
            None => unknown.push(name),
        }
    }
    layers::choose(reading, &chosen);
    reading.adapter_names = given.list();
    if unknown.is_empty() {
        reading.tell(given, Way::Read, "Layers with adapters.".to_owned());
    } else {
        reading.not_modelled(given, &format!("No layer is known here by {}.", unknown.join(", ")));
    }
}

/// Sets the layers that get adapters by a tool's default.
pub fn default_targets(reading: &mut Reading<'_>, names: &[&str]) {
    let chosen: Vec<FieldId> =
        names.iter().filter_map(|name| inputs_of(name)).flatten().copied().collect();
    layers::choose(reading, &chosen);
    reading.adapter_names = names.iter().map(|name| (*name).to_owned()).collect();
}

/// The inputs for a layer's name in transformers' models.
fn inputs_of(name: &str) -> Option<&'static [FieldId]> {
    use FieldId::{AdaptDown, AdaptKey, AdaptOthers, AdaptOutput, AdaptQuery, AdaptUp, AdaptValue};
    if is_every(name) {
        return Some(&layers::ALL);
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    Some(match last {
        "query_key_value" | "c_attn" | "W_pack" => &[AdaptQuery, AdaptKey, AdaptValue],
        "out_proj" | "dense" => &[AdaptOutput],
        "fc1" | "c_fc" | "dense_h_to_4h" => &[AdaptUp],
        "fc2" | "dense_4h_to_h" => &[AdaptDown],
        "c_proj" => &[AdaptOutput, AdaptDown],
        "in_proj" | "in_proj_qkvz" | "in_proj_ba" | "x_proj" => &[AdaptOthers],
        _ => return layers::of_name(last),
    })
}

fn saved(reading: &mut Reading<'_>, given: &Given) {
    for name in given.list() {
        match name.as_str() {
            "embed_tokens" => reading.read(given, FieldId::SaveEmbedding, Value::Flag(true)),
            "lm_head" => reading.read(given, FieldId::SaveHead, Value::Flag(true)),
            _ => reading.not_modelled(
                given,
                "Of whole layers beside adapters, embed_tokens and lm_head are modelled.",
            ),
        }
    }
}

/// Sets the fine-tuning method from three answers: whether there are adapters, the bits of frozen
/// weights (16 where nothing is said), and whether adapters are `DoRA`'s. The report names `flag`
/// as the reason.
pub fn method(reading: &mut Reading<'_>, adapts: bool, bits: u64, dora: bool, flag: &str) {
    let method = match (adapts, bits, dora) {
        (false, ..) => "full",
        (true, 4, _) => "qlora",
        (true, 8, false) => "lora8",
        (true, _, true) => "dora",
        (true, _, false) => "lora",
    };
    if adapts && bits == 4 && dora {
        let given = reading.stated(&["use_dora"]).cloned();
        if let Some(given) = given {
            reading.not_modelled(
                &given,
                "DoRA beside weights of 4 bits is counted as LoRA: without its magnitudes, and \
                 without the whole weights that it makes to compare their columns.",
            );
        }
    }
    reading.follows(flag, FieldId::Method, Value::Choice(method), "");
}

/// Says in the report that a flag asks for weights of few bits under adapters; those of other
/// widths than 4 and 8 are not modelled, nor others than 4 without plain adapters.
pub fn tell_bits(reading: &mut Reading<'_>, given: &Given, bits: u64) {
    let method = word(&reading.scenario, FieldId::Method);
    if bits == 4 || (bits == 8 && method == "lora8") {
        reading.tell(given, Way::Read, format!("Weights of {bits} bits below adapters."));
    } else {
        reading.not_modelled(given, "Frozen weights in this format are not modelled here.");
    }
}

/// The fine-tuning method of the scenario that is written; `full` unless it is fine-tuned with
/// another.
pub fn method_of(writing: &Writing<'_>) -> &'static str {
    if writing.scenario.mode() == Mode::Tune {
        word(writing.scenario, FieldId::Method)
    } else {
        "full"
    }
}

/// Writes the layers with adapters as the flag `key`, and the whole layers trained beside them as
/// `saved_key`.
pub fn say(writing: &mut Writing<'_>, key: &str, saved_key: &str, separator: &str) {
    let value = match layers::names(writing.scenario) {
        Some(names) if !names.is_empty() => Some(names.join(separator)),
        _ => None,
    };
    if let Some(value) = value {
        writing.say(key, Some(value), &layers::ALL);
    }
    let beside = [(FieldId::SaveEmbedding, "embed_tokens"), (FieldId::SaveHead, "lm_head")];
    let saved: Vec<&str> = beside
        .iter()
        .filter(|(id, _)| is_on(writing.scenario, *id))
        .map(|(_, name)| *name)
        .collect();
    if !saved.is_empty() {
        writing.say(
            saved_key,
            Some(saved.join(separator)),
            &[FieldId::SaveEmbedding, FieldId::SaveHead],
        );
    }
}
