//! The distributed-training overview's method for one scenario.

use crate::config::{GradientDType, Recompute, TrainingPrecision};
use crate::units::{Bytes, to_f64};

use super::super::distributed_overview::{self as method, BytesPerParameter};
use super::super::{MethodAnswer, MethodInputs, MethodKind};
use super::reasons::{ActivationUse, Assumes, StatesUse, unknown_features};
use super::{Draft, Names, Scene, line, not_described, noted, same_on_every_gpu};

const NAMES: Names = Names {
    id: "distributed-overview",
    title: "Distributed overview",
    document: "Distributed training overview",
};

const ASSUMES: Assumes =
    Assumes { four_h: true, tied: true, biases: true, layer_norms: true, positions: false };

pub(super) fn answer(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    if !inputs.is_training() {
        return not_described(NAMES, vec!["serving"]);
    }
    let count =
        method::num_parameters(inputs.hidden_size, inputs.num_hidden_layers, inputs.vocab_size);
    let bytes = match (inputs.precision, inputs.gradients) {
        (
            TrainingPrecision::Fp32 | TrainingPrecision::AmpBf16 | TrainingPrecision::FsdpMixed,
            _,
        ) => BytesPerParameter::FP32,
        (_, GradientDType::Fp32Copy) => BytesPerParameter::MIXED_FP32_GRADIENTS,
        _ => BytesPerParameter::MIXED,
    };
    let shape = inputs.shape(inputs.micro_batch_size);
    let (activations, formula) = match inputs.recompute {
        Recompute::None if inputs.flash_attention() => {
            (method::activations_selective_recompute(&shape), "34·L·s·b·h")
        }
        Recompute::None => (method::activations(&shape), "L·s·b·h·(34 + 5·a·s/h)"),
        Recompute::Selective => (method::activations_selective_recompute(&shape), "34·L·s·b·h"),
        Recompute::Full => (method::activations_full_recompute(&shape), "2·L·b·s·h"),
    };
    let of = |per_parameter: u64| Bytes(per_parameter) * count;
    let total = method::total(bytes, count, activations);
    Draft {
        names: NAMES,
        lines: vec![
            line(MethodKind::Weights, of(bytes.parameters), &format!("{}N", bytes.parameters)),
            line(
                MethodKind::Gradients,
                of(bytes.gradients + bytes.gradient_copy),
                &gradient_formula(bytes),
            ),
            line(MethodKind::Optimizer, of(bytes.master + bytes.adam), &optimizer_formula(bytes)),
            line(MethodKind::Activations, activations, formula),
            noted(
                MethodKind::Overhead,
                method::CUDA_CONTEXT,
                "about 2 GB",
                "CUDA context; 1 to 2 GB in the text",
            ),
        ],
        whole_job_total: None,
        time: None,
        gpus: same_on_every_gpu(scene, total),
        states: states(inputs, bytes, count),
        activations: activation_use(inputs),
        overhead_reason:
            "it adds about 2 GB of CUDA context; the engine shows context and reserve apart"
                .to_owned(),
        not_covered: not_covered(inputs),
        remarks: remarks(inputs),
    }
    .finish(scene)
}

fn states(inputs: &MethodInputs, bytes: BytesPerParameter, count: u64) -> StatesUse {
    StatesUse {
        parameters: count,
        formula: Some("h·v + L·(12h² + 13h) + 2h"),
        unknown_features: unknown_features(inputs, ASSUMES),
        rounded_from: None,
        bytes: [bytes.parameters, bytes.gradients + bytes.gradient_copy, bytes.master + bytes.adam]
            .map(to_f64),
        divisors: [1; 3],
        notes: [
            None,
            Some("it knows 16-bit gradients, with an fp32 copy as an option"),
            Some("it always counts Adam"),
        ],
    }
}

fn activation_use(inputs: &MethodInputs) -> ActivationUse {
    ActivationUse {
        sequences: (inputs.micro_batch_size, 1),
        score_bytes: if inputs.recompute == Recompute::None && !inputs.flash_attention() {
            5
        } else {
            0
        },
        score_divisor: 1,
        assumes_four_h: true,
        ignores_tensor_degree: true,
        extra: Vec::new(),
    }
}

fn gradient_formula(bytes: BytesPerParameter) -> String {
    if bytes.gradient_copy > 0 {
        format!("{}N + {}N", bytes.gradients, bytes.gradient_copy)
    } else {
        format!("{}N", bytes.gradients)
    }
}

fn optimizer_formula(bytes: BytesPerParameter) -> String {
    if bytes.master > 0 {
        format!("{}N + {}N", bytes.master, bytes.adam)
    } else {
        format!("{}N", bytes.adam)
    }
}

fn not_covered(inputs: &MethodInputs) -> Vec<&'static str> {
    let mut missing = vec!["the block being recomputed, logits and other temporary memory"];
    if inputs.world_size() > 1 {
        missing.push(
            "several GPUs: no formula for sharding or parallelism, the amounts are of one GPU \
             alone",
        );
    }
    if inputs.optimizer.key() != method::OPTIMIZER {
        missing.push("this optimizer: computed as Adam");
    }
    if inputs.precision == TrainingPrecision::Bf16Pure {
        missing.push("pure bf16: computed as mixed precision");
    }
    if inputs.gradients == GradientDType::Fp32 {
        missing.push("fp32 gradients instead of 16-bit ones");
    }
    missing
}

fn remarks(inputs: &MethodInputs) -> Vec<String> {
    let mut remarks = Vec::new();
    if inputs.recompute == Recompute::Selective || inputs.flash_attention() {
        let shape = inputs.shape(inputs.micro_batch_size);
        let percent = crate::units::grouped(100.0 * method::selective_saving(&shape), 1);
        remarks.push(format!(
            "It quotes a saving of 70 % without the scores, which is GPT-3's; by its own formula \
             it is {percent} % here."
        ));
    }
    if inputs.recompute == Recompute::None {
        remarks.push(
            "The rows of its activation table add up to 38; the formula's 34 is Korthikanti's and \
             is used here."
                .to_owned(),
        );
    }
    remarks
}
