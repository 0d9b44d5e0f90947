//! Names of the layers that adapters are attached to.

use super::is_on;
use crate::launch::{Given, Reading};
use crate::scenario::{FieldId, Scenario, Value};

/// The inputs of single layers, with the name that is written for each.
pub const SINGLE: [(FieldId, &str); 7] = [
    (FieldId::AdaptQuery, "q_proj"),
    (FieldId::AdaptKey, "k_proj"),
    (FieldId::AdaptValue, "v_proj"),
    (FieldId::AdaptOutput, "o_proj"),
    (FieldId::AdaptGate, "gate_proj"),
    (FieldId::AdaptUp, "up_proj"),
    (FieldId::AdaptDown, "down_proj"),
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

/// The inputs for a layer's name that is usual in Llama-like models; `None` for other names.
pub fn of_name(name: &str) -> Option<&'static [FieldId]> {
    use FieldId::{AdaptDown, AdaptGate, AdaptKey, AdaptOutput, AdaptQuery, AdaptUp, AdaptValue};
    Some(match name {
        "q_proj" => &[AdaptQuery],
        "k_proj" => &[AdaptKey],
        "v_proj" => &[AdaptValue],
        "qkv_proj" => &[AdaptQuery, AdaptKey, AdaptValue],
        "o_proj" | "output_proj" => &[AdaptOutput],
        "gate_proj" | "w1" => &[AdaptGate],
        "up_proj" | "w3" => &[AdaptUp],
        "gate_up_proj" => &[AdaptGate, AdaptUp],
        "down_proj" | "w2" => &[AdaptDown],
        _ => return None,
    })
}

/// The inputs for a layer's name, including Megatron-Core's names.
fn named(name: &str) -> Option<&'static [FieldId]> {
    use FieldId::{AdaptDown, AdaptGate, AdaptKey, AdaptOutput, AdaptQuery, AdaptUp, AdaptValue};
    Some(match name {
        "all-linear" => &ALL,
        "linear_qkv" => &[AdaptQuery, AdaptKey, AdaptValue],
        "linear_proj" => &[AdaptOutput],
        "linear_fc1" => &[AdaptGate, AdaptUp],
        "linear_fc2" => &[AdaptDown],
        _ => return of_name(name),
    })
}

/// Sets adapters on exactly the layers `chosen`.
pub fn choose(reading: &mut Reading<'_>, chosen: &[FieldId]) {
    for id in ALL {
        reading.scenario.set(id, Value::Flag(chosen.contains(&id)));
    }
}

/// Adapters stand beside the layers of these names and no others. Names that no input stands for
/// are said to be not modelled.
pub fn beside(reading: &mut Reading<'_>, given: &Given, names: &[String]) {
    let found: Vec<FieldId> =
        names.iter().filter_map(|name| named(name)).flatten().copied().collect();
    choose(reading, &found);
    let unknown: Vec<&str> =
        names.iter().filter(|name| named(name).is_none()).map(String::as_str).collect();
    if unknown.is_empty() {
        let all = found.len() == ALL.len();
        let note = if all { "Every linear layer.".to_owned() } else { String::new() };
        reading.tell(given, crate::launch::Way::Read, note);
    } else {
        reading.not_modelled(
            given,
            &format!("No input stands for adapters beside {}.", unknown.join(", ")),
        );
    }
}

/// The names of the layers with adapters; `None` where no list of names can express them.
pub fn names(scenario: &Scenario) -> Option<Vec<&'static str>> {
    if ALL.into_iter().all(|id| is_on(scenario, id)) {
        return Some(vec!["all-linear"]);
    }
    let singles =
        SINGLE.iter().filter(|(id, _)| is_on(scenario, *id)).map(|(_, name)| *name).collect();
    (!is_on(scenario, FieldId::AdaptOthers)).then_some(singles)
}
