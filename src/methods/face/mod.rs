//! The five methods applied to one scenario, beside the engine.

mod capacity_planning;
mod distributed_overview;
mod eleuther;
mod ju_2026;
mod reasons;
mod solenya;

use crate::units::{Bytes, MemoryUnit, grouped, to_f64};

use super::{
    EngineSide, GpuAnswer, MethodAnswer, MethodDifference, MethodInputs, MethodKind, MethodLine,
    MethodTime,
};
use reasons::{ActivationUse, StatesUse};

/// Returns the answers of all five methods for that scenario, in the documents' order, memory in
/// bytes. Amounts in sentences are written in `unit`.
pub fn all(inputs: &MethodInputs, engine: &EngineSide, unit: MemoryUnit) -> [MethodAnswer; 5] {
    let scene = Scene { inputs, engine, unit };
    [
        ju_2026::answer(scene),
        eleuther::answer(scene),
        capacity_planning::answer(scene),
        distributed_overview::answer(scene),
        solenya::answer(scene),
    ]
}

/// The question, with the engine's answer to it.
#[derive(Clone, Copy)]
struct Scene<'a> {
    inputs: &'a MethodInputs,
    engine: &'a EngineSide,
    unit: MemoryUnit,
}

/// Names of a method.
#[derive(Clone, Copy)]
struct Names {
    id: &'static str,
    title: &'static str,
    document: &'static str,
}

/// A method's own side, before it is compared.
struct Draft {
    names: Names,
    lines: Vec<MethodLine>,
    whole_job_total: Option<Bytes>,
    time: Option<MethodTime>,
    gpus: GpuAnswer,
    states: StatesUse,
    activations: ActivationUse,
    /// The reason for the method's overhead.
    overhead_reason: String,
    not_covered: Vec<&'static str>,
    remarks: Vec<String>,
}

fn line(kind: MethodKind, bytes: Bytes, formula: &str) -> MethodLine {
    MethodLine { kind, bytes, formula: formula.to_owned(), note: None }
}

fn noted(kind: MethodKind, bytes: Bytes, formula: &str, note: impl Into<String>) -> MethodLine {
    MethodLine { note: Some(note.into()), ..line(kind, bytes, formula) }
}

/// A count of parameters in words: "6.70 billion", "124 million".
fn parameters(count: u64) -> String {
    if count >= 1_000_000_000 {
        format!("{} billion", grouped(to_f64(count) / 1e9, 2))
    } else {
        format!("{} million", grouped(to_f64(count) / 1e6, 1))
    }
}

impl Draft {
    /// Adds the differences from the engine.
    fn finish(self, scene: Scene<'_>) -> MethodAnswer {
        let mut answer = MethodAnswer {
            id: self.names.id,
            title: self.names.title,
            document: self.names.document,
            covered: true,
            per_gpu_total: self.lines.iter().map(|line| line.bytes).sum(),
            per_gpu: self.lines,
            whole_job_total: self.whole_job_total,
            time: self.time,
            gpus: self.gpus,
            not_covered: self.not_covered,
            differences: Vec::new(),
            remarks: self.remarks,
        };
        answer.differences.extend(reasons::of_parameters(scene, &self.states));
        for kind in MethodKind::ALL {
            let (says, engine_says) =
                (scene.unit.show(answer.bytes_of(kind)), scene.unit.show(scene.engine.of(kind)));
            if says == engine_says {
                continue;
            }
            let mut why = match kind {
                MethodKind::Weights | MethodKind::Gradients | MethodKind::Optimizer => {
                    reasons::of_states(scene, &self.states, kind)
                }
                MethodKind::Activations => reasons::of_activations(scene, &self.activations),
                MethodKind::Temporary => reasons::of_temporary(scene, answer.bytes_of(kind)),
                MethodKind::KvCache => reasons::of_cache(scene, answer.bytes_of(kind)),
                MethodKind::Overhead => vec![self.overhead_reason.clone()],
            };
            if why.is_empty() {
                why.push(
                    "the engine adds the tensors of the most loaded GPU one by one".to_owned(),
                );
            }
            answer.differences.push(MethodDifference {
                term: kind.name(),
                says,
                engine_says,
                why: reasons::sentence(&why),
            });
        }
        answer
    }
}

/// The answer of a document that says nothing about this kind of job.
fn not_described(names: Names, not_covered: Vec<&'static str>) -> MethodAnswer {
    MethodAnswer {
        id: names.id,
        title: names.title,
        document: names.document,
        covered: false,
        per_gpu: Vec::new(),
        per_gpu_total: Bytes::ZERO,
        whole_job_total: None,
        time: None,
        gpus: GpuAnswer {
            arithmetic: None,
            runnable: None,
            reason: "This document describes training only.".to_owned(),
        },
        not_covered,
        differences: Vec::new(),
        remarks: Vec::new(),
    }
}

/// Both counts of a document whose memory does not depend on how many GPUs there are.
fn same_on_every_gpu(scene: Scene<'_>, total: Bytes) -> GpuAnswer {
    let (need, room) = (scene.unit.show(total), scene.unit.show(scene.inputs.capacity));
    let fits = total <= scene.inputs.capacity;
    let reason = if fits {
        format!(
            "One GPU holds {need} of {room}. The document has no formula that splits memory over \
             several."
        )
    } else {
        format!(
            "Every GPU would need {need} of {room}: the document has no formula that splits memory \
             over several."
        )
    };
    GpuAnswer { arithmetic: None, runnable: fits.then_some(1), reason }
}
