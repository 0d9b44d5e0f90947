//! `codegen` (transformers 5.23, `models/codegen`): GPT-J with one projection for queries, keys and
//! values.

use crate::models::prelude::*;

/// `codegen`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["codegen"],
    class: "CodeGen",
    labels: &[("codegen", "CodeGen")],
    modules: &Modules {
        model_type: "codegen",
        choice: FamilyChoice { rank: 902, word: "codegen", label: "CodeGen" },
        projections: Projections::JointInFours,
        rotation: RotationStyle::NeighboursInFp32,
        scores: ScoreStyle::InFp32MaskedFirst,
        ..*super::gptj::FAMILY.modules
    },
    ..super::gptj::FAMILY
};
