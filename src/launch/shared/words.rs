//! Writes a scenario as the flags of a Trainer's run, for the tools that pass them on.

use super::super::Writing;
use super::adapters::method_of;
use super::run::{Habits, Mixed, ShardedBy, UNUSED, Weights, finds_unused, precision};
use super::{fsdp, is_on, trainer, whole, word, zero};
use crate::scenario::{FieldId, Value};

/// Writes the Trainer's flags that depend on several inputs, without the number formats: batch,
/// optimizer, recomputation, Liger, sharding, evaluations.
pub fn say(writing: &mut Writing<'_>, habits: &Habits, has_fsdp: bool) {
    let scenario = writing.scenario;
    batch(writing);
    let paged = is_on(scenario, FieldId::PagedOptimizer);
    let optimizer =
        (word(scenario, FieldId::Optimizer), word(scenario, FieldId::OptimizerImplementation));
    if let Some(name) = trainer::optim_of(optimizer.0, optimizer.1, paged) {
        let said = [FieldId::Optimizer, FieldId::OptimizerImplementation, FieldId::PagedOptimizer];
        writing.say("optim", Some(name.to_owned()), &said);
    }
    match word(scenario, FieldId::Stack) {
        "liger" => writing.say("use_liger_kernel", Some("true".to_owned()), &[FieldId::Stack]),
        "eager" => writing.is_said(&[FieldId::Stack]),
        _ => {}
    }
    sharding(writing, has_fsdp);
    if finds_unused(scenario, habits) && !is_on(scenario, FieldId::FindUnusedParameters) {
        writing.say(UNUSED, Some("false".to_owned()), &[FieldId::FindUnusedParameters]);
    }
    if let Value::Integer(batch) = scenario.get(FieldId::EvaluationBatch)
        && is_on(scenario, FieldId::EvaluationLogits) == habits.evaluation_logits
    {
        writing.say(
            "eval_strategy",
            Some("steps".to_owned()),
            &[FieldId::EvaluationBatch, FieldId::EvaluationLogits],
        );
        writing.say("per_device_eval_batch_size", Some(batch.to_string()), &[]);
    }
}

/// Writes recomputation as the flag `key`. The input has selective recomputation as well, which the
/// Trainer has not.
pub fn checkpointing(writing: &mut Writing<'_>, key: &str) {
    let on = match word(writing.scenario, FieldId::Recompute) {
        "full" => "true",
        "none" => "false",
        _ => return,
    };
    writing.say(key, Some(on.to_owned()), &[FieldId::Recompute]);
}

/// Writes micro-batch and gradient accumulation, where together they make the global batch.
fn batch(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    let Value::Integer(micro) = scenario.get(FieldId::MicroBatchSize) else { return };
    writing.say("per_device_train_batch_size", Some(micro.to_string()), &[FieldId::MicroBatchSize]);
    let (global, gpus) =
        (whole(scenario, FieldId::GlobalBatchSize), whole(scenario, FieldId::Gpus));
    let each = micro.saturating_mul(gpus).max(1);
    if global.is_multiple_of(each) && global > 0 {
        writing.say(
            "gradient_accumulation_steps",
            Some((global / each).to_string()),
            &[FieldId::GlobalBatchSize],
        );
    }
}

/// Writes DeepSpeed's and FSDP's settings as JSON inside the command.
fn sharding(writing: &mut Writing<'_>, has_fsdp: bool) {
    match shares_of(writing) {
        ShardedBy::Nobody => writing.is_said(&[FieldId::Sharding]),
        ShardedBy::Fsdp => {
            if let Some(config) = fsdp::config_of(writing.scenario).filter(|_| has_fsdp) {
                writing.say("fsdp", Some("true".to_owned()), &fsdp::SAYS);
                writing.say("fsdp_config", Some(config), &[]);
            }
        }
        ShardedBy::Zero => {
            if let Some(config) = zero::config_of(writing.scenario) {
                writing.say("deepspeed", Some(config.to_string()), &zero::says(writing.scenario));
            }
        }
    }
}

/// The library that shards the written scenario's model. DeepSpeed without a stage is recognised by
/// its number formats.
pub fn shares_of(writing: &Writing<'_>) -> ShardedBy {
    match word(writing.scenario, FieldId::Sharding) {
        "fsdp" | "fsdp1" => ShardedBy::Fsdp,
        "0" | "1" | "2" | "3" => ShardedBy::Zero,
        _ if matches!(word(writing.scenario, FieldId::Precision), "bf16" | "fp16") => {
            ShardedBy::Zero
        }
        _ => ShardedBy::Nobody,
    }
}

/// The first of `choices`, weights and mixed precision, with which the Trainer has the scenario's
/// number formats.
pub fn formats(writing: &Writing<'_>, choices: &[(Weights, Mixed)]) -> Option<(Weights, Mixed)> {
    let full = method_of(writing) == "full";
    let found =
        (word(writing.scenario, FieldId::Precision), is_on(writing.scenario, FieldId::Autocast));
    let shares = shares_of(writing);
    choices
        .iter()
        .copied()
        .find(|(weights, mixed)| precision(*weights, *mixed, shares, full) == found)
}

/// Writes `bf16` or `fp16`, and marks the inputs that follow from them as written.
pub fn mixed(writing: &mut Writing<'_>, mixed: Mixed) {
    let said = [FieldId::Precision, FieldId::Autocast];
    match mixed {
        Mixed::Bf16 => writing.say("bf16", Some("true".to_owned()), &said),
        Mixed::Fp16 => writing.say("fp16", Some("true".to_owned()), &said),
        Mixed::No => writing.say("bf16", Some("false".to_owned()), &said),
    }
}

/// Writes by the flag `key` that a vision tower is trained, for tools that freeze it by default.
pub fn tower(writing: &mut Writing<'_>, key: &str) {
    if writing.scenario.counting_fields().any(|field| field.id == FieldId::FrozenTower) {
        let frozen = is_on(writing.scenario, FieldId::FrozenTower);
        writing.say(key, Some(frozen.to_string()), &[FieldId::FrozenTower]);
    }
}

/// Environment variables before a command: the allocator's setting, and further ones.
pub fn environment(writing: &mut Writing<'_>, further: &[(&str, String)]) -> String {
    let grows = is_on(writing.scenario, FieldId::ExpandableSegments);
    writing.is_said(&[FieldId::ExpandableSegments]);
    let segments =
        grows.then(|| ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True".to_owned()));
    let all = further.iter().cloned().chain(segments);
    all.flat_map(|(name, value)| [name.to_owned(), "=".to_owned(), value, " \\\n".to_owned()])
        .collect()
}

/// The flags of a command line, with the list of the flag `key` written as separate words.
pub fn with_list(flags: &str, key: &str) -> String {
    let mark = format!(" --{key} '");
    let Some((before, rest)) = flags.split_once(&mark) else { return flags.to_owned() };
    let Some((list, after)) = rest.split_once('\'') else { return flags.to_owned() };
    format!("{before} --{key} {list}{after}")
}
