//! Flags of a Trainer's run that are interpreted together: GPUs, batch, number formats, sharding,
//! evaluations.

use super::super::report::Way;
use super::super::{Format, Given, LaunchError, Reading, Stated};
use super::{fsdp, says_something, stated_on, stated_whole, whole, word, zero};
use crate::scenario::{FieldId, Scenario, Value};

/// The format in which weights are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// All weights in 16 bits.
    Short,
    /// All weights in fp32.
    Full,
    /// Weights in 16 bits, with trained ones cast to fp32.
    LearnInFull,
}

/// Mixed precision: the format that the Trainer's autocast computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// No autocast.
    No,
    /// bf16.
    Bf16,
    /// fp16.
    Fp16,
}

/// The library that shards the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardedBy {
    /// None: every rank holds the whole model.
    Nobody,
    /// FSDP.
    Fsdp,
    /// DeepSpeed.
    Zero,
}

/// Defaults in which the tools around the Trainer differ.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// The format of weights where no flag states it.
    pub weights: fn(&Reading<'_>) -> Weights,
    /// Mixed precision where neither `bf16` nor `fp16` is stated.
    pub mixed: fn(&Reading<'_>) -> Mixed,
    /// Default number of micro-batches in a step, from the micro-batch and the number of GPUs.
    pub steps: fn(u64, u64) -> u64,
    /// True if evaluations run where `eval_strategy` is not stated.
    pub evaluates: fn(&Reading<'_>) -> bool,
    /// Default number of sequences in an evaluation's batch.
    pub evaluation_batch: u64,
    /// True if evaluations write logits under Liger, too.
    pub evaluation_logits: bool,
    /// True if DDP looks for parameters without a gradient where nothing is said, by whether all
    /// weights learn and whether blocks are recomputed.
    pub finds_unused: fn(full: bool, recomputes: bool) -> bool,
}

/// The Trainer's own defaults, from transformers 5.24.0.
pub const TRAINER: Habits = Habits {
    weights: |_| Weights::Short,
    mixed: |_| Mixed::No,
    steps: |_, _| 1,
    evaluates: |_| false,
    evaluation_batch: 8,
    evaluation_logits: false,
    // `_build_accelerator_args` of trainer.py: not beside checkpointing, but always for a model
    // that peft wraps.
    finds_unused: |full, recomputes| !full || !recomputes,
};

/// The input's word for the number formats, and whether autocast is on. Under DeepSpeed the
/// optimizer keeps fp32 copies of 16-bit weights and there is no autocast. Under FSDP, accelerate
/// casts the shards of trained weights to fp32.
pub const fn precision(
    weights: Weights,
    mixed: Mixed,
    shares: ShardedBy,
    full: bool,
) -> (&'static str, bool) {
    match (shares, mixed, weights) {
        (ShardedBy::Zero, Mixed::Bf16, _) => ("bf16", false),
        (ShardedBy::Zero, Mixed::Fp16, _) => ("fp16", false),
        (ShardedBy::Fsdp, Mixed::Bf16 | Mixed::Fp16, _) if full => ("fsdp-mixed", false),
        (ShardedBy::Zero, Mixed::No, _) | (_, Mixed::No, Weights::Full) => ("fp32", false),
        (_, Mixed::No, Weights::LearnInFull) if full => ("fp32", false),
        (_, Mixed::No, _) => ("bf16-pure", false),
        (_, _, Weights::Full) => ("amp-bf16", true),
        (_, _, Weights::LearnInFull) if full => ("amp-bf16", true),
        (..) => ("bf16-pure", true),
    }
}

/// Interprets flags that depend on each other, after each was read by itself and the kind of
/// adapters is known.
///
/// # Errors
/// [`LaunchError`] where a value is not one that its flag takes, or a file beside the text is
/// broken.
pub fn settle(
    reading: &mut Reading<'_>,
    habits: &Habits,
    gpus: Option<u64>,
) -> Result<(), LaunchError> {
    reading.allocator();
    let before = reading.scenario.get(FieldId::Gpus);
    let launched = accelerate(reading)?;
    let of_file =
        launched.then(|| reading.scenario.get(FieldId::Gpus)).filter(|found| *found != before);
    let hint =
        if launched { mixed_of(word(&reading.scenario, FieldId::Precision)) } else { Mixed::No };
    let under_zero = zero::of_run(reading)?;
    if !under_zero {
        fsdp::of_run(reading)?;
    }
    let gpus = gpus.or_else(|| reading.processes());
    let gpus = gpus.or(if let Some(Value::Integer(count)) = of_file { Some(count) } else { None });
    match gpus {
        Some(count) => reading.follows(
            "GPUs",
            FieldId::Gpus,
            Value::Integer(count.max(1)),
            "As many processes are started.",
        ),
        None => reading.default("GPUs", FieldId::Gpus, Value::Integer(1)),
    }
    batch(reading, habits)?;
    formats(reading, habits, under_zero, hint);
    if reading.stated(&[UNUSED]).is_none() && finds_unused(&reading.scenario, habits) {
        let how =
            "The Trainer's way where blocks are not recomputed, or where peft wraps the model.";
        reading.follows(UNUSED, FieldId::FindUnusedParameters, Value::Flag(true), how);
    }
    evaluation(reading, habits)
}

/// The flag that says whether DDP looks for parameters without a gradient.
pub const UNUSED: &str = "ddp_find_unused_parameters";

/// True if DDP shares the model out, and looks for such parameters where nothing is said.
pub fn finds_unused(scenario: &Scenario, habits: &Habits) -> bool {
    let under_zero = matches!(word(scenario, FieldId::Precision), "bf16" | "fp16");
    let is_ddp = word(scenario, FieldId::Sharding) == "none"
        && whole(scenario, FieldId::Gpus) > 1
        && !under_zero;
    let full =
        word(scenario, FieldId::Mode) == "train" || word(scenario, FieldId::Method) == "full";
    is_ddp && (habits.finds_unused)(full, word(scenario, FieldId::Recompute) != "none")
}

/// A vision tower that does not learn unless that flag says so; a model without one has none to
/// freeze.
pub fn frozen_tower(reading: &mut Reading<'_>, flag: &str) {
    let counts = reading.scenario.counting_fields().any(|field| field.id == FieldId::FrozenTower);
    if counts && reading.stated(&[flag]).is_none() {
        reading.default(flag, FieldId::FrozenTower, Value::Flag(true));
    }
}

/// Reads the file or the flags of `accelerate launch`. Returns whether there are any.
fn accelerate(reading: &mut Reading<'_>) -> Result<bool, LaunchError> {
    const ITS_OWN: [&str; 6] = [
        "use_deepspeed",
        "use_fsdp",
        "zero_stage",
        "mixed_precision",
        "num_processes",
        "fsdp_version",
    ];
    let mut is_read = false;
    if let Some(given) = reading
        .launcher(&["config_file"])
        .or_else(|| reading.stated(&["accelerate_config"]))
        .cloned()
    {
        is_read = reading.attached(&given)?;
    }
    let own = |given: &Given| {
        ITS_OWN.iter().any(|name| super::super::flag::is_same_name(name, &given.key))
    };
    if reading.launcher_flags().iter().any(own) {
        let flags: Vec<Given> = reading
            .launcher_flags()
            .iter()
            .filter(|given| given.key != "config_file")
            .cloned()
            .collect();
        if let Some(format) = Format::named("accelerate") {
            reading.joined(format, Stated::of(flags))?;
            is_read = true;
        }
    }
    Ok(is_read)
}

fn mixed_of(precision: &str) -> Mixed {
    match precision {
        "bf16" | "fsdp-mixed" | "amp-bf16" => Mixed::Bf16,
        "fp16" => Mixed::Fp16,
        _ => Mixed::No,
    }
}

/// The global batch: micro-batch × gradient accumulation × data-parallel ranks.
fn batch(reading: &mut Reading<'_>, habits: &Habits) -> Result<(), LaunchError> {
    let (micro, gpus) =
        (super::objective::micro_batch(reading), whole(&reading.scenario, FieldId::Gpus));
    let stated = reading.stated(&["gradient_accumulation_steps"]).cloned();
    let stated_steps = stated_whole(reading, &["gradient_accumulation_steps"])?;
    let steps = stated_steps.unwrap_or_else(|| (habits.steps)(micro, gpus)).max(1);
    let global = micro.saturating_mul(steps).saturating_mul(gpus);
    let how = format!("{micro} in a micro-batch × {steps} of them × {gpus} GPUs.");
    match stated {
        Some(given) if given.is_unknown() => {
            reading.tell(
                &given,
                Way::Unknown,
                "The text does not set the variable in it.".to_owned(),
            );
            reading.follows(
                "gradient_accumulation_steps",
                FieldId::GlobalBatchSize,
                Value::Integer(global),
                &how,
            );
        }
        Some(given) if stated_steps.is_some() => {
            reading.derive(&given, FieldId::GlobalBatchSize, Value::Integer(global), &how);
        }
        _ => reading.follows(
            "gradient_accumulation_steps",
            FieldId::GlobalBatchSize,
            Value::Integer(global),
            &how,
        ),
    }
    Ok(())
}

/// Number formats, from the loaded weights, mixed precision and the sharding library.
fn formats(reading: &mut Reading<'_>, habits: &Habits, under_zero: bool, hint: Mixed) {
    let sharding = word(&reading.scenario, FieldId::Sharding);
    let shares = match sharding {
        _ if under_zero => ShardedBy::Zero,
        "0" | "1" | "2" | "3" => ShardedBy::Zero,
        "fsdp" | "fsdp1" => ShardedBy::Fsdp,
        _ => ShardedBy::Nobody,
    };
    let unset = |given: &&Given| given.is_on().is_none() && given.text() != "auto";
    for name in ["bf16", "fp16"] {
        if let Some(given) = reading.stated(&[name]).filter(unset).cloned() {
            reading.tell(&given, Way::Unknown, "It is taken to be off.".to_owned());
        }
    }
    let is_auto = reading.stated(&["bf16"]).is_some_and(|given| given.text() == "auto");
    let (bf16, fp16) = (stated_on(reading, &["bf16"]), stated_on(reading, &["fp16"]));
    let mixed = match (bf16, fp16) {
        _ if is_auto => Mixed::Bf16,
        (Some(true), _) => Mixed::Bf16,
        (_, Some(true)) => Mixed::Fp16,
        (Some(false), _) if hint == Mixed::No => Mixed::No,
        _ if hint != Mixed::No => hint,
        _ => (habits.mixed)(reading),
    };
    let full = word(&reading.scenario, FieldId::Method) == "full";
    let (found, casts) = precision((habits.weights)(reading), mixed, shares, full);
    let how = match (mixed, shares) {
        (Mixed::Fp16, ShardedBy::Nobody | ShardedBy::Fsdp) => "fp16 takes as many bytes as bf16.",
        _ => "",
    };
    let (flag, given) = match (bf16, fp16) {
        (_, Some(true)) => ("fp16", reading.stated(&["fp16"]).cloned()),
        (Some(_), _) => ("bf16", reading.stated(&["bf16"]).cloned()),
        _ => ("bf16", None),
    };
    match given {
        Some(given) => reading.derive(&given, FieldId::Precision, Value::Choice(found), how),
        None => reading.follows(flag, FieldId::Precision, Value::Choice(found), how),
    }
    reading.scenario.set(FieldId::Autocast, Value::Flag(casts));
    if shares == ShardedBy::Fsdp {
        // accelerate's `MixedPrecision` reduces gradients in the format that it computes in.
        reading.scenario.set(FieldId::ReduceInFp32, Value::Flag(mixed == Mixed::No));
    }
}

/// Evaluations between steps.
fn evaluation(reading: &mut Reading<'_>, habits: &Habits) -> Result<(), LaunchError> {
    let strategy = reading.stated(&["eval_strategy", "evaluation_strategy"]).cloned();
    let on_start = stated_on(reading, &["eval_on_start"]) == Some(true);
    let runs = strategy.as_ref().map_or_else(
        || (habits.evaluates)(reading),
        |given| {
            let text = given.text();
            says_something(given) && !text.ends_with("NO")
        },
    );
    let names = ["per_device_eval_batch_size", "per_gpu_eval_batch_size"];
    let stated = reading.stated(&names).cloned();
    if !(runs || on_start) {
        for given in [strategy, stated].into_iter().flatten() {
            reading.tell(&given, Way::NoEffect, String::new());
        }
        return Ok(());
    }
    let batch = stated_whole(reading, &names)?.unwrap_or(habits.evaluation_batch);
    if batch == 0
        && let Some(given) = &stated
    {
        return Err(given.wrong("takes a whole number from 1 on".to_owned()));
    }
    let how = "Evaluations run between steps.";
    match stated.or(strategy) {
        Some(given) => reading.derive(&given, FieldId::EvaluationBatch, Value::Integer(batch), how),
        None => {
            reading.follows("eval_strategy", FieldId::EvaluationBatch, Value::Integer(batch), how);
        }
    }
    reading.scenario.set(FieldId::EvaluationLogits, Value::Flag(habits.evaluation_logits));
    Ok(())
}
