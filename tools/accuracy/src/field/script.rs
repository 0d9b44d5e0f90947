//! Scripts and files that people published with the memory they saw, read as anybody's would be:
//! `headroom::launch`.
//!
//! A row's `settings` are the flags of a script or the keys of a file, as they stand there. They
//! are put together again as that text; nothing is set by hand. ms-swift's figures are
//! `max_memory_reserved` of its log, the highest of the whole run, evaluations included; axolotl's
//! `device_mem_reserved`. Both are rounded, GiB. What is known of single rows stands in
//! `tests/data/field/README.md`.

use std::fmt::Write as _;

use headroom::config::Run;
use headroom::hardware::allocator::Settings;
use headroom::launch::{Launched, Pasted, read};
use headroom::scenario::{FieldId, Scenario, Value as FieldValue};
use serde_json::Value;

use super::super::pretend;
use super::super::row::Fields;
use super::{Found, reserved, runs};

/// Words by which a row's own remarks are told from flags: they are not part of the script.
const REMARKS: [&str; 4] = ["yaml", "note", "verb", "gpus"];

/// A row with a script or file; nothing for a row without.
pub fn found(row: Fields<'_>) -> Option<Found> {
    let (software, text) = if is_axolotl(row) {
        (!row.is_absent("/settings/yaml") && !row.is_absent("/settings/base_model"))
            .then_some(())?;
        ("axolotl", file(row))
    } else if row.text("/settings/verb").is_ok_and(|verb| verb.starts_with("megatron")) {
        ("ms-swift, Megatron", script(row))
    } else {
        ("ms-swift, Transformers", script(row))
    };
    let launched = read(&[Pasted { name: "", text: &text }], &Scenario::default())
        .map_err(|error| error.to_string());
    let was_read = launched.as_ref().is_ok_and(|launched| launched.scenario.resolve().is_ok());
    let missing = missing(row, launched.as_ref().ok());
    let outcome = launched.and_then(|launched| {
        missing.map_or_else(|| compared(row, &launched), |missing| Err(missing.to_owned()))
    });
    Some(Found { software, complete: missing.is_none(), read: Some(was_read), outcome })
}

/// The fact that decides a row's figure and that it does not state.
fn missing(row: Fields<'_>, launched: Option<&Launched>) -> Option<&'static str> {
    if !is_packed(row) {
        return Some(LENGTHS);
    }
    if is_axolotl(row) && !row.is_absent("/settings/note") {
        return Some(CHANGED);
    }
    if is_axolotl(row) && is_shared(row) && gpus(row).is_none() {
        return Some(GPUS);
    }
    launched.is_some_and(evaluates_labels).then_some(LABELS)
}

/// Why a row without packing is not compared.
const LENGTHS: &str = "without packing the longest batch decides, and it is not known";

/// Why a row is not compared whose remark says that lines of its file were changed.
const CHANGED: &str = "the file was changed for this figure, and how is not known";

/// Why a row of shared weights is not compared where nothing says on how many GPUs they are.
const GPUS: &str = "the file does not say how many GPUs share the model";

/// Why a row with such an evaluation is not compared.
const LABELS: &str =
    "an evaluation writes logits of tokens with labels alone, and how many have one is not known";

/// True if evaluations write the logits of labelled tokens where a step writes none: ms-swift's
/// loss gathers them before Liger's head (`lce_forward`), and transformers up to 5.10 does not ask
/// it to leave logits out.
fn evaluates_labels(launched: &Launched) -> bool {
    let Ok(job) = launched.scenario.resolve() else { return false };
    let Run::Training(run) = job.run() else { return false };
    let writes = run.evaluation.is_some_and(|evaluation| evaluation.writes_logits);
    writes && run.stack.modules().loss.makes_chunks()
}

/// True if sequences are packed, so that each has the stated length. A figure that was taken
/// without some settings of its script says so: "Not using use_liger_kernel and packing".
fn is_packed(row: Fields<'_>) -> bool {
    ["packing", "sample_packing"].iter().any(|key| {
        let pointer = format!("/settings/{key}");
        let is_on = row.text(&pointer) == Ok("true") || row.flag(&pointer) == Ok(true);
        is_on && !is_left_out(row, key)
    })
}

fn is_left_out(row: Fields<'_>, key: &str) -> bool {
    let without = row.text("/question").ok().and_then(|question| question.split_once("Not using "));
    without
        .is_some_and(|(_, named)| named.split(':').next().is_some_and(|named| named.contains(key)))
}

/// Ours beside the figure, where every setting counts and the figure is no card's memory.
fn compared(row: Fields<'_>, launched: &Launched) -> Result<Vec<super::Comparison>, String> {
    if let Some(setting) = launched.not_counted().next() {
        return Err(format!("{}: {}", setting.flag, setting.note.trim_end_matches('.')));
    }
    if is_axolotl(row) && leaves_out_tower(&launched.scenario) {
        return Err(TOWER.to_owned());
    }
    let gib = figure(row)?;
    if [24.0, 80.0, 90.0].iter().any(|card: &f64| card.to_bits() == gib.to_bits()) {
        return Err("the figure can be the card's memory".to_owned());
    }
    let mut scenario = launched.scenario.clone();
    // All figures were published before PyTorch 2.15.
    scenario.set(FieldId::KeptWorkspaces, FieldValue::Flag(true));
    let job = scenario.resolve().map_err(|errors| {
        errors.first().map_or_else(
            || "the scenario has no job".to_owned(),
            |error| error.message.trim_end_matches('.').to_owned(),
        )
    })?;
    let ours = pretend::on_the_card(&job)?;
    runs(&ours.job)?;
    reserved(
        &pretend::Pretended {
            settings: is_axolotl(row).then(axolotl_settings).transpose()?,
            ..ours
        },
        gib,
    )
}

/// Why a row is not compared whose model sees images, of which the catalog has the text part alone.
const TOWER: &str =
    "axolotl loads the vision tower of such a model with its text, and only the text is counted";

/// True if the catalog's row of a model is the text part of a file that has a vision tower as well.
///
/// axolotl takes the class of such a file from transformers' models of images and text
/// (`MULTIMODAL_AUTO_MODEL_MAPPING` in `loaders/constants.py`), so that the tower is there, in 4
/// bits as the text, with adapters on its layers of the same names, though no text has an image.
fn leaves_out_tower(scenario: &Scenario) -> bool {
    scenario
        .model()
        .is_some_and(|row| row.provenance().note.contains("text part of a model that also sees"))
}

fn is_axolotl(row: Fields<'_>) -> bool {
    row.is_absent("/settings/verb")
}

/// The allocator's settings of axolotl when its figures were published
/// (`set_pytorch_cuda_alloc_conf` in `utils/__init__.py` of 0.13.2 and 0.15.0, for every PyTorch
/// from 2.2 on). 0.19, as which files are read, leaves the second out from PyTorch 2.9 on.
fn axolotl_settings() -> Result<Settings, String> {
    Settings::from_conf("expandable_segments:True,roundup_power2_divisions:16")
        .map_err(|error| error.to_string())
}

fn figure(row: Fields<'_>) -> Result<f64, String> {
    let stated = row.value("/measured/per_gpu")?;
    match stated.as_array().map(Vec::as_slice) {
        None => stated.as_f64(),
        Some([one]) => one.as_f64(),
        Some(_) => return Err("several figures of one file".to_owned()),
    }
    .ok_or_else(|| "the figure is no number".to_owned())
}

/// The script: variables, then the command with its flags.
fn script(row: Fields<'_>) -> String {
    let mut text = String::new();
    for (key, value) in settings(row).filter(|(key, _)| is_variable(key)) {
        let _ = writeln!(text, "export {key}={}", plain(value));
    }
    text.push_str(row.text("/settings/verb").unwrap_or_default());
    for (key, value) in settings(row).filter(|(key, _)| !is_variable(key) && !REMARKS.contains(key))
    {
        if !is_left_out(row, key) {
            let _ = write!(text, " \\\n    --{key} {}", plain(value));
        }
    }
    text.push('\n');
    text
}

/// True if a file shares the model out.
fn is_shared(row: Fields<'_>) -> bool {
    ["/settings/fsdp_config", "/settings/fsdp", "/settings/deepspeed"]
        .iter()
        .any(|key| row.value(key).is_ok())
}

/// GPUs of a run, which axolotl's files leave to the launcher: `2x48GB` in the remark beside the
/// figure.
fn gpus(row: Fields<'_>) -> Option<u64> {
    let (_, remark) = row.text("/question").ok()?.split_once('(')?;
    let (count, memory) = remark.split_once('x')?;
    memory.split_once("GB")?.0.parse::<u64>().ok()?;
    count.parse().ok()
}

/// The file, beside the command that starts it where it runs on several GPUs: JSON is YAML.
///
/// When these figures were published (2025 to March of 2026), axolotl put in its kernels for
/// adapters only where nothing is dropped (`apply_lora_kernel_patches` of 0.13.2 and 0.15.0); 0.19,
/// as which the file is read, puts them in anyway.
fn file(row: Fields<'_>) -> String {
    let keys = settings(row)
        .filter(|(key, _)| !REMARKS.contains(key))
        .map(|(key, value)| (key.to_owned(), value.clone()));
    let mut keys: serde_json::Map<_, _> = keys.collect();
    let drops = keys.get("lora_dropout").and_then(Value::as_f64).is_some_and(|share| share > 0.0);
    if drops && !KERNELS.iter().any(|kernel| keys.contains_key(*kernel)) {
        keys.insert(KERNELS[0].to_owned(), Value::Bool(false));
    }
    let keys = Value::Object(keys);
    match gpus(row).filter(|gpus| *gpus > 1) {
        None => keys.to_string(),
        Some(gpus) => format!(
            "cat > axolotl.yaml <<'EOF'\n{keys}\nEOF\naccelerate launch --num_processes {gpus} -m \
             axolotl.cli.train axolotl.yaml\n"
        ),
    }
}

/// axolotl's switches of its kernels for adapters.
const KERNELS: [&str; 4] =
    ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel"];

fn settings(row: Fields<'_>) -> impl Iterator<Item = (&str, &Value)> {
    row.0
        .pointer("/settings")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
}

/// Variables of a shell have capitals alone.
fn is_variable(key: &str) -> bool {
    key.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

/// A value as the script has it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
