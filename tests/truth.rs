//! What PyTorch itself takes, against the step played on the tape, for the `fused` kernels, byte by byte.
//!
//! `data/truth_fused.jsonl` holds rows measured with PyTorch's memory tracker on real transformers models (PyTorch 2.15,
//! transformers 5.23); nothing in the engine is fitted to them.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

mod support;

use headroom::config::{Job, ParallelLayout, Recompute, TrainingPrecision};
use headroom::estimator::{MemoryKind, measured};
use headroom::ops;
use headroom::units::Bytes;
use serde_json::Value;

fn number(row: &Value, path: &str) -> u64 {
    row.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is in the row"))
}

fn job_of(row: &Value) -> Job {
    let config = headroom::import::config_json(&row["config"].to_string()).expect("a known model").config;
    support::training_job(&config, ParallelLayout::SINGLE, |run| {
        run.seq_length = number(row, "/run/seq_length");
        run.micro_batch_size = Some(number(row, "/run/micro_batch_size"));
        run.global_batch_size = number(row, "/run/micro_batch_size") * number(row, "/run/gradient_accumulation_steps");
        run.precision = TrainingPrecision::Bf16Pure;
        run.recompute = if row["run"]["recompute"] == "full" { Recompute::Full } else { Recompute::None };
    })
}

#[test]
fn memory_is_what_pytorch_measures() {
    let rows: Vec<Value> =
        include_str!("data/truth_fused.jsonl").lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    assert_eq!(rows.len(), 12);
    for row in &rows {
        let job = job_of(row);
        assert_eq!(ops::lower(&ops::lowering(&job)).parameters(), number(row, "/measured/parameters"));
        let (after_forward, peak) = measured(&job).expect("a training job of played kernels");
        let saved = after_forward[MemoryKind::Activation.index()];
        assert_eq!(saved.0, number(row, "/measured/after_forward_bytes/act"), "saved activations of {}", row["id"]);
        let total: Bytes = peak.into_iter().sum();
        assert_eq!(total.0, number(row, "/measured/peak_bytes/total"), "peak of {}", row["id"]);
    }
}
