//! Training steps on a real H100 under PyTorch 2.11 (`data/cuda/h100.jsonl`), with the counters of
//! its allocator.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

use headroom::config::Job;
use headroom::estimator::{DeviceMemory, device_memory, device_memory_under, estimate, measured};
use headroom::hardware::allocator::Settings;
use headroom::scenario::codec::decode;
use headroom::units::{Bytes, to_f64};
use serde_json::Value;

use super::cuda::{job_of, number};

/// Rows under plain PyTorch whose attention kernel the engine plays: flash attention, the
/// memory-efficient kernel, or the module's own code.
fn rows() -> Vec<Value> {
    let rows = include_str!("../../data/cuda/h100.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"));
    let is_played = |row: &Value| {
        let mut kernels = row["measured"]["sdpa_kernel"]
            .as_array()
            .expect("kernels")
            .iter()
            .filter_map(Value::as_str);
        kernels.all(|kernel| {
            ["ScaledDotProductFlash", "ScaledDotProductEfficient"]
                .iter()
                .any(|known| kernel.starts_with(known))
        })
    };
    rows.filter(|row: &Value| row.get("framework").is_none() && is_played(row)).collect()
}

/// Rows that did not run out of memory.
fn finished() -> Vec<Value> {
    rows().into_iter().filter(|row| row["measured"].get("out_of_memory").is_none()).collect()
}

fn memory(row: &Value) -> DeviceMemory {
    let job: Job = job_of(row).with_memory(Bytes(1 << 50));
    let grow = row["run"]["alloc_conf"] == "expandable_segments:True";
    device_memory_under(&job, &if grow { Settings::expandable() } else { Settings::default() })
        .expect("a known order")
}

/// The relative errors, smallest first.
fn errors(pairs: impl Iterator<Item = (u64, u64)>) -> Vec<f64> {
    let mut all: Vec<f64> =
        pairs.map(|(ours, measured)| (to_f64(ours) / to_f64(measured) - 1.0).abs()).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Every sixth row whose card was not made smaller, to keep the test short; `tools/accuracy` holds
/// all of them to the same bounds.
#[test]
fn a_real_h100_holds_what_the_replay_does() {
    let whole = |row: &Value| row["run"]["gpu_total_bytes"] == 0;
    let rows: Vec<Value> = finished().into_iter().filter(whole).skip(1).step_by(6).collect();
    assert_eq!(rows.len(), 9);
    let ours: Vec<DeviceMemory> = rows.iter().map(memory).collect();
    let of = |key: &str, ours: fn(&DeviceMemory) -> Bytes, all: &[DeviceMemory]| {
        errors(
            all.iter()
                .zip(&rows)
                .map(|(memory, row)| (ours(memory).0, number(&row["measured"][key]))),
        )
    };
    let allocated = of("peak_allocated", |memory| memory.allocated, &ours);
    let reserved = of("peak_reserved", |memory| memory.reserved, &ours);
    let (middle, ninth, last) = (rows.len() / 2, 9 * rows.len() / 10, rows.len() - 1);
    assert!(allocated[middle] < 1e-5 && allocated[last] < 0.001, "{allocated:?}");
    assert!(
        reserved[middle] < 0.001 && reserved[ninth] < 0.08 && reserved[last] < 0.08,
        "{reserved:?}"
    );
}

/// Before 2.15 PyTorch keeps cuBLAS's workspaces, and the ledger with them is the requested peak.
/// Where layers add a bias, the ledger lacks 1 MiB of cuBLASLt's workspace for each thread.
#[test]
fn the_ledger_counts_the_workspaces_that_pytorch_keeps() {
    let mut exact = 0;
    let rows = finished();
    for row in &rows {
        let last =
            row["measured"]["steps"].as_array().and_then(|steps| steps.last()).expect("a step");
        let (_, peak) = measured(&job_of(row)).expect("a training job of played kernels");
        let (ours, theirs) = (peak.into_iter().sum::<Bytes>().0, number(&last["requested_peak"]));
        assert!(ours.abs_diff(theirs) <= theirs / 1000, "{}: {ours} against {theirs}", row["id"]);
        exact += u32::from(ours == theirs);
    }
    assert!(exact >= 38, "{exact} of {}", rows.len());
}

/// The input for kept workspaces adds a line to the ledger, and the replayed peak grows by as much.
#[test]
fn a_link_says_that_workspaces_are_kept() {
    let job = |link| decode(link).scenario.resolve().expect("a job");
    let (plain, kept) = (job("v2&m=llama3.2-1b&n=1"), job("v2&m=llama3.2-1b&n=1&ckw=1"));
    let lines = |job: &Job| estimate(job).ledger.lines;
    let line = |job| {
        lines(job).into_iter().find(|line| line.label == "cuBLAS workspaces").map(|line| line.bytes)
    };
    assert_eq!((line(&plain), line(&kept)), (None, Some(Bytes(64 << 20))));
    let replayed =
        |job: &Job| device_memory(&job.with_memory(Bytes(1 << 50))).expect("a replay").allocated.0;
    let more = replayed(&kept) - replayed(&plain);
    assert!((32 << 20..=64 << 20).contains(&more), "{more}");
}
