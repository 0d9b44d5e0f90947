//! The list of optimizers, and their descriptions against the memory that PyTorch's implementations
//! take.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{
    AttentionKernel, DataSharding, Dispatch, Job, ParallelLayout, Recompute, TrainingPrecision,
};
use headroom::estimator::{Blocker, Certainty, MemoryKind, device_memory, estimate, measured};
use headroom::optimizers::{Optimizer, OptimizerImplementation};
use headroom::units::Bytes;
use serde_json::Value;

#[test]
fn keys_names_and_ranks_tell_optimizers_apart() {
    for (place, optimizer) in Optimizer::ALL.into_iter().enumerate() {
        let spec = optimizer.spec();
        for other in Optimizer::ALL.into_iter().take(place).map(Optimizer::spec) {
            assert!(
                spec.key != other.key && spec.name != other.name && spec.place > other.place,
                "{} {}",
                spec.name,
                other.name
            );
        }
        assert_eq!(
            (Optimizer::named(spec.key), Optimizer::of_name(spec.name)),
            (Some(optimizer), Some(optimizer))
        );
        let written = serde_json::to_string(&optimizer).expect("text");
        assert_eq!(serde_json::from_str::<Optimizer>(&written).expect("an optimizer"), optimizer);
        assert!(
            spec.replaces.is_none_or(|replaced| Optimizer::named(replaced.of).is_some()),
            "{}",
            spec.name
        );
    }
    assert_eq!(
        Optimizer::ALL.into_iter().filter(|optimizer| optimizer.spec().is_default).count(),
        1
    );
    assert!(serde_json::from_str::<Optimizer>("\"magic\"").is_err());
}

/// The rows of a file with optimizers.
fn rows(text: &'static str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn number(row: &Value, path: &str) -> u64 {
    row.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is in the row"))
}

fn job_of(row: &Value) -> Job {
    let config =
        headroom::import::config_json(&row["config"].to_string()).expect("a known model").config;
    let run_of = &row["run"];
    support::training_job(&config, ParallelLayout::SINGLE, |run| {
        run.seq_length = number(row, "/run/seq_length");
        run.micro_batch_size = Some(number(row, "/run/micro_batch_size"));
        run.global_batch_size =
            number(row, "/run/micro_batch_size") * number(row, "/run/gradient_accumulation_steps");
        run.precision = match run_of["precision"].as_str() {
            Some("bf16") => TrainingPrecision::Bf16Pure,
            Some("fp32") => TrainingPrecision::Fp32,
            Some("amp_bf16") => TrainingPrecision::AmpBf16,
            other => panic!("the precision {other:?}"),
        };
        run.optimizer =
            run_of["optimizer"].as_str().and_then(Optimizer::of_name).expect("an optimizer");
        run.optimizer_implementation = match run_of["optimizer_implementation"].as_str() {
            Some("for_loop") => OptimizerImplementation::ForLoop,
            Some("foreach") => OptimizerImplementation::Foreach,
            Some("fused") => OptimizerImplementation::Fused,
            other => panic!("the implementation {other:?}"),
        };
        run.dispatch = Dispatch::CpuTracker;
        run.stack = if run_of["kernels"] == "fused" { support::fused() } else { support::eager() };
        run.attention = if run_of["attention"] == "eager" {
            AttentionKernel::Standard
        } else {
            AttentionKernel::Flash
        };
        run.recompute =
            if run_of["recompute"] == "full" { Recompute::Full } else { Recompute::None };
    })
}

#[test]
fn muon_takes_what_pytorch_measures() {
    let rows = rows(include_str!("../../data/optimizers/muon.jsonl"));
    assert!(rows.len() >= 8);
    let (mut stepping, mut orthogonalising) = (0, 0);
    for row in &rows {
        let job = job_of(row);
        let (after_forward, peak) = measured(&job).expect("a training job of played kernels");
        let saved = after_forward[MemoryKind::Activation.index()];
        assert_eq!(
            saved.0,
            number(row, "/measured/after_forward_bytes/act"),
            "saved activations of {}",
            row["id"]
        );
        let total: Bytes = peak.into_iter().sum();
        assert_eq!(
            total.0,
            number(row, "/measured/peak_bytes/total"),
            "peak of {} {}",
            row["model"],
            row["run"]
        );
        let at_step = number(row, "/measured/peak_bytes/act") == 0;
        stepping += u64::from(at_step);
        let lines = estimate(&job).ledger.lines;
        let temporaries = lines.iter().find(|line| line.label == "Optimizer temporaries");
        assert_eq!(temporaries.is_some(), at_step, "{}", row["id"]);
        assert!(temporaries.is_none_or(|line| line.certainty == Certainty::Exact));
        let of_muon = temporaries
            .is_some_and(|line| line.tensors.iter().any(|tensor| tensor.name == "Gram matrix"));
        orthogonalising += u64::from(of_muon);
    }
    assert!(
        stepping > orthogonalising && orthogonalising >= 8,
        "fullest moments in the step: {stepping}, in Muon's: {orthogonalising}"
    );
}

/// The texts are so short that the peak is in the optimizer's step, with fp32 copies of the
/// embedding beside its statistics.
#[test]
fn the_adafactor_of_transformers_takes_what_pytorch_measures() {
    let rows = rows(include_str!("../../data/optimizers/adafactor_transformers.jsonl"));
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let job = super::frameworks::job(row, "none", |run, _| {
            run.precision = match row["run"]["precision"].as_str() {
                Some("bf16") => TrainingPrecision::Bf16Pure,
                Some("fp32") => TrainingPrecision::Fp32,
                Some("amp_bf16") => TrainingPrecision::AmpBf16,
                other => panic!("the precision {other:?}"),
            };
            run.tuning.autocast = run.precision == TrainingPrecision::Bf16Pure;
            run.optimizer = Optimizer::of_name("adafactor_transformers").expect("an optimizer");
        });
        let memory = device_memory(&job).expect("a known order");
        let measured = number(row, "/measured/peak_allocated");
        // The Trainer keeps scalars of its own, such as the summed loss, which the engine does not
        // play; each takes one block of 512 bytes.
        assert!(
            memory.allocated.0.abs_diff(measured) <= 6 * 512,
            "{}: {} against {measured}",
            row["id"],
            memory.allocated.0
        );
        assert_eq!(
            memory.reserved.0,
            number(row, "/measured/peak_reserved"),
            "reserved of {}",
            row["id"]
        );
        let lines = estimate(&job).ledger.lines;
        let temporaries = lines
            .iter()
            .find(|line| line.label == "Optimizer temporaries")
            .expect("the step holds most");
        assert!(
            temporaries.tensors.iter().any(|tensor| tensor.name == "squared gradient and epsilon"),
            "{}",
            row["id"]
        );
    }
}

#[test]
fn the_adafactor_of_transformers_is_refused_where_it_is_not_modelled() {
    let model = support::gpt(1024, 8, 16);
    let blockers = |layout: ParallelLayout, kernels| {
        let job = support::training_job(&model, layout, |run| {
            run.optimizer = Optimizer::named("adafactort").expect("an optimizer");
            (run.stack, run.global_batch_size) = (kernels, 8);
        });
        let refused = |blocker: &&Blocker| matches!(blocker, Blocker::Optimizer(_));
        estimate(&job).blockers.iter().filter(refused).count()
    };
    assert_eq!(blockers(ParallelLayout::SINGLE, support::fused()), 0);
    assert_eq!(blockers(support::layout(1, 1, 8, DataSharding::NOTHING), support::fused()), 0);
    assert_eq!(blockers(support::layout(1, 1, 8, support::zero1()), support::fused()), 1);
    assert_eq!(blockers(ParallelLayout::SINGLE, support::megatron()), 1);
}

#[test]
fn muon_is_refused_where_it_is_not_modelled() {
    let model = support::gpt(1024, 8, 16);
    let muon = Optimizer::named("muon").expect("an optimizer");
    let blockers = |layout: ParallelLayout, kernels| {
        let job = support::training_job(&model, layout, |run| {
            (run.optimizer, run.stack, run.global_batch_size) = (muon, kernels, 8);
        });
        let refused = |blocker: &&Blocker| matches!(blocker, Blocker::Optimizer(_));
        estimate(&job).blockers.iter().filter(refused).count()
    };
    assert_eq!(blockers(ParallelLayout::SINGLE, support::fused()), 0);
    assert_eq!(blockers(support::layout(1, 2, 4, DataSharding::NOTHING), support::fused()), 0);
    assert_eq!(blockers(support::layout(2, 1, 1, DataSharding::NOTHING), support::fused()), 1);
    assert_eq!(blockers(support::layout(1, 1, 8, support::zero1()), support::fused()), 1);
    assert_eq!(blockers(support::layout(1, 1, 8, support::fsdp()), support::eager()), 1);
    assert_eq!(blockers(ParallelLayout::SINGLE, support::megatron()), 1);
}
