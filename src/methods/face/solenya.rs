//! Solenya's method for one scenario.

use crate::config::{Recompute, TrainingPrecision};
use crate::units::{Bytes, to_f64};

use super::super::solenya::{self as method, Precision};
use super::super::{MethodAnswer, MethodInputs, MethodKind};
use super::reasons::{ActivationUse, Assumes, StatesUse, unknown_features};
use super::{Draft, Names, Scene, line, not_described, noted, same_on_every_gpu};

const NAMES: Names = Names { id: "solenya", title: "Solenya", document: "Training memory" };

const ASSUMES: Assumes =
    Assumes { four_h: false, tied: true, biases: true, layer_norms: true, positions: true };

pub(super) fn answer(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    if !inputs.is_training() {
        return not_described(NAMES, vec!["serving"]);
    }
    let shape = inputs.shape(inputs.micro_batch_size);
    let count = method::num_parameters(&shape, inputs.vocab_size);
    let mixed = matches!(
        inputs.precision,
        TrainingPrecision::Bf16Mixed | TrainingPrecision::Fp16Mixed | TrainingPrecision::Bf16Pure
    );
    let precision = if mixed { Precision::MIXED } else { Precision::FP32 };
    let optimizer = method::optimizer_bytes_per_parameter(inputs.optimizer).unwrap_or(8);
    let activations = method::activations(&shape);
    let of = |per_parameter: u64| Bytes(per_parameter) * count;
    let formula = if mixed { "2N + 4N" } else { "4N" };
    let note = if mixed { "fp32 copy included" } else { "fp32" };
    let total = of(precision.with_optimizer(optimizer)) + activations;
    Draft {
        names: NAMES,
        lines: vec![
            noted(MethodKind::Weights, of(precision.parameters), formula, note),
            noted(MethodKind::Gradients, of(precision.gradients), formula, note),
            line(MethodKind::Optimizer, of(optimizer), &format!("{optimizer}N")),
            line(MethodKind::Activations, activations, "L·s·b·h·(34 + 5·a·s/h)"),
        ],
        whole_job_total: None,
        time: None,
        gpus: same_on_every_gpu(scene, total),
        states: StatesUse {
            parameters: count,
            formula: Some("h·(v + s) + L·(4h² + 9h + 2·d_fc·h + d_fc) + 2h"),
            unknown_features: unknown_features(inputs, ASSUMES),
            rounded_from: None,
            bytes: [precision.parameters, precision.gradients, optimizer].map(to_f64),
            divisors: [1; 3],
            notes: [
                Some("it counts the fp32 master copy with the weights, others with the optimizer"),
                Some("it always adds an fp32 copy of the gradients"),
                Some("it counts the moments without the master copy"),
            ],
        },
        activations: ActivationUse {
            sequences: (inputs.micro_batch_size, 1),
            score_bytes: 5,
            score_divisor: 1,
            assumes_four_h: true,
            ignores_tensor_degree: true,
            extra: recompute_reason(inputs),
        },
        overhead_reason: "it names 1 to 2 GB of CUDA kernels and does not add them".to_owned(),
        not_covered: not_covered(inputs),
        remarks: remarks(inputs, mixed),
    }
    .finish(scene)
}

fn recompute_reason(inputs: &MethodInputs) -> Vec<String> {
    if inputs.recompute == Recompute::Full {
        vec!["it has no formula for recomputation and keeps every activation".to_owned()]
    } else {
        Vec::new()
    }
}

fn not_covered(inputs: &MethodInputs) -> Vec<&'static str> {
    let mut missing = vec!["an amount for buffers, kernels and fragmentation"];
    if inputs.recompute != Recompute::None {
        missing.push("a formula for recomputation: computed as none");
    }
    if inputs.world_size() > 1 {
        missing.push(
            "a formula for several GPUs: ZeRO is described, the amounts are of one GPU alone",
        );
    }
    if method::optimizer_bytes_per_parameter(inputs.optimizer).is_none() {
        missing.push("this optimizer: computed as Adam");
    }
    if inputs.precision == TrainingPrecision::Bf16Pure {
        missing.push("pure bf16: computed as mixed precision");
    }
    missing
}

fn remarks(inputs: &MethodInputs, mixed: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if mixed {
        remarks.push(
            "It calls the cost of mixed precision slight; by its formulas weights and gradients \
             grow by half."
                .to_owned(),
        );
    }
    if inputs.optimizer.key() == method::EIGHT_BIT {
        remarks.push(
            "It counts one byte for 8-bit Adam, which keeps two moments of one byte each."
                .to_owned(),
        );
    }
    remarks
}
