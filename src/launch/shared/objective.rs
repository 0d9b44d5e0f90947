//! The objective of a run (examples, preferences or rewards), with the models and the inference
//! engine that it needs.

use super::super::{Given, Reading};
use super::{is_on, says_something, stated_on, stated_whole, whole};
use crate::launch::LaunchError;
use crate::scenario::{FieldId, Value};

/// Kinds of runs by their names in TRL, ms-swift and LLaMA-Factory: the input's word, whether a
/// reference copy of the model is loaded, and a sentence where the kind is not modelled exactly.
const KINDS: &[(&str, &str, bool, &str)] = &[
    ("sft", "sft", false, ""),
    ("pt", "sft", false, ""),
    ("dpo", "dpo", true, ""),
    ("orpo", "dpo", false, ""),
    ("simpo", "dpo", false, ""),
    ("cpo", "dpo", false, ""),
    ("reward", "reward", false, ""),
    ("rm", "reward", false, ""),
    ("ppo", "ppo", true, ""),
    ("grpo", "grpo", true, ""),
    ("rloo", "grpo", true, ""),
    (
        "kto",
        "sft",
        false,
        "Counted as examples: KTO's copy of the model and its second pass come on top.",
    ),
    (
        "gkd",
        "sft",
        false,
        "Counted as examples: the teacher and the answers that are generated come on top.",
    ),
    (
        "distillation",
        "sft",
        false,
        "Counted as examples: the teacher and the answers that are generated come on top.",
    ),
];

/// Sets the kind of a run; `given` is the flag or word that states it.
pub fn take(reading: &mut Reading<'_>, given: &Given, kind: &str) {
    let Some((_, objective, reference, why)) = KINDS.iter().find(|(name, ..)| *name == kind) else {
        return reading.not_modelled(
            given,
            "This kind of training is not modelled: it is counted as training on examples.",
        );
    };
    reading.read(given, FieldId::Objective, Value::Choice(objective));
    if matches!(*objective, "dpo" | "ppo" | "grpo") {
        reading.scenario.set(FieldId::Reference, Value::Flag(*reference));
    }
    if !why.is_empty() {
        reading.not_modelled(given, why);
    }
}

/// Reads the engine that generates answers for a run with rewards (`use_vllm`, `vllm_mode` of TRL
/// and ms-swift), and the lengths of answers. With a `beta` of 0 no reference copy of the model is
/// needed.
///
/// # Errors
/// [`LaunchError`] where a length is no number.
pub fn answers(reading: &mut Reading<'_>, default_completion: u64) -> Result<(), LaunchError> {
    let generates =
        matches!(reading.scenario.get(FieldId::Objective), Value::Choice("grpo" | "ppo"));
    if !generates {
        return Ok(());
    }
    let completion = stated_whole(reading, &["max_completion_length", "response_length"])?
        .unwrap_or(default_completion);
    let prompt = stated_whole(reading, &["max_prompt_length", "max_length"])?;
    let how = if prompt.is_some() {
        "Prompt and answer."
    } else {
        "The answer alone: no flag limits the prompt, which comes on top."
    };
    reading.follows(
        "max_completion_length",
        FieldId::SeqLength,
        Value::Integer(completion + prompt.unwrap_or(0)),
        how,
    );
    let mode = reading.stated(&["vllm_mode"]).map(Given::text);
    let sleeps = stated_on(reading, &["vllm_enable_sleep_mode"]).unwrap_or(false)
        || reading.stated(&["sleep_level"]).is_some_and(says_something);
    let uses = stated_on(reading, &["use_vllm"]).unwrap_or(false);
    let place = match (uses, mode.as_deref(), sleeps) {
        (false, ..) | (true, Some("server"), _) => "apart",
        (true, _, true) => "sleeping",
        (true, _, false) => "colocated",
    };
    reading.follows("use_vllm", FieldId::Rollout, Value::Choice(place), "");
    if !uses
        && let Some(given) = reading
            .stated(&["num_generations", "use_vllm", "rlhf_type", "max_completion_length"])
            .cloned()
    {
        reading.not_modelled(
            &given,
            "The model generates the answers itself: its cache meanwhile is not counted.",
        );
    }
    let beta = reading.stated(&["beta"]).and_then(|given| given.number().ok());
    if beta == Some(0.0) {
        reading.follows(
            "beta",
            FieldId::Reference,
            Value::Flag(false),
            "Without a penalty no copy of the model is needed.",
        );
    }
    Ok(())
}

/// The name of the scenario's kind of run.
pub fn kind_of(reading: &crate::scenario::Scenario) -> &'static str {
    let reference = is_on(reading, FieldId::Reference);
    match (super::word(reading, FieldId::Objective), reference) {
        ("dpo", true) => "dpo",
        ("dpo", false) => "orpo",
        ("reward", _) => "reward",
        ("grpo", _) => "grpo",
        ("ppo", _) => "ppo",
        _ => "sft",
    }
}

/// Sequences of a micro-batch; 1 by default.
pub fn micro_batch(reading: &Reading<'_>) -> u64 {
    whole(&reading.scenario, FieldId::MicroBatchSize).max(1)
}
