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
        "q_proj" | "q_a_proj" | "q_b_proj" => &[AdaptQuery],
        "k_proj" | "kv_a_proj_with_mqa" => &[AdaptKey],
        "v_proj" | "kv_b_proj" => &[AdaptValue],
        "qkv_proj" => &[AdaptQuery, AdaptKey, AdaptValue],
        "o_proj" | "output_proj" => &[AdaptOutput],
        "gate_proj" | "w1" => &[AdaptGate],
        "up_proj" | "w3" => &[AdaptUp],
        "gate_up_proj" => &[AdaptGate, AdaptUp],
        "down_proj" | "w2" => &[AdaptDown],
        _ => return None,
    })
}

/// The layers of latent attention that adapters stand beside, as peft finds them: by the names that
/// the library gives them. It has no keys and values of their own, and queries only where they are
/// not compressed; names that it does not have adapt nothing.
pub fn in_latent_attention(reading: &mut Reading<'_>) {
    let names = std::mem::take(&mut reading.adapter_names);
    let is_by_work = |name: &String| super::adapters::is_every(name) || name.starts_with("linear_");
    if names.is_empty() || names.iter().any(is_by_work) {
        return;
    }
    let Some(mla) = reading.scenario.model_config().mla else { return };
    let has = |layer: &str| names.iter().any(|name| name.rsplit('.').next() == Some(layer));
    let queries = match mla.q_lora_rank {
        Some(_) => [has("q_a_proj"), has("q_b_proj")],
        None => [has("q_proj"); 2],
    };
    let [down, up] = [has("kv_a_proj_with_mqa"), has("kv_b_proj")];
    let chosen = [
        (FieldId::AdaptQuery, queries[0] || queries[1]),
        (FieldId::AdaptKey, down),
        (FieldId::AdaptValue, up),
    ];
    for (id, yes) in chosen {
        if is_on(&reading.scenario, id) != yes {
            let how = "In latent attention, by the names that its layers have.";
            reading.follows("target_modules", id, Value::Flag(yes), how);
        }
    }
    if queries[0] != queries[1] || (down && !up) {
        let given = reading.stated(&NAMED).cloned();
        if let Some(given) = given {
            reading.not_modelled(
                &given,
                "One of two layers that make compressed queries, or keys and values, has adapters; \
                 both are counted.",
            );
        }
    }
}

/// The flags that name layers with adapters.
const NAMED: [&str; 3] = ["target_modules", "lora_target_modules", "lora_target"];

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
    reading.adapter_names = names.to_vec();
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
    let latent = scenario.model_config().mla.map(|mla| mla.q_lora_rank.is_some());
    let singles = SINGLE.iter().filter(|(id, _)| is_on(scenario, *id));
    let mut names: Vec<&str> = singles
        .flat_map(|(id, name)| latent.map_or(vec![*name], |narrow| by(*id, name, narrow)))
        .collect();
    names.dedup();
    (!is_on(scenario, FieldId::AdaptOthers)).then_some(names)
}

/// The names of an input's layers in latent attention, with narrow queries or without.
fn by(id: FieldId, name: &'static str, narrow: bool) -> Vec<&'static str> {
    match id {
        FieldId::AdaptQuery if narrow => vec!["q_a_proj", "q_b_proj"],
        FieldId::AdaptKey => vec!["kv_a_proj_with_mqa", "kv_b_proj"],
        FieldId::AdaptValue => vec!["kv_b_proj"],
        _ => vec![name],
    }
}
