//! `EleutherAI`'s method for one scenario.

use crate::config::{GradientDType, Recompute};
use crate::units::{Bytes, DType, Elements, to_f64};

use super::super::counts::{Rules, instance_in_words, smallest_instance};
use super::super::{
    GpuAnswer, MethodAnswer, MethodInputs, MethodKind, MethodLine, MethodTime, ModelStates,
    eleuther,
};
use super::reasons::{ActivationUse, StatesUse};
use super::{Draft, Names, Scene, line, noted};

const NAMES: Names =
    Names { id: "eleuther", title: "EleutherAI", document: "Transformer training costs" };

pub(super) fn answer(scene: Scene<'_>) -> MethodAnswer {
    if scene.inputs.is_training() { training(scene) } else { serving(scene) }
}

/// The document's divisors of weights, gradients and optimizer: its `ZeRO` formulas joined with its
/// 3D ones.
fn divisors(inputs: &MethodInputs, ranks: u64) -> [u64; 3] {
    let (t, p) = (inputs.tensor_model_parallel_size, inputs.pipeline_model_parallel_size);
    let share = |from: u8| if inputs.zero_stage >= from { ranks.max(1) } else { 1 };
    [
        eleuther::weight_divisor(t, p).saturating_mul(share(3)),
        eleuther::gradient_divisor_as_printed(t, p).saturating_mul(share(2)),
        eleuther::optimizer_divisor(t, p, share(1)),
    ]
}

fn share(inputs: &MethodInputs, states: &ModelStates, ranks: u64) -> ModelStates {
    let [weights, gradients, optimizer] = divisors(inputs, ranks);
    ModelStates {
        weights: states.weights.per_rank(weights),
        gradients: states.gradients.per_rank(gradients),
        optimizer: states.optimizer.per_rank(optimizer),
    }
}

/// `C = 6PD`, or at most `8PD` with full recomputation, and `T = C / (GPUs · achieved rate)`.
fn training_time(inputs: &MethodInputs) -> MethodTime {
    let (parameters, tokens) = (to_f64(inputs.num_parameters), inputs.training_tokens);
    let full = inputs.recompute == Recompute::Full;
    let flops = if full {
        eleuther::training_flops_at_most(parameters, tokens)
    } else {
        eleuther::training_flops(parameters, tokens)
    };
    let achieved = inputs.achieved_flops_per_gpu;
    let time =
        (achieved.0 > 0.0).then(|| eleuther::training_time(flops, inputs.world_size(), achieved));
    let formula = if full {
        "C ≤ 8PD, T = C / (GPUs · FLOP/s)"
    } else {
        "C = 6PD, T = C / (GPUs · FLOP/s)"
    };
    MethodTime { formula: formula.to_owned(), flops, time }
}

fn live_parameters(inputs: &MethodInputs) -> Bytes {
    let live = if inputs.zero_stage >= 3 {
        eleuther::DEFAULT_LIVE_PARAMETERS.min(inputs.num_parameters)
    } else {
        0
    };
    Bytes(2) * live
}

fn training(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    let optimizer_bytes = eleuther::optimizer_bytes_per_parameter(inputs.optimizer).unwrap_or(12);
    let gradient = inputs.precision.recipe(inputs.gradients).gradient;
    let states =
        eleuther::states(inputs.num_parameters, inputs.weight_dtype, gradient, optimizer_bytes);
    let activations = |sequences| {
        eleuther::activations(
            &inputs.shape(sequences),
            inputs.tensor_model_parallel_size,
            inputs.recompute,
        )
    };
    let memory = |ranks, sequences| {
        share(inputs, &states, ranks).total() + activations(sequences) + live_parameters(inputs)
    };
    let mut gpus = Rules::of(inputs, scene.unit, &memory).answer(None);
    gpus.reason.push_str(" The document gives no rule for the count.");
    let mine = share(inputs, &states, inputs.data_parallel_size);
    Draft {
        names: NAMES,
        lines: training_lines(inputs, &mine, activations(inputs.micro_batch_size)),
        whole_job_total: None,
        time: Some(training_time(inputs)),
        gpus,
        states: StatesUse {
            parameters: inputs.num_parameters,
            formula: None,
            unknown_features: Vec::new(),
            rounded_from: None,
            bytes: [inputs.weight_dtype, gradient]
                .map(|dtype| to_f64(dtype.bits()) / 8.0)
                .into_iter()
                .chain([to_f64(optimizer_bytes)])
                .collect::<Vec<_>>()
                .try_into()
                .unwrap_or_default(),
            divisors: divisors(inputs, inputs.data_parallel_size),
            notes: [
                None,
                Some("it counts one copy of the gradients"),
                Some(
                    "it counts an fp32 copy of the weights with every optimizer and one byte per \
                     moment for 8-bit Adam",
                ),
            ],
        },
        activations: ActivationUse {
            sequences: (inputs.micro_batch_size, 1),
            score_bytes: if inputs.recompute == Recompute::None { 5 } else { 0 },
            score_divisor: inputs.tensor_model_parallel_size,
            assumes_four_h: true,
            ignores_tensor_degree: inputs.recompute == Recompute::Full,
            extra: Vec::new(),
        },
        overhead_reason: "the document adds nothing outside the model to training".to_owned(),
        not_covered: not_covered(inputs),
        remarks: training_remarks(inputs),
    }
    .finish(scene)
}

fn training_lines(
    inputs: &MethodInputs,
    mine: &ModelStates,
    activations: Bytes,
) -> Vec<MethodLine> {
    let parallel = inputs.model_parallel_size() > 1;
    let pick = |stage: u8, plain: &'static str, sharded: &'static str| {
        if inputs.zero_stage >= stage { sharded } else { plain }
    };
    let (weights, gradients, optimizer) = if parallel {
        (
            pick(3, "W / (t·p)", "W / (t·p·d)"),
            pick(2, "G / p", "G / (p·d)"),
            pick(1, "O / (t·p)", "O / GPUs"),
        )
    } else {
        (pick(3, "W", "W / d"), pick(2, "G", "G / d"), pick(1, "O", "O / d"))
    };
    let formula = match inputs.recompute {
        Recompute::None => "s·b·h·L·(10 + 24/t + 5·a·s/(h·t))",
        Recompute::Selective => "s·b·h·L·(10 + 24/t)",
        Recompute::Full => "2·s·b·h·L",
    };
    let mut lines = vec![
        line(MethodKind::Weights, mine.weights, weights),
        line(MethodKind::Gradients, mine.gradients, gradients),
        noted(
            MethodKind::Optimizer,
            mine.optimizer,
            optimizer,
            "fp32 copy of the weights included",
        ),
        line(MethodKind::Activations, activations, formula),
    ];
    if inputs.zero_stage >= 3 {
        let note =
            "DeepSpeed's default of 10⁹ live parameters, or the whole model if it is smaller";
        lines.push(noted(
            MethodKind::Temporary,
            live_parameters(inputs),
            "2 · live parameters",
            note,
        ));
    }
    lines
}

fn not_covered(inputs: &MethodInputs) -> Vec<&'static str> {
    let mut missing = vec!["memory outside the model", "the block being recomputed"];
    if inputs.flash_attention() && inputs.recompute == Recompute::None {
        missing.push(
            "FlashAttention's effect on memory; selective recomputation is the same formula \
             without the scores",
        );
    }
    if inputs.gradients == GradientDType::Fp32Copy {
        missing.push("a second copy of the gradients");
    }
    if eleuther::optimizer_bytes_per_parameter(inputs.optimizer).is_none() {
        missing.push("this optimizer: computed as AdamW");
    }
    missing
}

fn training_remarks(inputs: &MethodInputs) -> Vec<String> {
    let mut remarks = Vec::new();
    if inputs.tensor_model_parallel_size > 1 {
        remarks.push(
            "The document divides gradients by the pipeline degree only; tensor parallelism \
             divides them too."
                .to_owned(),
        );
        remarks.push(
            "Its 3D formula divides activations by t although its activation formula already \
             contains t; here t is used once."
                .to_owned(),
        );
    }
    if inputs.weight_dtype == DType::Fp32 {
        remarks.push(
            "Its 12 bytes of AdamW hold an fp32 copy of the weights that pure fp32 training does \
             not have: 20 bytes where 16 are needed."
                .to_owned(),
        );
    }
    remarks
}

fn serving(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    let weights = Elements(inputs.num_parameters).stored_as(inputs.weight_dtype);
    let total = eleuther::inference_memory(weights);
    let instance = inputs.model_parallel_size();
    let least = total.0.div_ceil(inputs.capacity.0.max(1)).max(1);
    let found = smallest_instance(inputs, least);
    let reason = found.map_or_else(
        || {
            "No whole number of heads and layers per GPU gives an instance that holds it."
                .to_owned()
        },
        |(gpus, t, p)| {
            let share = scene.unit.show(total.per_rank(gpus));
            format!(
                "The document gives no rule for the count. {} hold {share} each.",
                instance_in_words(gpus, t, p)
            )
        },
    );
    Draft {
        names: NAMES,
        lines: vec![
            line(MethodKind::Weights, weights.per_rank(instance), "W / (t·p)"),
            noted(
                MethodKind::Overhead,
                eleuther::inference_overhead(weights).per_rank(instance),
                "0.2 · W / (t·p)",
                "everything besides the weights, at most",
            ),
        ],
        whole_job_total: Some(total * inputs.data_parallel_size),
        time: None,
        gpus: GpuAnswer { arithmetic: None, runnable: found.map(|(gpus, ..)| gpus), reason },
        states: StatesUse::serving(inputs, instance),
        activations: ActivationUse {
            extra: vec!["the document counts activations of serving among its 20 %".to_owned()],
            ..ActivationUse::default()
        },
        overhead_reason:
            "it adds a fifth of the weights for everything else; the engine shows cache, work \
             space and context apart"
                .to_owned(),
        not_covered: vec![
            "the key/value cache: context length and requests change nothing",
            "activations of prefill",
        ],
        remarks: Vec::new(),
    }
    .finish(scene)
}
