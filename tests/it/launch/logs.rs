//! Figures of real start-up logs, some of them compared with an estimate. The lines come from
//! public threads (`SOURCES.md`).

use headroom::estimator::estimate;
use headroom::launch::logs::{Figure, Log, beside, read as read_log};
use headroom::launch::{Pasted, read};
use headroom::scenario::{FieldId, Scenario, Value};

fn log(name: &str) -> Log {
    let path = format!("{}/tests/data/launch-logs/{name}.log", env!("CARGO_MANIFEST_DIR"));
    read_log(&std::fs::read_to_string(path).expect("a log")).expect("figures")
}

fn gib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 30)
}

fn near(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one - other).abs() < 0.005)
}

#[test]
fn vllms_lines_are_read() {
    let v0 = log("vllm-v0-llama2-7b-h100");
    assert_eq!(v0.engine, "vllm");
    assert!(near(v0.largest(Figure::Weights).map(gib), 12.55) && near(v0.largest(Figure::Cache).map(gib), 56.18));
    assert!(near(v0.largest(Figure::Working).map(gib), 2.38) && near(v0.largest(Figure::OutsidePyTorch).map(gib), 0.16));
    assert!(near(v0.largest(Figure::Capacity).map(gib), 79.19) && near(v0.largest(Figure::Budget).map(gib), 71.27));
    assert!(near(v0.largest(Figure::CacheBlocks), 7191.0));
    let v1 = log("vllm-kimi-linear-2x3090");
    assert!(near(v1.smallest(Figure::Cache).map(gib), 2.30) && near(v1.smallest(Figure::CacheTokens), 75_840.0));
    assert!(near(v1.largest(Figure::Concurrency), 2.48) && near(v1.largest(Figure::Context), 120_000.0));
    assert_eq!((v1.printed[0].device.as_str(), v1.printed[0].line), ("TP0", 3));
    assert!(near(log("vllm-windows").largest(Figure::Graphs).map(gib), 0.11));
}

#[test]
fn sglangs_lines_are_read() {
    let one = log("sglang-gemma3");
    assert_eq!(one.engine, "sglang");
    assert!(near(one.largest(Figure::Weights).map(gib), 8.13));
    assert!(near(one.largest(Figure::Cache).map(gib), 108.24) && near(one.largest(Figure::CacheTokens), 834_615.0));
    let two = log("sglang-b200");
    assert!(near(two.largest(Figure::Graphs).map(gib), 1.44) && near(two.smallest(Figure::Free).map(gib), 38.05));
}

#[test]
fn llama_cpps_lines_are_read() {
    let log = log("llama-cpp-two-gpus");
    assert_eq!(log.engine, "llama-cpp");
    let weights: Vec<(&str, usize)> = log.of(Figure::Weights).map(|printed| (printed.device.as_str(), printed.line)).collect();
    assert_eq!(weights, [("CUDA0", 8), ("CUDA1", 9)], "the host's buffer is none of a GPU");
    let mib = |figure| log.of(figure).map(|printed| (printed.amount.number() / f64::from(1 << 20)).round()).collect::<Vec<_>>();
    assert_eq!(mib(Figure::Weights), [5434.0, 13990.0]);
    assert_eq!(mib(Figure::Cache), [1536.0, 3584.0]);
    assert_eq!(mib(Figure::Working), [672.0]);
    assert!(near(log.largest(Figure::Context), 4096.0));
}

#[test]
fn a_log_stands_beside_the_estimate_of_its_command() {
    let text =
        "vllm serve neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8 --max-model-len 2048 --gpu-memory-utilization 0.98";
    let mut scenario = read(&[Pasted { name: "", text }], &Scenario::default()).expect("read").scenario;
    scenario.set(FieldId::Accelerator, Value::Text("h100-80".to_owned()));
    let log = log("vllm-llama3.1-70b-w8a8");
    let compared = beside(&log, &estimate(&scenario.resolve().expect("a job")), 2048);
    let error =
        |figure| compared.iter().find(|compared| compared.figure == figure).and_then(headroom::launch::logs::Compared::error);
    // The log prints 67.7229 GiB: linear layers in 8 bits, embedding and head in 16.
    assert!(error(Figure::Weights).is_some_and(|error| error.abs() < 0.002), "{compared:?}");
    assert!(error(Figure::CacheBlocks).is_some() && error(Figure::Concurrency).is_some(), "{compared:?}");
}

#[test]
fn other_texts_have_no_figures() {
    assert_eq!(read_log("hello\nn_ctx_train = 4096\n"), None);
    assert_eq!(read_log(&"x".repeat(2_000_000)), None);
    assert!(read_log("GPU KV cache size: ,,.\n[TP] KV Cache is allocated. #tokens: \u{e9}").is_none());
}
