//! The documents, of the five, that give another figure for a kind of memory, and their reasons.

use crate::estimator::MemoryKind;
use crate::methods::{MethodAnswer, MethodKind};
use crate::units::Bytes;

/// A document's figure for one kind of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The document's short name.
    pub title: &'static str,
    /// The document's bytes on one GPU; `None` where it does not count this kind.
    pub bytes: Option<Bytes>,
    /// The document's formula; empty where it has none.
    pub formula: String,
    /// The reason why it differs, in the words of the comparison; may be empty.
    pub why: String,
}

/// The documents that cover the job and whose bytes of that kind differ.
pub(super) fn of_kind(answers: &[MethodAnswer], kind: MemoryKind, engine: Bytes) -> Vec<Said> {
    let kind = MethodKind::of(kind);
    let of = |answer: &MethodAnswer| {
        let bytes = answer.bytes_of(kind);
        let counted = answer.per_gpu.iter().any(|line| line.kind == kind);
        if bytes == engine {
            return None;
        }
        let formulas: Vec<&str> = answer
            .per_gpu
            .iter()
            .filter(|line| line.kind == kind)
            .map(|line| line.formula.as_str())
            .collect();
        let why = answer.differences.iter().find(|difference| difference.term == kind.name());
        Some(Said {
            title: answer.title,
            bytes: counted.then_some(bytes),
            formula: formulas.join(" + "),
            why: why.map(|difference| difference.why.clone()).unwrap_or_default(),
        })
    };
    answers.iter().filter(|answer| answer.covered).filter_map(of).collect()
}

/// The documents that cover the job and whose totals differ.
pub(super) fn of_total(answers: &[MethodAnswer], engine: Bytes) -> Vec<Said> {
    let differ = answers.iter().filter(|answer| answer.covered && answer.per_gpu_total != engine);
    let said = |answer: &MethodAnswer| Said {
        title: answer.title,
        bytes: Some(answer.per_gpu_total),
        formula: String::new(),
        why: String::new(),
    };
    differ.map(said).collect()
}
