//! Byte-by-byte comparison with rows of PyTorch's memory tracker: encoders beside decoders under
//! FSDP2, and decoders saved alone.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::config::{
    AttentionKernel, DataSharding, Dispatch, Job, OptimizerImplementation, Recompute,
    TrainingPrecision,
};
use headroom::estimator::{MemoryKind, measured};
use headroom::ops;
use headroom::units::Bytes;
use serde_json::Value;

use crate::support;

const ALONE: &[&str] = &[
    include_str!("../../data/measured/bart.jsonl"),
    include_str!("../../data/measured/mbart.jsonl"),
    include_str!("../../data/measured/pegasus.jsonl"),
    include_str!("../../data/measured/marian.jsonl"),
    include_str!("../../data/measured/plbart.jsonl"),
    include_str!("../../data/measured/blenderbot.jsonl"),
    include_str!("../../data/measured/blenderbot_small.jsonl"),
    include_str!("../../data/measured/whisper.jsonl"),
    include_str!("../../data/measured/trocr.jsonl"),
];

fn number(row: &Value, path: &str) -> u64 {
    row.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is in the row"))
}

/// The rows of a file whose class has a name with that ending.
fn rows(text: &'static str, ending: &'static str) -> impl Iterator<Item = Value> {
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
    all.filter(move |row| {
        row.pointer("/config/architectures/0")
            .and_then(Value::as_str)
            .is_some_and(|class| class.ends_with(ending))
    })
}

fn job(row: &Value, precision: TrainingPrecision) -> Job {
    let model =
        headroom::import::config_json(&row["config"].to_string()).expect("a known model").config;
    let ranks = row.pointer("/parallel/fully_sharded").and_then(Value::as_u64).unwrap_or(1);
    let sharding =
        DataSharding::named(if ranks > 1 { "fsdp" } else { "none" }).expect("a sharding");
    let mut layout = support::layout(1, 1, ranks, sharding);
    layout.reshard_after_forward = row["parallel"]["reshard_after_forward"] != false;
    layout.reduce_in_fp32 = row["parallel"]["reduce_dtype"] != "bf16";
    support::training_job(&model, layout, |run| {
        let sequences = number(row, "/run/micro_batch_size");
        (run.seq_length, run.source_length) =
            (number(row, "/run/seq_length"), row["run"]["source_length"].as_u64());
        (run.global_batch_size, run.micro_batch_size) = (sequences * ranks, Some(sequences));
        (run.dispatch, run.stack, run.precision) =
            (Dispatch::CpuTracker, support::eager(), precision);
        run.optimizer_implementation = if ranks > 1 {
            OptimizerImplementation::ForLoop
        } else {
            OptimizerImplementation::Fused
        };
        run.attention = if row["run"]["attention"] == "eager" {
            AttentionKernel::Standard
        } else {
            AttentionKernel::Flash
        };
        run.recompute =
            if row["run"]["recompute"] == "full" { Recompute::Full } else { Recompute::None };
    })
}

/// Compares parameters and saved activations, and returns the engine's peak and the tracker's.
fn compared(row: &Value, job: &Job) -> [u64; 2] {
    assert_eq!(
        ops::lower(&ops::lowering(job)).parameters(),
        number(row, "/measured/parameters"),
        "{}",
        row["id"]
    );
    let (after_forward, peak) = measured(job).expect("a training job of played kernels");
    let saved = after_forward[MemoryKind::Activation.index()].0;
    assert_eq!(
        saved,
        number(row, "/measured/after_forward_bytes/act"),
        "saved activations of {} {}",
        row["model"],
        row["id"]
    );
    [peak.into_iter().sum::<Bytes>().0, number(row, "/measured/peak_bytes/total")]
}

#[test]
fn a_decoder_saved_alone_takes_what_pytorch_measures() {
    let mut count = 0;
    for row in ALONE.iter().flat_map(|text| rows(text, "ForCausalLM")) {
        let precision = match row["run"]["precision"].as_str() {
            Some("bf16") => TrainingPrecision::Bf16Pure,
            Some("fp32") => TrainingPrecision::Fp32,
            _ => TrainingPrecision::AmpBf16,
        };
        let [ours, tracked] = compared(&row, &job(&row, precision));
        assert_eq!(ours, tracked, "peak of {} {}", row["model"], row["id"]);
        count += 1;
    }
    assert_eq!(count, 36);
}

/// The tracker's hooks keep the gradient of every block's input until the encoder's states have
/// their gradient. The accuracy tool adds these bytes; this test allows for them.
#[test]
fn fsdp2_shares_both_sides_as_pytorch_does() {
    let (mut count, mut exact) = (0, 0);
    for row in rows(include_str!("../../data/measured/parallel.jsonl"), "ForConditionalGeneration")
    {
        let [ours, tracked] = compared(&row, &job(&row, TrainingPrecision::FsdpMixed));
        let hidden = number(&row, "/config/d_model")
            * number(&row, "/run/seq_length")
            * number(&row, "/run/micro_batch_size")
            * 2;
        let most = 2 * hidden + hidden / 64;
        assert!(
            ours <= tracked + hidden / 64 && tracked <= ours + most,
            "{ours} against {tracked}: {} {}",
            row["model"],
            row["id"]
        );
        exact += u64::from(ours == tracked);
        count += 1;
    }
    assert!(count == 9 && exact >= 2, "{exact} of {count}");
}
