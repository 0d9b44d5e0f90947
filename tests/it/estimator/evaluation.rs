//! Evaluations between steps under Hugging Face's Trainer, against rows of PyTorch's own allocator
//! on a pretended GPU (`tests/data/cuda/evaluation.jsonl`).
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{
    Evaluation, Job, Loss, Method, Objective, OptimizerImplementation, ParallelLayout, Stack,
    Targets, TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::{
    DeviceMemory, MemoryKind, Phase, blockers, device_memory, device_memory_under, estimate,
    memory_by_kind, memory_of_each,
};
use headroom::hardware::allocator::Settings;
use headroom::scenario::codec::decode;
use headroom::units::{Bytes, DType};
use serde_json::Value;

use super::frameworks::job;
use crate::support;

/// The row of that id.
fn row(id: &str) -> Value {
    let rows = include_str!("../../data/cuda/evaluation.jsonl").lines();
    let mut rows = rows.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.find(|row| row["id"] == id).expect("the row is there")
}

/// The job of a row, with the settings that its fields state, changed by `edit`.
fn of_row(row: &Value, edit: impl FnOnce(&mut TrainingRun, &mut ParallelLayout)) -> Job {
    let flags = &row["flags"];
    let sharding = match flags["deepspeed"]["stage"].as_u64() {
        Some(3) => "3",
        Some(2) => "2",
        _ => "none",
    };
    job(row, sharding, |run, layout| {
        run.precision = if row["run"]["precision"] == "bf16" {
            TrainingPrecision::Bf16Pure
        } else {
            TrainingPrecision::AmpBf16
        };
        run.optimizer_implementation = OptimizerImplementation::Fused;
        if flags["liger"] == true {
            run.stack = Stack::named("liger").expect("a stack");
        }
        if let Some(r) = flags["lora"]["r"].as_u64() {
            let adapter_dtype = Some(DType::Fp32);
            let (method, target_modules) = (Method::Lora, Targets::ALL);
            run.tuning =
                Tuning { method, r, target_modules, adapter_dtype, autocast: true, ..Tuning::FULL };
        }
        let batch_size = flags["eval"]["batch"].as_u64().expect("a batch");
        run.evaluation =
            Some(Evaluation { batch_size, writes_logits: flags["eval"]["logits"] == true });
        if sharding != "none" {
            (run.precision, layout.reduce_in_fp32) = (TrainingPrecision::Bf16Mixed, false);
        }
        edit(run, layout);
    })
}

/// The higher of the row's two measured peaks: over its steps, and over its evaluations.
fn measured(row: &Value, kind: &str) -> u64 {
    let number = |pointer: String| row.pointer(&pointer).and_then(Value::as_u64).expect("a number");
    number(format!("/measured/peak_{kind}"))
        .max(number(format!("/measured/evaluation/{kind}_peak")))
}

/// The replay under the row's setting of the allocator.
fn replayed(row: &Value, job: &Job) -> DeviceMemory {
    let expands = row["run"]["alloc_conf"].is_string();
    let settings = if expands { Settings::expandable() } else { Settings::default() };
    device_memory_under(job, &settings).expect("a known order")
}

/// Fails unless allocated memory is the row's, and reserved memory is within 1/`one_in` of it.
#[track_caller]
fn is_met(id: &str, one_in: u64) {
    is_near(id, [10_000, one_in, 10_000]);
}

/// Fails unless allocated memory, reserved memory and that of the ledger are each met to one in so
/// many.
#[track_caller]
fn is_near(id: &str, one_in: [u64; 3]) {
    let row = row(id);
    let job = of_row(&row, |_, _| {});
    let ours = replayed(&row, &job);
    let ledger: Bytes = memory_by_kind(&job).into_iter().sum();
    let found = [(ours.allocated, "allocated"), (ours.reserved, "reserved"), (ledger, "requested")];
    for ((Bytes(ours), kind), one_in) in found.into_iter().zip(one_in) {
        let measured = measured(&row, kind);
        assert!(
            ours.abs_diff(measured) <= measured / one_in,
            "{id}: {ours} {kind} against {measured}"
        );
    }
    assert_eq!(estimate(&job).total(), ledger, "{id}: lines add up");
}

#[test]
fn an_evaluation_takes_what_pytorch_measured() {
    for id in ["eval-eager-8", "eval-eager-none", "eval-eager-lora", "eval-amp"] {
        is_met(id, 10_000);
    }
    // Here the step's peak is higher than that of an evaluation of one sequence.
    is_met("eval-eager-1", 10_000);
    is_met("eval-ddp", 5_000);
    is_met("eval-expandable", 10_000);
    // The deviation comes from the step, not from the evaluation: for the step alone the replay
    // reserves 10,206,838,784 bytes against 9,758,048,256 measured.
    is_met("eval-zero2", 40);
}

#[test]
fn stage_3_gathers_weights_for_an_evaluation_in_the_order_of_a_step() {
    // Weights that backward would use again soon stay, as in a step: here all of them.
    is_near("eval-zero3", [10_000, 5_000, 5_000]);
    is_near("eval-zero3-liger-logits", [1_500, 20, 1_500]);
    // Steps take more than these evaluations.
    is_near("eval-zero3-liger", [150, 200, 150]);
    is_near("eval-zero3-small", [1_000, 20, 1_000]);
}

#[test]
fn under_liger_logits_are_written_where_nobody_asks_to_leave_them_out() {
    for id in ["eval-liger-logits-2", "eval-liger-logits-8", "eval-liger-lora"] {
        is_met(id, 10_000);
    }
    // transformers asks for logits to be left out from 5.11 on.
    is_met("eval-liger-8", 10_000);
    let total = |writes_logits| {
        let job = of_row(&row("eval-liger-logits-8"), |run, _| {
            run.evaluation =
                run.evaluation.map(|evaluation| Evaluation { writes_logits, ..evaluation });
        });
        device_memory(&job).expect("a known order").allocated
    };
    assert!(total(false).0 * 2 < total(true).0);
}

#[test]
fn the_highest_moment_may_be_that_of_an_evaluation() {
    let high = of_row(&row("eval-eager-8"), |_, _| {});
    let estimated = estimate(&high);
    assert_eq!(estimated.peak_moment, "during evaluation");
    let timeline = estimated.timeline.expect("a timeline");
    assert_eq!(timeline.stretches[timeline.peak].phase, Phase::Evaluation);
    assert!(
        estimated.ledger.lines.iter().all(|line| line.kind != MemoryKind::Gradient),
        "gradients are gone"
    );
    let low = of_row(&row("eval-eager-1"), |_, _| {});
    let estimated = estimate(&low);
    assert_ne!(estimated.peak_moment, "during evaluation");
    assert!(estimated.moments.iter().any(|moment| moment.name == "during evaluation"));
    let each: Vec<_> = memory_of_each(&[high.clone(), low.clone()]).collect();
    assert_eq!(each, [memory_by_kind(&high), memory_by_kind(&low)]);
}

#[test]
fn an_evaluation_is_refused_where_it_is_not_modelled() {
    let refused = |sharding: &str, edit: &dyn Fn(&mut TrainingRun, &mut ParallelLayout)| {
        let job = of_row(&row("eval-ddp"), |run, layout| {
            *layout = support::layout(
                1,
                1,
                2,
                headroom::config::DataSharding::named(sharding).expect("a sharding"),
            );
            edit(run, layout);
        });
        blockers(&job)
            .iter()
            .any(|blocker| blocker.to_string().contains("Evaluations between steps"))
    };
    assert!(!refused("none", &|_, _| {}));
    assert!(!refused("3", &|run, _| run.evaluation = None));
    assert!(!refused("3", &|_, _| {}));
    let adapters =
        Tuning { method: Method::Lora, r: 8, target_modules: Targets::ALL, ..Tuning::FULL };
    assert!(
        refused("3", &|run, _| run.tuning = adapters),
        "nobody knows in which order frozen weights are gathered"
    );
    assert!(refused("fsdp", &|run, _| run.precision = TrainingPrecision::FsdpMixed));
    assert!(refused("none", &|run, _| run.stack = Stack::DEFAULT));
    assert!(refused("none", &|run, _| run.loss = Loss::Trl));
    assert!(refused("none", &|_, layout| *layout = support::layout(2, 1, 1, layout.sharding)));
    assert!(refused("none", &|_, layout| layout.offload.activations = true));
    assert!(refused("none", &|run, _| run.tuning.objective = Objective::Preference));
}

#[test]
fn a_link_states_the_batch_of_evaluations() {
    let evaluation = |link: &str| {
        let job = decode(link).scenario.resolve().expect("a job");
        job.training().expect("a training").evaluation
    };
    assert_eq!(evaluation("v1&m=llama3-8b&n=8&ker=eager"), None);
    let stated = Evaluation { batch_size: 4, writes_logits: true };
    assert_eq!(evaluation("v1&m=llama3-8b&n=8&ker=eager&evb=4&evl=1"), Some(stated));
}
