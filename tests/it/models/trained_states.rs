//! Training layers that keep a state, against rows of PyTorch's memory tracker byte by byte, and
//! against PyTorch's counter of forward FLOPs.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{
    AttentionKernel, Dispatch, Job, ParallelLayout, Recompute, TrainingPrecision,
};
use headroom::estimator::{MemoryKind, measured};
use headroom::ops;
use headroom::units::{Bytes, to_f64};
use serde_json::Value;

/// One file of each kind of state, and of each family that puts it into blocks of its own.
const ROWS: &[&str] = &[
    include_str!("../../data/measured/lfm2.jsonl"),
    include_str!("../../data/measured/lfm2_moe.jsonl"),
    include_str!("../../data/measured/qwen3_next.jsonl"),
    include_str!("../../data/measured/qwen3_5_text.jsonl"),
    include_str!("../../data/measured/qwen3_5_moe_text.jsonl"),
    include_str!("../../data/measured/bamba.jsonl"),
    include_str!("../../data/measured/granitemoehybrid.jsonl"),
    include_str!("../../data/measured/nemotron_h.jsonl"),
    include_str!("../../data/measured/mamba2.jsonl"),
    include_str!("../../data/measured/olmo_hybrid.jsonl"),
    include_str!("../../data/measured/falcon_h1.jsonl"),
    include_str!("../../data/measured/mamba.jsonl"),
    include_str!("../../data/measured/falcon_mamba.jsonl"),
    include_str!("../../data/measured/jamba.jsonl"),
    include_str!("../../data/measured/minimax.jsonl"),
    include_str!("../../data/measured/lfm3.jsonl"),
    include_str!("../../data/measured/kimi_linear.jsonl"),
    include_str!("../../data/measured/bailing_hybrid.jsonl"),
    include_str!("../../data/measured/zamba.jsonl"),
    include_str!("../../data/measured/zamba2.jsonl"),
    include_str!("../../data/measured/recurrent_gemma.jsonl"),
    include_str!("../../data/measured/rwkv.jsonl"),
    include_str!("../../data/measured/xlstm.jsonl"),
];

fn rows(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row"))
}

fn number(row: &Value, path: &str) -> u64 {
    row.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is in the row"))
}

fn job(
    row: &Value,
    [tokens, sequences]: [u64; 2],
    edit: impl FnOnce(&mut headroom::config::TrainingRun),
) -> Job {
    let model =
        headroom::import::config_json(&row["config"].to_string()).expect("a known model").config;
    support::training_job(&model, ParallelLayout::SINGLE, |run| {
        (run.seq_length, run.global_batch_size, run.micro_batch_size) =
            (tokens, sequences, Some(sequences));
        (run.dispatch, run.stack) = (Dispatch::CpuTracker, support::eager());
        edit(run);
    })
}

/// True if layers share a block.
fn job_shares(row: &Value) -> bool {
    headroom::import::config_json(&row["config"].to_string())
        .is_ok_and(|read| read.config.shared.is_some())
}

#[test]
fn memory_of_states_is_what_pytorch_measures() {
    let mut compared = 0;
    for row in ROWS.iter().flat_map(|text| rows(text)) {
        let run = &row["run"];
        let precision = match run["precision"].as_str() {
            Some("bf16") => TrainingPrecision::Bf16Pure,
            Some("fp32") => TrainingPrecision::Fp32,
            // In these rows the tracker's own hooks keep casts alive. Only the accuracy tool adds
            // them, so the rows are left to it.
            _ => continue,
        };
        if run["optimizer_implementation"] != "fused" || run["gradient_accumulation_steps"] != 1 {
            continue;
        }
        let sizes = [number(&row, "/run/seq_length"), number(&row, "/run/micro_batch_size")];
        let job = job(&row, sizes, |made| {
            made.precision = precision;
            made.attention = if run["attention"] == "eager" {
                AttentionKernel::Standard
            } else {
                AttentionKernel::Flash
            };
            made.recompute =
                if run["recompute"] == "full" { Recompute::Full } else { Recompute::None };
        });
        assert_eq!(
            ops::lower(&ops::lowering(&job)).parameters(),
            number(&row, "/measured/parameters"),
            "{}",
            row["id"]
        );
        let (after_forward, peak) = measured(&job).expect("a training job of played kernels");
        let saved = after_forward[MemoryKind::Activation.index()];
        assert_eq!(
            saved.0,
            number(&row, "/measured/after_forward_bytes/act"),
            "saved activations of {}",
            row["id"]
        );
        let total: Bytes = peak.into_iter().sum();
        let there = number(&row, "/measured/peak_bytes/total");
        // transformers nests a checkpoint inside a shared block's, which makes a reference cycle:
        // its tensors are freed when Python's garbage collector runs.
        let circles = run["recompute"] == "full" && job_shares(&row);
        let most = if circles { there / 200 } else { 0 };
        assert!(
            total.0.abs_diff(there) <= most,
            "peak of {} {}: {} against {there}",
            row["model"],
            row["id"],
            total.0
        );
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

/// PyTorch's counter counts the products of each chunk, and convolutions with the tokens that
/// padding adds.
#[test]
fn flops_of_states_are_what_pytorch_counts() {
    let files = [
        include_str!("../../data/truth/flops_states.jsonl"),
        include_str!("../../data/truth/flops_compressed.jsonl"),
    ];
    for row in files.iter().flat_map(|text| rows(text)) {
        let sizes = ["/seq", "/mbs"].map(|path| number(&row, path));
        let job = job(&row, sizes, |run| run.attention = AttentionKernel::Standard);
        let forward = ops::lower(&ops::lowering(&job)).forward().0;
        let counted = to_f64(number(&row, "/forward_flops"));
        assert!((forward - counted).abs() < 0.5, "{}: {forward} against {counted}", row["model"]);
    }
}
