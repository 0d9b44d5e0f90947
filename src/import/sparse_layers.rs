//! Which layers have experts: by a list, by a flag for each, or from one on and every so many.

use super::layers::compact;
use super::reader::Reader;
use super::sizes::{MAX_LAYERS, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::config::LayerSet;
use crate::models::Experts;

/// Keys by which every so many layers have experts.
const STEPS: [&str; 4] =
    ["decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq", "moe_layer_interval"];

/// The layers that have experts.
pub(super) fn with_experts(
    file: &mut Reader<'_>,
    experts: &Experts,
    layers: u64,
) -> Result<LayerSet, ImportError> {
    let looks_at = |key: &str| experts.chosen_by.contains(&key);
    if let Some(Value::List(words)) = file.peek(WORDS).filter(|_| looks_at(WORDS)) {
        file.done_with(experts.chosen_by);
        return compact(
            words.iter().map(|word| *word == Value::Text("sparse".to_owned())).collect(),
        );
    }
    if let Some(key) = ENUMERATED.into_iter().find(|key| looks_at(key))
        && let Some(listed) = enumerated(file, key, layers)
    {
        file.without_effect(&STEPS);
        return compact(listed);
    }
    let mut step = 1;
    let mut from_zero = false;
    for key in STEPS.into_iter().filter(|key| looks_at(key)) {
        match file.peek(key) {
            Some(Value::List(flags)) => {
                return compact(of_flags(file, (key, flags), looks_at(WORDS)));
            }
            Some(value) => {
                step = number(key, value)?;
                // DeepSeek counts layers from 0 here, the others from 1.
                from_zero = key == "moe_layer_freq";
                file.done_with(&[key]);
            }
            None => {}
        }
    }
    let first = first_sparse(file, experts)?;
    // -1 is the last layer.
    let end = match file.peek("moe_layer_end_index") {
        Some(value @ Value::Whole(_)) if looks_at("moe_layer_end_index") => {
            number("moe_layer_end_index", value)?.saturating_add(1)
        }
        _ => layers,
    };
    let dense = match file.peek("mlp_only_layers") {
        Some(Value::List(layers)) if looks_at("mlp_only_layers") => layers.clone(),
        _ => Vec::new(),
    };
    file.done_with(experts.chosen_by);
    ask(file, experts, first);
    if first > 0 {
        file.tell(
            "first_k_dense_replace",
            &first,
            How::Read,
            "Layers before the first one with experts.",
        );
    }
    if step <= 1 && dense.is_empty() && end >= layers {
        return Ok(if first == 0 { LayerSet::All } else { LayerSet::From(first) });
    }
    let place = |layer: u64| if from_zero { layer } else { layer + 1 };
    let has = |layer: u64| {
        step > 0
            && (first..end).contains(&layer)
            && place(layer).is_multiple_of(step)
            && !dense.contains(&Value::Whole(layer))
    };
    compact((0..layers).map(has).collect())
}

/// A number that may be 0.
fn number(key: &'static str, value: &Value) -> Result<u64, ImportError> {
    match value {
        Value::Whole(0) => Ok(0),
        other => whole(key, other, MAX_LAYERS),
    }
}

/// The first layer with experts. A list of dense layers takes the place of those that are dense by
/// default.
fn first_sparse(file: &Reader<'_>, experts: &Experts) -> Result<u64, ImportError> {
    let looks_at = |key: &str| experts.chosen_by.contains(&key);
    let lists_dense = looks_at("mlp_only_layers") && file.has("mlp_only_layers");
    let mut first = if lists_dense { 0 } else { experts.first_dense };
    for key in FIRSTS.into_iter().filter(|key| looks_at(key)) {
        if let Some(value) = file.peek(key) {
            first = number(key, value)?;
        }
    }
    Ok(first)
}

/// The layers with experts by their places: in one text with commas, or in a list.
const ENUMERATED: [&str; 2] = ["moe_layers_enum", "moe_layers"];

/// The layers that one of [`ENUMERATED`] names; links hold them by a word for each layer.
fn enumerated(file: &mut Reader<'_>, key: &str, layers: u64) -> Option<Vec<bool>> {
    let places: Vec<u64> = match file.peek(key)? {
        Value::Text(text) => {
            text.split(',').filter_map(|place| place.trim().parse().ok()).collect()
        }
        Value::List(places) => places
            .iter()
            .filter_map(|place| if let Value::Whole(place) = place { Some(*place) } else { None })
            .collect(),
        _ => return None,
    };
    file.without_effect(&[key]);
    let sparse: Vec<bool> = (0..layers).map(|layer| places.contains(&layer)).collect();
    asks_words(file, &sparse);
    Some(sparse)
}

/// Layers with experts by a yes or no for each; told by words where the kind has these, too.
fn of_flags(
    file: &mut Reader<'_>,
    (key, flags): (&'static str, &[Value]),
    has_words: bool,
) -> Vec<bool> {
    let sparse: Vec<bool> =
        flags.iter().map(|flag| *flag != Value::Whole(0) && *flag != Value::Bool(false)).collect();
    if has_words {
        file.without_effect(&[key]);
        asks_words(file, &sparse);
    } else {
        file.done_with(&[key]);
    }
    sparse
}

/// A word for each layer: the key by which links hold which of them have experts.
const WORDS: &str = "mlp_layer_types";

/// Notes which layers have experts by their words.
fn asks_words(file: &mut Reader<'_>, sparse: &[bool]) {
    let words = sparse
        .iter()
        .map(|sparse| Value::Text(if *sparse { "sparse" } else { "dense" }.to_owned()));
    file.asks(WORDS, Value::List(words.collect()), true);
}

/// Keys that state the first layer with experts.
const FIRSTS: [&str; 3] = ["first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"];

/// Asks for the keys that say which layers have experts, where the file does not state them.
fn ask(file: &mut Reader<'_>, experts: &Experts, first: u64) {
    let steps = STEPS.map(|key| (key, 1)).into_iter();
    let firsts = FIRSTS.map(|key| (key, first));
    for (key, default) in steps.chain(firsts).filter(|(key, _)| experts.chosen_by.contains(key)) {
        if !file.has(key) {
            file.asks(key, Value::Whole(default), false);
        }
    }
}
