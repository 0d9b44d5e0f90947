//! Parts of a model that llama.cpp leaves in the host's memory: experts and the cache.

use crate::launch::Reading;
use crate::launch::shared::whole;
use crate::scenario::{FieldId, Value};

/// `--cpu-moe`, and patterns that mean the same, leave the experts of every layer in the host's
/// memory.
pub fn experts(reading: &mut Reading<'_>) {
    let all = Value::Integer(whole(&reading.scenario, FieldId::NumHiddenLayers));
    let stated =
        |names: &[&str]| reading.stated(names).filter(|given| !given.is_unknown()).cloned();
    let [every, pattern] = [stated(&["cpu-moe", "cmoe"]), stated(&["ot", "override-tensor"])];
    if let Some(given) = every {
        let why = "The experts of every layer.";
        reading.derive(&given, FieldId::ExpertLayersOnHost, all.clone(), why);
    }
    if let Some(given) = pattern {
        if OF_ALL_EXPERTS.contains(&given.text().as_str()) {
            let why = "The pattern takes the experts of every layer.";
            reading.derive(&given, FieldId::ExpertLayersOnHost, all, why);
        } else {
            reading.not_modelled(
                &given,
                "Tensors that fit the pattern stay elsewhere, mostly in the host's memory.",
            );
        }
    }
}

/// Patterns for the experts of every layer, as documents of models write them.
const OF_ALL_EXPERTS: &[&str] = &[
    "exps=CPU",
    ".ffn_.*_exps.=CPU",
    "\\.ffn_.*_exps\\.=CPU",
    "ffn_.*_exps=CPU",
    "\\.ffn_(up|down|gate)_exps\\.=CPU",
    ".*ffn_.*_exps.*=CPU",
    "ffn_.*_exps.weight=CPU",
    "\\.ffn_(up|down|gate)_(ch|)exps=CPU",
];

/// The cache is in the host's memory with `--no-kv-offload`, which llama-bench gives a number.
pub fn cache_on_host(reading: &mut Reading<'_>) {
    let names = ["no-kv-offload", "nkvo", "kv-offload", "kvo"];
    let Some(given) = reading.stated(&names).filter(|given| !given.is_unknown()).cloned() else {
        return;
    };
    let is_away =
        matches!(given.key.as_str(), "no-kv-offload" | "nkvo") == given.is_on().unwrap_or(true);
    reading.read(&given, FieldId::CacheOnHost, Value::Flag(is_away));
}
