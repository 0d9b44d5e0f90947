//! Figures of real start-up logs, some of them compared with an estimate. The lines come from
//! public threads (`SOURCES.md`).

use headroom::estimator::estimate;
use headroom::launch::logs::{Log, LogFigure, beside, read as read_log};
use headroom::launch::{Pasted, read};
use headroom::scenario::codec::decode;
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
    assert_eq!(v0.program, "vllm");
    assert!(
        near(v0.largest(LogFigure::Weights).map(gib), 12.55)
            && near(v0.largest(LogFigure::Cache).map(gib), 56.18)
    );
    assert!(
        near(v0.largest(LogFigure::Working).map(gib), 2.38)
            && near(v0.largest(LogFigure::OutsidePyTorch).map(gib), 0.16)
    );
    assert!(
        near(v0.largest(LogFigure::Capacity).map(gib), 79.19)
            && near(v0.largest(LogFigure::Budget).map(gib), 71.27)
    );
    assert!(near(v0.largest(LogFigure::CacheBlocks), 7191.0));
    let v1 = log("vllm-kimi-linear-2x3090");
    assert!(
        near(v1.smallest(LogFigure::Cache).map(gib), 2.30)
            && near(v1.smallest(LogFigure::CacheTokens), 75_840.0)
    );
    assert!(
        near(v1.largest(LogFigure::Concurrency), 2.48)
            && near(v1.largest(LogFigure::Context), 120_000.0)
    );
    assert_eq!((v1.printed[0].device.as_str(), v1.printed[0].line), ("TP0", 3));
    assert!(near(log("vllm-windows").largest(LogFigure::Graphs).map(gib), 0.11));
}

#[test]
fn sglangs_lines_are_read() {
    let one = log("sglang-gemma3");
    assert_eq!(one.program, "sglang");
    assert!(near(one.largest(LogFigure::Weights).map(gib), 8.13));
    assert!(
        near(one.largest(LogFigure::Cache).map(gib), 108.24)
            && near(one.largest(LogFigure::CacheTokens), 834_615.0)
    );
    let two = log("sglang-b200");
    assert!(
        near(two.largest(LogFigure::Graphs).map(gib), 1.44)
            && near(two.smallest(LogFigure::Free).map(gib), 38.05)
    );
}

#[test]
fn llama_cpps_lines_are_read() {
    let log = log("llama-cpp-two-gpus");
    assert_eq!(log.program, "llama-cpp");
    let weights: Vec<(&str, usize)> =
        log.of(LogFigure::Weights).map(|printed| (printed.device.as_str(), printed.line)).collect();
    assert_eq!(weights, [("CUDA0", 8), ("CUDA1", 9)], "the host's buffer is none of a GPU");
    let mib = |figure| {
        log.of(figure)
            .map(|printed| (printed.amount.number() / f64::from(1 << 20)).round())
            .collect::<Vec<_>>()
    };
    assert_eq!(mib(LogFigure::Weights), [5434.0, 13990.0]);
    assert_eq!(mib(LogFigure::Cache), [1536.0, 3584.0]);
    assert_eq!(mib(LogFigure::Working), [672.0]);
    assert!(near(log.largest(LogFigure::Context), 4096.0));
}

#[test]
fn a_log_stands_beside_the_estimate_of_its_command() {
    let text = "vllm serve neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8 --max-model-len \
        2048 --gpu-memory-utilization 0.98";
    let mut scenario =
        read(&[Pasted { name: "", text }], &Scenario::default()).expect("read").scenario;
    scenario.set(FieldId::Accelerator, Value::Text("h100-80".to_owned()));
    let log = log("vllm-llama3.1-70b-w8a8");
    let job = scenario.resolve().expect("a job");
    let compared = beside(&log, &job, &estimate(&job));
    let error = |figure| {
        compared
            .iter()
            .find(|compared| compared.figure == figure)
            .and_then(headroom::launch::logs::Compared::error)
    };
    // The log prints 67.7229 GiB: linear layers in 8 bits, embedding and head in 16.
    assert!(error(LogFigure::Weights).is_some_and(|error| error.abs() < 0.002), "{compared:?}");
    assert!(
        error(LogFigure::CacheBlocks).is_some() && error(LogFigure::Concurrency).is_some(),
        "{compared:?}"
    );
}

#[test]
fn lines_of_trainings_are_read() {
    let mib = |log: &Log, figure| log.largest(figure).map(|bytes| bytes / f64::from(1 << 20));
    let megatron = log("megatron-per-layer");
    assert_eq!((megatron.program, megatron.trains), ("megatron-lm", true));
    assert!(
        near(mib(&megatron, LogFigure::Allocated), 5670.39)
            && near(mib(&megatron, LogFigure::Reserved), 6406.0)
    );
    assert!(near(megatron.largest(LogFigure::StepSeconds), 0.744));
    assert!(near(mib(&log("megatron-2020-v100"), LogFigure::Reserved), 17482.0));
    let formula = log("megatron-theoretical");
    assert!(
        near(mib(&formula, LogFigure::States), 46983.28)
            && near(mib(&formula, LogFigure::Activations), 8989.01)
    );
    let titan = log("torchtitan-h100");
    assert!(
        near(titan.largest(LogFigure::Reserved).map(gib), 49.66)
            && near(titan.smallest(LogFigure::TokensPerSecond), 5593.0)
    );
    assert_eq!(titan.printed[0].device, "rank0");
    assert_eq!(log("torchtitan-moe").of(LogFigure::Reserved).count(), 2);
    assert!(near(log("torchtune-full").largest(LogFigure::Allocated).map(gib), 54.9696));
    assert!(near(log("axolotl-2025").largest(LogFigure::Reserved).map(gib), 12.3242));
    assert!(near(mib(&log("axolotl-2023"), LogFigure::InUse), 21573.0));
    let stage3 = log("deepspeed-zero3");
    assert!(
        near(stage3.largest(LogFigure::Allocated).map(gib), 0.41)
            && near(stage3.largest(LogFigure::Reserved).map(gib), 13.1)
    );
    let trainer = log("trainer-zero3");
    assert_eq!(trainer.printed.len(), 1, "parts of the peak are one figure");
    assert!(near(mib(&trainer, LogFigure::Allocated), 312.0 - 153.0 + 2012.0));
    let file = read_log(
        "\"train_mem_gpu_alloc_delta\": 3330195456,\n\"train_mem_gpu_peaked_delta\": 8287144960,",
    )
    .expect("parts");
    assert!(near(file.largest(LogFigure::Allocated), 11_617_340_416.0));
    let later =
        read_log("GPU memory usage while training: 25.701GB (+0.079GB cache, +1.045GB misc)")
            .expect("memory");
    assert!(
        near(later.largest(LogFigure::Reserved).map(gib), 25.78)
            && near(later.largest(LogFigure::InUse).map(gib), 26.825)
    );
}

#[test]
fn a_training_stands_beside_its_estimate() {
    let scenario = decode("v2&m=llama3.1-8b&n=8&shard=full&gpu=h100-80").scenario;
    let job = scenario.resolve().expect("a job");
    let (log, answer) = (log("torchtitan-h100"), estimate(&job));
    let compared = beside(&log, &job, &answer);
    let figures: Vec<LogFigure> = compared.iter().map(|row| row.figure).collect();
    assert_eq!(figures, [LogFigure::Reserved, LogFigure::TokensPerSecond], "{compared:?}");
    let middle = compared
        .iter()
        .find(|row| row.figure == LogFigure::TokensPerSecond)
        .map(|row| row.measured);
    assert!(near(middle, 5856.0), "of paces the middle one counts");
    let served = decode("v2&do=serve&m=llama3-8b").scenario.resolve().expect("a job");
    assert_eq!(beside(&log, &served, &estimate(&served)), []);
}

#[test]
fn other_texts_have_no_figures() {
    assert_eq!(read_log("hello\nn_ctx_train = 4096\n"), None);
    assert_eq!(read_log(&"x".repeat(2_000_000)), None);
    assert!(
        read_log("GPU KV cache size: ,,.\n[TP] KV Cache is allocated. #tokens: \u{e9}").is_none()
    );
}
