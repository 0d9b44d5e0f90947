//! The Trainer's settings of DeepSpeed: a file, JSON text, or the name of a file that a tool ships.

use serde_json::{Map, Value as Json, json};

use super::super::notation::keys_inside;
use super::super::report::Way;
use super::super::{Format, Given, LaunchError, Reading, Stated, Text};
use super::{is_on, says_something, whole, word};
use crate::scenario::{FieldId, Scenario, Value};

/// ZeRO's settings in the files that ms-swift 4.6.0 (`swift/config/zero*.json`) and LLaMA-Factory
/// 0.9.5 (`examples/deepspeed/ds_z*.json`) ship, by the name of the file.
const BROUGHT_ALONG: &[(&str, &str)] = &[
    (
        "zero0",
        "{\"zero_optimization\": {\"stage\": 0, \"reduce_bucket_size\": 2e8, \"overlap_comm\": \
         false}}",
    ),
    (
        "zero1",
        "{\"zero_optimization\": {\"stage\": 1, \"reduce_bucket_size\": 2e8, \"overlap_comm\": \
         false}}",
    ),
    (
        "zero2",
        "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 2e8, \"overlap_comm\": \
         false}}",
    ),
    (
        "zero2_offload",
        "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 2e8, \"overlap_comm\": \
         false, \"offload_optimizer\": {\"device\": \"cpu\"}}}",
    ),
    ("zero3", STAGE_3),
    ("zero3_offload", STAGE_3_OFFLOADED),
    (
        "ds_z0_config.json",
        "{\"zero_optimization\": {\"stage\": 0, \"reduce_bucket_size\": 5e8, \"overlap_comm\": \
         false}}",
    ),
    (
        "ds_z2_config.json",
        "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 5e8, \"overlap_comm\": \
         false}}",
    ),
    (
        "ds_z2_offload_config.json",
        "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 5e8, \"overlap_comm\": \
         false, \"offload_optimizer\": {\"device\": \"cpu\"}}}",
    ),
    ("ds_z3_config.json", STAGE_3),
    ("ds_z3_offload_config.json", STAGE_3_OFFLOADED),
];

/// Those of axolotl 0.19.0 (`deepspeed_configs/*.json`).
const OF_AXOLOTL: &[(&str, &str)] = &[
    ("zero1.json", "{\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}}"),
    (
        "zero1_torch_compile.json",
        "{\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}, \"compile\": \
         {\"backend\": \"inductor\"}}",
    ),
    (
        "zero2.json",
        "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}, \
         \"contiguous_gradients\": true, \"overlap_comm\": true}}",
    ),
    (
        "zero2_torch_compile.json",
        "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}, \
         \"contiguous_gradients\": true, \"overlap_comm\": true}, \"compile\": {\"backend\": \
         \"inductor\"}}",
    ),
    ("zero3.json", AXOLOTLS_STAGE_3),
    ("zero3_bf16.json", AXOLOTLS_STAGE_3),
    (
        "zero3_bf16_cpuoffload_all.json",
        "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \
         \"offload_param\": {\"device\": \"cpu\"}, \"overlap_comm\": true, \
         \"contiguous_gradients\": true, \"sub_group_size\": 0, \"reduce_bucket_size\": \"auto\", \
         \"stage3_prefetch_bucket_size\": \"auto\", \"stage3_param_persistence_threshold\": \
         \"auto\", \"max_live_parameters\": 0, \"max_reuse_distance\": 0}}",
    ),
    (
        "zero3_bf16_cpuoffload_params.json",
        "{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}, \
         \"overlap_comm\": true, \"contiguous_gradients\": true, \"sub_group_size\": 0, \
         \"reduce_bucket_size\": \"auto\", \"stage3_prefetch_bucket_size\": \"auto\", \
         \"stage3_param_persistence_threshold\": \"auto\", \"max_live_parameters\": 0, \
         \"max_reuse_distance\": 0}}",
    ),
];

/// Stage 3 of axolotl.
const AXOLOTLS_STAGE_3: &str = "{\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": true, \
    \"contiguous_gradients\": true, \"sub_group_size\": 0, \"reduce_bucket_size\": \"auto\", \
    \"stage3_prefetch_bucket_size\": \"auto\", \"stage3_param_persistence_threshold\": \"auto\", \
    \"max_live_parameters\": 0, \"max_reuse_distance\": 0}}";

/// Stage 3 of both tools.
const STAGE_3: &str = "{\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": false, \
    \"contiguous_gradients\": true, \"sub_group_size\": 1e9, \"reduce_bucket_size\": \"auto\", \
    \"stage3_prefetch_bucket_size\": \"auto\", \"stage3_param_persistence_threshold\": \"auto\", \
    \"stage3_max_live_parameters\": 1e9, \"stage3_max_reuse_distance\": 1e9}}";

/// Stage 3 with weights and optimizer in host memory.
const STAGE_3_OFFLOADED: &str = "{\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": false, \
    \"contiguous_gradients\": true, \"sub_group_size\": 1e9, \"reduce_bucket_size\": \"auto\", \
    \"stage3_prefetch_bucket_size\": \"auto\", \"stage3_param_persistence_threshold\": \"auto\", \
    \"stage3_max_live_parameters\": 1e9, \"stage3_max_reuse_distance\": 1e9, \
    \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}}";

/// Reads DeepSpeed's settings, if the run has any. Returns whether DeepSpeed is used.
///
/// # Errors
/// [`LaunchError`] where a file or a value is broken.
pub fn of_run(reading: &mut Reading<'_>) -> Result<bool, LaunchError> {
    read(reading, |name| {
        BROUGHT_ALONG.iter().find(|(own, _)| *own == base_name(name)).map(|(_, text)| *text)
    })
}

/// As [`of_run`], with the files that axolotl brings along, and keys that stand in its own file.
///
/// # Errors
/// As there.
pub fn of_axolotl(reading: &mut Reading<'_>) -> Result<bool, LaunchError> {
    let inner = reading.beginning_with("deepspeed.");
    if inner.is_empty() {
        let is_own = |name: &str| name.contains("deepspeed_configs");
        let brought = |name: &str| {
            OF_AXOLOTL.iter().find(|(own, _)| *own == base_name(name)).map(|(_, text)| *text)
        };
        return read(reading, |name| brought(name).filter(|_| is_own(name)));
    }
    let keys = inner
        .into_iter()
        .map(|given| Given { key: given.key.trim_start_matches("deepspeed.").to_owned(), ..given });
    if let Some(format) = Format::named("deepspeed") {
        reading.joined(format, Stated::of(keys.collect()))?;
    }
    Ok(true)
}

/// A file's name without its folder.
fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

fn read(
    reading: &mut Reading<'_>,
    brought_along: impl Fn(&str) -> Option<&'static str>,
) -> Result<bool, LaunchError> {
    let Some(given) = reading.stated(&["deepspeed"]).filter(|given| says_something(given)).cloned()
    else {
        return Ok(false);
    };
    if given.is_unknown() && !reading.has_beside() {
        return Ok(true);
    }
    let name = given.text();
    let brought = brought_along(&name).filter(|_| reading.beside_named(&name).is_none());
    let text = match brought {
        Some(text) => Some(text.to_owned()),
        None => name.trim_start().starts_with('{').then(|| name.clone()),
    };
    let keys = match text {
        _ if given.value.is_object() => keys_inside(&given),
        Some(text) => Text::new("", &text).keys().cloned().transpose()?.unwrap_or_default(),
        None => {
            reading.attached(&given)?;
            return Ok(true);
        }
    };
    let keys = keys.into_iter().map(|key| Given { place: given.place, ..key }).collect();
    if let Some(format) = Format::named("deepspeed") {
        let note =
            if brought.is_some() { "A file that the tool brings along." } else { "Read below." };
        reading.tell(&given, Way::Read, note.to_owned());
        reading.joined(format, Stated::of(keys))?;
    }
    Ok(true)
}

/// Numeric settings of ZeRO: the key inside `zero_optimization`, and the input.
pub const NUMBERS: [(&str, FieldId); 6] = [
    ("reduce_bucket_size", FieldId::ReduceBucket),
    ("sub_group_size", FieldId::SubGroupSize),
    ("stage3_prefetch_bucket_size", FieldId::PrefetchBucket),
    ("stage3_param_persistence_threshold", FieldId::PersistenceThreshold),
    ("stage3_max_live_parameters", FieldId::MaxLiveParameters),
    ("stage3_max_reuse_distance", FieldId::MaxReuseDistance),
];

/// The inputs of ZeRO's settings.
const SAYS: [FieldId; 12] = [
    FieldId::Sharding,
    FieldId::ReduceBucket,
    FieldId::SubGroupSize,
    FieldId::PrefetchBucket,
    FieldId::PersistenceThreshold,
    FieldId::MaxLiveParameters,
    FieldId::MaxReuseDistance,
    FieldId::OverlapComm,
    FieldId::ContiguousGradients,
    FieldId::ReduceScatter,
    FieldId::OffloadOptimizer,
    FieldId::OffloadParameters,
];

/// The inputs that [`config_of`] writes. Weights can be in host memory under stage 3 only.
pub fn says(scenario: &Scenario) -> Vec<FieldId> {
    let third =
        word(scenario, FieldId::Sharding) == "3" || !is_on(scenario, FieldId::OffloadParameters);
    // Replicas with master weights are DeepSpeed's, whose stage 0 they become.
    let replicas = word(scenario, FieldId::Sharding) == "none";
    let is_said = |id: &FieldId| match id {
        FieldId::OffloadParameters => third,
        FieldId::Sharding => !replicas,
        _ => true,
    };
    SAYS.into_iter().filter(is_said).collect()
}

/// The `zero_optimization` of a scenario, with the settings that differ from DeepSpeed's defaults;
/// `None` where the sharding is not one of ZeRO's stages.
pub fn config_of(scenario: &Scenario) -> Option<Json> {
    let stage: u64 = match word(scenario, FieldId::Sharding) {
        "none" => 0,
        other => other.parse().ok()?,
    };
    let mut zero = Map::from_iter([("stage".to_owned(), json!(stage))]);
    for (key, id) in NUMBERS {
        let own = crate::scenario::field(id).default;
        let number = whole(scenario, id);
        if !matches!(own, crate::scenario::FieldDefault::Integer(default) if default == number) {
            zero.insert(key.to_owned(), json!(number));
        }
    }
    match word(scenario, FieldId::OverlapComm) {
        "on" => _ = zero.insert("overlap_comm".to_owned(), json!(true)),
        "off" => _ = zero.insert("overlap_comm".to_owned(), json!(false)),
        _ => {}
    }
    for (key, id) in [
        ("contiguous_gradients", FieldId::ContiguousGradients),
        ("reduce_scatter", FieldId::ReduceScatter),
    ] {
        if !is_on(scenario, id) {
            zero.insert(key.to_owned(), json!(false));
        }
    }
    for (key, id) in [
        ("offload_optimizer", FieldId::OffloadOptimizer),
        ("offload_param", FieldId::OffloadParameters),
    ] {
        if is_on(scenario, id) && (id != FieldId::OffloadParameters || stage == 3) {
            zero.insert(key.to_owned(), json!({ "device": "cpu" }));
        }
    }
    Some(json!({ "zero_optimization": zero }))
}

/// Sets DeepSpeed's own defaults.
pub fn begin(reading: &mut Reading<'_>) {
    let set =
        |reading: &mut Reading<'_>, id: FieldId, value: Value| reading.scenario.set(id, value);
    set(reading, FieldId::Sharding, Value::Choice("0"));
    for (_, id) in NUMBERS {
        if let crate::scenario::FieldDefault::Integer(number) = crate::scenario::field(id).default {
            set(reading, id, Value::Integer(number));
        }
    }
    set(reading, FieldId::OverlapComm, Value::Choice("auto"));
    for id in [FieldId::ContiguousGradients, FieldId::ReduceScatter] {
        set(reading, id, Value::Flag(true));
    }
    for id in [FieldId::OffloadOptimizer, FieldId::OffloadParameters] {
        set(reading, id, Value::Flag(false));
    }
}
