//! Li Ju's method for one scenario.

use crate::config::{Recompute, TrainingPrecision};
use crate::units::{Bytes, to_f64};

use super::super::counts::{Rules, gpus as gpus_in_words};
use super::super::{
    MethodAnswer, MethodInputs, MethodKind, MethodLine, ModelStates, Setup, ju_2026,
};
use super::reasons::{ActivationUse, Assumes, StatesUse, unknown_features};
use super::{Draft, Names, Scene, line, not_described, noted, parameters};

const NAMES: Names = Names {
    id: "ju-2026",
    title: "Li Ju 2026",
    document: "How Many GPUs Do You Need To Train a Transformer?",
};

const ASSUMES: Assumes =
    Assumes { four_h: false, tied: false, biases: false, layer_norms: false, positions: false };

pub(super) fn answer(scene: Scene<'_>) -> MethodAnswer {
    let inputs = scene.inputs;
    if !inputs.is_training() {
        return not_described(NAMES, vec!["serving"]);
    }
    let shape = inputs.shape(inputs.global_batch_size);
    let counted = ju_2026::num_parameters(&shape, inputs.vocab_size);
    let used = ju_2026::parameters_used(counted);
    let states = ModelStates {
        optimizer: ju_2026::optimizer(inputs.optimizer, used)
            .unwrap_or(ju_2026::adam_states(used).optimizer),
        ..ju_2026::adam_states(used)
    };
    let checkpointing = inputs.recompute == Recompute::Full;
    let setup = Setup {
        zero_stage: inputs.zero_stage,
        checkpointing,
        flash_attention: inputs.flash_attention(),
    };
    let (kept, temporary) =
        ju_2026::held_activations(&shape, checkpointing, inputs.flash_attention());
    let memory = |ranks, sequences| setup.memory(&states, &shape, ranks, sequences);
    let rules = Rules::of(inputs, scene.unit, &memory).data_parallel_only();
    let mut gpus = rules.answer(setup.gpus(&states, &shape, inputs.capacity));
    if gpus.runnable.is_none() {
        gpus.reason.push_str(&setup.why_never(&states, &shape, inputs.capacity, scene.unit));
    }
    let accumulating =
        Rules { micro_batch_size: Some(1), ..rules }.smallest().map(|placement| placement.gpus);
    if let Some(count) = accumulating.filter(|count| Some(*count) != gpus.runnable) {
        gpus.reason = format!(
            "{} One sequence at a time, with gradient accumulation, {} can.",
            gpus.reason,
            gpus_in_words(count)
        );
    }
    Draft {
        names: NAMES,
        lines: lines(
            inputs,
            &states,
            kept.per_rank(inputs.world_size()),
            temporary.per_rank(inputs.world_size()),
        ),
        whole_job_total: Some(ju_2026::total(&states, kept + temporary)),
        time: None,
        gpus,
        states: states_use(inputs, counted, used),
        activations: activation_use(inputs),
        overhead_reason:
            "the document counts no CUDA context, reserve or other memory outside the model"
                .to_owned(),
        not_covered: not_covered(inputs),
        remarks: remarks(inputs, counted, used),
    }
    .finish(scene)
}

fn lines(
    inputs: &MethodInputs,
    states: &ModelStates,
    kept: Bytes,
    temporary: Bytes,
) -> Vec<MethodLine> {
    let share = ju_2026::states_per_gpu(inputs.zero_stage, states, inputs.world_size());
    let (weights, gradients, optimizer) = match inputs.zero_stage {
        0 => ("2N", "2N", "12N"),
        1 => ("2N", "2N", "12N / N_gpu"),
        2 => ("2N", "2N / N_gpu", "12N / N_gpu"),
        _ => ("2N / N_gpu", "2N / N_gpu", "12N / N_gpu"),
    };
    let flash = inputs.flash_attention();
    let (kept_formula, temporary_formula) = match (inputs.recompute == Recompute::Full, flash) {
        (false, false) => ("2·L·(9·B·s·h + 2·B·s·d_ff + 2·a·B·s²) / N_gpu", ""),
        (false, true) => ("2·L·(9·B·s·h + 2·B·s·d_ff) / N_gpu", ""),
        (true, false) => ("2·L·B·s·h / N_gpu", "2·(8·B·s·h + 2·B·s·d_ff + 2·a·B·s²) / N_gpu"),
        (true, true) => ("2·L·B·s·h / N_gpu", "2·(8·B·s·h + 2·B·s·d_ff) / N_gpu"),
    };
    let bytes = ju_2026::optimizer_bytes_per_parameter(inputs.optimizer).unwrap_or(12);
    let mut lines = vec![
        line(MethodKind::Weights, share.weights, weights),
        line(MethodKind::Gradients, share.gradients, gradients),
        noted(
            MethodKind::Optimizer,
            share.optimizer,
            &optimizer.replace("12", &bytes.to_string()),
            "fp32 master weights included",
        ),
        noted(MethodKind::Activations, kept, kept_formula, "B is the whole batch"),
    ];
    if !temporary_formula.is_empty() {
        lines.push(noted(
            MethodKind::Temporary,
            temporary,
            temporary_formula,
            "one block while it is recomputed",
        ));
    }
    lines
}

fn states_use(inputs: &MethodInputs, counted: u64, used: u64) -> StatesUse {
    let world = inputs.world_size();
    let share = |from: u8| if inputs.zero_stage >= from { world } else { 1 };
    StatesUse {
        parameters: used,
        formula: Some("2·V·h + L·(4h² + 2·h·d_ff)"),
        unknown_features: unknown_features(inputs, ASSUMES),
        rounded_from: Some(counted).filter(|counted| *counted != used),
        bytes: [
            2.0,
            2.0,
            to_f64(ju_2026::optimizer_bytes_per_parameter(inputs.optimizer).unwrap_or(12)),
        ],
        divisors: [share(3), share(2), share(1)],
        notes: [
            Some("it always reckons in 16 bit"),
            Some("it always reckons in 16 bit"),
            Some(
                "it counts Adam's moments and an fp32 copy of the weights, 4 in all for 8-bit Adam",
            ),
        ],
    }
}

fn activation_use(inputs: &MethodInputs) -> ActivationUse {
    let scores = inputs.recompute != Recompute::Full && !inputs.flash_attention();
    ActivationUse {
        sequences: (inputs.global_batch_size, inputs.world_size()),
        score_bytes: if scores { 4 } else { 0 },
        score_divisor: 1,
        assumes_four_h: false,
        // All GPUs are data-parallel ranks here; the batch is divided by all of them.
        ignores_tensor_degree: false,
        extra: Vec::new(),
    }
}

fn not_covered(inputs: &MethodInputs) -> Vec<&'static str> {
    let mut missing = vec!["logits", "CUDA context", "gathered weights of ZeRO-3"];
    if inputs.model_parallel_size() > 1 {
        missing.push("tensor and pipeline parallelism: every GPU counts as a data-parallel rank");
    }
    if inputs.micro_batches() > 1 {
        missing.push("gradient accumulation: each rank holds its whole share of the batch");
    }
    if inputs.recompute == Recompute::Selective {
        missing.push("selective recomputation: computed as none");
    }
    if ju_2026::optimizer_bytes_per_parameter(inputs.optimizer).is_none() {
        missing.push("this optimizer: computed as Adam");
    }
    if !matches!(inputs.precision, TrainingPrecision::Bf16Mixed | TrainingPrecision::Fp16Mixed) {
        missing.push("other formats than 16-bit mixed precision");
    }
    missing
}

fn remarks(inputs: &MethodInputs, counted: u64, used: u64) -> Vec<String> {
    let mut remarks = vec![
        "The document prints 68 GB, 64 GB and what follows from them in GiB, beside decimal GB; \
         here all amounts are exact."
            .to_owned(),
        "Its ZeRO-2 count is rounded down and its ZeRO-2 and ZeRO-3 counts leave out the model \
         states; here they are included and rounded up."
            .to_owned(),
    ];
    if counted != used {
        remarks.push(format!(
            "The document reckons with {} parameters where its formula gives {}.",
            parameters(used),
            parameters(counted)
        ));
    }
    if inputs.global_batch_size < inputs.world_size() {
        remarks.push(format!(
            "A batch of {} cannot be shared by {} GPUs in whole sequences; the document divides it \
             all the same.",
            inputs.global_batch_size,
            inputs.world_size()
        ));
    }
    remarks
}
