//! Loss implementations that a run can choose, against rows of PyTorch's own allocator on a
//! pretended GPU (`tests/data/cuda/losses.jsonl`).
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{
    BaseFormat, Loss, Method, OptimizerImplementation, ParallelLayout, Stack, Targets,
    TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::{Blocker, blockers, device_memory};
use headroom::units::DType;

use super::frameworks::{is_near, job, row};

/// Cut Cross-Entropy under the Trainer's `bf16`: weights in bf16, with autocast.
fn cut(run: &mut TrainingRun, _: &mut ParallelLayout) {
    (run.precision, run.loss) = (TrainingPrecision::Bf16Pure, Loss::Cut);
    run.optimizer_implementation = OptimizerImplementation::Fused;
    run.tuning.autocast = true;
}

#[test]
fn cut_cross_entropy_takes_what_pytorch_measured() {
    for id in ["5f0a1c7e04", "5f0a1c7e05"] {
        is_near(id, "none", 10_000, cut);
    }
    for (id, base) in [("5f0a1c7e06", BaseFormat::Weights), ("5f0a1c7e07", BaseFormat::Nf4Double)] {
        is_near(id, "none", 10_000, |run, layout| {
            cut(run, layout);
            let adapters = Tuning {
                method: Method::Lora,
                r: 16,
                target_modules: Targets::ALL,
                base,
                ..run.tuning
            };
            run.tuning = Tuning { adapter_dtype: Some(DType::Fp32), upcasts: false, ..adapters };
        });
    }
}

/// Cut Cross-Entropy's kernels refuse weights of 32 bits.
#[test]
fn cut_cross_entropy_needs_16_bits() {
    let with = |precision| {
        job(&row("5f0a1c7e04"), "none", |run, layout| {
            cut(run, layout);
            run.precision = precision;
        })
    };
    assert!(blockers(&with(TrainingPrecision::Bf16Pure)).is_empty());
    for precision in [TrainingPrecision::Fp32, TrainingPrecision::AmpBf16] {
        assert!(
            matches!(blockers(&with(precision)).as_slice(), [Blocker::Framework(_)]),
            "{precision:?}"
        );
    }
}

/// torchtitan's loss of 2024 is not compiled, also after compiled blocks. Where nothing is
/// compiled, choosing it changes nothing.
#[test]
fn a_loss_that_is_not_compiled_holds_its_logits() {
    let titan = |loss: Loss, compile: bool| {
        move |run: &mut TrainingRun, _: &mut ParallelLayout| {
            run.stack = Stack::named("torchtitan-2025").expect("a stack");
            run.optimizer_implementation = OptimizerImplementation::Fused;
            (run.compile, run.loss) = (compile, loss);
        }
    };
    for id in ["5f0a1c7e01", "5f0a1c7e02", "5f0a1c7e03"] {
        is_near(id, "fsdp", 10_000, titan(Loss::NotCompiled, true));
    }
    let reserved = |loss, compile| {
        let memory = device_memory(&job(&row("5f0a1c7e01"), "fsdp", titan(loss, compile)));
        memory.expect("the order is known").reserved
    };
    assert_eq!(reserved(Loss::NotCompiled, false), reserved(Loss::OfStack, false));
    assert!(reserved(Loss::NotCompiled, true) > reserved(Loss::OfStack, true));
}
