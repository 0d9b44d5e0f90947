//! Lengths, batches and GPUs of a run of axolotl.

use crate::launch::shared::{count, says, word};
use crate::launch::{LaunchError, Reading};
use crate::scenario::{FieldId, Value};

/// Lengths and batches. Packed samples of a micro-batch form one row, unless
/// `multipack_real_batches` is set (`core/builders/causal.py`).
pub fn lengths(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let length = count(reading, &["sequence_len"])?.unwrap_or(512);
    let batch = count(reading, &["micro_batch_size"])?.unwrap_or(1);
    let steps = count(reading, &["gradient_accumulation_steps"])?.unwrap_or(1);
    let (gpus, ranks) = gpus(reading)?;
    let packs = says(reading, &["sample_packing"]);
    let in_one_row = packs && !says(reading, &["multipack_real_batches"]);
    let (row, rows) = if in_one_row { (length.saturating_mul(batch), 1) } else { (length, batch) };
    let how = match (packs, in_one_row) {
        (_, true) => "Packed samples of a micro-batch stand in one row.",
        (true, false) => "Packed samples.",
        _ => "An upper bound: without packing the longest batch decides.",
    };
    reading.follows(
        "GPUs",
        FieldId::Gpus,
        Value::Integer(gpus),
        "As many as the launcher starts, or the layout asks for, or one.",
    );
    reading.follows("sequence_len", FieldId::SeqLength, Value::Integer(row), how);
    reading.follows("micro_batch_size", FieldId::MicroBatchSize, Value::Integer(rows), "");
    reading.scenario.set(FieldId::Packing, Value::Flag(packs));
    let all = rows.saturating_mul(steps).saturating_mul(ranks);
    let how = "Rows of a micro-batch × accumulation × GPUs.";
    reading.follows(
        "gradient_accumulation_steps",
        FieldId::GlobalBatchSize,
        Value::Integer(all.max(1)),
        how,
    );
    evaluation(reading, batch, rows)
}

/// The number of GPUs, and how many of them have a batch of their own.
pub fn gpus(reading: &mut Reading<'_>) -> Result<(u64, u64), LaunchError> {
    let mut product = 1_u64;
    let mut shared = 1_u64;
    for name in [
        "dp_shard_size",
        "dp_replicate_size",
        "tensor_parallel_size",
        "context_parallel_size",
        "sequence_parallel_degree",
    ] {
        let degree = count(reading, &[name])?.unwrap_or(1).max(1);
        product = product.saturating_mul(degree);
        if !name.starts_with("dp_") {
            shared = shared.saturating_mul(degree);
        }
        if let Some(given) = reading.stated(&[name]).cloned().filter(|_| degree > 1) {
            reading.not_modelled(&given, "This layout is not modelled for the Trainer.");
        }
    }
    let gpus = reading.processes().unwrap_or(product).max(1);
    Ok((gpus, (gpus / shared).max(1)))
}

/// Evaluations between steps, where a part of the data is set apart for them.
pub fn evaluation(reading: &mut Reading<'_>, batch: u64, rows: u64) -> Result<(), LaunchError> {
    let sets_apart = reading
        .stated(&["val_set_size"])
        .is_some_and(|given| given.number().is_ok_and(|share| share > 0.0))
        || reading.stated(&["test_datasets"]).is_some_and(|given| !given.list().is_empty());
    let never = reading
        .stated(&["eval_strategy", "evaluation_strategy"])
        .is_some_and(|given| given.text() == "no");
    // Cut Cross-Entropy writes no logits in evaluations either, so an evaluation takes less than a
    // step and is left out.
    if !sets_apart || never || word(&reading.scenario, FieldId::Loss) == "cut" {
        return Ok(());
    }
    let own = count(reading, &["eval_batch_size"])?.unwrap_or(batch);
    let in_rows = if rows == batch { own } else { own.div_ceil(batch.max(1)) };
    let how = "A part of the data is set apart for evaluations.";
    reading.follows(
        "eval_batch_size",
        FieldId::EvaluationBatch,
        Value::Integer(in_rows.max(1)),
        how,
    );
    Ok(())
}
