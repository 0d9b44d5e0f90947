//! The Trainer's settings of FSDP, `fsdp` and `fsdp_config`, which it passes on to accelerate.

use super::super::notation::keys_inside;
use super::super::report::Way;
use super::super::{Format, Given, LaunchError, Reading, Stated, Text};
use super::{says_something, word};
use crate::scenario::FieldId;

/// `fsdp2.json` of ms-swift 4.6.0 (`swift/config`).
const SWIFT: &str = "{\"fsdp_version\": 2, \"reshard_after_forward\": true, \"auto_wrap_policy\": \
    \"TRANSFORMER_BASED_WRAP\", \"activation_checkpointing\": true}";

/// Reads FSDP's flags, if the run has any.
///
/// # Errors
/// [`LaunchError`] where a file or a value is broken.
pub fn of_run(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let Some(given) = reading
        .stated(&["fsdp"])
        .filter(|given| says_something(given) && given.text() != "[]")
        .cloned()
    else {
        return Ok(());
    };
    let mut keys = vec![Given::new("distributed_type", "FSDP", given.place)];
    // The Trainer's default version is FSDP2 (`_process_fsdp_args`).
    keys.push(Given::new("fsdp_config.fsdp_version", 2, given.place));
    keys.extend(options(&given));
    let own = if given.text() == "fsdp2" { Some(SWIFT) } else { None };
    keys.extend(settings(reading, own)?);
    if let Some(format) = Format::named("accelerate") {
        reading.tell(&given, Way::Read, "Read below in accelerate's words.".to_owned());
        reading.joined(format, Stated::of(keys))?;
    }
    Ok(())
}

/// The words behind `fsdp` as accelerate's keys.
fn options(given: &Given) -> Vec<Given> {
    let text = given.text();
    let option = |option: &str| {
        let (key, value) = match option.to_ascii_lowercase().as_str() {
            "full_shard" | "true" | "fsdp2" => ("fsdp_config.fsdp_reshard_after_forward", "true"),
            "shard_grad_op" => ("fsdp_config.fsdp_reshard_after_forward", "false"),
            "offload" => ("fsdp_config.fsdp_offload_params", "true"),
            "auto_wrap" => return None,
            other => (
                "fsdp_config.fsdp_sharding_strategy",
                if other == "hybrid_shard" { "HYBRID_SHARD" } else { "unknown" },
            ),
        };
        Some(Given::new(key, value, given.place))
    };
    text.split([' ', ',']).filter(|option| !option.is_empty()).filter_map(option).collect()
}

/// A key of `fsdp_config` in accelerate's words.
fn renamed(given: Given) -> Given {
    let name = given
        .key
        .trim_start_matches("fsdp_config.")
        .trim_start_matches("fsdp_")
        .replace("cpu_offload", "offload_params");
    Given { key: format!("fsdp_config.fsdp_{name}"), ..given }
}

/// Reads axolotl's keys of FSDP, if a file has any: it hands them to accelerate (`setup_fsdp_envs`
/// of utils/trainer.py), and of switches those alone that are on. Returns whether there are any.
///
/// # Errors
/// [`LaunchError`] where a value is broken.
pub fn of_axolotl(reading: &mut Reading<'_>) -> Result<bool, LaunchError> {
    let inner = reading.beginning_with("fsdp_config.");
    let outer = reading
        .stated(&["fsdp"])
        .filter(|given| says_something(given) && given.text() != "[]")
        .cloned();
    let Some(place) = outer.iter().chain(&inner).map(|given| given.place).next() else {
        return Ok(false);
    };
    let version = reading
        .stated(&["fsdp_version"])
        .or_else(|| reading.stated(&["fsdp_config.fsdp_version", "fsdp_config.version"]));
    let version = version.map_or_else(|| "1".to_owned(), Given::text);
    let mut keys = vec![
        Given::new("distributed_type", "FSDP", place),
        Given::new("fsdp_config.fsdp_version", version, place),
    ];
    keys.extend(outer.iter().flat_map(options));
    let counts = |given: &Given| !given.key.ends_with("version") && given.is_on() != Some(false);
    keys.extend(inner.into_iter().filter(counts).map(renamed));
    if let Some(format) = Format::named("accelerate") {
        reading.joined(format, Stated::of(keys))?;
    }
    Ok(true)
}

/// The keys of `fsdp_config` in accelerate's words.
fn settings(reading: &mut Reading<'_>, own: Option<&str>) -> Result<Vec<Given>, LaunchError> {
    let stated = reading.stated(&["fsdp_config"]).filter(|given| says_something(given)).cloned();
    let keys = match (own, stated) {
        (Some(text), _) => Text::new("", text).keys().cloned().transpose()?.unwrap_or_default(),
        (None, Some(given)) if given.value.is_object() => keys_inside(&given),
        (None, Some(given)) if given.text().trim_start().starts_with('{') => {
            Text::new("", &given.text()).keys().cloned().transpose()?.unwrap_or_default()
        }
        (None, Some(given)) => {
            let beside = reading
                .beside_named(&given.text())
                .and_then(|text| text.keys().cloned())
                .transpose()?;
            if beside.is_none() {
                reading.tell(
                    &given,
                    Way::Unknown,
                    format!("Paste or drop {} beside the command, too.", given.text()),
                );
            }
            beside.unwrap_or_default()
        }
        (None, None) => Vec::new(),
    };
    Ok(keys.into_iter().filter(|given| !given.key.starts_with('_')).map(renamed).collect())
}

/// The `fsdp_config` of a scenario; `None` where it is not sharded by FSDP.
pub fn config_of(scenario: &crate::scenario::Scenario) -> Option<String> {
    let version = match word(scenario, FieldId::Sharding) {
        "fsdp" => 2,
        "fsdp1" => 1,
        _ => return None,
    };
    let on = |id| super::is_on(scenario, id);
    let wraps = if on(FieldId::WrapsBlocks) { "TRANSFORMER_BASED_WRAP" } else { "NO_WRAP" };
    Some(format!(
        "{{\"fsdp_version\": {version}, \"reshard_after_forward\": {}, \"auto_wrap_policy\": \
         \"{wraps}\", \"cpu_offload\": {}}}",
        on(FieldId::ReshardAfterForward),
        on(FieldId::OffloadParameters)
    ))
}

/// The inputs that [`config_of`] writes.
pub const SAYS: [FieldId; 6] = [
    FieldId::Sharding,
    FieldId::ReshardAfterForward,
    FieldId::WrapsBlocks,
    FieldId::OffloadParameters,
    FieldId::OffloadOptimizer,
    FieldId::ReduceInFp32,
];
