//! Adapters by the names of the layers that they stand beside.

use crate::launch::{Given, Reading};
use crate::scenario::{FieldId, Value};

/// The inputs of adapters, with the names of the layers that each stands beside. The first is the one that is written.
const LAYERS: [(FieldId, &[&str]); 8] = [
    (FieldId::AdaptQuery, &["q_proj"]),
    (FieldId::AdaptKey, &["k_proj"]),
    (FieldId::AdaptValue, &["v_proj"]),
    (FieldId::AdaptOutput, &["o_proj", "output_proj"]),
    (FieldId::AdaptGate, &["gate_proj", "w1"]),
    (FieldId::AdaptUp, &["up_proj", "w3"]),
    (FieldId::AdaptDown, &["down_proj", "w2"]),
    (FieldId::AdaptOthers, &[]),
];

/// Names that stand for several layers: peft's fused projections, and those of Megatron-Core.
const JOINT: [(&str, &[FieldId]); 7] = [
    ("all-linear", &ALL),
    ("linear_qkv", &[FieldId::AdaptQuery, FieldId::AdaptKey, FieldId::AdaptValue]),
    ("linear_proj", &[FieldId::AdaptOutput]),
    ("linear_fc1", &[FieldId::AdaptGate, FieldId::AdaptUp]),
    ("linear_fc2", &[FieldId::AdaptDown]),
    ("qkv_proj", &[FieldId::AdaptQuery, FieldId::AdaptKey, FieldId::AdaptValue]),
    ("gate_up_proj", &[FieldId::AdaptGate, FieldId::AdaptUp]),
];

/// Every input of adapters.
pub const ALL: [FieldId; 8] = [
    FieldId::AdaptQuery,
    FieldId::AdaptKey,
    FieldId::AdaptValue,
    FieldId::AdaptOutput,
    FieldId::AdaptGate,
    FieldId::AdaptUp,
    FieldId::AdaptDown,
    FieldId::AdaptOthers,
];

/// The inputs that a layer's name stands for; nothing for a name that no input stands for.
fn named(name: &str) -> Option<Vec<FieldId>> {
    let single = LAYERS.iter().find(|(_, names)| names.contains(&name)).map(|(id, _)| vec![*id]);
    single.or_else(|| JOINT.iter().find(|(joint, _)| *joint == name).map(|(_, ids)| ids.to_vec()))
}

/// Adapters stand beside the layers of these names and no others. Names that no input stands for are said to be not modelled.
pub fn beside(reading: &mut Reading<'_>, given: &Given, names: &[String]) {
    let found: Vec<FieldId> = names.iter().filter_map(|name| named(name)).flatten().collect();
    for id in ALL {
        let value = Value::Flag(found.contains(&id));
        reading.scenario.set(id, value);
    }
    let unknown: Vec<&str> = names.iter().filter(|name| named(name).is_none()).map(String::as_str).collect();
    if unknown.is_empty() {
        let all = found.len() == ALL.len();
        let note = if all { "Every linear layer.".to_owned() } else { String::new() };
        reading.tell(given, crate::launch::Way::Read, note);
    } else {
        reading.not_modelled(given, &format!("No input stands for adapters beside {}.", unknown.join(", ")));
    }
}

/// The names of the layers beside which adapters stand; nothing where no list of names says it.
pub fn names(scenario: &crate::scenario::Scenario) -> Option<Vec<&'static str>> {
    let on = |id: FieldId| scenario.get(id) == Value::Flag(true);
    if ALL.into_iter().all(on) {
        return Some(vec!["all-linear"]);
    }
    let chosen = LAYERS.iter().filter(|(id, _)| on(*id));
    chosen.map(|(_, names)| names.first().copied()).collect()
}
