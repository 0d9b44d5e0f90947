//! Megatron-Core's arguments that are interpreted together, and writing a scenario as its
//! arguments.

use super::megatron_flags::MODULES;
use super::{count, is_on, says, whole, word};
use crate::launch::{LaunchError, Reading, Way, Writing};
use crate::scenario::{FieldId, Value};

/// Sets Megatron-Core's own defaults: the stack with Transformer Engine, every parallel degree 1,
/// no recomputation.
pub fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    reading.scenario.set(FieldId::Stack, choice("megatron"));
    reading.scenario.set(FieldId::TransformerEngine, Value::Flag(true));
    reading.default("gradient-accumulation-fusion", FieldId::GradientFusion, Value::Flag(true));
    reading.default("optimizer", FieldId::Optimizer, choice("adamw"));
    reading.default("optimizer", FieldId::OptimizerImplementation, choice("fused"));
    reading.default("overlap-grad-reduce", FieldId::OverlapGradReduce, Value::Flag(false));
    reading.default("micro-batch-size", FieldId::MicroBatchSize, Value::Integer(1));
    reading.default("recompute-modules", FieldId::RecomputeCore, Value::Flag(true));
    for id in [
        FieldId::TensorParallel,
        FieldId::PipelineParallel,
        FieldId::ContextParallel,
        FieldId::ExpertParallel,
    ] {
        reading.scenario.set(id, Value::Integer(1));
    }
}

/// Reads layout, batches and formats of gradients. `batch` is the tool's default global batch;
/// without one, it is one micro-batch on every data-parallel GPU.
///
/// # Errors
/// [`LaunchError`] for a value that is no whole number.
pub fn end(reading: &mut Reading<'_>, batch: Option<u64>) -> Result<(), LaunchError> {
    reading.allocator();
    gradients(reading);
    loss(reading);
    ends_of_the_pipeline(reading);
    sequence_parallel(reading);
    let world = reading
        .environment("WORLD_SIZE")
        .filter(|given| !given.is_unknown())
        .and_then(|given| given.whole().ok());
    let stated = reading.processes().or(world).filter(|gpus| *gpus > 0);
    let how = match stated {
        Some(_) => "As many as the launcher starts.",
        None => {
            "The fewest that the degrees ask for: the text does not say how many GPUs there are."
        }
    };
    let (model, fewest) = fewest(reading);
    let gpus = stated.unwrap_or(fewest);
    reading.follows("GPUs", FieldId::Gpus, Value::Integer(gpus), how);
    let ranks = (gpus / model).max(1);
    let own = whole(&reading.scenario, FieldId::MicroBatchSize).saturating_mul(ranks);
    let all = count(reading, &["global-batch-size"])?.or(batch).unwrap_or(own).max(1);
    reading.follows("global-batch-size", FieldId::GlobalBatchSize, Value::Integer(all), "");
    Ok(())
}

/// The GPUs of one model replica, and the fewest GPUs that all degrees divide. Expert ranks are
/// taken from the data-parallel ranks.
fn fewest(reading: &Reading<'_>) -> (u64, u64) {
    let scenario = &reading.scenario;
    let product = |ids: &[FieldId]| {
        ids.iter().map(|id| whole(scenario, *id)).fold(1_u64, u64::saturating_mul).max(1)
    };
    let model =
        product(&[FieldId::TensorParallel, FieldId::PipelineParallel, FieldId::ContextParallel]);
    let split = match scenario.get(FieldId::ExpertTensorParallel) {
        Value::Integer(_) => FieldId::ExpertTensorParallel,
        _ => FieldId::TensorParallel,
    };
    let experts = product(&[FieldId::PipelineParallel, FieldId::ExpertParallel, split]);
    let all = match (experts.is_multiple_of(model), model.is_multiple_of(experts)) {
        (true, _) => experts,
        (_, true) => model,
        _ => model.saturating_mul(experts),
    };
    (model, all)
}

/// With bf16, gradients accumulate in fp32 unless the text states another format (`validate_args`).
fn gradients(reading: &mut Reading<'_>) {
    let in_fp32 = match word(&reading.scenario, FieldId::Precision) {
        "bf16" => {
            !says(reading, &["grad-reduce-in-bf16"])
                && reading.stated(&["main-grads-dtype"]).is_none_or(|given| given.text() == "fp32")
        }
        "fp16" => says(reading, &["accumulate-allreduce-grads-in-fp32"]),
        _ => false,
    };
    let format = Value::Choice(if in_fp32 { "fp32" } else { "as-weights" });
    reading.follows("accumulate-allreduce-grads-in-fp32", FieldId::Gradients, format, "");
}

fn loss(reading: &mut Reading<'_>) {
    let impls = reading.stated(&["cross-entropy-fusion-impl"]).map(crate::launch::Given::text);
    let Some(given) = reading.stated(&["cross-entropy-loss-fusion"]).cloned() else { return };
    let fused = match impls.as_deref() {
        _ if given.is_on() == Some(false) => "none",
        None | Some("native") => "native",
        Some("te") => "te",
        Some(_) => return reading.not_modelled(&given, "This cross-entropy is not modelled."),
    };
    reading.read(&given, FieldId::LossFusion, Value::Choice(fused));
}

/// Counting embedding and loss as layers of the pipeline: only both or neither is modelled.
fn ends_of_the_pipeline(reading: &mut Reading<'_>) {
    let names = ["account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"];
    let [embedding, loss] = names
        .map(|name| reading.stated(&[name]).cloned().filter(|given| given.is_on() == Some(true)));
    match (embedding, loss) {
        (Some(given), Some(_)) => reading.read(&given, FieldId::AccountForEnds, Value::Flag(true)),
        (Some(given), None) | (None, Some(given)) => {
            reading.not_modelled(
                &given,
                "Embedding and loss count as layers together or not at all here.",
            );
        }
        (None, None) => {}
    }
}

/// Sequence parallelism, which Megatron-Core switches off on one tensor-parallel GPU.
fn sequence_parallel(reading: &mut Reading<'_>) {
    let Some(given) =
        reading.stated(&["sequence-parallel"]).cloned().filter(|given| given.is_on() == Some(true))
    else {
        return;
    };
    let several = whole(&reading.scenario, FieldId::TensorParallel) > 1;
    let how =
        if several { "" } else { "Megatron-Core switches it off on one tensor-parallel GPU." };
    reading.derive(&given, FieldId::SequenceParallel, Value::Flag(several), how);
}

/// Shared experts beside the messages of the others: of a model without any, nothing changes
/// (`MoELayer.__init__`). To be asked when the model is known.
pub fn shared_experts(reading: &mut Reading<'_>) {
    let overlap = reading.stated(&["moe-shared-expert-overlap"]).cloned();
    let Some(given) = overlap.filter(|given| given.is_on() == Some(true)) else { return };
    if whole(&reading.scenario, FieldId::SharedExpertWidth) > 0 {
        reading.not_modelled(&given, "It keeps more at once.");
    } else {
        reading.tell(&given, Way::NoEffect, "The model has no shared experts.".to_owned());
    }
}

/// A function that writes a switch the way a tool does: `--name` or `--no-name`, or `--name true`.
pub type Says = fn(&mut Writing<'_>, &str, bool, &[FieldId]);

/// Writes the arguments that depend on several inputs. `switch` writes a switch the tool's way.
pub fn write(writing: &mut Writing<'_>, switch: Says) {
    let scenario = writing.scenario;
    let all = whole(scenario, FieldId::GlobalBatchSize);
    writing.say("global-batch-size", Some(all.to_string()), &[FieldId::GlobalBatchSize]);
    if !writing.differs(FieldId::Precision) {
        writing.is_said(&[FieldId::Precision]);
    } else if let format @ ("bf16" | "fp16") = word(scenario, FieldId::Precision) {
        switch(writing, format, true, &[FieldId::Precision]);
    }
    match (word(scenario, FieldId::Precision), word(scenario, FieldId::Gradients)) {
        ("bf16", "as-weights") => {
            switch(writing, "grad-reduce-in-bf16", true, &[FieldId::Gradients]);
        }
        ("fp16", "fp32") => {
            switch(writing, "accumulate-allreduce-grads-in-fp32", true, &[FieldId::Gradients]);
        }
        ("bf16", "fp32") | ("fp16" | "fp32", "as-weights") => {
            writing.is_said(&[FieldId::Gradients]);
        }
        _ => writing
            .lacks("Megatron-Core does not keep gradients in this format beside these weights."),
    }
    let sharding = word(scenario, FieldId::Sharding);
    if writing.differs(FieldId::Sharding) && matches!(sharding, "1" | "none") {
        switch(writing, "use-distributed-optimizer", sharding == "1", &[FieldId::Sharding]);
    }
    if is_on(scenario, FieldId::SequenceParallel) && whole(scenario, FieldId::TensorParallel) > 1 {
        switch(writing, "sequence-parallel", true, &[FieldId::SequenceParallel]);
    }
    loss_and_ends(writing, switch);
    for (key, id) in [
        ("gradient-accumulation-fusion", FieldId::GradientFusion),
        ("moe-grouped-gemm", FieldId::GroupedExperts),
        ("moe-permute-fusion", FieldId::PermuteFusion),
        ("moe-pad-expert-input-to-capacity", FieldId::PadExperts),
        ("overlap-grad-reduce", FieldId::OverlapGradReduce),
    ] {
        if writing.differs(id) {
            switch(writing, key, is_on(scenario, id), &[id]);
        }
    }
    if writing.differs(FieldId::OffloadOptimizer) {
        for key in ["optimizer-cpu-offload", "use-precision-aware-optimizer"] {
            switch(writing, key, true, &[FieldId::OffloadOptimizer]);
        }
    }
    modules(writing);
    let own = if is_on(scenario, FieldId::TransformerEngine) { "fused" } else { "foreach" };
    if word(scenario, FieldId::OptimizerImplementation) == own {
        writing.is_said(&[FieldId::OptimizerImplementation]);
    } else {
        writing.lacks(
            "Megatron-Core takes the fused optimizer with Transformer Engine, and PyTorch's \
             without it.",
        );
    }
}

fn loss_and_ends(writing: &mut Writing<'_>, switch: Says) {
    let scenario = writing.scenario;
    if writing.differs(FieldId::LossFusion) {
        let fused = word(scenario, FieldId::LossFusion);
        switch(writing, "cross-entropy-loss-fusion", fused != "none", &[FieldId::LossFusion]);
        if fused != "none" {
            writing.say("cross-entropy-fusion-impl", Some(fused.to_owned()), &[]);
        }
    }
    if is_on(scenario, FieldId::AccountForEnds) {
        switch(
            writing,
            "account-for-embedding-in-pipeline-split",
            true,
            &[FieldId::AccountForEnds],
        );
        switch(writing, "account-for-loss-in-pipeline-split", true, &[]);
    }
    let stages = [
        ("decoder-first-pipeline-num-layers", FieldId::FirstStageLayers),
        ("decoder-last-pipeline-num-layers", FieldId::LastStageLayers),
    ];
    for (key, id) in stages {
        if let Value::Integer(layers) = scenario.get(id) {
            writing.say(key, Some(layers.to_string()), &[id]);
        }
    }
    let own_modules = !is_on(scenario, FieldId::TransformerEngine);
    if writing.differs(FieldId::FusedAttention)
        || writing.differs(FieldId::Attention)
        || own_modules
    {
        let backend =
            match (word(scenario, FieldId::Attention), is_on(scenario, FieldId::FusedAttention)) {
                ("flash", true) => "fused",
                ("flash", false) => "flash",
                (_, true) => "unfused",
                _ => {
                    return writing
                        .lacks("Attention whose scores are written has one order of its output.");
                }
            };
        writing.say(
            "attention-backend",
            Some(backend.to_owned()),
            &[FieldId::FusedAttention, FieldId::Attention],
        );
    }
}

fn modules(writing: &mut Writing<'_>) {
    if MODULES.iter().all(|(_, id)| !writing.differs(*id)) {
        return;
    }
    let chosen: Vec<&str> = MODULES
        .iter()
        .filter(|(_, id)| is_on(writing.scenario, *id))
        .map(|(name, _)| *name)
        .collect();
    if !chosen.is_empty() {
        writing.say("recompute-modules", Some(chosen.join("\n")), &MODULES.map(|(_, id)| id));
    }
}
