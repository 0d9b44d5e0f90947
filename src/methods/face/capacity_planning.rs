//! The capacity-planning lesson's method for one scenario.

use crate::config::{GradientDType, Recompute};
use crate::units::{Bytes, grouped, to_f64};

use super::super::capacity_planning::{self as method, Budget, KvShape};
use super::super::counts::{Rules, instance_in_words, smallest_instance};
use super::super::{GpuAnswer, MethodAnswer, MethodInputs, MethodKind, MethodLine, product};
use super::reasons::{ActivationUse, StatesUse};
use super::{Draft, Names, Scene, line, noted};

const NAMES: Names = Names {
    id: "capacity-planning",
    title: "Capacity planning",
    document: "Memory Capacity Planning for LLMs",
};

pub(super) fn answer(scene: Scene<'_>) -> MethodAnswer {
    if scene.inputs.is_training() { training(scene) } else { serving(scene) }
}

fn training(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    let checkpointing = inputs.recompute == Recompute::Full;
    let states = method::states(inputs.num_parameters, inputs.weight_dtype);
    let activations = |sequences| {
        method::activations_as_coded(&inputs.shape(sequences), checkpointing, inputs.weight_dtype)
    };
    let memory = |ranks, sequences| {
        method::memory_budget(&states, inputs.zero_stage, ranks, activations(sequences)).total()
    };
    let plain = method::training_memory(&states, activations(inputs.global_batch_size));
    let total = method::with_overhead(plain, method::TRAINING_OVERHEAD_PERCENT);
    let coded = method::power_of_two_as_coded(total, inputs.capacity);
    let budget = method::memory_budget(
        &states,
        inputs.zero_stage,
        inputs.data_parallel_size,
        activations(inputs.micro_batch_size),
    );
    let width = to_f64(inputs.weight_dtype.bits()) / 8.0;
    let share =
        |from: u8| if inputs.zero_stage >= from { inputs.data_parallel_size.max(1) } else { 1 };
    let code = format!(
        "its code takes {} bytes per s·b·h·L, twice its own rule",
        if checkpointing { 4 } else { 68 }
    );
    Draft {
        names: NAMES,
        lines: budget_lines(inputs, &budget, checkpointing),
        whole_job_total: Some(total),
        time: None,
        gpus: Rules::of(inputs, scene.unit, &memory).answer(Some(coded)),
        states: StatesUse {
            parameters: inputs.num_parameters,
            formula: None,
            unknown_features: Vec::new(),
            rounded_from: None,
            bytes: [width, width, 12.0],
            divisors: [share(3), share(2), share(1)],
            notes: [
                None,
                Some("it keeps gradients in the weights' format"),
                Some("it always counts Adam with fp32 master weights"),
            ],
        },
        activations: ActivationUse {
            sequences: (inputs.micro_batch_size, 1),
            score_bytes: 0,
            score_divisor: 1,
            assumes_four_h: true,
            ignores_tensor_degree: true,
            extra: vec![code],
        },
        overhead_reason:
            "it adds a tenth of everything; the engine shows context and reserve apart".to_owned(),
        not_covered: training_gaps(inputs),
        remarks: training_remarks(inputs, total, coded),
    }
    .finish(scene)
}

fn budget_lines(inputs: &MethodInputs, budget: &Budget, checkpointing: bool) -> Vec<MethodLine> {
    let pick = |stage: u8, plain: &'static str, sharded: &'static str| {
        if inputs.zero_stage >= stage { sharded } else { plain }
    };
    let formula =
        if checkpointing { "b·s·h·L · 2 · bytes" } else { "b·s·h·L · 34 · bytes" };
    vec![
        line(MethodKind::Weights, budget.states.weights, pick(3, "P · bytes", "P · bytes / N")),
        line(MethodKind::Gradients, budget.states.gradients, pick(2, "P · bytes", "P · bytes / N")),
        noted(
            MethodKind::Optimizer,
            budget.states.optimizer,
            pick(1, "12P", "12P / N"),
            "fp32 master weights included",
        ),
        noted(MethodKind::Activations, budget.activations, formula, "as its code computes it"),
        noted(
            MethodKind::Overhead,
            budget.overhead,
            "0.1 · the sum above",
            "CUDA context, fragmentation, buffers",
        ),
    ]
}

fn training_gaps(inputs: &MethodInputs) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if inputs.model_parallel_size() > 1 {
        missing.push("tensor and pipeline degree: its budget ignores them");
    }
    if inputs.recompute == Recompute::Selective {
        missing.push(
            "selective recomputation: computed as none, which in its code has no attention scores \
             either",
        );
    }
    if inputs.optimizer.key() != method::OPTIMIZER {
        missing.push("this optimizer: computed as Adam");
    }
    if inputs.gradients != GradientDType::AsWeights {
        missing.push("fp32 gradients");
    }
    missing.push("temporary memory apart from its 10 %");
    missing
}

fn training_remarks(inputs: &MethodInputs, total: Bytes, coded: u64) -> Vec<String> {
    let mut remarks = vec![
        "Its code multiplies the activation factor by the element size a second time; its text \
         gives half of that."
            .to_owned(),
    ];
    let right = method::power_of_two(total, inputs.capacity);
    if right != coded {
        let quotient = grouped(method::gpus_quotient(total, inputs.capacity), 1);
        remarks.push(format!(
            "Its rounding gives {coded} for {quotient} GPUs; the next power of two is {right}."
        ));
    }
    remarks
}

fn serving(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    let instance = inputs.model_parallel_size();
    let kv = KvShape {
        num_hidden_layers: inputs.num_hidden_layers,
        num_key_value_heads: inputs.num_key_value_heads,
        head_dim: inputs.head_dim,
    };
    let sequences = inputs.global_batch_size;
    let weights = method::weights(inputs.num_parameters, inputs.weight_dtype);
    let cache =
        method::kv_cache(kv, product([inputs.seq_length, sequences]), inputs.kv_cache_dtype);
    let buffer = method::inference_buffer(
        sequences,
        inputs.hidden_size,
        inputs.num_hidden_layers,
        inputs.kv_cache_dtype,
    );
    let total = method::inference_memory(weights, cache, buffer);
    let overhead = method::overhead(weights + cache + buffer, method::INFERENCE_OVERHEAD_PERCENT);
    Draft {
        names: NAMES,
        lines: vec![
            line(MethodKind::Weights, weights.per_rank(instance), "P · bytes / (t·p)"),
            line(
                MethodKind::KvCache,
                cache.per_rank(instance),
                "2·L·n_kv·head_dim·s·b · bytes / (t·p)",
            ),
            noted(
                MethodKind::Activations,
                buffer.per_rank(instance),
                "b·1·h·L·4 · bytes / (t·p)",
                "the token in flight of every sequence",
            ),
            line(MethodKind::Overhead, overhead.per_rank(instance), "0.05 · the sum above"),
        ],
        whole_job_total: Some(total * inputs.data_parallel_size),
        time: None,
        gpus: serving_gpus(scene, total),
        states: StatesUse::serving(inputs, instance),
        activations: ActivationUse {
            extra: vec![
                "it keeps four tensors of every layer for each sequence; the engine counts work \
                 space as temporary"
                    .to_owned(),
            ],
            ..ActivationUse::default()
        },
        overhead_reason: "it adds a twentieth of everything; the engine shows context and reserve \
            apart"
            .to_owned(),
        not_covered: vec![
            "activations and logits of prefill",
            "how tensor ranks share key/value heads",
        ],
        remarks: vec![
            "The document uses 5 % overhead in its function and 10 % in its fifth question."
                .to_owned(),
        ],
    }
    .finish(scene)
}

fn serving_gpus(scene: Scene<'_>, total: Bytes) -> GpuAnswer {
    let inputs = scene.inputs;
    let arithmetic = method::gpus(total, inputs.capacity);
    let Some((gpus, t, p)) = smallest_instance(inputs, arithmetic) else {
        let reason = format!(
            "{arithmetic} GPUs would hold it, but no such number divides heads and layers evenly."
        );
        return GpuAnswer { arithmetic: Some(arithmetic), runnable: None, reason };
    };
    let holds = format!(
        "{} hold {} each.",
        instance_in_words(gpus, t, p),
        scene.unit.show(total.per_rank(gpus))
    );
    let reason = if gpus == arithmetic {
        holds
    } else {
        let MethodInputs {
            num_attention_heads: heads,
            num_key_value_heads: kv,
            num_hidden_layers: layers,
            ..
        } = *inputs;
        let node = inputs.accelerators_per_node;
        format!(
            "{arithmetic} GPUs do not divide {heads} heads ({kv} key/value) and {layers} layers in \
             whole nodes of {node}. {holds}"
        )
    };
    GpuAnswer { arithmetic: Some(arithmetic), runnable: Some(gpus), reason }
}
